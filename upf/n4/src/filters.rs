//! SDF filters that name their protocol ([`N4Quirk::ProtocolName`]).
use super::by_peer::cp_address;
use super::settings::Settings;
use martlet_interop::{N4Quirk, Quirk};
use martlet_pfcp::ie::{FailedRuleId, SdfFilter};
use martlet_upf_rules::{RuleError, SdfRule, Session};

/// Counts a session with such a filter.
///
/// # Errors
/// With `n4.strict`, it is rejected.
pub(super) fn check(session: &Session, settings: &Settings) -> Result<(), RuleError> {
    let names = |filters: &[SdfFilter]| filters.iter().any(SdfRule::names_protocol);
    let Some(pdr) = session.pdrs.values().find(|pdr| names(&pdr.filters)) else { return Ok(()) };
    if settings.strict {
        let why = format!("PDR {} has an SDF filter with the name of a protocol", pdr.id);
        return Err(RuleError::incorrect::<SdfFilter>(FailedRuleId::Pdr(pdr.id), why));
    }
    N4Quirk::ProtocolName.met("upf", cp_address(&session.cp));
    Ok(())
}
