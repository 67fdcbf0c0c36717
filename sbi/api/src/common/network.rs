//! Identities of networks, areas and AMFs (TS 29.571, 5.3 and 5.4; TS 23.003).
use super::{NotValid, decimal_tac};
use crate::macros::{CompactString, checked_string};
use martlet_sbi::compact::{self, Compact};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::fmt;
use std::str::FromStr;

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The text of a tracking area code: hexadecimal digits in lower case.
fn tac_text(text: CompactString) -> CompactString {
    decimal_tac::normal(&text).unwrap_or_else(|| lowercase(text))
}

pub(super) fn lowercase(mut text: CompactString) -> CompactString {
    text.make_ascii_lowercase();
    text
}

checked_string! {
    /// Tracking area code: 4 or 6 hexadecimal digits, most significant first (TS 29.571, 5.4).
    pub struct Tac,
    |text| is_hex(text, 4) || is_hex(text, 6) || decimal_tac::code(text).is_some(),
    tac_text
}

impl Tac {
    /// A 24-bit tracking area code of 5GS.
    pub fn from_u32(tac: u32) -> Self {
        Tac(compact_str::format_compact!("{:06x}", tac & 0xff_ffff))
    }
    /// The code as a number.
    pub fn to_u32(&self) -> u32 {
        u32::from_str_radix(self, 16).unwrap_or(0)
    }
}

checked_string! {
    /// NR cell identity: 36 bits in 9 hexadecimal digits (TS 29.571, 5.4).
    pub struct NrCellId, |text| is_hex(text, 9), lowercase
}

impl NrCellId {
    /// From the 36 bits.
    pub fn from_u64(cell: u64) -> Self {
        NrCellId(compact_str::format_compact!("{:09x}", cell & 0xf_ffff_ffff))
    }
    /// The 36 bits.
    pub fn to_u64(&self) -> u64 {
        u64::from_str_radix(self, 16).unwrap_or(0)
    }
}

checked_string! {
    /// E-UTRA cell identity: 28 bits in 7 hexadecimal digits (TS 29.571, 5.4).
    pub struct EutraCellId, |text| is_hex(text, 7), lowercase
}

checked_string! {
    /// AMF identifier: region (8 bits), set (10), pointer (6), in 6 hexadecimal digits (TS 29.571,
    /// 5.3).
    pub struct AmfId, |text| is_hex(text, 6), lowercase
}

impl AmfId {
    /// From region, set (10 bits) and pointer (6 bits); bits above are cut off.
    pub fn from_parts(region: u8, set: u16, pointer: u8) -> Self {
        let id = u32::from(region) << 16 | u32::from(set & 0x3ff) << 6 | u32::from(pointer & 0x3f);
        AmfId(compact_str::format_compact!("{id:06x}"))
    }
    /// The 24 bits.
    pub fn to_u32(&self) -> u32 {
        u32::from_str_radix(self, 16).unwrap_or(0)
    }
    /// AMF region, 8 bits.
    pub fn region(&self) -> u8 {
        (self.to_u32() >> 16) as u8
    }
    /// AMF set, 10 bits.
    pub fn set(&self) -> u16 {
        (self.to_u32() >> 6) as u16 & 0x3ff
    }
    /// AMF pointer, 6 bits.
    pub fn pointer(&self) -> u8 {
        self.to_u32() as u8 & 0x3f
    }
    /// AMF region as `AmfRegionId` writes it: two hexadecimal digits.
    pub fn region_id(&self) -> String {
        format!("{:02x}", self.region())
    }
    /// AMF set as `AmfSetId` writes it: three hexadecimal digits.
    pub fn set_id(&self) -> String {
        format!("{:03x}", self.set())
    }
}

/// A public land mobile network (TS 29.571, 5.4).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "RawPlmnId")]
pub struct PlmnId {
    /// Mobile country code, three digits.
    mcc: Digits,
    /// Mobile network code, two or three digits.
    mnc: Digits,
}

