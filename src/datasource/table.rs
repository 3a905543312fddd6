//! The `TableProvider` of record files.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{SchemaExt, plan_datafusion_err, plan_err, project_schema};
use datafusion::datasource::TableType;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::listing::helpers::expr_applicable_for_cols;
use datafusion::datasource::listing::{ListingTableUrl, PartitionedFile};
use datafusion::datasource::physical_plan::{
    FileGroup, FileOutputMode, FileScanConfigBuilder, FileSinkConfig,
};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use object_store::path::Path;
use recordfusion_core::{Connector, MessageType, OnCorruption, Options, RecordFile, Table, Writer};

use super::destination::Destination;
use super::files::{describe_location, partition_columns, partition_values, recognise_to_open};
use super::listing::{list_files, list_objects};
use super::location::locate;
use super::partitions::matching;
use super::range::set_range;
use super::settings::{given_or_set, open_files_setting, table_options};
use super::{RANGE, RecordFormat, external, range_setting};
use crate::capabilities::{byte_records, writing_of_table};
use crate::registry;
use crate::write::{Mode, Place};

/// What a table of record files is made of; everything but the locations may be left to the files.
#[derive(Debug, Clone, Default)]
pub struct TableDefinition {
    /// A file, a glob or a folder each, as path or URL, all on one object store.
    pub locations: Vec<String>,
    /// The format; recognised by the files' first bytes if it is `None`.
    pub connector: Option<Arc<dyn Connector>>,
    /// File name extension of files that are added, one of the connector's; that of the first file if it is
    /// `None`.
    pub extension: Option<&'static str>,
    /// The connector's options, and `range`; they override the settings of the session.
    pub options: Options,
    /// Hive partition columns; read from the paths if it is `None`.
    pub partition_columns: Option<Vec<String>>,
    /// The columns that the user declared, partition columns included: matched to the files' columns by
    /// name, and cast. All columns of the files if it is `None`.
    pub columns: Option<SchemaRef>,
    /// The table's SQL text.
    pub definition: Option<String>,
}

impl TableDefinition {
    /// All that is at `location`.
    pub fn new(location: impl Into<String>) -> Self {
        Self { locations: vec![location.into()], ..Self::default() }
    }

    /// With these options.
    #[must_use]
    pub fn with_options(self, options: Options) -> Self {
        Self { options, ..self }
    }
}

/// What a table shows of its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// What is in them.
    Columns,
    /// Their bytes.
    Records,
}

/// Record files as one table.
///
/// The files' descriptors are read once, when the table is opened; the files are listed anew for every
/// scan, so that files added later are seen. Scans cut large files at byte ranges.
#[derive(Debug)]
pub struct RecordTable {
    format: RecordFormat,
    paths: Vec<ListingTableUrl>,
    schema: TableSchema,
    partition_columns: Vec<(String, DataType)>,
    table: Option<Arc<dyn Table>>,
    /// The part of the one file that is read.
    range: Option<Range<u64>>,
    /// The files that the user named, and that had records.
    named: Vec<RecordFile>,
    definition: Option<String>,
}

impl RecordTable {
    /// Opens the files of `definition`.
    ///
    /// # Errors
    /// No files and no declared columns; a file that is of another format, contradicts the others or lies
    /// outside the partitions; unknown or wrong options; failures of the object store.
    pub async fn open(session: &dyn Session, definition: TableDefinition) -> Result<Self> {
        match Self::try_open(session, &definition).await? {
            Some(table) => Ok(table),
            None => unknown_format(&definition),
        }
    }

    /// The files of `definition` as records that are not looked into: the one column `_record` has the bytes of each.
    /// Files without any bytes have no records; if there are no others, their connector is the one named.
    ///
    /// # Errors
    /// Those of [`Self::open`], but none for what the records or their descriptors are.
    pub(crate) async fn open_records(session: &dyn Session, definition: &TableDefinition) -> Result<Self> {
        match Self::try_open_as(session, definition, Content::Records).await? {
            Some(table) => Ok(table),
            None => unknown_format(definition),
        }
    }

    /// Like [`Self::open`], but `None` if the first file is of no known record format.
    pub(super) async fn try_open(
        session: &dyn Session,
        definition: &TableDefinition,
    ) -> Result<Option<Self>> {
        Self::try_open_as(session, definition, Content::Columns).await
    }

