//! Records that hold bytes of RecordIO files: each record of the file once, or an error that says how to read it, and
//! never a row out of the inside of a record.

use futures::executor::block_on;
use proptest::prelude::*;
use recordfusion_core::{Error, Options, Verifying};
use recordfusion_recordio::RecordioConnector;

use crate::support::*;

/// A chunk for each record, as they are.
fn plain(records: &[Vec<u8>]) -> Vec<u8> {
    write(records, &options(&[("compressor", "none"), ("max_chunk_bytes", "0")]))
}

/// One chunk of all the records.
fn one_chunk(records: &[Vec<u8>]) -> Vec<u8> {
    write(records, &options(&[("compressor", "none")]))
}

/// A small chunk, so that the file seems to have many, one whose records are whole chunks, and a small one.
fn chunks_in_records(inner: usize) -> (Vec<u8>, Records) {
    let inner: Records = (0..inner).map(|at| plain(&[format!("inner record {at}").into_bytes()])).collect();
    let bytes = [plain(&[b"first".to_vec()]), one_chunk(&inner), plain(&[b"last".to_vec()])].concat();
    let records = [vec![b"first".to_vec()], inner, vec![b"last".to_vec()]].concat();
    (bytes, records)
}

fn is_not_splittable(error: Option<&Error>) -> bool {
    matches!(error, Some(Error::NotSplittable { .. }))
}

/// All ways to read: with damage as an error, and passed over.
fn policies() -> [Options; 2] {
    [Options::new(), skip()]
}

#[test]
fn chunks_in_records_are_no_rows() {
    let (bytes, records) = chunks_in_records(6000);
    let file = memory_file(&bytes);
    for policy in policies() {
        let whole = read_range(&file, 0..file.size, &policy);
        assert!(whole.error.is_none() && whole.records == records && whole.lost.is_empty());
        for parts in [2u64, 3, 16] {
            let cuts: Vec<u64> = (0..=parts).map(|at| at * file.size / parts).collect();
            let found = read_parts(&file, &cuts, &policy);
            let error = found.error.expect("parts cannot be told");
            assert!(is_not_splittable(Some(&error)), "{error}");
            assert!(error.to_string().contains("may be sound"), "{error}");
            // Whichever part fails first.
            for pair in cuts.windows(2) {
                if let Some(error) = read_range(&file, pair[0]..pair[1], &policy).error {
                    assert!(error.to_string().contains("split = 'never'"), "{error}");
                }
            }
            for split in ["never", "walk"] {
                let options = policy.clone().with("split", split);
                let found = read_parts(&file, &cuts, &options);
                assert!(found.error.is_none(), "{split} {parts}: {:?}", found.error);
                assert!(found.records == records && found.lost.is_empty(), "{split} {parts}");
                for trust in ["true", "false"] {
                    let options = options.clone().with("trust_headers", trust);
                    let rows =
                        cuts.windows(2).map(|cut| count(&file, cut[0]..cut[1], &options).expect("sound"));
                    assert_eq!(rows.sum::<usize>(), records.len(), "{split} {parts} {trust}");
                }
            }
            let failed = cuts
                .windows(2)
                .any(|cut| is_not_splittable(count(&file, cut[0]..cut[1], &policy).err().as_ref()));
            assert!(failed, "a count knows no more");
        }
    }
    let verification = block_on(RecordioConnector::default().verify(&file, &Options::new())).expect("sound");
    assert_eq!((verification.records, verification.faults.len()), (records.len() as u64, 0));
}

/// A query with a limit may end before the part that would notice: its parts begin where the headers say.
#[test]
fn rows_within_a_limit_are_rows_of_the_file() {
    let (bytes, records) = chunks_in_records(6000);
    let file = memory_file(&bytes);
    for policy in policies() {
        let table = open(&file, &policy).expect("good options");
        for begin in (0..file.size).step_by(9973) {
            let mut wanted = request(&file, begin..file.size, 1);
            wanted.limit = Some(10);
            let (batches, error) = scan(table.as_ref(), wanted);
            assert!(error.is_none(), "{error:?}");
            assert!(values(&batches).iter().all(|record| records.contains(record)), "from {begin}");
        }
    }
}

/// A chunk with the right checksum that cannot be decoded: its count, which nothing guards, is one too low.
#[test]
fn records_of_a_chunk_that_cannot_be_decoded_are_no_rows() {
    let (mut bytes, _) = chunks_in_records(5000);
    let outer = plain(&[b"first".to_vec()]).len();
    bytes[outer + 16..outer + 20].copy_from_slice(&4999u32.to_le_bytes());
    let file = memory_file(&bytes);
    let whole = read_range(&file, 0..file.size, &skip());
    assert_eq!(whole.records, [b"first".to_vec(), b"last".to_vec()]);
    for parts in [2u64, 4, 7] {
        let cuts: Vec<u64> = (0..=parts).map(|at| at * file.size / parts).collect();
        assert!(is_not_splittable(read_parts(&file, &cuts, &skip()).error.as_ref()), "{parts}");
        let found = read_parts(&file, &cuts, &skip().with("split", "never"));
        assert!(found.error.is_none() && found.records == whole.records && found.lost == whole.lost);
    }
}

