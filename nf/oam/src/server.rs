//! The listeners: a unix socket for admitted users, and TCP with or without TLS.
use crate::caller::Peer;
use axum::Router;
use axum::body::Body;
use http::Request;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use martlet_tasks::connections::{Admission, Connections};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::version::TLS13;
use tower::ServiceExt;

/// Maximum number of connections of each listener.
const MAX_CONNECTIONS: usize = 256;
/// Time for a TLS handshake, and for the headers of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);

/// Where the function listens.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The unix socket.
    pub socket: PathBuf,
    /// User IDs that may use it, besides root and the user of the process.
    pub users: Vec<u32>,
    /// The TCP address.
    pub listen: Option<SocketAddr>,
    /// Certificates and key in PEM, for TLS.
    pub tls: Option<(PathBuf, PathBuf)>,
}

/// Bound listeners.
pub struct Server {
    socket: UnixListener,
    path: SocketPath,
    users: Vec<u32>,
    tcp: Option<(TcpListener, Option<Arc<ServerTls>>)>,
}

/// The certificate and the key of the listener over TCP.
pub struct ServerTls {
    certificate: PathBuf,
    key: PathBuf,
    loaded: RwLock<Loaded>,
}

/// The contents of the files.
#[derive(Clone)]
struct Loaded {
    acceptor: TlsAcceptor,
    certificate: Option<CertificateDer<'static>>,
}

impl ServerTls {
    fn load(certificate: &Path, key: &Path) -> std::io::Result<Arc<ServerTls>> {
        let loaded = RwLock::new(Loaded::load(certificate, key)?);
        Ok(Arc::new(ServerTls { certificate: certificate.into(), key: key.into(), loaded }))
    }

