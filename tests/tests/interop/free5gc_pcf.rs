//! free5GC's PCF with Martlet's other functions: policies of a UE and of its session, and influence
//! of an application function on the session's traffic.
use crate::free5gc::{Function, core_without, registered_ue, session, start_beside};
use crate::mongodb;
use anyhow::{Context, Result, ensure};
use martlet_sbi::{ApiRoot, CallPolicy, Peer, Problem};
use martlet_sbi_api::nudr_dr::{TrafficInfluData, UdrDataRepositoryClient};
use martlet_sbi_http::{ClientLimits, HttpBinding};
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, reaches};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

pub const PCF: Function = Function {
    name: "pcf",
    version: "1.0.2",
    address: "127.0.0.23",
    port: 8000,
    settings: r#"
  timeFormat: 2019-01-02 15:04:05
  defaultBdtRefId: BdtPolicyId-
  serviceList:
    - { serviceName: npcf-am-policy-control }
    - { serviceName: npcf-smpolicycontrol, suppFeat: 3fff }
    - { serviceName: npcf-bdtpolicycontrol }
    - { serviceName: npcf-policyauthorization, suppFeat: 3 }
    - { serviceName: npcf-eventexposure }
    - { serviceName: npcf-ue-policy-control }
  locality: area1
"#,
};

/// What Martlet's functions request of it.
pub const SENT: [&str; 4] = [
    "npcf-am-policy-control CreateIndividualAMPolicyAssociation",
    "npcf-am-policy-control DeleteIndividualAMPolicyAssociation",
    "npcf-smpolicycontrol CreateSMPolicy",
    "npcf-smpolicycontrol DeleteSMPolicy",
];

#[test]
fn free5gc_pcf_decides_the_policies_of_a_ue_and_its_session() {
    // Built before the namespace exists, since modules may have to be downloaded.
    let Some(database) = mongodb::build() else { return };
    let Some(program) = PCF.build() else { return };
    in_namespace(move || run(database, program));
}

/// The UDR as a NEF calls it.
fn udr(core: &TestCore) -> UdrDataRepositoryClient {
    let binding = Arc::new(HttpBinding::new(ClientLimits::default()));
    let root = ApiRoot::http(core.config().sbi.udr.to_string());
    UdrDataRepositoryClient::new(Peer::new(binding, root, "NEF", CallPolicy::default()))
}

fn failed(problem: Problem) -> anyhow::Error {
    anyhow::anyhow!("{problem}")
}

/// The traffic of an application of the UE.
pub fn influence(application: &str) -> Result<TrafficInfluData> {
    Ok(serde_json::from_value(json!({
        "supi": "imsi-001010000000001",
        "dnn": "internet",
        "snssai": {"sst": 1, "sd": "010203"},
        "trafficFilters": [{"flowId": 1, "flowDescriptions":
            [format!("permit out 17 from 198.51.100.{application} to assigned")]}],
        "trafficRoutes": [{"dnai": "edge", "routeProfId": "1"}],
    }))?)
}

async fn run(database: PathBuf, program: PathBuf) -> Result<()> {
    let core = core_without("pcf", |_| {}).await?;
    let database = mongodb::start(&database, core.folder()).await?;
    let pcf = start_beside(&core, &PCF, &program).await?;
    let until_logged = async |event: &str| {
        let logged = || pcf.output().contains(event).then_some(());
        eventually(event, logged, || pcf.output()).await
    };
    let udr = udr(&core);
    let put = async |id: &str, application: &str| {
        let data = influence(application)?;
        udr.create_or_replace_individual_influence_data(id, data).await.map_err(failed)
    };
    put("before", "1").await?;

    let (_radio, ue) = registered_ue(&core, |_| {}).await?;
    until_logged("Handle AM Policy Create Request").await?;
    let session = ue.establish_pdu_session(session()).await?;
    until_logged("Handle CreateSmPolicy").await?;
    until_logged("Matched [1] trafficInfluDatas from UDR").await?;
    reaches(&ue, session.psi, GATEWAY).await?;

    // The UDR notifies the PCF of changed data, and the PCF the SMF of a changed decision.
    let notified = async |count: usize| {
        let updates = || core.sbi_record.calls("nsmf-callback SmPolicyUpdateNotify");
        let is_updated = || (updates() >= count).then_some(());
        eventually("the SMF is notified", is_updated, || pcf.output()).await
    };
    put("meanwhile", "2").await?;
    notified(1).await?;
    udr.delete_individual_influence_data("before").await.map_err(failed)?;
    notified(2).await?;
    reaches(&ue, session.psi, GATEWAY).await?;

    ue.release_pdu_session(session.psi).await?;
    until_logged("Handle DeleteSmPolicyContext").await?;
    let ended = || {
        let calls = core.sbi_record.calls("nudr-dr DeleteIndividualInfluenceDataSubscription");
        (calls >= 1).then_some(())
    };
    eventually("the subscription of the session ends", ended, || pcf.output()).await?;
    ue.deregister().await?;
    until_logged("Handle AM Policy Association Delete").await?;
    core.sbi_record.check_sent(&SENT).await?;
    let output = pcf.output();
    let panic = output.lines().find(|line| line.contains("panic"));
    ensure!(panic.is_none(), "{}", panic.context("a line")?);
    pcf.stop().await?;
    database.stop().await
}
