//! Scans of a byte range: record blocks, batches of columns, or row counts.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use futures::stream::{self, BoxStream, Stream, StreamExt, TryStreamExt};
use recordfusion_core::{
    BatchStream, BlockStream, ColumnBounds, ContainerOptions, Error, LARGE_BLOCK, OnCorruption, OnTruncated,
    Piece, RecordBlock, RecordFile, Result, ScanCounters, ScanRequest,
};
use recordfusion_protobuf::{
    BatchDecoder, ColumnChunk, PieceStream, ScanPlan, Stage, scan_batches, scan_pieces,
};

use crate::decoder::ChunkDecoder;
use crate::header::ChunkKind;
use crate::read::index::{data_part, data_part_of_damaged};
use crate::read::{BlockReader, ChunkData, Damage, HeaderWalk, Large, ReadError, ReadResult, is_unfinished};
use crate::transposed::Header;
use crate::transposed::columns::{ColumnReader, column_bounds};

/// The records of a range as bytes, a block a chunk, without the index of an ArrayRecord file.
pub(crate) fn records(
    file: RecordFile,
    range: Range<u64>,
    options: ContainerOptions,
    counters: Arc<ScanCounters>,
) -> BlockStream {
    let open = async move {
        let (part, options) = part_to_read(&file, options, &counters).await?;
        let blocks = BlockReader::new(part, range, options, counters);
        Ok::<_, Error>(stream::try_unfold((blocks, file), |(mut blocks, file)| async move {
            let block = blocks.next_records().await.map_err(ReadError::of(&file))?;
            Ok(block.map(|block| (block, (blocks, file))))
        }))
    };
    stream::once(open).try_flatten().boxed()
}

/// The part of a file that has its records. Where something comes behind it, it is no file that is still written.
async fn part_to_read(
    file: &RecordFile,
    options: ContainerOptions,
    counters: &Arc<ScanCounters>,
) -> Result<(RecordFile, ContainerOptions)> {
    let part = match options.on_corruption {
        OnCorruption::Error => data_part(file, counters).await?,
        OnCorruption::Skip => data_part_of_damaged(file, counters).await?,
    };
    let on_truncated = if part.size < file.size { OnTruncated::Error } else { options.on_truncated };
    Ok((part, ContainerOptions { on_truncated, ..options }))
}

/// The records of a range as columns.
pub(crate) fn batches(request: ScanRequest, options: ContainerOptions, plan: ScanPlan) -> BatchStream {
    let readers: ColumnReaders =
        plan.decoders().filter_map(|(stage, decoder)| Some((stage, ColumnReader::new(decoder)?))).collect();
    if readers.is_empty() {
        return scan_batches(blocks(&request, options), plan, request);
    }
    scan_pieces(pieces(&request, options, readers), plan, request)
}

fn blocks(request: &ScanRequest, options: ContainerOptions) -> BlockStream {
    records(request.file.clone(), request.range.clone(), options, Arc::clone(&request.counters))
}

/// The chunks of a range: large transposed ones as they are, the records of the others.
fn pieces(request: &ScanRequest, options: ContainerOptions, readers: ColumnReaders) -> PieceStream {
    let (file, range, counters) =
        (request.file.clone(), request.range.clone(), Arc::clone(&request.counters));
    let large = Large { rows: request.batch_size, bytes: LARGE_BLOCK };
    let open = async move {
        let (part, options) = part_to_read(&file, options, &counters).await?;
        let mut blocks = BlockReader::new(part, range, options, Arc::clone(&counters));
        blocks.keep_large(large);
        let shared = Arc::new(Mutex::new((ChunkDecoder::with_limits(options.limits), readers)));
        let context = Transposed { file, on_corruption: options.on_corruption, counters, shared };
        Ok::<_, Error>(stream::try_unfold((blocks, context), |(mut blocks, context)| async move {
            let piece = match blocks.next().await.map_err(ReadError::of(&context.file))? {
                None => return Ok(None),
                Some(Piece::Records(block)) => Piece::Records(block),
                Some(Piece::Chunk(chunk)) => {
                    let chunk: Box<dyn ColumnChunk> =
                        Box::new(TransposedChunk { chunk, table: None, of: context.clone() });
                    Piece::Chunk(chunk)
                }
            };
            Ok(Some((piece, (blocks, context))))
        }))
    };
    stream::once(open).try_flatten().boxed()
}

/// One for each decoder of the scan that can do without records.
type ColumnReaders = Vec<(Stage, ColumnReader)>;

/// What the transposed chunks of a range share.
#[derive(Clone)]
struct Transposed {
    file: RecordFile,
    on_corruption: OnCorruption,
    counters: Arc<ScanCounters>,
    /// One chunk at a time uses them.
    shared: Arc<Mutex<(ChunkDecoder, ColumnReaders)>>,
}

/// A transposed chunk that is read, but not decoded.
struct TransposedChunk {
    chunk: ChunkData,
    /// The state machine header, if it was needed before the rest.
    table: Option<Header>,
    of: Transposed,
}

