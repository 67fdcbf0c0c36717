//! L25GC+: latency of control-plane procedures, figures 6, 7 and 8.
use super::results::{NO_BAR, Results, mean};
use super::{Drawing, Mark, PaperFigure, ReproduceArgs};
use crate::{Axes, Bars, Panel, Series};

/// Kernel-based SBI and SBI over shared memory, as the paper compares them.
const KERNEL: (&str, &str) = ("http", "kernel-based SBI (HTTP/2)");
const SHARED: (&str, &str) = ("fabric", "shared memory (fabric)");
/// Simultaneous PDU session establishments that an AMF admits, in the paper and in other series.
const LIMIT: u32 = 16;
/// The same without a limit.
const UNLIMITED: [(&str, &str); 2] =
    [("http_unlimited", "HTTP/2, no limit"), ("fabric_unlimited", "fabric, no limit")];
/// The core that --baseline starts.
const BASELINE: &str = "external";
/// Numbers of UEs of figure 8.
const UES: [u32; 5] = [4, 8, 16, 32, 64];
/// Procedures of figures 6 and 7, with their numbers of UEs.
const CASES: [(&str, &str, u32); 4] = [
    ("registration", "registration, 1 UE", 1),
    ("pdu_session", "PDU session, 1 UE", 1),
    ("registration", "registration, 5 UEs", 5),
    ("pdu_session", "PDU session, 5 UEs", 5),
];

pub(super) fn arguments(args: &ReproduceArgs) -> Vec<String> {
    // In a test, five cores side by side take too long to start.
    let all = ["fabric,http,local", "fabric,http,local,fabric_unlimited,http_unlimited"];
    let mut words = vec!["--sbi", all[usize::from(!args.minimal)]];
    if args.minimal {
        words.extend(["--ues", "1,4,5", "--rounds", "1", "--many", "5"]);
    }
    let mut words: Vec<String> = words.into_iter().map(String::from).collect();
    words.extend(["--radio-ms".into(), args.radio_ms.to_string()]);
    if let Some(script) = &args.baseline {
        // The address and the slice of the scripts in deploy/external.
        let core = ["--core", "both", "--amf", "127.60.0.5", "--slice", "1-010203"];
        // Handovers and first packets are in no figure, and not every core has them.
        let procedures = ["--procedures", "registration,pdu-session,paging"];
        words.extend(core.into_iter().chain(procedures).map(String::from));
        words.extend(["--start".into(), script.display().to_string()]);
        if let Some(programs) = &args.programs {
            words.extend(["--programs".into(), programs.display().to_string()]);
        }
    }
    words
}

/// The name of the baseline in legends: that of its script.
fn baseline(args: &ReproduceArgs) -> Option<String> {
    Some(args.baseline.as_ref()?.file_stem()?.to_string_lossy().into_owned())
}

/// What of the baseline is not the paper's: free5GC has no published modules of some functions.
fn substitution(name: &str) -> String {
    if name == "free5gc-functions" {
        return " The baseline is free5GC's AMF, its PCF where a database is installed, and its NRF \
                where MongoDB is; the other functions are Martlet's over HTTP/2, in place of \
                free5GC's."
            .into();
    }
    format!(" The baseline is the core that {name} starts.")
}

/// Rounds that the baseline failed.
fn repeated_rounds(results: &Results) -> String {
    match results.value("rounds.external.failed") {
        Some(count) if count > 0.0 => {
            format!(" Rounds of it that failed, were repeated and do not count: {count:.0}.")
        }
        _ => String::new(),
    }
}

pub(super) fn figures(results: &Results, args: &ReproduceArgs) -> Vec<PaperFigure> {
    let baseline = baseline(args);
    let baseline = baseline.as_deref();
    let mut six = latency_from_core(results, baseline);
    let seven = latency_with_radio(results, args.radio_ms);
    let mut eight = latency_by_ues(results, baseline);
    if let Some(name) = baseline {
        for figure in [&mut six, &mut eight] {
            figure.reason += &substitution(name);
            figure.reason += &repeated_rounds(results);
        }
    }
    vec![six, seven, eight]
}

/// The name of a result: latency from the core.
fn core(what: &str, variant: &str, ues: u32) -> String {
    format!("{what}.{variant}.ues{ues}.core_p50")
}

/// The name of a result: whole latency.
fn total(what: &str, variant: &str, ues: u32) -> String {
    format!("{what}.{variant}.ues{ues}.p50")
}

