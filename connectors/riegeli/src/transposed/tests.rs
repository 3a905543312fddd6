use super::*;
use proptest::prelude::*;

/// What stands for bytes of no field here.
const LEFTOVERS: ChunkFault = ChunkFault::Trailing("the values of all fields");

fn decode(data: &[u8], num_records: u64, decoded_data_size: u64) -> Result<Vec<Vec<u8>>, ChunkFault> {
    let header = ChunkHeader { data_size: 0, data_hash: 0, chunk_type: b't', num_records, decoded_data_size };
    let mut decoder = TransposedDecoder::default();
    let block = decoder.decode(&header, 64, data, &mut Decompressor::default())?;
    if decoder.has_leftovers {
        return Err(LEFTOVERS);
    }
    Ok(block.records().map(<[u8]>::to_vec).collect())
}

/// An uncompressed chunk in the terms of its header.
#[derive(Debug, Clone, Default)]
struct Table<'a> {
    buckets: &'a [&'a [u8]],
    buffers: &'a [u8],
    codes: &'a [u8],
    next: &'a [u8],
    subtypes: &'a [u8],
    indices: &'a [u8],
    first: u8,
    transitions: &'a [u8],
}

impl Table<'_> {
    fn encode(&self) -> Vec<u8> {
        let sizes: Vec<u8> = self.buckets.iter().map(|bucket| bucket.len() as u8).collect();
        let header = [
            &[self.buckets.len() as u8, self.buffers.len() as u8],
            &sizes[..],
            self.buffers,
            &[self.codes.len() as u8],
            self.codes,
            self.next,
            self.subtypes,
            self.indices,
            &[self.first],
        ]
        .concat();
        [&[0, header.len() as u8], &header[..], &self.buckets.concat(), self.transitions].concat()
    }
}

const EXAMPLE: [u8; 50] = [
    0x00, 0x24, 0x04, 0x05, 0x03, 0x06, 0x01, 0x01, 0x01, 0x02, 0x06, 0x01, 0x01, 0x08, 0x08, 0x08, 0x08,
    0x02, 0x1e, 0x03, 0x12, 0x01, 0x0d, 0x0d, 0x0b, 0x0e, 0x0a, 0x06, 0x00, 0x0c, 0x0b, 0x01, 0x00, 0x01,
    0x00, 0x02, 0x03, 0x07, 0x05, 0x2c, 0x02, 0x02, 0x6e, 0x6f, 0x02, 0x6f, 0x6b, 0xff, 0x01, 0x06,
];

#[test]
fn the_worked_example_decodes() {
    let records: [&[u8]; 3] = [
        &[0x08, 0x01, 0x12, 0x02, 0x6f, 0x6b],
        &[0x08, 0xac, 0x02, 0x12, 0x02, 0x6e, 0x6f, 0x1a, 0x02, 0x08, 0x05],
        &[0xff],
    ];
    assert_eq!(decode(&EXAMPLE, 3, 18), Ok(records.map(<[u8]>::to_vec).to_vec()));
}

#[test]
fn the_smallest_chunks_decode() {
    assert_eq!(decode(&[0, 6, 0, 0, 1, 3, 0, 0], 1, 0), Ok(vec![vec![]]));
    assert_eq!(decode(&[0, 6, 0, 0, 1, 0, 0, 0], 0, 0), Ok(vec![]));
    let four = [0, 12, 1, 1, 4, 4, 2, 8, 3, 3, 0, 0, 0, 0, 8, 7, 6, 5, 2];
    assert_eq!(decode(&four, 4, 8), Ok([5, 6, 7, 8].map(|value| vec![8, value]).to_vec()));
}

#[test]
fn wrong_claims_of_the_chunk_header_are_faults() {
    for (num_records, size) in [(2, 18), (4, 18), (3, 17), (3, 19), (0, 0), (3, 0), (0, 18)] {
        assert!(decode(&EXAMPLE, num_records, size).is_err(), "{num_records} {size}");
    }
    assert!(matches!(decode(&EXAMPLE, 3, 1 << 29), Err(ChunkFault::TooLarge { .. })));
}

