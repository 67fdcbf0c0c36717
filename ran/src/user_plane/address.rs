//! Interface settings by ioctl: loopback up, and a default route through a device.
use std::ffi::CString;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Sets the loopback interface of the calling thread's network namespace up.
pub(super) fn loopback_up() -> io::Result<()> {
    let socket = any_socket()?;
    // SAFETY: `ifreq` is plain data for which all zeroes is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: SIOCSIFFLAGS reads an `ifreq`, which `request` is and which outlives the call; the
    // descriptor is open.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &request) })
}

/// Adds an IPv4 default route through `device` in the calling thread's network namespace. A lower
/// metric is preferred.
pub(super) fn default_route(device: &str, metric: u8) -> io::Result<()> {
    let socket = any_socket()?;
    let mut device = CString::new(device)?.into_bytes_with_nul();
    let any = sockaddr_any();
    // SAFETY: `rtentry` is plain data and pointers for which all zeroes is a value: no gateway, no
    // device.
    let mut route: libc::rtentry = unsafe { std::mem::zeroed() };
    route.rt_dst = any;
    route.rt_genmask = any;
    route.rt_flags = libc::RTF_UP;
    // The kernel subtracts one from it.
    route.rt_metric = libc::c_short::from(metric) + 1;
    route.rt_dev = device.as_mut_ptr().cast();
    // SAFETY: SIOCADDRT reads an `rtentry` and the zero-terminated name that it points to; both
    // outlive the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCADDRT as _, &route) })
}

/// 0.0.0.0 as a `sockaddr`.
fn sockaddr_any() -> libc::sockaddr {
    libc::sockaddr { sa_family: libc::AF_INET as libc::sa_family_t, sa_data: [0; 14] }
}

/// A socket in the namespace, for the ioctls.
fn any_socket() -> io::Result<UdpSocket> {
    UdpSocket::bind("0.0.0.0:0")
}

fn check(outcome: libc::c_int) -> io::Result<()> {
    match outcome {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
