//! A network function in Go joins a split core through shared memory only.
#[path = "../../fabric/c/tests/support/mod.rs"]
mod support;

use anyhow::{Context, Result, ensure};
use martlet_fabric::{Fabric, FabricConfig};
use martlet_lab::CoreProcess;
use martlet_sbi::{ApiRoot, Bindings, CallPolicy, Peer};
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_http::{ClientLimits, HttpBinding, OverFabric};
use martlet_tests::in_namespace;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;
use support::{Installed, go, root_folder};

const MARTLET: &str = env!("CARGO_BIN_EXE_martlet");
/// The function's address on the fabric. It listens nowhere else.
const ADDRESS: &str = "127.0.0.30:7777";

/// A process that is killed on drop.
struct Started(Child);
impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Builds a program of `sbi/fabric/go`.
fn build(installed: &Installed, go: &Path, name: &str) -> PathBuf {
    let (program, output) = try_to_build(installed, go, name);
    assert!(output.status.success(), "go build: {}", String::from_utf8_lossy(&output.stderr));
    program
}

fn try_to_build(installed: &Installed, go: &Path, name: &str) -> (PathBuf, Output) {
    let program = installed.folder.join("function");
    let mut build = installed.go(go);
    build.current_dir(root_folder().join("sbi/fabric/go").join(name));
    let output = build.args(["build", "-o"]).arg(&program).output().expect("go runs");
    (program, output)
}

/// A split core on the fabric.
fn core(installed: &Installed) -> Result<(CoreProcess, PathBuf)> {
    let (socket, config) =
        (installed.folder.join("core.sock"), installed.folder.join("martlet.yaml"));
    let database = installed.folder.join("martlet.db");
    std::fs::write(
        &config,
        format!(
            "fabric: {{ socket: {socket:?} }}\nudr: {{ path: {database:?} }}\nsbi: {{ listen: \
             true }}\n"
        ),
    )?;
    let oam = installed.folder.join("oam.sock");
    let core =
        CoreProcess::start(Path::new(MARTLET), &config, &installed.folder, &["--split"], &oam, 10)?;
    Ok((core, socket))
}

fn end(function: &mut Started) -> Result<()> {
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(function.0.id() as i32),
        nix::sys::signal::Signal::SIGTERM,
    )?;
    ensure!(function.0.wait()?.success());
    Ok(())
}

/// The lines of the function's output.
fn lines(output: ChildStdout) -> Receiver<String> {
    let (sender, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    lines
}

fn next(output: &Receiver<String>) -> Result<String> {
    output.recv_timeout(Duration::from_secs(60)).context("the function writes nothing")
}

/// Instances of the function that the NRF returns to a consumer that uses HTTP or the fabric.
async fn discovered(http: &HttpBinding, kind: NfType) -> Result<Vec<String>> {
    let bindings = Arc::new(Bindings::new().with_remote(Arc::new(http.clone())));
    let nrf = Peer::new(bindings, ApiRoot::http("127.0.0.10:7777"), "AMF", CallPolicy::default());
    let query = SearchQuery {
        target_nf_type: Some(kind),
        requester_nf_type: Some(NfType::Amf),
        ..SearchQuery::default()
    };
    let found = NfDiscoveryClient::new(nrf).search_nf_instances(query).await;
    let found = found.map_err(|problem| anyhow::anyhow!("{problem}"))?;
    Ok(found.nf_instances.iter().map(|profile| profile.nf_instance_id.to_string()).collect())
}

/// Sends a request to a function over the fabric. free5GC's servers close a connection that was
/// idle for a millisecond; requests that they did not process are repeated (RFC 9113, 8.7).
async fn get(fabric: &Fabric, at: &str, target: &str) -> Result<serde_json::Value> {
    use http_body_util::{BodyExt, Empty};
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let mut tries = 0;
    let answer = loop {
        let stream = TokioIo::new(fabric.connect(at.parse()?).await?);
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await?;
        tokio::spawn(connection);
        let request = http::Request::get(format!("http://{at}{target}"))
            .body(Empty::<hyper::body::Bytes>::new())?;
        match sender.send_request(request).await {
            Ok(answer) => break answer,
            Err(error) if tries == 10 => return Err(error.into()),
            Err(_) => tries += 1,
        }
    };
    ensure!(answer.status() == 200, "{answer:?}");
    Ok(serde_json::from_slice(&answer.into_body().collect().await?.to_bytes())?)
}

#[test]
fn a_go_function_registers_and_exchanges_requests_and_notifications_over_the_fabric() {
    let Some(go) = go() else { return };
    let installed = Installed::for_go("go-function");
    // Before the namespace is created, since modules may be downloaded.
    let program = build(&installed, &go, "equipment-register");
    in_namespace(move || async move {
        let (core, socket) = core(&installed)?;
        let mut command = Command::new(&program);
        command
            .args(["-at", ADDRESS, "-stolen", "imei-356938035643809", "-socket"])
            .arg(&socket)
            .stdout(Stdio::piped());
        let mut function = Started(installed.for_command(&mut command).spawn()?);
        let output = lines(function.0.stdout.take().context("its output")?);
        let first = next(&output)?;
        let id = first
            .strip_prefix("registered as ")
            .with_context(|| format!("its output: {first:?}"))?
            .to_string();

        // The NRF returns it to consumers of both bindings; the function has no TCP port.
        let fabric =
            Fabric::start(FabricConfig { socket: socket.clone(), ..FabricConfig::default() });
        fabric.joined().await;
        let over_tcp = HttpBinding::new(ClientLimits::default());
        let sockets = Arc::new(OverFabric::new(fabric.clone()));
        let over_fabric = HttpBinding::new(ClientLimits::default()).over(sockets);
        ensure!(discovered(&over_tcp, NfType::FiveGEir).await? == [id.as_str()]);
        ensure!(discovered(&over_fabric, NfType::FiveGEir).await? == [id.as_str()]);
        ensure!(
            std::net::TcpStream::connect(ADDRESS).is_err(),
            "the function listens on the fabric only"
        );

        // It responds over the fabric, and the NRF notifies it there when another function
        // terminates.
        for (pei, status) in
            [("imei-356938035643809", "BLACKLISTED"), ("imei-004400152020000", "WHITELISTED")]
        {
            let target = format!("/n5g-eir-eic/v1/equipment-status?pei={pei}");
            ensure!(get(&fabric, ADDRESS, &target).await?["status"] == status);
        }
        let nssf = core.process_of("nf nssf").context("the NSSF has a process")?;
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(nssf as i32),
            nix::sys::signal::Signal::SIGTERM,
        )?;
        // It is also notified of other functions.
        while !next(&output)?.starts_with("notified of NSSF NF_") {}

        // It deregisters its profile when it ends.
        end(&mut function)?;
        ensure!(discovered(&over_tcp, NfType::FiveGEir).await?.is_empty());
        core.stop()
    });
}

