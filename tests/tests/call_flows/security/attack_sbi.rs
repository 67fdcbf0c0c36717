//! Attacks of a neighbour on the HTTP/2 servers of the functions: connections without a request,
//! bodies without an end, and responses that are not read.
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use martlet::core::Sbi;
use martlet_sbi::{ApiRoot, CallPolicy, Peer};
use martlet_sbi_api::nnrf_nfmanagement::{NfManagementClient, NfProfile, NfStatus, NfType};
use martlet_sbi_http::{ClientLimits, HttpBinding};
use martlet_tests::{GATEWAY, MetricDelta, TestCore, in_namespace, reaches};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

const NRF: &str = "127.0.0.10:7777";
const UDM: &str = "127.0.0.12:7777";
const AMF: &str = "127.0.0.17:7777";
const LIMIT: Duration = Duration::from_secs(60);

/// An HTTP/2 connection whose frames the test controls.
async fn connect(
    at: &str,
    window: u32,
) -> Result<(SendRequest<Bytes>, JoinHandle<Result<(), h2::Error>>)> {
    let stream = TcpStream::connect(at).await?;
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(window);
    let (sender, connection) = builder.handshake(stream).await?;
    Ok((sender, tokio::spawn(connection)))
}

fn request(method: &str, at: &str, target: &str) -> Result<http::Request<()>> {
    Ok(http::Request::builder().method(method).uri(format!("http://{at}{target}")).body(())?)
}

/// The status of a request on a connection of its own.
async fn ask(at: &str, target: &str) -> Result<u16> {
    let (sender, _connection) = connect(at, 1 << 20).await?;
    let (response, _) = sender.ready().await?.send_request(request("GET", at, target)?, true)?;
    let response = tokio::time::timeout(LIMIT, response).await.context("no response")??;
    Ok(response.status().as_u16())
}

async fn core_works(core: &TestCore, n: u64) -> Result<()> {
    let gnb = core.gnb(1).await?;
    let (ue, _) = core.ue_with_session(&gnb, n).await?;
    reaches(&ue, 1, GATEWAY).await?;
    Ok(ue.deregister().await?)
}

#[test]
fn attack_silent_connections_block_a_port() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| {
            // The time limit alone would come too late.
            config.sbi.first_request_s = 3600;
        })
        .await?;
        let reasons = ["idle connection ended for another"];
        let ended = MetricDelta::of("martlet_sbi_http_refused_total", &[("reason", reasons[0])]);
        let mut silent = Vec::new();
        for _ in 0..600 {
            silent.push(TcpStream::connect(AMF).await?);
        }
        // Also after a request that was answered.
        let mut idle = Vec::new();
        for _ in 0..300 {
            let (sender, connection) = connect(AMF, 1 << 20).await?;
            let sender = sender.ready().await?;
            let mut sender = sender;
            let (response, _) = sender.send_request(request("GET", AMF, "/x")?, true)?;
            ensure!(response.await?.status() == 404, "another answer");
            idle.push((sender, connection));
        }
        ensure!(ask(AMF, "/x").await? == 404, "another answer");
        ensure!(ended.get() >= 600.0, "{} connections ended", ended.get());
        core_works(&core, 1).await
    });
}

#[test]
fn attack_connection_without_a_request_stays() {
    in_namespace(|| async {
        let _core = TestCore::start_on(Sbi::Http, |config| config.sbi.first_request_s = 1).await?;
        let ended =
            MetricDelta::of("martlet_sbi_http_refused_total", &[("reason", "no request in time")]);
        let silent = TcpStream::connect(AMF).await?;
        // A preface without a request does not help.
        let (_sender, connection) = connect(AMF, 1 << 20).await?;
        let mut byte = [0];
        let read = tokio::time::timeout(LIMIT, async {
            silent.readable().await?;
            silent.try_read(&mut byte)
        });
        ensure!(matches!(read.await?, Ok(0) | Err(_)), "the connection stays open");
        let _ = tokio::time::timeout(LIMIT, connection).await.context("it stays open")?;
        ensure!(ended.get() == 2.0, "{} counted", ended.get());
        Ok(())
    });
}

#[test]
fn attack_endless_bodies_take_all_requests() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| config.sbi.body_s = 3600).await?;
        let path = "/nudm-ueau/v1/imsi-001010000000001/security-information/generate-auth-data";
        let mut held = Vec::new();
        for _ in 0..5 {
            let (mut sender, connection) = connect(UDM, 1 << 20).await?;
            let mut streams = Vec::new();
            for _ in 0..1000 {
                sender = sender.ready().await?;
                let (response, mut body) =
                    sender.send_request(request("POST", UDM, path)?, false)?;
                body.send_data(Bytes::from_static(b"{"), false)?;
                streams.push((response, body));
            }
            held.push((sender, connection, streams));
        }
        let status = ask(UDM, "/nudm-sdm/v2/imsi-001010000000001/am-data").await?;
        ensure!(status == 200, "{status}");
        core_works(&core, 1).await
    });
}

#[test]
fn attack_responses_that_are_not_read_fill_the_memory() {
    in_namespace(|| async {
        let limit = 2 << 20;
        let core = TestCore::start_on(Sbi::Http, move |config| {
            config.sbi.max_unread = limit;
            config.sbi.unread_s = 2;
        })
        .await?;
        // A large profile, so that each response is 700 kB.
        let id = "00000000-0000-4000-8000-00000000000a";
        let mut profile = NfProfile::new(
            id.parse().map_err(|_| anyhow::anyhow!("{id}"))?,
            NfType::Nef,
            NfStatus::Registered,
        );
        profile.ipv4_addresses = Some(vec!["127.0.0.99".parse()?]);
        profile.heart_beat_timer = Some(60);
        profile.nf_instance_name = Some("x".repeat(700 << 10));
        let binding = Arc::new(HttpBinding::new(ClientLimits::default()));
        let peer = Peer::new(binding, ApiRoot::http(NRF), "NEF", CallPolicy::default());
        let registered = NfManagementClient::new(peer).register_nf_instance(id, profile).await;
        registered.map_err(|problem| anyhow::anyhow!("{problem}"))?;

        let unread = MetricDelta::of("martlet_sbi_http_unsent_bytes", &[]);
        let ended =
            MetricDelta::of("martlet_sbi_http_refused_total", &[("reason", "responses not read")]);
        let target = "/nnrf-disc/v1/nf-instances?target-nf-type=NEF&requester-nf-type=AMF";
        let (mut sender, connection) = connect(NRF, 0).await?;
        // Dropping a response resets its stream, so all of them stay.
        let mut responses: Vec<ResponseFuture> = Vec::new();
        for _ in 0..600 {
            sender = sender.ready().await?;
            responses.push(sender.send_request(request("GET", NRF, target)?, true)?.0);
        }
        let mut peak = 0.0f64;
        let until = tokio::time::Instant::now() + LIMIT;
        while !connection.is_finished() {
            ensure!(tokio::time::Instant::now() < until, "the connection stays open");
            peak = peak.max(unread.get());
            // Others are served meanwhile.
            ensure!(ask(NRF, "/nnrf-nfm/v1/nf-instances").await? == 200, "not served");
        }
        ensure!(peak >= (700 << 10) as f64, "nothing was held: {peak}");
        ensure!(peak <= limit as f64, "{peak} bytes were held");
        ensure!(ended.get() == 1.0, "{} connections ended", ended.get());
        drop(responses);
        core_works(&core, 1).await
    });
}
