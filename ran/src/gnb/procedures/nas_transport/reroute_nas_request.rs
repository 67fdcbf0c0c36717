//! Reroute NAS request (TS 38.413, 8.6.5): the AMF has the gNB bring a UE's first message to an AMF
//! of another set.
use crate::gnb::ue_task::{Fault, UeTask};
use martlet_ngap::ngap::*;
use martlet_ngap::{build_ngap_ie, extract_ngap_ies};

/// The IE UE Context Request (TS 38.413, 9.4.7).
const UE_CONTEXT_REQUEST: u16 = 112;

/// Brings the message to the other AMF, with which the connection goes on under the same RAN UE
/// NGAP ID.
pub(crate) async fn run(ue: &mut UeTask, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, RerouteNASRequest,
        req ran_id: u32 = RAN_UE_NGAP_ID(id),
        req message: Vec<u8> = NGAP_Message(octets) => octets.to_vec(),
        req set: AMFSetID = AMFSetID(set) => set,
        opt allowed: AllowedNSSAI = AllowedNSSAI(slices) => slices,
    );
    let number = set.0.value() as u16;
    let Some(other) = ue.gnb.of_set(number) else {
        tracing::warn!(
            supi = ue.supi(),
            gnb = ue.gnb_name(),
            set = number,
            "no association with an AMF of the set"
        );
        ue.released();
        return Ok(());
    };
    let mut initial = NGAP_PDU::decode(&message)?;
    let mut ies = initial.protocol_ies()?.into_owned();
    // In the message's order (9.2.5.1): the set before what the gNB asks for, and the slices behind
    // it.
    let at = ies.0.iter().position(|ie| ie.id.0 == UE_CONTEXT_REQUEST).unwrap_or(ies.0.len());
    ies.0.insert(at, build_ngap_ie!(InitialUEMessage, AMFSetID(set))?);
    if let Some(allowed) = allowed {
        ies.0.push(build_ngap_ie!(InitialUEMessage, AllowedNSSAI(allowed))?);
    }
    initial.set_protocol_ies(ies)?;
    let octets = initial.encode()?;
    ue.goes_on_with(other, ran_id);
    ue.transmit(octets).await?;
    Ok(())
}
