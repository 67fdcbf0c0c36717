//! IPv4 addresses within IPv6 addresses. A translator (NAT64) or relay (6to4) of the data network
//! sends a packet on to the IPv4 address, so that what applies to this one applies to both.
use super::class::{DENIED, LINK};
use super::{Service, host};
use martlet_upf_rules::Prefix;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The well-known prefix of NAT64 (RFC 6052, 2.1).
const NAT64: Translation = Translation { network: 0x0064_ff9b << 96, length: 96 };
/// 6to4 (RFC 3056).
const SIX_TO_FOUR: Translation = Translation { network: 0x2002 << 112, length: 16 };
/// NAT64 for local use (RFC 8215). Its translators have networks of their own in it, which are not
/// known: it is denied but for those that the configuration allows.
pub(super) const LOCAL_NAT64: Prefix =
    Prefix { network: IpAddr::V6(Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0)), length: 48 };

/// Bits of an address that are no part of the embedded one (RFC 6052, 2.2). They have to be 0, but
/// translators ignore them.
const U_BYTE: std::ops::Range<u8> = 64..72;

/// IPv6 addresses with this prefix have an IPv4 address behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Translation {
    network: u128,
    length: u8,
}

fn prefix(bits: u128, length: u8) -> Prefix {
    Prefix { network: Ipv6Addr::from_bits(bits).into(), length }
}

impl Translation {
    /// NAT64, 6to4, and the networks of NAT64 for local use that the configuration allows.
    pub fn all(allowed: &[Service]) -> Vec<Translation> {
        let local = allowed.iter().filter_map(|service| match service.network.network {
            IpAddr::V6(network)
                if service.protocol.is_none()
                    && service.port.is_none()
                    && LOCAL_NAT64.contains(network.into())
                    && [48, 56, 64, 96].contains(&service.network.length) =>
            {
                Some(Translation { network: network.to_bits(), length: service.network.length })
            }
            _ => None,
        });
        [NAT64, SIX_TO_FOUR].into_iter().chain(local).collect()
    }

    /// The position of a bit of the IPv4 address.
    fn position(&self, bit: u8) -> u8 {
        let at = self.length + bit;
        if self.length <= U_BYTE.start && at >= U_BYTE.start {
            at + U_BYTE.end - U_BYTE.start
        } else {
            at
        }
    }

    /// The first `length` bits of an IPv4 address.
    fn embed(&self, address: Ipv4Addr, length: u8) -> Prefix {
        let bits = (0..length).filter(|bit| address.to_bits() >> (31 - *bit) & 1 == 1);
        let embedded = bits.fold(self.network, |all, bit| all | 1 << (127 - self.position(bit)));
        let last = length.checked_sub(1);
        prefix(embedded, last.map_or(self.length, |last| self.position(last) + 1))
    }

    /// What applies to IPv6 addresses, if `class` applies to an IPv4 network.
    pub fn entries(&self, network: Ipv4Addr, length: u8, class: u8) -> Vec<(Prefix, u8)> {
        let whole = self.embed(network, length);
        let mut entries = vec![(whole, class & !LINK)];
        // The entry has zeros in U_BYTE; with other bits, a translator reads the same address.
        if class & DENIED != 0 && self.length <= U_BYTE.start && whole.length > U_BYTE.end {
            let above = self.embed(network, U_BYTE.start - self.length);
            let IpAddr::V6(above) = above.network else { return entries };
            let not_zero = U_BYTE.map(|bit| (above.to_bits() | 1 << (127 - bit), bit + 1));
            entries.extend(not_zero.map(|(bits, length)| (prefix(bits, length), DENIED)));
        }
        entries
    }

    /// A service at an IPv4 address, as UEs reach it by the translator.
    pub fn service(&self, service: &Service) -> Option<Service> {
        let IpAddr::V4(address) = service.network.network else { return None };
        let is_host = service.network == host(address.into());
        let embedded = self.embed(address, 32);
        (is_host && self.length == 96).then_some(Service { network: embedded, ..*service })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 6052, 2.4.
    #[test]
    fn addresses_are_embedded_as_rfc_6052_has_it() {
        for (network, length, due) in [
            ("64:ff9b:1::", 48, "64:ff9b:1:c000:2:2100::"),
            ("64:ff9b:1:300::", 56, "64:ff9b:1:3c0:0:221::"),
            ("64:ff9b:1:344::", 64, "64:ff9b:1:344:c0:2:2100:0"),
            ("64:ff9b:1:344::", 96, "64:ff9b:1:344::c000:221"),
            ("2002::", 16, "2002:c000:221::"),
        ] {
            let network: Ipv6Addr = network.parse().unwrap();
            let translation = Translation { network: network.to_bits(), length };
            let embedded = translation.embed(Ipv4Addr::new(192, 0, 2, 33), 32);
            assert_eq!(embedded.network, due.parse::<IpAddr>().unwrap(), "{network}/{length}");
            let bits = if length <= 64 && length + 32 > 64 { length + 40 } else { length + 32 };
            assert_eq!(embedded.length, bits);
            assert_eq!(
                translation.embed(Ipv4Addr::UNSPECIFIED, 0),
                prefix(network.to_bits(), length)
            );
        }
    }
}
