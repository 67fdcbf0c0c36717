//! The configuration of a core: one YAML file with a section for each network function.
mod network;
mod oam;
mod sbi;

pub use network::NetworkSection;
pub use oam::{FUNCTIONS, OamSection};
pub use sbi::{PkiFile, SbiSection};

use crate::fabric::FabricSection;
use anyhow::Result;
use martlet_amf::{GuamiConfig, PlmnConfig, TaiConfig};
use martlet_config::{Finding, Lines, Report, read, read_file};
use martlet_sbi_api::common::{Sd, Snssai};
use martlet_smf::SliceConfig;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The defaults with what they mean; the file that `martlet defaults` prints.
pub const DEFAULTS: &str = include_str!("../../defaults.yaml");

/// Everything that `martlet up` reads.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
pub struct Config {
    /// What several functions need to know alike.
    pub network: NetworkSection,
    /// How the functions reach each other.
    pub sbi: SbiSection,
    /// Shared memory between processes of this machine.
    pub fabric: FabricSection,
    /// Status and metrics.
    pub oam: OamSection,
    /// Each function's own.
    pub nrf: martlet_nrf::NrfConfig,
    #[allow(missing_docs)]
    pub udr: martlet_udr::UdrConfig,
    #[allow(missing_docs)]
    pub udm: martlet_udm::UdmConfig,
    #[allow(missing_docs)]
    pub ausf: martlet_ausf::AusfConfig,
    #[allow(missing_docs)]
    pub pcf: martlet_pcf::PcfConfig,
    #[allow(missing_docs)]
    pub nssf: martlet_nssf::NssfConfig,
    #[allow(missing_docs)]
    pub chf: martlet_chf::ChfConfig,
    #[allow(missing_docs)]
    pub upf: martlet_upf::UpfConfig,
    #[allow(missing_docs)]
    pub smf: martlet_smf::SmfConfig,
    #[allow(missing_docs)]
    pub lmf: martlet_lmf::LmfConfig,
    #[allow(missing_docs)]
    pub amf: martlet_amf::AmfConfig,
}

impl Config {
    /// Reads and checks a file, or gives the defaults.
    pub fn load(file: Option<&Path>) -> Result<Config> {
        let (mut config, name, lines) = match file {
            Some(file) => {
                let (config, lines) = read_file::<Config>(file)?;
                (config, file.to_path_buf(), lines)
            }
            None => (
                read::<Config>("defaults", DEFAULTS)?.0,
                PathBuf::from("defaults"),
                Lines::default(),
            ),
        };
        config.spread_network(&lines);
        let findings = config.check();
        if !findings.is_empty() {
            let report = Report::of(&name.display().to_string(), &lines, &findings);
            return Err(anyhow::anyhow!("the configuration is wrong:\n{report}"));
        }
        Ok(config)
    }

    /// Tells the functions what their own sections leave open of what the network is; `lines` knows
    /// what these say.
    fn spread_network(&mut self, lines: &Lines) {
        let network = self.network.clone();
        let open = |path: &str| !lines.has(path);
        let plmn = || network.plmn.clone();
        if open("amf.guamis") {
            self.amf.guamis = vec![GuamiConfig { plmn: plmn(), region: 1, set: 1, pointer: 1 }];
        }
        if open("amf.plmns") {
            self.amf.plmns = vec![PlmnConfig { plmn: plmn(), slices: network.slices.clone() }];
        }
        if open("amf.tais") {
            self.amf.tais =
                network.tacs.iter().map(|tac| TaiConfig { plmn: plmn(), tac: *tac }).collect();
        }
        if open("udm.home_plmn") {
            self.udm.home_plmn = plmn();
        }
        if open("nssf.slices") {
            self.nssf.slices = network.slices.clone();
        }
        if open("smf.slices") {
            let slice =
                |slice: &Snssai| SliceConfig { sst: slice.sst, sd: slice.sd.map(Sd::to_u32) };
            self.smf.slices = network.slices.iter().map(slice).collect();
        }
    }

