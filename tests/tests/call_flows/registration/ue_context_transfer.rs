//! Registration at another AMF: context transfer over N14 (TS 23.502, 4.2.2.2.2, steps 4, 5 and
//! 10; TS 33.501, 6.9.3).
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_nas::NasFGsMobileIdentity;
use martlet_ran::ue::RegistrationType;
use martlet_tests::{GATEWAY, MetricDelta, RawGnb, TestCore, eventually, in_namespace, reaches};

fn transfers(result: &str) -> MetricDelta<'_> {
    MetricDelta::of(
        "martlet_amf_procedures_total",
        &[("procedure", "context_transfer"), ("result", result)],
    )
}

/// A UE registers at another AMF and back, with its session and without authentication.
async fn there_and_back(sbi: Sbi, derive: bool) -> Result<()> {
    let core = TestCore::start(sbi, |config| config.amf.security.derive_k_amf = derive).await?;
    let second = core.second_amf(|_| {}).await?;
    let (here, there) = (core.gnb(1).await?, second.gnb(&core, 2).await?);
    let (ue, _) = core.ue_with_session(&here, 1).await?;
    reaches(&ue, 1, GATEWAY).await?;
    let authenticated = core.stored_sqn(1)?;
    let done = transfers("ok");
    for (round, gnb) in [&there, &here, &there].into_iter().enumerate() {
        ue.release_to_idle().await?;
        ue.move_to(gnb).await?;
        ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        // Its session continues.
        reaches(&ue, 1, GATEWAY).await.with_context(|| format!("round {round}"))?;
        let at = ue.status().await?;
        let pointer = if round == 1 { core.config().amf.guamis[0].pointer } else { 2 };
        ensure!(at.guti.is_some_and(|guti| guti.amf_pointer() == pointer), "{:?}", at.guti);
        let left = || if round == 1 { second.ues().1 } else { core.counts().registered };
        eventually(
            "the old AMF releases the UE",
            || (left() == 0).then_some(()),
            || left().to_string(),
        )
        .await?;
    }
    ensure!(core.stored_sqn(1)? == authenticated, "the UE was authenticated again");
    // Other tests may count at the same time.
    ensure!(done.get() >= 3.0, "{} transfers", done.get());
    ue.deregister().await?;
    core.until("no session is left", |counts| counts.sessions == 0).await?;
    core.sbi_record.check_members()?;
    core.sbi_record
        .check(&["namf-comm UEContextTransfer", "namf-comm RegistrationStatusUpdate"])
        .await
}

#[test]
fn session_moves_to_another_amf_with_a_derived_kamf() {
    in_namespace(|| there_and_back(Sbi::Http, true));
}

#[test]
fn session_moves_to_another_amf_with_the_same_kamf() {
    in_namespace(|| there_and_back(Sbi::Local, false));
}

/// The old AMF does not transfer a context for a request whose integrity check fails (TS 33.501,
/// 6.9.3).
#[test]
fn context_transfer_is_refused_when_the_integrity_check_fails() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let second = core.second_amf(|_| {}).await?;
        let there = second.gnb(&core, 2).await?;
        let (ue, _) = core.ue_with_session(&there, 1).await?;
        ue.release_to_idle().await?;
        let guti = ue.status().await?.guti.context("no 5G-GUTI")?;
        let identity = NasFGsMobileIdentity::from_guti(guti).value.to_vec();
        let length = u16::try_from(identity.len())?.to_be_bytes();
        // REGISTRATION REQUEST, mobility: plain, for which no context is requested, and with a
        // wrong MAC.
        let plain = [
            &[0x7e, 0x00, 0x41, 0x02],
            length.as_slice(),
            &identity,
            &[0x2e, 4, 0xf0, 0xf0, 0xf0, 0xf0],
        ]
        .concat();
        let forged = [&[0x7e, 0x01, 1, 2, 3, 4, 0], plain.as_slice()].concat();
        let raw = RawGnb::set_up(&core, 1).await?;
        let refused = transfers("INTEGRITY_CHECK_FAIL");
        for (ran_id, nas) in [(1, plain), (2, forged)] {
            raw.send(raw.initial_ue_message(ran_id, &nas)).await?;
            let (_, answer) = raw.next_nas().await?;
            ensure!(answer == [0x7e, 0x00, 0x5b, 0x01], "expected IDENTITY REQUEST: {answer:02x?}");
        }
        ensure!(refused.get() >= 1.0, "the old AMF does not refuse the transfer");
        // The UE is still served by its AMF.
        ensure!(second.ues().1 == 1, "{:?}", second.ues());
        ue.service_request().await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        Ok(())
    });
}
