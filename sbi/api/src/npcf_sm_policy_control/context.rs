//! Requests of an SMF for the policies of a PDU session (TS 29.512, 5.6.2).
use crate::common::{
    AccessType, Ambr, BitRate, DateTime, Dnn, Gpsi, GroupId, Guami, NfInstanceId, NgApCause,
    PduSessionId, PduSessionType, Pei, PlmnIdNid, RatType, Snssai, SscMode, SubscribedDefaultQos,
    Supi, TraceData, UserLocation,
};
use crate::npcf_sm_policy_control::{
    FailureCause, FailureCode, FlowDirection, PduSessionRelCause, PolicyControlRequestTrigger,
    PolicyDecisionFailureCode, QosFlowUsage, RuleOperation, RuleStatus, SessionRuleFailureCode,
};
use crate::nsmf_pdusession::DnnSelectionMode;
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::net::Ipv4Addr;

/// A policy request of an SMF (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmPolicyContextData {
    /// The subscriber
    pub supi: Supi,
    /// Its public identity
    pub gpsi: Option<Gpsi>,
    /// The SUPI is not verified
    pub invalid_supi: Option<bool>,
    /// Groups
    pub inter_grp_ids: Option<Vec<GroupId>>,
    /// The session
    pub pdu_session_id: PduSessionId,
    /// Its type
    pub pdu_session_type: PduSessionType,
    /// Data network
    pub dnn: Dnn,
    /// DNN selection mode
    pub dnn_sel_mode: Option<DnnSelectionMode>,
    /// Notification URI of the consumer; the PCF appends `/update` or `/terminate`
    pub notification_uri: String,
    /// Access
    pub access_type: Option<AccessType>,
    /// Radio technology
    pub rat_type: Option<RatType>,
    /// Serving network
    pub serving_network: Option<PlmnIdNid>,
    /// Location of the UE
    pub user_location_info: Option<UserLocation>,
    /// Time zone of the UE
    pub ue_time_zone: Option<String>,
    /// Equipment
    pub pei: Option<Pei>,
    /// IPv4 address of the UE
    pub ipv4_address: Option<Ipv4Addr>,
    /// IPv6 prefix of the UE
    pub ipv6_address_prefix: Option<String>,
    /// Domain of the IPv4 address
    pub ip_domain: Option<String>,
    /// Session-AMBR as subscribed
    pub subs_sess_ambr: Option<Ambr>,
    /// QoS of the default flow as subscribed
    pub subs_def_qos: Option<SubscribedDefaultQos>,
    /// Packet filters that the UE supports
    pub num_of_pack_filter: Option<u32>,
    /// Online charging is on
    pub online: Option<bool>,
    /// Offline charging is on
    pub offline: Option<bool>,
    /// Data off is on
    #[serde(rename = "3gppPsDataOffStatus")]
    pub three_gpp_ps_data_off_status: Option<bool>,
    /// The UE supports reflective QoS
    pub ref_qos_indication: Option<bool>,
    /// Trace data
    pub trace_req: Option<TraceData>,
    /// Slice
    pub slice_info: Snssai,
    /// Usage of the default QoS flow
    pub qos_flow_usage: Option<QosFlowUsage>,
    /// AMF that serves the UE
    pub serv_nf_id: Option<ServingNfIdentity>,
    /// Features of the SMF
    pub supp_feat: Option<String>,
    /// The SMF
    pub smf_id: Option<NfInstanceId>,
    /// When the SMF started last
    pub recovery_time: Option<DateTime>,
    /// Session and service continuity mode
    pub ssc_mode: Option<SscMode>,
    /// Data network that the UE requested
    pub ue_req_dnn: Option<Dnn>,
    /// IPv4 networks behind the UE, in address and length
    pub ipv4_frame_route_list: Option<Vec<String>>,
    /// IPv6 networks behind the UE
    pub ipv6_frame_route_list: Option<Vec<String>>,
}

