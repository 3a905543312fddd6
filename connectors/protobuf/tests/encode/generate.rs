//! Random columns, from a number that decides everything.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::*;

/// Gives numbers, one after the other, that look random (splitmix64).
pub struct Dice(pub u64);

impl Dice {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit as u64) as usize
    }

    /// Small and large ones.
    fn number(&mut self) -> i64 {
        let shift = self.below(64) as u32;
        (self.bits() as i64) >> shift
    }

    fn within(&mut self, low: i64, high: i64) -> i64 {
        low + (self.bits() % (high - low + 1) as u64) as i64
    }

    fn text(&mut self) -> String {
        (0..self.below(20)).map(|_| ['a', 'é', '\u{10000}', '"'][self.below(4)]).collect()
    }
}

const LEAVES: usize = 36;

fn leaf(dice: &mut Dice) -> DataType {
    use DataType::*;
    let zone = |name: &str| Some(Arc::from(name));
    match dice.below(LEAVES) {
        0 => Boolean,
        1 => Int8,
        2 => Int16,
        3 => Int32,
        4 => Int64,
        5 => UInt8,
        6 => UInt16,
        7 => UInt32,
        8 => UInt64,
        9 => Float16,
        10 => Float32,
        11 => Float64,
        12 => Utf8,
        13 => LargeUtf8,
        14 => Utf8View,
        15 => Binary,
        16 => LargeBinary,
        17 => BinaryView,
        18 => FixedSizeBinary(3),
        19 => Date32,
        20 => Date64,
        21 => Time32(TimeUnit::Second),
        22 => Time32(TimeUnit::Millisecond),
        23 => Time64(TimeUnit::Microsecond),
        24 => Time64(TimeUnit::Nanosecond),
        25 => Timestamp(TimeUnit::Second, None),
        26 => Timestamp(TimeUnit::Millisecond, zone("Europe/Berlin")),
        27 => Timestamp(TimeUnit::Microsecond, zone("UTC")),
        28 => Timestamp(TimeUnit::Nanosecond, zone("+01:00")),
        29 => Duration(TimeUnit::Millisecond),
        30 => Duration(TimeUnit::Nanosecond),
        31 => Decimal128(38, 7),
        32 => Decimal64(12, 0),
        33 => Dictionary(Box::new(Int32), Box::new(Utf8)),
        34 => Struct(Fields::empty()),
        _ => Null,
    }
}

/// A random type, nested at most `depth` deep.
pub fn data_type(dice: &mut Dice, depth: usize) -> DataType {
    if depth == 0 || dice.below(3) > 0 {
        return leaf(dice);
    }
    let item = |dice: &mut Dice| Arc::new(Field::new("element", data_type(dice, depth - 1), true));
    match dice.below(7) {
        0 => DataType::List(item(dice)),
        1 => DataType::LargeList(item(dice)),
        2 => DataType::FixedSizeList(item(dice), 2),
        3 => DataType::ListView(item(dice)),
        4 => {
            let key =
                [DataType::Int64, DataType::Utf8, DataType::UInt32, DataType::Float64][dice.below(4)].clone();
            // A map field cannot say that a value is NULL.
            let value = match data_type(dice, depth - 1) {
                DataType::Null => DataType::Boolean,
                other => other,
            };
            let value = Field::new("value", value, true);
            let entries = DataType::Struct(vec![Field::new("key", key, false), value].into());
            DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
        }
        _ => DataType::Struct(columns(dice, depth - 1).into()),
    }
}

/// Random columns with odd names.
pub fn columns(dice: &mut Dice, depth: usize) -> Vec<Field> {
    const NAMES: [&str; 8] = ["a", "a_b", "aB", "item", "value", "a b", "1", "A"];
    let first = dice.below(NAMES.len());
    let count = 1 + dice.below(4);
    (0..count).map(|at| Field::new(NAMES[(first + at) % NAMES.len()], data_type(dice, depth), true)).collect()
}

fn nulls(dice: &mut Dice, len: usize, nullable: bool) -> Option<NullBuffer> {
    let valid = (0..len).map(|_| !nullable || dice.below(4) > 0).collect::<BooleanBuffer>();
    nullable.then(|| NullBuffer::new(valid))
}

/// Random values of a type.
pub fn array(dice: &mut Dice, data_type: &DataType, len: usize, nullable: bool) -> ArrayRef {
    match data_type {
        DataType::Null => Arc::new(NullArray::new(len)),
        DataType::Struct(fields) if fields.is_empty() => {
            Arc::new(StructArray::new_empty_fields(len, nulls(dice, len, nullable)))
        }
        DataType::Struct(fields) => {
            let children = fields.iter().map(|field| array(dice, field.data_type(), len, true)).collect();
            Arc::new(StructArray::new(fields.clone(), children, nulls(dice, len, nullable)))
        }
        DataType::List(item) => Arc::new(list(dice, item, len, nullable)),
        DataType::LargeList(item) | DataType::ListView(item) => {
            cast(&list(dice, item, len, nullable), data_type).expect("a list")
        }
        DataType::FixedSizeList(item, size) => {
            let values = array(dice, item.data_type(), len * *size as usize, true);
            Arc::new(FixedSizeListArray::new(Arc::clone(item), *size, values, nulls(dice, len, nullable)))
        }
        DataType::Map(entries, _) => map(dice, entries, len, nullable),
        leaf => leaves(dice, leaf, len, nullable),
    }
}

