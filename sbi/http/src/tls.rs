//! TLS 1.3 with certificates on both sides (TS 33.210, 6.2; TS 33.501, 13.1), by rustls.
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// What a function shows, and whom it believes.
#[derive(Clone)]
pub struct Tls {
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) connector: TlsConnector,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls { .. }")
    }
}

impl Tls {
    /// From PEM files: the authorities that others' certificates have to be of, the own certificate
    /// with those that vouch for it, and its key.
    ///
    /// # Errors
    /// A file cannot be read, or does not hold what it should; the error names it.
    pub fn load(authorities: &Path, certificate: &Path, key: &Path) -> Result<Tls, String> {
        let wrong =
            |file: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let certificates = |file: &Path| -> Result<Vec<CertificateDer<'static>>, String> {
            let all = CertificateDer::pem_file_iter(file).map_err(|e| wrong(file, &e))?;
            let all = all.collect::<Result<Vec<_>, _>>().map_err(|e| wrong(file, &e))?;
            if all.is_empty() {
                Err(wrong(file, &"there is no certificate in it"))
            } else {
                Ok(all)
            }
        };
        let mut roots = RootCertStore::empty();
        for root in certificates(authorities)? {
            roots.add(root).map_err(|e| wrong(authorities, &e))?;
        }
        let roots = Arc::new(roots);
        let chain = certificates(certificate)?;
        let private = || PrivateKeyDer::from_pem_file(key).map_err(|e| wrong(key, &e));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone());
        let verifier = verifier.build().map_err(|e| wrong(authorities, &e))?;
        let mut server = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), private()?)
            .map_err(|e| wrong(certificate, &e))?;
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, private()?)
            .map_err(|e| wrong(certificate, &e))?;
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        client.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Tls { acceptor: Arc::new(server).into(), connector: Arc::new(client).into() })
    }
}

/// The name that the certificate at an authority has to be for.
pub(crate) fn name_of(authority: &str) -> Option<ServerName<'static>> {
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    ServerName::try_from(host.trim_matches(['[', ']']).to_string()).ok()
}
