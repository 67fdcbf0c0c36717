//! The whole UPF with an SMF and a gNB of another implementation: see smf.py.
use martlet_upf::config::{AllowedService, N6Mode};
use martlet_upf::{UpfConfig, start};
use martlet_upf_testing::{REMOTE, in_namespace};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The output of smf.py if the UPF conforms to the specifications.
const EXPECTED: &str = "\
refused 72 True
association 1 1 1
heartbeat True
session 1 True 127.0.0.8
modified 1
echo 0 2
uplink up 10.45.0.2
downlink 0 0xbeef 01000900 down
idle 1
report 56 1 2
paged 0 0xcafe page
unknown-rule 73 True
deleted 1 3f000000000000005e000000000000001e0000000000000040
deleted-again 65
";

#[test]
fn another_implementation_establishes_a_session_and_sends_traffic() {
    let python = std::env::var("MARTLET_PYTHON").unwrap_or_else(|_| "python3".into());
    let probe =
        Command::new(&python).args(["-c", "import pycrate_mobile"]).stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: {python} has no pycrate; `make oracles` installs it");
        return;
    }
    in_namespace(move || {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let mut config = UpfConfig::default();
            config.n6.mode = N6Mode::Routing;
            // The host is on this machine.
            config.n6.allow.push(AllowedService::all(std::net::IpAddr::V4(REMOTE).into()));
            let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
            let upf =
                start(config, async move { drop(stopped.await) }).await.expect("the UPF starts");
            let status = upf.status_source();
            let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/smf.py");
            // The child inherits the namespace of this thread.
            let child = Command::new(&python)
                .arg(script)
                .stdout(Stdio::piped())
                .spawn()
                .expect("python runs");
            let output = tokio::task::spawn_blocking(move || child.wait_with_output());
            let output = tokio::time::timeout(Duration::from_secs(60), output).await;
            let output = output.expect("the SMF ends in time").expect("no panic").expect("it ends");
            assert_eq!(String::from_utf8_lossy(&output.stdout), EXPECTED);
            assert!(output.status.success());
            let now = status();
            assert_eq!(
                (&now["sessionCount"], &now["associations"][0]["nodeId"]),
                (&0.into(), &"127.0.0.7".into())
            );
            assert_eq!(now["counters"]["uplink_packets"], 1);
            drop(stop);
            upf.finished().await.expect("the UPF ends without error");
            assert_eq!(status(), serde_json::Value::Null);
        });
    });
}
