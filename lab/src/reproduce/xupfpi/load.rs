//! Figures 4 to 6b: temperature and resources by bandwidth, sessions and their shares.
use super::study::{Study, Value};
use super::{BOTH, STUDY, at, both, panel};
use crate::reproduce::results::{NO_BAR, span};
use crate::reproduce::{Drawing, PaperFigure};
use crate::upf::onboard::{LOADS, SESSIONS, SHARES};
use crate::{Axes, Bars};

/// Figures 4 and 5.
pub(super) fn by_bandwidth(study: &Study<'_>) -> Vec<PaperFigure> {
    let name = |n: usize| format!("load{n}");
    let scale = study.scale();
    let lines = |of: &dyn Fn(&str, &str) -> Option<Value>| {
        both(|variant| {
            let point = |n: usize| Some(at(study.x(n), of(variant, &name(n))?));
            (0..LOADS.len()).filter_map(point).collect()
        })
    };
    // Of the board alone: a process of its own for each point.
    let memory = |variant: &str, point: &str| {
        study.results.interval(&format!("board_memory.{variant}.{point}.median"))
    };
    let rise = |of: &dyn Fn(&str, &str) -> Option<Value>| {
        difference(&[of("kernel", &name(0)), of("kernel", &name(LOADS.len() - 1))])
    };
    let heat = |variant: &str, point: &str| study.celsius(variant, point);
    let busy = |variant: &str, point: &str| study.cpu(variant, point);
    let generator = (0..LOADS.len())
        .filter_map(|n| Some(at(study.x(n), study.cpu("generator", &name(n))?)))
        .collect();
    let cpu = study.with_generator(lines(&busy), generator);
    let (mark, reason) = study.mark_of_heat();
    let title = "XupfPI, figure 4: bandwidth and temperature";
    let mut four = PaperFigure::new("xupfpi-4", title, mark, &reason);
    let title = study.heat("temperature after an hour");
    four.drawing = Drawing::Lines(vec![panel(&title, &scale, "°C", lines(&heat))], Axes::default());
    let what = "rise of the temperature from the lowest to the highest load, vanilla";
    four.here(what, rise(&heat));
    four.like = "The paper finds that the temperature rises with the bandwidth. As there, the \
                 bandwidth is that of all sessions together."
        .into();
    let mut five = PaperFigure::new(
        "xupfpi-5",
        "XupfPI, figure 5: bandwidth and resources",
        study.mark(),
        &study.machine(),
    );
    five.drawing = Drawing::Lines(
        vec![
            panel(study.cpu_title(), &scale, "% of the computing power", cpu),
            panel("memory of the UPF alone", &scale, "MB", lines(&memory)),
        ],
        Axes::default(),
    );
    five.here("rise of the CPU time, vanilla", rise(&busy));
    five.here("rise of the memory, vanilla", rise(&memory));
    five.like = "The paper finds that CPU time grows with the bandwidth, and more than memory. \
                 Generator and receiver stand for the interface's driver. The \
                 memory is what the datapath adds to a process of its own, with its eBPF maps; \
                 memory of the kernel's sockets is not in it."
        .into();
    (four.more, five.more) = (study.beside().map(|_| STUDY), study.beside().map(|_| STUDY));
    vec![four, five]
}

/// Figures 6a and 6b.
pub(super) fn by_sessions(study: &Study<'_>) -> Vec<PaperFigure> {
    let bars = |title: &str, groups: Vec<String>, points: &[String]| {
        let series = BOTH.map(|(variant, name)| {
            let bar = |point: &String| study.celsius(variant, point);
            (name.to_string(), points.iter().map(|point| bar(point).unwrap_or(NO_BAR)).collect())
        });
        Bars { title: title.into(), y_label: "°C".into(), groups, series: series.into() }
    };
    let differs = |points: &[String]| {
        span(points.iter().filter_map(|point| Some(study.celsius("kernel", point)?.0)))
    };
    let rate = match study.share {
        Some(_) => "The total rate is 20 Mbit/s, as in the paper.",
        None => "The total rate is 164 Mbit/s in place of 20.",
    };
    let (mark, reason) = study.mark_of_heat();
    let sessions = SESSIONS.map(|n| format!("sessions{n}"));
    let title = "XupfPI, figure 6a: number of sessions and temperature";
    let mut a = PaperFigure::new("xupfpi-6a", title, mark, &reason);
    let title = study.heat("temperature by sessions at one total rate");
    a.drawing =
        Drawing::Bars(vec![bars(&title, SESSIONS.map(|n| n.to_string()).into(), &sessions)]);
    a.here("difference of the temperatures, vanilla", differs(&sessions));
    a.like = format!(
        "The paper finds that the total bandwidth decides, not the number of sessions. {rate}"
    );
    let shares = SHARES.map(|n| format!("share{n}"));
    let title = "XupfPI, figure 6b: allocation of the bandwidth and temperature";
    let mut b = PaperFigure::new("xupfpi-6b", title, mark, &reason);
    let title = study.heat("temperature by one session's share of the rate");
    b.drawing = Drawing::Bars(vec![bars(&title, SHARES.map(|n| format!("{n} %")).into(), &shares)]);
    b.here("difference of the temperatures, vanilla", differs(&shares));
    b.like = format!(
        "The paper finds that one session's share hardly matters. Here too, the rest is spread \
         over 100 sessions. {rate}"
    );
    (a.more, b.more) = (study.beside().map(|_| STUDY), study.beside().map(|_| STUDY));
    vec![a, b]
}

/// The difference of the last and the first value.
fn difference(values: &[Option<Value>]) -> Option<f64> {
    Some(values.last().copied().flatten()?.0 - values.first().copied().flatten()?.0)
}
