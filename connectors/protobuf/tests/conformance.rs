//! The cases of protobuf's conformance suite, and further odd ones, against the rows stated for them.

use std::collections::BTreeMap;

use recordfusion_core::Error;
use recordfusion_protobuf::RecordDecoder;
use serde_json::{Map, Value};

use crate::support::{decode, fixture_decoder, hex, row};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/conformance/");

fn read(name: &str) -> Vec<u8> {
    std::fs::read(format!("{FOLDER}{name}")).expect(name)
}

fn types() -> Value {
    serde_json::from_slice(&read("types.json")).expect("JSON")
}

/// The cases by type, in file order.
fn cases() -> BTreeMap<String, Vec<Value>> {
    let mut cases: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in String::from_utf8(read("cases.jsonl")).expect("UTF-8").lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let file = case["file"].as_str().expect("a name");
        cases.entry(file.trim_end_matches("_own").to_string()).or_default().push(case);
    }
    cases
}

fn table(types: &Value, file: &str) -> RecordDecoder {
    fixture_decoder(&read(&format!("{file}.fds")), types[file]["message"].as_str().expect("a name"))
}

fn payload(case: &Value) -> Vec<u8> {
    hex(case["hex"].as_str().expect("digits"))
}

#[test]
fn rows_are_as_stated() {
    let types = types();
    let mut differences = Vec::new();
    for (file, cases) in cases() {
        let decoder = table(&types, &file);
        let cases: Vec<_> = cases.iter().filter(|case| case["outcome"] == "row").collect();
        let records: Vec<_> = cases.iter().map(|case| payload(case)).collect();
        let batch = decode(&decoder, &records).expect("all are valid");
        let compare = Compare(&types[&file]);
        for (index, case) in cases.iter().enumerate() {
            let message = types[&file]["message"].as_str().expect("a name");
            if let Err(difference) = compare.message(message, &case["row"], &row(&batch, index)) {
                differences.push(format!("{file} {} {}: {difference}", case["test"], case["hex"]));
            }
        }
    }
    assert!(differences.is_empty(), "{} differ\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn a_record_alone_is_as_among_others() {
    let types = types();
    for (file, cases) in cases().into_iter().filter(|(file, _)| file.starts_with("proto")) {
        let decoder = table(&types, &file);
        let records: Vec<_> = cases.iter().filter(|case| case["outcome"] == "row").map(payload).collect();
        let batch = decode(&decoder, &records).expect("all are valid");
        for (index, record) in records.iter().enumerate().step_by(3) {
            let alone = decode(&decoder, &[record]).expect("valid");
            assert_eq!(row(&alone, 0), row(&batch, index));
        }
    }
}

#[test]
fn invalid_messages_and_bad_values_are_refused() {
    let types = types();
    for (file, cases) in cases() {
        let decoder = table(&types, &file);
        for case in cases.iter().filter(|case| case["outcome"] != "row") {
            let records = [vec![], payload(case), vec![]];
            match decode(&decoder, &records) {
                Err(Error::BadRecord { position: 101, .. }) => {}
                other => panic!("{file} {} {}: {other:?}", case["test"], case["hex"]),
            }
        }
    }
}

#[test]
fn recursion_makes_the_stated_number_of_leaves() {
    fn leaves(data_type: &arrow::datatypes::DataType) -> usize {
        use arrow::datatypes::DataType::{List, Map, Struct};
        match data_type {
            List(item) | Map(item, _) => leaves(item.data_type()),
            Struct(fields) => fields.iter().map(|field| leaves(field.data_type())).sum(),
            _ => 1,
        }
    }
    let types = types();
    for (file, expected) in [("proto3", 1063), ("proto2", 1149), ("edition2023", 751)] {
        let decoder = table(&types, file);
        let found: usize = decoder.schema().fields().iter().map(|field| leaves(field.data_type())).sum();
        assert_eq!(found, expected, "{file}");
    }
}

/// Compares with an entry of `types.json`.
struct Compare<'a>(&'a Value);

type Outcome = Result<(), String>;

impl Compare<'_> {
    fn message(&self, name: &str, want: &Value, got: &Value) -> Outcome {
        let empty = &self.0["empty"][name];
        for (field, kind) in self.0["types"][name].as_object().expect("kinds") {
            let want = want.get(field).or_else(|| empty.get(field)).unwrap_or(&Value::Null);
            let got = got.get(field).ok_or_else(|| format!("no column {field}"))?;
            self.value(kind, want, got).map_err(|difference| format!("{field}: {difference}"))?;
        }
        Ok(())
    }

    fn value(&self, kind: &Value, want: &Value, got: &Value) -> Outcome {
        let differs = || Err(format!("{got} for {want}"));
        match (kind, want, got) {
            (_, Value::Null, Value::Null) => Ok(()),
            (_, Value::Null, _) | (_, _, Value::Null) => differs(),
            (Value::String(kind), ..) if kind == "json" => {
                let parse =
                    |text: &Value| serde_json::from_str::<Value>(text.as_str().expect("text")).expect("JSON");
                if same_numbers(&parse(want), &parse(got)) { Ok(()) } else { differs() }
            }
            (Value::String(kind), ..) if kind == "float" || kind == "double" => {
                if same_float(want, got, kind == "float") { Ok(()) } else { differs() }
            }
            (Value::String(_), ..) => {
                if want == got {
                    Ok(())
                } else {
                    differs()
                }
            }
            (Value::Object(kind), ..) => self.nested(kind, want, got),
            _ => differs(),
        }
    }

    fn nested(&self, kind: &Map<String, Value>, want: &Value, got: &Value) -> Outcome {
        let differs = || Err(format!("{got} for {want}"));
        if let Some(item) = kind.get("list") {
            let (Some(wants), Some(gots)) = (want.as_array(), got.as_array()) else { return differs() };
            if wants.len() != gots.len() {
                return differs();
            }
            return wants.iter().zip(gots).try_for_each(|(want, got)| self.value(item, want, got));
        }
        if let Some(parts) = kind.get("map") {
            let (Some(wants), Some(gots)) = (want.as_array(), got.as_array()) else { return differs() };
            if wants.len() != gots.len() {
                return differs();
            }
            let entry = |(want, got): (&Value, &Value)| {
                self.value(&parts[0], &want["key"], &got["key"])?;
                self.value(&parts[1], &want["value"], &got["value"])
            };
            return wants.iter().zip(gots).try_for_each(entry);
        }
        match want {
            Value::Object(choice) if choice.contains_key("any_of") => {
                let known = choice["any_of"].as_array().expect("a list").contains(got);
                if known { Ok(()) } else { differs() }
            }
            Value::String(_) => {
                if want == got {
                    Ok(())
                } else {
                    differs()
                }
            }
            _ if got.is_object() => self.message(kind["message"].as_str().expect("a name"), want, got),
            _ => {
                if want == got {
                    Ok(())
                } else {
                    differs()
                }
            }
        }
    }
}

fn same_float(want: &Value, got: &Value, single: bool) -> bool {
    match (want.as_f64(), got.as_f64()) {
        (Some(want), Some(got)) if single => (want as f32).to_bits() == (got as f32).to_bits(),
        (Some(want), Some(got)) => want.to_bits() == got.to_bits(),
        _ => want == got,
    }
}

/// Equality of JSON, where 1 and 1.0 are the same number.
pub fn same_numbers(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same_numbers(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |(key, value): (&String, &Value)| {
                right.get(key).is_some_and(|other| same_numbers(value, other))
            };
            left.len() == right.len() && left.iter().all(same)
        }
        _ => left == right,
    }
}
