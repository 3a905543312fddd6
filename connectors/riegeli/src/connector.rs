//! The connector and its table: what the engine asks of the format.

use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt, TryStreamExt};
use recordfusion_core::{
    BatchStream, BlockStream, ByteStream, Connector, ContainerOptions, Error, Inspection, MessageType,
    OnCorruption, OnTruncated, OptionInfo, Options, RecordFile, Result, ScanCounters, ScanRequest, Table,
    Verification, Writer, first_blocks,
};
use recordfusion_protobuf::{FileDescriptors, RecordDecoder, RecordType, ScanPlan, said_of_records};

use crate::header::{BlockHeader, SIGNATURE};
use crate::inspect::{inspect, verify};
use crate::metadata::{RecordsMetadata, Remarks};
use crate::options::{OPTIONS, ReadOptions};
use crate::position::{BLOCK, BLOCK_HEADER};
use crate::read::{
    ReadError, SIGNATURE_LEN, is_unfinished, metadata_end, read_metadata, read_metadata_alone,
};
use crate::{repair, scan, sink};

/// Block headers that are looked at to recognise a file by.
const BLOCKS_LOOKED_AT: u64 = 16;

/// Riegeli/records files, among them ArrayRecord files.
#[derive(Debug, Clone, Copy, Default)]
pub struct RiegeliConnector;

impl Connector for RiegeliConnector {
    fn name(&self) -> &'static str {
        "riegeli"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["riegeli", "array_record", "arrayrecord"]
    }

    fn signature_len(&self) -> u64 {
        SIGNATURE_LEN
    }

    fn recognises(&self, prefix: &[u8]) -> bool {
        prefix.starts_with(&SIGNATURE)
    }

    fn metadata_len(&self, head: &[u8], size: u64) -> u64 {
        metadata_end(head, size)
    }

    /// One of the next block headers has the right hash.
    fn recognises_inside<'a>(&'a self, file: &'a RecordFile) -> BoxFuture<'a, Result<bool>> {
        async move {
            for block in (1..=BLOCKS_LOOKED_AT).map(|number| BLOCK.saturating_mul(number)) {
                let header = file.read(block..block.saturating_add(BLOCK_HEADER)).await?;
                if BlockHeader::parse(block, &header).is_ok() {
                    return Ok(true);
                }
                if header.is_empty() {
                    break;
                }
            }
            Ok(false)
        }
        .boxed()
    }

    fn range_alignment(&self) -> u64 {
        BLOCK
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
        extension: &str,
        options: &Options,
        records: Option<&MessageType>,
    ) -> Result<Arc<dyn Writer>> {
        match records {
            Some(records) if sink::is_record(schema) => {
                sink::record_writer(schema, extension, options, &records.clone().into(), &Remarks::default())
            }
            _ => sink::writer(schema, extension, options, None, &Remarks::default()),
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
            let ReadOptions { records, container, open_files } = ReadOptions::from_options(options)?;
            let (descriptors, remarks) = read_descriptors(files, container, open_files).await?;
            let sample = first_blocks(files, records.sample_records(), |file| {
                scan::records(file.clone(), 0..file.size, container, Arc::default())
            })
            .await?;
            let decoder = RecordDecoder::open(&descriptors, &records, &sample)?;
            Ok(Arc::new(RiegeliTable { decoder, remarks, container }) as Arc<dyn Table>)
        }
        .boxed()
    }

    fn open_records<'a>(
        &'a self,
        files: &'a [RecordFile],
        options: &'a Options,
    ) -> BoxFuture<'a, Result<Arc<dyn Table>>> {
        async move {
            let ReadOptions { records, container, open_files } = ReadOptions::from_options(options)?;
            let (descriptors, remarks) = read_descriptors(files, container, open_files).await?;
            let said = said_of_records(&descriptors, &records)?;
            let decoder = RecordDecoder::whole_records();
            Ok(Arc::new(WholeRecords { said, read: RiegeliTable { decoder, remarks, container } })
                as Arc<dyn Table>)
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
            Ok(options) => scan::records(file.clone(), range, options.container, counters),
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
            verify(file, container).await.map_err(ReadError::of(file))
        }
        .boxed()
    }

    fn repair(&self, file: &RecordFile, options: &Options, counters: Arc<ScanCounters>) -> ByteStream {
        repair::repair(file.clone(), options, counters)
    }
}

