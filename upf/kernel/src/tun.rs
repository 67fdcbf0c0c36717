//! A TUN device: a network interface whose packets this process reads and writes.
use martlet_upf_config::Offload;
use martlet_upf_datapath::InterfaceError;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Creates a nonblocking device in the calling thread's network namespace. It ends with the file.
pub(super) fn create(name: &str) -> Result<File, InterfaceError> {
    open(name, libc::IFF_TUN)
}

/// The same, with superframes if `offload` requests them and the kernel supports them: see
/// [`offload`](super::offload).
pub(super) fn create_with(name: &str, offload: Offload) -> Result<Device, InterfaceError> {
    let has_header = offload == Offload::Auto;
    let header = if has_header { libc::IFF_VNET_HDR } else { 0 };
    let file = open(name, libc::IFF_TUN | header)?;
    const CHECKSUM_AND_TCP: libc::c_ulong = 0x01 | 0x02 | 0x04;
    const UDP: libc::c_ulong = 0x20 | 0x40;
    let set = |features: libc::c_ulong| {
        // SAFETY: TUNSETOFFLOAD takes an integer and no pointer; the file is open.
        unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD as _, features) == 0 }
    };
    let merges = match has_header {
        true if set(CHECKSUM_AND_TCP | UDP) => Some(true),
        true if set(CHECKSUM_AND_TCP) => Some(false),
        _ => None,
    };
    if has_header && merges != Some(true) {
        tracing::info!(
            interface = name,
            tcp = merges.is_some(),
            udp = false,
            "offload of the N6 interface refused by the kernel: packets pass one by one"
        );
    }
    Ok(Device { file, has_header, merges })
}

/// The device of N6.
pub(super) struct Device {
    pub file: File,
    /// Whether a virtio-net header stands before each packet.
    pub has_header: bool,
    /// Whether the kernel takes superframes of TCP, and of UDP.
    pub merges: Option<bool>,
}

/// The same for frames.
pub(super) fn create_tap(name: &str) -> Result<File, InterfaceError> {
    open(name, libc::IFF_TAP)
}

fn open(name: &str, kind: libc::c_int) -> Result<File, InterfaceError> {
    let mut open = OpenOptions::new();
    open.read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    let file = open.open("/dev/net/tun").map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => InterfaceError::NoTun,
        _ => InterfaceError::Tun(error),
    })?;
    // SAFETY: `ifreq` is plain data for which all zeroes is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays 0.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name.iter_mut().take(room).zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    // Packets without the header with the protocol, which IP's version field provides.
    request.ifr_ifru.ifru_flags = (kind | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes an `ifreq`, which `request` is and which outlives the
    // call; the file is open.
    let outcome = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &mut request) };
    if outcome != 0 {
        let (source, interface) = (io::Error::last_os_error(), name.to_string());
        return Err(match source.raw_os_error() {
            Some(libc::EBUSY) => InterfaceError::InUse { interface },
            Some(libc::EPERM) => InterfaceError::NoPermission { interface },
            _ => InterfaceError::Create { interface, source },
        });
    }
    Ok(file)
}
