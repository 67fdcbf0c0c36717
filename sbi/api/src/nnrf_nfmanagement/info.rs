//! The parts of an NF profile that are specific to an NF type (TS 29.510, 6.1.6.2).
use crate::common::{
    AccessType, Dnn, ExtSnssai, Guami, IpAddr, PduSessionType, PlmnId, RatType, Tai,
};
use crate::macros::open_enum;
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::net::{Ipv4Addr, Ipv6Addr};

open_enum! {
    /// Interface of a UPF (TS 29.510, 6.1.6, `UPInterfaceType`).
    pub enum UpInterfaceType {
        N3 = "N3",
        N6 = "N6",
        N9 = "N9",
        DataForwarding = "DATA_FORWARDING",
        N3mb = "N3MB",
        N6mb = "N6MB",
        N19mb = "N19MB",
        Nmb9 = "NMB9",
        S1u = "S1U",
        S5u = "S5U",
        S8u = "S8U",
        S11u = "S11U",
        S12 = "S12",
        S2au = "S2AU",
        S2bu = "S2BU",
        N3trustedn3gpp = "N3TRUSTEDN3GPP",
        N3untrustedn3gpp = "N3UNTRUSTEDN3GPP",
        N9roaming = "N9ROAMING",
        Sgi = "SGI",
        N19 = "N19",
        Sxau = "SXAU",
        Sxbu = "SXBU",
        N4u = "N4U",
    }
}

open_enum! {
    /// Kind of data that a UDR holds (TS 29.510, 6.1.6).
    pub enum DataSetId {
        Subscription = "SUBSCRIPTION",
        Policy = "POLICY",
        Exposure = "EXPOSURE",
        Application = "APPLICATION",
        APfd = "A_PFD",
        AAfti = "A_AFTI",
        AAfqos = "A_AFQOS",
        AIptv = "A_IPTV",
        ABdt = "A_BDT",
        ASpd = "A_SPD",
        AEasd = "A_EASD",
        AAmi = "A_AMI",
        PUe = "P_UE",
        PScd = "P_SCD",
        PBdt = "P_BDT",
        PPlmnue = "P_PLMNUE",
        PNsscd = "P_NSSCD",
        PPdtq = "P_PDTQ",
        PMbscd = "P_MBSCD",
        PGroup = "P_GROUP",
    }
}

/// Of an AMF (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfInfo {
    /// AMF set, three hexadecimal digits
    pub amf_set_id: String,
    /// AMF region, two hexadecimal digits
    pub amf_region_id: String,
    /// Its GUAMIs
    pub guami_list: Vec<Guami>,
    /// Tracking areas that it serves
    pub tai_list: Option<Vec<Tai>>,
    /// Ranges of tracking areas that it serves
    pub tai_range_list: Option<Vec<TaiRange>>,
    /// GUAMIs for which it is the backup after a failure
    pub backup_info_amf_failure: Option<Vec<Guami>>,
    /// GUAMIs for which it is the backup after a planned removal
    pub backup_info_amf_removal: Option<Vec<Guami>>,
    /// Addresses for RAN nodes
    pub n2_interface_amf_info: Option<N2InterfaceAmfInfo>,
}

/// Addresses of an AMF for RAN nodes (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N2InterfaceAmfInfo {
    /// IPv4 addresses
    pub ipv4_endpoint_address: Option<Vec<Ipv4Addr>>,
    /// IPv6 addresses
    pub ipv6_endpoint_address: Option<Vec<Ipv6Addr>>,
    /// Name of the AMF
    pub amf_name: Option<String>,
}

/// Of an SMF (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmfInfo {
    /// Slices with their data networks
    pub s_nssai_smf_info_list: Vec<SnssaiSmfInfoItem>,
    /// Tracking areas that it serves
    pub tai_list: Option<Vec<Tai>>,
    /// Ranges of tracking areas that it serves
    pub tai_range_list: Option<Vec<TaiRange>>,
    /// Host name of the combined PGW
    pub pgw_fqdn: Option<String>,
    /// Addresses of the combined PGW
    pub pgw_ip_addr_list: Option<Vec<IpAddr>>,
    /// Accesses that it supports
    pub access_type: Option<Vec<AccessType>>,
    /// 0 is chosen first
    pub priority: Option<u16>,
    /// It can be a visited SMF
    pub vsmf_support_ind: Option<bool>,
}

