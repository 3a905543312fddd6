//! Damaged files: what a read that stops at the first fault gives, and what it says.

use futures::executor::block_on;
use recordfusion_core::{Connector, Error};
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
        let sound = case["strict"]["ok"] == true && case["metadata"]["ok"] == true;
        assert_eq!(block_on(RiegeliConnector.verify(&file)).is_ok(), sound, "{name}");
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
