//! Memory of a UPF alone: a process of its own for each point reads it before the datapath is
//! opened and while it forwards. A process retains memory that an earlier datapath has freed.
use super::LENGTH;
use super::board::with_share;
use crate::process_usage::resident_kb;
use anyhow::{Context, Result, ensure};
use clap::Args;
use martlet_upf::config::DatapathChoice;
use std::process::{Command, Stdio};
use std::time::Duration;

/// One point.
#[derive(Debug, Clone, Args)]
pub struct UpfMemoryArgs {
    /// kernel or xdp
    #[arg(long)]
    datapath: String,
    /// Packets per second
    #[arg(long)]
    rate: f64,
    #[arg(long)]
    milliseconds: u64,
    /// Share of a CPU
    #[arg(long)]
    share: Option<f64>,
}

/// Bytes of the eBPF maps that this process has open.
fn map_bytes() -> u64 {
    let files = std::fs::read_dir("/proc/self/fdinfo").into_iter().flatten().flatten();
    let of = |text: String| {
        let field = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        };
        // Several descriptors may be of one map.
        Some((field("map_id:")?, field("memlock:")?))
    };
    let maps: std::collections::BTreeMap<u64, u64> =
        files.filter_map(|file| of(std::fs::read_to_string(file.path()).ok()?)).collect();
    maps.values().sum()
}

/// Prints the bytes that a datapath uses while it forwards packets.
///
/// # Errors
/// There is no right to make a network namespace, or the datapath does not open.
pub fn print(args: &UpfMemoryArgs) -> Result<()> {
    let choice = match args.datapath.as_str() {
        "kernel" => DatapathChoice::Kernel,
        _ => DatapathChoice::Xdp,
    };
    let time = Duration::from_millis(args.milliseconds);
    let used = || resident_kb(std::process::id()) * 1024 + map_bytes();
    // The generator and its buffers are there before the datapath.
    let before = with_share(None, None, 1, |testbed, _| {
        testbed.queued(true, LENGTH, args.rate, time, || 1)?;
        Ok(used())
    })?;
    let after = with_share(args.share, Some(choice), 1, |testbed, _| {
        testbed.queued(true, LENGTH, args.rate, time, || 1)?;
        Ok(used())
    })?;
    println!("{}", after.saturating_sub(before));
    Ok(())
}

/// Bytes that a datapath uses at a rate, of its processes and of its eBPF maps.
pub fn of(datapath: &str, rate: f64, time: Duration, share: Option<f64>) -> Result<f64> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--log", "error", "upf-memory", "--datapath", datapath]);
    command.args(["--rate", &rate.to_string()]);
    command.args(["--milliseconds", &time.as_millis().to_string()]);
    if let Some(share) = share {
        command.args(["--share", &share.to_string()]);
    }
    let output = command.stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    text.trim().parse().with_context(|| format!("not a number of bytes: {text:?}"))
}
