//! Interfaces set up through rtnetlink (RFC 3549), in the network namespace of the calling thread.
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

const HEADER: usize = 16;
const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const ERROR: u16 = 2;
const REQUEST_WITH_ACK: u16 = 0x01 | 0x04;
const CREATE_OR_REPLACE: u16 = 0x400 | 0x100;

/// A route socket.
pub(super) struct Netlink(OwnedFd);

impl Netlink {
    pub fn open() -> io::Result<Self> {
        let protocol = SockProtocol::NetlinkRoute;
        let fd = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Netlink(fd))
    }

    /// Sets an interface up, with a largest packet.
    pub fn up(&self, index: u32, mtu: u32) -> io::Result<()> {
        // struct ifinfomsg: family, padding, type, index, flags, which of the flags change.
        let mut body = vec![0, 0, 0, 0];
        body.extend(index.to_ne_bytes());
        body.extend((libc::IFF_UP as u32).to_ne_bytes());
        body.extend((libc::IFF_UP as u32).to_ne_bytes());
        attribute(&mut body, libc::IFLA_MTU, &mtu.to_ne_bytes());
        self.request(NEW_LINK, 0, &body)
    }

    /// Gives an interface an address; the kernel adds the route to its network.
    pub fn address(&self, index: u32, address: Ipv4Addr, prefix: u8) -> io::Result<()> {
        // struct ifaddrmsg: family, prefix length, flags, scope, index.
        let mut body = vec![libc::AF_INET as u8, prefix, 0, 0];
        body.extend(index.to_ne_bytes());
        attribute(&mut body, libc::IFA_LOCAL, &address.octets());
        attribute(&mut body, libc::IFA_ADDRESS, &address.octets());
        self.request(NEW_ADDRESS, CREATE_OR_REPLACE, &body)
    }

    /// Sends a request and waits for the kernel's word on it.
    fn request(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        let length = (HEADER + body.len()) as u32;
        let mut message = Vec::with_capacity(HEADER + body.len());
        message.extend(length.to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend((REQUEST_WITH_ACK | flags).to_ne_bytes());
        message.extend([0; 8]);
        message.extend(body);
        send(self.0.as_raw_fd(), &message, MsgFlags::empty())?;
        let mut answer = [0; 4096];
        let length = recv(self.0.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        let answer = answer.get(..length).unwrap_or_default();
        let field = |at: usize| answer.get(at..at + 4).and_then(|octets| <[u8; 4]>::try_from(octets).ok());
        let kind = answer.get(4..6).and_then(|octets| <[u8; 2]>::try_from(octets).ok()).map(u16::from_ne_bytes);
        match (kind, field(HEADER).map(i32::from_ne_bytes)) {
            (Some(ERROR), Some(0)) => Ok(()),
            (Some(ERROR), Some(error)) => Err(io::Error::from_raw_os_error(error.saturating_neg())),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "an answer of rtnetlink that is none")),
        }
    }
}

/// struct rtattr: length, type, then the value, padded to four octets.
fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend(((4 + value.len()) as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}
