//! TLS and timeouts of a connection to a PostgreSQL server: the parameters `sslmode`,
//! `sslrootcert`, `sslcert` and `sslkey` of a URL, as libpq has them, except that a connection is
//! never half protected.
//!
//! | `sslmode` | connection |
//! | --- | --- |
//! | absent, `disable` | without TLS: for a unix socket, loopback, or a network protected otherwise |
//! | `require`, `verify-full` | TLS; the server's certificate and its name are checked |
//! | `allow`, `prefer`, `verify-ca` | refused, since they protect against less than they seem to |
//!
//! A URL may name several hosts, `postgresql://USER@HOST1,HOST2/DATABASE`. The first that accepts
//! writes is used (`target_session_attrs=read-write`, which is the default then). Of several
//! addresses of a host any one may be used, so that one that does not answer is passed over.
//!
//! | timeout | default |
//! | --- | --- |
//! | `connect_timeout`, seconds | 5 for each host |
//! | `statement_timeout`, milliseconds | 5,000; then the connection is closed |
//! | `tcp_user_timeout`, milliseconds | 5,000 for what is sent and not acknowledged |
//! | `keepalives_idle`, `keepalives_interval`, seconds; `keepalives_retries` | 10, 2; 3 |
use crate::{DatabaseUrl, StoreError};
use rustls::RootCertStore;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{LoadBalanceHosts, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The certificates that Debian and Ubuntu trust.
const SYSTEM_ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Timeouts that a URL does not name.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(5);
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(5);
const KEEPALIVES_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVES_INTERVAL: Duration = Duration::from_secs(2);
const KEEPALIVES_RETRIES: u32 = 3;

/// How a URL is connected to.
#[derive(Clone)]
pub(crate) struct Target {
    /// The servers in the order of the URL, each with the database and the user.
    pub servers: Vec<Config>,
    /// TLS, if there is any.
    pub tls: Option<Arc<TlsClient>>,
    /// Limit of an attempt to connect, authentication included.
    pub connect_timeout: Duration,
    /// Limit of a statement.
    pub statement_timeout: Duration,
}

/// Parameters of a URL that the client library does not read.
#[derive(Debug, Default, PartialEq, Eq)]
struct Parameters {
    mode: Option<String>,
    root: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
    statement_timeout: Option<String>,
    tcp_user_timeout: Option<String>,
    session: Option<String>,
}

/// The files that a URL names for TLS.
#[derive(Debug, PartialEq, Eq)]
struct TlsFiles {
    root: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

/// TLS of the connections whose URLs name the same files.
pub struct TlsClient {
    files: TlsFiles,
    loaded: RwLock<LoadedTls>,
}

/// The contents of the files.
struct LoadedTls {
    connector: MakeRustlsConnect,
    certificate: Option<CertificateDer<'static>>,
}

static CLIENTS: Mutex<Vec<Weak<TlsClient>>> = Mutex::new(Vec::new());

/// The clients with TLS of this process.
pub fn tls_clients() -> Vec<Arc<TlsClient>> {
    let clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    clients.iter().filter_map(Weak::upgrade).collect()
}

impl TlsClient {
    /// The client of these files, which are read again for it.
    fn shared(files: TlsFiles) -> Result<Arc<TlsClient>, StoreError> {
        let loaded = client(&files)?;
        let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
        clients.retain(|client| client.strong_count() > 0);
        let known = clients.iter().filter_map(Weak::upgrade).find(|one| one.files == files);
        if let Some(known) = known {
            *known.loaded.write().unwrap_or_else(PoisonError::into_inner) = loaded;
            return Ok(known);
        }
        let client = Arc::new(TlsClient { files, loaded: RwLock::new(loaded) });
        clients.push(Arc::downgrade(&client));
        Ok(client)
    }

    /// Reads the files again, for new connections. What is in use stays in use after an error.
    ///
    /// # Errors
    /// A file cannot be read, is not PEM, or certificate and key do not fit together.
    pub fn reload(&self) -> Result<(), StoreError> {
        let new = client(&self.files)?;
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    /// The files that [`TlsClient::reload`] reads: the certificate is the first, if there is one.
    pub fn files(&self) -> Vec<PathBuf> {
        let TlsFiles { root, certificate, key } = &self.files;
        let root = root.as_deref().unwrap_or(SYSTEM_ROOTS);
        let own = certificate.iter().chain(key).map(PathBuf::from);
        own.chain([PathBuf::from(root)]).collect()
    }

    /// The certificate of the core in use and its file.
    pub fn certificate(&self) -> Option<(PathBuf, CertificateDer<'static>)> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        Some((PathBuf::from(self.files.certificate.as_ref()?), loaded.certificate.clone()?))
    }

    /// For a new connection.
    pub(crate) fn connector(&self) -> MakeRustlsConnect {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).connector.clone()
    }
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
    let servers = each_host(&plain).into_iter().map(|url| url.parse());
    let mut servers = servers.collect::<Result<Vec<Config>, _>>()?;
    let (mode, tls) = match parameters.mode.as_deref() {
        None | Some("disable") => (SslMode::Disable, None),
        Some("require" | "verify-full") => {
            let files = TlsFiles {
                root: parameters.root.clone(),
                certificate: parameters.certificate.clone(),
                key: parameters.key.clone(),
            };
            (SslMode::Require, Some(TlsClient::shared(files)?))
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
    let connect_timeout = match servers.first().and_then(Config::get_connect_timeout) {
        Some(limit) if !limit.is_zero() => *limit,
        _ => CONNECT_TIMEOUT,
    };
    let statement_timeout =
        milliseconds("statement_timeout", parameters.statement_timeout, STATEMENT_TIMEOUT)?;
    let user_timeout =
        milliseconds("tcp_user_timeout", parameters.tcp_user_timeout, TCP_USER_TIMEOUT)?;
    let hosts: usize = servers.iter().map(|config| config.get_hosts().len()).sum();
    let session = session(parameters.session.as_deref(), hosts)?;
    for config in &mut servers {
        config.ssl_mode(mode).target_session_attrs(session);
        if config.get_hosts().len() == 1 && !plain.contains("load_balance_hosts=") {
            config.load_balance_hosts(LoadBalanceHosts::Random);
        }
        config.connect_timeout(connect_timeout).application_name("martlet");
        config.tcp_user_timeout(user_timeout);
        if !plain.contains("keepalives_idle=") {
            config.keepalives_idle(KEEPALIVES_IDLE);
        }
        if config.get_keepalives_interval().is_none() {
            config.keepalives_interval(KEEPALIVES_INTERVAL);
        }
        if config.get_keepalives_retries().is_none() {
            config.keepalives_retries(KEEPALIVES_RETRIES);
        }
    }
    Ok(Target { servers, tls, connect_timeout, statement_timeout })
}

/// Which server of several is used. A replica takes no writes, so it cannot be the only one.
fn session(attributes: Option<&str>, hosts: usize) -> Result<TargetSessionAttrs, StoreError> {
    match attributes {
        // libpq's two names of it.
        Some("read-write" | "primary") => Ok(TargetSessionAttrs::ReadWrite),
        None if hosts > 1 => Ok(TargetSessionAttrs::ReadWrite),
        None | Some("any") => Ok(TargetSessionAttrs::Any),
        Some(_) => Err(failed(
            "target_session_attrs names servers that may take no writes: write \
             target_session_attrs=read-write",
        )),
    }
}

/// A URL for each of the hosts of a URL, so that each has a time limit of its own.
fn each_host(url: &str) -> Vec<String> {
    let Some((scheme, rest)) = url.split_once("://") else { return vec![url.into()] };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (format!("{user}@"), hosts),
        None => (String::new(), authority),
    };
    hosts.split(',').map(|host| format!("{scheme}://{user}{host}{path}")).collect()
}

/// A timeout of a URL.
fn milliseconds(
    name: &str,
    value: Option<String>,
    default: Duration,
) -> Result<Duration, StoreError> {
    match value.as_deref().map(str::parse) {
        None => Ok(default),
        Some(Ok(ms @ 1..)) => Ok(Duration::from_millis(ms)),
        Some(_) => Err(failed(format!(
            "{name} is not a number of milliseconds from 1: write {name}={}",
            default.as_millis()
        ))),
    }
}

impl DatabaseUrl {
    /// Checks the parameters of a URL, and the files that they name, without connecting.
    ///
    /// # Errors
    /// The URL is wrong, its `sslmode` is refused, or a file of a certificate is missing or wrong.
    pub fn check(&self) -> Result<(), StoreError> {
        match self {
            DatabaseUrl::Postgres(url) => target(url).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// The files of certificates and keys that a connection reads.
    pub fn certificate_files(&self) -> Vec<PathBuf> {
        let DatabaseUrl::Postgres(url) = self else { return Vec::new() };
        let Parameters { root, certificate, key, .. } = split(url).1;
        [root, certificate, key].into_iter().flatten().map(PathBuf::from).collect()
    }
}

/// A URL without the parameters that the client library does not read, and these.
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
            "statement_timeout" => &mut parameters.statement_timeout,
            // Milliseconds, as in libpq; the client library would read seconds.
            "tcp_user_timeout" => &mut parameters.tcp_user_timeout,
            // The client library does not know all of libpq's values.
            "target_session_attrs" => &mut parameters.session,
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

fn client(files: &TlsFiles) -> Result<LoadedTls, StoreError> {
    let file = files.root.as_deref().unwrap_or(SYSTEM_ROOTS);
    let mut roots = RootCertStore::empty();
    let mut add = |certificate| roots.add(certificate).map_err(|error| error.to_string());
    for certificate in certificates(file)? {
        // Old authorities of the system may have a form that is not supported.
        if let (Err(error), Some(_)) = (add(certificate), &files.root) {
            return Err(failed(format!("sslrootcert {file}: {error}")));
        }
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(error.to_string()))?
        .with_root_certificates(roots);
    let (config, certificate) = match (&files.certificate, &files.key) {
        (Some(certificate), Some(key)) => {
            let key = PrivateKeyDer::from_pem_file(Path::new(key))
                .map_err(|error| failed(format!("sslkey {key}: {error}")))?;
            let chain = certificates(certificate)?;
            let first = chain.first().cloned();
            let config = builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| failed(format!("sslcert {certificate}: {error}")))?;
            (config, first)
        }
        (None, None) => (builder.with_no_client_auth(), None),
        _ => return Err(failed("sslcert and sslkey are written together or not at all")),
    };
    Ok(LoadedTls { connector: MakeRustlsConnect::new(config), certificate })
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
    use tokio_postgres::config::{Host, TargetSessionAttrs};

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
    fn a_url_may_name_timeouts() {
        let limits = |parameters: &str| {
            let target = target(&format!("postgresql://u@h/d?{parameters}")).unwrap();
            (target.connect_timeout, target.statement_timeout, target.servers[0].clone())
        };
        let (connect, statement, config) = limits("connect_timeout=2&statement_timeout=750");
        assert_eq!((connect, statement), (Duration::from_secs(2), Duration::from_millis(750)));
        assert_eq!(config.get_tcp_user_timeout(), Some(&TCP_USER_TIMEOUT));
        let (_, statement, config) = limits("tcp_user_timeout=900&keepalives_idle=3");
        assert_eq!(statement, STATEMENT_TIMEOUT);
        assert_eq!(config.get_tcp_user_timeout(), Some(&Duration::from_millis(900)));
        assert_eq!(config.get_keepalives_idle(), Duration::from_secs(3));
        assert!(target("postgresql://u@h/d?statement_timeout=soon").is_err());
    }

    #[test]
    fn each_host_of_a_url_is_a_server_of_its_own() {
        let url = "postgresql://u:p@h1:5432,%2Ftmp%2Fb/d";
        let servers = target(url).unwrap().servers;
        let hosts: Vec<_> = servers.iter().map(|server| server.get_hosts().to_vec()).collect();
        assert_eq!(hosts, [[Host::Tcp("h1".into())], [Host::Unix("/tmp/b".into())]]);
        let writable = TargetSessionAttrs::ReadWrite;
        assert!(servers.iter().all(|server| server.get_target_session_attrs() == writable));
        assert!(servers.iter().all(|s| s.get_load_balance_hosts() == LoadBalanceHosts::Random));
    }

    #[test]
    fn a_replica_is_not_used_unless_it_is_named_alone() {
        let session = |url: &str| {
            let target = target(url).map_err(|error| error.to_string())?;
            Ok::<_, String>(target.servers[0].get_target_session_attrs())
        };
        let attributes =
            |value: &str| session(&format!("postgresql://u@h1,h2/d?target_session_attrs={value}"));
        assert_eq!(session("postgresql://u@h1/d"), Ok(TargetSessionAttrs::Any));
        let writable = Ok(TargetSessionAttrs::ReadWrite);
        assert_eq!(session("postgresql://u@h1,h2/d"), writable);
        assert_eq!((attributes("read-write"), attributes("primary")), (writable.clone(), writable));
        for refused in ["read-only", "standby", "prefer-standby", "writable"] {
            assert!(attributes(refused).unwrap_err().contains("attrs=read-write"), "{refused}");
        }
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
