//! EAP-AKA' and its failures, and TUAK with both authentication methods (TS 33.501, 6.1.3.1; TS
//! 24.501, 5.4.1.2; TS 35.231).
use crate::registration::authentication::five_g_aka::{REGISTRATION_REQUEST, from_hex};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_ngap::ngap::{Cause, CauseNas};
use martlet_ran::ue::{Abort, Event, OperatorKey, UeConfig};
use martlet_ran::{UeError, UeEvent};
use martlet_store::{AuthenticationMethod, Secret, Subscriber, Tuak};
use martlet_tests::{RawGnb, TestCore, in_namespace};

const TOPC: [u8; 32] = [0x7a; 32];

fn with_eap(subscriber: &mut Subscriber) {
    subscriber.authentication_method = AuthenticationMethod::EapAkaPrime;
}

/// The causes of the authentication failures that a UE reported.
fn failures(events: &mut tokio::sync::broadcast::Receiver<UeEvent>) -> Vec<u8> {
    std::iter::from_fn(|| events.try_recv().ok())
        .filter_map(|event| match event {
            UeEvent::Nas(Event::AuthenticationFailureSent { cause }) => Some(cause),
            _ => None,
        })
        .collect()
}

async fn on(sbi: Sbi) -> Result<()> {
    let core = TestCore::start_on(sbi, |_| {}).await?;
    core.subscribe(1, with_eap)?;
    core.subscribe(2, |subscriber| {
        with_eap(subscriber);
        subscriber.tuak = Some(Tuak::new(Secret(TOPC)));
    })?;
    core.subscribe(3, |subscriber| subscriber.tuak = Some(Tuak::new(Secret(TOPC))))?;
    let gnb = core.gnb(1).await?;
    let tuak = |n| UeConfig { operator_key: OperatorKey::Topc(TOPC), ..core.ue_config(n) };
    for config in [core.ue_config(1), tuak(2), tuak(3)] {
        let ue = gnb.new_ue(config)?;
        ue.register().await?;
        core.use_session_and_deregister(&ue).await?;
        // A second registration by SUCI.
        ue.forget_registration().await?;
        ue.register().await?;
        ue.deregister().await?;
    }
    core.sbi_record.check(&["nausf-auth EapAuthMethod", "nausf-auth Confirm5gAka"]).await
}

#[test]
fn ues_register_with_each_method_and_algorithm() {
    in_namespace(|| on(Sbi::Local));
}

#[test]
fn ues_register_with_each_method_over_the_fabric() {
    in_namespace(|| on(Sbi::Fabric));
}

#[test]
fn ues_register_with_each_method_over_http() {
    in_namespace(|| on(Sbi::Http));
}

#[test]
fn synchronisation_failure_resynchronises_the_ausf() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        core.subscribe(1, with_eap)?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(UeConfig { sqn: 1 << 20, ..core.ue_config(1) })?;
        let mut events = ue.subscribe().await?;
        ue.register().await?;
        ensure!(failures(&mut events) == [21], "expected one synchronisation failure");
        ue.deregister().await?;
        ue.forget_registration().await?;
        ue.register().await?;
        ensure!(failures(&mut events).is_empty(), "the second challenge failed");
        Ok(())
    });
}

#[test]
fn ue_rejects_a_network_without_its_key() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        core.subscribe(1, with_eap)?;
        let gnb = core.gnb(1).await?;
        let ue =
            gnb.new_ue(UeConfig { operator_key: OperatorKey::Opc([0; 16]), ..core.ue_config(1) })?;
        let mut events = ue.subscribe().await?;
        let refused = ue.register().await.expect_err("a wrong key is rejected");
        ensure!(refused == UeError::Aborted(Abort::AuthenticationRejected), "{refused}");
        ensure!(failures(&mut events) == [20], "expected one MAC failure");
        core.until_all_released().await?;
        core.until("no context is left at the AMF", |counts| counts.contexts == 0).await
    });
}

#[test]
fn known_ue_is_reauthenticated_when_configured() {
    in_namespace(|| async {
        let core =
            TestCore::start(Sbi::Local, |config| config.amf.security.always_authenticate = true)
                .await?;
        core.subscribe(1, with_eap)?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        ue.register().await?;
        let before = core.stored_sqn(1)?;
        // It registers with its 5G-GUTI and a valid security context.
        ue.deregister().await?;
        ue.register().await?;
        ensure!(core.stored_sqn(1)? > before, "it was not authenticated again");
        Ok(())
    });
}

