//! A scan's counters as the metrics of its plan node.

use std::sync::Arc;
use std::time::Duration;

use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, Time};
use recordfusion_core::{LostRegions, ScanCounters, Unit};

/// Publishes the counters of one partition under their own names.
#[derive(Debug, Clone)]
pub(super) struct ScanMetrics {
    counters: Arc<ScanCounters>,
    published: Arc<[Published]>,
}

#[derive(Debug)]
enum Published {
    Count(Count),
    Time(Time),
}

impl ScanMetrics {
    pub(super) fn new(set: &ExecutionPlanMetricsSet, partition: usize, lost: Arc<LostRegions>) -> Self {
        let counters = Arc::new(ScanCounters::with_lost_regions(lost));
        let metric = |(name, unit, _)| match unit {
            Unit::Nanoseconds => Published::Time(MetricBuilder::new(set).subset_time(name, partition)),
            Unit::Count | Unit::Bytes => Published::Count(MetricBuilder::new(set).counter(name, partition)),
        };
        let published = counters.all().map(metric).into();
        Self { counters, published }
    }

    pub(super) fn counters(&self) -> &Arc<ScanCounters> {
        &self.counters
    }

    /// Brings the metrics up to the counters.
    pub(super) fn publish(&self) {
        for ((_, _, counter), published) in self.counters.all().iter().zip(self.published.iter()) {
            let value = usize::try_from(counter.value()).unwrap_or(usize::MAX);
            match published {
                Published::Count(count) => count.add(value.saturating_sub(count.value())),
                Published::Time(time) if value > time.value() => {
                    time.add_duration(Duration::from_nanos((value - time.value()) as u64));
                }
                Published::Time(_) => {}
            }
        }
    }
}
