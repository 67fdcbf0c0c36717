//! Waiting for a socket: first by looking at it again and again, then by asleep.

use crate::ChannelError;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll, ppoll};
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Sleep until then; for ever, where there is nothing to wait for.
pub async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// Do `attempt` until it does not say that it would block.
pub(crate) fn until_done<T>(
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

/// Wait until the socket is ready, at most this long, or until the other one can be read: whether
/// it can.
pub(crate) fn sleep(
    socket: &impl AsFd,
    flags: PollFlags,
    most: Duration,
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
    match ppoll(&mut sockets[..count], Some(most.into()), None) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {
            Ok(count == 2 && sockets[1].any().unwrap_or(false))
        }
        Err(error) => Err(ChannelError::Io(error.into())),
    }
}

/// Whether it can be read, or has ended.
pub(crate) fn is_readable(other: &BorrowedFd<'_>) -> bool {
    let mut other = [PollFd::new(*other, PollFlags::POLLIN)];
    matches!(poll(&mut other, PollTimeout::ZERO), Ok(1..))
}
