//! Requests to the provider: one connection each, over TLS unless the provider is on this machine.
//! Redirects are not followed, and the length of a response is bounded.
use super::config::is_protected;
use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Timeout of a request with its connection.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of a response in bytes.
const MAX_RESPONSE: usize = 256 << 10;
/// Requests at the same time.
const MAX_REQUESTS: usize = 4;
/// Authorities of the system.
const SYSTEM_ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Why there is no response.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FetchError {
    /// Neither TLS nor an address of the loopback.
    #[error("{0} has no TLS")]
    Unprotected(String),
    /// No connection, or it ended.
    #[error("{0}")]
    Connection(String),
    /// The response is too long.
    #[error("the response is longer than 256 KiB")]
    TooLong,
    /// No response in time.
    #[error("no response within ten seconds")]
    Timeout,
}

/// Why the client cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("certificates {}: {reason}", file.display())]
pub struct CertificateError {
    file: PathBuf,
    reason: String,
}

/// The client.
pub struct HttpClient {
    /// `None` if the provider needs no TLS.
    tls: Option<RwLock<TlsConnector>>,
    requests: Semaphore,
}

impl HttpClient {
    /// A client that trusts these authorities, or the system's. Blocks.
    ///
    /// # Errors
    /// The certificates cannot be read.
    pub fn new(needs_tls: bool, ca: Option<&Path>) -> Result<Self, CertificateError> {
        let tls = needs_tls.then(|| connector(ca)).transpose()?.map(RwLock::new);
        Ok(HttpClient { tls, requests: Semaphore::new(MAX_REQUESTS) })
    }

    /// Reads the authorities again, for new connections. Those in use stay after an error. Blocks.
    ///
    /// # Errors
    /// The certificates cannot be read.
    pub fn reload(&self, ca: Option<&Path>) -> Result<(), CertificateError> {
        if let Some(tls) = &self.tls {
            let new = connector(ca)?;
            *tls.write().unwrap_or_else(PoisonError::into_inner) = new;
        }
        Ok(())
    }

    /// Sends a request.
    ///
    /// # Errors
    /// There is no response of the permitted length in time.
    pub async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Bytes), FetchError> {
        let _permit = self.requests.acquire().await;
        let sent = tokio::time::timeout(TIMEOUT, self.connect_and_send(request)).await;
        sent.unwrap_or(Err(FetchError::Timeout))
    }

    async fn connect_and_send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Bytes), FetchError> {
        let uri = request.uri().clone();
        let failed = |error: &dyn std::fmt::Display| FetchError::Connection(error.to_string());
        let (Some(authority), true) = (uri.authority(), is_protected(&uri)) else {
            return Err(FetchError::Unprotected(uri.to_string()));
        };
        let is_tls = uri.scheme_str() == Some("https");
        let host = authority.host().trim_matches(['[', ']']);
        let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let named = HeaderValue::from_str(authority.as_str()).map_err(|error| failed(&error))?;
        request.headers_mut().insert(header::HOST, named);
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        *request.uri_mut() = path.parse::<Uri>().map_err(|error| failed(&error))?;
        let stream = TcpStream::connect((host, port)).await.map_err(|error| failed(&error))?;
        let tls = self.tls.as_ref();
        let tls = tls.map(|tls| tls.read().unwrap_or_else(PoisonError::into_inner).clone());
        match (tls, is_tls) {
            (_, false) => exchange(stream, request).await,
            (None, true) => Err(FetchError::Connection("no authorities are loaded".into())),
            (Some(tls), true) => {
                let name =
                    ServerName::try_from(host.to_string()).map_err(|error| failed(&error))?;
                let stream = tls.connect(name, stream).await.map_err(|error| failed(&error))?;
                exchange(stream, request).await
            }
        }
    }
}

async fn exchange<S>(
    stream: S,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, Bytes), FetchError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let failed = |error: hyper::Error| FetchError::Connection(error.to_string());
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(failed)?;
    let response = async {
        let response = sender.send_request(request).await.map_err(failed)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_RESPONSE).collect().await;
        Ok((status, body.map_err(|_| FetchError::TooLong)?.to_bytes()))
    };
    let mut response = std::pin::pin!(response);
    tokio::select! {
        response = &mut response => response,
        // A connection that has ended has delivered all that it received.
        _ = connection => response.await,
    }
}

fn connector(ca: Option<&Path>) -> Result<TlsConnector, CertificateError> {
    let file = ca.unwrap_or(Path::new(SYSTEM_ROOTS));
    let wrong = |error: &dyn std::fmt::Display| CertificateError {
        file: file.into(),
        reason: error.to_string(),
    };
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| wrong(&error))?;
    for certificate in certificates {
        let added = certificate
            .map_err(|error| wrong(&error))
            .and_then(|certificate| roots.add(certificate).map_err(|error| wrong(&error)));
        // Old authorities of the system may have a form that is not supported.
        if let (Err(error), Some(_)) = (added, ca) {
            return Err(error);
        }
    }
    if roots.is_empty() {
        return Err(wrong(&"no certificate in it"));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
