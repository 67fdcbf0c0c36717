//! The SBI: addresses of the functions, timeouts and certificates.
use super::authority::is_authority;
use super::nrf_addresses::NrfAddresses;
use super::{FUNCTIONS, FabricSection};
use anyhow::Result;
use martlet_config::Finding;
use martlet_nf::CommonConfig;
use martlet_sbi_http::{LocalSockets, ServerLimits};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The value of `sbi.pki` for functions on several machines without certificates.
const WITHOUT_PKI: &str = "none";

/// Names of the files that `martlet pki init` makes.
pub struct PkiFile;

impl PkiFile {
    /// Certificate of the CA, which all functions trust.
    pub const AUTHORITY: &str = "authority.pem";
    /// Private key of the CA. Its owner can make certificates, so it is kept offline.
    pub const AUTHORITY_KEY: &str = "authority-key.pem";
    /// Private key of the NRF for access tokens.
    pub const TOKEN_PRIVATE: &str = "token-key.pem";
    /// Public key that verifies access tokens.
    pub const TOKEN_PUBLIC: &str = "token.pem";
    /// List of revoked certificates, if there are any.
    pub const REVOKED: &str = "revoked.pem";
}

/// Section `sbi`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SbiSection {
    /// Whether functions listen over TCP without certificates, too: in one process, for functions
    /// of other processes; with one process each, in place of unix sockets. On loopback, every
    /// user of the machine can then read the keys of subscribers.
    pub listen: bool,
    /// Timeout of a call in milliseconds, retries included.
    pub timeout_ms: u32,
    /// Seconds between heartbeats to the NRF.
    pub heartbeat_s: u16,
    /// Maximum number of simultaneous HTTP requests of a function. Others get 503 with
    /// Retry-After.
    pub max_requests: usize,
    /// Maximum number of HTTP connections of a function, and of one address to it. At a limit an
    /// idle connection ends for a new one.
    pub max_connections: usize,
    #[allow(missing_docs)]
    pub max_connections_per_peer: usize,
    /// Seconds until the first request of a connection.
    pub first_request_s: u32,
    /// Maximum number of seconds for receiving the body of a request.
    pub body_s: u32,
    /// Bytes of responses that a connection may leave unread. At the limit its requests wait.
    pub max_unread: usize,
    /// Bytes of responses that all connections of a function may leave unread. At the limit the
    /// connection with the most ends.
    pub max_unread_total: usize,
    /// Seconds after which a connection ends that reads none of its responses.
    pub unread_s: u32,
    /// Refuse deviations of other network functions that are tolerated otherwise.
    pub strict: bool,
    /// Where notifications may go.
    pub callbacks: CallbacksSection,
    /// Folder of `martlet pki init`. With it, functions use mutual TLS and require access tokens
    /// of the NRF. Empty turns both off, and is allowed for loopback addresses only; `none`
    /// turns both off for all addresses.
    pub pki: String,
    /// File of the public key or the certificate (PEM, P-256 or RSA) that verifies the access
    /// tokens of the NRF. With it, functions require access tokens and send them. Empty: that of
    /// `pki`.
    pub token_key: String,
    /// Deviations that an NRF of another vendor needs.
    pub interop: SbiInterop,
    /// Functions that this core does not start, since external ones are registered with its NRF:
    /// another vendor's, or those of another machine.
    pub external: Vec<String>,
    /// `host:port` at which others reach a function, by its name, where that differs from its
    /// address here: the DNS name of a container or of a load balancer.
    pub advertise: BTreeMap<String, String>,
    /// Address of the NRF, or a list: with several, functions register with each, and use another
    /// one when one does not answer. All but the first one may have names.
    pub nrf: NrfAddresses,
    /// Addresses of the services.
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

/// Section `sbi.interop`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SbiInterop {
    /// The NRF issues each access token for one service of one instance, as free5GC's does. A token
    /// request then names the instance, and no scope of an operation is required.
    pub service_tokens: bool,
}

