//! NGAP messages about PDU sessions that gNBs send.
use super::transfer_lists::{SessionInfo, SessionOutcome, items, slice_of};
use bytes::Bytes;
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, extract_ngap_ies};

/// INITIAL CONTEXT SETUP RESPONSE.
pub(super) fn context_set_up(pdu: &NGAPPDU<'_>, data: &Bytes) -> Result<SessionOutcome, Error> {
    extract_ngap_ies!(pdu, InitialContextSetupResponse,
        lax done: PDUSessionResourceSetupListCxtRes =
            PDUSessionResourceSetupListCxtRes(list) => list,
        lax failed: PDUSessionResourceFailedToSetupListCxtRes =
            PDUSessionResourceFailedToSetupListCxtRes(list) => list,
    );
    Ok(SessionOutcome {
        done: items!(done, data, pdu_session_resource_setup_response_transfer),
        failed: items!(failed, data, pdu_session_resource_setup_unsuccessful_transfer),
    })
}

/// PDU SESSION RESOURCE SETUP RESPONSE.
pub(super) fn set_up(pdu: &NGAPPDU<'_>, data: &Bytes) -> Result<SessionOutcome, Error> {
    extract_ngap_ies!(pdu, PDUSessionResourceSetupResponse,
        lax done: PDUSessionResourceSetupListSURes =
            PDUSessionResourceSetupListSURes(list) => list,
        lax failed: PDUSessionResourceFailedToSetupListSURes =
            PDUSessionResourceFailedToSetupListSURes(list) => list,
    );
    Ok(SessionOutcome {
        done: items!(done, data, pdu_session_resource_setup_response_transfer),
        failed: items!(failed, data, pdu_session_resource_setup_unsuccessful_transfer),
    })
}

/// PDU SESSION RESOURCE MODIFY RESPONSE.
pub(super) fn modified(pdu: &NGAPPDU<'_>, data: &Bytes) -> Result<SessionOutcome, Error> {
    extract_ngap_ies!(pdu, PDUSessionResourceModifyResponse,
        lax done: PDUSessionResourceModifyListModRes =
            PDUSessionResourceModifyListModRes(list) => list,
        lax failed: PDUSessionResourceFailedToModifyListModRes =
            PDUSessionResourceFailedToModifyListModRes(list) => list,
    );
    Ok(SessionOutcome {
        done: items!(done, data, pdu_session_resource_modify_response_transfer),
        failed: items!(failed, data, pdu_session_resource_modify_unsuccessful_transfer),
    })
}

/// PDU SESSION RESOURCE RELEASE RESPONSE.
pub(super) fn released(pdu: &NGAPPDU<'_>, data: &Bytes) -> Result<Vec<SessionInfo>, Error> {
    extract_ngap_ies!(pdu, PDUSessionResourceReleaseResponse,
        lax list: PDUSessionResourceReleasedListRelRes =
            PDUSessionResourceReleasedListRelRes(list) => list,
    );
    Ok(items!(list, data, pdu_session_resource_release_response_transfer))
}

/// PDU SESSION RESOURCE MODIFY INDICATION.
pub(super) fn modify_indication(
    pdu: &NGAPPDU<'_>,
    data: &Bytes,
) -> Result<Vec<SessionInfo>, Error> {
    extract_ngap_ies!(pdu, PDUSessionResourceModifyIndication,
        req list: PDUSessionResourceModifyListModInd =
            PDUSessionResourceModifyListModInd(list) => list,
    );
    let transfers = Some(list);
    Ok(items!(transfers, data, pdu_session_resource_modify_indication_transfer))
}
