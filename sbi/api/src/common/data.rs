//! Small types and enumerations that many services use (TS 29.571, 5.2 to 5.4).
use crate::common::{DateTime, Guami};
use crate::macros::closed_enum;
use crate::macros::open_enum;
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::net::{Ipv4Addr, Ipv6Addr};

closed_enum! {
    /// The access type of a UE (TS 29.571, 5.4).
    pub enum AccessType {
        ThreeGppAccess = "3GPP_ACCESS",
        Non3gppAccess = "NON_3GPP_ACCESS",
    }
}

open_enum! {
    /// Radio access technology (TS 29.571, 5.4).
    pub enum RatType {
        Nr = "NR",
        Eutra = "EUTRA",
        Wlan = "WLAN",
        Virtual = "VIRTUAL",
        Nbiot = "NBIOT",
        Wireline = "WIRELINE",
        WirelineCable = "WIRELINE_CABLE",
        WirelineBbf = "WIRELINE_BBF",
        LteM = "LTE-M",
        NrU = "NR_U",
        EutraU = "EUTRA_U",
        TrustedN3ga = "TRUSTED_N3GA",
        TrustedWlan = "TRUSTED_WLAN",
        Utra = "UTRA",
        Gera = "GERA",
        NrLeo = "NR_LEO",
        NrMeo = "NR_MEO",
        NrGeo = "NR_GEO",
        NrOtherSat = "NR_OTHER_SAT",
        NrRedcap = "NR_REDCAP",
        WbEUtranLeo = "WB_E_UTRAN_LEO",
        WbEUtranMeo = "WB_E_UTRAN_MEO",
        WbEUtranGeo = "WB_E_UTRAN_GEO",
        WbEUtranOthersat = "WB_E_UTRAN_OTHERSAT",
        NbIotLeo = "NB_IOT_LEO",
        NbIotMeo = "NB_IOT_MEO",
        NbIotGeo = "NB_IOT_GEO",
        NbIotOthersat = "NB_IOT_OTHERSAT",
        LteMLeo = "LTE_M_LEO",
        LteMMeo = "LTE_M_MEO",
        LteMGeo = "LTE_M_GEO",
        LteMOthersat = "LTE_M_OTHERSAT",
    }
}

open_enum! {
    /// PDU session type (TS 29.571, 5.4).
    pub enum PduSessionType {
        Ipv4 = "IPV4",
        Ipv6 = "IPV6",
        Ipv4v6 = "IPV4V6",
        Unstructured = "UNSTRUCTURED",
        Ethernet = "ETHERNET",
    }
}

open_enum! {
    /// Session and service continuity mode (TS 29.571, 5.4).
    pub enum SscMode {
        SscMode1 = "SSC_MODE_1",
        SscMode2 = "SSC_MODE_2",
        SscMode3 = "SSC_MODE_3",
    }
}

open_enum! {
    /// Whether user data is protected in integrity (TS 29.571, 5.4).
    pub enum UpIntegrity {
        Required = "REQUIRED",
        Preferred = "PREFERRED",
        NotNeeded = "NOT_NEEDED",
    }
}

open_enum! {
    /// Whether user data is ciphered (TS 29.571, 5.4).
    pub enum UpConfidentiality {
        Required = "REQUIRED",
        Preferred = "PREFERRED",
        NotNeeded = "NOT_NEEDED",
    }
}

open_enum! {
    /// Kind of core network (TS 29.571, 5.4).
    pub enum CoreNetworkType {
        FiveGc = "5GC",
        Epc = "EPC",
    }
}

open_enum! {
    /// Meaning of a service area restriction (TS 29.571, 5.4).
    pub enum RestrictionType {
        AllowedAreas = "ALLOWED_AREAS",
        NotAllowedAreas = "NOT_ALLOWED_AREAS",
    }
}

open_enum! {
    /// Scheme of URIs (TS 29.571, 5.2).
    pub enum UriScheme {
        Http = "http",
        Https = "https",
    }
}

open_enum! {
    /// Kind of a change (TS 29.571, 5.2).
    pub enum ChangeType {
        Add = "ADD",
        Move = "MOVE",
        Remove = "REMOVE",
        Replace = "REPLACE",
    }
}

open_enum! {
    /// Delivery status of downlink data (TS 29.571, 5.4).
    pub enum DlDataDeliveryStatus {
        Buffered = "BUFFERED",
        Transmitted = "TRANSMITTED",
        Discarded = "DISCARDED",
    }
}

open_enum! {
    /// Outcome of slice-specific authentication (TS 29.571, 5.4).
    pub enum AuthStatus {
        EapSuccess = "EAP_SUCCESS",
        EapFailure = "EAP_FAILURE",
        Pending = "PENDING",
    }
}

open_enum! {
    /// Trace depth (TS 29.571, 5.6).
    pub enum TraceDepth {
        Minimum = "MINIMUM",
        Medium = "MEDIUM",
        Maximum = "MAXIMUM",
        MinimumWoVendorExtension = "MINIMUM_WO_VENDOR_EXTENSION",
        MediumWoVendorExtension = "MEDIUM_WO_VENDOR_EXTENSION",
        MaximumWoVendorExtension = "MAXIMUM_WO_VENDOR_EXTENSION",
    }
}

/// Points at a binary part of a multipart message (TS 29.571, 5.4).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct RefToBinaryData {
    /// `Content-Id` of the part
    pub content_id: String,
}

/// Security policy of a PDU session's user plane (TS 29.571, 5.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UpSecurity {
    /// Integrity protection
    pub up_integr: UpIntegrity,
    /// Ciphering
    pub up_confid: UpConfidentiality,
}