/// Section `sbi.callbacks`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CallbacksSection {
    /// Hosts (`host` or `host:port`) that notifications may go to beside registered functions.
    pub allow: Vec<String>,
}

impl Default for SbiSection {
    fn default() -> Self {
        let at = |last| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), 7777);
        SbiSection {
            listen: false,
            timeout_ms: 5000,
            heartbeat_s: 10,
            max_requests: 4096,
            max_connections: 256,
            max_connections_per_peer: 192,
            first_request_s: 10,
            body_s: 10,
            max_unread: 8 << 20,
            max_unread_total: 64 << 20,
            unread_s: 10,
            strict: false,
            callbacks: CallbacksSection::default(),
            pki: String::new(),
            token_key: String::new(),
            interop: SbiInterop::default(),
            external: Vec::new(),
            advertise: BTreeMap::new(),
            nrf: NrfAddresses::one(at(10)),
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
    /// The address of a function's services. `None` for a function without services on the SBI,
    /// such as the UPF.
    pub fn address(&self, name: &str) -> Option<SocketAddr> {
        Some(match name {
            "nrf" => self.nrf.first(),
            "udr" => self.udr,
            "udm" => self.udm,
            "ausf" => self.ausf,
            "pcf" => self.pcf,
            "nssf" => self.nssf,
            "smf" => self.smf,
            "amf" => self.amf,
            "lmf" => self.lmf,
            "chf" => self.chf,
            _ => return None,
        })
    }

    /// The configuration that a function gets of it. `None` for a function without services on the
    /// SBI.
    pub fn of(&self, name: &str) -> Option<CommonConfig> {
        let bind = self.address(name)?;
        let common = CommonConfig::at(bind, self.nrf.first());
        let nrf = self.advertise.get("nrf").map(|nrf| format!("http://{nrf}"));
        let common = CommonConfig {
            advertise: self.advertise.get(name).cloned(),
            nrf: nrf.unwrap_or(common.nrf),
            further_nrfs: self.nrf.further().iter().map(|nrf| format!("http://{nrf}")).collect(),
            timeout_ms: self.timeout_ms,
            heartbeat_s: self.heartbeat_s,
            callbacks_allow: self.callbacks.allow.clone(),
            strict: self.strict,
            ..common
        };
        let of_pki = || self.is_secured().then(|| self.pki_file(PkiFile::TOKEN_PUBLIC));
        let own = Some(self.token_key.clone()).filter(|file| !file.is_empty());
        let common = CommonConfig {
            token_key: own.or_else(of_pki),
            service_tokens: self.interop.service_tokens,
            ..common
        };
        Some(if self.is_secured() { common.over_tls() } else { common })
    }

    /// Turns certificates and access tokens off.
    pub(super) fn turn_off_pki(&mut self) {
        self.pki = WITHOUT_PKI.into();
    }

    /// Whether functions use certificates and access tokens.
    pub fn is_secured(&self) -> bool {
        !["", WITHOUT_PKI].contains(&self.pki.as_str())
    }

    /// Whether functions in processes of their own are reached through unix sockets instead of
    /// TCP, which is open to each user of this machine unless certificates protect it.
    pub fn uses_sockets(&self) -> bool {
        self.pki.is_empty() && !self.has_remote_consumers()
    }

    /// Whether all functions in one process listen: for functions of other processes and machines,
    /// or because it is configured.
    pub fn has_remote_consumers(&self) -> bool {
        self.listen || !self.external.is_empty() || !self.advertise.is_empty()
    }

    /// Warns if functions listen over TCP without certificates.
    pub fn warn_if_open(&self) {
        if let Some(who) = self.open_to() {
            tracing::warn!(
                open_to = who,
                "SBI over TCP without certificates: keys of subscribers and all services are \
                 open; set sbi.pki"
            );
        }
    }

    /// Who can read the keys of subscribers if functions listen over TCP. `None` if that needs a
    /// certificate, or if they use unix sockets.
    pub fn open_to(&self) -> Option<&'static str> {
        match (self.is_secured() || self.uses_sockets(), self.pki.is_empty()) {
            (true, _) => None,
            (false, true) => Some("every user of this machine"),
            (false, false) => Some("any host that reaches the addresses in sbi"),
        }
    }

    /// The path of a file in the folder of `martlet pki init`.
    pub fn pki_file(&self, name: &str) -> String {
        std::path::Path::new(&self.pki).join(name).display().to_string()
    }

    /// The certificate and trust anchor of a function, or of all functions for `core`.
    ///
    /// # Errors
    /// A file is missing or wrong.
    pub fn tls(&self, name: &str) -> Result<Option<martlet_sbi_http::Tls>> {
        if !self.is_secured() {
            return Ok(None);
        }
        let file = |name: &str| PathBuf::from(self.pki_file(name));
        let revoked = file(PkiFile::REVOKED);
        let loaded = martlet_sbi_http::Tls::load_with_revoked(
            &file(PkiFile::AUTHORITY),
            &file(&format!("{name}.pem")),
            &file(&format!("{name}-key.pem")),
            Some(&revoked),
        );
        let hint = "sbi.pki names the folder, and `martlet pki init` makes its files";
        loaded.map(Some).map_err(|error| anyhow::anyhow!("{error}; {hint}"))
    }

    /// The limits of a function's HTTP server.
    pub fn limits(&self) -> ServerLimits {
        let seconds = |value: u32| Duration::from_secs(value.into());
        ServerLimits {
            requests: self.max_requests,
            connections: self.max_connections,
            connections_per_peer: self.max_connections_per_peer,
            first_request: seconds(self.first_request_s),
            body_time: seconds(self.body_s),
            unsent: self.max_unread,
            unsent_total: self.max_unread_total,
            stall: seconds(self.unread_s),
            ..ServerLimits::default()
        }
    }

    /// The NRFs of other machines, where functions use unix sockets.
    fn unreachable_nrfs(&self) -> Vec<Finding> {
        if !self.uses_sockets() {
            return Vec::new();
        }
        // One on loopback may be of another core on this machine, with the same folder of sockets.
        let is_remote = |nrf: &String| {
            nrf.parse::<SocketAddr>().map_or(true, |address| !address.ip().is_loopback())
        };
        let further = self.nrf.further().iter().enumerate();
        let finding = |(n, nrf): (usize, &String)| {
            let message = format!(
                "{nrf} is on another machine, but functions listen at unix sockets alone, which it \
                 cannot reach: set sbi.pki to a folder of `martlet pki init`, and addresses that \
                 it reaches, such as `sbi: {{ pki: pki, nrf: [\"10.0.0.20:7777\", \"{nrf}\"], \
                 amf: \"10.0.0.20:7717\" }}`; for an NRF of this machine, set sbi.listen"
            );
            Finding::new(format!("nrf[{}]", n + 1), message)
        };
        further.filter(|(_, nrf)| is_remote(nrf)).map(finding).collect()
    }

    pub(super) fn check(&self, fabric: &FabricSection) -> Vec<Finding> {
        let mut findings = Vec::new();
        let numbers = [
            ("max_connections", self.max_connections, "256"),
            ("max_connections_per_peer", self.max_connections_per_peer, "192"),
            ("first_request_s", self.first_request_s as usize, "10"),
            ("body_s", self.body_s as usize, "10"),
            ("max_unread", self.max_unread, "8388608"),
            ("max_unread_total", self.max_unread_total, "67108864"),
            ("unread_s", self.unread_s as usize, "10"),
        ];
        for (name, _, usual) in numbers.into_iter().filter(|(_, value, _)| *value == 0) {
            let message = format!("with 0 no request is served: write {usual}");
            findings.push(Finding::new(name, message));
        }
        let sockets = LocalSockets::new(fabric.sbi_folder(), Vec::new());
        // Maximum length of sun_path, unix(7).
        let is_too_long = |name: &&str| {
            let path = self.of(name).map(|common| sockets.path(&common.authority()));
            path.is_some_and(|path| path.is_ok_and(|path| path.as_os_str().len() > 107))
        };
        if self.uses_sockets() && FUNCTIONS.iter().any(is_too_long) {
            let message = format!(
                "the path of a socket in {} has more than 107 bytes: write a shorter \
                 fabric.socket, beside which they are",
                fabric.sbi_folder().display()
            );
            findings.push(Finding::new("listen", message));
        }
        findings.extend(self.unreachable_nrfs());
        for (n, name) in
            self.external.iter().enumerate().filter(|(_, name)| !FUNCTIONS.contains(&name.as_str()))
        {
            let message =
                format!("there is no function {name}; write one of {}", FUNCTIONS.join(", "));
            findings.push(Finding::new(format!("external[{n}]"), message));
        }
        for (name, reached) in &self.advertise {
            let path = format!("advertise.{name}");
            if !FUNCTIONS.contains(&name.as_str()) {
                let message =
                    format!("there is no function {name}; write one of {}", FUNCTIONS.join(", "));
                findings.push(Finding::new(path.clone(), message));
            }
            if !is_authority(reached) {
                let message = format!(
                    "{reached:?} is no host and port: write for example amf-0.example.org:7777"
                );
                findings.push(Finding::new(path, message));
            }
        }
        let address = |name| self.address(name).map(|address| (name, address));
        let all: Vec<_> = FUNCTIONS.into_iter().filter_map(address).collect();
        for (n, (name, address)) in all.iter().enumerate() {
            if let Some((other, _)) = all[..n].iter().find(|(_, taken)| taken == address) {
                findings.push(Finding::new(
                    *name,
                    format!("{address} is the address of {other} already: write a different one"),
                ));
            }
            if address.ip().is_unspecified() {
                if !self.advertise.contains_key(*name) {
                    findings.push(Finding::new(
                        *name,
                        "the address is part of URIs for other functions: write one that they \
                         can reach, or theirs in sbi.advertise",
                    ));
                } else if self.pki.is_empty() {
                    findings.push(Finding::new(*name, without_authentication(*address)));
                }
            } else if self.pki.is_empty() && !address.ip().is_loopback() {
                findings.push(Finding::new(*name, without_authentication(*address)));
            }
        }
        if self.timeout_ms == 0 {
            findings.push(Finding::new("timeout_ms", "with 0 no call can succeed: write 5000"));
        }
        if self.max_requests == 0 {
            findings
                .push(Finding::new("max_requests", "with 0 no request is accepted: write 4096"));
        }
        if self.heartbeat_s == 0 {
            findings.push(Finding::new("heartbeat_s", "0 is not an interval: write 10"));
        }
        findings
    }
}

