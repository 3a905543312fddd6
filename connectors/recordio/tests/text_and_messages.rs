//! Records as text, and as protobuf messages whose type the options give.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type, UInt64Type};
use recordfusion_core::{Error, Options};
use recordfusion_protobuf::counters::INVALID_UTF8_REPLACED;
use serde_json::Value;

use crate::support::*;

fn text() -> Options {
    Options::new().with("payload", "text")
}

/// The strings of the only column; `None` for NULL.
fn strings(bytes: &[u8], options: &Options) -> (Vec<Option<String>>, Option<Error>, u64) {
    let file = memory_file(bytes);
    let table = open(&file, options).expect("good options");
    let field = table.schema().field(0);
    assert_eq!((field.name().as_str(), field.data_type()), ("record", &DataType::Utf8View));
    let request = request(&file, 0..file.size, 1);
    let counters = Arc::clone(&request.counters);
    let (batches, error) = scan(table.as_ref(), request);
    let values = batches.iter().flat_map(|batch| {
        let column = batch.column(0).as_string_view().clone();
        (0..column.len())
            .map(move |row| column.is_valid(row).then(|| column.value(row).to_string()))
            .collect::<Vec<_>>()
    });
    (values.collect(), error, counters.value(&INVALID_UTF8_REPLACED))
}

#[test]
fn text_is_the_records() {
    let bytes = fixture("go-snappy-chunks.recordio");
    let (found, error, _) = strings(&bytes, &text());
    assert!(error.is_none());
    let expected = read(&bytes, &Options::new()).records;
    assert_eq!(found.len(), 120);
    assert!(
        found
            .iter()
            .zip(&expected)
            .all(|(text, bytes)| text.as_ref().is_some_and(|text| text.as_bytes() == bytes))
    );
}

#[test]
fn invalid_text_is_what_the_options_say() {
    let bytes = write(&[b"good".as_slice(), b"b\xffd", b"", b"a longer text that is good"], &Options::new());
    let some = |text: &str| Some(text.to_string());
    let long = || some("a longer text that is good");
    for (pairs, expected) in [
        (&[("invalid_utf8", "replace")][..], vec![some("good"), some("b\u{fffd}d"), some(""), long()]),
        (&[("invalid_utf8", "null")], vec![some("good"), None, some(""), long()]),
        (&[("on_bad_record", "skip")], vec![some("good"), some(""), long()]),
        (&[("on_bad_record", "null")], vec![some("good"), None, some(""), long()]),
    ] {
        let options: Options = text().iter().chain(pairs.iter().copied()).collect();
        let (found, error, replaced) = strings(&bytes, &options);
        assert!(error.is_none());
        assert_eq!(found, expected, "{pairs:?}");
        assert_eq!(replaced, u64::from(pairs[0].1 == "replace"));
        let file = memory_file(&bytes);
        assert_eq!(count(&file, 0..file.size, &options).expect("counts"), expected.len(), "{pairs:?}");
    }
    for options in [text(), text().with("invalid_utf8", "error")] {
        let (_, error, _) = strings(&bytes, &options);
        let message = error.expect("invalid").to_string();
        assert_eq!(message, "dir/file.recordio: record at position 1: the text is not valid UTF-8");
    }
    let file = memory_file(&bytes);
    assert_eq!(count(&file, 0..file.size, &text()).expect("not looked into"), 4);
}

#[test]
fn text_is_for_records_that_are_no_messages() {
    let file = memory_file(&fixture("go-none-proto.recordio"));
    let options = messages("descriptor_set", "events.fds.bin").with("payload", "text");
    let message = open(&file, &options).expect_err("contradiction").to_string();
    assert_eq!(message, "option 'payload': 'text' is for records that are no messages");
}

fn messages(option: &str, file: &str) -> Options {
    let path = fixture_path(file).display().to_string();
    Options::new().with("message_type", "demo.shop.v1.Event").with(option, path)
}

/// Some columns of an event as JSON with the defaults left out, as the fixture has them.
fn event(batch: &RecordBatch, row: usize) -> Value {
    let column = |name: &str| batch.column_by_name(name).unwrap_or_else(|| panic!("no column {name}"));
    let mut event = serde_json::Map::new();
    let mut put = |name: &str, value: Value| {
        if ![Value::from(""), Value::from(0.0), Value::from("0")].contains(&value) {
            event.insert(name.to_string(), value);
        }
    };
    put("id", column("id").as_primitive::<Int64Type>().value(row).to_string().into());
    put("user", column("user").as_string_view().value(row).into());
    put("at_micros", column("at_micros").as_primitive::<UInt64Type>().value(row).to_string().into());
    put("score", f64::from(column("score").as_primitive::<Float32Type>().value(row)).into());
    let place = column("place");
    if place.is_valid(row) {
        let place = place.as_struct();
        let lat = place.column_by_name("lat").expect("a field").as_primitive::<Float64Type>().value(row);
        put("lat", lat.into());
    }
    let note = column("note");
    if note.is_valid(row) {
        event.insert("note".to_string(), note.as_string_view().value(row).into());
    }
    Value::Object(event)
}

fn expected(line: &str) -> Value {
    let mut row: Value = serde_json::from_str(line).expect("JSON");
    let fields = row.as_object_mut().expect("an object");
    let lat = fields.get("place").and_then(|place| place["lat"].as_f64()).filter(|lat| *lat != 0.0);
    fields.retain(|name, _| ["id", "user", "at_micros", "score", "note"].contains(&name.as_str()));
    fields.extend(lat.map(|lat| ("lat".to_string(), lat.into())));
    row
}

#[test]
fn messages_become_columns() {
    let rows = String::from_utf8(fixture("go-proto.rows.jsonl")).expect("UTF-8");
    for name in ["go-none-proto", "go-snappy-proto", "go-gzip-proto"] {
        for options in [messages("descriptor_set", "events.fds.bin"), messages("proto", "events.proto")] {
            let file = memory_file(&fixture(&format!("{name}.recordio")));
            let table = open(&file, &options).expect("good options");
            assert!(
                table
                    .messages()
                    .and_then(|messages| messages.proto_text())
                    .is_some_and(|text| text.contains("message Event"))
            );
            let columns = table.schema().fields().len();
            let (batches, error) = scan(table.as_ref(), request(&file, 0..file.size, columns));
            assert!(error.is_none(), "{error:?}");
            let found = batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|row| event(batch, row)));
            let found: Vec<Value> = found.collect();
            let expected: Vec<Value> = rows.lines().map(expected).collect();
            assert_eq!(found.len(), 300);
            for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert_eq!(found, expected, "{name} row {row}");
            }
        }
    }
}

#[test]
fn a_message_type_needs_descriptors() {
    let file = memory_file(&fixture("go-none-proto.recordio"));
    let error =
        open(&file, &Options::new().with("message_type", "demo.shop.v1.Event")).expect_err("nobody has them");
    assert!(error.to_string().contains("descriptor_set"), "{error}");
}
