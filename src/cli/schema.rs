//! `schema`: the columns of a file, or its message type.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::arrow::error::ArrowError;
use datafusion::common::TableReference;
use recordfusion::{RecordTable, TableDefinition};

use super::Outcome;
use super::session::{TableArgs, context};
use super::table::print_table;
use super::terminal::{self, Content, show};

/// Print the columns of a file, or its message type as .proto text
#[derive(Debug, Args)]
pub(super) struct Schema {
    /// The file
    file: String,
    /// Print the message type and all that it needs as .proto text
    #[arg(long)]
    proto: bool,
    #[command(flatten)]
    table: TableArgs,
}

impl Schema {
    pub(super) async fn run(self) -> Outcome {
        let ctx = context(&self.table, 1)?;
        if self.proto {
            let table = RecordTable::open(&ctx.state(), TableDefinition::new(self.file.as_str())).await?;
            let no_type = || format!("{} does not say what messages its records are: {NAME_THEM}", self.file);
            show(Content::Text, table.proto_text().ok_or_else(no_type)?).await?;
        } else {
            let table = ctx.table(TableReference::bare(self.file.as_str())).await?;
            let columns = columns(table.schema().fields())?;
            let schema = columns.schema();
            let columns = futures::stream::iter([Ok::<_, ArrowError>(columns)]);
            terminal::print(Content::Text, columns, move |out, columns| print_table(out, &schema, columns))
                .await?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A row for each column.
fn columns(fields: &Fields) -> Result<RecordBatch, ArrowError> {
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(fields.iter().map(|field| field.name())));
    let types = fields.iter().map(|field| without_metadata(field.data_type()).to_string());
    let types: ArrayRef = Arc::new(StringArray::from_iter_values(types));
    let nullable: ArrayRef =
        Arc::new(fields.iter().map(|field| Some(field.is_nullable())).collect::<BooleanArray>());
    RecordBatch::try_from_iter([("name", names), ("type", types), ("nullable", nullable)])
}

/// A type as it is printed: the metadata of nested fields would hide their names.
fn without_metadata(data_type: &DataType) -> DataType {
    let field = |field: &FieldRef| {
        Arc::new(Field::new(field.name(), without_metadata(field.data_type()), field.is_nullable()))
    };
    match data_type {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        DataType::List(item) => DataType::List(field(item)),
        DataType::LargeList(item) => DataType::LargeList(field(item)),
        DataType::Map(entries, sorted) => DataType::Map(field(entries), *sorted),
        other => other.clone(),
    }
}

const NAME_THEM: &str = "name them with -o message_type=… and -o descriptor_set=… or -o proto=…";
