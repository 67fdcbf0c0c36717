//! The sending side of an association.
use bytes::Bytes;
use martlet_sctp::{Association, PPID_NGAP, SctpError};

/// The association with a gNB.
#[derive(Clone)]
pub(crate) enum Link {
    /// Over SCTP.
    Sctp(Association),
    /// In a test.
    #[cfg(test)]
    Local(tokio::sync::mpsc::Sender<(u16, Bytes)>),
}

impl Link {
    /// Outbound streams.
    pub fn streams(&self) -> u16 {
        match self {
            Link::Sctp(association) => association.streams(),
            #[cfg(test)]
            Link::Local(_) => 8,
        }
    }

    /// Sends a message; waits while the send buffer is full.
    pub async fn send(&self, stream: u16, data: Bytes) -> Result<(), SctpError> {
        match self {
            Link::Sctp(association) => association.send(stream, PPID_NGAP, data).await,
            #[cfg(test)]
            Link::Local(sender) => sender.send((stream, data)).await.map_err(|_| SctpError::Closed),
        }
    }

    /// Whether the peer has acknowledged all messages; see [`Association::is_acknowledged`].
    pub fn is_acknowledged(&self) -> bool {
        match self {
            Link::Sctp(association) => association.is_acknowledged(),
            #[cfg(test)]
            Link::Local(sender) => !sender.is_closed(),
        }
    }

    /// Ends the association at once.
    pub fn abort(&self) {
        match self {
            Link::Sctp(association) => association.abort(),
            #[cfg(test)]
            Link::Local(_) => {}
        }
    }
}