    async fn try_open_as(
        session: &dyn Session,
        definition: &TableDefinition,
        content: Content,
    ) -> Result<Option<Self>> {
        let paths = locations(session, &definition.locations).await?;
        let mut files = vec![];
        let mut partitions: Option<Vec<(String, DataType)>> = None;
        for path in &paths {
            let found = list_files(session, path).await?;
            if found.is_empty() && paths.len() > 1 {
                return plan_err!("no files at {}", path.as_str());
            }
            let declared = match (&partitions, &definition.partition_columns) {
                (Some(columns), _) => Some(columns.iter().map(|(name, _)| name.clone()).collect()),
                (None, declared) => declared.clone(),
            };
            if !found.is_empty() || partitions.is_none() {
                let locations = found.iter().map(|file| &file.location);
                partitions = Some(partition_columns(path, locations, declared.as_deref())?);
            }
            files.extend(found);
        }
        // A folder that is still empty is a table only if its columns are declared.
        let may_be_empty = definition.columns.is_some() && paths.iter().all(ListingTableUrl::is_collection);
        if files.is_empty() && !may_be_empty {
            return nothing_found(definition, &files);
        }
        let on_corruption = given_or_set(session, &definition.options, OnCorruption::OPTION);
        let on_corruption = OnCorruption::from_options(&on_corruption).map_err(external)?;
        let open_files = open_files_setting(session, &definition.options)?;
        let expected = definition.connector.as_ref();
        let (recognised, with_data) = recognise_to_open(&files, expected, on_corruption, open_files).await?;
        let Some(connector) = recognised else {
            return if files.iter().all(|file| file.size == 0) {
                nothing_found(definition, &files)
            } else {
                Ok(None)
            };
        };
        let write_options = registry::known_write_options(connector.as_ref());
        let known = [connector.options(), write_options, &[RANGE]].concat();
        definition.options.reject_unknown(&known).map_err(external)?;
        let range = range_setting(session, &definition.options)?;
        if range.is_some() {
            check_single(&files)?;
        }
        let options = table_options(session, connector.as_ref(), &definition.options);
        let says_nothing = with_data.is_empty() && options == Options::new();
        let table = match (content, &definition.columns) {
            (Content::Records, _) => {
                let records = byte_records(connector.as_ref()).map_err(external)?;
                Some(records.open_records(&with_data, &options).await)
            }
            (Content::Columns, None) if says_nothing => return nothing_found(definition, &files),
            (Content::Columns, Some(_)) if says_nothing => None,
            (Content::Columns, _) => Some(connector.open(&with_data, &options).await),
        };
        let table = table.transpose().map_err(external)?;
        drop(with_data);
        let extension = definition.extension.or_else(|| known_extension(connector.as_ref(), &files));
        let format = RecordFormat::new(connector, options).with_write_options(definition.options.clone());
        let format = extension.into_iter().fold(format, RecordFormat::with_extension);
        let names = paths.iter().filter(|path| path.get_glob().is_none()).map(ListingTableUrl::prefix);
        let names: HashSet<&Path> = names.collect();
        let had_records = |file: &RecordFile| file.size > 0 && names.contains(&file.location);
        let named = files.iter().filter(|file| had_records(file)).cloned().collect();
        let opened = Self::assemble(definition, format, paths, table, partitions.unwrap_or_default())?;
        Ok(Some(Self { range, named, ..opened }))
    }

    fn assemble(
        definition: &TableDefinition,
        format: RecordFormat,
        paths: Vec<ListingTableUrl>,
        table: Option<Arc<dyn Table>>,
        mut partition_columns: Vec<(String, DataType)>,
    ) -> Result<Self> {
        let file_schema = match (&definition.columns, &table) {
            (None, Some(table)) => Arc::clone(table.schema()),
            (None, None) => return plan_err!("{} has no columns", definition.locations.join(", ")),
            (Some(declared), table) => {
                for (name, data_type) in &mut partition_columns {
                    *data_type = declared.field_with_name(name)?.data_type().clone();
                }
                let columns = declared_columns(declared, &partition_columns);
                check_declared(&columns, table.as_deref())?;
                match table {
                    // Only the partition columns were declared, for their types.
                    Some(table) if columns.fields().is_empty() => Arc::clone(table.schema()),
                    _ => columns,
                }
            }
        };
        if let Some((name, _)) =
            partition_columns.iter().find(|(name, _)| file_schema.fields().find(name).is_some())
        {
            return plan_err!("column '{name}' is both a partition column and a column of the files");
        }
        let fields =
            partition_columns.iter().map(|(name, kind)| Arc::new(Field::new(name, kind.clone(), true)));
        let schema =
            TableSchema::builder(file_schema).with_table_partition_cols(fields.collect::<Vec<_>>()).build();
        let format = match &table {
            Some(table) => format.with_table(Arc::clone(table)),
            None => format,
        };
        Ok(Self {
            format,
            paths,
            schema,
            partition_columns,
            table,
            range: None,
            named: vec![],
            definition: definition.definition.clone(),
        })
    }

    /// The format and how it is read.
    pub fn format(&self) -> &RecordFormat {
        &self.format
    }

