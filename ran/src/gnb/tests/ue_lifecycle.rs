//! A UE from registration to de-registration.
use super::amf::*;
use crate::Ue;
use crate::gnb::Gnb;
use crate::sample::Procedure;
use crate::ue::tests::network::config as ue_config;
use crate::ue::{IdleBehaviour, MmState, PduSessionRequest};
use martlet_nas::*;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::{Arp, GtpTunnel, QosFlow, SessionType, SetupRequest, SetupResponse};
use martlet_ngap::{build_ngap, helpers};

pub fn session_accept() -> NasPduSessionEstablishmentAccept {
    let filter = QosPacketFilter::Match {
        direction: QosPacketFilterDirection::Bidirectional,
        identifier: 1,
        components: vec![QosPacketFilterComponent::MatchAll],
    };
    let rule = QosRule::new(1, QosRuleOpCode::Create)
        .with_default_rule(true)
        .with_packet_filters(vec![filter])
        .with_precedence(255)
        .with_qfi(9);
    NasPduSessionEstablishmentAccept::new(
        NasPduSessionType::from_session_type(PduSessionTypeValue::Ipv4),
        NasSscMode::from_mode(SscModeValue::Ssc1),
        NasQosRules::from_rules(&[rule]).unwrap(),
        NasSessionAmbr::from_kbps(1_000_000, 500_000).unwrap(),
    )
    .with_pdu_address(NasPduAddress::from_ipv4([10, 60, 0, 7]))
}

pub fn setup_transfer(upf: [u8; 4], teid: u32) -> Vec<u8> {
    SetupRequest::new(
        GtpTunnel::new(upf.into(), teid),
        SessionType::Ipv4,
        vec![QosFlow::standard(9, 9, Arp::level(8))],
    )
    .with_ambr(1_000_000_000, 500_000_000)
    .encode()
    .unwrap()
}

impl Amf {
    /// Answers a session request. Returns the gNB's end of the tunnel.
    pub async fn establish(&mut self, upf: [u8; 4], teid: u32) -> GtpTunnel {
        let request = self.nas().await;
        let (_, header, _) = self.network.unprotect_sm(&request);
        let psi = header.pdu_session_identity;
        let nas =
            self.network.protect_sm(session_accept(), psi, header.procedure_transaction_identity);
        let item = PDUSessionResourceSetupItemSUReq::new(
            PDUSessionID(psi),
            Some(NASPDU(nas.into())),
            helpers::s_nssai(1, None),
            setup_transfer(upf, teid).into(),
            None,
        );
        let setup = build_ngap!(
            InitiatingMessage,
            PDUSessionResourceSetup,
            PDUSessionResourceSetupRequest,
            AMF_UE_NGAP_ID(self.amf_id),
            RAN_UE_NGAP_ID(self.ran_id),
            PDUSessionResourceSetupListSUReq(PDUSessionResourceSetupListSUReq(vec![item])),
        );
        self.send(setup.unwrap()).await;
        let (kind, pdu) = self.next().await;
        assert_eq!(kind, Kind::Successful_PDUSessionResourceSetup);
        let list = pdu.ie::<martlet_ngap::ie::PDUSessionResourceSetupListSURes>().unwrap().unwrap();
        SetupResponse::decode(&list.0[0].pdu_session_resource_setup_response_transfer)
            .unwrap()
            .downlink
            .tunnel
    }
}

