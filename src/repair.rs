//! Copies what is whole of a damaged file to a sound one.

use std::sync::Arc;

use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::execution::SessionState;
use futures::TryStreamExt;
use recordfusion_core::{Connector, LostRegion, Options, RecordFile, ScanCounters};

use crate::capabilities::repairing;
use crate::datasource::external;
use crate::registry;
use crate::write::{Mode, Place, Statement, UnfinishedFile, Upload};

/// What was copied, and what was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// Chunks copied.
    pub chunks: u64,
    /// Bytes written.
    pub bytes: u64,
    /// What was lost, with the name of the file, in its order.
    pub lost: Vec<(String, LostRegion)>,
}

/// Copies the chunks of `file` that are whole to `output`, a path or URL, as they are stored, but for what readers pass
/// over in them. Of `options`, those count that say how records are found in the file. The output is seen only when it is complete.
///
/// # Errors
/// A file with nothing of its format in it, or of a format without repair; an output that is the input; failures of
/// the stores. Then there is no output.
pub async fn repair(
    state: &SessionState,
    connector: &dyn Connector,
    file: &RecordFile,
    output: &str,
    options: &Options,
) -> Result<Repaired> {
    let output = Place::parse(state, output)?;
    if output.is_file(file) {
        return plan_err!("{} is both the input and the output", file.name);
    }
    let counters = Arc::new(ScanCounters::default());
    let statement = Statement::begin(&output, Mode::Replace).await?;
    let mut upload = statement.upload(output.location())?;
    let options = registry::read_options_of(connector, options);
    let copied = copy(connector, file, &options, &counters, &mut upload).await;
    let (bytes, outcome) = match copied {
        Ok(bytes) => (bytes, Ok(())),
        Err(error) => (0, Err(error)),
    };
    let file = UnfinishedFile::new(upload, outcome).await?;
    statement.publish(vec![file], None).await?;
    Ok(Repaired { chunks: counters.chunks_read.value(), bytes, lost: counters.lost_regions.all() })
}

async fn copy(
    connector: &dyn Connector,
    file: &RecordFile,
    options: &Options,
    counters: &Arc<ScanCounters>,
    upload: &mut Upload,
) -> Result<u64> {
    let (mut pieces, mut bytes) =
        (repairing(connector).map_err(external)?.repair(file, options, Arc::clone(counters)), 0);
    while let Some(piece) = pieces.try_next().await.map_err(external)? {
        bytes += piece.len() as u64;
        upload.write(piece).await?;
    }
    Ok(bytes)
}
