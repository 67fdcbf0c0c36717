//! The NSSF's section of the configuration.
use martlet_config::Finding;
use martlet_sbi_api::common::Snssai;
use serde::{Deserialize, Serialize};

/// A slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceConfig {
    /// Slice or service type.
    pub sst: u8,
    /// Slice differentiator, 24 bits.
    #[serde(default)]
    pub sd: Option<u32>,
}

impl From<SliceConfig> for Snssai {
    fn from(slice: SliceConfig) -> Snssai {
        Snssai::new(slice.sst, slice.sd)
    }
}

/// A tracking area in which only some slices are there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaConfig {
    /// Tracking area code, 24 bits.
    pub tac: u32,
    /// Its slices.
    pub slices: Vec<SliceConfig>,
}

/// What the NSSF needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NssfConfig {
    /// Slices of the network.
    pub slices: Vec<SliceConfig>,
    /// Tracking areas that do not have all of them.
    pub areas: Vec<TaConfig>,
}

impl Default for NssfConfig {
    fn default() -> Self {
        NssfConfig { slices: vec![SliceConfig { sst: 1, sd: None }], areas: Vec::new() }
    }
}

impl NssfConfig {
    /// Slices of the network.
    pub fn all(&self) -> Vec<Snssai> {
        self.slices.iter().map(|slice| (*slice).into()).collect()
    }

    /// Slices of a tracking area.
    pub fn supported(&self, tac: Option<u32>) -> Vec<Snssai> {
        match self.areas.iter().find(|area| Some(area.tac) == tac) {
            Some(area) => area.slices.iter().map(|slice| (*slice).into()).collect(),
            None => self.all(),
        }
    }

    /// What is wrong with it.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.slices.is_empty() {
            findings.push(Finding::new("slices", "a network has one slice at least: write - sst: 1"));
        }
        for (n, area) in self.areas.iter().enumerate() {
            if area.tac >> 24 != 0 {
                findings.push(Finding::new(format!("areas[{n}].tac"), "a tracking area code has 24 bits"));
            }
            for (m, slice) in area.slices.iter().enumerate().filter(|(_, slice)| !self.slices.contains(slice)) {
                let message = format!("slice {} is not among nssf.slices: add it there", Snssai::from(*slice));
                findings.push(Finding::new(format!("areas[{n}].slices[{m}]"), message));
            }
        }
        findings
    }
}
