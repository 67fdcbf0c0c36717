//! What can go wrong with SCTP, told apart as far as a user can act on it.
use std::io;

/// What can go wrong with SCTP.
#[derive(Debug, thiserror::Error)]
pub enum SctpError {
    /// The operating system refused.
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
    /// The peer no longer acknowledges: as many retransmissions or heartbeats as the options allow
    /// went unanswered.
    #[error("the peer no longer answers: every path to it has failed")]
    PathFailed,
    /// The peer lost its state and set the association up anew (RFC 9260, 5.2). The new one waits
    /// in `accept`.
    #[error("the peer restarted the association")]
    PeerRestarted,
    /// The peer refused the association.
    #[error("the peer refused the association: does something listen on that address and port?")]
    Refused,
    /// The peer did not answer INIT as often as the options say.
    #[error(
        "no answer from the peer: check its address and port, and that nothing drops IP protocol \
         132 on the way"
    )]
    ConnectTimeout,
    /// The message exceeds [`Options::max_message`](crate::Options::max_message).
    #[error("a message of {size} octets exceeds the limit of {limit}")]
    MessageTooLarge {
        /// Octets of the message.
        size: usize,
        /// The limit, octets.
        limit: usize,
    },
    /// SCTP has no empty messages (RFC 9260, 3.3.1).
    #[error("an empty message cannot be sent")]
    EmptyMessage,
    /// The peer agreed to fewer streams.
    #[error("stream {stream} does not exist: the association has {streams} outbound streams")]
    NoSuchStream {
        /// The stream asked for.
        stream: u16,
        /// Outbound streams of the association.
        streams: u16,
    },
    /// A raw socket is not permitted to this process.
    #[error(
        "the SCTP stack in user space needs a raw socket: run as root, or give the program \
         CAP_NET_RAW (setcap cap_net_raw+ep PROGRAM, or AmbientCapabilities=CAP_NET_RAW in its \
         systemd unit), or load the kernel's SCTP (modprobe sctp)"
    )]
    NeedsRawSocket,
    /// The stack asked for is not there.
    #[error("{0}")]
    Unavailable(&'static str),
    /// An option is out of its range.
    #[error("SCTP option {0}")]
    BadOption(&'static str),
}

/// How an association ended; kept so that every later call says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Orderly shutdown by either side.
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
    /// The error to report, `None` for an orderly end.
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
