//! The OAM endpoint of the process: metrics, status, health and requests of the command line. It
//! serves no 3GPP service.
//!
//! It is a unix socket for the user of the process, root, and the users of
//! [`OamEndpoint::users`]. Over TCP it listens only if that is configured. There, a request needs
//! the [`Token`], except for metrics and health, which monitoring reads. A request that a web page
//! may have caused is refused: one with an `Origin`, or with a `Host` that is neither an address
//! nor configured. GET changes nothing: what reaches a function (`/ask/…`) is POST.
mod argument;
mod token;

pub use crate::paths::Paths;
pub use argument::{read_argument, write_argument};
pub use token::Token;

use crate::{AskSource, Ready};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, ORIGIN, WWW_AUTHENTICATE,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use martlet_sbi::Problem;
use martlet_tasks::connections::{Admission, Connections};
use prometheus::{Encoder, IntCounterVec, TextEncoder, register_int_counter_vec};
use std::convert::Infallible;
use std::io::{Error, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixStream};

/// Returns the JSON of `/status`.
pub type StatusSource = Arc<dyn Fn() -> serde_json::Value + Send + Sync>;

/// Maximum number of connections of each listener.
const MAX_CONNECTIONS: usize = 32;

static REFUSED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    register_int_counter_vec!(
        "martlet_oam_refused_total",
        "Refused OAM requests by reason: user, host, origin, token, method or connections",
        &["reason"]
    )
    .expect("registered once")
});

/// Where the endpoint listens, and which users it admits.
#[derive(Debug, Clone)]
pub struct OamEndpoint {
    /// Path of the unix socket.
    pub socket: PathBuf,
    /// User IDs that may use the socket, besides root and the user of the process.
    pub users: Vec<u32>,
    /// Address for TCP; `None`: the socket only.
    pub listen: Option<SocketAddr>,
    /// File of the token for requests over TCP. It is created if it is missing.
    pub token_file: PathBuf,
    /// Host names of this machine, which may stand in the `Host` header besides addresses.
    pub hosts: Vec<String>,
}

/// A bound endpoint.
pub struct OamServer {
    socket: UnixListener,
    path: SocketPath,
    tcp: Option<TcpListener>,
    shared: Shared,
}

/// Removes the socket on drop.
struct SocketPath(PathBuf);

impl Drop for SocketPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What every connection needs.
#[derive(Clone)]
struct Shared {
    status: StatusSource,
    ask: Arc<Vec<AskSource>>,
    ready: Ready,
    users: Arc<Vec<u32>>,
    hosts: Arc<Vec<String>>,
    token: Option<Token>,
}

/// Whose the folder is in which this process may not create a socket, and what to do.
fn foreign_folder(socket: &Path, error: &Error) -> Option<String> {
    if error.kind() != ErrorKind::PermissionDenied {
        return None;
    }
    let folder = socket.parent()?;
    let owner = std::fs::metadata(folder).ok()?.uid();
    // Functions that have a user each have the core's group in common.
    let groups = nix::unistd::getgroups().unwrap_or_default();
    let group = groups.first().copied().unwrap_or_else(nix::unistd::getegid);
    let (user, folder) = (nix::unistd::geteuid(), folder.display());
    Some(format!(
        "{folder} belongs to user {owner}, and this process runs as user {user}: run `chgrp \
         {group} {folder}` and `chmod g+rwx,+t {folder}`, or "
    ))
}

