//! The report of the study, with the findings of the paper.
use super::board::{CARRIED_MBIT, power_state};
use super::same_load::{PARTS, SameLoad};
use super::{
    BOARD_LOADS, BOARD_RATE, BOARD_STRESSED, LENGTH, LOADS, RATE, SESSIONS, SHARE_SESSIONS, SHARES,
    STRESSED, steady_temperature, stress,
};
use crate::stats::at_least_zero;
use crate::{Bars, Figure, Output, Panel, Series, draw, draw_bars};
use anyhow::Result;
use std::fmt::Write as _;

const BOTH: [&str; 2] = ["kernel", "xdp"];

fn find(output: &Output, what: &str, variant: &str, point: &str) -> Option<(f64, f64, f64)> {
    output.find(&format!("{what}.{variant}.{point}.median")).map(|f| (f.value, f.low, f.high))
}

fn value(output: &Output, what: &str, variant: &str, point: &str) -> f64 {
    find(output, what, variant, point).map_or(f64::NAN, |f| f.0)
}

/// CPU time that a datapath adds to the generator's, in per cent of one CPU; NaN if one of both was
/// not measured.
fn added(output: &Output, variant: &str, point: &str) -> f64 {
    let busy = |variant: &str| value(output, "onboard_busy", variant, point);
    at_least_zero(busy(variant) - busy("generator"))
}

fn celsius(output: &Output, variant: &str, point: &str) -> f64 {
    steady_temperature(added(output, variant, point) / 100.0)
}

fn megabits(packets: f64) -> f64 {
    packets * f64::from(LENGTH) * 8.0 / 1e6
}

/// The difference of the largest and the smallest value; NaN if one is missing.
fn span(values: impl Iterator<Item = f64>) -> f64 {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| match v {
        v if v.is_nan() => (v, v),
        v => (if v < l { v } else { l }, if v > h { v } else { h }),
    });
    high - low
}

/// Writes the table of the study on the board.
pub(super) fn write_board(output: &mut Output, share: Option<f64>, no_stress: bool) -> Result<()> {
    let is_measured = find(output, "board_celsius", "kernel", "load0").is_some();
    let power = match share {
        Some(share) if share < 1.0 => format!(
            "**The board is emulated**: the threads of generator, UPF and receiver share {:.1} % \
             of one CPU of this machine (cgroup CPU bandwidth), with which the kernel path \
             carries {CARRIED_MBIT:.0} Mbit/s, as on the paper's Raspberry Pi 4B. *CPU* is the \
             part of this share.",
            share * 100.0
        ),
        Some(_) => format!(
            "**The board is not emulated**: one CPU of this machine carries less than \
             {CARRIED_MBIT:.0} Mbit/s by the kernel path."
        ),
        None => format!(
            "The board is this machine: {}. {}",
            crate::machine::board().unwrap_or_else(|| "no device tree".into()),
            power_state()
        ),
    };
    let heat = match is_measured {
        true => "Temperatures are those of the hottest sensor after each round.",
        false => "**No sensor was read**: temperatures are those of a simulated board, see below.",
    };
    output.text(&format!(
        "## The study on the board\n\nAfter *Deciphering the Performance of Satellite UPF* \
         (XupfPI), at the paper's rates. {power} Packets arrive by the clock at a queue of {} \
         frames, so that every load is offered; frames that find it full are lost. CPU \
         time and modelled temperature are those of all work: generator and receiver stand for \
         the driver.\n\n{heat}\n",
        super::arrivals::QUEUE
    ));
    if no_stress {
        output.text("Memory contention was not measured: no background load could be started.\n");
    }
    let mut text = String::from(
        "| | kernel: lost, CPU, temperature | xdp: lost, CPU, temperature |\n| --- | --- | --- |\n",
    );
    let sessions = SESSIONS
        .map(|n| (format!("{n} sessions, {BOARD_RATE} Mbit/s in all"), format!("sessions{n}")));
    let shares = SHARES.map(|n| {
        let title = format!("{n} % of {BOARD_RATE} Mbit/s for one session");
        (title, format!("share{n}"))
    });
    let kinds = stress::KINDS.map(|(kind, _)| {
        let title = format!("{BOARD_STRESSED} Mbit/s, memory contention: {kind}");
        (title, format!("memory_{kind}"))
    });
    let loads: Vec<(String, String)> = (0..BOARD_LOADS.len())
        .map(|n| (format!("{} Mbit/s", BOARD_LOADS[n]), format!("load{n}")))
        .collect();
    for (title, point) in sessions.into_iter().chain(shares).chain(kinds).chain(loads) {
        let cells = BOTH.map(|variant| {
            let of = |what: &str| value(output, what, variant, &point);
            let busy = of("board_busy");
            if busy.is_nan() {
                return "–".to_string();
            }
            let heat = match is_measured {
                true => of("board_celsius"),
                false => steady_temperature(busy / 100.0),
            };
            format!("{:.2} %, {busy:.0} %, {heat:.1} °C", of("board_loss"))
        });
        let _ = writeln!(text, "| {title} | {} |", cells.join(" | "));
    }
    text.push_str("\n| Mbit/s | memory of kernel, MB | of xdp |\n| --- | --- | --- |\n");
    for (n, rate) in BOARD_LOADS.into_iter().enumerate() {
        let [kernel, xdp] =
            BOTH.map(|variant| value(output, "board_memory", variant, &format!("load{n}")));
        let _ = writeln!(text, "| {rate} | {kernel:.1} | {xdp:.1} |");
    }
    text.push_str(
        "\nMemory is what a datapath adds to a process of its own that has the generator, with its \
         eBPF maps.\n",
    );
    output.text(&text);
    Ok(())
}

