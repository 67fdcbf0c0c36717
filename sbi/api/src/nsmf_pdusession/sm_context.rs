//! Session contexts: creation, update, release and status (TS 29.502, 6.1.6.2).
use crate::common::{
    AccessType, Arp, BackupAmfInfo, DateTime, Dnn, Gpsi, Guami, NfInstanceId, NgApCause,
    PcfUeCallbackInfo, PduSessionId, Pei, PlmnIdNid, PresenceState, RatType, RefToBinaryData,
    Snssai, Supi, TraceData, UserLocation, decimal_tac,
};
use crate::namf_communication::NgRanTargetId;
use crate::nnrf_nfmanagement::ServiceName;
use crate::nsmf_pdusession::{
    Cause, DnnSelectionMode, EpsInterworkingIndication, HoState, MaReleaseIndication, N2SmInfoType,
    RequestType, ResourceStatus, UpCnxState,
};
use martlet_sbi::{Compact, ProblemDetails};
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;

/// The request of an AMF to create a session context (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmContextCreateData {
    /// The subscriber
    pub supi: Option<Supi>,
    /// The SUPI is not authenticated (emergency)
    pub unauthenticated_supi: Option<bool>,
    /// Equipment
    pub pei: Option<Pei>,
    /// Public identity
    pub gpsi: Option<Gpsi>,
    /// The session
    pub pdu_session_id: Option<PduSessionId>,
    /// Data network, as requested by the UE or subscribed
    pub dnn: Option<Dnn>,
    /// Data network that the network chose in its stead
    pub selected_dnn: Option<Dnn>,
    /// Slice in the serving network
    pub s_nssai: Option<Snssai>,
    /// Slice in the home network
    pub hplmn_snssai: Option<Snssai>,
    /// The AMF
    pub serving_nf_id: NfInstanceId,
    /// GUAMI of the AMF
    pub guami: Option<Guami>,
    /// Service of the AMF that receives the status
    pub service_name: Option<ServiceName>,
    /// Serving network
    pub serving_network: PlmnIdNid,
    /// Kind of session
    pub request_type: Option<RequestType>,
    /// The UE's 5GSM message
    pub n1_sm_msg: Option<RefToBinaryData>,
    /// Access
    pub an_type: AccessType,
    /// Second access of a multi-access session
    pub additional_an_type: Option<AccessType>,
    /// Radio technology
    pub rat_type: Option<RatType>,
    /// Whether the UE is in the LADN's area
    pub presence_in_ladn: Option<PresenceState>,
    /// Location of the UE
    #[serde(default, deserialize_with = "decimal_tac::location")]
    pub ue_location: Option<UserLocation>,
    /// Time zone of the UE
    pub ue_time_zone: Option<String>,
    /// Callback URI for the status of the SM context
    pub sm_context_status_uri: String,
    /// Home SMF
    pub h_smf_uri: Option<String>,
    /// Home SMF
    pub h_smf_id: Option<NfInstanceId>,
    /// Session that this one replaces (SSC mode 3)
    pub old_pdu_session_id: Option<PduSessionId>,
    /// Sessions whose user plane is to be activated
    pub pdu_sessions_activate_list: Option<Vec<PduSessionId>>,
    /// State of the handover
    pub ho_state: Option<HoState>,
    /// PCF that the AMF chose
    pub pcf_id: Option<NfInstanceId>,
    /// Group of the PCF
    pub pcf_group_id: Option<String>,
    /// Set of the PCF
    pub pcf_set_id: Option<String>,
    /// NRF for the slice
    pub nrf_uri: Option<String>,
    /// Features of the AMF
    pub supported_features: Option<String>,
    /// DNN selection mode
    pub sel_mode: Option<DnnSelectionMode>,
    /// The backup AMF
    pub backup_amf_info: Option<Vec<BackupAmfInfo>>,
    /// Trace data
    pub trace_data: Option<TraceData>,
    /// Group of the UDM
    pub udm_group_id: Option<String>,
    /// Routing indicator of the SUCI
    pub routing_indicator: Option<String>,
    /// EPS interworking
    pub eps_interworking_ind: Option<EpsInterworkingIndication>,
    /// Direct forwarding is possible
    pub direct_forwarding_flag: Option<bool>,
    /// Target of the handover
    pub target_id: Option<NgRanTargetId>,
    /// A multi-access session is requested
    pub ma_request_ind: Option<bool>,
    /// N2 information
    pub n2_sm_info: Option<RefToBinaryData>,
    /// Type of the N2 information
    pub n2_sm_info_type: Option<N2SmInfoType>,
    /// Context at the old SMF
    pub sm_context_ref: Option<String>,
    /// Requested state of the user plane connection
    pub up_cnx_state: Option<UpCnxState>,
    /// Downlink data are buffered
    pub dl_data_waiting_ind: Option<bool>,
    /// The context moves between SMFs
    pub smf_transfer_ind: Option<bool>,
    /// The old SMF
    pub old_smf_id: Option<NfInstanceId>,
    /// Context at the old SMF
    pub old_sm_context_ref: Option<String>,
    /// The same PCF is to be used as for other sessions
    pub same_pcf_selection_ind: Option<bool>,
    /// The PCF of the UE is to be notified
    pub sm_policy_notify_ind: Option<bool>,
    /// Callback URI of the UE's PCF
    pub pcf_ue_callback_info: Option<PcfUeCallbackInfo>,
    /// The UE supports integrity protection with EPS
    pub upip_supported: Option<bool>,
}

