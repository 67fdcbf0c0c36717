//! Ports by AF_XDP: a program at the entry of an interface hands each frame to the switch, or
//! leaves it to the kernel, whose own forwarding between the wire's ends is the way without a
//! switch. No frame goes both ways.
//!
//! The program looks at when the switch's loop last said that it lives. A switch that has ended,
//! was killed, hangs or has no processor gets no frame from [`PATIENCE`] on, however long the
//! kernel takes to clear up after it.
use crate::assembler::*;
use crate::bpf::{self, ATTACH_XDP, MAP_TYPE_ARRAY, MAP_TYPE_XSKMAP, MMAPABLE, PROG_TYPE_XDP};
use crate::error::SwitchError;
use crate::switch::Switch;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

/// For so long the kernel believes that a switch lives which has not said so.
pub const PATIENCE: Duration = Duration::from_millis(70);
/// Receive queues of an interface that a port takes frames from.
const QUEUES: u32 = 16;

/// The longest packet that fits into a chunk of the sockets' memory (`c/xsk.c`), with its Ethernet
/// header and a VLAN's.
const LONGEST: u32 = 2048 - 256 - 18;

/// How a program is attached: in the driver, or behind it.
const IN_DRIVER: u32 = 1 << 2;
const GENERIC: u32 = 1 << 1;

/// Frames that wait for the program to send them, and octets of each (`c/live.c`).
const LIVE: u32 = 512;
const LIVE_SLOT: u32 = 2048;
/// Octets of the memory that they lie in: the number of the next one, a gap, and the frames, each
/// behind its length and a gap.
const LIVE_AREA: u32 = LIVE_FIRST + LIVE * LIVE_SLOT;
const LIVE_FIRST: u32 = 64;
const LIVE_HEADER: u32 = 8;
/// Octets of the shortest frame: its header alone.
const ETHERNET: i32 = 14;
/// The first interface of every network namespace, which runs of a program say that they come from.
const LOOPBACK: i32 = 1;

/// What the program does with frames of ours: the memory that they lie in, and the interface that
/// they leave by.
#[derive(Debug, Clone, Copy)]
struct Out {
    area: RawFd,
    ifindex: u32,
}

/// The program. What comes is the kernel's `PATIENCE` after `alive`, and where no socket is there
/// for the queue. A run that the switch asks for takes the next frame of its memory, and sends it.
fn program(alive: RawFd, sockets: RawFd, out: Option<Out>) -> Vec<u64> {
    let mut code = Assembler::default();
    code.mov(CONTEXT, R1);
    if let Some(out) = out {
        code.load32(R2, CONTEXT, xdp::INGRESS);
        code.jump_if_equal(R2, LOOPBACK, "leaving");
        coming(&mut code, alive, sockets);
        code.label("leaving");
        leaving(&mut code, out);
    } else {
        coming(&mut code, alive, sockets);
    }
    code.finish()
}

/// Where the program keeps what it was called with.
const CONTEXT: Register = R6;

/// Of frames that come.
fn coming(code: &mut Assembler, alive: RawFd, sockets: RawFd) {
    // The clock is read after what the switch has said, so what is between them is below nothing
    // where it says more meanwhile.
    code.map_value(R1, alive);
    code.load64(R7, R1, 0);
    code.call(Helper::CoarseTime);
    code.subtract(R0, R7);
    code.jump_if_more_signed(R0, PATIENCE.as_nanos() as i32, "to the kernel");
    code.load32(R2, CONTEXT, xdp::RX_QUEUE);
    code.map(R1, sockets);
    code.set(R3, xdp::PASS);
    code.call(Helper::RedirectMap);
    code.exit();
    code.label("to the kernel");
    code.give(xdp::PASS);
}

/// Of frames of ours.
fn leaving(code: &mut Assembler, out: Out) {
    const PLACE: Register = R7;
    const LENGTH: Register = R9;
    // The number of the frame, which the next run has one more of.
    code.map_value(PLACE, out.area);
    code.load32(R8, PLACE, 0);
    code.mov(R1, R8);
    code.add_number(R1, 1);
    code.store32(PLACE, 0, R1);
    // Its place and its length, which has to be one that there may be.
    code.and_number(R8, LIVE as i32 - 1);
    code.shift_left(R8, LIVE_SLOT.ilog2() as i32);
    code.add_number(PLACE, LIVE_FIRST as i32);
    code.add(PLACE, R8);
    code.load32(LENGTH, PLACE, 0);
    code.jump_if_more(LENGTH, (LIVE_SLOT - LIVE_HEADER) as i32, "drop");
    code.jump_if_less(LENGTH, ETHERNET, "drop");
    // The packet is made as long: by how much it grows is below nothing where it is longer.
    code.load32(R1, CONTEXT, xdp::DATA);
    code.load32(R3, CONTEXT, xdp::DATA_END);
    code.subtract(R3, R1);
    code.mov(R2, LENGTH);
    code.subtract(R2, R3);
    code.jump_if_equal(R2, 0, "as long");
    code.mov(R1, CONTEXT);
    code.call(Helper::XdpAdjustTail);
    code.jump_if_not_equal(R0, 0, "drop");
    code.label("as long");
    code.mov(R1, CONTEXT);
    code.set(R2, 0);
    code.mov(R3, PLACE);
    code.add_number(R3, LIVE_HEADER as i32);
    code.mov(R4, LENGTH);
    code.call(Helper::XdpStoreBytes);
    code.jump_if_not_equal(R0, 0, "drop");
    code.set(R1, out.ifindex as i32);
    code.set(R2, 0);
    code.call(Helper::Redirect);
    code.exit();
    code.label("drop");
    code.give(xdp::DROP);
}

