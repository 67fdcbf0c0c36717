//! PPP packets in protocol configuration options (TS 24.008, 10.5.6.3): what a modem receives from
//! its host, or makes of its settings. UEs request DNS servers by IPCP as well, and some do so by
//! IPCP alone. A modem with user name and password sends PAP or CHAP.

use std::net::Ipv4Addr;

use crate::PcoEntry;

/// IPCP (RFC 1332 and 1877), PAP (RFC 1334) and CHAP (RFC 1994).
const IPCP: u16 = 0x8021;
const PAP: u16 = 0xc023;
const CHAP: u16 = 0xc223;

/// Codes of packets, which each protocol has of its own.
const CONFIGURE_REQUEST: u8 = 1;
const CONFIGURE_ACK: u8 = 2;
const AUTHENTICATE_REQUEST: u8 = 1;
const AUTHENTICATE_ACK: u8 = 2;
const CHAP_RESPONSE: u8 = 2;
const CHAP_SUCCESS: u8 = 3;

/// IPCP options (RFC 1877, 1.1 and 1.3).
const PRIMARY_DNS: u8 = 129;
const SECONDARY_DNS: u8 = 131;

/// Octets of a packet before its data: code, identifier and length.
const HEADER: usize = 4;

/// The PPP packets of a UE that get an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ppp {
    /// IPCP Configure-Request for DNS servers.
    pub dns: Option<DnsRequest>,
    /// Identifier of a PAP Authenticate-Request.
    pub pap: Option<u8>,
    /// Identifier of a CHAP Response.
    pub chap: Option<u8>,
}

impl Ppp {
    /// The packets in the options of a UE. Those that do not decode are skipped.
    pub(crate) fn read(entries: &[PcoEntry]) -> Self {
        let mut ppp = Self::default();
        for entry in entries {
            let Some((code, identifier, data)) = packet(&entry.contents) else { continue };
            match (entry.identifier, code) {
                (IPCP, CONFIGURE_REQUEST) => {
                    ppp.dns = DnsRequest::read(identifier, data).or(ppp.dns);
                }
                (PAP, AUTHENTICATE_REQUEST) => ppp.pap = Some(identifier),
                (CHAP, CHAP_RESPONSE) => ppp.chap = Some(identifier),
                _ => {}
            }
        }
        ppp
    }

    /// The answers of a network with these DNS servers and without an authentication of its own,
    /// which accepts each name and password.
    pub(crate) fn answers(self, servers: &[Ipv4Addr]) -> Vec<PcoEntry> {
        let dns = self.dns.and_then(|request| request.answer(servers));
        let answer = |protocol, contents: &[u8]| PcoEntry {
            identifier: protocol,
            contents: contents.to_vec(),
        };
        // Without a text for the user.
        let pap = self.pap.map(|identifier| answer(PAP, &[AUTHENTICATE_ACK, identifier, 0, 5, 0]));
        let chap = self.chap.map(|identifier| answer(CHAP, &[CHAP_SUCCESS, identifier, 0, 4]));
        dns.into_iter().chain(pap).chain(chap).collect()
    }
}

/// Whether an option is an answer to a PPP packet.
pub(crate) fn is_ppp(entry: &PcoEntry) -> bool {
    matches!(entry.identifier, IPCP | PAP | CHAP)
}

/// An IPCP Configure-Request for DNS servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DnsRequest {
    /// Identifier of the packet.
    pub identifier: u8,
    /// It requests the primary server.
    pub primary: bool,
    /// It requests the secondary server.
    pub secondary: bool,
}

impl DnsRequest {
    /// `None` if the packet requests no DNS server.
    fn read(identifier: u8, mut options: &[u8]) -> Option<Self> {
        let mut request = Self { identifier, primary: false, secondary: false };
        while let [kind, length, ..] = *options {
            request.primary |= kind == PRIMARY_DNS;
            request.secondary |= kind == SECONDARY_DNS;
            // The length counts the two octets before the value.
            options = options.get(usize::from(length.max(2))..)?;
        }
        (request.primary || request.secondary).then_some(request)
    }

