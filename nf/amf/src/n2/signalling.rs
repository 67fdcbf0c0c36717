//! Passes N2 messages to the recorder of signalling.
use martlet_nf::capture::Link;
use martlet_nf::signalling::{self, Message};
use martlet_ngap::ie;
use martlet_ngap::inbound::{self, UeIds, message_name};
use martlet_ngap::ngap::UENGAPIDs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Uplink,
    Downlink,
}

/// The identity of a UE-associated logical NG connection.
pub(crate) fn connection(amf_id: u64) -> String {
    format!("amf-ue:{amf_id}")
}

/// The same at a gNB, which may use it again for another UE.
pub(crate) fn at_gnb(gnb_number: u64, ran_id: u32) -> String {
    format!("ran-ue:{gnb_number}/{ran_id}")
}

/// The identity of a message that names no connection, such as PAGING.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("message:{:x}", hasher.finish())
}

/// Records an NGAP message of a UE. The gNB has a number, an address and a label.
pub(crate) fn record(
    (number, address): (u64, SocketAddr),
    label: impl FnOnce() -> String,
    direction: Direction,
    bytes: &[u8],
) {
    signalling::record(|| {
        let received = inbound::read_any_order(bytes).ok()?;
        let ids = UeIds::of(&received.pdu);
        // UE CONTEXT RELEASE COMMAND has both in one element.
        let of_pair = || match received.pdu.ie::<ie::UE_NGAP_IDs>() {
            Some(Ok(UENGAPIDs::uE_NGAP_ID_pair(pair))) => Some(pair.amf_ue_ngap_id.0),
            Some(Ok(UENGAPIDs::aMF_UE_NGAP_ID(id))) => Some(id.0),
            _ => None,
        };
        let identity = match (ids.amf.or_else(of_pair), ids.ran) {
            (Some(amf), _) => connection(amf),
            (None, Some(ran)) => at_gnb(number, ran),
            (None, None) => of_bytes(bytes),
        };
        let (from, to, addresses) = match direction {
            Direction::Uplink => (label(), "AMF".into(), (Some(address), None)),
            Direction::Downlink => ("AMF".into(), label(), (None, Some(address))),
        };
        let name = message_name(&received.pdu);
        let identities = vec![identity];
        Some(Message { link: Link::N2, from, to, addresses, name, identities, bytes })
    });
}
