//! The addresses of this machine's interfaces, and which interfaces leave checksums to hardware
//! that they do not have.
use std::collections::HashMap;
use std::ffi::CStr;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Drivers of interfaces whose packets may come from this machine without having been on a wire.
const VIRTUAL_DRIVERS: [&[u8]; 5] = [b"veth", b"bridge", b"macvlan", b"ipvlan", b"openvswitch"];

/// `struct ethtool_drvinfo` of <linux/ethtool.h>.
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    /// Version, firmware version, bus, ROM version, reserved octets, and five numbers.
    rest: [u8; 160],
}

const ETHTOOL_GDRVINFO: u32 = 3;

/// The local addresses, each with whether its interface is virtual: the loopback interface, a veth,
/// or a bridge. `socket` is any socket of the network namespace.
pub(crate) fn local_addresses(socket: BorrowedFd<'_>) -> HashMap<IpAddr, bool> {
    let mut found = HashMap::new();
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the call writes a list to the local, or fails.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return found;
    }
    let mut next = list;
    // SAFETY: the list is the kernel's, unchanged, and freed below. Its entries have a name that
    // ends with 0, and an address of the length of its family, or none.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        // SAFETY: as above.
        let Some(address) = (unsafe { address_of(entry) }) else { continue };
        let is_loopback = entry.ifa_flags & libc::IFF_LOOPBACK as u32 != 0;
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) };
        found.insert(address, is_loopback || is_virtual(socket, name));
    }
    // SAFETY: the list of the call above, freed once.
    unsafe { libc::freeifaddrs(list) };
    found
}

/// # Safety
/// `entry` is one of a list of `getifaddrs`.
unsafe fn address_of(entry: &libc::ifaddrs) -> Option<IpAddr> {
    // SAFETY: the address is null, or has its family at the beginning.
    let family = i32::from(unsafe { entry.ifa_addr.as_ref() }?.sa_family);
    match family {
        libc::AF_INET => {
            // SAFETY: according to the family, this is a `sockaddr_in`, which may be unaligned.
            let address = unsafe { entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(address.sin_addr.s_addr.to_ne_bytes()).into())
        }
        libc::AF_INET6 => {
            // SAFETY: according to the family, this is a `sockaddr_in6`.
            let address = unsafe { entry.ifa_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(address.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

/// Whether the interface has one of the [`VIRTUAL_DRIVERS`].
fn is_virtual(socket: BorrowedFd<'_>, name: &CStr) -> bool {
    let mut info = DriverInfo { command: ETHTOOL_GDRVINFO, driver: [0; 32], rest: [0; 160] };
    const { assert!(size_of::<DriverInfo>() == 196) };
    // SAFETY: an all-zero request is a valid one.
    let mut request: libc::ifreq = unsafe { zeroed() };
    let name = name.to_bytes();
    if name.len() >= request.ifr_name.len() {
        return false;
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name) {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut info).cast();
    // SAFETY: the request points to `info`, which lives until the call returns, and has the size
    // that the command writes.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    let length = info.driver.iter().position(|octet| *octet == 0).unwrap_or(info.driver.len());
    done == 0 && VIRTUAL_DRIVERS.contains(&&info.driver[..length])
}
