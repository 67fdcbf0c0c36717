//! Nudm_UEAuthentication_ResultConfirmation: reports results of authentications to the UDM (TS
//! 33.501, 6.1.4.1a; TS 29.503, 5.4.2.3).
//!
//! TS 33.501 links the confirmation to procedures of the UE by the policy of the home operator. In
//! the home network no other operator can abuse K_SEAF, so by default the UDM stores a success
//! there while the UE goes on. As soon as one is not stored, each authentication waits for the UDM
//! again, until the UDM has stored one.
use crate::metrics;
use martlet_nf::{Criteria, NfContext};
use martlet_sbi::{Problem, trace};
use martlet_sbi_api::common::{DateTime, NfInstanceId, Supi};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nudm_ueau::{AuthEvent, AuthType, UdmUeAuthenticationClient};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Pauses before a result that the UDM has not stored is reported again.
const PAUSES: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];

/// Time limit of the last reports at the end.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);

/// Reports results to the UDM.
pub struct ResultConfirmation {
    context: Arc<NfContext>,
    instance_id: NfInstanceId,
    /// `ausf.await_result`.
    awaited: bool,
    /// The UDM did not store the last result.
    failing: AtomicBool,
    /// Limits the results that are reported after the answer.
    later: Arc<Semaphore>,
    max_later: u32,
    /// Subscribers whose last result is reported again, each with the number of that result.
    again: Mutex<HashMap<Supi, u64>>,
    last_number: AtomicU64,
}

impl ResultConfirmation {
    /// `max_later` results are reported after the answer at the same time; more wait for the UDM.
    pub fn new(
        context: Arc<NfContext>,
        instance_id: NfInstanceId,
        awaited: bool,
        max_later: usize,
    ) -> Self {
        let max_later = u32::try_from(max_later.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        ResultConfirmation {
            context,
            instance_id,
            awaited,
            failing: AtomicBool::new(false),
            later: Arc::new(Semaphore::new(max_later as usize)),
            max_later,
            again: Mutex::default(),
            last_number: AtomicU64::new(0),
        }
    }

    fn again(&self) -> MutexGuard<'_, HashMap<Supi, u64>> {
        self.again.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Reports a result and waits until the UDM has stored it.
    pub async fn report(
        &self,
        supi: &Supi,
        network: &str,
        success: bool,
        method: AuthType,
    ) -> Result<(), Problem> {
        // An older result must not replace this one.
        self.again().remove(supi);
        let network = network.to_string();
        let event =
            AuthEvent::new(self.instance_id.clone(), success, DateTime::now(), method, network);
        self.store(supi, event).await
    }

    /// Reports a success. For a UE in its home network the UDM stores it afterwards, unless
    /// `ausf.await_result` or the last failure requires to wait.
    pub async fn report_success(
        self: &Arc<Self>,
        supi: &Supi,
        network: &str,
        method: AuthType,
    ) -> Result<(), Problem> {
        let may_follow =
            !self.awaited && !self.failing.load(Ordering::Relaxed) && is_home(supi, network);
        let permit = may_follow.then(|| self.later.clone().try_acquire_owned().ok()).flatten();
        let Some(permit) = permit else {
            return self.report(supi, network, true, method).await;
        };
        self.again().remove(supi);
        let instance_id = self.instance_id.clone();
        let event = AuthEvent::new(instance_id, true, DateTime::now(), method, network.to_string());
        let (this, supi) = (self.clone(), supi.clone());
        trace::spawn(trace::Origin::here(), async move {
            this.store_repeatedly(&supi, event).await;
            drop(permit);
        });
        Ok(())
    }

    /// Reports a result until it is stored or a newer one is reported.
    async fn store_repeatedly(&self, supi: &Supi, event: AuthEvent) {
        let number = self.last_number.fetch_add(1, Ordering::Relaxed);
        for pause in PAUSES.map(Some).into_iter().chain([None]) {
            let Err(problem) = self.store(supi, event.clone()).await else { break };
            metrics::count("store_result", Some(&problem));
            let pause = pause.filter(|_| is_temporary(&problem));
            let again = pause.is_some();
            if let Some(suppressed) = martlet_log_limit::line("result_not_stored", 0) {
                tracing::warn!(
                    %supi, %problem, again, suppressed,
                    "authentication result not stored by the UDM"
                );
            }
            let Some(pause) = pause else { break };
            if pause == PAUSES[0] {
                self.again().insert(supi.clone(), number);
            }
            tokio::time::sleep(pause).await;
            if self.again().get(supi) != Some(&number) {
                return;
            }
        }
        self.end(supi, number);
    }

    /// Removes the entry of a result that is not reported again.
    fn end(&self, supi: &Supi, number: u64) {
        let mut again = self.again();
        if again.get(supi) == Some(&number) {
            again.remove(supi);
        }
    }

    /// Nudm_UEAuthentication_ResultConfirmation.
    async fn store(&self, supi: &Supi, event: AuthEvent) -> Result<(), Problem> {
        let stored = async {
            let criteria = Criteria::default();
            let peer = self.context.discover(NfType::Udm, "nudm-ueau", &criteria).await?;
            let udm = UdmUeAuthenticationClient::new(peer).about(supi);
            udm.confirm_auth(supi, event).await.map(drop)
        }
        .await;
        // An error that concerns one subscriber does not concern the next.
        self.failing.store(stored.as_ref().is_err_and(is_temporary), Ordering::Relaxed);
        stored
    }

    /// Waits until the last results are stored, for a limited time.
    pub async fn flush(&self) {
        let all = self.later.acquire_many(self.max_later);
        if tokio::time::timeout(FLUSH_LIMIT, all).await.is_err() {
            tracing::error!("authentication results not stored: the UDM is not available");
        }
    }
}

/// Whether the UDM may store the same result later.
fn is_temporary(problem: &Problem) -> bool {
    problem.transport.is_some() || problem.status() == 429 || problem.status() >= 500
}

/// Whether a serving network is the home network of a SUPI of type IMSI (TS 23.003, 28.7.2).
fn is_home(supi: &str, network: &str) -> bool {
    let Some((mnc, rest)) = network.strip_prefix("5G:mnc").and_then(|name| name.split_once(".mcc"))
    else {
        return false;
    };
    let Some((mcc, "3gppnetwork.org")) = rest.split_once('.') else { return false };
    let Some(mnc_and_msin) = supi.strip_prefix("imsi-").and_then(|imsi| imsi.strip_prefix(mcc))
    else {
        return false;
    };
    // An MNC of two digits has a leading zero in the name (TS 24.501, 9.12.1). No country has MNCs
    // of two and of three digits that begin alike.
    mcc.len() == 3
        && mnc.len() == 3
        && (mnc_and_msin.starts_with(mnc)
            || mnc.strip_prefix('0').is_some_and(|mnc| mnc_and_msin.starts_with(mnc)))
}

#[cfg(test)]
mod tests {
    use super::is_home;

    #[test]
    fn only_the_home_network_is_answered_first() {
        let of = |mnc: &str| format!("5G:mnc{mnc}.mcc001.3gppnetwork.org");
        assert!(is_home("imsi-001010000000001", &of("001")));
        assert!(is_home("imsi-001100000000001", &of("100")));
        assert!(!is_home("imsi-001010000000001", &of("002")));
        assert!(!is_home("imsi-001010000000001", "5G:mnc001.mcc002.3gppnetwork.org"));
        // A stand-alone non-public network has subscribers of its own.
        assert!(!is_home("imsi-001010000000001", &format!("{}:000007ed9d5", of("001"))));
        assert!(!is_home("nai-user@example.org", &of("001")));
    }
}
