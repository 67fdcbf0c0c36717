//! Where a UE is that hears cells so loud: weighted least squares with Gauss and Newton, and the
//! ellipse around it.

use crate::descent::descend;
use crate::{Offset, PathLoss, Place, Plane};

/// A cell that was heard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heard {
    /// Where it sends.
    pub cell: Place,
    /// How loud, dBm.
    pub dbm: f64,
}

/// An ellipse, in metres and degrees from north to east.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ellipse {
    /// Semi-major axis, metres.
    pub semi_major: f64,
    /// Semi-minor axis, metres.
    pub semi_minor: f64,
    /// Orientation of the major axis, 0 to less than 180.
    pub orientation: f64,
}

/// Where a UE is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The likeliest place.
    pub place: Place,
    /// Where it is with [`Estimate::CONFIDENCE`].
    pub ellipse: Ellipse,
}

impl Estimate {
    /// Per cent.
    pub const CONFIDENCE: u8 = 95;
}

/// Why there is no position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSolved {
    /// No cell whose place is known was heard.
    NothingHeard,
    /// The measurements contradict each other.
    NoPlace,
}

impl std::fmt::Display for NotSolved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            NotSolved::NothingHeard => "the UE heard no cell whose place is known",
            NotSolved::NoPlace => "the measurements fit no place",
        })
    }
}

impl std::error::Error for NotSolved {}

/// The 95 % quantile of the chi-square distribution with two degrees of freedom.
const QUANTILE: f64 = 5.991;
/// A step shorter than this, in metres, is the last one.
const SHORT: f64 = 0.01;

/// The place that fits best.
///
/// # Errors
/// Nothing was heard, or nothing fits.
pub fn solve(heard: &[Heard], model: &PathLoss) -> Result<Estimate, NotSolved> {
    let loudest =
        heard.iter().max_by(|a, b| a.dbm.total_cmp(&b.dbm)).ok_or(NotSolved::NothingHeard)?;
    let plane = Plane::at(loudest.cell);
    let cells: Vec<(Offset, f64)> =
        heard.iter().map(|it| (plane.offset(&it.cell), it.dbm)).collect();
    // The louder, the nearer: the start is where each cell draws with what it is heard.
    let draw = |dbm: f64| model.metres(dbm).powi(-2);
    let total: f64 = cells.iter().map(|(_, dbm)| draw(*dbm)).sum();
    let start = cells.iter().fold(Offset::default(), |sum, (at, dbm)| Offset {
        east: sum.east + at.east * draw(*dbm) / total,
        north: sum.north + at.north * draw(*dbm) / total,
    });
    // One or two cells fix a circle or two points: the ellipse says so.
    let best = if cells.len() < 3 {
        start
    } else {
        let found = descend(
            start,
            SHORT,
            |at| normal(at, &cells, model),
            |at| unexplained(at, &cells, model),
        );
        found.ok_or(NotSolved::NoPlace)?.0
    };
    let ellipse = match cells.len() {
        0..3 => round(
            model.metres(loudest.dbm)
                * (1.0 + model.deviation_db.max(1.0) / (4.3 * model.exponent)),
        ),
        _ => around(&best, &cells, model),
    };
    let place = plane.place(&best);
    if place.is_valid() && ellipse.semi_major.is_finite() {
        Ok(Estimate { place, ellipse })
    } else {
        Err(NotSolved::NoPlace)
    }
}

/// Sum of the squares of what is left unexplained.
fn unexplained(at: &Offset, cells: &[(Offset, f64)], model: &PathLoss) -> f64 {
    cells.iter().map(|(cell, dbm)| (dbm - model.dbm(at.distance(cell))).powi(2)).sum()
}

/// The normal equations of a step: J^T J and J^T r.
fn normal(at: &Offset, cells: &[(Offset, f64)], model: &PathLoss) -> ([f64; 3], [f64; 2]) {
    let (mut square, mut right) = ([0.0; 3], [0.0; 2]);
    for (cell, dbm) in cells {
        let metres = at.distance(cell).max(1.0);
        let (east, north) = ((at.east - cell.east) / metres, (at.north - cell.north) / metres);
        let slope = -model.slope(metres);
        let (de, dn, rest) = (slope * east, slope * north, dbm - model.dbm(metres));
        square[0] += de * de;
        square[1] += de * dn;
        square[2] += dn * dn;
        right[0] += de * rest;
        right[1] += dn * rest;
    }
    (square, right)
}

fn round(radius: f64) -> Ellipse {
    Ellipse { semi_major: radius, semi_minor: radius, orientation: 0.0 }
}

/// The ellipse of the covariance: that of the measurements as the model has it, or as they scatter,
/// where they scatter more.
fn around(at: &Offset, cells: &[(Offset, f64)], model: &PathLoss) -> Ellipse {
    let (square, _) = normal(at, cells, model);
    let freedom = cells.len().saturating_sub(2).max(1) as f64;
    // Values are reported in whole decibels: they deviate by 0.3 dB at least.
    let variance =
        (unexplained(at, cells, model) / freedom).max(model.deviation_db.max(0.3).powi(2));
    // Cells in a line say nothing of where beside it the UE is.
    ellipse_of(square, variance).unwrap_or(round(f64::INFINITY))
}

