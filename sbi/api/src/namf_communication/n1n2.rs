//! N1 and N2 messages that pass through the AMF (TS 29.518, 6.1.6.2).
use crate::common::{
    AccessType, Arp, GlobalRanNodeId, Guami, Ncgi, NfInstanceId, PduSessionId, RefToBinaryData,
    Snssai, Supi, Tai,
};
use crate::namf_communication::{
    N1MessageClass, N1N2MessageTransferCause, N2InfoNotifyReason, N2InformationClass,
    N2InformationTransferResult, NgapIeType, RatSelector, RegistrationContextContainer,
};
use crate::nnrf_nfmanagement::TaiRange;
use martlet_sbi::{Compact, ProblemDetails};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// N1 and N2 messages to transfer to a UE and its RAN node (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N1N2MessageTransferReqData {
    /// For the UE
    pub n1_message_container: Option<N1MessageContainer>,
    /// For the RAN node
    pub n2_info_container: Option<N2InfoContainer>,
    /// Data for the UE
    pub mt_data: Option<RefToBinaryData>,
    /// The N1 message is not needed where the UE is idle
    pub skip_ind: Option<bool>,
    /// It is the last message
    pub last_msg_indication: Option<bool>,
    /// The session
    pub pdu_session_id: Option<PduSessionId>,
    /// Correlates positioning messages
    pub lcs_correlation_id: Option<String>,
    /// Paging policy, 0 to 7
    pub ppi: Option<u8>,
    /// Priority
    pub arp: Option<Arp>,
    /// 5QI of the downlink data
    #[serde(rename = "5qi")]
    pub five_qi: Option<u8>,
    /// Callback URI for a later failure
    #[serde(rename = "n1n2FailureTxfNotifURI")]
    pub n1n2_failure_txf_notif_uri: Option<String>,
    /// The SMF is to be selected again
    pub smf_reallocation_ind: Option<bool>,
    /// Area of validity
    pub area_of_validity: Option<AreaOfValidity>,
    /// Features of the sender
    pub supported_features: Option<String>,
    /// GUAMI of the AMF that the sender knows
    pub old_guami: Option<Guami>,
    /// Data are buffered for long
    pub ext_buf_support: Option<bool>,
    /// Access
    pub target_access: Option<AccessType>,
    /// The sender
    pub nf_id: Option<NfInstanceId>,
}

/// Outcome of a transfer (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N1N2MessageTransferRspData {
    /// Outcome
    pub cause: N1N2MessageTransferCause,
    /// Features of the AMF
    pub supported_features: Option<String>,
}

impl N1N2MessageTransferRspData {
    /// A value with the mandatory members only.
    pub fn new(cause: N1N2MessageTransferCause) -> Self {
        N1N2MessageTransferRspData { cause, supported_features: None }
    }
}

/// Why a transfer was refused (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N1N2MessageTransferError {
    /// Details
    pub error: ProblemDetails,
    /// When to try again
    pub err_info: Option<N1N2MsgTxfrErrDetail>,
}

/// When to try a transfer again (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N1N2MsgTxfrErrDetail {
    /// Seconds
    pub retry_after: Option<u32>,
    /// Priority of the paged service
    pub highest_prio_arp: Option<Arp>,
    /// Seconds that the UE may take to respond
    pub max_waiting_time: Option<u32>,
}

/// A transfer failed in the end (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N1N2MsgTxfrFailureNotification {
    /// Cause
    pub cause: N1N2MessageTransferCause,
    /// The transfer, as `Location` named it
    pub n1n2_msg_data_uri: String,
    /// Seconds after which to try again
    pub retry_after: Option<u32>,
}

impl N1N2MsgTxfrFailureNotification {
    /// A value with the mandatory members only.
    pub fn new(cause: N1N2MessageTransferCause, n1n2_msg_data_uri: String) -> Self {
        N1N2MsgTxfrFailureNotification { cause, n1n2_msg_data_uri, retry_after: None }
    }
}

/// An N1 message (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N1MessageContainer {
    /// Kind
    pub n1_message_class: N1MessageClass,
    /// The message
    pub n1_message_content: RefToBinaryData,
    /// Sender, for `LPP`
    pub nf_id: Option<NfInstanceId>,
    /// Service instance of the sender
    pub service_instance_id: Option<String>,
}

