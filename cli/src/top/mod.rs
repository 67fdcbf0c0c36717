//! `martlet top`: the user plane, live.
mod figures;
mod screen;

use crate::runtime;
use crate::upf_command::{UpfAddress, ask};
use anyhow::Result;
use clap::{Args, ValueEnum};
use figures::Figures;
use std::time::{Duration, Instant};

/// Shows the user plane, live: each UE, each reason for which packets are dropped, tables, and the
/// board.
#[derive(Args)]
pub struct TopArgs {
    #[command(flatten)]
    upf: UpfAddress,
    /// Print once what was seen within one interval, as text
    #[arg(long)]
    once: bool,
    /// Seconds between two looks
    #[arg(long, default_value_t = 1.0)]
    interval: f64,
    /// Which UEs come first
    #[arg(long, value_enum, default_value_t = Order::Rate)]
    sort: Order,
    /// Most UEs that `--once` prints
    #[arg(long, default_value_t = 50)]
    ues: usize,
}

/// Which UEs come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// Those with the highest rate
    Rate,
    /// Those with the most packets dropped
    Drops,
    /// By address
    Ue,
}

/// Runs the command.
pub fn run(args: TopArgs) -> Result<()> {
    let interval = Duration::from_secs_f64(args.interval.clamp(0.1, 60.0));
    let places = args.upf.places()?;
    runtime::block_on(async {
        let mut figures = Figures::default();
        figures.take(ask(&places, "top").await?, Instant::now());
        if args.once {
            tokio::time::sleep(interval).await;
            figures.take(ask(&places, "top").await?, Instant::now());
            print!("{}", figures.text(args.sort, args.ues));
            return Ok(());
        }
        screen::show(figures, &places, interval, args.sort).await
    })
}
