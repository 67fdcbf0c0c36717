//! The switch: programs, tables, counters, meters and ports.
use crate::control::Control;
use crate::error::XdpError;
use crate::frames::{Frame, Frames, Outcome};
use crate::grace_period::wait_for_programs;
use crate::hold::Holding;
use crate::load::Loaded;
use crate::ports::{CONTROLLER, HOLD, PORTS};
use crate::table::{Table, UNMARKED};
use martlet_bpf::{GracePeriod, Memory};
use martlet_p4c_swx::ebpf::Output;
use martlet_switch_control::TargetError;
use martlet_switch_control::model::{self, Call, Change, RawEntry, Rebuild};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Queue length of frames for the controller; more are dropped.
const CONTROLLER_QUEUE: usize = 1024;

/// Packets of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortCounts {
    /// Received frames.
    pub received: u64,
    /// Frames that left by another port, as the pipeline decided.
    pub left: u64,
    /// Frames that bypassed the pipeline.
    pub bypassed: u64,
    /// Frames that no queue accepted.
    pub refused: u64,
}
/// Size of `struct port_counts` in bytes.
const PORT_COUNTS: usize = 64;

/// Size of `struct count` and `struct meter` in bytes.
const COUNT: usize = 16;
const METER: usize = 32;

/// The switch.
pub struct XdpSwitch {
    compiled: Output,
    pub(crate) loaded: Loaded,
    pub(crate) control: Arc<Control>,
    grace_period: GracePeriod,
    tables: Mutex<Vec<Table>>,
    counters: Vec<Memory>,
    meters: Vec<Memory>,
    port_counts: Memory,
    /// Held while frames are injected.
    frames: Mutex<Frames>,
    holding: Mutex<Holding>,
    held_ring: Mutex<crate::ring::Ring>,
    for_controller: Mutex<(crate::ring::Ring, VecDeque<Vec<u8>>)>,
    /// Indexes of the actions that hold packets.
    holds: Vec<usize>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl XdpSwitch {
    /// Loads the program; it is not attached yet.
    ///
    /// # Errors
    /// The kernel rejects the program.
    pub fn new() -> Result<XdpSwitch, XdpError> {
        let compiled = martlet_p4c_swx::compile_ebpf(martlet_switch_control::UPF);
        let compiled = compiled.map_err(|error| {
            XdpError::Table(format!("upf_pna.p4:{error}"), std::io::ErrorKind::InvalidInput.into())
        })?;
        let loaded = Loaded::new(&compiled)?;
        let control = Arc::new(Control::new(|name, bytes| loaded.memory(name, bytes))?);
        let info = &compiled.program.info;
        let actions = Arc::new(compiled.layout.actions.clone());
        let mut tables = Vec::new();
        for (table, layout) in info.tables.iter().zip(&compiled.layout.tables) {
            let memory =
                |what: &str, bytes| loaded.memory(&format!("{}_{what}", table.alias), bytes);
            tables.push(Table::new(layout, &actions, table.keys[0].bits, memory)?);
        }
        for ((table, described), spec) in
            tables.iter().zip(&info.tables).zip(&compiled.program.spec.tables)
        {
            if described.constant_default.is_none() {
                let action = info
                    .actions
                    .iter()
                    .position(|action| action.alias == spec.default_action)
                    .unwrap_or(0);
                (0..2).for_each(|copy| table.set_default(copy, action, &[]));
            }
        }
        let arrays = |of: &[martlet_p4c_swx::p4info::Array],
                      what: &str,
                      bytes: usize|
         -> Result<Vec<Memory>, XdpError> {
            of.iter()
                .map(|array| {
                    loaded.memory(&format!("{}_{what}", array.alias), array.size as usize * bytes)
                })
                .collect()
        };
        let counters = arrays(&info.counters, "counter", COUNT * loaded.cpus as usize)?;
        let meters = arrays(&info.meters, "meter", METER)?;
        let port_counts =
            loaded.memory("port_counts", PORT_COUNTS * (PORTS * loaded.cpus) as usize)?;
        let frames = Frames::new(
            loaded.enter()?,
            |name, bytes| loaded.memory(name, bytes),
            control.clone(),
        )?;
        let holding = Holding::new(|name, bytes| loaded.memory(name, bytes))?;
        let held_ring = Mutex::new(loaded.ring("held_ring", 4096)?);
        let for_controller = Mutex::new((loaded.ring("for_controller", 1 << 20)?, VecDeque::new()));
        let grace_period = GracePeriod {
            grace_period: loaded.map("grace_period")?,
            slot: loaded.map("grace_slot")?,
        };
        let holds = info
            .actions
            .iter()
            .enumerate()
            .filter(|(_, of)| of.alias.starts_with("hold_"))
            .map(|(n, _)| n)
            .collect();
        Ok(XdpSwitch {
            compiled,
            loaded,
            control,
            grace_period,
            tables: Mutex::new(tables),
            counters,
            meters,
            port_counts,
            frames: Mutex::new(frames),
            holding: Mutex::new(holding),
            held_ring,
            for_controller,
            holds,
        })
    }

    /// The compiler's output.
    pub fn compiled(&self) -> &Output {
        &self.compiled
    }

    /// Runs a frame through the pipeline and returns the result without sending it.
    ///
    /// # Errors
    /// The kernel does not run the program, or the length of the frame is invalid.
    pub fn run_frame(&self, port: u32, bytes: &[u8]) -> std::io::Result<(Outcome, Vec<u8>)> {
        lock(&self.frames).try_one(&Frame { port, bypass: false, bytes: bytes.to_vec() })
    }

    /// CPU nanoseconds per frame, including its copy into the kernel; without the pipeline if
    /// `bypass`.
    ///
    /// # Errors
    /// As [`run_frame`](Self::run_frame).
    pub fn time_per_frame(&self, port: u32, bytes: &[u8], bypass: bool) -> std::io::Result<f64> {
        const ROUNDS: u32 = 50;
        let frames = vec![Frame { port, bypass, bytes: bytes.to_vec() }; crate::frames::SLOTS];
        let now = || {
            nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID)
                .map(std::time::Duration::from)
        };
        let began = now()?;
        for _ in 0..ROUNDS {
            self.send_frames(&frames)?;
        }
        Ok((now()? - began).as_nanos() as f64 / f64::from(ROUNDS) / frames.len() as f64)
    }

