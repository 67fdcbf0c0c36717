//! Subscriptions to changes, and other data (TS 29.503, 6.1.6.2).
use crate::common::{
    AccessType, DateTime, Dnn, Gpsi, Guami, NfInstanceId, NotifyItem, PlmnId, Snssai, Supi,
    TraceData,
};
use crate::macros::open_enum;
use crate::nnrf_nfmanagement::ServiceName;
use crate::nudm_sdm::{
    AccessAndMobilitySubscriptionData, IpAddress, SmSubsData, SmfSelectionSubscriptionData,
};
use crate::nudm_uecm::EpsInterworkingInfo;
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

open_enum! {
    /// Kind of subscription data (TS 29.503, 6.1.6).
    pub enum DataSetName {
        Am = "AM",
        SmfSel = "SMF_SEL",
        UecSmf = "UEC_SMF",
        UecSmsf = "UEC_SMSF",
        SmsSub = "SMS_SUB",
        Sm = "SM",
        Trace = "TRACE",
        SmsMng = "SMS_MNG",
        LcsPrivacy = "LCS_PRIVACY",
        LcsMo = "LCS_MO",
        LcsSub = "LCS_SUB",
        UecAmf = "UEC_AMF",
        V2x = "V2X",
        LcsBca = "LCS_BCA",
        Prose = "PROSE",
        Uc = "UC",
        Mbs = "MBS",
        A2x = "A2X",
    }
}

/// Subscription data of several kinds (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionDataSets {
    /// Access and mobility
    pub am_data: Option<AccessAndMobilitySubscriptionData>,
    /// SMF selection
    pub smf_sel_data: Option<SmfSelectionSubscriptionData>,
    /// AMFs that serve the UE
    pub uec_amf_data: Option<UeContextInAmfData>,
    /// SMFs that serve the UE
    pub uec_smf_data: Option<UeContextInSmfData>,
    /// Session management
    pub sm_data: Option<SmSubsData>,
    /// Trace data
    pub trace_data: Option<TraceData>,
}

/// AMFs that serve a UE (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UeContextInAmfData {
    /// PDU sessions that may move to EPS
    pub eps_interworking_info: Option<EpsInterworkingInfo>,
    /// The AMFs
    pub amf_info: Option<Vec<AmfInfo>>,
}

/// An AMF that serves a UE (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AmfInfo {
    /// The AMF
    pub amf_instance_id: NfInstanceId,
    /// Its GUAMI
    pub guami: Guami,
    /// Access
    pub access_type: Option<AccessType>,
}

impl AmfInfo {
    /// A value with the mandatory members only.
    pub fn new(amf_instance_id: NfInstanceId, guami: Guami) -> Self {
        AmfInfo { amf_instance_id, guami, access_type: None }
    }
}

/// SMFs that serve a UE (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UeContextInSmfData {
    /// PDU sessions by their identity
    pub pdu_sessions: Option<BTreeMap<String, PduSession>>,
    /// PGWs
    pub pgw_info: Option<Vec<PgwInfo>>,
    /// Emergency session
    pub emergency_info: Option<EmergencyInfo>,
}

/// A PDU session and its SMF (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PduSession {
    /// Data network
    pub dnn: Dnn,
    /// SMF
    pub smf_instance_id: NfInstanceId,
    /// Network of the SMF
    pub plmn_id: PlmnId,
    /// Slice
    pub single_nssai: Option<Snssai>,
}

impl PduSession {
    /// A value with the mandatory members only.
    pub fn new(dnn: Dnn, smf_instance_id: NfInstanceId, plmn_id: PlmnId) -> Self {
        PduSession { dnn, smf_instance_id, plmn_id, single_nssai: None }
    }
}

/// A PGW that serves a UE (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PgwInfo {
    /// Data network
    pub dnn: Dnn,
    /// Host name
    pub pgw_fqdn: String,
    /// Address
    pub pgw_ip_addr: Option<IpAddress>,
    /// Its network
    pub plmn_id: Option<PlmnId>,
}

impl PgwInfo {
    /// A value with the mandatory members only.
    pub fn new(dnn: Dnn, pgw_fqdn: String) -> Self {
        PgwInfo { dnn, pgw_fqdn, pgw_ip_addr: None, plmn_id: None }
    }
}

/// PGW of an emergency session (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct EmergencyInfo {
    /// Host name
    pub pgw_fqdn: Option<String>,
    /// Address
    pub pgw_ip_address: Option<IpAddress>,
    /// SMF
    pub smf_instance_id: Option<NfInstanceId>,
}

/// Identities of a subscriber (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct IdTranslationResult {
    /// Features of the UDM
    pub supported_features: Option<String>,
    /// SUPI
    pub supi: Supi,
    /// GPSI
    pub gpsi: Option<Gpsi>,
    /// Other GPSIs
    pub additional_gpsis: Option<Vec<Gpsi>>,
}

impl IdTranslationResult {
    /// A value with the mandatory members only.
    pub fn new(supi: Supi) -> Self {
        IdTranslationResult { supi, supported_features: None, gpsi: None, additional_gpsis: None }
    }
}

/// A subscription to changes of subscription data (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SdmSubscription {
    /// The subscriber
    pub nf_instance_id: NfInstanceId,
    /// It ends with the registration of the UE
    pub implicit_unsubscribe: Option<bool>,
    /// When it ends
    pub expires: Option<DateTime>,
    /// Notification URI
    pub callback_reference: String,
    /// Service that receives notifications
    pub amf_service_name: Option<ServiceName>,
    /// Monitored resources; empty if missing, which the UDM rejects
    #[serde(default, deserialize_with = "martlet_sbi::tolerant::null_is_empty")]
    pub monitored_resource_uris: Vec<String>,
    /// Only this slice
    pub single_nssai: Option<Snssai>,
    /// Only this data network
    pub dnn: Option<Dnn>,
    /// Identity of the subscription
    pub subscription_id: Option<String>,
    /// Serving network
    pub plmn_id: Option<PlmnId>,
    /// The response is to contain the data
    pub immediate_report: Option<bool>,
    /// The data
    pub report: Option<SubscriptionDataSets>,
    /// Features of the subscriber
    pub supported_features: Option<String>,
    /// It replaces the subscriber's earlier ones
    pub unique_subscription: Option<bool>,
}

impl SdmSubscription {
    /// A value with the mandatory members only.
    pub fn new(
        nf_instance_id: NfInstanceId,
        callback_reference: String,
        monitored_resource_uris: Vec<String>,
    ) -> Self {
        SdmSubscription {
            nf_instance_id,
            callback_reference,
            monitored_resource_uris,
            implicit_unsubscribe: None,
            expires: None,
            amf_service_name: None,
            single_nssai: None,
            dnn: None,
            subscription_id: None,
            plmn_id: None,
            immediate_report: None,
            report: None,
            supported_features: None,
            unique_subscription: None,
        }
    }
}

/// Subscription data have changed (TS 29.503, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ModificationNotification {
    /// Changes
    pub notify_items: Vec<NotifyItem>,
    /// The subscription
    pub subscription_id: Option<String>,
}
