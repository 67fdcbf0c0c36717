//! The tutorial of several machines, command by command: `deploy/tutorial/several-machines.sh` runs
//! them in network and mount namespaces as machines.
use crate::site::{MARTLET, simulator};
use martlet_tests::in_namespace;
use std::path::Path;
use std::process::Command;

#[test]
fn two_machines_serve_a_ue_after_the_commands_of_the_page() {
    simulator();
    in_namespace(|| async {
        let script = "../deploy/tutorial/several-machines.sh";
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
        let ran = Command::new("bash").arg(script).arg(MARTLET).output()?;
        let output = String::from_utf8_lossy(&ran.stdout);
        let all = format!("{output}\n{}", String::from_utf8_lossy(&ran.stderr));
        anyhow::ensure!(ran.status.success(), "{all}");
        // The steps of the scenario, the history of the UE, the functions of central, and the UPF.
        for part in ["ping", "deregister", "registration", "ausf", ":8805  "] {
            anyhow::ensure!(output.to_lowercase().contains(part), "no {part}:\n{all}");
        }
        Ok(())
    });
}
