//! Value types of a scenario file. Their errors say what to write.
use crate::ue::Slice;
use martlet_security::Plmn;
use serde::de::{Deserialize, Deserializer, Error};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Bytes as hexadecimal digits; blanks are ignored.
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

/// A 16-byte key as 32 hexadecimal digits. `Debug` does not print it.
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
        let key = hex::decode(text.trim()).ok().and_then(|bytes| bytes.try_into().ok());
        key.map(Key).ok_or_else(|| D::Error::custom("a key is 32 hexadecimal digits, quoted"))
    }
}

/// A duration: `250ms`, `2s`, `1m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong =
            || D::Error::custom(format!("`{text}` is not a duration: write 250ms, 2s or 1m"));
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

/// A PLMN: `001-01`, or `00101` as in the configuration of the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlmnText(pub Plmn);

impl<'de> Deserialize<'de> for PlmnText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parts = text.split_once('-').or_else(|| text.split_at_checked(3));
        let plmn = parts.and_then(|(mcc, mnc)| Plmn::new(mcc, mnc).ok());
        plmn.map(PlmnText).ok_or_else(|| {
            D::Error::custom(format!("`{text}` is not a PLMN: write 001-01, or \"00101\""))
        })
    }
}

/// The AMF's address; the default port is 38412.
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
                "`{text}` is not an address: write 127.0.0.5 or, with a port, 127.0.0.5:38412"
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
                "`{text}` is not a slice: write SST or SST-SD, the SD as six hexadecimal digits, \
                 such as 1-010203"
            ))
        };
        let (sst, sd) = match text.split_once('-') {
            Some((sst, sd)) => (sst, Some(sd)),
            None => (text.as_str(), None),
        };
        let sst = sst.parse().map_err(|_| wrong())?;
        let sd = match sd {
            Some(sd) => {
                let bytes = hex::decode(sd).map_err(|_| wrong())?;
                Some(bytes.try_into().map_err(|_| wrong())?)
            }
            None => None,
        };
        Ok(SliceText(Slice { sst, sd }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plmn_is_written_with_and_without_a_hyphen() {
        let read = |text: &str| serde_json::from_value::<PlmnText>(text.into());
        for (one, other) in [("001-01", "00101"), ("999-700", "999700")] {
            assert_eq!(read(one).unwrap(), read(other).unwrap());
        }
        for wrong in ["", "001", "0010", "00a01", "\u{e9}0101"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
