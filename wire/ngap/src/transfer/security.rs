//! User plane security of a session (TS 38.413, 9.3.1.27, 9.3.1.59, 9.3.1.60).

use oxirush_ngap::ngap::{
    ConfidentialityProtectionIndication, ConfidentialityProtectionResult,
    IntegrityProtectionIndication, IntegrityProtectionResult, MaximumIntegrityProtectedDataRate,
    SecurityIndication, SecurityResult,
};

/// The SMF's requirement on a protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Required: without it, the session is rejected.
    Required,
    /// Preferred: used where the RAN supports it.
    Preferred,
    /// Not needed: not used.
    NotNeeded,
}

/// The Security Indication: the SMF's requirements on the user plane between UE and gNB (TS 38.413,
/// 9.3.1.27).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserPlaneSecurity {
    /// Integrity protection.
    pub integrity: Protection,
    /// Ciphering.
    pub confidentiality: Protection,
    /// Whether integrity protection at the full rate of the UE is possible for uplink (else 64
    /// kbit/s). Sent when integrity is required or preferred.
    pub full_rate_integrity: bool,
}

impl UserPlaneSecurity {
    pub(super) fn to_asn(self) -> SecurityIndication {
        let rate = if self.full_rate_integrity {
            MaximumIntegrityProtectedDataRate::maximum_UE_rate
        } else {
            MaximumIntegrityProtectedDataRate::bitrate64kbs
        };
        SecurityIndication::new(
            match self.integrity {
                Protection::Required => IntegrityProtectionIndication::required,
                Protection::Preferred => IntegrityProtectionIndication::preferred,
                Protection::NotNeeded => IntegrityProtectionIndication::not_needed,
            },
            match self.confidentiality {
                Protection::Required => ConfidentialityProtectionIndication::required,
                Protection::Preferred => ConfidentialityProtectionIndication::preferred,
                Protection::NotNeeded => ConfidentialityProtectionIndication::not_needed,
            },
            (self.integrity != Protection::NotNeeded).then_some(rate),
            None,
        )
    }

    pub(super) fn from_asn(indication: &SecurityIndication) -> Self {
        let integrity = match indication.integrity_protection_indication {
            IntegrityProtectionIndication::required => Protection::Required,
            IntegrityProtectionIndication::preferred => Protection::Preferred,
            _ => Protection::NotNeeded,
        };
        let rate = indication.maximum_integrity_protected_data_rate_ul;
        Self {
            integrity,
            confidentiality: match indication.confidentiality_protection_indication {
                ConfidentialityProtectionIndication::required => Protection::Required,
                ConfidentialityProtectionIndication::preferred => Protection::Preferred,
                _ => Protection::NotNeeded,
            },
            // Where integrity is not needed, the rate has no meaning.
            full_rate_integrity: integrity != Protection::NotNeeded
                && rate == Some(MaximumIntegrityProtectedDataRate::maximum_UE_rate),
        }
    }
}

/// The Security Result: whether the RAN fulfilled a preference (TS 38.413, 9.3.1.59).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecurityOutcome {
    /// Whether the user plane is integrity protected.
    pub integrity: bool,
    /// Whether the user plane is ciphered.
    pub confidentiality: bool,
}

impl SecurityOutcome {
    pub(super) fn to_asn(self) -> SecurityResult {
        SecurityResult::new(
            if self.integrity {
                IntegrityProtectionResult::performed
            } else {
                IntegrityProtectionResult::not_performed
            },
            if self.confidentiality {
                ConfidentialityProtectionResult::performed
            } else {
                ConfidentialityProtectionResult::not_performed
            },
            None,
        )
    }

    pub(super) fn from_asn(result: &SecurityResult) -> Self {
        Self {
            integrity: result.integrity_protection_result == IntegrityProtectionResult::performed,
            confidentiality: result.confidentiality_protection_result
                == ConfidentialityProtectionResult::performed,
        }
    }
}
