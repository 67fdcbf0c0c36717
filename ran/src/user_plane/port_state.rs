//! The state of a port: tunnel, waiting packets, and the phase of a handover.
use super::packet::{UPLINK_HEADER, uplink_header};
use bytes::Bytes;
use martlet_gtpu::{PduSessionContainer, g_pdu_header};
use martlet_ngap::transfer::GtpTunnel;
use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::mpsc;
use tun_rs::SyncDevice;

/// Maximum number of uplink packets that wait for a tunnel.
const MAX_QUEUED: usize = 64;

/// The UPF's end of a tunnel and the QoS flows of its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tunnel {
    /// The UPF's end.
    pub uplink: GtpTunnel,
    /// QoS flow identifier of uplink packets.
    pub qfi: u8,
    /// The QoS flows of the session: bit n is that of QFI n.
    pub flows: u64,
}

impl Tunnel {
    /// The tunnel of a session with these QoS flows. Uplink packets are of the first one.
    pub fn new(uplink: GtpTunnel, qfis: &[u8]) -> Self {
        let flow = |qfi: &u8| 1u64.checked_shl((*qfi).into()).unwrap_or_default();
        let flows = qfis.iter().map(flow).fold(0, |flows, flow| flows | flow);
        Tunnel { uplink, qfi: qfis.first().copied().unwrap_or_default(), flows }
    }
}

/// An active tunnel.
#[derive(Clone, Copy)]
pub(super) struct Active {
    pub(super) peer: SocketAddr,
    pub(super) teid: u32,
    pub(super) qfi: u8,
    pub(super) flows: u64,
    pub(super) downlink_teid: u32,
}

/// Is called with the PDU session identity when an uplink packet waits for a tunnel.
pub type UplinkWaiting = Box<dyn Fn(u8) + Send + Sync>;

/// What to do with an uplink packet.
pub(super) enum Uplink {
    /// Send it after this header to this peer.
    Send([u8; UPLINK_HEADER], SocketAddr),
    /// It was queued until there is a tunnel.
    Queued,
    /// The queue is full, or the packet is too long.
    Dropped,
}

/// The part of a port that the user plane's thread and the UE's task share.
pub(super) struct PortState {
    pub(super) id: u64,
    psi: u8,
    pub(super) active: Mutex<Option<Active>>,
    pub(super) tun: Mutex<Option<Arc<SyncDevice>>>,
    pub(super) queued: Mutex<VecDeque<Bytes>>,
    downlink: mpsc::Sender<(u8, Bytes)>,
    uplink_waiting: UplinkWaiting,
    pub(super) end_markers: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) phase: Mutex<Phase>,
    /// TEID of the tunnel for forwarded data.
    pub(super) forwarding_teid: Mutex<Option<u32>>,
}

/// The role of the port's gNB in a handover (TS 23.502, 4.9.1).
pub(super) enum Phase {
    /// The gNB serves the UE.
    Serving,
    /// Handover source after the UE has left: downlink packets are forwarded into this tunnel.
    Source { peer: SocketAddr, teid: u32, qfi: u8 },
    /// Handover target: downlink packets are buffered.
    Target(TargetBuffer),
}

/// Downlink packets at the target before the UE arrives, or before forwarding ends.
#[derive(Default)]
pub(super) struct TargetBuffer {
    pub(super) arrived: bool,
    /// The source forwards packets; an end marker ends it.
    pub(super) forwarding: bool,
    pub(super) forwarded: VecDeque<Bytes>,
    pub(super) direct: VecDeque<Bytes>,
}