#[test]
fn every_prefix_of_a_chunk_is_a_fault() {
    for len in 0..EXAMPLE.len() {
        assert!(decode(&EXAMPLE[..len], 3, 18).is_err(), "length {len}");
    }
}

#[test]
fn a_flipped_byte_gives_a_fault_or_records_of_the_right_number_and_size() {
    for at in 0..EXAMPLE.len() {
        for flip in 1..=255 {
            let mut data = EXAMPLE;
            data[at] ^= flip;
            if let Ok(records) = decode(&data, 3, 18) {
                assert_eq!((records.len(), records.concat().len()), (3, 18), "byte {at} ^ {flip:02x}");
            }
        }
    }
}

#[test]
fn every_kind_of_value_is_put_back_together() {
    // Walking backwards: one record of a group with a fixed32, a 10-byte varint, a fixed64 and a long string.
    let varint = [0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x01];
    let long = [&[40][..], &[b'x'; 40]].concat();
    let table = Table {
        buckets: &[&varint, &[1, 2, 3, 4], &[1, 2, 3, 4, 5, 6, 7, 8], &long],
        buffers: &[10, 4, 8, 41],
        codes: &[0x0c, 0x15, 0x18, 0x21, 0x2a, 0x0b, 0x03],
        next: &[8, 9, 10, 11, 12, 13, 0],
        subtypes: &[9],
        indices: &[1, 0, 2, 3],
        ..Table::default()
    };
    let mut record = vec![0x0b, 0x2a];
    record.extend(&long);
    record.extend([0x21, 1, 2, 3, 4, 5, 6, 7, 8]);
    record.extend([0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
    record.extend([0x15, 1, 2, 3, 4, 0x0c]);
    assert_eq!(decode(&table.encode(), 1, record.len() as u64), Ok(vec![record]));
}

#[test]
fn a_long_submessage_gets_the_shortest_length() {
    let value = [&[0xc8, 0x01][..], &[b'x'; 200]].concat();
    let table =
        Table { codes: &[0x0e, 0x12, 0x02, 0x03], next: &[5, 6, 7, 0], indices: &[0], ..Table::default() };
    let header = [&[1, 1, 0xca, 0x01, 0xca, 0x01, 4], table.codes, table.next, table.indices, &[0]].concat();
    let data = [&[0, header.len() as u8], &header[..], &value].concat();
    let record = [&[0x0a, 0xcb, 0x01, 0x12], &value[..]].concat();
    assert_eq!(decode(&data, 1, record.len() as u64), Ok(vec![record]));
}

#[test]
fn faults_of_the_table_are_found() {
    let node = |fault| ChunkFault::Node { node: 0, fault };
    let one = |code, next| Table {
        codes: [&[code], &[][..]].concat().leak(),
        next: [next].to_vec().leak(),
        ..Table::default()
    };
    let cases = [
        (one(3, 1), node("a cycle of implicit transitions")),
        (one(3, 2), node("a successor outside the table")),
        (one(4, 0), node("an invalid code")),
        (one(7, 0), node("an invalid code")),
        (one(0x0f, 0), node("an invalid code")),
        (Table { subtypes: &[138], ..one(8, 0) }, node("an invalid subtype")),
        (Table { indices: &[0], ..one(0x12, 0) }, node("a buffer that does not exist")),
        (
            Table { first: 1, ..one(3, 0) },
            ChunkFault::Node { node: 1, fault: "no place in the table, but is the first" },
        ),
        (Table { indices: &[0], ..one(3, 0) }, ChunkFault::Trailing("the transposed header")),
        (Table { transitions: &[4], ..one(3, 0) }, ChunkFault::Walk("leaves the table of nodes")),
        (Table { transitions: &[0], ..one(3, 0) }, ChunkFault::RecordCount(1)),
        (one(0, 0), ChunkFault::RecordCount(1)),
        (one(2, 0), ChunkFault::Walk("closes a submessage that is not open")),
        (one(0x0e, 0), ChunkFault::Walk("ends inside a submessage")),
        (one(0x0b, 0), ChunkFault::Walk("makes more bytes than the chunk header claims")),
    ];
    for (table, fault) in cases {
        assert_eq!(decode(&table.encode(), 1, 0), Err(fault), "{table:?}");
    }
}

#[test]
fn buffers_must_fill_their_buckets() {
    let decode = |buckets, buffers| {
        let table = Table { buckets, buffers, codes: &[3], next: &[0], ..Table::default() };
        decode(&table.encode(), 1, 0)
    };
    let misfit = Err(ChunkFault::Buckets);
    let cases: [(&[&[u8]], &[u8], _); 9] = [
        (&[], &[], Ok(vec![vec![]])),
        (&[&[]], &[0, 0], Ok(vec![vec![]])),
        (&[&[1, 2], &[], &[3]], &[1, 1, 1], Err(LEFTOVERS)),
        (&[&[1, 2], &[3]], &[3], misfit.clone()),
        (&[&[1, 2]], &[1], misfit.clone()),
        (&[&[1], &[2]], &[1], misfit.clone()),
        (&[&[], &[2]], &[1], misfit.clone()),
        (&[], &[0], misfit.clone()),
        (&[&[1]], &[], misfit),
    ];
    for (buckets, buffers, expected) in cases {
        let found = decode(buckets, buffers);
        let found = match found {
            Err(ChunkFault::TooLarge { .. }) => Err(ChunkFault::Buckets),
            other => other,
        };
        assert_eq!(found, expected, "{buckets:?} {buffers:?}");
    }
}

#[test]
fn counts_beyond_the_header_are_refused_before_allocation() {
    for position in [2, 3, 4] {
        let mut data = vec![0, 6, 0, 0, 1, 3, 0, 0];
        data.splice(position..=position, [0xff, 0xff, 0xff, 0xff, 0x0f]);
        data[1] = 10;
        assert!(matches!(decode(&data, 1, 0), Err(ChunkFault::TooLarge { .. })), "count at {position}");
    }
}

#[test]
fn a_long_walk_without_output_is_cut_off() {
    // A ring of NoOps behind one explicit transition; four rounds a transition byte.
    let nodes = 20_000u32;
    let varint = |mut value: u32| {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    };
    let mut header = [vec![0, 0], varint(nodes), vec![0; nodes as usize]].concat();
    for node in 0..nodes {
        header.extend(varint(if node + 1 == nodes { 0 } else { nodes + node + 1 }));
    }
    header.push(0);
    let data = [vec![0], varint(header.len() as u32), header, vec![3; 5000]].concat();
    assert_eq!(decode(&data, 0, 0), Err(ChunkFault::Walk("makes too many steps for its output")));
}

#[test]
fn detours_are_bounded_by_what_they_lead_to() {
    // From a detour it goes to itself, and by the offset 1 to the begin of a record.
    let walk = |records: usize, detours: usize, more: usize| {
        let transitions = [vec![0; detours - 1], vec![4]].concat();
        let later = [vec![0; detours], vec![4]].concat();
        let transitions = [vec![0; more], transitions, later.repeat(records - 1)].concat();
        let table = Table { codes: &[0, 3], next: &[0, 0], transitions: &transitions, ..Table::default() };
        decode(&table.encode(), records as u64, 0).map(|records| records.len())
    };
    let too_many = Err(ChunkFault::Walk("makes too many steps for its output"));
    let most = MOST_DETOURS as usize;
    for records in [1, 10, 1000] {
        assert_eq!(walk(records, most, 0), Ok(records));
        // As many more as there are nodes.
        assert_eq!(walk(records, most, 2), Ok(records));
        assert_eq!(walk(records, most, 3), too_many);
    }
    // Four of a byte, without repeats one: no walk has more transitions than that.
    let repeats = |bytes: usize| {
        let transitions = [vec![3; bytes], vec![4]].concat();
        let table = Table { codes: &[0, 3], next: &[0, 0], transitions: &transitions, ..Table::default() };
        decode(&table.encode(), 1, 0).map(|records| records.len())
    };
    assert_eq!([repeats(1), repeats(2), repeats(10_000)], [Ok(1), Ok(1), too_many]);
}

/// Groups within groups, whose tags have one byte each: the least output for a step.
fn nested_groups(random: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    let (mut record, mut open) = (Vec::new(), Vec::<u8>::new());
    for _ in 0..30 {
        if open.len() == 12 || (!open.is_empty() && random(2) == 0) {
            record.extend(open.pop().map(|number| number << 3 | 4));
        } else {
            let number = 1 + random(15) as u8;
            record.push(number << 3 | 3);
            open.push(number);
        }
    }
    record.extend(open.into_iter().rev().map(|number| number << 3 | 4));
    record
}

#[test]
fn machines_with_many_states_are_within_the_bounds() {
    use crate::write::{ChunkEncoder, ChunkRecords};

    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let records: Vec<Vec<u8>> = (0..6000).map(|_| nested_groups(&mut random)).collect();
    let mut chunk = ChunkRecords::default();
    for record in &records {
        chunk.push(record).expect("is short");
    }
    let options = "transpose,uncompressed".parse().expect("are options");
    let mut encoder = ChunkEncoder::new(&options).expect("are possible");
    let encoded = encoder.encode(&chunk).expect("is small");
    let table = Header::read(&encoded.data, &mut Decompressor::default()).expect("is whole");
    assert!(table.nodes.len() > 64 * 64, "{} nodes", table.nodes.len());
    let ChunkHeader { num_records, decoded_data_size, .. } = encoded.header;
    assert_eq!(decode(&encoded.data, num_records, decoded_data_size), Ok(records));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Tables of nodes that are mostly plausible, and walks through them, never panic, and end.
    #[test]
    fn random_tables_give_records_or_a_fault(
        nodes in prop::collection::vec((prop_oneof![0u8..4, 8u8..48], any::<u8>(), 0u8..14, 0u8..4), 1..12),
        values in prop::collection::vec(0u8..6, 0..80),
        first in any::<u8>(),
        transitions in prop::collection::vec(any::<u8>(), 0..40),
        num_records in 0u64..6,
        size in 0u64..60,
    ) {
        let count = nodes.len() as u8;
        let codes: Vec<u8> = nodes.iter().map(|node| node.0).collect();
        let next: Vec<u8> = nodes.iter().map(|node| node.1 % (2 * count)).collect();
        let varints = || nodes.iter().filter(|node| node.0 >= 8 && node.0.is_multiple_of(8));
        let subtypes: Vec<u8> = varints().map(|node| node.2).collect();
        let reads = |node: &&(u8, u8, u8, u8)| match node.0 {
            1 => true,
            8.. => matches!(node.0 % 8, 1 | 2 | 5) || (node.0.is_multiple_of(8) && node.2 <= 9),
            _ => false,
        };
        let indices: Vec<u8> = nodes.iter().filter(reads).map(|node| node.3).collect();
        let quarter = (values.len() / 4) as u8;
        let buffers = [quarter, quarter, quarter, values.len() as u8 - 3 * quarter];
        let transitions: Vec<u8> = transitions.iter().map(|byte| byte % (4 * count)).collect();
        let table = Table {
            buckets: &[&values],
            buffers: &buffers,
            codes: &codes,
            next: &next,
            subtypes: &subtypes,
            indices: &indices,
            first: first % count,
            transitions: &transitions,
        };
        if let Ok(records) = decode(&table.encode(), num_records, size) {
            prop_assert_eq!(records.len() as u64, num_records);
            prop_assert_eq!(records.concat().len() as u64, size);
        }
    }

    #[test]
    fn random_bytes_give_records_or_a_fault(
        data in prop::collection::vec(any::<u8>(), 0..200),
        num_records in 0u64..10,
        size in 0u64..300,
    ) {
        let _ = decode(&data, num_records, size);
    }
}
