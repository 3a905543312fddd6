//! Tables from SQL: `CREATE EXTERNAL TABLE`, and a path in the place of a table name.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory, UrlTableFactory};
use datafusion::common::plan_err;
use datafusion::datasource::dynamic_file::DynamicListTableFactory;
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::CreateExternalTable;
use datafusion::prelude::SessionContext;
use recordfusion_core::Connector;

use super::foreign::open_foreign;
use super::format::statement_options;
use super::location::locate;
use super::{RecordTable, TableDefinition};
use crate::registry;
use crate::write::OVERWRITE;

/// `CREATE EXTERNAL TABLE … STORED AS` one connector.
#[derive(Debug)]
pub(super) struct RecordTableFactory {
    connector: Arc<dyn Connector>,
    /// The name that the connector is called by.
    name: &'static str,
}

impl RecordTableFactory {
    pub(super) fn new(connector: Arc<dyn Connector>, name: &'static str) -> Self {
        Self { connector, name }
    }
}

#[async_trait]
impl TableProviderFactory for RecordTableFactory {
    async fn create(
        &self,
        session: &dyn Session,
        command: &CreateExternalTable,
    ) -> Result<Arc<dyn TableProvider>> {
        if !command.order_exprs.is_empty() {
            return plan_err!("WITH ORDER is not supported for {} files", self.connector.name());
        }
        let options = statement_options(self.connector.as_ref(), &command.options)?;
        if options.get(OVERWRITE.name).is_some() {
            return plan_err!("'{}' is an option of COPY: INSERT INTO adds rows to a table", OVERWRITE.name);
        }
        let declared = !command.schema.fields().is_empty();
        let definition = TableDefinition {
            locations: command.locations.clone(),
            connector: Some(Arc::clone(&self.connector)),
            extension: Some(self.name),
            options,
            partition_columns: match command.table_partition_cols.as_slice() {
                [] if declared => Some(vec![]),
                [] => None,
                columns => Some(columns.to_vec()),
            },
            columns: declared.then(|| Arc::clone(command.schema.inner())),
            definition: command.definition.clone(),
        };
        Ok(Arc::new(RecordTable::open(session, definition).await?))
    }
}

/// `SELECT … FROM 'path'`: record files by their first bytes, all others by DataFusion's own formats.
#[derive(Debug)]
pub(super) struct UrlTables {
    /// What knows the session.
    session: DynamicListTableFactory,
}

impl UrlTables {
    pub(super) fn new(ctx: &SessionContext) -> Self {
        let session = DynamicListTableFactory::default();
        session.session_store().with_state(ctx.state_weak_ref());
        Self { session }
    }

    fn session(&self) -> Option<SessionState> {
        let session = self.session.session_store().get_session().upgrade()?;
        let session = session.read();
        session.as_any().downcast_ref::<SessionState>().cloned()
    }
}

#[async_trait]
impl UrlTableFactory for UrlTables {
    async fn try_new(&self, url: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let Some(session) = self.session() else { return Ok(None) };
        if !looks_like_a_path(url) {
            return Ok(None);
        }
        let is_surely_a_path = url.contains(['/', '*']);
        let path = match locate(&session, url).await {
            Ok(path) => path,
            Err(error) if is_surely_a_path && url.contains(['*', '?', '[']) => return Err(error),
            Err(_) => return Ok(None),
        };
        if session.runtime_env().object_store(&path).is_err() {
            return Ok(None);
        }
        let extension = Path::new(url).extension().and_then(|extension| extension.to_str());
        let named = extension.and_then(registry::connector);
        if named.is_none() && extension.is_some_and(|name| session.get_file_format_factory(name).is_some()) {
            let table = open_foreign(&session, &path, None).await?;
            return match table {
                None if is_surely_a_path && path.get_glob().is_some() => plan_err!("no files at {url}"),
                table => Ok(table),
            };
        }
        let definition = TableDefinition { connector: named.cloned(), ..TableDefinition::new(url) };
        match RecordTable::try_open(&session, &definition).await {
            Ok(Some(table)) => Ok(Some(Arc::new(table))),
            Ok(None) => open_foreign(&session, &path, None).await,
            // Without a slash or a known extension it may as well be the name of a table.
            Err(_) if named.is_none() && !is_surely_a_path => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Whether a table name may be meant as a path: a mistyped table name shall be reported as such.
fn looks_like_a_path(name: &str) -> bool {
    name.contains(['/', '.', '*']) || name.contains(std::path::MAIN_SEPARATOR) || Path::new(name).exists()
}
