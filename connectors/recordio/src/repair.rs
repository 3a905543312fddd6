//! A sound file of what is whole in a damaged one: intact chunks are copied as they are stored (section 2: any chunks
//! back to back are a file).

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use recordfusion_core::{ByteStream, Error, RecordFile, Result, ScanCounters};
use recordfusion_records::ContainerOptions;

use crate::inspect::check_begin;
use crate::read::{ReadError, RecoveringReader};

/// The bytes of the repaired file: a piece for each intact chunk.
pub(crate) fn repair(file: RecordFile, options: ContainerOptions, counters: Arc<ScanCounters>) -> ByteStream {
    let open = async move {
        let chunks =
            RecoveringReader::open(file.clone(), 0..file.size, options, 0, Arc::clone(&counters)).await?;
        let repair = Repair { file, counters, chunks, any_chunk: false };
        Ok::<_, Error>(stream::try_unfold(repair, |mut repair| async move {
            Ok(repair.next().await?.map(|piece| (piece, repair)))
        }))
    };
    stream::once(open).try_flatten().boxed()
}

struct Repair {
    file: RecordFile,
    counters: Arc<ScanCounters>,
    chunks: RecoveringReader,
    any_chunk: bool,
}

impl Repair {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        let next = self.chunks.next().await?;
        if let Some((begin, fault)) = self.chunks.take_over_limit() {
            return Err(ReadError::of(&self.file)(ReadError::Damage { begin, fault }));
        }
        match next {
            Some((chunk, block)) => {
                self.any_chunk = true;
                self.counters.records_decoded.add(block.len() as u64);
                Ok(Some(chunk.bytes))
            }
            None if self.any_chunk || self.file.size == 0 => Ok(None),
            None => check_begin(&self.file, Arc::clone(&self.counters)).await.map(|()| None),
        }
    }
}
