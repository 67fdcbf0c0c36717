//! Subscriptions to the state of AMFs (TS 29.518, 6.1.6).
use crate::common::Guami;
use crate::namf_communication::StatusChange;
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// A subscription to the state of AMFs (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionData {
    /// Notification URI
    pub amf_status_uri: String,
    /// GUAMIs of the AMFs
    pub guami_list: Option<Vec<Guami>>,
}

/// The state of AMFs has changed (TS 29.518, 6.1.6).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfStatusChangeNotification {
    /// By AMF
    pub amf_status_info_list: Vec<AmfStatusInfo>,
}

/// The state of an AMF (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfStatusInfo {
    /// Its GUAMIs
    pub guami_list: Vec<Guami>,
    /// Status of the AMF
    pub status_change: StatusChange,
    /// Backup AMF after a planned removal
    pub target_amf_removal: Option<String>,
    /// Backup AMF after a failure
    pub target_amf_failure: Option<String>,
}

impl AmfStatusInfo {
    /// A value with the mandatory members only.
    pub fn new(guami_list: Vec<Guami>, status_change: StatusChange) -> Self {
        AmfStatusInfo {
            guami_list,
            status_change,
            target_amf_removal: None,
            target_amf_failure: None,
        }
    }
}
