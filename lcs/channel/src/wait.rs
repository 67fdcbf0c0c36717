//! Waiting for a socket: spinning first, then sleeping in `poll`.

use crate::ChannelError;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll, ppoll};
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Time without an acknowledgement after which the peer is considered lost.
pub(crate) const PEER_TIMEOUT: Duration = Duration::from_secs(30);

/// Sleeps until `at`, or indefinitely without it.
pub async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// Repeats `attempt` until it succeeds or fails with anything but `WouldBlock`: spins for `spin`,
/// then sleeps until the socket has `flags`.
///
/// # Errors
/// `attempt` failed, or `timeout` passed.
pub fn until_done<T>(
    socket: &impl AsFd,
    flags: PollFlags,
    spin: Duration,
    timeout: Duration,
    mut attempt: impl FnMut() -> std::io::Result<T>,
) -> Result<T, ChannelError> {
    let mut start = None;
    loop {
        match attempt() {
            Ok(done) => return Ok(done),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error.into()),
            Err(_) => {}
        }
        let waited = start.get_or_insert_with(Instant::now).elapsed();
        if waited < spin {
            std::hint::spin_loop();
            continue;
        }
        let left = timeout.saturating_sub(waited);
        if left.is_zero() {
            return Err(ChannelError::Timeout);
        }
        sleep(socket, flags, left, None)?;
    }
}

/// Sleeps until the socket is ready, `other` is readable, or `max` has passed. Returns whether
/// `other` is readable.
///
/// # Errors
/// `ppoll` failed.
pub fn sleep(
    socket: &impl AsFd,
    flags: PollFlags,
    max: Duration,
    other: Option<BorrowedFd<'_>>,
) -> Result<bool, ChannelError> {
    let mut sockets =
        [PollFd::new(socket.as_fd(), flags), PollFd::new(socket.as_fd(), PollFlags::empty())];
    let count = match other {
        Some(other) => {
            sockets[1] = PollFd::new(other, PollFlags::POLLIN);
            2
        }
        None => 1,
    };
    match ppoll(&mut sockets[..count], Some(max.into()), None) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {
            Ok(count == 2 && sockets[1].any().unwrap_or(false))
        }
        Err(error) => Err(ChannelError::Io(error.into())),
    }
}

/// Whether a read returns at once, with data or the end.
pub fn is_readable(other: &BorrowedFd<'_>) -> bool {
    let mut other = [PollFd::new(*other, PollFlags::POLLIN)];
    matches!(poll(&mut other, PollTimeout::ZERO), Ok(1..))
}
