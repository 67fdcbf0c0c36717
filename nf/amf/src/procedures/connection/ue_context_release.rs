//! UE context release by the AMF (TS 38.413, 8.3.3).
//!
//! ```text
//! AMF -> gNB  UE CONTEXT RELEASE COMMAND
//! gNB -> AMF  UE CONTEXT RELEASE COMPLETE
//! AMF -> gNB  NG RESET of the connection, if the gNB does not answer
//! ```
//!
//! A gNB that does not have the connection may answer with ERROR INDICATION instead.
use crate::n2::uplink::Uplink;
use crate::n2::{Connection, downlink};
use crate::procedures::handover::xn_handover;
use crate::ue::{Event, Ue};
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use std::time::Duration;

/// Releases the UE's connection. The UE is in CM-IDLE at once; a separate task waits for the gNB.
pub(crate) fn run(ue: &mut Ue, cause: Cause) {
    let Some(connection) = ue.enter_cm_idle() else { return };
    ue.leave_connection();
    ue.publish();
    let limit = ue.amf.config.timers.ngap();
    martlet_nf::spawn(release(connection, cause, limit, ue.amf.clone()));
}

/// Releases a connection that is not the UE's current one (handover).
pub(crate) fn run_on(ue: &Ue, connection: Connection, cause: Cause) {
    martlet_nf::spawn(release(connection, cause, ue.amf.config.timers.ngap(), ue.amf.clone()));
}

async fn release(
    connection: Connection,
    cause: Cause,
    limit: Duration,
    amf: std::sync::Arc<crate::Amf>,
) {
    let (sender, mut inbox) = martlet_event_queue::bounded(8);
    // Only the response is read from the connection now.
    let amf_id = connection.amf_id;
    let ran_id = amf.tables.begin_release(amf_id, sender);
    if !connection.send(downlink::ue_context_release(amf_id, ran_id, cause)).await {
        return;
    }
    let lost = connection.lost();
    let completed = async {
        while let Some(event) = inbox.recv().await {
            match event {
                // The target gNB of a handover that fails there has no context of the UE.
                Event::Uplink { message: Uplink::Released | Uplink::HandoverFailed(_), .. } => {
                    return;
                }
                Event::Uplink { message: Uplink::Error(Some(cause)), .. } if is_unknown(&cause) => {
                    return;
                }
                event => reject_path_switch(event).await,
            }
        }
    };
    tokio::select! {
        () = completed => {}
        () = lost.notified() => {}
        () = tokio::time::sleep(limit) => {
            let (gnb, address) = (connection.gnb.label(), connection.gnb.address.ip());
            if let Some(suppressed) = martlet_log_limit::line("ue_context_release", address) {
                tracing::warn!(
                    gnb, amf_id, ran_id, suppressed,
                    "UE context release: no response from the gNB; resetting the connection"
                );
            }
            // The identities are not reused before both sides have released them (TS 38.413,
            // 8.7.4.2.1).
            let cause = Cause::misc(martlet_ngap::ngap::CauseMisc::om_intervention);
            connection.gnb.reset(downlink::ng_reset(amf_id, ran_id, cause)).await;
        }
    }
    drop(connection);
    while let Some(event) = inbox.try_recv() {
        reject_path_switch(event).await;
    }
}

/// Whether the cause of an ERROR INDICATION says that the gNB does not have the connection. Both
/// sides release it locally then (TS 38.413, 10.6).
fn is_unknown(cause: &Cause) -> bool {
    matches!(
        cause,
        Cause::radioNetwork(
            CauseRadioNetwork::unknown_local_UE_NGAP_ID
                | CauseRadioNetwork::inconsistent_remote_UE_NGAP_ID
        )
    )
}

/// A gNB that asks for the path of a connection that is being released gets an answer.
async fn reject_path_switch(event: Event) {
    if let Event::PathSwitch(gnb, request) = event {
        let cause = CauseRadioNetwork::unknown_local_UE_NGAP_ID;
        xn_handover::reject(&gnb, &request, cause).await;
    }
}
