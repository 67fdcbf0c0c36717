//! Access tokens of another vendor's NRF (TS 33.501, 13.4.1).
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_sbi::{Problem, Router};
use martlet_sbi_http::{Guard, HttpServer, Refusal, ServerLimits};
use martlet_tests::in_namespace;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An NRF that requires tokens for all of its services, as free5GC's does for most.
async fn nrf_with_tokens(address: &str) -> Result<()> {
    let guard = Guard(Arc::new(|_, _, _, _| {
        let challenge = "Bearer realm=\"nrf\"".to_string();
        Err(Refusal { problem: Problem::new(401, ""), challenge })
    }));
    let limits = ServerLimits { guard: Some(guard), ..ServerLimits::default() };
    let server = HttpServer::bind(address.parse()?, Arc::new(Router::new()), limits);
    tokio::spawn(server.await?.run());
    Ok(())
}

/// Without `sbi.token_key` the log tells the remedy, once.
#[test]
fn an_nrf_that_requires_tokens_is_reported_with_the_remedy() {
    in_namespace(|| async {
        let site = Site::new("token-hint")?;
        let config = std::fs::read_to_string(site.config())?;
        let external = "sbi: { external: [nrf], nrf: \"127.0.0.10:7777\" }\n";
        std::fs::write(site.config(), config + external)?;
        nrf_with_tokens("127.0.0.10:7777").await?;
        let log = site.0.join("udm.log");
        let file = std::fs::File::create(&log)?;
        let config = site.config();
        let mut udm = Command::new(MARTLET)
            .args(["nf", "udm", "-c"])
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()?;
        let hint = "sbi.token_key is not configured";
        let read = || std::fs::read_to_string(&log).context("the log");
        let give_up = Instant::now() + Duration::from_secs(60);
        let outcome = async {
            while !read()?.contains(hint) {
                ensure!(Instant::now() < give_up, "no hint: {}", read()?);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            // The registration is tried again and again.
            tokio::time::sleep(Duration::from_secs(3)).await;
            ensure!(read()?.matches(hint).count() == 1, "{}", read()?);
            Ok(())
        }
        .await;
        udm.kill()?;
        udm.wait()?;
        outcome
    });
}
