//! The switch process under p4runtime-shell, and its persistent state after a kill.
mod process;
mod wires;

use process::Process;
use std::path::{Path, PathBuf};
use std::process::Command;
use wires::{in_namespace, ip};

fn start(engine: &str, state: &Path) -> Process {
    Process::start(&["--engine", engine, "--state", state.to_str().expect("text")])
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("martlet-switch-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

#[test]
fn a_foreign_controller_works() {
    with_a_foreign_controller("swx");
}

#[test]
fn a_foreign_controller_works_with_engine_xdp() {
    with_a_foreign_controller("xdp");
}

fn with_a_foreign_controller(engine: &'static str) {
    let Some(python) = std::env::var_os("MARTLET_PYTHON") else {
        eprintln!("SKIPPED: MARTLET_PYTHON is not set; make oracles installs p4runtime-shell");
        return;
    };
    in_namespace(move || run_foreign_controller(engine, &python));
}

fn run_foreign_controller(engine: &str, python: &std::ffi::OsStr) {
    for (far, near) in [("gnb", "access"), ("upf3", "native3")] {
        ip(&format!("link add {far} type veth peer name {near}"));
        ip(&format!("link set {far} up"));
        ip(&format!("link set {near} up"));
    }
    let state = folder(&format!("shell-{engine}"));
    let path = state.to_str().expect("text");
    let wires = ["--access", "access", "--native-n3", "native3"];
    let switch = Process::start(&[&wires[..], &["--engine", engine, "--state", path]].concat());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/p4runtime.py");
    let output = Command::new("timeout")
        .arg("120")
        .arg(python)
        .arg(script)
        .args([&switch.address.to_string(), "gnb"])
        // The shell's generated code is older than protobuf accepts by default.
        .env("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "python")
        .output()
        .expect("python");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success() && text.contains("fine"), "{text}");
    let _ = std::fs::remove_dir_all(&state);
}

#[tokio::test]
async fn rules_and_counters_outlive_a_killed_process() {
    outlive_a_killed_process("swx").await;
}

#[tokio::test]
async fn rules_and_counters_outlive_a_killed_process_with_engine_xdp() {
    outlive_a_killed_process("xdp").await;
}

async fn outlive_a_killed_process(engine: &str) {
    use martlet_switch_control::client::Client;
    use martlet_switch_control::model::{Operation, Update};
    use martlet_switch_control::rules;
    let state = folder(&format!("killed-{engine}"));
    let listed =
        |entries: Vec<martlet_switch_control::model::TableEntry>, client: &Client| -> Vec<String> {
            entries.iter().filter_map(|entry| rules::show(&client.program().info, entry)).collect()
        };
    let expected;
    {
        let switch = start(engine, &state);
        let mut client = Client::connect(switch.address, 1).await.expect("a switch");
        client.become_primary(None).await.expect("the only controller");
        let update = |client: &Client, operation, line: &str| {
            let info = &client.program().info;
            let entry =
                rules::parse(info, &rules::words(line), 0, false, &mut || None).expect("a rule");
            Update { operation, entry }
        };
        for (operation, line) in [
            (Operation::Insert, "decap teid 1 ue 10.60.0.1 via 1 counter 1"),
            (Operation::Insert, "decap teid 2 ue 10.60.0.2 via 1 counter 2"),
            (Operation::Modify, "decap teid 1 ue 10.60.0.9 via 1 counter 1"),
            (Operation::Delete, "decap teid 2 ue 10.60.0.2 via 1 counter 2"),
            (Operation::Insert, "application application 1 session 4 ports 80-90 priority 3"),
        ] {
            let update = update(&client, operation, line);
            client.write(&[update]).await.unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        // A batch with a wrong rule is neither written nor stored.
        let wrong = [
            update(&client, Operation::Insert, "decap teid 3 ue 10.60.0.3 via 1 counter 3"),
            update(&client, Operation::Insert, "decap teid 1 ue 10.60.0.9 via 1 counter 1"),
        ];
        let error = client.write(&wrong).await.expect_err("the second entry exists");
        assert!(error.to_string().contains("already has"), "{error}");
        expected = listed(client.entries(None).await.expect("entries"), &client);
        assert_eq!(expected.len(), 2, "{expected:?}");
        // Killed with SIGKILL: no time to write anything.
    }
    let switch = start(engine, &state);
    let mut client = Client::connect(switch.address, 1).await.expect("a switch");
    assert_eq!(listed(client.entries(None).await.expect("entries"), &client), expected);
    let _ = std::fs::remove_dir_all(&state);
}
