//! The memory that hostile files take: at most `2·n + 8·D + 128 MiB` for a file of `n` bytes, where `D` is the option
//! `max_decoded_chunk_size`. Brotli reserves its window besides, of which it touches no more than it decompresses.
//! What columns take on top of that is in [`columns`].

mod columns;
#[path = "../../../core/tests/support/counting.rs"]
mod counting;

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::executor::block_on;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use recordfusion_core::{Connector, Options, Projection, RecordFile, ScanRequest};
use recordfusion_riegeli::RiegeliConnector;
use recordfusion_riegeli::hash::hash;
use recordfusion_riegeli::header::ChunkHeader;
use recordfusion_riegeli::write::{EncodedChunk, FileWriter, WriterOptions};

use counting::{alone, peak};

const MIB: usize = 1 << 20;
/// The option `max_decoded_chunk_size`.
const MOST_DECODED: usize = 8 * MIB;

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A compressed block with its size.
fn zstd_block(bytes: &[u8]) -> Vec<u8> {
    [varint(bytes.len() as u64), zstd::bulk::compress(bytes, 3).expect("compresses")].concat()
}

fn brotli_block(bytes: &[u8]) -> Vec<u8> {
    let mut compressed = Vec::new();
    brotli::CompressorWriter::new(&mut compressed, 1 << 16, 5, 22).write_all(bytes).expect("compresses");
    [varint(bytes.len() as u64), compressed].concat()
}

fn simple(codec: u8, sizes: &[u8], values: &[u8]) -> Vec<u8> {
    [&[codec], &varint(sizes.len() as u64)[..], sizes, values].concat()
}

fn transposed(header: &[u8], buckets: &[u8], transitions: &[u8]) -> Vec<u8> {
    let header = zstd_block(header);
    [b"z", &varint(header.len() as u64)[..], &header, buckets, &zstd_block(transitions)].concat()
}

/// Chunk type, claimed records, claimed bytes, data.
type Claims = (u8, u64, u64, Vec<u8>);

/// A file of chunks with the right hashes.
fn file(chunks: &[Claims]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = FileWriter::create(&WriterOptions::default(), &mut bytes);
    for (chunk_type, num_records, decoded_data_size, data) in chunks {
        let header = ChunkHeader {
            data_size: data.len() as u64,
            data_hash: hash(data),
            chunk_type: *chunk_type,
            num_records: *num_records,
            decoded_data_size: *decoded_data_size,
        };
        writer.write(&EncodedChunk { header, data: data.clone() }, &mut bytes).expect("short");
    }
    bytes
}

fn numbers(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| varint(*value)).collect()
}

