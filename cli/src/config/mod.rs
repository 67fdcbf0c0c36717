//! The configuration of a core: one YAML file with a section for each network function.
mod authority;
mod consistency;
mod fabric;
mod network;
mod nrf_addresses;
mod oam;
mod paths;
mod perimeter;
pub mod reference;
mod sbi;
mod security;

pub use fabric::FabricSection;
pub use network::NetworkSection;
pub use nrf_addresses::NrfAddresses;
pub use oam::{API_FUNCTION, FUNCTIONS, OamSection, PROCESSES, WatchdogSection};
pub use paths::{CONFIG_VARIABLE, SERVICE_CONFIG, SERVICE_STATE, database_name, find};
pub use sbi::{PkiFile, SbiInterop, SbiSection};
pub use security::SecuritySection;

use anyhow::Result;
use martlet_amf::{GuamiConfig, PlmnConfig, TaiConfig};
use martlet_config::{Finding, Lines, Report, read_all, text_of, with_environment};
use martlet_nf::oam::OamEndpoint;
use martlet_sbi_api::common::{Sd, Snssai};
use martlet_sbi_http::LocalSockets;
use martlet_smf::SliceConfig;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The defaults with comments: the output of `martlet defaults`.
pub const DEFAULTS: &str = include_str!("../../defaults.yaml");

/// Values that come from section `network` where their own section does not set them.
const FROM_NETWORK: [&str; 6] =
    ["amf.guamis", "amf.plmns", "amf.tais", "udm.home_plmn", "nssf.slices", "smf.slices"];

/// The whole configuration file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
pub struct Config {
    /// Folder that the relative paths of the configuration start from. Default: `/var/lib/martlet`
    /// for `/etc/martlet/martlet.yaml`, else the folder of the file.
    pub state_dir: PathBuf,
    /// Refuse every deviation from the specifications that is tolerated otherwise, on all
    /// interfaces, as conformance laboratories need it.
    pub strict: bool,
    /// Values that several functions share.
    pub network: NetworkSection,
    /// Addresses and security of the SBI.
    pub sbi: SbiSection,
    /// The shared-memory fabric.
    pub fabric: FabricSection,
    /// Operation and maintenance: status, metrics, UE history, traces.
    pub oam: OamSection,
    /// Rights of the processes.
    pub security: SecuritySection,
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
    /// The pools that static addresses of subscribers have to be in. Empty if they are not known,
    /// since another machine has the SMF.
    pub fn address_pools(&self) -> Vec<martlet_store::AddressPool> {
        match self.sbi.external.iter().any(|name| name == "smf") {
            true => Vec::new(),
            false => self.smf.address_pools(),
        }
    }

    /// Reads and checks a file, or returns the defaults.
    ///
    /// # Errors
    /// The file cannot be read, or is wrong: each error has its line.
    pub fn load(file: Option<&Path>) -> Result<Config> {
        Config::load_and_check(file, |_| {}, |_| Vec::new())
    }

