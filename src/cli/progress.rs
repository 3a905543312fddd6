//! The progress bar of a conversion.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use recordfusion::convert::{Prepared, scan_metric};

/// When to show a progress bar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum When {
    /// If standard error is a terminal
    #[default]
    Auto,
    Always,
    Never,
}

/// How often the bar moves.
const STEP: Duration = Duration::from_millis(100);

/// Draws the bar until it is cancelled: run it beside [`Prepared::run`].
pub(super) async fn draw(when: When, conversion: &Prepared) {
    let shown = match when {
        When::Always => true,
        When::Never => false,
        When::Auto => std::io::stderr().is_terminal(),
    };
    if !shown {
        return std::future::pending().await;
    }
    let bar = ProgressBar::with_draw_target(Some(conversion.bytes_in()), ProgressDrawTarget::stderr());
    let template = "{bar:30} {bytes}/{total_bytes} ({bytes_per_sec}), {eta} left, {msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    let progress = conversion.progress();
    let begin = Instant::now();
    loop {
        let rows = progress.rows();
        let rate = rows as f64 / begin.elapsed().as_secs_f64().max(0.001);
        bar.set_message(format!("{rows} rows ({rate:.0}/s)"));
        bar.set_position(scan_metric(conversion.plan(), "bytes_scanned").min(conversion.bytes_in()));
        if when == When::Always && !std::io::stderr().is_terminal() {
            super::say(&format!(
                "{} of {} bytes read, {rows} rows ({rate:.0}/s)",
                bar.position(),
                conversion.bytes_in()
            ));
            tokio::time::sleep(STEP * 9).await;
        }
        tokio::time::sleep(STEP).await;
    }
}
