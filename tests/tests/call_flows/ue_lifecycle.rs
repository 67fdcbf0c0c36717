//! A UE from registration to deregistration, with the service operations that this takes.
use anyhow::Result;
use martlet::core::Sbi;
use martlet_ran::ue::{PduSessionRequest, ServicePurpose};
use martlet_tests::{GATEWAY, TestCore, in_namespace, reaches};

/// The service operations, from the start of the core.
const OPERATIONS: &[&str] = &[
    "namf-callback SmContextStatusNotify",
    "namf-comm N1N2MessageTransfer",
    "nausf-auth Authenticate",
    "nausf-auth Confirm5gAka",
    "nnrf-disc SearchNFInstances",
    "nnrf-nfm CreateSubscription",
    "nnrf-nfm RegisterNFInstance",
    "nnssf-nsselection NSSelectionGet",
    "npcf-am-policy-control CreateIndividualAMPolicyAssociation",
    "npcf-am-policy-control DeleteIndividualAMPolicyAssociation",
    "npcf-smpolicycontrol CreateSMPolicy",
    "npcf-smpolicycontrol DeleteSMPolicy",
    "nsmf-pdusession PostSmContexts",
    "nsmf-pdusession ReleaseSmContext",
    "nsmf-pdusession UpdateSmContext",
    "nudm-sdm GetDataSets",
    "nudm-sdm GetSmData",
    "nudm-sdm Subscribe",
    "nudm-ueau ConfirmAuth",
    "nudm-ueau GenerateAuthData",
    "nudm-uecm 3GppRegistration",
    "nudm-uecm Registration",
    "nudm-uecm SmfDeregistration",
    "nudr-dr CreateAmfContext3gpp",
    "nudr-dr CreateAuthenticationStatus",
    "nudr-dr CreateOrUpdateSmfRegistration",
    "nudr-dr CreateSdmSubscriptions",
    "nudr-dr DeleteSmfRegistration",
    "nudr-dr ModifyAuthenticationSubscription",
    "nudr-dr QueryAmfContext3gpp",
    "nudr-dr QueryAuthSubsData",
    "nudr-dr QueryProvisionedData",
    "nudr-dr QuerySmData",
    "nudr-dr QuerySmfRegistration",
    "nudr-dr ReadAccessAndMobilityPolicyData",
    "nudr-dr ReadSessionManagementPolicyData",
];

/// A UE registers, establishes sessions, sends packets, becomes idle, returns and deregisters. No
/// state is left.
async fn lifecycle(sbi: Sbi) -> Result<()> {
    let core = TestCore::start(sbi, |_| {}).await?;
    let gnb = core.gnb(1).await?;
    let ue = gnb.new_ue(core.ue_config(1))?;
    core.register_with_session(&ue).await?;
    reaches(&ue, 1, GATEWAY).await?;
    ue.establish_pdu_session(PduSessionRequest::default()).await?;
    reaches(&ue, 2, GATEWAY).await?;

    ue.release_to_idle().await?;
    core.until("the UE is in CM-IDLE", |counts| counts.connected == 0).await?;
    ue.service_request_for(ServicePurpose::Data, &[1]).await?;
    reaches(&ue, 1, GATEWAY).await?;

    // One session is released explicitly, the other by the deregistration.
    ue.release_pdu_session(1).await?;
    core.until("one session is left", |counts| (counts.sessions, counts.user_planes) == (1, 1))
        .await?;
    ue.deregister().await?;
    core.until_all_released().await?;
    core.sbi_record.check(OPERATIONS).await
}

#[test]
fn ue_lifecycle_in_one_process() {
    in_namespace(|| lifecycle(Sbi::Local));
}

#[test]
fn ue_lifecycle_over_http() {
    in_namespace(|| lifecycle(Sbi::Http));
}
