//! What the library logs, on standard error: files and damaged regions that are passed over, for example.

use std::collections::HashSet;
use std::sync::{Mutex, OnceLock, PoisonError};

use log::{LevelFilter, Log, Metadata, Record};

use super::terminal::say;

/// Warnings that are remembered, so that each is shown once: files are listed more than once.
const REMEMBERED: usize = 10_000;

struct Warnings {
    lists_losses: bool,
    shown: Mutex<HashSet<String>>,
}

static WARNINGS: OnceLock<Warnings> = OnceLock::new();

impl Log for Warnings {
    fn enabled(&self, metadata: &Metadata) -> bool {
        let of_connectors = metadata.target().starts_with("recordfusion_");
        metadata.target().starts_with("recordfusion") && !(self.lists_losses && of_connectors)
    }

    fn log(&self, record: &Record) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let text = record.args().to_string();
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.contains(&text) {
            return;
        }
        say(&format!("warning: {text}"));
        if shown.len() < REMEMBERED {
            shown.insert(text);
        }
    }

    fn flush(&self) {}
}

/// Shows the warnings of this process from now on, but for damaged regions if the command lists what is lost itself.
pub(super) fn show(lists_losses: bool) {
    let warnings = WARNINGS.get_or_init(|| Warnings { lists_losses, shown: Mutex::default() });
    if log::set_logger(warnings).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}
