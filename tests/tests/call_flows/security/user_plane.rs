//! The security policy of a session's user plane (TS 33.501, 6.6; TS 23.502, 4.3.2.2.1 and 4.9.1;
//! TS 33.515).
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_ngap::transfer::{Protection, SecurityOutcome, UserPlaneSecurity};
use martlet_ran::{Gnb, Ue, XnHandoverPlan};
use martlet_store::UpProtection::{NotNeeded, Preferred, Required};
use martlet_store::{UpProtection, UpSecurityPolicy};
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, internet, metric, reaches};

fn policy(integrity: UpProtection, ciphering: UpProtection) -> Option<UpSecurityPolicy> {
    Some(UpSecurityPolicy { integrity, ciphering })
}

fn outcome(integrity: bool, confidentiality: bool) -> SecurityOutcome {
    SecurityOutcome { integrity, confidentiality }
}

async fn is_protected(phone: &Ue, as_is: SecurityOutcome) -> Result<()> {
    let status = phone.status().await?;
    ensure!(status.protected == [(1, as_is)], "{as_is:?} is due: {:?}", status.protected);
    Ok(())
}

/// A gNB that cannot protect the integrity of the user plane.
async fn weak_gnb(core: &TestCore, number: u8) -> Result<Gnb> {
    let mut config = core.gnb_config(number);
    config.up_integrity = false;
    Ok(Gnb::connect(config).await?)
}

/// TS 33.515, 4.2.2.1.1, TC_UP_POLICY_PRECEDENCE_SMF: the subscription's policy goes before the
/// SMF's own, which holds where there is none; gNBs are told it whenever they set the session up.
#[test]
fn ts_33_515_4_2_2_1_1_subscribed_policy_takes_precedence() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            config.smf.dnns[0].up_security = policy(NotNeeded, NotNeeded);
        })
        .await?;
        core.subscribe(1, |s| s.slices[0].dnns[0].up_security = policy(Required, Preferred))?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (phone, _) = core.phone_with_session(&one, 1).await?;
        is_protected(&phone, outcome(true, true)).await?;
        // At every gNB to which it comes, and after every rest.
        phone.handover_to(&other).await?;
        is_protected(&phone, outcome(true, true)).await.context("N2")?;
        phone.xn_handover_to(&one).await?;
        is_protected(&phone, outcome(true, true)).await.context("Xn")?;
        phone.release_to_idle().await?;
        reaches(&phone, 1, GATEWAY).await?;
        is_protected(&phone, outcome(true, true)).await.context("idle")?;
        let (plain, _) = core.phone_with_session(&one, 2).await?;
        is_protected(&plain, outcome(false, false)).await.context("the SMF's own")?;
        core.bodies.check(&["nudm-sdm GetSmData"]).await
    });
}

/// What is preferred is left where the gNB cannot; without what is required there is no session (TS
/// 23.502, 4.3.2.2.1, step 16).
#[test]
fn gnb_without_protection_skips_preferred_and_rejects_required() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        core.subscribe(1, |s| s.slices[0].dnns[0].up_security = policy(Preferred, Required))?;
        core.subscribe(2, |s| s.slices[0].dnns[0].up_security = policy(Required, Required))?;
        let (weak, strong) = (weak_gnb(&core, 1).await?, core.gnb(2).await?);
        let (preferred, _) = core.phone_with_session(&weak, 1).await?;
        is_protected(&preferred, outcome(false, true)).await?;
        reaches(&preferred, 1, GATEWAY).await?;
        let required = weak.new_ue(core.phone(2))?;
        required.register().await?;
        // The UE may have been told of the session before the gNB has refused it: it is released.
        let _ = required.establish_pdu_session(internet()).await;
        core.until("the session has gone", |counts| counts.sessions == 1).await?;
        eventually(
            "the UE knows",
            || (core.counts().sessions == 1).then_some(()),
            || format!("{:?}", core.counts()),
        )
        .await?;
        // At a gNB that can, it comes up; and it is not handed over to one that cannot.
        required.release_to_idle().await?;
        required.move_to(&strong).await?;
        let psi = required.establish_pdu_session(internet()).await?.psi;
        reaches(&required, psi, GATEWAY).await?;
        ensure!(required.handover_to(&weak).await.is_err(), "the target cannot protect it");
        reaches(&required, psi, GATEWAY).await?;
        for phone in [&preferred, &required] {
            phone.deregister().await?;
        }
        core.until_nothing_is_left().await
    });
}

/// TS 33.515, 4.2.2.1.3, TC_UP_SECURITY_POLICY_SMF: a target gNB that names another policy at a
/// path switch gets the SMF's.
#[test]
fn ts_33_515_4_2_2_1_3_changed_policy_is_corrected_at_the_path_switch() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        core.subscribe(1, |s| s.slices[0].dnns[0].up_security = policy(Required, Required))?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (phone, _) = core.phone_with_session(&one, 1).await?;
        let differs = || metric("martlet_smf_n4_total", &[("event", "user plane policy differs")]);
        let before = differs();
        phone.xn_handover_to(&other).await?;
        is_protected(&phone, outcome(true, true)).await?;
        let none = UserPlaneSecurity {
            integrity: Protection::NotNeeded,
            confidentiality: Protection::NotNeeded,
            full_rate_integrity: false,
        };
        phone
            .xn_handover(
                &one,
                XnHandoverPlan { up_security: Some(none), ..XnHandoverPlan::default() },
            )
            .await?;
        ensure!(differs() > before, "it is counted");
        let protected = phone.status().await?.protected;
        ensure!(
            protected == [(1, outcome(true, true))],
            "the gNB was told what holds: {protected:?}"
        );
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}