/// The minor version of a Go toolchain.
fn minor(go: &Path) -> Option<u32> {
    let output =
        Command::new(go).args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local").output().ok()?;
    String::from_utf8(output.stdout)
        .ok()?
        .trim()
        .strip_prefix("go1.")?
        .split('.')
        .next()?
        .parse()
        .ok()
}

#[test]
fn free5gc_libraries_run_over_the_fabric_unchanged() {
    const ADDRESS: &str = "127.0.0.31:7777";
    let Some(go) = go() else { return };
    if minor(&go).is_none_or(|minor| minor < 24) {
        eprintln!("SKIPPED: free5GC's modules need Go 1.24");
        return;
    }
    let installed = Installed::for_go("free5gc");
    let program = build(&installed, &go, "free5gc");
    in_namespace(move || async move {
        let (core, socket) = core(&installed)?;
        let mut command = Command::new(&program);
        command.args(["-at", ADDRESS, "-socket"]).arg(&socket).stdout(Stdio::piped());
        let mut function = Started(installed.for_command(&mut command).spawn()?);
        let output = lines(function.0.stdout.take().context("its output")?);
        let id = next(&output)?;
        let id =
            id.strip_prefix("registered as ").with_context(|| format!("its output: {id:?}"))?;
        ensure!(next(&output)? == "found UDM REGISTERED");
        let http = HttpBinding::new(ClientLimits::default());
        ensure!(discovered(&http, NfType::Nef).await? == [id]);
        let fabric =
            Fabric::start(FabricConfig { socket: socket.clone(), ..FabricConfig::default() });
        fabric.joined().await;
        ensure!(
            get(&fabric, ADDRESS, "/nnef-pfdmanagement/v1/applications").await?
                == serde_json::json!([])
        );
        end(&mut function)?;
        ensure!(discovered(&http, NfType::Nef).await?.is_empty());
        core.stop()
    });
}

/// TCP connections of a process with one of these ports, in any state but LISTEN. The core's own
/// functions may use TCP while they start, until all have joined the fabric.
fn over_tcp(process: u32, ports: &[u16]) -> Result<Vec<String>> {
    let mut sockets = Vec::new();
    for file in std::fs::read_dir(format!("/proc/{process}/fd"))? {
        let target = std::fs::read_link(file?.path()).unwrap_or_default();
        let inode =
            target.to_str().and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']'));
        sockets.extend(inode.map(str::to_string));
    }
    ensure!(!sockets.is_empty(), "process {process} has no sockets");
    let table = std::fs::read_to_string("/proc/thread-self/net/tcp")?;
    let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
    let port =
        |end: &str| end.rsplit(':').next().and_then(|text| u16::from_str_radix(text, 16).ok());
    let matters = |row: &&Vec<&str>| {
        row[3] != "0A"
            && sockets.iter().any(|inode| inode == row[9])
            && [row[1], row[2]].iter().any(|end| ports.contains(&port(end).unwrap_or(0)))
    };
    Ok(rows.collect::<Vec<_>>().iter().filter(matters).map(|row| row[1..4].join(" ")).collect())
}

