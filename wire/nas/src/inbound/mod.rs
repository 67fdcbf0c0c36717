//! Whether a received message is processed: integrity, replay, and messages that may be unprotected
//! (TS 24.501, 4.4.4).
//!
//! The receiver passes the security context of the UE, if there is one, and whether "secure
//! exchange of NAS messages" has been established (TS 24.501, 4.4.2.5: the AMF after a message of
//! the UE passed the integrity check; the UE after SECURITY MODE COMMAND, or after the first answer
//! that passed it).
//!
//! A protected message is accepted once: each NAS COUNT is used once (4.4.3.2), so a replay fails
//! its integrity check. The null integrity algorithm checks nothing.

use crate::reaction::{DecodeReaction, of_procedure, reaction};
use crate::{
    Direction, GmmCause, MobileIdentityType, Nas5gmmMessage, Nas5gsMessage,
    Nas5gsSecurityHeaderType, NasCount, NasError, NasSecurityContext,
};

/// How far the sender of a message is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assurance {
    /// The message passed the integrity check of the context.
    Verified {
        /// The security header type.
        header: Nas5gsSecurityHeaderType,
        /// Its NAS COUNT: the uplink one that K_gNB is derived with (TS 33.501, A.9) where the
        /// message starts AS security.
        count: NasCount,
    },
    /// The message has a security header that could not be verified, and is one that is processed
    /// nevertheless (4.4.4.3). Its content is not authenticated.
    Unverified,
    /// The message has no security header, and is one that needs none. Its content is not
    /// authenticated.
    Plain,
}

/// A message to process.
#[derive(Debug, Clone, PartialEq)]
pub struct Inbound {
    /// The message, plain and complete: for an initial NAS message with a ciphered NAS message
    /// container, that of the container (4.4.6).
    pub message: Nas5gsMessage,
    /// How far its sender is verified.
    pub assurance: Assurance,
    /// The initial NAS message as it was sent, with its cleartext information elements alone,
    /// where `message` is that of its container.
    pub cleartext: Option<Nas5gsMessage>,
}

impl Inbound {
    /// Whether the message passed the integrity check.
    pub fn is_verified(&self) -> bool {
        matches!(self.assurance, Assurance::Verified { .. })
    }
}

/// Why a message is not processed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The integrity check failed: another key, a changed message, or a replay.
    #[error("the integrity check failed: another key, a changed message, or a replay")]
    Integrity,
    /// The message is protected, and there is no security context for it.
    #[error("the message is protected, and there is no security context for it")]
    NoContext,
    /// The message is unprotected where protection is required.
    #[error("{0} is unprotected, but has to be protected")]
    Unprotected(String),
    /// The message does not decode.
    #[error("{0}")]
    Malformed(NasError),
    /// It has an unknown information element that is "comprehension required" (TS 24.007, 11.2.5).
    #[error("unknown information element {0:#04x} that requires comprehension")]
    NotComprehended(u8),
    /// Every NAS COUNT of the context was used: authenticate again.
    #[error("every NAS COUNT of the security context was used")]
    Exhausted,
}

impl Refusal {
    /// A short name for metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Integrity => "integrity",
            Self::NoContext => "no_context",
            Self::Unprotected(_) => "unprotected",
            Self::Malformed(_) => "malformed",
            Self::NotComprehended(_) => "not_comprehended",
            Self::Exhausted => "exhausted",
        }
    }
}

/// A message that is not processed, and the answer to send, if any.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct Refused {
    /// Why.
    pub reason: Refusal,
    /// The answer by TS 24.501, 7, unprotected: protect it as any other message of the connection.
    pub answer: Option<Box<Nas5gsMessage>>,
    /// Whether the message passed the integrity check, so that the fault is the peer's own.
    pub authentic: bool,
}

impl Refused {
    fn silently(reason: Refusal) -> Self {
        Self { reason, answer: None, authentic: false }
    }

    fn malformed(bytes: &[u8], error: NasError, direction: Direction, authentic: bool) -> Self {
        let answer = match reaction(bytes, &error, direction) {
            DecodeReaction::Answer(answer) => Some(answer),
            DecodeReaction::Ignore => None,
        };
        Self { reason: Refusal::Malformed(error), answer, authentic }
    }
}