/// Data networks of an SMF in a slice (TS 29.510, 6.1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SnssaiSmfInfoItem {
    /// The slice
    pub s_nssai: ExtSnssai,
    /// The data networks
    pub dnn_smf_info_list: Vec<DnnSmfInfoItem>,
}

/// A data network of an SMF (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct DnnSmfInfoItem {
    /// Its name, or `*`
    pub dnn: Dnn,
    /// Access identifiers
    pub dnai_list: Option<Vec<String>>,
}

impl DnnSmfInfoItem {
    /// A value with the mandatory members only.
    pub fn new(dnn: Dnn) -> Self {
        DnnSmfInfoItem { dnn, dnai_list: None }
    }
}

/// Of a UPF (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UpfInfo {
    /// Slices with their data networks
    pub s_nssai_upf_info_list: Vec<SnssaiUpfInfoItem>,
    /// SMF service areas
    pub smf_serving_area: Option<Vec<String>>,
    /// Its user plane interfaces
    pub interface_upf_info_list: Option<Vec<InterfaceUpfInfoItem>>,
    /// Interworking with EPS
    pub iwk_eps_ind: Option<bool>,
    /// PDU session types
    pub pdu_session_types: Option<Vec<PduSessionType>>,
    /// It can allocate UE addresses
    pub ue_ip_addr_ind: Option<bool>,
    /// Tracking areas that it serves
    pub tai_list: Option<Vec<Tai>>,
    /// 0 is chosen first
    pub priority: Option<u16>,
}

/// Data networks of a UPF in a slice (TS 29.510, 6.1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SnssaiUpfInfoItem {
    /// The slice
    pub s_nssai: ExtSnssai,
    /// The data networks
    pub dnn_upf_info_list: Vec<DnnUpfInfoItem>,
}

/// A data network of a UPF (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct DnnUpfInfoItem {
    /// Its name
    pub dnn: Dnn,
    /// Access identifiers
    pub dnai_list: Option<Vec<String>>,
    /// PDU session types
    pub pdu_session_types: Option<Vec<PduSessionType>>,
    /// Addresses of UEs
    pub ipv4_address_ranges: Option<Vec<Ipv4AddressRange>>,
    /// Prefixes of UEs
    pub ipv6_prefix_ranges: Option<Vec<Ipv6PrefixRange>>,
}

impl DnnUpfInfoItem {
    /// A value with the mandatory members only.
    pub fn new(dnn: Dnn) -> Self {
        DnnUpfInfoItem {
            dnn,
            dnai_list: None,
            pdu_session_types: None,
            ipv4_address_ranges: None,
            ipv6_prefix_ranges: None,
        }
    }
}

/// IPv4 addresses, both ends included (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Ipv4AddressRange {
    /// First of the range
    pub start: Option<Ipv4Addr>,
    /// Last of the range
    pub end: Option<Ipv4Addr>,
}

/// IPv6 prefixes, both ends included (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Ipv6PrefixRange {
    /// First of the range
    pub start: Option<String>,
    /// Last of the range
    pub end: Option<String>,
}

/// A user plane interface of a UPF (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct InterfaceUpfInfoItem {
    /// Interface type
    pub interface_type: UpInterfaceType,
    /// IPv4 addresses
    pub ipv4_endpoint_addresses: Option<Vec<Ipv4Addr>>,
    /// IPv6 addresses
    pub ipv6_endpoint_addresses: Option<Vec<Ipv6Addr>>,
    /// Host name
    pub endpoint_fqdn: Option<String>,
    /// Network instance, as PFCP names it
    pub network_instance: Option<String>,
}

