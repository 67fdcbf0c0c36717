//! Redirection of traffic (TS 29.244, 8.2.20).
use super::RuleError;
use martlet_pfcp::ie::{FailedRuleId, RedirectAddressType, RedirectInformation};

/// Longest URL of a redirection in bytes: it has to fit one packet.
const LONGEST: usize = 512;

/// Where traffic is redirected.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Redirect {
    /// To a URL: requests of HTTP are answered with status 302.
    Url(String),
}

impl Redirect {
    /// From the information element.
    ///
    /// # Errors
    /// Another address than a URL, or a text that is none.
    pub fn of(far: u32, ie: &RedirectInformation) -> Result<Self, RuleError> {
        let rule = FailedRuleId::Far(far);
        if ie.kind != RedirectAddressType::Url {
            let why = format!("FAR {far} redirects to {:?}; only URLs are possible", ie.kind);
            return Err(RuleError::not_supported::<RedirectInformation>(rule, why));
        }
        let printable = |byte: &u8| (0x21..0x7f).contains(byte);
        let text = std::str::from_utf8(&ie.address).ok().filter(|text| {
            !text.is_empty() && text.len() <= LONGEST && text.as_bytes().iter().all(printable)
        });
        match text {
            Some(text) => Ok(Redirect::Url(text.to_string())),
            None => {
                let why = format!("FAR {far} redirects to a text that is no URL");
                Err(RuleError::incorrect::<RedirectInformation>(rule, why))
            }
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
        let error = of(RedirectAddressType::SipUri, b"sip:a@b").unwrap_err();
        assert_eq!((error.cause, error.offending), (Cause::SERVICE_NOT_SUPPORTED, Some(38)));
    }
}
