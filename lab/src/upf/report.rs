//! The report: tables, plots, and what was asked for.
use super::cost::Cases;
use super::wire::{DIRECTIONS, LENGTHS, VARIANTS};
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

/// A row of what was asked for.
fn asked(text: &mut String, what: &str, least: bool, bound: f64, measured: f64) {
    let (sign, kept) = if least { ("≥", measured >= bound) } else { ("≤", measured <= bound) };
    let reached = if kept { "reached" } else { "**not reached**" };
    let _ = writeln!(text, "| {what} | {sign} {bound} | {measured:.2} | {reached} |");
}

const ASKED: &str = "\n| what | asked | measured | |\n| --- | --- | --- | --- |\n";

/// Nanoseconds for packets.
pub(super) fn cost(output: &mut Output, cases: &Cases) -> Result<()> {
    let Cases { many, most, .. } = *cases;
    output.say(
        "## What a packet costs\n\nNanoseconds for each packet of 64 octets, by \
         `BPF_PROG_TEST_RUN` on one core: medians over rounds with 95 % intervals; each round \
         takes all cases in an order of its own. Every packet is made anew, of a session drawn at \
         random; *made* is what that alone costs, and is part of the others. *bare* takes a \
         tunnel header off or puts one on after one look-up, and does nothing else.\n",
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
        "\n*far*: one PDR with FAR. *qer*: and a maximum bit rate. *urr*: FAR and a volume \
         threshold. *nat*: FAR ",
    );
    text.push_str(
        "and translation of addresses. *full*: FAR, QER with a maximum bit rate, two URRs with \
         thresholds. ",
    );
    text.push_str("*pdrs32*: full, behind 31 PDRs that do not match.\n");
    text.push_str(ASKED);
    for (direction, _) in DIRECTIONS {
        let at = |what: &str, point: &str| {
            value(output, &format!("ns_per_packet.{what}.{direction}{point}.median"))
        };
        let full = at("xdp_over_bare", &format!("_{many}_sessions"));
        asked(&mut text, &format!("{direction}: {many} sessions, over bare"), false, 1.25, full);
        let of = |what: &str| at(what, &format!("_{many}_sessions"));
        let net = (of("xdp") - of("nothing")) / (of("bare") - of("nothing"));
        let _ = writeln!(
            text,
            "| {direction}: the same without what making the packets costs | | {net:.2} | |"
        );
        let times = at(&format!("xdp_{most}_over_1"), "");
        // What is asked is asked of packets that are really sent: see below. The programs' share
        // alone shows more of memory.
        asked(
            &mut text,
            &format!("{direction}: {most} sessions, over one, programs alone"),
            false,
            1.3,
            times,
        );
        let bare = at(&format!("bare_{most}_over_1"), "");
        let _ = writeln!(
            text,
            "| {direction}: the same of the bare program, whose memory is as slow | | {bare:.2} | \
             |"
        );
        for sessions in [1, 1000] {
            let times = at("pdrs32_over_1", &format!("_{sessions}_sessions"));
            asked(
                &mut text,
                &format!("{direction}: 32 PDRs in each of {sessions} sessions, over one"),
                false,
                2.0,
                times,
            );
        }
        for sessions in [1, many] {
            let nat = at("cost_of_nat", &format!("_{sessions}_sessions"));
            asked(
                &mut text,
                &format!("{direction}: NAT adds, ns, with {sessions} sessions"),
                false,
                60.0,
                nat,
            );
        }
        for what in ["qer", "urr"] {
            let more = at(&format!("cost_of_{what}"), &format!("_{many}_sessions"));
            let _ = writeln!(text, "| {direction}: {what} adds, ns | | {more:.1} | |");
        }
    }
    output.say(&text);
    let panel = |direction: &str| {
        let series = ["bare", "xdp"].map(|variant| {
            let at = |sessions: u32| {
                let id = format!("ns_per_packet.{variant}.{direction}_{sessions}_sessions.median");
                output.find(&id).map(|f| (f64::from(sessions) / 1000.0, f.value, f.low, f.high))
            };
            Series {
                name: variant.into(),
                points: [1, 1000, many, most].into_iter().filter_map(at).collect(),
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
        title: format!("what rules add, {many} sessions"),
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
    output.say("![nanoseconds per packet](cost.png)\n\n![what rules add](cost-of-rules.png)\n");
    Ok(())
}

/// Packets over links.
pub(super) fn wire(output: &mut Output) -> Result<()> {
    output.say(
        "## Packets over links\n\nGenerator, UPF and receiver on one processor, over veth in \
         native mode, one session unless said otherwise. *flat out*: as fast as the generator \
         goes. *carried*: the highest rate with at most 0.1 % loss, which is how `kernel` is \
         compared, since flat out it gets no processor time.\n",
    );
    let mut text = String::from(
        "| flat out | direction | 10⁶ packets/s | lost |\n| --- | --- | --- | --- |\n",
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
            let _ = writeln!(
                text,
                "| {name}, {length} octets | {direction} | {pps:.2} | {loss:.3} % |"
            );
        }
    }
    text.push_str("\n| carried | kernel | xdp |\n| --- | --- | --- |\n");
    for (direction, _) in DIRECTIONS {
        let [kernel, xdp] = VARIANTS
            .map(|(name, _)| value(output, &format!("pps.{name}.{direction}_64_carried")) / 1e6);
        let _ =
            writeln!(text, "| {direction}, 64 octets, 10⁶ packets/s | {kernel:.3} | {xdp:.3} |");
        for q in ["p50", "p99", "p999"] {
            let [kernel, xdp] = VARIANTS
                .map(|(name, _)| value(output, &format!("latency.{name}.{direction}_64.{q}")));
            let _ = writeln!(
                text,
                "| {direction}, latency at a low rate, {q}, µs | {kernel:.1} | {xdp:.1} |"
            );
        }
    }
    text.push_str(ASKED);
    for (direction, _) in DIRECTIONS {
        let times = value(output, &format!("pps.xdp_over_kernel.{direction}_64"));
        asked(
            &mut text,
            &format!("{direction}: packets a second, times kernel's"),
            true,
            8.0,
            times,
        );
        let share = value(output, &format!("cpu.xdp_over_kernel.{direction}_64"));
        asked(
            &mut text,
            &format!("{direction}: processor time where kernel begins to lose"),
            false,
            0.25,
            share,
        );
        let loss = value(output, &format!("loss.xdp.{direction}_rate7.median"));
        asked(&mut text, &format!("{direction}: loss at 3 times that rate"), false, 0.0, loss);
        let flat = value(output, &format!("pps.xdp.{direction}_64.median")) / 1e6;
        asked(
            &mut text,
            &format!("{direction}: 10⁶ packets/s with generator and receiver on the same core"),
            true,
            2.31,
            flat,
        );
        let lost = value(output, &format!("loss.xdp.{direction}_64.median"));
        asked(&mut text, &format!("{direction}: loss there"), false, 0.0, lost);
        for most in [100_000, 10_000, 1200] {
            if let Some(times) = output.find(&format!("pps.xdp_1_over_{most}_sessions.{direction}"))
            {
                asked(
                    &mut text,
                    &format!("{direction}: a packet of {most} sessions, over one"),
                    false,
                    1.3,
                    times.value,
                );
            }
        }
        let rules = value(output, &format!("pps.xdp_1_over_32_pdrs.{direction}"));
        asked(
            &mut text,
            &format!("{direction}: a packet of a session of 32 PDRs, over one"),
            false,
            2.0,
            rules,
        );
    }
    output.say(&text);
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
            x_label: "millions of packets sent in a second".into(),
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
            "ns of processor time per packet",
            1.0,
            &["generator", "kernel", "xdp"],
        )
    };
    draw(output.folder(), "processor", &[cpu("uplink"), cpu("downlink")])?;
    let sizes = |direction: &str| {
        let at = |length: u32| {
            let f = output.find(&format!("pps.xdp.{direction}_{length}.median"))?;
            Some((f64::from(length), f.value / 1e6, f.low / 1e6, f.high / 1e6))
        };
        Panel {
            title: direction.into(),
            x_label: "octets of the UE's packet".into(),
            y_label: "millions of packets a second".into(),
            series: vec![Series {
                name: "xdp".into(),
                points: LENGTHS.into_iter().filter_map(at).collect(),
            }],
        }
    };
    draw(output.folder(), "sizes", &[sizes("uplink"), sizes("downlink")])?;
    output.say(
        "![loss against rate](loss.png)\n\n![processor time](processor.png)\n\n![packet \
         sizes](sizes.png)\n",
    );
    Ok(())
}

/// N4.
pub(super) fn control(output: &mut Output) {
    let rates = |what: &str| {
        [100_000, 20_000, 500]
            .into_iter()
            .find_map(|n| Some((n, output.find(&format!("n4.xdp.{what}_{n}"))?.value)))
    };
    let mut text =
        String::from("## N4\n\nAn SMF over UDP, with 64 requests under way at a time.\n");
    text.push_str(ASKED);
    if let Some((n, rate)) = rates("establish") {
        asked(
            &mut text,
            &format!("sessions established in a second, {n} of them"),
            true,
            10_000.0,
            rate,
        );
        let whole = value(output, &format!("resident_whole.xdp.sessions{n}"));
        asked(&mut text, "resident size with them and the SMF, MB", false, 200.0, whole);
    }
    for what in ["modify", "delete"] {
        if let Some((n, rate)) = rates(what) {
            let _ = writeln!(text, "| {what}, sessions a second, {n} of them | | {rate:.0} | |");
        }
    }
    let (lost, sent) = (
        value(output, "lost.xdp.while_1000_modified"),
        value(output, "sent.xdp.while_1000_modified"),
    );
    asked(
        &mut text,
        &format!("packets lost of {sent} while 1,000 sessions are modified"),
        false,
        0.0,
        lost,
    );
    output.say(&text);
}
