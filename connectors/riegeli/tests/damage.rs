//! Damaged files: what a read that stops at the first fault gives, and what it says.

use futures::executor::block_on;
use recordfusion_core::{Error, Options, Verifying};
use recordfusion_riegeli::RiegeliConnector;

use crate::support::*;

/// The undamaged records of a file, or more of them.
fn base_records(base: &str) -> Records {
    let source = if base.contains("records of `log_tail` appended") || base.contains("records of `log`") {
        "log"
    } else if base == "none" {
        return Vec::new();
    } else {
        "log_tail"
    };
    records_of(&fixture(&format!("riegeli/sources/{source}.bin")))
}

fn lost_regions(recovery: &serde_json::Value) -> Vec<(u64, u64)> {
    let regions = recovery["skipped"].as_array().expect("a list").iter();
    let number = |value: &serde_json::Value| value.as_u64().expect("a number");
    regions.map(|region| (number(&region["begin"]), number(&region["end"]))).collect()
}

/// The records that survive, out of the undamaged ones.
fn survivors(case: &serde_json::Value) -> Records {
    let base = case["base"].as_str().expect("a text");
    let mut whole = base_records(base);
    if base.contains("appended") {
        whole.truncate(106);
        whole.extend(records_of(&fixture("riegeli/sources/log_tail.bin")));
    }
    let ranges = case["recovery"]["record_ranges"].as_array().expect("a list").iter();
    let number = |value: &serde_json::Value| value.as_u64().expect("a number") as usize;
    ranges.flat_map(|range| whole[number(&range[0])..number(&range[1])].to_vec()).collect()
}

#[test]
fn skipping_loses_what_the_reference_loses() {
    for case in json("riegeli/expected/damage.json").as_array().expect("a list") {
        let name = case["file"].as_str().expect("a text");
        let found = skip(&fixture(&format!("riegeli/{name}")));
        assert!(found.error.is_none(), "{name}: {:?}", found.error);
        assert_eq!(found.lost_ranges(), lost_regions(&case["recovery"]), "{name}");
        assert!(found.records == survivors(case), "{name}: {} records", found.records.len());
        let reasons = case["recovery"]["skipped"].as_array().expect("a list").iter();
        for (region, reason) in found.lost.iter().zip(reasons) {
            let message = match reason["reason"].as_str().expect("a text") {
                // The reference may mean one that it came by in search of an intact one.
                "block header hash" => " header",
                reason => message_for(reason),
            };
            assert!(!region.reason.is_empty() && region.reason.contains(message), "{name}: {region:?}");
        }
    }
}

#[test]
fn counting_in_damaged_files_reads() {
    for case in json("riegeli/expected/damage.json").as_array().expect("a list") {
        let name = case["file"].as_str().expect("a text");
        let file = memory_file(&fixture(&format!("riegeli/{name}")));
        let options = options(&[("on_corruption", "skip")]);
        let table = open_with(&file, &options).expect("damage is passed over");
        let rows = count(table.as_ref(), &file, 0..file.size).expect("damage is passed over");
        assert_eq!(case["recovery"]["records"], rows, "{name}");
    }
}

/// The cases in which nothing is wrong but that the file ends too early.
#[test]
fn an_unfinished_chunk_is_the_end_if_asked_for() {
    let end = options(&[("on_truncated", "end")]);
    let both = end.clone().with("on_corruption", "skip");
    for case in json("riegeli/expected/damage.json").as_array().expect("a list") {
        let name = case["file"].as_str().expect("a text");
        let file = memory_file(&fixture(&format!("riegeli/{name}")));
        let cut = case["recovery"]["skipped"].as_array().expect("a list").iter();
        let cut = cut.filter(|region| region["reason"] == "file cut").count();
        let strict = &case["strict"];
        for cuts in [vec![0, file.size], (0..=7).map(|part| part * file.size / 7).collect()] {
            let found = scan_parts(&file, &cuts, &end);
            let sound = strict["ok"] == true || strict["reason"] == "file cut";
            assert_eq!(found.error.is_none(), sound, "{name}: {:?}", found.error);
            let skipped = scan_parts(&file, &cuts, &both);
            assert!(skipped.records == survivors(case) && skipped.error.is_none(), "{name}");
            let lost = lost_regions(&case["recovery"]);
            assert_eq!(skipped.lost_ranges(), lost[..lost.len() - cut], "{name}");
            if sound {
                assert!(found.records == skipped.records, "{name}");
                let table = open_with(&file, &end).expect("sound up to its end");
                let counted: usize = cuts
                    .windows(2)
                    .map(|pair| count(table.as_ref(), &file, pair[0]..pair[1]).expect("sound up to its end"))
                    .sum();
                assert_eq!(counted, found.records.len(), "{name}");
            }
        }
    }
}