/// Processes `bytes` from a UE at the AMF (TS 24.501, 4.4.4.3). `context` is the UE's security
/// context, if the AMF has one; `secured`: secure exchange of NAS messages has been established on
/// this connection.
///
/// Answer a SERVICE REQUEST with [`Assurance::Unverified`] by SERVICE REJECT #9 (5.6.1.5), and such
/// a REGISTRATION REQUEST by an authentication.
pub fn from_ue(
    context: Option<&mut NasSecurityContext>,
    secured: bool,
    bytes: &[u8],
) -> Result<Inbound, Box<Refused>> {
    receive(context, secured, bytes, Direction::Uplink)
}

/// Processes `bytes` from the network at a UE (TS 24.501, 4.4.4.2).
///
/// A SECURITY MODE COMMAND is verified with the new context, which the caller builds from the
/// message's algorithms and ngKSI (5.4.2.3): decode it with [`Nas5gsMessage::decode`] first, which
/// reads the message under the header without verifying it.
pub fn from_network(
    context: Option<&mut NasSecurityContext>,
    secured: bool,
    bytes: &[u8],
) -> Result<Inbound, Box<Refused>> {
    receive(context, secured, bytes, Direction::Downlink)
}

fn receive(
    context: Option<&mut NasSecurityContext>,
    secured: bool,
    bytes: &[u8],
    direction: Direction,
) -> Result<Inbound, Box<Refused>> {
    let is_protected = matches!(bytes, [0x7e, header, ..] if header & 0x0f != 0);
    let inbound = match (is_protected, context) {
        (false, _) => plain(secured, bytes, direction)?,
        (true, None) => unverified(secured, bytes, direction, Refusal::NoContext)?,
        (true, Some(context)) => match context.unprotect(bytes, direction) {
            Ok(verified) => Inbound {
                message: verified.message,
                assurance: Assurance::Verified {
                    header: verified.security_header_type,
                    count: verified.count,
                },
                cleartext: verified.sent,
            },
            Err(NasError::IntegrityCheckFailed) => {
                unverified(secured, bytes, direction, Refusal::Integrity)?
            }
            Err(NasError::NasCountExhausted) => {
                return Err(Refused::silently(Refusal::Exhausted).into());
            }
            Err(error @ NasError::AuthenticMessageRefused { .. }) => {
                return Err(Refused::malformed(bytes, error, direction, true).into());
            }
            // A header that ends early, or a reserved header type: ignored (7.2.1, 7.7).
            Err(error) => return Err(Refused::silently(Refusal::Malformed(error)).into()),
        },
    };
    // Only the message under the header matters here: a container was decoded as a message of its
    // own.
    let required = inbound
        .message
        .unknown_ies()
        .iter()
        .find(|ie| ie.is_comprehension_required())
        .map(|ie| ie.iei);
    let Some(iei) = required else { return Ok(inbound) };
    let authentic = inbound.is_verified();
    let plain = inbound.message.encode().unwrap_or_default();
    let answer = Nas5gsMessage::answer_to(&plain, &Ok(inbound.message), direction)
        .map(|answer| of_procedure(&plain, answer, direction));
    Err(Refused { reason: Refusal::NotComprehended(iei), answer: answer.map(Box::new), authentic }
        .into())
}

/// A message without a security header.
fn plain(secured: bool, bytes: &[u8], direction: Direction) -> Result<Inbound, Box<Refused>> {
    let message = match Nas5gsMessage::decode(bytes) {
        Ok(message) => message,
        // Once exchange is secure, unprotected messages get no answer: anyone can send them.
        Err(error) if secured => return Err(Refused::silently(Refusal::Malformed(error)).into()),
        Err(error) => return Err(Refused::malformed(bytes, error, direction, false).into()),
    };
    match !secured && may_be_unprotected(&message, direction) {
        true => Ok(Inbound { message, assurance: Assurance::Plain, cleartext: None }),
        false => Err(Refused::silently(Refusal::Unprotected(name(&message))).into()),
    }
}

