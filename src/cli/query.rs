//! `query`: runs SQL statements and prints their results.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::DFParserBuilder;
use recordfusion::datasource;

use super::Outcome;
use super::print::{Format, Printer};
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
            (None, Some(path)) => std::fs::read_to_string(path)
                .map_err(|error| format!("cannot read {}: {error}", path.display()))?,
            (None, None) => String::new(),
        };
        run_statements(&ctx, &sql, self.format).await?;
        Ok(ExitCode::SUCCESS)
    }
}

async fn run_statements(
    ctx: &SessionContext,
    sql: &str,
    format: Format,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    for statement in DFParserBuilder::new(sql).build()?.parse_statements()? {
        let plan = datasource::statement_to_plan(&ctx.state(), statement).await?;
        let results = datasource::execute_logical_plan(ctx, plan).await?.execute_stream().await?;
        let mut printer = Printer::new(format, results.schema());
        // Statements such as CREATE EXTERNAL TABLE and SET have nothing to show.
        if results.schema().fields().is_empty() {
            printer.discard(results).await?;
        } else {
            printer.print(results).await?;
        }
    }
    Ok(())
}
