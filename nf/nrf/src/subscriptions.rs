//! Subscriptions to status changes of NF instances (TS 29.510, 5.2.2.5).
use crate::matching::is_in_group;
use martlet_nf::callbacks::is_same_host;
use martlet_nf::nf_set;
use martlet_sbi_api::nnrf_nfmanagement::{
    ConditionEventType, NfProfile, NotifCondition, NotificationEventType, SubscrCond,
    SubscriptionContext, SubscriptionData,
};
use serde_json::Value;
use std::cell::OnceCell;
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

/// What happened to an instance.
#[derive(Debug, Clone, Copy)]
pub enum StatusEvent<'a> {
    Registered,
    Deregistered,
    /// Its profile has changed.
    Changed {
        before: &'a NfProfile,
        /// A heartbeat, or a change of load alone: notified to those that monitor it (TS 29.510,
        /// 5.2.2.3.2).
        is_minor: bool,
    },
}

impl StatusEvent<'_> {
    /// Its type in notifications.
    pub fn event_type(&self) -> NotificationEventType {
        match self {
            StatusEvent::Registered => NotificationEventType::NfRegistered,
            StatusEvent::Deregistered => NotificationEventType::NfDeregistered,
            StatusEvent::Changed { .. } => NotificationEventType::NfProfileChanged,
        }
    }
}

/// A subscription that is notified.
#[derive(Debug)]
pub struct Notified {
    /// Where the notification goes.
    pub uri: String,
    pub subscription: SubscriptionContext,
    /// The instance started or stopped to match the subscription's condition.
    pub condition_event: Option<ConditionEventType>,
}

/// The limit that a new subscription would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubscriptionLimit {
    /// Subscriptions of all consumers.
    Total,
    /// Subscriptions whose notifications go to one host.
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
    /// For one host: a profile may name many ports.
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
        let own = self.held.values().filter(|held| is_same_host(&held.consumer, &consumer)).count();
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

    /// The subscriptions to notify of an event. `profile` is the instance after it.
    pub fn subscribers_of(
        &self,
        event: StatusEvent<'_>,
        profile: &NfProfile,
        now: Instant,
    ) -> Vec<Notified> {
        let event_type = event.event_type();
        let is_minor = matches!(event, StatusEvent::Changed { is_minor: true, .. });
        let concerned = self.held.values().filter(|held| held.until > now).map(|held| &held.data);
        let concerned = concerned.filter(|data| {
            let events = data.req_notif_events.as_ref();
            let wanted = events.is_none_or(|events| events.contains(&event_type));
            // An instance is not notified of its own changes.
            let own = data.req_nf_instance_id.as_ref() == Some(&profile.nf_instance_id);
            wanted && !own && (!is_minor || monitors_attributes(data))
        });
        let documents = OnceCell::new();
        let is_monitored = |condition: &NotifCondition, before: &NfProfile| {
            let (before, after) = documents.get_or_init(|| (document(before), document(profile)));
            has_monitored_change(condition, before, after)
        };
        let notified = |data: &SubscriptionData| {
            let is_met = |by: &NfProfile| {
                data.subscr_cond.as_ref().is_none_or(|condition| meets(condition, by))
            };
            let (is_notified, condition_event) = match event {
                StatusEvent::Registered | StatusEvent::Deregistered => (is_met(profile), None),
                StatusEvent::Changed { before, .. } => match (is_met(before), is_met(profile)) {
                    (true, true) => {
                        let condition = data.notif_condition.as_ref();
                        (condition.is_none_or(|condition| is_monitored(condition, before)), None)
                    }
                    (false, true) => (true, Some(ConditionEventType::NfAdded)),
                    (true, false) => (true, Some(ConditionEventType::NfRemoved)),
                    (false, false) => (false, None),
                },
            };
            if !is_notified {
                return None;
            }
            let subscription = SubscriptionContext {
                subscription_id: data.subscription_id.clone().unwrap_or_default(),
                subscr_cond: data.subscr_cond.clone(),
            };
            let uri = data.nf_status_notification_uri.clone();
            Some(Notified { uri, subscription, condition_event })
        };
        concerned.filter_map(notified).collect()
    }
}

fn document(profile: &NfProfile) -> Value {
    serde_json::to_value(profile).unwrap_or_default()
}

/// Whether a subscription names the attributes whose changes are notified.
fn monitors_attributes(data: &SubscriptionData) -> bool {
    data.notif_condition.as_ref().is_some_and(|condition| condition.monitored_attributes.is_some())
}

/// Whether one of the attributes has changed whose changes are notified (TS 29.510, 6.1.6).
fn has_monitored_change(condition: &NotifCondition, before: &Value, after: &Value) -> bool {
    if let Some(monitored) = &condition.monitored_attributes {
        return monitored.iter().any(|path| before.pointer(path) != after.pointer(path));
    }
    let unmonitored = condition.unmonitored_attributes.as_deref().unwrap_or_default();
    without(before, unmonitored) != without(after, unmonitored)
}

