//! Line plots.
use super::{
    COLOURS, arrow, axis_max, beyond, draw_legend, draw_panels, outlier_limit, plot_error,
    power_tick, tick,
};
use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::path::Path;

/// A line with an interval at each point.
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// `(x, value, low, high)`.
    pub points: Vec<(f64, f64, f64, f64)>,
}

/// A coordinate system with its lines.
pub struct Panel {
    /// The title above.
    pub title: String,
    /// The label of the x axis.
    pub x_label: String,
    /// The label of the y axis; its scale has no zero where this is `°C`.
    pub y_label: String,
    /// The lines.
    pub series: Vec<Series>,
}

/// Scales of a panel's axes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Axes {
    /// The x axis doubles from tick to tick.
    pub log_x: bool,
    /// The y axis grows tenfold from tick to tick.
    pub log_y: bool,
}

/// A text at a point of a line.
pub struct PointLabel {
    /// The line.
    pub series: String,
    /// The point's place on the x axis.
    pub x: f64,
    /// The text, of a few characters.
    pub text: String,
    /// Whether the text is below the point rather than above it, where both are free.
    pub is_below: bool,
}

/// Draws panels side by side, four in a square and more in rows of three, into `NAME.svg` and
/// `NAME.png`.
///
/// # Errors
/// A file cannot be written.
pub fn draw(folder: &Path, name: &str, panels: &[Panel]) -> Result<()> {
    draw_scaled(folder, name, panels, Axes::default())
}

/// As [`draw`], with the scales of the axes. Points that a logarithmic axis has no place for are
/// left out.
///
/// # Errors
/// A file cannot be written.
pub fn draw_scaled(folder: &Path, name: &str, panels: &[Panel], axes: Axes) -> Result<()> {
    draw_labelled(folder, name, panels, axes, &[])
}

/// As [`draw_scaled`], with texts at points.
///
/// # Errors
/// A file cannot be written.
pub fn draw_labelled(
    folder: &Path,
    name: &str,
    panels: &[Panel],
    axes: Axes,
    labels: &[PointLabel],
) -> Result<()> {
    let draw = |area: &DrawingArea<SVGBackend<'_>, Shift>, panel: &Panel, has_legend| {
        draw_panel(area, &transformed(panel, axes), axes, labels, has_legend)
    };
    draw_panels(folder, name, panels, draw, names)
}

fn names(panel: &Panel) -> Vec<&str> {
    panel.series.iter().map(|series| series.name.as_str()).collect()
}

/// The panel in the coordinates of its axes.
fn transformed(panel: &Panel, axes: Axes) -> Panel {
    let x = |x: f64| if axes.log_x { x.log2() } else { x };
    let y = |y: f64| if axes.log_y { y.log10() } else { y };
    // An interval that reaches below 0 ends at a tenth of its value on a logarithmic axis.
    let low = |p: &(f64, f64, f64, f64)| if axes.log_y { p.2.max(p.1 / 10.0) } else { p.2 };
    let series = panel.series.iter().map(|series| {
        let points = series.points.iter().map(|p| (x(p.0), y(p.1), y(low(p)), y(p.3)));
        let points = points.filter(|p| [p.0, p.1, p.2, p.3].iter().all(|v| v.is_finite()));
        Series { name: series.name.clone(), points: points.collect() }
    });
    Panel {
        title: panel.title.clone(),
        x_label: panel.x_label.clone(),
        y_label: panel.y_label.clone(),
        series: series.collect(),
    }
}

