//! GTP-U signalling (TS 29.281, 7), for all datapaths.
use crate::counters::{Counters, DropReason};
use crate::perimeter::Perimeter;
use crate::{Event, EventSender};
use martlet_gtpu::{Message, echo_response};
use std::net::SocketAddr;

/// The reply to a datagram, sent to its source port.
pub type Reply = Option<Vec<u8>>;

/// Handles a message and returns the reply.
pub fn take(
    message: Message<'_>,
    from: SocketAddr,
    perimeter: &Perimeter,
    counters: &Counters,
    events: &EventSender,
) -> Reply {
    if let Message::ErrorIndication { teid, .. } = message
        && !perimeter.informs(from.ip())
    {
        // No session has a tunnel to the sender, and other events need the room in the channel.
        counters.dropped(DropReason::N3Source);
        tracing::debug!(peer = %from, teid, "error indication dropped: sender is not a peer");
        return None;
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perimeter::Policy;
    use std::net::IpAddr;
    use tokio::sync::mpsc;

    #[test]
    fn error_indications_of_others_than_peers_are_no_events() {
        let [gnb, unknown]: [IpAddr; 2] = [[203, 0, 113, 5].into(), [203, 0, 113, 6].into()];
        let (perimeter, counters) = (Perimeter::new(Policy::default()), Counters::default());
        let (events, mut queue) = mpsc::channel(1);
        let receive = |from: IpAddr| {
            let message = Message::ErrorIndication { teid: 7, peer: gnb };
            assert_eq!(take(message, (from, 2152).into(), &perimeter, &counters, &events), None);
        };
        // While no peer is known, every sender may be one.
        receive(unknown);
        assert_eq!(queue.try_recv(), Ok(Event::ErrorIndication { peer: unknown, teid: 7 }));
        perimeter.set_peers(&[(gnb, true)]);
        receive(unknown);
        receive(gnb);
        assert_eq!(queue.try_recv(), Ok(Event::ErrorIndication { peer: gnb, teid: 7 }));
        assert_eq!(counters.drops(DropReason::N3Source).get(), 1);
        assert_eq!(counters.error_indications_received.get(), 2);
        assert_eq!(counters.signalling_packets.get(), 2);
    }
}
