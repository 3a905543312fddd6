//! The command-line tool.

mod cli;
mod memory;

use std::process::ExitCode;

fn main() -> ExitCode {
    memory::keep_freed_memory();
    cli::run()
}
