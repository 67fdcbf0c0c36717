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
