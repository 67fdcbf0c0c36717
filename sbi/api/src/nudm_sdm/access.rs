//! Access and mobility subscription, and the choice of an SMF (TS 29.503, 6.1.6.2).
use crate::common::{
    AccessType, Ambr, Area, CoreNetworkType, DateTime, Dnn, Gpsi, GroupId, RatType,
    ServiceAreaRestriction, Snssai, TraceData,
};
use martlet_sbi::Compact;
use martlet_sbi::tolerant;
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

/// Access and mobility subscription data (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AccessAndMobilitySubscriptionData {
    /// Features of the UDM
    pub supported_features: Option<String>,
    /// Public identities
    #[serde(default, deserialize_with = "gpsis")]
    pub gpsis: Option<Vec<Gpsi>>,
    /// Groups
    #[serde(default, deserialize_with = "internal_group_ids")]
    pub internal_group_ids: Option<Vec<GroupId>>,
    /// Aggregate maximum bit rate of all sessions
    pub subscribed_ue_ambr: Option<Ambr>,
    /// Slices
    pub nssai: Option<Nssai>,
    /// Radio technologies that are barred
    pub rat_restrictions: Option<Vec<RatType>>,
    /// Areas that are barred
    pub forbidden_areas: Option<Vec<Area>>,
    /// Service area restriction of the UE
    pub service_area_restriction: Option<ServiceAreaRestriction>,
    /// Core networks that are barred
    pub core_network_type_restrictions: Option<Vec<CoreNetworkType>>,
    /// Accesses that are barred
    pub access_type_restrictions: Option<Vec<AccessType>>,
    /// Index to the RAN's frequency selection priority
    pub rfsp_index: Option<u16>,
    /// Seconds between periodic registrations
    pub subs_reg_timer: Option<u32>,
    /// Usage type
    pub ue_usage_type: Option<u32>,
    /// Multimedia priority
    pub mps_priority: Option<bool>,
    /// Mission critical priority
    pub mcs_priority: Option<bool>,
    /// Seconds for which the UE remains reachable in MICO mode
    pub active_time: Option<u32>,
    /// Steering of roaming
    pub sor_info: Option<SorInfo>,
    /// Routing indicator
    pub routing_indicator: Option<String>,
    /// MICO mode may be used
    pub mico_allowed: Option<bool>,
    /// Data networks
    pub subscribed_dnn_list: Option<Vec<Dnn>>,
    /// Seconds that pass between connections at least
    pub service_gap_time: Option<u32>,
    /// Trace data
    pub trace_data: Option<TraceData>,
    /// The UE may send its slices in the clear
    pub nssai_inclusion_allowed: Option<bool>,
    /// Radio technologies barred as primary
    pub primary_rat_restrictions: Option<Vec<RatType>>,
    /// Radio technologies barred as secondary
    pub secondary_rat_restrictions: Option<Vec<RatType>>,
}

fn gpsis<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Vec<Gpsi>>, D::Error> {
    tolerant::list(d, "gpsis")
}

fn internal_group_ids<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Vec<GroupId>>, D::Error> {
    tolerant::list(d, "internalGroupIds")
}

/// Slices of a subscriber (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Nssai {
    /// Features of the UDM
    pub supported_features: Option<String>,
    /// Default slices
    #[serde(default, deserialize_with = "tolerant::null_is_empty")]
    pub default_single_nssais: Vec<Snssai>,
    /// Other slices
    pub single_nssais: Option<Vec<Snssai>>,
    /// When the slices changed
    pub provisioning_time: Option<DateTime>,
    /// Additional data of a slice, by its text form
    pub additional_snssai_data: Option<BTreeMap<String, AdditionalSnssaiData>>,
    /// All slices may be used at once
    pub suppress_nssrg_ind: Option<bool>,
}

/// Additional data of a slice (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AdditionalSnssaiData {
    /// The slice requires network slice-specific authentication
    pub required_authn_authz: Option<bool>,
}

/// Steering of roaming (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SorInfo {
    /// The UE has to acknowledge
    pub ack_ind: bool,
    /// SoR-MAC-IAUSF, 16 octets in hexadecimal digits
    pub sor_mac_iausf: Option<String>,
    /// CounterSoR, 2 octets in hexadecimal digits
    #[serde(rename = "countersor")]
    pub counter_sor: Option<String>,
    /// When it was provisioned
    pub provisioning_time: DateTime,
}

impl SorInfo {
    /// A value with the mandatory members only.
    pub fn new(ack_ind: bool, provisioning_time: DateTime) -> Self {
        SorInfo { ack_ind, provisioning_time, sor_mac_iausf: None, counter_sor: None }
    }
}

/// Which data networks a subscriber has in which slice (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmfSelectionSubscriptionData {
    /// Features of the UDM
    pub supported_features: Option<String>,
    /// Data networks by the slice's text form
    pub subscribed_snssai_infos: Option<BTreeMap<String, SnssaiInfo>>,
}

/// Data networks of a slice (TS 29.503, 6.1.6).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SnssaiInfo {
    /// The data networks
    #[serde(default, deserialize_with = "tolerant::null_is_empty")]
    pub dnn_infos: Vec<DnnInfo>,
}

/// A data network of a slice (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct DnnInfo {
    /// Its name, or `*`
    pub dnn: Dnn,
    /// It is the default
    pub default_dnn_indicator: Option<bool>,
    /// Local break-out is allowed
    pub lbo_roaming_allowed: Option<bool>,
    /// Interworking with EPS
    pub iwk_eps_ind: Option<bool>,
    /// Barred
    pub dnn_barred: Option<bool>,
}

impl DnnInfo {
    /// A value with the mandatory members only.
    pub fn new(dnn: Dnn) -> Self {
        DnnInfo {
            dnn,
            default_dnn_indicator: None,
            lbo_roaming_allowed: None,
            iwk_eps_ind: None,
            dnn_barred: None,
        }
    }
}

/// Acknowledgement of a UE (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AcknowledgeInfo {
    /// SoR-MAC-IUE, 16 octets in hexadecimal digits
    pub sor_mac_iue: Option<String>,
    /// UPU-MAC-IUE, 16 octets in hexadecimal digits
    pub upu_mac_iue: Option<String>,
    /// When it was provisioned
    pub provisioning_time: DateTime,
    /// The UE could not be reached
    pub ue_not_reachable: Option<bool>,
}

impl AcknowledgeInfo {
    /// A value with the mandatory members only.
    pub fn new(provisioning_time: DateTime) -> Self {
        AcknowledgeInfo {
            provisioning_time,
            sor_mac_iue: None,
            upu_mac_iue: None,
            ue_not_reachable: None,
        }
    }
}
