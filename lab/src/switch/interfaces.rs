//! The switch over interfaces, beside the native UPFs `kernel` and `xdp` over the same pair of virtual links, with the same
//! generator and receivers, all on one core: packets a second, latency, and how soon a hot session is on the switch.
use super::{SwitchArgs, report};
use crate::progress::Progress;
use crate::stats::median;
use crate::upf::Rules;
use crate::upf::wire::{DIRECTIONS, Wire, carried, on_one_processor, with_wire};
use crate::{Figure, Output};
use anyhow::{Context, Result, ensure};
use martlet_upf::config::{DatapathChoice, OffloadPolicy, UpfConfig};
use std::time::{Duration, Instant};

/// Octets of UEs' packets: the sizes of RFC 2544 as far as a packet fits into a tunnel over a link of 1500.
const LENGTHS: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1400];
const VARIANTS: [(&str, DatapathChoice); 3] =
    [("kernel", DatapathChoice::Kernel), ("xdp", DatapathChoice::Xdp), ("switch", DatapathChoice::Switch)];

/// Measures all of it.
pub(super) fn measure(output: &mut Output, args: &SwitchArgs) -> Result<()> {
    let (rounds, packets) = if args.quick { (3, 30_000) } else { (9, 300_000) };
    let time = Duration::from_millis(if args.quick { 200 } else { 500 });
    let mut progress = Progress::new("steps over interfaces", 2 * VARIANTS.len() as u64 + 1);
    for (variant, choice) in VARIANTS {
        let all = with_wire(Some(choice), Rules::Full, 1, |wire| {
            let mut all = Vec::new();
            for round in 0..rounds {
                for length in LENGTHS {
                    for (direction, uplink) in DIRECTIONS {
                        all.push((round, length, direction, wire.flat_out(uplink, length, packets)?));
                    }
                }
            }
            Ok(all)
        })?;
        for (round, length, direction, r) in &all {
            output.row(format_args!("{direction}_flat_out,{length},1,{variant},{round},{},0", r.pps()))?;
        }
        for length in LENGTHS {
            for (direction, _) in DIRECTIONS {
                let sample: Vec<f64> =
                    all.iter().filter(|r| r.1 == length && r.2 == direction).map(|r| r.3.pps()).collect();
                let id = format!("pps.{variant}.{direction}_{length}_interface.median");
                output.figure(Figure::of(id, "packets/s", median(&sample).context("nothing was measured")?));
            }
        }
        progress.step(variant);
    }
    let mut lowest = [f64::INFINITY; 2];
    for (variant, choice) in VARIANTS {
        for (n, (direction, uplink)) in DIRECTIONS.into_iter().enumerate() {
            let rate = with_wire(Some(choice), Rules::Full, 1, |wire| carried(wire, uplink, time))?;
            lowest[n] = lowest[n].min(rate);
            let id = format!("pps.{variant}.{direction}_64_interface_carried");
            output.figure(Figure::once(id, "packets/s", rate));
        }
        progress.step(variant);
    }
    for (n, (direction, uplink)) in DIRECTIONS.into_iter().enumerate() {
        // A rate at which none of them is busy all the time.
        let rate = (lowest[n] / 4.0).clamp(1_000.0, 10_000.0);
        for (variant, choice) in VARIANTS {
            for length in [64, 512, 1400] {
                let round = with_wire(Some(choice), Rules::Full, 1, |wire| wire.paced(uplink, length, rate, time * 4))?;
                for (name, q) in [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)] {
                    if let Some(ns) = round.received.quantile(q) {
                        let id = format!("latency.{variant}.{direction}_{length}_interface.{name}");
                        output.figure(Figure::once(id, "us", ns / 1000.0));
                        output.row(format_args!("{direction}_latency_{name},{length},1,{variant},0,{ns},0"))?;
                    }
                }
            }
        }
        for (what, unit) in [("pps", "_64_interface.median"), ("latency", "_64_interface.p50")] {
            let of = |variant: &str| output.find(&format!("{what}.{variant}.{direction}{unit}")).map(|f| f.value);
            if let (Some(switch), Some(kernel)) = (of("switch"), of("kernel")) {
                let id = format!("{what}.switch_over_kernel.{direction}_64_interface");
                output.figure(Figure::once(id, "times", switch / kernel));
            }
        }
    }
    let mut taken = Vec::new();
    for round in 0..if args.quick { 3 } else { 15 } {
        let ms = on_one_processor(hot_to_in_force)?;
        output.row(format_args!("hot_to_in_force,512,1,switch,{round},{ms},0"))?;
        taken.push(ms);
    }
    output.figure(Figure::of("offload.switch.hot_to_in_force.median", "ms", median(&taken).context("nothing")?));
    let slowest = taken.iter().copied().fold(0.0, f64::max);
    output.figure(Figure::once("offload.switch.hot_to_in_force.slowest", "ms", slowest));
    progress.step("a hot session");
    progress.done();
    report::interfaces(output)
}

/// Milliseconds from the first packet of a session that is hot from then on until its rules are in force on the switch.
fn hot_to_in_force() -> Result<f64> {
    let hot = |config: &mut UpfConfig| config.switch.policy = OffloadPolicy::Hot;
    let wire = Wire::changed(Some(DatapathChoice::Switch), Rules::Full, 1, hot)?;
    let started = Instant::now();
    while wire.moved_on() == 0 {
        // 41 Mbit/s.
        wire.paced(true, 512, 10_000.0, Duration::from_millis(10))?;
        ensure!(started.elapsed() < Duration::from_secs(5), "a hot session does not move");
    }
    Ok(started.elapsed().as_secs_f64() * 1e3)
}
