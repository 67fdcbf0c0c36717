//! The security policy of a session's user plane (TS 33.501, 6.6.1; TS 23.501, 5.10.3): the
//! subscription's, else the data network's. The gNB carries it out, and says what it could not.
use crate::metrics;
use crate::session::Session;
use martlet_nas::NasPduSessionEstablishmentRequest;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use martlet_ngap::transfer::{Protection, SecurityOutcome, UserPlaneSecurity};
use martlet_sbi_api::common::{UpConfidentiality, UpIntegrity, UpSecurity};
use martlet_store::{UpProtection, UpSecurityPolicy};
use serde::{Deserialize, Serialize};

/// What is asked for a session's user plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpPolicy {
    policy: UpSecurityPolicy,
    /// The UE protects the integrity of all that it can send, and not of 64 kbit/s alone (TS
    /// 24.501, 9.11.4.7).
    full_rate: bool,
}

/// The octet for the full rate.
const FULL_RATE: u8 = 0xff;

impl UpPolicy {
    /// The subscription's word goes before the data network's (TS 33.515, 4.2.2.1.1).
    pub fn choose(
        subscribed: Option<&UpSecurity>,
        of_network: Option<UpSecurityPolicy>,
        request: &NasPduSessionEstablishmentRequest,
    ) -> Option<Self> {
        let policy = subscribed.map(read).or(of_network)?;
        let [uplink, _] = request.integrity_protection_maximum_data_rate.value.to_be_bytes();
        Some(UpPolicy { policy, full_rate: uplink == FULL_RATE })
    }

    /// For gNBs.
    pub fn to_ngap(self) -> UserPlaneSecurity {
        let of = |protection| match protection {
            UpProtection::Required => Protection::Required,
            UpProtection::Preferred => Protection::Preferred,
            UpProtection::NotNeeded => Protection::NotNeeded,
        };
        let integrity = of(self.policy.integrity);
        UserPlaneSecurity {
            integrity,
            confidentiality: of(self.policy.ciphering),
            full_rate_integrity: self.full_rate && integrity != Protection::NotNeeded,
        }
    }
}

fn read(subscribed: &UpSecurity) -> UpSecurityPolicy {
    UpSecurityPolicy {
        integrity: match subscribed.up_integr {
            UpIntegrity::Required => UpProtection::Required,
            UpIntegrity::NotNeeded => UpProtection::NotNeeded,
            _ => UpProtection::Preferred,
        },
        ciphering: match subscribed.up_confid {
            UpConfidentiality::Required => UpProtection::Required,
            UpConfidentiality::NotNeeded => UpProtection::NotNeeded,
            _ => UpProtection::Preferred,
        },
    }
}

/// Whether a gNB has refused a session because it cannot protect it as is required.
pub fn cannot_protect(cause: &Cause) -> bool {
    let Cause::radioNetwork(cause) = cause else { return false };
    matches!(
        *cause,
        CauseRadioNetwork::up_integrity_protection_not_possible
            | CauseRadioNetwork::up_confidentiality_protection_not_possible
    )
}

/// A gNB has said what it has made of a preference.
pub fn carried_out(session: &Session, outcome: Option<SecurityOutcome>) {
    let (Some(policy), Some(outcome)) = (session.protection, outcome) else { return };
    let missing = |wanted, done: bool| wanted == Protection::Required && !done;
    let asked = policy.to_ngap();
    if missing(asked.integrity, outcome.integrity)
        || missing(asked.confidentiality, outcome.confidentiality)
    {
        metrics::n4("user plane not protected");
        tracing::warn!(supi = %session.supi, session = session.id, ?asked, ?outcome, "a gNB does not protect what it has to");
    }
}

/// What a gNB is told at a path switch: the policy, where it has another one (TS 33.501, 6.6.1; TS
/// 33.515, 4.2.2.1.3). One that comes with less than is required would have the session go on
/// unprotected.
pub fn corrected(
    session: &Session,
    of_gnb: Option<UserPlaneSecurity>,
) -> Option<UserPlaneSecurity> {
    let not_needed = UserPlaneSecurity {
        integrity: Protection::NotNeeded,
        confidentiality: Protection::NotNeeded,
        full_rate_integrity: false,
    };
    let own = session.protection.map(UpPolicy::to_ngap);
    if of_gnb == own || own.is_none() && of_gnb.is_none_or(|policy| policy == not_needed) {
        return None;
    }
    metrics::n4("user plane policy differs");
    tracing::warn!(
        supi = %session.supi, session = session.id, gnb = ?of_gnb, ?own,
        "a gNB has another security policy of the user plane than the SMF: it gets the SMF's"
    );
    own.or(Some(not_needed))
}
