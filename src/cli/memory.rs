//! The memory of operators under `--memory-limit`.

use std::fmt::{self, Display};
use std::num::NonZeroUsize;
use std::sync::Arc;

use datafusion::common::resources_datafusion_err;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation, TrackConsumersPool,
};

/// How many of those that take most memory an error names.
const NAMED_CONSUMERS: NonZeroUsize = NonZeroUsize::new(5).expect("not zero");

/// What DataFusion's sort takes to put its files together begins with this name.
const MERGE: &str = "ExternalSorterMerge";

/// A pool of `bytes` for operators in this many partitions. Each operator that can spill gets its share.
pub(super) fn pool(bytes: usize, partitions: usize) -> Arc<dyn MemoryPool> {
    let shares = FairSpillPool::new(bytes);
    let merge_share = bytes / (2 * partitions.max(1));
    Arc::new(TrackConsumersPool::new(SortPool { shares, merge_share }, NAMED_CONSUMERS))
}

/// A fair pool in which sorts leave something to what comes behind them: a sort merges as many of its files at a time as
/// it gets memory for, and would take all there is.
#[derive(Debug)]
struct SortPool {
    shares: FairSpillPool,
    /// Most bytes of one merge.
    merge_share: usize,
}

impl Display for SortPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shares.fmt(f)
    }
}

impl MemoryPool for SortPool {
    fn name(&self) -> &str {
        self.shares.name()
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.shares.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.shares.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.shares.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.shares.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let name = reservation.consumer().name();
        if name.starts_with(MERGE) && reservation.size().saturating_add(additional) > self.merge_share {
            let share = self.merge_share;
            return Err(resources_datafusion_err!(
                "{name} may take {share} bytes, and needs {additional} more: raise --memory-limit, or lower --partitions"
            ));
        }
        self.shares.try_grow(reservation, additional)
    }

    fn reserved(&self) -> usize {
        self.shares.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.shares.memory_limit()
    }
}
