//! UE contexts that move between AMFs (TS 29.518, 6.1.6.2).
use crate::common::{
    AccessType, Ambr, Area, Base64, CoreNetworkType, Dnn, GlobalRanNodeId, Gpsi, GroupId,
    NfInstanceId, NgApCause, PduSessionId, Pei, PlmnIdNid, RatType, SecretText,
    ServiceAreaRestriction, Snssai, Supi, Tai, TraceData, UserLocation,
};
use crate::namf_communication::{
    CipheringAlgorithm, IntegrityAlgorithm, KeyAmfType, N1MessageContainer, N2InfoContent,
    N2SmInformation, PolicyReqTrigger, ScType, TransferReason, UeContextTransferStatus,
};
use crate::nnssf_ns_selection::{AllowedNssai, ConfiguredSnssai};
use crate::nsmf_pdusession::EbiArpMapping;
use martlet_sbi::{Compact, ProblemDetails};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// A UE context in a transfer to another AMF (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UeContext {
    /// The subscriber
    pub supi: Option<Supi>,
    /// The SUPI is not authenticated
    pub supi_unauth_ind: Option<bool>,
    /// Public identities
    pub gpsi_list: Option<Vec<Gpsi>>,
    /// Equipment
    pub pei: Option<Pei>,
    /// Group of the UDM
    pub udm_group_id: Option<String>,
    /// Group of the AUSF
    pub ausf_group_id: Option<String>,
    /// Group of the PCF
    pub pcf_group_id: Option<String>,
    /// Routing indicator of the SUCI
    pub routing_indicator: Option<String>,
    /// Groups
    pub group_list: Option<Vec<GroupId>>,
    /// DRX parameter
    pub drx_parameter: Option<Base64>,
    /// RFSP index as subscribed
    pub sub_rfsp: Option<u16>,
    /// RFSP index in use
    pub used_rfsp: Option<u16>,
    /// UE-AMBR as subscribed
    pub sub_ue_ambr: Option<Ambr>,
    /// Keys
    pub seaf_data: Option<SeafData>,
    /// 5GMM capability
    #[serde(rename = "5gMmCapability")]
    pub five_gmm_capability: Option<Base64>,
    /// PCF
    pub pcf_id: Option<NfInstanceId>,
    /// Access and mobility policy association
    pub pcf_am_policy_uri: Option<String>,
    /// Request triggers of the PCF at the AMF
    pub am_policy_req_trigger_list: Option<Vec<PolicyReqTrigger>>,
    /// UE policy association
    pub pcf_ue_policy_uri: Option<String>,
    /// Radio technologies that are barred
    pub restricted_rat_list: Option<Vec<RatType>>,
    /// Areas that are barred
    pub forbidden_area_list: Option<Vec<Area>>,
    /// Service area restriction of the UE
    pub service_area_restriction: Option<ServiceAreaRestriction>,
    /// Core networks that are barred
    pub restricted_core_nw_type_list: Option<Vec<CoreNetworkType>>,
    /// Context by access
    pub mm_context_list: Option<Vec<MmContext>>,
    /// Sessions
    pub session_context_list: Option<Vec<PduSessionContext>>,
    /// Trace data
    pub trace_data: Option<TraceData>,
}

/// Keys of a UE (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SeafData {
    /// Key set
    pub ng_ksi: NgKsi,
    /// K_AMF
    pub key_amf: KeyAmf,
    /// Next hop in hexadecimal digits
    pub nh: Option<SecretText>,
    /// Next hop chaining counter
    pub ncc: Option<u8>,
    /// K_AMF is new
    pub key_amf_change_ind: Option<bool>,
    /// K_AMF was derived horizontally
    pub key_amf_h_derivation_ind: Option<bool>,
}

impl SeafData {
    /// A value with the mandatory members only.
    pub fn new(ng_ksi: NgKsi, key_amf: KeyAmf) -> Self {
        SeafData {
            ng_ksi,
            key_amf,
            nh: None,
            ncc: None,
            key_amf_change_ind: None,
            key_amf_h_derivation_ind: None,
        }
    }
}

/// A key set (TS 29.518, 6.1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NgKsi {
    /// Kind of security context
    pub tsc: ScType,
    /// Identity, 0 to 6
    pub ksi: u8,
}

/// K_AMF (TS 29.518, 6.1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct KeyAmf {
    /// Kind
    pub key_type: KeyAmfType,
    /// The key in hexadecimal digits
    pub key_val: SecretText,
}

