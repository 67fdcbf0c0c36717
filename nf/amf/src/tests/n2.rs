//! Malformed NGAP, and gNBs that connect and disconnect.
use super::core::{Core, ue};
use bytes::Bytes;
use martlet_ngap::error_indication::error_indication;
use martlet_ngap::inbound::UeIds;
use martlet_ngap::ngap::*;
use martlet_ngap::{BitString, NgapPduKind as Kind, build_ngap, extract_ngap_ies, helpers, ie};
use martlet_ran::PduSessionRequest;
use std::time::Duration;
use tokio::sync::mpsc;

pub fn setup(mcc: &str, sst: u8) -> Bytes {
    setup_with_bits(mcc, sst, 24)
}

/// NG SETUP REQUEST with a gNB ID of so many bits.
fn setup_with_bits(mcc: &str, sst: u8, bits: u32) -> Bytes {
    let plmn = helpers::plmn(mcc, "01").unwrap();
    let id = GlobalRANNodeID::globalGNB_ID(helpers::global_gnb_id(plmn, 0x777, bits).unwrap());
    let slices = SliceSupportList(vec![SliceSupportItem::new(helpers::s_nssai(sst, None), None)]);
    let plmns = BroadcastPLMNList(vec![BroadcastPLMNItem::new(plmn, slices, None)]);
    let pdu = build_ngap!(
        InitiatingMessage,
        NGSetup,
        NGSetupRequest,
        GlobalRANNodeID(id),
        SupportedTAList(SupportedTAList(vec![SupportedTAItem::new(TAC([0, 0, 1]), plmns, None)])),
        DefaultPagingDRX(PagingDRX::v128),
    );
    pdu.unwrap().encode().unwrap().into()
}

pub async fn next(from_amf: &mut mpsc::Receiver<(u16, Bytes)>) -> NGAP_PDU {
    let received = tokio::time::timeout(Duration::from_secs(30), from_amf.recv()).await;
    let (_, data) = received.expect("an answer in time").expect("an AMF");
    let pdu = NGAP_PDU::decode(&data).unwrap();
    assert_eq!(pdu.check().unwrap(), [], "{}", pdu.procedure_name());
    pdu
}

pub fn cause(pdu: &NGAP_PDU) -> Cause {
    pdu.ie::<ie::Cause>().unwrap().unwrap()
}

/// Where the UEs of these tests are.
pub fn user_location() -> UserLocationInformation<'static> {
    let plmn = helpers::plmn("001", "01").unwrap();
    let cell = helpers::nr_cgi(plmn, 0x777, 24, 1).unwrap();
    let nr = UserLocationInformationNR::new(cell, helpers::tai(plmn, [0, 0, 1]), None, None);
    UserLocationInformation::userLocationInformationNR(nr)
}

/// INITIAL UE MESSAGE.
pub fn initial(ran_id: u32, nas: Vec<u8>) -> Bytes {
    let pdu = build_ngap!(
        InitiatingMessage,
        InitialUEMessage,
        InitialUEMessage,
        RAN_UE_NGAP_ID(ran_id),
        NAS_PDU(nas),
        UserLocationInformation(user_location()),
        RRCEstablishmentCause(RRCEstablishmentCause::mo_Signalling),
    );
    pdu.unwrap().encode().unwrap().into()
}

/// UPLINK NAS TRANSPORT.
pub fn uplink(amf_id: u64, ran_id: u32, nas: Vec<u8>) -> Bytes {
    let pdu = build_ngap!(
        InitiatingMessage,
        UplinkNASTransport,
        UplinkNASTransport,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        NAS_PDU(nas),
        UserLocationInformation(user_location()),
    );
    pdu.unwrap().encode().unwrap().into()
}

