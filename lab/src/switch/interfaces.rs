//! The switch over interfaces, after RFC 2544: the rate at which nothing is lost, by binary search, and latency, beside the
//! native UPFs `kernel` and `xdp` over the same pair of virtual links; for some users and rules; and how soon a hot session is
//! on the switch.
//!
//! Where there are two processors, the device under test has one and the tester the other, as with a tester of its own; else
//! all share one.
use super::{FRAMES, SwitchArgs, interfaces_report as report};
use crate::progress::Progress;
use crate::stats::median;
use crate::upf::Rules;
use crate::upf::wire::{DIRECTIONS, Round, Wire, on_processors};
use crate::{Figure, Output};
use anyhow::{Context, Result, ensure};
use martlet_switch_control::client::Client;
use martlet_switch_control::model::{Operation, Update};
use martlet_switch_control::rules;
use martlet_upf::config::{DatapathChoice, OffloadPolicy, UpfConfig};
use std::time::{Duration, Instant};

/// What is between the links. The first is a link alone: what the tester itself takes.
pub(super) const VARIANTS: [(&str, Option<DatapathChoice>); 4] = [
    ("tester", None),
    ("kernel", Some(DatapathChoice::Kernel)),
    ("xdp", Some(DatapathChoice::Xdp)),
    ("switch", Some(DatapathChoice::Switch)),
];
/// Users whose packets come, and rules of each way that are there.
pub(super) const LOADS: [(u32, u32); 4] = [(1, 1), (1, 1_000), (100, 1_000), (10_000, 100_000)];
/// Frames that are measured with every load.
const FEW: [u32; 3] = [64, 512, 1518];
/// The search ends where it knows the rate as closely as this.
const CLOSE: f64 = 1.05;
/// Share of packets that may not have been sent in a trial that counts: at which rate else it was, nobody knows.
const MISSED: f64 = 0.05;
/// The least packet of a UE that has room for the time at which it was made.
const LEAST: u32 = 36;

/// How a load is called in figures.
pub(super) fn load_name((users, rules): (u32, u32)) -> String {
    format!("{users}u_{rules}r")
}

/// Octets of a UE's packet in a frame of RFC 2544, which has its checksum of 4, on the side where it comes in.
pub(super) fn packet(frame: u32, uplink: bool) -> u32 {
    frame.saturating_sub(18 + if uplink { 44 } else { 0 }).max(LEAST)
}

/// Octets of the frame that comes in, with its checksum.
pub(super) fn octets(frame: u32, uplink: bool) -> u32 {
    packet(frame, uplink) + 18 + if uplink { 44 } else { 0 }
}

/// How long things take, and how often they are done.
struct Plan {
    frames: Vec<u32>,
    loads: Vec<(u32, u32)>,
    trial: Duration,
    latency: Duration,
    hot: u32,
}

impl Plan {
    fn of(args: &SwitchArgs) -> Plan {
        let second = Duration::from_secs(1);
        let mut plan = match args.quick {
            true => Plan {
                frames: FEW.to_vec(),
                loads: LOADS[..1].to_vec(),
                trial: second / 10,
                latency: second / 4,
                hot: 3,
            },
            false => Plan {
                frames: FRAMES.to_vec(),
                loads: LOADS[..usize::from(args.loads)].to_vec(),
                trial: Duration::from_secs_f64(args.trial),
                latency: second.min(Duration::from_secs_f64(4.0 * args.trial)),
                hot: 15,
            },
        };
        if !args.frames.is_empty() {
            plan.frames = args.frames.clone();
        }
        plan
    }

    /// Frame sizes that are measured with a load: all with the first one, else the smallest, the middle and the largest.
    fn frames(&self, load: (u32, u32)) -> Vec<u32> {
        match load == self.loads[0] {
            true => self.frames.clone(),
            false => self.frames.iter().copied().filter(|frame| FEW.contains(frame)).collect(),
        }
    }
}

