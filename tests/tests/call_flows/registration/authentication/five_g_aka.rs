//! 5G-AKA and its failures (TS 24.501, 5.4.1.3; TS 33.501, 6.1.3).
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ngap::ngap::{Cause, CauseNas};
use martlet_ran::ue::{Abort, Event, OperatorKey};
use martlet_ran::{UeError, UeEvent};
use martlet_tests::{RawGnb, TestCore, in_namespace};
use std::time::{Duration, Instant};

/// REGISTRATION REQUEST of the first subscriber, by SUCI with the null scheme.
pub const REGISTRATION_REQUEST: &str = "7e004179000d0100f1100000000000000000102e04f0f0f0f0";
/// AUTHENTICATION REQUEST, AUTHENTICATION REJECT, IDENTITY REQUEST for the SUCI.
const AUTHENTICATION_REQUEST: [u8; 3] = [0x7e, 0x00, 0x56];
const AUTHENTICATION_REJECT: [u8; 3] = [0x7e, 0x00, 0x58];
const IDENTITY_REQUEST: [u8; 4] = [0x7e, 0x00, 0x5b, 0x01];

/// Decodes hexadecimal digits.
pub fn from_hex(digits: &str) -> Vec<u8> {
    let digit =
        |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(digit).collect()
}

/// Sends a REGISTRATION REQUEST from a raw gNB and receives the challenge. Returns the gNB and the
/// AMF UE NGAP ID.
async fn challenged(core: &TestCore) -> Result<(RawGnb, u64)> {
    let gnb = RawGnb::set_up(core, 1).await?;
    gnb.send(gnb.initial_ue_message(1, &from_hex(REGISTRATION_REQUEST))).await?;
    let (amf_id, nas) = gnb.next_nas().await?;
    ensure!(
        nas.starts_with(&AUTHENTICATION_REQUEST),
        "expected AUTHENTICATION REQUEST: {nas:02x?}"
    );
    Ok((gnb, amf_id))
}

#[test]
fn ue_rejects_a_network_without_its_key() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut config = core.ue_config(1);
        config.operator_key = OperatorKey::Opc([0; 16]);
        let ue = gnb.new_ue(config)?;
        let mut events = ue.subscribe().await?;
        let refused = ue.register().await.expect_err("a wrong key is rejected");
        ensure!(refused == UeError::Aborted(Abort::AuthenticationRejected), "{refused}");
        // MAC failure, identification, and a second MAC failure (5.4.1.3.7 c).
        let failures = std::iter::from_fn(|| events.try_recv().ok())
            .filter(|e| matches!(e, UeEvent::Nas(Event::AuthenticationFailureSent { cause: 20 })));
        ensure!(failures.count() == 2, "expected two MAC failures");
        core.until_all_released().await?;
        core.until("no context is left at the AMF", |counts| counts.contexts == 0).await
    });
}

#[test]
fn synchronisation_failure_resynchronises_the_network() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut config = core.ue_config(1);
        config.sqn = 1 << 20;
        let ue = gnb.new_ue(config)?;
        let mut events = ue.subscribe().await?;
        ue.register().await?;
        let failed = std::iter::from_fn(|| events.try_recv().ok())
            .any(|e| matches!(e, UeEvent::Nas(Event::AuthenticationFailureSent { cause: 21 })));
        ensure!(failed, "expected a synchronisation failure");
        // The sequence number of the network is now resynchronised.
        ue.deregister().await?;
        ue.forget_registration().await?;
        ue.register().await?;
        let failed = std::iter::from_fn(|| events.try_recv().ok())
            .any(|e| matches!(e, UeEvent::Nas(Event::AuthenticationFailureSent { .. })));
        ensure!(!failed, "the second challenge failed");
        core.sbi_record.check(&["nudr-dr ModifyAuthenticationSubscription"]).await
    });
}

#[test]
fn repeated_synchronisation_failure_is_rejected() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let (gnb, amf_id) = challenged(&core).await?;
        // A synchronisation failure with an AUTS that the home network cannot verify.
        let mut failure = vec![0x7e, 0x00, 0x59, 21, 0x30, 14];
        failure.extend([0x5a; 14]);
        gnb.send(gnb.uplink_nas_transport(amf_id, 1, &failure)).await?;
        let (_, nas) = gnb.next_nas().await?;
        ensure!(nas.starts_with(&AUTHENTICATION_REQUEST), "expected another challenge: {nas:02x?}");
        gnb.send(gnb.uplink_nas_transport(amf_id, 1, &failure)).await?;
        let (_, nas) = gnb.next_nas().await?;
        ensure!(nas == AUTHENTICATION_REJECT, "expected AUTHENTICATION REJECT: {nas:02x?}");
        gnb.complete_next_release().await?;
        core.until("no context is left at the AMF", |counts| counts.contexts == 0).await
    });
}

#[test]
fn wrong_res_star_is_rejected_and_reported_to_the_home_network() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let (gnb, amf_id) = challenged(&core).await?;
        let mut response = vec![0x7e, 0x00, 0x57, 0x2d, 16];
        response.extend([0x5a; 16]);
        gnb.send(gnb.uplink_nas_transport(amf_id, 1, &response)).await?;
        let (_, nas) = gnb.next_nas().await?;
        ensure!(nas == AUTHENTICATION_REJECT, "expected AUTHENTICATION REJECT: {nas:02x?}");
        let cause = gnb.complete_next_release().await?;
        ensure!(cause == Cause::nas(CauseNas::authentication_failure), "{cause:?}");
        core.until("no context is left at the AMF", |counts| counts.contexts == 0).await?;
        core.sbi_record.check(&["nausf-auth Confirm5gAka"]).await
    });
}

#[test]
fn unanswered_challenge_is_repeated_and_then_released() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.timers.t3560_ms = 100;
            config.amf.timers.t3570_ms = 100;
            config.amf.timers.nas_attempts = 3;
        })
        .await?;
        let started = Instant::now();
        let (gnb, _) = challenged(&core).await?;
        for attempt in 2..=3 {
            let (_, nas) = gnb.next_nas().await?;
            ensure!(
                nas.starts_with(&AUTHENTICATION_REQUEST),
                "attempt {attempt} (T3560): {nas:02x?}"
            );
        }
        gnb.complete_next_release().await?;
        ensure!(started.elapsed() >= Duration::from_millis(300), "the timer expired too early");
        // A registration with an unknown 5G-GUTI whose IDENTITY REQUEST is not answered.
        let unknown_guti = "7e004179000bf200f1100101010badcafe2e04f0f0f0f0";
        gnb.send(gnb.initial_ue_message(2, &from_hex(unknown_guti))).await?;
        for attempt in 1..=3 {
            let (_, nas) = gnb.next_nas().await?;
            ensure!(nas == IDENTITY_REQUEST, "attempt {attempt} (T3570): {nas:02x?}");
        }
        gnb.complete_next_release().await?;
        core.until("no context is left at the AMF", |counts| {
            (counts.contexts, counts.connected) == (0, 0)
        })
        .await
    });
}
