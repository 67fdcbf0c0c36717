//! Ports by AF_XDP: a program at the entry of an interface hands each frame to the switch, or leaves it to the kernel, whose
//! own forwarding between the wire's ends is the way without a switch. No frame goes both ways.
//!
//! The program looks at when the switch's loop last said that it lives. A switch that has ended, was killed, hangs or has no
//! processor gets no frame from [`PATIENCE`] on, however long the kernel takes to clear up after it.
use crate::error::SwitchError;
use crate::switch::Switch;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

/// For so long the kernel believes that a switch lives which has not said so.
pub const PATIENCE: Duration = Duration::from_millis(50);
/// Receive queues of an interface that a port takes frames from.
const QUEUES: u32 = 16;

/// The longest packet that fits into a chunk of the sockets' memory (`c/xsk.c`), with its Ethernet header and a VLAN's.
const LONGEST: u32 = 2048 - 256 - 18;

const MAP_CREATE: i64 = 0;
const MAP_UPDATE_ELEM: i64 = 2;
const PROG_LOAD: i64 = 5;
const LINK_CREATE: i64 = 28;
const MAP_TYPE_ARRAY: u32 = 2;
const MAP_TYPE_XSKMAP: u32 = 17;
const MMAPABLE: u32 = 1 << 10;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// How a program is attached: in the driver, or behind it.
const IN_DRIVER: u32 = 1 << 2;
const GENERIC: u32 = 1 << 1;

/// Calls bpf(2) with the first octets of its argument.
fn bpf<T>(command: i64, argument: &T) -> std::io::Result<i64> {
    // SAFETY: the kernel reads as many octets as said, and what they point to lives until the end of the call.
    let outcome = unsafe { libc::syscall(libc::SYS_bpf, command, argument as *const T, size_of::<T>()) };
    if outcome < 0 { Err(std::io::Error::last_os_error()) } else { Ok(outcome) }
}

