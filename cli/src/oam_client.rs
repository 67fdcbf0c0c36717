//! Asks a running process for its status.
use anyhow::{Context, Result, anyhow};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use std::time::Duration;

/// Octets of an answer that are read at the most.
const MOST: usize = 16 << 20;

/// Gets a path from a process's own endpoint.
pub async fn get(address: SocketAddr, path: &str) -> Result<Bytes> {
    tokio::time::timeout(Duration::from_secs(2), exchange(address, path))
        .await
        .map_err(|_| anyhow!("{address} does not answer"))?
}

async fn exchange(address: SocketAddr, path: &str) -> Result<Bytes> {
    let (status, body) = request(address, path).await?;
    if !(200..300).contains(&status) {
        return Err(anyhow!("{address}{path} answered {status}"));
    }
    Ok(body)
}

async fn request(address: SocketAddr, path: &str) -> Result<(u16, Bytes)> {
    let stream = tokio::net::TcpStream::connect(address).await.with_context(|| {
        format!("nothing answers at {address}: is `martlet up` running, with this `oam.bind`?")
    })?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request =
        hyper::Request::get(path).header("host", address.to_string()).body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), MOST)
        .collect()
        .await
        .map_err(|e| anyhow!("{address}{path}: {e}"))?;
    Ok((status, body.to_bytes()))
}

/// Asks a process something: the HTTP status, and the answer where it is JSON.
pub async fn ask(
    address: SocketAddr,
    path: &str,
    limit: Duration,
) -> Result<(u16, serde_json::Value)> {
    let asked = tokio::time::timeout(limit, request(address, path)).await;
    let (status, body) = asked.map_err(|_| anyhow!("{address} does not answer"))??;
    Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
}

/// Gets the status of a process.
pub async fn status(address: SocketAddr) -> Result<serde_json::Value> {
    Ok(serde_json::from_slice(&get(address, "/status").await?)?)
}
