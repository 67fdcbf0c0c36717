//! Position from signal strengths (E-CID): least squares over the path loss model.

use crate::levenberg_marquardt::minimise;
use crate::{Ellipse, Estimate, GeoPoint, Offset, PathLoss, SolveError, TangentPlane};

/// The signal strength of a cell at the UE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellMeasurement {
    /// The position of the cell's antenna.
    pub cell: GeoPoint,
    /// SS-RSRP, dBm.
    pub dbm: f64,
}

/// Metres.
const TOLERANCE: f64 = 0.01;

/// The position that fits the measurements best. Fewer than three cells give a circle.
///
/// # Errors
/// There is no measurement, or they determine no position.
pub fn solve_signal_strengths(
    measured: &[CellMeasurement],
    model: &PathLoss,
) -> Result<Estimate, SolveError> {
    let strongest =
        measured.iter().max_by(|a, b| a.dbm.total_cmp(&b.dbm)).ok_or(SolveError::NoMeasurements)?;
    let plane = TangentPlane::at(strongest.cell);
    let cells: Vec<(Offset, f64)> =
        measured.iter().map(|it| (plane.offset(&it.cell), it.dbm)).collect();
    // Start at the weighted centre: the stronger the signal, the nearer the cell.
    let weight = |dbm: f64| model.metres(dbm).powi(-2);
    let total: f64 = cells.iter().map(|(_, dbm)| weight(*dbm)).sum();
    let start = cells.iter().fold(Offset::default(), |sum, (at, dbm)| Offset {
        east: sum.east + at.east * weight(*dbm) / total,
        north: sum.north + at.north * weight(*dbm) / total,
    });
    // One or two cells determine a circle or two points, which the circle below contains.
    let best = if cells.len() < 3 {
        start
    } else {
        let found = minimise(
            start,
            TOLERANCE,
            |at| normal(at, &cells, model),
            |at| residual_sum(at, &cells, model),
        );
        found.ok_or(SolveError::NoSolution)?.0
    };
    let ellipse = match cells.len() {
        0..3 => Ellipse::circle(
            model.metres(strongest.dbm)
                * (1.0 + model.deviation_db.max(1.0) / (4.3 * model.exponent)),
        ),
        _ => ellipse(&best, &cells, model),
    };
    let point = plane.point(&best);
    if point.is_valid() && ellipse.semi_major.is_finite() {
        Ok(Estimate { point, ellipse })
    } else {
        Err(SolveError::NoSolution)
    }
}

/// The sum of squared residuals.
fn residual_sum(at: &Offset, cells: &[(Offset, f64)], model: &PathLoss) -> f64 {
    cells.iter().map(|(cell, dbm)| (dbm - model.dbm(at.distance(cell))).powi(2)).sum()
}

/// The normal equations: J^T J and J^T r.
fn normal(at: &Offset, cells: &[(Offset, f64)], model: &PathLoss) -> ([f64; 3], [f64; 2]) {
    let (mut square, mut right) = ([0.0; 3], [0.0; 2]);
    for (cell, dbm) in cells {
        let metres = at.distance(cell).max(1.0);
        let (east, north) = ((at.east - cell.east) / metres, (at.north - cell.north) / metres);
        let slope = -model.slope(metres);
        let (de, dn, residual) = (slope * east, slope * north, dbm - model.dbm(metres));
        square[0] += de * de;
        square[1] += de * dn;
        square[2] += dn * dn;
        right[0] += de * residual;
        right[1] += dn * residual;
    }
    (square, right)
}

