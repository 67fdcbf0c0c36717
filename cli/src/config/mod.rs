//! The configuration of a core: one YAML file with a section for each network function.
mod fabric;
mod network;
mod oam;
mod sbi;

pub use fabric::FabricSection;
pub use network::NetworkSection;
pub use oam::{FUNCTIONS, OamSection};
pub use sbi::{PkiFile, SbiSection};

use anyhow::Result;
use martlet_amf::{GuamiConfig, PlmnConfig, TaiConfig};
use martlet_config::{Finding, Lines, Report, read, read_file};
use martlet_sbi_api::common::{Sd, Snssai};
use martlet_smf::SliceConfig;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The defaults with comments: the output of `martlet defaults`.
pub const DEFAULTS: &str = include_str!("../../defaults.yaml");

/// The whole configuration file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
pub struct Config {
    /// Values that several functions share.
    pub network: NetworkSection,
    /// Addresses and security of the SBI.
    pub sbi: SbiSection,
    /// The shared-memory fabric.
    pub fabric: FabricSection,
    /// Operation and maintenance: status, metrics, UE history, traces.
    pub oam: OamSection,
    /// Sections of the network functions.
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
    /// Reads and checks a file, or returns the defaults.
    ///
    /// # Errors
    /// The file cannot be read, or is wrong: each error has its line.
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
        config.apply_network(&lines);
        let findings = config.check();
        if !findings.is_empty() {
            let report = Report::of(&name.display().to_string(), &lines, &findings);
            return Err(anyhow::anyhow!("the configuration has errors:\n{report}"));
        }
        Ok(config)
    }

    /// Copies section `network` into the sections of functions that do not set the same values.
    /// `lines` has the keys that the file sets.
    fn apply_network(&mut self, lines: &Lines) {
        let network = self.network.clone();
        let is_unset = |path: &str| !lines.has(path);
        let plmn = || network.plmn.clone();
        if is_unset("amf.guamis") {
            self.amf.guamis = vec![GuamiConfig { plmn: plmn(), region: 1, set: 1, pointer: 1 }];
        }
        if is_unset("amf.plmns") {
            self.amf.plmns = vec![PlmnConfig { plmn: plmn(), slices: network.slices.clone() }];
        }
        if is_unset("amf.tais") {
            self.amf.tais =
                network.tacs.iter().map(|tac| TaiConfig { plmn: plmn(), tac: *tac }).collect();
        }
        if is_unset("udm.home_plmn") {
            self.udm.home_plmn = plmn();
        }
        if is_unset("nssf.slices") {
            self.nssf.slices = network.slices.clone();
        }
        if is_unset("smf.slices") {
            let slice =
                |slice: &Snssai| SliceConfig { sst: slice.sst, sd: slice.sd.map(Sd::to_u32) };
            self.smf.slices = network.slices.iter().map(slice).collect();
        }
    }

    /// All errors, section by section.
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
    fn printed_defaults_equal_the_built_in_defaults() {
        let printed = Config::load(None).expect("the defaults have no errors");
        assert_eq!(format!("{printed:#?}"), format!("{:#?}", Config::default()));
    }

    /// Collects the names of members at any depth.
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
    fn every_key_is_in_the_printed_defaults() {
        let config = Config::default();
        let sections = serde_json::json!({
            "nrf": config.nrf, "udr": config.udr, "udm": config.udm, "ausf": config.ausf,
            "pcf": config.pcf, "nssf": config.nssf, "chf": config.chf, "upf": config.upf,
            "smf": config.smf, "lmf": config.lmf, "amf": config.amf,
        });
        let mut all = std::collections::BTreeSet::new();
        names(&sections, &mut all);
        let is_printed = |name: &String| DEFAULTS.contains(&format!("{name}:"));
        let missing: Vec<_> = all.iter().filter(|name| !is_printed(name)).collect();
        assert!(missing.is_empty(), "not in defaults.yaml: {missing:?}");
    }

    #[test]
    fn the_network_section_applies_unless_a_function_sets_the_value() {
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
    fn a_renamed_key_is_refused_with_its_new_name() {
        let file = std::env::temp_dir().join(format!("martlet-renamed-{}", std::process::id()));
        std::fs::write(&file, "sbi:\n  elsewhere: [smf]\n").unwrap();
        let error = Config::load(Some(&file)).unwrap_err().to_string();
        let _ = std::fs::remove_file(&file);
        assert!(error.ends_with(":2: sbi.elsewhere: this key is now sbi.external"), "{error}");
    }

    #[test]
    fn an_error_has_its_line() {
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
