//! The `FileFormat` of a connector.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::{GetExt, Statistics, not_impl_err, plan_err};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::write::get_writer_schema;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSinkConfig, FileSource};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::physical_expr::LexRequirement;
use datafusion::physical_plan::ExecutionPlan;
use object_store::{ObjectMeta, ObjectStore};
use recordfusion_core::{Connector, OptionInfo, Options, RecordFile, Table, Writer};

use super::destination::Destination;
use super::settings::{NAMESPACE, table_options, write_options};
use super::sink::RecordSink;
use super::{RANGE, RecordSource, external};
use crate::capabilities::{writing, writing_of_table};
use crate::registry;
use crate::write::OVERWRITE;

/// A connector with its options, and the table they were opened to.
///
/// Without a table (as when DataFusion's own `ListingTable` holds the format) each file is opened for
/// itself and its columns are matched by name.
#[derive(Debug, Clone)]
pub struct RecordFormat {
    connector: Arc<dyn Connector>,
    /// Of reading.
    options: Options,
    /// Of writing.
    write_options: Options,
    table: Option<Arc<dyn Table>>,
    /// Of files that are written.
    extension: &'static str,
}

impl RecordFormat {
    /// A format whose files are opened one by one.
    pub fn new(connector: Arc<dyn Connector>, options: Options) -> Self {
        let extension = connector.name();
        Self { connector, options, write_options: Options::new(), table: None, extension }
    }

    /// Writes files with those of these options that are of writing.
    #[must_use]
    pub fn with_write_options(self, write_options: Options) -> Self {
        Self { write_options, ..self }
    }

    /// Writes files of this extension, one of the connector's.
    #[must_use]
    pub fn with_extension(self, extension: &'static str) -> Self {
        Self { extension, ..self }
    }

    /// Reads all files as parts of `table`.
    #[must_use]
    pub fn with_table(self, table: Arc<dyn Table>) -> Self {
        Self { table: Some(table), ..self }
    }

    /// The connector.
    pub fn connector(&self) -> &Arc<dyn Connector> {
        &self.connector
    }

    /// The table that `file` is read as.
    pub(super) async fn table_of(&self, file: &RecordFile) -> recordfusion_core::Result<Arc<dyn Table>> {
        match &self.table {
            Some(table) => Ok(Arc::clone(table)),
            None => self.connector.open(std::slice::from_ref(file), &self.options).await,
        }
    }

    /// Plans the writing of files.
    ///
    /// # Errors
    /// All that can be wrong without looking at rows.
    pub(super) fn sink(&self, session: &dyn Session, destination: Destination) -> Result<RecordSink> {
        if destination.config.insert_op != InsertOp::Append {
            return not_impl_err!(
                "{} files can be added to a table, but not replaced",
                self.connector.name()
            );
        }
        let schema = get_writer_schema(&destination.config);
        let options = write_options(session, self.connector.as_ref(), &self.write_options);
        let writer = match &self.table {
            Some(table) => writing_of_table(self.connector.as_ref(), table.as_ref())
                .and_then(|writing| writing.writer(&schema, self.extension, &options)),
            None => writing(self.connector.as_ref())
                .and_then(|writing| writing.writer(&schema, self.extension, &options, None)),
        };
        Ok(RecordSink::new(destination, writer.map_err(external)?, self.clone(), options))
    }

    /// A writer of rows of `schema` as further records of `file`.
    pub(super) async fn writer_behind(
        &self,
        file: RecordFile,
        schema: &SchemaRef,
        options: &Options,
    ) -> recordfusion_core::Result<Arc<dyn Writer>> {
        let table = self.connector.open(&[file], &self.options).await?;
        writing_of_table(self.connector.as_ref(), table.as_ref())?.writer(schema, self.extension, options)
    }
}

#[async_trait]
impl FileFormat for RecordFormat {
    fn get_ext(&self) -> String {
        self.extension.to_string()
    }

