//! GTP-U in user space: signalling, unknown tunnels, and reassembled packets.
use super::Forwarder;
use super::router::Solicitations;
use crate::loader::{LINK_MAC, Program};
use martlet_gtpu::{
    DecodeError, GPdu, Message, decode, error_indication, supported_extension_headers,
};
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::early::EarlyPacket;
use martlet_upf_datapath::perimeter::Sender;
use martlet_upf_datapath::signalling::{self, Reply};
use martlet_upf_kernel::limiter::PeerLimiter;
use martlet_upf_kernel::router;
use martlet_upf_rules::Flow;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

/// The receivers of the socket's datagrams.
pub(super) struct Socket {
    pub response_limiter: PeerLimiter,
    pub solicitations: Solicitations,
    pub frame: Vec<u8>,
    pub out: Vec<u8>,
}

impl Socket {
    /// Processes a datagram to one of our addresses and returns the response.
    pub fn take(
        &mut self,
        forwarder: &Forwarder,
        datagram: &[u8],
        from: SocketAddr,
        local: IpAddr,
        now: Instant,
    ) -> Reply {
        match decode(datagram) {
            Ok(Message::GPdu(pdu)) => {
                self.take_packet(forwarder, pdu, datagram, (from, local), now)
            }
            Ok(other) => {
                if let Message::EndMarker { teid, .. } = other
                    && forwarder.perimeter.informs(from.ip())
                {
                    forwarder.relay_end_marker(teid);
                }
                let (counters, events) = (&forwarder.counters, &forwarder.events);
                return signalling::take(other, from, &forwarder.perimeter, counters, events);
            }
            Err(DecodeError::UnknownExtension(kind)) => {
                forwarder.counters.dropped(DropReason::UnknownExtension);
                tracing::debug!(
                    peer = %from, kind,
                    "unknown GTP-U extension header with comprehension required"
                );
                // Others would use the answers up that peers may get.
                let allowed = forwarder.perimeter.informs(from.ip())
                    && self.response_limiter.allows(from.ip(), now);
                return allowed.then(|| supported_extension_headers(0));
            }
            Err(error) => {
                forwarder.counters.dropped(DropReason::Malformed);
                tracing::debug!(peer = %from, %error, "GTP-U message dropped");
            }
        }
        None
    }

    fn take_packet(
        &mut self,
        forwarder: &Forwarder,
        pdu: GPdu<'_>,
        whole: &[u8],
        (from, local): (SocketAddr, IpAddr),
        now: Instant,
    ) {
        let sender = forwarder.sender(&forwarder.lock(), pdu.teid, from.ip(), now);
        if let Some(asked) =
            Flow::of(pdu.payload).filter(|flow| router::is_solicitation(pdu.payload, flow))
            && matches!(sender, Some((_, Sender::Accepted)))
        {
            // The programs limited those that were not fragmented.
            if !self.solicitations.allow(pdu.teid, now) {
                return forwarder.counters.dropped(DropReason::Rate);
            }
            if forwarder.advertise(pdu.teid, asked.source) {
                return;
            }
        }
        if let Some((seid, sender)) = sender {
            let datagram = whole.to_vec();
            let packet = EarlyPacket { seid, from, local, datagram, since: now };
            if sender != Sender::Accepted && forwarder.keep_early(packet, pdu.teid, now) {
                return;
            }
            // The kernel reassembled it, or the session is newer than the packet: it is processed
            // like the others.
            wrap(&mut self.frame, whole, from, local);
            let mut out = std::mem::take(&mut self.out);
            forwarder.run(Program::Socket, &self.frame, &mut out);
            self.out = out;
            return;
        }
        forwarder.counters.dropped(DropReason::UnknownTunnel);
        let quiet = forwarder.suppress_errors_until.is_some_and(|until| until > now);
        if !quiet
            && forwarder.perimeter.informs(from.ip())
            && self.response_limiter.allows(from.ip(), now)
        {
            // It is sent to the GTP-U port, not to the source port of the packet (4.4.2.4).
            tracing::debug!(
                peer = %from, teid = pdu.teid,
                "G-PDU for an unknown tunnel: error indication sent"
            );
            let bytes = error_indication(pdu.teid, local);
            if forwarder.gtpu.send(&bytes, from.ip()).is_ok() {
                forwarder.counters.error_indications_sent.add(1);
            }
        }
    }
}

/// The tunnel of a packet, or of the end of some (TS 29.281, 5.1).
pub(super) fn teid_of(datagram: &[u8]) -> Option<u32> {
    let header = datagram.first_chunk::<8>().filter(|header| matches!(header[1], 254 | 255))?;
    Some(u32::from_be_bytes([header[4], header[5], header[6], header[7]]))
}

/// A frame as it may have carried a datagram.
pub(super) fn wrap(frame: &mut Vec<u8>, datagram: &[u8], from: SocketAddr, local: IpAddr) {
    frame.clear();
    frame.extend(LINK_MAC);
    frame.extend(LINK_MAC);
    let udp = 8 + datagram.len();
    match (from.ip(), local) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            frame.extend([8, 0, 0x45, 0]);
            frame.extend(((20 + udp) as u16).to_be_bytes());
            // The checksum is not verified.
            frame.extend([0, 0, 0, 0, 64, 17, 0, 0]);
            frame.extend(from.octets());
            frame.extend(to.octets());
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend((udp as u16).to_be_bytes());
            frame.extend([17, 64]);
            frame.extend(from.octets());
            frame.extend(to.octets());
        }
        _ => return,
    }
    frame.extend(from.port().to_be_bytes());
    frame.extend(martlet_gtpu::PORT.to_be_bytes());
    frame.extend((udp as u16).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(datagram);
}
