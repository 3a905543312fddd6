use proptest::prelude::*;

use super::*;
use crate::column_tree;
use crate::columns::Columns;
use crate::descriptor::testing::proto;
use crate::options::Mapping;
use crate::plan::{Compiled, Plan, Wanted, compile};
use crate::wire;
use recordfusion_core::Projection;

const SOURCE: &str = "
    syntax = 'proto3';
    enum E { A = 0; B = 1; }
    message Sub { string name = 1; sint32 delta = 2; bool flag = 3; repeated int64 longs = 4; }
    message M {
        int64 a = 1; string b = 2; fixed32 c = 3; repeated uint32 d = 4; Sub e = 5; repeated Sub f = 6;
        oneof one { int32 g = 7; string h = 8; }
        optional double i = 9; map<int32, string> j = 10; E k = 11; bytes l = 300; repeated string m = 70000;
    }";

/// Rows of a batch, enough for more than one group.
const ROWS: usize = GROUP + LEAST;

fn compiled() -> Compiled {
    let descriptors = proto(SOURCE);
    let mapping = Mapping::default();
    let message = descriptors.find("M").expect("M");
    let tree = column_tree::columns(&descriptors, message, &mapping, false).expect("columns");
    let shown = tree.iter().filter(|node| node.shown).count();
    let wanted = Wanted { projection: &Projection::all(shown), unknown: false };
    compile(&descriptors, &mapping, &tree, &wanted).expect("a plan")
}

/// Records one after the other, and as many bytes behind them as lockstep needs.
fn joined(records: &[Vec<u8>]) -> (Vec<u8>, Vec<(u32, u32)>) {
    let mut places = Vec::new();
    let mut end = 0;
    for record in records {
        places.push((end, end + record.len() as u32));
        end += record.len() as u32;
    }
    ([records.concat(), vec![0x08; MARGIN]].concat(), places)
}

/// How many of the records are decoded in lockstep, and what is in the columns.
fn in_lockstep(lockstep: &mut Lockstep, plan: &Plan, columns: &mut Columns, records: &[Vec<u8>]) -> usize {
    let (data, places) = joined(records);
    let mut walk = Walk { plan, columns, data: &data, mismatches: 0 };
    lockstep.decode(&mut walk, places.into_iter())
}

/// What is in the columns, or the fault of a record.
fn walked(plan: &Plan, columns: &mut Columns, records: &[Vec<u8>]) -> Option<String> {
    let (data, places) = joined(records);
    let mut walk = Walk { plan, columns, data: &data, mismatches: 0 };
    for (row, (begin, end)) in places.into_iter().enumerate() {
        walk.record(row, begin, end).ok()?;
    }
    Some(contents(columns))
}

/// What is in the columns, which are empty afterwards.
fn contents(columns: &mut Columns) -> String {
    let most = 8 * ROWS;
    let words: Vec<_> = columns.words.iter_mut().map(|column| column.take(most)).collect();
    let longs: Vec<_> = columns.longs.iter_mut().map(|column| column.take(most)).collect();
    let views: Vec<_> = columns.views.iter_mut().map(|column| column.take(most)).collect();
    let all_bits = |bitmap: &mut Bitmap| bitmap.take(most).iter().collect::<Vec<bool>>();
    let bits: Vec<_> = columns.bits.iter_mut().map(all_bits).collect();
    let validity: Vec<_> = columns.validity.iter_mut().map(all_bits).collect();
    let items: Vec<_> = columns.items.iter_mut().map(|items| items.take(most).expect("few items")).collect();
    columns.clear();
    format!("{words:?} {longs:?} {views:?} {bits:?} {validity:?} {items:?}")
}

