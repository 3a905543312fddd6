//! Copies record files, or a query over them, to Parquet, CSV, NDJSON, Arrow IPC or record files, and the other
//! way round.
//!
//! The flow: the inputs become one table, cut into byte ranges of some MiB; each range is decoded and encoded
//! by one task, several at a time, and what they become is put in order (`ordered.rs`) and appended to the file
//! (`formats.rs`); the bytes go to an upload that becomes visible only when it is complete. Records
//! keep the order of the files. Memory is bounded by some batches and encoded units for each worker, whatever
//! the size of the files.

pub(crate) mod compact;
mod formats;
mod ordered;
mod summary;

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{plan_datafusion_err, plan_err};
use datafusion::datasource::file_format::options::ArrowReadOptions;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::Result;
use datafusion::execution::{SessionState, SessionStateBuilder, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{CsvReadOptions, DataFrame, JsonReadOptions, ParquetReadOptions, SessionContext};
use futures::{StreamExt, TryStreamExt};
use object_store::ObjectStoreExt;
use recordfusion_core::{MessageType, Options, Writer};

use formats::FileEncoder;
pub use formats::{OutputFormat, ParquetCompression};
use summary::notes;
pub use summary::{Summary, lost_regions, scan_metric};

use crate::datasource::{clipped, external, list_files, range_setting, setting, write_options};
use crate::registry;
use crate::write::{Mode, UnfinishedFile, Upload, Written, begin_upload, output_url, publish, write_file};
use crate::{RecordTable, TableDefinition};

/// Input bytes of one range, and so of a row group: enough for good statistics, few enough for all workers to
/// have some until the end.
const RANGE_BYTES: u64 = 8 << 20;
/// Most ranges of one conversion; larger inputs get larger ranges.
const MAX_RANGES: u64 = 1024;

/// What to convert.
#[derive(Debug, Clone)]
pub struct Conversion {
    /// Files, globs or folders, read together as one table.
    pub inputs: Vec<String>,
    /// The file to write, or a folder (ends in `/`, or exists as one) for one file per partition.
    pub output: String,
    /// The format; by the extension of the output if it is `None`.
    pub format: Option<OutputFormat>,
    /// SQL select list; all columns if it is `None`.
    pub select: Option<String>,
    /// SQL predicate; all rows if it is `None`.
    pub predicate: Option<String>,
    /// Options of the input format; they override the settings of the session.
    pub options: Options,
    /// Options of writing record files.
    pub write_options: Options,
    /// Codec of Parquet output.
    pub compression: ParquetCompression,
    /// Workers, and files of a folder output.
    pub partitions: usize,
    /// Whether the rows go behind those of the output, a record file, if it is there already.
    pub append: bool,
    /// Whether the message type of records whose files cannot say it is written too: beside a file, as
    /// `<output>.fds`, or into a folder, as `_descriptors.fds`.
    pub write_descriptor_set: bool,
}

/// How far a conversion is; read it while [`Prepared::run`] goes on.
#[derive(Debug, Default)]
pub struct Progress {
    written: Written,
}

/// A conversion that is planned and checked, ready to run.
#[derive(Debug)]
pub struct Prepared {
    plan: Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
    state: SessionState,
    conversion: Conversion,
    format: OutputFormat,
    /// Of record files.
    writer: Option<Arc<dyn Writer>>,
    bytes_in: u64,
    progress: Arc<Progress>,
}

impl Conversion {
    /// All rows and columns of `inputs` to `output`, in the format of its extension, with as many workers as
    /// there are cores.
    pub fn new(inputs: impl IntoIterator<Item = impl Into<String>>, output: impl Into<String>) -> Self {
        Self {
            inputs: inputs.into_iter().map(Into::into).collect(),
            output: output.into(),
            format: None,
            select: None,
            predicate: None,
            options: Options::new(),
            write_options: Options::new(),
            compression: ParquetCompression::default(),
            partitions: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            append: false,
            write_descriptor_set: false,
        }
    }

    /// Opens the inputs and plans the query. Nothing is written yet.
    ///
    /// # Errors
    /// Whatever is wrong with the inputs, the options, the SQL or the output's name.
    pub async fn prepare(self, ctx: &SessionContext) -> Result<Prepared> {
        let format = match self.format {
            Some(format) => format,
            None => OutputFormat::by_extension(&self.output).ok_or_else(|| {
                plan_datafusion_err!(
                    "cannot tell the output format from '{}': name one of {}",
                    self.output,
                    OutputFormat::names()
                )
            })?,
        };
        let listing = ctx.state();
        let range = range_setting(&listing, &self.options)?.unwrap_or(0..u64::MAX);
        let mut bytes_in = 0;
        let output = if self.is_folder() { None } else { Some(output_url(&self.output)?) };
        for input in &self.inputs {
            let url = ListingTableUrl::parse(input)?;
            for file in list_files(&listing, &url).await? {
                let is_output = |output: &ListingTableUrl| {
                    output.object_store() == url.object_store() && *output.prefix() == file.location
                };
                if output.as_ref().is_some_and(is_output) {
                    return plan_err!("{} is both an input and the output", file.name);
                }
                let read = clipped(&range, file.size);
                bytes_in += read.end - read.start;
            }
        }
        let ranges = if self.is_folder() {
            self.partitions
        } else {
            let ranges = (bytes_in / RANGE_BYTES).clamp(1, MAX_RANGES);
            usize::try_from(ranges).unwrap_or(1).max(self.partitions)
        };
        let ctx = in_order(&listing, ranges);
        let behind = self.open_output(&listing, format).await?;
        let input = self.open_input(&ctx, format, behind.as_ref()).await?;
        ctx.register_table("input", Arc::clone(&input.provider))?;
        let select = match (&input.whole_records, &self.select) {
            (Some(_), _) => RECORD_COLUMN,
            (None, Some(select)) => select,
            (None, None) => "*",
        };
        let mut sql = format!("SELECT {select} FROM input");
        if let Some(predicate) = &self.predicate {
            sql.push_str(&format!(" WHERE {predicate}"));
        }
        let plan = ctx.sql(&sql).await?.create_physical_plan().await?;
        let writer = match format {
            OutputFormat::Records(extension) => {
                let table = behind.as_ref().or(input.whole_records.as_deref());
                Some(self.writer(&listing, &plan.schema(), extension, table)?)
            }
            _ => None,
        };
        let message_type = writer.as_ref().and_then(|writer| writer.message_type());
        if self.write_descriptor_set && message_type.is_none() {
            return plan_err!(
                "{} needs no descriptor set: its records are no messages, or it says itself of what type they are",
                self.output
            );
        }
        let progress = Arc::default();
        Ok(Prepared {
            plan,
            task: ctx.task_ctx(),
            state: ctx.state(),
            conversion: self,
            format,
            writer,
            bytes_in,
            progress,
        })
    }

    /// The record file that rows are to be added to, if it is there and not empty.
    async fn open_output(&self, state: &SessionState, format: OutputFormat) -> Result<Option<RecordTable>> {
        if !self.append {
            return Ok(None);
        }
        if self.is_folder() || !matches!(format, OutputFormat::Records(_)) {
            return plan_err!("rows can be added to a record file only, which {} is not", self.output);
        }
        let url = output_url(&self.output)?;
        let found = state.runtime_env().object_store(&url)?.head(url.prefix()).await;
        if !found.is_ok_and(|file| file.size > 0) {
            return Ok(None);
        }
        RecordTable::open(state, TableDefinition::new(url.as_str())).await.map(Some)
    }

    /// The inputs as one table. Records that go to record files have their bytes as a column, if the rows go
    /// `behind` none of another message type.
    async fn open_input(
        &self,
        ctx: &SessionContext,
        format: OutputFormat,
        behind: Option<&RecordTable>,
    ) -> Result<Input> {
        let state = ctx.state();
        let is_foreign = |input: &String| {
            let extension = input.rsplit_once('.').map_or("", |(_, extension)| extension).to_lowercase();
            registry::connector(&extension).is_none() && OutputFormat::by_extension(input).is_some()
        };
        if self.inputs.iter().any(is_foreign) {
            return Ok(Input { provider: self.foreign_input(ctx).await?, whole_records: None });
        }
        if matches!(format, OutputFormat::Records(_)) && self.select.is_none() {
            let given = self.options.get("metadata_columns").map(str::to_string);
            let others = given.or_else(|| setting(&state, "metadata_columns")).unwrap_or_default();
            let columns = format!("{others},record");
            let table =
                self.open_records(&state, self.options.clone().with("metadata_columns", columns)).await?;
            if behind.is_none_or(|behind| behind.proto_text() == table.proto_text()) {
                let table = Arc::new(table);
                return Ok(Input { provider: Arc::clone(&table) as _, whole_records: Some(table) });
            }
        }
        let table = self.open_records(&state, self.options.clone()).await?;
        Ok(Input { provider: Arc::new(table), whole_records: None })
    }

    async fn open_records(&self, state: &SessionState, options: Options) -> Result<RecordTable> {
        let locations = self.inputs.clone();
        RecordTable::open(state, TableDefinition { locations, options, ..Default::default() }).await
    }

    /// Inputs of DataFusion's own formats, and record files among them, as one table.
    async fn foreign_input(&self, ctx: &SessionContext) -> Result<Arc<dyn TableProvider>> {
        let mut all: Option<DataFrame> = None;
        for input in &self.inputs {
            let extension = input.rsplit_once('.').map_or("", |(_, extension)| extension);
            let one = match OutputFormat::by_extension(input) {
                Some(OutputFormat::Parquet) => {
                    let options = ParquetReadOptions { file_extension: extension, ..Default::default() };
                    ctx.read_parquet(input, options).await?
                }
                Some(OutputFormat::Csv) => {
                    ctx.read_csv(input, CsvReadOptions::new().file_extension(extension)).await?
                }
                Some(OutputFormat::Ndjson) => {
                    ctx.read_json(input, JsonReadOptions::default().file_extension(extension)).await?
                }
                Some(OutputFormat::Arrow) => {
                    let options = ArrowReadOptions { file_extension: extension, ..Default::default() };
                    ctx.read_arrow(input, options).await?
                }
                _ => ctx.sql(&format!("SELECT * FROM '{}'", input.replace('\'', "''"))).await?,
            };
            all = Some(match all {
                Some(others) => others.union(one)?,
                None => one,
            });
        }
        match all {
            Some(all) => Ok(all.into_view()),
            None => plan_err!("nothing to convert"),
        }
    }

    /// The writer of record files, of the messages of `table` if there is one.
    fn writer(
        &self,
        state: &SessionState,
        schema: &SchemaRef,
        extension: &str,
        table: Option<&RecordTable>,
    ) -> Result<Arc<dyn Writer>> {
        let Some(connector) = registry::connector(extension) else {
            return plan_err!("'{extension}' is of no known record format");
        };
        let options = write_options(state, connector.as_ref(), &self.write_options);
        let of_table = table.and_then(|table| table.writer(connector.name(), schema, extension, &options));
        let of_other_format = || {
            let records = table.and_then(RecordTable::message_type);
            connector.writer(schema, extension, &options, records.as_ref())
        };
        of_table.unwrap_or_else(of_other_format).map_err(external)
    }

    fn is_folder(&self) -> bool {
        self.output.ends_with('/') || std::path::Path::new(&self.output).is_dir()
    }
}

/// The column of whole records.
const RECORD_COLUMN: &str = "\"_record\"";

/// What is converted.
struct Input {
    provider: Arc<dyn TableProvider>,
    /// The same, if its records are written as they are.
    whole_records: Option<Arc<RecordTable>>,
}

/// A session like `state` whose scans give partitions of consecutive ranges, in the order of the files.
fn in_order(state: &SessionState, partitions: usize) -> SessionContext {
    let mut config =
        state.config().clone().with_target_partitions(partitions).with_repartition_file_min_size(0);
    let options = config.options_mut();
    options.execution.enable_file_stream_work_stealing = false;
    options.optimizer.enable_round_robin_repartition = false;
    SessionContext::new_with_state(
        SessionStateBuilder::new_from_existing(state.clone()).with_config(config).build(),
    )
}

impl Prepared {
    /// How far the conversion is.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Length of the inputs in bytes.
    pub fn bytes_in(&self) -> u64 {
        self.bytes_in
    }

    /// The plan, whose metrics tell how many bytes were read so far.
    pub fn plan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }

    /// Converts. On an error nothing is left under the names of the outputs that were not complete.
    ///
    /// # Errors
    /// Whatever fails while reading, decoding, encoding or writing.
    pub async fn run(&self) -> Result<Summary> {
        let files =
            if self.conversion.is_folder() { self.write_folder().await? } else { self.write_file().await? };
        Ok(Summary {
            rows: self.progress.rows(),
            bytes_in: self.bytes_in,
            bytes_out: self.progress.bytes_written(),
            files,
            notes: notes(&self.plan, self.progress.written.losses()),
            lost: lost_regions(&self.plan),
            descriptor_set: self.message_type().map(|message| (self.descriptor_set_path(), message.name)),
        })
    }

    /// The message type that is written too.
    fn message_type(&self) -> Option<MessageType> {
        self.writer.as_ref().filter(|_| self.conversion.write_descriptor_set)?.message_type()
    }

    fn descriptor_set_path(&self) -> String {
        let output = &self.conversion.output;
        match self.conversion.is_folder() {
            true => format!("{}/_descriptors.fds", output.trim_end_matches('/')),
            false => format!("{output}.fds"),
        }
    }

    /// The descriptor set, if it is written too.
    async fn write_descriptor_set(&self) -> Result<Option<UnfinishedFile>> {
        let Some(message_type) = self.message_type() else { return Ok(None) };
        let mut upload = begin_upload(&self.state, &self.descriptor_set_path())?;
        let outcome = upload.write(message_type.descriptor_set()).await;
        UnfinishedFile::new(upload, None, outcome).await.map(Some)
    }

    async fn write_file(&self) -> Result<usize> {
        let partitions = self.plan.properties().partitioning.partition_count();
        let file = self.write(0..partitions, &self.conversion.output).await?;
        let files = self.write_descriptor_set().await?.into_iter().chain([file]);
        publish(files.collect(), None).await?;
        Ok(1)
    }

    async fn write_folder(&self) -> Result<usize> {
        let folder = self.conversion.output.trim_end_matches('/');
        let url = ListingTableUrl::parse(format!("{folder}/"))?;
        if let Some(file) = list_files(&self.state, &url).await?.first() {
            return plan_err!("the folder {folder} is not empty: it holds {}", file.name);
        }
        let partitions = self.plan.properties().partitioning.partition_count();
        let extension = self.format.extension();
        let parts = (0..partitions).map(|partition| {
            let path = format!("{folder}/part-{partition:05}.{extension}");
            async move { self.write(partition..partition + 1, &path).await }
        });
        let mut parts = futures::stream::iter(parts).buffer_unordered(self.conversion.partitions.max(1));
        let (mut complete, mut failed) = (Vec::new(), None);
        while let Some(part) = parts.next().await {
            match part {
                Ok(file) => complete.push(file),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        drop(parts);
        if failed.is_none() {
            complete.extend(self.write_descriptor_set().await?);
        }
        publish(complete, failed).await?;
        Ok(partitions)
    }

    /// Writes the rows of some partitions to one file.
    async fn write(&self, partitions: Range<usize>, path: &str) -> Result<UnfinishedFile> {
        let mut upload = begin_upload(&self.state, path)?;
        if let Some(writer) = &self.writer {
            return self.write_records(writer.as_ref(), partitions, upload).await;
        }
        let encoder = FileEncoder::new(self.format, &self.plan.schema(), self.conversion.compression)?;
        let outcome = self.write_units(partitions, encoder, &mut upload).await;
        UnfinishedFile::new(upload, None, outcome).await
    }

    /// Writes the rows of some partitions to one record file.
    async fn write_records(
        &self,
        writer: &dyn Writer,
        partitions: Range<usize>,
        upload: Upload,
    ) -> Result<UnfinishedFile> {
        let workers = self.conversion.partitions.max(1);
        let batches = ordered::batches(&self.plan, &self.task, partitions, workers);
        let mode = if self.conversion.append { Mode::Append } else { Mode::Create };
        write_file(writer, batches, upload, mode, workers, &self.progress.written).await
    }

    async fn write_units(
        &self,
        partitions: Range<usize>,
        mut encoder: FileEncoder,
        upload: &mut Upload,
    ) -> Result<()> {
        let workers = self.conversion.partitions.max(1);
        let mut units = ordered::encode(&self.plan, &self.task, partitions, workers, encoder.new_unit());
        let written = &self.progress.written;
        while let Some(unit) = units.try_next().await? {
            let rows = unit.rows;
            let bytes = encoder.append(unit)?;
            written.rows.fetch_add(rows, Ordering::Relaxed);
            written.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            upload.write(bytes).await?;
        }
        let last = encoder.finish()?;
        written.bytes.fetch_add(last.len() as u64, Ordering::Relaxed);
        upload.write(last).await
    }
}

impl Progress {
    /// Rows written so far.
    pub fn rows(&self) -> u64 {
        self.written.rows.load(Ordering::Relaxed)
    }

    /// Bytes written so far.
    pub fn bytes_written(&self) -> u64 {
        self.written.bytes.load(Ordering::Relaxed)
    }
}
