//! What the metadata of an Arrow field says of the protobuf field that it came from.

use arrow::datatypes::{DataType, Field};

use crate::schema::{FIELD_ID, PROTO_ENUM, PROTO_ENUM_VALUES, PROTO_MESSAGE, PROTO_TYPE};

/// The protobuf field that an Arrow field came from, as far as it is known. It holds for the items of a list
/// too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Origin<'a> {
    /// The keyword of the kind.
    pub kind: Option<&'a str>,
    /// Full name of the message type.
    pub message: Option<&'a str>,
    /// Full name and values of the enum type.
    pub enumeration: Option<(&'a str, &'a str)>,
}

impl<'a> Origin<'a> {
    /// What the metadata of `field` says.
    pub(super) fn of(field: &'a Field) -> Self {
        let value = |key| field.metadata().get(key).map(String::as_str);
        Self {
            kind: value(PROTO_TYPE),
            message: value(PROTO_MESSAGE),
            enumeration: value(PROTO_ENUM).zip(value(PROTO_ENUM_VALUES)),
        }
    }

    /// The name of the message type behind `google.`, if the field held one.
    pub(super) fn google(&self) -> Option<&'a str> {
        self.message.filter(|_| self.kind == Some("message"))?.strip_prefix("google.")
    }

    /// Whether the field held serialized messages or groups, if it is Binary.
    pub(super) fn is_message(&self) -> bool {
        matches!(self.kind, Some("message" | "group"))
    }
}

/// The number of the protobuf field that an Arrow field came from.
pub(super) fn field_id(field: &Field) -> Option<i32> {
    field.metadata().get(FIELD_ID)?.parse().ok()
}

/// The type of the values: dictionaries and runs are seen through.
pub(super) fn plain(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => plain(values),
        DataType::RunEndEncoded(_, values) => plain(values.data_type()),
        other => other,
    }
}

/// The item of a list type.
pub(super) fn list_item(data_type: &DataType) -> Option<&Field> {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => Some(item),
        _ => None,
    }
}

/// Key and value of a map type.
pub(super) fn map_parts(data_type: &DataType) -> Option<(&Field, &Field)> {
    let DataType::Map(entries, _) = data_type else { return None };
    match entries.data_type() {
        DataType::Struct(parts) => match &parts[..] {
            [key, value] => Some((key, value)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether values are text.
pub(super) fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Whether values are bytes.
pub(super) fn is_binary(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_)
    )
}
