//! Whether two versions of a message type can be read as one: field numbers are identity.

use std::collections::{HashMap, HashSet};

use super::{Cardinality, Descriptors, Enum, EnumId, Field, Kind, Message, MessageId};

/// The first thing in which two versions of a message, or of one that it needs, exclude each other:
/// a number with two types or cardinalities, a name with two numbers, fields that are in one oneof in one
/// version only, an enum that is closed in one version only. Other names, and what only one version has,
/// exclude nothing.
pub(crate) fn first_conflict(
    first: (&Descriptors, MessageId),
    second: (&Descriptors, MessageId),
) -> Option<String> {
    let mut comparison = Comparison {
        first: first.0,
        second: second.0,
        queue: vec![(first.1, second.1)],
        seen: HashSet::from([(first.1, second.1)]),
        enums: HashSet::new(),
    };
    while let Some((first, second)) = comparison.queue.pop() {
        let (first, second) = (comparison.first.message(first), comparison.second.message(second));
        let conflict = comparison.messages(first, second);
        if conflict.is_some() {
            return conflict;
        }
    }
    None
}

struct Comparison<'a> {
    first: &'a Descriptors,
    second: &'a Descriptors,
    queue: Vec<(MessageId, MessageId)>,
    seen: HashSet<(MessageId, MessageId)>,
    enums: HashSet<(EnumId, EnumId)>,
}

impl<'a> Comparison<'a> {
    fn messages(&mut self, first: &'a Message, second: &'a Message) -> Option<String> {
        let all = |message: &'a Message| message.fields.iter().chain(&message.extensions);
        let by_number: HashMap<u32, &Field> = all(first).map(|field| (field.number, field)).collect();
        let by_name: HashMap<&str, &Field> = all(first).map(|field| (field.name.as_str(), field)).collect();
        for field in all(second) {
            let conflict = match (by_number.get(&field.number), by_name.get(field.name.as_str())) {
                (Some(known), _) => self.fields(&first.full_name, known, field),
                (None, Some(known)) => Some(format!(
                    "field {} of {} has the number {} in the first, {} in the second",
                    field.name, first.full_name, known.number, field.number
                )),
                (None, None) => None,
            };
            if conflict.is_some() {
                return conflict;
            }
        }
        oneofs(first, second)
    }

    fn fields(&mut self, message: &str, first: &Field, second: &Field) -> Option<String> {
        let conflict = match (first.kind, second.kind) {
            (Kind::Message(a), Kind::Message(b)) | (Kind::Group(a), Kind::Group(b)) => !self.linked(a, b),
            (Kind::Enum(a), Kind::Enum(b)) => {
                let (a_type, b_type) = (self.first.enumeration(a), self.second.enumeration(b));
                if a_type.full_name == b_type.full_name && self.enums.insert((a, b)) {
                    let conflict = enums(a_type, b_type);
                    if conflict.is_some() {
                        return conflict;
                    }
                }
                a_type.full_name != b_type.full_name
            }
            (a, b) => a != b,
        };
        (conflict || first.cardinality != second.cardinality).then(|| {
            format!(
                "field {} of {message} is '{}' in the first, '{}' in the second",
                first.number,
                shown(self.first, first),
                shown(self.second, second)
            )
        })
    }

    /// Whether two message types are versions of one; if so, they are compared in their turn. The name of
    /// a map entry comes from the field and does not count.
    fn linked(&mut self, first: MessageId, second: MessageId) -> bool {
        let (a, b) = (self.first.message(first), self.second.message(second));
        let same = a.map_entry == b.map_entry && (a.map_entry || a.full_name == b.full_name);
        if same && self.seen.insert((first, second)) {
            self.queue.push((first, second));
        }
        same
    }
}

/// Fields that both versions have must be in one oneof in both or in neither. Alone in a oneof is as good
/// as in none.
fn oneofs(first: &Message, second: &Message) -> Option<String> {
    let places: HashMap<u32, Option<usize>> =
        first.fields.iter().map(|field| (field.number, field.oneof)).collect();
    let (first_sizes, second_sizes) = (oneof_sizes(first), oneof_sizes(second));
    let alone = |sizes: &HashMap<usize, usize>, oneof: usize| sizes.get(&oneof) == Some(&1);
    let mut forward: HashMap<usize, usize> = HashMap::new();
    let mut backward: HashMap<usize, usize> = HashMap::new();
    for field in &second.fields {
        let fits = match (places.get(&field.number), field.oneof) {
            (None, _) | (Some(None), None) => true,
            (Some(None), Some(oneof)) => alone(&second_sizes, oneof),
            (Some(&Some(oneof)), None) => alone(&first_sizes, oneof),
            (Some(&Some(a)), Some(b)) => {
                *forward.entry(a).or_insert(b) == b && *backward.entry(b).or_insert(a) == a
            }
        };
        if !fits {
            let name = |message: &Message, oneof: Option<usize>| {
                let name = oneof.and_then(|oneof| message.oneofs.get(oneof));
                name.map_or_else(|| "in no oneof".to_string(), |name| format!("in the oneof {name}"))
            };
            return Some(format!(
                "field {} ({}) of {} is {} in the first, {} in the second",
                field.number,
                field.name,
                first.full_name,
                name(first, places.get(&field.number).copied().flatten()),
                name(second, field.oneof)
            ));
        }
    }
    None
}

fn oneof_sizes(message: &Message) -> HashMap<usize, usize> {
    let mut sizes = HashMap::new();
    for oneof in message.fields.iter().filter_map(|field| field.oneof) {
        let size: &mut usize = sizes.entry(oneof).or_insert(0);
        *size = size.saturating_add(1);
    }
    sizes
}

fn enums(first: &Enum, second: &Enum) -> Option<String> {
    let name = &first.full_name;
    if first.closed != second.closed {
        let word = |closed| if closed { "closed" } else { "open" };
        let (first, second) = (word(first.closed), word(second.closed));
        return Some(format!("enum {name} is {first} in the first, {second} in the second"));
    }
    let numbers: HashSet<i32> = first.values.iter().map(|value| value.number).collect();
    let names: HashMap<&str, i32> =
        first.values.iter().map(|value| (value.name.as_str(), value.number)).collect();
    second.values.iter().filter(|value| !numbers.contains(&value.number)).find_map(|value| {
        names.get(value.name.as_str()).map(|number| {
            let (label, second) = (&value.name, value.number);
            format!("{label} of enum {name} is {number} in the first, {second} in the second")
        })
    })
}

fn shown(descriptors: &Descriptors, field: &Field) -> String {
    let repeated = if field.cardinality == Cardinality::Repeated { "repeated " } else { "" };
    match field.kind {
        Kind::Message(id) if descriptors.message(id).map_entry => format!("map {}", field.name),
        Kind::Message(id) => format!("{repeated}{} {}", descriptors.message(id).full_name, field.name),
        Kind::Group(id) => format!("{repeated}group {} {}", descriptors.message(id).full_name, field.name),
        Kind::Enum(id) => format!("{repeated}{} {}", descriptors.enumeration(id).full_name, field.name),
        scalar => format!("{repeated}{} {}", format!("{scalar:?}").to_lowercase(), field.name),
    }
}
