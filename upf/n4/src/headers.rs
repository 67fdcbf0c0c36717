//! Outer headers of FARs that forward to the access: the addresses that they may have, and FARs
//! without Outer Header Creation ([`N4Quirk::ForwardWithoutHeader`]).
use super::settings::Settings;
use martlet_interop::{N4Quirk, Quirk};
use martlet_pfcp::ie::{FailedRuleId, Interface, OuterHeaderCreation};
use martlet_upf_rules::{RuleError, Session, UeAddress};
use std::net::IpAddr;

/// Checks the tunnels to the access, and counts a session with a FAR that lacks one.
///
/// # Errors
/// No gNB or UPF can have the address of a tunnel. With `n4.strict`, also if a FAR lacks one.
pub(super) fn check(session: &Session, settings: &Settings) -> Result<(), RuleError> {
    for far in session.fars.values() {
        if far.destination == Some(Interface::Access)
            && let Some(peer) = far.tunnel.map(|tunnel| tunnel.peer)
            && let Some(why) = impossible(peer, session, settings)
        {
            let why = format!("FAR {} has a tunnel to {peer}, {why}", far.id);
            return Err(RuleError::incorrect::<OuterHeaderCreation>(
                FailedRuleId::Far(far.id),
                why,
            ));
        }
    }
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

/// Why no gNB or UPF has an address. A gNB chooses the address to which the SMF sends its tunnels.
/// In a tunnel to ourselves, a packet of a UE to its own address would return without end; in one
/// to the UE, each packet to it, in a further tunnel each time. And UEs do not reach addresses of
/// peers, so a gNB could take a server from them.
fn impossible(peer: IpAddr, session: &Session, settings: &Settings) -> Option<&'static str> {
    let peer = peer.to_canonical();
    let own = [settings.n3_ipv4.map(IpAddr::V4), settings.n3_ipv6.map(IpAddr::V6)];
    let is_broadcast = matches!(peer, IpAddr::V4(ip) if ip.is_broadcast());
    if own.contains(&Some(peer)) {
        Some("which is the UPF's own address")
    } else if peer.is_unspecified() || peer.is_multicast() || is_broadcast {
        Some("which is not the address of a host")
    } else if is_of_ue(peer, session, settings) {
        Some("which is the address of a UE")
    } else if !settings.n3_allow.is_empty()
        && !settings.n3_allow.iter().any(|network| network.contains(peer))
    {
        Some("which upf.n3.allow does not have")
    } else {
        None
    }
}

/// Whether an address is that of the session's UE, or in a network of UEs.
fn is_of_ue(peer: IpAddr, session: &Session, settings: &Settings) -> bool {
    let own = UeAddress::of(peer);
    settings.ue_networks.iter().any(|network| network.contains(peer))
        || session.pdrs.values().any(|pdr| pdr.ue.contains(&own))
        || session.routes().iter().any(|route| route.contains(peer))
}
