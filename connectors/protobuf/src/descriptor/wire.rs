//! The messages of `google/protobuf/descriptor.proto` as far as they matter here: what decides how
//! records are read, and what .proto text shows. Services, source positions and custom options are
//! passed over. Names and numbers are those of that file; so are the docs of the fields.

#![allow(missing_docs)]

use prost::Message;

/// A list of files, as `protoc --descriptor_set_out` writes it.
#[derive(Clone, PartialEq, Message)]
pub struct FileDescriptorSet {
    #[prost(message, repeated, tag = "1")]
    pub file: Vec<FileDescriptorProto>,
}

/// One .proto file.
#[derive(Clone, PartialEq, Message)]
pub struct FileDescriptorProto {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub package: Option<String>,
    #[prost(string, repeated, tag = "3")]
    pub dependency: Vec<String>,
    #[prost(int32, repeated, packed = "false", tag = "10")]
    pub public_dependency: Vec<i32>,
    #[prost(int32, repeated, packed = "false", tag = "11")]
    pub weak_dependency: Vec<i32>,
    #[prost(string, repeated, tag = "15")]
    pub option_dependency: Vec<String>,
    #[prost(message, repeated, tag = "4")]
    pub message_type: Vec<DescriptorProto>,
    #[prost(message, repeated, tag = "5")]
    pub enum_type: Vec<EnumDescriptorProto>,
    #[prost(message, repeated, tag = "7")]
    pub extension: Vec<FieldDescriptorProto>,
    #[prost(message, optional, tag = "8")]
    pub options: Option<FileOptions>,
    #[prost(string, optional, tag = "12")]
    pub syntax: Option<String>,
    #[prost(int32, optional, tag = "14")]
    pub edition: Option<i32>,
}

/// A message type.
#[derive(Clone, PartialEq, Message)]
pub struct DescriptorProto {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(message, repeated, tag = "2")]
    pub field: Vec<FieldDescriptorProto>,
    #[prost(message, repeated, tag = "6")]
    pub extension: Vec<FieldDescriptorProto>,
    #[prost(message, repeated, tag = "3")]
    pub nested_type: Vec<DescriptorProto>,
    #[prost(message, repeated, tag = "4")]
    pub enum_type: Vec<EnumDescriptorProto>,
    #[prost(message, repeated, tag = "5")]
    pub extension_range: Vec<Range>,
    #[prost(message, repeated, tag = "8")]
    pub oneof_decl: Vec<OneofDescriptorProto>,
    #[prost(message, optional, tag = "7")]
    pub options: Option<MessageOptions>,
    #[prost(message, repeated, tag = "9")]
    pub reserved_range: Vec<Range>,
    #[prost(string, repeated, tag = "10")]
    pub reserved_name: Vec<String>,
    #[prost(int32, optional, tag = "11")]
    pub visibility: Option<i32>,
}

/// A range of numbers: in messages without its end, in enums with it.
#[derive(Clone, PartialEq, Message)]
pub struct Range {
    #[prost(int32, optional, tag = "1")]
    pub start: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub end: Option<i32>,
}

/// A field or an extension.
#[derive(Clone, PartialEq, Message)]
pub struct FieldDescriptorProto {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(int32, optional, tag = "3")]
    pub number: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub label: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub r#type: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub type_name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub extendee: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub default_value: Option<String>,
    #[prost(int32, optional, tag = "9")]
    pub oneof_index: Option<i32>,
    #[prost(string, optional, tag = "10")]
    pub json_name: Option<String>,
    #[prost(message, optional, tag = "8")]
    pub options: Option<FieldOptions>,
    #[prost(bool, optional, tag = "17")]
    pub proto3_optional: Option<bool>,
}

/// A oneof.
#[derive(Clone, PartialEq, Message)]
pub struct OneofDescriptorProto {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "2")]
    pub options: Option<OneofOptions>,
}

