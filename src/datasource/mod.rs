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
//! | `destination.rs` | where the rows of a statement go |
//! | `outputs/` | the same for the formats of DataFusion: Parquet, CSV, JSON, Arrow |
//! | `demux.rs` | which rows go to which of a statement's files |
//! | `partitions.rs` | Hive partitions: names of folders and values |
//! | `range.rs` | byte ranges of files: the option `range`, and how ranges are cut |
//! | `functions/` | the table functions: `record_splits`, and the damaged regions of files |
//! | `location.rs` | where a path, URL or pattern points to |
//! | `listing.rs` | listing files |
//! | `files.rs` | recognising files, Hive partition columns |
//! | `heads.rs` | the first bytes of files that are opened |
//! | `foreign.rs` | files of DataFusion's own formats |
//! | `statement.rs` | statements with our options |
//! | `enums.rs` | names of enums in conditions |
//! | `map_keys.rs` | keys that maps are asked for |

pub(crate) mod demux;
mod destination;
mod enums;
mod factory;
mod files;
mod filter;
mod foreign;
mod format;
mod functions;
mod heads;
mod limit;
mod listing;
mod location;
mod map_keys;
mod metrics;
mod opener;
mod outputs;
pub(crate) mod partitions;
mod projection;
mod range;
mod settings;
mod sink;
mod source;
mod statement;
mod table;

use std::sync::Arc;

use datafusion::catalog::DynamicFileCatalog;
use datafusion::error::{DataFusionError, Result};
use datafusion::optimizer::AnalyzerRule;
use datafusion::prelude::SessionContext;
use recordfusion_core::Options;

pub use files::recognise_files;
pub(crate) use foreign::open_foreign;
pub use format::{RecordFormat, RecordFormatFactory};
pub(crate) use listing::is_hidden;
pub use listing::list_files;
pub use location::locate;
pub use outputs::{OutputFormat, OutputFormatFactory};
pub use range::range_option;
pub(crate) use range::{RANGE, clipped};
pub use settings::execute_logical_plan;
pub(crate) use settings::{overwrite_setting, range_setting, setting, write_options};
pub use source::RecordSource;
pub use statement::{sql, statement_to_plan};
pub use table::{RecordTable, TableDefinition};

use crate::registry;
use enums::EnumConditions;
use factory::{RecordTableFactory, UrlTables};
use map_keys::MapKeys;
use settings::TableSettings;

/// Makes all record file formats known to a session: `CREATE EXTERNAL TABLE … STORED AS RIEGELI`,
/// and `SELECT … FROM 'file'`.
///
/// `COPY` and `INSERT INTO` write DataFusion's own formats as they write record files: nothing is seen of a statement
/// that fails, and what was there stays. [`register_record_formats`] leaves this out.
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
    register_record_formats(ctx, options)?;
    outputs::register(ctx);
    Ok(())
}

/// Like [`register_with_options`], and leaves alone how DataFusion's own formats are written: for programs that send
/// plans elsewhere, where [`OutputFormatFactory`] is not known, or that have their own way of writing.
///
/// # Errors
/// As [`register_with_options`].
pub fn register_record_formats(ctx: &SessionContext, options: Options) -> Result<()> {
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
    add_analyzer_rule(ctx, EnumConditions::NAME, EnumConditions);
    add_analyzer_rule(ctx, MapKeys::NAME, MapKeys);
    functions::register(ctx);
    let urls = UrlTables::new(ctx);
    let catalogs = Arc::clone(state.read().catalog_list());
    ctx.register_catalog_list(Arc::new(DynamicFileCatalog::new(catalogs, Arc::new(urls))));
    Ok(())
}

/// Adds a rule unless the session has it, as it has been registered before.
fn add_analyzer_rule(ctx: &SessionContext, name: &str, rule: impl AnalyzerRule + Send + Sync + 'static) {
    let state = ctx.state_ref();
    let known = state.read().analyzer().rules.iter().any(|rule| rule.name() == name);
    if !known {
        state.write().add_analyzer_rule(Arc::new(rule));
    }
}

/// A connector's error on its way through DataFusion; [`crate::error_message`] takes it out again.
pub(crate) fn external(error: recordfusion_core::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
