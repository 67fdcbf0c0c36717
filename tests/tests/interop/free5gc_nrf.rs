//! free5GC's NRF with all other functions of Martlet.
use crate::external_program::ExternalProgram;
use crate::free5gc::{Function, core_without, registered_ue, session};
use crate::mongodb;
use anyhow::{Result, ensure};
use martlet::config::Config;
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, reaches};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub const NRF: Function = Function {
    name: "nrf",
    version: "1.0.2",
    address: "127.0.0.10",
    port: 7777,
    settings: r#"
  MongoDBName: free5gc
  MongoDBUrl: mongodb://127.0.0.24:27017
  DefaultPlmnId: { mcc: "001", mnc: "01" }
  serviceNameList: [nnrf-nfm, nnrf-disc]
"#,
};

/// What Martlet's functions request of it.
pub const SENT: [&str; 3] =
    ["nnrf-nfm RegisterNFInstance", "nnrf-nfm CreateSubscription", "nnrf-disc SearchNFInstances"];

#[test]
fn free5gc_nrf_registers_and_discovers_the_functions() {
    // Built before the namespace exists, since modules may have to be downloaded.
    let Some(database) = mongodb::build() else { return };
    let Some(program) = NRF.build() else { return };
    in_namespace(move || run(database, program));
}

/// free5GC's NRF with its database, and the functions of a core that are registered with it.
pub struct CoreOfNrf {
    pub core: TestCore,
    /// The folder of the NRF, which ends with it.
    pub folder: PathBuf,
    nrf: ExternalProgram,
    database: ExternalProgram,
}

impl CoreOfNrf {
    /// Starts the programs `database` and NRF, and then the core, and waits until all functions are
    /// registered. `sbi` is what the NRF's configuration has more in `sbi`, after a comma. `change`
    /// gets the configuration of the core and the folder of the NRF.
    pub async fn start(
        database: &Path,
        program: &Path,
        sbi: &str,
        change: impl FnOnce(&mut Config, &Path),
    ) -> Result<Self> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("martlet-free5gc-nrf-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder)?;
        let database = mongodb::start(database, &folder).await?;
        let nrf = NRF.start_with(program, &folder, sbi, "")?;
        let listens = || std::net::TcpStream::connect((NRF.address, NRF.port)).ok().map(|_| ());
        eventually("free5GC's NRF listens", listens, || nrf.output()).await?;

        let core = core_without("nrf", |config| change(config, &folder)).await?;
        let ready = core.core.ready_source();
        let registered = || ready().is_ok().then_some(());
        eventually("all functions are registered", registered, || nrf.output()).await?;
        Ok(CoreOfNrf { core, folder, nrf, database })
    }

    /// Stops the programs and removes their folder.
    pub async fn stop(self) -> Result<()> {
        self.nrf.stop().await?;
        self.database.stop().await?;
        Ok(std::fs::remove_dir_all(self.folder)?)
    }
}

async fn run(database: PathBuf, program: PathBuf) -> Result<()> {
    let started = CoreOfNrf::start(&database, &program, "", |_, _| {}).await?;
    let core = &started.core;
    let (_radio, ue) = registered_ue(core, |_| {}).await?;
    let session = ue.establish_pdu_session(session()).await?;
    reaches(&ue, session.psi, GATEWAY).await?;
    ue.release_pdu_session(session.psi).await?;
    ue.deregister().await?;
    core.until_all_released().await?;
    core.sbi_record.check_sent(&SENT).await?;

    // Its deviations are shown, see `docs/interop.md`.
    let quirks = core.status("udm")["quirks"].to_string();
    ensure!(quirks.contains("typed_instance_list"), "{quirks}");
    started.stop().await
}
