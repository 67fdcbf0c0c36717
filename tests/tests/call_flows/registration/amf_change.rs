//! Registration at another AMF: context transfer over N14 (TS 23.502, 4.2.2.2.2, steps 4, 5 and
//! 10; TS 33.501, 6.9.3).
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_nas::NasFGsMobileIdentity;
use martlet_ran::ue::RegistrationType;
use martlet_tests::{GATEWAY, Growth, RawGnb, TestCore, eventually, in_namespace, reaches};

fn transfers(result: &str) -> Growth<'_> {
    Growth::of(
        "martlet_amf_procedures_total",
        &[("procedure", "context_transfer"), ("result", result)],
    )
}

/// A phone goes to another AMF and back, with its session, and without an authentication.
async fn there_and_back(sbi: Sbi, derive: bool) -> Result<()> {
    let core = TestCore::start(sbi, |config| config.amf.security.derive_k_amf = derive).await?;
    let second = core.second_amf(|_| {}).await?;
    let (here, there) = (core.gnb(1).await?, second.gnb(&core, 2).await?);
    let (phone, _) = core.phone_with_session(&here, 1).await?;
    reaches(&phone, 1, GATEWAY).await?;
    let authenticated = core.store_sqn(1)?;
    let done = transfers("ok");
    for (round, gnb) in [&there, &here, &there].into_iter().enumerate() {
        phone.release_to_idle().await?;
        phone.move_to(gnb).await?;
        phone.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        // Its session goes on, where it was.
        reaches(&phone, 1, GATEWAY).await.with_context(|| format!("round {round}"))?;
        let at = phone.status().await?;
        let pointer = if round == 1 { core.config().amf.guamis[0].pointer } else { 2 };
        ensure!(at.guti.is_some_and(|guti| guti.amf_pointer() == pointer), "{:?}", at.guti);
        let left = || if round == 1 { second.ues().1 } else { core.counts().registered };
        eventually("the old AMF lets go", || (left() == 0).then_some(()), || left().to_string())
            .await?;
    }
    ensure!(core.store_sqn(1)? == authenticated, "no authentication was needed");
    // Other tests may count beside this one.
    ensure!(done.so_far() >= 3.0, "{} transfers", done.so_far());
    phone.deregister().await?;
    core.until("no session is left", |counts| counts.sessions == 0).await?;
    core.bodies.check(&["namf-comm UEContextTransfer", "namf-comm RegistrationStatusUpdate"]).await
}

#[test]
fn session_moves_to_another_amf_with_a_derived_kamf() {
    in_namespace(|| there_and_back(Sbi::Http, true));
}

#[test]
fn session_moves_to_another_amf_with_the_same_kamf() {
    in_namespace(|| there_and_back(Sbi::Local, false));
}

/// Who names another's 5G-GUTI and does not prove itself gets nothing of it (TS 33.501, 6.9.3).
#[test]
fn context_transfer_is_refused_when_the_integrity_check_fails() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let second = core.second_amf(|_| {}).await?;
        let there = second.gnb(&core, 2).await?;
        let (phone, _) = core.phone_with_session(&there, 1).await?;
        phone.release_to_idle().await?;
        let guti = phone.status().await?.guti.context("a 5G-GUTI")?;
        let identity = NasFGsMobileIdentity::from_guti(guti).value.to_vec();
        let length = u16::try_from(identity.len())?.to_be_bytes();
        // REGISTRATION REQUEST, mobility; plain, which is not even asked for, and under a MAC that
        // is wrong.
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
            raw.send(raw.initial(ran_id, &nas)).await?;
            let (_, answer) = raw.next_nas().await?;
            ensure!(answer == [0x7e, 0x00, 0x5b, 0x01], "IDENTITY REQUEST is due: {answer:02x?}");
        }
        ensure!(refused.so_far() >= 1.0, "the other AMF refuses");
        // The phone goes on where it was.
        ensure!(second.ues().1 == 1, "{:?}", second.ues());
        phone.service_request().await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        Ok(())
    });
}
