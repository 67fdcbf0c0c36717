//! Malformed, unprotected, replayed and forged NAS messages (TS 24.501, 4.4.4 and 7).
use crate::bystander::Bystander;
use crate::registration::authentication::five_g_aka::{REGISTRATION_REQUEST, from_hex};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_nas::*;
use martlet_tests::{GATEWAY, MetricDelta, RawGnb, TestCore, in_namespace, internet, reaches};

const ERRORS: &str = "martlet_amf_nas_errors_total";

/// The answer to an initial NAS message, after which the AMF releases the connection.
async fn answer_to(gnb: &RawGnb, ran_id: u32, nas: &[u8]) -> Result<Vec<u8>> {
    gnb.send(gnb.initial_ue_message(ran_id, nas)).await?;
    let (_, answer) = gnb.next_nas().await.with_context(|| format!("to {nas:02x?}"))?;
    gnb.complete_next_release().await?;
    Ok(answer)
}

#[test]
fn invalid_initial_messages_are_rejected_and_released() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let bystander = Bystander::at(&core).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        let malformed = MetricDelta::of(ERRORS, &[("reason", "malformed")]);

        // A truncated REGISTRATION REQUEST: REGISTRATION REJECT, invalid mandatory information.
        let answer = answer_to(&gnb, 1, &from_hex("7e0041")).await?;
        ensure!(answer == [0x7e, 0x00, 0x44, 96], "{answer:02x?}");
        // An unknown message type: 5GMM STATUS, message type non-existent.
        let answer = answer_to(&gnb, 2, &from_hex("7e00ff0102")).await?;
        ensure!(answer == [0x7e, 0x00, 0x64, 97], "message type non-existent: {answer:02x?}");
        // A service request with an unknown identity: SERVICE REJECT, UE identity cannot be
        // derived by the network.
        let answer =
            answer_to(&gnb, 3, &from_hex("7e0101020304007e004c100007f40040010badcafe")).await?;
        ensure!(answer == [0x7e, 0x00, 0x4d, 9], "{answer:02x?}");
        ensure!(malformed.get() >= 2.0, "the errors are not counted");
        // Messages that cannot be initial ones, and bytes that are not NAS: the connection is
        // released without an answer.
        for (ran_id, nas) in [
            (4, "7e00670100010000"),
            (5, "00"),
            (6, "7e0201020304057e0057"),
            (7, "2e0101c1ffff91"),
            (8, "7e004c100007f40040010badcafe"),
        ] {
            gnb.send(gnb.initial_ue_message(ran_id, &from_hex(nas))).await?;
            gnb.complete_next_release().await?;
        }
        core.until("their contexts are released", |counts| counts.contexts == 1).await?;
        bystander.expect_core_works().await
    });
}

#[test]
fn unexpected_messages_during_registration_are_rejected_or_ignored() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.timers.t3560_ms = 200;
            config.amf.timers.nas_attempts = 2;
        })
        .await?;
        let bystander = Bystander::at(&core).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        gnb.send(gnb.initial_ue_message(1, &from_hex(REGISTRATION_REQUEST))).await?;
        let (amf_id, _) = gnb.next_nas().await?;
        let unprotected = MetricDelta::of(ERRORS, &[]);
        // SECURITY MODE COMPLETE, REGISTRATION COMPLETE, UL NAS TRANSPORT: not expected now, and
        // not protected.
        for nas in ["7e005e", "7e0043", "7e00670100010000", "7e0043ff", "ff"] {
            gnb.send(gnb.uplink_nas_transport(amf_id, 1, &from_hex(nas))).await?;
        }
        // The challenge is sent once more, and then the connection is released.
        let (_, nas) = gnb.next_nas().await?;
        ensure!(
            nas[2] == 0x56 || nas[2] == 0x64,
            "expected AUTHENTICATION REQUEST or 5GMM STATUS: {nas:02x?}"
        );
        gnb.complete_next_release().await?;
        ensure!(unprotected.get() >= 3.0, "the errors are not counted");
        core.until("its context is released", |counts| counts.contexts == 1).await?;
        bystander.expect_core_works().await
    });
}

#[test]
fn replayed_forged_and_plain_messages_are_ignored() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let bystander = Bystander::at(&core).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let (forged, plain) = (
            MetricDelta::of(ERRORS, &[("reason", "integrity")]),
            MetricDelta::of(ERRORS, &[("reason", "unprotected")]),
        );
        let before = core.counts();
        let guti = ue.status().await?.guti.expect("a registered UE has a 5G-GUTI");
        let ngksi = NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(0))?;
        let kind =
            NasDeRegistrationType::default().with_access_type(AccessTypeValue::ThreeGppAccess);
        let identity = NasFGsMobileIdentity::from_guti(guti);
        let deregistration = Nas5gsMessage::new_5gmm(NasDeregistrationRequestUeOriginating::new(
            kind, ngksi, identity,
        ));

        // The replayed UL NAS TRANSPORT establishes no second session.
        ue.replay_last_nas().await?;
        // Its deregistration: with a wrong MAC, without protection, and on the connection of
        // another UE.
        ue.send_with_wrong_mac(deregistration.clone()).await?;
        ue.send_raw_nas(deregistration.encode()?).await?;
        for (n, nas) in [
            (50, deregistration.encode()?),
            (51, [from_hex("7e010102030400"), deregistration.encode()?].concat()),
        ] {
            gnb.new_ue(core.ue_config(n))?.send_raw_nas(nas).await?;
        }
        reaches(&ue, 1, GATEWAY).await?;
        bystander.expect_undisturbed().await?;
        ensure!(forged.get() >= 2.0 && plain.get() >= 1.0, "the errors are not counted");
        let now = core.counts();
        ensure!(
            (now.sessions, now.registered) == (before.sessions, before.registered),
            "{before:?} has become {now:?}"
        );

        // Forged service and registration requests do not change the context of the idle UE.
        ue.release_to_idle().await?;
        let s_tmsi = NasFGsMobileIdentity::from_s_tmsi(guti.s_tmsi());
        let ngksi = NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(0))?;
        let service = NasServiceRequest::new(
            ngksi,
            NasServiceType::from_service_type(ServiceType::Data),
            s_tmsi,
        );
        let service =
            [from_hex("7e010102030400"), Nas5gsMessage::new_5gmm(service).encode()?].concat();
        let raw = RawGnb::set_up(&core, 2).await?;
        let answer = answer_to(&raw, 1, &service).await?;
        ensure!(
            answer == [0x7e, 0x00, 0x4d, 9],
            "expected SERVICE REJECT, UE identity cannot be derived: {answer:02x?}"
        );
        core.until("the UE is in CM-IDLE", |counts| counts.connected == 1).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.establish_pdu_session(internet()).await?;
        ue.deregister().await?;
        bystander.expect_core_works().await
    });
}
