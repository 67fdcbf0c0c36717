//! The report of the experiment.
use super::path::PathKind;
use super::statistics::{Interval, Z};
use super::{Hosts, LcsUppArgs, Subject};
use crate::plot::{Panel, Series, draw};
use crate::{Figure, Output};
use anyhow::{Context, Result};
use martlet_ran::user_plane::{Counters, LATE, RadioConfig};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Baselines of the paper's changes; the first available one is used.
const BASELINES: [&str; 2] = ["wolfssl_default", "wolfssl"];
/// Average changes relative to wolfSSL in the paper, in per cent.
const PAPER: [(&str, f64); 4] =
    [("msquic", -42.01), ("mbedtls", 3.38), ("ktls", 13.35), ("kernel_module", -5.84)];
/// The same change of the kernel module relative to kernel TLS.
const PAPER_KERNEL: f64 = -16.95;

/// Writes the report, its figures and its plots.
pub(super) fn write(
    output: &mut Output,
    args: &LcsUppArgs,
    radio: &RadioConfig,
    hosts: &Hosts,
    subjects: &[Subject],
    sizes: &[usize],
) -> Result<()> {
    output.text(&setup_text(args, radio, hosts, subjects)?);
    let table = intervals(subjects)?;
    let index = |name: &str| subjects.iter().position(|subject| subject.variant.name() == name);
    let raw = index("raw_tcp");
    output.text(&times(subjects, sizes, &table, raw));
    ratios(output, args, subjects, sizes, raw)?;
    best(output, args, subjects, sizes);
    match BASELINES.iter().find_map(|name| index(name)) {
        Some(base) => beside_the_paper(output, args, subjects, sizes, &table, base),
        None => output.text(
            "\nwolfSSL was not measured (build with --features wolfssl; it is GPL and never in \
             released builds): no changes are given.",
        ),
    }
    if let (Some(kernel), Some(ktls)) = (index("kernel_module"), index("ktls")) {
        let change = mean_change(&table[kernel], &table[ktls]);
        output.text(&format!(
            "\nKernel module relative to kernel TLS: {change:+.2} % here, {PAPER_KERNEL:+.2} % in \
             the paper."
        ));
        output.figure(Figure::once(
            format!("change.kernel_module_over_ktls.{}.upper_bound", args.path.name()),
            "%",
            change,
        ));
    }
    output.text(&usage(subjects, sizes));
    plots(output, subjects, sizes, &table)
}

fn mean_change(of: &[Interval], from: &[Interval]) -> f64 {
    of.iter().zip(from).map(|(it, from)| it.change(from)).sum::<f64>() / of.len().max(1) as f64
}

