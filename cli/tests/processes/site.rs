//! A folder with configuration and subscribers, the core that runs there, and UEs for it.
use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_ran::{Gnb, GnbConfig, OperatorKey, PduSessionRequest, Ue, UeConfig};
use martlet_security::Plmn;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub const MARTLET: &str = env!("CARGO_BIN_EXE_martlet");
pub const KEY: &str = "465b5ce8b199b49faa5f0a2ee238a6bc";
pub const OPC: &str = "cd63cb71954a9f4e48a5994e37a02baf";

/// `martlet-ran`, which `martlet ran` runs.
///
/// # Panics
/// It is not built: a build of the tests of this package alone does not build it.
pub fn simulator() -> PathBuf {
    let program = Path::new(MARTLET).with_file_name("martlet-ran");
    let build = "build it with `cargo build -p martlet-ran`, or test with --workspace";
    assert!(program.is_file(), "{} is missing: {build}", program.display());
    program
}

/// A folder with a configuration and two subscribers, which the program added.
pub struct Site(pub PathBuf);

impl Site {
    pub fn new(name: &str) -> Result<Site> {
        Site::on(name, None)
    }

    /// With a PostgreSQL database if one is named.
    pub fn on(name: &str, database: Option<&str>) -> Result<Site> {
        let folder = std::env::temp_dir().join(format!("martlet-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let site = Site(folder);
        std::fs::write(
            site.config(),
            format!(
                "fabric: {{ socket: {:?} }}\nudr: {{ path: {:?}, key_file: {:?} }}\noam: {{ \
                 history: {{ path: {:?} }} }}\n",
                site.0.join("sbi.sock"),
                database.map_or(site.0.join("martlet.db"), PathBuf::from),
                site.0.join("operator.key"),
                site.0.join("martlet.history")
            ),
        )?;
        site.subscribe(1, 2)?;
        Ok(site)
    }

    /// Adds subscribers, starting with this number.
    pub fn subscribe(&self, first: u64, count: u64) -> Result<()> {
        let (config, count) = (self.config().display().to_string(), count.to_string());
        let imsi = format!("imsi-{:015}", 1_010_000_000_000 + first);
        let add = [
            "subscriber",
            "add",
            "-c",
            &config,
            &imsi,
            "--key",
            KEY,
            "--opc",
            OPC,
            "--count",
            &count,
        ];
        let added = Command::new(MARTLET).args(add).output()?;
        ensure!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
        Ok(())
    }

    pub fn config(&self) -> PathBuf {
        self.0.join("martlet.yaml")
    }

    /// The OAM socket of the core: beside that of the fabric.
    pub fn oam(&self) -> PathBuf {
        self.0.join("oam.sock")
    }

    /// The program; under strace(1) where `MARTLET_TEST_STRACE` names a folder for its output, see
    /// `sandbox/profile.py`.
    fn program(&self, arguments: &[&str]) -> Result<PathBuf> {
        let (Some(folder), true) =
            (std::env::var_os("MARTLET_TEST_STRACE"), arguments.contains(&"--split"))
        else {
            return Ok(MARTLET.into());
        };
        let mut config = std::fs::read_to_string(self.config())?;
        if !config.contains("security:") {
            config += "security: { seccomp: log }\n";
        }
        std::fs::write(self.config(), config.replace("seccomp: kill", "seccomp: log"))?;
        let name = self.0.file_name().context("a folder")?.to_string_lossy().into_owned();
        let output = Path::new(&folder).join(name);
        let script = self.0.join("traced");
        let run = "exec strace -D -f -ttt -qq -s 100 -o";
        std::fs::write(&script, format!("#!/bin/sh\n{run} {output:?} {MARTLET:?} \"$@\"\n"))?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&script, mode)?;
        Ok(script)
    }

    pub fn start(&self, arguments: &[&str]) -> Result<CoreProcess> {
        let program = self.program(arguments)?;
        let core =
            CoreProcess::start(&program, &self.config(), &self.0, arguments, &self.oam(), 10)?;
        let give_up = std::time::Instant::now() + Duration::from_secs(60);
        while !core.status()?.to_string().contains("\"associated\":true") {
            ensure!(std::time::Instant::now() < give_up, "the SMF is not associated with the UPF");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(core)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // `MARTLET_CORE_LOG` sets the detail of the core's log.
        if std::env::var_os("MARTLET_TEST_KEEP").is_some() {
            return println!("{} is left", self.0.display());
        }
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub async fn gnb() -> Result<Gnb> {
    gnb_that_waits(1, Duration::from_secs(30)).await
}

/// A gNB by its number, whose UEs wait at most `longest` for the end of a procedure.
pub async fn gnb_that_waits(n: u8, longest: Duration) -> Result<Gnb> {
    Ok(Gnb::connect(GnbConfig { procedure_timeout: longest, ..gnb_config(n, "127.0.0.5:38412")? })
        .await?)
}

/// A gNB by its number, with the AMF at this address.
pub async fn gnb_at(n: u8, amf: &str) -> Result<Gnb> {
    Ok(Gnb::connect(gnb_config(n, amf)?).await?)
}

pub fn gnb_config(n: u8, amf: &str) -> Result<GnbConfig> {
    let mut config =
        GnbConfig::new(&format!("gnb-{n}"), Plmn::new("001", "01")?, n.into(), amf.parse()?);
    config.n2_local = Some([127, 0, 0, 19 + n].into());
    config.n3 = config.n2_local;
    Ok(config)
}

pub fn ue(gnb: &Gnb, n: u64) -> Result<Ue> {
    Ok(gnb.new_ue(ue_config(n)?)?)
}

/// The configuration of a UE by its number.
pub fn ue_config(n: u64) -> Result<UeConfig> {
    let key = |text: &str| <[u8; 16]>::try_from(hex::decode(text).unwrap_or_default()).ok();
    let (k, opc) = (key(KEY).context("K")?, key(OPC).context("OPc")?);
    let imsi = format!("{:015}", 1_010_000_000_000 + n);
    Ok(UeConfig::new(&imsi, 2, k, OperatorKey::Opc(opc))?)
}

/// Deregisters UEs and checks that no context of them is left.
pub async fn deregister_all(core: &CoreProcess, ues: &[&Ue]) -> Result<()> {
    for ue in ues {
        ue.deregister().await?;
    }
    until(core, "smf", "no context is left", |smf| smf["sessions"] == 0).await?;
    until(core, "upf", "no context is left", |upf| upf["sessionCount"] == 0).await
}

/// Registration, PDU session, service request after idle, release and deregistration.
pub async fn registration_cycle(ue: &Ue) -> Result<()> {
    ue.register().await?;
    let request =
        PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
    ue.establish_pdu_session(request).await?;
    ue.release_to_idle().await?;
    ue.service_request().await?;
    ue.release_pdu_session(1).await?;
    ue.deregister().await?;
    Ok(())
}

pub fn kill(core: &CoreProcess, name: &str) -> Result<u32> {
    let pid = core
        .process_of(&format!("nf {name}"))
        .with_context(|| format!("the {name} has a process"))?;
    kill_process(pid)?;
    Ok(pid)
}

pub fn kill_process(pid: u32) -> Result<()> {
    Ok(nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(pid as i32),
        nix::sys::signal::Signal::SIGKILL,
    )?)
}

/// The status of a function.
pub fn status_of(core: &CoreProcess, name: &str) -> serde_json::Value {
    let status = core.status().unwrap_or_default();
    let nfs = status["nfs"].as_array().cloned().unwrap_or_default();
    nfs.into_iter().find(|nf| nf["name"] == name).map(|nf| nf["status"].clone()).unwrap_or_default()
}

/// Waits until the status of a function satisfies a condition.
pub async fn until(
    core: &CoreProcess,
    name: &str,
    what: &str,
    is: impl Fn(&serde_json::Value) -> bool,
) -> Result<()> {
    let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
    while !is(&status_of(core, name)) {
        ensure!(tokio::time::Instant::now() < give_up, "{what}: {}", status_of(core, name));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Whether a function has stored its contexts.
pub fn has_stored(status: &serde_json::Value) -> bool {
    status["context_store"]["unwritten"] == 0
}

/// Waits until AMF and SMF have stored their contexts: one that is killed loses what it has changed
/// since.
pub async fn until_stored(core: &CoreProcess) -> Result<()> {
    // The last messages of UEs and gNBs may not have arrived.
    tokio::time::sleep(Duration::from_millis(300)).await;
    until(core, "amf", "the AMF has stored its contexts", has_stored).await?;
    until(core, "smf", "the SMF has stored its contexts", has_stored).await
}
