//! Copies record files, or a query over them, to Parquet, CSV, NDJSON, Arrow IPC or record files, and the other
//! way round.
//!
//! The flow: the inputs become one table, cut into byte ranges of some MiB; each range is decoded and encoded
//! by one task, several at a time, and what they become is put in order (`ordered.rs`) and appended to the file
//! (`formats.rs`); the bytes go to an upload that becomes visible only when it is complete (`output.rs`). Records
//! keep the order of the files. Memory is bounded by some batches and encoded units for each worker, whatever
//! the size of the files.

mod formats;
mod ordered;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{plan_datafusion_err, plan_err};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::Result;
use datafusion::execution::{SessionState, SessionStateBuilder, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{DataFrame, SessionContext};
use futures::{StreamExt, TryStreamExt};
use recordfusion_core::{Options, Writer};

use formats::FileEncoder;
pub use formats::{OutputFormat, ParquetCompression};

use crate::datasource::{external, list_files, setting};
use crate::registry;
use crate::write::{Upload, Written, output_url, write_file};
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
}

/// How far a conversion is; read it while [`Prepared::run`] goes on.
#[derive(Debug, Default)]
pub struct Progress {
    written: Written,
}

/// What a conversion did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Rows written.
    pub rows: u64,
    /// Length of the inputs in bytes.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Files written.
    pub files: usize,
    /// Counters of things that were not read as they are, such as mended strings, with their names; only
    /// those that are not zero.
    pub notes: Vec<(String, u64)>,
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
                bytes_in += file.size;
            }
        }
        let ranges = if self.is_folder() {
            self.partitions
        } else {
            let ranges = (bytes_in / RANGE_BYTES).clamp(1, MAX_RANGES);
            usize::try_from(ranges).unwrap_or(1).max(self.partitions)
        };
        let ctx = in_order(&listing, ranges);
        let input = self.open_input(&ctx, format).await?;
        let table = input.records.as_deref();
        let whole_records = matches!(format, OutputFormat::Records(_)) && self.select.is_none();
        ctx.register_table("input", Arc::clone(&input.provider))?;
        let select = match (whole_records && table.is_some(), &self.select) {
            (true, _) => RECORD_COLUMN,
            (false, Some(select)) => select,
            (false, None) => "*",
        };
        let mut sql = format!("SELECT {select} FROM input");
        if let Some(predicate) = &self.predicate {
            sql.push_str(&format!(" WHERE {predicate}"));
        }
        let plan = ctx.sql(&sql).await?.create_physical_plan().await?;
        let writer = match format {
            OutputFormat::Records(extension) => {
                Some(self.writer(&plan.schema(), extension, table.filter(|_| whole_records))?)
            }
            _ => None,
        };
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

    /// The inputs as one table. Records that go to record files have their bytes as a column.
    async fn open_input(&self, ctx: &SessionContext, format: OutputFormat) -> Result<Input> {
        let state = ctx.state();
        let foreign = |input: &String| {
            let extension = input.rsplit_once('.').map_or("", |(_, extension)| extension).to_lowercase();
            registry::connector(&extension).is_none() && state.get_file_format_factory(&extension).is_some()
        };
        if self.inputs.iter().any(foreign) {
            let mut all: Option<DataFrame> = None;
            for input in &self.inputs {
                let one = ctx.sql(&format!("SELECT * FROM '{}'", input.replace('\'', "''"))).await?;
                all = Some(match all {
                    Some(others) => others.union(one)?,
                    None => one,
                });
            }
            let Some(all) = all else { return plan_err!("nothing to convert") };
            return Ok(Input { provider: all.into_view(), records: None });
        }
        let whole_records = matches!(format, OutputFormat::Records(_)) && self.select.is_none();
        let mut options = self.options.clone();
        if whole_records {
            let given = options.get("metadata_columns").map(str::to_string);
            let others = given.or_else(|| setting(&state, "metadata_columns")).unwrap_or_default();
            let columns = format!("{others},record");
            options = options.with("metadata_columns", columns);
        }
        let definition = TableDefinition { locations: self.inputs.clone(), options, ..Default::default() };
        let table = Arc::new(RecordTable::open(&state, definition).await?);
        Ok(Input { provider: Arc::clone(&table) as Arc<dyn TableProvider>, records: Some(table) })
    }

    /// The writer of record files: of the messages of `table` if its records are written as they are.
    fn writer(
        &self,
        schema: &SchemaRef,
        extension: &str,
        table: Option<&RecordTable>,
    ) -> Result<Arc<dyn Writer>> {
        let Some(connector) = registry::connector(extension) else {
            return plan_err!("'{extension}' is of no known record format");
        };
        let of_table =
            table.and_then(|table| table.writer(connector.name(), schema, extension, &self.write_options));
        of_table.unwrap_or_else(|| connector.writer(schema, extension, &self.write_options)).map_err(external)
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
    /// The same, if it is of record files.
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
            notes: self.notes(),
        })
    }

    async fn write_file(&self) -> Result<usize> {
        let partitions = self.plan.properties().partitioning.partition_count();
        self.write(0..partitions, &self.conversion.output).await?;
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
        futures::stream::iter(parts)
            .buffer_unordered(self.conversion.partitions.max(1))
            .try_collect::<()>()
            .await?;
        Ok(partitions)
    }

    /// Writes the rows of some partitions to one file.
    async fn write(&self, partitions: Range<usize>, path: &str) -> Result<()> {
        if let Some(writer) = &self.writer {
            return self.write_records(writer.as_ref(), partitions, path).await;
        }
        let mut encoder = FileEncoder::new(self.format, &self.plan.schema(), self.conversion.compression)?;
        let mut upload = Upload::begin(&self.state, path)?;
        let written = self.write_units(partitions, &mut encoder, &mut upload).await;
        let finished = match written {
            Ok(()) => encoder.finish(),
            Err(error) => Err(error),
        };
        match finished {
            Ok(last) => {
                self.progress.written.bytes.fetch_add(last.len() as u64, Ordering::Relaxed);
                upload.finish(last).await
            }
            Err(error) => {
                upload.abort().await;
                Err(error)
            }
        }
    }

    /// Writes the rows of some partitions to one record file.
    async fn write_records(&self, writer: &dyn Writer, partitions: Range<usize>, path: &str) -> Result<()> {
        let upload = Upload::begin(&self.state, path)?;
        let execute = |partition| self.plan.execute(partition, Arc::clone(&self.task));
        let batches = futures::stream::iter(partitions.map(execute)).try_flatten();
        let workers = self.conversion.partitions;
        write_file(writer, batches, upload, workers, &self.progress.written).await?.finish().await
    }

    async fn write_units(
        &self,
        partitions: Range<usize>,
        encoder: &mut FileEncoder,
        upload: &mut Upload,
    ) -> Result<()> {
        let workers = self.conversion.partitions.max(1);
        let mut units = ordered::encode(&self.plan, &self.task, partitions, workers, encoder.new_unit());
        while let Some(unit) = units.try_next().await? {
            let rows = unit.rows;
            let bytes = encoder.append(unit)?;
            self.progress.written.rows.fetch_add(rows, Ordering::Relaxed);
            self.progress.written.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            upload.write(bytes).await?;
        }
        Ok(())
    }

    /// The counters that tell of values that were not read as they are.
    fn notes(&self) -> Vec<(String, u64)> {
        const NOTED: [&str; 7] = [
            "wire_type_mismatches",
            "timestamps_truncated",
            "invalid_utf8_replaced",
            "values_nulled",
            "records_incomplete",
            "records_skipped",
            "records_nulled",
        ];
        let noted = NOTED.iter().map(|name| ((*name).to_string(), scan_metric(&self.plan, name)));
        noted.filter(|(_, count)| *count > 0).collect()
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

/// The sum of a metric over all nodes of a plan; it may be read while the plan runs.
pub fn scan_metric(plan: &Arc<dyn ExecutionPlan>, name: &str) -> u64 {
    let own = plan
        .metrics()
        .and_then(|metrics| metrics.sum_by_name(name))
        .map_or(0, |value| value.as_usize() as u64);
    own + plan.children().into_iter().map(|child| scan_metric(child, name)).sum::<u64>()
}
