//! The data path of LCS-UPP within the kernel (Type 3): what `module/martlet_lcs.c` does with a
//! connected socket whose TLS records the kernel makes. It answers messages, or asks and times the
//! answers, and nothing of that runs in user space.
//!
//! `build.sh` builds the module against a Debian kernel's headers; `insmod` loads it, which makes
//! `/dev/martlet_lcs`.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Where the module is asked.
pub const PATH: &str = "/dev/martlet_lcs";

/// Of `module/martlet_lcs.h`.
#[repr(C)]
struct Exchange {
    socket: i32,
    payload: u32,
    rounds: u32,
    session_length: u32,
    session: u64,
    times: u64,
}

/// Rounds that are asked at once, at most.
pub const MOST_ROUNDS: usize = 100_000;

/// The two calls of `/dev/martlet_lcs`.
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
    /// Open it.
    ///
    /// # Errors
    /// The module is not loaded, or this is not root.
    pub fn open() -> io::Result<Self> {
        File::options().read(true).write(true).open(PATH).map(Device)
    }

    /// Send UL LCS-UP TRANSPORT messages with a payload of `payload` octets (1 to 65,535; octet i
    /// is 31·i + 7) for this session, one after the other, and wait for each's echo, which has
    /// to be right: message type, payload type, lengths, session and payload. How long each
    /// round took, from before the message was made until the answer was verified.
    ///
    /// # Errors
    /// The kernel does not make this socket's TLS records (`ENOTCONN`); an answer is not to the
    /// message (`EBADMSG`); the connection broke; more rounds than [`MOST_ROUNDS`].
    pub fn ask(
        &self,
        socket: impl AsFd,
        payload: u32,
        rounds: usize,
        session: &[u8],
    ) -> io::Result<Vec<Duration>> {
        if rounds > MOST_ROUNDS || session.len() > 255 {
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
        // SAFETY: the structure is the module's; it reads the session, and writes as many times as
        // there is room for.
        unsafe { ask(self.0.as_raw_fd(), &exchange)? };
        Ok(times.into_iter().map(Duration::from_nanos).collect())
    }

    /// Answer UL LCS-UP TRANSPORT messages of this session with their echo until the peer closes.
    /// How many there were.
    ///
    /// # Errors
    /// As for [`Device::ask`]; also a message that is no UL LCS-UP TRANSPORT of this session with
    /// LPP (`EBADMSG`).
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
        // SAFETY: the structure is the module's, which reads the session and writes `rounds`.
        unsafe { answer(self.0.as_raw_fd(), &mut exchange)? };
        Ok(exchange.rounds)
    }
}
