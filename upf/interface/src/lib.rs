//! Properties and settings of a network interface through `ioctl` (`netdevice(7)`,
//! `linux/ethtool.h`), in the calling thread's network namespace.
use socket2::{Domain, Socket, Type};
use std::ffi::c_void;
use std::io;
use std::os::fd::AsRawFd;

/// The longest interface name in bytes (IFNAMSIZ without the terminating zero).
const LONGEST_NAME: usize = 15;

/// An offload feature of an interface, with the ethtool command that sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Feature {
    /// Transmit checksum offload. Without it, segmentation offloads are off as well.
    TransmitChecksums = 0x17,
    /// TCP segmentation offload (TSO).
    Segmentation = 0x1f,
    /// Generic segmentation offload (GSO).
    GenericSegmentation = 0x24,
    /// Generic receive offload (GRO). A veth end without an XDP program accepts frames redirected
    /// to it only with GRO.
    GenericReceive = 0x2c,
}

fn request(
    name: &str,
    command: libc::c_ulong,
    fill: impl FnOnce(&mut libc::ifreq),
) -> io::Result<libc::ifreq> {
    let bytes = name.as_bytes();
    // A truncated name could be that of another interface.
    if bytes.is_empty() || bytes.len() > LONGEST_NAME || bytes.contains(&0) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{name:?} is not a valid interface name: it has to have 1 to 15 bytes"),
        ));
    }
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    // SAFETY: `ifreq` is plain data, for which all zeroes is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    fill(&mut request);
    // SAFETY: the commands used here take an `ifreq`. Where its data is a pointer, it points to the
    // command's structure, which the caller owns until this returns.
    let outcome = unsafe { libc::ioctl(socket.as_raw_fd(), command as _, &mut request) };
    if outcome == 0 { Ok(request) } else { Err(io::Error::last_os_error()) }
}

/// Sends a command to the driver. `T` is the command's struct, whose first field is the command.
fn ask_driver<T>(name: &str, asked: &mut T) -> io::Result<()> {
    let data: *mut c_void = (&raw mut *asked).cast();
    request(name, libc::SIOCETHTOOL as _, |request| request.ifr_ifru.ifru_data = data.cast())
        .map(drop)
}

/// The link-layer address.
///
/// # Errors
/// The interface does not exist.
pub fn address(name: &str) -> io::Result<[u8; 6]> {
    let answer = request(name, libc::SIOCGIFHWADDR as _, |_| {})?;
    // SAFETY: the kernel writes the address here for this command.
    let data = unsafe { answer.ifr_ifru.ifru_hwaddr.sa_data };
    Ok(std::array::from_fn(|n| data[n] as u8))
}

/// The MTU in bytes.
///
/// # Errors
/// The interface does not exist.
pub fn mtu(name: &str) -> io::Result<u32> {
    let answer = request(name, libc::SIOCGIFMTU as _, |_| {})?;
    // SAFETY: the kernel writes the number here for this command.
    Ok(unsafe { answer.ifr_ifru.ifru_mtu }.unsigned_abs())
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct Driver {
    command: u32,
    name: [u8; 32],
    versions: [u8; 64],
    bus: [u8; 32],
    /// Bytes 48 to 51 hold the number of statistics.
    rest: [u8; 64],
}

fn driver(name: &str) -> io::Result<Driver> {
    const GET_DRIVER: u32 = 0x03;
    let mut driver = Driver {
        command: GET_DRIVER,
        name: [0; 32],
        versions: [0; 64],
        bus: [0; 32],
        rest: [0; 64],
    };
    ask_driver(name, &mut driver).map(|()| driver)
}

/// Whether the interface is hardware: its driver names a bus.
pub fn is_hardware(name: &str) -> bool {
    driver(name).is_ok_and(|driver| driver.bus[0] != 0)
}

/// Whether the interface is one end of a veth pair.
pub fn is_veth(name: &str) -> bool {
    driver(name).is_ok_and(|driver| driver.name.starts_with(b"veth\0"))
}

/// The other end of a veth pair, if it is in this network namespace.
pub fn peer(name: &str) -> Option<String> {
    let far = |name: &str| {
        let driver = driver(name).ok().filter(|driver| driver.name.starts_with(b"veth\0"))?;
        // `struct ethtool_stats`: the first statistic of veth is the interface index of the peer.
        const GET_STATISTICS: u32 = 0x1d;
        let count = u32::from_ne_bytes(driver.rest[48..52].try_into().ok()?);
        let mut numbers = vec![0u64; 1 + count as usize];
        numbers[0] = u64::from_ne_bytes(
            [GET_STATISTICS.to_ne_bytes(), count.to_ne_bytes()].concat().try_into().ok()?,
        );
        let data: *mut c_void = numbers.as_mut_ptr().cast();
        request(name, libc::SIOCETHTOOL as _, |request| request.ifr_ifru.ifru_data = data.cast())
            .ok()?;
        u32::try_from(*numbers.get(1)?).ok()
    };
    let mut text = [0u8; libc::IF_NAMESIZE];
    // SAFETY: the buffer has the size of a name.
    if unsafe { libc::if_indextoname(far(name)?, text.as_mut_ptr().cast()) }.is_null() {
        return None;
    }
    let other = std::ffi::CStr::from_bytes_until_nul(&text).ok()?.to_str().ok()?.to_owned();
    // In another network namespace that index belongs to another interface.
    let own = std::ffi::CString::new(name).ok()?;
    // SAFETY: a zero-terminated string.
    (far(&other)? == unsafe { libc::if_nametoindex(own.as_ptr()) }).then_some(other)
}

/// The number of receive queues.
pub fn queues(name: &str) -> u32 {
    /// `struct ethtool_channels`.
    #[repr(C)]
    #[derive(Default)]
    struct Channels {
        command: u32,
        max: [u32; 4],
        rx: u32,
        tx: u32,
        other: u32,
        combined: u32,
    }
    const GET_CHANNELS: u32 = 0x3c;
    let mut channels = Channels { command: GET_CHANNELS, ..Channels::default() };
    // A driver without this command has one queue.
    if ask_driver(name, &mut channels).is_ok() {
        (channels.rx + channels.combined).max(1)
    } else {
        1
    }
}

/// Sets a feature, as `ethtool -K NAME` does.
///
/// # Errors
/// The interface does not exist, its driver does not support the change, or the caller lacks the
/// privilege.
pub fn set_feature(name: &str, feature: Feature, on: bool) -> io::Result<()> {
    // `struct ethtool_value`.
    ask_driver(name, &mut [feature as u32, on.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_reports_its_properties() {
        assert_eq!(address("lo").unwrap(), [0; 6]);
        let mtu_of_sysfs: u32 =
            std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap().trim().parse().unwrap();
        assert_eq!(mtu("lo").unwrap(), mtu_of_sysfs);
        assert_eq!((queues("lo"), is_hardware("lo"), is_veth("lo")), (1, false, false));
    }

    #[test]
    fn a_missing_interface_is_an_error() {
        assert_eq!(mtu("martlet-absent").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert_eq!(
            set_feature("martlet-absent", Feature::GenericReceive, true)
                .unwrap_err()
                .raw_os_error(),
            Some(libc::ENODEV)
        );
        // A truncation of the second name would be "lo".
        for name in ["", "lo\0", "loopback-interface-of-this-machine"] {
            assert_eq!(mtu(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name:?}");
        }
    }
}
