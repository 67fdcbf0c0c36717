//! The messages of LCS-UPP (TS 24.572, 10.2).

use crate::codes::{lcs_upp, payload};
use crate::error::check;
use crate::{DecodeError, EncodeError};

/// Size in bytes of the largest message: a transport with the largest payload and the largest
/// session identity.
pub const LARGEST_MESSAGE: usize = 1 + 1 + (2 + LARGEST_PAYLOAD) + SESSION_PARAMETERS;
/// Size in bytes of the largest session identity, with its length.
pub const SESSION_PARAMETERS: usize = 1 + LARGEST_IDENTITY;
pub(crate) const LARGEST_PAYLOAD: usize = 65_535;
const LARGEST_IDENTITY: usize = 255;
/// Minimum size of a binding identity in bytes.
const MIN_BINDING: usize = 4;

/// The payload type of a transport message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PayloadType {
    /// LPP messages (TS 37.355), each preceded by its length: see [`crate::lpp_messages`].
    Lpp,
    /// A message of location services.
    Lcs,
}

impl PayloadType {
    /// The code point (TS 24.572, 11).
    pub fn code(self) -> u8 {
        match self {
            PayloadType::Lpp => payload::LPP,
            PayloadType::Lcs => payload::LCS,
        }
    }

    /// The type with a code point; `None` if it is unknown.
    pub fn from_code(code: u8) -> Option<Self> {
        match code {
            payload::LPP => Some(PayloadType::Lpp),
            payload::LCS => Some(PayloadType::Lcs),
            _ => None,
        }
    }
}

/// UL or DL LCS-UP TRANSPORT (TS 24.572, 10.2.1 and 10.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Transport<'a> {
    /// Type of the payload.
    pub payload_type: PayloadType,
    /// The payload, 1 to 65,535 bytes.
    pub payload: &'a [u8],
    /// The LCS session identity, up to 255 bytes: that of the location request at the LMF.
    pub session: &'a [u8],
}

impl<'a> Transport<'a> {
    fn read(bytes: &'a [u8]) -> Result<(Self, usize), DecodeError> {
        let &[_, kind, high, low, ref rest @ ..] = bytes else {
            // A fault in the first bytes is reported before the others arrive.
            if let Some(&kind) = bytes.get(1) {
                PayloadType::from_code(kind & 0x0f).ok_or(DecodeError::PayloadType(kind & 0x0f))?;
            }
            return Err(DecodeError::Truncated);
        };
        let payload_type =
            PayloadType::from_code(kind & 0x0f).ok_or(DecodeError::PayloadType(kind & 0x0f))?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length == 0 {
            return Err(DecodeError::Length { element: "the payload", length });
        }
        let (payload, rest) = rest.split_at_checked(length).ok_or(DecodeError::Truncated)?;
        let (session, rest) = lv(rest)?;
        Ok((Transport { payload_type, payload, session }, bytes.len() - rest.len()))
    }

    fn write(&self, kind: u8, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        check("the payload", self.payload.len(), 1, LARGEST_PAYLOAD)?;
        check("the LCS session identity", self.session.len(), 0, LARGEST_IDENTITY)?;
        out.reserve(5 + self.payload.len() + self.session.len());
        out.extend([kind, self.payload_type.code()]);
        // Checked above to fit.
        out.extend((self.payload.len() as u16).to_be_bytes());
        out.extend_from_slice(self.payload);
        out.push(self.session.len() as u8);
        out.extend_from_slice(self.session);
        Ok(())
    }
}

/// The identity that the LMF assigned to a UE over NAS for its connection: 4 to 255 bytes. It
/// authenticates the UE, so logs do not show it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BindingIdentity(Vec<u8>);

impl BindingIdentity {
    /// An identity of these bytes.
    ///
    /// # Errors
    /// `bytes` has fewer than 4 or more than 255 bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, EncodeError> {
        let bytes = bytes.into();
        check("the binding identity", bytes.len(), MIN_BINDING, LARGEST_IDENTITY)?;
        Ok(Self(bytes))
    }

    /// The bytes of the identity.
    pub fn as_octets(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() < MIN_BINDING {
            return Err(DecodeError::Length {
                element: "the binding identity",
                length: bytes.len(),
            });
        }
        Ok(Self(bytes.to_vec()))
    }
}

