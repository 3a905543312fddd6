//! Repaired files: what survives, and nothing else.

use std::sync::Arc;

use futures::TryStreamExt;
use futures::executor::block_on;
use recordfusion_core::{
    Connector, Error, LostRegion, Options, Repairing, Result, ScanCounters, Verification, Verifying,
};
use recordfusion_riegeli::RiegeliConnector;
use recordfusion_riegeli::hash::hash;
use recordfusion_riegeli::header::ChunkHeader;
use recordfusion_riegeli::write::{EncodedChunk, FileWriter, WriterOptions};

use crate::support::*;

struct Repaired {
    bytes: Vec<u8>,
    lost: Vec<LostRegion>,
    counters: Arc<ScanCounters>,
}

fn repair(bytes: &[u8], options: &Options) -> Result<Repaired> {
    let counters = Arc::new(ScanCounters::default());
    let pieces = RiegeliConnector::default().repair(&memory_file(bytes), options, Arc::clone(&counters));
    let pieces: Vec<_> = block_on(pieces.try_collect())?;
    let lost = counters.lost_regions.all().into_iter().map(|(_, region)| region).collect();
    Ok(Repaired { bytes: pieces.concat(), lost, counters })
}

fn verify(bytes: &[u8]) -> Verification {
    block_on(RiegeliConnector::default().verify(&memory_file(bytes), &Options::new()))
        .expect("a Riegeli file")
}

/// Repairs a file, and checks that the result is sound and has what a scan of the file finds.
fn check(name: &str, bytes: &[u8]) -> Option<Repaired> {
    let found = skip(bytes);
    let repaired = match repair(bytes, &Options::new()) {
        Ok(repaired) => repaired,
        Err(error) => {
            assert!(matches!(error, Error::WrongFormat { .. }), "{name}: {error}");
            assert!(found.records.is_empty(), "{name}");
            return None;
        }
    };
    let (records, error) = read(&repaired.bytes);
    assert!(error.is_none() && records == found.records, "{name}: {error:?}");
    assert_eq!(repaired.counters.records_decoded.value(), records.len() as u64, "{name}");
    let verification = verify(&repaired.bytes);
    assert!(verification.faults.is_empty(), "{name}: {:?}", verification.faults);
    assert!(verification.leftovers.is_empty(), "{name}: {:?}", verification.leftovers);
    assert_eq!(verification.records, records.len() as u64, "{name}");
    let again = repair(&repaired.bytes, &Options::new()).expect("sound");
    assert!(again.bytes == repaired.bytes && again.lost.is_empty(), "{name}");
    Some(repaired)
}

#[test]
fn damaged_files_are_repaired() {
    let mut repaired = 0;
    for case in json("riegeli/expected/damage.json").as_array().expect("a list") {
        let name = case["file"].as_str().expect("a text");
        let bytes = fixture(&format!("riegeli/{name}"));
        let Some(file) = check(name, &bytes) else { continue };
        let metadata = usize::from(name.contains("metadata_garbage"));
        let skipped = case["recovery"]["skipped"].as_array().expect("a list").len();
        assert_eq!(file.lost.len(), skipped + metadata, "{name}: {:?}", file.lost);
        repaired += 1;
    }
    assert_eq!(repaired, 48);
}

#[test]
fn sound_files_are_copied() {
    for entry in json("riegeli/manifest.json")["files"].as_array().expect("a list") {
        let name = entry["file"].as_str().expect("a text");
        let bytes = fixture(&format!("riegeli/{name}"));
        let file = check(name, &bytes).expect("sound");
        assert!(file.lost.is_empty(), "{name}");
        let chunks = entry["chunks"].as_array().expect("a list").iter();
        let is_plain = chunks.clone().all(|chunk| chunk[2] != "p")
            && chunks.clone().filter(|chunk| chunk[2] == "s" || chunk[2] == "m").count() <= 2;
        assert!(!is_plain || file.bytes == bytes, "{name}");
    }
}

#[test]
fn an_index_is_made_anew() {
    for name in ["group64_zstd", "transpose_brotli_bucket4k", "pad_to_block", "default"] {
        let bytes = fixture(&format!("array_record/{name}.array_record"));
        let inspection = block_on(RiegeliConnector::default().inspect(&memory_file(&bytes))).expect("sound");
        let begin = |kind: &[&str]| {
            let chunk = inspection.chunks.iter().find(|chunk| kind.contains(&chunk.kind.as_str()));
            chunk.expect("it is there").begin
        };
        for at in
            [begin(&["footer"]) + 50, begin(&["postscript"]) + 70, begin(&["simple", "transposed"]) + 45]
        {
            let mut damaged = bytes.clone();
            damaged[at as usize] ^= 1;
            let file = check(name, &damaged).expect("most of it is whole");
            let again =
                block_on(RiegeliConnector::default().inspect(&memory_file(&file.bytes))).expect("sound");
            assert_eq!(again.kind, "ArrayRecord", "{name} byte {at}");
            if at < begin(&["footer"]) {
                assert_eq!(again.metadata, inspection.metadata, "{name} byte {at}");
                assert_eq!(file.lost.len(), 1, "{name} byte {at}");
            }
        }
    }
}

