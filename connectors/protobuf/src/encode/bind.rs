//! The columns of one batch, ready to be written: plans bound to arrays.
//!
//! What can be done for all rows at once is done here: casts, numbers as they stand on the wire, names of
//! enums, parts of times, JSON texts.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, StructArray};
use arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow::compute::{cast, take};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use super::json;
use super::lists::{Lists, lists};
use super::numbers::{Words, sign_extended, words};
use super::origin::plain;
use super::plan::{FieldPlan, Form, Frame, MessagePlan, OnNull, OneofPlan, Place};
use super::times;
use crate::well_known::JsonKind;
use crate::wire;

type Result<T> = std::result::Result<T, ArrowError>;

/// The values of a field.
#[derive(Debug)]
pub(super) struct Bound<'p> {
    pub(super) plan: &'p FieldPlan,
    /// The column, as it came.
    pub(super) source: ArrayRef,
    /// Which values are not NULL.
    pub(super) nulls: Option<NullBuffer>,
    /// Which values are neither NULL nor impossible to write.
    pub(super) writable: Option<NullBuffer>,
    pub(super) values: Values<'p>,
}

/// Values in the form in which they are written.
#[derive(Debug)]
pub(super) enum Values<'p> {
    Nothing,
    Varint(ScalarBuffer<u64>),
    Fixed32(ScalarBuffer<u32>),
    Fixed64(ScalarBuffer<u64>),
    Bytes(BinaryViewArray, Frame),
    Present(Frame),
    Message(BoundMessage<'p>, Frame),
    List { items: Box<Bound<'p>>, places: Vec<(usize, usize)>, packed: bool },
    Map { keys: Box<Bound<'p>>, values: Box<Bound<'p>>, places: Vec<(usize, usize)> },
}

/// The fields of a message, by ascending number.
#[derive(Debug)]
pub(super) struct BoundMessage<'p> {
    pub(super) fields: Vec<Bound<'p>>,
    pub(super) oneofs: &'p [OneofPlan],
}

impl<'p> BoundMessage<'p> {
    /// The fields of `plan` in these columns.
    pub(super) fn new(plan: &'p MessagePlan, columns: &[ArrayRef]) -> Result<Self> {
        let column = |field: &'p FieldPlan| match field.place {
            Place::Child(index) => columns.get(index).map(|column| Bound::new(field, column)),
            Place::Itself => None,
        };
        let fields = plan.fields.iter().filter_map(column).collect::<Result<_>>()?;
        Ok(Self { fields, oneofs: &plan.oneofs })
    }
}

impl<'p> Bound<'p> {
    /// The values of `plan` in `source`.
    ///
    /// # Errors
    /// Those of Arrow, for types that were not planned for.
    pub(super) fn new(plan: &'p FieldPlan, source: &ArrayRef) -> Result<Self> {
        let nulls = if plan.on_null == OnNull::Inside { None } else { source.logical_nulls() };
        let with = |values, writable| {
            Ok(Self { plan, source: Arc::clone(source), nulls: nulls.clone(), writable, values })
        };
        let array = match plan.form {
            Form::Enum(_) => Arc::clone(source),
            _ => without_dictionary(source)?,
        };
        match &plan.form {
            Form::Nothing => with(Values::Nothing, Some(NullBuffer::new_null(source.len()))),
            Form::Number(kind) => {
                let (words, valid) = words(*kind, &array)?;
                let values = match words {
                    Words::Varint(values) => Values::Varint(values),
                    Words::Fixed32(values) => Values::Fixed32(values),
                    Words::Fixed64(values) => Values::Fixed64(values),
                };
                with(values, valid)
            }
            Form::Enum(numbers) => {
                let numbers = numbers.numbers(&array)?;
                let varints = numbers.values().iter().map(|&number| sign_extended(number)).collect();
                with(Values::Varint(varints), numbers.nulls().cloned())
            }
            Form::Bytes => with(Values::Bytes(byte_strings(&array)?, Frame::Length), nulls.clone()),
            Form::Json(kind, depth, frame) => {
                let messages = json_messages(*kind, *depth, &array)?;
                let valid = messages.nulls().cloned();
                with(Values::Bytes(messages, *frame), valid)
            }
            Form::Serialized(frame) => {
                let messages = byte_strings(&array)?;
                let valid = valid_messages(&messages);
                with(Values::Bytes(messages, *frame), valid)
            }
            Form::Present(frame) => with(Values::Present(*frame), present(&array)),
            Form::Parts(parts, fields, frame) => {
                let (columns, valid) = times::split(*parts, &array)?;
                let part = |(plan, values): (&'p FieldPlan, _)| Self {
                    plan,
                    source: Arc::clone(source),
                    nulls: None,
                    writable: None,
                    values: Values::Varint(values),
                };
                let fields = fields.iter().zip(columns).map(part).collect();
                with(Values::Message(BoundMessage { fields, oneofs: &[] }, *frame), valid)
            }
            Form::Message(plan, frame) => {
                let message = BoundMessage::new(plan, as_struct(&array)?.columns())?;
                with(Values::Message(message, *frame), nulls.clone())
            }
            Form::Only(field, frame) => {
                let fields = vec![Self::new(field, &array)?];
                with(Values::Message(BoundMessage { fields, oneofs: &[] }, *frame), nulls.clone())
            }
            Form::List { item, packed } => {
                let Lists { places, values } = lists(&array)?;
                let items = Box::new(Self::new(item, &values)?);
                with(Values::List { items, places, packed: *packed }, nulls.clone())
            }
            Form::Map { key, value } => {
                let Lists { places, values } = lists(&array)?;
                let [keys, values] = as_struct(&values)?.columns() else { return Err(unplanned(&array)) };
                let (keys, values) = (Box::new(Self::new(key, keys)?), Box::new(Self::new(value, values)?));
                with(Values::Map { keys, values, places }, nulls.clone())
            }
        }
    }

