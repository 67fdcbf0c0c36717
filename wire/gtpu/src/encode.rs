//! Writing messages (TS 29.281, 5 and 7).
use crate::{PduSessionContainer, extension, message_type};
use std::net::IpAddr;

/// Version 1, protocol type GTP.
const FLAGS: u8 = 0x30;
const WITH_EXTENSION: u8 = 0x04;
const WITH_SEQUENCE: u8 = 0x02;

/// The header of a G-PDU, which precedes the packet.
#[derive(Debug, Clone, Copy)]
pub struct GPduHeader {
    bytes: [u8; 20],
    length: usize,
}

impl GPduHeader {
    /// Length in bytes of the longest header that [`g_pdu_header`] makes.
    pub const LONGEST: usize = 20;

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The header of a G-PDU for a packet of `payload` bytes; `None` where the length field cannot hold
/// it.
pub fn g_pdu_header(
    teid: u32,
    container: Option<PduSessionContainer>,
    payload: usize,
) -> Option<GPduHeader> {
    let mut bytes = [0; 20];
    let mut length = 8;
    bytes[0] = FLAGS;
    bytes[1] = message_type::G_PDU;
    bytes[4..8].copy_from_slice(&teid.to_be_bytes());
    if let Some(container) = container {
        bytes[0] |= WITH_EXTENSION;
        bytes[11] = extension::PDU_SESSION_CONTAINER;
        let (written, used) = container.write();
        bytes[12..12 + used].copy_from_slice(&written[..used]);
        // The octet after it: no further extension header.
        length = 12 + used + 1;
    }
    let counted = u16::try_from(length - 8 + payload).ok()?;
    bytes[2..4].copy_from_slice(&counted.to_be_bytes());
    Some(GPduHeader { bytes, length })
}

fn signalling(kind: u8, teid: u32, sequence: u16, body: &[u8]) -> Vec<u8> {
    // The bodies of signalling messages are a handful of bytes.
    let length = (body.len() + 4) as u16;
    let mut out = vec![FLAGS | WITH_SEQUENCE, kind];
    out.extend(length.to_be_bytes());
    out.extend(teid.to_be_bytes());
    out.extend(sequence.to_be_bytes());
    out.extend([0, 0]);
    out.extend(body);
    out
}

/// An Echo Request (TS 29.281, 7.2.1).
pub fn echo_request(sequence: u16) -> Vec<u8> {
    signalling(message_type::ECHO_REQUEST, 0, sequence, &[])
}

/// An Echo Response with its Recovery element, which is 0 in GTP-U (TS 29.281, 7.2.2 and 8.2).
pub fn echo_response(sequence: u16) -> Vec<u8> {
    signalling(message_type::ECHO_RESPONSE, 0, sequence, &[14, 0])
}

/// An Error Indication for a packet that `peer` received with an unknown TEID (TS 29.281, 7.3.1).
pub fn error_indication(teid: u32, peer: IpAddr) -> Vec<u8> {
    let mut body = vec![16];
    body.extend(teid.to_be_bytes());
    let address = match peer {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    body.push(133);
    body.extend((address.len() as u16).to_be_bytes());
    body.extend(address);
    signalling(message_type::ERROR_INDICATION, 0, 0, &body)
}

/// The list of supported extension headers (TS 29.281, 7.2.3).
pub fn supported_extension_headers(sequence: u16) -> Vec<u8> {
    let body = [141, 1, extension::PDU_SESSION_CONTAINER];
    signalling(message_type::SUPPORTED_EXTENSION_HEADERS, 0, sequence, &body)
}

/// An End Marker (TS 29.281, 7.3.2).
pub fn end_marker(teid: u32, container: Option<PduSessionContainer>) -> Vec<u8> {
    // An empty packet always fits.
    let header = g_pdu_header(teid, container, 0).map(|header| header.as_slice().to_vec());
    let mut bytes = header.unwrap_or_default();
    if let Some(kind) = bytes.get_mut(1) {
        *kind = message_type::END_MARKER;
    }
    bytes
}
