//! The options that say how records become columns.

mod choices;
mod mapping;
mod metadata;
mod table;
mod write;

use std::path::PathBuf;

use recordfusion_core::{Error, OptionInfo, Options, Result};

pub use choices::{
    Absent, AnyForm, ArrowSchemaUse, ClosedEnum, DurationForm, EmptyList, EmptyMessage, EnumForm, Extensions,
    Implicit, InvalidUtf8, MapForm, MapKeys, Names, Nullability, OnBadRecord, OnBadValue, PayloadForm,
    Recursion, Required, StringType, TimeOfDayForm, TimestampForm, Unsigned,
};
pub use mapping::{Mapping, RecursionDepth};
pub use metadata::MetadataColumn;
pub use write::{ArrowSchemaHint, ExtraColumns, NullItems, NullList, WriteOptions};

use crate::example::{Features, FeaturesError, SAMPLE_RECORDS};

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
    /// `payload`: what records are that are no messages.
    pub payload: PayloadForm,
    /// How values become columns.
    pub mapping: Mapping,
    /// `arrow_schema`: what becomes of the Arrow schema that files have.
    pub arrow_schema: ArrowSchemaUse,
    /// `features`: the features of `tf.train.Example` records as columns.
    pub features: Option<Features>,
    /// `metadata_columns`: columns about the records, behind those of the message.
    pub metadata_columns: Vec<MetadataColumn>,
}

impl ProtobufOptions {
    /// All options, in the order to show them.
    pub const OPTIONS: &'static [OptionInfo] = table::OPTIONS;

    /// The options of writing that name a message type to write.
    pub const TARGET: &'static [OptionInfo] = table::TARGET;

    /// Reads the options of [`Self::OPTIONS`]; other names are not looked at. An empty value is none.
    ///
    /// # Errors
    /// [`Error::Option`] for a value that an option does not have, and for options that exclude each other.
    pub fn from_options(options: &Options) -> Result<Self> {
        let path = |name| options.get(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let folders = options.get("proto_path").unwrap_or_default().split(',').map(str::trim);
        let message_type = options.get("message_type").map(|name| name.trim().trim_start_matches('.'));
        let parsed = Self {
            descriptor_set: path("descriptor_set"),
            proto: path("proto"),
            proto_path: folders.filter(|folder| !folder.is_empty()).map(PathBuf::from).collect(),
            message_type: message_type.filter(|name| !name.is_empty()).map(str::to_string),
            payload: choices::choice(options, "payload")?,
            mapping: Mapping::from_options(options)?,
            arrow_schema: choices::choice(options, "arrow_schema")?,
            features: features(options)?,
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

    /// Whether the options have a part in what message type the records are.
    pub fn name_type(&self) -> bool {
        self.message_type.is_some() || self.descriptor_set.is_some() || self.proto.is_some()
    }

    /// How many records columns are inferred from; 0 if the options and the files' descriptors say them.
    pub fn sample_records(&self) -> usize {
        if self.features == Some(Features::Infer) { SAMPLE_RECORDS } else { 0 }
    }
}

fn features(options: &Options) -> Result<Option<Features>> {
    let Some(text) = options.get("features").filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    let bad =
        |error: FeaturesError| Error::Option { name: "features".to_string(), reason: error.to_string() };
    text.parse().map(Some).map_err(bad)
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
        let empty = ProtobufOptions::OPTIONS.iter().map(|option| (option.name, "")).collect();
        for none in [Options::new(), empty] {
            let parsed = ProtobufOptions::from_options(&none).expect("no options");
            assert_eq!(parsed, ProtobufOptions::default());
        }
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
