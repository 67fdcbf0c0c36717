//! Deregistration by the UE (TS 23.502, 4.2.2.3.2; TS 24.501, 5.5.2.2) and by the network at the
//! request of the UDM (TS 23.502, 4.2.2.3.3; TS 24.501, 5.5.2.3).
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_ran::PduSessionRequest;
use martlet_ran::ue::MmState;
use martlet_smf::ChargingMode;
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, internet, reaches};
use std::time::Duration;

#[test]
fn switch_off_releases_all_resources() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        ue.switch_off().await?;
        core.until_all_released().await?;
        ensure!(gnb.ue_counts() == (0, 0), "the gNB still has a context: {:?}", gnb.ue_counts());
        core.sbi_record.check(&["nsmf-pdusession ReleaseSmContext"]).await
    });
}

#[test]
fn idle_ue_deregisters() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (one, _) = core.ue_with_session(&gnb, 1).await?;
        let (two, _) = core.ue_with_session(&gnb, 2).await?;
        one.release_to_idle().await?;
        two.release_to_idle().await?;
        one.deregister().await?;
        two.switch_off().await?;
        core.until_all_released().await
    });
}

#[test]
fn udm_deregisters_connected_and_idle_ues_without_a_subscription() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (connected, _) = core.ue_with_session(&gnb, 1).await?;
        let (idle, _) = core.ue_with_session(&gnb, 2).await?;
        idle.release_to_idle().await?;
        core.unsubscribe(1)?;
        core.unsubscribe(2)?;
        core.until_all_released().await?;
        for ue in [&connected, &idle] {
            // The UE has received DEREGISTRATION REQUEST, the idle one after it was paged.
            let status = ue.status().await?;
            ensure!(status.state == MmState::Deregistered, "{status:?}");
            ensure!(ue.register().await.is_err(), "a UE without a subscription registered");
        }
        core.sbi_record
            .check(&["namf-callback SdmChangeNotify", "nsmf-pdusession ReleaseSmContext"])
            .await
    });
}

const DELETE_POLICY: &str = "npcf-smpolicycontrol DeleteSMPolicy";
const CREATE_POLICY: &str = "npcf-smpolicycontrol CreateSMPolicy";
const END_CHARGING: &str = "nchf-convergedcharging Release";
const UNSUBSCRIBE: &str = "nudm-sdm Unsubscribe";
const DEREGISTER: &str = "nudm-uecm SmfDeregistration";
const REGISTER: &str = "nudm-uecm Registration";
/// What the SMF requests after it has answered to the AMF.
const LATER: [&str; 4] = [DELETE_POLICY, END_CHARGING, UNSUBSCRIBE, DEREGISTER];

/// A core with a CHF, whose requests the test can hold.
async fn with_charging() -> Result<TestCore> {
    TestCore::start_on(Sbi::Http, |config| {
        config.chf.enabled = true;
        config.smf.charging.mode = ChargingMode::Offline;
    })
    .await
}

fn is_before(core: &TestCore, first: &str, last: &str) -> Result<()> {
    let calls = core.sbi_record.sequence();
    let at = |name: &str| calls.iter().rposition(|call| call == name).context(name.to_string());
    ensure!(at(first)? < at(last)?, "{last} came before {first}: {calls:#?}");
    Ok(())
}

#[test]
fn ue_does_not_wait_for_pcf_chf_and_udm() {
    in_namespace(|| async {
        let core = with_charging().await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        LATER.iter().for_each(|call| core.sbi_gate.close(call, 0));
        ue.deregister().await?;
        let counts = core.counts();
        // The user plane has ended.
        ensure!(
            (counts.registered, counts.sessions, counts.user_planes) == (0, 1, 0),
            "{counts:?}"
        );
        core.sbi_gate.open();
        core.until_all_released().await?;
        for call in LATER {
            ensure!(core.sbi_record.calls(call) == 1, "{call}: {}", core.sbi_record.calls(call));
        }
        core.sbi_record.check(&LATER).await
    });
}

#[test]
fn session_ends_although_pcf_chf_and_udm_fail() {
    in_namespace(|| async {
        let core = with_charging().await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        LATER.iter().for_each(|call| core.sbi_gate.fail(call, 500));
        ue.deregister().await?;
        core.until_all_released().await?;
        core.sbi_gate.open();
        core.register_with_session(&ue).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// What PCF, CHF and UDM get of a new session follows what they get of the old one, also with
/// another PDU session identity.
#[test]
fn new_session_follows_the_end_of_the_old_one() {
    in_namespace(|| async {
        let core = with_charging().await?;
        let gnb = core.gnb(1).await?;
        for (n, psi) in [(1, 1), (2, 2)] {
            core.sbi_record.clear();
            let calls = |call: &str| core.sbi_record.calls(call);
            let (ue, _) = core.ue_with_session(&gnb, n).await?;
            // Later than the registration at the UDM.
            let subscribed = || (calls("nudr-dr CreateSdmSubscriptions") == 2).then_some(());
            eventually("AMF and SMF have subscribed", subscribed, String::new).await?;
            LATER.iter().for_each(|call| core.sbi_gate.close(call, 0));
            ue.deregister().await?;
            ue.register().await?;
            let request = PduSessionRequest { psi: Some(psi), ..internet() };
            let mut establishing = Box::pin(ue.establish_pdu_session(request));
            let early = tokio::time::timeout(Duration::from_millis(300), &mut establishing).await;
            ensure!(early.is_err(), "the new session does not wait for the old one");
            ensure!(calls(CREATE_POLICY) == 1, "the PCF was asked early");
            core.sbi_gate.open();
            establishing.await?;
            reaches(&ue, psi, GATEWAY).await?;
            let registered = || (calls(REGISTER) == 2).then_some(());
            eventually("the UDM has the new session", registered, String::new).await?;
            is_before(&core, DELETE_POLICY, CREATE_POLICY)?;
            is_before(&core, END_CHARGING, "nchf-convergedcharging Create")?;
            is_before(&core, DEREGISTER, REGISTER)?;
            ue.deregister().await?;
            core.until_all_released().await?;
        }
        Ok(())
    });
}

/// The context store has a session until PCF, CHF and UDM have released it. Another SMF process
/// finds it there, and releases it: no AMF has it (TS 23.527, 4.3).
#[cfg(debug_assertions)]
#[test]
fn restart_of_the_smf_before_the_end_of_a_release_leaves_nothing() {
    in_namespace(|| async {
        let _alone = crate::function_restart::ALONE.lock().await;
        let core = TestCore::start_on(Sbi::Http, |config| config.smf.audit_s = 1).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        // Longer than the flush interval of the store.
        tokio::time::sleep(Duration::from_millis(500)).await;
        core.sbi_gate.close(DELETE_POLICY, 0);
        core.sbi_gate.close(DEREGISTER, 0);
        ue.deregister().await?;
        let held = || (core.sbi_gate.held(DELETE_POLICY) == 1).then_some(());
        eventually("the SMF asks the PCF", held, String::new).await?;
        crate::function_restart::restart(&core, "smf").await?;
        core.sbi_gate.open();
        core.until_all_released().await?;
        for call in [DELETE_POLICY, DEREGISTER] {
            ensure!(core.sbi_record.calls(call) == 1, "{call}: {}", core.sbi_record.calls(call));
        }
        Ok(())
    });
}
