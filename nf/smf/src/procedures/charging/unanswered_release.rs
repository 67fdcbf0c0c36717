//! Release of a charging session that the CHF did not get or did not answer (TS 32.255, 5.2.2.2.4).
//! It is repeated, with the sequence number of the first request, after the PDU session has ended.
//! Without it the CHF would count the charging session as active for ever.
//!
//! The repetitions have an end: a CHF may be removed. A restart of the SMF ends them, too.
use crate::metrics;
use crate::shared::Smf;
use martlet_sbi::Problem;
use martlet_sbi_api::common::Supi;
use martlet_sbi_api::nchf_converged_charging::{ChargingDataRequest, ChfConvergedChargingClient};
use std::time::{Duration, Instant};

/// Maximum number of releases that are repeated at the same time.
pub const MAX_PENDING: usize = 4096;

/// Repetitions of a release.
const MAX_REPETITIONS: u32 = 10;

/// Time before the first repetition. It doubles with each: the last one is after 17 minutes.
const FIRST_INTERVAL: Duration = Duration::from_secs(1);

/// A release without an answer.
pub struct PendingRelease {
    /// The subscriber.
    pub supi: Supi,
    /// PDU session identity.
    pub session: u8,
    /// The CHF.
    pub chf: ChfConvergedChargingClient,
    /// Identity of the charging session at the CHF.
    pub id: String,
    /// The last update, if the CHF did not answer that either.
    pub update: Option<ChargingDataRequest>,
    /// The release.
    pub release: ChargingDataRequest,
}

/// Whether a request that failed so may succeed later.
pub fn is_temporary(problem: &Problem) -> bool {
    problem.transport.is_some() || matches!(problem.status(), 408 | 429) || problem.status() >= 500
}

impl PendingRelease {
    /// Sends the requests again.
    async fn repeat(&mut self) -> Result<(), Problem> {
        if let Some(update) = self.update.take() {
            let response = self.chf.update_chargingdata(&self.id, update.clone()).await;
            if response.is_err_and(|problem| is_temporary(&problem)) {
                self.update = Some(update);
            }
        }
        match self.chf.release_chargingdata(&self.id, self.release.clone()).await {
            // The CHF got an earlier one.
            Err(problem) if problem.transport.is_none() && problem.status() == 404 => Ok(()),
            outcome => outcome,
        }
    }

    /// Logs and counts that the CHF did not get the release.
    fn give_up(&self, reason: &str, started: Instant) {
        metrics::procedure("charging_release", "given up", started);
        let (supi, session, id) = (&self.supi, self.session, &self.id);
        tracing::warn!(%supi, session, id, reason, "release of charging session given up");
    }
}

/// Repeats a release until the CHF answers, at most `MAX_REPETITIONS` times.
pub fn repeat(smf: &Smf, mut pending: PendingRelease) {
    let started = Instant::now();
    let Ok(permit) = smf.charging_releases.clone().try_acquire_owned() else {
        return pending.give_up("too many are repeated", started);
    };
    martlet_nf::spawn(async move {
        let _permit = permit;
        for repetition in 0..MAX_REPETITIONS {
            tokio::time::sleep(FIRST_INTERVAL * 2_u32.pow(repetition)).await;
            match pending.repeat().await {
                Ok(()) => return metrics::procedure("charging_release", "ok", started),
                Err(problem) if is_temporary(&problem) => {
                    let (supi, session) = (&pending.supi, pending.session);
                    tracing::debug!(%supi, session, %problem, "release of charging session failed");
                }
                Err(problem) => return pending.give_up(&problem.to_string(), started),
            }
        }
        pending.give_up("the CHF does not answer", started);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi::TransportFailure;

    #[test]
    fn a_release_that_the_chf_rejects_is_not_repeated() {
        let of = |status| Problem::new(status, "");
        assert!(!is_temporary(&of(400)) && !is_temporary(&of(404)));
        assert!([408, 429, 500, 503, 504].into_iter().all(|status| is_temporary(&of(status))));
        let mut lost = of(400);
        lost.transport = Some(TransportFailure::Unknown);
        assert!(is_temporary(&lost));
    }

    #[test]
    fn the_last_repetition_is_after_17_minutes() {
        let all = (0..MAX_REPETITIONS).map(|repetition| FIRST_INTERVAL * 2_u32.pow(repetition));
        assert_eq!(all.sum::<Duration>().as_secs() / 60, 17);
    }
}
