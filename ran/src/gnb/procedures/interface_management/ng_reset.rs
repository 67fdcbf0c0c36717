//! NG reset by the AMF (TS 38.413, 8.7.4.2.1).
use crate::gnb::node::{Gnb, UeInput};
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, build_ngap, extract_ngap_ies};

/// Releases all UEs, or the listed ones, and acknowledges.
pub(crate) async fn run(gnb: &Gnb, pdu: &NGAP_PDU) -> Result<(), Error> {
    const REASON: &str = "the AMF reset the NG interface";
    extract_ngap_ies!(pdu, NGReset, req reset: ResetType = ResetType(reset) => reset,);
    let acknowledge = match reset {
        ResetType::partOfNG_Interface(list) => {
            for item in &list.0 {
                let inbox = match (&item.ran_ue_ngap_id, &item.amf_ue_ngap_id) {
                    (Some(ran_id), _) => gnb.ues().by_ran_id(ran_id.0),
                    (None, Some(amf_id)) => gnb.ues().by_amf_id(amf_id.0),
                    (None, None) => None,
                };
                if let Some(inbox) = inbox {
                    gnb.deliver(&inbox, UeInput::ContextLost(gnb.clone(), REASON));
                }
            }
            build_ngap!(
                SuccessfulOutcome,
                NGReset,
                NGResetAcknowledge,
                UE_associatedLogicalNG_connectionList(list),
            )?
        }
        _ => {
            for inbox in gnb.ues().connected() {
                gnb.deliver(&inbox, UeInput::ContextLost(gnb.clone(), REASON));
            }
            build_ngap!(SuccessfulOutcome, NGReset, NGResetAcknowledge,)?
        }
    };
    if let Err(error) = gnb.send(0, acknowledge.encode()?.into()).await {
        tracing::debug!(gnb = gnb.name(), %error, "NG RESET ACKNOWLEDGE was not sent");
    }
    Ok(())
}
