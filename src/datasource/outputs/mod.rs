//! DataFusion's own formats being written: Parquet, CSV, JSON, Arrow.
//!
//! Their sinks put files under the final names even if the query fails, and say "Error sending RecordBatch" for the
//! cause. So a rule of the analyzer gives `COPY` and `INSERT INTO` a format that writes as record files are written;
//! the registered factories and the formats of tables stay as they are, so that nothing changes for readers.
//!
//! ```text
//! COPY, INSERT ──▶ OutputRule ──▶ OutputFormat ──▶ OutputSink ──▶ encode/, write/
//!                                      └─ what ours does not have ──▶ DataFusion's own sink
//! ```

mod format;
mod sink;

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::datasource::file_format::arrow::{ArrowFormat, ArrowFormatFactory};
use datafusion::datasource::file_format::csv::{CsvFormat, CsvFormatFactory};
use datafusion::datasource::file_format::json::{JsonFormat, JsonFormatFactory};
use datafusion::datasource::file_format::parquet::{ParquetFormat, ParquetFormatFactory};
use datafusion::datasource::file_format::{
    FileFormat, FileFormatFactory, file_type_to_format, format_as_file_type,
};
use datafusion::datasource::listing::{ListingTable, ListingTableConfig};
use datafusion::datasource::{DefaultTableSource, provider_as_source};
use datafusion::error::Result;
use datafusion::logical_expr::dml::CopyTo;
use datafusion::logical_expr::{DmlStatement, LogicalPlan, WriteOp};
use datafusion::optimizer::AnalyzerRule;
use datafusion::prelude::SessionContext;

pub use format::{OutputFormat, OutputFormatFactory};

/// Makes `COPY` and `INSERT INTO` of a session write DataFusion's formats whole or not at all.
pub(super) fn register(ctx: &SessionContext) {
    let state = ctx.state_ref();
    let known = state.read().analyzer().rules.iter().any(|rule| rule.name() == OutputRule.name());
    if !known {
        ctx.add_analyzer_rule(Arc::new(OutputRule));
    }
}

/// Gives statements that write DataFusion's own formats an [`OutputFormat`].
#[derive(Debug)]
struct OutputRule;

impl AnalyzerRule for OutputRule {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let replaced = plan.transform_up(|plan| match plan {
            LogicalPlan::Copy(copy) => copy_to(copy),
            LogicalPlan::Dml(statement) => insert_into(statement),
            plan => Ok(Transformed::no(plan)),
        });
        Ok(replaced?.data)
    }

    fn name(&self) -> &'static str {
        "recordfusion_outputs"
    }
}

fn copy_to(copy: CopyTo) -> Result<Transformed<LogicalPlan>> {
    let factory = file_type_to_format(&copy.file_type)?;
    if !is_known_factory(factory.as_ref()) {
        return Ok(Transformed::no(LogicalPlan::Copy(copy)));
    }
    let file_type = format_as_file_type(Arc::new(OutputFormatFactory::new(factory)));
    Ok(Transformed::yes(LogicalPlan::Copy(CopyTo { file_type, ..copy })))
}

fn insert_into(statement: DmlStatement) -> Result<Transformed<LogicalPlan>> {
    let table = match &statement.op {
        WriteOp::Insert(_) => statement.target.downcast_ref::<DefaultTableSource>(),
        _ => None,
    };
    let table = table.and_then(|source| source.table_provider.downcast_ref::<ListingTable>());
    let Some(table) = table.filter(|table| is_known_format(table.options().format.as_ref())) else {
        return Ok(Transformed::no(LogicalPlan::Dml(statement)));
    };
    let target = provider_as_source(Arc::new(with_output_format(table)?));
    Ok(Transformed::yes(LogicalPlan::Dml(DmlStatement { target, ..statement })))
}

/// The same table, whose files are written by an [`OutputFormat`].
fn with_output_format(table: &ListingTable) -> Result<ListingTable> {
    let mut options = table.options().clone();
    options.format = Arc::new(OutputFormat::new(Arc::clone(&options.format)));
    let schema = table.schema();
    let columns: Vec<usize> = (0..schema.fields().len() - options.table_partition_cols.len()).collect();
    let config = ListingTableConfig::new_with_multi_paths(table.table_paths().clone())
        .with_listing_options(options)
        .with_schema(Arc::new(schema.project(&columns)?));
    ListingTable::try_new(config)
}

fn is_known_factory(factory: &dyn FileFormatFactory) -> bool {
    factory.is::<ParquetFormatFactory>()
        || factory.is::<CsvFormatFactory>()
        || factory.is::<JsonFormatFactory>()
        || factory.is::<ArrowFormatFactory>()
}

fn is_known_format(format: &dyn FileFormat) -> bool {
    format.is::<ParquetFormat>()
        || format.is::<CsvFormat>()
        || format.is::<JsonFormat>()
        || format.is::<ArrowFormat>()
}
