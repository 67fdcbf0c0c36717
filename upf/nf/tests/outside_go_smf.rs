//! The whole UPF with an SMF of another implementation in Go, and tshark as the dissector of the
//! UPF's messages: see go-smf/main.go.
use martlet_upf::config::{AllowedService, DnnConfig, N6Mode};
use martlet_upf::{UpfConfig, start};
use martlet_upf_testing::{REMOTE, in_namespace};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The output of the program if the UPF conforms to the specifications.
const EXPECTED: &str = "\
association 1 true true true
heartbeat true
pfds 1 76 61
unknown-application 73 1
session 1 1 2 true 10.45.0.2
application one
no-application nothing
downlink-data 1 2
modified 1 page
usage 1 161
error-indication 1 0xbeef
idle 1 1
crowd 1000 1001 75 100 100
crowd-gone 1000 1000
wrong 65 68 108 66
still Version Not Supported Response still true
prepared 1 2 true
ready
leaves true 20s
released 64 1 1
";

fn go() -> Option<&'static str> {
    ["go", "/usr/local/go/bin/go"]
        .into_iter()
        .find(|go| Command::new(go).arg("version").output().is_ok())
}

/// Builds the program.
fn built() -> Option<PathBuf> {
    let Some(go) = go() else {
        eprintln!("SKIPPED: Go is not installed; deploy/install/packages.sh test installs one");
        return None;
    };
    let folder = std::env::current_exe().ok()?.parent()?.to_path_buf();
    let program = folder.join("go-smf");
    let mut build = Command::new(go);
    build.args(["build", "-o"]).arg(&program).arg(".");
    build.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/go-smf"));
    build
        .env("GOTOOLCHAIN", "local")
        .env("GOFLAGS", "-buildvcs=false")
        .env("GOCACHE", folder.join("go-build"));
    let output = build.output().expect("go runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("dial tcp") || errors.contains("unrecognized import path") {
        eprintln!("SKIPPED: go-pfcp cannot be fetched: {errors}");
        return None;
    }
    assert!(output.status.success(), "{errors}");
    Some(program)
}

/// A capture of N4, if tcpdump is installed.
struct Capture {
    file: PathBuf,
    child: Child,
}

impl Capture {
    fn start() -> Option<Capture> {
        let file = std::env::temp_dir().join(format!("martlet-go-smf-{}.pcap", std::process::id()));
        let mut command = Command::new("tcpdump");
        command
            .args(["-i", "lo", "-U", "-B", "8192", "-s", "0", "-w"])
            .arg(&file)
            .args(["udp", "port", "8805"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            eprintln!("SKIPPED: messages are not dissected: tcpdump is not installed");
            return None;
        };
        let stderr = child.stderr.take()?;
        let listening = BufReader::new(stderr)
            .lines()
            .map_while(Result::ok)
            .any(|line| line.contains("listening on"));
        assert!(listening, "tcpdump does not listen");
        Some(Capture { file, child })
    }

    /// The UPF's messages that tshark finds malformed, and the number of its messages.
    fn wrong(mut self) -> Option<(String, usize)> {
        // tcpdump writes the last packets with a delay.
        std::thread::sleep(Duration::from_millis(300));
        let _ = self.child.kill();
        let _ = self.child.wait();
        let of = |filter: &str| tshark(&self.file, filter);
        let wrong = of("ip.src == 127.0.0.8 && (_ws.malformed || _ws.expert.severity == error)");
        let all = of("ip.src == 127.0.0.8 && pfcp");
        let _ = std::fs::remove_file(&self.file);
        Some((wrong?, all?.lines().count()))
    }
}

fn tshark(file: &Path, filter: &str) -> Option<String> {
    let output = Command::new("tshark").arg("-r").arg(file).args(["-Y", filter]).output();
    match output {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => {
            eprintln!("SKIPPED: messages are not dissected: tshark is not installed");
            None
        }
    }
}

#[test]
fn an_smf_in_go_uses_the_upf() {
    let Some(program) = built() else { return };
    in_namespace(move || {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let mut config = UpfConfig::default();
            config.n6.mode = N6Mode::Routing;
            // The host is on this machine.
            config.n6.allow.push(AllowedService::all(std::net::IpAddr::V4(REMOTE).into()));
            config.n3.restoration_s = 0;
            config.n4.heartbeat_s = 1;
            config.n4.graceful_release_s = 20;
            config.n4.sessions = 1001;
            config.dnns = vec![DnnConfig {
                name: "internet".into(),
                pools: vec!["10.45.0.0/20".into()],
                allocate: true,
                ..Default::default()
            }];
            let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
            let upf =
                start(config, async move { drop(stopped.await) }).await.expect("the UPF starts");
            let status = upf.status_source();
            let capture = Capture::start();
            // The child inherits the namespace of this thread.
            let mut child =
                Command::new(program).stdout(Stdio::piped()).spawn().expect("the SMF runs");
            let stdout = child.stdout.take().expect("its output");
            let mut stop = Some(stop);
            let output = tokio::task::spawn_blocking(move || {
                let mut output = String::new();
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if line == "ready" {
                        drop(stop.take());
                    }
                    output += &line;
                    output += "\n";
                }
                (output, child.wait())
            });
            let (output, exit) = tokio::time::timeout(Duration::from_secs(60), output)
                .await
                .expect("the SMF ends in time")
                .expect("no panic");
            assert_eq!(output, EXPECTED);
            assert!(exit.is_ok_and(|exit| exit.success()));
            // The UPF ends with the release of its last association, long before its time limit.
            let ended = tokio::time::timeout(Duration::from_secs(5), upf.finished()).await;
            ended.expect("the UPF has ended").expect("the UPF ends without error");
            assert_eq!(status(), serde_json::Value::Null);
            if let Some((wrong, all)) = capture.and_then(Capture::wrong) {
                assert_eq!(wrong, "");
                // Most of the messages: on a busy machine a capture misses some.
                assert!(all > 1000, "{all} messages");
            }
        });
    });
}