/// Up to three ASCII digits; unused ones are zero. Part of every location identity, without heap
/// memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Digits([u8; 3]);

impl Digits {
    fn of(text: &str, lengths: std::ops::RangeInclusive<usize>) -> Option<Digits> {
        let fits = lengths.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        let mut digits = [0; 3];
        digits.get_mut(..text.len()).filter(|_| fits)?.copy_from_slice(text.as_bytes());
        Some(Digits(digits))
    }

    fn as_str(&self) -> &str {
        let length = self.0.iter().position(|digit| *digit == 0).unwrap_or(3);
        std::str::from_utf8(&self.0[..length]).unwrap_or_default()
    }
}

impl fmt::Debug for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl<'de> Deserialize<'de> for Digits {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        crate::text::read(from, |text| {
            Digits::of(text, 0..=3).ok_or_else(|| NotValid::new("PlmnId", text))
        })
    }
}

#[derive(Deserialize)]
struct RawPlmnId {
    mcc: Digits,
    mnc: Digits,
}

impl TryFrom<RawPlmnId> for PlmnId {
    type Error = NotValid;
    fn try_from(raw: RawPlmnId) -> Result<Self, NotValid> {
        PlmnId::new(raw.mcc.as_str(), raw.mnc.as_str())
    }
}

impl Compact for PlmnId {
    fn write(&self, out: &mut Vec<u8>) {
        self.mcc.0.write(out);
        self.mnc.0.write(out);
    }
    fn read(from: &mut compact::Reader<'_>) -> Result<Self, compact::Error> {
        let (mcc, mnc) = (Digits(from.array()?), Digits(from.array()?));
        PlmnId::new(mcc.as_str(), mnc.as_str()).map_err(compact::Error::invalid)
    }
}

impl Serialize for PlmnId {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut to = to.serialize_struct("PlmnId", 2)?;
        to.serialize_field("mcc", self.mcc())?;
        to.serialize_field("mnc", self.mnc())?;
        to.end()
    }
}

impl PlmnId {
    /// From the digits of both codes.
    pub fn new(mcc: &str, mnc: &str) -> Result<Self, NotValid> {
        match (Digits::of(mcc, 3..=3), Digits::of(mnc, 2..=3)) {
            (Some(mcc), Some(mnc)) => Ok(PlmnId { mcc, mnc }),
            _ => Err(NotValid::new("PlmnId", &format!("{mcc}-{mnc}"))),
        }
    }
    /// Mobile country code, three digits.
    pub fn mcc(&self) -> &str {
        self.mcc.as_str()
    }
    /// Mobile network code, two or three digits.
    pub fn mnc(&self) -> &str {
        self.mnc.as_str()
    }
    /// The `5G:mnc…` name of the serving network (TS 24.501, 9.12.1), as key derivation and
    /// `AuthenticationInfo` use it.
    pub fn serving_network_name(&self) -> String {
        format!("5G:mnc{:0>3}.mcc{}.3gppnetwork.org", self.mnc(), self.mcc())
    }
}

/// MCC and MNC concatenated, such as `00101`.
impl fmt::Display for PlmnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.mcc(), self.mnc())
    }
}

/// Reads `00101`, or `001-01` as `VarPlmnId` has it.
impl FromStr for PlmnId {
    type Err = NotValid;
    fn from_str(text: &str) -> Result<Self, NotValid> {
        let wrong = || NotValid::new("PlmnId", text);
        let (mcc, mnc) =
            text.split_once('-').or_else(|| text.split_at_checked(3)).ok_or_else(wrong)?;
        PlmnId::new(mcc, mnc).map_err(|_| wrong())
    }
}

/// A PLMN, or a stand-alone non-public network by its network identifier (TS 29.571, 5.4).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Compact)]
#[serde(try_from = "RawPlmnIdNid")]
pub struct PlmnIdNid {
    /// The PLMN.
    pub plmn_id: PlmnId,
    /// Network identifier, 11 hexadecimal digits.
    pub nid: Option<String>,
}

