//! Figure 2: power and temperature of the platform.
use super::study::{MODEL, SENSORS, Study};
use super::{at, both, panel};
use crate::reproduce::results::Point;
use crate::reproduce::{Drawing, Mark, PaperFigure};
use crate::upf::onboard::{LOADS, steady_temperature};
use crate::{Axes, Series};
use martlet_board::BoardConfig;

/// Figure 2.
pub(super) fn board(study: &Study<'_>) -> PaperFigure {
    let mut two = PaperFigure::new(
        "xupfpi-2",
        "XupfPI, figure 2: power and temperature of the simulation platform",
        Mark::ModelledPart,
        MODEL,
    );
    let config = BoardConfig::default();
    let watts = |load: f64| config.idle_watts + load * (config.full_watts - config.idle_watts);
    let points = (0..=10).map(|n| f64::from(n) / 10.0);
    let points = points.map(|load| flat(watts(load), steady_temperature(load)));
    let model = Series { name: "simulated board".into(), points: points.collect() };
    let mut series = measured_power(study);
    if series.is_empty() {
        two.here("power at full load", Some(config.full_watts));
        two.here("temperature in standby", Some(config.idle));
        two.here("temperature of the room", Some(config.room));
        two.like = "The model's parameters are the paper's numbers, so that they agree by \
                    construction. The satellite's own curve is drawn in the paper and not measured \
                    here."
            .into();
        series.push(model);
    } else {
        two.mark = Some(Mark::OtherTestbed);
        two.reason = format!("{SENSORS} The power is that of its power monitor.");
        let all = || series.iter().flat_map(|series| &series.points);
        two.here("power at full load", all().map(|point| point.0).reduce(f64::max));
        two.here("temperature in standby", all().map(|point| point.1).reduce(f64::min));
        two.like =
            "The paper has the curves of the satellite and of its platform. Here is that of \
                    this board under the loads of figure 4; its lowest load stands for standby. \
                    The satellite's own curve is not measured here."
                .into();
    }
    two.drawing = Drawing::Lines(
        vec![panel("power-temperature curve", "power, W", "°C", series)],
        Axes::default(),
    );
    two
}

/// Temperature by power of a board with sensors for both.
fn measured_power(study: &Study<'_>) -> Vec<Series> {
    let points = |variant: &str| -> Vec<Point> {
        let point = |n: usize| {
            let point = format!("load{n}");
            let watts = study.value("watts", variant, &point)?.0;
            Some(at(watts, study.value("celsius", variant, &point)?))
        };
        (0..LOADS.len()).filter_map(point).collect()
    };
    let series = both(points).into_iter();
    series.filter(|series| !series.points.is_empty()).collect()
}

fn flat(x: f64, y: f64) -> Point {
    (x, y, y, y)
}