    /// Plans the writing of rows of `schema` as further records of this table; `None` if its files are of another
    /// format than `format`, or there are none.
    pub(crate) fn writer(
        &self,
        format: &str,
        schema: &SchemaRef,
        extension: &str,
        options: &Options,
    ) -> Option<recordfusion_core::Result<Arc<dyn Writer>>> {
        let table = self.table.as_ref().filter(|_| self.format.connector().name() == format)?;
        let writing = writing_of_table(self.format.connector().as_ref(), table.as_ref());
        Some(writing.and_then(|writing| writing.writer(schema, extension, options)))
    }

    /// The message type of the records, if they are messages.
    pub(crate) fn message_type(&self) -> Option<MessageType> {
        Some(self.table.as_ref()?.messages()?.message_type())
    }

    /// The message type and all that it needs as .proto text, if the records are messages.
    pub fn proto_text(&self) -> Option<String> {
        self.table.as_ref()?.messages()?.proto_text()
    }

    /// What to do about rows of other columns than this table's, if its records are bytes.
    pub fn insert_hint(&self) -> Option<&'static str> {
        const HINT: &str = ". The records that are there are bytes, since their message type is not known: name it \
            with the options message_type and descriptor_set or proto of the table, insert a single column of whole \
            records, or copy those of record files as they are with `recordfusion convert --append`";
        let table = self.table.as_ref()?;
        let is_bytes = matches!(&table.schema().fields()[..], [only] if only.name() == "record");
        (is_bytes && table.messages().is_none()).then_some(HINT)
    }

    /// The names of the Hive partition columns.
    fn partition_names(&self) -> Vec<&str> {
        self.partition_columns.iter().map(|(name, _)| name.as_str()).collect()
    }

    async fn files_to_scan(&self, session: &dyn Session, filters: &[Expr]) -> Result<Vec<PartitionedFile>> {
        let mut all = vec![];
        for path in &self.paths {
            let objects = list_objects(session, path).await?;
            for object in objects.into_iter().filter(|object| object.size > 0) {
                let values = partition_values(path, &object.location, &self.partition_columns)?;
                all.push(PartitionedFile::from(object).with_partition_values(values));
            }
        }
        let mut all = matching(session, all, &self.partition_columns, filters)?;
        all.sort_by(|a, b| a.object_meta.location.cmp(&b.object_meta.location));
        self.check_named(&all)?;
        Ok(all)
    }

    /// Checks that files which the user named, and which had records, are still there and not empty. Those of a
    /// folder may come and go.
    fn check_named(&self, files: &[PartitionedFile]) -> Result<()> {
        if !self.partition_columns.is_empty() {
            return Ok(());
        }
        let found: HashSet<&Path> = files.iter().map(|file| &file.object_meta.location).collect();
        match self.named.iter().find(|named| !found.contains(&named.location)) {
            Some(gone) => {
                plan_err!("{} is gone or empty: it had records when the table was opened", gone.name)
            }
            None => Ok(()),
        }
    }
}

#[async_trait]
impl TableProvider for RecordTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.schema.table_schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn get_table_definition(&self) -> Option<&str> {
        self.definition.as_deref()
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let partitions = self.partition_names();
        let by_partition =
            |filter: &&Expr| !partitions.is_empty() && expr_applicable_for_cols(&partitions, filter);
        let answer = |filter| match by_partition(filter) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(answer).collect())
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check_batch_size(session)?;
        let mut files = self.files_to_scan(session, filters).await?;
        if let Some(range) = &self.range {
            let [file] = files.as_mut_slice() else {
                return plan_err!("a range is of one file, but there are {}", files.len());
            };
            set_range(file, range);
        }
        let Some(path) = self.paths.first().filter(|_| !files.is_empty()) else {
            return Ok(Arc::new(EmptyExec::new(project_schema(&self.schema(), projection)?)));
        };
        // A few rows of any files come from the first of them most likely.
        let is_small = limit.is_some_and(|limit| limit <= session.config().batch_size());
        let partitions = if is_small { 1 } else { session.config().target_partitions() };
        let groups = FileGroup::new(files).split_files(partitions);
        let source = self.format.file_source(self.schema.clone());
        let config = FileScanConfigBuilder::new(path.object_store(), source)
            .with_file_groups(groups)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        self.format.create_physical_plan(session, config).await
    }

    /// Adds files to the table if it is one folder, and rows to its file if it is one file.
    async fn insert_into(
        &self,
        session: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        insert_op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.schema().logically_equivalent_names_and_types(&input.schema()).map_err(|error| {
            let hint = self.insert_hint().unwrap_or_default();
            plan_datafusion_err!("{}{hint}", error.message())
        })?;
        if self.range.is_some() {
            return plan_err!("rows cannot be inserted into a table that is a range of a file");
        }
        let [path] = self.paths.as_slice() else {
            return plan_err!(
                "rows can be inserted into a table that is one folder or one file, not into one of several"
            );
        };
        if path.get_glob().is_some() {
            return plan_err!(
                "rows can be inserted into one folder or one file, not into those of a pattern"
            );
        }
        if !path.is_collection() && !self.partition_columns.is_empty() {
            return plan_err!("{path} is a file of one partition: insert into its folder");
        }
        let place = Place::of(session, path, &describe_location(&path.object_store(), path.prefix()))?;
        let mode = if place.is_folder() { Mode::Add } else { Mode::Append };
        let config = FileSinkConfig {
            original_url: path.to_string(),
            object_store_url: path.object_store(),
            file_group: FileGroup::default(),
            table_paths: vec![path.clone()],
            output_schema: self.schema(),
            table_partition_cols: self.partition_columns.clone(),
            insert_op,
            keep_partition_by_columns: false,
            file_extension: self.format.get_ext(),
            file_output_mode: FileOutputMode::Automatic,
        };
        let sink = self.format.sink(session, Destination::new(config, place, mode)?)?;
        let sink = match self.named.as_slice() {
            [file] => sink.with_known(file.clone()),
            _ => sink,
        };
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), None)))
    }
}

