//! The configuration of sign-in with OpenID Connect: section `oam.api.oidc`.
use crate::accounts::Role;
use crate::config_error::ConfigError;
use http::Uri;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

/// Path of the console that the provider sends the browser back to.
pub const REDIRECT_PATH: &str = "/oidc";

/// Section `oam.api.oidc`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OidcConfig {
    /// Issuer of the provider. Default: none, and only local users sign in.
    pub issuer: Option<String>,
    /// Name of the provider on the console's button. Default: the host of the issuer.
    pub name: Option<String>,
    /// Identity of this core at the provider.
    pub client_id: String,
    /// File of the client secret. Default: none, a public client with PKCE alone.
    pub client_secret_file: Option<PathBuf>,
    /// Address of the console with the path `/oidc`, as the provider knows it.
    pub redirect_uri: String,
    /// Scopes that are requested. `openid` is one of them in any case.
    pub scopes: Vec<String>,
    /// Claim with the groups or roles of the user: a name, or a path with dots.
    pub role_claim: String,
    /// Role for each value of the claim. A user without one is refused; of several the highest
    /// applies.
    pub roles: BTreeMap<String, Role>,
    /// Claim with the name that the console shows.
    pub name_claim: String,
    /// Authentication contexts (`acr`), one of which the provider must have used, such as that of a
    /// second factor. Default: none is asked for.
    pub acr_values: Vec<String>,
    /// Certificates of the authorities in PEM. Default: those of the system.
    pub ca: Option<PathBuf>,
}

impl Default for OidcConfig {
    fn default() -> Self {
        OidcConfig {
            issuer: None,
            name: None,
            client_id: String::new(),
            client_secret_file: None,
            redirect_uri: String::new(),
            scopes: ["openid", "profile"].map(String::from).into(),
            role_claim: "groups".into(),
            roles: BTreeMap::new(),
            name_claim: "preferred_username".into(),
            acr_values: Vec::new(),
            ca: None,
        }
    }
}

/// Whether a URI is protected by TLS, or stays on this machine.
pub fn is_protected(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    match uri.scheme_str() {
        Some("https") => !host.is_empty(),
        Some("http") => host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
        _ => false,
    }
}

impl OidcConfig {
    /// The name of the provider on the console's button; none if there is no provider.
    pub fn provider_name(&self) -> Option<String> {
        let issuer = self.issuer.as_ref()?;
        let host = || issuer.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_string));
        Some(self.name.clone().or_else(host).unwrap_or_else(|| issuer.clone()))
    }

    /// All values that cannot be used.
    pub fn check(&self) -> Vec<ConfigError> {
        let mut errors = Vec::new();
        let mut wrong = |is_wrong: bool, key, message| {
            if is_wrong {
                errors.push(ConfigError { key, message });
            }
        };
        let Some(issuer) = &self.issuer else {
            wrong(
                !self.client_id.is_empty() || !self.roles.is_empty(),
                "oidc.issuer",
                "without an issuer there is no sign-in: write its https URL",
            );
            return errors;
        };
        let uri = |text: &str| text.parse::<Uri>().ok().filter(is_protected);
        wrong(
            uri(issuer).is_none_or(|uri| uri.query().is_some()),
            "oidc.issuer",
            "not an https URL (http for an address of the loopback alone): write it as the \
             provider shows it",
        );
        wrong(self.client_id.is_empty(), "oidc.client_id", "write this core's client identity");
        wrong(
            !uri(&self.redirect_uri)
                .is_some_and(|uri| uri.path() == REDIRECT_PATH && uri.query().is_none()),
            "oidc.redirect_uri",
            "write the address of the console and /oidc, such as https://core.example:9080/oidc",
        );
        wrong(
            self.roles.is_empty(),
            "oidc.roles",
            "everyone would be refused: write roles for values of the claim, such as \
             { admins: administrator }",
        );
        wrong(self.role_claim.is_empty(), "oidc.role_claim", "write a claim, such as groups");
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_needs_tls_a_redirect_uri_and_roles() {
        let good = OidcConfig {
            issuer: Some("https://id.example/realms/core".into()),
            client_id: "martlet".into(),
            redirect_uri: "https://core.example:9080/oidc".into(),
            roles: BTreeMap::from([("admins".into(), Role::Administrator)]),
            ..OidcConfig::default()
        };
        assert_eq!(good.check(), []);
        assert_eq!(good.provider_name().as_deref(), Some("id.example"));
        assert_eq!(OidcConfig::default().check(), []);
        let keys = |config: OidcConfig| -> Vec<_> {
            config.check().into_iter().map(|error| error.key).collect()
        };
        for issuer in ["http://id.example", "ftp://id.example", "id.example", "https://a/?b=c"] {
            let wrong = OidcConfig { issuer: Some(issuer.into()), ..good.clone() };
            assert_eq!(keys(wrong), ["oidc.issuer"], "{issuer}");
        }
        let local = OidcConfig { issuer: Some("http://127.0.0.1:7000".into()), ..good.clone() };
        assert_eq!(keys(local), [""; 0]);
        let path = OidcConfig { redirect_uri: "https://core.example/".into(), ..good.clone() };
        assert_eq!(keys(path), ["oidc.redirect_uri"]);
        assert_eq!(keys(OidcConfig { issuer: None, ..good.clone() }), ["oidc.issuer"]);
        assert_eq!(keys(OidcConfig { roles: BTreeMap::new(), ..good }), ["oidc.roles"]);
    }
}
