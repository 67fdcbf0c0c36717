//! UE context modification (TS 38.413, 8.3.4): a new K_gNB for a connected UE.
use crate::gnb::ue::context::{Fault, UeContext};
use martlet_ngap::ngap::*;
use martlet_ngap::{build_ngap, extract_ngap_ies};

/// Answers; fails if the key differs from the UE's.
pub(crate) async fn run(ue: &mut UeContext, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, UEContextModificationRequest,
        req amf_id: u64 = AMF_UE_NGAP_ID(id),
        req ran_id: u32 = RAN_UE_NGAP_ID(id),
        opt key: SecurityKey = SecurityKey(key) => key,
    );
    let agrees = key.as_ref().is_none_or(|key| ue.k_gnb_agrees(key.0.as_octets()));
    let answer = match agrees {
        true => {
            if let Some(key) = key {
                ue.nas.security_mut().begin_access(key.0.as_octets());
            }
            build_ngap!(
                SuccessfulOutcome,
                UEContextModification,
                UEContextModificationResponse,
                AMF_UE_NGAP_ID(amf_id),
                RAN_UE_NGAP_ID(ran_id),
            )?
        }
        false => {
            tracing::warn!(
                supi = ue.supi(),
                gnb = ue.gnb_name(),
                "the AMF's new K_gNB is not the UE's"
            );
            build_ngap!(
                UnsuccessfulOutcome,
                UEContextModification,
                UEContextModificationFailure,
                AMF_UE_NGAP_ID(amf_id),
                RAN_UE_NGAP_ID(ran_id),
                Cause(Cause::radioNetwork(CauseRadioNetwork::failure_in_radio_interface_procedure)),
            )?
        }
    };
    ue.transmit(answer.encode()?).await?;
    Ok(())
}
