//! NAS non-delivery indication (TS 38.413, 8.6.4).
use crate::gnb::ue::context::{Fault, UeContext};
use martlet_ngap::build_ngap;
use martlet_ngap::ngap::*;

/// Returns a NAS message to the AMF, as a gNB does during a handover.
pub(crate) async fn send(
    ue: &mut UeContext,
    (amf_id, ran_id): (u64, u32),
    nas: &[u8],
) -> Result<(), Fault> {
    let indication = build_ngap!(
        InitiatingMessage,
        NASNonDeliveryIndication,
        NASNonDeliveryIndication,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        NAS_PDU(nas.to_vec()),
        Cause(Cause::radioNetwork(CauseRadioNetwork::ng_intra_system_handover_triggered)),
    )?;
    ue.transmit(indication.encode()?).await?;
    Ok(())
}
