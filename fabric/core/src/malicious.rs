//! A peer that violates the protocol, for tests and fuzzing. It stands for a compromised process:
//! it has the shared memory and the doorbells, and writes whatever the test requests.
use crate::channel::{Channel, ChannelFds, Descriptor, FrameHeader, FrameKind, Payload};
use crate::limits::ProcessLimits;
use crate::link::sockets::{Connection, Listener};
use crate::link::{Host, Link};
use crate::memory::copy;
use crate::memory::layout::{Layout, Sizes};
use crate::memory::mapping::{ChannelMemory, SharedRing};
use crate::memory::pool::{BufferClass, BufferId};
use crate::memory::ring::{Producer, RingMemory};
use crate::messages::Peer;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// The malicious end of a channel.
pub struct MaliciousPeer {
    /// The shared memory.
    pub memory: ChannelMemory,
    ring: Producer<SharedRing<8>, 8>,
    returns: Producer<SharedRing<1>, 1>,
    _fds: ChannelFds,
}

/// Small sizes, so that tests reach the limits soon.
pub fn sizes() -> Sizes {
    let class = |bytes, count| BufferClass { bytes, count };
    Sizes { slots: 8, classes: vec![class(64, 4), class(256, 4)], frame: 16 << 10 }
}

impl MaliciousPeer {
    /// A channel with a conforming end and a malicious one.
    pub fn pair() -> std::io::Result<(Channel, MaliciousPeer)> {
        let (sizes, layout) =
            (sizes(), Arc::new(Layout::of(&sizes()).map_err(std::io::Error::other)?));
        let [honest_end, peer_end] = ChannelFds::pair(&layout, false)?;
        let map = || ChannelMemory::map(&peer_end.memory, &layout, 1);
        let (ring, returns) = (Producer::new(map()?.out.ring), Producer::new(map()?.into.returns));
        Ok((
            Channel::new(honest_end, &sizes, 0)?,
            MaliciousPeer { memory: map()?, ring, returns, _fds: peer_end },
        ))
    }

    /// Publishes a descriptor. Returns `false` if the ring is full.
    pub fn push(&mut self, words: &[u64; 8]) -> bool {
        self.ring.push(words).unwrap_or(false)
    }

    /// Publishes a frame of one piece: inline if it is short, else in the given buffer.
    pub fn frame(&mut self, head: FrameHeader, bytes: &[u8], buffer: u32) -> bool {
        let payload = if bytes.len() <= crate::channel::INLINE_BYTES {
            let mut inline = [0; crate::channel::INLINE_BYTES];
            inline[..bytes.len()].copy_from_slice(bytes);
            Payload::Inline(bytes.len() as u8, inline)
        } else {
            if let Some(words) = self.memory.out.buffers.get(BufferId(buffer)) {
                copy::to_shared(words, bytes);
            }
            Payload::Buffer(BufferId(buffer), bytes.len() as u32)
        };
        let descriptor =
            Descriptor { head, first: true, last: true, total: bytes.len() as u32, payload };
        self.push(&descriptor.to_words())
    }

    /// Returns a buffer, whether it holds it or not.
    pub fn return_buffer(&mut self, number: u64) -> bool {
        self.returns.push(&[number]).unwrap_or(false)
    }

    /// Publishes an index: 0 and 1 of the descriptor rings (tail, head), 2 and 3 of the rings of
    /// returned buffers.
    pub fn set_index(&self, which: u8, value: u32) {
        let (out, into) = (&self.memory.out, &self.memory.into);
        let line = match which & 3 {
            0 => &out.ring.indices().tail,
            1 => &into.ring.indices().head,
            2 => &into.returns.indices().tail,
            _ => &out.returns.indices().head,
        };
        line.0.store(value, crate::sync::Ordering::Release);
    }
}

/// The host of the conforming end: echoes requests, and listens at [`ADDRESS`].
pub struct HonestHost {
    listener: Arc<Listener>,
}

/// The address at which [`HonestHost`] listens.
pub const ADDRESS: &str = "127.0.0.1:1";

