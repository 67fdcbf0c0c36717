//! Tells subscribers what became of an instance (TS 29.510, 5.2.2.6).
use crate::Nrf;
use crate::registry::Overdue;
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NotificationData, NotificationEventType};
use martlet_sbi_api::nnrf_nfstatus_callback::NfStatusCallbackClient;
use prometheus::{IntCounterVec, register_int_counter_vec};
use std::sync::LazyLock;
use std::time::Duration;
use tokio::time::Instant;

/// Attempts to bring a notification to a subscriber, and the pause between them.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(200);

static NOTIFICATIONS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Notifications of status changes, by outcome";
    register_int_counter_vec!("martlet_nrf_notifications_total", help, &["result"])
        .expect("registered once")
});

impl Nrf {
    /// Tells those who subscribed; nobody waits for it.
    pub(crate) fn notify(&self, event: NotificationEventType, profile: &NfProfile) {
        let uris = self.state().subscriptions.told_of(&event, profile, Instant::now());
        if uris.is_empty() {
            return;
        }
        let instance = format!(
            "{}/nnrf-nfm/v1/nf-instances/{}",
            self.context.api_root(),
            profile.nf_instance_id
        );
        let mut data = NotificationData::new(event, instance);
        // The profile goes along with a departure too: it says what kind of function is no longer
        // there.
        data.nf_profile = Some(profile.clone());
        for uri in uris {
            let (client, data) =
                (NfStatusCallbackClient::new(self.context.callback_peer()), data.clone());
            tokio::spawn(async move {
                for attempt in 1..=ATTEMPTS {
                    match client.nf_status_notify(&uri, data.clone()).await {
                        Ok(()) => return NOTIFICATIONS.with_label_values(&["taken"]).inc(),
                        Err(problem) => {
                            tracing::debug!(uri, attempt, %problem, "a notification was not taken")
                        }
                    }
                    tokio::time::sleep(PAUSE * attempt).await;
                }
                NOTIFICATIONS.with_label_values(&["lost"]).inc();
            });
        }
    }

    /// Deals with instances whose heartbeats stay out.
    pub(crate) fn sweep(&self, now: Instant) {
        let overdue = self.state().registry.sweep(now);
        for overdue in overdue {
            let (event, profile, what) = match overdue {
                Overdue::Suspended(profile) => {
                    (NotificationEventType::NfProfileChanged, profile, "suspended")
                }
                Overdue::Removed(profile) => {
                    (NotificationEventType::NfDeregistered, profile, "removed")
                }
            };
            let (nf, id) = (profile.nf_type.as_str(), profile.nf_instance_id.as_str());
            tracing::warn!(nf, id, "{what}, since its heartbeats stay out");
            self.notify(event, &profile);
        }
    }
}
