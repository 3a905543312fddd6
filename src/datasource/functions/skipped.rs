//! `<format>_skipped('path')`: the damaged regions that a scan with `on_corruption = 'skip'` passes over.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{RecordBatch, StringArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use recordfusion_core::{Connector, LostRegion, OnCorruption, Options};

use super::{AboutFiles, FunctionTable, columns, path_argument};
use crate::capabilities::verifying;
use crate::datasource::external;
use crate::datasource::files::recognise_files;
use crate::datasource::listing::list_files;
use crate::datasource::location::locate;
use crate::datasource::settings::{open_files_setting, table_options};

/// The table function of one format: a row for each lost region, with its first byte, the byte behind its last one,
/// its length and what is wrong at its first byte. The files are read from end to end, with the session's settings.
#[derive(Debug)]
pub(super) struct Skipped(Arc<dyn Connector>);

impl Skipped {
    pub(super) fn new(connector: Arc<dyn Connector>) -> Self {
        Self(connector)
    }

    pub(super) fn name(&self) -> String {
        format!("{}_skipped", self.0.name())
    }
}

impl TableFunctionImpl for Skipped {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let name = self.name();
        let [Expr::Literal(path, _)] = args.exprs() else {
            return plan_err!("{name} takes a path, as in {name}('logs/')");
        };
        let path = path_argument(&name, path)?;
        Ok(Arc::new(FunctionTable(SkippedOf { connector: Arc::clone(&self.0), path })))
    }
}

#[derive(Debug)]
struct SkippedOf {
    connector: Arc<dyn Connector>,
    path: String,
}

#[async_trait]
impl AboutFiles for SkippedOf {
    fn schema(&self) -> SchemaRef {
        columns(&[
            ("file", DataType::Utf8),
            ("begin", DataType::UInt64),
            ("end", DataType::UInt64),
            ("bytes", DataType::UInt64),
            ("reason", DataType::Utf8),
        ])
    }

    async fn rows(&self, session: &dyn Session) -> Result<RecordBatch> {
        let files = list_files(session, &locate(session, &self.path).await?).await?;
        if files.is_empty() {
            return plan_err!("no files at {}", self.path);
        }
        let open_files = open_files_setting(session, &Options::new())?;
        recognise_files(&files, Some(&self.connector), OnCorruption::Skip, open_files).await?;
        let options = table_options(session, self.connector.as_ref(), &Options::new());
        let mut lost: Vec<(String, LostRegion)> = Vec::new();
        for file in files.iter().filter(|file| file.size > 0) {
            let found = verifying(self.connector.as_ref())
                .map_err(external)?
                .verify(file, &options)
                .await
                .map_err(external)?;
            lost.extend(found.faults.into_iter().map(|region| (file.name.clone(), region)));
        }
        let numbers =
            |of: fn(&LostRegion) -> u64| lost.iter().map(|(_, region)| of(region)).collect::<UInt64Array>();
        Ok(RecordBatch::try_new(
            self.schema(),
            vec![
                Arc::new(StringArray::from_iter_values(lost.iter().map(|(file, _)| file))),
                Arc::new(numbers(|region| region.begin)),
                Arc::new(numbers(|region| region.end)),
                Arc::new(numbers(LostRegion::bytes)),
                Arc::new(StringArray::from_iter_values(lost.iter().map(|(_, region)| &region.reason))),
            ],
        )?)
    }
}
