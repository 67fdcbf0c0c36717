//! Bar plots.
use super::hatch::Hatched;
use super::{COLOURS, FAR, arrow, axis_max, beyond, draw_legend, draw_panels, plot_error, tick};
use anyhow::Result;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use std::path::Path;

/// A value with its 95 % interval: `(value, low, high)`.
pub type Bar = (f64, f64, f64);

/// A panel with groups of bars.
pub struct Bars {
    /// The title above.
    pub title: String,
    /// The label of the y axis.
    pub y_label: String,
    /// The label of each group.
    pub groups: Vec<String>,
    /// Series: a name, and a bar in each group.
    pub series: Vec<(String, Vec<Bar>)>,
}

/// Draws panels side by side into `NAME.svg` and `NAME.png`.
///
/// # Errors
/// A file cannot be written.
pub fn draw_bars(folder: &Path, name: &str, panels: &[Bars]) -> Result<()> {
    draw_panels(folder, name, panels, draw_panel, names)
}

/// As [`draw_bars`], with the bars of a group on top of each other.
///
/// # Errors
/// A file cannot be written.
pub fn draw_stacked(folder: &Path, name: &str, panels: &[Bars]) -> Result<()> {
    draw_panels(folder, name, panels, draw_stack, names)
}

fn names(panel: &Bars) -> Vec<&str> {
    panel.series.iter().map(|(name, _)| name.as_str()).collect()
}

/// Values that differ by more than this are drawn on a logarithmic axis: a small bar would not be
/// seen on the other one.
const WIDE: f64 = 30.0;

/// The y axis of a panel: linear from 0, or logarithmic, where bars begin at a power of ten.
#[derive(Debug, Clone, Copy)]
struct Scale {
    is_log: bool,
    low: f64,
    high: f64,
    /// Ends of intervals above this are beyond the axis.
    cut: f64,
}

impl Scale {
    fn of(panel: &Bars) -> Scale {
        let values = || panel.series.iter().flat_map(|(_, values)| values);
        let finite = || values().filter(|value| value.0.is_finite());
        // An interval that is far wider than the bars are high is cut.
        let limit = FAR * axis_max(finite().map(|value| value.0));
        let max = axis_max(finite().map(|value| value.2).filter(|high| *high <= limit));
        let max = max.max(axis_max(finite().map(|value| value.0)));
        let smallest = finite().map(|value| value.0).fold(f64::INFINITY, f64::min);
        match smallest > 0.0 && max / smallest > WIDE {
            true => {
                let low = smallest.log10().floor();
                let high = max.log10();
                // Room for the numbers above the bars, and for the legend.
                let room = if panel.series.len() > 3 { 0.55 } else { 0.35 };
                Scale { is_log: true, low, high: high + (high - low) * room, cut: limit }
            }
            false => {
                // A difference may be negative.
                let min = finite().map(|value| value.1).fold(0.0, f64::min);
                Scale { is_log: false, low: min * 1.1, high: max * 1.3, cut: limit }
            }
        }
    }

    fn at(self, value: f64) -> f64 {
        if self.is_log { value.log10().max(self.low) } else { value }
    }

    /// Where bars begin.
    fn base(self) -> f64 {
        if self.is_log { self.low } else { 0.0 }
    }

    /// The end of intervals that are cut, above the bars.
    fn end(self) -> f64 {
        self.low + (self.high - self.low) * 0.86
    }

    fn label(self, y: f64) -> String {
        if self.is_log { super::power_tick(10.0, y) } else { tick(y) }
    }

    fn ticks(self) -> usize {
        match self.is_log {
            true => (self.high - self.low).ceil() as usize + 1,
            false => 11,
        }
    }

    fn description(self, label: &str) -> String {
        if self.is_log { format!("{label} (logarithmic)") } else { label.into() }
    }
}

/// A chart with the number of a group on the x axis.
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Draws the axes of a panel.
fn axes<'a, 'b>(
    area: &'a DrawingArea<SVGBackend<'b>, Shift>,
    panel: &Bars,
    scale: Scale,
) -> Result<Chart<'a, 'b>> {
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(58)
        .build_cartesian_2d(0.0..panel.groups.len() as f64, scale.low..scale.high)
        .map_err(plot_error)?;
    // Two ticks for each group; the one in the middle of the group has the label.
    let label = |x: &f64| group_label(&panel.groups, *x);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(2 * panel.groups.len() + 1)
        .x_label_formatter(&label)
        .y_desc(scale.description(&panel.y_label))
        .y_labels(scale.ticks())
        .y_label_formatter(&|y| scale.label(*y))
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 14))
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(225, 225, 225))
        .draw()
        .map_err(plot_error)?;
    Ok(chart)
}