impl N1MessageContainer {
    /// A value with the mandatory members only.
    pub fn new(n1_message_class: N1MessageClass, n1_message_content: RefToBinaryData) -> Self {
        N1MessageContainer {
            n1_message_class,
            n1_message_content,
            nf_id: None,
            service_instance_id: None,
        }
    }
}

/// N2 information (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N2InfoContainer {
    /// Kind
    pub n2_information_class: N2InformationClass,
    /// Of a session
    pub sm_info: Option<N2SmInformation>,
    /// For the RAN
    pub ran_info: Option<N2RanInformation>,
    /// NRPPa
    pub nrppa_info: Option<NrppaInformation>,
    /// Public warning
    pub pws_info: Option<PwsInformation>,
}

impl N2InfoContainer {
    /// A value with the mandatory members only.
    pub fn new(n2_information_class: N2InformationClass) -> Self {
        N2InfoContainer {
            n2_information_class,
            sm_info: None,
            ran_info: None,
            nrppa_info: None,
            pws_info: None,
        }
    }
}

/// N2 information of a session (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N2SmInformation {
    /// The session
    pub pdu_session_id: PduSessionId,
    /// The information
    pub n2_info_content: Option<N2InfoContent>,
    /// Slice
    pub s_nssai: Option<Snssai>,
    /// Slice of the home network
    pub home_plmn_snssai: Option<Snssai>,
    /// The session takes part in the handover
    pub subject_to_ho: Option<bool>,
}

/// A piece of NGAP (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N2InfoContent {
    /// NGAP procedure code
    pub ngap_message_type: Option<u32>,
    /// Which information element
    pub ngap_ie_type: Option<NgapIeType>,
    /// Its octets
    pub ngap_data: RefToBinaryData,
}

/// N2 information for the RAN (TS 29.518, 6.1.6).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N2RanInformation {
    /// The information
    pub n2_info_content: N2InfoContent,
}

/// An NRPPa message (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NrppaInformation {
    /// The LMF
    pub nf_id: NfInstanceId,
    /// The message
    pub nrppa_pdu: N2InfoContent,
    /// Service instance of the LMF
    pub service_instance_id: Option<String>,
}

impl NrppaInformation {
    /// A value with the mandatory members only.
    pub fn new(nf_id: NfInstanceId, nrppa_pdu: N2InfoContent) -> Self {
        NrppaInformation { nf_id, nrppa_pdu, service_instance_id: None }
    }
}

/// A public warning (TS 29.518, 6.1.6).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PwsInformation {
    /// Message identifier
    pub message_identifier: u16,
    /// Serial number
    pub serial_number: u16,
    /// The NGAP message
    pub pws_container: N2InfoContent,
}

/// Area in which N2 information is valid (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AreaOfValidity {
    /// Tracking areas
    pub tai_list: Vec<Tai>,
    /// Ranges of tracking areas
    pub tai_range_list: Option<Vec<TaiRange>>,
}

/// A subscription to a UE's N1 or N2 messages (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UeN1N2InfoSubscriptionCreateData {
    /// Kind of N2 information
    pub n2_information_class: Option<N2InformationClass>,
    /// Callback URI for N2 information
    pub n2_notify_callback_uri: Option<String>,
    /// Kind of N1 message
    pub n1_message_class: Option<N1MessageClass>,
    /// Callback URI for N1 messages
    pub n1_notify_callback_uri: Option<String>,
    /// The subscriber
    pub nf_id: Option<NfInstanceId>,
    /// Features of the subscriber
    pub supported_features: Option<String>,
    /// GUAMI of the AMF that the subscriber knows
    pub old_guami: Option<Guami>,
}

/// The created subscription (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UeN1N2InfoSubscriptionCreatedData {
    /// Identity
    pub n1n2_notify_subscription_id: String,
    /// Features of the AMF
    pub supported_features: Option<String>,
}

