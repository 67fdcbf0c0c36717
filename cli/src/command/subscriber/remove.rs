//! `martlet subscriber remove`.
use super::database::DatabaseArgs;
use super::over_api;
use super::values::supi;
use crate::runtime;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use martlet_store::{Secret, Subscriber};

/// Arguments of `martlet subscriber remove`.
#[derive(Args)]
pub struct RemoveArgs {
    /// IMSI of the first subscriber, or nai-user@realm
    supi: String,
    /// Number of subscribers, with consecutive IMSIs
    #[arg(long, default_value_t = 1)]
    count: u64,
    #[command(flatten)]
    database: DatabaseArgs,
}

pub(super) fn remove(args: &RemoveArgs) -> Result<()> {
    let first = Subscriber::new(&supi(&args.supi), Secret([0; 16]), Secret([0; 16]), "internet");
    if let Some(api) = args.database.api()? {
        let all = (0..args.count).map(|n| first.nth(n).map(|subscriber| subscriber.supi));
        let all = all.collect::<Option<Vec<_>>>();
        let all = all.context("--count goes beyond the last IMSI of this length")?;
        let removed = runtime::block_on(over_api::remove(&api, &all))?;
        ensure!(removed > 0, "there is no subscriber {}", first.supi);
        println!("{removed} removed");
        return Ok(());
    }
    let opened = args.database.open_existing()?;
    let store = &opened.store;
    let mut removed = 0;
    for n in 0..args.count {
        let supi = first.nth(n).context("--count goes beyond the last IMSI of this length")?.supi;
        removed += u64::from(store.remove(&supi)?);
    }
    if removed == 0 {
        bail!("there is no subscriber {}", first.supi);
    }
    println!("{removed} removed");
    opened.report_reader();
    Ok(())
}
