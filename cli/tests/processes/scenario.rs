//! Scenarios of the simulator against a running core.
use crate::api::{Caller, api_site};
use crate::site::*;
use anyhow::ensure;
use martlet_tests::in_namespace;
use std::process::Command;

/// The example with network-specific identifiers.
const SCENARIO: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../ran/scenarios/network-specific.yaml");

#[test]
fn ues_of_a_scenario_register_with_network_specific_identifiers() {
    simulator();
    in_namespace(|| async {
        let site = api_site("scenario-nai")?;
        let supis = [0, 1].map(|n| format!("nai-sensor-{n}@plant.example"));
        let config = site.config();
        for supi in &supis {
            let keys = ["--key", KEY, "--opc", OPC, "-c"];
            let mut add = Command::new(MARTLET);
            let added = add.args(["subscriber", "add", supi]).args(keys).arg(&config).output()?;
            ensure!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
        }
        let core = site.start(&[])?;
        let played = Command::new(MARTLET).args(["ran", "-c", SCENARIO]).output()?;
        let printed = [played.stdout, played.stderr].concat();
        let printed = String::from_utf8_lossy(&printed);
        ensure!(played.status.success(), "{printed}");
        for supi in &supis {
            let history = Caller::socket(&site).get(&format!("/ues/{supi}/history"))?.to_string();
            for what in ["registered", "session"] {
                ensure!(history.contains(what), "{what} is not in {history}\n{printed}");
            }
        }
        core.stop()
    });
}

/// What a program prints, on both outputs.
fn printed(command: &mut Command) -> (bool, String) {
    let output = command.output().expect("the program starts");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn martlet_ran_has_the_arguments_and_the_log_of_martlet() {
    let program = simulator();
    let logged = |mut command: Command, arguments: &[&str]| {
        command.args(arguments).env("MARTLET_LOG", "info").env("MARTLET_LOG_FORMAT", "text");
        printed(&mut command)
    };
    let of_martlet = |arguments: &[&str]| logged(Command::new(MARTLET), arguments);
    let (well, help) = of_martlet(&["ran", "--help"]);
    assert!(well && help.contains("--config") && help.contains("conformance"), "{help}");
    assert_eq!(help, logged(Command::new(&program), &["--help"]).1);
    let (well, checked) = of_martlet(&["ran", "--check", "-c", SCENARIO]);
    assert!(well && checked.contains("4 steps: valid"), "{checked}");
    let (well, error) = of_martlet(&["ran", "-c", "/nonexistent.yaml"]);
    assert!(!well && error.starts_with("martlet-ran: "), "{error}");
    // Options of the log before the command, and after it.
    for arguments in [
        &["--log", "warn", "ran", "--help"][..],
        &["ran", "--log", "warn", "--help"],
        &["ran", "--help", "--log", "warn"],
    ] {
        assert!(of_martlet(arguments).0, "{arguments:?}");
    }
    let (well, help) = of_martlet(&["--log", "warn,x=debug", "--log-format", "json", "ran", "-h"]);
    assert!(well && help.contains("MARTLET_LOG=warn,x=debug]"), "{help}");
    assert!(help.contains("MARTLET_LOG_FORMAT=json]"), "{help}");
}

#[test]
fn a_missing_program_is_an_error_that_says_how_to_build_it() {
    let folder = std::env::temp_dir().join(format!("martlet-alone-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let alone = folder.join("martlet");
    if std::fs::hard_link(MARTLET, &alone).is_err() {
        std::fs::copy(MARTLET, &alone).expect("a copy");
    }
    for (command, target) in [("ran", "make release`"), ("lab", "make release-lab`")] {
        let (well, error) = printed(Command::new(&alone).arg(command).env("PATH", &folder));
        let name = format!("martlet-{command}");
        assert!(!well && error.contains(&name) && error.contains(target), "{error}");
    }
    let _ = std::fs::remove_dir_all(&folder);
}
