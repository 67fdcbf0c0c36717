//! `martlet subscriber list`.
use super::database::DatabaseArgs;
use super::over_api;
use crate::runtime;
use anyhow::Result;
use clap::Args;
use martlet_store::Subscriber;
use std::io::{BufWriter, Write};

/// Arguments of `martlet subscriber list`.
#[derive(Args)]
pub struct ListArgs {
    /// Maximum number of subscribers
    #[arg(long, default_value_t = 1000)]
    limit: usize,
    #[command(flatten)]
    database: DatabaseArgs,
}

pub(super) fn list(args: &ListArgs) -> Result<()> {
    if let Some(api) = args.database.api()? {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let total = runtime::block_on(over_api::list(&api, args.limit, |subscriber| {
            write_line(&mut out, &subscriber)
        }))?;
        if total > args.limit as u64 {
            writeln!(out, "… and {} more", total - args.limit as u64)?;
        }
        return Ok(out.flush()?);
    }
    let store = args.database.open_existing()?.store;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let (mut after, mut left) = (String::new(), args.limit);
    while left > 0 {
        let page = store.list(&after, left.min(1000))?;
        let Some(last) = page.last() else { break };
        after.clone_from(&last.supi);
        left -= page.len();
        for subscriber in page {
            write_line(&mut out, &subscriber)?;
        }
    }
    let (count, limit) = (store.count()?, args.limit as u64);
    if count > limit {
        writeln!(out, "… and {} more", count - limit)?;
    }
    Ok(out.flush()?)
}

fn write_line(out: &mut impl Write, subscriber: &Subscriber) -> Result<()> {
    let slices = subscriber.slices.iter().map(|slice| {
        let sd = slice.sd.map_or(String::new(), |sd| format!("-{sd:06x}"));
        let dnns: Vec<_> = slice.dnns.iter().map(|dnn| dnn.name.as_str()).collect();
        format!("{}{sd} ({})", slice.sst, dnns.join(", "))
    });
    Ok(writeln!(out, "{}  {}", subscriber.supi, slices.collect::<Vec<_>>().join("  "))?)
}