#[test]
fn free5gc_smf_serves_a_core_over_the_fabric() {
    use martlet_ran::ue::{OperatorKey, PduSessionRequest, Slice, UeConfig};
    use martlet_store::{Secret, Store, Subscriber};
    let Some(go) = go() else { return };
    if minor(&go).is_none_or(|minor| minor < 21) {
        eprintln!("SKIPPED: free5GC's SMF needs Go 1.21");
        return;
    }
    let installed = Installed::for_go("free5gc-smf");
    let (program, built) = try_to_build(&installed, &go, "free5gc-smf");
    let output = String::from_utf8_lossy(&built.stderr);
    if let Some(why) = output.lines().find(|line| {
        ["dial tcp", "403 Forbidden", "404 Not Found"].iter().any(|sign| line.contains(sign))
    }) {
        eprintln!("SKIPPED: free5GC's SMF cannot be fetched: {why}");
        return;
    }
    assert!(built.status.success(), "{output}");
    in_namespace(move || async move {
        let folder = installed.folder.clone();
        let path = |name: &str| folder.join(name);
        let socket = path("core.sock");
        let slice = "{ sst: 1, sd: \"010203\" }";
        std::fs::write(
            path("martlet.yaml"),
            format!(
                "network: {{ slices: [{slice}] }}\nsbi: {{ external: [smf] }}\nfabric: {{ socket: \
                 {socket:?} }}\nudr: {{ path: {:?} }}\nnrf: {{ interop: {{ absolute_prefixes: \
                 true, no_heartbeats: true }} }}\nudm: {{ sdm_v1: true }}\nchf: {{ enabled: true \
                 }}\namf: {{ n2: {{ bind: [127.0.0.5] }} }}\n",
                path("martlet.db")
            ),
        )?;
        let mut subscriber =
            Subscriber::new("imsi-001010000000001", Secret([1; 16]), Secret([2; 16]), "internet");
        subscriber.slices[0].sd = Some(0x01_02_03);
        Store::open(&path("martlet.db"))?.add(&[subscriber], false)?;
        let core = CoreProcess::start(
            Path::new(MARTLET),
            &path("martlet.yaml"),
            &folder,
            &["--split"],
            &path("oam.sock"),
            10,
        )?;

        let (of_smf, routing) = martlet_tests::free5gc_smf::configuration(&folder)?;
        let log = std::fs::File::create(path("smf.log"))?;
        let mut command = Command::new(&program);
        command
            .arg("-c")
            .arg(of_smf)
            .arg("-u")
            .arg(routing)
            .arg("-socket")
            .arg(&socket)
            .current_dir(&folder);
        command.stdout(log.try_clone()?).stderr(log);
        let mut smf = Started(installed.for_command(&mut command).spawn()?);
        let log_text = || std::fs::read_to_string(path("smf.log")).unwrap_or_default();
        for _ in 0..600 {
            if log_text().contains("Association Setup Accepted") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }

        let slice = Slice { sst: 1, sd: Some([1, 2, 3]) };
        let plmn = martlet_security::Plmn::new("001", "01").context("a network")?;
        let mut radio = martlet_ran::GnbConfig::new("gnb", plmn, 1, "127.0.0.5:38412".parse()?);
        radio.slices = vec![slice];
        let gnb = martlet_ran::Gnb::connect(radio).await?;
        let mut config = UeConfig::new("001010000000001", 2, [1; 16], OperatorKey::Opc([2; 16]))?;
        config.requested_nssai = vec![slice];
        let ue = gnb.new_ue(config)?;
        ue.register().await?;
        let asked =
            PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
        let session = ue.establish_pdu_session(asked).await.with_context(log_text)?;
        ensure!(session.ipv4.is_some_and(|ip| ip.octets()[..3] == [10, 45, 1]), "{session:?}");
        ue.deregister().await?;
        // No TCP connection exists with the SMF, nor with a function of the core. (It does listen
        // on TCP, as free5GC's program always does.)
        drop(
            std::net::TcpListener::bind("127.0.0.2:8000")
                .err()
                .context("it also listens on its TCP port")?,
        );
        let others = over_tcp(smf.0.id(), &[8000, 7777])?;
        ensure!(others.is_empty(), "over TCP: {others:?}\n{}", log_text());
        end(&mut smf)?;
        core.stop()
    });
}