/// INITIAL CONTEXT SETUP FAILURE in place of a response. Other messages stay.
pub fn context_not_set_up(message: Bytes) -> Bytes {
    let pdu = NGAP_PDU::decode(&message).unwrap().into_owned();
    if pdu.kind() != Kind::Successful_InitialContextSetup {
        return message;
    }
    let failure = build_ngap!(
        UnsuccessfulOutcome,
        InitialContextSetup,
        InitialContextSetupFailure,
        AMF_UE_NGAP_ID(pdu.ie::<ie::AMF_UE_NGAP_ID>().unwrap().unwrap().0),
        RAN_UE_NGAP_ID(pdu.ie::<ie::RAN_UE_NGAP_ID>().unwrap().unwrap().0),
        Cause(Cause::radioNetwork(CauseRadioNetwork::failure_in_radio_interface_procedure)),
    );
    failure.unwrap().encode().unwrap().into()
}

/// A PDU SESSION RESOURCE SETUP RESPONSE about session 9 alone, for the connection of another one.
pub fn setup_of_session_9(message: &Bytes) -> Option<Bytes> {
    let pdu = NGAP_PDU::decode(message).unwrap().into_owned();
    if pdu.kind() != Kind::Successful_PDUSessionResourceSetup {
        return None;
    }
    let item = PDUSessionResourceSetupItemSURes::new(PDUSessionID(9), vec![0u8].into(), None);
    let response = build_ngap!(
        SuccessfulOutcome,
        PDUSessionResourceSetup,
        PDUSessionResourceSetupResponse,
        AMF_UE_NGAP_ID(pdu.ie::<ie::AMF_UE_NGAP_ID>().unwrap().unwrap().0),
        RAN_UE_NGAP_ID(pdu.ie::<ie::RAN_UE_NGAP_ID>().unwrap().unwrap().0),
        PDUSessionResourceSetupListSURes(PDUSessionResourceSetupListSURes(vec![item])),
    );
    Some(response.unwrap().encode().unwrap().into())
}

/// UPLINK NAS TRANSPORT with a message that the AMF discards: the one in it is lost. Other messages
/// stay.
pub fn nas_lost(message: Bytes) -> Bytes {
    let pdu = NGAP_PDU::decode(&message).unwrap().into_owned();
    if pdu.kind() != Kind::Initiating_UplinkNASTransport {
        return message;
    }
    let amf_id = pdu.ie::<ie::AMF_UE_NGAP_ID>().unwrap().unwrap().0;
    let ran_id = pdu.ie::<ie::RAN_UE_NGAP_ID>().unwrap().unwrap().0;
    // REGISTRATION COMPLETE with a wrong MAC.
    uplink(amf_id, ran_id, vec![0x7e, 0x02, 0, 0, 0, 0, 0, 0x7e, 0x00, 0x43])
}

/// AMF UE NGAP ID and NAS message of a DOWNLINK NAS TRANSPORT.
pub fn downlink(pdu: &NGAP_PDU) -> (u64, Vec<u8>) {
    assert_eq!(pdu.kind(), Kind::Initiating_DownlinkNASTransport);
    let amf_id = pdu.ie::<ie::AMF_UE_NGAP_ID>().unwrap().unwrap().0;
    (amf_id, pdu.ie::<ie::NAS_PDU>().unwrap().unwrap().0.to_vec())
}

#[tokio::test]
async fn a_gnb_without_anything_in_common_is_refused() {
    let core = Core::start().await;
    let (to_amf, mut from_amf) = core.link();
    for (mcc, sst, why) in [
        ("999", 1, Cause::misc(CauseMisc::unknown_PLMN_or_SNPN)),
        ("001", 9, Cause::radioNetwork(CauseRadioNetwork::slice_not_supported)),
    ] {
        to_amf.send(setup(mcc, sst)).await.unwrap();
        let failure = next(&mut from_amf).await;
        assert_eq!((failure.kind(), cause(&failure)), (Kind::Unsuccessful_NGSetup, why));
        assert!(failure.ie::<ie::TimeToWait>().is_some());
    }
    assert!(core.amf.gnbs.all()[0].setup().is_none());
    to_amf.send(setup("001", 1)).await.unwrap();
    let response = next(&mut from_amf).await;
    assert_eq!(response.kind(), Kind::Successful_NGSetup);
    assert!(core.amf.gnbs.all()[0].setup().is_some());
}

