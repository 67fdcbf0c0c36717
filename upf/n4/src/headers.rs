//! FARs that forward to the access without Outer Header Creation
//! ([`N4Quirk::ForwardWithoutHeader`]).
use super::settings::Settings;
use martlet_interop::{N4Quirk, Quirk};
use martlet_pfcp::ie::OuterHeaderCreation;
use martlet_upf_rules::{RuleError, Session};
use std::net::IpAddr;

/// Counts a session with such a FAR.
///
/// # Errors
/// With `n4.strict`, if there is one.
pub(super) fn check(session: &Session, settings: &Settings) -> Result<(), RuleError> {
    let Some((id, _)) = session.fars.iter().find(|(_, far)| far.headerless) else {
        return Ok(());
    };
    if settings.strict {
        let why = format!("FAR {id} forwards to the access and has no Outer Header Creation");
        return Err(RuleError::conditional::<OuterHeaderCreation>(why));
    }
    let cp = &session.cp;
    let smf = cp.ipv4.map(IpAddr::V4).or(cp.ipv6.map(IpAddr::V6));
    N4Quirk::ForwardWithoutHeader.met("upf", smf.map_or_else(String::new, |ip| ip.to_string()));
    Ok(())
}
