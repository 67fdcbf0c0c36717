//! PDU session resource modify (TS 38.413, 8.2.3; TS 23.502, 4.3.3).
//!
//! ```text
//! AMF -> gNB  PDU SESSION RESOURCE MODIFY REQUEST
//! gNB -> AMF  PDU SESSION RESOURCE MODIFY RESPONSE
//! AMF -> SMF  Nsmf_PDUSession_UpdateSMContext (PDU_RES_MOD_RSP or PDU_RES_MOD_FAIL)
//! ```
use super::user_plane_activation::forward_n2;
use crate::metrics::Procedure;
use crate::n2::downlink;
use crate::n2::uplink::Uplink;
use crate::ue::{Stop, Ue};
use bytes::Bytes;
use martlet_sbi_api::nsmf_pdusession::N2SmInfoType;
use std::time::Instant;

/// Modifies the session's resources at the gNB and reports the result to the SMF.
pub(crate) async fn run(
    ue: &mut Ue,
    psi: u8,
    transfer: Bytes,
    nas: Option<Vec<u8>>,
) -> Result<(), Stop> {
    let procedure = Procedure::start("pdu_session_resource_modify");
    let Some(connection) = &ue.connection else { return Err(Stop::ConnectionLost) };
    if !connection.send(downlink::session_modify(connection, psi, &transfer, nas)).await {
        procedure.failed("connection_lost");
        return Err(Stop::ConnectionLost);
    }
    let until = Instant::now() + ue.amf.config.timers.ngap();
    let answer = ue.next_ngap(until, |message| match message {
        Uplink::SessionsModified(outcome) if outcome.is_about(psi) => Ok(outcome),
        other => Err(other),
    });
    let Some(outcome) = answer.await? else {
        tracing::warn!(
            supi = ue.label(),
            gnb = ue.gnb(),
            psi,
            "PDU session resource modify: no response from the gNB"
        );
        procedure.failed("no_answer");
        return Ok(());
    };
    if outcome.failed.is_empty() {
        procedure.succeeded()
    } else {
        procedure.failed("refused")
    }
    let done = outcome.done.into_iter().map(|info| (info, N2SmInfoType::PduResModRsp));
    let failed = outcome.failed.into_iter().map(|info| (info, N2SmInfoType::PduResModFail));
    for ((psi, info), kind) in done.chain(failed) {
        if let Err(problem) = forward_n2(ue, psi, info, kind).await {
            tracing::warn!(
                supi = ue.label(), psi, %problem,
                "SM context update with the gNB's response failed"
            );
        }
    }
    Ok(())
}