impl OamServer {
    /// Binds the socket, and the address if there is one.
    ///
    /// # Errors
    /// The error names the change of the configuration that is needed.
    pub async fn bind(endpoint: &OamEndpoint, status: StatusSource) -> std::io::Result<Self> {
        let socket = bind_socket(endpoint).await.map_err(|e| {
            let path = endpoint.socket.display();
            let hint = foreign_folder(&endpoint.socket, &e).unwrap_or_default();
            let text = format!(
                "cannot listen at {path} for status and commands: {e}; {hint}change `oam.socket`"
            );
            Error::new(e.kind(), text)
        })?;
        let path = SocketPath(endpoint.socket.clone());
        let (mut tcp, mut token) = (None, None);
        if let Some(address) = endpoint.listen {
            let file = &endpoint.token_file;
            let loaded = Token::load(file).map_err(|e| {
                Error::new(e.kind(), format!("{e}; `oam.token_file` names the file"))
            })?;
            let listener = TcpListener::bind(address).await.map_err(|e| {
                let text = format!("cannot listen on {address}: {e}; change `oam.listen`");
                Error::new(e.kind(), text)
            })?;
            (tcp, token) = (Some(listener), Some(loaded));
        }
        let shared = Shared {
            status,
            ask: Arc::default(),
            ready: Arc::new(|| Ok(())),
            users: Arc::new(endpoint.users.clone()),
            hosts: Arc::new(endpoint.hosts.clone()),
            token,
        };
        Ok(OamServer { socket, path, tcp, shared })
    }

    /// Passes requests at `/ask/…` to these functions.
    pub fn asking(mut self, functions: Vec<AskSource>) -> Self {
        self.shared.ask = Arc::new(functions);
        self
    }

    /// Serves this readiness at `/readyz`.
    pub fn ready_when(mut self, ready: Ready) -> Self {
        self.shared.ready = ready;
        self
    }

    /// The path of the socket.
    pub fn socket(&self) -> &Path {
        &self.path.0
    }

    /// Serves until the future is dropped, which removes the socket.
    pub async fn run(self) {
        let OamServer { socket, path: _path, tcp, shared } = self;
        let over_tcp = async {
            match tcp {
                Some(listener) => serve_tcp(listener, shared.clone()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = serve_socket(socket, shared.clone()) => {}
            () = over_tcp => {}
        }
    }
}

/// Binds the socket for its owner, or for all if other users are configured: each client is checked
/// by the user that the kernel reports.
async fn bind_socket(endpoint: &OamEndpoint) -> std::io::Result<UnixListener> {
    let path = &endpoint.socket;
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
    // Any user may connect, and closing a descriptor that one sends may wait. An older kernel lacks
    // the option.
    let _ = martlet_fabric::refuse_descriptors(&listener);
    let mode = if endpoint.users.is_empty() { 0o600 } else { 0o666 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    Ok(listener)
}

/// Serves connections to the socket from admitted users.
async fn serve_socket(listener: UnixListener, shared: Shared) {
    let mut connections = Connections::new(MAX_CONNECTIONS);
    loop {
        if let Some((stream, _)) = next(&mut connections, listener.accept()).await
            && is_from_admitted_user(&stream, &shared.users)
        {
            let admission = Admission::default();
            admission.admit();
            let served =
                serve_connection(stream, shared.clone(), Transport::Socket, admission.clone());
            connections.spawn(None, admission, served);
        }
    }
}

fn is_from_admitted_user(stream: &UnixStream, users: &[u32]) -> bool {
    let user = stream.peer_cred().map(|credentials| credentials.uid()).ok();
    let is_admitted = user.is_some_and(|user| is_admitted(user, users));
    if !is_admitted {
        REFUSED.with_label_values(&["user"]).inc();
        tracing::debug!(?user, "OAM connection refused: see oam.users");
    }
    is_admitted
}

/// Whether a user may use the socket: root, the user of this process, or a configured one.
fn is_admitted(user: u32, users: &[u32]) -> bool {
    user == 0 || user == nix::unistd::geteuid().as_raw() || users.contains(&user)
}

/// Serves connections to the address from any client.
async fn serve_tcp(listener: TcpListener, shared: Shared) {
    let mut connections = Connections::new(MAX_CONNECTIONS);
    loop {
        if let Some((stream, address)) = next(&mut connections, listener.accept()).await {
            let admission = Admission::default();
            let served =
                serve_connection(stream, shared.clone(), Transport::Tcp, admission.clone());
            connections.spawn(Some(address.ip()), admission, served);
        }
    }
}

/// The next connection, if there is [room](Connections::make_room) for it. `None` when a connection
/// ended instead, when one was closed, and 20 ms after an error.
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
                REFUSED.with_label_values(&["connections"]).inc();
                None
            }
        },
        Err(error) => {
            tracing::debug!(%error, "OAM connection not accepted");
            tokio::time::sleep(Duration::from_millis(20)).await;
            None
        }
    }
}

