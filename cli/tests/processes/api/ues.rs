//! UEs, their sessions and gNBs, events of them, and requests to release them.
use super::*;
use martlet_lab::CoreProcess;
use martlet_ran::PduSessionRequest;
use martlet_tests::in_namespace;
use std::io::{BufRead, BufReader};

/// Lines of the events until one contains a text.
fn events_until(stream: UnixStream, text: &str) -> Result<Vec<String>> {
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut lines = Vec::new();
    for line in BufReader::new(stream).lines() {
        let line = line.with_context(|| format!("waiting for {text} in {lines:#?}"))?;
        let found = line.contains(text);
        lines.push(line);
        if found {
            return Ok(lines);
        }
    }
    anyhow::bail!("{text} is not in {lines:#?}")
}

fn subscribe(site: &Site, after: Option<&str>) -> Result<UnixStream> {
    let mut stream = UnixStream::connect(site.0.join("api.sock"))?;
    let after = after.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
    let path = "/api/v1/events?kinds=ue,ue_state,gnb,alarm";
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\n{after}\r\n")?;
    Ok(stream)
}

async fn ues_over_the_api(arguments: &'static [&'static str]) -> Result<()> {
    let name = if arguments.is_empty() { "api-ues" } else { "api-split" };
    let site = api_site(name)?;
    let core: CoreProcess = site.start(arguments)?;
    let api = Caller::socket(&site);
    api.until_it_answers().await?;
    let reader = subscribe(&site, None)?;
    let gnb = gnb().await?;
    let ue = ue(&gnb, 1)?;
    ue.register().await?;
    let request =
        PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
    ue.establish_pdu_session(request).await?;
    let supi = "imsi-001010000000001";
    let lines = tokio::task::spawn_blocking(move || events_until(reader, supi)).await??;
    ensure!(lines.iter().any(|line| line.starts_with("event: gnb")), "{lines:#?}");
    // A reader resumes after its last event.
    let id = lines.iter().find_map(|line| line.strip_prefix("id: ")).context("an identity")?;
    let resumed = subscribe(&site, Some(id))?;
    tokio::task::spawn_blocking(move || events_until(resumed, supi)).await??;
    let foreign = subscribe(&site, Some("0-1"))?;
    tokio::task::spawn_blocking(move || events_until(foreign, "event: reset")).await??;

    let page = api.get("/ues?search=0000000001")?;
    ensure!(page["items"][0]["state"] == "registered, connected", "{page}");
    let sessions = api.get(&format!("/ues/{supi}/sessions"))?;
    let rules = &sessions[0]["user_plane"][0]["rules"];
    ensure!(rules.as_array().is_some_and(|rules| rules.len() >= 2), "{sessions}");
    ensure!(api.get("/gnbs")?[0]["connected_ues"] == 1);
    // The history is written after the procedure.
    let give_up = Instant::now() + Duration::from_secs(60);
    loop {
        let history = api.get(&format!("/ues/{supi}/history"))?.to_string();
        if history.contains("registered") {
            break;
        }
        ensure!(Instant::now() < give_up, "{history}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let overview = api.get("/overview")?;
    ensure!(overview["now"]["gnbs"] == 1, "{overview}");

    let post = |what: &'static str| {
        let api = api.clone();
        tokio::task::spawn_blocking(move || api.post(&format!("/ues/{supi}/{what}"), json!({})))
    };
    let reader = subscribe(&site, None)?;
    post("release").await??.expect(200)?;
    let state = "\"supis\":[\"imsi-001010000000001\"]";
    tokio::task::spawn_blocking(move || events_until(reader, state)).await??;
    let idle = api.get(&format!("/ues/{supi}"))?;
    ensure!(idle["state"] == "registered, idle", "{idle}");
    post("release").await??.expect(409)?;
    // An idle UE answers the paging.
    let paged = post("paging").await??.expect(200)?.body;
    ensure!(paged["done"] == "the UE answered the paging", "{paged}");
    let give_up = Instant::now() + Duration::from_secs(60);
    while api.get(&format!("/ues/{supi}"))?["state"] != "registered, connected" {
        ensure!(Instant::now() < give_up, "the UE is not connected");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    post("paging").await??.expect(409)?;
    // It is paged to be notified of its deregistration, too.
    post("release").await??.expect(200)?;
    let deregistered = post("deregistration").await??.expect(200)?.body;
    ensure!(deregistered["done"] == "the UE is deregistered", "{deregistered}");
    // The AMF may have removed the context already.
    let gone = api.request("GET", &format!("/ues/{supi}"), None)?;
    ensure!(gone.status == 404 || gone.body["state"] == "deregistered", "{gone:?}");
    site.subscribe(3, 4)?;
    let others = (2..=6).map(|n| crate::site::ue(&gnb, n)).collect::<Result<Vec<_>>>()?;
    for other in &others {
        other.register().await?;
    }
    let seen = supis(&api, "/ues?limit=2&state=registered,%20connected")?;
    ensure!(seen.len() == others.len() && seen.is_sorted(), "{seen:?}");
    let descending = supis(&api, "/ues?limit=2&state=registered,%20connected&order=desc")?;
    ensure!(descending.iter().eq(seen.iter().rev()), "{descending:?}");
    // A state that does not exist is an error, and no empty list.
    let wrong = api.request("GET", "/ues?state=connected", None)?.expect(400)?.body;
    ensure!(wrong["field"] == "state", "{wrong}");
    // A UE that was refused has a history.
    let refused = crate::site::ue(&gnb, 77)?;
    ensure!(refused.register().await.is_err(), "the subscriber does not exist");
    let give_up = Instant::now() + Duration::from_secs(60);
    loop {
        let history = api.get("/ues/imsi-001010000000077/history")?.to_string();
        if history.contains("failed") {
            break;
        }
        ensure!(Instant::now() < give_up, "{history}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // So has one that conceals its identity, and was never identified.
    let suci = "suci-0-001-01-0000-1-7-c0ffee";
    let event = json!({"ms": 1, "supi": suci, "nf": "amf", "what": "registration failed"});
    let mut options = std::fs::OpenOptions::new();
    let file = options.create(true).append(true).open(site.0.join("martlet.history"));
    writeln!(file?, "{event}")?;
    let shown = std::process::Command::new(MARTLET)
        .args(["ue", suci, "history", "-c"])
        .arg(site.config())
        .output()?;
    let text = String::from_utf8_lossy(&shown.stdout);
    ensure!(text.contains("registration failed"), "{shown:?}");
    let id = api.get("/gnbs")?[0]["id"].as_str().context("an identity")?.to_string();
    api.post(&format!("/gnbs/{id}/release"), json!({}))?.expect(200)?;
    core.stop()
}

#[test]
fn ues_sessions_events_and_requests_over_the_api() {
    in_namespace(|| ues_over_the_api(&[]));
}

#[test]
fn a_split_core_has_the_same_api() {
    in_namespace(|| ues_over_the_api(&["--split"]));
}
