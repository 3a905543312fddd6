//! The well-known files that are supplied when a set of descriptors lacks them.

use prost::Message;
use protox::file::{File, FileResolver, GoogleFileResolver};

use super::wire::FileDescriptorProto;

/// Resolves imports of the well-known files: `google/protobuf/*` and the types of `google/type` that
/// have an Arrow form of their own or are common beside them.
#[derive(Debug)]
pub(crate) struct BuiltinFiles;

impl FileResolver for BuiltinFiles {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match GOOGLE_TYPES.iter().find(|(known, _)| *known == name) {
            Some((_, source)) => File::from_source(name, source),
            None => GoogleFileResolver::new().open_file(name),
        }
    }
}

/// The well-known file of this name. Its type names may be relative.
pub(crate) fn file(name: &str) -> Option<FileDescriptorProto> {
    let file = BuiltinFiles.open_file(name).ok()?;
    let bytes = file.file_descriptor_proto().encode_to_vec();
    FileDescriptorProto::decode(bytes.as_slice()).ok()
}

/// Whether every protobuf compiler brings this file along.
pub(crate) fn comes_with_compilers(name: &str) -> bool {
    name.starts_with("google/protobuf/") && GoogleFileResolver::new().open_file(name).is_ok()
}

const GOOGLE_TYPES: [(&str, &str); 9] = [
    (
        "google/type/date.proto",
        r#"syntax = "proto3"; package google.type;
        message Date { int32 year = 1; int32 month = 2; int32 day = 3; }"#,
    ),
    (
        "google/type/timeofday.proto",
        r#"syntax = "proto3"; package google.type;
        message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }"#,
    ),
    (
        "google/type/datetime.proto",
        r#"syntax = "proto3"; package google.type; import "google/protobuf/duration.proto";
        message DateTime {
          int32 year = 1; int32 month = 2; int32 day = 3;
          int32 hours = 4; int32 minutes = 5; int32 seconds = 6; int32 nanos = 7;
          oneof time_offset { google.protobuf.Duration utc_offset = 8; TimeZone time_zone = 9; }
        }
        message TimeZone { string id = 1; string version = 2; }"#,
    ),
    (
        "google/type/money.proto",
        r#"syntax = "proto3"; package google.type;
        message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }"#,
    ),
    (
        "google/type/latlng.proto",
        r#"syntax = "proto3"; package google.type;
        message LatLng { double latitude = 1; double longitude = 2; }"#,
    ),
    (
        "google/type/decimal.proto",
        r#"syntax = "proto3"; package google.type;
        message Decimal { string value = 1; }"#,
    ),
    (
        "google/type/interval.proto",
        r#"syntax = "proto3"; package google.type; import "google/protobuf/timestamp.proto";
        message Interval {
          google.protobuf.Timestamp start_time = 1; google.protobuf.Timestamp end_time = 2;
        }"#,
    ),
    (
        "google/type/dayofweek.proto",
        r#"syntax = "proto3"; package google.type;
        enum DayOfWeek {
          DAY_OF_WEEK_UNSPECIFIED = 0; MONDAY = 1; TUESDAY = 2; WEDNESDAY = 3; THURSDAY = 4;
          FRIDAY = 5; SATURDAY = 6; SUNDAY = 7;
        }"#,
    ),
    (
        "google/type/month.proto",
        r#"syntax = "proto3"; package google.type;
        enum Month {
          MONTH_UNSPECIFIED = 0; JANUARY = 1; FEBRUARY = 2; MARCH = 3; APRIL = 4; MAY = 5; JUNE = 6;
          JULY = 7; AUGUST = 8; SEPTEMBER = 9; OCTOBER = 10; NOVEMBER = 11; DECEMBER = 12;
        }"#,
    ),
];
