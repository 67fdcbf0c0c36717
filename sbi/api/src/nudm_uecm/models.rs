//! Registrations of the NFs that serve a UE (TS 29.503, 6.2.6.2).
use crate::common::{
    AccessType, BackupAmfInfo, DateTime, Dnn, Guami, NfInstanceId, PduSessionId, Pei, PlmnId,
    RatType, Snssai, Supi,
};
use crate::macros::open_enum;
use crate::nnrf_nfmanagement::ServiceName;
use crate::nudm_sdm::IpAddress;
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

open_enum! {
    /// Whether IMS voice works wherever the UE may go (TS 29.503, 6.2.6).
    pub enum ImsVoPs {
        HomogeneousSupport = "HOMOGENEOUS_SUPPORT",
        HomogeneousNonSupport = "HOMOGENEOUS_NON_SUPPORT",
        NonHomogeneousOrUnknown = "NON_HOMOGENEOUS_OR_UNKNOWN",
    }
}

open_enum! {
    /// Why an NF no longer serves a UE (TS 29.503, 6.2.6).
    pub enum DeregistrationReason {
        UeInitialRegistration = "UE_INITIAL_REGISTRATION",
        UeRegistrationAreaChange = "UE_REGISTRATION_AREA_CHANGE",
        SubscriptionWithdrawn = "SUBSCRIPTION_WITHDRAWN",
        FiveGSToEpsMobility = "5GS_TO_EPS_MOBILITY",
        FiveGSToEpsMobilityUeInitialRegistration = "5GS_TO_EPS_MOBILITY_UE_INITIAL_REGISTRATION",
        ReregistrationRequired = "REREGISTRATION_REQUIRED",
        SmfContextTransferred = "SMF_CONTEXT_TRANSFERRED",
        DuplicatePduSession = "DUPLICATE_PDU_SESSION",
        PduSessionReactivationRequired = "PDU_SESSION_REACTIVATION_REQUIRED",
        DisasterConditionTerminated = "DISASTER_CONDITION_TERMINATED",
        OperatorDeterminedBarring = "OPERATOR_DETERMINED_BARRING",
    }
}

open_enum! {
    /// Why an SMF registers (TS 29.503, 6.2.6).
    pub enum RegistrationReason {
        SmfContextTransferred = "SMF_CONTEXT_TRANSFERRED",
    }
}

open_enum! {
    /// Kind of registration (TS 29.503, 6.2.6).
    pub enum RegistrationDataSetName {
        Amf3gpp = "AMF_3GPP",
        AmfNon3gpp = "AMF_NON_3GPP",
        SmfPduSessions = "SMF_PDU_SESSIONS",
        Smsf3gpp = "SMSF_3GPP",
        SmsfNon3gpp = "SMSF_NON_3GPP",
        IpSmGw = "IP_SM_GW",
        Nwdaf = "NWDAF",
    }
}

/// An AMF serves a UE through 3GPP access (TS 29.503, 6.2.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Amf3GppAccessRegistration {
    /// The AMF
    pub amf_instance_id: NfInstanceId,
    /// Features of the AMF
    pub supported_features: Option<String>,
    /// The UE was purged at the AMF
    pub purge_flag: Option<bool>,
    /// The equipment
    pub pei: Option<Pei>,
    /// Support of IMS voice
    pub ims_vo_ps: Option<ImsVoPs>,
    /// Callback URI for deregistration by the UDM
    pub dereg_callback_uri: String,
    /// Service that receives the notification
    pub amf_service_name_dereg: Option<ServiceName>,
    /// Callback URI for P-CSCF restoration
    pub pcscf_restoration_callback_uri: Option<String>,
    /// The UE's registration is initial
    pub initial_registration_ind: Option<bool>,
    /// The UE's registration is for emergency
    pub emergency_registration_ind: Option<bool>,
    /// GUAMI of the AMF
    pub guami: Guami,
    /// The backup AMF
    pub backup_amf_info: Option<Vec<BackupAmfInfo>>,
    /// The UE is registered in EPS too
    pub dr_flag: Option<bool>,
    /// Radio technology
    pub rat_type: RatType,
    /// The UDM is to be notified when the UE is reachable
    pub urrp_indicator: Option<bool>,
    /// PDU sessions that may move to EPS
    pub eps_interworking_info: Option<EpsInterworkingInfo>,
    /// The UE supports SRVCC
    pub ue_srvcc_capability: Option<bool>,
    /// When the AMF registered
    pub registration_time: Option<DateTime>,
    /// The AMF has no event exposure subscriptions
    pub no_ee_subscription_ind: Option<bool>,
    /// The subscriber
    pub supi: Option<Supi>,
    /// Callback URI for data restoration
    pub data_restoration_callback_uri: Option<String>,
}

impl Amf3GppAccessRegistration {
    /// A value with the mandatory members only.
    pub fn new(
        amf_instance_id: NfInstanceId,
        dereg_callback_uri: String,
        guami: Guami,
        rat_type: RatType,
    ) -> Self {
        Amf3GppAccessRegistration {
            amf_instance_id,
            dereg_callback_uri,
            guami,
            rat_type,
            supported_features: None,
            purge_flag: None,
            pei: None,
            ims_vo_ps: None,
            amf_service_name_dereg: None,
            pcscf_restoration_callback_uri: None,
            initial_registration_ind: None,
            emergency_registration_ind: None,
            backup_amf_info: None,
            dr_flag: None,
            urrp_indicator: None,
            eps_interworking_info: None,
            ue_srvcc_capability: None,
            registration_time: None,
            no_ee_subscription_ind: None,
            supi: None,
            data_restoration_callback_uri: None,
        }
    }
}