#[tokio::test]
async fn wrong_messages_get_their_cause() {
    let core = Core::start().await;
    let (to_amf, mut from_amf) = core.link();
    // Before NG setup.
    let reset = build_ngap!(
        InitiatingMessage,
        NGReset,
        NGReset,
        Cause(Cause::misc(CauseMisc::om_intervention)),
        ResetType(ResetType::nG_Interface(ResetAll::reset_all)),
    );
    let reset: Bytes = reset.unwrap().encode().unwrap().into();
    to_amf.send(reset.clone()).await.unwrap();
    let state = Cause::protocol(CauseProtocol::message_not_compatible_with_receiver_state);
    assert_eq!(cause(&next(&mut from_amf).await), state);

    to_amf.send(setup("001", 1)).await.unwrap();
    next(&mut from_amf).await;
    // No NGAP; then NGAP that ends early.
    for octets in [vec![0xff; 7], vec![0x00, 0x15, 0x00, 0x20, 0x00]] {
        to_amf.send(octets.into()).await.unwrap();
        let indication = next(&mut from_amf).await;
        assert_eq!(indication.kind(), Kind::Initiating_ErrorIndication);
        assert_eq!(cause(&indication), Cause::protocol(CauseProtocol::transfer_syntax_error));
    }
    // A UE that there is not.
    to_amf.send(uplink(99, 7, vec![0x7e, 0, 0x64, 22])).await.unwrap();
    let indication = next(&mut from_amf).await;
    assert_eq!(
        cause(&indication),
        Cause::radioNetwork(CauseRadioNetwork::unknown_local_UE_NGAP_ID)
    );
    assert_eq!(indication.ie::<ie::AMF_UE_NGAP_ID>().unwrap().unwrap().0, 99);
    // The interface works all the same.
    to_amf.send(reset).await.unwrap();
    assert_eq!(next(&mut from_amf).await.kind(), Kind::Successful_NGReset);
}

/// PATH SWITCH REQUEST of one session.
fn path_switch(amf_id: u64, ran_id: u32) -> Bytes {
    let none = || BitString::from([0u8, 0]);
    let capability = UESecurityCapabilities::new(
        NRencryptionAlgorithms(none()),
        NRintegrityProtectionAlgorithms(none()),
        EUTRAencryptionAlgorithms(none()),
        EUTRAintegrityProtectionAlgorithms(none()),
        None,
    );
    let session =
        PDUSessionResourceToBeSwitchedDLItem::new(PDUSessionID(1), vec![0u8].into(), None);
    let pdu = build_ngap!(
        InitiatingMessage,
        PathSwitchRequest,
        PathSwitchRequest,
        RAN_UE_NGAP_ID(ran_id),
        SourceAMF_UE_NGAP_ID(amf_id),
        UserLocationInformation(user_location()),
        UESecurityCapabilities(capability),
        PDUSessionResourceToBeSwitchedDLList(PDUSessionResourceToBeSwitchedDLList(vec![session])),
    );
    pdu.unwrap().encode().unwrap().into()
}

/// TS 38.412, 7. Some gNBs ignore messages of a UE on stream 0.
#[tokio::test]
async fn stream_0_has_no_signalling_of_a_ue() {
    let core = Core::start().await;
    let (to_amf, mut from_amf) = core.link();
    for (message, answer, is_of_ue) in [
        (setup("001", 1), Kind::Successful_NGSetup, false),
        (uplink(99, 7, vec![0x7e, 0, 0x64, 22]), Kind::Initiating_ErrorIndication, true),
        (path_switch(99, 7), Kind::Unsuccessful_PathSwitchRequest, true),
        (vec![0xff; 7].into(), Kind::Initiating_ErrorIndication, false),
    ] {
        to_amf.send(message).await.unwrap();
        let received = tokio::time::timeout(Duration::from_secs(30), from_amf.recv()).await;
        let (stream, data) = received.expect("an answer in time").expect("an AMF");
        let pdu = NGAP_PDU::decode(&data).unwrap();
        assert_eq!((pdu.kind(), stream != 0), (answer, is_of_ue));
    }
}