impl SmContextCreateData {
    /// A value with the mandatory members only.
    pub fn new(
        serving_nf_id: NfInstanceId,
        serving_network: PlmnIdNid,
        an_type: AccessType,
        sm_context_status_uri: String,
    ) -> Self {
        SmContextCreateData {
            serving_nf_id,
            serving_network,
            an_type,
            sm_context_status_uri,
            supi: None,
            unauthenticated_supi: None,
            pei: None,
            gpsi: None,
            pdu_session_id: None,
            dnn: None,
            selected_dnn: None,
            s_nssai: None,
            hplmn_snssai: None,
            guami: None,
            service_name: None,
            request_type: None,
            n1_sm_msg: None,
            additional_an_type: None,
            rat_type: None,
            presence_in_ladn: None,
            ue_location: None,
            ue_time_zone: None,
            h_smf_uri: None,
            h_smf_id: None,
            old_pdu_session_id: None,
            pdu_sessions_activate_list: None,
            ho_state: None,
            pcf_id: None,
            pcf_group_id: None,
            pcf_set_id: None,
            nrf_uri: None,
            supported_features: None,
            sel_mode: None,
            backup_amf_info: None,
            trace_data: None,
            udm_group_id: None,
            routing_indicator: None,
            eps_interworking_ind: None,
            direct_forwarding_flag: None,
            target_id: None,
            ma_request_ind: None,
            n2_sm_info: None,
            n2_sm_info_type: None,
            sm_context_ref: None,
            up_cnx_state: None,
            dl_data_waiting_ind: None,
            smf_transfer_ind: None,
            old_smf_id: None,
            old_sm_context_ref: None,
            same_pcf_selection_ind: None,
            sm_policy_notify_ind: None,
            pcf_ue_callback_info: None,
            upip_supported: None,
        }
    }
}

/// The created session context (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmContextCreatedData {
    /// Home SMF
    pub h_smf_uri: Option<String>,
    /// The session
    pub pdu_session_id: Option<PduSessionId>,
    /// Slice
    pub s_nssai: Option<Snssai>,
    /// State of the user plane connection
    pub up_cnx_state: Option<UpCnxState>,
    /// N2 information for the RAN
    pub n2_sm_info: Option<RefToBinaryData>,
    /// Type of the N2 information
    pub n2_sm_info_type: Option<N2SmInfoType>,
    /// EPS bearers
    pub allocated_ebi_list: Option<Vec<EbiArpMapping>>,
    /// State of the handover
    pub ho_state: Option<HoState>,
    /// Public identity
    pub gpsi: Option<Gpsi>,
    /// Service instance of the SMF
    pub smf_service_instance_id: Option<String>,
    /// When the SMF started last
    pub recovery_time: Option<DateTime>,
    /// Features of the SMF
    pub supported_features: Option<String>,
    /// SMF that was chosen
    pub selected_smf_id: Option<NfInstanceId>,
}

