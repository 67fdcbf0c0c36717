//! Policy data in the UDR (TS 29.519, 5.4.2).
use crate::common::{BitRate, DateTime, Dnn, PlmnId, PresenceInfo, Snssai};
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

/// Policy data for access and mobility (TS 29.519, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmPolicyData {
    /// Presence reporting areas by their identity
    pub pra_infos: Option<BTreeMap<String, PresenceInfo>>,
    /// Categories of the subscriber
    pub subsc_cats: Option<Vec<String>>,
    /// Spending limits apply
    pub subsc_spending_limits: Option<bool>,
    /// Features
    pub supp_feat: Option<String>,
}

/// Policy data for sessions (TS 29.519, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmPolicyData {
    /// By the slice's text form
    pub sm_policy_snssai_data: BTreeMap<String, SmPolicySnssaiData>,
    /// Features
    pub supp_feat: Option<String>,
}

/// Policy data for sessions in a slice (TS 29.519, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmPolicySnssaiData {
    /// The slice
    pub snssai: Snssai,
    /// By data network
    pub sm_policy_dnn_data: Option<BTreeMap<String, SmPolicyDnnData>>,
}

impl SmPolicySnssaiData {
    /// A value with the mandatory members only.
    pub fn new(snssai: Snssai) -> Self {
        SmPolicySnssaiData { snssai, sm_policy_dnn_data: None }
    }
}

/// Policy data for sessions in a data network (TS 29.519, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmPolicyDnnData {
    /// The data network
    pub dnn: Dnn,
    /// Services that are allowed
    pub allowed_services: Option<Vec<String>>,
    /// Categories of the subscriber
    pub subsc_cats: Option<Vec<String>>,
    /// Highest guaranteed bit rate uplink
    pub gbr_ul: Option<BitRate>,
    /// Highest guaranteed bit rate downlink
    pub gbr_dl: Option<BitRate>,
    /// Application detection applies
    pub adc_support: Option<bool>,
    /// Spending limits apply
    pub subsc_spending_limits: Option<bool>,
    /// Offline charging
    pub offline: Option<bool>,
    /// Online charging
    pub online: Option<bool>,
    /// Multimedia priority
    pub mps_priority: Option<bool>,
    /// Priority of IMS signalling
    pub ims_signalling_prio: Option<bool>,
    /// Level of multimedia priority
    pub mps_priority_level: Option<u32>,
    /// Presence reporting areas by their identity
    pub pra_infos: Option<BTreeMap<String, PresenceInfo>>,
}

impl SmPolicyDnnData {
    /// A value with the mandatory members only.
    pub fn new(dnn: Dnn) -> Self {
        SmPolicyDnnData {
            dnn,
            allowed_services: None,
            subsc_cats: None,
            gbr_ul: None,
            gbr_dl: None,
            adc_support: None,
            subsc_spending_limits: None,
            offline: None,
            online: None,
            mps_priority: None,
            ims_signalling_prio: None,
            mps_priority_level: None,
            pra_infos: None,
        }
    }
}

/// A subscription to changes of policy data (TS 29.519, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PolicyDataSubscription {
    /// Notification URI
    pub notification_uri: String,
    /// Correlation identifier of the notifications
    pub notif_id: Option<String>,
    /// Monitored resources
    pub monitored_resource_uris: Vec<String>,
    /// The response is to contain the data
    pub imm_rep: Option<bool>,
    /// When the subscription ends
    pub expiry: Option<DateTime>,
    /// Features of the subscriber
    pub supported_features: Option<String>,
}

/// Policy data have changed (TS 29.519, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PolicyDataChangeNotification {
    /// For access and mobility
    pub am_policy_data: Option<AmPolicyData>,
    /// For sessions
    pub sm_policy_data: Option<SmPolicyData>,
    /// The subscriber whose data changed
    pub ue_id: Option<String>,
    /// The network whose data changed
    pub plmn_id: Option<PlmnId>,
    /// Deleted resources
    pub del_resources: Option<Vec<String>>,
    /// The subscription's `notif_id`
    pub notif_id: Option<String>,
}
