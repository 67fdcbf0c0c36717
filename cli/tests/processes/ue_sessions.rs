//! The sessions of a UE in the API: found by an IP address, and with counters of each PDR and QoS
//! flow.
use crate::api::{Caller, api_site};
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_ran::{PduSessionRequest, Ue};
use martlet_tests::{GATEWAY, in_namespace_within, reaches};
use serde_json::Value;
use std::time::Duration;

/// Longest time of a test.
const LONGEST: Duration = Duration::from_secs(300);

/// Waits until a condition is met.
async fn eventually(what: &str, is: impl AsyncFn() -> bool) -> Result<()> {
    let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
    while !is().await {
        ensure!(tokio::time::Instant::now() < give_up, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

async fn with_session(ue: &Ue) -> Result<()> {
    ue.register().await?;
    let dnn = Some("internet".into());
    ue.establish_pdu_session(PduSessionRequest { dnn, ..PduSessionRequest::default() }).await?;
    Ok(())
}

async fn address_of(ue: &Ue) -> Result<String> {
    let status = ue.status().await?;
    let session = status.sessions.first().context("a session")?;
    Ok(session.ipv4.context("an IPv4 address")?.to_string())
}

/// Without a history, so that only the SMF can know which UE has an address.
async fn found_by_address(arguments: &'static [&'static str]) -> Result<()> {
    let name = if arguments.is_empty() { "ue-address" } else { "ue-address-split" };
    let site = api_site(name)?;
    let config = std::fs::read_to_string(site.config())?;
    let off = config.replace("history: {", "history: { enabled: false,");
    ensure!(off != config, "{config}");
    std::fs::write(site.config(), off)?;
    let core = site.start(arguments)?;
    eventually("the API", async || site.0.join("api.sock").exists()).await?;
    let api = Caller::socket(&site);
    let gnb = gnb().await?;
    let ues = [ue(&gnb, 1)?, ue(&gnb, 2)?];
    for ue in &ues {
        with_session(ue).await?;
    }
    let search = |text: &str| -> Result<Vec<String>> {
        let page = api.get(&format!("/ues?search={text}"))?;
        let supi = |ue: &Value| ue["supi"].as_str().unwrap_or_default().to_string();
        Ok(page["items"].as_array().context("a page")?.iter().map(supi).collect())
    };
    for ue in &ues {
        let address = address_of(ue).await?;
        ensure!(search(&address)? == [ue.supi()], "{address}: {:?}", search(&address)?);
    }
    ensure!(search("192.0.2.77")?.is_empty());
    ensure!(search("2001:db8::1")?.is_empty());
    let wrong = api.request("GET", "/ues?search=10.45.0.x", None)?.expect(400)?.body;
    ensure!(wrong["field"] == "search" && wrong["remedy"].is_string(), "{wrong}");
    // An ended session has no address any more.
    let address = address_of(&ues[0]).await?;
    ues[0].deregister().await?;
    eventually("the end of the session", async || {
        search(&address).is_ok_and(|found| found.is_empty())
    })
    .await?;
    core.stop()
}

#[test]
fn a_ue_is_found_by_its_address_without_a_history() {
    in_namespace_within(LONGEST, || found_by_address(&[]));
}

#[test]
fn a_ue_is_found_by_its_address_in_a_split_core() {
    in_namespace_within(LONGEST, || found_by_address(&["--split"]));
}

/// The number of packets below a member.
fn packets(value: &Value) -> u64 {
    value["packets"].as_u64().unwrap_or(0)
}

async fn counters(datapath: &'static str) -> Result<()> {
    let site = api_site(&format!("pdr-counters-{datapath}"))?;
    let config = std::fs::read_to_string(site.config())?;
    let tables = "xdp: { sessions: 1024, rules: 4096, filters: 1024 }";
    let upf = format!("upf: {{ datapath: {datapath}, {tables} }}\n");
    std::fs::write(site.config(), format!("{config}{upf}"))?;
    let core = site.start(&[])?;
    let api = Caller::socket(&site);
    let gnb = gnb().await?;
    let ue = ue(&gnb, 1)?;
    with_session(&ue).await?;
    let path = format!("/ues/{}/sessions", ue.supi());
    let read = || Ok::<Value, anyhow::Error>(api.get(&path)?[0]["user_plane"][0].take());
    let before = read()?;
    let seid = before["seid"].as_str().context("a SEID")?.to_string();
    reaches(&ue, 1, GATEWAY).await?;
    // The counters of a packet may be written after it has left.
    let is_counted = |session: &Value| {
        let flow = &session["flows"][0];
        ["uplink", "downlink"]
            .iter()
            .all(|way| packets(&flow[way]) > 0 && packets(&flow[way]) == packets(&session[way]))
    };
    eventually("counted packets", async || read().is_ok_and(|session| is_counted(&session)))
        .await?;
    let session = read()?;
    let rules = session["rules"].as_array().context("rules")?;
    for way in ["uplink", "downlink"] {
        let of_way = || rules.iter().filter(|rule| rule["direction"] == way);
        ensure!(of_way().all(|rule| rule["engine"] == datapath), "{session}");
        let sum: u64 = of_way().map(|rule| packets(&rule["forwarded"])).sum();
        ensure!(sum > 0 && sum == packets(&session[way]), "{way}: {session}");
    }
    let one = api.get(&format!("/user-plane/sessions/{seid}"))?;
    ensure!(one["supi"] == ue.supi() && one["rules"].as_array() == Some(rules), "{one}");
    let none = api.request("GET", "/user-plane/sessions/0xffffffffffffffff", None)?;
    ensure!(none.expect(404)?.body["remedy"].is_string());
    let wrong = api.request("GET", "/user-plane/sessions/first", None)?.expect(400)?.body;
    ensure!(wrong["field"] == "seid", "{wrong}");
    core.stop()
}

#[test]
fn packets_of_each_pdr_and_flow_are_counted_by_the_kernel_datapath() {
    in_namespace_within(LONGEST, || counters("kernel"));
}

#[test]
fn packets_of_each_pdr_and_flow_are_counted_by_xdp() {
    in_namespace_within(LONGEST, || counters("xdp"));
}
