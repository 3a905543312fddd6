//! Random records and cut ones, against messages that prost decodes.

use std::collections::HashMap;

use arrow::array::{
    BinaryViewArray, BinaryViewBuilder, Float32Array, Int64Array, ListArray, ListBuilder, StringViewArray,
    StringViewBuilder,
};
use arrow::datatypes::{Float32Type, Int64Type};
use proptest::collection::vec;
use proptest::prelude::*;
use prost::{Message, Oneof};

use super::*;
use crate::options::OnBadValue;

#[derive(Clone, PartialEq, Message)]
struct Example {
    #[prost(message, optional, tag = "1")]
    features: Option<FeatureMap>,
}

#[derive(Clone, PartialEq, Message)]
struct FeatureMap {
    #[prost(map = "string, message", tag = "1")]
    feature: HashMap<String, Feature>,
}

#[derive(Clone, PartialEq, Message)]
struct Feature {
    #[prost(oneof = "Kind", tags = "1, 2, 3")]
    kind: Option<Kind>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Kind {
    #[prost(message, tag = "1")]
    Bytes(BytesList),
    #[prost(message, tag = "2")]
    Float(FloatList),
    #[prost(message, tag = "3")]
    Int64(Int64List),
}

#[derive(Clone, PartialEq, Message)]
struct BytesList {
    #[prost(bytes = "vec", repeated, tag = "1")]
    value: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct FloatList {
    #[prost(float, repeated, tag = "1")]
    value: Vec<f32>,
}

#[derive(Clone, PartialEq, Message)]
struct Int64List {
    #[prost(int64, repeated, tag = "1")]
    value: Vec<i64>,
}

/// What the columns should hold, and how many values they cannot; `None` if a record is to be refused.
fn expected(columns: &[FeatureColumn], records: &[Vec<u8>]) -> Option<(Vec<ArrayRef>, u64)> {
    let examples = records.iter().map(|record| Example::decode(&record[..]).ok());
    let examples = examples.collect::<Option<Vec<_>>>()?;
    let mut misfits = 0;
    let mut arrays = Vec::new();
    for column in columns {
        let kind = |example: &Example| example.features.as_ref()?.feature.get(&column.name)?.kind.clone();
        let kinds: Vec<_> = examples.iter().map(kind).collect();
        let set = kinds.iter().flatten().count() as u64;
        let fits = kinds.into_iter().map(|kind| kind.filter(|kind| fits(column, kind)));
        let fits: Vec<_> = fits.collect();
        misfits += set - fits.iter().flatten().count() as u64;
        arrays.push(array(column, fits)?);
    }
    Some((arrays, misfits))
}

fn fits(column: &FeatureColumn, kind: &Kind) -> bool {
    let (is_own, count) = match kind {
        Kind::Int64(list) => (column.kind == FeatureKind::Int64, list.value.len()),
        Kind::Float(list) => (column.kind == FeatureKind::Float, list.value.len()),
        Kind::Bytes(list) => {
            (matches!(column.kind, FeatureKind::Bytes | FeatureKind::String), list.value.len())
        }
    };
    is_own && (column.list || count <= 1)
}

fn array(column: &FeatureColumn, kinds: Vec<Option<Kind>>) -> Option<ArrayRef> {
    let kinds = kinds.into_iter();
    let byte_strings = |kind: Option<Kind>| match kind {
        Some(Kind::Bytes(list)) => Some(list.value),
        _ => None,
    };
    Some(match column.kind {
        FeatureKind::Int64 => {
            let rows = kinds.map(|kind| match kind {
                Some(Kind::Int64(list)) => Some(list.value),
                _ => None,
            });
            if column.list {
                let items = rows.map(|row| Some(row?.into_iter().map(Some)));
                Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(items))
            } else {
                Arc::new(rows.map(|row| row?.first().copied()).collect::<Int64Array>())
            }
        }
        FeatureKind::Float => {
            let rows = kinds.map(|kind| match kind {
                Some(Kind::Float(list)) => Some(list.value),
                _ => None,
            });
            if column.list {
                let items = rows.map(|row| Some(row?.into_iter().map(Some)));
                Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(items))
            } else {
                Arc::new(rows.map(|row| row?.first().copied()).collect::<Float32Array>())
            }
        }
        FeatureKind::Bytes => {
            let rows = kinds.map(byte_strings);
            if column.list {
                let mut lists = ListBuilder::new(BinaryViewBuilder::new());
                rows.for_each(|row| lists.append_option(row.map(|row| row.into_iter().map(Some))));
                Arc::new(lists.finish())
            } else {
                Arc::new(rows.map(|row| row?.into_iter().next()).collect::<BinaryViewArray>())
            }
        }
        FeatureKind::String => {
            let text = |bytes| String::from_utf8(bytes).ok();
            let texts = |row: Vec<Vec<u8>>| row.into_iter().map(text).collect::<Option<Vec<String>>>();
            let rows = kinds.map(|kind| byte_strings(kind).map_or(Some(None), |row| texts(row).map(Some)));
            let rows = rows.collect::<Option<Vec<Option<Vec<String>>>>>()?.into_iter();
            if column.list {
                let mut lists = ListBuilder::new(StringViewBuilder::new());
                rows.for_each(|row| lists.append_option(row.map(|row| row.into_iter().map(Some))));
                Arc::new(lists.finish())
            } else {
                Arc::new(rows.map(|row| row?.into_iter().next()).collect::<StringViewArray>())
            }
        }
    })
}

