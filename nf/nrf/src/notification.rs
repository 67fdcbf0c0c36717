//! Nnrf_NFManagement_NFStatusNotify (TS 29.510, 5.2.2.6).
use crate::Nrf;
use crate::registry::Overdue;
use crate::subscriptions::{Notified, StatusEvent};
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfStatus, NotificationData};
use martlet_sbi_api::nnrf_nfstatus_callback::NfStatusCallbackClient;
use prometheus::{IntCounterVec, register_int_counter_vec};
use std::sync::LazyLock;
use std::time::Duration;
use tokio::time::Instant;

/// Attempts to deliver a notification, and the pause between them.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(200);

static NOTIFICATIONS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Status notifications by result";
    register_int_counter_vec!("martlet_nrf_notifications_total", help, &["result"])
        .expect("registered once")
});

impl Nrf {
    /// Notifies the subscribers in the background. `profile` is the instance after the event.
    pub(crate) fn notify(&self, event: StatusEvent<'_>, profile: &NfProfile) {
        let notified = self.state().subscriptions.subscribers_of(event, profile, Instant::now());
        if notified.is_empty() {
            return;
        }
        let instance = format!(
            "{}/nnrf-nfm/v1/nf-instances/{}",
            self.context.api_root(),
            profile.nf_instance_id
        );
        let mut data = NotificationData::new(event.event_type(), instance);
        // A deregistration carries the profile too, so that the subscriber learns the NF type.
        data.nf_profile = Some(crate::matching::without_authorisation(profile.clone()));
        for Notified { uri, subscription, condition_event } in notified {
            let client = NfStatusCallbackClient::new(self.context.callback_peer());
            let data = NotificationData {
                subscription_context: Some(subscription),
                condition_event,
                ..data.clone()
            };
            martlet_nf::spawn(async move {
                for attempt in 1..=ATTEMPTS {
                    match client.nf_status_notify(&uri, data.clone()).await {
                        Ok(()) => return NOTIFICATIONS.with_label_values(&["taken"]).inc(),
                        Err(problem) => {
                            tracing::debug!(uri, attempt, %problem, "status notification failed")
                        }
                    }
                    tokio::time::sleep(PAUSE * attempt).await;
                }
                NOTIFICATIONS.with_label_values(&["lost"]).inc();
            });
        }
    }

    /// Suspends or removes instances without heartbeats.
    pub(crate) fn sweep(&self, now: Instant) {
        let overdue = self.state().registry.sweep(now);
        for overdue in overdue {
            let (profile, what) = match &overdue {
                Overdue::Suspended(profile) => (profile, "suspended"),
                Overdue::Removed(profile) => (profile, "removed"),
            };
            let (nf, id) = (profile.nf_type.as_str(), profile.nf_instance_id.as_str());
            tracing::warn!(nf, id, "{what}: heartbeat timeout");
            self.persist_instance(id);
            let before = NfProfile { nf_status: NfStatus::Registered, ..(**profile).clone() };
            let event = match &overdue {
                Overdue::Suspended(_) => StatusEvent::Changed { before: &before, is_minor: false },
                Overdue::Removed(_) => StatusEvent::Deregistered,
            };
            self.notify(event, profile);
        }
    }
}