fn draw_panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    panel: &Panel,
    axes: Axes,
    labels: &[PointLabel],
    has_legend: bool,
) -> Result<()> {
    // A logarithmic axis has room for all values.
    let limit = match axes.log_y {
        true => f64::INFINITY,
        false => outlier_limit(panel.series.iter().flat_map(|s| &s.points).map(|p| p.1)),
    };
    let (panel, outliers) = without_outliers(panel, limit);
    let panel = &panel;
    let points = || panel.series.iter().flat_map(|s| s.points.iter());
    let x_max = axis_max(points().map(|p| p.0));
    let x_min = points().map(|p| p.0).fold(f64::INFINITY, f64::min);
    // An axis begins at 0, unless most of it would be empty. A single point has an axis too.
    let x_start = if axes.log_x && x_min < x_max {
        x_min - (x_max - x_min) * 0.03
    } else if x_min < x_max && x_min > x_max / 2.0 {
        x_min - (x_max - x_min) * 0.05
    } else {
        0.0
    };
    let y_min = points().map(|p| p.2).fold(f64::INFINITY, f64::min);
    let y_max = if axes.log_y && y_min.is_finite() {
        points().map(|p| p.3).fold(f64::NEG_INFINITY, f64::max).max(y_min.floor() + 1.0)
    } else if y_min < 0.0 {
        points().map(|p| p.3).fold(0.0, f64::max)
    } else {
        axis_max(points().map(|p| p.3))
    };
    // Zero has no meaning on a scale of temperatures. Negative values get room below 0.
    let y_start = match panel.y_label.as_str() {
        _ if axes.log_y && y_min.is_finite() => y_min.floor(),
        "°C" => (y_min.min(y_max) / 10.0).floor() * 10.0 - 10.0,
        _ => y_min.min(0.0) * 1.1,
    };
    // Points at whole numbers get ticks at whole numbers only.
    let span = x_max - x_start;
    let whole = axes.log_x && span <= 20.0 || span <= 10.0 && points().all(|p| p.0.fract() == 0.0);
    let ticks = if whole { (span.floor() as usize).max(1) + 1 } else { 11 };
    // A long legend gets room beside the lines, a short one a corner without lines.
    let (head, beside, corner) = match panel.series.len() {
        ..=8 => {
            let (head, corner) = corner_of(panel, (x_start, x_max), (y_start, y_max));
            (head, 0.05, corner)
        }
        _ => {
            let part = (0.1 + 0.0135 * longest_name(panel) as f64).min(0.6);
            (1.1, 1.0 / (1.0 - part) - 1.0, SeriesLabelPosition::UpperRight)
        }
    };
    // Powers of ten only.
    let y_ticks = if axes.log_y { ((y_max - y_start) * head).ceil() as usize + 1 } else { 11 };
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(58)
        .build_cartesian_2d(
            x_start..x_max + (x_max - x_start) * beside,
            y_start..y_start + (y_max - y_start) * head,
        )
        .map_err(plot_error)?;
    chart
        .configure_mesh()
        .x_desc(&panel.x_label)
        .y_desc(&panel.y_label)
        .x_labels(ticks)
        .y_labels(y_ticks)
        .x_label_formatter(&|x| match axes.log_x {
            // Labels of every power would overlap.
            true if span > 9.0 && x.round() as i64 % 2 != 0 => String::new(),
            true => power_tick(2.0, *x),
            false => tick(*x),
        })
        .y_label_formatter(&|y| if axes.log_y { power_tick(10.0, *y) } else { tick(*y) })
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 14))
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(225, 225, 225))
        .draw()
        .map_err(plot_error)?;
    for (n, (series, colour)) in panel.series.iter().zip(COLOURS.iter().cycle()).enumerate() {
        // Two points are no curve: a line through them would suggest values between them.
        let line = series.points.iter().filter(|_| series.points.len() > 2).map(|p| (p.0, p.1));
        chart
            .draw_series(LineSeries::new(line, colour.stroke_width(2)))
            .map_err(plot_error)?
            .label(&series.name)
            .legend(move |(x, y)| {
                let line = PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2));
                EmptyElement::at((0, 0)) + line + mark((x + 9, y), n, *colour)
            });
        // An interval too short to be seen is not drawn.
        let seen = series.points.iter().filter(|p| p.3 - p.2 > (y_max - y_start) * 0.01);
        let bars = seen.map(|p| ErrorBar::new_vertical(p.0, p.2, p.1, p.3, colour.filled(), 6));
        chart.draw_series(bars).map_err(plot_error)?;
        // Marks of a long line would hide it.
        if series.points.len() <= 32 {
            let marks = series
                .points
                .iter()
                .map(|p| EmptyElement::at((p.0, p.1)) + mark((0, 0), n, *colour));
            chart.draw_series(marks).map_err(plot_error)?;
        }
    }
    let arrows = outliers.iter().map(|outlier| {
        let colour = COLOURS[outlier.series % COLOURS.len()];
        let style = ("sans-serif", 11).into_font().color(&colour);
        EmptyElement::at((outlier.x, y_start + (y_max - y_start) * head))
            + arrow(colour)
            + Text::new(beyond(outlier.value), (7, 2), style)
    });
    chart.draw_series(arrows).map_err(plot_error)?;
    let at = |p: &(f64, f64, f64, f64)| chart.backend_coord(&(p.0, p.1));
    let texts = placed(panel, axes, labels, at);
    for text in texts {
        let style = ("sans-serif", TEXT).into_font().color(&COLOURS[text.series % COLOURS.len()]);
        let style = style.pos(Pos::new(HPos::Center, VPos::Center));
        chart
            .draw_series([EmptyElement::at(text.point)
                + Text::new(text.text.to_string(), (0, text.dy), style)])
            .map_err(plot_error)?;
    }
    if !has_legend {
        return Ok(());
    }
    draw_legend(&mut chart, corner)
}

