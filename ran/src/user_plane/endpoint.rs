//! The GTP-U endpoint of a gNB: one thread transports the packets of all its UEs.
use super::air_interface::AirInterface;
use super::batch::{Incoming, Outgoing};
use super::port_state::{PortState, Uplink};
use super::radio::RadioConfig;
use martlet_gtpu::{GPdu, Message};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use tun_rs::SyncDevice;

/// Epoll tokens of the socket, the wakeup eventfd and the air interface's timer; ports have higher
/// numbers.
const SOCKET: u64 = 0;
const WAKE: u64 = 1;
const AIR: u64 = 2;
const FIRST_PORT: u64 = 3;
/// Maximum number of packets read from one interface at a time.
const BURST: usize = 64;

/// Counters of a user plane.
#[derive(Debug, Default)]
pub struct Counters {
    /// G-PDUs for a TEID that does not exist.
    pub unknown_teid: AtomicU64,
    /// G-PDUs of a QoS flow that the session does not have; they are delivered.
    pub unknown_qfi: AtomicU64,
    /// Error indications from UPFs.
    pub error_indications: AtomicU64,
    /// Datagrams that are not GTP-U.
    pub malformed: AtomicU64,
    /// Packets that the model of the air interface delivered.
    pub air_packets: AtomicU64,
    /// Packets delivered [`LATE`] or more after the time that the model computed.
    pub air_packets_late: AtomicU64,
    /// The largest delay beyond the time that the model computed, in microseconds.
    pub air_max_delay_us: AtomicU64,
}

/// A delay that would affect a measurement: half a slot at 30 kHz subcarrier spacing.
pub const LATE: Duration = Duration::from_micros(250);

