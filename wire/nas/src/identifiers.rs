//! Identifiers as text, in the forms of TS 29.571 and of configuration files.

use std::fmt;
use std::str::FromStr;

use crate::{Guti, NasSNssai, Plmn, SNssaiContents};

/// A text that is not a valid identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a valid {what}")]
pub struct NoIdentifier {
    what: &'static str,
    text: String,
}

fn wrong(what: &'static str, text: &str) -> NoIdentifier {
    NoIdentifier { what, text: text.into() }
}

/// Exactly `digits` hexadecimal digits as a number.
fn hex_number(what: &'static str, digits: usize, text: &str) -> Result<u32, NoIdentifier> {
    match text.len() == digits && text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        true => u32::from_str_radix(text, 16).map_err(|_| wrong(what, text)),
        false => Err(wrong(what, text)),
    }
}

/// AMF identifier: region, set and pointer (TS 23.003, 2.10.1). Its text is six hexadecimal digits
/// (TS 29.571, `AmfId`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AmfId {
    region: u8,
    set: u16,
    pointer: u8,
}

impl AmfId {
    /// A region, a set of 10 bits and a pointer of 6 bits.
    pub fn new(region: u8, set: u16, pointer: u8) -> Result<Self, NoIdentifier> {
        match set < 1 << 10 && pointer < 1 << 6 {
            true => Ok(Self { region, set, pointer }),
            false => {
                Err(wrong("AMF set (10 bits) and pointer (6 bits)", &format!("{set}, {pointer}")))
            }
        }
    }

    /// The AMF of a 5G-GUTI.
    pub fn of_guti(guti: &Guti) -> Self {
        Self { region: guti.amf_region_id(), set: guti.amf_set_id(), pointer: guti.amf_pointer() }
    }

    /// The region, 8 bits.
    pub fn region(&self) -> u8 {
        self.region
    }

    /// The set, 10 bits.
    pub fn set(&self) -> u16 {
        self.set
    }

    /// The pointer, 6 bits.
    pub fn pointer(&self) -> u8 {
        self.pointer
    }

    /// The 5G-GUTI of a 5G-TMSI that this AMF allocated in a PLMN.
    pub fn guti(&self, plmn: Plmn, tmsi: u32) -> Result<Guti, crate::identity::Error> {
        Guti::new(plmn, self.region, self.set, self.pointer, tmsi)
    }
}

impl fmt::Display for AmfId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits =
            u32::from(self.region) << 16 | u32::from(self.set) << 6 | u32::from(self.pointer);
        write!(f, "{bits:06x}")
    }
}

impl FromStr for AmfId {
    type Err = NoIdentifier;

    fn from_str(text: &str) -> Result<Self, NoIdentifier> {
        let bits = hex_number("AMF identifier of six hexadecimal digits", 6, text)?;
        let [_, region, high, low] = bits.to_be_bytes();
        let rest = u16::from_be_bytes([high, low]);
        Ok(Self { region, set: rest >> 6, pointer: low & 0x3f })
    }
}

/// A tracking area code as TS 29.571 writes it: six hexadecimal digits.
pub fn tac_to_text(tac: u32) -> String {
    format!("{:06x}", tac & 0xff_ffff)
}

/// A tracking area code from its text: six hexadecimal digits, or four as in EPS.
pub fn tac_from_text(text: &str) -> Result<u32, NoIdentifier> {
    let digits = if text.len() == 4 { 4 } else { 6 };
    hex_number("tracking area code of six hexadecimal digits", digits, text)
}

/// A slice: its type and its differentiator (S-NSSAI, TS 23.003, 28.4.2). Its text is `1` or
/// `1-0000ff`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slice {
    /// Slice/service type.
    pub sst: u8,
    /// Slice differentiator. `ffffff` is read as none.
    pub sd: Option<[u8; 3]>,
}

impl Slice {
    /// A slice without a differentiator.
    pub fn of_type(sst: u8) -> Self {
        Self { sst, sd: None }
    }

    /// A slice whose differentiator, if any, is written as TS 29.571 has it: six hexadecimal
    /// digits.
    pub fn from_parts(sst: u8, sd: Option<&str>) -> Result<Self, NoIdentifier> {
        let sd = sd
            .map(|text| hex_number("slice differentiator of six hexadecimal digits", 6, text))
            .transpose()?;
        let bytes = sd.map(|sd| {
            let [_, bytes @ ..] = sd.to_be_bytes();
            bytes
        });
        Ok(Self { sst, sd: bytes.filter(|sd| *sd != [0xff; 3]) })
    }

