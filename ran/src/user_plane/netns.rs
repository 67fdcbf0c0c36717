//! Network namespaces by name, as `ip netns` makes them: `ip netns exec NAME ping …` finds them.
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

/// Where `ip netns` keeps its names.
const DIRECTORY: &str = "/run/netns";
/// Where `ip netns exec` looks for a namespace's configuration files.
const RESOLVERS: &str = "/etc/netns";

/// Whether and where a UE has network interfaces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Netns {
    /// None: packets go in and out by calls.
    #[default]
    None,
    /// A namespace named after the UE, `ue-IMSI`.
    Auto,
    /// A namespace of this name. One that exists is used and left; else it is made and removed.
    Named(String),
}

/// A network namespace. Dropping it removes it, if it was made here.
pub struct Namespace {
    name: String,
    handle: OwnedFd,
    made: bool,
    /// Held as a lock: its abstract name exists once in the system and goes with the process.
    _lock: Option<UnixListener>,
}

impl Namespace {
    /// The namespace `name`: made, or used where it exists. A leftover of a process that has ended
    /// is replaced if `replace` says so.
    ///
    /// # Errors
    /// No right to make namespaces (`CAP_SYS_ADMIN`), or another simulator uses the name.
    pub fn open(name: &str, replace: bool) -> io::Result<Namespace> {
        if name.is_empty()
            || name.len() > 200
            || name.contains(['/', '\0'])
            || name.starts_with('.')
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("`{name}` is no name for a namespace"),
            ));
        }
        let path = Path::new(DIRECTORY).join(name);
        if path.exists() && !replace {
            let handle = File::open(&path)?.into();
            return Ok(Namespace { name: name.to_owned(), handle, made: false, _lock: None });
        }
        let lock = lock(name)?;
        if path.exists() {
            remove(&path)?;
        }
        make(&path)
            .map_err(|e| io::Error::new(e.kind(), format!("network namespace `{name}`: {e}")))?;
        let handle = File::open(&path)?.into();
        Ok(Namespace { name: name.to_owned(), handle, made: true, _lock: Some(lock) })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Name servers for programs that `ip netns exec` starts: it gives them
    /// `/etc/netns/NAME/resolv.conf`. Only for a namespace that was made here; without the file
    /// programs use the machine's.
    pub fn set_resolvers(&self, servers: &[Ipv4Addr]) {
        if !self.made || servers.is_empty() {
            return;
        }
        let directory = Path::new(RESOLVERS).join(&self.name);
        let text: String = servers.iter().map(|server| format!("nameserver {server}\n")).collect();
        let written = std::fs::create_dir_all(&directory)
            .and_then(|()| std::fs::write(directory.join("resolv.conf"), text));
        if let Err(error) = written {
            tracing::warn!(netns = %self.name, %error, "the name servers of the session are not used");
        }
    }

    /// Run `work` inside, on a thread of its own.
    ///
    /// # Errors
    /// The thread cannot enter the namespace, or its work fails.
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
        if !self.made {
            return;
        }
        if let Err(error) = remove(&Path::new(DIRECTORY).join(&self.name)) {
            tracing::warn!(netns = %self.name, %error, "the network namespace was not removed");
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
    // A name without a mount is what remains of an attempt that failed.
    let _ = umount2(path, MntFlags::MNT_DETACH);
    std::fs::remove_file(path)
}

/// A namespace lives as long as something refers to it: here the mount of a thread's namespace at
/// `path`.
fn make(path: &PathBuf) -> io::Result<()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    prepare_directory()?;
    OpenOptions::new().write(true).create_new(true).open(path)?;
    let made = std::thread::scope(|scope| {
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
    if made.is_err() {
        let _ = remove(path);
    }
    made
}

/// The directory has to be a mount that is shared with other mount namespaces, so that a name
/// removed here is gone there too.
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
