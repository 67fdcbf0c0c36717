//! The Universal Scalability Law: `X(N) = λN / (1 + σ(N - 1) + κN(N - 1))`. The rate of `N` members
//! from the rate of one, λ, the share of work that members cannot do at the same time, σ, and the
//! cost of each pair of members to keep each other up to date, κ.

/// A fitted law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Usl {
    /// λ: the rate of one member.
    pub rate: f64,
    /// σ: contention.
    pub contention: f64,
    /// κ: coherency.
    pub coherency: f64,
}

impl Usl {
    /// The rate of this number of members.
    pub(super) fn rate_of(&self, members: f64) -> f64 {
        let pairs = members * (members - 1.0);
        self.rate * members / (1.0 + self.contention * (members - 1.0) + self.coherency * pairs)
    }

    /// The number of members beyond which the rate falls; `None` where it does not fall.
    pub(super) fn peak(&self) -> Option<f64> {
        let peak = ((1.0 - self.contention) / self.coherency).sqrt();
        (self.coherency > 1e-9 && peak.is_finite()).then_some(peak)
    }

    /// Fits points `(members, rate)` by least squares. `N / X(N)` is linear in `1/λ`, `σ/λ` and
    /// `κ/λ`. No cost is negative: one that would be is 0, and the others are fitted again. Points
    /// of fewer than three different numbers of members give no coherency, and of fewer than two no
    /// contention.
    pub(super) fn fit(points: &[(f64, f64)]) -> Option<Usl> {
        let is_usable = |(members, rate): &(f64, f64)| {
            *members >= 1.0 && rate.is_finite() && *rate > 0.0 && members.is_finite()
        };
        let points: Vec<_> = points.iter().copied().filter(is_usable).collect();
        let mut numbers: Vec<f64> = points.iter().map(|point| point.0).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        // The sets of costs that may be fitted, the larger ones first.
        let choices: &[[bool; 2]] = match numbers.len() {
            0 => return None,
            1 => &[[false, false]],
            2 => &[[true, false], [false, false]],
            _ => &[[true, true], [true, false], [false, true], [false, false]],
        };
        let fits = choices.iter().filter_map(|choice| Usl::fit_costs(&points, *choice));
        let of_size = |usl: &Usl| usl.contention >= 0.0 && usl.coherency >= 0.0 && usl.rate > 0.0;
        let error = |usl: &Usl| -> f64 {
            let residual = |(n, x): &(f64, f64)| n / x - n / usl.rate_of(*n);
            points.iter().map(|point| residual(point).powi(2)).sum()
        };
        fits.filter(of_size).min_by(|a, b| error(a).total_cmp(&error(b)))
    }

    /// Fits the rate and the chosen costs (contention, coherency); a cost may become negative.
    fn fit_costs(points: &[(f64, f64)], costs: [bool; 2]) -> Option<Usl> {
        let used: Vec<usize> = [true, costs[0], costs[1]]
            .iter()
            .enumerate()
            .filter_map(|(index, used)| used.then_some(index))
            .collect();
        // The normal equations.
        let size = used.len();
        let mut rows = vec![vec![0.0; size + 1]; size];
        for (n, x) in points {
            let terms = [1.0, n - 1.0, n * (n - 1.0)];
            for (row, i) in rows.iter_mut().zip(&used) {
                for (cell, j) in row.iter_mut().zip(&used) {
                    *cell += terms[*i] * terms[*j];
                }
                row[size] += terms[*i] * n / x;
            }
        }
        let mut all = [0.0; 3];
        for (index, value) in used.into_iter().zip(solve(rows)?) {
            all[index] = value;
        }
        let rate = 1.0 / all[0];
        Some(Usl { rate, contention: all[1] * rate, coherency: all[2] * rate })
    }
}

