//! What a format of byte records implements.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::{self, BoxFuture, FutureExt};
use futures::stream::{BoxStream, StreamExt, TryStreamExt};
use recordfusion_core::{
    Assembler, BlockStream, ByteStream, CounterInfo, Inspection, OptionInfo, Options, RecordFile, Result,
    ScanCounters, ScanRequest, Verification,
};
use recordfusion_protobuf::BatchDecoder;

use crate::chunker::OpenChunk;
use crate::coalesce::ScanItem;
use crate::description::FileDescription;
use crate::scan::{ColumnChunk, ItemStream};

/// A format whose files hold byte records: how they are found in a file, and put into one. What the records are is
/// none of its concern.
pub trait Container: Debug + Clone + Send + Sync + 'static {
    /// How files are read, parsed.
    type Options: Debug + Clone + Send + Sync + 'static;
    /// Chunks whose columns may be had without their records; [`crate::NoColumnChunk`] if there are none.
    type Chunk: ColumnChunk + 'static;

    /// As [`recordfusion_core::Connector::name`].
    fn name(&self) -> &'static str;

    /// As [`recordfusion_core::Connector::extensions`].
    fn extensions(&self) -> &'static [&'static str];

    /// As [`recordfusion_core::Connector::signature_len`].
    fn signature_len(&self) -> u64;

    /// As [`recordfusion_core::Connector::recognises`].
    fn recognises(&self, prefix: &[u8]) -> bool;

    /// As [`recordfusion_core::Connector::metadata_len`].
    fn metadata_len(&self, head: &[u8], size: u64) -> u64 {
        let _ = (head, size);
        0
    }

    /// As [`recordfusion_core::Connector::recognises_inside`].
    ///
    /// # Errors
    /// Those of the store.
    fn recognises_inside<'a>(&'a self, file: &'a RecordFile) -> BoxFuture<'a, Result<bool>> {
        let _ = file;
        future::ready(Ok(false)).boxed()
    }

    /// As [`recordfusion_core::Connector::range_alignment`].
    fn range_alignment(&self) -> u64;

    /// The options of reading that say how records are found.
    fn options(&self) -> &'static [OptionInfo];

    /// Reads them; other names are not looked at.
    ///
    /// # Errors
    /// [`recordfusion_core::Error::Option`] for a value that its option cannot have.
    fn read_options(&self, options: &Options) -> Result<Self::Options>;

    /// What a file says of its records; nothing in formats without room for it.
    ///
    /// # Errors
    /// Those of the file.
    fn describe<'a>(
        &'a self,
        file: &'a RecordFile,
        options: &'a Self::Options,
    ) -> BoxFuture<'a, Result<FileDescription>> {
        let _ = (file, options);
        future::ready(Ok(FileDescription::default())).boxed()
    }

    /// The records of the chunks that begin in `range`, in file order.
    ///
    /// # Errors
    /// The stream ends with the first fault of the file.
    fn records(
        &self,
        file: RecordFile,
        range: Range<u64>,
        options: &Self::Options,
        counters: Arc<ScanCounters>,
    ) -> BlockStream;

    /// How many records the range of the request has, in parts: from headers where that gives the same answer as
    /// reading.
    ///
    /// # Errors
    /// The stream ends with the first fault of the file.
    fn counts(&self, request: &ScanRequest, options: &Self::Options) -> BoxStream<'static, Result<u64>> {
        self.blocks(request, options).map_ok(|block| block.len() as u64).boxed()
    }

    /// What the range of the request has for a scan, in file order.
    ///
    /// # Errors
    /// The stream ends with the first fault of the file.
    fn items(&self, request: &ScanRequest, options: &Self::Options) -> ItemStream<Self::Chunk> {
        self.blocks(request, options).map_ok(ScanItem::Records).boxed()
    }

    /// The records of the range of the request.
    ///
    /// # Errors
    /// As [`Self::records`].
    fn blocks(&self, request: &ScanRequest, options: &Self::Options) -> BlockStream {
        self.records(request.file.clone(), request.range.clone(), options, Arc::clone(&request.counters))
    }

    /// What takes the columns of `decoder` from chunks.
    fn reader(&self, decoder: &BatchDecoder, options: &Self::Options)
    -> <Self::Chunk as ColumnChunk>::Reader;

    /// What its scans count besides what every scan does.
    fn counters(&self) -> &'static [CounterInfo] {
        &[]
    }

    /// As [`recordfusion_core::Connector::inspect`].
    ///
    /// # Errors
    /// The first fault met.
    fn inspect<'a>(&'a self, file: &'a RecordFile) -> BoxFuture<'a, Result<Inspection>>;

    /// As [`recordfusion_core::Verifying::verify`].
    ///
    /// # Errors
    /// As there.
    fn verify<'a>(
        &'a self,
        file: &'a RecordFile,
        options: &'a Self::Options,
    ) -> BoxFuture<'a, Result<Verification>>;

    /// As [`recordfusion_core::Repairing::repair`].
    ///
    /// # Errors
    /// As there.
    fn repair(&self, file: RecordFile, options: &Self::Options, counters: Arc<ScanCounters>) -> ByteStream;

    /// The options of writing that say how records become a file.
    fn write_options(&self) -> &'static [OptionInfo];

    /// Checks them, for files of any of the format's extensions; other names are not looked at.
    ///
    /// # Errors
    /// [`recordfusion_core::Error::Option`] for a value that its option cannot have.
    fn check_write_options(&self, options: &Options) -> Result<()>;

    /// Plans the writing of files of one of the format's extensions, whose records are as in `description`.
    ///
    /// # Errors
    /// Wrong options; a description that the files cannot hold.
    fn writer(
        &self,
        extension: &str,
        options: &Options,
        description: FileDescription,
    ) -> Result<Arc<dyn ContainerWriter>>;

    /// Whether files of this extension say of what type their records are.
    fn keeps_descriptions(&self, extension: &str) -> bool;
}

/// Puts byte records into files of one kind.
pub trait ContainerWriter: Debug + Send + Sync {
    /// The first chunk of a file.
    ///
    /// # Errors
    /// Those of the format.
    fn open_chunk(&self) -> Result<Box<dyn OpenChunk>>;

    /// As [`recordfusion_core::Writer::assembler`].
    ///
    /// # Errors
    /// Those of the format.
    fn assembler(&self) -> Result<Box<dyn Assembler>>;

    /// As [`recordfusion_core::Writer::tail`].
    fn tail(&self, size: u64) -> Range<u64> {
        size..size
    }

    /// As [`recordfusion_core::Writer::appender`].
    ///
    /// # Errors
    /// As there.
    fn appender(&self, size: u64, tail: &Bytes) -> Result<Box<dyn Assembler>>;

    /// As [`recordfusion_core::Writer::parallelism`].
    fn parallelism(&self) -> Option<usize> {
        None
    }
}
