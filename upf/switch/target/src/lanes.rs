//! Ports through AF_XDP: a program on the interface redirects each frame to the switch, or leaves
//! it to the kernel, which forwards between the wire's ends (the path without a switch). No frame
//! takes both paths.
//!
//! The program checks the liveness timestamp of the switch's loop. A switch that ended, was killed,
//! hangs or gets no CPU receives no frames after [`TIMEOUT`], however long the kernel's cleanup
//! takes.
use crate::assembler::*;
use crate::bpf::{self, ATTACH_XDP, MAP_TYPE_ARRAY, MAP_TYPE_XSKMAP, MMAPABLE, PROG_TYPE_XDP};
use crate::error::SwitchError;
use crate::liveness::{Liveness, TIMEOUT};
use crate::switch::Switch;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Maximum receive queues of a port's interface.
const QUEUES: u32 = 16;

/// The longest packet that fits into a chunk of the sockets' memory (`c/xsk.c`), with its Ethernet
/// and VLAN headers.
const LONGEST: u32 = 2048 - 256 - 18;

/// Attachment modes of a program: native and generic.
const IN_DRIVER: u32 = 1 << 2;
const GENERIC: u32 = 1 << 1;

/// Frames queued for transmission by the program, and the buffer size of each in bytes
/// (`c/live.c`).
const LIVE: u32 = 512;
const LIVE_SLOT: u32 = 2048;
/// Size of their memory in bytes: the number of the next frame, a gap, and the frames, each
/// preceded by its length and a gap.
const LIVE_AREA: u32 = LIVE_FIRST + LIVE * LIVE_SLOT;
const LIVE_FIRST: u32 = 64;
const LIVE_HEADER: u32 = 8;
/// The shortest frame in bytes: an Ethernet header.
const ETHERNET: i32 = 14;
/// The first interface of every network namespace, which is the ingress interface of test runs.
const LOOPBACK: i32 = 1;

/// Transmission by the program: the memory with the frames, and the egress interface.
#[derive(Debug, Clone, Copy)]
struct Out {
    area: RawFd,
    ifindex: u32,
}

/// The program. Received frames go to the kernel if the timestamp at `liveness` is older than
/// [`TIMEOUT`], or if their queue has no socket. A test run sends the next frame of the memory.
fn program(liveness: RawFd, sockets: RawFd, out: Option<Out>) -> Vec<u64> {
    let mut code = Assembler::default();
    code.mov(CONTEXT, R1);
    if let Some(out) = out {
        code.load32(R2, CONTEXT, xdp::INGRESS);
        code.jump_if_equal(R2, LOOPBACK, "transmit");
        receive(&mut code, liveness, sockets);
        code.label("transmit");
        transmit(&mut code, out);
    } else {
        receive(&mut code, liveness, sockets);
    }
    code.finish()
}

/// Register of the program's context.
const CONTEXT: Register = R6;

/// Received frames.
fn receive(code: &mut Assembler, liveness: RawFd, sockets: RawFd) {
    // The clock is read after the timestamp, so the difference is negative if the switch updates it
    // in between.
    code.map_value(R1, liveness);
    code.load64(R7, R1, 0);
    code.call(Helper::CoarseTime);
    code.subtract(R0, R7);
    code.jump_if_more_signed(R0, TIMEOUT.as_nanos() as i32, "to the kernel");
    code.load32(R2, CONTEXT, xdp::RX_QUEUE);
    code.map(R1, sockets);
    code.set(R3, xdp::PASS);
    code.call(Helper::RedirectMap);
    code.exit();
    code.label("to the kernel");
    code.give(xdp::PASS);
}