/// The ellipse of normal equations with measurements of this variance.
pub(crate) fn ellipse_of([ee, en, nn]: [f64; 3], variance: f64) -> Option<Ellipse> {
    let determinant = ee * nn - en * en;
    let (vee, ven, vnn) =
        (nn / determinant * variance, -en / determinant * variance, ee / determinant * variance);
    let (middle, half) = ((vee + vnn) / 2.0, ((vee - vnn) / 2.0).hypot(ven));
    let axis = |variance: f64| (variance.max(0.0) * QUANTILE).sqrt();
    // From north to east: the angle of the eigenvector, with north as the first axis.
    let orientation = (0.5 * (2.0 * ven).atan2(vnn - vee)).to_degrees().rem_euclid(180.0);
    let ellipse =
        Ellipse { semi_major: axis(middle + half), semi_minor: axis(middle - half), orientation };
    (determinant > 0.0 && ellipse.semi_major.is_finite()).then_some(ellipse)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(plane: &Plane, at: &[(f64, f64)]) -> Vec<Place> {
        at.iter().map(|&(east, north)| plane.place(&Offset { east, north })).collect()
    }

    fn hear(
        cells: &[Place],
        ue: &Place,
        model: &PathLoss,
        noise: impl Fn(usize) -> f64,
    ) -> Vec<Heard> {
        let dbm = |n: usize, cell: &Place| model.dbm(cell.distance(ue)) + noise(n);
        cells.iter().enumerate().map(|(n, &cell)| Heard { cell, dbm: dbm(n, &cell) }).collect()
    }

    #[test]
    fn a_ue_that_measures_without_error_is_found_to_the_centimetre() {
        let plane = Plane::at(Place { lat: 54.09, lon: 12.1 });
        let model = PathLoss::default();
        let cells = cells(&plane, &[(0.0, 0.0), (400.0, 50.0), (150.0, 380.0), (-200.0, 250.0)]);
        for (east, north) in
            [(120.0, 90.0), (10.0, 300.0), (399.0, 51.0), (-150.0, -80.0), (30.0, 5.0)]
        {
            let ue = plane.place(&Offset { east, north });
            let found = solve(&hear(&cells, &ue, &model, |_| 0.0), &model).unwrap();
            assert!(
                found.place.distance(&ue) < 0.1,
                "{east} {north}: {:?}",
                found.place.distance(&ue)
            );
        }
    }

    #[test]
    fn the_ellipse_holds_the_ue_about_as_often_as_it_says() {
        let plane = Plane::at(Place { lat: 54.09, lon: 12.1 });
        let model = PathLoss { deviation_db: 1.5, ..PathLoss::default() };
        let cells = cells(
            &plane,
            &[(0.0, 0.0), (500.0, 0.0), (250.0, 430.0), (-250.0, 430.0), (250.0, -430.0)],
        );
        let ue_at = Offset { east: 180.0, north: 120.0 };
        let ue = plane.place(&ue_at);
        // A generator of normal deviates from a fixed seed: sums of twelve.
        let mut state = 12_345u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let (mut inside, rounds) = (0, 2000);
        for _ in 0..rounds {
            let noise: Vec<f64> = (0..cells.len())
                .map(|_| 1.5 * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0))
                .collect();
            let found = solve(&hear(&cells, &ue, &model, |n| noise[n]), &model).unwrap();
            let off = Plane::at(found.place).offset(&ue);
            let (sin, cos) = found.ellipse.orientation.to_radians().sin_cos();
            let (along, across) =
                (off.north * cos + off.east * sin, off.east * cos - off.north * sin);
            let scaled = (along / found.ellipse.semi_major).powi(2)
                + (across / found.ellipse.semi_minor).powi(2);
            inside += usize::from(scaled <= 1.0);
        }
        let share = inside as f64 / f64::from(rounds);
        assert!((0.90..=0.99).contains(&share), "inside in {share}");
    }

    #[test]
    fn one_or_two_cells_are_a_circle_and_none_is_nothing() {
        let plane = Plane::at(Place { lat: 0.0, lon: 0.0 });
        let model = PathLoss::default();
        let cells = cells(&plane, &[(0.0, 0.0), (300.0, 0.0)]);
        let ue = plane.place(&Offset { east: 60.0, north: 0.0 });
        for count in 1..=2 {
            let found = solve(&hear(&cells[..count], &ue, &model, |_| 0.0), &model).unwrap();
            assert!(found.place.distance(&ue) <= found.ellipse.semi_major, "{count}: {found:?}");
            assert_eq!(found.ellipse.semi_major, found.ellipse.semi_minor);
        }
        assert_eq!(solve(&[], &model), Err(NotSolved::NothingHeard));
    }

    #[test]
    fn measurements_without_sense_give_no_panic_and_no_place_of_nowhere() {
        let plane = Plane::at(Place { lat: 54.0, lon: 12.0 });
        let model = PathLoss::default();
        let same = cells(&plane, &[(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]);
        let line = cells(&plane, &[(0.0, 0.0), (100.0, 0.0), (200.0, 0.0)]);
        for cells in [same, line] {
            for dbm in [-31.0, -80.0, -156.0] {
                let heard: Vec<Heard> = cells.iter().map(|&cell| Heard { cell, dbm }).collect();
                if let Ok(found) = solve(&heard, &model) {
                    assert!(found.place.is_valid() && found.ellipse.semi_major.is_finite());
                }
            }
        }
    }
}
