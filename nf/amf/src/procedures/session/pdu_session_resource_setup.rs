//! PDU session resource setup (TS 38.413, 8.2.1; TS 23.502, 4.3.2.2.1, steps 12 to 15).
//!
//! ```text
//! AMF -> gNB  PDU SESSION RESOURCE SETUP REQUEST
//! gNB -> AMF  PDU SESSION RESOURCE SETUP RESPONSE
//! AMF -> SMF  Nsmf_PDUSession_UpdateSMContext (PDU_RES_SETUP_RSP or PDU_RES_SETUP_FAIL)
//! ```
use super::user_plane_activation;
use crate::metrics::Procedure;
use crate::n2::downlink::{self, SessionToSetUp};
use crate::n2::uplink::{SessionOutcome, Uplink};
use crate::ue::{Stop, Ue};
use std::time::Instant;

/// Sets up the session's resources at the gNB and reports the result to the SMF.
pub(crate) async fn run(ue: &mut Ue, session: SessionToSetUp) -> Result<(), Stop> {
    let procedure = Procedure::start("pdu_session_resource_setup");
    let psi = session.psi;
    let Some(connection) = &ue.connection else { return Err(Stop::ConnectionLost) };
    if !connection.send(downlink::session_setup(connection, session, ue.ambr())).await {
        procedure.failed("connection_lost");
        return Err(Stop::ConnectionLost);
    }
    let until = Instant::now() + ue.amf.config.timers.ngap();
    let answer = ue.next_ngap(until, |message| match message {
        Uplink::SessionsSetUp(outcome) if outcome.is_about(psi) => Ok(outcome),
        other => Err(other),
    });
    let outcome = match answer.await {
        Ok(outcome) => outcome,
        Err(stop) => {
            procedure.failed(&stop.label());
            return Err(stop);
        }
    };
    match &outcome {
        Some(outcome) if outcome.failed.is_empty() => procedure.succeeded(),
        Some(_) => {
            tracing::warn!(
                supi = ue.label(),
                gnb = ue.gnb(),
                psi,
                "PDU session resource setup failed at the gNB"
            );
            procedure.failed("refused");
        }
        None => procedure.failed("no_answer"),
    }
    user_plane_activation::report(ue, &[psi], outcome.unwrap_or_else(SessionOutcome::default))
        .await;
    Ok(())
}
