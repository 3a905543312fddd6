//! The values of the mapping's options.

use recordfusion_core::{Options, Result};

/// A value of an option that has few of them.
pub(super) trait Choice: Copy + Default + 'static {
    /// What may be written, and what it means.
    const VALUES: &'static [(&'static str, Self)];
}

/// The value of an option, or its default.
pub(super) fn choice<T: Choice>(options: &Options, name: &str) -> Result<T> {
    Ok(options.choose(name, T::VALUES)?.unwrap_or_default())
}

impl Choice for bool {
    const VALUES: &'static [(&'static str, Self)] = &[("false", false), ("true", true)];
}

/// What records are that are no messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PayloadForm {
    /// Bytes.
    #[default]
    Bytes,
    /// Text.
    Text,
}

impl Choice for PayloadForm {
    const VALUES: &'static [(&'static str, Self)] = &[("bytes", Self::Bytes), ("text", Self::Text)];
}

/// The type of string and bytes columns, and of text that is made: JSON, names of enums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StringType {
    /// Views into the decoded records: no copies.
    #[default]
    Utf8View,
    /// Offsets of 32 bits.
    Utf8,
    /// Offsets of 64 bits.
    LargeUtf8,
}

impl Choice for StringType {
    const VALUES: &'static [(&'static str, Self)] =
        &[("utf8view", Self::Utf8View), ("utf8", Self::Utf8), ("large_utf8", Self::LargeUtf8)];
}

/// What enums show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EnumForm {
    /// Names, as a dictionary.
    #[default]
    Name,
    /// Numbers.
    Number,
    /// Names, as text.
    String,
}

impl Choice for EnumForm {
    const VALUES: &'static [(&'static str, Self)] =
        &[("name", Self::Name), ("number", Self::Number), ("string", Self::String)];
}

/// What becomes of numbers that a closed enum does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClosedEnum {
    /// Unknown fields.
    #[default]
    Spec,
    /// Their digits, as in an open enum.
    Open,
}

impl Choice for ClosedEnum {
    const VALUES: &'static [(&'static str, Self)] = &[("spec", Self::Spec), ("open", Self::Open)];
}

/// The type of unsigned numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unsigned {
    /// Unsigned.
    #[default]
    Native,
    /// The next larger signed type: Int64, and Decimal128(20, 0).
    Widen,
}

impl Choice for Unsigned {
    const VALUES: &'static [(&'static str, Self)] = &[("native", Self::Native), ("widen", Self::Widen)];
}

/// What a default value without presence shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Implicit {
    /// Itself.
    #[default]
    Default,
    /// NULL.
    Null,
}

impl Choice for Implicit {
    const VALUES: &'static [(&'static str, Self)] = &[("default", Self::Default), ("null", Self::Null)];
}

/// What an absent scalar with presence shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Absent {
    /// NULL.
    #[default]
    Null,
    /// The declared default, or that of its type.
    Default,
}

impl Choice for Absent {
    const VALUES: &'static [(&'static str, Self)] = &[("null", Self::Null), ("default", Self::Default)];
}

/// What the absence of a required field means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Required {
    /// NULL, and the record is counted.
    #[default]
    Lenient,
    /// The record is bad.
    Strict,
}

impl Choice for Required {
    const VALUES: &'static [(&'static str, Self)] = &[("lenient", Self::Lenient), ("strict", Self::Strict)];
}

/// What an empty list or map shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EmptyList {
    /// Itself.
    #[default]
    Empty,
    /// NULL.
    Null,
}

impl Choice for EmptyList {
    const VALUES: &'static [(&'static str, Self)] = &[("empty", Self::Empty), ("null", Self::Null)];
}

/// The type of map fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MapForm {
    /// Map.
    #[default]
    Map,
    /// List of structs of key and value.
    List,
}

impl Choice for MapForm {
    const VALUES: &'static [(&'static str, Self)] = &[("map", Self::Map), ("list", Self::List)];
}

/// The type of map keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MapKeys {
    /// One that `map[key]` works with in SQL.
    #[default]
    Sql,
    /// The one that a field of the key's kind has.
    Exact,
}

impl Choice for MapKeys {
    const VALUES: &'static [(&'static str, Self)] = &[("sql", Self::Sql), ("exact", Self::Exact)];
}

/// What becomes of known extensions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Extensions {
    /// Unknown fields.
    #[default]
    Omit,
    /// Columns behind the message's own, named `[full.name]`.
    Columns,
}

impl Choice for Extensions {
    const VALUES: &'static [(&'static str, Self)] = &[("omit", Self::Omit), ("columns", Self::Columns)];
}

/// What a message without fields shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EmptyMessage {
    /// True where it is present.
    #[default]
    Bool,
    /// A struct without fields.
    Struct,
}

