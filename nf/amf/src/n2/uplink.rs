//! NGAP messages from gNBs about UEs, in the form that UE tasks use. NAS and N2 SM information are
//! slices of the received message.
use super::connection::Location;
use super::handover_uplink::{self, HandoverAdmitted, HandoverRequired};
use super::session_uplink;
pub(crate) use super::transfer_lists::{SessionInfo, SessionOutcome};
use super::transfer_lists::{items, location, slice_of};
use bytes::Bytes;
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, NgapPduKind as Kind, aper, extract_ngap_ies};

/// An NGAP message about a UE.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Uplink {
    /// UPLINK NAS TRANSPORT.
    Nas { nas: Bytes, location: Option<Location> },
    /// INITIAL CONTEXT SETUP RESPONSE.
    ContextSetUp(SessionOutcome),
    /// INITIAL CONTEXT SETUP FAILURE.
    ContextNotSetUp { cause: Cause, failed: Vec<SessionInfo> },
    /// PDU SESSION RESOURCE SETUP RESPONSE.
    SessionsSetUp(SessionOutcome),
    /// PDU SESSION RESOURCE MODIFY RESPONSE.
    SessionsModified(SessionOutcome),
    /// PDU SESSION RESOURCE RELEASE RESPONSE.
    SessionsReleased(Vec<SessionInfo>),
    /// PDU SESSION RESOURCE NOTIFY: QoS flows that changed, and sessions that the gNB released.
    SessionNotify { changed: Vec<SessionInfo>, released: Vec<SessionInfo> },
    /// PDU SESSION RESOURCE MODIFY INDICATION.
    SessionModifyIndication(Vec<SessionInfo>),
    /// UE CONTEXT RELEASE REQUEST, with the active sessions if the gNB reports them.
    ReleaseRequest { cause: Cause, sessions: Vec<u8> },
    /// UE CONTEXT RELEASE COMPLETE.
    Released,
    /// NAS NON DELIVERY INDICATION, with the message that was not delivered.
    NotDelivered { cause: Cause, nas: Option<Bytes> },
    /// UE CONTEXT MODIFICATION RESPONSE.
    ContextModified,
    /// UE CONTEXT MODIFICATION FAILURE.
    ContextNotModified(Cause),
    /// LOCATION REPORT, or LOCATION REPORTING FAILURE INDICATION, without a location.
    Location(Option<Location>),
    /// UE RADIO CAPABILITY INFO INDICATION. The part for paging is an encoded
    /// `UERadioCapabilityForPaging`.
    RadioCapability { capability: Bytes, for_paging: Option<Bytes> },
    /// ERROR INDICATION about the UE.
    Error(Option<Cause>),
    /// UPLINK UE ASSOCIATED NRPPA TRANSPORT, for the LMF of a routing identity.
    Nrppa { routing: Bytes, message: Bytes },
    /// HANDOVER REQUIRED, of the source gNB.
    HandoverRequired(Box<HandoverRequired>),
    /// HANDOVER CANCEL, of the source gNB.
    HandoverCancel(Cause),
    /// UPLINK RAN STATUS TRANSFER, of the source gNB.
    StatusTransfer(RANStatusTransferTransparentContainer<'static>),
    /// HANDOVER REQUEST ACKNOWLEDGE, of the target gNB.
    HandoverAdmitted { ran_id: u32, admitted: Box<HandoverAdmitted> },
    /// HANDOVER FAILURE, of the target gNB.
    HandoverFailed(Cause),
    /// HANDOVER NOTIFY, of the target gNB.
    HandoverNotified(Option<Location>),
}

