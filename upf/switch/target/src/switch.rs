//! A switch: a pipeline with tables, counters, meters and ports.
use crate::assemble::{Engine, Ports, assemble, load};
use crate::error::{SwitchError, checked};
use crate::ffi::{self, PortCounters, Raw};
use crate::liveness::Liveness;
use martlet_p4c_swx::Program;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Number of ports; the last is the controller's.
pub const PORTS: u32 = 8;
/// The port at which packets of moving flows are held.
pub const HOLD: u32 = 6;
/// The controller's port.
pub const CONTROLLER: u32 = PORTS - 1;

/// An entry of a table: one number per key field and action argument.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Entry {
    /// The key.
    pub values: Vec<u64>,
    /// The mask of each field; `None` where the table is exact.
    pub masks: Option<Vec<u64>>,
    /// 0 is the first to match; unused where the table is exact.
    pub priority: u32,
    /// Number of the action; see [`Switch::action`].
    pub action: u32,
    /// Its arguments.
    pub arguments: Vec<u64>,
}

/// A change of one key of an exact table: old entry, new entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Number of the table; see [`Switch::table`].
    pub table: u32,
    /// The existing entry.
    pub before: Option<Entry>,
    /// The new entry.
    pub after: Option<Entry>,
}

/// The complete new content of a ternary table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuild {
    /// Number of the table.
    pub table: u32,
    /// Its entries.
    pub entries: Vec<Entry>,
}

/// The switch of the C part. DPDK allows one thread to run the pipeline while another changes
/// tables and reads counters. There is one of each: the loop's thread, and the holder of the lock.
#[derive(Debug)]
struct Handle(*mut Raw);
// SAFETY: see above; everything else that several threads call (ring, pool, counters) is
// thread-safe.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: created by `mswx_new`; no reference to it is left.
        unsafe { ffi::mswx_free(self.0) }
    }
}

/// A switch, running or ready to run.
#[derive(Debug)]
pub struct Switch {
    handle: Arc<Handle>,
    program: Arc<Program>,
    engine: Engine,
    writing: Mutex<()>,
    pausing: Mutex<()>,
    wake: Arc<EventFd>,
    /// Eventfd for packets to the controller.
    wakeup: EventFd,
    thread: Mutex<Option<JoinHandle<()>>>,
    sockets: Mutex<Vec<OwnedFd>>,
    liveness: Mutex<Option<Arc<Liveness>>>,
}

/// Size of the packet pool.
const BUFFERS: u32 = 32 * 1024 - 1;

impl Switch {
    /// Creates a switch from a program. Call [`dpdk::start`](crate::dpdk::start) first.
    pub fn new(
        program: Arc<Program>,
        ports: Ports<'_>,
        engine: Engine,
    ) -> Result<Switch, SwitchError> {
        let spec = program.clone();
        Switch::built(program, engine, |raw| assemble(raw, &spec.spec, ports, engine))
    }

    /// A switch between rings from a foreign pipeline: a library of DPDK's generated C code.
    /// `program` describes its tables.
    #[doc(hidden)]
    pub fn of_library(program: Arc<Program>, library: &[u8]) -> Result<Switch, SwitchError> {
        Switch::built(program, Engine::MachineCode, |raw| load(raw, library, None))
    }