    /// Whether the value of `row` is not NULL.
    pub(super) fn is_there(&self, row: usize) -> bool {
        self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
    }
}

/// The values that the keys of a dictionary stand for, or those of runs.
fn without_dictionary(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            without_dictionary(&take(dictionary.values(), dictionary.keys(), None)?)
        }
        DataType::RunEndEncoded(_, values) => without_dictionary(&cast(array, values.data_type())?),
        _ => Ok(Arc::clone(array)),
    }
}

fn as_struct(array: &ArrayRef) -> Result<&StructArray> {
    array.as_struct_opt().ok_or_else(|| unplanned(array))
}

fn unplanned(array: &ArrayRef) -> ArrowError {
    ArrowError::SchemaError(format!("values of type {} were not planned for", array.data_type()))
}

/// Text and bytes as bytes; decimals as their text.
fn byte_strings(array: &ArrayRef) -> Result<BinaryViewArray> {
    let text = match array.data_type() {
        decimal if decimal.is_decimal() => cast(&cast(array, &DataType::Utf8)?, &DataType::BinaryView)?,
        DataType::FixedSizeBinary(_) => cast(&cast(array, &DataType::Binary)?, &DataType::BinaryView)?,
        DataType::Utf8 => cast(&cast(array, &DataType::Binary)?, &DataType::BinaryView)?,
        DataType::LargeUtf8 => cast(&cast(array, &DataType::LargeBinary)?, &DataType::BinaryView)?,
        _ => cast(array, &DataType::BinaryView)?,
    };
    Ok(text.as_binary_view().clone())
}

fn json_messages(kind: JsonKind, depth: u32, array: &ArrayRef) -> Result<BinaryViewArray> {
    let texts = cast(array, &DataType::Utf8View)?;
    let mut messages = BinaryViewBuilder::with_capacity(texts.len());
    for text in texts.as_string_view() {
        messages.append_option(text.and_then(|text| json::serialize(kind, text, depth).ok()));
    }
    Ok(messages.finish())
}

/// Which of the byte strings are messages.
fn valid_messages(messages: &BinaryViewArray) -> Option<NullBuffer> {
    let is_message = |message: Option<&[u8]>| message.is_some_and(|bytes| check_fields(bytes).is_ok());
    Some(NullBuffer::new(messages.iter().map(is_message).collect::<BooleanBuffer>()))
}

/// Checks that bytes are fields, one behind the other.
pub(super) fn check_fields(bytes: &[u8]) -> wire::Result<()> {
    let mut at = 0;
    while at < bytes.len() {
        let tag = wire::tag(bytes, &mut at)?;
        wire::skip(bytes, &mut at, tag, 0)?;
    }
    Ok(())
}

/// Where a message without fields is there: structs that are not NULL, booleans that are true.
fn present(array: &ArrayRef) -> Option<NullBuffer> {
    match plain(array.data_type()) {
        DataType::Boolean => {
            let valid = NullBuffer::new(array.as_boolean().values().clone());
            NullBuffer::union(array.nulls(), Some(&valid))
        }
        _ => array.nulls().cloned(),
    }
}
