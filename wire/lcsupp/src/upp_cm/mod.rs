//! UPP-CM (TS 24.572, 10.3): how UE and LMF negotiate their connection, in the payload container
//! "UPP-CMI" of NAS.

mod address;
mod timer;

pub use address::LmfAddress;
pub use timer::BackOff;

use crate::codes::{cause, iei, upp_cm};
use crate::error::check;
use crate::message::lv;
use crate::{BindingIdentity, DecodeError, EncodeError};

/// Why a connection was not established (TS 24.572, 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Cause {
    /// The PDU session was not established.
    #[error("the PDU session was not established")]
    PduSessionFailure,
    /// The TLS handshake failed.
    #[error("the TLS handshake failed")]
    TlsFailure,
    /// The LMF rejected the binding, or did not answer it.
    #[error("the LMF did not accept the binding")]
    BindingFailure,
    /// The UE has no user plane.
    #[error("the user plane is not available")]
    UserPlaneNotAvailable,
    /// The connection to the source LMF is unknown.
    #[error("the connection to the source LMF is not known")]
    SourceConnectionNotFound,
    /// Anything else, including unknown codes.
    #[error("protocol error")]
    ProtocolError,
}

impl Cause {
    /// All causes.
    pub const ALL: [Cause; 6] = [
        Cause::PduSessionFailure,
        Cause::TlsFailure,
        Cause::BindingFailure,
        Cause::UserPlaneNotAvailable,
        Cause::SourceConnectionNotFound,
        Cause::ProtocolError,
    ];

    /// The code point.
    pub fn code(self) -> u8 {
        match self {
            Cause::PduSessionFailure => cause::PDU_SESSION_FAILURE,
            Cause::TlsFailure => cause::TLS_FAILURE,
            Cause::BindingFailure => cause::BINDING_FAILURE,
            Cause::UserPlaneNotAvailable => cause::USER_PLANE_NOT_AVAILABLE,
            Cause::SourceConnectionNotFound => cause::SOURCE_CONNECTION_NOT_FOUND,
            Cause::ProtocolError => cause::PROTOCOL_ERROR,
        }
    }

    /// The cause with a code point; `ProtocolError` if it is unknown.
    pub fn from_code(code: u8) -> Self {
        Self::ALL.into_iter().find(|cause| cause.code() == code).unwrap_or(Cause::ProtocolError)
    }
}

/// A USER PLANE CONNECTION … message (TS 24.572, 10.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UppCm {
    /// ESTABLISHMENT COMMAND, from the LMF.
    EstablishmentCommand {
        /// The identity with which the UE binds its connection.
        binding: BindingIdentity,
        /// The LMF's address; its port is configured.
        address: LmfAddress,
        /// The LMF that served the UE before, 1 to 255 bytes.
        source_lmf: Option<Vec<u8>>,
    },
    /// ESTABLISHMENT COMPLETE, from the UE.
    EstablishmentComplete,
    /// ESTABLISHMENT FAILURE, from the UE.
    EstablishmentFailure(Cause),
    /// ESTABLISHMENT REQUEST, from the UE.
    EstablishmentRequest,
    /// ESTABLISHMENT REJECT, from the LMF, with a back-off timer.
    EstablishmentReject(Option<BackOff>),
    /// RELEASE COMMAND, from the LMF, with a back-off timer.
    ReleaseCommand(Option<BackOff>),
    /// RELEASE COMPLETE, from the UE.
    ReleaseComplete,
    /// RELEASE REQUEST, from the UE.
    ReleaseRequest(Option<Cause>),
    /// MODIFICATION COMMAND, from the LMF: the LMF that served the UE before.
    ModificationCommand(Option<Vec<u8>>),
    /// MODIFICATION COMPLETE, from the UE.
    ModificationComplete,
    /// MODIFICATION REJECT, from the UE.
    ModificationReject(Cause),
}

/// The optional elements, in any order.
#[derive(Debug, Default)]
struct Options {
    back_off: Option<BackOff>,
    cause: Option<Cause>,
    source_lmf: Option<Vec<u8>>,
}

