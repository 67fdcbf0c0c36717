//! The PDU session container (TS 38.415, 5.5): the QoS flow of a packet.

/// The direction of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To the UE: PDU type 0.
    Downlink,
    /// From the UE: PDU type 1.
    Uplink,
}

/// A PDU session container; of the optional fields, only the downlink ones that control the UE are
/// read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PduSessionContainer {
    /// The direction of the packet.
    pub direction: Direction,
    /// QoS flow identifier, 6 bits.
    pub qfi: u8,
    /// Reflective QoS indicator; downlink only.
    pub rqi: bool,
    /// Paging policy indicator, 3 bits; downlink only.
    pub ppi: Option<u8>,
}

impl PduSessionContainer {
    /// For a packet to the UE; the low 6 bits of `qfi` count.
    pub const fn downlink(qfi: u8) -> Self {
        PduSessionContainer {
            direction: Direction::Downlink,
            qfi: qfi & 0x3f,
            rqi: false,
            ppi: None,
        }
    }

    /// For a packet from the UE; the low 6 bits of `qfi` count.
    pub const fn uplink(qfi: u8) -> Self {
        PduSessionContainer { direction: Direction::Uplink, qfi: qfi & 0x3f, rqi: false, ppi: None }
    }

    /// From the content of the extension header, without its length and next type; `None` where it
    /// is cut off or of an unknown PDU type, which a receiver ignores (TS 38.415, 5.6).
    pub(crate) fn read(content: &[u8]) -> Option<Self> {
        let (&first, &second) = (content.first()?, content.get(1)?);
        let qfi = second & 0x3f;
        match first >> 4 {
            0 => {
                let has_ppi = second & 0x80 != 0;
                let ppi = if has_ppi { Some(content.get(2)? >> 5) } else { None };
                Some(PduSessionContainer {
                    direction: Direction::Downlink,
                    qfi,
                    rqi: second & 0x40 != 0,
                    ppi,
                })
            }
            1 => Some(Self::uplink(qfi)),
            _ => None,
        }
    }

    /// The extension header with its length (in units of 4 bytes) and without the type of the next
    /// one, and how many of the bytes are used.
    pub(crate) fn write(&self) -> ([u8; 7], usize) {
        let mut out = [0; 7];
        match self.direction {
            Direction::Uplink => {
                out[..3].copy_from_slice(&[1, 0x10, self.qfi & 0x3f]);
                (out, 3)
            }
            Direction::Downlink => {
                let flags = u8::from(self.ppi.is_some()) << 7 | u8::from(self.rqi) << 6;
                let length = if self.ppi.is_some() { 2 } else { 1 };
                out[..3].copy_from_slice(&[length, 0x00, flags | self.qfi & 0x3f]);
                out[3] = self.ppi.unwrap_or(0) << 5;
                (out, if self.ppi.is_some() { 7 } else { 3 })
            }
        }
    }
}
