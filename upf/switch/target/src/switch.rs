//! A switch: a pipeline with its tables, counters, meters and ports.
use crate::assemble::{Engine, Ports, assemble, load};
use crate::error::{SwitchError, checked};
use crate::ffi::{self, PortCounters, Raw};
use crate::lanes::Alive;
use martlet_p4c_swx::Program;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How many ports a switch has; the last is the controller's.
pub const PORTS: u32 = 8;
/// Where packets wait while their flow moves here from the native side.
pub const HOLD: u32 = 6;
/// The controller's port.
pub const CONTROLLER: u32 = PORTS - 1;

/// An entry of a table: one number for each field of the key and each argument of the action.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Entry {
    /// The key.
    pub values: Vec<u64>,
    /// Which bits of it count; `None` where the table is exact.
    pub masks: Option<Vec<u64>>,
    /// 0 is the first to match; nothing where the table is exact.
    pub priority: u32,
    /// Number of the action; see [`Switch::action`].
    pub action: u32,
    /// Its arguments.
    pub arguments: Vec<u64>,
}

/// One key of an exact table, from what is there to what shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Number of the table; see [`Switch::table`].
    pub table: u32,
    /// What is there.
    pub before: Option<Entry>,
    /// What shall be.
    pub after: Option<Entry>,
}

/// All entries that a table with masks shall have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuild {
    /// Number of the table.
    pub table: u32,
    /// Its entries.
    pub entries: Vec<Entry>,
}

/// The switch of the C part. DPDK lets one thread run the pipeline while another changes tables and
/// reads counters; there is one of each, for the first is our thread, and changes are made under a
/// lock.
#[derive(Debug)]
struct Handle(*mut Raw);
// SAFETY: see above; everything else that is called from several threads (ring, pool, counters) is
// made for it.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made by `mswx_new`, and nobody has it any more.
        unsafe { ffi::mswx_free(self.0) }
    }
}

/// A switch at work, or ready for it.
#[derive(Debug)]
pub struct Switch {
    handle: Arc<Handle>,
    program: Arc<Program>,
    engine: Engine,
    writing: Mutex<()>,
    pausing: Mutex<()>,
    wake: Arc<EventFd>,
    /// Rung when packets have come for the controller.
    bell: EventFd,
    thread: Mutex<Option<JoinHandle<()>>>,
    sockets: Mutex<Vec<OwnedFd>>,
    alive: Mutex<Option<Arc<Alive>>>,
}

/// Packets that a switch has room for.
const BUFFERS: u32 = 32 * 1024 - 1;

impl Switch {
    /// Makes a switch of a program. [`dpdk::start`](crate::dpdk::start) comes first.
    pub fn new(
        program: Arc<Program>,
        ports: Ports<'_>,
        engine: Engine,
    ) -> Result<Switch, SwitchError> {
        let spec = program.clone();
        Switch::built(program, engine, |raw| assemble(raw, &spec.spec, ports, engine))
    }

