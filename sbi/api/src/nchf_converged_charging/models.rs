//! Data of the CHF's converged charging service (TS 32.291, 6.1.6.2).
use crate::common::{
    Ambr, DateTime, Dnn, Gpsi, NfInstanceId, PduSessionId, PduSessionType, Pei, PlmnId, RatType,
    Snssai, SscMode, Supi, UserLocation,
};
use crate::macros::open_enum;
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::net::{Ipv4Addr, Ipv6Addr};

open_enum! {
    /// The type of a charging NF (TS 32.291, 6.1.6.3).
    pub enum NodeFunctionality {
        Amf = "AMF",
        Smf = "SMF",
    }
}

open_enum! {
    /// When usage is reported (TS 32.291, 6.1.6.3).
    pub enum TriggerCategory {
        ImmediateReport = "IMMEDIATE_REPORT",
        DeferredReport = "DEFERRED_REPORT",
    }
}

open_enum! {
    /// Why usage is reported (TS 32.291, 6.1.6.3).
    pub enum TriggerType {
        QuotaThreshold = "QUOTA_THRESHOLD",
        Final = "FINAL",
        QuotaExhausted = "QUOTA_EXHAUSTED",
        ValidityTime = "VALIDITY_TIME",
        ForcedReauthorisation = "FORCED_REAUTHORISATION",
        AbnormalRelease = "ABNORMAL_RELEASE",
        VolumeLimit = "VOLUME_LIMIT",
        TimeLimit = "TIME_LIMIT",
        SessionAmbrChange = "SESSION_AMBR_CHANGE",
        RemovalOfUpf = "REMOVAL_OF_UPF",
    }
}

open_enum! {
    /// The action when the units of a service are used up (TS 32.291, 6.1.6.3).
    pub enum FinalUnitAction {
        Terminate = "TERMINATE",
        Redirect = "REDIRECT",
        RestrictAccess = "RESTRICT_ACCESS",
    }
}

open_enum! {
    /// Whether units are granted (TS 32.291, 6.1.6.3).
    pub enum ResultCode {
        Success = "SUCCESS",
        EndUserServiceDenied = "END_USER_SERVICE_DENIED",
        QuotaManagementNotApplicable = "QUOTA_MANAGEMENT_NOT_APPLICABLE",
        QuotaLimitReached = "QUOTA_LIMIT_REACHED",
        EndUserServiceRejected = "END_USER_SERVICE_REJECTED",
        RatingFailed = "RATING_FAILED",
    }
}

open_enum! {
    /// How used units relate to quotas (TS 32.291, 6.1.6.3).
    pub enum QuotaManagementIndicator {
        OnlineCharging = "ONLINE_CHARGING",
        OfflineCharging = "OFFLINE_CHARGING",
        QuotaManagementSuspended = "QUOTA_MANAGEMENT_SUSPENDED",
    }
}

open_enum! {
    /// Why a CHF notifies an SMF (TS 32.291, 6.1.6.3).
    pub enum NotificationType {
        Reauthorization = "REAUTHORIZATION",
        AbortCharging = "ABORT_CHARGING",
    }
}

/// The requesting NF (TS 32.291, 6.1.6.2).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
pub struct NfIdentification {
    /// Its instance
    #[serde(rename = "nFName")]
    pub nf_name: Option<NfInstanceId>,
    /// Its network
    #[serde(rename = "nFPLMNID")]
    pub nf_plmn_id: Option<PlmnId>,
    /// Its type
    #[serde(rename = "nodeFunctionality")]
    pub node_functionality: NodeFunctionality,
}

/// A charging request of an SMF (TS 32.291, 6.1.6.2).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ChargingDataRequest {
    /// The subscriber
    pub subscriber_identifier: Option<Supi>,
    /// The requesting NF
    pub nf_consumer_identification: NfIdentification,
    /// When
    pub invocation_time_stamp: DateTime,
    /// Sequence number of the request
    pub invocation_sequence_number: u32,
    /// Notification URI of the consumer
    pub notify_uri: Option<String>,
    /// Usage and requested units
    pub multiple_unit_usage: Option<Vec<MultipleUnitUsage>>,
    /// Why now
    pub triggers: Option<Vec<Trigger>>,
    /// The session
    #[serde(rename = "pDUSessionChargingInformation")]
    pub pdu_session_charging_information: Option<PduSessionChargingInformation>,
}

/// A charging response of a CHF (TS 32.291, 6.1.6.2).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ChargingDataResponse {
    /// When
    pub invocation_time_stamp: DateTime,
    /// That of the request
    pub invocation_sequence_number: u32,
    /// Granted units
    pub multiple_unit_information: Option<Vec<MultipleUnitInformation>>,
    /// When to report
    pub triggers: Option<Vec<Trigger>>,
}

/// A notification of the CHF (TS 32.291, 6.1.6.2).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ChargingNotifyRequest {
    /// Cause
    pub notification_type: NotificationType,
    /// When reauthorization is requested
    pub reauthorization_details: Option<Vec<ReauthorizationDetails>>,
}

/// Details of a requested reauthorization (TS 32.291, 6.1.6.2).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ReauthorizationDetails {
    /// Rating group
    pub rating_group: Option<u32>,
}

/// Usage of a rating group (TS 32.291, 6.1.6.2).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct MultipleUnitUsage {
    /// Rating group
    pub rating_group: u32,
    /// Requested units; if empty, the CHF chooses the amount
    pub requested_unit: Option<RequestedUnit>,
    /// Used units
    pub used_unit_container: Option<Vec<UsedUnitContainer>>,
}

