//! The programmable switch: figure 2, and the three settings of users and rules.
use super::results::{NO_BAR, Results};
use super::{Drawing, Mark, PaperFigure, ReproduceArgs};
use crate::Bars;

/// The native UPFs and the two engines of the switch.
const VARIANTS: [(&str, &str); 4] = [
    ("kernel", "native, kernel"),
    ("xdp", "native, XDP"),
    ("switch", "switch, DPDK"),
    ("switch_xdp", "switch, XDP"),
];
const DIRECTIONS: [(&str, &str); 2] = [("downlink", "encapsulation"), ("uplink", "decapsulation")];
/// Frame sizes of the paper that RFC 2544 has.
const FRAMES: [u32; 5] = [64, 128, 256, 1024, 1518];
const LOADS: [(&str, &str); 3] = [
    ("1u_1r", "1 user, 1 rule"),
    ("1u_1000r", "1 user, 1,000 rules"),
    ("100u_1000r", "100 users, 1,000 rules"),
];
/// The frame whose values stand beside the paper's averages.
const LARGE: u32 = 1518;

pub(super) fn arguments(args: &ReproduceArgs) -> Vec<String> {
    let mut words = vec!["--interfaces".to_string(), "--interfaces-only".into()];
    let (frames, loads) = match (args.minimal, args.quick) {
        (true, _) => ("64", "1"),
        (_, true) => ("64,1518", "3"),
        _ => ("64,128,256,1024,1518", "3"),
    };
    words.extend(["--frames", frames, "--loads", loads].map(String::from));
    if !args.quick {
        words.extend(["--trial".into(), args.trial.to_string()]);
    }
    if let Some(program) = &args.switch_program {
        words.extend(["--program".into(), program.display().to_string()]);
    }
    words
}

pub(super) fn figures(results: &Results) -> Vec<PaperFigure> {
    let id = |what: &str, variant: &str, direction: &str, frame: u32, load: &str, of: &str| {
        format!("{what}.{variant}.{direction}_{frame}_{load}_interface.{of}")
    };
    let gbit = |variant: &str, direction: &str, frame: u32, load: &str| {
        let pps = results.value(&id("pps", variant, direction, frame, load, "loss_free"))?;
        Some(pps * f64::from(frame) * 8.0 / 1e9)
    };
    let latency = |variant: &str, direction: &str, frame: u32, load: &str| {
        results.value(&id("latency", variant, direction, frame, load, "p50"))
    };
    let bar = |value: Option<f64>| value.map_or(NO_BAR, |v| (v, v, v));
    let first = LOADS[0].0;
    let frames: Vec<u32> = FRAMES
        .into_iter()
        .filter(|frame| gbit("kernel", "uplink", *frame, first).is_some())
        .collect();
    let mut two = PaperFigure::new(
        "switch-2",
        "Programmable switch, figure 2: throughput and latency by frame size",
        Mark::OtherTestbed,
        "The paper's switch is a chip with ports of 100 Gbit/s; here a P4 program runs in software \
         and shares one CPU with the tester, over virtual links.",
    );
    let groups: Vec<String> = frames.iter().map(|frame| format!("{frame} B")).collect();
    let mut panels = Vec::new();
    type Of<'a> = &'a dyn Fn(&str, &str, u32, &str) -> Option<f64>;
    let kinds: [(&str, &str, Of<'_>); 2] =
        [("throughput", "Gbit/s, without loss", &gbit), ("latency", "µs, median", &latency)];
    for (what, unit, of) in kinds {
        for (direction, name) in DIRECTIONS {
            let series = VARIANTS.map(|(variant, title)| {
                let bars =
                    frames.iter().map(|frame| bar(of(variant, direction, *frame, first))).collect();
                (title.to_string(), bars)
            });
            panels.push(Bars {
                title: format!("{name}: {what}"),
                y_label: unit.into(),
                groups: groups.clone(),
                series: series.into(),
            });
        }
    }
    two.drawing = Drawing::Bars(panels);
    let large = frames.last().copied().unwrap_or(LARGE);
    for (direction, name) in DIRECTIONS {
        let (switch, native) =
            (gbit("switch", direction, large, first), gbit("kernel", direction, large, first));
        two.here(&format!("{name}, switch"), switch);
        two.here(&format!("{name}, native"), native);
        let times = switch.zip(native).map(|(switch, native)| switch / native);
        two.here(&format!("{name}, switch over native"), times);
        let (switch, native) = (
            latency("switch", direction, large, first),
            latency("kernel", direction, large, first),
        );
        two.here(&format!("latency of {name}, switch"), switch);
        two.here(&format!("latency of {name}, native"), native);
    }
    two.like = format!(
        "The paper finds that the switch carries more and answers sooner than the native UPF. A \
        chip's line rate cannot show on one CPU, so the values here are for frames of \
         {large} bytes beside the paper's averages; the paper's sizes 1,058 and 1,024 are 1,518 \
         and \
         1,024 here, as RFC 2544 has them."
    );

    let mut users = PaperFigure::new(
        "switch-users",
        "Programmable switch, section 3: three settings of users and rules",
        Mark::OtherTestbed,
        "As figure 2: software on one CPU in place of a chip.",
    );
    let frame = [64, LARGE]
        .into_iter()
        .find(|frame| gbit("switch", "uplink", *frame, LOADS[1].0).is_some())
        .unwrap_or(64);
    let mpps = |variant: &str, direction: &str, load: &str| {
        let pps = results.value(&id("pps", variant, direction, frame, load, "loss_free"))?;
        Some(pps / 1e6)
    };
    let panel = |(direction, name): (&str, &str)| Bars {
        title: format!("{name}, frames of {frame} bytes"),
        y_label: "10⁶ packets/s, without loss".into(),
        groups: LOADS.map(|(_, title)| title.to_string()).into(),
        series: VARIANTS
            .map(|(variant, title)| {
                let bars = LOADS.iter().map(|(load, _)| bar(mpps(variant, direction, load)));
                (title.to_string(), bars.collect())
            })
            .into(),
    };
    users.drawing = Drawing::Bars(DIRECTIONS.map(panel).into());
    for (load, title) in &LOADS[1..] {
        let of = |load: &str| mpps("switch", "uplink", load);
        let ratio = of(load).zip(of(first)).map(|(many, one)| many / one);
        users.here(&format!("{title} over 1 user, 1 rule"), ratio);
    }
    users.like = "The paper finds similar metrics for all three settings and prints none. Here \
                  both engines and both native UPFs are shown; a CPU's caches make rules cost \
                  something, which a chip's tables do not."
        .into();
    vec![two, users]
}
