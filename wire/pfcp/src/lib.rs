//! PFCP (TS 29.244): bytes in, values out.
//!
//! A [`Packet`] is a header with a [`Message`]; a message and a grouped information element are
//! structs whose members are information elements. Unknown elements are skipped (TS 29.244, 7.6); a
//! fault becomes a [`DecodeError`] with the cause for the response.
//!
//! ```
//! use martlet_pfcp::ie::RecoveryTimeStamp;
//! use martlet_pfcp::{HeartbeatRequest, HeartbeatResponse, Message, Packet};
//!
//! # fn main() -> Result<(), martlet_pfcp::DecodeError> {
//! let recovery = RecoveryTimeStamp(3_900_000_000);
//! let bytes = Packet::node(7, HeartbeatRequest { recovery }).encode();
//!
//! let request = Packet::decode(&bytes)?;
//! assert!(matches!(request.message, Message::HeartbeatRequest(_)));
//! let response = Packet::node(request.sequence, HeartbeatResponse { recovery }).encode();
//! assert_eq!(Packet::decode(&response)?.sequence, 7);
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//!
//! [`DecodeError`] has a variant for each clause of TS 29.244, 7.6, and the cause for the response.
//!
//! # Features
//!
//! None.
#![forbid(unsafe_code)]

mod error;
mod grouped;
mod header;
pub mod ie;
mod message;
pub mod transaction;

pub use error::DecodeError;
pub use grouped::{Ie, IeValue, elements};
pub use header::Header;
pub use message::*;

/// UDP port of PFCP (TS 29.244, 4.2.2).
pub const PORT: u16 = 8805;

#[doc(hidden)]
pub fn fuzz_decode(data: &[u8]) {
    if let Ok(packet) = Packet::decode(data) {
        let bytes = packet.encode();
        assert_eq!(
            Packet::decode(&bytes).as_ref(),
            Ok(&packet),
            "what was encoded reads differently"
        );
    }
}
