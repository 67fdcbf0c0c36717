//! The ring in which the programs tell what user space has to know.
use martlet_upf_xdp::{Programs, XdpError, types};
use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex, PoisonError};

/// What a program told.
pub(super) enum Told {
    /// A packet waits.
    Packet { session: u32, pdr: u16, notify: bool, packet: Vec<u8> },
    /// A tunnelled packet of IPv6 is to be sent: the peer, and the datagram.
    Send { peer: Ipv6Addr, datagram: Vec<u8> },
    /// A copy of a packet that a name server sent to a UE.
    Answer { packet: Vec<u8> },
    /// A limit of a session was reached.
    Limit { session: u32, limit: usize },
    /// A rule of a session has come to its first mark.
    Mark { session: u32 },
}

/// The ring.
pub(super) struct Ring {
    buffer: libbpf_rs::RingBuffer<'static>,
    inbox: Arc<Mutex<Vec<Told>>>,
}

impl Ring {
    pub fn open(programs: &Programs) -> Result<Self, XdpError> {
        let inbox = Arc::new(Mutex::new(Vec::new()));
        let into = inbox.clone();
        let buffer = programs.ring(move |octets| {
            if let Some(told) = read(octets) {
                into.lock().unwrap_or_else(PoisonError::into_inner).push(told);
            }
        })?;
        Ok(Ring { buffer, inbox })
    }

    /// A descriptor that is readable while something is in the ring.
    pub fn descriptor(&self) -> i32 {
        self.buffer.epoll_fd()
    }

    /// What is in the ring by now, in the order in which it came.
    pub fn take(&mut self) -> Vec<Told> {
        let _ = self.buffer.consume();
        std::mem::take(&mut *self.inbox.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn read(octets: &[u8]) -> Option<Told> {
    let word =
        |n: usize| octets.get(n * 4..n * 4 + 4).and_then(|o| <[u8; 4]>::try_from(o).ok()).map(u32::from_ne_bytes);
    let (kind, session, argument, length) = (word(0)?, word(1)?, word(2)?, word(3)? as usize);
    match types::event_kind(kind) {
        types::event_kind::EVENT_PACKET => {
            let start = size_of::<types::event>();
            let packet = octets.get(start..start + length)?.to_vec();
            if session == 0 {
                return Some(Told::Answer { packet });
            }
            Some(Told::Packet { session, pdr: argument as u16, notify: argument & 0x10000 != 0, packet })
        }
        types::event_kind::EVENT_SEND => {
            let start = size_of::<types::event>();
            let packet = octets.get(start..start + length)?;
            let peer = <[u8; 16]>::try_from(packet.get(24..40)?).ok()?.into();
            Some(Told::Send { peer, datagram: packet.get(48..)?.to_vec() })
        }
        types::event_kind::EVENT_LIMIT => Some(Told::Limit { session, limit: argument as usize }),
        types::event_kind::EVENT_MARK => Some(Told::Mark { session }),
        _ => None,
    }
}
