//! Record files with Apache Arrow and DataFusion: query them with SQL, convert them to Parquet.
//!
//! [`register`] makes the formats known to a `SessionContext`; then
//! `CREATE EXTERNAL TABLE … STORED AS RIEGELI LOCATION '…'` and `SELECT … FROM 'file.riegeli'` work, and
//! table options are settings of the session, as in `SET recordfusion.message_type = '…'`.
//! [`RecordTable`] is the table for programs that do not go through SQL, and [`convert`] copies any
//! query over record files to Parquet, CSV, NDJSON or Arrow IPC.
//!
//! What knows bytes lives in the connector crates; [`registry`] lists them.

pub mod capabilities;
pub mod convert;
pub mod datasource;
mod encode;
pub mod json;
pub mod registry;
pub mod repair;
mod write;

use std::error::Error;

use datafusion::common::SchemaError;

pub use datasource::{
    RecordTable, TableDefinition, register, register_record_formats, register_with_options, sql,
};
pub use recordfusion_core::{Options, RecordFile};
pub use write::{stop_publishing, writes_ended};

/// The message of the innermost cause that says what went wrong, in one line, without the layers that an
/// error passed through on its way up.
pub fn error_message(error: &(dyn Error + 'static)) -> String {
    let message = innermost_message(error);
    let message = message.split("\nThis issue was likely caused by").next().unwrap_or_default();
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What to do if the only column is the records' bytes, and another was asked for.
fn without_type_hint(error: &SchemaError) -> &'static str {
    let is_bytes = match error {
        SchemaError::FieldNotFound { valid_fields, .. } => {
            matches!(valid_fields.as_slice(), [only] if only.name() == "record")
        }
        _ => false,
    };
    match is_bytes {
        true => {
            " The records are bytes, since their message type is not known: name it with the options \
             message_type and descriptor_set or proto."
        }
        false => "",
    }
}

fn innermost_message(error: &(dyn Error + 'static)) -> String {
    use datafusion::arrow::error::ArrowError;
    use datafusion::error::DataFusionError;
    if let Some(error) = error.downcast_ref::<DataFusionError>() {
        return match error {
            DataFusionError::External(inner) => innermost_message(inner.as_ref()),
            DataFusionError::ArrowError(inner, _) => innermost_message(inner.as_ref()),
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
                innermost_message(inner.as_ref())
            }
            DataFusionError::Shared(inner) => innermost_message(inner.as_ref()),
            DataFusionError::Collection(all) => {
                all.first().map_or_else(|| error.to_string(), |first| innermost_message(first))
            }
            DataFusionError::SQL(inner, _) => inner.to_string(),
            DataFusionError::SchemaError(inner, _) => format!("{inner}{}", without_type_hint(inner)),
            DataFusionError::Plan(text)
            | DataFusionError::Execution(text)
            | DataFusionError::NotImplemented(text)
            | DataFusionError::Internal(text) => text.clone(),
            other => other.message().into_owned(),
        };
    }
    if let Some(recordfusion_core::Error::Arrow(inner)) = error.downcast_ref() {
        return innermost_message(inner);
    }
    if let Some(ArrowError::ExternalError(inner)) = error.downcast_ref() {
        return innermost_message(inner.as_ref());
    }
    error.to_string()
}
