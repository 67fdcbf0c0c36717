//! The messages that the AMF and a gNB send each other, as they build them.

use martlet_ngap::helpers::{
    global_gnb_id, guami, nr_cgi, plmn, s_nssai, tai, ue_security_capabilities,
};
use martlet_ngap::inbound::UeIds;
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::{
    self, Ambr, Arp, FailedFlow, FlowChange, FlowTunnel, GtpTunnel, Protection, QosFlow,
    SessionType, UserPlaneSecurity,
};
use martlet_ngap::{Error, build_ngap, error_indication};

const AMF: u64 = 1;
const RAN: u32 = 7;
/// REGISTRATION REQUEST, plain.
const REGISTRATION: [u8; 23] = [
    0x7e, 0, 0x41, 0x79, 0, 0x0d, 1, 2, 0xf8, 0x39, 0xf0, 0xff, 0, 0, 0, 0, 0, 0, 0x10, 0x2e, 2,
    0xe0, 0xe0,
];
/// UERadioAccessCapabilityInformation of a UE that lists no radio access technology (TS 38.331,
/// 11.2.2).
const RADIO_CAPABILITY: [u8; 3] = [0, 8, 0];
/// 5GMM STATUS, plain.
const STATUS: [u8; 4] = [0x7e, 0, 0x64, 0x61];

fn network() -> PLMNIdentity {
    plmn("208", "93").expect("a PLMN")
}

fn location() -> UserLocationInformation<'static> {
    let cell = nr_cgi(network(), 1, 24, 1).expect("a cell");
    let area = tai(network(), [0, 0, 1]);
    UserLocationInformation::userLocationInformationNR(UserLocationInformationNR::new(
        cell, area, None, None,
    ))
}

fn slices() -> SliceSupportList {
    let slices = [s_nssai(1, None), s_nssai(1, Some([0, 0, 0xff]))];
    SliceSupportList(slices.into_iter().map(|slice| SliceSupportItem::new(slice, None)).collect())
}

fn areas() -> SupportedTAList {
    let plmns = BroadcastPLMNList(vec![BroadcastPLMNItem::new(network(), slices(), None)]);
    SupportedTAList(vec![SupportedTAItem::new(TAC([0, 0, 1]), plmns, None)])
}

fn tunnel(last: u8, teid: u32) -> GtpTunnel {
    GtpTunnel::new([10, 0, 0, last].into(), teid)
}

fn session() -> PDUSessionID {
    PDUSessionID(5)
}

fn no_resources() -> Cause {
    Cause::radioNetwork(CauseRadioNetwork::radio_resources_not_available)
}

fn inactive() -> Cause {
    Cause::radioNetwork(CauseRadioNetwork::user_inactivity)
}

fn setup() -> Vec<u8> {
    let mut request = transfer::SetupRequest::new(
        tunnel(8, 1),
        SessionType::Ipv4,
        vec![QosFlow::standard(1, 9, Arp::level(8)), QosFlow::standard(2, 5, Arp::level(1))],
    )
    .with_ambr(200_000_000, 100_000_000)
    .with_security(UserPlaneSecurity {
        integrity: Protection::Preferred,
        confidentiality: Protection::Preferred,
        full_rate_integrity: true,
    });
    request.network_instance = Some(1);
    request.encode().expect("it encodes")
}

fn set_up() -> Vec<u8> {
    transfer::SetupResponse::new(FlowTunnel::new(tunnel(2, 0x10), vec![1, 2]))
        .encode()
        .expect("it encodes")
}

fn refused() -> Vec<u8> {
    transfer::SetupUnsuccessful::new(no_resources()).encode().expect("it encodes")
}