    fn get_ext_with_compression(&self, _: &FileCompressionType) -> Result<String> {
        Ok(self.get_ext())
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        None
    }

    async fn infer_schema(
        &self,
        _state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        let files: Vec<RecordFile> = objects
            .iter()
            .map(|object| {
                RecordFile::of_object(Arc::clone(store), object.clone(), object.location.to_string())
            })
            .collect();
        let table = self.connector.open(&files, &self.options).await.map_err(external)?;
        Ok(Arc::clone(table.schema()))
    }

    /// Only the file's size is known without reading it.
    async fn infer_stats(
        &self,
        _state: &dyn Session,
        _store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        _object: &ObjectMeta,
    ) -> Result<Statistics> {
        Ok(Statistics::new_unknown(&table_schema))
    }

    async fn create_physical_plan(
        &self,
        _: &dyn Session,
        config: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(DataSourceExec::from_data_source(config))
    }

    /// All that can be wrong without looking at rows is found here, before there is a file.
    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        state: &dyn Session,
        config: FileSinkConfig,
        order: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let destination = Destination::of_statement(state, config, &self.write_options)?;
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(self.sink(state, destination)?), order)))
    }

    fn file_source(&self, table_schema: TableSchema) -> Arc<dyn FileSource> {
        Arc::new(RecordSource::new(self.clone(), table_schema))
    }
}

/// Makes [`RecordFormat`]s from the options of a statement.
#[derive(Debug)]
pub struct RecordFormatFactory {
    connector: Arc<dyn Connector>,
    extension: &'static str,
}

impl RecordFormatFactory {
    /// A factory for files of this extension.
    pub fn new(connector: Arc<dyn Connector>, extension: &'static str) -> Self {
        Self { connector, extension }
    }
}

impl GetExt for RecordFormatFactory {
    fn get_ext(&self) -> String {
        self.extension.to_string()
    }
}

impl FileFormatFactory for RecordFormatFactory {
    fn create(
        &self,
        session: &dyn Session,
        options: &HashMap<String, String>,
    ) -> Result<Arc<dyn FileFormat>> {
        let given = statement_options(self.connector.as_ref(), options)?;
        let options = table_options(session, self.connector.as_ref(), &given);
        let format = RecordFormat::new(Arc::clone(&self.connector), options).with_write_options(given);
        Ok(Arc::new(format.with_extension(self.extension)))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        let format = RecordFormat::new(Arc::clone(&self.connector), Options::new());
        Arc::new(format.with_extension(self.extension))
    }
}

/// The connector's options among those of a statement: DataFusion puts `format.` before a bare key,
/// and users may write the connector's name there, or that of the session's settings. Keys of other
/// namespaces, such as `aws.region`, are not ours.
///
/// # Errors
/// An unknown option of ours.
pub(super) fn statement_options(
    connector: &dyn Connector,
    options: &HashMap<String, String>,
) -> Result<Options> {
    let ours = options.iter().filter_map(|(key, value)| {
        let name = match key.split_once('.') {
            None => key.as_str(),
            Some(("format", name)) => name,
            Some((namespace, name)) if [connector.name(), NAMESPACE].contains(&namespace) => name,
            Some(_) => return None,
        };
        Some((name.to_string(), value.clone()))
    });
    let options: Options = ours.collect();
    if options.get("single_file_output").is_some() {
        return plan_err!(
            "the path says whether one file is written or several: one that ends in / is a folder of files"
        );
    }
    let known = [connector.options(), registry::known_write_options(connector), &[RANGE, OVERWRITE]].concat();
    options.reject_unknown(&known).map_err(external)?;
    Ok(options)
}

/// Those of `options` that are among `known`.
pub(super) fn options_of(known: &[OptionInfo], options: &Options) -> Options {
    options.iter().filter(|(name, _)| known.iter().any(|option| option.name == *name)).collect()
}
