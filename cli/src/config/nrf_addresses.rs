//! The addresses of the NRFs: one, or a list.
use super::authority::is_authority;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;
use std::net::SocketAddr;

/// The addresses of the NRFs. The first one is that of the NRF which this core starts, unless
/// `sbi.external` has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NrfAddresses {
    first: SocketAddr,
    /// Host and port of each: other machines may have names only.
    further: Vec<String>,
}

impl NrfAddresses {
    /// One NRF.
    pub fn one(address: SocketAddr) -> Self {
        NrfAddresses { first: address, further: Vec::new() }
    }

    /// The first one.
    pub fn first(&self) -> SocketAddr {
        self.first
    }

    /// Host and port of all others.
    pub fn further(&self) -> &[String] {
        &self.further
    }
}

impl<'de> Deserialize<'de> for NrfAddresses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Addresses)
    }
}

struct Addresses;

impl<'de> Visitor<'de> for Addresses {
    type Value = NrfAddresses;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address such as 127.0.0.10:7777, or a list of addresses")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<NrfAddresses, E> {
        text.parse().map(NrfAddresses::one).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<NrfAddresses, A::Error> {
        let Some(first) = list.next_element::<String>()? else {
            return Err(A::Error::custom("the list is empty: write the address of an NRF"));
        };
        let first = first.parse().map_err(|_| {
            A::Error::custom(format!(
                "{first:?} is no address with a port: only the NRFs after the first one, which is \
                 that of this machine, may have names"
            ))
        })?;
        let mut nrfs = NrfAddresses::one(first);
        while let Some(nrf) = list.next_element::<String>()? {
            if !is_authority(&nrf) {
                return Err(A::Error::custom(format!("{nrf:?} is no host and port")));
            }
            if nrf == first.to_string() || nrfs.further.contains(&nrf) {
                return Err(A::Error::custom(format!("{nrf} is in the list twice")));
            }
            nrfs.further.push(nrf);
        }
        Ok(nrfs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_nrfs_may_have_names() {
        let read = |text: &str| serde_json::from_str::<NrfAddresses>(text);
        let nrfs = read(r#"["0.0.0.0:7710", "core-1.core:7710", "[fd00::1]:7710"]"#).unwrap();
        assert_eq!(nrfs.first(), SocketAddr::from(([0, 0, 0, 0], 7710)));
        assert_eq!(nrfs.further(), ["core-1.core:7710", "[fd00::1]:7710"]);
        assert!(read(r#""127.0.0.10:7777""#).unwrap().further().is_empty());
        // The first one is listened at.
        for (wrong, why) in [
            (r#"["core-0.core:7710"]"#, "only the NRFs after the first one"),
            (r#"["127.0.0.1:1", "127.0.0.1:1"]"#, "twice"),
            (r#"["127.0.0.1:1", "core:2", "core:2"]"#, "twice"),
            (r#"["127.0.0.1:1", "core"]"#, "no host and port"),
            ("[]", "the list is empty"),
        ] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }
}
