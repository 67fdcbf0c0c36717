//! How the functions reach each other, and what they show each other.
use super::FUNCTIONS;
use anyhow::Result;
use martlet_config::Finding;
use martlet_nf::CommonConfig;
use serde::Deserialize;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// What `sbi.pki` is where functions of several machines are to talk without certificates.
const WITHOUT_PKI: &str = "none";

/// Names of files in the folder of `martlet pki init`.
pub struct PkiFile;

impl PkiFile {
    /// The authority's certificate, which all functions believe.
    pub const AUTHORITY: &str = "authority.pem";
    /// Its key: whoever has it makes functions. Keep it away from the machines that run them.
    pub const AUTHORITY_KEY: &str = "authority-key.pem";
    /// The NRF's key for access tokens.
    pub const TOKEN_PRIVATE: &str = "token-key.pem";
    /// What checks them.
    pub const TOKEN_PUBLIC: &str = "token.pem";
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
    /// Requests that a function answers at a time over HTTP; more are told to come back (503 with
    /// Retry-After).
    pub max_requests: usize,
    /// Folder that `martlet pki init` has made: with it, functions speak TLS with certificates on
    /// both sides, and ask each other for access tokens of the NRF. Empty for neither, which
    /// is for the addresses of one machine alone; `none` for neither wherever the functions
    /// are.
    pub pki: String,
    /// Functions that this core does without, since others of their kind are registered with its
    /// NRF: another maker's, or those of another machine.
    pub elsewhere: Vec<String>,
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
            max_requests: 4096,
            pki: String::new(),
            elsewhere: Vec::new(),
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
        let common =
            CommonConfig { timeout_ms: self.timeout_ms, heartbeat_s: self.heartbeat_s, ..common };
        match self.is_secured() {
            false => common,
            true => CommonConfig {
                token_key: Some(self.pki_file(PkiFile::TOKEN_PUBLIC)),
                ..common.over_tls()
            },
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
            &file(PkiFile::AUTHORITY),
            &file(&format!("{name}.pem")),
            &file(&format!("{name}-key.pem")),
        );
        let hint = "sbi.pki names the folder; `martlet pki init` makes it";
        loaded.map(Some).map_err(|error| anyhow::anyhow!("{error}; {hint}"))
    }

    pub(super) fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (n, name) in self
            .elsewhere
            .iter()
            .enumerate()
            .filter(|(_, name)| !FUNCTIONS.contains(&name.as_str()))
        {
            let message =
                format!("there is no function {name}; there are {}", FUNCTIONS.join(", "));
            findings.push(Finding::new(format!("elsewhere[{n}]"), message));
        }
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
                        "{address} is reached from other machines, by anybody: set sbi.pki to a \
                         folder and make it with `martlet pki init`, or write `pki: \
                         {WITHOUT_PKI}` where something else protects that network"
                    ),
                ));
            }
        }
        if self.timeout_ms == 0 {
            findings.push(Finding::new("timeout_ms", "0 lets no call succeed: write 5000"));
        }
        if self.max_requests == 0 {
            findings.push(Finding::new("max_requests", "0 lets no request in: write 4096"));
        }
        if self.heartbeat_s == 0 {
            findings.push(Finding::new("heartbeat_s", "0 is no interval: write 10"));
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_several_machines_have_certificates_unless_somebody_says_otherwise() {
        let with = |pki: &str, amf: &str| {
            let amf = amf.parse().unwrap();
            SbiSection { pki: pki.into(), amf, ..SbiSection::default() }.check().len()
        };
        assert_eq!(with("", "10.1.2.3:7777"), 1);
        assert_eq!(
            (
                with("pki", "10.1.2.3:7777"),
                with("none", "10.1.2.3:7777"),
                with("", "127.0.0.99:7777")
            ),
            (0, 0, 0)
        );
    }
}
