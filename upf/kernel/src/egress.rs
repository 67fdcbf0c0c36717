//! Where packets leave.
use super::outgoing::Lost;
use martlet_upf_rules::Prefix;
use std::io;
use std::net::IpAddr;

/// Transmits packets. Called from several threads; must not block for long.
pub(super) trait Egress: Send + Sync + 'static {
    /// To a GTP-U peer, at the GTP-U port.
    fn to_peer(&self, datagram: &[u8], peer: IpAddr) -> io::Result<()>;
    /// The same with a type of service, or traffic class, of the outer header.
    fn to_peer_marked(&self, datagram: &[u8], peer: IpAddr, marking: u8) -> io::Result<()>;
    /// To the data network by a network instance; 0 is the default.
    fn to_network(&self, packet: &[u8], instance: usize) -> io::Result<()>;
    /// Lets the calling thread queue what it sends until it flushes.
    fn queue(&self) {}
    /// Sends what the calling thread has queued. Returns the packets lost since the last call.
    fn flush(&self) -> Lost {
        Lost::default()
    }
    /// Adds or removes a framed route.
    fn route(&self, _: Prefix, _here: bool) {}
}
