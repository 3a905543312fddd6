//! Record files with Apache Arrow and DataFusion: query them with SQL, convert them to Parquet.
//!
//! [`register`] makes the formats known to a `SessionContext`; then
//! `CREATE EXTERNAL TABLE … STORED AS RIEGELI LOCATION '…'` and `SELECT … FROM 'file.riegeli'` work.
//! [`RecordTable`] is the table for programs that do not go through SQL, and [`convert`] copies any
//! query over record files to Parquet, CSV, NDJSON or Arrow IPC.
//!
//! What knows bytes lives in the connector crates; [`registry`] lists them.

pub mod convert;
pub mod datasource;
pub mod json;
pub mod registry;

use std::error::Error;

pub use datasource::{RecordTable, TableDefinition, register, register_with_options};
pub use recordfusion_core::{Options, RecordFile};

/// The message of the innermost cause that says what went wrong, without the layers that an error
/// passed through on its way up.
pub fn error_message(error: &(dyn Error + 'static)) -> String {
    use datafusion::error::DataFusionError;
    if let Some(error) = error.downcast_ref::<DataFusionError>() {
        return match error {
            DataFusionError::External(inner) => error_message(inner.as_ref()),
            DataFusionError::ArrowError(inner, _) => error_message(inner.as_ref()),
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
                error_message(inner.as_ref())
            }
            DataFusionError::Shared(inner) => error_message(inner.as_ref()),
            DataFusionError::Collection(all) => {
                all.first().map_or_else(|| error.to_string(), |first| error_message(first))
            }
            DataFusionError::Plan(text)
            | DataFusionError::Execution(text)
            | DataFusionError::NotImplemented(text) => text.clone(),
            other => other.message().into_owned(),
        };
    }
    if let Some(datafusion::arrow::error::ArrowError::ExternalError(inner)) = error.downcast_ref() {
        return error_message(inner.as_ref());
    }
    error.to_string()
}
