//! A scan's counters as the metrics of its plan node.

use std::sync::Arc;
use std::time::Duration;

use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, Time};
use recordfusion_core::{Connector, CounterInfo, LostRegions, ScanCounters, Unit};

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
    /// The counters of a scan by `connector`.
    pub(super) fn new(
        connector: &dyn Connector,
        set: &ExecutionPlanMetricsSet,
        partition: usize,
        lost: Arc<LostRegions>,
    ) -> Self {
        let counters = ScanCounters::with_lost_regions(lost).declaring(connector.counters());
        let metric = |(info, _): (CounterInfo, u64)| match info.unit {
            Unit::Nanoseconds => Published::Time(MetricBuilder::new(set).subset_time(info.name, partition)),
            Unit::Count | Unit::Bytes => {
                Published::Count(MetricBuilder::new(set).counter(info.name, partition))
            }
        };
        let published = counters.all().into_iter().map(metric).collect();
        Self { counters: Arc::new(counters), published }
    }

    pub(super) fn counters(&self) -> &Arc<ScanCounters> {
        &self.counters
    }

    /// Brings the metrics up to the counters.
    pub(super) fn publish(&self) {
        for ((_, value), published) in self.counters.all().into_iter().zip(self.published.iter()) {
            let value = usize::try_from(value).unwrap_or(usize::MAX);
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
