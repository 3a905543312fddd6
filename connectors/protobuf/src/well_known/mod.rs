//! Messages that have a form of their own (section 5 of the mapping), told by full name and field shape.

mod time;

pub(crate) use time::{dates, instants, times_of_day};

use crate::descriptor::{Cardinality, Descriptors, Kind, MessageId};

/// A message type with a form of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WellKnown {
    Any,
    Date,
    Duration,
    FieldMask,
    Json(JsonKind),
    TimeOfDay,
    Timestamp,
    Wrapper,
}

/// Which of the messages that are JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonKind {
    Struct,
    Value,
    List,
}

/// What a field of a well-known message has to be.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    One(Kind),
    Many(Kind),
    Enum,
    Message(&'static str),
    Messages(&'static str),
    Map,
}

/// The well-known type that `message` is. A type that only shares the name is none.
pub(crate) fn recognise(descriptors: &Descriptors, message: MessageId) -> Option<WellKnown> {
    let full_name = descriptors.message(message).full_name.as_str();
    let name = full_name.strip_prefix("google.")?;
    let (well_known, fields) = shape(name)?;
    has_shape(descriptors, message, &fields).then_some(well_known)
}

/// The field shapes of the type `google.<name>`, for the numbers 1, 2, ...
fn shape(name: &str) -> Option<(WellKnown, Vec<Shape>)> {
    use Shape::{Enum, Many, Map, Message, Messages, One};
    let wrapper = |kind| Some((WellKnown::Wrapper, vec![One(kind)]));
    let time = [One(Kind::Int64), One(Kind::Int32)];
    let known = match name {
        "protobuf.Any" => (WellKnown::Any, vec![One(Kind::String), One(Kind::Bytes)]),
        "protobuf.Duration" => (WellKnown::Duration, time.to_vec()),
        "protobuf.Timestamp" => (WellKnown::Timestamp, time.to_vec()),
        "protobuf.FieldMask" => (WellKnown::FieldMask, vec![Many(Kind::String)]),
        "protobuf.Struct" => (WellKnown::Json(JsonKind::Struct), vec![Map]),
        "protobuf.ListValue" => (WellKnown::Json(JsonKind::List), vec![Messages("google.protobuf.Value")]),
        "protobuf.Value" => {
            let [list, object] = ["google.protobuf.ListValue", "google.protobuf.Struct"];
            let scalars = [Enum, One(Kind::Double), One(Kind::String), One(Kind::Bool)];
            (WellKnown::Json(JsonKind::Value), [&scalars[..], &[Message(object), Message(list)]].concat())
        }
        "protobuf.BoolValue" => return wrapper(Kind::Bool),
        "protobuf.BytesValue" => return wrapper(Kind::Bytes),
        "protobuf.DoubleValue" => return wrapper(Kind::Double),
        "protobuf.FloatValue" => return wrapper(Kind::Float),
        "protobuf.Int32Value" => return wrapper(Kind::Int32),
        "protobuf.Int64Value" => return wrapper(Kind::Int64),
        "protobuf.StringValue" => return wrapper(Kind::String),
        "protobuf.UInt32Value" => return wrapper(Kind::Uint32),
        "protobuf.UInt64Value" => return wrapper(Kind::Uint64),
        "type.Date" => (WellKnown::Date, vec![One(Kind::Int32); 3]),
        "type.TimeOfDay" => (WellKnown::TimeOfDay, vec![One(Kind::Int32); 4]),
        _ => return None,
    };
    Some(known)
}

fn has_shape(descriptors: &Descriptors, message: MessageId, shapes: &[Shape]) -> bool {
    let fields = &descriptors.message(message).fields;
    let fits = |(field, (number, &shape)): (&crate::descriptor::Field, (u32, &Shape))| {
        let named = |id, name| descriptors.message(id).full_name == name;
        let kind = match (shape, field.kind) {
            (Shape::One(kind) | Shape::Many(kind), is) => kind == is,
            (Shape::Enum, is) => matches!(is, Kind::Enum(_)),
            (Shape::Message(name) | Shape::Messages(name), Kind::Message(id)) => named(id, name),
            (Shape::Map, Kind::Message(id)) => descriptors.message(id).map_entry,
            _ => false,
        };
        let many = matches!(shape, Shape::Many(_) | Shape::Messages(_) | Shape::Map);
        kind && field.number == number && many == (field.cardinality == Cardinality::Repeated)
    };
    fields.len() == shapes.len() && fields.iter().zip((1..).zip(shapes)).all(fits)
}
