//! Keys of subscribers in the memory of processes: who has them, and who can read them.
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_tests::in_namespace;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// A user that no machine has.
const USER: u32 = 54_321;
/// Functions that never get K or OPc.
const WITHOUT_KEYS: [&str; 8] = ["nrf", "ausf", "pcf", "nssf", "smf", "amf", "lmf", "upf"];

fn pid_of(core: &CoreProcess, name: &str) -> Result<u32> {
    core.process_of(&format!("nf {name} ")).with_context(|| format!("{name} has no process"))
}

/// Whether a text is in the bytes: with the C library, which is fast in a debug build, too.
fn contains(bytes: &[u8], text: &[u8]) -> bool {
    // SAFETY: memmem reads both ranges, which the slices own, within their lengths.
    let at = unsafe {
        libc::memmem(bytes.as_ptr().cast(), bytes.len(), text.as_ptr().cast(), text.len())
    };
    !at.is_null()
}

/// Which of the texts are in the private memory that a process can write. Shared memory of the
/// fabric belongs to both ends of a channel.
fn found(pid: u32, texts: &[(&str, Vec<u8>)]) -> Result<Vec<String>> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let memory = std::fs::File::open(format!("/proc/{pid}/mem"))?;
    let mut all = Vec::new();
    let mut bytes = Vec::new();
    for line in maps.lines().filter(|line| line.contains(" rw-p ")) {
        let (range, _) = line.split_once(' ').context("a range")?;
        let (start, end) = range.split_once('-').context("a range")?;
        let (start, end) = (u64::from_str_radix(start, 16)?, u64::from_str_radix(end, 16)?);
        let length = usize::try_from(end - start)?;
        // An arena's unused end is not readable.
        bytes.resize(length.min(256 << 20), 0);
        let Ok(read) = memory.read_at(&mut bytes, start) else { continue };
        for (name, text) in texts {
            if contains(&bytes[..read], text) {
                all.push(format!("{name} in {line}"));
            }
        }
    }
    Ok(all)
}

/// The keys as bytes.
fn as_bytes() -> Result<Vec<(&'static str, Vec<u8>)>> {
    Ok(vec![("K", hex::decode(KEY)?), ("OPc", hex::decode(OPC)?)])
}

/// The keys as bytes and as text.
fn in_any_form() -> Result<Vec<(&'static str, Vec<u8>)>> {
    let texts = vec![("the text of K", KEY.into()), ("the text of OPc", OPC.into())];
    Ok(as_bytes()?.into_iter().chain(texts).collect())
}

#[test]
fn only_udr_and_udm_have_keys_and_the_udm_overwrites_them() {
    in_namespace(|| async {
        let site = Site::new("keys-in-memory")?;
        for binding in ["fabric", "http"] {
            let core = site.start(&["--split", "--sbi", binding])?;
            let gnb = gnb_at(1, "127.0.0.5:38412").await?;
            registration_cycle(&ue(&gnb, 1)?).await?;
            registration_cycle(&ue(&gnb, 2)?).await?;
            // The check finds keys where they are: the UDR caches subscribers.
            let cached = found(pid_of(&core, "udr")?, &as_bytes()?)?;
            ensure!(!cached.is_empty(), "{binding}: the check does not find K in the UDR");
            for name in WITHOUT_KEYS {
                let keys = found(pid_of(&core, name)?, &in_any_form()?)?;
                ensure!(keys.is_empty(), "{binding}: {name} has {keys:?}");
            }
            ensure!(found(core.id(), &in_any_form()?)?.is_empty(), "the supervisor has keys");
            let keys = found(pid_of(&core, "udm")?, &as_bytes()?)?;
            ensure!(keys.is_empty(), "{binding}: the UDM still has {keys:?}");
            gnb.shutdown().await;
            core.stop()?;
        }
        Ok(())
    });
}

/// Kilobytes that a process has locked.
fn locked(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).context("VmLck")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

#[test]
fn memory_with_keys_is_locked_from_swap() {
    in_namespace(|| async {
        let site = Site::new("locked-memory")?;
        let core = site.start(&["--split"])?;
        let gnb = gnb_at(1, "127.0.0.5:38412").await?;
        registration_cycle(&ue(&gnb, 1)?).await?;
        for name in ["udr", "udm", "ausf", "amf"] {
            let pid = pid_of(&core, name)?;
            ensure!(locked(pid)? > 256, "{name} has locked {} KB", locked(pid)?);
            // The heap is among what is locked: `lo` in its flags.
            let maps = std::fs::read_to_string(format!("/proc/{pid}/smaps"))?;
            let heap = maps.lines().skip_while(|line| !line.ends_with("[heap]"));
            let flags = heap.into_iter().find_map(|line| line.strip_prefix("VmFlags:"));
            let flags = flags.context("a heap")?;
            ensure!(flags.split_whitespace().any(|flag| flag == "lo"), "{name}: {flags}");
        }
        ensure!(locked(pid_of(&core, "smf")?)? == 0, "the SMF has no keys");
        let status = Command::new(MARTLET)
            .args(["status", "--security", "-c"])
            .arg(site.config())
            .output()?;
        let text = String::from_utf8_lossy(&status.stdout).into_owned();
        ensure!(text.contains("locked") && text.contains("swappable"), "{text}");
        gnb.shutdown().await;
        core.stop()
    });
}

#[test]
fn attack_process_of_the_same_user_reads_memory_with_keys() {
    in_namespace(|| async {
        let site = Site::new("read-memory")?;
        let text = std::fs::read_to_string(site.config())?;
        std::fs::write(site.config(), format!("{text}security: {{ user: \"{USER}\" }}\n"))?;
        std::os::unix::fs::chown(&site.0, Some(USER), Some(USER))?;
        let core = site.start(&["--split"])?;
        let gnb = gnb_at(1, "127.0.0.5:38412").await?;
        registration_cycle(&ue(&gnb, 1)?).await?;
        for name in ["udr", "udm", "ausf", "amf"] {
            let pid = pid_of(&core, name)?;
            for file in ["mem", "maps", "environ"] {
                let mut read = Command::new("head");
                let read = read.args(["-c", "1", &format!("/proc/{pid}/{file}")]);
                let read = read.uid(USER).gid(USER).output()?;
                let error = String::from_utf8_lossy(&read.stderr).into_owned();
                ensure!(
                    !read.status.success() && error.contains("Permission denied"),
                    "another process of the user reads {file} of {name}: {error}"
                );
            }
            // A process that crashes after it has served a UE leaves no core dump.
            kill(Pid::from_raw(pid.cast_signed()), Signal::SIGABRT)?;
            until_crashed(&core, name).await?;
        }
        gnb.shutdown().await;
        core.stop()
    });
}

/// Waits until the supervisor has seen a function end, and checks that there was no core dump.
async fn until_crashed(core: &CoreProcess, name: &str) -> Result<()> {
    let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
    loop {
        let status = core.status()?;
        let processes = status["processes"].as_array().cloned().unwrap_or_default();
        let process = processes.iter().find(|process| process["name"] == name);
        let exit = process.and_then(|process| process["lastExit"].as_str()).unwrap_or_default();
        if exit.contains("SIGABRT") {
            ensure!(!exit.contains("core dumped"), "{name}: {exit}");
            return Ok(());
        }
        ensure!(tokio::time::Instant::now() < give_up, "{name} did not end: {exit:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
