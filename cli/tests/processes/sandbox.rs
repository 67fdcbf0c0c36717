//! The rights of the core's processes: what each has, that it suffices for procedures of every
//! kind, and what an attacker finds who runs code inside the AMF.
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_lcs_channel::{Kind, Trust};
use martlet_ran::radio_environment::Cell;
use martlet_ran::{
    Gnb, Netns, OperatorKey, PduSessionRequest, Positioning, PositioningConfig, RadioEnvironment,
    UeConfig,
};
use martlet_tests::{GATEWAY, in_namespace, ping, reaches, sequence_of, unique_namespace};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::Duration;

/// A user that no machine has.
const USER: u32 = 54_321;

/// The first of the functions' users.
const FUNCTION_USERS: u32 = 60_900;

/// The user of a function.
fn user_of(name: &str) -> u32 {
    let position = martlet::config::PROCESSES.iter().position(|process| *process == name);
    FUNCTION_USERS + position.expect("a function") as u32
}

/// A site whose processes become other users, with the text added to its configuration.
fn site(name: &str, more: &str) -> Result<Site> {
    let site = Site::new(name)?;
    let mut config = std::fs::OpenOptions::new().append(true).open(site.config())?;
    writeln!(config, "{more}")?;
    std::os::unix::fs::chown(&site.0, Some(USER), Some(USER))?;
    Ok(site)
}

/// The fields of `/proc/PID/status`.
fn proc_status(pid: u32) -> Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    Ok(fields.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect())
}

fn function(core: &CoreProcess, name: &str) -> Result<u32> {
    core.process_of(&format!("nf {name} ")).with_context(|| format!("{name} has no process"))
}

/// The capabilities of all threads of a process together.
fn capabilities(pid: u32) -> Result<u64> {
    let mut all = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = std::fs::read_to_string(thread?.path().join("status")).unwrap_or_default();
        for line in status.lines().filter(|line| {
            ["CapEff", "CapPrm", "CapInh", "CapAmb"].iter().any(|set| line.starts_with(set))
        }) {
            let bits = line.split_whitespace().nth(1).unwrap_or_default();
            all |= u64::from_str_radix(bits, 16)?;
        }
    }
    Ok(all)
}

const NET_ADMIN: u64 = 1 << 12;
const NET_RAW: u64 = 1 << 13;

/// Every thread of a function has its rights and no others.
fn check_rights(core: &CoreProcess) -> Result<()> {
    for name in ["nrf", "udr", "udm", "ausf", "pcf", "nssf", "smf", "amf", "lmf", "upf"] {
        let pid = function(core, name)?;
        let allowed = if name == "upf" { NET_ADMIN | NET_RAW } else { 0 };
        let held = capabilities(pid)?;
        ensure!(held & !allowed == 0, "{name} has capabilities {held:x}");
        let status = proc_status(pid)?;
        let of = |field: &str| status.get(field).map(String::as_str).unwrap_or_default();
        let uids: Vec<_> = of("Uid").split_whitespace().map(str::to_owned).collect();
        ensure!(uids == vec![user_of(name).to_string(); 4], "{name} runs as {uids:?}");
        ensure!(of("Groups") == USER.to_string(), "{name} is in the groups {:?}", of("Groups"));
        ensure!(of("NoNewPrivs") == "1", "{name}: {status:?}");
        ensure!(of("Seccomp") == "2", "{name} has no filter: {status:?}");
        let limits = std::fs::read_to_string(format!("/proc/{pid}/limits"))?;
        let core_size = limits.lines().find(|line| line.starts_with("Max core file size"));
        let words: Vec<_> = core_size.unwrap_or_default().split_whitespace().collect();
        ensure!(words.get(4) == Some(&"0"), "{name} may dump its memory: {words:?}");
    }
    Ok(())
}

/// The capabilities that a process can ever have.
fn bounding_set(pid: u32) -> Result<u64> {
    let status = proc_status(pid)?;
    Ok(u64::from_str_radix(status.get("CapBnd").context("CapBnd")?, 16)?)
}

