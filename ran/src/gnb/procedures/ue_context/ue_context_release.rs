//! UE context release: asked for by the gNB (TS 38.413, 8.3.2) and ordered by the AMF (8.3.3).
use crate::gnb::link::LinkError;
use crate::gnb::ue_task::{Fault, UeTask};
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, build_ngap, build_ngap_ie, extract_ngap_ies};
use std::time::Instant;

/// Why the gNB asks for the release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReleaseReason {
    /// No traffic for a while: the UE goes idle.
    UserInactivity,
    /// The UE is out of reach.
    RadioConnectionLost,
}

/// Ask the AMF to release the UE's context. When the request was handed to the transport; `None`
/// where the AMF has no context that could be released.
pub(crate) async fn request(
    ue: &mut UeTask,
    reason: ReleaseReason,
) -> Result<Option<Instant>, LinkError> {
    let Some((amf_id, ran_id)) = ue.ids() else { return Ok(None) };
    match request_message(ue, amf_id, ran_id, reason) {
        Ok(message) => ue.transmit(message).await.map(Some),
        Err(error) => {
            tracing::error!(supi = ue.supi(), gnb = ue.gnb_name(), %error, "UE CONTEXT RELEASE REQUEST");
            Ok(None)
        }
    }
}

pub(crate) fn request_message(
    ue: &UeTask,
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

/// Release the context as the AMF orders, and answer.
pub(crate) async fn command(ue: &mut UeTask, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, UEContextReleaseCommand,
        req ids: UENGAPIDs = UE_NGAP_IDs(ids) => ids,
        req cause: Cause = Cause(cause) => cause,
    );
    if let UENGAPIDs::uE_NGAP_ID_pair(pair) = &ids {
        ue.learn_amf_id(pair.amf_ue_ngap_id.0);
    }
    let Some((amf_id, ran_id)) = ue.ids() else { return Ok(()) };
    let sessions: Vec<_> = ue
        .sessions
        .keys()
        .map(|psi| PDUSessionResourceItemCxtRelCpl::new(PDUSessionID(*psi), None))
        .collect();
    let mut complete = build_ngap!(
        SuccessfulOutcome,
        UEContextRelease,
        UEContextReleaseComplete,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        UserLocationInformation(ue.location()),
    )?;
    if !sessions.is_empty() {
        let mut ies = complete.protocol_ies()?.into_owned();
        ies.0.push(build_ngap_ie!(
            UEContextReleaseComplete,
            PDUSessionResourceListCxtRelCpl(PDUSessionResourceListCxtRelCpl(sessions))
        )?);
        complete.set_protocol_ies(ies)?;
    }
    ue.transmit(complete.encode()?).await?;
    tracing::debug!(supi = ue.supi(), gnb = ue.gnb_name(), ?cause, "UE context released");
    ue.released();
    Ok(())
}
