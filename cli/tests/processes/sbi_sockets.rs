//! The SBI of a split core without certificates: unix sockets for the core's user, in place of TCP,
//! which is open to every user of the machine.
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_tests::in_namespace;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The user with the least rights.
const UNPRIVILEGED: u32 = 65534;
/// The user of the core.
const USER: u32 = 54_321;
/// The own users of two functions, by `security.function_users`.
const UDM: u32 = 60_902;
const AMF: u32 = 60_909;
/// Asks the UDR for K and OPc.
const KEYS: &str = "GET /nudr-dr/v2/subscription-data/imsi-001010000000001/authentication-data/\
                    authentication-subscription HTTP/1.1\r\nhost: udr\r\nconnection: close\r\n\r\n";

/// A site for a core of [`USER`], whose folder others can enter.
fn site(name: &str, more: &str) -> Result<Site> {
    let site = Site::new(name)?;
    let config = std::fs::read_to_string(site.config())?;
    std::fs::write(site.config(), format!("{config}security: {{ user: \"{USER}\" }}\n{more}"))?;
    std::os::unix::fs::chown(&site.0, Some(USER), Some(USER))?;
    mode(&site.0, 0o755)?;
    Ok(site)
}

fn mode(path: &Path, mode: u32) -> Result<()> {
    Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?)
}

/// The sockets of the functions.
fn sockets(site: &Site) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(site.0.join("sbi"))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

/// Listeners of this thread's network namespace at the port of the SBI, as the kernel lists them.
fn tcp_listeners() -> Result<Vec<String>> {
    let table = std::fs::read_to_string("/proc/thread-self/net/tcp")?;
    let is_listener = |line: &&str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        fields.get(1).is_some_and(|at| at.ends_with(":1E61")) && fields.get(3) == Some(&"0A")
    };
    Ok(table.lines().filter(is_listener).map(str::to_owned).collect())
}

/// The answer to a request of a program of [`UNPRIVILEGED`], which runs this Python code to
/// connect.
fn as_other_user(connect: &str) -> Result<String> {
    as_user(UNPRIVILEGED, UNPRIVILEGED, connect)
}

/// The same of a program of this user and group.
fn as_user(uid: u32, gid: u32, connect: &str) -> Result<String> {
    let program = format!(
        "import socket\n{connect}\ns.settimeout(10)\ns.sendall({KEYS:?}.encode())\nwhile True:\n  \
         data = s.recv(4096)\n  if not data: break\n  print(data.decode())\n"
    );
    let mut command = Command::new("python3");
    command.args(["-c", &program]).uid(uid).gid(gid);
    let output = command.output()?;
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Ok(format!("{stdout}{stderr}"))
}

