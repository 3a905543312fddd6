//! What a scan did, counted under the names that `EXPLAIN ANALYZE` and the converter show.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use crate::{LostRegion, LostRegions, RecordFile};

/// What a counter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
}

/// One counter, safe to add to from any thread.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// The sum so far.
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Runs `work` and adds the nanoseconds that it took.
    pub fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        result
    }
}

/// A counter, as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterInfo {
    /// Its name, in lower case.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// Whether it counts what was not read as it is, so that a conversion tells of it.
    pub is_loss: bool,
}

impl CounterInfo {
    /// A counter of things that tell how much work was done.
    pub const fn work(name: &'static str) -> Self {
        Self { name, unit: Unit::Count, is_loss: false }
    }

    /// A counter of things that were not read as they are.
    pub const fn loss(name: &'static str) -> Self {
        Self { name, unit: Unit::Count, is_loss: true }
    }

    /// The same, of another unit.
    #[must_use]
    pub const fn of(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }
}

/// The counters of one scan: those of every format, and those that a connector [declares](crate::Connector::counters).
#[derive(Debug, Default)]
pub struct ScanCounters {
    /// Bytes read from the store.
    pub bytes_scanned: Counter,
    /// Bytes after decompression.
    pub bytes_decompressed: Counter,
    /// Chunks whose data was read.
    pub chunks_read: Counter,
    /// Chunks that were skipped because another range owns them.
    pub chunks_skipped_by_range: Counter,
    /// Chunks of which only the header was read, for a count.
    pub chunks_counted: Counter,
    /// Chunks that were skipped because none of their rows can be wanted.
    pub chunks_pruned: Counter,
    /// Rows that the filter of the scan left out, of those that it looked at.
    pub rows_filtered: Counter,
    /// Records decoded to rows.
    pub records_decoded: Counter,
    /// Damaged regions that were skipped.
    pub regions_lost: Counter,
    /// Bytes in them.
    pub bytes_lost: Counter,
    /// The regions themselves.
    pub lost_regions: Arc<LostRegions>,
    /// Time spent on checking hashes and decompressing.
    pub decompress_time: Counter,
    /// Time spent on decoding records to columns.
    pub decode_time: Counter,
    /// Those of the connector.
    declared: RwLock<Vec<(CounterInfo, Arc<Counter>)>>,
}

/// The counters of every format, in the order to show them.
const COMMON: [CounterInfo; 12] = [
    CounterInfo::work("bytes_scanned").of(Unit::Bytes),
    CounterInfo::work("bytes_decompressed").of(Unit::Bytes),
    CounterInfo::work("chunks_read"),
    CounterInfo::work("chunks_skipped_by_range"),
    CounterInfo::work("chunks_counted"),
    CounterInfo::work("chunks_pruned"),
    CounterInfo::work("rows_filtered"),
    CounterInfo::work("records_decoded"),
    CounterInfo::loss("regions_lost"),
    CounterInfo::loss("bytes_lost").of(Unit::Bytes),
    CounterInfo::work("decompress_time").of(Unit::Nanoseconds),
    CounterInfo::work("decode_time").of(Unit::Nanoseconds),
];

impl ScanCounters {
    /// The counters of every format.
    pub const COMMON: &'static [CounterInfo] = &COMMON;

    /// Counters whose lost regions are kept in `lost_regions`.
    pub fn with_lost_regions(lost_regions: Arc<LostRegions>) -> Self {
        Self { lost_regions, ..Self::default() }
    }

    /// The same with these counters besides, so that they are shown even if nothing is ever added to them.
    #[must_use]
    pub fn declaring(self, counters: &[CounterInfo]) -> Self {
        counters.iter().for_each(|info| drop(self.declared(info)));
        self
    }

    /// Adds `n` to a counter of the connector.
    pub fn add(&self, info: &CounterInfo, n: u64) {
        if n > 0 {
            self.declared(info).add(n);
        }
    }

    /// The sum so far of a counter of the connector.
    pub fn value(&self, info: &CounterInfo) -> u64 {
        self.find(info).map_or(0, |counter| counter.value())
    }

    fn find(&self, info: &CounterInfo) -> Option<Arc<Counter>> {
        let declared = self.declared.read().unwrap_or_else(PoisonError::into_inner);
        declared.iter().find(|(known, _)| known.name == info.name).map(|(_, counter)| Arc::clone(counter))
    }

    fn declared(&self, info: &CounterInfo) -> Arc<Counter> {
        if let Some(counter) = self.find(info) {
            return counter;
        }
        let mut declared = self.declared.write().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, counter)) = declared.iter().find(|(known, _)| known.name == info.name) {
            return Arc::clone(counter);
        }
        let counter = Arc::new(Counter::default());
        declared.push((*info, Arc::clone(&counter)));
        counter
    }

    /// Counts a damaged region of `file` that is skipped, logs it, and keeps it.
    pub fn lose(&self, file: &RecordFile, region: LostRegion) {
        self.regions_lost.add(1);
        self.bytes_lost.add(region.bytes());
        let LostRegion { begin, end, reason } = &region;
        log::warn!("{}: bytes {begin} to {end} are passed over: {reason}", file.name);
        self.lost_regions.add(&file.name, region);
    }

    /// All counters with their sums so far, in the order to show them.
    pub fn all(&self) -> Vec<(CounterInfo, u64)> {
        let common = [
            &self.bytes_scanned,
            &self.bytes_decompressed,
            &self.chunks_read,
            &self.chunks_skipped_by_range,
            &self.chunks_counted,
            &self.chunks_pruned,
            &self.rows_filtered,
            &self.records_decoded,
            &self.regions_lost,
            &self.bytes_lost,
            &self.decompress_time,
            &self.decode_time,
        ];
        let common = COMMON.iter().zip(common).map(|(info, counter)| (*info, counter.value()));
        let declared = self.declared.read().unwrap_or_else(PoisonError::into_inner);
        common.chain(declared.iter().map(|(info, counter)| (*info, counter.value()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_counters_come_behind_the_common_ones() {
        const NULLED: CounterInfo = CounterInfo::loss("values_nulled");
        const LATE: CounterInfo = CounterInfo::work("late");
        let counters = ScanCounters::default().declaring(&[NULLED]);
        assert_eq!(counters.all().len(), COMMON.len() + 1);
        counters.add(&LATE, 0);
        assert_eq!(counters.all().len(), COMMON.len() + 1, "nothing was counted");
        counters.add(&NULLED, 3);
        counters.add(&NULLED, 4);
        counters.add(&LATE, 1);
        assert_eq!((counters.value(&NULLED), counters.value(&LATE)), (7, 1));
        assert_eq!(counters.all()[COMMON.len()..], [(NULLED, 7), (LATE, 1)]);
        counters.bytes_lost.add(9);
        let sum = |name: &str| counters.all().iter().find(|(info, _)| info.name == name).map(|(_, n)| *n);
        assert_eq!((sum("bytes_lost"), sum("decode_time")), (Some(9), Some(0)));
    }
}
