//! The report of the measurement over interfaces, with the paper's results, in the form of its
//! figure 2.
use super::points::{COMMON_FRAMES, Point, QUANTILES, VARIANTS, frame_length};
use super::{Plan, RFC_2544_TRIAL};
use crate::{Output, Panel, Series, draw};
use anyhow::Result;
use std::fmt::Write as _;

const DIRECTIONS: [(&str, &str, bool); 2] =
    [("uplink", "decapsulation", true), ("downlink", "encapsulation", false)];

fn figure(output: &Output, id: &str) -> f64 {
    output.find(id).map_or(f64::NAN, |figure| figure.value)
}

fn gbit(pps: f64, frame: u32, uplink: bool) -> f64 {
    pps * f64::from(frame_length(frame, uplink)) * 8.0 / 1e9
}

/// A number for a table; a dash for NaN.
fn shown(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { "–".into() }
}

/// How long the trials were, and which rates are confirmed.
fn trials(output: &Output, plan: &Plan) -> String {
    let (search, trial) = (plan.search.as_secs_f64(), plan.trial.as_secs_f64());
    let mut text = format!("by binary search to 5 % with trials of {search:.1} s");
    let counts = output.values("trials.", ".confirmations");
    if counts.is_empty() {
        text += ". No rate is confirmed by a longer trial.";
    } else {
        let number: f64 = counts.iter().sum();
        text += &format!(
            ". Rates of `kernel`, `switch` and `switch_xdp` are then confirmed by a trial of \
             {trial:.0} s, with all frames for the first load, and with the smallest for the \
             others. After a loss the rate is lowered by 5 %, and after six losses by a fifth, \
             until such a trial loses nothing. {number:.0} of these trials were run at {} points. \
             All other rates are those of the search: `tester` and `xdp`, and the larger frames of \
             the other loads.",
            counts.len()
        );
    }
    if !plan.is_rfc_2544() {
        text += &format!(
            "\n\n**These rates are not those of RFC 2544**, which requires trials of \
             {RFC_2544_TRIAL:.0} s."
        );
    }
    text
}

