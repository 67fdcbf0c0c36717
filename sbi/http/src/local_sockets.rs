//! Unix sockets in place of TCP between processes of one machine. On loopback, TCP is open to every
//! user of the machine; here, both sides check the user of the peer, which the kernel reports.
use crate::dial::{Dial, Listen, Stream};
use crate::metrics;
use martlet_sbi::BoxFuture;
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::{UnixListener, UnixStream};

/// A folder with a socket for each authority, and the users that may listen and connect there.
#[derive(Debug, Clone)]
pub struct LocalSockets {
    folder: PathBuf,
    users: Arc<Vec<u32>>,
}

impl LocalSockets {
    /// Sockets in this folder, for root, the user of this process, and these user IDs.
    pub fn new(folder: PathBuf, users: Vec<u32>) -> Self {
        LocalSockets { folder, users: Arc::new(users) }
    }

    /// The path of the socket of an authority, which is an address with a port.
    ///
    /// # Errors
    /// The authority has a host name, or no port.
    pub fn path(&self, authority: &str) -> Result<PathBuf> {
        let address: SocketAddr = authority.parse().map_err(|_| {
            Error::new(
                ErrorKind::InvalidInput,
                format!("{authority} is not an address with a port, and has no unix socket"),
            )
        })?;
        Ok(self.folder.join(format!("{address}.sock")))
    }

    /// Listens at the socket of an authority. Creates the folder for this user if it is missing,
    /// and replaces the socket of a process that was killed.
    ///
    /// # Errors
    /// The folder belongs to another user, or another process listens there.
    pub async fn bind(&self, authority: &str) -> Result<LocalListener> {
        let path = self.path(authority)?;
        let failed = |error: Error| {
            let text = format!("cannot listen for SBI requests at {}: {error}", path.display());
            Error::new(error.kind(), text)
        };
        let listener = self.open(&path).await.map_err(failed)?;
        Ok(LocalListener { listener, users: self.users.clone(), path })
    }

    async fn open(&self, path: &Path) -> Result<UnixListener> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        self.check_folder()?;
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                // A killed process leaves its socket behind; a running one accepts connections.
                if UnixStream::connect(path).await.is_ok() {
                    return Err(error);
                }
                std::fs::remove_file(path)?;
                UnixListener::bind(path)?
            }
            other => other?,
        };
        // Closing a descriptor of another function may wait. An older kernel lacks the option.
        let _ = martlet_fabric::refuse_descriptors(&listener);
        // The folder keeps other users out. Within it, functions of root without capabilities
        // connect to those of the core's user.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o666))?;
        Ok(listener)
    }

    /// A user who can write the folder could listen in place of a function.
    fn check_folder(&self) -> Result<()> {
        let status = std::fs::symlink_metadata(&self.folder)?;
        let (owner, mode) = (status.uid(), status.mode() & 0o777);
        if status.is_dir() && is_trusted(owner, &self.users) && mode & 0o007 == 0 {
            return Ok(());
        }
        let text = format!(
            "{} has to be a folder of the core's user that others cannot enter, but has owner \
             {owner} and mode {mode:o}: remove it, or change fabric.socket, beside which it is",
            self.folder.display()
        );
        Err(Error::new(ErrorKind::PermissionDenied, text))
    }

    async fn connect(&self, authority: &str) -> Result<Box<dyn Stream>> {
        let path = self.path(authority)?;
        let stream = UnixStream::connect(&path).await.map_err(|error| {
            let hint = "functions outside this folder need sbi.pki or sbi.listen";
            Error::new(error.kind(), format!("{}: {error}; {hint}", path.display()))
        })?;
        let owner = stream.peer_cred()?.uid();
        if !is_trusted(owner, &self.users) {
            metrics::REFUSED.with_label_values(&["user"]).inc();
            let text = format!("{}: untrusted user {owner} listens there", path.display());
            return Err(Error::new(ErrorKind::PermissionDenied, text));
        }
        Ok(Box::new(stream))
    }
}

impl Dial for LocalSockets {
    fn dial<'a>(&'a self, authority: &'a str) -> BoxFuture<'a, Result<Box<dyn Stream>>> {
        Box::pin(self.connect(authority))
    }
}

/// A listener of [`LocalSockets`]. Dropping it removes the socket.
#[derive(Debug)]
pub struct LocalListener {
    listener: UnixListener,
    users: Arc<Vec<u32>>,
    path: PathBuf,
}

impl Listen for LocalListener {
    type Stream = UnixStream;
    async fn accept(&self) -> Result<UnixStream> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let user = stream.peer_cred().map(|credentials| credentials.uid()).ok();
            if user.is_some_and(|user| is_trusted(user, &self.users)) {
                return Ok(stream);
            }
            metrics::REFUSED.with_label_values(&["user"]).inc();
            tracing::debug!(?user, "SBI connection of another user refused");
        }
    }
    fn user(stream: &UnixStream) -> Option<u32> {
        UnixListener::user(stream)
    }
}

impl Drop for LocalListener {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether a user is root, the user of this process, or a configured one.
fn is_trusted(user: u32, users: &[u32]) -> bool {
    user == 0 || user == nix::unistd::geteuid().as_raw() || users.contains(&user)
}