/// How a request arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    /// Over the socket, from an admitted user.
    Socket,
    /// Over TCP, from any client.
    Tcp,
}

async fn serve_connection<S>(stream: S, shared: Shared, transport: Transport, admission: Admission)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let service = service_fn(|request| {
        let (shared, admission) = (shared.clone(), admission.clone());
        async move { Ok::<_, Infallible>(answer(&request, &shared, transport, &admission).await) }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(5));
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "OAM connection ended with an error");
    }
}

/// What a path serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resource {
    Metrics,
    Status,
    Health,
    Readiness,
    /// A request for a function.
    Ask,
}

static RESOURCES: LazyLock<Paths<Resource>> = LazyLock::new(|| {
    Paths::new([
        ("/metrics", Resource::Metrics),
        ("/status", Resource::Status),
        ("/healthz", Resource::Health),
        ("/readyz", Resource::Readiness),
        ("/ask/{*question}", Resource::Ask),
    ])
});

impl Resource {
    /// What a path serves, and the request for a function in it.
    fn of(path: &str) -> Option<(Self, &str)> {
        let (resource, segments) = RESOURCES.at(path)?;
        Some((resource, segments.get("question").unwrap_or_default()))
    }

    /// Whether any client may read it over TCP. Monitoring does, and it names no subscriber.
    fn is_public(self) -> bool {
        matches!(self, Resource::Metrics | Resource::Health | Resource::Readiness)
    }

    /// The methods that it allows.
    fn allowed(self) -> &'static str {
        match self {
            Resource::Ask => "POST",
            _ => "GET, HEAD",
        }
    }

    fn allows(self, method: &Method) -> bool {
        match self {
            Resource::Ask => method == Method::POST,
            _ => method == Method::GET || method == Method::HEAD,
        }
    }
}

async fn answer(
    request: &Request<Incoming>,
    shared: &Shared,
    transport: Transport,
    admission: &Admission,
) -> Response<Full<Bytes>> {
    if transport == Transport::Tcp
        && let Err(refused) = check_origin(request.headers(), &shared.hosts)
    {
        return *refused;
    }
    let Some((resource, question)) = Resource::of(request.uri().path()) else {
        return text(404, "available: /metrics, /status, /healthz, /readyz and POST /ask/…\n");
    };
    if !resource.allows(request.method()) {
        REFUSED.with_label_values(&["method"]).inc();
        let mut response = text(405, "this method is not allowed here\n");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(resource.allowed()));
        return response;
    }
    if transport == Transport::Tcp && !resource.is_public() {
        let header = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
        let is_admitted = |token: &Token| header.is_some_and(|header| token.admits(header));
        if !shared.token.as_ref().is_some_and(is_admitted) {
            REFUSED.with_label_values(&["token"]).inc();
            let mut response = text(401, "the token of `oam.token_file` is needed\n");
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return response;
        }
        admission.admit();
    }
    match resource {
        Resource::Metrics => {
            let mut metrics = Vec::new();
            match TextEncoder::new().encode(&prometheus::gather(), &mut metrics) {
                Ok(()) => response(200, "text/plain; version=0.0.4", metrics),
                Err(error) => text(500, error.to_string()),
            }
        }
        Resource::Status => json(200, &(shared.status)()),
        Resource::Health => text(200, "ok\n"),
        Resource::Readiness => match (shared.ready)() {
            Ok(()) => text(200, "ready\n"),
            Err(why) => text(503, format!("{why}\n")),
        },
        Resource::Ask => match shared.ask.iter().find_map(|ask| ask(question)) {
            Some(answer) => asked(answer.await),
            None => text(404, "no function of this process answers this request\n"),
        },
    }
}

