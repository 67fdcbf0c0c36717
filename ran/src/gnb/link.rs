//! The transport of NGAP: an SCTP association, or a pair of queues in one process.
use bytes::Bytes;
use martlet_sctp::{Association, Options, PPID_NGAP, SctpError, SctpStack};
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc};

/// An NGAP message on its stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct N2Message {
    /// SCTP stream.
    pub stream: u16,
    /// The NGAP PDU.
    pub data: Bytes,
}

/// The AMF's end of a local link, for tests.
pub struct N2Peer {
    /// Messages from the gNB.
    pub from_gnb: mpsc::Receiver<N2Message>,
    /// Messages to the gNB. Dropping it ends the link.
    pub to_gnb: mpsc::Sender<N2Message>,
}

/// The gNB's end. Clones share it.
#[derive(Clone)]
pub enum N2Link {
    /// SCTP.
    Sctp(Association),
    /// Queues in one process.
    Local(Arc<LocalLink>),
}

/// The gNB's end of a local link.
pub struct LocalLink {
    to_amf: std::sync::Mutex<Option<mpsc::Sender<N2Message>>>,
    from_amf: Mutex<mpsc::Receiver<N2Message>>,
    streams: u16,
}

/// Why the link ended.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// An SCTP error.
    #[error(transparent)]
    Sctp(#[from] SctpError),
    /// The peer of a local link was dropped.
    #[error("the link to the AMF is closed")]
    Closed,
}

impl N2Link {
    /// A local link with `streams` streams, and the AMF's end.
    pub fn local(streams: u16) -> (N2Link, N2Peer) {
        let (to_amf, from_gnb) = mpsc::channel(1024);
        let (to_gnb, from_amf) = mpsc::channel(1024);
        let link = LocalLink {
            to_amf: std::sync::Mutex::new(Some(to_amf)),
            from_amf: Mutex::new(from_amf),
            streams: streams.max(1),
        };
        (N2Link::Local(Arc::new(link)), N2Peer { from_gnb, to_gnb })
    }

    /// An SCTP association with the AMF.
    ///
    /// # Errors
    /// No SCTP stack is available, or the AMF is unreachable.
    pub async fn connect(config: &super::GnbConfig) -> Result<N2Link, SctpError> {
        let stack = shared_stack(config.sctp)?;
        let options = Options { streams: config.streams.max(2), ..config.sctp_options.clone() };
        let local = config.n2_local.map(|address| (address, 0).into());
        Ok(N2Link::Sctp(stack.connect(local, config.amf, &options).await?))
    }

    /// Outbound streams.
    pub fn streams(&self) -> u16 {
        match self {
            N2Link::Sctp(association) => association.streams().max(1),
            N2Link::Local(link) => link.streams,
        }
    }

    /// Sends one PDU. Waits while the send buffer is full.
    pub async fn send(&self, stream: u16, data: Bytes) -> Result<(), LinkError> {
        match self {
            N2Link::Sctp(association) => Ok(association.send(stream, PPID_NGAP, data).await?),
            N2Link::Local(link) => {
                let sender = link.to_amf.lock().unwrap_or_else(|e| e.into_inner()).clone();
                let sender = sender.ok_or(LinkError::Closed)?;
                sender.send(N2Message { stream, data }).await.map_err(|_| LinkError::Closed)
            }
        }
    }

    /// The next PDU; `Ok(None)` after a graceful shutdown. Messages with another payload protocol
    /// identifier than NGAP's are dropped (TS 38.412, 7).
    pub async fn recv(&self) -> Result<Option<N2Message>, LinkError> {
        match self {
            N2Link::Sctp(association) => loop {
                let Some(message) = association.recv().await? else { return Ok(None) };
                if message.ppid == PPID_NGAP {
                    return Ok(Some(N2Message { stream: message.stream, data: message.data }));
                }
                tracing::warn!(
                    amf = %association.peer_addr(),
                    ppid = message.ppid,
                    "message dropped: not NGAP"
                );
            },
            N2Link::Local(link) => Ok(link.from_amf.lock().await.recv().await),
        }
    }

    /// Ends it gracefully.
    pub async fn shutdown(&self) {
        match self {
            N2Link::Sctp(association) => association.shutdown().await,
            N2Link::Local(link) => {
                drop(link.to_amf.lock().unwrap_or_else(|e| e.into_inner()).take())
            }
        }
    }

    /// Aborts it, as a power loss does.
    pub fn abort(&self) {
        match self {
            N2Link::Sctp(association) => association.abort(),
            N2Link::Local(link) => {
                drop(link.to_amf.lock().unwrap_or_else(|e| e.into_inner()).take())
            }
        }
    }
}

/// The SCTP stack of a kind for all gNBs of a thread's runtime. The user-space stack has timers and
/// raw sockets that one process needs only once.
fn shared_stack(choice: martlet_sctp::StackChoice) -> Result<SctpStack, SctpError> {
    use martlet_sctp::StackChoice;
    thread_local! {
        static STACKS: std::cell::RefCell<[Option<(tokio::runtime::Id, SctpStack)>; 3]> = const {
            std::cell::RefCell::new([None, None, None])
        };
    }
    let runtime = tokio::runtime::Handle::current().id();
    let index = match choice {
        StackChoice::Auto => 0,
        StackChoice::Kernel => 1,
        StackChoice::Usrsctp => 2,
    };
    STACKS.with_borrow_mut(|stacks| {
        if let Some(Some((of, stack))) = stacks.get(index)
            && *of == runtime
        {
            return Ok(stack.clone());
        }
        let stack = SctpStack::open(choice)?;
        if let Some(slot) = stacks.get_mut(index) {
            *slot = Some((runtime, stack.clone()));
        }
        Ok(stack)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gnb::tests::amf::config;
    use martlet_sctp::StackChoice;
    use std::net::IpAddr;

    #[tokio::test]
    async fn messages_of_other_protocols_are_dropped() {
        let stack = match SctpStack::open(StackChoice::Auto) {
            Ok(stack) => stack,
            Err(error) => {
                eprintln!("SKIPPED: {error}");
                return;
            }
        };
        let amf = IpAddr::from([127, 77, 11, 5]);
        let listener = stack.listen(&[amf], 38412, &Options::default()).await.expect("a listener");
        let mut config = config();
        config.amf = (amf, 38412).into();
        config.n2_local = Some(IpAddr::from([127, 77, 11, 2]));
        let (link, association) = tokio::join!(N2Link::connect(&config), listener.accept());
        let (link, association) = (link.expect("a link"), association.expect("an association"));
        association.send(1, 0, "no identifier".into()).await.unwrap();
        association.send(1, PPID_NGAP, "NGAP".into()).await.unwrap();
        let received = link.recv().await.unwrap().expect("a message");
        assert_eq!((received.stream, &received.data[..]), (1, &b"NGAP"[..]));
    }
}
