//! Descriptors of the kernel: those that processes hand each other, and those that wake and tell of
//! death.
use nix::cmsg_space;
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, accept4,
    getsockopt, recvmsg, sendmsg, socketpair, sockopt,
};
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Descriptors that the kernel lets one message carry (`SCM_MAX_FD`). With room for all of them
/// none can be lost.
const MOST: usize = 253;

/// A bell: written by one process, waited for by another.
pub fn bell() -> std::io::Result<OwnedFd> {
    Ok(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?.into())
}

/// Rings a bell that came from elsewhere. A bell that cannot count further rings anyway.
pub fn ring(bell: &OwnedFd) {
    let _ = nix::unistd::write(bell, &1u64.to_ne_bytes());
}

/// Two ends of a socket: when a process dies, the kernel closes its end, and the other end says so.
pub fn life_line() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    Ok(socketpair(AddressFamily::Unix, SockType::Stream, None, flags)?)
}

/// The number of a descriptor, for calls that take no other.
pub fn raw(fd: &OwnedFd) -> RawFd {
    fd.as_raw_fd()
}

/// Whether the other end of a life line is gone. Nobody sends anything on it: octets are a breach,
/// and count as such.
pub fn is_gone(line: &OwnedFd) -> bool {
    let mut octet = [0];
    !matches!(nix::unistd::read(line, &mut octet), Err(nix::Error::EAGAIN | nix::Error::EINTR))
}

/// A descriptor that the runtime of this task waits for.
pub type Watched = AsyncFd<Arc<OwnedFd>>;

/// Lets the runtime of this task wait for a descriptor.
pub fn watch(fd: Arc<OwnedFd>, interest: Interest) -> std::io::Result<Watched> {
    // SAFETY: the descriptor is owned, and stays open and the same as long as the returned value
    // has its `Arc`.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest) }?)
}

/// Takes a connection, without waiting for one.
pub fn accept(listener: &OwnedFd) -> std::io::Result<OwnedFd> {
    let raw = accept4(listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK)?;
    // SAFETY: a new descriptor that nobody else knows of.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Sends one message with descriptors.
pub fn send(socket: &OwnedFd, message: &[u8], fds: &[BorrowedFd<'_>]) -> std::io::Result<()> {
    let raw: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
    let control = [ControlMessage::ScmRights(&raw)];
    let control = if raw.is_empty() { &[][..] } else { &control[..] };
    sendmsg::<()>(
        socket.as_raw_fd(),
        &[IoSlice::new(message)],
        control,
        MsgFlags::MSG_NOSIGNAL,
        None,
    )?;
    Ok(())
}

/// Receives one message with its descriptors into `buffer`; 0 octets mean that the other side is
/// gone.
pub fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> std::io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = cmsg_space!([RawFd; MOST]);
    let mut parts = [IoSliceMut::new(buffer)];
    // Where the other side closed without having read everything, an error stands before what it
    // said last. It is taken away here: the end shows anyway.
    let _ = getsockopt(socket, sockopt::SocketError);
    let got = recvmsg::<()>(
        socket.as_raw_fd(),
        &mut parts,
        Some(&mut space),
        MsgFlags::MSG_CMSG_CLOEXEC,
    )?;
    let mut fds = Vec::new();
    for control in got.cmsgs()? {
        if let ControlMessageOwned::ScmRights(raw) = control {
            // SAFETY: the kernel has just made these descriptors for this process, and nobody else
            // knows of them.
            fds.extend(raw.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    if got.flags.intersects(MsgFlags::MSG_TRUNC | MsgFlags::MSG_CTRUNC) {
        return Err(std::io::Error::other("a message was too long"));
    }
    Ok((got.bytes, fds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn descriptors_cross() {
        let (a, b) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
                .unwrap();
        let (keep, give) = life_line().unwrap();
        send(&a, b"take it", &[give.as_fd()]).unwrap();
        drop(give);
        let mut buffer = [0; 64];
        let (length, mut fds) = receive(&b, &mut buffer).unwrap();
        assert_eq!((&buffer[..length], fds.len()), (&b"take it"[..], 1));
        assert!(!is_gone(&keep));
        drop(fds.pop());
        assert!(is_gone(&keep));
        drop(a);
        assert_eq!(receive(&b, &mut buffer).unwrap().0, 0);
    }

    #[test]
    fn a_message_that_is_too_long_is_an_error_and_leaks_no_descriptor() {
        let (a, b) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
                .unwrap();
        let (keep, give) = life_line().unwrap();
        send(&a, &[1; 100], &[give.as_fd()]).unwrap();
        drop(give);
        assert!(receive(&b, &mut [0; 10]).is_err());
        assert!(is_gone(&keep));
    }
}