/// TS 38.413, 10.6: a gNB that does not have the connection answers UE CONTEXT RELEASE COMMAND with
/// ERROR INDICATION.
#[tokio::test]
async fn a_connection_that_the_gnb_does_not_know_is_released_at_once() {
    let core = Core::start_with(|config| config.timers.ngap_ms = 600_000).await;
    let (to_amf, mut from_amf) = core.link();
    to_amf.send(setup("001", 1)).await.unwrap();
    next(&mut from_amf).await;
    for (unknown, ran) in [
        (CauseRadioNetwork::unknown_local_UE_NGAP_ID, Some(5)),
        (CauseRadioNetwork::inconsistent_remote_UE_NGAP_ID, Some(5)),
        // As OCUDU's gNB.
        (CauseRadioNetwork::unknown_local_UE_NGAP_ID, None),
    ] {
        // A service request of an unknown UE: the AMF rejects it and releases the connection.
        let request = vec![0x7e, 0, 0x4c, 0x10, 0, 7, 0xf4, 0, 0x41, 0, 0, 0, 1];
        to_amf.send(initial(5, request)).await.unwrap();
        while next(&mut from_amf).await.kind() != Kind::Initiating_UEContextRelease {}
        let amf_id = core.amf.tables.connections()[0];
        // Another error is not about the connection.
        for cause in [CauseRadioNetwork::unspecified, unknown] {
            assert_eq!(core.amf.tables.connections(), [amf_id]);
            let ids = UeIds { amf: Some(amf_id), ran };
            let indication = error_indication(ids, Some(Cause::radioNetwork(cause)), None);
            to_amf.send(indication.unwrap().encode().unwrap().into()).await.unwrap();
        }
        let released = async {
            while !core.amf.tables.connections().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), released).await.expect("released at once");
    }
    assert!(from_amf.try_recv().is_err(), "no NG RESET");
}

#[tokio::test]
async fn one_gnb_cannot_send_for_the_ue_of_another() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ue_1 = gnb.new_ue(ue(1)).unwrap();
    ue_1.register().await.unwrap();
    let (to_amf, mut from_amf) = core.link();
    to_amf.send(setup("001", 1)).await.unwrap();
    next(&mut from_amf).await;
    let amf_id = core.amf.tables.connections()[0];
    let release = build_ngap!(
        InitiatingMessage,
        UEContextReleaseRequest,
        UEContextReleaseRequest,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(1u32),
        Cause(Cause::radioNetwork(CauseRadioNetwork::user_inactivity)),
    );
    to_amf.send(release.unwrap().encode().unwrap().into()).await.unwrap();
    let indication = next(&mut from_amf).await;
    assert_eq!(
        cause(&indication),
        Cause::radioNetwork(CauseRadioNetwork::inconsistent_remote_UE_NGAP_ID)
    );
    assert_eq!(core.counts(), (1, 1, 1));
    ue_1.establish_pdu_session(PduSessionRequest::default()).await.unwrap();
}

