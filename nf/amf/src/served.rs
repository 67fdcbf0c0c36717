//! What the AMF serves: its configuration in the forms of NAS, NGAP and the SBI.
use crate::AmfConfig;
use martlet_nas::identifiers::{AmfId, Slice};
use martlet_nas::{CipheringAlgorithm, Guti, IntegrityAlgorithm, Plmn};
use martlet_nf::StartError;
use martlet_ngap::ngap::{Cause, GUAMI, PLMNIdentity, SNSSAI, TAC, TAI};
use martlet_ngap::{Error, helpers};
use martlet_sbi_api::common::{self, Guami, NgApCause, PlmnId, Snssai, Tac};

/// A tracking area.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tai {
    pub plmn: Plmn,
    /// Tracking area code, 24 bits.
    pub tac: u32,
}

impl Tai {
    /// From NGAP; `None` if the PLMN is not valid.
    pub fn from_ngap(tai: &TAI) -> Option<Self> {
        Some(Tai { plmn: plmn_from_ngap(&tai.plmn_identity)?, tac: tac_from_ngap(&tai.tac) })
    }

    /// In NGAP form.
    pub fn to_ngap(self) -> TAI {
        let [_, tac @ ..] = self.tac.to_be_bytes();
        helpers::tai(plmn_to_ngap(self.plmn), tac)
    }

    /// In SBI form.
    pub fn to_sbi(self) -> common::Tai {
        common::Tai::new(plmn_to_sbi(self.plmn), Tac::from_u32(self.tac))
    }
}

pub(crate) fn tac_from_ngap(tac: &TAC) -> u32 {
    let [high, middle, low] = tac.0;
    u32::from_be_bytes([0, high, middle, low])
}

pub(crate) fn plmn_from_ngap(plmn: &PLMNIdentity) -> Option<Plmn> {
    Plmn::from_ap_octets(plmn.0).ok()
}

pub(crate) fn plmn_to_ngap(plmn: Plmn) -> PLMNIdentity {
    PLMNIdentity(plmn.to_ap_octets())
}

pub(crate) fn plmn_to_sbi(plmn: Plmn) -> PlmnId {
    // `Plmn` and `PlmnId` accept the same digits.
    PlmnId::new(plmn.mcc(), plmn.mnc()).expect("digits of a PLMN")
}

pub(crate) fn slice_from_ngap(slice: &SNSSAI) -> Slice {
    let [sst] = slice.sst.0;
    Slice { sst, sd: slice.sd.as_ref().map(|sd| sd.0).filter(|sd| *sd != [0xff; 3]) }
}

pub(crate) fn slice_to_ngap(slice: Slice) -> SNSSAI {
    helpers::s_nssai(slice.sst, slice.sd)
}

pub(crate) fn slice_from_sbi(slice: &Snssai) -> Slice {
    Slice { sst: slice.sst, sd: slice.sd.map(|sd| sd.to_octets()).filter(|sd| *sd != [0xff; 3]) }
}

pub(crate) fn slice_to_sbi(slice: Slice) -> Snssai {
    Snssai { sst: slice.sst, sd: slice.sd.map(common::Sd::from_octets) }
}

/// A cause in SBI form; `None` for an unknown extension.
pub(crate) fn cause_to_sbi(why: &Cause) -> Option<NgApCause> {
    let number = martlet_ngap::cause::number(why)?;
    Some(NgApCause { group: number.group, value: u16::try_from(number.value).ok()? })
}

/// An AMF identity of a PLMN.
#[derive(Debug, Clone)]
pub(crate) struct ServedGuami {
    pub plmn: Plmn,
    pub id: AmfId,
    /// In SBI form.
    pub sbi: Guami,
}

impl ServedGuami {
    /// The AMF set as the NSSF names it (TS 29.531, 6.1.6.2.2): MCC, MNC, region and set.
    pub fn amf_set(&self) -> String {
        let (plmn, id) = (self.plmn, &self.id);
        format!("{}-{}-{:02x}-{:03x}", plmn.mcc(), plmn.mnc(), id.region(), id.set())
    }

    /// In NGAP form.
    pub fn to_ngap(&self) -> Result<GUAMI, Error> {
        helpers::guami(plmn_to_ngap(self.plmn), self.id.region(), self.id.set(), self.id.pointer())
    }
}

/// A PLMN with its slices.
#[derive(Debug, Clone)]
pub(crate) struct ServedPlmn {
    pub plmn: Plmn,
    pub slices: Vec<Slice>,
    /// Serving network name (TS 24.501, 9.12.1).
    pub network_name: String,
}

/// What the AMF serves.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    pub guamis: Vec<ServedGuami>,
    pub plmns: Vec<ServedPlmn>,
    pub tais: Vec<Tai>,
    /// Equivalent PLMNs.
    pub equivalent: Vec<Plmn>,
    pub integrity: Vec<IntegrityAlgorithm>,
    pub ciphering: Vec<CipheringAlgorithm>,
}

/// A value of the section `amf` that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ServedError {
    /// The first finding of the configuration check.
    #[error("amf.{path}: {message}")]
    Finding { path: String, message: String },
    #[error("{text:?} is not a PLMN ({reason}): write MCC and MNC in five or six digits")]
    Plmn { text: String, reason: String },
    #[error("amf.guamis: not an AMF identity: {0}")]
    AmfId(String),
}

impl From<ServedError> for StartError {
    fn from(error: ServedError) -> Self {
        StartError::Section(error.into())
    }
}

