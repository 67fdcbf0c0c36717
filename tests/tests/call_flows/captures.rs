//! Whole call flows on the wire, as tshark reads them: every message of N2, N1, N4, N3 and the SBI,
//! none of them malformed.
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_amf::CipheringName;
use martlet_ran::ue::{IdleBehaviour, OperatorKey, PduSessionRequest, ServicePurpose};
use martlet_ran::{HandoverPlan, HandoverScript, RegistrationType, Ue};
use martlet_tests::{
    GATEWAY, LiveCapture, Recording, TestCore, in_namespace, in_order, internet, ping, reaches,
    sequence_of,
};
use martlet_upf::config::DatapathChoice;

/// The capture is of the loopback interface, which the wires of a switch are not.
fn on_loopback(config: &mut martlet::config::Config) {
    if config.upf.datapath == DatapathChoice::Switch {
        config.upf.datapath = DatapathChoice::Kernel;
    }
}

/// The life of two phones, one of which pages the other, and what goes wrong for some others.
async fn life(sbi: Sbi) -> Result<Option<Recording>> {
    let Some(capture) = LiveCapture::start()? else { return Ok(None) };
    let core = TestCore::start_on(sbi, |config| {
        on_loopback(config);
        // What is not ciphered can be read.
        config.amf.security.ciphering = vec![CipheringName::NEA0];
        // An SMF whose sessions end with it says goodbye to its UPF.
        config.smf.state.keep = false;
        config.amf.timers.t3513_ms = 200;
        config.amf.timers.paging_attempts = 1;
    })
    .await?;
    let gnb = core.gnb(1).await?;
    let (one, from) = core.phone_with_session(&gnb, 1).await?;
    reaches(&one, 1, GATEWAY).await?;
    let mut config = core.phone(2);
    config.idle = IdleBehaviour::Manual;
    let two = gnb.new_ue(config)?;
    let to = core.register_with_session(&two).await?;
    page(&one, from, &two, to).await?;
    // Nobody answers the next one.
    two.release_to_idle().await?;
    one.send_ip(1, ping(from, to, 4)).await?;
    core.until("it waits", |counts| counts.buffered == 1).await?;
    core.until("it is dropped", |counts| counts.buffered == 0).await?;
    two.register_as(RegistrationType::PeriodicRegistrationUpdating).await?;
    two.release_pdu_session(1).await?;
    two.switch_off().await?;

    // What is refused.
    let nowhere = PduSessionRequest { dnn: Some("elsewhere".into()), ..internet() };
    ensure!(one.establish_pdu_session(nowhere).await.is_err(), "a data network that there is not");
    ensure!(
        gnb.new_ue(core.phone(999))?.register().await.is_err(),
        "a subscriber that there is not"
    );
    let mut config = core.phone(3);
    config.operator_key = OperatorKey::Opc([0; 16]);
    ensure!(gnb.new_ue(config)?.register().await.is_err(), "a wrong key");
    let mut config = core.phone(4);
    config.sqn = 1 << 20;
    gnb.new_ue(config)?.register().await?;

    one.deregister().await?;
    core.until("one phone is left", |counts| counts.registered == 1).await?;
    gnb.shutdown().await;
    core.until("the gNB is gone", |counts| counts.gnbs == 0).await?;
    drop(core);
    Ok(Some(capture.finish().await?))
}

/// An idle phone is paged for three packets, and asks for service.
async fn page(one: &Ue, from: std::net::Ipv4Addr, two: &Ue, to: std::net::Ipv4Addr) -> Result<()> {
    two.release_to_idle().await?;
    for sequence in 1..=3 {
        one.send_ip(1, ping(from, to, sequence)).await?;
    }
    two.wait_for_paging().await?;
    two.service_request_for(ServicePurpose::PagingResponse, &[]).await?;
    for sequence in 1..=3 {
        let (_, packet) = two.recv_ip().await?;
        ensure!(
            sequence_of(&packet) == Some(sequence),
            "packet {sequence} is due, and {packet:02x?} came"
        );
    }
    Ok(())
}