impl InterfaceUpfInfoItem {
    /// A value with the mandatory members only.
    pub fn new(interface_type: UpInterfaceType) -> Self {
        InterfaceUpfInfoItem {
            interface_type,
            ipv4_endpoint_addresses: None,
            ipv6_endpoint_addresses: None,
            endpoint_fqdn: None,
            network_instance: None,
        }
    }
}

/// Of a UDM (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UdmInfo {
    /// UDM group
    pub group_id: Option<String>,
    /// SUPIs that it serves
    pub supi_ranges: Option<Vec<SupiRange>>,
    /// GPSIs that it serves
    pub gpsi_ranges: Option<Vec<IdentityRange>>,
    /// Routing indicators of SUCIs that it serves
    pub routing_indicators: Option<Vec<String>>,
    /// SUCIs that it serves
    pub suci_infos: Option<Vec<SuciInfo>>,
}

/// Of an AUSF (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AusfInfo {
    /// AUSF group
    pub group_id: Option<String>,
    /// SUPIs that it serves
    pub supi_ranges: Option<Vec<SupiRange>>,
    /// Routing indicators of SUCIs that it serves
    pub routing_indicators: Option<Vec<String>>,
    /// SUCIs that it serves
    pub suci_infos: Option<Vec<SuciInfo>>,
}

/// Of a UDR (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UdrInfo {
    /// UDR group
    pub group_id: Option<String>,
    /// SUPIs that it serves
    pub supi_ranges: Option<Vec<SupiRange>>,
    /// GPSIs that it serves
    pub gpsi_ranges: Option<Vec<IdentityRange>>,
    /// Data that it holds
    pub supported_data_sets: Option<Vec<DataSetId>>,
}

/// Of a PCF (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PcfInfo {
    /// PCF group
    pub group_id: Option<String>,
    /// Data networks that it serves
    pub dnn_list: Option<Vec<Dnn>>,
    /// SUPIs that it serves
    pub supi_ranges: Option<Vec<SupiRange>>,
    /// GPSIs that it serves
    pub gpsi_ranges: Option<Vec<IdentityRange>>,
}

/// Of an LMF (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct LmfInfo {
    /// Identity
    pub lmf_id: Option<String>,
    /// Accesses that it serves
    pub serving_access_types: Option<Vec<AccessType>>,
    /// Radio technologies that it serves
    pub serving_rat_types: Option<Vec<RatType>>,
    /// Tracking areas that it serves
    pub tai_list: Option<Vec<Tai>>,
    /// Ranges of tracking areas that it serves
    pub tai_range_list: Option<Vec<TaiRange>>,
}

/// SUCIs by their routing indicator and home network key (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SuciInfo {
    /// Routing indicators
    pub routing_inds: Option<Vec<String>>,
    /// Identities of home network keys
    #[serde(rename = "hNwPubKeyIds")]
    pub hn_pub_key_ids: Option<Vec<u32>>,
}

/// SUPIs, by a range of digits or a pattern (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SupiRange {
    /// First of the range
    pub start: Option<String>,
    /// Last of the range
    pub end: Option<String>,
    /// A regular expression over whole SUPIs
    pub pattern: Option<String>,
}

/// Identities, by a range of digits or a pattern (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct IdentityRange {
    /// First of the range
    pub start: Option<String>,
    /// Last of the range
    pub end: Option<String>,
    /// A regular expression
    pub pattern: Option<String>,
}

/// Tracking areas of a network (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct TaiRange {
    /// The network
    pub plmn_id: PlmnId,
    /// The areas
    pub tac_range_list: Vec<TacRange>,
    /// Network identifier of a stand-alone non-public network
    pub nid: Option<String>,
}

impl TaiRange {
    /// A value with the mandatory members only.
    pub fn new(plmn_id: PlmnId, tac_range_list: Vec<TacRange>) -> Self {
        TaiRange { plmn_id, tac_range_list, nid: None }
    }
}

/// Tracking area codes, by a range or a pattern (TS 29.510, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct TacRange {
    /// First of the range
    pub start: Option<String>,
    /// Last of the range
    pub end: Option<String>,
    /// A regular expression
    pub pattern: Option<String>,
}