/// Writes tables and plots.
pub(crate) fn write(output: &mut Output, plan: &Plan) -> Result<()> {
    let Plan { frames, loads, .. } = plan;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let placement = match cpus {
        1 => "all on one CPU, so the tester's share is included",
        _ => {
            "the device under test on one CPU, the tester on another. The kernel's receive path (a \
             socket's queue, an XDP program) runs on the tester's CPU for all devices alike. The \
             switch polls, so its CPU is always busy"
        }
    };
    let trials = trials(output, plan);
    output.text(&format!(
        "## Over interfaces\n\nAfter RFC 2544, over a pair of virtual links (veth) with the UPF \
         or the switch between them. The switch's ports are AF_XDP sockets in copy mode, the only \
         mode of veth; large batches are sent by an XDP program. Frame sizes include the FCS of 4 \
         bytes; the smallest frame with a tunnel has 98 bytes.\n\n**Rate**: the highest rate \
         without loss, {trials}\n\nThe device under test, the kernel's work for it, generator and \
         receivers (programs in the kernel) share one CPU. \"Own\" is the rate without the \
         tester: 1 / (1 / rate − 1 / rate of the tester alone).\n\n**Latency**: single packets, \
         10,000 per second, less the latency of tester and links; {placement}. RFC 2544 measures \
         it at the throughput, where on one CPU it is that of the tester's queues.\n"
    ));
    let first = loads[0];
    for (direction, name, uplink) in DIRECTIONS {
        let mut text = format!(
            "### {name}\n\n| frame | kernel, pps | xdp | switch | switch_xdp | switch_xdp, Gbit/s \
             | over kernel: switch | switch_xdp | own: kernel | xdp | switch | switch_xdp | over \
             kernel: switch | switch_xdp | tester alone |\n| --- | --- | --- | --- | --- | --- | \
             --- | --- | --- | --- | --- | --- | --- | --- |\n"
        );
        for &frame in frames {
            let point = Point { direction, frame, load: first };
            let of = |variant: &str| point.rate(output, variant);
            let own = |variant: &str| point.own_rate(output, variant);
            let cells = |of: &dyn Fn(&str) -> f64| {
                ["kernel", "xdp", "switch", "switch_xdp"].map(|v| shown(of(v), 0)).join(" | ")
            };
            let times = |of: &dyn Fn(&str) -> f64| {
                ["switch", "switch_xdp"]
                    .map(|v| format!("{} times", shown(of(v) / of("kernel"), 1)))
                    .join(" | ")
            };
            let _ = writeln!(
                text,
                "| {frame} | {} | {} | {} | {} | {} | {} |",
                cells(&of),
                shown(gbit(of("switch_xdp"), frame, uplink), 2),
                times(&of),
                cells(&own),
                times(&own),
                shown(of("tester"), 0)
            );
        }
        text.push_str(
            "\n| latency, µs | kernel p50 | p99 | xdp p50 | p99 | switch p50 | p99 | switch_xdp \
             p50 | p99 | p50 over kernel's: switch | switch_xdp |\n",
        );
        text.push_str("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
        for &frame in frames {
            let point = Point { direction, frame, load: first };
            let of = |variant, q| point.latency(output, variant, q);
            let cell = |variant| {
                format!("{} | {}", shown(of(variant, "p50"), 1), shown(of(variant, "p99"), 1))
            };
            let _ = writeln!(
                text,
                "| {frame} | {} | {} | {} | {} | {} | {} |",
                cell("kernel"),
                cell("xdp"),
                cell("switch"),
                cell("switch_xdp"),
                shown(of("switch", "p50") / of("kernel", "p50"), 2),
                shown(of("switch_xdp", "p50") / of("kernel", "p50"), 2)
            );
        }
        output.text(&text);
    }
    let mut panels = Vec::new();
    for (direction, name, uplink) in DIRECTIONS {
        for what in ["throughput", "latency"] {
            let series = VARIANTS[1..].iter().map(|(variant, ..)| {
                let point = |frame: &u32| {
                    let point = Point { direction, frame: *frame, load: first };
                    let value = match what {
                        "throughput" => gbit(point.rate(output, variant), *frame, uplink),
                        _ => point.latency(output, variant, "p50"),
                    };
                    value.is_finite().then_some((f64::from(*frame), value, value, value))
                };
                Series {
                    name: (*variant).into(),
                    points: frames.iter().filter_map(point).collect(),
                }
            });
            panels.push(Panel {
                title: format!("{name}: {what}"),
                x_label: "frame size, bytes".into(),
                y_label: if what == "throughput" { "Gbit/s without loss" } else { "median, µs" }
                    .into(),
                series: series.collect(),
            });
        }
    }
    draw(output.folder(), "interfaces", &panels)?;
    output.text(
        "![throughput and latency over interfaces, as in the paper's figure 2](interfaces.svg)\n",
    );
    if loads.len() > 1 {
        by_load(output, loads)?;
    }
    paper_comparison(output, first);
    targets(output, first);
    Ok(())
}

fn by_load(output: &mut Output, loads: &[(u32, u32)]) -> Result<()> {
    let mut text = String::from(
        "### Users and rules\n\nRules in each direction; packets belong to random users.\n\n| \
         users, rules | operation | frame | kernel, pps | xdp | switch | switch_xdp | switch p50, \
         µs | switch_xdp p50, µs |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for (direction, name, _) in DIRECTIONS {
        for frame in COMMON_FRAMES {
            for &load in loads {
                let point = Point { direction, frame, load };
                let of = |variant| shown(point.rate(output, variant), 0);
                let p50 = |variant| shown(point.latency(output, variant, "p50"), 1);
                let _ = writeln!(
                    text,
                    "| {}, {} | {name} | {frame} | {} | {} | {} | {} | {} | {} |",
                    load.0,
                    load.1,
                    of("kernel"),
                    of("xdp"),
                    of("switch"),
                    of("switch_xdp"),
                    p50("switch"),
                    p50("switch_xdp")
                );
            }
        }
    }
    output.text(&text);
    let panel = |(direction, name, _): (&'static str, &'static str, bool)| {
        let series = VARIANTS[1..].iter().map(|(variant, ..)| {
            let point = |(n, load): (usize, &(u32, u32))| {
                let value = Point { direction, frame: 64, load: *load }.rate(output, variant) / 1e6;
                value.is_finite().then_some(((n + 1) as f64, value, value, value))
            };
            Series {
                name: (*variant).into(),
                points: loads.iter().enumerate().filter_map(point).collect(),
            }
        });
        Panel {
            title: format!("{name}, 64 bytes"),
            x_label: "1: 1 user, 1 rule · 2: 1, 1K · 3: 100, 1K · 4: 10K, 100K".into(),
            y_label: "Mpps without loss".into(),
            series: series.collect(),
        }
    };
    draw(output.folder(), "users-and-rules", &DIRECTIONS.map(panel))?;
    output.text("![throughput by users and rules](users-and-rules.svg)\n");
    Ok(())
}

fn paper_comparison(output: &mut Output, load: (u32, u32)) {
    let mut text = String::from(
        "### Comparison with the paper\n\nThe paper's switch is hardware with ports of 100 \
         Gbit/s, and its native UPF is free5GC's; **this switch is software on one CPU over \
         virtual links**. Compare only the ratios of switch and native UPF.\n\n| | paper: switch \
         | paper: native | times | here: switch | here: `kernel` | times |\n| --- | --- | --- | \
         --- | --- | --- | --- |\n",
    );
    for (direction, name, paper) in [
        ("uplink", "decapsulation", [100.0, 0.55, 0.94, 70.01]),
        ("downlink", "encapsulation", [86.0, 0.35, 0.93, 59.03]),
    ] {
        let point = Point { direction, frame: 1518, load };
        let of = |variant| gbit(point.rate(output, variant), point.frame, direction == "uplink");
        let _ = writeln!(
            text,
            "| {name}, Gbit/s (here: 1518 bytes) | {} | {} | {:.0} | {} | {} | {} |",
            paper[0],
            paper[1],
            paper[0] / paper[1],
            shown(of("switch"), 2),
            shown(of("kernel"), 2),
            shown(of("switch") / of("kernel"), 1)
        );
        let of = |variant| point.latency(output, variant, "p50");
        let _ = writeln!(
            text,
            "| {name}, latency, µs | {} | {} | 1/{:.0} | {} | {} | 1/{} |",
            paper[2],
            paper[3],
            paper[3] / paper[2],
            shown(of("switch"), 1),
            shown(of("kernel"), 1),
            shown(of("kernel") / of("switch"), 1)
        );
    }
    output.text(&text);
    let mut text = String::from("| latency of the switch, µs, 64 bytes |");
    QUANTILES.iter().for_each(|(q, _)| text.push_str(&format!(" {q} |")));
    text.push_str(&format!("\n|{}\n", " --- |".repeat(QUANTILES.len() + 1)));
    for (direction, name, _) in DIRECTIONS {
        let _ = write!(text, "| {name} |");
        for (q, _) in QUANTILES {
            let point = Point { direction, frame: 64, load };
            let _ = write!(text, " {} |", shown(point.latency(output, "switch", q), 1));
        }
        text.push('\n');
    }
    output.text(&text);
}

fn targets(output: &mut Output, load: (u32, u32)) {
    let mut text = String::from(
        "### Targets over interfaces\n\n| figure | target | measured |\n| --- | --- | --- |\n",
    );
    let mut row = |what: &str, target: &str, measured: f64| {
        let _ = writeln!(text, "| {what} | {target} | {measured:.2} |");
    };
    for (direction, name, _) in DIRECTIONS {
        let point = Point { direction, frame: 64, load };
        for variant in ["switch", "switch_xdp"] {
            let over = format!("{variant}_over_kernel");
            let of = |what, statistic| point.value(output, what, &over, statistic);
            let (pps, own) = (of("pps", "loss_free"), of("pps_own", "loss_free"));
            let name = format!("{variant}: {name}, 64 bytes");
            row(&format!("{name}: packets per second relative to `kernel`"), "≥ 10 times", pps);
            row("the same without the tester", "≥ 10 times", own);
            let latency = of("latency", "p50");
            row(&format!("{name}: median latency relative to `kernel`"), "≤ 0.2 times", latency);
        }
    }
    for variant in ["switch", "switch_xdp"] {
        let slowest = figure(output, &format!("offload.{variant}.hot_to_offloaded.slowest"));
        let what = format!("{variant}: offload of a hot session, ms, slowest");
        row(&what, "≤ 500", slowest);
        for (rules, max) in [(1_000, 50.0), (100_000, 5_000.0)] {
            let of = |what: &str| figure(output, &format!("rules_issued.{variant}.{rules}_{what}"));
            let elapsed = of("under_traffic");
            row(
                &format!("{variant}: {rules} rules written under traffic, ms"),
                &format!("≤ {max}"),
                elapsed,
            );
            row(&format!("packets lost meanwhile, of {:.0}", of("sent")), "0", of("lost"));
        }
    }
    output.text(&text);
}
