//! TLS to a PostgreSQL server: the parameters `sslmode`, `sslrootcert`, `sslcert` and `sslkey` of a
//! URL, as libpq has them, except that a connection is never half protected.
//!
//! | `sslmode` | connection |
//! | --- | --- |
//! | absent, `disable` | without TLS: for a unix socket, loopback, or a network protected otherwise |
//! | `require`, `verify-full` | TLS; the server's certificate and its name are checked |
//! | `allow`, `prefer`, `verify-ca` | refused, since they protect against less than they seem to |
use crate::{DatabaseUrl, StoreError};
use postgres::Config;
use postgres::config::SslMode;
use rustls::RootCertStore;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// The certificates that Debian and Ubuntu trust.
const SYSTEM_ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";

/// How a URL is connected to.
pub(crate) struct Target {
    /// The server, the database and the user.
    pub config: Config,
    /// TLS, if there is any.
    pub tls: Option<MakeRustlsConnect>,
}

/// Parameters of a URL about TLS.
#[derive(Debug, Default, PartialEq, Eq)]
struct Parameters {
    mode: Option<String>,
    root: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

fn failed(what: impl Into<String>) -> StoreError {
    StoreError::Tls(what.into())
}

/// Reads a `postgresql://` URL.
///
/// # Errors
/// The URL is wrong, its `sslmode` is refused, or a file of a certificate is missing or wrong.
pub(crate) fn target(url: &str) -> Result<Target, StoreError> {
    let (plain, parameters) = split(url);
    let mut config: Config = plain.parse()?;
    let tls = match parameters.mode.as_deref() {
        None | Some("disable") => {
            config.ssl_mode(SslMode::Disable);
            None
        }
        Some("require" | "verify-full") => {
            config.ssl_mode(SslMode::Require);
            Some(MakeRustlsConnect::new(client(&parameters)?))
        }
        Some(mode @ ("allow" | "prefer" | "verify-ca")) => {
            return Err(failed(format!(
                "sslmode={mode} would accept a server that is not the right one: write \
                 sslmode=verify-full, with sslrootcert=FILE for an own authority"
            )));
        }
        Some(_) => {
            return Err(failed("sslmode is unknown: write sslmode=verify-full, or disable"));
        }
    };
    Ok(Target { config, tls })
}

impl DatabaseUrl {
    /// The files of certificates and keys that a connection reads.
    pub fn certificate_files(&self) -> Vec<PathBuf> {
        let DatabaseUrl::Postgres(url) = self else { return Vec::new() };
        let Parameters { root, certificate, key, .. } = split(url).1;
        [root, certificate, key].into_iter().flatten().map(PathBuf::from).collect()
    }
}

/// A URL without its parameters about TLS, and these.
fn split(url: &str) -> (String, Parameters) {
    let mut parameters = Parameters::default();
    let Some((main, query)) = url.split_once('?') else { return (url.into(), parameters) };
    let mut others = Vec::new();
    for parameter in query.split('&') {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let field = match name {
            "sslmode" => &mut parameters.mode,
            "sslrootcert" => &mut parameters.root,
            "sslcert" => &mut parameters.certificate,
            "sslkey" => &mut parameters.key,
            _ => {
                others.push(parameter);
                continue;
            }
        };
        *field = Some(decoded(value));
    }
    match others.is_empty() {
        true => (main.into(), parameters),
        false => (format!("{main}?{}", others.join("&")), parameters),
    }
}

/// A value with its percent encoding removed.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = tail
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn client(parameters: &Parameters) -> Result<rustls::ClientConfig, StoreError> {
    let file = parameters.root.as_deref().unwrap_or(SYSTEM_ROOTS);
    let mut roots = RootCertStore::empty();
    let mut add = |certificate| roots.add(certificate).map_err(|error| error.to_string());
    for certificate in certificates(file)? {
        // Old authorities of the system may have a form that is not supported.
        if let (Err(error), Some(_)) = (add(certificate), &parameters.root) {
            return Err(failed(format!("sslrootcert {file}: {error}")));
        }
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(error.to_string()))?
        .with_root_certificates(roots);
    match (&parameters.certificate, &parameters.key) {
        (Some(certificate), Some(key)) => {
            let key = PrivateKeyDer::from_pem_file(Path::new(key))
                .map_err(|error| failed(format!("sslkey {key}: {error}")))?;
            builder
                .with_client_auth_cert(certificates(certificate)?, key)
                .map_err(|error| failed(format!("sslcert {certificate}: {error}")))
        }
        (None, None) => Ok(builder.with_no_client_auth()),
        _ => Err(failed("sslcert and sslkey are written together or not at all")),
    }
}

fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let wrong = |error: &dyn std::fmt::Display| {
        failed(format!("certificates {file}: {error}; write the path of a PEM file"))
    };
    let all = CertificateDer::pem_file_iter(Path::new(file)).map_err(|error| wrong(&error))?;
    let all = all.collect::<Result<Vec<_>, _>>().map_err(|error| wrong(&error))?;
    if all.is_empty() { Err(wrong(&"no certificate in it")) } else { Ok(all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_about_tls_are_taken_out_of_the_url() {
        let (url, parameters) = split(
            "postgresql://u@h/d?sslmode=verify-full&application_name=x&sslrootcert=%2Fetc%2Fca.pem",
        );
        assert_eq!(url, "postgresql://u@h/d?application_name=x");
        assert_eq!(parameters.mode.as_deref(), Some("verify-full"));
        assert_eq!(parameters.root.as_deref(), Some("/etc/ca.pem"));
        assert_eq!(split("postgresql://u@h/d").0, "postgresql://u@h/d");
        let url = DatabaseUrl::parse("postgresql://u@h/d?sslmode=require&sslrootcert=/etc/ca.pem");
        assert_eq!(url.certificate_files(), [PathBuf::from("/etc/ca.pem")]);
    }

    #[test]
    fn what_protects_less_than_it_seems_is_refused() {
        let error = |parameters: &str| {
            let url = format!("postgresql://u:secret@h/d?{parameters}");
            target(&url).err().map(|error| error.to_string()).unwrap_or_default()
        };
        for (parameters, part) in [
            ("sslmode=prefer", "write sslmode=verify-full"),
            ("sslmode=verify-ca", "write sslmode=verify-full"),
            ("sslmode=on", "sslmode is unknown"),
            ("sslmode=require&sslrootcert=/none.pem", "/none.pem"),
        ] {
            let error = error(parameters);
            assert!(error.contains(part) && !error.contains("secret"), "{error}");
        }
        assert_eq!(error("sslmode=disable"), "");
    }
}