/// Figure 6.
fn latency_from_core(results: &Results, baseline: Option<&str>) -> PaperFigure {
    let mut six = PaperFigure::new(
        "l25gc-6",
        "L25GC+, figure 6: latency from the 5G core",
        Mark::OtherTestbed,
        "UE and RAN are simulated, and Martlet's two SBIs stand for free5GC's and L25GC+'s.",
    );
    let ratios = CASES.map(|(what, _, ues)| {
        results.ratio(&core(what, KERNEL.0, ues), &core(what, SHARED.0, ues))
    });
    let groups: Vec<String> =
        ["reg., 1 UE", "session, 1 UE", "reg., 5 UEs", "session, 5 UEs"].map(String::from).into();
    let bars = |variant: &str| {
        let bar = |(what, _, ues): &(&str, &str, u32)| {
            results.interval(&core(what, variant, *ues)).unwrap_or(NO_BAR)
        };
        CASES.iter().map(bar).collect::<Vec<_>>()
    };
    let flat = |ratios: [Option<f64>; 4]| {
        ratios.map(|r| r.map_or(NO_BAR, |ratio| (ratio, ratio, ratio))).into()
    };
    let mut latencies: Vec<(String, Vec<_>)> =
        [KERNEL, SHARED].map(|(name, title)| (title.into(), bars(name))).into();
    let mut over_shared = vec![("here".to_string(), flat(ratios))];
    if let Some(name) = baseline {
        // Another core may send other messages meanwhile, which end the gNB's wait: the whole
        // latency is compared, of which the simulated UE and gNB are a small part.
        let bar = |(what, _, ues): &(&str, &str, u32)| {
            results.interval(&total(what, BASELINE, *ues)).unwrap_or(NO_BAR)
        };
        latencies.push((format!("{name}, whole latency"), CASES.iter().map(bar).collect()));
        let ratios = CASES.map(|(what, _, ues)| {
            results.ratio(&total(what, BASELINE, ues), &total(what, SHARED.0, ues))
        });
        over_shared.push((format!("{name} over Martlet's shared memory"), flat(ratios)));
    }
    let paper = super::paper::of("l25gc-6").map(|quantity| match quantity.value {
        super::paper::PaperValue::Number(value) => (value, value, value),
        super::paper::PaperValue::Words(_) => NO_BAR,
    });
    over_shared.insert(0, (super::paper::SERIES.into(), paper.collect()));
    six.drawing = Drawing::Bars(vec![
        Bars {
            title: "latency from the core".into(),
            y_label: "ms".into(),
            groups: groups.clone(),
            series: latencies,
        },
        Bars {
            title: "kernel-based over shared memory".into(),
            y_label: "times".into(),
            groups,
            series: over_shared,
        },
    ]);
    for ((_, what, _), ratio) in CASES.iter().zip(ratios) {
        six.here(what, ratio);
    }
    six.like = "Like the paper, shared memory is compared with HTTP/2 for the same functions in \
                the same run. Unlike it, both SBIs are Martlet's and the core's share is measured \
                at a simulated gNB, so that the milliseconds are not comparable."
        .into();
    six
}

