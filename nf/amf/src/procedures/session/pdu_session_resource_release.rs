//! PDU session resource release (TS 38.413, 8.2.2; TS 23.502, 4.3.4.2, steps 4 to 7).
use super::user_plane_activation::tell;
use crate::metrics::Procedure;
use crate::n2::downlink;
use crate::n2::uplink::Uplink;
use crate::ue::{Stop, Ue};
use bytes::Bytes;
use martlet_ngap::ngap::{Cause, CauseNas};
use martlet_ngap::transfer::ReleaseCommand;
use martlet_sbi_api::nsmf_pdusession::N2SmInfoType;
use std::time::Instant;

/// Has the gNB release the resources of sessions that have ended at their SMFs already; nobody is
/// told. Without that, a later session of the same identity would be refused (TS 38.413, 8.2.1.4).
pub(crate) async fn alone(ue: &mut Ue, sessions: &[u8]) -> Result<(), Stop> {
    let cause = ReleaseCommand::new(Cause::nas(CauseNas::normal_release)).encode();
    let Ok(transfer) =
        cause.inspect_err(|error| tracing::error!(%error, "an N2 transfer does not encode"))
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
            Uplink::SessionsReleased(_) => Ok(()),
            other => Err(other),
        });
        if answer.await?.is_none() {
            tracing::warn!(
                supi = ue.label(),
                gnb = ue.gnb(),
                psi,
                "the gNB does not answer to a session's release"
            );
        }
    }
    Ok(())
}

/// Has the gNB release the session's resources, and tells the SMF that it did.
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
        Uplink::SessionsReleased(released) => Ok(released),
        other => Err(other),
    });
    let released = answer.await?;
    if let Some(session) = ue.sessions.get_mut(&psi) {
        session.active = false;
    }
    let Some(released) = released else {
        tracing::warn!(
            supi = ue.label(),
            gnb = ue.gnb(),
            psi,
            "the gNB does not answer to a session's release"
        );
        procedure.failed("no_answer");
        return Ok(());
    };
    procedure.succeeded();
    for (psi, info) in released {
        if let Err(problem) = tell(ue, psi, info, N2SmInfoType::PduResRelRsp).await {
            tracing::warn!(supi = ue.label(), psi, %problem, "the SMF did not take the gNB's answer");
        }
    }
    Ok(())
}
