//! NGAP messages of handover and path switch that gNBs send.
use super::connection::Location;
use super::transfer_lists::{SessionInfo, SessionOutcome, items, location, slice_of};
use crate::served::Tai;
use bytes::Bytes;
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, extract_ngap_ies};

/// HANDOVER REQUIRED.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HandoverRequired {
    pub cause: Cause,
    /// Target gNB and tracking area; `None` if the target is not an NG-RAN node.
    pub target: Option<(GlobalRANNodeID, Tai)>,
    /// The handover type is intra-5GS.
    pub within_5gs: bool,
    pub sessions: Vec<SessionInfo>,
    /// Source to Target Transparent Container.
    pub container: Bytes,
}

/// HANDOVER REQUEST ACKNOWLEDGE.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HandoverAdmitted {
    pub sessions: SessionOutcome,
    /// Target to Source Transparent Container.
    pub container: Bytes,
}

/// PATH SWITCH REQUEST.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PathSwitchRequested {
    pub amf_id: u64,
    pub ran_id: u32,
    pub location: Option<Location>,
    /// The UE's security capabilities according to the target.
    pub capability: UESecurityCapabilities<'static>,
    pub switched: Vec<SessionInfo>,
    pub failed: Vec<SessionInfo>,
}

fn some_cause(cause: Option<Cause>) -> Cause {
    cause.unwrap_or(Cause::misc(CauseMisc::unspecified))
}

/// Reads HANDOVER REQUIRED.
pub(crate) fn handover_required(
    pdu: &NGAPPDU<'_>,
    data: &Bytes,
) -> Result<HandoverRequired, Error> {
    extract_ngap_ies!(pdu, HandoverRequired,
        req kind: HandoverType = HandoverType(kind) => kind,
        lax cause: Cause = Cause(cause) => cause,
        req target: TargetID = TargetID(target) => target,
        req list: PDUSessionResourceListHORqd = PDUSessionResourceListHORqd(list) => list,
        req container: SourceToTargetTransparentContainer =
            SourceToTarget_TransparentContainer(it) => it,
    );
    let target = match target {
        TargetID::targetRANNodeID(target) => {
            Tai::from_ngap(&target.selected_tai).map(|tai| (target.global_ran_node_id, tai))
        }
        _ => None,
    };
    let list = Some(list);
    Ok(HandoverRequired {
        cause: some_cause(cause),
        target,
        within_5gs: kind == HandoverType::intra5gs,
        sessions: items!(list, data, handover_required_transfer),
        container: slice_of(data, &container.0),
    })
}

/// Reads HANDOVER REQUEST ACKNOWLEDGE.
pub(crate) fn handover_admitted(
    pdu: &NGAPPDU<'_>,
    data: &Bytes,
) -> Result<HandoverAdmitted, Error> {
    extract_ngap_ies!(pdu, HandoverRequestAcknowledge,
        lax done: PDUSessionResourceAdmittedList = PDUSessionResourceAdmittedList(list) => list,
        lax failed: PDUSessionResourceFailedToSetupListHOAck =
            PDUSessionResourceFailedToSetupListHOAck(list) => list,
        req container: TargetToSourceTransparentContainer =
            TargetToSource_TransparentContainer(it) => it,
    );
    Ok(HandoverAdmitted {
        sessions: SessionOutcome {
            done: items!(done, data, handover_request_acknowledge_transfer),
            failed: items!(failed, data, handover_resource_allocation_unsuccessful_transfer),
        },
        container: slice_of(data, &container.0),
    })
}

/// Reads the cause of HANDOVER FAILURE.
pub(crate) fn handover_failure(pdu: &NGAPPDU<'_>) -> Result<Cause, Error> {
    extract_ngap_ies!(pdu, HandoverFailure, lax cause: Cause = Cause(cause) => cause,);
    Ok(some_cause(cause))
}

/// Reads the cause of HANDOVER CANCEL.
pub(crate) fn handover_cancel(pdu: &NGAPPDU<'_>) -> Result<Cause, Error> {
    extract_ngap_ies!(pdu, HandoverCancel, lax cause: Cause = Cause(cause) => cause,);
    Ok(some_cause(cause))
}

/// Reads the location in HANDOVER NOTIFY.
pub(crate) fn handover_notify(pdu: &NGAPPDU<'_>) -> Result<Option<Location>, Error> {
    extract_ngap_ies!(pdu, HandoverNotify,
        lax uli: UserLocationInformation = UserLocationInformation(uli) => uli,
    );
    Ok(uli.as_ref().and_then(location))
}

/// Reads UPLINK RAN STATUS TRANSFER.
pub(crate) fn ran_status_transfer(
    pdu: &NGAPPDU<'_>,
) -> Result<RANStatusTransferTransparentContainer<'static>, Error> {
    extract_ngap_ies!(pdu, UplinkRANStatusTransfer,
        req status: RANStatusTransferTransparentContainer =
            RANStatusTransfer_TransparentContainer(it) => it,
    );
    Ok(status.into_owned())
}

/// Reads PATH SWITCH REQUEST.
pub(crate) fn path_switch_request(
    pdu: &NGAPPDU<'_>,
    data: &Bytes,
) -> Result<PathSwitchRequested, Error> {
    extract_ngap_ies!(pdu, PathSwitchRequest,
        req ran_id: u32 = RAN_UE_NGAP_ID(id),
        req amf_id: u64 = SourceAMF_UE_NGAP_ID(id),
        lax uli: UserLocationInformation = UserLocationInformation(uli) => uli,
        req capability: UESecurityCapabilities = UESecurityCapabilities(it) => it,
        req switched: PDUSessionResourceToBeSwitchedDLList =
            PDUSessionResourceToBeSwitchedDLList(list) => list,
        lax failed: PDUSessionResourceFailedToSetupListPSReq =
            PDUSessionResourceFailedToSetupListPSReq(list) => list,
    );
    let switched = Some(switched);
    Ok(PathSwitchRequested {
        amf_id,
        ran_id,
        location: uli.as_ref().and_then(location),
        capability: capability.into_owned(),
        switched: items!(switched, data, path_switch_request_transfer),
        failed: items!(failed, data, path_switch_request_setup_failed_transfer),
    })
}
