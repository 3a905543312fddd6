//! One connector over every container of byte records, and its table.

use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt, TryStreamExt};
use prost::Message;
use recordfusion_core::{
    BatchStream, BlockStream, ByteRecords, ByteStream, Connector, CounterInfo, Inspection, MessageType,
    Messages, OPEN_FILES, OptionInfo, Options, RecordFile, Repairing, Result, ScanCounters, ScanPlan,
    ScanRequest, Table, TableWriting, Verification, Verifying, Writer, Writing, open_files, row_counts, scan,
};
use recordfusion_protobuf::counters::COUNTERS;
use recordfusion_protobuf::{
    Features, FileDescriptors, ProtobufOptions, RecordDecoder, WriteOptions, said_of_records,
};

use crate::coalesce::first_blocks;
use crate::container::Container;
use crate::description::{FileDescription, InheritedMetadata};
use crate::scan::{RecordColumns, RecordGroups};
use crate::state::TableState;
use crate::whole_records::is_metadata_record;
use crate::writer::{Behind, RowsToWrite, record_writer, writer};

/// A format of byte records.
#[derive(Debug, Clone)]
pub struct RecordConnector<C> {
    container: C,
    options: Vec<OptionInfo>,
    write_options: Vec<OptionInfo>,
    counters: Vec<CounterInfo>,
}

impl<C: Container> RecordConnector<C> {
    /// The connector of a container.
    pub fn new(container: C) -> Self {
        let options = [ProtobufOptions::OPTIONS, &[OPEN_FILES], container.options()].concat();
        let write_options =
            [container.write_options(), ProtobufOptions::TARGET, WriteOptions::OPTIONS].concat();
        let counters = [container.counters(), COUNTERS].concat();
        Self { container, options, write_options, counters }
    }

    fn read_options(&self, options: &Options) -> Result<(ProtobufOptions, C::Options)> {
        options.reject_unknown(&self.options)?;
        open_files(options)?;
        Ok((ProtobufOptions::from_options(options)?, self.container.read_options(options)?))
    }

    async fn open_table(&self, files: &[RecordFile], given: &Options) -> Result<RecordTable<C>> {
        let (records, options) = self.read_options(given)?;
        let (descriptors, inherited) = self.describe(files, &options, open_files(given)?).await?;
        let sample = first_blocks(files, records.sample_records(), |file| {
            self.container.records(file.clone(), 0..file.size, &options, Arc::default())
        });
        let decoder = RecordDecoder::open(&descriptors, &records, &sample.await?)?;
        Ok(RecordTable {
            container: self.container.clone(),
            decoder,
            inherited,
            options,
            given: given.clone(),
        })
    }

    /// What each file says of its records, and all of them of themselves. Neighbours with equal descriptors share them.
    async fn describe(
        &self,
        files: &[RecordFile],
        options: &C::Options,
        open_files: usize,
    ) -> Result<(Vec<FileDescriptors>, InheritedMetadata)> {
        let reads: Vec<_> = files.iter().map(|file| self.container.describe(file, options)).collect();
        let mut found = stream::iter(reads).buffered(open_files);
        let mut all: Vec<FileDescriptors> = Vec::with_capacity(files.len());
        let mut inherited = InheritedMetadata::default();
        while let Some(description) = found.try_next().await? {
            inherited.merge(description.inherited);
            let last = all.last().filter(|last| last.descriptors == description.descriptors);
            let descriptors = last.map_or(description.descriptors, |last| last.descriptors.clone());
            let file = files.get(all.len()).map(|file| file.name.clone()).unwrap_or_default();
            all.push(FileDescriptors {
                file,
                message_type: description.message_type,
                descriptors,
                arrow_schema: description.arrow_schema,
            });
        }
        Ok((all, inherited))
    }
}

impl<C: Container + Default> Default for RecordConnector<C> {
    fn default() -> Self {
        Self::new(C::default())
    }
}