/// A UE's context of an access (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct MmContext {
    /// Access
    pub access_type: AccessType,
    /// Algorithms of NAS
    pub nas_security_mode: Option<NasSecurityMode>,
    /// Downlink NAS count
    pub nas_downlink_count: Option<u32>,
    /// Uplink NAS count
    pub nas_uplink_count: Option<u32>,
    /// Security capability of the UE, as NAS codes it
    pub ue_security_capability: Option<Base64>,
    /// Allowed slices
    pub allowed_nssai: Option<Vec<Snssai>>,
    /// The slices mapped to the home network
    pub nssai_mapping_list: Option<Vec<NssaiMapping>>,
    /// RAN UE NGAP ID
    pub an_n2_ap_id: Option<u32>,
}

impl MmContext {
    /// A value with the mandatory members only.
    pub fn new(access_type: AccessType) -> Self {
        MmContext {
            access_type,
            nas_security_mode: None,
            nas_downlink_count: None,
            nas_uplink_count: None,
            ue_security_capability: None,
            allowed_nssai: None,
            nssai_mapping_list: None,
            an_n2_ap_id: None,
        }
    }
}

/// Algorithms of NAS (TS 29.518, 6.1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NasSecurityMode {
    /// Integrity
    pub integrity_algorithm: IntegrityAlgorithm,
    /// Ciphering
    pub ciphering_algorithm: CipheringAlgorithm,
}

/// A slice with its mapping to the home network (TS 29.518, 6.1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NssaiMapping {
    /// In the serving network
    pub mapped_snssai: Snssai,
    /// In the home network
    pub h_snssai: Snssai,
}

/// A session in a transfer to another AMF (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PduSessionContext {
    /// The session
    pub pdu_session_id: PduSessionId,
    /// Context at the SMF
    pub sm_context_ref: String,
    /// Slice
    pub s_nssai: Snssai,
    /// Data network
    pub dnn: Dnn,
    /// Data network that the network chose in its stead
    pub selected_dnn: Option<Dnn>,
    /// Access
    pub access_type: AccessType,
    /// Second access
    pub additional_access_type: Option<AccessType>,
    /// EPS bearers
    pub allocated_ebi_list: Option<Vec<EbiArpMapping>>,
    /// Home SMF
    pub hsmf_id: Option<NfInstanceId>,
    /// Visited SMF
    pub vsmf_id: Option<NfInstanceId>,
    /// Service instance of the SMF
    pub smf_service_instance_id: Option<String>,
    /// It is a multi-access session
    pub ma_pdu_session: Option<bool>,
}

impl PduSessionContext {
    /// A value with the mandatory members only.
    pub fn new(
        pdu_session_id: PduSessionId,
        sm_context_ref: String,
        s_nssai: Snssai,
        dnn: Dnn,
        access_type: AccessType,
    ) -> Self {
        PduSessionContext {
            pdu_session_id,
            sm_context_ref,
            s_nssai,
            dnn,
            access_type,
            selected_dnn: None,
            additional_access_type: None,
            allocated_ebi_list: None,
            hsmf_id: None,
            vsmf_id: None,
            smf_service_instance_id: None,
            ma_pdu_session: None,
        }
    }
}

/// Request of an AMF for a UE's context (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UeContextTransferReqData {
    /// Cause
    pub reason: TransferReason,
    /// Access
    pub access_type: AccessType,
    /// Network of the new AMF
    pub plmn_id: Option<PlmnIdNid>,
    /// The UE's registration request
    pub reg_request: Option<N1MessageContainer>,
    /// Features of the new AMF
    pub supported_features: Option<String>,
}

impl UeContextTransferReqData {
    /// A value with the mandatory members only.
    pub fn new(reason: TransferReason, access_type: AccessType) -> Self {
        UeContextTransferReqData {
            reason,
            access_type,
            plmn_id: None,
            reg_request: None,
            supported_features: None,
        }
    }
}

/// The context that moves (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UeContextTransferRspData {
    /// The context
    pub ue_context: UeContext,
    /// Radio capability
    pub ue_radio_capability: Option<N2InfoContent>,
    /// Radio capability for paging
    pub ue_radio_capability_for_paging: Option<N2InfoContent>,
    /// Features of the old AMF
    pub supported_features: Option<String>,
}

/// Whether the new AMF took the context over (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UeRegStatusUpdateReqData {
    /// Status of the transfer
    pub transfer_status: UeContextTransferStatus,
    /// Sessions that are not taken over
    pub to_release_session_list: Option<Vec<PduSessionId>>,
    /// Another PCF was chosen
    pub pcf_reselected_ind: Option<bool>,
}

impl UeRegStatusUpdateReqData {
    /// A value with the mandatory members only.
    pub fn new(transfer_status: UeContextTransferStatus) -> Self {
        UeRegStatusUpdateReqData {
            transfer_status,
            to_release_session_list: None,
            pcf_reselected_ind: None,
        }
    }
}

/// The old AMF's response to the status update (TS 29.518, 6.1.6).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UeRegStatusUpdateRspData {
    /// Whether all is done
    pub reg_status_transfer_complete: bool,
}

