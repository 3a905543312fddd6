//! Every type that Arrow has: it comes back as it was, or is refused before anything is written.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::*;
use arrow::compute::cast;
use arrow::datatypes::*;
use recordfusion_core::{Error, Options, ScanCounters};
use recordfusion_protobuf::counters::VALUES_NULLED;
use recordfusion_protobuf::{
    FileDescriptors, ProtobufOptions, RecordDecoder, Target, arrow_schema_to_keep, schema_hint,
};

use super::{batch, encode};
use crate::support::{decode, decode_counted};

/// A file of the rows, as a table that is read with options, and its records.
pub(super) fn written(batch: &RecordBatch) -> Result<(Vec<Vec<u8>>, FileDescriptors), Error> {
    let (records, encoder) = encode(batch, Target::Derived("t.Row"), &[])?;
    let file = FileDescriptors {
        file: "t.riegeli".into(),
        message_type: Some("t.Row".into()),
        descriptors: encoder.derived().expect("derived").descriptors.clone(),
        arrow_schema: arrow_schema_to_keep(&encoder, &batch.schema())?,
    };
    Ok((records, file))
}

pub(super) fn open(file: &FileDescriptors, options: &[(&str, &str)]) -> Result<RecordDecoder, Error> {
    let options: Options = options.iter().copied().collect();
    RecordDecoder::open(std::slice::from_ref(file), &ProtobufOptions::from_options(&options)?, &[])
}

/// The name of a type's kind. Without a rest, so that a further type of Arrow has to be thought of here.
fn kind(data_type: &DataType) -> &'static str {
    use DataType::*;
    match data_type {
        Null => "Null",
        Boolean => "Boolean",
        Int8 => "Int8",
        Int16 => "Int16",
        Int32 => "Int32",
        Int64 => "Int64",
        UInt8 => "UInt8",
        UInt16 => "UInt16",
        UInt32 => "UInt32",
        UInt64 => "UInt64",
        Float16 => "Float16",
        Float32 => "Float32",
        Float64 => "Float64",
        Timestamp(..) => "Timestamp",
        Date32 => "Date32",
        Date64 => "Date64",
        Time32(_) => "Time32",
        Time64(_) => "Time64",
        Duration(_) => "Duration",
        Interval(_) => "Interval",
        Binary => "Binary",
        FixedSizeBinary(_) => "FixedSizeBinary",
        LargeBinary => "LargeBinary",
        BinaryView => "BinaryView",
        Utf8 => "Utf8",
        LargeUtf8 => "LargeUtf8",
        Utf8View => "Utf8View",
        List(_) => "List",
        ListView(_) => "ListView",
        FixedSizeList(..) => "FixedSizeList",
        LargeList(_) => "LargeList",
        LargeListView(_) => "LargeListView",
        Struct(_) => "Struct",
        Union(..) => "Union",
        Dictionary(..) => "Dictionary",
        Decimal32(..) => "Decimal32",
        Decimal64(..) => "Decimal64",
        Decimal128(..) => "Decimal128",
        Decimal256(..) => "Decimal256",
        Map(..) => "Map",
        RunEndEncoded(..) => "RunEndEncoded",
    }
}

const KINDS: usize = 41;

/// Types of values that are neither lists nor have parts.
fn leaves() -> Vec<DataType> {
    use DataType::*;
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let units = [Second, Millisecond, Microsecond, Nanosecond];
    let zones = [None, Some("UTC".into()), Some("Europe/Berlin".into()), Some("-03:30".into())];
    let mut types = vec![
        Null,
        Boolean,
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float16,
        Float32,
        Float64,
        Date32,
        Date64,
        Time32(Second),
        Time32(Millisecond),
        Time64(Microsecond),
        Time64(Nanosecond),
        Binary,
        LargeBinary,
        BinaryView,
        FixedSizeBinary(1),
        Utf8,
        LargeUtf8,
        Utf8View,
    ];
    types.extend(units.into_iter().flat_map(|unit| zones.clone().map(|zone| Timestamp(unit, zone))));
    types.extend(units.map(Duration));
    types.extend([(9, 0), (9, 9), (5, -2)].map(|(precision, scale)| Decimal32(precision, scale)));
    types.extend([(18, 3), (7, -3)].map(|(precision, scale)| Decimal64(precision, scale)));
    types.extend([(38, 10), (20, 0), (10, -2)].map(|(precision, scale)| Decimal128(precision, scale)));
    types.extend([(76, 20), (40, -30)].map(|(precision, scale)| Decimal256(precision, scale)));
    types
}

