//! Where packets leave.
use martlet_upf_rules::Prefix;
use std::io;
use std::net::IpAddr;

/// Takes packets that leave. Called from several threads; neither call may wait for long.
pub(super) trait Egress: Send + Sync + 'static {
    /// To a GTP-U peer, at the GTP-U port.
    fn to_peer(&self, datagram: &[u8], peer: IpAddr) -> io::Result<()>;
    /// To the data network, by an exit; 0 is the common one.
    fn to_network(&self, packet: &[u8], exit: usize) -> io::Result<()>;
    /// Has packets for a network behind a UE come from the data network, or no more.
    fn route(&self, _: Prefix, _here: bool) {}
}
