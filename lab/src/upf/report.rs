//! The report: tables, plots and targets.
use super::cost::Cases;
use super::links::{DIRECTIONS, LENGTHS, VARIANTS};
use crate::{Bars, Output, Panel, Series, draw, draw_bars};
use anyhow::Result;
use std::fmt::Write as _;

fn value(output: &Output, id: &str) -> f64 {
    output.find(id).map_or(f64::NAN, |figure| figure.value)
}

fn cell(output: &Output, id: &str) -> String {
    match output.find(id) {
        Some(f) if f.unit == "times" => format!("{:.2} [{:.2}, {:.2}]", f.value, f.low, f.high),
        Some(f) => format!("{:.0} [{:.0}, {:.0}]", f.value, f.low, f.high),
        None => "–".into(),
    }
}

/// A row of the table of targets. `is_lower` marks a lower bound.
fn target(text: &mut String, what: &str, is_lower: bool, bound: f64, measured: f64) {
    let sign = if is_lower { "≥" } else { "≤" };
    let _ = writeln!(text, "| {what} | {sign} {bound} | {measured:.2} |");
}

const TARGETS: &str = "\n| figure | target | measured |\n| --- | --- | --- |\n";

/// Reports the cost of packets.
pub(super) fn cost(output: &mut Output, cases: &Cases) -> Result<()> {
    let Cases { many, max, .. } = *cases;
    output.text(
        "## Cost of a packet\n\nNanoseconds per packet of 64 bytes, by `BPF_PROG_TEST_RUN` on one \
         core: medians over rounds with 95 % intervals; each round has all cases in random order. \
         Every packet is generated for a random session; *made* is the cost of that, which the \
         other columns include. *bare* removes or adds a tunnel header after one lookup, and does \
         nothing else.\n",
    );
    let mut text =
        String::from("| sessions, rules | direction | made | bare | xdp | xdp / bare |\n| --- |");
    text.push_str(" --- | --- | --- | --- | --- |\n");
    for case in &cases.all {
        for (direction, _) in DIRECTIONS {
            let id = |variant: &str| {
                format!("ns_per_packet.{variant}.{direction}_{}.median", case.name())
            };
            let row = ["nothing", "bare", "xdp", "xdp_over_bare"]
                .map(|variant| cell(output, &id(variant)));
            let _ = writeln!(
                text,
                "| {}, {} | {direction} | {} |",
                case.sessions,
                case.rules.name(),
                row.join(" | ")
            );
        }
    }
    text.push_str(
        "\n*far*: one PDR with FAR. *qer*: far and a maximum bit rate. *urr*: far and a volume \
         threshold. *nat*: far ",
    );
    text.push_str("and NAT. *full*: FAR, QER with a maximum bit rate, two URRs with thresholds. ");
    text.push_str("*pdrs32*: full, after 31 PDRs that do not match.\n");
    text.push_str(TARGETS);
    for (direction, _) in DIRECTIONS {
        let at = |what: &str, point: &str| {
            value(output, &format!("ns_per_packet.{what}.{direction}{point}.median"))
        };
        let full = at("xdp_over_bare", &format!("_{many}_sessions"));
        target(
            &mut text,
            &format!("{direction}: {many} sessions, relative to bare"),
            false,
            1.25,
            full,
        );
        let of = |what: &str| at(what, &format!("_{many}_sessions"));
        let net = (of("xdp") - of("nothing")) / (of("bare") - of("nothing"));
        let _ = writeln!(
            text,
            "| {direction}: the same without the cost of making packets | | {net:.2} |"
        );
        target(
            &mut text,
            &format!("{direction}: {many} sessions relative to one"),
            false,
            1.8,
            at(&format!("xdp_{many}_over_1"), ""),
        );
        let times = at(&format!("xdp_{max}_over_1"), "");
        // The target holds for packets over links, see below. Memory accesses are a larger share of
        // the programs' cost alone.
        target(
            &mut text,
            &format!("{direction}: {max} sessions relative to one, programs alone"),
            false,
            1.3,
            times,
        );
        let bare = at(&format!("bare_{max}_over_1"), "");
        let _ = writeln!(text, "| {direction}: the same for the bare program | | {bare:.2} |");
        for sessions in [1, 1000] {
            let times = at("pdrs32_over_1", &format!("_{sessions}_sessions"));
            target(
                &mut text,
                &format!("{direction}: 32 PDRs in each of {sessions} sessions, relative to one"),
                false,
                2.0,
                times,
            );
        }
        for sessions in [1, many] {
            let nat = at("cost_of_nat", &format!("_{sessions}_sessions"));
            target(
                &mut text,
                &format!("{direction}: NAT adds, ns, with {sessions} sessions"),
                false,
                60.0,
                nat,
            );
        }
        for what in ["qer", "urr"] {
            let more = at(&format!("cost_of_{what}"), &format!("_{many}_sessions"));
            let _ = writeln!(text, "| {direction}: {what} adds, ns | | {more:.1} |");
        }
    }
    output.text(&text);
    let panel = |direction: &str| {
        let series = ["bare", "xdp"].map(|variant| {
            let at = |sessions: u32| {
                let id = format!("ns_per_packet.{variant}.{direction}_{sessions}_sessions.median");
                output.find(&id).map(|f| (f64::from(sessions) / 1000.0, f.value, f.low, f.high))
            };
            Series {
                name: variant.into(),
                points: [1, 1000, many, max].into_iter().filter_map(at).collect(),
            }
        });
        Panel {
            title: format!("{direction}: FAR, QER, two URRs"),
            x_label: "thousands of sessions".into(),
            y_label: "ns per packet".into(),
            series: series.into(),
        }
    };
    draw(output.folder(), "cost", &[panel("uplink"), panel("downlink")])?;
    let kinds = [
        ("qer", "QER", many),
        ("urr", "URR", many),
        ("nat", "NAT", many),
        ("nat", "NAT, 1 flow", 1),
    ];
    let bars = Bars {
        title: format!("cost of rules, {many} sessions"),
        y_label: "ns per packet".into(),
        groups: kinds.iter().map(|(_, name, _)| (*name).to_string()).collect(),
        series: DIRECTIONS
            .iter()
            .map(|(direction, _)| {
                let of = |(kind, _, sessions): &(&str, &str, u32)| {
                    let id = format!(
                        "ns_per_packet.cost_of_{kind}.{direction}_{sessions}_sessions.median"
                    );
                    output
                        .find(&id)
                        .map_or((f64::NAN, f64::NAN, f64::NAN), |f| (f.value, f.low, f.high))
                };
                ((*direction).to_string(), kinds.iter().map(of).collect())
            })
            .collect(),
    };
    draw_bars(output.folder(), "cost-of-rules", &[bars])?;
    output.text("![nanoseconds per packet](cost.png)\n\n![cost of rules](cost-of-rules.png)\n");
    Ok(())
}

