//! NGAP messages of handover and path switch that the AMF sends (TS 38.413, 9.2.3).
use super::Connection;
use super::downlink::{Built, Restrictions, security_capabilities, ue_ambr};
use super::uplink::SessionInfo;
use crate::served::{ServedGuami, slice_to_ngap};
use bytes::Bytes;
use martlet_nas::NasUeSecurityCapability;
use martlet_nas::identifiers::Slice;
use martlet_ngap::ngap::*;
use martlet_ngap::{BitString, Message, build_ngap, build_ngap_ie};

/// {NH, NCC} for a gNB.
fn security_context(nh: [u8; 32], ncc: u8) -> SecurityContext<'static> {
    SecurityContext::new(NextHopChainingCount(ncc), SecurityKey(BitString::from(nh)), None)
}

fn allowed_nssai(allowed: &[Slice]) -> AllowedNSSAI {
    AllowedNSSAI(
        allowed.iter().map(|slice| AllowedNSSAIItem::new(slice_to_ngap(*slice), None)).collect(),
    )
}

/// Content of HANDOVER REQUEST besides the identity (TS 38.413, 9.2.3.4).
pub(crate) struct HandoverRequest<'a> {
    pub guami: &'a ServedGuami,
    pub cause: Cause,
    pub allowed: &'a [Slice],
    pub capability: &'a NasUeSecurityCapability,
    pub nh: [u8; 32],
    pub ncc: u8,
    /// Intra N1 mode NAS transparent container, for a new K_AMF.
    pub new_context: Option<Vec<u8>>,
    /// UE-AMBR, bit/s: downlink, uplink.
    pub ambr: (u64, u64),
    pub rfsp: Option<u16>,
    /// Session, slice and PDU Session Resource Setup Request Transfer.
    pub sessions: Vec<(u8, Slice, Bytes)>,
    /// Source to Target Transparent Container.
    pub container: &'a Bytes,
    pub restrictions: Option<Restrictions>,
    /// Location reporting that the target starts.
    pub reporting: Option<LocationReportingRequestType>,
}

/// HANDOVER REQUEST.
pub(crate) fn handover_request(amf_id: u64, request: HandoverRequest<'_>) -> Built {
    type Request<'a> = martlet_ngap::ngap::HandoverRequest<'a>;
    let items = request.sessions.into_iter().map(|(psi, slice, transfer)| {
        PDUSessionResourceSetupItemHOReq::new(
            PDUSessionID(psi),
            slice_to_ngap(slice),
            transfer.to_vec().into(),
            None,
        )
    });
    let list = PDUSessionResourceSetupListHOReq(items.collect());
    let mut ies = vec![
        build_ngap_ie!(HandoverRequest, AMF_UE_NGAP_ID(amf_id))?,
        build_ngap_ie!(HandoverRequest, HandoverType(HandoverType::intra5gs))?,
        build_ngap_ie!(HandoverRequest, Cause(request.cause))?,
        build_ngap_ie!(HandoverRequest, UEAggregateMaximumBitRate(ue_ambr(request.ambr)))?,
        build_ngap_ie!(
            HandoverRequest,
            UESecurityCapabilities(security_capabilities(request.capability))
        )?,
        build_ngap_ie!(
            HandoverRequest,
            SecurityContext(security_context(request.nh, request.ncc))
        )?,
        build_ngap_ie!(HandoverRequest, PDUSessionResourceSetupListHOReq(list))?,
        build_ngap_ie!(HandoverRequest, AllowedNSSAI(allowed_nssai(request.allowed)))?,
        build_ngap_ie!(
            HandoverRequest,
            SourceToTarget_TransparentContainer(request.container.to_vec())
        )?,
    ];
    if let Some(container) = request.new_context {
        // The order of IEs is fixed (9.2.3.4).
        let at = ies.len() - 3;
        ies.insert(at, build_ngap_ie!(HandoverRequest, NASC(container))?);
        let is_new = NewSecurityContextInd::R_true;
        ies.insert(at, build_ngap_ie!(HandoverRequest, NewSecurityContextInd(is_new))?);
    }
    if let Some(restrictions) = &request.restrictions {
        ies.push(build_ngap_ie!(HandoverRequest, MobilityRestrictionList(restrictions.to_ngap()))?);
    }
    if let Some(asked) = request.reporting {
        ies.push(build_ngap_ie!(HandoverRequest, LocationReportingRequestType(asked))?);
    }
    ies.push(build_ngap_ie!(HandoverRequest, GUAMI(request.guami.to_ngap()?))?);
    if let Some(rfsp) = request.rfsp.filter(|index| (1..=256).contains(index)) {
        ies.push(build_ngap_ie!(HandoverRequest, IGNORE IndexToRFSP(IndexToRFSP(rfsp.into())))?);
    }
    NGAP_PDU::of_message(&Request::new(ProtocolIEContainer(ies)), Request::CRITICALITY)
}

