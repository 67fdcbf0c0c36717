//! NGAP messages that are malformed, unexpected, or about a UE of another gNB (TS 38.413, 10).
use crate::bystander::Bystander;
use crate::registration::authentication::five_g_aka::{REGISTRATION_REQUEST, from_hex};
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::build_ngap;
use martlet_ngap::ngap::*;
use martlet_tests::{MetricDelta, RawGnb, TestCore, cause_of, in_namespace};
use std::time::Duration;

const ERRORS: &str = "martlet_amf_ngap_errors_total";

/// Expects an ERROR INDICATION with this cause.
async fn indicated(gnb: &RawGnb, cause: Cause) -> Result<()> {
    let answer = gnb.next().await?;
    ensure!(
        answer.kind() == Kind::Initiating_ErrorIndication,
        "expected ERROR INDICATION: {answer:?}"
    );
    let reported = cause_of(&answer)?;
    ensure!(reported == cause, "expected {cause:?}: {reported:?}");
    Ok(())
}

#[test]
fn malformed_and_unexpected_ngap_is_answered_with_its_cause() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let bystander = Bystander::at(&core).await?;
        let all = MetricDelta::of(ERRORS, &[]);
        let gnb = RawGnb::connect(&core, 1).await?;

        // Before NG SETUP any other message is an error.
        gnb.send(gnb.initial_ue_message(1, &from_hex(REGISTRATION_REQUEST))).await?;
        let state = CauseProtocol::message_not_compatible_with_receiver_state;
        indicated(&gnb, Cause::protocol(state)).await?;

        // Bytes that are not NGAP, and truncated NGAP.
        for wrong in [
            &b"\xff\xff\xff\xff\xff\xff"[..],
            b"\x00\x15\x00",
            &gnb.ng_setup("001", 1)[..20],
            &[0x55; 3000],
        ] {
            gnb.send(wrong.to_vec()).await?;
            indicated(&gnb, Cause::protocol(CauseProtocol::transfer_syntax_error)).await?;
        }

        // NG SETUP REQUEST without its mandatory elements.
        let bare = build_ngap!(
            InitiatingMessage,
            NGSetup,
            NGSetupRequest,
            DefaultPagingDRX(PagingDRX::v128)
        )?;
        gnb.send(bare.encode()?).await?;
        let answer = gnb.next().await?;
        ensure!(
            answer.kind() == Kind::Unsuccessful_NGSetup,
            "expected NG SETUP FAILURE: {answer:?}"
        );
        ensure!(cause_of(&answer)? == Cause::protocol(CauseProtocol::abstract_syntax_error_reject));

        // A valid NG SETUP REQUEST is still accepted.
        gnb.send(gnb.ng_setup("001", 1)).await?;
        gnb.next_of(Kind::Successful_NGSetup).await?;
        bystander.expect_undisturbed().await?;

        // UE identifiers that do not exist.
        gnb.send(gnb.uplink_nas_transport(0xff_ffff, 5, &from_hex(REGISTRATION_REQUEST))).await?;
        indicated(&gnb, Cause::radioNetwork(CauseRadioNetwork::unknown_local_UE_NGAP_ID)).await?;
        // A procedure that the AMF does not support, and one that does not exist.
        let unknown = from_hex("00fa000400000000");
        gnb.send(unknown).await?;
        let answer = gnb.next().await?;
        ensure!(answer.kind() == Kind::Initiating_ErrorIndication, "{answer:?}");

        // An unexpected outcome and an ERROR INDICATION are not answered.
        gnb.send(gnb.release_complete(0xff_ffff, 5)).await?;
        let indication = build_ngap!(
            InitiatingMessage,
            ErrorIndication,
            ErrorIndication,
            Cause(Cause::protocol(CauseProtocol::unspecified)),
        )?;
        gnb.send(indication.encode()?).await?;
        ensure!(gnb.is_silent(Duration::from_millis(200)).await, "the AMF must not answer");

        ensure!(all.get() >= 8.0, "{} errors are counted", all.get());
        bystander.expect_core_works().await
    });
}

#[test]
fn gnb_cannot_act_for_a_ue_of_another_gnb() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let bystander = Bystander::at(&core).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        let unknown = Cause::radioNetwork(CauseRadioNetwork::unknown_local_UE_NGAP_ID);
        // It tries several identifiers, among them that of the bystander.
        for amf_id in 0..64 {
            gnb.send(gnb.uplink_nas_transport(amf_id, 1, &from_hex(REGISTRATION_REQUEST))).await?;
            indicated(&gnb, unknown.clone()).await?;
            let release = build_ngap!(
                InitiatingMessage,
                UEContextReleaseRequest,
                UEContextReleaseRequest,
                AMF_UE_NGAP_ID(amf_id),
                RAN_UE_NGAP_ID(1u32),
                Cause(Cause::radioNetwork(CauseRadioNetwork::user_inactivity)),
            )?;
            gnb.send(release.encode()?).await?;
            indicated(&gnb, unknown.clone()).await?;
        }
        bystander.expect_core_works().await
    });
}

#[test]
fn other_sctp_payload_protocols_are_dropped() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let bystander = Bystander::at(&core).await?;
        let dropped = MetricDelta::of(ERRORS, &[("reason", "payload_protocol")]);
        let gnb = RawGnb::set_up(&core, 1).await?;
        gnb.send_with_ppid(7, gnb.ng_setup("001", 1)).await?;
        ensure!(gnb.is_silent(Duration::from_millis(200)).await, "the AMF must not answer");
        ensure!(dropped.get() >= 1.0, "the error is not counted");
        bystander.expect_core_works().await
    });
}