/// Writes tables and plots of the study up to this machine's own breaking point.
pub(super) fn write(
    output: &mut Output,
    same: &SameLoad,
    carried: f64,
    no_stress: bool,
) -> Result<()> {
    output.text(&format!(
        "## The same study of the satellite board on a whole CPU\n\nUplink packets of {LENGTH} \
         bytes; generator, UPF and receiver on one CPU, over virtual links; {RATE} packets per \
         second ({:.0} Mbit/s) unless noted. At 60 Mbit/s the paper's kernel path on a Raspberry \
         Pi loses packets. Here, 1.2 times the rate that the kernel path carries ({carried:.0} \
         packets per second, {:.0} Mbit/s) stands for it and is called 60 parts.\n\n**No sensor \
         was read**: temperatures are those of a simulated board (idle 50 °C in a room of 27 °C, \
         5 W at full load as in the paper; 2 W when idle and a time constant of 150 s are \
         assumed), for the CPU time that a datapath adds to the generator's.\n",
        megabits(RATE),
        megabits(carried),
    ));
    let discarded = output.discarded();
    if discarded > 0.0 {
        output.text(&format!(
            "The load of {discarded:.0} rounds was not offered. They were repeated up to three \
             times; a point without a round whose load was offered has no loss.\n"
        ));
    }
    if no_stress {
        output.text(
            "`stress-ng` is not installed: memory contention was not measured (install the \
             package stress-ng).\n",
        );
    }
    for variant in BOTH {
        for n in 0..LOADS.len() {
            let id = format!("onboard_temperature.{variant}.load{n}");
            let celsius = celsius(output, variant, &format!("load{n}"));
            output.figure(Figure::once(id, "C", celsius));
        }
    }
    paper_comparison(output, same);
    tables(output, carried);
    plots(output, same, carried, no_stress)
}

fn paper_comparison(output: &mut Output, same: &SameLoad) {
    let by_sessions = |output: &Output, v: &'static str| {
        span(SESSIONS.iter().map(|n| celsius(output, v, &format!("sessions{n}"))))
    };
    let by_share = |output: &Output, v: &'static str| {
        span(SHARES.iter().map(|n| celsius(output, v, &format!("share{n}"))))
    };
    let mut rows: Vec<(String, String)> = Vec::new();
    let temperatures = |part: u32| BOTH.map(|variant| same.celsius(variant, part));
    let ([k20, _], [k60, x60]) = (temperatures(20), temperatures(60));
    rows.push((
        "Temperature and CPU time grow with bandwidth (figs. 4, 5)".into(),
        format!("kernel from {k20:.1} °C at 20 parts to {k60:.1} °C at 60"),
    ));
    rows.push((
        "The number of sessions at one total bandwidth does not matter, 1 to 500 (fig. 6a)".into(),
        format!(
            "temperatures differ by {:.1} K with kernel, {:.1} K with xdp",
            by_sessions(output, "kernel"),
            by_sessions(output, "xdp")
        ),
    ));
    rows.push((
        "One session's share does not matter either, 100 to 0 % (fig. 6b)".into(),
        format!(
            "they differ by {:.1} K with kernel, {:.1} K with xdp",
            by_share(output, "kernel"),
            by_share(output, "xdp")
        ),
    ));
    let loss = |output: &Output, variant: &str| {
        PARTS
            .map(|part| {
                format!("{:.2}", value(output, "same_load_loss", variant, &part.to_string()))
            })
            .join(", ")
    };
    rows.push((
        "The kernel path loses little at 20, 40 and 50 Mbit/s, and much at 60 (fig. 7)".into(),
        format!("% lost at 20, 40, 50 and 60 parts: kernel {}", loss(output, "kernel")),
    ));
    let stressed = |output: &Output, variant: &str| {
        let of = |kind: &str| value(output, "onboard_loss", variant, &format!("memory_{kind}"));
        format!(
            "{:.2} % none, {:.2} % sparse, {:.2} % frequent",
            of("none"),
            of("sparse"),
            of("frequent")
        )
    };
    rows.push((
        "Frequent memory use by other programs makes the kernel path lose packets, sparse use \
         hardly (fig. 9)"
            .into(),
        format!("kernel {}; xdp {}", stressed(output, "kernel"), stressed(output, "xdp")),
    ));
    rows.push((
        "XDP loses next to nothing at 60 Mbit/s (fig. 11)".into(),
        format!("% lost at 20, 40, 50 and 60 parts: xdp {}", loss(output, "xdp")),
    ));
    let busy = |output: &Output, variant: &str| {
        let busy = |variant: &str| value(output, "same_load_busy", variant, "60");
        at_least_zero(busy(variant) - busy("generator"))
    };
    rows.push((
        "XDP uses far less CPU time there, and stays cooler (fig. 12)".into(),
        format!(
            "{:.0} % of one CPU against {:.0} %, {x60:.1} °C against {k60:.1} °C",
            busy(output, "xdp"),
            busy(output, "kernel")
        ),
    ));
    let mut text = String::from("| the paper | here |\n| --- | --- |\n");
    for (paper, here) in rows {
        let _ = writeln!(text, "| {paper} | {here} |");
    }
    text.push_str(
        "\nLoss at several room temperatures (fig. 8) is measured on the emulated board: rows \
         `board_room` of raw.csv, which `martlet-lab reproduce xupfpi` draws.\n",
    );
    output.text(&text);
}

