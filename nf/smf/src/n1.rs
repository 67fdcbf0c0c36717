//! 5GSM messages of the SMF (TS 24.501, 6 and 8.3).
use martlet_nas::options::Given;
use martlet_nas::*;
use martlet_sbi_api::common::{Ambr, Snssai};
use std::net::Ipv4Addr;

/// What a PDU SESSION ESTABLISHMENT ACCEPT says.
pub struct Accepted<'a> {
    pub id: u8,
    pub pti: u8,
    pub address: Ipv4Addr,
    pub slice: &'a Snssai,
    pub dnn: &'a str,
    pub five_qi: u8,
    pub qfi: u8,
    pub ambr: &'a Ambr,
    pub given: Given,
    /// The UE asked for IPv4 and IPv6, and gets IPv4 (TS 24.501, 6.4.1.3).
    pub ipv4_only: bool,
}

/// PDU SESSION ESTABLISHMENT ACCEPT; `None` where a value does not fit, which is logged.
pub fn accept(accepted: Accepted<'_>) -> Option<Vec<u8>> {
    let build = || -> Result<Vec<u8>, String> {
        let text = |e: &dyn std::fmt::Display| e.to_string();
        let (downlink, uplink) = (accepted.ambr.downlink.bps(), accepted.ambr.uplink.bps());
        let slice =
            identifiers::Slice::from_parts(accepted.slice.sst, accepted.slice.sd.map(|sd| sd.to_string()).as_deref());
        let mut message = NasPduSessionEstablishmentAccept::new(
            NasPduSessionType::from_session_type(PduSessionTypeValue::Ipv4),
            NasSscMode::from_mode(SscModeValue::Ssc1),
            qos::default_rule(1, accepted.qfi).map_err(|e| text(&e))?,
            qos::session_ambr(downlink, uplink).map_err(|e| text(&e))?,
        )
        .with_pdu_address(NasPduAddress::from_ipv4(accepted.address.octets()))
        .with_s_nssai(slice.map_err(|e| text(&e))?.to_nas())
        .with_authorized_qos_flow_descriptions(qos::flow(accepted.qfi, accepted.five_qi).map_err(|e| text(&e))?)
        .with_dnn(NasDnn::from_string(accepted.dnn).map_err(|e| text(&e))?);
        if accepted.ipv4_only {
            message = message.with_fgsm_cause(NasFGsmCause::from_cause(GsmCause::PduSessionTypeIpv4OnlyAllowed));
        }
        if !accepted.given.is_empty() {
            let options = accepted.given.write().map_err(|e| text(&e))?;
            message = message.with_extended_protocol_configuration_options(options);
        }
        Nas5gsMessage::new_5gsm(message, accepted.id, accepted.pti).encode().map_err(|e| text(&e))
    };
    build().inspect_err(|error| tracing::error!(error, "a PDU SESSION ESTABLISHMENT ACCEPT does not encode")).ok()
}

fn encode(message: Nas5gsMessage) -> Vec<u8> {
    // These messages have a cause and nothing that could not fit.
    message.encode().unwrap_or_default()
}

/// PDU SESSION ESTABLISHMENT REJECT.
pub fn reject(id: u8, pti: u8, cause: GsmCause) -> Vec<u8> {
    encode(Nas5gsMessage::new_5gsm(NasPduSessionEstablishmentReject::new(NasFGsmCause::from_cause(cause)), id, pti))
}

/// PDU SESSION RELEASE COMMAND.
pub fn release_command(id: u8, pti: u8, cause: GsmCause) -> Vec<u8> {
    encode(Nas5gsMessage::new_5gsm(NasPduSessionReleaseCommand::new(NasFGsmCause::from_cause(cause)), id, pti))
}

/// PDU SESSION RELEASE REJECT.
pub fn release_reject(id: u8, pti: u8, cause: GsmCause) -> Vec<u8> {
    encode(Nas5gsMessage::new_5gsm(NasPduSessionReleaseReject::new(NasFGsmCause::from_cause(cause)), id, pti))
}

/// PDU SESSION MODIFICATION REJECT.
pub fn modification_reject(id: u8, pti: u8, cause: GsmCause) -> Vec<u8> {
    encode(Nas5gsMessage::new_5gsm(NasPduSessionModificationReject::new(NasFGsmCause::from_cause(cause)), id, pti))
}

/// 5GSM STATUS.
pub fn status(id: u8, pti: u8, cause: GsmCause) -> Vec<u8> {
    encode(Nas5gsMessage::new_5gsm(NasFGsmStatus::new(NasFGsmCause::from_cause(cause)), id, pti))
}
