//! Reroute NAS request (TS 38.413, 8.6.5): the AMF redirects an initial UE message to another AMF
//! set.
use crate::gnb::ue::context::{Fault, UeContext};
use martlet_ngap::ngap::*;
use martlet_ngap::{build_ngap_ie, extract_ngap_ies};

/// The IE UE Context Request (TS 38.413, 9.4.7).
const UE_CONTEXT_REQUEST: u16 = 112;

/// Sends the message to the other AMF. The connection keeps its RAN UE NGAP ID.
pub(crate) async fn run(ue: &mut UeContext, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, RerouteNASRequest,
        req ran_id: u32 = RAN_UE_NGAP_ID(id),
        req message: Vec<u8> = NGAP_Message(bytes) => bytes.to_vec(),
        req set: AMFSetID = AMFSetID(set) => set,
        opt allowed: AllowedNSSAI = AllowedNSSAI(slices) => slices,
    );
    let number = set.0.value() as u16;
    let Some(other) = ue.gnb.association_with_set(number) else {
        tracing::warn!(
            supi = ue.supi(),
            gnb = ue.gnb_name(),
            set = number,
            "reroute failed: no association with an AMF of the set"
        );
        ue.released();
        return Ok(());
    };
    let mut initial = NGAP_PDU::decode(&message)?;
    let mut ies = initial.protocol_ies()?.into_owned();
    // The order of 9.2.5.1: AMF Set ID before UE Context Request, Allowed NSSAI after it.
    let at = ies.0.iter().position(|ie| ie.id.0 == UE_CONTEXT_REQUEST).unwrap_or(ies.0.len());
    ies.0.insert(at, build_ngap_ie!(InitialUEMessage, AMFSetID(set))?);
    if let Some(allowed) = allowed {
        ies.0.push(build_ngap_ie!(InitialUEMessage, AllowedNSSAI(allowed))?);
    }
    initial.set_protocol_ies(ies)?;
    let rerouted = initial.encode()?;
    ue.continue_on(other, ran_id);
    ue.transmit(rerouted).await?;
    Ok(())
}
