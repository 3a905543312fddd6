//! `verify`: checks every hash and decodes every chunk.

use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;
use recordfusion::capabilities::verifying;
use recordfusion::{Options, RecordFile, error_message, registry};
use recordfusion_core::{LostRegion, OnCorruption, Verification};

use super::Outcome;
use super::session::{TableArgs, connector, context, files};
use super::terminal::{Content, in_one_line, show};

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
                    bad += report(argument, Err(error)).await?;
                    continue;
                }
            };
            for file in files {
                bad += report(&file.name, verify(&file, &options).await).await?;
            }
        }
        Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

async fn verify(file: &RecordFile, options: &Options) -> Result<Verification, Box<dyn Error + Send + Sync>> {
    let connector = connector(file, OnCorruption::Skip).await?;
    let options = registry::read_options_of(connector.as_ref(), options);
    Ok(verifying(connector.as_ref())?.verify(file, &options).await?)
}

/// Prints the lines of a file; gives 1 if it is bad.
async fn report(
    name: &str,
    outcome: Result<Verification, Box<dyn Error + Send + Sync>>,
) -> Result<usize, Box<dyn Error + Send + Sync>> {
    let is_sound = outcome.as_ref().is_ok_and(|found| found.faults.is_empty() && found.leftovers.is_empty());
    let mut text = String::new();
    for line in lines(name, outcome) {
        writeln!(text, "{}", in_one_line(&line))?;
    }
    show(Content::Text, text).await?;
    Ok(usize::from(!is_sound))
}

fn lines(name: &str, outcome: Result<Verification, Box<dyn Error + Send + Sync>>) -> Vec<String> {
    match outcome {
        Ok(Verification { chunks, records, decoded_size, faults, leftovers })
            if faults.is_empty() && leftovers.is_empty() =>
        {
            vec![format!("ok   {name}: {records} records in {chunks} chunks, {decoded_size} bytes decoded")]
        }
        Ok(Verification { chunks, records, faults, leftovers, .. }) => {
            let bytes = |region: &LostRegion| format!("{} bytes are lost", region.bytes());
            let faults = faults.iter().map(|region| (region, bytes(region)));
            let leftovers = leftovers.iter().map(|region| (region, "no record is lost".to_string()));
            let mut found: Vec<_> = faults.chain(leftovers).collect();
            found.sort_by_key(|(region, _)| region.begin);
            let damage = found.into_iter().enumerate().map(|(index, (region, lost))| {
                let LostRegion { begin, reason, .. } = region;
                let mark = if index == 0 { "bad " } else { "    " };
                format!("{mark} {name}: damaged at byte {begin}: {reason}; {lost}")
            });
            let whole = format!("     {name}: {records} records in {chunks} chunks are whole");
            damage.chain([whole]).collect()
        }
        Err(error) => {
            let message = error_message(error.as_ref());
            vec![match message.starts_with(name) {
                true => format!("bad  {message}"),
                false => format!("bad  {name}: {message}"),
            }]
        }
    }
}
