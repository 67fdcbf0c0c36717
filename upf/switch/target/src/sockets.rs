//! Ports on interfaces: packet sockets, and what keeps the kernel's hands off their frames while
//! the switch lives.
//!
//! Each wire has an interface towards the peer and one towards the native UPF. A rule of traffic
//! control forwards frames between the two in the kernel: that is the way without a switch. While a
//! switch lives, a program at the entry of both interfaces (tcx, Linux 6.6) drops what the switch
//! has taken. The kernel removes that program when the switch's process ends, however it ends, so
//! the way without a switch is there from the next frame on.
use crate::assembler::{Assembler, TC_SHOT};
use crate::bpf;
use crate::error::SwitchError;
use martlet_interface::Feature;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio};

fn failed(interface: &str, what: &str, error: impl std::fmt::Display) -> SwitchError {
    SwitchError::Port(format!("{interface}: {what}: {error}"))
}

/// The number of an interface.
pub(crate) fn number(interface: &str) -> Result<u32, SwitchError> {
    nix::net::if_::if_nametoindex(interface)
        .map_err(|error| failed(interface, "there is no such interface", error))
}

/// The place of that rule among others of its interface.
const PREFERENCE: u32 = 4242;

/// The way without a switch: what comes in by one interface leaves by the other, in the kernel.
pub fn join(one: &str, other: &str) -> Result<(), SwitchError> {
    for (from, to) in [(one, other), (other, one)] {
        number(from)?;
        let tc = |arguments: String| {
            Command::new("tc").args(arguments.split(' ')).stderr(Stdio::null()).output()
        };
        let failed_to_run =
            |error| failed(from, "tc, of the package iproute2, cannot be run", error);
        // It stays when a switch ends, so it may be there; and it is not taken away while it
        // forwards.
        let there = tc(format!("filter show dev {from} ingress pref {PREFERENCE}"))
            .map_err(failed_to_run)?;
        if String::from_utf8_lossy(&there.stdout).contains(&format!("to device {to})")) {
            continue;
        }
        let _ = tc(format!("qdisc add dev {from} clsact"));
        let _ = tc(format!("filter del dev {from} ingress pref {PREFERENCE}"));
        let rule = format!(
            "filter add dev {from} ingress pref {PREFERENCE} protocol all u32 match u32 0 0 \
             action mirred egress redirect dev {to}"
        );
        let made = tc(rule).map_err(failed_to_run)?;
        if !made.status.success() {
            return Err(failed(
                from,
                "tc does not forward its frames: the kernel needs cls_u32 and act_mirred",
                made.status,
            ));
        }
    }
    Ok(())
}

/// Takes the way without a switch away.
pub fn part(one: &str, other: &str) {
    for interface in [one, other] {
        let rule = format!("filter del dev {interface} ingress pref {PREFERENCE}");
        let _ = Command::new("tc").args(rule.split(' ')).stderr(Stdio::null()).status();
    }
}

/// Has the other end of a veth pair send frames as a wire would carry them: with checksums, one
/// packet each.
pub fn plain(interface: &str) -> Result<(), SwitchError> {
    number(interface)?;
    // Segmentation needs checksums, so it goes first.
    let features = [
        Feature::Segmentation,
        Feature::GenericSegmentation,
        Feature::GenericReceive,
        Feature::TransmitChecksums,
    ];
    for feature in features {
        match martlet_interface::turn(interface, feature, false) {
            Err(error) if feature == Feature::TransmitChecksums => {
                return Err(failed(interface, "it keeps leaving checksums to others", error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Has one end of a veth pair take the frames that XDP programs send at the other end when there is
/// no program here, too: without it they are lost there.
pub(crate) fn take_from_programs(interface: &str, on: bool) {
    if let Err(error) = martlet_interface::turn(interface, Feature::GenericReceive, on) {
        tracing::debug!(interface, %error, on, "generic receive offload cannot be turned");
    }
}

/// The longest packet that an interface sends, in octets.
pub(crate) fn longest(interface: &str) -> Result<u32, SwitchError> {
    martlet_interface::longest(interface)
        .map_err(|error| failed(interface, "its longest packet is not told", error))
}

/// A port on an interface.
pub struct Port {
    /// Where its frames are read and written.
    pub socket: OwnedFd,
    /// What keeps the kernel from forwarding them too; closed with the process.
    pub divert: Option<OwnedFd>,
}

/// Opens an interface. From here on its frames come here, and here alone.
pub fn open(interface: &str) -> Result<Port, SwitchError> {
    let ifindex = number(interface)?;
    let socket = socket(
        AddressFamily::Packet,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
        None,
    )
    .map_err(|error| failed(interface, "no packet socket (run as root)", error))?;
    set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)
        .map_err(|error| failed(interface, "it cannot leave out what it sends", error))?;
    // 8 MiB: some 30 ms of a full link.
    let _ = set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 8 << 20);
    let _ = set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 8 << 20);
    // First the kernel lets go of the frames, then they come here: none is forwarded twice.
    let divert = match divert(ifindex) {
        Ok(link) => Some(link),
        Err(error) => {
            tracing::warn!(
                interface, %error,
                "the kernel has no tcx (Linux 6.6): no native path takes over if this switch ends"
            );
            None
        }
    };
    // SAFETY: `sockaddr_ll` is plain data for which all zeroes is a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = ifindex as i32;
    // SAFETY: an address of the length said.
    let status = unsafe {
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size_of_val(&address) as u32)
    };
    if status < 0 {
        return Err(failed(
            interface,
            "its frames cannot be taken",
            std::io::Error::last_os_error(),
        ));
    }
    promiscuous(&socket, interface, ifindex)?;
    Ok(Port { socket, divert })
}

/// Frames for others than this machine are what a switch is for: as long as the socket is open, the
/// interface takes them.
fn promiscuous(socket: &OwnedFd, interface: &str, ifindex: u32) -> Result<(), SwitchError> {
    // SAFETY: `packet_mreq` is plain data for which all zeroes is a value.
    let mut request: libc::packet_mreq = unsafe { std::mem::zeroed() };
    request.mr_ifindex = ifindex as i32;
    request.mr_type = libc::PACKET_MR_PROMISC as u16;
    // SAFETY: a request of the length said.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            (&raw const request).cast(),
            size_of_val(&request) as u32,
        )
    };
    if status < 0 {
        return Err(failed(
            interface,
            "it does not take frames for others",
            std::io::Error::last_os_error(),
        ));
    }
    Ok(())
}

/// What keeps an interface taking frames for others, where frames come another way than by packet
/// sockets.
pub fn listen_to_all(interface: &str) -> Result<OwnedFd, SwitchError> {
    let ifindex = number(interface)?;
    let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)
        .map_err(|error| failed(interface, "no packet socket (run as root)", error))?;
    promiscuous(&socket, interface, ifindex)?;
    Ok(socket)
}

fn set(socket: &OwnedFd, level: i32, option: i32, value: i32) -> std::io::Result<()> {
    // SAFETY: a number of the length said.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<i32>() as u32,
        )
    };
    if status < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

/// Drops all frames that enter by an interface, behind packet sockets, as long as the descriptor is
/// open.
fn divert(ifindex: u32) -> std::io::Result<OwnedFd> {
    const PROG_TYPE_SCHED_CLS: u32 = 3;
    const TCX_INGRESS: u32 = 46;
    let mut code = Assembler::default();
    code.give(TC_SHOT);
    let program = bpf::load(PROG_TYPE_SCHED_CLS, TCX_INGRESS, &code.finish(), "martlet_switch_")?;
    bpf::attach(&program, ifindex, TCX_INGRESS, 0)
}
