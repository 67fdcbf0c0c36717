//! Release of the resources that a handover leaves (TS 23.502, 4.9.1.3.3, step 14): forwarding
//! tunnels, replaced intermediate UPFs, and the preparation of a handover that is not completed.
use crate::n4::stop_forwarding;
use crate::procedures::user_plane::n4_session_release;
use crate::session::{Route, Session};
use crate::session_event::SessionEvent;
use martlet_pfcp::Message;
use std::time::Duration;

/// How long UPFs forward data after a handover: a thousand times the delay of a packet through both
/// gNBs. The value is the network's own (TS 23.502, 4.9.1.3.3, step 14).
const FORWARDING_TIME: Duration = Duration::from_secs(1);

/// Releases the resources after the forwarding time, if there are any.
pub fn schedule(session: &Session) {
    if !session.mobility.forwarding.is_empty() || !session.mobility.replaced.is_empty() {
        session.send_to_self_after(FORWARDING_TIME, || SessionEvent::ForwardingTimeout);
    }
}

/// The forwarding time is over. The resources stay while the next handover is being prepared.
pub async fn timeout(session: &mut Session) {
    if !session.mobility.handover.is_running() {
        release(session).await;
    }
}

/// Releases an intermediate UPF that was prepared and is not used.
pub async fn abandon_route(session: &Session, route: Route) {
    if let Route::Through(prepared) = route {
        let _ = n4_session_release::release(session, prepared.session).await;
    }
}

/// Aborts a handover that is being prepared, and releases forwarding tunnels and replaced UPFs.
pub async fn release(session: &mut Session) {
    if let Some(preparation) = session.mobility.handover.abort() {
        abandon_route(session, preparation.route).await;
    }
    let replaced = std::mem::take(&mut session.mobility.replaced);
    for at in std::mem::take(&mut session.mobility.forwarding) {
        let path = session.user_plane.path();
        let is_in_use = path.is_some_and(|path| path.all().any(|(_, in_path)| in_path == at));
        if replaced.contains(&at) || !is_in_use {
            continue;
        }
        match session.smf.n4.request(at.upf, Some(at.seid), stop_forwarding()).await {
            Ok(Message::SessionModificationResponse(answer)) if answer.cause.is_accepted() => {}
            // A UPF that has restarted has no forwarding tunnel.
            outcome => {
                let outcome = outcome.map(|message| message.name());
                tracing::debug!(
                    supi = %session.supi, session = session.id, ?outcome,
                    "forwarding tunnel not removed"
                );
            }
        }
    }
    for at in replaced {
        if let Err(error) = n4_session_release::release(session, at).await {
            tracing::warn!(
                supi = %session.supi, session = session.id, %error,
                "N4 session at replaced UPF not released"
            );
        }
    }
}