/// A word in memory shared with programs of the kernel, in which the switch's loop says that it
/// lives.
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
        let map = bpf::make_map(MAP_TYPE_ARRAY, 8, 1, MMAPABLE, "switch_alive")?;
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

/// Opens an interface as a port. From when the switch starts on its frames come there; what the
/// pipeline must not see goes to the port `bypass`.
pub fn open(
    switch: &Switch,
    alive: &Arc<Alive>,
    port: u32,
    interface: &str,
    bypass: Option<u32>,
) -> Result<Lanes, SwitchError> {
    let failed = |what: &str, error: std::io::Error| {
        SwitchError::Port(format!("{interface}: AF_XDP: {what}: {error}"))
    };
    let ifindex = crate::sockets::number(interface)?;
    let longest = crate::sockets::longest(interface)?;
    if longest > LONGEST {
        return Err(SwitchError::Port(format!(
            "{interface}: AF_XDP takes packets of up to {LONGEST} octets, and it has a link of \
             {longest}"
        )));
    }
    let queues = martlet_interface::queues(interface);
    if queues > QUEUES {
        return Err(SwitchError::Port(format!(
            "{interface}: AF_XDP takes up to {QUEUES} receive queues, and it has {queues}: \
             ethtool -L {interface} combined 1"
        )));
    }
    let sockets = bpf::make_map(MAP_TYPE_XSKMAP, 4, QUEUES, 0, "switch_sockets");
    let sockets = sockets.map_err(|error| failed("no map", error))?;
    let (alive, sockets_fd) = (alive.map.as_raw_fd(), sockets.as_raw_fd());
    let made = |out| {
        bpf::load(PROG_TYPE_XDP, ATTACH_XDP, &program(alive, sockets_fd, out), "martlet_switch")
    };
    // Only where sockets make a packet buffer for each frame is a program the better way.
    let area = if martlet_interface::is_veth(interface) {
        bpf::make_map(MAP_TYPE_ARRAY, LIVE_AREA, 1, MMAPABLE, "switch_frames").ok()
    } else {
        None
    };
    let sends = area.and_then(|area| {
        let made = made(Some(Out { area: area.as_raw_fd(), ifindex }));
        let failed = |error: &std::io::Error| {
            tracing::info!(interface, %error,
            "frames leave by a socket alone")
        };
        Some((made.inspect_err(failed).ok()?, area))
    });
    let (program, area) = match sends {
        Some((program, area)) => (program, Some(area)),
        None => {
            (made(None).map_err(|error| failed("the kernel refuses its program", error))?, None)
        }
    };
    let attach = |flags| bpf::attach(&program, ifindex, ATTACH_XDP, flags);
    let (link, in_driver) = match attach(IN_DRIVER) {
        Ok(link) => (link, true),
        // Another program is there: behind it, frames would be what it leaves.
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            return Err(failed("it has a program", error));
        }
        Err(_) => {
            (attach(GENERIC).map_err(|error| failed("no program may be attached", error))?, false)
        }
    };
    for queue in 0..queues {
        let opened = switch
            .open_lane(port, ifindex, queue, bypass)
            .and_then(|socket| bpf::set(&sockets, queue, socket as u32));
        if let Err(error) = opened {
            switch.close_lanes(port);
            return Err(failed("no socket", error));
        }
    }
    // The kernel runs a program that is attached in a driver at once, and others only after it has
    // waited for all processors.
    let out = area.filter(|_| in_driver).and_then(|area| {
        let told = switch.send_by_program(port, program.as_raw_fd(), area.as_raw_fd(), interface);
        told.ok().map(|()| (program, area))
    });
    Ok(Lanes { _link: link, _sockets: sockets, _out: out, in_driver })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_takes_the_program() {
        // Not everybody may have it look.
        let Ok(alive) = Alive::new() else {
            return eprintln!("SKIPPED: no right to load programs of the kernel");
        };
        let sockets =
            bpf::make_map(MAP_TYPE_XSKMAP, 4, QUEUES, 0, "switch_sockets").expect("a map");
        let area =
            bpf::make_map(MAP_TYPE_ARRAY, LIVE_AREA, 1, MMAPABLE, "switch_frames").expect("a map");
        for out in [None, Some(Out { area: area.as_raw_fd(), ifindex: 7 })] {
            let code = program(alive.map.as_raw_fd(), sockets.as_raw_fd(), out);
            bpf::load(PROG_TYPE_XDP, ATTACH_XDP, &code, "martlet_switch")
                .expect("a program that the kernel takes");
        }
    }
}
