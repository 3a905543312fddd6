//! The files of the conformance cases through SQL: their records are the cases' payloads, and the rows do not
//! depend on how the file is written. (What the rows are is tested where messages are decoded.)

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use crate::support::{context, data, error, rows};

/// The payloads of each file, in hexadecimal digits, in order.
fn files() -> BTreeMap<String, Vec<String>> {
    let cases = std::fs::read_to_string(data("conformance/cases.jsonl")).expect("the cases");
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let text = |key: &str| case[key].as_str().expect("text").to_string();
        let kinds: &[&str] = match text("outcome").as_str() {
            "row" => &["simple", "transposed"],
            "refused" => &["refused"],
            _ => &["badvalue"],
        };
        for kind in kinds {
            files.entry(format!("{}_{kind}", text("file"))).or_default().push(text("hex"));
        }
    }
    files
}

fn path(file: &str) -> String {
    data(&format!("conformance/{file}.riegeli")).display().to_string()
}

#[tokio::test]
async fn records_are_the_payloads_and_the_layout_does_not_matter() {
    let ctx = context(1, 7);
    for option in ["metadata_columns = 'record'", "on_bad_record = 'skip'", "on_bad_value = 'null'"] {
        rows(&ctx, &format!("SET recordfusion.{option}")).await.expect("a setting");
    }
    let mut by_case: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, payloads) in files() {
        let from = format!("FROM '{}'", path(&file));
        if file.ends_with("_refused") {
            assert!(rows(&ctx, &format!("SELECT * {from}")).await.expect("runs").is_empty(), "{file}");
            continue;
        }
        let records =
            rows(&ctx, &format!("SELECT encode(_record, 'hex') AS record {from}")).await.expect("runs");
        let expected: Vec<String> = payloads
            .iter()
            .map(|payload| {
                let mut line = String::new();
                write!(line, "{{\"record\":\"{payload}\"}}").expect("memory");
                line
            })
            .collect();
        assert_eq!(records, expected, "{file}");
        let found = rows(&ctx, &format!("SELECT * {from}")).await.expect("runs");
        let case = file.trim_end_matches("_simple").trim_end_matches("_transposed").to_string();
        if let Some(other) = by_case.insert(case, found.clone()) {
            assert_eq!(found, other, "{file}");
        }
    }
    assert!(by_case.len() >= 10);
}

#[tokio::test]
async fn refused_records_and_bad_values_are_named() {
    let ctx = context(1, 1000);
    for file in files().into_keys().filter(|file| !file.ends_with("simple") && !file.ends_with("transposed"))
    {
        let message = error(&ctx, &format!("SELECT * FROM '{}'", path(&file))).await;
        assert!(message.contains(&format!("{file}.riegeli: record at position")), "{message}");
    }
}
