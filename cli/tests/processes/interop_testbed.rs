//! The testbed of `make interop` (deploy/interop), with `martlet ran` in place of the programs of
//! another vendor, which are tried by hand.
use crate::site::simulator;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Cases that reach each kind of step.
const CASES: [&str; 5] =
    ["registration-5g-aka", "session-ipv4", "idle-and-paging", "n2-handover", "core-restart"];

#[test]
fn martlet_ran_passes_and_missing_programs_are_not_run() {
    if !nix::unistd::geteuid().is_root() {
        return martlet_tests::skip("namespaces and interfaces need root");
    }
    simulator();
    let folder =
        std::env::temp_dir().join(format!("martlet-interop-testbed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/interop/run.py");
    let results = folder.join("results.json");
    let mut command = Command::new("python3");
    command.arg(script).args(["--martlet", env!("CARGO_BIN_EXE_martlet"), "--quiet", "--json"]);
    command.arg(&results).arg("--folder").arg(folder.join("testbed"));
    let others = ["UERANSIM", "OAI", "eUPF", "pfcpsim"];
    let vendors = others.iter().chain(&["martlet ran"]);
    command.args(vendors.flat_map(|vendor| ["--vendor", vendor]));
    command.args(CASES.iter().flat_map(|case| ["--case", case]));
    let done = command.output().expect("python3 starts");
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
    let results = std::fs::read_to_string(results).expect("the results are written");
    let results: serde_json::Value = serde_json::from_str(&results).expect("JSON");
    for case in CASES {
        assert_eq!(results["martlet ran"][case]["verdict"], "passed", "{case}: {results}");
        // A program that is not installed has never passed.
        for vendor in others {
            assert_eq!(results[vendor][case]["verdict"], "not run", "{vendor}, {case}: {results}");
        }
    }
    assert!(text.contains("| CM-IDLE, paging, downlink data | TS 23.502, 4.2.3.3 | passed |"));
    let reason = "| OAI | nr-softmodem is not installed |";
    assert!(text.contains(reason), "the page says why a column is not run: {text}");
    let _ = std::fs::remove_dir_all(folder);
}

/// Each vendor can say what its programs would do in each case.
#[test]
fn the_steps_of_all_vendors_are_planned() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/interop/run.py");
    let mut command = Command::new("python3");
    command.arg(script).args(["--martlet", env!("CARGO_BIN_EXE_martlet"), "--steps"]);
    let done = command.output().expect("python3 starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8_lossy(&done.stdout);
    for (case, program) in [
        ("OAI: session-ipv4", "nr-uesoftmodem"),
        ("eUPF: session-ipv4", "eupf"),
        ("pfcpsim: fifty-ues", "pfcpctl"),
        ("UERANSIM: session-ipv4", "nr-ue"),
        ("Open5GS SMF: session-ipv4", "open5gs-smfd"),
        ("free5GC UDM: session-ipv4", "udmcfg.yaml"),
    ] {
        let mut of_case = text.lines().filter(|line| line.starts_with(case));
        assert!(of_case.any(|line| line.contains(program)), "{case}: {program}");
    }
    let not_supported = text.lines().filter(|line| line.contains("NotSupported(")).count();
    let planned = text.lines().count() - not_supported;
    assert!(planned > not_supported, "{planned} steps, {not_supported} cases without any");
}

/// Each vendor's checks against logs in the format of its programs, and the page of the matrix.
#[test]
fn each_check_passes_and_fails_by_the_logs_of_a_vendor() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/interop");
    let mut command = Command::new("python3");
    command.current_dir(folder);
    command.args(["-B", "-m", "unittest", "discover", "-s", ".", "-t", ".", "-p", "test_*.py"]);
    let done = command.output().expect("python3 starts");
    let text = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{text}");
    assert!(!text.contains("Ran 0 tests"), "{text}");
}

/// A program that starts, but does not work, is no known cause.
#[test]
fn a_function_that_does_not_work_fails_without_a_known_cause() {
    if !nix::unistd::geteuid().is_root() {
        return martlet_tests::skip("namespaces and interfaces need root");
    }
    let folder = std::env::temp_dir().join(format!("martlet-interop-stub-{}", std::process::id()));
    let programs = folder.join("programs");
    std::fs::create_dir_all(&programs).expect("a folder");
    let stub = programs.join("open5gs-ausfd");
    let text = "#!/bin/sh\n[ \"$1\" = -v ] && exit\necho NF registered\nexec sleep 60\n";
    std::fs::write(&stub, text).expect("a program");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&stub, mode).expect("a program");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/interop/run.py");
    let results = folder.join("results.json");
    let mut command = Command::new("python3");
    command.arg(script).args(["--martlet", env!("CARGO_BIN_EXE_martlet"), "--quiet", "--json"]);
    command.arg(&results).arg("--folder").arg(folder.join("testbed"));
    command.arg("--programs").arg(&programs).args(["--vendor", "Open5GS AUSF"]);
    let done = command.args(["--case", "registration-5g-aka"]).output().expect("python3 starts");
    assert_eq!(done.status.code(), Some(1), "{}", String::from_utf8_lossy(&done.stderr));
    let results = std::fs::read_to_string(results).expect("the results are written");
    let results: serde_json::Value = serde_json::from_str(&results).expect("JSON");
    let result = &results["Open5GS AUSF"]["registration-5g-aka"];
    assert_eq!(result["verdict"], "failed", "{results}");
    assert!(result.get("who").is_none(), "{results}");
    let _ = std::fs::remove_dir_all(folder);
}
