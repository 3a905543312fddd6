//! The options that say how records become columns.

mod choices;
mod mapping;

use std::path::PathBuf;

use recordfusion_core::{Error, Options, Result};

pub use choices::{
    Absent, AnyForm, ClosedEnum, DurationForm, EmptyList, EmptyMessage, EnumForm, Extensions, Implicit,
    InvalidUtf8, MapForm, MapKeys, Names, Nullability, OnBadRecord, OnBadValue, Recursion, Required,
    StringType, TimestampForm, Unsigned,
};
pub use mapping::{Mapping, RecursionDepth};

/// Options of protobuf records. The default takes everything from the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProtobufOptions {
    /// `descriptor_set`: path of a serialized `google.protobuf.FileDescriptorSet` that replaces what the
    /// files say of themselves.
    pub descriptor_set: Option<PathBuf>,
    /// `proto`: path of a .proto source that replaces what the files say of themselves.
    pub proto: Option<PathBuf>,
    /// `proto_path`: folders, separated by commas, in which the imports of `proto` are looked for. By
    /// default the folder that `proto` lies in.
    pub proto_path: Vec<PathBuf>,
    /// `message_type`: full name of the records' message type. By default what the files say, or the only
    /// one there is.
    pub message_type: Option<String>,
    /// How values become columns.
    pub mapping: Mapping,
    /// `metadata_columns`: columns about the records, behind those of the message.
    pub metadata_columns: Vec<MetadataColumn>,
}

/// A column about the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetadataColumn {
    /// `_file`: the file that the record comes from.
    File,
    /// `_position`: the numeric record position.
    Position,
    /// `_record`: the serialized record.
    Record,
    /// `_unknown`: the fields of the record that its message type does not have.
    Unknown,
}

impl MetadataColumn {
    /// All of them, in the order of the columns, with what the option calls them.
    const NAMES: [(&'static str, Self); 4] = [
        ("file", Self::File),
        ("position", Self::Position),
        ("record", Self::Record),
        ("unknown", Self::Unknown),
    ];

    /// The option's value: names separated by commas.
    fn from_options(options: &Options) -> Result<Vec<Self>> {
        let Some(text) = options.get("metadata_columns") else { return Ok(Vec::new()) };
        let named: Vec<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let known = |name: &&str| Self::NAMES.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if let Some(name) = named.iter().find(|name| !known(name)) {
            let reason = format!("'{name}' is not one of file, position, record, unknown");
            return Err(Error::Option { name: "metadata_columns".to_string(), reason });
        }
        let wanted = |name: &str| named.iter().any(|given| given.eq_ignore_ascii_case(name));
        Ok(Self::NAMES.iter().filter(|(name, _)| wanted(name)).map(|&(_, column)| column).collect())
    }
}

impl ProtobufOptions {
    /// The names of all options.
    pub const NAMES: &'static [&'static str] = &[
        "descriptor_set",
        "message_type",
        "proto",
        "proto_path",
        "string_type",
        "enum",
        "closed_enum",
        "unsigned",
        "implicit",
        "absent",
        "required",
        "empty_list",
        "map",
        "map_keys",
        "extensions",
        "empty_message",
        "timestamp",
        "duration",
        "any",
        "recursion",
        "recursion_depth",
        "names",
        "nullability",
        "oneof_case",
        "invalid_utf8",
        "on_bad_record",
        "on_bad_value",
        "metadata_columns",
    ];

    /// Reads the options of [`Self::NAMES`]; other names are not looked at.
    ///
    /// # Errors
    /// [`Error::Option`] if both `descriptor_set` and `proto` are given.
    pub fn from_options(options: &Options) -> Result<Self> {
        let path = |name| options.get(name).map(PathBuf::from);
        let folders = options.get("proto_path").unwrap_or_default().split(',').map(str::trim);
        let message_type = options.get("message_type").map(|name| name.trim().trim_start_matches('.'));
        let parsed = Self {
            descriptor_set: path("descriptor_set"),
            proto: path("proto"),
            proto_path: folders.filter(|folder| !folder.is_empty()).map(PathBuf::from).collect(),
            message_type: message_type.filter(|name| !name.is_empty()).map(str::to_string),
            mapping: Mapping::from_options(options)?,
            metadata_columns: MetadataColumn::from_options(options)?,
        };
        if parsed.descriptor_set.is_some() && parsed.proto.is_some() {
            return Err(Error::Option {
                name: "proto".to_string(),
                reason: "descriptor_set is given too, and only one of them can be".to_string(),
            });
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_fields() {
        let options = Options::new()
            .with("proto", "a/b.proto")
            .with("proto_path", "a, c ,")
            .with("message_type", ".fx.Kitchen")
            .with("other", "ignored");
        let expected = ProtobufOptions {
            descriptor_set: None,
            proto: Some("a/b.proto".into()),
            proto_path: vec!["a".into(), "c".into()],
            message_type: Some("fx.Kitchen".into()),
            ..ProtobufOptions::default()
        };
        assert_eq!(ProtobufOptions::from_options(&options).expect("good options"), expected);
        let none = ProtobufOptions::from_options(&Options::new()).expect("no options");
        assert_eq!(none, ProtobufOptions::default());
    }

    #[test]
    fn two_sources_of_descriptors_are_too_many() {
        let options = Options::new().with("proto", "a").with("descriptor_set", "b");
        assert_eq!(
            ProtobufOptions::from_options(&options).unwrap_err().to_string(),
            "option 'proto': descriptor_set is given too, and only one of them can be"
        );
    }
}
