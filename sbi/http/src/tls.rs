//! Mutual TLS 1.3 (TS 33.210, 6.2; TS 33.501, 13.1), with rustls.
use crate::PeerCertificate;
use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// The certificate of a network function, and the authorities that it trusts.
#[derive(Clone)]
pub struct Tls {
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) connector: TlsConnector,
    own: Option<Arc<PeerCertificate>>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls { .. }")
    }
}

/// Why TLS cannot be configured.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or is not PEM.
    #[error("{}: {error}", file.display())]
    Pem {
        /// The file.
        file: PathBuf,
        /// The reason.
        error: String,
    },
    /// A file contains no certificate.
    #[error("{}: the file contains no certificate", file.display())]
    NoCertificate {
        /// The file.
        file: PathBuf,
    },
    /// A certificate or key is invalid.
    #[error("{}: {error}", file.display())]
    Invalid {
        /// The file.
        file: PathBuf,
        /// The reason.
        error: String,
    },
    /// The TLS library rejected its configuration.
    #[error("TLS cannot be configured: {0}")]
    Setup(#[from] rustls::Error),
}

impl TlsError {
    fn invalid(file: &Path, error: impl std::fmt::Display) -> Self {
        TlsError::Invalid { file: file.into(), error: error.to_string() }
    }
}

impl Tls {
    /// The owner of this function's certificate, as peers see it.
    pub fn own(&self) -> Option<&PeerCertificate> {
        self.own.as_deref()
    }

    /// Loads PEM files: the trusted authorities, this function's certificate with its chain, and
    /// its private key.
    ///
    /// # Errors
    /// A file cannot be read, or its content is invalid.
    pub fn load(authorities: &Path, certificate: &Path, key: &Path) -> Result<Tls, TlsError> {
        Tls::load_with_revoked(authorities, certificate, key, None)
    }

    /// The same with a file of revocation lists. The certificates in it are refused.
    ///
    /// # Errors
    /// As [`Tls::load`].
    pub fn load_with_revoked(
        authorities: &Path,
        certificate: &Path,
        key: &Path,
        revoked: Option<&Path>,
    ) -> Result<Tls, TlsError> {
        let lists = revoked.map(revocation_lists).transpose()?.unwrap_or_default();
        let mut roots = RootCertStore::empty();
        for root in certificates(authorities)? {
            roots.add(root).map_err(|error| TlsError::invalid(authorities, error))?;
        }
        let roots = Arc::new(roots);
        let chain = certificates(certificate)?;
        let own = chain.first().and_then(|own| PeerCertificate::parse(own)).map(Arc::new);
        let private = || PrivateKeyDer::from_pem_file(key).map_err(|error| pem_error(key, error));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone());
        let verifier = verifier
            .with_crls(lists.clone())
            .only_check_end_entity_revocation()
            .allow_unknown_revocation_status()
            .build()
            .map_err(|error| TlsError::invalid(authorities, error))?;
        let servers = WebPkiServerVerifier::builder_with_provider(roots, provider.clone())
            .with_crls(lists)
            .only_check_end_entity_revocation()
            .allow_unknown_revocation_status()
            .build()
            .map_err(|error| TlsError::invalid(authorities, error))?;
        let mut server = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), private()?)
            .map_err(|error| TlsError::invalid(certificate, error))?;
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?
            .with_webpki_verifier(servers)
            .with_client_auth_cert(chain, private()?)
            .map_err(|error| TlsError::invalid(certificate, error))?;
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        client.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Tls { acceptor: Arc::new(server).into(), connector: Arc::new(client).into(), own })
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all = CertificateDer::pem_file_iter(file).map_err(|error| pem_error(file, error))?;
    let all: Vec<_> = all.collect::<Result<_, _>>().map_err(|error| pem_error(file, error))?;
    if all.is_empty() {
        return Err(TlsError::NoCertificate { file: file.into() });
    }
    Ok(all)
}

fn revocation_lists(file: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    let all = CertificateRevocationListDer::pem_file_iter(file);
    all.and_then(Iterator::collect).map_err(|error| pem_error(file, error))
}

fn pem_error(file: &Path, error: pem::Error) -> TlsError {
    TlsError::Pem { file: file.into(), error: error.to_string() }
}

/// The server name that the certificate of an authority must contain.
pub(crate) fn name_of(authority: &str) -> Option<ServerName<'static>> {
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    ServerName::try_from(host.trim_matches(['[', ']']).to_string()).ok()
}