/// A value beyond the end of the y axis.
struct Outlier {
    series: usize,
    x: f64,
    value: f64,
}

/// A panel whose values are at most `limit`, and the values that are not. Intervals end at the
/// largest of the other values.
fn without_outliers(panel: &Panel, limit: f64) -> (Panel, Vec<Outlier>) {
    let usual = |p: &&(f64, f64, f64, f64)| p.1 <= limit;
    let all = || panel.series.iter().flat_map(|series| &series.points);
    let end = match limit.is_finite() {
        true => all().filter(usual).map(|p| p.3.min(limit)).fold(f64::NEG_INFINITY, f64::max),
        false => f64::INFINITY,
    };
    let mut outliers = Vec::new();
    let series = panel.series.iter().enumerate().map(|(n, series)| {
        let far = series.points.iter().filter(|p| p.1 > limit);
        outliers.extend(far.map(|p| Outlier { series: n, x: p.0, value: p.1 }));
        let points = series.points.iter().filter(usual);
        let points = points.map(|p| (p.0, p.1, p.2, p.3.min(end)));
        Series { name: series.name.clone(), points: points.collect() }
    });
    let series = series.collect();
    let title = match outliers.is_empty() {
        true => panel.title.clone(),
        false => format!("{} (arrows: values beyond the axis)", panel.title),
    };
    let (x_label, y_label) = (panel.x_label.clone(), panel.y_label.clone());
    (Panel { title, x_label, y_label, series }, outliers)
}

/// Height of the texts at points, in pixels.
const TEXT: i32 = 10;

/// A text at a point.
struct Placed<'a> {
    series: usize,
    point: (f64, f64),
    text: &'a str,
    /// Pixels from the point to the text's middle, downwards.
    dy: i32,
}

/// Puts each text above or below its point, at the nearest height where it covers neither a mark
/// nor another text.
fn placed<'a>(
    panel: &Panel,
    axes: Axes,
    labels: &'a [PointLabel],
    pixel: impl Fn(&(f64, f64, f64, f64)) -> (i32, i32),
) -> Vec<Placed<'a>> {
    let mut all: Vec<Placed<'a>> = Vec::new();
    for label in labels {
        let x = if axes.log_x { label.x.log2() } else { label.x };
        let is_here = |p: &&(f64, f64, f64, f64)| (p.0 - x).abs() < 1e-6;
        let Some(series) = panel.series.iter().position(|series| series.name == label.series)
        else {
            continue;
        };
        let Some(point) = panel.series[series].points.iter().find(is_here) else { continue };
        let own = pixel(point).1;
        let marks: Vec<i32> = panel
            .series
            .iter()
            .filter_map(|series| Some(pixel(series.points.iter().find(is_here)?).1))
            .collect();
        let texts: Vec<i32> = all
            .iter()
            .filter(|text| (text.point.0 - x).abs() < 1e-6)
            .map(|text| pixel(&(text.point.0, text.point.1, 0.0, 0.0)).1 + text.dy)
            .collect();
        let is_free = |dy: &i32| {
            marks.iter().all(|mark| (own + dy - mark).abs() > TEXT - 1)
                && texts.iter().all(|text| (own + dy - text).abs() > TEXT)
        };
        let up = if label.is_below { 1 } else { -1 };
        let places = (1..10).flat_map(|step| [up * step * (TEXT + 1), -up * step * (TEXT + 1)]);
        let dy = places.into_iter().find(is_free).unwrap_or(up * (TEXT + 1));
        all.push(Placed { series, point: (point.0, point.1), text: &label.text, dy });
    }
    all
}

/// The mark of the n-th series: a shape of its own, for readers who cannot distinguish colours.
fn mark(at: (i32, i32), n: usize, colour: RGBColor) -> Polygon<(i32, i32)> {
    const SHAPES: [&[(i32, i32)]; 5] = [
        &[(-2, -4), (2, -4), (4, -2), (4, 2), (2, 4), (-2, 4), (-4, 2), (-4, -2)],
        &[(-4, 4), (4, 4), (0, -5)],
        &[(-4, -4), (4, -4), (4, 4), (-4, 4)],
        &[(0, -6), (5, 0), (0, 6), (-5, 0)],
        &[(-4, -4), (4, -4), (0, 5)],
    ];
    let shape = SHAPES[n % SHAPES.len()];
    Polygon::new(
        shape.iter().map(|p| (at.0 + p.0, at.1 + p.1)).collect::<Vec<_>>(),
        colour.filled(),
    )
}

