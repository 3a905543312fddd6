//! Which connectors exist, and which of them a file belongs to.
//!
//! A new format is one line in [`connectors`].

use std::sync::{Arc, LazyLock};

use recordfusion_core::{Connector, OptionInfo, Options, RecordFile, Result, ScanCounters};
use recordfusion_recordio::RecordioConnector;
use recordfusion_riegeli::RiegeliConnector;

use crate::datasource::{RANGE, range_option};
use crate::write::{OVERWRITE, overwrite_option};

/// All connectors.
pub fn connectors() -> &'static [Arc<dyn Connector>] {
    static CONNECTORS: LazyLock<Vec<Arc<dyn Connector>>> =
        LazyLock::new(|| vec![Arc::new(RiegeliConnector::default()), Arc::new(RecordioConnector::default())]);
    &CONNECTORS
}

/// The connector of this name or file name extension, in any case.
pub fn connector(name: &str) -> Option<&'static Arc<dyn Connector>> {
    connectors()
        .iter()
        .find(|connector| names(connector.as_ref()).any(|known| known.eq_ignore_ascii_case(name)))
}

/// The connector that recognises a file by its first bytes, at least [`signature_len`] of them if the
/// file has so many.
pub fn recognise(prefix: &[u8]) -> Option<&'static Arc<dyn Connector>> {
    connectors().iter().find(|connector| {
        let len = usize::try_from(connector.signature_len()).unwrap_or(usize::MAX);
        connector.recognises(&prefix[..prefix.len().min(len)])
    })
}

/// The connector whose chunks are found in a file with other first bytes.
///
/// # Errors
/// Failures of the store.
pub async fn recognise_inside(file: &RecordFile) -> Result<Option<&'static Arc<dyn Connector>>> {
    for connector in connectors() {
        if connector.recognises_inside(file).await? {
            return Ok(Some(connector));
        }
    }
    Ok(None)
}

/// How many first bytes of a file all connectors together want to see.
pub fn signature_len() -> u64 {
    connectors().iter().map(|connector| connector.signature_len()).max().unwrap_or(0)
}

/// The names under which SQL knows a connector: its own, and its extensions.
pub(crate) fn names(connector: &dyn Connector) -> impl Iterator<Item = &'static str> {
    let name = connector.name();
    std::iter::once(name)
        .chain(connector.extensions().iter().copied().filter(move |extension| *extension != name))
}

/// The options of reading of all connectors, and those of files of any format, by name, each once.
pub fn options() -> Vec<OptionInfo> {
    let mut options = by_name(|connector| connector.options());
    options.push(RANGE);
    options.sort_by_key(|option| option.name);
    options
}

/// The options of writing of all connectors, and those of files of any format, by name, each once.
pub fn write_options() -> Vec<OptionInfo> {
    let mut options = by_name(known_write_options);
    options.push(OVERWRITE);
    options.sort_by_key(|option| option.name);
    options
}

/// The options of reading and of writing by name, each once.
pub fn all_options() -> Vec<OptionInfo> {
    let reading = options();
    let writing = write_options().into_iter().filter(|option| !knows(&reading, option.name));
    let mut all: Vec<_> = reading.iter().copied().chain(writing).collect();
    all.sort_by_key(|option| option.name);
    all
}

/// The names of the counters that tell of what was not read as it is, of all connectors, each once.
pub(crate) fn loss_counters() -> Vec<&'static str> {
    let of_formats = connectors().iter().flat_map(|connector| connector.counters());
    let losses = ScanCounters::COMMON.iter().chain(of_formats).filter(|counter| counter.is_loss);
    let mut names = Vec::new();
    for counter in losses {
        if !names.contains(&counter.name) {
            names.push(counter.name);
        }
    }
    names
}

fn by_name(of: impl Fn(&dyn Connector) -> &[OptionInfo]) -> Vec<OptionInfo> {
    let mut options: Vec<_> =
        connectors().iter().flat_map(|connector| of(connector.as_ref())).copied().collect();
    options.sort_by_key(|option| option.name);
    options.dedup_by_key(|option| option.name);
    options
}

/// Checks options that are meant for files of any format, of reading and of writing: a connector looks at
/// those that it knows.
///
/// # Errors
/// A name that no connector knows, with the nearest known names; a value that no connector that knows its
/// name accepts.
pub fn check_options(options: &Options) -> Result<()> {
    options.reject_unknown(&all_options())?;
    range_option(options)?;
    overwrite_option(options)?;
    options.iter().try_for_each(|(name, _)| {
        let mut outcomes = connectors().iter().filter_map(|connector| {
            let connector = connector.as_ref();
            if knows(connector.options(), name) {
                Some(connector.check_options(&read_options_of(connector, options)))
            } else if knows(known_write_options(connector), name) {
                let options = write_options_of(connector, options);
                connector.writing().map(|writing| writing.check_write_options(&options))
            } else {
                None
            }
        });
        let first = outcomes.next().unwrap_or(Ok(()));
        if outcomes.any(|outcome| outcome.is_ok()) { Ok(()) } else { first }
    })
}

/// Those of `options` that a connector knows for reading.
pub fn read_options_of(connector: &dyn Connector, options: &Options) -> Options {
    options.iter().filter(|(name, _)| knows(connector.options(), name)).collect()
}

/// Those of `options` that a connector knows for writing, but not for reading: what is meant for any file says
/// with the others how files are read.
pub(crate) fn write_options_of(connector: &dyn Connector, options: &Options) -> Options {
    let only_writing =
        |name: &str| knows(known_write_options(connector), name) && !knows(connector.options(), name);
    options.iter().filter(|(name, _)| only_writing(name)).collect()
}

/// The options of writing of a connector; none if it cannot write.
pub(crate) fn known_write_options(connector: &dyn Connector) -> &[OptionInfo] {
    connector.writing().map_or(&[], |writing| writing.write_options())
}

fn knows(known: &[OptionInfo], name: &str) -> bool {
    known.iter().any(|option| option.name == name)
}
