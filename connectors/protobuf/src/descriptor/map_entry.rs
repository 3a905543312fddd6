//! The shape of map fields: a repeated message of a key (field 1) and a value (field 2).

use super::{Cardinality, DescriptorError, Descriptors, Field, Kind, Message};

/// Checks the entry type of every map field.
///
/// # Errors
/// [`DescriptorError::MapEntry`] for the first entry type that `map<K, V>` does not make, and
/// [`DescriptorError::Field`] for a field that uses one other than repeated.
pub(crate) fn check(descriptors: &Descriptors) -> Result<(), DescriptorError> {
    for (_, message) in descriptors.messages() {
        if message.map_entry {
            let bad = |reason| DescriptorError::MapEntry { message: message.full_name.clone(), reason };
            key_and_value(message).map_err(bad)?;
        }
        for field in message.fields.iter().chain(&message.extensions) {
            if let Kind::Message(id) | Kind::Group(id) = field.kind
                && descriptors.message(id).map_entry
                && (field.cardinality != Cardinality::Repeated || matches!(field.kind, Kind::Group(_)))
            {
                return Err(DescriptorError::Field {
                    field: format!("{}.{}", message.full_name, field.name),
                    reason: "uses a map entry, but is no map".to_string(),
                });
            }
        }
    }
    Ok(())
}

fn key_and_value(message: &Message) -> Result<(), &'static str> {
    let [first, second] = message.fields.as_slice() else { return Err("has not two fields") };
    let (key, value) = if first.number == 1 { (first, second) } else { (second, first) };
    if key.number != 1 || value.number != 2 {
        return Err("its fields do not have the numbers 1 and 2");
    }
    if [key, value].iter().any(|field: &&Field| field.cardinality == Cardinality::Repeated) {
        return Err("its key or value is repeated");
    }
    match key.kind {
        Kind::Double | Kind::Float | Kind::Bytes | Kind::Enum(_) | Kind::Message(_) | Kind::Group(_) => {
            Err("its key is of a kind that no key has")
        }
        _ => Ok(()),
    }
}