/// Figure 7.
fn latency_with_radio(results: &Results, radio_ms: f64) -> PaperFigure {
    let mut seven = PaperFigure::new(
        "l25gc-7",
        "L25GC+, figure 7: total latency with UE and RAN",
        Mark::ModelledPart,
        "The radio is a model: UEs and gNBs of the simulator wait --radio-ms for each RRC round \
         trip.",
    );
    let with_radio = |what: &str, variant: &str, ues: u32, statistic: &str| {
        format!("{what}_radio.{variant}.ues{ues}.{statistic}")
    };
    let parts = |ues: u32| {
        let cases = || CASES.iter().filter(move |case| case.2 == ues);
        let each = |of: &dyn Fn(&str, &str) -> Option<f64>| -> Vec<(f64, f64, f64)> {
            let values =
                cases().flat_map(|(what, ..)| [KERNEL, SHARED].map(|(sbi, _)| of(what, sbi)));
            values.map(|v| v.map_or(NO_BAR, |v| (v, v, v))).collect()
        };
        let core = |what: &str, sbi: &str| results.value(&with_radio(what, sbi, ues, "core_p50"));
        let whole = |what: &str, sbi: &str| results.value(&with_radio(what, sbi, ues, "p50"));
        let ran = |what: &str, sbi: &str| Some((whole(what, sbi)? - core(what, sbi)?).max(0.0));
        Bars {
            title: format!("total latency, {ues} UE{}", if ues == 1 { "" } else { "s" }),
            y_label: "ms".into(),
            groups: ["reg., HTTP/2", "reg., shared", "session, HTTP/2", "session, shared"]
                .map(String::from)
                .into(),
            series: vec![
                ("CN".into(), each(&core)),
                ("UE and RAN (modelled part)".into(), each(&ran)),
            ],
        }
    };
    seven.drawing = Drawing::Stacked(vec![parts(1), parts(5)]);
    for (what, title, ues) in CASES {
        let of = |variant: &str| with_radio(what, variant, ues, "p50");
        let ratio = results.ratio(&of(KERNEL.0), &of(SHARED.0));
        seven.here(&format!("{title}, with RAN"), ratio);
    }
    seven.like = format!(
        "The paper finds that UE and RAN hide most of what the SBI saves. Five UEs wait at the \
         same time, while the core serves them one after the other, as on the paper's radio. The \
         paper gives no delay of its radio in its text; {radio_ms} ms for a round trip are assumed \
         here."
    );
    seven
}

/// Figure 8.
fn latency_by_ues(results: &Results, baseline: Option<&str>) -> PaperFigure {
    let mut eight = PaperFigure::new(
        "l25gc-8",
        "L25GC+, figure 8: total latency with simulated UEs and RAN",
        Mark::OtherTestbed,
        "UE and RAN are simulated as in the paper; Martlet's two SBIs stand for free5GC's and \
         L25GC+'s.",
    );
    let metrics =
        [("registration", "registration"), ("pdu_session", "PDU session"), ("paging", "paging")];
    let lines = |what: &str, variants: &[(&str, String)]| -> Vec<Series> {
        let points = |variant: &str| {
            let at = |ues: &u32| results.at((*ues).into(), &total(what, variant, *ues));
            UES.iter().filter_map(at).collect()
        };
        let series = variants
            .iter()
            .map(|(variant, name)| Series { name: name.clone(), points: points(variant) });
        series.collect()
    };
    let mut variants: Vec<(&str, String)> =
        [KERNEL, SHARED, ("local", "one process")].map(|(id, name)| (id, name.into())).into();
    variants.extend(baseline.map(|name| (BASELINE, name.into())));
    let limits: Vec<(&str, String)> = [
        (KERNEL.0, format!("HTTP/2, {LIMIT} at once")),
        (SHARED.0, format!("fabric, {LIMIT} at once")),
    ]
    .into_iter()
    .chain(UNLIMITED.map(|(id, name)| (id, name.into())))
    .collect();
    let panel = |title: &str, series| Panel {
        title: title.into(),
        x_label: "number of UEs".into(),
        y_label: "total latency, ms".into(),
        series,
    };
    let mut panels: Vec<Panel> =
        metrics.iter().map(|(what, title)| panel(title, lines(what, &variants))).collect();
    panels.push(panel("PDU session, by the AMF's limit", lines("pdu_session", &limits)));
    eight.drawing = Drawing::Lines(panels, Axes { log_x: true, log_y: true });
    for (what, title) in metrics {
        // An average over fewer points would be another quantity.
        let average = |over: &str| {
            let ratio = |ues| results.ratio(&total(what, over, ues), &total(what, SHARED.0, ues));
            mean(UES.map(ratio))
        };
        eight.here(&format!("{title}, average over 4 to 64 UEs"), average(KERNEL.0));
        let baseline = format!("{title}, --baseline over shared memory, average over 4 to 64 UEs");
        eight.here(&baseline, average(BASELINE));
    }
    eight.here(
        "PDU session, 64 UEs, shared memory: no limit over a limit of 16",
        results
            .ratio(&total("pdu_session", UNLIMITED[1].0, 64), &total("pdu_session", SHARED.0, 64)),
    );
    eight.like = "The paper finds that the latency grows with the UEs, and that shared memory \
                  stays below HTTP/2; the table has the averages. As in the paper, the AMF admits \
                  16 procedures of a kind at once; the fourth panel shows it without this limit. \
                  The line of one process is not in the paper. With --baseline, free5GC, the \
                  paper's baseline, is measured in alternating rounds of the same run."
        .into();
    eight
}
