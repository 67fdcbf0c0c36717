//! Namf_Location: where a UE is, by its AMF and an LMF (TS 29.518, 5.5 and 6.4).
use crate::common::{Ncgi, NfInstanceId, Pei, RatType, Supi, UserLocation};
use crate::macros::open_enum;
use crate::nlmf_location::{
    AccuracyFulfilmentIndicator, ExternalClientType, GeographicArea, GnssPositioningMethodAndUsage,
    LocationData, LocationQoS, PositioningMethodAndUsage, SupportedGadShapes,
};
use martlet_sbi::{Compact, json_payload, service};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

json_payload!(RequestLocInfo, ProvideLocInfo, RequestPosInfo, ProvidePosInfo);

open_enum! {
    /// The requested kind of position (TS 29.518, 6.4.6).
    pub enum LocationType {
        CurrentLocation = "CURRENT_LOCATION",
        CurrentOrLastKnownLocation = "CURRENT_OR_LAST_KNOWN_LOCATION",
        NotificationVerificationOnly = "NOTIFICATION_VERIFICATION_ONLY",
        DeferredLocation = "DEFERRED_LOCATION",
    }
}

open_enum! {
    /// What the privacy profile of a subscriber allows (TS 29.571, 5.4.3).
    pub enum LcsServiceAuth {
        AllowedWithNotification = "LOCATION_ALLOWED_WITH_NOTIFICATION",
        AllowedWithoutNotification = "LOCATION_ALLOWED_WITHOUT_NOTIFICATION",
        AllowedWithoutResponse = "LOCATION_ALLOWED_WITHOUT_RESPONSE",
        RestrictedWithoutResponse = "LOCATION_RESTRICTED_WITHOUT_RESPONSE",
        NotificationOnly = "NOTIFICATION_ONLY",
        NotificationAndVerificationOnly = "NOTIFICATION_AND_VERIFICATION_ONLY",
    }
}

/// What the AMF has to do for the privacy of the UE (TS 29.515, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UePrivacyRequirements {
    /// Whether the UE is notified, and verifies the request
    pub lcs_service_auth_info: Option<LcsServiceAuth>,
    /// Whether the UE checks the code word
    pub code_word_check: Option<bool>,
}

/// A request for a UE's location information (TS 29.518, 6.4.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct RequestLocInfo {
    /// Its cell and tracking area
    pub req5gs_loc: Option<bool>,
    /// The current location, not the last known one
    pub req_current_loc: Option<bool>,
    /// Its radio technology
    pub req_rat_type: Option<bool>,
    /// Its time zone
    pub req_time_zone: Option<bool>,
    /// Features of the consumer
    pub supported_features: Option<String>,
}

/// Location of a UE (TS 29.518, 6.4.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ProvideLocInfo {
    /// The RAN node has just reported it
    pub current_loc: Option<bool>,
    /// Cell and tracking area
    pub location: Option<UserLocation>,
    /// Radio technology
    pub rat_type: Option<RatType>,
    /// Time zone
    pub timezone: Option<String>,
    /// Features of the AMF
    pub supported_features: Option<String>,
}

/// A request for a UE's position (TS 29.518, 6.4.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct RequestPosInfo {
    /// The requesting client
    pub lcs_client_type: ExternalClientType,
    /// Which position
    pub lcs_location: LocationType,
    /// The subscriber
    pub supi: Option<Supi>,
    /// Requested quality
    #[serde(rename = "lcsQoS")]
    pub lcs_qos: Option<LocationQoS>,
    /// A shape that is understood
    #[serde(rename = "lcsSupportedGADShapes")]
    pub lcs_supported_gad_shapes: Option<SupportedGadShapes>,
    /// Other shapes that are understood
    #[serde(rename = "additionalLcsSuppGADShapes")]
    pub additional_lcs_supp_gad_shapes: Option<Vec<SupportedGadShapes>>,
    /// The equipment
    pub pei: Option<Pei>,
    /// Privacy of the UE, by the GMLC
    pub ue_privacy_requirements: Option<UePrivacyRequirements>,
    /// Seconds that the response may take
    pub max_resp_time: Option<u32>,
    /// Features of the consumer
    pub supported_features: Option<String>,
}

impl RequestPosInfo {
    /// A value with the mandatory members only.
    pub fn new(lcs_client_type: ExternalClientType, lcs_location: LocationType) -> Self {
        RequestPosInfo {
            lcs_client_type,
            lcs_location,
            supi: None,
            lcs_qos: None,
            lcs_supported_gad_shapes: None,
            additional_lcs_supp_gad_shapes: None,
            pei: None,
            ue_privacy_requirements: None,
            max_resp_time: None,
            supported_features: None,
        }
    }
}

/// A UE's position (TS 29.518, 6.4.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ProvidePosInfo {
    /// Estimated location
    pub location_estimate: Option<GeographicArea>,
    /// Whether the requested accuracy is met
    pub accuracy_fulfilment_indicator: Option<AccuracyFulfilmentIndicator>,
    /// Minutes since it was there
    pub age_of_location_estimate: Option<u16>,
    /// Positioning methods used
    pub positioning_data_list: Option<Vec<PositioningMethodAndUsage>>,
    /// GNSS that were used
    pub gnss_positioning_data_list: Option<Vec<GnssPositioningMethodAndUsage>>,
    /// The cell
    pub ncgi: Option<Ncgi>,
    /// The AMF
    pub target_serving_node: Option<NfInstanceId>,
    /// Metres above the ellipsoid
    pub altitude: Option<f64>,
    /// The LMF
    #[serde(rename = "servingLMFIdentification")]
    pub serving_lmf_identification: Option<String>,
}

impl From<LocationData> for ProvidePosInfo {
    fn from(data: LocationData) -> Self {
        ProvidePosInfo {
            location_estimate: Some(data.location_estimate),
            accuracy_fulfilment_indicator: data.accuracy_fulfilment_indicator,
            age_of_location_estimate: data.age_of_location_estimate,
            positioning_data_list: data.positioning_data_list,
            gnss_positioning_data_list: data.gnss_positioning_data_list,
            ncgi: data.ncgi,
            target_serving_node: None,
            altitude: data.altitude,
            serving_lmf_identification: data.serving_lmf_identification,
        }
    }
}

service! {
    /// Positions of UEs, by their AMF (TS 29.518, 6.4.3).
    pub AmfLocation / AmfLocationClient / NAMF_LOC = "namf-loc" / "v1" {
        /// Returns the location of a UE that the network knows.
        op provide_location_info "ProvideLocationInfo": POST "/{ueContextId}/provide-loc-info",
            path(ue_context_id), body(RequestLocInfo), returns(ProvideLocInfo),
            errors[403 "UNSPECIFIED", 404 "CONTEXT_NOT_FOUND"];
        /// Has an LMF determine where a UE is.
        op provide_positioning_info "ProvidePositioningInfo":
            POST "/{ueContextId}/provide-pos-info",
            path(ue_context_id), body(RequestPosInfo), returns(ProvidePosInfo),
            errors[
                403 "USER_UNKNOWN", 403 "DETACHED_USER", 403 "POSITIONING_DENIED",
                403 "UNSPECIFIED",
                500 "POSITIONING_FAILED", 504 "UNREACHABLE_USER", 504 "PEER_NOT_RESPONDING",
            ];
    }
}
