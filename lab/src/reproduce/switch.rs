//! The programmable switch: figure 2, and the three settings of users and rules.
use super::results::{NO_BAR, Results, mean};
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
/// The other frame that is measured with all settings.
const LARGE: u32 = 1518;
/// Bytes of the smallest frame with a tunnel, with FCS.
const SMALLEST_TUNNELLED: u32 = 98;
/// The engines of the switch, as the values name them.
const ENGINES: [(&str, &str); 2] = [("switch", "DPDK"), ("switch_xdp", "XDP")];
/// Seconds of a trial by RFC 2544, 24.
const RFC_2544_TRIAL: f64 = 60.0;

pub(super) fn arguments(args: &ReproduceArgs) -> Vec<String> {
    let mut words = vec!["--interfaces".to_string(), "--interfaces-only".into()];
    let (frames, loads) = match (args.minimal, args.quick) {
        (true, _) => ("64", "1"),
        (_, true) => ("64,1518", "3"),
        _ => ("64,128,256,1024,1518", "3"),
    };
    words.extend(["--frames", frames, "--loads", loads].map(String::from));
    if args.minimal {
        words.push("--forwarding-only".into());
    }
    if !args.quick {
        words.extend(["--trial".into(), args.trial.to_string()]);
    }
    if let Some(program) = &args.switch_program {
        words.extend(["--program".into(), program.display().to_string()]);
    }
    words
}

/// Length in bytes of a frame, with FCS: the smallest frame with a tunnel is larger than the
/// smallest Ethernet frame.
fn length(direction: &str, frame: u32) -> u32 {
    if direction == "uplink" { frame.max(SMALLEST_TUNNELLED) } else { frame }
}

/// How long the trials were.
fn trials(results: &Results) -> String {
    let confirmations = results
        .rows
        .iter()
        .filter(|row| row.first().is_some_and(|name| name.contains("_confirmation_")))
        .count();
    let seconds = results.value("trial_length.interfaces.confirmation");
    let seconds = seconds.filter(|_| confirmations > 0);
    let conformant = seconds.is_some_and(|seconds| seconds >= RFC_2544_TRIAL);
    let mut text = match seconds {
        Some(seconds) => format!(
            "Rates of the engines and of the native kernel UPF are those of {confirmations} trials \
             of {seconds:.0} s; rates of the native XDP UPF are those of trials of a second."
        ),
        None => "No rate is confirmed by a longer trial.".into(),
    };
    if !conformant {
        text += " This is not RFC 2544, which requires trials of 60 s.";
    }
    text
}

