//! Requests to the OAM endpoint of a running process.
use crate::config_args::ConfigArgs;
use crate::liveness::{HungProcess, unless_hung};
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::Method;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use martlet::config::Config;
use martlet_nf::oam::Token;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

/// Maximum length of a response in bytes.
const MAX_BODY: usize = 16 << 20;
/// Timeout of a status request.
pub const STATUS_TIMEOUT: Duration = Duration::from_secs(2);

/// The core that a command talks to.
#[derive(Debug, Clone, Args)]
pub struct OamArgs {
    #[command(flatten)]
    pub config: ConfigArgs,
    /// An OAM endpoint, instead of the API of the core with the configuration: the path of a
    /// socket, or an address. It may be that of a function which `martlet nf` started
    #[arg(long, value_name = "SOCKET|ADDRESS:PORT")]
    pub at: Option<String>,
    /// File of the token for an address [default: `oam.token_file` of the configuration]
    #[arg(long, value_name = "FILE", requires = "at")]
    pub token_file: Option<PathBuf>,
}

/// Where a process serves OAM requests.
#[derive(Debug, Clone)]
pub enum Endpoint {
    /// A unix socket.
    Socket(PathBuf),
    /// An address, with the token that it demands.
    Tcp(SocketAddr, Token),
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Endpoint::Socket(path) => write!(f, "{}", path.display()),
            Endpoint::Tcp(address, _) => write!(f, "{address}"),
        }
    }
}

impl Endpoint {
    /// The socket of the core with a configuration.
    pub fn of_core(config: &Config) -> Endpoint {
        Endpoint::Socket(config.oam_endpoint(None).socket)
    }
}

impl OamArgs {
    /// The endpoint that `--at` names.
    ///
    /// # Errors
    /// The token of an address cannot be read.
    pub fn endpoint(&self, at: &str) -> Result<Endpoint> {
        let Ok(address) = at.parse::<SocketAddr>() else {
            return Ok(Endpoint::Socket(at.into()));
        };
        let file = match &self.token_file {
            Some(file) => file.clone(),
            None => self.config.load()?.oam_endpoint(None).token_file,
        };
        let token = Token::read(&file).context("an address needs the token of its core")?;
        Ok(Endpoint::Tcp(address, token))
    }
}

/// Either kind of connection.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

async fn request(endpoint: &Endpoint, method: Method, path: &str) -> Result<(u16, Bytes)> {
    let stream: std::io::Result<Box<dyn Stream>> = match endpoint {
        Endpoint::Socket(path) => {
            tokio::net::UnixStream::connect(path).await.map(|stream| Box::new(stream) as _)
        }
        Endpoint::Tcp(address, _) => {
            tokio::net::TcpStream::connect(address).await.map(|stream| Box::new(stream) as _)
        }
    };
    let stream = stream.with_context(|| match endpoint {
        Endpoint::Socket(_) => format!(
            "no core answers at {endpoint}: check that the core or function runs, that this is its \
             OAM socket, and that this user is root, the core's, or one of `oam.users`"
        ),
        Endpoint::Tcp(..) => format!(
            "no core answers at {endpoint}: check that the core runs, and that its `oam.listen` \
             has this address"
        ),
    })?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let mut request = hyper::Request::builder().method(method).uri(path);
    request = match endpoint {
        Endpoint::Socket(_) => request.header("host", "localhost"),
        Endpoint::Tcp(address, token) => {
            request.header("host", address.to_string()).header("authorization", token.header())
        }
    };
    let response = sender.send_request(request.body(Empty::<Bytes>::new())?).await?;
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), MAX_BODY)
        .collect()
        .await
        .map_err(|e| anyhow!("{endpoint}{path}: {e}"))?;
    Ok((status, body.to_bytes()))
}

/// Sends a request: the HTTP status, and the body if it is JSON, else null.
async fn send(
    endpoint: &Endpoint,
    method: Method,
    path: &str,
    timeout: Duration,
) -> Result<(u16, Value)> {
    let response = tokio::time::timeout(timeout, request(endpoint, method, path));
    let probe = || request(endpoint, Method::GET, "/readyz");
    let Ok(response) = unless_hung(response, probe).await else {
        let process = match endpoint {
            Endpoint::Socket(socket) => HungProcess::at(socket).await,
            Endpoint::Tcp(..) => HungProcess { pid: None, is_stopped: false },
        };
        return Err(anyhow::Error::new(process).context(format!("{endpoint} does not answer")));
    };
    let (status, body) =
        response.map_err(|_| anyhow!("{endpoint} did not answer within {timeout:?}"))??;
    Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
}

/// Sends a request for a function. An endpoint whose process does not have the function answers 404
/// without a JSON body.
pub async fn ask(endpoint: &Endpoint, path: &str, timeout: Duration) -> Result<(u16, Value)> {
    send(endpoint, Method::POST, path, timeout).await
}

/// Whether a process is ready. The error says what is missing.
pub async fn ready(endpoint: &Endpoint) -> Result<()> {
    let response = request(endpoint, Method::GET, "/readyz");
    let (status, body) = tokio::time::timeout(STATUS_TIMEOUT, response)
        .await
        .map_err(|_| anyhow!("{endpoint} did not answer within {STATUS_TIMEOUT:?}"))??;
    match status {
        200 => Ok(()),
        _ => bail!("{}", String::from_utf8_lossy(&body).trim()),
    }
}

/// The status of a process.
pub async fn status(endpoint: &Endpoint) -> Result<Value> {
    status_within(endpoint, STATUS_TIMEOUT).await
}

/// The status of a process that answers within `timeout`.
pub async fn status_within(endpoint: &Endpoint, timeout: Duration) -> Result<Value> {
    match send(endpoint, Method::GET, "/status", timeout).await? {
        (200..300, status) => Ok(status),
        (401, _) => Err(anyhow!("{endpoint}/status: the core has another token")),
        (code, _) => Err(anyhow!("{endpoint}/status answered {code}")),
    }
}
