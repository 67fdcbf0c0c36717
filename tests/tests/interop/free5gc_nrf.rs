//! free5GC's NRF with all other functions of Martlet.
use crate::free5gc::{Function, core_without, registered_ue, session};
use crate::mongodb;
use anyhow::{Result, ensure};
use martlet_tests::{GATEWAY, eventually, in_namespace, reaches};
use std::path::PathBuf;

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

async fn run(database: PathBuf, program: PathBuf) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("martlet-free5gc-nrf-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let database = mongodb::start(&database, &folder).await?;
    let nrf = NRF.start(&program, &folder)?;
    let listens = || std::net::TcpStream::connect((NRF.address, NRF.port)).ok().map(|_| ());
    eventually("free5GC's NRF listens", listens, || nrf.output()).await?;

    let core = core_without("nrf", |_| {}).await?;
    let ready = core.core.ready_source();
    let registered = || ready().is_ok().then_some(());
    eventually("all functions are registered", registered, || nrf.output()).await?;
    let (_radio, ue) = registered_ue(&core, |_| {}).await?;
    let session = ue.establish_pdu_session(session()).await?;
    reaches(&ue, session.psi, GATEWAY).await?;
    ue.release_pdu_session(session.psi).await?;
    ue.deregister().await?;
    core.until_all_released().await?;
    core.sbi_record.check_sent(&SENT).await?;

    // Its deviations are shown, see `docs/interop.md`.
    let quirks = core.status("udm")["quirks"].to_string();
    ensure!(quirks.contains("typed_instance_list"), "{quirks}");
    nrf.stop().await?;
    database.stop().await?;
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
