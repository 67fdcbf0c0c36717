//! `martlet subscriber export`.
use super::database::DatabaseArgs;
use super::losses::refused;
use anyhow::{Context, Result, ensure};
use clap::Args;
use martlet::exchange::{self, Format, Losses};
use martlet_store::{Store, Subscriber};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// Arguments of `martlet subscriber export`.
#[derive(Args)]
pub struct ExportArgs {
    /// Format of the file
    #[arg(long, value_enum, default_value = "martlet")]
    format: Format,
    /// Export subscribers although the format does not carry all of their fields
    #[arg(long)]
    lossy: bool,
    /// New file, readable by its owner only [default: standard output]
    #[arg(short, long)]
    output: Option<PathBuf>,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Passes all subscribers on, in order.
fn each(store: &Store, mut to: impl FnMut(Subscriber) -> Result<()>) -> Result<()> {
    let mut after = String::new();
    loop {
        let more = store.list(&after, 1000)?;
        let Some(last) = more.last() else { return Ok(()) };
        after.clone_from(&last.supi);
        more.into_iter().try_for_each(&mut to)?;
    }
}

pub(super) fn export(args: &ExportArgs) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let opened = args.database.open_existing()?;
    let (store, plmn) = (&opened.store, opened.config.network.plmn.as_str());
    let mut losses = Losses::default();
    if !args.format.is_complete() {
        each(store, |subscriber| {
            exchange::add_losses(args.format, &subscriber, plmn, &mut losses)
        })?;
    }
    if !losses.is_empty() {
        ensure!(args.lossy, refused(&losses, "export"));
        eprintln!("These fields are not exported:\n{losses}");
    }
    let out: Box<dyn Write> = match &args.output {
        None => Box::new(std::io::stdout().lock()),
        Some(file) => {
            let mut open = std::fs::OpenOptions::new();
            let opened = open.write(true).create_new(true).mode(0o600).open(file);
            Box::new(opened.with_context(|| file.display().to_string())?)
        }
    };
    let mut writer = exchange::Writer::new(args.format, BufWriter::new(out), plmn)?;
    let mut count = 0u64;
    each(store, |subscriber| {
        count += 1;
        writer.write(&subscriber)
    })?;
    writer.finish()?;
    if let Some(file) = &args.output {
        println!("{count} subscribers with their keys written to {}", file.display());
    }
    Ok(())
}