    /// The differentiator as TS 29.571 writes it.
    pub fn sd_text(&self) -> Option<String> {
        self.sd.map(|[high, middle, low]| format!("{high:02x}{middle:02x}{low:02x}"))
    }

    /// The information element (TS 24.501, 9.11.2.8).
    pub fn to_nas(&self) -> NasSNssai {
        NasSNssai::from_sst_sd(self.sst, self.sd)
    }
}

impl From<&SNssaiContents> for Slice {
    /// The slice in the serving network, without its mapping to the home network.
    fn from(contents: &SNssaiContents) -> Self {
        Self { sst: contents.sst, sd: contents.sd.filter(|sd| *sd != [0xff; 3]) }
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sd_text() {
            Some(sd) => write!(f, "{}-{sd}", self.sst),
            None => write!(f, "{}", self.sst),
        }
    }
}

impl FromStr for Slice {
    type Err = NoIdentifier;

    fn from_str(text: &str) -> Result<Self, NoIdentifier> {
        let (sst, sd) = text.split_once('-').map_or((text, None), |(sst, sd)| (sst, Some(sd)));
        Self::from_parts(sst.parse().map_err(|_| wrong("slice, as 1 or 1-0000ff", text))?, sd)
    }
}

/// The slices of a requested or allowed NSSAI. An entry that does not decode makes the whole
/// element not comprehended: the list is empty (TS 24.501, 7.7.1).
pub fn slices(nssai: &crate::NasNssai) -> Vec<Slice> {
    nssai.try_parse_all().unwrap_or_default().iter().map(Slice::from).collect()
}

/// The NSSAI of these slices: eight at most in an allowed NSSAI (TS 24.501, 9.11.3.37).
pub fn nssai(slices: &[Slice]) -> Result<crate::NasNssai, crate::ValueError> {
    crate::NasNssai::from_snssais(&slices.iter().map(Slice::to_nas).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amf_identifier_is_six_digits() {
        let id = AmfId::new(0xca, 0x3fe, 0x01).unwrap();
        assert_eq!(id.to_string(), "caff81");
        assert_eq!("caff81".parse(), Ok(id));
        assert!(AmfId::new(0, 1024, 0).is_err() && AmfId::new(0, 0, 64).is_err());
        for text in ["", "caff8", "caff811", "caff8g", "+aff81"] {
            assert!(text.parse::<AmfId>().is_err(), "{text}");
        }
        let guti = id.guti(Plmn::new("208", "93").unwrap(), 0xdead_beef).unwrap();
        assert_eq!(AmfId::of_guti(&guti), id);
        assert_eq!(guti.to_string(), "5g-guti-20893caff81deadbeef");
        assert_eq!(guti.to_string().parse::<Guti>().unwrap(), guti);
    }

    #[test]
    fn a_tracking_area_code_is_six_digits() {
        assert_eq!(tac_to_text(1), "000001");
        assert_eq!(tac_from_text("00F1a2"), Ok(0xf1a2));
        assert_eq!(tac_from_text("0001"), Ok(1));
        assert!(tac_from_text("00001").is_err());
    }

    #[test]
    fn a_slice_has_a_text_and_its_octets() {
        let slice: Slice = "1-0000ff".parse().unwrap();
        assert_eq!((slice.sst, slice.sd), (1, Some([0, 0, 0xff])));
        assert_eq!(slice.to_string(), "1-0000ff");
        assert_eq!("2".parse(), Ok(Slice::of_type(2)));
        assert_eq!("2-ffffff".parse(), Ok(Slice::of_type(2)));
        for text in ["", "256", "1-", "1-00ff", "1-0000fg"] {
            assert!(text.parse::<Slice>().is_err(), "{text}");
        }
        let list = nssai(&[slice, Slice::of_type(2)]).unwrap();
        assert_eq!(hex::encode(&list.value), "04010000ff0102");
        assert_eq!(slices(&list), [slice, Slice::of_type(2)]);
        assert!(slices(&crate::NasNssai::new(vec![9, 1])).is_empty());
    }
}
