//! The options that say how records become columns.

use std::path::PathBuf;

use recordfusion_core::{Error, OptionInfo, Options, Result};

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
}

impl ProtobufOptions {
    /// All options.
    pub const OPTIONS: &'static [OptionInfo] = &[
        OptionInfo {
            name: "descriptor_set",
            values: "PATH",
            description: "Serialized FileDescriptorSet that replaces what the files say of themselves",
        },
        OptionInfo {
            name: "message_type",
            values: "NAME",
            description: "Full name of the records' message type, if the files do not say it or to read another",
        },
        OptionInfo {
            name: "proto",
            values: "PATH",
            description: ".proto source file that replaces what the files say of themselves",
        },
        OptionInfo {
            name: "proto_path",
            values: "PATH,…",
            description: "Folders in which the imports of proto are looked for; by default the one it lies in",
        },
    ];

    /// Reads the options of [`Self::OPTIONS`]; other names are not looked at. An empty value is none.
    ///
    /// # Errors
    /// [`Error::Option`] if both `descriptor_set` and `proto` are given.
    pub fn from_options(options: &Options) -> Result<Self> {
        let path = |name| options.get(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let folders = options.get("proto_path").unwrap_or_default().split(',').map(str::trim);
        let message_type = options.get("message_type").map(|name| name.trim().trim_start_matches('.'));
        let parsed = Self {
            descriptor_set: path("descriptor_set"),
            proto: path("proto"),
            proto_path: folders.filter(|folder| !folder.is_empty()).map(PathBuf::from).collect(),
            message_type: message_type.filter(|name| !name.is_empty()).map(str::to_string),
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
