//! Runs code in a named network namespace. Sockets and devices stay in the namespace where they are
//! created.
use martlet_upf_datapath::{NamespaceError, OpenError};
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::path::Path;

/// Directory of the names of `ip netns`.
const NAMES: &str = "/run/netns";

/// Moves the calling thread into a namespace; does nothing without a name.
pub fn enter(name: Option<&str>) -> Result<(), OpenError> {
    let Some(name) = name else { return Ok(()) };
    let path = Path::new(NAMES).join(name);
    let namespace =
        File::open(&path).map_err(|source| NamespaceError::Open { name: name.into(), source })?;
    setns(namespace, CloneFlags::CLONE_NEWNET)
        .map_err(|error| NamespaceError::Enter { name: name.into(), source: error.into() })?;
    Ok(())
}

/// Runs `act` on a new thread in a namespace; without a name, on this thread.
pub fn within<T: Send>(
    name: Option<&str>,
    act: impl FnOnce() -> Result<T, OpenError> + Send,
) -> Result<T, OpenError> {
    if name.is_none() {
        return act();
    }
    let work = move || {
        enter(name)?;
        act()
    };
    std::thread::scope(|scope| scope.spawn(work).join()).unwrap_or(Err(OpenError::Panicked))
}
