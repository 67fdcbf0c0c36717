//! Position from distances (round trip times) or differences of distances (DL-TDOA): weighted least
//! squares from several starts, since hyperbolas can intersect twice.

use crate::levenberg_marquardt::minimise;
use crate::{Ellipse, Estimate, GeoPoint, Offset, SolveError, TangentPlane};

/// A measured distance, or a measured difference of two distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RangeMeasurement {
    /// The point whose distance was measured.
    pub to: GeoPoint,
    /// The reference point, whose distance is subtracted (DL-TDOA). None for a distance (RTT).
    pub from: Option<GeoPoint>,
    /// The measured value, metres.
    pub metres: f64,
    /// Its standard deviation, metres.
    pub deviation: f64,
}

/// Metres.
const TOLERANCE: f64 = 0.001;

struct Equation {
    to: Offset,
    from: Option<Offset>,
    metres: f64,
    weight: f64,
}

impl Equation {
    /// The residual at a point, and the direction of its gradient (east, north).
    fn at(&self, point: &Offset) -> (f64, f64, f64) {
        let towards = |it: &Offset| {
            let metres = point.distance(it).max(0.1);
            (metres, (point.east - it.east) / metres, (point.north - it.north) / metres)
        };
        let (mut metres, mut east, mut north) = towards(&self.to);
        if let Some(from) = &self.from {
            let (less, e, n) = towards(from);
            (metres, east, north) = (metres - less, east - e, north - n);
        }
        (self.metres - metres, east, north)
    }
}

/// The position that fits the measurements best.
///
/// # Errors
/// There are fewer than two measurements, or they determine no position.
pub fn solve_ranges(measured: &[RangeMeasurement]) -> Result<Estimate, SolveError> {
    let first = measured.first().ok_or(SolveError::NoMeasurements)?;
    if measured.len() < 2 {
        return Err(SolveError::NoSolution);
    }
    let plane = TangentPlane::at(first.to);
    let equation = |it: &RangeMeasurement| Equation {
        to: plane.offset(&it.to),
        from: it.from.map(|from| plane.offset(&from)),
        metres: it.metres,
        weight: it.deviation.max(0.05).powi(-2),
    };
    let equations: Vec<Equation> = measured.iter().map(equation).collect();
    let mut anchors: Vec<Offset> =
        equations.iter().flat_map(|it| [Some(it.to), it.from]).flatten().collect();
    let count = anchors.len() as f64;
    let centre = anchors.iter().fold(Offset::default(), |sum, it| Offset {
        east: sum.east + it.east / count,
        north: sum.north + it.north / count,
    });
    // Start at the centre, and half-way between it and each anchor: at an anchor itself the
    // gradient of its own distance is undefined.
    let between = |it: &Offset| Offset {
        east: (it.east + centre.east) / 2.0,
        north: (it.north + centre.north) / 2.0,
    };
    anchors = anchors.iter().map(between).collect();
    anchors.push(centre);
    let from = |start| {
        minimise(start, TOLERANCE, |at| normal(at, &equations), |at| residual_sum(at, &equations))
    };
    let solutions = anchors.into_iter().filter_map(from).filter(|(_, left)| left.is_finite());
    let (best, left) =
        solutions.min_by(|a, b| a.1.total_cmp(&b.1)).ok_or(SolveError::NoSolution)?;
    let (square, _) = normal(&best, &equations);
    let freedom = equations.len().saturating_sub(2).max(1) as f64;
    // The a-priori variance, or the observed one if that is larger.
    let ellipse = Ellipse::of_normal_equations(square, (left / freedom).max(1.0))
        .ok_or(SolveError::NoSolution)?;
    let point = plane.point(&best);
    match point.is_valid() && ellipse.semi_major.is_finite() {
        true => Ok(Estimate { point, ellipse }),
        false => Err(SolveError::NoSolution),
    }
}

/// The normal equations: J^T W J and J^T W r.
fn normal(at: &Offset, equations: &[Equation]) -> ([f64; 3], [f64; 2]) {
    let (mut square, mut right) = ([0.0; 3], [0.0; 2]);
    for equation in equations {
        let (residual, east, north) = equation.at(at);
        let weight = equation.weight;
        square[0] += weight * east * east;
        square[1] += weight * east * north;
        square[2] += weight * north * north;
        right[0] += weight * east * residual;
        right[1] += weight * north * residual;
    }
    (square, right)
}

