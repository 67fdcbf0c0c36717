//! The picture at the end of the demo: positions, throughput and round-trip times, as SVG and as
//! text for a terminal.
use martlet_lcs_position::{GeoPoint, TangentPlane};
use std::fmt::Write;

/// One answer of the LMF.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fix {
    /// The computed position.
    pub found: GeoPoint,
    /// The true position at that time.
    pub truth: GeoPoint,
    /// Distance of both in metres.
    pub error: f64,
    /// Semi-axes of the uncertainty ellipse in metres.
    pub semi_axes: (f64, f64),
    /// Degrees of its major axis from north, clockwise.
    pub orientation: f64,
}

/// What the demo measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measurements {
    pub cells: Vec<GeoPoint>,
    pub fixes: Vec<Fix>,
    /// Round-trip times in milliseconds.
    pub round_trips: Vec<f64>,
    /// Mbit/s in intervals of [`INTERVAL`] seconds.
    pub uplink: Vec<f64>,
    pub downlink: Vec<f64>,
}

/// Seconds of one value of the throughput.
pub const INTERVAL: f64 = 0.2;

const BLUE: &str = "#1f5fa8";
const ORANGE: &str = "#c75b12";
const GREY: &str = "#6b7280";

/// A rectangle of the picture.
#[derive(Clone, Copy)]
struct Panel {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// A part of the ground that a panel shows, north up, with one scale for both axes.
struct Map {
    /// With the origin in the middle of the panel.
    plane: TangentPlane,
    panel: Panel,
    pixels_per_metre: f64,
}

impl Map {
    /// The map with all points. `None` without points.
    fn around(points: impl Iterator<Item = GeoPoint> + Clone, panel: Panel) -> Option<Map> {
        let range = |value: fn(GeoPoint) -> f64| {
            points.clone().map(value).fold(None, |range: Option<(f64, f64)>, value| {
                Some(range.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
            })
        };
        let (south, north) = range(|point| point.lat)?;
        let (west, east) = range(|point| point.lon)?;
        let centre = GeoPoint { lat: (south + north) / 2.0, lon: (west + east) / 2.0 };
        let plane = TangentPlane::at(centre);
        let corner = plane.offset(&GeoPoint { lat: north, lon: east });
        let (width, height) = (2.0 * corner.east, 2.0 * corner.north);
        let pixels_per_metre =
            (0.76 * panel.width / width.max(10.0)).min(0.70 * panel.height / height.max(10.0));
        Some(Map { plane, panel, pixels_per_metre })
    }

    fn place(&self, point: GeoPoint) -> (f64, f64) {
        let offset = self.plane.offset(&point);
        (
            self.panel.x + self.panel.width / 2.0 + offset.east * self.pixels_per_metre,
            self.panel.y + self.panel.height / 2.0 - offset.north * self.pixels_per_metre,
        )
    }

    /// A round length of at most a quarter of the width.
    fn scale_bar(&self) -> f64 {
        round_below(self.panel.width / 4.0 / self.pixels_per_metre)
    }
}

/// The largest of 1, 2 and 5 times a power of ten that is at most `value`.
fn round_below(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1e-9).log10().floor());
    [5.0, 2.0].iter().map(|digit| digit * power).find(|round| *round <= value).unwrap_or(power)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn highest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

/// Three significant digits at most.
fn short(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// The picture. It needs no external script, style or font.
pub fn svg(measured: &Measurements) -> String {
    let mut out = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1000 680\" width=\"1000\" \
         height=\"680\" font-family=\"DejaVu Sans, Arial, sans-serif\" font-size=\"13\" \
         fill=\"#1f2937\" stroke-width=\"2\">\n<rect width=\"1000\" height=\"680\" \
         fill=\"#ffffff\"/>\n<text x=\"24\" y=\"34\" font-size=\"19\" \
         font-weight=\"bold\">Martlet: what the demo measured</text>\n",
    );
    let panel = |x, y, height| Panel { x, y, width: 460.0, height };
    overview(&mut out, measured, panel(24.0, 80.0, 230.0));
    close_up(&mut out, measured, panel(24.0, 360.0, 290.0));
    throughput(&mut out, measured, panel(520.0, 80.0, 230.0));
    round_trips(&mut out, measured, panel(520.0, 360.0, 290.0));
    out.push_str("</svg>\n");
    out
}

fn frame(out: &mut String, panel: Panel, title: &str) {
    let Panel { x, y, width, height } = panel;
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{:.0}\" font-weight=\"bold\">{title}</text>\n<rect x=\"{x}\" \
         y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"#f8fafc\" \
         stroke=\"#cbd5e1\" stroke-width=\"1\"/>",
        y - 9.0
    );
}

