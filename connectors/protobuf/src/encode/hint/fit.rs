//! Which decoded types a hinted type is stored as, and the way back.

use std::cell::Cell;
use std::sync::Arc;

use arrow::compute::can_cast_types;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, TimeUnit};

use super::restore::{Restore, Step, below_zero, with_item};
use super::sound::is_run_end;
use crate::encode::derive::field_names;
use crate::encode::origin::{is_binary, is_text, list_item, map_parts};

/// The most pairs of types that are looked at: messages around values leave several ways to try.
const MAX_STEPS: u32 = 1 << 17;

/// The way back to each of the columns `hinted`, where there is one; `None` unless the columns `decoded` have the names
/// that they are stored under.
pub(super) fn fit_columns(decoded: &Fields, hinted: &Fields) -> Option<Vec<Option<Restore>>> {
    Fit::new(true).columns(decoded, hinted)
}

/// As [`fit_columns`] for columns whose names an option may have changed: they are matched by their places.
pub(super) fn fit_places(decoded: &Fields, hinted: &Fields) -> Option<Vec<Option<Restore>>> {
    Fit::new(false).columns(decoded, hinted)
}

/// Whether the struct is a message that was made around a value of the hinted type.
pub(super) fn unwraps(fields: &Fields, hinted: &DataType) -> bool {
    Fit::new(true).unwrap(fields, hinted).is_some()
}

/// Looks for the ways back.
struct Fit {
    steps: Cell<u32>,
    /// Whether fields have the names that they are stored under.
    by_name: bool,
}

impl Fit {
    fn new(by_name: bool) -> Self {
        Self { steps: Cell::new(0), by_name }
    }

    fn columns(&self, decoded: &Fields, hinted: &Fields) -> Option<Vec<Option<Restore>>> {
        let in_place = decoded.len() == hinted.len() && (!self.by_name || has_names(decoded, hinted)?);
        let fit =
            |(decoded, hinted): (&FieldRef, &FieldRef)| self.fit(decoded.data_type(), hinted.data_type());
        in_place.then(|| decoded.iter().zip(hinted).map(fit).collect())
    }

    /// The way from values of a decoded type to values of a hinted one.
    fn fit(&self, decoded: &DataType, hinted: &DataType) -> Option<Restore> {
        self.steps.set(self.steps.get().saturating_add(1));
        if self.steps.get() > MAX_STEPS {
            return None;
        }
        let to = |step| Some(Restore { data_type: hinted.clone(), step });
        match (decoded, hinted) {
            (_, DataType::Dictionary(key, values)) if decoded != hinted => {
                self.dictionary(decoded, key, values)
            }
            (_, DataType::RunEndEncoded(ends, values)) if is_run_end(ends.data_type()) => {
                let inner = self.fit(decoded, values.data_type())?;
                // Runs of nested values cannot be made again.
                can_make(values.data_type(), hinted).then_some(())?;
                to(Step::Then(Box::new(inner)))
            }
            (DataType::Boolean, DataType::Struct(fields)) if fields.is_empty() => to(Step::Empty),
            (DataType::Boolean, DataType::Null) => to(Step::Null),
            (text, decimal) if is_text(text) && below_zero(decimal).is_some() => to(Step::Zeros),
            (_, DataType::Timestamp(..) | DataType::Duration(_)) => self.instant(decoded, hinted),
            (DataType::Struct(fields), DataType::Struct(hinted_fields)) => {
                self.unwrap(fields, hinted).or_else(|| self.structs(fields, hinted_fields))
            }
            (DataType::Struct(fields), _) => self.unwrap(fields, hinted),
            (_, DataType::Map(entries, sorted)) => self.map(decoded, hinted, entries, *sorted),
            (DataType::List(item), _) if list_item(hinted).is_some() => self.list(item, hinted),
            _ if decoded == hinted => to(Step::Same),
            (DataType::BinaryView, DataType::FixedSizeBinary(_)) => {
                let bytes = Restore { data_type: DataType::Binary, step: Step::Cast };
                to(Step::Then(Box::new(bytes)))
            }
            _ if is_cast(decoded, hinted) && can_cast_types(decoded, hinted) => to(Step::Cast),
            _ => None,
        }
    }

    fn structs(&self, decoded: &Fields, hinted: &Fields) -> Option<Restore> {
        let parts: Vec<Restore> = self.columns(decoded, hinted)?.into_iter().collect::<Option<_>>()?;
        let field = |(part, field): (&Restore, &FieldRef)| nullable(field, part.data_type.clone());
        let data_type = DataType::Struct(parts.iter().zip(hinted).map(field).collect());
        Some(Restore { data_type, step: Step::Struct(parts) })
    }

    /// A value from the message that was made around it: a list, or an item of one.
    fn unwrap(&self, fields: &Fields, hinted: &DataType) -> Option<Restore> {
        let is_list = list_item(hinted).is_some() || map_parts(hinted).is_some();
        match &fields[..] {
            [sole] if sole.name() == "value" || (is_list && sole.name() == "item") => {
                let inner = self.fit(sole.data_type(), hinted)?;
                Some(Restore { data_type: inner.data_type.clone(), step: Step::Unwrap(Box::new(inner)) })
            }
            _ => None,
        }
    }