fn hostile_files() -> Vec<(&'static str, Vec<Claims>)> {
    let most = MOST_DECODED as u64;
    let zeros = vec![0; MOST_DECODED];
    let bomb = || simple(b'z', &zstd_block(&varint(most)), &zstd_block(&zeros));
    let many = most / 8;
    let empty_records = simple(b'z', &zstd_block(&vec![0; many as usize]), &zstd_block(b""));
    let long_sizes: Vec<u8> =
        (0..many).flat_map(|_| [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0]).collect();
    let long_sizes = simple(b'z', &zstd_block(&long_sizes), &zstd_block(b""));
    let brotli = simple(b'b', &brotli_block(&varint(most)), &brotli_block(&zeros));
    let snappy = simple(b's', &numbers(&[1 << 30]), &numbers(&[most, 1 << 30]));
    let claims_only =
        simple(b'z', &zstd_block(b"\x01"), &[&varint(1 << 40)[..], b"\x28\xb5\x2f\xfd"].concat());

    let parts = (4 * MIB - 100) as u64;
    let zero = |len: u64| vec![0; len as usize];
    let buckets = [numbers(&[parts, 0]), zero(parts), numbers(&[1, 3, 0, 0])].concat();
    let buffers = [numbers(&[1, parts, 10]), zero(parts), numbers(&[1, 3, 0, 0])].concat();
    let nodes = (MIB - 100) as u64;
    let chain: Vec<u64> =
        (0..nodes).map(|node| if node + 1 < nodes { nodes + node + 1 } else { 0 }).collect();
    let chain = [numbers(&[0, 0, nodes]), zero(nodes), numbers(&chain), numbers(&[0])].concat();
    let start = numbers(&[0, 0, 1, 3, 0, 0]);
    let no_ops = 20_000u64;
    let ring: Vec<u64> =
        (0..no_ops).map(|node| if node + 1 < no_ops { no_ops + node + 1 } else { 0 }).collect();
    let ring = [numbers(&[0, 0, no_ops]), zero(no_ops), numbers(&ring), numbers(&[0])].concat();
    vec![
        ("a zstd bomb", vec![(b'r', 1, most, bomb())]),
        ("many of them", (0..20).map(|_| (b'r', 1, most, bomb())).collect()),
        ("a brotli bomb", vec![(b'r', 1, most, brotli)]),
        ("a claim in snappy", vec![(b'r', 1, most, snappy)]),
        ("empty records", vec![(b'r', many, 0, empty_records)]),
        ("long spellings of sizes", vec![(b'r', many, 0, long_sizes)]),
        (
            "more than is allowed",
            vec![(b'r', 1, 1 << 40, claims_only.clone()), (b'r', 1 << 20, 0, claims_only.clone())],
        ),
        ("a claim of the values", vec![(b'r', 1, most, claims_only)]),
        ("millions of buckets", vec![(b't', 1, most, transposed(&buckets, b"", b""))]),
        ("millions of buffers", vec![(b't', 1, most, transposed(&buffers, &zstd_block(b""), b""))]),
        ("a chain of nodes", vec![(b't', 1, most, transposed(&chain, b"", &zero(1000)))]),
        ("a ring that makes nothing", vec![(b't', 1, most, transposed(&ring, b"", &zero(5_000_000)))]),
        ("transitions for nothing", vec![(b't', 1, 100, transposed(&start, b"", &zero(100_000_000)))]),
        (
            "records for nothing",
            vec![(b't', many, 0, transposed(&start, b"", &vec![3; (many / 4) as usize]))],
        ),
        ("metadata of nothing", vec![(b'm', 0, 60 << 20, transposed(&start, b"", &zero(100)))]),
    ]
}

/// Reads all of a file as `options` say, passing over damage, and gives the number of rows.
fn scan(bytes: &[u8], options: &Options) -> usize {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let location = Path::from("file");
    let size = bytes.len() as u64;
    block_on(store.put(&location, bytes.to_vec().into())).expect("memory takes it");
    let file = RecordFile::new(store, location, size, "file");
    let options = options.clone().with("on_corruption", "skip").with("max_decoded_chunk_size", "8M");
    let table = block_on(RiegeliConnector::default().open(std::slice::from_ref(&file), &options))
        .expect("is passed over");
    let mut batches = table.scan(ScanRequest {
        range: 0..size,
        file,
        projection: Projection::all(table.schema().fields().len()),
        filter: None,
        limit: None,
        batch_size: 8192,
        counters: Arc::default(),
    });
    let mut rows = 0;
    while let Some(batch) = block_on(batches.next()) {
        rows += batch.expect("damage is passed over").num_rows();
    }
    rows
}

/// Reads a file, and checks that it takes at most `more` bytes of memory besides what its records may take.
fn check(name: &str, chunks: &[Claims], options: &Options, more: usize) -> usize {
    let bytes = file(chunks);
    let start = Instant::now();
    let (rows, peak) = peak(|| scan(&bytes, options));
    let (took, most) = (start.elapsed(), 2 * bytes.len() + 8 * MOST_DECODED + 128 * MIB + more);
    println!("{name}: {} bytes, {rows} rows, {} MiB of {}, {took:?}", bytes.len(), peak / MIB, most / MIB);
    assert!(peak <= most, "{name}: {} MiB of {}", peak / MIB, most / MIB);
    assert!(took < Duration::from_secs(20), "{name}: {took:?}");
    rows
}

#[test]
fn hostile_files_take_bounded_memory_and_time() {
    let _alone = alone();
    for (name, chunks) in hostile_files() {
        check(name, &chunks, &Options::new(), 0);
    }
}
