//! What the library logs, on standard error: damaged regions that are passed over, for example.

use log::{LevelFilter, Log, Metadata, Record};

use super::terminal::say;

struct Warnings;

impl Log for Warnings {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.target().starts_with("recordfusion")
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            say(&format!("warning: {}", record.args()));
        }
    }

    fn flush(&self) {}
}

/// Shows the warnings of this process from now on.
pub(super) fn show() {
    if log::set_logger(&Warnings).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}