/// A field that no message has, or nothing.
fn unknown() -> impl Strategy<Value = Vec<u8>> {
    let fields: [&[u8]; 4] =
        [&[0x78, 0x96, 0x01], &[0x7a, 2, 0xff, 0], &[0x7b, 0x0a, 1, 0, 0x7c], &[0x7d, 1, 2, 3, 4]];
    prop_oneof![8 => Just(vec![]), 1 => prop::sample::select(fields.map(<[u8]>::to_vec).to_vec())]
}

/// Parts of a message one after the other, with unknown fields between them.
fn parts(
    part: impl Strategy<Value = Vec<u8>>,
    count: impl Into<prop::collection::SizeRange>,
) -> impl Strategy<Value = Vec<u8>> {
    vec((part, unknown()), count)
        .prop_map(|parts| parts.into_iter().flat_map(|(part, unknown)| [part, unknown].concat()).collect())
}

/// Part of an `Int64List`, `FloatList` or `BytesList`: values with one length before them, or one value.
fn values(member: u32) -> BoxedStrategy<Vec<u8>> {
    let number = prop_oneof![-2..300i64, any::<i64>()];
    let float = any::<f32>().prop_map(|float| float.to_le_bytes().to_vec());
    match member {
        1 => prop_oneof![
            "[a-z\u{e9}]{0,16}".prop_map(|text| field(1, text)),
            vec(any::<u8>(), 0..16).prop_map(|bytes| field(1, bytes)),
        ]
        .boxed(),
        2 => prop_oneof![
            vec(float.clone(), 0..4).prop_map(|floats| field(1, floats.concat())),
            float.prop_map(|float| [&[0x0d], &float[..]].concat()),
        ]
        .boxed(),
        _ => prop_oneof![
            vec(number.clone(), 0..4).prop_map(|numbers| field(1, varints(&numbers))),
            number.prop_map(|number| [vec![0x08], varints(&[number])].concat()),
        ]
        .boxed(),
    }
}

/// A `Feature`, most often with one list of the `usual` member, and that of one part.
fn feature(usual: u32) -> impl Strategy<Value = Vec<u8>> {
    let member = prop_oneof![12 => Just(usual), 1 => 1..=3u32];
    let list = member.prop_flat_map(|member| {
        prop_oneof![6 => parts(values(member), 1), 1 => parts(values(member), 0..4)]
            .prop_map(move |list| field(member, list))
    });
    prop_oneof![6 => parts(list.clone(), 1), 1 => parts(list, 0..3)]
}

const NAMES: [&str; 4] = ["a", "b", "c", "other"];

/// An entry of the map, most often a name and then its feature.
fn any_entry() -> impl Strategy<Value = Vec<u8>> {
    (0..NAMES.len()).prop_flat_map(|index| {
        let name = Just(field(1, NAMES[index]));
        let value = feature(index as u32 % 3 + 1).prop_map(|feature| field(2, feature)).boxed();
        let usual = (name.clone(), value.clone()).prop_map(|(name, value)| [name, value].concat());
        prop_oneof![8 => usual, 1 => parts(prop_oneof![name, value], 0..4)].prop_map(|body| field(1, body))
    })
}

fn record() -> impl Strategy<Value = Vec<u8>> {
    let features = parts(any_entry(), 0..6).prop_map(|features| field(1, features)).boxed();
    prop_oneof![6 => parts(features.clone(), 1), 1 => parts(features, 0..3)]
}

/// A column for each of the names but the last.
fn any_columns() -> impl Strategy<Value = Vec<FeatureColumn>> {
    let kinds = [
        prop_oneof![Just(FeatureKind::Bytes), Just(FeatureKind::String)].boxed(),
        prop_oneof![9 => Just(FeatureKind::Float), 1 => Just(FeatureKind::String)].boxed(),
        prop_oneof![9 => Just(FeatureKind::Int64), 1 => Just(FeatureKind::Float)].boxed(),
    ];
    (kinds, any::<[bool; 3]>()).prop_map(|(kinds, lists)| {
        let columns = NAMES.iter().zip(kinds).zip(lists);
        columns.map(|((name, kind), list)| FeatureColumn { name: name.to_string(), kind, list }).collect()
    })
}

