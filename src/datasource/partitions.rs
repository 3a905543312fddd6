//! Hive partitions: folders that are named for the values of columns, as in `day=2026-01-01/x.riegeli`.

use std::collections::HashMap;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{DFSchema, ScalarValue, exec_err, plan_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::conjunction;
use percent_encoding::percent_decode_str;

/// What stands for NULL in the name of a folder.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// Files whose partitions are compared with a filter at a time.
const FILES_AT_A_TIME: usize = 1024;

/// Checks that folders can be named for these columns of `schema`.
///
/// # Errors
/// A column that is not there, of a type that has no text which can be read back, or of a name with `=`.
pub(crate) fn check_columns(schema: &Schema, columns: &[(String, DataType)]) -> Result<()> {
    for (name, _) in columns {
        let kind = schema.field_with_name(name)?.data_type();
        if !has_text(kind) {
            return plan_err!(
                "files cannot be partitioned by column '{name}': values of type {kind} do not make names of folders; \
                 cast it to text or to a number"
            );
        }
        if name.contains('=') || name.is_empty() {
            return plan_err!(
                "files cannot be partitioned by column '{name}': folders are named NAME=VALUE; give it a name without ="
            );
        }
    }
    Ok(())
}

/// Whether a value of this type is the same after it became text and a value again.
fn has_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => has_text(values),
        DataType::Null
        | DataType::Boolean
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(_, _) => true,
        kind => kind.is_numeric(),
    }
}

/// The name of the folder for the value of column `name` in a row, before it becomes part of a path.
///
/// # Errors
/// The text that stands for NULL.
pub(super) fn folder_name(name: &str, column: &ArrayRef, row: usize) -> Result<String> {
    let text = cast(&column.slice(row, 1), &DataType::Utf8)?;
    let text = text.as_string::<i32>();
    if text.is_null(0) {
        return Ok(format!("{name}={NULL}"));
    }
    match text.value(0) {
        NULL => exec_err!(
            "the text '{NULL}' in column '{name}' cannot name a partition: as the name of a folder it stands for NULL; \
             replace it in the query"
        ),
        text => Ok(format!("{name}={text}")),
    }
}

/// Name and value of a column, as the name of a folder has them.
pub(super) fn parse_folder_name(folder: &str) -> Option<(String, &str)> {
    let (name, value) = folder.split_once('=')?;
    Some((decode(name), value))
}

/// The value that the name of a folder has behind the `=`.
///
/// # Errors
/// It is none of this type.
pub(super) fn value(text: &str, kind: &DataType) -> Result<ScalarValue> {
    match text {
        NULL => ScalarValue::try_from(kind),
        text => ScalarValue::try_from_string(decode(text), kind),
    }
}

/// What was percent-encoded; a text that does not decode to UTF-8 is meant as it is.
fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_string(), String::from)
}

/// The `files` whose partition values, those of `columns`, meet all `filters`.
///
/// DataFusion's own function for this does not know of NULL.
///
/// # Errors
/// A filter that fails.
pub(super) fn matching(
    session: &dyn Session,
    files: Vec<PartitionedFile>,
    columns: &[(String, DataType)],
    filters: &[Expr],
) -> Result<Vec<PartitionedFile>> {
    let Some(filter) = conjunction(filters.iter().cloned()) else { return Ok(files) };
    let fields: Fields = columns.iter().map(|(name, kind)| Field::new(name, kind.clone(), true)).collect();
    let schema = DFSchema::from_unqualified_fields(fields, HashMap::new())?;
    let filter = session.create_physical_expr(filter, &schema)?;
    let mut kept = Vec::with_capacity(files.len());
    for some in files.chunks(FILES_AT_A_TIME) {
        let batch = partition_values(some, schema.inner())?;
        let answers = filter.evaluate(&batch)?.into_array(some.len())?;
        let answers: &BooleanArray = as_boolean_array(&answers)?;
        let yes = some.iter().zip(answers).filter(|(_, answer)| *answer == Some(true));
        kept.extend(yes.map(|(file, _)| file.clone()));
    }
    Ok(kept)
}

