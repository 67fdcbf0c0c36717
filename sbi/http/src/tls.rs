//! Mutual TLS 1.3 (TS 33.210, 6.2; TS 33.501, 13.1), with rustls.
//!
//! [`Tls::reload`] reads the files again. New connections then use them, and established ones
//! continue. Sessions of former connections are not resumed.
use crate::PeerCertificate;
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName, UnixTime,
};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// The certificate of a network function, and the authorities that it trusts. Clones share what
/// [`Tls::reload`] reads.
#[derive(Clone)]
pub struct Tls {
    files: Arc<Files>,
    loaded: Arc<RwLock<Arc<Loaded>>>,
    own: Option<Arc<PeerCertificate>>,
}

/// PEM files.
struct Files {
    authorities: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
    revoked: Option<PathBuf>,
}

/// The contents of the files.
struct Loaded {
    acceptor: TlsAcceptor,
    connector: TlsConnector,
    /// The own certificate, then its issuers.
    chain: Vec<CertificateDer<'static>>,
    authorities: Vec<CertificateDer<'static>>,
    /// Verifies the own certificate: without revocation lists, so that a list with it takes effect.
    verifier: Arc<dyn ClientCertVerifier>,
    has_revocation_list: bool,
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
    /// A certificate and a key do not belong together.
    #[error("{}: the certificate does not fit the key {}", certificate.display(), key.display())]
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// A new certificate is not valid, and the one in use is.
    #[error("{}: not valid with the authorities of {}: {error}", certificate.display(),
        authorities.display())]
    NotValid {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the authorities.
        authorities: PathBuf,
        /// The reason.
        error: String,
    },
    /// A new certificate belongs to another function, which the NRF would not accept for what this
    /// one has registered.
    #[error("{}: other names, NF types or instances than those in use; restart the function",
        certificate.display())]
    OtherOwner {
        /// The file of the certificate.
        certificate: PathBuf,
    },
    /// The revocation list was removed.
    #[error("{}: the revocation list is missing, the former one stays in force", file.display())]
    NoRevocationList {
        /// The file.
        file: PathBuf,
    },
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

    /// The same with a file of revocation lists, which may not exist yet. The certificates in it
    /// are refused.
    ///
    /// # Errors
    /// As [`Tls::load`].
    pub fn load_with_revoked(
        authorities: &Path,
        certificate: &Path,
        key: &Path,
        revoked: Option<&Path>,
    ) -> Result<Tls, TlsError> {
        let files = Files {
            authorities: authorities.into(),
            certificate: certificate.into(),
            key: key.into(),
            revoked: revoked.map(PathBuf::from),
        };
        let loaded = Loaded::load(&files)?;
        let own = loaded.owner().map(Arc::new);
        let loaded = Arc::new(RwLock::new(Arc::new(loaded)));
        Ok(Tls { files: Arc::new(files), loaded, own })
    }

    /// Reads the files again, for new connections. What is in use stays in use after an error.
    ///
    /// # Errors
    /// As [`Tls::load`]. Or the certificate is not valid with the authorities, while the one in use
    /// is; or it has another owner; or there is no revocation list any more.
    pub fn reload(&self) -> Result<(), TlsError> {
        let (new, former) = (Loaded::load(&self.files)?, self.loaded());
        let certificate = || self.files.certificate.clone();
        if new.owner().as_ref() != self.own() {
            return Err(TlsError::OtherOwner { certificate: certificate() });
        }
        if let Err(error) = new.check_own()
            && former.check_own().is_ok()
        {
            let (authorities, error) = (self.files.authorities.clone(), error.to_string());
            return Err(TlsError::NotValid { certificate: certificate(), authorities, error });
        }
        if let (true, false, Some(file)) =
            (former.has_revocation_list, new.has_revocation_list, &self.files.revoked)
        {
            return Err(TlsError::NoRevocationList { file: file.clone() });
        }
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        Ok(())
    }

    /// The files that [`Tls::reload`] reads: the certificate is the first.
    pub fn files(&self) -> Vec<PathBuf> {
        let Files { authorities, certificate, key, revoked } = &*self.files;
        let files = [certificate, key, authorities].into_iter().chain(revoked);
        files.cloned().collect()
    }

    /// The own certificate in use and its file.
    pub fn certificate(&self) -> Option<(PathBuf, CertificateDer<'static>)> {
        let own = self.loaded().chain.first().cloned();
        own.map(|own| (self.files.certificate.clone(), own))
    }

    /// The first authority in use and its file.
    pub fn authority(&self) -> Option<(PathBuf, CertificateDer<'static>)> {
        let first = self.loaded().authorities.first().cloned();
        first.map(|first| (self.files.authorities.clone(), first))
    }

    fn loaded(&self) -> Arc<Loaded> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The server's side of a new connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.loaded().acceptor.clone()
    }

    /// The client's side of a new connection.
    pub(crate) fn connector(&self) -> TlsConnector {
        self.loaded().connector.clone()
    }
}