    fn built(
        program: Arc<Program>,
        engine: Engine,
        assemble: impl FnOnce(*mut Raw) -> Result<(), SwitchError>,
    ) -> Result<Switch, SwitchError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = CString::new(format!("switch{}", NEXT.fetch_add(1, Ordering::Relaxed)))
            .expect("no zeroes");
        let mut raw = std::ptr::null_mut();
        // SAFETY: memory for the pointer, and a string that lives until the end of the call.
        checked(unsafe { ffi::mswx_new(&mut raw, name.as_ptr(), BUFFERS) }, || {
            "allocating the packet pool".into()
        })?;
        let handle = Arc::new(Handle(raw));
        assemble(raw)?;
        let eventfd = || {
            EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
                .map_err(|error| SwitchError::Port(format!("cannot create an eventfd: {error}")))
        };
        let (wake, wakeup) = (Arc::new(eventfd()?), eventfd()?);
        // SAFETY: a built switch whose thread does not run yet; the eventfd is closed after the
        // thread has ended.
        unsafe { ffi::mswx_set_wakeup(raw, wakeup.as_raw_fd()) };
        let (writing, pausing, thread, sockets, liveness) = Default::default();
        Ok(Switch {
            handle,
            program,
            engine,
            writing,
            pausing,
            wake,
            wakeup,
            thread,
            sockets,
            liveness,
        })
    }

    /// A non-blocking eventfd that becomes readable when packets for the controller arrive; read it
    /// then.
    pub fn wakeup(&self) -> BorrowedFd<'_> {
        self.wakeup.as_fd()
    }

    fn raw(&self) -> *mut Raw {
        self.handle.0
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The engine.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The number of a table.
    pub fn table(&self, name: &str) -> Result<u32, SwitchError> {
        let text =
            CString::new(name).map_err(|_| SwitchError::Unknown(format!("table {name:?}")))?;
        // SAFETY: a built switch, and a string.
        u32::try_from(unsafe { ffi::mswx_table_number(self.raw(), text.as_ptr()) })
            .map_err(|_| SwitchError::Unknown(format!("table {name:?}")))
    }

    /// The number of an action.
    pub fn action(&self, name: &str) -> Result<u32, SwitchError> {
        let text =
            CString::new(name).map_err(|_| SwitchError::Unknown(format!("action {name:?}")))?;
        // SAFETY: a built switch, and a string.
        u32::try_from(unsafe { ffi::mswx_action_number(self.raw(), text.as_ptr()) })
            .map_err(|_| SwitchError::Unknown(format!("action {name:?}")))
    }

    /// Applies all changes atomically with respect to packets, or none. The caller has checked that
    /// entries have as many numbers as their tables and actions have fields and parameters.
    pub fn commit(&self, changes: &[Change], rebuilds: &[Rebuild]) -> Result<(), SwitchError> {
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let optional = |entry: &Option<Entry>| entry.as_ref().map(raw_entry);
        let entries: Vec<_> = changes
            .iter()
            .map(|change| (optional(&change.before), optional(&change.after)))
            .collect();
        let pointer = |entry: &Option<ffi::Entry>| {
            entry.as_ref().map_or(std::ptr::null(), |entry| entry as *const _)
        };
        let raw_changes: Vec<ffi::Change> = changes
            .iter()
            .zip(&entries)
            .map(|(change, (before, after))| ffi::Change {
                table: change.table,
                before: pointer(before),
                after: pointer(after),
            })
            .collect();
        let lists: Vec<Vec<ffi::Entry>> = rebuilds
            .iter()
            .map(|rebuild| rebuild.entries.iter().map(raw_entry).collect())
            .collect();
        let raw_rebuilds: Vec<ffi::Rebuild> = rebuilds
            .iter()
            .zip(&lists)
            .map(|(rebuild, list)| ffi::Rebuild {
                table: rebuild.table,
                entries: list.as_ptr(),
                count: list.len() as u32,
            })
            .collect();
        let mut failed = 0;
        // SAFETY: arrays of the given lengths, which live until the end of the call; their entries
        // have as many numbers as SWX reads. The lock excludes other changes.
        let status = unsafe {
            ffi::mswx_commit(
                self.raw(),
                raw_changes.as_ptr(),
                raw_changes.len() as u32,
                raw_rebuilds.as_ptr(),
                raw_rebuilds.len() as u32,
                &mut failed,
            )
        };
        if status < 0 {
            Err(SwitchError::Refused { index: failed as usize, errno: -status })
        } else {
            Ok(())
        }
    }

    /// Applies changes, and processes held packets (actions `hold_uplink`, `hold_downlink`) with
    /// the new tables before any later packet. The loop is paused meanwhile; new packets stay in
    /// the kernel's queues.
    pub fn commit_and_release(
        &self,
        changes: &[Change],
        rebuilds: &[Rebuild],
    ) -> Result<(), SwitchError> {
        if self.thread.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            self.commit(changes, rebuilds)?;
            // SAFETY: no thread runs the pipeline.
            unsafe { ffi::mswx_release(self.raw()) };
            return Ok(());
        }
        let _one_at_a_time = self.pausing.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: a built switch; the lock excludes other pauses.
        unsafe { ffi::mswx_pause(self.raw()) };
        let _ = self.wake.write(1);
        // SAFETY: as above.
        unsafe { ffi::mswx_paused(self.raw()) };
        let outcome = self.commit(changes, rebuilds);
        // SAFETY: as above.
        unsafe { ffi::mswx_resume(self.raw()) };
        outcome
    }

    /// Sets the default action of a table.
    pub fn set_default(
        &self,
        table: u32,
        action: u32,
        arguments: &[u64],
    ) -> Result<(), SwitchError> {
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as many arguments as the action has; the lock excludes other changes.
        checked(unsafe { ffi::mswx_default(self.raw(), table, action, arguments.as_ptr()) }, || {
            "a default action".into()
        })
    }

    /// Reads a register.
    pub fn register(&self, name: &str, index: u32) -> Result<u64, SwitchError> {
        let text =
            CString::new(name).map_err(|_| SwitchError::Unknown(format!("register {name:?}")))?;
        let mut value = 0;
        // SAFETY: a string and memory for the value.
        let status =
            unsafe { ffi::mswx_register_read(self.raw(), text.as_ptr(), index, &mut value) };
        checked(status, || format!("register {name}[{index}]")).map(|()| value)
    }

    /// Writes a register.
    pub fn set_register(&self, name: &str, index: u32, value: u64) -> Result<(), SwitchError> {
        let text =
            CString::new(name).map_err(|_| SwitchError::Unknown(format!("register {name:?}")))?;
        // SAFETY: a string.
        let status = unsafe { ffi::mswx_register_write(self.raw(), text.as_ptr(), index, value) };
        checked(status, || format!("register {name}[{index}]"))
    }

    /// Sets a meter: rate in bytes per second and burst in bytes; `None` is unlimited.
    pub fn set_meter(
        &self,
        name: &str,
        index: u32,
        rate: Option<(u64, u64)>,
    ) -> Result<(), SwitchError> {
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let text =
            CString::new(name).map_err(|_| SwitchError::Unknown(format!("meter {name:?}")))?;
        let (bytes_per_second, burst) = rate.unwrap_or_default();
        let meter = ffi::Meter { bytes_per_second, burst };
        // SAFETY: a string and a meter.
        checked(unsafe { ffi::mswx_meter_set(self.raw(), text.as_ptr(), index, &meter) }, || {
            format!("meter {name}[{index}]")
        })
    }

    /// Injects a frame at a port. A frame of the controller begins with its egress port.
    pub fn inject(&self, port: u32, frame: &[u8]) -> Result<(), SwitchError> {
        // SAFETY: a frame of the given length.
        let status =
            unsafe { ffi::mswx_inject(self.raw(), port, frame.as_ptr(), frame.len() as u32) };
        checked(status, || format!("a frame into port {port}"))?;
        let _ = self.wake.write(1);
        Ok(())
    }

    /// Frames queued at a port for the pipeline.
    pub fn waiting(&self, port: u32) -> u32 {
        // SAFETY: a built switch; any thread may read the length of its rings.
        unsafe { ffi::mswx_queued(self.raw(), port) }
    }

    /// Collects a frame that left through a port without a socket.
    pub fn collect(&self, port: u32) -> Option<Vec<u8>> {
        let mut frame = vec![0; 2048];
        // SAFETY: memory of the given length.
        let length =
            unsafe { ffi::mswx_collect(self.raw(), port, frame.as_mut_ptr(), frame.len() as u32) };
        frame.truncate(usize::try_from(length).unwrap_or(0));
        (!frame.is_empty()).then_some(frame)
    }

    /// Runs the pipeline on the calling thread until all injected frames have passed. The loop must
    /// not run.
    pub fn settle(&self) {
        assert!(
            self.thread.lock().unwrap_or_else(PoisonError::into_inner).is_none(),
            "the packet loop is running"
        );
        for _ in 0..8 {
            // SAFETY: no other thread runs it.
            unsafe { ffi::mswx_run(self.raw(), 16 * 1024) };
        }
    }

    /// Runs memory ports for a CPU time in nanoseconds; returns the time used.
    pub fn measure(&self, nanoseconds: u64) -> u64 {
        assert!(
            self.thread.lock().unwrap_or_else(PoisonError::into_inner).is_none(),
            "the packet loop is running"
        );
        // SAFETY: no other thread runs it.
        unsafe {
            ffi::mswx_register_thread();
            ffi::mswx_measure(self.raw(), nanoseconds)
        }
    }

    /// Packets and bytes that left through a memory port.
    pub fn sunk(&self, port: u32) -> (u64, u64) {
        let (mut packets, mut bytes) = (0, 0);
        // SAFETY: memory for both.
        unsafe { ffi::mswx_sink_packets(self.raw(), port, &mut packets, &mut bytes) };
        (packets, bytes)
    }

    /// Binds a port to a packet socket before the switch starts. Frames that must not enter the
    /// pipeline go to `bypass`.
    pub fn attach(&self, port: u32, socket: OwnedFd, bypass: Option<u32>) {
        let bypass = bypass.map_or(-1, |port| port as i32);
        // SAFETY: the socket lives as long as the switch, in `sockets`.
        unsafe { ffi::mswx_attach(self.raw(), port, socket.as_raw_fd(), bypass) };
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
    }

    /// Sets the bypass port of a port before the switch starts.
    pub fn bypass(&self, port: u32, to: u32) {
        // SAFETY: a built switch whose thread does not run yet.
        unsafe { ffi::mswx_attach(self.raw(), port, -1, to as i32) }
    }

    /// Binds a port to a receive queue of an interface with AF_XDP before the switch starts.
    /// Returns the socket, which the port owns.
    pub(crate) fn open_lane(
        &self,
        port: u32,
        ifindex: u32,
        queue: u32,
        bypass: Option<u32>,
    ) -> std::io::Result<RawFd> {
        let bypass = bypass.map_or(-1, |port| port as i32);
        // SAFETY: a built switch whose thread does not run yet.
        let fd = unsafe { ffi::mswx_open_lane(self.raw(), port, ifindex, queue, bypass) };
        if fd < 0 { Err(std::io::Error::from_raw_os_error(-fd)) } else { Ok(fd) }
    }

    /// Sends large bursts of an AF_XDP port through an XDP program; to be called before the switch
    /// starts. Program and memory have to stay open while the switch runs.
    pub(crate) fn send_by_program(
        &self,
        port: u32,
        program: RawFd,
        area: RawFd,
        interface: &str,
    ) -> std::io::Result<()> {
        let interface = std::ffi::CString::new(interface)?;
        // SAFETY: a built switch whose thread does not run yet; the name is copied.
        let status = unsafe { ffi::mswx_live(self.raw(), port, program, area, interface.as_ptr()) };
        if status < 0 { Err(std::io::Error::from_raw_os_error(-status)) } else { Ok(()) }
    }

    /// Closes the sockets of a port before the switch starts.
    pub(crate) fn close_lanes(&self, port: u32) {
        // SAFETY: as above.
        unsafe { ffi::mswx_close_lanes(self.raw(), port) }
    }

    /// Makes the loop update a liveness timestamp.
    pub fn set_liveness(&self, liveness: &Arc<Liveness>) {
        // SAFETY: the switch owns a reference to the word.
        unsafe { ffi::mswx_set_liveness(self.raw(), liveness.word()) };
        *self.liveness.lock().unwrap_or_else(PoisonError::into_inner) = Some(liveness.clone());
    }

    /// Sets a fixed polling time before a sleep. Without it, the loop adapts it.
    pub fn spin(&self, time: Duration) {
        // SAFETY: a built switch whose thread does not run yet.
        unsafe { ffi::mswx_spin(self.raw(), u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)) }
    }

    /// Starts the packet loop on a thread.
    pub fn start(&self) -> Result<(), SwitchError> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_some() {
            return Ok(());
        }
        let (handle, wake) = (self.handle.clone(), self.wake.clone());
        let spawned = std::thread::Builder::new().name("switch".into()).spawn(move || {
            let handle = &handle;
            // SAFETY: the only thread that runs the pipeline.
            unsafe { ffi::mswx_loop(handle.0, wake.as_raw_fd()) }
        });
        *thread = Some(spawned.map_err(|error| {
            SwitchError::Port(format!("cannot create the thread of the packet loop: {error}"))
        })?);
        Ok(())
    }

    /// The counters of a port.
    pub fn port(&self, port: u32) -> PortCounters {
        let mut counters = PortCounters::default();
        if port < PORTS {
            // SAFETY: an existing port, and memory for its counters.
            unsafe { ffi::mswx_port_counters(self.raw(), port, &mut counters) };
        }
        counters
    }
}

impl Switch {
    /// Stops the packet loop after the frames in flight have left.
    pub fn stop(&self) {
        // SAFETY: the handle is valid.
        unsafe { ffi::mswx_end(self.raw()) };
        let _ = self.wake.write(1);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
            let (mut times, mut longest) = (0, 0);
            // SAFETY: memory for both; the thread has ended.
            unsafe { ffi::mswx_absences(self.raw(), &mut times, &mut longest) };
            if times > 0 {
                let longest = Duration::from_nanos(longest);
                tracing::warn!(
                    times,
                    ?longest,
                    "the switch had no CPU for so long that the kernel took over its wires: \
                     packets may have been overtaken"
                );
            }
        }
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.stop();
    }
}

fn raw_entry(entry: &Entry) -> ffi::Entry {
    ffi::Entry {
        values: entry.values.as_ptr(),
        masks: entry.masks.as_ref().map_or(std::ptr::null(), |masks| masks.as_ptr()),
        priority: entry.priority,
        action: entry.action,
        arguments: entry.arguments.as_ptr(),
    }
}