/// The same, where a descriptor comes of it.
pub(crate) fn bpf_open<T>(command: i64, argument: &T) -> std::io::Result<OwnedFd> {
    let fd = bpf(command, argument)?;
    // SAFETY: a descriptor that the kernel has just made, for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

fn name(text: &str) -> [u8; 16] {
    let mut name = [0; 16];
    name[..text.len()].copy_from_slice(text.as_bytes());
    name
}

/// `union bpf_attr` of BPF_MAP_CREATE.
#[repr(C)]
struct MapAttributes {
    kind: u32,
    key: u32,
    value: u32,
    entries: u32,
    flags: u32,
    inner: u32,
    node: u32,
    name: [u8; 16],
}

fn make_map(kind: u32, value: u32, entries: u32, flags: u32, text: &str) -> std::io::Result<OwnedFd> {
    bpf_open(MAP_CREATE, &MapAttributes { kind, key: 4, value, entries, flags, inner: 0, node: 0, name: name(text) })
}

/// `union bpf_attr` of BPF_PROG_LOAD, up to the type of attachment.
#[repr(C)]
pub(crate) struct Load {
    pub kind: u32,
    pub instructions: u32,
    pub code: u64,
    pub license: u64,
    pub log: [u32; 2],
    pub log_buffer: u64,
    pub kernel: u32,
    pub flags: u32,
    pub name: [u8; 16],
    pub ifindex: u32,
    pub attach_type: u32,
}

/// Loads a program.
pub(crate) fn load(kind: u32, attach_type: u32, code: &[u64], text: &str) -> std::io::Result<OwnedFd> {
    let load = Load {
        kind,
        instructions: code.len() as u32,
        code: code.as_ptr() as u64,
        license: c"Apache-2.0".as_ptr() as u64,
        log: [0; 2],
        log_buffer: 0,
        kernel: 0,
        flags: 0,
        name: name(text),
        ifindex: 0,
        attach_type,
    };
    bpf_open(PROG_LOAD, &load)
}

/// `union bpf_attr` of BPF_LINK_CREATE; the rest is what tcx may be told of its order.
#[repr(C)]
pub(crate) struct Link {
    pub program: u32,
    pub ifindex: u32,
    pub attach_type: u32,
    pub flags: u32,
    pub order: [u64; 2],
}

/// An instruction: code, registers (destination, source), offset, immediate value.
const fn instruction(code: u8, to: u8, from: u8, offset: i16, value: i32) -> u64 {
    let registers = to | from << 4;
    (code as u64) | (registers as u64) << 8 | (offset as u16 as u64) << 16 | (value as u32 as u64) << 32
}

/// Frames that wait for the program to send them, and octets of each (`c/live.c`).
const LIVE: u32 = 512;
const LIVE_SLOT: u32 = 2048;
/// Octets of the memory that they lie in, behind which are the number of the next one and a gap.
const LIVE_AREA: u32 = 64 + LIVE * LIVE_SLOT;
/// The first interface of every network namespace, which runs of a program say that they come from.
const LOOPBACK: i32 = 1;

/// What the program does with frames of ours: the memory that they lie in, and the interface that they leave by.
#[derive(Debug, Clone, Copy)]
struct Out {
    area: RawFd,
    ifindex: u32,
}

/// The program. What comes is the kernel's `PATIENCE` after `alive`, and where no socket is there for the queue. A run that the
/// switch asks for takes the next frame of its memory, and sends it.
fn program(alive: RawFd, sockets: RawFd, out: Option<Out>) -> Vec<u64> {
    const INGRESS: i16 = 12;
    let coming = coming(alive, sockets);
    let mut code = vec![
        // r6 = context
        instruction(0xbf, 6, 1, 0, 0),
    ];
    if let Some(out) = out {
        code.extend([
            // r2 = ingress interface; the loopback's: behind what is for frames that come
            instruction(0x61, 2, 6, INGRESS, 0),
            instruction(0x15, 2, 0, coming.len() as i16, LOOPBACK),
        ]);
        code.extend(coming);
        code.extend(leaving(out));
    } else {
        code.extend(coming);
    }
    code
}

const LOAD_MAP: u8 = 0x18;
const MAP: u8 = 1;
const MAP_VALUE: u8 = 2;
const EXIT: u64 = instruction(0x95, 0, 0, 0, 0);

/// Of frames that come; r6 is the context.
fn coming(alive: RawFd, sockets: RawFd) -> Vec<u64> {
    const COARSE_TIME: i32 = 160;
    const REDIRECT: i32 = 51;
    const PASS: i32 = 2;
    const RX_QUEUE: i16 = 16;
    vec![
        // r1 = where the switch says that it lives; r7 = when it did
        instruction(LOAD_MAP, 1, MAP_VALUE, 0, alive),
        instruction(0, 0, 0, 0, 0),
        instruction(0x79, 7, 1, 0, 0),
        // r0 = now - r7
        instruction(0x85, 0, 0, 0, COARSE_TIME),
        instruction(0x1f, 0, 7, 0, 0),
        // Longer ago than that: to the last two. Signed, for the clock is read before the switch may say something.
        instruction(0x65, 0, 0, 6, PATIENCE.as_nanos() as i32),
        // return redirect(sockets, queue, or pass)
        instruction(0x61, 2, 6, RX_QUEUE, 0),
        instruction(LOAD_MAP, 1, MAP, 0, sockets),
        instruction(0, 0, 0, 0, 0),
        instruction(0xb7, 3, 0, 0, PASS),
        instruction(0x85, 0, 0, 0, REDIRECT),
        EXIT,
        instruction(0xb7, 0, 0, 0, PASS),
        EXIT,
    ]
}

/// Of frames of ours; r6 is the context.
fn leaving(out: Out) -> Vec<u64> {
    const ADJUST_TAIL: i32 = 65;
    const STORE: i32 = 190;
    const REDIRECT_TO: i32 = 23;
    const DROP: i32 = 1;
    const DATA: i16 = 0;
    const DATA_END: i16 = 4;
    vec![
        // r7 = the memory; r8 = the number of the frame, which the next run has one more of
        instruction(LOAD_MAP, 7, MAP_VALUE, 0, out.area),
        instruction(0, 0, 0, 0, 0),
        instruction(0x61, 8, 7, 0, 0),
        instruction(0xbf, 1, 8, 0, 0),
        instruction(0x07, 1, 0, 0, 1),
        instruction(0x63, 7, 1, 0, 0),
        // r7 = its place; r9 = its length
        instruction(0x57, 8, 0, 0, LIVE as i32 - 1),
        instruction(0x67, 8, 0, 0, LIVE_SLOT.ilog2() as i32),
        instruction(0x07, 7, 0, 0, 64),
        instruction(0x0f, 7, 8, 0, 0),
        instruction(0x61, 9, 7, 0, 0),
        // A length that none has: to the last two.
        instruction(0x25, 9, 0, 21, LIVE_SLOT as i32 - 8),
        instruction(0xa5, 9, 0, 20, 14),
        // r2 = by how much the packet is to grow, below 0 where it is longer
        instruction(0x61, 1, 6, DATA, 0),
        instruction(0x61, 3, 6, DATA_END, 0),
        instruction(0x1f, 3, 1, 0, 0),
        instruction(0xbf, 2, 9, 0, 0),
        instruction(0x1f, 2, 3, 0, 0),
        instruction(0x15, 2, 0, 3, 0),
        instruction(0xbf, 1, 6, 0, 0),
        instruction(0x85, 0, 0, 0, ADJUST_TAIL),
        instruction(0x55, 0, 0, 11, 0),
        // Its octets, from eight behind its place.
        instruction(0xbf, 1, 6, 0, 0),
        instruction(0xb7, 2, 0, 0, 0),
        instruction(0xbf, 3, 7, 0, 0),
        instruction(0x07, 3, 0, 0, 8),
        instruction(0xbf, 4, 9, 0, 0),
        instruction(0x85, 0, 0, 0, STORE),
        instruction(0x55, 0, 0, 4, 0),
        // return redirect_to(interface)
        instruction(0xb7, 1, 0, 0, out.ifindex as i32),
        instruction(0xb7, 2, 0, 0, 0),
        instruction(0x85, 0, 0, 0, REDIRECT_TO),
        EXIT,
        instruction(0xb7, 0, 0, 0, DROP),
        EXIT,
    ]
}

/// A word in memory shared with programs of the kernel, in which the switch's loop says that it lives.
#[derive(Debug)]
pub struct Alive {
    map: OwnedFd,
    word: *mut u64,
}

// SAFETY: the word is written by the loop's thread alone, and stays mapped as long as this lives.
unsafe impl Send for Alive {}
// SAFETY: as above.
unsafe impl Sync for Alive {}

impl Alive {
    /// Makes it; nobody lives yet.
    pub fn new() -> std::io::Result<Arc<Alive>> {
        let map = make_map(MAP_TYPE_ARRAY, 8, 1, MMAPABLE, "switch_alive")?;
        // SAFETY: a new mapping of a page, which the map has.
        let word = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                4096,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                map.as_raw_fd(),
                0,
            )
        };
        if word == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Arc::new(Alive { map, word: word.cast() }))
    }

    /// Where the loop writes.
    pub(crate) fn word(&self) -> *mut u64 {
        self.word
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        // SAFETY: our mapping, which nobody uses any more.
        unsafe { libc::munmap(self.word.cast(), 4096) };
    }
}