impl Choice for EmptyMessage {
    const VALUES: &'static [(&'static str, Self)] = &[("bool", Self::Bool), ("struct", Self::Struct)];
}

/// The form of `google.protobuf.Timestamp`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TimestampForm {
    /// Timestamp(us).
    #[default]
    Microseconds,
    /// Timestamp(ns).
    Nanoseconds,
    /// Timestamp(ms).
    Milliseconds,
    /// Timestamp(s).
    Seconds,
    /// A struct of seconds and nanos.
    Struct,
}

impl Choice for TimestampForm {
    const VALUES: &'static [(&'static str, Self)] = &[
        ("us", Self::Microseconds),
        ("ns", Self::Nanoseconds),
        ("ms", Self::Milliseconds),
        ("s", Self::Seconds),
        ("struct", Self::Struct),
    ];
}

/// The form of `google.protobuf.Duration`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DurationForm {
    /// Duration(us).
    #[default]
    Microseconds,
    /// Duration(ns).
    Nanoseconds,
    /// Microseconds as a number.
    Int64,
    /// A struct of seconds and nanos.
    Struct,
}

impl Choice for DurationForm {
    const VALUES: &'static [(&'static str, Self)] = &[
        ("us", Self::Microseconds),
        ("ns", Self::Nanoseconds),
        ("int64", Self::Int64),
        ("struct", Self::Struct),
    ];
}

/// The form of `google.type.TimeOfDay`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TimeOfDayForm {
    /// Time64(us).
    #[default]
    Microseconds,
    /// Time64(ns).
    Nanoseconds,
}

impl Choice for TimeOfDayForm {
    const VALUES: &'static [(&'static str, Self)] = &[("us", Self::Microseconds), ("ns", Self::Nanoseconds)];
}

/// What becomes of the Arrow schema that files have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ArrowSchemaUse {
    /// The columns have the types that it tells of.
    #[default]
    Use,
    /// It is not looked at: the columns are those of the message type.
    Ignore,
}

impl Choice for ArrowSchemaUse {
    const VALUES: &'static [(&'static str, Self)] = &[("use", Self::Use), ("ignore", Self::Ignore)];
}

/// The form of `google.protobuf.Any`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnyForm {
    /// A struct of type_url and value.
    #[default]
    Struct,
    /// JSON text.
    Json,
}

impl Choice for AnyForm {
    const VALUES: &'static [(&'static str, Self)] = &[("struct", Self::Struct), ("json", Self::Json)];
}

/// What stands where a recursive message type is expanded no further.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Recursion {
    /// The serialized message.
    #[default]
    Binary,
    /// JSON text.
    Json,
    /// Nothing: the field has no column.
    Drop,
    /// Such types are refused.
    Error,
}

impl Choice for Recursion {
    const VALUES: &'static [(&'static str, Self)] =
        &[("binary", Self::Binary), ("json", Self::Json), ("drop", Self::Drop), ("error", Self::Error)];
}

/// The names of columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Names {
    /// Those of the fields.
    #[default]
    Proto,
    /// The fields' names in JSON.
    Json,
    /// Those of the fields, in lower case.
    Lower,
}

impl Choice for Names {
    const VALUES: &'static [(&'static str, Self)] =
        &[("proto", Self::Proto), ("json", Self::Json), ("lower", Self::Lower)];
}

/// Which columns are NOT NULL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Nullability {
    /// None.
    #[default]
    All,
    /// Columns of the table that have a value in every record.
    Proto,
}

impl Choice for Nullability {
    const VALUES: &'static [(&'static str, Self)] = &[("all", Self::All), ("proto", Self::Proto)];
}

/// What becomes of strings that are not UTF-8.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InvalidUtf8 {
    /// As the feature utf8_validation says: an error, or replaced.
    #[default]
    Auto,
    /// The record is bad.
    Error,
    /// U+FFFD replaces what is wrong.
    Replace,
    /// NULL; keys of maps are mended.
    Null,
}

impl Choice for InvalidUtf8 {
    const VALUES: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("error", Self::Error), ("replace", Self::Replace), ("null", Self::Null)];
}

/// What becomes of a record that is no valid message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnBadRecord {
    /// The query fails.
    #[default]
    Error,
    /// It is left out, and counted.
    Skip,
    /// It is a row of NULLs, and counted.
    Null,
}

impl Choice for OnBadRecord {
    const VALUES: &'static [(&'static str, Self)] =
        &[("error", Self::Error), ("skip", Self::Skip), ("null", Self::Null)];
}

/// What becomes of a value that no column can hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnBadValue {
    /// The query fails.
    #[default]
    Error,
    /// It is NULL, and counted.
    Null,
}

impl Choice for OnBadValue {
    const VALUES: &'static [(&'static str, Self)] = &[("error", Self::Error), ("null", Self::Null)];
}