#[tokio::test]
async fn a_reset_leaves_the_ues_idle() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let _ue = core.with_session(&gnb, ue(1)).await;
    let mut paged = gnb.subscribe();
    let list = UEAssociatedLogicalNGConnectionList(vec![UEAssociatedLogicalNGConnectionItem::new(
        Some(AMFUENGAPID(core.amf.tables.connections()[0])),
        None,
        None,
    )]);
    let reset = build_ngap!(
        InitiatingMessage,
        NGReset,
        NGReset,
        Cause(Cause::misc(CauseMisc::om_intervention)),
        ResetType(ResetType::partOfNG_Interface(list)),
    );
    gnb.send_raw_ngap(0, reset.unwrap().encode().unwrap()).await.unwrap();
    core.smf.wait_for("update 1 DEACTIVATED").await;
    core.wait_for((1, 1, 0)).await;
    let acknowledge = NGAP_PDU::decode(&paged.recv().await.unwrap()).unwrap();
    assert_eq!(acknowledge.kind(), Kind::Successful_NGReset);
    fn connections(pdu: &NGAP_PDU) -> Result<usize, martlet_ngap::Error> {
        extract_ngap_ies!(pdu, NGResetAcknowledge,
            req list: UEAssociatedLogicalNGConnectionList =
                UEAssociatedLogicalNGConnectionList(list) => list,
        );
        Ok(list.0.len())
    }
    assert_eq!(connections(&acknowledge).unwrap(), 1);
}

#[tokio::test]
async fn a_gnb_changes_what_it_serves() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let mut paged = gnb.subscribe();
    let update = |mcc: &str| {
        let plmn = helpers::plmn(mcc, "01").unwrap();
        let slices = SliceSupportList(vec![SliceSupportItem::new(helpers::s_nssai(1, None), None)]);
        let plmns = BroadcastPLMNList(vec![BroadcastPLMNItem::new(plmn, slices, None)]);
        let areas = SupportedTAList(vec![SupportedTAItem::new(TAC([0, 0, 5]), plmns, None)]);
        let pdu = build_ngap!(
            InitiatingMessage,
            RANConfigurationUpdate,
            RANConfigurationUpdate,
            RANNodeName("another-name"),
            SupportedTAList(areas),
            Extended_RANNodeName(ExtendedRANNodeName::new(None, Some("gNB Café".into()), None)),
        );
        pdu.unwrap().encode().unwrap()
    };
    gnb.send_raw_ngap(0, update("999")).await.unwrap();
    let failure = NGAP_PDU::decode(&paged.recv().await.unwrap()).unwrap();
    assert_eq!(failure.kind(), Kind::Unsuccessful_RANConfigurationUpdate);
    assert_eq!(core.amf.gnbs.all()[0].label(), "gnb-1");
    gnb.send_raw_ngap(0, update("001")).await.unwrap();
    let acknowledge = NGAP_PDU::decode(&paged.recv().await.unwrap()).unwrap();
    assert_eq!(acknowledge.kind(), Kind::Successful_RANConfigurationUpdate);
    let own = &core.amf.gnbs.all()[0];
    assert_eq!((own.label().as_str(), own.setup().unwrap().areas[0].tai.tac), ("gNB Café", 5));
    assert_eq!(core.amf.gnbs.all().len(), 1);
}

/// TS 38.413, 9.3.1.6: a gNB ID has 22 to 32 bits, and its length distinguishes it.
#[tokio::test]
async fn gnb_ids_of_other_lengths_are_of_other_gnbs() {
    let core = Core::start().await;
    let mut links = Vec::new();
    for bits in [24, 22] {
        let (to_amf, mut from_amf) = core.link();
        to_amf.send(setup_with_bits("001", 1, bits)).await.unwrap();
        assert_eq!(next(&mut from_amf).await.kind(), Kind::Successful_NGSetup);
        links.push((to_amf, from_amf));
    }
    assert_eq!(core.amf.gnbs.set_up(), 2);
    // The first is not asked whether it still has the identity.
    assert!(links[0].1.try_recv().is_err());
}

#[tokio::test]
async fn a_gnb_that_answers_keeps_its_identity() {
    let core = Core::start().await;
    let first = core.gnb_with(|config| config.gnb_id = 9).await;
    let ue_1 = first.new_ue(ue(1)).unwrap();
    ue_1.register().await.unwrap();
    let second = core.try_gnb(|config| config.gnb_id = 9).await.map(|_| ());
    assert!(second.is_err(), "another association has the identity");
    core.wait_for((1, 1, 1)).await;
}
