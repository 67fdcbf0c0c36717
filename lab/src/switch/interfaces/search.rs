//! The highest rate without loss: a search with short trials, and its confirmation by longer ones.
use crate::upf::links::Round;
use anyhow::Result;

/// Where a search starts, in packets per second.
pub(super) const FIRST: f64 = 20_000.0;
/// Precision of the search, as the ratio of its bounds.
pub(super) const PRECISION: f64 = 1.05;
/// Maximum share of packets that a valid trial fails to send. Its actual rate is unknown otherwise.
const MAX_MISSED: f64 = 0.05;
/// Trials of the search at one rate, since other work on the machine can cause losses.
const TRIES: u32 = 3;
/// Below this rate a search ends.
const LOWEST: f64 = 500.0;
/// Confirming trials with steps of [`PRECISION`].
const FINE_STEPS: u32 = 4;
/// The step of those after them, so that a disturbed confirmation ends: on a machine that loses
/// packets at any rate, a confirmation from 60,000 packets per second has ten trials.
const COARSE_STEP: f64 = 2.0;

/// The rate at which packets were actually sent; `None` if one was lost.
fn carried(round: &Round) -> Option<f64> {
    let is_lossless = round.sent > 0 && round.received.packets >= round.sent;
    is_lossless.then(|| round.sent as f64 / round.wall.as_secs_f64())
}

/// The highest rate without loss, in packets per second that were actually sent. The rate is
/// doubled from `first` until packets are lost, then bisected.
pub(super) fn loss_free(first: f64, mut trial: impl FnMut(f64) -> Result<Round>) -> Result<f64> {
    let mut several = |rate: f64| -> Result<Option<f64>> {
        let mut incomplete = None;
        for _ in 0..TRIES {
            let round = trial(rate)?;
            if let Some(sent) = carried(&round) {
                if round.missed <= MAX_MISSED {
                    return Ok(Some(sent));
                }
                incomplete = incomplete.max(Some(sent as u64));
            }
        }
        // The tester could not send at the rate, and nothing it sent was lost.
        Ok(incomplete.map(|sent| sent as f64))
    };
    let (mut low, mut high, mut best) = (0.0, None, 0f64);
    let mut rate = first;
    loop {
        match several(rate)? {
            Some(sent) => {
                // The tester has reached its own limit.
                let tester_limit = sent < rate * 0.8 && sent < best * 1.2;
                best = best.max(sent);
                low = rate;
                if tester_limit {
                    return Ok(best);
                }
            }
            None => high = Some(rate),
        }
        rate = match high {
            None => rate * 2.0,
            Some(high) if low > 0.0 && high / low <= PRECISION => return Ok(best),
            // Even low rates lose packets.
            Some(high) if high < LOWEST => return Ok(best),
            Some(high) if low == 0.0 => high / 2.0,
            Some(high) => f64::sqrt(low * high),
        };
    }
}

/// The highest rate from `found` down at which a trial of full length loses nothing, in packets per
/// second that were actually sent; 0 if there is none.
///
/// After each loss the rate is lowered by [`PRECISION`], and from the fifth trial on by half: a
/// trial without loss ends the confirmation in any case, and the rate is then a lower bound.
pub(super) fn confirmed(found: f64, mut trial: impl FnMut(f64) -> Result<Round>) -> Result<f64> {
    let (mut rate, mut lossy) = (found, 0);
    while rate >= LOWEST {
        if let Some(sent) = carried(&trial(rate)?) {
            return Ok(sent);
        }
        lossy += 1;
        rate /= if lossy < FINE_STEPS { PRECISION } else { COARSE_STEP };
    }
    Ok(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_upf_xdp::Received;
    use std::time::Duration;

    /// A device that forwards up to `max` packets per second, and a tester with a limit.
    fn round(rate: f64, max: f64) -> Result<Round> {
        let sent = (rate.min(3e6) / 10.0) as u64;
        let packets = sent.min((max / 10.0) as u64);
        let received = Received { packets, bytes: 0, latency_classes: vec![] };
        Ok(Round {
            sent,
            received,
            wall: Duration::from_millis(100),
            cpu: Duration::ZERO,
            missed: 0.0,
        })
    }

    #[test]
    fn the_search_finds_the_highest_rate_without_loss() {
        for first in [FIRST, 500_000.0] {
            for max in [700.0, 3_000.0, 90_000.0, 1_234_567.0] {
                let found = loss_free(first, |rate| round(rate, max)).unwrap();
                assert!(found <= max && found >= max / 1.06, "{max}: {found}");
            }
            // The limit of the tester.
            assert!(loss_free(first, |rate| round(rate, 1e9)).unwrap() >= 2.5e6);
            assert_eq!(loss_free(first, |rate| round(rate, 0.0)).unwrap(), 0.0);
        }
    }

    #[test]
    fn the_search_has_few_trials() {
        let mut trials = 0;
        let found = loss_free(600_000.0, |rate| {
            trials += 1;
            round(rate, 1_200_000.0)
        });
        assert!(found.unwrap() > 1_140_000.0);
        assert!(trials <= 17, "{trials} trials");
    }

    /// A short trial can miss a loss that a long one sees.
    #[test]
    fn a_rate_is_lowered_until_a_long_trial_loses_nothing() {
        let confirm = |max: f64| {
            let mut trials = 0;
            let rate = confirmed(1_000_000.0, |rate| {
                trials += 1;
                round(rate, max)
            });
            (rate.unwrap(), trials)
        };
        let (rate, trials) = confirm(1_000_000.0);
        assert!((rate - 1_000_000.0).abs() < 20.0 && trials == 1, "{rate}, {trials}");
        let (rate, trials) = confirm(900_000.0);
        assert!((900_000.0 / PRECISION..=900_000.0).contains(&rate) && trials == 4, "{rate}");
        // With coarse steps.
        let (rate, trials) = confirm(300_000.0);
        assert!((300_000.0 / COARSE_STEP..=300_000.0).contains(&rate), "{rate}");
        assert!(trials <= 12, "{trials} trials");
        assert_eq!(confirm(0.0).0, 0.0);
        assert_eq!(confirmed(0.0, |rate| round(rate, 1e6)).unwrap(), 0.0);
    }
}
