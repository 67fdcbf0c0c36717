//! UE context release by the AMF (TS 38.413, 8.3.3).
use crate::n2::uplink::Uplink;
use crate::n2::{Connection, downlink};
use crate::ue::{Event, Ue, UeHandle};
use martlet_ngap::ngap::Cause;
use std::time::Duration;
use tokio::sync::mpsc;

/// Ends the UE's connection. The UE is idle at once; the gNB's answer is awaited beside it.
pub(crate) fn run(ue: &mut Ue, cause: Cause) {
    let Some(connection) = ue.connection.take() else { return };
    ue.last_location = Some(connection.location);
    ue.secured = false;
    ue.leave_connection();
    ue.publish();
    let limit = ue.amf.config.timers.ngap();
    tokio::spawn(release(connection, cause, limit, ue.amf.clone()));
}

/// Ends a connection that is not, or no more, the UE's own: of a handover.
pub(crate) fn alone(ue: &Ue, connection: Connection, cause: Cause) {
    tokio::spawn(release(connection, cause, ue.amf.config.timers.ngap(), ue.amf.clone()));
}

async fn release(
    connection: Connection,
    cause: Cause,
    limit: Duration,
    amf: std::sync::Arc<crate::Amf>,
) {
    let (sender, mut inbox) = mpsc::channel(8);
    // What still comes on the connection is for nobody, but for the answer.
    amf.tables.redirect(connection.amf_id, &UeHandle { number: 0, sender });
    if !connection.send(downlink::ue_context_release(&connection, cause)).await {
        return;
    }
    let lost = connection.lost();
    let completed = async {
        while let Some(event) = inbox.recv().await {
            if matches!(event, Event::Uplink { message: Uplink::Released, .. }) {
                return;
            }
        }
    };
    tokio::select! {
        () = completed => {}
        () = lost.notified() => {}
        () = tokio::time::sleep(limit) => {
            let (gnb, ran_id) = (connection.gnb.label(), connection.ran_id);
            tracing::warn!(gnb, ran_id, "the gNB did not confirm that it has released a UE's context: it is reset");
            // The identities are used again only once both sides have let go of them (TS 38.413, 8.7.4.2.1).
            let cause = Cause::misc(martlet_ngap::ngap::CauseMisc::om_intervention);
            connection.gnb.reset(downlink::ng_reset(&connection, cause)).await;
        }
    }
}