/// N2 with N1 in it (TS 23.502, 4.2.2.2, 4.3.2.2, 4.2.6, 4.2.3.3, 4.3.4.2, 4.2.2.3).
const N2: &[&str] = &[
    "NGSetupRequest",
    "NGSetupResponse",
    "InitialUEMessage, Registration request",
    "DownlinkNASTransport, Authentication request",
    "UplinkNASTransport, Authentication response",
    "DownlinkNASTransport, Security mode command",
    "UplinkNASTransport, Security mode complete, Registration request",
    "InitialContextSetupRequest, Registration accept",
    "InitialContextSetupResponse",
    "UplinkNASTransport, Registration complete",
    "UplinkNASTransport, UL NAS transport, PDU session establishment request",
    "PDUSessionResourceSetupRequest, DL NAS transport, PDU session establishment accept",
    "PDUSessionResourceSetupResponse",
    // The second phone goes idle and is paged.
    "UEContextReleaseRequest",
    "UEContextReleaseCommand",
    "UEContextReleaseComplete",
    "Paging",
    "InitialUEMessage, Service request",
    "InitialContextSetupRequest, Service accept",
    "InitialContextSetupResponse",
    // It does not answer, and registers later.
    "UEContextReleaseRequest",
    "UEContextReleaseCommand",
    "UEContextReleaseComplete",
    "Paging",
    "InitialUEMessage, Registration request",
    "InitialContextSetupRequest, Registration accept",
    "UplinkNASTransport, UL NAS transport, PDU session release request",
    "DownlinkNASTransport, DL NAS transport, PDU session release command",
    "UplinkNASTransport, UL NAS transport, PDU session release complete",
    "UplinkNASTransport, Deregistration request",
    "UEContextReleaseCommand",
    "UEContextReleaseComplete",
    // What is refused.
    "DL NAS transport, PDU session establishment request (DNN not supported or not subscribed in \
     the slice)",
    "DownlinkNASTransport, Registration reject (Illegal UE)",
    "UplinkNASTransport, Authentication failure (MAC failure)",
    "DownlinkNASTransport, Identity request",
    "UplinkNASTransport, Identity response",
    "DownlinkNASTransport, Authentication request",
    "UplinkNASTransport, Authentication failure (MAC failure)",
    "DownlinkNASTransport, Authentication reject",
    "UplinkNASTransport, Authentication failure (Synch failure)",
    "DownlinkNASTransport, Authentication request",
    "UplinkNASTransport, Authentication response",
    "UplinkNASTransport, Registration complete",
    "UplinkNASTransport, Deregistration request",
    "DownlinkNASTransport, Deregistration accept",
    "UEContextReleaseCommand",
    "UEContextReleaseComplete",
];

/// N4 (TS 23.502, 4.4).
const N4: &[&str] = &[
    "Association Setup Request",
    "Association Setup Response",
    "Session Establishment Request",
    "Session Establishment Response",
    "Session Modification Request",
    "Session Modification Response",
    "Session Report Request",
    "Session Report Response",
    "Session Modification Request",
    "Session Report Request",
    "Session Modification Request",
    "Session Modification Response",
    "Session Deletion Request",
    "Session Deletion Response",
    "Association Release Request",
];

/// Requests on the SBI, of which each follows from the one before.
const SBI: &[&str] = &[
    "/nnrf-nfm/v1/nf-instances/",
    "/nnrf-disc/v1/nf-instances?target-nf-type=AUSF",
    "/nausf-auth/v1/ue-authentications",
    "/nudm-ueau/v1/suci-0-001-01-0-0-0-0000000001/security-information/generate-auth-data",
    "/nudr-dr/v2/subscription-data/imsi-001010000000001/authentication-data/\
     authentication-subscription",
    "/5g-aka-confirmation",
    "/nudm-ueau/v1/imsi-001010000000001/auth-events",
    "/nudm-sdm/v2/imsi-001010000000001?dataset-names=",
    "/nnssf-nsselection/v2/network-slice-information",
    "/npcf-am-policy-control/v1/policies",
    "/nsmf-pdusession/v1/sm-contexts",
    "/nudm-sdm/v2/imsi-001010000000001/sm-data",
    "/npcf-smpolicycontrol/v1/sm-policies",
    "/namf-comm/v1/ue-contexts/imsi-001010000000001/n1-n2-messages",
    "/modify",
    "/namf-comm/v1/ue-contexts/imsi-001010000000002/n1-n2-messages",
    "/nsmf-callback/v1/n1-n2-transfer-failure/",
    "/npcf-smpolicycontrol/v1/sm-policies/2/delete",
    "/namf-callback/v1/sm-context-status/imsi-001010000000002/1",
    "/npcf-am-policy-control/v1/policies/",
];

