//! What a scan did, counted under the names that `EXPLAIN ANALYZE` and the converter show.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// The counters of one scan.
#[derive(Debug, Default)]
pub struct ScanCounters {
    /// Bytes read from the store.
    pub bytes_scanned: Counter,
    /// Bytes after decompression.
    pub bytes_decompressed: Counter,
    /// Chunks whose data was read.
    pub chunks_read: Counter,
    /// Chunks passed over because another range owns them.
    pub chunks_skipped_by_range: Counter,
    /// Chunks of which only the header was read, for a count.
    pub chunks_counted: Counter,
    /// Chunks passed over because none of their rows can be wanted.
    pub chunks_pruned: Counter,
    /// Chunks that became columns without putting their records together.
    pub chunks_shredded: Counter,
    /// Rows that the filter of the scan left out, of those that it looked at.
    pub rows_filtered: Counter,
    /// Records decoded to rows.
    pub records_decoded: Counter,
    /// Leaf columns that were decoded.
    pub fields_projected: Counter,
    /// Occurrences of a known field with another wire type, read as unknown.
    pub wire_type_mismatches: Counter,
    /// Timestamps and durations that lost digits below their unit.
    pub timestamps_truncated: Counter,
    /// Strings with invalid UTF-8 that were mended.
    pub invalid_utf8_replaced: Counter,
    /// Values that are NULL because no column can hold them, or because they are not UTF-8.
    pub values_nulled: Counter,
    /// Records that lack a required field.
    pub records_incomplete: Counter,
    /// Records that are no valid messages, and were left out.
    pub records_skipped: Counter,
    /// Records that are no valid messages, and are rows of NULLs.
    pub records_nulled: Counter,
    /// Damaged regions that were passed over.
    pub regions_lost: Counter,
    /// Bytes in them.
    pub bytes_lost: Counter,
    /// The regions themselves.
    pub lost_regions: Arc<LostRegions>,
    /// Time spent on checking hashes and decompressing.
    pub decompress_time: Counter,
    /// Time spent on decoding records to columns.
    pub decode_time: Counter,
}

impl ScanCounters {
    /// Counters whose lost regions are kept in `lost_regions`.
    pub fn with_lost_regions(lost_regions: Arc<LostRegions>) -> Self {
        Self { lost_regions, ..Self::default() }
    }

    /// Counts a damaged region of `file` that is passed over, logs it, and keeps it.
    pub fn lose(&self, file: &RecordFile, region: LostRegion) {
        self.regions_lost.add(1);
        self.bytes_lost.add(region.bytes());
        let LostRegion { begin, end, reason } = &region;
        log::warn!("{}: bytes {begin} to {end} are passed over: {reason}", file.name);
        self.lost_regions.add(&file.name, region);
    }

    /// All counters with their names and units, in the order to show them.
    pub fn all(&self) -> [(&'static str, Unit, &Counter); 21] {
        [
            ("bytes_scanned", Unit::Bytes, &self.bytes_scanned),
            ("bytes_decompressed", Unit::Bytes, &self.bytes_decompressed),
            ("chunks_read", Unit::Count, &self.chunks_read),
            ("chunks_skipped_by_range", Unit::Count, &self.chunks_skipped_by_range),
            ("chunks_counted", Unit::Count, &self.chunks_counted),
            ("chunks_pruned", Unit::Count, &self.chunks_pruned),
            ("chunks_shredded", Unit::Count, &self.chunks_shredded),
            ("rows_filtered", Unit::Count, &self.rows_filtered),
            ("records_decoded", Unit::Count, &self.records_decoded),
            ("fields_projected", Unit::Count, &self.fields_projected),
            ("wire_type_mismatches", Unit::Count, &self.wire_type_mismatches),
            ("timestamps_truncated", Unit::Count, &self.timestamps_truncated),
            ("invalid_utf8_replaced", Unit::Count, &self.invalid_utf8_replaced),
            ("values_nulled", Unit::Count, &self.values_nulled),
            ("records_incomplete", Unit::Count, &self.records_incomplete),
            ("records_skipped", Unit::Count, &self.records_skipped),
            ("records_nulled", Unit::Count, &self.records_nulled),
            ("regions_lost", Unit::Count, &self.regions_lost),
            ("bytes_lost", Unit::Bytes, &self.bytes_lost),
            ("decompress_time", Unit::Nanoseconds, &self.decompress_time),
            ("decode_time", Unit::Nanoseconds, &self.decode_time),
        ]
    }
}