/// An AMF's update of a session context (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmContextUpdateData {
    /// Equipment
    pub pei: Option<Pei>,
    /// The new AMF
    pub serving_nf_id: Option<NfInstanceId>,
    /// GUAMI of the AMF
    pub guami: Option<Guami>,
    /// Serving network
    pub serving_network: Option<PlmnIdNid>,
    /// The backup AMF
    pub backup_amf_info: Option<Vec<BackupAmfInfo>>,
    /// Access
    pub an_type: Option<AccessType>,
    /// Access to which the session moves
    pub an_type_to_reactivate: Option<AccessType>,
    /// Radio technology
    pub rat_type: Option<RatType>,
    /// Whether the UE is in the LADN's area
    pub presence_in_ladn: Option<PresenceState>,
    /// Location of the UE
    pub ue_location: Option<UserLocation>,
    /// Time zone of the UE
    pub ue_time_zone: Option<String>,
    /// Requested state of the user plane connection
    pub up_cnx_state: Option<UpCnxState>,
    /// State of the handover
    pub ho_state: Option<HoState>,
    /// The path is to be switched to this access
    pub to_be_switched: Option<bool>,
    /// The RAN could not switch the path
    pub failed_to_be_switched: Option<bool>,
    /// The UE's 5GSM message
    pub n1_sm_msg: Option<RefToBinaryData>,
    /// N2 information
    pub n2_sm_info: Option<RefToBinaryData>,
    /// Type of the N2 information
    pub n2_sm_info_type: Option<N2SmInfoType>,
    /// Target of the handover
    pub target_id: Option<NgRanTargetId>,
    /// Target AMF
    pub target_serving_nf_id: Option<NfInstanceId>,
    /// Callback URI for the status of the SM context
    pub sm_context_status_uri: Option<String>,
    /// Indirect forwarding is requested
    pub data_forwarding: Option<bool>,
    /// The session is to be released
    pub release: Option<bool>,
    /// Cause
    pub cause: Option<Cause>,
    /// NGAP cause
    pub ng_ap_cause: Option<NgApCause>,
    /// The cause that the AMF sent to the UE
    #[serde(rename = "5gMmCauseValue")]
    pub five_gmm_cause_value: Option<u8>,
    /// Slice in the serving network
    pub s_nssai: Option<Snssai>,
    /// Trace data
    pub trace_data: Option<TraceData>,
    /// EPS interworking
    pub eps_interworking_ind: Option<EpsInterworkingIndication>,
    /// The session may move to 3GPP access
    pub an_type_can_be_changed: Option<bool>,
    /// More N2 information
    pub n2_sm_info_ext1: Option<RefToBinaryData>,
    /// Type of that information
    pub n2_sm_info_type_ext1: Option<N2SmInfoType>,
    /// The released access of a multi-access session
    pub ma_release_ind: Option<MaReleaseIndication>,
    /// Features of the AMF
    pub supported_features: Option<String>,
    /// The RAN has released its resources
    pub skip_n2_pdu_session_res_rel_ind: Option<bool>,
    /// The PCF of the UE is to be notified
    pub sm_policy_notify_ind: Option<bool>,
    /// Callback URI of the UE's PCF
    pub pcf_ue_callback_info: Option<PcfUeCallbackInfo>,
}

/// OAI's SMF sends a number for it if the request succeeded.
fn cause<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Cause>, D::Error> {
    martlet_sbi::tolerant::member(from, "cause")
}

/// The updated session context (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmContextUpdatedData {
    /// State of the user plane connection
    pub up_cnx_state: Option<UpCnxState>,
    /// State of the handover
    pub ho_state: Option<HoState>,
    /// EPS bearers that were released
    pub release_ebi_list: Option<Vec<u8>>,
    /// EPS bearers that are new
    pub allocated_ebi_list: Option<Vec<EbiArpMapping>>,
    /// EPS bearers that changed
    pub modified_ebi_list: Option<Vec<EbiArpMapping>>,
    /// 5GSM message for the UE
    pub n1_sm_msg: Option<RefToBinaryData>,
    /// N2 information for the RAN
    pub n2_sm_info: Option<RefToBinaryData>,
    /// Type of the N2 information
    pub n2_sm_info_type: Option<N2SmInfoType>,
    /// Indirect forwarding is set up
    pub data_forwarding: Option<bool>,
    /// Cause
    #[serde(default, deserialize_with = "cause")]
    pub cause: Option<Cause>,
    /// The session became a multi-access session
    pub ma_accepted_ind: Option<bool>,
    /// Features of the SMF
    pub supported_features: Option<String>,
}