    /// What is wrong, section by section.
    pub fn check(&self) -> Vec<Finding> {
        let sections: [(&str, Vec<Finding>); 15] = [
            ("network", self.network.check()),
            ("sbi", self.sbi.check()),
            ("fabric", self.fabric.check()),
            ("oam", self.oam.check()),
            ("nrf", self.nrf.check()),
            ("udr", self.udr.check()),
            ("udm", self.udm.check()),
            ("ausf", self.ausf.check()),
            ("pcf", self.pcf.check()),
            ("nssf", self.nssf.check()),
            ("chf", self.chf.check()),
            ("upf", self.upf.check()),
            ("smf", self.smf.check()),
            ("lmf", self.lmf.check()),
            ("amf", self.amf.check()),
        ];
        let within = |(section, findings): (&'static str, Vec<Finding>)| {
            findings.into_iter().map(move |f| f.within(section))
        };
        sections.into_iter().flat_map(within).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_as_defaults_is_what_holds_without_a_file() {
        let printed = Config::load(None).expect("the defaults are right");
        assert_eq!(format!("{printed:#?}"), format!("{:#?}", Config::default()));
    }

    /// Names of members, at any depth.
    fn names(value: &serde_json::Value, into: &mut std::collections::BTreeSet<String>) {
        for (name, member) in value.as_object().into_iter().flatten() {
            into.insert(name.clone());
            names(member, into);
        }
        for item in value.as_array().into_iter().flatten() {
            names(item, into);
        }
    }

    #[test]
    fn every_value_is_among_the_defaults() {
        let config = Config::default();
        let sections = serde_json::json!({
            "nrf": config.nrf, "udr": config.udr, "udm": config.udm, "ausf": config.ausf, "pcf": config.pcf,
            "nssf": config.nssf, "chf": config.chf, "upf": config.upf, "smf": config.smf, "lmf": config.lmf, "amf": config.amf,
        });
        let mut all = std::collections::BTreeSet::new();
        names(&sections, &mut all);
        let is_there = |name: &String| DEFAULTS.contains(&format!("{name}:"));
        let missing: Vec<_> = all.iter().filter(|name| !is_there(name)).collect();
        assert!(missing.is_empty(), "not in defaults.yaml: {missing:?}");
    }

    #[test]
    fn the_network_is_written_once_and_a_functions_own_word_goes_before_it() {
        let file =
            std::env::temp_dir().join(format!("martlet-network-{}.yaml", std::process::id()));
        let text = "network: { plmn: \"99970\", tacs: [7, 8], slices: [{ sst: 1, sd: \"010203\" \
                    }] }\nnssf: { slices: [{ sst: 2 }] }\n";
        std::fs::write(&file, text).unwrap();
        let config = Config::load(Some(&file)).unwrap();
        std::fs::write(&file, "network: { plmn: \"9\" }\n").unwrap();
        let error = Config::load(Some(&file)).unwrap_err().to_string();
        let _ = std::fs::remove_file(&file);
        assert_eq!(
            (config.udm.home_plmn.as_str(), config.amf.guamis[0].plmn.as_str()),
            ("99970", "99970")
        );
        assert_eq!(config.amf.tais.iter().map(|tai| tai.tac).collect::<Vec<_>>(), [7, 8]);
        assert_eq!((config.smf.slices[0].sst, config.smf.slices[0].sd), (1, Some(0x010203)));
        assert_eq!(config.nssf.slices[0].sst, 2);
        assert!(error.contains("network.plmn"), "{error}");
    }

    #[test]
    fn a_wrong_line_is_named() {
        let file = std::env::temp_dir().join(format!("martlet-config-{}.yaml", std::process::id()));
        std::fs::write(
            &file,
            "oam:\n  bind: 127.0.0.1:9090\nsmf:\n  dnns:\n    - name: internet\n      pool: \
             10.45.0.0/99\n",
        )
        .unwrap();
        let error = Config::load(Some(&file)).unwrap_err().to_string();
        let _ = std::fs::remove_file(&file);
        assert!(error.contains(":6") || error.contains("line 6"), "{error}");
    }
}
