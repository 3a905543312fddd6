//! Ctrl-C and termination: what is being written is removed before the tool ends.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use recordfusion::writes_ended;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use tokio::time::{sleep, timeout};

use super::{Outcome, say};

/// Exit code of a tool that was interrupted.
const INTERRUPTED: u8 = 130;
/// How often to look whether the tool was interrupted.
const STEP: Duration = Duration::from_millis(20);
/// How long a store has for removing what was not finished.
const PATIENCE: Duration = Duration::from_secs(10);

/// Does `work` until it is done or the first interrupt. A second one ends the tool at once.
pub(super) async fn or_interrupted(work: impl Future<Output = Outcome>) -> Outcome {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&interrupted))?;
        flag::register(signal, Arc::clone(&interrupted))?;
    }
    let outcome = tokio::select! {
        outcome = work => outcome,
        () = set(&interrupted) => {
            say("interrupted");
            Ok(ExitCode::from(INTERRUPTED))
        }
    };
    if timeout(PATIENCE, writes_ended()).await.is_err() {
        say("the store does not answer: parts of unfinished files may be left in it");
    }
    outcome
}

async fn set(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        sleep(STEP).await;
    }
}