impl std::fmt::Debug for BindingIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BindingIdentity({} bytes)", self.0.len())
    }
}

/// A message (TS 24.572, 10.2).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Message<'a> {
    /// UL LCS-UP TRANSPORT, from the UE.
    Uplink(Transport<'a>),
    /// DL LCS-UP TRANSPORT, from the LMF.
    Downlink(Transport<'a>),
    /// LCS-UP CONNECTION BINDING REQUEST, from the UE.
    BindingRequest(BindingIdentity),
    /// LCS-UP CONNECTION BINDING ACCEPT, from the LMF.
    BindingAccept,
    /// LCS-UP CONNECTION BINDING REJECT, from the LMF.
    BindingReject,
}

impl<'a> Message<'a> {
    /// Decodes the first message in `bytes`. Returns its length in bytes, too.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`] where more bytes could complete the message. After another error
    /// a stream cannot be decoded further, since the start of the next message is unknown.
    pub fn decode(bytes: &'a [u8]) -> Result<(Self, usize), DecodeError> {
        let &kind = bytes.first().ok_or(DecodeError::Truncated)?;
        match kind {
            lcs_upp::UL_LCS_UP_TRANSPORT => {
                Transport::read(bytes).map(|(it, used)| (Message::Uplink(it), used))
            }
            lcs_upp::DL_LCS_UP_TRANSPORT => {
                Transport::read(bytes).map(|(it, used)| (Message::Downlink(it), used))
            }
            lcs_upp::CONNECTION_BINDING_REQUEST => {
                if let Some(&length) =
                    bytes.get(1).filter(|&&length| usize::from(length) < MIN_BINDING)
                {
                    return Err(DecodeError::Length {
                        element: "the binding identity",
                        length: length.into(),
                    });
                }
                let (identity, _) = lv(&bytes[1..])?;
                Ok((Message::BindingRequest(BindingIdentity::read(identity)?), 2 + identity.len()))
            }
            lcs_upp::CONNECTION_BINDING_ACCEPT => Ok((Message::BindingAccept, 1)),
            lcs_upp::CONNECTION_BINDING_REJECT => Ok((Message::BindingReject, 1)),
            other => Err(DecodeError::MessageType(other)),
        }
    }

    /// Encodes the message.
    ///
    /// # Errors
    /// An element is too long or too short for its length field.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut out = Vec::new();
        self.encode_into(&mut out)?;
        Ok(out)
    }

    /// Appends the encoded message to `out`. On an error `out` is unchanged.
    ///
    /// # Errors
    /// An element is too long or too short for its length field.
    pub fn encode_into(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Message::Uplink(transport) => transport.write(lcs_upp::UL_LCS_UP_TRANSPORT, out)?,
            Message::Downlink(transport) => transport.write(lcs_upp::DL_LCS_UP_TRANSPORT, out)?,
            Message::BindingRequest(identity) => {
                // A binding identity fits: it was checked when it was made.
                out.extend([lcs_upp::CONNECTION_BINDING_REQUEST, identity.0.len() as u8]);
                out.extend_from_slice(&identity.0);
            }
            Message::BindingAccept => out.push(lcs_upp::CONNECTION_BINDING_ACCEPT),
            Message::BindingReject => out.push(lcs_upp::CONNECTION_BINDING_REJECT),
        }
        Ok(())
    }

    /// The name that TS 24.572 gives the message.
    pub fn name(&self) -> &'static str {
        match self {
            Message::Uplink(_) => "UL LCS-UP TRANSPORT",
            Message::Downlink(_) => "DL LCS-UP TRANSPORT",
            Message::BindingRequest(_) => "LCS-UP CONNECTION BINDING REQUEST",
            Message::BindingAccept => "LCS-UP CONNECTION BINDING ACCEPT",
            Message::BindingReject => "LCS-UP CONNECTION BINDING REJECT",
        }
    }
}

/// Splits off a value preceded by its length in one octet.
pub(crate) fn lv(bytes: &[u8]) -> Result<(&[u8], &[u8]), DecodeError> {
    let (&length, rest) = bytes.split_first().ok_or(DecodeError::Truncated)?;
    rest.split_at_checked(length.into()).ok_or(DecodeError::Truncated)
}