/// The transfers of a PDU session, each with the name of its ASN.1 type.
pub fn transfers() -> Vec<(&'static str, Vec<u8>)> {
    let flows = vec![FlowChange { qfi: 2, qos: Some(QosFlow::standard(2, 5, Arp::level(1)).qos) }];
    let failed_flows = vec![FailedFlow { qfi: 2, cause: no_resources() }];
    let encoded = [
        ("PDUSessionResourceSetupRequestTransfer", Ok(setup())),
        ("PDUSessionResourceSetupResponseTransfer", Ok(set_up())),
        ("PDUSessionResourceSetupUnsuccessfulTransfer", Ok(refused())),
        (
            "PDUSessionResourceReleaseCommandTransfer",
            transfer::ReleaseCommand::new(Cause::nas(CauseNas::normal_release)).encode(),
        ),
        ("PDUSessionResourceReleaseResponseTransfer", transfer::ReleaseResponse.encode()),
        (
            "PDUSessionResourceModifyRequestTransfer",
            transfer::ModifyRequest {
                ambr: Some(Ambr { downlink: 1_000_000_000, uplink: 500_000_000 }),
                flows,
                released_flows: vec![FailedFlow {
                    qfi: 3,
                    cause: Cause::nas(CauseNas::normal_release),
                }],
                ..Default::default()
            }
            .encode(),
        ),
        (
            "PDUSessionResourceModifyResponseTransfer",
            transfer::ModifyResponse {
                flows: vec![2],
                failed_flows: failed_flows.clone(),
                ..Default::default()
            }
            .encode(),
        ),
        (
            "PDUSessionResourceModifyUnsuccessfulTransfer",
            transfer::ModifyUnsuccessful::new(no_resources()).encode(),
        ),
        (
            "PDUSessionResourceNotifyTransfer",
            transfer::Notify { notified: vec![], released_flows: failed_flows }.encode(),
        ),
        (
            "PathSwitchRequestTransfer",
            transfer::PathSwitchRequest {
                downlink: tunnel(3, 9),
                reused: false,
                security: None,
                flows: vec![1],
            }
            .encode(),
        ),
        (
            "PathSwitchRequestAcknowledgeTransfer",
            transfer::PathSwitchAcknowledge { uplink: Some(tunnel(8, 2)), security: None }.encode(),
        ),
        (
            "PathSwitchRequestUnsuccessfulTransfer",
            transfer::PathSwitchUnsuccessful { cause: no_resources() }.encode(),
        ),
        (
            "HandoverRequiredTransfer",
            transfer::HandoverRequired { direct_forwarding: true }.encode(),
        ),
        (
            "HandoverRequestAcknowledgeTransfer",
            transfer::HandoverRequestAcknowledge {
                downlink: tunnel(3, 9),
                forwarding: None,
                security: None,
                flows: vec![(1, false)],
                failed_flows: vec![],
            }
            .encode(),
        ),
        ("HandoverCommandTransfer", transfer::HandoverCommand::default().encode()),
    ];
    encoded.into_iter().map(|(name, bytes)| (name, bytes.expect("it encodes"))).collect()
}

/// Messages of the interface itself.
fn interface() -> Vec<Result<NGAP_PDU, Error>> {
    let gnb = GlobalRANNodeID::globalGNB_ID(global_gnb_id(network(), 1, 24).expect("a gNB"));
    let served =
        ServedGUAMIItem::new(guami(network(), 0xca, 0x3fe, 1).expect("a GUAMI"), None, None);
    let supported = PLMNSupportItem::new(network(), slices(), None);
    let connection = UEAssociatedLogicalNGConnectionItem::new(
        Some(AMFUENGAPID(AMF)),
        Some(RANUENGAPID(RAN)),
        None,
    );
    let connections = || UEAssociatedLogicalNGConnectionList(vec![connection.clone()]);
    vec![
        build_ngap!(
            InitiatingMessage,
            NGSetup,
            NGSetupRequest,
            GlobalRANNodeID(gnb.clone()),
            RANNodeName("gnb-1"),
            SupportedTAList(areas()),
            DefaultPagingDRX(PagingDRX::v128)
        ),
        build_ngap!(
            SuccessfulOutcome,
            NGSetup,
            NGSetupResponse,
            AMFName("amf-1"),
            ServedGUAMIList(ServedGUAMIList(vec![served])),
            RelativeAMFCapacity(RelativeAMFCapacity(255)),
            PLMNSupportList(PLMNSupportList(vec![supported]))
        ),
        build_ngap!(
            UnsuccessfulOutcome,
            NGSetup,
            NGSetupFailure,
            Cause(Cause::misc(CauseMisc::unknown_PLMN_or_SNPN)),
            TimeToWait(TimeToWait::v5s)
        ),
        build_ngap!(
            InitiatingMessage,
            RANConfigurationUpdate,
            RANConfigurationUpdate,
            RANNodeName("gnb-1"),
            SupportedTAList(areas())
        ),
        build_ngap!(SuccessfulOutcome, RANConfigurationUpdate, RANConfigurationUpdateAcknowledge,),
        build_ngap!(
            InitiatingMessage,
            NGReset,
            NGReset,
            Cause(Cause::misc(CauseMisc::om_intervention)),
            ResetType(ResetType::nG_Interface(ResetAll::reset_all))
        ),
        build_ngap!(
            InitiatingMessage,
            NGReset,
            NGReset,
            Cause(Cause::misc(CauseMisc::om_intervention)),
            ResetType(ResetType::partOfNG_Interface(connections()))
        ),
        build_ngap!(
            SuccessfulOutcome,
            NGReset,
            NGResetAcknowledge,
            UEAssociatedLogicalNGConnectionList(connections())
        ),
        build_ngap!(InitiatingMessage, OverloadStart, OverloadStart,),
        build_ngap!(InitiatingMessage, OverloadStop, OverloadStop,),
        error_indication::error_indication(
            UeIds { amf: Some(AMF), ran: Some(RAN) },
            Some(Cause::radioNetwork(CauseRadioNetwork::unknown_local_UE_NGAP_ID)),
            None,
        ),
        error_indication::error_indication(
            UeIds::default(),
            Some(Cause::protocol(CauseProtocol::abstract_syntax_error_reject)),
            Some(CriticalityDiagnostics::new(
                Some(ProcedureCode(250)),
                Some(TriggeringMessage::initiating_message),
                Some(Criticality::reject),
                None,
                None,
            )),
        ),
    ]
}

