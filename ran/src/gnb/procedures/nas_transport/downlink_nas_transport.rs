//! Downlink NAS transport (TS 38.413, 8.6.2).
use super::nas_non_delivery_indication;
use crate::gnb::ue::context::{Fault, UeContext};
use martlet_ngap::extract_ngap_ies;
use martlet_ngap::ngap::*;

/// Passes the NAS message to the UE, or reports that it was not delivered.
pub(crate) async fn run(ue: &mut UeContext, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, DownlinkNASTransport,
        req amf_id: u64 = AMF_UE_NGAP_ID(id),
        req ran_id: u32 = RAN_UE_NGAP_ID(id),
        req nas: NASPDU = NAS_PDU(nas) => nas,
    );
    ue.set_amf_id(amf_id);
    if ue.withheld == 0 {
        ue.downlink_radio(1).await;
        ue.nas_received(&nas.0);
        return Ok(());
    }
    ue.withheld -= 1;
    nas_non_delivery_indication::send(ue, (amf_id, ran_id), &nas.0).await
}
