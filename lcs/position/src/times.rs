//! Where a UE is whose distances to places, or their differences, were measured: weighted least
//! squares, from several starts, since hyperbolas may meet twice.

use crate::descent::descend;
use crate::solve::{Estimate, NotSolved, ellipse_of};
use crate::{Offset, Place, Plane};

/// A measurement that has to do with distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timed {
    /// Whose distance.
    pub to: Place,
    /// What is subtracted: the distance to this one; none for a distance alone (round trip times).
    pub from: Option<Place>,
    /// Metres.
    pub metres: f64,
    /// Their standard deviation.
    pub deviation: f64,
}

/// A step shorter than this, in metres, is the last one.
const SHORT: f64 = 0.001;

struct Equation {
    to: Offset,
    from: Option<Offset>,
    metres: f64,
    weight: f64,
}

impl Equation {
    /// What is left unexplained at a place, and how it changes to the east and to the north.
    fn at(&self, place: &Offset) -> (f64, f64, f64) {
        let towards = |it: &Offset| {
            let metres = place.distance(it).max(0.1);
            (metres, (place.east - it.east) / metres, (place.north - it.north) / metres)
        };
        let (mut metres, mut east, mut north) = towards(&self.to);
        if let Some(from) = &self.from {
            let (less, e, n) = towards(from);
            (metres, east, north) = (metres - less, east - e, north - n);
        }
        (self.metres - metres, east, north)
    }
}

/// The place that fits best.
///
/// # Errors
/// There are fewer than two measurements, or they fix no place.
pub fn solve_times(measured: &[Timed]) -> Result<Estimate, NotSolved> {
    let first = measured.first().ok_or(NotSolved::NothingHeard)?;
    if measured.len() < 2 {
        return Err(NotSolved::NoPlace);
    }
    let plane = Plane::at(first.to);
    let equation = |it: &Timed| Equation {
        to: plane.offset(&it.to),
        from: it.from.map(|from| plane.offset(&from)),
        metres: it.metres,
        weight: it.deviation.max(0.05).powi(-2),
    };
    let equations: Vec<Equation> = measured.iter().map(equation).collect();
    let mut anchors: Vec<Offset> =
        equations.iter().flat_map(|it| [Some(it.to), it.from]).flatten().collect();
    let count = anchors.len() as f64;
    let middle = anchors.iter().fold(Offset::default(), |sum, it| Offset {
        east: sum.east + it.east / count,
        north: sum.north + it.north / count,
    });
    // Between the middle and each of them, too: beside a place its own distance has no direction.
    let between = |it: &Offset| Offset {
        east: (it.east + middle.east) / 2.0,
        north: (it.north + middle.north) / 2.0,
    };
    anchors = anchors.iter().map(between).collect();
    anchors.push(middle);
    let from = |start| {
        descend(start, SHORT, |at| normal(at, &equations), |at| unexplained(at, &equations))
    };
    let solutions = anchors.into_iter().filter_map(from).filter(|(_, left)| left.is_finite());
    let (best, left) = solutions.min_by(|a, b| a.1.total_cmp(&b.1)).ok_or(NotSolved::NoPlace)?;
    let (square, _) = normal(&best, &equations);
    let freedom = equations.len().saturating_sub(2).max(1) as f64;
    // As the measurements say, or as they scatter, where they scatter more.
    let ellipse = ellipse_of(square, (left / freedom).max(1.0)).ok_or(NotSolved::NoPlace)?;
    let place = plane.place(&best);
    match place.is_valid() && ellipse.semi_major.is_finite() {
        true => Ok(Estimate { place, ellipse }),
        false => Err(NotSolved::NoPlace),
    }
}

/// J^T W J and J^T W r.
fn normal(at: &Offset, equations: &[Equation]) -> ([f64; 3], [f64; 2]) {
    let (mut square, mut right) = ([0.0; 3], [0.0; 2]);
    for equation in equations {
        let (rest, east, north) = equation.at(at);
        let weight = equation.weight;
        square[0] += weight * east * east;
        square[1] += weight * east * north;
        square[2] += weight * north * north;
        right[0] += weight * east * rest;
        right[1] += weight * north * rest;
    }
    (square, right)
}

fn unexplained(at: &Offset, equations: &[Equation]) -> f64 {
    equations.iter().map(|it| it.at(at).0.powi(2) * it.weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(at: &[(f64, f64)]) -> (Plane, Vec<Place>) {
        let plane = Plane::at(Place { lat: 54.09, lon: 12.1 });
        let places = at.iter().map(|&(east, north)| plane.place(&Offset { east, north })).collect();
        (plane, places)
    }

    fn differences(
        cells: &[Place],
        ue: &Place,
        deviation: f64,
        noise: impl Fn(usize) -> f64,
    ) -> Vec<Timed> {
        let of = |n: usize| cells[n].distance(ue) - cells[0].distance(ue) + noise(n);
        (1..cells.len())
            .map(|n| Timed { to: cells[n], from: Some(cells[0]), metres: of(n), deviation })
            .collect()
    }

    fn distances(
        cells: &[Place],
        ue: &Place,
        deviation: f64,
        noise: impl Fn(usize) -> f64,
    ) -> Vec<Timed> {
        let of = |n: usize| cells[n].distance(ue) + noise(n);
        (0..cells.len())
            .map(|n| Timed { to: cells[n], from: None, metres: of(n), deviation })
            .collect()
    }

    #[test]
    fn times_without_error_give_the_place() {
        let (plane, cells) = places(&[(0.0, 0.0), (420.0, 30.0), (180.0, 390.0), (-240.0, 260.0)]);
        for (east, north) in
            [(120.0, 140.0), (10.0, 300.0), (400.0, 60.0), (-150.0, -80.0), (3.0, 5.0)]
        {
            let ue = plane.place(&Offset { east, north });
            for measured in
                [differences(&cells, &ue, 0.3, |_| 0.0), distances(&cells, &ue, 0.3, |_| 0.0)]
            {
                let found = solve_times(&measured).unwrap();
                assert!(found.place.distance(&ue) < 0.05, "{east} {north}: {found:?}");
                assert!(found.ellipse.semi_major < 10.0);
            }
        }
    }

    #[test]
    fn the_ellipse_holds_what_it_says() {
        let (plane, cells) =
            places(&[(0.0, 0.0), (420.0, 30.0), (180.0, 390.0), (-240.0, 260.0), (100.0, -300.0)]);
        let ue = plane.place(&Offset { east: 90.0, north: 110.0 });
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
            let found = solve_times(&distances(&cells, &ue, 3.0, |n| noise[n])).unwrap();
            let off = Plane::at(found.place).offset(&ue);
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
    fn too_few_and_senseless_measurements_are_no_place_and_no_panic() {
        let (plane, cells) = places(&[(0.0, 0.0), (0.0, 0.0), (100.0, 0.0)]);
        let ue = plane.place(&Offset { east: 50.0, north: 50.0 });
        assert_eq!(solve_times(&[]), Err(NotSolved::NothingHeard));
        assert!(solve_times(&distances(&cells, &ue, 1.0, |_| 0.0)[..1]).is_err());
        for metres in [0.0, 1e9, -1e9, f64::NAN, f64::INFINITY] {
            let measured: Vec<Timed> =
                cells.iter().map(|&to| Timed { to, from: None, metres, deviation: 1.0 }).collect();
            if let Ok(found) = solve_times(&measured) {
                assert!(found.place.is_valid() && found.ellipse.semi_major.is_finite());
            }
        }
    }
}
