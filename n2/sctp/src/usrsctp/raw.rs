//! A raw socket for IP protocol 132 on one local address, shared by all endpoints that a stack has
//! there.
//!
//! Every raw socket sees every SCTP packet to its address, also those of other programs. A filter
//! in the kernel lets only the ports of our endpoints pass, so that strangers' packets neither wake
//! us nor get an ABORT from us.
use super::bundle::{Bundle, Way};
use super::gate;
use super::tables::{self, Path};
use super::ticker::Ticker;
use crate::ffi::{packet, sys};
use crate::metrics;
use crate::{IPPROTO_SCTP, SctpError};
use socket2::{Domain, Protocol, SockAddr, SockFilter, Socket, Type};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::Interest;
use tokio::sync::Notify;

/// Largest packet: what IP can carry.
const PACKET_LIMIT: usize = 65_536;
/// Packets handled before other tasks get their turn.
const BATCH: usize = 64;
/// Ports up to which the filter is used; above, packets are sorted out here.
const FILTER_LIMIT: usize = 1000;
/// Common header of SCTP (RFC 9260, 3.1).
const HEADER_LEN: usize = 12;

pub(super) struct RawSocket {
    socket: Arc<Socket>,
    local: IpAddr,
    routes: Mutex<HashMap<u16, Route>>,
    bundle: Mutex<Bundle>,
    /// Told when something waits to be released.
    held: Notify,
}

/// Whose packets a port takes.
#[derive(Clone, Copy)]
pub(super) struct Route {
    /// Port of the endpoint inside the library.
    pub endpoint: u16,
    /// The only peer, if there is one.
    pub peer: Option<SocketAddr>,
}