fn label(out: &mut String, (x, y): (f64, f64), anchor: &str, colour: &str, text: &str) {
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"12\" \
         fill=\"{colour}\">{text}</text>"
    );
}

fn line(out: &mut String, points: &[(f64, f64)], colour: &str, extra: &str) {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" {extra}/>",
        points.join(" ")
    );
}

fn dot(out: &mut String, (x, y): (f64, f64), radius: f64, fill: &str, stroke: &str) {
    let _ = writeln!(
        out,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{fill}\" stroke=\"{stroke}\" \
         stroke-width=\"1.5\"/>"
    );
}

fn scale_bar(out: &mut String, map: &Map) {
    let (x, y) = (map.panel.x + 14.0, map.panel.y + map.panel.height - 12.0);
    let length = map.scale_bar();
    let end = x + length * map.pixels_per_metre;
    line(out, &[(x, y - 4.0), (x, y), (end, y), (end, y - 4.0)], GREY, "");
    label(out, (end + 6.0, y + 1.0), "start", GREY, &format!("{length} m"));
}

/// The cells, and where the UE was.
fn overview(out: &mut String, measured: &Measurements, panel: Panel) {
    frame(out, panel, "Cells and the UE");
    let truths = measured.fixes.iter().map(|fix| fix.truth);
    let Some(map) = Map::around(measured.cells.iter().copied().chain(truths.clone()), panel) else {
        return;
    };
    for (number, cell) in measured.cells.iter().enumerate() {
        let (x, y) = map.place(*cell);
        let _ = writeln!(out, "<path d=\"M{x:.1} {:.1} l-7 15 h14 z\" fill=\"{GREY}\"/>", y - 8.0);
        label(out, (x + 11.0, y + 6.0), "start", GREY, &format!("cell {}", number + 1));
    }
    let way: Vec<_> = truths.map(|truth| map.place(truth)).collect();
    line(out, &way, BLUE, "stroke-linecap=\"round\"");
    if let Some(last) = way.last() {
        dot(out, *last, 4.5, BLUE, BLUE);
        label(out, (last.0 + 9.0, last.1 - 6.0), "start", BLUE, "UE");
    }
    scale_bar(out, &map);
}

/// True and computed positions, with uncertainty ellipses.
fn close_up(out: &mut String, measured: &Measurements, panel: Panel) {
    frame(out, panel, "Positions over the user plane");
    let points = measured.fixes.iter().flat_map(|fix| [fix.truth, fix.found]);
    let Some(map) = Map::around(points, panel) else { return };
    let _ = writeln!(
        out,
        "<clipPath id=\"close\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n\
         <g clip-path=\"url(#close)\">",
        panel.x, panel.y, panel.width, panel.height
    );
    for fix in &measured.fixes {
        let (x, y) = map.place(fix.found);
        let (major, minor) = fix.semi_axes;
        let _ = writeln!(
            out,
            "<ellipse cx=\"{x:.1}\" cy=\"{y:.1}\" rx=\"{:.1}\" ry=\"{:.1}\" transform=\"rotate(\
             {:.0} {x:.1} {y:.1})\" fill=\"{ORANGE}\" fill-opacity=\"0.07\" stroke=\"{ORANGE}\" \
             stroke-opacity=\"0.35\" stroke-width=\"1\"/>",
            minor * map.pixels_per_metre,
            major * map.pixels_per_metre,
            fix.orientation
        );
    }
    let way: Vec<_> = measured.fixes.iter().map(|fix| map.place(fix.truth)).collect();
    line(out, &way, BLUE, "stroke-opacity=\"0.5\"");
    for fix in &measured.fixes {
        let (truth, found) = (map.place(fix.truth), map.place(fix.found));
        line(out, &[truth, found], GREY, "stroke-opacity=\"0.6\"");
        dot(out, truth, 3.5, "#ffffff", BLUE);
        dot(out, found, 3.5, ORANGE, ORANGE);
    }
    out.push_str("</g>\n");
    let (x, y) = (panel.x + panel.width - 14.0, panel.y + 20.0);
    label(out, (x, y), "end", BLUE, "○ true position");
    label(out, (x, y + 17.0), "end", ORANGE, "● computed, with uncertainty ellipse");
    label(out, (x, panel.y + panel.height - 12.0), "end", GREY, &errors(measured));
    scale_bar(out, &map);
}

