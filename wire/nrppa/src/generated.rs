//! The types of NRPPa (TS 38.455, 9.3). Written by `wire/oracles/per_generate.py nrppa` with pycrate 0.8.1: not to be
//! changed by hand.
#![allow(clippy::all, unused_variables, unused_parens)]

use martlet_per::{BitString, DecodeError, Decoder, EncodeError, Encoder, Size};

/// `ReportCharacteristics`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportCharacteristics {
    /// `onDemand`
    #[default]
    OnDemand,
    /// `periodic`
    Periodic,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl ReportCharacteristics {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                ReportCharacteristics::OnDemand => 0,
                ReportCharacteristics::Periodic => 1,
                ReportCharacteristics::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => ReportCharacteristics::OnDemand,
            1 => ReportCharacteristics::Periodic,
            other => ReportCharacteristics::Other(other),
        })
    }
}

/// `MeasurementPeriodicity`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeasurementPeriodicity {
    /// `ms120`
    #[default]
    Ms120,
    /// `ms240`
    Ms240,
    /// `ms480`
    Ms480,
    /// `ms640`
    Ms640,
    /// `ms1024`
    Ms1024,
    /// `ms2048`
    Ms2048,
    /// `ms5120`
    Ms5120,
    /// `ms10240`
    Ms10240,
    /// `min1`
    Min1,
    /// `min6`
    Min6,
    /// `min12`
    Min12,
    /// `min30`
    Min30,
    /// `min60`
    Min60,
    /// `ms20480`
    Ms20480,
    /// `ms40960`
    Ms40960,
    /// `extended`
    Extended,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl MeasurementPeriodicity {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                MeasurementPeriodicity::Ms120 => 0,
                MeasurementPeriodicity::Ms240 => 1,
                MeasurementPeriodicity::Ms480 => 2,
                MeasurementPeriodicity::Ms640 => 3,
                MeasurementPeriodicity::Ms1024 => 4,
                MeasurementPeriodicity::Ms2048 => 5,
                MeasurementPeriodicity::Ms5120 => 6,
                MeasurementPeriodicity::Ms10240 => 7,
                MeasurementPeriodicity::Min1 => 8,
                MeasurementPeriodicity::Min6 => 9,
                MeasurementPeriodicity::Min12 => 10,
                MeasurementPeriodicity::Min30 => 11,
                MeasurementPeriodicity::Min60 => 12,
                MeasurementPeriodicity::Ms20480 => 13,
                MeasurementPeriodicity::Ms40960 => 14,
                MeasurementPeriodicity::Extended => 15,
                MeasurementPeriodicity::Other(index) => index,
            },
            13,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(13, true)? {
            0 => MeasurementPeriodicity::Ms120,
            1 => MeasurementPeriodicity::Ms240,
            2 => MeasurementPeriodicity::Ms480,
            3 => MeasurementPeriodicity::Ms640,
            4 => MeasurementPeriodicity::Ms1024,
            5 => MeasurementPeriodicity::Ms2048,
            6 => MeasurementPeriodicity::Ms5120,
            7 => MeasurementPeriodicity::Ms10240,
            8 => MeasurementPeriodicity::Min1,
            9 => MeasurementPeriodicity::Min6,
            10 => MeasurementPeriodicity::Min12,
            11 => MeasurementPeriodicity::Min30,
            12 => MeasurementPeriodicity::Min60,
            13 => MeasurementPeriodicity::Ms20480,
            14 => MeasurementPeriodicity::Ms40960,
            15 => MeasurementPeriodicity::Extended,
            other => MeasurementPeriodicity::Other(other),
        })
    }
}

/// `MeasurementQuantitiesValue`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeasurementQuantitiesValue {
    /// `cell-ID`
    #[default]
    CellId,
    /// `angleOfArrival`
    AngleOfArrival,
    /// `timingAdvanceType1`
    TimingAdvanceType1,
    /// `timingAdvanceType2`
    TimingAdvanceType2,
    /// `rSRP`
    RSrp,
    /// `rSRQ`
    RSrq,
    /// `sS-RSRP`
    SSRsrp,
    /// `sS-RSRQ`
    SSRsrq,
    /// `cSI-RSRP`
    CSiRsrp,
    /// `cSI-RSRQ`
    CSiRsrq,
    /// `angleOfArrivalNR`
    AngleOfArrivalNr,
    /// `timingAdvanceNR`
    TimingAdvanceNr,
    /// `uE-Rx-Tx-Time-Diff`
    UERxTxTimeDiff,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl MeasurementQuantitiesValue {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                MeasurementQuantitiesValue::CellId => 0,
                MeasurementQuantitiesValue::AngleOfArrival => 1,
                MeasurementQuantitiesValue::TimingAdvanceType1 => 2,
                MeasurementQuantitiesValue::TimingAdvanceType2 => 3,
                MeasurementQuantitiesValue::RSrp => 4,
                MeasurementQuantitiesValue::RSrq => 5,
                MeasurementQuantitiesValue::SSRsrp => 6,
                MeasurementQuantitiesValue::SSRsrq => 7,
                MeasurementQuantitiesValue::CSiRsrp => 8,
                MeasurementQuantitiesValue::CSiRsrq => 9,
                MeasurementQuantitiesValue::AngleOfArrivalNr => 10,
                MeasurementQuantitiesValue::TimingAdvanceNr => 11,
                MeasurementQuantitiesValue::UERxTxTimeDiff => 12,
                MeasurementQuantitiesValue::Other(index) => index,
            },
            6,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(6, true)? {
            0 => MeasurementQuantitiesValue::CellId,
            1 => MeasurementQuantitiesValue::AngleOfArrival,
            2 => MeasurementQuantitiesValue::TimingAdvanceType1,
            3 => MeasurementQuantitiesValue::TimingAdvanceType2,
            4 => MeasurementQuantitiesValue::RSrp,
            5 => MeasurementQuantitiesValue::RSrq,
            6 => MeasurementQuantitiesValue::SSRsrp,
            7 => MeasurementQuantitiesValue::SSRsrq,
            8 => MeasurementQuantitiesValue::CSiRsrp,
            9 => MeasurementQuantitiesValue::CSiRsrq,
            10 => MeasurementQuantitiesValue::AngleOfArrivalNr,
            11 => MeasurementQuantitiesValue::TimingAdvanceNr,
            12 => MeasurementQuantitiesValue::UERxTxTimeDiff,
            other => MeasurementQuantitiesValue::Other(other),
        })
    }
}

/// `MeasurementQuantities-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasurementQuantitiesItem {
    /// `measurementQuantitiesValue`
    pub measurement_quantities_value: MeasurementQuantitiesValue,
}
impl MeasurementQuantitiesItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.measurement_quantities_value.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let measurement_quantities_value = MeasurementQuantitiesValue::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(MeasurementQuantitiesItem { measurement_quantities_value })
    }
}

/// One information element: `ECidMeasurementInitiationRequest-measurement_quantitiesItem`.
#[derive(Debug, Clone, PartialEq)]
pub enum ECidMeasurementInitiationRequestMeasurementQuantitiesItem {
    /// `MeasurementQuantities-Item`
    MeasurementQuantitiesItem(MeasurementQuantitiesItem),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for ECidMeasurementInitiationRequestMeasurementQuantitiesItem {
    fn default() -> Self {
        ECidMeasurementInitiationRequestMeasurementQuantitiesItem::Other(0, 0, Vec::new())
    }
}
impl ECidMeasurementInitiationRequestMeasurementQuantitiesItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ECidMeasurementInitiationRequestMeasurementQuantitiesItem::MeasurementQuantitiesItem(v) => {
                element(e, 11, 0)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            ECidMeasurementInitiationRequestMeasurementQuantitiesItem::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            11 => ECidMeasurementInitiationRequestMeasurementQuantitiesItem::MeasurementQuantitiesItem(
                d.open(|d| Ok(MeasurementQuantitiesItem::decode(d)?))?,
            ),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => ECidMeasurementInitiationRequestMeasurementQuantitiesItem::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `OtherRATMeasurementQuantitiesValue`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OtherRatMeasurementQuantitiesValue {
    /// `geran`
    #[default]
    Geran,
    /// `utran`
    Utran,
    /// `nR`
    NR,
    /// `eUTRA`
    EUtra,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl OtherRatMeasurementQuantitiesValue {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                OtherRatMeasurementQuantitiesValue::Geran => 0,
                OtherRatMeasurementQuantitiesValue::Utran => 1,
                OtherRatMeasurementQuantitiesValue::NR => 2,
                OtherRatMeasurementQuantitiesValue::EUtra => 3,
                OtherRatMeasurementQuantitiesValue::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => OtherRatMeasurementQuantitiesValue::Geran,
            1 => OtherRatMeasurementQuantitiesValue::Utran,
            2 => OtherRatMeasurementQuantitiesValue::NR,
            3 => OtherRatMeasurementQuantitiesValue::EUtra,
            other => OtherRatMeasurementQuantitiesValue::Other(other),
        })
    }
}

/// `OtherRATMeasurementQuantities-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OtherRatMeasurementQuantitiesItem {
    /// `otherRATMeasurementQuantitiesValue`
    pub other_ratmeasurement_quantities_value: OtherRatMeasurementQuantitiesValue,
}
impl OtherRatMeasurementQuantitiesItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.other_ratmeasurement_quantities_value.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let other_ratmeasurement_quantities_value = OtherRatMeasurementQuantitiesValue::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(OtherRatMeasurementQuantitiesItem { other_ratmeasurement_quantities_value })
    }
}

/// One information element: `ECidMeasurementInitiationRequest-other_ratmeasurement_quantitiesItem`.
#[derive(Debug, Clone, PartialEq)]
pub enum ECidMeasurementInitiationRequestOtherRatmeasurementQuantitiesItem {
    /// `OtherRATMeasurementQuantities-Item`
    OtherRatMeasurementQuantitiesItem(OtherRatMeasurementQuantitiesItem),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for ECidMeasurementInitiationRequestOtherRatmeasurementQuantitiesItem {
    fn default() -> Self {
        ECidMeasurementInitiationRequestOtherRatmeasurementQuantitiesItem::Other(0, 0, Vec::new())
    }
}
impl ECidMeasurementInitiationRequestOtherRatmeasurementQuantitiesItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ECidMeasurementInitiationRequestOtherRatmeasurementQuantitiesItem::OtherRatMeasurementQuantitiesItem(v) => {
                element(e, 16, 0)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            ECidMeasurementInitiationRequestOtherRatmeasurementQuantitiesItem::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            16 => ECidMeasurementInitiationRequestOtherRatmeasurementQuantitiesItem::OtherRatMeasurementQuantitiesItem(
                d.open(|d| Ok(OtherRatMeasurementQuantitiesItem::decode(d)?))?,
            ),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => ECidMeasurementInitiationRequestOtherRatmeasurementQuantitiesItem::Other(
                id,
                criticality,
                d.open_octets()?,
            ),
        })
    }
}

/// `WLANMeasurementQuantitiesValue`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WlanMeasurementQuantitiesValue {
    /// `wlan`
    #[default]
    Wlan,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl WlanMeasurementQuantitiesValue {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                WlanMeasurementQuantitiesValue::Wlan => 0,
                WlanMeasurementQuantitiesValue::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => WlanMeasurementQuantitiesValue::Wlan,
            other => WlanMeasurementQuantitiesValue::Other(other),
        })
    }
}

/// `WLANMeasurementQuantities-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WlanMeasurementQuantitiesItem {
    /// `wLANMeasurementQuantitiesValue`
    pub w_lanmeasurement_quantities_value: WlanMeasurementQuantitiesValue,
}
impl WlanMeasurementQuantitiesItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.w_lanmeasurement_quantities_value.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let w_lanmeasurement_quantities_value = WlanMeasurementQuantitiesValue::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(WlanMeasurementQuantitiesItem { w_lanmeasurement_quantities_value })
    }
}

/// One information element: `ECidMeasurementInitiationRequest-wlanmeasurement_quantitiesItem`.
#[derive(Debug, Clone, PartialEq)]
pub enum ECidMeasurementInitiationRequestWlanmeasurementQuantitiesItem {
    /// `WLANMeasurementQuantities-Item`
    WlanMeasurementQuantitiesItem(WlanMeasurementQuantitiesItem),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for ECidMeasurementInitiationRequestWlanmeasurementQuantitiesItem {
    fn default() -> Self {
        ECidMeasurementInitiationRequestWlanmeasurementQuantitiesItem::Other(0, 0, Vec::new())
    }
}
impl ECidMeasurementInitiationRequestWlanmeasurementQuantitiesItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ECidMeasurementInitiationRequestWlanmeasurementQuantitiesItem::WlanMeasurementQuantitiesItem(v) => {
                element(e, 20, 0)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            ECidMeasurementInitiationRequestWlanmeasurementQuantitiesItem::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            20 => ECidMeasurementInitiationRequestWlanmeasurementQuantitiesItem::WlanMeasurementQuantitiesItem(
                d.open(|d| Ok(WlanMeasurementQuantitiesItem::decode(d)?))?,
            ),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => {
                ECidMeasurementInitiationRequestWlanmeasurementQuantitiesItem::Other(id, criticality, d.open_octets()?)
            }
        })
    }
}

/// `MeasurementPeriodicityNR-AoA`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeasurementPeriodicityNrAoA {
    /// `ms160`
    #[default]
    Ms160,
    /// `ms320`
    Ms320,
    /// `ms640`
    Ms640,
    /// `ms1280`
    Ms1280,
    /// `ms2560`
    Ms2560,
    /// `ms5120`
    Ms5120,
    /// `ms10240`
    Ms10240,
    /// `ms20480`
    Ms20480,
    /// `ms40960`
    Ms40960,
    /// `ms61440`
    Ms61440,
    /// `ms81920`
    Ms81920,
    /// `ms368640`
    Ms368640,
    /// `ms737280`
    Ms737280,
    /// `ms1843200`
    Ms1843200,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl MeasurementPeriodicityNrAoA {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                MeasurementPeriodicityNrAoA::Ms160 => 0,
                MeasurementPeriodicityNrAoA::Ms320 => 1,
                MeasurementPeriodicityNrAoA::Ms640 => 2,
                MeasurementPeriodicityNrAoA::Ms1280 => 3,
                MeasurementPeriodicityNrAoA::Ms2560 => 4,
                MeasurementPeriodicityNrAoA::Ms5120 => 5,
                MeasurementPeriodicityNrAoA::Ms10240 => 6,
                MeasurementPeriodicityNrAoA::Ms20480 => 7,
                MeasurementPeriodicityNrAoA::Ms40960 => 8,
                MeasurementPeriodicityNrAoA::Ms61440 => 9,
                MeasurementPeriodicityNrAoA::Ms81920 => 10,
                MeasurementPeriodicityNrAoA::Ms368640 => 11,
                MeasurementPeriodicityNrAoA::Ms737280 => 12,
                MeasurementPeriodicityNrAoA::Ms1843200 => 13,
                MeasurementPeriodicityNrAoA::Other(index) => index,
            },
            14,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(14, true)? {
            0 => MeasurementPeriodicityNrAoA::Ms160,
            1 => MeasurementPeriodicityNrAoA::Ms320,
            2 => MeasurementPeriodicityNrAoA::Ms640,
            3 => MeasurementPeriodicityNrAoA::Ms1280,
            4 => MeasurementPeriodicityNrAoA::Ms2560,
            5 => MeasurementPeriodicityNrAoA::Ms5120,
            6 => MeasurementPeriodicityNrAoA::Ms10240,
            7 => MeasurementPeriodicityNrAoA::Ms20480,
            8 => MeasurementPeriodicityNrAoA::Ms40960,
            9 => MeasurementPeriodicityNrAoA::Ms61440,
            10 => MeasurementPeriodicityNrAoA::Ms81920,
            11 => MeasurementPeriodicityNrAoA::Ms368640,
            12 => MeasurementPeriodicityNrAoA::Ms737280,
            13 => MeasurementPeriodicityNrAoA::Ms1843200,
            other => MeasurementPeriodicityNrAoA::Other(other),
        })
    }
}

/// `E-CIDMeasurementInitiationRequest`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ECidMeasurementInitiationRequest {
    /// `UE-Measurement-ID`, `UE-Measurement-ID`: INTEGER (1..15, …); information element 2, reject
    pub ue_measurement_id: i64,
    /// `ReportCharacteristics`; information element 3, reject
    pub report_characteristics: ReportCharacteristics,
    /// `MeasurementPeriodicity`; information element 4, reject
    pub measurement_periodicity: Option<MeasurementPeriodicity>,
    /// `MeasurementQuantities`: SEQUENCE OF (SIZE (1..64)); information element 5, reject
    pub measurement_quantities: Vec<ECidMeasurementInitiationRequestMeasurementQuantitiesItem>,
    /// `OtherRATMeasurementQuantities`: SEQUENCE OF (SIZE (0..64)); information element 15, ignore
    pub other_ratmeasurement_quantities: Option<Vec<ECidMeasurementInitiationRequestOtherRatmeasurementQuantitiesItem>>,
    /// `WLANMeasurementQuantities`: SEQUENCE OF (SIZE (0..64)); information element 19, ignore
    pub wlanmeasurement_quantities: Option<Vec<ECidMeasurementInitiationRequestWlanmeasurementQuantitiesItem>>,
    /// `MeasurementPeriodicityNR-AoA`; information element 105, reject
    pub measurement_periodicity_nr_ao_a: Option<MeasurementPeriodicityNrAoA>,
}
impl ECidMeasurementInitiationRequest {
    pub(crate) fn count(&self) -> usize {
        1 + 1
            + usize::from(self.measurement_periodicity.is_some())
            + 1
            + usize::from(self.other_ratmeasurement_quantities.is_some())
            + usize::from(self.wlanmeasurement_quantities.is_some())
            + usize::from(self.measurement_periodicity_nr_ao_a.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 2, 0)?;
        e.open(|e| {
            e.extensible(self.ue_measurement_id.into(), 1, 15)?;
            Ok(())
        })?;
        element(e, 3, 0)?;
        e.open(|e| {
            self.report_characteristics.encode(e)?;
            Ok(())
        })?;
        if let Some(v) = &self.measurement_periodicity {
            element(e, 4, 0)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        element(e, 5, 0)?;
        e.open(|e| {
            e.count(self.measurement_quantities.len(), Some(Size::range(1, 64)))?;
            for v in &self.measurement_quantities {
                (*v).encode(e)?;
            }
            Ok(())
        })?;
        if let Some(v) = &self.other_ratmeasurement_quantities {
            element(e, 15, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(0, 64)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.wlanmeasurement_quantities {
            element(e, 19, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(0, 64)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.measurement_periodicity_nr_ao_a {
            element(e, 105, 0)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut ue_measurement_id = None;
        let mut report_characteristics = None;
        let mut measurement_periodicity = None;
        let mut measurement_quantities = None;
        let mut other_ratmeasurement_quantities = None;
        let mut wlanmeasurement_quantities = None;
        let mut measurement_periodicity_nr_ao_a = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                2 => {
                    ue_measurement_id =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 15)?).map_err(|_| DecodeError::Range)?))?)
                }
                3 => report_characteristics = Some(d.open(|d| Ok(ReportCharacteristics::decode(d)?))?),
                4 => measurement_periodicity = Some(d.open(|d| Ok(MeasurementPeriodicity::decode(d)?))?),
                5 => {
                    measurement_quantities = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 64)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(ECidMeasurementInitiationRequestMeasurementQuantitiesItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                15 => {
                    other_ratmeasurement_quantities = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(0, 64)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(ECidMeasurementInitiationRequestOtherRatmeasurementQuantitiesItem::decode(
                                    d,
                                )?);
                            }
                            list
                        })
                    })?)
                }
                19 => {
                    wlanmeasurement_quantities = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(0, 64)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(ECidMeasurementInitiationRequestWlanmeasurementQuantitiesItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                105 => measurement_periodicity_nr_ao_a = Some(d.open(|d| Ok(MeasurementPeriodicityNrAoA::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ECidMeasurementInitiationRequest {
            ue_measurement_id: ue_measurement_id.ok_or(DecodeError::Missing(2))?,
            report_characteristics: report_characteristics.ok_or(DecodeError::Missing(3))?,
            measurement_periodicity,
            measurement_quantities: measurement_quantities.ok_or(DecodeError::Missing(5))?,
            other_ratmeasurement_quantities,
            wlanmeasurement_quantities,
            measurement_periodicity_nr_ao_a,
        })
    }
}

/// `OTDOA-Information-Item`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OtdoaInformationItem {
    /// `pci`
    #[default]
    Pci,
    /// `cGI`
    CGi,
    /// `tac`
    Tac,
    /// `earfcn`
    Earfcn,
    /// `prsBandwidth`
    PrsBandwidth,
    /// `prsConfigIndex`
    PrsConfigIndex,
    /// `cpLength`
    CpLength,
    /// `noDlFrames`
    NoDlFrames,
    /// `noAntennaPorts`
    NoAntennaPorts,
    /// `sFNInitTime`
    SFnInitTime,
    /// `nG-RANAccessPointPosition`
    NGRanAccessPointPosition,
    /// `prsmutingconfiguration`
    Prsmutingconfiguration,
    /// `prsid`
    Prsid,
    /// `tpid`
    Tpid,
    /// `tpType`
    TpType,
    /// `crsCPlength`
    CrsCPlength,
    /// `dlBandwidth`
    DlBandwidth,
    /// `multipleprsConfigurationsperCell`
    MultipleprsConfigurationsperCell,
    /// `prsOccasionGroup`
    PrsOccasionGroup,
    /// `prsFrequencyHoppingConfiguration`
    PrsFrequencyHoppingConfiguration,
    /// `tddConfig`
    TddConfig,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl OtdoaInformationItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                OtdoaInformationItem::Pci => 0,
                OtdoaInformationItem::CGi => 1,
                OtdoaInformationItem::Tac => 2,
                OtdoaInformationItem::Earfcn => 3,
                OtdoaInformationItem::PrsBandwidth => 4,
                OtdoaInformationItem::PrsConfigIndex => 5,
                OtdoaInformationItem::CpLength => 6,
                OtdoaInformationItem::NoDlFrames => 7,
                OtdoaInformationItem::NoAntennaPorts => 8,
                OtdoaInformationItem::SFnInitTime => 9,
                OtdoaInformationItem::NGRanAccessPointPosition => 10,
                OtdoaInformationItem::Prsmutingconfiguration => 11,
                OtdoaInformationItem::Prsid => 12,
                OtdoaInformationItem::Tpid => 13,
                OtdoaInformationItem::TpType => 14,
                OtdoaInformationItem::CrsCPlength => 15,
                OtdoaInformationItem::DlBandwidth => 16,
                OtdoaInformationItem::MultipleprsConfigurationsperCell => 17,
                OtdoaInformationItem::PrsOccasionGroup => 18,
                OtdoaInformationItem::PrsFrequencyHoppingConfiguration => 19,
                OtdoaInformationItem::TddConfig => 20,
                OtdoaInformationItem::Other(index) => index,
            },
            20,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(20, true)? {
            0 => OtdoaInformationItem::Pci,
            1 => OtdoaInformationItem::CGi,
            2 => OtdoaInformationItem::Tac,
            3 => OtdoaInformationItem::Earfcn,
            4 => OtdoaInformationItem::PrsBandwidth,
            5 => OtdoaInformationItem::PrsConfigIndex,
            6 => OtdoaInformationItem::CpLength,
            7 => OtdoaInformationItem::NoDlFrames,
            8 => OtdoaInformationItem::NoAntennaPorts,
            9 => OtdoaInformationItem::SFnInitTime,
            10 => OtdoaInformationItem::NGRanAccessPointPosition,
            11 => OtdoaInformationItem::Prsmutingconfiguration,
            12 => OtdoaInformationItem::Prsid,
            13 => OtdoaInformationItem::Tpid,
            14 => OtdoaInformationItem::TpType,
            15 => OtdoaInformationItem::CrsCPlength,
            16 => OtdoaInformationItem::DlBandwidth,
            17 => OtdoaInformationItem::MultipleprsConfigurationsperCell,
            18 => OtdoaInformationItem::PrsOccasionGroup,
            19 => OtdoaInformationItem::PrsFrequencyHoppingConfiguration,
            20 => OtdoaInformationItem::TddConfig,
            other => OtdoaInformationItem::Other(other),
        })
    }
}

/// `OTDOA-Information-Type-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OtdoaInformationTypeItem {
    /// `oTDOA-Information-Item`
    pub o_tdoa_information_item: OtdoaInformationItem,
}
impl OtdoaInformationTypeItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.o_tdoa_information_item.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let o_tdoa_information_item = OtdoaInformationItem::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(OtdoaInformationTypeItem { o_tdoa_information_item })
    }
}

/// One information element: `OtdoaInformationRequest-otdoa_information_typeItem`.
#[derive(Debug, Clone, PartialEq)]
pub enum OtdoaInformationRequestOtdoaInformationTypeItem {
    /// `OTDOA-Information-Type-Item`
    OtdoaInformationTypeItem(OtdoaInformationTypeItem),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for OtdoaInformationRequestOtdoaInformationTypeItem {
    fn default() -> Self {
        OtdoaInformationRequestOtdoaInformationTypeItem::Other(0, 0, Vec::new())
    }
}
impl OtdoaInformationRequestOtdoaInformationTypeItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            OtdoaInformationRequestOtdoaInformationTypeItem::OtdoaInformationTypeItem(v) => {
                element(e, 10, 0)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            OtdoaInformationRequestOtdoaInformationTypeItem::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            10 => OtdoaInformationRequestOtdoaInformationTypeItem::OtdoaInformationTypeItem(
                d.open(|d| Ok(OtdoaInformationTypeItem::decode(d)?))?,
            ),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => OtdoaInformationRequestOtdoaInformationTypeItem::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `OTDOAInformationRequest`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OtdoaInformationRequest {
    /// `OTDOA-Information-Type`: SEQUENCE OF (SIZE (1..63)); information element 9, reject
    pub otdoa_information_type: Vec<OtdoaInformationRequestOtdoaInformationTypeItem>,
}
impl OtdoaInformationRequest {
    pub(crate) fn count(&self) -> usize {
        1
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 9, 0)?;
        e.open(|e| {
            e.count(self.otdoa_information_type.len(), Some(Size::range(1, 63)))?;
            for v in &self.otdoa_information_type {
                (*v).encode(e)?;
            }
            Ok(())
        })?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut otdoa_information_type = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                9 => {
                    otdoa_information_type = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 63)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(OtdoaInformationRequestOtdoaInformationTypeItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(OtdoaInformationRequest { otdoa_information_type: otdoa_information_type.ok_or(DecodeError::Missing(9))? })
    }
}

/// `RequestedSRSTransmissionCharacteristics-resourceType`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequestedSrsTransmissionCharacteristicsResourceType {
    /// `periodic`
    #[default]
    Periodic,
    /// `semi-persistent`
    SemiPersistent,
    /// `aperiodic`
    Aperiodic,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl RequestedSrsTransmissionCharacteristicsResourceType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                RequestedSrsTransmissionCharacteristicsResourceType::Periodic => 0,
                RequestedSrsTransmissionCharacteristicsResourceType::SemiPersistent => 1,
                RequestedSrsTransmissionCharacteristicsResourceType::Aperiodic => 2,
                RequestedSrsTransmissionCharacteristicsResourceType::Other(index) => index,
            },
            3,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, true)? {
            0 => RequestedSrsTransmissionCharacteristicsResourceType::Periodic,
            1 => RequestedSrsTransmissionCharacteristicsResourceType::SemiPersistent,
            2 => RequestedSrsTransmissionCharacteristicsResourceType::Aperiodic,
            other => RequestedSrsTransmissionCharacteristicsResourceType::Other(other),
        })
    }
}

/// `BandwidthSRS-fR1`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BandwidthSrsFR1 {
    /// `mHz5`
    #[default]
    MHz5,
    /// `mHz10`
    MHz10,
    /// `mHz20`
    MHz20,
    /// `mHz40`
    MHz40,
    /// `mHz50`
    MHz50,
    /// `mHz80`
    MHz80,
    /// `mHz100`
    MHz100,
    /// `mHz160`
    MHz160,
    /// `mHz200`
    MHz200,
    /// `mHz15`
    MHz15,
    /// `mHz25`
    MHz25,
    /// `mHz30`
    MHz30,
    /// `mHz60`
    MHz60,
    /// `mHz35`
    MHz35,
    /// `mHz45`
    MHz45,
    /// `mHz70`
    MHz70,
    /// `mHz90`
    MHz90,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl BandwidthSrsFR1 {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                BandwidthSrsFR1::MHz5 => 0,
                BandwidthSrsFR1::MHz10 => 1,
                BandwidthSrsFR1::MHz20 => 2,
                BandwidthSrsFR1::MHz40 => 3,
                BandwidthSrsFR1::MHz50 => 4,
                BandwidthSrsFR1::MHz80 => 5,
                BandwidthSrsFR1::MHz100 => 6,
                BandwidthSrsFR1::MHz160 => 7,
                BandwidthSrsFR1::MHz200 => 8,
                BandwidthSrsFR1::MHz15 => 9,
                BandwidthSrsFR1::MHz25 => 10,
                BandwidthSrsFR1::MHz30 => 11,
                BandwidthSrsFR1::MHz60 => 12,
                BandwidthSrsFR1::MHz35 => 13,
                BandwidthSrsFR1::MHz45 => 14,
                BandwidthSrsFR1::MHz70 => 15,
                BandwidthSrsFR1::MHz90 => 16,
                BandwidthSrsFR1::Other(index) => index,
            },
            7,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(7, true)? {
            0 => BandwidthSrsFR1::MHz5,
            1 => BandwidthSrsFR1::MHz10,
            2 => BandwidthSrsFR1::MHz20,
            3 => BandwidthSrsFR1::MHz40,
            4 => BandwidthSrsFR1::MHz50,
            5 => BandwidthSrsFR1::MHz80,
            6 => BandwidthSrsFR1::MHz100,
            7 => BandwidthSrsFR1::MHz160,
            8 => BandwidthSrsFR1::MHz200,
            9 => BandwidthSrsFR1::MHz15,
            10 => BandwidthSrsFR1::MHz25,
            11 => BandwidthSrsFR1::MHz30,
            12 => BandwidthSrsFR1::MHz60,
            13 => BandwidthSrsFR1::MHz35,
            14 => BandwidthSrsFR1::MHz45,
            15 => BandwidthSrsFR1::MHz70,
            16 => BandwidthSrsFR1::MHz90,
            other => BandwidthSrsFR1::Other(other),
        })
    }
}

/// `BandwidthSRS-fR2`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BandwidthSrsFR2 {
    /// `mHz50`
    #[default]
    MHz50,
    /// `mHz100`
    MHz100,
    /// `mHz200`
    MHz200,
    /// `mHz400`
    MHz400,
    /// `mHz600`
    MHz600,
    /// `mhz800`
    Mhz800,
    /// `mHz1600`
    MHz1600,
    /// `mHz2000`
    MHz2000,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl BandwidthSrsFR2 {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                BandwidthSrsFR2::MHz50 => 0,
                BandwidthSrsFR2::MHz100 => 1,
                BandwidthSrsFR2::MHz200 => 2,
                BandwidthSrsFR2::MHz400 => 3,
                BandwidthSrsFR2::MHz600 => 4,
                BandwidthSrsFR2::Mhz800 => 5,
                BandwidthSrsFR2::MHz1600 => 6,
                BandwidthSrsFR2::MHz2000 => 7,
                BandwidthSrsFR2::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => BandwidthSrsFR2::MHz50,
            1 => BandwidthSrsFR2::MHz100,
            2 => BandwidthSrsFR2::MHz200,
            3 => BandwidthSrsFR2::MHz400,
            4 => BandwidthSrsFR2::MHz600,
            5 => BandwidthSrsFR2::Mhz800,
            6 => BandwidthSrsFR2::MHz1600,
            7 => BandwidthSrsFR2::MHz2000,
            other => BandwidthSrsFR2::Other(other),
        })
    }
}

/// One information element: `BandwidthSRS-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum BandwidthSrsChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for BandwidthSrsChoiceExtension {
    fn default() -> Self {
        BandwidthSrsChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl BandwidthSrsChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            BandwidthSrsChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => BandwidthSrsChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `BandwidthSRS`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum BandwidthSrs {
    /// `fR1`
    FR1(BandwidthSrsFR1),
    /// `fR2`
    FR2(BandwidthSrsFR2),
    /// `choice-extension`
    ChoiceExtension(BandwidthSrsChoiceExtension),
}
impl Default for BandwidthSrs {
    fn default() -> Self {
        BandwidthSrs::FR1(Default::default())
    }
}
impl BandwidthSrs {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            BandwidthSrs::FR1(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            BandwidthSrs::FR2(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            BandwidthSrs::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => BandwidthSrs::FR1(BandwidthSrsFR1::decode(d)?),
            1 => BandwidthSrs::FR2(BandwidthSrsFR2::decode(d)?),
            2 => BandwidthSrs::ChoiceExtension(BandwidthSrsChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `PeriodicityItem`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PeriodicityItem {
    /// `ms0dot125`
    #[default]
    Ms0Dot125,
    /// `ms0dot25`
    Ms0Dot25,
    /// `ms0dot5`
    Ms0Dot5,
    /// `ms0dot625`
    Ms0Dot625,
    /// `ms1`
    Ms1,
    /// `ms1dot25`
    Ms1Dot25,
    /// `ms2`
    Ms2,
    /// `ms2dot5`
    Ms2Dot5,
    /// `ms4dot`
    Ms4Dot,
    /// `ms5`
    Ms5,
    /// `ms8`
    Ms8,
    /// `ms10`
    Ms10,
    /// `ms16`
    Ms16,
    /// `ms20`
    Ms20,
    /// `ms32`
    Ms32,
    /// `ms40`
    Ms40,
    /// `ms64`
    Ms64,
    /// `ms80m`
    Ms80M,
    /// `ms160`
    Ms160,
    /// `ms320`
    Ms320,
    /// `ms640m`
    Ms640M,
    /// `ms1280`
    Ms1280,
    /// `ms2560`
    Ms2560,
    /// `ms5120`
    Ms5120,
    /// `ms10240`
    Ms10240,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl PeriodicityItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PeriodicityItem::Ms0Dot125 => 0,
                PeriodicityItem::Ms0Dot25 => 1,
                PeriodicityItem::Ms0Dot5 => 2,
                PeriodicityItem::Ms0Dot625 => 3,
                PeriodicityItem::Ms1 => 4,
                PeriodicityItem::Ms1Dot25 => 5,
                PeriodicityItem::Ms2 => 6,
                PeriodicityItem::Ms2Dot5 => 7,
                PeriodicityItem::Ms4Dot => 8,
                PeriodicityItem::Ms5 => 9,
                PeriodicityItem::Ms8 => 10,
                PeriodicityItem::Ms10 => 11,
                PeriodicityItem::Ms16 => 12,
                PeriodicityItem::Ms20 => 13,
                PeriodicityItem::Ms32 => 14,
                PeriodicityItem::Ms40 => 15,
                PeriodicityItem::Ms64 => 16,
                PeriodicityItem::Ms80M => 17,
                PeriodicityItem::Ms160 => 18,
                PeriodicityItem::Ms320 => 19,
                PeriodicityItem::Ms640M => 20,
                PeriodicityItem::Ms1280 => 21,
                PeriodicityItem::Ms2560 => 22,
                PeriodicityItem::Ms5120 => 23,
                PeriodicityItem::Ms10240 => 24,
                PeriodicityItem::Other(index) => index,
            },
            25,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(25, true)? {
            0 => PeriodicityItem::Ms0Dot125,
            1 => PeriodicityItem::Ms0Dot25,
            2 => PeriodicityItem::Ms0Dot5,
            3 => PeriodicityItem::Ms0Dot625,
            4 => PeriodicityItem::Ms1,
            5 => PeriodicityItem::Ms1Dot25,
            6 => PeriodicityItem::Ms2,
            7 => PeriodicityItem::Ms2Dot5,
            8 => PeriodicityItem::Ms4Dot,
            9 => PeriodicityItem::Ms5,
            10 => PeriodicityItem::Ms8,
            11 => PeriodicityItem::Ms10,
            12 => PeriodicityItem::Ms16,
            13 => PeriodicityItem::Ms20,
            14 => PeriodicityItem::Ms32,
            15 => PeriodicityItem::Ms40,
            16 => PeriodicityItem::Ms64,
            17 => PeriodicityItem::Ms80M,
            18 => PeriodicityItem::Ms160,
            19 => PeriodicityItem::Ms320,
            20 => PeriodicityItem::Ms640M,
            21 => PeriodicityItem::Ms1280,
            22 => PeriodicityItem::Ms2560,
            23 => PeriodicityItem::Ms5120,
            24 => PeriodicityItem::Ms10240,
            other => PeriodicityItem::Other(other),
        })
    }
}

/// `SSB`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ssb {
    /// `pCI-NR`: INTEGER (0..1007)
    pub p_ci_nr: u16,
    /// `ssb-index`, `SSB-Index`: INTEGER (0..63)
    pub ssb_index: Option<u8>,
}
impl Ssb {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.ssb_index.is_some());
        e.bit(false);
        e.constrained(self.p_ci_nr.into(), 0, 1007)?;
        if let Some(v) = &self.ssb_index {
            e.constrained((*v).into(), 0, 63)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_ssb_index = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_ci_nr = d.constrained(0, 1007)? as u16;
        let ssb_index = if has_ssb_index { Some(d.constrained(0, 63)? as u8) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(Ssb { p_ci_nr, ssb_index })
    }
}

/// `DL-PRS`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DlPrs {
    /// `prsid`, `PRS-ID`: INTEGER (0..255)
    pub prsid: u8,
    /// `dl-PRSResourceSetID`, `PRS-Resource-Set-ID`: INTEGER (0..7)
    pub dl_prsresource_set_id: u8,
    /// `dl-PRSResourceID`, `PRS-Resource-ID`: INTEGER (0..63)
    pub dl_prsresource_id: Option<u8>,
}
impl DlPrs {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.dl_prsresource_id.is_some());
        e.bit(false);
        e.constrained(self.prsid.into(), 0, 255)?;
        e.constrained(self.dl_prsresource_set_id.into(), 0, 7)?;
        if let Some(v) = &self.dl_prsresource_id {
            e.constrained((*v).into(), 0, 63)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_dl_prsresource_id = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let prsid = d.constrained(0, 255)? as u8;
        let dl_prsresource_set_id = d.constrained(0, 7)? as u8;
        let dl_prsresource_id = if has_dl_prsresource_id { Some(d.constrained(0, 63)? as u8) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(DlPrs { prsid, dl_prsresource_set_id, dl_prsresource_id })
    }
}

/// One information element: `ReferenceSignal-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum ReferenceSignalChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for ReferenceSignalChoiceExtension {
    fn default() -> Self {
        ReferenceSignalChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl ReferenceSignalChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ReferenceSignalChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => ReferenceSignalChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `ReferenceSignal`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum ReferenceSignal {
    /// `nZP-CSI-RS`, `NZP-CSI-RS-ResourceID`: INTEGER (0..191)
    NZpCsiRs(u8),
    /// `sSB`
    SSb(Ssb),
    /// `sRS`, `SRSResourceID`: INTEGER (0..63)
    SRs(u8),
    /// `positioningSRS`, `SRSPosResourceID`: INTEGER (0..63)
    PositioningSrs(u8),
    /// `dL-PRS`
    DLPrs(DlPrs),
    /// `choice-Extension`
    ChoiceExtension(ReferenceSignalChoiceExtension),
}
impl Default for ReferenceSignal {
    fn default() -> Self {
        ReferenceSignal::NZpCsiRs(Default::default())
    }
}
impl ReferenceSignal {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ReferenceSignal::NZpCsiRs(v) => {
                e.index(0, 6, false)?;
                e.constrained((*v).into(), 0, 191)?;
            }
            ReferenceSignal::SSb(v) => {
                e.index(1, 6, false)?;
                (*v).encode(e)?;
            }
            ReferenceSignal::SRs(v) => {
                e.index(2, 6, false)?;
                e.constrained((*v).into(), 0, 63)?;
            }
            ReferenceSignal::PositioningSrs(v) => {
                e.index(3, 6, false)?;
                e.constrained((*v).into(), 0, 63)?;
            }
            ReferenceSignal::DLPrs(v) => {
                e.index(4, 6, false)?;
                (*v).encode(e)?;
            }
            ReferenceSignal::ChoiceExtension(v) => {
                e.index(5, 6, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(6, false)? {
            0 => ReferenceSignal::NZpCsiRs(d.constrained(0, 191)? as u8),
            1 => ReferenceSignal::SSb(Ssb::decode(d)?),
            2 => ReferenceSignal::SRs(d.constrained(0, 63)? as u8),
            3 => ReferenceSignal::PositioningSrs(d.constrained(0, 63)? as u8),
            4 => ReferenceSignal::DLPrs(DlPrs::decode(d)?),
            5 => ReferenceSignal::ChoiceExtension(ReferenceSignalChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `SpatialRelationforResourceIDItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SpatialRelationforResourceIdItem {
    /// `referenceSignal`
    pub reference_signal: ReferenceSignal,
}
impl SpatialRelationforResourceIdItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.reference_signal.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let reference_signal = ReferenceSignal::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SpatialRelationforResourceIdItem { reference_signal })
    }
}

/// `SpatialRelationInfo`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SpatialRelationInfo {
    /// `spatialRelationforResourceID`: SEQUENCE OF (SIZE (1..64))
    pub spatial_relationfor_resource_id: Vec<SpatialRelationforResourceIdItem>,
}
impl SpatialRelationInfo {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.count(self.spatial_relationfor_resource_id.len(), Some(Size::range(1, 64)))?;
        for v in &self.spatial_relationfor_resource_id {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let spatial_relationfor_resource_id = {
            let count = d.count(Some(Size::range(1, 64)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(SpatialRelationforResourceIdItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SpatialRelationInfo { spatial_relationfor_resource_id })
    }
}

/// One information element: `PathlossReferenceSignal-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum PathlossReferenceSignalChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for PathlossReferenceSignalChoiceExtension {
    fn default() -> Self {
        PathlossReferenceSignalChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl PathlossReferenceSignalChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            PathlossReferenceSignalChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => PathlossReferenceSignalChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `PathlossReferenceSignal`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum PathlossReferenceSignal {
    /// `sSB-Reference`
    SSbReference(Ssb),
    /// `dL-PRS-Reference`
    DLPrsReference(DlPrs),
    /// `choice-Extension`
    ChoiceExtension(PathlossReferenceSignalChoiceExtension),
}
impl Default for PathlossReferenceSignal {
    fn default() -> Self {
        PathlossReferenceSignal::SSbReference(Default::default())
    }
}
impl PathlossReferenceSignal {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            PathlossReferenceSignal::SSbReference(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            PathlossReferenceSignal::DLPrsReference(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            PathlossReferenceSignal::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => PathlossReferenceSignal::SSbReference(Ssb::decode(d)?),
            1 => PathlossReferenceSignal::DLPrsReference(DlPrs::decode(d)?),
            2 => PathlossReferenceSignal::ChoiceExtension(PathlossReferenceSignalChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `PathlossReferenceInformation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathlossReferenceInformation {
    /// `pathlossReferenceSignal`
    pub pathloss_reference_signal: PathlossReferenceSignal,
}
impl PathlossReferenceInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.pathloss_reference_signal.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let pathloss_reference_signal = PathlossReferenceSignal::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PathlossReferenceInformation { pathloss_reference_signal })
    }
}

/// `SpatialRelationPerSRSResourceItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SpatialRelationPerSrsResourceItem {
    /// `referenceSignal`
    pub reference_signal: ReferenceSignal,
}
impl SpatialRelationPerSrsResourceItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.reference_signal.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let reference_signal = ReferenceSignal::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SpatialRelationPerSrsResourceItem { reference_signal })
    }
}

/// `SpatialRelationPerSRSResource`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SpatialRelationPerSrsResource {
    /// `spatialRelationPerSRSResource-List`: SEQUENCE OF (SIZE (1..16))
    pub spatial_relation_per_srsresource_list: Vec<SpatialRelationPerSrsResourceItem>,
}
impl SpatialRelationPerSrsResource {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.count(self.spatial_relation_per_srsresource_list.len(), Some(Size::range(1, 16)))?;
        for v in &self.spatial_relation_per_srsresource_list {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let spatial_relation_per_srsresource_list = {
            let count = d.count(Some(Size::range(1, 16)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(SpatialRelationPerSrsResourceItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SpatialRelationPerSrsResource { spatial_relation_per_srsresource_list })
    }
}

/// The information elements of `SRSResourceSet-Item-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SrsResourceSetItemIEExtensions {
    /// `SpatialRelationPerSRSResource`; information element 63, ignore
    pub spatial_relation_per_srsresource: Option<SpatialRelationPerSrsResource>,
}
impl SrsResourceSetItemIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.spatial_relation_per_srsresource.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.spatial_relation_per_srsresource {
            element(e, 63, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut spatial_relation_per_srsresource = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                63 => {
                    spatial_relation_per_srsresource = Some(d.open(|d| Ok(SpatialRelationPerSrsResource::decode(d)?))?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(SrsResourceSetItemIEExtensions { spatial_relation_per_srsresource })
    }
}

/// `SRSResourceSet-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SrsResourceSetItem {
    /// `numberOfSRSResourcePerSet`: INTEGER (1..16, …)
    pub number_of_srsresource_per_set: Option<i64>,
    /// `periodicityList`: SEQUENCE OF (SIZE (1..16))
    pub periodicity_list: Option<Vec<PeriodicityItem>>,
    /// `spatialRelationInformation`
    pub spatial_relation_information: Option<SpatialRelationInfo>,
    /// `pathlossReferenceInformation`
    pub pathloss_reference_information: Option<PathlossReferenceInformation>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<SrsResourceSetItemIEExtensions>,
}
impl SrsResourceSetItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.number_of_srsresource_per_set.is_some());
        e.bit(self.periodicity_list.is_some());
        e.bit(self.spatial_relation_information.is_some());
        e.bit(self.pathloss_reference_information.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        if let Some(v) = &self.number_of_srsresource_per_set {
            e.extensible((*v).into(), 1, 16)?;
        }
        if let Some(v) = &self.periodicity_list {
            e.count((*v).len(), Some(Size::range(1, 16)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        if let Some(v) = &self.spatial_relation_information {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.pathloss_reference_information {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_number_of_srsresource_per_set = d.bit()?;
        let has_periodicity_list = d.bit()?;
        let has_spatial_relation_information = d.bit()?;
        let has_pathloss_reference_information = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let number_of_srsresource_per_set = if has_number_of_srsresource_per_set {
            Some(i64::try_from(d.extensible(1, 16)?).map_err(|_| DecodeError::Range)?)
        } else {
            None
        };
        let periodicity_list = if has_periodicity_list {
            Some({
                let count = d.count(Some(Size::range(1, 16)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(PeriodicityItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        let spatial_relation_information =
            if has_spatial_relation_information { Some(SpatialRelationInfo::decode(d)?) } else { None };
        let pathloss_reference_information =
            if has_pathloss_reference_information { Some(PathlossReferenceInformation::decode(d)?) } else { None };
        let i_e_extensions = if has_i_e_extensions {
            Some(SrsResourceSetItemIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SrsResourceSetItem {
            number_of_srsresource_per_set,
            periodicity_list,
            spatial_relation_information,
            pathloss_reference_information,
            i_e_extensions,
        })
    }
}

/// `TF-Configuration-sSB-subcarrier-spacing`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TfConfigurationSSbSubcarrierSpacing {
    /// `kHz15`
    #[default]
    KHz15,
    /// `kHz30`
    KHz30,
    /// `kHz120`
    KHz120,
    /// `kHz240`
    KHz240,
    /// `kHz60`
    KHz60,
    /// `kHz480`
    KHz480,
    /// `kHz960`
    KHz960,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TfConfigurationSSbSubcarrierSpacing {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TfConfigurationSSbSubcarrierSpacing::KHz15 => 0,
                TfConfigurationSSbSubcarrierSpacing::KHz30 => 1,
                TfConfigurationSSbSubcarrierSpacing::KHz120 => 2,
                TfConfigurationSSbSubcarrierSpacing::KHz240 => 3,
                TfConfigurationSSbSubcarrierSpacing::KHz60 => 4,
                TfConfigurationSSbSubcarrierSpacing::KHz480 => 5,
                TfConfigurationSSbSubcarrierSpacing::KHz960 => 6,
                TfConfigurationSSbSubcarrierSpacing::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => TfConfigurationSSbSubcarrierSpacing::KHz15,
            1 => TfConfigurationSSbSubcarrierSpacing::KHz30,
            2 => TfConfigurationSSbSubcarrierSpacing::KHz120,
            3 => TfConfigurationSSbSubcarrierSpacing::KHz240,
            4 => TfConfigurationSSbSubcarrierSpacing::KHz60,
            5 => TfConfigurationSSbSubcarrierSpacing::KHz480,
            6 => TfConfigurationSSbSubcarrierSpacing::KHz960,
            other => TfConfigurationSSbSubcarrierSpacing::Other(other),
        })
    }
}

/// `TF-Configuration-sSB-periodicity`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TfConfigurationSSbPeriodicity {
    /// `ms5`
    #[default]
    Ms5,
    /// `ms10`
    Ms10,
    /// `ms20`
    Ms20,
    /// `ms40`
    Ms40,
    /// `ms80`
    Ms80,
    /// `ms160`
    Ms160,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TfConfigurationSSbPeriodicity {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TfConfigurationSSbPeriodicity::Ms5 => 0,
                TfConfigurationSSbPeriodicity::Ms10 => 1,
                TfConfigurationSSbPeriodicity::Ms20 => 2,
                TfConfigurationSSbPeriodicity::Ms40 => 3,
                TfConfigurationSSbPeriodicity::Ms80 => 4,
                TfConfigurationSSbPeriodicity::Ms160 => 5,
                TfConfigurationSSbPeriodicity::Other(index) => index,
            },
            6,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(6, true)? {
            0 => TfConfigurationSSbPeriodicity::Ms5,
            1 => TfConfigurationSSbPeriodicity::Ms10,
            2 => TfConfigurationSSbPeriodicity::Ms20,
            3 => TfConfigurationSSbPeriodicity::Ms40,
            4 => TfConfigurationSSbPeriodicity::Ms80,
            5 => TfConfigurationSSbPeriodicity::Ms160,
            other => TfConfigurationSSbPeriodicity::Other(other),
        })
    }
}

/// One information element: `SSBBurstPosition-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum SsbBurstPositionChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for SsbBurstPositionChoiceExtension {
    fn default() -> Self {
        SsbBurstPositionChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl SsbBurstPositionChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            SsbBurstPositionChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => SsbBurstPositionChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `SSBBurstPosition`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum SsbBurstPosition {
    /// `shortBitmap`: BIT STRING (SIZE (4..4))
    ShortBitmap(BitString),
    /// `mediumBitmap`: BIT STRING (SIZE (8..8))
    MediumBitmap(BitString),
    /// `longBitmap`: BIT STRING (SIZE (64..64))
    LongBitmap(BitString),
    /// `choice-extension`
    ChoiceExtension(SsbBurstPositionChoiceExtension),
}
impl Default for SsbBurstPosition {
    fn default() -> Self {
        SsbBurstPosition::ShortBitmap(Default::default())
    }
}
impl SsbBurstPosition {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            SsbBurstPosition::ShortBitmap(v) => {
                e.index(0, 4, false)?;
                e.bit_string(&(*v), Some(Size::range(4, 4)))?;
            }
            SsbBurstPosition::MediumBitmap(v) => {
                e.index(1, 4, false)?;
                e.bit_string(&(*v), Some(Size::range(8, 8)))?;
            }
            SsbBurstPosition::LongBitmap(v) => {
                e.index(2, 4, false)?;
                e.bit_string(&(*v), Some(Size::range(64, 64)))?;
            }
            SsbBurstPosition::ChoiceExtension(v) => {
                e.index(3, 4, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, false)? {
            0 => SsbBurstPosition::ShortBitmap(d.bit_string(Some(Size::range(4, 4)))?),
            1 => SsbBurstPosition::MediumBitmap(d.bit_string(Some(Size::range(8, 8)))?),
            2 => SsbBurstPosition::LongBitmap(d.bit_string(Some(Size::range(64, 64)))?),
            3 => SsbBurstPosition::ChoiceExtension(SsbBurstPositionChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `TF-Configuration`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TfConfiguration {
    /// `sSB-frequency`: INTEGER (0..3279165)
    pub s_sb_frequency: u32,
    /// `sSB-subcarrier-spacing`
    pub s_sb_subcarrier_spacing: TfConfigurationSSbSubcarrierSpacing,
    /// `sSB-Transmit-power`: INTEGER (-60..50)
    pub s_sb_transmit_power: i8,
    /// `sSB-periodicity`
    pub s_sb_periodicity: TfConfigurationSSbPeriodicity,
    /// `sSB-half-frame-offset`: INTEGER (0..1)
    pub s_sb_half_frame_offset: u8,
    /// `sSB-SFN-offset`: INTEGER (0..15)
    pub s_sb_sfn_offset: u8,
    /// `sSB-BurstPosition`
    pub s_sb_burst_position: Option<SsbBurstPosition>,
    /// `sFN-initialisation-time`, `RelativeTime1900`: BIT STRING (SIZE (64..64))
    pub s_fn_initialisation_time: Option<BitString>,
}
impl TfConfiguration {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.s_sb_burst_position.is_some());
        e.bit(self.s_fn_initialisation_time.is_some());
        e.bit(false);
        e.constrained(self.s_sb_frequency.into(), 0, 3279165)?;
        self.s_sb_subcarrier_spacing.encode(e)?;
        e.constrained(self.s_sb_transmit_power.into(), -60, 50)?;
        self.s_sb_periodicity.encode(e)?;
        e.constrained(self.s_sb_half_frame_offset.into(), 0, 1)?;
        e.constrained(self.s_sb_sfn_offset.into(), 0, 15)?;
        if let Some(v) = &self.s_sb_burst_position {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.s_fn_initialisation_time {
            e.bit_string(&(*v), Some(Size::range(64, 64)))?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_s_sb_burst_position = d.bit()?;
        let has_s_fn_initialisation_time = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_sb_frequency = d.constrained(0, 3279165)? as u32;
        let s_sb_subcarrier_spacing = TfConfigurationSSbSubcarrierSpacing::decode(d)?;
        let s_sb_transmit_power = d.constrained(-60, 50)? as i8;
        let s_sb_periodicity = TfConfigurationSSbPeriodicity::decode(d)?;
        let s_sb_half_frame_offset = d.constrained(0, 1)? as u8;
        let s_sb_sfn_offset = d.constrained(0, 15)? as u8;
        let s_sb_burst_position = if has_s_sb_burst_position { Some(SsbBurstPosition::decode(d)?) } else { None };
        let s_fn_initialisation_time =
            if has_s_fn_initialisation_time { Some(d.bit_string(Some(Size::range(64, 64)))?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TfConfiguration {
            s_sb_frequency,
            s_sb_subcarrier_spacing,
            s_sb_transmit_power,
            s_sb_periodicity,
            s_sb_half_frame_offset,
            s_sb_sfn_offset,
            s_sb_burst_position,
            s_fn_initialisation_time,
        })
    }
}

/// `SSBInfoItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SsbInfoItem {
    /// `sSB-Configuration`
    pub s_sb_configuration: TfConfiguration,
    /// `pCI-NR`: INTEGER (0..1007)
    pub p_ci_nr: u16,
}
impl SsbInfoItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.s_sb_configuration.encode(e)?;
        e.constrained(self.p_ci_nr.into(), 0, 1007)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_sb_configuration = TfConfiguration::decode(d)?;
        let p_ci_nr = d.constrained(0, 1007)? as u16;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SsbInfoItem { s_sb_configuration, p_ci_nr })
    }
}

/// `SSBInfo`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SsbInfo {
    /// `listOfSSBInfo`: SEQUENCE OF (SIZE (1..255))
    pub list_of_ssbinfo: Vec<SsbInfoItem>,
}
impl SsbInfo {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.count(self.list_of_ssbinfo.len(), Some(Size::range(1, 255)))?;
        for v in &self.list_of_ssbinfo {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let list_of_ssbinfo = {
            let count = d.count(Some(Size::range(1, 255)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(SsbInfoItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SsbInfo { list_of_ssbinfo })
    }
}

/// `Bandwidth-Aggregation-Request-Indication`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BandwidthAggregationRequestIndication {
    /// `true`
    #[default]
    True,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl BandwidthAggregationRequestIndication {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                BandwidthAggregationRequestIndication::True => 0,
                BandwidthAggregationRequestIndication::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => BandwidthAggregationRequestIndication::True,
            other => BandwidthAggregationRequestIndication::Other(other),
        })
    }
}

/// `CGI-NR`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CgiNr {
    /// `pLMN-Identity`, `PLMN-Identity`: OCTET STRING (SIZE (3..3))
    pub p_lmn_identity: Vec<u8>,
    /// `nRcellIdentifier`, `NRCellIdentifier`: BIT STRING (SIZE (36..36))
    pub n_rcell_identifier: BitString,
}
impl CgiNr {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.octet_string(&self.p_lmn_identity, Some(Size::range(3, 3)))?;
        e.bit_string(&self.n_rcell_identifier, Some(Size::range(36, 36)))?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_lmn_identity = d.octet_string(Some(Size::range(3, 3)))?;
        let n_rcell_identifier = d.bit_string(Some(Size::range(36, 36)))?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(CgiNr { p_lmn_identity, n_rcell_identifier })
    }
}

/// `PosValidityAreaCell-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PosValidityAreaCellItem {
    /// `nR-CGI`
    pub n_r_cgi: CgiNr,
    /// `nR-PCI`, `NR-PCI`: INTEGER (0..1007)
    pub n_r_pci: Option<u16>,
}
impl PosValidityAreaCellItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.n_r_pci.is_some());
        e.bit(false);
        self.n_r_cgi.encode(e)?;
        if let Some(v) = &self.n_r_pci {
            e.constrained((*v).into(), 0, 1007)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_n_r_pci = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let n_r_cgi = CgiNr::decode(d)?;
        let n_r_pci = if has_n_r_pci { Some(d.constrained(0, 1007)? as u16) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PosValidityAreaCellItem { n_r_cgi, n_r_pci })
    }
}

/// `TransmissionCombPos-n2`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransmissionCombPosN2 {
    /// `combOffset-n2`: INTEGER (0..1)
    pub comb_offset_n2: u8,
    /// `cyclicShift-n2`: INTEGER (0..7)
    pub cyclic_shift_n2: u8,
}
impl TransmissionCombPosN2 {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.constrained(self.comb_offset_n2.into(), 0, 1)?;
        e.constrained(self.cyclic_shift_n2.into(), 0, 7)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let comb_offset_n2 = d.constrained(0, 1)? as u8;
        let cyclic_shift_n2 = d.constrained(0, 7)? as u8;
        Ok(TransmissionCombPosN2 { comb_offset_n2, cyclic_shift_n2 })
    }
}

/// `TransmissionCombPos-n4`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransmissionCombPosN4 {
    /// `combOffset-n4`: INTEGER (0..3)
    pub comb_offset_n4: u8,
    /// `cyclicShift-n4`: INTEGER (0..11)
    pub cyclic_shift_n4: u8,
}
impl TransmissionCombPosN4 {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.constrained(self.comb_offset_n4.into(), 0, 3)?;
        e.constrained(self.cyclic_shift_n4.into(), 0, 11)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let comb_offset_n4 = d.constrained(0, 3)? as u8;
        let cyclic_shift_n4 = d.constrained(0, 11)? as u8;
        Ok(TransmissionCombPosN4 { comb_offset_n4, cyclic_shift_n4 })
    }
}

/// `TransmissionCombPos-n8`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransmissionCombPosN8 {
    /// `combOffset-n8`: INTEGER (0..7)
    pub comb_offset_n8: u8,
    /// `cyclicShift-n8`: INTEGER (0..5)
    pub cyclic_shift_n8: u8,
}
impl TransmissionCombPosN8 {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.constrained(self.comb_offset_n8.into(), 0, 7)?;
        e.constrained(self.cyclic_shift_n8.into(), 0, 5)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let comb_offset_n8 = d.constrained(0, 7)? as u8;
        let cyclic_shift_n8 = d.constrained(0, 5)? as u8;
        Ok(TransmissionCombPosN8 { comb_offset_n8, cyclic_shift_n8 })
    }
}

/// One information element: `TransmissionCombPos-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum TransmissionCombPosChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for TransmissionCombPosChoiceExtension {
    fn default() -> Self {
        TransmissionCombPosChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl TransmissionCombPosChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TransmissionCombPosChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => TransmissionCombPosChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `TransmissionCombPos`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum TransmissionCombPos {
    /// `n2`
    N2(TransmissionCombPosN2),
    /// `n4`
    N4(TransmissionCombPosN4),
    /// `n8`
    N8(TransmissionCombPosN8),
    /// `choice-extension`
    ChoiceExtension(TransmissionCombPosChoiceExtension),
}
impl Default for TransmissionCombPos {
    fn default() -> Self {
        TransmissionCombPos::N2(Default::default())
    }
}
impl TransmissionCombPos {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TransmissionCombPos::N2(v) => {
                e.index(0, 4, false)?;
                (*v).encode(e)?;
            }
            TransmissionCombPos::N4(v) => {
                e.index(1, 4, false)?;
                (*v).encode(e)?;
            }
            TransmissionCombPos::N8(v) => {
                e.index(2, 4, false)?;
                (*v).encode(e)?;
            }
            TransmissionCombPos::ChoiceExtension(v) => {
                e.index(3, 4, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, false)? {
            0 => TransmissionCombPos::N2(TransmissionCombPosN2::decode(d)?),
            1 => TransmissionCombPos::N4(TransmissionCombPosN4::decode(d)?),
            2 => TransmissionCombPos::N8(TransmissionCombPosN8::decode(d)?),
            3 => TransmissionCombPos::ChoiceExtension(TransmissionCombPosChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `ResourceMapping-nrofSumbols`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResourceMappingNrofSumbols {
    /// `n1`
    #[default]
    N1,
    /// `n2`
    N2,
    /// `n4`
    N4,
    /// `n8`
    N8,
    /// `n12`
    N12,
}
impl ResourceMappingNrofSumbols {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                ResourceMappingNrofSumbols::N1 => 0,
                ResourceMappingNrofSumbols::N2 => 1,
                ResourceMappingNrofSumbols::N4 => 2,
                ResourceMappingNrofSumbols::N8 => 3,
                ResourceMappingNrofSumbols::N12 => 4,
            },
            5,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(5, false)? {
            0 => ResourceMappingNrofSumbols::N1,
            1 => ResourceMappingNrofSumbols::N2,
            2 => ResourceMappingNrofSumbols::N4,
            3 => ResourceMappingNrofSumbols::N8,
            4 => ResourceMappingNrofSumbols::N12,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `ResourceMapping`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResourceMapping {
    /// `startPosition`: INTEGER (0..13)
    pub start_position: u8,
    /// `nrofSumbols`
    pub nrof_sumbols: ResourceMappingNrofSumbols,
}
impl ResourceMapping {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.start_position.into(), 0, 13)?;
        self.nrof_sumbols.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let start_position = d.constrained(0, 13)? as u8;
        let nrof_sumbols = ResourceMappingNrofSumbols::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResourceMapping { start_position, nrof_sumbols })
    }
}

/// `SRSPeriodicity`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SrsPeriodicity {
    /// `slot1`
    #[default]
    Slot1,
    /// `slot2`
    Slot2,
    /// `slot4`
    Slot4,
    /// `slot5`
    Slot5,
    /// `slot8`
    Slot8,
    /// `slot10`
    Slot10,
    /// `slot16`
    Slot16,
    /// `slot20`
    Slot20,
    /// `slot32`
    Slot32,
    /// `slot40`
    Slot40,
    /// `slot64`
    Slot64,
    /// `slot80`
    Slot80,
    /// `slot160`
    Slot160,
    /// `slot320`
    Slot320,
    /// `slot640`
    Slot640,
    /// `slot1280`
    Slot1280,
    /// `slot2560`
    Slot2560,
    /// `slot5120`
    Slot5120,
    /// `slot10240`
    Slot10240,
    /// `slot40960`
    Slot40960,
    /// `slot81920`
    Slot81920,
    /// `slot128`
    Slot128,
    /// `slot256`
    Slot256,
    /// `slot512`
    Slot512,
    /// `slot20480`
    Slot20480,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl SrsPeriodicity {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                SrsPeriodicity::Slot1 => 0,
                SrsPeriodicity::Slot2 => 1,
                SrsPeriodicity::Slot4 => 2,
                SrsPeriodicity::Slot5 => 3,
                SrsPeriodicity::Slot8 => 4,
                SrsPeriodicity::Slot10 => 5,
                SrsPeriodicity::Slot16 => 6,
                SrsPeriodicity::Slot20 => 7,
                SrsPeriodicity::Slot32 => 8,
                SrsPeriodicity::Slot40 => 9,
                SrsPeriodicity::Slot64 => 10,
                SrsPeriodicity::Slot80 => 11,
                SrsPeriodicity::Slot160 => 12,
                SrsPeriodicity::Slot320 => 13,
                SrsPeriodicity::Slot640 => 14,
                SrsPeriodicity::Slot1280 => 15,
                SrsPeriodicity::Slot2560 => 16,
                SrsPeriodicity::Slot5120 => 17,
                SrsPeriodicity::Slot10240 => 18,
                SrsPeriodicity::Slot40960 => 19,
                SrsPeriodicity::Slot81920 => 20,
                SrsPeriodicity::Slot128 => 21,
                SrsPeriodicity::Slot256 => 22,
                SrsPeriodicity::Slot512 => 23,
                SrsPeriodicity::Slot20480 => 24,
                SrsPeriodicity::Other(index) => index,
            },
            21,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(21, true)? {
            0 => SrsPeriodicity::Slot1,
            1 => SrsPeriodicity::Slot2,
            2 => SrsPeriodicity::Slot4,
            3 => SrsPeriodicity::Slot5,
            4 => SrsPeriodicity::Slot8,
            5 => SrsPeriodicity::Slot10,
            6 => SrsPeriodicity::Slot16,
            7 => SrsPeriodicity::Slot20,
            8 => SrsPeriodicity::Slot32,
            9 => SrsPeriodicity::Slot40,
            10 => SrsPeriodicity::Slot64,
            11 => SrsPeriodicity::Slot80,
            12 => SrsPeriodicity::Slot160,
            13 => SrsPeriodicity::Slot320,
            14 => SrsPeriodicity::Slot640,
            15 => SrsPeriodicity::Slot1280,
            16 => SrsPeriodicity::Slot2560,
            17 => SrsPeriodicity::Slot5120,
            18 => SrsPeriodicity::Slot10240,
            19 => SrsPeriodicity::Slot40960,
            20 => SrsPeriodicity::Slot81920,
            21 => SrsPeriodicity::Slot128,
            22 => SrsPeriodicity::Slot256,
            23 => SrsPeriodicity::Slot512,
            24 => SrsPeriodicity::Slot20480,
            other => SrsPeriodicity::Other(other),
        })
    }
}

/// `SRSPosPeriodicConfigHyperSFNIndex`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SrsPosPeriodicConfigHyperSfnIndex {
    /// `even0`
    #[default]
    Even0,
    /// `odd1`
    Odd1,
}
impl SrsPosPeriodicConfigHyperSfnIndex {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                SrsPosPeriodicConfigHyperSfnIndex::Even0 => 0,
                SrsPosPeriodicConfigHyperSfnIndex::Odd1 => 1,
            },
            2,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, false)? {
            0 => SrsPosPeriodicConfigHyperSfnIndex::Even0,
            1 => SrsPosPeriodicConfigHyperSfnIndex::Odd1,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// The information elements of `ResourceTypePeriodicPos-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResourceTypePeriodicPosIEExtensions {
    /// `SRSPosPeriodicConfigHyperSFNIndex`; information element 165, ignore
    pub srspos_periodic_config_hyper_sfnindex: Option<SrsPosPeriodicConfigHyperSfnIndex>,
}
impl ResourceTypePeriodicPosIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.srspos_periodic_config_hyper_sfnindex.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.srspos_periodic_config_hyper_sfnindex {
            element(e, 165, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut srspos_periodic_config_hyper_sfnindex = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                165 => {
                    srspos_periodic_config_hyper_sfnindex =
                        Some(d.open(|d| Ok(SrsPosPeriodicConfigHyperSfnIndex::decode(d)?))?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(ResourceTypePeriodicPosIEExtensions { srspos_periodic_config_hyper_sfnindex })
    }
}

/// `ResourceTypePeriodicPos`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResourceTypePeriodicPos {
    /// `sRSPeriodicity`
    pub s_rsperiodicity: SrsPeriodicity,
    /// `offset`: INTEGER (0..81919, …)
    pub offset: i64,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<ResourceTypePeriodicPosIEExtensions>,
}
impl ResourceTypePeriodicPos {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        self.s_rsperiodicity.encode(e)?;
        e.extensible(self.offset.into(), 0, 81919)?;
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_rsperiodicity = SrsPeriodicity::decode(d)?;
        let offset = i64::try_from(d.extensible(0, 81919)?).map_err(|_| DecodeError::Range)?;
        let i_e_extensions = if has_i_e_extensions {
            Some(ResourceTypePeriodicPosIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResourceTypePeriodicPos { s_rsperiodicity, offset, i_e_extensions })
    }
}

/// The information elements of `ResourceTypeSemi-persistentPos-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResourceTypeSemiPersistentPosIEExtensions {
    /// `SRSPosPeriodicConfigHyperSFNIndex`; information element 165, ignore
    pub srspos_periodic_config_hyper_sfnindex: Option<SrsPosPeriodicConfigHyperSfnIndex>,
}
impl ResourceTypeSemiPersistentPosIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.srspos_periodic_config_hyper_sfnindex.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.srspos_periodic_config_hyper_sfnindex {
            element(e, 165, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut srspos_periodic_config_hyper_sfnindex = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                165 => {
                    srspos_periodic_config_hyper_sfnindex =
                        Some(d.open(|d| Ok(SrsPosPeriodicConfigHyperSfnIndex::decode(d)?))?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(ResourceTypeSemiPersistentPosIEExtensions { srspos_periodic_config_hyper_sfnindex })
    }
}

/// `ResourceTypeSemi-persistentPos`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResourceTypeSemiPersistentPos {
    /// `sRSPeriodicity`
    pub s_rsperiodicity: SrsPeriodicity,
    /// `offset`: INTEGER (0..81919, …)
    pub offset: i64,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<ResourceTypeSemiPersistentPosIEExtensions>,
}
impl ResourceTypeSemiPersistentPos {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        self.s_rsperiodicity.encode(e)?;
        e.extensible(self.offset.into(), 0, 81919)?;
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_rsperiodicity = SrsPeriodicity::decode(d)?;
        let offset = i64::try_from(d.extensible(0, 81919)?).map_err(|_| DecodeError::Range)?;
        let i_e_extensions = if has_i_e_extensions {
            Some(ResourceTypeSemiPersistentPosIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResourceTypeSemiPersistentPos { s_rsperiodicity, offset, i_e_extensions })
    }
}

/// `ResourceTypeAperiodicPos`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResourceTypeAperiodicPos {
    /// `slotOffset`: INTEGER (0..32)
    pub slot_offset: u8,
}
impl ResourceTypeAperiodicPos {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.slot_offset.into(), 0, 32)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let slot_offset = d.constrained(0, 32)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResourceTypeAperiodicPos { slot_offset })
    }
}

/// One information element: `ResourceTypePos-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceTypePosChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for ResourceTypePosChoiceExtension {
    fn default() -> Self {
        ResourceTypePosChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl ResourceTypePosChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ResourceTypePosChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => ResourceTypePosChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `ResourceTypePos`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceTypePos {
    /// `periodic`
    Periodic(ResourceTypePeriodicPos),
    /// `semi-persistent`
    SemiPersistent(ResourceTypeSemiPersistentPos),
    /// `aperiodic`
    Aperiodic(ResourceTypeAperiodicPos),
    /// `choice-extension`
    ChoiceExtension(ResourceTypePosChoiceExtension),
}
impl Default for ResourceTypePos {
    fn default() -> Self {
        ResourceTypePos::Periodic(Default::default())
    }
}
impl ResourceTypePos {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ResourceTypePos::Periodic(v) => {
                e.index(0, 4, false)?;
                (*v).encode(e)?;
            }
            ResourceTypePos::SemiPersistent(v) => {
                e.index(1, 4, false)?;
                (*v).encode(e)?;
            }
            ResourceTypePos::Aperiodic(v) => {
                e.index(2, 4, false)?;
                (*v).encode(e)?;
            }
            ResourceTypePos::ChoiceExtension(v) => {
                e.index(3, 4, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, false)? {
            0 => ResourceTypePos::Periodic(ResourceTypePeriodicPos::decode(d)?),
            1 => ResourceTypePos::SemiPersistent(ResourceTypeSemiPersistentPos::decode(d)?),
            2 => ResourceTypePos::Aperiodic(ResourceTypeAperiodicPos::decode(d)?),
            3 => ResourceTypePos::ChoiceExtension(ResourceTypePosChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `ValidityAreaSpecificSRSInformation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ValidityAreaSpecificSrsInformation {
    /// `transmissionCombPos`
    pub transmission_comb_pos: Option<TransmissionCombPos>,
    /// `resourceMapping`
    pub resource_mapping: Option<ResourceMapping>,
    /// `freqDomainShift`: INTEGER (0..268)
    pub freq_domain_shift: Option<u16>,
    /// `c-SRS`: INTEGER (0..63)
    pub c_srs: Option<u8>,
    /// `resourceTypePos`
    pub resource_type_pos: Option<ResourceTypePos>,
    /// `sequenceIDPos`: INTEGER (0..65535)
    pub sequence_idpos: Option<u16>,
}
impl ValidityAreaSpecificSrsInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.transmission_comb_pos.is_some());
        e.bit(self.resource_mapping.is_some());
        e.bit(self.freq_domain_shift.is_some());
        e.bit(self.c_srs.is_some());
        e.bit(self.resource_type_pos.is_some());
        e.bit(self.sequence_idpos.is_some());
        e.bit(false);
        if let Some(v) = &self.transmission_comb_pos {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.resource_mapping {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.freq_domain_shift {
            e.constrained((*v).into(), 0, 268)?;
        }
        if let Some(v) = &self.c_srs {
            e.constrained((*v).into(), 0, 63)?;
        }
        if let Some(v) = &self.resource_type_pos {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.sequence_idpos {
            e.constrained((*v).into(), 0, 65535)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_transmission_comb_pos = d.bit()?;
        let has_resource_mapping = d.bit()?;
        let has_freq_domain_shift = d.bit()?;
        let has_c_srs = d.bit()?;
        let has_resource_type_pos = d.bit()?;
        let has_sequence_idpos = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let transmission_comb_pos =
            if has_transmission_comb_pos { Some(TransmissionCombPos::decode(d)?) } else { None };
        let resource_mapping = if has_resource_mapping { Some(ResourceMapping::decode(d)?) } else { None };
        let freq_domain_shift = if has_freq_domain_shift { Some(d.constrained(0, 268)? as u16) } else { None };
        let c_srs = if has_c_srs { Some(d.constrained(0, 63)? as u8) } else { None };
        let resource_type_pos = if has_resource_type_pos { Some(ResourceTypePos::decode(d)?) } else { None };
        let sequence_idpos = if has_sequence_idpos { Some(d.constrained(0, 65535)? as u16) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ValidityAreaSpecificSrsInformation {
            transmission_comb_pos,
            resource_mapping,
            freq_domain_shift,
            c_srs,
            resource_type_pos,
            sequence_idpos,
        })
    }
}

/// `PosSRSResource-Item-nrofSymbols`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PosSrsResourceItemNrofSymbols {
    /// `n1`
    #[default]
    N1,
    /// `n2`
    N2,
    /// `n4`
    N4,
    /// `n8`
    N8,
    /// `n12`
    N12,
}
impl PosSrsResourceItemNrofSymbols {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PosSrsResourceItemNrofSymbols::N1 => 0,
                PosSrsResourceItemNrofSymbols::N2 => 1,
                PosSrsResourceItemNrofSymbols::N4 => 2,
                PosSrsResourceItemNrofSymbols::N8 => 3,
                PosSrsResourceItemNrofSymbols::N12 => 4,
            },
            5,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(5, false)? {
            0 => PosSrsResourceItemNrofSymbols::N1,
            1 => PosSrsResourceItemNrofSymbols::N2,
            2 => PosSrsResourceItemNrofSymbols::N4,
            3 => PosSrsResourceItemNrofSymbols::N8,
            4 => PosSrsResourceItemNrofSymbols::N12,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `PosSRSResource-Item-groupOrSequenceHopping`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PosSrsResourceItemGroupOrSequenceHopping {
    /// `neither`
    #[default]
    Neither,
    /// `groupHopping`
    GroupHopping,
    /// `sequenceHopping`
    SequenceHopping,
}
impl PosSrsResourceItemGroupOrSequenceHopping {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PosSrsResourceItemGroupOrSequenceHopping::Neither => 0,
                PosSrsResourceItemGroupOrSequenceHopping::GroupHopping => 1,
                PosSrsResourceItemGroupOrSequenceHopping::SequenceHopping => 2,
            },
            3,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => PosSrsResourceItemGroupOrSequenceHopping::Neither,
            1 => PosSrsResourceItemGroupOrSequenceHopping::GroupHopping,
            2 => PosSrsResourceItemGroupOrSequenceHopping::SequenceHopping,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `PRSInformationPos`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsInformationPos {
    /// `pRS-IDPos`, `PRS-ID`: INTEGER (0..255)
    pub p_rs_idpos: u8,
    /// `pRS-Resource-Set-IDPos`, `PRS-Resource-Set-ID`: INTEGER (0..7)
    pub p_rs_resource_set_idpos: u8,
    /// `pRS-Resource-IDPos`, `PRS-Resource-ID`: INTEGER (0..63)
    pub p_rs_resource_idpos: Option<u8>,
}
impl PrsInformationPos {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.p_rs_resource_idpos.is_some());
        e.bit(false);
        e.constrained(self.p_rs_idpos.into(), 0, 255)?;
        e.constrained(self.p_rs_resource_set_idpos.into(), 0, 7)?;
        if let Some(v) = &self.p_rs_resource_idpos {
            e.constrained((*v).into(), 0, 63)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_p_rs_resource_idpos = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_rs_idpos = d.constrained(0, 255)? as u8;
        let p_rs_resource_set_idpos = d.constrained(0, 7)? as u8;
        let p_rs_resource_idpos = if has_p_rs_resource_idpos { Some(d.constrained(0, 63)? as u8) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsInformationPos { p_rs_idpos, p_rs_resource_set_idpos, p_rs_resource_idpos })
    }
}

/// One information element: `SpatialRelationPos-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum SpatialRelationPosChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for SpatialRelationPosChoiceExtension {
    fn default() -> Self {
        SpatialRelationPosChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl SpatialRelationPosChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            SpatialRelationPosChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => SpatialRelationPosChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `SpatialRelationPos`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum SpatialRelationPos {
    /// `sSBPos`
    SSbPos(Ssb),
    /// `pRSInformationPos`
    PRsInformationPos(PrsInformationPos),
    /// `choice-extension`
    ChoiceExtension(SpatialRelationPosChoiceExtension),
}
impl Default for SpatialRelationPos {
    fn default() -> Self {
        SpatialRelationPos::SSbPos(Default::default())
    }
}
impl SpatialRelationPos {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            SpatialRelationPos::SSbPos(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            SpatialRelationPos::PRsInformationPos(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            SpatialRelationPos::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => SpatialRelationPos::SSbPos(Ssb::decode(d)?),
            1 => SpatialRelationPos::PRsInformationPos(PrsInformationPos::decode(d)?),
            2 => SpatialRelationPos::ChoiceExtension(SpatialRelationPosChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `TxHoppingConfiguration-overlapValue`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TxHoppingConfigurationOverlapValue {
    /// `rb0`
    #[default]
    Rb0,
    /// `rb1`
    Rb1,
    /// `rb2`
    Rb2,
    /// `rb4`
    Rb4,
}
impl TxHoppingConfigurationOverlapValue {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TxHoppingConfigurationOverlapValue::Rb0 => 0,
                TxHoppingConfigurationOverlapValue::Rb1 => 1,
                TxHoppingConfigurationOverlapValue::Rb2 => 2,
                TxHoppingConfigurationOverlapValue::Rb4 => 3,
            },
            4,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, false)? {
            0 => TxHoppingConfigurationOverlapValue::Rb0,
            1 => TxHoppingConfigurationOverlapValue::Rb1,
            2 => TxHoppingConfigurationOverlapValue::Rb2,
            3 => TxHoppingConfigurationOverlapValue::Rb4,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `SlotOffsetRemainingHopsAperiodic`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SlotOffsetRemainingHopsAperiodic {
    /// `slotOffset`: INTEGER (1..32)
    pub slot_offset: Option<u8>,
    /// `startPosition`: INTEGER (0..13)
    pub start_position: Option<u8>,
}
impl SlotOffsetRemainingHopsAperiodic {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.slot_offset.is_some());
        e.bit(self.start_position.is_some());
        e.bit(false);
        if let Some(v) = &self.slot_offset {
            e.constrained((*v).into(), 1, 32)?;
        }
        if let Some(v) = &self.start_position {
            e.constrained((*v).into(), 0, 13)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_slot_offset = d.bit()?;
        let has_start_position = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let slot_offset = if has_slot_offset { Some(d.constrained(1, 32)? as u8) } else { None };
        let start_position = if has_start_position { Some(d.constrained(0, 13)? as u8) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SlotOffsetRemainingHopsAperiodic { slot_offset, start_position })
    }
}

/// `SlotOffsetRemainingHopsSemiPersistent`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SlotOffsetRemainingHopsSemiPersistent {
    /// `sRSperiodicity`
    pub s_rsperiodicity: SrsPeriodicity,
    /// `offset`: INTEGER (0..81919, …)
    pub offset: i64,
    /// `startPosition`: INTEGER (0..13)
    pub start_position: Option<u8>,
}
impl SlotOffsetRemainingHopsSemiPersistent {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.start_position.is_some());
        e.bit(false);
        self.s_rsperiodicity.encode(e)?;
        e.extensible(self.offset.into(), 0, 81919)?;
        if let Some(v) = &self.start_position {
            e.constrained((*v).into(), 0, 13)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_start_position = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_rsperiodicity = SrsPeriodicity::decode(d)?;
        let offset = i64::try_from(d.extensible(0, 81919)?).map_err(|_| DecodeError::Range)?;
        let start_position = if has_start_position { Some(d.constrained(0, 13)? as u8) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SlotOffsetRemainingHopsSemiPersistent { s_rsperiodicity, offset, start_position })
    }
}

/// `SlotOffsetRemainingHopsPeriodic`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SlotOffsetRemainingHopsPeriodic {
    /// `sRSperiodicity`
    pub s_rsperiodicity: SrsPeriodicity,
    /// `offset`: INTEGER (0..81919, …)
    pub offset: i64,
    /// `startPosition`: INTEGER (0..13)
    pub start_position: Option<u8>,
}
impl SlotOffsetRemainingHopsPeriodic {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.start_position.is_some());
        e.bit(false);
        self.s_rsperiodicity.encode(e)?;
        e.extensible(self.offset.into(), 0, 81919)?;
        if let Some(v) = &self.start_position {
            e.constrained((*v).into(), 0, 13)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_start_position = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_rsperiodicity = SrsPeriodicity::decode(d)?;
        let offset = i64::try_from(d.extensible(0, 81919)?).map_err(|_| DecodeError::Range)?;
        let start_position = if has_start_position { Some(d.constrained(0, 13)? as u8) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SlotOffsetRemainingHopsPeriodic { s_rsperiodicity, offset, start_position })
    }
}

/// One information element: `SlotOffsetRemainingHops-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum SlotOffsetRemainingHopsChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for SlotOffsetRemainingHopsChoiceExtension {
    fn default() -> Self {
        SlotOffsetRemainingHopsChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl SlotOffsetRemainingHopsChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            SlotOffsetRemainingHopsChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => SlotOffsetRemainingHopsChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `SlotOffsetRemainingHops`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum SlotOffsetRemainingHops {
    /// `aperiodic`
    Aperiodic(SlotOffsetRemainingHopsAperiodic),
    /// `semi-persistent`
    SemiPersistent(SlotOffsetRemainingHopsSemiPersistent),
    /// `periodic`
    Periodic(SlotOffsetRemainingHopsPeriodic),
    /// `choice-extension`
    ChoiceExtension(SlotOffsetRemainingHopsChoiceExtension),
}
impl Default for SlotOffsetRemainingHops {
    fn default() -> Self {
        SlotOffsetRemainingHops::Aperiodic(Default::default())
    }
}
impl SlotOffsetRemainingHops {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            SlotOffsetRemainingHops::Aperiodic(v) => {
                e.index(0, 4, false)?;
                (*v).encode(e)?;
            }
            SlotOffsetRemainingHops::SemiPersistent(v) => {
                e.index(1, 4, false)?;
                (*v).encode(e)?;
            }
            SlotOffsetRemainingHops::Periodic(v) => {
                e.index(2, 4, false)?;
                (*v).encode(e)?;
            }
            SlotOffsetRemainingHops::ChoiceExtension(v) => {
                e.index(3, 4, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, false)? {
            0 => SlotOffsetRemainingHops::Aperiodic(SlotOffsetRemainingHopsAperiodic::decode(d)?),
            1 => SlotOffsetRemainingHops::SemiPersistent(SlotOffsetRemainingHopsSemiPersistent::decode(d)?),
            2 => SlotOffsetRemainingHops::Periodic(SlotOffsetRemainingHopsPeriodic::decode(d)?),
            3 => SlotOffsetRemainingHops::ChoiceExtension(SlotOffsetRemainingHopsChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `SlotOffsetForRemainingHopsItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SlotOffsetForRemainingHopsItem {
    /// `slotOffsetRemainingHops`
    pub slot_offset_remaining_hops: SlotOffsetRemainingHops,
}
impl SlotOffsetForRemainingHopsItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.slot_offset_remaining_hops.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let slot_offset_remaining_hops = SlotOffsetRemainingHops::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SlotOffsetForRemainingHopsItem { slot_offset_remaining_hops })
    }
}

/// `TxHoppingConfiguration`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TxHoppingConfiguration {
    /// `overlapValue`
    pub overlap_value: TxHoppingConfigurationOverlapValue,
    /// `numberOfHops`: INTEGER (2..6)
    pub number_of_hops: u8,
    /// `slotOffsetForRemainingHopsList`: SEQUENCE OF (SIZE (1..5))
    pub slot_offset_for_remaining_hops_list: Vec<SlotOffsetForRemainingHopsItem>,
}
impl TxHoppingConfiguration {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.overlap_value.encode(e)?;
        e.constrained(self.number_of_hops.into(), 2, 6)?;
        e.count(self.slot_offset_for_remaining_hops_list.len(), Some(Size::range(1, 5)))?;
        for v in &self.slot_offset_for_remaining_hops_list {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let overlap_value = TxHoppingConfigurationOverlapValue::decode(d)?;
        let number_of_hops = d.constrained(2, 6)? as u8;
        let slot_offset_for_remaining_hops_list = {
            let count = d.count(Some(Size::range(1, 5)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(SlotOffsetForRemainingHopsItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TxHoppingConfiguration { overlap_value, number_of_hops, slot_offset_for_remaining_hops_list })
    }
}

/// The information elements of `PosSRSResource-Item-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PosSrsResourceItemIEExtensions {
    /// `TxHoppingConfiguration`; information element 139, ignore
    pub tx_hopping_configuration: Option<TxHoppingConfiguration>,
}
impl PosSrsResourceItemIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.tx_hopping_configuration.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.tx_hopping_configuration {
            element(e, 139, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut tx_hopping_configuration = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                139 => tx_hopping_configuration = Some(d.open(|d| Ok(TxHoppingConfiguration::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(PosSrsResourceItemIEExtensions { tx_hopping_configuration })
    }
}

/// `PosSRSResource-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PosSrsResourceItem {
    /// `srs-PosResourceId`, `SRSPosResourceID`: INTEGER (0..63)
    pub srs_pos_resource_id: u8,
    /// `transmissionCombPos`
    pub transmission_comb_pos: TransmissionCombPos,
    /// `startPosition`: INTEGER (0..13)
    pub start_position: u8,
    /// `nrofSymbols`
    pub nrof_symbols: PosSrsResourceItemNrofSymbols,
    /// `freqDomainShift`: INTEGER (0..268)
    pub freq_domain_shift: u16,
    /// `c-SRS`: INTEGER (0..63)
    pub c_srs: u8,
    /// `groupOrSequenceHopping`
    pub group_or_sequence_hopping: PosSrsResourceItemGroupOrSequenceHopping,
    /// `resourceTypePos`
    pub resource_type_pos: ResourceTypePos,
    /// `sequenceId`: INTEGER (0..65535)
    pub sequence_id: u16,
    /// `spatialRelationPos`
    pub spatial_relation_pos: Option<SpatialRelationPos>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<PosSrsResourceItemIEExtensions>,
}
impl PosSrsResourceItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.spatial_relation_pos.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        e.constrained(self.srs_pos_resource_id.into(), 0, 63)?;
        self.transmission_comb_pos.encode(e)?;
        e.constrained(self.start_position.into(), 0, 13)?;
        self.nrof_symbols.encode(e)?;
        e.constrained(self.freq_domain_shift.into(), 0, 268)?;
        e.constrained(self.c_srs.into(), 0, 63)?;
        self.group_or_sequence_hopping.encode(e)?;
        self.resource_type_pos.encode(e)?;
        e.constrained(self.sequence_id.into(), 0, 65535)?;
        if let Some(v) = &self.spatial_relation_pos {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_spatial_relation_pos = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let srs_pos_resource_id = d.constrained(0, 63)? as u8;
        let transmission_comb_pos = TransmissionCombPos::decode(d)?;
        let start_position = d.constrained(0, 13)? as u8;
        let nrof_symbols = PosSrsResourceItemNrofSymbols::decode(d)?;
        let freq_domain_shift = d.constrained(0, 268)? as u16;
        let c_srs = d.constrained(0, 63)? as u8;
        let group_or_sequence_hopping = PosSrsResourceItemGroupOrSequenceHopping::decode(d)?;
        let resource_type_pos = ResourceTypePos::decode(d)?;
        let sequence_id = d.constrained(0, 65535)? as u16;
        let spatial_relation_pos = if has_spatial_relation_pos { Some(SpatialRelationPos::decode(d)?) } else { None };
        let i_e_extensions = if has_i_e_extensions {
            Some(PosSrsResourceItemIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PosSrsResourceItem {
            srs_pos_resource_id,
            transmission_comb_pos,
            start_position,
            nrof_symbols,
            freq_domain_shift,
            c_srs,
            group_or_sequence_hopping,
            resource_type_pos,
            sequence_id,
            spatial_relation_pos,
            i_e_extensions,
        })
    }
}

/// `PosResourceSetTypePeriodic-posperiodicSet`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PosResourceSetTypePeriodicPosperiodicSet {
    /// `true`
    #[default]
    True,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl PosResourceSetTypePeriodicPosperiodicSet {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PosResourceSetTypePeriodicPosperiodicSet::True => 0,
                PosResourceSetTypePeriodicPosperiodicSet::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => PosResourceSetTypePeriodicPosperiodicSet::True,
            other => PosResourceSetTypePeriodicPosperiodicSet::Other(other),
        })
    }
}

/// `PosResourceSetTypePeriodic`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PosResourceSetTypePeriodic {
    /// `posperiodicSet`
    pub posperiodic_set: PosResourceSetTypePeriodicPosperiodicSet,
}
impl PosResourceSetTypePeriodic {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.posperiodic_set.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let posperiodic_set = PosResourceSetTypePeriodicPosperiodicSet::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PosResourceSetTypePeriodic { posperiodic_set })
    }
}

/// `PosResourceSetTypeSemi-persistent-possemi-persistentSet`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PosResourceSetTypeSemiPersistentPossemiPersistentSet {
    /// `true`
    #[default]
    True,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl PosResourceSetTypeSemiPersistentPossemiPersistentSet {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PosResourceSetTypeSemiPersistentPossemiPersistentSet::True => 0,
                PosResourceSetTypeSemiPersistentPossemiPersistentSet::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => PosResourceSetTypeSemiPersistentPossemiPersistentSet::True,
            other => PosResourceSetTypeSemiPersistentPossemiPersistentSet::Other(other),
        })
    }
}

/// `PosResourceSetTypeSemi-persistent`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PosResourceSetTypeSemiPersistent {
    /// `possemi-persistentSet`
    pub possemi_persistent_set: PosResourceSetTypeSemiPersistentPossemiPersistentSet,
}
impl PosResourceSetTypeSemiPersistent {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.possemi_persistent_set.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let possemi_persistent_set = PosResourceSetTypeSemiPersistentPossemiPersistentSet::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PosResourceSetTypeSemiPersistent { possemi_persistent_set })
    }
}

/// `PosResourceSetTypeAperiodic`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PosResourceSetTypeAperiodic {
    /// `sRSResourceTrigger`: INTEGER (1..3)
    pub s_rsresource_trigger: u8,
}
impl PosResourceSetTypeAperiodic {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.s_rsresource_trigger.into(), 1, 3)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_rsresource_trigger = d.constrained(1, 3)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PosResourceSetTypeAperiodic { s_rsresource_trigger })
    }
}

/// One information element: `PosResourceSetType-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum PosResourceSetTypeChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for PosResourceSetTypeChoiceExtension {
    fn default() -> Self {
        PosResourceSetTypeChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl PosResourceSetTypeChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            PosResourceSetTypeChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => PosResourceSetTypeChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `PosResourceSetType`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum PosResourceSetType {
    /// `periodic`
    Periodic(PosResourceSetTypePeriodic),
    /// `semi-persistent`
    SemiPersistent(PosResourceSetTypeSemiPersistent),
    /// `aperiodic`
    Aperiodic(PosResourceSetTypeAperiodic),
    /// `choice-extension`
    ChoiceExtension(PosResourceSetTypeChoiceExtension),
}
impl Default for PosResourceSetType {
    fn default() -> Self {
        PosResourceSetType::Periodic(Default::default())
    }
}
impl PosResourceSetType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            PosResourceSetType::Periodic(v) => {
                e.index(0, 4, false)?;
                (*v).encode(e)?;
            }
            PosResourceSetType::SemiPersistent(v) => {
                e.index(1, 4, false)?;
                (*v).encode(e)?;
            }
            PosResourceSetType::Aperiodic(v) => {
                e.index(2, 4, false)?;
                (*v).encode(e)?;
            }
            PosResourceSetType::ChoiceExtension(v) => {
                e.index(3, 4, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, false)? {
            0 => PosResourceSetType::Periodic(PosResourceSetTypePeriodic::decode(d)?),
            1 => PosResourceSetType::SemiPersistent(PosResourceSetTypeSemiPersistent::decode(d)?),
            2 => PosResourceSetType::Aperiodic(PosResourceSetTypeAperiodic::decode(d)?),
            3 => PosResourceSetType::ChoiceExtension(PosResourceSetTypeChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `PosSRSResourceSet-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PosSrsResourceSetItem {
    /// `possrsResourceSetID`: INTEGER (0..15)
    pub possrs_resource_set_id: u8,
    /// `possRSResourceIDPerSet-List`: SEQUENCE OF (SIZE (1..16))
    pub poss_rsresource_idper_set_list: Vec<u8>,
    /// `posresourceSetType`
    pub posresource_set_type: PosResourceSetType,
}
impl PosSrsResourceSetItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.possrs_resource_set_id.into(), 0, 15)?;
        e.count(self.poss_rsresource_idper_set_list.len(), Some(Size::range(1, 16)))?;
        for v in &self.poss_rsresource_idper_set_list {
            e.constrained((*v).into(), 0, 63)?;
        }
        self.posresource_set_type.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let possrs_resource_set_id = d.constrained(0, 15)? as u8;
        let poss_rsresource_idper_set_list = {
            let count = d.count(Some(Size::range(1, 16)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(d.constrained(0, 63)? as u8);
            }
            list
        };
        let posresource_set_type = PosResourceSetType::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PosSrsResourceSetItem { possrs_resource_set_id, poss_rsresource_idper_set_list, posresource_set_type })
    }
}

/// `ValidityAreaSpecificSRSInformationExtended`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ValidityAreaSpecificSrsInformationExtended {
    /// `posSRSResource-List`: SEQUENCE OF (SIZE (1..64))
    pub pos_srsresource_list: Option<Vec<PosSrsResourceItem>>,
    /// `posSRSResourceSet-List`: SEQUENCE OF (SIZE (1..16))
    pub pos_srsresource_set_list: Option<Vec<PosSrsResourceSetItem>>,
}
impl ValidityAreaSpecificSrsInformationExtended {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.pos_srsresource_list.is_some());
        e.bit(self.pos_srsresource_set_list.is_some());
        e.bit(false);
        if let Some(v) = &self.pos_srsresource_list {
            e.count((*v).len(), Some(Size::range(1, 64)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        if let Some(v) = &self.pos_srsresource_set_list {
            e.count((*v).len(), Some(Size::range(1, 16)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_pos_srsresource_list = d.bit()?;
        let has_pos_srsresource_set_list = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let pos_srsresource_list = if has_pos_srsresource_list {
            Some({
                let count = d.count(Some(Size::range(1, 64)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(PosSrsResourceItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        let pos_srsresource_set_list = if has_pos_srsresource_set_list {
            Some({
                let count = d.count(Some(Size::range(1, 16)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(PosSrsResourceSetItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ValidityAreaSpecificSrsInformationExtended { pos_srsresource_list, pos_srsresource_set_list })
    }
}

/// The information elements of `RequestedSRSTransmissionCharacteristics-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestedSrsTransmissionCharacteristicsIEExtensions {
    /// `SrsFrequency`, `SrsFrequency`: INTEGER (0..3279165); information element 61, ignore
    pub srs_frequency: Option<u32>,
    /// `Bandwidth-Aggregation-Request-Indication`; information element 121, ignore
    pub bandwidth_aggregation_request_indication: Option<BandwidthAggregationRequestIndication>,
    /// `PosValidityAreaCellList`: SEQUENCE OF (SIZE (1..32)); information element 128, ignore
    pub pos_validity_area_cell_list: Option<Vec<PosValidityAreaCellItem>>,
    /// `ValidityAreaSpecificSRSInformation`; information element 135, ignore
    pub validity_area_specific_srsinformation: Option<Box<ValidityAreaSpecificSrsInformation>>,
    /// `ValidityAreaSpecificSRSInformationExtended`; information element 166, ignore
    pub validity_area_specific_srsinformation_extended: Option<ValidityAreaSpecificSrsInformationExtended>,
}
impl RequestedSrsTransmissionCharacteristicsIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.srs_frequency.is_some())
            + usize::from(self.bandwidth_aggregation_request_indication.is_some())
            + usize::from(self.pos_validity_area_cell_list.is_some())
            + usize::from(self.validity_area_specific_srsinformation.is_some())
            + usize::from(self.validity_area_specific_srsinformation_extended.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.srs_frequency {
            element(e, 61, 1)?;
            e.open(|e| {
                e.constrained((*v).into(), 0, 3279165)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.bandwidth_aggregation_request_indication {
            element(e, 121, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.pos_validity_area_cell_list {
            element(e, 128, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 32)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.validity_area_specific_srsinformation {
            element(e, 135, 1)?;
            e.open(|e| {
                (**v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.validity_area_specific_srsinformation_extended {
            element(e, 166, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut srs_frequency = None;
        let mut bandwidth_aggregation_request_indication = None;
        let mut pos_validity_area_cell_list = None;
        let mut validity_area_specific_srsinformation = None;
        let mut validity_area_specific_srsinformation_extended = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                61 => srs_frequency = Some(d.open(|d| Ok(d.constrained(0, 3279165)? as u32))?),
                121 => {
                    bandwidth_aggregation_request_indication =
                        Some(d.open(|d| Ok(BandwidthAggregationRequestIndication::decode(d)?))?)
                }
                128 => {
                    pos_validity_area_cell_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 32)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(PosValidityAreaCellItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                135 => {
                    validity_area_specific_srsinformation =
                        Some(d.open(|d| Ok(Box::new(ValidityAreaSpecificSrsInformation::decode(d)?)))?)
                }
                166 => {
                    validity_area_specific_srsinformation_extended =
                        Some(d.open(|d| Ok(ValidityAreaSpecificSrsInformationExtended::decode(d)?))?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(RequestedSrsTransmissionCharacteristicsIEExtensions {
            srs_frequency,
            bandwidth_aggregation_request_indication,
            pos_validity_area_cell_list,
            validity_area_specific_srsinformation,
            validity_area_specific_srsinformation_extended,
        })
    }
}

/// `RequestedSRSTransmissionCharacteristics`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestedSrsTransmissionCharacteristics {
    /// `numberOfTransmissions`: INTEGER (0..500, …)
    pub number_of_transmissions: Option<i64>,
    /// `resourceType`
    pub resource_type: RequestedSrsTransmissionCharacteristicsResourceType,
    /// `bandwidth`
    pub bandwidth: BandwidthSrs,
    /// `listOfSRSResourceSet`: SEQUENCE OF (SIZE (1..16))
    pub list_of_srsresource_set: Option<Vec<SrsResourceSetItem>>,
    /// `sSBInformation`
    pub s_sbinformation: Option<SsbInfo>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<Box<RequestedSrsTransmissionCharacteristicsIEExtensions>>,
}
impl RequestedSrsTransmissionCharacteristics {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.number_of_transmissions.is_some());
        e.bit(self.list_of_srsresource_set.is_some());
        e.bit(self.s_sbinformation.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        if let Some(v) = &self.number_of_transmissions {
            e.extensible((*v).into(), 0, 500)?;
        }
        self.resource_type.encode(e)?;
        self.bandwidth.encode(e)?;
        if let Some(v) = &self.list_of_srsresource_set {
            e.count((*v).len(), Some(Size::range(1, 16)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        if let Some(v) = &self.s_sbinformation {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (**v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_number_of_transmissions = d.bit()?;
        let has_list_of_srsresource_set = d.bit()?;
        let has_s_sbinformation = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let number_of_transmissions = if has_number_of_transmissions {
            Some(i64::try_from(d.extensible(0, 500)?).map_err(|_| DecodeError::Range)?)
        } else {
            None
        };
        let resource_type = RequestedSrsTransmissionCharacteristicsResourceType::decode(d)?;
        let bandwidth = BandwidthSrs::decode(d)?;
        let list_of_srsresource_set = if has_list_of_srsresource_set {
            Some({
                let count = d.count(Some(Size::range(1, 16)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(SrsResourceSetItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        let s_sbinformation = if has_s_sbinformation { Some(SsbInfo::decode(d)?) } else { None };
        let i_e_extensions = if has_i_e_extensions {
            Some(Box::new(RequestedSrsTransmissionCharacteristicsIEExtensions::decode(d)?)).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(RequestedSrsTransmissionCharacteristics {
            number_of_transmissions,
            resource_type,
            bandwidth,
            list_of_srsresource_set,
            s_sbinformation,
            i_e_extensions,
        })
    }
}

/// `UEReportingInformation-reportingAmount`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UeReportingInformationReportingAmount {
    /// `ma0`
    #[default]
    Ma0,
    /// `ma1`
    Ma1,
    /// `ma2`
    Ma2,
    /// `ma4`
    Ma4,
    /// `ma8`
    Ma8,
    /// `ma16`
    Ma16,
    /// `ma32`
    Ma32,
    /// `ma64`
    Ma64,
}
impl UeReportingInformationReportingAmount {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                UeReportingInformationReportingAmount::Ma0 => 0,
                UeReportingInformationReportingAmount::Ma1 => 1,
                UeReportingInformationReportingAmount::Ma2 => 2,
                UeReportingInformationReportingAmount::Ma4 => 3,
                UeReportingInformationReportingAmount::Ma8 => 4,
                UeReportingInformationReportingAmount::Ma16 => 5,
                UeReportingInformationReportingAmount::Ma32 => 6,
                UeReportingInformationReportingAmount::Ma64 => 7,
            },
            8,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(8, false)? {
            0 => UeReportingInformationReportingAmount::Ma0,
            1 => UeReportingInformationReportingAmount::Ma1,
            2 => UeReportingInformationReportingAmount::Ma2,
            3 => UeReportingInformationReportingAmount::Ma4,
            4 => UeReportingInformationReportingAmount::Ma8,
            5 => UeReportingInformationReportingAmount::Ma16,
            6 => UeReportingInformationReportingAmount::Ma32,
            7 => UeReportingInformationReportingAmount::Ma64,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `UEReportingInformation-reportingInterval`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UeReportingInformationReportingInterval {
    /// `none`
    #[default]
    None,
    /// `one`
    One,
    /// `two`
    Two,
    /// `four`
    Four,
    /// `eight`
    Eight,
    /// `ten`
    Ten,
    /// `sixteen`
    Sixteen,
    /// `twenty`
    Twenty,
    /// `thirty-two`
    ThirtyTwo,
    /// `sixty-four`
    SixtyFour,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl UeReportingInformationReportingInterval {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                UeReportingInformationReportingInterval::None => 0,
                UeReportingInformationReportingInterval::One => 1,
                UeReportingInformationReportingInterval::Two => 2,
                UeReportingInformationReportingInterval::Four => 3,
                UeReportingInformationReportingInterval::Eight => 4,
                UeReportingInformationReportingInterval::Ten => 5,
                UeReportingInformationReportingInterval::Sixteen => 6,
                UeReportingInformationReportingInterval::Twenty => 7,
                UeReportingInformationReportingInterval::ThirtyTwo => 8,
                UeReportingInformationReportingInterval::SixtyFour => 9,
                UeReportingInformationReportingInterval::Other(index) => index,
            },
            10,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(10, true)? {
            0 => UeReportingInformationReportingInterval::None,
            1 => UeReportingInformationReportingInterval::One,
            2 => UeReportingInformationReportingInterval::Two,
            3 => UeReportingInformationReportingInterval::Four,
            4 => UeReportingInformationReportingInterval::Eight,
            5 => UeReportingInformationReportingInterval::Ten,
            6 => UeReportingInformationReportingInterval::Sixteen,
            7 => UeReportingInformationReportingInterval::Twenty,
            8 => UeReportingInformationReportingInterval::ThirtyTwo,
            9 => UeReportingInformationReportingInterval::SixtyFour,
            other => UeReportingInformationReportingInterval::Other(other),
        })
    }
}

/// The information elements of `UEReportingInformation-iE-extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UeReportingInformationIEExtensions {
    /// `UEReportingInterval-milliseconds`, `UEReportingInterval-milliseconds`: INTEGER (1..999); information element
    /// 158, ignore
    pub uereporting_interval_milliseconds: Option<u16>,
}
impl UeReportingInformationIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.uereporting_interval_milliseconds.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.uereporting_interval_milliseconds {
            element(e, 158, 1)?;
            e.open(|e| {
                e.constrained((*v).into(), 1, 999)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut uereporting_interval_milliseconds = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                158 => uereporting_interval_milliseconds = Some(d.open(|d| Ok(d.constrained(1, 999)? as u16))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(UeReportingInformationIEExtensions { uereporting_interval_milliseconds })
    }
}

/// `UEReportingInformation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UeReportingInformation {
    /// `reportingAmount`
    pub reporting_amount: UeReportingInformationReportingAmount,
    /// `reportingInterval`
    pub reporting_interval: UeReportingInformationReportingInterval,
    /// `iE-extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<UeReportingInformationIEExtensions>,
}
impl UeReportingInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        self.reporting_amount.encode(e)?;
        self.reporting_interval.encode(e)?;
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let reporting_amount = UeReportingInformationReportingAmount::decode(d)?;
        let reporting_interval = UeReportingInformationReportingInterval::decode(d)?;
        let i_e_extensions = if has_i_e_extensions {
            Some(UeReportingInformationIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(UeReportingInformation { reporting_amount, reporting_interval, i_e_extensions })
    }
}

/// `UE-TEG-Info-Request`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UeTegInfoRequest {
    /// `onDemand`
    #[default]
    OnDemand,
    /// `periodic`
    Periodic,
    /// `stop`
    Stop,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl UeTegInfoRequest {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                UeTegInfoRequest::OnDemand => 0,
                UeTegInfoRequest::Periodic => 1,
                UeTegInfoRequest::Stop => 2,
                UeTegInfoRequest::Other(index) => index,
            },
            3,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, true)? {
            0 => UeTegInfoRequest::OnDemand,
            1 => UeTegInfoRequest::Periodic,
            2 => UeTegInfoRequest::Stop,
            other => UeTegInfoRequest::Other(other),
        })
    }
}

/// `UE-TEG-ReportingPeriodicity`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UeTegReportingPeriodicity {
    /// `ms160`
    #[default]
    Ms160,
    /// `ms320`
    Ms320,
    /// `ms1280`
    Ms1280,
    /// `ms2560`
    Ms2560,
    /// `ms61440`
    Ms61440,
    /// `ms81920`
    Ms81920,
    /// `ms368640`
    Ms368640,
    /// `ms737280`
    Ms737280,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl UeTegReportingPeriodicity {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                UeTegReportingPeriodicity::Ms160 => 0,
                UeTegReportingPeriodicity::Ms320 => 1,
                UeTegReportingPeriodicity::Ms1280 => 2,
                UeTegReportingPeriodicity::Ms2560 => 3,
                UeTegReportingPeriodicity::Ms61440 => 4,
                UeTegReportingPeriodicity::Ms81920 => 5,
                UeTegReportingPeriodicity::Ms368640 => 6,
                UeTegReportingPeriodicity::Ms737280 => 7,
                UeTegReportingPeriodicity::Other(index) => index,
            },
            8,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(8, true)? {
            0 => UeTegReportingPeriodicity::Ms160,
            1 => UeTegReportingPeriodicity::Ms320,
            2 => UeTegReportingPeriodicity::Ms1280,
            3 => UeTegReportingPeriodicity::Ms2560,
            4 => UeTegReportingPeriodicity::Ms61440,
            5 => UeTegReportingPeriodicity::Ms81920,
            6 => UeTegReportingPeriodicity::Ms368640,
            7 => UeTegReportingPeriodicity::Ms737280,
            other => UeTegReportingPeriodicity::Other(other),
        })
    }
}

/// `TimeWindowStartSRS`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimeWindowStartSrs {
    /// `systemFrameNumber`, `SystemFrameNumber`: INTEGER (0..1023)
    pub system_frame_number: u16,
    /// `slotNumber`, `SlotNumber`: INTEGER (0..79)
    pub slot_number: u8,
    /// `symbolIndex`: INTEGER (0..13)
    pub symbol_index: u8,
}
impl TimeWindowStartSrs {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.system_frame_number.into(), 0, 1023)?;
        e.constrained(self.slot_number.into(), 0, 79)?;
        e.constrained(self.symbol_index.into(), 0, 13)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extension = d.bit()?;
        let system_frame_number = d.constrained(0, 1023)? as u16;
        let slot_number = d.constrained(0, 79)? as u8;
        let symbol_index = d.constrained(0, 13)? as u8;
        if has_i_e_extension {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TimeWindowStartSrs { system_frame_number, slot_number, symbol_index })
    }
}

/// `TimeWindowDurationSRS-durationSymbols`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeWindowDurationSrsDurationSymbols {
    /// `n1`
    #[default]
    N1,
    /// `n2`
    N2,
    /// `n4`
    N4,
    /// `n8`
    N8,
    /// `n12`
    N12,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TimeWindowDurationSrsDurationSymbols {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TimeWindowDurationSrsDurationSymbols::N1 => 0,
                TimeWindowDurationSrsDurationSymbols::N2 => 1,
                TimeWindowDurationSrsDurationSymbols::N4 => 2,
                TimeWindowDurationSrsDurationSymbols::N8 => 3,
                TimeWindowDurationSrsDurationSymbols::N12 => 4,
                TimeWindowDurationSrsDurationSymbols::Other(index) => index,
            },
            5,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(5, true)? {
            0 => TimeWindowDurationSrsDurationSymbols::N1,
            1 => TimeWindowDurationSrsDurationSymbols::N2,
            2 => TimeWindowDurationSrsDurationSymbols::N4,
            3 => TimeWindowDurationSrsDurationSymbols::N8,
            4 => TimeWindowDurationSrsDurationSymbols::N12,
            other => TimeWindowDurationSrsDurationSymbols::Other(other),
        })
    }
}

/// `TimeWindowDurationSRS-durationSlots`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeWindowDurationSrsDurationSlots {
    /// `n1`
    #[default]
    N1,
    /// `n2`
    N2,
    /// `n4`
    N4,
    /// `n6`
    N6,
    /// `n8`
    N8,
    /// `n12`
    N12,
    /// `n16`
    N16,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TimeWindowDurationSrsDurationSlots {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TimeWindowDurationSrsDurationSlots::N1 => 0,
                TimeWindowDurationSrsDurationSlots::N2 => 1,
                TimeWindowDurationSrsDurationSlots::N4 => 2,
                TimeWindowDurationSrsDurationSlots::N6 => 3,
                TimeWindowDurationSrsDurationSlots::N8 => 4,
                TimeWindowDurationSrsDurationSlots::N12 => 5,
                TimeWindowDurationSrsDurationSlots::N16 => 6,
                TimeWindowDurationSrsDurationSlots::Other(index) => index,
            },
            7,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(7, true)? {
            0 => TimeWindowDurationSrsDurationSlots::N1,
            1 => TimeWindowDurationSrsDurationSlots::N2,
            2 => TimeWindowDurationSrsDurationSlots::N4,
            3 => TimeWindowDurationSrsDurationSlots::N6,
            4 => TimeWindowDurationSrsDurationSlots::N8,
            5 => TimeWindowDurationSrsDurationSlots::N12,
            6 => TimeWindowDurationSrsDurationSlots::N16,
            other => TimeWindowDurationSrsDurationSlots::Other(other),
        })
    }
}

/// One information element: `TimeWindowDurationSRS-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeWindowDurationSrsChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for TimeWindowDurationSrsChoiceExtension {
    fn default() -> Self {
        TimeWindowDurationSrsChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl TimeWindowDurationSrsChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TimeWindowDurationSrsChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => TimeWindowDurationSrsChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `TimeWindowDurationSRS`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeWindowDurationSrs {
    /// `durationSymbols`
    DurationSymbols(TimeWindowDurationSrsDurationSymbols),
    /// `durationSlots`
    DurationSlots(TimeWindowDurationSrsDurationSlots),
    /// `choice-extension`
    ChoiceExtension(TimeWindowDurationSrsChoiceExtension),
}
impl Default for TimeWindowDurationSrs {
    fn default() -> Self {
        TimeWindowDurationSrs::DurationSymbols(Default::default())
    }
}
impl TimeWindowDurationSrs {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TimeWindowDurationSrs::DurationSymbols(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            TimeWindowDurationSrs::DurationSlots(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            TimeWindowDurationSrs::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => TimeWindowDurationSrs::DurationSymbols(TimeWindowDurationSrsDurationSymbols::decode(d)?),
            1 => TimeWindowDurationSrs::DurationSlots(TimeWindowDurationSrsDurationSlots::decode(d)?),
            2 => TimeWindowDurationSrs::ChoiceExtension(TimeWindowDurationSrsChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `TimeWindowInformation-SRS-Item-timeWindowType`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeWindowInformationSrsItemTimeWindowType {
    /// `single`
    #[default]
    Single,
    /// `periodic`
    Periodic,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TimeWindowInformationSrsItemTimeWindowType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TimeWindowInformationSrsItemTimeWindowType::Single => 0,
                TimeWindowInformationSrsItemTimeWindowType::Periodic => 1,
                TimeWindowInformationSrsItemTimeWindowType::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => TimeWindowInformationSrsItemTimeWindowType::Single,
            1 => TimeWindowInformationSrsItemTimeWindowType::Periodic,
            other => TimeWindowInformationSrsItemTimeWindowType::Other(other),
        })
    }
}

/// `TimeWindowPeriodicitySRS`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeWindowPeriodicitySrs {
    /// `ms0dot125`
    #[default]
    Ms0Dot125,
    /// `ms0dot25`
    Ms0Dot25,
    /// `ms0dot5`
    Ms0Dot5,
    /// `ms0dot625`
    Ms0Dot625,
    /// `ms1`
    Ms1,
    /// `ms1dot25`
    Ms1Dot25,
    /// `ms2`
    Ms2,
    /// `ms2dot5`
    Ms2Dot5,
    /// `ms4`
    Ms4,
    /// `ms5`
    Ms5,
    /// `ms8`
    Ms8,
    /// `ms10`
    Ms10,
    /// `ms16`
    Ms16,
    /// `ms20`
    Ms20,
    /// `ms32`
    Ms32,
    /// `ms40`
    Ms40,
    /// `ms64`
    Ms64,
    /// `ms80`
    Ms80,
    /// `ms160`
    Ms160,
    /// `ms320`
    Ms320,
    /// `ms640`
    Ms640,
    /// `ms1280`
    Ms1280,
    /// `ms2560`
    Ms2560,
    /// `ms5120`
    Ms5120,
    /// `ms10240`
    Ms10240,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TimeWindowPeriodicitySrs {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TimeWindowPeriodicitySrs::Ms0Dot125 => 0,
                TimeWindowPeriodicitySrs::Ms0Dot25 => 1,
                TimeWindowPeriodicitySrs::Ms0Dot5 => 2,
                TimeWindowPeriodicitySrs::Ms0Dot625 => 3,
                TimeWindowPeriodicitySrs::Ms1 => 4,
                TimeWindowPeriodicitySrs::Ms1Dot25 => 5,
                TimeWindowPeriodicitySrs::Ms2 => 6,
                TimeWindowPeriodicitySrs::Ms2Dot5 => 7,
                TimeWindowPeriodicitySrs::Ms4 => 8,
                TimeWindowPeriodicitySrs::Ms5 => 9,
                TimeWindowPeriodicitySrs::Ms8 => 10,
                TimeWindowPeriodicitySrs::Ms10 => 11,
                TimeWindowPeriodicitySrs::Ms16 => 12,
                TimeWindowPeriodicitySrs::Ms20 => 13,
                TimeWindowPeriodicitySrs::Ms32 => 14,
                TimeWindowPeriodicitySrs::Ms40 => 15,
                TimeWindowPeriodicitySrs::Ms64 => 16,
                TimeWindowPeriodicitySrs::Ms80 => 17,
                TimeWindowPeriodicitySrs::Ms160 => 18,
                TimeWindowPeriodicitySrs::Ms320 => 19,
                TimeWindowPeriodicitySrs::Ms640 => 20,
                TimeWindowPeriodicitySrs::Ms1280 => 21,
                TimeWindowPeriodicitySrs::Ms2560 => 22,
                TimeWindowPeriodicitySrs::Ms5120 => 23,
                TimeWindowPeriodicitySrs::Ms10240 => 24,
                TimeWindowPeriodicitySrs::Other(index) => index,
            },
            25,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(25, true)? {
            0 => TimeWindowPeriodicitySrs::Ms0Dot125,
            1 => TimeWindowPeriodicitySrs::Ms0Dot25,
            2 => TimeWindowPeriodicitySrs::Ms0Dot5,
            3 => TimeWindowPeriodicitySrs::Ms0Dot625,
            4 => TimeWindowPeriodicitySrs::Ms1,
            5 => TimeWindowPeriodicitySrs::Ms1Dot25,
            6 => TimeWindowPeriodicitySrs::Ms2,
            7 => TimeWindowPeriodicitySrs::Ms2Dot5,
            8 => TimeWindowPeriodicitySrs::Ms4,
            9 => TimeWindowPeriodicitySrs::Ms5,
            10 => TimeWindowPeriodicitySrs::Ms8,
            11 => TimeWindowPeriodicitySrs::Ms10,
            12 => TimeWindowPeriodicitySrs::Ms16,
            13 => TimeWindowPeriodicitySrs::Ms20,
            14 => TimeWindowPeriodicitySrs::Ms32,
            15 => TimeWindowPeriodicitySrs::Ms40,
            16 => TimeWindowPeriodicitySrs::Ms64,
            17 => TimeWindowPeriodicitySrs::Ms80,
            18 => TimeWindowPeriodicitySrs::Ms160,
            19 => TimeWindowPeriodicitySrs::Ms320,
            20 => TimeWindowPeriodicitySrs::Ms640,
            21 => TimeWindowPeriodicitySrs::Ms1280,
            22 => TimeWindowPeriodicitySrs::Ms2560,
            23 => TimeWindowPeriodicitySrs::Ms5120,
            24 => TimeWindowPeriodicitySrs::Ms10240,
            other => TimeWindowPeriodicitySrs::Other(other),
        })
    }
}

/// `TimeWindowInformation-SRS-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimeWindowInformationSrsItem {
    /// `timeWindowStartSRS`
    pub time_window_start_srs: TimeWindowStartSrs,
    /// `timeWindowDurationSRS`
    pub time_window_duration_srs: TimeWindowDurationSrs,
    /// `timeWindowType`
    pub time_window_type: TimeWindowInformationSrsItemTimeWindowType,
    /// `timeWindowPeriodicitySRS`
    pub time_window_periodicity_srs: Option<TimeWindowPeriodicitySrs>,
}
impl TimeWindowInformationSrsItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.time_window_periodicity_srs.is_some());
        e.bit(false);
        self.time_window_start_srs.encode(e)?;
        self.time_window_duration_srs.encode(e)?;
        self.time_window_type.encode(e)?;
        if let Some(v) = &self.time_window_periodicity_srs {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_time_window_periodicity_srs = d.bit()?;
        let has_i_e_extension = d.bit()?;
        let time_window_start_srs = TimeWindowStartSrs::decode(d)?;
        let time_window_duration_srs = TimeWindowDurationSrs::decode(d)?;
        let time_window_type = TimeWindowInformationSrsItemTimeWindowType::decode(d)?;
        let time_window_periodicity_srs =
            if has_time_window_periodicity_srs { Some(TimeWindowPeriodicitySrs::decode(d)?) } else { None };
        if has_i_e_extension {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TimeWindowInformationSrsItem {
            time_window_start_srs,
            time_window_duration_srs,
            time_window_type,
            time_window_periodicity_srs,
        })
    }
}

/// `RequestedSRSPreconfigurationCharacteristics-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestedSrsPreconfigurationCharacteristicsItem {
    /// `requestedSRSTransmissionCharacteristics`
    pub requested_srstransmission_characteristics: RequestedSrsTransmissionCharacteristics,
}
impl RequestedSrsPreconfigurationCharacteristicsItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.requested_srstransmission_characteristics.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let requested_srstransmission_characteristics = RequestedSrsTransmissionCharacteristics::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(RequestedSrsPreconfigurationCharacteristicsItem { requested_srstransmission_characteristics })
    }
}

/// `Remote-UE-Indication-Request`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RemoteUeIndicationRequest {
    /// `true`
    #[default]
    True,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl RemoteUeIndicationRequest {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                RemoteUeIndicationRequest::True => 0,
                RemoteUeIndicationRequest::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => RemoteUeIndicationRequest::True,
            other => RemoteUeIndicationRequest::Other(other),
        })
    }
}

/// `PositioningInformationRequest`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PositioningInformationRequest {
    /// `RequestedSRSTransmissionCharacteristics`; information element 12, ignore
    pub requested_srstransmission_characteristics: Option<Box<RequestedSrsTransmissionCharacteristics>>,
    /// `UEReportingInformation`; information element 73, ignore
    pub uereporting_information: Option<UeReportingInformation>,
    /// `UE-TEG-Info-Request`; information element 90, ignore
    pub ue_teg_info_request: Option<UeTegInfoRequest>,
    /// `UE-TEG-ReportingPeriodicity`; information element 99, reject
    pub ue_teg_reporting_periodicity: Option<UeTegReportingPeriodicity>,
    /// `TimeWindowInformation-SRS-List`: SEQUENCE OF (SIZE (1..16)); information element 124, ignore
    pub time_window_information_srs_list: Option<Vec<TimeWindowInformationSrsItem>>,
    /// `RequestedSRSPreconfigurationCharacteristics-List`: SEQUENCE OF (SIZE (1..16)); information element 136, ignore
    pub requested_srspreconfiguration_characteristics_list:
        Option<Vec<RequestedSrsPreconfigurationCharacteristicsItem>>,
    /// `Remote-UE-Indication-Request`; information element 159, ignore
    pub remote_ue_indication_request: Option<RemoteUeIndicationRequest>,
}
impl PositioningInformationRequest {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.requested_srstransmission_characteristics.is_some())
            + usize::from(self.uereporting_information.is_some())
            + usize::from(self.ue_teg_info_request.is_some())
            + usize::from(self.ue_teg_reporting_periodicity.is_some())
            + usize::from(self.time_window_information_srs_list.is_some())
            + usize::from(self.requested_srspreconfiguration_characteristics_list.is_some())
            + usize::from(self.remote_ue_indication_request.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        if let Some(v) = &self.requested_srstransmission_characteristics {
            element(e, 12, 1)?;
            e.open(|e| {
                (**v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.uereporting_information {
            element(e, 73, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.ue_teg_info_request {
            element(e, 90, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.ue_teg_reporting_periodicity {
            element(e, 99, 0)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.time_window_information_srs_list {
            element(e, 124, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 16)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.requested_srspreconfiguration_characteristics_list {
            element(e, 136, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 16)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.remote_ue_indication_request {
            element(e, 159, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut requested_srstransmission_characteristics = None;
        let mut uereporting_information = None;
        let mut ue_teg_info_request = None;
        let mut ue_teg_reporting_periodicity = None;
        let mut time_window_information_srs_list = None;
        let mut requested_srspreconfiguration_characteristics_list = None;
        let mut remote_ue_indication_request = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                12 => {
                    requested_srstransmission_characteristics =
                        Some(d.open(|d| Ok(Box::new(RequestedSrsTransmissionCharacteristics::decode(d)?)))?)
                }
                73 => uereporting_information = Some(d.open(|d| Ok(UeReportingInformation::decode(d)?))?),
                90 => ue_teg_info_request = Some(d.open(|d| Ok(UeTegInfoRequest::decode(d)?))?),
                99 => ue_teg_reporting_periodicity = Some(d.open(|d| Ok(UeTegReportingPeriodicity::decode(d)?))?),
                124 => {
                    time_window_information_srs_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 16)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(TimeWindowInformationSrsItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                136 => {
                    requested_srspreconfiguration_characteristics_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 16)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(RequestedSrsPreconfigurationCharacteristicsItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                159 => remote_ue_indication_request = Some(d.open(|d| Ok(RemoteUeIndicationRequest::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PositioningInformationRequest {
            requested_srstransmission_characteristics,
            uereporting_information,
            ue_teg_info_request,
            ue_teg_reporting_periodicity,
            time_window_information_srs_list,
            requested_srspreconfiguration_characteristics_list,
            remote_ue_indication_request,
        })
    }
}

/// `Search-window-information`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchWindowInformation {
    /// `expectedPropagationDelay`: INTEGER (-3841..3841, …)
    pub expected_propagation_delay: i64,
    /// `delayUncertainty`: INTEGER (1..246, …)
    pub delay_uncertainty: i64,
}
impl SearchWindowInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.extensible(self.expected_propagation_delay.into(), -3841, 3841)?;
        e.extensible(self.delay_uncertainty.into(), 1, 246)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let expected_propagation_delay = i64::try_from(d.extensible(-3841, 3841)?).map_err(|_| DecodeError::Range)?;
        let delay_uncertainty = i64::try_from(d.extensible(1, 246)?).map_err(|_| DecodeError::Range)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SearchWindowInformation { expected_propagation_delay, delay_uncertainty })
    }
}

/// `Expected-Azimuth-AoA`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExpectedAzimuthAoA {
    /// `expected-Azimuth-AoA-value`, `Expected-Value-AoA`: INTEGER (0..3599)
    pub expected_azimuth_ao_a_value: u16,
    /// `expected-Azimuth-AoA-uncertainty`, `Uncertainty-range-AoA`: INTEGER (0..3599)
    pub expected_azimuth_ao_a_uncertainty: u16,
}
impl ExpectedAzimuthAoA {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.expected_azimuth_ao_a_value.into(), 0, 3599)?;
        e.constrained(self.expected_azimuth_ao_a_uncertainty.into(), 0, 3599)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let expected_azimuth_ao_a_value = d.constrained(0, 3599)? as u16;
        let expected_azimuth_ao_a_uncertainty = d.constrained(0, 3599)? as u16;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ExpectedAzimuthAoA { expected_azimuth_ao_a_value, expected_azimuth_ao_a_uncertainty })
    }
}

/// `Expected-Zenith-AoA`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExpectedZenithAoA {
    /// `expected-Zenith-AoA-value`, `Expected-Value-ZoA`: INTEGER (0..1799)
    pub expected_zenith_ao_a_value: u16,
    /// `expected-Zenith-AoA-uncertainty`, `Uncertainty-range-ZoA`: INTEGER (0..1799)
    pub expected_zenith_ao_a_uncertainty: u16,
}
impl ExpectedZenithAoA {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.expected_zenith_ao_a_value.into(), 0, 1799)?;
        e.constrained(self.expected_zenith_ao_a_uncertainty.into(), 0, 1799)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let expected_zenith_ao_a_value = d.constrained(0, 1799)? as u16;
        let expected_zenith_ao_a_uncertainty = d.constrained(0, 1799)? as u16;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ExpectedZenithAoA { expected_zenith_ao_a_value, expected_zenith_ao_a_uncertainty })
    }
}

/// `Expected-UL-AoA`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExpectedUlAoA {
    /// `expected-Azimuth-AoA`
    pub expected_azimuth_ao_a: ExpectedAzimuthAoA,
    /// `expected-Zenith-AoA`
    pub expected_zenith_ao_a: Option<ExpectedZenithAoA>,
}
impl ExpectedUlAoA {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.expected_zenith_ao_a.is_some());
        e.bit(false);
        self.expected_azimuth_ao_a.encode(e)?;
        if let Some(v) = &self.expected_zenith_ao_a {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_expected_zenith_ao_a = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let expected_azimuth_ao_a = ExpectedAzimuthAoA::decode(d)?;
        let expected_zenith_ao_a = if has_expected_zenith_ao_a { Some(ExpectedZenithAoA::decode(d)?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ExpectedUlAoA { expected_azimuth_ao_a, expected_zenith_ao_a })
    }
}

/// `Expected-ZoA-only`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExpectedZoAOnly {
    /// `expected-ZoA-only`
    pub expected_zo_a_only: ExpectedZenithAoA,
}
impl ExpectedZoAOnly {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.expected_zo_a_only.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let expected_zo_a_only = ExpectedZenithAoA::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ExpectedZoAOnly { expected_zo_a_only })
    }
}

/// One information element: `AngleMeasurementType-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum AngleMeasurementTypeChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for AngleMeasurementTypeChoiceExtension {
    fn default() -> Self {
        AngleMeasurementTypeChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl AngleMeasurementTypeChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            AngleMeasurementTypeChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => AngleMeasurementTypeChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `AngleMeasurementType`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum AngleMeasurementType {
    /// `expected-ULAoA`
    ExpectedUlAoA(ExpectedUlAoA),
    /// `expected-ZoA`
    ExpectedZoA(ExpectedZoAOnly),
    /// `choice-extension`
    ChoiceExtension(AngleMeasurementTypeChoiceExtension),
}
impl Default for AngleMeasurementType {
    fn default() -> Self {
        AngleMeasurementType::ExpectedUlAoA(Default::default())
    }
}
impl AngleMeasurementType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            AngleMeasurementType::ExpectedUlAoA(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            AngleMeasurementType::ExpectedZoA(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            AngleMeasurementType::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => AngleMeasurementType::ExpectedUlAoA(ExpectedUlAoA::decode(d)?),
            1 => AngleMeasurementType::ExpectedZoA(ExpectedZoAOnly::decode(d)?),
            2 => AngleMeasurementType::ChoiceExtension(AngleMeasurementTypeChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `LCS-to-GCS-Translation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LcsToGcsTranslation {
    /// `alpha`: INTEGER (0..3599)
    pub alpha: u16,
    /// `beta`: INTEGER (0..3599)
    pub beta: u16,
    /// `gamma`: INTEGER (0..3599)
    pub gamma: u16,
}
impl LcsToGcsTranslation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.alpha.into(), 0, 3599)?;
        e.constrained(self.beta.into(), 0, 3599)?;
        e.constrained(self.gamma.into(), 0, 3599)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let alpha = d.constrained(0, 3599)? as u16;
        let beta = d.constrained(0, 3599)? as u16;
        let gamma = d.constrained(0, 3599)? as u16;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(LcsToGcsTranslation { alpha, beta, gamma })
    }
}

/// `AoA-AssistanceInfo`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AoAAssistanceInfo {
    /// `angleMeasurement`
    pub angle_measurement: AngleMeasurementType,
    /// `lCS-to-GCS-Translation`
    pub l_cs_to_gcs_translation: Option<LcsToGcsTranslation>,
}
impl AoAAssistanceInfo {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.l_cs_to_gcs_translation.is_some());
        e.bit(false);
        self.angle_measurement.encode(e)?;
        if let Some(v) = &self.l_cs_to_gcs_translation {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_l_cs_to_gcs_translation = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let angle_measurement = AngleMeasurementType::decode(d)?;
        let l_cs_to_gcs_translation =
            if has_l_cs_to_gcs_translation { Some(LcsToGcsTranslation::decode(d)?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(AoAAssistanceInfo { angle_measurement, l_cs_to_gcs_translation })
    }
}

/// `NumberOfTRPRxTEG`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NumberOfTrpRxTeg {
    /// `two`
    #[default]
    Two,
    /// `three`
    Three,
    /// `four`
    Four,
    /// `six`
    Six,
    /// `eight`
    Eight,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl NumberOfTrpRxTeg {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                NumberOfTrpRxTeg::Two => 0,
                NumberOfTrpRxTeg::Three => 1,
                NumberOfTrpRxTeg::Four => 2,
                NumberOfTrpRxTeg::Six => 3,
                NumberOfTrpRxTeg::Eight => 4,
                NumberOfTrpRxTeg::Other(index) => index,
            },
            5,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(5, true)? {
            0 => NumberOfTrpRxTeg::Two,
            1 => NumberOfTrpRxTeg::Three,
            2 => NumberOfTrpRxTeg::Four,
            3 => NumberOfTrpRxTeg::Six,
            4 => NumberOfTrpRxTeg::Eight,
            other => NumberOfTrpRxTeg::Other(other),
        })
    }
}

/// `NumberOfTRPRxTxTEG`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NumberOfTrpRxTxTeg {
    /// `two`
    #[default]
    Two,
    /// `three`
    Three,
    /// `four`
    Four,
    /// `six`
    Six,
    /// `eight`
    Eight,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl NumberOfTrpRxTxTeg {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                NumberOfTrpRxTxTeg::Two => 0,
                NumberOfTrpRxTxTeg::Three => 1,
                NumberOfTrpRxTxTeg::Four => 2,
                NumberOfTrpRxTxTeg::Six => 3,
                NumberOfTrpRxTxTeg::Eight => 4,
                NumberOfTrpRxTxTeg::Other(index) => index,
            },
            5,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(5, true)? {
            0 => NumberOfTrpRxTxTeg::Two,
            1 => NumberOfTrpRxTxTeg::Three,
            2 => NumberOfTrpRxTxTeg::Four,
            3 => NumberOfTrpRxTxTeg::Six,
            4 => NumberOfTrpRxTxTeg::Eight,
            other => NumberOfTrpRxTxTeg::Other(other),
        })
    }
}

/// The information elements of `TRP-MeasurementRequestItem-iE-extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpMeasurementRequestItemIEExtensions {
    /// `CGI-NR`; information element 60, ignore
    pub cgi_nr: Option<CgiNr>,
    /// `AoA-AssistanceInfo`; information element 69, ignore
    pub ao_a_assistance_info: Option<AoAAssistanceInfo>,
    /// `NumberOfTRPRxTEG`; information element 82, ignore
    pub number_of_trprx_teg: Option<NumberOfTrpRxTeg>,
    /// `NumberOfTRPRxTxTEG`; information element 83, ignore
    pub number_of_trprx_tx_teg: Option<NumberOfTrpRxTxTeg>,
}
impl TrpMeasurementRequestItemIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.cgi_nr.is_some())
            + usize::from(self.ao_a_assistance_info.is_some())
            + usize::from(self.number_of_trprx_teg.is_some())
            + usize::from(self.number_of_trprx_tx_teg.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.cgi_nr {
            element(e, 60, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.ao_a_assistance_info {
            element(e, 69, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.number_of_trprx_teg {
            element(e, 82, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.number_of_trprx_tx_teg {
            element(e, 83, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut cgi_nr = None;
        let mut ao_a_assistance_info = None;
        let mut number_of_trprx_teg = None;
        let mut number_of_trprx_tx_teg = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                60 => cgi_nr = Some(d.open(|d| Ok(CgiNr::decode(d)?))?),
                69 => ao_a_assistance_info = Some(d.open(|d| Ok(AoAAssistanceInfo::decode(d)?))?),
                82 => number_of_trprx_teg = Some(d.open(|d| Ok(NumberOfTrpRxTeg::decode(d)?))?),
                83 => number_of_trprx_tx_teg = Some(d.open(|d| Ok(NumberOfTrpRxTxTeg::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(TrpMeasurementRequestItemIEExtensions {
            cgi_nr,
            ao_a_assistance_info,
            number_of_trprx_teg,
            number_of_trprx_tx_teg,
        })
    }
}

/// `TRP-MeasurementRequestItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpMeasurementRequestItem {
    /// `tRP-ID`, `TRP-ID`: INTEGER (1..65535, …)
    pub t_rp_id: i64,
    /// `search-window-information`
    pub search_window_information: Option<SearchWindowInformation>,
    /// `iE-extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<Box<TrpMeasurementRequestItemIEExtensions>>,
}
impl TrpMeasurementRequestItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.search_window_information.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        e.extensible(self.t_rp_id.into(), 1, 65535)?;
        if let Some(v) = &self.search_window_information {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (**v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_search_window_information = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rp_id = i64::try_from(d.extensible(1, 65535)?).map_err(|_| DecodeError::Range)?;
        let search_window_information =
            if has_search_window_information { Some(SearchWindowInformation::decode(d)?) } else { None };
        let i_e_extensions = if has_i_e_extensions {
            Some(Box::new(TrpMeasurementRequestItemIEExtensions::decode(d)?)).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpMeasurementRequestItem { t_rp_id, search_window_information, i_e_extensions })
    }
}

/// `TRPMeasurementType`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrpMeasurementType {
    /// `gNB-RxTxTimeDiff`
    #[default]
    GNbRxTxTimeDiff,
    /// `uL-SRS-RSRP`
    ULSrsRsrp,
    /// `uL-AoA`
    ULAoA,
    /// `uL-RTOA`
    ULRtoa,
    /// `multiple-UL-AoA`
    MultipleUlAoA,
    /// `uL-SRS-RSRPP`
    ULSrsRsrpp,
    /// `ul-RSCP`
    UlRscp,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TrpMeasurementType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TrpMeasurementType::GNbRxTxTimeDiff => 0,
                TrpMeasurementType::ULSrsRsrp => 1,
                TrpMeasurementType::ULAoA => 2,
                TrpMeasurementType::ULRtoa => 3,
                TrpMeasurementType::MultipleUlAoA => 4,
                TrpMeasurementType::ULSrsRsrpp => 5,
                TrpMeasurementType::UlRscp => 6,
                TrpMeasurementType::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => TrpMeasurementType::GNbRxTxTimeDiff,
            1 => TrpMeasurementType::ULSrsRsrp,
            2 => TrpMeasurementType::ULAoA,
            3 => TrpMeasurementType::ULRtoa,
            4 => TrpMeasurementType::MultipleUlAoA,
            5 => TrpMeasurementType::ULSrsRsrpp,
            6 => TrpMeasurementType::UlRscp,
            other => TrpMeasurementType::Other(other),
        })
    }
}

/// The information elements of `TRPMeasurementQuantitiesList-Item-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpMeasurementQuantitiesListItemIEExtensions {
    /// `TimingReportingGranularityFactorExtended`, `TimingReportingGranularityFactorExtended`: INTEGER (-6..-1, …);
    /// information element 123, ignore
    pub timing_reporting_granularity_factor_extended: Option<i64>,
}
impl TrpMeasurementQuantitiesListItemIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.timing_reporting_granularity_factor_extended.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.timing_reporting_granularity_factor_extended {
            element(e, 123, 1)?;
            e.open(|e| {
                e.extensible((*v).into(), -6, -1)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut timing_reporting_granularity_factor_extended = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                123 => {
                    timing_reporting_granularity_factor_extended =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(-6, -1)?).map_err(|_| DecodeError::Range)?))?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(TrpMeasurementQuantitiesListItemIEExtensions { timing_reporting_granularity_factor_extended })
    }
}

/// `TRPMeasurementQuantitiesList-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpMeasurementQuantitiesListItem {
    /// `tRPMeasurementQuantities-Item`
    pub t_rpmeasurement_quantities_item: TrpMeasurementType,
    /// `timingReportingGranularityFactor`: INTEGER (0..5)
    pub timing_reporting_granularity_factor: Option<u8>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<TrpMeasurementQuantitiesListItemIEExtensions>,
}
impl TrpMeasurementQuantitiesListItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.timing_reporting_granularity_factor.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        self.t_rpmeasurement_quantities_item.encode(e)?;
        if let Some(v) = &self.timing_reporting_granularity_factor {
            e.constrained((*v).into(), 0, 5)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_timing_reporting_granularity_factor = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rpmeasurement_quantities_item = TrpMeasurementType::decode(d)?;
        let timing_reporting_granularity_factor =
            if has_timing_reporting_granularity_factor { Some(d.constrained(0, 5)? as u8) } else { None };
        let i_e_extensions = if has_i_e_extensions {
            Some(TrpMeasurementQuantitiesListItemIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpMeasurementQuantitiesListItem {
            t_rpmeasurement_quantities_item,
            timing_reporting_granularity_factor,
            i_e_extensions,
        })
    }
}

/// `SCS-SpecificCarrier-subcarrierSpacing`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScsSpecificCarrierSubcarrierSpacing {
    /// `kHz15`
    #[default]
    KHz15,
    /// `kHz30`
    KHz30,
    /// `kHz60`
    KHz60,
    /// `kHz120`
    KHz120,
    /// `kHz480`
    KHz480,
    /// `kHz960`
    KHz960,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl ScsSpecificCarrierSubcarrierSpacing {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                ScsSpecificCarrierSubcarrierSpacing::KHz15 => 0,
                ScsSpecificCarrierSubcarrierSpacing::KHz30 => 1,
                ScsSpecificCarrierSubcarrierSpacing::KHz60 => 2,
                ScsSpecificCarrierSubcarrierSpacing::KHz120 => 3,
                ScsSpecificCarrierSubcarrierSpacing::KHz480 => 4,
                ScsSpecificCarrierSubcarrierSpacing::KHz960 => 5,
                ScsSpecificCarrierSubcarrierSpacing::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => ScsSpecificCarrierSubcarrierSpacing::KHz15,
            1 => ScsSpecificCarrierSubcarrierSpacing::KHz30,
            2 => ScsSpecificCarrierSubcarrierSpacing::KHz60,
            3 => ScsSpecificCarrierSubcarrierSpacing::KHz120,
            4 => ScsSpecificCarrierSubcarrierSpacing::KHz480,
            5 => ScsSpecificCarrierSubcarrierSpacing::KHz960,
            other => ScsSpecificCarrierSubcarrierSpacing::Other(other),
        })
    }
}

/// `SCS-SpecificCarrier`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScsSpecificCarrier {
    /// `offsetToCarrier`: INTEGER (0..2199, …)
    pub offset_to_carrier: i64,
    /// `subcarrierSpacing`
    pub subcarrier_spacing: ScsSpecificCarrierSubcarrierSpacing,
    /// `carrierBandwidth`: INTEGER (1..275, …)
    pub carrier_bandwidth: i64,
}
impl ScsSpecificCarrier {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.extensible(self.offset_to_carrier.into(), 0, 2199)?;
        self.subcarrier_spacing.encode(e)?;
        e.extensible(self.carrier_bandwidth.into(), 1, 275)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let offset_to_carrier = i64::try_from(d.extensible(0, 2199)?).map_err(|_| DecodeError::Range)?;
        let subcarrier_spacing = ScsSpecificCarrierSubcarrierSpacing::decode(d)?;
        let carrier_bandwidth = i64::try_from(d.extensible(1, 275)?).map_err(|_| DecodeError::Range)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ScsSpecificCarrier { offset_to_carrier, subcarrier_spacing, carrier_bandwidth })
    }
}

/// `ActiveULBWP-subcarrierSpacing`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ActiveUlbwpSubcarrierSpacing {
    /// `kHz15`
    #[default]
    KHz15,
    /// `kHz30`
    KHz30,
    /// `kHz60`
    KHz60,
    /// `kHz120`
    KHz120,
    /// `kHz480`
    KHz480,
    /// `kHz960`
    KHz960,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl ActiveUlbwpSubcarrierSpacing {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                ActiveUlbwpSubcarrierSpacing::KHz15 => 0,
                ActiveUlbwpSubcarrierSpacing::KHz30 => 1,
                ActiveUlbwpSubcarrierSpacing::KHz60 => 2,
                ActiveUlbwpSubcarrierSpacing::KHz120 => 3,
                ActiveUlbwpSubcarrierSpacing::KHz480 => 4,
                ActiveUlbwpSubcarrierSpacing::KHz960 => 5,
                ActiveUlbwpSubcarrierSpacing::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => ActiveUlbwpSubcarrierSpacing::KHz15,
            1 => ActiveUlbwpSubcarrierSpacing::KHz30,
            2 => ActiveUlbwpSubcarrierSpacing::KHz60,
            3 => ActiveUlbwpSubcarrierSpacing::KHz120,
            4 => ActiveUlbwpSubcarrierSpacing::KHz480,
            5 => ActiveUlbwpSubcarrierSpacing::KHz960,
            other => ActiveUlbwpSubcarrierSpacing::Other(other),
        })
    }
}

/// `ActiveULBWP-cyclicPrefix`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ActiveUlbwpCyclicPrefix {
    /// `normal`
    #[default]
    Normal,
    /// `extended`
    Extended,
}
impl ActiveUlbwpCyclicPrefix {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                ActiveUlbwpCyclicPrefix::Normal => 0,
                ActiveUlbwpCyclicPrefix::Extended => 1,
            },
            2,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, false)? {
            0 => ActiveUlbwpCyclicPrefix::Normal,
            1 => ActiveUlbwpCyclicPrefix::Extended,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `ActiveULBWP-shift7dot5kHz`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ActiveUlbwpShift7Dot5KHz {
    /// `true`
    #[default]
    True,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl ActiveUlbwpShift7Dot5KHz {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                ActiveUlbwpShift7Dot5KHz::True => 0,
                ActiveUlbwpShift7Dot5KHz::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => ActiveUlbwpShift7Dot5KHz::True,
            other => ActiveUlbwpShift7Dot5KHz::Other(other),
        })
    }
}

/// `SRSResource-nrofSRS-Ports`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SrsResourceNrofSrsPorts {
    /// `port1`
    #[default]
    Port1,
    /// `ports2`
    Ports2,
    /// `ports4`
    Ports4,
}
impl SrsResourceNrofSrsPorts {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                SrsResourceNrofSrsPorts::Port1 => 0,
                SrsResourceNrofSrsPorts::Ports2 => 1,
                SrsResourceNrofSrsPorts::Ports4 => 2,
            },
            3,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => SrsResourceNrofSrsPorts::Port1,
            1 => SrsResourceNrofSrsPorts::Ports2,
            2 => SrsResourceNrofSrsPorts::Ports4,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `TransmissionComb-n2`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransmissionCombN2 {
    /// `combOffset-n2`: INTEGER (0..1)
    pub comb_offset_n2: u8,
    /// `cyclicShift-n2`: INTEGER (0..7)
    pub cyclic_shift_n2: u8,
}
impl TransmissionCombN2 {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.constrained(self.comb_offset_n2.into(), 0, 1)?;
        e.constrained(self.cyclic_shift_n2.into(), 0, 7)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let comb_offset_n2 = d.constrained(0, 1)? as u8;
        let cyclic_shift_n2 = d.constrained(0, 7)? as u8;
        Ok(TransmissionCombN2 { comb_offset_n2, cyclic_shift_n2 })
    }
}

/// `TransmissionComb-n4`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransmissionCombN4 {
    /// `combOffset-n4`: INTEGER (0..3)
    pub comb_offset_n4: u8,
    /// `cyclicShift-n4`: INTEGER (0..11)
    pub cyclic_shift_n4: u8,
}
impl TransmissionCombN4 {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.constrained(self.comb_offset_n4.into(), 0, 3)?;
        e.constrained(self.cyclic_shift_n4.into(), 0, 11)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let comb_offset_n4 = d.constrained(0, 3)? as u8;
        let cyclic_shift_n4 = d.constrained(0, 11)? as u8;
        Ok(TransmissionCombN4 { comb_offset_n4, cyclic_shift_n4 })
    }
}

/// `TransmissionCombn8`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransmissionCombn8 {
    /// `combOffset-n8`: INTEGER (0..7)
    pub comb_offset_n8: u8,
    /// `cyclicShift-n8`: INTEGER (0..5)
    pub cyclic_shift_n8: u8,
}
impl TransmissionCombn8 {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.constrained(self.comb_offset_n8.into(), 0, 7)?;
        e.constrained(self.cyclic_shift_n8.into(), 0, 5)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let has_i_e_extensions = d.bit()?;
        let comb_offset_n8 = d.constrained(0, 7)? as u8;
        let cyclic_shift_n8 = d.constrained(0, 5)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        Ok(TransmissionCombn8 { comb_offset_n8, cyclic_shift_n8 })
    }
}

/// One information element: `TransmissionComb-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum TransmissionCombChoiceExtension {
    /// `TransmissionCombn8`
    TransmissionCombn8(TransmissionCombn8),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for TransmissionCombChoiceExtension {
    fn default() -> Self {
        TransmissionCombChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl TransmissionCombChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TransmissionCombChoiceExtension::TransmissionCombn8(v) => {
                element(e, 111, 0)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            TransmissionCombChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            111 => TransmissionCombChoiceExtension::TransmissionCombn8(d.open(|d| Ok(TransmissionCombn8::decode(d)?))?),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => TransmissionCombChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `TransmissionComb`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum TransmissionComb {
    /// `n2`
    N2(TransmissionCombN2),
    /// `n4`
    N4(TransmissionCombN4),
    /// `choice-extension`
    ChoiceExtension(TransmissionCombChoiceExtension),
}
impl Default for TransmissionComb {
    fn default() -> Self {
        TransmissionComb::N2(Default::default())
    }
}
impl TransmissionComb {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TransmissionComb::N2(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            TransmissionComb::N4(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            TransmissionComb::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => TransmissionComb::N2(TransmissionCombN2::decode(d)?),
            1 => TransmissionComb::N4(TransmissionCombN4::decode(d)?),
            2 => TransmissionComb::ChoiceExtension(TransmissionCombChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `SRSResource-nrofSymbols`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SrsResourceNrofSymbols {
    /// `n1`
    #[default]
    N1,
    /// `n2`
    N2,
    /// `n4`
    N4,
}
impl SrsResourceNrofSymbols {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                SrsResourceNrofSymbols::N1 => 0,
                SrsResourceNrofSymbols::N2 => 1,
                SrsResourceNrofSymbols::N4 => 2,
            },
            3,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => SrsResourceNrofSymbols::N1,
            1 => SrsResourceNrofSymbols::N2,
            2 => SrsResourceNrofSymbols::N4,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `SRSResource-repetitionFactor`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SrsResourceRepetitionFactor {
    /// `n1`
    #[default]
    N1,
    /// `n2`
    N2,
    /// `n4`
    N4,
}
impl SrsResourceRepetitionFactor {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                SrsResourceRepetitionFactor::N1 => 0,
                SrsResourceRepetitionFactor::N2 => 1,
                SrsResourceRepetitionFactor::N4 => 2,
            },
            3,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => SrsResourceRepetitionFactor::N1,
            1 => SrsResourceRepetitionFactor::N2,
            2 => SrsResourceRepetitionFactor::N4,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `SRSResource-groupOrSequenceHopping`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SrsResourceGroupOrSequenceHopping {
    /// `neither`
    #[default]
    Neither,
    /// `groupHopping`
    GroupHopping,
    /// `sequenceHopping`
    SequenceHopping,
}
impl SrsResourceGroupOrSequenceHopping {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                SrsResourceGroupOrSequenceHopping::Neither => 0,
                SrsResourceGroupOrSequenceHopping::GroupHopping => 1,
                SrsResourceGroupOrSequenceHopping::SequenceHopping => 2,
            },
            3,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => SrsResourceGroupOrSequenceHopping::Neither,
            1 => SrsResourceGroupOrSequenceHopping::GroupHopping,
            2 => SrsResourceGroupOrSequenceHopping::SequenceHopping,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `ResourceTypePeriodic-periodicity`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResourceTypePeriodicPeriodicity {
    /// `slot1`
    #[default]
    Slot1,
    /// `slot2`
    Slot2,
    /// `slot4`
    Slot4,
    /// `slot5`
    Slot5,
    /// `slot8`
    Slot8,
    /// `slot10`
    Slot10,
    /// `slot16`
    Slot16,
    /// `slot20`
    Slot20,
    /// `slot32`
    Slot32,
    /// `slot40`
    Slot40,
    /// `slot64`
    Slot64,
    /// `slot80`
    Slot80,
    /// `slot160`
    Slot160,
    /// `slot320`
    Slot320,
    /// `slot640`
    Slot640,
    /// `slot1280`
    Slot1280,
    /// `slot2560`
    Slot2560,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl ResourceTypePeriodicPeriodicity {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                ResourceTypePeriodicPeriodicity::Slot1 => 0,
                ResourceTypePeriodicPeriodicity::Slot2 => 1,
                ResourceTypePeriodicPeriodicity::Slot4 => 2,
                ResourceTypePeriodicPeriodicity::Slot5 => 3,
                ResourceTypePeriodicPeriodicity::Slot8 => 4,
                ResourceTypePeriodicPeriodicity::Slot10 => 5,
                ResourceTypePeriodicPeriodicity::Slot16 => 6,
                ResourceTypePeriodicPeriodicity::Slot20 => 7,
                ResourceTypePeriodicPeriodicity::Slot32 => 8,
                ResourceTypePeriodicPeriodicity::Slot40 => 9,
                ResourceTypePeriodicPeriodicity::Slot64 => 10,
                ResourceTypePeriodicPeriodicity::Slot80 => 11,
                ResourceTypePeriodicPeriodicity::Slot160 => 12,
                ResourceTypePeriodicPeriodicity::Slot320 => 13,
                ResourceTypePeriodicPeriodicity::Slot640 => 14,
                ResourceTypePeriodicPeriodicity::Slot1280 => 15,
                ResourceTypePeriodicPeriodicity::Slot2560 => 16,
                ResourceTypePeriodicPeriodicity::Other(index) => index,
            },
            17,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(17, true)? {
            0 => ResourceTypePeriodicPeriodicity::Slot1,
            1 => ResourceTypePeriodicPeriodicity::Slot2,
            2 => ResourceTypePeriodicPeriodicity::Slot4,
            3 => ResourceTypePeriodicPeriodicity::Slot5,
            4 => ResourceTypePeriodicPeriodicity::Slot8,
            5 => ResourceTypePeriodicPeriodicity::Slot10,
            6 => ResourceTypePeriodicPeriodicity::Slot16,
            7 => ResourceTypePeriodicPeriodicity::Slot20,
            8 => ResourceTypePeriodicPeriodicity::Slot32,
            9 => ResourceTypePeriodicPeriodicity::Slot40,
            10 => ResourceTypePeriodicPeriodicity::Slot64,
            11 => ResourceTypePeriodicPeriodicity::Slot80,
            12 => ResourceTypePeriodicPeriodicity::Slot160,
            13 => ResourceTypePeriodicPeriodicity::Slot320,
            14 => ResourceTypePeriodicPeriodicity::Slot640,
            15 => ResourceTypePeriodicPeriodicity::Slot1280,
            16 => ResourceTypePeriodicPeriodicity::Slot2560,
            other => ResourceTypePeriodicPeriodicity::Other(other),
        })
    }
}

/// `ResourceTypePeriodic`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResourceTypePeriodic {
    /// `periodicity`
    pub periodicity: ResourceTypePeriodicPeriodicity,
    /// `offset`: INTEGER (0..2559, …)
    pub offset: i64,
}
impl ResourceTypePeriodic {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.periodicity.encode(e)?;
        e.extensible(self.offset.into(), 0, 2559)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let periodicity = ResourceTypePeriodicPeriodicity::decode(d)?;
        let offset = i64::try_from(d.extensible(0, 2559)?).map_err(|_| DecodeError::Range)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResourceTypePeriodic { periodicity, offset })
    }
}

/// `ResourceTypeSemi-persistent-periodicity`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResourceTypeSemiPersistentPeriodicity {
    /// `slot1`
    #[default]
    Slot1,
    /// `slot2`
    Slot2,
    /// `slot4`
    Slot4,
    /// `slot5`
    Slot5,
    /// `slot8`
    Slot8,
    /// `slot10`
    Slot10,
    /// `slot16`
    Slot16,
    /// `slot20`
    Slot20,
    /// `slot32`
    Slot32,
    /// `slot40`
    Slot40,
    /// `slot64`
    Slot64,
    /// `slot80`
    Slot80,
    /// `slot160`
    Slot160,
    /// `slot320`
    Slot320,
    /// `slot640`
    Slot640,
    /// `slot1280`
    Slot1280,
    /// `slot2560`
    Slot2560,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl ResourceTypeSemiPersistentPeriodicity {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                ResourceTypeSemiPersistentPeriodicity::Slot1 => 0,
                ResourceTypeSemiPersistentPeriodicity::Slot2 => 1,
                ResourceTypeSemiPersistentPeriodicity::Slot4 => 2,
                ResourceTypeSemiPersistentPeriodicity::Slot5 => 3,
                ResourceTypeSemiPersistentPeriodicity::Slot8 => 4,
                ResourceTypeSemiPersistentPeriodicity::Slot10 => 5,
                ResourceTypeSemiPersistentPeriodicity::Slot16 => 6,
                ResourceTypeSemiPersistentPeriodicity::Slot20 => 7,
                ResourceTypeSemiPersistentPeriodicity::Slot32 => 8,
                ResourceTypeSemiPersistentPeriodicity::Slot40 => 9,
                ResourceTypeSemiPersistentPeriodicity::Slot64 => 10,
                ResourceTypeSemiPersistentPeriodicity::Slot80 => 11,
                ResourceTypeSemiPersistentPeriodicity::Slot160 => 12,
                ResourceTypeSemiPersistentPeriodicity::Slot320 => 13,
                ResourceTypeSemiPersistentPeriodicity::Slot640 => 14,
                ResourceTypeSemiPersistentPeriodicity::Slot1280 => 15,
                ResourceTypeSemiPersistentPeriodicity::Slot2560 => 16,
                ResourceTypeSemiPersistentPeriodicity::Other(index) => index,
            },
            17,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(17, true)? {
            0 => ResourceTypeSemiPersistentPeriodicity::Slot1,
            1 => ResourceTypeSemiPersistentPeriodicity::Slot2,
            2 => ResourceTypeSemiPersistentPeriodicity::Slot4,
            3 => ResourceTypeSemiPersistentPeriodicity::Slot5,
            4 => ResourceTypeSemiPersistentPeriodicity::Slot8,
            5 => ResourceTypeSemiPersistentPeriodicity::Slot10,
            6 => ResourceTypeSemiPersistentPeriodicity::Slot16,
            7 => ResourceTypeSemiPersistentPeriodicity::Slot20,
            8 => ResourceTypeSemiPersistentPeriodicity::Slot32,
            9 => ResourceTypeSemiPersistentPeriodicity::Slot40,
            10 => ResourceTypeSemiPersistentPeriodicity::Slot64,
            11 => ResourceTypeSemiPersistentPeriodicity::Slot80,
            12 => ResourceTypeSemiPersistentPeriodicity::Slot160,
            13 => ResourceTypeSemiPersistentPeriodicity::Slot320,
            14 => ResourceTypeSemiPersistentPeriodicity::Slot640,
            15 => ResourceTypeSemiPersistentPeriodicity::Slot1280,
            16 => ResourceTypeSemiPersistentPeriodicity::Slot2560,
            other => ResourceTypeSemiPersistentPeriodicity::Other(other),
        })
    }
}

/// `ResourceTypeSemi-persistent`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResourceTypeSemiPersistent {
    /// `periodicity`
    pub periodicity: ResourceTypeSemiPersistentPeriodicity,
    /// `offset`: INTEGER (0..2559, …)
    pub offset: i64,
}
impl ResourceTypeSemiPersistent {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.periodicity.encode(e)?;
        e.extensible(self.offset.into(), 0, 2559)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let periodicity = ResourceTypeSemiPersistentPeriodicity::decode(d)?;
        let offset = i64::try_from(d.extensible(0, 2559)?).map_err(|_| DecodeError::Range)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResourceTypeSemiPersistent { periodicity, offset })
    }
}

/// `ResourceTypeAperiodic-aperiodicResourceType`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResourceTypeAperiodicAperiodicResourceType {
    /// `true`
    #[default]
    True,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl ResourceTypeAperiodicAperiodicResourceType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                ResourceTypeAperiodicAperiodicResourceType::True => 0,
                ResourceTypeAperiodicAperiodicResourceType::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => ResourceTypeAperiodicAperiodicResourceType::True,
            other => ResourceTypeAperiodicAperiodicResourceType::Other(other),
        })
    }
}

/// `ResourceTypeAperiodic`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResourceTypeAperiodic {
    /// `aperiodicResourceType`
    pub aperiodic_resource_type: ResourceTypeAperiodicAperiodicResourceType,
}
impl ResourceTypeAperiodic {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.aperiodic_resource_type.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let aperiodic_resource_type = ResourceTypeAperiodicAperiodicResourceType::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResourceTypeAperiodic { aperiodic_resource_type })
    }
}

/// One information element: `ResourceType-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceTypeChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for ResourceTypeChoiceExtension {
    fn default() -> Self {
        ResourceTypeChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl ResourceTypeChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ResourceTypeChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => ResourceTypeChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `ResourceType`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceType {
    /// `periodic`
    Periodic(ResourceTypePeriodic),
    /// `semi-persistent`
    SemiPersistent(ResourceTypeSemiPersistent),
    /// `aperiodic`
    Aperiodic(ResourceTypeAperiodic),
    /// `choice-extension`
    ChoiceExtension(ResourceTypeChoiceExtension),
}
impl Default for ResourceType {
    fn default() -> Self {
        ResourceType::Periodic(Default::default())
    }
}
impl ResourceType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ResourceType::Periodic(v) => {
                e.index(0, 4, false)?;
                (*v).encode(e)?;
            }
            ResourceType::SemiPersistent(v) => {
                e.index(1, 4, false)?;
                (*v).encode(e)?;
            }
            ResourceType::Aperiodic(v) => {
                e.index(2, 4, false)?;
                (*v).encode(e)?;
            }
            ResourceType::ChoiceExtension(v) => {
                e.index(3, 4, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, false)? {
            0 => ResourceType::Periodic(ResourceTypePeriodic::decode(d)?),
            1 => ResourceType::SemiPersistent(ResourceTypeSemiPersistent::decode(d)?),
            2 => ResourceType::Aperiodic(ResourceTypeAperiodic::decode(d)?),
            3 => ResourceType::ChoiceExtension(ResourceTypeChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `NrofSymbolsExtended`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NrofSymbolsExtended {
    /// `n8`
    #[default]
    N8,
    /// `n10`
    N10,
    /// `n12`
    N12,
    /// `n14`
    N14,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl NrofSymbolsExtended {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                NrofSymbolsExtended::N8 => 0,
                NrofSymbolsExtended::N10 => 1,
                NrofSymbolsExtended::N12 => 2,
                NrofSymbolsExtended::N14 => 3,
                NrofSymbolsExtended::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => NrofSymbolsExtended::N8,
            1 => NrofSymbolsExtended::N10,
            2 => NrofSymbolsExtended::N12,
            3 => NrofSymbolsExtended::N14,
            other => NrofSymbolsExtended::Other(other),
        })
    }
}

/// `RepetitionFactorExtended`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RepetitionFactorExtended {
    /// `n3`
    #[default]
    N3,
    /// `n5`
    N5,
    /// `n6`
    N6,
    /// `n7`
    N7,
    /// `n8`
    N8,
    /// `n10`
    N10,
    /// `n12`
    N12,
    /// `n14`
    N14,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl RepetitionFactorExtended {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                RepetitionFactorExtended::N3 => 0,
                RepetitionFactorExtended::N5 => 1,
                RepetitionFactorExtended::N6 => 2,
                RepetitionFactorExtended::N7 => 3,
                RepetitionFactorExtended::N8 => 4,
                RepetitionFactorExtended::N10 => 5,
                RepetitionFactorExtended::N12 => 6,
                RepetitionFactorExtended::N14 => 7,
                RepetitionFactorExtended::Other(index) => index,
            },
            8,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(8, true)? {
            0 => RepetitionFactorExtended::N3,
            1 => RepetitionFactorExtended::N5,
            2 => RepetitionFactorExtended::N6,
            3 => RepetitionFactorExtended::N7,
            4 => RepetitionFactorExtended::N8,
            5 => RepetitionFactorExtended::N10,
            6 => RepetitionFactorExtended::N12,
            7 => RepetitionFactorExtended::N14,
            other => RepetitionFactorExtended::Other(other),
        })
    }
}

/// One information element: `StartRBIndex-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum StartRbIndexChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for StartRbIndexChoiceExtension {
    fn default() -> Self {
        StartRbIndexChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl StartRbIndexChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            StartRbIndexChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => StartRbIndexChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `StartRBIndex`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum StartRbIndex {
    /// `freqScalingFactor2`: INTEGER (0..1)
    FreqScalingFactor2(u8),
    /// `freqScalingFactor4`: INTEGER (0..3)
    FreqScalingFactor4(u8),
    /// `choice-extension`
    ChoiceExtension(StartRbIndexChoiceExtension),
}
impl Default for StartRbIndex {
    fn default() -> Self {
        StartRbIndex::FreqScalingFactor2(Default::default())
    }
}
impl StartRbIndex {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            StartRbIndex::FreqScalingFactor2(v) => {
                e.index(0, 3, false)?;
                e.constrained((*v).into(), 0, 1)?;
            }
            StartRbIndex::FreqScalingFactor4(v) => {
                e.index(1, 3, false)?;
                e.constrained((*v).into(), 0, 3)?;
            }
            StartRbIndex::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => StartRbIndex::FreqScalingFactor2(d.constrained(0, 1)? as u8),
            1 => StartRbIndex::FreqScalingFactor4(d.constrained(0, 3)? as u8),
            2 => StartRbIndex::ChoiceExtension(StartRbIndexChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// The information elements of `SRSResource-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SrsResourceIEExtensions {
    /// `NrofSymbolsExtended`; information element 107, ignore
    pub nrof_symbols_extended: Option<NrofSymbolsExtended>,
    /// `RepetitionFactorExtended`; information element 108, ignore
    pub repetition_factor_extended: Option<RepetitionFactorExtended>,
    /// `StartRBHopping`: ENUMERATED {enable}; information element 109, ignore
    pub start_rbhopping: Option<()>,
    /// `StartRBIndex`; information element 110, ignore
    pub start_rbindex: Option<StartRbIndex>,
}
impl SrsResourceIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.nrof_symbols_extended.is_some())
            + usize::from(self.repetition_factor_extended.is_some())
            + usize::from(self.start_rbhopping.is_some())
            + usize::from(self.start_rbindex.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.nrof_symbols_extended {
            element(e, 107, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.repetition_factor_extended {
            element(e, 108, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(_) = &self.start_rbhopping {
            element(e, 109, 1)?;
            e.open(|_| Ok(()))?;
        }
        if let Some(v) = &self.start_rbindex {
            element(e, 110, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut nrof_symbols_extended = None;
        let mut repetition_factor_extended = None;
        let mut start_rbhopping = None;
        let mut start_rbindex = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                107 => nrof_symbols_extended = Some(d.open(|d| Ok(NrofSymbolsExtended::decode(d)?))?),
                108 => repetition_factor_extended = Some(d.open(|d| Ok(RepetitionFactorExtended::decode(d)?))?),
                109 => start_rbhopping = Some(d.open(|_| Ok(()))?),
                110 => start_rbindex = Some(d.open(|d| Ok(StartRbIndex::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(SrsResourceIEExtensions {
            nrof_symbols_extended,
            repetition_factor_extended,
            start_rbhopping,
            start_rbindex,
        })
    }
}

/// `SRSResource`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SrsResource {
    /// `sRSResourceID`, `SRSResourceID`: INTEGER (0..63)
    pub s_rsresource_id: u8,
    /// `nrofSRS-Ports`
    pub nrof_srs_ports: SrsResourceNrofSrsPorts,
    /// `transmissionComb`
    pub transmission_comb: TransmissionComb,
    /// `startPosition`: INTEGER (0..13)
    pub start_position: u8,
    /// `nrofSymbols`
    pub nrof_symbols: SrsResourceNrofSymbols,
    /// `repetitionFactor`
    pub repetition_factor: SrsResourceRepetitionFactor,
    /// `freqDomainPosition`: INTEGER (0..67)
    pub freq_domain_position: u8,
    /// `freqDomainShift`: INTEGER (0..268)
    pub freq_domain_shift: u16,
    /// `c-SRS`: INTEGER (0..63)
    pub c_srs: u8,
    /// `b-SRS`: INTEGER (0..3)
    pub b_srs: u8,
    /// `b-hop`: INTEGER (0..3)
    pub b_hop: u8,
    /// `groupOrSequenceHopping`
    pub group_or_sequence_hopping: SrsResourceGroupOrSequenceHopping,
    /// `resourceType`
    pub resource_type: ResourceType,
    /// `sequenceId`: INTEGER (0..1023)
    pub sequence_id: u16,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<SrsResourceIEExtensions>,
}
impl SrsResource {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        e.constrained(self.s_rsresource_id.into(), 0, 63)?;
        self.nrof_srs_ports.encode(e)?;
        self.transmission_comb.encode(e)?;
        e.constrained(self.start_position.into(), 0, 13)?;
        self.nrof_symbols.encode(e)?;
        self.repetition_factor.encode(e)?;
        e.constrained(self.freq_domain_position.into(), 0, 67)?;
        e.constrained(self.freq_domain_shift.into(), 0, 268)?;
        e.constrained(self.c_srs.into(), 0, 63)?;
        e.constrained(self.b_srs.into(), 0, 3)?;
        e.constrained(self.b_hop.into(), 0, 3)?;
        self.group_or_sequence_hopping.encode(e)?;
        self.resource_type.encode(e)?;
        e.constrained(self.sequence_id.into(), 0, 1023)?;
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_rsresource_id = d.constrained(0, 63)? as u8;
        let nrof_srs_ports = SrsResourceNrofSrsPorts::decode(d)?;
        let transmission_comb = TransmissionComb::decode(d)?;
        let start_position = d.constrained(0, 13)? as u8;
        let nrof_symbols = SrsResourceNrofSymbols::decode(d)?;
        let repetition_factor = SrsResourceRepetitionFactor::decode(d)?;
        let freq_domain_position = d.constrained(0, 67)? as u8;
        let freq_domain_shift = d.constrained(0, 268)? as u16;
        let c_srs = d.constrained(0, 63)? as u8;
        let b_srs = d.constrained(0, 3)? as u8;
        let b_hop = d.constrained(0, 3)? as u8;
        let group_or_sequence_hopping = SrsResourceGroupOrSequenceHopping::decode(d)?;
        let resource_type = ResourceType::decode(d)?;
        let sequence_id = d.constrained(0, 1023)? as u16;
        let i_e_extensions = if has_i_e_extensions {
            Some(SrsResourceIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SrsResource {
            s_rsresource_id,
            nrof_srs_ports,
            transmission_comb,
            start_position,
            nrof_symbols,
            repetition_factor,
            freq_domain_position,
            freq_domain_shift,
            c_srs,
            b_srs,
            b_hop,
            group_or_sequence_hopping,
            resource_type,
            sequence_id,
            i_e_extensions,
        })
    }
}

/// `ResourceSetTypePeriodic-periodicSet`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResourceSetTypePeriodicPeriodicSet {
    /// `true`
    #[default]
    True,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl ResourceSetTypePeriodicPeriodicSet {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                ResourceSetTypePeriodicPeriodicSet::True => 0,
                ResourceSetTypePeriodicPeriodicSet::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => ResourceSetTypePeriodicPeriodicSet::True,
            other => ResourceSetTypePeriodicPeriodicSet::Other(other),
        })
    }
}

/// `ResourceSetTypePeriodic`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResourceSetTypePeriodic {
    /// `periodicSet`
    pub periodic_set: ResourceSetTypePeriodicPeriodicSet,
}
impl ResourceSetTypePeriodic {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.periodic_set.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let periodic_set = ResourceSetTypePeriodicPeriodicSet::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResourceSetTypePeriodic { periodic_set })
    }
}

/// `ResourceSetTypeSemi-persistent-semi-persistentSet`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResourceSetTypeSemiPersistentSemiPersistentSet {
    /// `true`
    #[default]
    True,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl ResourceSetTypeSemiPersistentSemiPersistentSet {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                ResourceSetTypeSemiPersistentSemiPersistentSet::True => 0,
                ResourceSetTypeSemiPersistentSemiPersistentSet::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => ResourceSetTypeSemiPersistentSemiPersistentSet::True,
            other => ResourceSetTypeSemiPersistentSemiPersistentSet::Other(other),
        })
    }
}

/// `ResourceSetTypeSemi-persistent`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResourceSetTypeSemiPersistent {
    /// `semi-persistentSet`
    pub semi_persistent_set: ResourceSetTypeSemiPersistentSemiPersistentSet,
}
impl ResourceSetTypeSemiPersistent {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.semi_persistent_set.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let semi_persistent_set = ResourceSetTypeSemiPersistentSemiPersistentSet::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResourceSetTypeSemiPersistent { semi_persistent_set })
    }
}

/// `ResourceSetTypeAperiodic`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResourceSetTypeAperiodic {
    /// `sRSResourceTrigger`: INTEGER (1..3)
    pub s_rsresource_trigger: u8,
    /// `slotoffset`: INTEGER (0..32)
    pub slotoffset: u8,
}
impl ResourceSetTypeAperiodic {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.s_rsresource_trigger.into(), 1, 3)?;
        e.constrained(self.slotoffset.into(), 0, 32)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_rsresource_trigger = d.constrained(1, 3)? as u8;
        let slotoffset = d.constrained(0, 32)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResourceSetTypeAperiodic { s_rsresource_trigger, slotoffset })
    }
}

/// One information element: `ResourceSetType-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceSetTypeChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for ResourceSetTypeChoiceExtension {
    fn default() -> Self {
        ResourceSetTypeChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl ResourceSetTypeChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ResourceSetTypeChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => ResourceSetTypeChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `ResourceSetType`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceSetType {
    /// `periodic`
    Periodic(ResourceSetTypePeriodic),
    /// `semi-persistent`
    SemiPersistent(ResourceSetTypeSemiPersistent),
    /// `aperiodic`
    Aperiodic(ResourceSetTypeAperiodic),
    /// `choice-extension`
    ChoiceExtension(ResourceSetTypeChoiceExtension),
}
impl Default for ResourceSetType {
    fn default() -> Self {
        ResourceSetType::Periodic(Default::default())
    }
}
impl ResourceSetType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ResourceSetType::Periodic(v) => {
                e.index(0, 4, false)?;
                (*v).encode(e)?;
            }
            ResourceSetType::SemiPersistent(v) => {
                e.index(1, 4, false)?;
                (*v).encode(e)?;
            }
            ResourceSetType::Aperiodic(v) => {
                e.index(2, 4, false)?;
                (*v).encode(e)?;
            }
            ResourceSetType::ChoiceExtension(v) => {
                e.index(3, 4, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, false)? {
            0 => ResourceSetType::Periodic(ResourceSetTypePeriodic::decode(d)?),
            1 => ResourceSetType::SemiPersistent(ResourceSetTypeSemiPersistent::decode(d)?),
            2 => ResourceSetType::Aperiodic(ResourceSetTypeAperiodic::decode(d)?),
            3 => ResourceSetType::ChoiceExtension(ResourceSetTypeChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `SRSResourceSet`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SrsResourceSet {
    /// `sRSResourceSetID1`: INTEGER (0..15)
    pub s_rsresource_set_id1: u8,
    /// `sRSResourceID-List`: SEQUENCE OF (SIZE (1..16))
    pub s_rsresource_id_list: Vec<u8>,
    /// `resourceSetType`
    pub resource_set_type: ResourceSetType,
}
impl SrsResourceSet {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.s_rsresource_set_id1.into(), 0, 15)?;
        e.count(self.s_rsresource_id_list.len(), Some(Size::range(1, 16)))?;
        for v in &self.s_rsresource_id_list {
            e.constrained((*v).into(), 0, 63)?;
        }
        self.resource_set_type.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_rsresource_set_id1 = d.constrained(0, 15)? as u8;
        let s_rsresource_id_list = {
            let count = d.count(Some(Size::range(1, 16)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(d.constrained(0, 63)? as u8);
            }
            list
        };
        let resource_set_type = ResourceSetType::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SrsResourceSet { s_rsresource_set_id1, s_rsresource_id_list, resource_set_type })
    }
}

/// `SRSConfig`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SrsConfig {
    /// `sRSResource-List`: SEQUENCE OF (SIZE (1..64))
    pub s_rsresource_list: Option<Vec<SrsResource>>,
    /// `posSRSResource-List`: SEQUENCE OF (SIZE (1..64))
    pub pos_srsresource_list: Option<Vec<PosSrsResourceItem>>,
    /// `sRSResourceSet-List`: SEQUENCE OF (SIZE (1..16))
    pub s_rsresource_set_list: Option<Vec<SrsResourceSet>>,
    /// `posSRSResourceSet-List`: SEQUENCE OF (SIZE (1..16))
    pub pos_srsresource_set_list: Option<Vec<PosSrsResourceSetItem>>,
}
impl SrsConfig {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.s_rsresource_list.is_some());
        e.bit(self.pos_srsresource_list.is_some());
        e.bit(self.s_rsresource_set_list.is_some());
        e.bit(self.pos_srsresource_set_list.is_some());
        e.bit(false);
        if let Some(v) = &self.s_rsresource_list {
            e.count((*v).len(), Some(Size::range(1, 64)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        if let Some(v) = &self.pos_srsresource_list {
            e.count((*v).len(), Some(Size::range(1, 64)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        if let Some(v) = &self.s_rsresource_set_list {
            e.count((*v).len(), Some(Size::range(1, 16)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        if let Some(v) = &self.pos_srsresource_set_list {
            e.count((*v).len(), Some(Size::range(1, 16)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_s_rsresource_list = d.bit()?;
        let has_pos_srsresource_list = d.bit()?;
        let has_s_rsresource_set_list = d.bit()?;
        let has_pos_srsresource_set_list = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_rsresource_list = if has_s_rsresource_list {
            Some({
                let count = d.count(Some(Size::range(1, 64)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(SrsResource::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        let pos_srsresource_list = if has_pos_srsresource_list {
            Some({
                let count = d.count(Some(Size::range(1, 64)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(PosSrsResourceItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        let s_rsresource_set_list = if has_s_rsresource_set_list {
            Some({
                let count = d.count(Some(Size::range(1, 16)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(SrsResourceSet::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        let pos_srsresource_set_list = if has_pos_srsresource_set_list {
            Some({
                let count = d.count(Some(Size::range(1, 16)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(PosSrsResourceSetItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SrsConfig { s_rsresource_list, pos_srsresource_list, s_rsresource_set_list, pos_srsresource_set_list })
    }
}

/// `ActiveULBWP`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ActiveUlbwp {
    /// `locationAndBandwidth`: INTEGER (0..37949, …)
    pub location_and_bandwidth: i64,
    /// `subcarrierSpacing`
    pub subcarrier_spacing: ActiveUlbwpSubcarrierSpacing,
    /// `cyclicPrefix`
    pub cyclic_prefix: ActiveUlbwpCyclicPrefix,
    /// `txDirectCurrentLocation`: INTEGER (0..3301, …)
    pub tx_direct_current_location: i64,
    /// `shift7dot5kHz`
    pub shift7dot5k_hz: Option<ActiveUlbwpShift7Dot5KHz>,
    /// `sRSConfig`
    pub s_rsconfig: SrsConfig,
}
impl ActiveUlbwp {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.shift7dot5k_hz.is_some());
        e.bit(false);
        e.extensible(self.location_and_bandwidth.into(), 0, 37949)?;
        self.subcarrier_spacing.encode(e)?;
        self.cyclic_prefix.encode(e)?;
        e.extensible(self.tx_direct_current_location.into(), 0, 3301)?;
        if let Some(v) = &self.shift7dot5k_hz {
            (*v).encode(e)?;
        }
        self.s_rsconfig.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_shift7dot5k_hz = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let location_and_bandwidth = i64::try_from(d.extensible(0, 37949)?).map_err(|_| DecodeError::Range)?;
        let subcarrier_spacing = ActiveUlbwpSubcarrierSpacing::decode(d)?;
        let cyclic_prefix = ActiveUlbwpCyclicPrefix::decode(d)?;
        let tx_direct_current_location = i64::try_from(d.extensible(0, 3301)?).map_err(|_| DecodeError::Range)?;
        let shift7dot5k_hz = if has_shift7dot5k_hz { Some(ActiveUlbwpShift7Dot5KHz::decode(d)?) } else { None };
        let s_rsconfig = SrsConfig::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ActiveUlbwp {
            location_and_bandwidth,
            subcarrier_spacing,
            cyclic_prefix,
            tx_direct_current_location,
            shift7dot5k_hz,
            s_rsconfig,
        })
    }
}

/// `SRSCarrier-List-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SrsCarrierListItem {
    /// `pointA`: INTEGER (0..3279165)
    pub point_a: u32,
    /// `uplinkChannelBW-PerSCS-List`: SEQUENCE OF (SIZE (1..5))
    pub uplink_channel_bw_per_scs_list: Vec<ScsSpecificCarrier>,
    /// `activeULBWP`
    pub active_ulbwp: ActiveUlbwp,
    /// `pCI-NR`: INTEGER (0..1007)
    pub p_ci_nr: Option<u16>,
}
impl SrsCarrierListItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.p_ci_nr.is_some());
        e.bit(false);
        e.constrained(self.point_a.into(), 0, 3279165)?;
        e.count(self.uplink_channel_bw_per_scs_list.len(), Some(Size::range(1, 5)))?;
        for v in &self.uplink_channel_bw_per_scs_list {
            (*v).encode(e)?;
        }
        self.active_ulbwp.encode(e)?;
        if let Some(v) = &self.p_ci_nr {
            e.constrained((*v).into(), 0, 1007)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_p_ci_nr = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let point_a = d.constrained(0, 3279165)? as u32;
        let uplink_channel_bw_per_scs_list = {
            let count = d.count(Some(Size::range(1, 5)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(ScsSpecificCarrier::decode(d)?);
            }
            list
        };
        let active_ulbwp = ActiveUlbwp::decode(d)?;
        let p_ci_nr = if has_p_ci_nr { Some(d.constrained(0, 1007)? as u16) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SrsCarrierListItem { point_a, uplink_channel_bw_per_scs_list, active_ulbwp, p_ci_nr })
    }
}

/// `Combined-PosSRSResourceSet-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CombinedPosSrsResourceSetItem {
    /// `pointA`: INTEGER (0..3279165)
    pub point_a: u32,
    /// `pCI-NR`: INTEGER (0..1007)
    pub p_ci_nr: Option<u16>,
    /// `possrsResourceSetID`: INTEGER (0..15)
    pub possrs_resource_set_id: u8,
    /// `scs-specificCarrier`
    pub scs_specific_carrier: ScsSpecificCarrier,
}
impl CombinedPosSrsResourceSetItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.p_ci_nr.is_some());
        e.bit(false);
        e.constrained(self.point_a.into(), 0, 3279165)?;
        if let Some(v) = &self.p_ci_nr {
            e.constrained((*v).into(), 0, 1007)?;
        }
        e.constrained(self.possrs_resource_set_id.into(), 0, 15)?;
        self.scs_specific_carrier.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_p_ci_nr = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let point_a = d.constrained(0, 3279165)? as u32;
        let p_ci_nr = if has_p_ci_nr { Some(d.constrained(0, 1007)? as u16) } else { None };
        let possrs_resource_set_id = d.constrained(0, 15)? as u8;
        let scs_specific_carrier = ScsSpecificCarrier::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(CombinedPosSrsResourceSetItem { point_a, p_ci_nr, possrs_resource_set_id, scs_specific_carrier })
    }
}

/// `PosSRSResourceSet-Aggregation-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PosSrsResourceSetAggregationItem {
    /// `combined-posSRSResourceSet-List`: SEQUENCE OF (SIZE (2..3))
    pub combined_pos_srsresource_set_list: Vec<CombinedPosSrsResourceSetItem>,
}
impl PosSrsResourceSetAggregationItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.count(self.combined_pos_srsresource_set_list.len(), Some(Size::range(2, 3)))?;
        for v in &self.combined_pos_srsresource_set_list {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let combined_pos_srsresource_set_list = {
            let count = d.count(Some(Size::range(2, 3)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(CombinedPosSrsResourceSetItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PosSrsResourceSetAggregationItem { combined_pos_srsresource_set_list })
    }
}

/// The information elements of `SRSConfiguration-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SrsConfigurationIEExtensions {
    /// `PosSRSResourceSet-Aggregation-List`: SEQUENCE OF (SIZE (1..32)); information element 122, ignore
    pub pos_srsresource_set_aggregation_list: Option<Vec<PosSrsResourceSetAggregationItem>>,
}
impl SrsConfigurationIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.pos_srsresource_set_aggregation_list.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.pos_srsresource_set_aggregation_list {
            element(e, 122, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 32)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut pos_srsresource_set_aggregation_list = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                122 => {
                    pos_srsresource_set_aggregation_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 32)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(PosSrsResourceSetAggregationItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(SrsConfigurationIEExtensions { pos_srsresource_set_aggregation_list })
    }
}

/// `SRSConfiguration`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SrsConfiguration {
    /// `sRSCarrier-List`: SEQUENCE OF (SIZE (1..32))
    pub s_rscarrier_list: Vec<SrsCarrierListItem>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<SrsConfigurationIEExtensions>,
}
impl SrsConfiguration {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        e.count(self.s_rscarrier_list.len(), Some(Size::range(1, 32)))?;
        for v in &self.s_rscarrier_list {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_rscarrier_list = {
            let count = d.count(Some(Size::range(1, 32)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(SrsCarrierListItem::decode(d)?);
            }
            list
        };
        let i_e_extensions = if has_i_e_extensions {
            Some(SrsConfigurationIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SrsConfiguration { s_rscarrier_list, i_e_extensions })
    }
}

/// `MeasurementBeamInfoRequest`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeasurementBeamInfoRequest {
    /// `true`
    #[default]
    True,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl MeasurementBeamInfoRequest {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                MeasurementBeamInfoRequest::True => 0,
                MeasurementBeamInfoRequest::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => MeasurementBeamInfoRequest::True,
            other => MeasurementBeamInfoRequest::Other(other),
        })
    }
}

/// `MeasurementPeriodicityExtended`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeasurementPeriodicityExtended {
    /// `ms160`
    #[default]
    Ms160,
    /// `ms320`
    Ms320,
    /// `ms1280`
    Ms1280,
    /// `ms2560`
    Ms2560,
    /// `ms61440`
    Ms61440,
    /// `ms81920`
    Ms81920,
    /// `ms368640`
    Ms368640,
    /// `ms737280`
    Ms737280,
    /// `ms1843200`
    Ms1843200,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl MeasurementPeriodicityExtended {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                MeasurementPeriodicityExtended::Ms160 => 0,
                MeasurementPeriodicityExtended::Ms320 => 1,
                MeasurementPeriodicityExtended::Ms1280 => 2,
                MeasurementPeriodicityExtended::Ms2560 => 3,
                MeasurementPeriodicityExtended::Ms61440 => 4,
                MeasurementPeriodicityExtended::Ms81920 => 5,
                MeasurementPeriodicityExtended::Ms368640 => 6,
                MeasurementPeriodicityExtended::Ms737280 => 7,
                MeasurementPeriodicityExtended::Ms1843200 => 8,
                MeasurementPeriodicityExtended::Other(index) => index,
            },
            9,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(9, true)? {
            0 => MeasurementPeriodicityExtended::Ms160,
            1 => MeasurementPeriodicityExtended::Ms320,
            2 => MeasurementPeriodicityExtended::Ms1280,
            3 => MeasurementPeriodicityExtended::Ms2560,
            4 => MeasurementPeriodicityExtended::Ms61440,
            5 => MeasurementPeriodicityExtended::Ms81920,
            6 => MeasurementPeriodicityExtended::Ms368640,
            7 => MeasurementPeriodicityExtended::Ms737280,
            8 => MeasurementPeriodicityExtended::Ms1843200,
            other => MeasurementPeriodicityExtended::Other(other),
        })
    }
}

/// `ResponseTime-timeUnit`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResponseTimeTimeUnit {
    /// `second`
    #[default]
    Second,
    /// `ten-seconds`
    TenSeconds,
    /// `ten-milliseconds`
    TenMilliseconds,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl ResponseTimeTimeUnit {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                ResponseTimeTimeUnit::Second => 0,
                ResponseTimeTimeUnit::TenSeconds => 1,
                ResponseTimeTimeUnit::TenMilliseconds => 2,
                ResponseTimeTimeUnit::Other(index) => index,
            },
            3,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, true)? {
            0 => ResponseTimeTimeUnit::Second,
            1 => ResponseTimeTimeUnit::TenSeconds,
            2 => ResponseTimeTimeUnit::TenMilliseconds,
            other => ResponseTimeTimeUnit::Other(other),
        })
    }
}

/// `ResponseTime`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResponseTime {
    /// `time`: INTEGER (1..128, …)
    pub time: i64,
    /// `timeUnit`
    pub time_unit: ResponseTimeTimeUnit,
}
impl ResponseTime {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.extensible(self.time.into(), 1, 128)?;
        self.time_unit.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let time = i64::try_from(d.extensible(1, 128)?).map_err(|_| DecodeError::Range)?;
        let time_unit = ResponseTimeTimeUnit::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResponseTime { time, time_unit })
    }
}

/// `MeasurementTimeOccasion`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeasurementTimeOccasion {
    /// `o1`
    #[default]
    O1,
    /// `o4`
    O4,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl MeasurementTimeOccasion {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                MeasurementTimeOccasion::O1 => 0,
                MeasurementTimeOccasion::O4 => 1,
                MeasurementTimeOccasion::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => MeasurementTimeOccasion::O1,
            1 => MeasurementTimeOccasion::O4,
            other => MeasurementTimeOccasion::Other(other),
        })
    }
}

/// `MeasurementAmount`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeasurementAmount {
    /// `ma0`
    #[default]
    Ma0,
    /// `ma1`
    Ma1,
    /// `ma2`
    Ma2,
    /// `ma4`
    Ma4,
    /// `ma8`
    Ma8,
    /// `ma16`
    Ma16,
    /// `ma32`
    Ma32,
    /// `ma64`
    Ma64,
}
impl MeasurementAmount {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                MeasurementAmount::Ma0 => 0,
                MeasurementAmount::Ma1 => 1,
                MeasurementAmount::Ma2 => 2,
                MeasurementAmount::Ma4 => 3,
                MeasurementAmount::Ma8 => 4,
                MeasurementAmount::Ma16 => 5,
                MeasurementAmount::Ma32 => 6,
                MeasurementAmount::Ma64 => 7,
            },
            8,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(8, false)? {
            0 => MeasurementAmount::Ma0,
            1 => MeasurementAmount::Ma1,
            2 => MeasurementAmount::Ma2,
            3 => MeasurementAmount::Ma4,
            4 => MeasurementAmount::Ma8,
            5 => MeasurementAmount::Ma16,
            6 => MeasurementAmount::Ma32,
            7 => MeasurementAmount::Ma64,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `TimeWindowDurationMeasurement-durationSlots`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeWindowDurationMeasurementDurationSlots {
    /// `n1`
    #[default]
    N1,
    /// `n2`
    N2,
    /// `n4`
    N4,
    /// `n6`
    N6,
    /// `n8`
    N8,
    /// `n12`
    N12,
    /// `n16`
    N16,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TimeWindowDurationMeasurementDurationSlots {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TimeWindowDurationMeasurementDurationSlots::N1 => 0,
                TimeWindowDurationMeasurementDurationSlots::N2 => 1,
                TimeWindowDurationMeasurementDurationSlots::N4 => 2,
                TimeWindowDurationMeasurementDurationSlots::N6 => 3,
                TimeWindowDurationMeasurementDurationSlots::N8 => 4,
                TimeWindowDurationMeasurementDurationSlots::N12 => 5,
                TimeWindowDurationMeasurementDurationSlots::N16 => 6,
                TimeWindowDurationMeasurementDurationSlots::Other(index) => index,
            },
            7,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(7, true)? {
            0 => TimeWindowDurationMeasurementDurationSlots::N1,
            1 => TimeWindowDurationMeasurementDurationSlots::N2,
            2 => TimeWindowDurationMeasurementDurationSlots::N4,
            3 => TimeWindowDurationMeasurementDurationSlots::N6,
            4 => TimeWindowDurationMeasurementDurationSlots::N8,
            5 => TimeWindowDurationMeasurementDurationSlots::N12,
            6 => TimeWindowDurationMeasurementDurationSlots::N16,
            other => TimeWindowDurationMeasurementDurationSlots::Other(other),
        })
    }
}

/// One information element: `TimeWindowDurationMeasurement-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeWindowDurationMeasurementChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for TimeWindowDurationMeasurementChoiceExtension {
    fn default() -> Self {
        TimeWindowDurationMeasurementChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl TimeWindowDurationMeasurementChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TimeWindowDurationMeasurementChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => TimeWindowDurationMeasurementChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `TimeWindowDurationMeasurement`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeWindowDurationMeasurement {
    /// `durationSlots`
    DurationSlots(TimeWindowDurationMeasurementDurationSlots),
    /// `choice-extension`
    ChoiceExtension(TimeWindowDurationMeasurementChoiceExtension),
}
impl Default for TimeWindowDurationMeasurement {
    fn default() -> Self {
        TimeWindowDurationMeasurement::DurationSlots(Default::default())
    }
}
impl TimeWindowDurationMeasurement {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TimeWindowDurationMeasurement::DurationSlots(v) => {
                e.index(0, 2, false)?;
                (*v).encode(e)?;
            }
            TimeWindowDurationMeasurement::ChoiceExtension(v) => {
                e.index(1, 2, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, false)? {
            0 => TimeWindowDurationMeasurement::DurationSlots(TimeWindowDurationMeasurementDurationSlots::decode(d)?),
            1 => {
                TimeWindowDurationMeasurement::ChoiceExtension(TimeWindowDurationMeasurementChoiceExtension::decode(d)?)
            }
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `TimeWindowInformation-Measurement-Item-timeWindowType`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeWindowInformationMeasurementItemTimeWindowType {
    /// `single`
    #[default]
    Single,
    /// `periodic`
    Periodic,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TimeWindowInformationMeasurementItemTimeWindowType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TimeWindowInformationMeasurementItemTimeWindowType::Single => 0,
                TimeWindowInformationMeasurementItemTimeWindowType::Periodic => 1,
                TimeWindowInformationMeasurementItemTimeWindowType::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => TimeWindowInformationMeasurementItemTimeWindowType::Single,
            1 => TimeWindowInformationMeasurementItemTimeWindowType::Periodic,
            other => TimeWindowInformationMeasurementItemTimeWindowType::Other(other),
        })
    }
}

/// `TimeWindowPeriodicityMeasurement`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeWindowPeriodicityMeasurement {
    /// `ms160`
    #[default]
    Ms160,
    /// `ms320`
    Ms320,
    /// `ms640`
    Ms640,
    /// `ms1280`
    Ms1280,
    /// `ms2560`
    Ms2560,
    /// `ms5120`
    Ms5120,
    /// `ms10240`
    Ms10240,
    /// `ms20480`
    Ms20480,
    /// `ms40960`
    Ms40960,
    /// `ms61440`
    Ms61440,
    /// `ms81920`
    Ms81920,
    /// `ms368640`
    Ms368640,
    /// `ms737280`
    Ms737280,
    /// `ms1843200`
    Ms1843200,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TimeWindowPeriodicityMeasurement {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TimeWindowPeriodicityMeasurement::Ms160 => 0,
                TimeWindowPeriodicityMeasurement::Ms320 => 1,
                TimeWindowPeriodicityMeasurement::Ms640 => 2,
                TimeWindowPeriodicityMeasurement::Ms1280 => 3,
                TimeWindowPeriodicityMeasurement::Ms2560 => 4,
                TimeWindowPeriodicityMeasurement::Ms5120 => 5,
                TimeWindowPeriodicityMeasurement::Ms10240 => 6,
                TimeWindowPeriodicityMeasurement::Ms20480 => 7,
                TimeWindowPeriodicityMeasurement::Ms40960 => 8,
                TimeWindowPeriodicityMeasurement::Ms61440 => 9,
                TimeWindowPeriodicityMeasurement::Ms81920 => 10,
                TimeWindowPeriodicityMeasurement::Ms368640 => 11,
                TimeWindowPeriodicityMeasurement::Ms737280 => 12,
                TimeWindowPeriodicityMeasurement::Ms1843200 => 13,
                TimeWindowPeriodicityMeasurement::Other(index) => index,
            },
            14,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(14, true)? {
            0 => TimeWindowPeriodicityMeasurement::Ms160,
            1 => TimeWindowPeriodicityMeasurement::Ms320,
            2 => TimeWindowPeriodicityMeasurement::Ms640,
            3 => TimeWindowPeriodicityMeasurement::Ms1280,
            4 => TimeWindowPeriodicityMeasurement::Ms2560,
            5 => TimeWindowPeriodicityMeasurement::Ms5120,
            6 => TimeWindowPeriodicityMeasurement::Ms10240,
            7 => TimeWindowPeriodicityMeasurement::Ms20480,
            8 => TimeWindowPeriodicityMeasurement::Ms40960,
            9 => TimeWindowPeriodicityMeasurement::Ms61440,
            10 => TimeWindowPeriodicityMeasurement::Ms81920,
            11 => TimeWindowPeriodicityMeasurement::Ms368640,
            12 => TimeWindowPeriodicityMeasurement::Ms737280,
            13 => TimeWindowPeriodicityMeasurement::Ms1843200,
            other => TimeWindowPeriodicityMeasurement::Other(other),
        })
    }
}

/// `TimeWindowStart`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimeWindowStart {
    /// `systemFrameNumber`, `SystemFrameNumber`: INTEGER (0..1023)
    pub system_frame_number: u16,
    /// `slotNumber`, `SlotNumber`: INTEGER (0..79)
    pub slot_number: u8,
    /// `symbolIndex`: INTEGER (0..13)
    pub symbol_index: u8,
}
impl TimeWindowStart {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.system_frame_number.into(), 0, 1023)?;
        e.constrained(self.slot_number.into(), 0, 79)?;
        e.constrained(self.symbol_index.into(), 0, 13)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extension = d.bit()?;
        let system_frame_number = d.constrained(0, 1023)? as u16;
        let slot_number = d.constrained(0, 79)? as u8;
        let symbol_index = d.constrained(0, 13)? as u8;
        if has_i_e_extension {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TimeWindowStart { system_frame_number, slot_number, symbol_index })
    }
}

/// `TimeWindowInformation-Measurement-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimeWindowInformationMeasurementItem {
    /// `timeWindowDurationMeasurement`
    pub time_window_duration_measurement: TimeWindowDurationMeasurement,
    /// `timeWindowType`
    pub time_window_type: TimeWindowInformationMeasurementItemTimeWindowType,
    /// `timeWindowPeriodicityMeasurement`
    pub time_window_periodicity_measurement: Option<TimeWindowPeriodicityMeasurement>,
    /// `timeWindowStart`
    pub time_window_start: TimeWindowStart,
}
impl TimeWindowInformationMeasurementItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.time_window_periodicity_measurement.is_some());
        e.bit(false);
        self.time_window_duration_measurement.encode(e)?;
        self.time_window_type.encode(e)?;
        if let Some(v) = &self.time_window_periodicity_measurement {
            (*v).encode(e)?;
        }
        self.time_window_start.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_time_window_periodicity_measurement = d.bit()?;
        let has_i_e_extension = d.bit()?;
        let time_window_duration_measurement = TimeWindowDurationMeasurement::decode(d)?;
        let time_window_type = TimeWindowInformationMeasurementItemTimeWindowType::decode(d)?;
        let time_window_periodicity_measurement = if has_time_window_periodicity_measurement {
            Some(TimeWindowPeriodicityMeasurement::decode(d)?)
        } else {
            None
        };
        let time_window_start = TimeWindowStart::decode(d)?;
        if has_i_e_extension {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TimeWindowInformationMeasurementItem {
            time_window_duration_measurement,
            time_window_type,
            time_window_periodicity_measurement,
            time_window_start,
        })
    }
}

/// `MeasurementRequest`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasurementRequest {
    /// `Measurement-ID`, `Measurement-ID`: INTEGER (1..65536, …); information element 39, reject
    pub measurement_id: i64,
    /// `TRP-MeasurementRequestList`: SEQUENCE OF (SIZE (1..64)); information element 41, reject
    pub trp_measurement_request_list: Vec<TrpMeasurementRequestItem>,
    /// `ReportCharacteristics`; information element 3, reject
    pub report_characteristics: ReportCharacteristics,
    /// `MeasurementPeriodicity`; information element 4, reject
    pub measurement_periodicity: Option<MeasurementPeriodicity>,
    /// `TRPMeasurementQuantities`: SEQUENCE OF (SIZE (1..16384)); information element 52, reject
    pub trpmeasurement_quantities: Vec<TrpMeasurementQuantitiesListItem>,
    /// `RelativeTime1900`, `RelativeTime1900`: BIT STRING (SIZE (64..64)); information element 54, ignore
    pub relative_time1900: Option<BitString>,
    /// `SRSConfiguration`; information element 26, ignore
    pub srsconfiguration: Option<SrsConfiguration>,
    /// `MeasurementBeamInfoRequest`; information element 31, ignore
    pub measurement_beam_info_request: Option<MeasurementBeamInfoRequest>,
    /// `SystemFrameNumber`, `SystemFrameNumber`: INTEGER (0..1023); information element 49, ignore
    pub system_frame_number: Option<u16>,
    /// `SlotNumber`, `SlotNumber`: INTEGER (0..79); information element 50, ignore
    pub slot_number: Option<u8>,
    /// `MeasurementPeriodicityExtended`; information element 64, reject
    pub measurement_periodicity_extended: Option<MeasurementPeriodicityExtended>,
    /// `ResponseTime`; information element 72, ignore
    pub response_time: Option<ResponseTime>,
    /// `MeasurementCharacteristicsRequestIndicator`, `MeasurementCharacteristicsRequestIndicator`: BIT STRING (SIZE
    /// (16..16)); information element 92, ignore
    pub measurement_characteristics_request_indicator: Option<BitString>,
    /// `MeasurementTimeOccasion`; information element 91, ignore
    pub measurement_time_occasion: Option<MeasurementTimeOccasion>,
    /// `MeasurementAmount`; information element 95, ignore
    pub measurement_amount: Option<MeasurementAmount>,
    /// `TimeWindowInformation-Measurement-List`: SEQUENCE OF (SIZE (1..16)); information element 125, ignore
    pub time_window_information_measurement_list: Option<Vec<TimeWindowInformationMeasurementItem>>,
}
impl MeasurementRequest {
    pub(crate) fn count(&self) -> usize {
        1 + 1
            + 1
            + usize::from(self.measurement_periodicity.is_some())
            + 1
            + usize::from(self.relative_time1900.is_some())
            + usize::from(self.srsconfiguration.is_some())
            + usize::from(self.measurement_beam_info_request.is_some())
            + usize::from(self.system_frame_number.is_some())
            + usize::from(self.slot_number.is_some())
            + usize::from(self.measurement_periodicity_extended.is_some())
            + usize::from(self.response_time.is_some())
            + usize::from(self.measurement_characteristics_request_indicator.is_some())
            + usize::from(self.measurement_time_occasion.is_some())
            + usize::from(self.measurement_amount.is_some())
            + usize::from(self.time_window_information_measurement_list.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 39, 0)?;
        e.open(|e| {
            e.extensible(self.measurement_id.into(), 1, 65536)?;
            Ok(())
        })?;
        element(e, 41, 0)?;
        e.open(|e| {
            e.count(self.trp_measurement_request_list.len(), Some(Size::range(1, 64)))?;
            for v in &self.trp_measurement_request_list {
                (*v).encode(e)?;
            }
            Ok(())
        })?;
        element(e, 3, 0)?;
        e.open(|e| {
            self.report_characteristics.encode(e)?;
            Ok(())
        })?;
        if let Some(v) = &self.measurement_periodicity {
            element(e, 4, 0)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        element(e, 52, 0)?;
        e.open(|e| {
            e.count(self.trpmeasurement_quantities.len(), Some(Size::range(1, 16384)))?;
            for v in &self.trpmeasurement_quantities {
                (*v).encode(e)?;
            }
            Ok(())
        })?;
        if let Some(v) = &self.relative_time1900 {
            element(e, 54, 1)?;
            e.open(|e| {
                e.bit_string(&(*v), Some(Size::range(64, 64)))?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.srsconfiguration {
            element(e, 26, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.measurement_beam_info_request {
            element(e, 31, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.system_frame_number {
            element(e, 49, 1)?;
            e.open(|e| {
                e.constrained((*v).into(), 0, 1023)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.slot_number {
            element(e, 50, 1)?;
            e.open(|e| {
                e.constrained((*v).into(), 0, 79)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.measurement_periodicity_extended {
            element(e, 64, 0)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.response_time {
            element(e, 72, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.measurement_characteristics_request_indicator {
            element(e, 92, 1)?;
            e.open(|e| {
                e.bit_string(&(*v), Some(Size::range(16, 16)))?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.measurement_time_occasion {
            element(e, 91, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.measurement_amount {
            element(e, 95, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.time_window_information_measurement_list {
            element(e, 125, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 16)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut measurement_id = None;
        let mut trp_measurement_request_list = None;
        let mut report_characteristics = None;
        let mut measurement_periodicity = None;
        let mut trpmeasurement_quantities = None;
        let mut relative_time1900 = None;
        let mut srsconfiguration = None;
        let mut measurement_beam_info_request = None;
        let mut system_frame_number = None;
        let mut slot_number = None;
        let mut measurement_periodicity_extended = None;
        let mut response_time = None;
        let mut measurement_characteristics_request_indicator = None;
        let mut measurement_time_occasion = None;
        let mut measurement_amount = None;
        let mut time_window_information_measurement_list = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                39 => {
                    measurement_id =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 65536)?).map_err(|_| DecodeError::Range)?))?)
                }
                41 => {
                    trp_measurement_request_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 64)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(TrpMeasurementRequestItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                3 => report_characteristics = Some(d.open(|d| Ok(ReportCharacteristics::decode(d)?))?),
                4 => measurement_periodicity = Some(d.open(|d| Ok(MeasurementPeriodicity::decode(d)?))?),
                52 => {
                    trpmeasurement_quantities = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 16384)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(TrpMeasurementQuantitiesListItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                54 => relative_time1900 = Some(d.open(|d| Ok(d.bit_string(Some(Size::range(64, 64)))?))?),
                26 => srsconfiguration = Some(d.open(|d| Ok(SrsConfiguration::decode(d)?))?),
                31 => measurement_beam_info_request = Some(d.open(|d| Ok(MeasurementBeamInfoRequest::decode(d)?))?),
                49 => system_frame_number = Some(d.open(|d| Ok(d.constrained(0, 1023)? as u16))?),
                50 => slot_number = Some(d.open(|d| Ok(d.constrained(0, 79)? as u8))?),
                64 => {
                    measurement_periodicity_extended = Some(d.open(|d| Ok(MeasurementPeriodicityExtended::decode(d)?))?)
                }
                72 => response_time = Some(d.open(|d| Ok(ResponseTime::decode(d)?))?),
                92 => {
                    measurement_characteristics_request_indicator =
                        Some(d.open(|d| Ok(d.bit_string(Some(Size::range(16, 16)))?))?)
                }
                91 => measurement_time_occasion = Some(d.open(|d| Ok(MeasurementTimeOccasion::decode(d)?))?),
                95 => measurement_amount = Some(d.open(|d| Ok(MeasurementAmount::decode(d)?))?),
                125 => {
                    time_window_information_measurement_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 16)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(TimeWindowInformationMeasurementItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(MeasurementRequest {
            measurement_id: measurement_id.ok_or(DecodeError::Missing(39))?,
            trp_measurement_request_list: trp_measurement_request_list.ok_or(DecodeError::Missing(41))?,
            report_characteristics: report_characteristics.ok_or(DecodeError::Missing(3))?,
            measurement_periodicity,
            trpmeasurement_quantities: trpmeasurement_quantities.ok_or(DecodeError::Missing(52))?,
            relative_time1900,
            srsconfiguration,
            measurement_beam_info_request,
            system_frame_number,
            slot_number,
            measurement_periodicity_extended,
            response_time,
            measurement_characteristics_request_indicator,
            measurement_time_occasion,
            measurement_amount,
            time_window_information_measurement_list,
        })
    }
}

/// `TRPItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpItem {
    /// `tRP-ID`, `TRP-ID`: INTEGER (1..65535, …)
    pub t_rp_id: i64,
}
impl TrpItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.extensible(self.t_rp_id.into(), 1, 65535)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rp_id = i64::try_from(d.extensible(1, 65535)?).map_err(|_| DecodeError::Range)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpItem { t_rp_id })
    }
}

/// `TRPInformationTypeItem`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrpInformationTypeItem {
    /// `nrPCI`
    #[default]
    NrPci,
    /// `nG-RAN-CGI`
    NGRanCgi,
    /// `arfcn`
    Arfcn,
    /// `pRSConfig`
    PRsConfig,
    /// `sSBInfo`
    SSbInfo,
    /// `sFNInitTime`
    SFnInitTime,
    /// `spatialDirectInfo`
    SpatialDirectInfo,
    /// `geoCoord`
    GeoCoord,
    /// `trp-type`
    TrpType,
    /// `ondemandPRSInfo`
    OndemandPrsInfo,
    /// `trpTxTeg`
    TrpTxTeg,
    /// `beam-antenna-info`
    BeamAntennaInfo,
    /// `mobile-trp-location-info`
    MobileTrpLocationInfo,
    /// `commonTA`
    CommonTa,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TrpInformationTypeItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TrpInformationTypeItem::NrPci => 0,
                TrpInformationTypeItem::NGRanCgi => 1,
                TrpInformationTypeItem::Arfcn => 2,
                TrpInformationTypeItem::PRsConfig => 3,
                TrpInformationTypeItem::SSbInfo => 4,
                TrpInformationTypeItem::SFnInitTime => 5,
                TrpInformationTypeItem::SpatialDirectInfo => 6,
                TrpInformationTypeItem::GeoCoord => 7,
                TrpInformationTypeItem::TrpType => 8,
                TrpInformationTypeItem::OndemandPrsInfo => 9,
                TrpInformationTypeItem::TrpTxTeg => 10,
                TrpInformationTypeItem::BeamAntennaInfo => 11,
                TrpInformationTypeItem::MobileTrpLocationInfo => 12,
                TrpInformationTypeItem::CommonTa => 13,
                TrpInformationTypeItem::Other(index) => index,
            },
            8,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(8, true)? {
            0 => TrpInformationTypeItem::NrPci,
            1 => TrpInformationTypeItem::NGRanCgi,
            2 => TrpInformationTypeItem::Arfcn,
            3 => TrpInformationTypeItem::PRsConfig,
            4 => TrpInformationTypeItem::SSbInfo,
            5 => TrpInformationTypeItem::SFnInitTime,
            6 => TrpInformationTypeItem::SpatialDirectInfo,
            7 => TrpInformationTypeItem::GeoCoord,
            8 => TrpInformationTypeItem::TrpType,
            9 => TrpInformationTypeItem::OndemandPrsInfo,
            10 => TrpInformationTypeItem::TrpTxTeg,
            11 => TrpInformationTypeItem::BeamAntennaInfo,
            12 => TrpInformationTypeItem::MobileTrpLocationInfo,
            13 => TrpInformationTypeItem::CommonTa,
            other => TrpInformationTypeItem::Other(other),
        })
    }
}

/// One information element: `TrpInformationRequest-trpinformation_type_list_trpreqItem`.
#[derive(Debug, Clone, PartialEq)]
pub enum TrpInformationRequestTrpinformationTypeListTrpreqItem {
    /// `TRPInformationTypeItem`
    TrpInformationTypeItem(TrpInformationTypeItem),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for TrpInformationRequestTrpinformationTypeListTrpreqItem {
    fn default() -> Self {
        TrpInformationRequestTrpinformationTypeListTrpreqItem::Other(0, 0, Vec::new())
    }
}
impl TrpInformationRequestTrpinformationTypeListTrpreqItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TrpInformationRequestTrpinformationTypeListTrpreqItem::TrpInformationTypeItem(v) => {
                element(e, 57, 0)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            TrpInformationRequestTrpinformationTypeListTrpreqItem::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            57 => TrpInformationRequestTrpinformationTypeListTrpreqItem::TrpInformationTypeItem(
                d.open(|d| Ok(TrpInformationTypeItem::decode(d)?))?,
            ),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => TrpInformationRequestTrpinformationTypeListTrpreqItem::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `TRPInformationRequest`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpInformationRequest {
    /// `TRPList`: SEQUENCE OF (SIZE (1..65535)); information element 47, ignore
    pub trplist: Option<Vec<TrpItem>>,
    /// `TRPInformationTypeListTRPReq`: SEQUENCE OF (SIZE (1..64)); information element 29, reject
    pub trpinformation_type_list_trpreq: Vec<TrpInformationRequestTrpinformationTypeListTrpreqItem>,
}
impl TrpInformationRequest {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.trplist.is_some()) + 1
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        if let Some(v) = &self.trplist {
            element(e, 47, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 65535)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        element(e, 29, 0)?;
        e.open(|e| {
            e.count(self.trpinformation_type_list_trpreq.len(), Some(Size::range(1, 64)))?;
            for v in &self.trpinformation_type_list_trpreq {
                (*v).encode(e)?;
            }
            Ok(())
        })?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut trplist = None;
        let mut trpinformation_type_list_trpreq = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                47 => {
                    trplist = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 65535)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(TrpItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                29 => {
                    trpinformation_type_list_trpreq = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 64)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(TrpInformationRequestTrpinformationTypeListTrpreqItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpInformationRequest {
            trplist,
            trpinformation_type_list_trpreq: trpinformation_type_list_trpreq.ok_or(DecodeError::Missing(29))?,
        })
    }
}

/// The information elements of `SemipersistentSRS-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SemipersistentSrsIEExtensions {
    /// `SpatialRelationInfo`; information element 48, ignore
    pub spatial_relation_info: Option<SpatialRelationInfo>,
    /// `SpatialRelationPerSRSResource`; information element 63, ignore
    pub spatial_relation_per_srsresource: Option<SpatialRelationPerSrsResource>,
    /// `PosSRSResourceSet-Aggregation-List`: SEQUENCE OF (SIZE (1..32)); information element 122, ignore
    pub pos_srsresource_set_aggregation_list: Option<Vec<PosSrsResourceSetAggregationItem>>,
}
impl SemipersistentSrsIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.spatial_relation_info.is_some())
            + usize::from(self.spatial_relation_per_srsresource.is_some())
            + usize::from(self.pos_srsresource_set_aggregation_list.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.spatial_relation_info {
            element(e, 48, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.spatial_relation_per_srsresource {
            element(e, 63, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.pos_srsresource_set_aggregation_list {
            element(e, 122, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 32)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut spatial_relation_info = None;
        let mut spatial_relation_per_srsresource = None;
        let mut pos_srsresource_set_aggregation_list = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                48 => spatial_relation_info = Some(d.open(|d| Ok(SpatialRelationInfo::decode(d)?))?),
                63 => {
                    spatial_relation_per_srsresource = Some(d.open(|d| Ok(SpatialRelationPerSrsResource::decode(d)?))?)
                }
                122 => {
                    pos_srsresource_set_aggregation_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 32)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(PosSrsResourceSetAggregationItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(SemipersistentSrsIEExtensions {
            spatial_relation_info,
            spatial_relation_per_srsresource,
            pos_srsresource_set_aggregation_list,
        })
    }
}

/// `SemipersistentSRS`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SemipersistentSrs {
    /// `sRSResourceSetID`, `SRSResourceSetID`: INTEGER (0..15, …)
    pub s_rsresource_set_id: i64,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<SemipersistentSrsIEExtensions>,
}
impl SemipersistentSrs {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        e.extensible(self.s_rsresource_set_id.into(), 0, 15)?;
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_rsresource_set_id = i64::try_from(d.extensible(0, 15)?).map_err(|_| DecodeError::Range)?;
        let i_e_extensions = if has_i_e_extensions {
            Some(SemipersistentSrsIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SemipersistentSrs { s_rsresource_set_id, i_e_extensions })
    }
}

/// `AperiodicSRS-aperiodic`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AperiodicSrsAperiodic {
    /// `true`
    #[default]
    True,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl AperiodicSrsAperiodic {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                AperiodicSrsAperiodic::True => 0,
                AperiodicSrsAperiodic::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => AperiodicSrsAperiodic::True,
            other => AperiodicSrsAperiodic::Other(other),
        })
    }
}

/// `SRSResourceTrigger`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SrsResourceTrigger {
    /// `aperiodicSRSResourceTriggerList`: SEQUENCE OF (SIZE (1..3))
    pub aperiodic_srsresource_trigger_list: Vec<u8>,
}
impl SrsResourceTrigger {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.count(self.aperiodic_srsresource_trigger_list.len(), Some(Size::range(1, 3)))?;
        for v in &self.aperiodic_srsresource_trigger_list {
            e.constrained((*v).into(), 1, 3)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let aperiodic_srsresource_trigger_list = {
            let count = d.count(Some(Size::range(1, 3)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(d.constrained(1, 3)? as u8);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SrsResourceTrigger { aperiodic_srsresource_trigger_list })
    }
}

/// The information elements of `AperiodicSRS-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AperiodicSrsIEExtensions {
    /// `PosSRSResourceSet-Aggregation-List`: SEQUENCE OF (SIZE (1..32)); information element 122, ignore
    pub pos_srsresource_set_aggregation_list: Option<Vec<PosSrsResourceSetAggregationItem>>,
}
impl AperiodicSrsIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.pos_srsresource_set_aggregation_list.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.pos_srsresource_set_aggregation_list {
            element(e, 122, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 32)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut pos_srsresource_set_aggregation_list = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                122 => {
                    pos_srsresource_set_aggregation_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 32)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(PosSrsResourceSetAggregationItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(AperiodicSrsIEExtensions { pos_srsresource_set_aggregation_list })
    }
}

/// `AperiodicSRS`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AperiodicSrs {
    /// `aperiodic`
    pub aperiodic: AperiodicSrsAperiodic,
    /// `sRSResourceTrigger`
    pub s_rsresource_trigger: Option<SrsResourceTrigger>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<AperiodicSrsIEExtensions>,
}
impl AperiodicSrs {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.s_rsresource_trigger.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        self.aperiodic.encode(e)?;
        if let Some(v) = &self.s_rsresource_trigger {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_s_rsresource_trigger = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let aperiodic = AperiodicSrsAperiodic::decode(d)?;
        let s_rsresource_trigger = if has_s_rsresource_trigger { Some(SrsResourceTrigger::decode(d)?) } else { None };
        let i_e_extensions = if has_i_e_extensions {
            Some(AperiodicSrsIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(AperiodicSrs { aperiodic, s_rsresource_trigger, i_e_extensions })
    }
}

/// One information element: `SRSType-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum SrsTypeChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for SrsTypeChoiceExtension {
    fn default() -> Self {
        SrsTypeChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl SrsTypeChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            SrsTypeChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => SrsTypeChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `SRSType`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum SrsType {
    /// `semipersistentSRS`
    SemipersistentSrs(SemipersistentSrs),
    /// `aperiodicSRS`
    AperiodicSrs(AperiodicSrs),
    /// `choice-Extension`
    ChoiceExtension(SrsTypeChoiceExtension),
}
impl Default for SrsType {
    fn default() -> Self {
        SrsType::SemipersistentSrs(Default::default())
    }
}
impl SrsType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            SrsType::SemipersistentSrs(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            SrsType::AperiodicSrs(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            SrsType::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => SrsType::SemipersistentSrs(SemipersistentSrs::decode(d)?),
            1 => SrsType::AperiodicSrs(AperiodicSrs::decode(d)?),
            2 => SrsType::ChoiceExtension(SrsTypeChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `PositioningActivationRequest`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PositioningActivationRequest {
    /// `SRSType`; information element 44, reject
    pub srstype: SrsType,
    /// `RelativeTime1900`, `RelativeTime1900`: BIT STRING (SIZE (64..64)); information element 45, ignore
    pub relative_time1900: Option<BitString>,
}
impl PositioningActivationRequest {
    pub(crate) fn count(&self) -> usize {
        1 + usize::from(self.relative_time1900.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 44, 0)?;
        e.open(|e| {
            self.srstype.encode(e)?;
            Ok(())
        })?;
        if let Some(v) = &self.relative_time1900 {
            element(e, 45, 1)?;
            e.open(|e| {
                e.bit_string(&(*v), Some(Size::range(64, 64)))?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut srstype = None;
        let mut relative_time1900 = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                44 => srstype = Some(d.open(|d| Ok(SrsType::decode(d)?))?),
                45 => relative_time1900 = Some(d.open(|d| Ok(d.bit_string(Some(Size::range(64, 64)))?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PositioningActivationRequest { srstype: srstype.ok_or(DecodeError::Missing(44))?, relative_time1900 })
    }
}

/// `PRSConfigRequestType`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrsConfigRequestType {
    /// `configure`
    #[default]
    Configure,
    /// `off`
    Off,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl PrsConfigRequestType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PrsConfigRequestType::Configure => 0,
                PrsConfigRequestType::Off => 1,
                PrsConfigRequestType::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => PrsConfigRequestType::Configure,
            1 => PrsConfigRequestType::Off,
            other => PrsConfigRequestType::Other(other),
        })
    }
}

/// `RequestedDLPRSResourceSet-Item-combSize`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequestedDlprsResourceSetItemCombSize {
    /// `n2`
    #[default]
    N2,
    /// `n4`
    N4,
    /// `n6`
    N6,
    /// `n12`
    N12,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl RequestedDlprsResourceSetItemCombSize {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                RequestedDlprsResourceSetItemCombSize::N2 => 0,
                RequestedDlprsResourceSetItemCombSize::N4 => 1,
                RequestedDlprsResourceSetItemCombSize::N6 => 2,
                RequestedDlprsResourceSetItemCombSize::N12 => 3,
                RequestedDlprsResourceSetItemCombSize::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => RequestedDlprsResourceSetItemCombSize::N2,
            1 => RequestedDlprsResourceSetItemCombSize::N4,
            2 => RequestedDlprsResourceSetItemCombSize::N6,
            3 => RequestedDlprsResourceSetItemCombSize::N12,
            other => RequestedDlprsResourceSetItemCombSize::Other(other),
        })
    }
}

/// `RequestedDLPRSResourceSet-Item-resourceSetPeriodicity`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequestedDlprsResourceSetItemResourceSetPeriodicity {
    /// `n4`
    #[default]
    N4,
    /// `n5`
    N5,
    /// `n8`
    N8,
    /// `n10`
    N10,
    /// `n16`
    N16,
    /// `n20`
    N20,
    /// `n32`
    N32,
    /// `n40`
    N40,
    /// `n64`
    N64,
    /// `n80`
    N80,
    /// `n160`
    N160,
    /// `n320`
    N320,
    /// `n640`
    N640,
    /// `n1280`
    N1280,
    /// `n2560`
    N2560,
    /// `n5120`
    N5120,
    /// `n10240`
    N10240,
    /// `n20480`
    N20480,
    /// `n40960`
    N40960,
    /// `n81920`
    N81920,
    /// `n128`
    N128,
    /// `n256`
    N256,
    /// `n512`
    N512,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl RequestedDlprsResourceSetItemResourceSetPeriodicity {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N4 => 0,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N5 => 1,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N8 => 2,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N10 => 3,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N16 => 4,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N20 => 5,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N32 => 6,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N40 => 7,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N64 => 8,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N80 => 9,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N160 => 10,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N320 => 11,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N640 => 12,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N1280 => 13,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N2560 => 14,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N5120 => 15,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N10240 => 16,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N20480 => 17,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N40960 => 18,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N81920 => 19,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N128 => 20,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N256 => 21,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::N512 => 22,
                RequestedDlprsResourceSetItemResourceSetPeriodicity::Other(index) => index,
            },
            20,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(20, true)? {
            0 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N4,
            1 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N5,
            2 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N8,
            3 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N10,
            4 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N16,
            5 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N20,
            6 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N32,
            7 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N40,
            8 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N64,
            9 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N80,
            10 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N160,
            11 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N320,
            12 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N640,
            13 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N1280,
            14 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N2560,
            15 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N5120,
            16 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N10240,
            17 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N20480,
            18 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N40960,
            19 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N81920,
            20 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N128,
            21 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N256,
            22 => RequestedDlprsResourceSetItemResourceSetPeriodicity::N512,
            other => RequestedDlprsResourceSetItemResourceSetPeriodicity::Other(other),
        })
    }
}

/// `RequestedDLPRSResourceSet-Item-resourceRepetitionFactor`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequestedDlprsResourceSetItemResourceRepetitionFactor {
    /// `rf1`
    #[default]
    Rf1,
    /// `rf2`
    Rf2,
    /// `rf4`
    Rf4,
    /// `rf6`
    Rf6,
    /// `rf8`
    Rf8,
    /// `rf16`
    Rf16,
    /// `rf32`
    Rf32,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl RequestedDlprsResourceSetItemResourceRepetitionFactor {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                RequestedDlprsResourceSetItemResourceRepetitionFactor::Rf1 => 0,
                RequestedDlprsResourceSetItemResourceRepetitionFactor::Rf2 => 1,
                RequestedDlprsResourceSetItemResourceRepetitionFactor::Rf4 => 2,
                RequestedDlprsResourceSetItemResourceRepetitionFactor::Rf6 => 3,
                RequestedDlprsResourceSetItemResourceRepetitionFactor::Rf8 => 4,
                RequestedDlprsResourceSetItemResourceRepetitionFactor::Rf16 => 5,
                RequestedDlprsResourceSetItemResourceRepetitionFactor::Rf32 => 6,
                RequestedDlprsResourceSetItemResourceRepetitionFactor::Other(index) => index,
            },
            7,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(7, true)? {
            0 => RequestedDlprsResourceSetItemResourceRepetitionFactor::Rf1,
            1 => RequestedDlprsResourceSetItemResourceRepetitionFactor::Rf2,
            2 => RequestedDlprsResourceSetItemResourceRepetitionFactor::Rf4,
            3 => RequestedDlprsResourceSetItemResourceRepetitionFactor::Rf6,
            4 => RequestedDlprsResourceSetItemResourceRepetitionFactor::Rf8,
            5 => RequestedDlprsResourceSetItemResourceRepetitionFactor::Rf16,
            6 => RequestedDlprsResourceSetItemResourceRepetitionFactor::Rf32,
            other => RequestedDlprsResourceSetItemResourceRepetitionFactor::Other(other),
        })
    }
}

/// `RequestedDLPRSResourceSet-Item-resourceNumberofSymbols`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequestedDlprsResourceSetItemResourceNumberofSymbols {
    /// `n2`
    #[default]
    N2,
    /// `n4`
    N4,
    /// `n6`
    N6,
    /// `n12`
    N12,
    /// `n1`
    N1,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl RequestedDlprsResourceSetItemResourceNumberofSymbols {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                RequestedDlprsResourceSetItemResourceNumberofSymbols::N2 => 0,
                RequestedDlprsResourceSetItemResourceNumberofSymbols::N4 => 1,
                RequestedDlprsResourceSetItemResourceNumberofSymbols::N6 => 2,
                RequestedDlprsResourceSetItemResourceNumberofSymbols::N12 => 3,
                RequestedDlprsResourceSetItemResourceNumberofSymbols::N1 => 4,
                RequestedDlprsResourceSetItemResourceNumberofSymbols::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => RequestedDlprsResourceSetItemResourceNumberofSymbols::N2,
            1 => RequestedDlprsResourceSetItemResourceNumberofSymbols::N4,
            2 => RequestedDlprsResourceSetItemResourceNumberofSymbols::N6,
            3 => RequestedDlprsResourceSetItemResourceNumberofSymbols::N12,
            4 => RequestedDlprsResourceSetItemResourceNumberofSymbols::N1,
            other => RequestedDlprsResourceSetItemResourceNumberofSymbols::Other(other),
        })
    }
}

/// `PRSResource-QCLSourceSSB`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsResourceQclSourceSsb {
    /// `pCI-NR`: INTEGER (0..1007)
    pub p_ci_nr: u16,
    /// `sSB-Index`, `SSB-Index`: INTEGER (0..63)
    pub s_sb_index: Option<u8>,
}
impl PrsResourceQclSourceSsb {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.s_sb_index.is_some());
        e.bit(false);
        e.constrained(self.p_ci_nr.into(), 0, 1007)?;
        if let Some(v) = &self.s_sb_index {
            e.constrained((*v).into(), 0, 63)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_s_sb_index = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_ci_nr = d.constrained(0, 1007)? as u16;
        let s_sb_index = if has_s_sb_index { Some(d.constrained(0, 63)? as u8) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsResourceQclSourceSsb { p_ci_nr, s_sb_index })
    }
}

/// `PRSResource-QCLSourcePRS`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsResourceQclSourcePrs {
    /// `qCLSourcePRSResourceSetID`, `PRS-Resource-Set-ID`: INTEGER (0..7)
    pub q_clsource_prsresource_set_id: u8,
    /// `qCLSourcePRSResourceID`, `PRS-Resource-ID`: INTEGER (0..63)
    pub q_clsource_prsresource_id: Option<u8>,
}
impl PrsResourceQclSourcePrs {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.q_clsource_prsresource_id.is_some());
        e.bit(false);
        e.constrained(self.q_clsource_prsresource_set_id.into(), 0, 7)?;
        if let Some(v) = &self.q_clsource_prsresource_id {
            e.constrained((*v).into(), 0, 63)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_q_clsource_prsresource_id = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let q_clsource_prsresource_set_id = d.constrained(0, 7)? as u8;
        let q_clsource_prsresource_id =
            if has_q_clsource_prsresource_id { Some(d.constrained(0, 63)? as u8) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsResourceQclSourcePrs { q_clsource_prsresource_set_id, q_clsource_prsresource_id })
    }
}

/// One information element: `PRSResource-QCLInfo-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum PrsResourceQclInfoChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for PrsResourceQclInfoChoiceExtension {
    fn default() -> Self {
        PrsResourceQclInfoChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl PrsResourceQclInfoChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            PrsResourceQclInfoChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => PrsResourceQclInfoChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `PRSResource-QCLInfo`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum PrsResourceQclInfo {
    /// `qCLSourceSSB`
    QClSourceSsb(PrsResourceQclSourceSsb),
    /// `qCLSourcePRS`
    QClSourcePrs(PrsResourceQclSourcePrs),
    /// `choice-Extension`
    ChoiceExtension(PrsResourceQclInfoChoiceExtension),
}
impl Default for PrsResourceQclInfo {
    fn default() -> Self {
        PrsResourceQclInfo::QClSourceSsb(Default::default())
    }
}
impl PrsResourceQclInfo {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            PrsResourceQclInfo::QClSourceSsb(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            PrsResourceQclInfo::QClSourcePrs(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            PrsResourceQclInfo::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => PrsResourceQclInfo::QClSourceSsb(PrsResourceQclSourceSsb::decode(d)?),
            1 => PrsResourceQclInfo::QClSourcePrs(PrsResourceQclSourcePrs::decode(d)?),
            2 => PrsResourceQclInfo::ChoiceExtension(PrsResourceQclInfoChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `RequestedDLPRSResource-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestedDlprsResourceItem {
    /// `qCLInfo`
    pub q_clinfo: Option<PrsResourceQclInfo>,
}
impl RequestedDlprsResourceItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.q_clinfo.is_some());
        e.bit(false);
        if let Some(v) = &self.q_clinfo {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_q_clinfo = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let q_clinfo = if has_q_clinfo { Some(PrsResourceQclInfo::decode(d)?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(RequestedDlprsResourceItem { q_clinfo })
    }
}

/// `StartTimeAndDuration`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StartTimeAndDuration {
    /// `startTime`, `RelativeTime1900`: BIT STRING (SIZE (64..64))
    pub start_time: Option<BitString>,
    /// `duration`: INTEGER (0..90060, …)
    pub duration: Option<i64>,
}
impl StartTimeAndDuration {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.start_time.is_some());
        e.bit(self.duration.is_some());
        e.bit(false);
        if let Some(v) = &self.start_time {
            e.bit_string(&(*v), Some(Size::range(64, 64)))?;
        }
        if let Some(v) = &self.duration {
            e.extensible((*v).into(), 0, 90060)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_start_time = d.bit()?;
        let has_duration = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let start_time = if has_start_time { Some(d.bit_string(Some(Size::range(64, 64)))?) } else { None };
        let duration = if has_duration {
            Some(i64::try_from(d.extensible(0, 90060)?).map_err(|_| DecodeError::Range)?)
        } else {
            None
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(StartTimeAndDuration { start_time, duration })
    }
}

/// `RequestedDLPRSResourceSet-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestedDlprsResourceSetItem {
    /// `pRSbandwidth`: INTEGER (1..63)
    pub p_rsbandwidth: Option<u8>,
    /// `combSize`
    pub comb_size: Option<RequestedDlprsResourceSetItemCombSize>,
    /// `resourceSetPeriodicity`
    pub resource_set_periodicity: Option<RequestedDlprsResourceSetItemResourceSetPeriodicity>,
    /// `resourceRepetitionFactor`
    pub resource_repetition_factor: Option<RequestedDlprsResourceSetItemResourceRepetitionFactor>,
    /// `resourceNumberofSymbols`
    pub resource_numberof_symbols: Option<RequestedDlprsResourceSetItemResourceNumberofSymbols>,
    /// `requestedDLPRSResource-List`: SEQUENCE OF (SIZE (1..64))
    pub requested_dlprsresource_list: Option<Vec<RequestedDlprsResourceItem>>,
    /// `resourceSetStartTimeAndDuration`
    pub resource_set_start_time_and_duration: Option<StartTimeAndDuration>,
}
impl RequestedDlprsResourceSetItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.p_rsbandwidth.is_some());
        e.bit(self.comb_size.is_some());
        e.bit(self.resource_set_periodicity.is_some());
        e.bit(self.resource_repetition_factor.is_some());
        e.bit(self.resource_numberof_symbols.is_some());
        e.bit(self.requested_dlprsresource_list.is_some());
        e.bit(self.resource_set_start_time_and_duration.is_some());
        e.bit(false);
        if let Some(v) = &self.p_rsbandwidth {
            e.constrained((*v).into(), 1, 63)?;
        }
        if let Some(v) = &self.comb_size {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.resource_set_periodicity {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.resource_repetition_factor {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.resource_numberof_symbols {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.requested_dlprsresource_list {
            e.count((*v).len(), Some(Size::range(1, 64)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        if let Some(v) = &self.resource_set_start_time_and_duration {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_p_rsbandwidth = d.bit()?;
        let has_comb_size = d.bit()?;
        let has_resource_set_periodicity = d.bit()?;
        let has_resource_repetition_factor = d.bit()?;
        let has_resource_numberof_symbols = d.bit()?;
        let has_requested_dlprsresource_list = d.bit()?;
        let has_resource_set_start_time_and_duration = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_rsbandwidth = if has_p_rsbandwidth { Some(d.constrained(1, 63)? as u8) } else { None };
        let comb_size = if has_comb_size { Some(RequestedDlprsResourceSetItemCombSize::decode(d)?) } else { None };
        let resource_set_periodicity = if has_resource_set_periodicity {
            Some(RequestedDlprsResourceSetItemResourceSetPeriodicity::decode(d)?)
        } else {
            None
        };
        let resource_repetition_factor = if has_resource_repetition_factor {
            Some(RequestedDlprsResourceSetItemResourceRepetitionFactor::decode(d)?)
        } else {
            None
        };
        let resource_numberof_symbols = if has_resource_numberof_symbols {
            Some(RequestedDlprsResourceSetItemResourceNumberofSymbols::decode(d)?)
        } else {
            None
        };
        let requested_dlprsresource_list = if has_requested_dlprsresource_list {
            Some({
                let count = d.count(Some(Size::range(1, 64)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(RequestedDlprsResourceItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        let resource_set_start_time_and_duration =
            if has_resource_set_start_time_and_duration { Some(StartTimeAndDuration::decode(d)?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(RequestedDlprsResourceSetItem {
            p_rsbandwidth,
            comb_size,
            resource_set_periodicity,
            resource_repetition_factor,
            resource_numberof_symbols,
            requested_dlprsresource_list,
            resource_set_start_time_and_duration,
        })
    }
}

/// `DL-PRSBWAggregationRequestInfo-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DlPrsbwAggregationRequestInfoItem {
    /// `dl-prs-ResourceSetIndex`: INTEGER (1..8)
    pub dl_prs_resource_set_index: u8,
}
impl DlPrsbwAggregationRequestInfoItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.dl_prs_resource_set_index.into(), 1, 8)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let dl_prs_resource_set_index = d.constrained(1, 8)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(DlPrsbwAggregationRequestInfoItem { dl_prs_resource_set_index })
    }
}

/// `PRSBWAggregationRequestInfo-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsbwAggregationRequestInfoItem {
    /// `dl-PRSBWAggregationRequestInfo-List`: SEQUENCE OF (SIZE (2..3))
    pub dl_prsbwaggregation_request_info_list: Vec<DlPrsbwAggregationRequestInfoItem>,
}
impl PrsbwAggregationRequestInfoItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.count(self.dl_prsbwaggregation_request_info_list.len(), Some(Size::range(2, 3)))?;
        for v in &self.dl_prsbwaggregation_request_info_list {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let dl_prsbwaggregation_request_info_list = {
            let count = d.count(Some(Size::range(2, 3)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(DlPrsbwAggregationRequestInfoItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsbwAggregationRequestInfoItem { dl_prsbwaggregation_request_info_list })
    }
}

/// The information elements of `RequestedDLPRSTransmissionCharacteristics-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestedDlprsTransmissionCharacteristicsIEExtensions {
    /// `PRSBWAggregationRequestInfoList`: SEQUENCE OF (SIZE (1..2)); information element 130, ignore
    pub prsbwaggregation_request_info_list: Option<Vec<PrsbwAggregationRequestInfoItem>>,
}
impl RequestedDlprsTransmissionCharacteristicsIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.prsbwaggregation_request_info_list.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.prsbwaggregation_request_info_list {
            element(e, 130, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 2)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut prsbwaggregation_request_info_list = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                130 => {
                    prsbwaggregation_request_info_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 2)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(PrsbwAggregationRequestInfoItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(RequestedDlprsTransmissionCharacteristicsIEExtensions { prsbwaggregation_request_info_list })
    }
}

/// `RequestedDLPRSTransmissionCharacteristics`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestedDlprsTransmissionCharacteristics {
    /// `requestedDLPRSResourceSet-List`: SEQUENCE OF (SIZE (1..8))
    pub requested_dlprsresource_set_list: Vec<RequestedDlprsResourceSetItem>,
    /// `numberofFrequencyLayers`: INTEGER (1..4)
    pub numberof_frequency_layers: Option<u8>,
    /// `startTimeAndDuration`
    pub start_time_and_duration: Option<StartTimeAndDuration>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<RequestedDlprsTransmissionCharacteristicsIEExtensions>,
}
impl RequestedDlprsTransmissionCharacteristics {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.numberof_frequency_layers.is_some());
        e.bit(self.start_time_and_duration.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        e.count(self.requested_dlprsresource_set_list.len(), Some(Size::range(1, 8)))?;
        for v in &self.requested_dlprsresource_set_list {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.numberof_frequency_layers {
            e.constrained((*v).into(), 1, 4)?;
        }
        if let Some(v) = &self.start_time_and_duration {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_numberof_frequency_layers = d.bit()?;
        let has_start_time_and_duration = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let requested_dlprsresource_set_list = {
            let count = d.count(Some(Size::range(1, 8)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(RequestedDlprsResourceSetItem::decode(d)?);
            }
            list
        };
        let numberof_frequency_layers =
            if has_numberof_frequency_layers { Some(d.constrained(1, 4)? as u8) } else { None };
        let start_time_and_duration =
            if has_start_time_and_duration { Some(StartTimeAndDuration::decode(d)?) } else { None };
        let i_e_extensions = if has_i_e_extensions {
            Some(RequestedDlprsTransmissionCharacteristicsIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(RequestedDlprsTransmissionCharacteristics {
            requested_dlprsresource_set_list,
            numberof_frequency_layers,
            start_time_and_duration,
            i_e_extensions,
        })
    }
}

/// `PRSTransmissionOffPerResourceSet-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsTransmissionOffPerResourceSetItem {
    /// `pRSResourceSetID`, `PRS-Resource-Set-ID`: INTEGER (0..7)
    pub p_rsresource_set_id: u8,
}
impl PrsTransmissionOffPerResourceSetItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.p_rsresource_set_id.into(), 0, 7)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_rsresource_set_id = d.constrained(0, 7)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsTransmissionOffPerResourceSetItem { p_rsresource_set_id })
    }
}

/// `PRSTransmissionOffIndicationPerResource-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsTransmissionOffIndicationPerResourceItem {
    /// `pRSResourceID`, `PRS-Resource-ID`: INTEGER (0..63)
    pub p_rsresource_id: u8,
}
impl PrsTransmissionOffIndicationPerResourceItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.p_rsresource_id.into(), 0, 63)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_rsresource_id = d.constrained(0, 63)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsTransmissionOffIndicationPerResourceItem { p_rsresource_id })
    }
}

/// `PRSTransmissionOffPerResource-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsTransmissionOffPerResourceItem {
    /// `pRSResourceSetID`, `PRS-Resource-Set-ID`: INTEGER (0..7)
    pub p_rsresource_set_id: u8,
    /// `pRSTransmissionOffIndicationPerResourceList`: SEQUENCE OF (SIZE (1..64))
    pub p_rstransmission_off_indication_per_resource_list: Vec<PrsTransmissionOffIndicationPerResourceItem>,
}
impl PrsTransmissionOffPerResourceItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.p_rsresource_set_id.into(), 0, 7)?;
        e.count(self.p_rstransmission_off_indication_per_resource_list.len(), Some(Size::range(1, 64)))?;
        for v in &self.p_rstransmission_off_indication_per_resource_list {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_rsresource_set_id = d.constrained(0, 7)? as u8;
        let p_rstransmission_off_indication_per_resource_list = {
            let count = d.count(Some(Size::range(1, 64)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(PrsTransmissionOffIndicationPerResourceItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsTransmissionOffPerResourceItem { p_rsresource_set_id, p_rstransmission_off_indication_per_resource_list })
    }
}

/// One information element: `PRSTransmissionOffIndication-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum PrsTransmissionOffIndicationChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for PrsTransmissionOffIndicationChoiceExtension {
    fn default() -> Self {
        PrsTransmissionOffIndicationChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl PrsTransmissionOffIndicationChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            PrsTransmissionOffIndicationChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => PrsTransmissionOffIndicationChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `PRSTransmissionOffIndication`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum PrsTransmissionOffIndication {
    /// `pRSTransmissionOffPerTRP`: NULL
    PRsTransmissionOffPerTrp,
    /// `pRSTransmissionOffPerResourceSet`: SEQUENCE OF (SIZE (1..8))
    PRsTransmissionOffPerResourceSet(Vec<PrsTransmissionOffPerResourceSetItem>),
    /// `pRSTransmissionOffPerResource`: SEQUENCE OF (SIZE (1..8))
    PRsTransmissionOffPerResource(Vec<PrsTransmissionOffPerResourceItem>),
    /// `choice-Extension`
    ChoiceExtension(PrsTransmissionOffIndicationChoiceExtension),
}
impl Default for PrsTransmissionOffIndication {
    fn default() -> Self {
        PrsTransmissionOffIndication::PRsTransmissionOffPerTrp
    }
}
impl PrsTransmissionOffIndication {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            PrsTransmissionOffIndication::PRsTransmissionOffPerTrp => {
                e.index(0, 4, false)?;
            }
            PrsTransmissionOffIndication::PRsTransmissionOffPerResourceSet(v) => {
                e.index(1, 4, false)?;
                e.count((*v).len(), Some(Size::range(1, 8)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
            }
            PrsTransmissionOffIndication::PRsTransmissionOffPerResource(v) => {
                e.index(2, 4, false)?;
                e.count((*v).len(), Some(Size::range(1, 8)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
            }
            PrsTransmissionOffIndication::ChoiceExtension(v) => {
                e.index(3, 4, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, false)? {
            0 => PrsTransmissionOffIndication::PRsTransmissionOffPerTrp,
            1 => PrsTransmissionOffIndication::PRsTransmissionOffPerResourceSet({
                let count = d.count(Some(Size::range(1, 8)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(PrsTransmissionOffPerResourceSetItem::decode(d)?);
                }
                list
            }),
            2 => PrsTransmissionOffIndication::PRsTransmissionOffPerResource({
                let count = d.count(Some(Size::range(1, 8)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(PrsTransmissionOffPerResourceItem::decode(d)?);
                }
                list
            }),
            3 => PrsTransmissionOffIndication::ChoiceExtension(PrsTransmissionOffIndicationChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `PRSTransmissionOffInformation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsTransmissionOffInformation {
    /// `pRSTransmissionOffIndication`
    pub p_rstransmission_off_indication: PrsTransmissionOffIndication,
}
impl PrsTransmissionOffInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.p_rstransmission_off_indication.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_rstransmission_off_indication = PrsTransmissionOffIndication::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsTransmissionOffInformation { p_rstransmission_off_indication })
    }
}

/// `PRSTRPItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrstrpItem {
    /// `tRP-ID`, `TRP-ID`: INTEGER (1..65535, …)
    pub t_rp_id: i64,
    /// `requestedDLPRSTransmissionCharacteristics`
    pub requested_dlprstransmission_characteristics: Option<Box<RequestedDlprsTransmissionCharacteristics>>,
    /// `pRSTransmissionOffInformation`
    pub p_rstransmission_off_information: Option<PrsTransmissionOffInformation>,
}
impl PrstrpItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.requested_dlprstransmission_characteristics.is_some());
        e.bit(self.p_rstransmission_off_information.is_some());
        e.bit(false);
        e.extensible(self.t_rp_id.into(), 1, 65535)?;
        if let Some(v) = &self.requested_dlprstransmission_characteristics {
            (**v).encode(e)?;
        }
        if let Some(v) = &self.p_rstransmission_off_information {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_requested_dlprstransmission_characteristics = d.bit()?;
        let has_p_rstransmission_off_information = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rp_id = i64::try_from(d.extensible(1, 65535)?).map_err(|_| DecodeError::Range)?;
        let requested_dlprstransmission_characteristics = if has_requested_dlprstransmission_characteristics {
            Some(Box::new(RequestedDlprsTransmissionCharacteristics::decode(d)?))
        } else {
            None
        };
        let p_rstransmission_off_information =
            if has_p_rstransmission_off_information { Some(PrsTransmissionOffInformation::decode(d)?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrstrpItem { t_rp_id, requested_dlprstransmission_characteristics, p_rstransmission_off_information })
    }
}

/// `PRSConfigurationRequest`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsConfigurationRequest {
    /// `PRSConfigRequestType`; information element 89, reject
    pub prsconfig_request_type: PrsConfigRequestType,
    /// `PRSTRPList`: SEQUENCE OF (SIZE (1..65535)); information element 66, ignore
    pub prstrplist: Vec<PrstrpItem>,
}
impl PrsConfigurationRequest {
    pub(crate) fn count(&self) -> usize {
        1 + 1
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 89, 0)?;
        e.open(|e| {
            self.prsconfig_request_type.encode(e)?;
            Ok(())
        })?;
        element(e, 66, 1)?;
        e.open(|e| {
            e.count(self.prstrplist.len(), Some(Size::range(1, 65535)))?;
            for v in &self.prstrplist {
                (*v).encode(e)?;
            }
            Ok(())
        })?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut prsconfig_request_type = None;
        let mut prstrplist = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                89 => prsconfig_request_type = Some(d.open(|d| Ok(PrsConfigRequestType::decode(d)?))?),
                66 => {
                    prstrplist = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 65535)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(PrstrpItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsConfigurationRequest {
            prsconfig_request_type: prsconfig_request_type.ok_or(DecodeError::Missing(89))?,
            prstrplist: prstrplist.ok_or(DecodeError::Missing(66))?,
        })
    }
}

/// `PRSResourceSet-Item-subcarrierSpacing`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrsResourceSetItemSubcarrierSpacing {
    /// `kHz15`
    #[default]
    KHz15,
    /// `kHz30`
    KHz30,
    /// `kHz60`
    KHz60,
    /// `kHz120`
    KHz120,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl PrsResourceSetItemSubcarrierSpacing {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PrsResourceSetItemSubcarrierSpacing::KHz15 => 0,
                PrsResourceSetItemSubcarrierSpacing::KHz30 => 1,
                PrsResourceSetItemSubcarrierSpacing::KHz60 => 2,
                PrsResourceSetItemSubcarrierSpacing::KHz120 => 3,
                PrsResourceSetItemSubcarrierSpacing::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => PrsResourceSetItemSubcarrierSpacing::KHz15,
            1 => PrsResourceSetItemSubcarrierSpacing::KHz30,
            2 => PrsResourceSetItemSubcarrierSpacing::KHz60,
            3 => PrsResourceSetItemSubcarrierSpacing::KHz120,
            other => PrsResourceSetItemSubcarrierSpacing::Other(other),
        })
    }
}

/// `PRSResourceSet-Item-combSize`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrsResourceSetItemCombSize {
    /// `n2`
    #[default]
    N2,
    /// `n4`
    N4,
    /// `n6`
    N6,
    /// `n12`
    N12,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl PrsResourceSetItemCombSize {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PrsResourceSetItemCombSize::N2 => 0,
                PrsResourceSetItemCombSize::N4 => 1,
                PrsResourceSetItemCombSize::N6 => 2,
                PrsResourceSetItemCombSize::N12 => 3,
                PrsResourceSetItemCombSize::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => PrsResourceSetItemCombSize::N2,
            1 => PrsResourceSetItemCombSize::N4,
            2 => PrsResourceSetItemCombSize::N6,
            3 => PrsResourceSetItemCombSize::N12,
            other => PrsResourceSetItemCombSize::Other(other),
        })
    }
}

/// `PRSResourceSet-Item-cPType`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrsResourceSetItemCPType {
    /// `normal`
    #[default]
    Normal,
    /// `extended`
    Extended,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl PrsResourceSetItemCPType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PrsResourceSetItemCPType::Normal => 0,
                PrsResourceSetItemCPType::Extended => 1,
                PrsResourceSetItemCPType::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => PrsResourceSetItemCPType::Normal,
            1 => PrsResourceSetItemCPType::Extended,
            other => PrsResourceSetItemCPType::Other(other),
        })
    }
}

/// `PRSResourceSet-Item-resourceSetPeriodicity`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrsResourceSetItemResourceSetPeriodicity {
    /// `n4`
    #[default]
    N4,
    /// `n5`
    N5,
    /// `n8`
    N8,
    /// `n10`
    N10,
    /// `n16`
    N16,
    /// `n20`
    N20,
    /// `n32`
    N32,
    /// `n40`
    N40,
    /// `n64`
    N64,
    /// `n80`
    N80,
    /// `n160`
    N160,
    /// `n320`
    N320,
    /// `n640`
    N640,
    /// `n1280`
    N1280,
    /// `n2560`
    N2560,
    /// `n5120`
    N5120,
    /// `n10240`
    N10240,
    /// `n20480`
    N20480,
    /// `n40960`
    N40960,
    /// `n81920`
    N81920,
    /// `n128`
    N128,
    /// `n256`
    N256,
    /// `n512`
    N512,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl PrsResourceSetItemResourceSetPeriodicity {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PrsResourceSetItemResourceSetPeriodicity::N4 => 0,
                PrsResourceSetItemResourceSetPeriodicity::N5 => 1,
                PrsResourceSetItemResourceSetPeriodicity::N8 => 2,
                PrsResourceSetItemResourceSetPeriodicity::N10 => 3,
                PrsResourceSetItemResourceSetPeriodicity::N16 => 4,
                PrsResourceSetItemResourceSetPeriodicity::N20 => 5,
                PrsResourceSetItemResourceSetPeriodicity::N32 => 6,
                PrsResourceSetItemResourceSetPeriodicity::N40 => 7,
                PrsResourceSetItemResourceSetPeriodicity::N64 => 8,
                PrsResourceSetItemResourceSetPeriodicity::N80 => 9,
                PrsResourceSetItemResourceSetPeriodicity::N160 => 10,
                PrsResourceSetItemResourceSetPeriodicity::N320 => 11,
                PrsResourceSetItemResourceSetPeriodicity::N640 => 12,
                PrsResourceSetItemResourceSetPeriodicity::N1280 => 13,
                PrsResourceSetItemResourceSetPeriodicity::N2560 => 14,
                PrsResourceSetItemResourceSetPeriodicity::N5120 => 15,
                PrsResourceSetItemResourceSetPeriodicity::N10240 => 16,
                PrsResourceSetItemResourceSetPeriodicity::N20480 => 17,
                PrsResourceSetItemResourceSetPeriodicity::N40960 => 18,
                PrsResourceSetItemResourceSetPeriodicity::N81920 => 19,
                PrsResourceSetItemResourceSetPeriodicity::N128 => 20,
                PrsResourceSetItemResourceSetPeriodicity::N256 => 21,
                PrsResourceSetItemResourceSetPeriodicity::N512 => 22,
                PrsResourceSetItemResourceSetPeriodicity::Other(index) => index,
            },
            20,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(20, true)? {
            0 => PrsResourceSetItemResourceSetPeriodicity::N4,
            1 => PrsResourceSetItemResourceSetPeriodicity::N5,
            2 => PrsResourceSetItemResourceSetPeriodicity::N8,
            3 => PrsResourceSetItemResourceSetPeriodicity::N10,
            4 => PrsResourceSetItemResourceSetPeriodicity::N16,
            5 => PrsResourceSetItemResourceSetPeriodicity::N20,
            6 => PrsResourceSetItemResourceSetPeriodicity::N32,
            7 => PrsResourceSetItemResourceSetPeriodicity::N40,
            8 => PrsResourceSetItemResourceSetPeriodicity::N64,
            9 => PrsResourceSetItemResourceSetPeriodicity::N80,
            10 => PrsResourceSetItemResourceSetPeriodicity::N160,
            11 => PrsResourceSetItemResourceSetPeriodicity::N320,
            12 => PrsResourceSetItemResourceSetPeriodicity::N640,
            13 => PrsResourceSetItemResourceSetPeriodicity::N1280,
            14 => PrsResourceSetItemResourceSetPeriodicity::N2560,
            15 => PrsResourceSetItemResourceSetPeriodicity::N5120,
            16 => PrsResourceSetItemResourceSetPeriodicity::N10240,
            17 => PrsResourceSetItemResourceSetPeriodicity::N20480,
            18 => PrsResourceSetItemResourceSetPeriodicity::N40960,
            19 => PrsResourceSetItemResourceSetPeriodicity::N81920,
            20 => PrsResourceSetItemResourceSetPeriodicity::N128,
            21 => PrsResourceSetItemResourceSetPeriodicity::N256,
            22 => PrsResourceSetItemResourceSetPeriodicity::N512,
            other => PrsResourceSetItemResourceSetPeriodicity::Other(other),
        })
    }
}

/// `PRSResourceSet-Item-resourceRepetitionFactor`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrsResourceSetItemResourceRepetitionFactor {
    /// `rf1`
    #[default]
    Rf1,
    /// `rf2`
    Rf2,
    /// `rf4`
    Rf4,
    /// `rf6`
    Rf6,
    /// `rf8`
    Rf8,
    /// `rf16`
    Rf16,
    /// `rf32`
    Rf32,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl PrsResourceSetItemResourceRepetitionFactor {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PrsResourceSetItemResourceRepetitionFactor::Rf1 => 0,
                PrsResourceSetItemResourceRepetitionFactor::Rf2 => 1,
                PrsResourceSetItemResourceRepetitionFactor::Rf4 => 2,
                PrsResourceSetItemResourceRepetitionFactor::Rf6 => 3,
                PrsResourceSetItemResourceRepetitionFactor::Rf8 => 4,
                PrsResourceSetItemResourceRepetitionFactor::Rf16 => 5,
                PrsResourceSetItemResourceRepetitionFactor::Rf32 => 6,
                PrsResourceSetItemResourceRepetitionFactor::Other(index) => index,
            },
            7,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(7, true)? {
            0 => PrsResourceSetItemResourceRepetitionFactor::Rf1,
            1 => PrsResourceSetItemResourceRepetitionFactor::Rf2,
            2 => PrsResourceSetItemResourceRepetitionFactor::Rf4,
            3 => PrsResourceSetItemResourceRepetitionFactor::Rf6,
            4 => PrsResourceSetItemResourceRepetitionFactor::Rf8,
            5 => PrsResourceSetItemResourceRepetitionFactor::Rf16,
            6 => PrsResourceSetItemResourceRepetitionFactor::Rf32,
            other => PrsResourceSetItemResourceRepetitionFactor::Other(other),
        })
    }
}

/// `PRSResourceSet-Item-resourceTimeGap`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrsResourceSetItemResourceTimeGap {
    /// `tg1`
    #[default]
    Tg1,
    /// `tg2`
    Tg2,
    /// `tg4`
    Tg4,
    /// `tg8`
    Tg8,
    /// `tg16`
    Tg16,
    /// `tg32`
    Tg32,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl PrsResourceSetItemResourceTimeGap {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PrsResourceSetItemResourceTimeGap::Tg1 => 0,
                PrsResourceSetItemResourceTimeGap::Tg2 => 1,
                PrsResourceSetItemResourceTimeGap::Tg4 => 2,
                PrsResourceSetItemResourceTimeGap::Tg8 => 3,
                PrsResourceSetItemResourceTimeGap::Tg16 => 4,
                PrsResourceSetItemResourceTimeGap::Tg32 => 5,
                PrsResourceSetItemResourceTimeGap::Other(index) => index,
            },
            6,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(6, true)? {
            0 => PrsResourceSetItemResourceTimeGap::Tg1,
            1 => PrsResourceSetItemResourceTimeGap::Tg2,
            2 => PrsResourceSetItemResourceTimeGap::Tg4,
            3 => PrsResourceSetItemResourceTimeGap::Tg8,
            4 => PrsResourceSetItemResourceTimeGap::Tg16,
            5 => PrsResourceSetItemResourceTimeGap::Tg32,
            other => PrsResourceSetItemResourceTimeGap::Other(other),
        })
    }
}

/// `PRSResourceSet-Item-resourceNumberofSymbols`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrsResourceSetItemResourceNumberofSymbols {
    /// `n2`
    #[default]
    N2,
    /// `n4`
    N4,
    /// `n6`
    N6,
    /// `n12`
    N12,
    /// `n1`
    N1,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl PrsResourceSetItemResourceNumberofSymbols {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PrsResourceSetItemResourceNumberofSymbols::N2 => 0,
                PrsResourceSetItemResourceNumberofSymbols::N4 => 1,
                PrsResourceSetItemResourceNumberofSymbols::N6 => 2,
                PrsResourceSetItemResourceNumberofSymbols::N12 => 3,
                PrsResourceSetItemResourceNumberofSymbols::N1 => 4,
                PrsResourceSetItemResourceNumberofSymbols::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => PrsResourceSetItemResourceNumberofSymbols::N2,
            1 => PrsResourceSetItemResourceNumberofSymbols::N4,
            2 => PrsResourceSetItemResourceNumberofSymbols::N6,
            3 => PrsResourceSetItemResourceNumberofSymbols::N12,
            4 => PrsResourceSetItemResourceNumberofSymbols::N1,
            other => PrsResourceSetItemResourceNumberofSymbols::Other(other),
        })
    }
}

/// One information element: `DL-PRSMutingPattern-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum DlPrsMutingPatternChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for DlPrsMutingPatternChoiceExtension {
    fn default() -> Self {
        DlPrsMutingPatternChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl DlPrsMutingPatternChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            DlPrsMutingPatternChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => DlPrsMutingPatternChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `DL-PRSMutingPattern`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum DlPrsMutingPattern {
    /// `two`: BIT STRING (SIZE (2..2))
    Two(BitString),
    /// `four`: BIT STRING (SIZE (4..4))
    Four(BitString),
    /// `six`: BIT STRING (SIZE (6..6))
    Six(BitString),
    /// `eight`: BIT STRING (SIZE (8..8))
    Eight(BitString),
    /// `sixteen`: BIT STRING (SIZE (16..16))
    Sixteen(BitString),
    /// `thirty-two`: BIT STRING (SIZE (32..32))
    ThirtyTwo(BitString),
    /// `choice-extension`
    ChoiceExtension(DlPrsMutingPatternChoiceExtension),
}
impl Default for DlPrsMutingPattern {
    fn default() -> Self {
        DlPrsMutingPattern::Two(Default::default())
    }
}
impl DlPrsMutingPattern {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            DlPrsMutingPattern::Two(v) => {
                e.index(0, 7, false)?;
                e.bit_string(&(*v), Some(Size::range(2, 2)))?;
            }
            DlPrsMutingPattern::Four(v) => {
                e.index(1, 7, false)?;
                e.bit_string(&(*v), Some(Size::range(4, 4)))?;
            }
            DlPrsMutingPattern::Six(v) => {
                e.index(2, 7, false)?;
                e.bit_string(&(*v), Some(Size::range(6, 6)))?;
            }
            DlPrsMutingPattern::Eight(v) => {
                e.index(3, 7, false)?;
                e.bit_string(&(*v), Some(Size::range(8, 8)))?;
            }
            DlPrsMutingPattern::Sixteen(v) => {
                e.index(4, 7, false)?;
                e.bit_string(&(*v), Some(Size::range(16, 16)))?;
            }
            DlPrsMutingPattern::ThirtyTwo(v) => {
                e.index(5, 7, false)?;
                e.bit_string(&(*v), Some(Size::range(32, 32)))?;
            }
            DlPrsMutingPattern::ChoiceExtension(v) => {
                e.index(6, 7, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(7, false)? {
            0 => DlPrsMutingPattern::Two(d.bit_string(Some(Size::range(2, 2)))?),
            1 => DlPrsMutingPattern::Four(d.bit_string(Some(Size::range(4, 4)))?),
            2 => DlPrsMutingPattern::Six(d.bit_string(Some(Size::range(6, 6)))?),
            3 => DlPrsMutingPattern::Eight(d.bit_string(Some(Size::range(8, 8)))?),
            4 => DlPrsMutingPattern::Sixteen(d.bit_string(Some(Size::range(16, 16)))?),
            5 => DlPrsMutingPattern::ThirtyTwo(d.bit_string(Some(Size::range(32, 32)))?),
            6 => DlPrsMutingPattern::ChoiceExtension(DlPrsMutingPatternChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `PRSMutingOption1-mutingBitRepetitionFactor`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrsMutingOption1MutingBitRepetitionFactor {
    /// `n1`
    #[default]
    N1,
    /// `n2`
    N2,
    /// `n4`
    N4,
    /// `n8`
    N8,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl PrsMutingOption1MutingBitRepetitionFactor {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PrsMutingOption1MutingBitRepetitionFactor::N1 => 0,
                PrsMutingOption1MutingBitRepetitionFactor::N2 => 1,
                PrsMutingOption1MutingBitRepetitionFactor::N4 => 2,
                PrsMutingOption1MutingBitRepetitionFactor::N8 => 3,
                PrsMutingOption1MutingBitRepetitionFactor::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => PrsMutingOption1MutingBitRepetitionFactor::N1,
            1 => PrsMutingOption1MutingBitRepetitionFactor::N2,
            2 => PrsMutingOption1MutingBitRepetitionFactor::N4,
            3 => PrsMutingOption1MutingBitRepetitionFactor::N8,
            other => PrsMutingOption1MutingBitRepetitionFactor::Other(other),
        })
    }
}

/// `PRSMutingOption1`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsMutingOption1 {
    /// `mutingPattern`
    pub muting_pattern: DlPrsMutingPattern,
    /// `mutingBitRepetitionFactor`
    pub muting_bit_repetition_factor: PrsMutingOption1MutingBitRepetitionFactor,
}
impl PrsMutingOption1 {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.muting_pattern.encode(e)?;
        self.muting_bit_repetition_factor.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let muting_pattern = DlPrsMutingPattern::decode(d)?;
        let muting_bit_repetition_factor = PrsMutingOption1MutingBitRepetitionFactor::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsMutingOption1 { muting_pattern, muting_bit_repetition_factor })
    }
}

/// `PRSMutingOption2`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsMutingOption2 {
    /// `mutingPattern`
    pub muting_pattern: DlPrsMutingPattern,
}
impl PrsMutingOption2 {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.muting_pattern.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let muting_pattern = DlPrsMutingPattern::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsMutingOption2 { muting_pattern })
    }
}

/// `PRSMuting`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsMuting {
    /// `pRSMutingOption1`
    pub p_rsmuting_option1: Option<PrsMutingOption1>,
    /// `pRSMutingOption2`
    pub p_rsmuting_option2: Option<PrsMutingOption2>,
}
impl PrsMuting {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.p_rsmuting_option1.is_some());
        e.bit(self.p_rsmuting_option2.is_some());
        e.bit(false);
        if let Some(v) = &self.p_rsmuting_option1 {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.p_rsmuting_option2 {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_p_rsmuting_option1 = d.bit()?;
        let has_p_rsmuting_option2 = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_rsmuting_option1 = if has_p_rsmuting_option1 { Some(PrsMutingOption1::decode(d)?) } else { None };
        let p_rsmuting_option2 = if has_p_rsmuting_option2 { Some(PrsMutingOption2::decode(d)?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsMuting { p_rsmuting_option1, p_rsmuting_option2 })
    }
}

/// The information elements of `PRSResource-Item-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsResourceItemIEExtensions {
    /// `ExtendedResourceSymbolOffset`, `ExtendedResourceSymbolOffset`: INTEGER (0..13, …); information element 112,
    /// ignore
    pub extended_resource_symbol_offset: Option<i64>,
}
impl PrsResourceItemIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.extended_resource_symbol_offset.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.extended_resource_symbol_offset {
            element(e, 112, 1)?;
            e.open(|e| {
                e.extensible((*v).into(), 0, 13)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut extended_resource_symbol_offset = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                112 => {
                    extended_resource_symbol_offset =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(0, 13)?).map_err(|_| DecodeError::Range)?))?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(PrsResourceItemIEExtensions { extended_resource_symbol_offset })
    }
}

/// `PRSResource-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsResourceItem {
    /// `pRSResourceID`, `PRS-Resource-ID`: INTEGER (0..63)
    pub p_rsresource_id: u8,
    /// `sequenceID`: INTEGER (0..4095)
    pub sequence_id: u16,
    /// `rEOffset`: INTEGER (0..11, …)
    pub r_eoffset: i64,
    /// `resourceSlotOffset`: INTEGER (0..511)
    pub resource_slot_offset: u16,
    /// `resourceSymbolOffset`: INTEGER (0..12)
    pub resource_symbol_offset: u8,
    /// `qCLInfo`
    pub q_clinfo: Option<PrsResourceQclInfo>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<PrsResourceItemIEExtensions>,
}
impl PrsResourceItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.q_clinfo.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        e.constrained(self.p_rsresource_id.into(), 0, 63)?;
        e.constrained(self.sequence_id.into(), 0, 4095)?;
        e.extensible(self.r_eoffset.into(), 0, 11)?;
        e.constrained(self.resource_slot_offset.into(), 0, 511)?;
        e.constrained(self.resource_symbol_offset.into(), 0, 12)?;
        if let Some(v) = &self.q_clinfo {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_q_clinfo = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_rsresource_id = d.constrained(0, 63)? as u8;
        let sequence_id = d.constrained(0, 4095)? as u16;
        let r_eoffset = i64::try_from(d.extensible(0, 11)?).map_err(|_| DecodeError::Range)?;
        let resource_slot_offset = d.constrained(0, 511)? as u16;
        let resource_symbol_offset = d.constrained(0, 12)? as u8;
        let q_clinfo = if has_q_clinfo { Some(PrsResourceQclInfo::decode(d)?) } else { None };
        let i_e_extensions = if has_i_e_extensions {
            Some(PrsResourceItemIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsResourceItem {
            p_rsresource_id,
            sequence_id,
            r_eoffset,
            resource_slot_offset,
            resource_symbol_offset,
            q_clinfo,
            i_e_extensions,
        })
    }
}

/// `PRSResourceSet-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsResourceSetItem {
    /// `pRSResourceSetID`, `PRS-Resource-Set-ID`: INTEGER (0..7)
    pub p_rsresource_set_id: u8,
    /// `subcarrierSpacing`
    pub subcarrier_spacing: PrsResourceSetItemSubcarrierSpacing,
    /// `pRSbandwidth`: INTEGER (1..63)
    pub p_rsbandwidth: u8,
    /// `startPRB`: INTEGER (0..2176)
    pub start_prb: u16,
    /// `pointA`: INTEGER (0..3279165)
    pub point_a: u32,
    /// `combSize`
    pub comb_size: PrsResourceSetItemCombSize,
    /// `cPType`
    pub c_ptype: PrsResourceSetItemCPType,
    /// `resourceSetPeriodicity`
    pub resource_set_periodicity: PrsResourceSetItemResourceSetPeriodicity,
    /// `resourceSetSlotOffset`: INTEGER (0..81919, …)
    pub resource_set_slot_offset: i64,
    /// `resourceRepetitionFactor`
    pub resource_repetition_factor: PrsResourceSetItemResourceRepetitionFactor,
    /// `resourceTimeGap`
    pub resource_time_gap: PrsResourceSetItemResourceTimeGap,
    /// `resourceNumberofSymbols`
    pub resource_numberof_symbols: PrsResourceSetItemResourceNumberofSymbols,
    /// `pRSMuting`
    pub p_rsmuting: Option<PrsMuting>,
    /// `pRSResourceTransmitPower`: INTEGER (-60..50)
    pub p_rsresource_transmit_power: i8,
    /// `pRSResource-List`: SEQUENCE OF (SIZE (1..64))
    pub p_rsresource_list: Vec<PrsResourceItem>,
}
impl PrsResourceSetItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.p_rsmuting.is_some());
        e.bit(false);
        e.constrained(self.p_rsresource_set_id.into(), 0, 7)?;
        self.subcarrier_spacing.encode(e)?;
        e.constrained(self.p_rsbandwidth.into(), 1, 63)?;
        e.constrained(self.start_prb.into(), 0, 2176)?;
        e.constrained(self.point_a.into(), 0, 3279165)?;
        self.comb_size.encode(e)?;
        self.c_ptype.encode(e)?;
        self.resource_set_periodicity.encode(e)?;
        e.extensible(self.resource_set_slot_offset.into(), 0, 81919)?;
        self.resource_repetition_factor.encode(e)?;
        self.resource_time_gap.encode(e)?;
        self.resource_numberof_symbols.encode(e)?;
        if let Some(v) = &self.p_rsmuting {
            (*v).encode(e)?;
        }
        e.constrained(self.p_rsresource_transmit_power.into(), -60, 50)?;
        e.count(self.p_rsresource_list.len(), Some(Size::range(1, 64)))?;
        for v in &self.p_rsresource_list {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_p_rsmuting = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_rsresource_set_id = d.constrained(0, 7)? as u8;
        let subcarrier_spacing = PrsResourceSetItemSubcarrierSpacing::decode(d)?;
        let p_rsbandwidth = d.constrained(1, 63)? as u8;
        let start_prb = d.constrained(0, 2176)? as u16;
        let point_a = d.constrained(0, 3279165)? as u32;
        let comb_size = PrsResourceSetItemCombSize::decode(d)?;
        let c_ptype = PrsResourceSetItemCPType::decode(d)?;
        let resource_set_periodicity = PrsResourceSetItemResourceSetPeriodicity::decode(d)?;
        let resource_set_slot_offset = i64::try_from(d.extensible(0, 81919)?).map_err(|_| DecodeError::Range)?;
        let resource_repetition_factor = PrsResourceSetItemResourceRepetitionFactor::decode(d)?;
        let resource_time_gap = PrsResourceSetItemResourceTimeGap::decode(d)?;
        let resource_numberof_symbols = PrsResourceSetItemResourceNumberofSymbols::decode(d)?;
        let p_rsmuting = if has_p_rsmuting { Some(PrsMuting::decode(d)?) } else { None };
        let p_rsresource_transmit_power = d.constrained(-60, 50)? as i8;
        let p_rsresource_list = {
            let count = d.count(Some(Size::range(1, 64)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(PrsResourceItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsResourceSetItem {
            p_rsresource_set_id,
            subcarrier_spacing,
            p_rsbandwidth,
            start_prb,
            point_a,
            comb_size,
            c_ptype,
            resource_set_periodicity,
            resource_set_slot_offset,
            resource_repetition_factor,
            resource_time_gap,
            resource_numberof_symbols,
            p_rsmuting,
            p_rsresource_transmit_power,
            p_rsresource_list,
        })
    }
}

/// `DL-PRS-ResourceSet-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DlPrsResourceSetItem {
    /// `dl-prs-ResourceSetIndex`: INTEGER (1..8)
    pub dl_prs_resource_set_index: u8,
}
impl DlPrsResourceSetItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.dl_prs_resource_set_index.into(), 1, 8)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let dl_prs_resource_set_index = d.constrained(1, 8)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(DlPrsResourceSetItem { dl_prs_resource_set_index })
    }
}

/// `AggregatedPRSResourceSet-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AggregatedPrsResourceSetItem {
    /// `dl-PRS-ResourceSet-List`: SEQUENCE OF (SIZE (1..3))
    pub dl_prs_resource_set_list: Vec<DlPrsResourceSetItem>,
}
impl AggregatedPrsResourceSetItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.count(self.dl_prs_resource_set_list.len(), Some(Size::range(1, 3)))?;
        for v in &self.dl_prs_resource_set_list {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let dl_prs_resource_set_list = {
            let count = d.count(Some(Size::range(1, 3)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(DlPrsResourceSetItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(AggregatedPrsResourceSetItem { dl_prs_resource_set_list })
    }
}

/// The information elements of `PRSConfiguration-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsConfigurationIEExtensions {
    /// `AggregatedPRSResourceSetList`: SEQUENCE OF (SIZE (1..2)); information element 132, ignore
    pub aggregated_prsresource_set_list: Option<Vec<AggregatedPrsResourceSetItem>>,
}
impl PrsConfigurationIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.aggregated_prsresource_set_list.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.aggregated_prsresource_set_list {
            element(e, 132, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 2)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut aggregated_prsresource_set_list = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                132 => {
                    aggregated_prsresource_set_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 2)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(AggregatedPrsResourceSetItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(PrsConfigurationIEExtensions { aggregated_prsresource_set_list })
    }
}

/// `PRSConfiguration`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsConfiguration {
    /// `pRSResourceSet-List`: SEQUENCE OF (SIZE (1..8))
    pub p_rsresource_set_list: Vec<PrsResourceSetItem>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<PrsConfigurationIEExtensions>,
}
impl PrsConfiguration {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        e.count(self.p_rsresource_set_list.len(), Some(Size::range(1, 8)))?;
        for v in &self.p_rsresource_set_list {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_rsresource_set_list = {
            let count = d.count(Some(Size::range(1, 8)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(PrsResourceSetItem::decode(d)?);
            }
            list
        };
        let i_e_extensions = if has_i_e_extensions {
            Some(PrsConfigurationIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsConfiguration { p_rsresource_set_list, i_e_extensions })
    }
}

/// `TRP-PRS-Information-List-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpPrsInformationListItem {
    /// `tRP-ID`, `TRP-ID`: INTEGER (1..65535, …)
    pub t_rp_id: i64,
    /// `nR-PCI`, `NR-PCI`: INTEGER (0..1007)
    pub n_r_pci: u16,
    /// `cGI-NR`
    pub c_gi_nr: Option<CgiNr>,
    /// `pRSConfiguration`
    pub p_rsconfiguration: PrsConfiguration,
}
impl TrpPrsInformationListItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.c_gi_nr.is_some());
        e.bit(false);
        e.extensible(self.t_rp_id.into(), 1, 65535)?;
        e.constrained(self.n_r_pci.into(), 0, 1007)?;
        if let Some(v) = &self.c_gi_nr {
            (*v).encode(e)?;
        }
        self.p_rsconfiguration.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_c_gi_nr = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rp_id = i64::try_from(d.extensible(1, 65535)?).map_err(|_| DecodeError::Range)?;
        let n_r_pci = d.constrained(0, 1007)? as u16;
        let c_gi_nr = if has_c_gi_nr { Some(CgiNr::decode(d)?) } else { None };
        let p_rsconfiguration = PrsConfiguration::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpPrsInformationListItem { t_rp_id, n_r_pci, c_gi_nr, p_rsconfiguration })
    }
}

/// `MeasurementPreconfigurationRequired`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasurementPreconfigurationRequired {
    /// `TRP-PRS-Information-List`: SEQUENCE OF (SIZE (1..256)); information element 87, ignore
    pub trp_prs_information_list: Vec<TrpPrsInformationListItem>,
}
impl MeasurementPreconfigurationRequired {
    pub(crate) fn count(&self) -> usize {
        1
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 87, 1)?;
        e.open(|e| {
            e.count(self.trp_prs_information_list.len(), Some(Size::range(1, 256)))?;
            for v in &self.trp_prs_information_list {
                (*v).encode(e)?;
            }
            Ok(())
        })?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut trp_prs_information_list = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                87 => {
                    trp_prs_information_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 256)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(TrpPrsInformationListItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(MeasurementPreconfigurationRequired {
            trp_prs_information_list: trp_prs_information_list.ok_or(DecodeError::Missing(87))?,
        })
    }
}

/// `CauseRadioNetwork`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CauseRadioNetwork {
    /// `unspecified`
    #[default]
    Unspecified,
    /// `requested-item-not-supported`
    RequestedItemNotSupported,
    /// `requested-item-temporarily-not-available`
    RequestedItemTemporarilyNotAvailable,
    /// `serving-NG-RAN-node-changed`
    ServingNgRanNodeChanged,
    /// `requested-item-not-supported-on-time`
    RequestedItemNotSupportedOnTime,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl CauseRadioNetwork {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                CauseRadioNetwork::Unspecified => 0,
                CauseRadioNetwork::RequestedItemNotSupported => 1,
                CauseRadioNetwork::RequestedItemTemporarilyNotAvailable => 2,
                CauseRadioNetwork::ServingNgRanNodeChanged => 3,
                CauseRadioNetwork::RequestedItemNotSupportedOnTime => 4,
                CauseRadioNetwork::Other(index) => index,
            },
            3,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, true)? {
            0 => CauseRadioNetwork::Unspecified,
            1 => CauseRadioNetwork::RequestedItemNotSupported,
            2 => CauseRadioNetwork::RequestedItemTemporarilyNotAvailable,
            3 => CauseRadioNetwork::ServingNgRanNodeChanged,
            4 => CauseRadioNetwork::RequestedItemNotSupportedOnTime,
            other => CauseRadioNetwork::Other(other),
        })
    }
}

/// `CauseProtocol`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CauseProtocol {
    /// `transfer-syntax-error`
    #[default]
    TransferSyntaxError,
    /// `abstract-syntax-error-reject`
    AbstractSyntaxErrorReject,
    /// `abstract-syntax-error-ignore-and-notify`
    AbstractSyntaxErrorIgnoreAndNotify,
    /// `message-not-compatible-with-receiver-state`
    MessageNotCompatibleWithReceiverState,
    /// `semantic-error`
    SemanticError,
    /// `unspecified`
    Unspecified,
    /// `abstract-syntax-error-falsely-constructed-message`
    AbstractSyntaxErrorFalselyConstructedMessage,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl CauseProtocol {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                CauseProtocol::TransferSyntaxError => 0,
                CauseProtocol::AbstractSyntaxErrorReject => 1,
                CauseProtocol::AbstractSyntaxErrorIgnoreAndNotify => 2,
                CauseProtocol::MessageNotCompatibleWithReceiverState => 3,
                CauseProtocol::SemanticError => 4,
                CauseProtocol::Unspecified => 5,
                CauseProtocol::AbstractSyntaxErrorFalselyConstructedMessage => 6,
                CauseProtocol::Other(index) => index,
            },
            7,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(7, true)? {
            0 => CauseProtocol::TransferSyntaxError,
            1 => CauseProtocol::AbstractSyntaxErrorReject,
            2 => CauseProtocol::AbstractSyntaxErrorIgnoreAndNotify,
            3 => CauseProtocol::MessageNotCompatibleWithReceiverState,
            4 => CauseProtocol::SemanticError,
            5 => CauseProtocol::Unspecified,
            6 => CauseProtocol::AbstractSyntaxErrorFalselyConstructedMessage,
            other => CauseProtocol::Other(other),
        })
    }
}

/// `CauseMisc`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CauseMisc {
    /// `unspecified`
    #[default]
    Unspecified,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl CauseMisc {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                CauseMisc::Unspecified => 0,
                CauseMisc::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => CauseMisc::Unspecified,
            other => CauseMisc::Other(other),
        })
    }
}

/// One information element: `Cause-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum CauseChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for CauseChoiceExtension {
    fn default() -> Self {
        CauseChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl CauseChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            CauseChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => CauseChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `Cause`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// `radioNetwork`
    RadioNetwork(CauseRadioNetwork),
    /// `protocol`
    Protocol(CauseProtocol),
    /// `misc`
    Misc(CauseMisc),
    /// `choice-Extension`
    ChoiceExtension(CauseChoiceExtension),
}
impl Default for Cause {
    fn default() -> Self {
        Cause::RadioNetwork(Default::default())
    }
}
impl Cause {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            Cause::RadioNetwork(v) => {
                e.index(0, 4, false)?;
                (*v).encode(e)?;
            }
            Cause::Protocol(v) => {
                e.index(1, 4, false)?;
                (*v).encode(e)?;
            }
            Cause::Misc(v) => {
                e.index(2, 4, false)?;
                (*v).encode(e)?;
            }
            Cause::ChoiceExtension(v) => {
                e.index(3, 4, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, false)? {
            0 => Cause::RadioNetwork(CauseRadioNetwork::decode(d)?),
            1 => Cause::Protocol(CauseProtocol::decode(d)?),
            2 => Cause::Misc(CauseMisc::decode(d)?),
            3 => Cause::ChoiceExtension(CauseChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `E-CIDMeasurementFailureIndication`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ECidMeasurementFailureIndication {
    /// `UE-Measurement-ID`, `UE-Measurement-ID`: INTEGER (1..15, …); information element 2, reject
    pub ue_measurement_id: i64,
    /// `UE-Measurement-ID`, `UE-Measurement-ID`: INTEGER (1..15, …); information element 6, reject
    pub ue_measurement_id_: i64,
    /// `Cause`; information element 0, ignore
    pub cause: Cause,
}
impl ECidMeasurementFailureIndication {
    pub(crate) fn count(&self) -> usize {
        1 + 1 + 1
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 2, 0)?;
        e.open(|e| {
            e.extensible(self.ue_measurement_id.into(), 1, 15)?;
            Ok(())
        })?;
        element(e, 6, 0)?;
        e.open(|e| {
            e.extensible(self.ue_measurement_id_.into(), 1, 15)?;
            Ok(())
        })?;
        element(e, 0, 1)?;
        e.open(|e| {
            self.cause.encode(e)?;
            Ok(())
        })?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut ue_measurement_id = None;
        let mut ue_measurement_id_ = None;
        let mut cause = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                2 => {
                    ue_measurement_id =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 15)?).map_err(|_| DecodeError::Range)?))?)
                }
                6 => {
                    ue_measurement_id_ =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 15)?).map_err(|_| DecodeError::Range)?))?)
                }
                0 => cause = Some(d.open(|d| Ok(Cause::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ECidMeasurementFailureIndication {
            ue_measurement_id: ue_measurement_id.ok_or(DecodeError::Missing(2))?,
            ue_measurement_id_: ue_measurement_id_.ok_or(DecodeError::Missing(6))?,
            cause: cause.ok_or(DecodeError::Missing(0))?,
        })
    }
}

/// One information element: `NG-RANCell-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum NgRanCellChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for NgRanCellChoiceExtension {
    fn default() -> Self {
        NgRanCellChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl NgRanCellChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            NgRanCellChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => NgRanCellChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `NG-RANCell`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum NgRanCell {
    /// `eUTRA-CellID`, `EUTRACellIdentifier`: BIT STRING (SIZE (28..28))
    EUtraCellId(BitString),
    /// `nR-CellID`, `NRCellIdentifier`: BIT STRING (SIZE (36..36))
    NRCellId(BitString),
    /// `choice-Extension`
    ChoiceExtension(NgRanCellChoiceExtension),
}
impl Default for NgRanCell {
    fn default() -> Self {
        NgRanCell::EUtraCellId(Default::default())
    }
}
impl NgRanCell {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            NgRanCell::EUtraCellId(v) => {
                e.index(0, 3, false)?;
                e.bit_string(&(*v), Some(Size::range(28, 28)))?;
            }
            NgRanCell::NRCellId(v) => {
                e.index(1, 3, false)?;
                e.bit_string(&(*v), Some(Size::range(36, 36)))?;
            }
            NgRanCell::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => NgRanCell::EUtraCellId(d.bit_string(Some(Size::range(28, 28)))?),
            1 => NgRanCell::NRCellId(d.bit_string(Some(Size::range(36, 36)))?),
            2 => NgRanCell::ChoiceExtension(NgRanCellChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `NG-RAN-CGI`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NgRanCgi {
    /// `pLMN-Identity`, `PLMN-Identity`: OCTET STRING (SIZE (3..3))
    pub p_lmn_identity: Vec<u8>,
    /// `nG-RANcell`
    pub n_g_rancell: NgRanCell,
}
impl NgRanCgi {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.octet_string(&self.p_lmn_identity, Some(Size::range(3, 3)))?;
        self.n_g_rancell.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_lmn_identity = d.octet_string(Some(Size::range(3, 3)))?;
        let n_g_rancell = NgRanCell::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(NgRanCgi { p_lmn_identity, n_g_rancell })
    }
}

/// `NG-RANAccessPointPosition-latitudeSign`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NgRanAccessPointPositionLatitudeSign {
    /// `north`
    #[default]
    North,
    /// `south`
    South,
}
impl NgRanAccessPointPositionLatitudeSign {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                NgRanAccessPointPositionLatitudeSign::North => 0,
                NgRanAccessPointPositionLatitudeSign::South => 1,
            },
            2,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, false)? {
            0 => NgRanAccessPointPositionLatitudeSign::North,
            1 => NgRanAccessPointPositionLatitudeSign::South,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `NG-RANAccessPointPosition-directionOfAltitude`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NgRanAccessPointPositionDirectionOfAltitude {
    /// `height`
    #[default]
    Height,
    /// `depth`
    Depth,
}
impl NgRanAccessPointPositionDirectionOfAltitude {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                NgRanAccessPointPositionDirectionOfAltitude::Height => 0,
                NgRanAccessPointPositionDirectionOfAltitude::Depth => 1,
            },
            2,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, false)? {
            0 => NgRanAccessPointPositionDirectionOfAltitude::Height,
            1 => NgRanAccessPointPositionDirectionOfAltitude::Depth,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `NG-RANAccessPointPosition`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NgRanAccessPointPosition {
    /// `latitudeSign`
    pub latitude_sign: NgRanAccessPointPositionLatitudeSign,
    /// `latitude`: INTEGER (0..8388607)
    pub latitude: u32,
    /// `longitude`: INTEGER (-8388608..8388607)
    pub longitude: i32,
    /// `directionOfAltitude`
    pub direction_of_altitude: NgRanAccessPointPositionDirectionOfAltitude,
    /// `altitude`: INTEGER (0..32767)
    pub altitude: u16,
    /// `uncertaintySemi-major`: INTEGER (0..127)
    pub uncertainty_semi_major: u8,
    /// `uncertaintySemi-minor`: INTEGER (0..127)
    pub uncertainty_semi_minor: u8,
    /// `orientationOfMajorAxis`: INTEGER (0..179)
    pub orientation_of_major_axis: u8,
    /// `uncertaintyAltitude`: INTEGER (0..127)
    pub uncertainty_altitude: u8,
    /// `confidence`: INTEGER (0..100)
    pub confidence: u8,
}
impl NgRanAccessPointPosition {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.latitude_sign.encode(e)?;
        e.constrained(self.latitude.into(), 0, 8388607)?;
        e.constrained(self.longitude.into(), -8388608, 8388607)?;
        self.direction_of_altitude.encode(e)?;
        e.constrained(self.altitude.into(), 0, 32767)?;
        e.constrained(self.uncertainty_semi_major.into(), 0, 127)?;
        e.constrained(self.uncertainty_semi_minor.into(), 0, 127)?;
        e.constrained(self.orientation_of_major_axis.into(), 0, 179)?;
        e.constrained(self.uncertainty_altitude.into(), 0, 127)?;
        e.constrained(self.confidence.into(), 0, 100)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let latitude_sign = NgRanAccessPointPositionLatitudeSign::decode(d)?;
        let latitude = d.constrained(0, 8388607)? as u32;
        let longitude = d.constrained(-8388608, 8388607)? as i32;
        let direction_of_altitude = NgRanAccessPointPositionDirectionOfAltitude::decode(d)?;
        let altitude = d.constrained(0, 32767)? as u16;
        let uncertainty_semi_major = d.constrained(0, 127)? as u8;
        let uncertainty_semi_minor = d.constrained(0, 127)? as u8;
        let orientation_of_major_axis = d.constrained(0, 179)? as u8;
        let uncertainty_altitude = d.constrained(0, 127)? as u8;
        let confidence = d.constrained(0, 100)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(NgRanAccessPointPosition {
            latitude_sign,
            latitude,
            longitude,
            direction_of_altitude,
            altitude,
            uncertainty_semi_major,
            uncertainty_semi_minor,
            orientation_of_major_axis,
            uncertainty_altitude,
            confidence,
        })
    }
}

/// `CGI-EUTRA`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CgiEutra {
    /// `pLMN-Identity`, `PLMN-Identity`: OCTET STRING (SIZE (3..3))
    pub p_lmn_identity: Vec<u8>,
    /// `eUTRAcellIdentifier`, `EUTRACellIdentifier`: BIT STRING (SIZE (28..28))
    pub e_utracell_identifier: BitString,
}
impl CgiEutra {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.octet_string(&self.p_lmn_identity, Some(Size::range(3, 3)))?;
        e.bit_string(&self.e_utracell_identifier, Some(Size::range(28, 28)))?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_lmn_identity = d.octet_string(Some(Size::range(3, 3)))?;
        let e_utracell_identifier = d.bit_string(Some(Size::range(28, 28)))?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(CgiEutra { p_lmn_identity, e_utracell_identifier })
    }
}

/// `ResultRSRP-EUTRA-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultRsrpEutraItem {
    /// `pCI-EUTRA`, `PCI-EUTRA`: INTEGER (0..503, …)
    pub p_ci_eutra: i64,
    /// `eARFCN`, `EARFCN`: INTEGER (0..262143, …)
    pub e_arfcn: i64,
    /// `cGI-EUTRA`
    pub c_gi_eutra: Option<CgiEutra>,
    /// `valueRSRP-EUTRA`, `ValueRSRP-EUTRA`: INTEGER (0..97, …)
    pub value_rsrp_eutra: i64,
}
impl ResultRsrpEutraItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.c_gi_eutra.is_some());
        e.bit(false);
        e.extensible(self.p_ci_eutra.into(), 0, 503)?;
        e.extensible(self.e_arfcn.into(), 0, 262143)?;
        if let Some(v) = &self.c_gi_eutra {
            (*v).encode(e)?;
        }
        e.extensible(self.value_rsrp_eutra.into(), 0, 97)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_c_gi_eutra = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_ci_eutra = i64::try_from(d.extensible(0, 503)?).map_err(|_| DecodeError::Range)?;
        let e_arfcn = i64::try_from(d.extensible(0, 262143)?).map_err(|_| DecodeError::Range)?;
        let c_gi_eutra = if has_c_gi_eutra { Some(CgiEutra::decode(d)?) } else { None };
        let value_rsrp_eutra = i64::try_from(d.extensible(0, 97)?).map_err(|_| DecodeError::Range)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResultRsrpEutraItem { p_ci_eutra, e_arfcn, c_gi_eutra, value_rsrp_eutra })
    }
}

/// `ResultRSRQ-EUTRA-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultRsrqEutraItem {
    /// `pCI-EUTRA`, `PCI-EUTRA`: INTEGER (0..503, …)
    pub p_ci_eutra: i64,
    /// `eARFCN`, `EARFCN`: INTEGER (0..262143, …)
    pub e_arfcn: i64,
    /// `cGI-UTRA`
    pub c_gi_utra: Option<CgiEutra>,
    /// `valueRSRQ-EUTRA`, `ValueRSRQ-EUTRA`: INTEGER (0..34, …)
    pub value_rsrq_eutra: i64,
}
impl ResultRsrqEutraItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.c_gi_utra.is_some());
        e.bit(false);
        e.extensible(self.p_ci_eutra.into(), 0, 503)?;
        e.extensible(self.e_arfcn.into(), 0, 262143)?;
        if let Some(v) = &self.c_gi_utra {
            (*v).encode(e)?;
        }
        e.extensible(self.value_rsrq_eutra.into(), 0, 34)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_c_gi_utra = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_ci_eutra = i64::try_from(d.extensible(0, 503)?).map_err(|_| DecodeError::Range)?;
        let e_arfcn = i64::try_from(d.extensible(0, 262143)?).map_err(|_| DecodeError::Range)?;
        let c_gi_utra = if has_c_gi_utra { Some(CgiEutra::decode(d)?) } else { None };
        let value_rsrq_eutra = i64::try_from(d.extensible(0, 34)?).map_err(|_| DecodeError::Range)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResultRsrqEutraItem { p_ci_eutra, e_arfcn, c_gi_utra, value_rsrq_eutra })
    }
}

/// `ResultSS-RSRP-PerSSB-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultSsRsrpPerSsbItem {
    /// `sSB-Index`, `SSB-Index`: INTEGER (0..63)
    pub s_sb_index: u8,
    /// `valueSS-RSRP`, `ValueRSRP-NR`: INTEGER (0..127)
    pub value_ss_rsrp: u8,
}
impl ResultSsRsrpPerSsbItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.s_sb_index.into(), 0, 63)?;
        e.constrained(self.value_ss_rsrp.into(), 0, 127)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_sb_index = d.constrained(0, 63)? as u8;
        let value_ss_rsrp = d.constrained(0, 127)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResultSsRsrpPerSsbItem { s_sb_index, value_ss_rsrp })
    }
}

/// `ResultSS-RSRP-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultSsRsrpItem {
    /// `nR-PCI`, `NR-PCI`: INTEGER (0..1007)
    pub n_r_pci: u16,
    /// `nR-ARFCN`, `NR-ARFCN`: INTEGER (0..3279165)
    pub n_r_arfcn: u32,
    /// `cGI-NR`
    pub c_gi_nr: Option<CgiNr>,
    /// `valueSS-RSRP-Cell`, `ValueRSRP-NR`: INTEGER (0..127)
    pub value_ss_rsrp_cell: Option<u8>,
    /// `sS-RSRP-PerSSB`: SEQUENCE OF (SIZE (1..64))
    pub s_s_rsrp_per_ssb: Option<Vec<ResultSsRsrpPerSsbItem>>,
}
impl ResultSsRsrpItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.c_gi_nr.is_some());
        e.bit(self.value_ss_rsrp_cell.is_some());
        e.bit(self.s_s_rsrp_per_ssb.is_some());
        e.bit(false);
        e.constrained(self.n_r_pci.into(), 0, 1007)?;
        e.constrained(self.n_r_arfcn.into(), 0, 3279165)?;
        if let Some(v) = &self.c_gi_nr {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.value_ss_rsrp_cell {
            e.constrained((*v).into(), 0, 127)?;
        }
        if let Some(v) = &self.s_s_rsrp_per_ssb {
            e.count((*v).len(), Some(Size::range(1, 64)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_c_gi_nr = d.bit()?;
        let has_value_ss_rsrp_cell = d.bit()?;
        let has_s_s_rsrp_per_ssb = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let n_r_pci = d.constrained(0, 1007)? as u16;
        let n_r_arfcn = d.constrained(0, 3279165)? as u32;
        let c_gi_nr = if has_c_gi_nr { Some(CgiNr::decode(d)?) } else { None };
        let value_ss_rsrp_cell = if has_value_ss_rsrp_cell { Some(d.constrained(0, 127)? as u8) } else { None };
        let s_s_rsrp_per_ssb = if has_s_s_rsrp_per_ssb {
            Some({
                let count = d.count(Some(Size::range(1, 64)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(ResultSsRsrpPerSsbItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResultSsRsrpItem { n_r_pci, n_r_arfcn, c_gi_nr, value_ss_rsrp_cell, s_s_rsrp_per_ssb })
    }
}

/// `ResultSS-RSRQ-PerSSB-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultSsRsrqPerSsbItem {
    /// `sSB-Index`, `SSB-Index`: INTEGER (0..63)
    pub s_sb_index: u8,
    /// `valueSS-RSRQ`, `ValueRSRQ-NR`: INTEGER (0..127)
    pub value_ss_rsrq: u8,
}
impl ResultSsRsrqPerSsbItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.s_sb_index.into(), 0, 63)?;
        e.constrained(self.value_ss_rsrq.into(), 0, 127)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_sb_index = d.constrained(0, 63)? as u8;
        let value_ss_rsrq = d.constrained(0, 127)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResultSsRsrqPerSsbItem { s_sb_index, value_ss_rsrq })
    }
}

/// `ResultSS-RSRQ-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultSsRsrqItem {
    /// `nR-PCI`, `NR-PCI`: INTEGER (0..1007)
    pub n_r_pci: u16,
    /// `nR-ARFCN`, `NR-ARFCN`: INTEGER (0..3279165)
    pub n_r_arfcn: u32,
    /// `cGI-NR`
    pub c_gi_nr: Option<CgiNr>,
    /// `valueSS-RSRQ-Cell`, `ValueRSRQ-NR`: INTEGER (0..127)
    pub value_ss_rsrq_cell: Option<u8>,
    /// `sS-RSRQ-PerSSB`: SEQUENCE OF (SIZE (1..64))
    pub s_s_rsrq_per_ssb: Option<Vec<ResultSsRsrqPerSsbItem>>,
}
impl ResultSsRsrqItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.c_gi_nr.is_some());
        e.bit(self.value_ss_rsrq_cell.is_some());
        e.bit(self.s_s_rsrq_per_ssb.is_some());
        e.bit(false);
        e.constrained(self.n_r_pci.into(), 0, 1007)?;
        e.constrained(self.n_r_arfcn.into(), 0, 3279165)?;
        if let Some(v) = &self.c_gi_nr {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.value_ss_rsrq_cell {
            e.constrained((*v).into(), 0, 127)?;
        }
        if let Some(v) = &self.s_s_rsrq_per_ssb {
            e.count((*v).len(), Some(Size::range(1, 64)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_c_gi_nr = d.bit()?;
        let has_value_ss_rsrq_cell = d.bit()?;
        let has_s_s_rsrq_per_ssb = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let n_r_pci = d.constrained(0, 1007)? as u16;
        let n_r_arfcn = d.constrained(0, 3279165)? as u32;
        let c_gi_nr = if has_c_gi_nr { Some(CgiNr::decode(d)?) } else { None };
        let value_ss_rsrq_cell = if has_value_ss_rsrq_cell { Some(d.constrained(0, 127)? as u8) } else { None };
        let s_s_rsrq_per_ssb = if has_s_s_rsrq_per_ssb {
            Some({
                let count = d.count(Some(Size::range(1, 64)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(ResultSsRsrqPerSsbItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResultSsRsrqItem { n_r_pci, n_r_arfcn, c_gi_nr, value_ss_rsrq_cell, s_s_rsrq_per_ssb })
    }
}

/// `ResultCSI-RSRP-PerCSI-RS-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultCsiRsrpPerCsiRsItem {
    /// `cSI-RS-Index`: INTEGER (0..95)
    pub c_si_rs_index: u8,
    /// `valueCSI-RSRP`, `ValueRSRP-NR`: INTEGER (0..127)
    pub value_csi_rsrp: u8,
}
impl ResultCsiRsrpPerCsiRsItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.c_si_rs_index.into(), 0, 95)?;
        e.constrained(self.value_csi_rsrp.into(), 0, 127)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let c_si_rs_index = d.constrained(0, 95)? as u8;
        let value_csi_rsrp = d.constrained(0, 127)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResultCsiRsrpPerCsiRsItem { c_si_rs_index, value_csi_rsrp })
    }
}

/// `ResultCSI-RSRP-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultCsiRsrpItem {
    /// `nR-PCI`, `NR-PCI`: INTEGER (0..1007)
    pub n_r_pci: u16,
    /// `nR-ARFCN`, `NR-ARFCN`: INTEGER (0..3279165)
    pub n_r_arfcn: u32,
    /// `cGI-NR`
    pub c_gi_nr: Option<CgiNr>,
    /// `valueCSI-RSRP-Cell`, `ValueRSRP-NR`: INTEGER (0..127)
    pub value_csi_rsrp_cell: Option<u8>,
    /// `cSI-RSRP-PerCSI-RS`: SEQUENCE OF (SIZE (1..64))
    pub c_si_rsrp_per_csi_rs: Option<Vec<ResultCsiRsrpPerCsiRsItem>>,
}
impl ResultCsiRsrpItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.c_gi_nr.is_some());
        e.bit(self.value_csi_rsrp_cell.is_some());
        e.bit(self.c_si_rsrp_per_csi_rs.is_some());
        e.bit(false);
        e.constrained(self.n_r_pci.into(), 0, 1007)?;
        e.constrained(self.n_r_arfcn.into(), 0, 3279165)?;
        if let Some(v) = &self.c_gi_nr {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.value_csi_rsrp_cell {
            e.constrained((*v).into(), 0, 127)?;
        }
        if let Some(v) = &self.c_si_rsrp_per_csi_rs {
            e.count((*v).len(), Some(Size::range(1, 64)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_c_gi_nr = d.bit()?;
        let has_value_csi_rsrp_cell = d.bit()?;
        let has_c_si_rsrp_per_csi_rs = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let n_r_pci = d.constrained(0, 1007)? as u16;
        let n_r_arfcn = d.constrained(0, 3279165)? as u32;
        let c_gi_nr = if has_c_gi_nr { Some(CgiNr::decode(d)?) } else { None };
        let value_csi_rsrp_cell = if has_value_csi_rsrp_cell { Some(d.constrained(0, 127)? as u8) } else { None };
        let c_si_rsrp_per_csi_rs = if has_c_si_rsrp_per_csi_rs {
            Some({
                let count = d.count(Some(Size::range(1, 64)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(ResultCsiRsrpPerCsiRsItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResultCsiRsrpItem { n_r_pci, n_r_arfcn, c_gi_nr, value_csi_rsrp_cell, c_si_rsrp_per_csi_rs })
    }
}

/// `ResultCSI-RSRQ-PerCSI-RS-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultCsiRsrqPerCsiRsItem {
    /// `cSI-RS-Index`: INTEGER (0..95)
    pub c_si_rs_index: u8,
    /// `valueCSI-RSRQ`, `ValueRSRQ-NR`: INTEGER (0..127)
    pub value_csi_rsrq: u8,
}
impl ResultCsiRsrqPerCsiRsItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.c_si_rs_index.into(), 0, 95)?;
        e.constrained(self.value_csi_rsrq.into(), 0, 127)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let c_si_rs_index = d.constrained(0, 95)? as u8;
        let value_csi_rsrq = d.constrained(0, 127)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResultCsiRsrqPerCsiRsItem { c_si_rs_index, value_csi_rsrq })
    }
}

/// `ResultCSI-RSRQ-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultCsiRsrqItem {
    /// `nR-PCI`, `NR-PCI`: INTEGER (0..1007)
    pub n_r_pci: u16,
    /// `nR-ARFCN`, `NR-ARFCN`: INTEGER (0..3279165)
    pub n_r_arfcn: u32,
    /// `cGI-NR`
    pub c_gi_nr: Option<CgiNr>,
    /// `valueCSI-RSRQ-Cell`, `ValueRSRQ-NR`: INTEGER (0..127)
    pub value_csi_rsrq_cell: Option<u8>,
    /// `cSI-RSRQ-PerCSI-RS`: SEQUENCE OF (SIZE (1..64))
    pub c_si_rsrq_per_csi_rs: Option<Vec<ResultCsiRsrqPerCsiRsItem>>,
}
impl ResultCsiRsrqItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.c_gi_nr.is_some());
        e.bit(self.value_csi_rsrq_cell.is_some());
        e.bit(self.c_si_rsrq_per_csi_rs.is_some());
        e.bit(false);
        e.constrained(self.n_r_pci.into(), 0, 1007)?;
        e.constrained(self.n_r_arfcn.into(), 0, 3279165)?;
        if let Some(v) = &self.c_gi_nr {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.value_csi_rsrq_cell {
            e.constrained((*v).into(), 0, 127)?;
        }
        if let Some(v) = &self.c_si_rsrq_per_csi_rs {
            e.count((*v).len(), Some(Size::range(1, 64)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_c_gi_nr = d.bit()?;
        let has_value_csi_rsrq_cell = d.bit()?;
        let has_c_si_rsrq_per_csi_rs = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let n_r_pci = d.constrained(0, 1007)? as u16;
        let n_r_arfcn = d.constrained(0, 3279165)? as u32;
        let c_gi_nr = if has_c_gi_nr { Some(CgiNr::decode(d)?) } else { None };
        let value_csi_rsrq_cell = if has_value_csi_rsrq_cell { Some(d.constrained(0, 127)? as u8) } else { None };
        let c_si_rsrq_per_csi_rs = if has_c_si_rsrq_per_csi_rs {
            Some({
                let count = d.count(Some(Size::range(1, 64)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(ResultCsiRsrqPerCsiRsItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResultCsiRsrqItem { n_r_pci, n_r_arfcn, c_gi_nr, value_csi_rsrq_cell, c_si_rsrq_per_csi_rs })
    }
}

/// `UL-AoA`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UlAoA {
    /// `azimuthAoA`: INTEGER (0..3599)
    pub azimuth_ao_a: u16,
    /// `zenithAoA`: INTEGER (0..1799)
    pub zenith_ao_a: Option<u16>,
    /// `lCS-to-GCS-Translation`
    pub l_cs_to_gcs_translation: Option<LcsToGcsTranslation>,
}
impl UlAoA {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.zenith_ao_a.is_some());
        e.bit(self.l_cs_to_gcs_translation.is_some());
        e.bit(false);
        e.constrained(self.azimuth_ao_a.into(), 0, 3599)?;
        if let Some(v) = &self.zenith_ao_a {
            e.constrained((*v).into(), 0, 1799)?;
        }
        if let Some(v) = &self.l_cs_to_gcs_translation {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_zenith_ao_a = d.bit()?;
        let has_l_cs_to_gcs_translation = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let azimuth_ao_a = d.constrained(0, 3599)? as u16;
        let zenith_ao_a = if has_zenith_ao_a { Some(d.constrained(0, 1799)? as u16) } else { None };
        let l_cs_to_gcs_translation =
            if has_l_cs_to_gcs_translation { Some(LcsToGcsTranslation::decode(d)?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(UlAoA { azimuth_ao_a, zenith_ao_a, l_cs_to_gcs_translation })
    }
}

/// One information element: `MeasuredResultsValue-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum MeasuredResultsValueChoiceExtension {
    /// `ResultSS-RSRP`: SEQUENCE OF (SIZE (1..9))
    ResultSsRsrp(Vec<ResultSsRsrpItem>),
    /// `ResultSS-RSRQ`: SEQUENCE OF (SIZE (1..9))
    ResultSsRsrq(Vec<ResultSsRsrqItem>),
    /// `ResultCSI-RSRP`: SEQUENCE OF (SIZE (1..9))
    ResultCsiRsrp(Vec<ResultCsiRsrpItem>),
    /// `ResultCSI-RSRQ`: SEQUENCE OF (SIZE (1..9))
    ResultCsiRsrq(Vec<ResultCsiRsrqItem>),
    /// `UL-AoA`
    UlAoA(UlAoA),
    /// `NR-TADV`, `NR-TADV`: INTEGER (0..7690)
    NrTadv(u16),
    /// `UE-Rx-Tx-Time-Diff`, `UE-Rx-Tx-Time-Diff`: INTEGER (0..61565)
    UeRxTxTimeDiff(u16),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for MeasuredResultsValueChoiceExtension {
    fn default() -> Self {
        MeasuredResultsValueChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl MeasuredResultsValueChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            MeasuredResultsValueChoiceExtension::ResultSsRsrp(v) => {
                element(e, 32, 1)?;
                e.open(|e| {
                    e.count((*v).len(), Some(Size::range(1, 9)))?;
                    for v in &(*v) {
                        (*v).encode(e)?;
                    }
                    Ok(())
                })?;
            }
            MeasuredResultsValueChoiceExtension::ResultSsRsrq(v) => {
                element(e, 33, 1)?;
                e.open(|e| {
                    e.count((*v).len(), Some(Size::range(1, 9)))?;
                    for v in &(*v) {
                        (*v).encode(e)?;
                    }
                    Ok(())
                })?;
            }
            MeasuredResultsValueChoiceExtension::ResultCsiRsrp(v) => {
                element(e, 34, 1)?;
                e.open(|e| {
                    e.count((*v).len(), Some(Size::range(1, 9)))?;
                    for v in &(*v) {
                        (*v).encode(e)?;
                    }
                    Ok(())
                })?;
            }
            MeasuredResultsValueChoiceExtension::ResultCsiRsrq(v) => {
                element(e, 35, 1)?;
                e.open(|e| {
                    e.count((*v).len(), Some(Size::range(1, 9)))?;
                    for v in &(*v) {
                        (*v).encode(e)?;
                    }
                    Ok(())
                })?;
            }
            MeasuredResultsValueChoiceExtension::UlAoA(v) => {
                element(e, 36, 1)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            MeasuredResultsValueChoiceExtension::NrTadv(v) => {
                element(e, 94, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 7690)?;
                    Ok(())
                })?;
            }
            MeasuredResultsValueChoiceExtension::UeRxTxTimeDiff(v) => {
                element(e, 118, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 61565)?;
                    Ok(())
                })?;
            }
            MeasuredResultsValueChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            32 => MeasuredResultsValueChoiceExtension::ResultSsRsrp(d.open(|d| {
                Ok({
                    let count = d.count(Some(Size::range(1, 9)))?;
                    let mut list = Vec::with_capacity(d.reserve(count));
                    for _ in 0..count {
                        list.push(ResultSsRsrpItem::decode(d)?);
                    }
                    list
                })
            })?),
            33 => MeasuredResultsValueChoiceExtension::ResultSsRsrq(d.open(|d| {
                Ok({
                    let count = d.count(Some(Size::range(1, 9)))?;
                    let mut list = Vec::with_capacity(d.reserve(count));
                    for _ in 0..count {
                        list.push(ResultSsRsrqItem::decode(d)?);
                    }
                    list
                })
            })?),
            34 => MeasuredResultsValueChoiceExtension::ResultCsiRsrp(d.open(|d| {
                Ok({
                    let count = d.count(Some(Size::range(1, 9)))?;
                    let mut list = Vec::with_capacity(d.reserve(count));
                    for _ in 0..count {
                        list.push(ResultCsiRsrpItem::decode(d)?);
                    }
                    list
                })
            })?),
            35 => MeasuredResultsValueChoiceExtension::ResultCsiRsrq(d.open(|d| {
                Ok({
                    let count = d.count(Some(Size::range(1, 9)))?;
                    let mut list = Vec::with_capacity(d.reserve(count));
                    for _ in 0..count {
                        list.push(ResultCsiRsrqItem::decode(d)?);
                    }
                    list
                })
            })?),
            36 => MeasuredResultsValueChoiceExtension::UlAoA(d.open(|d| Ok(UlAoA::decode(d)?))?),
            94 => MeasuredResultsValueChoiceExtension::NrTadv(d.open(|d| Ok(d.constrained(0, 7690)? as u16))?),
            118 => {
                MeasuredResultsValueChoiceExtension::UeRxTxTimeDiff(d.open(|d| Ok(d.constrained(0, 61565)? as u16))?)
            }
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => MeasuredResultsValueChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `MeasuredResultsValue`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum MeasuredResultsValue {
    /// `valueAngleOfArrival-EUTRA`: INTEGER (0..719)
    ValueAngleOfArrivalEutra(u16),
    /// `valueTimingAdvanceType1-EUTRA`: INTEGER (0..7690)
    ValueTimingAdvanceType1Eutra(u16),
    /// `valueTimingAdvanceType2-EUTRA`: INTEGER (0..7690)
    ValueTimingAdvanceType2Eutra(u16),
    /// `resultRSRP-EUTRA`: SEQUENCE OF (SIZE (1..9))
    ResultRsrpEutra(Vec<ResultRsrpEutraItem>),
    /// `resultRSRQ-EUTRA`: SEQUENCE OF (SIZE (1..9))
    ResultRsrqEutra(Vec<ResultRsrqEutraItem>),
    /// `choice-Extension`
    ChoiceExtension(MeasuredResultsValueChoiceExtension),
}
impl Default for MeasuredResultsValue {
    fn default() -> Self {
        MeasuredResultsValue::ValueAngleOfArrivalEutra(Default::default())
    }
}
impl MeasuredResultsValue {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            MeasuredResultsValue::ValueAngleOfArrivalEutra(v) => {
                e.index(0, 6, false)?;
                e.constrained((*v).into(), 0, 719)?;
            }
            MeasuredResultsValue::ValueTimingAdvanceType1Eutra(v) => {
                e.index(1, 6, false)?;
                e.constrained((*v).into(), 0, 7690)?;
            }
            MeasuredResultsValue::ValueTimingAdvanceType2Eutra(v) => {
                e.index(2, 6, false)?;
                e.constrained((*v).into(), 0, 7690)?;
            }
            MeasuredResultsValue::ResultRsrpEutra(v) => {
                e.index(3, 6, false)?;
                e.count((*v).len(), Some(Size::range(1, 9)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
            }
            MeasuredResultsValue::ResultRsrqEutra(v) => {
                e.index(4, 6, false)?;
                e.count((*v).len(), Some(Size::range(1, 9)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
            }
            MeasuredResultsValue::ChoiceExtension(v) => {
                e.index(5, 6, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(6, false)? {
            0 => MeasuredResultsValue::ValueAngleOfArrivalEutra(d.constrained(0, 719)? as u16),
            1 => MeasuredResultsValue::ValueTimingAdvanceType1Eutra(d.constrained(0, 7690)? as u16),
            2 => MeasuredResultsValue::ValueTimingAdvanceType2Eutra(d.constrained(0, 7690)? as u16),
            3 => MeasuredResultsValue::ResultRsrpEutra({
                let count = d.count(Some(Size::range(1, 9)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(ResultRsrpEutraItem::decode(d)?);
                }
                list
            }),
            4 => MeasuredResultsValue::ResultRsrqEutra({
                let count = d.count(Some(Size::range(1, 9)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(ResultRsrqEutraItem::decode(d)?);
                }
                list
            }),
            5 => MeasuredResultsValue::ChoiceExtension(MeasuredResultsValueChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `NGRANHighAccuracyAccessPointPosition`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NgranHighAccuracyAccessPointPosition {
    /// `latitude`: INTEGER (-2147483648..2147483647)
    pub latitude: i32,
    /// `longitude`: INTEGER (-2147483648..2147483647)
    pub longitude: i32,
    /// `altitude`: INTEGER (-64000..1280000)
    pub altitude: i32,
    /// `uncertaintySemi-major`: INTEGER (0..255)
    pub uncertainty_semi_major: u8,
    /// `uncertaintySemi-minor`: INTEGER (0..255)
    pub uncertainty_semi_minor: u8,
    /// `orientationOfMajorAxis`: INTEGER (0..179)
    pub orientation_of_major_axis: u8,
    /// `horizontalConfidence`: INTEGER (0..100)
    pub horizontal_confidence: u8,
    /// `uncertaintyAltitude`: INTEGER (0..255)
    pub uncertainty_altitude: u8,
    /// `verticalConfidence`: INTEGER (0..100)
    pub vertical_confidence: u8,
}
impl NgranHighAccuracyAccessPointPosition {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.latitude.into(), -2147483648, 2147483647)?;
        e.constrained(self.longitude.into(), -2147483648, 2147483647)?;
        e.constrained(self.altitude.into(), -64000, 1280000)?;
        e.constrained(self.uncertainty_semi_major.into(), 0, 255)?;
        e.constrained(self.uncertainty_semi_minor.into(), 0, 255)?;
        e.constrained(self.orientation_of_major_axis.into(), 0, 179)?;
        e.constrained(self.horizontal_confidence.into(), 0, 100)?;
        e.constrained(self.uncertainty_altitude.into(), 0, 255)?;
        e.constrained(self.vertical_confidence.into(), 0, 100)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let latitude = d.constrained(-2147483648, 2147483647)? as i32;
        let longitude = d.constrained(-2147483648, 2147483647)? as i32;
        let altitude = d.constrained(-64000, 1280000)? as i32;
        let uncertainty_semi_major = d.constrained(0, 255)? as u8;
        let uncertainty_semi_minor = d.constrained(0, 255)? as u8;
        let orientation_of_major_axis = d.constrained(0, 179)? as u8;
        let horizontal_confidence = d.constrained(0, 100)? as u8;
        let uncertainty_altitude = d.constrained(0, 255)? as u8;
        let vertical_confidence = d.constrained(0, 100)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(NgranHighAccuracyAccessPointPosition {
            latitude,
            longitude,
            altitude,
            uncertainty_semi_major,
            uncertainty_semi_minor,
            orientation_of_major_axis,
            horizontal_confidence,
            uncertainty_altitude,
            vertical_confidence,
        })
    }
}

/// One information element: `TRPPositionDirectAccuracy-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum TrpPositionDirectAccuracyChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for TrpPositionDirectAccuracyChoiceExtension {
    fn default() -> Self {
        TrpPositionDirectAccuracyChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl TrpPositionDirectAccuracyChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TrpPositionDirectAccuracyChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => TrpPositionDirectAccuracyChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `TRPPositionDirectAccuracy`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum TrpPositionDirectAccuracy {
    /// `tRPPosition`
    TRpPosition(NgRanAccessPointPosition),
    /// `tRPHAposition`
    TRphAposition(NgranHighAccuracyAccessPointPosition),
    /// `choice-extension`
    ChoiceExtension(TrpPositionDirectAccuracyChoiceExtension),
}
impl Default for TrpPositionDirectAccuracy {
    fn default() -> Self {
        TrpPositionDirectAccuracy::TRpPosition(Default::default())
    }
}
impl TrpPositionDirectAccuracy {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TrpPositionDirectAccuracy::TRpPosition(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            TrpPositionDirectAccuracy::TRphAposition(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            TrpPositionDirectAccuracy::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => TrpPositionDirectAccuracy::TRpPosition(NgRanAccessPointPosition::decode(d)?),
            1 => TrpPositionDirectAccuracy::TRphAposition(NgranHighAccuracyAccessPointPosition::decode(d)?),
            2 => TrpPositionDirectAccuracy::ChoiceExtension(TrpPositionDirectAccuracyChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `TRPPositionDirect`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpPositionDirect {
    /// `accuracy`
    pub accuracy: TrpPositionDirectAccuracy,
}
impl TrpPositionDirect {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.accuracy.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let accuracy = TrpPositionDirectAccuracy::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpPositionDirect { accuracy })
    }
}

/// `LocalOrigin`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LocalOrigin {
    /// `relativeCoordinateID`, `CoordinateID`: INTEGER (0..511, …)
    pub relative_coordinate_id: i64,
    /// `horizontalAxesOrientation`: INTEGER (0..3599)
    pub horizontal_axes_orientation: u16,
    /// `referencePointCoordinateHA`
    pub reference_point_coordinate_ha: Option<NgranHighAccuracyAccessPointPosition>,
}
impl LocalOrigin {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.reference_point_coordinate_ha.is_some());
        e.bit(false);
        e.extensible(self.relative_coordinate_id.into(), 0, 511)?;
        e.constrained(self.horizontal_axes_orientation.into(), 0, 3599)?;
        if let Some(v) = &self.reference_point_coordinate_ha {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_reference_point_coordinate_ha = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let relative_coordinate_id = i64::try_from(d.extensible(0, 511)?).map_err(|_| DecodeError::Range)?;
        let horizontal_axes_orientation = d.constrained(0, 3599)? as u16;
        let reference_point_coordinate_ha = if has_reference_point_coordinate_ha {
            Some(NgranHighAccuracyAccessPointPosition::decode(d)?)
        } else {
            None
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(LocalOrigin { relative_coordinate_id, horizontal_axes_orientation, reference_point_coordinate_ha })
    }
}

/// One information element: `ReferencePoint-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum ReferencePointChoiceExtension {
    /// `LocalOrigin`
    LocalOrigin(LocalOrigin),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for ReferencePointChoiceExtension {
    fn default() -> Self {
        ReferencePointChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl ReferencePointChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ReferencePointChoiceExtension::LocalOrigin(v) => {
                element(e, 162, 1)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            ReferencePointChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            162 => ReferencePointChoiceExtension::LocalOrigin(d.open(|d| Ok(LocalOrigin::decode(d)?))?),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => ReferencePointChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `ReferencePoint`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum ReferencePoint {
    /// `relativeCoordinateID`, `CoordinateID`: INTEGER (0..511, …)
    RelativeCoordinateId(i64),
    /// `referencePointCoordinate`
    ReferencePointCoordinate(NgRanAccessPointPosition),
    /// `referencePointCoordinateHA`
    ReferencePointCoordinateHa(NgranHighAccuracyAccessPointPosition),
    /// `choice-Extension`
    ChoiceExtension(ReferencePointChoiceExtension),
}
impl Default for ReferencePoint {
    fn default() -> Self {
        ReferencePoint::RelativeCoordinateId(Default::default())
    }
}
impl ReferencePoint {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ReferencePoint::RelativeCoordinateId(v) => {
                e.index(0, 4, false)?;
                e.extensible((*v).into(), 0, 511)?;
            }
            ReferencePoint::ReferencePointCoordinate(v) => {
                e.index(1, 4, false)?;
                (*v).encode(e)?;
            }
            ReferencePoint::ReferencePointCoordinateHa(v) => {
                e.index(2, 4, false)?;
                (*v).encode(e)?;
            }
            ReferencePoint::ChoiceExtension(v) => {
                e.index(3, 4, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, false)? {
            0 => ReferencePoint::RelativeCoordinateId(
                i64::try_from(d.extensible(0, 511)?).map_err(|_| DecodeError::Range)?,
            ),
            1 => ReferencePoint::ReferencePointCoordinate(NgRanAccessPointPosition::decode(d)?),
            2 => ReferencePoint::ReferencePointCoordinateHa(NgranHighAccuracyAccessPointPosition::decode(d)?),
            3 => ReferencePoint::ChoiceExtension(ReferencePointChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `RelativeGeodeticLocation-milli-Arc-SecondUnits`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RelativeGeodeticLocationMilliArcSecondUnits {
    /// `zerodot03`
    #[default]
    Zerodot03,
    /// `zerodot3`
    Zerodot3,
    /// `three`
    Three,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl RelativeGeodeticLocationMilliArcSecondUnits {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                RelativeGeodeticLocationMilliArcSecondUnits::Zerodot03 => 0,
                RelativeGeodeticLocationMilliArcSecondUnits::Zerodot3 => 1,
                RelativeGeodeticLocationMilliArcSecondUnits::Three => 2,
                RelativeGeodeticLocationMilliArcSecondUnits::Other(index) => index,
            },
            3,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, true)? {
            0 => RelativeGeodeticLocationMilliArcSecondUnits::Zerodot03,
            1 => RelativeGeodeticLocationMilliArcSecondUnits::Zerodot3,
            2 => RelativeGeodeticLocationMilliArcSecondUnits::Three,
            other => RelativeGeodeticLocationMilliArcSecondUnits::Other(other),
        })
    }
}

/// `RelativeGeodeticLocation-heightUnits`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RelativeGeodeticLocationHeightUnits {
    /// `mm`
    #[default]
    Mm,
    /// `cm`
    Cm,
    /// `m`
    M,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl RelativeGeodeticLocationHeightUnits {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                RelativeGeodeticLocationHeightUnits::Mm => 0,
                RelativeGeodeticLocationHeightUnits::Cm => 1,
                RelativeGeodeticLocationHeightUnits::M => 2,
                RelativeGeodeticLocationHeightUnits::Other(index) => index,
            },
            3,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, true)? {
            0 => RelativeGeodeticLocationHeightUnits::Mm,
            1 => RelativeGeodeticLocationHeightUnits::Cm,
            2 => RelativeGeodeticLocationHeightUnits::M,
            other => RelativeGeodeticLocationHeightUnits::Other(other),
        })
    }
}

/// `LocationUncertainty`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LocationUncertainty {
    /// `horizontalUncertainty`: INTEGER (0..255)
    pub horizontal_uncertainty: u8,
    /// `horizontalConfidence`: INTEGER (0..100)
    pub horizontal_confidence: u8,
    /// `verticalUncertainty`: INTEGER (0..255)
    pub vertical_uncertainty: u8,
    /// `verticalConfidence`: INTEGER (0..100)
    pub vertical_confidence: u8,
}
impl LocationUncertainty {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.horizontal_uncertainty.into(), 0, 255)?;
        e.constrained(self.horizontal_confidence.into(), 0, 100)?;
        e.constrained(self.vertical_uncertainty.into(), 0, 255)?;
        e.constrained(self.vertical_confidence.into(), 0, 100)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let horizontal_uncertainty = d.constrained(0, 255)? as u8;
        let horizontal_confidence = d.constrained(0, 100)? as u8;
        let vertical_uncertainty = d.constrained(0, 255)? as u8;
        let vertical_confidence = d.constrained(0, 100)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(LocationUncertainty {
            horizontal_uncertainty,
            horizontal_confidence,
            vertical_uncertainty,
            vertical_confidence,
        })
    }
}

/// `RelativeGeodeticLocation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RelativeGeodeticLocation {
    /// `milli-Arc-SecondUnits`
    pub milli_arc_second_units: RelativeGeodeticLocationMilliArcSecondUnits,
    /// `heightUnits`
    pub height_units: RelativeGeodeticLocationHeightUnits,
    /// `deltaLatitude`: INTEGER (-1024..1023)
    pub delta_latitude: i16,
    /// `deltaLongitude`: INTEGER (-1024..1023)
    pub delta_longitude: i16,
    /// `deltaHeight`: INTEGER (-1024..1023)
    pub delta_height: i16,
    /// `locationUncertainty`
    pub location_uncertainty: LocationUncertainty,
}
impl RelativeGeodeticLocation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.milli_arc_second_units.encode(e)?;
        self.height_units.encode(e)?;
        e.constrained(self.delta_latitude.into(), -1024, 1023)?;
        e.constrained(self.delta_longitude.into(), -1024, 1023)?;
        e.constrained(self.delta_height.into(), -1024, 1023)?;
        self.location_uncertainty.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let milli_arc_second_units = RelativeGeodeticLocationMilliArcSecondUnits::decode(d)?;
        let height_units = RelativeGeodeticLocationHeightUnits::decode(d)?;
        let delta_latitude = d.constrained(-1024, 1023)? as i16;
        let delta_longitude = d.constrained(-1024, 1023)? as i16;
        let delta_height = d.constrained(-1024, 1023)? as i16;
        let location_uncertainty = LocationUncertainty::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(RelativeGeodeticLocation {
            milli_arc_second_units,
            height_units,
            delta_latitude,
            delta_longitude,
            delta_height,
            location_uncertainty,
        })
    }
}

/// `RelativeCartesianLocation-xYZunit`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RelativeCartesianLocationXYZunit {
    /// `mm`
    #[default]
    Mm,
    /// `cm`
    Cm,
    /// `dm`
    Dm,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl RelativeCartesianLocationXYZunit {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                RelativeCartesianLocationXYZunit::Mm => 0,
                RelativeCartesianLocationXYZunit::Cm => 1,
                RelativeCartesianLocationXYZunit::Dm => 2,
                RelativeCartesianLocationXYZunit::Other(index) => index,
            },
            3,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, true)? {
            0 => RelativeCartesianLocationXYZunit::Mm,
            1 => RelativeCartesianLocationXYZunit::Cm,
            2 => RelativeCartesianLocationXYZunit::Dm,
            other => RelativeCartesianLocationXYZunit::Other(other),
        })
    }
}

/// `RelativeCartesianLocation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RelativeCartesianLocation {
    /// `xYZunit`
    pub x_yzunit: RelativeCartesianLocationXYZunit,
    /// `xvalue`: INTEGER (-65536..65535)
    pub xvalue: i32,
    /// `yvalue`: INTEGER (-65536..65535)
    pub yvalue: i32,
    /// `zvalue`: INTEGER (-32768..32767)
    pub zvalue: i16,
    /// `locationUncertainty`
    pub location_uncertainty: LocationUncertainty,
}
impl RelativeCartesianLocation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.x_yzunit.encode(e)?;
        e.constrained(self.xvalue.into(), -65536, 65535)?;
        e.constrained(self.yvalue.into(), -65536, 65535)?;
        e.constrained(self.zvalue.into(), -32768, 32767)?;
        self.location_uncertainty.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let x_yzunit = RelativeCartesianLocationXYZunit::decode(d)?;
        let xvalue = d.constrained(-65536, 65535)? as i32;
        let yvalue = d.constrained(-65536, 65535)? as i32;
        let zvalue = d.constrained(-32768, 32767)? as i16;
        let location_uncertainty = LocationUncertainty::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(RelativeCartesianLocation { x_yzunit, xvalue, yvalue, zvalue, location_uncertainty })
    }
}

/// One information element: `TRPReferencePointType-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum TrpReferencePointTypeChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for TrpReferencePointTypeChoiceExtension {
    fn default() -> Self {
        TrpReferencePointTypeChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl TrpReferencePointTypeChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TrpReferencePointTypeChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => TrpReferencePointTypeChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `TRPReferencePointType`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum TrpReferencePointType {
    /// `tRPPositionRelativeGeodetic`
    TRpPositionRelativeGeodetic(RelativeGeodeticLocation),
    /// `tRPPositionRelativeCartesian`
    TRpPositionRelativeCartesian(RelativeCartesianLocation),
    /// `choice-extension`
    ChoiceExtension(TrpReferencePointTypeChoiceExtension),
}
impl Default for TrpReferencePointType {
    fn default() -> Self {
        TrpReferencePointType::TRpPositionRelativeGeodetic(Default::default())
    }
}
impl TrpReferencePointType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TrpReferencePointType::TRpPositionRelativeGeodetic(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            TrpReferencePointType::TRpPositionRelativeCartesian(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            TrpReferencePointType::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => TrpReferencePointType::TRpPositionRelativeGeodetic(RelativeGeodeticLocation::decode(d)?),
            1 => TrpReferencePointType::TRpPositionRelativeCartesian(RelativeCartesianLocation::decode(d)?),
            2 => TrpReferencePointType::ChoiceExtension(TrpReferencePointTypeChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `TRPPositionReferenced`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpPositionReferenced {
    /// `referencePoint`
    pub reference_point: ReferencePoint,
    /// `referencePointType`
    pub reference_point_type: TrpReferencePointType,
}
impl TrpPositionReferenced {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.reference_point.encode(e)?;
        self.reference_point_type.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let reference_point = ReferencePoint::decode(d)?;
        let reference_point_type = TrpReferencePointType::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpPositionReferenced { reference_point, reference_point_type })
    }
}

/// One information element: `TRPPositionDefinitionType-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum TrpPositionDefinitionTypeChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for TrpPositionDefinitionTypeChoiceExtension {
    fn default() -> Self {
        TrpPositionDefinitionTypeChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl TrpPositionDefinitionTypeChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TrpPositionDefinitionTypeChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => TrpPositionDefinitionTypeChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `TRPPositionDefinitionType`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum TrpPositionDefinitionType {
    /// `direct`
    Direct(TrpPositionDirect),
    /// `referenced`
    Referenced(TrpPositionReferenced),
    /// `choice-extension`
    ChoiceExtension(TrpPositionDefinitionTypeChoiceExtension),
}
impl Default for TrpPositionDefinitionType {
    fn default() -> Self {
        TrpPositionDefinitionType::Direct(Default::default())
    }
}
impl TrpPositionDefinitionType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TrpPositionDefinitionType::Direct(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            TrpPositionDefinitionType::Referenced(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            TrpPositionDefinitionType::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => TrpPositionDefinitionType::Direct(TrpPositionDirect::decode(d)?),
            1 => TrpPositionDefinitionType::Referenced(TrpPositionReferenced::decode(d)?),
            2 => TrpPositionDefinitionType::ChoiceExtension(TrpPositionDefinitionTypeChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// One information element: `DL-PRSResourceSetARPLocation-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum DlPrsResourceSetArpLocationChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for DlPrsResourceSetArpLocationChoiceExtension {
    fn default() -> Self {
        DlPrsResourceSetArpLocationChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl DlPrsResourceSetArpLocationChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            DlPrsResourceSetArpLocationChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => DlPrsResourceSetArpLocationChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `DL-PRSResourceSetARPLocation`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum DlPrsResourceSetArpLocation {
    /// `relativeGeodeticLocation`
    RelativeGeodeticLocation(RelativeGeodeticLocation),
    /// `relativeCartesianLocation`
    RelativeCartesianLocation(RelativeCartesianLocation),
    /// `choice-Extension`
    ChoiceExtension(DlPrsResourceSetArpLocationChoiceExtension),
}
impl Default for DlPrsResourceSetArpLocation {
    fn default() -> Self {
        DlPrsResourceSetArpLocation::RelativeGeodeticLocation(Default::default())
    }
}
impl DlPrsResourceSetArpLocation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            DlPrsResourceSetArpLocation::RelativeGeodeticLocation(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            DlPrsResourceSetArpLocation::RelativeCartesianLocation(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            DlPrsResourceSetArpLocation::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => DlPrsResourceSetArpLocation::RelativeGeodeticLocation(RelativeGeodeticLocation::decode(d)?),
            1 => DlPrsResourceSetArpLocation::RelativeCartesianLocation(RelativeCartesianLocation::decode(d)?),
            2 => DlPrsResourceSetArpLocation::ChoiceExtension(DlPrsResourceSetArpLocationChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// One information element: `DL-PRSResourceARPLocation-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum DlPrsResourceArpLocationChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for DlPrsResourceArpLocationChoiceExtension {
    fn default() -> Self {
        DlPrsResourceArpLocationChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl DlPrsResourceArpLocationChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            DlPrsResourceArpLocationChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => DlPrsResourceArpLocationChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `DL-PRSResourceARPLocation`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum DlPrsResourceArpLocation {
    /// `relativeGeodeticLocation`
    RelativeGeodeticLocation(RelativeGeodeticLocation),
    /// `relativeCartesianLocation`
    RelativeCartesianLocation(RelativeCartesianLocation),
    /// `choice-Extension`
    ChoiceExtension(DlPrsResourceArpLocationChoiceExtension),
}
impl Default for DlPrsResourceArpLocation {
    fn default() -> Self {
        DlPrsResourceArpLocation::RelativeGeodeticLocation(Default::default())
    }
}
impl DlPrsResourceArpLocation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            DlPrsResourceArpLocation::RelativeGeodeticLocation(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            DlPrsResourceArpLocation::RelativeCartesianLocation(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            DlPrsResourceArpLocation::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => DlPrsResourceArpLocation::RelativeGeodeticLocation(RelativeGeodeticLocation::decode(d)?),
            1 => DlPrsResourceArpLocation::RelativeCartesianLocation(RelativeCartesianLocation::decode(d)?),
            2 => DlPrsResourceArpLocation::ChoiceExtension(DlPrsResourceArpLocationChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `DLPRSResourceARP`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DlprsResourceArp {
    /// `dl-PRSResourceID`, `PRS-Resource-ID`: INTEGER (0..63)
    pub dl_prsresource_id: u8,
    /// `dL-PRSResourceARPLocation`
    pub d_l_prsresource_arplocation: DlPrsResourceArpLocation,
}
impl DlprsResourceArp {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.dl_prsresource_id.into(), 0, 63)?;
        self.d_l_prsresource_arplocation.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let dl_prsresource_id = d.constrained(0, 63)? as u8;
        let d_l_prsresource_arplocation = DlPrsResourceArpLocation::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(DlprsResourceArp { dl_prsresource_id, d_l_prsresource_arplocation })
    }
}

/// `DLPRSResourceSetARP`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DlprsResourceSetArp {
    /// `dl-PRSResourceSetID`, `PRS-Resource-Set-ID`: INTEGER (0..7)
    pub dl_prsresource_set_id: u8,
    /// `dL-PRSResourceSetARPLocation`
    pub d_l_prsresource_set_arplocation: DlPrsResourceSetArpLocation,
    /// `listofDL-PRSResourceARP`: SEQUENCE OF (SIZE (1..64))
    pub listof_dl_prsresource_arp: Vec<DlprsResourceArp>,
}
impl DlprsResourceSetArp {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.dl_prsresource_set_id.into(), 0, 7)?;
        self.d_l_prsresource_set_arplocation.encode(e)?;
        e.count(self.listof_dl_prsresource_arp.len(), Some(Size::range(1, 64)))?;
        for v in &self.listof_dl_prsresource_arp {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let dl_prsresource_set_id = d.constrained(0, 7)? as u8;
        let d_l_prsresource_set_arplocation = DlPrsResourceSetArpLocation::decode(d)?;
        let listof_dl_prsresource_arp = {
            let count = d.count(Some(Size::range(1, 64)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(DlprsResourceArp::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(DlprsResourceSetArp { dl_prsresource_set_id, d_l_prsresource_set_arplocation, listof_dl_prsresource_arp })
    }
}

/// `DLPRSResourceCoordinates`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DlprsResourceCoordinates {
    /// `listofDL-PRSResourceSetARP`: SEQUENCE OF (SIZE (1..2))
    pub listof_dl_prsresource_set_arp: Vec<DlprsResourceSetArp>,
}
impl DlprsResourceCoordinates {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.count(self.listof_dl_prsresource_set_arp.len(), Some(Size::range(1, 2)))?;
        for v in &self.listof_dl_prsresource_set_arp {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let listof_dl_prsresource_set_arp = {
            let count = d.count(Some(Size::range(1, 2)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(DlprsResourceSetArp::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(DlprsResourceCoordinates { listof_dl_prsresource_set_arp })
    }
}

/// One information element: `ARPLocationType-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum ArpLocationTypeChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for ArpLocationTypeChoiceExtension {
    fn default() -> Self {
        ArpLocationTypeChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl ArpLocationTypeChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ArpLocationTypeChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => ArpLocationTypeChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `ARPLocationType`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum ArpLocationType {
    /// `aRPPositionRelativeGeodetic`
    ARpPositionRelativeGeodetic(RelativeGeodeticLocation),
    /// `aRPPositionRelativeCartesian`
    ARpPositionRelativeCartesian(RelativeCartesianLocation),
    /// `choice-extension`
    ChoiceExtension(ArpLocationTypeChoiceExtension),
}
impl Default for ArpLocationType {
    fn default() -> Self {
        ArpLocationType::ARpPositionRelativeGeodetic(Default::default())
    }
}
impl ArpLocationType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ArpLocationType::ARpPositionRelativeGeodetic(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            ArpLocationType::ARpPositionRelativeCartesian(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            ArpLocationType::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => ArpLocationType::ARpPositionRelativeGeodetic(RelativeGeodeticLocation::decode(d)?),
            1 => ArpLocationType::ARpPositionRelativeCartesian(RelativeCartesianLocation::decode(d)?),
            2 => ArpLocationType::ChoiceExtension(ArpLocationTypeChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `ARPLocationInformation-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ArpLocationInformationItem {
    /// `aRP-ID`, `ARP-ID`: INTEGER (1..16, …)
    pub a_rp_id: i64,
    /// `aRPLocationType`
    pub a_rplocation_type: ArpLocationType,
}
impl ArpLocationInformationItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.extensible(self.a_rp_id.into(), 1, 16)?;
        self.a_rplocation_type.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let a_rp_id = i64::try_from(d.extensible(1, 16)?).map_err(|_| DecodeError::Range)?;
        let a_rplocation_type = ArpLocationType::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ArpLocationInformationItem { a_rp_id, a_rplocation_type })
    }
}

/// The information elements of `GeographicalCoordinates-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GeographicalCoordinatesIEExtensions {
    /// `ARPLocationInformation`: SEQUENCE OF (SIZE (1..16)); information element 78, ignore
    pub arplocation_information: Option<Vec<ArpLocationInformationItem>>,
}
impl GeographicalCoordinatesIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.arplocation_information.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.arplocation_information {
            element(e, 78, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 16)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut arplocation_information = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                78 => {
                    arplocation_information = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 16)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(ArpLocationInformationItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(GeographicalCoordinatesIEExtensions { arplocation_information })
    }
}

/// `GeographicalCoordinates`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GeographicalCoordinates {
    /// `tRPPositionDefinitionType`
    pub t_rpposition_definition_type: TrpPositionDefinitionType,
    /// `dLPRSResourceCoordinates`
    pub d_lprsresource_coordinates: Option<DlprsResourceCoordinates>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<GeographicalCoordinatesIEExtensions>,
}
impl GeographicalCoordinates {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.d_lprsresource_coordinates.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        self.t_rpposition_definition_type.encode(e)?;
        if let Some(v) = &self.d_lprsresource_coordinates {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_d_lprsresource_coordinates = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rpposition_definition_type = TrpPositionDefinitionType::decode(d)?;
        let d_lprsresource_coordinates =
            if has_d_lprsresource_coordinates { Some(DlprsResourceCoordinates::decode(d)?) } else { None };
        let i_e_extensions = if has_i_e_extensions {
            Some(GeographicalCoordinatesIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(GeographicalCoordinates { t_rpposition_definition_type, d_lprsresource_coordinates, i_e_extensions })
    }
}

/// One information element: `TimeStampSlotIndex-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeStampSlotIndexChoiceExtension {
    /// `SCS-480`, `SCS-480`: INTEGER (0..319)
    Scs480(u16),
    /// `SCS-960`, `SCS-960`: INTEGER (0..639)
    Scs960(u16),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for TimeStampSlotIndexChoiceExtension {
    fn default() -> Self {
        TimeStampSlotIndexChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl TimeStampSlotIndexChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TimeStampSlotIndexChoiceExtension::Scs480(v) => {
                element(e, 119, 0)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 319)?;
                    Ok(())
                })?;
            }
            TimeStampSlotIndexChoiceExtension::Scs960(v) => {
                element(e, 120, 0)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 639)?;
                    Ok(())
                })?;
            }
            TimeStampSlotIndexChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            119 => TimeStampSlotIndexChoiceExtension::Scs480(d.open(|d| Ok(d.constrained(0, 319)? as u16))?),
            120 => TimeStampSlotIndexChoiceExtension::Scs960(d.open(|d| Ok(d.constrained(0, 639)? as u16))?),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => TimeStampSlotIndexChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `TimeStampSlotIndex`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeStampSlotIndex {
    /// `sCS-15`: INTEGER (0..9)
    SCs15(u8),
    /// `sCS-30`: INTEGER (0..19)
    SCs30(u8),
    /// `sCS-60`: INTEGER (0..39)
    SCs60(u8),
    /// `sCS-120`: INTEGER (0..79)
    SCs120(u8),
    /// `choice-extension`
    ChoiceExtension(TimeStampSlotIndexChoiceExtension),
}
impl Default for TimeStampSlotIndex {
    fn default() -> Self {
        TimeStampSlotIndex::SCs15(Default::default())
    }
}
impl TimeStampSlotIndex {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TimeStampSlotIndex::SCs15(v) => {
                e.index(0, 5, false)?;
                e.constrained((*v).into(), 0, 9)?;
            }
            TimeStampSlotIndex::SCs30(v) => {
                e.index(1, 5, false)?;
                e.constrained((*v).into(), 0, 19)?;
            }
            TimeStampSlotIndex::SCs60(v) => {
                e.index(2, 5, false)?;
                e.constrained((*v).into(), 0, 39)?;
            }
            TimeStampSlotIndex::SCs120(v) => {
                e.index(3, 5, false)?;
                e.constrained((*v).into(), 0, 79)?;
            }
            TimeStampSlotIndex::ChoiceExtension(v) => {
                e.index(4, 5, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(5, false)? {
            0 => TimeStampSlotIndex::SCs15(d.constrained(0, 9)? as u8),
            1 => TimeStampSlotIndex::SCs30(d.constrained(0, 19)? as u8),
            2 => TimeStampSlotIndex::SCs60(d.constrained(0, 39)? as u8),
            3 => TimeStampSlotIndex::SCs120(d.constrained(0, 79)? as u8),
            4 => TimeStampSlotIndex::ChoiceExtension(TimeStampSlotIndexChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// The information elements of `TimeStamp-iE-Extension`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimeStampIEExtension {
    /// `SymbolIndex`, `SymbolIndex`: INTEGER (0..13); information element 127, ignore
    pub symbol_index: Option<u8>,
}
impl TimeStampIEExtension {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.symbol_index.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.symbol_index {
            element(e, 127, 1)?;
            e.open(|e| {
                e.constrained((*v).into(), 0, 13)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut symbol_index = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                127 => symbol_index = Some(d.open(|d| Ok(d.constrained(0, 13)? as u8))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(TimeStampIEExtension { symbol_index })
    }
}

/// `TimeStamp`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimeStamp {
    /// `systemFrameNumber`, `SystemFrameNumber`: INTEGER (0..1023)
    pub system_frame_number: u16,
    /// `slotIndex`
    pub slot_index: TimeStampSlotIndex,
    /// `measurementTime`, `RelativeTime1900`: BIT STRING (SIZE (64..64))
    pub measurement_time: Option<BitString>,
    /// `iE-Extension`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extension: Option<TimeStampIEExtension>,
}
impl TimeStamp {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.measurement_time.is_some());
        e.bit(self.i_e_extension.as_ref().is_some_and(|it| it.count() > 0));
        e.constrained(self.system_frame_number.into(), 0, 1023)?;
        self.slot_index.encode(e)?;
        if let Some(v) = &self.measurement_time {
            e.bit_string(&(*v), Some(Size::range(64, 64)))?;
        }
        if let Some(v) = self.i_e_extension.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_measurement_time = d.bit()?;
        let has_i_e_extension = d.bit()?;
        let system_frame_number = d.constrained(0, 1023)? as u16;
        let slot_index = TimeStampSlotIndex::decode(d)?;
        let measurement_time = if has_measurement_time { Some(d.bit_string(Some(Size::range(64, 64)))?) } else { None };
        let i_e_extension =
            if has_i_e_extension { Some(TimeStampIEExtension::decode(d)?).filter(|it| it.count() > 0) } else { None };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TimeStamp { system_frame_number, slot_index, measurement_time, i_e_extension })
    }
}

/// `Mobile-TRP-LocationInformation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MobileTrpLocationInformation {
    /// `location-Information`: OCTET STRING
    pub location_information: Vec<u8>,
    /// `velocity-Information`: OCTET STRING
    pub velocity_information: Option<Vec<u8>>,
    /// `location-time-stamp`
    pub location_time_stamp: Option<TimeStamp>,
}
impl MobileTrpLocationInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.velocity_information.is_some());
        e.bit(self.location_time_stamp.is_some());
        e.bit(false);
        e.octet_string(&self.location_information, None)?;
        if let Some(v) = &self.velocity_information {
            e.octet_string(&(*v), None)?;
        }
        if let Some(v) = &self.location_time_stamp {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_velocity_information = d.bit()?;
        let has_location_time_stamp = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let location_information = d.octet_string(None)?;
        let velocity_information = if has_velocity_information { Some(d.octet_string(None)?) } else { None };
        let location_time_stamp = if has_location_time_stamp { Some(TimeStamp::decode(d)?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(MobileTrpLocationInformation { location_information, velocity_information, location_time_stamp })
    }
}

/// `TrpMeasurementTimingQuality-resolution`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrpMeasurementTimingQualityResolution {
    /// `m0dot1`
    #[default]
    M0Dot1,
    /// `m1`
    M1,
    /// `m10`
    M10,
    /// `m30`
    M30,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TrpMeasurementTimingQualityResolution {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TrpMeasurementTimingQualityResolution::M0Dot1 => 0,
                TrpMeasurementTimingQualityResolution::M1 => 1,
                TrpMeasurementTimingQualityResolution::M10 => 2,
                TrpMeasurementTimingQualityResolution::M30 => 3,
                TrpMeasurementTimingQualityResolution::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => TrpMeasurementTimingQualityResolution::M0Dot1,
            1 => TrpMeasurementTimingQualityResolution::M1,
            2 => TrpMeasurementTimingQualityResolution::M10,
            3 => TrpMeasurementTimingQualityResolution::M30,
            other => TrpMeasurementTimingQualityResolution::Other(other),
        })
    }
}

/// `TrpMeasurementTimingQuality`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpMeasurementTimingQuality {
    /// `measurementQuality`: INTEGER (0..31)
    pub measurement_quality: u8,
    /// `resolution`
    pub resolution: TrpMeasurementTimingQualityResolution,
}
impl TrpMeasurementTimingQuality {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.measurement_quality.into(), 0, 31)?;
        self.resolution.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let measurement_quality = d.constrained(0, 31)? as u8;
        let resolution = TrpMeasurementTimingQualityResolution::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpMeasurementTimingQuality { measurement_quality, resolution })
    }
}

/// `TrpMeasurementAngleQuality-resolution`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrpMeasurementAngleQualityResolution {
    /// `deg0dot1`
    #[default]
    Deg0Dot1,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TrpMeasurementAngleQualityResolution {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TrpMeasurementAngleQualityResolution::Deg0Dot1 => 0,
                TrpMeasurementAngleQualityResolution::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => TrpMeasurementAngleQualityResolution::Deg0Dot1,
            other => TrpMeasurementAngleQualityResolution::Other(other),
        })
    }
}

/// `TrpMeasurementAngleQuality`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpMeasurementAngleQuality {
    /// `azimuthQuality`: INTEGER (0..255)
    pub azimuth_quality: u8,
    /// `zenithQuality`: INTEGER (0..255)
    pub zenith_quality: Option<u8>,
    /// `resolution`
    pub resolution: TrpMeasurementAngleQualityResolution,
}
impl TrpMeasurementAngleQuality {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.zenith_quality.is_some());
        e.bit(false);
        e.constrained(self.azimuth_quality.into(), 0, 255)?;
        if let Some(v) = &self.zenith_quality {
            e.constrained((*v).into(), 0, 255)?;
        }
        self.resolution.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_zenith_quality = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let azimuth_quality = d.constrained(0, 255)? as u8;
        let zenith_quality = if has_zenith_quality { Some(d.constrained(0, 255)? as u8) } else { None };
        let resolution = TrpMeasurementAngleQualityResolution::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpMeasurementAngleQuality { azimuth_quality, zenith_quality, resolution })
    }
}

/// `TRPPhaseQuality-resolution`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrpPhaseQualityResolution {
    /// `deg0dot1`
    #[default]
    Deg0Dot1,
    /// `deg1`
    Deg1,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TrpPhaseQualityResolution {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TrpPhaseQualityResolution::Deg0Dot1 => 0,
                TrpPhaseQualityResolution::Deg1 => 1,
                TrpPhaseQualityResolution::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => TrpPhaseQualityResolution::Deg0Dot1,
            1 => TrpPhaseQualityResolution::Deg1,
            other => TrpPhaseQualityResolution::Other(other),
        })
    }
}

/// `TRPPhaseQuality`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpPhaseQuality {
    /// `phaseQualityIndex`: INTEGER (0..179)
    pub phase_quality_index: u8,
    /// `resolution`
    pub resolution: TrpPhaseQualityResolution,
}
impl TrpPhaseQuality {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.phase_quality_index.into(), 0, 179)?;
        self.resolution.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let phase_quality_index = d.constrained(0, 179)? as u8;
        let resolution = TrpPhaseQualityResolution::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpPhaseQuality { phase_quality_index, resolution })
    }
}

/// One information element: `TrpMeasurementQuality-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum TrpMeasurementQualityChoiceExtension {
    /// `TRPPhaseQuality`
    TrpPhaseQuality(TrpPhaseQuality),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for TrpMeasurementQualityChoiceExtension {
    fn default() -> Self {
        TrpMeasurementQualityChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl TrpMeasurementQualityChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TrpMeasurementQualityChoiceExtension::TrpPhaseQuality(v) => {
                element(e, 133, 1)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            TrpMeasurementQualityChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            133 => TrpMeasurementQualityChoiceExtension::TrpPhaseQuality(d.open(|d| Ok(TrpPhaseQuality::decode(d)?))?),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => TrpMeasurementQualityChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `TrpMeasurementQuality`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum TrpMeasurementQuality {
    /// `timingMeasQuality`
    TimingMeasQuality(TrpMeasurementTimingQuality),
    /// `angleMeasQuality`
    AngleMeasQuality(TrpMeasurementAngleQuality),
    /// `choice-Extension`
    ChoiceExtension(TrpMeasurementQualityChoiceExtension),
}
impl Default for TrpMeasurementQuality {
    fn default() -> Self {
        TrpMeasurementQuality::TimingMeasQuality(Default::default())
    }
}
impl TrpMeasurementQuality {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TrpMeasurementQuality::TimingMeasQuality(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            TrpMeasurementQuality::AngleMeasQuality(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            TrpMeasurementQuality::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => TrpMeasurementQuality::TimingMeasQuality(TrpMeasurementTimingQuality::decode(d)?),
            1 => TrpMeasurementQuality::AngleMeasQuality(TrpMeasurementAngleQuality::decode(d)?),
            2 => TrpMeasurementQuality::ChoiceExtension(TrpMeasurementQualityChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `DL-reference-signal-UERxTx-TD`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DlReferenceSignalUeRxTxTd {
    /// `csirs`
    #[default]
    Csirs,
    /// `prs`
    Prs,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl DlReferenceSignalUeRxTxTd {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                DlReferenceSignalUeRxTxTd::Csirs => 0,
                DlReferenceSignalUeRxTxTd::Prs => 1,
                DlReferenceSignalUeRxTxTd::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => DlReferenceSignalUeRxTxTd::Csirs,
            1 => DlReferenceSignalUeRxTxTd::Prs,
            other => DlReferenceSignalUeRxTxTd::Other(other),
        })
    }
}

/// The information elements of `MeasuredResultsAssociatedInfoItem-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasuredResultsAssociatedInfoItemIEExtensions {
    /// `DL-reference-signal-UERxTx-TD`; information element 164, ignore
    pub dl_reference_signal_uerx_tx_td: Option<DlReferenceSignalUeRxTxTd>,
}
impl MeasuredResultsAssociatedInfoItemIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.dl_reference_signal_uerx_tx_td.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.dl_reference_signal_uerx_tx_td {
            element(e, 164, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut dl_reference_signal_uerx_tx_td = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                164 => dl_reference_signal_uerx_tx_td = Some(d.open(|d| Ok(DlReferenceSignalUeRxTxTd::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(MeasuredResultsAssociatedInfoItemIEExtensions { dl_reference_signal_uerx_tx_td })
    }
}

/// `MeasuredResultsAssociatedInfoItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasuredResultsAssociatedInfoItem {
    /// `timeStamp`
    pub time_stamp: Option<TimeStamp>,
    /// `measurementQuality`
    pub measurement_quality: Option<TrpMeasurementQuality>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<MeasuredResultsAssociatedInfoItemIEExtensions>,
}
impl MeasuredResultsAssociatedInfoItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.time_stamp.is_some());
        e.bit(self.measurement_quality.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        if let Some(v) = &self.time_stamp {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.measurement_quality {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_time_stamp = d.bit()?;
        let has_measurement_quality = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let time_stamp = if has_time_stamp { Some(TimeStamp::decode(d)?) } else { None };
        let measurement_quality = if has_measurement_quality { Some(TrpMeasurementQuality::decode(d)?) } else { None };
        let i_e_extensions = if has_i_e_extensions {
            Some(MeasuredResultsAssociatedInfoItemIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(MeasuredResultsAssociatedInfoItem { time_stamp, measurement_quality, i_e_extensions })
    }
}

/// The information elements of `E-CID-MeasurementResult-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ECidMeasurementResultIEExtensions {
    /// `GeographicalCoordinates`; information element 37, ignore
    pub geographical_coordinates: Option<Box<GeographicalCoordinates>>,
    /// `Mobile-TRP-LocationInformation`; information element 116, ignore
    pub mobile_trp_location_information: Option<Box<MobileTrpLocationInformation>>,
    /// `MeasuredResultsAssociatedInfoList`: SEQUENCE OF (SIZE (1..64)); information element 153, ignore
    pub measured_results_associated_info_list: Option<Vec<MeasuredResultsAssociatedInfoItem>>,
}
impl ECidMeasurementResultIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.geographical_coordinates.is_some())
            + usize::from(self.mobile_trp_location_information.is_some())
            + usize::from(self.measured_results_associated_info_list.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.geographical_coordinates {
            element(e, 37, 1)?;
            e.open(|e| {
                (**v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.mobile_trp_location_information {
            element(e, 116, 1)?;
            e.open(|e| {
                (**v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.measured_results_associated_info_list {
            element(e, 153, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 64)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut geographical_coordinates = None;
        let mut mobile_trp_location_information = None;
        let mut measured_results_associated_info_list = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                37 => geographical_coordinates = Some(d.open(|d| Ok(Box::new(GeographicalCoordinates::decode(d)?)))?),
                116 => {
                    mobile_trp_location_information =
                        Some(d.open(|d| Ok(Box::new(MobileTrpLocationInformation::decode(d)?)))?)
                }
                153 => {
                    measured_results_associated_info_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 64)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(MeasuredResultsAssociatedInfoItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(ECidMeasurementResultIEExtensions {
            geographical_coordinates,
            mobile_trp_location_information,
            measured_results_associated_info_list,
        })
    }
}

/// `E-CID-MeasurementResult`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ECidMeasurementResult {
    /// `servingCell-ID`
    pub serving_cell_id: NgRanCgi,
    /// `servingCellTAC`, `TAC`: OCTET STRING (SIZE (3..3))
    pub serving_cell_tac: Vec<u8>,
    /// `nG-RANAccessPointPosition`
    pub n_g_ranaccess_point_position: Option<NgRanAccessPointPosition>,
    /// `measuredResults`: SEQUENCE OF (SIZE (1..64))
    pub measured_results: Option<Vec<MeasuredResultsValue>>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<ECidMeasurementResultIEExtensions>,
}
impl ECidMeasurementResult {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.n_g_ranaccess_point_position.is_some());
        e.bit(self.measured_results.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        self.serving_cell_id.encode(e)?;
        e.octet_string(&self.serving_cell_tac, Some(Size::range(3, 3)))?;
        if let Some(v) = &self.n_g_ranaccess_point_position {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.measured_results {
            e.count((*v).len(), Some(Size::range(1, 64)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_n_g_ranaccess_point_position = d.bit()?;
        let has_measured_results = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let serving_cell_id = NgRanCgi::decode(d)?;
        let serving_cell_tac = d.octet_string(Some(Size::range(3, 3)))?;
        let n_g_ranaccess_point_position =
            if has_n_g_ranaccess_point_position { Some(NgRanAccessPointPosition::decode(d)?) } else { None };
        let measured_results = if has_measured_results {
            Some({
                let count = d.count(Some(Size::range(1, 64)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(MeasuredResultsValue::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        let i_e_extensions = if has_i_e_extensions {
            Some(ECidMeasurementResultIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ECidMeasurementResult {
            serving_cell_id,
            serving_cell_tac,
            n_g_ranaccess_point_position,
            measured_results,
            i_e_extensions,
        })
    }
}

/// `E-CIDMeasurementReport`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ECidMeasurementReport {
    /// `UE-Measurement-ID`, `UE-Measurement-ID`: INTEGER (1..15, …); information element 2, reject
    pub ue_measurement_id: i64,
    /// `UE-Measurement-ID`, `UE-Measurement-ID`: INTEGER (1..15, …); information element 6, reject
    pub ue_measurement_id_: i64,
    /// `E-CID-MeasurementResult`; information element 7, ignore
    pub e_cid_measurement_result: ECidMeasurementResult,
    /// `Cell-Portion-ID`, `Cell-Portion-ID`: INTEGER (0..4095, …); information element 14, ignore
    pub cell_portion_id: Option<i64>,
}
impl ECidMeasurementReport {
    pub(crate) fn count(&self) -> usize {
        1 + 1 + 1 + usize::from(self.cell_portion_id.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 2, 0)?;
        e.open(|e| {
            e.extensible(self.ue_measurement_id.into(), 1, 15)?;
            Ok(())
        })?;
        element(e, 6, 0)?;
        e.open(|e| {
            e.extensible(self.ue_measurement_id_.into(), 1, 15)?;
            Ok(())
        })?;
        element(e, 7, 1)?;
        e.open(|e| {
            self.e_cid_measurement_result.encode(e)?;
            Ok(())
        })?;
        if let Some(v) = &self.cell_portion_id {
            element(e, 14, 1)?;
            e.open(|e| {
                e.extensible((*v).into(), 0, 4095)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut ue_measurement_id = None;
        let mut ue_measurement_id_ = None;
        let mut e_cid_measurement_result = None;
        let mut cell_portion_id = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                2 => {
                    ue_measurement_id =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 15)?).map_err(|_| DecodeError::Range)?))?)
                }
                6 => {
                    ue_measurement_id_ =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 15)?).map_err(|_| DecodeError::Range)?))?)
                }
                7 => e_cid_measurement_result = Some(d.open(|d| Ok(ECidMeasurementResult::decode(d)?))?),
                14 => {
                    cell_portion_id =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(0, 4095)?).map_err(|_| DecodeError::Range)?))?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ECidMeasurementReport {
            ue_measurement_id: ue_measurement_id.ok_or(DecodeError::Missing(2))?,
            ue_measurement_id_: ue_measurement_id_.ok_or(DecodeError::Missing(6))?,
            e_cid_measurement_result: e_cid_measurement_result.ok_or(DecodeError::Missing(7))?,
            cell_portion_id,
        })
    }
}

/// `E-CIDMeasurementTerminationCommand`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ECidMeasurementTerminationCommand {
    /// `UE-Measurement-ID`, `UE-Measurement-ID`: INTEGER (1..15, …); information element 2, reject
    pub ue_measurement_id: i64,
    /// `UE-Measurement-ID`, `UE-Measurement-ID`: INTEGER (1..15, …); information element 6, reject
    pub ue_measurement_id_: i64,
}
impl ECidMeasurementTerminationCommand {
    pub(crate) fn count(&self) -> usize {
        1 + 1
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 2, 0)?;
        e.open(|e| {
            e.extensible(self.ue_measurement_id.into(), 1, 15)?;
            Ok(())
        })?;
        element(e, 6, 0)?;
        e.open(|e| {
            e.extensible(self.ue_measurement_id_.into(), 1, 15)?;
            Ok(())
        })?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut ue_measurement_id = None;
        let mut ue_measurement_id_ = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                2 => {
                    ue_measurement_id =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 15)?).map_err(|_| DecodeError::Range)?))?)
                }
                6 => {
                    ue_measurement_id_ =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 15)?).map_err(|_| DecodeError::Range)?))?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ECidMeasurementTerminationCommand {
            ue_measurement_id: ue_measurement_id.ok_or(DecodeError::Missing(2))?,
            ue_measurement_id_: ue_measurement_id_.ok_or(DecodeError::Missing(6))?,
        })
    }
}

/// `TriggeringMessage`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TriggeringMessage {
    /// `initiating-message`
    #[default]
    InitiatingMessage,
    /// `successful-outcome`
    SuccessfulOutcome,
    /// `unsuccessful-outcome`
    UnsuccessfulOutcome,
}
impl TriggeringMessage {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TriggeringMessage::InitiatingMessage => 0,
                TriggeringMessage::SuccessfulOutcome => 1,
                TriggeringMessage::UnsuccessfulOutcome => 2,
            },
            3,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => TriggeringMessage::InitiatingMessage,
            1 => TriggeringMessage::SuccessfulOutcome,
            2 => TriggeringMessage::UnsuccessfulOutcome,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `Criticality`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Criticality {
    /// `reject`
    #[default]
    Reject,
    /// `ignore`
    Ignore,
    /// `notify`
    Notify,
}
impl Criticality {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                Criticality::Reject => 0,
                Criticality::Ignore => 1,
                Criticality::Notify => 2,
            },
            3,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => Criticality::Reject,
            1 => Criticality::Ignore,
            2 => Criticality::Notify,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `TypeOfError`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TypeOfError {
    /// `not-understood`
    #[default]
    NotUnderstood,
    /// `missing`
    Missing,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TypeOfError {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TypeOfError::NotUnderstood => 0,
                TypeOfError::Missing => 1,
                TypeOfError::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => TypeOfError::NotUnderstood,
            1 => TypeOfError::Missing,
            other => TypeOfError::Other(other),
        })
    }
}

/// `CriticalityDiagnostics-iEsCriticalityDiagnosticsItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CriticalityDiagnosticsIEsCriticalityDiagnosticsItem {
    /// `iECriticality`
    pub i_ecriticality: Criticality,
    /// `iE-ID`, `ProtocolIE-ID`: INTEGER (0..65535)
    pub i_e_id: u16,
    /// `typeOfError`
    pub type_of_error: TypeOfError,
}
impl CriticalityDiagnosticsIEsCriticalityDiagnosticsItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.i_ecriticality.encode(e)?;
        e.constrained(self.i_e_id.into(), 0, 65535)?;
        self.type_of_error.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let i_ecriticality = Criticality::decode(d)?;
        let i_e_id = d.constrained(0, 65535)? as u16;
        let type_of_error = TypeOfError::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(CriticalityDiagnosticsIEsCriticalityDiagnosticsItem { i_ecriticality, i_e_id, type_of_error })
    }
}

/// `CriticalityDiagnostics`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CriticalityDiagnostics {
    /// `procedureCode`, `ProcedureCode`: INTEGER (0..255)
    pub procedure_code: Option<u8>,
    /// `triggeringMessage`
    pub triggering_message: Option<TriggeringMessage>,
    /// `procedureCriticality`
    pub procedure_criticality: Option<Criticality>,
    /// `nrppatransactionID`, `NRPPATransactionID`: INTEGER (0..32767)
    pub nrppatransaction_id: Option<u16>,
    /// `iEsCriticalityDiagnostics`: SEQUENCE OF (SIZE (1..256))
    pub i_es_criticality_diagnostics: Option<Vec<CriticalityDiagnosticsIEsCriticalityDiagnosticsItem>>,
}
impl CriticalityDiagnostics {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.procedure_code.is_some());
        e.bit(self.triggering_message.is_some());
        e.bit(self.procedure_criticality.is_some());
        e.bit(self.nrppatransaction_id.is_some());
        e.bit(self.i_es_criticality_diagnostics.is_some());
        e.bit(false);
        if let Some(v) = &self.procedure_code {
            e.constrained((*v).into(), 0, 255)?;
        }
        if let Some(v) = &self.triggering_message {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.procedure_criticality {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.nrppatransaction_id {
            e.constrained((*v).into(), 0, 32767)?;
        }
        if let Some(v) = &self.i_es_criticality_diagnostics {
            e.count((*v).len(), Some(Size::range(1, 256)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_procedure_code = d.bit()?;
        let has_triggering_message = d.bit()?;
        let has_procedure_criticality = d.bit()?;
        let has_nrppatransaction_id = d.bit()?;
        let has_i_es_criticality_diagnostics = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let procedure_code = if has_procedure_code { Some(d.constrained(0, 255)? as u8) } else { None };
        let triggering_message = if has_triggering_message { Some(TriggeringMessage::decode(d)?) } else { None };
        let procedure_criticality = if has_procedure_criticality { Some(Criticality::decode(d)?) } else { None };
        let nrppatransaction_id = if has_nrppatransaction_id { Some(d.constrained(0, 32767)? as u16) } else { None };
        let i_es_criticality_diagnostics = if has_i_es_criticality_diagnostics {
            Some({
                let count = d.count(Some(Size::range(1, 256)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(CriticalityDiagnosticsIEsCriticalityDiagnosticsItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(CriticalityDiagnostics {
            procedure_code,
            triggering_message,
            procedure_criticality,
            nrppatransaction_id,
            i_es_criticality_diagnostics,
        })
    }
}

/// `ErrorIndication`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ErrorIndication {
    /// `Cause`; information element 0, ignore
    pub cause: Option<Cause>,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
}
impl ErrorIndication {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.cause.is_some()) + usize::from(self.criticality_diagnostics.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        if let Some(v) = &self.cause {
            element(e, 0, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut cause = None;
        let mut criticality_diagnostics = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                0 => cause = Some(d.open(|d| Ok(Cause::decode(d)?))?),
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ErrorIndication { cause, criticality_diagnostics })
    }
}

/// `BroadcastPeriodicity`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BroadcastPeriodicity {
    /// `ms80`
    #[default]
    Ms80,
    /// `ms160`
    Ms160,
    /// `ms320`
    Ms320,
    /// `ms640`
    Ms640,
    /// `ms1280`
    Ms1280,
    /// `ms2560`
    Ms2560,
    /// `ms5120`
    Ms5120,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl BroadcastPeriodicity {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                BroadcastPeriodicity::Ms80 => 0,
                BroadcastPeriodicity::Ms160 => 1,
                BroadcastPeriodicity::Ms320 => 2,
                BroadcastPeriodicity::Ms640 => 3,
                BroadcastPeriodicity::Ms1280 => 4,
                BroadcastPeriodicity::Ms2560 => 5,
                BroadcastPeriodicity::Ms5120 => 6,
                BroadcastPeriodicity::Other(index) => index,
            },
            7,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(7, true)? {
            0 => BroadcastPeriodicity::Ms80,
            1 => BroadcastPeriodicity::Ms160,
            2 => BroadcastPeriodicity::Ms320,
            3 => BroadcastPeriodicity::Ms640,
            4 => BroadcastPeriodicity::Ms1280,
            5 => BroadcastPeriodicity::Ms2560,
            6 => BroadcastPeriodicity::Ms5120,
            other => BroadcastPeriodicity::Other(other),
        })
    }
}

/// `PosSIB-Type`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PosSibType {
    /// `posSibType1-1`
    #[default]
    PosSibType1_1,
    /// `posSibType1-2`
    PosSibType1_2,
    /// `posSibType1-3`
    PosSibType1_3,
    /// `posSibType1-4`
    PosSibType1_4,
    /// `posSibType1-5`
    PosSibType1_5,
    /// `posSibType1-6`
    PosSibType1_6,
    /// `posSibType1-7`
    PosSibType1_7,
    /// `posSibType1-8`
    PosSibType1_8,
    /// `posSibType2-1`
    PosSibType2_1,
    /// `posSibType2-2`
    PosSibType2_2,
    /// `posSibType2-3`
    PosSibType2_3,
    /// `posSibType2-4`
    PosSibType2_4,
    /// `posSibType2-5`
    PosSibType2_5,
    /// `posSibType2-6`
    PosSibType2_6,
    /// `posSibType2-7`
    PosSibType2_7,
    /// `posSibType2-8`
    PosSibType2_8,
    /// `posSibType2-9`
    PosSibType2_9,
    /// `posSibType2-10`
    PosSibType2_10,
    /// `posSibType2-11`
    PosSibType2_11,
    /// `posSibType2-12`
    PosSibType2_12,
    /// `posSibType2-13`
    PosSibType2_13,
    /// `posSibType2-14`
    PosSibType2_14,
    /// `posSibType2-15`
    PosSibType2_15,
    /// `posSibType2-16`
    PosSibType2_16,
    /// `posSibType2-17`
    PosSibType2_17,
    /// `posSibType2-18`
    PosSibType2_18,
    /// `posSibType2-19`
    PosSibType2_19,
    /// `posSibType2-20`
    PosSibType2_20,
    /// `posSibType2-21`
    PosSibType2_21,
    /// `posSibType2-22`
    PosSibType2_22,
    /// `posSibType2-23`
    PosSibType2_23,
    /// `posSibType2-24`
    PosSibType2_24,
    /// `posSibType2-25`
    PosSibType2_25,
    /// `posSibType3-1`
    PosSibType3_1,
    /// `posSibType4-1`
    PosSibType4_1,
    /// `posSibType5-1`
    PosSibType5_1,
    /// `posSibType6-1`
    PosSibType6_1,
    /// `posSibType6-2`
    PosSibType6_2,
    /// `posSibType6-3`
    PosSibType6_3,
    /// `posSibType1-9`
    PosSibType1_9,
    /// `posSibType1-10`
    PosSibType1_10,
    /// `posSibType6-4`
    PosSibType6_4,
    /// `posSibType6-5`
    PosSibType6_5,
    /// `posSibType6-6`
    PosSibType6_6,
    /// `posSibType1-11`
    PosSibType1_11,
    /// `posSibType1-12`
    PosSibType1_12,
    /// `posSibType2-17a`
    PosSibType2_17A,
    /// `posSibType2-18a`
    PosSibType2_18A,
    /// `posSibType2-20a`
    PosSibType2_20A,
    /// `posSibType2-26`
    PosSibType2_26,
    /// `posSibType2-27`
    PosSibType2_27,
    /// `posSibType6-7`
    PosSibType6_7,
    /// `posSibType7-1`
    PosSibType7_1,
    /// `posSibType7-2`
    PosSibType7_2,
    /// `posSibType7-3`
    PosSibType7_3,
    /// `posSibType7-4`
    PosSibType7_4,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl PosSibType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PosSibType::PosSibType1_1 => 0,
                PosSibType::PosSibType1_2 => 1,
                PosSibType::PosSibType1_3 => 2,
                PosSibType::PosSibType1_4 => 3,
                PosSibType::PosSibType1_5 => 4,
                PosSibType::PosSibType1_6 => 5,
                PosSibType::PosSibType1_7 => 6,
                PosSibType::PosSibType1_8 => 7,
                PosSibType::PosSibType2_1 => 8,
                PosSibType::PosSibType2_2 => 9,
                PosSibType::PosSibType2_3 => 10,
                PosSibType::PosSibType2_4 => 11,
                PosSibType::PosSibType2_5 => 12,
                PosSibType::PosSibType2_6 => 13,
                PosSibType::PosSibType2_7 => 14,
                PosSibType::PosSibType2_8 => 15,
                PosSibType::PosSibType2_9 => 16,
                PosSibType::PosSibType2_10 => 17,
                PosSibType::PosSibType2_11 => 18,
                PosSibType::PosSibType2_12 => 19,
                PosSibType::PosSibType2_13 => 20,
                PosSibType::PosSibType2_14 => 21,
                PosSibType::PosSibType2_15 => 22,
                PosSibType::PosSibType2_16 => 23,
                PosSibType::PosSibType2_17 => 24,
                PosSibType::PosSibType2_18 => 25,
                PosSibType::PosSibType2_19 => 26,
                PosSibType::PosSibType2_20 => 27,
                PosSibType::PosSibType2_21 => 28,
                PosSibType::PosSibType2_22 => 29,
                PosSibType::PosSibType2_23 => 30,
                PosSibType::PosSibType2_24 => 31,
                PosSibType::PosSibType2_25 => 32,
                PosSibType::PosSibType3_1 => 33,
                PosSibType::PosSibType4_1 => 34,
                PosSibType::PosSibType5_1 => 35,
                PosSibType::PosSibType6_1 => 36,
                PosSibType::PosSibType6_2 => 37,
                PosSibType::PosSibType6_3 => 38,
                PosSibType::PosSibType1_9 => 39,
                PosSibType::PosSibType1_10 => 40,
                PosSibType::PosSibType6_4 => 41,
                PosSibType::PosSibType6_5 => 42,
                PosSibType::PosSibType6_6 => 43,
                PosSibType::PosSibType1_11 => 44,
                PosSibType::PosSibType1_12 => 45,
                PosSibType::PosSibType2_17A => 46,
                PosSibType::PosSibType2_18A => 47,
                PosSibType::PosSibType2_20A => 48,
                PosSibType::PosSibType2_26 => 49,
                PosSibType::PosSibType2_27 => 50,
                PosSibType::PosSibType6_7 => 51,
                PosSibType::PosSibType7_1 => 52,
                PosSibType::PosSibType7_2 => 53,
                PosSibType::PosSibType7_3 => 54,
                PosSibType::PosSibType7_4 => 55,
                PosSibType::Other(index) => index,
            },
            39,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(39, true)? {
            0 => PosSibType::PosSibType1_1,
            1 => PosSibType::PosSibType1_2,
            2 => PosSibType::PosSibType1_3,
            3 => PosSibType::PosSibType1_4,
            4 => PosSibType::PosSibType1_5,
            5 => PosSibType::PosSibType1_6,
            6 => PosSibType::PosSibType1_7,
            7 => PosSibType::PosSibType1_8,
            8 => PosSibType::PosSibType2_1,
            9 => PosSibType::PosSibType2_2,
            10 => PosSibType::PosSibType2_3,
            11 => PosSibType::PosSibType2_4,
            12 => PosSibType::PosSibType2_5,
            13 => PosSibType::PosSibType2_6,
            14 => PosSibType::PosSibType2_7,
            15 => PosSibType::PosSibType2_8,
            16 => PosSibType::PosSibType2_9,
            17 => PosSibType::PosSibType2_10,
            18 => PosSibType::PosSibType2_11,
            19 => PosSibType::PosSibType2_12,
            20 => PosSibType::PosSibType2_13,
            21 => PosSibType::PosSibType2_14,
            22 => PosSibType::PosSibType2_15,
            23 => PosSibType::PosSibType2_16,
            24 => PosSibType::PosSibType2_17,
            25 => PosSibType::PosSibType2_18,
            26 => PosSibType::PosSibType2_19,
            27 => PosSibType::PosSibType2_20,
            28 => PosSibType::PosSibType2_21,
            29 => PosSibType::PosSibType2_22,
            30 => PosSibType::PosSibType2_23,
            31 => PosSibType::PosSibType2_24,
            32 => PosSibType::PosSibType2_25,
            33 => PosSibType::PosSibType3_1,
            34 => PosSibType::PosSibType4_1,
            35 => PosSibType::PosSibType5_1,
            36 => PosSibType::PosSibType6_1,
            37 => PosSibType::PosSibType6_2,
            38 => PosSibType::PosSibType6_3,
            39 => PosSibType::PosSibType1_9,
            40 => PosSibType::PosSibType1_10,
            41 => PosSibType::PosSibType6_4,
            42 => PosSibType::PosSibType6_5,
            43 => PosSibType::PosSibType6_6,
            44 => PosSibType::PosSibType1_11,
            45 => PosSibType::PosSibType1_12,
            46 => PosSibType::PosSibType2_17A,
            47 => PosSibType::PosSibType2_18A,
            48 => PosSibType::PosSibType2_20A,
            49 => PosSibType::PosSibType2_26,
            50 => PosSibType::PosSibType2_27,
            51 => PosSibType::PosSibType6_7,
            52 => PosSibType::PosSibType7_1,
            53 => PosSibType::PosSibType7_2,
            54 => PosSibType::PosSibType7_3,
            55 => PosSibType::PosSibType7_4,
            other => PosSibType::Other(other),
        })
    }
}

/// `Assistance-Information-systemInformationItem-posSIBsItem-posSIB-SegmentsItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AssistanceInformationSystemInformationItemPosSiBsItemPosSibSegmentsItem {
    /// `assistanceDataSIBelement`: OCTET STRING
    pub assistance_data_sibelement: Vec<u8>,
}
impl AssistanceInformationSystemInformationItemPosSiBsItemPosSibSegmentsItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.octet_string(&self.assistance_data_sibelement, None)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let assistance_data_sibelement = d.octet_string(None)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(AssistanceInformationSystemInformationItemPosSiBsItemPosSibSegmentsItem { assistance_data_sibelement })
    }
}

/// `AssistanceInformationMetaData-encrypted`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AssistanceInformationMetaDataEncrypted {
    /// `true`
    #[default]
    True,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl AssistanceInformationMetaDataEncrypted {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                AssistanceInformationMetaDataEncrypted::True => 0,
                AssistanceInformationMetaDataEncrypted::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => AssistanceInformationMetaDataEncrypted::True,
            other => AssistanceInformationMetaDataEncrypted::Other(other),
        })
    }
}

/// `AssistanceInformationMetaData-gNSSID`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AssistanceInformationMetaDataGNssid {
    /// `gps`
    #[default]
    Gps,
    /// `sbas`
    Sbas,
    /// `qzss`
    Qzss,
    /// `galileo`
    Galileo,
    /// `glonass`
    Glonass,
    /// `bds`
    Bds,
    /// `navic`
    Navic,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl AssistanceInformationMetaDataGNssid {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                AssistanceInformationMetaDataGNssid::Gps => 0,
                AssistanceInformationMetaDataGNssid::Sbas => 1,
                AssistanceInformationMetaDataGNssid::Qzss => 2,
                AssistanceInformationMetaDataGNssid::Galileo => 3,
                AssistanceInformationMetaDataGNssid::Glonass => 4,
                AssistanceInformationMetaDataGNssid::Bds => 5,
                AssistanceInformationMetaDataGNssid::Navic => 6,
                AssistanceInformationMetaDataGNssid::Other(index) => index,
            },
            7,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(7, true)? {
            0 => AssistanceInformationMetaDataGNssid::Gps,
            1 => AssistanceInformationMetaDataGNssid::Sbas,
            2 => AssistanceInformationMetaDataGNssid::Qzss,
            3 => AssistanceInformationMetaDataGNssid::Galileo,
            4 => AssistanceInformationMetaDataGNssid::Glonass,
            5 => AssistanceInformationMetaDataGNssid::Bds,
            6 => AssistanceInformationMetaDataGNssid::Navic,
            other => AssistanceInformationMetaDataGNssid::Other(other),
        })
    }
}

/// `AssistanceInformationMetaData-sBASID`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AssistanceInformationMetaDataSBasid {
    /// `waas`
    #[default]
    Waas,
    /// `egnos`
    Egnos,
    /// `msas`
    Msas,
    /// `gagan`
    Gagan,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl AssistanceInformationMetaDataSBasid {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                AssistanceInformationMetaDataSBasid::Waas => 0,
                AssistanceInformationMetaDataSBasid::Egnos => 1,
                AssistanceInformationMetaDataSBasid::Msas => 2,
                AssistanceInformationMetaDataSBasid::Gagan => 3,
                AssistanceInformationMetaDataSBasid::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => AssistanceInformationMetaDataSBasid::Waas,
            1 => AssistanceInformationMetaDataSBasid::Egnos,
            2 => AssistanceInformationMetaDataSBasid::Msas,
            3 => AssistanceInformationMetaDataSBasid::Gagan,
            other => AssistanceInformationMetaDataSBasid::Other(other),
        })
    }
}

/// `AssistanceInformationMetaData`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AssistanceInformationMetaData {
    /// `encrypted`
    pub encrypted: Option<AssistanceInformationMetaDataEncrypted>,
    /// `gNSSID`
    pub g_nssid: Option<AssistanceInformationMetaDataGNssid>,
    /// `sBASID`
    pub s_basid: Option<AssistanceInformationMetaDataSBasid>,
}
impl AssistanceInformationMetaData {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.encrypted.is_some());
        e.bit(self.g_nssid.is_some());
        e.bit(self.s_basid.is_some());
        e.bit(false);
        if let Some(v) = &self.encrypted {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.g_nssid {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.s_basid {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_encrypted = d.bit()?;
        let has_g_nssid = d.bit()?;
        let has_s_basid = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let encrypted = if has_encrypted { Some(AssistanceInformationMetaDataEncrypted::decode(d)?) } else { None };
        let g_nssid = if has_g_nssid { Some(AssistanceInformationMetaDataGNssid::decode(d)?) } else { None };
        let s_basid = if has_s_basid { Some(AssistanceInformationMetaDataSBasid::decode(d)?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(AssistanceInformationMetaData { encrypted, g_nssid, s_basid })
    }
}

/// `Assistance-Information-systemInformationItem-posSIBsItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AssistanceInformationSystemInformationItemPosSiBsItem {
    /// `posSIB-Type`
    pub pos_sib_type: PosSibType,
    /// `posSIB-Segments`: SEQUENCE OF (SIZE (1..64))
    pub pos_sib_segments: Vec<AssistanceInformationSystemInformationItemPosSiBsItemPosSibSegmentsItem>,
    /// `assistanceInformationMetaData`
    pub assistance_information_meta_data: Option<AssistanceInformationMetaData>,
    /// `broadcastPriority`: INTEGER (1..16, …)
    pub broadcast_priority: Option<i64>,
}
impl AssistanceInformationSystemInformationItemPosSiBsItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.assistance_information_meta_data.is_some());
        e.bit(self.broadcast_priority.is_some());
        e.bit(false);
        self.pos_sib_type.encode(e)?;
        e.count(self.pos_sib_segments.len(), Some(Size::range(1, 64)))?;
        for v in &self.pos_sib_segments {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.assistance_information_meta_data {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.broadcast_priority {
            e.extensible((*v).into(), 1, 16)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_assistance_information_meta_data = d.bit()?;
        let has_broadcast_priority = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let pos_sib_type = PosSibType::decode(d)?;
        let pos_sib_segments = {
            let count = d.count(Some(Size::range(1, 64)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(AssistanceInformationSystemInformationItemPosSiBsItemPosSibSegmentsItem::decode(d)?);
            }
            list
        };
        let assistance_information_meta_data =
            if has_assistance_information_meta_data { Some(AssistanceInformationMetaData::decode(d)?) } else { None };
        let broadcast_priority = if has_broadcast_priority {
            Some(i64::try_from(d.extensible(1, 16)?).map_err(|_| DecodeError::Range)?)
        } else {
            None
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(AssistanceInformationSystemInformationItemPosSiBsItem {
            pos_sib_type,
            pos_sib_segments,
            assistance_information_meta_data,
            broadcast_priority,
        })
    }
}

/// `Assistance-Information-systemInformationItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AssistanceInformationSystemInformationItem {
    /// `broadcastPeriodicity`
    pub broadcast_periodicity: BroadcastPeriodicity,
    /// `posSIBs`: SEQUENCE OF (SIZE (1..32))
    pub pos_sibs: Vec<AssistanceInformationSystemInformationItemPosSiBsItem>,
}
impl AssistanceInformationSystemInformationItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.broadcast_periodicity.encode(e)?;
        e.count(self.pos_sibs.len(), Some(Size::range(1, 32)))?;
        for v in &self.pos_sibs {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let broadcast_periodicity = BroadcastPeriodicity::decode(d)?;
        let pos_sibs = {
            let count = d.count(Some(Size::range(1, 32)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(AssistanceInformationSystemInformationItemPosSiBsItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(AssistanceInformationSystemInformationItem { broadcast_periodicity, pos_sibs })
    }
}

/// `Assistance-Information`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AssistanceInformation {
    /// `systemInformation`: SEQUENCE OF (SIZE (1..32))
    pub system_information: Vec<AssistanceInformationSystemInformationItem>,
}
impl AssistanceInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.count(self.system_information.len(), Some(Size::range(1, 32)))?;
        for v in &self.system_information {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let system_information = {
            let count = d.count(Some(Size::range(1, 32)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(AssistanceInformationSystemInformationItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(AssistanceInformation { system_information })
    }
}

/// `Broadcast`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Broadcast {
    /// `start`
    #[default]
    Start,
    /// `stop`
    Stop,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl Broadcast {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                Broadcast::Start => 0,
                Broadcast::Stop => 1,
                Broadcast::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => Broadcast::Start,
            1 => Broadcast::Stop,
            other => Broadcast::Other(other),
        })
    }
}

/// `AssistanceInformationControl`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AssistanceInformationControl {
    /// `Assistance-Information`; information element 23, reject
    pub assistance_information: Option<AssistanceInformation>,
    /// `Broadcast`; information element 24, reject
    pub broadcast: Option<Broadcast>,
    /// `PositioningBroadcastCells`: SEQUENCE OF (SIZE (1..16384)); information element 38, reject
    pub positioning_broadcast_cells: Option<Vec<NgRanCgi>>,
}
impl AssistanceInformationControl {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.assistance_information.is_some())
            + usize::from(self.broadcast.is_some())
            + usize::from(self.positioning_broadcast_cells.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        if let Some(v) = &self.assistance_information {
            element(e, 23, 0)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.broadcast {
            element(e, 24, 0)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.positioning_broadcast_cells {
            element(e, 38, 0)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 16384)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut assistance_information = None;
        let mut broadcast = None;
        let mut positioning_broadcast_cells = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                23 => assistance_information = Some(d.open(|d| Ok(AssistanceInformation::decode(d)?))?),
                24 => broadcast = Some(d.open(|d| Ok(Broadcast::decode(d)?))?),
                38 => {
                    positioning_broadcast_cells = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 16384)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(NgRanCgi::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(AssistanceInformationControl { assistance_information, broadcast, positioning_broadcast_cells })
    }
}

/// `Outcome`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outcome {
    /// `failed`
    #[default]
    Failed,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl Outcome {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                Outcome::Failed => 0,
                Outcome::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => Outcome::Failed,
            other => Outcome::Other(other),
        })
    }
}

/// `AssistanceInformationFeedback-assistance_information_failure_listItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AssistanceInformationFeedbackAssistanceInformationFailureListItem {
    /// `posSIB-Type`
    pub pos_sib_type: PosSibType,
    /// `outcome`
    pub outcome: Outcome,
}
impl AssistanceInformationFeedbackAssistanceInformationFailureListItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.pos_sib_type.encode(e)?;
        self.outcome.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let pos_sib_type = PosSibType::decode(d)?;
        let outcome = Outcome::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(AssistanceInformationFeedbackAssistanceInformationFailureListItem { pos_sib_type, outcome })
    }
}

/// `AssistanceInformationFeedback`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AssistanceInformationFeedback {
    /// `AssistanceInformationFailureList`: SEQUENCE OF (SIZE (1..32)); information element 25, reject
    pub assistance_information_failure_list:
        Option<Vec<AssistanceInformationFeedbackAssistanceInformationFailureListItem>>,
    /// `PositioningBroadcastCells`: SEQUENCE OF (SIZE (1..16384)); information element 38, reject
    pub positioning_broadcast_cells: Option<Vec<NgRanCgi>>,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
}
impl AssistanceInformationFeedback {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.assistance_information_failure_list.is_some())
            + usize::from(self.positioning_broadcast_cells.is_some())
            + usize::from(self.criticality_diagnostics.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        if let Some(v) = &self.assistance_information_failure_list {
            element(e, 25, 0)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 32)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.positioning_broadcast_cells {
            element(e, 38, 0)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 16384)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut assistance_information_failure_list = None;
        let mut positioning_broadcast_cells = None;
        let mut criticality_diagnostics = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                25 => {
                    assistance_information_failure_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 32)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(AssistanceInformationFeedbackAssistanceInformationFailureListItem::decode(
                                    d,
                                )?);
                            }
                            list
                        })
                    })?)
                }
                38 => {
                    positioning_broadcast_cells = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 16384)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(NgRanCgi::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(AssistanceInformationFeedback {
            assistance_information_failure_list,
            positioning_broadcast_cells,
            criticality_diagnostics,
        })
    }
}

/// `CarrierFreq`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CarrierFreq {
    /// `pointA`: INTEGER (0..3279165)
    pub point_a: u32,
    /// `offsetToCarrier`: INTEGER (0..2199, …)
    pub offset_to_carrier: i64,
}
impl CarrierFreq {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.point_a.into(), 0, 3279165)?;
        e.extensible(self.offset_to_carrier.into(), 0, 2199)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let point_a = d.constrained(0, 3279165)? as u32;
        let offset_to_carrier = i64::try_from(d.extensible(0, 2199)?).map_err(|_| DecodeError::Range)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(CarrierFreq { point_a, offset_to_carrier })
    }
}

/// `TimingErrorMargin`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimingErrorMargin {
    /// `tc0`
    #[default]
    Tc0,
    /// `tc2`
    Tc2,
    /// `tc4`
    Tc4,
    /// `tc6`
    Tc6,
    /// `tc8`
    Tc8,
    /// `tc12`
    Tc12,
    /// `tc16`
    Tc16,
    /// `tc20`
    Tc20,
    /// `tc24`
    Tc24,
    /// `tc32`
    Tc32,
    /// `tc40`
    Tc40,
    /// `tc48`
    Tc48,
    /// `tc56`
    Tc56,
    /// `tc64`
    Tc64,
    /// `tc72`
    Tc72,
    /// `tc80`
    Tc80,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TimingErrorMargin {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TimingErrorMargin::Tc0 => 0,
                TimingErrorMargin::Tc2 => 1,
                TimingErrorMargin::Tc4 => 2,
                TimingErrorMargin::Tc6 => 3,
                TimingErrorMargin::Tc8 => 4,
                TimingErrorMargin::Tc12 => 5,
                TimingErrorMargin::Tc16 => 6,
                TimingErrorMargin::Tc20 => 7,
                TimingErrorMargin::Tc24 => 8,
                TimingErrorMargin::Tc32 => 9,
                TimingErrorMargin::Tc40 => 10,
                TimingErrorMargin::Tc48 => 11,
                TimingErrorMargin::Tc56 => 12,
                TimingErrorMargin::Tc64 => 13,
                TimingErrorMargin::Tc72 => 14,
                TimingErrorMargin::Tc80 => 15,
                TimingErrorMargin::Other(index) => index,
            },
            16,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(16, true)? {
            0 => TimingErrorMargin::Tc0,
            1 => TimingErrorMargin::Tc2,
            2 => TimingErrorMargin::Tc4,
            3 => TimingErrorMargin::Tc6,
            4 => TimingErrorMargin::Tc8,
            5 => TimingErrorMargin::Tc12,
            6 => TimingErrorMargin::Tc16,
            7 => TimingErrorMargin::Tc20,
            8 => TimingErrorMargin::Tc24,
            9 => TimingErrorMargin::Tc32,
            10 => TimingErrorMargin::Tc40,
            11 => TimingErrorMargin::Tc48,
            12 => TimingErrorMargin::Tc56,
            13 => TimingErrorMargin::Tc64,
            14 => TimingErrorMargin::Tc72,
            15 => TimingErrorMargin::Tc80,
            other => TimingErrorMargin::Other(other),
        })
    }
}

/// The information elements of `UETxTEGAssociationItem-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UeTxTegAssociationItemIEExtensions {
    /// `TimingErrorMargin`; information element 104, ignore
    pub timing_error_margin: Option<TimingErrorMargin>,
}
impl UeTxTegAssociationItemIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.timing_error_margin.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.timing_error_margin {
            element(e, 104, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut timing_error_margin = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                104 => timing_error_margin = Some(d.open(|d| Ok(TimingErrorMargin::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(UeTxTegAssociationItemIEExtensions { timing_error_margin })
    }
}

/// `UETxTEGAssociationItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UeTxTegAssociationItem {
    /// `uE-Tx-TEG-ID`: INTEGER (0..7)
    pub u_e_tx_teg_id: u8,
    /// `posSRSResourceID-List`: SEQUENCE OF (SIZE (1..64))
    pub pos_srsresource_id_list: Vec<u8>,
    /// `timeStamp`
    pub time_stamp: TimeStamp,
    /// `carrierFreq`
    pub carrier_freq: Option<CarrierFreq>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<UeTxTegAssociationItemIEExtensions>,
}
impl UeTxTegAssociationItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.carrier_freq.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        e.constrained(self.u_e_tx_teg_id.into(), 0, 7)?;
        e.count(self.pos_srsresource_id_list.len(), Some(Size::range(1, 64)))?;
        for v in &self.pos_srsresource_id_list {
            e.constrained((*v).into(), 0, 63)?;
        }
        self.time_stamp.encode(e)?;
        if let Some(v) = &self.carrier_freq {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_carrier_freq = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let u_e_tx_teg_id = d.constrained(0, 7)? as u8;
        let pos_srsresource_id_list = {
            let count = d.count(Some(Size::range(1, 64)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(d.constrained(0, 63)? as u8);
            }
            list
        };
        let time_stamp = TimeStamp::decode(d)?;
        let carrier_freq = if has_carrier_freq { Some(CarrierFreq::decode(d)?) } else { None };
        let i_e_extensions = if has_i_e_extensions {
            Some(UeTxTegAssociationItemIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(UeTxTegAssociationItem { u_e_tx_teg_id, pos_srsresource_id_list, time_stamp, carrier_freq, i_e_extensions })
    }
}

/// `SRSTransmissionStatus`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SrsTransmissionStatus {
    /// `stopped`
    #[default]
    Stopped,
    /// `area-specific-SRS-activated`
    AreaSpecificSrsActivated,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl SrsTransmissionStatus {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                SrsTransmissionStatus::Stopped => 0,
                SrsTransmissionStatus::AreaSpecificSrsActivated => 1,
                SrsTransmissionStatus::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => SrsTransmissionStatus::Stopped,
            1 => SrsTransmissionStatus::AreaSpecificSrsActivated,
            other => SrsTransmissionStatus::Other(other),
        })
    }
}

/// `Remote-UE-Status`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RemoteUeStatus {
    /// `l2-u2n-remote-ue`
    #[default]
    L2U2NRemoteUe,
    /// `no`
    No,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl RemoteUeStatus {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                RemoteUeStatus::L2U2NRemoteUe => 0,
                RemoteUeStatus::No => 1,
                RemoteUeStatus::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => RemoteUeStatus::L2U2NRemoteUe,
            1 => RemoteUeStatus::No,
            other => RemoteUeStatus::Other(other),
        })
    }
}

/// `PositioningInformationUpdate`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PositioningInformationUpdate {
    /// `SRSConfiguration`; information element 26, ignore
    pub srsconfiguration: Option<SrsConfiguration>,
    /// `RelativeTime1900`, `RelativeTime1900`: BIT STRING (SIZE (64..64)); information element 54, ignore
    pub relative_time1900: Option<BitString>,
    /// `UETxTEGAssociationList`: SEQUENCE OF (SIZE (1..256)); information element 81, ignore
    pub uetx_tegassociation_list: Option<Vec<UeTxTegAssociationItem>>,
    /// `SRSTransmissionStatus`; information element 106, ignore
    pub srstransmission_status: Option<SrsTransmissionStatus>,
    /// `CGI-NR`; information element 134, ignore
    pub cgi_nr: Option<CgiNr>,
    /// `Remote-UE-Status`; information element 161, ignore
    pub remote_ue_status: Option<RemoteUeStatus>,
}
impl PositioningInformationUpdate {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.srsconfiguration.is_some())
            + usize::from(self.relative_time1900.is_some())
            + usize::from(self.uetx_tegassociation_list.is_some())
            + usize::from(self.srstransmission_status.is_some())
            + usize::from(self.cgi_nr.is_some())
            + usize::from(self.remote_ue_status.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        if let Some(v) = &self.srsconfiguration {
            element(e, 26, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.relative_time1900 {
            element(e, 54, 1)?;
            e.open(|e| {
                e.bit_string(&(*v), Some(Size::range(64, 64)))?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.uetx_tegassociation_list {
            element(e, 81, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 256)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.srstransmission_status {
            element(e, 106, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.cgi_nr {
            element(e, 134, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.remote_ue_status {
            element(e, 161, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut srsconfiguration = None;
        let mut relative_time1900 = None;
        let mut uetx_tegassociation_list = None;
        let mut srstransmission_status = None;
        let mut cgi_nr = None;
        let mut remote_ue_status = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                26 => srsconfiguration = Some(d.open(|d| Ok(SrsConfiguration::decode(d)?))?),
                54 => relative_time1900 = Some(d.open(|d| Ok(d.bit_string(Some(Size::range(64, 64)))?))?),
                81 => {
                    uetx_tegassociation_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 256)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(UeTxTegAssociationItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                106 => srstransmission_status = Some(d.open(|d| Ok(SrsTransmissionStatus::decode(d)?))?),
                134 => cgi_nr = Some(d.open(|d| Ok(CgiNr::decode(d)?))?),
                161 => remote_ue_status = Some(d.open(|d| Ok(RemoteUeStatus::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PositioningInformationUpdate {
            srsconfiguration,
            relative_time1900,
            uetx_tegassociation_list,
            srstransmission_status,
            cgi_nr,
            remote_ue_status,
        })
    }
}

/// One information element: `ULRTOAMeas-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum UlrtoaMeasChoiceExtension {
    /// `ReportingGranularitykminus1`, `ReportingGranularitykminus1`: INTEGER (0..3940097)
    ReportingGranularitykminus1(u32),
    /// `ReportingGranularitykminus2`, `ReportingGranularitykminus2`: INTEGER (0..7880193)
    ReportingGranularitykminus2(u32),
    /// `ReportingGranularitykminus3`, `ReportingGranularitykminus3`: INTEGER (0..15760385)
    ReportingGranularitykminus3(u32),
    /// `ReportingGranularitykminus4`, `ReportingGranularitykminus4`: INTEGER (0..31520769)
    ReportingGranularitykminus4(u32),
    /// `ReportingGranularitykminus5`, `ReportingGranularitykminus5`: INTEGER (0..63041537)
    ReportingGranularitykminus5(u32),
    /// `ReportingGranularitykminus6`, `ReportingGranularitykminus6`: INTEGER (0..126083073)
    ReportingGranularitykminus6(u32),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for UlrtoaMeasChoiceExtension {
    fn default() -> Self {
        UlrtoaMeasChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl UlrtoaMeasChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            UlrtoaMeasChoiceExtension::ReportingGranularitykminus1(v) => {
                element(e, 141, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 3940097)?;
                    Ok(())
                })?;
            }
            UlrtoaMeasChoiceExtension::ReportingGranularitykminus2(v) => {
                element(e, 142, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 7880193)?;
                    Ok(())
                })?;
            }
            UlrtoaMeasChoiceExtension::ReportingGranularitykminus3(v) => {
                element(e, 143, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 15760385)?;
                    Ok(())
                })?;
            }
            UlrtoaMeasChoiceExtension::ReportingGranularitykminus4(v) => {
                element(e, 144, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 31520769)?;
                    Ok(())
                })?;
            }
            UlrtoaMeasChoiceExtension::ReportingGranularitykminus5(v) => {
                element(e, 145, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 63041537)?;
                    Ok(())
                })?;
            }
            UlrtoaMeasChoiceExtension::ReportingGranularitykminus6(v) => {
                element(e, 146, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 126083073)?;
                    Ok(())
                })?;
            }
            UlrtoaMeasChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            141 => UlrtoaMeasChoiceExtension::ReportingGranularitykminus1(
                d.open(|d| Ok(d.constrained(0, 3940097)? as u32))?,
            ),
            142 => UlrtoaMeasChoiceExtension::ReportingGranularitykminus2(
                d.open(|d| Ok(d.constrained(0, 7880193)? as u32))?,
            ),
            143 => UlrtoaMeasChoiceExtension::ReportingGranularitykminus3(
                d.open(|d| Ok(d.constrained(0, 15760385)? as u32))?,
            ),
            144 => UlrtoaMeasChoiceExtension::ReportingGranularitykminus4(
                d.open(|d| Ok(d.constrained(0, 31520769)? as u32))?,
            ),
            145 => UlrtoaMeasChoiceExtension::ReportingGranularitykminus5(
                d.open(|d| Ok(d.constrained(0, 63041537)? as u32))?,
            ),
            146 => UlrtoaMeasChoiceExtension::ReportingGranularitykminus6(
                d.open(|d| Ok(d.constrained(0, 126083073)? as u32))?,
            ),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => UlrtoaMeasChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `ULRTOAMeas`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum UlrtoaMeas {
    /// `k0`: INTEGER (0..1970049)
    K0(u32),
    /// `k1`: INTEGER (0..985025)
    K1(u32),
    /// `k2`: INTEGER (0..492513)
    K2(u32),
    /// `k3`: INTEGER (0..246257)
    K3(u32),
    /// `k4`: INTEGER (0..123129)
    K4(u32),
    /// `k5`: INTEGER (0..61565)
    K5(u16),
    /// `choice-extension`
    ChoiceExtension(UlrtoaMeasChoiceExtension),
}
impl Default for UlrtoaMeas {
    fn default() -> Self {
        UlrtoaMeas::K0(Default::default())
    }
}
impl UlrtoaMeas {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            UlrtoaMeas::K0(v) => {
                e.index(0, 7, false)?;
                e.constrained((*v).into(), 0, 1970049)?;
            }
            UlrtoaMeas::K1(v) => {
                e.index(1, 7, false)?;
                e.constrained((*v).into(), 0, 985025)?;
            }
            UlrtoaMeas::K2(v) => {
                e.index(2, 7, false)?;
                e.constrained((*v).into(), 0, 492513)?;
            }
            UlrtoaMeas::K3(v) => {
                e.index(3, 7, false)?;
                e.constrained((*v).into(), 0, 246257)?;
            }
            UlrtoaMeas::K4(v) => {
                e.index(4, 7, false)?;
                e.constrained((*v).into(), 0, 123129)?;
            }
            UlrtoaMeas::K5(v) => {
                e.index(5, 7, false)?;
                e.constrained((*v).into(), 0, 61565)?;
            }
            UlrtoaMeas::ChoiceExtension(v) => {
                e.index(6, 7, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(7, false)? {
            0 => UlrtoaMeas::K0(d.constrained(0, 1970049)? as u32),
            1 => UlrtoaMeas::K1(d.constrained(0, 985025)? as u32),
            2 => UlrtoaMeas::K2(d.constrained(0, 492513)? as u32),
            3 => UlrtoaMeas::K3(d.constrained(0, 246257)? as u32),
            4 => UlrtoaMeas::K4(d.constrained(0, 123129)? as u32),
            5 => UlrtoaMeas::K5(d.constrained(0, 61565)? as u16),
            6 => UlrtoaMeas::ChoiceExtension(UlrtoaMeasChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// One information element: `RelativePathDelay-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum RelativePathDelayChoiceExtension {
    /// `ReportingGranularitykminus1AdditionalPath`, `ReportingGranularitykminus1AdditionalPath`: INTEGER (0..32701)
    ReportingGranularitykminus1AdditionalPath(u16),
    /// `ReportingGranularitykminus2AdditionalPath`, `ReportingGranularitykminus2AdditionalPath`: INTEGER (0..65401)
    ReportingGranularitykminus2AdditionalPath(u16),
    /// `ReportingGranularitykminus3AdditionalPath`, `ReportingGranularitykminus3AdditionalPath`: INTEGER (0..130801)
    ReportingGranularitykminus3AdditionalPath(u32),
    /// `ReportingGranularitykminus4AdditionalPath`, `ReportingGranularitykminus4AdditionalPath`: INTEGER (0..261601)
    ReportingGranularitykminus4AdditionalPath(u32),
    /// `ReportingGranularitykminus5AdditionalPath`, `ReportingGranularitykminus5AdditionalPath`: INTEGER (0..523201)
    ReportingGranularitykminus5AdditionalPath(u32),
    /// `ReportingGranularitykminus6AdditionalPath`, `ReportingGranularitykminus6AdditionalPath`: INTEGER (0..1046401)
    ReportingGranularitykminus6AdditionalPath(u32),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for RelativePathDelayChoiceExtension {
    fn default() -> Self {
        RelativePathDelayChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl RelativePathDelayChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            RelativePathDelayChoiceExtension::ReportingGranularitykminus1AdditionalPath(v) => {
                element(e, 147, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 32701)?;
                    Ok(())
                })?;
            }
            RelativePathDelayChoiceExtension::ReportingGranularitykminus2AdditionalPath(v) => {
                element(e, 148, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 65401)?;
                    Ok(())
                })?;
            }
            RelativePathDelayChoiceExtension::ReportingGranularitykminus3AdditionalPath(v) => {
                element(e, 149, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 130801)?;
                    Ok(())
                })?;
            }
            RelativePathDelayChoiceExtension::ReportingGranularitykminus4AdditionalPath(v) => {
                element(e, 150, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 261601)?;
                    Ok(())
                })?;
            }
            RelativePathDelayChoiceExtension::ReportingGranularitykminus5AdditionalPath(v) => {
                element(e, 151, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 523201)?;
                    Ok(())
                })?;
            }
            RelativePathDelayChoiceExtension::ReportingGranularitykminus6AdditionalPath(v) => {
                element(e, 152, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 1046401)?;
                    Ok(())
                })?;
            }
            RelativePathDelayChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            147 => RelativePathDelayChoiceExtension::ReportingGranularitykminus1AdditionalPath(
                d.open(|d| Ok(d.constrained(0, 32701)? as u16))?,
            ),
            148 => RelativePathDelayChoiceExtension::ReportingGranularitykminus2AdditionalPath(
                d.open(|d| Ok(d.constrained(0, 65401)? as u16))?,
            ),
            149 => RelativePathDelayChoiceExtension::ReportingGranularitykminus3AdditionalPath(
                d.open(|d| Ok(d.constrained(0, 130801)? as u32))?,
            ),
            150 => RelativePathDelayChoiceExtension::ReportingGranularitykminus4AdditionalPath(
                d.open(|d| Ok(d.constrained(0, 261601)? as u32))?,
            ),
            151 => RelativePathDelayChoiceExtension::ReportingGranularitykminus5AdditionalPath(
                d.open(|d| Ok(d.constrained(0, 523201)? as u32))?,
            ),
            152 => RelativePathDelayChoiceExtension::ReportingGranularitykminus6AdditionalPath(
                d.open(|d| Ok(d.constrained(0, 1046401)? as u32))?,
            ),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => RelativePathDelayChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `RelativePathDelay`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum RelativePathDelay {
    /// `k0`: INTEGER (0..16351)
    K0(u16),
    /// `k1`: INTEGER (0..8176)
    K1(u16),
    /// `k2`: INTEGER (0..4088)
    K2(u16),
    /// `k3`: INTEGER (0..2044)
    K3(u16),
    /// `k4`: INTEGER (0..1022)
    K4(u16),
    /// `k5`: INTEGER (0..511)
    K5(u16),
    /// `choice-Extension`
    ChoiceExtension(RelativePathDelayChoiceExtension),
}
impl Default for RelativePathDelay {
    fn default() -> Self {
        RelativePathDelay::K0(Default::default())
    }
}
impl RelativePathDelay {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            RelativePathDelay::K0(v) => {
                e.index(0, 7, false)?;
                e.constrained((*v).into(), 0, 16351)?;
            }
            RelativePathDelay::K1(v) => {
                e.index(1, 7, false)?;
                e.constrained((*v).into(), 0, 8176)?;
            }
            RelativePathDelay::K2(v) => {
                e.index(2, 7, false)?;
                e.constrained((*v).into(), 0, 4088)?;
            }
            RelativePathDelay::K3(v) => {
                e.index(3, 7, false)?;
                e.constrained((*v).into(), 0, 2044)?;
            }
            RelativePathDelay::K4(v) => {
                e.index(4, 7, false)?;
                e.constrained((*v).into(), 0, 1022)?;
            }
            RelativePathDelay::K5(v) => {
                e.index(5, 7, false)?;
                e.constrained((*v).into(), 0, 511)?;
            }
            RelativePathDelay::ChoiceExtension(v) => {
                e.index(6, 7, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(7, false)? {
            0 => RelativePathDelay::K0(d.constrained(0, 16351)? as u16),
            1 => RelativePathDelay::K1(d.constrained(0, 8176)? as u16),
            2 => RelativePathDelay::K2(d.constrained(0, 4088)? as u16),
            3 => RelativePathDelay::K3(d.constrained(0, 2044)? as u16),
            4 => RelativePathDelay::K4(d.constrained(0, 1022)? as u16),
            5 => RelativePathDelay::K5(d.constrained(0, 511)? as u16),
            6 => RelativePathDelay::ChoiceExtension(RelativePathDelayChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `ZoA`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ZoA {
    /// `zenithAoA`: INTEGER (0..1799)
    pub zenith_ao_a: u16,
    /// `lCS-to-GCS-Translation`
    pub l_cs_to_gcs_translation: Option<LcsToGcsTranslation>,
}
impl ZoA {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.l_cs_to_gcs_translation.is_some());
        e.bit(false);
        e.constrained(self.zenith_ao_a.into(), 0, 1799)?;
        if let Some(v) = &self.l_cs_to_gcs_translation {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_l_cs_to_gcs_translation = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let zenith_ao_a = d.constrained(0, 1799)? as u16;
        let l_cs_to_gcs_translation =
            if has_l_cs_to_gcs_translation { Some(LcsToGcsTranslation::decode(d)?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ZoA { zenith_ao_a, l_cs_to_gcs_translation })
    }
}

/// One information element: `MultipleULAoA-Item-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum MultipleUlAoAItemChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for MultipleUlAoAItemChoiceExtension {
    fn default() -> Self {
        MultipleUlAoAItemChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl MultipleUlAoAItemChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            MultipleUlAoAItemChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => MultipleUlAoAItemChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `MultipleULAoA-Item`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum MultipleUlAoAItem {
    /// `uL-AoA`
    ULAoA(UlAoA),
    /// `ul-ZoA`
    UlZoA(ZoA),
    /// `choice-extension`
    ChoiceExtension(MultipleUlAoAItemChoiceExtension),
}
impl Default for MultipleUlAoAItem {
    fn default() -> Self {
        MultipleUlAoAItem::ULAoA(Default::default())
    }
}
impl MultipleUlAoAItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            MultipleUlAoAItem::ULAoA(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            MultipleUlAoAItem::UlZoA(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            MultipleUlAoAItem::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => MultipleUlAoAItem::ULAoA(UlAoA::decode(d)?),
            1 => MultipleUlAoAItem::UlZoA(ZoA::decode(d)?),
            2 => MultipleUlAoAItem::ChoiceExtension(MultipleUlAoAItemChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `MultipleULAoA`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MultipleUlAoA {
    /// `multipleULAoA`: SEQUENCE OF (SIZE (1..8))
    pub multiple_ulao_a: Vec<MultipleUlAoAItem>,
}
impl MultipleUlAoA {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.count(self.multiple_ulao_a.len(), Some(Size::range(1, 8)))?;
        for v in &self.multiple_ulao_a {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let multiple_ulao_a = {
            let count = d.count(Some(Size::range(1, 8)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(MultipleUlAoAItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(MultipleUlAoA { multiple_ulao_a })
    }
}

/// `UL-SRS-RSRPP`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UlSrsRsrpp {
    /// `firstPathRSRPP`: INTEGER (0..126)
    pub first_path_rsrpp: u8,
}
impl UlSrsRsrpp {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.first_path_rsrpp.into(), 0, 126)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let first_path_rsrpp = d.constrained(0, 126)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(UlSrsRsrpp { first_path_rsrpp })
    }
}

/// The information elements of `AdditionalPathListItem-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AdditionalPathListItemIEExtensions {
    /// `MultipleULAoA`; information element 74, ignore
    pub multiple_ulao_a: Option<MultipleUlAoA>,
    /// `UL-SRS-RSRPP`; information element 96, ignore
    pub ul_srs_rsrpp: Option<UlSrsRsrpp>,
}
impl AdditionalPathListItemIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.multiple_ulao_a.is_some()) + usize::from(self.ul_srs_rsrpp.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.multiple_ulao_a {
            element(e, 74, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.ul_srs_rsrpp {
            element(e, 96, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut multiple_ulao_a = None;
        let mut ul_srs_rsrpp = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                74 => multiple_ulao_a = Some(d.open(|d| Ok(MultipleUlAoA::decode(d)?))?),
                96 => ul_srs_rsrpp = Some(d.open(|d| Ok(UlSrsRsrpp::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(AdditionalPathListItemIEExtensions { multiple_ulao_a, ul_srs_rsrpp })
    }
}

/// `AdditionalPathListItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AdditionalPathListItem {
    /// `relativeTimeOfPath`
    pub relative_time_of_path: RelativePathDelay,
    /// `pathQuality`
    pub path_quality: Option<TrpMeasurementQuality>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<AdditionalPathListItemIEExtensions>,
}
impl AdditionalPathListItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.path_quality.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        self.relative_time_of_path.encode(e)?;
        if let Some(v) = &self.path_quality {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_path_quality = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let relative_time_of_path = RelativePathDelay::decode(d)?;
        let path_quality = if has_path_quality { Some(TrpMeasurementQuality::decode(d)?) } else { None };
        let i_e_extensions = if has_i_e_extensions {
            Some(AdditionalPathListItemIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(AdditionalPathListItem { relative_time_of_path, path_quality, i_e_extensions })
    }
}

/// `ExtendedAdditionalPathList-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExtendedAdditionalPathListItem {
    /// `relativeTimeOfPath`
    pub relative_time_of_path: RelativePathDelay,
    /// `pathQuality`
    pub path_quality: Option<TrpMeasurementQuality>,
    /// `multipleULAoA`
    pub multiple_ulao_a: Option<MultipleUlAoA>,
    /// `pathPower`
    pub path_power: Option<UlSrsRsrpp>,
}
impl ExtendedAdditionalPathListItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.path_quality.is_some());
        e.bit(self.multiple_ulao_a.is_some());
        e.bit(self.path_power.is_some());
        e.bit(false);
        self.relative_time_of_path.encode(e)?;
        if let Some(v) = &self.path_quality {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.multiple_ulao_a {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.path_power {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_path_quality = d.bit()?;
        let has_multiple_ulao_a = d.bit()?;
        let has_path_power = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let relative_time_of_path = RelativePathDelay::decode(d)?;
        let path_quality = if has_path_quality { Some(TrpMeasurementQuality::decode(d)?) } else { None };
        let multiple_ulao_a = if has_multiple_ulao_a { Some(MultipleUlAoA::decode(d)?) } else { None };
        let path_power = if has_path_power { Some(UlSrsRsrpp::decode(d)?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ExtendedAdditionalPathListItem { relative_time_of_path, path_quality, multiple_ulao_a, path_power })
    }
}

/// `TRP-Rx-TEGInformation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpRxTegInformation {
    /// `tRP-Rx-TEGID`: INTEGER (0..31)
    pub t_rp_rx_tegid: u8,
    /// `tRP-Rx-TimingErrorMargin`
    pub t_rp_rx_timing_error_margin: TimingErrorMargin,
}
impl TrpRxTegInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.t_rp_rx_tegid.into(), 0, 31)?;
        self.t_rp_rx_timing_error_margin.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rp_rx_tegid = d.constrained(0, 31)? as u8;
        let t_rp_rx_timing_error_margin = TimingErrorMargin::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpRxTegInformation { t_rp_rx_tegid, t_rp_rx_timing_error_margin })
    }
}

/// The information elements of `UL-RTOAMeasurement-iE-extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UlRtoaMeasurementIEExtensions {
    /// `ExtendedAdditionalPathList`: SEQUENCE OF (SIZE (1..8)); information element 77, ignore
    pub extended_additional_path_list: Option<Vec<ExtendedAdditionalPathListItem>>,
    /// `TRP-Rx-TEGInformation`; information element 86, ignore
    pub trp_rx_teginformation: Option<TrpRxTegInformation>,
}
impl UlRtoaMeasurementIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.extended_additional_path_list.is_some()) + usize::from(self.trp_rx_teginformation.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.extended_additional_path_list {
            element(e, 77, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 8)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.trp_rx_teginformation {
            element(e, 86, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut extended_additional_path_list = None;
        let mut trp_rx_teginformation = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                77 => {
                    extended_additional_path_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 8)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(ExtendedAdditionalPathListItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                86 => trp_rx_teginformation = Some(d.open(|d| Ok(TrpRxTegInformation::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(UlRtoaMeasurementIEExtensions { extended_additional_path_list, trp_rx_teginformation })
    }
}

/// `UL-RTOAMeasurement`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UlRtoaMeasurement {
    /// `uLRTOAmeas`
    pub u_lrtoameas: UlrtoaMeas,
    /// `additionalPathList`: SEQUENCE OF (SIZE (1..2))
    pub additional_path_list: Option<Vec<AdditionalPathListItem>>,
    /// `iE-extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<UlRtoaMeasurementIEExtensions>,
}
impl UlRtoaMeasurement {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.additional_path_list.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        self.u_lrtoameas.encode(e)?;
        if let Some(v) = &self.additional_path_list {
            e.count((*v).len(), Some(Size::range(1, 2)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_additional_path_list = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let u_lrtoameas = UlrtoaMeas::decode(d)?;
        let additional_path_list = if has_additional_path_list {
            Some({
                let count = d.count(Some(Size::range(1, 2)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(AdditionalPathListItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        let i_e_extensions = if has_i_e_extensions {
            Some(UlRtoaMeasurementIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(UlRtoaMeasurement { u_lrtoameas, additional_path_list, i_e_extensions })
    }
}

/// One information element: `GNBRxTxTimeDiffMeas-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum GnbRxTxTimeDiffMeasChoiceExtension {
    /// `ReportingGranularitykminus1`, `ReportingGranularitykminus1`: INTEGER (0..3940097)
    ReportingGranularitykminus1(u32),
    /// `ReportingGranularitykminus2`, `ReportingGranularitykminus2`: INTEGER (0..7880193)
    ReportingGranularitykminus2(u32),
    /// `ReportingGranularitykminus3`, `ReportingGranularitykminus3`: INTEGER (0..15760385)
    ReportingGranularitykminus3(u32),
    /// `ReportingGranularitykminus4`, `ReportingGranularitykminus4`: INTEGER (0..31520769)
    ReportingGranularitykminus4(u32),
    /// `ReportingGranularitykminus5`, `ReportingGranularitykminus5`: INTEGER (0..63041537)
    ReportingGranularitykminus5(u32),
    /// `ReportingGranularitykminus6`, `ReportingGranularitykminus6`: INTEGER (0..126083073)
    ReportingGranularitykminus6(u32),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for GnbRxTxTimeDiffMeasChoiceExtension {
    fn default() -> Self {
        GnbRxTxTimeDiffMeasChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl GnbRxTxTimeDiffMeasChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            GnbRxTxTimeDiffMeasChoiceExtension::ReportingGranularitykminus1(v) => {
                element(e, 141, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 3940097)?;
                    Ok(())
                })?;
            }
            GnbRxTxTimeDiffMeasChoiceExtension::ReportingGranularitykminus2(v) => {
                element(e, 142, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 7880193)?;
                    Ok(())
                })?;
            }
            GnbRxTxTimeDiffMeasChoiceExtension::ReportingGranularitykminus3(v) => {
                element(e, 143, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 15760385)?;
                    Ok(())
                })?;
            }
            GnbRxTxTimeDiffMeasChoiceExtension::ReportingGranularitykminus4(v) => {
                element(e, 144, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 31520769)?;
                    Ok(())
                })?;
            }
            GnbRxTxTimeDiffMeasChoiceExtension::ReportingGranularitykminus5(v) => {
                element(e, 145, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 63041537)?;
                    Ok(())
                })?;
            }
            GnbRxTxTimeDiffMeasChoiceExtension::ReportingGranularitykminus6(v) => {
                element(e, 146, 1)?;
                e.open(|e| {
                    e.constrained((*v).into(), 0, 126083073)?;
                    Ok(())
                })?;
            }
            GnbRxTxTimeDiffMeasChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            141 => GnbRxTxTimeDiffMeasChoiceExtension::ReportingGranularitykminus1(
                d.open(|d| Ok(d.constrained(0, 3940097)? as u32))?,
            ),
            142 => GnbRxTxTimeDiffMeasChoiceExtension::ReportingGranularitykminus2(
                d.open(|d| Ok(d.constrained(0, 7880193)? as u32))?,
            ),
            143 => GnbRxTxTimeDiffMeasChoiceExtension::ReportingGranularitykminus3(
                d.open(|d| Ok(d.constrained(0, 15760385)? as u32))?,
            ),
            144 => GnbRxTxTimeDiffMeasChoiceExtension::ReportingGranularitykminus4(
                d.open(|d| Ok(d.constrained(0, 31520769)? as u32))?,
            ),
            145 => GnbRxTxTimeDiffMeasChoiceExtension::ReportingGranularitykminus5(
                d.open(|d| Ok(d.constrained(0, 63041537)? as u32))?,
            ),
            146 => GnbRxTxTimeDiffMeasChoiceExtension::ReportingGranularitykminus6(
                d.open(|d| Ok(d.constrained(0, 126083073)? as u32))?,
            ),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => GnbRxTxTimeDiffMeasChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `GNBRxTxTimeDiffMeas`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum GnbRxTxTimeDiffMeas {
    /// `k0`: INTEGER (0..1970049)
    K0(u32),
    /// `k1`: INTEGER (0..985025)
    K1(u32),
    /// `k2`: INTEGER (0..492513)
    K2(u32),
    /// `k3`: INTEGER (0..246257)
    K3(u32),
    /// `k4`: INTEGER (0..123129)
    K4(u32),
    /// `k5`: INTEGER (0..61565)
    K5(u16),
    /// `choice-extension`
    ChoiceExtension(GnbRxTxTimeDiffMeasChoiceExtension),
}
impl Default for GnbRxTxTimeDiffMeas {
    fn default() -> Self {
        GnbRxTxTimeDiffMeas::K0(Default::default())
    }
}
impl GnbRxTxTimeDiffMeas {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            GnbRxTxTimeDiffMeas::K0(v) => {
                e.index(0, 7, false)?;
                e.constrained((*v).into(), 0, 1970049)?;
            }
            GnbRxTxTimeDiffMeas::K1(v) => {
                e.index(1, 7, false)?;
                e.constrained((*v).into(), 0, 985025)?;
            }
            GnbRxTxTimeDiffMeas::K2(v) => {
                e.index(2, 7, false)?;
                e.constrained((*v).into(), 0, 492513)?;
            }
            GnbRxTxTimeDiffMeas::K3(v) => {
                e.index(3, 7, false)?;
                e.constrained((*v).into(), 0, 246257)?;
            }
            GnbRxTxTimeDiffMeas::K4(v) => {
                e.index(4, 7, false)?;
                e.constrained((*v).into(), 0, 123129)?;
            }
            GnbRxTxTimeDiffMeas::K5(v) => {
                e.index(5, 7, false)?;
                e.constrained((*v).into(), 0, 61565)?;
            }
            GnbRxTxTimeDiffMeas::ChoiceExtension(v) => {
                e.index(6, 7, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(7, false)? {
            0 => GnbRxTxTimeDiffMeas::K0(d.constrained(0, 1970049)? as u32),
            1 => GnbRxTxTimeDiffMeas::K1(d.constrained(0, 985025)? as u32),
            2 => GnbRxTxTimeDiffMeas::K2(d.constrained(0, 492513)? as u32),
            3 => GnbRxTxTimeDiffMeas::K3(d.constrained(0, 246257)? as u32),
            4 => GnbRxTxTimeDiffMeas::K4(d.constrained(0, 123129)? as u32),
            5 => GnbRxTxTimeDiffMeas::K5(d.constrained(0, 61565)? as u16),
            6 => GnbRxTxTimeDiffMeas::ChoiceExtension(GnbRxTxTimeDiffMeasChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `RxTxTimingErrorMargin`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RxTxTimingErrorMargin {
    /// `tc0dot5`
    #[default]
    Tc0Dot5,
    /// `tc1`
    Tc1,
    /// `tc2`
    Tc2,
    /// `tc4`
    Tc4,
    /// `tc8`
    Tc8,
    /// `tc12`
    Tc12,
    /// `tc16`
    Tc16,
    /// `tc20`
    Tc20,
    /// `tc24`
    Tc24,
    /// `tc32`
    Tc32,
    /// `tc40`
    Tc40,
    /// `tc48`
    Tc48,
    /// `tc64`
    Tc64,
    /// `tc80`
    Tc80,
    /// `tc96`
    Tc96,
    /// `tc128`
    Tc128,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl RxTxTimingErrorMargin {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                RxTxTimingErrorMargin::Tc0Dot5 => 0,
                RxTxTimingErrorMargin::Tc1 => 1,
                RxTxTimingErrorMargin::Tc2 => 2,
                RxTxTimingErrorMargin::Tc4 => 3,
                RxTxTimingErrorMargin::Tc8 => 4,
                RxTxTimingErrorMargin::Tc12 => 5,
                RxTxTimingErrorMargin::Tc16 => 6,
                RxTxTimingErrorMargin::Tc20 => 7,
                RxTxTimingErrorMargin::Tc24 => 8,
                RxTxTimingErrorMargin::Tc32 => 9,
                RxTxTimingErrorMargin::Tc40 => 10,
                RxTxTimingErrorMargin::Tc48 => 11,
                RxTxTimingErrorMargin::Tc64 => 12,
                RxTxTimingErrorMargin::Tc80 => 13,
                RxTxTimingErrorMargin::Tc96 => 14,
                RxTxTimingErrorMargin::Tc128 => 15,
                RxTxTimingErrorMargin::Other(index) => index,
            },
            16,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(16, true)? {
            0 => RxTxTimingErrorMargin::Tc0Dot5,
            1 => RxTxTimingErrorMargin::Tc1,
            2 => RxTxTimingErrorMargin::Tc2,
            3 => RxTxTimingErrorMargin::Tc4,
            4 => RxTxTimingErrorMargin::Tc8,
            5 => RxTxTimingErrorMargin::Tc12,
            6 => RxTxTimingErrorMargin::Tc16,
            7 => RxTxTimingErrorMargin::Tc20,
            8 => RxTxTimingErrorMargin::Tc24,
            9 => RxTxTimingErrorMargin::Tc32,
            10 => RxTxTimingErrorMargin::Tc40,
            11 => RxTxTimingErrorMargin::Tc48,
            12 => RxTxTimingErrorMargin::Tc64,
            13 => RxTxTimingErrorMargin::Tc80,
            14 => RxTxTimingErrorMargin::Tc96,
            15 => RxTxTimingErrorMargin::Tc128,
            other => RxTxTimingErrorMargin::Other(other),
        })
    }
}

/// `TRP-RxTx-TEGInformation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpRxTxTegInformation {
    /// `tRP-RxTx-TEGID`: INTEGER (0..255)
    pub t_rp_rx_tx_tegid: u8,
    /// `tRP-RxTx-TimingErrorMargin`
    pub t_rp_rx_tx_timing_error_margin: RxTxTimingErrorMargin,
}
impl TrpRxTxTegInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.t_rp_rx_tx_tegid.into(), 0, 255)?;
        self.t_rp_rx_tx_timing_error_margin.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rp_rx_tx_tegid = d.constrained(0, 255)? as u8;
        let t_rp_rx_tx_timing_error_margin = RxTxTimingErrorMargin::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpRxTxTegInformation { t_rp_rx_tx_tegid, t_rp_rx_tx_timing_error_margin })
    }
}

/// `TRP-Tx-TEGInformation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpTxTegInformation {
    /// `tRP-Tx-TEGID`: INTEGER (0..7)
    pub t_rp_tx_tegid: u8,
    /// `tRP-Tx-TimingErrorMargin`
    pub t_rp_tx_timing_error_margin: TimingErrorMargin,
}
impl TrpTxTegInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.t_rp_tx_tegid.into(), 0, 7)?;
        self.t_rp_tx_timing_error_margin.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rp_tx_tegid = d.constrained(0, 7)? as u8;
        let t_rp_tx_timing_error_margin = TimingErrorMargin::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpTxTegInformation { t_rp_tx_tegid, t_rp_tx_timing_error_margin })
    }
}

/// `RxTxTEG`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RxTxTeg {
    /// `tRP-RxTx-TEGInformation`
    pub t_rp_rx_tx_teginformation: TrpRxTxTegInformation,
    /// `tRP-Tx-TEGInformation`
    pub t_rp_tx_teginformation: Option<TrpTxTegInformation>,
}
impl RxTxTeg {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.t_rp_tx_teginformation.is_some());
        e.bit(false);
        self.t_rp_rx_tx_teginformation.encode(e)?;
        if let Some(v) = &self.t_rp_tx_teginformation {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_t_rp_tx_teginformation = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rp_rx_tx_teginformation = TrpRxTxTegInformation::decode(d)?;
        let t_rp_tx_teginformation =
            if has_t_rp_tx_teginformation { Some(TrpTxTegInformation::decode(d)?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(RxTxTeg { t_rp_rx_tx_teginformation, t_rp_tx_teginformation })
    }
}

/// `RxTEG`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RxTeg {
    /// `tRP-Rx-TEGInformation`
    pub t_rp_rx_teginformation: TrpRxTegInformation,
    /// `tRP-Tx-TEGInformation`
    pub t_rp_tx_teginformation: TrpTxTegInformation,
}
impl RxTeg {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.t_rp_rx_teginformation.encode(e)?;
        self.t_rp_tx_teginformation.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rp_rx_teginformation = TrpRxTegInformation::decode(d)?;
        let t_rp_tx_teginformation = TrpTxTegInformation::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(RxTeg { t_rp_rx_teginformation, t_rp_tx_teginformation })
    }
}

/// One information element: `TRPTEGInformation-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum TrptegInformationChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for TrptegInformationChoiceExtension {
    fn default() -> Self {
        TrptegInformationChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl TrptegInformationChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TrptegInformationChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => TrptegInformationChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `TRPTEGInformation`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum TrptegInformation {
    /// `rxTx-TEG`
    RxTxTeg(RxTxTeg),
    /// `rx-TEG`
    RxTeg(RxTeg),
    /// `choice-extension`
    ChoiceExtension(TrptegInformationChoiceExtension),
}
impl Default for TrptegInformation {
    fn default() -> Self {
        TrptegInformation::RxTxTeg(Default::default())
    }
}
impl TrptegInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TrptegInformation::RxTxTeg(v) => {
                e.index(0, 3, false)?;
                (*v).encode(e)?;
            }
            TrptegInformation::RxTeg(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            TrptegInformation::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => TrptegInformation::RxTxTeg(RxTxTeg::decode(d)?),
            1 => TrptegInformation::RxTeg(RxTeg::decode(d)?),
            2 => TrptegInformation::ChoiceExtension(TrptegInformationChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// The information elements of `GNB-RxTxTimeDiff-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GnbRxTxTimeDiffIEExtensions {
    /// `ExtendedAdditionalPathList`: SEQUENCE OF (SIZE (1..8)); information element 77, ignore
    pub extended_additional_path_list: Option<Vec<ExtendedAdditionalPathListItem>>,
    /// `TRPTEGInformation`; information element 85, ignore
    pub trpteginformation: Option<TrptegInformation>,
}
impl GnbRxTxTimeDiffIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.extended_additional_path_list.is_some()) + usize::from(self.trpteginformation.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.extended_additional_path_list {
            element(e, 77, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 8)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.trpteginformation {
            element(e, 85, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut extended_additional_path_list = None;
        let mut trpteginformation = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                77 => {
                    extended_additional_path_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 8)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(ExtendedAdditionalPathListItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                85 => trpteginformation = Some(d.open(|d| Ok(TrptegInformation::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(GnbRxTxTimeDiffIEExtensions { extended_additional_path_list, trpteginformation })
    }
}

/// `GNB-RxTxTimeDiff`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GnbRxTxTimeDiff {
    /// `rxTxTimeDiff`
    pub rx_tx_time_diff: GnbRxTxTimeDiffMeas,
    /// `additionalPathList`: SEQUENCE OF (SIZE (1..2))
    pub additional_path_list: Option<Vec<AdditionalPathListItem>>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<GnbRxTxTimeDiffIEExtensions>,
}
impl GnbRxTxTimeDiff {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.additional_path_list.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        self.rx_tx_time_diff.encode(e)?;
        if let Some(v) = &self.additional_path_list {
            e.count((*v).len(), Some(Size::range(1, 2)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_additional_path_list = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let rx_tx_time_diff = GnbRxTxTimeDiffMeas::decode(d)?;
        let additional_path_list = if has_additional_path_list {
            Some({
                let count = d.count(Some(Size::range(1, 2)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(AdditionalPathListItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        let i_e_extensions = if has_i_e_extensions {
            Some(GnbRxTxTimeDiffIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(GnbRxTxTimeDiff { rx_tx_time_diff, additional_path_list, i_e_extensions })
    }
}

/// `UL-RSCPMeas`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UlRscpMeas {
    /// `uLRSCP`: INTEGER (0..3599)
    pub u_lrscp: u16,
}
impl UlRscpMeas {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.u_lrscp.into(), 0, 3599)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let u_lrscp = d.constrained(0, 3599)? as u16;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(UlRscpMeas { u_lrscp })
    }
}

/// One information element: `TrpMeasuredResultsValue-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum TrpMeasuredResultsValueChoiceExtension {
    /// `ZoA`
    ZoA(ZoA),
    /// `MultipleULAoA`
    MultipleUlAoA(MultipleUlAoA),
    /// `UL-SRS-RSRPP`
    UlSrsRsrpp(UlSrsRsrpp),
    /// `UL-RSCPMeas`
    UlRscpMeas(UlRscpMeas),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for TrpMeasuredResultsValueChoiceExtension {
    fn default() -> Self {
        TrpMeasuredResultsValueChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl TrpMeasuredResultsValueChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TrpMeasuredResultsValueChoiceExtension::ZoA(v) => {
                element(e, 71, 0)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            TrpMeasuredResultsValueChoiceExtension::MultipleUlAoA(v) => {
                element(e, 74, 0)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            TrpMeasuredResultsValueChoiceExtension::UlSrsRsrpp(v) => {
                element(e, 75, 0)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            TrpMeasuredResultsValueChoiceExtension::UlRscpMeas(v) => {
                element(e, 126, 0)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            TrpMeasuredResultsValueChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            71 => TrpMeasuredResultsValueChoiceExtension::ZoA(d.open(|d| Ok(ZoA::decode(d)?))?),
            74 => TrpMeasuredResultsValueChoiceExtension::MultipleUlAoA(d.open(|d| Ok(MultipleUlAoA::decode(d)?))?),
            75 => TrpMeasuredResultsValueChoiceExtension::UlSrsRsrpp(d.open(|d| Ok(UlSrsRsrpp::decode(d)?))?),
            126 => TrpMeasuredResultsValueChoiceExtension::UlRscpMeas(d.open(|d| Ok(UlRscpMeas::decode(d)?))?),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => TrpMeasuredResultsValueChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `TrpMeasuredResultsValue`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum TrpMeasuredResultsValue {
    /// `uL-AngleOfArrival`
    ULAngleOfArrival(UlAoA),
    /// `uL-SRS-RSRP`, `UL-SRS-RSRP`: INTEGER (0..126)
    ULSrsRsrp(u8),
    /// `uL-RTOA`
    ULRtoa(Box<UlRtoaMeasurement>),
    /// `gNB-RxTxTimeDiff`
    GNbRxTxTimeDiff(Box<GnbRxTxTimeDiff>),
    /// `choice-extension`
    ChoiceExtension(TrpMeasuredResultsValueChoiceExtension),
}
impl Default for TrpMeasuredResultsValue {
    fn default() -> Self {
        TrpMeasuredResultsValue::ULAngleOfArrival(Default::default())
    }
}
impl TrpMeasuredResultsValue {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TrpMeasuredResultsValue::ULAngleOfArrival(v) => {
                e.index(0, 5, false)?;
                (*v).encode(e)?;
            }
            TrpMeasuredResultsValue::ULSrsRsrp(v) => {
                e.index(1, 5, false)?;
                e.constrained((*v).into(), 0, 126)?;
            }
            TrpMeasuredResultsValue::ULRtoa(v) => {
                e.index(2, 5, false)?;
                (**v).encode(e)?;
            }
            TrpMeasuredResultsValue::GNbRxTxTimeDiff(v) => {
                e.index(3, 5, false)?;
                (**v).encode(e)?;
            }
            TrpMeasuredResultsValue::ChoiceExtension(v) => {
                e.index(4, 5, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(5, false)? {
            0 => TrpMeasuredResultsValue::ULAngleOfArrival(UlAoA::decode(d)?),
            1 => TrpMeasuredResultsValue::ULSrsRsrp(d.constrained(0, 126)? as u8),
            2 => TrpMeasuredResultsValue::ULRtoa(Box::new(UlRtoaMeasurement::decode(d)?)),
            3 => TrpMeasuredResultsValue::GNbRxTxTimeDiff(Box::new(GnbRxTxTimeDiff::decode(d)?)),
            4 => TrpMeasuredResultsValue::ChoiceExtension(TrpMeasuredResultsValueChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `MeasurementBeamInfo`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasurementBeamInfo {
    /// `pRS-Resource-ID`, `PRS-Resource-ID`: INTEGER (0..63)
    pub p_rs_resource_id: Option<u8>,
    /// `pRS-Resource-Set-ID`, `PRS-Resource-Set-ID`: INTEGER (0..7)
    pub p_rs_resource_set_id: Option<u8>,
    /// `sSB-Index`, `SSB-Index`: INTEGER (0..63)
    pub s_sb_index: Option<u8>,
}
impl MeasurementBeamInfo {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.p_rs_resource_id.is_some());
        e.bit(self.p_rs_resource_set_id.is_some());
        e.bit(self.s_sb_index.is_some());
        e.bit(false);
        if let Some(v) = &self.p_rs_resource_id {
            e.constrained((*v).into(), 0, 63)?;
        }
        if let Some(v) = &self.p_rs_resource_set_id {
            e.constrained((*v).into(), 0, 7)?;
        }
        if let Some(v) = &self.s_sb_index {
            e.constrained((*v).into(), 0, 63)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_p_rs_resource_id = d.bit()?;
        let has_p_rs_resource_set_id = d.bit()?;
        let has_s_sb_index = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_rs_resource_id = if has_p_rs_resource_id { Some(d.constrained(0, 63)? as u8) } else { None };
        let p_rs_resource_set_id = if has_p_rs_resource_set_id { Some(d.constrained(0, 7)? as u8) } else { None };
        let s_sb_index = if has_s_sb_index { Some(d.constrained(0, 63)? as u8) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(MeasurementBeamInfo { p_rs_resource_id, p_rs_resource_set_id, s_sb_index })
    }
}

/// `SRSInfo`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SrsInfo {
    /// `sRSResource`, `SRSResourceID`: INTEGER (0..63)
    pub s_rsresource: u8,
}
impl SrsInfo {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.constrained(self.s_rsresource.into(), 0, 63)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let s_rsresource = d.constrained(0, 63)? as u8;
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SrsInfo { s_rsresource })
    }
}

/// `PosSRSInfo`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PosSrsInfo {
    /// `posSRSResourceID`, `SRSPosResourceID`: INTEGER (0..63)
    pub pos_srsresource_id: u8,
}
impl PosSrsInfo {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.constrained(self.pos_srsresource_id.into(), 0, 63)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let pos_srsresource_id = d.constrained(0, 63)? as u8;
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PosSrsInfo { pos_srsresource_id })
    }
}

/// `SRSResourceTypeChoice`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum SrsResourceTypeChoice {
    /// `sRSResourceInfo`
    SRsResourceInfo(SrsInfo),
    /// `posSRSResourceInfo`
    PosSrsResourceInfo(PosSrsInfo),
    /// One that is not known here: its index in the whole choice, and its octets.
    Other(u64, Vec<u8>),
}
impl Default for SrsResourceTypeChoice {
    fn default() -> Self {
        SrsResourceTypeChoice::SRsResourceInfo(Default::default())
    }
}
impl SrsResourceTypeChoice {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            SrsResourceTypeChoice::SRsResourceInfo(v) => {
                e.index(0, 2, true)?;
                (*v).encode(e)?;
            }
            SrsResourceTypeChoice::PosSrsResourceInfo(v) => {
                e.index(1, 2, true)?;
                (*v).encode(e)?;
            }
            SrsResourceTypeChoice::Other(index, octets) => {
                e.index(*index, 2, true)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => SrsResourceTypeChoice::SRsResourceInfo(SrsInfo::decode(d)?),
            1 => SrsResourceTypeChoice::PosSrsResourceInfo(PosSrsInfo::decode(d)?),
            other => SrsResourceTypeChoice::Other(other, d.open_octets()?),
        })
    }
}

/// `SRSPortIndex`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SrsPortIndex {
    /// `id1000`
    #[default]
    Id1000,
    /// `id1001`
    Id1001,
    /// `id1002`
    Id1002,
    /// `id1003`
    Id1003,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl SrsPortIndex {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                SrsPortIndex::Id1000 => 0,
                SrsPortIndex::Id1001 => 1,
                SrsPortIndex::Id1002 => 2,
                SrsPortIndex::Id1003 => 3,
                SrsPortIndex::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => SrsPortIndex::Id1000,
            1 => SrsPortIndex::Id1001,
            2 => SrsPortIndex::Id1002,
            3 => SrsPortIndex::Id1003,
            other => SrsPortIndex::Other(other),
        })
    }
}

/// The information elements of `SRSResourcetype-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SrsResourcetypeIEExtensions {
    /// `SRSPortIndex`; information element 100, ignore
    pub srsport_index: Option<SrsPortIndex>,
}
impl SrsResourcetypeIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.srsport_index.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.srsport_index {
            element(e, 100, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut srsport_index = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                100 => srsport_index = Some(d.open(|d| Ok(SrsPortIndex::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(SrsResourcetypeIEExtensions { srsport_index })
    }
}

/// `SRSResourcetype`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SrsResourcetype {
    /// `sRSResourceTypeChoice`
    pub s_rsresource_type_choice: SrsResourceTypeChoice,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<SrsResourcetypeIEExtensions>,
}
impl SrsResourcetype {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        self.s_rsresource_type_choice.encode(e)?;
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_rsresource_type_choice = SrsResourceTypeChoice::decode(d)?;
        let i_e_extensions = if has_i_e_extensions {
            Some(SrsResourcetypeIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SrsResourcetype { s_rsresource_type_choice, i_e_extensions })
    }
}

/// `LoS-NLoSIndicatorHard`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoSNLoSIndicatorHard {
    /// `nlos`
    #[default]
    Nlos,
    /// `los`
    Los,
}
impl LoSNLoSIndicatorHard {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                LoSNLoSIndicatorHard::Nlos => 0,
                LoSNLoSIndicatorHard::Los => 1,
            },
            2,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, false)? {
            0 => LoSNLoSIndicatorHard::Nlos,
            1 => LoSNLoSIndicatorHard::Los,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// One information element: `LoS-NLoSInformation-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum LoSNLoSInformationChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for LoSNLoSInformationChoiceExtension {
    fn default() -> Self {
        LoSNLoSInformationChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl LoSNLoSInformationChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            LoSNLoSInformationChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => LoSNLoSInformationChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `LoS-NLoSInformation`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum LoSNLoSInformation {
    /// `loS-NLoSIndicatorSoft`, `LoS-NLoSIndicatorSoft`: INTEGER (0..10)
    LoSNLoSIndicatorSoft(u8),
    /// `loS-NLoSIndicatorHard`
    LoSNLoSIndicatorHard(LoSNLoSIndicatorHard),
    /// `choice-Extension`
    ChoiceExtension(LoSNLoSInformationChoiceExtension),
}
impl Default for LoSNLoSInformation {
    fn default() -> Self {
        LoSNLoSInformation::LoSNLoSIndicatorSoft(Default::default())
    }
}
impl LoSNLoSInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            LoSNLoSInformation::LoSNLoSIndicatorSoft(v) => {
                e.index(0, 3, false)?;
                e.constrained((*v).into(), 0, 10)?;
            }
            LoSNLoSInformation::LoSNLoSIndicatorHard(v) => {
                e.index(1, 3, false)?;
                (*v).encode(e)?;
            }
            LoSNLoSInformation::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => LoSNLoSInformation::LoSNLoSIndicatorSoft(d.constrained(0, 10)? as u8),
            1 => LoSNLoSInformation::LoSNLoSIndicatorHard(LoSNLoSIndicatorHard::decode(d)?),
            2 => LoSNLoSInformation::ChoiceExtension(LoSNLoSInformationChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `MeasuredFrequencyHops`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeasuredFrequencyHops {
    /// `singleHop`
    #[default]
    SingleHop,
    /// `multiHop`
    MultiHop,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl MeasuredFrequencyHops {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                MeasuredFrequencyHops::SingleHop => 0,
                MeasuredFrequencyHops::MultiHop => 1,
                MeasuredFrequencyHops::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => MeasuredFrequencyHops::SingleHop,
            1 => MeasuredFrequencyHops::MultiHop,
            other => MeasuredFrequencyHops::Other(other),
        })
    }
}

/// The information elements of `AggregatedPosSRSResourceID-Item-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AggregatedPosSrsResourceIdItemIEExtensions {
    /// `PointA`, `PointA`: INTEGER (0..3279165); information element 154, ignore
    pub point_a: Option<u32>,
    /// `SCS-SpecificCarrier`; information element 156, ignore
    pub scs_specific_carrier: Option<ScsSpecificCarrier>,
    /// `NR-PCI`, `NR-PCI`: INTEGER (0..1007); information element 155, ignore
    pub nr_pci: Option<u16>,
}
impl AggregatedPosSrsResourceIdItemIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.point_a.is_some())
            + usize::from(self.scs_specific_carrier.is_some())
            + usize::from(self.nr_pci.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.point_a {
            element(e, 154, 1)?;
            e.open(|e| {
                e.constrained((*v).into(), 0, 3279165)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.scs_specific_carrier {
            element(e, 156, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.nr_pci {
            element(e, 155, 1)?;
            e.open(|e| {
                e.constrained((*v).into(), 0, 1007)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut point_a = None;
        let mut scs_specific_carrier = None;
        let mut nr_pci = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                154 => point_a = Some(d.open(|d| Ok(d.constrained(0, 3279165)? as u32))?),
                156 => scs_specific_carrier = Some(d.open(|d| Ok(ScsSpecificCarrier::decode(d)?))?),
                155 => nr_pci = Some(d.open(|d| Ok(d.constrained(0, 1007)? as u16))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(AggregatedPosSrsResourceIdItemIEExtensions { point_a, scs_specific_carrier, nr_pci })
    }
}

/// `AggregatedPosSRSResourceID-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AggregatedPosSrsResourceIdItem {
    /// `sRSPosResource-ID`, `SRSPosResourceID`: INTEGER (0..63)
    pub s_rspos_resource_id: u8,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<AggregatedPosSrsResourceIdItemIEExtensions>,
}
impl AggregatedPosSrsResourceIdItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        e.constrained(self.s_rspos_resource_id.into(), 0, 63)?;
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_rspos_resource_id = d.constrained(0, 63)? as u8;
        let i_e_extensions = if has_i_e_extensions {
            Some(AggregatedPosSrsResourceIdItemIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(AggregatedPosSrsResourceIdItem { s_rspos_resource_id, i_e_extensions })
    }
}

/// `MeasBasedOnAggregatedResources`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeasBasedOnAggregatedResources {
    /// `true`
    #[default]
    True,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl MeasBasedOnAggregatedResources {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                MeasBasedOnAggregatedResources::True => 0,
                MeasBasedOnAggregatedResources::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => MeasBasedOnAggregatedResources::True,
            other => MeasBasedOnAggregatedResources::Other(other),
        })
    }
}

/// The information elements of `TrpMeasurementResultItem-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpMeasurementResultItemIEExtensions {
    /// `SRSResourcetype`; information element 76, ignore
    pub srsresourcetype: Option<SrsResourcetype>,
    /// `ARP-ID`, `ARP-ID`: INTEGER (1..16, …); information element 79, ignore
    pub arp_id: Option<i64>,
    /// `LoS-NLoSInformation`; information element 80, ignore
    pub lo_s_nlo_sinformation: Option<LoSNLoSInformation>,
    /// `Mobile-TRP-LocationInformation`; information element 114, ignore
    pub mobile_trp_location_information: Option<Box<MobileTrpLocationInformation>>,
    /// `MeasuredFrequencyHops`; information element 140, ignore
    pub measured_frequency_hops: Option<MeasuredFrequencyHops>,
    /// `AggregatedPosSRSResourceID-List`: SEQUENCE OF (SIZE (2..3)); information element 131, ignore
    pub aggregated_pos_srsresource_id_list: Option<Vec<AggregatedPosSrsResourceIdItem>>,
    /// `MeasBasedOnAggregatedResources`; information element 157, ignore
    pub meas_based_on_aggregated_resources: Option<MeasBasedOnAggregatedResources>,
}
impl TrpMeasurementResultItemIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.srsresourcetype.is_some())
            + usize::from(self.arp_id.is_some())
            + usize::from(self.lo_s_nlo_sinformation.is_some())
            + usize::from(self.mobile_trp_location_information.is_some())
            + usize::from(self.measured_frequency_hops.is_some())
            + usize::from(self.aggregated_pos_srsresource_id_list.is_some())
            + usize::from(self.meas_based_on_aggregated_resources.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.srsresourcetype {
            element(e, 76, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.arp_id {
            element(e, 79, 1)?;
            e.open(|e| {
                e.extensible((*v).into(), 1, 16)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.lo_s_nlo_sinformation {
            element(e, 80, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.mobile_trp_location_information {
            element(e, 114, 1)?;
            e.open(|e| {
                (**v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.measured_frequency_hops {
            element(e, 140, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.aggregated_pos_srsresource_id_list {
            element(e, 131, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(2, 3)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.meas_based_on_aggregated_resources {
            element(e, 157, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut srsresourcetype = None;
        let mut arp_id = None;
        let mut lo_s_nlo_sinformation = None;
        let mut mobile_trp_location_information = None;
        let mut measured_frequency_hops = None;
        let mut aggregated_pos_srsresource_id_list = None;
        let mut meas_based_on_aggregated_resources = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                76 => srsresourcetype = Some(d.open(|d| Ok(SrsResourcetype::decode(d)?))?),
                79 => {
                    arp_id = Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 16)?).map_err(|_| DecodeError::Range)?))?)
                }
                80 => lo_s_nlo_sinformation = Some(d.open(|d| Ok(LoSNLoSInformation::decode(d)?))?),
                114 => {
                    mobile_trp_location_information =
                        Some(d.open(|d| Ok(Box::new(MobileTrpLocationInformation::decode(d)?)))?)
                }
                140 => measured_frequency_hops = Some(d.open(|d| Ok(MeasuredFrequencyHops::decode(d)?))?),
                131 => {
                    aggregated_pos_srsresource_id_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(2, 3)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(AggregatedPosSrsResourceIdItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                157 => {
                    meas_based_on_aggregated_resources =
                        Some(d.open(|d| Ok(MeasBasedOnAggregatedResources::decode(d)?))?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(TrpMeasurementResultItemIEExtensions {
            srsresourcetype,
            arp_id,
            lo_s_nlo_sinformation,
            mobile_trp_location_information,
            measured_frequency_hops,
            aggregated_pos_srsresource_id_list,
            meas_based_on_aggregated_resources,
        })
    }
}

/// `TrpMeasurementResultItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpMeasurementResultItem {
    /// `measuredResultsValue`
    pub measured_results_value: TrpMeasuredResultsValue,
    /// `timeStamp`
    pub time_stamp: TimeStamp,
    /// `measurementQuality`
    pub measurement_quality: Option<TrpMeasurementQuality>,
    /// `measurementBeamInfo`
    pub measurement_beam_info: Option<MeasurementBeamInfo>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<Box<TrpMeasurementResultItemIEExtensions>>,
}
impl TrpMeasurementResultItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.measurement_quality.is_some());
        e.bit(self.measurement_beam_info.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        self.measured_results_value.encode(e)?;
        self.time_stamp.encode(e)?;
        if let Some(v) = &self.measurement_quality {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.measurement_beam_info {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (**v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_measurement_quality = d.bit()?;
        let has_measurement_beam_info = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let measured_results_value = TrpMeasuredResultsValue::decode(d)?;
        let time_stamp = TimeStamp::decode(d)?;
        let measurement_quality = if has_measurement_quality { Some(TrpMeasurementQuality::decode(d)?) } else { None };
        let measurement_beam_info =
            if has_measurement_beam_info { Some(MeasurementBeamInfo::decode(d)?) } else { None };
        let i_e_extensions = if has_i_e_extensions {
            Some(Box::new(TrpMeasurementResultItemIEExtensions::decode(d)?)).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpMeasurementResultItem {
            measured_results_value,
            time_stamp,
            measurement_quality,
            measurement_beam_info,
            i_e_extensions,
        })
    }
}

/// The information elements of `TRP-MeasurementResponseItem-iE-extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpMeasurementResponseItemIEExtensions {
    /// `CGI-NR`; information element 60, ignore
    pub cgi_nr: Option<CgiNr>,
}
impl TrpMeasurementResponseItemIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.cgi_nr.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.cgi_nr {
            element(e, 60, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut cgi_nr = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                60 => cgi_nr = Some(d.open(|d| Ok(CgiNr::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(TrpMeasurementResponseItemIEExtensions { cgi_nr })
    }
}

/// `TRP-MeasurementResponseItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpMeasurementResponseItem {
    /// `tRP-ID`, `TRP-ID`: INTEGER (1..65535, …)
    pub t_rp_id: i64,
    /// `measurementResult`: SEQUENCE OF (SIZE (1..16384))
    pub measurement_result: Vec<TrpMeasurementResultItem>,
    /// `iE-extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<TrpMeasurementResponseItemIEExtensions>,
}
impl TrpMeasurementResponseItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        e.extensible(self.t_rp_id.into(), 1, 65535)?;
        e.count(self.measurement_result.len(), Some(Size::range(1, 16384)))?;
        for v in &self.measurement_result {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rp_id = i64::try_from(d.extensible(1, 65535)?).map_err(|_| DecodeError::Range)?;
        let measurement_result = {
            let count = d.count(Some(Size::range(1, 16384)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(TrpMeasurementResultItem::decode(d)?);
            }
            list
        };
        let i_e_extensions = if has_i_e_extensions {
            Some(TrpMeasurementResponseItemIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpMeasurementResponseItem { t_rp_id, measurement_result, i_e_extensions })
    }
}

/// `MeasurementReport`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasurementReport {
    /// `Measurement-ID`, `Measurement-ID`: INTEGER (1..65536, …); information element 39, reject
    pub measurement_id: i64,
    /// `Measurement-ID`, `Measurement-ID`: INTEGER (1..65536, …); information element 40, reject
    pub measurement_id_: i64,
    /// `TRP-MeasurementResponseList`: SEQUENCE OF (SIZE (1..64)); information element 43, reject
    pub trp_measurement_response_list: Vec<TrpMeasurementResponseItem>,
}
impl MeasurementReport {
    pub(crate) fn count(&self) -> usize {
        1 + 1 + 1
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 39, 0)?;
        e.open(|e| {
            e.extensible(self.measurement_id.into(), 1, 65536)?;
            Ok(())
        })?;
        element(e, 40, 0)?;
        e.open(|e| {
            e.extensible(self.measurement_id_.into(), 1, 65536)?;
            Ok(())
        })?;
        element(e, 43, 0)?;
        e.open(|e| {
            e.count(self.trp_measurement_response_list.len(), Some(Size::range(1, 64)))?;
            for v in &self.trp_measurement_response_list {
                (*v).encode(e)?;
            }
            Ok(())
        })?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut measurement_id = None;
        let mut measurement_id_ = None;
        let mut trp_measurement_response_list = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                39 => {
                    measurement_id =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 65536)?).map_err(|_| DecodeError::Range)?))?)
                }
                40 => {
                    measurement_id_ =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 65536)?).map_err(|_| DecodeError::Range)?))?)
                }
                43 => {
                    trp_measurement_response_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 64)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(TrpMeasurementResponseItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(MeasurementReport {
            measurement_id: measurement_id.ok_or(DecodeError::Missing(39))?,
            measurement_id_: measurement_id_.ok_or(DecodeError::Missing(40))?,
            trp_measurement_response_list: trp_measurement_response_list.ok_or(DecodeError::Missing(43))?,
        })
    }
}

/// The information elements of `TRP-MeasurementUpdateItem-iE-extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpMeasurementUpdateItemIEExtensions {
    /// `NumberOfTRPRxTEG`; information element 82, ignore
    pub number_of_trprx_teg: Option<NumberOfTrpRxTeg>,
    /// `NumberOfTRPRxTxTEG`; information element 83, ignore
    pub number_of_trprx_tx_teg: Option<NumberOfTrpRxTxTeg>,
}
impl TrpMeasurementUpdateItemIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.number_of_trprx_teg.is_some()) + usize::from(self.number_of_trprx_tx_teg.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.number_of_trprx_teg {
            element(e, 82, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.number_of_trprx_tx_teg {
            element(e, 83, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut number_of_trprx_teg = None;
        let mut number_of_trprx_tx_teg = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                82 => number_of_trprx_teg = Some(d.open(|d| Ok(NumberOfTrpRxTeg::decode(d)?))?),
                83 => number_of_trprx_tx_teg = Some(d.open(|d| Ok(NumberOfTrpRxTxTeg::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(TrpMeasurementUpdateItemIEExtensions { number_of_trprx_teg, number_of_trprx_tx_teg })
    }
}

/// `TRP-MeasurementUpdateItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpMeasurementUpdateItem {
    /// `tRP-ID`, `TRP-ID`: INTEGER (1..65535, …)
    pub t_rp_id: i64,
    /// `aoA-window-information`
    pub ao_a_window_information: Option<AoAAssistanceInfo>,
    /// `iE-extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<TrpMeasurementUpdateItemIEExtensions>,
}
impl TrpMeasurementUpdateItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.ao_a_window_information.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        e.extensible(self.t_rp_id.into(), 1, 65535)?;
        if let Some(v) = &self.ao_a_window_information {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_ao_a_window_information = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rp_id = i64::try_from(d.extensible(1, 65535)?).map_err(|_| DecodeError::Range)?;
        let ao_a_window_information =
            if has_ao_a_window_information { Some(AoAAssistanceInfo::decode(d)?) } else { None };
        let i_e_extensions = if has_i_e_extensions {
            Some(TrpMeasurementUpdateItemIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpMeasurementUpdateItem { t_rp_id, ao_a_window_information, i_e_extensions })
    }
}

/// `MeasurementUpdate`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasurementUpdate {
    /// `Measurement-ID`, `Measurement-ID`: INTEGER (1..65536, …); information element 39, reject
    pub measurement_id: i64,
    /// `Measurement-ID`, `Measurement-ID`: INTEGER (1..65536, …); information element 40, reject
    pub measurement_id_: i64,
    /// `SRSConfiguration`; information element 26, ignore
    pub srsconfiguration: Option<SrsConfiguration>,
    /// `TRP-MeasurementUpdateList`: SEQUENCE OF (SIZE (1..64)); information element 70, reject
    pub trp_measurement_update_list: Option<Vec<TrpMeasurementUpdateItem>>,
    /// `MeasurementCharacteristicsRequestIndicator`, `MeasurementCharacteristicsRequestIndicator`: BIT STRING (SIZE
    /// (16..16)); information element 92, ignore
    pub measurement_characteristics_request_indicator: Option<BitString>,
    /// `MeasurementTimeOccasion`; information element 91, ignore
    pub measurement_time_occasion: Option<MeasurementTimeOccasion>,
}
impl MeasurementUpdate {
    pub(crate) fn count(&self) -> usize {
        1 + 1
            + usize::from(self.srsconfiguration.is_some())
            + usize::from(self.trp_measurement_update_list.is_some())
            + usize::from(self.measurement_characteristics_request_indicator.is_some())
            + usize::from(self.measurement_time_occasion.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 39, 0)?;
        e.open(|e| {
            e.extensible(self.measurement_id.into(), 1, 65536)?;
            Ok(())
        })?;
        element(e, 40, 0)?;
        e.open(|e| {
            e.extensible(self.measurement_id_.into(), 1, 65536)?;
            Ok(())
        })?;
        if let Some(v) = &self.srsconfiguration {
            element(e, 26, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.trp_measurement_update_list {
            element(e, 70, 0)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 64)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.measurement_characteristics_request_indicator {
            element(e, 92, 1)?;
            e.open(|e| {
                e.bit_string(&(*v), Some(Size::range(16, 16)))?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.measurement_time_occasion {
            element(e, 91, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut measurement_id = None;
        let mut measurement_id_ = None;
        let mut srsconfiguration = None;
        let mut trp_measurement_update_list = None;
        let mut measurement_characteristics_request_indicator = None;
        let mut measurement_time_occasion = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                39 => {
                    measurement_id =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 65536)?).map_err(|_| DecodeError::Range)?))?)
                }
                40 => {
                    measurement_id_ =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 65536)?).map_err(|_| DecodeError::Range)?))?)
                }
                26 => srsconfiguration = Some(d.open(|d| Ok(SrsConfiguration::decode(d)?))?),
                70 => {
                    trp_measurement_update_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 64)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(TrpMeasurementUpdateItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                92 => {
                    measurement_characteristics_request_indicator =
                        Some(d.open(|d| Ok(d.bit_string(Some(Size::range(16, 16)))?))?)
                }
                91 => measurement_time_occasion = Some(d.open(|d| Ok(MeasurementTimeOccasion::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(MeasurementUpdate {
            measurement_id: measurement_id.ok_or(DecodeError::Missing(39))?,
            measurement_id_: measurement_id_.ok_or(DecodeError::Missing(40))?,
            srsconfiguration,
            trp_measurement_update_list,
            measurement_characteristics_request_indicator,
            measurement_time_occasion,
        })
    }
}

/// `MeasurementAbort`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasurementAbort {
    /// `Measurement-ID`, `Measurement-ID`: INTEGER (1..65536, …); information element 39, reject
    pub measurement_id: i64,
    /// `Measurement-ID`, `Measurement-ID`: INTEGER (1..65536, …); information element 40, reject
    pub measurement_id_: i64,
}
impl MeasurementAbort {
    pub(crate) fn count(&self) -> usize {
        1 + 1
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 39, 0)?;
        e.open(|e| {
            e.extensible(self.measurement_id.into(), 1, 65536)?;
            Ok(())
        })?;
        element(e, 40, 0)?;
        e.open(|e| {
            e.extensible(self.measurement_id_.into(), 1, 65536)?;
            Ok(())
        })?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut measurement_id = None;
        let mut measurement_id_ = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                39 => {
                    measurement_id =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 65536)?).map_err(|_| DecodeError::Range)?))?)
                }
                40 => {
                    measurement_id_ =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 65536)?).map_err(|_| DecodeError::Range)?))?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(MeasurementAbort {
            measurement_id: measurement_id.ok_or(DecodeError::Missing(39))?,
            measurement_id_: measurement_id_.ok_or(DecodeError::Missing(40))?,
        })
    }
}

/// `MeasurementFailureIndication`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasurementFailureIndication {
    /// `Measurement-ID`, `Measurement-ID`: INTEGER (1..65536, …); information element 39, reject
    pub measurement_id: i64,
    /// `Measurement-ID`, `Measurement-ID`: INTEGER (1..65536, …); information element 40, reject
    pub measurement_id_: i64,
    /// `Cause`; information element 0, ignore
    pub cause: Cause,
}
impl MeasurementFailureIndication {
    pub(crate) fn count(&self) -> usize {
        1 + 1 + 1
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 39, 0)?;
        e.open(|e| {
            e.extensible(self.measurement_id.into(), 1, 65536)?;
            Ok(())
        })?;
        element(e, 40, 0)?;
        e.open(|e| {
            e.extensible(self.measurement_id_.into(), 1, 65536)?;
            Ok(())
        })?;
        element(e, 0, 1)?;
        e.open(|e| {
            self.cause.encode(e)?;
            Ok(())
        })?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut measurement_id = None;
        let mut measurement_id_ = None;
        let mut cause = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                39 => {
                    measurement_id =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 65536)?).map_err(|_| DecodeError::Range)?))?)
                }
                40 => {
                    measurement_id_ =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 65536)?).map_err(|_| DecodeError::Range)?))?)
                }
                0 => cause = Some(d.open(|d| Ok(Cause::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(MeasurementFailureIndication {
            measurement_id: measurement_id.ok_or(DecodeError::Missing(39))?,
            measurement_id_: measurement_id_.ok_or(DecodeError::Missing(40))?,
            cause: cause.ok_or(DecodeError::Missing(0))?,
        })
    }
}

/// One information element: `AbortTransmission-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum AbortTransmissionChoiceExtension {
    /// `PosSRSResourceSet-Aggregation-List`: SEQUENCE OF (SIZE (1..32))
    PosSrsResourceSetAggregationList(Vec<PosSrsResourceSetAggregationItem>),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for AbortTransmissionChoiceExtension {
    fn default() -> Self {
        AbortTransmissionChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl AbortTransmissionChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            AbortTransmissionChoiceExtension::PosSrsResourceSetAggregationList(v) => {
                element(e, 122, 1)?;
                e.open(|e| {
                    e.count((*v).len(), Some(Size::range(1, 32)))?;
                    for v in &(*v) {
                        (*v).encode(e)?;
                    }
                    Ok(())
                })?;
            }
            AbortTransmissionChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            122 => AbortTransmissionChoiceExtension::PosSrsResourceSetAggregationList(d.open(|d| {
                Ok({
                    let count = d.count(Some(Size::range(1, 32)))?;
                    let mut list = Vec::with_capacity(d.reserve(count));
                    for _ in 0..count {
                        list.push(PosSrsResourceSetAggregationItem::decode(d)?);
                    }
                    list
                })
            })?),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => AbortTransmissionChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `AbortTransmission`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum AbortTransmission {
    /// `deactivateSRSResourceSetID`, `SRSResourceSetID`: INTEGER (0..15, …)
    DeactivateSrsResourceSetId(i64),
    /// `releaseALL`: NULL
    ReleaseAll,
    /// `choice-extension`
    ChoiceExtension(AbortTransmissionChoiceExtension),
}
impl Default for AbortTransmission {
    fn default() -> Self {
        AbortTransmission::DeactivateSrsResourceSetId(Default::default())
    }
}
impl AbortTransmission {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            AbortTransmission::DeactivateSrsResourceSetId(v) => {
                e.index(0, 3, false)?;
                e.extensible((*v).into(), 0, 15)?;
            }
            AbortTransmission::ReleaseAll => {
                e.index(1, 3, false)?;
            }
            AbortTransmission::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => AbortTransmission::DeactivateSrsResourceSetId(
                i64::try_from(d.extensible(0, 15)?).map_err(|_| DecodeError::Range)?,
            ),
            1 => AbortTransmission::ReleaseAll,
            2 => AbortTransmission::ChoiceExtension(AbortTransmissionChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `PositioningDeactivation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PositioningDeactivation {
    /// `AbortTransmission`; information element 53, ignore
    pub abort_transmission: AbortTransmission,
}
impl PositioningDeactivation {
    pub(crate) fn count(&self) -> usize {
        1
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 53, 1)?;
        e.open(|e| {
            self.abort_transmission.encode(e)?;
            Ok(())
        })?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut abort_transmission = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                53 => abort_transmission = Some(d.open(|d| Ok(AbortTransmission::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PositioningDeactivation { abort_transmission: abort_transmission.ok_or(DecodeError::Missing(53))? })
    }
}

/// `RequestType`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequestType {
    /// `activate`
    #[default]
    Activate,
    /// `deactivate`
    Deactivate,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl RequestType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                RequestType::Activate => 0,
                RequestType::Deactivate => 1,
                RequestType::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => RequestType::Activate,
            1 => RequestType::Deactivate,
            other => RequestType::Other(other),
        })
    }
}

/// `PRS-Measurements-Info-List-Item-measPRSPeriodicity`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrsMeasurementsInfoListItemMeasPrsPeriodicity {
    /// `ms20`
    #[default]
    Ms20,
    /// `ms40`
    Ms40,
    /// `ms80`
    Ms80,
    /// `ms160`
    Ms160,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl PrsMeasurementsInfoListItemMeasPrsPeriodicity {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PrsMeasurementsInfoListItemMeasPrsPeriodicity::Ms20 => 0,
                PrsMeasurementsInfoListItemMeasPrsPeriodicity::Ms40 => 1,
                PrsMeasurementsInfoListItemMeasPrsPeriodicity::Ms80 => 2,
                PrsMeasurementsInfoListItemMeasPrsPeriodicity::Ms160 => 3,
                PrsMeasurementsInfoListItemMeasPrsPeriodicity::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => PrsMeasurementsInfoListItemMeasPrsPeriodicity::Ms20,
            1 => PrsMeasurementsInfoListItemMeasPrsPeriodicity::Ms40,
            2 => PrsMeasurementsInfoListItemMeasPrsPeriodicity::Ms80,
            3 => PrsMeasurementsInfoListItemMeasPrsPeriodicity::Ms160,
            other => PrsMeasurementsInfoListItemMeasPrsPeriodicity::Other(other),
        })
    }
}

/// `PRS-Measurements-Info-List-Item-measurementPRSLength`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrsMeasurementsInfoListItemMeasurementPrsLength {
    /// `ms1dot5`
    #[default]
    Ms1Dot5,
    /// `ms3`
    Ms3,
    /// `ms3dot5`
    Ms3Dot5,
    /// `ms4`
    Ms4,
    /// `ms5dot5`
    Ms5Dot5,
    /// `ms6`
    Ms6,
    /// `ms10`
    Ms10,
    /// `ms20`
    Ms20,
}
impl PrsMeasurementsInfoListItemMeasurementPrsLength {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PrsMeasurementsInfoListItemMeasurementPrsLength::Ms1Dot5 => 0,
                PrsMeasurementsInfoListItemMeasurementPrsLength::Ms3 => 1,
                PrsMeasurementsInfoListItemMeasurementPrsLength::Ms3Dot5 => 2,
                PrsMeasurementsInfoListItemMeasurementPrsLength::Ms4 => 3,
                PrsMeasurementsInfoListItemMeasurementPrsLength::Ms5Dot5 => 4,
                PrsMeasurementsInfoListItemMeasurementPrsLength::Ms6 => 5,
                PrsMeasurementsInfoListItemMeasurementPrsLength::Ms10 => 6,
                PrsMeasurementsInfoListItemMeasurementPrsLength::Ms20 => 7,
            },
            8,
            false,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(8, false)? {
            0 => PrsMeasurementsInfoListItemMeasurementPrsLength::Ms1Dot5,
            1 => PrsMeasurementsInfoListItemMeasurementPrsLength::Ms3,
            2 => PrsMeasurementsInfoListItemMeasurementPrsLength::Ms3Dot5,
            3 => PrsMeasurementsInfoListItemMeasurementPrsLength::Ms4,
            4 => PrsMeasurementsInfoListItemMeasurementPrsLength::Ms5Dot5,
            5 => PrsMeasurementsInfoListItemMeasurementPrsLength::Ms6,
            6 => PrsMeasurementsInfoListItemMeasurementPrsLength::Ms10,
            7 => PrsMeasurementsInfoListItemMeasurementPrsLength::Ms20,
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `PRS-Measurements-Info-List-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsMeasurementsInfoListItem {
    /// `pointA`: INTEGER (0..3279165)
    pub point_a: u32,
    /// `measPRSPeriodicity`
    pub meas_prsperiodicity: PrsMeasurementsInfoListItemMeasPrsPeriodicity,
    /// `measPRSOffset`: INTEGER (0..159, …)
    pub meas_prsoffset: i64,
    /// `measurementPRSLength`
    pub measurement_prslength: PrsMeasurementsInfoListItemMeasurementPrsLength,
}
impl PrsMeasurementsInfoListItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.point_a.into(), 0, 3279165)?;
        self.meas_prsperiodicity.encode(e)?;
        e.extensible(self.meas_prsoffset.into(), 0, 159)?;
        self.measurement_prslength.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let point_a = d.constrained(0, 3279165)? as u32;
        let meas_prsperiodicity = PrsMeasurementsInfoListItemMeasPrsPeriodicity::decode(d)?;
        let meas_prsoffset = i64::try_from(d.extensible(0, 159)?).map_err(|_| DecodeError::Range)?;
        let measurement_prslength = PrsMeasurementsInfoListItemMeasurementPrsLength::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsMeasurementsInfoListItem { point_a, meas_prsperiodicity, meas_prsoffset, measurement_prslength })
    }
}

/// `MeasurementActivation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasurementActivation {
    /// `RequestType`; information element 98, reject
    pub request_type: RequestType,
    /// `PRS-Measurements-Info-List`: SEQUENCE OF (SIZE (1..4)); information element 88, ignore
    pub prs_measurements_info_list: Option<Vec<PrsMeasurementsInfoListItem>>,
}
impl MeasurementActivation {
    pub(crate) fn count(&self) -> usize {
        1 + usize::from(self.prs_measurements_info_list.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 98, 0)?;
        e.open(|e| {
            self.request_type.encode(e)?;
            Ok(())
        })?;
        if let Some(v) = &self.prs_measurements_info_list {
            element(e, 88, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 4)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut request_type = None;
        let mut prs_measurements_info_list = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                98 => request_type = Some(d.open(|d| Ok(RequestType::decode(d)?))?),
                88 => {
                    prs_measurements_info_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 4)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(PrsMeasurementsInfoListItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(MeasurementActivation {
            request_type: request_type.ok_or(DecodeError::Missing(98))?,
            prs_measurements_info_list,
        })
    }
}

/// `SRSReservationType`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SrsReservationType {
    /// `reserve`
    #[default]
    Reserve,
    /// `release`
    Release,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl SrsReservationType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                SrsReservationType::Reserve => 0,
                SrsReservationType::Release => 1,
                SrsReservationType::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => SrsReservationType::Reserve,
            1 => SrsReservationType::Release,
            other => SrsReservationType::Other(other),
        })
    }
}

/// `SRSInformationReservationNotification`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SrsInformationReservationNotification {
    /// `SRSReservationType`; information element 129, reject
    pub srsreservation_type: SrsReservationType,
    /// `RequestedSRSTransmissionCharacteristics`; information element 138, ignore
    pub requested_srstransmission_characteristics: Option<Box<RequestedSrsTransmissionCharacteristics>>,
    /// `RequestedSRSPreconfigurationCharacteristics-List`: SEQUENCE OF (SIZE (1..16)); information element 163, ignore
    pub requested_srspreconfiguration_characteristics_list:
        Option<Vec<RequestedSrsPreconfigurationCharacteristicsItem>>,
}
impl SrsInformationReservationNotification {
    pub(crate) fn count(&self) -> usize {
        1 + usize::from(self.requested_srstransmission_characteristics.is_some())
            + usize::from(self.requested_srspreconfiguration_characteristics_list.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 129, 0)?;
        e.open(|e| {
            self.srsreservation_type.encode(e)?;
            Ok(())
        })?;
        if let Some(v) = &self.requested_srstransmission_characteristics {
            element(e, 138, 1)?;
            e.open(|e| {
                (**v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.requested_srspreconfiguration_characteristics_list {
            element(e, 163, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 16)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut srsreservation_type = None;
        let mut requested_srstransmission_characteristics = None;
        let mut requested_srspreconfiguration_characteristics_list = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                129 => srsreservation_type = Some(d.open(|d| Ok(SrsReservationType::decode(d)?))?),
                138 => {
                    requested_srstransmission_characteristics =
                        Some(d.open(|d| Ok(Box::new(RequestedSrsTransmissionCharacteristics::decode(d)?)))?)
                }
                163 => {
                    requested_srspreconfiguration_characteristics_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 16)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(RequestedSrsPreconfigurationCharacteristicsItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SrsInformationReservationNotification {
            srsreservation_type: srsreservation_type.ok_or(DecodeError::Missing(129))?,
            requested_srstransmission_characteristics,
            requested_srspreconfiguration_characteristics_list,
        })
    }
}

/// `ResultGERAN-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultGeranItem {
    /// `bCCH`, `BCCH`: INTEGER (0..1023, …)
    pub b_cch: i64,
    /// `physCellIDGERAN`, `PhysCellIDGERAN`: INTEGER (0..63, …)
    pub phys_cell_idgeran: i64,
    /// `rSSI`, `RSSI`: INTEGER (0..63, …)
    pub r_ssi: i64,
}
impl ResultGeranItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.extensible(self.b_cch.into(), 0, 1023)?;
        e.extensible(self.phys_cell_idgeran.into(), 0, 63)?;
        e.extensible(self.r_ssi.into(), 0, 63)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let b_cch = i64::try_from(d.extensible(0, 1023)?).map_err(|_| DecodeError::Range)?;
        let phys_cell_idgeran = i64::try_from(d.extensible(0, 63)?).map_err(|_| DecodeError::Range)?;
        let r_ssi = i64::try_from(d.extensible(0, 63)?).map_err(|_| DecodeError::Range)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResultGeranItem { b_cch, phys_cell_idgeran, r_ssi })
    }
}

/// `ResultUTRAN-Item-physCellIDUTRAN`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultUtranItemPhysCellIdutran {
    /// `physCellIDUTRA-FDD`, `PhysCellIDUTRA-FDD`: INTEGER (0..511, …)
    PhysCellIdutraFdd(i64),
    /// `physCellIDUTRA-TDD`, `PhysCellIDUTRA-TDD`: INTEGER (0..127, …)
    PhysCellIdutraTdd(i64),
}
impl Default for ResultUtranItemPhysCellIdutran {
    fn default() -> Self {
        ResultUtranItemPhysCellIdutran::PhysCellIdutraFdd(Default::default())
    }
}
impl ResultUtranItemPhysCellIdutran {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ResultUtranItemPhysCellIdutran::PhysCellIdutraFdd(v) => {
                e.index(0, 2, false)?;
                e.extensible((*v).into(), 0, 511)?;
            }
            ResultUtranItemPhysCellIdutran::PhysCellIdutraTdd(v) => {
                e.index(1, 2, false)?;
                e.extensible((*v).into(), 0, 127)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, false)? {
            0 => ResultUtranItemPhysCellIdutran::PhysCellIdutraFdd(
                i64::try_from(d.extensible(0, 511)?).map_err(|_| DecodeError::Range)?,
            ),
            1 => ResultUtranItemPhysCellIdutran::PhysCellIdutraTdd(
                i64::try_from(d.extensible(0, 127)?).map_err(|_| DecodeError::Range)?,
            ),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `ResultUTRAN-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultUtranItem {
    /// `uARFCN`, `UARFCN`: INTEGER (0..16383, …)
    pub u_arfcn: i64,
    /// `physCellIDUTRAN`
    pub phys_cell_idutran: ResultUtranItemPhysCellIdutran,
    /// `uTRA-RSCP`, `UTRA-RSCP`: INTEGER (-5..91, …)
    pub u_tra_rscp: Option<i64>,
    /// `uTRA-EcN0`, `UTRA-EcN0`: INTEGER (0..49, …)
    pub u_tra_ec_n0: Option<i64>,
}
impl ResultUtranItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.u_tra_rscp.is_some());
        e.bit(self.u_tra_ec_n0.is_some());
        e.bit(false);
        e.extensible(self.u_arfcn.into(), 0, 16383)?;
        self.phys_cell_idutran.encode(e)?;
        if let Some(v) = &self.u_tra_rscp {
            e.extensible((*v).into(), -5, 91)?;
        }
        if let Some(v) = &self.u_tra_ec_n0 {
            e.extensible((*v).into(), 0, 49)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_u_tra_rscp = d.bit()?;
        let has_u_tra_ec_n0 = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let u_arfcn = i64::try_from(d.extensible(0, 16383)?).map_err(|_| DecodeError::Range)?;
        let phys_cell_idutran = ResultUtranItemPhysCellIdutran::decode(d)?;
        let u_tra_rscp = if has_u_tra_rscp {
            Some(i64::try_from(d.extensible(-5, 91)?).map_err(|_| DecodeError::Range)?)
        } else {
            None
        };
        let u_tra_ec_n0 = if has_u_tra_ec_n0 {
            Some(i64::try_from(d.extensible(0, 49)?).map_err(|_| DecodeError::Range)?)
        } else {
            None
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResultUtranItem { u_arfcn, phys_cell_idutran, u_tra_rscp, u_tra_ec_n0 })
    }
}

/// `ResultNR-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultNrItem {
    /// `nR-PCI`, `NR-PCI`: INTEGER (0..1007)
    pub n_r_pci: u16,
    /// `nR-ARFCN`, `NR-ARFCN`: INTEGER (0..3279165)
    pub n_r_arfcn: u32,
    /// `valueSS-RSRP-Cell`, `ValueRSRP-NR`: INTEGER (0..127)
    pub value_ss_rsrp_cell: Option<u8>,
    /// `valueSS-RSRQ-Cell`, `ValueRSRQ-NR`: INTEGER (0..127)
    pub value_ss_rsrq_cell: Option<u8>,
    /// `sS-RSRP-PerSSB`: SEQUENCE OF (SIZE (1..64))
    pub s_s_rsrp_per_ssb: Option<Vec<ResultSsRsrpPerSsbItem>>,
    /// `sS-RSRQ-PerSSB`: SEQUENCE OF (SIZE (1..64))
    pub s_s_rsrq_per_ssb: Option<Vec<ResultSsRsrqPerSsbItem>>,
    /// `cGI-NR`
    pub c_gi_nr: Option<CgiNr>,
}
impl ResultNrItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.value_ss_rsrp_cell.is_some());
        e.bit(self.value_ss_rsrq_cell.is_some());
        e.bit(self.s_s_rsrp_per_ssb.is_some());
        e.bit(self.s_s_rsrq_per_ssb.is_some());
        e.bit(self.c_gi_nr.is_some());
        e.bit(false);
        e.constrained(self.n_r_pci.into(), 0, 1007)?;
        e.constrained(self.n_r_arfcn.into(), 0, 3279165)?;
        if let Some(v) = &self.value_ss_rsrp_cell {
            e.constrained((*v).into(), 0, 127)?;
        }
        if let Some(v) = &self.value_ss_rsrq_cell {
            e.constrained((*v).into(), 0, 127)?;
        }
        if let Some(v) = &self.s_s_rsrp_per_ssb {
            e.count((*v).len(), Some(Size::range(1, 64)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        if let Some(v) = &self.s_s_rsrq_per_ssb {
            e.count((*v).len(), Some(Size::range(1, 64)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        if let Some(v) = &self.c_gi_nr {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_value_ss_rsrp_cell = d.bit()?;
        let has_value_ss_rsrq_cell = d.bit()?;
        let has_s_s_rsrp_per_ssb = d.bit()?;
        let has_s_s_rsrq_per_ssb = d.bit()?;
        let has_c_gi_nr = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let n_r_pci = d.constrained(0, 1007)? as u16;
        let n_r_arfcn = d.constrained(0, 3279165)? as u32;
        let value_ss_rsrp_cell = if has_value_ss_rsrp_cell { Some(d.constrained(0, 127)? as u8) } else { None };
        let value_ss_rsrq_cell = if has_value_ss_rsrq_cell { Some(d.constrained(0, 127)? as u8) } else { None };
        let s_s_rsrp_per_ssb = if has_s_s_rsrp_per_ssb {
            Some({
                let count = d.count(Some(Size::range(1, 64)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(ResultSsRsrpPerSsbItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        let s_s_rsrq_per_ssb = if has_s_s_rsrq_per_ssb {
            Some({
                let count = d.count(Some(Size::range(1, 64)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(ResultSsRsrqPerSsbItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        let c_gi_nr = if has_c_gi_nr { Some(CgiNr::decode(d)?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResultNrItem {
            n_r_pci,
            n_r_arfcn,
            value_ss_rsrp_cell,
            value_ss_rsrq_cell,
            s_s_rsrp_per_ssb,
            s_s_rsrq_per_ssb,
            c_gi_nr,
        })
    }
}

/// `ResultEUTRA-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultEutraItem {
    /// `pCI-EUTRA`, `PCI-EUTRA`: INTEGER (0..503, …)
    pub p_ci_eutra: i64,
    /// `eARFCN`, `EARFCN`: INTEGER (0..262143, …)
    pub e_arfcn: i64,
    /// `valueRSRP-EUTRA`, `ValueRSRP-EUTRA`: INTEGER (0..97, …)
    pub value_rsrp_eutra: Option<i64>,
    /// `valueRSRQ-EUTRA`, `ValueRSRQ-EUTRA`: INTEGER (0..34, …)
    pub value_rsrq_eutra: Option<i64>,
    /// `cGI-EUTRA`
    pub c_gi_eutra: Option<CgiEutra>,
}
impl ResultEutraItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.value_rsrp_eutra.is_some());
        e.bit(self.value_rsrq_eutra.is_some());
        e.bit(self.c_gi_eutra.is_some());
        e.bit(false);
        e.extensible(self.p_ci_eutra.into(), 0, 503)?;
        e.extensible(self.e_arfcn.into(), 0, 262143)?;
        if let Some(v) = &self.value_rsrp_eutra {
            e.extensible((*v).into(), 0, 97)?;
        }
        if let Some(v) = &self.value_rsrq_eutra {
            e.extensible((*v).into(), 0, 34)?;
        }
        if let Some(v) = &self.c_gi_eutra {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_value_rsrp_eutra = d.bit()?;
        let has_value_rsrq_eutra = d.bit()?;
        let has_c_gi_eutra = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_ci_eutra = i64::try_from(d.extensible(0, 503)?).map_err(|_| DecodeError::Range)?;
        let e_arfcn = i64::try_from(d.extensible(0, 262143)?).map_err(|_| DecodeError::Range)?;
        let value_rsrp_eutra = if has_value_rsrp_eutra {
            Some(i64::try_from(d.extensible(0, 97)?).map_err(|_| DecodeError::Range)?)
        } else {
            None
        };
        let value_rsrq_eutra = if has_value_rsrq_eutra {
            Some(i64::try_from(d.extensible(0, 34)?).map_err(|_| DecodeError::Range)?)
        } else {
            None
        };
        let c_gi_eutra = if has_c_gi_eutra { Some(CgiEutra::decode(d)?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ResultEutraItem { p_ci_eutra, e_arfcn, value_rsrp_eutra, value_rsrq_eutra, c_gi_eutra })
    }
}

/// One information element: `OtherRATMeasuredResultsValue-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum OtherRatMeasuredResultsValueChoiceExtension {
    /// `ResultNR`: SEQUENCE OF (SIZE (1..8))
    ResultNr(Vec<ResultNrItem>),
    /// `ResultEUTRA`: SEQUENCE OF (SIZE (1..8))
    ResultEutra(Vec<ResultEutraItem>),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for OtherRatMeasuredResultsValueChoiceExtension {
    fn default() -> Self {
        OtherRatMeasuredResultsValueChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl OtherRatMeasuredResultsValueChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            OtherRatMeasuredResultsValueChoiceExtension::ResultNr(v) => {
                element(e, 55, 1)?;
                e.open(|e| {
                    e.count((*v).len(), Some(Size::range(1, 8)))?;
                    for v in &(*v) {
                        (*v).encode(e)?;
                    }
                    Ok(())
                })?;
            }
            OtherRatMeasuredResultsValueChoiceExtension::ResultEutra(v) => {
                element(e, 56, 1)?;
                e.open(|e| {
                    e.count((*v).len(), Some(Size::range(1, 8)))?;
                    for v in &(*v) {
                        (*v).encode(e)?;
                    }
                    Ok(())
                })?;
            }
            OtherRatMeasuredResultsValueChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            55 => OtherRatMeasuredResultsValueChoiceExtension::ResultNr(d.open(|d| {
                Ok({
                    let count = d.count(Some(Size::range(1, 8)))?;
                    let mut list = Vec::with_capacity(d.reserve(count));
                    for _ in 0..count {
                        list.push(ResultNrItem::decode(d)?);
                    }
                    list
                })
            })?),
            56 => OtherRatMeasuredResultsValueChoiceExtension::ResultEutra(d.open(|d| {
                Ok({
                    let count = d.count(Some(Size::range(1, 8)))?;
                    let mut list = Vec::with_capacity(d.reserve(count));
                    for _ in 0..count {
                        list.push(ResultEutraItem::decode(d)?);
                    }
                    list
                })
            })?),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => OtherRatMeasuredResultsValueChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `OtherRATMeasuredResultsValue`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum OtherRatMeasuredResultsValue {
    /// `resultGERAN`: SEQUENCE OF (SIZE (1..8))
    ResultGeran(Vec<ResultGeranItem>),
    /// `resultUTRAN`: SEQUENCE OF (SIZE (1..8))
    ResultUtran(Vec<ResultUtranItem>),
    /// `choice-Extension`
    ChoiceExtension(OtherRatMeasuredResultsValueChoiceExtension),
}
impl Default for OtherRatMeasuredResultsValue {
    fn default() -> Self {
        OtherRatMeasuredResultsValue::ResultGeran(Default::default())
    }
}
impl OtherRatMeasuredResultsValue {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            OtherRatMeasuredResultsValue::ResultGeran(v) => {
                e.index(0, 3, false)?;
                e.count((*v).len(), Some(Size::range(1, 8)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
            }
            OtherRatMeasuredResultsValue::ResultUtran(v) => {
                e.index(1, 3, false)?;
                e.count((*v).len(), Some(Size::range(1, 8)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
            }
            OtherRatMeasuredResultsValue::ChoiceExtension(v) => {
                e.index(2, 3, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(3, false)? {
            0 => OtherRatMeasuredResultsValue::ResultGeran({
                let count = d.count(Some(Size::range(1, 8)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(ResultGeranItem::decode(d)?);
                }
                list
            }),
            1 => OtherRatMeasuredResultsValue::ResultUtran({
                let count = d.count(Some(Size::range(1, 8)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(ResultUtranItem::decode(d)?);
                }
                list
            }),
            2 => OtherRatMeasuredResultsValue::ChoiceExtension(OtherRatMeasuredResultsValueChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `WLANCountryCode`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WlanCountryCode {
    /// `unitedStates`
    #[default]
    UnitedStates,
    /// `europe`
    Europe,
    /// `japan`
    Japan,
    /// `global`
    Global,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl WlanCountryCode {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                WlanCountryCode::UnitedStates => 0,
                WlanCountryCode::Europe => 1,
                WlanCountryCode::Japan => 2,
                WlanCountryCode::Global => 3,
                WlanCountryCode::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => WlanCountryCode::UnitedStates,
            1 => WlanCountryCode::Europe,
            2 => WlanCountryCode::Japan,
            3 => WlanCountryCode::Global,
            other => WlanCountryCode::Other(other),
        })
    }
}

/// `WLANBand`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WlanBand {
    /// `band2dot4`
    #[default]
    Band2Dot4,
    /// `band5`
    Band5,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl WlanBand {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                WlanBand::Band2Dot4 => 0,
                WlanBand::Band5 => 1,
                WlanBand::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => WlanBand::Band2Dot4,
            1 => WlanBand::Band5,
            other => WlanBand::Other(other),
        })
    }
}

/// `WLANMeasurementResult-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WlanMeasurementResultItem {
    /// `wLAN-RSSI`, `WLAN-RSSI`: INTEGER (0..141, …)
    pub w_lan_rssi: i64,
    /// `sSID`, `SSID`: OCTET STRING (SIZE (1..32))
    pub s_sid: Option<Vec<u8>>,
    /// `bSSID`, `BSSID`: OCTET STRING (SIZE (6..6))
    pub b_ssid: Option<Vec<u8>>,
    /// `hESSID`, `HESSID`: OCTET STRING (SIZE (6..6))
    pub h_essid: Option<Vec<u8>>,
    /// `operatingClass`, `WLANOperatingClass`: INTEGER (0..255)
    pub operating_class: Option<u8>,
    /// `countryCode`
    pub country_code: Option<WlanCountryCode>,
    /// `wLANChannelList`: SEQUENCE OF (SIZE (1..16))
    pub w_lanchannel_list: Option<Vec<u8>>,
    /// `wLANBand`
    pub w_lanband: Option<WlanBand>,
}
impl WlanMeasurementResultItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.s_sid.is_some());
        e.bit(self.b_ssid.is_some());
        e.bit(self.h_essid.is_some());
        e.bit(self.operating_class.is_some());
        e.bit(self.country_code.is_some());
        e.bit(self.w_lanchannel_list.is_some());
        e.bit(self.w_lanband.is_some());
        e.bit(false);
        e.extensible(self.w_lan_rssi.into(), 0, 141)?;
        if let Some(v) = &self.s_sid {
            e.octet_string(&(*v), Some(Size::range(1, 32)))?;
        }
        if let Some(v) = &self.b_ssid {
            e.octet_string(&(*v), Some(Size::range(6, 6)))?;
        }
        if let Some(v) = &self.h_essid {
            e.octet_string(&(*v), Some(Size::range(6, 6)))?;
        }
        if let Some(v) = &self.operating_class {
            e.constrained((*v).into(), 0, 255)?;
        }
        if let Some(v) = &self.country_code {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.w_lanchannel_list {
            e.count((*v).len(), Some(Size::range(1, 16)))?;
            for v in &(*v) {
                e.constrained((*v).into(), 0, 255)?;
            }
        }
        if let Some(v) = &self.w_lanband {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_s_sid = d.bit()?;
        let has_b_ssid = d.bit()?;
        let has_h_essid = d.bit()?;
        let has_operating_class = d.bit()?;
        let has_country_code = d.bit()?;
        let has_w_lanchannel_list = d.bit()?;
        let has_w_lanband = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let w_lan_rssi = i64::try_from(d.extensible(0, 141)?).map_err(|_| DecodeError::Range)?;
        let s_sid = if has_s_sid { Some(d.octet_string(Some(Size::range(1, 32)))?) } else { None };
        let b_ssid = if has_b_ssid { Some(d.octet_string(Some(Size::range(6, 6)))?) } else { None };
        let h_essid = if has_h_essid { Some(d.octet_string(Some(Size::range(6, 6)))?) } else { None };
        let operating_class = if has_operating_class { Some(d.constrained(0, 255)? as u8) } else { None };
        let country_code = if has_country_code { Some(WlanCountryCode::decode(d)?) } else { None };
        let w_lanchannel_list = if has_w_lanchannel_list {
            Some({
                let count = d.count(Some(Size::range(1, 16)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(d.constrained(0, 255)? as u8);
                }
                list
            })
        } else {
            None
        };
        let w_lanband = if has_w_lanband { Some(WlanBand::decode(d)?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(WlanMeasurementResultItem {
            w_lan_rssi,
            s_sid,
            b_ssid,
            h_essid,
            operating_class,
            country_code,
            w_lanchannel_list,
            w_lanband,
        })
    }
}

/// `E-CIDMeasurementInitiationResponse`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ECidMeasurementInitiationResponse {
    /// `UE-Measurement-ID`, `UE-Measurement-ID`: INTEGER (1..15, …); information element 2, reject
    pub ue_measurement_id: i64,
    /// `UE-Measurement-ID`, `UE-Measurement-ID`: INTEGER (1..15, …); information element 6, reject
    pub ue_measurement_id_: i64,
    /// `E-CID-MeasurementResult`; information element 7, ignore
    pub e_cid_measurement_result: Option<Box<ECidMeasurementResult>>,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
    /// `Cell-Portion-ID`, `Cell-Portion-ID`: INTEGER (0..4095, …); information element 14, ignore
    pub cell_portion_id: Option<i64>,
    /// `OtherRATMeasurementResult`: SEQUENCE OF (SIZE (1..64)); information element 17, ignore
    pub other_ratmeasurement_result: Option<Vec<OtherRatMeasuredResultsValue>>,
    /// `WLANMeasurementResult`: SEQUENCE OF (SIZE (1..64)); information element 21, ignore
    pub wlanmeasurement_result: Option<Vec<WlanMeasurementResultItem>>,
}
impl ECidMeasurementInitiationResponse {
    pub(crate) fn count(&self) -> usize {
        1 + 1
            + usize::from(self.e_cid_measurement_result.is_some())
            + usize::from(self.criticality_diagnostics.is_some())
            + usize::from(self.cell_portion_id.is_some())
            + usize::from(self.other_ratmeasurement_result.is_some())
            + usize::from(self.wlanmeasurement_result.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 2, 0)?;
        e.open(|e| {
            e.extensible(self.ue_measurement_id.into(), 1, 15)?;
            Ok(())
        })?;
        element(e, 6, 0)?;
        e.open(|e| {
            e.extensible(self.ue_measurement_id_.into(), 1, 15)?;
            Ok(())
        })?;
        if let Some(v) = &self.e_cid_measurement_result {
            element(e, 7, 1)?;
            e.open(|e| {
                (**v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.cell_portion_id {
            element(e, 14, 1)?;
            e.open(|e| {
                e.extensible((*v).into(), 0, 4095)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.other_ratmeasurement_result {
            element(e, 17, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 64)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.wlanmeasurement_result {
            element(e, 21, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 64)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut ue_measurement_id = None;
        let mut ue_measurement_id_ = None;
        let mut e_cid_measurement_result = None;
        let mut criticality_diagnostics = None;
        let mut cell_portion_id = None;
        let mut other_ratmeasurement_result = None;
        let mut wlanmeasurement_result = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                2 => {
                    ue_measurement_id =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 15)?).map_err(|_| DecodeError::Range)?))?)
                }
                6 => {
                    ue_measurement_id_ =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 15)?).map_err(|_| DecodeError::Range)?))?)
                }
                7 => e_cid_measurement_result = Some(d.open(|d| Ok(Box::new(ECidMeasurementResult::decode(d)?)))?),
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                14 => {
                    cell_portion_id =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(0, 4095)?).map_err(|_| DecodeError::Range)?))?)
                }
                17 => {
                    other_ratmeasurement_result = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 64)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(OtherRatMeasuredResultsValue::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                21 => {
                    wlanmeasurement_result = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 64)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(WlanMeasurementResultItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ECidMeasurementInitiationResponse {
            ue_measurement_id: ue_measurement_id.ok_or(DecodeError::Missing(2))?,
            ue_measurement_id_: ue_measurement_id_.ok_or(DecodeError::Missing(6))?,
            e_cid_measurement_result,
            criticality_diagnostics,
            cell_portion_id,
            other_ratmeasurement_result,
            wlanmeasurement_result,
        })
    }
}

/// `PRS-Bandwidth-EUTRA`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrsBandwidthEutra {
    /// `bw6`
    #[default]
    Bw6,
    /// `bw15`
    Bw15,
    /// `bw25`
    Bw25,
    /// `bw50`
    Bw50,
    /// `bw75`
    Bw75,
    /// `bw100`
    Bw100,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl PrsBandwidthEutra {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PrsBandwidthEutra::Bw6 => 0,
                PrsBandwidthEutra::Bw15 => 1,
                PrsBandwidthEutra::Bw25 => 2,
                PrsBandwidthEutra::Bw50 => 3,
                PrsBandwidthEutra::Bw75 => 4,
                PrsBandwidthEutra::Bw100 => 5,
                PrsBandwidthEutra::Other(index) => index,
            },
            6,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(6, true)? {
            0 => PrsBandwidthEutra::Bw6,
            1 => PrsBandwidthEutra::Bw15,
            2 => PrsBandwidthEutra::Bw25,
            3 => PrsBandwidthEutra::Bw50,
            4 => PrsBandwidthEutra::Bw75,
            5 => PrsBandwidthEutra::Bw100,
            other => PrsBandwidthEutra::Other(other),
        })
    }
}

/// `CPLength-EUTRA`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CpLengthEutra {
    /// `normal`
    #[default]
    Normal,
    /// `extended`
    Extended,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl CpLengthEutra {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                CpLengthEutra::Normal => 0,
                CpLengthEutra::Extended => 1,
                CpLengthEutra::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => CpLengthEutra::Normal,
            1 => CpLengthEutra::Extended,
            other => CpLengthEutra::Other(other),
        })
    }
}

/// `NumberOfDlFrames-EUTRA`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NumberOfDlFramesEutra {
    /// `sf1`
    #[default]
    Sf1,
    /// `sf2`
    Sf2,
    /// `sf4`
    Sf4,
    /// `sf6`
    Sf6,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl NumberOfDlFramesEutra {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                NumberOfDlFramesEutra::Sf1 => 0,
                NumberOfDlFramesEutra::Sf2 => 1,
                NumberOfDlFramesEutra::Sf4 => 2,
                NumberOfDlFramesEutra::Sf6 => 3,
                NumberOfDlFramesEutra::Other(index) => index,
            },
            4,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, true)? {
            0 => NumberOfDlFramesEutra::Sf1,
            1 => NumberOfDlFramesEutra::Sf2,
            2 => NumberOfDlFramesEutra::Sf4,
            3 => NumberOfDlFramesEutra::Sf6,
            other => NumberOfDlFramesEutra::Other(other),
        })
    }
}

/// `NumberOfAntennaPorts-EUTRA`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NumberOfAntennaPortsEutra {
    /// `n1-or-n2`
    #[default]
    N1OrN2,
    /// `n4`
    N4,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl NumberOfAntennaPortsEutra {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                NumberOfAntennaPortsEutra::N1OrN2 => 0,
                NumberOfAntennaPortsEutra::N4 => 1,
                NumberOfAntennaPortsEutra::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => NumberOfAntennaPortsEutra::N1OrN2,
            1 => NumberOfAntennaPortsEutra::N4,
            other => NumberOfAntennaPortsEutra::Other(other),
        })
    }
}

/// One information element: `PRSMutingConfiguration-EUTRA-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum PrsMutingConfigurationEutraChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for PrsMutingConfigurationEutraChoiceExtension {
    fn default() -> Self {
        PrsMutingConfigurationEutraChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl PrsMutingConfigurationEutraChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            PrsMutingConfigurationEutraChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => PrsMutingConfigurationEutraChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `PRSMutingConfiguration-EUTRA`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum PrsMutingConfigurationEutra {
    /// `two`: BIT STRING (SIZE (2..2))
    Two(BitString),
    /// `four`: BIT STRING (SIZE (4..4))
    Four(BitString),
    /// `eight`: BIT STRING (SIZE (8..8))
    Eight(BitString),
    /// `sixteen`: BIT STRING (SIZE (16..16))
    Sixteen(BitString),
    /// `thirty-two`: BIT STRING (SIZE (32..32))
    ThirtyTwo(BitString),
    /// `sixty-four`: BIT STRING (SIZE (64..64))
    SixtyFour(BitString),
    /// `one-hundred-and-twenty-eight`: BIT STRING (SIZE (128..128))
    OneHundredAndTwentyEight(BitString),
    /// `two-hundred-and-fifty-six`: BIT STRING (SIZE (256..256))
    TwoHundredAndFiftySix(BitString),
    /// `five-hundred-and-twelve`: BIT STRING (SIZE (512..512))
    FiveHundredAndTwelve(BitString),
    /// `one-thousand-and-twenty-four`: BIT STRING (SIZE (1024..1024))
    OneThousandAndTwentyFour(BitString),
    /// `choice-Extension`
    ChoiceExtension(PrsMutingConfigurationEutraChoiceExtension),
}
impl Default for PrsMutingConfigurationEutra {
    fn default() -> Self {
        PrsMutingConfigurationEutra::Two(Default::default())
    }
}
impl PrsMutingConfigurationEutra {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            PrsMutingConfigurationEutra::Two(v) => {
                e.index(0, 11, false)?;
                e.bit_string(&(*v), Some(Size::range(2, 2)))?;
            }
            PrsMutingConfigurationEutra::Four(v) => {
                e.index(1, 11, false)?;
                e.bit_string(&(*v), Some(Size::range(4, 4)))?;
            }
            PrsMutingConfigurationEutra::Eight(v) => {
                e.index(2, 11, false)?;
                e.bit_string(&(*v), Some(Size::range(8, 8)))?;
            }
            PrsMutingConfigurationEutra::Sixteen(v) => {
                e.index(3, 11, false)?;
                e.bit_string(&(*v), Some(Size::range(16, 16)))?;
            }
            PrsMutingConfigurationEutra::ThirtyTwo(v) => {
                e.index(4, 11, false)?;
                e.bit_string(&(*v), Some(Size::range(32, 32)))?;
            }
            PrsMutingConfigurationEutra::SixtyFour(v) => {
                e.index(5, 11, false)?;
                e.bit_string(&(*v), Some(Size::range(64, 64)))?;
            }
            PrsMutingConfigurationEutra::OneHundredAndTwentyEight(v) => {
                e.index(6, 11, false)?;
                e.bit_string(&(*v), Some(Size::range(128, 128)))?;
            }
            PrsMutingConfigurationEutra::TwoHundredAndFiftySix(v) => {
                e.index(7, 11, false)?;
                e.bit_string(&(*v), Some(Size::range(256, 256)))?;
            }
            PrsMutingConfigurationEutra::FiveHundredAndTwelve(v) => {
                e.index(8, 11, false)?;
                e.bit_string(&(*v), Some(Size::range(512, 512)))?;
            }
            PrsMutingConfigurationEutra::OneThousandAndTwentyFour(v) => {
                e.index(9, 11, false)?;
                e.bit_string(&(*v), Some(Size::range(1024, 1024)))?;
            }
            PrsMutingConfigurationEutra::ChoiceExtension(v) => {
                e.index(10, 11, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(11, false)? {
            0 => PrsMutingConfigurationEutra::Two(d.bit_string(Some(Size::range(2, 2)))?),
            1 => PrsMutingConfigurationEutra::Four(d.bit_string(Some(Size::range(4, 4)))?),
            2 => PrsMutingConfigurationEutra::Eight(d.bit_string(Some(Size::range(8, 8)))?),
            3 => PrsMutingConfigurationEutra::Sixteen(d.bit_string(Some(Size::range(16, 16)))?),
            4 => PrsMutingConfigurationEutra::ThirtyTwo(d.bit_string(Some(Size::range(32, 32)))?),
            5 => PrsMutingConfigurationEutra::SixtyFour(d.bit_string(Some(Size::range(64, 64)))?),
            6 => PrsMutingConfigurationEutra::OneHundredAndTwentyEight(d.bit_string(Some(Size::range(128, 128)))?),
            7 => PrsMutingConfigurationEutra::TwoHundredAndFiftySix(d.bit_string(Some(Size::range(256, 256)))?),
            8 => PrsMutingConfigurationEutra::FiveHundredAndTwelve(d.bit_string(Some(Size::range(512, 512)))?),
            9 => PrsMutingConfigurationEutra::OneThousandAndTwentyFour(d.bit_string(Some(Size::range(1024, 1024)))?),
            10 => PrsMutingConfigurationEutra::ChoiceExtension(PrsMutingConfigurationEutraChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `TP-Type-EUTRA`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TpTypeEutra {
    /// `prs-only-tp`
    #[default]
    PrsOnlyTp,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TpTypeEutra {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TpTypeEutra::PrsOnlyTp => 0,
                TpTypeEutra::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => TpTypeEutra::PrsOnlyTp,
            other => TpTypeEutra::Other(other),
        })
    }
}

/// `DL-Bandwidth-EUTRA`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DlBandwidthEutra {
    /// `bw6`
    #[default]
    Bw6,
    /// `bw15`
    Bw15,
    /// `bw25`
    Bw25,
    /// `bw50`
    Bw50,
    /// `bw75`
    Bw75,
    /// `bw100`
    Bw100,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl DlBandwidthEutra {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                DlBandwidthEutra::Bw6 => 0,
                DlBandwidthEutra::Bw15 => 1,
                DlBandwidthEutra::Bw25 => 2,
                DlBandwidthEutra::Bw50 => 3,
                DlBandwidthEutra::Bw75 => 4,
                DlBandwidthEutra::Bw100 => 5,
                DlBandwidthEutra::Other(index) => index,
            },
            6,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(6, true)? {
            0 => DlBandwidthEutra::Bw6,
            1 => DlBandwidthEutra::Bw15,
            2 => DlBandwidthEutra::Bw25,
            3 => DlBandwidthEutra::Bw50,
            4 => DlBandwidthEutra::Bw75,
            5 => DlBandwidthEutra::Bw100,
            other => DlBandwidthEutra::Other(other),
        })
    }
}

/// `PRSOccasionGroup-EUTRA`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrsOccasionGroupEutra {
    /// `og2`
    #[default]
    Og2,
    /// `og4`
    Og4,
    /// `og8`
    Og8,
    /// `og16`
    Og16,
    /// `og32`
    Og32,
    /// `og64`
    Og64,
    /// `og128`
    Og128,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl PrsOccasionGroupEutra {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                PrsOccasionGroupEutra::Og2 => 0,
                PrsOccasionGroupEutra::Og4 => 1,
                PrsOccasionGroupEutra::Og8 => 2,
                PrsOccasionGroupEutra::Og16 => 3,
                PrsOccasionGroupEutra::Og32 => 4,
                PrsOccasionGroupEutra::Og64 => 5,
                PrsOccasionGroupEutra::Og128 => 6,
                PrsOccasionGroupEutra::Other(index) => index,
            },
            7,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(7, true)? {
            0 => PrsOccasionGroupEutra::Og2,
            1 => PrsOccasionGroupEutra::Og4,
            2 => PrsOccasionGroupEutra::Og8,
            3 => PrsOccasionGroupEutra::Og16,
            4 => PrsOccasionGroupEutra::Og32,
            5 => PrsOccasionGroupEutra::Og64,
            6 => PrsOccasionGroupEutra::Og128,
            other => PrsOccasionGroupEutra::Other(other),
        })
    }
}

/// `NumberOfFrequencyHoppingBands`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NumberOfFrequencyHoppingBands {
    /// `twobands`
    #[default]
    Twobands,
    /// `fourbands`
    Fourbands,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl NumberOfFrequencyHoppingBands {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                NumberOfFrequencyHoppingBands::Twobands => 0,
                NumberOfFrequencyHoppingBands::Fourbands => 1,
                NumberOfFrequencyHoppingBands::Other(index) => index,
            },
            2,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(2, true)? {
            0 => NumberOfFrequencyHoppingBands::Twobands,
            1 => NumberOfFrequencyHoppingBands::Fourbands,
            other => NumberOfFrequencyHoppingBands::Other(other),
        })
    }
}

/// `PRSFrequencyHoppingConfiguration-EUTRA`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsFrequencyHoppingConfigurationEutra {
    /// `noOfFreqHoppingBands`
    pub no_of_freq_hopping_bands: NumberOfFrequencyHoppingBands,
    /// `bandPositions`: SEQUENCE OF (SIZE (1..7))
    pub band_positions: Vec<i64>,
}
impl PrsFrequencyHoppingConfigurationEutra {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.no_of_freq_hopping_bands.encode(e)?;
        e.count(self.band_positions.len(), Some(Size::range(1, 7)))?;
        for v in &self.band_positions {
            e.extensible((*v).into(), 0, 15)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let no_of_freq_hopping_bands = NumberOfFrequencyHoppingBands::decode(d)?;
        let band_positions = {
            let count = d.count(Some(Size::range(1, 7)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(i64::try_from(d.extensible(0, 15)?).map_err(|_| DecodeError::Range)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsFrequencyHoppingConfigurationEutra { no_of_freq_hopping_bands, band_positions })
    }
}

/// `TDD-Config-EUTRA-Item-subframeAssignment`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TddConfigEutraItemSubframeAssignment {
    /// `sa0`
    #[default]
    Sa0,
    /// `sa1`
    Sa1,
    /// `sa2`
    Sa2,
    /// `sa3`
    Sa3,
    /// `sa4`
    Sa4,
    /// `sa5`
    Sa5,
    /// `sa6`
    Sa6,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TddConfigEutraItemSubframeAssignment {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TddConfigEutraItemSubframeAssignment::Sa0 => 0,
                TddConfigEutraItemSubframeAssignment::Sa1 => 1,
                TddConfigEutraItemSubframeAssignment::Sa2 => 2,
                TddConfigEutraItemSubframeAssignment::Sa3 => 3,
                TddConfigEutraItemSubframeAssignment::Sa4 => 4,
                TddConfigEutraItemSubframeAssignment::Sa5 => 5,
                TddConfigEutraItemSubframeAssignment::Sa6 => 6,
                TddConfigEutraItemSubframeAssignment::Other(index) => index,
            },
            7,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(7, true)? {
            0 => TddConfigEutraItemSubframeAssignment::Sa0,
            1 => TddConfigEutraItemSubframeAssignment::Sa1,
            2 => TddConfigEutraItemSubframeAssignment::Sa2,
            3 => TddConfigEutraItemSubframeAssignment::Sa3,
            4 => TddConfigEutraItemSubframeAssignment::Sa4,
            5 => TddConfigEutraItemSubframeAssignment::Sa5,
            6 => TddConfigEutraItemSubframeAssignment::Sa6,
            other => TddConfigEutraItemSubframeAssignment::Other(other),
        })
    }
}

/// `TDD-Config-EUTRA-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TddConfigEutraItem {
    /// `subframeAssignment`
    pub subframe_assignment: TddConfigEutraItemSubframeAssignment,
}
impl TddConfigEutraItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.subframe_assignment.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let subframe_assignment = TddConfigEutraItemSubframeAssignment::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TddConfigEutraItem { subframe_assignment })
    }
}

/// One information element: `OTDOACell-Information-Item-choice-Extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum OtdoaCellInformationItemChoiceExtension {
    /// `TDD-Config-EUTRA-Item`
    TddConfigEutraItem(TddConfigEutraItem),
    /// `CGI-NR`
    CgiNr(CgiNr),
    /// `SFNInitialisationTime-EUTRA`, `SFNInitialisationTime-EUTRA`: BIT STRING (SIZE (64..64))
    SfnInitialisationTimeEutra(BitString),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for OtdoaCellInformationItemChoiceExtension {
    fn default() -> Self {
        OtdoaCellInformationItemChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl OtdoaCellInformationItemChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            OtdoaCellInformationItemChoiceExtension::TddConfigEutraItem(v) => {
                element(e, 22, 1)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            OtdoaCellInformationItemChoiceExtension::CgiNr(v) => {
                element(e, 58, 1)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            OtdoaCellInformationItemChoiceExtension::SfnInitialisationTimeEutra(v) => {
                element(e, 59, 1)?;
                e.open(|e| {
                    e.bit_string(&(*v), Some(Size::range(64, 64)))?;
                    Ok(())
                })?;
            }
            OtdoaCellInformationItemChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            22 => OtdoaCellInformationItemChoiceExtension::TddConfigEutraItem(
                d.open(|d| Ok(TddConfigEutraItem::decode(d)?))?,
            ),
            58 => OtdoaCellInformationItemChoiceExtension::CgiNr(d.open(|d| Ok(CgiNr::decode(d)?))?),
            59 => OtdoaCellInformationItemChoiceExtension::SfnInitialisationTimeEutra(
                d.open(|d| Ok(d.bit_string(Some(Size::range(64, 64)))?))?,
            ),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => OtdoaCellInformationItemChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `OTDOACell-Information-Item`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum OtdoaCellInformationItem {
    /// `pCI-EUTRA`, `PCI-EUTRA`: INTEGER (0..503, …)
    PCiEutra(i64),
    /// `cGI-EUTRA`
    CGiEutra(CgiEutra),
    /// `tAC`, `TAC`: OCTET STRING (SIZE (3..3))
    TAc(Vec<u8>),
    /// `eARFCN`, `EARFCN`: INTEGER (0..262143, …)
    EArfcn(i64),
    /// `pRS-Bandwidth-EUTRA`
    PRsBandwidthEutra(PrsBandwidthEutra),
    /// `pRS-ConfigurationIndex-EUTRA`, `PRS-ConfigurationIndex-EUTRA`: INTEGER (0..4095, …)
    PRsConfigurationIndexEutra(i64),
    /// `cPLength-EUTRA`
    CPLengthEutra(CpLengthEutra),
    /// `numberOfDlFrames-EUTRA`
    NumberOfDlFramesEutra(NumberOfDlFramesEutra),
    /// `numberOfAntennaPorts-EUTRA`
    NumberOfAntennaPortsEutra(NumberOfAntennaPortsEutra),
    /// `sFNInitialisationTime-EUTRA`, `SFNInitialisationTime-EUTRA`: BIT STRING (SIZE (64..64))
    SFnInitialisationTimeEutra(BitString),
    /// `nG-RANAccessPointPosition`
    NGRanAccessPointPosition(NgRanAccessPointPosition),
    /// `pRSMutingConfiguration-EUTRA`
    PRsMutingConfigurationEutra(PrsMutingConfigurationEutra),
    /// `prsid-EUTRA`, `PRS-ID-EUTRA`: INTEGER (0..4095, …)
    PrsidEutra(i64),
    /// `tpid-EUTRA`, `TP-ID-EUTRA`: INTEGER (0..4095, …)
    TpidEutra(i64),
    /// `tpType-EUTRA`
    TpTypeEutra(TpTypeEutra),
    /// `numberOfDlFrames-Extended-EUTRA`, `NumberOfDlFrames-Extended-EUTRA`: INTEGER (1..160, …)
    NumberOfDlFramesExtendedEutra(i64),
    /// `crsCPlength-EUTRA`
    CrsCPlengthEutra(CpLengthEutra),
    /// `dL-Bandwidth-EUTRA`
    DLBandwidthEutra(DlBandwidthEutra),
    /// `pRSOccasionGroup-EUTRA`
    PRsOccasionGroupEutra(PrsOccasionGroupEutra),
    /// `pRSFrequencyHoppingConfiguration-EUTRA`
    PRsFrequencyHoppingConfigurationEutra(PrsFrequencyHoppingConfigurationEutra),
    /// `choice-Extension`
    ChoiceExtension(OtdoaCellInformationItemChoiceExtension),
}
impl Default for OtdoaCellInformationItem {
    fn default() -> Self {
        OtdoaCellInformationItem::PCiEutra(Default::default())
    }
}
impl OtdoaCellInformationItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            OtdoaCellInformationItem::PCiEutra(v) => {
                e.index(0, 21, false)?;
                e.extensible((*v).into(), 0, 503)?;
            }
            OtdoaCellInformationItem::CGiEutra(v) => {
                e.index(1, 21, false)?;
                (*v).encode(e)?;
            }
            OtdoaCellInformationItem::TAc(v) => {
                e.index(2, 21, false)?;
                e.octet_string(&(*v), Some(Size::range(3, 3)))?;
            }
            OtdoaCellInformationItem::EArfcn(v) => {
                e.index(3, 21, false)?;
                e.extensible((*v).into(), 0, 262143)?;
            }
            OtdoaCellInformationItem::PRsBandwidthEutra(v) => {
                e.index(4, 21, false)?;
                (*v).encode(e)?;
            }
            OtdoaCellInformationItem::PRsConfigurationIndexEutra(v) => {
                e.index(5, 21, false)?;
                e.extensible((*v).into(), 0, 4095)?;
            }
            OtdoaCellInformationItem::CPLengthEutra(v) => {
                e.index(6, 21, false)?;
                (*v).encode(e)?;
            }
            OtdoaCellInformationItem::NumberOfDlFramesEutra(v) => {
                e.index(7, 21, false)?;
                (*v).encode(e)?;
            }
            OtdoaCellInformationItem::NumberOfAntennaPortsEutra(v) => {
                e.index(8, 21, false)?;
                (*v).encode(e)?;
            }
            OtdoaCellInformationItem::SFnInitialisationTimeEutra(v) => {
                e.index(9, 21, false)?;
                e.bit_string(&(*v), Some(Size::range(64, 64)))?;
            }
            OtdoaCellInformationItem::NGRanAccessPointPosition(v) => {
                e.index(10, 21, false)?;
                (*v).encode(e)?;
            }
            OtdoaCellInformationItem::PRsMutingConfigurationEutra(v) => {
                e.index(11, 21, false)?;
                (*v).encode(e)?;
            }
            OtdoaCellInformationItem::PrsidEutra(v) => {
                e.index(12, 21, false)?;
                e.extensible((*v).into(), 0, 4095)?;
            }
            OtdoaCellInformationItem::TpidEutra(v) => {
                e.index(13, 21, false)?;
                e.extensible((*v).into(), 0, 4095)?;
            }
            OtdoaCellInformationItem::TpTypeEutra(v) => {
                e.index(14, 21, false)?;
                (*v).encode(e)?;
            }
            OtdoaCellInformationItem::NumberOfDlFramesExtendedEutra(v) => {
                e.index(15, 21, false)?;
                e.extensible((*v).into(), 1, 160)?;
            }
            OtdoaCellInformationItem::CrsCPlengthEutra(v) => {
                e.index(16, 21, false)?;
                (*v).encode(e)?;
            }
            OtdoaCellInformationItem::DLBandwidthEutra(v) => {
                e.index(17, 21, false)?;
                (*v).encode(e)?;
            }
            OtdoaCellInformationItem::PRsOccasionGroupEutra(v) => {
                e.index(18, 21, false)?;
                (*v).encode(e)?;
            }
            OtdoaCellInformationItem::PRsFrequencyHoppingConfigurationEutra(v) => {
                e.index(19, 21, false)?;
                (*v).encode(e)?;
            }
            OtdoaCellInformationItem::ChoiceExtension(v) => {
                e.index(20, 21, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(21, false)? {
            0 => OtdoaCellInformationItem::PCiEutra(
                i64::try_from(d.extensible(0, 503)?).map_err(|_| DecodeError::Range)?,
            ),
            1 => OtdoaCellInformationItem::CGiEutra(CgiEutra::decode(d)?),
            2 => OtdoaCellInformationItem::TAc(d.octet_string(Some(Size::range(3, 3)))?),
            3 => OtdoaCellInformationItem::EArfcn(
                i64::try_from(d.extensible(0, 262143)?).map_err(|_| DecodeError::Range)?,
            ),
            4 => OtdoaCellInformationItem::PRsBandwidthEutra(PrsBandwidthEutra::decode(d)?),
            5 => OtdoaCellInformationItem::PRsConfigurationIndexEutra(
                i64::try_from(d.extensible(0, 4095)?).map_err(|_| DecodeError::Range)?,
            ),
            6 => OtdoaCellInformationItem::CPLengthEutra(CpLengthEutra::decode(d)?),
            7 => OtdoaCellInformationItem::NumberOfDlFramesEutra(NumberOfDlFramesEutra::decode(d)?),
            8 => OtdoaCellInformationItem::NumberOfAntennaPortsEutra(NumberOfAntennaPortsEutra::decode(d)?),
            9 => OtdoaCellInformationItem::SFnInitialisationTimeEutra(d.bit_string(Some(Size::range(64, 64)))?),
            10 => OtdoaCellInformationItem::NGRanAccessPointPosition(NgRanAccessPointPosition::decode(d)?),
            11 => OtdoaCellInformationItem::PRsMutingConfigurationEutra(PrsMutingConfigurationEutra::decode(d)?),
            12 => OtdoaCellInformationItem::PrsidEutra(
                i64::try_from(d.extensible(0, 4095)?).map_err(|_| DecodeError::Range)?,
            ),
            13 => OtdoaCellInformationItem::TpidEutra(
                i64::try_from(d.extensible(0, 4095)?).map_err(|_| DecodeError::Range)?,
            ),
            14 => OtdoaCellInformationItem::TpTypeEutra(TpTypeEutra::decode(d)?),
            15 => OtdoaCellInformationItem::NumberOfDlFramesExtendedEutra(
                i64::try_from(d.extensible(1, 160)?).map_err(|_| DecodeError::Range)?,
            ),
            16 => OtdoaCellInformationItem::CrsCPlengthEutra(CpLengthEutra::decode(d)?),
            17 => OtdoaCellInformationItem::DLBandwidthEutra(DlBandwidthEutra::decode(d)?),
            18 => OtdoaCellInformationItem::PRsOccasionGroupEutra(PrsOccasionGroupEutra::decode(d)?),
            19 => OtdoaCellInformationItem::PRsFrequencyHoppingConfigurationEutra(
                PrsFrequencyHoppingConfigurationEutra::decode(d)?,
            ),
            20 => OtdoaCellInformationItem::ChoiceExtension(OtdoaCellInformationItemChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `OtdoaInformationResponse-otdoacellsItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OtdoaInformationResponseOtdoacellsItem {
    /// `oTDOACellInfo`: SEQUENCE OF (SIZE (1..63))
    pub o_tdoacell_info: Vec<OtdoaCellInformationItem>,
}
impl OtdoaInformationResponseOtdoacellsItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.count(self.o_tdoacell_info.len(), Some(Size::range(1, 63)))?;
        for v in &self.o_tdoacell_info {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let o_tdoacell_info = {
            let count = d.count(Some(Size::range(1, 63)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(OtdoaCellInformationItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(OtdoaInformationResponseOtdoacellsItem { o_tdoacell_info })
    }
}

/// `OTDOAInformationResponse`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OtdoaInformationResponse {
    /// `OTDOACells`: SEQUENCE OF (SIZE (1..3840)); information element 8, ignore
    pub otdoacells: Vec<OtdoaInformationResponseOtdoacellsItem>,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
}
impl OtdoaInformationResponse {
    pub(crate) fn count(&self) -> usize {
        1 + usize::from(self.criticality_diagnostics.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 8, 1)?;
        e.open(|e| {
            e.count(self.otdoacells.len(), Some(Size::range(1, 3840)))?;
            for v in &self.otdoacells {
                (*v).encode(e)?;
            }
            Ok(())
        })?;
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut otdoacells = None;
        let mut criticality_diagnostics = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                8 => {
                    otdoacells = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 3840)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(OtdoaInformationResponseOtdoacellsItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(OtdoaInformationResponse { otdoacells: otdoacells.ok_or(DecodeError::Missing(8))?, criticality_diagnostics })
    }
}

/// `SRSPreconfiguration-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SrsPreconfigurationItem {
    /// `sRSConfiguration`
    pub s_rsconfiguration: SrsConfiguration,
    /// `posValidityAreaCellList`: SEQUENCE OF (SIZE (1..32))
    pub pos_validity_area_cell_list: Vec<PosValidityAreaCellItem>,
}
impl SrsPreconfigurationItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.s_rsconfiguration.encode(e)?;
        e.count(self.pos_validity_area_cell_list.len(), Some(Size::range(1, 32)))?;
        for v in &self.pos_validity_area_cell_list {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let s_rsconfiguration = SrsConfiguration::decode(d)?;
        let pos_validity_area_cell_list = {
            let count = d.count(Some(Size::range(1, 32)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(PosValidityAreaCellItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SrsPreconfigurationItem { s_rsconfiguration, pos_validity_area_cell_list })
    }
}

/// `Remote-UE-Indication`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RemoteUeIndication {
    /// `l2-u2n-remote-ue`
    #[default]
    L2U2NRemoteUe,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl RemoteUeIndication {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                RemoteUeIndication::L2U2NRemoteUe => 0,
                RemoteUeIndication::Other(index) => index,
            },
            1,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(1, true)? {
            0 => RemoteUeIndication::L2U2NRemoteUe,
            other => RemoteUeIndication::Other(other),
        })
    }
}

/// `PositioningInformationResponse`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PositioningInformationResponse {
    /// `SRSConfiguration`; information element 26, ignore
    pub srsconfiguration: Option<SrsConfiguration>,
    /// `RelativeTime1900`, `RelativeTime1900`: BIT STRING (SIZE (64..64)); information element 54, ignore
    pub relative_time1900: Option<BitString>,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
    /// `UETxTEGAssociationList`: SEQUENCE OF (SIZE (1..256)); information element 81, ignore
    pub uetx_tegassociation_list: Option<Vec<UeTxTegAssociationItem>>,
    /// `CGI-NR`; information element 113, ignore
    pub cgi_nr: Option<CgiNr>,
    /// `PosValidityAreaCellList`: SEQUENCE OF (SIZE (1..32)); information element 128, ignore
    pub pos_validity_area_cell_list: Option<Vec<PosValidityAreaCellItem>>,
    /// `SRSPreconfiguration-List`: SEQUENCE OF (SIZE (1..16)); information element 137, ignore
    pub srspreconfiguration_list: Option<Vec<SrsPreconfigurationItem>>,
    /// `Remote-UE-Indication`; information element 160, ignore
    pub remote_ue_indication: Option<RemoteUeIndication>,
}
impl PositioningInformationResponse {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.srsconfiguration.is_some())
            + usize::from(self.relative_time1900.is_some())
            + usize::from(self.criticality_diagnostics.is_some())
            + usize::from(self.uetx_tegassociation_list.is_some())
            + usize::from(self.cgi_nr.is_some())
            + usize::from(self.pos_validity_area_cell_list.is_some())
            + usize::from(self.srspreconfiguration_list.is_some())
            + usize::from(self.remote_ue_indication.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        if let Some(v) = &self.srsconfiguration {
            element(e, 26, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.relative_time1900 {
            element(e, 54, 1)?;
            e.open(|e| {
                e.bit_string(&(*v), Some(Size::range(64, 64)))?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.uetx_tegassociation_list {
            element(e, 81, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 256)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.cgi_nr {
            element(e, 113, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.pos_validity_area_cell_list {
            element(e, 128, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 32)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.srspreconfiguration_list {
            element(e, 137, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 16)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.remote_ue_indication {
            element(e, 160, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut srsconfiguration = None;
        let mut relative_time1900 = None;
        let mut criticality_diagnostics = None;
        let mut uetx_tegassociation_list = None;
        let mut cgi_nr = None;
        let mut pos_validity_area_cell_list = None;
        let mut srspreconfiguration_list = None;
        let mut remote_ue_indication = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                26 => srsconfiguration = Some(d.open(|d| Ok(SrsConfiguration::decode(d)?))?),
                54 => relative_time1900 = Some(d.open(|d| Ok(d.bit_string(Some(Size::range(64, 64)))?))?),
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                81 => {
                    uetx_tegassociation_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 256)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(UeTxTegAssociationItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                113 => cgi_nr = Some(d.open(|d| Ok(CgiNr::decode(d)?))?),
                128 => {
                    pos_validity_area_cell_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 32)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(PosValidityAreaCellItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                137 => {
                    srspreconfiguration_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 16)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(SrsPreconfigurationItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                160 => remote_ue_indication = Some(d.open(|d| Ok(RemoteUeIndication::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PositioningInformationResponse {
            srsconfiguration,
            relative_time1900,
            criticality_diagnostics,
            uetx_tegassociation_list,
            cgi_nr,
            pos_validity_area_cell_list,
            srspreconfiguration_list,
            remote_ue_indication,
        })
    }
}

/// `MeasurementResponse`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasurementResponse {
    /// `Measurement-ID`, `Measurement-ID`: INTEGER (1..65536, …); information element 39, reject
    pub measurement_id: i64,
    /// `Measurement-ID`, `Measurement-ID`: INTEGER (1..65536, …); information element 40, reject
    pub measurement_id_: i64,
    /// `TRP-MeasurementResponseList`: SEQUENCE OF (SIZE (1..64)); information element 42, reject
    pub trp_measurement_response_list: Option<Vec<TrpMeasurementResponseItem>>,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
}
impl MeasurementResponse {
    pub(crate) fn count(&self) -> usize {
        1 + 1
            + usize::from(self.trp_measurement_response_list.is_some())
            + usize::from(self.criticality_diagnostics.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 39, 0)?;
        e.open(|e| {
            e.extensible(self.measurement_id.into(), 1, 65536)?;
            Ok(())
        })?;
        element(e, 40, 0)?;
        e.open(|e| {
            e.extensible(self.measurement_id_.into(), 1, 65536)?;
            Ok(())
        })?;
        if let Some(v) = &self.trp_measurement_response_list {
            element(e, 42, 0)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 64)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut measurement_id = None;
        let mut measurement_id_ = None;
        let mut trp_measurement_response_list = None;
        let mut criticality_diagnostics = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                39 => {
                    measurement_id =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 65536)?).map_err(|_| DecodeError::Range)?))?)
                }
                40 => {
                    measurement_id_ =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 65536)?).map_err(|_| DecodeError::Range)?))?)
                }
                42 => {
                    trp_measurement_response_list = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 64)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(TrpMeasurementResponseItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(MeasurementResponse {
            measurement_id: measurement_id.ok_or(DecodeError::Missing(39))?,
            measurement_id_: measurement_id_.ok_or(DecodeError::Missing(40))?,
            trp_measurement_response_list,
            criticality_diagnostics,
        })
    }
}

/// The information elements of `PRSAngleItem-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsAngleItemIEExtensions {
    /// `PRS-Resource-ID`, `PRS-Resource-ID`: INTEGER (0..63); information element 65, ignore
    pub prs_resource_id: Option<u8>,
}
impl PrsAngleItemIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.prs_resource_id.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.prs_resource_id {
            element(e, 65, 1)?;
            e.open(|e| {
                e.constrained((*v).into(), 0, 63)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut prs_resource_id = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                65 => prs_resource_id = Some(d.open(|d| Ok(d.constrained(0, 63)? as u8))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(PrsAngleItemIEExtensions { prs_resource_id })
    }
}

/// `PRSAngleItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsAngleItem {
    /// `nRPRSAzimuth`: INTEGER (0..359)
    pub n_rprsazimuth: u16,
    /// `nRPRSAzimuthFine`: INTEGER (0..9)
    pub n_rprsazimuth_fine: Option<u8>,
    /// `nRPRSElevation`: INTEGER (0..180)
    pub n_rprselevation: Option<u8>,
    /// `nRPRSElevationFine`: INTEGER (0..9)
    pub n_rprselevation_fine: Option<u8>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<PrsAngleItemIEExtensions>,
}
impl PrsAngleItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.n_rprsazimuth_fine.is_some());
        e.bit(self.n_rprselevation.is_some());
        e.bit(self.n_rprselevation_fine.is_some());
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        e.constrained(self.n_rprsazimuth.into(), 0, 359)?;
        if let Some(v) = &self.n_rprsazimuth_fine {
            e.constrained((*v).into(), 0, 9)?;
        }
        if let Some(v) = &self.n_rprselevation {
            e.constrained((*v).into(), 0, 180)?;
        }
        if let Some(v) = &self.n_rprselevation_fine {
            e.constrained((*v).into(), 0, 9)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_n_rprsazimuth_fine = d.bit()?;
        let has_n_rprselevation = d.bit()?;
        let has_n_rprselevation_fine = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let n_rprsazimuth = d.constrained(0, 359)? as u16;
        let n_rprsazimuth_fine = if has_n_rprsazimuth_fine { Some(d.constrained(0, 9)? as u8) } else { None };
        let n_rprselevation = if has_n_rprselevation { Some(d.constrained(0, 180)? as u8) } else { None };
        let n_rprselevation_fine = if has_n_rprselevation_fine { Some(d.constrained(0, 9)? as u8) } else { None };
        let i_e_extensions = if has_i_e_extensions {
            Some(PrsAngleItemIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsAngleItem { n_rprsazimuth, n_rprsazimuth_fine, n_rprselevation, n_rprselevation_fine, i_e_extensions })
    }
}

/// `NR-PRS-Beam-InformationItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NrPrsBeamInformationItem {
    /// `pRSresourceSetID`, `PRS-Resource-Set-ID`: INTEGER (0..7)
    pub p_rsresource_set_id: u8,
    /// `pRSAngle`: SEQUENCE OF (SIZE (1..64))
    pub p_rsangle: Vec<PrsAngleItem>,
}
impl NrPrsBeamInformationItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.p_rsresource_set_id.into(), 0, 7)?;
        e.count(self.p_rsangle.len(), Some(Size::range(1, 64)))?;
        for v in &self.p_rsangle {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_rsresource_set_id = d.constrained(0, 7)? as u8;
        let p_rsangle = {
            let count = d.count(Some(Size::range(1, 64)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(PrsAngleItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(NrPrsBeamInformationItem { p_rsresource_set_id, p_rsangle })
    }
}

/// `LCS-to-GCS-TranslationItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LcsToGcsTranslationItem {
    /// `alpha`: INTEGER (0..359)
    pub alpha: u16,
    /// `alphaFine`: INTEGER (0..9)
    pub alpha_fine: Option<u8>,
    /// `beta`: INTEGER (0..359)
    pub beta: u16,
    /// `betaFine`: INTEGER (0..9)
    pub beta_fine: Option<u8>,
    /// `gamma`: INTEGER (0..359)
    pub gamma: u16,
    /// `gammaFine`: INTEGER (0..9)
    pub gamma_fine: Option<u8>,
}
impl LcsToGcsTranslationItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.alpha_fine.is_some());
        e.bit(self.beta_fine.is_some());
        e.bit(self.gamma_fine.is_some());
        e.bit(false);
        e.constrained(self.alpha.into(), 0, 359)?;
        if let Some(v) = &self.alpha_fine {
            e.constrained((*v).into(), 0, 9)?;
        }
        e.constrained(self.beta.into(), 0, 359)?;
        if let Some(v) = &self.beta_fine {
            e.constrained((*v).into(), 0, 9)?;
        }
        e.constrained(self.gamma.into(), 0, 359)?;
        if let Some(v) = &self.gamma_fine {
            e.constrained((*v).into(), 0, 9)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_alpha_fine = d.bit()?;
        let has_beta_fine = d.bit()?;
        let has_gamma_fine = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let alpha = d.constrained(0, 359)? as u16;
        let alpha_fine = if has_alpha_fine { Some(d.constrained(0, 9)? as u8) } else { None };
        let beta = d.constrained(0, 359)? as u16;
        let beta_fine = if has_beta_fine { Some(d.constrained(0, 9)? as u8) } else { None };
        let gamma = d.constrained(0, 359)? as u16;
        let gamma_fine = if has_gamma_fine { Some(d.constrained(0, 9)? as u8) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(LcsToGcsTranslationItem { alpha, alpha_fine, beta, beta_fine, gamma, gamma_fine })
    }
}

/// `NR-PRS-Beam-Information`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NrPrsBeamInformation {
    /// `nR-PRS-Beam-InformationList`: SEQUENCE OF (SIZE (1..2))
    pub n_r_prs_beam_information_list: Vec<NrPrsBeamInformationItem>,
    /// `lCS-to-GCS-TranslationList`: SEQUENCE OF (SIZE (1..3))
    pub l_cs_to_gcs_translation_list: Option<Vec<LcsToGcsTranslationItem>>,
}
impl NrPrsBeamInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.l_cs_to_gcs_translation_list.is_some());
        e.bit(false);
        e.count(self.n_r_prs_beam_information_list.len(), Some(Size::range(1, 2)))?;
        for v in &self.n_r_prs_beam_information_list {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.l_cs_to_gcs_translation_list {
            e.count((*v).len(), Some(Size::range(1, 3)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_l_cs_to_gcs_translation_list = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let n_r_prs_beam_information_list = {
            let count = d.count(Some(Size::range(1, 2)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(NrPrsBeamInformationItem::decode(d)?);
            }
            list
        };
        let l_cs_to_gcs_translation_list = if has_l_cs_to_gcs_translation_list {
            Some({
                let count = d.count(Some(Size::range(1, 3)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(LcsToGcsTranslationItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(NrPrsBeamInformation { n_r_prs_beam_information_list, l_cs_to_gcs_translation_list })
    }
}

/// `SpatialDirectionInformation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SpatialDirectionInformation {
    /// `nR-PRS-Beam-Information`
    pub n_r_prs_beam_information: NrPrsBeamInformation,
}
impl SpatialDirectionInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.n_r_prs_beam_information.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let n_r_prs_beam_information = NrPrsBeamInformation::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(SpatialDirectionInformation { n_r_prs_beam_information })
    }
}

/// `TRPType`: ENUMERATED.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrpType {
    /// `prsOnlyTP`
    #[default]
    PrsOnlyTp,
    /// `srsOnlyRP`
    SrsOnlyRp,
    /// `tp`
    Tp,
    /// `rp`
    Rp,
    /// `trp`
    Trp,
    /// `mobile-trp`
    MobileTrp,
    /// One that is not known here; its index in the whole enumeration.
    Other(u64),
}
impl TrpType {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.index(
            match *self {
                TrpType::PrsOnlyTp => 0,
                TrpType::SrsOnlyRp => 1,
                TrpType::Tp => 2,
                TrpType::Rp => 3,
                TrpType::Trp => 4,
                TrpType::MobileTrp => 5,
                TrpType::Other(index) => index,
            },
            5,
            true,
        )
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(5, true)? {
            0 => TrpType::PrsOnlyTp,
            1 => TrpType::SrsOnlyRp,
            2 => TrpType::Tp,
            3 => TrpType::Rp,
            4 => TrpType::Trp,
            5 => TrpType::MobileTrp,
            other => TrpType::Other(other),
        })
    }
}

/// `OnDemandPRS-Info`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OnDemandPrsInfo {
    /// `onDemandPRSRequestAllowed`: BIT STRING (SIZE (16..16))
    pub on_demand_prsrequest_allowed: BitString,
    /// `allowedResourceSetPeriodicityValues`: BIT STRING (SIZE (24..24))
    pub allowed_resource_set_periodicity_values: Option<BitString>,
    /// `allowedPRSBandwidthValues`: BIT STRING (SIZE (64..64))
    pub allowed_prsbandwidth_values: Option<BitString>,
    /// `allowedResourceRepetitionFactorValues`: BIT STRING (SIZE (8..8))
    pub allowed_resource_repetition_factor_values: Option<BitString>,
    /// `allowedResourceNumberOfSymbolsValues`: BIT STRING (SIZE (8..8))
    pub allowed_resource_number_of_symbols_values: Option<BitString>,
    /// `allowedCombSizeValues`: BIT STRING (SIZE (8..8))
    pub allowed_comb_size_values: Option<BitString>,
}
impl OnDemandPrsInfo {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.allowed_resource_set_periodicity_values.is_some());
        e.bit(self.allowed_prsbandwidth_values.is_some());
        e.bit(self.allowed_resource_repetition_factor_values.is_some());
        e.bit(self.allowed_resource_number_of_symbols_values.is_some());
        e.bit(self.allowed_comb_size_values.is_some());
        e.bit(false);
        e.bit_string(&self.on_demand_prsrequest_allowed, Some(Size::range(16, 16)))?;
        if let Some(v) = &self.allowed_resource_set_periodicity_values {
            e.bit_string(&(*v), Some(Size::range(24, 24)))?;
        }
        if let Some(v) = &self.allowed_prsbandwidth_values {
            e.bit_string(&(*v), Some(Size::range(64, 64)))?;
        }
        if let Some(v) = &self.allowed_resource_repetition_factor_values {
            e.bit_string(&(*v), Some(Size::range(8, 8)))?;
        }
        if let Some(v) = &self.allowed_resource_number_of_symbols_values {
            e.bit_string(&(*v), Some(Size::range(8, 8)))?;
        }
        if let Some(v) = &self.allowed_comb_size_values {
            e.bit_string(&(*v), Some(Size::range(8, 8)))?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_allowed_resource_set_periodicity_values = d.bit()?;
        let has_allowed_prsbandwidth_values = d.bit()?;
        let has_allowed_resource_repetition_factor_values = d.bit()?;
        let has_allowed_resource_number_of_symbols_values = d.bit()?;
        let has_allowed_comb_size_values = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let on_demand_prsrequest_allowed = d.bit_string(Some(Size::range(16, 16)))?;
        let allowed_resource_set_periodicity_values = if has_allowed_resource_set_periodicity_values {
            Some(d.bit_string(Some(Size::range(24, 24)))?)
        } else {
            None
        };
        let allowed_prsbandwidth_values =
            if has_allowed_prsbandwidth_values { Some(d.bit_string(Some(Size::range(64, 64)))?) } else { None };
        let allowed_resource_repetition_factor_values = if has_allowed_resource_repetition_factor_values {
            Some(d.bit_string(Some(Size::range(8, 8)))?)
        } else {
            None
        };
        let allowed_resource_number_of_symbols_values = if has_allowed_resource_number_of_symbols_values {
            Some(d.bit_string(Some(Size::range(8, 8)))?)
        } else {
            None
        };
        let allowed_comb_size_values =
            if has_allowed_comb_size_values { Some(d.bit_string(Some(Size::range(8, 8)))?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(OnDemandPrsInfo {
            on_demand_prsrequest_allowed,
            allowed_resource_set_periodicity_values,
            allowed_prsbandwidth_values,
            allowed_resource_repetition_factor_values,
            allowed_resource_number_of_symbols_values,
            allowed_comb_size_values,
        })
    }
}

/// `DLPRSResourceID-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DlprsResourceIdItem {
    /// `dl-PRSResourceID`, `PRS-Resource-ID`: INTEGER (0..63)
    pub dl_prsresource_id: u8,
}
impl DlprsResourceIdItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.constrained(self.dl_prsresource_id.into(), 0, 63)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let dl_prsresource_id = d.constrained(0, 63)? as u8;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(DlprsResourceIdItem { dl_prsresource_id })
    }
}

/// `TRPTEGItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrptegItem {
    /// `tRP-Tx-TEGInformation`
    pub t_rp_tx_teginformation: TrpTxTegInformation,
    /// `dl-PRSResourceSetID`, `PRS-Resource-Set-ID`: INTEGER (0..7)
    pub dl_prsresource_set_id: u8,
    /// `dl-PRSResourceID-List`: SEQUENCE OF (SIZE (1..64))
    pub dl_prsresource_id_list: Option<Vec<DlprsResourceIdItem>>,
}
impl TrptegItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.dl_prsresource_id_list.is_some());
        e.bit(false);
        self.t_rp_tx_teginformation.encode(e)?;
        e.constrained(self.dl_prsresource_set_id.into(), 0, 7)?;
        if let Some(v) = &self.dl_prsresource_id_list {
            e.count((*v).len(), Some(Size::range(1, 64)))?;
            for v in &(*v) {
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_dl_prsresource_id_list = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rp_tx_teginformation = TrpTxTegInformation::decode(d)?;
        let dl_prsresource_set_id = d.constrained(0, 7)? as u8;
        let dl_prsresource_id_list = if has_dl_prsresource_id_list {
            Some({
                let count = d.count(Some(Size::range(1, 64)))?;
                let mut list = Vec::with_capacity(d.reserve(count));
                for _ in 0..count {
                    list.push(DlprsResourceIdItem::decode(d)?);
                }
                list
            })
        } else {
            None
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrptegItem { t_rp_tx_teginformation, dl_prsresource_set_id, dl_prsresource_id_list })
    }
}

/// `TRP-Beam-Power-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpBeamPowerItem {
    /// `pRSResourceSetID`, `PRS-Resource-Set-ID`: INTEGER (0..7)
    pub p_rsresource_set_id: Option<u8>,
    /// `pRSResourceID`, `PRS-Resource-ID`: INTEGER (0..63)
    pub p_rsresource_id: u8,
    /// `relativePower`: INTEGER (0..30)
    pub relative_power: u8,
    /// `relativePowerFine`: INTEGER (0..9)
    pub relative_power_fine: Option<u8>,
}
impl TrpBeamPowerItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.p_rsresource_set_id.is_some());
        e.bit(self.relative_power_fine.is_some());
        e.bit(false);
        if let Some(v) = &self.p_rsresource_set_id {
            e.constrained((*v).into(), 0, 7)?;
        }
        e.constrained(self.p_rsresource_id.into(), 0, 63)?;
        e.constrained(self.relative_power.into(), 0, 30)?;
        if let Some(v) = &self.relative_power_fine {
            e.constrained((*v).into(), 0, 9)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_p_rsresource_set_id = d.bit()?;
        let has_relative_power_fine = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let p_rsresource_set_id = if has_p_rsresource_set_id { Some(d.constrained(0, 7)? as u8) } else { None };
        let p_rsresource_id = d.constrained(0, 63)? as u8;
        let relative_power = d.constrained(0, 30)? as u8;
        let relative_power_fine = if has_relative_power_fine { Some(d.constrained(0, 9)? as u8) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpBeamPowerItem { p_rsresource_set_id, p_rsresource_id, relative_power, relative_power_fine })
    }
}

/// `TRP-ElevationAngleList-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpElevationAngleListItem {
    /// `trp-elevation-angle`: INTEGER (0..180)
    pub trp_elevation_angle: u8,
    /// `trp-elevation-angle-fine`: INTEGER (0..9)
    pub trp_elevation_angle_fine: Option<u8>,
    /// `trp-beam-power-list`: SEQUENCE OF (SIZE (2..24))
    pub trp_beam_power_list: Vec<TrpBeamPowerItem>,
}
impl TrpElevationAngleListItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.trp_elevation_angle_fine.is_some());
        e.bit(false);
        e.constrained(self.trp_elevation_angle.into(), 0, 180)?;
        if let Some(v) = &self.trp_elevation_angle_fine {
            e.constrained((*v).into(), 0, 9)?;
        }
        e.count(self.trp_beam_power_list.len(), Some(Size::range(2, 24)))?;
        for v in &self.trp_beam_power_list {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_trp_elevation_angle_fine = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let trp_elevation_angle = d.constrained(0, 180)? as u8;
        let trp_elevation_angle_fine =
            if has_trp_elevation_angle_fine { Some(d.constrained(0, 9)? as u8) } else { None };
        let trp_beam_power_list = {
            let count = d.count(Some(Size::range(2, 24)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(TrpBeamPowerItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpElevationAngleListItem { trp_elevation_angle, trp_elevation_angle_fine, trp_beam_power_list })
    }
}

/// `TRP-BeamAntennaAnglesList-Item`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpBeamAntennaAnglesListItem {
    /// `trp-azimuth-angle`: INTEGER (0..359)
    pub trp_azimuth_angle: u16,
    /// `trp-azimuth-angle-fine`: INTEGER (0..9)
    pub trp_azimuth_angle_fine: Option<u8>,
    /// `trp-elevation-angle-list`: SEQUENCE OF (SIZE (1..1801))
    pub trp_elevation_angle_list: Vec<TrpElevationAngleListItem>,
}
impl TrpBeamAntennaAnglesListItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.trp_azimuth_angle_fine.is_some());
        e.bit(false);
        e.constrained(self.trp_azimuth_angle.into(), 0, 359)?;
        if let Some(v) = &self.trp_azimuth_angle_fine {
            e.constrained((*v).into(), 0, 9)?;
        }
        e.count(self.trp_elevation_angle_list.len(), Some(Size::range(1, 1801)))?;
        for v in &self.trp_elevation_angle_list {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_trp_azimuth_angle_fine = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let trp_azimuth_angle = d.constrained(0, 359)? as u16;
        let trp_azimuth_angle_fine = if has_trp_azimuth_angle_fine { Some(d.constrained(0, 9)? as u8) } else { None };
        let trp_elevation_angle_list = {
            let count = d.count(Some(Size::range(1, 1801)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(TrpElevationAngleListItem::decode(d)?);
            }
            list
        };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpBeamAntennaAnglesListItem { trp_azimuth_angle, trp_azimuth_angle_fine, trp_elevation_angle_list })
    }
}

/// `TRP-BeamAntennaExplicitInformation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpBeamAntennaExplicitInformation {
    /// `trp-BeamAntennaAngles`: SEQUENCE OF (SIZE (1..3600))
    pub trp_beam_antenna_angles: Vec<TrpBeamAntennaAnglesListItem>,
    /// `lcs-to-gcs-translation`
    pub lcs_to_gcs_translation: Option<LcsToGcsTranslation>,
}
impl TrpBeamAntennaExplicitInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.lcs_to_gcs_translation.is_some());
        e.bit(false);
        e.count(self.trp_beam_antenna_angles.len(), Some(Size::range(1, 3600)))?;
        for v in &self.trp_beam_antenna_angles {
            (*v).encode(e)?;
        }
        if let Some(v) = &self.lcs_to_gcs_translation {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_lcs_to_gcs_translation = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let trp_beam_antenna_angles = {
            let count = d.count(Some(Size::range(1, 3600)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(TrpBeamAntennaAnglesListItem::decode(d)?);
            }
            list
        };
        let lcs_to_gcs_translation =
            if has_lcs_to_gcs_translation { Some(LcsToGcsTranslation::decode(d)?) } else { None };
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpBeamAntennaExplicitInformation { trp_beam_antenna_angles, lcs_to_gcs_translation })
    }
}

/// One information element: `Choice-TRP-Beam-Antenna-Info-Item-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum ChoiceTrpBeamAntennaInfoItemChoiceExtension {
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for ChoiceTrpBeamAntennaInfoItemChoiceExtension {
    fn default() -> Self {
        ChoiceTrpBeamAntennaInfoItemChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl ChoiceTrpBeamAntennaInfoItemChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ChoiceTrpBeamAntennaInfoItemChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => ChoiceTrpBeamAntennaInfoItemChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `Choice-TRP-Beam-Antenna-Info-Item`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum ChoiceTrpBeamAntennaInfoItem {
    /// `reference`, `TRP-ID`: INTEGER (1..65535, …)
    Reference(i64),
    /// `explicit`
    Explicit(TrpBeamAntennaExplicitInformation),
    /// `noChange`: NULL
    NoChange,
    /// `choice-extension`
    ChoiceExtension(ChoiceTrpBeamAntennaInfoItemChoiceExtension),
}
impl Default for ChoiceTrpBeamAntennaInfoItem {
    fn default() -> Self {
        ChoiceTrpBeamAntennaInfoItem::Reference(Default::default())
    }
}
impl ChoiceTrpBeamAntennaInfoItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            ChoiceTrpBeamAntennaInfoItem::Reference(v) => {
                e.index(0, 4, false)?;
                e.extensible((*v).into(), 1, 65535)?;
            }
            ChoiceTrpBeamAntennaInfoItem::Explicit(v) => {
                e.index(1, 4, false)?;
                (*v).encode(e)?;
            }
            ChoiceTrpBeamAntennaInfoItem::NoChange => {
                e.index(2, 4, false)?;
            }
            ChoiceTrpBeamAntennaInfoItem::ChoiceExtension(v) => {
                e.index(3, 4, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(4, false)? {
            0 => ChoiceTrpBeamAntennaInfoItem::Reference(
                i64::try_from(d.extensible(1, 65535)?).map_err(|_| DecodeError::Range)?,
            ),
            1 => ChoiceTrpBeamAntennaInfoItem::Explicit(TrpBeamAntennaExplicitInformation::decode(d)?),
            2 => ChoiceTrpBeamAntennaInfoItem::NoChange,
            3 => ChoiceTrpBeamAntennaInfoItem::ChoiceExtension(ChoiceTrpBeamAntennaInfoItemChoiceExtension::decode(d)?),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// `TRPBeamAntennaInformation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpBeamAntennaInformation {
    /// `choice-TRP-Beam-Antenna-Info-Item`
    pub choice_trp_beam_antenna_info_item: ChoiceTrpBeamAntennaInfoItem,
}
impl TrpBeamAntennaInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.choice_trp_beam_antenna_info_item.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let choice_trp_beam_antenna_info_item = ChoiceTrpBeamAntennaInfoItem::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpBeamAntennaInformation { choice_trp_beam_antenna_info_item })
    }
}

/// `CommonTAParameters`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CommonTaParameters {
    /// `epochTime`: OCTET STRING
    pub epoch_time: Vec<u8>,
    /// `taInfo`: OCTET STRING
    pub ta_info: Vec<u8>,
}
impl CommonTaParameters {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.octet_string(&self.epoch_time, None)?;
        e.octet_string(&self.ta_info, None)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let epoch_time = d.octet_string(None)?;
        let ta_info = d.octet_string(None)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(CommonTaParameters { epoch_time, ta_info })
    }
}

/// One information element: `TRPInformationTypeResponseItem-choice-extension`.
#[derive(Debug, Clone, PartialEq)]
pub enum TrpInformationTypeResponseItemChoiceExtension {
    /// `TRPType`
    TrpType(TrpType),
    /// `OnDemandPRS-Info`
    OnDemandPrsInfo(Box<OnDemandPrsInfo>),
    /// `TRPTxTEGAssociation`: SEQUENCE OF (SIZE (1..8))
    TrpTxTegAssociation(Vec<TrptegItem>),
    /// `TRPBeamAntennaInformation`
    TrpBeamAntennaInformation(TrpBeamAntennaInformation),
    /// `Mobile-TRP-LocationInformation`
    MobileTrpLocationInformation(Box<MobileTrpLocationInformation>),
    /// `CommonTAParameters`
    CommonTaParameters(CommonTaParameters),
    /// One that is not known here: its identity, its criticality, and its octets.
    Other(u32, u8, Vec<u8>),
}
impl Default for TrpInformationTypeResponseItemChoiceExtension {
    fn default() -> Self {
        TrpInformationTypeResponseItemChoiceExtension::Other(0, 0, Vec::new())
    }
}
impl TrpInformationTypeResponseItemChoiceExtension {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TrpInformationTypeResponseItemChoiceExtension::TrpType(v) => {
                element(e, 62, 0)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            TrpInformationTypeResponseItemChoiceExtension::OnDemandPrsInfo(v) => {
                element(e, 68, 0)?;
                e.open(|e| {
                    (**v).encode(e)?;
                    Ok(())
                })?;
            }
            TrpInformationTypeResponseItemChoiceExtension::TrpTxTegAssociation(v) => {
                element(e, 84, 0)?;
                e.open(|e| {
                    e.count((*v).len(), Some(Size::range(1, 8)))?;
                    for v in &(*v) {
                        (*v).encode(e)?;
                    }
                    Ok(())
                })?;
            }
            TrpInformationTypeResponseItemChoiceExtension::TrpBeamAntennaInformation(v) => {
                element(e, 93, 0)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            TrpInformationTypeResponseItemChoiceExtension::MobileTrpLocationInformation(v) => {
                element(e, 114, 1)?;
                e.open(|e| {
                    (**v).encode(e)?;
                    Ok(())
                })?;
            }
            TrpInformationTypeResponseItemChoiceExtension::CommonTaParameters(v) => {
                element(e, 117, 0)?;
                e.open(|e| {
                    (*v).encode(e)?;
                    Ok(())
                })?;
            }
            TrpInformationTypeResponseItemChoiceExtension::Other(id, criticality, octets) => {
                element(e, *id, *criticality)?;
                e.open_octets(octets);
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let (id, criticality) = read_element(d)?;
        Ok(match id {
            62 => TrpInformationTypeResponseItemChoiceExtension::TrpType(d.open(|d| Ok(TrpType::decode(d)?))?),
            68 => TrpInformationTypeResponseItemChoiceExtension::OnDemandPrsInfo(
                d.open(|d| Ok(Box::new(OnDemandPrsInfo::decode(d)?)))?,
            ),
            84 => TrpInformationTypeResponseItemChoiceExtension::TrpTxTegAssociation(d.open(|d| {
                Ok({
                    let count = d.count(Some(Size::range(1, 8)))?;
                    let mut list = Vec::with_capacity(d.reserve(count));
                    for _ in 0..count {
                        list.push(TrptegItem::decode(d)?);
                    }
                    list
                })
            })?),
            93 => TrpInformationTypeResponseItemChoiceExtension::TrpBeamAntennaInformation(
                d.open(|d| Ok(TrpBeamAntennaInformation::decode(d)?))?,
            ),
            114 => TrpInformationTypeResponseItemChoiceExtension::MobileTrpLocationInformation(
                d.open(|d| Ok(Box::new(MobileTrpLocationInformation::decode(d)?)))?,
            ),
            117 => TrpInformationTypeResponseItemChoiceExtension::CommonTaParameters(
                d.open(|d| Ok(CommonTaParameters::decode(d)?))?,
            ),
            _ if criticality == 0 => return Err(DecodeError::NotUnderstood(id)),
            _ => TrpInformationTypeResponseItemChoiceExtension::Other(id, criticality, d.open_octets()?),
        })
    }
}

/// `TRPInformationTypeResponseItem`: CHOICE.
#[derive(Debug, Clone, PartialEq)]
pub enum TrpInformationTypeResponseItem {
    /// `pCI-NR`: INTEGER (0..1007)
    PCiNr(u16),
    /// `cGI-NR`
    CGiNr(CgiNr),
    /// `aRFCN`: INTEGER (0..3279165)
    ARfcn(u32),
    /// `pRSConfiguration`
    PRsConfiguration(PrsConfiguration),
    /// `sSBinformation`
    SSBinformation(SsbInfo),
    /// `sFNInitialisationTime`, `RelativeTime1900`: BIT STRING (SIZE (64..64))
    SFnInitialisationTime(BitString),
    /// `spatialDirectionInformation`
    SpatialDirectionInformation(SpatialDirectionInformation),
    /// `geographicalCoordinates`
    GeographicalCoordinates(Box<GeographicalCoordinates>),
    /// `choice-extension`
    ChoiceExtension(TrpInformationTypeResponseItemChoiceExtension),
}
impl Default for TrpInformationTypeResponseItem {
    fn default() -> Self {
        TrpInformationTypeResponseItem::PCiNr(Default::default())
    }
}
impl TrpInformationTypeResponseItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            TrpInformationTypeResponseItem::PCiNr(v) => {
                e.index(0, 9, false)?;
                e.constrained((*v).into(), 0, 1007)?;
            }
            TrpInformationTypeResponseItem::CGiNr(v) => {
                e.index(1, 9, false)?;
                (*v).encode(e)?;
            }
            TrpInformationTypeResponseItem::ARfcn(v) => {
                e.index(2, 9, false)?;
                e.constrained((*v).into(), 0, 3279165)?;
            }
            TrpInformationTypeResponseItem::PRsConfiguration(v) => {
                e.index(3, 9, false)?;
                (*v).encode(e)?;
            }
            TrpInformationTypeResponseItem::SSBinformation(v) => {
                e.index(4, 9, false)?;
                (*v).encode(e)?;
            }
            TrpInformationTypeResponseItem::SFnInitialisationTime(v) => {
                e.index(5, 9, false)?;
                e.bit_string(&(*v), Some(Size::range(64, 64)))?;
            }
            TrpInformationTypeResponseItem::SpatialDirectionInformation(v) => {
                e.index(6, 9, false)?;
                (*v).encode(e)?;
            }
            TrpInformationTypeResponseItem::GeographicalCoordinates(v) => {
                e.index(7, 9, false)?;
                (**v).encode(e)?;
            }
            TrpInformationTypeResponseItem::ChoiceExtension(v) => {
                e.index(8, 9, false)?;
                (*v).encode(e)?;
            }
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        Ok(match d.index(9, false)? {
            0 => TrpInformationTypeResponseItem::PCiNr(d.constrained(0, 1007)? as u16),
            1 => TrpInformationTypeResponseItem::CGiNr(CgiNr::decode(d)?),
            2 => TrpInformationTypeResponseItem::ARfcn(d.constrained(0, 3279165)? as u32),
            3 => TrpInformationTypeResponseItem::PRsConfiguration(PrsConfiguration::decode(d)?),
            4 => TrpInformationTypeResponseItem::SSBinformation(SsbInfo::decode(d)?),
            5 => TrpInformationTypeResponseItem::SFnInitialisationTime(d.bit_string(Some(Size::range(64, 64)))?),
            6 => TrpInformationTypeResponseItem::SpatialDirectionInformation(SpatialDirectionInformation::decode(d)?),
            7 => TrpInformationTypeResponseItem::GeographicalCoordinates(Box::new(GeographicalCoordinates::decode(d)?)),
            8 => TrpInformationTypeResponseItem::ChoiceExtension(
                TrpInformationTypeResponseItemChoiceExtension::decode(d)?,
            ),
            other => return Err(DecodeError::Index(other)),
        })
    }
}

/// The information elements of `TRPInformation-iE-Extensions`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpInformationIEExtensions {
    /// `Mobile-IAB-MT-UE-ID`, `Mobile-IAB-MT-UE-ID`: OCTET STRING; information element 115, reject
    pub mobile_iab_mt_ue_id: Option<Vec<u8>>,
}
impl TrpInformationIEExtensions {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.mobile_iab_mt_ue_id.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.count(self.count(), Some(Size::range(1, 65535)))?;
        if let Some(v) = &self.mobile_iab_mt_ue_id {
            element(e, 115, 0)?;
            e.open(|e| {
                e.octet_string(&(*v), None)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let count = d.count(Some(Size::range(1, 65535)))?;
        let mut mobile_iab_mt_ue_id = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                115 => mobile_iab_mt_ue_id = Some(d.open(|d| Ok(d.octet_string(None)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        Ok(TrpInformationIEExtensions { mobile_iab_mt_ue_id })
    }
}

/// `TRPInformation`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpInformation {
    /// `tRP-ID`, `TRP-ID`: INTEGER (1..65535, …)
    pub t_rp_id: i64,
    /// `tRPInformationTypeResponseList`: SEQUENCE OF (SIZE (1..64))
    pub t_rpinformation_type_response_list: Vec<TrpInformationTypeResponseItem>,
    /// `iE-Extensions`: SEQUENCE OF (SIZE (1..65535))
    pub i_e_extensions: Option<TrpInformationIEExtensions>,
}
impl TrpInformation {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(self.i_e_extensions.as_ref().is_some_and(|it| it.count() > 0));
        e.extensible(self.t_rp_id.into(), 1, 65535)?;
        e.count(self.t_rpinformation_type_response_list.len(), Some(Size::range(1, 64)))?;
        for v in &self.t_rpinformation_type_response_list {
            (*v).encode(e)?;
        }
        if let Some(v) = self.i_e_extensions.as_ref().filter(|it| it.count() > 0) {
            (*v).encode(e)?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rp_id = i64::try_from(d.extensible(1, 65535)?).map_err(|_| DecodeError::Range)?;
        let t_rpinformation_type_response_list = {
            let count = d.count(Some(Size::range(1, 64)))?;
            let mut list = Vec::with_capacity(d.reserve(count));
            for _ in 0..count {
                list.push(TrpInformationTypeResponseItem::decode(d)?);
            }
            list
        };
        let i_e_extensions = if has_i_e_extensions {
            Some(TrpInformationIEExtensions::decode(d)?).filter(|it| it.count() > 0)
        } else {
            None
        };
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpInformation { t_rp_id, t_rpinformation_type_response_list, i_e_extensions })
    }
}

/// `TrpInformationResponse-trpinformation_list_trprespItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpInformationResponseTrpinformationListTrprespItem {
    /// `tRPInformation`
    pub t_rpinformation: TrpInformation,
}
impl TrpInformationResponseTrpinformationListTrprespItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        self.t_rpinformation.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rpinformation = TrpInformation::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpInformationResponseTrpinformationListTrprespItem { t_rpinformation })
    }
}

/// `TRPInformationResponse`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpInformationResponse {
    /// `TRPInformationListTRPResp`: SEQUENCE OF (SIZE (1..65535)); information element 30, ignore
    pub trpinformation_list_trpresp: Vec<TrpInformationResponseTrpinformationListTrprespItem>,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
}
impl TrpInformationResponse {
    pub(crate) fn count(&self) -> usize {
        1 + usize::from(self.criticality_diagnostics.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 30, 1)?;
        e.open(|e| {
            e.count(self.trpinformation_list_trpresp.len(), Some(Size::range(1, 65535)))?;
            for v in &self.trpinformation_list_trpresp {
                (*v).encode(e)?;
            }
            Ok(())
        })?;
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut trpinformation_list_trpresp = None;
        let mut criticality_diagnostics = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                30 => {
                    trpinformation_list_trpresp = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 65535)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(TrpInformationResponseTrpinformationListTrprespItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpInformationResponse {
            trpinformation_list_trpresp: trpinformation_list_trpresp.ok_or(DecodeError::Missing(30))?,
            criticality_diagnostics,
        })
    }
}

/// `PositioningActivationResponse`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PositioningActivationResponse {
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
    /// `SystemFrameNumber`, `SystemFrameNumber`: INTEGER (0..1023); information element 49, ignore
    pub system_frame_number: Option<u16>,
    /// `SlotNumber`, `SlotNumber`: INTEGER (0..79); information element 50, ignore
    pub slot_number: Option<u8>,
}
impl PositioningActivationResponse {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.criticality_diagnostics.is_some())
            + usize::from(self.system_frame_number.is_some())
            + usize::from(self.slot_number.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.system_frame_number {
            element(e, 49, 1)?;
            e.open(|e| {
                e.constrained((*v).into(), 0, 1023)?;
                Ok(())
            })?;
        }
        if let Some(v) = &self.slot_number {
            element(e, 50, 1)?;
            e.open(|e| {
                e.constrained((*v).into(), 0, 79)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut criticality_diagnostics = None;
        let mut system_frame_number = None;
        let mut slot_number = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                49 => system_frame_number = Some(d.open(|d| Ok(d.constrained(0, 1023)? as u16))?),
                50 => slot_number = Some(d.open(|d| Ok(d.constrained(0, 79)? as u8))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PositioningActivationResponse { criticality_diagnostics, system_frame_number, slot_number })
    }
}

/// `PRSTransmissionTRPItem`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsTransmissionTrpItem {
    /// `tRP-ID`, `TRP-ID`: INTEGER (1..65535, …)
    pub t_rp_id: i64,
    /// `pRSConfiguration`
    pub p_rsconfiguration: PrsConfiguration,
}
impl PrsTransmissionTrpItem {
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.bit(false);
        e.extensible(self.t_rp_id.into(), 1, 65535)?;
        self.p_rsconfiguration.encode(e)?;
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let has_i_e_extensions = d.bit()?;
        let t_rp_id = i64::try_from(d.extensible(1, 65535)?).map_err(|_| DecodeError::Range)?;
        let p_rsconfiguration = PrsConfiguration::decode(d)?;
        if has_i_e_extensions {
            skip_extensions(d)?;
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsTransmissionTrpItem { t_rp_id, p_rsconfiguration })
    }
}

/// `PRSConfigurationResponse`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsConfigurationResponse {
    /// `PRSTransmissionTRPList`: SEQUENCE OF (SIZE (1..65535)); information element 67, ignore
    pub prstransmission_trplist: Option<Vec<PrsTransmissionTrpItem>>,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
}
impl PrsConfigurationResponse {
    pub(crate) fn count(&self) -> usize {
        usize::from(self.prstransmission_trplist.is_some()) + usize::from(self.criticality_diagnostics.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        if let Some(v) = &self.prstransmission_trplist {
            element(e, 67, 1)?;
            e.open(|e| {
                e.count((*v).len(), Some(Size::range(1, 65535)))?;
                for v in &(*v) {
                    (*v).encode(e)?;
                }
                Ok(())
            })?;
        }
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut prstransmission_trplist = None;
        let mut criticality_diagnostics = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                67 => {
                    prstransmission_trplist = Some(d.open(|d| {
                        Ok({
                            let count = d.count(Some(Size::range(1, 65535)))?;
                            let mut list = Vec::with_capacity(d.reserve(count));
                            for _ in 0..count {
                                list.push(PrsTransmissionTrpItem::decode(d)?);
                            }
                            list
                        })
                    })?)
                }
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsConfigurationResponse { prstransmission_trplist, criticality_diagnostics })
    }
}

/// `MeasurementPreconfigurationConfirm`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasurementPreconfigurationConfirm {
    /// `PreconfigurationResult`, `PreconfigurationResult`: BIT STRING (SIZE (8..8)); information element 97, ignore
    pub preconfiguration_result: BitString,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
}
impl MeasurementPreconfigurationConfirm {
    pub(crate) fn count(&self) -> usize {
        1 + usize::from(self.criticality_diagnostics.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 97, 1)?;
        e.open(|e| {
            e.bit_string(&self.preconfiguration_result, Some(Size::range(8, 8)))?;
            Ok(())
        })?;
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut preconfiguration_result = None;
        let mut criticality_diagnostics = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                97 => preconfiguration_result = Some(d.open(|d| Ok(d.bit_string(Some(Size::range(8, 8)))?))?),
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(MeasurementPreconfigurationConfirm {
            preconfiguration_result: preconfiguration_result.ok_or(DecodeError::Missing(97))?,
            criticality_diagnostics,
        })
    }
}

/// `E-CIDMeasurementInitiationFailure`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ECidMeasurementInitiationFailure {
    /// `UE-Measurement-ID`, `UE-Measurement-ID`: INTEGER (1..15, …); information element 2, reject
    pub ue_measurement_id: i64,
    /// `Cause`; information element 0, ignore
    pub cause: Cause,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
}
impl ECidMeasurementInitiationFailure {
    pub(crate) fn count(&self) -> usize {
        1 + 1 + usize::from(self.criticality_diagnostics.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 2, 0)?;
        e.open(|e| {
            e.extensible(self.ue_measurement_id.into(), 1, 15)?;
            Ok(())
        })?;
        element(e, 0, 1)?;
        e.open(|e| {
            self.cause.encode(e)?;
            Ok(())
        })?;
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut ue_measurement_id = None;
        let mut cause = None;
        let mut criticality_diagnostics = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                2 => {
                    ue_measurement_id =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 15)?).map_err(|_| DecodeError::Range)?))?)
                }
                0 => cause = Some(d.open(|d| Ok(Cause::decode(d)?))?),
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(ECidMeasurementInitiationFailure {
            ue_measurement_id: ue_measurement_id.ok_or(DecodeError::Missing(2))?,
            cause: cause.ok_or(DecodeError::Missing(0))?,
            criticality_diagnostics,
        })
    }
}

/// `OTDOAInformationFailure`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OtdoaInformationFailure {
    /// `Cause`; information element 0, ignore
    pub cause: Cause,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
}
impl OtdoaInformationFailure {
    pub(crate) fn count(&self) -> usize {
        1 + usize::from(self.criticality_diagnostics.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 0, 1)?;
        e.open(|e| {
            self.cause.encode(e)?;
            Ok(())
        })?;
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut cause = None;
        let mut criticality_diagnostics = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                0 => cause = Some(d.open(|d| Ok(Cause::decode(d)?))?),
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(OtdoaInformationFailure { cause: cause.ok_or(DecodeError::Missing(0))?, criticality_diagnostics })
    }
}

/// `PositioningInformationFailure`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PositioningInformationFailure {
    /// `Cause`; information element 0, ignore
    pub cause: Cause,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
}
impl PositioningInformationFailure {
    pub(crate) fn count(&self) -> usize {
        1 + usize::from(self.criticality_diagnostics.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 0, 1)?;
        e.open(|e| {
            self.cause.encode(e)?;
            Ok(())
        })?;
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut cause = None;
        let mut criticality_diagnostics = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                0 => cause = Some(d.open(|d| Ok(Cause::decode(d)?))?),
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PositioningInformationFailure { cause: cause.ok_or(DecodeError::Missing(0))?, criticality_diagnostics })
    }
}

/// `MeasurementFailure`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasurementFailure {
    /// `Measurement-ID`, `Measurement-ID`: INTEGER (1..65536, …); information element 39, reject
    pub measurement_id: i64,
    /// `Cause`; information element 0, ignore
    pub cause: Cause,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
}
impl MeasurementFailure {
    pub(crate) fn count(&self) -> usize {
        1 + 1 + usize::from(self.criticality_diagnostics.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 39, 0)?;
        e.open(|e| {
            e.extensible(self.measurement_id.into(), 1, 65536)?;
            Ok(())
        })?;
        element(e, 0, 1)?;
        e.open(|e| {
            self.cause.encode(e)?;
            Ok(())
        })?;
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut measurement_id = None;
        let mut cause = None;
        let mut criticality_diagnostics = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                39 => {
                    measurement_id =
                        Some(d.open(|d| Ok(i64::try_from(d.extensible(1, 65536)?).map_err(|_| DecodeError::Range)?))?)
                }
                0 => cause = Some(d.open(|d| Ok(Cause::decode(d)?))?),
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(MeasurementFailure {
            measurement_id: measurement_id.ok_or(DecodeError::Missing(39))?,
            cause: cause.ok_or(DecodeError::Missing(0))?,
            criticality_diagnostics,
        })
    }
}

/// `TRPInformationFailure`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrpInformationFailure {
    /// `Cause`; information element 0, ignore
    pub cause: Cause,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
}
impl TrpInformationFailure {
    pub(crate) fn count(&self) -> usize {
        1 + usize::from(self.criticality_diagnostics.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 0, 1)?;
        e.open(|e| {
            self.cause.encode(e)?;
            Ok(())
        })?;
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut cause = None;
        let mut criticality_diagnostics = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                0 => cause = Some(d.open(|d| Ok(Cause::decode(d)?))?),
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(TrpInformationFailure { cause: cause.ok_or(DecodeError::Missing(0))?, criticality_diagnostics })
    }
}

/// `PositioningActivationFailure`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PositioningActivationFailure {
    /// `Cause`; information element 0, ignore
    pub cause: Cause,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
}
impl PositioningActivationFailure {
    pub(crate) fn count(&self) -> usize {
        1 + usize::from(self.criticality_diagnostics.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 0, 1)?;
        e.open(|e| {
            self.cause.encode(e)?;
            Ok(())
        })?;
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut cause = None;
        let mut criticality_diagnostics = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                0 => cause = Some(d.open(|d| Ok(Cause::decode(d)?))?),
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PositioningActivationFailure { cause: cause.ok_or(DecodeError::Missing(0))?, criticality_diagnostics })
    }
}

/// `PRSConfigurationFailure`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrsConfigurationFailure {
    /// `Cause`; information element 0, ignore
    pub cause: Cause,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
}
impl PrsConfigurationFailure {
    pub(crate) fn count(&self) -> usize {
        1 + usize::from(self.criticality_diagnostics.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 0, 1)?;
        e.open(|e| {
            self.cause.encode(e)?;
            Ok(())
        })?;
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut cause = None;
        let mut criticality_diagnostics = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                0 => cause = Some(d.open(|d| Ok(Cause::decode(d)?))?),
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(PrsConfigurationFailure { cause: cause.ok_or(DecodeError::Missing(0))?, criticality_diagnostics })
    }
}

/// `MeasurementPreconfigurationRefuse`: SEQUENCE.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasurementPreconfigurationRefuse {
    /// `Cause`; information element 0, ignore
    pub cause: Cause,
    /// `CriticalityDiagnostics`; information element 1, ignore
    pub criticality_diagnostics: Option<CriticalityDiagnostics>,
}
impl MeasurementPreconfigurationRefuse {
    pub(crate) fn count(&self) -> usize {
        1 + usize::from(self.criticality_diagnostics.is_some())
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        e.bit(false);
        e.count(self.count(), Some(Size::range(0, 65535)))?;
        element(e, 0, 1)?;
        e.open(|e| {
            self.cause.encode(e)?;
            Ok(())
        })?;
        if let Some(v) = &self.criticality_diagnostics {
            element(e, 1, 1)?;
            e.open(|e| {
                (*v).encode(e)?;
                Ok(())
            })?;
        }
        Ok(())
    }
    pub(crate) fn decode(d: &mut Decoder) -> Result<Self, DecodeError> {
        let extended = d.bit()?;
        let count = d.count(Some(Size::range(0, 65535)))?;
        let mut cause = None;
        let mut criticality_diagnostics = None;
        for _ in 0..count {
            let (id, criticality) = read_element(d)?;
            match id {
                0 => cause = Some(d.open(|d| Ok(Cause::decode(d)?))?),
                1 => criticality_diagnostics = Some(d.open(|d| Ok(CriticalityDiagnostics::decode(d)?))?),
                _ => not_known(d, id, criticality)?,
            }
        }
        if extended {
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        Ok(MeasurementPreconfigurationRefuse { cause: cause.ok_or(DecodeError::Missing(0))?, criticality_diagnostics })
    }
}

/// A message, by its procedure.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// `E-CIDMeasurementInitiationRequest`: procedure 2.
    ECidMeasurementInitiationRequest(Box<ECidMeasurementInitiationRequest>),
    /// `OTDOAInformationRequest`: procedure 6.
    OtdoaInformationRequest(Box<OtdoaInformationRequest>),
    /// `PositioningInformationRequest`: procedure 9.
    PositioningInformationRequest(Box<PositioningInformationRequest>),
    /// `MeasurementRequest`: procedure 11.
    MeasurementRequest(Box<MeasurementRequest>),
    /// `TRPInformationRequest`: procedure 16.
    TrpInformationRequest(Box<TrpInformationRequest>),
    /// `PositioningActivationRequest`: procedure 17.
    PositioningActivationRequest(Box<PositioningActivationRequest>),
    /// `PRSConfigurationRequest`: procedure 19.
    PrsConfigurationRequest(Box<PrsConfigurationRequest>),
    /// `MeasurementPreconfigurationRequired`: procedure 20.
    MeasurementPreconfigurationRequired(Box<MeasurementPreconfigurationRequired>),
    /// `E-CIDMeasurementFailureIndication`: procedure 3.
    ECidMeasurementFailureIndication(Box<ECidMeasurementFailureIndication>),
    /// `E-CIDMeasurementReport`: procedure 4.
    ECidMeasurementReport(Box<ECidMeasurementReport>),
    /// `E-CIDMeasurementTerminationCommand`: procedure 5.
    ECidMeasurementTerminationCommand(Box<ECidMeasurementTerminationCommand>),
    /// `ErrorIndication`: procedure 0.
    ErrorIndication(Box<ErrorIndication>),
    /// `AssistanceInformationControl`: procedure 7.
    AssistanceInformationControl(Box<AssistanceInformationControl>),
    /// `AssistanceInformationFeedback`: procedure 8.
    AssistanceInformationFeedback(Box<AssistanceInformationFeedback>),
    /// `PositioningInformationUpdate`: procedure 10.
    PositioningInformationUpdate(Box<PositioningInformationUpdate>),
    /// `MeasurementReport`: procedure 12.
    MeasurementReport(Box<MeasurementReport>),
    /// `MeasurementUpdate`: procedure 13.
    MeasurementUpdate(Box<MeasurementUpdate>),
    /// `MeasurementAbort`: procedure 14.
    MeasurementAbort(Box<MeasurementAbort>),
    /// `MeasurementFailureIndication`: procedure 15.
    MeasurementFailureIndication(Box<MeasurementFailureIndication>),
    /// `PositioningDeactivation`: procedure 18.
    PositioningDeactivation(Box<PositioningDeactivation>),
    /// `MeasurementActivation`: procedure 21.
    MeasurementActivation(Box<MeasurementActivation>),
    /// `SRSInformationReservationNotification`: procedure 22.
    SrsInformationReservationNotification(Box<SrsInformationReservationNotification>),
    /// `E-CIDMeasurementInitiationResponse`: procedure 2.
    ECidMeasurementInitiationResponse(Box<ECidMeasurementInitiationResponse>),
    /// `OTDOAInformationResponse`: procedure 6.
    OtdoaInformationResponse(Box<OtdoaInformationResponse>),
    /// `PositioningInformationResponse`: procedure 9.
    PositioningInformationResponse(Box<PositioningInformationResponse>),
    /// `MeasurementResponse`: procedure 11.
    MeasurementResponse(Box<MeasurementResponse>),
    /// `TRPInformationResponse`: procedure 16.
    TrpInformationResponse(Box<TrpInformationResponse>),
    /// `PositioningActivationResponse`: procedure 17.
    PositioningActivationResponse(Box<PositioningActivationResponse>),
    /// `PRSConfigurationResponse`: procedure 19.
    PrsConfigurationResponse(Box<PrsConfigurationResponse>),
    /// `MeasurementPreconfigurationConfirm`: procedure 20.
    MeasurementPreconfigurationConfirm(Box<MeasurementPreconfigurationConfirm>),
    /// `E-CIDMeasurementInitiationFailure`: procedure 2.
    ECidMeasurementInitiationFailure(Box<ECidMeasurementInitiationFailure>),
    /// `OTDOAInformationFailure`: procedure 6.
    OtdoaInformationFailure(Box<OtdoaInformationFailure>),
    /// `PositioningInformationFailure`: procedure 9.
    PositioningInformationFailure(Box<PositioningInformationFailure>),
    /// `MeasurementFailure`: procedure 11.
    MeasurementFailure(Box<MeasurementFailure>),
    /// `TRPInformationFailure`: procedure 16.
    TrpInformationFailure(Box<TrpInformationFailure>),
    /// `PositioningActivationFailure`: procedure 17.
    PositioningActivationFailure(Box<PositioningActivationFailure>),
    /// `PRSConfigurationFailure`: procedure 19.
    PrsConfigurationFailure(Box<PrsConfigurationFailure>),
    /// `MeasurementPreconfigurationRefuse`: procedure 20.
    MeasurementPreconfigurationRefuse(Box<MeasurementPreconfigurationRefuse>),
}
impl Message {
    /// Direction (0: initiating, 1: successful, 2: unsuccessful), procedure code, criticality.
    pub(crate) fn numbers(&self) -> (u64, u8, u64) {
        match self {
            Message::ECidMeasurementInitiationRequest(_) => (0, 2, 0),
            Message::OtdoaInformationRequest(_) => (0, 6, 0),
            Message::PositioningInformationRequest(_) => (0, 9, 0),
            Message::MeasurementRequest(_) => (0, 11, 0),
            Message::TrpInformationRequest(_) => (0, 16, 0),
            Message::PositioningActivationRequest(_) => (0, 17, 0),
            Message::PrsConfigurationRequest(_) => (0, 19, 0),
            Message::MeasurementPreconfigurationRequired(_) => (0, 20, 0),
            Message::ECidMeasurementFailureIndication(_) => (0, 3, 1),
            Message::ECidMeasurementReport(_) => (0, 4, 1),
            Message::ECidMeasurementTerminationCommand(_) => (0, 5, 0),
            Message::ErrorIndication(_) => (0, 0, 1),
            Message::AssistanceInformationControl(_) => (0, 7, 0),
            Message::AssistanceInformationFeedback(_) => (0, 8, 0),
            Message::PositioningInformationUpdate(_) => (0, 10, 1),
            Message::MeasurementReport(_) => (0, 12, 1),
            Message::MeasurementUpdate(_) => (0, 13, 1),
            Message::MeasurementAbort(_) => (0, 14, 1),
            Message::MeasurementFailureIndication(_) => (0, 15, 1),
            Message::PositioningDeactivation(_) => (0, 18, 1),
            Message::MeasurementActivation(_) => (0, 21, 1),
            Message::SrsInformationReservationNotification(_) => (0, 22, 0),
            Message::ECidMeasurementInitiationResponse(_) => (1, 2, 0),
            Message::OtdoaInformationResponse(_) => (1, 6, 0),
            Message::PositioningInformationResponse(_) => (1, 9, 0),
            Message::MeasurementResponse(_) => (1, 11, 0),
            Message::TrpInformationResponse(_) => (1, 16, 0),
            Message::PositioningActivationResponse(_) => (1, 17, 0),
            Message::PrsConfigurationResponse(_) => (1, 19, 0),
            Message::MeasurementPreconfigurationConfirm(_) => (1, 20, 0),
            Message::ECidMeasurementInitiationFailure(_) => (2, 2, 0),
            Message::OtdoaInformationFailure(_) => (2, 6, 0),
            Message::PositioningInformationFailure(_) => (2, 9, 0),
            Message::MeasurementFailure(_) => (2, 11, 0),
            Message::TrpInformationFailure(_) => (2, 16, 0),
            Message::PositioningActivationFailure(_) => (2, 17, 0),
            Message::PrsConfigurationFailure(_) => (2, 19, 0),
            Message::MeasurementPreconfigurationRefuse(_) => (2, 20, 0),
        }
    }
    pub(crate) fn encode(&self, e: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            Message::ECidMeasurementInitiationRequest(v) => v.encode(e),
            Message::OtdoaInformationRequest(v) => v.encode(e),
            Message::PositioningInformationRequest(v) => v.encode(e),
            Message::MeasurementRequest(v) => v.encode(e),
            Message::TrpInformationRequest(v) => v.encode(e),
            Message::PositioningActivationRequest(v) => v.encode(e),
            Message::PrsConfigurationRequest(v) => v.encode(e),
            Message::MeasurementPreconfigurationRequired(v) => v.encode(e),
            Message::ECidMeasurementFailureIndication(v) => v.encode(e),
            Message::ECidMeasurementReport(v) => v.encode(e),
            Message::ECidMeasurementTerminationCommand(v) => v.encode(e),
            Message::ErrorIndication(v) => v.encode(e),
            Message::AssistanceInformationControl(v) => v.encode(e),
            Message::AssistanceInformationFeedback(v) => v.encode(e),
            Message::PositioningInformationUpdate(v) => v.encode(e),
            Message::MeasurementReport(v) => v.encode(e),
            Message::MeasurementUpdate(v) => v.encode(e),
            Message::MeasurementAbort(v) => v.encode(e),
            Message::MeasurementFailureIndication(v) => v.encode(e),
            Message::PositioningDeactivation(v) => v.encode(e),
            Message::MeasurementActivation(v) => v.encode(e),
            Message::SrsInformationReservationNotification(v) => v.encode(e),
            Message::ECidMeasurementInitiationResponse(v) => v.encode(e),
            Message::OtdoaInformationResponse(v) => v.encode(e),
            Message::PositioningInformationResponse(v) => v.encode(e),
            Message::MeasurementResponse(v) => v.encode(e),
            Message::TrpInformationResponse(v) => v.encode(e),
            Message::PositioningActivationResponse(v) => v.encode(e),
            Message::PrsConfigurationResponse(v) => v.encode(e),
            Message::MeasurementPreconfigurationConfirm(v) => v.encode(e),
            Message::ECidMeasurementInitiationFailure(v) => v.encode(e),
            Message::OtdoaInformationFailure(v) => v.encode(e),
            Message::PositioningInformationFailure(v) => v.encode(e),
            Message::MeasurementFailure(v) => v.encode(e),
            Message::TrpInformationFailure(v) => v.encode(e),
            Message::PositioningActivationFailure(v) => v.encode(e),
            Message::PrsConfigurationFailure(v) => v.encode(e),
            Message::MeasurementPreconfigurationRefuse(v) => v.encode(e),
        }
    }
    pub(crate) fn decode(d: &mut Decoder, direction: u64, procedure: u8) -> Result<Self, DecodeError> {
        Ok(match (direction, procedure) {
            (0, 2) => Message::ECidMeasurementInitiationRequest(Box::new(ECidMeasurementInitiationRequest::decode(d)?)),
            (0, 6) => Message::OtdoaInformationRequest(Box::new(OtdoaInformationRequest::decode(d)?)),
            (0, 9) => Message::PositioningInformationRequest(Box::new(PositioningInformationRequest::decode(d)?)),
            (0, 11) => Message::MeasurementRequest(Box::new(MeasurementRequest::decode(d)?)),
            (0, 16) => Message::TrpInformationRequest(Box::new(TrpInformationRequest::decode(d)?)),
            (0, 17) => Message::PositioningActivationRequest(Box::new(PositioningActivationRequest::decode(d)?)),
            (0, 19) => Message::PrsConfigurationRequest(Box::new(PrsConfigurationRequest::decode(d)?)),
            (0, 20) => {
                Message::MeasurementPreconfigurationRequired(Box::new(MeasurementPreconfigurationRequired::decode(d)?))
            }
            (0, 3) => Message::ECidMeasurementFailureIndication(Box::new(ECidMeasurementFailureIndication::decode(d)?)),
            (0, 4) => Message::ECidMeasurementReport(Box::new(ECidMeasurementReport::decode(d)?)),
            (0, 5) => {
                Message::ECidMeasurementTerminationCommand(Box::new(ECidMeasurementTerminationCommand::decode(d)?))
            }
            (0, 0) => Message::ErrorIndication(Box::new(ErrorIndication::decode(d)?)),
            (0, 7) => Message::AssistanceInformationControl(Box::new(AssistanceInformationControl::decode(d)?)),
            (0, 8) => Message::AssistanceInformationFeedback(Box::new(AssistanceInformationFeedback::decode(d)?)),
            (0, 10) => Message::PositioningInformationUpdate(Box::new(PositioningInformationUpdate::decode(d)?)),
            (0, 12) => Message::MeasurementReport(Box::new(MeasurementReport::decode(d)?)),
            (0, 13) => Message::MeasurementUpdate(Box::new(MeasurementUpdate::decode(d)?)),
            (0, 14) => Message::MeasurementAbort(Box::new(MeasurementAbort::decode(d)?)),
            (0, 15) => Message::MeasurementFailureIndication(Box::new(MeasurementFailureIndication::decode(d)?)),
            (0, 18) => Message::PositioningDeactivation(Box::new(PositioningDeactivation::decode(d)?)),
            (0, 21) => Message::MeasurementActivation(Box::new(MeasurementActivation::decode(d)?)),
            (0, 22) => Message::SrsInformationReservationNotification(Box::new(
                SrsInformationReservationNotification::decode(d)?,
            )),
            (1, 2) => {
                Message::ECidMeasurementInitiationResponse(Box::new(ECidMeasurementInitiationResponse::decode(d)?))
            }
            (1, 6) => Message::OtdoaInformationResponse(Box::new(OtdoaInformationResponse::decode(d)?)),
            (1, 9) => Message::PositioningInformationResponse(Box::new(PositioningInformationResponse::decode(d)?)),
            (1, 11) => Message::MeasurementResponse(Box::new(MeasurementResponse::decode(d)?)),
            (1, 16) => Message::TrpInformationResponse(Box::new(TrpInformationResponse::decode(d)?)),
            (1, 17) => Message::PositioningActivationResponse(Box::new(PositioningActivationResponse::decode(d)?)),
            (1, 19) => Message::PrsConfigurationResponse(Box::new(PrsConfigurationResponse::decode(d)?)),
            (1, 20) => {
                Message::MeasurementPreconfigurationConfirm(Box::new(MeasurementPreconfigurationConfirm::decode(d)?))
            }
            (2, 2) => Message::ECidMeasurementInitiationFailure(Box::new(ECidMeasurementInitiationFailure::decode(d)?)),
            (2, 6) => Message::OtdoaInformationFailure(Box::new(OtdoaInformationFailure::decode(d)?)),
            (2, 9) => Message::PositioningInformationFailure(Box::new(PositioningInformationFailure::decode(d)?)),
            (2, 11) => Message::MeasurementFailure(Box::new(MeasurementFailure::decode(d)?)),
            (2, 16) => Message::TrpInformationFailure(Box::new(TrpInformationFailure::decode(d)?)),
            (2, 17) => Message::PositioningActivationFailure(Box::new(PositioningActivationFailure::decode(d)?)),
            (2, 19) => Message::PrsConfigurationFailure(Box::new(PrsConfigurationFailure::decode(d)?)),
            (2, 20) => {
                Message::MeasurementPreconfigurationRefuse(Box::new(MeasurementPreconfigurationRefuse::decode(d)?))
            }
            _ => return Err(DecodeError::Index(procedure.into())),
        })
    }
}

impl From<ECidMeasurementInitiationRequest> for Message {
    fn from(it: ECidMeasurementInitiationRequest) -> Self {
        Message::ECidMeasurementInitiationRequest(Box::new(it))
    }
}

impl From<OtdoaInformationRequest> for Message {
    fn from(it: OtdoaInformationRequest) -> Self {
        Message::OtdoaInformationRequest(Box::new(it))
    }
}

impl From<PositioningInformationRequest> for Message {
    fn from(it: PositioningInformationRequest) -> Self {
        Message::PositioningInformationRequest(Box::new(it))
    }
}

impl From<MeasurementRequest> for Message {
    fn from(it: MeasurementRequest) -> Self {
        Message::MeasurementRequest(Box::new(it))
    }
}

impl From<TrpInformationRequest> for Message {
    fn from(it: TrpInformationRequest) -> Self {
        Message::TrpInformationRequest(Box::new(it))
    }
}

impl From<PositioningActivationRequest> for Message {
    fn from(it: PositioningActivationRequest) -> Self {
        Message::PositioningActivationRequest(Box::new(it))
    }
}

impl From<PrsConfigurationRequest> for Message {
    fn from(it: PrsConfigurationRequest) -> Self {
        Message::PrsConfigurationRequest(Box::new(it))
    }
}

impl From<MeasurementPreconfigurationRequired> for Message {
    fn from(it: MeasurementPreconfigurationRequired) -> Self {
        Message::MeasurementPreconfigurationRequired(Box::new(it))
    }
}

impl From<ECidMeasurementFailureIndication> for Message {
    fn from(it: ECidMeasurementFailureIndication) -> Self {
        Message::ECidMeasurementFailureIndication(Box::new(it))
    }
}

impl From<ECidMeasurementReport> for Message {
    fn from(it: ECidMeasurementReport) -> Self {
        Message::ECidMeasurementReport(Box::new(it))
    }
}

impl From<ECidMeasurementTerminationCommand> for Message {
    fn from(it: ECidMeasurementTerminationCommand) -> Self {
        Message::ECidMeasurementTerminationCommand(Box::new(it))
    }
}

impl From<ErrorIndication> for Message {
    fn from(it: ErrorIndication) -> Self {
        Message::ErrorIndication(Box::new(it))
    }
}

impl From<AssistanceInformationControl> for Message {
    fn from(it: AssistanceInformationControl) -> Self {
        Message::AssistanceInformationControl(Box::new(it))
    }
}

impl From<AssistanceInformationFeedback> for Message {
    fn from(it: AssistanceInformationFeedback) -> Self {
        Message::AssistanceInformationFeedback(Box::new(it))
    }
}

impl From<PositioningInformationUpdate> for Message {
    fn from(it: PositioningInformationUpdate) -> Self {
        Message::PositioningInformationUpdate(Box::new(it))
    }
}

impl From<MeasurementReport> for Message {
    fn from(it: MeasurementReport) -> Self {
        Message::MeasurementReport(Box::new(it))
    }
}

impl From<MeasurementUpdate> for Message {
    fn from(it: MeasurementUpdate) -> Self {
        Message::MeasurementUpdate(Box::new(it))
    }
}

impl From<MeasurementAbort> for Message {
    fn from(it: MeasurementAbort) -> Self {
        Message::MeasurementAbort(Box::new(it))
    }
}

impl From<MeasurementFailureIndication> for Message {
    fn from(it: MeasurementFailureIndication) -> Self {
        Message::MeasurementFailureIndication(Box::new(it))
    }
}

impl From<PositioningDeactivation> for Message {
    fn from(it: PositioningDeactivation) -> Self {
        Message::PositioningDeactivation(Box::new(it))
    }
}

impl From<MeasurementActivation> for Message {
    fn from(it: MeasurementActivation) -> Self {
        Message::MeasurementActivation(Box::new(it))
    }
}

impl From<SrsInformationReservationNotification> for Message {
    fn from(it: SrsInformationReservationNotification) -> Self {
        Message::SrsInformationReservationNotification(Box::new(it))
    }
}

impl From<ECidMeasurementInitiationResponse> for Message {
    fn from(it: ECidMeasurementInitiationResponse) -> Self {
        Message::ECidMeasurementInitiationResponse(Box::new(it))
    }
}

impl From<OtdoaInformationResponse> for Message {
    fn from(it: OtdoaInformationResponse) -> Self {
        Message::OtdoaInformationResponse(Box::new(it))
    }
}

impl From<PositioningInformationResponse> for Message {
    fn from(it: PositioningInformationResponse) -> Self {
        Message::PositioningInformationResponse(Box::new(it))
    }
}

impl From<MeasurementResponse> for Message {
    fn from(it: MeasurementResponse) -> Self {
        Message::MeasurementResponse(Box::new(it))
    }
}

impl From<TrpInformationResponse> for Message {
    fn from(it: TrpInformationResponse) -> Self {
        Message::TrpInformationResponse(Box::new(it))
    }
}

impl From<PositioningActivationResponse> for Message {
    fn from(it: PositioningActivationResponse) -> Self {
        Message::PositioningActivationResponse(Box::new(it))
    }
}

impl From<PrsConfigurationResponse> for Message {
    fn from(it: PrsConfigurationResponse) -> Self {
        Message::PrsConfigurationResponse(Box::new(it))
    }
}

impl From<MeasurementPreconfigurationConfirm> for Message {
    fn from(it: MeasurementPreconfigurationConfirm) -> Self {
        Message::MeasurementPreconfigurationConfirm(Box::new(it))
    }
}

impl From<ECidMeasurementInitiationFailure> for Message {
    fn from(it: ECidMeasurementInitiationFailure) -> Self {
        Message::ECidMeasurementInitiationFailure(Box::new(it))
    }
}

impl From<OtdoaInformationFailure> for Message {
    fn from(it: OtdoaInformationFailure) -> Self {
        Message::OtdoaInformationFailure(Box::new(it))
    }
}

impl From<PositioningInformationFailure> for Message {
    fn from(it: PositioningInformationFailure) -> Self {
        Message::PositioningInformationFailure(Box::new(it))
    }
}

impl From<MeasurementFailure> for Message {
    fn from(it: MeasurementFailure) -> Self {
        Message::MeasurementFailure(Box::new(it))
    }
}

impl From<TrpInformationFailure> for Message {
    fn from(it: TrpInformationFailure) -> Self {
        Message::TrpInformationFailure(Box::new(it))
    }
}

impl From<PositioningActivationFailure> for Message {
    fn from(it: PositioningActivationFailure) -> Self {
        Message::PositioningActivationFailure(Box::new(it))
    }
}

impl From<PrsConfigurationFailure> for Message {
    fn from(it: PrsConfigurationFailure) -> Self {
        Message::PrsConfigurationFailure(Box::new(it))
    }
}

impl From<MeasurementPreconfigurationRefuse> for Message {
    fn from(it: MeasurementPreconfigurationRefuse) -> Self {
        Message::MeasurementPreconfigurationRefuse(Box::new(it))
    }
}

/// The identity and the criticality of an information element.
fn element(e: &mut Encoder, id: u32, criticality: u8) -> Result<(), EncodeError> {
    e.constrained(id.into(), 0, 65535)?;
    e.index(criticality.into(), 3, false)
}

fn read_element(d: &mut Decoder) -> Result<(u32, u8), DecodeError> {
    Ok((d.constrained(0, 65535)? as u32, d.index(3, false)? as u8))
}

/// An information element that is not known: passed over unless its criticality is "reject".
fn not_known(d: &mut Decoder, id: u32, criticality: u8) -> Result<(), DecodeError> {
    if criticality == 0 { Err(DecodeError::NotUnderstood(id)) } else { d.skip_open() }
}

/// Extensions of a type that has none here.
fn skip_extensions(d: &mut Decoder) -> Result<(), DecodeError> {
    for _ in 0..d.count(Some(Size::range(1, 65535)))? {
        let (id, criticality) = read_element(d)?;
        not_known(d, id, criticality)?;
    }
    Ok(())
}