#[test]
fn the_amf_process_never_has_net_raw() {
    in_namespace(|| async {
        let site = site("sandbox-raw", &format!("security: {{ user: \"{USER}\" }}"))?;
        // SCTP in user space, which needs a raw socket.
        let mut config = std::fs::OpenOptions::new().append(true).open(site.config())?;
        writeln!(config, "amf: {{ n2: {{ stack: usrsctp }} }}")?;
        let core = site.start(&["--split"])?;
        let amf = function(&core, "amf")?;
        let gnb = gnb_at(1, "127.0.0.5:38412").await?;
        registration_cycle(&ue(&gnb, 1)?).await?;
        gnb.shutdown().await;
        ensure!(bounding_set(amf)? & NET_RAW == 0, "{:x}", bounding_set(amf)?);
        // The AMF that the supervisor starts again has its raw socket, too, and no right to others.
        kill(&core, "amf")?;
        until(&core, "amf", "the AMF runs again", |_| {
            core.process_of("nf amf ").is_some_and(|pid| pid != amf)
        })
        .await?;
        let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
        let gnb = loop {
            match gnb_at(3, "127.0.0.5:38412").await {
                Ok(gnb) => break gnb,
                Err(error) => ensure!(tokio::time::Instant::now() < give_up, "{error:#}"),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        registration_cycle(&ue(&gnb, 1)?).await?;
        gnb.shutdown().await;
        let amf = function(&core, "amf")?;
        ensure!(bounding_set(amf)? & NET_RAW == 0, "{:x}", bounding_set(amf)?);
        core.stop()
    });
}

/// What a UE does in a day, at two gNBs.
async fn procedures(core: &CoreProcess, site: &Site) -> Result<()> {
    let (first, second) = (
        Gnb::connect(gnb_config(1, "127.0.0.5:38412")?).await?,
        gnb_at(2, "127.0.0.5:38412").await?,
    );
    registration_cycle(&ue(&first, 1)?).await?;
    let (one, two) = (ue(&first, 1)?, ue(&first, 2)?);
    let internet =
        || PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
    let mut addresses = Vec::new();
    for ue in [&one, &two] {
        ue.register().await?;
        addresses.push(ue.establish_pdu_session(internet()).await?.ipv4.context("an address")?);
    }
    reaches(&one, 1, GATEWAY).await?;
    // Downlink data page an idle UE.
    two.release_to_idle().await?;
    one.send_ip(1, ping(addresses[0], addresses[1], 7)).await?;
    let (_, packet) = two.recv_ip().await?;
    ensure!(sequence_of(&packet) == Some(7), "{packet:02x?}");
    one.handover_to(&second).await?;
    one.xn_handover_to(&first).await?;
    reaches(&one, 1, GATEWAY).await?;
    two.release_to_idle().await?;
    two.service_request().await?;
    reaches(&two, 1, GATEWAY).await?;
    locate(&first, site).await?;
    deregister_all(core, &[&one, &two]).await?;
    first.shutdown().await;
    second.shutdown().await;
    Ok(())
}

/// Locates a UE over the user plane (LCS-UPP).
async fn locate(gnb: &Gnb, site: &Site) -> Result<()> {
    let at = martlet_lcs_position::GeoPoint { lat: 54.0924, lon: 12.0991 };
    let key = |text: &str| <[u8; 16]>::try_from(hex::decode(text).unwrap_or_default()).ok();
    let (k, opc) = (key(KEY).context("K")?, key(OPC).context("OPc")?);
    site.subscribe(3, 1)?;
    let mut config = UeConfig::new("001010000000003", 2, k, OperatorKey::Opc(opc))?;
    (config.lpp, config.lcs_upp) = (true, true);
    let ue = gnb.new_ue_in(config, Netns::Named(unique_namespace("ue")))?;
    ue.register().await?;
    let internet = PduSessionRequest { dnn: Some("internet".into()), ..Default::default() };
    ue.establish_pdu_session(internet).await?;
    let cell = Cell { identity: 1 << 12 | 1, pci: 1, arfcn: 640_000, position: at };
    let plmn = martlet_security::Plmn::new("001", "01")?;
    let roots = std::fs::read_to_string(site.0.join("lmf.pem"))?;
    let positioning = PositioningConfig {
        port: 9127,
        trust: Trust { roots, name: GATEWAY.to_string() },
        channels: vec![Kind::Rustls],
        timeout: Duration::from_secs(10),
        keep_alive: Duration::ZERO,
        mtu: 1400,
        environment: RadioEnvironment::at(at, plmn, vec![cell], Default::default()),
        truth: None,
    };
    let _positioning = Positioning::start(&ue, positioning).await?;
    let config = site.config();
    let located = tokio::task::spawn_blocking(move || {
        Command::new(MARTLET)
            .args(["locate", "imsi-001010000000003", "--json", "-c"])
            .arg(config)
            .output()
    });
    let located = located.await??;
    let text = String::from_utf8_lossy(&located.stdout);
    ensure!(located.status.success(), "{text} {}", String::from_utf8_lossy(&located.stderr));
    ensure!(text.contains("TLS over TCP"), "not located over the user plane: {text}");
    ue.deregister().await?;
    Ok(())
}

/// The LMF offers positioning over the user plane, with one known cell.
fn positioning(site: &Site) -> String {
    format!(
        "lmf: {{ user_plane: {{ address: {GATEWAY}, write_certificate: {:?} }}, cells: [{{ \
         nr_cell_id: \"000001001\", pci: 1, lat: 54.0924, lon: 12.0991, radius_m: 500 }}] }}",
        site.0.join("lmf.pem")
    )
}

#[test]
fn a_split_core_with_reduced_rights_serves_procedures_of_every_kind() {
    in_namespace(|| async {
        let site = site("sandbox", &format!("security: {{ user: \"{USER}\" }}"))?;
        let mut config = std::fs::OpenOptions::new().append(true).open(site.config())?;
        writeln!(config, "{}", positioning(&site))?;
        let pcap = site.0.join("core.pcapng");
        let core = site.start(&["--split", "--pcap", &pcap.display().to_string()])?;
        check_rights(&core)?;
        procedures(&core, &site).await?;

        // Reloading, restarting and recording work for another user, too.
        let hangup = nix::sys::signal::Signal::SIGHUP;
        let api = core.process_of("nf oam").context("the API has a process")?;
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(core.id() as i32), hangup)?;
        let amf = kill(&core, "amf")?;
        until(&core, "amf", "the AMF runs again", |_| {
            core.process_of("nf amf ").is_some_and(|pid| pid != amf)
        })
        .await?;
        let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
        while check_rights(&core).is_err() {
            ensure!(tokio::time::Instant::now() < give_up, "{:?}", check_rights(&core));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        ensure!(core.process_of("nf oam") == Some(api), "a reload ends the process of the API");
        // Not the first gNB: its sockets may still be closing.
        let gnb = gnb_at(3, "127.0.0.5:38412").await?;
        registration_cycle(&ue(&gnb, 2)?).await?;
        gnb.shutdown().await;
        ensure!(std::fs::metadata(&pcap)?.len() > 10_000, "the capture is empty");
        let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
        let text = loop {
            let mut shown = Command::new(MARTLET);
            let shown = shown.args(["status", "--security", "-c"]).arg(site.config()).output()?;
            let text = String::from_utf8_lossy(&shown.stdout).into_owned();
            ensure!(shown.status.success(), "{text} {}", String::from_utf8_lossy(&shown.stderr));
            // A function that was just restarted has not answered the supervisor yet.
            let processes = ["supervisor", "fork server", "amf", "upf", "oam"];
            let missing = processes.iter().find(|name| !text.contains(**name));
            let Some(missing) = missing else { break text };
            ensure!(tokio::time::Instant::now() < give_up, "{missing}: {text}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let user = user_of("upf").to_string();
        ensure!(text.contains(&user) && text.contains("NET_ADMIN"), "{text}");
        let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        ensure!(row("oam").contains(&USER.to_string()) && row("oam").contains(" kill "), "{text}");
        ensure!(row("fork server").contains("SETUID"), "{text}");
        core.stop()?;
        let log = std::fs::read_to_string(site.0.join("core.log"))?;
        ensure!(!log.contains("keeps rights"), "{log}");
        Ok(())
    });
}

/// The API copies the databases of functions that have other users, and reads their histories.
#[test]
fn the_api_of_a_core_with_a_user_for_each_function_copies_databases_and_reads_histories() {
    in_namespace(|| async {
        let site = site("sandbox-api", &format!("security: {{ user: \"{USER}\" }}"))?;
        let config = std::fs::read_to_string(site.config())?;
        let config = config.replace("oam: {", "oam: { api: { enabled: true },");
        std::fs::write(site.config(), config)?;
        let core = site.start(&["--split"])?;
        let gnb = gnb().await?;
        let ue = ue(&gnb, 1)?;
        ue.register().await?;
        let run = |arguments: &[&str]| -> Result<String> {
            let command =
                Command::new(MARTLET).args(arguments).arg("-c").arg(site.config()).output()?;
            let errors = String::from_utf8_lossy(&command.stderr);
            ensure!(command.status.success(), "{arguments:?}: {errors}");
            ensure!(!errors.contains("the core did not make the backup"), "{errors}");
            Ok(String::from_utf8_lossy(&command.stdout).into_owned())
        };
        let folder = site.0.join("backup").display().to_string();
        let made = run(&["backup", &folder])?;
        for name in ["subscribers.db", "amf.db", "smf.db"] {
            let file = site.0.join("backup").join(name);
            ensure!(std::fs::metadata(&file)?.len() > 0, "{name}: {made}");
        }
        let events = site.0.join("martlet.amf.history");
        let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
        while std::fs::metadata(&events)?.len() == 0 {
            ensure!(tokio::time::Instant::now() < give_up, "the AMF wrote no history");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let groups = proc_status(function(&core, "oam")?)?["Groups"].clone();
        let (group, mode) = (events.metadata()?.gid(), events.metadata()?.mode() & 0o777);
        ensure!(groups.split_whitespace().any(|one| one == group.to_string()), "{groups}");
        ensure!((group, mode) == (user_of("amf"), 0o640), "{group} {mode:o}");
        ue.deregister().await?;
        gnb.shutdown().await;
        core.stop()
    });
}

#[test]
fn one_process_with_reduced_rights_serves_procedures_of_every_kind() {
    in_namespace(|| async {
        let site = site("sandbox-one", &format!("security: {{ user: \"{USER}\" }}"))?;
        let mut config = std::fs::OpenOptions::new().append(true).open(site.config())?;
        writeln!(config, "{}", positioning(&site))?;
        let core = site.start(&[])?;
        let held = capabilities(core.id())?;
        ensure!(held & !(NET_ADMIN | NET_RAW) == 0, "capabilities {held:x}");
        let status = proc_status(core.id())?;
        ensure!(status["Seccomp"] == "2" && status["NoNewPrivs"] == "1", "{status:?}");
        ensure!(status["Uid"].starts_with(&USER.to_string()), "{status:?}");
        procedures(&core, &site).await?;
        core.stop()
    });
}

#[test]
fn without_another_user_the_core_starts_with_one_warning_for_each_process() {
    in_namespace(|| async {
        // The folder of the database is root's, and has files of others.
        let site = site("sandbox-root", &format!("security: {{ user: \"{USER}\" }}"))?;
        std::os::unix::fs::chown(&site.0, Some(0), Some(0))?;
        std::fs::write(site.0.join("other"), "x")?;
        let core = site.start(&["--split"])?;
        let amf = function(&core, "amf")?;
        ensure!(proc_status(amf)?["Uid"].starts_with('0'), "the AMF gave up root");
        ensure!(capabilities(amf)? == 0, "root without capabilities");
        // Not the first gNB: its sockets may still be closing.
        let gnb = gnb_at(3, "127.0.0.5:38412").await?;
        registration_cycle(&ue(&gnb, 1)?).await?;
        gnb.shutdown().await;
        core.stop()?;
        let log = std::fs::read_to_string(site.0.join("core.log"))?;
        ensure!(log.contains("is not writable for the core's user"), "{log}");
        let command = format!("run `chown {USER} {}`", site.0.display());
        ensure!(log.contains(&command), "{command}: {log}");
        Ok(())
    });
}

#[cfg(target_arch = "x86_64")]
mod attack {
    use super::*;
    use crate::remote_call::Attacker;

    const EACCES: i64 = -13;
    const EPERM: i64 = -1;

    fn as_attacker(mode: &'static str, attack: fn(&mut Attacker) -> Result<()>) {
        in_namespace(move || async move {
            let site = site(
                &format!("attack-{mode}-{:?}", std::thread::current().id())
                    .replace(['(', ')'], "-"),
                &format!("security: {{ user: \"{USER}\", seccomp: {mode} }}"),
            )?;
            std::fs::write(site.0.join("operator.secret"), "x")?;
            let core = site.start(&["--split"])?;
            let amf = function(&core, "amf")?;
            let mut attacker = Attacker::inside(amf)?;
            let outcome = attack(&mut attacker);
            drop(attacker);
            outcome?;
            if mode == "errno" {
                // The AMF continues to serve.
                ensure!(function(&core, "amf")? == amf, "the AMF has ended");
            } else {
                let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
                while core.process_of("nf amf ").is_none_or(|pid| pid == amf) {
                    ensure!(tokio::time::Instant::now() < give_up, "the AMF was not killed");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
            let gnb = loop {
                match gnb().await {
                    Ok(gnb) => break gnb,
                    Err(error) => ensure!(tokio::time::Instant::now() < give_up, "{error:#}"),
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            };
            registration_cycle(&ue(&gnb, 1)?).await?;
            gnb.shutdown().await;
            core.stop()
        });
    }

    #[test]
    fn attack_from_inside_the_amf_process_makes_no_forbidden_system_call() {
        as_attacker("errno", |amf| {
            let calls = [
                ("execve", libc::SYS_execve),
                ("execveat", libc::SYS_execveat),
                ("ptrace", libc::SYS_ptrace),
                ("process_vm_readv", libc::SYS_process_vm_readv),
                ("process_vm_writev", libc::SYS_process_vm_writev),
                ("bpf", libc::SYS_bpf),
                ("perf_event_open", libc::SYS_perf_event_open),
                ("mount", libc::SYS_mount),
                ("unshare", libc::SYS_unshare),
                ("setns", libc::SYS_setns),
                ("init_module", libc::SYS_init_module),
                ("finit_module", libc::SYS_finit_module),
                ("setuid", libc::SYS_setuid),
                ("setresuid", libc::SYS_setresuid),
                ("keyctl", libc::SYS_keyctl),
                ("io_uring_setup", libc::SYS_io_uring_setup),
                ("userfaultfd", libc::SYS_userfaultfd),
                ("kill", libc::SYS_kill),
                ("fork", libc::SYS_fork),
                ("vfork", libc::SYS_vfork),
                ("chroot", libc::SYS_chroot),
                ("pidfd_getfd", libc::SYS_pidfd_getfd),
                ("reboot", libc::SYS_reboot),
            ];
            for (name, number) in calls {
                let result = amf.call(number, [0; 6])?;
                ensure!(result == EPERM, "{name} returned {result}");
            }
            let packet = [libc::AF_PACKET as u64, libc::SOCK_RAW as u64, 0, 0, 0, 0];
            ensure!(amf.call(libc::SYS_socket, packet)? == EPERM, "a packet socket was opened");
            let raw = [libc::AF_INET as u64, libc::SOCK_RAW as u64, 132, 0, 0, 0];
            ensure!(amf.call(libc::SYS_socket, raw)? == EPERM, "a raw socket was opened");
            let namespace = [libc::CLONE_NEWUSER as u64, 0, 0, 0, 0, 0];
            ensure!(amf.call(libc::SYS_clone, namespace)? == EPERM, "a namespace was made");
            let executable = (libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) as u64;
            let private = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
            let mapped = amf.call(libc::SYS_mmap, [0, 4096, executable, private, u64::MAX, 0])?;
            ensure!(mapped == EACCES, "executable memory was mapped: {mapped:x}");
            Ok(())
        });
    }

    #[test]
    fn attack_from_inside_the_amf_process_opens_no_file_outside() {
        as_attacker("errno", |amf| {
            let (read, write) = (libc::O_RDONLY, libc::O_WRONLY | libc::O_CREAT);
            let outside =
                [("/etc/shadow", read), ("/root/.ssh", read), ("/usr/bin/planted", write)];
            for (path, flags) in outside {
                let result = amf.open(path, flags)?;
                ensure!(result < 0, "{path} was opened");
            }
            if !martlet_sandbox::has_landlock() {
                martlet_tests::skip("files that every user may read: the kernel has no Landlock");
                return Ok(());
            }
            // What every user may read and write is closed, too.
            for (path, flags) in [
                ("/etc/passwd", read),
                ("/usr/bin/env", read),
                ("/tmp/martlet-planted", write),
                ("/dev/shm/martlet-planted", write),
            ] {
                let result = amf.open(path, flags)?;
                ensure!(result == EACCES, "{path}: {result}");
            }
            Ok(())
        });
    }

    #[test]
    fn attack_from_inside_the_amf_process_opens_no_database_of_other_functions() {
        in_namespace(|| async {
            let settings = format!("security: {{ user: \"{USER}\", seccomp: errno }}");
            let site = site("attack-databases", &settings)?;
            let core = site.start(&["--split", "--sbi", "http"])?;
            let mut attacker = Attacker::inside(function(&core, "amf")?)?;
            let (read, write) = (libc::O_RDONLY, libc::O_RDWR);
            let path = |name: &str| site.0.join(name).display().to_string();
            let own = path("martlet.amf.db");
            ensure!(attacker.open(&own, write)? >= 0, "the AMF's own database");
            let others = [
                "martlet.db",
                "martlet.db-wal",
                "operator.key",
                "martlet.smf.db",
                "martlet.smf.db-wal",
                "martlet.nrf.db",
                "martlet.smf.history",
            ];
            for name in others {
                ensure!(std::path::Path::new(&path(name)).exists(), "{name} is missing");
                for flags in [read, write] {
                    let result = attacker.open(&path(name), flags)?;
                    ensure!(result == EACCES, "{name} returned {result}");
                }
            }
            // Nor does it replace them, or listen in place of another function.
            let socket = |name: &str| site.0.join("sbi").join(name).display().to_string();
            let sockets = std::fs::read_dir(site.0.join("sbi"))?.flatten();
            let foreign = sockets.filter(|entry| {
                entry.metadata().is_ok_and(|status| status.uid() != user_of("amf"))
            });
            let mut targets: Vec<_> =
                foreign.map(|entry| socket(&entry.file_name().to_string_lossy())).collect();
            ensure!(targets.len() >= 8, "{targets:?}");
            targets.extend(["martlet.db", "martlet.smf.db"].map(path));
            for target in targets {
                let result = attacker.unlink(&target)?;
                ensure!(result == EPERM, "unlink of {target} returned {result}");
            }
            // SQLite would write a planted journal into the database when that is opened next.
            let journal = path("martlet.smf.db-journal");
            let result = attacker.open(&journal, libc::O_WRONLY | libc::O_CREAT)?;
            drop(attacker);
            let was_planted = result >= 0;
            let killed = kill(&core, "smf")?;
            until(&core, "smf", "the SMF runs again", |_| {
                core.process_of("nf smf ").is_some_and(|pid| pid != killed)
            })
            .await?;
            let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
            let is_planted =
                || std::fs::metadata(&journal).is_ok_and(|status| status.uid() == user_of("amf"));
            while is_planted() {
                ensure!(tokio::time::Instant::now() < give_up, "planted: {was_planted}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let gnb = gnb().await?;
            while let Err(error) = registration_cycle(&ue(&gnb, 1)?).await {
                ensure!(tokio::time::Instant::now() < give_up, "{error:#}");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            gnb.shutdown().await;
            core.stop()
        });
    }

    #[test]
    fn attack_from_inside_the_supervisor_makes_no_forbidden_system_call() {
        in_namespace(|| async {
            let site = site("attack-supervisor", &format!("security: {{ user: \"{USER}\" }}"))?;
            let core = site.start(&["--split"])?;
            let status = proc_status(core.id())?;
            ensure!(status["Seccomp"] == "2" && status["NoNewPrivs"] == "1", "{status:?}");
            // It remains root, so only the filter refuses these.
            ensure!(status["Uid"].starts_with('0'), "{status:?}");
            let mut attacker = Attacker::inside(core.id())?;
            for (name, number) in [
                ("ptrace", libc::SYS_ptrace),
                ("process_vm_readv", libc::SYS_process_vm_readv),
                ("process_vm_writev", libc::SYS_process_vm_writev),
                ("pidfd_getfd", libc::SYS_pidfd_getfd),
                ("mount", libc::SYS_mount),
                ("pivot_root", libc::SYS_pivot_root),
                ("chroot", libc::SYS_chroot),
                ("unshare", libc::SYS_unshare),
                ("init_module", libc::SYS_init_module),
                ("finit_module", libc::SYS_finit_module),
                ("kexec_load", libc::SYS_kexec_load),
                ("keyctl", libc::SYS_keyctl),
                ("io_uring_setup", libc::SYS_io_uring_setup),
                ("userfaultfd", libc::SYS_userfaultfd),
                ("open_by_handle_at", libc::SYS_open_by_handle_at),
                ("reboot", libc::SYS_reboot),
            ] {
                let result = attacker.call(number, [0; 6])?;
                ensure!(result == EPERM, "{name} returned {result}");
            }
            drop(attacker);
            // A function that starts again under the inherited filter has its own rights.
            for name in ["amf", "upf"] {
                let killed = kill(&core, name)?;
                until(&core, name, "the function runs again", |_| {
                    core.process_of(&format!("nf {name} ")).is_some_and(|pid| pid != killed)
                })
                .await?;
            }
            let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
            while check_rights(&core).is_err() {
                ensure!(tokio::time::Instant::now() < give_up, "{:?}", check_rights(&core));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            let gnb = gnb_at(3, "127.0.0.5:38412").await?;
            // The SMF has to find out that the UPF has restarted.
            while let Err(error) = registration_cycle(&ue(&gnb, 1)?).await {
                ensure!(tokio::time::Instant::now() < give_up, "{error:#}");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            gnb.shutdown().await;
            core.stop()
        });
    }

    #[test]
    fn attack_from_inside_the_amf_process_ends_it_at_the_first_forbidden_call() {
        as_attacker("kill", |amf| {
            let outcome = amf.call(libc::SYS_execve, [0; 6]);
            ensure!(outcome.is_err(), "execve returned {outcome:?}");
            Ok(())
        });
    }
}

#[test]
fn the_systemd_unit_is_exposed_at_most_2_0() {
    if !martlet_tests::is_installed("systemd-analyze") {
        return;
    }
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/systemd");
    let mut units = 0;
    for unit in std::fs::read_dir(folder).expect("deploy/systemd").flatten() {
        let path = unit.path();
        if path.extension().is_none_or(|kind| kind != "service") {
            continue;
        }
        units += 1;
        let analysed = Command::new("systemd-analyze")
            .args(["security", "--offline=true", "--no-pager", "--threshold=20"])
            .arg(&path)
            .output()
            .expect("systemd-analyze runs");
        let text = String::from_utf8_lossy(&analysed.stdout);
        let errors = String::from_utf8_lossy(&analysed.stderr);
        assert!(analysed.status.success(), "{} {text} {errors}", path.display());
    }
    assert!(units > 0, "no unit was found");
}

/// systemd would refuse a socket that the UPF's own filter permits.
#[test]
fn the_systemd_settings_for_xdp_permit_the_sockets_of_the_upf() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |file: &str| std::fs::read_to_string(root.join(file)).expect(file);
    let filter = read("sandbox/filters/upf.txt");
    let families = filter.lines().find_map(|line| line.strip_prefix("socket 0 = "));
    let settings = read("deploy/systemd/xdp.conf");
    let permitted: Vec<&str> = settings
        .lines()
        .filter_map(|line| line.strip_prefix("RestrictAddressFamilies="))
        .flat_map(str::split_whitespace)
        .collect();
    for family in families.expect("sockets of the UPF").split('|') {
        let name = match family.trim().parse::<i32>() {
            Ok(libc::AF_PACKET) => "AF_PACKET",
            Ok(libc::AF_XDP) => "AF_XDP",
            _ => panic!("{family}: write its name here"),
        };
        assert!(permitted.contains(&name), "{name} is not in {settings}");
    }
}
