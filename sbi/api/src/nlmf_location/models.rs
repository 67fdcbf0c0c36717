//! Data of the LMF's location service (TS 29.572, 6.1.6).
use crate::common::{DateTime, Gpsi, Ncgi, NfInstanceId, Pei, RefToBinaryData, Supi};
use crate::macros::open_enum;
use crate::nlmf_location::{GeographicArea, SupportedGadShapes};
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

open_enum! {
    /// The type of the requesting client (TS 29.572, 6.1.6).
    pub enum ExternalClientType {
        EmergencyServices = "EMERGENCY_SERVICES",
        ValueAddedServices = "VALUE_ADDED_SERVICES",
        PlmnOperatorServices = "PLMN_OPERATOR_SERVICES",
        LawfulInterceptServices = "LAWFUL_INTERCEPT_SERVICES",
        PlmnOperatorBroadcastServices = "PLMN_OPERATOR_BROADCAST_SERVICES",
        PlmnOperatorOm = "PLMN_OPERATOR_OM",
        PlmnOperatorAnonymousStatistics = "PLMN_OPERATOR_ANONYMOUS_STATISTICS",
        PlmnOperatorTargetMsServiceSupport = "PLMN_OPERATOR_TARGET_MS_SERVICE_SUPPORT",
    }
}

open_enum! {
    /// Response time class (TS 29.572, 6.1.6).
    pub enum ResponseTime {
        LowDelay = "LOW_DELAY",
        DelayTolerant = "DELAY_TOLERANT",
        NoDelay = "NO_DELAY",
    }
}

open_enum! {
    /// Whether the requested accuracy was reached (TS 29.572, 6.1.6).
    pub enum AccuracyFulfilmentIndicator {
        RequestedAccuracyFulfilled = "REQUESTED_ACCURACY_FULFILLED",
        RequestedAccuracyNotFulfilled = "REQUESTED_ACCURACY_NOT_FULFILLED",
    }
}

open_enum! {
    /// Positioning method (TS 29.572, 6.1.6).
    pub enum PositioningMethod {
        Cellid = "CELLID",
        Ecid = "ECID",
        Otdoa = "OTDOA",
        DlTdoa = "DL_TDOA",
        DlAod = "DL_AOD",
        MultiRtt = "MULTI-RTT",
        NrEcid = "NR_ECID",
        UlTdoa = "UL_TDOA",
        UlAoa = "UL_AOA",
        NetworkSpecific = "NETWORK_SPECIFIC",
    }
}

open_enum! {
    /// A satellite system (TS 29.572, 6.1.6).
    pub enum GnssId {
        Gps = "GPS",
        Galileo = "GALILEO",
        Sbas = "SBAS",
        ModernizedGps = "MODERNIZED_GPS",
        Qzss = "QZSS",
        Glonass = "GLONASS",
        Bds = "BDS",
        Navic = "NAVIC",
    }
}

open_enum! {
    /// Positioning mode: which side computes and which measures (TS 29.572, 6.1.6).
    pub enum PositioningMode {
        UeBased = "UE_BASED",
        UeAssisted = "UE_ASSISTED",
        Conventional = "CONVENTIONAL",
    }
}

open_enum! {
    /// Usage of a method's measurements (TS 29.572, 6.1.6).
    pub enum Usage {
        Unsuccess = "UNSUCCESS",
        SuccessResultsNotUsed = "SUCCESS_RESULTS_NOT_USED",
        SuccessResultsUsedToVerifyLocation = "SUCCESS_RESULTS_USED_TO_VERIFY_LOCATION",
        SuccessResultsUsedToGenerateLocation = "SUCCESS_RESULTS_USED_TO_GENERATE_LOCATION",
        SuccessMethodNotDetermined = "SUCCESS_METHOD_NOT_DETERMINED",
    }
}

open_enum! {
    /// How positioning over the user plane runs (TS 29.572, 6.1.6).
    pub enum UeUpPositioningCapabilities {
        LcsUpp = "LCS-UPP",
        Supl = "SUPL",
    }
}

open_enum! {
    /// Requested operation on a UE's user plane connection (TS 29.572, 6.1.6).
    pub enum LcsUpConnectionInd {
        Setup = "SETUP",
        Termination = "TERMINATION",
    }
}

open_enum! {
    /// Whether a location that misses the requested quality is returned (TS 29.572, 6.1.6).
    pub enum LcsQosClass {
        BestEffort = "BEST_EFFORT",
        Assured = "ASSURED",
        MultipleQos = "MULTIPLE_QOS",
    }
}

/// Requested quality of service (TS 29.572, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct LocationQoS {
    /// Metres, horizontally
    pub h_accuracy: Option<f64>,
    /// Metres, vertically
    pub v_accuracy: Option<f64>,
    /// Whether the altitude is requested
    pub vertical_requested: Option<bool>,
    /// Response time class
    pub response_time: Option<ResponseTime>,
    /// What happens to a location of less quality
    pub lcs_qos_class: Option<LcsQosClass>,
}

