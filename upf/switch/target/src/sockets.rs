//! Ports on interfaces through packet sockets, and the programs that prevent the kernel from
//! forwarding the same frames.
//!
//! Each wire has an interface towards the peer and one towards the native UPF. A traffic control
//! rule forwards frames between the two in the kernel: the path without a switch. While a switch
//! runs, a program on the ingress of both interfaces (tcx, Linux 6.6) drops the frames that the
//! switch receives. The kernel removes that program when the switch's process ends in any way, so
//! the path without a switch works from the next frame on.
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

/// The index of an interface.
pub(crate) fn number(interface: &str) -> Result<u32, SwitchError> {
    nix::net::if_::if_nametoindex(interface)
        .map_err(|error| failed(interface, "the interface does not exist", error))
}

/// The preference of that rule among those of its interface.
const PREFERENCE: u32 = 4242;

/// Sets up the path without a switch: the kernel forwards between two interfaces.
pub fn join(one: &str, other: &str) -> Result<(), SwitchError> {
    for (from, to) in [(one, other), (other, one)] {
        number(from)?;
        let tc = |arguments: String| {
            Command::new("tc").args(arguments.split(' ')).stderr(Stdio::null()).output()
        };
        let failed_to_run =
            |error| failed(from, "cannot run tc (install the package iproute2)", error);
        // The rule remains when a switch ends, so it may exist. It is not removed while it
        // forwards.
        let existing = tc(format!("filter show dev {from} ingress pref {PREFERENCE}"))
            .map_err(failed_to_run)?;
        if String::from_utf8_lossy(&existing.stdout).contains(&format!("to device {to})")) {
            continue;
        }
        let _ = tc(format!("qdisc add dev {from} clsact"));
        let _ = tc(format!("filter del dev {from} ingress pref {PREFERENCE}"));
        let rule = format!(
            "filter add dev {from} ingress pref {PREFERENCE} protocol all u32 match u32 0 0 \
             action mirred egress redirect dev {to}"
        );
        let added = tc(rule).map_err(failed_to_run)?;
        if !added.status.success() {
            return Err(failed(
                from,
                "tc does not forward its frames: the kernel needs cls_u32 and act_mirred",
                added.status,
            ));
        }
    }
    Ok(())
}

/// Removes the path without a switch.
pub fn part(one: &str, other: &str) {
    for interface in [one, other] {
        let rule = format!("filter del dev {interface} ingress pref {PREFERENCE}");
        let _ = Command::new("tc").args(rule.split(' ')).stderr(Stdio::null()).status();
    }
}

/// Configures the peer of a veth interface to send frames as on a wire: with checksums, one packet
/// each.
pub fn plain(interface: &str) -> Result<(), SwitchError> {
    number(interface)?;
    // Segmentation depends on checksums, so it is disabled first.
    let features = [
        Feature::Segmentation,
        Feature::GenericSegmentation,
        Feature::GenericReceive,
        Feature::TransmitChecksums,
    ];
    for feature in features {
        match martlet_interface::set_feature(interface, feature, false) {
            Err(error) if feature == Feature::TransmitChecksums => {
                return Err(failed(interface, "cannot disable transmit checksum offload", error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Sets GRO on a veth end without an XDP program, which it needs to receive redirected frames.
pub(crate) fn set_gro(interface: &str, on: bool) {
    if let Err(error) = martlet_interface::set_feature(interface, Feature::GenericReceive, on) {
        tracing::debug!(interface, %error, on, "cannot set generic receive offload");
    }
}

/// The MTU of an interface in bytes.
pub(crate) fn longest(interface: &str) -> Result<u32, SwitchError> {
    martlet_interface::mtu(interface)
        .map_err(|error| failed(interface, "cannot read the MTU", error))
}

/// A port on an interface.
pub struct Port {
    /// The packet socket.
    pub socket: OwnedFd,
    /// Prevents the kernel from forwarding the frames; closed with the process.
    pub divert: Option<OwnedFd>,
}

/// Opens an interface. From here on only the switch receives its frames.
pub fn open(interface: &str) -> Result<Port, SwitchError> {
    let ifindex = number(interface)?;
    let socket = socket(
        AddressFamily::Packet,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
        None,
    )
    .map_err(|error| failed(interface, "cannot open a packet socket (run as root)", error))?;
    set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1).map_err(|error| {
        failed(interface, "cannot exclude its own frames from reception", error)
    })?;
    // 8 MiB: about 30 ms of a saturated link.
    let _ = set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 8 << 20);
    let _ = set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 8 << 20);
    // First the kernel drops the frames, then the socket receives them: none is forwarded twice.
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
    // SAFETY: `sockaddr_ll` is plain data, valid when zeroed.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = ifindex as i32;
    // SAFETY: an address of the given length.
    let status = unsafe {
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size_of_val(&address) as u32)
    };
    if status < 0 {
        return Err(failed(
            interface,
            "cannot bind the packet socket",
            std::io::Error::last_os_error(),
        ));
    }
    promiscuous(&socket, interface, ifindex)?;
    Ok(Port { socket, divert })
}

/// Promiscuous mode while the socket is open: a switch forwards frames for other addresses.
fn promiscuous(socket: &OwnedFd, interface: &str, ifindex: u32) -> Result<(), SwitchError> {
    // SAFETY: `packet_mreq` is plain data, valid when zeroed.
    let mut request: libc::packet_mreq = unsafe { std::mem::zeroed() };
    request.mr_ifindex = ifindex as i32;
    request.mr_type = libc::PACKET_MR_PROMISC as u16;
    // SAFETY: a request of the given length.
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
            "cannot enable promiscuous mode",
            std::io::Error::last_os_error(),
        ));
    }
    Ok(())
}

/// A socket that keeps an interface promiscuous where frames are not received through packet
/// sockets.
pub fn listen_to_all(interface: &str) -> Result<OwnedFd, SwitchError> {
    let ifindex = number(interface)?;
    let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)
        .map_err(|error| failed(interface, "cannot open a packet socket (run as root)", error))?;
    promiscuous(&socket, interface, ifindex)?;
    Ok(socket)
}

fn set(socket: &OwnedFd, level: i32, option: i32, value: i32) -> std::io::Result<()> {
    // SAFETY: a number of the given length.
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

/// Drops all frames received on an interface, after packet sockets, while the descriptor is open.
fn divert(ifindex: u32) -> std::io::Result<OwnedFd> {
    const PROG_TYPE_SCHED_CLS: u32 = 3;
    const TCX_INGRESS: u32 = 46;
    let mut code = Assembler::default();
    code.give(TC_SHOT);
    let program = bpf::load(PROG_TYPE_SCHED_CLS, TCX_INGRESS, &code.finish(), "martlet_switch_")?;
    bpf::attach(&program, ifindex, TCX_INGRESS, 0)
}
