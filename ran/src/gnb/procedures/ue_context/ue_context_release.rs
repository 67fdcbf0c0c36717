//! UE context release by the AMF (TS 38.413, 8.3.3).
use crate::gnb::ue::context::{Fault, UeContext};
use martlet_ngap::ngap::*;
use martlet_ngap::{build_ngap, build_ngap_ie, extract_ngap_ies};

/// Answers UE CONTEXT RELEASE COMMAND and releases the context.
pub(crate) async fn run(ue: &mut UeContext, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, UEContextReleaseCommand,
        req ids: UENGAPIDs = UE_NGAP_IDs(ids) => ids,
        req cause: Cause = Cause(cause) => cause,
    );
    if let UENGAPIDs::uE_NGAP_ID_pair(pair) = &ids {
        ue.set_amf_id(pair.amf_ue_ngap_id.0);
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
