//! Events of the programs, from AF_XDP sockets and from a ring buffer, which takes their overflow
//! and all other events.
use crate::loader::types::packet_argument;
use crate::loader::{Programs, Receiver, XdpError, types};
use std::net::Ipv6Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An event of a program.
pub(super) enum UserEvent {
    /// A buffered packet, after those of its session with lower numbers.
    Packet {
        session: u32,
        pdr: u16,
        notify: bool,
        /// It is from the PDR's tunnel, in which it may have had a QFI.
        tunnelled: bool,
        qfi: Option<u8>,
        number: u32,
        packet: Vec<u8>,
    },
    /// A tunnelled packet of IPv6 is to be sent: the peer, the traffic class, and the datagram.
    Send { peer: Ipv6Addr, class: u8, datagram: Vec<u8> },
    /// A packet of the data network for a session that the programs do not forward.
    Datagram { packet: Vec<u8> },
    /// A copy of a packet that a name server sent to a UE.
    Answer { packet: Vec<u8> },
    /// A limit of a session was reached.
    Limit { session: u32, limit: usize },
    /// The first packet of a PDR with a URR that awaits traffic.
    Start { session: u32, pdr: u16 },
    /// A rule reached its first mark.
    Mark { session: u32 },
}

/// Maximum number of sockets that programs use; as `bpf/structs.h` has it.
const MAX_SOCKETS: u32 = 64;

/// The ring and the sockets.
pub(super) struct Ring {
    buffer: libbpf_rs::RingBuffer<'static>,
    inbox: Arc<Mutex<Vec<UserEvent>>>,
    /// Their indices here are those that the programs use.
    sockets: Vec<Receiver>,
    /// Number of frames received over them.
    received: u64,
    /// Number of frames lost between the programs and a socket.
    lost: u64,
}

fn lock(inbox: &Mutex<Vec<UserEvent>>) -> MutexGuard<'_, Vec<UserEvent>> {
    inbox.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ring {
    pub fn open(programs: &Programs) -> Result<Self, XdpError> {
        let inbox = Arc::new(Mutex::new(Vec::new()));
        let into = inbox.clone();
        let buffer = programs.ring(move |bytes| {
            if let Some(event) = read(bytes) {
                lock(&into).push(event);
            }
        })?;
        Ok(Ring { buffer, inbox, sockets: Vec::new(), received: 0, lost: 0 })
    }

    /// Opens an AF_XDP socket at each receive queue. Frames use the ring where that fails.
    pub fn open_sockets(&mut self, programs: &Programs, interfaces: &[(String, u32)], room: u32) {
        for (name, ifindex) in interfaces.iter().filter(|_| room > 0) {
            let mut opened = 0;
            let queues = martlet_interface::queues(name);
            for queue in 0..queues {
                let index = self.sockets.len() as u32;
                let socket = match index < MAX_SOCKETS {
                    true => Receiver::open(*ifindex, queue, room),
                    false => Err(std::io::Error::other(format!("there are {MAX_SOCKETS} already"))),
                };
                let added = socket.map_err(|error| error.to_string()).and_then(|socket| {
                    programs
                        .add_socket(index, *ifindex, queue, &socket)
                        .map_err(|error| error.to_string())?;
                    Ok(socket)
                });
                match added {
                    Ok(socket) => {
                        opened += 1;
                        self.sockets.push(socket);
                    }
                    Err(error) => tracing::warn!(
                        interface = name,
                        queue,
                        error,
                        "AF_XDP socket not opened: buffered packets use the ring"
                    ),
                }
            }
            if opened > 0 {
                tracing::info!(interface = name, queues = opened, room, "AF_XDP sockets opened");
            }
        }
    }

    /// The number of sockets, and of frames received over them.
    pub fn sockets(&self) -> (usize, u64) {
        (self.sockets.len(), self.received)
    }

    /// Descriptors that are readable while something is in the ring, or in a socket.
    pub fn descriptors(&self) -> Vec<i32> {
        let sockets = self.sockets.iter().map(|socket| socket.as_fd().as_raw_fd());
        std::iter::once(self.buffer.epoll_fd()).chain(sockets).collect()
    }

    /// Reads the pending events; each source is in order.
    pub fn take(&mut self, programs: &Programs) -> Vec<UserEvent> {
        let _ = self.buffer.consume();
        let mut inbox = lock(&self.inbox);
        for (index, socket) in (0..).zip(&mut self.sockets) {
            let frames = socket.take(|frame| inbox.extend(read(frame)));
            self.received += u64::from(frames);
            if frames > 0 {
                programs.taken(index, frames);
            }
        }
        std::mem::take(&mut *inbox)
    }

    /// Frames lost before they reached a socket since the last call: none, unless the kernel and
    /// the programs disagree on the free space.
    pub fn newly_lost(&mut self) -> u64 {
        let lost = self.sockets.iter().map(Receiver::lost).sum();
        lost - std::mem::replace(&mut self.lost, lost)
    }
}

fn read(bytes: &[u8]) -> Option<UserEvent> {
    let word = |n: usize| {
        bytes
            .get(n * 4..n * 4 + 4)
            .and_then(|o| <[u8; 4]>::try_from(o).ok())
            .map(u32::from_ne_bytes)
    };
    let (kind, session, argument, length) = (word(0)?, word(1)?, word(2)?, word(3)? as usize);
    match types::event_kind(kind) {
        types::event_kind::EVENT_PACKET => {
            let start = size_of::<types::event>();
            let packet = bytes.get(start..start + length)?.to_vec();
            if session == 0 {
                return Some(UserEvent::Answer { packet });
            }
            let has = |bit: packet_argument| argument & bit.0 != 0;
            let qfi = argument >> packet_argument::ARGUMENT_QFI_SHIFT.0 & 0x3f;
            let qfi = has(packet_argument::ARGUMENT_HAS_QFI).then_some(qfi as u8);
            Some(UserEvent::Packet {
                session,
                pdr: argument as u16,
                notify: has(packet_argument::ARGUMENT_NOTIFY),
                tunnelled: has(packet_argument::ARGUMENT_TUNNEL),
                qfi,
                number: word(4)?,
                packet,
            })
        }
        types::event_kind::EVENT_SEND => {
            let start = size_of::<types::event>();
            let packet = bytes.get(start..start + length)?;
            let peer = <[u8; 16]>::try_from(packet.get(24..40)?).ok()?.into();
            let class = packet.first()? << 4 | packet.get(1)? >> 4;
            Some(UserEvent::Send { peer, class, datagram: packet.get(48..)?.to_vec() })
        }
        types::event_kind::EVENT_DATAGRAM => {
            let start = size_of::<types::event>();
            Some(UserEvent::Datagram { packet: bytes.get(start..start + length)?.to_vec() })
        }
        types::event_kind::EVENT_LIMIT => {
            Some(UserEvent::Limit { session, limit: argument as usize })
        }
        types::event_kind::EVENT_START => Some(UserEvent::Start { session, pdr: argument as u16 }),
        types::event_kind::EVENT_MARK => Some(UserEvent::Mark { session }),
        _ => None,
    }
}
