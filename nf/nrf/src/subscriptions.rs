//! Subscriptions to status changes of NF instances (TS 29.510, 5.2.2.5).
use martlet_nf::nf_set;
use martlet_sbi_api::nnrf_nfmanagement::{
    NfProfile, NotificationEventType, SubscrCond, SubscriptionContext, SubscriptionData,
};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use tokio::time::Instant;

struct Subscription {
    data: SubscriptionData,
    /// Identity of the certificate that created it.
    owner: Option<String>,
    /// Host and port of the notifications.
    consumer: String,
    until: Instant,
}

/// The limit that a new subscription would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubscriptionLimit {
    /// Subscriptions of all consumers.
    Total,
    /// Subscriptions whose notifications go to one host and port.
    PerConsumer,
}

impl fmt::Display for SubscriptionLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whose, key) = match self {
            SubscriptionLimit::Total => ("", "max_subscriptions"),
            SubscriptionLimit::PerConsumer => {
                (" of this consumer", "max_subscriptions_per_consumer")
            }
        };
        write!(f, "too many subscriptions{whose}: raise nrf.{key}")
    }
}

impl std::error::Error for SubscriptionLimit {}

/// The table, limited in size.
pub struct Subscriptions {
    held: BTreeMap<String, Subscription>,
    last: u64,
    max: usize,
    /// For one host and port.
    max_per_consumer: usize,
}

impl Subscriptions {
    pub fn new(max: usize, max_per_consumer: usize) -> Self {
        // Consumers may hold identities of a former process that are not restored.
        let last = nf_set::last_number_without_set();
        Subscriptions { held: BTreeMap::new(), last, max, max_per_consumer }
    }

    /// Adds a subscription and returns it with its identity.
    ///
    /// # Errors
    /// The subscription exceeds a limit.
    pub fn add(
        &mut self,
        mut data: SubscriptionData,
        owner: Option<String>,
        consumer: String,
        now: Instant,
        valid: Duration,
    ) -> Result<SubscriptionData, SubscriptionLimit> {
        if self.held.len() >= self.max {
            return Err(SubscriptionLimit::Total);
        }
        let own = self.held.values().filter(|held| held.consumer == consumer).count();
        if own >= self.max_per_consumer {
            return Err(SubscriptionLimit::PerConsumer);
        }
        self.last += 1;
        let id = self.last.to_string();
        data.subscription_id = Some(id.clone());
        let held = Subscription { data: data.clone(), owner, consumer, until: now + valid };
        self.held.insert(id, held);
        Ok(data)
    }

    /// Adds a subscription of an earlier process. None without an identity, or in a full table.
    pub fn restore(
        &mut self,
        data: SubscriptionData,
        owner: Option<String>,
        consumer: String,
        until: Instant,
    ) -> Option<()> {
        let id = data.subscription_id.clone()?;
        let number: u64 = id.parse().ok()?;
        if self.held.len() >= self.max {
            return None;
        }
        self.last = self.last.max(number);
        self.held.insert(id, Subscription { data, owner, consumer, until });
        Some(())
    }

    pub fn get(&self, id: &str) -> Option<&SubscriptionData> {
        self.held.get(id).map(|held| &held.data)
    }

    /// Removes the subscriptions that have expired. Returns their identities.
    pub fn expire(&mut self, now: Instant) -> Vec<String> {
        let expired = self.held.iter().filter(|(_, held)| held.until <= now);
        let expired: Vec<String> = expired.map(|(id, _)| id.clone()).collect();
        expired.iter().for_each(|id| drop(self.held.remove(id)));
        expired
    }

    /// Identity of the certificate that created a subscription.
    pub fn owner(&self, id: &str) -> Option<&str> {
        self.held.get(id)?.owner.as_deref()
    }

    /// Host and port of a subscription's notifications.
    pub fn consumer(&self, id: &str) -> Option<&str> {
        Some(&self.held.get(id)?.consumer)
    }

    /// Replaces an existing subscription.
    pub fn replace(&mut self, id: &str, data: SubscriptionData, now: Instant, valid: Duration) {
        if let Some(held) = self.held.get_mut(id) {
            held.data = data;
            held.until = now + valid;
        }
    }

    pub fn remove(&mut self, id: &str) {
        self.held.remove(id);
    }

    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// The URIs to notify of an event, each with its subscription.
    pub fn subscribers_of(
        &self,
        event: &NotificationEventType,
        profile: &NfProfile,
        now: Instant,
    ) -> Vec<(String, SubscriptionContext)> {
        let concerned = self.held.values().filter(|held| held.until > now).map(|held| &held.data);
        let concerned = concerned.filter(|data| {
            let wanted = data.req_notif_events.as_ref().is_none_or(|events| events.contains(event));
            // An instance is not notified of its own changes.
            let own = data.req_nf_instance_id.as_ref() == Some(&profile.nf_instance_id);
            wanted
                && !own
                && data.subscr_cond.as_ref().is_none_or(|condition| meets(condition, profile))
        });
        let notified = |data: &SubscriptionData| {
            let context = SubscriptionContext {
                subscription_id: data.subscription_id.clone().unwrap_or_default(),
                subscr_cond: data.subscr_cond.clone(),
            };
            (data.nf_status_notification_uri.clone(), context)
        };
        concerned.map(notified).collect()
    }
}

/// Whether an instance matches the condition of a subscription (TS 29.510, 6.1.6.2.35).
fn meets(condition: &SubscrCond, profile: &NfProfile) -> bool {
    let services = || {
        profile
            .nf_service_list
            .iter()
            .flat_map(|list| list.values())
            .chain(profile.nf_services.iter().flatten())
    };
    let amf = profile.amf_info.as_ref();
    let slices = |wanted: &Vec<_>| {
        profile
            .s_nssais
            .as_ref()
            .is_none_or(|list| wanted.iter().any(|slice| list.iter().any(|s| s.covers(slice))))
    };
    condition.nf_instance_id.as_ref().is_none_or(|id| *id == profile.nf_instance_id)
        && condition
            .nf_instance_id_list
            .as_ref()
            .is_none_or(|list| list.contains(&profile.nf_instance_id))
        && condition.nf_type.as_ref().is_none_or(|nf_type| *nf_type == profile.nf_type)
        && condition
            .service_name
            .as_ref()
            .is_none_or(|name| services().any(|s| s.service_name == *name))
        && condition
            .amf_set_id
            .as_ref()
            .is_none_or(|set| amf.is_some_and(|amf| amf.amf_set_id == *set))
        && condition
            .amf_region_id
            .as_ref()
            .is_none_or(|region| amf.is_some_and(|amf| amf.amf_region_id == *region))
        && condition.guami_list.as_ref().is_none_or(|list| {
            amf.is_some_and(|amf| amf.guami_list.iter().any(|guami| list.contains(guami)))
        })
        && condition.snssai_list.as_ref().is_none_or(slices)
        && condition
            .nf_set_id
            .as_ref()
            .is_none_or(|set| profile.nf_set_id_list.iter().flatten().any(|s| s == set))
}
