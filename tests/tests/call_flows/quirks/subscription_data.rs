//! Quirks of subscription data.
use super::sbi::{objects, problem_response};
use crate::handover::with_second_area;
use crate::sbi::proxy::Proxy;
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_ran::{Ue, UeError};
use martlet_sbi::{OperationInfo, Response};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nudm_sdm::NUDM_SDM;
use martlet_sbi_api::nudm_ueau::NUDM_UEAU;
use martlet_sbi_api::nudm_uecm::NUDM_UECM;
use martlet_tests::{GATEWAY, LogLines, TestCore, in_namespace, internet, reaches};

/// A UDM that answers so.
pub async fn proxy(
    core: &TestCore,
    rewrite: fn(&OperationInfo, Response) -> Response,
) -> Result<()> {
    let services = [NUDM_SDM::OPERATIONS, NUDM_UEAU::OPERATIONS, NUDM_UECM::OPERATIONS];
    let real = core.config().sbi.udm;
    Proxy::before(core, NfType::Udm, real, &services, |_| {}, rewrite).await.map(|_| ())
}

/// Registers a UE whose UDM answers so.
async fn registration_with(
    core: &TestCore,
    rewrite: fn(&OperationInfo, Response) -> Response,
) -> Result<Result<Ue, UeError>> {
    proxy(core, rewrite).await?;
    let gnb = core.gnb(1).await?;
    let ue = gnb.new_ue(core.ue_config(1))?;
    Ok(ue.register().await.map(|_| ue))
}

/// A GPSI that is a number.
fn with_unreadable_element(_: &OperationInfo, response: Response) -> Response {
    objects(response, |members| {
        if members.contains_key("subscribedUeAmbr") {
            members.insert("gpsis".into(), serde_json::json!([7]));
        }
    })
}

/// A slice of no interest whose data networks are `null`.
fn with_null_list(_: &OperationInfo, response: Response) -> Response {
    objects(response, |members| {
        if let Some(infos) = members.get_mut("subscribedSnssaiInfos") {
            infos["250"] = serde_json::json!({"dnnInfos": null});
        }
    })
}

/// As Open5GS's UDM.
fn without_data_sets(operation: &OperationInfo, response: Response) -> Response {
    match operation.name {
        "GetDataSets" => problem_response(400, ""),
        _ => response,
    }
}

/// A UE registers and uses a session with data that are read one by one.
pub async fn separate_data_sets(core: &TestCore) -> Result<bool> {
    let Ok(ue) = registration_with(core, without_data_sets).await? else { return Ok(false) };
    ue.establish_pdu_session(internet()).await?;
    reaches(&ue, 1, GATEWAY).await?;
    Ok(true)
}

pub async fn unreadable_element(core: &TestCore) -> Result<bool> {
    Ok(registration_with(core, with_unreadable_element).await?.is_ok())
}

pub async fn null_list(core: &TestCore) -> Result<bool> {
    Ok(registration_with(core, with_null_list).await?.is_ok())
}

/// As in free5GC's databases: a GPSI without a number, and groups that are none.
fn data_of_free5gc(_: &OperationInfo, response: Response) -> Response {
    objects(response, |members| {
        if members.contains_key("subscribedUeAmbr") {
            members.insert("gpsis".into(), serde_json::json!(["msisdn-"]));
            members.insert("internalGroupIds".into(), serde_json::json!(["", "x"]));
        }
    })
}

/// One `msisdn-` does not reject the UE with #22, and what is dropped is named by function,
/// operation and field.
#[test]
fn data_of_other_databases_register_the_ue_and_what_is_dropped_is_named() {
    in_namespace(|| async {
        let log = LogLines::record();
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let ue = registration_with(&core, data_of_free5gc).await??;
        ue.establish_pdu_session(internet()).await?;
        reaches(&ue, 1, GATEWAY).await?;
        let dropped = log.with_message(
            "unreadable element dropped from a response; further ones are not logged",
        );
        // No other test of this process has such groups.
        let of_groups: Vec<_> =
            dropped.iter().filter(|line| line["field"] == "internalGroupIds").collect();
        ensure!(of_groups.len() == 1, "{dropped:?}");
        let line = of_groups[0];
        ensure!(
            line["nf"] == "AMF" && line["api"] == "nudm-sdm" && line["operation"] == "GetDataSets",
            "{line:?}"
        );
        ensure!(!line["error"].is_empty() && line["peer"].contains(':'), "{line:?}");
        ensure!(!dropped.iter().any(|line| line["field"] == "gpsis"), "{dropped:?}");
        let peer = line.get("peer").context("no peer")?;
        let status = core.status("amf")["quirks"].to_string();
        ensure!(status.contains("unreadable_element") && status.contains(peer), "{status}");
        Ok(())
    });
}

/// A telephone number and a group.
fn with_group(_: &OperationInfo, response: Response) -> Response {
    objects(response, |members| {
        if members.contains_key("subscribedUeAmbr") {
            members.insert("gpsis".into(), serde_json::json!(["msisdn-491700000000"]));
            members.insert("internalGroupIds".into(), serde_json::json!([GROUP]));
        }
    })
}

const GROUP: &str = "0a0b0c0d-001-01-01";

/// PCF and target AMF get what the subscription has.
#[test]
fn groups_and_numbers_of_the_subscriber_reach_pcf_and_target_amf() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let (core, _second, here, there) = with_second_area(core).await?;
        proxy(&core, with_group).await?;
        let mut config = core.ue_config(1);
        config.radio_capability = (0..200).collect();
        let ue = here.new_ue(config)?;
        core.register_with_session(&ue).await?;
        let last = |operation: &str| {
            let request = core.sbi_record.requests(operation).pop();
            request.map(|(_, body)| body).with_context(|| format!("no {operation}"))
        };
        let policy = last("npcf-am-policy-control CreateIndividualAMPolicyAssociation")?;
        ensure!(policy["groupIds"][0] == GROUP, "{policy}");
        ensure!(policy["gpsi"] == "msisdn-491700000000", "{policy}");
        ue.handover_to(&there).await?;
        let handover = last("namf-comm CreateUEContext")?;
        let context = &handover["ueContext"];
        ensure!(context["gpsiList"][0] == policy["gpsi"], "{handover}");
        ensure!(context["groupList"][0] == GROUP, "{handover}");
        ensure!(context["subUeAmbr"].is_object(), "{handover}");
        ensure!(handover["servingNetwork"]["mcc"] == "001", "{handover}");
        ensure!(handover["ueRadioCapability"]["ngapData"].is_object(), "{handover}");
        core.sbi_record.check(&["namf-comm CreateUEContext"]).await
    });
}
