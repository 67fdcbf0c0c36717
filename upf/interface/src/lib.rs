//! Properties and settings of a network interface by `ioctl` (`netdevice(7)`, `linux/ethtool.h`),
//! in the calling thread's network namespace.
use socket2::{Domain, Socket, Type};
use std::ffi::c_void;
use std::io;
use std::os::fd::AsRawFd;

/// The longest name of an interface, in bytes (IFNAMSIZ, without the zero at its end).
const LONGEST_NAME: usize = 15;

/// What an interface may do for those who send and receive, by the command that turns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Feature {
    /// It completes the checksums of what is sent. Without it nothing leaves in larger pieces than
    /// were sent, either.
    TransmitChecksums = 0x17,
    /// It cuts TCP's segments.
    Segmentation = 0x1f,
    /// The kernel cuts what is sent only just before it.
    GenericSegmentation = 0x24,
    /// What belongs together is put together when it is received. A veth end without an XDP program
    /// takes frames of programs at its other end only with it.
    GenericReceive = 0x2c,
}

fn request(
    name: &str,
    command: libc::c_ulong,
    fill: impl FnOnce(&mut libc::ifreq),
) -> io::Result<libc::ifreq> {
    let bytes = name.as_bytes();
    // A longer one, cut off, may be another's.
    if bytes.is_empty() || bytes.len() > LONGEST_NAME || bytes.contains(&0) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("no interface can have the name {name:?}"),
        ));
    }
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    // SAFETY: `ifreq` is plain data for which all zeroes is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    fill(&mut request);
    // SAFETY: the commands used here take an `ifreq`; where its data is a pointer, it is to what
    // the command asks for, of the caller, who keeps it until this returns.
    let outcome = unsafe { libc::ioctl(socket.as_raw_fd(), command as _, &mut request) };
    if outcome == 0 { Ok(request) } else { Err(io::Error::last_os_error()) }
}

/// Asks the driver something. `T` is the command's struct, which begins with its number.
fn ask_driver<T>(name: &str, asked: &mut T) -> io::Result<()> {
    let data: *mut c_void = (&raw mut *asked).cast();
    request(name, libc::SIOCETHTOOL as _, |request| request.ifr_ifru.ifru_data = data.cast())
        .map(drop)
}

/// Its link address.
///
/// # Errors
/// There is no such interface.
pub fn address(name: &str) -> io::Result<[u8; 6]> {
    let answer = request(name, libc::SIOCGIFHWADDR as _, |_| {})?;
    // SAFETY: this command has the kernel write the address here.
    let data = unsafe { answer.ifr_ifru.ifru_hwaddr.sa_data };
    Ok(std::array::from_fn(|n| data[n] as u8))
}

/// The longest packet that it sends, in bytes, without the header of its link.
///
/// # Errors
/// There is no such interface.
pub fn longest(name: &str) -> io::Result<u32> {
    let answer = request(name, libc::SIOCGIFMTU as _, |_| {})?;
    // SAFETY: this command has the kernel write the number here.
    Ok(unsafe { answer.ifr_ifru.ifru_mtu }.unsigned_abs())
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct Driver {
    command: u32,
    name: [u8; 32],
    versions: [u8; 64],
    bus: [u8; 32],
    /// Among others, in its bytes 48 to 51, how many statistics there are.
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

/// Whether it is one that one can touch: its driver names a bus.
pub fn is_hardware(name: &str) -> bool {
    driver(name).is_ok_and(|driver| driver.bus[0] != 0)
}

/// Whether it is one end of a veth pair.
pub fn is_veth(name: &str) -> bool {
    driver(name).is_ok_and(|driver| driver.name.starts_with(b"veth\0"))
}

/// The other end of a veth pair, where it is in this network namespace.
pub fn peer(name: &str) -> Option<String> {
    let far = |name: &str| {
        let driver = driver(name).ok().filter(|driver| driver.name.starts_with(b"veth\0"))?;
        // `struct ethtool_stats`: the driver tells as many numbers as it has said, of which the
        // peer's is the first.
        const GET_STATISTICS: u32 = 0x1d;
        let said = u32::from_ne_bytes(driver.rest[48..52].try_into().ok()?);
        let mut numbers = vec![0u64; 1 + said as usize];
        numbers[0] = u64::from_ne_bytes(
            [GET_STATISTICS.to_ne_bytes(), said.to_ne_bytes()].concat().try_into().ok()?,
        );
        let data: *mut c_void = numbers.as_mut_ptr().cast();
        request(name, libc::SIOCETHTOOL as _, |request| request.ifr_ifru.ifru_data = data.cast())
            .ok()?;
        u32::try_from(*numbers.get(1)?).ok()
    };
    let mut text = [0u8; libc::IF_NAMESIZE];
    // SAFETY: room for a name.
    if unsafe { libc::if_indextoname(far(name)?, text.as_mut_ptr().cast()) }.is_null() {
        return None;
    }
    let other = std::ffi::CStr::from_bytes_until_nul(&text).ok()?.to_str().ok()?.to_owned();
    // In another network namespace, that number is another interface's here.
    let own = std::ffi::CString::new(name).ok()?;
    // SAFETY: a text.
    (far(&other)? == unsafe { libc::if_nametoindex(own.as_ptr()) }).then_some(other)
}

/// How many receive queues it has.
pub fn queues(name: &str) -> u32 {
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
    // A driver that knows no channels has one.
    if ask_driver(name, &mut channels).is_ok() {
        (channels.rx + channels.combined).max(1)
    } else {
        1
    }
}

/// Turns a feature on or off, as `ethtool -K NAME` does.
///
/// # Errors
/// There is no such interface, its driver does not let it be turned, or whoever asks may not.
pub fn turn(name: &str, feature: Feature, on: bool) -> io::Result<()> {
    // `struct ethtool_value`.
    ask_driver(name, &mut [feature as u32, on.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_says_what_it_is() {
        assert_eq!(address("lo").unwrap(), [0; 6]);
        let said: u32 =
            std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap().trim().parse().unwrap();
        assert_eq!(longest("lo").unwrap(), said);
        assert_eq!((queues("lo"), is_hardware("lo"), is_veth("lo")), (1, false, false));
    }

    #[test]
    fn an_interface_that_is_not_there_has_nothing() {
        assert_eq!(longest("martlet-absent").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert_eq!(
            turn("martlet-absent", Feature::GenericReceive, true).unwrap_err().raw_os_error(),
            Some(libc::ENODEV)
        );
        // "lo" is there.
        for name in ["", "lo\0", "loopback-interface-of-this-machine"] {
            assert_eq!(longest(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name:?}");
        }
    }
}
