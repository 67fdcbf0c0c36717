//! The network as a whole: values that several functions share.
use martlet_config::Finding;
use martlet_sbi_api::common::{PlmnId, Snssai};
use serde::Deserialize;

/// The PLMN, its tracking areas and its slices. The same value in a function's section takes
/// precedence.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkSection {
    /// MCC and MNC without a separator, such as `00101`.
    pub plmn: String,
    /// Tracking area codes, 24 bits each.
    pub tacs: Vec<u32>,
    /// S-NSSAIs: `sst`, and optionally `sd` with six hexadecimal digits.
    pub slices: Vec<Snssai>,
}

impl Default for NetworkSection {
    fn default() -> Self {
        NetworkSection { plmn: "00101".into(), tacs: vec![1], slices: vec![Snssai::new(1, None)] }
    }
}

impl NetworkSection {
    /// All errors.
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
                "no tracking area is served: write the TACs of the gNBs",
            ));
        }
        if self.slices.is_empty() {
            findings.push(Finding::new(
                "slices",
                "the network needs at least one slice, such as {sst: 1}",
            ));
        }
        findings
    }
}