/// All fields of a record as writers make it. Numbers of odd lengths, strings of all kinds of views.
fn fields(seed: u64) -> Vec<Vec<u8>> {
    let varint = |value: u64| wire::to_varint(value);
    let tag = |number: u32, wire_type: u32| varint(u64::from(wire::tag_of(number, wire_type)));
    let delimited =
        |number: u32, value: &[u8]| [tag(number, 2), varint(value.len() as u64), value.to_vec()].concat();
    let text = |len: u64| b"abcdefghijklmnopqrstuvwxyz".repeat(8)[..len as usize].to_vec();
    let sub = |seed: u64| {
        let name = delimited(1, &text(seed % 20));
        let delta = [tag(2, 0), varint(seed * 77)].concat();
        let longs = delimited(4, &[varint(seed), varint(u64::MAX - seed)].concat());
        [name, delta, [tag(3, 0), varint(seed % 2)].concat(), longs].concat()
    };
    let entry = [[tag(1, 0), varint(seed % 5)].concat(), delimited(2, &text(seed % 3))].concat();
    vec![
        [tag(1, 0), varint(u64::MAX >> (seed % 64))].concat(),
        delimited(2, &text(seed % 200)),
        [tag(3, 5), (seed as u32).to_le_bytes().to_vec()].concat(),
        delimited(4, &(0..seed % 4).flat_map(|index| varint(index << 9)).collect::<Vec<u8>>()),
        delimited(5, &sub(seed)),
        (0..seed % 3).flat_map(|index| delimited(6, &sub(index))).collect(),
        match seed % 3 {
            0 => [tag(7, 0), varint(seed)].concat(),
            1 => delimited(8, &text(seed % 13)),
            _ => Vec::new(),
        },
        [tag(9, 1), seed.to_le_bytes().to_vec()].concat(),
        delimited(10, &entry),
        [tag(11, 0), varint(seed % 4)].concat(),
        delimited(300, &text(seed % 17)),
        (0..seed % 4).flat_map(|len| delimited(70000, &text(5 * len))).collect(),
    ]
}

/// Records as writers make them; each leaves out some fields.
fn records() -> Vec<Vec<u8>> {
    let left_out = |seed: u64, index: usize| (seed >> (index % 7)) % 4 == 3;
    let record = |seed: u64| {
        let kept = fields(seed).into_iter().enumerate().filter(|(index, _)| !left_out(seed, *index));
        kept.flat_map(|(_, field)| field).collect()
    };
    (0..ROWS as u64).map(record).collect()
}

/// Whether records go in lockstep beside those that writers make, once it is known what there is in them; where they
/// do, they are decoded as otherwise.
fn fits(Compiled { plan, columns }: &mut Compiled, odd: Vec<u8>) -> bool {
    let mut lockstep = Lockstep::default();
    let mut records = records();
    records[LEAST] = odd;
    in_lockstep(&mut lockstep, plan, columns, &records);
    columns.clear();
    let rows = in_lockstep(&mut lockstep, plan, columns, &records);
    let found = contents(columns);
    let expected = walked(plan, columns, &records);
    match rows {
        0 => false,
        _ => {
            assert_eq!((rows, Some(found)), (ROWS, expected));
            true
        }
    }
}

#[test]
fn records_as_writers_make_them_go_in_lockstep() {
    let mut compiled = compiled();
    for seed in 0..70 {
        assert!(fits(&mut compiled, fields(seed).concat()), "{seed}");
        for left_out in 0..fields(seed).len() {
            let mut fields = fields(seed);
            fields.remove(left_out);
            assert!(fits(&mut compiled, fields.concat()), "{seed} without {left_out}");
        }
    }
    assert!(fits(&mut compiled, Vec::new()));
}

#[test]
fn what_is_out_of_the_ordinary_is_walked() {
    let mut compiled = compiled();
    let fields = fields(7);
    let all = || fields.concat();
    let with = |more: &[u8]| [all(), more.to_vec()].concat();
    let wide_tag = [&[0x88, 0x80, 0x00], &fields[0][1..]].concat();
    let cases = [
        ("another order", [fields[1].clone(), fields[0].clone()].concat()),
        ("a single field twice", with(&fields[0])),
        (
            "numbers that are not packed where others are",
            [&fields[0][..], &[0x20, 0x05, 0x20, 0x06]].concat(),
        ),
        ("a submessage in parts", [fields[4].clone(), fields[4].clone()].concat()),
        ("two members of a oneof", [&[0x38, 0x01, 0x42, 0x00][..], &fields[7]].concat()),
        ("the end of a group", with(&[0x0c])),
        ("no tag", with(&[0xff; 6])),
        ("a string beyond the end", [0x12, 0x7f].to_vec()),
        ("a long string beyond the end", [0x12, 0xff, 0xff, 0xff, 0xff, 0x0f].to_vec()),
        ("a tag longer than it needs to be", wide_tag),
        ("a varint of eleven bytes", [&[0x08][..], &[0xff; 11]].concat()),
    ];
    for (name, record) in cases {
        assert!(!fits(&mut compiled, record), "{name}");
    }
}

