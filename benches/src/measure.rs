//! CPU time of a thread.

use std::error::Error;

/// The outcome of a benchmark's work.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// CPU seconds of `work` on this thread, and what it gives.
///
/// # Errors
/// Those of `work`; where the system does not tell the time.
pub fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let begin = cpu_seconds()?;
    let outcome = work()?;
    Ok((cpu_seconds()? - begin, outcome))
}

/// CPU seconds of this thread so far, as Linux counts them: to the tick.
fn cpu_seconds() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: u64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanoseconds as f64 / 1e9)
}