/// What the decoder makes of the records is what prost makes of them.
fn check(columns: &[FeatureColumn], records: &[Vec<u8>]) {
    let all: Vec<usize> = (0..columns.len()).collect();
    let mut decoder = ExampleDecoder::new(columns, &all, &policy(OnBadValue::Null));
    let found = decoder.decode(&block(records), 0..records.len());
    match (found, expected(columns, records)) {
        (Ok(found), Some((expected, misfits))) => {
            assert_eq!(found.columns, expected, "{columns:?} {records:02x?}");
            assert_eq!(found.tally.nulled, misfits);
        }
        (found, expected) => {
            assert_eq!(found.is_ok(), expected.is_some(), "{columns:?} {records:02x?}")
        }
    }
    let mut strict = ExampleDecoder::new(columns, &all, &policy(OnBadValue::Error));
    let accepted = strict.decode(&block(records), 0..records.len()).is_ok();
    assert_eq!(accepted, expected(columns, records).is_some_and(|(_, misfits)| misfits == 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn columns_hold_what_another_implementation_reads(
        columns in any_columns(),
        records in vec(record(), 0..12),
    ) {
        check(&columns, &records);
    }

    #[test]
    fn inferred_columns_fit_the_records(records in vec(record(), 1..8)) {
        let mut kinds: HashMap<String, Vec<u32>> = HashMap::new();
        for record in &records {
            let example = Example::decode(&record[..]).expect("valid");
            for (name, feature) in example.features.unwrap_or_default().feature {
                let member = match feature.kind {
                    None => continue,
                    Some(Kind::Bytes(_)) => 1,
                    Some(Kind::Float(_)) => 2,
                    Some(Kind::Int64(_)) => 3,
                };
                kinds.entry(name).or_default().push(member);
            }
        }
        let agree = kinds.values().all(|members| members.iter().all(|member| *member == members[0]));
        match infer(&[block(&records)]) {
            Ok(columns) => {
                prop_assert!(agree);
                prop_assert_eq!(columns.len(), kinds.len());
                let all: Vec<usize> = (0..columns.len()).collect();
                let mut decoder = ExampleDecoder::new(&columns, &all, &policy(OnBadValue::Error));
                prop_assert!(decoder.decode(&block(&records), 0..records.len()).is_ok());
            }
            Err(error) => prop_assert!(!agree || kinds.is_empty(), "{}", error),
        }
    }

    #[test]
    fn damage_and_batches_do_not_change_other_rows(
        columns in any_columns(),
        mut records in vec(record(), 1..8),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        for record in records.iter_mut().step_by(2).filter(|record| !record.is_empty()) {
            for (place, byte) in &damage {
                let place = place.index(record.len());
                record[place] = *byte;
            }
        }
        let _ = infer(&[block(&records)]);
        let all: Vec<usize> = (0..columns.len()).collect();
        let fresh = || ExampleDecoder::new(&columns, &all, &policy(OnBadValue::Null));
        let mut decoder = fresh();
        let together = decoder.decode(&block(&records), 0..records.len());
        let mut rows = Vec::new();
        for index in 0..records.len() {
            let again = decoder.decode(&block(&records), index..index + 1).map(|arrays| super::rows(&arrays.columns));
            let alone = fresh().decode(&block(&records[index..=index]), 0..1).map(|arrays| super::rows(&arrays.columns));
            prop_assert_eq!(again.as_ref().ok(), alone.as_ref().ok());
            rows.extend(alone.ok());
        }
        prop_assert_eq!(together.is_ok(), rows.len() == records.len());
        if let Ok(together) = together {
            prop_assert_eq!(super::rows(&together.columns), rows.concat());
        }
    }
}

#[test]
fn messages_cut_anywhere_give_the_rows_of_what_is_left_or_a_fault() {
    let list = [field(1, varints(&[1, -1])), vec![0x08, 0x81, 0x01], vec![0x7b, 0x0a, 1, 0, 0x7c]].concat();
    let feature = [floats(&[1.0, 2.0]), field(3, &list), int64s(&[300])].concat();
    let body = [field(1, "a"), field(2, &feature), field(2, int64s(&[7]))].concat();
    let features =
        [field(1, &body), entry("b", byte_strings(&[b"text", b"more than twelve bytes"]))].concat();
    let record = [field(1, &features), field(1, entry("c", floats(&[0.5])))].concat();
    let columns = columns("a:int64[], b:string[], c:float");
    type Wrap = fn(&[u8]) -> Vec<u8>;
    let levels: [(&[u8], Wrap); 5] = [
        (&list, |list| example(&[entry("a", field(3, list))])),
        (&feature, |feature| example(&[entry("a", feature)])),
        (&body, |body| field(1, field(1, body))),
        (&features, |features| field(1, features)),
        (&record, |record| record.to_vec()),
    ];
    for (whole, wrap) in levels {
        for end in 0..=whole.len() {
            check(&columns, &[wrap(&whole[..end])]);
        }
    }
    let floats = floats(&[1.0, 2.0]);
    for end in 4..=floats.len() {
        check(&columns, &[example(&[entry("c", field(2, field(1, &floats[4..end])))])]);
    }
}
