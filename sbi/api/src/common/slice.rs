//! Network slices (TS 29.571, 5.4; TS 23.003, 28.4).
use super::NotValid;
use martlet_sbi::compact::{self, Compact};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::fmt;
use std::str::FromStr;

/// Slice differentiator, 24 bits; six hexadecimal digits as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sd(u32);

impl Compact for Sd {
    fn write(&self, out: &mut Vec<u8>) {
        self.to_octets().write(out);
    }
    fn read(from: &mut compact::Reader<'_>) -> Result<Self, compact::Error> {
        from.array().map(Sd::from_octets)
    }
}

impl Serialize for Sd {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut text = [0; 6];
        let _ = hex::encode_to_slice(self.to_octets(), &mut text);
        to.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Sd {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        crate::text::read(from, str::parse)
    }
}

impl Sd {
    /// From the low 24 bits.
    pub const fn new(sd: u32) -> Self {
        Sd(sd & 0xff_ffff)
    }
    /// The 24 bits.
    pub const fn to_u32(self) -> u32 {
        self.0
    }
    /// The differentiator; `None` for the value that stands for none, `FFFFFF` (TS 23.003, 28.4.2).
    pub const fn associated(self) -> Option<Self> {
        match self.0 {
            0xff_ffff => None,
            _ => Some(self),
        }
    }
    /// Three octets, most significant first, as NAS and NGAP carry them.
    pub const fn to_octets(self) -> [u8; 3] {
        [(self.0 >> 16) as u8, (self.0 >> 8) as u8, self.0 as u8]
    }
    /// From three octets, most significant first.
    pub const fn from_octets(octets: [u8; 3]) -> Self {
        Sd((octets[0] as u32) << 16 | (octets[1] as u32) << 8 | octets[2] as u32)
    }
}

impl fmt::Display for Sd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06x}", self.0)
    }
}

impl FromStr for Sd {
    type Err = NotValid;
    fn from_str(text: &str) -> Result<Self, NotValid> {
        let hex = text.len() == 6 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let value = hex.then(|| u32::from_str_radix(text, 16).ok()).flatten();
        value
            .map(Sd)
            .ok_or_else(|| NotValid::new("slice differentiator (six hexadecimal digits)", text))
    }
}

impl TryFrom<String> for Sd {
    type Error = NotValid;
    fn try_from(text: String) -> Result<Self, NotValid> {
        text.parse()
    }
}

impl From<Sd> for String {
    fn from(sd: Sd) -> String {
        sd.to_string()
    }
}

fn associated<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Sd>, D::Error> {
    Ok(Option::<Sd>::deserialize(from)?.and_then(Sd::associated))
}

/// Single network slice selection assistance information (TS 29.571, 5.4). A differentiator of
/// `FFFFFF`, which stands for none, is read as none.
#[skip_serializing_none]
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Compact,
)]
pub struct Snssai {
    /// Slice or service type.
    pub sst: u8,
    /// Slice differentiator.
    #[serde(default, deserialize_with = "associated")]
    pub sd: Option<Sd>,
}

impl Snssai {
    /// A slice by its type and the low 24 bits of its differentiator.
    pub const fn new(sst: u8, sd: Option<u32>) -> Self {
        match sd {
            Some(sd) => Snssai { sst, sd: Sd::new(sd).associated() },
            None => Snssai { sst, sd: None },
        }
    }
}

/// `1` or `1-010203`, as keys of maps are written (TS 29.571, 5.4).
impl fmt::Display for Snssai {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sd {
            Some(sd) => write!(f, "{}-{sd}", self.sst),
            None => write!(f, "{}", self.sst),
        }
    }
}

impl FromStr for Snssai {
    type Err = NotValid;
    fn from_str(text: &str) -> Result<Self, NotValid> {
        let wrong = || NotValid::new("Snssai", text);
        let (sst, sd) = text.split_once('-').map_or((text, None), |(sst, sd)| (sst, Some(sd)));
        if !sst.bytes().all(|b| b.is_ascii_digit()) {
            return Err(wrong());
        }
        let sd = sd.map(|sd| sd.parse::<Sd>()).transpose().map_err(|_| wrong())?;
        let sd = sd.and_then(Sd::associated);
        Ok(Snssai { sst: sst.parse().map_err(|_| wrong())?, sd })
    }
}

/// A slice, or a range of slices of one type (TS 29.571, 5.4). Its differentiator stays as it was
/// received: OAI's functions read it in the answer to their registration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, Compact)]
#[serde(from = "RawExtSnssai", into = "RawExtSnssai")]
pub struct ExtSnssai {
    /// The slice.
    pub snssai: Snssai,
    /// Ranges of additional differentiators.
    pub sd_ranges: Option<Vec<SdRange>>,
    /// Whether every differentiator of this type is meant.
    pub wildcard_sd: Option<bool>,
}

