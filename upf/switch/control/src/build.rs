//! The build identity of a switch process. `martlet` and `martlet-switch` are two files, and one
//! may be outdated.
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Version of the command line of the switch process; raised with each incompatible change.
const COMMAND_LINE: u32 = 2;
/// Time limit for a program to report its build.
const PATIENCE: Duration = Duration::from_secs(10);

/// The build identity: version, command line version, and the P4 program.
pub fn build() -> String {
    // FNV-1a, 64 bits.
    let hash = crate::UPF.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{}/{COMMAND_LINE}/{hash:016x}", env!("CARGO_PKG_VERSION"))
}

/// Checks that a switch program is of this build.
///
/// # Errors
/// The program is of another build, does not report it, or cannot be run. The text says what to do.
pub fn check(program: &Path) -> Result<(), String> {
    let shown = program.display();
    let advice = "build both together (make release; unoptimised: cargo build -p martlet -p \
                  martlet-switch-target) and install both";
    let cannot = |error: &dyn std::fmt::Display| {
        format!(
            "the switch program {shown} cannot be run ({error}): {advice}, or put it beside \
             martlet"
        )
    };
    let mut command = Command::new(program);
    command.arg("build").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| cannot(&error))?;
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(2)),
            outcome => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(match outcome {
                    Err(error) => cannot(&error),
                    _ => cannot(&format!("it says nothing in {PATIENCE:?}")),
                });
            }
        }
    }
    let output = child.wait_with_output().map_err(|error| cannot(&error))?;
    let (said, own) = (String::from_utf8_lossy(&output.stdout), build());
    match said.trim() {
        said if said == own => Ok(()),
        said => {
            let other = if said.is_empty() { "an older build" } else { said };
            Err(format!(
                "the switch program {shown} is of another build than this program ({other}, not \
                 {own}): {advice}"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn another_build_is_told_of() {
        let path =
            std::env::temp_dir().join(format!("martlet-switch-build-{}", std::process::id()));
        let says = |script: &str| {
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            check(&path)
        };
        assert_eq!(says(&format!("echo {}", build())), Ok(()));
        for (script, why) in [
            ("echo 0.0.1/1/0", "another build than this program (0.0.1/1/0, not"),
            ("exit 2", "an older build"),
        ] {
            let said = says(script).unwrap_err();
            assert!(said.contains(why) && said.contains("install both"), "{said}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(check(&path).unwrap_err().contains("cannot be run"));
    }
}