/// How many receive queues an interface has.
fn queues(interface: &str) -> u32 {
    /// `struct ethtool_channels`.
    #[repr(C)]
    #[derive(Default)]
    struct Channels {
        command: u32,
        most: [u32; 4],
        rx: u32,
        tx: u32,
        other: u32,
        combined: u32,
    }
    const GET_CHANNELS: u32 = 0x3c;
    let mut channels = Channels { command: GET_CHANNELS, ..Channels::default() };
    match crate::sockets::ethtool(interface, (&raw mut channels).cast()) {
        Ok(()) => (channels.rx + channels.combined).max(1),
        // A driver that knows no channels has one.
        Err(_) => 1,
    }
}

/// What keeps a port on AF_XDP open; closed with the process.
#[derive(Debug)]
pub struct Lanes {
    _link: OwnedFd,
    _sockets: OwnedFd,
    /// What frames leave by where many wait: program and memory.
    _out: Option<(OwnedFd, OwnedFd)>,
    /// Whether frames are taken in the driver.
    pub in_driver: bool,
}

/// Opens an interface as a port. From when the switch starts on its frames come there; what the pipeline must not see goes to
/// the port `bypass`.
pub fn open(
    switch: &Switch,
    alive: &Arc<Alive>,
    port: u32,
    interface: &str,
    bypass: Option<u32>,
) -> Result<Lanes, SwitchError> {
    let failed = |what: &str, error: std::io::Error| SwitchError::Port(format!("{interface}: AF_XDP: {what}: {error}"));
    let ifindex = crate::sockets::number(interface)?;
    let longest = crate::sockets::longest(interface)?;
    if longest > LONGEST {
        return Err(SwitchError::Port(format!(
            "{interface}: AF_XDP takes packets of up to {LONGEST} octets, and it has a link of {longest}"
        )));
    }
    let queues = queues(interface);
    if queues > QUEUES {
        return Err(SwitchError::Port(format!(
            "{interface}: AF_XDP takes up to {QUEUES} receive queues, and it has {queues}: ethtool -L {interface} combined 1"
        )));
    }
    let sockets = make_map(MAP_TYPE_XSKMAP, 4, QUEUES, 0, "switch_sockets");
    let sockets = sockets.map_err(|error| failed("no map", error))?;
    let (alive, sockets_fd) = (alive.map.as_raw_fd(), sockets.as_raw_fd());
    let made = |out| load(PROG_TYPE_XDP, ATTACH_XDP, &program(alive, sockets_fd, out), "martlet_switch");
    // Only where sockets make a packet buffer for each frame is a program the better way.
    let area = if crate::sockets::is_veth(interface) {
        make_map(MAP_TYPE_ARRAY, LIVE_AREA, 1, MMAPABLE, "switch_frames").ok()
    } else {
        None
    };
    let sends = area.and_then(|area| {
        let made = made(Some(Out { area: area.as_raw_fd(), ifindex }));
        let failed = |error: &std::io::Error| tracing::info!(interface, %error, "frames leave by a socket alone");
        Some((made.inspect_err(failed).ok()?, area))
    });
    let (program, area) = match sends {
        Some((program, area)) => (program, Some(area)),
        None => (made(None).map_err(|error| failed("the kernel refuses its program", error))?, None),
    };
    let attach = |flags| {
        let program = program.as_raw_fd() as u32;
        bpf_open(LINK_CREATE, &Link { program, ifindex, attach_type: ATTACH_XDP, flags, order: [0; 2] })
    };
    let (link, in_driver) = match attach(IN_DRIVER) {
        Ok(link) => (link, true),
        // Another program is there: behind it, frames would be what it leaves.
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => return Err(failed("it has a program", error)),
        Err(_) => (attach(GENERIC).map_err(|error| failed("no program may be attached", error))?, false),
    };
    for queue in 0..queues {
        let opened = switch.open_lane(port, ifindex, queue, bypass).and_then(|socket| {
            /// `union bpf_attr` of BPF_MAP_UPDATE_ELEM.
            #[repr(C)]
            struct Update {
                map: u32,
                rest: u32,
                key: u64,
                value: u64,
                flags: u64,
            }
            let (map, key, value) = (sockets.as_raw_fd() as u32, (&raw const queue) as u64, (&raw const socket) as u64);
            bpf(MAP_UPDATE_ELEM, &Update { map, rest: 0, key, value, flags: 0 }).map(drop)
        });
        if let Err(error) = opened {
            switch.close_lanes(port);
            return Err(failed("no socket", error));
        }
    }
    // The kernel runs a program that is attached in a driver at once, and others only after it has waited for all processors.
    let out = area.filter(|_| in_driver).and_then(|area| {
        let told = switch.send_by_program(port, program.as_raw_fd(), area.as_raw_fd(), interface);
        told.ok().map(|()| (program, area))
    });
    Ok(Lanes { _link: link, _sockets: sockets, _out: out, in_driver })
}
