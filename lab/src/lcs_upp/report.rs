//! What the experiment says.
use super::realtime::Conditions;
use super::statistics::{Interval, Z};
use super::{LcsUppArgs, Subject, proc_usage};
use crate::plot::{Panel, Series, draw};
use crate::{Figure, Output};
use anyhow::{Context, Result};
use martlet_lcs_channel::Kind;
use std::fmt::Write;

/// The channel of which the paper's changes count.
const BASE: &str = "wolfssl";
/// Average change of the paper, per cent, and of what.
const PAPER: [(&str, f64); 2] = [("msquic", -42.01), ("mbedtls", 3.38)];

/// Writes the report, its figures and its plots.
pub(super) fn write(
    output: &mut Output,
    args: &LcsUppArgs,
    conditions: &Conditions,
    subjects: &[Subject],
    sizes: &[usize],
) -> Result<()> {
    output.say(&what_was_run(args, conditions, subjects));
    let table = intervals(subjects)?;
    let raw = subjects.iter().position(|subject| subject.kind == Kind::RawTcp);
    let base = subjects.iter().position(|subject| subject.kind.name() == BASE);
    output.say(&times(subjects, sizes, &table, raw));
    ratios(output, subjects, sizes, raw)?;
    beside_the_paper(output, subjects, sizes, &table, base);
    output.say(&usage(subjects, sizes));
    let resident = proc_usage::resident_kb(std::process::id());
    output.figure(Figure::once("resident.client.all_channels.once", "kB", resident as f64));
    output.say(&format!("The client, with all of these channels in one process, has {resident} kB resident."));
    plots(output, subjects, sizes, &table)
}

fn what_was_run(args: &LcsUppArgs, conditions: &Conditions, subjects: &[Subject]) -> String {
    let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |flag: &str| flags.split_whitespace().any(|it| it == flag);
    let crypto: Vec<_> = ["aes", "vaes", "pclmulqdq", "vpclmulqdq"].into_iter().filter(|flag| has(flag)).collect();
    let sysctl =
        |name: &str| std::fs::read_to_string(format!("/proc/sys/net/{name}")).unwrap_or_default().replace('\t', " ");
    let mut text = format!(
        "Transport time from the making of a UL LCS-UP TRANSPORT until the DL LCS-UP TRANSPORT that echoes it is read and \
         verified: message type, payload type, lengths, session. n is the whole payload; the session parameters have 256 \
         octets. Path: loopback, in a network namespace of its own; one process at each end. {} rounds a point in blocks of \
         {}, the channels in turn, {} rounds of each block not counted.\n\n",
        subjects.first().and_then(|subject| subject.samples.first()).map_or(0, Vec::len),
        super::BLOCK,
        super::WARM_UP
    );
    let nagle = if args.nagle { "on" } else { "off" };
    let _ = writeln!(
        text,
        "- Nagle's algorithm: {nagle}; delayed acknowledgements: the kernel's; TLS records: 16,384 octets"
    );
    let _ = writeln!(
        text,
        "- looking for answers before sleeping: {} µs; path MTU for QUIC and UDP: {}",
        args.spin, args.mtu
    );
    let _ =
        writeln!(text, "- tcp_rmem {}, tcp_wmem {}", sysctl("ipv4/tcp_rmem").trim(), sysctl("ipv4/tcp_wmem").trim());
    let _ = writeln!(text, "- processor's help for AES-GCM: {}", crypto.join(", "));
    let _ = writeln!(
        text,
        "- scheduling: {}; memory: {}; governor: {}",
        conditions.scheduling, conditions.memory, conditions.governor
    );
    for subject in subjects {
        let it = subject.client.description();
        let _ = writeln!(text, "- {}: {}, {}, {}", subject.kind.name(), it.library, it.protocol, it.cipher_suite);
    }
    text
}

/// Of each channel and size.
fn intervals(subjects: &[Subject]) -> Result<Vec<Vec<Interval>>> {
    let of = |subject: &Subject| {
        subject.samples.iter().map(|samples| Interval::of(samples).context("no samples")).collect::<Result<Vec<_>>>()
    };
    subjects.iter().map(of).collect()
}

fn times(subjects: &[Subject], sizes: &[usize], table: &[Vec<Interval>], raw: Option<usize>) -> String {
    let mut text = format!("\n## Mean transport time, µs, with its 99 % confidence interval (z = {Z})\n\n| n |");
    subjects.iter().for_each(|subject| _ = write!(text, " {} |", subject.kind.name()));
    let _ = write!(text, "\n| ---: |{}", " ---: |".repeat(subjects.len()));
    for (at, n) in sizes.iter().enumerate() {
        let _ = write!(text, "\n| {n} |");
        for (which, intervals) in table.iter().enumerate() {
            let it = intervals[at];
            let _ = write!(text, " {:.1} ± {:.1}", it.mean * 1e3, Z * it.error * 1e3);
            if let Some(raw) = raw.filter(|raw| *raw != which) {
                let _ = write!(text, " ({:.2}×)", it.mean / table[raw][at].mean);
            }
            text.push_str(" |");
        }
    }
    text.push_str("\n\nIn parentheses: times the mean of a plain TCP exchange of the same messages.");
    text
}

