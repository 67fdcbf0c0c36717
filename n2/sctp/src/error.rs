//! SCTP errors, distinguished as far as a caller can act on them.
use std::io;

/// An SCTP error.
#[derive(Debug, thiserror::Error)]
pub enum SctpError {
    /// An error of the operating system.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The association was closed or aborted on this side.
    #[error("the association is closed")]
    Closed,
    /// The peer sent ABORT (RFC 9260, 3.3.7) with this error cause (3.3.10; 0: none given, 12: by
    /// its user).
    #[error("the peer aborted the association (SCTP error cause {cause})")]
    PeerAborted {
        /// Error cause code (RFC 9260, 3.3.10).
        cause: u16,
    },
    /// More retransmissions or heartbeats than the options allow were not acknowledged.
    #[error("the peer does not answer: every path to it has failed")]
    PathFailed,
    /// The peer restarted the association (RFC 9260, 5.2). `accept` returns the new one.
    #[error("the peer restarted the association")]
    PeerRestarted,
    /// The peer refused the association.
    #[error(
        "the peer refused the association: check that a program listens on that address and port"
    )]
    Refused,
    /// The peer did not answer as many INITs as the options allow.
    #[error(
        "no answer from the peer: check its address and port, and that nothing drops IP protocol \
         132 on the way"
    )]
    ConnectTimeout,
    /// The message exceeds [`Options::max_message`](crate::Options::max_message).
    #[error("a message of {size} bytes exceeds the limit of {limit}")]
    MessageTooLarge {
        /// Length of the message, bytes.
        size: usize,
        /// The limit, bytes.
        limit: usize,
    },
    /// SCTP has no empty messages (RFC 9260, 3.3.1).
    #[error("an empty message cannot be sent")]
    EmptyMessage,
    /// The association has fewer outbound streams.
    #[error("stream {stream} does not exist: the association has {streams} outbound streams")]
    NoSuchStream {
        /// The requested stream.
        stream: u16,
        /// Outbound streams of the association.
        streams: u16,
    },
    /// The process may not open a raw socket.
    #[error(
        "the user-space SCTP stack needs a raw socket: run as root, or give the program \
         CAP_NET_RAW (setcap cap_net_raw+ep PROGRAM, or AmbientCapabilities=CAP_NET_RAW in its \
         systemd unit), or load the kernel's SCTP (modprobe sctp)"
    )]
    NeedsRawSocket,
    /// The requested stack is not available.
    #[error("{0}")]
    Unavailable(&'static str),
    /// An option is out of its range.
    #[error("SCTP option {0}")]
    BadOption(&'static str),
}

/// How an association ended. It is stored, so that every later call returns the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Graceful shutdown by either side.
    Shutdown,
    /// Closed on this side.
    Closed,
    Aborted {
        cause: u16,
    },
    PathFailed,
    Restarted,
}

impl End {
    /// The error to report, `None` for a graceful shutdown.
    pub(crate) fn error(self) -> Option<SctpError> {
        match self {
            End::Shutdown => None,
            End::Closed => Some(SctpError::Closed),
            End::Aborted { cause } => Some(SctpError::PeerAborted { cause }),
            End::PathFailed => Some(SctpError::PathFailed),
            End::Restarted => Some(SctpError::PeerRestarted),
        }
    }
}
