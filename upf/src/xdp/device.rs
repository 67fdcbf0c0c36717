//! What an interface says of itself, and what is asked of it, through `ioctl`: of the network namespace of the calling
//! thread, which need not be that of `/sys`.
use socket2::{Domain, Socket, Type};
use std::io;
use std::os::fd::AsRawFd;

/// Octets of `struct ethtool_drvinfo`, and where in it the bus is named.
const DRIVER_INFO: usize = 196;
const BUS: std::ops::Range<usize> = 100..132;

fn request(name: &str, command: libc::c_ulong, fill: impl FnOnce(&mut libc::ifreq)) -> io::Result<libc::ifreq> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    // SAFETY: `ifreq` is plain data for which all zeroes is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(15)) {
        *to = from as libc::c_char;
    }
    fill(&mut request);
    // SAFETY: the commands used here take an `ifreq`; where its data is a pointer, it is to what the command asks for, of
    // the caller, who keeps it until this returns.
    let outcome = unsafe { libc::ioctl(socket.as_raw_fd(), command as _, &mut request) };
    if outcome == 0 { Ok(request) } else { Err(io::Error::last_os_error()) }
}

/// Its link address.
pub(super) fn address(name: &str) -> io::Result<[u8; 6]> {
    let answer = request(name, libc::SIOCGIFHWADDR, |_| {})?;
    // SAFETY: this command has the kernel write the address here.
    let data = unsafe { answer.ifr_ifru.ifru_hwaddr.sa_data };
    Ok(std::array::from_fn(|n| data[n] as u8))
}

/// Whether it is one that one can touch: its driver names a bus.
pub(super) fn is_hardware(name: &str) -> bool {
    const GET_DRIVER_INFO: u32 = 3;
    let mut info = [0u8; DRIVER_INFO];
    info[..4].copy_from_slice(&GET_DRIVER_INFO.to_ne_bytes());
    let asked = request(name, libc::SIOCETHTOOL, |request| request.ifr_ifru.ifru_data = info.as_mut_ptr().cast());
    asked.is_ok() && info[BUS].first().is_some_and(|first| *first != 0)
}

/// How many receive queues it has.
pub(super) fn queues(name: &str) -> u32 {
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
    let data = (&raw mut channels).cast();
    let asked = request(name, libc::SIOCETHTOOL, |request| request.ifr_ifru.ifru_data = data);
    // A driver that knows no channels has one.
    if asked.is_ok() { (channels.rx + channels.combined).max(1) } else { 1 }
}

/// Has packets leave it with their checksums, and in no larger pieces than were sent; what `ethtool -K NAME tx off` does.
pub(super) fn without_checksum_offload(name: &str) -> io::Result<()> {
    const SET_TX_CHECKSUMS: u32 = 0x17;
    let mut value = [SET_TX_CHECKSUMS, 0];
    request(name, libc::SIOCETHTOOL, |request| request.ifr_ifru.ifru_data = value.as_mut_ptr().cast()).map(drop)
}
