//! Scans of a byte range: record blocks, batches of columns, or row counts.

use std::ops::Range;
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use recordfusion_core::{BatchStream, BlockStream, Error, RecordFile, ScanCounters, ScanRequest};
use recordfusion_protobuf::{BatchDecoder, scan_batches};

use crate::header::ChunkKind;
use crate::read::index::data_part;
use crate::read::{BlockReader, Damage, HeaderWalk, ReadError, ReadResult};

/// The records of a range as bytes, a block a chunk, without the index of an ArrayRecord file.
pub(crate) fn records(file: RecordFile, range: Range<u64>, counters: Arc<ScanCounters>) -> BlockStream {
    let open = async move {
        let part = data_part(&file, &counters).await?;
        let blocks = BlockReader::new(part, range, counters);
        Ok::<_, Error>(stream::try_unfold((blocks, file), |(mut blocks, file)| async move {
            let block = blocks.next().await.map_err(ReadError::of(&file))?;
            Ok(block.map(|block| (block, (blocks, file))))
        }))
    };
    stream::once(open).try_flatten().boxed()
}

/// The records of a range as columns.
pub(crate) fn batches(request: ScanRequest, decoder: BatchDecoder) -> BatchStream {
    let counters = Arc::clone(&request.counters);
    let blocks = records(request.file.clone(), request.range.clone(), counters);
    scan_batches(blocks, decoder, request)
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
