//! UE radio capability info indication (TS 38.413, 8.14.1).
use crate::gnb::ue::context::{Fault, UeContext};
use martlet_ngap::build_ngap;

/// Reports the UE's radio capability to an AMF that has none.
pub(crate) async fn send(ue: &mut UeContext, (amf_id, ran_id): (u64, u32)) -> Result<(), Fault> {
    let indication = build_ngap!(
        InitiatingMessage,
        UERadioCapabilityInfoIndication,
        UERadioCapabilityInfoIndication,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        UERadioCapability(ue.nas.config().radio_capability.clone()),
    )?;
    ue.transmit(indication.encode()?).await?;
    Ok(())
}