/// Reports the packets over links.
pub(super) fn links(output: &mut Output) -> Result<()> {
    output.text(
        "## Packets over links\n\nGenerator, UPF and receiver on one CPU, over veth in native \
         mode, with one session unless noted. *full rate*: the generator's maximum. *carried*: \
         the highest rate with at most 0.1 % loss. `kernel` is compared by that, since it gets no \
         CPU time at full rate.\n",
    );
    let mut text = String::from(
        "| full rate | direction | 10⁶ packets/s | lost |\n| --- | --- | --- | --- |\n",
    );
    let mut names: Vec<(String, u32)> = vec![("generator".into(), 64)];
    names.extend(LENGTHS.map(|length| ("xdp".to_string(), length)));
    let many = [1000, 1200, 10_000, 100_000].map(|sessions| format!("xdp_{sessions}_sessions"));
    names.extend(many.into_iter().chain(["xdp_32_pdrs".to_string()]).map(|name| (name, 64)));
    names.retain(|(name, length)| {
        output.find(&format!("pps.{name}.uplink_{length}.median")).is_some()
    });
    for (name, length) in &names {
        for (direction, _) in DIRECTIONS {
            let pps = value(output, &format!("pps.{name}.{direction}_{length}.median")) / 1e6;
            let loss = value(output, &format!("loss.{name}.{direction}_{length}.median")) * 100.0;
            let _ =
                writeln!(text, "| {name}, {length} bytes | {direction} | {pps:.2} | {loss:.3} % |");
        }
    }
    text.push_str("\n| carried | kernel | xdp |\n| --- | --- | --- |\n");
    for (direction, _) in DIRECTIONS {
        let [kernel, xdp] = VARIANTS
            .map(|(name, _)| value(output, &format!("pps.{name}.{direction}_64_carried")) / 1e6);
        let _ = writeln!(text, "| {direction}, 64 bytes, 10⁶ packets/s | {kernel:.3} | {xdp:.3} |");
        for q in ["p50", "p99", "p999"] {
            let [kernel, xdp] = VARIANTS
                .map(|(name, _)| value(output, &format!("latency.{name}.{direction}_64.{q}")));
            let _ = writeln!(
                text,
                "| {direction}, latency at a low rate, {q}, µs | {kernel:.1} | {xdp:.1} |"
            );
        }
    }
    text.push_str(TARGETS);
    for (direction, _) in DIRECTIONS {
        let times = value(output, &format!("pps.xdp_over_kernel.{direction}_64"));
        target(
            &mut text,
            &format!("{direction}: packets per second, relative to kernel"),
            true,
            8.0,
            times,
        );
        let share = value(output, &format!("cpu.xdp_over_kernel.{direction}_64"));
        target(
            &mut text,
            &format!("{direction}: CPU time at the rate that kernel carries, relative to kernel"),
            false,
            0.25,
            share,
        );
        let loss = value(output, &format!("loss.xdp.{direction}_rate7.median"));
        target(&mut text, &format!("{direction}: loss at 3 times that rate"), false, 0.0, loss);
        let full_rate = value(output, &format!("pps.xdp.{direction}_64.median")) / 1e6;
        target(
            &mut text,
            &format!("{direction}: 10⁶ packets/s with generator and receiver on the same core"),
            true,
            2.31,
            full_rate,
        );
        let lost = value(output, &format!("loss.xdp.{direction}_64.median"));
        target(&mut text, &format!("{direction}: loss there"), false, 0.0, lost);
        for sessions in [100_000, 10_000, 1200] {
            if let Some(times) =
                output.find(&format!("pps.xdp_1_over_{sessions}_sessions.{direction}"))
            {
                target(
                    &mut text,
                    &format!("{direction}: a packet of {sessions} sessions, relative to one"),
                    false,
                    1.3,
                    times.value,
                );
            }
        }
        let rules = value(output, &format!("pps.xdp_1_over_32_pdrs.{direction}"));
        target(
            &mut text,
            &format!("{direction}: a packet of a session of 32 PDRs, relative to one"),
            false,
            2.0,
            rules,
        );
    }
    output.text(&text);
    let by_rate = |direction: &str, what: &str, y_label: &str, factor: f64, variants: &[&str]| {
        let series = variants.iter().map(|variant| {
            let at = |n: usize| {
                let rate = value(output, &format!("rate.{variant}.{direction}_rate{n}")) / 1e6;
                let f = output.find(&format!("{what}.{variant}.{direction}_rate{n}.median"))?;
                Some((rate, f.value * factor, f.low * factor, f.high * factor))
            };
            Series { name: (*variant).into(), points: (0..8).filter_map(at).collect() }
        });
        Panel {
            title: direction.into(),
            x_label: "sent, million packets/s".into(),
            y_label: y_label.into(),
            series: series.collect(),
        }
    };
    let loss = |direction: &str| by_rate(direction, "loss", "% lost", 100.0, &["kernel", "xdp"]);
    draw(output.folder(), "loss", &[loss("uplink"), loss("downlink")])?;
    let cpu = |direction: &str| {
        by_rate(
            direction,
            "cpu_per_packet",
            "ns of CPU time per packet",
            1.0,
            &["generator", "kernel", "xdp"],
        )
    };
    draw(output.folder(), "cpu", &[cpu("uplink"), cpu("downlink")])?;
    let sizes = |direction: &str| {
        let at = |length: u32| {
            let f = output.find(&format!("pps.xdp.{direction}_{length}.median"))?;
            Some((f64::from(length), f.value / 1e6, f.low / 1e6, f.high / 1e6))
        };
        Panel {
            title: direction.into(),
            x_label: "length of the UE's packet, bytes".into(),
            y_label: "million packets/s".into(),
            series: vec![Series {
                name: "xdp".into(),
                points: LENGTHS.into_iter().filter_map(at).collect(),
            }],
        }
    };
    draw(output.folder(), "sizes", &[sizes("uplink"), sizes("downlink")])?;
    output.text(
        "![loss against rate](loss.png)\n\n![CPU time](cpu.png)\n\n![packet sizes](sizes.png)\n",
    );
    Ok(())
}

