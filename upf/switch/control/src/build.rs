//! The build identity of a switch process. `martlet` and `martlet-switch` are two files, and one
//! may be outdated.
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Version of the command line of the switch process; raised with each incompatible change.
const COMMAND_LINE: u32 = 2;
/// Time limit for a program to report its build.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The build identity: version, command line version, and the P4 program.
pub fn build() -> String {
    // FNV-1a, 64 bits.
    let hash = crate::UPF.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{}/{COMMAND_LINE}/{hash:016x}", env!("CARGO_PKG_VERSION"))
}

/// Why a switch program cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The program cannot be run.
    #[error(
        "cannot run the switch program {} ({cause}): {ADVICE}, or put it next to martlet",
        program.display()
    )]
    Run {
        /// The program.
        program: PathBuf,
        /// The cause.
        cause: std::io::Error,
    },
    /// The program is of another build.
    #[error(
        "the switch program {} is of another build than this program ({build}, not {own}): \
         {ADVICE}",
        program.display()
    )]
    Other {
        /// The program.
        program: PathBuf,
        /// Its build.
        build: String,
        /// Our build.
        own: String,
    },
}

const ADVICE: &str = "build both together (make release release-switch; unoptimised: cargo build \
                      -p martlet -p martlet-switch-target) and install both";

/// Checks that a switch program is of this build.
///
/// # Errors
/// The program is of another build, does not report it, or cannot be run.
pub fn check(program: &Path) -> Result<(), BuildError> {
    let cannot = |cause| BuildError::Run { program: program.into(), cause };
    let mut command = Command::new(program);
    command.arg("build").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(cannot)?;
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if began.elapsed() < TIMEOUT => std::thread::sleep(Duration::from_millis(2)),
            outcome => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(match outcome {
                    Err(error) => cannot(error),
                    _ => cannot(std::io::ErrorKind::TimedOut.into()),
                });
            }
        }
    }
    let output = child.wait_with_output().map_err(cannot)?;
    let (reported, own) = (String::from_utf8_lossy(&output.stdout), build());
    match reported.trim() {
        reported if reported == own => Ok(()),
        reported => {
            let other = if reported.is_empty() { "an older build" } else { reported };
            Err(BuildError::Other { program: program.into(), build: other.into(), own })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn another_build_is_reported() {
        let path =
            std::env::temp_dir().join(format!("martlet-switch-build-{}", std::process::id()));
        let check_script = |script: &str| {
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            check(&path)
        };
        assert!(check_script(&format!("echo {}", build())).is_ok());
        for (script, why) in [
            ("echo 0.0.1/1/0", "another build than this program (0.0.1/1/0, not"),
            ("exit 2", "an older build"),
        ] {
            let error = check_script(script).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("install both"), "{error}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(check(&path).unwrap_err().to_string().contains("cannot run"));
    }
}