/// Measures all of it.
pub(super) fn measure(output: &mut Output, args: &SwitchArgs) -> Result<()> {
    let plan = Plan::of(args);
    let steps: usize = plan.loads.iter().map(|load| 2 * VARIANTS.len() * plan.frames(*load).len()).sum();
    let mut progress = Progress::new("steps over interfaces", steps as u64 + 3);
    for &load in &plan.loads {
        for (variant, choice) in VARIANTS {
            if choice.is_none() && load != plan.loads[0] {
                let left = 2 * plan.frames(load).len();
                (0..left).for_each(|_| progress.step(variant));
                continue;
            }
            let frames = plan.frames(load);
            let done = on_processors(|parting| {
                let wire = Wire::apart(choice, Rules::Full, load.1, parting, |config| {
                    of_lab(config, load.1, parting.is_some())
                })?;
                let mut done = Vec::new();
                for &frame in &frames {
                    for (direction, uplink) in DIRECTIONS {
                        let point = point(&wire, uplink, packet(frame, uplink), load.0, &plan)
                            .with_context(|| format!("{variant}, {direction}, {frame} octets"))?;
                        progress.step(&format!("{variant} {direction} {frame}"));
                        done.push((frame, direction, point));
                    }
                }
                Ok(done)
            })?;
            for (frame, direction, point) in done {
                write(output, variant, load, frame, direction, &point)?;
            }
        }
    }
    ratios(output, &plan);
    let mut taken = Vec::new();
    for round in 0..plan.hot {
        let ms = on_processors(hot_to_in_force)?;
        output.row(format_args!("hot_to_in_force,512,1,switch,{round},{ms},0"))?;
        taken.push(ms);
    }
    output.figure(Figure::of("offload.switch.hot_to_in_force.median", "ms", median(&taken).context("nothing")?));
    let slowest = taken.iter().copied().fold(0.0, f64::max);
    output.figure(Figure::once("offload.switch.hot_to_in_force.slowest", "ms", slowest));
    progress.step("a hot session");
    for rules in [1_000, 100_000] {
        let (ms, sent, lost) = on_processors(|parting| issued(parting, rules))?;
        output.row(format_args!("rules_issued,512,{rules},switch,0,{ms},{lost}"))?;
        output.figure(Figure::once(format!("rules_issued.switch.{rules}_under_traffic"), "ms", ms));
        output.figure(Figure::once(format!("rules_issued.switch.{rules}_lost"), "packets", lost as f64));
        output.figure(Figure::once(format!("rules_issued.switch.{rules}_sent"), "packets", sent as f64));
        progress.step("rules under traffic");
    }
    progress.done();
    report::write(output, &plan.frames, &plan.loads, plan.trial)
}

/// Room for all rules, and a switch that keeps its processor where it has one for itself.
fn of_lab(config: &mut UpfConfig, rules: u32, alone: bool) {
    config.n6.mtu = 1500;
    config.switch.sessions = 131_072;
    if rules > 10_000 {
        // Who looks at what they carry is the UPF's processor, not the switch's: now and then, here.
        config.switch.sample_ms = 5_000;
    }
    if let Some(run) = config.switch.run.as_mut().filter(|_| alone) {
        run.spin_us = Some(10_000_000);
    }
}

/// What one point gave.
struct Point {
    /// Packets a second without a loss, and each trial: rate, share lost.
    rate: f64,
    trials: Vec<(f64, f64)>,
    /// At a tenth of that rate, and not above 10,000: quantiles in nanoseconds.
    latency: Vec<(&'static str, f64)>,
    paced: f64,
}

pub(super) const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];

fn point(wire: &Wire, uplink: bool, length: u32, users: u32, plan: &Plan) -> Result<Point> {
    let mut trials = Vec::new();
    let rate = loss_free(|rate| {
        let round = wire.paced_among(uplink, length, rate, plan.trial, || users)?;
        trials.push((rate, round.loss()));
        Ok(round)
    })?;
    let paced = (rate / 10.0).clamp(500.0, 10_000.0);
    let round = wire.paced_one_by_one(uplink, length, paced, plan.latency, users)?;
    let quantile = |(name, q)| Some((name, round.received.quantile(q)?));
    Ok(Point { rate, trials, latency: QUANTILES.into_iter().filter_map(quantile).collect(), paced })
}