    /// Reads the files again, for new connections. What is in use stays in use after an error.
    ///
    /// # Errors
    /// A file cannot be read, is not PEM, or both do not fit together.
    pub fn reload(&self) -> std::io::Result<()> {
        let new = Loaded::load(&self.certificate, &self.key)?;
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    /// The files that [`ServerTls::reload`] reads: the certificate is the first.
    pub fn files(&self) -> Vec<PathBuf> {
        vec![self.certificate.clone(), self.key.clone()]
    }

    /// The certificate in use and its file.
    pub fn certificate(&self) -> Option<(PathBuf, CertificateDer<'static>)> {
        Some((self.certificate.clone(), self.loaded().certificate?))
    }

    fn loaded(&self) -> Loaded {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Removes the socket on drop.
struct SocketPath(PathBuf);

impl Drop for SocketPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Server {
    /// Binds the listeners.
    ///
    /// # Errors
    /// The error names the change of the configuration that is needed.
    pub async fn bind(endpoint: &Endpoint) -> std::io::Result<Server> {
        let named = |key: &str, error: Error| {
            Error::new(error.kind(), format!("{error}; change `oam.api.{key}`"))
        };
        let socket = bind_socket(&endpoint.socket, &endpoint.users).await;
        let socket = socket.map_err(|error| named("socket", error))?;
        let path = SocketPath(endpoint.socket.clone());
        let mut tcp = None;
        if let Some(address) = endpoint.listen {
            let tls =
                endpoint.tls.as_ref().map(|(certificate, key)| ServerTls::load(certificate, key));
            let tls = tls.transpose().map_err(|error| named("certificate", error))?;
            let listener = TcpListener::bind(address).await;
            tcp = Some((listener.map_err(|error| named("listen", error))?, tls));
        }
        Ok(Server { socket, path, users: endpoint.users.clone(), tcp })
    }

    /// The path of the socket.
    pub fn socket(&self) -> &Path {
        &self.path.0
    }

    /// The address over TCP.
    pub fn address(&self) -> Option<SocketAddr> {
        self.tcp.as_ref().and_then(|(listener, _)| listener.local_addr().ok())
    }

    /// The certificate over TCP.
    pub fn tls(&self) -> Option<Arc<ServerTls>> {
        self.tcp.as_ref().and_then(|(_, tls)| tls.clone())
    }

    /// Serves until the future is dropped.
    pub async fn run(self, router: Router) {
        let Server { socket, path: _path, users, tcp } = self;
        let over_tcp = async {
            match tcp {
                Some((listener, tls)) => serve_tcp(listener, tls, router.clone()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = serve_socket(socket, users, router.clone()) => {}
            () = over_tcp => {}
        }
    }
}

impl Loaded {
    fn load(certificate: &Path, key: &Path) -> std::io::Result<Loaded> {
        let wrong = |file: &Path, error: &dyn std::fmt::Display| {
            Error::new(ErrorKind::InvalidData, format!("{}: {error}", file.display()))
        };
        let certificates = CertificateDer::pem_file_iter(certificate)
            .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
            .map_err(|error| wrong(certificate, &error))?;
        let first = certificates.first().cloned();
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
        let provider = Arc::new(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| wrong(certificate, &error))?
            .with_no_client_auth()
            .with_single_cert(certificates, private)
            .map_err(|error| wrong(certificate, &error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Loaded { acceptor: TlsAcceptor::from(Arc::new(config)), certificate: first })
    }
}

/// Binds the socket for its owner, or for all if other users are configured: each client is checked
/// by the user that the kernel reports.
async fn bind_socket(path: &Path, users: &[u32]) -> std::io::Result<UnixListener> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            // A killed process leaves its socket behind; a running one accepts connections.
            if UnixStream::connect(path).await.is_ok() {
                return Err(Error::new(ErrorKind::AddrInUse, "another core uses it"));
            }
            std::fs::remove_file(path)?;
            UnixListener::bind(path)?
        }
        other => other?,
    };
    let mode = if users.is_empty() { 0o600 } else { 0o666 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    Ok(listener)
}

async fn serve_socket(listener: UnixListener, users: Vec<u32>, router: Router) {
    let mut connections = Connections::new(MAX_CONNECTIONS);
    loop {
        let Some((stream, _)) = next(&mut connections, listener.accept()).await else {
            continue;
        };
        let uid = stream.peer_cred().map(|credentials| credentials.uid()).ok();
        let own = nix::unistd::geteuid().as_raw();
        let admitted = uid.filter(|uid| *uid == 0 || *uid == own || users.contains(uid));
        let Some(uid) = admitted else {
            tracing::debug!(?uid, "API connection refused: see oam.users");
            crate::metrics::REFUSED.with_label_values(&["user"]).inc();
            continue;
        };
        let admission = Admission::default();
        admission.admit();
        let peer = Peer::Socket { uid };
        let served = serve_connection(stream, peer, admission.clone(), router.clone());
        connections.spawn(None, admission, served);
    }
}

async fn serve_tcp(listener: TcpListener, tls: Option<Arc<ServerTls>>, router: Router) {
    let mut connections = Connections::new(MAX_CONNECTIONS);
    loop {
        let Some((stream, address)) = next(&mut connections, listener.accept()).await else {
            continue;
        };
        let (router, tls) = (router.clone(), tls.as_ref().map(|tls| tls.loaded().acceptor));
        let _ = stream.set_nodelay(true);
        let admission = Admission::default();
        let of_client = admission.clone();
        connections.spawn(Some(address.ip()), of_client, async move {
            let peer = Peer::Tcp { address, is_secure: tls.is_some() };
            match tls {
                None => serve_connection(stream, peer, admission, router).await,
                Some(tls) => match tokio::time::timeout(HEADER_TIMEOUT, tls.accept(stream)).await {
                    Ok(Ok(stream)) => serve_connection(stream, peer, admission, router).await,
                    outcome => tracing::debug!(%address, ?outcome, "TLS handshake failed"),
                },
            }
        });
    }
}

/// The next connection, if there is [room](Connections::make_room) for it; `None` when one ended
/// instead, when one was closed, and 20 ms after an error.
async fn next<S, A>(
    connections: &mut Connections,
    accepted: impl Future<Output = std::io::Result<(S, A)>>,
) -> Option<(S, A)> {
    let accepted = tokio::select! {
        accepted = accepted => accepted,
        Some(()) = connections.join_next() => return None,
    };
    match accepted {
        Ok(accepted) => match connections.make_room() {
            true => Some(accepted),
            false => {
                crate::metrics::REFUSED.with_label_values(&["connections"]).inc();
                None
            }
        },
        Err(error) => {
            tracing::debug!(%error, "API connection not accepted");
            tokio::time::sleep(Duration::from_millis(20)).await;
            None
        }
    }
}

async fn serve_connection<S>(stream: S, peer: Peer, admission: Admission, router: Router)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let service = router.map_request(move |mut request: Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(admission.clone());
        request.map(Body::new)
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(64 << 10);
    let served = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    if let Err(error) = served.await {
        tracing::debug!(%error, "API connection ended with an error");
    }
}
