//! Session contexts that move to another NF (TS 29.502, 6.1.6.2).
use crate::common::{
    AccessType, Ambr, Arp, Base64, BitRate, DateTime, Dnn, Dynamic5Qi, Gpsi, NfInstanceId,
    NonDynamic5Qi, NotificationControl, PduSessionId, PduSessionType, PlmnId, Snssai, UpSecurity,
};
use crate::nsmf_pdusession::{DnnSelectionMode, SmContextType};
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Which context is retrieved (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmContextRetrieveData {
    /// Kind of context
    pub sm_context_type: Option<SmContextType>,
    /// The requesting network
    pub serving_network: Option<PlmnId>,
    /// EPS bearers that are retained
    pub not_to_transfer_ebi_list: Option<Vec<u8>>,
    /// The RAN node is unchanged
    pub ran_unchanged_ind: Option<bool>,
}

/// A context that was retrieved (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmContextRetrievedData {
    /// EPS PDN connection, base64 of TS 29.274's octets; empty if there is none
    pub ue_eps_pdn_connection: String,
    /// The session context
    pub sm_context: Option<SmContext>,
    /// Downlink data are buffered
    pub dl_data_waiting_ind: Option<bool>,
}

/// A session context in a transfer to another SMF (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmContext {
    /// The session
    pub pdu_session_id: PduSessionId,
    /// Data network
    pub dnn: Dnn,
    /// Data network that the network chose in its stead
    pub selected_dnn: Option<Dnn>,
    /// Slice
    pub s_nssai: Snssai,
    /// Slice in the home network
    pub hplmn_snssai: Option<Snssai>,
    /// Type
    pub pdu_session_type: PduSessionType,
    /// Public identity
    pub gpsi: Option<Gpsi>,
    /// Home SMF
    pub h_smf_uri: Option<String>,
    /// The session at the home SMF
    pub pdu_session_ref: Option<String>,
    /// PCF
    pub pcf_id: Option<NfInstanceId>,
    /// Group of the PCF
    pub pcf_group_id: Option<String>,
    /// Set of the PCF
    pub pcf_set_id: Option<String>,
    /// DNN selection mode
    pub sel_mode: Option<DnnSelectionMode>,
    /// Group of the UDM
    pub udm_group_id: Option<String>,
    /// Routing indicator of the SUCI
    pub routing_indicator: Option<String>,
    /// Session-AMBR
    pub session_ambr: Ambr,
    /// QoS flows
    pub qos_flows_list: Vec<QosFlowSetupItem>,
    /// The SMF
    pub smf_instance_id: Option<NfInstanceId>,
    /// IPv4 address of the UE
    pub ue_ipv4_address: Option<Ipv4Addr>,
    /// IPv6 prefix of the UE
    pub ue_ipv6_prefix: Option<String>,
    /// The session is always on
    pub always_on_granted: Option<bool>,
    /// Security of the user plane
    pub up_security: Option<UpSecurity>,
    /// When the SMF started last
    pub recovery_time: Option<DateTime>,
    /// Downlink data are buffered at the SMF
    pub forwarding_ind: Option<bool>,
    /// Tunnel to the anchor UPF
    pub psa_tunnel_info: Option<TunnelInfo>,
    /// Charging identity
    pub charging_id: Option<String>,
    /// Charging identity
    pub smf_charging_id: Option<String>,
    /// Session and service continuity mode as 5GSM codes it
    pub ssc_mode: Option<String>,
}

impl SmContext {
    /// A value with the mandatory members only.
    pub fn new(
        pdu_session_id: PduSessionId,
        dnn: Dnn,
        s_nssai: Snssai,
        pdu_session_type: PduSessionType,
        session_ambr: Ambr,
        qos_flows_list: Vec<QosFlowSetupItem>,
    ) -> Self {
        SmContext {
            pdu_session_id,
            dnn,
            s_nssai,
            pdu_session_type,
            session_ambr,
            qos_flows_list,
            selected_dnn: None,
            hplmn_snssai: None,
            gpsi: None,
            h_smf_uri: None,
            pdu_session_ref: None,
            pcf_id: None,
            pcf_group_id: None,
            pcf_set_id: None,
            sel_mode: None,
            udm_group_id: None,
            routing_indicator: None,
            smf_instance_id: None,
            ue_ipv4_address: None,
            ue_ipv6_prefix: None,
            always_on_granted: None,
            up_security: None,
            recovery_time: None,
            forwarding_ind: None,
            psa_tunnel_info: None,
            charging_id: None,
            smf_charging_id: None,
            ssc_mode: None,
        }
    }
}

/// A QoS flow (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct QosFlowSetupItem {
    /// Identity
    pub qfi: u8,
    /// QoS rules as 5GSM codes them
    pub qos_rules: Base64,
    /// EPS bearer
    pub ebi: Option<u8>,
    /// QoS flow description as 5GSM codes it
    pub qos_flow_description: Option<Base64>,
    /// Profile
    pub qos_flow_profile: Option<QosFlowProfile>,
    /// It has the default rule
    pub default_qos_rule_ind: Option<bool>,
}

/// Profile of a QoS flow (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct QosFlowProfile {
    /// 5QI
    #[serde(rename = "5qi")]
    pub five_qi: u8,
    /// Deviations from the 5QI's characteristics
    #[serde(rename = "nonDynamic5Qi")]
    pub non_dynamic_5qi: Option<NonDynamic5Qi>,
    /// Characteristics of the 5QI
    #[serde(rename = "dynamic5Qi")]
    pub dynamic_5qi: Option<Dynamic5Qi>,
    /// Priority
    pub arp: Option<Arp>,
    /// Bit rates of a flow with a guaranteed bit rate
    pub gbr_qos_flow_info: Option<GbrQosFlowInformation>,
}

/// Bit rates of a flow with a guaranteed bit rate (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct GbrQosFlowInformation {
    /// Highest downlink
    pub max_fbr_dl: BitRate,
    /// Highest uplink
    pub max_fbr_ul: BitRate,
    /// Guaranteed downlink
    pub gua_fbr_dl: BitRate,
    /// Guaranteed uplink
    pub gua_fbr_ul: BitRate,
    /// The RAN reports when the bit rate cannot be guaranteed
    pub notif_control: Option<NotificationControl>,
    /// Tenths of a percent downlink
    pub max_packet_loss_rate_dl: Option<u32>,
    /// Tenths of a percent uplink
    pub max_packet_loss_rate_ul: Option<u32>,
}

impl GbrQosFlowInformation {
    /// A value with the mandatory members only.
    pub fn new(
        max_fbr_dl: BitRate,
        max_fbr_ul: BitRate,
        gua_fbr_dl: BitRate,
        gua_fbr_ul: BitRate,
    ) -> Self {
        GbrQosFlowInformation {
            max_fbr_dl,
            max_fbr_ul,
            gua_fbr_dl,
            gua_fbr_ul,
            notif_control: None,
            max_packet_loss_rate_dl: None,
            max_packet_loss_rate_ul: None,
        }
    }
}

/// End of a GTP-U tunnel (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct TunnelInfo {
    /// IPv4 address
    pub ipv4_addr: Option<Ipv4Addr>,
    /// IPv6 address
    pub ipv6_addr: Option<Ipv6Addr>,
    /// TEID, eight hexadecimal digits
    pub gtp_teid: String,
    /// Access
    pub an_type: Option<AccessType>,
}
