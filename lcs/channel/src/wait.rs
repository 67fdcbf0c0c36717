//! Waiting for a socket: first by looking at it again and again, then by asleep.

use crate::ChannelError;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

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
        sleep(socket, flags, left)?;
    }
}

/// Wait until the socket is ready, at most this long.
pub(crate) fn sleep(socket: &impl AsFd, flags: PollFlags, most: Duration) -> Result<(), ChannelError> {
    let most = PollTimeout::try_from(most + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
    match poll(&mut [PollFd::new(socket.as_fd(), flags)], most) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(error) => Err(ChannelError::Io(error.into())),
    }
}