    /// Batches may be larger than they were: small keys might not reach.
    fn dictionary(&self, decoded: &DataType, key: &DataType, values: &DataType) -> Option<Restore> {
        let inner = self.fit(decoded, values)?;
        let key = match key {
            DataType::Int8 | DataType::Int16 => DataType::Int32,
            DataType::UInt8 | DataType::UInt16 => DataType::UInt32,
            other => other.clone(),
        };
        // Dictionaries of nested values cannot be made again.
        let data_type = DataType::Dictionary(Box::new(key), Box::new(values.clone()));
        can_make(values, &data_type).then_some(())?;
        Some(Restore { data_type, step: Step::Then(Box::new(inner)) })
    }

    fn instant(&self, decoded: &DataType, hinted: &DataType) -> Option<Restore> {
        let has_parts = |fields: &Fields| {
            let names = fields.iter().map(|field| (field.name().as_str(), field.data_type()));
            names.eq([("seconds", &DataType::Int64), ("nanos", &DataType::Int32)])
        };
        let step = match (decoded, hinted) {
            (DataType::Timestamp(..), DataType::Timestamp(..))
            | (DataType::Duration(_), DataType::Duration(_)) => Step::Ticks,
            (DataType::Struct(fields), _) if has_parts(fields) => Step::Parts,
            (DataType::Struct(fields), _) => return self.unwrap(fields, hinted),
            _ => return None,
        };
        Some(Restore { data_type: hinted.clone(), step })
    }

    fn list(&self, item: &Field, hinted: &DataType) -> Option<Restore> {
        let hinted_item = list_item(hinted)?;
        let inner = self.fit(item.data_type(), hinted_item.data_type())?;
        let item = nullable(hinted_item, inner.data_type.clone());
        let data_type = with_item(hinted, item);
        Some(Restore { data_type, step: Step::List(Box::new(inner)) })
    }

    /// A map from a map, or from a list of keys and values.
    fn map(&self, decoded: &DataType, hinted: &DataType, entries: &Field, sorted: bool) -> Option<Restore> {
        let decoded = match (map_parts(decoded), list_item(decoded).map(Field::data_type)) {
            (Some((key, value)), _) => [key.data_type(), value.data_type()],
            (None, Some(DataType::Struct(parts))) => match &parts[..] {
                [key, value] if key.name() == "key" && value.name() == "value" => {
                    [key.data_type(), value.data_type()]
                }
                _ => return None,
            },
            _ => return None,
        };
        let (key, value) = map_parts(hinted)?;
        let parts = [self.fit(decoded[0], key.data_type())?, self.fit(decoded[1], value.data_type())?];
        let key = Arc::new(key.clone().with_data_type(parts[0].data_type.clone()).with_nullable(false));
        let fields = Fields::from(vec![key, nullable(value, parts[1].data_type.clone())]);
        let entries = entries.clone().with_data_type(DataType::Struct(fields)).with_nullable(false);
        let data_type = DataType::Map(Arc::new(entries), sorted);
        Some(Restore { data_type, step: Step::Map(Box::new(parts)) })
    }
}

/// Whether the fields `decoded` have the names that those of `hinted` are stored under.
fn has_names(decoded: &Fields, hinted: &Fields) -> Option<bool> {
    let names = field_names(hinted).ok()?;
    Some(names.iter().zip(decoded).all(|(name, field)| name.name == *field.name()))
}

fn nullable(field: &Field, data_type: DataType) -> FieldRef {
    Arc::new(field.clone().with_data_type(data_type).with_nullable(true))
}

/// Whether dictionaries and runs can be made of values.
pub(super) fn can_make(values: &DataType, made: &DataType) -> bool {
    !values.is_nested() && can_cast_types(values, made)
}

/// Whether values of the decoded type are cast to the hinted one.
fn is_cast(decoded: &DataType, hinted: &DataType) -> bool {
    use DataType::{
        Date32, Date64, Decimal128, Dictionary, Duration, Float16, Float32, Int64, Time32, Time64, UInt64,
    };
    match (decoded, hinted) {
        (Float32, Float16) | (Date32, Date64) | (Time64(_), Time32(_) | Time64(_)) => true,
        (UInt64, Decimal128(20, 0)) | (Duration(TimeUnit::Microsecond), Int64) => true,
        (Dictionary(_, values), text) => is_text(values) && is_text(text),
        (text, other) if is_text(text) => is_text(other) || other.is_decimal(),
        (binary, other) if is_binary(binary) => is_binary(other),
        (number, other) => number.is_integer() && other.is_integer(),
    }
}

/// The field of a list type's items.
pub(super) fn item_field(data_type: &DataType) -> Option<FieldRef> {
    list_item(data_type).map(|item| Arc::new(item.clone()))
}
