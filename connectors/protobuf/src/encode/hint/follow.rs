//! Hinted types as options want them: what an option is about follows the option, everything else the hint.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields};

use super::fit::{can_make, unwraps};
use super::restore::with_item;
use crate::encode::origin::{field_id, is_binary, is_text, list_item, map_parts};

/// The hinted fields as they are under options. `usual` are the decoded fields without options, one for each that is
/// hinted, and `now` those with them: they may be more, and have other names.
pub(super) fn follow_fields(usual: &Fields, now: &Fields, hinted: &Fields) -> Fields {
    let field = |now: &FieldRef| {
        let place = usual.iter().position(|usual| is_same(usual, now));
        match place.and_then(|place| usual.get(place).zip(hinted.get(place))) {
            Some((usual, hinted)) => follow_field(usual, now, hinted),
            None => Arc::clone(now),
        }
    };
    now.iter().map(field).collect()
}

/// Whether the columns are of one field of the message. Names are what an option changes.
fn is_same(usual: &Field, now: &Field) -> bool {
    match (field_id(usual), field_id(now)) {
        (None, None) => usual.name() == now.name(),
        (usual, now) => usual == now,
    }
}

fn follow_field(usual: &Field, now: &Field, hinted: &Field) -> FieldRef {
    let data_type = follow(usual.data_type(), now.data_type(), hinted.data_type());
    let field = hinted.clone().with_data_type(data_type);
    Arc::new(if usual.name() == now.name() { field } else { field.with_name(now.name()) })
}

/// The type that values have: the hinted one, less what makes `now` another decoded type than `usual`.
fn follow(usual: &DataType, now: &DataType, hinted: &DataType) -> DataType {
    if usual == now {
        return hinted.clone();
    }
    match (usual, now, hinted) {
        // What is stored as text or bytes, and is something else.
        (text, ..) if is_text(text) && is_text(now) && !is_text(hinted) => hinted.clone(),
        (bytes, ..) if is_binary(bytes) && is_binary(now) && !is_plain_binary(hinted) => hinted.clone(),
        // Enums are dictionaries, and the option is about them.
        (DataType::Dictionary(..), ..) => now.clone(),
        (.., DataType::Dictionary(key, values)) => {
            let values = follow(usual, now, values);
            let dictionary = DataType::Dictionary(key.clone(), Box::new(values.clone()));
            if can_make(&values, &dictionary) { dictionary } else { values }
        }
        (.., DataType::RunEndEncoded(ends, values)) => {
            let value = follow(usual, now, values.data_type());
            let field = Arc::new(values.as_ref().clone().with_data_type(value.clone()));
            let runs = DataType::RunEndEncoded(Arc::clone(ends), field);
            if can_make(&value, &runs) { runs } else { value }
        }
        (DataType::Struct(usual_fields), DataType::Struct(now_fields), _) => {
            match (&usual_fields[..], &now_fields[..], hinted) {
                ([usual], [now], _) if unwraps(usual_fields, hinted) => {
                    follow(usual.data_type(), now.data_type(), hinted)
                }
                (_, _, DataType::Struct(hinted)) if hinted.len() == usual_fields.len() => {
                    DataType::Struct(follow_fields(usual_fields, now_fields, hinted))
                }
                _ => now.clone(),
            }
        }
        (.., DataType::Map(entries, sorted)) => follow_map(usual, now, entries, *sorted),
        (DataType::List(usual), DataType::List(now), _) => match list_item(hinted) {
            Some(item) => {
                let data_type = follow(usual.data_type(), now.data_type(), item.data_type());
                with_item(hinted, Arc::new(item.clone().with_data_type(data_type)))
            }
            None => DataType::List(Arc::clone(now)),
        },
        (_, DataType::Timestamp(unit, _), DataType::Timestamp(_, zone)) => {
            DataType::Timestamp(*unit, zone.clone())
        }
        _ => now.clone(),
    }
}

/// Whether values are bytes of any length.
fn is_plain_binary(data_type: &DataType) -> bool {
    is_binary(data_type) && !matches!(data_type, DataType::FixedSizeBinary(_))
}

/// A map whose keys and values follow; it is a list of them if the option makes lists of maps.
fn follow_map(usual: &DataType, now: &DataType, entries: &Field, sorted: bool) -> DataType {
    let hinted = DataType::Map(Arc::new(entries.clone()), sorted);
    let (Some((usual_key, usual_value)), Some((now_key, now_value)), Some((key, value))) =
        (key_and_value(usual), key_and_value(now), map_parts(&hinted))
    else {
        return now.clone();
    };
    let parts = Fields::from(vec![
        follow_field(usual_key, now_key, key),
        follow_field(usual_value, now_value, value),
    ]);
    match (usual, now) {
        (DataType::Map(..), DataType::List(item)) => {
            DataType::List(Arc::new(item.as_ref().clone().with_data_type(DataType::Struct(parts))))
        }
        _ => DataType::Map(Arc::new(entries.clone().with_data_type(DataType::Struct(parts))), sorted),
    }
}

/// Key and value of a map, or of a list of them.
fn key_and_value(data_type: &DataType) -> Option<(&Field, &Field)> {
    let item = match data_type {
        DataType::List(item) => item.data_type(),
        other => return map_parts(other),
    };
    match item {
        DataType::Struct(parts) => match &parts[..] {
            [key, value] => Some((key, value)),
            _ => None,
        },
        _ => None,
    }
}
