//! Scans of a byte range: record blocks, batches of columns, or row counts.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use futures::stream::{self, StreamExt, TryStreamExt};
use recordfusion_core::{
    BatchStream, BlockStream, ColumnBounds, Error, LARGE_BLOCK, Piece, RecordBlock, RecordFile, Result,
    ScanCounters, ScanRequest,
};
use recordfusion_protobuf::{BatchDecoder, ColumnChunk, PieceStream, scan_batches, scan_pieces};

use crate::decoder::ChunkDecoder;
use crate::header::ChunkKind;
use crate::read::index::data_part;
use crate::read::{BlockReader, ChunkData, Damage, HeaderWalk, Large, ReadError, ReadResult};
use crate::transposed::Header;
use crate::transposed::columns::{ColumnReader, column_bounds};

/// The records of a range as bytes, a block a chunk, without the index of an ArrayRecord file.
pub(crate) fn records(file: RecordFile, range: Range<u64>, counters: Arc<ScanCounters>) -> BlockStream {
    let open = async move {
        let part = data_part(&file, &counters).await?;
        let blocks = BlockReader::new(part, range, counters);
        Ok::<_, Error>(stream::try_unfold((blocks, file), |(mut blocks, file)| async move {
            let block = blocks.next_records().await.map_err(ReadError::of(&file))?;
            Ok(block.map(|block| (block, (blocks, file))))
        }))
    };
    stream::once(open).try_flatten().boxed()
}

/// The records of a range as columns.
pub(crate) fn batches(request: ScanRequest, decoder: BatchDecoder) -> BatchStream {
    let Some(columns) = ColumnReader::new(&decoder) else {
        let blocks = records(request.file.clone(), request.range.clone(), Arc::clone(&request.counters));
        return scan_batches(blocks, decoder, request);
    };
    scan_pieces(pieces(&request, columns), decoder, request)
}

/// The chunks of a range: large transposed ones as they are, the records of the others.
fn pieces(request: &ScanRequest, columns: ColumnReader) -> PieceStream {
    let (file, range, counters) =
        (request.file.clone(), request.range.clone(), Arc::clone(&request.counters));
    let large = Large { rows: request.batch_size, bytes: LARGE_BLOCK };
    let open = async move {
        let part = data_part(&file, &counters).await?;
        let mut blocks = BlockReader::new(part, range, Arc::clone(&counters));
        blocks.keep_large(large);
        let shared = Arc::new(Mutex::new((ChunkDecoder::default(), columns)));
        let context = Transposed { file, counters, shared };
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

/// What the transposed chunks of a range share.
#[derive(Clone)]
struct Transposed {
    file: RecordFile,
    counters: Arc<ScanCounters>,
    /// One chunk at a time uses them.
    shared: Arc<Mutex<(ChunkDecoder, ColumnReader)>>,
}

/// A transposed chunk that is read, but not decoded.
struct TransposedChunk {
    chunk: ChunkData,
    /// The state machine header, if it was needed before the rest.
    table: Option<Header>,
    of: Transposed,
}

impl ColumnChunk for TransposedChunk {
    fn columns(&mut self, decoder: &mut BatchDecoder) -> Option<RecordBatch> {
        let Transposed { file, counters, shared } = &self.of;
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let (chunks, reader) = &mut *shared;
        let place = (&self.chunk.header, self.chunk.begin, &self.chunk.data, self.table.take());
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
        let Transposed { file, counters, shared } = &self.of;
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        self.chunk.decode(&mut shared.0, counters).map_err(ReadError::of(file))
    }
}

/// Batches without columns, with as many rows as the chunk headers of a range say.
pub(crate) fn row_counts(request: ScanRequest) -> BatchStream {
    let ScanRequest { file, range, counters, limit, batch_size, .. } = request;
    let open = async move {
        let part = data_part(&file, &counters).await?;
        let walk = HeaderWalk::start(part, range, Arc::clone(&counters)).await;
        let walk = walk.map_err(ReadError::of(&file))?;
        Ok::<_, Error>(stream::try_unfold((walk, file, counters), |(mut walk, file, counters)| async move {
            let count = count_chunk(&mut walk, &counters).await.map_err(ReadError::of(&file))?;
            Ok(count.map(|count| (count, (walk, file, counters))))
        }))
    };
    recordfusion_core::row_counts(stream::once(open).try_flatten().boxed(), limit, batch_size)
}

/// The number of records of the next chunk.
async fn count_chunk(walk: &mut HeaderWalk, counters: &ScanCounters) -> ReadResult<Option<u64>> {
    let Some(chunk) = walk.next().await? else { return Ok(None) };
    match chunk.header.kind().map_err(Damage::at(chunk.begin))? {
        ChunkKind::Simple | ChunkKind::Transposed => {
            counters.chunks_counted.add(1);
            Ok(Some(chunk.header.num_records))
        }
        _ => Ok(Some(0)),
    }
}
