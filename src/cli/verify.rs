//! `verify`: checks every hash and decodes every chunk.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use recordfusion::{Options, RecordFile, error_message, registry};
use recordfusion_core::{LostRegion, OnCorruption, Verification};

use super::Outcome;
use super::session::{TableArgs, connector, context, files};

/// Check every hash and decode every chunk; a line for each sound file and for each fault, exit code 1 if any is bad
#[derive(Debug, Args)]
pub(super) struct Verify {
    /// Files, globs or folders
    #[arg(required = true)]
    files: Vec<String>,
    #[command(flatten)]
    table: TableArgs,
}

impl Verify {
    pub(super) async fn run(self) -> Outcome {
        let ctx = context(&self.table, 1)?;
        let options = self.table.options()?;
        let mut bad = 0;
        for argument in &self.files {
            let files = match files(&ctx, argument).await {
                Ok(files) => files,
                Err(error) => {
                    bad += report(argument, Err(error))?;
                    continue;
                }
            };
            for file in files {
                bad += report(&file.name, verify(&file, &options).await)?;
            }
        }
        Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

async fn verify(file: &RecordFile, options: &Options) -> Result<Verification, Box<dyn Error + Send + Sync>> {
    let connector = connector(file, OnCorruption::Skip).await?;
    Ok(connector.verify(file, &registry::read_options_of(connector.as_ref(), options)).await?)
}

/// Prints the line of a file; gives 1 if it is bad.
fn report(name: &str, outcome: Result<Verification, Box<dyn Error + Send + Sync>>) -> io::Result<usize> {
    let mut out = io::stdout();
    match outcome {
        Ok(Verification { chunks, records, decoded_size, faults, leftovers })
            if faults.is_empty() && leftovers.is_empty() =>
        {
            writeln!(out, "ok   {name}: {records} records in {chunks} chunks, {decoded_size} bytes decoded")?;
            Ok(0)
        }
        Ok(Verification { chunks, records, faults, leftovers, .. }) => {
            let bytes = |region: &LostRegion| format!("{} bytes are lost", region.bytes());
            let faults = faults.iter().map(|region| (region, bytes(region)));
            let leftovers = leftovers.iter().map(|region| (region, "no record is lost".to_string()));
            let mut lines: Vec<_> = faults.chain(leftovers).collect();
            lines.sort_by_key(|(region, _)| region.begin);
            for (index, (LostRegion { begin, reason, .. }, lost)) in lines.into_iter().enumerate() {
                let mark = if index == 0 { "bad " } else { "    " };
                writeln!(out, "{mark} {name}: damaged at byte {begin}: {reason}; {lost}")?;
            }
            writeln!(out, "     {name}: {records} records in {chunks} chunks are whole")?;
            Ok(1)
        }
        Err(error) => {
            let message = error_message(error.as_ref());
            match message.starts_with(name) {
                true => writeln!(out, "bad  {message}")?,
                false => writeln!(out, "bad  {name}: {message}")?,
            }
            Ok(1)
        }
    }
}
