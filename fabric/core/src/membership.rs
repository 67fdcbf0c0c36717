//! The way to the manager.
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, connect, getsockopt, socket, sockopt,
};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// A connection to the manager at a path.
pub fn open(path: &Path) -> std::io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)?;
    connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    // Memory is taken only from a manager of root or of this process's own user.
    let owner = getsockopt(&socket, sockopt::PeerCredentials)?.uid();
    if owner != 0 && owner != nix::unistd::geteuid().as_raw() {
        return Err(std::io::Error::other(format!(
            "the manager there belongs to user {owner}, who is not trusted"
        )));
    }
    Ok(socket)
}
