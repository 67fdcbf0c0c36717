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

/// The codes after it, and 0, are those of no tracking area.
const LAST_TAC: u32 = 0x00FF_FFFD;

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
                "no tracking area is served: write the TACs of the gNBs, such as tacs: [1]",
            ));
        }
        for (n, tac) in self.tacs.iter().enumerate() {
            if !(1..=LAST_TAC).contains(tac) {
                let text = format!("a tracking area code is 1 to {LAST_TAC}, such as 1");
                findings.push(Finding::new(format!("tacs[{n}]"), text));
            }
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