/// Messages about a UE.
fn user_equipment() -> Vec<Result<NGAP_PDU, Error>> {
    let s_tmsi = || {
        FiveGSTMSI::new(
            AMFSetID::new(0x3fe).expect("ten bits"),
            AMFPointer::new(1).expect("six bits"),
            FiveGTMSI([0xde, 0xad, 0xbe, 0xef]),
            None,
        )
    };
    let allowed = || AllowedNSSAI(vec![AllowedNSSAIItem::new(s_nssai(1, None), None)]);
    let rates =
        UEAggregateMaximumBitRate::new(BitRate(2_000_000_000), BitRate(1_000_000_000), None);
    let paged = TAIListForPaging(vec![TAIListForPagingItem::new(tai(network(), [0, 0, 1]), None)]);
    let pair =
        UENGAPIDs::uE_NGAP_ID_pair(UENGAPIDPair::new(AMFUENGAPID(AMF), RANUENGAPID(RAN), None));
    let guami = guami(network(), 0xca, 0x3fe, 1).expect("a GUAMI");
    vec![
        build_ngap!(
            InitiatingMessage,
            InitialUEMessage,
            InitialUEMessage,
            RAN_UE_NGAP_ID(RAN),
            NAS_PDU(REGISTRATION.to_vec()),
            UserLocationInformation(location()),
            RRCEstablishmentCause(RRCEstablishmentCause::mo_Signalling),
            FiveG_S_TMSI(s_tmsi()),
            UEContextRequest(UEContextRequest::requested)
        ),
        build_ngap!(
            InitiatingMessage,
            DownlinkNASTransport,
            DownlinkNASTransport,
            AMF_UE_NGAP_ID(AMF),
            RAN_UE_NGAP_ID(RAN),
            NAS_PDU(STATUS.to_vec())
        ),
        build_ngap!(
            InitiatingMessage,
            UplinkNASTransport,
            UplinkNASTransport,
            AMF_UE_NGAP_ID(AMF),
            RAN_UE_NGAP_ID(RAN),
            NAS_PDU(STATUS.to_vec()),
            UserLocationInformation(location())
        ),
        build_ngap!(
            InitiatingMessage,
            NASNonDeliveryIndication,
            NASNonDeliveryIndication,
            AMF_UE_NGAP_ID(AMF),
            RAN_UE_NGAP_ID(RAN),
            NAS_PDU(STATUS.to_vec()),
            Cause(inactive())
        ),
        build_ngap!(
            InitiatingMessage,
            InitialContextSetup,
            InitialContextSetupRequest,
            AMF_UE_NGAP_ID(AMF),
            RAN_UE_NGAP_ID(RAN),
            UEAggregateMaximumBitRate(rates),
            GUAMI(guami),
            PDUSessionResourceSetupListCxtReq(PDUSessionResourceSetupListCxtReq(vec![
                PDUSessionResourceSetupItemCxtReq::new(
                    session(),
                    None,
                    s_nssai(1, None),
                    setup().into(),
                    None
                )
            ])),
            AllowedNSSAI(allowed()),
            UESecurityCapabilities(ue_security_capabilities(0xe0, 0xe0)),
            SecurityKey([0x5a; 32]),
            NAS_PDU(STATUS.to_vec())
        ),
        build_ngap!(
            SuccessfulOutcome,
            InitialContextSetup,
            InitialContextSetupResponse,
            AMF_UE_NGAP_ID(AMF),
            RAN_UE_NGAP_ID(RAN),
            PDUSessionResourceSetupListCxtRes(PDUSessionResourceSetupListCxtRes(vec![
                PDUSessionResourceSetupItemCxtRes::new(session(), set_up().into(), None)
            ]))
        ),
        build_ngap!(
            UnsuccessfulOutcome,
            InitialContextSetup,
            InitialContextSetupFailure,
            AMF_UE_NGAP_ID(AMF),
            RAN_UE_NGAP_ID(RAN),
            Cause(no_resources())
        ),
        build_ngap!(
            InitiatingMessage,
            UERadioCapabilityInfoIndication,
            UERadioCapabilityInfoIndication,
            AMF_UE_NGAP_ID(AMF),
            RAN_UE_NGAP_ID(RAN),
            UERadioCapability(RADIO_CAPABILITY.to_vec())
        ),
        build_ngap!(
            InitiatingMessage,
            UEContextReleaseRequest,
            UEContextReleaseRequest,
            AMF_UE_NGAP_ID(AMF),
            RAN_UE_NGAP_ID(RAN),
            PDUSessionResourceListCxtRelReq(PDUSessionResourceListCxtRelReq(vec![
                PDUSessionResourceItemCxtRelReq::new(session(), None)
            ])),
            Cause(inactive())
        ),
        build_ngap!(
            InitiatingMessage,
            UEContextRelease,
            UEContextReleaseCommand,
            UE_NGAP_IDs(pair),
            Cause(Cause::nas(CauseNas::normal_release))
        ),
        build_ngap!(
            InitiatingMessage,
            UEContextRelease,
            UEContextReleaseCommand,
            UE_NGAP_IDs(UENGAPIDs::aMF_UE_NGAP_ID(AMFUENGAPID(AMF))),
            Cause(inactive())
        ),
        build_ngap!(
            SuccessfulOutcome,
            UEContextRelease,
            UEContextReleaseComplete,
            AMF_UE_NGAP_ID(AMF),
            RAN_UE_NGAP_ID(RAN),
            UserLocationInformation(location()),
            PDUSessionResourceListCxtRelCpl(PDUSessionResourceListCxtRelCpl(vec![
                PDUSessionResourceItemCxtRelCpl::new(session(), None)
            ]))
        ),
        build_ngap!(
            InitiatingMessage,
            Paging,
            Paging,
            UEPagingIdentity(UEPagingIdentity::fiveG_S_TMSI(s_tmsi())),
            TAIListForPaging(paged)
        ),
    ]
}

