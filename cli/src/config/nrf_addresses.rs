//! The addresses of the NRFs: one, or a list.
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;
use std::net::SocketAddr;

/// The addresses of the NRFs. The first one is that of the NRF which this core starts, unless
/// `sbi.external` has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NrfAddresses(Vec<SocketAddr>);

impl NrfAddresses {
    /// One NRF.
    pub fn one(address: SocketAddr) -> Self {
        NrfAddresses(vec![address])
    }

    /// The first one.
    pub fn first(&self) -> SocketAddr {
        // The constructors refuse an empty list.
        self.0[0]
    }

    /// All others.
    pub fn further(&self) -> &[SocketAddr] {
        &self.0[1..]
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
        let mut all = Vec::new();
        while let Some(address) = list.next_element::<SocketAddr>()? {
            if all.contains(&address) {
                return Err(A::Error::custom(format!("{address} is in the list twice")));
            }
            all.push(address);
        }
        match all.is_empty() {
            true => Err(A::Error::custom("the list is empty: write the address of an NRF")),
            false => Ok(NrfAddresses(all)),
        }
    }
}