fn lengths(dice: &mut Dice, len: usize) -> Vec<usize> {
    (0..len).map(|_| dice.below(4)).collect()
}

fn list(dice: &mut Dice, item: &FieldRef, len: usize, nullable: bool) -> ListArray {
    let lengths = lengths(dice, len);
    let values = array(dice, item.data_type(), lengths.iter().sum(), true);
    let offsets = OffsetBuffer::from_lengths(lengths);
    ListArray::new(Arc::clone(item), offsets, values, nulls(dice, len, nullable))
}

fn map(dice: &mut Dice, entries: &FieldRef, len: usize, nullable: bool) -> ArrayRef {
    let DataType::Struct(parts) = entries.data_type() else { panic!("entries are structs") };
    let lengths = lengths(dice, len);
    let total = lengths.iter().sum::<usize>();
    let keys: Vec<i64> = lengths.iter().flat_map(|&length| 0..length as i64).collect();
    let keys = cast(&Int64Array::from(keys), parts[0].data_type()).expect("keys");
    let values = array(dice, parts[1].data_type(), total, false);
    let entries_array = StructArray::new(parts.clone(), vec![keys, values], None);
    let offsets = OffsetBuffer::from_lengths(lengths);
    let nulls = nulls(dice, len, nullable);
    Arc::new(MapArray::new(Arc::clone(entries), offsets, entries_array, nulls, false))
}

fn leaves(dice: &mut Dice, data_type: &DataType, len: usize, nullable: bool) -> ArrayRef {
    use DataType::*;
    let number = |dice: &mut Dice| match data_type {
        Int8 => dice.number() >> 56,
        Int16 => dice.number() >> 48,
        Int32 => dice.number() >> 32,
        UInt8 => dice.number() & 0xff,
        UInt16 => dice.number() & 0xffff,
        UInt32 => dice.number() & 0xffff_ffff,
        UInt64 => dice.number() & i64::MAX,
        Float16 => dice.within(-2048, 2048),
        Date32 => dice.within(-719_162, 2_932_896),
        Date64 => dice.within(-719_162, 2_932_896) * 86_400_000,
        Time32(TimeUnit::Second) => dice.within(0, 86_399),
        Time32(_) => dice.within(0, 86_399_999),
        Time64(TimeUnit::Microsecond) => dice.within(0, 86_399_999_999),
        Time64(_) => dice.within(0, 86_399_999_999) * 1000,
        Timestamp(TimeUnit::Second, _) => dice.within(-62_135_596_800, 253_402_300_799),
        Timestamp(TimeUnit::Millisecond, _) => dice.within(-62_135_596_800_000, 253_402_300_799_999),
        Timestamp(TimeUnit::Microsecond, _) => dice.within(-62_135_596_800_000_000, 253_402_300_799_999_999),
        Duration(TimeUnit::Millisecond) => dice.within(-315_576_000_000_000, 315_576_000_000_000),
        Decimal64(..) => dice.within(-999_999_999_999, 999_999_999_999),
        _ => dice.number(),
    };
    let nulls = nulls(dice, len, nullable);
    let there = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    match data_type {
        Boolean => Arc::new(
            (0..len).map(|row| Some(dice.below(2) == 0).filter(|_| there(row))).collect::<BooleanArray>(),
        ),
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | Dictionary(..) => {
            let texts: StringArray = (0..len).map(|row| Some(dice.text()).filter(|_| there(row))).collect();
            let texts: ArrayRef = Arc::new(texts);
            match data_type {
                LargeBinary => cast(&cast(&texts, &LargeUtf8).expect("text"), data_type).expect("bytes"),
                BinaryView => cast(&cast(&texts, &Binary).expect("bytes"), data_type).expect("bytes"),
                _ => cast(&texts, data_type).expect("a text type"),
            }
        }
        FixedSizeBinary(_) => {
            let bytes = (0..len).map(|row| Some([dice.bits() as u8, 0, 0xff]).filter(|_| there(row)));
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, 3).expect("three bytes"))
        }
        Decimal128(..) => {
            let numbers: Decimal128Array =
                (0..len).map(|row| Some(i128::from(dice.number()) << 40).filter(|_| there(row))).collect();
            Arc::new(numbers.with_precision_and_scale(38, 7).expect("they fit"))
        }
        other => {
            let numbers: Int64Array = (0..len).map(|row| Some(number(dice)).filter(|_| there(row))).collect();
            as_numbers(&numbers, other)
        }
    }
}

fn as_numbers(numbers: &Int64Array, data_type: &DataType) -> ArrayRef {
    use DataType::*;
    match data_type {
        Date32 | Time32(_) => {
            let words = cast(numbers, &Int32).expect("they fit");
            cast(&words, data_type).expect("days")
        }
        Decimal64(..) | Timestamp(..) | Duration(_) | Time64(_) | Date64 => make_array(
            numbers.to_data().into_builder().data_type(data_type.clone()).build().expect("64 bits"),
        ),
        other => cast(numbers, other).expect("they fit"),
    }
}
