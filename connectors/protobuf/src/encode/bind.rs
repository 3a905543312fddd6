//! The columns of one batch, ready to be written: plans bound to arrays.
//!
//! What can be done for all rows at once is done here: casts, numbers as they stand on the wire, names of
//! enums, parts of times, JSON texts.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, StructArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::{cast, take};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use super::json;
use super::lists::{Lists, lists};
use super::numbers::{Words, sign_extended, words};
use super::origin::plain;
use super::pieces::{self, Piece};
use super::plan::{FieldPlan, Form, Frame, MessagePlan, OnNull, OneofPlan, Place, Tag};
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
    /// The values as they are written; none for values that are made of others.
    pub(super) pieces: Vec<Piece>,
    pub(super) rest: Rest<'p>,
}

/// What values have that is not in pieces.
#[derive(Debug)]
pub(super) enum Rest<'p> {
    Nothing,
    /// The bytes behind pieces that are heads, and the tag behind them.
    Bytes(BinaryViewArray, Tag),
    Message(BoundMessage<'p>, Frame),
    List {
        items: Box<Bound<'p>>,
        places: Vec<(usize, usize)>,
        packed: bool,
    },
    Map {
        keys: Box<Bound<'p>>,
        values: Box<Bound<'p>>,
        places: Vec<(usize, usize)>,
    },
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
        let bound = |pieces, rest, writable| {
            Ok(Self { plan, source: Arc::clone(source), nulls: nulls.clone(), writable, pieces, rest })
        };
        let made_of = |rest, writable| bound(Vec::new(), rest, writable);
        let pieces = |mut pieces: Vec<Piece>, rest, valid| {
            let writable = leave_out(&mut pieces, plan, nulls.as_ref(), valid);
            bound(pieces, rest, writable)
        };
        let numbers = |words: &Words, valid| {
            pieces(pieces::of_numbers(words, plan.tag, plan.keeps_default), Rest::Nothing, valid)
        };
        let bytes = |values: BinaryViewArray, frame, valid| match frame {
            Frame::Length => {
                let heads = pieces::of_bytes(&values, plan.tag, plan.keeps_default);
                pieces(heads, Rest::Bytes(values, Tag::NONE), valid)
            }
            Frame::Group(end) => {
                pieces(vec![Piece::head(plan.tag); values.len()], Rest::Bytes(values, end), valid)
            }
        };
        let array = match plan.form {
            Form::Enum(_) => Arc::clone(source),
            _ => without_dictionary(source)?,
        };
        match &plan.form {
            Form::Nothing => made_of(Rest::Nothing, Some(NullBuffer::new_null(source.len()))),
            Form::Number(kind) => {
                let (words, valid) = words(*kind, &array)?;
                numbers(&words, valid)
            }
            Form::Enum(names) => {
                let found = names.numbers(&array)?;
                let varints = found.values().iter().map(|&number| sign_extended(number)).collect();
                numbers(&Words::Varint(varints), found.nulls().cloned())
            }
            Form::Bytes => bytes(byte_strings(&array)?, Frame::Length, nulls.clone()),
            Form::Json(kind, depth, frame) => {
                let messages = json_messages(*kind, *depth, &array)?;
                let valid = messages.nulls().cloned();
                bytes(messages, *frame, valid)
            }
            Form::Serialized(frame) => {
                let messages = byte_strings(&array)?;
                let valid = valid_messages(&messages);
                bytes(messages, *frame, valid)
            }
            Form::Present(frame) => {
                let message = Piece::of_empty_message(plan.tag, *frame);
                pieces(vec![message; array.len()], Rest::Nothing, present(&array))
            }
            Form::Parts(parts, fields, frame) => {
                let (columns, valid) = times::split(*parts, &array)?;
                let part = |(plan, values): (&'p FieldPlan, _)| Self {
                    plan,
                    source: Arc::clone(source),
                    nulls: None,
                    writable: None,
                    pieces: pieces::of_numbers(&Words::Varint(values), plan.tag, plan.keeps_default),
                    rest: Rest::Nothing,
                };
                let fields = fields.iter().zip(columns).map(part).collect();
                made_of(Rest::Message(BoundMessage { fields, oneofs: &[] }, *frame), valid)
            }
            Form::Message(plan, frame) => {
                let message = BoundMessage::new(plan, as_struct(&array)?.columns())?;
                made_of(Rest::Message(message, *frame), nulls.clone())
            }
            Form::Only(field, frame) => {
                let fields = vec![Self::new(field, &array)?];
                made_of(Rest::Message(BoundMessage { fields, oneofs: &[] }, *frame), nulls.clone())
            }
            Form::List { item, packed } => {
                let Lists { places, values } = lists(&array)?;
                let items = Box::new(Self::new(item, &values)?);
                made_of(Rest::List { items, places, packed: *packed }, nulls.clone())
            }
            Form::Map { key, value } => {
                let Lists { places, values } = lists(&array)?;
                let [keys, values] = as_struct(&values)?.columns() else { return Err(unplanned(&array)) };
                let (keys, values) = (Box::new(Self::new(key, keys)?), Box::new(Self::new(value, values)?));
                made_of(Rest::Map { keys, values, places }, nulls.clone())
            }
        }
    }

    /// Whether the value of `row` is not NULL.
    pub(super) fn is_there(&self, row: usize) -> bool {
        self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
    }
}

/// Takes values that are not `valid` out of `pieces`. Those that are NULL, and left out without a word, are
/// done with. Of others it is given back which can be written.
fn leave_out(
    pieces: &mut [Piece],
    plan: &FieldPlan,
    nulls: Option<&NullBuffer>,
    valid: Option<NullBuffer>,
) -> Option<NullBuffer> {
    let valid = valid.filter(|valid| valid.null_count() > 0)?;
    let are_null = nulls.is_some_and(|nulls| nulls.null_count() == valid.null_count());
    let done = are_null && plan.on_null == OnNull::Omit(None);
    let instead = if done { Piece::EMPTY } else { Piece::head(Tag::NONE) };
    for (piece, valid) in pieces.iter_mut().zip(&valid) {
        *piece = if valid { *piece } else { instead };
    }
    (!done).then_some(valid)
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
