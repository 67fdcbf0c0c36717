//! The choice of slices (TS 29.531, 6.1.6.2).
use crate::common::{AccessType, NfInstanceId, Snssai};
use crate::macros::open_enum;
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

open_enum! {
    /// Whether and how a session roams (TS 29.531, 6.1.6).
    pub enum RoamingIndication {
        NonRoaming = "NON_ROAMING",
        LocalBreakout = "LOCAL_BREAKOUT",
        HomeRoutedRoaming = "HOME_ROUTED_ROAMING",
    }
}

/// The slices that a UE may use, and which AMFs serve them (TS 29.531, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AuthorizedNetworkSliceInfo {
    /// Allowed slices by access
    pub allowed_nssai_list: Option<Vec<AllowedNssai>>,
    /// Slices that the UE is configured with
    pub configured_nssai: Option<Vec<ConfiguredSnssai>>,
    /// Set of AMFs that serve the slices, such as `001-01-ca-3f8`
    pub target_amf_set: Option<String>,
    /// AMFs that serve the slices
    pub candidate_amf_list: Option<Vec<NfInstanceId>>,
    /// Slices refused in the network
    pub rejected_nssai_in_plmn: Option<Vec<Snssai>>,
    /// Slices refused in the tracking area
    pub rejected_nssai_in_ta: Option<Vec<Snssai>>,
    /// Slice instance for a session
    pub nsi_information: Option<NsiInformation>,
    /// Features of the NSSF
    pub supported_features: Option<String>,
    /// NRF with the AMFs of the set
    pub nrf_amf_set: Option<String>,
    /// Target slices
    pub target_nssai: Option<Vec<Snssai>>,
}

/// Allowed slices of an access (TS 29.531, 6.1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AllowedNssai {
    /// The slices
    pub allowed_snssai_list: Vec<AllowedSnssai>,
    /// The access
    pub access_type: AccessType,
}

/// An allowed slice (TS 29.531, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AllowedSnssai {
    /// The slice
    pub allowed_snssai: Snssai,
    /// Instances of the slice
    pub nsi_information_list: Option<Vec<NsiInformation>>,
    /// Slice of the home network
    pub mapped_home_snssai: Option<Snssai>,
}

impl AllowedSnssai {
    /// A value with the mandatory members only.
    pub fn new(allowed_snssai: Snssai) -> Self {
        AllowedSnssai { allowed_snssai, nsi_information_list: None, mapped_home_snssai: None }
    }
}

/// A slice that a UE is configured with (TS 29.531, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct ConfiguredSnssai {
    /// The slice
    pub configured_snssai: Snssai,
    /// Slice of the home network
    pub mapped_home_snssai: Option<Snssai>,
}

impl ConfiguredSnssai {
    /// A value with the mandatory members only.
    pub fn new(configured_snssai: Snssai) -> Self {
        ConfiguredSnssai { configured_snssai, mapped_home_snssai: None }
    }
}

/// An instance of a slice (TS 29.531, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NsiInformation {
    /// NRF of the instance
    pub nrf_id: String,
    /// Identity of the instance
    pub nsi_id: Option<String>,
    /// NF management of that NRF
    pub nrf_nf_mgt_uri: Option<String>,
}

/// A slice with its mapping to the home network (TS 29.531, 6.1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct MappingOfSnssai {
    /// In the serving network
    pub serving_snssai: Snssai,
    /// In the home network
    pub home_snssai: Snssai,
}

/// A subscribed slice (TS 29.531, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SubscribedSnssai {
    /// The slice
    pub subscribed_snssai: Snssai,
    /// It is a default slice
    pub default_indication: Option<bool>,
}

impl SubscribedSnssai {
    /// A value with the mandatory members only.
    pub fn new(subscribed_snssai: Snssai) -> Self {
        SubscribedSnssai { subscribed_snssai, default_indication: None }
    }
}

/// Slice selection input for a registration (TS 29.531, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SliceInfoForRegistration {
    /// Subscribed slices
    pub subscribed_nssai: Option<Vec<SubscribedSnssai>>,
    /// Allowed slices of this access
    pub allowed_nssai_current_access: Option<AllowedNssai>,
    /// Allowed slices of the other access
    pub allowed_nssai_other_access: Option<AllowedNssai>,
    /// Slices of the home network that are to be mapped
    pub s_nssai_for_mapping: Option<Vec<Snssai>>,
    /// Slices that the UE requests
    pub requested_nssai: Option<Vec<Snssai>>,
    /// The UE requests the default configured slices
    pub default_configured_snssai_ind: Option<bool>,
    /// Mapping of the requested slices
    pub mapping_of_nssai: Option<Vec<MappingOfSnssai>>,
    /// Only the mapping is requested
    pub request_mapping: Option<bool>,
}

/// Slice selection input for a session (TS 29.531, 6.1.6, `SliceInfoForPDUSession`).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SliceInfoForPduSession {
    /// The slice
    pub s_nssai: Snssai,
    /// Whether and how the session roams
    pub roaming_indication: RoamingIndication,
    /// Slice of the home network
    pub home_snssai: Option<Snssai>,
}

impl SliceInfoForPduSession {
    /// A value with the mandatory members only.
    pub fn new(s_nssai: Snssai, roaming_indication: RoamingIndication) -> Self {
        SliceInfoForPduSession { s_nssai, roaming_indication, home_snssai: None }
    }
}

/// Slice selection input for a configuration update (TS 29.531, 6.1.6,
/// `SliceInfoForUEConfigurationUpdate`).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SliceInfoForUeConfigurationUpdate {
    /// Subscribed slices
    pub subscribed_nssai: Option<Vec<SubscribedSnssai>>,
    /// Allowed slices of this access
    pub allowed_nssai_current_access: Option<AllowedNssai>,
    /// Allowed slices of the other access
    pub allowed_nssai_other_access: Option<AllowedNssai>,
    /// The UE requested the default configured slices
    pub default_configured_snssai_ind: Option<bool>,
    /// Slices that the UE requested
    pub requested_nssai: Option<Vec<Snssai>>,
    /// Mapping of the requested slices
    pub mapping_of_nssai: Option<Vec<MappingOfSnssai>>,
}
