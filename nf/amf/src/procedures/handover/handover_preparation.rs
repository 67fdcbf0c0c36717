//! The target gNB of an N2 handover is prepared (TS 23.502, 4.9.1.3.2, steps 3 to 12), of this
//! AMF's own gNBs' handovers and of those that come from another AMF: the SMFs say what it is to
//! set up, it says what it takes, and the SMFs what the source is to forward.
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

/// What the target is told beside the sessions.
pub(crate) struct Terms {
    /// UE-AMBR, bit/s: downlink, uplink.
    pub ambr: (u64, u64),
    pub rfsp: Option<u16>,
    /// What it is to report of the UE's place.
    pub reporting: Option<(Reporting, LocationReportingRequestType)>,
}

/// A target that waits for the UE.
pub(crate) struct Prepared {
    /// Sessions that the target has, each with what the source is told.
    pub done: Vec<SessionInfo>,
    /// Sessions that stay behind.
    pub failed: Vec<SessionInfo>,
    /// What the target has for the source.
    pub container: Bytes,
}

impl Prepared {
    /// The sessions that the target has.
    pub fn sessions(&self) -> Vec<u8> {
        self.done.iter().map(|(psi, _)| *psi).collect()
    }
}

/// Prepares a target. `keys` gives the chain of keys that goes on there, and its NH (TS 33.501,
/// 6.9.2.3.3).
pub(crate) async fn run(
    ue: &mut Ue,
    required: &HandoverRequired,
    (gnb, tai): (Arc<Gnb>, Tai),
    terms: Terms,
    keys: impl FnOnce(&mut Ue) -> Option<Keys>,
) -> Result<Prepared, Ended> {
    // Steps 3 to 8: what the target is to set up.
    let mut prepared = sessions::prepare(ue, required, &gnb, tai).await;
    if prepared.requests.is_empty() {
        return Err(FAILED_AT_TARGET.into());
    }
    let requests = std::mem::take(&mut prepared.requests);
    let asked: Vec<u8> = requests.iter().map(|(psi, ..)| *psi).collect();
    let keys = keys(ue).ok_or(Ended::from(FAILED_AT_TARGET))?;
    request(ue, required, (gnb, tai), (terms, keys), requests).await?;
    let admitted = handover_execution::answer(ue).await?;
    // Steps 10 to 12: what the source is to forward.
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
    (terms, keys): (Terms, Keys),
    sessions: Vec<(u8, Slice, Bytes)>,
) -> Result<(), Ended> {
    let Some(capability) = ue.capability.clone() else {
        return Err(Ended::Stopped(Stop::ConnectionLost));
    };
    let ids = ue.amf.tables.prepare(gnb.number, &ue.handle);
    let place = Location { tai, cell_plmn: tai.plmn, cell: 0 };
    let mut target = Connection::new(ue.amf.clone(), gnb, ids, 0, place);
    let ncc = keys.chain.ncc;
    target.next_hop = Some(keys.chain);
    target.reporting =
        terms.reporting.as_ref().map(|(wanted, _)| wanted.clone()).unwrap_or_default();
    let request = HandoverRequest {
        guami: ue.amf.served.guami(tai.plmn).unwrap_or(ue.guami()),
        cause: required.cause.clone(),
        allowed: &ue.allowed,
        capability: &capability,
        nh: keys.nh,
        ncc,
        new_context: keys.container,
        ambr: terms.ambr,
        rfsp: terms.rfsp,
        sessions,
        container: &required.container,
        restrictions: mobility_restrictions::for_gnb(ue),
        reporting: terms.reporting.map(|(_, asked)| asked),
    };
    let sent = target.send(handover_downlink::handover_request(target.amf_id, request)).await;
    ue.target = Some(target);
    if sent { Ok(()) } else { Err(FAILED_AT_TARGET.into()) }
}