fn partition_values(files: &[PartitionedFile], schema: &SchemaRef) -> Result<RecordBatch> {
    let column = |index: usize| {
        ScalarValue::iter_to_array(files.iter().map(|file| file.partition_values[index].clone()))
    };
    let columns = (0..schema.fields().len()).map(column).collect::<Result<Vec<_>>>()?;
    Ok(RecordBatch::try_new(SchemaRef::clone(schema), columns)?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{
        BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int8Array,
        LargeStringArray, NullArray, StringArray, StringViewArray, TimestampMicrosecondArray,
        TimestampNanosecondArray, UInt64Array,
    };
    use datafusion::arrow::datatypes::Int8Type;
    use object_store::path::Path;

    use super::*;

    /// Columns of every kind that can name folders.
    fn columns() -> Vec<ArrayRef> {
        let texts = ["", "a/b", "a=b", "50%", "%2F", "two words", "Zürich", "..", "a\\b", "~{}#?*\n", "NULL"];
        let dictionary: DictionaryArray<Int8Type> = vec![Some("x"), None, Some("a/b")].into_iter().collect();
        let utc = TimestampNanosecondArray::from(vec![Some(1_700_000_000_123_456_789), None]);
        vec![
            Arc::new(BooleanArray::from(vec![Some(true), Some(false), None])),
            Arc::new(Int8Array::from(vec![Some(-128), Some(127), None])),
            Arc::new(UInt64Array::from(vec![Some(u64::MAX), None])),
            Arc::new(Float64Array::from(vec![Some(1.0), Some(-0.1), Some(1e300), Some(f64::INFINITY), None])),
            Arc::new(
                Decimal128Array::from(vec![Some(-1250), Some(5), None])
                    .with_precision_and_scale(10, 2)
                    .unwrap(),
            ),
            Arc::new(Date32Array::from(vec![Some(20_000), Some(-1), None])),
            Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), Some(1_700_000_000_000_000), None])),
            Arc::new(utc.with_timezone("+02:00")),
            Arc::new(StringArray::from(texts.to_vec())),
            Arc::new(LargeStringArray::from(texts.to_vec())),
            Arc::new(StringViewArray::from(texts.to_vec())),
            Arc::new(dictionary),
            Arc::new(NullArray::new(1)),
        ]
    }

    #[test]
    fn values_come_back_from_the_names_of_folders() {
        for column in columns() {
            let kind = column.data_type();
            assert!(has_text(kind), "{kind}");
            for row in 0..column.len() {
                let folder = folder_name("größe [m]", &column, row).expect("it has a name");
                let path = Path::from("t").join(folder);
                let listed = path.as_ref().strip_prefix("t/").expect("a folder");
                assert!(!listed.contains('/'), "{listed}");
                let (name, text) = parse_folder_name(listed).expect("name and value");
                assert_eq!(name, "größe [m]");
                let expected = ScalarValue::try_from_array(&column, row).expect("a value");
                assert_eq!(value(text, kind).expect("of the type"), expected, "{listed}");
            }
        }
    }

    #[test]
    fn the_text_for_null_names_no_partition() {
        let column: ArrayRef = Arc::new(StringArray::from(vec![NULL]));
        let error = folder_name("p", &column, 0).unwrap_err().to_string();
        assert!(error.contains("cannot name a partition"), "{error}");
    }

    #[test]
    fn columns_without_text_are_refused() {
        let fields = [("b", DataType::Binary), ("a=b", DataType::Utf8), ("ok", DataType::Utf8)];
        let schema = Schema::new(fields.clone().map(|(name, kind)| Field::new(name, kind, true)).to_vec());
        let check = |name: &str| check_columns(&schema, &[(name.to_string(), DataType::Null)]);
        assert!(check("b").is_err() && check("a=b").is_err() && check("none").is_err());
        check("ok").expect("text");
    }
}