/// The answer to root.
fn as_root(socket: &Path) -> Result<String> {
    let mut stream = std::os::unix::net::UnixStream::connect(socket)?;
    stream.write_all(KEYS.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn attack(site: &Site) -> Result<()> {
    let open = tcp_listeners()?;
    ensure!(open.is_empty(), "TCP is open: {open:?}");
    for last in 10..20 {
        let answer =
            as_other_user(&format!("s = socket.create_connection(('127.0.0.{last}', 7777))"))?;
        ensure!(answer.contains("ConnectionRefusedError"), "127.0.0.{last}: {answer}");
    }
    let folder = site.0.join("sbi");
    let sockets = sockets(site)?;
    ensure!(sockets.len() >= 9, "a socket for each function: {sockets:?}");
    // The folder keeps others out; so does the check of the user, which is tested with a folder
    // that any user may enter.
    for open_to_all in [false, true] {
        if open_to_all {
            mode(&folder, 0o777)?;
        }
        for socket in &sockets {
            let path = socket.display().to_string();
            let answer =
                as_other_user(&format!("s = socket.socket(socket.AF_UNIX)\ns.connect({path:?})"))?;
            ensure!(!answer.contains("HTTP/1.1"), "{path}: {answer}");
            ensure!(open_to_all || answer.contains("PermissionError"), "{path}: {answer}");
        }
    }
    mode(&folder, 0o770)?;
    // What the other user asked for is there.
    let udr = folder.join("127.0.0.11:7777.sock");
    let answer = as_root(&udr)?;
    ensure!(answer.contains("encPermanentKey"), "{answer}");
    // The AMF's code may connect, but the UDM alone gets keys.
    let connect = format!("s = socket.socket(socket.AF_UNIX)\ns.connect({:?})", udr.display());
    let answer = as_user(AMF, USER, &connect)?;
    ensure!(answer.contains("HTTP/1.1 403") && !answer.contains("encPermanentKey"), "{answer}");
    let answer = as_user(UDM, USER, &connect)?;
    ensure!(answer.contains("encPermanentKey"), "{answer}");
    Ok(())
}

/// Kills a function, and waits until it serves again at the socket that it left behind.
async fn restart(core: &CoreProcess, name: &str) -> Result<()> {
    let killed = kill(core, name)?;
    let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
    let is_back = || {
        core.process_of(&format!("nf {name}")).is_some_and(|pid| pid != killed)
            && core.status().is_ok_and(|status| status.to_string().contains(&format!("\"{name}\"")))
    };
    while !is_back() {
        ensure!(tokio::time::Instant::now() < give_up, "{name} does not run again");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

fn attack_a_core(name: &'static str, arguments: &'static [&'static str]) {
    in_namespace(move || async move {
        let site = site(name, "")?;
        let core = site.start(arguments)?;
        attack(&site)?;
        let gnb = gnb().await?;
        registration_cycle(&ue(&gnb, 1)?).await?;
        restart(&core, "udr").await?;
        restart(&core, "ausf").await?;
        attack(&site)?;
        let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
        while let Err(error) = registration_cycle(&ue(&gnb, 2)?).await {
            ensure!(tokio::time::Instant::now() < give_up, "after restarts: {error:#}");
        }
        gnb.shutdown().await;
        core.stop()?;
        ensure!(sockets(&site)?.is_empty(), "sockets are left: {:?}", sockets(&site)?);
        let log = std::fs::read_to_string(site.0.join("core.log"))?;
        ensure!(!log.contains("without certificates"), "{log}");
        Ok(())
    });
}

#[test]
fn attack_local_user_reads_keys_over_the_sbi() {
    attack_a_core("sbi-user", &["--split", "--sbi", "http"]);
}

#[test]
fn attack_local_user_reads_keys_over_the_sbi_beside_the_fabric() {
    attack_a_core("sbi-user-fabric", &["--split"]);
}

/// TCP without certificates is open only if the operator configures it, with a warning.
#[test]
fn tcp_without_certificates_is_configured_and_warned_of() {
    in_namespace(|| async {
        let site = site("sbi-tcp", "sbi: { listen: true }\n")?;
        let core = site.start(&["--split", "--sbi", "http"])?;
        ensure!(tcp_listeners()?.len() >= 9, "{:?}", tcp_listeners());
        ensure!(!site.0.join("sbi").exists(), "sockets, too");
        let answer = as_other_user("s = socket.create_connection(('127.0.0.11', 7777))")?;
        ensure!(answer.contains("encPermanentKey"), "{answer}");
        let gnb = gnb().await?;
        registration_cycle(&ue(&gnb, 1)?).await?;
        gnb.shutdown().await;
        core.stop()?;
        let log = std::fs::read_to_string(site.0.join("core.log"))?;
        let warnings = log.matches("SBI over TCP without certificates").count();
        ensure!(warnings == 1, "{warnings} warnings: {log}");
        ensure!(log.contains("every user of this machine"), "{log}");
        Ok(())
    });
}

/// A function in a process of its own shares the folder of its configuration, and refuses to start
/// where another user could listen in place of others.
#[test]
fn a_folder_that_others_can_enter_is_refused() {
    in_namespace(|| async {
        let site = Site::new("sbi-folder")?;
        let folder = site.0.join("sbi");
        std::fs::create_dir(&folder)?;
        std::os::unix::fs::chown(&folder, Some(UNPRIVILEGED), Some(UNPRIVILEGED))?;
        let output = Command::new(MARTLET)
            .args(["nf", "nrf", "-c"])
            .arg(site.config())
            .output()
            .context("martlet nf")?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let text = text + &String::from_utf8_lossy(&output.stdout);
        ensure!(!output.status.success(), "{text}");
        ensure!(text.contains("has owner 65534"), "{text}");
        Ok(())
    });
}
