//! Positioning over the user plane (TS 24.572): the listener for UEs' channels, and the task that
//! owns their connections.
mod channel_limits;
mod command;
mod connections;
mod listener;

pub(crate) use command::{Command, Supi};
pub(crate) use connections::Connections;
pub(crate) use listener::Listener;

use martlet_lcs_channel::Kind;

pub(crate) fn transport(kind: Kind) -> &'static str {
    if kind.is_quic() { "QUIC over UDP" } else { "TLS over TCP" }
}
