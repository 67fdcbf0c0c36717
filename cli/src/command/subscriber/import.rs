//! `martlet subscriber import`.
use super::database::DatabaseArgs;
use super::losses::refused;
use super::over_api;
use super::static_addresses;
use crate::api_client::Api;
use anyhow::{Context, Result, ensure};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use martlet::exchange::{self, Format, Input, Losses};
use martlet_store::Subscriber;
use std::io::{BufRead, BufReader, Cursor};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

/// Arguments of `martlet subscriber import`.
#[derive(Args)]
pub struct ImportArgs {
    /// Files; for free5GC one for each collection, or one for all
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Format of the files; `auto` detects it from their contents
    #[arg(long, value_enum, default_value = "auto")]
    format: Format,
    /// Replace existing subscribers
    #[arg(long)]
    replace: bool,
    /// Import subscribers although fields of them are not carried
    #[arg(long)]
    lossy: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Subscribers that wait between the reader of the files and the writer of the database.
const QUEUE: usize = 1000;

/// A file that is read twice.
struct Source<'a> {
    file: &'a Path,
    /// The content of a pipe, which can be read once.
    content: Option<Arc<[u8]>>,
}

impl<'a> Source<'a> {
    fn of(file: &'a Path) -> Result<Self> {
        let name = || file.display().to_string();
        let is_file = std::fs::metadata(file).with_context(name)?.is_file();
        let content = match is_file {
            true => None,
            false => Some(std::fs::read(file).with_context(name)?.into()),
        };
        Ok(Source { file, content })
    }

    fn open(&self) -> Result<Input> {
        let name = self.file.display().to_string();
        let text: Box<dyn BufRead> = match &self.content {
            Some(content) => Box::new(Cursor::new(content.clone())),
            None => {
                let opened = std::fs::File::open(self.file).with_context(|| name.clone())?;
                Box::new(BufReader::with_capacity(1 << 16, opened))
            }
        };
        Ok(Input { name: Some(name), text })
    }
}

/// Imports over the API: the files are read twice, so that fields that would be lost are known
/// before anything is sent.
fn import_over_api(args: &ImportArgs, api: Api) -> Result<()> {
    let sources = args.files.iter().map(|file| Source::of(file)).collect::<Result<Vec<_>>>()?;
    let read = |each: &mut dyn FnMut(Subscriber) -> Result<()>| {
        let inputs = sources.iter().map(Source::open).collect::<Result<Vec<_>>>()?;
        exchange::read(args.format, inputs, each)
    };
    let (mut count, mut last) = (0u64, String::new());
    let losses = read(&mut |subscriber| {
        count += 1;
        last = subscriber.supi;
        Ok(())
    });
    let losses = losses.with_context(|| match last.is_empty() {
        true => "nothing was imported".to_string(),
        false => format!("nothing was imported; {last} was the last subscriber read"),
    })?;
    if !losses.is_empty() {
        ensure!(args.lossy, refused(&losses, "import"));
        eprintln!("These fields were not imported:\n{losses}");
    }
    ensure!(count > 0, "the files contain no subscriber");
    let progress = ProgressBar::new(count);
    let mut import = over_api::Import::new(api, args.replace)?;
    read(&mut |subscriber| {
        progress.inc(1);
        import.add(&subscriber)
    })?;
    let imported = import.finish()?;
    progress.finish_and_clear();
    println!("{imported} subscribers added");
    Ok(())
}

pub(super) fn import(args: &ImportArgs) -> Result<()> {
    if let Some(api) = args.database.api()? {
        return import_over_api(args, api);
    }
    let mut total = 0;
    let open = |file: &PathBuf| {
        let opened = std::fs::File::open(file).with_context(|| file.display().to_string())?;
        total += opened.metadata()?.len();
        Ok((file.display().to_string(), opened))
    };
    let files = args.files.iter().map(open).collect::<Result<Vec<_>>>()?;
    let progress = ProgressBar::new(total);
    let style = "{bar:40} {bytes}/{total_bytes}  {msg} subscribers  {elapsed}";
    progress.set_style(ProgressStyle::with_template(style)?);
    let readers: Vec<_> = files
        .into_iter()
        .map(|(name, file)| (name, BufReader::with_capacity(1 << 16, progress.wrap_read(file))))
        .collect();
    // A thread reads the files while this one encrypts and writes.
    let (sender, receiver) = sync_channel::<Result<Subscriber>>(QUEUE);
    let format = args.format;
    let reader = std::thread::spawn(move || {
        let inputs = readers
            .into_iter()
            .map(|(name, reader)| Input { name: Some(name), text: Box::new(reader) })
            .collect();
        let outcome = exchange::read(format, inputs, &mut |subscriber| {
            sender.send(Ok(subscriber)).context("the import was ended")
        });
        outcome.unwrap_or_else(|error| {
            let _ = sender.send(Err(error));
            Losses::default()
        })
    });
    let mut reader = Some(reader);
    let mut losses = Losses::default();
    let mut count = 0u64;
    let mut last = String::new();
    let opened = args.database.open()?;
    let mut addresses = static_addresses::of_database(&opened, &args.database, None)?;
    let subscribers = std::iter::from_fn(|| match receiver.recv() {
        Ok(subscriber) => {
            count += 1;
            if count.is_multiple_of(1000) {
                progress.set_message(count.to_string());
            }
            if let Ok(subscriber) = &subscriber {
                last.clone_from(&subscriber.supi);
                if let Err(error) = addresses.add(subscriber) {
                    return Some(Err(error.into()));
                }
            }
            Some(subscriber)
        }
        Err(_) => {
            // All has been read: fields that were not carried end the transaction, and addresses
            // that others have.
            let outcome = reader.take()?.join();
            losses = outcome.unwrap_or_default();
            if !args.lossy && !losses.is_empty() {
                return Some(Err(refused(&losses, "import")));
            }
            addresses.finish().err().map(|error| Err(error.into()))
        }
    });
    let imported = opened.store.import(subscribers, args.replace);
    progress.finish_and_clear();
    let imported = imported.with_context(|| match last.is_empty() {
        true => "nothing was imported".to_string(),
        false => format!("nothing was imported; {last} was the last subscriber read"),
    })?;
    if !losses.is_empty() {
        eprintln!("These fields were not imported:\n{losses}");
    }
    ensure!(imported > 0, "the files contain no subscriber");
    println!("{imported} subscribers added");
    opened.report_reader();
    static_addresses::report(&addresses);
    Ok(())
}
