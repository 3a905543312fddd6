//! The command-line tool.

mod cli;

use std::process::ExitCode;

/// Chunks of a MiB come and go: mimalloc hands their pages on, where the system's allocator returns them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