/// A document without the values at JSON pointers.
fn without(document: &Value, paths: &[String]) -> Value {
    let mut rest = document.clone();
    for path in paths {
        let Some((parent, name)) = path.rsplit_once('/') else { continue };
        let name = name.replace("~1", "/").replace("~0", "~");
        match rest.pointer_mut(parent) {
            Some(Value::Object(members)) => drop(members.remove(&name)),
            Some(Value::Array(items)) => {
                if let Ok(at) = name.parse::<usize>()
                    && let Some(item) = items.get_mut(at)
                {
                    *item = Value::Null;
                }
            }
            _ => {}
        }
    }
    rest
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
        && condition.nf_group_id.as_ref().is_none_or(|group| is_in_group(profile, group))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(more: Value) -> NfProfile {
        let mut profile = serde_json::json!({
            "nfInstanceId": "8f8a5d5e-3c9b-4c5e-9d8e-1f2a3b4c5d6e",
            "nfType": "UDM",
            "nfStatus": "REGISTERED",
        });
        let members = profile.as_object_mut().unwrap();
        members.extend(more.as_object().cloned().unwrap_or_default());
        serde_json::from_value(profile).unwrap()
    }

    /// Whether a subscription is notified of an event, and with which condition event.
    fn notified(
        subscription: Value,
        event: StatusEvent<'_>,
        profile: &NfProfile,
    ) -> Option<Option<ConditionEventType>> {
        let data: SubscriptionData = serde_json::from_value(subscription).unwrap();
        let mut all = Subscriptions::new(1, 1);
        let (now, valid) = (Instant::now(), Duration::from_secs(60));
        all.add(data, None, "127.0.0.1".into(), now, valid).unwrap();
        let mut notified = all.subscribers_of(event, profile, now);
        notified.pop().map(|notified| notified.condition_event)
    }

    fn changed(before: &NfProfile) -> StatusEvent<'_> {
        StatusEvent::Changed { before, is_minor: false }
    }

    #[test]
    fn an_instance_that_starts_or_stops_to_match_a_condition_is_notified() {
        let subscription = serde_json::json!({
            "nfStatusNotificationUri": "http://a/", "subscrCond": {"nfSetId": "one"},
        });
        let inside = profile(serde_json::json!({"nfSetIdList": ["one"]}));
        let outside = profile(serde_json::json!({"nfSetIdList": ["two"]}));
        let of = |before, after| notified(subscription.clone(), changed(before), after);
        assert_eq!(of(&inside, &outside), Some(Some(ConditionEventType::NfRemoved)));
        assert_eq!(of(&outside, &inside), Some(Some(ConditionEventType::NfAdded)));
        assert_eq!(of(&inside, &inside), Some(None));
        assert_eq!(of(&outside, &outside), None);
        let of = |event, profile| notified(subscription.clone(), event, profile);
        assert_eq!(of(StatusEvent::Registered, &inside), Some(None));
        assert_eq!(of(StatusEvent::Deregistered, &outside), None);
    }

    #[test]
    fn all_ports_of_a_host_are_one_consumer() {
        let mut all = Subscriptions::new(8, 2);
        let mut add = |consumer: &str| {
            let uri = format!("http://{consumer}/");
            let data = serde_json::json!({"nfStatusNotificationUri": uri});
            let data: SubscriptionData = serde_json::from_value(data).unwrap();
            let (now, valid) = (Instant::now(), Duration::from_secs(60));
            all.add(data, None, consumer.into(), now, valid).map(drop)
        };
        assert!(add("amf.example:1").is_ok() && add("amf.example:2").is_ok());
        for same in ["amf.example:3", "AMF.example:1"] {
            assert_eq!(add(same), Err(SubscriptionLimit::PerConsumer), "{same}");
        }
        assert!(add("smf.example:1").is_ok() && add("[::1]:1").is_ok());
    }

    #[test]
    fn a_condition_with_a_group_is_met_by_its_members() {
        let subscription = serde_json::json!({
            "nfStatusNotificationUri": "http://a/",
            "subscrCond": {"nfType": "UDM", "nfGroupId": "one"},
        });
        let of = |group: Value| {
            let profile = profile(serde_json::json!({"udmInfo": group}));
            notified(subscription.clone(), StatusEvent::Registered, &profile)
        };
        assert_eq!(of(serde_json::json!({"groupId": "one"})), Some(None));
        assert_eq!(of(serde_json::json!({"groupId": "two"})), None);
        assert_eq!(of(serde_json::json!({})), None);
    }

    #[test]
    fn changes_of_attributes_that_are_not_monitored_are_not_notified() {
        let subscription = |condition: Value| {
            let uri = "http://127.0.0.1/";
            serde_json::json!({"nfStatusNotificationUri": uri, "notifCondition": condition})
        };
        let before = profile(serde_json::json!({"capacity": 10, "locality": "a"}));
        let capacity = profile(serde_json::json!({"capacity": 20, "locality": "a"}));
        let locality = profile(serde_json::json!({"capacity": 10, "locality": "b"}));
        for condition in [
            serde_json::json!({"monitoredAttributes": ["/capacity"]}),
            serde_json::json!({"unmonitoredAttributes": ["/locality", "/nfServices/0/capacity"]}),
        ] {
            let of = |after| notified(subscription(condition.clone()), changed(&before), after);
            assert_eq!((of(&capacity), of(&locality)), (Some(None), None), "{condition}");
        }
        // A heartbeat with another load.
        let load = profile(serde_json::json!({"capacity": 10, "locality": "a", "load": 7}));
        let of = |condition| {
            let event = StatusEvent::Changed { before: &before, is_minor: true };
            notified(subscription(condition), event, &load)
        };
        assert_eq!(of(serde_json::json!({"monitoredAttributes": ["/load"]})), Some(None));
        assert_eq!(of(serde_json::json!({"unmonitoredAttributes": ["/capacity"]})), None);
        assert_eq!(of(Value::Null), None);
    }
}
