//! NG interface procedures (TS 38.413, 8).
pub mod amf_configuration_update;
pub mod amf_status_indication;
mod bundling;
mod element_order;
pub mod error_indication;
pub mod gnb_failure;
pub mod malformed;
pub mod ng_reset;
pub mod ng_setup;
pub mod overload_control;
pub mod planned_removal;
pub mod ran_configuration_update;
mod sctp_stack;
pub mod unchecked_sctp;

use anyhow::{Context, Result};
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ie;
use martlet_ngap::ngap::*;

/// The UE NGAP IDs (AMF, RAN) of the next INITIAL CONTEXT SETUP REQUEST.
pub async fn ue_ngap_ids(
    messages: &mut tokio::sync::broadcast::Receiver<bytes::Bytes>,
) -> Result<(u64, u32)> {
    loop {
        let message = messages.recv().await?;
        let pdu = NGAP_PDU::decode(&message)?;
        if pdu.kind() == Kind::Initiating_InitialContextSetup {
            let amf_id = pdu.ie::<ie::AMF_UE_NGAP_ID>().transpose()?.context("AMF UE NGAP ID")?;
            let ran_id = pdu.ie::<ie::RAN_UE_NGAP_ID>().transpose()?.context("RAN UE NGAP ID")?;
            return Ok((amf_id.0, ran_id.0));
        }
    }
}
