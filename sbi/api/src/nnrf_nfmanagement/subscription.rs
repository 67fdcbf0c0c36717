//! Subscriptions to changes of NF instances (TS 29.510, 6.1.6.2).
use crate::common::{ChangeItem, DateTime, ExtSnssai, NfInstanceId, PlmnId};
use crate::macros::open_enum;
use crate::nnrf_nfmanagement::{NfProfile, NfType, SubscrCond};
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

open_enum! {
    /// The event of an NF instance (TS 29.510, 6.1.6).
    pub enum NotificationEventType {
        NfRegistered = "NF_REGISTERED",
        NfDeregistered = "NF_DEREGISTERED",
        NfProfileChanged = "NF_PROFILE_CHANGED",
    }
}

open_enum! {
    /// Whether an NF instance started or stopped to match a subscription's condition (TS 29.510,
    /// 6.1.6).
    pub enum ConditionEventType {
        NfAdded = "NF_ADDED",
        NfRemoved = "NF_REMOVED",
    }
}

/// A subscription to changes of NF instances (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionData {
    /// Notification URI
    pub nf_status_notification_uri: String,
    /// The subscriber
    pub req_nf_instance_id: Option<NfInstanceId>,
    /// Which instances; if absent, all that the subscriber may access
    #[serde(default, deserialize_with = "martlet_sbi::tolerant::without_empty_members")]
    pub subscr_cond: Option<SubscrCond>,
    /// ID of the subscription, assigned by the NRF
    pub subscription_id: Option<String>,
    /// When the subscription ends
    pub validity_time: Option<DateTime>,
    /// Events of interest; all where absent
    pub req_notif_events: Option<Vec<NotificationEventType>>,
    /// Network of the instances
    pub plmn_id: Option<PlmnId>,
    /// Attributes of interest
    pub notif_condition: Option<NotifCondition>,
    /// Kind of the subscriber
    pub req_nf_type: Option<NfType>,
    /// Host name of the subscriber
    pub req_nf_fqdn: Option<String>,
    /// Slices of the subscriber
    pub req_snssais: Option<Vec<ExtSnssai>>,
    /// Networks of the subscriber
    pub req_plmn_list: Option<Vec<PlmnId>>,
    /// Features of the subscriber
    pub requester_features: Option<String>,
    /// Features of the NRF
    pub nrf_supported_features: Option<String>,
}

/// The attributes whose changes are notified (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NotifCondition {
    /// Only these, as JSON pointers
    pub monitored_attributes: Option<Vec<String>>,
    /// All but these, as JSON pointers
    pub unmonitored_attributes: Option<Vec<String>>,
}

/// A notification about an NF instance (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NotificationData {
    /// The event
    pub event: NotificationEventType,
    /// URI of the instance at the NRF
    pub nf_instance_uri: String,
    /// The profile, new or changed as a whole
    pub nf_profile: Option<NfProfile>,
    /// The changes to the profile
    pub profile_changes: Option<Vec<ChangeItem>>,
    /// Whether it started or stopped to match the condition
    pub condition_event: Option<ConditionEventType>,
    /// The subscription that is notified
    pub subscription_context: Option<SubscriptionContext>,
}

impl NotificationData {
    /// A value with the mandatory members only.
    pub fn new(event: NotificationEventType, nf_instance_uri: String) -> Self {
        NotificationData {
            event,
            nf_instance_uri,
            nf_profile: None,
            profile_changes: None,
            condition_event: None,
            subscription_context: None,
        }
    }
}

/// The subscription of a notification (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionContext {
    /// ID of the subscription
    pub subscription_id: String,
    /// Its condition
    pub subscr_cond: Option<SubscrCond>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_members_of_a_condition_are_absent() {
        let json = r#"{"nfStatusNotificationUri": "http://127.0.0.1/", "subscrCond":
            {"nfInstanceId": "", "nfInstanceIdList": null, "nfType": "UDM", "serviceName": ""}}"#;
        let data: SubscriptionData = serde_json::from_str(json).unwrap();
        assert_eq!(data.subscr_cond, Some(SubscrCond::nf_type(NfType::Udm)));
        let data: SubscriptionData =
            serde_json::from_str(r#"{"nfStatusNotificationUri": "http://127.0.0.1/"}"#).unwrap();
        assert_eq!(data.subscr_cond, None);
        let wrong = json.replace(r#""nfInstanceId": """#, r#""nfInstanceId": "x""#);
        assert!(serde_json::from_str::<SubscriptionData>(&wrong).is_err());
    }
}
