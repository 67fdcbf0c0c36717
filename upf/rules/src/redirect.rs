//! Redirection of traffic (TS 29.244, 8.2.20).
use super::RuleError;
use martlet_pfcp::ie::{FailedRuleId, RedirectAddressType, RedirectInformation};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Longest URL of a redirection in bytes: it has to fit one packet.
const LONGEST: usize = 512;

/// Where traffic is redirected.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Redirect {
    /// To a URL: requests of HTTP are answered with status 302.
    Url(String),
    /// To a server: packets get its address as their destination, of their version of IP.
    Address(Option<Ipv4Addr>, Option<Ipv6Addr>),
}

impl Redirect {
    /// From the information element.
    ///
    /// # Errors
    /// A SIP URI, or a text that is not what its type names.
    pub fn of(far: u32, ie: &RedirectInformation) -> Result<Self, RuleError> {
        let rule = FailedRuleId::Far(far);
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).map(str::to_string).ok();
        let incorrect = || {
            let why = format!("FAR {far} redirects to a text that is no {:?}", ie.kind);
            RuleError::incorrect::<RedirectInformation>(rule, why)
        };
        let four = |bytes: &[u8]| text(bytes).and_then(|text| text.parse().ok());
        let six = |bytes: &[u8]| text(bytes).and_then(|text| text.parse().ok());
        let found = match ie.kind {
            RedirectAddressType::Url => {
                let printable = |byte: &u8| (0x21..0x7f).contains(byte);
                let fits = (1..=LONGEST).contains(&ie.address.len());
                let url = text(&ie.address).filter(|_| fits && ie.address.iter().all(printable));
                url.map(Redirect::Url)
            }
            RedirectAddressType::Ipv4 => {
                four(&ie.address).map(|address| Redirect::Address(Some(address), None))
            }
            RedirectAddressType::Ipv6 => {
                six(&ie.address).map(|address| Redirect::Address(None, Some(address)))
            }
            RedirectAddressType::Ipv4AndIpv6 => four(&ie.address)
                .zip(ie.other.as_deref().and_then(six))
                .map(|(four, six)| Redirect::Address(Some(four), Some(six))),
            RedirectAddressType::SipUri | RedirectAddressType::Other(_) => {
                let why = format!("FAR {far} redirects to {:?}, which is not possible", ie.kind);
                return Err(RuleError::not_supported::<RedirectInformation>(rule, why));
            }
        };
        found.ok_or_else(incorrect)
    }

    /// The server for packets to an address.
    pub fn server(&self, of: IpAddr) -> Option<IpAddr> {
        match (self, of) {
            (Redirect::Address(four, _), IpAddr::V4(_)) => four.map(IpAddr::V4),
            (Redirect::Address(_, six), IpAddr::V6(_)) => six.map(IpAddr::V6),
            (Redirect::Url(_), _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_pfcp::ie::Cause;

    fn of(kind: RedirectAddressType, address: &[u8]) -> Result<Redirect, RuleError> {
        Redirect::of(3, &RedirectInformation { kind, address: address.to_vec(), other: None })
    }

    #[test]
    fn a_url_is_taken_and_nothing_that_could_end_a_header() {
        let url = "http://portal.example/pay?id=1";
        assert_eq!(of(RedirectAddressType::Url, url.as_bytes()), Ok(Redirect::Url(url.into())));
        for wrong in [&b""[..], b"a b", b"http://x/\r\nX: 1", b"\xff", &[b'a'; 513]] {
            let error = of(RedirectAddressType::Url, wrong).unwrap_err();
            assert_eq!((error.cause, error.offending), (Cause::RULE_CREATION_FAILURE, Some(38)));
        }
        let server = of(RedirectAddressType::Ipv4, b"192.0.2.1").unwrap();
        assert_eq!(server.server([10, 0, 0, 1].into()), Some([192, 0, 2, 1].into()));
        assert_eq!(server.server(IpAddr::V6(Ipv6Addr::LOCALHOST)), None);
        let error = of(RedirectAddressType::Ipv6, b"192.0.2.1").unwrap_err();
        assert_eq!(error.cause, Cause::RULE_CREATION_FAILURE);
        let error = of(RedirectAddressType::SipUri, b"sip:a@b").unwrap_err();
        assert_eq!((error.cause, error.offending), (Cause::SERVICE_NOT_SUPPORTED, Some(38)));
    }
}
