//! Named network namespaces, compatible with `ip netns`.
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::{File, OpenOptions};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Directory of the names of `ip netns`.
const DIRECTORY: &str = "/run/netns";
/// Directory of the configuration files that `ip netns exec` uses.
const RESOLVERS: &str = "/etc/netns";

/// Whether and where a UE has network interfaces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Netns {
    /// No interfaces: packets are passed by calls.
    #[default]
    None,
    /// A namespace named after the UE, `ue-IMSI`.
    Auto,
    /// A namespace of this name. An existing one is used and kept; else it is created and removed.
    Named(String),
}

/// A network namespace. Dropping it removes it, if this process created it.
pub struct Namespace {
    name: String,
    handle: OwnedFd,
    created: bool,
    /// A lock: its abstract socket name is unique and is released when the process ends.
    _lock: Option<UnixListener>,
}

impl Namespace {
    /// Opens the namespace `name`, or creates it. With `replace`, the namespace of a process that
    /// has ended is replaced.
    ///
    /// # Errors
    /// `CAP_SYS_ADMIN` is missing, or another simulator uses the name.
    pub fn open(name: &str, replace: bool) -> io::Result<Namespace> {
        if name.is_empty()
            || name.len() > 200
            || name.contains(['/', '\0'])
            || name.starts_with('.')
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("`{name}` is not a valid namespace name"),
            ));
        }
        let path = Path::new(DIRECTORY).join(name);
        if path.exists() && !replace {
            let handle = File::open(&path)?.into();
            return Ok(Namespace { name: name.to_owned(), handle, created: false, _lock: None });
        }
        let lock = lock(name)?;
        if path.exists() {
            remove(&path)?;
        }
        create(&path)
            .map_err(|e| io::Error::new(e.kind(), format!("network namespace `{name}`: {e}")))?;
        let handle = File::open(&path)?.into();
        Ok(Namespace { name: name.to_owned(), handle, created: true, _lock: Some(lock) })
    }

    /// Name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets the name servers of programs that `ip netns exec` starts, in
    /// `/etc/netns/NAME/resolv.conf`. Only for a namespace that this process created.
    pub fn set_resolvers(&self, servers: &[Ipv4Addr]) {
        if !self.created || servers.is_empty() {
            return;
        }
        let directory = Path::new(RESOLVERS).join(&self.name);
        let text: String = servers.iter().map(|server| format!("nameserver {server}\n")).collect();
        let written = std::fs::create_dir_all(&directory)
            .and_then(|()| std::fs::write(directory.join("resolv.conf"), text));
        if let Err(error) = written {
            tracing::warn!(netns = %self.name, %error, "resolv.conf of the namespace not written");
        }
    }

    /// Runs `work` on a new thread inside the namespace.
    ///
    /// # Errors
    /// The thread cannot enter the namespace, or `work` fails.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                setns(self.handle.as_fd(), CloneFlags::CLONE_NEWNET)?;
                work()
            });
            thread
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the thread in the namespace panicked")))
        })
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if !self.created {
            return;
        }
        if let Err(error) = remove(&Path::new(DIRECTORY).join(&self.name)) {
            tracing::warn!(netns = %self.name, %error, "network namespace not removed");
        }
        let resolvers = Path::new(RESOLVERS).join(&self.name);
        if resolvers.join("resolv.conf").exists() {
            let _ = std::fs::remove_file(resolvers.join("resolv.conf"));
            let _ = std::fs::remove_dir(resolvers);
        }
    }
}

fn lock(name: &str) -> io::Result<UnixListener> {
    let address = SocketAddr::from_abstract_name(format!("martlet-ran/{name}"))?;
    UnixListener::bind_addr(&address).map_err(|e| match e.kind() {
        io::ErrorKind::AddrInUse => io::Error::new(
            e.kind(),
            format!("network namespace `{name}` is in use by another simulator"),
        ),
        kind => io::Error::new(kind, e),
    })
}

fn remove(path: &PathBuf) -> io::Result<()> {
    // A failed attempt leaves a name without a mount.
    let _ = umount2(path, MntFlags::MNT_DETACH);
    std::fs::remove_file(path)
}

/// Creates a namespace and keeps it with a bind mount at `path`.
fn create(path: &PathBuf) -> io::Result<()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    prepare_directory()?;
    OpenOptions::new().write(true).create_new(true).open(path)?;
    let created = std::thread::scope(|scope| {
        let thread = scope.spawn(|| -> io::Result<()> {
            unshare(CloneFlags::CLONE_NEWNET)?;
            mount(
                Some("/proc/thread-self/ns/net"),
                path,
                None::<&str>,
                MsFlags::MS_BIND,
                None::<&str>,
            )?;
            super::address::loopback_up()
        });
        thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread in the namespace panicked")))
    });
    if created.is_err() {
        let _ = remove(path);
    }
    created
}

/// Makes the directory a shared mount, so that a name removed here is also removed in other mount
/// namespaces.
fn prepare_directory() -> io::Result<()> {
    std::fs::create_dir_all(DIRECTORY)?;
    let share = || {
        mount(
            None::<&str>,
            DIRECTORY,
            None::<&str>,
            MsFlags::MS_SHARED | MsFlags::MS_REC,
            None::<&str>,
        )
    };
    if share().is_err() {
        let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
        mount(Some(DIRECTORY), DIRECTORY, None::<&str>, flags, None::<&str>)?;
        share()?;
    }
    Ok(())
}
