//! Files in memory, fixtures, and ways to read both.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use base64::prelude::{BASE64_STANDARD, Engine};
use futures::StreamExt;
use futures::executor::block_on;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use recordfusion_core::{
    Connector, Error, LostRegion, Options, Projection, RecordFile, Result, ScanCounters, ScanRequest, Table,
    Writer, Writing,
};
use recordfusion_recordio::RecordioConnector;
use serde_json::Value;
use sha2::{Digest, Sha256};

pub type Records = Vec<Vec<u8>>;

/// The path of a fixture.
pub fn fixture_path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/recordio")).join(name)
}

/// The bytes of a fixture.
pub fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(fixture_path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What the manifest says of a file.
pub struct Fixture {
    pub name: String,
    facts: Value,
}

/// All files of the manifest.
pub fn fixtures() -> Vec<Fixture> {
    let manifest: Value = serde_json::from_slice(&fixture("manifest.json")).expect("JSON");
    let files = manifest.as_array().expect("a list").iter();
    files
        .map(|facts| Fixture {
            name: facts["file"].as_str().expect("a name").to_string(),
            facts: facts.clone(),
        })
        .collect()
}

impl Fixture {
    pub fn bytes(&self) -> Vec<u8> {
        fixture(&self.name)
    }

    pub fn is_valid(&self) -> bool {
        self.facts["kind"] == "valid"
    }

    pub fn is_scan_safe(&self) -> bool {
        self.facts["scan_safe"] != false
    }

    /// Offset, length, layout, codec word and records of each intact chunk.
    pub fn chunks(&self) -> Vec<(u64, u64, String, u64, u64)> {
        let chunks = self.facts["chunks"].as_array().expect("a list").iter();
        let number = |value: &Value| value.as_u64().expect("a number");
        let chunk = |chunk: &Value| {
            let layout = chunk["variant"].as_str().expect("a name").to_string();
            (
                number(&chunk["offset"]),
                number(&chunk["length"]),
                layout,
                number(&chunk["codec"]),
                number(&chunk["records"]),
            )
        };
        chunks.map(chunk).collect()
    }

    pub fn lost_ranges(&self) -> Vec<(u64, u64)> {
        let ranges = self.facts["lost_ranges"].as_array().into_iter().flatten();
        ranges
            .map(|range| (range[0].as_u64().expect("a number"), range[1].as_u64().expect("a number")))
            .collect()
    }

    /// Where and why a strict reader stops.
    pub fn strict_error(&self) -> Option<(u64, String)> {
        let error = &self.facts["strict_error"];
        Some((error["offset"].as_u64()?, error["reason"].as_str()?.to_string()))
    }

    /// Begin, end and number of records of each of `parts` ranges.
    pub fn split(&self, parts: usize) -> Vec<(Range<u64>, usize)> {
        let split = self.facts["splits"][parts.to_string()].as_array().into_iter().flatten();
        let number = |value: &Value| value.as_u64().expect("a number");
        split.map(|part| (number(&part[0])..number(&part[1]), number(&part[2]) as usize)).collect()
    }

    /// Options under which the manifest holds.
    pub fn options(&self) -> Options {
        match self.name.as_str() {
            "mal-gzip-bomb.recordio" => Options::new().with("max_decoded_chunk_size", "16M"),
            _ => Options::new(),
        }
    }

    /// The records that survive, as told by [`told`].
    pub fn records(&self) -> Vec<String> {
        let text =
            String::from_utf8(fixture(&self.name.replace(".recordio", ".records.jsonl"))).expect("UTF-8");
        text.lines()
            .map(|line| {
                let record: Value = serde_json::from_str(line).expect("JSON");
                let content = record["b64"].as_str().or(record["sha256"].as_str()).expect("one of them");
                format!("{} {content}", record["len"])
            })
            .collect()
    }
}

/// A record as the fixtures tell it: its length, and base64, or SHA-256 when longer than 256 bytes.
pub fn told(record: &[u8]) -> String {
    let content = match record.len() {
        0..=256 => BASE64_STANDARD.encode(record),
        _ => Sha256::digest(record).iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    format!("{} {content}", record.len())
}

pub fn memory_file(bytes: &[u8]) -> RecordFile {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let location = Path::from("file");
    let size = bytes.len() as u64;
    block_on(store.put(&location, bytes.to_vec().into())).expect("memory takes it");
    RecordFile::new(store, location, size, "dir/file.recordio")
}

pub fn skip() -> Options {
    Options::new().with("on_corruption", "skip")
}

pub fn open(file: &RecordFile, options: &Options) -> Result<Arc<dyn Table>> {
    block_on(RecordioConnector::default().open(std::slice::from_ref(file), options))
}

pub fn request(file: &RecordFile, range: Range<u64>, columns: usize) -> ScanRequest {
    ScanRequest {
        file: file.clone(),
        range,
        projection: Projection::all(columns),
        filter: None,
        limit: None,
        batch_size: 8192,
        counters: Arc::new(ScanCounters::default()),
    }
}

/// The batches of a scan until the end or the first error.
pub fn scan(table: &dyn Table, request: ScanRequest) -> (Vec<RecordBatch>, Option<Error>) {
    let mut stream = table.scan(request);
    let mut batches = Vec::new();
    while let Some(batch) = block_on(stream.next()) {
        match batch {
            Ok(batch) => batches.push(batch),
            Err(error) => {
                assert!(block_on(stream.next()).is_none(), "a stream ends with its error");
                return (batches, Some(error));
            }
        }
    }
    (batches, None)
}

/// The values of the only column of bytes.
pub fn values(batches: &[RecordBatch]) -> Records {
    let column = |batch: &RecordBatch| {
        let column = batch.column(0).as_binary_view().clone();
        (0..column.len()).map(move |row| column.value(row).to_vec()).collect::<Vec<_>>()
    };
    batches.iter().flat_map(column).collect()
}

/// What a scan of a range gave.
pub struct Found {
    pub records: Records,
    pub lost: Vec<LostRegion>,
    pub error: Option<Error>,
    pub counters: Arc<ScanCounters>,
}

impl Found {
    pub fn told(&self) -> Vec<String> {
        self.records.iter().map(|record| told(record)).collect()
    }

    pub fn lost_ranges(&self) -> Vec<(u64, u64)> {
        self.lost.iter().map(|region| (region.begin, region.end)).collect()
    }
}

pub fn read_range(file: &RecordFile, range: Range<u64>, options: &Options) -> Found {
    let table = open(file, options).expect("good options");
    let request = request(file, range, 1);
    let counters = Arc::clone(&request.counters);
    let (batches, error) = scan(table.as_ref(), request);
    let lost: Vec<LostRegion> = counters.lost_regions.all().into_iter().map(|(_, region)| region).collect();
    assert_eq!(counters.regions_lost.value(), lost.len() as u64);
    assert_eq!(counters.bytes_lost.value(), lost.iter().map(|region| region.end - region.begin).sum::<u64>());
    Found { records: values(&batches), lost, error, counters }
}

pub fn read(bytes: &[u8], options: &Options) -> Found {
    let file = memory_file(bytes);
    read_range(&file, 0..file.size, options)
}

/// What the ranges between the cuts give, one after the other.
pub fn read_parts(file: &RecordFile, cuts: &[u64], options: &Options) -> Found {
    let mut all = Found { records: Vec::new(), lost: Vec::new(), error: None, counters: Arc::default() };
    for pair in cuts.windows(2) {
        let part = read_range(file, pair[0]..pair[1], options);
        all.records.extend(part.records);
        all.lost.extend(part.lost);
        all.error = all.error.or(part.error);
    }
    all.lost.sort_by_key(|region| region.begin);
    all
}

/// Cuts of a file into ranges of `width` bytes.
pub fn cuts(size: u64, width: usize) -> Vec<u64> {
    let mut cuts: Vec<u64> = (0..size).step_by(width).collect();
    cuts.push(size);
    cuts
}

/// Rows of a range, without columns.
pub fn count(file: &RecordFile, range: Range<u64>, options: &Options) -> Result<usize> {
    let table = open(file, options)?;
    let (batches, error) = scan(table.as_ref(), request(file, range, 0));
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    error.map_or(Ok(rows), Err)
}

/// The file that a writer makes of batches.
pub fn write_batches(writer: &dyn Writer, batches: &[RecordBatch]) -> Result<Vec<u8>> {
    let (mut chunker, mut assembler) = (writer.chunker()?, writer.assembler()?);
    let mut file = assembler.begin()?;
    let mut jobs = Vec::new();
    for batch in batches {
        jobs.extend(chunker.push(batch)?);
    }
    jobs.extend(chunker.finish()?);
    for job in jobs {
        file.extend(assembler.append(job()?)?);
    }
    file.extend(assembler.finish()?);
    Ok(file)
}

/// The file of these records, which come in batches of 10.
pub fn write<R: AsRef<[u8]>>(records: &[R], options: &Options) -> Vec<u8> {
    let column = |records: &[R]| {
        let records = arrow::array::BinaryViewArray::from_iter_values(records.iter().map(AsRef::as_ref));
        RecordBatch::try_from_iter([("record", Arc::new(records) as _)]).expect("one column")
    };
    let batches: Vec<RecordBatch> = records.chunks(10).map(column).collect();
    let schema = column(&[]).schema();
    let writer =
        RecordioConnector::default().writer(&schema, "recordio", options, None).expect("good options");
    write_batches(writer.as_ref(), &batches).expect("can be written")
}

/// Options from pairs.
pub fn options(pairs: &[(&str, &str)]) -> Options {
    pairs.iter().copied().collect()
}
