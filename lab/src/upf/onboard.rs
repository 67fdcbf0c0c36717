//! The study of the satellite board, as far as a machine without one can do it: sessions at one total rate, one session's share,
//! contention for memory, and load against processor, memory and a modelled temperature. On one processor, over virtual links.
use super::wire::{Round, VARIANTS, Wire, with_wire};
use super::{Rules, UpfArgs};
use crate::progress::Progress;
use crate::stats::median;
use crate::{Figure, Output, Panel, Series, draw};
use anyhow::{Context, Result};
use martlet_board::{BoardConfig, SimulatedBoard};
use martlet_upf::config::DatapathChoice;
use std::fmt::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Octets of UEs' packets, and packets in a second of all sessions together.
const LENGTH: u32 = 1024;
const RATE: f64 = 20_000.0;
const SESSIONS: [u32; 6] = [1, 10, 50, 100, 200, 500];
const SHARES: [u32; 5] = [100, 75, 50, 25, 0];
const LOADS: [f64; 6] = [2_000.0, 5_000.0, 10_000.0, 20_000.0, 40_000.0, 80_000.0];
/// Sessions beside the one whose share is changed.
const OTHERS: u32 = 100;

/// What `stress-ng` does on another processor meanwhile.
const STRESS: [(&str, &[&str]); 3] = [
    ("none", &[]),
    ("sparse", &["--vm", "1", "--vm-bytes", "64M", "--vm-hang", "1"]),
    ("frequent", &["--stream", "1"]),
];

struct Stress(Option<Child>);

impl Stress {
    fn start(arguments: &[&str]) -> Result<Stress> {
        if arguments.is_empty() {
            return Ok(Stress(None));
        }
        let mut command = Command::new("stress-ng");
        command.args(arguments).args(["--taskset", "0", "--timeout", "600"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.context("`stress-ng` is missing: install the package stress-ng")?;
        std::thread::sleep(Duration::from_millis(500));
        Ok(Stress(Some(child)))
    }
}

impl Drop for Stress {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // It ends those that it has started itself, when it is asked to.
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), nix::sys::signal::SIGTERM);
            let _ = child.wait();
        }
    }
}

/// Octets of this process in memory.
fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).map_or(0.0, |pages| pages * 4096.0)
}

fn busy(round: &Round) -> f64 {
    (round.cpu.as_secs_f64() / round.wall.as_secs_f64()).min(1.0)
}

/// °C of the simulated board after an hour of a load.
fn celsius(load: f64) -> f64 {
    let mut board = SimulatedBoard::new(BoardConfig { throttle: f64::INFINITY, ..BoardConfig::default() });
    board.pass(3600.0, load);
    board.temperature()
}

struct Study<'a> {
    output: &'a mut Output,
    rounds: u32,
    time: Duration,
    progress: Progress,
}

impl Study<'_> {
    /// Rounds of one point: their loss, processor time and latency become figures and rows.
    fn point(
        &mut self,
        study: &str,
        variant: &str,
        x: f64,
        choice: Option<DatapathChoice>,
        sessions: u32,
        mut round: impl FnMut(&Wire, Duration) -> Result<Round> + Send,
    ) -> Result<()> {
        let (rounds, time) = (self.rounds, self.time);
        let (all, memory) = with_wire(choice, Rules::Full, sessions, |wire| {
            round(wire, time / 4)?;
            let all: Result<Vec<Round>> = (0..rounds).map(|_| round(wire, time)).collect();
            Ok((all?, resident()))
        })?;
        let mut figure = |what: &str, unit, of: &dyn Fn(&Round) -> Option<f64>| -> Result<()> {
            let values: Vec<f64> = all.iter().filter_map(of).collect();
            let Some(value) = median(&values) else { return Ok(()) };
            self.output.figure(Figure::of(format!("{what}.{variant}.{study}{x}.median"), unit, value));
            Ok(())
        };
        figure("onboard_loss", "%", &|r| Some(r.loss() * 100.0))?;
        figure("onboard_busy", "%", &|r| Some(busy(r) * 100.0))?;
        figure("onboard_p99", "us", &|r| r.received.quantile(0.99).map(|ns| ns / 1000.0))?;
        self.output.figure(Figure::once(format!("onboard_memory.{variant}.{study}{x}"), "MB", memory / 1e6));
        for (n, r) in all.iter().enumerate() {
            self.output.row(format_args!("onboard,{study},{variant},uplink,{n},{},{}", r.loss(), busy(r)))?;
        }
        self.progress.step(study);
        Ok(())
    }
}

