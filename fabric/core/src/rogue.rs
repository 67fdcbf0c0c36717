//! An end of a channel that follows no rule: for tests and fuzzing, where it plays a process that
//! was taken over.
//!
//! It has what such a process has, the shared memory and the bells, and writes there whatever it is
//! told to.
use crate::channel::{Channel, Descriptor, Head, Kind, Parts, Place};
use crate::link::{Host, Link};
use crate::memory::layout::{Layout, Sizes};
use crate::memory::mapping::{ChannelMemory, SharedRing};
use crate::memory::octets;
use crate::memory::pool::{BufferClass, BufferId};
use crate::memory::ring::{Producer, RingMemory};
use crate::messages::Peer;
use crate::process::ProcessLimits;
use crate::sockets::{Connection, Listener};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// The rogue end.
pub struct Rogue {
    /// The memory, to write to at will.
    pub memory: ChannelMemory,
    ring: Producer<SharedRing<8>, 8>,
    returns: Producer<SharedRing<1>, 1>,
    _parts: Parts,
}

/// Small sizes, so that limits are met soon.
pub fn sizes() -> Sizes {
    let class = |octets, count| BufferClass { octets, count };
    Sizes { slots: 8, classes: vec![class(64, 4), class(256, 4)], frame: 16 << 10 }
}

impl Rogue {
    /// An honest end, and a rogue one.
    pub fn pair() -> std::io::Result<(Channel, Rogue)> {
        let (sizes, layout) =
            (sizes(), Arc::new(Layout::of(&sizes()).map_err(std::io::Error::other)?));
        let [honest, rogue] = Parts::pair(&layout, false)?;
        let map = || ChannelMemory::map(&rogue.memory, &layout, 1);
        let (ring, returns) = (Producer::new(map()?.out.ring), Producer::new(map()?.into.returns));
        Ok((
            Channel::new(honest, &sizes, 0)?,
            Rogue { memory: map()?, ring, returns, _parts: rogue },
        ))
    }

    /// Publishes a descriptor; `false` where the ring is full.
    pub fn push(&mut self, words: &[u64; 8]) -> bool {
        self.ring.push(words).unwrap_or(false)
    }

    /// Publishes a frame of one piece that lies in a buffer, or in the descriptor where it is
    /// short.
    pub fn frame(&mut self, head: Head, octets: &[u8], buffer: u32) -> bool {
        let place = if octets.len() <= crate::channel::INLINE {
            let mut inline = [0; crate::channel::INLINE];
            inline[..octets.len()].copy_from_slice(octets);
            Place::Inline(octets.len() as u8, inline)
        } else {
            if let Some(words) = self.memory.out.buffers.get(BufferId(buffer)) {
                octets::write(words, octets);
            }
            Place::Buffer(BufferId(buffer), octets.len() as u32)
        };
        let descriptor =
            Descriptor { head, first: true, last: true, total: octets.len() as u32, place };
        self.push(&descriptor.to_words())
    }

    /// Gives back a buffer, whether it has it or not.
    pub fn give_back(&mut self, number: u64) -> bool {
        self.returns.push(&[number]).unwrap_or(false)
    }

    /// Publishes an index: 0 and 1 of the descriptors (what it sent, what it read), 2 and 3 of the
    /// buffers given back.
    pub fn index(&self, which: u8, value: u32) {
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

/// The host of the honest end: gives back each request as its answer, and listens at one address.
pub struct Victim {
    listener: Arc<Listener>,
}

/// Where [`Victim`] listens.
pub const ADDRESS: &str = "127.0.0.1:1";

impl Victim {
    /// The host and its link over a channel.
    pub fn link(channel: Channel) -> (Arc<Victim>, Arc<Link>) {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let victim = Arc::new(Victim { listener: Arc::new(Listener::new(address, 4)) });
        let host: Arc<dyn Host> = victim.clone();
        let peer =
            Peer { name: "rogue".into(), model: 0, calls: Vec::new(), connections: Vec::new() };
        let mut limits =
            ProcessLimits { serving: 4, calls: 4, backlog: 50_000, ..ProcessLimits::default() };
        limits.sockets.connections = 4;
        limits.sockets.window = 1000;
        let link = Link::new(1, peer, channel, &limits, Arc::downgrade(&host));
        (victim, link)
    }

    /// The next connection that came in.
    pub fn accept(&self) -> Option<Arc<Connection>> {
        match self.listener.poll_accept(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(connection)) => Some(connection),
            _ => None,
        }
    }
}

impl Host for Victim {
    fn request(
        &self,
        link: &Arc<Link>,
        stream: u32,
        octets: Vec<u8>,
    ) -> Result<(), crate::channel::Violation> {
        link.respond(stream, &octets);
        Ok(())
    }
    fn listener(&self, address: &SocketAddr) -> Option<Arc<Listener>> {
        (*address == self.listener.address()).then(|| self.listener.clone())
    }
}

/// Plays a script: each step is an octet and what it needs of the octets after it. Returns how many
/// frames were taken before the honest end closed the channel or the script ended.
pub fn play(script: &[u8]) -> std::io::Result<usize> {
    let (channel, mut rogue) = Rogue::pair()?;
    let (victim, link) = Victim::link(channel);
    let mut connections: Vec<Arc<Connection>> = Vec::new();
    let calls = Mutex::new(Vec::new());
    let mut context = Context::from_waker(Waker::noop());
    let (mut rest, mut frames, mut taken) = (script, Vec::new(), 0);
    let mut next = |length: usize| {
        let (head, tail) = rest.split_at(length.min(rest.len()));
        rest = tail;
        head
    };
    while let [step] = next(1) {
        let number =
            |octets: &[u8]| octets.iter().fold(0u64, |n, octet| n << 8 | u64::from(*octet));
        match step % 10 {
            0 => {
                let octets = next(64);
                let words = std::array::from_fn(|n| {
                    number(octets.get(n * 8..n * 8 + 8).unwrap_or_default())
                });
                rogue.push(&words);
            }
            1..=3 => {
                let [kind, flags, stream, buffer] = *next(4) else { break };
                use Kind::*;
                let kinds = [
                    Request, Response, Cancel, Refused, Connect, Accept, Data, Credit, Finish,
                    Reset,
                ];
                let kind = kinds[usize::from(kind) % kinds.len()];
                let head = Head { kind, own: flags & 1 != 0, stream: (stream & 7).into() };
                let length = usize::from(flags >> 1);
                let mut octets = next(length).to_vec();
                if kind == Connect && flags & 2 != 0 {
                    octets =
                        [&1000u32.to_le_bytes()[..], format!("{ADDRESS} 1.2.3.4:5").as_bytes()]
                            .concat();
                }
                rogue.frame(head, &octets, (buffer & 7).into());
            }
            4 => {
                rogue.give_back(number(next(1)));
            }
            5 => {
                let [which, value] = *next(2) else { break };
                rogue.index(which, value as i8 as u32);
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
                connections.extend(victim.accept());
                for connection in &connections {
                    let _ = connection.poll_open(&mut context);
                    let _ = connection.poll_read(&mut context, &mut [0; 100]);
                    let _ = connection.poll_write(&mut context, &[*step; 200]);
                }
                if step % 3 == 0 {
                    connections.iter().for_each(|connection| drop(connection.shut_down()));
                }
            }
            _ => {
                taken += 1;
                if link.progress(&mut frames).is_err() {
                    break;
                }
            }
        }
    }
    link.end();
    Ok(taken)
}