    /// A Configure-Ack with the addresses, as deployed networks send it; `None` without a server.
    fn answer(self, servers: &[Ipv4Addr]) -> Option<PcoEntry> {
        let wanted = [(PRIMARY_DNS, self.primary), (SECONDARY_DNS, self.secondary)];
        let mut options = Vec::new();
        for ((kind, _), server) in wanted.iter().zip(servers).filter(|((_, wanted), _)| *wanted) {
            options.extend([*kind, 6]);
            options.extend(server.octets());
        }
        if options.is_empty() {
            return None;
        }
        // Two options at most.
        let length = (HEADER + options.len()) as u8;
        let header = [CONFIGURE_ACK, self.identifier, 0, length];
        Some(PcoEntry { identifier: IPCP, contents: [&header[..], &options].concat() })
    }
}

/// Code, identifier and data of a packet (RFC 1661, 5).
fn packet(contents: &[u8]) -> Option<(u8, u8, &[u8])> {
    let [code, identifier, high, low, ..] = *contents else { return None };
    let length = usize::from(u16::from_be_bytes([high, low]));
    Some((code, identifier, contents.get(HEADER..length)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(of: &[(u16, &str)]) -> Vec<PcoEntry> {
        let entry = |(protocol, contents): &(u16, &str)| PcoEntry {
            identifier: *protocol,
            contents: hex::decode(contents).unwrap(),
        };
        of.iter().map(entry).collect()
    }

    fn answers(of: &[(u16, &str)], servers: &[Ipv4Addr]) -> Vec<(u16, String)> {
        let answers = Ppp::read(&entries(of)).answers(servers);
        answers.iter().map(|entry| (entry.identifier, hex::encode(&entry.contents))).collect()
    }

    #[test]
    fn a_ue_gets_the_dns_servers_that_it_requests_by_ipcp() {
        let servers = [Ipv4Addr::new(8, 8, 8, 8), Ipv4Addr::new(1, 1, 1, 1)];
        let both = [(IPCP, "01070010810600000000830600000000")];
        assert_eq!(
            answers(&both, &servers),
            [(IPCP, "02070010810608080808830601010101".to_string())]
        );
        assert_eq!(answers(&both, &servers[..1]), [(IPCP, "0207000a810608080808".to_string())]);
        assert!(answers(&both, &[]).is_empty());
        // The secondary one alone, after an IP address.
        let second = [(IPCP, "01010010030600000000830600000000")];
        assert_eq!(answers(&second, &servers), [(IPCP, "0201000a830601010101".to_string())]);
        // A further request without DNS servers.
        let two = [(IPCP, "0101000a810600000000"), (IPCP, "0102000a030600000000")];
        assert_eq!(answers(&two, &servers), [(IPCP, "0201000a810608080808".to_string())]);
        // An IP address alone, and an Ack.
        assert!(answers(&[(IPCP, "0101000a030600000000")], &servers).is_empty());
        assert!(answers(&[(IPCP, "0201000a810600000000")], &servers).is_empty());
    }

    #[test]
    fn a_modem_with_a_password_is_accepted() {
        // User name `a`, password `b`.
        assert_eq!(answers(&[(PAP, "0109000801610162")], &[]), [(PAP, "0209000500".to_string())]);
        // The modem makes the Challenge as well as the Response.
        let chap = [(CHAP, "0105000601aa"), (CHAP, "0205000601bb")];
        assert_eq!(answers(&chap, &[]), [(CHAP, "03050004".to_string())]);
    }

    #[test]
    fn malformed_packets_get_no_answer() {
        let servers = [Ipv4Addr::new(8, 8, 8, 8)];
        for contents in ["", "01", "010100", "01010003", "01010010810600000000", "0101000881ff0000"]
        {
            assert!(answers(&[(IPCP, contents)], &servers).is_empty(), "{contents}");
        }
        // Octets after the packet are ignored.
        let padded = [(IPCP, "0101000a8106000000000000")];
        assert_eq!(answers(&padded, &servers).len(), 1);
    }
}
