//! Uplink NAS transport (TS 38.413, 8.6.3).
use crate::gnb::link::LinkError;
use crate::gnb::ue::context::UeContext;
use martlet_ngap::build_ngap;
use std::time::Instant;

/// Sends a NAS message of a connected UE. Returns when it was passed to the transport, or with a
/// delay over the radio when the UE sent it; `None` if it was not. The message waits while the UE
/// has no AMF UE NGAP ID.
pub(crate) async fn run(ue: &mut UeContext, nas: Vec<u8>) -> Result<Option<Instant>, LinkError> {
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
        Ok(message) => {
            let began = ue.uplink_radio(1).await;
            let sent = ue.transmit(message).await?;
            Ok(Some(began.unwrap_or(sent)))
        }
        Err(error) => {
            tracing::error!(
                supi = ue.supi(),
                gnb = ue.gnb_name(),
                %error,
                "UPLINK NAS TRANSPORT not encoded"
            );
            Ok(None)
        }
    }
}
