//! Record files as DataFusion tables.
//!
//! | file | what |
//! |---|---|
//! | `format.rs` | [`RecordFormat`]: the `FileFormat` and its factory |
//! | `source.rs` | [`RecordSource`]: the `FileSource`: projection, byte ranges, what `EXPLAIN` shows |
//! | `opener.rs` | one byte range of one file to a stream of batches |
//! | `limit.rs` | the limit of a scan, which its partitions keep together |
//! | `projection.rs` | which leaves of which columns a plan's expressions need |
//! | `filter.rs` | filters that the scan applies: to rows, and to what is known of whole chunks |
//! | `metrics.rs` | a scan's counters as `EXPLAIN ANALYZE` metrics |
//! | `table.rs` | [`RecordTable`]: the `TableProvider` |
//! | `factory.rs` | `CREATE EXTERNAL TABLE`, and `SELECT … FROM 'file'` |
//! | `settings.rs` | table options as settings of the session |
//! | `sink.rs` | the `DataSink`: `COPY … TO` and `INSERT INTO` |
//! | `demux.rs` | which rows go to which of a statement's files |
//! | `partitions.rs` | Hive partitions: names of folders and values |
//! | `range.rs` | byte ranges of files: the option `range`, and how ranges are cut |
//! | `functions/` | the table functions: `record_splits`, and the damaged regions of files |
//! | `files.rs` | listing and recognising files, Hive partition columns |

pub(crate) mod demux;
mod factory;
mod files;
mod filter;
mod format;
mod functions;
mod limit;
mod metrics;
mod opener;
pub(crate) mod partitions;
mod projection;
mod range;
mod settings;
mod sink;
mod source;
mod table;

use std::sync::Arc;

use datafusion::catalog::DynamicFileCatalog;
use datafusion::error::{DataFusionError, Result};
use datafusion::prelude::SessionContext;
use recordfusion_core::Options;

pub use files::{list_files, recognise_files};
pub use format::{RecordFormat, RecordFormatFactory};
pub use range::range_option;
pub(crate) use range::{RANGE, clipped};
pub use settings::execute_logical_plan;
pub(crate) use settings::{range_setting, setting, write_options};
pub use source::RecordSource;
pub use table::{RecordTable, TableDefinition};

use crate::registry;
use factory::{RecordTableFactory, UrlTables};
use settings::TableSettings;

/// Makes all record file formats known to a session: `CREATE EXTERNAL TABLE … STORED AS RIEGELI`,
/// and `SELECT … FROM 'file'`.
///
/// The table options become settings of the session: `SET recordfusion.message_type = 'web.Request'` applies
/// to every table that is opened afterwards and is not given the option itself. An empty value takes the
/// setting away. `SHOW` and `information_schema.df_settings` show them; `RESET` needs
/// [`execute_logical_plan`].
///
/// # Errors
/// None of its own; DataFusion may refuse a file format.
pub fn register(ctx: &SessionContext) -> Result<()> {
    register_with_options(ctx, Options::new())
}

/// Like [`register`]; `options` are the initial values of the settings.
///
/// # Errors
/// Options that no connector knows or accepts; DataFusion may refuse a file format.
pub fn register_with_options(ctx: &SessionContext, options: Options) -> Result<()> {
    let settings = TableSettings::new(options)?;
    let state = ctx.state_ref();
    state.write().config_mut().options_mut().extensions.insert(settings);
    for connector in registry::connectors() {
        for name in registry::names(connector.as_ref()) {
            let format = RecordFormatFactory::new(Arc::clone(connector), name);
            let tables = RecordTableFactory::new(Arc::clone(connector), name);
            let mut state = state.write();
            state.register_file_format(Arc::new(format), true)?;
            state.table_factories_mut().insert(name.to_uppercase(), Arc::new(tables));
        }
    }
    functions::register(ctx);
    let urls = UrlTables::new(ctx);
    let catalogs = Arc::clone(state.read().catalog_list());
    ctx.register_catalog_list(Arc::new(DynamicFileCatalog::new(catalogs, Arc::new(urls))));
    Ok(())
}

/// A connector's error on its way through DataFusion; [`crate::error_message`] takes it out again.
pub(crate) fn external(error: recordfusion_core::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
