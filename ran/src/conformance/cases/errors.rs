//! Messages that are malformed, unknown, or about connections that do not exist (TS 38.413, 10).
use super::super::bench::Bench;
use super::super::case::{Behaviour, Case, Unmet, require};
use super::super::raw_gnb::{Ids, described};
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ngap::*;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "transfer-syntax-error",
        behaviour: Behaviour::Invalid,
        stimulus: "bytes that are not NGAP",
        expected: "ERROR INDICATION, transfer syntax error, and further service",
        clause: "TS 38.413, 10.2",
        run: |bench| Box::pin(transfer_syntax(bench)),
    },
    Case {
        name: "truncated-message",
        behaviour: Behaviour::Invalid,
        stimulus: "INITIAL UE MESSAGE cut after 12 octets",
        expected: "ERROR INDICATION, transfer syntax error, and further service",
        clause: "TS 38.413, 10.2",
        run: |bench| Box::pin(truncated(bench)),
    },
    Case {
        name: "unknown-procedure-reject",
        behaviour: Behaviour::Valid,
        stimulus: "a message with an unknown procedure code and criticality reject",
        expected: "ERROR INDICATION, abstract syntax error (reject)",
        clause: "TS 38.413, 10.3.4.1",
        run: |bench| Box::pin(unknown_procedure_reject(bench)),
    },
    Case {
        name: "unknown-procedure-ignore",
        behaviour: Behaviour::Valid,
        stimulus: "a message with an unknown procedure code and criticality ignore",
        expected: "no answer, and further service",
        clause: "TS 38.413, 10.3.4.1",
        run: |bench| Box::pin(unknown_procedure_ignore(bench)),
    },
    Case {
        name: "missing-nas-pdu",
        behaviour: Behaviour::Invalid,
        stimulus: "INITIAL UE MESSAGE without NAS-PDU (criticality reject)",
        expected: "ERROR INDICATION, and further service",
        clause: "TS 38.413, 10.3.5",
        run: |bench| Box::pin(missing_nas_pdu(bench)),
    },
    Case {
        name: "unknown-amf-ue-ngap-id",
        behaviour: Behaviour::Invalid,
        stimulus: "UPLINK NAS TRANSPORT with an AMF UE NGAP ID that the AMF never assigned",
        expected: "ERROR INDICATION, unknown local UE NGAP ID",
        clause: "TS 38.413, 10.6",
        run: |bench| Box::pin(unknown_amf_id(bench)),
    },
    Case {
        name: "inconsistent-ran-ue-ngap-id",
        behaviour: Behaviour::Invalid,
        stimulus: "UPLINK NAS TRANSPORT with the AMF UE NGAP ID of a UE and another RAN UE NGAP ID",
        expected: "ERROR INDICATION, inconsistent remote UE NGAP ID",
        clause: "TS 38.413, 10.6",
        run: |bench| Box::pin(inconsistent_ran_id(bench)),
    },
    Case {
        name: "foreign-amf-ue-ngap-id",
        behaviour: Behaviour::Invalid,
        stimulus: "UE CONTEXT RELEASE REQUEST of a gNB for the connection of a UE at another gNB",
        expected: "ERROR INDICATION to that gNB; the UE keeps its connection",
        clause: "TS 38.413, 10.6",
        run: |bench| Box::pin(foreign_amf_id(bench)),
    },
    Case {
        name: "release-of-unknown-connection",
        behaviour: Behaviour::Invalid,
        stimulus: "UE CONTEXT RELEASE REQUEST for a connection that does not exist",
        expected: "ERROR INDICATION, unknown local UE NGAP ID",
        clause: "TS 38.413, 10.6",
        run: |bench| Box::pin(release_of_unknown(bench)),
    },
    Case {
        name: "path-switch-of-unknown-ue",
        behaviour: Behaviour::Invalid,
        stimulus: "PATH SWITCH REQUEST with an AMF UE NGAP ID that the AMF never assigned",
        expected: "PATH SWITCH REQUEST FAILURE or ERROR INDICATION",
        clause: "TS 38.413, 8.4.4.3 and 10.6",
        run: |bench| Box::pin(path_switch_of_unknown(bench)),
    },
    Case {
        name: "error-indication-is-not-answered",
        behaviour: Behaviour::Valid,
        stimulus: "ERROR INDICATION with the cause unspecified",
        expected: "no answer, and further service",
        clause: "TS 38.413, 8.7.5.2",
        run: |bench| Box::pin(error_indication(bench)),
    },
];