/// Runs the study.
pub(super) fn measure(output: &mut Output, args: &UpfArgs) -> Result<()> {
    let (rounds, time) = if args.quick { (1, Duration::from_millis(200)) } else { (5, Duration::from_secs(1)) };
    let steps = 2 * (SESSIONS.len() + SHARES.len() + STRESS.len()) + 3 * LOADS.len();
    let progress = Progress::new("points", steps as u64);
    let mut study = Study { output, rounds, time, progress };
    for (variant, choice) in VARIANTS {
        for sessions in SESSIONS {
            let run = |wire: &Wire, time| wire.paced(true, LENGTH, RATE, time);
            study.point("sessions", variant, sessions.into(), Some(choice), sessions, run)?;
        }
        for share in SHARES {
            let run = move |wire: &Wire, time| {
                let mut owed = 0;
                wire.paced_among(true, LENGTH, RATE, time, move || {
                    owed += share;
                    let one = owed >= 100;
                    owed -= if one { 100 } else { 0 };
                    if one { 1 } else { OTHERS }
                })
            };
            study.point("share", variant, share.into(), Some(choice), OTHERS, run)?;
        }
        for (n, (name, arguments)) in STRESS.into_iter().enumerate() {
            let Ok(_stress) = Stress::start(arguments) else {
                study
                    .output
                    .say(&format!("`stress-ng` is not installed: nothing was measured under *{name}* contention.\n"));
                continue;
            };
            let run = |wire: &Wire, time| wire.paced(true, LENGTH, RATE, time);
            study.point("memory", variant, n as f64, Some(choice), OTHERS, run)?;
        }
    }
    for (variant, choice) in [("generator", None)].into_iter().chain(VARIANTS.map(|(n, c)| (n, Some(c)))) {
        for rate in LOADS {
            study.point("load", variant, rate, choice, 1, move |wire, time| wire.paced(true, LENGTH, rate, time))?;
        }
    }
    study.progress.done();
    report(output)
}

