//! Security mode control and the NAS algorithms (TS 24.501, 5.4.2; TS 33.501, 5.5 and 6.7).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_amf::{CipheringName, IntegrityName};
use martlet_ran::RegistrationType;
use martlet_ran::ue::{Abort, ServicePurpose};
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};

/// The bit of an algorithm in the UE security capability.
fn only(algorithm: u8) -> u8 {
    0x80 >> algorithm
}

#[test]
fn every_pair_of_algorithms_works() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        for (nea, nia) in (0..=3).flat_map(|nea| (1..=3).map(move |nia| (nea, nia))) {
            let mut config = core.ue_config(1);
            (config.nea, config.nia) = (only(nea), only(nia));
            let ue = gnb.new_ue(config)?;
            core.register_with_session(&ue).await?;
            let algorithms = ue.status().await?.algorithms;
            ensure!(
                algorithms == Some((nea, nia)),
                "expected NEA{nea} and NIA{nia}: {algorithms:?}"
            );
            reaches(&ue, 1, GATEWAY).await?;
            ue.release_to_idle().await?;
            ue.service_request_for(ServicePurpose::Data, &[1]).await?;
            reaches(&ue, 1, GATEWAY).await?;
            ue.deregister().await?;
        }
        core.until_all_released().await
    });
}

#[test]
fn network_selects_its_most_preferred_algorithm() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.security.ciphering = vec![CipheringName::NEA3, CipheringName::NEA2];
            config.amf.security.integrity = vec![IntegrityName::NIA1, IntegrityName::NIA2];
        })
        .await?;
        let gnb = core.gnb(1).await?;
        ensure!(gnb.new_ue(core.ue_config(1))?.register().await?.algorithms == Some((3, 1)));
        let mut config = core.ue_config(2);
        (config.nea, config.nia) = (only(2) | only(0), only(2));
        ensure!(gnb.new_ue(config)?.register().await?.algorithms == Some((2, 2)));
        // Neither NEA0 nor NIA3 is allowed.
        for (nea, nia) in [(only(0), only(1)), (only(3), only(3))] {
            let mut config = core.ue_config(3);
            (config.nea, config.nia) = (nea, nia);
            let refused = gnb.new_ue(config)?.register().await.expect_err("no algorithm in common");
            ensure!(
                refused.cause() == Some(23),
                "expected UE security capabilities mismatch: {refused}"
            );
        }
        Ok(())
    });
}

#[test]
fn null_integrity_is_for_emergency_registration_only() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.security.integrity = vec![IntegrityName::NIA0, IntegrityName::NIA2];
        })
        .await?;
        let gnb = core.gnb(1).await?;
        // The configuration lists NIA0 first, and the UE would accept it.
        let mut config = core.ue_config(1);
        config.null_integrity_allowed = true;
        let ue = gnb.new_ue(config.clone())?;
        let algorithms = ue.register().await?.algorithms;
        ensure!(algorithms == Some((2, 2)), "expected NIA2: {algorithms:?}");
        ue.deregister().await?;
        config.nia = only(0);
        let ue = gnb.new_ue(config)?;
        let refused = ue.register().await.expect_err("NIA0 is for emergencies only");
        ensure!(
            refused.cause() == Some(23),
            "expected UE security capabilities mismatch: {refused}"
        );
        // An emergency registration is accepted, a session with a data network is not.
        let registered = ue.register_as(RegistrationType::EmergencyRegistration).await?;
        ensure!(registered.algorithms.is_some_and(|(_, nia)| nia == 0), "{registered:?}");
        let refused =
            ue.establish_pdu_session(internet()).await.expect_err("no session without integrity");
        ensure!(refused.cause() == Some(90), "expected payload was not forwarded: {refused}");
        ue.deregister().await?;
        // Its security context, with NIA0, is not for a normal registration either.
        let refused = ue.register().await.expect_err("NIA0 is for emergencies only");
        ensure!(
            refused.cause() == Some(23),
            "expected UE security capabilities mismatch: {refused}"
        );
        core.until_all_released().await
    });
}

#[test]
fn ue_rejects_null_integrity() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.security.integrity = vec![IntegrityName::NIA0];
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        let refused = ue
            .register_as(RegistrationType::EmergencyRegistration)
            .await
            .expect_err("the UE rejects NIA0");
        ensure!(
            refused == martlet_ran::UeError::Aborted(Abort::SecurityModeRejected(24)),
            "expected security mode rejected, unspecified: {refused}"
        );
        core.until("no context is left at the AMF", |counts| counts.contexts == 0).await
    });
}
