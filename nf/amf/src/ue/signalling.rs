//! Passes N1 messages, and the identities of a UE, to the recorder of signalling.
use super::Ue;
use crate::n2::signalling::{Direction, at_gnb, connection, of_bytes};
use martlet_nas::{Nas5gmmMessage, Nas5gsMessage};
use martlet_nf::capture::Link;
use martlet_nf::signalling::{self, Message};

/// Records a NAS message before ciphering.
pub(crate) fn record(ue: &Ue, direction: Direction, message: &Nas5gsMessage) {
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

/// Reports which identities belong to a UE, before and after each event of its task.
pub(crate) fn of_ue(ue: &Ue) {
    signalling::same(|| {
        let mut all = identities(ue);
        if let Some(connection) = &ue.connection {
            all.push(at_gnb(connection.gnb.number, connection.ran_id));
        }
        all
    });
}

/// Reports that a message without an identity, such as PAGING, is about a UE.
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
