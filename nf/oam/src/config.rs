//! The configuration of the function: section `oam.api`.
use crate::config_error::ConfigError;
use crate::oidc::OidcConfig;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Section `oam.api`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApiConfig {
    /// Whether the function `oam` is started, over whose socket commands reach the core.
    pub enabled: bool,
    /// Address of the API and the console over TCP. Default: none, the socket alone.
    pub listen: Option<SocketAddr>,
    /// Socket of the API for root, the user of the core, and `oam.users`. Default: `api.sock`
    /// beside `oam.sock`, `other-api.sock` beside another `oam.socket`.
    pub socket: Option<PathBuf>,
    /// Certificates for TLS in PEM, the server's first. Needed beyond the loopback.
    pub certificate: Option<PathBuf>,
    /// Private key of the certificate in PEM.
    pub key: Option<PathBuf>,
    /// Whether local users sign in with a password. Off: only users of the identity provider.
    pub local_users: bool,
    /// Minutes without a request after which a session of the console ends.
    pub session_idle_min: u64,
    /// Hours after which a session ends in any case.
    pub session_max_h: u64,
    /// Requests of one address or user within a minute.
    pub requests_per_minute: u32,
    /// Failed sign-ins of a user, or from an address, before it is locked out.
    pub lockout_failures: u32,
    /// Minutes of the lockout.
    pub lockout_min: u64,
    /// Entries of the audit log that stay in the store.
    pub audit_entries: u64,
    /// Events that a reader can resume after.
    pub events: usize,
    /// Folder with reports of martlet-lab that the console shows. Default: none.
    pub lab_reports: Option<PathBuf>,
    /// Socket of `martlet-lab serve`, which starts quick runs for the console. Default: none.
    pub lab_socket: Option<PathBuf>,
    /// Sign-in with OpenID Connect.
    pub oidc: OidcConfig,
}

impl Default for ApiConfig {
    fn default() -> Self {
        ApiConfig {
            enabled: true,
            listen: None,
            socket: None,
            certificate: None,
            key: None,
            local_users: true,
            session_idle_min: 30,
            session_max_h: 12,
            requests_per_minute: 1200,
            lockout_failures: 10,
            lockout_min: 5,
            audit_entries: 100_000,
            events: 4096,
            lab_reports: None,
            lab_socket: None,
            oidc: OidcConfig::default(),
        }
    }
}

impl ApiConfig {
    /// All values that cannot be used.
    pub fn check(&self) -> Vec<ConfigError> {
        let mut errors = Vec::new();
        let mut wrong = |is_wrong: bool, key, message| {
            if is_wrong {
                errors.push(ConfigError { key, message });
            }
        };
        let has_tls = self.certificate.is_some();
        wrong(
            has_tls != self.key.is_some(),
            if has_tls { "certificate" } else { "key" },
            "certificate and key belong together: write both",
        );
        wrong(
            self.listen.is_some_and(|address| !address.ip().is_loopback()) && !has_tls,
            "listen",
            "passwords would cross the network unprotected: write certificate and key, or an \
             address of the loopback",
        );
        wrong(
            self.listen.is_some() && !self.enabled,
            "listen",
            "the function is off: write enabled: true",
        );
        wrong(self.session_idle_min == 0, "session_idle_min", "write 1 at least");
        wrong(self.session_max_h == 0, "session_max_h", "write 1 at least");
        wrong(self.requests_per_minute < 60, "requests_per_minute", "write 60 at least");
        wrong(self.lockout_failures == 0, "lockout_failures", "write 1 at least");
        wrong(self.audit_entries < 1000, "audit_entries", "write 1000 at least");
        wrong(
            !(16..=1_000_000).contains(&self.events),
            "events",
            "write a number between 16 and 1000000",
        );
        wrong(
            self.lab_socket.is_some() && self.lab_reports.is_none(),
            "lab_socket",
            "its reports would not be shown: write lab_reports, too",
        );
        wrong(
            self.oidc.issuer.is_some() && self.listen.is_none(),
            "oidc.issuer",
            "a browser needs the console over TCP: write oam.api.listen",
        );
        wrong(
            !self.local_users && self.oidc.issuer.is_none(),
            "local_users",
            "no user could sign in: write oidc.issuer, or true",
        );
        errors.extend(self.oidc.check());
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcp_beyond_the_loopback_needs_tls() {
        let listen = |address: &str| ApiConfig {
            enabled: true,
            listen: address.parse().ok(),
            ..ApiConfig::default()
        };
        assert_eq!(listen("127.0.0.1:9080").check(), []);
        assert_eq!(listen("0.0.0.0:9080").check()[0].key, "listen");
        let secured = ApiConfig {
            certificate: Some("a.pem".into()),
            key: Some("a.key".into()),
            ..listen("0.0.0.0:9080")
        };
        assert_eq!(secured.check(), []);
        let refused = ApiConfig { local_users: false, ..listen("127.0.0.1:9080") };
        assert_eq!(refused.check()[0].key, "local_users");
        let without_key = ApiConfig { key: None, ..secured };
        assert_eq!(without_key.check()[0].key, "certificate");
    }
}
