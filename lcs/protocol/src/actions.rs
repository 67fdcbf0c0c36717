//! What the two sides ask of those around them.

use martlet_lcsupp::upp_cm::{Cause, LmfAddress};
use martlet_lcsupp::{DecodeError, PayloadType};
use std::time::Duration;

/// A channel at the LMF, as its owner numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId(pub u64);

/// What a transport message carried.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload {
    /// What it is.
    pub payload_type: PayloadType,
    /// The payload.
    pub octets: Vec<u8>,
    /// The LCS session identity.
    pub session: Vec<u8>,
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Payload({:?}, {} octets, session of {})",
            self.payload_type,
            self.octets.len(),
            self.session.len()
        )
    }
}

/// What a message had wrong with it. The message is not acted on; the connection goes on unless its
/// stream cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// A NAS message that does not decode.
    Negotiation(DecodeError),
    /// A NAS message that does not fit the state, or comes from the wrong side.
    Unexpected(&'static str),
    /// A stream that does not decode: its channel is closed.
    Stream(DecodeError),
    /// A message on a channel that does not fit its state or its direction: the channel is closed.
    OutOfPlace(&'static str),
    /// An LPP payload whose messages do not fit their lengths.
    Lpp(DecodeError),
    /// A session identity that nobody here opened for this UE.
    Session,
    /// A binding identity that is not known: never given, withdrawn, or of a connection that ended.
    UnknownBinding,
    /// A binding identity whose UE has a channel already.
    BoundTwice,
    /// A channel that said nothing for too long.
    Silent,
    /// There is no room for another one.
    Full,
}

/// What a UE's side asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UeAction {
    /// Send this UPP-CM message over NAS.
    Nas(Vec<u8>),
    /// Bring up a PDU session and a channel to this address, and say [`crate::UeSide::connected`]
    /// or [`crate::UeSide::connect_failed`].
    Connect(LmfAddress),
    /// Send this message on the channel.
    Send(Vec<u8>),
    /// Close the channel, or stop bringing it up.
    Close,
    /// Tell what happened.
    Event(UeEvent),
}

/// What happened at a UE's side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UeEvent {
    /// The connection is there.
    Established,
    /// It could not be brought up, and the LMF was told why.
    Failed(Cause),
    /// The LMF does not want a connection: how long not to ask again.
    Rejected(Option<Duration>),
    /// The LMF did not answer a request.
    NoAnswer,
    /// The connection is gone.
    Released,
    /// A downlink payload.
    Downlink(Payload),
    /// A message was not acted on.
    Refused(Wrong),
}

/// What the LMF's side asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LmfAction<Ue> {
    /// Send this UPP-CM message over NAS.
    Nas(Ue, Vec<u8>),
    /// Send this message on a channel.
    Send(ChannelId, Vec<u8>),
    /// Close a channel, after what was sent before.
    Close(ChannelId),
    /// Tell what happened.
    Event(Ue, LmfEvent),
    /// Tell what was refused on a channel of nobody yet.
    Refused(ChannelId, Wrong),
}

/// Why a connection is not there, or no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The UE gave this cause.
    Cause(Cause),
    /// The UE did not answer.
    NoAnswer,
    /// The channel was closed by the UE, or broke.
    ChannelClosed,
    /// The stream of the UE could not be read on.
    Stream,
    /// The LMF released it, or the UE asked for it.
    Released,
}

/// What happened at the LMF's side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LmfEvent {
    /// The connection is there.
    Established,
    /// The UE asks for a connection: [`crate::LmfSide::establish`] or [`crate::LmfSide::reject`]
    /// answers it.
    Requested,
    /// The connection was modified.
    Modified,
    /// The UE did not accept the modification, or did not answer it.
    NotModified(Option<Cause>),
    /// The connection could not be brought up, or is gone.
    Lost(Loss),
    /// An uplink payload of a session that is open.
    Uplink(Payload),
    /// A message was not acted on.
    Refused(Wrong),
}
