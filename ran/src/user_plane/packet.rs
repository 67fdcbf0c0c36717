//! The GTP-U header of uplink packets. Its length is constant, so a packet is read in place after
//! it.
use martlet_gtpu::{PduSessionContainer, g_pdu_header};

/// Length of the header of an uplink G-PDU, bytes: GTP-U header and PDU session container.
pub(super) const UPLINK_HEADER: usize = 16;

/// The header of an uplink G-PDU; `None` for a packet that is too long for GTP-U.
pub(super) fn uplink_header(teid: u32, qfi: u8, payload: usize) -> Option<[u8; UPLINK_HEADER]> {
    g_pdu_header(teid, Some(PduSessionContainer::uplink(qfi)), payload)?.as_slice().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uplink_header_has_its_constant_length() {
        assert_eq!(
            uplink_header(7, 9, 3),
            Some([0x34, 0xff, 0, 11, 0, 0, 0, 7, 0, 0, 0, 0x85, 1, 0x10, 9, 0])
        );
        assert_eq!(uplink_header(7, 9, 65536), None);
    }
}