/// Messages about a PDU session.
fn sessions() -> Vec<Result<NGAP_PDU, Error>> {
    let of = |name: &str| {
        let found = transfers().into_iter().find(|(known, _)| *known == name);
        martlet_ngap::Octets::from(found.expect("a transfer of this name").1)
    };
    vec![
        build_ngap!(
            InitiatingMessage,
            PDUSessionResourceSetup,
            PDUSessionResourceSetupRequest,
            AMF_UE_NGAP_ID(AMF),
            RAN_UE_NGAP_ID(RAN),
            PDUSessionResourceSetupListSUReq(PDUSessionResourceSetupListSUReq(vec![
                PDUSessionResourceSetupItemSUReq::new(
                    session(),
                    Some(NASPDU::from(STATUS.to_vec())),
                    s_nssai(1, None),
                    setup().into(),
                    None
                )
            ]))
        ),
        build_ngap!(
            SuccessfulOutcome,
            PDUSessionResourceSetup,
            PDUSessionResourceSetupResponse,
            AMF_UE_NGAP_ID(AMF),
            RAN_UE_NGAP_ID(RAN),
            PDUSessionResourceSetupListSURes(PDUSessionResourceSetupListSURes(vec![
                PDUSessionResourceSetupItemSURes::new(session(), set_up().into(), None)
            ])),
            PDUSessionResourceFailedToSetupListSURes(PDUSessionResourceFailedToSetupListSURes(
                vec![PDUSessionResourceFailedToSetupItemSURes::new(
                    PDUSessionID(6),
                    refused().into(),
                    None
                )]
            ))
        ),
        build_ngap!(
            InitiatingMessage,
            PDUSessionResourceModify,
            PDUSessionResourceModifyRequest,
            AMF_UE_NGAP_ID(AMF),
            RAN_UE_NGAP_ID(RAN),
            PDUSessionResourceModifyListModReq(PDUSessionResourceModifyListModReq(vec![
                PDUSessionResourceModifyItemModReq::new(
                    session(),
                    Some(NASPDU::from(STATUS.to_vec())),
                    of("PDUSessionResourceModifyRequestTransfer"),
                    None
                )
            ]))
        ),
        build_ngap!(
            SuccessfulOutcome,
            PDUSessionResourceModify,
            PDUSessionResourceModifyResponse,
            AMF_UE_NGAP_ID(AMF),
            RAN_UE_NGAP_ID(RAN),
            PDUSessionResourceModifyListModRes(PDUSessionResourceModifyListModRes(vec![
                PDUSessionResourceModifyItemModRes::new(
                    session(),
                    of("PDUSessionResourceModifyResponseTransfer"),
                    None
                )
            ]))
        ),
        build_ngap!(
            InitiatingMessage,
            PDUSessionResourceRelease,
            PDUSessionResourceReleaseCommand,
            AMF_UE_NGAP_ID(AMF),
            RAN_UE_NGAP_ID(RAN),
            NAS_PDU(STATUS.to_vec()),
            PDUSessionResourceToReleaseListRelCmd(PDUSessionResourceToReleaseListRelCmd(vec![
                PDUSessionResourceToReleaseItemRelCmd::new(
                    session(),
                    of("PDUSessionResourceReleaseCommandTransfer"),
                    None
                )
            ]))
        ),
        build_ngap!(
            SuccessfulOutcome,
            PDUSessionResourceRelease,
            PDUSessionResourceReleaseResponse,
            AMF_UE_NGAP_ID(AMF),
            RAN_UE_NGAP_ID(RAN),
            PDUSessionResourceReleasedListRelRes(PDUSessionResourceReleasedListRelRes(vec![
                PDUSessionResourceReleasedItemRelRes::new(
                    session(),
                    of("PDUSessionResourceReleaseResponseTransfer"),
                    None
                )
            ])),
            UserLocationInformation(location())
        ),
        build_ngap!(
            InitiatingMessage,
            PathSwitchRequest,
            PathSwitchRequest,
            RAN_UE_NGAP_ID(RAN),
            SourceAMF_UE_NGAP_ID(AMFUENGAPID(AMF)),
            UserLocationInformation(location()),
            UESecurityCapabilities(ue_security_capabilities(0xe0, 0xe0)),
            PDUSessionResourceToBeSwitchedDLList(PDUSessionResourceToBeSwitchedDLList(vec![
                PDUSessionResourceToBeSwitchedDLItem::new(
                    session(),
                    of("PathSwitchRequestTransfer"),
                    None
                )
            ]))
        ),
    ]
}

/// Every message with its name, and whether it goes to the AMF.
pub fn all() -> Vec<(String, bool, Vec<u8>)> {
    let pdus = interface().into_iter().chain(user_equipment()).chain(sessions());
    pdus.map(|pdu| {
        let pdu = pdu.expect("a message");
        let name = martlet_ngap::inbound::message_name(&pdu);
        let deviations = pdu.check().expect("a container of elements");
        assert!(deviations.is_empty(), "{name}: {deviations:?}");
        // Procedures that only an AMF initiates; responses have the opposite direction.
        let from_amf = [
            "DownlinkNASTransport",
            "InitialContextSetupRequest",
            "UEContextReleaseCommand",
            "Paging",
            "OverloadStart",
            "OverloadStop",
            "NGSetupResponse",
            "NGSetupFailure",
            "RANConfigurationUpdateAcknowledge",
            "PDUSessionResourceSetupRequest",
            "PDUSessionResourceModifyRequest",
            "PDUSessionResourceReleaseCommand",
        ];
        let to_amf = !from_amf.contains(&&name[..]);
        (name, to_amf, pdu.encode().expect("it encodes"))
    })
    .collect()
}
