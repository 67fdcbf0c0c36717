//! A phone's day from beginning to end, on each binding of the service-based interface.
use anyhow::Result;
use martlet::core::Sbi;
use martlet_ran::ue::{PduSessionRequest, ServicePurpose};
use martlet_tests::{GATEWAY, TestCore, in_namespace, reaches};

/// Service operations that a phone's day takes, beginning with the start of the core.
const OF_A_DAY: &[&str] = &[
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

/// A phone registers, gets sessions, sends traffic, goes idle, comes back, and leaves; nothing of
/// it stays.
async fn a_phones_day(sbi: Sbi) -> Result<()> {
    let core = TestCore::start(sbi, |_| {}).await?;
    let gnb = core.gnb(1).await?;
    let phone = gnb.new_ue(core.phone(1))?;
    core.register_with_session(&phone).await?;
    reaches(&phone, 1, GATEWAY).await?;
    phone.establish_pdu_session(PduSessionRequest::default()).await?;
    reaches(&phone, 2, GATEWAY).await?;

    phone.release_to_idle().await?;
    core.until("the phone is idle", |counts| counts.connected == 0).await?;
    phone.service_request_for(ServicePurpose::Data, &[1]).await?;
    reaches(&phone, 1, GATEWAY).await?;

    // One session ends by itself, the other with the registration.
    phone.release_pdu_session(1).await?;
    core.until("one session is left", |counts| (counts.sessions, counts.user_planes) == (1, 1))
        .await?;
    phone.deregister().await?;
    core.until_nothing_is_left().await?;
    core.bodies.check(OF_A_DAY).await
}

#[test]
fn ue_lifecycle_in_one_process() {
    in_namespace(|| a_phones_day(Sbi::Local));
}

#[test]
fn ue_lifecycle_over_http() {
    in_namespace(|| a_phones_day(Sbi::Http));
}