/// Sends a REGISTRATION REQUEST from a raw gNB. Returns the gNB, the AMF UE NGAP ID and the EAP
/// request.
async fn challenged(core: &TestCore) -> Result<(RawGnb, u64, Vec<u8>)> {
    let gnb = RawGnb::set_up(core, 1).await?;
    gnb.send(gnb.initial_ue_message(1, &from_hex(REGISTRATION_REQUEST))).await?;
    let (amf_id, nas) = gnb.next_nas().await?;
    // AUTHENTICATION REQUEST: ngKSI, ABBA of two octets, the EAP message (0x78) with its length of
    // two octets.
    ensure!(
        nas.starts_with(&[0x7e, 0x00, 0x56]) && nas[4..7] == [2, 0, 0] && nas[7] == 0x78,
        "{nas:02x?}"
    );
    let packet = nas.get(10..).context("no EAP packet")?.to_vec();
    ensure!(
        packet[0] == 1 && packet[4] == 50 && packet[5] == 1,
        "expected AKA'-Challenge: {packet:02x?}"
    );
    Ok((gnb, amf_id, packet))
}

/// AUTHENTICATION RESPONSE with an EAP packet.
fn response(packet: &[u8]) -> Vec<u8> {
    let length = u16::try_from(packet.len()).expect("length fits").to_be_bytes();
    [&[0x7e, 0x00, 0x57, 0x78], length.as_slice(), packet].concat()
}

#[test]
fn wrong_response_is_rejected_and_reported() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        core.subscribe(1, with_eap)?;
        let (gnb, amf_id, request) = challenged(&core).await?;
        // Wrong AT_RES and AT_MAC.
        let mut wrong = vec![2, request[1], 0, 40, 50, 1, 0, 0, 3, 3, 0, 64];
        wrong.extend([0x5a; 8]);
        wrong.extend([11, 5, 0, 0]);
        wrong.extend([0x5a; 16]);
        gnb.send(gnb.uplink_nas_transport(amf_id, 1, &response(&wrong))).await?;
        // AKA'-Notification with the next identifier, which the UE confirms.
        let (_, nas) = gnb.next_nas().await?;
        let notification = nas.get(10..).context("no EAP packet")?;
        ensure!(notification[..2] == [1, request[1] + 1] && notification[5] == 12, "{nas:02x?}");
        gnb.send(gnb.uplink_nas_transport(
            amf_id,
            1,
            &response(&[2, request[1] + 1, 0, 8, 50, 12, 0, 0]),
        ))
        .await?;
        let (_, nas) = gnb.next_nas().await?;
        let failure = [0x7e, 0x00, 0x58, 0x78, 0, 4, 4, request[1] + 1, 0, 4];
        ensure!(nas == failure, "expected AUTHENTICATION REJECT with EAP-Failure: {nas:02x?}");
        let cause = gnb.complete_next_release().await?;
        ensure!(cause == Cause::nas(CauseNas::authentication_failure), "{cause:?}");
        core.until("no context is left at the AMF", |counts| counts.contexts == 0).await?;
        core.sbi_record.check(&["nausf-auth EapAuthMethod"]).await
    });
}

#[test]
fn malformed_eap_responses_are_rejected() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        core.subscribe(1, with_eap)?;
        for wrong in ["", "0299", "02010004", "ffffffff", "020100083201000163010000"] {
            let (gnb, amf_id, _) = challenged(&core).await?;
            // Empty: a response without the EAP element.
            let nas = match wrong.len() {
                0..8 => vec![0x7e, 0x00, 0x57],
                _ => response(&from_hex(wrong)),
            };
            gnb.send(gnb.uplink_nas_transport(amf_id, 1, &nas)).await?;
            let (_, nas) = gnb.next_nas().await?;
            ensure!(
                nas.starts_with(&[0x7e, 0x00, 0x58, 0x78]),
                "{wrong}: expected AUTHENTICATION REJECT: {nas:02x?}"
            );
            gnb.complete_next_release().await?;
        }
        core.until("no context is left at the AMF", |counts| counts.contexts == 0).await
    });
}
