//! `martlet demo`: a core, a gNB and a UE with traffic, in network namespaces of their own.
//!
//! The program contains the scripts of `deploy/demo`, and executes the shell that runs them. At its
//! end the shell runs `martlet demo --draw`, which makes the picture of what was measured.
mod picture;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use martlet::config::Config;
use martlet_lcs_position::GeoPoint;
use picture::{Fix, INTERVAL, Measurements};
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Arguments of the demo.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Datapath of the UPF [default: xdp if the kernel supports it, else kernel]
    #[arg(long, value_enum)]
    datapath: Option<DemoDatapath>,
    /// File for the picture (SVG) of positions, throughput and round-trip times. The demo with the
    /// switch has none
    #[arg(long, value_name = "FILE", default_value = "martlet-demo.svg")]
    picture: PathBuf,
    /// Only make the picture of the measurements in a folder
    #[arg(long, value_name = "FOLDER", hide = true)]
    draw: Option<PathBuf>,
}

/// A datapath of the UPF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DemoDatapath {
    /// Sockets
    Kernel,
    /// XDP programs
    Xdp,
    /// A programmable switch: a download is offloaded to it while it runs
    Switch,
}

const FILES: &[(&str, &str)] = &[
    ("run.sh", include_str!("../../../../deploy/demo/run.sh")),
    ("scenario.yaml", include_str!("../../../../deploy/demo/scenario.yaml")),
    ("switch.sh", include_str!("../../../../deploy/demo/switch.sh")),
    ("switch.yaml", include_str!("../../../../deploy/demo/switch.yaml")),
];

/// Replaces this process with the demo.
///
/// # Errors
/// The demo does not run as root, or a program that it needs is missing.
pub fn run(args: DemoArgs) -> Result<()> {
    if let Some(folder) = &args.draw {
        return draw(folder, &args.picture);
    }
    ensure!(
        nix::unistd::geteuid().is_root(),
        "the demo makes network namespaces and interfaces: run it as root"
    );
    let own = std::env::current_exe().context("the path of this program is unknown")?;
    for program in ["bash", "ip", "iperf3", "ping", "unshare"] {
        ensure!(
            is_installed(program),
            "{program} is missing: apt-get install bash iproute2 iperf3 iputils-ping util-linux"
        );
    }
    let switch = args.datapath == Some(DemoDatapath::Switch);
    if switch && !own.with_file_name("martlet-switch").is_file() {
        bail!("martlet-switch is not beside {}: `make release-switch` builds it", own.display());
    }
    if !own.with_file_name("martlet-ran").is_file() && !is_installed("martlet-ran") {
        bail!("martlet-ran is not beside {}: `make release` builds both", own.display());
    }
    let folder = std::env::temp_dir().join(format!("martlet-demo-{}", std::process::id()));
    std::fs::create_dir(&folder)
        .with_context(|| format!("{} cannot be created", folder.display()))?;
    for (name, text) in FILES {
        let path = folder.join(name);
        std::fs::write(&path, text)
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    let script = folder.join(if switch { "switch.sh" } else { "run.sh" });
    let mut shell = Command::new("bash");
    // The shell removes the folder at its end.
    shell
        .args(["-c", r#"trap 'rm -rf "$1"' EXIT; bash "$2" "$3""#, "demo"])
        .args([&folder, &script, &own]);
    let picture = std::path::absolute(&args.picture)
        .with_context(|| format!("{} is not a path", args.picture.display()))?;
    shell.env("MARTLET_DEMO_PICTURE", picture);
    match args.datapath {
        Some(DemoDatapath::Kernel) => shell.env("MARTLET_DEMO_DATAPATHS", "kernel"),
        Some(DemoDatapath::Xdp) => shell.env("MARTLET_DEMO_DATAPATHS", "xdp"),
        _ => &mut shell,
    };
    let error = shell.exec();
    let _ = std::fs::remove_dir_all(&folder);
    bail!("bash cannot be run: {error}")
}

/// Writes the picture of what `run.sh` measured, and prints it for a terminal.
fn draw(folder: &Path, picture: &Path) -> Result<()> {
    let text = |name: &str| {
        let file = folder.join(name);
        std::fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))
    };
    let cells = Config::load(Some(&folder.join("martlet.yaml")))?.lmf.cells;
    let measured = Measurements {
        cells: cells.iter().map(|cell| cell.position).collect(),
        fixes: text("walk")?.lines().map(fix).collect::<Result<_>>()?,
        round_trips: text("ping")?.lines().filter_map(round_trip).collect(),
        uplink: text("uplink")?.lines().filter_map(rate).collect(),
        downlink: text("downlink")?.lines().filter_map(rate).collect(),
    };
    std::fs::write(picture, picture::svg(&measured))
        .with_context(|| format!("{} cannot be written", picture.display()))?;
    print!("{}", picture::text(&measured));
    Ok(())
}

/// A position from a line of `martlet locate --json --truth`.
fn fix(line: &str) -> Result<Fix> {
    let value: Value = serde_json::from_str(line).context("a position is not JSON")?;
    let number = |pointer: &str| {
        value.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("no {pointer}"))
    };
    let point = |at: &str| -> Result<GeoPoint> {
        Ok(GeoPoint { lat: number(&format!("{at}/lat"))?, lon: number(&format!("{at}/lon"))? })
    };
    let ellipse = "/locationEstimate/uncertaintyEllipse";
    Ok(Fix {
        found: point("/locationEstimate/point")?,
        truth: point("/truth")?,
        error: number("/truth/error")?,
        semi_axes: (
            number(&format!("{ellipse}/semiMajor"))?,
            number(&format!("{ellipse}/semiMinor"))?,
        ),
        orientation: number(&format!("{ellipse}/orientationMajor"))?,
    })
}