impl RawSocket {
    /// Opens one on `local`, which may be the unspecified address.
    pub(super) fn open(local: IpAddr) -> Result<RawSocket, SctpError> {
        let kind = Type::RAW.nonblocking();
        let socket = Socket::new(
            Domain::for_address(SocketAddr::new(local, 0)),
            kind,
            Some(Protocol::from(IPPROTO_SCTP)),
        )
        .map_err(|error| match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => SctpError::NeedsRawSocket,
            _ => error.into(),
        })?;
        let raw = RawSocket {
            socket: Arc::new(socket),
            local,
            routes: Mutex::default(),
            bundle: Mutex::default(),
            held: Notify::new(),
        };
        // Nothing passes until an endpoint is added.
        raw.filter(&[])?;
        raw.socket.bind(&SockAddr::from(SocketAddr::new(local, 0)))?;
        // Bursts of many peers wait here. Less than asked for is no error.
        let _ = raw.socket.set_recv_buffer_size(4 << 20);
        let _ = raw.socket.set_send_buffer_size(4 << 20);
        let fd = raw.socket.as_fd();
        if local.is_ipv4() {
            // A packet that is too large for a later link is fragmented rather than lost.
            sys::set_int(fd, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DONT)?;
        } else {
            sys::set_int(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)?;
        }
        Ok(raw)
    }

    fn routes(&self) -> MutexGuard<'_, HashMap<u16, Route>> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes packets to `port` (on the wire) from now on.
    pub(super) fn add(&self, port: u16, route: Route) -> io::Result<()> {
        let mut routes = self.routes();
        routes.insert(port, route);
        self.filter(&routes.keys().copied().collect::<Vec<_>>())
    }

    /// Takes no more packets to `port`.
    pub(super) fn remove(&self, port: u16) {
        let mut routes = self.routes();
        routes.remove(&port);
        if let Err(error) = self.filter(&routes.keys().copied().collect::<Vec<_>>()) {
            tracing::warn!(%error, "cannot narrow the filter of an SCTP raw socket");
        }
    }

    fn bundle(&self) -> MutexGuard<'_, Bundle> {
        self.bundle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a packet with the ports on the wire, at once or with others at the end of the turn.
    pub(super) fn output(&self, packet: &mut [u8], way: Way) {
        let mut bundle = self.bundle();
        let waited = !bundle.is_empty();
        bundle.take(packet, way, |packet, way| self.send(packet, way));
        if !waited && !bundle.is_empty() {
            self.held.notify_one();
        }
    }

    fn send(&self, packet: &mut [u8], (local, remote): Way) {
        if let Some(checksum) = packet.get_mut(8..HEADER_LEN) {
            checksum.fill(0);
        }
        let crc = crc32c::crc32c(packet).to_le_bytes();
        if let Some(checksum) = packet.get_mut(8..HEADER_LEN) {
            checksum.copy_from_slice(&crc);
        }
        let from = self.local.is_unspecified().then_some(local);
        if let Err(error) = packet::send_packet(self.socket.as_fd(), packet, remote, from) {
            metrics::NOT_SENT.inc();
            tracing::debug!(peer = %remote, %error, "the raw socket did not take an SCTP packet");
        }
    }

    /// Lets packets to these ports pass.
    fn filter(&self, ports: &[u16]) -> io::Result<()> {
        self.socket.attach_filter(&program(self.local.is_ipv4(), ports))
    }

    /// Reads one packet and gives it to the library. `WouldBlock` if there is none.
    fn take_one(&self, buffer: &mut [u8], gate: &mut gate::Entered) -> io::Result<()> {
        let packet = packet::receive_packet(self.socket.as_fd(), buffer)?;
        let Some(octets) = buffer.get_mut(..packet.len) else { return Ok(()) };
        let (source, destination, sctp) = if self.local.is_ipv4() {
            let Some((source, destination, header)) = parse_ipv4(octets) else { return Ok(()) };
            (
                IpAddr::V4(source),
                IpAddr::V4(destination),
                octets.get_mut(header..).unwrap_or_default(),
            )
        } else {
            let Some(source) = packet.source else { return Ok(()) };
            (source.into(), packet.destination.map_or(self.local, Into::into), octets)
        };
        let Some(&[s1, s2, d1, d2, ..]) = sctp.first_chunk::<HEADER_LEN>() else { return Ok(()) };
        let (from, to) =
            (SocketAddr::new(source, u16::from_be_bytes([s1, s2])), u16::from_be_bytes([d1, d2]));
        let Some(route) = self.routes().get(&to).copied() else { return Ok(()) };
        if route.peer.is_some_and(|peer| peer != from) {
            return Ok(());
        }
        if !checksum_is_right(sctp) {
            metrics::BAD_CHECKSUMS.inc();
            return Ok(());
        }
        let local = if self.local.is_unspecified() { destination } else { self.local };
        let peer = tables::lock().peer(route.endpoint, Path { local, remote: from });
        let (Some(peer), Some((ports, _))) = (peer, sctp.split_first_chunk_mut::<4>()) else {
            return Ok(());
        };
        let ([s1, s2], [d1, d2]) = (peer.to_be_bytes(), route.endpoint.to_be_bytes());
        *ports = [s1, s2, d1, d2];
        gate.input(sctp);
        Ok(())
    }
}

/// Sends at the end of each turn what has waited for it, until the task is aborted; from then on
/// nothing waits.
pub(super) async fn release_for_ever(raw: Arc<RawSocket>) {
    struct Holds(Arc<RawSocket>);
    impl Drop for Holds {
        fn drop(&mut self) {
            let mut bundle = self.0.bundle();
            bundle.holds = false;
            bundle.release(|packet, way| self.0.send(packet, way));
        }
    }
    let holds = Holds(raw);
    holds.0.bundle().holds = true;
    loop {
        holds.0.held.notified().await;
        holds.0.bundle().release(|packet, way| holds.0.send(packet, way));
    }
}

/// Feeds the library with what comes in, until the task is aborted.
pub(super) async fn read_for_ever(raw: Arc<RawSocket>, ticker: Arc<Ticker>) {
    let fd = match sys::watch(raw.socket.clone(), Interest::READABLE) {
        Ok(fd) => fd,
        Err(error) => {
            tracing::error!(%error, "cannot watch an SCTP raw socket: nothing can be received on it");
            return;
        }
    };
    let mut buffer = vec![0; PACKET_LIMIT];
    loop {
        let mut ready = match fd.readable().await {
            Ok(ready) => ready,
            Err(error) => {
                tracing::error!(%error, "an SCTP raw socket has failed");
                return;
            }
        };
        let drained = take_batch(&raw, &mut buffer);
        ticker.stir();
        if drained {
            ready.clear_ready();
        } else {
            tokio::task::yield_now().await;
        }
    }
}

