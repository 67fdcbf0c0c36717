//! GTP-U (TS 29.281): bytes in, values out, without an allocation on the user plane's path.
//!
//! ```
//! use martlet_gtpu::{GPdu, Message, PduSessionContainer, decode, g_pdu_header};
//!
//! let packet = [0x45, 0, 0, 4];
//! let container = PduSessionContainer::downlink(1);
//! let mut bytes =
//!     g_pdu_header(0x1234, Some(container), packet.len()).unwrap().as_slice().to_vec();
//! bytes.extend(packet);
//! let Message::GPdu(GPdu { teid, container, payload, .. }) = decode(&bytes).unwrap() else {
//!     unreachable!()
//! };
//! assert_eq!((teid, container.unwrap().qfi, payload), (0x1234, 1, &packet[..]));
//! ```
//!
//! # Errors
//!
//! [`DecodeError`] names the invalid part of the header. Such a packet is dropped; only an unknown
//! extension header that requires comprehension is answered.
//!
//! # Features
//!
//! None.
#![forbid(unsafe_code)]

mod container;
mod decode;
mod encode;

pub use container::{Direction, PduSessionContainer};
pub use decode::{DecodeError, GPdu, Message, decode};
pub use encode::{
    GPduHeader, echo_request, echo_response, end_marker, error_indication, g_pdu_header,
    supported_extension_headers,
};

/// UDP port of GTP-U (TS 29.281, 4.4.2.3).
pub const PORT: u16 = 2152;

/// Message types (TS 29.281, 6.1).
pub mod message_type {
    /// Echo Request.
    pub const ECHO_REQUEST: u8 = 1;
    /// Echo Response.
    pub const ECHO_RESPONSE: u8 = 2;
    /// Error Indication.
    pub const ERROR_INDICATION: u8 = 26;
    /// Supported Extension Headers Notification.
    pub const SUPPORTED_EXTENSION_HEADERS: u8 = 31;
    /// End Marker.
    pub const END_MARKER: u8 = 254;
    /// G-PDU.
    pub const G_PDU: u8 = 255;
}

/// Types of extension headers (TS 29.281, 5.2.1).
pub mod extension {
    /// No more extension headers.
    pub const NONE: u8 = 0x00;
    /// PDU session container (TS 38.415).
    pub const PDU_SESSION_CONTAINER: u8 = 0x85;
}

#[doc(hidden)]
pub fn fuzz_decode(data: &[u8]) {
    if let Ok(Message::GPdu(pdu)) = decode(data) {
        let again = g_pdu_header(pdu.teid, pdu.container, pdu.payload.len());
        let mut bytes =
            again.expect("it had the same length when it was decoded").as_slice().to_vec();
        bytes.extend_from_slice(pdu.payload);
        let Ok(Message::GPdu(back)) = decode(&bytes) else {
            panic!("what was encoded does not decode")
        };
        assert_eq!(
            (back.teid, back.container, back.payload),
            (pdu.teid, pdu.container, pdu.payload)
        );
    }
}
