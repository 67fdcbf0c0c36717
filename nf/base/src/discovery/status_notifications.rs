//! Notifications of the NRF about changed producers (TS 29.510, 5.2.2.5 and 5.2.2.6).
use super::Discovery;
use martlet_interop::SbiQuirk;
use martlet_sbi::{Problem, Route};
use martlet_sbi_api::common::DateTime;
use martlet_sbi_api::nnrf_nfmanagement::{
    NfManagementClient, NfType, NotificationData, NotificationEventType, SERVICE_MAP, SubscrCond,
    SubscriptionData,
};
use martlet_sbi_api::nnrf_nfstatus_callback::{NNRF_NFSTATUS_CALLBACK, NfStatusCallback};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What changes the results of discovery.
const EVENTS: [NotificationEventType; 3] = [
    NotificationEventType::NfRegistered,
    NotificationEventType::NfDeregistered,
    NotificationEventType::NfProfileChanged,
];

/// Validity of a subscription without an end.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);
/// A subscription counts as valid for this time at least. By a wrong clock it may have ended
/// already, and would be requested with each discovery request.
const MIN_VALIDITY: Duration = Duration::from_secs(60);

/// A subscription to status changes of an NF type (TS 29.510, 5.2.2.5). The NRF drops it at its
/// end, so it is requested again in the second half of its time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subscription {
    /// When it ends; `None` until the NRF has confirmed it.
    until: Option<Instant>,
    /// When it is requested again; `None` while it is being requested.
    renewal: Option<Instant>,
}

impl Subscription {
    /// A subscription that the NRF has confirmed.
    fn confirmed(now: Instant, valid: Duration) -> Self {
        let valid = valid.max(MIN_VALIDITY);
        Subscription { until: Some(now + valid), renewal: Some(now + valid / 2) }
    }

    fn is_confirmed(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    fn is_due(&self, now: Instant) -> bool {
        self.renewal.is_some_and(|renewal| now >= renewal)
    }
}

impl Discovery {
    /// The route of the NRF's status notifications.
    pub(crate) fn routes(self: &Arc<Self>) -> Vec<Route> {
        NNRF_NFSTATUS_CALLBACK.routes(self.clone())
    }

    /// Whether status changes of an NF type are notified. Subscribes if not yet done, or due again.
    pub(super) fn subscribed(self: &Arc<Self>, target: &NfType) -> bool {
        let now = Instant::now();
        let known = self.state().subscribed.get(target).copied();
        if known.is_none_or(|known| known.is_due(now)) {
            let until = known.and_then(|known| known.until);
            let requested = Subscription { until, renewal: None };
            self.state().subscribed.insert(target.clone(), requested);
            martlet_tasks::spawn(self.clone().subscribe(target.clone()));
        }
        known.is_some_and(|known| known.is_confirmed(now))
    }

    /// The own profile is registered, or no longer.
    pub(crate) fn set_registered(&self, registered: bool) {
        self.registered.send_replace(registered);
    }

    /// Subscribes to status changes of an NF type.
    async fn subscribe(self: Arc<Self>, target: NfType) {
        let mut registered = self.registered.subscribe();
        // The sender lives as long as this.
        let _ = registered.wait_for(|registered| *registered).await;
        drop(registered);
        let data = SubscriptionData {
            nf_status_notification_uri: format!(
                "{}/nnrf-nfstatus-callback/v1/nf-status",
                self.own_root
            ),
            subscr_cond: Some(SubscrCond::nf_type(target.clone())),
            req_nf_type: Some(self.requester.clone()),
            req_nf_instance_id: self.instance.clone(),
            req_notif_events: Some(EVENTS.to_vec()),
            requester_features: Some(SERVICE_MAP.into()),
            ..Default::default()
        };
        let outcome = NfManagementClient::new(self.nrf.clone()).create_subscription(data).await;
        let peer = &self.nrf.root().authority;
        match outcome {
            Ok(created)
                if created.location.is_empty()
                    && !self.tolerance.tolerates(SbiQuirk::MissingLocation, peer) =>
            {
                // Not tried again: the NRF would have one more subscription each time.
                tracing::warn!(
                    nrf = %peer,
                    %target,
                    "subscription to status changes without a location refused"
                );
            }
            Ok(created) => {
                let valid = created.body.validity_time.as_ref();
                let valid = valid.map_or(FOREVER, DateTime::remaining);
                let confirmed = Subscription::confirmed(Instant::now(), valid);
                self.state().subscribed.insert(target, confirmed);
            }
            Err(problem) => {
                tracing::debug!(
                    %problem,
                    %target,
                    "subscription to status changes failed; results expire by their validity only"
                );
                self.state().subscribed.remove(&target);
            }
        }
    }
}

impl NfStatusCallback for Discovery {
    async fn nf_status_notify(&self, body: NotificationData) -> Result<(), Problem> {
        let mut state = self.state();
        state.members.clear();
        state.replacements.clear();
        match body.nf_profile.as_ref().map(|profile| &profile.nf_type) {
            Some(changed) => state.entries.retain(|_, entries| entries.target != *changed),
            // The notification has no type of an instance that deregistered. Results that are
            // dropped without need are only requested again.
            None => state.entries.clear(),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi::{ApiRoot, Bindings, CallPolicy, Peer};

    #[test]
    fn a_subscription_is_due_in_the_second_half_of_its_time() {
        let start = Instant::now();
        let confirmed = Subscription::confirmed(start, Duration::from_secs(100));
        let at = |seconds| {
            let now = start + Duration::from_secs(seconds);
            (confirmed.is_confirmed(now), confirmed.is_due(now))
        };
        assert_eq!((at(49), at(50), at(100)), ((true, false), (true, true), (false, true)));
        // By the clock of this machine it has ended already.
        assert!(!Subscription::confirmed(start, Duration::ZERO).is_due(start));
    }

    #[tokio::test]
    async fn a_subscription_that_is_due_is_requested_again_once() {
        let root = |last: u8| ApiRoot::http(format!("127.0.0.{last}:7777"));
        let nrf = Peer::new(Arc::new(Bindings::default()), root(10), "AMF", CallPolicy::default());
        let discovery = Arc::new(Discovery::new(NfType::Amf, nrf, root(5)));
        assert!(!discovery.subscribed(&NfType::Smf));
        let now = Instant::now();
        let due = Subscription { until: Some(now + MIN_VALIDITY), renewal: Some(now) };
        discovery.state().subscribed.insert(NfType::Smf, due);
        assert!(discovery.subscribed(&NfType::Smf));
        let requested = discovery.state().subscribed[&NfType::Smf];
        assert!(requested.is_confirmed(now) && !requested.is_due(now + MIN_VALIDITY));
    }
}
