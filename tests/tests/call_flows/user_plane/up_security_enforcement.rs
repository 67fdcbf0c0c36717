//! The user plane security policy (TS 33.501, 6.6; TS 23.502, 4.3.2.2.1 and 4.9.1; TS 33.515).
use crate::registration::rejection::refused;
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_ngap::transfer::{Protection, SecurityOutcome, UserPlaneSecurity};
use martlet_ran::{Gnb, Ue, XnHandoverPlan};
use martlet_store::UpProtection::{NotNeeded, Preferred, Required};
use martlet_store::{UpProtection, UpSecurityPolicy};
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, internet, metric, reaches};

/// 5GSM cause "request rejected, unspecified".
const REQUEST_REJECTED: u8 = 31;

fn policy(integrity: UpProtection, ciphering: UpProtection) -> Option<UpSecurityPolicy> {
    Some(UpSecurityPolicy { integrity, ciphering })
}

fn outcome(integrity: bool, confidentiality: bool) -> SecurityOutcome {
    SecurityOutcome { integrity, confidentiality }
}

async fn expect_protection(ue: &Ue, expected: SecurityOutcome) -> Result<()> {
    let status = ue.status().await?;
    ensure!(status.protected == [(1, expected)], "expected {expected:?}: {:?}", status.protected);
    Ok(())
}

/// A gNB that cannot protect the integrity of the user plane.
async fn weak_gnb(core: &TestCore, number: u8) -> Result<Gnb> {
    let mut config = core.gnb_config(number);
    config.up_integrity = false;
    Ok(Gnb::connect(config).await?)
}

/// TS 33.515, 4.2.2.1.1, TC_UP_POLICY_PRECEDENCE_SMF: the subscribed policy takes precedence over
/// the configured one. Each setup of the session sends it to the gNB.
#[test]
fn ts_33_515_4_2_2_1_1_subscribed_policy_takes_precedence() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            config.smf.dnns[0].up_security = policy(NotNeeded, NotNeeded);
        })
        .await?;
        core.subscribe(1, |s| s.slices[0].dnns[0].up_security = policy(Required, Preferred))?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (ue, _) = core.ue_with_session(&one, 1).await?;
        expect_protection(&ue, outcome(true, true)).await?;
        // At each gNB, and after CM-IDLE.
        ue.handover_to(&other).await?;
        expect_protection(&ue, outcome(true, true)).await.context("N2")?;
        ue.xn_handover_to(&one).await?;
        expect_protection(&ue, outcome(true, true)).await.context("Xn")?;
        ue.release_to_idle().await?;
        reaches(&ue, 1, GATEWAY).await?;
        expect_protection(&ue, outcome(true, true)).await.context("after CM-IDLE")?;
        let (plain, _) = core.ue_with_session(&one, 2).await?;
        expect_protection(&plain, outcome(false, false)).await.context("configured policy")?;
        core.sbi_record.check(&["nudm-sdm GetSmData"]).await
    });
}

/// A gNB without integrity protection accepts a session whose policy prefers it and rejects one
/// whose policy requires it (TS 23.502, 4.3.2.2.1, step 16).
#[test]
fn gnb_without_protection_skips_preferred_and_rejects_required() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        core.subscribe(1, |s| s.slices[0].dnns[0].up_security = policy(Preferred, Required))?;
        core.subscribe(2, |s| s.slices[0].dnns[0].up_security = policy(Required, Required))?;
        let (weak, strong) = (weak_gnb(&core, 1).await?, core.gnb(2).await?);
        let (preferred, _) = core.ue_with_session(&weak, 1).await?;
        expect_protection(&preferred, outcome(false, true)).await?;
        reaches(&preferred, 1, GATEWAY).await?;
        let required = weak.new_ue(core.ue_config(2))?;
        required.register().await?;
        // The gNB does not pass the accept to the UE, whose request is rejected.
        refused(required.establish_pdu_session(internet()).await, REQUEST_REJECTED)?;
        core.until("the session is released", |counts| counts.sessions == 1).await?;
        eventually(
            "the UE has no session",
            || (core.counts().sessions == 1).then_some(()),
            || format!("{:?}", core.counts()),
        )
        .await?;
        // A capable gNB accepts the session; a handover to the other gNB fails.
        required.release_to_idle().await?;
        required.move_to(&strong).await?;
        let psi = required.establish_pdu_session(internet()).await?.psi;
        reaches(&required, psi, GATEWAY).await?;
        ensure!(required.handover_to(&weak).await.is_err(), "the handover succeeded");
        reaches(&required, psi, GATEWAY).await?;
        for ue in [&preferred, &required] {
            ue.deregister().await?;
        }
        core.until_all_released().await
    });
}

/// TS 33.515, 4.2.2.1.3, TC_UP_SECURITY_POLICY_SMF: a target gNB that reports another policy in the
/// path switch receives that of the SMF.
#[test]
fn ts_33_515_4_2_2_1_3_changed_policy_is_corrected_at_the_path_switch() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        core.subscribe(1, |s| s.slices[0].dnns[0].up_security = policy(Required, Required))?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (ue, _) = core.ue_with_session(&one, 1).await?;
        let differs = || metric("martlet_smf_n4_total", &[("event", "user plane policy differs")]);
        let before = differs();
        ue.xn_handover_to(&other).await?;
        expect_protection(&ue, outcome(true, true)).await?;
        let none = UserPlaneSecurity {
            integrity: Protection::NotNeeded,
            confidentiality: Protection::NotNeeded,
            full_rate_integrity: false,
        };
        ue.xn_handover(
            &one,
            XnHandoverPlan { up_security: Some(none), ..XnHandoverPlan::default() },
        )
        .await?;
        ensure!(differs() > before, "the error is not counted");
        let protected = ue.status().await?.protected;
        ensure!(
            protected == [(1, outcome(true, true))],
            "the gNB did not receive the policy: {protected:?}"
        );
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}
