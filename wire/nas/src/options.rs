//! The extended protocol configuration options of a session, as plain values (TS 24.501, 9.11.4.6;
//! TS 24.008, 10.5.6.3).

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::ppp::{self, Ppp};
use crate::{NasExtendedProtocolConfigurationOptions, Pco, PcoDirection, PcoEntry, ValueError};

/// P-CSCF IPv6 address (request), DNS server IPv6 address, P-CSCF IPv4, DNS server IPv4, IPv4 link
/// MTU.
const PCSCF_IPV6: u16 = 0x0001;
const DNS_IPV6: u16 = 0x0003;
const PCSCF_IPV4: u16 = 0x000c;
const DNS_IPV4: u16 = 0x000d;
const IPV4_LINK_MTU: u16 = 0x0010;
/// IP address allocation via NAS signalling, the only kind that this core supports.
const ADDRESS_BY_NAS: u16 = 0x000a;

/// The options that a UE requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Requested {
    /// IPv4 addresses of DNS servers.
    pub dns_ipv4: bool,
    /// IPv6 addresses of DNS servers.
    pub dns_ipv6: bool,
    /// The MTU of the IPv4 link.
    pub ipv4_mtu: bool,
    /// IPv4 addresses of P-CSCFs.
    pub pcscf_ipv4: bool,
    /// IPv6 addresses of P-CSCFs.
    pub pcscf_ipv6: bool,
    /// PPP packets.
    pub ppp: Ppp,
}

/// The options that the network assigns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Given {
    /// DNS servers.
    pub dns_ipv4: Vec<Ipv4Addr>,
    /// DNS servers.
    pub dns_ipv6: Vec<Ipv6Addr>,
    /// MTU of the IPv4 link, bytes.
    pub ipv4_mtu: Option<u16>,
    /// P-CSCFs.
    pub pcscf_ipv4: Vec<Ipv4Addr>,
    /// P-CSCFs.
    pub pcscf_ipv6: Vec<Ipv6Addr>,
    /// Answers to the UE's PPP packets.
    pub ppp: Vec<PcoEntry>,
}

impl Requested {
    /// The options requested in a PDU SESSION ESTABLISHMENT REQUEST. Unknown options are skipped;
    /// options that do not decode request nothing (TS 24.501, 7.7.1: an optional element in error
    /// is absent).
    pub fn read(options: &NasExtendedProtocolConfigurationOptions) -> Self {
        let Some(pco) = options.pco(PcoDirection::Uplink) else { return Self::default() };
        Self {
            dns_ipv4: pco.entry(DNS_IPV4).is_some(),
            dns_ipv6: pco.entry(DNS_IPV6).is_some(),
            ipv4_mtu: pco.entry(IPV4_LINK_MTU).is_some(),
            pcscf_ipv4: pco.entry(PCSCF_IPV4).is_some(),
            pcscf_ipv6: pco.entry(PCSCF_IPV6).is_some(),
            ppp: Ppp::read(&pco.entries),
        }
    }

    /// Encodes these requests except PPP packets, with IP address allocation via NAS signalling.
    pub fn write(&self) -> Result<NasExtendedProtocolConfigurationOptions, ValueError> {
        let wanted = [
            (true, ADDRESS_BY_NAS),
            (self.dns_ipv4, DNS_IPV4),
            (self.dns_ipv6, DNS_IPV6),
            (self.ipv4_mtu, IPV4_LINK_MTU),
            (self.pcscf_ipv4, PCSCF_IPV4),
            (self.pcscf_ipv6, PCSCF_IPV6),
        ];
        let entries = wanted
            .iter()
            .filter(|(wanted, _)| *wanted)
            .map(|&(_, identifier)| entry(identifier, &[]));
        NasExtendedProtocolConfigurationOptions::from_pco(
            &Pco::new(0, entries.collect()),
            PcoDirection::Uplink,
        )
    }
}

impl Given {
    /// The part of these options that a UE requested, and the answers to its PPP packets.
    pub fn of(&self, requested: Requested) -> Self {
        Self {
            dns_ipv4: if requested.dns_ipv4 { self.dns_ipv4.clone() } else { Vec::new() },
            dns_ipv6: if requested.dns_ipv6 { self.dns_ipv6.clone() } else { Vec::new() },
            ipv4_mtu: self.ipv4_mtu.filter(|_| requested.ipv4_mtu),
            pcscf_ipv4: if requested.pcscf_ipv4 { self.pcscf_ipv4.clone() } else { Vec::new() },
            pcscf_ipv6: if requested.pcscf_ipv6 { self.pcscf_ipv6.clone() } else { Vec::new() },
            ppp: requested.ppp.answers(&self.dns_ipv4),
        }
    }

