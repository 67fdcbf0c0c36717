//! What a port of the switch is bound to, as it is written: `eth0`, `xdp:eth0`, `packet:eth0` or
//! `pcap:IN,OUT`.
use crate::error::SwitchError;
use crate::lanes::{self, Alive, Lanes};
use crate::pcap::Files;
use crate::sockets::{self, Port};
use crate::switch::Switch;
use std::os::fd::OwnedFd;
use std::str::FromStr;
use std::sync::Arc;

/// How frames of an interface come to the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// AF_XDP, and where that is not to be had, packet sockets.
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
    /// Captures.
    Files(Files),
}

impl FromStr for Binding {
    type Err = String;

    fn from_str(text: &str) -> Result<Binding, String> {
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
                    false => Err("a port on files has one of them at least: pcap:IN,OUT or \
                                  pcap:,OUT"
                        .into()),
                };
            }
            other => return Err(format!("{other:?} is no kind of port: xdp, packet or pcap")),
        };
        match rest {
            "" => Err("the name of an interface is missing".into()),
            // What `strlen` may be of IFNAMSIZ.
            name if name.len() > 15 => {
                Err(format!("{name:?} is too long for the name of an interface"))
            }
            name => Ok(Binding::Interface(by, name.into())),
        }
    }
}

impl Binding {
    /// The interface, where it is one.
    pub fn interface(&self) -> Option<&str> {
        match self {
            Binding::Interface(_, name) => Some(name),
            Binding::Files(_) => None,
        }
    }
}

/// What keeps a port on an interface open.
pub struct Open {
    _lanes: Option<Lanes>,
    _fds: Vec<OwnedFd>,
    /// How frames come.
    pub by: &'static str,
}

/// Binds a port to an interface, before the switch starts. What the pipeline must not see goes to
/// the port `other`.
pub fn bind(
    switch: &Switch,
    alive: Option<&Arc<Alive>>,
    port: u32,
    (by, interface): (By, &str),
    other: u32,
) -> Result<Open, SwitchError> {
    let by_lanes = |alive: &Arc<Alive>| {
        let everybody = sockets::listen_to_all(interface)?;
        let lanes = lanes::open(switch, alive, port, interface, Some(other))?;
        let by =
            if lanes.in_driver { "af_xdp, in the driver" } else { "af_xdp, behind the driver" };
        Ok(Open { _lanes: Some(lanes), _fds: vec![everybody], by })
    };
    match (by, alive) {
        (By::Packet, _) => {}
        (By::Xdp, Some(alive)) => return by_lanes(alive),
        (By::Xdp, None) => {
            return Err(SwitchError::Port(format!("{interface}: the kernel has no AF_XDP")));
        }
        (By::Best, None) => {}
        (By::Best, Some(alive)) => match by_lanes(alive) {
            Ok(open) => return Ok(open),
            Err(error) => {
                tracing::info!(%error, "a packet socket takes its frames");
                // Which takes them as they are: they must not have been put together.
                sockets::take_from_programs(interface, false);
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
    fn ports_are_read_as_they_are_written() {
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
