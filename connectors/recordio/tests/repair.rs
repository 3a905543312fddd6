//! Repaired files: the chunks that survive, and nothing else.

use std::sync::Arc;

use futures::TryStreamExt;
use futures::executor::block_on;
use recordfusion_core::{Error, LostRegion, Options, Repairing, Result, ScanCounters, Verifying};
use recordfusion_recordio::RecordioConnector;

use crate::support::*;

/// The repaired file, and what was lost.
fn repair(bytes: &[u8], options: &Options) -> Result<(Vec<u8>, Vec<LostRegion>)> {
    let counters = Arc::new(ScanCounters::default());
    let pieces = RecordioConnector::default().repair(&memory_file(bytes), options, Arc::clone(&counters));
    let pieces: Vec<_> = block_on(pieces.try_collect())?;
    let lost = counters.lost_regions.all().into_iter().map(|(_, region)| region).collect();
    Ok((pieces.concat(), lost))
}

#[test]
fn repaired_files_have_the_survivors_and_verify_clean() {
    for fixture in fixtures() {
        let bytes = fixture.bytes();
        let found = read(&bytes, &skip());
        let (repaired, lost) = match repair(&bytes, &Options::new()) {
            Ok(repaired) => repaired,
            Err(error) => {
                assert!(matches!(error, Error::WrongFormat { .. }), "{}: {error}", fixture.name);
                assert!(found.records.is_empty(), "{}", fixture.name);
                continue;
            }
        };
        assert_eq!(lost, found.lost, "{}", fixture.name);
        let again = read(&repaired, &Options::new());
        assert!(again.error.is_none() && again.records == found.records, "{}", fixture.name);
        let verification =
            block_on(RecordioConnector::default().verify(&memory_file(&repaired), &Options::new()))
                .expect("sound");
        assert!(verification.faults.is_empty(), "{}", fixture.name);
        if fixture.is_valid() {
            assert!(repaired == bytes, "{}", fixture.name);
        }
    }
}

#[test]
fn a_chunk_that_is_too_large_is_not_left_out() {
    let bytes = write(&[vec![7u8; 1000], vec![8; 10]], &options(&[("max_chunk_bytes", "0")]));
    for option in ["max_decoded_chunk_size", "max_record_size"] {
        let error = repair(&bytes, &options(&[(option, "500")])).expect_err("too large");
        assert!(matches!(error, Error::Unsupported(_)) && error.to_string().contains(option), "{error}");
    }
    assert!(repair(&bytes, &options(&[("max_chunk_sise", "500")])).is_err(), "no such option");
}