impl Loaded {
    fn load(files: &Files) -> Result<Loaded, TlsError> {
        let Files { authorities, certificate, key, revoked } = files;
        let lists = revoked.as_deref().map(revocation_lists).transpose()?.unwrap_or_default();
        // A file that is being written may be empty yet.
        let has_revocation_list = !lists.is_empty();
        let mut roots = RootCertStore::empty();
        let trusted = certificates(authorities)?;
        for root in trusted.iter().cloned() {
            roots.add(root).map_err(|error| TlsError::invalid(authorities, error))?;
        }
        let roots = Arc::new(roots);
        let chain = certificates(certificate)?;
        let private = || PrivateKeyDer::from_pem_file(key).map_err(|error| pem_error(key, error));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let clients = client_verifier(&roots, &provider, lists.clone())
            .map_err(|error| TlsError::invalid(authorities, error))?;
        let verifier = client_verifier(&roots, &provider, Vec::new())
            .map_err(|error| TlsError::invalid(authorities, error))?;
        let servers = WebPkiServerVerifier::builder_with_provider(roots, provider.clone())
            .with_crls(lists)
            .only_check_end_entity_revocation()
            .allow_unknown_revocation_status()
            .build()
            .map_err(|error| TlsError::invalid(authorities, error))?;
        let wrong = |error| match error {
            rustls::Error::InconsistentKeys(_) => {
                TlsError::Mismatch { certificate: certificate.clone(), key: key.clone() }
            }
            other => TlsError::invalid(certificate, other),
        };
        let mut server = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain.clone(), private()?)
            .map_err(wrong)?;
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?
            .with_webpki_verifier(servers)
            .with_client_auth_cert(chain.clone(), private()?)
            .map_err(wrong)?;
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        client.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Loaded {
            acceptor: Arc::new(server).into(),
            connector: Arc::new(client).into(),
            chain,
            authorities: trusted,
            verifier,
            has_revocation_list,
        })
    }

    fn owner(&self) -> Option<PeerCertificate> {
        PeerCertificate::parse(self.chain.first()?)
    }

    /// Verifies the own certificate as peers with these authorities do.
    fn check_own(&self) -> Result<(), rustls::Error> {
        let Some((own, issuers)) = self.chain.split_first() else { return Ok(()) };
        self.verifier.verify_client_cert(own, issuers, UnixTime::now()).map(drop)
    }
}

fn client_verifier(
    roots: &Arc<RootCertStore>,
    provider: &Arc<CryptoProvider>,
    lists: Vec<CertificateRevocationListDer<'static>>,
) -> Result<Arc<dyn ClientCertVerifier>, rustls::server::VerifierBuilderError> {
    WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
        .with_crls(lists)
        .only_check_end_entity_revocation()
        .allow_unknown_revocation_status()
        .build()
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all = CertificateDer::pem_file_iter(file).map_err(|error| pem_error(file, error))?;
    let all: Vec<_> = all.collect::<Result<_, _>>().map_err(|error| pem_error(file, error))?;
    if all.is_empty() {
        return Err(TlsError::NoCertificate { file: file.into() });
    }
    Ok(all)
}

/// The lists of a file; none if there is no file.
fn revocation_lists(file: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    let all = CertificateRevocationListDer::pem_file_iter(file);
    match all.and_then(Iterator::collect) {
        Ok(lists) => Ok(lists),
        Err(pem::Error::Io(error)) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(pem_error(file, error)),
    }
}

fn pem_error(file: &Path, error: pem::Error) -> TlsError {
    TlsError::Pem { file: file.into(), error: error.to_string() }
}

/// The server name that the certificate of an authority must contain.
pub(crate) fn name_of(authority: &str) -> Option<ServerName<'static>> {
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    ServerName::try_from(host.trim_matches(['[', ']']).to_string()).ok()
}
