//! What a process and the manager say to each other: JSON, one value in each message of a
//! `SOCK_SEQPACKET` socket. The four descriptors of a channel travel with [`ToMember::Channel`].
use crate::memory::layout::Sizes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Octets of the longest message.
pub const LONGEST: usize = 32 << 10;
/// Version of these messages, of the descriptors and of the frames. Ends of different versions do
/// not join.
pub const VERSION: u32 = 1;

/// What is served under an authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Service {
    /// Service requests, as frames.
    Calls,
    /// Connections.
    Connections,
}

impl Service {
    pub(crate) const ALL: [Service; 2] = [Service::Calls, Service::Connections];
}

/// From a process to the manager.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum FromMember {
    /// First of all.
    Join {
        /// [`VERSION`].
        version: u32,
        /// What people call the process, such as `amf`.
        name: String,
        /// What the process's bodies look like in compact form; equal numbers understand each
        /// other.
        model: u64,
    },
    /// The process serves under an authority from now on.
    Serve {
        /// What it serves.
        service: Service,
        /// Host and port.
        authority: String,
    },
    /// It no longer does.
    Withdraw {
        /// What it served.
        service: Service,
        /// Host and port.
        authority: String,
    },
    /// The process wants to reach who serves under an authority.
    Connect {
        /// What it wants there.
        service: Service,
        /// Host and port.
        authority: String,
    },
    /// A channel is closed.
    Gone {
        /// Its number.
        channel: u64,
    },
}

/// From the manager to a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ToMember {
    /// The process may take part.
    Welcome {
        /// Security domain that it belongs to.
        domain: String,
    },
    /// It may not; the connection ends.
    Refused {
        /// Why, for people.
        reason: String,
    },
    /// The answer to [`FromMember::Serve`].
    Served {
        /// What is served.
        service: Service,
        /// Host and port.
        authority: String,
        /// Why it is not served after all, for people.
        reason: Option<String>,
    },
    /// A new channel, with its descriptors.
    Channel {
        /// Its number.
        channel: u64,
        /// Which end this process has, 0 or 1.
        end: usize,
        /// Its sizes.
        sizes: Sizes,
        /// Who has the other end.
        peer: Peer,
    },
    /// The answer to [`FromMember::Connect`].
    Way {
        /// What was wanted.
        service: Service,
        /// Host and port.
        authority: String,
        /// The channel that leads there; none where nobody serves it.
        channel: Option<u64>,
    },
}

/// A process at the other end of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Peer {
    /// What people call it.
    pub name: String,
    /// Its number for compact bodies.
    pub model: u64,
    /// Authorities under which it takes service requests.
    pub calls: Vec<String>,
    /// Authorities under which it takes connections.
    pub connections: Vec<String>,
}

/// A message as it travels.
pub fn encode(message: &impl Serialize) -> Vec<u8> {
    // Structures of text and numbers have a JSON form.
    serde_json::to_vec(message).unwrap_or_default()
}

/// A message that came.
pub fn decode<T: DeserializeOwned>(octets: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(octets)
}

/// The addresses under which a listener may be found that takes connections to `address`: itself,
/// and its port of any address.
pub fn listening(address: SocketAddr) -> impl Iterator<Item = SocketAddr> {
    let any: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    // An IPv6 listener of any address takes both families, as the kernel's do.
    let any = any.into_iter().filter(move |any| any.is_ipv6() || address.is_ipv4());
    [address].into_iter().chain(any.map(move |any| SocketAddr::new(any, address.port())))
}