/// Requested units (TS 32.291, 6.1.6.2).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct RequestedUnit {
    /// Octets
    pub total_volume: Option<u64>,
}

/// Used units (TS 32.291, 6.1.6.2).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UsedUnitContainer {
    /// Whether it counts against a quota
    pub quota_management_indicator: Option<QuotaManagementIndicator>,
    /// Why now
    pub triggers: Option<Vec<Trigger>>,
    /// When
    pub trigger_timestamp: Option<DateTime>,
    /// Seconds
    pub time: Option<u32>,
    /// Octets
    pub total_volume: Option<u64>,
    /// Octets from the UE
    pub uplink_volume: Option<u64>,
    /// Octets to the UE
    pub downlink_volume: Option<u64>,
    /// Sequence number of the container
    pub local_sequence_number: u64,
}

/// Granted units of a rating group (TS 32.291, 6.1.6.2).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct MultipleUnitInformation {
    /// Result code
    pub result_code: Option<ResultCode>,
    /// Rating group
    pub rating_group: u32,
    /// Granted units
    pub granted_unit: Option<GrantedUnit>,
    /// When to report
    pub triggers: Option<Vec<Trigger>>,
    /// Seconds after which to request again
    pub validity_time: Option<u32>,
    /// The action when the final units are used up
    pub final_unit_indication: Option<FinalUnitIndication>,
    /// Remaining octets at which to request again
    pub volume_quota_threshold: Option<u64>,
}

/// Granted quota (TS 32.291, 6.1.6.2).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct GrantedUnit {
    /// Seconds
    pub time: Option<u32>,
    /// Octets
    pub total_volume: Option<u64>,
    /// Octets from the UE
    pub uplink_volume: Option<u64>,
    /// Octets to the UE
    pub downlink_volume: Option<u64>,
}

/// The action when the final units are used up (TS 32.291, 6.1.6.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct FinalUnitIndication {
    /// The action
    pub final_unit_action: FinalUnitAction,
}

/// When or why usage is reported (TS 32.291, 6.1.6.2).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Trigger {
    /// Cause
    pub trigger_type: Option<TriggerType>,
    /// At once or later
    pub trigger_category: TriggerCategory,
    /// Octets
    pub volume_limit64: Option<u64>,
}

impl Trigger {
    /// Reported at once.
    pub fn now(kind: TriggerType) -> Self {
        Trigger {
            trigger_type: Some(kind),
            trigger_category: TriggerCategory::ImmediateReport,
            volume_limit64: None,
        }
    }
}

/// The session (TS 32.291, 6.1.6.2).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PduSessionChargingInformation {
    /// Number of the session with the SMF, in decimal digits
    #[serde(rename = "sMFchargingId")]
    pub smf_charging_id: Option<String>,
    /// The user of the session
    pub user_information: Option<UserInformation>,
    /// Location of the UE
    #[serde(rename = "userLocationinfo")]
    pub user_location_info: Option<UserLocation>,
    /// Time zone of the UE
    #[serde(rename = "uetimeZone")]
    pub ue_time_zone: Option<String>,
    /// The session
    pub pdu_session_information: Option<PduSessionInformation>,
}

/// The user of a session (TS 32.291, 6.1.6.2).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
pub struct UserInformation {
    /// Telephone number
    #[serde(rename = "servedGPSI")]
    pub served_gpsi: Option<Gpsi>,
    /// Equipment
    #[serde(rename = "servedPEI")]
    pub served_pei: Option<Pei>,
}

/// A session (TS 32.291, 6.1.6.2).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PduSessionInformation {
    /// Slice
    pub network_slicing_info: Option<NetworkSlicingInfo>,
    /// Identity
    #[serde(rename = "pduSessionID")]
    pub pdu_session_id: PduSessionId,
    /// Type
    pub pdu_type: Option<PduSessionType>,
    /// Session and service continuity mode
    pub ssc_mode: Option<SscMode>,
    /// The function that serves the UE
    #[serde(rename = "servingNetworkFunctionID")]
    pub serving_network_function_id: Option<ServingNetworkFunctionId>,
    /// Radio technology
    pub rat_type: Option<RatType>,
    /// Data network
    pub dnn_id: Dnn,
    /// When it began
    pub start_time: Option<DateTime>,
    /// When it ended
    pub stop_time: Option<DateTime>,
    /// Addresses
    pub pdu_address: Option<PduAddress>,
    /// Session-AMBR
    #[serde(rename = "authorizedSessionAMBR")]
    pub authorized_session_ambr: Option<Ambr>,
    /// Serving network
    #[serde(rename = "servingCNPlmnId")]
    pub serving_cn_plmn_id: Option<PlmnId>,
}

/// The function that serves the UE of a session (TS 32.291, 6.1.6.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ServingNetworkFunctionId {
    /// The function
    pub serving_network_function_information: NfIdentification,
}

/// The slice of a session (TS 32.291, 6.1.6.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
pub struct NetworkSlicingInfo {
    /// The slice
    #[serde(rename = "sNSSAI")]
    pub s_nssai: Snssai,
}

/// Addresses of a session (TS 32.291, 6.1.6.2).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PduAddress {
    /// IPv4
    #[serde(rename = "pduIPv4Address")]
    pub pdu_ipv4_address: Option<Ipv4Addr>,
    /// First address of the IPv6 prefix
    #[serde(rename = "pduIPv6AddresswithPrefix")]
    pub pdu_ipv6_address_with_prefix: Option<Ipv6Addr>,
    /// Its length
    #[serde(rename = "pduAddressprefixlength")]
    pub pdu_address_prefix_length: Option<u8>,
}
