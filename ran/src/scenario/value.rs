//! Values of a scenario file that are more than a number or a text, with errors that say what to
//! write.
use crate::ue::Slice;
use martlet_security::Plmn;
use serde::de::{Deserialize, Deserializer, Error};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Octets, written as hexadecimal digits; blanks between them are allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hex(pub Vec<u8>);

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        hex::decode(&digits)
            .map(Hex)
            .map_err(|e| D::Error::custom(format!("`{text}` is not hexadecimal: {e}")))
    }
}

/// A key of 16 octets, as 32 hexadecimal digits. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(pub [u8; 16]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let octets = hex::decode(text.trim()).ok().and_then(|octets| octets.try_into().ok());
        octets.map(Key).ok_or_else(|| D::Error::custom("a key is 32 hexadecimal digits, quoted"))
    }
}

/// A length of time: `250ms`, `2s`, `1m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong =
            || D::Error::custom(format!("`{text}` is no length of time: write 250ms, 2s or 1m"));
        let digits =
            text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let (number, unit) = text.split_at(digits);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let seconds = match unit.trim() {
            "ms" => number / 1000.0,
            "s" => number,
            "m" | "min" => number * 60.0,
            "h" => number * 3600.0,
            _ => return Err(wrong()),
        };
        Duration::try_from_secs_f64(seconds).map(Span).map_err(|_| wrong())
    }
}

/// A PLMN: `001-01`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlmnText(pub Plmn);

impl<'de> Deserialize<'de> for PlmnText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let plmn = text.split_once('-').and_then(|(mcc, mnc)| Plmn::new(mcc, mnc).ok());
        plmn.map(PlmnText).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is no PLMN: write MCC and MNC with a dash between them, such as 001-01"
            ))
        })
    }
}

/// The AMF's address; the port is NGAP's unless it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct N2Address(pub SocketAddr);

impl<'de> Deserialize<'de> for N2Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let address = text
            .parse::<SocketAddr>()
            .or_else(|_| text.parse::<IpAddr>().map(|address| SocketAddr::new(address, 38412)));
        address.map(N2Address).map_err(|_| {
            D::Error::custom(format!(
                "`{text}` is no address: write 127.0.0.5 or, with a port, 127.0.0.5:38412"
            ))
        })
    }
}

/// An S-NSSAI: `1` or `1-010203`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceText(pub Slice);

impl<'de> Deserialize<'de> for SliceText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || {
            D::Error::custom(format!(
                "`{text}` is no slice: write the SST, and after a dash the SD in six hexadecimal \
                 digits, such as 1-010203"
            ))
        };
        let (sst, sd) = match text.split_once('-') {
            Some((sst, sd)) => (sst, Some(sd)),
            None => (text.as_str(), None),
        };
        let sst = sst.parse().map_err(|_| wrong())?;
        let sd = match sd {
            Some(sd) => {
                let octets = hex::decode(sd).map_err(|_| wrong())?;
                Some(octets.try_into().map_err(|_| wrong())?)
            }
            None => None,
        };
        Ok(SliceText(Slice { sst, sd }))
    }
}
