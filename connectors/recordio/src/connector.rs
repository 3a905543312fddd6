//! The connector and its table: what the engine asks of the format.

use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt};
use recordfusion_core::{
    BatchStream, BlockStream, ByteStream, Connector, ContainerOptions, Inspection, Limits, MessageType,
    OptionInfo, Options, RecordFile, Result, ScanCounters, ScanRequest, Split, Table, Verification, Writer,
    first_blocks,
};
use recordfusion_protobuf::{FileDescriptors, RecordDecoder, RecordType, ScanPlan, said_of_records};

use crate::header::{ChunkHeader, HEADER_LEN};
use crate::inspect::{inspect, verify};
use crate::options::{OPTIONS, ReadOptions};
use crate::scan::Part;
use crate::{repair, scan, sink};

/// Multiples at which ranges are cut. The format has no blocks; cuts that are finer find no more chunks.
const ALIGNMENT: u64 = 64 << 10;

/// RecordIO files of the PaddlePaddle family.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecordioConnector;

impl Connector for RecordioConnector {
    fn name(&self) -> &'static str {
        "recordio"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["recordio"]
    }

    fn signature_len(&self) -> u64 {
        HEADER_LEN as u64
    }

    fn recognises(&self, prefix: &[u8]) -> bool {
        prefix.first_chunk().is_some_and(|header| ChunkHeader::parse(header, &Limits::same(u64::MAX)).is_ok())
    }

    fn range_alignment(&self) -> u64 {
        ALIGNMENT
    }

    fn options(&self) -> &'static [OptionInfo] {
        &OPTIONS
    }

    fn write_options(&self) -> &'static [OptionInfo] {
        &sink::OPTIONS
    }

    fn check_write_options(&self, options: &Options) -> Result<()> {
        options.reject_unknown(&sink::OPTIONS)?;
        sink::check_options(options)
    }

    fn writer(
        &self,
        schema: &SchemaRef,
        _extension: &str,
        options: &Options,
        records: Option<&MessageType>,
    ) -> Result<Arc<dyn Writer>> {
        match records {
            Some(records) if sink::is_record(schema) => sink::record_writer(options, Some(records)),
            _ => sink::writer(schema, options, None),
        }
    }

    fn check_options(&self, options: &Options) -> Result<()> {
        ReadOptions::from_options(options).map(drop)
    }

    fn open<'a>(
        &'a self,
        files: &'a [RecordFile],
        options: &'a Options,
    ) -> BoxFuture<'a, Result<Arc<dyn Table>>> {
        async move {
            let ReadOptions { records, container, split, trust_headers } =
                ReadOptions::from_options(options)?;
            let descriptors: Vec<FileDescriptors> = files.iter().map(without_descriptors).collect();
            let sample = first_blocks(files, records.sample_records(), |file| {
                scan::records(Part::new(file, 0..file.size, (container, split), None, &Arc::default()))
            });
            let decoder = RecordDecoder::open(&descriptors, &records, &sample.await?)?;
            Ok(Arc::new(RecordioTable { decoder, reading: (container, split), trust_headers })
                as Arc<dyn Table>)
        }
        .boxed()
    }

    fn open_records<'a>(
        &'a self,
        files: &'a [RecordFile],
        options: &'a Options,
    ) -> BoxFuture<'a, Result<Arc<dyn Table>>> {
        async move {
            let ReadOptions { records, container, split, trust_headers } =
                ReadOptions::from_options(options)?;
            let descriptors: Vec<FileDescriptors> = files.iter().map(without_descriptors).collect();
            let said = said_of_records(&descriptors, &records)?;
            let decoder = RecordDecoder::whole_records();
            let read = RecordioTable { decoder, reading: (container, split), trust_headers };
            Ok(Arc::new(WholeRecords { said, read }) as Arc<dyn Table>)
        }
        .boxed()
    }

    fn records(
        &self,
        file: &RecordFile,
        range: Range<u64>,
        options: &Options,
        counters: Arc<ScanCounters>,
    ) -> BlockStream {
        match ReadOptions::from_options(options) {
            Ok(ReadOptions { container, split, .. }) => {
                scan::records(Part::new(file, range, (container, split), None, &counters))
            }
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
    }

    fn inspect<'a>(&'a self, file: &'a RecordFile) -> BoxFuture<'a, Result<Inspection>> {
        inspect(file).boxed()
    }

    fn verify<'a>(
        &'a self,
        file: &'a RecordFile,
        options: &'a Options,
    ) -> BoxFuture<'a, Result<Verification>> {
        async move {
            let ReadOptions { container, .. } = ReadOptions::from_options(options)?;
            verify(file, container).await
        }
        .boxed()
    }

    fn repair(&self, file: &RecordFile, options: &Options, counters: Arc<ScanCounters>) -> ByteStream {
        repair::repair(file.clone(), options, counters)
    }
}

/// The format has no room for descriptors.
fn without_descriptors(file: &RecordFile) -> FileDescriptors {
    FileDescriptors { file: file.name.clone(), ..FileDescriptors::default() }
}

/// The records of files, all read alike.
#[derive(Debug)]
struct RecordioTable {
    decoder: RecordDecoder,
    reading: (ContainerOptions, Split),
    trust_headers: bool,
}

impl Table for RecordioTable {
    fn schema(&self) -> &SchemaRef {
        self.decoder.schema()
    }

    fn proto_text(&self) -> Option<String> {
        self.decoder.proto_text()
    }

    fn message_type(&self) -> Option<MessageType> {
        self.decoder.record_type().map(RecordType::message_type)
    }

    fn writer(&self, schema: &SchemaRef, _extension: &str, options: &Options) -> Result<Arc<dyn Writer>> {
        let schema = self.decoder.columns_to_write(schema, options)?;
        sink::writer(&schema, options, self.decoder.record_type())
    }

    fn scan(&self, request: ScanRequest) -> BatchStream {
        if request.projection.columns.is_empty()
            && request.filter.is_none()
            && self.decoder.every_record_is_a_row()
        {
            return scan::row_counts(&request, self.reading, self.trust_headers);
        }
        match ScanPlan::new(&self.decoder, &request) {
            Ok(plan) => scan::batches(request, self.reading, plan),
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
    }
}

/// The records of files as bytes, and what the files say of them.
#[derive(Debug)]
struct WholeRecords {
    said: FileDescriptors,
    read: RecordioTable,
}

impl Table for WholeRecords {
    fn schema(&self) -> &SchemaRef {
        self.read.schema()
    }

    fn proto_text(&self) -> Option<String> {
        None
    }

    fn message_type(&self) -> Option<MessageType> {
        self.said.named()
    }

    fn writer(&self, _schema: &SchemaRef, _extension: &str, options: &Options) -> Result<Arc<dyn Writer>> {
        sink::record_writer(options, self.said.named().as_ref())
    }

    fn scan(&self, request: ScanRequest) -> BatchStream {
        self.read.scan(request)
    }
}
