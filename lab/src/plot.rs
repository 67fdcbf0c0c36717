//! Plots as SVG, and as PNG for those who cannot open one.
use anyhow::{Context, Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use std::path::Path;

/// A line of a plot with the interval of each point.
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// `(x, value, low, high)`.
    pub points: Vec<(f64, f64, f64, f64)>,
}

/// One panel: a coordinate system with its series.
pub struct Panel {
    /// Above it.
    pub title: String,
    /// Below it.
    pub x_label: String,
    /// Beside it.
    pub y_label: String,
    /// What it shows.
    pub series: Vec<Series>,
}

const SIZE: (u32, u32) = (560, 420);
pub(crate) const COLOURS: [RGBColor; 13] = [
    RGBColor(0, 90, 160),
    RGBColor(200, 80, 20),
    RGBColor(40, 130, 60),
    RGBColor(120, 60, 140),
    RGBColor(90, 90, 90),
    RGBColor(190, 30, 70),
    RGBColor(20, 150, 170),
    RGBColor(170, 130, 20),
    RGBColor(0, 0, 0),
    RGBColor(130, 190, 60),
    RGBColor(240, 140, 170),
    RGBColor(120, 170, 230),
    RGBColor(140, 90, 50),
];

/// Draws panels side by side, four of them in a square and more in rows of three, into `NAME.svg`
/// and `NAME.png`.
pub fn draw(folder: &Path, name: &str, panels: &[Panel]) -> Result<()> {
    in_panels(folder, name, panels, draw_panel)
}

/// The same with panels of any kind.
pub(crate) fn in_panels<P>(
    folder: &Path,
    name: &str,
    panels: &[P],
    draw_panel: impl Fn(&DrawingArea<SVGBackend<'_>, Shift>, &P) -> Result<()>,
) -> Result<()> {
    let columns = match panels.len() {
        4 => 2,
        count => count.min(3),
    };
    let rows = panels.len().div_ceil(columns.max(1));
    let size = (SIZE.0 * columns as u32, SIZE.1 * rows as u32);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        for (area, panel) in root.split_evenly((rows, columns)).iter().zip(panels) {
            draw_panel(area, panel)?;
        }
        root.present().map_err(failed)?;
    }
    std::fs::write(folder.join(format!("{name}.svg")), &svg)?;
    rasterise(&svg, &folder.join(format!("{name}.png")))
}

/// The largest value; 1 where all are 0, so that an axis has numbers to tell.
pub(crate) fn end_of_axis(values: impl Iterator<Item = f64>) -> f64 {
    let most = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    if most > 0.0 { most } else { 1.0 }
}

/// A number beside an axis, without the noise of binary fractions.
pub(crate) fn tick(value: f64) -> String {
    ((value * 1e6).round() / 1e6).to_string()
}

/// The names of what is drawn, in a corner of a panel.
pub(crate) fn draw_legend<'a, DB: DrawingBackend + 'a>(
    chart: &mut ChartContext<'a, DB, Cartesian2d<RangedCoordf64, RangedCoordf64>>,
    corner: SeriesLabelPosition,
) -> Result<()> {
    chart
        .configure_series_labels()
        .position(corner)
        .background_style(WHITE.mix(0.85))
        .border_style(RGBColor(200, 200, 200))
        .label_font(("sans-serif", 13))
        .draw()
        .map_err(failed)
}

pub(crate) fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("the plot could not be drawn: {error}")
}

