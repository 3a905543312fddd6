//! The cases of protobuf's conformance suite, and further odd ones, against the rows stated for them.

use std::collections::BTreeMap;

use recordfusion_core::{Error, Options, ScanCounters};
use recordfusion_protobuf::RecordDecoder;
use recordfusion_protobuf::counters::{RECORDS_NULLED, RECORDS_SKIPPED, VALUES_NULLED};
use serde_json::{Map, Value};

use crate::support::{decode, decode_counted, files_of, hex, open_with, row};

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
    table_with(types, file, &Options::new())
}

fn table_with(types: &Value, file: &str, options: &Options) -> RecordDecoder {
    let message = types[file]["message"].as_str().expect("a name");
    open_with(files_of(&read(&format!("{file}.fds"))), message, options).expect("a table")
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
fn bad_records_are_left_out_or_null() {
    let types = types();
    for (file, cases) in cases() {
        let tables = ["skip", "null"]
            .map(|policy| table_with(&types, &file, &Options::new().with("on_bad_record", policy)));
        let refused: Vec<_> = cases.iter().filter(|case| case["outcome"] == "refused").map(payload).collect();
        // Each between two good records, so that a batch has bad ones everywhere.
        let records: Vec<_> = refused.iter().flat_map(|record| [vec![], record.clone(), vec![]]).collect();
        let empty = row(&decode(&tables[0], &[vec![]]).expect("valid"), 0);
        let counters = ScanCounters::default();
        let skipped = decode_counted(&tables[0], &records, &counters).expect("bad ones are left out");
        assert_eq!(skipped.num_rows(), 2 * refused.len());
        assert!((0..skipped.num_rows()).all(|index| row(&skipped, index) == empty));
        assert_eq!(counters.value(&RECORDS_SKIPPED), refused.len() as u64);
        let nulled = decode_counted(&tables[1], &records, &counters).expect("bad ones are NULL");
        assert_eq!(nulled.num_rows(), records.len());
        for index in 0..records.len() {
            let all_null = nulled.columns().iter().all(|column| column.is_null(index));
            assert_eq!(all_null, index % 3 == 1);
            assert!(all_null || row(&nulled, index) == empty);
        }
        assert_eq!(counters.value(&RECORDS_NULLED), refused.len() as u64);
    }
}

#[test]
fn bad_values_are_null_where_that_is_wanted() {
    let types = types();
    for (file, cases) in cases() {
        let decoder = table_with(&types, &file, &Options::new().with("on_bad_value", "null"));
        for case in cases.iter().filter(|case| case["outcome"] == "bad_value") {
            let counters = ScanCounters::default();
            let batch = decode_counted(&decoder, &[payload(case)], &counters).expect("the value is NULL");
            let message = types[&file]["message"].as_str().expect("a name");
            let difference = Compare(&types[&file]).message(message, &case["row"], &row(&batch, 0));
            assert_eq!(difference, Ok(()), "{file} {}", case["hex"]);
            assert!(counters.value(&VALUES_NULLED) > 0);
        }
    }
}

#[test]
fn variants_are_as_stated() {
    let types = types();
    let mut variants = 0;
    for (file, cases) in cases() {
        let mut tables: BTreeMap<String, RecordDecoder> = BTreeMap::new();
        for (case, variant) in cases.iter().flat_map(|case| {
            let variants = case.get("variants").and_then(Value::as_array).into_iter().flatten();
            variants.map(move |variant| (case, variant))
        }) {
            variants += 1;
            let options = variant["options"].as_object().expect("options").iter();
            let options: Options =
                options.map(|(name, value)| (name, value.as_str().expect("text"))).collect();
            let table = tables
                .entry(variant["options"].to_string())
                .or_insert_with(|| table_with(&types, &file, &options));
            let outcome = decode(table, &[payload(case)]);
            let refused = variant.get("refused").is_some() || variant["outcome"] == "refused";
            match outcome {
                Err(Error::BadRecord { .. }) if refused => {}
                Ok(batch) if !refused => {
                    let message = types[&file]["message"].as_str().expect("a name");
                    let (compare, found) = (Compare(&types[&file]), row(&batch, 0));
                    let difference = match variant.get("row") {
                        Some(want) => compare.message(message, want, &found),
                        None => compare.columns(variant, &found),
                    };
                    assert_eq!(difference, Ok(()), "{file} {}", case["hex"]);
                }
                other => panic!("{file} {variant}: {other:?}"),
            }
        }
    }
    assert!(variants > 50);
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
    let expected =
        [("proto3", [178, 1063, 5488]), ("proto2", [165, 1149, 7053]), ("edition2023", [126, 751, 3876])];
    for (file, expected) in expected {
        for (depth, expected) in expected.into_iter().enumerate() {
            let options = Options::new().with("recursion_depth", depth.to_string());
            let decoder = table_with(&types, file, &options);
            let found: usize = decoder.schema().fields().iter().map(|field| leaves(field.data_type())).sum();
            assert_eq!(found, expected, "{file} at depth {depth}");
        }
        let message = types[file]["message"].as_str().expect("a name");
        let files = files_of(&read(&format!("{file}.fds")));
        let error = open_with(files, message, &Options::new().with("recursion_depth", "3")).unwrap_err();
        assert!(error.to_string().contains("recursion_depth"), "{error}");
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

    /// The columns that a variant names, with their kinds.
    fn columns(&self, variant: &Value, got: &Value) -> Outcome {
        let mut columns = variant["columns"].as_object().expect("columns").iter();
        columns.try_for_each(|(name, want)| self.value(&variant["kinds"][name], want, &got[name]))
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