#[test]
fn what_is_unknown_or_of_another_type_goes_along() {
    let mut compiled = compiled();
    let fields = fields(7);
    let cases = [
        ("an unknown field", [fields.concat(), wire::to_varint(70001 << 3), vec![1]].concat()),
        ("an unknown group", [&fields[0][..], &[0x63, 0x08, 0x01, 0x64]].concat()),
        ("a single field twice on end", [fields[0].clone(), fields.concat()].concat()),
        ("a number longer than it needs to be", vec![0x08, 0x81, 0x80, 0x80, 0x00]),
        ("an entry twice", [&fields[8][..], &fields[8]].concat()),
    ];
    for (name, record) in cases {
        assert!(fits(&mut compiled, record), "{name}");
    }
}

#[test]
fn numbers_that_are_never_packed_go_in_lockstep() {
    let Compiled { plan, mut columns } = compiled();
    let record = |row: usize| [&[0x08, 0x01][..], &[0x20, row as u8 & 0x7f].repeat(row % 3)].concat();
    let records: Vec<Vec<u8>> = (0..ROWS).map(record).collect();
    assert_eq!(in_lockstep(&mut Lockstep::default(), &plan, &mut columns, &records), ROWS);
    let found = contents(&mut columns);
    assert_eq!(Some(found), walked(&plan, &mut columns, &records));
}

#[test]
fn records_near_the_end_of_the_data_are_left() {
    let Compiled { plan, mut columns } = compiled();
    let records = records();
    let (data, places) = joined(&records);
    let end = data.len() - MARGIN;
    let mut walk = Walk { plan: &plan, columns: &mut columns, data: &data[..end], mismatches: 0 };
    let rows = Lockstep::default().decode(&mut walk, places.iter().copied());
    assert_eq!(rows, places.iter().filter(|(_, at)| *at as usize + MARGIN <= end).count());
    assert!(0 < rows && rows < ROWS);
}

#[test]
fn it_is_tried_less_often_where_it_fails() {
    let Compiled { plan, mut columns } = compiled();
    let mut lockstep = Lockstep::default();
    let fields = fields(7);
    let odd = vec![[fields[1].clone(), fields[0].clone(), fields[1].clone()].concat(); ROWS];
    for _ in 0..10 {
        assert_eq!(in_lockstep(&mut lockstep, &plan, &mut columns, &odd), 0);
    }
    let usual = records();
    let rows: Vec<usize> = (0..40).map(|_| in_lockstep(&mut lockstep, &plan, &mut columns, &usual)).collect();
    assert_eq!(rows.first(), Some(&0), "a pause");
    assert_eq!(rows.last(), Some(&ROWS), "it ends");
}

#[test]
fn fields_that_are_mostly_left_out_are_not_asked_for() {
    let Compiled { plan, mut columns } = compiled();
    let fields = fields(5);
    let one: Vec<Vec<u8>> = (0..ROWS).map(|row| fields[row % fields.len()].clone()).collect();
    assert_eq!(in_lockstep(&mut Lockstep::default(), &plan, &mut columns, &one), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cut_and_damaged_records_are_decoded_as_otherwise_or_walked(
        seed in 0..200u64,
        cut in any::<prop::sample::Index>(),
        damage in proptest::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let mut record = fields(seed).concat();
        if let Some((at, byte)) = damage {
            let at = at.index(record.len());
            record[at] = byte;
        } else {
            record.truncate(cut.index(record.len()));
        }
        fits(&mut compiled(), record);
    }
}
