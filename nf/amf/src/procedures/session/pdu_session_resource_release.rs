//! PDU session resource release (TS 38.413, 8.2.2; TS 23.502, 4.3.4.2, steps 4 to 7).
//!
//! ```text
//! AMF -> gNB  PDU SESSION RESOURCE RELEASE COMMAND
//! gNB -> AMF  PDU SESSION RESOURCE RELEASE RESPONSE
//! AMF -> SMF  Nsmf_PDUSession_UpdateSMContext (PDU_RES_REL_RSP)
//! ```
use super::user_plane_activation::forward_n2;
use crate::metrics::Procedure;
use crate::n2::downlink;
use crate::n2::uplink::{SessionInfo, Uplink};
use crate::ue::{Stop, Ue};
use bytes::Bytes;
use martlet_ngap::ngap::{Cause, CauseNas};
use martlet_ngap::transfer::ReleaseCommand;
use martlet_sbi_api::nsmf_pdusession::N2SmInfoType;
use std::time::Instant;

/// Releases the resources of sessions whose SM contexts have ended. Otherwise the gNB would reject
/// a later session with the same identity (TS 38.413, 8.2.1.4).
pub(crate) async fn at_gnb_only(ue: &mut Ue, sessions: &[u8]) -> Result<(), Stop> {
    let cause = ReleaseCommand::new(Cause::nas(CauseNas::normal_release)).encode();
    let Ok(transfer) = cause
        .inspect_err(|error| tracing::error!(%error, "release command transfer not encodable"))
    else {
        return Ok(());
    };
    let transfer = Bytes::from(transfer);
    for psi in sessions {
        let Some(connection) =
            ue.connection.as_ref().filter(|connection| connection.context_is_set_up)
        else {
            break;
        };
        if !connection.send(downlink::session_release(connection, *psi, &transfer, None)).await {
            return Err(Stop::ConnectionLost);
        }
        let until = Instant::now() + ue.amf.config.timers.ngap();
        let answer = ue.next_ngap(until, |message| match message {
            Uplink::SessionsReleased(released) if is_about(&released, *psi) => Ok(()),
            other => Err(other),
        });
        if answer.await?.is_none() {
            tracing::warn!(
                supi = ue.label(),
                gnb = ue.gnb(),
                psi,
                "PDU session resource release: no response from the gNB"
            );
        }
    }
    Ok(())
}

/// Whether a response may be about this session. Responses need not list the sessions.
fn is_about(released: &[SessionInfo], psi: u8) -> bool {
    released.is_empty() || released.iter().any(|(released, _)| *released == psi)
}

/// Releases the session's resources at the gNB and reports the result to the SMF.
pub(crate) async fn run(
    ue: &mut Ue,
    psi: u8,
    transfer: Bytes,
    nas: Option<Vec<u8>>,
) -> Result<(), Stop> {
    let procedure = Procedure::start("pdu_session_resource_release");
    let Some(connection) = &ue.connection else { return Err(Stop::ConnectionLost) };
    if !connection.send(downlink::session_release(connection, psi, &transfer, nas)).await {
        procedure.failed("connection_lost");
        return Err(Stop::ConnectionLost);
    }
    let until = Instant::now() + ue.amf.config.timers.ngap();
    let answer = ue.next_ngap(until, |message| match message {
        Uplink::SessionsReleased(released) if is_about(&released, psi) => Ok(released),
        other => Err(other),
    });
    let released = answer.await?;
    if let Some(session) = ue.sessions.get_mut(&psi) {
        session.state.deactivate();
    }
    let Some(released) = released else {
        tracing::warn!(
            supi = ue.label(),
            gnb = ue.gnb(),
            psi,
            "PDU session resource release: no response from the gNB"
        );
        procedure.failed("no_answer");
        return Ok(());
    };
    procedure.succeeded();
    for (psi, info) in released {
        if let Err(problem) = forward_n2(ue, psi, info, N2SmInfoType::PduResRelRsp).await {
            tracing::warn!(
                supi = ue.label(), psi, %problem,
                "SM context update with the gNB's response failed"
            );
        }
    }
    Ok(())
}
