//! Session management subscription (TS 29.503, 6.1.6.2).
use crate::common::{
    Ambr, GroupId, PduSessionType, Snssai, SscMode, SubscribedDefaultQos, TraceData, UpSecurity,
};
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Session management subscription data of a slice (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SessionManagementSubscriptionData {
    /// The slice
    pub single_nssai: Snssai,
    /// Data networks by their name, or `*`
    pub dnn_configurations: Option<BTreeMap<String, DnnConfiguration>>,
    /// Groups
    pub internal_group_ids: Option<Vec<GroupId>>,
    /// Trace data
    pub trace_data: Option<TraceData>,
    /// Charging characteristics, 16 bits in hexadecimal digits
    #[serde(rename = "3gppChargingCharacteristics")]
    pub three_gpp_charging_characteristics: Option<String>,
    /// Features of the UDM
    pub supported_features: Option<String>,
}

impl SessionManagementSubscriptionData {
    /// A value with the mandatory members only.
    pub fn new(single_nssai: Snssai) -> Self {
        SessionManagementSubscriptionData {
            single_nssai,
            dnn_configurations: None,
            internal_group_ids: None,
            trace_data: None,
            three_gpp_charging_characteristics: None,
            supported_features: None,
        }
    }
}

/// Configuration of a data network (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct DnnConfiguration {
    /// PDU session types
    pub pdu_session_types: PduSessionTypes,
    /// Session and service continuity modes
    pub ssc_modes: SscModes,
    /// Interworking with EPS
    pub iwk_eps_ind: Option<bool>,
    /// QoS of the default flow
    #[serde(rename = "5gQosProfile")]
    pub five_g_qos_profile: Option<SubscribedDefaultQos>,
    /// Aggregate maximum bit rate of the session
    pub session_ambr: Option<Ambr>,
    /// Charging characteristics, 16 bits in hexadecimal digits
    #[serde(rename = "3gppChargingCharacteristics")]
    pub three_gpp_charging_characteristics: Option<String>,
    /// Fixed addresses
    pub static_ip_address: Option<Vec<IpAddress>>,
    /// Security of the user plane
    pub up_security: Option<UpSecurity>,
    /// IPv4 networks behind the UE
    pub ipv4_frame_route_list: Option<Vec<FrameRouteInfo>>,
    /// IPv6 networks behind the UE
    pub ipv6_frame_route_list: Option<Vec<FrameRouteInfo>>,
    /// The data network authenticates
    pub secondary_auth: Option<bool>,
    /// The data network's AAA allocates addresses
    pub dn_aaa_ip_address_allocation: Option<bool>,
    /// The data network's AAA
    pub dn_aaa_address: Option<IpAddress>,
}

impl DnnConfiguration {
    /// A value with the mandatory members only.
    pub fn new(pdu_session_types: PduSessionTypes, ssc_modes: SscModes) -> Self {
        DnnConfiguration {
            pdu_session_types,
            ssc_modes,
            iwk_eps_ind: None,
            five_g_qos_profile: None,
            session_ambr: None,
            three_gpp_charging_characteristics: None,
            static_ip_address: None,
            up_security: None,
            ipv4_frame_route_list: None,
            ipv6_frame_route_list: None,
            secondary_auth: None,
            dn_aaa_ip_address_allocation: None,
            dn_aaa_address: None,
        }
    }
}

/// Which PDU session types are allowed (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PduSessionTypes {
    /// The default
    pub default_session_type: Option<PduSessionType>,
    /// Others that are allowed
    pub allowed_session_types: Option<Vec<PduSessionType>>,
}

/// Which continuity modes are allowed (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SscModes {
    /// The default
    pub default_ssc_mode: SscMode,
    /// Others that are allowed
    pub allowed_ssc_modes: Option<Vec<SscMode>>,
}

impl SscModes {
    /// A value with the mandatory members only.
    pub fn new(default_ssc_mode: SscMode) -> Self {
        SscModes { default_ssc_mode, allowed_ssc_modes: None }
    }
}

/// An address or a prefix (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct IpAddress {
    /// IPv4 address
    pub ipv4_addr: Option<Ipv4Addr>,
    /// IPv6 address
    pub ipv6_addr: Option<Ipv6Addr>,
    /// IPv6 prefix with its length
    pub ipv6_prefix: Option<String>,
}

/// A network behind a UE (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct FrameRouteInfo {
    /// IPv4 network with its mask's length
    pub ipv4_mask: Option<String>,
    /// IPv6 prefix with its length
    pub ipv6_prefix: Option<String>,
}

/// Session management subscription, partly shared (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ExtendedSmSubsData {
    /// IDs of shared data
    pub shared_sm_subs_data_ids: Vec<String>,
    /// Individual data
    pub individual_sm_subs_data: Option<Vec<SessionManagementSubscriptionData>>,
}
