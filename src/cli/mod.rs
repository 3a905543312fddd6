//! The command line: one file for each subcommand.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Errors are one sentence on standard error. A reader that
//! closes the pipe ends the tool quietly.

mod cat;
mod convert;
mod inspect;
mod interrupt;
mod memory;
mod print;
mod progress;
mod query;
mod repair;
mod schema;
mod session;
mod table;
mod terminal;
mod verify;
mod warnings;
mod watch;

use std::error::Error;
use std::io;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use recordfusion::error_message;
use recordfusion_core::LostRegion;

use terminal::say;

/// What a subcommand gives: the exit code of a run that went through.
type Outcome = Result<ExitCode, Box<dyn Error + Send + Sync>>;

/// Query record files (Riegeli, ArrayRecord, RecordIO) with SQL, and convert them to Parquet.
#[derive(Debug, Parser)]
#[command(name = "recordfusion", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Query(query::Query),
    Convert(convert::Convert),
    Schema(schema::Schema),
    Inspect(inspect::Inspect),
    Cat(cat::Cat),
    Verify(verify::Verify),
    Repair(repair::Repair),
}

/// Runs the tool with the arguments of the process.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| terminal::exit_with(&error));
    let partitions = match &cli.command {
        Command::Query(query) => query.session.partitions(),
        Command::Convert(convert) => convert.session.partitions(),
        _ => session::all_cores(),
    };
    warnings::show(matches!(cli.command, Command::Convert(_) | Command::Repair(_)));
    let outcome = runtime(partitions).and_then(|runtime| watch::run(runtime, || dispatch(cli.command)));
    let code = match outcome {
        Ok(code) => code,
        Err(error) if is_closed_pipe(error.as_ref()) => ExitCode::SUCCESS,
        Err(error) => {
            let code = if error.is::<session::Usage>() { 2 } else { 1 };
            say(&format!("error: {}", error_message(error.as_ref())));
            ExitCode::from(code)
        }
    };
    watch::wait_for_said();
    code
}

async fn dispatch(command: Command) -> Outcome {
    match command {
        Command::Query(query) => query.run().await,
        Command::Convert(convert) => convert.run().await,
        Command::Schema(schema) => schema.run().await,
        Command::Inspect(inspect) => inspect.run().await,
        Command::Cat(cat) => cat.run().await,
        Command::Verify(verify) => verify.run().await,
        Command::Repair(repair) => repair.run().await,
    }
}

fn runtime(partitions: NonZeroUsize) -> Result<tokio::runtime::Runtime, Box<dyn Error + Send + Sync>> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(partitions.get()).enable_all().build()?)
}

/// Prints damaged regions that were passed over, a line each.
fn say_lost(lost: &[(String, LostRegion)]) {
    const SHOWN: usize = 20;
    for (file, region) in lost.iter().take(SHOWN) {
        say(&format!("lost {file}: {} bytes at byte {}: {}", region.bytes(), region.begin, region.reason));
    }
    if lost.len() > SHOWN {
        say(&format!("lost {} more regions", lost.len() - SHOWN));
    }
}

/// Whether an error came from standard output that nobody reads any more.
fn is_closed_pipe(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            return true;
        }
        cause = error.source();
    }
    false
}
