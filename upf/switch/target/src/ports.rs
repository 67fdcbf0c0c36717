//! Bindings of ports in text form: `eth0`, `xdp:eth0`, `packet:eth0` or `pcap:IN,OUT`.
use crate::error::{BindingError, SwitchError};
use crate::lanes::{self, Lanes};
use crate::liveness::Liveness;
use crate::pcap::Files;
use crate::sockets::{self, Port};
use crate::switch::Switch;
use std::os::fd::OwnedFd;
use std::str::FromStr;
use std::sync::Arc;

/// How frames of an interface are received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// AF_XDP if available, else packet sockets.
    Best,
    /// AF_XDP.
    Xdp,
    /// Packet sockets.
    Packet,
}

/// What a port is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Binding {
    /// A network interface.
    Interface(By, String),
    /// Capture files.
    Files(Files),
}

impl FromStr for Binding {
    type Err = BindingError;

    fn from_str(text: &str) -> Result<Binding, BindingError> {
        let (kind, rest) = text.split_once(':').unwrap_or(("", text));
        let by = match kind {
            "" => By::Best,
            "xdp" => By::Xdp,
            "packet" => By::Packet,
            "pcap" => {
                let (read, write) = rest.split_once(',').unwrap_or((rest, ""));
                let file = |text: &str| (!text.is_empty()).then(|| text.into());
                let files = Files { read: file(read), write: file(write) };
                return match files.read.is_some() || files.write.is_some() {
                    true => Ok(Binding::Files(files)),
                    false => Err(BindingError::NoFile),
                };
            }
            other => return Err(BindingError::Kind(other.into())),
        };
        match rest {
            "" => Err(BindingError::NoName),
            // The maximum length of IFNAMSIZ without the terminating zero.
            name if name.len() > 15 => Err(BindingError::LongName(name.into())),
            name => Ok(Binding::Interface(by, name.into())),
        }
    }
}

impl Binding {
    /// The interface, if it is one.
    pub fn interface(&self) -> Option<&str> {
        match self {
            Binding::Interface(_, name) => Some(name),
            Binding::Files(_) => None,
        }
    }
}

/// The resources of an open port.
pub struct Open {
    _lanes: Option<Lanes>,
    _fds: Vec<OwnedFd>,
    /// The reception method.
    pub by: &'static str,
}

/// Binds a port to an interface before the switch starts. Frames that must not enter the pipeline
/// go to the port `other`.
pub fn bind(
    switch: &Switch,
    liveness: Option<&Arc<Liveness>>,
    port: u32,
    (by, interface): (By, &str),
    other: u32,
) -> Result<Open, SwitchError> {
    let by_lanes = |liveness: &Arc<Liveness>| {
        let everybody = sockets::listen_to_all(interface)?;
        let lanes = lanes::open(switch, liveness, port, interface, Some(other))?;
        let by = if lanes.in_driver { "native AF_XDP" } else { "generic AF_XDP" };
        Ok(Open { _lanes: Some(lanes), _fds: vec![everybody], by })
    };
    match (by, liveness) {
        (By::Packet, _) => {}
        (By::Xdp, Some(liveness)) => return by_lanes(liveness),
        (By::Xdp, None) => {
            return Err(SwitchError::Port(format!(
                "{interface}: AF_XDP is unavailable in this kernel: use packet:{interface}"
            )));
        }
        (By::Best, None) => {}
        (By::Best, Some(liveness)) => match by_lanes(liveness) {
            Ok(open) => return Ok(open),
            Err(error) => {
                tracing::info!(%error, "AF_XDP is unavailable: using a packet socket");
                // Packet sockets would receive frames merged by GRO.
                sockets::set_gro(interface, false);
            }
        },
    }
    let Port { socket, divert } = sockets::open(interface)?;
    switch.attach(port, socket, Some(other));
    Ok(Open { _lanes: None, _fds: divert.into_iter().collect(), by: "af_packet" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_are_parsed() {
        let of = |text: &str| text.parse::<Binding>();
        assert_eq!(of("eth0"), Ok(Binding::Interface(By::Best, "eth0".into())));
        assert_eq!(of("xdp:eth0.7"), Ok(Binding::Interface(By::Xdp, "eth0.7".into())));
        assert_eq!(of("packet:eth0"), Ok(Binding::Interface(By::Packet, "eth0".into())));
        let files = |read: Option<&str>, write: Option<&str>| {
            Ok(Binding::Files(Files { read: read.map(Into::into), write: write.map(Into::into) }))
        };
        assert_eq!(of("pcap:a,b"), files(Some("a"), Some("b")));
        assert_eq!(of("pcap:a"), files(Some("a"), None));
        assert_eq!(of("pcap:,b"), files(None, Some("b")));
        for wrong in ["", "pcap:", "pcap:,", "xdp:", "tap:eth0", "an_interface_with_a_name"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