impl Options {
    /// Unknown IEs are skipped unless comprehension is required; of a repeated IE the first one
    /// counts (TS 24.007, 11.2.4 and 11.2.5). IEs that the message does not define are unknown.
    fn read(mut bytes: &[u8], known: &[u8]) -> Result<Self, DecodeError> {
        let mut options = Options::default();
        while let Some((&identifier, rest)) = bytes.split_first() {
            let (value, behind) = match identifier {
                // One octet, of which the low half is the value.
                0x80.. => (&[][..], rest),
                // TV, one octet.
                iei::FAILURE_CAUSE => rest.split_at_checked(1).ok_or(DecodeError::Truncated)?,
                _ => lv(rest)?,
            };
            match identifier {
                iei::BACK_OFF_TIMER if known.contains(&identifier) => {
                    let &[octet] = value else {
                        return Err(DecodeError::Length {
                            element: "the back-off timer",
                            length: value.len(),
                        });
                    };
                    options.back_off.get_or_insert(BackOff::from_octet(octet));
                }
                iei::FAILURE_CAUSE if known.contains(&identifier) => {
                    options.cause.get_or_insert(Cause::from_code(value[0]));
                }
                iei::SOURCE_LMF_ROUTING_IDENTITY if known.contains(&identifier) => {
                    if value.is_empty() {
                        return Err(DecodeError::Length {
                            element: "the source LMF routing identity",
                            length: 0,
                        });
                    }
                    options.source_lmf.get_or_insert_with(|| value.to_vec());
                }
                // Comprehension required: bits 8 to 5 are zero.
                0x00..=0x0f => return Err(DecodeError::NotUnderstood(identifier)),
                _ => {}
            }
            bytes = behind;
        }
        Ok(options)
    }
}

