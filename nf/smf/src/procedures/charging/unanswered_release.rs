//! Release of a charging session that the CHF did not get or did not answer (TS 32.255, 5.2.2.2.4).
//! It is repeated, with the sequence number of the first request, after the PDU session has ended.
//! Without it the CHF would count the charging session as active for ever.
//!
//! The repetitions have an end: a CHF may be removed. They continue after a restart of the SMF, and
//! at another member of its set: the context store has the release until the CHF answers.
use crate::metrics;
use crate::shared::Smf;
use martlet_context_store::PersistedContext;
use martlet_sbi::{ApiRoot, Problem};
use martlet_sbi_api::common::Supi;
use martlet_sbi_api::nchf_converged_charging::{ChargingDataRequest, ChfConvergedChargingClient};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Maximum number of releases that are repeated at the same time.
pub const MAX_PENDING: usize = 4096;

/// Repetitions of a release.
const MAX_REPETITIONS: u32 = 10;

/// Time before the first repetition. It doubles with each: the last one is after 17 minutes.
const FIRST_INTERVAL: Duration = Duration::from_secs(1);

/// Age after which a release is given up that the SMF could not repeat, because it did not run.
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);

/// A release without an answer.
pub struct PendingRelease {
    supi: Supi,
    /// PDU session identity.
    session: u8,
    chf: ChfConvergedChargingClient,
    /// Identity of the charging session at the CHF.
    id: String,
    /// The last update, if the CHF did not answer that either.
    update: Option<ChargingDataRequest>,
    release: ChargingDataRequest,
    /// Repetitions until now.
    repetitions: u32,
    /// Seconds since 1970 at the first request.
    since: u64,
}

/// Its persisted form. Field names are part of the stored format.
#[derive(Serialize, Deserialize)]
struct PersistedRelease {
    supi: Supi,
    session: u8,
    chf: ApiRoot,
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    update: Option<ChargingDataRequest>,
    release: ChargingDataRequest,
    repetitions: u32,
    since: u64,
}

impl PersistedContext for PersistedRelease {
    const KIND: &'static str = "release of a charging session";

    fn supi(&self) -> &str {
        &self.supi
    }
}

/// Whether a release of this age is repeated once more.
fn is_due(repetitions: u32, age: Duration) -> bool {
    repetitions < MAX_REPETITIONS && age < MAX_AGE
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

/// Whether a request that failed so may succeed later.
pub fn is_temporary(problem: &Problem) -> bool {
    problem.transport.is_some() || matches!(problem.status(), 408 | 429) || problem.status() >= 500
}

impl PendingRelease {
    /// A release of a session that was sent once, with an update that the CHF did not answer.
    pub fn new(
        (supi, session): (Supi, u8),
        chf: ChfConvergedChargingClient,
        id: String,
        update: Option<ChargingDataRequest>,
        release: ChargingDataRequest,
    ) -> Self {
        PendingRelease { supi, session, chf, id, update, release, repetitions: 0, since: now() }
    }

    /// Its identity in the context store. That of a session is a number.
    fn key(&self) -> String {
        format!("charging-release {} {}", self.chf.peer().root(), self.id)
    }

    fn persist(&self, smf: &Smf) {
        if !smf.contexts.is_enabled() {
            return;
        }
        let persisted = PersistedRelease {
            supi: self.supi.clone(),
            session: self.session,
            chf: self.chf.peer().root().clone(),
            id: self.id.clone(),
            update: self.update.clone(),
            release: self.release.clone(),
            repetitions: self.repetitions,
            since: self.since,
        };
        smf.contexts.persist(self.key(), move || persisted);
    }

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
    fn give_up(&self, smf: &Smf, reason: &str, started: Instant) {
        smf.contexts.remove(self.key());
        metrics::procedure("charging_release", "given up", started);
        let (supi, session, id) = (&self.supi, self.session, &self.id);
        tracing::warn!(%supi, session, id, reason, "release of charging session given up");
    }

    async fn run(mut self, smf: Arc<Smf>) {
        let started = Instant::now();
        while is_due(self.repetitions, Duration::from_secs(now().saturating_sub(self.since))) {
            tokio::time::sleep(FIRST_INTERVAL * 2_u32.pow(self.repetitions)).await;
            // Another member of the set repeats it.
            if !smf.contexts.is_owner(self.key()).await {
                return;
            }
            let outcome = self.repeat().await;
            self.repetitions += 1;
            match outcome {
                Ok(()) => {
                    smf.contexts.remove(self.key());
                    return metrics::procedure("charging_release", "ok", started);
                }
                Err(problem) if is_temporary(&problem) => {
                    let (supi, session) = (&self.supi, self.session);
                    tracing::debug!(%supi, session, %problem, "release of charging session failed");
                    self.persist(&smf);
                }
                Err(problem) => return self.give_up(&smf, &problem.to_string(), started),
            }
        }
        self.give_up(&smf, "the CHF does not answer", started);
    }
}

/// Repeats a release until the CHF answers, at most `MAX_REPETITIONS` times.
pub fn repeat(smf: &Arc<Smf>, pending: PendingRelease) {
    let Ok(permit) = smf.charging_releases.clone().try_acquire_owned() else {
        return pending.give_up(smf, "too many are repeated", Instant::now());
    };
    pending.persist(smf);
    let smf = smf.clone();
    martlet_nf::spawn(async move {
        let _permit = permit;
        pending.run(smf).await;
    });
}

/// Repeats a release that another process has stored. One that does not decode is removed.
pub fn restore(smf: &Arc<Smf>, key: &str, value: &[u8]) {
    match martlet_erased::from_json::<PersistedRelease>(value) {
        Ok(stored) => {
            let PersistedRelease { supi, session, chf, id, update, release, repetitions, since } =
                stored;
            let peer = smf.context.peer_at(chf).about(&supi);
            let chf = ChfConvergedChargingClient::new(peer);
            repeat(
                smf,
                PendingRelease { supi, session, chf, id, update, release, repetitions, since },
            );
        }
        Err(error) => {
            tracing::warn!(key, %error, "release of a charging session not restored");
            smf.contexts.remove(key);
        }
    }
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
    fn a_release_is_repeated_for_a_number_of_times_and_a_day() {
        let (young, old) = (Duration::from_secs(20 * 60), Duration::from_secs(25 * 3600));
        assert!(is_due(0, young) && is_due(MAX_REPETITIONS - 1, young));
        assert!(!is_due(MAX_REPETITIONS, young) && !is_due(u32::MAX, young));
        assert!(!is_due(0, old));
    }

    #[test]
    fn the_last_repetition_is_after_17_minutes() {
        let all = (0..MAX_REPETITIONS).map(|repetition| FIRST_INTERVAL * 2_u32.pow(repetition));
        assert_eq!(all.sum::<Duration>().as_secs() / 60, 17);
    }
}
