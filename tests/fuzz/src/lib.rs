//! What the fuzz targets share: inputs taken apart, files in memory, and scans of them.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use arrow::array::RecordBatch;
use bytes::Bytes;
use futures::StreamExt;
use futures::executor::block_on;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use recordfusion_core::{
    Connector, LostRegion, Options, Projection, RecordFile, Result, ScanCounters, ScanRequest, Table,
};
use recordfusion_riegeli::hash::hash;
use recordfusion_riegeli::header::ChunkHeader;

/// A number of four bytes at the front, and the rest.
pub fn number(data: &[u8]) -> Option<(u64, &[u8])> {
    let (bytes, rest) = data.split_first_chunk()?;
    Some((u32::from_le_bytes(*bytes).into(), rest))
}

/// Records, each behind its length in two bytes; what is left over is the last one.
pub fn records(mut data: &[u8]) -> Vec<&[u8]> {
    let mut records = Vec::new();
    while let Some((len, rest)) = data.split_first_chunk() {
        let (record, rest) = rest.split_at(usize::from(u16::from_le_bytes(*len)).min(rest.len()));
        records.push(record);
        data = rest;
    }
    records
}

/// A chunk header of the claims that stand before the data, with the right hash, and the data.
pub fn chunk(chunk_type: u8, data: &[u8]) -> Option<(ChunkHeader, Bytes)> {
    let (num_records, rest) = number(data)?;
    let (decoded_data_size, data) = number(rest)?;
    let header = ChunkHeader {
        data_size: data.len() as u64,
        data_hash: hash(data),
        chunk_type,
        num_records,
        decoded_data_size,
    };
    Some((header, Bytes::copy_from_slice(data)))
}

/// A file in memory.
pub fn file(bytes: Vec<u8>) -> RecordFile {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let location = Path::from("file");
    let size = bytes.len() as u64;
    block_on(store.put(&location, bytes.into())).expect("memory takes it");
    RecordFile::new(store, location, size, "file")
}

/// The batches of a scan, what it lost, and its error.
pub struct Scanned {
    pub batches: Vec<RecordBatch>,
    pub lost: Vec<LostRegion>,
    pub error: Option<recordfusion_core::Error>,
}

impl Scanned {
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// All rows as one batch.
    pub fn all(&self, table: &dyn Table) -> RecordBatch {
        arrow::compute::concat_batches(table.schema(), &self.batches).expect("batches of one table")
    }
}

pub fn open(connector: &dyn Connector, file: &RecordFile, options: &Options) -> Result<Arc<dyn Table>> {
    block_on(connector.open(std::slice::from_ref(file), options))
}

/// Scans all columns of a range.
pub fn scan(table: &dyn Table, file: &RecordFile, range: Range<u64>, batch_size: usize) -> Scanned {
    let counters = Arc::new(ScanCounters::default());
    let mut stream = table.scan(ScanRequest {
        file: file.clone(),
        range,
        projection: Projection::all(table.schema().fields().len()),
        filter: None,
        limit: None,
        batch_size,
        counters: Arc::clone(&counters),
    });
    let mut scanned = Scanned { batches: Vec::new(), lost: Vec::new(), error: None };
    while let Some(batch) = block_on(stream.next()) {
        match batch {
            Ok(batch) => scanned.batches.push(batch),
            Err(error) => scanned.error = Some(error),
        }
    }
    scanned.lost = counters.lost_regions.all().into_iter().map(|(_, region)| region).collect();
    scanned
}

/// The descriptors of the fixtures' largest message type.
pub static KITCHEN: LazyLock<Vec<Bytes>> = LazyLock::new(|| {
    split_set(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/riegeli/protos/kitchen.fds")))
});

/// The files of a serialized `FileDescriptorSet`, as far as it is one.
pub fn split_set(mut set: &[u8]) -> Vec<Bytes> {
    let mut files = Vec::new();
    while let Some((0x0a, rest)) = set.split_first() {
        let (mut len, mut at) = (0usize, 0);
        while let Some(byte) = rest.get(at).filter(|_| at < 4) {
            len |= usize::from(byte & 0x7f) << (7 * at);
            at += 1;
            if *byte < 0x80 {
                break;
            }
        }
        let rest = rest.get(at..).unwrap_or_default();
        let (file, rest) = rest.split_at(len.min(rest.len()));
        files.push(Bytes::copy_from_slice(file));
        set = rest;
    }
    files
}