async fn locations(session: &dyn Session, texts: &[String]) -> Result<Vec<ListingTableUrl>> {
    let mut paths = Vec::with_capacity(texts.len());
    for text in texts {
        paths.push(locate(session, text).await?);
    }
    let Some(first) = paths.first() else { return plan_err!("a table needs at least one location") };
    match paths.iter().find(|path| path.object_store() != first.object_store()) {
        Some(other) => {
            plan_err!("all locations must be on one object store, but {other} is not on that of {first}")
        }
        None => Ok(paths),
    }
}

/// The most rows of a batch: room for a batch is made before its rows are read.
const MOST_ROWS: usize = 1 << 24;

fn check_batch_size(session: &dyn Session) -> Result<()> {
    match session.config().batch_size() {
        size @ MOST_ROWS.. => plan_err!(
            "'datafusion.execution.batch_size' is {size}, but must be less than {MOST_ROWS}; 8192 is usual"
        ),
        _ => Ok(()),
    }
}

fn unknown_format<T>(definition: &TableDefinition) -> Result<T> {
    let known: Vec<_> = registry::connectors().iter().map(|connector| connector.name()).collect();
    plan_err!("{} is of no known record format ({})", definition.locations.join(", "), known.join(", "))
}

fn nothing_found<T>(definition: &TableDefinition, files: &[RecordFile]) -> Result<T> {
    let locations = definition.locations.join(", ");
    Err(match files.len() {
        0 if locations.contains('*') => plan_datafusion_err!(
            "no files at {locations} (* stands for names in one folder: ** would look into folders below)"
        ),
        0 => plan_datafusion_err!("no files at {locations}"),
        1 => plan_datafusion_err!("{locations} is empty (0 bytes), so it does not say what its columns are"),
        n => plan_datafusion_err!(
            "all {n} files at {locations} are empty (0 bytes), so none says what the columns are"
        ),
    })
}

/// Checks that a range can be meant: there is one file.
fn check_single(files: &[RecordFile]) -> Result<()> {
    match files {
        [] | [_] => Ok(()),
        [first, ..] => plan_err!(
            "option 'range' is for one file, but these are {}, the first of which is {}",
            files.len(),
            first.name
        ),
    }
}

/// The extension of the first file, if it is one of the connector's.
fn known_extension(connector: &dyn Connector, files: &[RecordFile]) -> Option<&'static str> {
    let found = files.first()?.location.extension()?.to_lowercase();
    registry::names(connector).find(|known| *known == found)
}

/// The declared columns without the partition columns.
fn declared_columns(declared: &Schema, partition_columns: &[(String, DataType)]) -> SchemaRef {
    let is_partition = |field: &Arc<Field>| partition_columns.iter().any(|(name, _)| name == field.name());
    let fields: Vec<_> = declared.fields().iter().filter(|field| !is_partition(field)).cloned().collect();
    Arc::new(Schema::new(fields))
}

fn check_declared(declared: &Schema, table: Option<&dyn Table>) -> Result<()> {
    let Some(table) = table else { return Ok(()) };
    let known = table.schema();
    for field in declared.fields() {
        if known.fields().find(field.name()).is_none() {
            let names = known.fields().iter().map(|field| field.name().as_str());
            let nearest = recordfusion_core::nearest_names(field.name(), names);
            let hint = if nearest.is_empty() {
                String::new()
            } else {
                format!("; the nearest are {}", nearest.join(", "))
            };
            return plan_err!("the records have no field '{}'{hint}", field.name());
        }
    }
    Ok(())
}