/// Request to create a UE context for a handover (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UeContextCreateData {
    /// The context
    pub ue_context: UeContext,
    /// Target of the handover
    pub target_id: NgRanTargetId,
    /// Container from source to target
    pub source_to_target_data: N2InfoContent,
    /// Sessions
    pub pdu_session_list: Vec<N2SmInformation>,
    /// Callback URI of the source AMF
    pub n2_notify_uri: Option<String>,
    /// Radio capability
    pub ue_radio_capability: Option<N2InfoContent>,
    /// Radio capability for paging
    pub ue_radio_capability_for_paging: Option<N2InfoContent>,
    /// NGAP cause
    pub ngap_cause: Option<NgApCause>,
    /// Features of the source AMF
    pub supported_features: Option<String>,
    /// Network of the source AMF
    pub serving_network: Option<PlmnIdNid>,
}

impl UeContextCreateData {
    /// A value with the mandatory members only.
    pub fn new(
        ue_context: UeContext,
        target_id: NgRanTargetId,
        source_to_target_data: N2InfoContent,
        pdu_session_list: Vec<N2SmInformation>,
    ) -> Self {
        UeContextCreateData {
            ue_context,
            target_id,
            source_to_target_data,
            pdu_session_list,
            n2_notify_uri: None,
            ue_radio_capability: None,
            ue_radio_capability_for_paging: None,
            ngap_cause: None,
            supported_features: None,
            serving_network: None,
        }
    }
}

/// The UE context created for a handover (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UeContextCreatedData {
    /// The context
    pub ue_context: UeContext,
    /// Container from target to source
    pub target_to_source_data: N2InfoContent,
    /// Sessions
    pub pdu_session_list: Vec<N2SmInformation>,
    /// Sessions that failed
    pub failed_session_list: Option<Vec<N2SmInformation>>,
    /// Features of the target AMF
    pub supported_features: Option<String>,
    /// Another PCF was chosen
    pub pcf_reselected_ind: Option<bool>,
}

/// Why a handover was refused (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UeContextCreateError {
    /// Details
    pub error: ProblemDetails,
    /// NGAP cause
    pub ngap_cause: Option<NgApCause>,
    /// Container from target to source
    pub target_to_source_failure_data: Option<N2InfoContent>,
}

/// Cancellation of a handover (TS 29.518, 6.1.6, `UEContextRelease`).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UeContextRelease {
    /// The subscriber
    pub supi: Option<Supi>,
    /// The SUPI is not authenticated
    pub unauthenticated_supi: Option<bool>,
    /// NGAP cause
    pub ngap_cause: NgApCause,
}

/// Target of a handover (TS 29.518, 6.1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NgRanTargetId {
    /// RAN node
    pub ran_node_id: GlobalRanNodeId,
    /// Tracking area
    pub tai: Tai,
}

/// A registration that moves to another AMF (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct RegistrationContextContainer {
    /// The context
    pub ue_context: UeContext,
    /// Time zone of the UE
    pub local_time_zone: Option<String>,
    /// Access
    pub an_type: AccessType,
    /// RAN UE NGAP ID
    pub an_n2_ap_id: u32,
    /// RAN node
    pub ran_node_id: GlobalRanNodeId,
    /// AMF that sends it
    pub initial_amf_name: String,
    /// Location of the UE
    pub user_location: UserLocation,
    /// RRC establishment cause in hexadecimal digits
    pub rrc_est_cause: Option<String>,
    /// The RAN node requests the context
    pub ue_context_request: Option<bool>,
    /// Allowed slices
    pub allowed_nssai: Option<AllowedNssai>,
    /// Slices that the UE is configured with
    pub configured_nssai: Option<Vec<ConfiguredSnssai>>,
    /// Slices refused in the network
    pub rejected_nssai_in_plmn: Option<Vec<Snssai>>,
    /// Slices refused in the tracking area
    pub rejected_nssai_in_ta: Option<Vec<Snssai>>,
}

impl RegistrationContextContainer {
    /// A value with the mandatory members only.
    pub fn new(
        ue_context: UeContext,
        an_type: AccessType,
        an_n2_ap_id: u32,
        ran_node_id: GlobalRanNodeId,
        initial_amf_name: String,
        user_location: UserLocation,
    ) -> Self {
        RegistrationContextContainer {
            ue_context,
            an_type,
            an_n2_ap_id,
            ran_node_id,
            initial_amf_name,
            user_location,
            local_time_zone: None,
            rrc_est_cause: None,
            ue_context_request: None,
            allowed_nssai: None,
            configured_nssai: None,
            rejected_nssai_in_plmn: None,
            rejected_nssai_in_ta: None,
        }
    }
}