/// A chunk that a limit forbids is passed over as a whole.
#[test]
fn records_of_a_chunk_that_is_too_large_are_no_rows() {
    let (bytes, _) = chunks_in_records(100);
    let (first, last) = (plain(&[b"first".to_vec()]), plain(&[b"last".to_vec()]));
    let (begin, end) = (first.len() as u64, (bytes.len() - last.len()) as u64);
    let doubled = [&bytes[..end as usize], &bytes[begin as usize..]].concat();
    for (bytes, end) in [(bytes, end), (doubled, 2 * end - begin)] {
        let file = memory_file(&bytes);
        for limit in ["1000", "40"] {
            let options = skip().with("max_chunk_size", limit);
            let whole = read_range(&file, 0..file.size, &options);
            assert_eq!(whole.records, [b"first".to_vec(), b"last".to_vec()], "{limit}");
            assert_eq!(whole.lost_ranges(), [(begin, end)], "{limit}");
            for cut in (0..file.size).step_by(7) {
                let found = read_parts(&file, &[0, cut, file.size], &options);
                let failed = is_not_splittable(found.error.as_ref());
                assert!(failed || found.records == whole.records, "{limit}, cut at {cut}: {:?}", found.error);
            }
        }
    }
}

/// Two sound files that are equal from some place on and have other chunks behind it.
#[test]
fn twins_are_told_apart_or_refused() {
    let tail: Records = (0..40).map(|at| format!("record {at}").into_bytes()).collect();
    let tail = plain(&tail);
    let many = plain(&vec![b"x".to_vec(); 5000]);
    let begin = [many.clone(), plain(&[vec![0; 100]])].concat();
    let one = [begin.clone(), tail.clone()].concat();
    let other = [many, one_chunk(&[[vec![0; 100 + 28], tail.clone()].concat()])].concat();
    assert_eq!(one[one.len() - tail.len()..], other[other.len() - tail.len()..]);
    for bytes in [one, other] {
        let file = memory_file(&bytes);
        for policy in policies() {
            let whole = read_range(&file, 0..file.size, &policy);
            assert!(whole.error.is_none());
            for cut in (file.size - tail.len() as u64 - 60..file.size).step_by(67) {
                let found = read_parts(&file, &[0, cut, file.size], &policy);
                let failed = is_not_splittable(found.error.as_ref());
                assert!(failed || found.error.is_none(), "cut at {cut}: {:?}", found.error);
                assert!(failed || found.records == whole.records, "cut at {cut}");
            }
        }
    }
}

/// Headers that claim much, one behind another: a search gives up with an error, reading in one piece does not.
#[test]
fn a_search_has_a_budget() {
    let claim = |bytes: u32| {
        let mut header = vec![4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        header.extend(bytes.to_le_bytes());
        header.extend([1, 0, 0, 0]);
        header
    };
    let record = claim(400_000).repeat(40_000);
    let records = [vec![b"x".to_vec(); 5000], vec![record, b"last".to_vec()]].concat();
    let bytes = plain(&records);
    let file = memory_file(&bytes);
    let cuts = [0, file.size - 600_000, file.size];
    for policy in policies() {
        let policy = policy.with("max_chunk_size", "1M");
        let found = read_parts(&file, &cuts, &policy);
        assert!(is_not_splittable(found.error.as_ref()), "{:?}", found.error);
        let found = read_parts(&file, &cuts, &policy.with("split", "never"));
        assert!(found.error.is_none() && found.records == records);
    }
}

fn record() -> impl Strategy<Value = Vec<u8>> {
    let plain_record = prop::collection::vec(any::<u8>(), 0..40);
    let file = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 1..5)
        .prop_map(|records| plain(&records));
    let cut_file = (file.clone(), 0.0..1.0, 0usize..8).prop_map(|(file, part, shift)| {
        [vec![7; shift], file[..(file.len() as f64 * part) as usize].to_vec()].concat()
    });
    prop_oneof![2 => plain_record, 1 => file, 1 => cut_file]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whole and cut files in records at any alignment, in files of many and of few chunks, damaged or not, cut
    /// anywhere: what one reader finds that goes through the whole file, or an error.
    #[test]
    fn parts_give_what_one_reader_gives_or_fail(
        records in prop::collection::vec(record(), 1..12),
        is_far in any::<bool>(),
        damage in prop::option::of((0.0..1.0, 1u8..)),
        cuts in prop::collection::vec(0.0..1.0, 1..5),
    ) {
        let before = if is_far { plain(&vec![Vec::new(); 4200]) } else { Vec::new() };
        let begin = before.len();
        let mut bytes = [before, plain(&records[..records.len() / 2]), one_chunk(&records)].concat();
        if let Some((at, flip)) = damage {
            let at = begin + ((bytes.len() - begin) as f64 * at) as usize;
            bytes[at] ^= flip;
        }
        let file = memory_file(&bytes);
        let place = |part: &f64| begin as u64 + (part * (bytes.len() - begin) as f64) as u64;
        let mut cuts: Vec<u64> = [0].into_iter().chain(cuts.iter().map(place)).chain([file.size]).collect();
        cuts.sort_unstable();
        for policy in policies() {
            let whole = read_range(&file, 0..file.size, &policy);
            let found = read_parts(&file, &cuts, &policy);
            let is_damaged = whole.error.is_some();
            let failed = found.error.is_some();
            prop_assert!(!is_damaged || failed, "damage is found by one of the parts");
            prop_assert!(is_damaged || !failed || is_not_splittable(found.error.as_ref()), "{:?}", found.error);
            if !failed {
                prop_assert_eq!(&found.records, &whole.records);
                prop_assert_eq!(&found.lost, &whole.lost);
            }
            let never = read_parts(&file, &cuts, &policy.clone().with("split", "never"));
            prop_assert_eq!(&never.records, &whole.records);
            if damage.is_none() {
                let walk = read_parts(&file, &cuts, &policy.clone().with("split", "walk"));
                prop_assert!(walk.error.is_none());
                prop_assert_eq!(&walk.records, &whole.records);
            }
        }
    }
}