    /// Sends frames through the pipeline.
    pub(crate) fn send_frames(&self, frames: &[Frame]) -> std::io::Result<Vec<Outcome>> {
        lock(&self.frames).send(frames)
    }

    /// Selects packet sockets for injected frames (with the interface of each port), or the
    /// programs.
    pub(crate) fn send_by_sockets(&self, interfaces: Option<Vec<(u32, u32)>>) {
        lock(&self.frames).by_sockets(interfaces);
    }

    /// The counters of a port.
    pub fn port(&self, port: u32) -> PortCounts {
        let mut all = PortCounts::default();
        for cpu in 0..self.loaded.cpus {
            let at = (cpu * PORTS + port) as usize * PORT_COUNTS;
            let word = |n: usize| self.port_counts.u64(at + 8 * n).load(Relaxed);
            all.received += word(0);
            all.left += word(1);
            all.bypassed += word(2);
            all.refused += word(3);
        }
        all
    }

    /// Processes held packets and enforces their timeout. Returns whether any are held.
    pub(crate) fn check_held(&self) -> bool {
        lock(&self.held_ring).take(|_| ());
        let mut holding = lock(&self.holding);
        holding.check_timeout(&lock(&self.frames));
        holding.has_held()
    }

    /// Held packets go to the native side.
    pub(crate) fn release_to_native(&self) {
        lock(&self.holding).release_to_native(&lock(&self.frames));
    }

