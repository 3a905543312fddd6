//! RecordIO as a container of byte records: what the engine asks of the format.

use std::ops::Range;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::BoxStream;
use recordfusion_core::{
    BlockStream, ByteStream, Inspection, Limits, OptionInfo, Options, RecordFile, Result, ScanCounters,
    ScanRequest, Verification,
};
use recordfusion_protobuf::BatchDecoder;
use recordfusion_records::{Container, ContainerWriter, FileDescription, NoColumnChunk, RecordConnector};

use crate::header::{ChunkHeader, HEADER_LEN};
use crate::inspect::{inspect, verify};
use crate::options::{OPTIONS, ReadOptions};
use crate::scan::Part;
use crate::{repair, scan, sink};

/// Multiples at which ranges are cut. The format has no blocks; cuts that are finer find no more chunks.
const ALIGNMENT: u64 = 64 << 10;

/// The connector of RecordIO files of the PaddlePaddle family.
pub type RecordioConnector = RecordConnector<Recordio>;

/// RecordIO files of the PaddlePaddle family.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recordio;

impl Container for Recordio {
    type Options = ReadOptions;
    type Chunk = NoColumnChunk;

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
        OPTIONS
    }

    fn read_options(&self, options: &Options) -> Result<ReadOptions> {
        ReadOptions::from_options(options)
    }

    fn records(
        &self,
        file: RecordFile,
        range: Range<u64>,
        options: &ReadOptions,
        counters: Arc<ScanCounters>,
    ) -> BlockStream {
        scan::records(Part::new(&file, range, (options.container, options.split), None, &counters))
    }

    fn blocks(&self, request: &ScanRequest, options: &ReadOptions) -> BlockStream {
        scan::records(Part::of(request, (options.container, options.split)))
    }

    fn counts(&self, request: &ScanRequest, options: &ReadOptions) -> BoxStream<'static, Result<u64>> {
        let part = Part::of(request, (options.container, options.split));
        scan::counts(part, options.trust_headers)
    }

    fn reader(&self, _: &BatchDecoder, _: &ReadOptions) {}

    fn inspect<'a>(&'a self, file: &'a RecordFile) -> BoxFuture<'a, Result<Inspection>> {
        inspect(file).boxed()
    }

    fn verify<'a>(
        &'a self,
        file: &'a RecordFile,
        options: &'a ReadOptions,
    ) -> BoxFuture<'a, Result<Verification>> {
        verify(file, options.container).boxed()
    }

    fn repair(&self, file: RecordFile, options: &ReadOptions, counters: Arc<ScanCounters>) -> ByteStream {
        repair::repair(file, options.container, counters)
    }

    fn write_options(&self) -> &'static [OptionInfo] {
        sink::OPTIONS
    }

    fn check_write_options(&self, options: &Options) -> Result<()> {
        sink::check_options(options)
    }

    fn writer(
        &self,
        _extension: &str,
        options: &Options,
        _description: FileDescription,
    ) -> Result<Arc<dyn ContainerWriter>> {
        sink::writer(options)
    }

    /// The format has no room for a description.
    fn keeps_descriptions(&self, _extension: &str) -> bool {
        false
    }
}