/// The ellipse of the covariance, with the model's variance or the observed one if that is larger.
fn ellipse(at: &Offset, cells: &[(Offset, f64)], model: &PathLoss) -> Ellipse {
    let (square, _) = normal(at, cells, model);
    let freedom = cells.len().saturating_sub(2).max(1) as f64;
    // Values are reported in whole decibels, so their deviation is 0.3 dB at least.
    let variance =
        (residual_sum(at, cells, model) / freedom).max(model.deviation_db.max(0.3).powi(2));
    // Cells on a line leave the direction across it undetermined.
    Ellipse::of_normal_equations(square, variance).unwrap_or(Ellipse::circle(f64::INFINITY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(plane: &TangentPlane, at: &[(f64, f64)]) -> Vec<GeoPoint> {
        at.iter().map(|&(east, north)| plane.point(&Offset { east, north })).collect()
    }

    fn measure(
        cells: &[GeoPoint],
        ue: &GeoPoint,
        model: &PathLoss,
        noise: impl Fn(usize) -> f64,
    ) -> Vec<CellMeasurement> {
        let dbm = |n: usize, cell: &GeoPoint| model.dbm(cell.distance(ue)) + noise(n);
        cells
            .iter()
            .enumerate()
            .map(|(n, &cell)| CellMeasurement { cell, dbm: dbm(n, &cell) })
            .collect()
    }

    #[test]
    fn exact_measurements_give_the_position_to_0_1_m() {
        let plane = TangentPlane::at(GeoPoint { lat: 54.09, lon: 12.1 });
        let model = PathLoss::default();
        let cells = cells(&plane, &[(0.0, 0.0), (400.0, 50.0), (150.0, 380.0), (-200.0, 250.0)]);
        for (east, north) in
            [(120.0, 90.0), (10.0, 300.0), (399.0, 51.0), (-150.0, -80.0), (30.0, 5.0)]
        {
            let ue = plane.point(&Offset { east, north });
            let found =
                solve_signal_strengths(&measure(&cells, &ue, &model, |_| 0.0), &model).unwrap();
            assert!(
                found.point.distance(&ue) < 0.1,
                "{east} {north}: {:?}",
                found.point.distance(&ue)
            );
        }
    }

    #[test]
    fn the_ellipse_contains_the_ue_with_its_confidence() {
        let plane = TangentPlane::at(GeoPoint { lat: 54.09, lon: 12.1 });
        let model = PathLoss { deviation_db: 1.5, ..PathLoss::default() };
        let cells = cells(
            &plane,
            &[(0.0, 0.0), (500.0, 0.0), (250.0, 430.0), (-250.0, 430.0), (250.0, -430.0)],
        );
        let ue_at = Offset { east: 180.0, north: 120.0 };
        let ue = plane.point(&ue_at);
        // Normal deviates from a fixed seed, as sums of twelve uniform ones.
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
            let found = solve_signal_strengths(&measure(&cells, &ue, &model, |n| noise[n]), &model)
                .unwrap();
            let off = TangentPlane::at(found.point).offset(&ue);
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
    fn one_or_two_cells_give_a_circle_and_none_an_error() {
        let plane = TangentPlane::at(GeoPoint { lat: 0.0, lon: 0.0 });
        let model = PathLoss::default();
        let cells = cells(&plane, &[(0.0, 0.0), (300.0, 0.0)]);
        let ue = plane.point(&Offset { east: 60.0, north: 0.0 });
        for count in 1..=2 {
            let found =
                solve_signal_strengths(&measure(&cells[..count], &ue, &model, |_| 0.0), &model)
                    .unwrap();
            assert!(found.point.distance(&ue) <= found.ellipse.semi_major, "{count}: {found:?}");
            assert_eq!(found.ellipse.semi_major, found.ellipse.semi_minor);
        }
        assert_eq!(solve_signal_strengths(&[], &model), Err(SolveError::NoMeasurements));
    }

    #[test]
    fn absurd_measurements_give_an_error_or_a_valid_position() {
        let plane = TangentPlane::at(GeoPoint { lat: 54.0, lon: 12.0 });
        let model = PathLoss::default();
        let same = cells(&plane, &[(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]);
        let line = cells(&plane, &[(0.0, 0.0), (100.0, 0.0), (200.0, 0.0)]);
        for cells in [same, line] {
            for dbm in [-31.0, -80.0, -156.0] {
                let measured: Vec<CellMeasurement> =
                    cells.iter().map(|&cell| CellMeasurement { cell, dbm }).collect();
                if let Ok(found) = solve_signal_strengths(&measured, &model) {
                    assert!(found.point.is_valid() && found.ellipse.semi_major.is_finite());
                }
            }
        }
    }
}