// One level in JSON. Not `#[serde(flatten)]`, which buffers every member.
#[skip_serializing_none]
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawExtSnssai {
    sst: u8,
    sd: Option<Sd>,
    sd_ranges: Option<Vec<SdRange>>,
    wildcard_sd: Option<bool>,
}

impl From<RawExtSnssai> for ExtSnssai {
    fn from(raw: RawExtSnssai) -> Self {
        let snssai = Snssai { sst: raw.sst, sd: raw.sd };
        ExtSnssai { snssai, sd_ranges: raw.sd_ranges, wildcard_sd: raw.wildcard_sd }
    }
}

impl From<ExtSnssai> for RawExtSnssai {
    fn from(value: ExtSnssai) -> Self {
        let ExtSnssai { snssai, sd_ranges, wildcard_sd } = value;
        RawExtSnssai { sst: snssai.sst, sd: snssai.sd, sd_ranges, wildcard_sd }
    }
}

impl ExtSnssai {
    /// Whether a slice is among those meant.
    pub fn covers(&self, slice: &Snssai) -> bool {
        let in_range = |sd: Sd| {
            self.sd_ranges.iter().flatten().any(|range| (range.start..=range.end).contains(&sd))
        };
        let normal =
            |slice: &Snssai| Snssai { sst: slice.sst, sd: slice.sd.and_then(Sd::associated) };
        normal(&self.snssai) == normal(slice)
            || self.snssai.sst == slice.sst
                && (self.wildcard_sd == Some(true) || slice.sd.is_some_and(in_range))
    }
}

impl From<Snssai> for ExtSnssai {
    fn from(snssai: Snssai) -> Self {
        ExtSnssai { snssai, sd_ranges: None, wildcard_sd: None }
    }
}

/// A range of slice differentiators, both ends included (TS 29.571, 5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Compact)]
pub struct SdRange {
    /// The first.
    pub start: Sd,
    /// The last.
    pub end: Sd,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_text_and_json() {
        let slice: Snssai = "1-0A0b0C".parse().unwrap();
        assert_eq!(slice, Snssai::new(1, Some(0x0a0b0c)));
        assert_eq!(slice.to_string(), "1-0a0b0c");
        assert_eq!(serde_json::to_string(&slice).unwrap(), r#"{"sst":1,"sd":"0a0b0c"}"#);
        assert_eq!(
            serde_json::from_str::<Snssai>(r#"{"sst":255}"#).unwrap(),
            Snssai::new(255, None)
        );
        for wrong in ["", "256", "1-", "1-12345", "1-+12345", "-010203", "+1"] {
            assert!(wrong.parse::<Snssai>().is_err(), "{wrong}");
        }
        assert!(serde_json::from_str::<Snssai>(r#"{"sst":1,"sd":"xyz"}"#).is_err());
    }

    #[test]
    fn the_differentiator_of_all_ones_stands_for_none() {
        let none = Snssai::new(1, None);
        for text in [r#"{"sst":1,"sd":"FFFFFF"}"#, r#"{"sst":1,"sd":null}"#, r#"{"sst":1}"#] {
            assert_eq!(serde_json::from_str::<Snssai>(text).unwrap(), none, "{text}");
        }
        assert_eq!("1-ffffff".parse(), Ok(none));
        assert_eq!(Snssai::new(1, Some(0xff_ffff)), none);
        // As OAI's AMF and SMF register.
        let registered: ExtSnssai = serde_json::from_str(r#"{"sst":1,"sd":"ffffff"}"#).unwrap();
        assert!(registered.covers(&none) && ExtSnssai::from(none).covers(&registered.snssai));
        assert!(!registered.covers(&Snssai::new(1, Some(1))));
        let answered = serde_json::to_string(&registered).unwrap();
        assert_eq!(answered, r#"{"sst":1,"sd":"ffffff"}"#);
    }

    #[test]
    fn a_range_covers_what_is_in_it() {
        let json = r#"{"sst":1,"sdRanges":[{"start":"000010","end":"00001f"}]}"#;
        let range: ExtSnssai = serde_json::from_str(json).unwrap();
        assert!(range.covers(&Snssai::new(1, Some(0x1f))) && range.covers(&Snssai::new(1, None)));
        assert!(
            !range.covers(&Snssai::new(1, Some(0x20)))
                && !range.covers(&Snssai::new(2, Some(0x10)))
        );
    }
}