/// An enum type.
#[derive(Clone, PartialEq, Message)]
pub struct EnumDescriptorProto {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(message, repeated, tag = "2")]
    pub value: Vec<EnumValueDescriptorProto>,
    #[prost(message, optional, tag = "3")]
    pub options: Option<EnumOptions>,
    #[prost(message, repeated, tag = "4")]
    pub reserved_range: Vec<Range>,
    #[prost(string, repeated, tag = "5")]
    pub reserved_name: Vec<String>,
    #[prost(int32, optional, tag = "6")]
    pub visibility: Option<i32>,
}

/// A value of an enum.
#[derive(Clone, PartialEq, Message)]
pub struct EnumValueDescriptorProto {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub number: Option<i32>,
    #[prost(message, optional, tag = "3")]
    pub options: Option<EnumValueOptions>,
}

/// Options of a file.
#[derive(Clone, PartialEq, Message)]
pub struct FileOptions {
    #[prost(string, optional, tag = "1")]
    pub java_package: Option<String>,
    #[prost(string, optional, tag = "8")]
    pub java_outer_classname: Option<String>,
    #[prost(bool, optional, tag = "10")]
    pub java_multiple_files: Option<bool>,
    #[prost(bool, optional, tag = "27")]
    pub java_string_check_utf8: Option<bool>,
    #[prost(int32, optional, tag = "9")]
    pub optimize_for: Option<i32>,
    #[prost(string, optional, tag = "11")]
    pub go_package: Option<String>,
    #[prost(bool, optional, tag = "16")]
    pub cc_generic_services: Option<bool>,
    #[prost(bool, optional, tag = "17")]
    pub java_generic_services: Option<bool>,
    #[prost(bool, optional, tag = "18")]
    pub py_generic_services: Option<bool>,
    #[prost(bool, optional, tag = "23")]
    pub deprecated: Option<bool>,
    #[prost(bool, optional, tag = "31")]
    pub cc_enable_arenas: Option<bool>,
    #[prost(string, optional, tag = "36")]
    pub objc_class_prefix: Option<String>,
    #[prost(string, optional, tag = "37")]
    pub csharp_namespace: Option<String>,
    #[prost(string, optional, tag = "39")]
    pub swift_prefix: Option<String>,
    #[prost(string, optional, tag = "40")]
    pub php_class_prefix: Option<String>,
    #[prost(string, optional, tag = "41")]
    pub php_namespace: Option<String>,
    #[prost(string, optional, tag = "44")]
    pub php_metadata_namespace: Option<String>,
    #[prost(string, optional, tag = "45")]
    pub ruby_package: Option<String>,
    #[prost(message, optional, tag = "50")]
    pub features: Option<FeatureSet>,
}

/// Options of a message type.
#[derive(Clone, PartialEq, Message)]
pub struct MessageOptions {
    #[prost(bool, optional, tag = "1")]
    pub message_set_wire_format: Option<bool>,
    #[prost(bool, optional, tag = "2")]
    pub no_standard_descriptor_accessor: Option<bool>,
    #[prost(bool, optional, tag = "3")]
    pub deprecated: Option<bool>,
    #[prost(bool, optional, tag = "7")]
    pub map_entry: Option<bool>,
    #[prost(bool, optional, tag = "11")]
    pub deprecated_legacy_json_field_conflicts: Option<bool>,
    #[prost(message, optional, tag = "12")]
    pub features: Option<FeatureSet>,
}

/// Options of a field.
#[derive(Clone, PartialEq, Message)]
pub struct FieldOptions {
    #[prost(int32, optional, tag = "1")]
    pub ctype: Option<i32>,
    #[prost(bool, optional, tag = "2")]
    pub packed: Option<bool>,
    #[prost(bool, optional, tag = "3")]
    pub deprecated: Option<bool>,
    #[prost(bool, optional, tag = "5")]
    pub lazy: Option<bool>,
    #[prost(int32, optional, tag = "6")]
    pub jstype: Option<i32>,
    #[prost(bool, optional, tag = "10")]
    pub weak: Option<bool>,
    #[prost(bool, optional, tag = "15")]
    pub unverified_lazy: Option<bool>,
    #[prost(bool, optional, tag = "16")]
    pub debug_redact: Option<bool>,
    #[prost(message, optional, tag = "21")]
    pub features: Option<FeatureSet>,
}