/// A part of the message for a reason in the words of the fixtures.
fn message_for(reason: &str) -> &'static str {
    match reason {
        "chunk data hash" => "wrong hash of the chunk data",
        "chunk header hash" => "wrong hash of the chunk header",
        "block header hash" => "wrong hash of the block header",
        "file cut" => "truncated: ",
        "unknown chunk type" => "unknown chunk type 0x",
        "invalid padding chunk" => "invalid padding chunk",
        "invalid signature chunk" => "invalid signature chunk",
        "invalid metadata chunk" => "invalid metadata chunk",
        "no file signature" => "does not begin with the signature",
        "chunk cannot be decoded" => "",
        other => panic!("unknown reason {other}"),
    }
}

#[test]
fn reading_stops_where_the_reference_stops() {
    let cases = json("riegeli/expected/damage.json");
    let cases = cases.as_array().expect("a list");
    assert_eq!(cases.len(), 52);
    for case in cases {
        let name = case["file"].as_str().expect("a text");
        let (records, error) = read(&fixture(&format!("riegeli/{name}")));
        let strict = &case["strict"];
        let intact = strict["records"].as_u64().expect("a number") as usize;
        let base = base_records(case["base"].as_str().expect("a text"));
        assert!(records == base[..intact], "{name}: {} records", records.len());
        let Some(reason) = strict["reason"].as_str() else {
            assert!(error.is_none(), "{name}: {error:?}");
            continue;
        };
        let begin = case["recovery"]["skipped"][0]["begin"].as_u64().expect("a number");
        match error.unwrap_or_else(|| panic!("{name}: no error")) {
            Error::WrongFormat { .. } => assert_eq!(begin, 0, "{name}"),
            Error::Corrupt { offset, reason: found, .. } => {
                assert_eq!(offset, begin, "{name}: {found}");
                assert!(found.contains(message_for(reason)), "{name}: {found}");
            }
            other => panic!("{name}: {other}"),
        }
    }
}

#[test]
fn verification_finds_all_damage() {
    for case in json("riegeli/expected/damage.json").as_array().expect("a list") {
        let name = case["file"].as_str().expect("a text");
        let file = memory_file(&fixture(&format!("riegeli/{name}")));
        let regions = lost_regions(&case["recovery"]);
        match block_on(RiegeliConnector::default().verify(&file, &Options::new())) {
            Ok(verification) => {
                let faults: Vec<(u64, u64)> =
                    verification.faults.iter().map(|fault| (fault.begin, fault.end)).collect();
                let metadata = if name.contains("metadata_garbage") { vec![(64, 108)] } else { vec![] };
                assert_eq!(faults, [metadata, regions].concat(), "{name}");
                assert_eq!(case["recovery"]["records"], verification.records, "{name}");
            }
            Err(error) => {
                assert!(matches!(error, Error::WrongFormat { .. }), "{name}: {error}");
                assert_eq!(regions, [(0, file.size)], "{name}");
            }
        }
    }
}

#[test]
fn opening_finds_what_hinders_reading_at_the_start() {
    for case in json("riegeli/expected/damage.json").as_array().expect("a list") {
        let name = case["file"].as_str().expect("a text");
        let hinders = matches!(
            name.trim_start_matches("corrupt/").trim_end_matches(".riegeli"),
            "signature_flip"
                | "truncated_in_signature"
                | "not_riegeli"
                | "metadata_data_flip"
                | "metadata_header_flip"
                | "valid_hash_metadata_with_records"
                | "valid_hash_no_signature"
        );
        let outcome = open(&memory_file(&fixture(&format!("riegeli/{name}"))));
        assert_eq!(outcome.is_err(), hinders, "{name}: {:?}", outcome.err());
    }
}

#[test]
fn other_files_are_named_for_what_they_are() {
    let cases: [(&[u8], &str); 4] = [
        (b"PAR1\x15\x04", "it begins with \"PAR1\\x15\\x04\" instead of the signature"),
        (&[0; 100], "instead of the signature"),
        (&fixture("riegeli/corrupt/truncated_in_signature.riegeli"), "it has only 30 bytes"),
        (&fixture("riegeli/corrupt/signature_flip.riegeli"), "its signature is damaged at byte"),
    ];
    for (bytes, reason) in cases {
        let message = read(bytes).1.expect("no Riegeli file").to_string();
        assert!(message.starts_with("file is not a Riegeli file: ") && message.contains(reason), "{message}");
    }
}
