//! `query`: runs SQL statements and prints their results.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser;
use recordfusion::{RecordTable, datasource, error_message};

use super::Outcome;
use super::interrupt::{stopped, was_interrupted};
use super::print::{Format, discard};
use super::session::SessionArgs;

/// Run SQL; a file is named by its path in quotes: SELECT * FROM 'data.riegeli'
#[derive(Debug, Args)]
pub(super) struct Query {
    /// One or more SQL statements
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    sql: Option<String>,
    /// Read the statements from a file
    #[arg(short, long, value_name = "FILE.sql")]
    file: Option<PathBuf>,
    /// How results are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    pub(super) session: SessionArgs,
}

impl Query {
    pub(super) async fn run(mut self) -> Outcome {
        self.session.table.writing = true;
        let ctx = self.session.context()?;
        let sql = match (self.sql, &self.file) {
            (Some(sql), _) => sql,
            (None, Some(path)) => {
                // A named pipe may be silent for long.
                let (shown, path) = (path.display().to_string(), path.clone());
                let text = tokio::task::spawn_blocking(move || std::fs::read_to_string(path)).await?;
                text.map_err(|error| format!("cannot read {shown}: {error}"))?
            }
            (None, None) => String::new(),
        };
        run_statements(&ctx, &sql, self.format).await
    }
}

async fn run_statements(ctx: &SessionContext, sql: &str, format: Format) -> Outcome {
    for statement in DFParserBuilder::new(sql).build()?.parse_statements()? {
        if was_interrupted() {
            return Ok(stopped());
        }
        let into = insert_target(&statement);
        let plan = match (datasource::statement_to_plan(&ctx.state(), statement).await, into) {
            (Err(error), Some(table)) => return Err(with_hint(ctx, error, &table).await),
            (plan, _) => plan?,
        };
        let results = datasource::execute_logical_plan(ctx, plan).await?.execute_stream().await?;
        // Statements such as CREATE EXTERNAL TABLE and SET have nothing to show.
        if results.schema().fields().is_empty() {
            discard(results).await?;
        } else {
            format.print(results).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The table that a statement adds rows to.
fn insert_target(statement: &Statement) -> Option<String> {
    let Statement::Statement(statement) = statement else { return None };
    match statement.as_ref() {
        sqlparser::ast::Statement::Insert(insert) => Some(insert.table.to_string()),
        _ => None,
    }
}

/// The error of an `INSERT` that is not planned, with what can be done if the records of `table` are bytes.
async fn with_hint(
    ctx: &SessionContext,
    error: DataFusionError,
    table: &str,
) -> Box<dyn Error + Send + Sync> {
    let table = ctx.table_provider(table).await.ok();
    let hint = table.as_ref().and_then(|table| table.downcast_ref::<RecordTable>()?.insert_hint());
    match hint {
        Some(hint) => format!("{}{hint}", error_message(&error).trim_end_matches(['.', '!'])).into(),
        None => error.into(),
    }
}