    /// Whether there are no options to send.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Encodes the options for a PDU SESSION ESTABLISHMENT ACCEPT.
    pub fn write(&self) -> Result<NasExtendedProtocolConfigurationOptions, ValueError> {
        let dns_ipv4 = self.dns_ipv4.iter().map(|address| entry(DNS_IPV4, &address.octets()));
        let dns_ipv6 = self.dns_ipv6.iter().map(|address| entry(DNS_IPV6, &address.octets()));
        let mtu = self.ipv4_mtu.iter().map(|mtu| entry(IPV4_LINK_MTU, &mtu.to_be_bytes()));
        let pcscf_ipv4 = self.pcscf_ipv4.iter().map(|address| entry(PCSCF_IPV4, &address.octets()));
        let pcscf_ipv6 = self.pcscf_ipv6.iter().map(|address| entry(PCSCF_IPV6, &address.octets()));
        let entries = dns_ipv4.chain(dns_ipv6).chain(mtu).chain(pcscf_ipv4).chain(pcscf_ipv6);
        let pco = Pco::new(0, self.ppp.iter().cloned().chain(entries).collect());
        NasExtendedProtocolConfigurationOptions::from_pco(&pco, PcoDirection::Downlink)
    }

    /// Decodes the options of a PDU SESSION ESTABLISHMENT ACCEPT.
    pub fn read(options: &NasExtendedProtocolConfigurationOptions) -> Self {
        let pco = options.pco(PcoDirection::Downlink);
        let entries = pco.as_ref().map(|pco| pco.entries.as_slice()).unwrap_or_default();
        let mut given = Self::default();
        given.ppp.extend(entries.iter().filter(|entry| ppp::is_ppp(entry)).cloned());
        for PcoEntry { identifier, contents } in entries {
            match *identifier {
                DNS_IPV4 => {
                    given.dns_ipv4.extend(<[u8; 4]>::try_from(&contents[..]).map(Ipv4Addr::from))
                }
                DNS_IPV6 => {
                    given.dns_ipv6.extend(<[u8; 16]>::try_from(&contents[..]).map(Ipv6Addr::from))
                }
                PCSCF_IPV4 => {
                    given.pcscf_ipv4.extend(<[u8; 4]>::try_from(&contents[..]).map(Ipv4Addr::from))
                }
                PCSCF_IPV6 => {
                    given.pcscf_ipv6.extend(<[u8; 16]>::try_from(&contents[..]).map(Ipv6Addr::from))
                }
                IPV4_LINK_MTU => {
                    given.ipv4_mtu =
                        <[u8; 2]>::try_from(&contents[..]).ok().map(u16::from_be_bytes);
                }
                _ => {}
            }
        }
        given
    }
}

fn entry(identifier: u16, contents: &[u8]) -> PcoEntry {
    PcoEntry { identifier, contents: contents.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_and_its_answer_have_their_octets() {
        let wanted = Requested { dns_ipv4: true, ipv4_mtu: true, ..Requested::default() };
        let options = wanted.write().unwrap();
        assert_eq!(hex::encode(&options.value), "80000a00000d00001000");
        assert_eq!(Requested::read(&options), wanted);

        let have = Given {
            dns_ipv4: vec![Ipv4Addr::new(8, 8, 8, 8), Ipv4Addr::new(1, 1, 1, 1)],
            dns_ipv6: vec!["2001:4860:4860::8888".parse().unwrap()],
            ipv4_mtu: Some(1400),
            pcscf_ipv4: vec![Ipv4Addr::new(10, 0, 0, 1)],
            pcscf_ipv6: vec!["fd45::5060".parse().unwrap()],
            ppp: Vec::new(),
        };
        let value = have.of(wanted);
        let options = value.write().unwrap();
        assert_eq!(
            hex::encode(&options.value),
            "80000d0408080808000d040101010100100205 78".replace(' ', "")
        );
        assert_eq!(Given::read(&options), value);
        assert_eq!(Given::read(&have.write().unwrap()), have);
        assert!(have.of(Requested::default()).is_empty());
    }

    /// What a UE with a Qualcomm modem requests, for a data network with a user name.
    #[test]
    fn a_ue_gets_dns_servers_by_each_way_that_it_requests_them() {
        // IPCP for both DNS servers, PAP, and containers without contents.
        let requested = concat!(
            "80",
            "80211001010010810600000000830600000000",
            "c023080107000801610162",
            "000d00000300000a00000500001000001100002300002400"
        );
        let requested = hex::decode(requested).unwrap();
        let requested = NasExtendedProtocolConfigurationOptions::new(requested);
        let have = Given {
            dns_ipv4: vec![Ipv4Addr::new(8, 8, 8, 8), Ipv4Addr::new(1, 1, 1, 1)],
            ipv4_mtu: Some(1400),
            ..Given::default()
        };
        let given = have.of(Requested::read(&requested));
        let options = given.write().unwrap();
        assert_eq!(
            hex::encode(&options.value),
            concat!(
                "80",
                "80211002010010810608080808830601010101",
                "c023050207000500",
                "000d0408080808000d04010101010010020578"
            )
        );
        assert_eq!(Given::read(&options), given);
    }

    #[test]
    fn options_that_do_not_decode_request_nothing() {
        for value in ["", "80", "8000", "80000d08", "80000d0101"] {
            let options = NasExtendedProtocolConfigurationOptions::new(hex::decode(value).unwrap());
            assert!(Given::read(&options).is_empty());
            let _ = Requested::read(&options);
        }
    }
}
