//! Damage passed over in ranges: the same records and the same lost regions whatever the ranges are.

use proptest::prelude::*;
use recordfusion_core::RecordFile;

use crate::support::*;

const BLOCK: usize = 65_536;

/// Reads the ranges between the cuts, and compares them with one pass.
fn check_cuts(name: &str, file: &RecordFile, whole: &Found, cuts: &[u64]) {
    let found = scan_parts(file, cuts, &options(&[("on_corruption", "skip")]));
    assert!(found.error.is_none(), "{name} {cuts:?}: {:?}", found.error);
    assert_eq!(found.lost, whole.lost, "{name} {cuts:?}");
    assert!(found.records == whole.records, "{name} {cuts:?}");
}

/// Every second multiple of a number of bytes, and the places around block boundaries.
fn some_cuts(size: u64) -> Vec<Vec<u64>> {
    let mut all: Vec<Vec<u64>> =
        [2, 3, 7].map(|parts| (0..=parts).map(|at| at * size / parts).collect()).into();
    for block in 1..=size / BLOCK as u64 {
        for at in [0, 1, 24, 25, 63, 64] {
            all.push(vec![0, (block * BLOCK as u64 + at).min(size), size]);
        }
    }
    all.push((0..size).step_by(997).chain([size]).collect());
    all
}

#[test]
fn damaged_fixtures_are_the_same_in_ranges() {
    for case in json("riegeli/expected/damage.json").as_array().expect("a list") {
        let name = case["file"].as_str().expect("a text");
        let bytes = fixture(&format!("riegeli/{name}"));
        let (file, whole) = (memory_file(&bytes), skip(&bytes));
        let regions = case["recovery"]["skipped"].as_array().expect("a list").iter();
        let edges = regions.flat_map(|region| [&region["begin"], &region["end"]]);
        let edges = edges.map(|edge| edge.as_u64().expect("a number"));
        let around = edges.flat_map(|edge| [edge.saturating_sub(1), edge, (edge + 1).min(file.size)]);
        let around: Vec<Vec<u64>> = around.map(|cut| vec![0, cut, file.size]).collect();
        for cuts in some_cuts(file.size).into_iter().chain(around) {
            check_cuts(name, &file, &whole, &cuts);
        }
    }
}

/// Something that happens to a file of blocks.
#[derive(Debug, Clone)]
enum Damage {
    Flip { at: f64 },
    FlipHeader { block: f64, at: usize },
    Zeros { at: f64, len: usize },
    Swap { one: f64, other: f64 },
    Double { block: f64 },
    Drop { block: f64 },
    Insert { at: f64, len: usize },
    Cut { at: f64 },
}

fn damage() -> impl Strategy<Value = Damage> {
    let part = || 0.0..1.0f64;
    prop_oneof![
        part().prop_map(|at| Damage::Flip { at }),
        (part(), 0..64usize).prop_map(|(block, at)| Damage::FlipHeader { block, at }),
        (part(), 1..100_000usize).prop_map(|(at, len)| Damage::Zeros { at, len }),
        (part(), part()).prop_map(|(one, other)| Damage::Swap { one, other }),
        part().prop_map(|block| Damage::Double { block }),
        part().prop_map(|block| Damage::Drop { block }),
        (part(), 1..100usize).prop_map(|(at, len)| Damage::Insert { at, len }),
        part().prop_map(|at| Damage::Cut { at }),
    ]
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let place = |part: f64| (part * bytes.len() as f64) as usize;
        let block = |part: f64| place(part) / BLOCK * BLOCK;
        let block_of = |part: f64| block(part)..(block(part) + BLOCK).min(bytes.len());
        match *self {
            _ if bytes.is_empty() => {}
            Self::Flip { at } => {
                let at = place(at);
                bytes[at] ^= 0x10;
            }
            Self::FlipHeader { block: part, at } => {
                let at = (block(part) + at).min(bytes.len() - 1);
                bytes[at] ^= 1;
            }
            Self::Zeros { at, len } => {
                let (begin, end) = (place(at), (place(at) + len).min(bytes.len()));
                bytes[begin..end].fill(0);
            }
            Self::Swap { one, other } => {
                let (one, other) = (block(one).min(block(other)), block(one).max(block(other)));
                if one < other && other + BLOCK <= bytes.len() {
                    let (head, tail) = bytes.split_at_mut(other);
                    head[one..one + BLOCK].swap_with_slice(&mut tail[..BLOCK]);
                }
            }
            Self::Double { block: part } => {
                let (begin, copy) = (block(part), bytes[block_of(part)].to_vec());
                bytes.splice(begin..begin, copy);
            }
            Self::Drop { block: part } => {
                let range = block_of(part);
                bytes.drain(range);
            }
            Self::Insert { at, len } => {
                let at = place(at);
                bytes.splice(at..at, vec![0x55; len]);
            }
            Self::Cut { at } => bytes.truncate(place(at)),
        }
    }
}

/// A file of chunks of a few bytes up to several blocks, and padding that blocks begin in.
fn file(lens: &[usize], chunk_size: u64, transpose: bool) -> (Vec<u8>, Records) {
    let record = |(at, len): (usize, &usize)| {
        let mut state = at as u32;
        let mut record = vec![0; *len];
        record.fill_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        record
    };
    let records: Records = lens.iter().enumerate().map(record).collect();
    let options = riegeli::WriterOptions::new()
        .compression(riegeli::CompressionType::None)
        .transpose(transpose)
        .chunk_size(chunk_size);
    (write(&records, options), records)
}

/// Whether `part` are some of `whole`, in order.
fn is_part(part: &[Vec<u8>], whole: &[Vec<u8>]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|record| rest.any(|other| other == record))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn damage_of_any_kind_is_the_same_in_any_ranges(
        lens in prop::collection::vec(
            prop_oneof![4 => 0..3000usize, 2 => 3000..40_000usize, 1 => 60_000..200_000usize], 1..40),
        empty in prop_oneof![3 => Just(0usize), 1 => 100_000..200_000usize],
        chunk_size in prop_oneof![Just(1u64), Just(8000), Just(100_000), Just(4_000_000)],
        transpose in any::<bool>(),
        damages in prop::collection::vec(damage(), 1..5),
        mut cuts in prop::collection::vec((0.0..1.0f64, prop_oneof![Just(0u64), Just(1), Just(20), 0..65_536u64]), 1..10),
    ) {
        let mut lens = lens;
        lens.extend(vec![0; empty]);
        let (mut bytes, records) = file(&lens, chunk_size, transpose);
        let mut moved = false;
        for damage in &damages {
            moved |= matches!(damage, Damage::Swap { .. } | Damage::Double { .. });
            damage.apply(&mut bytes);
        }
        let file = memory_file(&bytes);
        let whole = skip(&bytes);
        prop_assert!(whole.error.is_none(), "{:?}", whole.error);
        if moved {
            prop_assert!(whole.records.iter().all(|record| records.contains(record)));
        } else {
            prop_assert!(is_part(&whole.records, &records));
        }
        cuts.sort_by(|one, other| one.0.total_cmp(&other.0));
        let place = |part: f64, behind: u64| {
            let block = (part * file.size as f64) as u64 / BLOCK as u64 * BLOCK as u64;
            (block + behind).min(file.size)
        };
        let mut cuts: Vec<u64> = cuts.into_iter().map(|(part, behind)| place(part, behind)).collect();
        cuts.extend([0, file.size]);
        cuts.sort_unstable();
        check_cuts("damaged", &file, &whole, &cuts);
    }
}
