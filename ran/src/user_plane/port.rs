//! One PDU session between a UE's interface and the gNB's tunnel.
use super::endpoint::Shared;
use super::packet::{UPLINK_HEADER, uplink_header};
use bytes::Bytes;
use martlet_gtpu::{PduSessionContainer, g_pdu_header};
use martlet_ngap::transfer::GtpTunnel;
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::mpsc;
use tun_rs::SyncDevice;

/// Uplink packets that wait for a tunnel.
const WAITING: usize = 64;
/// UDP port of GTP-U (TS 29.281, 4.4.2).
const GTPU_PORT: u16 = 2152;

/// The UPF's end of a tunnel and the QoS flow that uplink packets take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tunnel {
    /// The UPF's end.
    pub uplink: GtpTunnel,
    /// QoS flow identifier.
    pub qfi: u8,
}

/// An active tunnel.
#[derive(Clone, Copy)]
struct Active {
    peer: SocketAddr,
    teid: u32,
    qfi: u8,
    downlink_teid: u32,
}

/// Is called with the PDU session identity when an uplink packet waits for a tunnel.
pub type UplinkWaiting = Box<dyn Fn(u8) + Send + Sync>;

/// What becomes of an uplink packet.
pub(super) enum Uplink {
    /// It goes behind this header to this end.
    Goes([u8; UPLINK_HEADER], SocketAddr),
    /// It waits for a tunnel.
    Waits,
    /// Too many wait already, or it is too long.
    Dropped,
}

/// What the user plane's thread and the UE's task share of a port.
pub(super) struct PortState {
    pub(super) id: u64,
    psi: u8,
    active: Mutex<Option<Active>>,
    pub(super) tun: Mutex<Option<Arc<SyncDevice>>>,
    waiting: Mutex<VecDeque<Bytes>>,
    downlink: mpsc::Sender<(u8, Bytes)>,
    uplink_waiting: UplinkWaiting,
    end_markers: AtomicU64,
    dropped: AtomicU64,
    /// Where the UE is.
    place: Mutex<Place>,
    forwarding_teid: Mutex<Option<u32>>,
}

/// Where a port's UE is (TS 23.502, 4.9.1).
enum Place {
    /// In the gNB's cell.
    Here,
    /// It has left for another gNB: what still comes goes on to it, through this tunnel.
    Left { peer: SocketAddr, teid: u32, qfi: u8 },
    /// It is coming from another gNB.
    Coming(Coming),
}

/// What has come before the UE, or before what its old gNB forwards.
#[derive(Default)]
struct Coming {
    arrived: bool,
    /// What is forwarded ends with an end marker.
    forwarding: bool,
    forwarded: VecDeque<Bytes>,
    direct: VecDeque<Bytes>,
}