fn tables(output: &mut Output, carried: f64) {
    let mut text =
        String::from("| | kernel: lost, busy, p99 | xdp: lost, busy, p99 |\n| --- | --- | --- |\n");
    let mut line = |output: &Output, name: String, point: &str| {
        let cells = BOTH.map(|variant| {
            let of = |what: &str| value(output, what, variant, point);
            format!(
                "{:.3} %, {:.0} %, {:.0} µs",
                of("onboard_loss"),
                of("onboard_busy"),
                of("onboard_p99")
            )
        });
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    };
    for sessions in SESSIONS {
        line(
            output,
            format!("{sessions} sessions at one total rate"),
            &format!("sessions{sessions}"),
        );
    }
    for share in SHARES {
        line(
            output,
            format!("{share} % of it for one session, the rest for {SHARE_SESSIONS}"),
            &format!("share{share}"),
        );
    }
    for (kind, _) in stress::KINDS {
        let name = format!("{STRESSED} of the rate that kernel carries, memory contention: {kind}");
        line(output, name, &format!("memory_{kind}"));
    }
    text.push_str(
        "\n| Mbit/s | kernel: lost, added load, temperature | xdp: lost, added load, temperature \
         |\n",
    );
    text.push_str("| --- | --- | --- |\n");
    for (n, part) in LOADS.into_iter().enumerate() {
        let point = format!("load{n}");
        let cells = BOTH.map(|variant| {
            let of = |what: &str| value(output, what, variant, &point);
            let (load, celsius) =
                (added(output, variant, &point), celsius(output, variant, &point));
            format!("{:.2} %, {load:.0} %, {celsius:.1} °C", of("onboard_loss"))
        });
        let _ = writeln!(text, "| {:.0} | {} |", megabits(carried * part), cells.join(" | "));
    }
    output.text(&text);
}

