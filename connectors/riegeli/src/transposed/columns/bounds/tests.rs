use std::cell::Cell;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Scalar};
use arrow::compute::kernels::cmp::{gt, lt};
use arrow::datatypes::{Int32Type, Int64Type, UInt64Type};
use bytes::Bytes;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use prost::Message;
use recordfusion_core::{Nulls, Options, Projection, ScanCounters};
use recordfusion_protobuf::{FileDescriptors, ProtobufOptions, RecordDecoder};

use super::*;
use crate::compression::Decompressor;
use crate::decoder::ChunkDecoder;
use crate::write::{ChunkEncoder, ChunkRecords, Compression, Layout};

#[path = "../../../../../protobuf/tests/properties/generate.rs"]
mod generate;

/// Options that change what values, or their absence, become.
const OPTIONS: [(&str, &str); 12] = [
    ("unsigned", "widen"),
    ("enum", "number"),
    ("enum", "string"),
    ("closed_enum", "open"),
    ("implicit", "null"),
    ("absent", "default"),
    ("empty_list", "null"),
    ("string_type", "large_utf8"),
    ("oneof_case", "true"),
    ("metadata_columns", "position"),
    ("nullability", "proto"),
    ("map", "list"),
];

fn decoder(source: &str, options: &Options) -> RecordDecoder {
    let file = protox::file::File::from_source("test.proto", source).expect("it parses");
    let descriptors = vec![file.file_descriptor_proto().encode_to_vec().into()];
    let message_type = Some("M".to_string());
    let file = FileDescriptors { file: "f".to_string(), message_type, descriptors, arrow_schema: None };
    let options = ProtobufOptions::from_options(options).expect("valid options");
    RecordDecoder::open(&[file], &options, &[]).expect("a table")
}

/// The columns of records in a transposed chunk, and their bounds.
fn columns(
    source: &str,
    options: &Options,
    records: &[Vec<u8>],
) -> Vec<(String, ArrayRef, Option<ColumnBounds>)> {
    let layout = Layout::Transposed { bucket_size: u64::MAX };
    let mut encoder = ChunkEncoder::with_layout(layout, Compression::None).expect("valid options");
    let mut chunk = ChunkRecords::default();
    records.iter().for_each(|record| chunk.push(record).expect("it is small"));
    let chunk = encoder.encode(&chunk).expect("they are few");
    let data = Bytes::from(chunk.data);

    let decoder = decoder(source, options);
    let mut scan = decoder.scan(&Projection::all(decoder.schema().fields().len())).expect("a plan");
    let block = ChunkDecoder::default().decode(&chunk.header, 64, &data).expect("valid").expect("records");
    let decoded = scan.decode("f", &block, 0..block.len(), &ScanCounters::default()).expect("valid records");
    let header = Header::read(&data, &mut Decompressor::default()).expect("valid");
    let names = decoder.schema().fields().iter().map(|field| field.name().clone());
    let columns = names.zip(decoded.batch.columns()).enumerate();
    columns
        .map(|(index, (name, column))| (name, Arc::clone(column), column_bounds(&header, &scan, index)))
        .collect()
}

fn check(name: &str, column: &ArrayRef, bounds: &ColumnBounds) -> Result<(), TestCaseError> {
    let nulls = column.logical_null_count();
    match bounds.nulls {
        Nulls::All => prop_assert_eq!(nulls, column.len(), "{}", name),
        Nulls::None => prop_assert_eq!(nulls, 0, "{}", name),
        Nulls::Some => {}
    }
    for bound in [&bounds.low, &bounds.high].into_iter().flatten() {
        prop_assert_eq!((bound.len(), bound.data_type()), (1, column.data_type()));
    }
    if let Some(low) = &bounds.low {
        let below = lt(column, &Scalar::new(Arc::clone(low))).expect("one type");
        prop_assert_eq!(below.true_count(), 0, "{}: {:?} below {:?}", name, column, low);
    }
    if let Some(high) = &bounds.high {
        let above = gt(column, &Scalar::new(Arc::clone(high))).expect("one type");
        prop_assert_eq!(above.true_count(), 0, "{}: {:?} above {:?}", name, column, high);
    }
    Ok(())
}

