//! NGAP that is malformed, out of order, or about somebody else's UE (TS 38.413, 10).
use crate::bystander::Witness;
use crate::security::five_g_aka::{REGISTRATION_REQUEST, octets};
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::build_ngap;
use martlet_ngap::ngap::*;
use martlet_tests::{Growth, RawGnb, TestCore, cause_of, in_namespace};
use std::time::Duration;

const ERRORS: &str = "martlet_amf_ngap_errors_total";

/// The next message is an ERROR INDICATION with this cause.
async fn indicated(gnb: &RawGnb, cause: Cause) -> Result<()> {
    let answer = gnb.next().await?;
    ensure!(
        answer.kind() == Kind::Initiating_ErrorIndication,
        "ERROR INDICATION is due: {answer:?}"
    );
    let said = cause_of(&answer)?;
    ensure!(said == cause, "{cause:?} is due: {said:?}");
    Ok(())
}

#[test]
fn malformed_and_unexpected_ngap_is_answered_with_its_cause() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let witness = Witness::at(&core).await?;
        let all = Growth::of(ERRORS, &[]);
        let gnb = RawGnb::connect(&core, 1).await?;

        // Before NG SETUP nothing else has a place.
        gnb.send(gnb.initial(1, &octets(REGISTRATION_REQUEST))).await?;
        let state = CauseProtocol::message_not_compatible_with_receiver_state;
        indicated(&gnb, Cause::protocol(state)).await?;

        // No NGAP, and NGAP that ends early.
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
        ensure!(answer.kind() == Kind::Unsuccessful_NGSetup, "NG SETUP FAILURE is due: {answer:?}");
        ensure!(cause_of(&answer)? == Cause::protocol(CauseProtocol::abstract_syntax_error_reject));

        // Then one that is as it should be.
        gnb.send(gnb.ng_setup("001", 1)).await?;
        gnb.next_of(Kind::Successful_NGSetup).await?;
        witness.is_untouched().await?;

        // UEs that are not connected.
        gnb.send(gnb.uplink(0xff_ffff, 5, &octets(REGISTRATION_REQUEST))).await?;
        indicated(&gnb, Cause::radioNetwork(CauseRadioNetwork::unknown_local_UE_NGAP_ID)).await?;
        // A procedure that the AMF does not have, and one that nobody has.
        let unknown = octets("00fa000400000000");
        gnb.send(unknown).await?;
        let answer = gnb.next().await?;
        ensure!(answer.kind() == Kind::Initiating_ErrorIndication, "{answer:?}");

        // An outcome that nobody waits for, and an error indication, are not answered.
        gnb.send(gnb.released(0xff_ffff, 5)).await?;
        let indication = build_ngap!(
            InitiatingMessage,
            ErrorIndication,
            ErrorIndication,
            Cause(Cause::protocol(CauseProtocol::unspecified)),
        )?;
        gnb.send(indication.encode()?).await?;
        ensure!(gnb.is_silent(Duration::from_millis(200)).await, "nothing is due");

        ensure!(all.so_far() >= 8.0, "each is counted: {}", all.so_far());
        witness.and_all_is_well().await
    });
}

#[test]
fn gnb_cannot_act_for_a_ue_of_another_gnb() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let witness = Witness::at(&core).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        let unknown = Cause::radioNetwork(CauseRadioNetwork::unknown_local_UE_NGAP_ID);
        // Whatever identities it tries, the witness's among them.
        for amf_id in 0..64 {
            gnb.send(gnb.uplink(amf_id, 1, &octets(REGISTRATION_REQUEST))).await?;
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
        witness.and_all_is_well().await
    });
}

#[test]
fn other_sctp_payload_protocols_are_dropped() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let witness = Witness::at(&core).await?;
        let dropped = Growth::of(ERRORS, &[("reason", "payload_protocol")]);
        let gnb = RawGnb::set_up(&core, 1).await?;
        gnb.send_under(0, gnb.ng_setup("001", 1)).await?;
        ensure!(gnb.is_silent(Duration::from_millis(200)).await, "nothing is due");
        ensure!(dropped.so_far() >= 1.0, "it is counted");
        witness.and_all_is_well().await
    });
}
