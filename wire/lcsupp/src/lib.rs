//! LCS-UPP and UPP-CM (TS 24.572): bytes in, values out.
//!
//! - [`Message`] is what UE and LMF exchange over the user plane, inside TLS: the transport of
//!   positioning messages ([`Transport`]) and the binding of a connection to its UE.
//! - [`Framer`] finds the messages in a stream of bytes: they have no outer length, and are
//!   independent of TLS records.
//! - [`upp_cm::UppCm`] is what they exchange over NAS to establish the connection, change it and
//!   take it down.
//!
//! Every code point is in [`codes`], with its clause.
//!
//! ```
//! use martlet_lcsupp::{Framer, Message, PayloadType, Transport};
//!
//! let transport =
//!     Transport { payload_type: PayloadType::Lpp, payload: &[0, 2, 0xf0, 0x02], session: b"7" };
//! let bytes = Message::Uplink(transport).encode().unwrap();
//! assert_eq!(bytes, [0x41, 1, 0, 4, 0, 2, 0xf0, 0x02, 1, b'7']);
//!
//! let mut framer = Framer::new();
//! framer.push(&bytes[..5]);
//! assert_eq!(framer.next(), Ok(None));
//! framer.push(&bytes[5..]);
//! assert_eq!(framer.next(), Ok(Some(Message::Uplink(transport))));
//! ```
//!
//! # Errors
//!
//! [`DecodeError`] names the element that is wrong. After one, [`Framer::next`] returns it for all
//! further calls. [`EncodeError`] names the bound that a value exceeds.
//!
//! # Features
//!
//! None.
#![forbid(unsafe_code)]

pub mod codes;
mod error;
mod framer;
mod lpp_payload;
mod message;
pub mod upp_cm;

pub use error::{DecodeError, EncodeError};
pub use framer::Framer;
pub use lpp_payload::{LARGEST_LPP_MESSAGE, lpp_messages, push_lpp_message};
pub use message::{
    BindingIdentity, LARGEST_MESSAGE, Message, PayloadType, SESSION_PARAMETERS, Transport,
};

#[doc(hidden)]
pub fn fuzz_decode(data: &[u8]) {
    if let Ok((message, used)) = Message::decode(data) {
        let bytes = message.encode().expect("what was read can be written");
        assert_eq!(
            Message::decode(&bytes),
            Ok((message.clone(), bytes.len())),
            "what was encoded reads differently"
        );
        // The spare half octet aside, a message has one form.
        assert_eq!(bytes.len(), used);
        if let Message::Uplink(transport) | Message::Downlink(transport) = message {
            let _ = lpp_messages(transport.payload).map(|messages| messages.count());
        }
    }
    if let Ok(message) = upp_cm::UppCm::decode(data) {
        let bytes = message.encode().expect("what was read can be written");
        assert_eq!(
            upp_cm::UppCm::decode(&bytes),
            Ok(message),
            "what was encoded reads differently"
        );
    }
    // In pieces of seven bytes the messages are the same as at once.
    let (mut at_once, mut in_pieces) = (Framer::new(), Framer::new());
    at_once.push(data);
    let mut pieces = data.chunks(7);
    loop {
        let expected = at_once.next().map(|message| message.map(|message| message.encode()));
        let found = loop {
            match in_pieces.next().map(|message| message.map(|message| message.encode())) {
                Ok(None) => match pieces.next() {
                    Some(piece) => in_pieces.push(piece),
                    None => break Ok(None),
                },
                found => break found,
            }
        };
        assert_eq!(found, expected, "pieces change what is read");
        if !matches!(expected, Ok(Some(_))) {
            break;
        }
    }
}