/// The highest rate at which nothing is lost, in packets a second really sent: upwards in large steps until something is, then
/// by halves. A rate has some tries, for the machine may have been busy with something else.
fn loss_free(mut trial: impl FnMut(f64) -> Result<Round>) -> Result<f64> {
    const FIRST: f64 = 20_000.0;
    const TRIES: u32 = 4;
    let mut carried = |rate: f64| -> Result<Option<f64>> {
        let mut most = None;
        for _ in 0..TRIES {
            let round = trial(rate)?;
            if round.sent > 0 && round.received.packets >= round.sent {
                let sent = round.sent as f64 / round.wall.as_secs_f64();
                if round.missed <= MISSED {
                    return Ok(Some(sent));
                }
                most = most.max(Some(sent as u64));
            }
        }
        // Nothing was lost of what the tester could send.
        Ok(most.map(|sent| sent as f64))
    };
    let (mut low, mut high, mut best) = (0.0, None, 0f64);
    let mut rate = FIRST;
    loop {
        match carried(rate)? {
            Some(sent) => {
                // The tester does not send more, however much is asked of it.
                let no_more = sent < rate * 0.8 && sent < best * 1.2;
                best = best.max(sent);
                low = rate;
                if no_more {
                    return Ok(best);
                }
            }
            None => high = Some(rate),
        }
        rate = match high {
            None => rate * 2.0,
            Some(high) if low > 0.0 && high / low <= CLOSE => return Ok(best),
            // Not even a few.
            Some(high) if high < 500.0 => return Ok(best),
            Some(high) if low == 0.0 => high / 2.0,
            Some(high) => f64::sqrt(low * high),
        };
    }
}

fn write(
    output: &mut Output,
    variant: &str,
    load: (u32, u32),
    frame: u32,
    direction: &str,
    point: &Point,
) -> Result<()> {
    let (name, rules) = (load_name(load), load.1);
    for (n, (rate, loss)) in point.trials.iter().enumerate() {
        output.row(format_args!("{direction}_trial_{name},{frame},{rules},{variant},{n},{rate:.0},{loss:.6}"))?;
    }
    output.figure(Figure::once(
        format!("pps.{variant}.{direction}_{frame}_{name}_interface.loss_free"),
        "packets/s",
        point.rate,
    ));
    for (q, ns) in &point.latency {
        output
            .row(format_args!("{direction}_latency_{q}_{name},{frame},{rules},{variant},0,{ns},{:.0}", point.paced))?;
        // Of what the links and the tester take; a quantile of the sum is no sum of quantiles, so this is an estimate.
        let tester = format!("latency_whole.tester.{direction}_{frame}_{}_interface.{q}", load_name(LOADS[0]));
        let own = output.find(&tester).map_or(0.0, |figure| figure.value);
        let id = |what: &str| format!("{what}.{variant}.{direction}_{frame}_{name}_interface.{q}");
        output.figure(Figure::once(id("latency_whole"), "us", ns / 1000.0));
        if variant != "tester" {
            output.figure(Figure::once(id("latency"), "us", (ns / 1000.0 - own).max(0.0)));
        }
    }
    Ok(())
}

/// The switch over `kernel`.
fn ratios(output: &mut Output, plan: &Plan) {
    for &load in &plan.loads {
        for frame in plan.frames(load) {
            for (direction, _) in DIRECTIONS {
                let point = format!("{direction}_{frame}_{}_interface", load_name(load));
                for (what, statistic) in [("pps", "loss_free"), ("latency", "p50"), ("latency_whole", "p50")] {
                    let of =
                        |variant: &str| output.find(&format!("{what}.{variant}.{point}.{statistic}")).map(|f| f.value);
                    if let (Some(switch), Some(kernel)) = (of("switch"), of("kernel")) {
                        let id = format!("{what}.switch_over_kernel.{point}");
                        output.figure(Figure::once(id, "times", switch / kernel));
                    }
                }
            }
        }
    }
}

