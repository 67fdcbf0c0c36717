//! Call flows on the wire, dissected by tshark: the order of the messages on N1, N2, N3, N4 and the
//! SBI, and none of them malformed.
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

/// Keeps all packets on the loopback interface, where the capture is.
fn on_loopback(config: &mut martlet::config::Config) {
    if config.upf.datapath == DatapathChoice::Switch {
        config.upf.datapath = DatapathChoice::Kernel;
    }
}

/// Records the call flows of two UEs, one of which pages the other, and of UEs that are rejected.
async fn record(sbi: Sbi) -> Result<Option<Recording>> {
    let Some(capture) = LiveCapture::start()? else { return Ok(None) };
    let core = TestCore::start_on(sbi, |config| {
        on_loopback(config);
        // NAS with the null cipher can be dissected.
        config.amf.security.ciphering = vec![CipheringName::NEA0];
        // An SMF without persisted contexts releases its association when it stops.
        config.smf.context_store.enabled = false;
        config.amf.timers.t3513_ms = 200;
        config.amf.timers.paging_attempts = 1;
    })
    .await?;
    let gnb = core.gnb(1).await?;
    let (one, from) = core.ue_with_session(&gnb, 1).await?;
    reaches(&one, 1, GATEWAY).await?;
    let mut config = core.ue_config(2);
    config.idle = IdleBehaviour::Manual;
    let two = gnb.new_ue(config)?;
    let to = core.register_with_session(&two).await?;
    page(&one, from, &two, to).await?;
    // The UE does not answer the next paging.
    two.release_to_idle().await?;
    one.send_ip(1, ping(from, to, 4)).await?;
    core.until("a packet is buffered", |counts| counts.buffered == 1).await?;
    core.until("the packet is dropped", |counts| counts.buffered == 0).await?;
    two.register_as(RegistrationType::PeriodicRegistrationUpdating).await?;
    two.release_pdu_session(1).await?;
    two.switch_off().await?;

    // Rejected requests.
    let unknown_dnn = PduSessionRequest { dnn: Some("other".into()), ..internet() };
    ensure!(
        one.establish_pdu_session(unknown_dnn).await.is_err(),
        "an unknown data network is accepted"
    );
    ensure!(
        gnb.new_ue(core.ue_config(999))?.register().await.is_err(),
        "an unknown subscriber is accepted"
    );
    let mut config = core.ue_config(3);
    config.operator_key = OperatorKey::Opc([0; 16]);
    ensure!(gnb.new_ue(config)?.register().await.is_err(), "a wrong key is accepted");
    let mut config = core.ue_config(4);
    config.sqn = 1 << 20;
    gnb.new_ue(config)?.register().await?;

    one.deregister().await?;
    core.until("one UE is left", |counts| counts.registered == 1).await?;
    gnb.shutdown().await;
    core.until("the gNB is removed", |counts| counts.gnbs == 0).await?;
    drop(core);
    Ok(Some(capture.finish().await?))
}

/// Sends three packets to an idle UE, which is paged and requests service.
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
            "expected packet {sequence}, received {packet:02x?}"
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
    // The second UE goes idle and is paged.
    "UEContextReleaseRequest",
    "UEContextReleaseCommand",
    "UEContextReleaseComplete",
    "Paging",
    "InitialUEMessage, Service request",
    "InitialContextSetupRequest, Service accept",
    "InitialContextSetupResponse",
    // The UE does not answer, and registers later.
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
    // Rejected requests.
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

/// Requests on the SBI, in their order.
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
    "/npcf-smpolicycontrol/v1/sm-policies/",
    "/namf-callback/v1/sm-context-status/imsi-001010000000002/1",
    "/npcf-am-policy-control/v1/policies/",
];

#[test]
fn tshark_finds_no_malformed_message_and_the_expected_order() {
    in_namespace(|| async {
        let Some(recording) = record(Sbi::Http).await? else { return Ok(()) };
        recording.expect_well_formed().await?;
        in_order(&recording.infos("ngap && sctp").await?, N2).context("N2")?;
        in_order(&recording.infos("pfcp").await?, N4).context("N4")?;
        in_order(&recording.fields("http2.headers.path", &["http2.headers.path"]).await?, SBI)
            .context("SBI")?;
        // The N1 and N2 messages in multipart bodies are dissected, too.
        let n1 = recording.fields("http2 && nas-5gs && json", &["frame.number"]).await?;
        ensure!(n1.len() >= 6, "too few N1 messages on the SBI: {n1:?}");
        let n2 = recording.fields("http2 && ngap && json", &["frame.number"]).await?;
        ensure!(n2.len() >= 4, "too few N2 messages on the SBI: {n2:?}");

        // N3: type and QoS flow identifier in the PDU session container.
        let fields = [
            "icmp.type",
            "gtp.ext_hdr.pdu_ses_con.pdu_type",
            "gtp.ext_hdr.pdu_ses_con.qos_flow_id",
        ];
        let packets = recording.fields("gtp && icmp", &fields).await?;
        if martlet_tests::xdp_datapath() {
            eprintln!("SKIPPED: N3 in the capture: XDP programs process packets before tcpdump");
        } else {
            in_order(&packets, &["8\t1\t1", "0\t0\t1", "8\t1\t1", "8\t0\t1"]).context("N3")?;
        }
        // No PFCP request is rejected.
        let refused = recording.fields("pfcp.cause && pfcp.cause != 1", &["_ws.col.Info"]).await?;
        ensure!(refused.is_empty(), "rejected N4 requests: {refused:?}");
        Ok(())
    });
}

#[test]
fn malformed_packet_in_a_capture_is_detected() {
    in_namespace(|| async {
        let Some(capture) = LiveCapture::start()? else { return Ok(()) };
        // A PFCP message with an information element that is longer than the message.
        let socket = tokio::net::UdpSocket::bind("127.0.0.1:8805").await?;
        socket
            .send_to(b"\x20\x01\x00\x08\x00\x00\x01\x00\x00\x60\x00\x40", "127.0.0.8:8805")
            .await?;
        let recording = capture.finish().await?;
        let found = recording
            .expect_well_formed()
            .await
            .err()
            .context("the malformed packet is not detected")?
            .to_string();
        ensure!(found.contains("tshark reports 1 malformed packets"), "{found}");
        ensure!(
            in_order(&recording.infos("pfcp").await?, &["Heartbeat Request", "Heartbeat Response"])
                .is_err()
        );
        Ok(())
    });
}

/// N2 messages of an N2 handover, an Xn handover, a rejected and a cancelled one (TS 23.502,
/// 4.9.1.2.2, 4.9.1.3 and 4.9.1.4).
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
    // A handover that the target rejects, and one that the source cancels.
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
        let (ue, _) = core.ue_with_session(&one, 1).await?;
        let second = ue.establish_pdu_session(internet()).await?.psi;
        ue.handover(&other, HandoverPlan { refused: vec![second], ..Default::default() }).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.xn_handover_to(&one).await?;
        for script in [HandoverScript::TargetRejects, HandoverScript::CancelledAfterCommand] {
            let plan = HandoverPlan { script, ..Default::default() };
            ensure!(ue.handover(&other, plan).await.is_err(), "{script:?}");
        }
        ue.deregister().await?;
        core.until_all_released().await?;
        drop(core);
        let recording = capture.finish().await?;
        recording.expect_well_formed().await?;
        in_order(&recording.infos("ngap && sctp").await?, HANDOVER)
    });
}
