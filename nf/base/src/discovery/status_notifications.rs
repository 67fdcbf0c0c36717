//! Notifications of the NRF about changed producers (TS 29.510, 5.2.2.5 and 5.2.2.6).
use super::Discovery;
use martlet_interop::SbiQuirk;
use martlet_sbi::{Problem, Route};
use martlet_sbi_api::nnrf_nfmanagement::{
    NfManagementClient, NfType, NotificationData, NotificationEventType, SubscrCond,
    SubscriptionData,
};
use martlet_sbi_api::nnrf_nfstatus_callback::{NNRF_NFSTATUS_CALLBACK, NfStatusCallback};
use std::sync::Arc;

/// The feature "Service-Map" (TS 29.510, 6.1.9).
const SERVICE_MAP: &str = "1";
/// What changes the results of discovery.
const EVENTS: [NotificationEventType; 3] = [
    NotificationEventType::NfRegistered,
    NotificationEventType::NfDeregistered,
    NotificationEventType::NfProfileChanged,
];

impl Discovery {
    /// The route of the NRF's status notifications.
    pub(crate) fn routes(self: &Arc<Self>) -> Vec<Route> {
        NNRF_NFSTATUS_CALLBACK.routes(self.clone())
    }

    /// Whether status changes of an NF type are notified. Subscribes if not yet done.
    pub(super) fn subscribed(self: &Arc<Self>, target: &NfType) -> bool {
        let known = self.state().subscribed.get(target).copied();
        if known.is_none() {
            self.state().subscribed.insert(target.clone(), false);
            martlet_tasks::spawn(self.clone().subscribe(target.clone()));
        }
        known.unwrap_or(false)
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
            Ok(_) => drop(self.state().subscribed.insert(target, true)),
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
