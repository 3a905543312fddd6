//! The connector: what the engine asks of the format.

use std::ops::Range;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt};
use recordfusion_core::{BlockStream, Connector, Inspection, Options, RecordFile, Result, ScanCounters, Table, Verification};

use crate::header::SIGNATURE;
use crate::inspect::{inspect, verify};
use crate::position::BLOCK;
use crate::read::index::data_part;
use crate::read::{BlockReader, ReadError, SIGNATURE_LEN};

/// Riegeli/records files, among them ArrayRecord files.
#[derive(Debug, Clone, Copy, Default)]
pub struct RiegeliConnector;

/// The records that begin in a range of a file, without the index of an ArrayRecord file.
fn records(file: RecordFile, range: Range<u64>, counters: Arc<ScanCounters>) -> BlockStream {
    let open = async move {
        let part = data_part(&file, &counters).await?;
        let blocks = BlockReader::new(part, range, counters);
        let next = |(mut blocks, file): (BlockReader, RecordFile)| async move {
            let block = blocks.next().await.map_err(ReadError::of(&file))?;
            Ok(block.map(|block| (block, (blocks, file))))
        };
        Ok(stream::try_unfold((blocks, file), next))
    };
    stream::once(open).try_flatten().boxed()
}
