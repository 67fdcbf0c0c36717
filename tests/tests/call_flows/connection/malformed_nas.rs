//! NAS that is malformed, unprotected, replayed or forged (TS 24.501, 4.4.4 and 7).
use crate::bystander::Witness;
use crate::security::five_g_aka::{REGISTRATION_REQUEST, octets};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_nas::*;
use martlet_tests::{GATEWAY, Growth, RawGnb, TestCore, in_namespace, internet, reaches};

const ERRORS: &str = "martlet_amf_nas_errors_total";

/// What answers an initial NAS message, before the connection ends.
async fn answer_to(gnb: &RawGnb, ran_id: u32, nas: &[u8]) -> Result<Vec<u8>> {
    gnb.send(gnb.initial(ran_id, nas)).await?;
    let (_, answer) = gnb.next_nas().await.with_context(|| format!("to {nas:02x?}"))?;
    gnb.next_release().await?;
    Ok(answer)
}

#[test]
fn invalid_initial_messages_are_rejected_and_released() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let witness = Witness::at(&core).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        let malformed = Growth::of(ERRORS, &[("reason", "malformed")]);

        // A registration request that ends early: 5GMM STATUS, invalid mandatory information.
        let answer = answer_to(&gnb, 1, &octets("7e0041")).await?;
        ensure!(answer == [0x7e, 0x00, 0x64, 96], "{answer:02x?}");
        // A message type that does not exist.
        let answer = answer_to(&gnb, 2, &octets("7e00ff0102")).await?;
        ensure!(answer == [0x7e, 0x00, 0x64, 97], "message type non-existent: {answer:02x?}");
        // A service request that proves nothing: SERVICE REJECT, identity cannot be derived.
        let answer =
            answer_to(&gnb, 3, &octets("7e0101020304007e004c100007f40040010badcafe")).await?;
        ensure!(answer == [0x7e, 0x00, 0x4d, 9], "{answer:02x?}");
        ensure!(malformed.so_far() >= 2.0, "they are counted");
        // What cannot begin anything, and what is not NAS: the connection ends without a word.
        for (ran_id, nas) in [
            (4, "7e00670100010000"),
            (5, "00"),
            (6, "7e0201020304057e0057"),
            (7, "2e0101c1ffff91"),
            (8, "7e004c100007f40040010badcafe"),
        ] {
            gnb.send(gnb.initial(ran_id, &octets(nas))).await?;
            gnb.next_release().await?;
        }
        core.until("nothing is left of them", |counts| counts.contexts == 1).await?;
        witness.and_all_is_well().await
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
        let witness = Witness::at(&core).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        gnb.send(gnb.initial(1, &octets(REGISTRATION_REQUEST))).await?;
        let (amf_id, _) = gnb.next_nas().await?;
        let unprotected = Growth::of(ERRORS, &[]);
        // SECURITY MODE COMPLETE, REGISTRATION COMPLETE, UL NAS TRANSPORT: not now, and not without
        // protection.
        for nas in ["7e005e", "7e0043", "7e00670100010000", "7e0043ff", "ff"] {
            gnb.send(gnb.uplink(amf_id, 1, &octets(nas))).await?;
        }
        // The phone is asked for its answer once more, and then let go.
        let (_, nas) = gnb.next_nas().await?;
        ensure!(
            nas[2] == 0x56 || nas[2] == 0x64,
            "AUTHENTICATION REQUEST, or a STATUS: {nas:02x?}"
        );
        gnb.next_release().await?;
        ensure!(unprotected.so_far() >= 3.0, "they are counted");
        core.until("nothing is left of it", |counts| counts.contexts == 1).await?;
        witness.and_all_is_well().await
    });
}

#[test]
fn replayed_forged_and_plain_messages_are_ignored() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let witness = Witness::at(&core).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        let (forged, plain) = (
            Growth::of(ERRORS, &[("reason", "integrity")]),
            Growth::of(ERRORS, &[("reason", "unprotected")]),
        );
        let before = core.counts();
        let guti = phone.status().await?.guti.expect("a registered phone has a 5G-GUTI");
        let ngksi = NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(0))?;
        let kind =
            NasDeRegistrationType::default().with_access_type(AccessTypeValue::ThreeGppAccess);
        let identity = NasFGsMobileIdentity::from_guti(guti);
        let deregistration = Nas5gsMessage::new_5gmm(NasDeregistrationRequestUeOriginating::new(
            kind, ngksi, identity,
        ));

        // The UL NAS TRANSPORT of its session once more: there is still one session.
        phone.replay_last_nas().await?;
        // Its deregistration: with a wrong MAC, without protection, and as another phone on a
        // connection of its own.
        phone.send_with_wrong_mac(deregistration.clone()).await?;
        phone.send_raw_nas(deregistration.encode()?).await?;
        for (n, nas) in [
            (50, deregistration.encode()?),
            (51, [octets("7e010102030400"), deregistration.encode()?].concat()),
        ] {
            gnb.new_ue(core.phone(n))?.send_raw_nas(nas).await?;
        }
        reaches(&phone, 1, GATEWAY).await?;
        witness.is_untouched().await?;
        ensure!(forged.so_far() >= 2.0 && plain.so_far() >= 1.0, "they are counted");
        let now = core.counts();
        ensure!(
            (now.sessions, now.registered) == (before.sessions, before.registered),
            "{before:?} and then {now:?}"
        );

        // Its idle context is not touched either: neither by a forged service request nor by a
        // forged registration.
        phone.release_to_idle().await?;
        let s_tmsi = NasFGsMobileIdentity::from_s_tmsi(guti.s_tmsi());
        let ngksi = NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(0))?;
        let service = NasServiceRequest::new(
            ngksi,
            NasServiceType::from_service_type(ServiceType::Data),
            s_tmsi,
        );
        let service =
            [octets("7e010102030400"), Nas5gsMessage::new_5gmm(service).encode()?].concat();
        let raw = RawGnb::set_up(&core, 2).await?;
        let answer = answer_to(&raw, 1, &service).await?;
        ensure!(
            answer == [0x7e, 0x00, 0x4d, 9],
            "SERVICE REJECT, identity cannot be derived: {answer:02x?}"
        );
        core.until("the phone is idle", |counts| counts.connected == 1).await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.establish_pdu_session(internet()).await?;
        phone.deregister().await?;
        witness.and_all_is_well().await
    });
}
