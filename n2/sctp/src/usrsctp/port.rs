//! Port reservation for the user-space stack.
//!
//! The kernel does not know which ports a raw socket uses. Each port in use is therefore reserved
//! as the name of an abstract Unix socket: unique within a network namespace, and released when
//! the process ends.
//!
//! As any port from 1024 on, each user of the machine can take one that is free. Nothing is
//! received at the socket: it refuses datagrams, so that other users cannot fill its queue.
use crate::SctpError;
use std::fs;
use std::io;
use std::net::{IpAddr, Shutdown};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// First dynamic port (RFC 6335, 6).
const FIRST_DYNAMIC: u16 = 49_152;
const PREFIX: &str = "martlet-sctp/";

/// A port that is reserved until dropped.
pub(super) struct Port {
    pub number: u16,
    _reserved: UnixDatagram,
}

fn name(address: IpAddr, port: u16) -> String {
    format!("{PREFIX}{address}/{port}")
}

/// Reserves `port`, or any if it is 0.
pub(super) fn reserve(address: IpAddr, port: u16) -> Result<Port, SctpError> {
    if port != 0 {
        return take(address, port).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => {
                let what = format!(
                    "SCTP port {port} of {address} is in use by another program or endpoint: find \
                     it with `ss -xap | grep {PREFIX}`, and stop it, or choose another address or \
                     port"
                );
                io::Error::new(io::ErrorKind::AddrInUse, what).into()
            }
            _ => error.into(),
        });
    }
    // Start at a random port, so that a restarted program does not reuse the ports of associations
    // that its peers still have.
    let start = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), address) as u16;
    let range = u16::MAX - FIRST_DYNAMIC;
    for step in 0..=range {
        let candidate = FIRST_DYNAMIC + ((start % range) + step) % (range + 1);
        match take(address, candidate) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            other => return Ok(other?),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AddrInUse,
        format!("all dynamic SCTP ports of {address} are in use"),
    )
    .into())
}

fn take(address: IpAddr, port: u16) -> io::Result<Port> {
    let reserved = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name(address, port))?)?;
    reserved.shutdown(Shutdown::Both)?;
    if clashes(address, port) {
        return Err(io::ErrorKind::AddrInUse.into());
    }
    Ok(Port { number: port, _reserved: reserved })
}

/// Whether an endpoint on all addresses and one on a single address overlap.
fn clashes(address: IpAddr, port: u16) -> bool {
    let Ok(sockets) = fs::read_to_string("/proc/net/unix") else { return false };
    let mine = name(address, port);
    let end = format!("/{port}");
    sockets.lines().filter_map(|line| line.split_once('@')).any(|(_, other)| {
        let Some(rest) = other.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(&end)) else {
            return false;
        };
        let Ok(theirs) = rest.parse::<IpAddr>() else { return false };
        other != mine
            && theirs.is_ipv4() == address.is_ipv4()
            && (theirs.is_unspecified() || address.is_unspecified())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_reserved_once_per_address() {
        let here: IpAddr = [127, 9, 8, 7].into();
        let first = reserve(here, 2905).expect("free");
        let again = reserve(here, 2905).err();
        let in_use =
            |e: &SctpError| matches!(e, SctpError::Io(e) if e.kind() == io::ErrorKind::AddrInUse);
        assert!(again.as_ref().is_some_and(in_use), "{again:?}");
        let other_address = reserve([127, 9, 8, 6].into(), 2905).expect("another address");
        assert!(reserve([0, 0, 0, 0].into(), 2905).is_err(), "all addresses include these two");
        drop((first, other_address));
        let all = reserve([0, 0, 0, 0].into(), 2905).expect("free again");
        assert!(reserve(here, 2905).is_err(), "one address is among all");
        drop(all);
        let name = SocketAddr::from_abstract_name(name(here, 2906)).expect("a name");
        let own = reserve(here, 2906).expect("free");
        let other = UnixDatagram::unbound().expect("a socket");
        let refused = other.send_to_addr(b"x", &name).expect_err("nothing is received");
        assert_eq!(refused.kind(), io::ErrorKind::BrokenPipe);
        drop(own);
        let any = reserve(here, 0).expect("any");
        assert!(any.number >= FIRST_DYNAMIC);
    }
}