#[tokio::test]
async fn registration_session_idle_paging_service_and_deregistration() {
    let (gnb, mut amf) = gnb_and_amf().await;
    assert_eq!(gnb.amf().unwrap().name, "amf-by-hand");
    let mut config = ue_config();
    config.idle = IdleBehaviour::Manual;
    let ue = gnb.new_ue(config).unwrap();

    let (registered, ()) = tokio::join!(ue.register(), amf.register(0xc0de));
    assert_eq!(registered.unwrap().guti.unwrap().tmsi(), 0xc0de);
    assert_eq!(gnb.ue_counts(), (1, 0));

    let (session, tunnel) = tokio::join!(
        ue.establish_pdu_session(PduSessionRequest::default()),
        amf.establish([127, 0, 0, 9], 5)
    );
    assert_eq!(session.unwrap().ipv4.unwrap().octets(), [10, 60, 0, 7]);
    assert_ne!(tunnel.teid, 0);
    assert_eq!(ue.status().await.unwrap().active_user_planes, [1]);

    let (idle, ()) = tokio::join!(ue.release_to_idle(), amf.release());
    idle.unwrap();
    let status = ue.status().await.unwrap();
    assert_eq!(
        (status.connected, status.sessions.len(), status.active_user_planes.len()),
        (false, 1, 0)
    );
    assert_eq!(gnb.ue_counts(), (0, 1));

    // Paging of another tracking area is ignored.
    let (other_area, here) = (amf.paging(0xc0de, 9), amf.paging(0xc0de, 1));
    amf.send(other_area).await;
    assert!(ue.wait_for_paging_within(std::time::Duration::from_millis(50)).await.is_err());
    amf.send(here).await;
    ue.wait_for_paging().await.unwrap();

    let service = async {
        let request = amf.nas().await;
        let count = amf.network.context.as_ref().unwrap();
        let count = count.nas_count(Direction::Uplink, NasConnection::ThreeGpp).unwrap().get();
        assert!(matches!(amf.network.unprotect(&request), Nas5gmmMessage::ServiceRequest(_)));
        let status = NasPduSessionStatus::from_sessions(&[1]).unwrap();
        let accept = amf.network.protect(NasServiceAccept::new().with_pdu_session_status(status));
        let mut setup = amf.context_setup(amf.k_gnb(count), accept);
        let item = PDUSessionResourceSetupItemCxtReq::new(
            PDUSessionID(1),
            None,
            helpers::s_nssai(1, None),
            setup_transfer([127, 0, 0, 9], 6).into(),
            None,
        );
        let mut ies = setup.protocol_ies().unwrap().into_owned();
        let list = PDUSessionResourceSetupListCxtReq(vec![item]);
        ies.0.insert(
            3,
            martlet_ngap::build_ngap_ie!(
                InitialContextSetupRequest,
                PDUSessionResourceSetupListCxtReq(list)
            )
            .unwrap(),
        );
        setup.set_protocol_ies(ies).unwrap();
        amf.send(setup).await;
        let (kind, pdu) = amf.next().await;
        assert_eq!(kind, Kind::Successful_InitialContextSetup);
        assert_eq!(
            pdu.ie::<martlet_ngap::ie::PDUSessionResourceSetupListCxtRes>()
                .unwrap()
                .unwrap()
                .0
                .len(),
            1
        );
    };
    let (served, ()) = tokio::join!(ue.service_request(), service);
    served.unwrap();
    assert_eq!(ue.status().await.unwrap().active_user_planes, [1]);
    assert_eq!(gnb.ue_counts(), (1, 0));

    let deregistration = async {
        let request = amf.nas().await;
        amf.network.unprotect(&request);
        let accept = amf.network.protect(NasDeregistrationAcceptUeOriginating::new());
        amf.downlink_nas(accept).await;
        let command = amf.release_command();
        amf.send(command).await;
        assert_eq!(amf.next().await.0, Kind::Successful_UEContextRelease);
    };
    let (deregistered, ()) = tokio::join!(ue.deregister(), deregistration);
    deregistered.unwrap();
    assert_eq!(ue.status().await.unwrap().state, MmState::Deregistered);
    assert_eq!(gnb.ue_counts(), (0, 0));

    let samples = gnb.samples().take();
    let of = |procedure| {
        samples.iter().filter(|s| s.procedure == procedure && s.failure.is_none()).count()
    };
    for procedure in Procedure::ALL {
        let absent = [Procedure::PduSessionRelease, Procedure::Handover, Procedure::PathSwitch];
        let expected = usize::from(!absent.contains(&procedure));
        assert_eq!(of(procedure), expected, "{procedure:?}");
    }
    assert!(samples.iter().all(|s| s.total >= s.latency));
}

/// A registered UE and the identity of its PDU session.
async fn ue_with_session(gnb: &Gnb, amf: &mut Amf) -> (Ue, u8) {
    let ue = gnb.new_ue(ue_config()).unwrap();
    let (registered, ()) = tokio::join!(ue.register(), amf.register(1));
    registered.unwrap();
    let (session, _) = tokio::join!(
        ue.establish_pdu_session(PduSessionRequest::default()),
        amf.establish([127, 0, 0, 9], 5)
    );
    (ue, session.unwrap().psi)
}

