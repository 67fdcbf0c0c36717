//! Policy decisions of a PCF for a PDU session (TS 29.512, 5.6.2).
use crate::common::{AccessType, Ambr, Arp, BitRate, DateTime, QosResourceType, RatType};
use crate::npcf_sm_policy_control::{
    AfSigProtocol, FlowDirection, MeteringMethod, PolicyControlRequestTrigger, QosFlowUsage,
    ReportingLevel, SmPolicyAssociationReleaseCause, SmPolicyContextData,
};
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

/// Rules of a PDU session; an ID without a rule removes the rule (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmPolicyDecision {
    /// Session rules by identity
    pub sess_rules: Option<BTreeMap<String, Option<SessionRule>>>,
    /// PCC rules by identity
    pub pcc_rules: Option<BTreeMap<String, Option<PccRule>>>,
    /// QoS by identity
    pub qos_decs: Option<BTreeMap<String, Option<QosData>>>,
    /// Charging by identity
    pub chg_decs: Option<BTreeMap<String, Option<ChargingData>>>,
    /// Traffic control by identity
    pub traff_cont_decs: Option<BTreeMap<String, Option<TrafficControlData>>>,
    /// Usage monitoring by identity
    pub um_decs: Option<BTreeMap<String, Option<UsageMonitoringData>>>,
    /// Characteristics of 5QIs that are signalled, by 5QI
    pub qos_chars: Option<BTreeMap<String, QosCharacteristics>>,
    /// Seconds of the reflective QoS timer
    #[serde(rename = "reflectiveQoSTimer")]
    pub reflective_qos_timer: Option<u32>,
    /// Conditions by identity
    pub conds: Option<BTreeMap<String, Option<ConditionData>>>,
    /// When the SMF must request again
    pub revalidation_time: Option<DateTime>,
    /// Offline charging
    pub offline: Option<bool>,
    /// Online charging
    pub online: Option<bool>,
    /// Request triggers
    pub policy_ctrl_req_triggers: Option<Vec<PolicyControlRequestTrigger>>,
    /// Requested rule data
    pub last_req_rule_data: Option<Vec<RequestedRuleData>>,
    /// Usage of the default QoS flow
    pub qos_flow_usage: Option<QosFlowUsage>,
    /// The session is to end, and why
    pub rel_cause: Option<SmPolicyAssociationReleaseCause>,
    /// Features of both
    pub supp_feat: Option<String>,
}

/// A session policy association (TS 29.512, 5.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmPolicyControl {
    /// The SMF's request
    pub context: SmPolicyContextData,
    /// The PCF's decision
    pub policy: SmPolicyDecision,
}

/// The PCF changes its decision (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmPolicyNotification {
    /// The association
    pub resource_uri: Option<String>,
    /// The changes
    pub sm_policy_decision: Option<SmPolicyDecision>,
}

/// The PCF requests the termination of an association (TS 29.512, 5.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct TerminationNotification {
    /// The association
    pub resource_uri: String,
    /// Cause
    pub cause: SmPolicyAssociationReleaseCause,
}

/// A rule for a whole session (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SessionRule {
    /// Session-AMBR
    pub auth_sess_ambr: Option<Ambr>,
    /// QoS of the default flow
    pub auth_def_qos: Option<AuthorizedDefaultQos>,
    /// Identity
    pub sess_rule_id: String,
    /// Usage monitoring
    pub ref_um_data: Option<String>,
    /// Condition
    pub ref_cond_data: Option<String>,
}

/// QoS of a default flow (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AuthorizedDefaultQos {
    /// 5QI
    #[serde(rename = "5qi")]
    pub five_qi: Option<u8>,
    /// Allocation and retention priority
    pub arp: Option<Arp>,
    /// Priority of the 5QI, 1 (highest) to 127
    pub priority_level: Option<u8>,
    /// Averaging window in milliseconds
    pub aver_window: Option<u32>,
    /// Octets
    pub max_data_burst_vol: Option<u32>,
    /// Highest bit rate uplink
    pub maxbr_ul: Option<BitRate>,
    /// Highest bit rate downlink
    pub maxbr_dl: Option<BitRate>,
    /// Guaranteed bit rate uplink
    pub gbr_ul: Option<BitRate>,
    /// Guaranteed bit rate downlink
    pub gbr_dl: Option<BitRate>,
}

/// A rule for some of a session's traffic (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PccRule {
    /// Traffic by packet filters
    pub flow_infos: Option<Vec<FlowInformation>>,
    /// Traffic by application
    pub app_id: Option<String>,
    /// Version of the content
    pub cont_ver: Option<u64>,
    /// Identity
    pub pcc_rule_id: String,
    /// Precedence: lower values first
    pub precedence: Option<u32>,
    /// Protocol between UE and application function
    pub af_sig_protocol: Option<AfSigProtocol>,
    /// QoS, one at most
    pub ref_qos_data: Option<Vec<String>>,
    /// Traffic control, one at most
    pub ref_tc_data: Option<Vec<String>>,
    /// Charging, one at most
    pub ref_chg_data: Option<Vec<String>>,
    /// Usage monitoring, one at most
    pub ref_um_data: Option<Vec<String>>,
    /// Condition
    pub ref_cond_data: Option<String>,
}

/// A packet filter of a PCC rule (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct FlowInformation {
    /// Content, as IPFilterRule
    pub flow_description: Option<String>,
    /// Content, of frames
    pub eth_flow_description: Option<EthFlowDescription>,
    /// Identity
    pub pack_filt_id: Option<String>,
    /// The UE is notified of it
    pub packet_filter_usage: Option<bool>,
    /// Type of service or traffic class with its mask, in hexadecimal digits
    pub tos_traffic_class: Option<String>,
    /// Security parameter index in hexadecimal digits
    pub spi: Option<String>,
    /// Flow label in hexadecimal digits
    pub flow_label: Option<String>,
    /// Direction
    pub flow_direction: Option<FlowDirection>,
}

