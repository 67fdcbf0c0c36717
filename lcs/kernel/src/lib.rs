//! The interface of the kernel module `module/martlet_lcs.c`: the LCS-UPP data path in the kernel
//! (data path type 3). On a connected kernel TLS socket the module answers messages, or sends them
//! and measures the round trips, without user space.
//!
//! `build.sh` builds the module against a Debian kernel's headers; `insmod` loads it and creates
//! `/dev/martlet_lcs`.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// The module's device.
pub const PATH: &str = "/dev/martlet_lcs";

/// `struct martlet_lcs_exchange` of `module/martlet_lcs.h`.
#[repr(C)]
struct Exchange {
    socket: i32,
    payload: u32,
    rounds: u32,
    session_length: u32,
    session: u64,
    times: u64,
}

/// Maximum number of rounds per call.
pub const MAX_ROUNDS: usize = 100_000;

/// The ioctls of `/dev/martlet_lcs`.
mod calls {
    #![allow(missing_docs)]
    use super::Exchange;
    nix::ioctl_write_ptr!(ask, b'm', 0x41, Exchange);
    nix::ioctl_readwrite!(answer, b'm', 0x42, Exchange);
}
use calls::{answer, ask};

/// The loaded module.
#[derive(Debug)]
pub struct Device(File);

impl Device {
    /// Opens the device.
    ///
    /// # Errors
    /// The module is not loaded, or the process is not root.
    pub fn open() -> io::Result<Self> {
        File::options().read(true).write(true).open(PATH).map(Device)
    }

    /// Sends UL LCS-UP TRANSPORT messages with a payload of `payload` bytes (1 to 65,535; byte i is
    /// 31·i + 7) in this session, one after the other, and verifies each echo: message type,
    /// payload type, lengths, session and payload. Returns the duration of each round, from
    /// before the message is encoded until the answer is verified. A signal between two rounds
    /// ends the call: then there are fewer.
    ///
    /// # Errors
    /// The socket is not a kernel TLS socket (`ENOTCONN`); an answer does not match (`EBADMSG`);
    /// the connection broke; more rounds than [`MAX_ROUNDS`]; a signal interrupted the call before
    /// the first round (`EINTR`), or within a round (`ECONNABORTED`: the connection can no longer
    /// be used).
    pub fn ask(
        &self,
        socket: impl AsFd,
        payload: u32,
        rounds: usize,
        session: &[u8],
    ) -> io::Result<Vec<Duration>> {
        if rounds > MAX_ROUNDS || session.len() > 255 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut times = vec![0u64; rounds];
        let exchange = Exchange {
            socket: socket.as_fd().as_raw_fd(),
            payload,
            rounds: rounds as u32,
            session_length: session.len() as u32,
            session: session.as_ptr() as u64,
            times: times.as_mut_ptr() as u64,
        };
        // SAFETY: the structure matches the module's, which reads the session and writes at most
        // `rounds` times.
        let done = unsafe { ask(self.0.as_raw_fd(), &exchange)? };
        times.truncate(usize::try_from(done).unwrap_or_default());
        Ok(times.into_iter().map(Duration::from_nanos).collect())
    }

    /// Echoes UL LCS-UP TRANSPORT messages of this session until the peer closes, or until a
    /// signal arrives after the first one. Returns their number.
    ///
    /// # Errors
    /// As for [`Device::ask`]; also a message that is not a UL LCS-UP TRANSPORT with LPP of this
    /// session (`EBADMSG`).
    pub fn answer(&self, socket: impl AsFd, session: &[u8]) -> io::Result<u32> {
        if session.len() > 255 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut exchange = Exchange {
            socket: socket.as_fd().as_raw_fd(),
            payload: 0,
            rounds: 0,
            session_length: session.len() as u32,
            session: session.as_ptr() as u64,
            times: 0,
        };
        // SAFETY: the structure matches the module's, which reads the session and writes `rounds`.
        unsafe { answer(self.0.as_raw_fd(), &mut exchange)? };
        Ok(exchange.rounds)
    }
}
