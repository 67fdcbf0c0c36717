//! Preparation of the target gNB of an N2 handover (TS 23.502, 4.9.1.3.2, steps 3 to 12; TS 38.413,
//! 8.4.1 and 8.4.2), for handovers within this AMF and from another AMF.
//!
//! ```text
//! AMF -> SMFs        Nsmf_PDUSession_UpdateSMContext (PREPARING)
//! AMF -> target gNB  HANDOVER REQUEST
//! target gNB -> AMF  HANDOVER REQUEST ACKNOWLEDGE or HANDOVER FAILURE
//! AMF -> SMFs        Nsmf_PDUSession_UpdateSMContext (PREPARED)
//! ```
use super::handover_execution::{self, Ended, FAILED_AT_TARGET};
use super::kamf_change::Keys;
use super::session_handover as sessions;
use crate::n2::handover_downlink::{self, HandoverRequest};
use crate::n2::handover_uplink::HandoverRequired;
use crate::n2::uplink::SessionInfo;
use crate::n2::{Connection, Gnb, Location, Reporting};
use crate::procedures::registration::mobility_restrictions;
use crate::served::Tai;
use crate::ue::{Stop, Ue};
use bytes::Bytes;
use martlet_nas::identifiers::Slice;
use martlet_ngap::ngap::LocationReportingRequestType;
use std::sync::Arc;

/// Parameters of HANDOVER REQUEST besides the sessions.
pub(crate) struct Parameters {
    /// UE-AMBR, bit/s: downlink, uplink.
    pub ambr: (u64, u64),
    pub rfsp: Option<u16>,
    /// Location reporting that the target starts.
    pub reporting: Option<(Reporting, LocationReportingRequestType)>,
}

/// A prepared target.
pub(crate) struct Prepared {
    /// Admitted sessions, each with its Handover Command Transfer.
    pub done: Vec<SessionInfo>,
    /// Failed sessions, each with its Handover Preparation Unsuccessful Transfer.
    pub failed: Vec<SessionInfo>,
    /// Target to Source Transparent Container.
    pub container: Bytes,
}

impl Prepared {
    /// The admitted sessions.
    pub fn sessions(&self) -> Vec<u8> {
        self.done.iter().map(|(psi, _)| *psi).collect()
    }
}

/// Prepares a target. `keys` supplies the key chain and the NH for the target (TS 33.501,
/// 6.9.2.3.3).
pub(crate) async fn run(
    ue: &mut Ue,
    required: &HandoverRequired,
    (gnb, tai): (Arc<Gnb>, Tai),
    parameters: Parameters,
    keys: impl FnOnce(&mut Ue) -> Option<Keys>,
) -> Result<Prepared, Ended> {
    // Steps 3 to 8: setup transfers from the SMFs.
    let mut prepared = sessions::prepare(ue, required, &gnb, tai).await;
    if prepared.requests.is_empty() {
        return Err(FAILED_AT_TARGET.into());
    }
    let requests = std::mem::take(&mut prepared.requests);
    let asked: Vec<u8> = requests.iter().map(|(psi, ..)| *psi).collect();
    let keys = keys(ue).ok_or(Ended::from(FAILED_AT_TARGET))?;
    request(ue, required, (gnb, tai), (parameters, keys), requests).await?;
    let admitted = handover_execution::target_response(ue).await?;
    // Steps 10 to 12: forwarding information from the SMFs.
    let commands = sessions::admitted(ue, &asked, &admitted).await;
    prepared.failed.extend(commands.failed);
    if commands.done.is_empty() {
        return Err(FAILED_AT_TARGET.into());
    }
    Ok(Prepared { done: commands.done, failed: prepared.failed, container: admitted.container })
}

/// HANDOVER REQUEST (step 9).
async fn request(
    ue: &mut Ue,
    required: &HandoverRequired,
    (gnb, tai): (Arc<Gnb>, Tai),
    (parameters, keys): (Parameters, Keys),
    sessions: Vec<(u8, Slice, Bytes)>,
) -> Result<(), Ended> {
    let Some(capability) = ue.capabilities.security.clone() else {
        return Err(Ended::Stopped(Stop::ConnectionLost));
    };
    let ids = ue.amf.tables.connect_target(gnb.number, &ue.handle);
    let location = Location { tai, cell_plmn: tai.plmn, cell: 0 };
    let mut target = Connection::new(ue.amf.clone(), gnb, ids, 0, location);
    let ncc = keys.chain.ncc;
    target.next_hop = Some(keys.chain);
    target.reporting =
        parameters.reporting.as_ref().map(|(wanted, _)| wanted.clone()).unwrap_or_default();
    let request = HandoverRequest {
        guami: ue.amf.served.guami(tai.plmn).unwrap_or(ue.guami()),
        cause: required.cause.clone(),
        allowed: &ue.registration.allowed,
        capability: &capability,
        nh: keys.nh,
        ncc,
        new_context: keys.container,
        ambr: parameters.ambr,
        rfsp: parameters.rfsp,
        sessions,
        container: &required.container,
        restrictions: mobility_restrictions::for_gnb(ue),
        reporting: parameters.reporting.map(|(_, asked)| asked),
    };
    let sent = target.send(handover_downlink::handover_request(target.amf_id, request)).await;
    ue.target = Some(Box::new(target));
    ue.start_preparation();
    if sent { Ok(()) } else { Err(FAILED_AT_TARGET.into()) }
}
