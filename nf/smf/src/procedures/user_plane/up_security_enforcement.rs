//! Enforcement of the user plane security policy by the gNB (TS 33.501, 6.6.1; TS 23.502,
//! 4.3.2.2.1, steps 12 to 16).
use crate::metrics;
use crate::session::Session;
use crate::up_security::UpSecurity;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use martlet_ngap::transfer::{Protection, SecurityOutcome, UserPlaneSecurity};

/// Whether a gNB has rejected a session because it cannot enforce the required protection.
pub fn is_not_possible(cause: &Cause) -> bool {
    let Cause::radioNetwork(cause) = cause else { return false };
    matches!(
        *cause,
        CauseRadioNetwork::up_integrity_protection_not_possible
            | CauseRadioNetwork::up_confidentiality_protection_not_possible
    )
}

/// Reports, as a log line and in a metric, that a gNB does not enforce a required protection.
pub fn check_outcome(session: &Session, outcome: Option<SecurityOutcome>) {
    let (Some(policy), Some(outcome)) = (session.user_plane.security, outcome) else { return };
    let policy = policy.to_ngap();
    let is_violated = |policy, enforced: bool| policy == Protection::Required && !enforced;
    if is_violated(policy.integrity, outcome.integrity)
        || is_violated(policy.confidentiality, outcome.confidentiality)
    {
        metrics::n4("user plane not protected");
        if let Some(suppressed) = martlet_log_limit::line("up_security", &session.supi) {
            tracing::warn!(
                supi = %session.supi, session = session.id, ?policy, ?outcome, suppressed,
                "required user plane security not enforced by gNB"
            );
        }
    }
}

/// The policy for the target gNB of a path switch, if the gNB has a different one (TS 33.501,
/// 6.6.1; TS 33.515, 4.2.2.1.3). A weaker policy of the gNB would leave the session unprotected.
pub fn correction(
    session: &Session,
    of_gnb: Option<UserPlaneSecurity>,
) -> Option<UserPlaneSecurity> {
    let not_needed = UserPlaneSecurity {
        integrity: Protection::NotNeeded,
        confidentiality: Protection::NotNeeded,
        full_rate_integrity: false,
    };
    let own = session.user_plane.security.map(UpSecurity::to_ngap);
    if of_gnb == own || own.is_none() && of_gnb.is_none_or(|policy| policy == not_needed) {
        return None;
    }
    metrics::n4("user plane policy differs");
    if let Some(suppressed) = martlet_log_limit::line("up_policy", &session.supi) {
        tracing::warn!(
            supi = %session.supi, session = session.id, gnb = ?of_gnb, ?own, suppressed,
            "user plane security policy of gNB differs, correcting it"
        );
    }
    own.or(Some(not_needed))
}