/// Milliseconds from the first packet of a session that is hot from then on until its rules are in force on the switch.
fn hot_to_in_force(parting: Option<usize>) -> Result<f64> {
    let hot = |config: &mut UpfConfig| {
        of_lab(config, 1, parting.is_some());
        config.switch.policy = OffloadPolicy::Hot;
    };
    let wire = Wire::apart(Some(DatapathChoice::Switch), Rules::Full, 1, parting, hot)?;
    let started = Instant::now();
    let mut taken = None;
    while taken.is_none() {
        ensure!(started.elapsed() < Duration::from_secs(5), "a hot session does not move");
        // 41 Mbit/s, and a look every two milliseconds.
        wire.paced_among(true, 512, 10_000.0, Duration::from_secs(1), || {
            if taken.is_none() && wire.moved_on() > 0 {
                taken = Some(started.elapsed());
            }
            1
        })?;
    }
    Ok(taken.unwrap_or_default().as_secs_f64() * 1e3)
}

/// Milliseconds in which so many rules are issued in one batch, over P4Runtime, while packets of a session pass; how many were
/// sent meanwhile, and lost.
fn issued(parting: Option<usize>, rules: u32) -> Result<(f64, u64, u64)> {
    let mut address = None;
    let wire = Wire::apart(Some(DatapathChoice::Switch), Rules::Full, 1, parting, |config| {
        of_lab(config, 1, parting.is_some());
        address = Some((config.switch.address, config.switch.device));
    })?;
    let (address, device) = address.context("a switch")?;
    let issue = move || -> Result<f64> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut client = Client::connect(address, device).await?;
            client.lead(Some(1_000)).await?;
            let info = client.program().info.clone();
            let rule = |n: u32| -> Result<Update> {
                let line =
                    format!("decap teid {} ue 10.200.{}.{} via 1 counter {n}", 0x100_0000 + n, n >> 8 & 255, n & 255);
                let entry = rules::parse(&info, &rules::words(&line), 0, false, &mut || None);
                Ok(Update { operation: Operation::Insert, entry: entry? })
            };
            let updates: Vec<Update> = (0..rules).map(rule).collect::<Result<_>>()?;
            tokio::time::sleep(Duration::from_millis(200)).await;
            let started = Instant::now();
            client.write(&updates).await?;
            Ok(started.elapsed().as_secs_f64() * 1e3)
        })
    };
    std::thread::scope(|scope| {
        let writer = scope.spawn(issue);
        let (mut sent, mut received) = (0, 0);
        while !writer.is_finished() {
            let round = wire.paced(true, 512, 20_000.0, Duration::from_millis(200))?;
            (sent, received) = (sent + round.sent, received + round.received.packets);
        }
        let ms = writer.join().map_err(|_| anyhow::anyhow!("the writer broke off"))??;
        Ok((ms, sent, sent.saturating_sub(received)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_upf_xdp::Received;

    fn round(rate: f64, most: f64) -> Result<Round> {
        let sent = (rate.min(3e6) / 10.0) as u64;
        let packets = sent.min((most / 10.0) as u64);
        let received = Received { packets, octets: 0, took: vec![] };
        Ok(Round { sent, received, wall: Duration::from_millis(100), cpu: Duration::ZERO, missed: 0.0 })
    }

    #[test]
    fn the_search_finds_the_rate_without_a_loss() {
        for most in [700.0, 3_000.0, 90_000.0, 1_234_567.0] {
            let found = loss_free(|rate| round(rate, most)).unwrap();
            assert!(found <= most && found >= most / 1.06, "{most}: {found}");
        }
        // As much as the tester sends.
        assert!(loss_free(|rate| round(rate, 1e9)).unwrap() >= 2.5e6);
        assert_eq!(loss_free(|rate| round(rate, 0.0)).unwrap(), 0.0);
    }

    #[test]
    fn frames_are_those_of_rfc_2544() {
        assert_eq!((packet(1518, false), octets(1518, false)), (1500, 1518));
        assert_eq!((packet(1518, true), octets(1518, true)), (1456, 1518));
        assert_eq!((packet(64, false), octets(64, false)), (46, 64));
        // Smaller there is none in a tunnel.
        assert_eq!((packet(64, true), octets(64, true)), (36, 98));
    }
}