impl Counters {
    fn air_packet(&self, delay: Duration) {
        self.air_packets.fetch_add(1, Ordering::Relaxed);
        self.air_packets_late.fetch_add(u64::from(delay >= LATE), Ordering::Relaxed);
        self.air_max_delay_us.fetch_max(delay.as_micros() as u64, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Tables {
    /// Ports by TEID, and whether the tunnel carries forwarded data.
    by_teid: HashMap<u32, (Arc<PortState>, bool)>,
    by_id: HashMap<u64, Arc<PortState>>,
    next_teid: u32,
    next_id: u64,
}

pub(super) struct Shared {
    pub(super) socket: UdpSocket,
    /// UDP port of the UPF, if not 2152.
    pub(super) peer_port: Option<u16>,
    pub(super) local: IpAddr,
    epoll: Epoll,
    wake: EventFd,
    stop: AtomicBool,
    tables: RwLock<Tables>,
    counters: Arc<Counters>,
}

/// The endpoint. Clones are handles of the same endpoint; its thread ends with the last one.
#[derive(Clone)]
pub struct UserPlane(Arc<Owner>);

struct Owner {
    shared: Arc<Shared>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        let _ = self.shared.wake.write(1);
    }
}

/// Accepts IPv6 datagrams without a UDP checksum, as tunnels may send them (RFC 6935).
fn accept_zero_checksum(socket: &UdpSocket) -> io::Result<()> {
    const UDP_NO_CHECK6_RX: libc::c_int = 102;
    let on: libc::c_int = 1;
    // SAFETY: the pointer is to an integer of the given length, which outlives the call; the
    // socket is open.
    let outcome = unsafe {
        let length = size_of_val(&on) as libc::socklen_t;
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_UDP,
            UDP_NO_CHECK6_RX,
            (&raw const on).cast(),
            length,
        )
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl UserPlane {
    /// Opens the endpoint at `local`.
    ///
    /// # Errors
    /// The address is not local, or the UDP port is in use.
    pub fn start(local: SocketAddr) -> io::Result<UserPlane> {
        Self::start_with(local, None)
    }

    /// Opens the endpoint with a model of the air interface between it and the UEs' interfaces.
    ///
    /// # Errors
    /// As for [`UserPlane::start`].
    pub fn start_with(local: SocketAddr, radio: Option<&RadioConfig>) -> io::Result<UserPlane> {
        let socket = UdpSocket::bind(local)?;
        socket.set_nonblocking(true)?;
        let settings = socket2::SockRef::from(&socket);
        if local.is_ipv6() {
            accept_zero_checksum(&socket)?;
        }
        // Room for a burst of a TCP sender, about 1,000 packets. The system may grant less.
        let _ = settings.set_recv_buffer_size(4 << 20);
        let _ = settings.set_send_buffer_size(4 << 20);
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let wake =
            EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        epoll.add(socket.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, SOCKET))?;
        epoll.add(wake.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, WAKE))?;
        let shared = Arc::new(Shared {
            peer_port: (local.port() != 2152).then_some(local.port()),
            local: local.ip(),
            socket,
            epoll,
            wake,
            stop: AtomicBool::new(false),
            tables: RwLock::new(Tables { next_teid: 1, next_id: FIRST_PORT, ..Tables::default() }),
            counters: Arc::default(),
        });
        let air = radio.map(AirInterface::new).transpose()?;
        if let Some(air) = &air {
            shared.epoll.add(air.timer(), EpollEvent::new(EpollFlags::EPOLLIN, AIR))?;
        }
        let thread = shared.clone();
        std::thread::Builder::new().name("gtp-u".into()).spawn(move || thread.run(air))?;
        Ok(UserPlane(Arc::new(Owner { shared })))
    }

    /// Whether two gNBs have the same endpoint.
    pub(crate) fn same(one: Option<&UserPlane>, other: Option<&UserPlane>) -> bool {
        matches!((one, other), (Some(one), Some(other)) if Arc::ptr_eq(&one.0, &other.0))
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    /// Counters.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.0.shared.counters
    }
}

impl Shared {
    fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.tables.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Tables> {
        self.tables.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds a port under a new identifier.
    pub(super) fn add_port(&self, port: impl FnOnce(u64) -> PortState) -> Arc<PortState> {
        let mut tables = self.write();
        let id = tables.next_id;
        tables.next_id += 1;
        let state = Arc::new(port(id));
        tables.by_id.insert(id, state.clone());
        state
    }

    /// Allocates a TEID for a port.
    pub(super) fn allocate_teid(&self, port: &Arc<PortState>, forwarding: bool) -> u32 {
        let mut tables = self.write();
        loop {
            let teid = tables.next_teid;
            tables.next_teid = teid.wrapping_add(1).max(1);
            if let std::collections::hash_map::Entry::Vacant(entry) = tables.by_teid.entry(teid) {
                entry.insert((port.clone(), forwarding));
                return teid;
            }
        }
    }

    pub(super) fn release_teid(&self, teid: u32) {
        self.write().by_teid.remove(&teid);
    }

    pub(super) fn remove_port(&self, id: u64) {
        self.write().by_id.remove(&id);
    }

    pub(super) fn watch(&self, port: &PortState, tun: &SyncDevice) -> io::Result<()> {
        Ok(self.epoll.add(Descriptor(tun), EpollEvent::new(EpollFlags::EPOLLIN, port.id))?)
    }

    pub(super) fn unwatch(&self, tun: &SyncDevice) {
        let _ = self.epoll.delete(Descriptor(tun));
    }

    fn run(&self, mut air: Option<AirInterface>) {
        let mut incoming = Incoming::new();
        let mut outgoing = Outgoing::new();
        let mut events = [EpollEvent::empty(); 64];
        while !self.stop.load(Ordering::Relaxed) {
            let ready = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Ok(ready) => ready,
                Err(nix::errno::Errno::EINTR) => continue,
                Err(error) => {
                    tracing::error!(%error, "user plane thread stopped: epoll failed");
                    return;
                }
            };
            for event in events.iter().take(ready) {
                match event.data() {
                    SOCKET => self.downlink(&mut incoming, air.as_mut()),
                    WAKE | AIR => {}
                    id => {
                        let port = self.read().by_id.get(&id).cloned();
                        match (port, &mut air) {
                            (Some(port), None) => self.uplink(&port, &mut outgoing),
                            (Some(port), Some(air)) => {
                                self.uplink_over_air(&port, outgoing.payload(), air)
                            }
                            (None, _) => {}
                        }
                    }
                }
            }
            if let Some(air) = &mut air {
                while let Some((arrival, delay)) = air.next_arrival() {
                    self.counters.air_packet(delay);
                    let port = self.read().by_id.get(&arrival.port).cloned();
                    match port {
                        Some(port) if arrival.uplink => {
                            self.send(&port, &arrival.packet, &mut outgoing)
                        }
                        Some(port) => port.deliver(&arrival.packet),
                        None => {}
                    }
                }
                outgoing.flush(&self.socket);
                air.arm_timer();
            }
        }
    }

