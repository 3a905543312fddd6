//! Runs a command on a thread of its own, which may be stuck in a read or a write, while the main thread looks for
//! interrupts.

use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use super::Outcome;
use super::interrupt::{INTERRUPTED, STEP, is_noticed, or_interrupted, was_interrupted};
use super::terminal::{all_said, say};

/// How long a command may take to notice an interrupt before it counts as stuck.
const GRACE: Duration = Duration::from_secs(1);
/// As large as that of a main thread: deep queries and messages are taken apart on it.
const STACK_BYTES: usize = 8 << 20;

/// Runs `command` until it is done or interrupted. One that is stuck, such as in opening a named pipe that nobody
/// writes to, is left behind: it ends with the process.
pub(super) fn run<F: Future<Output = Outcome>>(
    runtime: Runtime,
    command: impl FnOnce() -> F + Send + 'static,
) -> Outcome {
    let (sender, outcomes) = mpsc::channel();
    let work = move || {
        let outcome = runtime.block_on(or_interrupted(command()));
        // Threads that are stuck in a write are not waited for.
        runtime.shutdown_background();
        // The other end waits as long as it makes sense to.
        let _ = sender.send(outcome);
    };
    let worker = thread::Builder::new().name("command".to_string()).stack_size(STACK_BYTES).spawn(work)?;
    let mut stuck = Stuck::default();
    loop {
        match outcomes.recv_timeout(STEP) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Timeout) if !is_noticed() && stuck.for_long() => {
                say("interrupted");
                return Ok(ExitCode::from(INTERRUPTED));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Err("the command ended without an outcome".into()),
            },
        }
    }
}

/// Waits until what was said is written, or an interrupt finds nobody who reads it.
pub(super) fn wait_for_said() {
    let mut stuck = Stuck::default();
    while !all_said() && !stuck.for_long() {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Since when an interrupt is not answered.
#[derive(Default)]
struct Stuck(Option<Instant>);

impl Stuck {
    fn for_long(&mut self) -> bool {
        was_interrupted() && self.0.get_or_insert_with(Instant::now).elapsed() > GRACE
    }
}
