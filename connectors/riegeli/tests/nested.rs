//! Records that hold whole Riegeli files: block headers stand at places of the format's own, every 64 KiB, which no record
//! can take, so that ranges and recovery begin at chunks of the file and never inside of a record.

use recordfusion_core::Options;
use recordfusion_riegeli::position::BLOCK;
use recordfusion_riegeli::write::{ArrayRecordOptions, WriterOptions};

use crate::support::*;
use crate::writing::{write_array_record, write_file};

/// A file of many small chunks over some blocks.
fn inner() -> Vec<u8> {
    let records: Records =
        (0..3000u32).map(|at| format!("inner record {at}").into_bytes().repeat(4)).collect();
    let options: WriterOptions = "uncompressed,chunk_size:500".parse().expect("valid");
    write_file(&records, &options, None)
}

/// Records that are whole files, and files whose blocks begin where those of the outer file do, shifted by some bytes.
fn records() -> Records {
    let inner = inner();
    let shifted = |shift: usize| [vec![0; shift], inner.clone()].concat();
    let mut records: Records = (0..40).map(|at| format!("outer record {at}").into_bytes()).collect();
    for (at, shift) in [0, 1, 8, 24, 40, 64, 88, 128, BLOCK as usize - 64 - 40].into_iter().enumerate() {
        records.insert(4 * at, shifted(shift));
    }
    records
}

#[test]
fn files_in_records_are_no_rows() {
    let records = records();
    let plain: WriterOptions = "uncompressed,chunk_size:100K".parse().expect("valid");
    let grouped: ArrayRecordOptions = "group_size:3,uncompressed".parse().expect("valid");
    for bytes in [write_file(&records, &plain, None), write_array_record(&records, &grouped)] {
        let file = memory_file(&bytes);
        for options in [Options::new(), Options::new().with("on_corruption", "skip")] {
            for step in [4999, BLOCK, 3 * BLOCK - 7, 1 << 20] {
                let cuts: Vec<u64> = (0..file.size).step_by(step as usize).chain([file.size]).collect();
                let found = scan_parts(&file, &cuts, &options);
                assert!(found.error.is_none(), "{step}: {:?}", found.error);
                assert!(found.records == records && found.lost.is_empty(), "{step}");
            }
        }
    }
}

/// Damaged at some places: what survives are records of the file.
#[test]
fn recovery_begins_at_chunks_of_the_file() {
    let records = records();
    let plain: WriterOptions = "uncompressed,chunk_size:100K".parse().expect("valid");
    let bytes = write_file(&records, &plain, None);
    for at in (100..bytes.len()).step_by(39_989) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        let found = skip(&damaged);
        assert!(found.error.is_none(), "byte {at}: {:?}", found.error);
        assert!(found.records.iter().all(|record| records.contains(record)), "byte {at}");
        assert!(!found.lost.is_empty(), "byte {at}");
    }
}