/// A positioning method other than GNSS, and its usage (TS 29.572, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UeLcsCapability {
    /// LPP over NAS; absent: yes
    pub lpp_support: Option<bool>,
    /// CIoT optimisation; absent: no
    pub ciot_optimisation: Option<bool>,
}

/// A request for a UE's position (TS 29.572, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct InputData {
    /// The requesting client
    pub external_client_type: Option<ExternalClientType>,
    /// Correlates the messages of the request
    #[serde(rename = "correlationID")]
    pub correlation_id: Option<String>,
    /// The AMF
    pub amf_id: Option<NfInstanceId>,
    /// Requested quality
    #[serde(rename = "locationQoS")]
    pub location_qos: Option<LocationQoS>,
    /// Shapes that are understood
    #[serde(rename = "supportedGADShapes")]
    pub supported_gad_shapes: Option<Vec<SupportedGadShapes>>,
    /// The subscriber
    pub supi: Option<Supi>,
    /// The equipment
    pub pei: Option<Pei>,
    /// The subscriber's public identity
    pub gpsi: Option<Gpsi>,
    /// The cell
    pub ncgi: Option<Ncgi>,
    /// Positioning capabilities of the UE
    pub ue_lcs_cap: Option<UeLcsCapability>,
    /// An LPP message of the UE
    pub lpp_message: Option<RefToBinaryData>,
    /// Features of the consumer
    pub supported_features: Option<String>,
    /// `ProvideCapabilities-r9-IEs` of the UE, base64
    pub ue_positioning_cap: Option<String>,
    /// Seconds that the response may take
    pub max_resp_time: Option<u32>,
    /// User plane positioning capabilities of the UE
    pub ue_up_pos_caps: Option<Vec<UeUpPositioningCapabilities>>,
}

/// How a method was used (TS 29.572, 6.1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct PositioningMethodAndUsage {
    /// Method
    pub method: PositioningMethod,
    /// Mode
    pub mode: PositioningMode,
    /// Usage
    pub usage: Usage,
}

/// How a satellite system was used (TS 29.572, 6.1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct GnssPositioningMethodAndUsage {
    /// Mode
    pub mode: PositioningMode,
    /// System
    pub gnss: GnssId,
    /// Usage
    pub usage: Usage,
}

/// Location of the UE (TS 29.572, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct LocationData {
    /// Estimated location
    pub location_estimate: GeographicArea,
    /// Whether the requested accuracy is met
    pub accuracy_fulfilment_indicator: Option<AccuracyFulfilmentIndicator>,
    /// Minutes since it was there
    pub age_of_location_estimate: Option<u16>,
    /// When it was there
    pub timestamp_of_location_estimate: Option<DateTime>,
    /// Positioning methods used
    pub positioning_data_list: Option<Vec<PositioningMethodAndUsage>>,
    /// GNSS that were used
    pub gnss_positioning_data_list: Option<Vec<GnssPositioningMethodAndUsage>>,
    /// The cell
    pub ncgi: Option<Ncgi>,
    /// Metres above the ellipsoid
    pub altitude: Option<f64>,
    /// Features of the LMF
    pub supported_features: Option<String>,
    /// The LMF
    #[serde(rename = "servingLMFIdentification")]
    pub serving_lmf_identification: Option<String>,
    /// `ProvideCapabilities-r9-IEs` of the UE, base64
    pub ue_positioning_cap: Option<String>,
}

impl LocationData {
    /// A value with the mandatory members only.
    pub fn new(location_estimate: GeographicArea) -> Self {
        LocationData {
            location_estimate,
            accuracy_fulfilment_indicator: None,
            age_of_location_estimate: None,
            timestamp_of_location_estimate: None,
            positioning_data_list: None,
            gnss_positioning_data_list: None,
            ncgi: None,
            altitude: None,
            supported_features: None,
            serving_lmf_identification: None,
            ue_positioning_cap: None,
        }
    }
}

/// A notification about a UE's user plane connection (TS 29.572, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UpConfig {
    /// The subscriber
    pub supi: Option<Supi>,
    /// The subscriber's public identity
    pub gpsi: Option<Gpsi>,
    /// The operation
    pub lcs_up_connection_ind: Option<LcsUpConnectionInd>,
    /// The new LMF
    #[serde(rename = "targetLMFIdentification")]
    pub target_lmf_identification: Option<String>,
    /// The AMF changes
    pub amf_reallocation_ind: Option<bool>,
    /// Callback URI for the state of the connection
    #[serde(rename = "upNotifyCallBackURI")]
    pub up_notify_call_back_uri: String,
}

impl UpConfig {
    /// A value with the mandatory members only.
    pub fn new(up_notify_call_back_uri: String) -> Self {
        UpConfig {
            up_notify_call_back_uri,
            supi: None,
            gpsi: None,
            lcs_up_connection_ind: None,
            target_lmf_identification: None,
            amf_reallocation_ind: None,
        }
    }
}
