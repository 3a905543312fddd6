//! The sqllogictest files in `sql/`: the SQL surface, readable as documentation.

use std::path::Path;

use async_trait::async_trait;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType, Runner};

/// The connection that a file's statements run on; paths are relative to the repository.
struct Session(SessionContext);

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failure(String);

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Self {
        Self(recordfusion::error_message(&error))
    }
}

#[async_trait]
impl AsyncDB for Session {
    type Error = Failure;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Failure> {
        let plan = self.0.state().create_logical_plan(sql).await?;
        let rows = recordfusion::datasource::execute_logical_plan(&self.0, plan).await?;
        let columns = rows.schema().fields().len();
        let batches = rows.collect().await?;
        if columns == 0 {
            return Ok(DBOutput::StatementComplete(0));
        }
        let options = FormatOptions::default().with_null("NULL");
        let mut cells = vec![];
        for batch in &batches {
            let columns: Vec<_> = batch
                .columns()
                .iter()
                .map(|column| ArrayFormatter::try_new(column, &options).map_err(DataFusionError::from))
                .collect::<Result<_, _>>()?;
            for row in 0..batch.num_rows() {
                cells.push(
                    columns.iter().map(|column| empty_as_text(column.value(row).to_string())).collect(),
                );
            }
        }
        Ok(DBOutput::Rows { types: vec![DefaultColumnType::Text; columns], rows: cells })
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        "recordfusion"
    }
}

fn empty_as_text(cell: String) -> String {
    if cell.is_empty() { "(empty)".to_string() } else { cell }
}

#[tokio::test]
async fn sql_files_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let mut runner = Runner::new(|| async { Ok(Session(crate::support::context(2, 1000))) });
        if let Err(error) = runner.run_file_async(&file).await {
            panic!("{}", error.display(false));
        }
    }
}
