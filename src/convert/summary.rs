//! What a conversion did, and what the scans of its plan tell of themselves.

use std::sync::Arc;

use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use recordfusion_core::LostRegion;
use serde_json::json;

use crate::datasource::RecordSource;
use crate::registry;

/// What a conversion did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Rows written.
    pub rows: u64,
    /// Length of the inputs in bytes.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Files written.
    pub files: usize,
    /// Counters of things that were not read or written as they are, such as mended strings, with their
    /// names; only those that are not zero.
    pub notes: Vec<(String, u64)>,
    /// The damaged regions of the inputs that were passed over, with their files, by file and place.
    pub lost: Vec<(String, LostRegion)>,
    /// Path and message type of the descriptor set that was written too.
    pub descriptor_set: Option<(String, String)>,
}

impl Summary {
    /// What was converted and what was lost, for programs.
    pub fn report(&self) -> serde_json::Value {
        let lost = self.lost.iter().map(|(file, region)| {
            let LostRegion { begin, end, reason } = region;
            json!({ "file": file, "begin": begin, "end": end, "bytes": region.bytes(), "reason": reason })
        });
        let notes: serde_json::Map<_, _> =
            self.notes.iter().map(|(name, n)| (name.clone(), json!(n))).collect();
        json!({
            "rows": self.rows,
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
            "files": self.files,
            "notes": notes,
            "lost": lost.collect::<Vec<_>>(),
        })
    }
}

/// The counters that tell of values that were not read as they are, and those of `losses` in writing; only those
/// that are not zero.
pub(super) fn notes(plan: &Arc<dyn ExecutionPlan>, losses: Vec<(&'static str, u64)>) -> Vec<(String, u64)> {
    let read = registry::loss_counters().into_iter().map(|name| (name, scan_metric(plan, name)));
    let noted = read.chain(losses).filter(|(_, count)| *count > 0);
    noted.map(|(name, count)| (name.to_string(), count)).collect()
}

/// The damaged regions that the scans of a plan passed over, with their files, by file and place.
pub fn lost_regions(plan: &Arc<dyn ExecutionPlan>) -> Vec<(String, LostRegion)> {
    let scan =
        plan.downcast_ref::<DataSourceExec>().and_then(|scan| scan.downcast_to_file_source::<RecordSource>());
    let own = scan.map(|(_, source)| source.lost_regions().all()).unwrap_or_default();
    own.into_iter().chain(plan.children().into_iter().flat_map(lost_regions)).collect()
}

/// The sum of a metric over all nodes of a plan; it may be read while the plan runs.
pub fn scan_metric(plan: &Arc<dyn ExecutionPlan>, name: &str) -> u64 {
    let own = plan
        .metrics()
        .and_then(|metrics| metrics.sum_by_name(name))
        .map_or(0, |value| value.as_usize() as u64);
    own + plan.children().into_iter().map(|child| scan_metric(child, name)).sum::<u64>()
}
