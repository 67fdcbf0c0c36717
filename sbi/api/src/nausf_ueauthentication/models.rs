//! Data of the AUSF's authentication service (TS 29.509, 6.1.6.2).
use crate::common::{Base64, Links, Pei, Supi, SupiOrSuci, TraceData};
use crate::macros::closed_enum;
use crate::macros::open_enum;
use crate::nausf_ueauthentication::{AuthData, HxresStar, Kseaf, ResStar};
use crate::nudm_ueau::{Autn, Rand, ResynchronizationInfo};
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::collections::BTreeMap;

open_enum! {
    /// Authentication method (TS 29.509, 6.1.6).
    pub enum AuthType {
        FiveGAka = "5G_AKA",
        EapAkaPrime = "EAP_AKA_PRIME",
        EapTls = "EAP_TLS",
        EapTtls = "EAP_TTLS",
    }
}

closed_enum! {
    /// Outcome of an authentication (TS 29.509, 6.1.6).
    pub enum AuthResult {
        AuthenticationSuccess = "AUTHENTICATION_SUCCESS",
        AuthenticationFailure = "AUTHENTICATION_FAILURE",
        AuthenticationOngoing = "AUTHENTICATION_ONGOING",
    }
}

/// A request for an authentication (TS 29.509, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationInfo {
    /// The subscriber
    pub supi_or_suci: SupiOrSuci,
    /// Serving network, `5G:mnc001.mcc001.3gppnetwork.org`
    pub serving_network_name: String,
    /// The USIM's resynchronisation data
    pub resynchronization_info: Option<ResynchronizationInfo>,
    /// The equipment
    pub pei: Option<Pei>,
    /// Trace data
    pub trace_data: Option<TraceData>,
    /// Group of the UDM
    pub udm_group_id: Option<String>,
    /// Routing indicator of the SUCI
    pub routing_indicator: Option<String>,
    /// CAGs of the cell
    pub cell_cag_info: Option<Vec<String>>,
    /// The device is behind a residential gateway
    pub n5gc_ind: Option<bool>,
    /// Features of the consumer
    pub supported_features: Option<String>,
}

impl AuthenticationInfo {
    /// A value with the mandatory members only.
    pub fn new(supi_or_suci: SupiOrSuci, serving_network_name: String) -> Self {
        AuthenticationInfo {
            supi_or_suci,
            serving_network_name,
            resynchronization_info: None,
            pei: None,
            trace_data: None,
            udm_group_id: None,
            routing_indicator: None,
            cell_cag_info: None,
            n5gc_ind: None,
            supported_features: None,
        }
    }
}

/// An authentication that has begun (TS 29.509, 6.1.6, `UEAuthenticationCtx`).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UeAuthenticationCtx {
    /// Method
    pub auth_type: AuthType,
    /// The challenge
    #[serde(rename = "5gAuthData")]
    pub five_g_auth_data: AuthData,
    /// Where the UE's response is sent: `5g-aka` or `eap-session`
    #[serde(rename = "_links")]
    pub links: BTreeMap<String, Links>,
    /// Serving network
    pub serving_network_name: Option<String>,
}

impl UeAuthenticationCtx {
    /// A value with the mandatory members only.
    pub fn new(
        auth_type: AuthType,
        five_g_auth_data: AuthData,
        links: BTreeMap<String, Links>,
    ) -> Self {
        UeAuthenticationCtx { auth_type, five_g_auth_data, links, serving_network_name: None }
    }
}

/// A 5G-AKA challenge (TS 29.509, 6.1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Av5gAka {
    /// RAND
    pub rand: Rand,
    /// HXRES*
    pub hxres_star: HxresStar,
    /// AUTN
    pub autn: Autn,
}

/// A UE's response to a 5G-AKA challenge (TS 29.509, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationData {
    /// RES*; absent where the UE sent none
    #[serialize_always]
    pub res_star: Option<ResStar>,
    /// Features of the consumer
    pub supported_features: Option<String>,
}

/// The result of a UE's response (TS 29.509, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationDataResponse {
    /// Outcome
    pub auth_result: AuthResult,
    /// The subscriber
    pub supi: Option<Supi>,
    /// K_SEAF
    pub kseaf: Option<Kseaf>,
}

impl ConfirmationDataResponse {
    /// A value with the mandatory members only.
    pub fn new(auth_result: AuthResult) -> Self {
        ConfirmationDataResponse { auth_result, supi: None, kseaf: None }
    }
}

/// One step of an EAP authentication (TS 29.509, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct EapSession {
    /// EAP packet
    #[serialize_always]
    pub eap_payload: Option<Base64>,
    /// K_SEAF
    pub k_seaf: Option<Kseaf>,
    /// URI of the next step
    #[serde(rename = "_links")]
    pub links: Option<BTreeMap<String, Links>>,
    /// Outcome
    pub auth_result: Option<AuthResult>,
    /// The subscriber
    pub supi: Option<Supi>,
    /// Features of the consumer
    pub supported_features: Option<String>,
}
