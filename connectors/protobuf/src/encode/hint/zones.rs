//! Time zones that schemas name. Arrow looks them up late: when a value is printed or compared.

use arrow::array::timezone::Tz;
use arrow::datatypes::{DataType, Field, Fields};

/// The first of the fields with a time zone that is not known, and what is wrong with it.
pub(super) fn first_unknown(fields: &Fields) -> Option<(&Field, String)> {
    let of_field = |field| Some((field, unknown_zone(Field::data_type(field))?));
    let (field, zone) = fields.iter().map(AsRef::as_ref).find_map(of_field)?;
    Some((field, format!("has the time zone '{}', which is not known", zone.escape_debug())))
}

fn unknown_zone(data_type: &DataType) -> Option<&str> {
    match data_type {
        DataType::Timestamp(_, Some(zone)) => zone.parse::<Tz>().is_err().then_some(zone),
        DataType::Dictionary(_, values) => unknown_zone(values),
        DataType::RunEndEncoded(_, inner)
        | DataType::List(inner)
        | DataType::LargeList(inner)
        | DataType::ListView(inner)
        | DataType::LargeListView(inner)
        | DataType::FixedSizeList(inner, _)
        | DataType::Map(inner, _) => unknown_zone(inner.data_type()),
        DataType::Struct(fields) => fields.iter().find_map(|field| unknown_zone(field.data_type())),
        _ => None,
    }
}
