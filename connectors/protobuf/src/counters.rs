//! What a scan of messages counts besides what every scan does.

use recordfusion_core::CounterInfo;

/// Leaf columns that were decoded.
pub const FIELDS_PROJECTED: CounterInfo = CounterInfo::work("fields_projected");
/// Occurrences of a known field with another wire type, read as unknown.
pub const WIRE_TYPE_MISMATCHES: CounterInfo = CounterInfo::loss("wire_type_mismatches");
/// Timestamps and durations that lost digits below their unit.
pub const TIMESTAMPS_TRUNCATED: CounterInfo = CounterInfo::loss("timestamps_truncated");
/// Strings with invalid UTF-8 that were replaced.
pub const INVALID_UTF8_REPLACED: CounterInfo = CounterInfo::loss("invalid_utf8_replaced");
/// Values that are NULL because no column can hold them, or because they are not UTF-8.
pub const VALUES_NULLED: CounterInfo = CounterInfo::loss("values_nulled");
/// Records that lack a required field.
pub const RECORDS_INCOMPLETE: CounterInfo = CounterInfo::loss("records_incomplete");
/// Records that are no valid messages, and were left out.
pub const RECORDS_SKIPPED: CounterInfo = CounterInfo::loss("records_skipped");
/// Records that are no valid messages, and are rows of NULLs.
pub const RECORDS_NULLED: CounterInfo = CounterInfo::loss("records_nulled");

/// All of them, in the order to show them.
pub const COUNTERS: &[CounterInfo] = &[
    FIELDS_PROJECTED,
    WIRE_TYPE_MISMATCHES,
    TIMESTAMPS_TRUNCATED,
    INVALID_UTF8_REPLACED,
    VALUES_NULLED,
    RECORDS_INCOMPLETE,
    RECORDS_SKIPPED,
    RECORDS_NULLED,
];
