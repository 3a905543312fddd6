//! The files of the reference implementations, record by record and value by value.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::support::{context, data, rows, text, tool};

/// The source names and the number of records of each whole file.
fn manifest() -> Vec<(String, Vec<String>, u64)> {
    let text = fs::read_to_string(data("riegeli/manifest.json")).expect("a file");
    let manifest: Value = serde_json::from_str(&text).expect("JSON");
    let list = manifest["files"].as_array().expect("a list");
    let entry = |file: &Value| {
        let sources = file["source"].as_array().expect("a list").iter();
        let sources = sources.map(|name| name.as_str().expect("text").to_string()).collect();
        (
            file["file"].as_str().expect("text").to_string(),
            sources,
            file["records"].as_u64().expect("a number"),
        )
    };
    list.iter().map(entry).collect()
}

#[test]
fn cat_raw_gives_the_bytes_that_were_written() {
    let stored = |sources: &[String]| {
        sources.iter().all(|source| data(&format!("riegeli/sources/{source}.bin")).exists())
    };
    for (file, sources, _) in manifest().into_iter().filter(|(_, sources, _)| stored(sources)).step_by(4) {
        let path = data("riegeli").join(&file);
        let output = tool(["cat", "--raw", path.to_str().expect("UTF-8")]);
        let mut expected = vec![];
        for source in &sources {
            expected.extend(fs::read(data(&format!("riegeli/sources/{source}.bin"))).expect(source));
        }
        assert!(output.status.success(), "{file}: {}", text(&output.stderr));
        assert!(output.stdout == expected, "{file} differs from {sources:?}");
    }
    for (file, records) in
        [("group64_zstd", "examples500"), ("wire_transpose_zstd", "wire300"), ("empty", "none")]
    {
        let path = data(&format!("array_record/{file}.array_record"));
        let output = tool(["cat", "--raw", path.to_str().expect("UTF-8")]);
        let expected = fs::read(data(&format!("array_record/records_{records}.bin"))).expect("a file");
        assert!(output.stdout == expected, "{file}: {}", text(&output.stderr));
    }
}

#[tokio::test]
async fn every_file_counts_its_records() {
    let ctx = context(3, 100);
    for (file, _, records) in manifest() {
        let path = data("riegeli").join(&file);
        let count =
            rows(&ctx, &format!("SELECT count(*) AS n FROM '{}'", path.display())).await.expect(&file);
        assert_eq!(count, [format!("{{\"n\":{records}}}")], "{file}");
    }
}

/// The records as C++ protobuf prints them, next to our rows: every value that it prints is in the row.
#[tokio::test]
async fn rows_hold_the_values_that_the_reference_prints() {
    let ctx = context(2, 50);
    for (file, source) in [
        ("simple_brotli", "log_small"),
        ("transposed_zstd", "log_small"),
        ("transposed_zstd_bucket0", "log_small"),
        ("edition_simple_snappy", "edition"),
        ("edition_transposed_zstd", "edition"),
    ] {
        let path = data(&format!("riegeli/{file}.riegeli"));
        let options = match file {
            "simple_brotli" => format!(
                "OPTIONS (message_type 'fx.Weblog', descriptor_set '{}')",
                data("riegeli/protos/weblog.fds").display()
            ),
            _ => String::new(),
        };
        let create = format!(
            "CREATE OR REPLACE EXTERNAL TABLE t STORED AS RIEGELI LOCATION '{}' {options}",
            path.display()
        );
        rows(&ctx, &create).await.expect(file);
        let ours = rows(&ctx, "SELECT * FROM t").await.expect(file);
        let theirs = fs::read_to_string(data(&format!("riegeli/sources/{source}.jsonl"))).expect("a file");
        let theirs: Vec<&str> = theirs.lines().collect();
        assert_eq!(ours.len(), theirs.len(), "{file}");
        for (row, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            let ours: Value = serde_json::from_str(ours).expect("JSON");
            let theirs: Value = serde_json::from_str(theirs).expect("JSON");
            if let Err(difference) = holds(&theirs, &ours, "") {
                panic!("{file} row {row}: {difference}");
            }
        }
    }
}

/// Whether `ours` says all that `theirs` says, in Arrow's spelling.
fn holds(theirs: &Value, ours: &Value, path: &str) -> Result<(), String> {
    let differ = || Err(format!("{path}: {ours} for {theirs}"));
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            let ours: BTreeMap<&str, &Value> =
                ours.iter().map(|(key, value)| (key.as_str(), value)).collect();
            theirs.iter().try_for_each(|(key, value)| match ours.get(key.as_str()) {
                Some(our) => holds(value, our, &format!("{path}.{key}")),
                None => Err(format!("{path}.{key} is missing")),
            })
        }
        (Value::Array(theirs), Value::Array(ours)) if theirs.len() == ours.len() => {
            theirs.iter().zip(ours).try_for_each(|(their, our)| holds(their, our, &format!("{path}[]")))
        }
        // 64-bit numbers are text there; numbers that an open enum has no name for are text here.
        (Value::String(text), Value::Number(number)) | (Value::Number(number), Value::String(text))
            if *text == number.to_string() =>
        {
            Ok(())
        }
        (Value::Number(a), Value::Number(b)) if same_number(a.as_f64(), b.as_f64()) => Ok(()),
        (Value::String(a), Value::String(b))
            if a == b || base64(b).as_ref() == Some(a) || same_time(a, b) =>
        {
            Ok(())
        }
        (a, b) if a == b => Ok(()),
        _ => differ(),
    }
}

/// Floats are printed in their shortest form by one, and widened by the other.
fn same_number(a: Option<f64>, b: Option<f64>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a == b || a as f32 == b as f32)
}

/// The base64 of the bytes that Arrow prints in hexadecimal.
fn base64(hex: &str) -> Option<String> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok())
        .collect::<Option<_>>()?;
    let group = |group: &[u8]| -> String {
        let word =
            group.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        let digit = |at: usize| match at <= group.len() {
            true => char::from(DIGITS[(word >> (18 - 6 * at) & 63) as usize]),
            false => '=',
        };
        (0..4).map(digit).collect()
    };
    Some(bytes.chunks(3).map(group).collect())
}

/// Times with different numbers of zeros behind the second, and with digits below the microsecond.
fn same_time(a: &str, b: &str) -> bool {
    let digits = |time: &str| {
        let (second, fraction) =
            time.trim_end_matches('Z').split_once('.').unwrap_or((time.trim_end_matches('Z'), ""));
        let micros: String = fraction.chars().chain("000000".chars()).take(6).collect();
        second.contains('T').then(|| format!("{second}.{micros}"))
    };
    digits(a).is_some() && digits(a) == digits(b)
}
