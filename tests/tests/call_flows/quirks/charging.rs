//! Quirks of charging functions.
use super::sbi::objects;
use crate::sbi::proxy::Proxy;
use anyhow::{Result, bail, ensure};
use martlet_sbi::{OperationInfo, Response};
use martlet_sbi_api::nchf_converged_charging::NCHF_CONVERGEDCHARGING;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_tests::{GATEWAY, TestCore, internet, ping, reaches};
use std::net::Ipv4Addr;

/// As free5GC's CHF: nothing is granted at first, and the final action is an empty text until the
/// units are final.
fn without_grant(operation: &OperationInfo, response: Response) -> Response {
    match operation.name {
        "Create" => objects(response, |members| {
            members.remove("multipleUnitInformation");
        }),
        _ => objects(response, |members| {
            if members.contains_key("grantedUnit") {
                let indication = serde_json::json!({"finalUnitAction": ""});
                members.insert("finalUnitIndication".into(), indication);
            }
        }),
    }
}

pub async fn no_initial_grant(core: &TestCore) -> Result<bool> {
    core.query("charging/imsi-001010000000001/1000000").await?;
    let (real, services) = (core.config().sbi.chf, [NCHF_CONVERGEDCHARGING::OPERATIONS]);
    Proxy::before(core, NfType::Chf, real, &services, |_| {}, without_grant).await?;
    let gnb = core.gnb(1).await?;
    let ue = gnb.new_ue(core.ue_config(1))?;
    ue.register().await?;
    let session = match ue.establish_pdu_session(internet()).await {
        Ok(session) => session,
        Err(error) if error.cause() == Some(8) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    reaches(&ue, session.psi, GATEWAY).await?;
    ue.deregister().await?;
    core.until_all_released().await?;
    // The granted units are not taken for the final ones, and the used ones are charged.
    let shown = core.query("charging/imsi-001010000000001").await?;
    let record = &shown["records"][0];
    ensure!(record["uplink"].as_u64() > Some(0) && record["reports"] == 2, "{shown}");
    Ok(true)
}

/// As free5GC's CHF: the final action is an empty text.
fn empty_action(_: &OperationInfo, response: Response) -> Response {
    objects(response, |members| {
        if members.contains_key("grantedUnit") {
            let indication = serde_json::json!({"finalUnitAction": ""});
            members.insert("finalUnitIndication".into(), indication);
        }
    })
}

/// Units that are final are reported as such when they are used up.
pub async fn empty_final_action(core: &TestCore) -> Result<bool> {
    let size = ping(Ipv4Addr::UNSPECIFIED, GATEWAY, 0).len();
    core.query(&format!("charging/imsi-001010000000001/{}", 10 * size)).await?;
    let (real, services) = (core.config().sbi.chf, [NCHF_CONVERGEDCHARGING::OPERATIONS]);
    Proxy::before(core, NfType::Chf, real, &services, |_| {}, empty_action).await?;
    let gnb = core.gnb(1).await?;
    let (ue, address) = core.ue_with_session(&gnb, 1).await?;
    // Five packets and their replies, of which the last ends the session.
    for sequence in 0..5 {
        ue.send_ip(1, ping(address, GATEWAY, sequence)).await?;
        if sequence < 4 {
            ue.recv_ip().await?;
        }
    }
    core.until("the session is released", |counts| counts.sessions == 0).await?;
    let reports = core.sbi_record.requests("nchf-convergedcharging Update");
    let reports = reports.iter().map(|(_, body)| body.to_string()).collect::<String>();
    match (reports.contains("\"QUOTA_EXHAUSTED\""), reports.contains("\"FINAL\"")) {
        (true, false) => Ok(true),
        (false, true) => Ok(false),
        _ => bail!("{reports}"),
    }
}
