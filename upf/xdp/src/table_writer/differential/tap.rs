//! What user space and the kernel send on interfaces.
use super::{LINK, tunnelled};
use martlet_gtpu::{Message, decode};
use martlet_upf_datapath::random::{Out, without_ttl};
use nix::sys::socket::{
    AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, recvfrom, socket,
};
use std::os::fd::{AsRawFd, OwnedFd};

/// A socket that receives a copy of each frame of the network namespace. A copy of a frame that is
/// sent is there when the call that sends it returns.
pub(super) struct Tap {
    socket: OwnedFd,
    n3: usize,
    inner: [usize; 2],
}

impl Tap {
    /// Begins to listen. `inner` are the programs' ends of the links with the kernel, for each
    /// network instance.
    pub fn open(n3: u32, inner: [u32; 2]) -> Tap {
        let socket = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_NONBLOCK,
            SockProtocol::EthAll,
        );
        let socket = socket.expect("a packet socket");
        Tap { socket, n3: n3 as usize, inner: inner.map(|end| end as usize) }
    }

    /// The packets of sessions that left since the last call: into tunnels, and to the kernel.
    pub fn take(&self) -> Vec<Out> {
        let mut buffer = vec![0; 65_536];
        let mut all = Vec::new();
        while let Ok((length, from)) = recvfrom::<LinkAddr>(self.socket.as_raw_fd(), &mut buffer) {
            let from = from.expect("the interface");
            let frame = &buffer[..length.min(buffer.len())];
            if from.pkttype() != libc::PACKET_OUTGOING || frame.len() < 14 {
                continue;
            }
            let packet = &frame[14..];
            if from.ifindex() == self.n3 {
                let out = tunnelled(packet);
                let is_packet = |out: &Out| match out {
                    Out::Tunnel(_, _, bytes) => matches!(decode(bytes), Ok(Message::GPdu(_))),
                    _ => false,
                };
                all.extend(out.filter(is_packet));
            } else if let Some(instance) = self.inner.iter().position(|end| *end == from.ifindex())
                && frame[..12] == [LINK, LINK].concat()
            {
                all.push(Out::Network(instance, without_ttl(packet.to_vec())));
            }
        }
        all
    }
}