fn draw_panel(area: &DrawingArea<SVGBackend<'_>, Shift>, panel: &Panel) -> Result<()> {
    let points = || panel.series.iter().flat_map(|s| s.points.iter());
    let x_most = end_of_axis(points().map(|p| p.0));
    let x_least = points().map(|p| p.0).fold(f64::INFINITY, f64::min);
    // An axis begins at 0, unless most of it would be empty; one point alone has to have an axis,
    // too.
    let x_first = if x_least < x_most && x_least > x_most / 2.0 {
        x_least - (x_most - x_least) * 0.05
    } else {
        0.0
    };
    let y_least = points().map(|p| p.2).fold(f64::INFINITY, f64::min);
    let y_most = if y_least < 0.0 {
        points().map(|p| p.3).fold(0.0, f64::max)
    } else {
        end_of_axis(points().map(|p| p.3))
    };
    // A scale of temperature has no zero that means anything; below 0 there is room for what is
    // less.
    let y_first = match panel.y_label.as_str() {
        "°C" => (y_least.min(y_most) / 10.0).floor() * 10.0 - 10.0,
        _ => y_least.min(0.0) * 1.1,
    };
    // Between whole numbers nothing is marked where there is nothing but these.
    let span = x_most - x_first;
    let whole = span <= 10.0 && points().all(|p| p.0.fract() == 0.0);
    let ticks = if whole { (span.floor() as usize).max(1) + 1 } else { 11 };
    // A long legend gets room beside the lines, another a corner where there are none.
    let (head, beside, corner) = match panel.series.len() {
        ..=8 => {
            let (head, corner) = corner_of(panel, (x_first, x_most), (y_first, y_most));
            (head, 0.05, corner)
        }
        _ => {
            let part = (0.1 + 0.0135 * longest_name(panel) as f64).min(0.6);
            (1.1, 1.0 / (1.0 - part) - 1.0, SeriesLabelPosition::UpperRight)
        }
    };
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(58)
        .build_cartesian_2d(
            x_first..x_most + (x_most - x_first) * beside,
            y_first..y_first + (y_most - y_first) * head,
        )
        .map_err(failed)?;
    chart
        .configure_mesh()
        .x_desc(&panel.x_label)
        .y_desc(&panel.y_label)
        .x_labels(ticks)
        .x_label_formatter(&|x| tick(*x))
        .y_label_formatter(&|y| tick(*y))
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 14))
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(225, 225, 225))
        .draw()
        .map_err(failed)?;
    for (series, colour) in panel.series.iter().zip(COLOURS.iter().cycle()) {
        let line = series.points.iter().map(|p| (p.0, p.1));
        chart
            .draw_series(LineSeries::new(line, colour.stroke_width(2)))
            .map_err(failed)?
            .label(&series.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        // An interval that nobody could see would be a line of no length.
        type Points<'a> = Vec<&'a (f64, f64, f64, f64)>;
        let (seen, unseen): (Points<'_>, Points<'_>) =
            series.points.iter().partition(|p| p.3 - p.2 > (y_most - y_first) * 0.005);
        let bars =
            seen.iter().map(|p| ErrorBar::new_vertical(p.0, p.2, p.1, p.3, colour.filled(), 6));
        chart.draw_series(bars).map_err(failed)?;
        chart
            .draw_series(unseen.iter().map(|p| Circle::new((p.0, p.1), 3, colour.filled())))
            .map_err(failed)?;
    }
    draw_legend(&mut chart, corner)
}

fn longest_name(panel: &Panel) -> usize {
    panel.series.iter().map(|series| series.name.chars().count()).max().unwrap_or(0)
}

/// A corner in which a legend covers no line, and how much higher than the highest point the panel
/// is for it.
fn corner_of(
    panel: &Panel,
    (x_first, x_most): (f64, f64),
    (y_first, y_most): (f64, f64),
) -> (f64, SeriesLabelPosition) {
    const HEAD: f64 = 1.1;
    // Of the panel's width and height, roughly.
    let wide = (0.1 + 0.018 * longest_name(panel) as f64).min(0.9);
    let high = 0.05 + 0.065 * panel.series.len() as f64;
    // A line is as much in the way as its points.
    let within = |x: f64, y: f64, (left, upper): (bool, bool)| {
        let (x, y) = (
            (x - x_first) / ((x_most - x_first) * 1.05),
            (y - y_first) / ((y_most - y_first) * HEAD),
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
        // Else above all of them.
        None => (1.02 / (1.0 - high.min(0.6)), SeriesLabelPosition::UpperLeft),
    }
}

fn rasterise(svg: &str, path: &Path) -> Result<()> {
    let mut options = resvg::usvg::Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_system_fonts();
    // The plots ask for "sans-serif", which stands for a font that few small machines have.
    let families = || fonts.faces().filter_map(|face| Some(face.families.first()?.0.clone()));
    let family = families().find(|name| name == "DejaVu Sans").or_else(|| families().next());
    match family {
        Some(family) => fonts.set_sans_serif_family(family),
        None => tracing::warn!(
            "no font is installed, so plots in PNG have no text; install fonts-dejavu-core"
        ),
    }
    let tree =
        resvg::usvg::Tree::from_str(svg, &options).context("the plot's SVG does not parse")?;
    let size = tree.size().to_int_size();
    let mut pixels = resvg::tiny_skia::Pixmap::new(size.width() * 2, size.height() * 2)
        .context("a plot without a size")?;
    resvg::render(&tree, resvg::tiny_skia::Transform::from_scale(2.0, 2.0), &mut pixels.as_mut());
    pixels.save_png(path).with_context(|| format!("cannot write {}", path.display()))
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

    #[test]
    fn an_axis_ends_where_the_data_does() {
        assert_eq!(end_of_axis([0.02, 0.26, f64::NAN].into_iter()), 0.26);
        assert_eq!(end_of_axis([0.0, 0.0].into_iter()), 1.0);
    }
}