fn setup_text(
    args: &LcsUppArgs,
    radio: &RadioConfig,
    hosts: &Hosts,
    subjects: &[Subject],
) -> Result<String> {
    let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |flag: &str| flags.split_whitespace().any(|it| it == flag);
    let crypto: Vec<_> = ["aes", "vaes", "pclmulqdq", "vpclmulqdq", "hypervisor"]
        .into_iter()
        .filter(|flag| has(flag))
        .collect();
    let sysctl = |name: &str| {
        std::fs::read_to_string(format!("/proc/sys/net/{name}"))
            .unwrap_or_default()
            .replace('\t', " ")
    };
    let path = match args.path {
        PathKind::Loopback => "loopback, in a network namespace of its own".into(),
        PathKind::Core => {
            "the interface of a simulated UE, gNB, Martlet's UPF, and its address on N6".into()
        }
        PathKind::Radio => format!(
            "as `core`, with a model of the air interface; each channel has a UE of its own with \
             the same losses and delays: {radio:?}"
        ),
        PathKind::Peer => "the network between two hosts".into(),
    };
    let order = if args.path == PathKind::Radio {
        "all channels at the same time"
    } else {
        "the channels alternating"
    };
    let mut text = format!(
        "Transport time: from the creation of a UL LCS-UP TRANSPORT message until the DL LCS-UP \
         TRANSPORT message that echoes it is read and verified (message type, payload type, \
         lengths, session). n is the payload size in bytes; the session parameters have 256 \
         bytes. Path: {path}; one process at each end for each channel. {} rounds for each point \
         in blocks of {}, {order}; the first {} rounds of each block are not counted.\n\n",
        subjects.first().and_then(|subject| subject.samples.first()).map_or(0, Vec::len),
        super::BLOCK,
        super::WARM_UP
    );
    let _ = writeln!(
        text,
        "- Nagle's algorithm: off, except for names that end in _default; delayed \
         acknowledgements: kernel default; TLS records: 16,384 bytes"
    );
    let mtu = args.mtu.unwrap_or(args.path.mtu());
    let _ =
        writeln!(text, "- polling before sleeping: {} µs; MTU for QUIC and UDP: {mtu}", args.spin);
    let program = super::program::small_endpoint()
        .map_or("this program".into(), |path| path.display().to_string());
    let _ = writeln!(text, "- both ends: {program}");
    let _ = writeln!(
        text,
        "- tcp_rmem {}, tcp_wmem {}",
        sysctl("ipv4/tcp_rmem").trim(),
        sysctl("ipv4/tcp_wmem").trim()
    );
    let _ = writeln!(text, "- CPU flags for AES-GCM and virtualisation: {}", crypto.join(", "));
    let ue = &hosts.ue;
    let _ = writeln!(
        text,
        "- scheduling: {}; memory: {}; governor: {}",
        ue.scheduling, ue.memory, ue.governor
    );
    if let (Some(control), Some(subject)) = (&hosts.control, subjects.first()) {
        let _ = writeln!(
            text,
            "- the LMF's end, on another host: {}; {}",
            control.greeting.machine(),
            subject.server.conditions()?.0
        );
    }
    for subject in subjects {
        let _ = writeln!(text, "- {}: {}", subject.variant.name(), subject.client.description);
    }
    if let Ok(marked) = std::env::var("MARTLET_GUEST") {
        let _ = writeln!(
            text,
            "\n**Measured on an emulated machine ({marked}): compare these figures only with each \
             other.**"
        );
    }
    Ok(text)
}

/// Reports whether the model of the air interface was on time. On a busy machine it is late, and
/// every channel seems slow.
pub(super) fn air(output: &mut Output, counters: &Counters) {
    let of = |it: &AtomicU64| it.load(Ordering::Relaxed);
    let (all, late, latest) =
        (of(&counters.air_packets), of(&counters.air_packets_late), of(&counters.air_max_delay_us));
    let share = late as f64 / all.max(1) as f64 * 100.0;
    output.text(&format!(
        "The radio model forwarded {all} packets, {share:.2} % of them {} µs or more late, at \
         most {:.1} ms.",
        LATE.as_micros(),
        latest as f64 / 1e3
    ));
    output.figure(Figure::once("radio.late.share", "%", share));
}

/// The interval of each channel and size.
fn intervals(subjects: &[Subject]) -> Result<Vec<Vec<Interval>>> {
    let of = |subject: &Subject| {
        subject
            .samples
            .iter()
            .map(|samples| Interval::of(samples).context("no samples"))
            .collect::<Result<Vec<_>>>()
    };
    subjects.iter().map(of).collect()
}

fn times(
    subjects: &[Subject],
    sizes: &[usize],
    table: &[Vec<Interval>],
    raw: Option<usize>,
) -> String {
    let mut text = format!(
        "\n## Mean transport time, µs, with its 99 % confidence interval (z = {Z})\n\n| n |"
    );
    subjects.iter().for_each(|subject| _ = write!(text, " {} |", subject.variant.name()));
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
    text.push_str(
        "\n\nIn parentheses: the multiple of the mean of plain TCP with the same messages.",
    );
    text
}

/// Ratios to plain TCP, block by block, so that disturbances affect both alike.
fn ratios(
    output: &mut Output,
    args: &LcsUppArgs,
    subjects: &[Subject],
    sizes: &[usize],
    raw: Option<usize>,
) -> Result<()> {
    let Some(raw) = raw else { return Ok(()) };
    for subject in subjects.iter().filter(|subject| subject.variant.name() != "raw_tcp") {
        for (at, n) in sizes.iter().enumerate() {
            let blocks = |samples: &[f64]| -> Vec<f64> {
                samples
                    .chunks(super::BLOCK)
                    .filter_map(|block| crate::stats::median(block).map(|it| it.value))
                    .collect()
            };
            let pairs =
                blocks(&subject.samples[at]).into_iter().zip(blocks(&subjects[raw].samples[at]));
            let ratios: Vec<f64> = pairs.map(|(ours, plain)| ours / plain).collect();
            let id = format!(
                "transport_time.{}_over_raw_tcp.n{n}_{}.p50",
                subject.variant.name(),
                args.path.name()
            );
            output.figure(Figure::of(
                id,
                "times",
                crate::stats::median(&ratios).context("no blocks")?,
            ));
        }
    }
    Ok(())
}

