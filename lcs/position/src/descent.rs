//! The place that explains measurements best, found from a place nearby.
use crate::Offset;

const MOST_STEPS: usize = 60;

/// Levenberg and Marquardt: Gauss and Newton, damped so that each step makes it better. `normal`
/// gives the normal equations of a step (J^T W J and J^T W r), `unexplained` the sum of the squares
/// of what is left unexplained at a place. A step shorter than `short`, in metres, is the last one.
/// The place, and what is left there; none where no step leads on.
pub(crate) fn descend(
    mut at: Offset,
    short: f64,
    normal: impl Fn(&Offset) -> ([f64; 3], [f64; 2]),
    unexplained: impl Fn(&Offset) -> f64,
) -> Option<(Offset, f64)> {
    let (mut damping, mut left) = (1e-3, unexplained(&at));
    for _ in 0..MOST_STEPS {
        let ([ee, en, nn], [e, n]) = normal(&at);
        let (ee, nn) = (ee * (1.0 + damping) + 1e-12, nn * (1.0 + damping) + 1e-12);
        let determinant = ee * nn - en * en;
        if !determinant.is_finite() || determinant.abs() < f64::MIN_POSITIVE {
            return None;
        }
        let step = Offset {
            east: (nn * e - en * n) / determinant,
            north: (ee * n - en * e) / determinant,
        };
        let next = Offset { east: at.east + step.east, north: at.north + step.north };
        let then = unexplained(&next);
        if then < left {
            (at, left, damping) = (next, then, damping / 4.0);
            if step.length() < short {
                break;
            }
        } else {
            damping *= 8.0;
            if damping > 1e9 {
                break;
            }
        }
    }
    (at.east.is_finite() && at.north.is_finite()).then_some((at, left))
}
