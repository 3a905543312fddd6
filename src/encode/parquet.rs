//! Parquet: what a file is made with, and row groups.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::config::TableParquetOptions;
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowLeafColumn, ArrowRowGroupWriterFactory, ArrowWriterOptions,
    compute_leaves,
};
use datafusion::parquet::basic::Compression;
use datafusion::parquet::file::metadata::SortingColumn;
use datafusion::parquet::file::properties::{
    DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT, WriterProperties, WriterPropertiesBuilder,
};
use datafusion::parquet::schema::types::ColumnPath;

use super::file::Buffer;
use super::plain::parquet_schema;

/// Rows of a row group of `convert`: as many as make good statistics, few enough to encode several at a time.
const ROW_GROUP_ROWS: usize = 122_880;
/// Encoded bytes of a row group at most, as far as a piece of a batch allows it.
const ROW_GROUP_BYTES: usize = 64 << 20;
/// Bytes of the dictionary of a column that comes as a dictionary. Such texts repeat, and long ones would fill pages
/// with copies if the dictionary were given up.
const DICTIONARY_BYTES: usize = 32 << 20;

/// What Parquet files are made with.
#[derive(Debug, Clone)]
pub(crate) struct ParquetEncoding {
    properties: WriterProperties,
    without_arrow_schema: bool,
}

impl ParquetEncoding {
    /// Row groups for fast scans, compressed with this codec.
    pub(crate) fn new(compression: Compression) -> Self {
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS));
        Self { properties: properties.build(), without_arrow_schema: false }
    }

    /// What the options of DataFusion say, for rows that are sorted by these columns.
    ///
    /// # Errors
    /// An option that is none of Parquet's.
    pub(crate) fn of_options(
        options: &TableParquetOptions,
        sorting: Option<Vec<SortingColumn>>,
    ) -> Result<Self> {
        let without_arrow_schema = options.global.skip_arrow_metadata;
        // Asked for otherwise, the Arrow schema must be among the metadata already; the writer puts it there.
        let options = options.clone().with_skip_arrow_metadata(true);
        let properties = WriterPropertiesBuilder::try_from(&options)?.set_sorting_columns(sorting);
        Ok(Self { properties: properties.build(), without_arrow_schema })
    }

    /// A writer of rows of `schema`, and that schema with the one of its file.
    ///
    /// # Errors
    /// A column that Parquet does not have.
    pub(super) fn open(&self, schema: &SchemaRef, buffer: Buffer) -> Result<(Schemas, ArrowWriter<Buffer>)> {
        check(schema)?;
        let file_schema = parquet_schema(schema);
        let mut dictionaries = vec![];
        for field in schema.fields() {
            add_dictionaries(field.data_type(), &mut vec![field.name().clone()], &mut dictionaries);
        }
        let mut properties = self.properties.clone().into_builder();
        for column in dictionaries {
            if self.properties.column_dictionary_page_size_limit(&column)
                == DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT
            {
                properties = properties.set_column_dictionary_page_size_limit(column, DICTIONARY_BYTES);
            }
        }
        let options = ArrowWriterOptions::new()
            .with_properties(properties.build())
            .with_skip_arrow_metadata(self.without_arrow_schema);
        let writer = ArrowWriter::try_new_with_options(buffer, Arc::clone(&file_schema), options)?;
        Ok((Schemas { rows: Arc::clone(schema), file: file_schema }, writer))
    }

    /// Rows and encoded bytes of a row group.
    fn row_group_limits(&self) -> (usize, usize) {
        let rows = self.properties.max_row_group_row_count().unwrap_or(usize::MAX);
        (rows, self.properties.max_row_group_bytes().unwrap_or(ROW_GROUP_BYTES))
    }
}

/// Checks that Parquet has a form for all columns.
fn check(schema: &Schema) -> Result<()> {
    if schema.fields().is_empty() {
        return plan_err!("a Parquet file needs a column, but the rows have none");
    }
    for field in schema.fields() {
        if holds(field.data_type(), &|kind| matches!(kind, DataType::Struct(fields) if fields.is_empty())) {
            return plan_err!(
                "column '{}' holds a struct without fields, which Parquet does not have; with the option \
                 empty_message=bool a message without fields is a boolean",
                field.name()
            );
        }
        if holds(field.data_type(), &|kind| matches!(kind, DataType::Union(_, _))) {
            return plan_err!("column '{}' holds a union, which Parquet does not have", field.name());
        }
    }
    Ok(())
}

/// Whether the type, or one inside of it, `is` something.
fn holds(kind: &DataType, is: &impl Fn(&DataType) -> bool) -> bool {
    let inside = match kind {
        DataType::Struct(fields) => fields.iter().any(|field| holds(field.data_type(), is)),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _)
        | DataType::RunEndEncoded(_, item) => holds(item.data_type(), is),
        DataType::Dictionary(_, value) => holds(value, is),
        _ => false,
    };
    inside || is(kind)
}

