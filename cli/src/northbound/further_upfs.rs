//! The status of UPFs that run with configurations of their own (`oam.upfs`).
use crate::oam_client::{self, Endpoint};
use martlet::config::Config;
use martlet_nf::oam::Token;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::task::JoinSet;

/// Timeout of a request. A UPF that does not answer has no figures.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Adds the status of these UPFs to that of the core.
pub async fn add(config: &Config, status: &mut Value) {
    if config.oam.upfs.is_empty() {
        return;
    }
    let endpoint = |at: &String| match at.parse::<SocketAddr>() {
        // The token may be renewed while the core runs.
        Ok(address) => {
            let token = Token::read(&config.oam_endpoint(None).token_file).ok()?;
            Some(Endpoint::Tcp(address, token))
        }
        Err(_) => Some(Endpoint::Socket(at.into())),
    };
    let mut requests = JoinSet::new();
    for at in config.oam.upfs.iter().filter_map(endpoint) {
        requests.spawn(async move { oam_client::status_within(&at, TIMEOUT).await });
    }
    for answer in requests.join_all().await {
        let answer =
            answer.inspect_err(|error| tracing::debug!(%error, "status of a further UPF not read"));
        let functions = answer.unwrap_or_default();
        let functions = functions["nfs"].as_array().into_iter().flatten();
        let upfs = functions.filter(|nf| nf["name"] == "upf").cloned();
        if let Some(all) = status["nfs"].as_array_mut() {
            all.extend(upfs);
        }
    }
}
