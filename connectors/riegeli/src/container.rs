//! Riegeli/records and ArrayRecord as a container of byte records: what the engine asks of the format.

use std::ops::Range;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::BoxStream;
use recordfusion_core::{
    BlockStream, ByteStream, CounterInfo, Error, Inspection, OnCorruption, OnTruncated, OptionInfo, Options,
    RecordFile, Result, ScanCounters, ScanRequest, Verification,
};
use recordfusion_protobuf::BatchDecoder;
use recordfusion_records::{
    Container, ContainerOptions, ContainerWriter, FileDescription, InheritedMetadata, ItemStream,
    RecordConnector,
};

use crate::header::{BlockHeader, SIGNATURE};
use crate::inspect::{inspect, verify};
use crate::metadata::RecordsMetadata;
use crate::options::{OPTIONS, container_options};
use crate::position::{BLOCK, BLOCK_HEADER};
use crate::read::{
    ReadError, SIGNATURE_LEN, is_unfinished, metadata_end, read_metadata, read_metadata_alone,
};
use crate::scan::{CHUNKS_COLUMNAR, ChunkColumns, TransposedChunk};
use crate::{repair, scan, sink};

/// Block headers that are looked at to recognise a file by.
const BLOCKS_LOOKED_AT: u64 = 16;

/// The connector of Riegeli/records files, among them ArrayRecord files.
pub type RiegeliConnector = RecordConnector<Riegeli>;

/// Riegeli/records files, among them ArrayRecord files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Riegeli;

impl Container for Riegeli {
    type Options = ContainerOptions;
    type Chunk = TransposedChunk;

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
        OPTIONS
    }

    fn read_options(&self, options: &Options) -> Result<ContainerOptions> {
        container_options(options)
    }

    fn describe<'a>(
        &'a self,
        file: &'a RecordFile,
        options: &'a ContainerOptions,
    ) -> BoxFuture<'a, Result<FileDescription>> {
        async move {
            let metadata = metadata_of(file, *options).await?;
            Ok(FileDescription {
                message_type: metadata.record_type_name.filter(|name| !name.is_empty()),
                descriptors: metadata.file_descriptors,
                arrow_schema: metadata.arrow_schema,
                inherited: InheritedMetadata {
                    comments: metadata.file_comment.into_iter().collect(),
                    extensions: vec![metadata.extensions],
                },
                verbatim: true,
            })
        }
        .boxed()
    }

    fn records(
        &self,
        file: RecordFile,
        range: Range<u64>,
        options: &ContainerOptions,
        counters: Arc<ScanCounters>,
    ) -> BlockStream {
        scan::records(file, range, *options, counters)
    }

    fn counts(&self, request: &ScanRequest, options: &ContainerOptions) -> BoxStream<'static, Result<u64>> {
        scan::counts(request, *options)
    }

    fn items(&self, request: &ScanRequest, options: &ContainerOptions) -> ItemStream<TransposedChunk> {
        scan::items(request, *options)
    }

    fn reader(&self, decoder: &BatchDecoder, options: &ContainerOptions) -> ChunkColumns {
        ChunkColumns::new(decoder, options.limits)
    }

    fn counters(&self) -> &'static [CounterInfo] {
        &[CHUNKS_COLUMNAR]
    }

    fn inspect<'a>(&'a self, file: &'a RecordFile) -> BoxFuture<'a, Result<Inspection>> {
        inspect(file).boxed()
    }

    fn verify<'a>(
        &'a self,
        file: &'a RecordFile,
        options: &'a ContainerOptions,
    ) -> BoxFuture<'a, Result<Verification>> {
        async move { verify(file, *options).await.map_err(ReadError::of(file)) }.boxed()
    }

    fn repair(
        &self,
        file: RecordFile,
        options: &ContainerOptions,
        counters: Arc<ScanCounters>,
    ) -> ByteStream {
        repair::repair(file, *options, counters)
    }

    fn write_options(&self) -> &'static [OptionInfo] {
        sink::OPTIONS
    }

    fn check_write_options(&self, options: &Options) -> Result<()> {
        sink::check_options(options)
    }

    fn writer(
        &self,
        extension: &str,
        options: &Options,
        description: FileDescription,
    ) -> Result<Arc<dyn ContainerWriter>> {
        sink::writer(extension, options, description)
    }

    /// ArrayRecord files have no metadata.
    fn keeps_descriptions(&self, extension: &str) -> bool {
        !sink::is_array_record(extension)
    }
}

/// Metadata that are intact but cannot be decoded count as absent: the records can be read without them. So do
/// damaged ones, if damage is passed over, and those of a file that has only begun, if it may be.
async fn metadata_of(file: &RecordFile, options: ContainerOptions) -> Result<RecordsMetadata> {
    let counters = Arc::default();
    match read_metadata(file.clone(), Arc::clone(&counters)).await {
        Ok(metadata) => Ok(metadata.unwrap_or_default()),
        Err(ReadError::Other(error @ (Error::Store { .. } | Error::Changed { .. }))) => Err(error),
        Err(_) if options.on_corruption == OnCorruption::Skip => {
            Ok(read_metadata_alone(file.clone(), counters).await)
        }
        Err(ReadError::Damage(damage))
            if options.on_truncated == OnTruncated::End
                && is_unfinished(file, &damage, &counters).await? =>
        {
            Ok(RecordsMetadata::default())
        }
        Err(error) => Err(ReadError::of(file)(error)),
    }
}
