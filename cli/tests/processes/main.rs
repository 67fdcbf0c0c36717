//! The program itself, as people start it: one process or one each, started again, ended in order.
mod chaos;
mod endings;
mod fence;
mod sets;
mod traces;
mod user_plane;

use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_ran::{Gnb, GnbConfig, OperatorKey, PduSessionRequest, ServicePurpose, Ue, UeConfig};
use martlet_security::Plmn;
use martlet_store::testing::OwnPostgres;
use martlet_tests::{GATEWAY, in_namespace, ping, reaches, sequence_of};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const MARTLET: &str = env!("CARGO_BIN_EXE_martlet");
const KEY: &str = "465b5ce8b199b49faa5f0a2ee238a6bc";
const OPC: &str = "cd63cb71954a9f4e48a5994e37a02baf";

/// A folder with a configuration and two subscribers, which were added with the program.
struct Site(PathBuf);

impl Site {
    fn new(name: &str) -> Result<Site> {
        Site::on(name, None)
    }

    /// On a PostgreSQL database, where one is named.
    fn on(name: &str, database: Option<&str>) -> Result<Site> {
        let folder = std::env::temp_dir().join(format!("martlet-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let site = Site(folder);
        std::fs::write(
            site.config(),
            format!(
                "fabric: {{ socket: {:?} }}\nudr: {{ path: {:?}, key_file: {:?} }}\noam: {{ history: {{ path: {:?} }} }}\n",
                site.0.join("sbi.sock"),
                database.map_or(site.0.join("martlet.db"), PathBuf::from),
                site.0.join("operator.key"),
                site.0.join("martlet.history")
            ),
        )?;
        site.subscribe(1, 2)?;
        Ok(site)
    }

    /// Adds so many subscribers, from the one with this number on.
    fn subscribe(&self, first: u64, count: u64) -> Result<()> {
        let (config, count) = (self.config().display().to_string(), count.to_string());
        let imsi = format!("imsi-{:015}", 1_010_000_000_000 + first);
        let add = ["subscriber", "add", "-c", &config, &imsi, "--key", KEY, "--opc", OPC, "--count", &count];
        let added = Command::new(MARTLET).args(add).output()?;
        ensure!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
        Ok(())
    }

    fn config(&self) -> PathBuf {
        self.0.join("martlet.yaml")
    }

    fn start(&self, arguments: &[&str]) -> Result<CoreProcess> {
        let oam = "127.0.0.1:9090".parse()?;
        let core = CoreProcess::start(Path::new(MARTLET), &self.config(), &self.0, arguments, oam, 10)?;
        let give_up = std::time::Instant::now() + Duration::from_secs(10);
        while !core.status()?.to_string().contains("\"associated\":true") {
            ensure!(std::time::Instant::now() < give_up, "the SMF is not associated with the UPF");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(core)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // For whoever wants to read the core's log: `MARTLET_CORE_LOG` says in which detail.
        if std::env::var_os("MARTLET_TEST_KEEP").is_some() {
            return println!("{} is left", self.0.display());
        }
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn gnb() -> Result<Gnb> {
    gnb_that_waits(1, Duration::from_secs(30)).await
}

/// A gNB by its number, whose phones wait so long for the end of a procedure.
async fn gnb_that_waits(n: u8, longest: Duration) -> Result<Gnb> {
    Ok(Gnb::connect(GnbConfig { procedure_timeout: longest, ..gnb_config(n, "127.0.0.5:38412")? }).await?)
}

/// A gNB by its number, with the AMF at this address.
async fn gnb_at(n: u8, amf: &str) -> Result<Gnb> {
    Ok(Gnb::connect(gnb_config(n, amf)?).await?)
}

fn gnb_config(n: u8, amf: &str) -> Result<GnbConfig> {
    let mut config = GnbConfig::new(&format!("gnb-{n}"), Plmn::new("001", "01")?, n.into(), amf.parse()?);
    config.n2_local = Some([127, 0, 0, 19 + n].into());
    config.n3 = config.n2_local;
    Ok(config)
}

fn phone(gnb: &Gnb, n: u64) -> Result<Ue> {
    let key = |text: &str| <[u8; 16]>::try_from(hex::decode(text).unwrap_or_default()).ok();
    let (k, opc) = (key(KEY).context("K")?, key(OPC).context("OPc")?);
    Ok(gnb.new_ue(UeConfig::new(&format!("{:015}", 1_010_000_000_000 + n), 2, k, OperatorKey::Opc(opc))?)?)
}

/// Registration, a session, idle and back, and the end of both.
async fn a_day(phone: &Ue) -> Result<()> {
    phone.register().await?;
    let request = PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
    phone.establish_pdu_session(request).await?;
    phone.release_to_idle().await?;
    phone.service_request().await?;
    phone.release_pdu_session(1).await?;
    phone.deregister().await?;
    Ok(())
}

#[test]
fn one_process_for_each_function_serves_phones_and_a_function_that_dies_is_started_again() {
    in_namespace(|| async {
        let site = Site::new("split")?;
        let core = site.start(&["--split"])?;
        ensure!(core.usage().processes == 11, "ten functions and who watches them: {:?}", core.usage());
        let gnb = gnb().await?;
        let phone = phone(&gnb, 1)?;
        a_day(&phone).await?;

        let udm = core.process_of("nf udm").context("the UDM has a process")?;
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(udm as i32), nix::sys::signal::Signal::SIGKILL)?;
        let give_up = tokio::time::Instant::now() + Duration::from_secs(20);
        loop {
            phone.forget_registration().await?;
            let Err(error) = a_day(&phone).await else { break };
            ensure!(tokio::time::Instant::now() < give_up, "the core does not recover from the UDM's death: {error:#}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let anew = core.process_of("nf udm").context("the UDM has a process again")?;
        ensure!(anew != udm, "the UDM is another process now");
        gnb.shutdown().await;
        core.stop()
    });
}

fn kill(core: &CoreProcess, name: &str) -> Result<u32> {
    let pid = core.process_of(&format!("nf {name}")).with_context(|| format!("the {name} has a process"))?;
    kill_process(pid)?;
    Ok(pid)
}

fn kill_process(pid: u32) -> Result<()> {
    Ok(nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid as i32), nix::sys::signal::Signal::SIGKILL)?)
}

/// What a function says of itself.
fn status_of(core: &CoreProcess, name: &str) -> serde_json::Value {
    let status = core.status().unwrap_or_default();
    let nfs = status["nfs"].as_array().cloned().unwrap_or_default();
    nfs.into_iter().find(|nf| nf["name"] == name).map(|nf| nf["status"].clone()).unwrap_or_default()
}

/// Waits until a function says so.
async fn until(core: &CoreProcess, name: &str, what: &str, is: impl Fn(&serde_json::Value) -> bool) -> Result<()> {
    let give_up = tokio::time::Instant::now() + Duration::from_secs(20);
    while !is(&status_of(core, name)) {
        ensure!(tokio::time::Instant::now() < give_up, "{what}: {}", status_of(core, name));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// A core whose AMF and SMF are killed one after the other, with one phone that sends and one that is idle.
async fn goes_on(site: &Site) -> Result<()> {
    let core = site.start(&["--split"])?;
    let first = gnb().await?;
    let (active, idle) = (phone(&first, 1)?, phone(&first, 2)?);
    let internet = || PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
    let mut addresses = Vec::new();
    for phone in [&active, &idle] {
        phone.register().await?;
        addresses.push(phone.establish_pdu_session(internet()).await?.ipv4.context("an address")?);
    }
    reaches(&active, 1, GATEWAY).await?;
    idle.release_to_idle().await?;
    let guti = active.status().await?.guti;
    // What happens in the last moment is lost.
    tokio::time::sleep(Duration::from_millis(300)).await;

    // The SMF: packets go on meanwhile, and all that concerns sessions afterwards.
    kill(&core, "smf")?;
    reaches(&active, 1, GATEWAY).await?;
    until(&core, "smf", "the SMF has its sessions again", |smf| {
        smf["sessions"] == 2 && smf["upfs"][0]["associated"] == true
    })
    .await?;
    ensure!(status_of(&core, "upf")["sessionCount"] == 2, "the UPF has kept them: {}", status_of(&core, "upf"));
    reaches(&active, 1, GATEWAY).await?;
    active.send_ip(1, ping(addresses[0], addresses[1], 7)).await?;
    let (_, packet) = idle.recv_ip().await?;
    ensure!(sequence_of(&packet) == Some(7), "the idle phone was paged, and got its packet: {packet:02x?}");
    idle.release_to_idle().await?;
    let more = active.establish_pdu_session(internet()).await?;
    ensure!(more.ipv4.is_some_and(|new| !addresses.contains(&new)), "no address is given twice: {more:?}");
    active.release_pdu_session(more.psi).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;

    // The AMF: the gNB sets its association up anew, and phones go on as they are.
    kill(&core, "amf")?;
    first.lost().await;
    let give_up = tokio::time::Instant::now() + Duration::from_secs(20);
    let second = loop {
        match first.connect_again().await {
            Ok(second) => break second,
            Err(error) => ensure!(tokio::time::Instant::now() < give_up, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    until(&core, "amf", "the AMF has its UEs again", |amf| amf["ues"]["registered"] == 2).await?;
    for phone in [&active, &idle] {
        phone.move_to(&second).await?;
    }
    active.service_request_for(ServicePurpose::Data, &[1]).await?;
    reaches(&active, 1, GATEWAY).await?;
    active.send_ip(1, ping(addresses[0], addresses[1], 8)).await?;
    let (_, packet) = idle.recv_ip().await?;
    ensure!(sequence_of(&packet) == Some(8), "{packet:02x?}");
    // Who is paged gets a new 5G-GUTI (TS 33.501, 6.12.3); who was not has the one of its registration.
    ensure!(active.status().await?.guti == guti, "the phone has registered anew");
    for phone in [&active, &idle] {
        phone.deregister().await?;
    }
    until(&core, "smf", "nothing is left", |smf| smf["sessions"] == 0).await?;
    until(&core, "upf", "nothing is left", |upf| upf["sessionCount"] == 0).await?;
    second.shutdown().await;
    core.stop()
}

#[test]
fn phones_stay_registered_and_sessions_go_on_when_amf_and_smf_are_killed() {
    in_namespace(|| async { goes_on(&Site::new("kill")?).await });
}

#[test]
fn phones_stay_registered_and_sessions_go_on_when_amf_and_smf_are_killed_on_postgresql() {
    in_namespace(|| async {
        let Some(server) = OwnPostgres::start("kill")? else { return Ok(()) };
        goes_on(&Site::on("kill-pg", Some(&server.address()))?).await
    });
}

/// What systemd is told, until a state comes.
fn told(socket: &std::os::unix::net::UnixDatagram, state: &str) -> Result<()> {
    let mut buffer = [0; 4096];
    for _ in 0..100 {
        let length = socket.recv(&mut buffer).with_context(|| format!("waiting for {state}"))?;
        if String::from_utf8_lossy(&buffer[..length]).lines().any(|line| line == state) {
            return Ok(());
        }
    }
    anyhow::bail!("{state} did not come")
}

/// Status and body of the answer of the core's own endpoint.
fn oam(path: &str) -> Result<(String, String)> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect("127.0.0.1:9090")?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: core\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer")?;
    Ok((head.split(' ').nth(1).unwrap_or_default().to_string(), body.to_string()))
}

#[test]
fn systemd_is_told_and_the_configuration_is_read_anew_and_what_phones_did_is_kept() {
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
            told(&socket, "READY=1")?;
            ensure!(oam("/readyz")? == ("200".into(), "ready\n".into()), "{:?}", oam("/readyz")?);
            ensure!(oam("/healthz")?.0 == "200", "it is alive");
            told(&socket, "WATCHDOG=1")?;
            told(&socket, "WATCHDOG=1")?;

            let gnb = gnb().await?;
            let phone = phone(&gnb, 1)?;
            phone.register().await?;
            let request = PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
            phone.establish_pdu_session(request).await?;
            let hangup = || {
                nix::sys::signal::kill(nix::unistd::Pid::from_raw(core.id() as i32), nix::sys::signal::Signal::SIGHUP)
            };
            // A wrong configuration changes nothing.
            let before = std::fs::read_to_string(site.config())?;
            std::fs::write(site.config(), format!("{before}pcf: {{ flows: [{{ name: voice }}] }}\n"))?;
            hangup()?;
            let log = || std::fs::read_to_string(site.0.join("log")).unwrap_or_default();
            let until = |what: &'static str| async move {
                let give_up = tokio::time::Instant::now() + Duration::from_secs(10);
                while !log().contains(what) {
                    ensure!(tokio::time::Instant::now() < give_up, "{what} is not in the log: {}", log());
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Ok(())
            };
            until("stays as it was").await?;
            // New home network keys are taken beside what is at work (their registrations are in `call_flows`).
            let key = "{ id: 7, scheme: A, private: c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d }";
            std::fs::write(site.config(), format!("{before}udm: {{ home_network_keys: [{key}] }}\n"))?;
            hangup()?;
            until("udm: 1 home network keys").await?;
            let flow = "{ name: voice, five_qi: 1, filters: [permit out 17 from any to assigned] }";
            std::fs::write(site.config(), format!("{before}pcf: {{ flows: [{flow}] }}\n"))?;
            hangup()?;
            let give_up = tokio::time::Instant::now() + Duration::from_secs(10);
            while phone.status().await?.sessions[0].flows != [(1, 9), (2, 1)] {
                ensure!(tokio::time::Instant::now() < give_up, "{:?}", phone.status().await?);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            phone.deregister().await?;
            tokio::time::sleep(Duration::from_millis(300)).await;
            let config = site.config().display().to_string();
            let history = Command::new(MARTLET).args(["ue", "001010000000001", "history", "-c", &config]).output()?;
            let text = String::from_utf8_lossy(&history.stdout);
            for what in ["registered", "a PDU session is set up", "a session changes", "a PDU session is released"] {
                ensure!(text.contains(what), "{what}: {text}");
            }
            let other = Command::new(MARTLET).args(["ue", "001010000000009", "history", "-c", &config]).output()?;
            ensure!(!other.status.success(), "nothing is known of it");
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(core.id() as i32), nix::sys::signal::Signal::SIGTERM)?;
            told(&socket, "STOPPING=1")
        };
        let outcome = outcome.await;
        if outcome.is_err() {
            let _ = core.kill();
        }
        core.wait()?;
        outcome
    });
}

#[test]
fn a_capture_has_every_interface_and_tshark_finds_nothing_wrong_in_it() {
    in_namespace(|| async {
        if !martlet_tests::has("tshark") {
            return Ok(());
        }
        let site = Site::new("pcap")?;
        let pcap = site.0.join("core.pcapng").display().to_string();
        let core = site.start(Box::leak(vec!["--pcap", &*pcap.clone().leak(), "--pcap-n1"].into_boxed_slice()))?;
        let gnb = gnb().await?;
        a_day(&phone(&gnb, 1)?).await?;
        tokio::time::sleep(Duration::from_millis(300)).await;
        gnb.shutdown().await;
        core.stop()?;
        let fields = ["-T", "fields", "-e", "frame.protocols", "-e", "_ws.col.Info", "-e", "_ws.malformed"];
        let read = Command::new("tshark").args(["-r", &pcap]).args(fields).output()?;
        let text = String::from_utf8_lossy(&read.stdout);
        ensure!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
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
        Ok(())
    });
}

#[test]
fn subscribers_are_taken_over_and_given_away_without_showing_keys() -> Result<()> {
    let site = Site::new("import")?;
    let config = site.config().display().to_string();
    let file = site.0.join("open5gs.json");
    std::fs::write(
        &file,
        r#"{"imsi":"001010000000077","security":{"k":"465B5CE8 B199B49F AA5F0A2E E238A6BC","op":null,"opc":"CD63CB71 954A9F4E 48A5994E 37A02BAF","amf":"8000","sqn":{"$numberLong":"64"}},
        "slice":[{"sst":1,"default_indicator":true,"session":[{"name":"internet","type":1,"qos":{"index":9,"arp":{"priority_level":8}}}]}]}"#,
    )?;
    let martlet = |arguments: &[&str]| Command::new(MARTLET).args(arguments).output();
    let imported = martlet(&["subscriber", "import", &file.display().to_string(), "-c", &config])?;
    ensure!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    let shown = String::from_utf8(martlet(&["subscriber", "show", "001010000000077", "-c", &config])?.stdout)?;
    ensure!(shown.contains("000000000040") && !shown.contains(KEY), "{shown}");
    let csv = site.0.join("all.csv");
    let written = csv.display().to_string();
    let exported = martlet(&["subscriber", "export", "--format", "csv", "-o", &written, "-c", &config])?;
    ensure!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
    ensure!(std::fs::read_to_string(&csv)?.lines().count() == 4, "three subscribers");
    use std::os::unix::fs::PermissionsExt;
    ensure!(std::fs::metadata(&csv)?.permissions().mode() & 0o077 == 0, "for its owner alone");
    // The database has no key as it is, and its owner's key opens them.
    for name in ["martlet.db", "martlet.db-wal"] {
        let octets = std::fs::read(site.0.join(name)).unwrap_or_default();
        ensure!(!octets.windows(KEY.len()).any(|part| part == KEY.as_bytes()), "{name} has a key");
    }
    let again = martlet(&["subscriber", "import", &written, "--replace", "-c", &config])?;
    ensure!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    Ok(())
}

fn started_again(name: &'static str, arguments: &'static [&'static str]) {
    in_namespace(move || async move {
        let site = Site::new(name)?;
        let core = site.start(arguments)?;
        let first = gnb().await?;
        let known = phone(&first, 1)?;
        // The phone is registered when the core ends: the database holds the AMF that it was registered with.
        known.register().await?;
        core.stop()?;
        first.lost().await;

        let core = site.start(arguments)?;
        let second = first.connect_again().await?;
        known.move_to(&second).await?;
        // The new AMF knows its 5G-GUTI.
        ensure!(known.status().await?.guti.is_some(), "the phone had been given a 5G-GUTI");
        a_day(&known).await?;
        a_day(&phone(&second, 2)?).await?;
        second.shutdown().await;
        core.stop()
    });
}

#[test]
fn a_core_that_is_started_again_on_its_database_serves_the_phones_that_it_knew() {
    started_again("again", &[]);
}

#[test]
fn a_split_core_that_is_started_again_serves_the_phones_that_it_knew() {
    started_again("again-split", &["--split"]);
}

#[test]
fn the_control_plane_lab_leaves_raw_data_figures_a_report_and_plots() {
    in_namespace(|| async {
        let folder = std::env::temp_dir().join(format!("martlet-lab-{}", std::process::id()));
        let out = folder.display().to_string();
        let lab = ["--log", "warn", "lab", "control-plane", "--quick", "--rounds", "2", "--ues", "1,3", "--out", &out];
        let ran = Command::new(MARTLET).args(lab).output()?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let rows = std::fs::read_to_string(folder.join("raw.csv"))?.lines().count();
        ensure!(rows == 1 + 2 * 3 * 6 * (1 + 3), "a row for each UE, procedure, round and variant, not {rows}");
        let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("summary.json"))?)?;
        let figures = summary["figures"].as_array().context("figures")?;
        for id in [
            "registration.local.ues1.p50",
            "pdu_session.http.ues3.p50",
            "paging.fabric.ues3.p50",
            "resident.local.ues100",
        ] {
            let figure = figures.iter().find(|figure| figure["id"] == id).with_context(|| id.to_string())?;
            ensure!(figure["value"].as_f64().is_some_and(|value| value > 0.0), "{figure}");
        }
        for file in ["report.md", "latency.svg", "latency.png", "core-time.svg", "core-time.png"] {
            ensure!(std::fs::metadata(folder.join(file))?.len() > 1000, "{file} has something in it");
        }
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    });
}

#[test]
fn the_sbi_lab_compares_ways_of_carrying_calls_between_two_processes() {
    in_namespace(|| async {
        let folder = std::env::temp_dir().join(format!("martlet-lab-sbi-test-{}", std::process::id()));
        let out = folder.display().to_string();
        let ran = Command::new(MARTLET).args(["--log", "warn", "lab", "sbi", "--quick", "--out", &out]).output()?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("summary.json"))?)?;
        let figures = summary["figures"].as_array().context("figures")?;
        let ways = [
            "http_tcp",
            "http_unix",
            "http1_fabric",
            "http_fabric",
            "frame_json",
            "frame_binary",
            "frame_octets",
            "socket_octets",
            "local",
        ];
        let each = ways.map(|way| format!("roundtrip.{way}.inflight16_gap3ms.p99"));
        let ratio = "roundtrip.http_tcp_over_http_fabric.inflight16.per_call".to_string();
        for id in each.into_iter().chain([ratio]) {
            let figure = figures.iter().find(|figure| figure["id"] == id.as_str()).with_context(|| id.clone())?;
            ensure!(figure["value"].as_f64().is_some_and(|value| value > 0.0), "{figure}");
        }
        for file in ["report.md", "raw.csv", "round-trip.svg", "round-trip.png"] {
            ensure!(std::fs::metadata(folder.join(file))?.len() > 1000, "{file} has something in it");
        }
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    });
}

#[test]
fn the_crowd_lab_has_a_storm_and_restarts_and_loses_nobody() {
    in_namespace(|| async {
        let folder = std::env::temp_dir().join(format!("martlet-lab-crowd-test-{}", std::process::id()));
        let out = folder.display().to_string();
        let lab = ["--log", "warn", "lab", "crowd", "--ues", "60", "--storm", "40", "--out", &out];
        let ran = Command::new(MARTLET).args(lab).output()?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("summary.json"))?)?;
        let figures = summary["figures"].as_array().context("figures")?;
        let value = |id: &str| figures.iter().find(|figure| figure["id"] == id).and_then(|f| f["value"].as_f64());
        let sum = value("crowd.local.storm_registered").zip(value("crowd.local.storm_told_to_back_off"));
        ensure!(sum.is_some_and(|(done, told)| done + told == 40.0), "{figures:?}");
        ensure!(value("crowd.local.storm_lost") == Some(0.0), "{figures:?}");
        for id in ["crowd.local.restart", "crowd.fabric.restart_amf", "crowd.fabric.restart_smf"] {
            // An unoptimised build on a busy machine.
            ensure!(value(id).is_some_and(|seconds| seconds > 0.0 && seconds < 30.0), "{id}: {figures:?}");
        }
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    });
}