/// What is wrong with an address for other machines without `sbi.pki`.
fn without_authentication(address: SocketAddr) -> String {
    format!(
        "{address} can be reached from other machines without authentication: set sbi.pki to a \
         folder and make its files with `martlet pki init`, or write `pki: {WITHOUT_PKI}` if the \
         network is protected otherwise"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{API_FUNCTION, PROCESSES};

    #[test]
    fn addresses_of_other_machines_need_certificates_unless_turned_off() {
        let with = |pki: &str, amf: &str| {
            let amf = amf.parse().unwrap();
            let section = SbiSection { pki: pki.into(), amf, ..SbiSection::default() };
            section.check(&FabricSection::default()).len()
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

    #[test]
    fn without_certificates_functions_use_sockets_unless_configured() {
        let default = SbiSection::default();
        assert!(default.uses_sockets() && default.open_to().is_none());
        let listening = SbiSection { listen: true, ..SbiSection::default() };
        let external = SbiSection { external: vec!["smf".into()], ..SbiSection::default() };
        for section in [listening, external] {
            assert!(!section.uses_sockets());
            assert_eq!(section.open_to(), Some("every user of this machine"));
        }
        let with = |pki: &str| SbiSection { pki: pki.into(), ..SbiSection::default() };
        assert!(!with("none").uses_sockets() && with("none").open_to().is_some());
        assert!(!with("pki").uses_sockets() && with("pki").open_to().is_none());
    }

    #[test]
    fn an_nrf_of_another_machine_needs_certificates_or_tcp() {
        let with = |nrf: &str, more: &dyn Fn(&mut SbiSection)| {
            let nrf = serde_json::from_str(&format!("[\"127.0.0.10:7777\", {nrf:?}]")).unwrap();
            let mut section = SbiSection { nrf, ..SbiSection::default() };
            more(&mut section);
            section.check(&FabricSection::default())
        };
        for nrf in ["core-1.example.org:7777", "10.0.0.30:7777"] {
            let findings = with(nrf, &|_| ());
            assert_eq!(findings.len(), 1, "{findings:?}");
            assert_eq!(findings[0].path, "nrf[1]");
            let message = &findings[0].message;
            assert!(
                message.contains("set sbi.pki to a folder") && message.contains(nrf),
                "{message}"
            );
            assert_eq!(with(nrf, &|sbi| sbi.listen = true), []);
            assert_eq!(with(nrf, &|sbi| sbi.pki = "pki".into()), []);
        }
        assert_eq!(with("127.0.0.30:7777", &|_| ()), []);
    }

    #[test]
    fn a_socket_with_a_long_path_is_reported() {
        let socket = std::path::PathBuf::from(format!("/{}/fabric.sock", "x".repeat(85)));
        let fabric = FabricSection { socket: Some(socket), ..FabricSection::default() };
        let check = |listen| SbiSection { listen, ..SbiSection::default() }.check(&fabric).len();
        assert_eq!((check(false), check(true)), (1, 0));
    }

    #[test]
    fn a_function_without_services_has_no_address() {
        let section = SbiSection::default();
        let without: Vec<_> =
            PROCESSES.into_iter().filter(|name| section.of(name).is_none()).collect();
        assert_eq!(without, ["upf", API_FUNCTION]);
    }

    #[test]
    fn functions_are_reached_at_their_advertised_names() {
        let name = |name: &str, at: &str| (name.to_string(), at.to_string());
        let section = SbiSection {
            pki: "pki".into(),
            advertise: [name("nrf", "core:7710"), name("amf", "amf-0.amf:7777")].into(),
            nrf: NrfAddresses::one("0.0.0.0:7710".parse().unwrap()),
            amf: "0.0.0.0:7777".parse().unwrap(),
            ..SbiSection::default()
        };
        assert_eq!(section.check(&FabricSection::default()), []);
        let amf = section.of("amf").unwrap();
        assert_eq!(
            (amf.authority().as_str(), amf.nrf.as_str()),
            ("amf-0.amf:7777", "https://core:7710")
        );
        assert!(amf.bind.ip().is_unspecified());
        assert_eq!(section.of("smf").unwrap().authority(), "127.0.0.16:7777");
        // Without a name others would get 0.0.0.0.
        let unnamed = SbiSection { advertise: BTreeMap::new(), ..section.clone() };
        assert_eq!(unnamed.check(&FabricSection::default()).len(), 2);
        let open = SbiSection { pki: String::new(), ..section.clone() };
        assert_eq!(open.check(&FabricSection::default()).len(), 2);
        let wrong =
            [name("nfr", "core:1"), name("amf", "a b:1"), name("udr", "x"), name("smf", "x:0")];
        let wrong = SbiSection { advertise: wrong.into(), ..SbiSection::default() };
        assert_eq!(wrong.check(&FabricSection::default()).len(), 4);
    }
}