/// Handles what has come, up to the size of a batch. Whether that was all.
fn take_batch(raw: &RawSocket, buffer: &mut [u8]) -> bool {
    let mut gate = gate::enter();
    for _ in 0..BATCH {
        match raw.take_one(buffer, &mut gate) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
            // An ICMP error of an earlier packet; SCTP's own timers judge paths.
            Err(error) => tracing::debug!(%error, "error on an SCTP raw socket"),
        }
    }
    false
}

/// Source, destination and length of an IPv4 header in front of `octets`.
fn parse_ipv4(octets: &[u8]) -> Option<(Ipv4Addr, Ipv4Addr, usize)> {
    let header = octets.first_chunk::<20>()?;
    let [first, ..] = *header;
    let length = usize::from(first & 0x0f) * 4;
    let source: [u8; 4] = header.get(12..16)?.try_into().ok()?;
    let destination: [u8; 4] = header.get(16..20)?.try_into().ok()?;
    (length >= 20 && length <= octets.len()).then_some((source.into(), destination.into(), length))
}

/// Whether the CRC32c of a packet (RFC 9260, 6.8 and appendix A) is right.
fn checksum_is_right(packet: &[u8]) -> bool {
    let Some((head, body)) = packet.split_first_chunk::<HEADER_LEN>() else { return false };
    let [ports_and_tag @ .., c1, c2, c3, c4] = *head;
    let crc: [u8; 8] = ports_and_tag;
    let crc = crc32c::crc32c_append(crc32c::crc32c_append(crc32c::crc32c(&crc), &[0; 4]), body);
    crc == u32::from_le_bytes([c1, c2, c3, c4])
}

/// A classic BPF program that passes packets to `ports` only. Raw IPv4 sockets see the IP header,
/// IPv6 ones do not.
fn program(ipv4: bool, ports: &[u16]) -> Vec<SockFilter> {
    let op = |code: u32, jt, jf, k| SockFilter::new(code as u16, jt, jf, k);
    let pass = || op(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX);
    let drop = op(libc::BPF_RET | libc::BPF_K, 0, 0, 0);
    if ports.len() > FILTER_LIMIT {
        return vec![pass()];
    }
    let mut program = if ipv4 {
        vec![
            op(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0, 0, 0),
            op(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, 0, 0, 2),
        ]
    } else {
        vec![op(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, 0, 0, 2)]
    };
    for port in ports {
        program.push(op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, (*port).into()));
        program.push(pass());
    }
    program.push(drop);
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_a_known_packet() {
        // INIT as captured from a Linux kernel's stack would do; here: header and one empty chunk,
        // CRC by the bitwise definition of RFC 9260, appendix A.
        let mut packet = vec![0x96, 0x0c, 0, 60, 1, 2, 3, 4, 0, 0, 0, 0, 11, 0, 0, 4];
        let mut crc = u32::MAX;
        for octet in &packet {
            crc ^= u32::from(*octet);
            for _ in 0..8 {
                crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
            }
        }
        packet[8..12].copy_from_slice(&(!crc).to_le_bytes());
        assert!(checksum_is_right(&packet));
        packet[13] ^= 1;
        assert!(!checksum_is_right(&packet));
        assert!(!checksum_is_right(&packet[..11]));
    }

    #[test]
    fn short_and_odd_ip_headers_are_refused() {
        assert!(parse_ipv4(&[0x45; 19]).is_none());
        assert!(parse_ipv4(&[0x44; 40]).is_none(), "four words are too few");
        assert!(parse_ipv4(&[0x4f; 40]).is_none(), "options beyond the end");
        let mut packet = [0u8; 32];
        packet[0] = 0x45;
        packet[12..20].copy_from_slice(&[127, 0, 0, 1, 127, 0, 0, 2]);
        assert_eq!(parse_ipv4(&packet), Some(([127, 0, 0, 1].into(), [127, 0, 0, 2].into(), 20)));
    }
}
