//! The thread that carries packets: waits for the socket and the device, and takes what they have in batches.
use super::forwarder::Forwarder;
use super::frame::{Frame, HEADROOM};
use super::io::Io;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// Packets taken from one side before the other has its turn.
const BATCH: usize = 64;
/// The longest datagram.
const LARGEST: usize = 65_535;

/// Carries packets until the other end of `stop` is closed or written to.
pub(super) fn carry(forwarder: &Forwarder<Io>, stop: &UnixStream, local: IpAddr) -> io::Result<()> {
    let mut buffer = vec![0; HEADROOM + LARGEST];
    let io = &forwarder.outlet;
    loop {
        let readable = PollFlags::POLLIN;
        let mut waiting = vec![PollFd::new(stop.as_fd(), readable), PollFd::new(io.n3.as_fd(), readable)];
        if let Some(tun) = &io.tun {
            // SAFETY: the device is open for as long as `forwarder` is borrowed, and so longer than this list lives.
            waiting.push(PollFd::new(unsafe { BorrowedFd::borrow_raw(tun.as_raw_fd()) }, readable));
        }
        match poll(&mut waiting, PollTimeout::NONE) {
            Ok(_) => {}
            Err(nix::errno::Errno::EINTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let ready = |at: usize| waiting.get(at).and_then(PollFd::any).unwrap_or(false);
        if ready(0) {
            return Ok(());
        }
        if ready(1) {
            from_n3(forwarder, &mut buffer, local)?;
        }
        if ready(2) {
            from_n6(forwarder, &mut buffer)?;
        }
    }
}

fn from_n3(forwarder: &Forwarder<Io>, buffer: &mut [u8], local: IpAddr) -> io::Result<()> {
    for _ in 0..BATCH {
        // Room before the datagram, so that it can go on in another tunnel whose header is longer.
        let received = forwarder.outlet.n3.recv_from(buffer.get_mut(HEADROOM..).unwrap_or_default());
        let (length, from) = match received {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if is_passing(&error) => continue,
            Err(error) => return Err(error),
        };
        let datagram = buffer.get_mut(..HEADROOM + length).unwrap_or_default();
        if let Some(reply) = forwarder.from_peer(datagram, HEADROOM, from, local, Instant::now())
            && let Err(error) = forwarder.outlet.n3.send_to(&reply, from)
        {
            tracing::debug!(peer = %from, %error, "GTP-U answer not sent");
        }
    }
    Ok(())
}

fn from_n6(forwarder: &Forwarder<Io>, buffer: &mut [u8]) -> io::Result<()> {
    let Some(tun) = &forwarder.outlet.tun else { return Ok(()) };
    for _ in 0..BATCH {
        let length = match tun.read(buffer.get_mut(HEADROOM..).unwrap_or_default()) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if is_passing(&error) => continue,
            Err(error) => return Err(error),
        };
        let packet = buffer.get_mut(..HEADROOM + length).unwrap_or_default();
        forwarder.from_network(Frame::new(packet, HEADROOM), Instant::now());
    }
    Ok(())
}

/// An error of one packet, such as a peer without a socket, after which others still come.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::*;
    matches!(error.kind(), ConnectionRefused | Interrupted | HostUnreachable | NetworkUnreachable)
}
