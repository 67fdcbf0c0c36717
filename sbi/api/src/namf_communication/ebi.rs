//! EPS bearer identities (TS 29.518, 6.1.6).
use crate::common::{Arp, Guami, PduSessionId};
use crate::nsmf_pdusession::EbiArpMapping;
use martlet_sbi::{Compact, ProblemDetails};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Request of an SMF for EPS bearer identities (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AssignEbiData {
    /// The session
    pub pdu_session_id: PduSessionId,
    /// Priority of each bearer
    pub arp_list: Option<Vec<Arp>>,
    /// Bearers that are released
    pub released_ebi_list: Option<Vec<u8>>,
    /// GUAMI of the AMF that the SMF knows
    pub old_guami: Option<Guami>,
    /// Bearers whose priority changes
    pub modified_ebi_list: Option<Vec<EbiArpMapping>>,
}

/// EPS bearers that an SMF got (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AssignedEbiData {
    /// The session
    pub pdu_session_id: PduSessionId,
    /// The bearers
    pub assigned_ebi_list: Vec<EbiArpMapping>,
    /// Assignments that failed
    pub failed_arp_list: Option<Vec<Arp>>,
    /// Bearers that were released
    pub released_ebi_list: Option<Vec<u8>>,
}

/// EPS bearers that an SMF did not get (TS 29.518, 6.1.6).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AssignEbiFailed {
    /// The session
    pub pdu_session_id: PduSessionId,
    /// Assignments that failed
    pub failed_arp_list: Option<Vec<Arp>>,
}

/// Why an SMF did not get EPS bearers (TS 29.518, 6.1.6).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct AssignEbiError {
    /// Details
    pub error: ProblemDetails,
    /// Assignments that failed
    pub failure_details: AssignEbiFailed,
}