/// A message whose security header cannot be verified.
fn unverified(
    secured: bool,
    bytes: &[u8],
    direction: Direction,
    reason: Refusal,
) -> Result<Inbound, Box<Refused>> {
    if secured {
        return Err(Refused::silently(reason).into());
    }
    let message = match Nas5gsMessage::decode(bytes) {
        Ok(Nas5gsMessage::SecurityProtected(_, message)) => *message,
        Ok(_) | Err(_) => return Err(Refused::silently(reason).into()),
    };
    match may_be_unverified(&message, direction) {
        true => Ok(Inbound { message, assurance: Assurance::Unverified, cleartext: None }),
        false => Err(Refused::silently(reason).into()),
    }
}

/// Whether a receiver processes `message` without integrity protection before secure exchange is
/// established: the lists of TS 24.501, 4.4.4.2 (`Downlink`, received by the UE) and 4.4.4.3
/// (`Uplink`, received by the AMF).
pub fn may_be_unprotected(message: &Nas5gsMessage, direction: Direction) -> bool {
    let Nas5gsMessage::Gmm(_, message) = message else { return false };
    match (direction, message) {
        (Direction::Uplink, Nas5gmmMessage::IdentityResponse(response)) => {
            // Only a SUCI, or "no identity", may be sent in clear.
            response.mobile_identity.as_suci().is_some()
                || response.mobile_identity.suci_nai().is_some()
                || response.mobile_identity.identity_type() == Some(MobileIdentityType::NoIdentity)
        }
        (
            Direction::Uplink,
            Nas5gmmMessage::RegistrationRequest(_)
            | Nas5gmmMessage::AuthenticationResponse(_)
            | Nas5gmmMessage::AuthenticationFailure(_)
            | Nas5gmmMessage::SecurityModeReject(_)
            | Nas5gmmMessage::DeregistrationRequestUeOriginating(_)
            | Nas5gmmMessage::DeregistrationAcceptUeTerminated(_),
        ) => true,
        (Direction::Downlink, Nas5gmmMessage::IdentityRequest(request)) => {
            request.identity_type.identity_type() == Some(MobileIdentityType::Suci)
        }
        (Direction::Downlink, Nas5gmmMessage::RegistrationReject(reject)) => {
            !only_protected(reject.fgmm_cause.cause_raw())
        }
        (Direction::Downlink, Nas5gmmMessage::ServiceReject(reject)) => {
            !only_protected(reject.fgmm_cause.cause_raw())
        }
        (
            Direction::Downlink,
            Nas5gmmMessage::AuthenticationRequest(_)
            | Nas5gmmMessage::AuthenticationResult(_)
            | Nas5gmmMessage::AuthenticationReject(_)
            | Nas5gmmMessage::DeregistrationAcceptUeOriginating(_),
        ) => true,
        _ => false,
    }
}

/// Causes of a reject that a UE accepts only with integrity protection: #76, #78, #81, #82.
fn only_protected(cause: u8) -> bool {
    [
        GmmCause::NotAuthorizedForThisCagOrAuthorizedForCagCellsOnly,
        GmmCause::PlmnNotAllowedToOperateAtThePresentUeLocation,
        GmmCause::SelectedN3iwfIsNotCompatibleWithTheAllowedNssai,
        GmmCause::SelectedTngfIsNotCompatibleWithTheAllowedNssai,
    ]
    .iter()
    .any(|only| only.as_u8() == cause)
}

/// Whether a receiver processes `message` although its integrity check failed or was impossible:
/// messages that may be unprotected, and at the AMF the two service requests, which it rejects with
/// #9 (TS 24.501, 4.4.4.3).
pub fn may_be_unverified(message: &Nas5gsMessage, direction: Direction) -> bool {
    use Nas5gmmMessage::{ControlPlaneServiceRequest, ServiceRequest};
    may_be_unprotected(message, direction)
        || direction == Direction::Uplink
            && matches!(
                message,
                Nas5gsMessage::Gmm(_, ServiceRequest(_) | ControlPlaneServiceRequest(_))
            )
}

/// The name of a message, for logs.
fn name(message: &Nas5gsMessage) -> String {
    match message {
        Nas5gsMessage::Gmm(header, _) => format!("{:?}", header.message_type),
        Nas5gsMessage::Gsm(header, _) => format!("{:?}", header.message_type),
        Nas5gsMessage::SecurityProtected(_, inner) => name(inner),
        _ => "a ciphered message".into(),
    }
}

#[cfg(test)]
mod tests;