/// The values 1, NULL and 0 of a type, or others where it has none of those.
fn values(data_type: &DataType) -> ArrayRef {
    use DataType::*;
    let digits: ArrayRef = Arc::new(StringArray::from(vec![Some("1"), None, Some("0")]));
    let small: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(0)]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(0)]));
    let made = match data_type {
        Null => return new_null_array(data_type, 3),
        Utf8 | LargeUtf8 | Utf8View => cast(&digits, data_type),
        Binary | LargeBinary | BinaryView => cast(&digits, data_type),
        FixedSizeBinary(_) => cast(&cast(&digits, &Binary).expect("bytes"), data_type),
        // A day is the least that dates have.
        Date32 | Time32(_) => cast(&small, data_type),
        Date64 => cast(&cast(&small, &Date32).expect("days"), data_type),
        Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => {
            // Ticks of the last digit.
            let whole = match data_type {
                Decimal32(precision, _) => Decimal32(*precision, 0),
                Decimal64(precision, _) => Decimal64(*precision, 0),
                Decimal128(precision, _) => Decimal128(*precision, 0),
                Decimal256(precision, _) => Decimal256(*precision, 0),
                other => other.clone(),
            };
            let whole = cast(&Int32Array::from(vec![Some(-12), None, Some(0)]), &whole).expect("decimals");
            return make_array(
                whole.to_data().into_builder().data_type(data_type.clone()).build().expect("as many bits"),
            );
        }
        _ => cast(&numbers, data_type),
    };
    made.unwrap_or_else(|error| panic!("{data_type}: {error}"))
}

fn item(data_type: &DataType) -> FieldRef {
    Arc::new(Field::new_list_field(data_type.clone(), true))
}

/// Lists of one value, of every kind of list that can have NULL in it.
fn lists(values: &ArrayRef) -> Vec<ArrayRef> {
    let valid = values.slice(0, 1);
    let field = item(values.data_type());
    let offsets = arrow::buffer::OffsetBuffer::from_lengths([0, 1, 0]);
    let list: ArrayRef = Arc::new(ListArray::new(Arc::clone(&field), offsets, valid, None));
    let others = [
        DataType::LargeList(Arc::clone(&field)),
        DataType::ListView(Arc::clone(&field)),
        DataType::LargeListView(Arc::clone(&field)),
    ];
    let mut lists: Vec<ArrayRef> = others
        .iter()
        .map(|other| cast(&list, other).unwrap_or_else(|error| panic!("{other}: {error}")))
        .collect();
    let pairs = arrow::compute::concat(&[&values.slice(0, 1), &values.slice(2, 1)]).expect("two");
    lists.push(Arc::new(FixedSizeListArray::new(field, 1, pairs, None)));
    lists.push(list);
    lists
}

fn structs(values: &ArrayRef) -> ArrayRef {
    let fields = Fields::from(vec![Field::new("part", values.data_type().clone(), true)]);
    let nulls = Some(arrow::buffer::NullBuffer::from(vec![true, true, false]));
    let values = arrow::compute::nullif(values, &BooleanArray::from(vec![false, false, true]));
    let values = values.unwrap_or_else(|_| new_null_array(fields[0].data_type(), 3));
    Arc::new(StructArray::new(fields, vec![values], nulls))
}

fn maps(keys: &ArrayRef, values: &ArrayRef) -> ArrayRef {
    let (keys, values) = (keys.slice(0, 1), values.slice(0, 1));
    let fields = Fields::from(vec![
        Field::new("key", keys.data_type().clone(), false),
        Field::new("value", values.data_type().clone(), true),
    ]);
    let entries = StructArray::new(fields.clone(), vec![keys, values], None);
    let field = Arc::new(Field::new("entries", DataType::Struct(fields), false));
    let offsets = arrow::buffer::OffsetBuffer::from_lengths([1, 0]);
    Arc::new(MapArray::new(field, offsets, entries, None, false))
}

/// Arrays of types of every kind.
fn arrays() -> Vec<ArrayRef> {
    let leaves: Vec<ArrayRef> = leaves().iter().map(values).collect();
    let text = values(&DataType::Utf8);
    let mut arrays = leaves.clone();
    for leaf in &leaves {
        arrays.push(structs(leaf));
        // Neither lists nor maps keep NULL.
        if *leaf.data_type() != DataType::Null {
            arrays.extend(lists(leaf));
            arrays.push(maps(&text, leaf));
            arrays.push(maps(leaf, &text));
            arrays.push(structs(&structs(leaf)));
        }
    }
    for keys in [DataType::Int8, DataType::UInt16, DataType::Int32, DataType::UInt32, DataType::Int64] {
        for leaf in [&text, &values(&DataType::Int64), &values(&DataType::Decimal128(10, 2))] {
            let dictionary = DataType::Dictionary(Box::new(keys.clone()), Box::new(leaf.data_type().clone()));
            arrays.extend(cast(leaf, &dictionary));
        }
    }
    let ends = Int32Array::from(vec![1, 2, 3]);
    for leaf in [&text, &values(&DataType::UInt8), &values(&DataType::Boolean)] {
        arrays.push(Arc::new(RunArray::<Int32Type>::try_new(&ends, leaf).expect("runs")));
    }
    arrays.push(Arc::new(RunArray::<Int32Type>::try_new(&ends, &structs(&text)).expect("runs")));
    arrays.push(Arc::new(DictionaryArray::new(Int32Array::from(vec![0, 1, 0]), structs(&text))));
    arrays.push(Arc::new(StructArray::new_empty_fields(2, None)));
    for unit in [IntervalUnit::YearMonth, IntervalUnit::DayTime, IntervalUnit::MonthDayNano] {
        arrays.push(new_null_array(&DataType::Interval(unit), 2));
    }
    let members: UnionFields = [(0, Arc::new(Field::new("a", DataType::Int32, true)))].into_iter().collect();
    arrays.push(new_null_array(&DataType::Union(members, UnionMode::Sparse), 2));
    arrays
}

