//! Assistance information for RRC INACTIVE (TS 23.501, 5.3.3.2.5; TS 38.413, 8.3.4), with
//! `amf.rrc_inactive`: a gNB that has it may keep the UE in RRC_INACTIVE. It is in INITIAL CONTEXT
//! SETUP REQUEST. A change of it, such as a new 5G-GUTI, and a gNB after a handover need another
//! message.
//!
//! ```text
//! AMF -> gNB  UE CONTEXT MODIFICATION REQUEST (assistance information)
//! gNB -> AMF  UE CONTEXT MODIFICATION RESPONSE or FAILURE
//! ```
use crate::metrics::Procedure;
use crate::n2::uplink::Uplink;
use crate::n2::{Assistance, downlink};
use crate::ue::Ue;
use std::time::Instant;

/// The information. `None` while the UE may have either of two 5G-GUTIs, which determine when it
/// listens to paging.
pub(crate) fn assistance(ue: &Ue) -> Option<Assistance> {
    let registration = &ue.registration;
    let is_certain = ue.identity.is_guti_confirmed() && !registration.area.is_empty();
    if !ue.amf.config.rrc_inactive || !is_certain {
        return None;
    }
    Some(Assistance {
        tmsi: ue.identity.guti?.tmsi(),
        cycle: registration.drx,
        t3512: registration.t3512,
        area: registration.area.clone(),
    })
}

/// Whether the gNB needs other information than it has.
pub(crate) fn is_due(ue: &Ue) -> bool {
    let is_set_up = |connection: &&crate::n2::Connection| connection.context_is_set_up;
    let Some(connection) = ue.connection.as_ref().filter(is_set_up) else { return false };
    let needed = assistance(ue).filter(|_| ue.is_registered());
    needed.is_some() && needed.as_ref() != connection.assistance.as_deref()
}

/// Sends the information to the gNB.
pub(crate) async fn update(ue: &mut Ue) {
    let needed = assistance(ue);
    let (Some(connection), Some(needed)) = (&mut ue.connection, needed) else { return };
    let procedure = Procedure::start("ue_context_modification");
    let request = downlink::assistance(connection, &needed);
    // Once: a gNB that rejects it does not use RRC INACTIVE.
    connection.assistance = Some(needed.into());
    if !connection.send(request).await {
        return procedure.failed("connection_lost");
    }
    let until = Instant::now() + ue.amf.config.timers.ngap();
    let answer = ue.next_ngap(until, |message| match message {
        Uplink::ContextModified => Ok(true),
        Uplink::ContextNotModified(_) => Ok(false),
        other => Err(other),
    });
    match answer.await {
        Ok(Some(true)) => procedure.succeeded(),
        Ok(_) => {
            tracing::warn!(
                supi = ue.label(),
                gnb = ue.gnb(),
                "assistance information for RRC INACTIVE not accepted by the gNB"
            );
            procedure.failed("not_modified");
        }
        Err(stop) => {
            procedure.failed(&stop.label());
            ue.handle_stop(stop).await;
        }
    }
}