impl<C: Container> Connector for RecordConnector<C> {
    fn name(&self) -> &'static str {
        self.container.name()
    }

    fn extensions(&self) -> &'static [&'static str] {
        self.container.extensions()
    }

    fn signature_len(&self) -> u64 {
        self.container.signature_len()
    }

    fn recognises(&self, prefix: &[u8]) -> bool {
        self.container.recognises(prefix)
    }

    fn metadata_len(&self, head: &[u8], size: u64) -> u64 {
        self.container.metadata_len(head, size)
    }

    fn recognises_inside<'a>(&'a self, file: &'a RecordFile) -> BoxFuture<'a, Result<bool>> {
        self.container.recognises_inside(file)
    }

    fn range_alignment(&self) -> u64 {
        self.container.range_alignment()
    }

    fn options(&self) -> &[OptionInfo] {
        &self.options
    }

    fn counters(&self) -> &[CounterInfo] {
        &self.counters
    }

    fn check_options(&self, options: &Options) -> Result<()> {
        self.read_options(options).map(drop)
    }

    fn open<'a>(
        &'a self,
        files: &'a [RecordFile],
        options: &'a Options,
    ) -> BoxFuture<'a, Result<Arc<dyn Table>>> {
        async move { Ok(Arc::new(self.open_table(files, options).await?) as Arc<dyn Table>) }.boxed()
    }

    fn decode_table(&self, bytes: &[u8]) -> Result<Arc<dyn Table>> {
        let state = TableState::read(bytes)?;
        let given = state.options();
        let (mut records, options) = self.read_options(&given)?;
        records.features = state.features()?.map(Features::Given).or(records.features);
        let decoder = RecordDecoder::open(&state.files(), &records, &[])?;
        let (container, inherited) = (self.container.clone(), state.inherited());
        Ok(Arc::new(RecordTable { container, decoder, inherited, options, given }))
    }

    fn inspect<'a>(&'a self, file: &'a RecordFile) -> BoxFuture<'a, Result<Inspection>> {
        self.container.inspect(file)
    }

    fn writing(&self) -> Option<&dyn Writing> {
        Some(self)
    }

    fn byte_records(&self) -> Option<&dyn ByteRecords> {
        Some(self)
    }

    fn verifying(&self) -> Option<&dyn Verifying> {
        Some(self)
    }

    fn repairing(&self) -> Option<&dyn Repairing> {
        Some(self)
    }
}

impl<C: Container> Writing for RecordConnector<C> {
    fn write_options(&self) -> &[OptionInfo] {
        &self.write_options
    }

    fn check_write_options(&self, options: &Options) -> Result<()> {
        options.reject_unknown(&self.write_options)?;
        WriteOptions::from_options(options)?;
        self.container.check_write_options(options)
    }

    fn writer(
        &self,
        schema: &SchemaRef,
        extension: &str,
        options: &Options,
        records: Option<&MessageType>,
    ) -> Result<Arc<dyn Writer>> {
        if let Some(MessageType { name, descriptors }) = records
            && is_metadata_record(schema)
        {
            let said = FileDescription {
                message_type: Some(name.clone()),
                descriptors: descriptors.clone(),
                verbatim: true,
                ..FileDescription::default()
            };
            return record_writer(&self.container, said, extension, options);
        }
        let inherited = &InheritedMetadata::default();
        let rows = RowsToWrite { schema, table_type: None, behind: Behind::Nothing, inherited };
        writer(&self.container, &rows, extension, options)
    }
}

impl<C: Container> ByteRecords for RecordConnector<C> {
    fn open_records<'a>(
        &'a self,
        files: &'a [RecordFile],
        options: &'a Options,
    ) -> BoxFuture<'a, Result<Arc<dyn Table>>> {
        async move {
            let (records, read_options) = self.read_options(options)?;
            let (descriptors, inherited) = self.describe(files, &read_options, open_files(options)?).await?;
            let said = said_of_records(&descriptors, &records)?;
            let (container, decoder) = (self.container.clone(), RecordDecoder::whole_records());
            let read =
                RecordTable { container, decoder, inherited, options: read_options, given: options.clone() };
            Ok(Arc::new(WholeRecords { said: Said(said), read }) as Arc<dyn Table>)
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
        match self.read_options(options) {
            Ok((_, options)) => self.container.records(file.clone(), range, &options, counters),
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
    }
}

impl<C: Container> Verifying for RecordConnector<C> {
    fn verify<'a>(
        &'a self,
        file: &'a RecordFile,
        options: &'a Options,
    ) -> BoxFuture<'a, Result<Verification>> {
        async move {
            let (_, options) = self.read_options(options)?;
            self.container.verify(file, &options).await
        }
        .boxed()
    }
}

