//! `martlet top`: shows the core live, a page each for functions, gNBs, UEs, drops and UPFs.
mod figures;
mod page;
mod screen;
mod theme;

use crate::core_client::{CoreClient, Request};
use crate::oam_client::OamArgs;
use crate::runtime;
use anyhow::Result;
use clap::{Args, ValueEnum};
use figures::{Figures, Reading};
use page::Page;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Arguments of `martlet top`.
#[derive(Args)]
pub struct TopArgs {
    #[command(flatten)]
    oam: OamArgs,
    /// Print the figures of one interval as text, and exit
    #[arg(long)]
    once: bool,
    /// Update interval in seconds
    #[arg(long, default_value_t = 1.0)]
    interval: f64,
    /// Order of the UEs
    #[arg(long, value_enum, default_value_t = Order::Rate)]
    sort: Order,
    /// Page to begin with
    #[arg(long, value_enum, default_value_t = Page::Overview)]
    page: Page,
    /// Maximum number of UEs with --once
    #[arg(long, default_value_t = 50)]
    ues: usize,
}

/// An order of UEs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// By bit rate, highest first
    Rate,
    /// By dropped packets, most first
    Drops,
    /// By address
    Ue,
    /// By IMSI
    Imsi,
}

/// Reads the core. A core without a UPF or an AMF has less.
async fn read(core: &CoreClient) -> Result<Reading> {
    let status = core.status().await?;
    let user_plane = core.user_plane().await.unwrap_or(Value::Null);
    let gnbs = core.send(Request::get("/gnbs", "amf", "amf/gnbs")).await.unwrap_or(Value::Null);
    Ok(Reading { user_plane, status, gnbs })
}

/// Runs the command.
pub fn run(args: TopArgs) -> Result<()> {
    let interval = Duration::from_secs_f64(args.interval.clamp(0.1, 60.0));
    let core = args.oam.client()?;
    runtime::block_on(async {
        let mut figures = Figures::default();
        if args.once {
            // The text is about the user plane.
            core.user_plane().await?;
        }
        figures.update(read(&core).await?, Instant::now());
        if args.once {
            tokio::time::sleep(interval).await;
            figures.update(read(&core).await?, Instant::now());
            print!("{}", figures.text(args.sort, args.ues));
            return Ok(());
        }
        screen::show(figures, &core, interval, args.page, args.sort).await
    })
}