/// Why an AMF ends a session context (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmContextReleaseData {
    /// Cause
    pub cause: Option<Cause>,
    /// NGAP cause
    pub ng_ap_cause: Option<NgApCause>,
    /// The cause that the AMF sent to the UE
    #[serde(rename = "5gMmCauseValue")]
    pub five_gmm_cause_value: Option<u8>,
    /// Last location of the UE
    pub ue_location: Option<UserLocation>,
    /// Time zone of the UE
    pub ue_time_zone: Option<String>,
    /// Only the visited SMF releases it
    pub vsmf_release_only: Option<bool>,
    /// N2 information, such as usage of a secondary RAT
    pub n2_sm_info: Option<RefToBinaryData>,
    /// Type of the N2 information
    pub n2_sm_info_type: Option<N2SmInfoType>,
}

/// A session context has ended (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmContextReleasedData {
    /// State of small data rate control
    pub small_data_rate_status: Option<serde_json::Value>,
}

/// A status notification of a session context (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmContextStatusNotification {
    /// Status
    pub status_info: StatusInfo,
    /// Downlink data could not be delivered
    pub ddn_failure_status: Option<bool>,
    /// New SMF, which took the session over
    pub new_smf_id: Option<NfInstanceId>,
    /// Set of the SMF that took over
    pub new_smf_set_id: Option<String>,
    /// The old SMF
    pub old_smf_id: Option<NfInstanceId>,
    /// Context at the old SMF
    pub old_sm_context_ref: Option<String>,
}

impl SmContextStatusNotification {
    /// A value with the mandatory members only.
    pub fn new(status_info: StatusInfo) -> Self {
        SmContextStatusNotification {
            status_info,
            ddn_failure_status: None,
            new_smf_id: None,
            new_smf_set_id: None,
            old_smf_id: None,
            old_sm_context_ref: None,
        }
    }
}

/// Status of a session context (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct StatusInfo {
    /// Its status
    pub resource_status: ResourceStatus,
    /// Cause
    pub cause: Option<Cause>,
    /// The error was received from another node
    pub remote_error: Option<bool>,
    /// Access
    pub an_type: Option<AccessType>,
}

impl StatusInfo {
    /// A value with the mandatory members only.
    pub fn new(resource_status: ResourceStatus) -> Self {
        StatusInfo { resource_status, cause: None, remote_error: None, an_type: None }
    }
}

/// An EPS bearer and its priority (TS 29.502, 6.1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct EbiArpMapping {
    /// Identity of the bearer
    pub eps_bearer_id: u8,
    /// Priority
    pub arp: Arp,
}

/// Why a session context was not created (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmContextCreateError {
    /// Details
    pub error: ProblemDetails,
    /// 5GSM message for the UE
    pub n1_sm_msg: Option<RefToBinaryData>,
    /// N2 information for the RAN
    pub n2_sm_info: Option<RefToBinaryData>,
    /// Type of the N2 information
    pub n2_sm_info_type: Option<N2SmInfoType>,
    /// When the SMF started last
    pub recovery_time: Option<DateTime>,
}

/// Why a session context was not changed (TS 29.502, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmContextUpdateError {
    /// Details
    pub error: ProblemDetails,
    /// 5GSM message for the UE
    pub n1_sm_msg: Option<RefToBinaryData>,
    /// N2 information for the RAN
    pub n2_sm_info: Option<RefToBinaryData>,
    /// Type of the N2 information
    pub n2_sm_info_type: Option<N2SmInfoType>,
    /// State of the user plane connection
    pub up_cnx_state: Option<UpCnxState>,
    /// When the SMF started last
    pub recovery_time: Option<DateTime>,
}
