//! A raw socket for IP protocol 132 on one local address, shared by the endpoints of a stack there.
//!
//! A raw socket receives every SCTP packet to its address, including those of other programs. A
//! kernel filter passes only the ports of our endpoints, so that other packets neither wake us nor
//! are answered with ABORT.
use super::bundling::{AddressPair, Bundle};
use super::missing_checksum::{self, LocalAddresses};
use crate::ffi::{packet, sys};
use crate::metrics;
use crate::{IPPROTO_SCTP, SctpError};
use socket2::{Domain, Protocol, SockAddr, SockFilter, Socket, Type};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Most ports in the kernel filter; with more ports, packets are filtered here.
const FILTER_LIMIT: usize = 1000;
/// Common header of SCTP (RFC 9260, 3.1).
const HEADER_LEN: usize = 12;

pub(super) struct RawSocket {
    socket: Arc<Socket>,
    local: IpAddr,
    routes: Mutex<HashMap<u16, Route>>,
    bundle: Mutex<Bundle>,
    /// Notified when a bundle waits to be sent.
    bundle_pending: Notify,
    local_addresses: LocalAddresses,
}

/// Both ends of an association, as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Path {
    pub(super) local: IpAddr,
    pub(super) remote: SocketAddr,
}

/// The endpoint that receives the packets to a port.
#[derive(Clone, Copy)]
pub(super) struct Route {
    /// Inner port of the endpoint.
    pub endpoint: u16,
    /// The only peer, if there is one.
    pub peer: Option<SocketAddr>,
    /// Whether packets of this machine may have no checksum.
    pub missing_checksums: bool,
}

impl RawSocket {
    /// Opens a raw socket on `local`, which may be the unspecified address.
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
            bundle_pending: Notify::new(),
            local_addresses: LocalAddresses::default(),
        };
        // Nothing passes until an endpoint is added.
        raw.filter(&[])?;
        raw.socket.bind(&SockAddr::from(SocketAddr::new(local, 0)))?;
        // Room for bursts of many peers. The system may grant less.
        let _ = raw.socket.set_recv_buffer_size(4 << 20);
        let _ = raw.socket.set_send_buffer_size(4 << 20);
        let fd = raw.socket.as_fd();
        if local.is_ipv4() {
            // Fragments packets that exceed the MTU of a later link.
            sys::set_int(fd, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DONT)?;
        } else {
            sys::set_int(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)?;
        }
        Ok(raw)
    }

    fn routes(&self) -> MutexGuard<'_, HashMap<u16, Route>> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Receives packets to `port` (on the wire) from now on.
    pub(super) fn add(&self, port: u16, route: Route) -> io::Result<()> {
        let mut routes = self.routes();
        routes.insert(port, route);
        self.filter(&routes.keys().copied().collect::<Vec<_>>())
    }

    /// Stops receiving packets to `port`.
    pub(super) fn remove(&self, port: u16) {
        let mut routes = self.routes();
        routes.remove(&port);
        if let Err(error) = self.filter(&routes.keys().copied().collect::<Vec<_>>()) {
            tracing::warn!(%error, "filter of the SCTP raw socket not updated");
        }
    }

    fn bundle(&self) -> MutexGuard<'_, Bundle> {
        self.bundle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a packet, at once or bundled with others at the end of the scheduler tick.
    pub(super) fn output(&self, packet: &mut [u8], addresses: AddressPair) {
        let mut bundle = self.bundle();
        let was_pending = !bundle.is_empty();
        bundle.add(packet, addresses, |packet, addresses| {
            self.send(packet, addresses);
        });
        if !was_pending && !bundle.is_empty() {
            self.bundle_pending.notify_one();
        }
    }

    /// Sends a packet at once.
    pub(super) fn send(&self, packet: &mut [u8], (local, remote): AddressPair) -> bool {
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
            tracing::debug!(peer = %remote, %error, "SCTP packet not sent");
            return false;
        }
        true
    }

    /// Sets the kernel filter: packets to these ports pass.
    fn filter(&self, ports: &[u16]) -> io::Result<()> {
        self.socket.attach_filter(&program(self.local.is_ipv4(), ports))
    }

    /// Receives one packet: its path, the route of its port, and the SCTP packet. `WouldBlock` if
    /// there is none; `None` for a packet that is not ours or is damaged.
    pub(super) fn receive<'a>(
        &self,
        buffer: &'a mut [u8],
    ) -> io::Result<Option<(Path, Route, &'a mut [u8])>> {
        let packet = packet::receive_packet(self.socket.as_fd(), buffer)?;
        let Some(bytes) = buffer.get_mut(..packet.len) else { return Ok(None) };
        let (source, destination, sctp) = if self.local.is_ipv4() {
            let Some((source, destination, header)) = parse_ipv4(bytes) else { return Ok(None) };
            (
                IpAddr::V4(source),
                IpAddr::V4(destination),
                bytes.get_mut(header..).unwrap_or_default(),
            )
        } else {
            let Some(source) = packet.source else { return Ok(None) };
            (source.into(), packet.destination.map_or(self.local, Into::into), bytes)
        };
        let Some(&[s1, s2, d1, d2, ..]) = sctp.first_chunk::<HEADER_LEN>() else {
            return Ok(None);
        };
        let (from, to) =
            (SocketAddr::new(source, u16::from_be_bytes([s1, s2])), u16::from_be_bytes([d1, d2]));
        let Some(route) = self.routes().get(&to).copied() else { return Ok(None) };
        if route.peer.is_some_and(|peer| peer != from) {
            return Ok(None);
        }
        let local = if self.local.is_unspecified() { destination } else { self.local };
        let path = Path { local, remote: from };
        if !checksum_is_right(sctp) && !self.accepts_missing_checksum(sctp, path, route) {
            metrics::BAD_CHECKSUMS.inc();
            return Ok(None);
        }
        Ok(Some((path, route, sctp)))
    }

    /// Whether a packet has no checksum, and an interface of this machine explains it.
    fn accepts_missing_checksum(&self, packet: &[u8], path: Path, route: Route) -> bool {
        if packet.get(8..HEADER_LEN) != Some(&[0; 4]) {
            return false;
        }
        let accepted = route.missing_checksums
            && self.local_addresses.explain_missing(
                path.local,
                path.remote.ip(),
                self.socket.as_fd(),
            );
        match accepted {
            true => missing_checksum::accepted(path.remote.ip()),
            false => missing_checksum::dropped(path.remote.ip()),
        }
        accepted
    }

    /// The socket, for a task that watches it.
    pub(super) fn socket(&self) -> Arc<Socket> {
        self.socket.clone()
    }

    /// Sends the bundles at the end of each scheduler tick, until the task is aborted. Without this
    /// task, packets are sent at once.
    pub(super) async fn flush_bundles(self: Arc<Self>) {
        struct Flusher(Arc<RawSocket>);
        impl Drop for Flusher {
            fn drop(&mut self) {
                let mut bundle = self.0.bundle();
                bundle.has_flusher = false;
                bundle.flush(|packet, addresses| {
                    self.0.send(packet, addresses);
                });
            }
        }
        let flusher = Flusher(self);
        flusher.0.bundle().has_flusher = true;
        loop {
            flusher.0.bundle_pending.notified().await;
            flusher.0.bundle().flush(|packet, addresses| {
                flusher.0.send(packet, addresses);
            });
        }
    }
}

