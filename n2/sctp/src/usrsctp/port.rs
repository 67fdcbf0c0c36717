//! Ports of the user space stack, reserved on the machine.
//!
//! Nothing in the kernel knows that a raw socket uses a port. Each one in use is therefore the name
//! of an abstract Unix socket: the kernel refuses it twice within a network namespace and frees it
//! when the process ends.
use crate::SctpError;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Begin of the range of ports for those who do not care (RFC 6335, 6).
const FIRST_DYNAMIC: u16 = 49_152;
const PREFIX: &str = "martlet-sctp/";

/// A port that is ours until dropped.
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
                    "SCTP port {port} of {address} is in use by another program or endpoint"
                );
                io::Error::new(io::ErrorKind::AddrInUse, what).into()
            }
            _ => error.into(),
        });
    }
    // Start anywhere, so that a restarted program does not meet the associations of its former
    // life.
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
    if clashes(address, port) {
        return Err(io::ErrorKind::AddrInUse.into());
    }
    Ok(Port { number: port, _reserved: reserved })
}

/// Whether an endpoint on all addresses and one on a single address would meet.
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
    fn a_port_is_taken_once_per_address() {
        let here: IpAddr = [127, 9, 8, 7].into();
        let first = reserve(here, 2905).expect("free");
        assert!(
            matches!(reserve(here, 2905), Err(SctpError::Io(e)) if e.kind() == io::ErrorKind::AddrInUse)
        );
        let elsewhere = reserve([127, 9, 8, 6].into(), 2905).expect("another address");
        assert!(reserve([0, 0, 0, 0].into(), 2905).is_err(), "all addresses include these two");
        drop((first, elsewhere));
        let all = reserve([0, 0, 0, 0].into(), 2905).expect("free again");
        assert!(reserve(here, 2905).is_err(), "one address is among all");
        drop(all);
        let any = reserve(here, 0).expect("any");
        assert!(any.number >= FIRST_DYNAMIC);
    }
}