fn report(output: &mut Output) -> Result<()> {
    let find = |output: &Output, what: &str, variant: &str, point: &str| {
        output.find(&format!("{what}.{variant}.{point}.median")).map(|f| (f.value, f.low, f.high))
    };
    output.say(&format!(
        "## The study of the satellite board\n\nUplink packets of {LENGTH} octets, generator, UPF and receiver on one \
         processor. Unless said otherwise {RATE} packets in a second, {:.0} Mbit/s. The temperature is that of the simulated \
         board (idle 50 °C in a room of 27 °C, 5 W at full load, 2 W assumed when idle) after an hour of the load that the \
         datapath adds to the generator's: no sensor was read.\n",
        RATE * f64::from(LENGTH) * 8.0 / 1e6
    ));
    let mut text = String::from("| | kernel: lost, busy, p99 | xdp: lost, busy, p99 |\n| --- | --- | --- |\n");
    let mut line = |output: &Output, name: String, point: &str| {
        let cells = VARIANTS.map(|(variant, _)| {
            let of = |what: &str| find(output, what, variant, point).map_or(f64::NAN, |f| f.0);
            format!("{:.3} %, {:.0} %, {:.0} µs", of("onboard_loss"), of("onboard_busy"), of("onboard_p99"))
        });
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    };
    for sessions in SESSIONS {
        line(output, format!("{sessions} sessions at one total rate"), &format!("sessions{sessions}"));
    }
    for share in SHARES {
        line(output, format!("{share} % of it one session's, the rest {OTHERS} others'"), &format!("share{share}"));
    }
    for (n, (name, _)) in STRESS.into_iter().enumerate() {
        line(output, format!("memory used by others: {name}"), &format!("memory{n}"));
    }
    let added = |output: &Output, variant: &str, rate: f64| {
        let of = |variant: &str| find(output, "onboard_busy", variant, &format!("load{rate}")).map(|f| f.0);
        Some((of(variant)? - of("generator")?).max(0.0))
    };
    text.push_str("\n| packets in a second | kernel: load, temperature, memory | xdp: load, temperature, memory |\n");
    text.push_str("| --- | --- | --- |\n");
    for rate in LOADS {
        let cells = VARIANTS.map(|(variant, _)| {
            let load = added(output, variant, rate).unwrap_or(f64::NAN);
            let memory = output.find(&format!("onboard_memory.{variant}.load{rate}")).map_or(f64::NAN, |f| f.value);
            format!("{load:.0} %, {:.1} °C, {memory:.0} MB", celsius(load / 100.0))
        });
        let _ = writeln!(text, "| {rate:.0} | {} |", cells.join(" | "));
    }
    output.say(&text);
    for (variant, _) in VARIANTS {
        for rate in LOADS {
            if let Some(load) = added(output, variant, rate) {
                let id = format!("onboard_temperature.{variant}.load{rate}");
                output.figure(Figure::once(id, "C", celsius(load / 100.0)));
            }
        }
    }
    let series = |output: &Output, what: &str, points: &[(f64, String)]| -> Vec<Series> {
        let one = |variant: &str| Series {
            name: variant.into(),
            points: points
                .iter()
                .filter_map(|(x, point)| find(output, what, variant, point).map(|(v, low, high)| (*x, v, low, high)))
                .collect(),
        };
        VARIANTS.iter().map(|(variant, _)| one(variant)).collect()
    };
    let panel = |title: &str, x: &str, y: &str, series| Panel {
        title: title.into(),
        x_label: x.into(),
        y_label: y.into(),
        series,
    };
    let sessions: Vec<(f64, String)> = SESSIONS.iter().map(|n| (f64::from(*n), format!("sessions{n}"))).collect();
    let shares: Vec<(f64, String)> = SHARES.iter().map(|n| (f64::from(*n), format!("share{n}"))).collect();
    let stress: Vec<(f64, String)> = (0..STRESS.len()).map(|n| (n as f64, format!("memory{n}"))).collect();
    let of = |output: &Output, what: &str, title: &str, y: &str| {
        [
            panel(title, "sessions at one total rate", y, series(output, what, &sessions)),
            panel(title, "% of one session", y, series(output, what, &shares)),
            panel(title, "others' use of memory: 0 none, 1 sparse, 2 frequent", y, series(output, what, &stress)),
        ]
    };
    draw(output.folder(), "onboard-loss", &of(output, "onboard_loss", "packets lost", "% lost"))?;
    draw(output.folder(), "onboard-processor", &of(output, "onboard_busy", "processor", "% of one processor"))?;
    let by_load = |of: &dyn Fn(&str, f64) -> Option<f64>| -> Vec<Series> {
        let one = |variant: &str| Series {
            name: variant.into(),
            points: LOADS.iter().filter_map(|rate| of(variant, *rate).map(|v| (rate / 1000.0, v, v, v))).collect(),
        };
        VARIANTS.iter().map(|(variant, _)| one(variant)).collect()
    };
    let x = "thousands of packets in a second";
    let load = by_load(&|variant, rate| added(output, variant, rate));
    let heat = by_load(&|variant, rate| added(output, variant, rate).map(|load| celsius(load / 100.0)));
    let memory = by_load(&|variant, rate| {
        output.find(&format!("onboard_memory.{variant}.load{rate}")).map(|figure| figure.value)
    });
    let panels = [
        panel("load that the datapath adds", x, "% of one processor", load),
        panel("modelled temperature", x, "°C", heat),
        panel("memory of the process", x, "MB", memory),
    ];
    draw(output.folder(), "onboard-heat", &panels)?;
    output.say(
        "![loss](onboard-loss.png)\n\n![processor](onboard-processor.png)\n\n![load, temperature, memory](onboard-heat.png)\n",
    );
    Ok(())
}
