//! Rectangles with hatches: bars of different series differ without their colours.
use plotters::element::{Drawable, PointCollection};
use plotters::prelude::*;
use plotters_backend::{BackendCoord, DrawingErrorKind};

/// Pixels between two lines of a hatch.
const SPACING: i32 = 7;

/// A line in pixels, from one end to the other.
type Line = [BackendCoord; 2];

/// A filled rectangle with the hatch of the n-th series. The first series has none.
pub(super) struct Hatched<C> {
    pub(super) corners: [C; 2],
    pub(super) colour: RGBColor,
    pub(super) series: usize,
}

impl<'a, C> PointCollection<'a, C> for &'a Hatched<C> {
    type Point = &'a C;
    type IntoIter = std::slice::Iter<'a, C>;

    fn point_iter(self) -> Self::IntoIter {
        self.corners.iter()
    }
}

impl<C, DB: DrawingBackend> Drawable<DB> for Hatched<C> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        mut points: I,
        backend: &mut DB,
        _: (u32, u32),
    ) -> Result<(), DrawingErrorKind<DB::ErrorType>> {
        let (Some(a), Some(b)) = (points.next(), points.next()) else { return Ok(()) };
        let upper_left = (a.0.min(b.0), a.1.min(b.1));
        let lower_right = (a.0.max(b.0), a.1.max(b.1));
        backend.draw_rect(upper_left, lower_right, &self.colour.mix(0.85), true)?;
        // A line without length is none.
        let lines = lines(upper_left, lower_right, self.series);
        for [from, to] in lines.into_iter().filter(|[from, to]| from != to) {
            backend.draw_line(from, to, &WHITE.mix(0.9))?;
        }
        backend.draw_rect(upper_left, lower_right, &self.colour, false)
    }
}

/// The lines of a hatch within a rectangle.
fn lines((left, top): BackendCoord, (right, bottom): BackendCoord, series: usize) -> Vec<Line> {
    // The lines x + y = c and x - y = c, cut at the edges.
    let rising = || {
        let all = (left + top + SPACING..right + bottom).step_by(SPACING as usize);
        all.map(|c| {
            let from = left.max(c - bottom);
            let to = right.min(c - top);
            [(from, c - from), (to, c - to)]
        })
    };
    let falling = || {
        let all = (left - bottom + SPACING..right - top).step_by(SPACING as usize);
        all.map(|c| {
            let from = left.max(c + top);
            let to = right.min(c + bottom);
            [(from, from - c), (to, to - c)]
        })
    };
    let level = || (top + SPACING..bottom).step_by(SPACING as usize);
    let level = || level().map(|y| [(left, y), (right, y)]);
    let upright = || (left + SPACING..right).step_by(SPACING as usize);
    let upright = || upright().map(|x| [(x, top), (x, bottom)]);
    match series % 7 {
        0 => Vec::new(),
        1 => rising().collect(),
        2 => falling().collect(),
        3 => rising().chain(falling()).collect(),
        4 => level().collect(),
        5 => upright().collect(),
        _ => level().chain(upright()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hatch_is_another_and_stays_within_its_rectangle() {
        let (upper_left, lower_right) = ((10, 20), (43, 91));
        let all: Vec<Vec<Line>> = (0..7).map(|n| lines(upper_left, lower_right, n)).collect();
        for (n, hatch) in all.iter().enumerate() {
            assert_eq!(hatch.is_empty(), n == 0, "{n}");
            assert!(all[..n].iter().all(|other| other != hatch), "{n}");
            for (x, y) in hatch.iter().flatten() {
                assert!((10..=43).contains(x) && (20..=91).contains(y), "{n}: {x}, {y}");
            }
        }
        // A bar of a few pixels has room for none.
        assert!(lines((0, 0), (3, 3), 1).is_empty());
    }
}
