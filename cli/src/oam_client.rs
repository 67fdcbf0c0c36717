//! Requests to the OAM endpoint of a running process.
use anyhow::{Context, Result, anyhow};
use clap::Args;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use martlet::config::Config;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Maximum length of a response in bytes.
const MAX_BODY: usize = 16 << 20;
/// Timeout of a status request.
const STATUS_TIMEOUT: Duration = Duration::from_secs(2);

/// The core that a command talks to.
#[derive(Debug, Args)]
pub struct OamArgs {
    /// Configuration of the core
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address of the core's OAM endpoint, instead of `oam.bind` in the configuration
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub at: Option<SocketAddr>,
}

impl OamArgs {
    /// The endpoint of the core.
    pub fn core(&self) -> Result<SocketAddr> {
        Ok(match self.at {
            Some(address) => address,
            None => Config::load(self.config.as_deref())?.oam.bind,
        })
    }

    /// The endpoints that may serve a function: the core's, and the function's own, which it has
    /// with one process for each function.
    pub fn function(&self, name: &str) -> Result<Vec<SocketAddr>> {
        Ok(match self.at {
            Some(address) => vec![address],
            None => {
                let oam = Config::load(self.config.as_deref())?.oam;
                vec![oam.bind, oam.of(name)]
            }
        })
    }
}

async fn request(address: SocketAddr, path: &str) -> Result<(u16, Bytes)> {
    let stream = tokio::net::TcpStream::connect(address).await.with_context(|| {
        format!(
            "no core answers at {address}: check that `martlet up` runs and that `oam.bind` is \
             this address"
        )
    })?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request =
        hyper::Request::get(path).header("host", address.to_string()).body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), MAX_BODY)
        .collect()
        .await
        .map_err(|e| anyhow!("{address}{path}: {e}"))?;
    Ok((status, body.to_bytes()))
}

/// Sends a request: the HTTP status, and the body if it is JSON, else null.
pub async fn get(address: SocketAddr, path: &str, timeout: Duration) -> Result<(u16, Value)> {
    let response = tokio::time::timeout(timeout, request(address, path)).await;
    let (status, body) =
        response.map_err(|_| anyhow!("{address} did not answer within {timeout:?}"))??;
    Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
}

/// Sends a request to the first of several endpoints that knows its path. An endpoint that does not
/// know it answers 404 without a JSON body.
pub async fn get_from_any(
    addresses: &[SocketAddr],
    path: &str,
    timeout: Duration,
) -> Result<(u16, Value)> {
    let mut outcome = Err(anyhow!("no OAM endpoint is configured"));
    for address in addresses {
        outcome = get(*address, path, timeout).await;
        if !matches!(&outcome, Ok((404, body)) if body.is_null()) {
            break;
        }
    }
    outcome
}

/// The status of a process.
pub async fn status(address: SocketAddr) -> Result<Value> {
    match get(address, "/status", STATUS_TIMEOUT).await? {
        (200..300, status) => Ok(status),
        (code, _) => Err(anyhow!("{address}/status answered {code}")),
    }
}