/// Frames (TS 29.514, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct EthFlowDescription {
    /// Receiver, as 02-00-00-00-00-01
    pub dest_mac_addr: Option<String>,
    /// EtherType in four hexadecimal digits
    pub eth_type: String,
    /// Of a frame with an IP packet, as IPFilterRule
    pub f_desc: Option<String>,
    /// Direction of the frame
    pub f_dir: Option<FlowDirection>,
    /// Sender
    pub source_mac_addr: Option<String>,
    /// Customer's and service's tag, each in four hexadecimal digits
    pub vlan_tags: Option<Vec<String>>,
    /// Last of a range of senders
    pub src_mac_addr_end: Option<String>,
    /// Last of a range of receivers
    pub dest_mac_addr_end: Option<String>,
}

/// QoS of PCC rules (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct QosData {
    /// Identity
    pub qos_id: String,
    /// 5QI
    #[serde(rename = "5qi")]
    pub five_qi: Option<u8>,
    /// Highest bit rate uplink
    pub maxbr_ul: Option<BitRate>,
    /// Highest bit rate downlink
    pub maxbr_dl: Option<BitRate>,
    /// Guaranteed bit rate uplink
    pub gbr_ul: Option<BitRate>,
    /// Guaranteed bit rate downlink
    pub gbr_dl: Option<BitRate>,
    /// Allocation and retention priority
    pub arp: Option<Arp>,
    /// The RAN reports when the bit rate cannot be guaranteed
    pub qnc: Option<bool>,
    /// Priority of the 5QI, 1 (highest) to 127
    pub priority_level: Option<u8>,
    /// Averaging window in milliseconds
    pub aver_window: Option<u32>,
    /// Octets
    pub max_data_burst_vol: Option<u32>,
    /// Reflective QoS applies
    pub reflective_qos: Option<bool>,
    /// Tenths of a percent downlink
    pub max_packet_loss_rate_dl: Option<u32>,
    /// Tenths of a percent uplink
    pub max_packet_loss_rate_ul: Option<u32>,
    /// The default flow carries it
    pub def_qos_flow_indication: Option<bool>,
    /// Octets, above 4095
    pub ext_max_data_burst_vol: Option<u32>,
}

/// Characteristics of a 5QI that is signalled (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct QosCharacteristics {
    /// 5QI
    #[serde(rename = "5qi")]
    pub five_qi: u8,
    /// Whether the bit rate is guaranteed
    pub resource_type: QosResourceType,
    /// Priority, 1 (highest) to 127
    pub priority_level: u8,
    /// Milliseconds
    pub packet_delay_budget: u32,
    /// Scalar and exponent, such as `3E-6`
    pub packet_error_rate: String,
    /// Averaging window in milliseconds
    pub averaging_window: Option<u32>,
    /// Octets
    pub max_data_burst_vol: Option<u32>,
}

impl QosCharacteristics {
    /// A value with the mandatory members only.
    pub fn new(
        five_qi: u8,
        resource_type: QosResourceType,
        priority_level: u8,
        packet_delay_budget: u32,
        packet_error_rate: String,
    ) -> Self {
        QosCharacteristics {
            five_qi,
            resource_type,
            priority_level,
            packet_delay_budget,
            packet_error_rate,
            averaging_window: None,
            max_data_burst_vol: None,
        }
    }
}

/// Traffic control of PCC rules (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct TrafficControlData {
    /// Identity
    pub tc_id: String,
    /// Gate: `ENABLED-UPLINK`, `ENABLED-DOWNLINK`, `ENABLED`, `DISABLED` or `REMOVED` (TS 29.514,
    /// 5.6.3.12)
    pub flow_status: Option<String>,
    /// The start of applications is not reported
    pub mute_notif: Option<bool>,
}

/// Charging of PCC rules (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ChargingData {
    /// Identity
    pub chg_id: String,
    /// The metering method
    pub metering_method: Option<MeteringMethod>,
    /// Offline charging
    pub offline: Option<bool>,
    /// Online charging
    pub online: Option<bool>,
    /// Charging key
    pub rating_group: Option<u32>,
    /// Level of reports
    pub reporting_level: Option<ReportingLevel>,
    /// Service
    pub service_id: Option<u32>,
}

/// Thresholds of usage (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UsageMonitoringData {
    /// Identity
    pub um_id: String,
    /// Octets
    pub volume_threshold: Option<u64>,
    /// Octets uplink
    pub volume_threshold_uplink: Option<u64>,
    /// Octets downlink
    pub volume_threshold_downlink: Option<u64>,
    /// Seconds
    pub time_threshold: Option<u32>,
    /// When the thresholds become the next ones
    pub monitoring_time: Option<DateTime>,
}

/// When rules hold (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ConditionData {
    /// Identity
    pub cond_id: String,
    /// From then on
    pub activation_time: Option<DateTime>,
    /// Expiry
    pub deactivation_time: Option<DateTime>,
    /// Access type
    pub access_type: Option<AccessType>,
    /// With this radio technology
    pub rat_type: Option<RatType>,
}

/// Requested rule data (TS 29.512, 5.6).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct RequestedRuleData {
    /// The rules
    pub ref_pcc_rule_ids: Vec<String>,
    /// The data: `CH_ID`, `MS_TIME_ZONE`, `USER_LOC_INFO`, `RES_RELEASE`, `SUCC_RES_ALLO`
    /// (5.6.3.7)
    pub req_data: Vec<String>,
}
