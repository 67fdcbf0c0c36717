//! Nonlinear least squares in two dimensions: Levenberg-Marquardt.
use crate::Offset;

const MAX_STEPS: usize = 60;

/// Minimises a sum of squares from a start nearby. Returns the minimum and the sum there; None if
/// the normal equations are singular.
///
/// `normal` returns the normal equations at a point (J^T W J as its three elements, and J^T W r),
/// `residual` the weighted sum of squared residuals. A step shorter than `tolerance` metres ends
/// the search.
pub(crate) fn minimise(
    mut at: Offset,
    tolerance: f64,
    normal: impl Fn(&Offset) -> ([f64; 3], [f64; 2]),
    residual: impl Fn(&Offset) -> f64,
) -> Option<(Offset, f64)> {
    let (mut damping, mut sum) = (1e-3, residual(&at));
    for _ in 0..MAX_STEPS {
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
        let next_sum = residual(&next);
        if next_sum < sum {
            (at, sum, damping) = (next, next_sum, damping / 4.0);
            if step.length() < tolerance {
                break;
            }
        } else {
            damping *= 8.0;
            if damping > 1e9 {
                break;
            }
        }
    }
    (at.east.is_finite() && at.north.is_finite()).then_some((at, sum))
}