impl Uplink {
    /// The name of the message, for logs.
    pub fn name(&self) -> &'static str {
        match self {
            Uplink::Nas { .. } => "UPLINK NAS TRANSPORT",
            Uplink::ContextSetUp(_) => "INITIAL CONTEXT SETUP RESPONSE",
            Uplink::ContextNotSetUp { .. } => "INITIAL CONTEXT SETUP FAILURE",
            Uplink::SessionsSetUp(_) => "PDU SESSION RESOURCE SETUP RESPONSE",
            Uplink::SessionsModified(_) => "PDU SESSION RESOURCE MODIFY RESPONSE",
            Uplink::SessionsReleased(_) => "PDU SESSION RESOURCE RELEASE RESPONSE",
            Uplink::SessionNotify { .. } => "PDU SESSION RESOURCE NOTIFY",
            Uplink::SessionModifyIndication(_) => "PDU SESSION RESOURCE MODIFY INDICATION",
            Uplink::ReleaseRequest { .. } => "UE CONTEXT RELEASE REQUEST",
            Uplink::Released => "UE CONTEXT RELEASE COMPLETE",
            Uplink::NotDelivered { .. } => "NAS NON DELIVERY INDICATION",
            Uplink::ContextModified => "UE CONTEXT MODIFICATION RESPONSE",
            Uplink::ContextNotModified(_) => "UE CONTEXT MODIFICATION FAILURE",
            Uplink::Location(_) => "LOCATION REPORT",
            Uplink::RadioCapability { .. } => "UE RADIO CAPABILITY INFO INDICATION",
            Uplink::Error(_) => "ERROR INDICATION",
            Uplink::Nrppa { .. } => "UPLINK UE ASSOCIATED NRPPA TRANSPORT",
            Uplink::HandoverRequired(_) => "HANDOVER REQUIRED",
            Uplink::HandoverCancel(_) => "HANDOVER CANCEL",
            Uplink::StatusTransfer(_) => "UPLINK RAN STATUS TRANSFER",
            Uplink::HandoverAdmitted { .. } => "HANDOVER REQUEST ACKNOWLEDGE",
            Uplink::HandoverFailed(_) => "HANDOVER FAILURE",
            Uplink::HandoverNotified(_) => "HANDOVER NOTIFY",
        }
    }
}

/// INITIAL UE MESSAGE.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InitialUe {
    pub ran_id: u32,
    pub nas: Bytes,
    pub location: Option<Location>,
    /// 5G-S-TMSI: AMF set, AMF pointer, 5G-TMSI.
    pub s_tmsi: Option<(u16, u8, u32)>,
    /// The gNB sends it because another AMF rerouted it (TS 38.413, 8.6.5).
    pub rerouted: bool,
}

/// Reads INITIAL UE MESSAGE.
pub(crate) fn initial_ue(pdu: &NGAPPDU<'_>, data: &Bytes) -> Result<InitialUe, Error> {
    extract_ngap_ies!(pdu, InitialUEMessage,
        req ran_id: u32 = RAN_UE_NGAP_ID(id),
        req nas: NASPDU = NAS_PDU(nas) => nas,
        req uli: UserLocationInformation = UserLocationInformation(uli) => uli,
        opt s_tmsi: FiveGSTMSI = FiveG_S_TMSI(id) => id,
        opt set: AMFSetID = AMFSetID(set) => set,
    );
    let s_tmsi = s_tmsi.map(|id| {
        // 10 and 6 bits.
        let (set, pointer) = (id.amf_set_id.0.value() as u16, id.amf_pointer.0.value() as u8);
        (set, pointer, u32::from_be_bytes(id.five_g_tmsi.0))
    });
    Ok(InitialUe {
        ran_id,
        nas: slice_of(data, &nas.0),
        location: location(&uli),
        s_tmsi,
        rerouted: set.is_some(),
    })
}