/// Ratios to plain TCP, block by block, so that what disturbs one disturbs the other.
fn ratios(output: &mut Output, subjects: &[Subject], sizes: &[usize], raw: Option<usize>) -> Result<()> {
    let Some(raw) = raw else { return Ok(()) };
    for subject in subjects.iter().filter(|subject| subject.kind != Kind::RawTcp) {
        for (at, n) in sizes.iter().enumerate() {
            let blocks = |samples: &[f64]| -> Vec<f64> {
                samples
                    .chunks(super::BLOCK)
                    .filter_map(|block| crate::stats::median(block).map(|it| it.value))
                    .collect()
            };
            let pairs = blocks(&subject.samples[at]).into_iter().zip(blocks(&subjects[raw].samples[at]));
            let ratios: Vec<f64> = pairs.map(|(ours, plain)| ours / plain).collect();
            let id = format!("transport_time.{}_over_raw_tcp.n{n}_loopback.p50", subject.kind.name());
            output.figure(Figure::of(id, "times", crate::stats::median(&ratios).context("no blocks")?));
        }
    }
    Ok(())
}

fn beside_the_paper(
    output: &mut Output,
    subjects: &[Subject],
    sizes: &[usize],
    table: &[Vec<Interval>],
    base: Option<usize>,
) {
    let Some(base) = base else {
        output.say(&format!(
            "\nThe paper compares with {BASE}, which this build does not have (its licence keeps it out of ordinary \
             builds): no changes are given."
        ));
        return;
    };
    let mut text = format!(
        "\n## Change of the upper bound against {BASE}, mean over all n, per cent\n\n| channel | here | paper |\n| --- | ---: | ---: |"
    );
    for (which, subject) in subjects.iter().enumerate().filter(|(which, _)| *which != base) {
        let changes: Vec<f64> = table[which].iter().zip(&table[base]).map(|(it, base)| it.change(base)).collect();
        let mean = changes.iter().sum::<f64>() / changes.len() as f64;
        let name = subject.kind.name();
        let paper =
            PAPER.iter().find(|(of, _)| *of == name).map_or("–".into(), |(_, change)| format!("{change:+.2}"));
        let _ = write!(text, "\n| {name} | {mean:+.2} | {paper} |");
        output.figure(Figure::once(format!("change.{name}.loopback.upper_bound"), "%", mean));
        for (change, n) in changes.iter().zip(sizes) {
            output.figure(Figure::once(format!("change.{name}.n{n}_loopback.upper_bound"), "%", *change));
        }
    }
    output.say(&text);
}

fn usage(subjects: &[Subject], sizes: &[usize]) -> String {
    let mut text = "\n## Each round: processor time and context switches, client and server\n\n| channel | n | client µs | server µs | client switches | server switches |\n| --- | ---: | ---: | ---: | ---: | ---: |".to_string();
    for subject in subjects {
        for (at, n) in sizes.iter().enumerate().filter(|(_, n)| [1, 1024, 16_384, 65_535].contains(*n)) {
            let rounds = subject.samples[at].len().max(1) as f64;
            let (client, server) = (&subject.client_used[at], &subject.server_used[at]);
            let _ = write!(
                text,
                "\n| {} | {n} | {:.1} | {:.1} | {:.2} | {:.2} |",
                subject.kind.name(),
                client.processor as f64 / 1e3 / rounds,
                server.processor as f64 / 1e3 / rounds,
                client.switches as f64 / rounds,
                server.switches as f64 / rounds
            );
        }
    }
    text.push('\n');
    text
}

fn plots(output: &mut Output, subjects: &[Subject], sizes: &[usize], table: &[Vec<Interval>]) -> Result<()> {
    let series = |from: usize, until: usize| -> Vec<Series> {
        subjects
            .iter()
            .zip(table)
            .map(|(subject, intervals)| Series {
                name: subject.kind.name().into(),
                points: sizes
                    .iter()
                    .zip(intervals)
                    .filter(|(n, _)| (from..=until).contains(*n))
                    .map(|(n, it)| ((*n as f64).log2(), it.mean, it.low(), it.high()))
                    .collect(),
            })
            .collect()
    };
    let panel = |title: &str, from, until| Panel {
        title: title.into(),
        x_label: "payload n, as a power of two of octets".into(),
        y_label: "transport time, ms".into(),
        series: series(from, until),
    };
    let panels = [panel("Type 1, n up to 4,096", 1, 4096), panel("Type 1, n from 4,096", 4096, 65_535)];
    draw(output.folder(), "type-1", &panels)?;
    output.say("![Type 1](type-1.svg)");
    Ok(())
}