#[tokio::test]
async fn a_session_is_released_by_the_ue() {
    let (gnb, mut amf) = gnb_and_amf().await;
    let (ue, psi) = ue_with_session(&gnb, &mut amf).await;
    let release = async {
        let request = amf.nas().await;
        let (_, header, _) = amf.network.unprotect_sm(&request);
        let command = NasPduSessionReleaseCommand::new(NasFGsmCause::from_cause(
            GsmCause::RegularDeactivation,
        ));
        let nas = amf.network.protect_sm(command, psi, header.procedure_transaction_identity);
        let transfer =
            martlet_ngap::transfer::ReleaseCommand::new(Cause::nas(CauseNas::normal_release));
        let item = PDUSessionResourceToReleaseItemRelCmd::new(
            PDUSessionID(psi),
            transfer.encode().unwrap().into(),
            None,
        );
        let command = build_ngap!(
            InitiatingMessage,
            PDUSessionResourceRelease,
            PDUSessionResourceReleaseCommand,
            AMF_UE_NGAP_ID(amf.amf_id),
            RAN_UE_NGAP_ID(amf.ran_id),
            NAS_PDU(nas),
            PDUSessionResourceToReleaseListRelCmd(PDUSessionResourceToReleaseListRelCmd(vec![
                item
            ])),
        );
        amf.send(command.unwrap()).await;
        assert_eq!(amf.next().await.0, Kind::Successful_PDUSessionResourceRelease);
        let complete = amf.nas().await;
        let (_, _, message) = amf.network.unprotect_sm(&complete);
        assert!(matches!(message, Nas5gsmMessage::PduSessionReleaseComplete(_)));
    };
    let (released, ()) = tokio::join!(ue.release_pdu_session(psi), release);
    released.unwrap();
    let status = ue.status().await.unwrap();
    assert!(status.sessions.is_empty() && status.active_user_planes.is_empty());
}

#[tokio::test]
async fn a_dropped_ue_is_released() {
    let (gnb, mut amf) = gnb_and_amf().await;
    let ue = gnb.new_ue(ue_config()).unwrap();
    let (registered, ()) = tokio::join!(ue.register(), amf.register(1));
    registered.unwrap();
    drop(ue);
    amf.release().await;
    assert_eq!(gnb.ue_counts(), (0, 0));
}

#[tokio::test]
async fn a_release_by_the_network_leaves_the_ue_idle() {
    let (gnb, mut amf) = gnb_and_amf().await;
    let ue = gnb.new_ue(ue_config()).unwrap();
    let (registered, ()) = tokio::join!(ue.register(), amf.register(1));
    registered.unwrap();
    let command = amf.release_command();
    let (idle, ()) = tokio::join!(ue.wait_idle(), async {
        amf.send(command).await;
        assert_eq!(amf.next().await.0, Kind::Successful_UEContextRelease);
    });
    idle.unwrap();
    assert_eq!(gnb.ue_counts(), (0, 1));
}

/// The time over the radio is part of a procedure's latency, and not of the core's share. UEs wait
/// at the same time.
#[tokio::test]
async fn signalling_waits_for_round_trips_over_the_radio() {
    let round_trip = std::time::Duration::from_millis(100);
    let mut with_radio = config();
    with_radio.rrc_round_trip = round_trip;
    let (gnb, mut amf) = gnb_and_amf_with(with_radio).await;
    let (ue, _) = ue_with_session(&gnb, &mut amf).await;
    gnb.set_rrc_round_trip(std::time::Duration::ZERO);
    let (released, _) = tokio::join!(ue.release_to_idle(), amf.release());
    released.unwrap();
    let samples = gnb.samples().take();
    let of = |procedure| samples.iter().find(|sample| sample.procedure == procedure).unwrap();
    // Set-up with the first message: 1.5; authentication and NAS security: 1 each; access stratum
    // security: 1; the reconfiguration with the answer: 0.5.
    for (procedure, trips) in
        [(Procedure::Registration, 5), (Procedure::PduSessionEstablishment, 1)]
    {
        let sample = of(procedure);
        let radio = sample.latency - sample.core;
        assert!(sample.latency >= round_trip * trips, "{sample:?}");
        assert!(radio >= round_trip * trips && sample.core < round_trip, "{sample:?}");
        // Wide, for a busy machine: one more round trip is too many.
        assert!(sample.latency < round_trip * (trips + 1), "{sample:?}");
    }
    assert!(of(Procedure::AnRelease).latency < round_trip, "{samples:?}");
}
