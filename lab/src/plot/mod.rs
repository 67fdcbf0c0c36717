//! Plots as SVG, and as PNG for viewers without SVG.
mod bars;
mod hatch;
mod lines;

pub use bars::{Bars, draw_bars, draw_stacked};
pub use lines::{Axes, Panel, PointLabel, Series, draw, draw_labelled, draw_scaled};

use anyhow::{Context, Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use std::path::Path;

/// Width and height of a panel in SVG units.
const SIZE: (u32, u32) = (560, 420);
const COLOURS: [RGBColor; 13] = [
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

/// Draws panels side by side, four in a square and more in rows of three, into `NAME.svg` and
/// `NAME.png`.
fn draw_panels<P>(
    folder: &Path,
    name: &str,
    panels: &[P],
    draw_panel: impl Fn(&DrawingArea<SVGBackend<'_>, Shift>, &P, bool) -> Result<()>,
    names: impl Fn(&P) -> Vec<&str>,
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
        root.fill(&WHITE).map_err(plot_error)?;
        let mut before: Option<Vec<&str>> = None;
        for (area, panel) in root.split_evenly((rows, columns)).iter().zip(panels) {
            // One legend for all panels with the same series.
            let of = names(panel);
            let has_legend = before.as_ref() != Some(&of);
            draw_panel(area, panel, has_legend)?;
            before = Some(of);
        }
        root.present().map_err(plot_error)?;
    }
    std::fs::write(folder.join(format!("{name}.svg")), &svg)?;
    rasterise(&svg, &folder.join(format!("{name}.png")))
}

/// Fewest values among which outliers are found.
const ENOUGH: usize = 20;
/// An outlier is larger than this multiple of the 95th percentile.
const FAR: f64 = 3.0;

/// The value above which values are outliers; infinite without any. The axis ends below them.
fn outlier_limit(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    let (Some(last), true) = (all.last().copied(), all.len() >= ENOUGH) else {
        return f64::INFINITY;
    };
    // Rounded down, so that one value of twenty can be an outlier.
    let p95 = all[(all.len() - 1) * 95 / 100];
    let limit = p95 * FAR;
    if p95 > 0.0 && last > limit { limit } else { f64::INFINITY }
}

/// The number beside the arrow of a value beyond the end of an axis.
fn beyond(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        _ => format!("{value:.1}"),
    }
}

/// An arrow upwards whose tip is at a point, in pixels.
fn arrow(colour: RGBColor) -> Polygon<(i32, i32)> {
    Polygon::new(vec![(0, 0), (-5, 8), (-1, 8), (-1, 15), (1, 15), (1, 8), (5, 8)], colour.filled())
}

/// The largest value; 1 where all are 0, so that the axis has labels.
fn axis_max(values: impl Iterator<Item = f64>) -> f64 {
    let max = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    if max > 0.0 { max } else { 1.0 }
}

/// A label of an axis, without the noise of binary fractions.
fn tick(value: f64) -> String {
    ((value * 1e6).round() / 1e6).to_string()
}

/// The label of a logarithmic axis: of whole powers only.
fn power_tick(base: f64, exponent: f64) -> String {
    match (exponent - exponent.round()).abs() < 1e-6 {
        true => tick(base.powf(exponent.round())),
        false => String::new(),
    }
}

/// Draws the legend into a corner of a panel.
fn draw_legend<'a, DB: DrawingBackend + 'a>(
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
        .map_err(plot_error)
}

fn plot_error(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("the plot cannot be drawn: {error}")
}

fn rasterise(svg: &str, path: &Path) -> Result<()> {
    let mut options = resvg::usvg::Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_system_fonts();
    // The plots ask for "sans-serif". Small machines map that name to no font.
    let families = || fonts.faces().filter_map(|face| Some(face.families.first()?.0.clone()));
    let family = families().find(|name| name == "DejaVu Sans").or_else(|| families().next());
    match family {
        Some(family) => fonts.set_sans_serif_family(family),
        None => tracing::warn!("no font found, PNG plots have no text: install fonts-dejavu-core"),
    }
    let tree =
        resvg::usvg::Tree::from_str(svg, &options).context("the plot's SVG does not parse")?;
    let size = tree.size().to_int_size();
    let mut pixels = resvg::tiny_skia::Pixmap::new(size.width() * 2, size.height() * 2)
        .context("the plot has no size")?;
    resvg::render(&tree, resvg::tiny_skia::Transform::from_scale(2.0, 2.0), &mut pixels.as_mut());
    pixels.save_png(path).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_far_above_the_others_is_an_outlier_and_the_end_of_a_curve_is_none() {
        let usual = || (0..30).map(|n| 10.0 + f64::from(n % 3));
        assert_eq!(outlier_limit(usual()), f64::INFINITY);
        let limit = outlier_limit(usual().chain([300.0]));
        assert!((30.0..=36.0).contains(&limit), "{limit}");
        // Few points of a curve, and a curve that is 0 for most of its points.
        assert_eq!(outlier_limit([0.0, 1.0, 40.0].into_iter()), f64::INFINITY);
        let mostly = (0..40).map(|n| if n < 36 { 0.0 } else { f64::from(n) });
        assert_eq!(outlier_limit(mostly), f64::INFINITY);
    }

    #[test]
    fn an_axis_ends_at_the_largest_value() {
        assert_eq!(axis_max([0.02, 0.26, f64::NAN].into_iter()), 0.26);
        assert_eq!(axis_max([0.0, 0.0].into_iter()), 1.0);
    }
}