/// Milliseconds of a line of `ping`.
fn round_trip(line: &str) -> Option<f64> {
    line.split_once(" time=")?.1.split_once(' ')?.0.parse().ok()
}

/// Mbit/s of a line of `iperf3` that is about an interval, not about the whole measurement.
fn rate(line: &str) -> Option<f64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let unit = words.iter().position(|word| *word == "Mbits/sec")?;
    let (start, end) = words.iter().find_map(|word| word.split_once('-'))?;
    let seconds = end.parse::<f64>().ok()? - start.parse::<f64>().ok()?;
    // The last interval may be shorter, and its rate then has no meaning.
    let is_interval = (seconds - INTERVAL).abs() < INTERVAL / 4.0;
    is_interval.then(|| words.get(unit.checked_sub(1)?)?.parse().ok())?
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]).any(|folder| {
        let file: &Path = &folder.join(program);
        file.is_file()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ping_and_iperf3_are_read() {
        let line = "64 bytes from 10.45.0.1: icmp_seq=1 ttl=64 time=0.312 ms";
        assert_eq!(round_trip(line), Some(0.312));
        assert_eq!(round_trip("rtt min/avg/max/mdev = 0.2/0.3/0.4/0.05 ms"), None);
        let sent = "[  5]   0.20-0.40   sec  12.5 MBytes   524 Mbits/sec    0    320 KBytes";
        let received = "[  5]   1.80-2.00   sec  22.1 MBytes   927 Mbits/sec";
        let whole = "[  5]   0.00-2.00   sec   221 MBytes   927 Mbits/sec          receiver";
        let rest = "[  5]   2.00-2.01   sec   221 KBytes   181 Mbits/sec";
        assert_eq!([sent, received, whole, rest].map(rate), [Some(524.0), Some(927.0), None, None]);
    }

    #[test]
    fn a_position_is_read_with_its_truth() {
        let line = serde_json::json!({
            "locationEstimate": {
                "point": {"lat": 54.09241, "lon": 12.0991},
                "uncertaintyEllipse": {"semiMajor": 3.5, "semiMinor": 2.0, "orientationMajor": 30},
            },
            "truth": {"lat": 54.0924, "lon": 12.0991, "error": 1.1},
        });
        let fix = fix(&line.to_string()).unwrap();
        assert_eq!((fix.error, fix.semi_axes, fix.truth.lat), (1.1, (3.5, 2.0), 54.0924));
        let without = super::fix(r#"{"locationEstimate": {}}"#).unwrap_err();
        assert!(without.to_string().contains("/locationEstimate/point/lat"), "{without}");
    }
}
