//! UE context release request by the gNB (TS 38.413, 8.3.2).
use crate::gnb::link::LinkError;
use crate::gnb::ue::context::UeContext;
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, build_ngap};
use std::time::Instant;

/// Why the gNB requests the release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReleaseReason {
    /// User inactivity: the UE enters CM-IDLE.
    UserInactivity,
    /// The radio connection is lost.
    RadioConnectionLost,
}

/// Sends UE CONTEXT RELEASE REQUEST. Returns when it was passed to the transport; `None` without an
/// AMF UE NGAP ID.
pub(crate) async fn run(
    ue: &mut UeContext,
    reason: ReleaseReason,
) -> Result<Option<Instant>, LinkError> {
    let Some((amf_id, ran_id)) = ue.ids() else { return Ok(None) };
    match message(ue, amf_id, ran_id, reason) {
        Ok(message) => ue.transmit(message).await.map(Some),
        Err(error) => {
            tracing::error!(
                supi = ue.supi(),
                gnb = ue.gnb_name(),
                %error,
                "UE CONTEXT RELEASE REQUEST not encoded"
            );
            Ok(None)
        }
    }
}

/// UE CONTEXT RELEASE REQUEST for the identifiers of a connection.
pub(crate) fn message(
    ue: &UeContext,
    amf_id: u64,
    ran_id: u32,
    reason: ReleaseReason,
) -> Result<Vec<u8>, Error> {
    let cause = Cause::radioNetwork(match reason {
        ReleaseReason::UserInactivity => CauseRadioNetwork::user_inactivity,
        ReleaseReason::RadioConnectionLost => CauseRadioNetwork::radio_connection_with_ue_lost,
    });
    let sessions: Vec<_> = ue
        .sessions
        .keys()
        .map(|psi| PDUSessionResourceItemCxtRelReq::new(PDUSessionID(*psi), None))
        .collect();
    if sessions.is_empty() {
        return build_ngap!(
            InitiatingMessage,
            UEContextReleaseRequest,
            UEContextReleaseRequest,
            AMF_UE_NGAP_ID(amf_id),
            RAN_UE_NGAP_ID(ran_id),
            Cause(cause),
        )?
        .encode();
    }
    build_ngap!(
        InitiatingMessage,
        UEContextReleaseRequest,
        UEContextReleaseRequest,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        PDUSessionResourceListCxtRelReq(PDUSessionResourceListCxtRelReq(sessions)),
        Cause(cause),
    )?
    .encode()
}
