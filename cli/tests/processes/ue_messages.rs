//! The recorded signalling of a UE: NAS, NGAP, SBI and PFCP, and the same as a file for Wireshark.
use crate::api::{ADDRESS, Caller, api_site};
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_ran::PduSessionRequest;
use martlet_tests::in_namespace;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// `PROTOCOL sender receiver name` of each message.
fn lines(job: &Value) -> Vec<String> {
    let messages = job["result"]["messages"].as_array().into_iter().flatten();
    let text = |message: &Value, member: &str| message[member].as_str().unwrap_or("").to_string();
    let line = |message: &Value| {
        ["protocol", "from", "to", "name"].map(|member| text(message, member)).join(" ")
    };
    messages.map(line).collect()
}

/// Whether lines that contain these texts follow one another, with others between them.
fn in_order(lines: &[String], expected: &[&str]) -> Result<()> {
    let mut rest = lines.iter();
    for text in expected {
        ensure!(rest.any(|line| line.contains(text)), "{text} is missing in {lines:#?}");
    }
    Ok(())
}

/// A file of the API, as bytes.
fn download(caller: &Caller, path: &str) -> Result<Vec<u8>> {
    let mut stream = std::net::TcpStream::connect(ADDRESS)?;
    write!(stream, "GET /api/v1{path} HTTP/1.1\r\nconnection: close\r\nhost: {ADDRESS}\r\n")?;
    for (name, value) in caller.headers() {
        write!(stream, "{name}: {value}\r\n")?;
    }
    write!(stream, "\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|w| w == b"\r\n\r\n").context("a head")?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    ensure!(head.starts_with("HTTP/1.1 200"), "{head}");
    ensure!(head.contains("application/x-pcapng") && head.contains("attachment"), "{head}");
    Ok(answer[end + 4..].to_vec())
}

async fn recorded(arguments: &'static [&'static str]) -> Result<()> {
    let name = if arguments.is_empty() { "messages" } else { "messages-split" };
    let site = api_site(name)?;
    let core = site.start(arguments)?;
    let api = Caller::socket(&site);
    api.until_it_answers().await?;
    let ask = |method: &'static str, path: String, body: Option<Value>| {
        let api = api.clone();
        tokio::task::spawn_blocking(move || api.request(method, &path, body))
    };
    let gnb = gnb().await?;
    let (first, second) = (ue(&gnb, 1)?, ue(&gnb, 2)?);
    let path = "/ues/imsi-001010000000001/messages".to_string();
    ask("POST", path.clone(), Some(json!({"seconds": 0}))).await??.expect(400)?;
    let started = ask("POST", path, Some(json!({"seconds": 60}))).await??.expect(202)?;
    let job = format!("/jobs/{}", started.body["id"].as_str().context("a job")?);

    let internet =
        || PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
    // Another UE does the same at the same time.
    tokio::try_join!(first.register(), second.register())?;
    tokio::try_join!(
        first.establish_pdu_session(internet()),
        second.establish_pdu_session(internet())
    )?;
    first.deregister().await?;
    let give_up = Instant::now() + Duration::from_secs(60);
    let shown = loop {
        let shown = ask("GET", job.clone(), None).await??.expect(200)?.body;
        if lines(&shown).iter().any(|line| line.contains("UEContextReleaseComplete")) {
            break shown;
        }
        ensure!(Instant::now() < give_up, "{:#?}", lines(&shown));
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    ask("DELETE", job.clone(), None).await??.expect(200)?;
    let lines = lines(&shown);
    println!("{lines:#?}");
    ensure!(shown["result"]["missed"] == 0, "{}", shown["result"]["missed"]);
    in_order(
        &lines,
        &[
            "NGAP gnb-1 AMF InitialUEMessage",
            "NAS UE AMF RegistrationRequest",
            "SBI AMF AUSF Nausf_auth",
            "SBI AUSF UDM Nudm_ueau",
            "SBI UDM UDR Nudr_dr",
            "NAS AMF UE AuthenticationRequest",
            "NAS UE AMF AuthenticationResponse",
            "NAS AMF UE SecurityModeCommand",
            "SBI AMF UDM Nudm_uecm",
            "NGAP AMF gnb-1 InitialContextSetupRequest",
            "NAS UE AMF UlNasTransport: PduSessionEstablishmentRequest",
            "SBI AMF SMF Nsmf_pdusession",
            "SBI SMF PCF Npcf_smpolicycontrol",
            "PFCP SMF UPF",
            "PFCP UPF SMF",
            "SBI SMF AMF Namf_comm",
            "NAS AMF UE DlNasTransport: PduSessionEstablishmentAccept",
            "NGAP gnb-1 AMF PDUSessionResourceSetupResponse",
            "NAS UE AMF DeregistrationRequest",
            "PFCP SMF UPF",
            "NGAP gnb-1 AMF UEContextReleaseComplete",
        ],
    )?;
    // One of each: nothing of the other UE is there.
    for once in ["InitialUEMessage", "AuthenticationRequest", "InitialContextSetupRequest"] {
        let count = lines.iter().filter(|line| line.contains(once)).count();
        ensure!(count == 1, "{count} × {once}: {lines:#?}");
    }
    check_file(&site, &api, &job, lines.len())?;

    let supi = "imsi-001010000000001";
    let audit = ask("GET", "/audit".into(), None).await??.expect(200)?.body.to_string();
    ensure!(audit.contains("ue.record-messages") && audit.contains(supi), "{audit}");
    core.stop()
}

/// The file has all messages, Wireshark reads them, and they have no keys.
fn check_file(site: &Site, api: &Caller, job: &str, count: usize) -> Result<()> {
    let password = "first passphrase";
    let user = json!({"name": "otto", "role": "operator", "password": password});
    api.post("/users", user)?.expect(201)?;
    let otto = Caller::tcp().sign_in("otto", password)?;
    otto.change_password(password, "another passphrase")?;
    let bytes = download(&otto, &format!("{job}/pcap"))?;
    let file = site.0.join("messages.pcapng");
    std::fs::write(&file, &bytes)?;
    let output = std::process::Command::new("tshark")
        .args(["-r".as_ref(), file.as_os_str()])
        .args(["-T", "fields", "-e", "_ws.col.Protocol", "-e", "_ws.col.Info"])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    ensure!(text.lines().count() == count, "{} packets of {count}: {text}", text.lines().count());
    ensure!(!text.to_lowercase().contains("malformed"), "{text}");
    for protocol in ["NGAP", "NAS-5GS", "PFCP", "HTTP"] {
        ensure!(text.lines().any(|line| line.starts_with(protocol)), "no {protocol}: {text}");
    }
    let raw = String::from_utf8_lossy(&bytes).into_owned();
    for secret in ["kseaf", "kausf"] {
        let member = format!("\"{secret}\":\"");
        let mut found = raw.match_indices(&member).peekable();
        ensure!(found.peek().is_some(), "no message has {secret}");
        for (at, name) in found {
            let value = &raw[at + name.len()..at + name.len() + 64];
            ensure!(value.bytes().all(|byte| byte == b'0'), "{secret} is {value}");
        }
    }
    Ok(())
}

#[test]
fn signalling_of_a_ue_is_recorded_on_request() {
    in_namespace(|| recorded(&[]));
}

#[test]
fn signalling_of_a_ue_is_recorded_in_a_split_core() {
    in_namespace(|| recorded(&["--split"]));
}