impl UppCm {
    /// Decodes the content of a payload container.
    ///
    /// # Errors
    /// The bytes are not a message of UPP-CM.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (&kind, rest) = bytes.split_first().ok_or(DecodeError::Truncated)?;
        let cause = || {
            let (&code, behind) = rest.split_first().ok_or(DecodeError::Truncated)?;
            Options::read(behind, &[])?;
            Ok(Cause::from_code(code))
        };
        let options = |known: &[u8]| Options::read(rest, known);
        Ok(match kind {
            upp_cm::ESTABLISHMENT_COMMAND => {
                let (binding, rest) = lv(rest)?;
                let (address, rest) = lv(rest)?;
                UppCm::EstablishmentCommand {
                    binding: BindingIdentity::read(binding)?,
                    address: LmfAddress::read(address)?,
                    source_lmf: Options::read(rest, &[iei::SOURCE_LMF_ROUTING_IDENTITY])?
                        .source_lmf,
                }
            }
            upp_cm::ESTABLISHMENT_COMPLETE => options(&[]).map(|_| UppCm::EstablishmentComplete)?,
            upp_cm::ESTABLISHMENT_FAILURE => UppCm::EstablishmentFailure(cause()?),
            upp_cm::ESTABLISHMENT_REQUEST => options(&[]).map(|_| UppCm::EstablishmentRequest)?,
            upp_cm::ESTABLISHMENT_REJECT => {
                UppCm::EstablishmentReject(options(&[iei::BACK_OFF_TIMER])?.back_off)
            }
            upp_cm::RELEASE_COMMAND => {
                UppCm::ReleaseCommand(options(&[iei::BACK_OFF_TIMER])?.back_off)
            }
            upp_cm::RELEASE_COMPLETE => options(&[]).map(|_| UppCm::ReleaseComplete)?,
            upp_cm::RELEASE_REQUEST => UppCm::ReleaseRequest(options(&[iei::FAILURE_CAUSE])?.cause),
            upp_cm::MODIFICATION_COMMAND => {
                UppCm::ModificationCommand(options(&[iei::SOURCE_LMF_ROUTING_IDENTITY])?.source_lmf)
            }
            upp_cm::MODIFICATION_COMPLETE => options(&[]).map(|_| UppCm::ModificationComplete)?,
            upp_cm::MODIFICATION_REJECT => UppCm::ModificationReject(cause()?),
            other => return Err(DecodeError::MessageType(other)),
        })
    }

    /// Encodes the message for a payload container.
    ///
    /// # Errors
    /// An element is too long or too short for its length field.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut out = vec![self.code()];
        let mut push_lv = |value: &[u8]| {
            // Each value was checked to fit one octet.
            out.push(value.len() as u8);
            out.extend_from_slice(value);
        };
        let mut source = None;
        match self {
            UppCm::EstablishmentCommand { binding, address, source_lmf } => {
                push_lv(binding.as_octets());
                push_lv(&address.write()?);
                source = source_lmf.as_deref();
            }
            UppCm::EstablishmentFailure(cause) | UppCm::ModificationReject(cause) => {
                out.push(cause.code())
            }
            UppCm::EstablishmentReject(Some(timer)) | UppCm::ReleaseCommand(Some(timer)) => {
                out.extend([iei::BACK_OFF_TIMER, 1, timer.octet()]);
            }
            UppCm::ReleaseRequest(Some(cause)) => out.extend([iei::FAILURE_CAUSE, cause.code()]),
            UppCm::ModificationCommand(source_lmf) => source = source_lmf.as_deref(),
            UppCm::EstablishmentReject(None)
            | UppCm::ReleaseCommand(None)
            | UppCm::ReleaseRequest(None)
            | UppCm::EstablishmentComplete
            | UppCm::EstablishmentRequest
            | UppCm::ReleaseComplete
            | UppCm::ModificationComplete => {}
        }
        if let Some(source) = source {
            check("the source LMF routing identity", source.len(), 1, 255)?;
            out.extend([iei::SOURCE_LMF_ROUTING_IDENTITY, source.len() as u8]);
            out.extend_from_slice(source);
        }
        Ok(out)
    }

    fn code(&self) -> u8 {
        match self {
            UppCm::EstablishmentCommand { .. } => upp_cm::ESTABLISHMENT_COMMAND,
            UppCm::EstablishmentComplete => upp_cm::ESTABLISHMENT_COMPLETE,
            UppCm::EstablishmentFailure(_) => upp_cm::ESTABLISHMENT_FAILURE,
            UppCm::EstablishmentRequest => upp_cm::ESTABLISHMENT_REQUEST,
            UppCm::EstablishmentReject(_) => upp_cm::ESTABLISHMENT_REJECT,
            UppCm::ReleaseCommand(_) => upp_cm::RELEASE_COMMAND,
            UppCm::ReleaseComplete => upp_cm::RELEASE_COMPLETE,
            UppCm::ReleaseRequest(_) => upp_cm::RELEASE_REQUEST,
            UppCm::ModificationCommand(_) => upp_cm::MODIFICATION_COMMAND,
            UppCm::ModificationComplete => upp_cm::MODIFICATION_COMPLETE,
            UppCm::ModificationReject(_) => upp_cm::MODIFICATION_REJECT,
        }
    }

    /// The name that TS 24.572 gives the message.
    pub fn name(&self) -> &'static str {
        match self {
            UppCm::EstablishmentCommand { .. } => "USER PLANE CONNECTION ESTABLISHMENT COMMAND",
            UppCm::EstablishmentComplete => "USER PLANE CONNECTION ESTABLISHMENT COMPLETE",
            UppCm::EstablishmentFailure(_) => "USER PLANE CONNECTION ESTABLISHMENT FAILURE",
            UppCm::EstablishmentRequest => "USER PLANE CONNECTION ESTABLISHMENT REQUEST",
            UppCm::EstablishmentReject(_) => "USER PLANE CONNECTION ESTABLISHMENT REJECT",
            UppCm::ReleaseCommand(_) => "USER PLANE CONNECTION RELEASE COMMAND",
            UppCm::ReleaseComplete => "USER PLANE CONNECTION RELEASE COMPLETE",
            UppCm::ReleaseRequest(_) => "USER PLANE CONNECTION RELEASE REQUEST",
            UppCm::ModificationCommand(_) => "USER PLANE CONNECTION MODIFICATION COMMAND",
            UppCm::ModificationComplete => "USER PLANE CONNECTION MODIFICATION COMPLETE",
            UppCm::ModificationReject(_) => "USER PLANE CONNECTION MODIFICATION REJECT",
        }
    }
}