/// Downlink packets that wait for a UE that is coming.
const COMING: usize = 4096;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl PortState {
    pub(super) fn new(
        id: u64,
        psi: u8,
        downlink: mpsc::Sender<(u8, Bytes)>,
        uplink_waiting: UplinkWaiting,
    ) -> Self {
        PortState {
            id,
            psi,
            active: Mutex::new(None),
            tun: Mutex::new(None),
            waiting: Mutex::new(VecDeque::new()),
            downlink,
            uplink_waiting,
            end_markers: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            place: Mutex::new(Place::Here),
            forwarding_teid: Mutex::new(None),
        }
    }

    /// Whether the UE is in the gNB's cell.
    pub(super) fn is_here(&self) -> bool {
        matches!(*lock(&self.place), Place::Here)
    }

    /// A downlink packet: of the UPF, or forwarded by the gNB where the UE was.
    pub(super) fn take(&self, packet: &[u8], forwarded: bool, socket: &UdpSocket) {
        match &mut *lock(&self.place) {
            Place::Here => self.deliver(packet),
            Place::Left { peer, teid, qfi } => {
                let container = PduSessionContainer::downlink(*qfi);
                let Some(header) = g_pdu_header(*teid, Some(container), packet.len()) else {
                    return;
                };
                if socket.send_to(&[header.as_slice(), packet].concat(), *peer).is_err() {
                    self.dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            Place::Coming(coming) => {
                let waits = match forwarded {
                    true if coming.arrived => None,
                    true => Some(&mut coming.forwarded),
                    false => Some(&mut coming.direct),
                };
                match waits {
                    None => self.deliver(packet),
                    Some(waits) if waits.len() < COMING => {
                        waits.push_back(Bytes::copy_from_slice(packet))
                    }
                    Some(_) => drop(self.dropped.fetch_add(1, Ordering::Relaxed)),
                }
            }
        }
    }

    /// The last packet on a tunnel has come.
    pub(super) fn ended(&self, forwarded: bool, socket: &UdpSocket) {
        self.end_markers.fetch_add(1, Ordering::Relaxed);
        let mut place = lock(&self.place);
        match &mut *place {
            Place::Left { peer, teid, .. } => {
                drop(socket.send_to(&martlet_gtpu::end_marker(*teid, None), *peer))
            }
            Place::Coming(coming) if forwarded => {
                coming.forwarding = false;
                self.settle(&mut place);
            }
            _ => {}
        }
    }

    /// Gives the UE what has come before it, in order, once it is there and nothing is forwarded
    /// any more.
    fn settle(&self, place: &mut Place) {
        let Place::Coming(coming) = place else { return };
        if !coming.arrived {
            return;
        }
        for packet in coming.forwarded.drain(..) {
            self.deliver(&packet);
        }
        if !coming.forwarding {
            for packet in coming.direct.drain(..) {
                self.deliver(&packet);
            }
            *place = Place::Here;
        }
    }

    /// No end marker has come.
    fn give_up_forwarding(&self) {
        let mut place = lock(&self.place);
        if let Place::Coming(coming) = &mut *place {
            coming.forwarding = false;
        }
        self.settle(&mut place);
    }

    /// The header to send `payload` octets with, and where to; `None` without a tunnel.
    fn header(&self, payload: usize) -> Option<([u8; UPLINK_HEADER], SocketAddr)> {
        let active = (*lock(&self.active))?;
        Some((uplink_header(active.teid, active.qfi, payload)?, active.peer))
    }

    /// What becomes of an uplink packet: it goes, or waits for a tunnel, for which the UE asks with
    /// the first one.
    pub(super) fn uplink(&self, packet: &[u8]) -> Uplink {
        if let Some((header, peer)) = self.header(packet.len()) {
            return Uplink::Goes(header, peer);
        }
        let mut waiting = lock(&self.waiting);
        // A tunnel that has come meanwhile has taken those along that waited, and would not come
        // for this one.
        if let Some((header, peer)) = self.header(packet.len()) {
            return Uplink::Goes(header, peer);
        }
        if waiting.len() >= WAITING {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return Uplink::Dropped;
        }
        waiting.push_back(Bytes::copy_from_slice(packet));
        drop(waiting);
        // Repeated with each packet: the UE ignores what it has already acted on.
        (self.uplink_waiting)(self.psi);
        Uplink::Waits
    }

    /// Opens the tunnel, behind those who wait for it.
    fn open(&self, active: Active, socket: &UdpSocket) {
        let mut waiting = lock(&self.waiting);
        for packet in waiting.drain(..) {
            let Some(header) = uplink_header(active.teid, active.qfi, packet.len()) else {
                continue;
            };
            if socket.send_to(&[header.as_slice(), &packet].concat(), active.peer).is_err() {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
        *lock(&self.active) = Some(active);
    }

    /// Give the UE a downlink packet.
    pub(super) fn deliver(&self, packet: &[u8]) {
        let tun = lock(&self.tun).clone();
        let delivered = match tun {
            Some(tun) => tun.send(packet).is_ok(),
            None => self.downlink.try_send((self.psi, Bytes::copy_from_slice(packet))).is_ok(),
        };
        if !delivered {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether uplink packets go to this end.
    pub(super) fn sends_to(&self, teid: u32) -> bool {
        lock(&self.active).is_some_and(|active| active.teid == teid)
    }
}

/// A port. Dropping it closes the tunnel and the interface.
pub struct Port {
    pub(super) shared: Arc<Shared>,
    pub(super) state: Arc<PortState>,
}

impl Port {
    /// Open the gNB's end of a tunnel, send what waits for it, and give its TEID.
    pub fn activate(&self, tunnel: Tunnel) -> u32 {
        let previous = lock(&self.state.active).take();
        if let Some(previous) = previous {
            self.shared.forget_teid(previous.downlink_teid);
        }
        let downlink_teid = self.shared.take_teid(&self.state, false);
        self.set(tunnel, downlink_teid);
        downlink_teid
    }

    /// The UE is coming from another gNB: what comes meanwhile waits for it. With `forwarding`, a
    /// TEID for what that gNB forwards, which goes before what the UPF sends.
    pub fn expect(&self, forwarding: bool) -> Option<u32> {
        *lock(&self.state.place) = Place::Coming(Coming { forwarding, ..Coming::default() });
        let teid = forwarding.then(|| self.shared.take_teid(&self.state, true));
        *lock(&self.state.forwarding_teid) = teid;
        teid
    }

    /// The UE has come. What is not marked as the end of forwarded data `within` a while counts as
    /// ended.
    pub fn arrived(&self, within: Duration) {
        let mut place = lock(&self.state.place);
        if let Place::Coming(coming) = &mut *place {
            coming.arrived = true;
        }
        self.state.settle(&mut place);
        if matches!(*place, Place::Coming(_)) {
            let state = Arc::downgrade(&self.state);
            tokio::spawn(async move {
                tokio::time::sleep(within).await;
                if let Some(state) = state.upgrade() {
                    state.give_up_forwarding();
                }
            });
        }
    }

    /// The UE has left for another gNB: downlink packets are forwarded into a tunnel.
    pub fn forward_to(&self, tunnel: GtpTunnel) {
        let peer = SocketAddr::new(
            tunnel.address_from(self.shared.local),
            self.shared.peer_port.unwrap_or(GTPU_PORT),
        );
        let qfi = lock(&self.state.active).map_or(0, |active| active.qfi);
        *lock(&self.state.place) = Place::Left { peer, teid: tunnel.teid, qfi };
    }

    /// Change the UPF's end; the gNB's stays.
    pub fn retarget(&self, tunnel: Tunnel) {
        let downlink_teid = lock(&self.state.active).map(|active| active.downlink_teid);
        if let Some(downlink_teid) = downlink_teid {
            self.set(tunnel, downlink_teid);
        }
    }

    fn set(&self, tunnel: Tunnel, downlink_teid: u32) {
        let peer = SocketAddr::new(
            tunnel.uplink.address_from(self.shared.local),
            self.shared.peer_port.unwrap_or(GTPU_PORT),
        );
        let active = Active { peer, teid: tunnel.uplink.teid, qfi: tunnel.qfi, downlink_teid };
        self.state.open(active, &self.shared.socket);
    }

    /// Close the tunnel.
    pub fn deactivate(&self) {
        if let Some(teid) = lock(&self.state.forwarding_teid).take() {
            self.shared.forget_teid(teid);
        }
        *lock(&self.state.place) = Place::Here;
        let previous = lock(&self.state.active).take();
        if let Some(previous) = previous {
            self.shared.forget_teid(previous.downlink_teid);
        }
    }

    /// Send an IP packet uplink from where the caller is; without a tunnel it waits for one.
    ///
    /// # Errors
    /// Too many packets wait, the packet is too long, or the system refuses it.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        match self.state.uplink(packet) {
            Uplink::Goes(header, peer) => {
                self.shared.socket.send_to(&[header.as_slice(), packet].concat(), peer).map(|_| ())
            }
            Uplink::Waits => Ok(()),
            Uplink::Dropped => Err(io::Error::new(
                io::ErrorKind::WouldBlock,
                "too many packets wait for the session's tunnel",
            )),
        }
    }

    /// Connect an interface: its packets go uplink, downlink packets go to it.
    ///
    /// # Errors
    /// The system cannot watch it.
    pub fn attach(&self, tun: SyncDevice) -> io::Result<()> {
        self.attach_shared(Arc::new(tun))
    }

    fn attach_shared(&self, tun: Arc<SyncDevice>) -> io::Result<()> {
        *lock(&self.state.tun) = Some(tun.clone());
        self.shared.watch(&self.state, &tun)
    }

    /// Take over the interface and the waiting packets of a session's port at another gNB.
    ///
    /// # Errors
    /// The system cannot watch the interface.
    pub fn succeed(&self, before: &Port) -> io::Result<()> {
        let waiting = std::mem::take(&mut *lock(&before.state.waiting));
        lock(&self.state.waiting).extend(waiting);
        let active = *lock(&self.state.active);
        if let Some(active) = active {
            self.state.open(active, &self.shared.socket);
        }
        match lock(&before.state.tun).take() {
            Some(tun) => {
                before.shared.unwatch(&tun);
                self.attach_shared(tun)
            }
            None => Ok(()),
        }
    }

    /// Runs something while nobody can have a packet wait.
    #[cfg(test)]
    pub(super) fn while_packets_wait<T>(&self, run: impl FnOnce(&Port) -> T) -> T {
        let _waiting = lock(&self.state.waiting);
        run(self)
    }

    /// Has a tunnel without opening it.
    #[cfg(test)]
    pub(super) fn pretend(&self, tunnel: Tunnel) {
        let peer = SocketAddr::new(tunnel.uplink.address_from(self.shared.local), GTPU_PORT);
        let active = Active { peer, teid: tunnel.uplink.teid, qfi: tunnel.qfi, downlink_teid: 0 };
        *lock(&self.state.active) = Some(active);
    }

    /// End markers received, and packets dropped.
    pub fn counts(&self) -> (u64, u64) {
        (self.state.end_markers.load(Ordering::Relaxed), self.state.dropped.load(Ordering::Relaxed))
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.deactivate();
        if let Some(tun) = lock(&self.state.tun).take() {
            self.shared.unwatch(&tun);
        }
        self.shared.forget_port(self.state.id);
    }
}