/// Frames from the memory.
fn transmit(code: &mut Assembler, out: Out) {
    const SLOT: Register = R7;
    const LENGTH: Register = R9;
    // The frame number, incremented for the next run.
    code.map_value(SLOT, out.area);
    code.load32(R8, SLOT, 0);
    code.mov(R1, R8);
    code.add_number(R1, 1);
    code.store32(SLOT, 0, R1);
    // Address and length, which is validated.
    code.and_number(R8, LIVE as i32 - 1);
    code.shift_left(R8, LIVE_SLOT.ilog2() as i32);
    code.add_number(SLOT, LIVE_FIRST as i32);
    code.add(SLOT, R8);
    code.load32(LENGTH, SLOT, 0);
    code.jump_if_more(LENGTH, (LIVE_SLOT - LIVE_HEADER) as i32, "drop");
    code.jump_if_less(LENGTH, ETHERNET, "drop");
    // Sets the length of the packet; the difference is negative if the packet is longer.
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
    code.mov(R3, SLOT);
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

/// The resources of an open AF_XDP port; closed with the process.
#[derive(Debug)]
pub struct Lanes {
    _link: OwnedFd,
    _sockets: OwnedFd,
    /// Transmission by a program: program and memory.
    _out: Option<(OwnedFd, OwnedFd)>,
    /// Whether the program runs in native mode.
    pub in_driver: bool,
}

/// Opens an interface as a port. It receives frames once the switch has started. Frames that must
/// not enter the pipeline go to the port `bypass`.
pub fn open(
    switch: &Switch,
    liveness: &Arc<Liveness>,
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
            "{interface}: AF_XDP supports packets of up to {LONGEST} bytes, and the MTU is \
             {longest}: lower it, or use packet:{interface}"
        )));
    }
    let queues = martlet_interface::queues(interface);
    if queues > QUEUES {
        return Err(SwitchError::Port(format!(
            "{interface}: AF_XDP supports up to {QUEUES} receive queues, not {queues}: run \
             ethtool -L {interface} combined 1"
        )));
    }
    let sockets = bpf::make_map(MAP_TYPE_XSKMAP, 4, QUEUES, 0, "switch_sockets");
    let sockets = sockets.map_err(|error| failed("cannot create a map", error))?;
    let (liveness, sockets_fd) = (liveness.map().as_raw_fd(), sockets.as_raw_fd());
    let load_program = |out| {
        bpf::load(PROG_TYPE_XDP, ATTACH_XDP, &program(liveness, sockets_fd, out), "martlet_switch")
    };
    // A program is faster only where sockets allocate a packet buffer per frame.
    let area = if martlet_interface::is_veth(interface) {
        bpf::make_map(MAP_TYPE_ARRAY, LIVE_AREA, 1, MMAPABLE, "switch_frames").ok()
    } else {
        None
    };
    let sends = area.and_then(|area| {
        let loaded = load_program(Some(Out { area: area.as_raw_fd(), ifindex }));
        let failed = |error: &std::io::Error| {
            tracing::info!(interface, %error,
            "transmission through sockets only")
        };
        Some((loaded.inspect_err(failed).ok()?, area))
    });
    let (program, area) = match sends {
        Some((program, area)) => (program, Some(area)),
        None => (
            load_program(None).map_err(|error| failed("the kernel rejects the program", error))?,
            None,
        ),
    };
    let attach = |flags| bpf::attach(&program, ifindex, ATTACH_XDP, flags);
    let (link, in_driver) = match attach(IN_DRIVER) {
        Ok(link) => (link, true),
        // Another program is attached: a generic one would only get the frames that it passes.
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            return Err(failed(
                "another XDP program is attached (ip link set dev IFACE xdp off removes it)",
                error,
            ));
        }
        Err(_) => {
            (attach(GENERIC).map_err(|error| failed("cannot attach a program", error))?, false)
        }
    };
    for queue in 0..queues {
        let opened = switch
            .open_lane(port, ifindex, queue, bypass)
            .and_then(|socket| bpf::set(&sockets, queue, socket as u32));
        if let Err(error) = opened {
            switch.close_lanes(port);
            return Err(failed("cannot open a socket", error));
        }
    }
    // The kernel runs a natively attached program at once, and any other only after it has waited
    // for all CPUs.
    let out = area.filter(|_| in_driver).and_then(|area| {
        let enabled =
            switch.send_by_program(port, program.as_raw_fd(), area.as_raw_fd(), interface);
        enabled.ok().map(|()| (program, area))
    });
    Ok(Lanes { _link: link, _sockets: sockets, _out: out, in_driver })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_accepts_the_program() {
        // Loading a program needs a privilege.
        let Ok(liveness) = Liveness::new() else {
            return eprintln!("SKIPPED: no privilege to load BPF programs");
        };
        let sockets =
            bpf::make_map(MAP_TYPE_XSKMAP, 4, QUEUES, 0, "switch_sockets").expect("a map");
        let area =
            bpf::make_map(MAP_TYPE_ARRAY, LIVE_AREA, 1, MMAPABLE, "switch_frames").expect("a map");
        for out in [None, Some(Out { area: area.as_raw_fd(), ifindex: 7 })] {
            let code = program(liveness.map().as_raw_fd(), sockets.as_raw_fd(), out);
            bpf::load(PROG_TYPE_XDP, ATTACH_XDP, &code, "martlet_switch")
                .expect("a program that the kernel accepts");
        }
    }
}
