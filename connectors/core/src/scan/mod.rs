//! Row groups to batches: the projection, the filter and the limit of a scan, for every format.
//!
//! ```text
//!              RowGroups::next                          RowGroup::next
//!   (begin) ───────────────────► bounds of its columns ────────────────► columns of the filter, or all
//!                 ▲                │ no row can be kept                     │
//!                 │◄───────────────┘                                        │ RowFilter::keep
//!                 │                                                         ▼
//!                 │◄── no rows left in the group ── Output ◄─── RowGroup::rest, of the rows that are kept
//! ```
//!
//! Without a filter the batches of a row group are handed out as they come, cut at the wanted size.

mod filtered;
mod output;
mod plan;
mod row_group;

use arrow::array::RecordBatch;
use futures::stream::{self, StreamExt};

use crate::{BatchStream, Result, ScanRequest, compact};
use filtered::FilteredScan;
pub use plan::ScanPlan;
pub use row_group::{RestOfRows, RowGroup, RowGroups};

/// The rows of `groups`, which are those of the request's range, as the batches of the request. A row group is read
/// when the batch before it is taken.
pub fn scan<G>(
    groups: G,
    plan: ScanPlan<<G::Group as RowGroup>::Columns>,
    request: ScanRequest,
) -> BatchStream
where
    G: RowGroups + 'static,
{
    let ScanPlan { schema, all, filter } = plan;
    if let Some(filter) = filter {
        let scan = FilteredScan::new(groups, all, filter, schema, request);
        return stream::try_unfold(scan, |mut scan| async move {
            Ok(scan.next().await?.map(|batch| (batch, scan)))
        })
        .boxed();
    }
    let left = request.limit.unwrap_or(usize::MAX);
    let batch_size = request.batch_size;
    let scan = BatchScan { groups, columns: all, batch_size, left, group: None, ready: None, is_part: false };
    stream::try_unfold(scan, |mut scan| async move { Ok(scan.next().await?.map(|batch| (batch, scan))) })
        .boxed()
}

/// A scan without a filter.
struct BatchScan<G: RowGroups> {
    groups: G,
    columns: <G::Group as RowGroup>::Columns,
    batch_size: usize,
    /// Rows that the limit still allows.
    left: usize,
    /// The row group whose rows come next.
    group: Option<G::Group>,
    /// Rows that are decoded, but not yet handed out.
    ready: Option<RecordBatch>,
    /// Whether those are a part of what was decoded.
    is_part: bool,
}

impl<G: RowGroups> BatchScan<G> {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let wanted = self.batch_size.min(self.left);
        if wanted == 0 {
            return Ok(None);
        }
        match self.decode(wanted).await? {
            Some(rows) => self.hand_out(rows, wanted).map(Some),
            None => Ok(None),
        }
    }

    async fn decode(&mut self, wanted: usize) -> Result<Option<RecordBatch>> {
        if let Some(rows) = self.ready.take() {
            return Ok(Some(rows));
        }
        loop {
            if let Some(group) = &mut self.group
                && let Some(rows) = group.next(&mut self.columns, wanted).await?
            {
                return Ok(Some(rows));
            }
            // Its memory is free before that of the next one is needed.
            self.group = None;
            self.group = self.groups.next(wanted).await?;
            if self.group.is_none() {
                return Ok(None);
            }
        }
    }

    /// The first `wanted` rows; the others are for later. A part keeps no more memory than it shows.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "a part has no more rows than the whole, nor than are left"
    )]
    fn hand_out(&mut self, rows: RecordBatch, wanted: usize) -> Result<RecordBatch> {
        let count = wanted.min(rows.num_rows());
        self.left -= count;
        if count < rows.num_rows() {
            self.ready = Some(rows.slice(count, rows.num_rows() - count));
            self.is_part = true;
            return compact(&rows.slice(0, count));
        }
        match std::mem::take(&mut self.is_part) {
            true => compact(&rows),
            false => Ok(rows),
        }
    }
}
