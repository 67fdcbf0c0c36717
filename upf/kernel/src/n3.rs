//! Processes a datagram received on the GTP-U port (TS 29.281, 7).
use super::egress::Egress;
use super::entry::Entry;
use super::forwarder::Forwarder;
use super::frame::{Frame, HEADROOM};
use super::lock::lock;
use martlet_gtpu::{
    DecodeError, Message, decode, end_marker, error_indication, supported_extension_headers,
};
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::early::EarlyPacket;
use martlet_upf_datapath::perimeter::Sender;
use martlet_upf_datapath::signalling::{self, Reply};
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

impl<O: Egress> Forwarder<O> {
    /// Handles a datagram at offset `start` of `buffer`; `local` is its destination address.
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
            Ok(other) => {
                if let Message::EndMarker { teid, .. } = other
                    && self.perimeter.informs(from.ip())
                {
                    self.relay_end_marker(teid);
                }
                let (counters, events) = (&self.counters, &self.events);
                return signalling::take(other, from, &self.perimeter, counters, events);
            }
            Err(DecodeError::UnknownExtension(kind)) => {
                self.counters.dropped(DropReason::UnknownExtension);
                tracing::debug!(
                    peer = %from, kind,
                    "unknown GTP-U extension header with comprehension required"
                );
                // Others would use the answers up that peers may get.
                let allowed = self.perimeter.informs(from.ip())
                    && lock(&self.response_limiter).allows(from.ip(), now);
                return allowed.then(|| supported_extension_headers(0));
            }
            Err(error) => {
                self.counters.dropped(DropReason::Malformed);
                tracing::debug!(peer = %from, %error, "GTP-U message dropped");
                return None;
            }
        };
        let (teid, qfi, length) =
            (pdu.teid, pdu.container.map(|container| container.qfi), pdu.payload.len());
        let Some(entry) = self.by_teid(teid) else {
            self.counters.dropped(DropReason::UnknownTunnel);
            if self.may_respond(from.ip(), now) {
                // It is sent to the GTP-U port, not to the source port of the packet (4.4.2.4).
                tracing::debug!(
                    peer = %from, teid,
                    "G-PDU for an unknown tunnel: error indication sent"
                );
                if self.egress.to_peer(&error_indication(teid, local), from.ip()).is_ok() {
                    self.counters.error_indications_sent.add(1);
                }
            }
            return None;
        };
        // The payload ends with the message, which may be shorter than the datagram.
        let counted = datagram
            .get(2..4)
            .and_then(|l| <[u8; 2]>::try_from(l).ok())
            .map_or(0, u16::from_be_bytes);
        let end = (start + 8).saturating_add(usize::from(counted)).min(buffer.len());
        let at = end.saturating_sub(length);
        loop {
            let message = buffer.get_mut(..end)?;
            let frame = Frame::new(message, at);
            if self.take_tunnelled(&entry, (from.ip(), teid, qfi), frame, now) {
                return None;
            }
            let datagram = buffer.get(start..).unwrap_or_default();
            if self.wait_for_path_switch(&entry, teid, datagram, from, local, now) {
                return None;
            }
        }
    }

    /// Buffers a datagram whose sender may be the gNB of a path switch in progress. Returns false
    /// if the sender is the session's gNB by now.
    fn wait_for_path_switch(
        &self,
        entry: &Entry,
        teid: u32,
        datagram: &[u8],
        from: SocketAddr,
        local: IpAddr,
        now: Instant,
    ) -> bool {
        self.expire_early(now);
        let mut state = lock(&entry.state);
        if state.sender(&self.perimeter, from.ip(), teid, now) == Sender::Accepted {
            return false;
        }
        let datagram = datagram.to_vec();
        let packet = EarlyPacket { seid: entry.seid, from, local, datagram, since: now };
        if !lock(&self.early).push(packet, self.perimeter.is_peer(from.ip())) {
            state.dropped(DropReason::N3Source);
            self.counters.dropped(DropReason::N3Source);
        }
        true
    }

    /// Drops the datagrams whose path switch did not occur in time.
    pub(super) fn expire_early(&self, now: Instant) {
        let expired = lock(&self.early).expire(now);
        for seid in expired {
            if let Some(entry) = self.by_seid(seid) {
                lock(&entry.state).dropped(DropReason::N3Source);
            }
            self.counters.dropped(DropReason::N3Source);
        }
    }

    /// Processes the datagrams of a session that wait for a path switch: those of its present gNB.
    /// Others continue to wait.
    pub(super) fn release_early(&self, seid: u64, now: Instant) {
        if lock(&self.early).is_empty() {
            return;
        }
        self.expire_early(now);
        let waiting = lock(&self.early).take(seid);
        for EarlyPacket { from, local, datagram, .. } in waiting {
            let mut buffer = [&[0; HEADROOM][..], &datagram].concat();
            self.take_datagram(&mut buffer, HEADROOM, from, local, now);
        }
    }

    /// Forwards an end marker after the data.
    fn relay_end_marker(&self, teid: u32) {
        let Some(entry) = self.by_teid(teid) else { return };
        let state = lock(&entry.state);
        let Some(tunnel) = state.relays.get(&teid) else { return };
        if self.egress.to_peer(&end_marker(tunnel.teid, None), tunnel.peer).is_ok() {
            self.counters.end_markers_sent.add(1);
        }
    }
}
