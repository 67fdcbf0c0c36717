//! A packet in a buffer with headroom for a tunnel header.
use martlet_gtpu::{GPduHeader, PduSessionContainer, g_pdu_header};
use martlet_upf_rules::Tunnel;

/// Bytes of headroom.
pub const HEADROOM: usize = GPduHeader::LONGEST;

/// An IP packet within a buffer, from `start` to `end`.
pub struct Frame<'a> {
    buffer: &'a mut [u8],
    start: usize,
    end: usize,
}

impl<'a> Frame<'a> {
    /// A packet that begins `start` bytes into the buffer and fills the rest.
    pub fn new(buffer: &'a mut [u8], start: usize) -> Self {
        let (start, end) = (start.min(buffer.len()), buffer.len());
        Frame { buffer, start, end }
    }

    /// The packet.
    pub fn packet(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// The packet, to change it.
    pub fn packet_mut(&mut self) -> &mut [u8] {
        self.buffer.get_mut(self.start..self.end).unwrap_or_default()
    }

    /// Truncates the packet.
    pub fn trim(&mut self, length: usize) {
        self.end = self.end.min(self.start.saturating_add(length));
    }

    /// Skips bytes.
    pub fn skip(&mut self, bytes: usize) {
        self.start = self.start.saturating_add(bytes).min(self.end);
    }

    /// The payload of a G-PDU; `None` if it is malformed.
    pub fn encapsulated(
        &mut self,
        tunnel: Tunnel,
        container: Option<PduSessionContainer>,
    ) -> Option<&[u8]> {
        let header = g_pdu_header(tunnel.teid, container, self.end.checked_sub(self.start)?)?;
        let header = header.as_slice();
        let at = self.start.checked_sub(header.len())?;
        self.buffer.get_mut(at..self.start)?.copy_from_slice(header);
        self.buffer.get(at..self.end)
    }
}
