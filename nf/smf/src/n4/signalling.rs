//! Passes N4 messages to the recorder of signalling.
use martlet_nf::capture::Link;
use martlet_nf::signalling::{self, Message};
use martlet_pfcp::{Message as Pfcp, Packet};
use std::net::SocketAddr;

/// Our session endpoint identifier.
pub(crate) fn own(seid: u64) -> String {
    format!("cp:{seid}")
}

/// The UPF's.
pub(crate) fn of_upf(upf: SocketAddr, seid: u64) -> String {
    format!("up:{upf}/{seid}")
}

/// Records a PFCP message of a session.
pub(super) fn pfcp(here: Option<SocketAddr>, upf: SocketAddr, is_sent: bool, bytes: &[u8]) {
    signalling::record(|| {
        let packet = Packet::decode(bytes).ok()?;
        let seid = packet.seid?;
        let mut identities = Vec::new();
        if seid != 0 {
            identities.push(if is_sent { of_upf(upf, seid) } else { own(seid) });
        }
        match &packet.message {
            Pfcp::SessionEstablishmentRequest(request) => {
                identities.push(own(request.cp_fseid.seid));
            }
            Pfcp::SessionEstablishmentResponse(response) => {
                identities.extend(response.up_fseid.as_ref().map(|up| of_upf(upf, up.seid)));
            }
            _ => {}
        }
        let (from, to) = if is_sent { ("SMF", "UPF") } else { ("UPF", "SMF") };
        Some(Message {
            link: Link::N4,
            from: from.into(),
            to: to.into(),
            addresses: if is_sent { (here, Some(upf)) } else { (Some(upf), here) },
            name: packet.message.name().into(),
            identities,
            bytes,
        })
    });
}