/// Changes of an AMF's registration (TS 29.503, 6.2.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Amf3GppAccessRegistrationModification {
    /// GUAMI of the AMF
    pub guami: Guami,
    /// The UE was purged at the AMF
    pub purge_flag: Option<bool>,
    /// The equipment
    pub pei: Option<Pei>,
    /// Support of IMS voice
    pub ims_vo_ps: Option<ImsVoPs>,
    /// The backup AMF
    pub backup_amf_info: Option<Vec<BackupAmfInfo>>,
    /// PDU sessions that may move to EPS
    pub eps_interworking_info: Option<EpsInterworkingInfo>,
}

impl Amf3GppAccessRegistrationModification {
    /// A value with the mandatory members only.
    pub fn new(guami: Guami) -> Self {
        Amf3GppAccessRegistrationModification {
            guami,
            purge_flag: None,
            pei: None,
            ims_vo_ps: None,
            backup_amf_info: None,
            eps_interworking_info: None,
        }
    }
}

/// PDU sessions that may move to EPS (TS 29.503, 6.2.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct EpsInterworkingInfo {
    /// The PGW by APN
    pub eps_iwk_pgws: Option<BTreeMap<String, EpsIwkPgw>>,
}

/// The PGW of a PDU session (TS 29.503, 6.2.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct EpsIwkPgw {
    /// Its host name
    pub pgw_fqdn: String,
    /// Its SMF
    pub smf_instance_id: NfInstanceId,
    /// Its network
    pub plmn_id: Option<PlmnId>,
}

impl EpsIwkPgw {
    /// A value with the mandatory members only.
    pub fn new(pgw_fqdn: String, smf_instance_id: NfInstanceId) -> Self {
        EpsIwkPgw { pgw_fqdn, smf_instance_id, plmn_id: None }
    }
}

/// An SMF serves a PDU session (TS 29.503, 6.2.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmfRegistration {
    /// The SMF
    pub smf_instance_id: NfInstanceId,
    /// Its set
    pub smf_set_id: Option<String>,
    /// Features of the SMF
    pub supported_features: Option<String>,
    /// The session
    pub pdu_session_id: PduSessionId,
    /// Its slice
    pub single_nssai: Snssai,
    /// Its data network
    pub dnn: Option<Dnn>,
    /// The session is for emergency
    pub emergency_services: Option<bool>,
    /// Callback URI for P-CSCF restoration
    pub pcscf_restoration_callback_uri: Option<String>,
    /// Network of the SMF
    pub plmn_id: PlmnId,
    /// Host name of the PGW
    pub pgw_fqdn: Option<String>,
    /// Address of the PGW
    pub pgw_ip_addr: Option<IpAddress>,
    /// Callback URI for deregistration by the UDM
    pub dereg_callback_uri: Option<String>,
    /// Why it registers
    pub registration_reason: Option<RegistrationReason>,
    /// When it registered
    pub registration_time: Option<DateTime>,
    /// PCF of the session
    pub pcf_id: Option<NfInstanceId>,
}

impl SmfRegistration {
    /// A value with the mandatory members only.
    pub fn new(
        smf_instance_id: NfInstanceId,
        pdu_session_id: PduSessionId,
        single_nssai: Snssai,
        plmn_id: PlmnId,
    ) -> Self {
        SmfRegistration {
            smf_instance_id,
            pdu_session_id,
            single_nssai,
            plmn_id,
            smf_set_id: None,
            supported_features: None,
            dnn: None,
            emergency_services: None,
            pcscf_restoration_callback_uri: None,
            pgw_fqdn: None,
            pgw_ip_addr: None,
            dereg_callback_uri: None,
            registration_reason: None,
            registration_time: None,
            pcf_id: None,
        }
    }
}

/// The SMFs that serve a UE (TS 29.503, 6.2.6).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SmfRegistrationInfo {
    /// Their registrations
    pub smf_registration_list: Vec<SmfRegistration>,
}

/// Registrations of several kinds (TS 29.503, 6.2.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct RegistrationDataSets {
    /// AMF for 3GPP access
    pub amf3_gpp: Option<Amf3GppAccessRegistration>,
    /// SMFs
    pub smf_registration: Option<SmfRegistrationInfo>,
}

/// An NF no longer serves a UE (TS 29.503, 6.2.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct DeregistrationData {
    /// Cause
    pub dereg_reason: DeregistrationReason,
    /// Access concerned
    pub access_type: Option<AccessType>,
    /// Session concerned
    pub pdu_session_id: Option<PduSessionId>,
    /// New SMF, which took the session over
    pub new_smf_instance_id: Option<NfInstanceId>,
}

impl DeregistrationData {
    /// A value with the mandatory members only.
    pub fn new(dereg_reason: DeregistrationReason) -> Self {
        DeregistrationData {
            dereg_reason,
            access_type: None,
            pdu_session_id: None,
            new_smf_instance_id: None,
        }
    }
}