/// Cause as NGAP has it (TS 29.571, 5.4).
#[derive(Debug, Clone, Default, PartialEq, Eq, Copy, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NgApCause {
    /// Group: radio network 0, transport 1, NAS 2, protocol 3, miscellaneous 4
    pub group: u32,
    /// Value within the group (TS 38.413, 9.3.1.2)
    pub value: u16,
}

/// The backup AMF of GUAMIs (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct BackupAmfInfo {
    /// Name of the AMF
    pub backup_amf: String,
    /// The GUAMIs; all where absent
    pub guami_list: Option<Vec<Guami>>,
}

/// One change to a resource (TS 29.571, 5.2).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ChangeItem {
    /// Kind of the change
    pub op: ChangeType,
    /// JSON pointer to the changed value
    pub path: String,
    /// JSON pointer of the origin of a move
    pub from: Option<String>,
    /// The previous value
    pub orig_value: Option<serde_json::Value>,
    /// The value after
    pub new_value: Option<serde_json::Value>,
}

impl ChangeItem {
    /// A value with the mandatory members only.
    pub fn new(op: ChangeType, path: String) -> Self {
        ChangeItem { op, path, from: None, orig_value: None, new_value: None }
    }
}

/// Changes to one resource (TS 29.571, 5.2).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NotifyItem {
    /// URI of the resource
    pub resource_id: String,
    /// Changes
    pub changes: Vec<ChangeItem>,
}

/// A change of a patch that was not carried out (TS 29.571, 5.2).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ReportItem {
    /// JSON pointer to the failed modification
    pub path: String,
    /// Cause
    pub reason: Option<String>,
}

/// The parts of a patch that were not applied (TS 29.571, 5.2).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PatchResult {
    /// The changes left out
    pub report: Vec<ReportItem>,
}

/// A link to a resource (TS 29.571, 5.2).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// Its URI
    pub href: Option<String>,
}

/// An address, or the prefix of addresses (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct IpAddr {
    /// IPv4 address
    pub ipv4_addr: Option<Ipv4Addr>,
    /// IPv6 address
    pub ipv6_addr: Option<Ipv6Addr>,
    /// IPv6 prefix with its length
    pub ipv6_prefix: Option<String>,
}

/// Trace data of a subscriber (TS 29.571, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct TraceData {
    /// Trace reference: MCC, MNC, a hyphen, three octets in hexadecimal digits
    pub trace_ref: String,
    /// Trace depth
    pub trace_depth: TraceDepth,
    /// Which kinds of network element, a bit map in hexadecimal digits
    pub ne_type_list: String,
    /// Which events, a bit map in hexadecimal digits
    pub event_list: String,
    /// IPv4 address where records go
    pub collection_entity_ipv4_addr: Option<Ipv4Addr>,
    /// IPv6 address where records go
    pub collection_entity_ipv6_addr: Option<Ipv6Addr>,
    /// Which interfaces, a bit map in hexadecimal digits
    pub interface_list: Option<String>,
}

impl TraceData {
    /// A value with the mandatory members only.
    pub fn new(
        trace_ref: String,
        trace_depth: TraceDepth,
        ne_type_list: String,
        event_list: String,
    ) -> Self {
        TraceData {
            trace_ref,
            trace_depth,
            ne_type_list,
            event_list,
            collection_entity_ipv4_addr: None,
            collection_entity_ipv6_addr: None,
            interface_list: None,
        }
    }
}

/// Callback URI of the PCF of a UE, for the PCF of a session (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PcfUeCallbackInfo {
    /// URI
    pub callback_uri: String,
    /// Binding indication of the URI
    pub binding_info: Option<String>,
}

/// Data volumes between two points in time (TS 29.571, 5.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct VolumeTimedReport {
    /// Start
    pub start_time_stamp: DateTime,
    /// End
    pub end_time_stamp: DateTime,
    /// Downlink octets
    pub downlink_volume: u64,
    /// Uplink octets
    pub uplink_volume: u64,
}

/// Data volumes of a QoS flow between two points in time (TS 29.571, 5.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct QosFlowUsageReport {
    /// The flow
    pub qfi: u8,
    /// Start
    pub start_time_stamp: DateTime,
    /// End
    pub end_time_stamp: DateTime,
    /// Downlink octets
    pub downlink_volume: u64,
    /// Uplink octets
    pub uplink_volume: u64,
}

/// Data volumes over a secondary RAT (TS 29.571, 5.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SecondaryRatUsageReport {
    /// The RAT
    pub secondary_rat_type: RatType,
    /// Volumes by QoS flow
    pub qos_flows_usage_data: Vec<QosFlowUsageReport>,
}

/// Data volumes over a secondary RAT, by flow or by session (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SecondaryRatUsageInfo {
    /// The RAT
    pub secondary_rat_type: RatType,
    /// Volumes by QoS flow
    pub qos_flows_usage_data: Option<Vec<QosFlowUsageReport>>,
    /// Volumes of the session
    pub pdu_session_usage_data: Option<Vec<VolumeTimedReport>>,
}

impl SecondaryRatUsageInfo {
    /// A value with the mandatory members only.
    pub fn new(secondary_rat_type: RatType) -> Self {
        SecondaryRatUsageInfo {
            secondary_rat_type,
            qos_flows_usage_data: None,
            pdu_session_usage_data: None,
        }
    }
}

/// Access traffic steering capabilities (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AtsssCapability {
    /// ATSSS-LL is supported
    #[serde(rename = "atsssLL")]
    pub atsss_ll: Option<bool>,
    /// MPTCP is supported
    pub mptcp: Option<bool>,
    /// Round-trip time is measured without PMF
    pub rtt_without_pmf: Option<bool>,
}