fn errors(measured: &Measurements) -> String {
    let errors: Vec<f64> = measured.fixes.iter().map(|fix| fix.error).collect();
    format!("error: mean {:.1} m, most {:.1} m", mean(&errors), highest(errors.iter().copied()))
}

/// A grid with the zero line, the highest value and one between them.
struct Axis {
    panel: Panel,
    top: f64,
}

impl Axis {
    fn new(out: &mut String, panel: Panel, highest: f64, unit: &str) -> Axis {
        // Room for the labels of both axes.
        let plot = Panel {
            x: panel.x + 62.0,
            y: panel.y + 30.0,
            width: panel.width - 84.0,
            height: panel.height - 66.0,
        };
        let step = round_below((highest.max(1e-3)) / 2.0);
        let steps = (highest / step).ceil().max(1.0);
        let axis = Axis { panel: plot, top: step * steps };
        for number in 0..=steps as u32 {
            let value = step * f64::from(number);
            let y = axis.y(value);
            line(out, &[(plot.x, y), (plot.x + plot.width, y)], "#e2e8f0", "stroke-width=\"1\"");
            label(out, (plot.x - 7.0, y + 4.0), "end", GREY, &tick(value));
        }
        label(out, (panel.x + 12.0, panel.y + 18.0), "start", GREY, unit);
        axis
    }

    fn y(&self, value: f64) -> f64 {
        self.panel.y + self.panel.height * (1.0 - value / self.top)
    }

    /// The horizontal position of one of `count` values.
    fn x(&self, number: usize, count: usize) -> f64 {
        self.panel.x + self.panel.width * (number as f64 + 0.5) / count.max(1) as f64
    }
}