impl<C: Container> Repairing for RecordConnector<C> {
    fn repair(&self, file: &RecordFile, options: &Options, counters: Arc<ScanCounters>) -> ByteStream {
        match self.read_options(options) {
            Ok((_, options)) => self.container.repair(file.clone(), &options, counters),
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
    }
}

/// The records of files that are read alike, as columns.
#[derive(Debug)]
struct RecordTable<C: Container> {
    container: C,
    decoder: RecordDecoder,
    inherited: InheritedMetadata,
    options: C::Options,
    /// The options as they were given.
    given: Options,
}

impl<C: Container> RecordTable<C> {
    fn plan(&self, request: &ScanRequest) -> Result<ScanPlan<RecordColumns<ReaderOf<C>>>> {
        let every_record_is_a_row = self.decoder.every_record_is_a_row();
        ScanPlan::new(self.decoder.schema(), request, every_record_is_a_row, |projection| {
            let decoder = self.decoder.scan(projection)?;
            let reader = self.container.reader(&decoder, &self.options);
            Ok(RecordColumns { decoder, reader })
        })
    }
}

/// What takes columns from the chunks of a container.
type ReaderOf<C> = <<C as Container>::Chunk as crate::scan::ColumnChunk>::Reader;

impl<C: Container> Table for RecordTable<C> {
    fn schema(&self) -> &SchemaRef {
        self.decoder.schema()
    }

    fn scan(&self, request: ScanRequest) -> BatchStream {
        let is_count = request.projection.columns.is_empty() && request.filter.is_none();
        if is_count && self.decoder.every_record_is_a_row() {
            let counts = self.container.counts(&request, &self.options);
            return row_counts(counts, request.limit, request.batch_size);
        }
        match self.plan(&request) {
            Ok(plan) => {
                let items = self.container.items(&request, &self.options);
                scan(RecordGroups::new(items, &request), plan, request)
            }
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
    }

    fn encode(&self) -> Result<Vec<u8>> {
        Ok(TableState::new(&self.given, &self.decoder, &self.inherited).encode_to_vec())
    }

    fn messages(&self) -> Option<&dyn Messages> {
        self.decoder.record_type().map(|message| message as &dyn Messages)
    }

    fn writing(&self) -> Option<&dyn TableWriting> {
        Some(self)
    }
}

impl<C: Container> TableWriting for RecordTable<C> {
    fn writer(&self, schema: &SchemaRef, extension: &str, options: &Options) -> Result<Arc<dyn Writer>> {
        let rows = RowsToWrite {
            schema,
            table_type: self.decoder.record_type(),
            behind: match self.decoder.are_plain_records() {
                true => Behind::PlainRecords,
                false => Behind::Messages,
            },
            inherited: &self.inherited,
        };
        writer(&self.container, &rows, extension, options)
    }
}

/// The records of files as bytes, and what the files say of them.
#[derive(Debug)]
struct WholeRecords<C: Container> {
    said: Said,
    read: RecordTable<C>,
}

/// What files say of records that are not looked into.
#[derive(Debug)]
struct Said(FileDescriptors);

impl Messages for Said {
    fn message_type(&self) -> MessageType {
        self.0.named().unwrap_or_default()
    }

    fn proto_text(&self) -> Option<String> {
        None
    }
}

impl<C: Container> Table for WholeRecords<C> {
    fn schema(&self) -> &SchemaRef {
        self.read.schema()
    }

    fn messages(&self) -> Option<&dyn Messages> {
        self.said.0.message_type.is_some().then_some(&self.said as &dyn Messages)
    }

    fn scan(&self, request: ScanRequest) -> BatchStream {
        self.read.scan(request)
    }

    fn writing(&self) -> Option<&dyn TableWriting> {
        Some(self)
    }
}

impl<C: Container> TableWriting for WholeRecords<C> {
    fn writer(&self, _: &SchemaRef, extension: &str, options: &Options) -> Result<Arc<dyn Writer>> {
        let FileDescriptors { message_type, descriptors, arrow_schema, .. } = self.said.0.clone();
        let inherited = self.read.inherited.clone();
        let said = FileDescription { message_type, descriptors, arrow_schema, inherited, verbatim: true };
        record_writer(&self.read.container, said, extension, options)
    }
}
