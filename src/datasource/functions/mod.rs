//! Table functions about files: their rows are made when the table is scanned, since files have to be listed or read.

mod skipped;
mod splits;

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::datasource::TableType;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;

use crate::registry;
use skipped::Skipped;
use splits::RecordSplits;

/// Makes the table functions known to a session: `record_splits`, and `<format>_skipped` for each format.
pub(super) fn register(ctx: &SessionContext) {
    ctx.register_udtf("record_splits", Arc::new(RecordSplits));
    for connector in registry::connectors() {
        let skipped = Skipped::new(Arc::clone(connector));
        ctx.register_udtf(&skipped.name(), Arc::new(skipped));
    }
}

/// What a call of a table function says of files.
#[async_trait]
trait AboutFiles: Debug + Send + Sync {
    /// The columns.
    fn schema(&self) -> SchemaRef;

    /// All rows.
    async fn rows(&self, session: &dyn Session) -> Result<RecordBatch>;
}

/// The rows as a table.
#[derive(Debug)]
struct FunctionTable<T>(T);

#[async_trait]
impl<T: AboutFiles + 'static> TableProvider for FunctionTable<T> {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = self.0.rows(session).await?;
        Ok(MemorySourceConfig::try_new_exec(&[vec![rows]], self.schema(), projection.cloned())?)
    }
}

/// The path that is the first argument of a function.
fn path_argument(function: &str, value: &ScalarValue) -> Result<String> {
    match value.try_as_str() {
        Some(Some(path)) => Ok(path.to_string()),
        _ => plan_err!("the first argument of {function} is a path in quotes, not {value}"),
    }
}

/// Columns without NULLs.
fn columns(columns: &[(&str, DataType)]) -> SchemaRef {
    let field = |(name, data_type): &(&str, DataType)| Field::new(*name, data_type.clone(), false);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}
