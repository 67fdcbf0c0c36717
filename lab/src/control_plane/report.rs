//! The report: tables and plots.
use super::ControlPlaneArgs;
use super::metric::Metric;
use crate::{Figure, Output, Panel, Series, draw};
use anyhow::Result;
use std::fmt::Write as _;

/// Results of the paper: averages over 4 to 64 UEs (L25GC+, figure 8).
const PAPER: &str = "L25GC+ (figure 8; shared memory against free5GC's kernel-based SBI, averages \
                     over 4 to 64 UEs): registration 1.87 times, PDU session establishment 2.1 \
                     times, paging 1.6 times faster.";

/// The rounds that failed at another core.
fn repeated(failed: &[String]) -> String {
    if failed.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "{} rounds of the other core failed. They were repeated, and count nowhere:\n\n",
        failed.len()
    );
    for reason in failed {
        let _ = writeln!(text, "- {reason}");
    }
    text
}

/// Writes tables and plots.
pub(super) fn write(output: &mut Output, args: &ControlPlaneArgs, failed: &[String]) -> Result<()> {
    output.text(
        "Latency in ms at the gNB, from the first uplink to the final downlink message: medians \
         with 95 % intervals. *Core* is the part spent waiting for the core. The cores of all \
         variants ran side by side, and rounds alternated between them.\n",
    );
    output.text(&repeated(failed));
    for metric in args.metrics() {
        let table = table(output, args, metric);
        output.text(&table);
    }
    for variant in &args.sbi {
        if let Some(tax) = output.find(&format!("tax.{}.ues1.p50", variant.name())) {
            let text = format!(
                "Tax of a service call, {}: {:.1} µs [{:.1}, {:.1}] beyond a function call. One \
                 UE's registration takes longer by so much for each call that the UE waits for.\n",
                variant.title(),
                tax.value,
                tax.low,
                tax.high
            );
            output.text(&text);
        }
    }
    if args.radio_ms > 0.0 {
        let table = with_radio(output, args);
        output.text(&table);
    }
    let table = start_and_size(output, args);
    output.text(&table);
    if let Some(position) = output.find("position.local.e_cid.p50") {
        let text = format!(
            "A position by E-CID over the user plane took {} ms in one process, as `martlet \
             locate` prints it.\n",
            cell(Some(position))
        );
        output.text(&text);
    }
    output.text(PAPER);
    for (name, statistic, title) in
        [("latency", "p50", ""), ("core-time", "core_p50", "core time of ")]
    {
        let metrics = args.metrics().into_iter();
        let panels: Vec<Panel> =
            metrics.map(|metric| panel(output, args, metric, statistic, title)).collect();
        draw(output.folder(), name, &panels)?;
        output.text(&format!("\n![{name}]({name}.svg)"));
    }
    Ok(())
}

fn cell(figure: Option<&Figure>) -> String {
    figure.map_or("–".into(), |f| format!("{:.3} [{:.3}, {:.3}]", f.value, f.low, f.high))
}

fn table(output: &Output, args: &ControlPlaneArgs, metric: Metric) -> String {
    let mut text = format!("## {}\n\n| simultaneous UEs |", capitalised(metric.title()));
    let mut rule = String::from("| --- |");
    for variant in &args.sbi {
        let _ = write!(text, " {} | core | p99 / median |", variant.title());
        rule += " --- | --- | --- |";
    }
    for variant in args.sbi.iter().skip(1) {
        let _ = write!(text, " {} over {} |", variant.name(), args.sbi[0].name());
        rule += " --- |";
    }
    let _ = write!(text, "\n{rule}\n");
    for ues in &args.ues {
        let _ = write!(text, "| {ues} |");
        for variant in &args.sbi {
            let find = |statistic: &str| {
                output.find(&format!("{}.{}.ues{ues}.{statistic}", metric.name(), variant.name()))
            };
            let spread = find("p99_over_p50").map_or(String::new(), |f| format!("{:.2}", f.value));
            let core = find("core_p50").map_or(String::new(), |f| format!("{:.3}", f.value));
            let _ = write!(text, " {} | {core} | {spread} |", cell(find("p50")));
        }
        for variant in args.sbi.iter().skip(1) {
            let id = format!(
                "{}.{}_over_{}.ues{ues}.p50",
                metric.name(),
                variant.name(),
                args.sbi[0].name()
            );
            let _ = write!(text, " {} |", cell(output.find(&id)));
        }
        text.push('\n');
    }
    text
}

