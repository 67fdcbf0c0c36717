//! GTP-U messages other than packets (TS 29.281, 7), for every datapath whose user space gets them.
use crate::counters::{Counters, DropReason};
use crate::{Event, EventSender};
use martlet_gtpu::{Message, echo_response};
use std::net::SocketAddr;

/// What goes back to the sender of a datagram, at the port that it came from.
pub type Reply = Option<Vec<u8>>;

/// Takes a message, and gives the answer to it.
pub fn take(
    message: Message<'_>,
    from: SocketAddr,
    counters: &Counters,
    events: &EventSender,
) -> Reply {
    if !matches!(message, Message::Other(_)) {
        counters.signalling_packets.add(1);
    }
    match message {
        Message::EchoRequest { sequence } => {
            counters.echo_requests.add(1);
            return Some(echo_response(sequence));
        }
        Message::ErrorIndication { teid, .. } => {
            counters.error_indications_received.add(1);
            // The tunnel is told by its TEID and by who sent this; the sender's word on its address
            // may be of no use behind a translator. A full channel loses it: the peer
            // sends another with the next packet.
            let event = Event::ErrorIndication { peer: from.ip(), teid };
            if events.try_send(event).is_err() {
                tracing::debug!(peer = %from, teid, "Error Indication lost: too many events wait");
            }
        }
        Message::EndMarker { .. } => counters.end_markers_received.add(1),
        Message::EchoResponse { .. } | Message::SupportedExtensionHeaders(_) => {}
        Message::GPdu(_) => {}
        Message::Other(kind) => {
            counters.dropped(DropReason::Malformed);
            tracing::debug!(peer = %from, kind, "GTP-U message of unknown type");
        }
    }
    None
}
