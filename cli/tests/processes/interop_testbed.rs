//! The testbed of `make interop` (deploy/interop), with `martlet ran` in place of the programs of
//! another vendor, which are tried by hand.
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
    let folder =
        std::env::temp_dir().join(format!("martlet-interop-testbed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/interop/run.py");
    let results = folder.join("results.json");
    let mut command = Command::new("python3");
    command.arg(script).args(["--martlet", env!("CARGO_BIN_EXE_martlet"), "--quiet", "--json"]);
    command.arg(&results).arg("--folder").arg(folder.join("testbed"));
    command.args(["--vendor", "martlet ran", "--vendor", "UERANSIM"]);
    command.args(CASES.iter().flat_map(|case| ["--case", case]));
    let done = command.output().expect("python3 starts");
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
    let results = std::fs::read_to_string(results).expect("the results are written");
    let results: serde_json::Value = serde_json::from_str(&results).expect("JSON");
    for case in CASES {
        assert_eq!(results["martlet ran"][case]["verdict"], "passed", "{case}: {results}");
        // A program that is not installed has never passed.
        assert_eq!(results["UERANSIM"][case]["verdict"], "not run", "{case}: {results}");
    }
    assert!(text.contains("| CM-IDLE, paging, downlink data | TS 23.502, 4.2.3.3 | passed |"));
    let _ = std::fs::remove_dir_all(folder);
}