/// Options of a oneof.
#[derive(Clone, PartialEq, Message)]
pub struct OneofOptions {
    #[prost(message, optional, tag = "1")]
    pub features: Option<FeatureSet>,
}

/// Options of an enum type.
#[derive(Clone, PartialEq, Message)]
pub struct EnumOptions {
    #[prost(bool, optional, tag = "2")]
    pub allow_alias: Option<bool>,
    #[prost(bool, optional, tag = "3")]
    pub deprecated: Option<bool>,
    #[prost(bool, optional, tag = "6")]
    pub deprecated_legacy_json_field_conflicts: Option<bool>,
    #[prost(message, optional, tag = "7")]
    pub features: Option<FeatureSet>,
}

/// Options of a value of an enum.
#[derive(Clone, PartialEq, Message)]
pub struct EnumValueOptions {
    #[prost(bool, optional, tag = "1")]
    pub deprecated: Option<bool>,
    #[prost(message, optional, tag = "2")]
    pub features: Option<FeatureSet>,
    #[prost(bool, optional, tag = "3")]
    pub debug_redact: Option<bool>,
}

/// Edition features that are set on one element.
#[derive(Clone, PartialEq, Message)]
pub struct FeatureSet {
    #[prost(int32, optional, tag = "1")]
    pub field_presence: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub enum_type: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub repeated_field_encoding: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub utf8_validation: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub message_encoding: Option<i32>,
    #[prost(int32, optional, tag = "6")]
    pub json_format: Option<i32>,
    #[prost(int32, optional, tag = "7")]
    pub enforce_naming_style: Option<i32>,
    #[prost(int32, optional, tag = "8")]
    pub default_symbol_visibility: Option<i32>,
}

/// Values of [`FieldDescriptorProto::label`].
pub mod label {
    pub const OPTIONAL: i32 = 1;
    pub const REQUIRED: i32 = 2;
    pub const REPEATED: i32 = 3;
}

/// Values of [`FieldDescriptorProto::type`].
pub mod field_type {
    pub const DOUBLE: i32 = 1;
    pub const FLOAT: i32 = 2;
    pub const INT64: i32 = 3;
    pub const UINT64: i32 = 4;
    pub const INT32: i32 = 5;
    pub const FIXED64: i32 = 6;
    pub const FIXED32: i32 = 7;
    pub const BOOL: i32 = 8;
    pub const STRING: i32 = 9;
    pub const GROUP: i32 = 10;
    pub const MESSAGE: i32 = 11;
    pub const BYTES: i32 = 12;
    pub const UINT32: i32 = 13;
    pub const ENUM: i32 = 14;
    pub const SFIXED32: i32 = 15;
    pub const SFIXED64: i32 = 16;
    pub const SINT32: i32 = 17;
    pub const SINT64: i32 = 18;
}

/// Values of [`FileDescriptorProto::edition`].
pub mod edition {
    pub const LEGACY: i32 = 900;
    pub const PROTO2: i32 = 998;
    pub const PROTO3: i32 = 999;
    pub const E2023: i32 = 1000;
}

impl DescriptorProto {
    /// Whether this is the entry type of a map field.
    pub fn is_map_entry(&self) -> bool {
        self.options.as_ref().is_some_and(|options| options.map_entry())
    }
}

impl FieldDescriptorProto {
    /// Whether the field has the label `repeated`.
    pub fn is_repeated(&self) -> bool {
        self.label == Some(label::REPEATED)
    }

    /// The edition features set on the field itself.
    pub fn features(&self) -> Option<&FeatureSet> {
        self.options.as_ref()?.features.as_ref()
    }
}