fn plmn(text: &str) -> Result<Plmn, ServedError> {
    let wrong =
        |e: &dyn std::fmt::Display| ServedError::Plmn { text: text.into(), reason: e.to_string() };
    let parsed = text.parse::<PlmnId>().map_err(|e| wrong(&e))?;
    Plmn::new(parsed.mcc(), parsed.mnc()).map_err(|e| wrong(&e))
}

impl Served {
    /// Converts the configuration.
    ///
    /// # Errors
    ///
    /// The configuration key that is wrong, and why.
    pub fn new(config: &AmfConfig) -> Result<Self, ServedError> {
        if let Some(finding) = config.check().into_iter().next() {
            let (path, message) = (finding.path, finding.message);
            return Err(ServedError::Finding { path, message });
        }
        let mut guamis = Vec::new();
        for guami in &config.guamis {
            let plmn = plmn(&guami.plmn)?;
            let id = AmfId::new(guami.region, guami.set, guami.pointer)
                .map_err(|e| ServedError::AmfId(e.to_string()))?;
            let sbi = common::AmfId::from_parts(guami.region, guami.set, guami.pointer);
            guamis.push(ServedGuami { plmn, id, sbi: Guami::new(plmn_to_sbi(plmn), sbi) });
        }
        let mut plmns = Vec::new();
        for served in &config.plmns {
            let plmn = plmn(&served.plmn)?;
            let slices = served.slices.iter().map(slice_from_sbi).collect();
            plmns.push(ServedPlmn {
                plmn,
                slices,
                network_name: plmn_to_sbi(plmn).serving_network_name(),
            });
        }
        let tais = config.tais.iter().map(|tai| Ok(Tai { plmn: plmn(&tai.plmn)?, tac: tai.tac }));
        Ok(Served {
            guamis,
            plmns,
            tais: tais.collect::<Result<_, ServedError>>()?,
            equivalent: config
                .equivalent_plmns
                .iter()
                .map(|text| plmn(text))
                .collect::<Result<_, ServedError>>()?,
            integrity: config.security.integrity.iter().map(|name| (*name).into()).collect(),
            ciphering: config.security.ciphering.iter().map(|name| (*name).into()).collect(),
        })
    }

    /// The identity of this AMF in its set.
    pub fn set_id(&self) -> AmfId {
        // The configuration check guarantees one GUAMI.
        self.guamis[0].id
    }

    /// The served PLMN.
    pub fn plmn(&self, plmn: Plmn) -> Option<&ServedPlmn> {
        self.plmns.iter().find(|served| served.plmn == plmn)
    }

    /// The GUAMI of a PLMN.
    pub fn guami(&self, plmn: Plmn) -> Option<&ServedGuami> {
        self.guamis.iter().find(|guami| guami.plmn == plmn)
    }

    /// Whether this AMF allocated a 5G-GUTI.
    pub fn allocated(&self, guti: &Guti) -> bool {
        let id = AmfId::of_guti(guti);
        self.guamis.iter().any(|guami| guami.id == id && guami.plmn == guti.plmn())
    }

    /// Whether an AMF of this set allocated a 5G-GUTI.
    pub fn is_of_set(&self, guti: &Guti) -> bool {
        let id = AmfId::of_guti(guti);
        let of_set = |own: &AmfId| own.region() == id.region() && own.set() == id.set();
        self.guamis.iter().any(|guami| of_set(&guami.id) && guami.plmn == guti.plmn())
    }

    /// The 5G-GUTI of a 5G-S-TMSI of this AMF set (TS 23.003, 2.10.1).
    pub fn guti_of_set(&self, plmn: Plmn, set: u16, pointer: u8, tmsi: u32) -> Option<Guti> {
        let own = self.guami(plmn).filter(|guami| guami.id.set() == set)?;
        Guti::new(plmn, own.id.region(), set, pointer, tmsi).ok()
    }

    /// Whether an AMF of this set allocated a 5G-S-TMSI.
    pub fn is_s_tmsi_of_set(&self, set: u16) -> bool {
        self.guamis.iter().any(|guami| guami.id.set() == set)
    }

    /// The registration area for a UE in a tracking area: that one first, then others of its PLMN,
    /// at most 16 (TS 24.501, 9.11.3.9).
    pub fn registration_area(&self, current: Tai) -> Vec<Tai> {
        let others =
            self.tais.iter().copied().filter(|tai| *tai != current && tai.plmn == current.plmn);
        std::iter::once(current).chain(others).take(16).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TaiConfig;

    #[test]
    fn the_registration_area_starts_with_the_current_tai() {
        let tais = (1..40).map(|tac| TaiConfig { plmn: "00101".into(), tac }).collect();
        let config = AmfConfig { tais, ..Default::default() };
        let served = Served::new(&config).unwrap();
        let current = Tai { plmn: served.plmns[0].plmn, tac: 30 };
        let area = served.registration_area(current);
        assert_eq!((area.len(), area[0].tac, area[1].tac, area[15].tac), (16, 30, 1, 15));
    }

    #[test]
    fn identities_convert_without_loss() {
        let tai = Tai { plmn: Plmn::new("310", "410").unwrap(), tac: 0x01_02_03 };
        assert_eq!(Tai::from_ngap(&tai.to_ngap()), Some(tai));
        assert_eq!(tai.to_sbi().tac.to_u32(), 0x01_02_03);
        let slice = Slice { sst: 1, sd: Some([0, 0, 9]) };
        assert_eq!(slice_from_ngap(&slice_to_ngap(slice)), slice);
        assert_eq!(slice_from_sbi(&slice_to_sbi(slice)), slice);
    }
}
