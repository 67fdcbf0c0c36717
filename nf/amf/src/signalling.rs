//! What the recorder of signalling stores of N1 and N2, and which identities belong to a UE.
use crate::n2::Gnb;
use crate::ue::Ue;
use martlet_nas::{Nas5gmmMessage, Nas5gsMessage};
use martlet_nf::capture::Link;
use martlet_nf::signalling::{self, Message};
use martlet_ngap::ie;
use martlet_ngap::inbound::{self, UeIds, message_name};
use martlet_ngap::ngap::UENGAPIDs;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Uplink,
    Downlink,
}

fn connection(amf_id: u64) -> String {
    format!("amf-ue:{amf_id}")
}

fn at_gnb(gnb: &Gnb, ran_id: u32) -> String {
    format!("ran-ue:{}/{ran_id}", gnb.number)
}

/// The identity of a message that names no connection, such as PAGING.
fn of_bytes(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("message:{:x}", hasher.finish())
}

/// Records an NGAP message of a UE.
pub(crate) fn ngap(gnb: &Gnb, direction: Direction, bytes: &[u8]) {
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
            (None, Some(ran)) => at_gnb(gnb, ran),
            (None, None) => of_bytes(bytes),
        };
        let (from, to, addresses) = match direction {
            Direction::Uplink => (gnb.label(), "AMF".into(), (Some(gnb.address), None)),
            Direction::Downlink => ("AMF".into(), gnb.label(), (None, Some(gnb.address))),
        };
        let name = message_name(&received.pdu);
        let identities = vec![identity];
        Some(Message { link: Link::N2, from, to, addresses, name, identities, bytes })
    });
}

/// Records a NAS message before ciphering.
pub(crate) fn nas(ue: &Ue, direction: Direction, message: &Nas5gsMessage) {
    if !signalling::is_on() {
        return;
    }
    let bytes = message.encode().unwrap_or_default();
    let gnb = ue.connection.as_ref().map(|connection| connection.gnb.address);
    let (from, to, addresses) = match direction {
        Direction::Uplink => ("UE", "AMF", (gnb, None)),
        Direction::Downlink => ("AMF", "UE", (None, gnb)),
    };
    signalling::record(|| {
        Some(Message {
            link: Link::N1,
            from: from.into(),
            to: to.into(),
            addresses,
            name: nas_name(message),
            identities: identities(ue),
            bytes: &bytes,
        })
    });
}

/// Says which identities belong to a UE, before and after each event of its task.
pub(crate) fn of_ue(ue: &Ue) {
    signalling::same(|| {
        let mut all = identities(ue);
        if let Some(connection) = &ue.connection {
            all.push(at_gnb(&connection.gnb, connection.ran_id));
        }
        all
    });
}

/// Says that a message without an identity, such as PAGING, is about a UE.
pub(crate) fn about_ue(ue: &Ue, bytes: &[u8]) {
    signalling::same(|| vec![ue.label(), of_bytes(bytes)]);
}

fn identities(ue: &Ue) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(ue.identity.supi.as_ref().map(ToString::to_string));
    all.extend(ue.identity.suci.as_ref().map(ToString::to_string));
    all.extend(ue.connection.as_ref().map(|one| connection(one.amf_id)));
    all
}

/// The name of a message, and of the 5GSM message in it.
fn nas_name(message: &Nas5gsMessage) -> String {
    let inner = |container: &[u8]| match Nas5gsMessage::decode(container) {
        Ok(message @ Nas5gsMessage::Gsm(..)) => Some(nas_name(&message)),
        _ => None,
    };
    let (name, container) = match message {
        Nas5gsMessage::Gmm(header, body) => {
            let container = match body {
                Nas5gmmMessage::UlNasTransport(t) => Some(&t.payload_container.value),
                Nas5gmmMessage::DlNasTransport(t) => Some(&t.payload_container.value),
                _ => None,
            };
            (format!("{:?}", header.message_type), container)
        }
        Nas5gsMessage::Gsm(header, _) => (format!("{:?}", header.message_type), None),
        Nas5gsMessage::SecurityProtected(_, inside) => return nas_name(inside),
        _ => ("ciphered message".into(), None),
    };
    match container.and_then(|container| inner(container)) {
        Some(inner) => format!("{name}: {inner}"),
        None => name,
    }
}
