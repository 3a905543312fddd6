//! What all subcommands share: options, the session, and finding the files of an argument.

use std::error::Error;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use clap::Args;
use clap::builder::Styles;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use recordfusion::{Options, RecordFile, datasource, registry};
use recordfusion_core::{Connector, OnCorruption, OptionInfo};

use super::memory;

/// Options of the table, and how parallel the work is.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = all_options())]
pub(super) struct SessionArgs {
    #[command(flatten)]
    pub(super) table: TableArgs,
    /// Partitions to work on at the same time [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    partitions: Option<u16>,
    /// Memory that sorts, joins and aggregates may take together, such as 512M or 4G; beyond it they go on in files of
    /// the folder for temporary files
    #[arg(long, value_name = "SIZE", value_parser = memory_limit)]
    memory_limit: Option<usize>,
    /// Read only the chunks of the file that begin in these bytes, as record_splits hands them out
    #[arg(long, value_name = "BEGIN:END")]
    range: Option<String>,
}

/// Options of the table.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = "Table options (-o KEY=VALUE) are listed by --help.", after_long_help = table_options())]
pub(super) struct TableArgs {
    /// Table option, such as message_type=my.Message; may be repeated
    #[arg(short = 'o', value_name = "KEY=VALUE", value_parser = key_value)]
    options: Vec<(String, String)>,
    /// Whether options of writing may be among them.
    #[arg(skip)]
    pub(super) writing: bool,
}

/// An error in how the tool was called.
#[derive(Debug)]
pub(super) struct Usage(String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Usage {}

impl SessionArgs {
    pub(super) fn partitions(&self) -> NonZeroUsize {
        let given = self.partitions.and_then(|count| NonZeroUsize::new(count.into()));
        given.unwrap_or_else(all_cores)
    }

    /// A session that knows all record formats.
    pub(super) fn context(&self) -> Result<SessionContext, Box<dyn Error + Send + Sync>> {
        let range = self.range.iter().map(|range| ("range".to_string(), range.clone()));
        let mut table = self.table.clone();
        table.options.extend(range);
        context_with_memory(&table, self.partitions().get(), self.memory_limit)
    }
}

impl TableArgs {
    /// The options, accepted by some format.
    pub(super) fn options(&self) -> Result<Options, Usage> {
        // The settings' full names are as good.
        let short = |name: &str| name.strip_prefix("recordfusion.").unwrap_or(name).to_string();
        let options: Options =
            self.options.iter().map(|(name, value)| (short(name), value.clone())).collect();
        let usage = |error: recordfusion_core::Error| Usage(error.to_string());
        if !self.writing {
            options.reject_unknown(&registry::options()).map_err(usage)?;
        }
        registry::check_options(&options).map_err(usage)?;
        Ok(options)
    }
}

/// A session that knows all record formats, with this many partitions.
pub(super) fn context(
    table: &TableArgs,
    partitions: usize,
) -> Result<SessionContext, Box<dyn Error + Send + Sync>> {
    context_with_memory(table, partitions, None)
}

/// The same, of which sorts, joins and aggregates take at most so many bytes of memory together.
fn context_with_memory(
    table: &TableArgs,
    partitions: usize,
    memory_limit: Option<usize>,
) -> Result<SessionContext, Box<dyn Error + Send + Sync>> {
    let mut config = SessionConfig::new().with_target_partitions(partitions).with_information_schema(true);
    // A folder stands for all files below it, at any depth.
    config.options_mut().execution.listing_table_ignore_subdirectory = false;
    let mut runtime = RuntimeEnvBuilder::new();
    if let Some(bytes) = memory_limit {
        runtime = runtime.with_memory_pool(memory::pool(bytes, partitions));
        // What each sort keeps for putting its files together must leave room for rows.
        let kept = &mut config.options_mut().execution.sort_spill_reservation_bytes;
        *kept = (*kept).min(bytes / (4 * partitions.max(1)));
    }
    let ctx = SessionContext::new_with_config_rt(config, runtime.build_arc()?);
    recordfusion::register_with_options(&ctx, table.options()?)?;
    Ok(ctx)
}

/// The options of reading of all formats, as a section of the help.
fn table_options() -> String {
    section("Table options (-o KEY=VALUE)", &registry::options())
}

/// The options of reading and of writing, each as a section of the help.
fn all_options() -> String {
    let writing = section("Options of writing record files (-o KEY=VALUE)", &registry::write_options());
    format!("{}\n{writing}", table_options())
}

fn section(title: &str, options: &[OptionInfo]) -> String {
    let styles = Styles::default();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = format!("{header}{title}:{header:#}");
    for OptionInfo { name, values, description } in options {
        text.push_str(&format!("\n  {literal}{name}{literal:#}={values}\n          {description}\n"));
    }
    text
}

pub(super) fn all_cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// The files that an argument names, at least one.
pub(super) async fn files(
    ctx: &SessionContext,
    argument: &str,
) -> Result<Vec<RecordFile>, Box<dyn Error + Send + Sync>> {
    let state = ctx.state();
    let files = datasource::list_files(&state, &datasource::locate(&state, argument).await?).await?;
    match files.is_empty() {
        true => Err(format!("no files at {argument}").into()),
        false => Ok(files),
    }
}

/// The connector that recognises a file by its first bytes; by its name if it is empty, or if it may be damaged.
pub(super) async fn connector(
    file: &RecordFile,
    on_corruption: OnCorruption,
) -> Result<Arc<dyn Connector>, Box<dyn Error + Send + Sync>> {
    let found = datasource::recognise_files(std::slice::from_ref(file), None, on_corruption, 1).await?;
    let named = || file.name.rsplit_once('.').and_then(|(_, extension)| registry::connector(extension));
    match found.or_else(|| named().cloned()) {
        Some(connector) => Ok(connector),
        None => Err(format!("{} is of no known record format", file.name).into()),
    }
}

/// The one record file that an argument names.
pub(super) async fn record_file(
    ctx: &SessionContext,
    argument: &str,
    on_corruption: OnCorruption,
) -> Result<(RecordFile, Arc<dyn Connector>), Box<dyn Error + Send + Sync>> {
    let mut files = files(ctx, argument).await?;
    match (files.pop(), files.len()) {
        (Some(file), 0) => {
            let connector = connector(&file, on_corruption).await?;
            Ok((file, connector))
        }
        (_, more) => Err(format!("{argument} is {} files, but one is wanted", more + 1).into()),
    }
}

fn memory_limit(text: &str) -> Result<usize, String> {
    match SessionContext::parse_capacity_limit("memory_limit", text) {
        Ok(bytes) if bytes > 0 => Ok(bytes),
        _ => Err("it is a number of bytes with K, M or G, such as 512M".to_string()),
    }
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.trim().to_string(), value.to_string())),
        _ => Err("an option is written KEY=VALUE".to_string()),
    }
}
