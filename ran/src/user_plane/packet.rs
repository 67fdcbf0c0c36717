//! GTP-U as the gNB needs it on its fast path (TS 29.281; TS 38.415 for the PDU session container).
use std::net::IpAddr;

/// Octets before the user's packet in an uplink G-PDU: header, and the extension header with the PDU session container.
pub(super) const UPLINK_HEADER: usize = 16;

/// The header of an uplink G-PDU: PDU type 1 (UL PDU SESSION INFORMATION) with the QFI.
pub(super) fn uplink_header(teid: u32, qfi: u8, payload: usize) -> Option<[u8; UPLINK_HEADER]> {
    let length = u16::try_from(payload + UPLINK_HEADER - 8).ok()?;
    let [l0, l1] = length.to_be_bytes();
    let [t0, t1, t2, t3] = teid.to_be_bytes();
    Some([0x34, 0xff, l0, l1, t0, t1, t2, t3, 0, 0, 0, 0x85, 1, 0x10, qfi & 0x3f, 0])
}

/// A GTP-U message from the UPF.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received<'a> {
    /// A user packet for a tunnel.
    GPdu { teid: u32, packet: &'a [u8] },
    /// Echo request with its sequence number.
    EchoRequest { sequence: u16 },
    /// The end of a tunnel's packets.
    EndMarker { teid: u32 },
    /// The UPF does not know a TEID that was sent to it.
    ErrorIndication { teid: Option<u32> },
    /// Echo response, and what is not for a gNB.
    Other,
}

/// Read a message; `None` where it is none.
pub(super) fn read(octets: &[u8]) -> Option<Received<'_>> {
    let (&[flags, kind, l0, l1, t0, t1, t2, t3], rest) = octets.split_first_chunk::<8>()?;
    if flags & 0xf0 != 0x30 {
        return None;
    }
    let mut body = rest.get(..usize::from(u16::from_be_bytes([l0, l1])))?;
    let teid = u32::from_be_bytes([t0, t1, t2, t3]);
    let mut sequence = 0;
    if flags & 0x07 != 0 {
        let (&[s0, s1, _, mut next], after) = body.split_first_chunk::<4>()?;
        sequence = u16::from_be_bytes([s0, s1]);
        body = after;
        if flags & 0x04 == 0 {
            next = 0;
        }
        while next != 0 {
            let length = usize::from(*body.first()?) * 4;
            next = *body.get(length.checked_sub(1)?)?;
            body = body.get(length..)?;
        }
    }
    Some(match kind {
        255 => Received::GPdu { teid, packet: body },
        1 => Received::EchoRequest { sequence },
        254 => Received::EndMarker { teid },
        26 => Received::ErrorIndication { teid: tunnel_of_error(body) },
        _ => Received::Other,
    })
}

/// The Tunnel Endpoint Identifier Data I of an error indication (IE 16).
fn tunnel_of_error(body: &[u8]) -> Option<u32> {
    match body {
        [16, a, b, c, d, ..] => Some(u32::from_be_bytes([*a, *b, *c, *d])),
        _ => None,
    }
}

/// Echo response (IE 14, recovery, is zero: TS 29.281, 8.2).
pub(super) fn echo_response(sequence: u16) -> [u8; 14] {
    let [s0, s1] = sequence.to_be_bytes();
    [0x32, 2, 0, 6, 0, 0, 0, 0, s0, s1, 0, 0, 14, 0]
}

/// Error indication for a TEID that `local` does not know (TS 29.281, 7.3.1).
pub(super) fn error_indication(teid: u32, local: IpAddr) -> Vec<u8> {
    let mut ies = vec![16];
    ies.extend_from_slice(&teid.to_be_bytes());
    match local {
        IpAddr::V4(v4) => {
            ies.extend_from_slice(&[133, 0, 4]);
            ies.extend_from_slice(&v4.octets());
        }
        IpAddr::V6(v6) => {
            ies.extend_from_slice(&[133, 0, 16]);
            ies.extend_from_slice(&v6.octets());
        }
    }
    let length = u8::try_from(ies.len() + 4).unwrap_or(u8::MAX);
    let mut message = vec![0x32, 26, 0, length, 0, 0, 0, 0, 0, 0, 0, 0];
    message.extend_from_slice(&ies);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut message = uplink_header(7, 9, 3).unwrap().to_vec();
        message.extend_from_slice(&[1, 2, 3]);
        assert_eq!(read(&message), Some(Received::GPdu { teid: 7, packet: &[1, 2, 3] }));
        assert_eq!(
            read(&error_indication(5, [127, 0, 0, 1].into())),
            Some(Received::ErrorIndication { teid: Some(5) })
        );
        assert_eq!(read(&echo_response(3)), Some(Received::Other));
        assert_eq!(read(&[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 9, 0, 0]), Some(Received::EchoRequest { sequence: 9 }));
        assert_eq!(read(&[0x30, 254, 0, 0, 0, 0, 0, 4]), Some(Received::EndMarker { teid: 4 }));
    }

    #[test]
    fn what_is_cut_short_is_no_message() {
        let mut message = uplink_header(7, 9, 3).unwrap().to_vec();
        message.extend_from_slice(&[1, 2, 3]);
        for length in 0..message.len() {
            assert_eq!(read(&message[..length]), None, "{length} octets");
        }
        let endless = [0x34, 0xff, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0x85, 0, 0, 0, 0];
        assert_eq!(read(&endless), None, "an extension header of length zero");
    }
}
