//! The types and names that other readers know: plain text and bytes instead of views and dictionaries, and in Parquet
//! the names that its specification gives to the parts of lists and maps.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use datafusion::error::Result;

use super::compact::compact;

/// The schema of a Parquet file.
pub(super) fn parquet_schema(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new_with_metadata(fields(schema.fields(), Names::Parquet), schema.metadata().clone()))
}

/// The schema of an Arrow file.
pub(super) fn arrow_schema(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new_with_metadata(fields(schema.fields(), Names::Kept), schema.metadata().clone()))
}

/// The rows of `batch` with the types of `schema`, and nothing else in memory.
pub(super) fn cast_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns =
        batch.columns().iter().zip(schema.fields()).map(|(column, field)| match column.data_type() {
            kind if kind == field.data_type() => compact(column),
            _ => compact(&cast(column, field.data_type())?),
        });
    Ok(RecordBatch::try_new(Arc::clone(schema), columns.collect::<Result<_>>()?)?)
}

/// What the parts of lists and maps are called.
#[derive(Clone, Copy)]
enum Names {
    Kept,
    Parquet,
}

impl Names {
    fn rename(self, field: Field, name: &str) -> Field {
        match self {
            Self::Kept => field,
            Self::Parquet => field.with_name(name),
        }
    }
}

fn fields(all: &Fields, names: Names) -> Fields {
    all.iter().map(|field| Arc::new(plain(field, names))).collect()
}

fn plain(field: &FieldRef, names: Names) -> Field {
    Field::clone(field).with_data_type(plain_type(field.data_type(), names))
}

fn plain_type(kind: &DataType, names: Names) -> DataType {
    let item = |field: &FieldRef| Arc::new(names.rename(plain(field, names), "element"));
    match kind {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, value) => plain_type(value, names),
        DataType::Struct(children) => DataType::Struct(fields(children, names)),
        DataType::List(field) => DataType::List(item(field)),
        DataType::LargeList(field) => DataType::LargeList(item(field)),
        DataType::FixedSizeList(field, len) => DataType::FixedSizeList(item(field), *len),
        DataType::Map(entries, sorted) => {
            let entries = names.rename(Field::clone(entries), "key_value");
            let children = match entries.data_type() {
                DataType::Struct(children) => children.iter().zip(["key", "value"]),
                _ => return kind.clone(),
            };
            let children = children.map(|(child, name)| names.rename(plain(child, names), name));
            let children = DataType::Struct(children.collect());
            DataType::Map(Arc::new(entries.with_data_type(children)), *sorted)
        }
        kind => kind.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Schemas as text, since the printed form of types has all names.
    #[test]
    fn parts_have_parquets_names_and_plain_types() {
        let word = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let item = |kind| Arc::new(Field::new("item", kind, true));
        let entries = Fields::from(vec![
            Field::new("keys", DataType::Utf8View, false),
            Field::new("values", DataType::List(item(word())), true),
        ]);
        let entries = Arc::new(Field::new("entries", DataType::Struct(entries), false));
        let inner = Fields::from(vec![Field::new("b", DataType::BinaryView, true)]);
        let schema = Schema::new(vec![
            Field::new("word", word(), true),
            Field::new("map", DataType::Map(entries, false), true),
            Field::new("structs", DataType::LargeList(item(DataType::Struct(inner))), true),
            Field::new("pair", DataType::FixedSizeList(item(DataType::Utf8View), 2), true),
            Field::new("n", DataType::Int64, false),
        ]);
        let texts = |schema: SchemaRef| -> Vec<String> {
            schema.fields().iter().map(|field| field.data_type().to_string()).collect()
        };
        for text in texts(parquet_schema(&schema)).iter().chain(&texts(arrow_schema(&schema))) {
            assert!(!text.contains("View") && !text.contains("Dictionary"), "{text}");
        }
        let parquet = texts(parquet_schema(&schema)).join("\n");
        for name in ["key_value", "\"key\"", "\"value\"", "element"] {
            assert!(parquet.contains(name), "{name}: {parquet}");
        }
        assert!(!parquet.contains("item") && !parquet.contains("entries"), "{parquet}");
        let arrow = texts(arrow_schema(&schema)).join("\n");
        assert!(arrow.contains("item") || !arrow.contains("element"), "{arrow}");
    }
}