/// The fastest channel of Martlet relative to the fastest of the paper's three libraries, at each
/// size: ratio of medians.
fn best(output: &mut Output, args: &LcsUppArgs, subjects: &[Subject], sizes: &[usize]) {
    let mut text = "\n## Fastest channel of Martlet and of the paper's three libraries, \
                    medians\n\n| n | Martlet | µs | paper's library | µs | ratio |\n| ---: | --- \
                    | ---: | --- | ---: | ---: |"
        .to_string();
    let mut any = false;
    for (at, n) in sizes.iter().enumerate() {
        let fastest = |papers: bool| {
            let of = |subject: &Subject| {
                Some((
                    subject.variant.name(),
                    crate::stats::median(&subject.samples[at])?.value * 1e3,
                ))
            };
            let it = subjects.iter().filter(|it| {
                it.variant.data_path() > 0
                    && it.variant.is_of_the_paper() == papers
                    && it.variant.no_delay()
            });
            it.filter_map(of).min_by(|one, other| one.1.total_cmp(&other.1))
        };
        let (Some((ours, our_time)), Some((theirs, their_time))) = (fastest(false), fastest(true))
        else {
            continue;
        };
        any = true;
        let ratio = our_time / their_time;
        let _ = write!(
            text,
            "\n| {n} | {ours} | {our_time:.1} | {theirs} | {their_time:.1} | {ratio:.2} |"
        );
        output.figure(Figure::once(
            format!("best_over_papers_best.n{n}_{}.p50", args.path.name()),
            "times",
            ratio,
        ));
    }
    if any {
        output.text(&text);
    }
}

fn beside_the_paper(
    output: &mut Output,
    args: &LcsUppArgs,
    subjects: &[Subject],
    sizes: &[usize],
    table: &[Vec<Interval>],
    base: usize,
) {
    let (name_of_base, path) = (subjects[base].variant.name(), args.path.name());
    let mut text = format!(
        "\n## Change of the interval's upper bound relative to {name_of_base}, mean over all n, \
         per cent\n\n| channel | here | paper |\n| --- | ---: | ---: |"
    );
    for (which, subject) in subjects.iter().enumerate().filter(|(which, _)| *which != base) {
        let mean = mean_change(&table[which], &table[base]);
        let name = subject.variant.name();
        let paper = PAPER
            .iter()
            .find(|(of, _)| *of == name)
            .map_or("–".into(), |(_, change)| format!("{change:+.2}"));
        let _ = write!(text, "\n| {name} | {mean:+.2} | {paper} |");
        output.figure(Figure::once(format!("change.{name}.{path}.upper_bound"), "%", mean));
        for ((it, from), n) in table[which].iter().zip(&table[base]).zip(sizes) {
            output.figure(Figure::once(
                format!("change.{name}.n{n}_{path}.upper_bound"),
                "%",
                it.change(from),
            ));
        }
    }
    output.text(&text);
}

fn usage(subjects: &[Subject], sizes: &[usize]) -> String {
    let mut text = "\n## CPU time and context switches per round, client and server\n\n| channel \
                    | n | client µs | server µs | client switches | server switches |\n| --- | \
                    ---: | ---: | ---: | ---: | ---: |"
        .to_string();
    for subject in subjects {
        for (at, n) in
            sizes.iter().enumerate().filter(|(_, n)| [1, 1024, 16_384, 65_535].contains(*n))
        {
            let rounds = subject.samples[at].len().max(1) as f64;
            let (client, server) = (&subject.client_used[at], &subject.server_used[at]);
            let _ = write!(
                text,
                "\n| {} | {n} | {:.1} | {:.1} | {:.2} | {:.2} |",
                subject.variant.name(),
                client.cpu_ns as f64 / 1e3 / rounds,
                server.cpu_ns as f64 / 1e3 / rounds,
                client.switches as f64 / rounds,
                server.switches as f64 / rounds
            );
        }
    }
    text += "\n\n## New connections, LPP, and the client's size\n\nMilliseconds (medians) until \
             the first message is answered: full handshake, resumption, and 0-RTT data; – where \
             the library or its crate does not support it. LPP is a procedure of the LMF: a \
             capability request, then a request for NR E-CID measurements (two exchanges, six \
             cells). Resident is the client's memory for its rounds and LPP, without that of its \
             start; with real-time properties it is that of the whole program, since its memory \
             is locked.\n\n| channel | full | resumed | 0-RTT | LPP | resident, kB |\n| --- | \
             ---: | ---: | ---: | ---: | ---: |";
    for subject in subjects {
        let median = |setups: &Vec<f64>| {
            crate::stats::median(setups).map_or("–".into(), |it| format!("{:.3}", it.value))
        };
        let [full, resumed, early] = subject.setups.each_ref().map(median);
        let lpp = median(&subject.procedures);
        let _ = write!(
            text,
            "\n| {} | {full} | {resumed} | {early} | {lpp} | {} |",
            subject.variant.name(),
            subject.resident
        );
    }
    text.push('\n');
    text
}