/// Adds the paths in Parquet of the columns below `path` that come as dictionaries.
fn add_dictionaries(kind: &DataType, path: &mut Vec<String>, found: &mut Vec<ColumnPath>) {
    let parts: Vec<(&[&str], &DataType)> = match kind {
        DataType::Dictionary(_, _) => {
            found.push(ColumnPath::new(path.clone()));
            return;
        }
        DataType::Struct(fields) => {
            for field in fields {
                path.push(field.name().clone());
                add_dictionaries(field.data_type(), path, found);
                path.pop();
            }
            return;
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            vec![(&["list", "element"], item.data_type())]
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => {
                let names: [&[&str]; 2] = [&["key_value", "key"], &["key_value", "value"]];
                names.into_iter().zip(fields.iter().map(|field| field.data_type())).collect()
            }
            _ => return,
        },
        _ => return,
    };
    for (names, kind) in parts {
        let len = path.len();
        path.extend(names.iter().map(ToString::to_string));
        add_dictionaries(kind, path, found);
        path.truncate(len);
    }
}

/// A row group being encoded.
pub(super) struct RowGroup {
    schemas: Schemas,
    columns: Vec<ArrowColumnWriter>,
    rows: usize,
    most_rows: usize,
    most_bytes: usize,
}

impl RowGroup {
    /// An empty row group of a file.
    pub(super) fn new(
        factory: &ArrowRowGroupWriterFactory,
        schemas: &Schemas,
        encoding: &ParquetEncoding,
    ) -> Result<Self> {
        let (most_rows, most_bytes) = encoding.row_group_limits();
        let columns = factory.create_column_writers(0)?;
        Ok(Self { schemas: schemas.clone(), columns, rows: 0, most_rows, most_bytes })
    }

    /// Rows that it can have still.
    pub(super) fn room(&self) -> usize {
        self.most_rows.saturating_sub(self.rows)
    }

    /// Bytes that are held, encoded or not yet.
    pub(super) fn memory_size(&self) -> usize {
        self.columns.iter().map(ArrowColumnWriter::memory_size).sum()
    }

    pub(super) fn is_full(&self) -> bool {
        let bytes: usize = self.columns.iter().map(ArrowColumnWriter::get_estimated_total_bytes).sum();
        self.room() == 0 || bytes >= self.most_bytes
    }

    /// Encodes rows.
    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        for (column, leaf) in self.columns.iter_mut().zip(leaves(&self.schemas, batch)?) {
            column.write(&leaf)?;
        }
        self.rows += batch.num_rows();
        Ok(())
    }

    /// Cuts the encoding of `batch` into about this many jobs, which can run beside each other and give what
    /// [`join`](Self::join) takes.
    pub(super) fn split(&mut self, batch: &RecordBatch, jobs: usize) -> Result<Vec<ColumnsJob>> {
        let mut work: Vec<_> =
            std::mem::take(&mut self.columns).into_iter().zip(leaves(&self.schemas, batch)?).collect();
        self.rows += batch.num_rows();
        let each = work.len().div_ceil(jobs.max(1)).max(1);
        let mut cut = vec![];
        while !work.is_empty() {
            cut.push(ColumnsJob(work.drain(..each.min(work.len())).collect()));
        }
        Ok(cut)
    }

    /// Takes the columns back, those of the first job first.
    pub(super) fn join(&mut self, columns: Vec<ArrowColumnWriter>) {
        self.columns.extend(columns);
    }

    /// The columns as bytes.
    pub(super) fn finish(self) -> Result<Vec<ArrowColumnChunk>> {
        let columns = self.columns.into_iter().map(ArrowColumnWriter::close);
        Ok(columns.collect::<std::result::Result<_, _>>()?)
    }
}

/// Some columns of a batch to be encoded.
pub(super) struct ColumnsJob(Vec<(ArrowColumnWriter, ArrowLeafColumn)>);

impl ColumnsJob {
    pub(super) fn run(self) -> Result<Vec<ArrowColumnWriter>> {
        let columns = self.0.into_iter().map(|(mut column, leaf)| {
            column.write(&leaf)?;
            Ok(column)
        });
        columns.collect()
    }
}

/// The schemas of rows and of the file that they go to.
#[derive(Debug, Clone)]
pub(super) struct Schemas {
    rows: SchemaRef,
    file: SchemaRef,
}

/// The leaves of all columns. The writer takes views and dictionaries of text as they are, and writes their values.
fn leaves(schemas: &Schemas, batch: &RecordBatch) -> Result<Vec<ArrowLeafColumn>> {
    let mut all = vec![];
    let fields = schemas.rows.fields().iter().zip(schemas.file.fields());
    for ((field, file_field), column) in fields.zip(batch.columns()) {
        // Arrow compares the types of a column and its field, down to the items of lists.
        all.extend(match holds(column.data_type(), &is_unknown) {
            true => compute_leaves(file_field, &cast(column, file_field.data_type())?)?,
            false => compute_leaves(field, column)?,
        });
    }
    Ok(all)
}

/// Whether Parquet's writer does not take a type: it knows no dictionaries of views, and none of bytes of fixed length in
/// the place of such bytes.
fn is_unknown(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, value) => {
            matches!(value.as_ref(), DataType::Utf8View | DataType::BinaryView | DataType::FixedSizeBinary(_))
        }
        _ => false,
    }
}