/// Reports N4 with up to `n` sessions.
pub(super) fn n4(output: &mut Output, n: u32) {
    let mut text = String::from("## N4\n\nAn SMF over UDP, with up to 64 outstanding requests.\n");
    text.push_str(TARGETS);
    let rate = |what: &str| value(output, &format!("n4.xdp.{what}_{n}"));
    let what = format!("sessions established per second, {n} in all");
    target(&mut text, &what, true, 10_000.0, rate("establish"));
    if n <= 100_000 {
        let whole = value(output, &format!("resident_whole.xdp.sessions{n}"));
        target(&mut text, "resident memory of UPF and SMF, MB", false, 200.0, whole);
    }
    let memory = value(output, &format!("memory.xdp.sessions{n}"));
    target(&mut text, "memory of UPF and SMF with all BPF maps, MB", false, 2000.0, memory);
    for what in ["modify", "delete"] {
        let _ = writeln!(text, "| {what}, sessions per second, {n} in all | | {:.0} |", rate(what));
    }
    let ratio = value(output, &format!("n4.xdp.session_beside_{n}_over_1"));
    let what = format!("cost of a session beside {n} others, relative to beside one");
    target(&mut text, &what, false, 1.15, ratio);
    for others in [1, n] {
        let us = value(output, &format!("n4.xdp.session_beside_{others}"));
        let _ = writeln!(text, "| the same beside {others}, µs | | {us:.1} |");
    }
    let (lost, sent) = (
        value(output, "lost.xdp.while_1000_modified"),
        value(output, "sent.xdp.while_1000_modified"),
    );
    target(
        &mut text,
        &format!("packets lost of {sent} while 1,000 sessions are modified"),
        false,
        0.0,
        lost,
    );
    output.text(&text);
}