    /// Reads frames for the controller from the ring; returns whether there were any.
    pub(crate) fn poll_controller(&self) -> bool {
        let (ring, waiting) = &mut *lock(&self.for_controller);
        ring.take(|frame| {
            if waiting.len() < CONTROLLER_QUEUE {
                waiting.push_back(frame);
            }
        });
        !waiting.is_empty()
    }

    /// Descriptors that are readable when packets are held, and when packets for the controller
    /// arrived.
    pub(crate) fn descriptors(&self) -> [i32; 2] {
        use std::os::fd::AsRawFd;
        [self.loaded.held_ring.as_raw_fd(), self.loaded.for_controller.as_raw_fd()]
    }

    /// Applies changes to the unused copy; on an error all are undone. Entries that held packets
    /// get `mark`.
    fn write(
        &self,
        tables: &mut [Table],
        copy: usize,
        changes: &[Change],
        rebuilds: &[Rebuild],
        mark: u32,
    ) -> Result<(), TargetError> {
        let key = |entry: &Option<RawEntry>| entry.as_ref().map(|entry| entry.values.clone());
        for (n, change) in changes.iter().enumerate() {
            let Some(values) = key(&change.after).or_else(|| key(&change.before)) else { continue };
            let held =
                change.before.as_ref().is_some_and(|entry| self.holds.contains(&entry.action));
            let mark = if held { mark } else { UNMARKED };
            let table = &mut tables[change.table];
            let done = match &change.after {
                None if mark != UNMARKED => table.mark_deleted(copy, &values, mark),
                after => table.change(copy, &values, after.as_ref().map(|entry| (entry, mark))),
            };
            if let Err(cause) = done {
                for change in changes[..n].iter().rev() {
                    let Some(values) = key(&change.after).or_else(|| key(&change.before)) else {
                        continue;
                    };
                    let before = change.before.as_ref().map(|entry| (entry, UNMARKED));
                    tables[change.table].change(copy, &values, before)?;
                }
                return Err(TargetError::Change { index: n, cause: cause.to_string() });
            }
        }
        rebuilds
            .iter()
            .try_for_each(|rebuild| tables[rebuild.table].rebuild(copy, &rebuild.entries))
            .map_err(TargetError::from)
    }

    fn commit_marked(
        &self,
        changes: &[Change],
        rebuilds: &[Rebuild],
        mark: u32,
    ) -> Result<(), TargetError> {
        let mut tables = lock(&self.tables);
        rebuilds.iter().try_for_each(|rebuild| tables[rebuild.table].check(&rebuild.entries))?;
        let (now, next) = self.copies();
        self.write(&mut tables, next, changes, rebuilds, mark)?;
        self.activate(next)?;
        // A change that succeeded on one copy succeeds on the other.
        self.write(&mut tables, now, changes, rebuilds, UNMARKED)
    }

    /// After a release: removes its marks, and the entries that remained for joining packets. A
    /// leftover mark would hold packets in a later release, in one copy and not in the other.
    fn unmark(&self, changes: &[Change]) -> Result<(), TargetError> {
        let (mut tables, active) = (lock(&self.tables), self.copies().0);
        for change in changes {
            if let Some(before) =
                change.before.as_ref().filter(|before| self.holds.contains(&before.action))
            {
                let after = change.after.as_ref().map(|entry| (entry, UNMARKED));
                tables[change.table].change(active, &before.values, after)?;
            }
        }
        Ok(())
    }

    /// The active and the inactive copy.
    fn copies(&self) -> (usize, usize) {
        let now = self.control.active().load(Acquire) as usize & 1;
        (now, 1 - now)
    }

    fn activate(&self, to: usize) -> Result<(), TargetError> {
        self.control.active().store(to as u32, Release);
        wait_for_programs(&self.grace_period)
    }
}