/// Refuses requests that a web page may have caused. A browser sends `Origin` with requests of
/// other sites that may change something. With DNS rebinding, `Host` is a name that this machine
/// does not have.
fn check_origin(headers: &HeaderMap, hosts: &[String]) -> Result<(), Box<Response<Full<Bytes>>>> {
    let refuse = |reason: &str, code, body: &'static str| {
        REFUSED.with_label_values(&[reason]).inc();
        Err(Box::new(text(code, body)))
    };
    if headers.contains_key(ORIGIN) {
        return refuse("origin", 403, "requests of web pages are refused\n");
    }
    let mut named = headers.get_all(HOST).iter();
    let host = named.next().filter(|_| named.next().is_none());
    match host.and_then(|host| host.to_str().ok()) {
        Some(host) if is_own_host(host, hosts) => Ok(()),
        _ => refuse("host", 421, "this host name is not configured: see `oam.hosts`\n"),
    }
}

/// Whether the `Host` of a request is an address, `localhost` or a configured name.
fn is_own_host(host: &str, hosts: &[String]) -> bool {
    if host.parse::<SocketAddr>().is_ok() {
        return true;
    }
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name);
    let is_address = |text: &str| text.parse::<IpAddr>().is_ok();
    is_address(host)
        || is_address(host.trim_matches(['[', ']']))
        || is_address(name)
        || name.eq_ignore_ascii_case("localhost")
        || hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
}

fn asked(answer: Result<serde_json::Value, Problem>) -> Response<Full<Bytes>> {
    match answer {
        Ok(body) => json(200, &body),
        Err(problem) => {
            let detail = problem.to_string();
            json(problem.status(), &serde_json::json!({"cause": problem.cause(), "detail": detail}))
        }
    }
}

fn json(code: u16, body: &serde_json::Value) -> Response<Full<Bytes>> {
    response(code, "application/json", body.to_string())
}

fn text(code: u16, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    response(code, "text/plain", body)
}

fn response(code: u16, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or_default();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_another_user_is_reported_with_its_owner_and_the_commands() {
        let folder = std::env::temp_dir().join(format!("martlet-oam-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let owner = std::fs::metadata(&folder).unwrap().uid();
        let hint = |kind: ErrorKind| foreign_folder(&folder.join("oam.sock"), &kind.into());
        let (denied, taken) = (hint(ErrorKind::PermissionDenied), hint(ErrorKind::AddrInUse));
        std::fs::remove_dir(&folder).unwrap();
        let (denied, folder) = (denied.unwrap(), folder.display());
        for part in [
            format!("{folder} belongs to user {owner}"),
            format!(" {folder}` and `chmod g+rwx,+t {folder}`"),
        ] {
            assert!(denied.contains(&part), "{part}: {denied}");
        }
        assert_eq!(taken, None);
    }

    #[test]
    fn hosts_are_addresses_and_configured_names() {
        let own = ["core.example".to_string()];
        for host in ["127.0.0.1:9090", "10.0.0.7", "[::1]:9090", "::1", "localhost", "LOCALHOST:1"]
        {
            assert!(is_own_host(host, &own), "{host}");
        }
        assert!(is_own_host("core.example:9090", &own) && is_own_host("Core.Example", &own));
        for host in
            ["", "evil.example", "evil.example:9090", "127.0.0.1.evil.example", "localhost.x"]
        {
            assert!(!is_own_host(host, &own), "{host}");
        }
    }

    #[test]
    fn each_resource_has_its_methods() {
        let allows = |path, method| Resource::of(path).is_some_and(|(r, _)| r.allows(&method));
        assert!(allows("/status", Method::GET) && allows("/metrics", Method::HEAD));
        assert!(!allows("/status", Method::POST) && !allows("/ask/locate/imsi-1", Method::GET));
        assert!(allows("/ask/locate/imsi-1", Method::POST));
        assert!(Resource::of("/").is_none() && Resource::of("/asking").is_none());
        assert!(!Resource::Status.is_public() && !Resource::Ask.is_public());
        let question = "amf/ue/nai-a%2Fb/release";
        assert_eq!(Resource::of(&format!("/ask/{question}")), Some((Resource::Ask, question)));
    }
}