/// Reads a message about a UE; `None` for a kind that the AMF does not handle.
pub(crate) fn read(pdu: &NGAPPDU<'_>, data: &Bytes) -> Result<Option<Uplink>, Error> {
    Ok(Some(match pdu.kind() {
        Kind::Initiating_UplinkNASTransport => {
            extract_ngap_ies!(pdu, UplinkNASTransport,
                req nas: NASPDU = NAS_PDU(nas) => nas,
                lax uli: UserLocationInformation = UserLocationInformation(uli) => uli,
            );
            Uplink::Nas { nas: slice_of(data, &nas.0), location: uli.as_ref().and_then(location) }
        }
        Kind::Successful_InitialContextSetup => {
            Uplink::ContextSetUp(session_uplink::context_set_up(pdu, data)?)
        }
        Kind::Unsuccessful_InitialContextSetup => {
            extract_ngap_ies!(pdu, InitialContextSetupFailure,
                lax failed: PDUSessionResourceFailedToSetupListCxtFail =
                    PDUSessionResourceFailedToSetupListCxtFail(list) => list,
                lax cause: Cause = Cause(cause) => cause,
            );
            let failed = items!(failed, data, pdu_session_resource_setup_unsuccessful_transfer);
            Uplink::ContextNotSetUp {
                cause: cause.unwrap_or(Cause::misc(CauseMisc::unspecified)),
                failed,
            }
        }
        Kind::Successful_PDUSessionResourceSetup => {
            Uplink::SessionsSetUp(session_uplink::set_up(pdu, data)?)
        }
        Kind::Successful_PDUSessionResourceModify => {
            Uplink::SessionsModified(session_uplink::modified(pdu, data)?)
        }
        Kind::Successful_PDUSessionResourceRelease => {
            Uplink::SessionsReleased(session_uplink::released(pdu, data)?)
        }
        Kind::Initiating_PDUSessionResourceNotify => {
            extract_ngap_ies!(pdu, PDUSessionResourceNotify,
                opt changed: PDUSessionResourceNotifyList =
                    PDUSessionResourceNotifyList(list) => list,
                lax released: PDUSessionResourceReleasedListNot =
                    PDUSessionResourceReleasedListNot(list) => list,
            );
            Uplink::SessionNotify {
                changed: items!(changed, data, pdu_session_resource_notify_transfer),
                released: items!(released, data, pdu_session_resource_notify_released_transfer),
            }
        }
        Kind::Initiating_PDUSessionResourceModifyIndication => {
            Uplink::SessionModifyIndication(session_uplink::modify_indication(pdu, data)?)
        }
        Kind::Initiating_UEContextReleaseRequest => {
            extract_ngap_ies!(pdu, UEContextReleaseRequest,
                opt list: PDUSessionResourceListCxtRelReq =
                    PDUSessionResourceListCxtRelReq(list) => list,
                lax cause: Cause = Cause(cause) => cause,
            );
            let sessions = list.map(|list| list.0).unwrap_or_default();
            Uplink::ReleaseRequest {
                cause: cause.unwrap_or(Cause::misc(CauseMisc::unspecified)),
                sessions: sessions.iter().map(|item| item.pdu_session_id.0).collect(),
            }
        }
        Kind::Successful_UEContextRelease => Uplink::Released,
        Kind::Successful_UEContextModification => Uplink::ContextModified,
        Kind::Unsuccessful_UEContextModification => {
            extract_ngap_ies!(pdu, UEContextModificationFailure, lax cause: Cause =
                Cause(cause) => cause,);
            Uplink::ContextNotModified(cause.unwrap_or(Cause::misc(CauseMisc::unspecified)))
        }
        Kind::Initiating_LocationReport => {
            extract_ngap_ies!(pdu, LocationReport,
                lax uli: UserLocationInformation = UserLocationInformation(uli) => uli,
            );
            Uplink::Location(uli.as_ref().and_then(location))
        }
        // The gNB cannot report a location (8.12.2): at once, and not after the time for a report.
        Kind::Initiating_LocationReportingFailureIndication => Uplink::Location(None),
        Kind::Initiating_UplinkUEAssociatedNRPPaTransport => {
            extract_ngap_ies!(pdu, UplinkUEAssociatedNRPPaTransport,
                req routing: RoutingID = RoutingID(routing) => routing,
                req message: NRPPaPDU = NRPPa_PDU(message) => message,
            );
            Uplink::Nrppa {
                routing: slice_of(data, &routing.0),
                message: slice_of(data, &message.0),
            }
        }
        Kind::Initiating_HandoverPreparation => {
            Uplink::HandoverRequired(handover_uplink::handover_required(pdu, data)?.into())
        }
        Kind::Initiating_HandoverCancel => {
            Uplink::HandoverCancel(handover_uplink::handover_cancel(pdu)?)
        }
        Kind::Initiating_UplinkRANStatusTransfer => {
            Uplink::StatusTransfer(handover_uplink::ran_status_transfer(pdu)?)
        }
        Kind::Initiating_HandoverNotification => {
            Uplink::HandoverNotified(handover_uplink::handover_notify(pdu)?)
        }
        Kind::Initiating_NASNonDeliveryIndication => {
            extract_ngap_ies!(pdu, NASNonDeliveryIndication,
                lax cause: Cause = Cause(cause) => cause,
                lax nas: NASPDU = NAS_PDU(nas) => nas,
            );
            Uplink::NotDelivered {
                cause: cause.unwrap_or(Cause::misc(CauseMisc::unspecified)),
                nas: nas.map(|nas| slice_of(data, &nas.0)),
            }
        }
        Kind::Initiating_UERadioCapabilityInfoIndication => {
            extract_ngap_ies!(pdu, UERadioCapabilityInfoIndication,
                req capability: UERadioCapability = UERadioCapability(capability) => capability,
                lax for_paging: UERadioCapabilityForPaging =
                    UERadioCapabilityForPaging(for_paging) => for_paging,
            );
            Uplink::RadioCapability {
                // Stored for long: copied, so that the whole message can be freed.
                capability: Bytes::copy_from_slice(&capability.0),
                for_paging: for_paging.and_then(|it| aper::encode(&it).ok()).map(Bytes::from),
            }
        }
        _ => return Ok(None),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_ngap::{build_ngap, helpers};

    #[test]
    fn an_initial_ue_message_is_read_without_copying_its_nas() {
        let plmn = helpers::plmn("001", "01").unwrap();
        let cell = helpers::nr_cgi(plmn, 0x123, 24, 5).unwrap();
        let uli = UserLocationInformationNR::new(cell, helpers::tai(plmn, [0, 0, 7]), None, None);
        let tmsi = FiveGSTMSI::new(
            AMFSetID::new(1).unwrap(),
            AMFPointer::new(2).unwrap(),
            FiveGTMSI([0, 0, 1, 2]),
            None,
        );
        let pdu = build_ngap!(
            InitiatingMessage,
            InitialUEMessage,
            InitialUEMessage,
            RAN_UE_NGAP_ID(9u32),
            NAS_PDU(vec![0x7e, 0, 0x41]),
            UserLocationInformation(UserLocationInformation::userLocationInformationNR(uli)),
            RRCEstablishmentCause(RRCEstablishmentCause::mo_Signalling),
            FiveG_S_TMSI(tmsi),
        );
        let data = Bytes::from(pdu.unwrap().encode().unwrap());
        let received = martlet_ngap::inbound::read(&data).unwrap();
        let initial = initial_ue(&received.pdu, &data).unwrap();
        assert_eq!((initial.ran_id, initial.s_tmsi), (9, Some((1, 2, 0x102))));
        assert_eq!(
            (initial.location.unwrap().tai.tac, &initial.nas[..]),
            (7, &[0x7e, 0, 0x41][..])
        );
        let within = data.as_ptr_range();
        assert!(within.contains(&initial.nas.as_ptr()));
    }

    #[test]
    fn a_failure_of_location_reporting_is_a_report_without_location() {
        let pdu = build_ngap!(
            InitiatingMessage,
            LocationReportingFailureIndication,
            LocationReportingFailureIndication,
            AMF_UE_NGAP_ID(1u64),
            RAN_UE_NGAP_ID(2u32),
            Cause(Cause::radioNetwork(CauseRadioNetwork::unspecified)),
        );
        let data = Bytes::from(pdu.unwrap().encode().unwrap());
        let received = martlet_ngap::inbound::read(&data).unwrap();
        assert_eq!(read(&received.pdu, &data).unwrap(), Some(Uplink::Location(None)));
    }

    #[test]
    fn a_release_request_names_its_sessions() {
        let list = vec![PDUSessionResourceItemCxtRelReq::new(PDUSessionID(5), None)];
        let pdu = build_ngap!(
            InitiatingMessage,
            UEContextReleaseRequest,
            UEContextReleaseRequest,
            AMF_UE_NGAP_ID(1u64),
            RAN_UE_NGAP_ID(2u32),
            PDUSessionResourceListCxtRelReq(PDUSessionResourceListCxtRelReq(list)),
            Cause(Cause::radioNetwork(CauseRadioNetwork::user_inactivity)),
        );
        let data = Bytes::from(pdu.unwrap().encode().unwrap());
        let received = martlet_ngap::inbound::read(&data).unwrap();
        let cause = Cause::radioNetwork(CauseRadioNetwork::user_inactivity);
        assert_eq!(
            read(&received.pdu, &data).unwrap(),
            Some(Uplink::ReleaseRequest { cause, sessions: vec![5] })
        );
    }
}