#[test]
fn the_idle_lab_says_what_a_core_uses_that_has_nothing_to_do() {
    in_namespace(|| async {
        let folder = std::env::temp_dir().join(format!("martlet-lab-idle-test-{}", std::process::id()));
        let out = folder.display().to_string();
        let lab = ["--log", "warn", "lab", "idle", "--quick", "--sbi", "fabric", "--out", &out];
        let ran = Command::new(MARTLET).args(lab).output()?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("summary.json"))?)?;
        let figures = summary["figures"].as_array().context("figures")?;
        let value = |id: &str| figures.iter().find(|figure| figure["id"] == id).and_then(|f| f["value"].as_f64());
        ensure!(value("idle.fabric.processes") == Some(10.0), "{figures:?}");
        // An unoptimised build on a busy machine: only a function that spins or leaks would miss these.
        ensure!(value("idle.fabric.cpu").is_some_and(|cpu| cpu > 0.0 && cpu < 20.0), "{figures:?}");
        ensure!(value("idle.fabric.proportional").is_some_and(|size| size > 1.0 && size < 400.0), "{figures:?}");
        ensure!(std::fs::read_to_string(folder.join("report.md"))?.contains("idle.fabric.cpu"), "the report says it");
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    });
}

#[test]
fn the_positioning_lab_carries_messages_over_every_channel_and_keeps_every_sample() {
    in_namespace(|| async {
        let folder = std::env::temp_dir().join(format!("martlet-lab-lcs-upp-test-{}", std::process::id()));
        let out = folder.display().to_string();
        let ran = Command::new(MARTLET)
            .args(["--log", "warn", "lab", "lcs-upp", "--quick", "--rounds", "20", "--out", &out])
            .output()?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("summary.json"))?)?;
        let figures = summary["figures"].as_array().context("figures")?;
        let raw = std::fs::read_to_string(folder.join("raw.csv"))?;
        for channel in ["raw_tcp", "raw_udp", "rustls", "quinn"] {
            let id = format!("transport_time.{channel}.n65535_loopback.mean");
            let figure = figures.iter().find(|figure| figure["id"] == id[..]).with_context(|| id.clone())?;
            ensure!(figure["low"].as_f64() <= figure["value"].as_f64() && figure["n"] == 20, "{figure}");
            let samples = raw.lines().filter(|line| line.starts_with(&format!("{channel},1024,"))).count();
            ensure!(samples == 20, "{channel}: {samples} samples");
        }
        ensure!(std::fs::metadata(folder.join("type-1.png"))?.len() > 1000, "there is no plot");
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    });
}
