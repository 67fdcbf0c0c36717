//! The program as a system service: systemd notifications, configuration reload, captures, and
//! import of subscribers.
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_ran::PduSessionRequest;
use martlet_tests::in_namespace;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Waits until systemd's notification socket receives a state.
fn wait_for_notification(socket: &std::os::unix::net::UnixDatagram, state: &str) -> Result<()> {
    let mut buffer = [0; 4096];
    for _ in 0..100 {
        let length = socket.recv(&mut buffer).with_context(|| format!("waiting for {state}"))?;
        if String::from_utf8_lossy(&buffer[..length]).lines().any(|line| line == state) {
            return Ok(());
        }
    }
    anyhow::bail!("{state} was not received")
}

/// Status and body of a response of the core's OAM endpoint.
fn oam(socket: &Path, path: &str) -> Result<(String, String)> {
    use std::io::{Read, Write};
    let mut stream = std::os::unix::net::UnixStream::connect(socket)?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: core\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer")?;
    Ok((head.split(' ').nth(1).unwrap_or_default().to_string(), body.to_string()))
}

#[test]
fn systemd_notification_configuration_reload_and_ue_history() {
    in_namespace(|| async {
        let site = Site::new("service")?;
        let socket = std::os::unix::net::UnixDatagram::bind(site.0.join("notify"))?;
        socket.set_read_timeout(Some(Duration::from_secs(20)))?;
        let log = std::fs::File::create(site.0.join("log"))?;
        let mut core = Command::new(MARTLET)
            .args(["up", "-c", &site.config().display().to_string()])
            .env("NOTIFY_SOCKET", site.0.join("notify"))
            .env("WATCHDOG_USEC", "400000")
            .stderr(log)
            .spawn()?;
        let outcome = async {
            wait_for_notification(&socket, "READY=1")?;
            let readiness = oam(&site.oam(), "/readyz")?;
            ensure!(readiness == ("200".into(), "ready\n".into()), "{readiness:?}");
            ensure!(oam(&site.oam(), "/healthz")?.0 == "200", "the core runs");
            wait_for_notification(&socket, "WATCHDOG=1")?;
            wait_for_notification(&socket, "WATCHDOG=1")?;

            let gnb = gnb().await?;
            let ue = ue(&gnb, 1)?;
            ue.register().await?;
            let request =
                PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
            ue.establish_pdu_session(request).await?;
            let hangup = || {
                nix::sys::signal::kill(
                    nix::unistd::Pid::from_raw(core.id() as i32),
                    nix::sys::signal::Signal::SIGHUP,
                )
            };
            // An invalid configuration changes nothing.
            let before = std::fs::read_to_string(site.config())?;
            std::fs::write(
                site.config(),
                format!("{before}pcf: {{ flows: [{{ name: voice }}] }}\n"),
            )?;
            hangup()?;
            let log = || std::fs::read_to_string(site.0.join("log")).unwrap_or_default();
            let until = |what: &'static str| async move {
                let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
                while !log().contains(what) {
                    ensure!(
                        tokio::time::Instant::now() < give_up,
                        "{what} is not in the log: {}",
                        log()
                    );
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Ok(())
            };
            until("configuration not reloaded").await?;
            // New home network keys are added to those in use (`call_flows` registers with them).
            let key = "{ id: 7, scheme: A, private: \
                       c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d }";
            std::fs::write(
                site.config(),
                format!("{before}udm: {{ home_network_keys: [{key}] }}\namf: {{ name: other }}\n"),
            )?;
            hangup()?;
            until("applied: udm: 1 home network keys").await?;
            until("restart needed for: amf.name").await?;
            let flow = "{ name: voice, five_qi: 1, filters: [permit out 17 from any to assigned] }";
            std::fs::write(site.config(), format!("{before}pcf: {{ flows: [{flow}] }}\n"))?;
            hangup()?;
            let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
            while ue.status().await?.sessions[0].flows != [(1, 9), (2, 1)] {
                ensure!(tokio::time::Instant::now() < give_up, "{:?}", ue.status().await?);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            ue.deregister().await?;
            // A command warns if the core does not read the database that it writes.
            let elsewhere = site.0.join("elsewhere.db").display().to_string();
            let config = site.config().display().to_string();
            let add = |db: &str| {
                let imsi = ["subscriber", "add", "001010000000077"];
                let key = ["--key", "465b5ce8b199b49faa5f0a2ee238a6bc"];
                let op = ["--op", "465b5ce8b199b49faa5f0a2ee238a6bc"];
                Command::new(MARTLET)
                    .args([&imsi[..], &key, &op, &["--db", db, "-c", &config]].concat())
                    .output()
            };
            let note = String::from_utf8_lossy(&add(&elsewhere)?.stderr).into_owned();
            ensure!(note.contains("uses the database") && note.contains("elsewhere.db"), "{note}");
            // The file of the history is written after the procedures.
            let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
            loop {
                let history = Command::new(MARTLET)
                    .args(["ue", "001010000000001", "history", "-c", &config])
                    .output()?;
                let text = String::from_utf8_lossy(&history.stdout);
                let missing = [
                    "registered",
                    "PDU session established",
                    "modifying PDU session",
                    "PDU session released",
                ]
                .into_iter()
                .find(|what| !text.contains(what));
                let Some(what) = missing else { break };
                ensure!(tokio::time::Instant::now() < give_up, "{what}: {text}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            let other = Command::new(MARTLET)
                .args(["ue", "001010000000009", "history", "-c", &config])
                .output()?;
            ensure!(!other.status.success(), "the UE has no history");
            nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(core.id() as i32),
                nix::sys::signal::Signal::SIGTERM,
            )?;
            wait_for_notification(&socket, "STOPPING=1")
        };
        let outcome = outcome.await;
        if outcome.is_err() {
            let _ = core.kill();
        }
        core.wait()?;
        outcome
    });
}

/// Captures a core that serves a UE, and decodes it with tshark: a line per message with the
/// interface, the protocols, and malformed messages.
async fn capture_core(name: &str, arguments: &[&str]) -> Result<String> {
    let site = Site::new(name)?;
    let pcap = site.0.join("core.pcapng");
    let file = pcap.display().to_string();
    let core = site.start(&[&["--pcap", &file, "--pcap-n1"], arguments].concat())?;
    let gnb = gnb().await?;
    registration_cycle(&ue(&gnb, 1)?).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    gnb.shutdown().await;
    core.stop()?;
    ensure!(
        std::fs::metadata(&pcap)?.permissions().mode() & 0o077 == 0,
        "readable by its owner only"
    );
    let fields = ["frame.interface_name", "frame.protocols", "_ws.col.Info", "_ws.malformed"];
    let fields = fields.iter().flat_map(|field| ["-e", field]);
    let read = Command::new("tshark").args(["-r", &file, "-T", "fields"]).args(fields).output()?;
    ensure!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let text = String::from_utf8_lossy(&read.stdout).into_owned();
    for what in [
        "ngap",
        "pfcp",
        "http",
        "nas-5gs",
        "Registration request",
        "Registration accept",
        "NGSetupRequest",
        "PFCP Session Establishment Request",
        "PDU session establishment accept",
        "nausf-auth",
    ] {
        ensure!(text.contains(what), "{what} is not in the capture:\n{text}");
    }
    ensure!(!text.to_lowercase().contains("malformed"), "{text}");
    Ok(text)
}

#[test]
fn a_capture_has_every_interface_and_no_malformed_message() {
    in_namespace(|| async {
        if martlet_tests::is_installed("tshark") {
            capture_core("pcap", &[]).await?;
        }
        Ok(())
    });
}

#[test]
fn a_capture_of_a_split_core_has_calls_over_the_fabric() {
    in_namespace(|| async {
        if !martlet_tests::is_installed("tshark") {
            return Ok(());
        }
        let text = capture_core("pcap-split", &["--split"]).await?;
        for (interface, what) in [
            ("ausf", "nausf-auth"),
            ("udm", "nudm-"),
            ("amf", "NGSetup"),
            ("smf", "PFCP"),
            ("smf", "nsmf-"),
        ] {
            let of = format!("{interface}\t");
            let found = text.lines().any(|line| line.starts_with(&of) && line.contains(what));
            ensure!(found, "{what} of {interface} is not in the capture:\n{text}");
        }
        Ok(())
    });
}

#[test]
fn subscribers_are_imported_and_exported_without_showing_keys() -> Result<()> {
    let site = Site::new("import")?;
    let config = site.config().display().to_string();
    let file = site.0.join("open5gs.json");
    std::fs::write(
        &file,
        r#"{"imsi":"001010000000077",
        "security":{"k":"465B5CE8 B199B49F AA5F0A2E E238A6BC","op":null,
        "opc":"CD63CB71 954A9F4E 48A5994E 37A02BAF",
        "amf":"8000","sqn":{"$numberLong":"64"}},
        "slice":[{"sst":1,"default_indicator":true,"session":[{"name":"internet","type":1,
        "qos":{"index":9,"arp":{"priority_level":8}}}]}]}"#,
    )?;
    let martlet = |arguments: &[&str]| Command::new(MARTLET).args(arguments).output();
    let imported = martlet(&["subscriber", "import", &file.display().to_string(), "-c", &config])?;
    ensure!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    let shown = String::from_utf8(
        martlet(&["subscriber", "show", "001010000000077", "-c", &config])?.stdout,
    )?;
    ensure!(shown.contains("000000000040") && !shown.contains(KEY), "{shown}");
    let csv = site.0.join("all.csv");
    let written = csv.display().to_string();
    let exported =
        martlet(&["subscriber", "export", "--format", "csv", "-o", &written, "-c", &config])?;
    ensure!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
    ensure!(std::fs::read_to_string(&csv)?.lines().count() == 4, "three subscribers");
    ensure!(
        std::fs::metadata(&csv)?.permissions().mode() & 0o077 == 0,
        "readable by its owner only"
    );
    // The database contains no plaintext key, and its owner's key decrypts them.
    for name in ["martlet.db", "martlet.db-wal"] {
        let bytes = std::fs::read(site.0.join(name)).unwrap_or_default();
        ensure!(
            !bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()),
            "{name} contains a plaintext key"
        );
    }
    let again = martlet(&["subscriber", "import", &written, "--replace", "-c", &config])?;
    ensure!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    Ok(())
}