/// Batches may be larger than they were: the one thing that does not come back.
fn with_wide_keys(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(key, values) => {
            let key = match **key {
                DataType::Int8 | DataType::Int16 => DataType::Int32,
                DataType::UInt8 | DataType::UInt16 => DataType::UInt32,
                ref other => other.clone(),
            };
            DataType::Dictionary(Box::new(key), values.clone())
        }
        other => other.clone(),
    }
}

#[test]
fn every_type_comes_back_or_is_refused() {
    let mut kinds = BTreeSet::new();
    let mut refused = BTreeSet::new();
    for array in arrays() {
        kinds.insert(kind(array.data_type()));
        let given = batch(vec![("x", Arc::clone(&array))]);
        let (records, file) = match written(&given) {
            Ok(written) => written,
            Err(error) => {
                let message = error.to_string();
                assert!(message.starts_with("column 'x"), "{}: {message}", array.data_type());
                refused.insert(array.data_type().to_string());
                continue;
            }
        };
        let decoder = open(&file, &[]).unwrap_or_else(|error| panic!("{}: {error}", array.data_type()));
        let found =
            decode(&decoder, &records).unwrap_or_else(|error| panic!("{}: {error}", array.data_type()));
        let expected = with_wide_keys(array.data_type());
        assert_eq!(*found.column(0).data_type(), expected);
        let expected = match expected == *array.data_type() {
            true => array,
            false => cast(&array, &expected).expect("wider keys"),
        };
        assert_eq!(&found.column(0).to_data(), &expected.to_data(), "{expected:?}");
    }
    assert_eq!(kinds.len(), KINDS, "{kinds:?}");
    let of_refused = |start: &str| refused.iter().filter(|name| name.starts_with(start)).count();
    for (start, count) in [("Interval", 3), ("Union", 1), ("RunEndEncoded", 1), ("Dictionary", 1)] {
        assert_eq!(of_refused(start), count, "{start}: {refused:?}");
    }
    assert_eq!(refused.len(), 6, "{refused:?}");
}

#[test]
fn time_zones_that_are_not_known_are_told_of_first() {
    let zoned = |zone: &str| {
        let times = TimestampMicrosecondArray::from(vec![0]).with_timezone(zone);
        batch(vec![("at", Arc::new(times) as ArrayRef)])
    };
    let error = written(&zoned("Mars/Base")).map(|_| ()).unwrap_err().to_string();
    assert!(
        error.starts_with("column 'at' of type Timestamp(µs, \"Mars/Base\") has the time zone"),
        "{error}"
    );
    let (records, file) = written(&zoned("UTC")).expect("a zone");
    let hint = schema_hint(&zoned("Mars/Base").schema());
    let file = FileDescriptors { arrow_schema: Some(hint.into()), ..file };
    let error = open(&file, &[]).map(|_| ()).unwrap_err().to_string();
    for word in ["t.riegeli", "column 'at'", "'Mars/Base', which is not known", "arrow_schema = ignore"] {
        assert!(error.contains(word), "{word}: {error}");
    }
    let found = decode(&open(&file, &[("arrow_schema", "ignore")]).expect("opens"), &records).expect("rows");
    assert_eq!(*found.column(0).data_type(), DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));
}

#[test]
fn text_that_is_no_decimal_is_a_bad_value() {
    for (data_type, good) in [(DataType::Decimal128(10, 2), "1.50"), (DataType::Decimal128(10, -2), "1200")] {
        let given = batch(vec![("k", values(&DataType::Int64)), ("d", values(&data_type))]);
        let (_, file) = written(&given).expect("columns");
        let record = |text: &str| [&[0x12, text.len() as u8], text.as_bytes()].concat();
        let records = [record(good), record("x1"), record(good)];
        let error = decode(&open(&file, &[]).expect("opens"), &records).unwrap_err();
        let Error::BadRecord { position, fault, .. } = &error else { panic!("{error}") };
        assert_eq!(*position, crate::support::block(&records).position(1));
        assert!(fault.starts_with("message t.Row, field d: the value has no form in a column"), "{fault}");
        let counters = ScanCounters::default();
        let decoder = open(&file, &[("on_bad_value", "null")]).expect("opens");
        let found = decode_counted(&decoder, &records, &counters).expect("rows");
        assert_eq!(*found.column(1).data_type(), data_type);
        assert_eq!((found.column(1).null_count(), found.column(1).is_null(1)), (1, true));
        assert_eq!(counters.value(&VALUES_NULLED), 1);
    }
}
