//! Initial UE message (TS 38.413, 8.6.1): the first NAS message of a connection.
use crate::gnb::link::LinkError;
use crate::gnb::ue::context::UeContext;
use crate::ue::{EstablishmentCause, Initial};
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, build_ngap};
use std::time::Instant;

/// Allocates a RAN UE NGAP ID and sends the message. Returns when it was passed to the transport;
/// with a delay over the radio, when the UE began.
pub(crate) async fn run(
    ue: &mut UeContext,
    nas: Vec<u8>,
    initial: &Initial,
) -> Result<Instant, LinkError> {
    ue.select_amf(initial.s_tmsi.as_ref());
    ue.leave_cell();
    let ran_id = ue.connect();
    let message = match message(ue, ran_id, nas, initial) {
        Ok(message) => message,
        Err(error) => {
            tracing::error!(
                supi = ue.supi(),
                gnb = ue.gnb_name(),
                %error,
                "INITIAL UE MESSAGE not encoded"
            );
            return Ok(Instant::now());
        }
    };
    // RRC set-up, and the NAS message with its completion.
    let began = ue.uplink_radio(3).await;
    let sent = ue.transmit(message).await?;
    Ok(began.unwrap_or(sent))
}

fn message(ue: &UeContext, ran_id: u32, nas: Vec<u8>, initial: &Initial) -> Result<Vec<u8>, Error> {
    let location = ue.location();
    let cause = match initial.cause {
        EstablishmentCause::MoSignalling => RRCEstablishmentCause::mo_Signalling,
        EstablishmentCause::MoData => RRCEstablishmentCause::mo_Data,
        EstablishmentCause::MtAccess => RRCEstablishmentCause::mt_Access,
        EstablishmentCause::Emergency => RRCEstablishmentCause::emergency,
    };
    let pdu = match initial.s_tmsi {
        Some(s_tmsi) => {
            let s_tmsi = FiveGSTMSI::new(
                AMFSetID::new(s_tmsi.amf_set_id().into())?,
                AMFPointer::new(s_tmsi.amf_pointer().into())?,
                FiveGTMSI(s_tmsi.tmsi().to_be_bytes()),
                None,
            );
            build_ngap!(
                InitiatingMessage,
                InitialUEMessage,
                InitialUEMessage,
                RAN_UE_NGAP_ID(ran_id),
                NAS_PDU(nas),
                UserLocationInformation(location),
                RRCEstablishmentCause(cause),
                FiveG_S_TMSI(s_tmsi),
                UEContextRequest(UEContextRequest::requested),
            )?
        }
        None => build_ngap!(
            InitiatingMessage,
            InitialUEMessage,
            InitialUEMessage,
            RAN_UE_NGAP_ID(ran_id),
            NAS_PDU(nas),
            UserLocationInformation(location),
            RRCEstablishmentCause(cause),
            UEContextRequest(UEContextRequest::requested),
        )?,
    };
    pdu.encode()
}
