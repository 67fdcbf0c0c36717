//! Uplink and downlink NAS transport (TS 38.413, 8.6.2 and 8.6.3).
use super::link::LinkError;
use super::ue_task::UeTask;
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, build_ngap, extract_ngap_ies};
use std::time::Instant;

/// Send a NAS message of a connected UE. When it was handed to the transport; `None` where it was not. While the AMF has
/// not given the UE an identifier, nothing but an initial message can be sent: the message waits for that.
pub(super) async fn uplink(ue: &mut UeTask, nas: Vec<u8>) -> Result<Option<Instant>, LinkError> {
    let Some((amf_id, ran_id)) = ue.ids() else {
        ue.wait_for_amf(nas);
        return Ok(Some(Instant::now()));
    };
    let message = build_ngap!(
        InitiatingMessage,
        UplinkNASTransport,
        UplinkNASTransport,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        NAS_PDU(nas),
        UserLocationInformation(ue.location()),
    )
    .and_then(|pdu| pdu.encode());
    match message {
        Ok(message) => ue.transmit(message).await.map(Some),
        Err(error) => {
            tracing::error!(supi = ue.supi(), gnb = ue.gnb_name(), %error, "UPLINK NAS TRANSPORT cannot be encoded");
            Ok(None)
        }
    }
}

/// Take the NAS message of a DOWNLINK NAS TRANSPORT to the UE.
pub(super) fn downlink(ue: &mut UeTask, pdu: &NGAP_PDU) -> Result<(), Error> {
    extract_ngap_ies!(pdu, DownlinkNASTransport,
        req amf_id: u64 = AMF_UE_NGAP_ID(id),
        req nas: NASPDU = NAS_PDU(nas) => nas,
    );
    ue.learn_amf_id(amf_id);
    ue.nas_received(&nas.0);
    Ok(())
}