const TRANSFER_SYNTAX: Cause = Cause::protocol(CauseProtocol::transfer_syntax_error);
const UNKNOWN: Ids = Ids { amf: 0xff_ffff_fffe, ran: 0xfffe };

/// The AMF may name either side's identifier, or both of a pair, as unknown.
fn unknown_id() -> [Cause; 2] {
    [
        Cause::radioNetwork(CauseRadioNetwork::unknown_local_UE_NGAP_ID),
        Cause::radioNetwork(CauseRadioNetwork::inconsistent_remote_UE_NGAP_ID),
    ]
}

async fn transfer_syntax(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    gnb.send(vec![0xff; 6]).await?;
    gnb.expect_error_indication(&[TRANSFER_SYNTAX]).await?;
    gnb.expect_service().await?;
    gnb.shutdown().await;
    Ok(())
}

async fn truncated(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    let whole = gnb.initial_ue_message(1, &[0x7e, 0, 0x41])?;
    gnb.send(whole.slice(..12)).await?;
    gnb.expect_error_indication(&[TRANSFER_SYNTAX]).await?;
    gnb.expect_service().await?;
    gnb.shutdown().await;
    Ok(())
}

/// A message with procedure code 250 and no elements.
fn unknown_procedure(criticality: u8) -> Vec<u8> {
    vec![0, 250, criticality, 3, 0, 0, 0]
}

async fn unknown_procedure_reject(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    gnb.send(unknown_procedure(0)).await?;
    let reject = Cause::protocol(CauseProtocol::abstract_syntax_error_reject);
    gnb.expect_error_indication(&[reject]).await?;
    gnb.expect_service().await?;
    gnb.shutdown().await;
    Ok(())
}

async fn unknown_procedure_ignore(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    gnb.send(unknown_procedure(0x40)).await?;
    gnb.expect_silence().await?;
    gnb.expect_service().await?;
    gnb.shutdown().await;
    Ok(())
}

async fn missing_nas_pdu(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    gnb.send(gnb.initial_ue_message_without_nas(1)?).await?;
    let answer = gnb.next().await?;
    require(answer.kind() == Kind::Initiating_ErrorIndication, || described(&answer))?;
    gnb.expect_service().await?;
    gnb.shutdown().await;
    Ok(())
}

async fn unknown_amf_id(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    gnb.send(gnb.uplink_nas_transport(UNKNOWN, &[0x7e, 0, 0x43])?).await?;
    gnb.expect_error_indication(&unknown_id()[..1]).await?;
    gnb.shutdown().await;
    Ok(())
}

async fn inconsistent_ran_id(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    let mut ue = bench.raw_ue()?;
    let ids = gnb.register(&mut ue).await?;
    let wrong = Ids { ran: ids.ran ^ 0x8000, ..ids };
    gnb.send(gnb.uplink_nas_transport(wrong, &[0x7e, 0, 0x43])?).await?;
    let answer = gnb.next_ignoring_nas().await?;
    require(answer.kind() == Kind::Initiating_ErrorIndication, || described(&answer))?;
    gnb.shutdown().await;
    Ok(())
}

async fn foreign_amf_id(bench: &Bench) -> Result<(), Unmet> {
    let serving = bench.raw_gnb_after_setup().await?;
    let mut ue = bench.raw_ue()?;
    let ids = serving.register(&mut ue).await?;
    serving.drain().await;
    let other = bench.raw_gnb_after_setup().await?;
    other.send(other.release_request(ids)?).await?;
    other.expect_error_indication(&unknown_id()).await?;
    serving.expect_silence().await?;
    serving.shutdown().await;
    other.shutdown().await;
    Ok(())
}

async fn release_of_unknown(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    gnb.send(gnb.release_request(UNKNOWN)?).await?;
    gnb.expect_error_indication(&unknown_id()[..1]).await?;
    gnb.shutdown().await;
    Ok(())
}

async fn path_switch_of_unknown(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    gnb.send(gnb.path_switch_request(UNKNOWN)?).await?;
    let answer = gnb.next().await?;
    let rejects = matches!(
        answer.kind(),
        Kind::Unsuccessful_PathSwitchRequest | Kind::Initiating_ErrorIndication
    );
    require(rejects, || described(&answer))?;
    gnb.shutdown().await;
    Ok(())
}

async fn error_indication(bench: &Bench) -> Result<(), Unmet> {
    let gnb = bench.raw_gnb_after_setup().await?;
    gnb.send(gnb.error_indication()?).await?;
    gnb.expect_silence().await?;
    gnb.expect_service().await?;
    gnb.shutdown().await;
    Ok(())
}