impl SmPolicyContextData {
    /// A value with the mandatory members only.
    pub fn new(
        supi: Supi,
        pdu_session_id: PduSessionId,
        pdu_session_type: PduSessionType,
        dnn: Dnn,
        notification_uri: String,
        slice_info: Snssai,
    ) -> Self {
        SmPolicyContextData {
            supi,
            pdu_session_id,
            pdu_session_type,
            dnn,
            notification_uri,
            slice_info,
            gpsi: None,
            invalid_supi: None,
            inter_grp_ids: None,
            dnn_sel_mode: None,
            access_type: None,
            rat_type: None,
            serving_network: None,
            user_location_info: None,
            ue_time_zone: None,
            pei: None,
            ipv4_address: None,
            ipv6_address_prefix: None,
            ip_domain: None,
            subs_sess_ambr: None,
            subs_def_qos: None,
            num_of_pack_filter: None,
            online: None,
            offline: None,
            three_gpp_ps_data_off_status: None,
            ref_qos_indication: None,
            trace_req: None,
            qos_flow_usage: None,
            serv_nf_id: None,
            supp_feat: None,
            smf_id: None,
            recovery_time: None,
            ssc_mode: None,
            ue_req_dnn: None,
            ipv4_frame_route_list: None,
            ipv6_frame_route_list: None,
        }
    }
}

/// An update request of an SMF when a trigger is met (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmPolicyUpdateContextData {
    /// Triggers that are met
    pub rep_policy_ctrl_req_triggers: Option<Vec<PolicyControlRequestTrigger>>,
    /// Access
    pub access_type: Option<AccessType>,
    /// Radio technology
    pub rat_type: Option<RatType>,
    /// Serving network
    pub serving_network: Option<PlmnIdNid>,
    /// Location of the UE
    pub user_location_info: Option<UserLocation>,
    /// Time zone of the UE
    pub ue_time_zone: Option<String>,
    /// Released IPv4 address
    pub rel_ipv4_address: Option<Ipv4Addr>,
    /// New IPv4 address
    pub ipv4_address: Option<Ipv4Addr>,
    /// New IPv6 prefix
    pub ipv6_address_prefix: Option<String>,
    /// Released IPv6 prefix
    pub rel_ipv6_address_prefix: Option<String>,
    /// Session-AMBR as subscribed
    pub subs_sess_ambr: Option<Ambr>,
    /// QoS of the default flow as subscribed
    pub subs_def_qos: Option<SubscribedDefaultQos>,
    /// Packet filters that the UE supports
    pub num_of_pack_filter: Option<u32>,
    /// Usage
    pub accu_usage_reports: Option<Vec<AccuUsageReport>>,
    /// Data off is on
    #[serde(rename = "3gppPsDataOffStatus")]
    pub three_gpp_ps_data_off_status: Option<bool>,
    /// State of PCC rules
    pub rule_reports: Option<Vec<RuleReport>>,
    /// State of session rules
    pub sess_rule_reports: Option<Vec<SessionRuleReport>>,
    /// When the UE was there
    pub user_location_info_time: Option<DateTime>,
    /// The UE's resource request
    pub ue_init_res_req: Option<UeInitiatedResourceRequest>,
    /// The UE supports reflective QoS
    pub ref_qos_indication: Option<bool>,
    /// AMF that serves the UE
    pub serv_nf_id: Option<ServingNfIdentity>,
    /// Trace data
    pub trace_req: Option<TraceData>,
    /// Decisions that failed
    pub policy_dec_failure_reports: Option<Vec<PolicyDecisionFailureCode>>,
}

/// The deletion request at the end of a session (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmPolicyDeleteData {
    /// Location of the UE
    pub user_location_info: Option<UserLocation>,
    /// Time zone of the UE
    pub ue_time_zone: Option<String>,
    /// Serving network
    pub serving_network: Option<PlmnIdNid>,
    /// When the UE was there
    pub user_location_info_time: Option<DateTime>,
    /// Release causes of RAN or UE
    pub ran_nas_rel_causes: Option<Vec<RanNasRelCause>>,
    /// Usage
    pub accu_usage_reports: Option<Vec<AccuUsageReport>>,
    /// Cause
    pub pdu_sess_rel_cause: Option<PduSessionRelCause>,
}

/// Usage of a monitored kind (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AccuUsageReport {
    /// Usage monitoring
    pub ref_um_ids: String,
    /// Octets
    pub vol_usage: Option<u64>,
    /// Octets uplink
    pub vol_usage_uplink: Option<u64>,
    /// Octets downlink
    pub vol_usage_downlink: Option<u64>,
    /// Seconds
    pub time_usage: Option<u32>,
}