/// The data of a transposed chunk of the records `08 05` to `08 08`, in whose only buffer there are `more` bytes.
fn four_records(more: u8) -> Vec<u8> {
    let len = 4 + more;
    let header = [0, 12, 1, 1, len, len, 2, 8, 3, 3, 0, 0, 0, 0];
    [&header[..], &[8, 7, 6, 5], &vec![1; more.into()], &[2]].concat()
}

fn file_with_bytes_of_no_field(more: u8) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = FileWriter::create(&WriterOptions::default(), &mut file);
    writer.write(&chunk(b't', 4, 8, four_records(more)), &mut file).expect("is short");
    file
}

fn chunk(chunk_type: u8, num_records: u64, decoded_data_size: u64, data: Vec<u8>) -> EncodedChunk {
    let (data_size, data_hash) = (data.len() as u64, hash(&data));
    let header = ChunkHeader { data_size, data_hash, chunk_type, num_records, decoded_data_size };
    EncodedChunk { header, data }
}

#[test]
fn bytes_of_no_field_are_no_fault_but_told_and_left_out() {
    for more in [0, 1, 9] {
        let bytes = file_with_bytes_of_no_field(more);
        let verification = verify(&bytes);
        assert!(verification.faults.is_empty() && verification.records == 4, "{more}: {verification:?}");
        let begins: Vec<_> = verification.leftovers.iter().map(|region| region.begin).collect();
        assert_eq!(begins, if more == 0 { vec![] } else { vec![64] });
        let (records, error) = read(&bytes);
        assert!(error.is_none() && records == [5, 6, 7, 8].map(|value| vec![8, value]), "{more}: {error:?}");
        let file = check("no field", &bytes).expect("sound");
        assert!(file.lost.is_empty(), "{more}");
        assert_eq!(file.bytes == bytes, more == 0, "{more}");
        let chunks =
            block_on(RiegeliConnector::default().inspect(&memory_file(&file.bytes))).expect("sound").chunks;
        assert_eq!(
            chunks[1].kind,
            if more == 0 { "transposed" } else { "simple" },
            "cutting may take much memory"
        );
    }
}

#[test]
fn metadata_are_kept_without_bytes_of_no_field() {
    // The message `0a 02 68 69`: a comment.
    let metadata = |more: u8| {
        let len = 3 + more;
        let header = [0, 11, 1, 1, len, len, 2, 0x0a, 3, 3, 0, 0, 0];
        chunk(b'm', 0, 4, [&header[..], b"\x02hi", &vec![1; more.into()]].concat())
    };
    let comment = |bytes: &[u8]| {
        block_on(RiegeliConnector::default().inspect(&memory_file(bytes))).expect("sound").metadata
    };
    for more in [0, 1, 5] {
        let mut bytes = Vec::new();
        let mut writer = FileWriter::create(&WriterOptions::default(), &mut bytes);
        writer.write(&metadata(more), &mut bytes).expect("is short");
        writer.write(&chunk(b't', 4, 8, four_records(0)), &mut bytes).expect("is short");
        assert_eq!(verify(&bytes).leftovers.len(), usize::from(more > 0));
        let file = check("metadata", &bytes).expect("sound");
        assert_eq!(comment(&file.bytes), [("comment".to_string(), "hi".to_string())]);
        assert_eq!((comment(&file.bytes), file.lost.len()), (comment(&bytes), 0));
    }
}

#[test]
fn a_chunk_that_is_too_large_is_not_left_out() {
    let bytes = write(&[vec![7u8; 1000], vec![8; 10]], riegeli::WriterOptions::new().chunk_size(1));
    for option in ["max_decoded_chunk_size", "max_record_size", "max_chunk_size"] {
        let limit = if option == "max_chunk_size" { "5" } else { "500" };
        let error = repair(&bytes, &options(&[(option, limit)])).err().expect("too large");
        assert!(matches!(error, Error::Unsupported(_)) && error.to_string().contains(option), "{error}");
    }
    assert!(repair(&bytes, &options(&[("max_chunk_sise", "500")])).is_err(), "no such option");
}
