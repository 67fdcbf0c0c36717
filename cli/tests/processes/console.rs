//! The console in a real Chromium, with a live core and simulated UEs.
use crate::api::{ADDRESS, Caller, api_site, first_password};
use crate::site::*;
use anyhow::{Context, Result, bail, ensure};
use martlet_lcs_channel::Trust;
use martlet_lcs_position::{GeoPoint, PathLoss};
use martlet_ran::radio_environment::Cell;
use martlet_ran::{
    Gnb, GnbConfig, PduSessionRequest, Positioning, PositioningConfig, RadioEnvironment, Trp, Ue,
};
use martlet_security::Plmn;
use martlet_tests::{GATEWAY, in_namespace_within, ping, reaches, skip};
use serde_json::json;
use std::fs::File;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Longest time of the whole test.
const LONGEST: Duration = Duration::from_secs(1000);

/// The folder with playwright-core and axe-core, which `make console-tools` fills.
pub fn tools() -> PathBuf {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/console-tools");
    std::env::var_os("MARTLET_CONSOLE_TOOLS").map_or(default.into(), PathBuf::from)
}

/// The right to run a browser, until it is dropped.
pub struct BrowserPermit {
    /// Locked with flock(2), so that the tests of all processes count.
    _file: File,
}

impl BrowserPermit {
    /// Waits until fewer browsers run than the machine has CPUs, or fewer than two. A test takes it
    /// before it makes its namespace: the time limit of the test begins there.
    pub fn acquire() -> BrowserPermit {
        let count = std::thread::available_parallelism().map_or(2, |cpus| cpus.get().max(2));
        loop {
            for number in 0..count {
                let name = format!("martlet-browser-{number}.lock");
                let file = File::create(std::env::temp_dir().join(name)).expect("a lock file");
                if file.try_lock().is_ok() {
                    return BrowserPermit { _file: file };
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A script for Node.js that drives Chromium. It prints lines; a line `do WHAT` asks for something,
/// and the script waits for an answer.
pub struct BrowserScript {
    node: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
    screenshots: PathBuf,
}

impl BrowserScript {
    /// Whether Chromium and what `make console-tools` installs are there.
    pub fn is_possible() -> bool {
        tools().join("node_modules/playwright-core").is_dir()
            && Path::new("/usr/bin/chromium").exists()
    }

    /// Starts a script of `console/tests`. A change of an address aborts what Chromium loads
    /// (`ERR_NETWORK_CHANGED`), so it first waits until none of the namespace is tentative, at
    /// most 5 s.
    pub fn start(site: &Site, name: &str) -> Result<Self> {
        let screenshots = match std::env::var_os("MARTLET_SCREENSHOTS") {
            Some(folder) => PathBuf::from(folder),
            None => site.0.join("screenshots"),
        };
        std::fs::create_dir_all(&screenshots)?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../console/tests").join(name);
        let last = Instant::now() + Duration::from_secs(5);
        let mut tentative = std::process::Command::new("ip");
        tentative.args(["-6", "-oneline", "address", "show", "tentative"]);
        while !tentative.output()?.stdout.is_empty() && Instant::now() < last {
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut node = Command::new("node")
            .arg(script)
            .args([tools().as_os_str(), ADDRESS.as_ref(), screenshots.as_os_str()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let to = node.stdin.take().context("standard input")?;
        let from = BufReader::new(node.stdout.take().context("standard output")?).lines();
        Ok(BrowserScript { node, to, from, screenshots })
    }

    /// The next thing that the script asks for. `None` when it has ended.
    pub async fn request(&mut self) -> Result<Option<String>> {
        while let Some(line) = self.from.next_line().await? {
            println!("{line}");
            if let Some(request) = line.strip_prefix("do ") {
                return Ok(Some(request.to_string()));
            }
        }
        Ok(None)
    }

    /// Writes the script a line.
    pub async fn answer(&mut self, line: &str) -> Result<()> {
        Ok(self.to.write_all(format!("{line}\n").as_bytes()).await?)
    }

    /// Waits until the script has ended without an error.
    pub async fn succeeded(mut self) -> Result<()> {
        let status = self.node.wait().await?;
        ensure!(status.success(), "the script failed; screenshots: {}", self.screenshots.display());
        Ok(())
    }
}

/// A datapath that traces packets, a simulated board with its governor, and the gNB's cell, so that
/// a UE has a position.
fn configuration(site: &Site) -> String {
    let board = site.0.join("board");
    format!(
        "upf:
  datapath: xdp
  xdp: {{ sessions: 1024, rules: 4096, filters: 1024 }}
  board: {{ root: {board:?}, simulated: {{}} }}
  governor: {{ enabled: true }}
lmf: {{ cells: [{{ nr_cell_id: \"000001001\", pci: 1, lat: 54.0924, lon: 12.0991 }}] }}
"
    )
}

/// The cells of the gNB's TRPs.
fn trp_cells() -> [Cell; 3] {
    let positions = [(54.0924, 12.0991), (54.0934, 12.1011), (54.0914, 12.1021)];
    [0, 1, 2].map(|n| {
        let (lat, lon) = positions[n];
        let position = GeoPoint { lat, lon };
        let (identity, pci) = (1 << 12 | (n as u64 + 1), n as u16 + 11);
        Cell { identity, pci, arfcn: 640_000, position }
    })
}

/// A gNB that reports TRPs.
async fn gnb_with_trps() -> Result<Gnb> {
    let trps = trp_cells().into_iter().zip(1..).map(|(cell, id)| Trp { id, cell }).collect();
    let procedure_timeout = Duration::from_secs(30);
    let config = gnb_config(1, "127.0.0.5:38412")?;
    Ok(Gnb::connect(GnbConfig { trps, procedure_timeout, ..config }).await?)
}

/// Registers UE 3, which supports LPP and multi-RTT.
async fn ue_with_multi_rtt(gnb: &Gnb) -> Result<(Ue, Positioning)> {
    let mut config = ue_config(3)?;
    config.lpp = true;
    let ue = gnb.new_ue(config)?;
    ue.register().await?;
    let place = GeoPoint { lat: 54.0926, lon: 12.1008 };
    let (plmn, cells) = (Plmn::new("001", "01")?, trp_cells().to_vec());
    let mut environment = RadioEnvironment::at(place, plmn, cells, PathLoss::default());
    (environment.multi_rtt, environment.timing_deviation_m) = (true, 1.0);
    let config = PositioningConfig {
        port: 0,
        trust: Trust { roots: String::new(), name: String::new() },
        channels: Vec::new(),
        timeout: Duration::from_secs(5),
        keep_alive: Duration::ZERO,
        mtu: 1400,
        environment,
        truth: None,
    };
    let positioning = Positioning::start(&ue, config).await?;
    Ok((ue, positioning))
}

/// Sends seven packets with the address of another UE, and four to an address of the core.
async fn send_dropped(ue: &Ue) -> Result<()> {
    let status = ue.status().await?;
    let own = status.sessions.first().and_then(|session| session.ipv4).context("an address")?;
    for sequence in 0..7 {
        ue.send_ip(1, ping(Ipv4Addr::new(10, 45, 200, 200), GATEWAY, sequence)).await?;
    }
    for sequence in 0..4 {
        ue.send_ip(1, ping(own, Ipv4Addr::new(127, 0, 0, 5), sequence)).await?;
    }
    Ok(())
}

/// An image of one pixel.
const PIXEL: &str = "data:image/png;base64,\
    iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg\
    gg==";
/// A report of martlet-lab.
const SUMMARY: &str = r#"{"lab": "sbi", "machine": {"cores": 2}, "figures": [{"id": "a.b",
    "value": 12.3456, "unit": "us", "low": 12.0, "high": 13.0, "n": 100}]}"#;
const PLOT: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" width="400" height="100">
    <path d="M0 100 L400 0" stroke="black"/></svg>"#;

/// Makes certificates of the functions, and configures them.
fn certify(site: &Site) -> Result<()> {
    let folder = site.0.join("pki");
    let made = std::process::Command::new(MARTLET)
        .args(["pki", "init", "-c"])
        .arg(site.config())
        .arg("--out")
        .arg(&folder)
        .output()?;
    ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let config = std::fs::read_to_string(site.config())?;
    Ok(std::fs::write(site.config(), format!("{config}sbi: {{ pki: {folder:?} }}\n"))?)
}

#[test]
fn tasks_of_an_operator_in_chromium() {
    if !BrowserScript::is_possible() {
        return skip("the console in Chromium: `make console-tools` installs what it needs");
    }
    let _permit = BrowserPermit::acquire();
    in_namespace_within(LONGEST, || async {
        let site = api_site("console")?;
        let config = std::fs::read_to_string(site.config())?;
        let run = site.0.join("lab/sbi-1");
        std::fs::create_dir_all(&run)?;
        std::fs::write(run.join("summary.json"), SUMMARY)?;
        std::fs::write(run.join("report.md"), "# SBI\n\nA round trip.\n")?;
        std::fs::write(run.join("latency.svg"), PLOT)?;
        let lab = format!("lab_reports: {:?}, enabled: true,", site.0.join("lab"));
        let config = config.replace("enabled: true,", &lab);
        std::fs::write(site.config(), format!("{config}{}", configuration(&site)))?;
        certify(&site)?;
        site.subscribe(3, 1)?;
        let core = site.start(&[])?;
        let mut script = BrowserScript::start(&site, "console.mjs")?;
        script.answer(&first_password(&site)?).await?;
        let gnb = gnb_with_trps().await?;
        let first = ue(&gnb, 1)?;
        let mut located = None;
        let api = Caller::socket(&site);
        while let Some(request) = script.request().await? {
            let mut answer = "done".to_string();
            match request.as_str() {
                "edit" => {
                    let path = "/subscribers/imsi-001010000001000";
                    let patch = Some(json!({"msisdn": "491700000001"}));
                    api.with("if-match", "*").request("PATCH", path, patch)?.expect(200)?;
                }
                "change the configuration" => {
                    let mut file = std::fs::read_to_string(site.config())?;
                    file += "# Changed by another operator.\n";
                    std::fs::write(site.config(), file)?;
                }
                "register" | "register again" => {
                    if request == "register again" {
                        first.deregister().await?;
                    }
                    first.register().await?;
                    let dnn = Some("internet".into());
                    let session = PduSessionRequest { dnn, ..PduSessionRequest::default() };
                    first.establish_pdu_session(session).await?;
                }
                "change the MSISDN" => {
                    let path = "/subscribers/imsi-001010000000001";
                    let patch = Some(json!({"msisdn": "491700000099"}));
                    api.with("if-match", "*").request("PATCH", path, patch)?.expect(200)?;
                }
                "change many times" => {
                    for n in 0..60 {
                        let path = "/subscribers/imsi-001010000001003";
                        let patch = Some(json!({"msisdn": format!("4917000003{n:02}")}));
                        api.with("if-match", "*").request("PATCH", path, patch)?.expect(200)?;
                    }
                }
                "change a user" => {
                    let role = Some(json!({"role": "operator"}));
                    api.request("PATCH", "/users/vera", role)?.expect(200)?;
                }
                "save a plan" => {
                    let reference = |n: f64| {
                        let latitude = 54.0 + n / 1e4;
                        json!({"x": n, "y": n, "latitude": latitude, "longitude": 12.0})
                    };
                    let plan = json!({"name": "cellar", "image": PIXEL,
                        "references": [reference(1.0), reference(20.0)]});
                    api.request("PUT", "/plan", Some(plan))?.expect(204)?;
                }
                "change the plan" => {
                    let mut plan = api.request("GET", "/plan", None)?.expect(200)?.body;
                    plan["name"] = json!("first floor");
                    api.request("PUT", "/plan", Some(plan))?.expect(204)?;
                }
                "register with multi-RTT" => located = Some(ue_with_multi_rtt(&gnb).await?),
                "refuse" => {
                    // A SIM with another K.
                    let config = martlet_ran::UeConfig::new(
                        "001010000000002",
                        2,
                        [7; 16],
                        martlet_ran::OperatorKey::Opc([7; 16]),
                    )?;
                    let other = gnb.new_ue(config)?;
                    ensure!(other.register().await.is_err(), "the keys differ");
                }
                "traffic" => {
                    for _ in 0..5 {
                        tokio::time::sleep(Duration::from_millis(300)).await;
                        reaches(&first, 1, GATEWAY).await?;
                    }
                }
                "send packets that are dropped" => send_dropped(&first).await?,
                "folder" => answer = site.0.join("console-backup").display().to_string(),
                other => bail!("the script asks for {other}"),
            }
            script.answer(&answer).await?;
        }
        script.succeeded().await?;
        drop(located);
        ensure!(site.0.join("console-backup/subscribers.db").exists(), "no backup");
        core.stop()
    });
}

/// A run of the real program; `make release-lab` or `cargo build -p martlet-lab` builds it.
#[test]
fn a_quick_run_of_the_lab_is_started_and_stopped_in_chromium() {
    let program = Path::new(MARTLET).with_file_name("martlet-lab");
    if !BrowserScript::is_possible() || !program.exists() {
        return skip("a quick run in Chromium: `make console-tools`, and build martlet-lab");
    }
    let _permit = BrowserPermit::acquire();
    in_namespace_within(LONGEST, || async move {
        let site = api_site("console-lab")?;
        let config = std::fs::read_to_string(site.config())?;
        let (reports, socket) = (site.0.join("lab"), site.0.join("lab.sock"));
        let lab = format!("lab_reports: {reports:?}, lab_socket: {socket:?}, enabled: true,");
        std::fs::write(site.config(), config.replace("enabled: true,", &lab))?;
        let core = site.start(&[])?;
        let mut script = BrowserScript::start(&site, "lab.mjs")?;
        script.answer(&first_password(&site)?).await?;
        let mut server = None;
        while let Some(request) = script.request().await? {
            ensure!(request == "serve", "the script asks for {request}");
            let child = Command::new(&program)
                // Beside other tests a run of the lowest priority may never end.
                .args(["serve", "--limit-min", "8", "--nice", "0", "--socket"])
                .arg(&socket)
                .arg("--out")
                .arg(&reports)
                .kill_on_drop(true)
                .spawn()?;
            server = Some(child);
            let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
            while !socket.exists() {
                ensure!(tokio::time::Instant::now() < give_up, "martlet-lab does not serve");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            script.answer("done").await?;
        }
        script.succeeded().await?;
        drop(server);
        core.stop()
    });
}
