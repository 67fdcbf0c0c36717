//! Ethernet headers.

/// EtherType of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub const ETHERTYPE_IPV6: u16 = 0x86dd;
/// EtherType of a customer VLAN tag (IEEE 802.1Q).
pub const ETHERTYPE_C_TAG: u16 = 0x8100;
/// EtherType of a service VLAN tag (IEEE 802.1ad).
pub const ETHERTYPE_S_TAG: u16 = 0x88a8;

/// The header fields of a frame that filters match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EthernetHeader {
    /// Receiver.
    pub destination: [u8; 6],
    /// Sender.
    pub source: [u8; 6],
    /// Tag control information of the customer's tag.
    pub c_tag: Option<u16>,
    /// Tag control information of the service's tag.
    pub s_tag: Option<u16>,
    /// Type of what it carries.
    pub ethertype: u16,
}

impl EthernetHeader {
    /// The header, and where what it carries begins.
    pub fn of(frame: &[u8]) -> Option<(EthernetHeader, usize)> {
        let address =
            |at: usize| frame.get(at..at + 6).and_then(|bytes| <[u8; 6]>::try_from(bytes).ok());
        let word =
            |at: usize| frame.get(at..at + 2).and_then(|bytes| <[u8; 2]>::try_from(bytes).ok());
        let (destination, source) = (address(0)?, address(6)?);
        let (mut c_tag, mut s_tag, mut at) = (None, None, 12);
        let ethertype = loop {
            let kind = u16::from_be_bytes(word(at)?);
            let tag = match kind {
                ETHERTYPE_S_TAG if s_tag.is_none() && c_tag.is_none() => &mut s_tag,
                ETHERTYPE_C_TAG if c_tag.is_none() => &mut c_tag,
                _ => break kind,
            };
            *tag = Some(u16::from_be_bytes(word(at + 2)?));
            at += 4;
        };
        Some((EthernetHeader { destination, source, c_tag, s_tag, ethertype }, at + 2))
    }

    /// Whether it is for several receivers.
    pub fn is_group(&self) -> bool {
        self.destination[0] & 1 != 0
    }
}
