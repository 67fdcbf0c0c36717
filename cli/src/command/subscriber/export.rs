//! `martlet subscriber export`.
use super::database::DatabaseArgs;
use super::losses::refused;
use anyhow::{Context, Result, ensure};
use clap::Args;
use martlet::exchange::{self, Format, Losses};
use martlet_store::{Store, Subscriber};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

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
    let Some(file) = &args.output else {
        write(store, args.format, plmn, &mut std::io::stdout().lock())?;
        return Ok(());
    };
    let count = write_whole(file, |out| write(store, args.format, plmn, out))?;
    println!("{count} subscribers with their keys written to {}", file.display());
    Ok(())
}

/// Writes all subscribers, and returns how many there are.
fn write(store: &Store, format: Format, plmn: &str, out: &mut dyn Write) -> Result<u64> {
    let mut writer = exchange::Writer::new(format, BufWriter::new(out), plmn)?;
    let mut count = 0u64;
    each(store, |subscriber| {
        count += 1;
        writer.write(&subscriber)
    })?;
    writer.finish()?;
    Ok(count)
}

/// Writes a new file that only its owner can read. It has another name until it is complete.
fn write_whole<T>(file: &Path, write: impl FnOnce(&mut File) -> Result<T>) -> Result<T> {
    let name = || file.display().to_string();
    ensure!(file.symlink_metadata().is_err(), "{}: the file exists", name());
    let mut draft = file.as_os_str().to_owned();
    draft.push(format!(".{}.part", std::process::id()));
    let draft = PathBuf::from(draft);
    let mut open = File::options();
    let opened = open.write(true).create_new(true).mode(0o600).open(&draft);
    let mut opened = opened.with_context(name)?;
    let written = write(&mut opened).and_then(|written| {
        opened.sync_all()?;
        std::fs::rename(&draft, file)?;
        Ok(written)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written.with_context(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_exists_when_it_is_complete() {
        let folder = std::env::temp_dir().join(format!("martlet-export-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("all.json");
        let failed = write_whole(&file, |out| -> Result<()> {
            out.write_all(b"[\n")?;
            anyhow::bail!("the disk is full")
        });
        let error = format!("{:#}", failed.unwrap_err());
        assert!(error.contains("all.json: the disk is full"), "{error}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "nothing is left");

        write_whole(&file, |out| Ok(out.write_all(b"[]\n")?)).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"[]\n");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let again = write_whole(&file, |out| Ok(out.write_all(b"[1]\n")?));
        assert!(again.unwrap_err().to_string().contains("the file exists"));
        assert_eq!(std::fs::read(&file).unwrap(), b"[]\n");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
