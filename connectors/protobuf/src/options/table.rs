//! The table of the options: their names, what may be written, and what they do.

use recordfusion_core::OptionInfo;

/// All options, in the order to show them: where the message type comes from, then sections 2 to 6 of the
/// mapping, then what is ours.
pub(super) const OPTIONS: &[OptionInfo] = &[
    OptionInfo::new(
        "descriptor_set",
        "PATH",
        "Serialized FileDescriptorSet that replaces what the files say of themselves",
    ),
    OptionInfo::new(
        "message_type",
        "NAME",
        "Full name of the records' message type, if the files do not say it or to read another",
    ),
    OptionInfo::new("proto", "PATH", ".proto source file that replaces what the files say of themselves"),
    OptionInfo::new(
        "proto_path",
        "PATH,…",
        "Folders in which the imports of proto are looked for; by default the one it lies in",
    ),
    OptionInfo::new("payload", "bytes | text", "Records that are no messages as bytes, or as text"),
    OptionInfo::new("string_type", "utf8view | utf8 | large_utf8", "Type of string and bytes columns"),
    OptionInfo::new(
        "enum",
        "name | number | string",
        "Enums as dictionaries of names, as numbers, or as text",
    ),
    OptionInfo::new(
        "closed_enum",
        "spec | open",
        "Numbers that a closed enum does not have: unknown fields, or their digits",
    ),
    OptionInfo::new(
        "unsigned",
        "native | widen",
        "Unsigned numbers as they are, or as Int64 and Decimal128(20, 0)",
    ),
    OptionInfo::new(
        "implicit",
        "default | null",
        "What fields without presence show that hold the default of their type",
    ),
    OptionInfo::new(
        "absent",
        "null | default",
        "What absent scalars with presence show: NULL, or their default",
    ),
    OptionInfo::new("required", "lenient | strict", "Records without a required field: counted, or bad"),
    OptionInfo::new("empty_list", "empty | null", "Empty lists and maps as they are, or NULL"),
    OptionInfo::new("map", "map | list", "Map fields as maps, or as lists of structs of key and value"),
    OptionInfo::new(
        "map_keys",
        "sql | exact",
        "Map keys of types that map[key] works with, or of their own types",
    ),
    OptionInfo::new(
        "extensions",
        "omit | columns",
        "Known extensions left out, or as columns named [full.name]",
    ),
    OptionInfo::new("empty_message", "bool | struct", "Messages without fields as booleans, or as structs"),
    OptionInfo::new(
        "timestamp",
        "us | ns | ms | s | struct",
        "google.protobuf.Timestamp: its unit, or seconds and nanos",
    ),
    OptionInfo::new(
        "duration",
        "us | ns | int64 | struct",
        "google.protobuf.Duration: its unit, microseconds as a number, or seconds and nanos",
    ),
    OptionInfo::new("time_of_day", "us | ns", "google.type.TimeOfDay: its unit"),
    OptionInfo::new("any", "struct | json", "google.protobuf.Any as type_url and value, or as JSON text"),
    OptionInfo::new(
        "recursion",
        "binary | json | drop | error",
        "Recursive messages where they are expanded no further",
    ),
    OptionInfo::new(
        "recursion_depth",
        "0 to 16, by default 1",
        "How often recursive messages are expanded below their first place",
    ),
    OptionInfo::new(
        "names",
        "proto | json | lower",
        "Column names: those of the fields, their JSON names, or in lower case",
    ),
    OptionInfo::new("nullability", "all | proto", "Columns that always have a value: nullable, or NOT NULL"),
    OptionInfo::new(
        "oneof_case",
        "false | true",
        "A column <oneof>_case with the name of the member that is set",
    ),
    OptionInfo::new(
        "invalid_utf8",
        "auto | error | replace | null",
        "Strings that are not UTF-8; auto as the feature utf8_validation says",
    ),
    OptionInfo::new(
        "on_bad_record",
        "error | skip | null",
        "Records that are no valid messages: fail, leave them out, or show NULLs",
    ),
    OptionInfo::new("on_bad_value", "error | null", "Values that no column can hold: fail, or show NULL"),
    OptionInfo::new(
        "arrow_schema",
        "use | ignore",
        "The Arrow schema that files have: columns of the types it tells of, or those of the message type",
    ),
    OptionInfo::new(
        "features",
        "infer | NAME:KIND[],…",
        "Features of tf.train.Example as columns; kinds are int64, float, bytes, string",
    ),
    OptionInfo::new(
        "metadata_columns",
        "file,position,record,unknown",
        "Columns _file, _position, _record, _unknown: about the records",
    ),
];

/// The options of writing that name a message type to write.
pub(super) const TARGET: &[OptionInfo] = &[
    OptionInfo::new("message_type", "NAME", "Message type to write, of descriptor_set or proto"),
    OptionInfo::new(
        "descriptor_set",
        "PATH",
        "Serialized FileDescriptorSet that has the message type to write",
    ),
    OptionInfo::new("proto", "PATH", ".proto source file that has the message type to write"),
    OptionInfo::new("proto_path", "PATH,…", "Folders in which the imports of proto are looked for"),
];

#[cfg(test)]
mod tests {
    use recordfusion_core::Options;

    use super::*;
    use crate::options::ProtobufOptions;

    #[test]
    fn the_listed_words_are_the_accepted_ones_and_the_first_is_the_default() {
        let with_words = OPTIONS.iter().filter(|option| option.values.contains(" | "));
        for option in with_words.filter(|option| option.name != "features") {
            let parsed = |value: &str| {
                ProtobufOptions::from_options(&Options::new().with(option.name, value)).expect(option.name)
            };
            let words: Vec<&str> = option.values.split(" | ").collect();
            assert_eq!(parsed(words[0]), ProtobufOptions::default(), "{}", option.name);
            for (at, word) in words.iter().enumerate().skip(1) {
                assert!(words[..at].iter().all(|other| parsed(other) != parsed(word)), "{}", option.name);
            }
            let wrong = ProtobufOptions::from_options(&Options::new().with(option.name, "wrong"));
            let message = wrong.unwrap_err().to_string();
            assert!(message.ends_with(&format!("is not one of {}", words.join(", "))), "{message}");
        }
    }
}