/// What each file says of its message type, and all of them of themselves. Neighbours with equal descriptors
/// share them.
async fn read_descriptors(
    files: &[RecordFile],
    options: ContainerOptions,
    open_files: usize,
) -> Result<(Vec<FileDescriptors>, Remarks)> {
    let reads: Vec<_> = files.iter().map(|file| metadata_of(file, options)).collect();
    let mut found = stream::iter(reads).buffered(open_files);
    let mut all: Vec<FileDescriptors> = Vec::with_capacity(files.len());
    let mut remarks = Remarks::default();
    while let Some((file, metadata)) = found.try_next().await? {
        remarks.add(&metadata);
        let last = all.last().filter(|last| last.descriptors == metadata.file_descriptors);
        let descriptors = last.map_or(metadata.file_descriptors, |last| last.descriptors.clone());
        all.push(FileDescriptors {
            file: file.name.clone(),
            message_type: metadata.record_type_name.filter(|name| !name.is_empty()),
            descriptors,
            arrow_schema: metadata.arrow_schema,
        });
    }
    Ok((all, remarks))
}

/// Metadata that are intact but cannot be decoded count as absent: the records can be read without them. So do
/// damaged ones, if damage is passed over, and those of a file that has only begun, if it may be.
async fn metadata_of(file: &RecordFile, options: ContainerOptions) -> Result<(&RecordFile, RecordsMetadata)> {
    let counters = Arc::default();
    match read_metadata(file.clone(), Arc::clone(&counters)).await {
        Ok(metadata) => Ok((file, metadata.unwrap_or_default())),
        Err(ReadError::Other(error @ (Error::Store { .. } | Error::Changed { .. }))) => Err(error),
        Err(_) if options.on_corruption == OnCorruption::Skip => {
            Ok((file, read_metadata_alone(file.clone(), counters).await))
        }
        Err(ReadError::Damage(damage))
            if options.on_truncated == OnTruncated::End
                && is_unfinished(file, &damage, &counters).await? =>
        {
            Ok((file, RecordsMetadata::default()))
        }
        Err(error) => Err(ReadError::of(file)(error)),
    }
}

/// The records of files with the same message type, as columns.
#[derive(Debug)]
struct RiegeliTable {
    decoder: RecordDecoder,
    remarks: Remarks,
    container: ContainerOptions,
}

impl Table for RiegeliTable {
    fn schema(&self) -> &SchemaRef {
        self.decoder.schema()
    }

    fn proto_text(&self) -> Option<String> {
        self.decoder.proto_text()
    }

    fn message_type(&self) -> Option<MessageType> {
        self.decoder.record_type().map(RecordType::message_type)
    }

    fn writer(&self, schema: &SchemaRef, extension: &str, options: &Options) -> Result<Arc<dyn Writer>> {
        let schema = self.decoder.columns_to_write(schema, options)?;
        sink::writer(&schema, extension, options, self.decoder.record_type(), &self.remarks)
    }

    fn scan(&self, request: ScanRequest) -> BatchStream {
        if request.projection.columns.is_empty()
            && request.filter.is_none()
            && self.decoder.every_record_is_a_row()
        {
            return scan::row_counts(&request, self.container);
        }
        match ScanPlan::new(&self.decoder, &request) {
            Ok(plan) => scan::batches(request, self.container, plan),
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
    }
}

/// The records of files as bytes, and what the files say of them.
#[derive(Debug)]
struct WholeRecords {
    said: FileDescriptors,
    read: RiegeliTable,
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

    fn writer(&self, schema: &SchemaRef, extension: &str, options: &Options) -> Result<Arc<dyn Writer>> {
        sink::record_writer(schema, extension, options, &self.said, &self.read.remarks)
    }

    fn scan(&self, request: ScanRequest) -> BatchStream {
        self.read.scan(request)
    }
}
