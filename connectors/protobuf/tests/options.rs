//! The options of the mapping, against a table that Google's parser made.

use std::collections::HashMap;
use std::path::PathBuf;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, TimeUnit};
use recordfusion_core::{Error, Options, Projection, ScanCounters};
use recordfusion_protobuf::{FileDescriptors, ProtobufOptions, RecordDecoder};
use serde_json::Value;

use crate::conformance::same_numbers;
use crate::support::{block, hex, value};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/options/");

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap_or_else(|| panic!("{key} of {case}"))
}

fn options(case: &Value) -> Options {
    let given = case["options"].as_object().expect("options").iter();
    let source = if text(case, "file").ends_with(".fds") { "descriptor_set" } else { "proto" };
    given
        .map(|(name, value)| (name.clone(), value.as_str().expect("text").to_string()))
        .chain([
            (source.to_string(), format!("{FOLDER}{}", text(case, "file"))),
            ("message_type".to_string(), text(case, "message").to_string()),
        ])
        .collect()
}

fn open(case: &Value) -> Result<RecordDecoder, Error> {
    RecordDecoder::open(&[] as &[FileDescriptors], &ProtobufOptions::from_options(&options(case))?, &[])
}

/// The rows of the record between two that are empty, or of the record alone.
fn decode(decoder: &RecordDecoder, case: &Value) -> Result<RecordBatch, Error> {
    let mut scan = decoder.scan(&Projection::all(decoder.schema().fields().len()))?;
    let records = [hex(text(case, "hex"))];
    Ok(scan.decode("file", &block(&records), 0..1, &ScanCounters::default())?.batch)
}

#[test]
fn options_do_what_the_table_says() {
    let table = std::fs::read_to_string(PathBuf::from(FOLDER).join("cases.jsonl")).expect("the table");
    let mut decoders: HashMap<String, Result<RecordDecoder, Error>> = HashMap::new();
    let mut differences = Vec::new();
    let mut cases = 0;
    for line in table.lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let key = format!("{} {} {}", case["file"], case["message"], case["options"]);
        let decoder = decoders.entry(key).or_insert_with(|| open(&case));
        if let Err(difference) = check(decoder, &case) {
            differences.push(format!("{line}\n    {difference}"));
        }
        cases += 1;
    }
    assert!(cases >= 150, "only {cases} cases");
    assert!(differences.is_empty(), "{} of {cases} differ\n{}", differences.len(), differences.join("\n"));
}

fn check(decoder: &Result<RecordDecoder, Error>, case: &Value) -> Result<(), String> {
    let outcome = case.get("outcome").map_or("value", |outcome| outcome.as_str().expect("text"));
    let decoder = match (decoder, outcome) {
        (Err(error), "refused") => {
            let message = error.to_string();
            let names = case["names"].as_array().expect("words");
            let missing = names.iter().find(|name| !message.contains(name.as_str().expect("text")));
            return missing.map_or(Ok(()), |name| Err(format!("'{message}' does not name {name}")));
        }
        (Ok(_), "refused") => return Err("opened".to_string()),
        (Err(error), _) => return Err(format!("not opened: {error}")),
        (Ok(decoder), _) => decoder,
    };
    if let Some(columns) = case.get("columns") {
        let found: Vec<&str> = decoder.schema().fields().iter().map(|field| field.name().as_str()).collect();
        if columns != &Value::from(found.clone()) {
            return Err(format!("columns {found:?}"));
        }
    }
    if case.get("hex").is_none() {
        return Ok(());
    }
    match (decode(decoder, case), outcome) {
        (Err(Error::BadRecord { fault, .. }), "bad_value") if fault.contains("has no form") => Ok(()),
        (Err(Error::BadRecord { fault, .. }), "bad_record") if !fault.contains("has no form") => Ok(()),
        (Err(error), _) => Err(error.to_string()),
        (Ok(batch), "no_row") if batch.num_rows() == 0 => Ok(()),
        (Ok(batch), "null_row") if batch.num_rows() == 1 && all_null(&batch) => Ok(()),
        (Ok(batch), "value") if batch.num_rows() == 1 => check_value(&batch, case),
        (Ok(batch), _) => Err(format!("{} rows: {batch:?}", batch.num_rows())),
    }
}

fn all_null(batch: &RecordBatch) -> bool {
    batch.columns().iter().all(|column| column.is_null(0))
}

fn check_value(batch: &RecordBatch, case: &Value) -> Result<(), String> {
    let Some(name) = case.get("column") else { return Ok(()) };
    let name = name.as_str().expect("text");
    let Some(column) = batch.column_by_name(name) else { return Err(format!("no column {name}")) };
    let data_type = notation(column.data_type());
    if data_type != text(case, "type") {
        return Err(format!("type {data_type}"));
    }
    let found = value(column, 0);
    if same(&case["value"], &found) { Ok(()) } else { Err(format!("value {found}")) }
}

/// Equality, where texts that are JSON count by what they say.
fn same(want: &Value, found: &Value) -> bool {
    match (want, found) {
        (Value::String(want), Value::String(found)) if want.starts_with(['{', '[']) => {
            let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
            want == found
                || parse(want).zip(parse(found)).is_some_and(|(want, found)| same_numbers(&want, &found))
        }
        (Value::Array(wants), Value::Array(founds)) => {
            wants.len() == founds.len() && wants.iter().zip(founds).all(|(want, found)| same(want, found))
        }
        (Value::Object(wants), Value::Object(founds)) => {
            let alike = |(key, want)| founds.get(key).is_some_and(|found| same(want, found));
            wants.len() == founds.len() && wants.iter().all(alike)
        }
        (Value::Number(want), Value::Number(found)) => want.as_f64() == found.as_f64(),
        _ => want == found,
    }
}

/// An Arrow type as the table writes it.
fn notation(data_type: &DataType) -> String {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    let fields = |fields: &arrow::datatypes::Fields| {
        let field =
            |field: &arrow::datatypes::FieldRef| format!("{} {}", field.name(), notation(field.data_type()));
        fields.iter().map(field).collect::<Vec<_>>().join(", ")
    };
    match data_type {
        DataType::Dictionary(..) => "Dictionary".to_string(),
        DataType::Timestamp(of, Some(zone)) if zone.as_ref() == "UTC" => format!("Timestamp({})", unit(of)),
        DataType::Duration(of) => format!("Duration({})", unit(of)),
        DataType::Time64(of) => format!("Time64({})", unit(of)),
        DataType::List(item) => format!("List({})", notation(item.data_type())),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(parts) => {
                format!("Map({}, {})", notation(parts[0].data_type()), notation(parts[1].data_type()))
            }
            other => format!("Map of {other}"),
        },
        DataType::Struct(parts) => format!("Struct({})", fields(parts)),
        other => other.to_string(),
    }
}
