//! The outputs of the two state machines.

use martlet_lcsupp::upp_cm::{Cause, LmfAddress};
use martlet_lcsupp::{DecodeError, PayloadType};
use std::time::Duration;

/// A channel at the LMF, as the caller numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId(pub u64);

/// The content of an LCS-UP TRANSPORT message.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload {
    /// The payload type.
    pub payload_type: PayloadType,
    /// The payload.
    pub bytes: Vec<u8>,
    /// The LCS session identity.
    pub session: Vec<u8>,
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Payload({:?}, {} bytes, session of {} bytes)",
            self.payload_type,
            self.bytes.len(),
            self.session.len()
        )
    }
}

/// Why a message or a channel was rejected. A rejected message is ignored; the connection continues
/// unless the variant says that the channel is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// A UPP-CM message that does not decode.
    MalformedUppCm(DecodeError),
    /// A UPP-CM message that does not fit the state or the direction.
    UnexpectedUppCm(&'static str),
    /// An LCS-UPP message that does not decode. The channel is closed.
    MalformedLcsUpp(DecodeError),
    /// An LCS-UPP message that does not fit the state or the direction. The channel is closed.
    UnexpectedLcsUpp(&'static str),
    /// An LPP payload whose messages do not match their lengths.
    MalformedLpp(DecodeError),
    /// A session identity that is not open for this UE.
    UnknownSession,
    /// A binding identity that was never assigned or is no longer valid. The channel is closed.
    UnknownBinding,
    /// A binding identity whose UE has a channel already. The channel is closed.
    AlreadyBound,
    /// No binding request arrived in time. The channel is closed.
    BindingTimeout,
    /// A configured limit is reached.
    LimitReached,
}

/// An action of the UE's side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UeAction {
    /// Send this UPP-CM message over NAS.
    Nas(Vec<u8>),
    /// Establish a PDU session and a channel to this address, then call
    /// [`crate::UeSide::connected`] or [`crate::UeSide::connect_failed`].
    Connect(LmfAddress),
    /// Send this message on the channel.
    Send(Vec<u8>),
    /// Close the channel, or cancel its establishment.
    Close,
    /// Report an event.
    Event(UeEvent),
}

/// An event at the UE's side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UeEvent {
    /// The connection is established.
    Established,
    /// The establishment failed; the cause was sent to the LMF.
    Failed(Cause),
    /// The LMF rejected the request, with the back-off time.
    EstablishmentRejected(Option<Duration>),
    /// The LMF did not answer a request.
    NoAnswer,
    /// The connection was released or lost.
    Released,
    /// A downlink payload.
    Downlink(Payload),
    /// A message was rejected.
    MessageRejected(Rejection),
}

/// An action of the LMF's side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LmfAction<Ue> {
    /// Send this UPP-CM message over NAS.
    Nas(Ue, Vec<u8>),
    /// Send this message on a channel.
    Send(ChannelId, Vec<u8>),
    /// Close a channel, after everything sent before.
    Close(ChannelId),
    /// Report an event.
    Event(Ue, LmfEvent),
    /// Report the rejection of a channel that is not bound to a UE.
    ChannelRejected(ChannelId, Rejection),
}

/// Why a connection failed or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DisconnectReason {
    /// The UE sent this cause.
    #[error("the UE reports {0}")]
    Cause(Cause),
    /// The UE did not answer.
    #[error("no answer from the UE")]
    NoAnswer,
    /// The channel was closed by the UE, or broke.
    #[error("the channel was closed")]
    ChannelClosed,
    /// The UE sent a malformed or unexpected message.
    #[error("malformed or unexpected message from the UE")]
    MalformedMessage,
    /// The LMF has as many connections as it may have.
    #[error("the limit of connections is reached")]
    LimitReached,
    /// The LMF released it, or the UE requested the release.
    #[error("the connection was released")]
    Released,
}

/// An event at the LMF's side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LmfEvent {
    /// The connection is established.
    Established,
    /// The UE requests a connection. Answer with [`crate::LmfSide::establish`] or
    /// [`crate::LmfSide::reject`].
    Requested,
    /// The connection was modified.
    Modified,
    /// The UE rejected the modification, or did not answer.
    NotModified(Option<Cause>),
    /// The establishment failed, or the connection ended.
    Disconnected(DisconnectReason),
    /// An uplink payload of an open session.
    Uplink(Payload),
    /// A message was rejected.
    MessageRejected(Rejection),
}
