//! The network as a whole: what several functions need to know alike, written once.
use crate::config::Config;
use martlet_amf::{GuamiConfig, PlmnConfig, TaiConfig};
use martlet_config::{Finding, Lines};
use martlet_sbi_api::common::{PlmnId, Sd, Snssai};
use martlet_smf::SliceConfig;
use serde::Deserialize;

/// The PLMN, its tracking areas, and its slices. A function's own section goes before it where it names the same thing.
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
            findings.push(Finding::new("plmn", "write MCC and MNC in five or six digits, such as \"00101\""));
        }
        if self.tacs.is_empty() {
            findings.push(Finding::new("tacs", "without a tracking area no UE is served: write the gNBs' codes"));
        }
        if self.slices.is_empty() {
            findings.push(Finding::new("slices", "a network has a slice at least, such as {sst: 1}"));
        }
        findings
    }

    /// Tells the functions what their own sections leave open; `lines` knows what these say.
    pub(crate) fn apply(config: &mut Config, lines: &Lines) {
        let network = config.network.clone();
        let open = |path: &str| !lines.has(path);
        let plmn = || network.plmn.clone();
        if open("amf.guamis") {
            config.amf.guamis = vec![GuamiConfig { plmn: plmn(), region: 1, set: 1, pointer: 1 }];
        }
        if open("amf.plmns") {
            config.amf.plmns = vec![PlmnConfig { plmn: plmn(), slices: network.slices.clone() }];
        }
        if open("amf.tais") {
            config.amf.tais = network.tacs.iter().map(|tac| TaiConfig { plmn: plmn(), tac: *tac }).collect();
        }
        if open("udm.home_plmn") {
            config.udm.home_plmn = plmn();
        }
        if open("nssf.slices") {
            config.nssf.slices = network.slices.clone();
        }
        if open("smf.slices") {
            let slice = |slice: &Snssai| SliceConfig { sst: slice.sst, sd: slice.sd.map(Sd::to_u32) };
            config.smf.slices = network.slices.iter().map(slice).collect();
        }
    }
}
