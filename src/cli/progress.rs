//! The progress bar of a conversion.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use datafusion::physical_plan::ExecutionPlan;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use recordfusion::convert::{Prepared, Progress, scan_metric};

use super::terminal::{say, stderr_is_terminal};

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

/// How long a terminal has to take the bar away.
const PATIENCE: Duration = Duration::from_millis(200);

/// Draws the bar until it is cancelled: run it beside [`Prepared::run`].
pub(super) async fn draw(when: When, conversion: &Prepared) {
    let shown = match when {
        When::Always => true,
        When::Never => false,
        When::Auto => stderr_is_terminal(),
    };
    let _drawing = shown.then(|| Drawing::start(conversion));
    std::future::pending().await
}

/// The thread that draws: it may have to wait for the terminal.
struct Drawing {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drawing {
    fn start(conversion: &Prepared) -> Self {
        let (stop, stopped) = mpsc::channel();
        let work = Work {
            plan: Arc::clone(conversion.plan()),
            progress: conversion.progress(),
            bytes_in: conversion.bytes_in(),
            begin: Instant::now(),
        };
        let draw = move || if stderr_is_terminal() { work.draw(&stopped) } else { work.tell(&stopped) };
        // Without a thread there is no bar.
        let thread = thread::Builder::new().name("progress".to_string()).spawn(draw).ok();
        Self { stop: Some(stop), thread }
    }
}

impl Drop for Drawing {
    fn drop(&mut self) {
        self.stop = None;
        let begin = Instant::now();
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) && begin.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// What is watched.
struct Work {
    plan: Arc<dyn ExecutionPlan>,
    progress: Arc<Progress>,
    bytes_in: u64,
    begin: Instant,
}

impl Work {
    fn draw(&self, stopped: &Receiver<()>) {
        let bar = ProgressBar::with_draw_target(Some(self.bytes_in), ProgressDrawTarget::stderr());
        let template = "{bar:30} {bytes}/{total_bytes} ({bytes_per_sec}), {eta} left, {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        while goes_on(stopped, STEP) {
            bar.set_message(self.rows());
            bar.set_position(self.bytes_read());
        }
    }

    /// A line now and then, for what is no terminal.
    fn tell(&self, stopped: &Receiver<()>) {
        let mut pause = STEP;
        while goes_on(stopped, pause) {
            say(&format!("{} of {} bytes read, {}", self.bytes_read(), self.bytes_in, self.rows()));
            pause = STEP * 10;
        }
    }

    fn bytes_read(&self) -> u64 {
        scan_metric(&self.plan, "bytes_scanned").min(self.bytes_in)
    }

    fn rows(&self) -> String {
        let rows = self.progress.rows();
        let rate = rows as f64 / self.begin.elapsed().as_secs_f64().max(0.001);
        format!("{rows} rows ({rate:.0}/s)")
    }
}

/// Whether nobody has stopped it within this time.
fn goes_on(stopped: &Receiver<()>, time: Duration) -> bool {
    matches!(stopped.recv_timeout(time), Err(RecvTimeoutError::Timeout))
}