#[test]
fn values_lie_within_their_bounds() {
    let records = generate::schema().prop_flat_map(|schema| {
        let records = generate::messages(&schema, 1..6, 0);
        (Just(schema.source()), records)
    });
    let picks = proptest::collection::vec((any::<Index>(), select(vec![true, false])), 0..3);
    let (all, known, narrow) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::new(Config { cases: 1000, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&(records, picks), |((source, records), picks)| {
        let options =
            picks.iter().filter(|(_, picked)| *picked).fold(Options::new(), |options, (pick, _)| {
                let (name, value) = OPTIONS[pick.index(OPTIONS.len())];
                options.with(name, value)
            });
        for (name, column, bounds) in columns(&source, &options, &records) {
            all.set(all.get() + 1);
            let Some(bounds) = bounds else { continue };
            check(&name, &column, &bounds)?;
            known.set(known.get() + 1);
            narrow.set(narrow.get() + usize::from(bounds.low.is_some() && bounds.high.is_some()));
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failed| panic!("{failed}"));
    assert!(known.get() > all.get() / 3, "{} of {}", known.get(), all.get());
    assert!(narrow.get() > all.get() / 10, "{} of {}", narrow.get(), all.get());
}

const SOURCE: &str = "syntax = 'proto3'; message M {
    int32 i = 1; optional uint32 u = 2; sint64 z = 3; bool b = 4; repeated string s = 5; optional string t = 6;
    int64 long = 7; M m = 8; int32 never = 9; uint64 wide = 10;
}";

/// The bounds of each column of [`SOURCE`] but the messages.
fn bounds(records: &[Vec<u8>]) -> std::collections::HashMap<String, ColumnBounds> {
    let columns = columns(SOURCE, &Options::new(), records);
    columns.into_iter().filter_map(|(name, _, bounds)| Some((name, bounds?))).collect()
}

#[test]
fn bounds_are_those_of_the_nodes() {
    // i = 2 or absent, u = 3, z = -1 or a value of two bytes, b = true, t missing, long = 300 or -1.
    let records = [
        &[0x08, 2, 0x10, 3, 0x18, 1, 0x38, 0xac, 0x02][..],
        &[0x10, 3, 0x18, 0x80, 0x10, 0x20, 1, 0x2a, 1, b'x'],
        &[0x10, 3, 0x38, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    ];
    let bounds = bounds(&records.map(<[u8]>::to_vec));
    let ints = |name: &str| {
        let ColumnBounds { low: Some(low), high: Some(high), nulls } = &bounds[name] else {
            panic!("{name}")
        };
        let value = |array: &ArrayRef| match array.data_type() {
            arrow::datatypes::DataType::Int32 => i64::from(array.as_primitive::<Int32Type>().value(0)),
            arrow::datatypes::DataType::Int64 => array.as_primitive::<Int64Type>().value(0),
            arrow::datatypes::DataType::UInt64 => array.as_primitive::<UInt64Type>().value(0) as i64,
            arrow::datatypes::DataType::Boolean => i64::from(array.as_boolean().value(0)),
            _ => i64::from(array.as_primitive::<arrow::datatypes::UInt32Type>().value(0)),
        };
        (value(low), value(high), *nulls)
    };
    assert_eq!(ints("i"), (0, 2, Nulls::None));
    assert_eq!(ints("u"), (3, 3, Nulls::Some));
    assert_eq!(ints("z"), (-8192, 8191, Nulls::None));
    assert_eq!(ints("b"), (0, 1, Nulls::None));
    assert_eq!(ints("long"), (i64::MIN, i64::MAX, Nulls::None));
    assert_eq!(ints("never"), (0, 0, Nulls::None));
    assert_eq!(ints("wide"), (0, 0, Nulls::None));
    assert_eq!(bounds["t"].nulls, Nulls::All);
    assert!(!bounds.contains_key("s"));
    assert_eq!(bounds["m"].nulls, Nulls::All);
}

#[test]
fn nothing_is_known_with_records_that_are_no_messages() {
    let layout = Layout::Transposed { bucket_size: u64::MAX };
    let mut encoder = ChunkEncoder::with_layout(layout, Compression::None).expect("valid options");
    let mut chunk = ChunkRecords::default();
    // It can be parsed, but not cut.
    chunk.push(&[0x08, 0x81, 0x00]).expect("it is small");
    let chunk = encoder.encode(&chunk).expect("one");
    let header = Header::read(&chunk.data, &mut Decompressor::default()).expect("valid");
    let decoder = decoder(SOURCE, &Options::new());
    let scan = decoder.scan(&Projection::all(decoder.schema().fields().len())).expect("a plan");
    assert!((0..9).all(|column| column_bounds(&header, &scan, column).is_none()));
}
