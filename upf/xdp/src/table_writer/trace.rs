//! Traced packets, which the programs report while a trace is requested.
use super::{Forwarder, lock};
use crate::loader::{Programs, XdpError, types};
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::telemetry::{TraceBatch, TraceRequest, Traced};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long the programs continue to trace after the last request.
const LEASE: Duration = Duration::from_secs(3);
/// Limit of traced packets between requests; the ring buffer holds some hundreds more.
const MAX_PACKETS: usize = 16_384;
/// As `bpf/telemetry.h` has it.
const FORWARDED: u32 = 0xff;

/// The reader of the ring.
pub(super) struct Tracer {
    buffer: libbpf_rs::RingBuffer<'static>,
    inbox: Arc<Mutex<Vec<types::traced>>>,
    /// The programs' number of missed packets at the last request.
    missed: u64,
    request: Option<TraceRequest>,
    until: Instant,
}

impl Tracer {
    pub fn open(programs: &Programs) -> Result<Self, XdpError> {
        let inbox = Arc::new(Mutex::new(Vec::new()));
        let into = inbox.clone();
        let buffer = programs.traces(move |traced| {
            let mut inbox = lock(&into);
            if inbox.len() < MAX_PACKETS {
                inbox.push(traced);
            }
        })?;
        Ok(Tracer { buffer, inbox, missed: 0, request: None, until: Instant::now() })
    }

    fn take(&mut self) -> Vec<types::traced> {
        let _ = self.buffer.consume();
        std::mem::take(&mut *lock(&self.inbox))
    }
}

impl Forwarder {
    /// See [`Datapath::trace`](martlet_upf_datapath::Datapath::trace).
    pub fn trace(&self, request: TraceRequest) -> TraceBatch {
        let tracer = &mut *lock(&self.tracer);
        let missed = self.programs.lanes().map_or(0, |lane| lane.missed);
        if tracer.request != Some(request) {
            // Packets of other, earlier requests are discarded.
            tracer.take();
            tracer.missed = missed;
            let request =
                crate::loader::TraceRequest { forwarded: request.forwarded, reasons: u32::MAX };
            self.programs.trace(Some(request));
        }
        (tracer.request, tracer.until) = (Some(request), Instant::now() + LEASE);
        let traced = tracer.take();
        let missed = missed.saturating_sub(std::mem::replace(&mut tracer.missed, missed));
        let state = self.lock();
        let packets = traced.iter().map(|t| {
            let seid = state.by_slot.get(t.session);
            let seid = seid.filter(|seid| {
                state.sessions.get(seid).is_some_and(|e| e.incarnation == t.incarnation)
            });
            let frame =
                t.bytes.get(..(t.length as usize).min(t.bytes.len())).unwrap_or_default().to_vec();
            let drop = if t.reason == FORWARDED {
                None
            } else {
                DropReason::ALL.get(t.reason as usize).copied()
            };
            // The programs' rule index is meaningless without its session.
            let pdr = u16::try_from(t.pdr).ok().filter(|pdr| *pdr > 0 && t.session > 0);
            let pdr = pdr
                .filter(|_| !matches!(drop, Some(DropReason::NoRule | DropReason::ForeignSource)));
            Traced { time: t.time, drop, seid, pdr, ifindex: t.ifindex, length: t.length, frame }
        });
        TraceBatch { packets: packets.collect(), missed }
    }

    /// Ends tracing some time after the last request.
    pub fn end_trace(&self) {
        let tracer = &mut *lock(&self.tracer);
        if tracer.request.is_some() && tracer.until <= Instant::now() {
            self.programs.trace(None);
            tracer.request = None;
            tracer.take();
        }
    }
}
