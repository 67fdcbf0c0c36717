//! Reading messages (TS 29.281, 5 and 7).
use crate::{PduSessionContainer, extension, message_type};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Limit of extension headers in one message.
const MAX_EXTENSIONS: usize = 8;

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message<'a> {
    /// A packet of a UE.
    GPdu(GPdu<'a>),
    /// Echo Request: to be answered with an Echo Response.
    EchoRequest {
        /// Sequence number, to be copied to the response.
        sequence: u16,
    },
    /// Echo Response: the peer is reachable.
    EchoResponse {
        /// Sequence number of the request.
        sequence: u16,
    },
    /// Error Indication: the peer has no such tunnel endpoint.
    ErrorIndication {
        /// The TEID of the packet that was not expected.
        teid: u32,
        /// The address to which it was sent.
        peer: IpAddr,
    },
    /// End Marker: the sender sends no further packets in this tunnel.
    EndMarker {
        /// The tunnel endpoint.
        teid: u32,
    },
    /// The extension header types that the peer supports.
    SupportedExtensionHeaders(&'a [u8]),
    /// A message of another type, to be ignored (TS 29.281, 11.2).
    Other(u8),
}

/// A packet of a UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GPdu<'a> {
    /// Tunnel endpoint identifier of the receiver.
    pub teid: u32,
    /// Sequence number, where there is one.
    pub sequence: Option<u16>,
    /// PDU session container, where there is one.
    pub container: Option<PduSessionContainer>,
    /// The packet.
    pub payload: &'a [u8],
}

/// Why bytes are not a message. Only an unknown extension header is answered (TS 29.281, 11.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the header or the length field requires.
    #[error("the message is truncated")]
    Truncated,
    /// Not version 1, or GTP'.
    #[error("not GTP version 1")]
    Version,
    /// An extension header of length 0, or too many of them.
    #[error("the chain of extension headers has a zero length or is too long")]
    Chain,
    /// An unknown extension header that requires comprehension (TS 29.281, 5.2.1): answer with the
    /// list of supported ones.
    #[error("extension header {0:#04x} is unknown and requires comprehension")]
    UnknownExtension(u8),
    /// A mandatory information element is missing.
    #[error("a mandatory information element is missing")]
    MissingElement,
}

/// Decodes a message. Bytes after its length are ignored.
pub fn decode(bytes: &[u8]) -> Result<Message<'_>, DecodeError> {
    let (header, rest) = bytes.split_first_chunk::<8>().ok_or(DecodeError::Truncated)?;
    let [flags, kind, l1, l2, t1, t2, t3, t4] = *header;
    // Version 1 and protocol type GTP.
    if flags >> 5 != 1 || flags & 0x10 == 0 {
        return Err(DecodeError::Version);
    }
    let body =
        rest.get(..usize::from(u16::from_be_bytes([l1, l2]))).ok_or(DecodeError::Truncated)?;
    let teid = u32::from_be_bytes([t1, t2, t3, t4]);
    let (sequence, container, body) = match flags & 0x07 {
        0 => (None, None, body),
        present => optional_fields(present, body)?,
    };
    Ok(match kind {
        message_type::G_PDU => Message::GPdu(GPdu { teid, sequence, container, payload: body }),
        message_type::ECHO_REQUEST => Message::EchoRequest { sequence: sequence.unwrap_or(0) },
        message_type::ECHO_RESPONSE => Message::EchoResponse { sequence: sequence.unwrap_or(0) },
        message_type::END_MARKER => Message::EndMarker { teid },
        message_type::ERROR_INDICATION => error_indication(body)?,
        message_type::SUPPORTED_EXTENSION_HEADERS => match body {
            [141, length, list @ ..] => Message::SupportedExtensionHeaders(
                list.get(..usize::from(*length)).ok_or(DecodeError::Truncated)?,
            ),
            _ => return Err(DecodeError::MissingElement),
        },
        other => Message::Other(other),
    })
}

type Optional<'a> = (Option<u16>, Option<PduSessionContainer>, &'a [u8]);

/// Sequence number, N-PDU number and extension headers; `present` are the flags E, S and PN.
fn optional_fields(present: u8, body: &[u8]) -> Result<Optional<'_>, DecodeError> {
    let ([s1, s2, _n_pdu, next], mut rest) =
        body.split_first_chunk::<4>().ok_or(DecodeError::Truncated)?;
    let sequence = (present & 0x02 != 0).then_some(u16::from_be_bytes([*s1, *s2]));
    let mut container = None;
    let mut next = if present & 0x04 != 0 { *next } else { extension::NONE };
    for _ in 0..MAX_EXTENSIONS {
        if next == extension::NONE {
            return Ok((sequence, container, rest));
        }
        let length = usize::from(*rest.first().ok_or(DecodeError::Truncated)?) * 4;
        if length == 0 {
            return Err(DecodeError::Chain);
        }
        let header = rest.get(..length).ok_or(DecodeError::Truncated)?;
        let content = &header[1..length - 1];
        match next {
            extension::PDU_SESSION_CONTAINER => {
                container = PduSessionContainer::read(content).or(container)
            }
            // The highest bit requires comprehension by an endpoint (TS 29.281, figure 5.2.1-2: 10
            // and 11).
            unknown if unknown & 0x80 != 0 => return Err(DecodeError::UnknownExtension(unknown)),
            _ => {}
        }
        next = header[length - 1];
        rest = &rest[length..];
    }
    if next == extension::NONE { Ok((sequence, container, rest)) } else { Err(DecodeError::Chain) }
}

/// The elements of an Error Indication (TS 29.281, 7.3.1).
fn error_indication(mut body: &[u8]) -> Result<Message<'_>, DecodeError> {
    let (mut teid, mut peer) = (None, None);
    while let Some((&kind, rest)) = body.split_first() {
        // Types below 128 have a fixed length; others have a length field.
        let (value, after) = match kind {
            16 => rest.split_at_checked(4).ok_or(DecodeError::Truncated)?,
            14 => rest.split_at_checked(1).ok_or(DecodeError::Truncated)?,
            128.. => {
                let (length, rest) = rest.split_first_chunk::<2>().ok_or(DecodeError::Truncated)?;
                rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
                    .ok_or(DecodeError::Truncated)?
            }
            _ => break,
        };
        match (kind, value) {
            (16, &[a, b, c, d]) => teid = Some(u32::from_be_bytes([a, b, c, d])),
            (133, address) => {
                let v4 = <[u8; 4]>::try_from(address).map(|a| IpAddr::V4(Ipv4Addr::from(a)));
                let v6 = <[u8; 16]>::try_from(address).map(|a| IpAddr::V6(Ipv6Addr::from(a)));
                peer = v4.or(v6).ok();
            }
            _ => {}
        }
        body = after;
    }
    match (teid, peer) {
        (Some(teid), Some(peer)) => Ok(Message::ErrorIndication { teid, peer }),
        _ => Err(DecodeError::MissingElement),
    }
}
