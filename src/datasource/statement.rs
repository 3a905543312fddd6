//! SQL statements with our options in them.

use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::{DataFrame, SessionContext};
use datafusion::sql::parser::{CreateExternalTable, Statement};

use super::settings::{NAMESPACE, execute_logical_plan};
use crate::registry;

/// Runs one SQL statement, as `SessionContext::sql` does, and knows all of our options in it.
///
/// DataFusion reads the option `compression` of `CREATE EXTERNAL TABLE` itself, as one of text files, and has no
/// `RESET` for settings of extensions. Where its own `sql` is called, `OPTIONS ('recordfusion.compression' 'zstd:5')`
/// is the way to write the former.
///
/// # Errors
/// Those of DataFusion; wrong options.
pub async fn sql(ctx: &SessionContext, text: &str) -> Result<DataFrame> {
    let state = ctx.state();
    let statement = state.sql_to_statement(text, &state.config_options().sql_parser.dialect)?;
    execute_logical_plan(ctx, statement_to_plan(&state, statement).await?).await
}

/// Like `SessionState::statement_to_plan`; in `CREATE EXTERNAL TABLE` of record files, options are ours.
///
/// # Errors
/// Those of DataFusion.
pub async fn statement_to_plan(state: &SessionState, statement: Statement) -> Result<LogicalPlan> {
    let statement = match statement {
        Statement::CreateExternalTable(table) if registry::connector(&table.file_type).is_some() => {
            Statement::CreateExternalTable(with_own_options(table))
        }
        other => other,
    };
    state.statement_to_plan(statement).await
}

/// The same with the namespace before the names of options that have none: DataFusion would take them for its own.
fn with_own_options(mut table: CreateExternalTable) -> CreateExternalTable {
    for (name, _) in &mut table.options {
        let bare = name.strip_prefix("format.").unwrap_or(name);
        if !bare.contains('.') {
            *name = format!("{NAMESPACE}.{bare}");
        }
    }
    table
}