#[test]
fn tshark_finds_no_malformed_message_and_the_expected_order() {
    in_namespace(|| async {
        let Some(recording) = life(Sbi::Http).await? else { return Ok(()) };
        recording.is_sound().await?;
        in_order(&recording.infos("ngap && sctp").await?, N2).context("N2")?;
        in_order(&recording.infos("pfcp").await?, N4).context("N4")?;
        in_order(&recording.fields("http2.headers.path", &["http2.headers.path"]).await?, SBI)
            .context("SBI")?;
        // Bodies with N1 and N2 messages are read to their ground.
        let bodies = recording.fields("http2 && nas-5gs && json", &["frame.number"]).await?;
        ensure!(bodies.len() >= 6, "N1 messages cross the SBI: {bodies:?}");
        let n2 = recording.fields("http2 && ngap && json", &["frame.number"]).await?;
        ensure!(n2.len() >= 4, "N2 information crosses the SBI: {n2:?}");

        // N3: uplink and downlink say their QoS flow and direction.
        let fields = [
            "icmp.type",
            "gtp.ext_hdr.pdu_ses_con.pdu_type",
            "gtp.ext_hdr.pdu_ses_con.qos_flow_id",
        ];
        let packets = recording.fields("gtp && icmp", &fields).await?;
        if martlet_tests::programs_carry_packets() {
            eprintln!(
                "SKIPPED: N3 in the capture: programs take its packets before captures see them"
            );
        } else {
            in_order(&packets, &["8\t1\t1", "0\t0\t1", "8\t1\t1", "8\t0\t1"]).context("N3")?;
        }
        // Answers of GTP-U and PFCP all have their requests.
        let refused = recording.fields("pfcp.cause && pfcp.cause != 1", &["_ws.col.Info"]).await?;
        ensure!(refused.is_empty(), "no N4 request is refused: {refused:?}");
        Ok(())
    });
}

#[test]
fn malformed_packet_in_a_capture_is_detected() {
    in_namespace(|| async {
        let Some(capture) = LiveCapture::start()? else { return Ok(()) };
        // A PFCP message whose element is longer than the message.
        let socket = tokio::net::UdpSocket::bind("127.0.0.1:8805").await?;
        socket
            .send_to(b"\x20\x01\x00\x08\x00\x00\x01\x00\x00\x60\x00\x40", "127.0.0.8:8805")
            .await?;
        let recording = capture.finish().await?;
        let found =
            recording.is_sound().await.err().context("a malformed packet is found")?.to_string();
        ensure!(found.contains("fault with 1 packets"), "{found}");
        ensure!(
            in_order(&recording.infos("pfcp").await?, &["Heartbeat Request", "Heartbeat Response"])
                .is_err()
        );
        Ok(())
    });
}

/// N2 of a phone that is handed over through the core, and back by its gNBs (TS 23.502, 4.9.1.2.2,
/// 4.9.1.3).
const HANDOVER: &[&str] = &[
    "HandoverRequired",
    "HandoverRequest",
    "HandoverRequestAcknowledge",
    "HandoverCommand",
    "UplinkRANStatusTransfer",
    "HandoverNotify",
    "UEContextReleaseCommand",
    "UEContextReleaseComplete",
    "PathSwitchRequest",
    "PathSwitchRequestAcknowledge",
    // One that the target refuses, and one that its source gives up.
    "HandoverRequired",
    "HandoverRequest",
    "HandoverFailure",
    "HandoverPreparationFailure",
    "HandoverRequired",
    "HandoverCommand",
    "HandoverCancel",
    "HandoverCancelAcknowledge",
];

#[test]
fn handover_messages_have_the_expected_order() {
    in_namespace(|| async {
        let Some(capture) = LiveCapture::start()? else { return Ok(()) };
        let readable = |config: &mut martlet::config::Config| {
            on_loopback(config);
            config.amf.security.ciphering = vec![CipheringName::NEA0];
        };
        let core = TestCore::start_on(Sbi::Http, readable).await?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (phone, _) = core.phone_with_session(&one, 1).await?;
        let second = phone.establish_pdu_session(internet()).await?.psi;
        phone
            .handover(&other, HandoverPlan { refused: vec![second], ..Default::default() })
            .await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.xn_handover_to(&one).await?;
        for script in [HandoverScript::TargetRejects, HandoverScript::CancelledAfterCommand] {
            let plan = HandoverPlan { script, ..Default::default() };
            ensure!(phone.handover(&other, plan).await.is_err(), "{script:?}");
        }
        phone.deregister().await?;
        core.until_nothing_is_left().await?;
        drop(core);
        let recording = capture.finish().await?;
        recording.is_sound().await?;
        in_order(&recording.infos("ngap && sctp").await?, HANDOVER)
    });
}
