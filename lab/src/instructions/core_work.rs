//! Procedures of a whole core in one process, which valgrind runs. The simulated RAN is a process
//! of its own and is not counted.
use super::{per_round, read_count, valgrind};
use crate::Output;
use crate::control_plane::testbed::{connect_gnb, new_ue};
use crate::core::{CoreArgs, CoreSetup, Variant, wait_for_association};
use crate::progress::Progress;
use anyhow::{Context, Result};
use martlet_ran::{Gnb, PduSessionRequest, Samples};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The two numbers of UEs.
const UES: [u64; 2] = [10, 60];
/// Timeout for the association of the gNB.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// Without the sandbox: valgrind needs system calls of its own.
const SANDBOX: &str = "security: { seccomp: off, landlock: false }\n";

/// Instructions of a registration, and of a PDU session establishment.
pub(super) fn count(core: &CoreArgs, output: &mut Output) -> Result<[(&'static str, u64); 2]> {
    let mut progress = Progress::new("cores", 4);
    let mut number = 90;
    let mut of = |name: &'static str, with_session| {
        per_round(UES, |ues| {
            number += 1;
            let count = run(core, number, ues, with_session, output.folder())?;
            output.row(format_args!("{name},{ues},{count}"))?;
            progress.step(name);
            Ok(count)
        })
        .context(name)
    };
    let registration = of("registration", false)?;
    let with_session = of("registration_with_session", true)?;
    progress.done();
    let session = with_session.saturating_sub(registration);
    Ok([("registration", registration), ("pdu_session", session)])
}

/// The count of a core that serves this many UEs, one after the other.
fn run(core: &CoreArgs, number: u8, ues: u64, with_session: bool, folder: &Path) -> Result<u64> {
    let log = folder.join("valgrind.log");
    let program = wrapper(&core.program()?, &log, &folder.join("martlet-in-valgrind"))?;
    let wrapped = CoreArgs { martlet: Some(program) };
    let setup = CoreSetup::prepare(&wrapped, number, "instructions", ues, folder)?.with(SANDBOX);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let core = setup.start(Variant::Local)?;
        wait_for_association(&core).await?;
        let gnb = connect(&setup).await?;
        for n in 0..ues {
            let ue = new_ue(&gnb, n)?;
            ue.register().await.with_context(|| ue.supi().to_string())?;
            if with_session {
                let dnn = Some("internet".into());
                let request = PduSessionRequest { dnn, ..PduSessionRequest::default() };
                ue.establish_pdu_session(request).await.with_context(|| ue.supi().to_string())?;
            }
        }
        gnb.shutdown().await;
        core.stop()
    })?;
    read_count(&log)
}

/// Connects a gNB. An AMF in valgrind may answer too late at first.
async fn connect(setup: &CoreSetup) -> Result<Gnb> {
    let deadline = tokio::time::Instant::now() + CONNECT_TIMEOUT;
    loop {
        let connected = connect_gnb(setup, Samples::default(), 1).await;
        if connected.is_ok() || tokio::time::Instant::now() > deadline {
            return connected;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// A script that runs the program in valgrind, with the arguments that it gets.
fn wrapper(program: &Path, log: &Path, script: &Path) -> Result<PathBuf> {
    let program = program.canonicalize().with_context(|| program.display().to_string())?;
    let quoted = |text: &std::ffi::OsStr| format!("'{}'", text.to_string_lossy());
    let mut words = vec!["exec".into(), quoted("valgrind".as_ref())];
    words.extend(valgrind(log).get_args().map(quoted));
    words.push(quoted(program.as_os_str()));
    std::fs::write(script, format!("#!/bin/sh\n{} \"$@\"\n", words.join(" ")))?;
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755))?;
    Ok(script.to_path_buf())
}