/// The rectangle of a series in the legend.
fn legend((x, y): (i32, i32), series: usize, colour: RGBColor) -> Hatched<(i32, i32)> {
    Hatched { corners: [(x, y - 6), (x + 18, y + 6)], colour, series }
}

fn draw_stack(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    panel: &Bars,
    has_legend: bool,
) -> Result<()> {
    let value = |n: usize, group: usize| {
        let bar = panel.series.get(n).and_then(|(_, values)| values.get(group));
        bar.map(|bar| bar.0).filter(|value| value.is_finite()).unwrap_or(0.0)
    };
    let groups = panel.groups.len();
    let sum = |group: usize| (0..panel.series.len()).map(|n| value(n, group)).sum::<f64>();
    let max = axis_max((0..groups).map(sum));
    let mut chart =
        axes(area, panel, Scale { is_log: false, low: 0.0, high: max * 1.35, cut: f64::INFINITY })?;
    for (n, ((name, _), colour)) in panel.series.iter().zip(COLOURS.iter()).enumerate() {
        let under = |group: usize| (0..n).map(|n| value(n, group)).sum::<f64>();
        // A rectangle without height is none.
        let bars = (0..groups).filter(|group| value(n, *group) > 0.0).map(|group| {
            let (left, low) = (group as f64 + 0.2, under(group));
            let corners = [(left, low), (left + 0.6, low + value(n, group))];
            Hatched { corners, colour: *colour, series: n }
        });
        chart
            .draw_series(bars)
            .map_err(plot_error)?
            .label(name)
            .legend(move |at| legend(at, n, *colour));
    }
    let sums = (0..groups).map(|group| {
        let style = ("sans-serif", 12).into_font().color(&RGBColor(60, 60, 60));
        Text::new(
            format!("{:.2}", sum(group)),
            (group as f64 + 0.35, sum(group) + max * 0.06),
            style,
        )
    });
    chart.draw_series(sums).map_err(plot_error)?;
    if !has_legend {
        return Ok(());
    }
    draw_legend(&mut chart, SeriesLabelPosition::UpperLeft)
}

/// The label of the tick in the middle of each group; the other ticks have none.
fn group_label(groups: &[String], x: f64) -> String {
    let half = (x * 2.0).round() as usize;
    let middle = half % 2 == 1 && (x * 2.0 - half as f64).abs() < 1e-6;
    if middle { groups.get(half / 2).cloned().unwrap_or_default() } else { String::new() }
}

