//! Protobuf messages as Arrow columns: descriptors to an Arrow schema, wire bytes to arrays, and back.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::arithmetic_side_effects
    )
)]

mod batch;
mod column_tree;
mod columns;
pub mod counters;
mod decode;
mod decoded;
pub mod descriptor;
#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "the numbers here are those of Arrow arrays in memory; what reads bytes denies this"
)]
mod encode;
mod enum_names;
mod enum_values;
mod example;
mod extent;
mod fault;
mod finish;
mod lockstep;
mod map_entries;
mod messages;
mod numbers;
mod open;
mod options;
mod plain_text;
mod plan;
mod proto_json;
mod record;
mod rows;
mod schema;
pub mod shredded;
mod side_file;
mod text;
mod view;
mod well_known;
mod wire;

pub use batch::{BatchDecoder, DecodedBatch};
pub use encode::{
    DerivedType, EncodeCounts, EncodedRecords, Hint, RecordEncoder, Target, apply_hint, derive,
    hinted_mapping, schema_hint,
};
pub use enum_values::{EnumText, EnumValues};
pub use example::{FeatureColumn, FeatureKind, Features, FeaturesError, UnknownKind};
pub use open::{FileDescriptors, RecordType, record_descriptors, said_of_records};
pub use options::{
    Absent, AnyForm, ArrowSchemaHint, ArrowSchemaUse, ClosedEnum, DurationForm, EmptyList, EmptyMessage,
    EnumForm, Extensions, ExtraColumns, Implicit, InvalidUtf8, MapForm, MapKeys, Mapping, MetadataColumn,
    Names, NullItems, NullList, Nullability, OnBadRecord, OnBadValue, PayloadForm, ProtobufOptions,
    Recursion, RecursionDepth, Required, StringType, TimeOfDayForm, TimestampForm, Unsigned, WriteOptions,
};
pub use record::{RecordDecoder, arrow_schema_to_keep};
