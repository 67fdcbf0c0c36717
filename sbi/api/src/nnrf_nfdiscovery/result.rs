//! The result of a discovery (TS 29.510, 6.2.6.2).
use crate::nnrf_nfmanagement::NfProfile;
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// NF instances that match a query (TS 29.510, 6.2.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SearchResult {
    /// Seconds for which the consumer may keep the result
    pub validity_period: u32,
    /// The instances
    #[serde(deserialize_with = "martlet_sbi::tolerant::null_is_empty")]
    pub nf_instances: Vec<NfProfile>,
    /// Identity of a stored result
    pub search_id: Option<String>,
    /// Number of matching instances if the list is incomplete
    pub num_nf_inst_complete: Option<u32>,
    /// Features of the NRF
    pub nrf_supported_features: Option<String>,
}
