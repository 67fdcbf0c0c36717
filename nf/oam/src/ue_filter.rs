//! Selects the traced packets of a UE.
use serde_json::Value;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An address of a UE, or the IPv6 prefix of its PDU session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UeFilter {
    address: IpAddr,
    /// Whether all addresses of the prefix of 64 bits are meant.
    is_prefix: bool,
}

/// The text is not an address of a UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an IP address, or an IPv6 prefix of 64 bits")]
pub struct NoUeAddress;

impl UeFilter {
    /// Whether a traced packet is of the UE: by its session, or by an address in the packet.
    pub fn selects(&self, packet: &Value) -> bool {
        let mut own = packet["ue"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let is_same = |text: &str| {
            let own = text.parse::<UeFilter>();
            own.is_ok_and(|own| own.includes(self.address) || self.includes(own.address))
        };
        own.any(is_same) || self.is_in(packet["packet"].as_str().unwrap_or_default())
    }

    /// Whether the summary of a packet has the address. A port may follow an address after a colon.
    fn is_in(&self, summary: &str) -> bool {
        let is_part = |c: char| c.is_ascii_hexdigit() || c == '.' || c == ':';
        summary.split(|c| !is_part(c)).any(|word| {
            let without_port = word.rsplit_once(':').map(|(address, _)| address);
            let mut addresses =
                [Some(word), without_port].into_iter().flatten().map(str::parse::<IpAddr>);
            addresses.any(|address| address.is_ok_and(|address| self.includes(address)))
        })
    }

    fn includes(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V6(own), IpAddr::V6(other)) if self.is_prefix => {
                own.to_bits() >> 64 == other.to_bits() >> 64
            }
            (own, other) => own == other,
        }
    }
}

impl FromStr for UeFilter {
    type Err = NoUeAddress;

    fn from_str(text: &str) -> Result<Self, NoUeAddress> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address = address.parse::<IpAddr>().map_err(|_| NoUeAddress)?.to_canonical();
        let is_prefix = match (address, length) {
            (_, None) | (IpAddr::V4(_), Some("32")) | (IpAddr::V6(_), Some("128")) => false,
            (IpAddr::V6(_), Some("64")) => true,
            _ => return Err(NoUeAddress),
        };
        Ok(UeFilter { address, is_prefix })
    }
}

impl fmt::Display for UeFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_prefix {
            true => write!(f, "{}/64", self.address),
            false => write!(f, "{}", self.address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn selects(ue: &str, packet: &Value) -> bool {
        ue.parse::<UeFilter>().unwrap().selects(packet)
    }

    #[test]
    fn each_form_of_an_ipv6_address_selects_the_packets() {
        let of_session =
            json!({"ue": ["10.45.0.2", "fd45:0:0:1::/64"], "packet": "ICMP 10.0.0.1 > 10.0.0.2"});
        let no_session = json!({"ue": null,
            "packet": "UDP fd45:0:0:1::7:9000 > fd46::2:7000, 29 bytes"});
        for ue in
            ["fd45:0:0:1::7", "FD45:0000:0000:0001:0:0:0:7", "fd45::1:0:0:0:7", "fd45:0:0:1::/64"]
        {
            assert!(selects(ue, &of_session) && selects(ue, &no_session), "{ue}");
        }
        // Another address of the session's prefix, and of another prefix.
        assert!(selects("fd45:0:0:1::8", &of_session) && !selects("fd45:0:0:1::8", &no_session));
        for ue in ["fd45:0:0:2::7", "fd45:0:0:2::/64", "10.45.0.3"] {
            assert!(!selects(ue, &of_session) && !selects(ue, &no_session), "{ue}");
        }
        assert!(selects("10.45.0.2", &of_session) && selects("::ffff:10.45.0.2", &of_session));
    }

    #[test]
    fn an_address_is_matched_as_a_whole() {
        let packet = json!({"packet": "UDP 10.45.0.2:9000 > 10.98.0.2:7000, 29 bytes"});
        assert!(selects("10.45.0.2", &packet) && selects("10.98.0.2", &packet));
        assert!(!selects("10.45.0.20", &packet) && !selects("10.45.0.0", &packet));
    }

    #[test]
    fn what_is_not_an_address_is_refused() {
        for text in ["", "10.45.0", "10.45.0.2/24", "fd45::/48", "fd45::1/", "imsi-001010000000001"]
        {
            assert_eq!(text.parse::<UeFilter>(), Err(NoUeAddress), "{text}");
        }
        for text in ["10.45.0.2", "fd45:0:0:1::7", "fd45:0:0:1::/64"] {
            assert_eq!(text.parse::<UeFilter>().unwrap().to_string(), text);
        }
    }
}
