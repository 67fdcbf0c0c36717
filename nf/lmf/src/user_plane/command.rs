//! Inputs of the task that owns the user plane connections.
use martlet_lcs_channel::Kind;
use martlet_lcs_protocol::{ChannelId, DisconnectReason, LmfError, Payload};
use martlet_lcsupp::BindingIdentity;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// A subscriber, `imsi-…`.
pub(crate) type Supi = Arc<str>;

/// An input of the task.
pub(crate) enum Command {
    /// Establish a UE's connection. Answered when it is established or has failed. If `by_ue`, the
    /// UE requested it, and is rejected if there is no room for it.
    Connect { ue: Supi, by_ue: bool, answer: oneshot::Sender<Result<(), DisconnectReason>> },
    /// Release a UE's connection.
    Release { ue: Supi },
    /// Modify a UE's connection, since another AMF serves the UE.
    Modify { ue: Supi },
    /// A UPP-CM message from a UE.
    UppCm { ue: Supi, bytes: Vec<u8> },
    /// A NAS message to a UE, for the connection with this binding identity, was not delivered.
    Unreachable { ue: Supi, binding: BindingIdentity },
    /// Open a session of a UE. Its uplink payloads go to the sink.
    OpenSession {
        ue: Supi,
        session: Vec<u8>,
        sink: mpsc::Sender<Payload>,
        answer: oneshot::Sender<Result<(), LmfError>>,
    },
    /// Send a payload in a session.
    Send {
        ue: Supi,
        session: Vec<u8>,
        payload: Vec<u8>,
        answer: oneshot::Sender<Result<(), LmfError>>,
    },
    /// Close a session.
    CloseSession { ue: Supi, session: Vec<u8> },
    /// A channel was opened.
    ChannelOpened { channel: ChannelId, kind: Kind, sender: mpsc::Sender<ChannelCommand> },
    /// Bytes arrived on a channel.
    ChannelReceived { channel: ChannelId, bytes: Vec<u8> },
    /// A channel was closed.
    ChannelClosed { channel: ChannelId },
    /// The kind of channel of a UE's connection; None if the UE is not connected.
    Status { ue: Supi, answer: oneshot::Sender<Option<Kind>> },
}

/// A command to a channel's task.
pub(crate) enum ChannelCommand {
    /// Send these bytes.
    Send(Vec<u8>),
    /// Close the channel, after everything sent before.
    Close,
}
