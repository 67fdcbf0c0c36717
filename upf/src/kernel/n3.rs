//! A datagram that came to the GTP-U port (TS 29.281, 7).
use super::forwarder::{Forwarder, lock};
use super::frame::Frame;
use super::outlet::Outlet;
use crate::counters::DropReason;
use crate::datapath::Event;
use martlet_gtpu::{DecodeError, Message, decode, echo_response, error_indication, supported_extension_headers};
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

/// What goes back to the sender of a datagram, at the port that it came from.
pub(super) type Reply = Option<Vec<u8>>;

impl<O: Outlet> Forwarder<O> {
    /// Takes a datagram that starts `start` octets into `buffer` and fills the rest; `local` is the address it came to.
    pub(super) fn take_datagram(
        &self,
        buffer: &mut [u8],
        start: usize,
        from: SocketAddr,
        local: IpAddr,
        now: Instant,
    ) -> Reply {
        let datagram = buffer.get(start..).unwrap_or_default();
        let pdu = match decode(datagram) {
            Ok(Message::GPdu(pdu)) => pdu,
            Ok(other) => return self.signalling(other, from),
            Err(DecodeError::UnknownExtension(kind)) => {
                self.counters.dropped(DropReason::UnknownExtension);
                tracing::debug!(peer = %from, kind, "GTP-U extension header that has to be understood and is not");
                return lock(&self.complaints).allows(now).then(|| supported_extension_headers(0));
            }
            Err(error) => {
                self.counters.dropped(DropReason::Malformed);
                tracing::debug!(peer = %from, %error, "GTP-U message dropped");
                return None;
            }
        };
        let (teid, qfi, length) = (pdu.teid, pdu.container.map(|container| container.qfi), pdu.payload.len());
        let Some(entry) = self.by_teid(teid) else {
            self.counters.dropped(DropReason::UnknownTunnel);
            if self.complains(now) {
                // It goes to the GTP-U port, not to the port that the packet came from (4.4.2.4).
                tracing::debug!(peer = %from, teid, "G-PDU for an unknown tunnel: Error Indication");
                if self.outlet.to_peer(&error_indication(teid, local), from.ip()).is_ok() {
                    self.counters.error_indications_sent.add(1);
                }
            }
            return None;
        };
        // The payload ends where the message does, which may be before the datagram does.
        let counted = datagram.get(2..4).and_then(|l| <[u8; 2]>::try_from(l).ok()).map_or(0, u16::from_be_bytes);
        let end = (start + 8).saturating_add(usize::from(counted)).min(buffer.len());
        if let Some(message) = buffer.get_mut(..end) {
            let at = end.saturating_sub(length);
            self.take_tunnelled(&entry, teid, qfi, Frame::new(message, at), now);
        }
        None
    }

    fn signalling(&self, message: Message<'_>, from: SocketAddr) -> Reply {
        match message {
            Message::EchoRequest { sequence } => {
                self.counters.echo_requests.add(1);
                return Some(echo_response(sequence));
            }
            Message::ErrorIndication { teid, .. } => {
                self.counters.error_indications_received.add(1);
                // The tunnel is told by its TEID and by who sent this; the sender's word on its address may be of no
                // use behind a translator. A full channel loses it: the peer sends another with the next packet.
                let event = Event::ErrorIndication { peer: from.ip(), teid };
                if self.events.try_send(event).is_err() {
                    tracing::debug!(peer = %from, teid, "Error Indication lost: too many events wait");
                }
            }
            Message::EndMarker { .. } => self.counters.end_markers_received.add(1),
            Message::EchoResponse { .. } | Message::SupportedExtensionHeaders(_) => {}
            Message::GPdu(_) => {}
            Message::Other(kind) => {
                self.counters.dropped(DropReason::Malformed);
                tracing::debug!(peer = %from, kind, "GTP-U message of unknown type");
            }
        }
        None
    }
}
