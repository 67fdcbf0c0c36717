//! An SCTP peer that sends its packets without a checksum, as the kernel's does where an interface
//! offers to compute it.
use anyhow::{Context, Result};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, bind, recv, sendto,
    socket,
};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

const PORT: u16 = 40_123;
const AMF_PORT: u16 = 38_412;
const TAG: u32 = 0x1234_5678;

/// What the AMF answered to INIT: its tag and its cookie.
pub struct Cookie {
    tag: u32,
    cookie: Vec<u8>,
}

/// The peer.
pub struct UncheckedPeer {
    socket: OwnedFd,
    amf: Ipv4Addr,
}

impl UncheckedPeer {
    pub fn open(amf: Ipv4Addr) -> Result<UncheckedPeer> {
        let flags = SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Inet, SockType::Raw, flags, Some(SockProtocol::Sctp))?;
        let mut local = amf.octets();
        local[3] = 77;
        let local = SockaddrIn::from(SocketAddrV4::new(local.into(), 0));
        bind(socket.as_raw_fd(), &local)?;
        Ok(UncheckedPeer { socket, amf })
    }

    /// INIT (RFC 9260, 3.3.2). Returns what INIT ACK has, if one arrives.
    pub async fn init(&self, limit: Duration) -> Result<Option<Cookie>> {
        let mut chunk = vec![1, 0, 0, 20];
        chunk.extend(TAG.to_be_bytes());
        chunk.extend(65_536u32.to_be_bytes());
        chunk.extend([0, 8, 0, 8]);
        chunk.extend(1u32.to_be_bytes());
        self.send(0, &chunk)?;
        let Some(answer) = self.receive(2, limit).await? else { return Ok(None) };
        let tag = u32::from_be_bytes(answer[4..8].try_into()?);
        // Parameters follow the 20 octets of the chunk; the cookie has the type 7.
        let mut rest = &answer[20..];
        while let [t1, t2, l1, l2, ..] = *rest {
            let length = usize::from(u16::from_be_bytes([l1, l2]));
            let parameter = rest.get(..length).context("a parameter is too short")?;
            if [t1, t2] == [0, 7] {
                return Ok(Some(Cookie { tag, cookie: parameter[4..].to_vec() }));
            }
            rest = rest.get(length.div_ceil(4) * 4..).unwrap_or_default();
        }
        anyhow::bail!("INIT ACK without a cookie")
    }

    /// COOKIE ECHO. Returns whether COOKIE ACK arrives.
    pub async fn echo(&self, cookie: &Cookie, limit: Duration) -> Result<bool> {
        let length = u16::try_from(4 + cookie.cookie.len())?;
        let mut chunk = vec![10, 0];
        chunk.extend(length.to_be_bytes());
        chunk.extend(&cookie.cookie);
        chunk.resize(chunk.len().div_ceil(4) * 4, 0);
        self.send(cookie.tag, &chunk)?;
        Ok(self.receive(11, limit).await?.is_some())
    }

    fn send(&self, tag: u32, chunk: &[u8]) -> Result<()> {
        let mut packet = [PORT.to_be_bytes(), AMF_PORT.to_be_bytes()].concat();
        packet.extend(tag.to_be_bytes());
        packet.extend([0; 4]);
        packet.extend(chunk);
        let to = SockaddrIn::from(SocketAddrV4::new(self.amf, 0));
        sendto(self.socket.as_raw_fd(), &packet, &to, MsgFlags::empty())?;
        Ok(())
    }

    /// The next packet whose first chunk has this type: from the chunk on.
    async fn receive(&self, kind: u8, limit: Duration) -> Result<Option<Vec<u8>>> {
        let started = Instant::now();
        let mut buffer = [0; 4096];
        while started.elapsed() < limit {
            match recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                Ok(length) => {
                    // IP header of 20 octets, SCTP header of 12.
                    let chunk = buffer.get(32..length).unwrap_or_default();
                    if chunk.first() == Some(&kind) {
                        return Ok(Some(chunk.to_vec()));
                    }
                }
                Err(nix::errno::Errno::EAGAIN) => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }
}