pub(super) fn figures(results: &Results) -> Vec<PaperFigure> {
    let id = |what: &str, variant: &str, direction: &str, frame: u32, load: &str, of: &str| {
        format!("{what}.{variant}.{direction}_{frame}_{load}_interface.{of}")
    };
    let pps = |variant: &str, direction: &str, frame: u32, load: &str| {
        results.value(&id("pps", variant, direction, frame, load, "loss_free"))
    };
    let gbit = |variant: &str, direction: &str, frame: u32, load: &str| {
        let bits = f64::from(length(direction, frame)) * 8.0;
        Some(pps(variant, direction, frame, load)? * bits / 1e9)
    };
    let mpps = |variant: &str, direction: &str, frame: u32, load: &str| {
        Some(pps(variant, direction, frame, load)? / 1e6)
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
    for (direction, name) in DIRECTIONS {
        // The paper's values are averages over its frames.
        let average = |of: Of<'_>, variant: &str| {
            mean(frames.iter().map(|frame| of(variant, direction, *frame, first)))
        };
        let native = average(&gbit, "kernel");
        two.here(&format!("{name}, native"), native);
        two.here(&format!("latency of {name}, native"), average(&latency, "kernel"));
        for (variant, engine) in ENGINES {
            let switch = average(&gbit, variant);
            two.here(&format!("{name}, switch, {engine}"), switch);
            let times = switch.zip(native).map(|(switch, native)| switch / native);
            two.here(&format!("{name}, switch over native, {engine}"), times);
            two.here(&format!("latency of {name}, switch, {engine}"), average(&latency, variant));
        }
    }
    two.like = format!(
        "The paper finds that the switch carries more and answers sooner than the native UPF. A \
         chip's line rate cannot show on one CPU. Both are averages over {} frames: the paper's \
         size 1,058 is 1,518 here, as RFC 2544 has it, and the smallest frame with a tunnel has \
         {SMALLEST_TUNNELLED} bytes. {}",
        frames.len(),
        trials(results)
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
    let kinds: [(&str, &str, Of<'_>); 2] =
        [("throughput", "10⁶ packets/s, without loss", &mpps), ("latency", "µs, median", &latency)];
    let mut panels = Vec::new();
    for (what, unit, of) in kinds {
        panels.extend(DIRECTIONS.map(|(direction, name)| {
            Bars {
                title: format!("{name}: {what}, frames of {frame} bytes"),
                y_label: unit.into(),
                groups: LOADS.map(|(_, title)| title.to_string()).into(),
                series: VARIANTS
                    .map(|(variant, title)| {
                        let bars =
                            LOADS.iter().map(|(load, _)| bar(of(variant, direction, frame, load)));
                        (title.to_string(), bars.collect())
                    })
                    .into(),
            }
        }));
        for (load, title) in &LOADS[1..] {
            for (variant, engine) in ENGINES {
                let ratio = mean(DIRECTIONS.map(|(direction, _)| {
                    let at = |load: &str| of(variant, direction, frame, load);
                    Some(at(load)? / at(first)?).filter(|ratio| ratio.is_finite())
                }));
                users.here(&format!("{what} with {title}, {engine}"), ratio);
            }
        }
    }
    users.drawing = Drawing::Bars(panels);
    users.like = "The paper finds similar metrics for all three settings and prints none. Here \
                  both engines and both native UPFs are shown, and the values are relative to 1 \
                  user and 1 rule, averaged over both directions; a CPU's caches make rules cost \
                  something, which a chip's tables do not."
        .into();
    vec![two, users]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::paper;

    /// Results with a rate of 1,000, 2,000 … packets per second for each variant, 1.5 µs, 3 µs …
    /// and a fifth less with more rules.
    fn results() -> Results {
        let mut figures = Vec::new();
        for (n, (variant, _)) in (1..).zip(VARIANTS) {
            for (direction, _) in DIRECTIONS {
                for (load, _) in LOADS {
                    let share = if load == "1u_1r" { 1.0 } else { 0.8 };
                    for frame in [64, 1518] {
                        let at = format!("{variant}.{direction}_{frame}_{load}_interface");
                        let n = f64::from(n);
                        figures.push((format!("pps.{at}.loss_free"), 1_000.0 * n * share));
                        figures.push((format!("latency.{at}.p50"), 1.5 * n / share));
                    }
                }
            }
        }
        figures.push(("trial_length.interfaces.confirmation".into(), 60.0));
        let row = ["uplink_confirmation_1u_1r", "64", "1", "switch", "0", "1000", "0"];
        let figures: Vec<_> = figures.iter().map(|(id, v)| (&id[..], (*v, *v, *v))).collect();
        Results::of(vec![row.map(String::from).into()]).with(&figures)
    }

    #[test]
    fn both_engines_have_values_averaged_over_the_frames() {
        let [two, users] = figures(&results()).try_into().unwrap_or_else(|_| panic!("two figures"));
        assert!(two.here.iter().chain(&users.here).all(|(_, value)| value.is_some()));
        let value = |figure: &PaperFigure, what: &str| {
            let found = figure.here.iter().find(|(quantity, _)| quantity.what == what);
            found.and_then(|(_, value)| *value).unwrap_or_else(|| panic!("{what}"))
        };
        let near = |value: f64, expected: f64| {
            assert!((value / expected - 1.0).abs() < 1e-9, "{value}, not {expected}");
        };
        // 3,000 frames of 64 and of 1,518 bytes; 98 and 1,518 with a tunnel.
        near(value(&two, "encapsulation, switch, DPDK"), 3_000.0 * 8.0 * 791.0 / 1e9);
        near(value(&two, "decapsulation, switch, XDP"), 4_000.0 * 8.0 * 808.0 / 1e9);
        near(value(&two, "encapsulation, switch over native, XDP"), 4.0);
        near(value(&two, "latency of decapsulation, switch, DPDK"), 4.5);
        near(value(&users, "throughput with 1 user, 1,000 rules, XDP"), 0.8);
        near(value(&users, "latency with 100 users, 1,000 rules, DPDK"), 1.25);
        assert!(two.like.contains("1 trials of 60 s") && !two.like.contains("not RFC 2544"));
        for figure in [&two, &users] {
            let Drawing::Bars(panels) = &figure.drawing else { panic!("bars") };
            let titles: Vec<&str> = panels.iter().map(|panel| &panel.title[..]).collect();
            assert_eq!(titles.len(), 4, "{titles:?}");
            assert!(titles.iter().any(|title| title.contains("latency")), "{titles:?}");
            assert!(figure.drawing.values().iter().all(|drawn| drawn.series != paper::SERIES));
        }
    }

    #[test]
    fn a_run_without_long_trials_is_not_rfc_2544() {
        let two = figures(&Results::default()).remove(0);
        assert!(two.like.contains("This is not RFC 2544"), "{}", two.like);
    }
}
