//! Files in memory, fixtures, and ways to read both.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use futures::StreamExt;
use futures::executor::block_on;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use recordfusion_core::{
    ByteRecords, ColumnProjection, Connector, Error, LostRegion, Options, Projection, RecordBlock,
    RecordFile, ScanCounters, ScanRequest, Selection, Table,
};
use recordfusion_riegeli::RiegeliConnector;

pub type Records = Vec<Vec<u8>>;

/// The bytes of a fixture, by its path below the folder of the test data.
pub fn fixture(path: &str) -> Vec<u8> {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data");
    let path = PathBuf::from(data).join(path);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn json(path: &str) -> serde_json::Value {
    serde_json::from_slice(&fixture(path)).expect("fixture is JSON")
}

/// The records of a `.bin` file, each after its length as a varint.
pub fn records_of(mut bytes: &[u8]) -> Records {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let mut len = 0;
        for shift in (0..).step_by(7) {
            let byte = bytes[0];
            bytes = &bytes[1..];
            len |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        records.push(bytes[..len].to_vec());
        bytes = &bytes[len..];
    }
    records
}

pub fn memory_file(bytes: &[u8]) -> RecordFile {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let location = Path::from("file");
    let size = bytes.len() as u64;
    block_on(store.put(&location, bytes.to_vec().into())).expect("memory takes it");
    RecordFile::new(store, location, size, "file")
}

/// The blocks of a range until the end or the first error.
pub fn read_blocks(file: &RecordFile, range: Range<u64>) -> (Vec<RecordBlock>, Option<Error>) {
    let mut stream = RiegeliConnector::default().records(file, range, &Options::new(), Arc::default());
    let mut blocks = Vec::new();
    while let Some(block) = block_on(stream.next()) {
        match block {
            Ok(block) => blocks.push(block),
            Err(error) => {
                assert!(block_on(stream.next()).is_none(), "a stream ends with its error");
                return (blocks, Some(error));
            }
        }
    }
    (blocks, None)
}

/// The records of a range until the end or the first error.
pub fn read_range(file: &RecordFile, range: Range<u64>) -> (Records, Option<Error>) {
    let (blocks, error) = read_blocks(file, range);
    (blocks.iter().flat_map(RecordBlock::records).map(<[u8]>::to_vec).collect(), error)
}

/// The records of a whole file until the end or the first error.
pub fn read(bytes: &[u8]) -> (Records, Option<Error>) {
    let file = memory_file(bytes);
    read_range(&file, 0..file.size)
}

/// A table of the file's records as one column of bytes.
pub fn open(file: &RecordFile) -> Result<Arc<dyn Table>, Error> {
    open_with(file, &Options::new())
}

pub fn open_with(file: &RecordFile, options: &Options) -> Result<Arc<dyn Table>, Error> {
    block_on(RiegeliConnector::default().open(std::slice::from_ref(file), options))
}

/// Options from pairs.
pub fn options(pairs: &[(&str, &str)]) -> Options {
    pairs.iter().copied().collect()
}

/// What a scan gave, and what it passed over.
#[derive(Debug, Default)]
pub struct Found {
    pub records: Records,
    pub lost: Vec<LostRegion>,
    pub error: Option<Error>,
}

impl Found {
    pub fn lost_ranges(&self) -> Vec<(u64, u64)> {
        self.lost.iter().map(|region| (region.begin, region.end)).collect()
    }
}

/// The records of a range as a column of bytes.
pub fn scan_range(file: &RecordFile, range: Range<u64>, options: &Options) -> Found {
    let options = options.clone().with("metadata_columns", "record").with("on_bad_record", "null");
    let table = match open_with(file, &options) {
        Ok(table) => table,
        Err(error) => return Found { error: Some(error), ..Found::default() },
    };
    let last = table.schema().fields().len() - 1;
    let mut request = request(file, range, 0);
    request.projection.columns.push(ColumnProjection { index: last, selection: Selection::All });
    let counters = Arc::clone(&request.counters);
    let (batches, error) = scan(table.as_ref(), request);
    let records = batches.iter().flat_map(|batch| {
        let column = batch.column(0).as_binary_view().clone();
        (0..column.len()).map(move |row| column.value(row).to_vec()).collect::<Records>()
    });
    let lost: Vec<LostRegion> = counters.lost_regions.all().into_iter().map(|(_, region)| region).collect();
    assert_eq!(counters.regions_lost.value(), lost.len() as u64);
    assert_eq!(counters.bytes_lost.value(), lost.iter().map(|region| region.end - region.begin).sum::<u64>());
    Found { records: records.collect(), lost, error }
}

/// What a scan of a whole file gives that passes over damage.
pub fn skip(bytes: &[u8]) -> Found {
    let file = memory_file(bytes);
    scan_range(&file, 0..file.size, &options(&[("on_corruption", "skip")]))
}

/// What the ranges between the cuts give, one after the other.
pub fn scan_parts(file: &RecordFile, cuts: &[u64], options: &Options) -> Found {
    let mut all = Found::default();
    for pair in cuts.windows(2) {
        let part = scan_range(file, pair[0]..pair[1], options);
        all.records.extend(part.records);
        all.lost.extend(part.lost);
        all.error = all.error.or(part.error);
    }
    all.lost.sort_by_key(|region| region.begin);
    all
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
            Err(error) => return (batches, Some(error)),
        }
    }
    (batches, None)
}

/// The rows of a range, by chunk headers.
pub fn count(table: &dyn Table, file: &RecordFile, range: Range<u64>) -> Result<usize, Error> {
    let (batches, error) = scan(table, request(file, range, 0));
    match error {
        None => Ok(batches.iter().map(RecordBatch::num_rows).sum()),
        Some(error) => Err(error),
    }
}

/// Writes records with another implementation.
pub fn write<R: AsRef<[u8]>>(records: &[R], options: riegeli::WriterOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = riegeli::RecordWriter::new(&mut bytes, options).expect("valid options");
    for record in records {
        writer.write_record(record.as_ref()).expect("memory takes it");
    }
    writer.close().expect("memory takes it");
    bytes
}

/// The records of a file, by another reader.
pub fn by_other_reader(bytes: &[u8]) -> Records {
    let options = riegeli::ReaderOptions::new();
    let mut reader = riegeli::RecordReader::new(std::io::Cursor::new(bytes), options).expect("valid file");
    let mut records = Vec::new();
    while let Some(record) = reader.read_record().expect("valid record") {
        records.push(record);
    }
    records
}