/// A panel with the change of the upper bound, which the paper shows at the points of its figure 4.
/// `None` without wolfSSL.
fn changes(
    subjects: &[Subject],
    sizes: &[usize],
    table: &[Vec<Interval>],
    wanted: &dyn Fn(&Subject) -> bool,
) -> Option<Panel> {
    let base = BASELINES
        .iter()
        .find_map(|name| subjects.iter().position(|subject| subject.variant.name() == *name))?;
    let points = |intervals: &Vec<Interval>| -> Vec<_> {
        let changes = intervals.iter().zip(&table[base]).map(|(it, from)| it.change(from));
        sizes
            .iter()
            .zip(changes)
            .map(|(n, change)| ((*n as f64).log2().round(), change, change, change))
            .collect()
    };
    // wolfSSL itself stays, at 0, so that each channel has one colour in all panels.
    let shown = subjects.iter().zip(table).filter(|(subject, _)| wanted(subject));
    Some(Panel {
        title: format!("relative to {}", subjects[base].variant.name()),
        x_label: "payload n in bytes, as a power of two".into(),
        y_label: "change of the interval's upper bound, %".into(),
        series: shown
            .map(|(subject, intervals)| Series {
                name: subject.variant.name(),
                points: points(intervals),
            })
            .collect(),
    })
}

fn plots(
    output: &mut Output,
    subjects: &[Subject],
    sizes: &[usize],
    table: &[Vec<Interval>],
) -> Result<()> {
    let series = |wanted: &dyn Fn(&Subject) -> bool, from: usize, until: usize| -> Vec<Series> {
        let shown = subjects.iter().zip(table).filter(|(subject, _)| wanted(subject));
        let points = |intervals: &Vec<Interval>| {
            let within = sizes.iter().zip(intervals).filter(|(n, _)| (from..=until).contains(*n));
            within
                .map(|(n, it)| ((*n as f64).log2().round(), it.mean, it.low(), it.high()))
                .collect()
        };
        shown
            .map(|(subject, intervals)| Series {
                name: subject.variant.name(),
                points: points(intervals),
            })
            .collect()
    };
    let panels = |what: &str, wanted: &dyn Fn(&Subject) -> bool| -> Vec<Panel> {
        let ranges = [(1, 4096, "n up to 4,096"), (4096, 65_535, "n from 4,096")];
        let panel = |(from, until, range): (usize, usize, &str)| Panel {
            title: format!("{what}, {range}"),
            x_label: "payload n in bytes, as a power of two".into(),
            y_label: "transport time, ms".into(),
            series: series(wanted, from, until),
        };
        ranges.into_iter().map(panel).chain(changes(subjects, sizes, table, wanted)).collect()
    };
    draw(
        output.folder(),
        "type-1",
        &panels("Type 1", &|subject| subject.variant.data_path() <= 1),
    )?;
    output.text("![Type 1](type-1.svg)");
    if subjects.iter().any(|subject| subject.variant.data_path() > 1) {
        // Type 1 is represented by wolfSSL, as in the paper, if this build has it.
        let has_wolfssl = subjects.iter().any(|subject| subject.variant.name() == "wolfssl");
        let first = if has_wolfssl { "wolfssl" } else { "rustls" };
        let compared =
            |subject: &Subject| subject.variant.data_path() > 1 || subject.variant.name() == first;
        draw(output.folder(), "types", &panels("Types 1, 2 and 3", &compared))?;
        output.text("![Types 1, 2 and 3](types.svg)");
    }
    Ok(())
}