    /// Handles one batch of datagrams from N3. Epoll reports the socket again if there are more.
    fn downlink(&self, incoming: &mut Incoming, mut air: Option<&mut AirInterface>) {
        let Ok(count) = incoming.receive(&self.socket) else { return };
        for index in 0..count {
            let Some((datagram, from)) = incoming.datagram(index) else { continue };
            match martlet_gtpu::decode(datagram) {
                Ok(Message::GPdu(GPdu { teid, container, payload, .. })) => {
                    let port = self.read().by_teid.get(&teid).cloned();
                    // The source of a handover has forwarded packets in a flow of its own.
                    if let (Some((port, false)), Some(container)) = (&port, &container)
                        && !port.has_flow(container.qfi)
                    {
                        self.unknown_qfi(teid, container.qfi, from);
                    }
                    match (port, &mut air) {
                        // The air interface transports packets of served UEs only.
                        (Some((port, _)), Some(air)) if port.is_serving() => {
                            air.send(port.id, false, payload);
                        }
                        (Some((port, forwarded)), _) => {
                            port.downlink(payload, forwarded, &self.socket)
                        }
                        (None, _) => {
                            self.counters.unknown_teid.fetch_add(1, Ordering::Relaxed);
                            let answer = martlet_gtpu::error_indication(teid, self.local);
                            let _ = self.socket.send_to(&answer, from);
                        }
                    }
                }
                Ok(Message::EchoRequest { sequence }) => {
                    let _ = self.socket.send_to(&martlet_gtpu::echo_response(sequence), from);
                }
                Ok(Message::EndMarker { teid, .. }) => {
                    let port = self.read().by_teid.get(&teid).cloned();
                    if let Some((port, forwarded)) = port {
                        port.end_marker(forwarded, &self.socket);
                    }
                }
                Ok(Message::ErrorIndication { teid, .. }) => {
                    self.counters.error_indications.fetch_add(1, Ordering::Relaxed);
                    let known = self.read().by_id.values().any(|port| port.sends_to(teid));
                    tracing::warn!(
                        teid,
                        %from,
                        known,
                        "GTP-U error indication: tunnel unknown to the UPF"
                    );
                }
                Ok(_) => {}
                Err(_) => {
                    self.counters.malformed.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Counts a packet of a QoS flow that its session does not have. The first one is logged.
    fn unknown_qfi(&self, teid: u32, qfi: u8, from: SocketAddr) {
        if self.counters.unknown_qfi.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!(teid, qfi, %from, "G-PDU of a QoS flow that the session does not have");
        }
    }

    /// Sends packets from a UE's interface uplink.
    fn uplink(&self, port: &PortState, outgoing: &mut Outgoing) {
        let tun = port.tun.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let Some(tun) = tun else { return };
        for _ in 0..BURST {
            let length = match tun.recv(outgoing.payload()) {
                Ok(length) if length > 0 => length,
                _ => break,
            };
            let packet = outgoing.payload().get(..length).unwrap_or_default();
            if let Uplink::Send(header, peer) = port.uplink(packet) {
                outgoing.push(&header, length, peer);
            }
            if outgoing.is_full() {
                outgoing.flush(&self.socket);
            }
        }
        outgoing.flush(&self.socket);
    }
}

impl Shared {
    /// Passes packets from a UE's interface to the air interface.
    fn uplink_over_air(&self, port: &PortState, buffer: &mut [u8], air: &mut AirInterface) {
        let tun = port.tun.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let Some(tun) = tun else { return };
        for _ in 0..BURST {
            match tun.recv(buffer) {
                Ok(length) if length > 0 => air.send(port.id, true, &buffer[..length]),
                _ => break,
            };
        }
    }

    /// Sends a packet that arrived over the air interface uplink.
    fn send(&self, port: &PortState, packet: &[u8], outgoing: &mut Outgoing) {
        let Uplink::Send(header, peer) = port.uplink(packet) else { return };
        outgoing.payload()[..packet.len()].copy_from_slice(packet);
        outgoing.push(&header, packet.len(), peer);
        if outgoing.is_full() {
            outgoing.flush(&self.socket);
        }
    }
}

/// The descriptor of a TUN device, for epoll.
struct Descriptor<'a>(&'a SyncDevice);

impl AsFd for Descriptor<'_> {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        use std::os::fd::AsRawFd;
        // SAFETY: the device owns its descriptor, which stays open as long as the device is
        // borrowed.
        unsafe { std::os::fd::BorrowedFd::borrow_raw(self.0.as_raw_fd()) }
    }
}