/// Latencies with a delay over the radio, and the core's share.
fn with_radio(output: &Output, args: &ControlPlaneArgs) -> String {
    let mut text = format!(
        "## With {} ms for each RRC round trip\n\nThe simulated UEs and gNBs wait for their RRC \
         messages, each UE for itself.\n\n| procedure, simultaneous UEs |",
        args.radio_ms
    );
    for variant in &args.sbi {
        let _ = write!(text, " {} | core |", variant.title());
    }
    let _ = write!(text, "\n| --- |{}\n", " --- | --- |".repeat(args.sbi.len()));
    for metric in args.metrics() {
        for ues in super::RADIO_UES {
            let _ = write!(text, "| {}, {ues} |", metric.title());
            for variant in &args.sbi {
                let find = |statistic: &str| {
                    let (name, variant) = (metric.name(), variant.name());
                    output.find(&format!("{name}{}.{variant}.ues{ues}.{statistic}", super::RADIO))
                };
                let core = find("core_p50").map_or("–".into(), |f| format!("{:.3}", f.value));
                let _ = write!(text, " {} | {core} |", cell(find("p50")));
            }
            text.push('\n');
        }
    }
    text
}

fn start_and_size(output: &Output, args: &ControlPlaneArgs) -> String {
    let mut text = String::from("## Start and size\n\n| figure |");
    for variant in &args.sbi {
        let _ = write!(text, " {} |", variant.title());
    }
    let _ = write!(text, "\n| --- |{}\n", " --- |".repeat(args.sbi.len()));
    let ues = args.many();
    let rows = [
        ("ready after start, ms".to_string(), "start.{}.ready.p50".to_string()),
        ("first gNB connected after start, ms".into(), "start.{}.ng_setup_done.p50".into()),
        ("resident without UEs, MB".into(), "resident.{}.ues0".into()),
        (format!("resident with {ues} UEs, MB"), format!("resident.{{}}.ues{ues}")),
        (
            format!("proportional set size with {ues} UEs, MB"),
            format!("proportional.{{}}.ues{ues}"),
        ),
        (
            "CPU time per UE (registration and session), ms".into(),
            format!("cpu_per_ue.{{}}.ues{ues}"),
        ),
        (
            "the generator's own CPU time per UE, ms".into(),
            format!("generator_cpu_per_ue.{{}}.ues{ues}"),
        ),
    ];
    for (title, id) in rows {
        let _ = write!(text, "| {title} |");
        for variant in &args.sbi {
            let figure = output.find(&id.replace("{}", variant.name()));
            let _ = write!(text, " {} |", figure.map_or("–".into(), |f| format!("{:.2}", f.value)));
        }
        text.push('\n');
    }
    text
}

fn panel(
    output: &Output,
    args: &ControlPlaneArgs,
    metric: Metric,
    statistic: &str,
    title: &str,
) -> Panel {
    let series = args.sbi.iter().map(|variant| {
        let point = |ues: &u32| {
            let f = output.find(&format!(
                "{}.{}.ues{ues}.{statistic}",
                metric.name(),
                variant.name()
            ))?;
            Some((f64::from(*ues), f.value, f.low, f.high))
        };
        Series { name: variant.title().into(), points: args.ues.iter().filter_map(point).collect() }
    });
    Panel {
        title: format!("{title}{}", metric.title()),
        x_label: "simultaneous UEs".into(),
        y_label: "ms, median and 95 % interval".into(),
        series: series.collect(),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
