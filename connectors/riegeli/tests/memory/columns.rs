//! The memory that the columns of hostile files take: at most `2·(512 MiB + 16·D)` besides that of the records, where no
//! record needs more alone: one of `b` bytes, in which there are items of lists with `w` columns, may take `8·b·w` once
//! for itself.

use std::sync::Once;

use super::*;

/// Columns of a wide message.
const WIDTH: usize = 2000;
/// Columns of an item.
const ITEM_WIDTH: usize = 200;
/// What columns may take.
const COLUMNS: usize = 2 * (512 * MIB + 16 * MOST_DECODED);

/// The options of a table whose records are of a message type in a .proto source of all types of these tests.
fn of_type(name: &str) -> Options {
    const PATH: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/hostile.proto");
    static WRITTEN: Once = Once::new();
    WRITTEN.call_once(|| {
        let fields =
            |count: usize| (1..=count).map(|at| format!("int64 f{at} = {at};")).collect::<Vec<_>>().concat();
        let source = format!(
            "syntax = 'proto3';
             message Wide {{ {} }} message Item {{ {} }}
             message Items {{ repeated Item items = 1; }}
             message Numbers {{ repeated int64 numbers = 1; repeated string texts = 2; }}
             message Deep {{ Deep deep = 1; repeated Deep list = 2; int32 number = 3; }}",
            fields(WIDTH),
            fields(ITEM_WIDTH)
        );
        std::fs::write(PATH, source).expect("the folder is there");
    });
    Options::new().with("proto", PATH).with("message_type", name)
}

/// Records of a simple chunk.
fn simple_chunk(records: &[Vec<u8>]) -> Claims {
    let sizes = numbers(&records.iter().map(|record| record.len() as u64).collect::<Vec<_>>());
    let values = records.concat();
    let data = simple(b'z', &zstd_block(&sizes), &zstd_block(&values));
    (b'r', records.len() as u64, values.len() as u64, data)
}

/// A walk through a table of nodes that have no buffers: records, and the bytes of them all.
struct Machine<'a> {
    records: u64,
    size: u64,
    codes: &'a [u64],
    next: &'a [u64],
    subtypes: &'a [u8],
    transitions: &'a [u8],
}

impl Machine<'_> {
    fn chunk(&self) -> Claims {
        let count = self.codes.len() as u64;
        let header = [numbers(&[0, 0, count]), numbers(self.codes), numbers(self.next)].concat();
        let header = [&header, self.subtypes, &[0]].concat();
        (b't', self.records, self.size, transposed(&header, b"", self.transitions))
    }
}

/// `count` times a transition to the base.
fn repeated(count: usize) -> Vec<u8> {
    let rest = match count % 4 {
        0 => None,
        rest => Some(rest as u8 - 1),
    };
    std::iter::repeat_n(3, count / 4).chain(rest).collect()
}

#[test]
fn many_empty_records_of_a_wide_type() {
    let _alone = alone();
    let rows = MOST_DECODED / 64;
    let simple = simple_chunk(&vec![vec![]; rows]);
    let transitions = repeated(rows - 1);
    let machine = Machine {
        records: rows as u64,
        size: 0,
        codes: &[3],
        next: &[0],
        subtypes: &[],
        transitions: &transitions,
    };
    for (layout, chunk) in [("simple", simple), ("transposed", machine.chunk())] {
        assert_eq!(check(layout, &[chunk], &of_type("Wide"), COLUMNS), rows, "{layout}");
    }
}

#[test]
fn records_of_many_items_of_a_wide_type() {
    let _alone = alone();
    const ITEMS: usize = 30_000;
    let records = MOST_DECODED / (8 * ITEMS);
    let simple = simple_chunk(&vec![[0x0a, 0].repeat(ITEMS); records]);
    // End and begin of an item; an offset of 2 leads from there to the begin of the record.
    let record = [repeated(ITEMS - 1), vec![8]].concat();
    let transitions = [record.clone(), [&[0], &record[..]].concat().repeat(records - 1)].concat();
    let machine = Machine {
        records: records as u64,
        size: (2 * ITEMS * records) as u64,
        codes: &[0x0e, 2, 3],
        next: &[4, 0, 0],
        subtypes: &[],
        transitions: &transitions,
    };
    for (layout, chunk) in [("simple", simple), ("transposed", machine.chunk())] {
        assert_eq!(check(layout, &[chunk], &of_type("Items"), COLUMNS), records, "{layout}");
    }
}

#[test]
fn records_of_many_small_values() {
    let _alone = alone();
    let size = MOST_DECODED - 100;
    let packed = [&[0x0a][..], &varint(size as u64), &vec![1; size]].concat();
    let simple = |record: Vec<u8>| simple_chunk(&[record]);
    let transitions = [repeated(size / 2 - 1), vec![4]].concat();
    let machine = Machine {
        records: 1,
        size: size as u64,
        codes: &[8, 3],
        next: &[0, 0],
        subtypes: &[11],
        transitions: &transitions,
    };
    let cases = [
        ("packed", simple(packed)),
        ("numbers", simple([8, 1].repeat(size / 2))),
        ("texts", simple([0x12, 0].repeat(size / 2))),
        ("numbers of a machine", machine.chunk()),
    ];
    for (name, chunk) in cases {
        assert_eq!(check(name, &[chunk], &of_type("Numbers"), COLUMNS), 1, "{name}");
    }
}

#[test]
fn deep_records() {
    let _alone = alone();
    let nested = |depth: usize| {
        (0..depth).fold(Vec::new(), |inner, _| [&[0x12][..], &varint(inner.len() as u64), &inner].concat())
    };
    let deep: Vec<_> = (0..20_000).map(|_| nested(99)).collect();
    check("deep records", &[simple_chunk(&deep)], &of_type("Deep"), COLUMNS);
    let flood = repeated(1 << 20);
    let machine =
        Machine { records: 1, size: 1 << 22, codes: &[0x16], next: &[0], subtypes: &[], transitions: &flood };
    assert_eq!(check("a flood of ends", &[machine.chunk()], &of_type("Deep"), COLUMNS), 0);
}

#[test]
fn forged_claims() {
    let _alone = alone();
    for (name, chunks) in hostile_files() {
        check(name, &chunks, &of_type("Numbers").with("on_bad_record", "null"), COLUMNS);
    }
    let many = MOST_DECODED as u64 / 8;
    let machine =
        Machine { records: many, size: 0, codes: &[3], next: &[0], subtypes: &[], transitions: &repeated(9) };
    let (_, _, _, data) = simple_chunk(&vec![vec![]; 10]);
    for chunk in [machine.chunk(), (b'r', many, 0, data)] {
        assert_eq!(check("more records than there are", &[chunk], &of_type("Wide"), COLUMNS), 0);
    }
}