    /// The same for commands that make the certificates: the folder `sbi.pki` may be missing.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn load_without_pki(file: Option<&Path>) -> Result<Config> {
        Config::load_and_check(file, |config| config.sbi.turn_off_pki(), |_| Vec::new())
    }

    /// Reads and checks a file, and the folders of this machine that it names.
    ///
    /// # Errors
    /// As [`Config::load`], or a folder does not exist.
    pub fn load_for_machine(file: Option<&Path>) -> Result<Config> {
        Config::load_and_check(file, |_| {}, Config::check_machine)
    }

    fn load_and_check(
        file: Option<&Path>,
        change: impl FnOnce(&mut Config),
        more: impl FnOnce(&Config) -> Vec<Finding>,
    ) -> Result<Config> {
        let (name, text) = match file {
            Some(file) => {
                let name = file.display().to_string();
                let text =
                    with_environment(&name, &text_of(file)?, |name| std::env::var(name).ok());
                let text = text.map_err(|report| wrong(report.lines))?;
                (name, text)
            }
            None => ("defaults".to_string(), DEFAULTS.to_string()),
        };
        let reading = read_all::<Config>(&name, &text, DEFAULTS);
        let mut errors = reading.report.lines.clone();
        let Some(mut config) = reading.value.clone() else {
            return Err(wrong(errors));
        };
        // The lines of the defaults set nothing.
        let lines = if file.is_some() { &reading.lines } else { &Lines::default() };
        config.apply_network(lines);
        config.apply_strict();
        // The table has room for three PDRs of each session.
        if lines.has("upf.xdp.sessions") && !lines.has("upf.xdp.rules") {
            config.upf.xdp.rules = config.upf.xdp.sessions.saturating_mul(3).min(1 << 26);
        }
        config.resolve_paths(file);
        change(&mut config);
        let mut findings = config.check();
        findings.extend(more(&config));
        for finding in &mut findings {
            finding.path = reading.path_in_file(&finding.path);
        }
        // A mistake in `network` is reported once, not for each value derived from it.
        let is_network_wrong = findings.iter().any(|finding| finding.path.starts_with("network."))
            || reading.is_affected("network");
        findings.retain(|finding| {
            let is_copy = FROM_NETWORK
                .iter()
                .any(|path| reference::is_within(&finding.path, path) && !lines.has(path));
            !(reading.is_affected(&finding.path) || is_copy && is_network_wrong)
        });
        errors.extend(Report::of(&name, lines, &findings).lines);
        if errors.is_empty() { Ok(config) } else { Err(wrong(errors)) }
    }

    /// Copies section `network` into the sections of functions that do not set the same values.
    /// `lines` has the keys that the file sets.
    fn apply_network(&mut self, lines: &Lines) {
        let network = self.network.clone();
        let is_unset = |path: &str| !lines.has(path);
        let plmn = || network.plmn.clone();
        if is_unset("amf.guamis") {
            self.amf.guamis = vec![GuamiConfig { plmn: plmn(), region: 1, set: 1, pointer: 0 }];
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

    /// With `strict`, turns every tolerance of deviations off.
    pub fn apply_strict(&mut self) {
        if !self.strict {
            return;
        }
        (self.amf.n1.strict, self.amf.n2.strict, self.ausf.strict) = (true, true, true);
        (self.smf.n1.strict, self.upf.n3.require_qfi, self.upf.n4.strict) = (true, true, true);
        (self.sbi.strict, self.sbi.interop) = (true, SbiInterop::default());
        self.nrf.interop = martlet_nrf::Interop::default();
        (self.udm.sdm_v1, self.udm.empty_subscriptions) = (false, false);
    }

    /// The OAM endpoint of the core, or of a function in a process of its own.
    pub fn oam_endpoint(&self, function: Option<&str>) -> OamEndpoint {
        let mut endpoint = self.oam.endpoint(&self.fabric, function);
        // The API asks the functions.
        let api = self.security.user_of(API_FUNCTION).filter(|_| self.oam.api.enabled);
        let own = nix::unistd::geteuid().as_raw();
        endpoint.users.extend(api.map(|user| user.uid).filter(|uid| *uid != own));
        endpoint
    }

    /// The socket of the API.
    pub fn api_socket(&self) -> PathBuf {
        self.oam.api_socket(&self.fabric)
    }

    /// The unix sockets of the SBI, unless it uses TCP.
    pub fn sbi_sockets(&self) -> Option<LocalSockets> {
        let sockets = || LocalSockets::new(self.fabric.sbi_folder(), self.security.uids());
        self.sbi.uses_sockets().then(sockets)
    }

    /// The folder of the SBI's unix sockets, if it uses them.
    pub fn sbi_folder(&self) -> Option<PathBuf> {
        self.sbi.uses_sockets().then(|| self.fabric.sbi_folder())
    }

    /// All errors, section by section.
    pub fn check(&self) -> Vec<Finding> {
        let sections: [(&str, Vec<Finding>); 16] = [
            ("network", self.network.check()),
            ("sbi", self.sbi.check(&self.fabric)),
            ("fabric", self.fabric.check()),
            ("oam", self.oam.check(&self.fabric)),
            ("security", self.security.check()),
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
        let sections = sections.into_iter().flat_map(within);
        sections.chain(self.check_consistency()).collect()
    }
}

/// All errors of a configuration, by line.
fn wrong(mut errors: Vec<String>) -> anyhow::Error {
    let line = |error: &String| {
        error.split(':').find_map(|part| part.parse::<u64>().ok()).unwrap_or_default()
    };
    errors.sort_by_key(line);
    let (count, text) = (errors.len(), errors.join("\n"));
    match count {
        1 => anyhow::anyhow!("the configuration has an error:\n{text}"),
        count => anyhow::anyhow!("the configuration has {count} errors:\n{text}"),
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
        let written = serde_json::to_value(&config.smf).unwrap();
        assert_eq!(written["slices"][0]["sd"], "010203");
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
            "oam:\n  listen: 127.0.0.1:9090\nsmf:\n  dnns:\n    - name: internet\n      pool: \
             10.45.0.0/99\n",
        )
        .unwrap();
        let error = Config::load(Some(&file)).unwrap_err().to_string();
        let _ = std::fs::remove_file(&file);
        assert!(error.contains(":6") || error.contains("line 6"), "{error}");
    }
}