/// An N1 message from a UE (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N1MessageNotification {
    /// The subscription
    pub n1_notify_subscription_id: Option<String>,
    /// The message
    pub n1_message_container: N1MessageContainer,
    /// Correlates positioning messages
    pub lcs_correlation_id: Option<String>,
    /// Context of a registration that moves to this AMF
    pub registration_ctxt_container: Option<RegistrationContextContainer>,
    /// LMF that took over
    pub new_lmf_identification: Option<String>,
    /// GUAMI of the AMF
    pub guami: Option<Guami>,
    /// Cell
    pub ncgi: Option<Ncgi>,
    /// Tracking area
    pub tai: Option<Tai>,
    /// Subscriber
    pub supi: Option<Supi>,
}

impl N1MessageNotification {
    /// A value with the mandatory members only.
    pub fn new(n1_message_container: N1MessageContainer) -> Self {
        N1MessageNotification {
            n1_message_container,
            n1_notify_subscription_id: None,
            lcs_correlation_id: None,
            registration_ctxt_container: None,
            new_lmf_identification: None,
            guami: None,
            ncgi: None,
            tai: None,
            supi: None,
        }
    }
}

/// N2 information from a RAN node (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N2InformationNotification {
    /// The subscription
    pub n2_notify_subscription_id: String,
    /// The information
    pub n2_info_container: Option<N2InfoContainer>,
    /// Sessions that the source AMF releases
    pub to_release_session_list: Option<Vec<PduSessionId>>,
    /// Correlates positioning messages
    pub lcs_correlation_id: Option<String>,
    /// Cause
    pub notify_reason: Option<N2InfoNotifyReason>,
    /// RAN node
    pub ran_node_id: Option<GlobalRanNodeId>,
    /// GUAMI of the AMF
    pub guami: Option<Guami>,
}

/// N2 information that is not about one UE (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N2InformationTransferReqData {
    /// Tracking areas whose RAN nodes receive it
    pub tai_list: Option<Vec<Tai>>,
    /// Which RAN nodes get it
    pub rat_selector: Option<RatSelector>,
    /// RAN nodes that get it
    pub global_ran_node_list: Option<Vec<GlobalRanNodeId>>,
    /// The information
    pub n2_information: N2InfoContainer,
    /// Features of the sender
    pub supported_features: Option<String>,
}

impl N2InformationTransferReqData {
    /// A value with the mandatory members only.
    pub fn new(n2_information: N2InfoContainer) -> Self {
        N2InformationTransferReqData {
            n2_information,
            tai_list: None,
            rat_selector: None,
            global_ran_node_list: None,
            supported_features: None,
        }
    }
}

/// Outcome of a transfer (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N2InformationTransferRspData {
    /// Outcome
    pub result: N2InformationTransferResult,
    /// Features of the AMF
    pub supported_features: Option<String>,
}

impl N2InformationTransferRspData {
    /// A value with the mandatory members only.
    pub fn new(result: N2InformationTransferResult) -> Self {
        N2InformationTransferRspData { result, supported_features: None }
    }
}

/// Why a transfer was refused (TS 29.518, 6.1.6).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct N2InformationTransferError {
    /// Details
    pub error: ProblemDetails,
}

/// A subscription to N2 information that is not about one UE (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NonUeN2InfoSubscriptionCreateData {
    /// RAN nodes
    pub global_ran_node_list: Option<Vec<GlobalRanNodeId>>,
    /// Accesses
    pub an_type_list: Option<Vec<AccessType>>,
    /// Kind
    pub n2_information_class: N2InformationClass,
    /// Notification URI
    pub n2_notify_callback_uri: String,
    /// The subscriber
    pub nf_id: Option<NfInstanceId>,
    /// Features of the subscriber
    pub supported_features: Option<String>,
}

impl NonUeN2InfoSubscriptionCreateData {
    /// A value with the mandatory members only.
    pub fn new(n2_information_class: N2InformationClass, n2_notify_callback_uri: String) -> Self {
        NonUeN2InfoSubscriptionCreateData {
            n2_information_class,
            n2_notify_callback_uri,
            global_ran_node_list: None,
            an_type_list: None,
            nf_id: None,
            supported_features: None,
        }
    }
}

/// The created subscription (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NonUeN2InfoSubscriptionCreatedData {
    /// Identity
    pub n2_notify_subscription_id: String,
    /// Features of the AMF
    pub supported_features: Option<String>,
    /// Kind
    pub n2_information_class: Option<N2InformationClass>,
}