fn draw_panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    panel: &Bars,
    has_legend: bool,
) -> Result<()> {
    let scale = Scale::of(panel);
    let mut chart = axes(area, panel, scale)?;
    let width = 0.8 / panel.series.len().max(1) as f64;
    for (n, ((name, values), colour)) in panel.series.iter().zip(COLOURS.iter()).enumerate() {
        let left = |group: usize| group as f64 + 0.1 + n as f64 * width;
        // A rectangle without height is none.
        let seen = values
            .iter()
            .enumerate()
            .filter(|(_, value)| value.0.is_finite() && scale.at(value.0) != scale.base());
        let bar = |(group, value): (usize, &(f64, f64, f64))| {
            let corners =
                [(left(group), scale.base()), (left(group) + width * 0.92, scale.at(value.0))];
            Hatched { corners, colour: *colour, series: n }
        };
        chart
            .draw_series(seen.map(bar))
            .map_err(plot_error)?
            .label(name)
            .legend(move |at| legend(at, n, *colour));
        let middle = |group: usize| left(group) + width * 0.46;
        let ranges = values.iter().enumerate().filter(|(_, value)| value.2 > value.1);
        let ranges = ranges.map(|(group, v)| {
            let high = if v.2 > scale.cut { scale.end() } else { scale.at(v.2) };
            let [low, at] = [v.1, v.0].map(|value| scale.at(value));
            ErrorBar::new_vertical(middle(group), low, at, high, BLACK.filled(), 6)
        });
        chart.draw_series(ranges).map_err(plot_error)?;
        let cut = values.iter().enumerate().filter(|(_, v)| v.0.is_finite() && v.2 > scale.cut);
        let arrows = cut.map(|(group, v)| {
            let style = ("sans-serif", 11).into_font().color(&BLACK);
            EmptyElement::at((middle(group), scale.end()))
                + arrow(BLACK)
                + Text::new(beyond(v.2), (7, 0), style)
        });
        chart.draw_series(arrows).map_err(plot_error)?;
    }
    // After all bars, since a number is wider than its bar.
    for (n, (_, values)) in panel.series.iter().enumerate() {
        let left = |group: usize| group as f64 + 0.1 + n as f64 * width;
        let labels = values.iter().enumerate().filter(|(_, value)| value.0.is_finite()).map(
            |(group, value)| {
                let style = ("sans-serif", 12).into_font().color(&RGBColor(60, 60, 60));
                let digits = if value.0 >= 100.0 {
                    0
                } else if value.0 >= 1.0 {
                    1
                } else {
                    2
                };
                let above = (scale.high - scale.low) * 0.04;
                // Beside an interval that is cut.
                let top = if value.2 > scale.cut { value.0 } else { value.2.max(value.0) };
                let number = format!("{:.digits$}", value.0);
                // A background about as wide as the number: the next bar may be behind it.
                let behind = [(-1, -1), (7 * number.len() as i32, 11)];
                EmptyElement::at((left(group), scale.at(top) + above))
                    + Rectangle::new(behind, WHITE.mix(0.75).filled())
                    + Text::new(number, (0, 0), style)
            },
        );
        chart.draw_series(labels).map_err(plot_error)?;
    }
    if !has_legend {
        return Ok(());
    }
    draw_legend(&mut chart, SeriesLabelPosition::UpperLeft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_that_differ_much_have_a_logarithmic_axis() {
        let of = |values: &[f64]| {
            let series = vec![("xdp".into(), values.iter().map(|v| (*v, *v, *v)).collect())];
            let groups = values.iter().map(f64::to_string).collect();
            Scale::of(&Bars { title: String::new(), y_label: String::new(), groups, series })
        };
        let wide = of(&[0.35, 86.0]);
        assert!(wide.is_log && wide.low == -1.0 && wide.at(10.0) == 1.0, "{wide:?}");
        assert!(!of(&[10.0, 86.0]).is_log && !of(&[0.0, 86.0]).is_log && !of(&[-1.0, 86.0]).is_log);
    }

    #[test]
    fn an_interval_far_above_all_bars_is_cut() {
        let series = vec![("xdp".into(), vec![(1.0, 0.5, 1.5), (2.0, 1.0, 900.0)])];
        let groups = ["1", "2"].map(String::from).into();
        let scale =
            Scale::of(&Bars { title: String::new(), y_label: String::new(), groups, series });
        assert!(scale.high < 3.0 && scale.cut == 6.0, "{scale:?}");
        assert!(scale.end() > 2.0 && scale.end() < scale.high, "{scale:?}");
    }

    #[test]
    fn bars_are_drawn_with_their_labels() {
        let folder = std::env::temp_dir().join(format!("martlet-bars-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let panel = Bars {
            title: "packets lost".into(),
            y_label: "%".into(),
            groups: ["nothing", "sparse", "frequent"].map(String::from).into(),
            series: vec![
                ("kernel".into(), vec![(1.0, 0.5, 1.5), (2.0, 1.5, 40.0), (f64::NAN, 0.0, 0.0)]),
                ("xdp".into(), vec![(0.0, 0.0, 0.0); 3]),
                ("switch".into(), vec![(1.5, 1.5, 1.5); 3]),
            ],
        };
        draw_bars(&folder, "test", &[panel]).unwrap();
        let svg = std::fs::read_to_string(folder.join("test.svg")).unwrap();
        assert!(
            ["nothing", "sparse", "frequent", "kernel", "xdp", "40.0"]
                .iter()
                .all(|text| svg.contains(text)),
            "{svg}"
        );
        if std::env::var_os("MARTLET_KEEP_PLOT").is_none() {
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}