    /// The same of a pipeline of others, between rings: what DPDK wrote as C text for a `.spec`
    /// file, as a library. `program` says what its tables are, to write entries.
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
        // SAFETY: a place for the pointer, and a text that lives until the end of the call.
        checked(unsafe { ffi::mswx_new(&mut raw, name.as_ptr(), BUFFERS) }, || {
            "no memory for packets".into()
        })?;
        let handle = Arc::new(Handle(raw));
        assemble(raw)?;
        let eventfd = || {
            EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
                .map_err(|error| SwitchError::Port(format!("no eventfd: {error}")))
        };
        let (wake, bell) = (Arc::new(eventfd()?), eventfd()?);
        // SAFETY: a switch that is built, whose thread does not run yet; the bell is closed after
        // the thread has ended.
        unsafe { ffi::mswx_bell(raw, bell.as_raw_fd()) };
        let (writing, pausing, thread, sockets, alive) = Default::default();
        Ok(Switch { handle, program, engine, writing, pausing, wake, bell, thread, sockets, alive })
    }

    /// A descriptor, non-blocking, that becomes readable when packets have come for the controller,
    /// and is to be read then.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    fn raw(&self) -> *mut Raw {
        self.handle.0
    }

    /// The program that it runs.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// How it runs it.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The number of a table.
    pub fn table(&self, name: &str) -> Result<u32, SwitchError> {
        let text =
            CString::new(name).map_err(|_| SwitchError::Unknown(format!("table {name:?}")))?;
        // SAFETY: a switch that is built, and a text.
        u32::try_from(unsafe { ffi::mswx_table_number(self.raw(), text.as_ptr()) })
            .map_err(|_| SwitchError::Unknown(format!("table {name:?}")))
    }

    /// The number of an action.
    pub fn action(&self, name: &str) -> Result<u32, SwitchError> {
        let text =
            CString::new(name).map_err(|_| SwitchError::Unknown(format!("action {name:?}")))?;
        // SAFETY: a switch that is built, and a text.
        u32::try_from(unsafe { ffi::mswx_action_number(self.raw(), text.as_ptr()) })
            .map_err(|_| SwitchError::Unknown(format!("action {name:?}")))
    }

    /// Makes all changes between two packets, or none of them. Entries have as many numbers as
    /// their table and action have fields and parameters: who calls has checked it.
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
        // SAFETY: arrays as long as said, of entries with as many numbers as SWX reads of them,
        // which live until the end of the call; the lock keeps other changes away.
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

    /// The same, and packets that wait (actions `hold_uplink`, `hold_downlink`) meet the new tables
    /// before any packet that comes later. No packet passes meanwhile; the kernel's queues have
    /// those that come.
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
        // SAFETY: a switch that is built; the lock keeps other pauses away.
        unsafe { ffi::mswx_pause(self.raw()) };
        let _ = self.wake.write(1);
        // SAFETY: as above.
        unsafe { ffi::mswx_paused(self.raw()) };
        let outcome = self.commit(changes, rebuilds);
        // SAFETY: as above.
        unsafe { ffi::mswx_resume(self.raw()) };
        outcome
    }

    /// Sets what a table does where no entry matches.
    pub fn set_default(
        &self,
        table: u32,
        action: u32,
        arguments: &[u64],
    ) -> Result<(), SwitchError> {
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as many arguments as the action has; the lock keeps other changes away.
        checked(unsafe { ffi::mswx_default(self.raw(), table, action, arguments.as_ptr()) }, || {
            "a default action".into()
        })
    }

    /// Reads a register.
    pub fn register(&self, name: &str, index: u32) -> Result<u64, SwitchError> {
        let text =
            CString::new(name).map_err(|_| SwitchError::Unknown(format!("register {name:?}")))?;
        let mut value = 0;
        // SAFETY: a text and a place for the value.
        let status =
            unsafe { ffi::mswx_register_read(self.raw(), text.as_ptr(), index, &mut value) };
        checked(status, || format!("register {name}[{index}]")).map(|()| value)
    }

    /// Writes a register.
    pub fn set_register(&self, name: &str, index: u32, value: u64) -> Result<(), SwitchError> {
        let text =
            CString::new(name).map_err(|_| SwitchError::Unknown(format!("register {name:?}")))?;
        // SAFETY: a text.
        let status = unsafe { ffi::mswx_register_write(self.raw(), text.as_ptr(), index, value) };
        checked(status, || format!("register {name}[{index}]"))
    }

    /// Sets what a meter lets through, in octets a second and at once; `None` is everything.
    pub fn set_meter(
        &self,
        name: &str,
        index: u32,
        rate: Option<(u64, u64)>,
    ) -> Result<(), SwitchError> {
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let text =
            CString::new(name).map_err(|_| SwitchError::Unknown(format!("meter {name:?}")))?;
        let (octets_per_second, burst) = rate.unwrap_or_default();
        let meter = ffi::Meter { octets_per_second, burst };
        // SAFETY: a text and a meter.
        checked(unsafe { ffi::mswx_meter_set(self.raw(), text.as_ptr(), index, &meter) }, || {
            format!("meter {name}[{index}]")
        })
    }

    /// Puts a frame into a port. A frame of the controller begins with the number of the port that
    /// it leaves by.
    pub fn inject(&self, port: u32, frame: &[u8]) -> Result<(), SwitchError> {
        // SAFETY: a frame as long as said.
        let status =
            unsafe { ffi::mswx_inject(self.raw(), port, frame.as_ptr(), frame.len() as u32) };
        checked(status, || format!("a frame into port {port}"))?;
        let _ = self.wake.write(1);
        Ok(())
    }

    /// Frames that were put into a port, and have not met the pipeline yet.
    pub fn waiting(&self, port: u32) -> u32 {
        // SAFETY: a switch that is built; its rings may be looked at by any thread.
        unsafe { ffi::mswx_queued(self.raw(), port) }
    }

    /// Takes a frame that left by a port which has no socket.
    pub fn collect(&self, port: u32) -> Option<Vec<u8>> {
        let mut frame = vec![0; 2048];
        // SAFETY: room as large as said.
        let length =
            unsafe { ffi::mswx_collect(self.raw(), port, frame.as_mut_ptr(), frame.len() as u32) };
        frame.truncate(usize::try_from(length).unwrap_or(0));
        (!frame.is_empty()).then_some(frame)
    }

    /// Runs the pipeline by hand, where no thread does, until what was put in is through.
    pub fn settle(&self) {
        assert!(
            self.thread.lock().unwrap_or_else(PoisonError::into_inner).is_none(),
            "its thread runs it"
        );
        for _ in 0..8 {
            // SAFETY: no other thread runs it.
            unsafe { ffi::mswx_run(self.raw(), 16 * 1024) };
        }
    }

    /// Runs ports in memory for so many nanoseconds of the processor's time; gives the nanoseconds
    /// that it took.
    pub fn measure(&self, nanoseconds: u64) -> u64 {
        assert!(
            self.thread.lock().unwrap_or_else(PoisonError::into_inner).is_none(),
            "its thread runs it"
        );
        // SAFETY: no other thread runs it.
        unsafe {
            ffi::mswx_enlist();
            ffi::mswx_measure(self.raw(), nanoseconds)
        }
    }

    /// Packets and octets that have left by a port in memory.
    pub fn sunk(&self, port: u32) -> (u64, u64) {
        let (mut packets, mut octets) = (0, 0);
        // SAFETY: places for both.
        unsafe { ffi::mswx_sink_packets(self.raw(), port, &mut packets, &mut octets) };
        (packets, octets)
    }

    /// Binds a port to a socket, before the switch starts. What the pipeline must not see goes to
    /// `bypass`.
    pub fn attach(&self, port: u32, socket: OwnedFd, bypass: Option<u32>) {
        let bypass = bypass.map_or(-1, |port| port as i32);
        // SAFETY: the socket lives as long as the switch, among `sockets`.
        unsafe { ffi::mswx_attach(self.raw(), port, socket.as_raw_fd(), bypass) };
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
    }

    /// Says where frames of a port go that the pipeline must not see, before the switch starts.
    pub fn bypass(&self, port: u32, to: u32) {
        // SAFETY: a switch that is built, whose thread does not run yet.
        unsafe { ffi::mswx_attach(self.raw(), port, -1, to as i32) }
    }

    /// Binds a port to a receive queue of an interface by AF_XDP, before the switch starts; gives
    /// the socket, which stays the port's.
    pub(crate) fn open_lane(
        &self,
        port: u32,
        ifindex: u32,
        queue: u32,
        bypass: Option<u32>,
    ) -> std::io::Result<RawFd> {
        let bypass = bypass.map_or(-1, |port| port as i32);
        // SAFETY: a switch that is built, whose thread does not run yet.
        let fd = unsafe { ffi::mswx_open_lane(self.raw(), port, ifindex, queue, bypass) };
        if fd < 0 { Err(std::io::Error::from_raw_os_error(-fd)) } else { Ok(fd) }
    }

    /// Has frames leave a port on AF_XDP by an XDP program where many wait, before the switch
    /// starts. Program and memory stay open for as long as the switch runs.
    pub(crate) fn send_by_program(
        &self,
        port: u32,
        program: RawFd,
        area: RawFd,
        interface: &str,
    ) -> std::io::Result<()> {
        let interface = std::ffi::CString::new(interface)?;
        // SAFETY: a switch that is built, whose thread does not run yet; the name is copied.
        let status = unsafe { ffi::mswx_live(self.raw(), port, program, area, interface.as_ptr()) };
        if status < 0 { Err(std::io::Error::from_raw_os_error(-status)) } else { Ok(()) }
    }

    /// Takes the sockets of a port away again, before the switch starts.
    pub(crate) fn close_lanes(&self, port: u32) {
        // SAFETY: as above.
        unsafe { ffi::mswx_close_lanes(self.raw(), port) }
    }

    /// Has the thread say that it lives.
    pub fn tell(&self, alive: &Arc<Alive>) {
        // SAFETY: the word lives as long as the switch, which keeps it.
        unsafe { ffi::mswx_alive(self.raw(), alive.word()) };
        *self.alive.lock().unwrap_or_else(PoisonError::into_inner) = Some(alive.clone());
    }

    /// For how long the thread looks for packets before it sleeps, always. Without it, it learns
    /// how long is worth it.
    pub fn spin(&self, time: Duration) {
        // SAFETY: a switch that is built, whose thread does not run yet.
        unsafe { ffi::mswx_spin(self.raw(), u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)) }
    }

    /// Starts the thread that carries packets.
    pub fn start(&self) -> Result<(), SwitchError> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_some() {
            return Ok(());
        }
        let (handle, wake) = (self.handle.clone(), self.wake.clone());
        let made = std::thread::Builder::new().name("switch".into()).spawn(move || {
            let handle = &handle;
            // SAFETY: the one thread that runs the pipeline.
            unsafe { ffi::mswx_loop(handle.0, wake.as_raw_fd()) }
        });
        *thread =
            Some(made.map_err(|error| {
                SwitchError::Port(format!("no thread for the switch: {error}"))
            })?);
        Ok(())
    }

    /// What a port has counted.
    pub fn port(&self, port: u32) -> PortCounters {
        let mut counters = PortCounters::default();
        if port < PORTS {
            // SAFETY: a port that exists, and a place for its counters.
            unsafe { ffi::mswx_port_counters(self.raw(), port, &mut counters) };
        }
        counters
    }
}

impl Switch {
    /// Ends the thread that carries packets, once those that are here have left.
    pub fn stop(&self) {
        // SAFETY: the handle lives.
        unsafe { ffi::mswx_end(self.raw()) };
        let _ = self.wake.write(1);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
            let (mut times, mut longest) = (0, 0);
            // SAFETY: places for both; the thread has ended.
            unsafe { ffi::mswx_absences(self.raw(), &mut times, &mut longest) };
            if times > 0 {
                let longest = Duration::from_nanos(longest);
                tracing::warn!(
                    times,
                    ?longest,
                    "the switch had no processor for so long that the kernel took over its wires: \
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
