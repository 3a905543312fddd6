//! Ctrl-C and termination: what is being written is removed before the tool ends, unless it is just becoming visible.

use std::pin::pin;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use recordfusion::{stop_publishing, writes_ended};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use tokio::time::{sleep, timeout};

use super::Outcome;
use super::terminal::say;

/// Exit code of a tool that was interrupted.
pub(super) const INTERRUPTED: u8 = 130;
/// How often to look whether the tool was interrupted.
pub(super) const STEP: Duration = Duration::from_millis(20);
/// How long a store has for answering, and for removing what was not finished.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether there was an interrupt.
static FLAG: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// Whether the work was stopped because of it.
static NOTICED: AtomicBool = AtomicBool::new(false);

/// Does `work` until it is done or the first interrupt; what has just begun to become visible is finished first. A
/// second interrupt ends the tool at once.
pub(super) async fn or_interrupted(work: impl Future<Output = Outcome>) -> Outcome {
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&FLAG))?;
        flag::register(signal, Arc::clone(&FLAG))?;
    }
    let outcome = do_or_stop(work).await;
    if timeout(PATIENCE, writes_ended()).await.is_err() {
        say("the store does not answer: parts of unfinished files may be left in it");
    }
    outcome.unwrap_or_else(|| {
        say("interrupted");
        Ok(ExitCode::from(INTERRUPTED))
    })
}

/// `None` if it was stopped, and took no effect.
async fn do_or_stop(work: impl Future<Output = Outcome>) -> Option<Outcome> {
    let mut work = pin!(work);
    tokio::select! {
        outcome = &mut work => return Some(outcome),
        () = interrupt() => {}
    }
    if stop_publishing() {
        return None;
    }
    // Between two statements the work looks for itself whether it shall stop.
    match timeout(PATIENCE, work).await {
        Ok(outcome) => Some(outcome),
        Err(_) => Some(Err(
            "interrupted while the store did not answer: it may have what was written, or not".into(),
        )),
    }
}

async fn interrupt() {
    while !was_interrupted() {
        sleep(STEP).await;
    }
    NOTICED.store(true, Ordering::Relaxed);
}

/// Whether [`or_interrupted`] has seen the interrupt, and does what is left to do.
pub(super) fn is_noticed() -> bool {
    NOTICED.load(Ordering::Relaxed)
}

/// Whether no further statement shall begin.
pub(super) fn was_interrupted() -> bool {
    FLAG.load(Ordering::Relaxed)
}

/// What a command gives that stops between two statements.
pub(super) fn stopped() -> ExitCode {
    say("interrupted: the statements that follow were not run");
    ExitCode::from(INTERRUPTED)
}
