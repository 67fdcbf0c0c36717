//! Data of the UDM's authentication service (TS 29.503, 6.3.6.2).
use crate::common::{DateTime, NfInstanceId, Supi};
use crate::macros::open_enum;
use crate::nudm_ueau::{AuthenticationVector, Autn, Auts, CkPrime, IkPrime, Kausf, Rand, XresStar};
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

open_enum! {
    /// Authentication method (TS 29.503, 6.3.6).
    pub enum AuthType {
        FiveGAka = "5G_AKA",
        EapAkaPrime = "EAP_AKA_PRIME",
        EapTls = "EAP_TLS",
        None = "NONE",
        EapTtls = "EAP_TTLS",
    }
}

/// A request of an AUSF (TS 29.503, 6.3.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationInfoRequest {
    /// Features of the AUSF
    pub supported_features: Option<String>,
    /// Serving network, `5G:mnc001.mcc001.3gppnetwork.org`
    pub serving_network_name: String,
    /// The USIM's resynchronisation data
    pub resynchronization_info: Option<ResynchronizationInfo>,
    /// The AUSF
    pub ausf_instance_id: NfInstanceId,
    /// CAGs of the cell
    pub cell_cag_info: Option<Vec<String>>,
    /// The device is behind a residential gateway
    pub n5gc_ind: Option<bool>,
    /// The UE roams because of a disaster
    pub disaster_roaming_ind: Option<bool>,
}

impl AuthenticationInfoRequest {
    /// A value with the mandatory members only.
    pub fn new(serving_network_name: String, ausf_instance_id: NfInstanceId) -> Self {
        AuthenticationInfoRequest {
            serving_network_name,
            ausf_instance_id,
            supported_features: None,
            resynchronization_info: None,
            cell_cag_info: None,
            n5gc_ind: None,
            disaster_roaming_ind: None,
        }
    }
}

/// The USIM's resynchronisation data (TS 29.503, 6.3.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ResynchronizationInfo {
    /// RAND of the challenge that it refused
    pub rand: Rand,
    /// AUTS
    pub auts: Auts,
}

/// How to authenticate a subscriber (TS 29.503, 6.3.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationInfoResult {
    /// The method
    pub auth_type: AuthType,
    /// Features of the UDM
    pub supported_features: Option<String>,
    /// The vector
    pub authentication_vector: Option<AuthenticationVector>,
    /// The SUPI, where the question named a SUCI
    pub supi: Option<Supi>,
    /// AKMA keys are to be derived
    pub akma_ind: Option<bool>,
    /// The primary authentication is with an external server
    pub auth_aaa: Option<bool>,
    /// Routing indicator for AKMA
    pub routing_id: Option<String>,
}

impl AuthenticationInfoResult {
    /// A value with the mandatory members only.
    pub fn new(auth_type: AuthType) -> Self {
        AuthenticationInfoResult {
            auth_type,
            supported_features: None,
            authentication_vector: None,
            supi: None,
            akma_ind: None,
            auth_aaa: None,
            routing_id: None,
        }
    }
}

/// Vector of the home environment for 5G-AKA (TS 29.503, 6.3.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Av5GHeAka {
    /// RAND
    pub rand: Rand,
    /// XRES*
    pub xres_star: XresStar,
    /// AUTN
    pub autn: Autn,
    /// K_AUSF
    pub kausf: Kausf,
}

/// Vector for EAP-AKA' (TS 29.503, 6.3.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AvEapAkaPrime {
    /// RAND
    pub rand: Rand,
    /// XRES in hexadecimal digits
    pub xres: String,
    /// AUTN
    pub autn: Autn,
    /// CK'
    pub ck_prime: CkPrime,
    /// IK'
    pub ik_prime: IkPrime,
}

/// An authentication's outcome (TS 29.503, 6.3.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AuthEvent {
    /// The AUSF
    pub nf_instance_id: NfInstanceId,
    /// Whether the subscriber was authenticated
    pub success: bool,
    /// When
    pub time_stamp: DateTime,
    /// Method
    pub auth_type: AuthType,
    /// Serving network
    pub serving_network_name: String,
    /// The outcome is to be forgotten
    pub auth_removal_ind: Option<bool>,
    /// Set of the AUSF
    pub nf_set_id: Option<String>,
}

impl AuthEvent {
    /// A value with the mandatory members only.
    pub fn new(
        nf_instance_id: NfInstanceId,
        success: bool,
        time_stamp: DateTime,
        auth_type: AuthType,
        serving_network_name: String,
    ) -> Self {
        AuthEvent {
            nf_instance_id,
            success,
            time_stamp,
            auth_type,
            serving_network_name,
            auth_removal_ind: None,
            nf_set_id: None,
        }
    }
}
