//! The memory that hostile files take: at most `2·C + 6·D + 64 MiB`, where `C` is the option `max_chunk_size` and `D`
//! the option `max_decoded_chunk_size`; the columns of messages take as much more as those of Riegeli files.

#[path = "../../core/tests/support/counting.rs"]
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
use recordfusion_recordio::RecordioConnector;
use recordfusion_recordio::header::{ChunkHeader, Codec, Layout, MAGIC};

use counting::{alone, peak};

const MIB: usize = 1 << 20;
/// The options `max_chunk_size` and `max_decoded_chunk_size`.
const LIMIT: usize = 8 * MIB;
/// What records may take.
const RECORDS: usize = 2 * LIMIT + 6 * LIMIT + 64 * MIB;
/// What columns may take besides.
const COLUMNS: usize = 2 * (512 * MIB + 16 * LIMIT);

/// A chunk with the right checksum.
fn chunk(layout: Layout, codec: Codec, count: u32, payload: &[u8]) -> Vec<u8> {
    let checksum = layout.checksum().of(payload);
    let header = ChunkHeader::encode(layout, codec, checksum, payload.len() as u32, count);
    [&header.expect("the layout has it")[..], payload].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// Records, each behind its length.
fn payload(record: &[u8], count: usize) -> Vec<u8> {
    [&(record.len() as u32).to_le_bytes(), record].concat().repeat(count)
}

/// Rows, and the most memory besides the file.
fn scan(bytes: &[u8], options: &Options) -> (usize, usize) {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let location = Path::from("file");
    let size = bytes.len() as u64;
    block_on(store.put(&location, bytes.to_vec().into())).expect("memory takes it");
    let file = RecordFile::new(store, location, size, "file");
    let options = ["max_chunk_size", "max_decoded_chunk_size"]
        .into_iter()
        .fold(options.clone().with("on_corruption", "skip"), |options, limit| options.with(limit, "8M"));
    let table =
        block_on(RecordioConnector::default().open(std::slice::from_ref(&file), &options)).expect("opens");
    peak(|| {
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
    })
}

fn check(name: &str, bytes: &[u8], options: &Options, most: usize) -> usize {
    let start = Instant::now();
    let (rows, peak) = scan(bytes, options);
    let took = start.elapsed();
    println!("{name}: {} bytes, {rows} rows, {} MiB of {}, {took:?}", bytes.len(), peak / MIB, most / MIB);
    assert!(peak <= most, "{name}: {} MiB of {}", peak / MIB, most / MIB);
    assert!(took < Duration::from_secs(20), "{name}: {took:?}");
    rows
}

#[test]
fn hostile_files_take_bounded_memory_and_time() {
    let _alone = alone();
    use Codec::{Gzip, None, Snappy};
    use Layout::{Elastic, Go};
    let one = |size: usize| payload(&vec![0; size], 1);
    let raw_claim = [&[0xff, 0xff, 0xff, 0xff, 0x0f][..], &[0; 100]].concat();
    let bomb = chunk(Go, Gzip, 1, &gzip(&one(LIMIT - 4)));
    let cases = [
        ("a gzip bomb", bomb.clone(), 1),
        ("many of them", bomb.repeat(4), 4),
        ("a gzip bomb that is too large", chunk(Elastic, Gzip, 1, &gzip(&one(64 * MIB))), 0),
        ("a claim in snappy", chunk(Elastic, Snappy, 1, &raw_claim), 0),
        ("empty records", chunk(Go, Gzip, (LIMIT / 4) as u32, &gzip(&payload(b"", LIMIT / 4))), LIMIT / 4),
        ("more records than there are", chunk(Go, Gzip, u32::MAX, &gzip(&payload(b"", 100))), 0),
        ("a payload that is too large", chunk(Go, None, 1, &one(9 * MIB)), 0),
        ("one that is not", chunk(Go, None, 1, &one(LIMIT - 4)), 1),
        ("magics", MAGIC.repeat(MIB / 4), 0),
    ];
    for (name, bytes, expected) in cases {
        assert_eq!(check(name, &bytes, &Options::new(), RECORDS), expected, "{name}");
    }
}

#[test]
fn columns_of_hostile_files_take_bounded_memory() {
    let _alone = alone();
    const PATH: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/hostile.proto");
    let fields =
        |count: usize| (1..=count).map(|at| format!("int64 f{at} = {at};")).collect::<Vec<_>>().concat();
    let (wide, item) = (fields(2000), fields(200));
    let source = format!(
        "syntax = 'proto3'; message Wide {{ {wide} }} message Item {{ {item} }}
         message Items {{ repeated Item items = 1; }}"
    );
    std::fs::write(PATH, source).expect("the folder is there");
    let of_type = |name| Options::new().with("proto", PATH).with("message_type", name);
    let chunk = |record: &[u8], count: usize| {
        chunk(Layout::Go, Codec::Gzip, count as u32, &gzip(&payload(record, count)))
    };
    let empty = LIMIT / 128;
    assert_eq!(check("empty", &chunk(b"", empty), &of_type("Wide"), RECORDS + COLUMNS), empty);
    let items = [0x0a, 0].repeat(30_000);
    assert_eq!(check("items", &chunk(&items, 60), &of_type("Items"), RECORDS + COLUMNS), 60);
}
