//! Random messages against the text of another implementation.

#[path = "../../../tests/properties/generate.rs"]
mod generate;

use proptest::prelude::*;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::Value;

use super::types::PROTO3;
use super::{Descriptors, json};
use crate::descriptor::testing::{compiled, proto};
use crate::proto_json::forms;
use crate::proto_json::print::widen;
use generate::{Schema, messages, schema};

fn schema_and_records() -> impl Strategy<Value = (Schema, Vec<Vec<u8>>)> {
    schema().prop_flat_map(|schema| {
        let records = messages(&schema, 1..8, 3);
        (Just(schema), records)
    })
}

fn pool(source: &str) -> DescriptorPool {
    let mut pool = DescriptorPool::new();
    for file in compiled(&[("test.proto", source)]) {
        pool.decode_file_descriptor_proto(file.encode_to_vec().as_slice()).expect("a file");
    }
    pool
}

/// Compares as values: the other implementation keeps maps without an order.
fn compare(
    descriptors: &Descriptors,
    pool: &DescriptorPool,
    message: &str,
    bytes: &[u8],
) -> Result<(), TestCaseError> {
    let dynamic = DynamicMessage::decode(pool.get_message_by_name(message).expect(message), bytes);
    // Through text: a `Value` would hold floats as doubles.
    let expected = serde_json::to_string(&dynamic.expect("valid"));
    match (json(descriptors, message, bytes), expected) {
        (Ok(text), Ok(expected)) => {
            let [found, expected] = [text, expected].map(|text| parse(&text));
            prop_assert!(same(&found, &expected), "{:02x?}: {} for {}", bytes, found, expected);
        }
        (found, expected) => prop_assert!(found.is_err() && expected.is_err(), "{:02x?}", bytes),
    }
    Ok(())
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect(text)
}

/// Whether two values are equal. 1 and 1.0 are; so are two texts of a float that are equally short and near.
fn same(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Number(found), Value::Number(expected)) => {
            let fraction = expected.is_f64();
            let (Some(found), Some(expected)) = (found.as_f64(), expected.as_f64()) else { return false };
            let float = found as f32;
            found == expected || (fraction && widen(float) == found && float == expected as f32)
        }
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, item)| same(found, item))
        }
        (Value::Object(found), Value::Object(expected)) => {
            let held = |(name, value)| expected.get(name).is_some_and(|expected| same(value, expected));
            found.len() == expected.len() && found.iter().all(held)
        }
        _ => found == expected,
    }
}

/// Messages of the types `Known`, `Plain` and `Holder` as JSON.
fn known() -> impl Strategy<Value = (&'static str, Value)> {
    let time = (
        -62_135_596_800..253_402_300_800i64,
        0..1_000_000_000i32,
        prop_oneof![Just(1), Just(1000), Just(1_000_000)],
    );
    let times = time.prop_map(|(seconds, nanos, unit)| {
        let timestamp = forms::timestamp(seconds, nanos / unit * unit).expect("in range");
        let nanos = if seconds < 0 { -nanos } else { nanos };
        let duration = forms::duration(seconds, nanos / unit * unit).expect("in range");
        ("Known", serde_json::json!({"timestamp": timestamp, "duration": duration}))
    });
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(|number| Value::from(f64::from(number) / 8.0)),
        "[a-z\"\\\\\n\u{1}é\u{10000}]{0,6}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
        let object = proptest::collection::btree_map("[a-c]{0,2}", inner, 0..4)
            .prop_map(|fields| Value::Object(fields.into_iter().collect()));
        prop_oneof![list, object]
    });
    let plain = value.clone().prop_map(|value| ("Plain", serde_json::json!({"value": value})));
    let any = value.prop_map(|value| {
        let held = serde_json::json!({"@type": "x/google.protobuf.Value", "value": value});
        ("Holder", serde_json::json!({"any": held}))
    });
    prop_oneof![times, plain, any]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn texts_are_those_of_another_implementation((schema, records) in schema_and_records()) {
        let source = schema.source();
        let (descriptors, pool) = (proto(&source), pool(&source));
        for record in &records {
            compare(&descriptors, &pool, "M", record)?;
        }
    }

    #[test]
    fn damaged_messages_have_a_text_or_a_fault(
        (schema, mut records) in schema_and_records(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let descriptors = proto(&schema.source());
        for record in records.iter_mut().filter(|record| !record.is_empty()) {
            for (place, byte) in &damage {
                let place = place.index(record.len());
                record[place] = *byte;
            }
            if let Ok(text) = json(&descriptors, "M", record) {
                prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn well_known_messages_read_back((message, value) in known()) {
        let descriptor = POOL.get_message_by_name(message).expect(message);
        let bytes = DynamicMessage::deserialize(descriptor, value.clone()).expect("valid").encode_to_vec();
        let text = json(&DESCRIPTORS, message, &bytes).map_err(|fault| fault.describe(message));
        let found = parse(&text.expect("a text"));
        prop_assert!(same(&found, &value), "{} for {}", found, value);
    }

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        for (_, message) in DESCRIPTORS.messages() {
            let _ = json(&DESCRIPTORS, &message.full_name, &bytes);
        }
    }
}

static DESCRIPTORS: std::sync::LazyLock<Descriptors> = std::sync::LazyLock::new(|| proto(PROTO3));
static POOL: std::sync::LazyLock<DescriptorPool> = std::sync::LazyLock::new(|| pool(PROTO3));