/// Maximum number of packets in each buffer of a target.
const MAX_BUFFERED: usize = 4096;

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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
            queued: Mutex::new(VecDeque::new()),
            downlink,
            uplink_waiting,
            end_markers: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            phase: Mutex::new(Phase::Serving),
            forwarding_teid: Mutex::new(None),
        }
    }

    /// Whether the gNB serves the UE.
    pub(super) fn is_serving(&self) -> bool {
        matches!(*lock(&self.phase), Phase::Serving)
    }

    /// Handles a downlink packet from the UPF, or `forwarded` by the handover source.
    pub(super) fn downlink(&self, packet: &[u8], forwarded: bool, socket: &UdpSocket) {
        match &mut *lock(&self.phase) {
            Phase::Serving => self.deliver(packet),
            Phase::Source { peer, teid, qfi } => {
                let container = PduSessionContainer::downlink(*qfi);
                let Some(header) = g_pdu_header(*teid, Some(container), packet.len()) else {
                    return;
                };
                if socket.send_to(&[header.as_slice(), packet].concat(), *peer).is_err() {
                    self.dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            Phase::Target(buffer) => {
                let queue = match forwarded {
                    true if buffer.arrived => None,
                    true => Some(&mut buffer.forwarded),
                    false => Some(&mut buffer.direct),
                };
                match queue {
                    None => self.deliver(packet),
                    Some(queue) if queue.len() < MAX_BUFFERED => {
                        queue.push_back(Bytes::copy_from_slice(packet))
                    }
                    Some(_) => drop(self.dropped.fetch_add(1, Ordering::Relaxed)),
                }
            }
        }
    }

    /// Handles an end marker.
    pub(super) fn end_marker(&self, forwarded: bool, socket: &UdpSocket) {
        self.end_markers.fetch_add(1, Ordering::Relaxed);
        let mut phase = lock(&self.phase);
        match &mut *phase {
            Phase::Source { peer, teid, .. } => {
                drop(socket.send_to(&martlet_gtpu::end_marker(*teid, None), *peer))
            }
            Phase::Target(buffer) if forwarded => {
                buffer.forwarding = false;
                self.flush_buffers(&mut phase);
            }
            _ => {}
        }
    }

    /// Delivers the buffered packets in order once the UE has arrived: forwarded ones first, the
    /// others after forwarding has ended.
    pub(super) fn flush_buffers(&self, phase: &mut Phase) {
        let Phase::Target(buffer) = phase else { return };
        if !buffer.arrived {
            return;
        }
        for packet in buffer.forwarded.drain(..) {
            self.deliver(&packet);
        }
        if !buffer.forwarding {
            for packet in buffer.direct.drain(..) {
                self.deliver(&packet);
            }
            *phase = Phase::Serving;
        }
    }

    /// Ends forwarding without an end marker.
    pub(super) fn end_forwarding(&self) {
        let mut phase = lock(&self.phase);
        if let Phase::Target(buffer) = &mut *phase {
            buffer.forwarding = false;
        }
        self.flush_buffers(&mut phase);
    }

    /// The GTP-U header for a payload of this length, and the peer; `None` without a tunnel.
    fn header(&self, payload: usize) -> Option<([u8; UPLINK_HEADER], SocketAddr)> {
        let active = (*lock(&self.active))?;
        Some((uplink_header(active.teid, active.qfi, payload)?, active.peer))
    }

    /// Handles an uplink packet: it is sent, or queued until there is a tunnel.
    pub(super) fn uplink(&self, packet: &[u8]) -> Uplink {
        if let Some((header, peer)) = self.header(packet.len()) {
            return Uplink::Send(header, peer);
        }
        let mut queued = lock(&self.queued);
        // A tunnel that opened meanwhile has sent the queued packets and would not send this one.
        if let Some((header, peer)) = self.header(packet.len()) {
            return Uplink::Send(header, peer);
        }
        if queued.len() >= MAX_QUEUED {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return Uplink::Dropped;
        }
        queued.push_back(Bytes::copy_from_slice(packet));
        drop(queued);
        // Reported for each packet: the UE ignores repeated reports.
        (self.uplink_waiting)(self.psi);
        Uplink::Queued
    }

    /// Opens the tunnel after sending the queued packets.
    pub(super) fn open(&self, active: Active, socket: &UdpSocket) {
        let mut queued = lock(&self.queued);
        for packet in queued.drain(..) {
            let Some(header) = uplink_header(active.teid, active.qfi, packet.len()) else {
                continue;
            };
            if socket.send_to(&[header.as_slice(), &packet].concat(), active.peer).is_err() {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
        *lock(&self.active) = Some(active);
    }

    /// Delivers a downlink packet to the UE.
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

    /// Whether the session has this QoS flow; true without a tunnel.
    pub(super) fn has_flow(&self, qfi: u8) -> bool {
        let flows = lock(&self.active).map(|active| active.flows);
        flows.is_none_or(|flows| (flows >> (qfi & 0x3f)) & 1 == 1)
    }

    /// Whether uplink packets are sent to this TEID.
    pub(super) fn sends_to(&self, teid: u32) -> bool {
        lock(&self.active).is_some_and(|active| active.teid == teid)
    }
}