/// Solves linear equations by Gauss's elimination with pivots; the last column is the right side.
/// There are three at most, so no library for linear algebra is built for them.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = rows.len();
    for column in 0..size {
        let largest = |row: &usize| rows[*row][column].abs();
        let pivot = (column..size).max_by(|a, b| largest(a).total_cmp(&largest(b)))?;
        rows.swap(column, pivot);
        let of_pivot = rows[column].clone();
        if of_pivot[column].abs() < 1e-12 {
            return None;
        }
        for (index, row) in rows.iter_mut().enumerate() {
            if index != column {
                let factor = row[column] / of_pivot[column];
                row.iter_mut().zip(&of_pivot).for_each(|(cell, pivot)| *cell -= factor * pivot);
            }
        }
    }
    Some(rows.iter().enumerate().map(|(index, row)| row[size] / row[index]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(found: Usl, rate: f64, contention: f64, coherency: f64, within: f64) {
        assert!((found.rate / rate - 1.0).abs() < within, "{found:?}");
        assert!((found.contention - contention).abs() < within, "{found:?}");
        assert!((found.coherency - coherency).abs() < within, "{found:?}");
    }

    #[test]
    fn a_law_is_found_in_its_own_points() {
        let law = Usl { rate: 995.6, contention: 0.0267, coherency: 0.00077 };
        let points: Vec<_> = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].map(|n| (n, law.rate_of(n))).to_vec();
        assert_near(Usl::fit(&points).unwrap(), 995.6, 0.0267, 0.00077, 1e-6);
        // Three points determine the three numbers.
        assert_near(Usl::fit(&points[..3]).unwrap(), 995.6, 0.0267, 0.00077, 1e-6);
    }

    #[test]
    fn a_law_by_hand() {
        // λ 100, σ 0.1, κ 0.01: two members give 200 / (1 + 0.1 + 0.02), four 400 / 1.42.
        let points = [(1.0, 100.0), (2.0, 200.0 / 1.12), (4.0, 400.0 / 1.42)];
        let law = Usl::fit(&points).unwrap();
        assert_near(law, 100.0, 0.1, 0.01, 1e-6);
        // The rate is highest at the square root of 0.9 / 0.01.
        assert!((law.peak().unwrap() - 90f64.sqrt()).abs() < 1e-3);
    }

    #[test]
    fn a_law_is_found_in_points_with_noise() {
        let law = Usl { rate: 500.0, contention: 0.08, coherency: 0.004 };
        // Off by 1 %, in turns.
        let noise = [1.01, 0.99, 0.99, 1.01, 1.01, 0.99, 0.99, 1.01];
        let points: Vec<_> = (1..=8)
            .zip(noise)
            .map(|(n, noise)| (f64::from(n), law.rate_of(f64::from(n)) * noise))
            .collect();
        assert_near(Usl::fit(&points).unwrap(), 500.0, 0.08, 0.004, 0.03);
    }

    #[test]
    fn no_cost_is_negative() {
        // Linear, and better than linear.
        for factor in [1.0, 1.1] {
            let points = [(1.0, 100.0), (2.0, 200.0 * factor), (4.0, 400.0 * factor)];
            let law = Usl::fit(&points).unwrap();
            assert!(law.contention >= 0.0 && law.coherency >= 0.0, "{law:?}");
            assert!(law.contention < 1e-6 && law.peak().is_none(), "{law:?}");
        }
        // Amdahl's law: contention alone.
        let amdahl = Usl { rate: 100.0, contention: 0.25, coherency: 0.0 };
        let points = [1.0, 2.0, 4.0].map(|n| (n, amdahl.rate_of(n)));
        assert_near(Usl::fit(&points).unwrap(), 100.0, 0.25, 0.0, 1e-6);
    }

    #[test]
    fn few_points_give_a_simpler_law() {
        assert_eq!(Usl::fit(&[]), None);
        assert_eq!(Usl::fit(&[(1.0, f64::NAN), (0.0, 3.0)]), None);
        assert_near(Usl::fit(&[(1.0, 80.0)]).unwrap(), 80.0, 0.0, 0.0, 1e-9);
        let two = Usl::fit(&[(1.0, 100.0), (2.0, 160.0)]).unwrap();
        assert_near(two, 100.0, 0.25, 0.0, 1e-6);
    }
}
