//! Networks and services as the configuration names them, for what UEs may reach through N6 and who
//! may send on N3 and N4.
use martlet_upf_rules::Prefix;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A network such as `10.0.0.0/8`, or a single address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network(pub Prefix);

/// Why a text is no network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// Neither an address nor a network.
    #[error("{0:?} is no network: write an address, or a network such as 10.0.0.0/8")]
    Form(String),
    /// Bits behind the prefix are set.
    #[error("{text} has bits behind its prefix: write {network}")]
    HostBits {
        /// The configured text.
        text: String,
        /// The network that contains it.
        network: Network,
    },
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        Network(Prefix { network: address, length: if address.is_ipv4() { 32 } else { 128 } })
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let form = || NetworkError::Form(text.to_owned());
        let Some((address, length)) = text.split_once('/') else {
            return text.parse::<IpAddr>().map(Network::from).map_err(|_| form());
        };
        let address: IpAddr = address.parse().map_err(|_| form())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let length = length.parse().ok().filter(|length| *length <= longest).ok_or_else(form)?;
        let network = Network(Prefix::of(address, length));
        if network.0.network != address {
            return Err(NetworkError::HostBits { text: text.to_owned(), network });
        }
        Ok(network)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0.network, self.0.length)
    }
}

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// A transport protocol of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceProtocol {
    /// ICMP, with IPv6 ICMPv6.
    Icmp,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

/// What UEs may reach although it is an address of this machine or of the core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowedService {
    /// Its address; without a protocol and a port, a network is possible.
    pub address: Network,
    /// Its protocol. Left out, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<ServiceProtocol>,
    /// Its port. Left out, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

impl AllowedService {
    /// Every service of an address or a network.
    pub fn all(address: Network) -> Self {
        AllowedService { address, protocol: None, port: None }
    }

    /// Why it cannot be allowed, and what to write instead.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let single = Network::from(self.address.0.network) == self.address;
        if !single && (self.protocol.is_some() || self.port.is_some()) {
            return Some("a protocol or port belongs to one address: write it without a prefix");
        }
        if self.port.is_some() && matches!(self.protocol, None | Some(ServiceProtocol::Icmp)) {
            return Some("a port belongs to a protocol: write tcp, udp or sctp, too");
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_and_written() {
        for text in ["10.0.0.0/8", "fd00::/8", "0.0.0.0/0"] {
            assert_eq!(text.parse::<Network>().map(|n| n.to_string()).as_deref(), Ok(text));
        }
        let single: Network = "192.168.7.10".parse().unwrap();
        assert_eq!(single.to_string(), "192.168.7.10/32");
        for wrong in ["", "10.0.0.0/33", "x/8", "fd00::/129"] {
            assert!(matches!(wrong.parse::<Network>(), Err(NetworkError::Form(_))), "{wrong}");
        }
        let error = "10.0.0.1/8".parse::<Network>().unwrap_err().to_string();
        assert!(error.ends_with("write 10.0.0.0/8"), "{error}");
    }
}