/// Source, destination and length of an IPv4 header in front of `bytes`.
fn parse_ipv4(bytes: &[u8]) -> Option<(Ipv4Addr, Ipv4Addr, usize)> {
    let header = bytes.first_chunk::<20>()?;
    let [first, ..] = *header;
    let length = usize::from(first & 0x0f) * 4;
    let source: [u8; 4] = header.get(12..16)?.try_into().ok()?;
    let destination: [u8; 4] = header.get(16..20)?.try_into().ok()?;
    (length >= 20 && length <= bytes.len()).then_some((source.into(), destination.into(), length))
}

/// Whether the CRC32c of a packet (RFC 9260, 6.8 and appendix A) is right.
fn checksum_is_right(packet: &[u8]) -> bool {
    let Some((head, body)) = packet.split_first_chunk::<HEADER_LEN>() else { return false };
    let [ports_and_tag @ .., c1, c2, c3, c4] = *head;
    let crc: [u8; 8] = ports_and_tag;
    let crc = crc32c::crc32c_append(crc32c::crc32c_append(crc32c::crc32c(&crc), &[0; 4]), body);
    crc == u32::from_le_bytes([c1, c2, c3, c4])
}

/// A classic BPF program that passes packets to `ports` only. Raw IPv4 sockets include the IP
/// header, IPv6 ones do not.
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
    fn the_checksum_detects_a_changed_packet() {
        // INIT as captured from a Linux kernel's stack would do; here: header and one empty chunk,
        // CRC by the bitwise definition of RFC 9260, appendix A.
        let mut packet = vec![0x96, 0x0c, 0, 60, 1, 2, 3, 4, 0, 0, 0, 0, 11, 0, 0, 4];
        let mut crc = u32::MAX;
        for byte in &packet {
            crc ^= u32::from(*byte);
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
    fn invalid_ip_headers_are_rejected() {
        assert!(parse_ipv4(&[0x45; 19]).is_none());
        assert!(parse_ipv4(&[0x44; 40]).is_none(), "four words are too few");
        assert!(parse_ipv4(&[0x4f; 40]).is_none(), "options beyond the end");
        let mut packet = [0u8; 32];
        packet[0] = 0x45;
        packet[12..20].copy_from_slice(&[127, 0, 0, 1, 127, 0, 0, 2]);
        assert_eq!(parse_ipv4(&packet), Some(([127, 0, 0, 1].into(), [127, 0, 0, 2].into(), 20)));
    }
}
