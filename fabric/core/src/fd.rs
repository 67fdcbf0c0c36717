//! File descriptors: doorbells, liveness sockets, and passing descriptors between processes.
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::socket::{
    AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, accept4, getsockopt, sendmsg,
    socketpair, sockopt,
};
use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Maximum number of descriptors in one message (`SCM_MAX_FD`). Space for all of them ensures that
/// none is truncated and leaked.
const MAX_FDS: usize = 253;

/// `SO_PASSRIGHTS` of Linux 6.16.
const SO_PASSRIGHTS: libc::c_int = 83;

/// Makes the kernel refuse the descriptors that peers send to a unix socket, or to those that a
/// listener accepts from now on. Who receives one has to close it, and that may wait: for the
/// connection behind it with `SO_LINGER`, or for a file system.
///
/// # Errors
/// The kernel is older than Linux 6.16.
pub fn refuse_descriptors(socket: impl AsFd) -> std::io::Result<()> {
    let off: libc::c_int = 0;
    let (value, length) = ((&raw const off).cast(), size_of_val(&off) as libc::socklen_t);
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads one integer, which lives until the end of the call.
    match unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, SO_PASSRIGHTS, value, length) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Creates a doorbell within a process: an eventfd.
pub fn doorbell() -> std::io::Result<OwnedFd> {
    Ok(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?.into())
}

/// A doorbell between two processes.
pub struct SharedDoorbell {
    /// For the process that signals: the eventfd.
    pub signal: OwnedFd,
    /// For the process that waits: an epoll instance that watches the eventfd. With the eventfd
    /// itself it could clear `O_NONBLOCK`, which belongs to the open file description, and saturate
    /// the counter. Then [`signal`] would block.
    pub wait: OwnedFd,
}

/// Creates a doorbell between two processes.
pub fn shared_doorbell() -> std::io::Result<SharedDoorbell> {
    let (signal, wait) = (doorbell()?, Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?);
    wait.add(&signal, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, 0))?;
    Ok(SharedDoorbell { signal, wait: wait.0 })
}

/// Signals a doorbell. The write only fails if the counter is saturated, and then the doorbell is
/// signalled already.
pub fn signal(doorbell: &OwnedFd) {
    let _ = nix::unistd::write(doorbell, &1u64.to_ne_bytes());
}

/// Creates a pair of liveness sockets. When a process dies, the kernel closes its end, and the
/// other end becomes readable.
pub fn liveness_pair() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    Ok(socketpair(AddressFamily::Unix, SockType::Stream, None, flags)?)
}

/// The raw descriptor, for system calls that take no other type.
pub fn raw(fd: &OwnedFd) -> RawFd {
    fd.as_raw_fd()
}

/// Whether the peer closed its liveness socket. A byte on it counts as closed too, because a
/// conforming peer never sends one.
pub fn is_peer_gone(liveness: &OwnedFd) -> bool {
    let mut byte = [0];
    !matches!(nix::unistd::read(liveness, &mut byte), Err(nix::Error::EAGAIN | nix::Error::EINTR))
}

/// A descriptor registered with the current tokio runtime.
pub type Watched = AsyncFd<Arc<OwnedFd>>;

/// Registers a descriptor with the current tokio runtime.
pub fn watch(fd: Arc<OwnedFd>, interest: Interest) -> std::io::Result<Watched> {
    // SAFETY: the returned value holds the `Arc`, so the descriptor stays open and unchanged.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest) }?)
}

/// Accepts a connection without blocking.
pub fn accept(listener: &OwnedFd) -> std::io::Result<OwnedFd> {
    let raw = accept4(listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK)?;
    // SAFETY: a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Sends one message with its descriptors.
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

/// Receives one message and its descriptors. A length of 0 means that the other side closed the
/// socket.
pub fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> std::io::Result<(usize, Vec<OwnedFd>)> {
    receive_with(socket, buffer, &mut space_for(MAX_FDS))
}

/// Space for a control message with descriptors, aligned as its header.
fn space_for(fds: usize) -> Vec<u64> {
    // SAFETY: only arithmetic on a length.
    let bytes = unsafe { libc::CMSG_SPACE((fds * size_of::<RawFd>()) as u32) } as usize;
    vec![0; bytes.div_ceil(size_of::<u64>())]
}

fn receive_with(
    socket: &OwnedFd,
    buffer: &mut [u8],
    space: &mut [u64],
) -> std::io::Result<(usize, Vec<OwnedFd>)> {
    // If the other side closed with unread data, the pending error would hide its last messages.
    // Clear it; the end of the stream still shows.
    let _ = getsockopt(socket, sockopt::SocketError);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: an all-zero message header is an empty one.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = space.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(space) as _;
    // SAFETY: the header points to `buffer` and `space`, each given with its size.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) };
    let length = usize::try_from(length).map_err(|_| std::io::Error::last_os_error())?;
    // A truncated message has descriptors, too: those that the kernel could still create.
    let fds = received_fds(&message);
    if message.msg_flags & libc::MSG_CTRUNC != 0 {
        return Err(std::io::Error::other(
            "descriptors of a message not received: raise the limit of open files",
        ));
    }
    if message.msg_flags & libc::MSG_TRUNC != 0 {
        return Err(std::io::Error::other(
            "received message is too long: both ends must be of one version",
        ));
    }
    Ok((length, fds))
}

/// The descriptors of a message that the kernel has just written.
fn received_fds(message: &libc::msghdr) -> Vec<OwnedFd> {
    let mut fds = Vec::new();
    // SAFETY: the kernel has set `msg_controllen` to what it wrote into the aligned space; the
    // macros walk within it. The descriptors are new, and nothing else owns them.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            if ((*header).cmsg_level, (*header).cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let data = libc::CMSG_DATA(header);
                let head = data as usize - header as usize;
                let length = ((*header).cmsg_len as usize).saturating_sub(head);
                let count = length / size_of::<RawFd>();
                let raw = (0..count).map(|n| data.cast::<RawFd>().add(n).read_unaligned());
                fds.extend(raw.map(|raw| OwnedFd::from_raw_fd(raw)));
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    fds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_carries_descriptors() {
        let (a, b) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
                .unwrap();
        let (keep, give) = liveness_pair().unwrap();
        send(&a, b"take it", &[give.as_fd()]).unwrap();
        drop(give);
        let mut buffer = [0; 64];
        let (length, mut fds) = receive(&b, &mut buffer).unwrap();
        assert_eq!((&buffer[..length], fds.len()), (&b"take it"[..], 1));
        assert!(!is_peer_gone(&keep));
        drop(fds.pop());
        assert!(is_peer_gone(&keep));
        drop(a);
        assert_eq!(receive(&b, &mut buffer).unwrap().0, 0);
    }

    #[test]
    fn a_message_that_is_too_long_is_an_error_and_leaks_no_descriptor() {
        let (a, b) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
                .unwrap();
        let (keep, give) = liveness_pair().unwrap();
        send(&a, &[1; 100], &[give.as_fd()]).unwrap();
        drop(give);
        assert!(receive(&b, &mut [0; 10]).is_err());
        assert!(is_peer_gone(&keep));
    }

    #[test]
    fn a_message_with_truncated_descriptors_is_an_error_and_leaks_none() {
        let (a, b) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
                .unwrap();
        let (keep, give) = liveness_pair().unwrap();
        send(&a, b"take them", &[give.as_fd(); 4]).unwrap();
        drop(give);
        // The kernel truncates in the same way at the limit of open files.
        assert!(receive_with(&b, &mut [0; 64], &mut space_for(2)).is_err());
        assert!(is_peer_gone(&keep));
    }
}
