//! Copies record files, or a query over them, to Parquet, CSV, NDJSON, Arrow IPC or record files, and the other
//! way round.
//!
//! The flow: the inputs become one table, cut into byte ranges of some MiB; each range is decoded and encoded
//! by one task, several at a time, and what they become is put in order (`ordered.rs`) and appended to the file
//! (`encode/`); the bytes go to an upload that becomes visible only when it is complete. Records
//! keep the order of the files. Memory is bounded by some batches and encoded units for each worker, whatever
//! the size of the files.

mod formats;
mod ordered;
mod outputs;
mod summary;

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{plan_datafusion_err, plan_err};
use datafusion::datasource::file_format::options::{ArrowReadOptions, ReadOptions};
use datafusion::datasource::listing::ListingOptions;
use datafusion::error::Result;
use datafusion::execution::{SessionState, SessionStateBuilder, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{CsvReadOptions, DataFrame, JsonReadOptions, ParquetReadOptions, SessionContext};
use futures::{StreamExt, TryStreamExt};
use recordfusion_core::{Connector, MessageType, Options, Writer};

pub use formats::{OutputFormat, ParquetCompression};
use outputs::Outputs;
use summary::notes;
pub use summary::{Summary, lost_regions, scan_metric};

use crate::capabilities::writing;
use crate::datasource::{
    clipped, external, list_files, locate, open_foreign, overwrite_setting, range_setting, setting,
    write_options,
};
use crate::encode::FileEncoder;
use crate::registry;
use crate::write::{Mode, Place, Statement, UnfinishedFile, Upload, Written, write_file};
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
    /// Whether the files of a folder take the place of all that it has; otherwise it must be empty.
    pub overwrite: bool,
    /// Whether the message type of records whose files cannot say it is written too: beside a file, as
    /// `<output>.fds`, or into a folder, as `_descriptors.fds`.
    pub write_descriptor_set: bool,
    /// A file that gets the [report](Summary::report), as JSON.
    pub report: Option<String>,
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
    outputs: Outputs,
    /// Begun, and not run yet.
    statement: Mutex<Option<Statement>>,
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
            overwrite: false,
            write_descriptor_set: false,
            report: None,
        }
    }

    /// Opens the inputs and plans the query. Nothing is written yet, but no other conversion on this machine can write
    /// the folder, or add rows to the file, until this one is dropped or has run.
    ///
    /// # Errors
    /// Whatever is wrong with the inputs, the options, the SQL or the output's name; a folder that is not empty.
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
        self.check_options(format)?;
        let range = range_setting(&listing, &self.options)?.unwrap_or(0..u64::MAX);
        let (mut bytes_in, mut bytes_in_files) = (0, 0);
        let outputs = self.outputs(&listing)?;
        for input in &self.inputs {
            let url = locate(&listing, input).await?;
            for file in list_files(&listing, &url).await? {
                outputs.check_input(&file)?;
                bytes_in_files += file.size;
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
        let statement = Statement::begin(&outputs.target, self.mode(&listing)?).await?;
        let behind = self.open_output(&listing, format, &statement).await?;
        let input = self.open_input(&ctx, format, behind.as_ref(), bytes_in_files == 0).await?;
        ctx.register_table("input", Arc::clone(&input.provider))?;
        let select = match (&input.records, &self.select) {
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
                let table = match (&input.records, &behind) {
                    (None, Some(_)) => Some(self.open_behind(&listing).await?),
                    _ => None,
                };
                let table = input.records.as_deref().or(table.as_ref());
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
            outputs,
            statement: Mutex::new(Some(statement)),
        })
    }

    /// Where the files go.
    ///
    /// # Errors
    /// No store for one of them; two of them that are one, or a file that is also read.
    fn outputs(&self, session: &SessionState) -> Result<Outputs> {
        let target = Place::parse(session, &self.output)?;
        let descriptor_set = match self.write_descriptor_set {
            true => Some(Place::parse(session, &self.descriptor_set_path())?),
            false => None,
        };
        let report = self.report.as_ref().map(|path| Place::parse(session, path)).transpose()?;
        let outputs = Outputs { target, descriptor_set, report };
        outputs.check()?;
        for option in ["descriptor_set", "proto"] {
            for path in
                [&self.options, &self.write_options].into_iter().filter_map(|options| options.get(option))
            {
                outputs.check_side_input(&Place::parse(session, path)?)?;
            }
            if let Some(path) = setting(session, option) {
                outputs.check_side_input(&Place::parse(session, &path)?)?;
            }
        }
        Ok(outputs)
    }

    fn mode(&self, session: &SessionState) -> Result<Mode> {
        let overwrite = self.overwrite || overwrite_setting(session, &self.write_options)?;
        match (self.is_folder(), self.append) {
            (true, true) => {
                plan_err!("rows can be added to a record file only, and {} is a folder", self.output)
            }
            (true, false) if overwrite => Ok(Mode::Overwrite),
            (true, false) => Ok(Mode::NewFolder),
            (false, true) => Ok(Mode::Append),
            (false, false) => Ok(Mode::Replace),
        }
    }

    fn descriptor_set_path(&self) -> String {
        match self.is_folder() {
            true => format!("{}/_descriptors.fds", self.output.trim_end_matches('/')),
            false => format!("{}.fds", self.output),
        }
    }

    /// The record file that rows are to be added to, as records, if it is there and not empty.
    async fn open_output(
        &self,
        state: &SessionState,
        format: OutputFormat,
        statement: &Statement,
    ) -> Result<Option<RecordTable>> {
        if !self.append {
            return Ok(None);
        }
        let OutputFormat::Records(extension) = format else {
            return plan_err!("rows can be added to a record file only, which {} is not", self.output);
        };
        if statement.existing().is_none() {
            return Ok(None);
        }
        let url = statement.target().url();
        let table = RecordTable::open_records(state, &TableDefinition::new(url.as_str())).await?;
        let (found, added) = (table.format().connector().name(), connector(extension)?.name());
        if found != added {
            return plan_err!("{} is a {found} file, to which no {added} records can be added", self.output);
        }
        Ok(Some(table))
    }

    /// The output as the table of its columns.
    async fn open_behind(&self, state: &SessionState) -> Result<RecordTable> {
        let place = Place::parse(state, &self.output)?;
        RecordTable::open(state, TableDefinition::new(place.url().as_str())).await
    }

    /// The inputs as one table. Records that go to record files stay as they are, unless columns of them are selected,
    /// or the file that they go `behind` has records of another type.
    async fn open_input(
        &self,
        ctx: &SessionContext,
        format: OutputFormat,
        behind: Option<&RecordTable>,
        without_bytes: bool,
    ) -> Result<Input> {
        let state = ctx.state();
        let is_foreign = |input: &String| {
            let extension = input.rsplit_once('.').map_or("", |(_, extension)| extension).to_lowercase();
            registry::connector(&extension).is_none() && OutputFormat::by_extension(input).is_some()
        };
        if self.inputs.iter().any(is_foreign) {
            return Ok(Input { provider: self.foreign_input(ctx).await?, records: None });
        }
        if let (OutputFormat::Records(extension), None) = (format, &self.select) {
            let named = without_bytes.then(|| connector(extension)).transpose()?;
            let records = Arc::new(self.open_records(&state, named).await?);
            let stay = match behind {
                Some(behind) => self.are_of_type(&state, &records, behind).await?,
                None => true,
            };
            if stay && self.predicate.is_none() && !self.judges_records(&state) {
                return Ok(Input { provider: Arc::clone(&records) as _, records: Some(records) });
            }
            if stay {
                let provider = self.open_with_records(&state).await?;
                return Ok(Input { provider: Arc::new(provider), records: Some(records) });
            }
        }
        let table = self.open_table(&state, self.options.clone()).await?;
        Ok(Input { provider: Arc::new(table), records: None })
    }

    /// Whether `records` can follow those of `behind` as they are: those are of the same message type, or of none that
    /// is known.
    async fn are_of_type(
        &self,
        state: &SessionState,
        records: &RecordTable,
        behind: &RecordTable,
    ) -> Result<bool> {
        let Some(wanted) = behind.message_type() else { return Ok(true) };
        let Some(given) = records.message_type() else {
            return plan_err!(
                "{} holds records of type {}, but the inputs do not say of what type theirs are: name it with \
                 -o message_type=… and -o descriptor_set=… or -o proto=…",
                self.output,
                wanted.name
            );
        };
        let one_is_a_name = wanted.descriptors.is_empty() || given.descriptors.is_empty();
        if wanted == given || (one_is_a_name && wanted.name == given.name) {
            return Ok(true);
        }
        let behind = self.open_behind(state).await?;
        let table = self.open_table(state, self.options.clone()).await?;
        Ok(behind.proto_text().is_some() && behind.proto_text() == table.proto_text())
    }

    /// Whether the options leave out records by what is in them.
    fn judges_records(&self, state: &SessionState) -> bool {
        JUDGING_OPTIONS.iter().any(|&(name, default)| {
            let value = self.options.get(name).map(str::to_string).or_else(|| setting(state, name));
            value.is_some_and(|value| !["", default].contains(&value.trim()))
        })
    }

    /// The inputs as one table of their columns, and of the bytes of the records.
    async fn open_with_records(&self, state: &SessionState) -> Result<RecordTable> {
        let given = self.options.get("metadata_columns").map(str::to_string);
        let others = given.or_else(|| setting(state, "metadata_columns")).unwrap_or_default();
        let columns = format!("{others},record");
        self.open_table(state, self.options.clone().with("metadata_columns", columns)).await
    }

    async fn open_table(&self, state: &SessionState, options: Options) -> Result<RecordTable> {
        RecordTable::open(state, self.definition(options)).await
    }

    /// The inputs as records; of `connector` if it is given.
    async fn open_records(
        &self,
        state: &SessionState,
        connector: Option<&Arc<dyn Connector>>,
    ) -> Result<RecordTable> {
        let definition = self.definition(self.options.clone());
        RecordTable::open_records(state, &TableDefinition { connector: connector.cloned(), ..definition })
            .await
    }

    fn definition(&self, options: Options) -> TableDefinition {
        TableDefinition { locations: self.inputs.clone(), options, ..Default::default() }
    }

    /// Inputs of DataFusion's own formats, and record files among them, as one table.
    async fn foreign_input(&self, ctx: &SessionContext) -> Result<Arc<dyn TableProvider>> {
        let state = ctx.state();
        let mut all: Option<DataFrame> = None;
        for input in &self.inputs {
            let one = match listing_options(&state, input) {
                Some(options) => {
                    let path = locate(&state, input).await?;
                    match open_foreign(&state, &path, Some(options)).await? {
                        Some(table) => ctx.read_table(table)?,
                        None => return plan_err!("no files at {input}"),
                    }
                }
                None => ctx.sql(&format!("SELECT * FROM '{}'", input.replace('\'', "''"))).await?,
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

    /// Checks that there are no options that nothing knows.
    fn check_options(&self, format: OutputFormat) -> Result<()> {
        self.options.reject_unknown(&registry::all_options()).map_err(external)?;
        let known = match format {
            OutputFormat::Records(extension) => registry::connector(extension)
                .map_or(&[][..], |connector| registry::known_write_options(connector.as_ref())),
            _ => match self.write_options.iter().next() {
                Some((name, _)) => {
                    return plan_err!(
                        "option '{name}' is of writing record files, which {} is not",
                        self.output
                    );
                }
                None => &[],
            },
        };
        self.write_options.reject_unknown(known).map_err(external)
    }

    /// The writer of record files, of the messages of `table` if there is one.
    fn writer(
        &self,
        state: &SessionState,
        schema: &SchemaRef,
        extension: &str,
        table: Option<&RecordTable>,
    ) -> Result<Arc<dyn Writer>> {
        let connector = connector(extension)?;
        let options = write_options(state, connector.as_ref(), &self.write_options);
        let of_table = table.and_then(|table| table.writer(connector.name(), schema, extension, &options));
        let of_other_format = || {
            let records = table.and_then(RecordTable::message_type);
            writing(connector.as_ref())?.writer(schema, extension, &options, records.as_ref())
        };
        of_table.unwrap_or_else(of_other_format).map_err(external)
    }

    fn is_folder(&self) -> bool {
        self.output.ends_with('/') || std::path::Path::new(&self.output).is_dir()
    }
}

fn connector(extension: &str) -> Result<&'static Arc<dyn Connector>> {
    registry::connector(extension)
        .ok_or_else(|| plan_datafusion_err!("'{extension}' is of no known record format"))
}

/// Options that leave out records by what is in them, unless they have these values.
const JUDGING_OPTIONS: [(&str, &str); 2] = [("on_bad_record", "error"), ("required", "lenient")];

/// How DataFusion reads files of one of its own formats, which the extension of `input` names.
fn listing_options(state: &SessionState, input: &str) -> Option<ListingOptions> {
    let (_, file_extension) = input.rsplit_once('.')?;
    let (config, options) = (state.config(), state.default_table_options());
    Some(match OutputFormat::by_extension(input)? {
        OutputFormat::Parquet => {
            ParquetReadOptions { file_extension, ..Default::default() }.to_listing_options(config, options)
        }
        OutputFormat::Csv => {
            CsvReadOptions::new().file_extension(file_extension).to_listing_options(config, options)
        }
        OutputFormat::Ndjson => {
            JsonReadOptions::default().file_extension(file_extension).to_listing_options(config, options)
        }
        OutputFormat::Arrow => {
            ArrowReadOptions { file_extension, ..Default::default() }.to_listing_options(config, options)
        }
        OutputFormat::Records(_) => return None,
    })
}

/// The column of whole records.
const RECORD_COLUMN: &str = "\"_record\"";

/// What is converted.
struct Input {
    provider: Arc<dyn TableProvider>,
    /// Its records, if they are written as they are.
    records: Option<Arc<RecordTable>>,
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

    /// Converts. On an error nothing is written, and what was there stays as it was.
    ///
    /// # Errors
    /// Whatever fails while reading, decoding, encoding or writing.
    pub async fn run(&self) -> Result<Summary> {
        let begun = self.statement.lock().unwrap_or_else(PoisonError::into_inner).take();
        let statement = match begun {
            Some(statement) => statement,
            None => Statement::begin(&self.outputs.target, self.conversion.mode(&self.state)?).await?,
        };
        let partitions = self.plan.properties().partitioning.partition_count();
        let (mut files, mut complete) = (1, Vec::new());
        let outcome = if self.conversion.is_folder() {
            files = partitions;
            self.write_folder(&statement, partitions, &mut complete).await
        } else {
            let file = self.write(0..partitions, statement.upload(self.outputs.target.location())?).await;
            file.map(|file| complete.push(file))
        };
        let summary = Summary {
            rows: self.progress.rows(),
            bytes_in: self.bytes_in,
            bytes_out: self.progress.bytes_written(),
            files,
            notes: notes(&self.plan, self.progress.written.losses()),
            lost: lost_regions(&self.plan),
            descriptor_set: self
                .message_type()
                .map(|message| (self.conversion.descriptor_set_path(), message.name)),
        };
        let outcome = match outcome {
            Ok(()) => self.write_side_files(&statement, &summary, &mut complete).await,
            Err(error) => Err(error),
        };
        statement.publish(complete, outcome.err()).await?;
        Ok(summary)
    }

    /// The message type that is written too.
    fn message_type(&self) -> Option<MessageType> {
        self.writer.as_ref().filter(|_| self.conversion.write_descriptor_set)?.message_type()
    }

    /// Writes the descriptor set and the report, if there shall be any.
    async fn write_side_files(
        &self,
        statement: &Statement,
        summary: &Summary,
        complete: &mut Vec<UnfinishedFile>,
    ) -> Result<()> {
        if let (Some(place), Some(message_type)) = (&self.outputs.descriptor_set, self.message_type()) {
            let upload = match self.outputs.target.is_folder() {
                true => statement.upload(place.location())?,
                false => Upload::to(place)?,
            };
            complete.push(write_bytes(upload, message_type.descriptor_set()).await?);
        }
        if let Some(place) = &self.outputs.report {
            let report = format!("{:#}", summary.report());
            complete.push(write_bytes(Upload::to(place)?, report.into()).await?);
        }
        Ok(())
    }

    /// Writes a file for each partition. Those that are complete go to `complete`, even after an error.
    async fn write_folder(
        &self,
        statement: &Statement,
        partitions: usize,
        complete: &mut Vec<UnfinishedFile>,
    ) -> Result<()> {
        let extension = self.format.extension();
        let parts = (0..partitions).map(|partition| {
            let location = statement.location(&format!("part-{partition:05}.{extension}"));
            async move { self.write(partition..partition + 1, statement.upload(&location)?).await }
        });
        let mut parts = futures::stream::iter(parts).buffer_unordered(self.conversion.partitions.max(1));
        while let Some(part) = parts.next().await {
            complete.push(part?);
        }
        Ok(())
    }

    /// Writes the rows of some partitions to one file.
    async fn write(&self, partitions: Range<usize>, mut upload: Upload) -> Result<UnfinishedFile> {
        if let Some(writer) = &self.writer {
            return self.write_records(writer.as_ref(), partitions, upload).await;
        }
        let encoding = self.format.encoding(self.conversion.compression)?;
        let encoder = FileEncoder::new(&encoding, &self.plan.schema())?;
        let outcome = self.write_units(partitions, encoder, &mut upload).await;
        UnfinishedFile::new(upload, outcome).await
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
        write_file(writer, batches, upload, workers, &self.progress.written).await
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

/// Writes a small file.
async fn write_bytes(mut upload: Upload, bytes: Vec<u8>) -> Result<UnfinishedFile> {
    let outcome = upload.write(bytes).await;
    UnfinishedFile::new(upload, outcome).await
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
