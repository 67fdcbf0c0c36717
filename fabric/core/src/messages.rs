//! The messages between a process and the manager: JSON, one value in each packet of a
//! `SOCK_SEQPACKET` socket. The four descriptors of a channel travel with
//! [`FromManager::Channel`].
use crate::memory::layout::Sizes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Maximum length of a message in bytes.
pub const MAX_MESSAGE_BYTES: usize = 32 << 10;
/// Version of the messages, the descriptors and the memory layout. A manager refuses processes of
/// other versions.
pub const VERSION: u32 = 1;

/// What a process serves under an authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Service {
    /// Requests, each answered by one response.
    Calls,
    /// Connections, which are byte streams.
    Connections,
}

impl Service {
    pub(crate) const ALL: [Service; 2] = [Service::Calls, Service::Connections];
}

/// A message from a process to the manager.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ToManager {
    /// Joins the fabric. Must be the first message.
    Join {
        /// [`VERSION`].
        version: u32,
        /// Display name of the process, such as `server`.
        name: String,
        /// Application-defined number of the encoding that the process understands.
        #[serde(rename = "model")]
        schema: u64,
    },
    /// Announces that the process serves an authority.
    Serve {
        /// What it serves.
        service: Service,
        /// Host and port.
        authority: String,
    },
    /// Withdraws an announcement.
    Withdraw {
        /// What it served.
        service: Service,
        /// Host and port.
        authority: String,
    },
    /// Requests a route to the process that serves an authority.
    Connect {
        /// The requested service.
        service: Service,
        /// Host and port.
        authority: String,
    },
    /// Reports that a channel is closed.
    #[serde(rename = "gone")]
    ChannelClosed {
        /// The channel's number.
        channel: u64,
    },
}

/// A message from the manager to a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum FromManager {
    /// The process has joined.
    Welcome {
        /// The security domain of the process.
        domain: String,
    },
    /// The process may not join. The manager closes the connection.
    Refused {
        /// The reason, as text.
        reason: String,
    },
    /// The answer to [`ToManager::Serve`].
    Served {
        /// The announced service.
        service: Service,
        /// Host and port.
        authority: String,
        /// Why the announcement was refused, as text; `None` if it was accepted.
        reason: Option<String>,
    },
    /// A new channel; its descriptors travel with this message.
    Channel {
        /// The channel's number.
        channel: u64,
        /// The end that this process has: 0 or 1.
        end: usize,
        /// The channel's sizes.
        #[serde(with = "wire_sizes")]
        sizes: Sizes,
        /// The process at the other end.
        peer: Peer,
    },
    /// The answer to [`ToManager::Connect`].
    #[serde(rename = "way")]
    Route {
        /// The requested service.
        service: Service,
        /// Host and port.
        authority: String,
        /// The channel to the server; `None` if no process serves the authority.
        channel: Option<u64>,
    },
}

/// The process at the other end of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Peer {
    /// Its display name.
    pub name: String,
    /// The number of the encoding that it understands; see [`ToManager::Join`].
    #[serde(rename = "model")]
    pub schema: u64,
    /// Its user, as the kernel reports it to the manager; `None` if the manager is older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
    /// Authorities under which it serves requests.
    pub calls: Vec<String>,
    /// Authorities under which it accepts connections.
    pub connections: Vec<String>,
}

/// Encodes a message.
pub fn encode(message: &impl Serialize) -> Vec<u8> {
    // Cannot fail: the messages consist of text and numbers.
    serde_json::to_vec(message).unwrap_or_default()
}

/// Decodes a received message.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(bytes)
}

/// The listener addresses that accept a connection to `address`: the address itself, and its port
/// on any address.
pub fn listening(address: SocketAddr) -> impl Iterator<Item = SocketAddr> {
    let any: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    // An IPv6 listener on any address accepts both families, as in the kernel.
    let any = any.into_iter().filter(move |any| any.is_ipv6() || address.is_ipv4());
    [address].into_iter().chain(any.map(move |any| SocketAddr::new(any, address.port())))
}

/// The names that sizes have in messages, which differ from those in configurations.
mod wire_sizes {
    use crate::memory::layout::Sizes;
    use crate::memory::pool::BufferClass;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct WireSizes {
        slots: u32,
        classes: Vec<WireClass>,
        frame: u32,
    }

    #[derive(Serialize, Deserialize)]
    struct WireClass {
        octets: u32,
        count: u32,
    }

    pub fn serialize<S: Serializer>(sizes: &Sizes, serializer: S) -> Result<S::Ok, S::Error> {
        let class = |class: &BufferClass| WireClass { octets: class.bytes, count: class.count };
        let classes = sizes.classes.iter().map(class).collect();
        WireSizes { slots: sizes.slots, classes, frame: sizes.frame }.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Sizes, D::Error> {
        let WireSizes { slots, classes, frame } = WireSizes::deserialize(deserializer)?;
        let class = |class: WireClass| BufferClass { bytes: class.octets, count: class.count };
        Ok(Sizes { slots, classes: classes.into_iter().map(class).collect(), frame })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_field_names_are_those_of_version_1() {
        let join = ToManager::Join { version: VERSION, name: "server".into(), schema: 7 };
        assert_eq!(encode(&join), br#"{"type":"join","version":1,"name":"server","model":7}"#);
        assert_eq!(
            encode(&ToManager::ChannelClosed { channel: 3 }),
            br#"{"type":"gone","channel":3}"#
        );
        let (name, user) = ("p".into(), Some(990));
        let peer = Peer { name, schema: 0, user, calls: vec![], connections: vec![] };
        let message = FromManager::Channel { channel: 1, end: 0, sizes: Sizes::default(), peer };
        let bytes = encode(&message);
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains(r#"{"octets":512,"count":64}"#) && text.contains(r#""user":990"#));
        assert_eq!(decode::<FromManager>(&bytes).unwrap(), message);
        let of_older = r#"{"name":"p","model":0,"calls":[],"connections":[]}"#;
        assert_eq!(decode::<Peer>(of_older.as_bytes()).unwrap().user, None);
    }
}