/// HANDOVER COMMAND with admitted sessions, failed sessions and the target container.
pub(crate) fn handover_command(
    ue: &Connection,
    sessions: &[SessionInfo],
    failed: &[SessionInfo],
    container: &Bytes,
) -> Built {
    type Command<'a> = HandoverCommand<'a>;
    let mut ies = vec![
        build_ngap_ie!(HandoverCommand, AMF_UE_NGAP_ID(ue.amf_id))?,
        build_ngap_ie!(HandoverCommand, RAN_UE_NGAP_ID(ue.ran_id))?,
        build_ngap_ie!(HandoverCommand, HandoverType(HandoverType::intra5gs))?,
    ];
    if !sessions.is_empty() {
        let item = |(psi, transfer): &SessionInfo| {
            PDUSessionResourceHandoverItem::new(PDUSessionID(*psi), transfer.to_vec().into(), None)
        };
        let list = PDUSessionResourceHandoverList(sessions.iter().map(item).collect());
        ies.push(build_ngap_ie!(HandoverCommand, PDUSessionResourceHandoverList(list))?);
    }
    if !failed.is_empty() {
        let item = |(psi, transfer): &SessionInfo| {
            PDUSessionResourceToReleaseItemHOCmd::new(
                PDUSessionID(*psi),
                transfer.to_vec().into(),
                None,
            )
        };
        let list = PDUSessionResourceToReleaseListHOCmd(failed.iter().map(item).collect());
        ies.push(build_ngap_ie!(HandoverCommand, PDUSessionResourceToReleaseListHOCmd(list))?);
    }
    ies.push(build_ngap_ie!(
        HandoverCommand,
        TargetToSource_TransparentContainer(container.to_vec())
    )?);
    NGAP_PDU::of_message(&HandoverCommand::new(ProtocolIEContainer(ies)), Command::CRITICALITY)
}

/// HANDOVER PREPARATION FAILURE.
pub(crate) fn handover_preparation_failure(ue: &Connection, cause: Cause) -> Built {
    build_ngap!(
        UnsuccessfulOutcome,
        HandoverPreparation,
        HandoverPreparationFailure,
        AMF_UE_NGAP_ID(ue.amf_id),
        RAN_UE_NGAP_ID(ue.ran_id),
        Cause(cause),
    )
}

/// HANDOVER CANCEL ACKNOWLEDGE.
pub(crate) fn handover_cancel_acknowledge(ue: &Connection) -> Built {
    build_ngap!(
        SuccessfulOutcome,
        HandoverCancel,
        HandoverCancelAcknowledge,
        AMF_UE_NGAP_ID(ue.amf_id),
        RAN_UE_NGAP_ID(ue.ran_id),
    )
}

/// DOWNLINK RAN STATUS TRANSFER with the container of the source gNB.
pub(crate) fn ran_status_transfer(
    ue: &Connection,
    container: RANStatusTransferTransparentContainer<'_>,
) -> Built {
    build_ngap!(
        InitiatingMessage,
        DownlinkRANStatusTransfer,
        DownlinkRANStatusTransfer,
        AMF_UE_NGAP_ID(ue.amf_id),
        RAN_UE_NGAP_ID(ue.ran_id),
        RANStatusTransfer_TransparentContainer(container),
    )
}

/// Content of PATH SWITCH REQUEST ACKNOWLEDGE besides the identities (TS 38.413, 9.2.3.9).
pub(crate) struct PathSwitched<'a> {
    pub capability: &'a NasUeSecurityCapability,
    pub nh: [u8; 32],
    pub ncc: u8,
    pub allowed: &'a [Slice],
    pub switched: &'a [SessionInfo],
    pub released: &'a [SessionInfo],
}

/// PATH SWITCH REQUEST ACKNOWLEDGE.
pub(crate) fn path_switch_acknowledge(ue: &Connection, path: PathSwitched<'_>) -> Built {
    type Acknowledge<'a> = PathSwitchRequestAcknowledge<'a>;
    let item = |(psi, transfer): &SessionInfo| {
        PDUSessionResourceSwitchedItem::new(PDUSessionID(*psi), transfer.to_vec().into(), None)
    };
    let switched = PDUSessionResourceSwitchedList(path.switched.iter().map(item).collect());
    let mut ies = vec![
        build_ngap_ie!(PathSwitchRequestAcknowledge, AMF_UE_NGAP_ID(ue.amf_id))?,
        build_ngap_ie!(PathSwitchRequestAcknowledge, RAN_UE_NGAP_ID(ue.ran_id))?,
        build_ngap_ie!(
            PathSwitchRequestAcknowledge,
            UESecurityCapabilities(security_capabilities(path.capability))
        )?,
        build_ngap_ie!(
            PathSwitchRequestAcknowledge,
            SecurityContext(security_context(path.nh, path.ncc))
        )?,
        build_ngap_ie!(PathSwitchRequestAcknowledge, PDUSessionResourceSwitchedList(switched))?,
    ];
    if !path.released.is_empty() {
        let item = |(psi, transfer): &SessionInfo| {
            PDUSessionResourceReleasedItemPSAck::new(
                PDUSessionID(*psi),
                transfer.to_vec().into(),
                None,
            )
        };
        let released =
            PDUSessionResourceReleasedListPSAck(path.released.iter().map(item).collect());
        ies.push(build_ngap_ie!(
            PathSwitchRequestAcknowledge,
            PDUSessionResourceReleasedListPSAck(released)
        )?);
    }
    ies.push(build_ngap_ie!(
        PathSwitchRequestAcknowledge,
        AllowedNSSAI(allowed_nssai(path.allowed))
    )?);
    NGAP_PDU::of_message(
        &PathSwitchRequestAcknowledge::new(ProtocolIEContainer(ies)),
        Acknowledge::CRITICALITY,
    )
}

/// PATH SWITCH REQUEST FAILURE: no session was switched.
pub(crate) fn path_switch_failure(amf_id: u64, ran_id: u32, released: &[SessionInfo]) -> Built {
    let item = |(psi, transfer): &SessionInfo| {
        PDUSessionResourceReleasedItemPSFail::new(
            PDUSessionID(*psi),
            transfer.to_vec().into(),
            None,
        )
    };
    let released = PDUSessionResourceReleasedListPSFail(released.iter().map(item).collect());
    build_ngap!(
        UnsuccessfulOutcome,
        PathSwitchRequest,
        PathSwitchRequestFailure,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        PDUSessionResourceReleasedListPSFail(released),
    )
}