fn residual_sum(at: &Offset, equations: &[Equation]) -> f64 {
    equations.iter().map(|it| it.at(at).0.powi(2) * it.weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(at: &[(f64, f64)]) -> (TangentPlane, Vec<GeoPoint>) {
        let plane = TangentPlane::at(GeoPoint { lat: 54.09, lon: 12.1 });
        let points = at.iter().map(|&(east, north)| plane.point(&Offset { east, north })).collect();
        (plane, points)
    }

    fn differences(
        cells: &[GeoPoint],
        ue: &GeoPoint,
        deviation: f64,
        noise: impl Fn(usize) -> f64,
    ) -> Vec<RangeMeasurement> {
        let of = |n: usize| cells[n].distance(ue) - cells[0].distance(ue) + noise(n);
        (1..cells.len())
            .map(|n| RangeMeasurement {
                to: cells[n],
                from: Some(cells[0]),
                metres: of(n),
                deviation,
            })
            .collect()
    }

    fn distances(
        cells: &[GeoPoint],
        ue: &GeoPoint,
        deviation: f64,
        noise: impl Fn(usize) -> f64,
    ) -> Vec<RangeMeasurement> {
        let of = |n: usize| cells[n].distance(ue) + noise(n);
        (0..cells.len())
            .map(|n| RangeMeasurement { to: cells[n], from: None, metres: of(n), deviation })
            .collect()
    }

    #[test]
    fn exact_ranges_give_the_exact_position() {
        let (plane, cells) = points(&[(0.0, 0.0), (420.0, 30.0), (180.0, 390.0), (-240.0, 260.0)]);
        for (east, north) in
            [(120.0, 140.0), (10.0, 300.0), (400.0, 60.0), (-150.0, -80.0), (3.0, 5.0)]
        {
            let ue = plane.point(&Offset { east, north });
            for measured in
                [differences(&cells, &ue, 0.3, |_| 0.0), distances(&cells, &ue, 0.3, |_| 0.0)]
            {
                let found = solve_ranges(&measured).unwrap();
                assert!(found.point.distance(&ue) < 0.05, "{east} {north}: {found:?}");
                assert!(found.ellipse.semi_major < 10.0);
            }
        }
    }

    #[test]
    fn the_ellipse_contains_the_ue_with_its_confidence() {
        let (plane, cells) =
            points(&[(0.0, 0.0), (420.0, 30.0), (180.0, 390.0), (-240.0, 260.0), (100.0, -300.0)]);
        let ue = plane.point(&Offset { east: 90.0, north: 110.0 });
        let mut state = 7u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let rounds = 2000;
        let mut inside = 0;
        for _ in 0..rounds {
            let noise: Vec<f64> =
                (0..5).map(|_| 3.0 * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)).collect();
            let found = solve_ranges(&distances(&cells, &ue, 3.0, |n| noise[n])).unwrap();
            let off = TangentPlane::at(found.point).offset(&ue);
            let (sin, cos) = found.ellipse.orientation.to_radians().sin_cos();
            let (along, across) =
                (off.north * cos + off.east * sin, off.east * cos - off.north * sin);
            let scaled = (along / found.ellipse.semi_major).powi(2)
                + (across / found.ellipse.semi_minor).powi(2);
            inside += usize::from(scaled <= 1.0);
        }
        let share = f64::from(inside as u32) / f64::from(rounds);
        assert!((0.92..=0.99).contains(&share), "inside in {share}");
    }

    #[test]
    fn attack_a_ue_reports_one_point_several_times() {
        let (plane, cells) = points(&[(0.0, 0.0), (420.0, 30.0)]);
        let ue = plane.point(&Offset { east: 120.0, north: 140.0 });
        for deviation in [0.3, 3.0, 900.0] {
            // Distances to one point, and differences between the same two.
            let one = RangeMeasurement {
                to: cells[0],
                from: None,
                metres: cells[0].distance(&ue),
                deviation,
            };
            assert_eq!(solve_ranges(&[one; 3]), Err(SolveError::NoSolution));
            let two = differences(&cells, &ue, deviation, |_| 0.0)[0];
            assert_eq!(solve_ranges(&[two; 3]), Err(SolveError::NoSolution));
        }
    }

    #[test]
    fn points_at_one_place_determine_no_position() {
        // The sectors of a site, a millimetre apart.
        let (plane, sectors) = points(&[(0.0, 0.0), (0.001, 0.0), (0.0, 0.001)]);
        let ue = plane.point(&Offset { east: 120.0, north: 140.0 });
        for deviation in [0.3, 3.0, 900.0] {
            let measured = distances(&sectors, &ue, deviation, |_| 0.0);
            assert_eq!(solve_ranges(&measured), Err(SolveError::NoSolution));
        }
    }

    #[test]
    fn too_few_or_absurd_measurements_give_an_error() {
        let (plane, cells) = points(&[(0.0, 0.0), (0.0, 0.0), (100.0, 0.0)]);
        let ue = plane.point(&Offset { east: 50.0, north: 50.0 });
        assert_eq!(solve_ranges(&[]), Err(SolveError::NoMeasurements));
        assert!(solve_ranges(&distances(&cells, &ue, 1.0, |_| 0.0)[..1]).is_err());
        for metres in [0.0, 1e9, -1e9, f64::NAN, f64::INFINITY] {
            let measured: Vec<RangeMeasurement> = cells
                .iter()
                .map(|&to| RangeMeasurement { to, from: None, metres, deviation: 1.0 })
                .collect();
            if let Ok(found) = solve_ranges(&measured) {
                assert!(found.point.is_valid() && found.ellipse.semi_major.is_finite());
            }
        }
    }
}
