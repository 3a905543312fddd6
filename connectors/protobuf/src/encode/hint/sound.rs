//! Whether bytes are a schema that can be read without surprises.
//!
//! The reader of schemas panics on values that it does not know; they are looked for before.

use arrow::datatypes::{DataType, Schema};
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::{DateUnit, Endianness, Field, Int, IntervalUnit, Precision, TimeUnit, Type, root_as_message};

/// The schema of an encapsulated IPC message; `None` for bytes that are none.
pub(super) fn read(bytes: &[u8]) -> Option<Schema> {
    let rest = bytes.strip_prefix(&[0xff; 4]).unwrap_or(bytes);
    let (len, rest) = rest.split_first_chunk::<4>()?;
    let message = rest.get(..usize::try_from(u32::from_le_bytes(*len)).ok()?)?;
    let schema = root_as_message(message).ok()?.header_as_schema()?;
    let fields = schema.fields()?;
    let sound = schema.endianness() == Endianness::Little && fields.iter().all(is_sound);
    sound.then(|| fb_to_schema(schema))
}

/// The bytes were verified: how deep fields are nested is bounded.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "the most digits of a decimal are few, whatever their sign"
)]
fn is_sound(field: Field<'_>) -> bool {
    let children = || field.children().into_iter().flat_map(|children| children.iter());
    let has = |count: usize| children().count() == count;
    let type_is_known = match field.type_type() {
        Type::Null => field.type_as_null().is_some(),
        Type::Bool => field.type_as_bool().is_some(),
        Type::Utf8 => field.type_as_utf_8().is_some(),
        Type::LargeUtf8 => field.type_as_large_utf_8().is_some(),
        Type::Utf8View => field.type_as_utf_8_view().is_some(),
        Type::Binary => field.type_as_binary().is_some(),
        Type::LargeBinary => field.type_as_large_binary().is_some(),
        Type::BinaryView => field.type_as_binary_view().is_some(),
        Type::Struct_ => true,
        Type::Int => field.type_as_int().is_some_and(is_known_int),
        Type::FloatingPoint => field.type_as_floating_point().is_some_and(|float| {
            [Precision::HALF, Precision::SINGLE, Precision::DOUBLE].contains(&float.precision())
        }),
        Type::FixedSizeBinary => {
            field.type_as_fixed_size_binary().is_some_and(|binary| binary.byteWidth() >= 0)
        }
        Type::Decimal => field.type_as_decimal().is_some_and(|decimal| {
            let most = match decimal.bitWidth() {
                32 => 9,
                64 => 18,
                128 => 38,
                256 => 76,
                _ => 0,
            };
            let (precision, scale) = (decimal.precision(), decimal.scale());
            (1..=most).contains(&precision) && (-most..=precision).contains(&scale)
        }),
        Type::Date => field
            .type_as_date()
            .is_some_and(|date| [DateUnit::DAY, DateUnit::MILLISECOND].contains(&date.unit())),
        Type::Time => field.type_as_time().is_some_and(|time| match time.bitWidth() {
            32 => [TimeUnit::SECOND, TimeUnit::MILLISECOND].contains(&time.unit()),
            64 => [TimeUnit::MICROSECOND, TimeUnit::NANOSECOND].contains(&time.unit()),
            _ => false,
        }),
        Type::Timestamp => field.type_as_timestamp().is_some_and(|time| is_known_unit(time.unit())),
        Type::Duration => field.type_as_duration().is_some_and(|time| is_known_unit(time.unit())),
        Type::Interval => field.type_as_interval().is_some_and(|interval| {
            let known = [IntervalUnit::YEAR_MONTH, IntervalUnit::DAY_TIME, IntervalUnit::MONTH_DAY_NANO];
            known.contains(&interval.unit())
        }),
        Type::List | Type::LargeList | Type::ListView | Type::LargeListView => has(1),
        Type::FixedSizeList => {
            has(1) && field.type_as_fixed_size_list().is_some_and(|list| list.listSize() >= 0)
        }
        Type::Map => has(1) && field.type_as_map().is_some(),
        Type::RunEndEncoded => has(2),
        _ => false,
    };
    let is_known_dictionary =
        field.dictionary().is_none_or(|dictionary| dictionary.indexType().is_some_and(is_known_int));
    field.name().is_some() && type_is_known && is_known_dictionary && children().all(is_sound)
}

fn is_known_int(int: Int<'_>) -> bool {
    [8, 16, 32, 64].contains(&int.bitWidth())
}

fn is_known_unit(unit: TimeUnit) -> bool {
    [TimeUnit::SECOND, TimeUnit::MILLISECOND, TimeUnit::MICROSECOND, TimeUnit::NANOSECOND].contains(&unit)
}

/// Whether the type of the ends of runs is one that Arrow has.
pub(super) fn is_run_end(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Int16 | DataType::Int32 | DataType::Int64)
}