impl model::Target for XdpSwitch {
    fn commit(&self, changes: &[Change], rebuilds: &[Rebuild]) -> Result<(), TargetError> {
        let held = |entry: &RawEntry| self.holds.contains(&entry.action);
        if !changes.iter().any(|change| change.before.as_ref().is_some_and(held)) {
            return self.commit_marked(changes, rebuilds, UNMARKED);
        }
        let (mut holding, frames) = (lock(&self.holding), lock(&self.frames));
        holding.release(&self.grace_period, &frames, |mark| {
            self.commit_marked(changes, rebuilds, mark)
        })?;
        self.unmark(changes)
    }

    fn set_default(&self, table: usize, call: &Call) -> Result<(), TargetError> {
        let tables = lock(&self.tables);
        let (now, next) = self.copies();
        tables[table].set_default(next, call.action, &call.arguments);
        self.activate(next)?;
        tables[table].set_default(now, call.action, &call.arguments);
        Ok(())
    }

    fn counter(&self, counter: usize, index: u32) -> Result<(u64, u64), TargetError> {
        let size = self.compiled.program.info.counters[counter].size;
        if index >= size {
            return Err(TargetError::NoCounter(index));
        }
        let (mut packets, mut bytes) = (0u64, 0u64);
        for cpu in 0..self.loaded.cpus {
            let at = (cpu as usize * size as usize + index as usize) * COUNT;
            packets = packets.wrapping_add(self.counters[counter].u64(at).load(Relaxed));
            bytes = bytes.wrapping_add(self.counters[counter].u64(at + 8).load(Relaxed));
        }
        Ok((packets, bytes))
    }

    fn set_meter(
        &self,
        meter: usize,
        index: u32,
        rate: Option<(u64, u64)>,
    ) -> Result<(), TargetError> {
        let at = index as usize * METER;
        let word = |n: usize| self.meters[meter].u64(at + 8 * n);
        // The meter is unlimited meanwhile. The bucket starts full.
        word(1).store(0, Release);
        word(0).store(0, Release);
        if let Some((rate, burst)) = rate {
            // In 1/16 ns, and 1/65536 of that (`bpf/pipeline.h`). A packet of 65,535 bytes must not
            // overflow, which holds from four bytes per second on.
            let per_byte =
                ((16_000_000_000u128 << 16) / u128::from(rate.max(1))).clamp(1, (1 << 48) - 1);
            let time = (u128::from(burst) * per_byte) >> 16;
            word(2).store(u64::try_from(time).unwrap_or(u64::MAX >> 1).min(u64::MAX >> 1), Release);
            word(1).store(per_byte as u64, Release);
        }
        Ok(())
    }

    fn send(&self, port: u32, frame: &[u8]) -> Result<(), TargetError> {
        let bytes = [&port.to_be_bytes()[..], frame].concat();
        let sent = lock(&self.frames).send(&[Frame { port: CONTROLLER, bypass: false, bytes }]);
        sent.map(drop).map_err(|error| {
            TargetError::engine(format!("sending a frame from port {port}"), error)
        })
    }

    fn receive(&self) -> Option<(u32, Vec<u8>)> {
        self.poll_controller();
        let frame = lock(&self.for_controller).1.pop_front()?;
        let (port, payload) = frame.split_first_chunk::<4>()?;
        Some((u32::from_be_bytes(*port), payload.to_vec()))
    }

    fn ports(&self) -> u32 {
        HOLD
    }

    fn status(&self) -> Vec<(String, String)> {
        let mut status = vec![
            ("target".into(), "XDP, in the kernel (a software switch: no hardware)".into()),
            ("engine".into(), "xdp".into()),
        ];
        for port in 0..HOLD {
            status.push((format!("port {port}"), format!("{:?}", self.port(port))));
        }
        status
    }
}

#[cfg(test)]
#[path = "switch_tests.rs"]
mod tests;
