//! Arrow columns to protobuf records (section 8 of the mapping).
//!
//! A message type is made for the columns ([`derive()`]), or it is given and the columns are matched with its
//! fields (`matching`). Either way a plan is compiled once (`compile`, `plan`). For some rows the plan is
//! bound to their arrays (`bind`), numbers and texts are made `pieces` of records, a column at a time, and the
//! rows are written from the last to the first into one buffer (`write`), so that no length has to be computed
//! before. `hint` keeps the Arrow schema for those who read the records again.

mod backward;
mod bind;
mod compile;
mod derive;
mod enums;
mod fault;
mod hint;
mod json;
mod lists;
mod matching;
mod numbers;
mod origin;
mod pieces;
mod plan;
mod records;
mod times;
mod write;

pub use derive::{DerivedType, derive};
pub(crate) use hint::{BadValues, apply_hint_under_options, kept_schema_hint};
pub use hint::{Hint, apply_hint, hinted_mapping, schema_hint};
pub(crate) use records::RECORD;
pub use records::{EncodeCounts, EncodedRecords, RecordEncoder, Target};
