//! A TUN device: IP packets to and from the machine's own network stack.
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

/// An open device; it is gone when this is dropped.
pub(super) struct Tun {
    file: File,
}

impl Tun {
    /// Makes a device in the network namespace of this thread. Reading and writing never wait.
    pub fn make(name: &str) -> io::Result<Tun> {
        let file =
            OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
        // SAFETY: `ifreq` is plain data for which all zeroes are a value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        let places = request.ifr_name.len() - 1;
        for (place, octet) in request.ifr_name.iter_mut().zip(name.bytes().take(places)) {
            *place = octet as libc::c_char;
        }
        // Packets alone, without the four octets that otherwise tell their protocol.
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: TUNSETIFF reads and writes one `ifreq`, which lives through the call; the descriptor is open.
        let outcome = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
        if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(Tun { file }) }
    }

    /// Reads one packet; its length.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(buffer)
    }

    /// Writes one packet.
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        (&self.file).write(packet).map(drop)
    }
}

impl AsRawFd for Tun {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}
