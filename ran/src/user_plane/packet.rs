//! The header of the gNB's uplink packets, whose length is always the same: a packet can be read
//! behind it in place.
use martlet_gtpu::{PduSessionContainer, g_pdu_header};

/// Octets before the user's packet in an uplink G-PDU: header, and the extension header with the
/// PDU session container.
pub(super) const UPLINK_HEADER: usize = 16;

/// The header of an uplink G-PDU; `None` for a packet that is too long for GTP-U.
pub(super) fn uplink_header(teid: u32, qfi: u8, payload: usize) -> Option<[u8; UPLINK_HEADER]> {
    g_pdu_header(teid, Some(PduSessionContainer::uplink(qfi)), payload)?.as_slice().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_as_long_as_its_place() {
        assert_eq!(
            uplink_header(7, 9, 3),
            Some([0x34, 0xff, 0, 11, 0, 0, 0, 7, 0, 0, 0, 0x85, 1, 0x10, 9, 0])
        );
        assert_eq!(uplink_header(7, 9, 65536), None);
    }
}
