//! `martlet top`: shows the user plane live.
mod figures;
mod screen;

use super::upf::request;
use crate::oam_client::OamArgs;
use crate::runtime;
use anyhow::Result;
use clap::{Args, ValueEnum};
use figures::Figures;
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
}

/// Runs the command.
pub fn run(args: TopArgs) -> Result<()> {
    let interval = Duration::from_secs_f64(args.interval.clamp(0.1, 60.0));
    let endpoints = args.oam.function("upf")?;
    runtime::block_on(async {
        let mut figures = Figures::default();
        figures.update(request(&endpoints, "top").await?, Instant::now());
        if args.once {
            tokio::time::sleep(interval).await;
            figures.update(request(&endpoints, "top").await?, Instant::now());
            print!("{}", figures.text(args.sort, args.ues));
            return Ok(());
        }
        screen::show(figures, &endpoints, interval, args.sort).await
    })
}
