//! Uplink and downlink NAS transport, and NAS messages that are not delivered (TS 38.413, 8.6.2 to
//! 8.6.4).
use crate::gnb::link::LinkError;
use crate::gnb::ue_task::{Fault, UeTask};
use martlet_ngap::ngap::*;
use martlet_ngap::{build_ngap, extract_ngap_ies};
use std::time::Instant;

/// Send a NAS message of a connected UE. When it was handed to the transport; `None` where it was
/// not. While the AMF has not given the UE an identifier, nothing but an initial message can be
/// sent: the message waits for that.
pub(crate) async fn uplink(ue: &mut UeTask, nas: Vec<u8>) -> Result<Option<Instant>, LinkError> {
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

/// Take the NAS message of a DOWNLINK NAS TRANSPORT to the UE, or tell the AMF that it did not get
/// there (8.6.4).
pub(crate) async fn downlink(ue: &mut UeTask, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, DownlinkNASTransport,
        req amf_id: u64 = AMF_UE_NGAP_ID(id),
        req ran_id: u32 = RAN_UE_NGAP_ID(id),
        req nas: NASPDU = NAS_PDU(nas) => nas,
    );
    ue.learn_amf_id(amf_id);
    if ue.withheld == 0 {
        ue.nas_received(&nas.0);
        return Ok(());
    }
    ue.withheld -= 1;
    let indication = build_ngap!(
        InitiatingMessage,
        NASNonDeliveryIndication,
        NASNonDeliveryIndication,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        NAS_PDU(nas.0.to_vec()),
        Cause(Cause::radioNetwork(CauseRadioNetwork::ng_intra_system_handover_triggered)),
    )?;
    ue.transmit(indication.encode()?).await?;
    Ok(())
}