/// State of PCC rules (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct RuleReport {
    /// The rules
    pub pcc_rule_ids: Vec<String>,
    /// State
    pub rule_status: RuleStatus,
    /// Failure code
    pub failure_code: Option<FailureCode>,
    /// Seconds after which to try again
    pub retry_after: Option<u32>,
    /// Release causes of RAN or UE
    pub ran_nas_rel_causes: Option<Vec<RanNasRelCause>>,
}

impl RuleReport {
    /// A value with the mandatory members only.
    pub fn new(pcc_rule_ids: Vec<String>, rule_status: RuleStatus) -> Self {
        RuleReport {
            pcc_rule_ids,
            rule_status,
            failure_code: None,
            retry_after: None,
            ran_nas_rel_causes: None,
        }
    }
}

/// State of session rules (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SessionRuleReport {
    /// The rules
    pub rule_ids: Vec<String>,
    /// State
    pub rule_status: RuleStatus,
    /// Failure code
    pub sess_rule_failure_code: Option<SessionRuleFailureCode>,
}

impl SessionRuleReport {
    /// A value with the mandatory members only.
    pub fn new(rule_ids: Vec<String>, rule_status: RuleStatus) -> Self {
        SessionRuleReport { rule_ids, rule_status, sess_rule_failure_code: None }
    }
}

/// Release cause of RAN or UE (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct RanNasRelCause {
    /// NGAP
    pub ng_ap_cause: Option<NgApCause>,
    /// 5GMM
    #[serde(rename = "5gMmCause")]
    pub five_gmm_cause: Option<u8>,
    /// 5GSM
    #[serde(rename = "5gSmCause")]
    pub five_gsm_cause: Option<u32>,
}

/// A UE's resource request (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UeInitiatedResourceRequest {
    /// The rule
    pub pcc_rule_id: Option<String>,
    /// The requested operation
    pub rule_op: RuleOperation,
    /// Precedence, 0 first
    pub precedence: Option<u32>,
    /// Packet filters
    pub pack_filt_info: Vec<PacketFilterInfo>,
    /// QoS
    pub req_qos: Option<RequestedQos>,
}

impl UeInitiatedResourceRequest {
    /// A value with the mandatory members only.
    pub fn new(rule_op: RuleOperation, pack_filt_info: Vec<PacketFilterInfo>) -> Self {
        UeInitiatedResourceRequest {
            rule_op,
            pack_filt_info,
            pcc_rule_id: None,
            precedence: None,
            req_qos: None,
        }
    }
}

/// A packet filter (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PacketFilterInfo {
    /// Identity
    pub pack_filt_id: Option<String>,
    /// Content, as IPFilterRule
    pub pack_filt_cont: Option<String>,
    /// Type of service or traffic class with its mask, in hexadecimal digits
    pub tos_traffic_class: Option<String>,
    /// Security parameter index in hexadecimal digits
    pub spi: Option<String>,
    /// Flow label in hexadecimal digits
    pub flow_label: Option<String>,
    /// Direction
    pub flow_direction: Option<FlowDirection>,
}

/// QoS that a UE requests (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct RequestedQos {
    /// 5QI
    #[serde(rename = "5qi")]
    pub five_qi: u8,
    /// Guaranteed bit rate uplink
    pub gbr_ul: Option<BitRate>,
    /// Guaranteed bit rate downlink
    pub gbr_dl: Option<BitRate>,
}

/// The NF that serves a UE (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ServingNfIdentity {
    /// NF instance
    pub serv_nf_inst_id: Option<NfInstanceId>,
    /// GUAMI of the AMF
    pub guami: Option<Guami>,
}

/// A decision could be carried out in part only (TS 29.512, 5.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PartialSuccessReport {
    /// Cause
    pub failure_cause: FailureCause,
    /// State of PCC rules
    pub rule_reports: Option<Vec<RuleReport>>,
    /// State of session rules
    pub sess_rule_reports: Option<Vec<SessionRuleReport>>,
    /// Decisions that failed
    pub policy_dec_failure_reports: Option<Vec<PolicyDecisionFailureCode>>,
}

impl PartialSuccessReport {
    /// A value with the mandatory members only.
    pub fn new(failure_cause: FailureCause) -> Self {
        PartialSuccessReport {
            failure_cause,
            rule_reports: None,
            sess_rule_reports: None,
            policy_dec_failure_reports: None,
        }
    }
}
