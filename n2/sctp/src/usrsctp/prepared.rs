//! Raw sockets that were opened before the process gave up CAP_NET_RAW.
//!
//! A prepared socket stays open for the life of the process. Its kernel filter passes nothing
//! while no endpoint uses it.
use super::filter;
use crate::SctpError;
use socket2::Socket;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

static PREPARED: LazyLock<Mutex<HashMap<IpAddr, Arc<Socket>>>> = LazyLock::new(Default::default);

fn prepared() -> MutexGuard<'static, HashMap<IpAddr, Arc<Socket>>> {
    PREPARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the raw socket that a listener on these addresses uses.
pub(crate) fn prepare(local: &[IpAddr]) -> Result<(), SctpError> {
    let address = local.first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED.into());
    let socket = Arc::new(filter::open_socket(address)?);
    prepared().insert(address, socket);
    Ok(())
}

/// Whether there is a prepared socket.
pub(super) fn is_any() -> bool {
    !prepared().is_empty()
}

/// The prepared socket of a local address.
pub(super) fn of(local: IpAddr) -> Option<Arc<Socket>> {
    prepared().get(&local).cloned()
}

/// The prepared socket that can send from a local address, with the address that it is bound to:
/// that address, or all.
pub(super) fn sender_for(local: IpAddr) -> Option<(IpAddr, Arc<Socket>)> {
    let all: IpAddr = match local {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    [local, all].into_iter().find_map(|address| Some((address, of(address)?)))
}
