//! The socket between a process and the manager: its default path, and connecting to it.
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, connect, getsockopt, socket, sockopt,
};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Delay before the first attempt to reconnect to the manager.
pub(crate) const RECONNECT_MIN: Duration = Duration::from_millis(20);
/// Maximum delay between attempts to reconnect to the manager.
pub(crate) const RECONNECT_MAX: Duration = Duration::from_secs(2);

/// The default path of the manager's socket: `/run/martlet/fabric.sock` for root, and
/// `$XDG_RUNTIME_DIR/martlet/fabric.sock` for other users.
pub fn default_socket() -> PathBuf {
    let folder = match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) if !nix::unistd::geteuid().is_root() => PathBuf::from(folder),
        _ => PathBuf::from("/run"),
    };
    folder.join("martlet/fabric.sock")
}

/// Connects to the manager at a path. Fails if the manager runs as a user that is neither root nor
/// this process's own user: memory is accepted from a trusted manager only.
pub(crate) fn open(path: &Path) -> std::io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)?;
    connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    let owner = getsockopt(&socket, sockopt::PeerCredentials)?.uid();
    if owner != 0 && owner != nix::unistd::geteuid().as_raw() {
        return Err(std::io::Error::new(
            std::io::ErrorKind::PermissionDenied,
            format!("the manager runs as untrusted user {owner}: run it as root or as this user"),
        ));
    }
    Ok(socket)
}
