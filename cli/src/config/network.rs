//! The network as a whole: what several functions need to know alike, written once.
use martlet_config::Finding;
use martlet_sbi_api::common::{PlmnId, Snssai};
use serde::Deserialize;

/// The PLMN, its tracking areas, and its slices. A function's own section goes before it where it
/// names the same thing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkSection {
    /// MCC and MNC without a separator, such as `00101`.
    pub plmn: String,
    /// Tracking area codes, 24 bits each.
    pub tacs: Vec<u32>,
    /// Slices, each an `sst` with an `sd` of six hexadecimal digits, or without.
    pub slices: Vec<Snssai>,
}

impl Default for NetworkSection {
    fn default() -> Self {
        NetworkSection { plmn: "00101".into(), tacs: vec![1], slices: vec![Snssai::new(1, None)] }
    }
}

impl NetworkSection {
    /// What is wrong with it.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.plmn.contains('-') || self.plmn.parse::<PlmnId>().is_err() {
            findings.push(Finding::new(
                "plmn",
                "write MCC and MNC in five or six digits, such as \"00101\"",
            ));
        }
        if self.tacs.is_empty() {
            findings.push(Finding::new(
                "tacs",
                "without a tracking area no UE is served: write the gNBs' codes",
            ));
        }
        if self.slices.is_empty() {
            findings
                .push(Finding::new("slices", "a network has a slice at least, such as {sst: 1}"));
        }
        findings
    }
}
