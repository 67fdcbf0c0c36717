//! GTP-U signalling (TS 29.281, 7), for all datapaths.
use crate::counters::{Counters, DropReason};
use crate::{Event, EventSender};
use martlet_gtpu::{Message, echo_response};
use std::net::SocketAddr;

/// The reply to a datagram, sent to its source port.
pub type Reply = Option<Vec<u8>>;

/// Handles a message and returns the reply.
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
            // TEID and source address identify the tunnel; the address within the message may be
            // wrong behind a NAT. If the channel is full the event is dropped: the peer repeats it
            // with the next packet.
            let event = Event::ErrorIndication { peer: from.ip(), teid };
            if events.try_send(event).is_err() {
                tracing::debug!(peer = %from, teid, "error indication dropped: event queue full");
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