impl HonestHost {
    /// The host and its link over a channel.
    pub fn link(channel: Channel) -> (Arc<HonestHost>, Arc<Link>) {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let honest = Arc::new(HonestHost { listener: Arc::new(Listener::new(address, 4)) });
        let host: Arc<dyn Host> = honest.clone();
        let peer = Peer {
            name: "malicious".into(),
            schema: 0,
            user: None,
            calls: Vec::new(),
            connections: Vec::new(),
        };
        let mut limits =
            ProcessLimits { serving: 4, calls: 4, backlog: 50_000, ..ProcessLimits::default() };
        limits.sockets.connections = 4;
        limits.sockets.window = 1000;
        let link = Link::new(1, peer, channel, &limits, Arc::downgrade(&host));
        (honest, link)
    }

    /// The next incoming connection.
    pub fn accept(&self) -> Option<Arc<Connection>> {
        match self.listener.poll_accept(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(connection)) => Some(connection),
            _ => None,
        }
    }
}

impl Host for HonestHost {
    fn request(
        &self,
        link: &Arc<Link>,
        stream: u32,
        bytes: Vec<u8>,
    ) -> Result<(), crate::channel::Violation> {
        link.respond(stream, &bytes);
        Ok(())
    }
    fn listener(&self, address: &SocketAddr) -> Option<Arc<Listener>> {
        (*address == self.listener.address()).then(|| self.listener.clone())
    }
}

/// Runs a script: each step is a byte followed by its arguments. Returns how often the conforming
/// end made progress before it closed the channel or the script ended.
pub fn run_script(script: &[u8]) -> std::io::Result<usize> {
    let (channel, mut peer_end) = MaliciousPeer::pair()?;
    let (honest, link) = HonestHost::link(channel);
    let mut connections: Vec<Arc<Connection>> = Vec::new();
    let calls = Mutex::new(Vec::new());
    let mut context = Context::from_waker(Waker::noop());
    let (mut rest, mut frames, mut progressed) = (script, Vec::new(), 0);
    let mut next = |length: usize| {
        let (head, tail) = rest.split_at(length.min(rest.len()));
        rest = tail;
        head
    };
    while let [step] = next(1) {
        let number = |bytes: &[u8]| bytes.iter().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
        match step % 10 {
            0 => {
                let bytes = next(64);
                let words = std::array::from_fn(|n| {
                    number(bytes.get(n * 8..n * 8 + 8).unwrap_or_default())
                });
                peer_end.push(&words);
            }
            1..=3 => {
                let [kind, flags, stream, buffer] = *next(4) else { break };
                use FrameKind::*;
                let kinds = [
                    Request, Response, Cancel, Refused, Connect, Accept, Data, Credit, Finish,
                    Reset,
                ];
                let kind = kinds[usize::from(kind) % kinds.len()];
                let head = FrameHeader { kind, own: flags & 1 != 0, stream: (stream & 7).into() };
                let length = usize::from(flags >> 1);
                let mut bytes = next(length).to_vec();
                if kind == Connect && flags & 2 != 0 {
                    bytes = [&1000u32.to_le_bytes()[..], format!("{ADDRESS} 1.2.3.4:5").as_bytes()]
                        .concat();
                }
                peer_end.frame(head, &bytes, (buffer & 7).into());
            }
            4 => {
                peer_end.return_buffer(number(next(1)));
            }
            5 => {
                let [which, value] = *next(2) else { break };
                peer_end.set_index(which, value as i8 as u32);
            }
            6 => match link.connect(SocketAddr::from(([127, 0, 0, 1], 2))) {
                Ok(connection) => connections.push(connection),
                Err(_) => connections.clear(),
            },
            7 => {
                let mut calls = calls.lock().unwrap_or_else(|e| e.into_inner());
                match link.call(&[step.wrapping_mul(7); 300][..usize::from(*step)]) {
                    Ok(call) if calls.len() < 4 => calls.push(Box::pin(call)),
                    _ => calls.clear(),
                }
                calls.retain_mut(|call| call.as_mut().poll(&mut context).is_pending());
            }
            8 => {
                connections.extend(honest.accept());
                for connection in &connections {
                    let _ = connection.poll_open(&mut context);
                    let _ = connection.poll_read(&mut context, &mut [0; 100]);
                    let _ = connection.poll_write(&mut context, &[*step; 200]);
                }
                if step % 3 == 0 {
                    connections.iter().for_each(|connection| drop(connection.shutdown_write()));
                }
            }
            _ => {
                progressed += 1;
                if link.progress(&mut frames).is_err() {
                    break;
                }
            }
        }
    }
    link.end();
    Ok(progressed)
}
