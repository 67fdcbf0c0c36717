//! The configuration of a core: one YAML file with a section for each network function.
use crate::fabric::FabricSection;
use crate::history::HistoryConfig;
use crate::network::NetworkSection;
use anyhow::Result;
use martlet_config::{Finding, Lines, Report, read, read_file};
use martlet_nf::CommonConfig;
use martlet_nf::traces::TracesConfig;
use serde::Deserialize;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// The defaults with what they mean; the file that `martlet defaults` prints.
pub const DEFAULTS: &str = include_str!("../defaults.yaml");

/// What `sbi.pki` is where functions of several machines are to talk without certificates.
const WITHOUT_PKI: &str = "none";

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

/// Where the services of each function are.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SbiSection {
    /// Whether the functions of one process also listen over HTTP/2, for those of others.
    pub listen: bool,
    /// Milliseconds that a call may take, retries included.
    pub timeout_ms: u32,
    /// Seconds between heartbeats to the NRF.
    pub heartbeat_s: u16,
    /// Folder that `martlet pki init` has made: with it, functions speak TLS with certificates on both sides, and ask each
    /// other for access tokens of the NRF. Empty for neither, which is for the addresses of one machine alone; `none` for
    /// neither wherever the functions are.
    pub pki: String,
    /// Addresses.
    pub nrf: SocketAddr,
    #[allow(missing_docs)]
    pub udr: SocketAddr,
    #[allow(missing_docs)]
    pub udm: SocketAddr,
    #[allow(missing_docs)]
    pub ausf: SocketAddr,
    #[allow(missing_docs)]
    pub pcf: SocketAddr,
    #[allow(missing_docs)]
    pub nssf: SocketAddr,
    #[allow(missing_docs)]
    pub smf: SocketAddr,
    #[allow(missing_docs)]
    pub amf: SocketAddr,
    #[allow(missing_docs)]
    pub lmf: SocketAddr,
    #[allow(missing_docs)]
    pub chf: SocketAddr,
}

impl Default for SbiSection {
    fn default() -> Self {
        let at = |last| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), 7777);
        SbiSection {
            listen: false,
            timeout_ms: 5000,
            heartbeat_s: 10,
            pki: String::new(),
            nrf: at(10),
            udr: at(11),
            udm: at(12),
            ausf: at(13),
            pcf: at(14),
            nssf: at(15),
            smf: at(16),
            amf: at(17),
            lmf: at(18),
            chf: at(19),
        }
    }
}

impl SbiSection {
    /// What a function needs to know of it.
    pub fn of(&self, name: &str) -> CommonConfig {
        let bind = match name {
            "udr" => self.udr,
            "udm" => self.udm,
            "ausf" => self.ausf,
            "pcf" => self.pcf,
            "nssf" => self.nssf,
            "smf" => self.smf,
            "amf" => self.amf,
            "lmf" => self.lmf,
            "chf" => self.chf,
            _ => self.nrf,
        };
        let common = CommonConfig::at(bind, self.nrf);
        let common = CommonConfig { timeout_ms: self.timeout_ms, heartbeat_s: self.heartbeat_s, ..common };
        match self.is_secured() {
            false => common,
            true => CommonConfig { token_key: Some(self.pki_file(crate::pki::TOKEN_PUBLIC)), ..common.over_tls() },
        }
    }

    /// Whether functions show certificates and tokens to each other.
    pub fn is_secured(&self) -> bool {
        !["", WITHOUT_PKI].contains(&self.pki.as_str())
    }

    /// A file of the folder of `martlet pki init`.
    pub fn pki_file(&self, name: &str) -> String {
        std::path::Path::new(&self.pki).join(name).display().to_string()
    }

    /// What a process shows: a function's own certificate, or that of all of them for `core`.
    ///
    /// # Errors
    /// A file is missing, or wrong.
    pub fn tls(&self, name: &str) -> Result<Option<martlet_sbi_http::Tls>> {
        if !self.is_secured() {
            return Ok(None);
        }
        let file = |name: &str| PathBuf::from(self.pki_file(name));
        let loaded = martlet_sbi_http::Tls::load(
            &file(crate::pki::AUTHORITY),
            &file(&format!("{name}.pem")),
            &file(&format!("{name}-key.pem")),
        );
        let hint = "sbi.pki names the folder; `martlet pki init` makes it";
        loaded.map(Some).map_err(|error| anyhow::anyhow!("{error}; {hint}"))
    }

    fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let all = [
            ("nrf", self.nrf),
            ("udr", self.udr),
            ("udm", self.udm),
            ("ausf", self.ausf),
            ("pcf", self.pcf),
            ("nssf", self.nssf),
            ("smf", self.smf),
            ("amf", self.amf),
            ("lmf", self.lmf),
            ("chf", self.chf),
        ];
        for (n, (name, address)) in all.iter().enumerate() {
            if let Some((other, _)) = all[..n].iter().find(|(_, taken)| taken == address) {
                findings.push(Finding::new(
                    *name,
                    format!("{address} is the address of {other} already: give each its own"),
                ));
            }
            if address.ip().is_unspecified() {
                findings.push(Finding::new(
                    *name,
                    "the address is put into URIs for others: write one that they can reach",
                ));
            } else if self.pki.is_empty() && !address.ip().is_loopback() {
                findings.push(Finding::new(
                    *name,
                    format!(
                        "{address} is reached from other machines, by anybody: set sbi.pki to a folder and make it with \
                         `martlet pki init`, or write `pki: {WITHOUT_PKI}` where something else protects that network"
                    ),
                ));
            }
        }
        if self.timeout_ms == 0 {
            findings.push(Finding::new("timeout_ms", "0 lets no call succeed: write 5000"));
        }
        if self.heartbeat_s == 0 {
            findings.push(Finding::new("heartbeat_s", "0 is no interval: write 10"));
        }
        findings
    }
}

/// The endpoint for people and their tools.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OamSection {
    /// Address; with one process for each function, theirs have the ports after it.
    pub bind: SocketAddr,
    /// What each UE did.
    pub history: HistoryConfig,
    /// Spans of what functions do, for a collector.
    pub traces: TracesConfig,
}

impl Default for OamSection {
    fn default() -> Self {
        let bind = SocketAddr::from(([127, 0, 0, 1], 9090));
        OamSection { bind, history: HistoryConfig::default(), traces: TracesConfig::default() }
    }
}

impl OamSection {
    fn check(&self) -> Vec<Finding> {
        self.traces.check().into_iter().map(|(name, wrong)| Finding::new(name, wrong).within("traces")).collect()
    }

    /// The address of a function that runs alone.
    pub fn of(&self, name: &str) -> SocketAddr {
        let offset = crate::functions::NAMES.iter().position(|n| *n == name).map_or(0, |n| n as u16 + 1);
        SocketAddr::new(self.bind.ip(), self.bind.port().saturating_add(offset))
    }
}

impl Config {
    /// Reads and checks a file, or gives the defaults.
    pub fn load(file: Option<&Path>) -> Result<Config> {
        let (mut config, name, lines) = match file {
            Some(file) => {
                let (config, lines) = read_file::<Config>(file)?;
                (config, file.to_path_buf(), lines)
            }
            None => (read::<Config>("defaults", DEFAULTS)?.0, PathBuf::from("defaults"), Lines::default()),
        };
        NetworkSection::apply(&mut config, &lines);
        let findings = config.check();
        if !findings.is_empty() {
            let report = Report::of(&name.display().to_string(), &lines, &findings);
            return Err(anyhow::anyhow!("the configuration is wrong:\n{report}"));
        }
        Ok(config)
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
        let within =
            |(section, findings): (&'static str, Vec<Finding>)| findings.into_iter().map(move |f| f.within(section));
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
        let file = std::env::temp_dir().join(format!("martlet-network-{}.yaml", std::process::id()));
        let text = "network: { plmn: \"99970\", tacs: [7, 8], slices: [{ sst: 1, sd: \"010203\" }] }\nnssf: { slices: [{ sst: 2 }] }\n";
        std::fs::write(&file, text).unwrap();
        let config = Config::load(Some(&file)).unwrap();
        std::fs::write(&file, "network: { plmn: \"9\" }\n").unwrap();
        let error = Config::load(Some(&file)).unwrap_err().to_string();
        let _ = std::fs::remove_file(&file);
        assert_eq!((config.udm.home_plmn.as_str(), config.amf.guamis[0].plmn.as_str()), ("99970", "99970"));
        assert_eq!(config.amf.tais.iter().map(|tai| tai.tac).collect::<Vec<_>>(), [7, 8]);
        assert_eq!((config.smf.slices[0].sst, config.smf.slices[0].sd), (1, Some(0x010203)));
        assert_eq!(config.nssf.slices[0].sst, 2);
        assert!(error.contains("network.plmn"), "{error}");
    }

    #[test]
    fn functions_of_several_machines_have_certificates_unless_somebody_says_otherwise() {
        let with = |pki: &str, amf: &str| {
            let amf = amf.parse().unwrap();
            SbiSection { pki: pki.into(), amf, ..SbiSection::default() }.check().len()
        };
        assert_eq!(with("", "10.1.2.3:7777"), 1);
        assert_eq!(
            (with("pki", "10.1.2.3:7777"), with("none", "10.1.2.3:7777"), with("", "127.0.0.99:7777")),
            (0, 0, 0)
        );
    }

    #[test]
    fn a_wrong_line_is_named() {
        let file = std::env::temp_dir().join(format!("martlet-config-{}.yaml", std::process::id()));
        std::fs::write(
            &file,
            "oam:\n  bind: 127.0.0.1:9090\nsmf:\n  dnns:\n    - name: internet\n      pool: 10.45.0.0/99\n",
        )
        .unwrap();
        let error = Config::load(Some(&file)).unwrap_err().to_string();
        let _ = std::fs::remove_file(&file);
        assert!(error.contains(":6") || error.contains("line 6"), "{error}");
    }
}
