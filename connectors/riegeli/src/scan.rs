//! Scans of a byte range: records, transposed chunks for columns, or counts.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::stream::{self, BoxStream, Stream, StreamExt, TryStreamExt};
use recordfusion_core::{
    BlockStream, ColumnBounds, CounterInfo, Error, Limits, OnCorruption, OnTruncated, RecordBlock,
    RecordFile, Result, ScanCounters, ScanRequest,
};
use recordfusion_protobuf::BatchDecoder;
use recordfusion_records::{ColumnChunk, ContainerOptions, ItemStream, LARGE_BLOCK, ScanItem};

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

/// What the range of the request has for a scan: large transposed chunks as they are, the records of the others.
pub(crate) fn items(request: &ScanRequest, options: ContainerOptions) -> ItemStream<TransposedChunk> {
    let (file, range, counters) =
        (request.file.clone(), request.range.clone(), Arc::clone(&request.counters));
    let large = Large { rows: request.batch_size, bytes: LARGE_BLOCK };
    let open = async move {
        let (part, options) = part_to_read(&file, options, &counters).await?;
        let mut blocks = BlockReader::new(part, range, options, Arc::clone(&counters));
        blocks.keep_large(large);
        let source = Arc::new(Source { file, on_corruption: options.on_corruption, counters });
        Ok::<_, Error>(stream::try_unfold((blocks, source), |(mut blocks, source)| async move {
            let item = match blocks.next().await.map_err(ReadError::of(&source.file))? {
                None => return Ok(None),
                Some(ScanItem::Records(block)) => ScanItem::Records(block),
                Some(ScanItem::Chunk(chunk)) => {
                    ScanItem::Chunk(TransposedChunk { chunk, header: None, source: Arc::clone(&source) })
                }
            };
            Ok(Some((item, (blocks, source))))
        }))
    };
    stream::once(open).try_flatten().boxed()
}

/// Transposed chunks that became columns without putting their records together.
pub const CHUNKS_COLUMNAR: CounterInfo = CounterInfo::work("chunks_columnar");

/// Where the transposed chunks of a range come from, and where they are counted.
struct Source {
    file: RecordFile,
    on_corruption: OnCorruption,
    counters: Arc<ScanCounters>,
}

/// Takes the columns of one projection from transposed chunks.
pub struct ChunkColumns {
    chunks: ChunkDecoder,
    /// `None` if the projection takes whole records.
    columns: Option<ColumnReader>,
}

impl ChunkColumns {
    pub(crate) fn new(decoder: &BatchDecoder, limits: Limits) -> Self {
        Self { chunks: ChunkDecoder::with_limits(limits), columns: ColumnReader::new(decoder) }
    }
}

/// A transposed chunk that is read, but not decoded.
pub struct TransposedChunk {
    chunk: ChunkData,
    /// The state machine header, if it was needed before the rest.
    header: Option<Header>,
    source: Arc<Source>,
}

impl ColumnChunk for TransposedChunk {
    type Reader = ChunkColumns;

    fn columns(&mut self, reader: &mut ChunkColumns, decoder: &mut BatchDecoder) -> Option<RecordBatch> {
        let ChunkColumns { chunks, columns } = reader;
        let columns = columns.as_mut()?;
        let Source { file, counters, .. } = self.source.as_ref();
        let place = (&self.chunk.chunk.header, self.chunk.chunk.begin, &self.chunk.data, self.header.take());
        let decode = || chunks.decode_columns(place, columns, decoder, &file.name, counters);
        let rows = counters.decode_time.time(decode);
        counters.bytes_decompressed.add(chunks.take_decompressed_bytes());
        counters.add(&CHUNKS_COLUMNAR, u64::from(rows.is_ok()));
        rows.ok()
    }

    fn bounds(
        &mut self,
        reader: &mut ChunkColumns,
        decoder: &BatchDecoder,
        column: usize,
    ) -> Option<ColumnBounds> {
        reader.columns.as_ref()?;
        if self.header.is_none() {
            let (chunks, counters) = (&mut reader.chunks, &self.source.counters);
            self.header = counters.decode_time.time(|| chunks.table(&self.chunk.data)).ok();
            counters.bytes_decompressed.add(chunks.take_decompressed_bytes());
        }
        column_bounds(self.header.as_ref()?, decoder, column)
    }

    fn records(&mut self, reader: &mut ChunkColumns) -> Result<Option<RecordBlock>> {
        let Source { file, on_corruption, counters } = self.source.as_ref();
        let block = self.chunk.records(&mut reader.chunks, *on_corruption, file, counters);
        block.map_err(ReadError::of(file))
    }
}

/// How many records the range of the request has: by chunk headers if damage is an error, so that it makes no
/// difference; otherwise by reading.
pub(crate) fn counts(request: &ScanRequest, options: ContainerOptions) -> BoxStream<'static, Result<u64>> {
    match options.on_corruption {
        OnCorruption::Error => header_counts(request, options),
        OnCorruption::Skip => {
            let counters = Arc::clone(&request.counters);
            let blocks = records(request.file.clone(), request.range.clone(), options, counters);
            blocks.map_ok(|block| block.len() as u64).boxed()
        }
    }
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