fn longest_name(panel: &Panel) -> usize {
    panel.series.iter().map(|series| series.name.chars().count()).max().unwrap_or(0)
}

/// A corner in which a legend covers no line, and the height of the panel, as a multiple of the
/// highest point, that makes room for it.
fn corner_of(
    panel: &Panel,
    (x_start, x_max): (f64, f64),
    (y_start, y_max): (f64, f64),
) -> (f64, SeriesLabelPosition) {
    const HEAD: f64 = 1.1;
    // Estimated size of the legend, as a share of the panel.
    let wide = (0.1 + 0.018 * longest_name(panel) as f64).min(0.9);
    let high = 0.05 + 0.065 * panel.series.len() as f64;
    let within = |x: f64, y: f64, (left, upper): (bool, bool)| {
        let (x, y) = (
            (x - x_start) / ((x_max - x_start) * 1.05),
            (y - y_start) / ((y_max - y_start) * HEAD),
        );
        (if left { x < wide } else { x > 1.0 - wide })
            && (if upper { y > 1.0 - high } else { y < high })
    };
    let covers = |corner: (bool, bool)| {
        panel.series.iter().any(|series| {
            let ends =
                series.points.iter().any(|p| within(p.0, p.3, corner) || within(p.0, p.2, corner));
            ends || series.points.windows(2).any(|pair| {
                let at = |n: u32| {
                    let part = f64::from(n) / 16.0;
                    (
                        pair[0].0 + (pair[1].0 - pair[0].0) * part,
                        pair[0].1 + (pair[1].1 - pair[0].1) * part,
                    )
                };
                (0..16).map(at).any(|(x, y)| within(x, y, corner))
            })
        })
    };
    let corners = [
        ((true, true), SeriesLabelPosition::UpperLeft),
        ((false, true), SeriesLabelPosition::UpperRight),
        ((false, false), SeriesLabelPosition::LowerRight),
        ((true, false), SeriesLabelPosition::LowerLeft),
    ];
    match corners.into_iter().find(|(corner, _)| !covers(*corner)) {
        Some((_, corner)) => (HEAD, corner),
        // No corner is free: above all lines.
        None => (1.02 / (1.0 - high.min(0.6)), SeriesLabelPosition::UpperLeft),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legend_covers_no_line() {
        let of = |points: &[(f64, f64)]| {
            let points = points.iter().map(|p| (p.0, p.1, p.1, p.1)).collect();
            let series = vec![Series { name: "switch".into(), points }];
            let panel = Panel {
                title: String::new(),
                x_label: String::new(),
                y_label: String::new(),
                series,
            };
            corner_of(&panel, (0.0, 10.0), (0.0, 10.0))
        };
        assert!(matches!(of(&[(0.0, 0.0), (10.0, 10.0)]), (_, SeriesLabelPosition::UpperLeft)));
        assert!(matches!(of(&[(0.0, 10.0), (10.0, 0.0)]), (_, SeriesLabelPosition::UpperRight)));
        assert!(matches!(of(&[(0.0, 10.0), (10.0, 10.0)]), (_, SeriesLabelPosition::LowerRight)));
        let (head, _) = of(&[(0.0, 10.0), (0.1, 0.0), (9.9, 0.0), (10.0, 10.0)]);
        assert!(head > 1.1, "{head}");
    }

    #[test]
    fn an_outlier_is_an_arrow_with_its_number() {
        let folder = std::env::temp_dir().join(format!("martlet-outlier-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let point = |n: u32| {
            let y = if n == 12 { 250.0 } else { 5.0 + f64::from(n % 4) };
            (f64::from(n), y, y - 1.0, y + 1.0)
        };
        let panel = || Panel {
            title: "loss".into(),
            x_label: "seconds".into(),
            y_label: "% lost".into(),
            series: vec![Series { name: "kernel".into(), points: (0..24).map(point).collect() }],
        };
        let (usual, outliers) = without_outliers(&panel(), 24.0);
        assert_eq!((usual.series[0].points.len(), outliers.len()), (23, 1));
        draw(&folder, "outlier", &[panel()]).unwrap();
        let svg = std::fs::read_to_string(folder.join("outlier.svg")).unwrap();
        let numbers: Vec<&str> = svg.lines().map(str::trim).collect();
        assert!(numbers.contains(&"250") && !numbers.contains(&"200"), "the axis ends below");
        if std::env::var_os("MARTLET_KEEP_PLOT").is_none() {
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }

    #[test]
    fn a_plot_of_nothing_but_zeros_and_one_of_temperatures_have_marks_that_can_be_read() {
        let folder =
            std::env::temp_dir().join(format!("martlet-plot-marks-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let panel = |y_label: &str, y: f64| Panel {
            title: "marks".into(),
            x_label: "Mbit/s".into(),
            y_label: y_label.into(),
            series: vec![Series {
                name: "xdp".into(),
                points: vec![(1.0, y, y, y), (2.0, y, y, y)],
            }],
        };
        draw(&folder, "zeros", &[panel("% lost", 0.0)]).unwrap();
        draw(&folder, "heat", &[panel("°C", 52.0)]).unwrap();
        let marks = |name: &str| -> Vec<f64> {
            let svg = std::fs::read_to_string(folder.join(name)).unwrap();
            svg.lines().filter_map(|line| line.trim().parse().ok()).collect()
        };
        let zeros = marks("zeros.svg");
        assert!(
            zeros.contains(&1.0) && zeros.iter().all(|mark| *mark == 0.0 || *mark >= 0.1),
            "{zeros:?}"
        );
        let heat = marks("heat.svg");
        assert!(heat.iter().any(|mark| *mark >= 50.0) && !heat.contains(&20.0), "{heat:?}");
        if std::env::var_os("MARTLET_KEEP_PLOT").is_none() {
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }

    /// Two lines that nearly meet: all marks and texts stay apart.
    #[test]
    fn texts_at_points_cover_neither_marks_nor_each_other() {
        let series = |name: &str, y: f64| Series {
            name: name.into(),
            points: [1.0, 2.0, 4.0].map(|x| (x, y, y, y)).into(),
        };
        let panel = Panel {
            title: String::new(),
            x_label: String::new(),
            y_label: String::new(),
            series: vec![series("base", 100.0), series("a", 103.0), series("b", 98.0)],
        };
        let label = |series: &str, x: f64, is_below: bool| PointLabel {
            series: series.into(),
            x,
            text: format!("{series}{x}"),
            is_below,
        };
        let labels = [label("a", 1.0, false), label("b", 1.0, true), label("b", 4.0, false)];
        let shown = transformed(&panel, Axes { log_x: true, log_y: false });
        let pixel = |p: &(f64, f64, f64, f64)| (p.0 as i32 * 30, 200 - p.1 as i32);
        let axes = Axes { log_x: true, log_y: false };
        let texts = placed(&shown, axes, &labels, pixel);
        assert_eq!(texts.iter().map(|text| text.text).collect::<Vec<_>>(), ["a1", "b1", "b4"]);
        let middle = |text: &Placed<'_>| 200 - text.point.1 as i32 + text.dy;
        for text in &texts {
            let marks = [100, 97, 102];
            assert!(marks.iter().all(|mark| (middle(text) - mark).abs() >= TEXT), "{}", text.dy);
        }
        assert!((middle(&texts[0]) - middle(&texts[1])).abs() > TEXT);
        // A text of a line that is not there is not drawn.
        assert!(placed(&shown, axes, &[label("c", 1.0, true)], pixel).is_empty());
        let folder = std::env::temp_dir().join(format!("martlet-labels-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        draw_labelled(&folder, "labels", &[panel], axes, &labels).unwrap();
        let svg = std::fs::read_to_string(folder.join("labels.svg")).unwrap();
        assert!(["a1", "b1", "b4"].iter().all(|text| svg.lines().any(|line| line.trim() == *text)));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_plot_is_written_in_both_forms() {
        let folder = std::env::temp_dir().join(format!("martlet-plot-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let series = |name: &str, factor: f64| Series {
            name: name.into(),
            points: [1.0, 4.0, 16.0, 64.0]
                .iter()
                .map(|x| (*x, factor * x, factor * x * 0.9, factor * x * 1.2))
                .collect(),
        };
        let panel = |title: &str| Panel {
            title: title.into(),
            x_label: "UEs at once".into(),
            y_label: "ms".into(),
            series: vec![
                series("one process", 0.1),
                series("HTTP/2", 0.5),
                series("less than nothing", -0.2),
            ],
        };
        draw(&folder, "test", &[panel("registration"), panel("PDU session")]).unwrap();
        assert!(std::fs::read_to_string(folder.join("test.svg")).unwrap().contains("registration"));
        assert_eq!(&std::fs::read(folder.join("test.png")).unwrap()[..4], b"\x89PNG");
        if std::env::var_os("MARTLET_KEEP_PLOT").is_none() {
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}