fn plots(output: &mut Output, same: &SameLoad, carried: f64, no_stress: bool) -> Result<()> {
    let panel = |title: &str, x: &str, y: &str, series| Panel {
        title: title.into(),
        x_label: x.into(),
        y_label: y.into(),
        series,
    };
    let each = |of: &dyn Fn(&'static str) -> Vec<(f64, f64, f64, f64)>| -> Vec<Series> {
        BOTH.map(|variant| Series { name: variant.into(), points: of(variant) }).into()
    };
    let flat = |x: f64, y: f64| (x, y, y, y);
    let parts = each(&|variant| {
        let at = |part: &u32| {
            let (v, low, high) = find(output, "same_load_loss", variant, &part.to_string())?;
            Some((f64::from(*part), v, low, high))
        };
        PARTS.iter().filter_map(at).collect()
    });
    let by_time = BOTH.map(|variant| same.loss_by_time(variant)).into();
    let panels = [
        panel(
            "loss against load (figs. 7, 11)",
            "load in parts; the kernel path carries 50",
            "% lost",
            parts,
        ),
        panel("loss over time at a load of 60 (fig. 11)", "seconds", "% lost", by_time),
    ];
    draw(output.folder(), "onboard-loss", &panels)?;
    let mbit = |n: usize| megabits(carried * LOADS[n]);
    let loads = |of: &dyn Fn(&str, &str) -> f64| {
        each(&|variant| {
            (0..LOADS.len()).map(|n| flat(mbit(n), of(variant, &format!("load{n}")))).collect()
        })
    };
    let mut temperatures: Vec<Series> = BOTH.map(|variant| same.temperature(variant)).into();
    let minutes = temperatures[0].points.last().map_or(1.0, |point| point.0);
    let limit = |end: f64| Series {
        name: "a Pi 4 throttles".into(),
        points: vec![flat(0.0, 80.0), flat(end, 80.0)],
    };
    temperatures.push(limit(minutes));
    let mut by_load = loads(&|variant, point| celsius(output, variant, point));
    by_load.push(limit(mbit(LOADS.len() - 1)));
    let x = "Mbit/s";
    let panels = [
        panel("added CPU time (fig. 5)", x, "% of one CPU", loads(&|v, p| added(output, v, p))),
        panel("modelled temperature after an hour (fig. 4)", x, "°C", by_load),
        panel(
            "modelled temperature at a load of 60 (fig. 12)",
            "minutes on the board",
            "°C",
            temperatures,
        ),
    ];
    draw(output.folder(), "onboard-heat", &panels)?;
    let by = |of: &dyn Fn(&str, &str) -> f64, points: &[u32], name: &str| {
        each(&|v| {
            points.iter().map(|n| flat(f64::from(*n), of(v, &format!("{name}{n}")))).collect()
        })
    };
    let celsius_at = |variant: &str, point: &str| celsius(output, variant, point);
    let busy_at = |variant: &str, point: &str| added(output, variant, point);
    let (sessions, share) = ("sessions at one total rate", "% of the traffic in one session");
    let panels = [
        panel(
            "temperature by sessions (fig. 6a)",
            sessions,
            "°C",
            by(&celsius_at, &SESSIONS, "sessions"),
        ),
        panel(
            "temperature by one session's share (fig. 6b)",
            share,
            "°C",
            by(&celsius_at, &SHARES, "share"),
        ),
        panel("added CPU time", sessions, "% of one CPU", by(&busy_at, &SESSIONS, "sessions")),
        panel("added CPU time", share, "% of one CPU", by(&busy_at, &SHARES, "share")),
    ];
    draw(output.folder(), "onboard-sessions", &panels)?;
    let mut images = vec!["onboard-loss", "onboard-heat", "onboard-sessions"];
    if !no_stress {
        let bars = |title: &str, y_label: &str, what: &str| Bars {
            title: title.into(),
            y_label: y_label.into(),
            groups: stress::KINDS.iter().map(|(kind, _)| (*kind).to_string()).collect(),
            series: BOTH
                .iter()
                .map(|variant| {
                    let of = |(kind, _): &(&str, &[&str])| {
                        find(output, what, variant, &format!("memory_{kind}"))
                    };
                    let nothing = (f64::NAN, f64::NAN, f64::NAN);
                    (
                        (*variant).to_string(),
                        stress::KINDS.iter().map(|kind| of(kind).unwrap_or(nothing)).collect(),
                    )
                })
                .collect(),
        };
        let panels = [
            bars("loss under memory contention (fig. 9)", "% lost", "onboard_loss"),
            bars("latency, 99th percentile", "µs", "onboard_p99"),
            bars("CPU time", "% of one CPU", "onboard_busy"),
        ];
        draw_bars(output.folder(), "onboard-memory", &panels)?;
        images.push("onboard-memory");
    }
    for image in images {
        output.text(&format!("![{image}]({image}.png)\n"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunArgs;

    #[test]
    fn a_load_without_the_generators_cpu_time_has_no_added_time_and_no_temperature() {
        let out = format!("../target/martlet-onboard-{}", std::process::id());
        let run = RunArgs { out: Some(out.into()), ..RunArgs::default() };
        let mut output = Output::create("test", &run, "header").unwrap();
        output.figure(Figure::once("onboard_busy.kernel.load0.median", "%", 30.0));
        assert!(added(&output, "kernel", "load0").is_nan());
        assert!(celsius(&output, "kernel", "load0").is_nan());
        output.figure(Figure::once("onboard_busy.generator.load0.median", "%", 10.0));
        assert_eq!(added(&output, "kernel", "load0"), 20.0);
        assert!(celsius(&output, "kernel", "load0") > 50.0);
        std::fs::remove_dir_all(output.folder()).unwrap();
        assert_eq!(span([2.0, 5.0, 3.0].into_iter()), 3.0);
        assert!(span([2.0, f64::NAN, 3.0].into_iter()).is_nan());
    }
}