/// A value of an axis, without needless zeros.
fn tick(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn throughput(out: &mut String, measured: &Measurements, panel: Panel) {
    frame(out, panel, "Throughput over the PDU session");
    let both = measured.uplink.iter().chain(&measured.downlink).copied();
    let axis = Axis::new(out, panel, highest(both), "Mbit/s");
    let ends = [
        ("downlink", &measured.downlink, BLUE, "start", axis.panel.x),
        ("uplink", &measured.uplink, ORANGE, "end", axis.panel.x + axis.panel.width),
    ];
    let count = measured.uplink.len().max(measured.downlink.len());
    for (name, values, colour, anchor, x) in ends {
        let points: Vec<_> = values
            .iter()
            .enumerate()
            .map(|(n, value)| (axis.x(n, count), axis.y(*value)))
            .collect();
        line(out, &points, colour, "");
        let text = format!("{name}: {} Mbit/s", short(mean(values)));
        label(out, (x, panel.y + panel.height - 12.0), anchor, colour, &text);
    }
    let seconds = format!("{} s", tick(count as f64 * INTERVAL));
    label(out, (axis.panel.x + axis.panel.width, panel.y + 18.0), "end", GREY, &seconds);
}

fn round_trips(out: &mut String, measured: &Measurements, panel: Panel) {
    frame(out, panel, "Round trips to the data network");
    let values = &measured.round_trips;
    let axis = Axis::new(out, panel, highest(values.iter().copied()), "ms");
    for (number, value) in values.iter().enumerate() {
        let (x, y) = (axis.x(number, values.len()), axis.y(*value));
        line(out, &[(x, axis.y(0.0)), (x, y)], BLUE, "stroke-opacity=\"0.4\"");
        dot(out, (x, y), 3.0, BLUE, BLUE);
    }
    let text = format!("{} pings, mean {} ms", values.len(), short(mean(values)));
    label(out, (axis.panel.x, panel.y + panel.height - 12.0), "start", GREY, &text);
}

/// Width and height of the map for a terminal, in characters.
const COLUMNS: usize = 64;
const ROWS: usize = 12;

/// The same for a terminal: a map, and bars.
pub fn text(measured: &Measurements) -> String {
    let mut out = String::new();
    // A character is twice as high as it is wide.
    let panel = Panel { x: 0.0, y: 0.0, width: COLUMNS as f64 / 2.0, height: ROWS as f64 };
    let points = measured.fixes.iter().flat_map(|fix| [fix.truth, fix.found]);
    if let Some(map) = Map::around(points, panel) {
        let mut grid = vec![[' '; COLUMNS]; ROWS];
        let mut mark = |point, sign| {
            let (x, y) = map.place(point);
            let (column, row) = ((2.0 * x) as usize, y as usize);
            if let Some(cell) = grid.get_mut(row).and_then(|row| row.get_mut(column)) {
                *cell = if *cell == ' ' || *cell == sign { sign } else { '*' };
            }
        };
        for fix in &measured.fixes {
            mark(fix.truth, 'o');
        }
        for fix in &measured.fixes {
            mark(fix.found, 'x');
        }
        let _ = writeln!(out, "    {}", "-".repeat(COLUMNS));
        for row in grid {
            let row: String = row.iter().collect();
            let _ = writeln!(out, "    {}", row.trim_end());
        }
        let length = map.scale_bar();
        let bar = "=".repeat(((2.0 * length * map.pixels_per_metre) as usize).max(1));
        let _ = writeln!(out, "    {}", "-".repeat(COLUMNS));
        let _ = writeln!(out, "    {bar} {length} m; o true, x computed, * both");
        let _ = writeln!(out, "    {}", errors(measured));
    }
    let rows = [
        ("round trips", &measured.round_trips, "ms"),
        ("uplink", &measured.uplink, "Mbit/s"),
        ("downlink", &measured.downlink, "Mbit/s"),
    ];
    for (name, values, unit) in rows {
        let _ = writeln!(
            out,
            "    {name:<13} {}  {} {unit} on average",
            bars(values),
            short(mean(values))
        );
    }
    out
}

/// A bar for each value, of which the highest fills its line.
fn bars(values: &[f64]) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let top = highest(values.iter().copied()).max(f64::MIN_POSITIVE);
    values
        .iter()
        .map(|value| HEIGHTS[((value / top * 8.0).round() as usize).clamp(1, 8) - 1])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Measurements {
        let at = |lat, lon| GeoPoint { lat, lon };
        let fix = |n: f64| Fix {
            truth: at(54.0937 + 0.00001 * n, 12.1009 + 0.00005 * n),
            found: at(54.09371 + 0.00001 * n, 12.10092 + 0.00005 * n),
            error: 1.7,
            semi_axes: (4.0, 2.0),
            orientation: 30.0,
        };
        Measurements {
            cells: vec![at(54.0924, 12.0991), at(54.0927, 12.1055), at(54.0959, 12.1019)],
            fixes: (0..8).map(|n| fix(f64::from(n))).collect(),
            round_trips: vec![0.31, 0.25, 0.4, 0.28],
            uplink: vec![400.0, 520.0, 510.0],
            downlink: vec![800.0, 910.0, 905.0],
        }
    }

    #[test]
    fn the_picture_has_each_position_value_and_cell_inside_its_frame() {
        let picture = svg(&measured());
        assert_eq!(picture.matches("<ellipse").count(), 8);
        assert_eq!(picture.matches("<path").count(), 3);
        for text in ["error: mean 1.7 m", "uplink: 477 Mbit/s", "4 pings, mean 0.31 ms"] {
            assert!(picture.contains(text), "{text}: {picture}");
        }
        let numbers = |name: &str| -> Vec<f64> {
            let name = format!("{name}=\"");
            let parts = picture.split(&name).skip(1);
            parts.filter_map(|part| part.split('"').next()?.parse().ok()).collect()
        };
        assert!(numbers("cx").iter().all(|x| (24.0..980.0).contains(x)), "{picture}");
        assert!(numbers("cy").iter().all(|y| (80.0..650.0).contains(y)), "{picture}");
        // Browsers refuse an attribute that is there twice.
        for element in picture.split('<').skip(1) {
            let mut names: Vec<_> =
                element.split("=\"").map(|part| part.rsplit(' ').next()).collect();
            // What follows the last attribute.
            names.pop();
            let count = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), count, "{element}");
        }
        assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
    }

    #[test]
    fn a_terminal_gets_a_map_and_bars() {
        let text = text(&measured());
        let width = text.lines().map(|line| line.chars().count()).max();
        assert!(width <= Some(80), "{text}");
        assert!(text.contains('x') && text.contains("▆██"), "{text}");
        assert!(text.contains("downlink      ▇██  872 Mbit/s on average"), "{text}");
    }

    #[test]
    fn a_demo_that_measured_nothing_has_a_picture_without_numbers_that_do_not_exist() {
        let empty = Measurements::default();
        assert!(!svg(&empty).contains("NaN"), "{}", svg(&empty));
        assert!(!text(&empty).contains("NaN"), "{}", text(&empty));
        assert_eq!(round_below(349.0), 200.0);
        assert_eq!(round_below(0.06), 0.05);
        assert_eq!(round_below(1.0), 1.0);
    }
}