impl ColumnChunk for TransposedChunk {
    fn columns(&mut self, stage: Stage, decoder: &mut BatchDecoder) -> Option<RecordBatch> {
        let Transposed { file, counters, shared, .. } = &self.of;
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let (chunks, readers) = &mut *shared;
        let (_, reader) = readers.iter_mut().find(|(reads, _)| *reads == stage)?;
        let place = (&self.chunk.chunk.header, self.chunk.chunk.begin, &self.chunk.data, self.table.take());
        let decode = || chunks.decode_columns(place, reader, decoder, &file.name, counters);
        let rows = counters.decode_time.time(decode);
        counters.bytes_decompressed.add(chunks.take_decompressed_bytes());
        counters.chunks_shredded.add(u64::from(rows.is_ok()));
        rows.ok()
    }

    fn bounds(&mut self, decoder: &BatchDecoder, column: usize) -> Option<ColumnBounds> {
        if self.table.is_none() {
            let Transposed { counters, shared, .. } = &self.of;
            let (chunks, _) = &mut *shared.lock().unwrap_or_else(PoisonError::into_inner);
            self.table = counters.decode_time.time(|| chunks.table(&self.chunk.data)).ok();
            counters.bytes_decompressed.add(chunks.take_decompressed_bytes());
        }
        column_bounds(self.table.as_ref()?, decoder, column)
    }

    fn records(&mut self) -> Result<Option<RecordBlock>> {
        let Transposed { file, on_corruption, counters, shared } = &self.of;
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let block = self.chunk.records(&mut shared.0, *on_corruption, file, counters);
        block.map_err(ReadError::of(file))
    }
}

/// Batches without columns, with as many rows as the range has records: by chunk headers if damage is an error, so
/// that it makes no difference; otherwise by reading.
pub(crate) fn row_counts(request: &ScanRequest, options: ContainerOptions) -> BatchStream {
    let counts = match options.on_corruption {
        OnCorruption::Error => header_counts(request, options),
        OnCorruption::Skip => blocks(request, options).map_ok(|block| block.len() as u64).boxed(),
    };
    recordfusion_core::row_counts(counts, request.limit, request.batch_size)
}

/// Bytes of a file whose headers are read one after another: one header says where the next one is.
const PART: u64 = 32 << 20;
/// Parts whose headers are read at the same time, so that a distant store is not waited for at every chunk.
const PARTS_AT_ONCE: usize = 8;

/// The number of records of each chunk, by its header.
fn header_counts(request: &ScanRequest, options: ContainerOptions) -> BoxStream<'static, Result<u64>> {
    let (file, range, counters) =
        (request.file.clone(), request.range.clone(), Arc::clone(&request.counters));
    let open = async move {
        let (part, options) = part_to_read(&file, options, &counters).await?;
        let end = range.end.min(part.size);
        let begins = (range.start..end).step_by(PART as usize);
        let parts = begins.map(move |begin| HeaderCount {
            file: part.clone(),
            range: begin..end.min(begin.saturating_add(PART)),
            options,
            counters: Arc::clone(&counters),
            walk: None,
        });
        let counted = stream::iter(parts).map(|part| part.counts().collect::<Vec<_>>());
        let counts = counted.buffered(PARTS_AT_ONCE).flat_map(stream::iter);
        Ok::<_, Error>(counts.map(move |rows| rows.map_err(ReadError::of(&file))))
    };
    stream::once(open).try_flatten().boxed()
}

struct HeaderCount {
    file: RecordFile,
    range: Range<u64>,
    options: ContainerOptions,
    counters: Arc<ScanCounters>,
    walk: Option<HeaderWalk>,
}

impl HeaderCount {
    /// The number of records of each chunk that begins in the range, until one cannot be read.
    fn counts(self) -> impl Stream<Item = ReadResult<u64>> {
        stream::try_unfold(self, |mut count| async move { Ok(count.next().await?.map(|rows| (rows, count))) })
    }

    /// The number of records of the next chunk.
    async fn next(&mut self) -> ReadResult<Option<u64>> {
        match self.count_chunk().await {
            Err(ReadError::Damage(damage))
                if self.options.on_truncated == OnTruncated::End
                    && is_unfinished(&self.file, &damage, &self.counters).await? =>
            {
                Ok(None)
            }
            other => other,
        }
    }

    async fn count_chunk(&mut self) -> ReadResult<Option<u64>> {
        let walk = match &mut self.walk {
            Some(walk) => walk,
            none => {
                let (file, counters) = (self.file.clone(), Arc::clone(&self.counters));
                none.insert(HeaderWalk::start(file, self.range.clone(), counters).await?)
            }
        };
        let Some(chunk) = walk.next().await? else { return Ok(None) };
        match chunk.header.kind().map_err(Damage::at(chunk.begin))? {
            ChunkKind::Simple | ChunkKind::Transposed => {
                let fits = chunk.header.check_limits(&self.options.limits);
                fits.map_err(Damage::at(chunk.begin))?;
                self.counters.chunks_counted.add(1);
                Ok(Some(chunk.header.num_records))
            }
            _ => Ok(Some(0)),
        }
    }
}