// One level in JSON. Not `#[serde(flatten)]`, which buffers every member.
#[derive(Deserialize)]
struct RawPlmnIdNid {
    mcc: Digits,
    mnc: Digits,
    nid: Option<String>,
}

impl TryFrom<RawPlmnIdNid> for PlmnIdNid {
    type Error = NotValid;
    fn try_from(raw: RawPlmnIdNid) -> Result<Self, NotValid> {
        Ok(PlmnIdNid { plmn_id: PlmnId::new(raw.mcc.as_str(), raw.mnc.as_str())?, nid: raw.nid })
    }
}

impl Serialize for PlmnIdNid {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut to = to.serialize_struct("PlmnIdNid", 2 + usize::from(self.nid.is_some()))?;
        to.serialize_field("mcc", self.plmn_id.mcc())?;
        to.serialize_field("mnc", self.plmn_id.mnc())?;
        if let Some(nid) = &self.nid {
            to.serialize_field("nid", nid)?;
        }
        to.end()
    }
}

impl From<PlmnId> for PlmnIdNid {
    fn from(plmn_id: PlmnId) -> Self {
        PlmnIdNid { plmn_id, nid: None }
    }
}

/// Globally unique AMF identifier (TS 29.571, 5.4).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Guami {
    /// The network.
    pub plmn_id: PlmnIdNid,
    /// The AMF in it.
    pub amf_id: AmfId,
}

impl Guami {
    /// An AMF of a PLMN.
    pub fn new(plmn_id: PlmnId, amf_id: AmfId) -> Self {
        Guami { plmn_id: plmn_id.into(), amf_id }
    }
}

/// Tracking area identity (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Tai {
    /// The PLMN.
    pub plmn_id: PlmnId,
    /// The area in it.
    pub tac: Tac,
    /// Network identifier of a stand-alone non-public network.
    pub nid: Option<String>,
}

impl Tai {
    /// An area of a PLMN.
    pub fn new(plmn_id: PlmnId, tac: Tac) -> Self {
        Tai { plmn_id, tac, nid: None }
    }
}

/// NR cell global identity (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Ncgi {
    /// The PLMN.
    pub plmn_id: PlmnId,
    /// The cell in it.
    pub nr_cell_id: NrCellId,
    /// Network identifier of a stand-alone non-public network.
    pub nid: Option<String>,
}

/// E-UTRA cell global identity (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Ecgi {
    /// The PLMN.
    pub plmn_id: PlmnId,
    /// The cell in it.
    pub eutra_cell_id: EutraCellId,
    /// Network identifier of a stand-alone non-public network.
    pub nid: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plmn_ids_are_checked() {
        let plmn: PlmnId = "00101".parse().unwrap();
        assert_eq!((plmn.mcc(), plmn.mnc()), ("001", "01"));
        assert_eq!("310-410".parse::<PlmnId>().unwrap().to_string(), "310410");
        assert_eq!(plmn.serving_network_name(), "5G:mnc001.mcc001.3gppnetwork.org");
        for wrong in ["", "00", "0010", "0010123", "00a01", "ä01", "0-0101"] {
            assert!(wrong.parse::<PlmnId>().is_err(), "{wrong}");
        }
        assert!(serde_json::from_str::<PlmnId>(r#"{"mcc":"1","mnc":"01"}"#).is_err());
    }

    #[test]
    fn a_guami_keeps_its_parts() {
        let id = AmfId::from_parts(0xca, 0x3f8, 0x01);
        assert_eq!((id.as_str(), id.region(), id.set(), id.pointer()), ("cafe01", 0xca, 0x3f8, 1));
        let guami = Guami::new("00101".parse().unwrap(), id);
        let json = serde_json::to_string(&guami).unwrap();
        assert_eq!(json, r#"{"plmnId":{"mcc":"001","mnc":"01"},"amfId":"cafe01"}"#);
        assert_eq!(serde_json::from_str::<Guami>(&json).unwrap(), guami);
    }
}
