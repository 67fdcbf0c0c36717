//! Restoration of N4 sessions that a UPF has lost (TS 23.527, 4.3.2).
//!
//! A session with one UPF keeps its N3 endpoint, so that UE and gNB notice nothing, unless the UPF
//! has another address on N3 now. A session with two UPFs is established again. The gNB gets a new
//! endpoint.
use super::{n3_tunnel_update, n4_session_establishment, n4_session_release};
use crate::metrics;
use crate::n4::N4Error;
use crate::procedures::charging::charging_session;
use crate::procedures::handover::forwarding_release;
use crate::session::{N4Sessions, Session};
use crate::session_event::SessionEvent;
use crate::usage::Usage;
use crate::user_plane_path::UserPlanePath;
use martlet_pfcp::ie::Cause;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How long a session waits for a new association with a UPF that has restarted.
const REASSOCIATION_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval between searches for a UPF that the UE's gNB reaches.
pub const ROUTE_RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// A UPF was associated again: its N4 sessions of the earlier association are lost.
pub async fn upf_restarted(session: &mut Session, upf: SocketAddr) {
    let current = session.smf.n4.generation(upf);
    let Some(path) = session.user_plane.path() else { return };
    if path.all().any(|(_, at)| at.upf == upf && at.generation != current) {
        let _ = restore(session).await;
    }
}

/// Restores the N4 sessions. A session that the UPF refuses is lost: [`N4Sessions::Lost`].
pub async fn restore(session: &mut Session) -> Result<(), N4Error> {
    let path = session.user_plane.path().ok_or(N4Error::NoUpf)?;
    let started = Instant::now();
    // Limits the load on a UPF that has just restarted.
    let smf = session.smf.clone();
    let _permit = smf.restorations.acquire().await;
    if path.has_two_upfs() {
        let outcome = reestablish(session).await;
        if outcome.is_err() {
            session.user_plane.n4 = N4Sessions::Lost;
        }
        return outcome;
    }
    let before = path.anchor();
    // A session that is established before the association is complete would be restored twice.
    if !smf.n4.is_up(before.upf) {
        let generation = smf.n4.generation(before.upf);
        smf.n4.wait_associated_after(before.upf, generation, REASSOCIATION_TIMEOUT).await;
    }
    let n3 = (before.teid, before.address);
    let mut outcome = n4_session_establishment::restore_at(session, before.upf, n3).await;
    if matches!(outcome, Err(N4Error::NotAssociated)) {
        let generation = before.generation;
        smf.n4.wait_associated_after(before.upf, generation, REASSOCIATION_TIMEOUT).await;
        outcome = n4_session_establishment::restore_at(session, before.upf, n3).await;
    }
    // A modification that reached the UPF after the setup of the association has kept the session
    // there.
    if matches!(outcome, Err(N4Error::Rejected(cause)) if cause == Cause::REJECTED.0)
        && let Ok(usage) = n4_session_release::release(session, before).await
    {
        charging_session::report_upf_removal(session, usage).await;
        outcome = n4_session_establishment::restore_at(session, before.upf, n3).await;
    }
    // The UPF has another address on N3 since its restart: it chooses the endpoint.
    if matches!(outcome, Err(N4Error::Rejected(cause))
        if cause == Cause::INVALID_FTEID_ALLOCATION_OPTION.0)
    {
        outcome = n4_session_establishment::establish_at(session, before.upf).await;
    }
    let (supi, id, upf) = (&session.supi, session.id, before.upf);
    match outcome {
        Ok(restored) => {
            metrics::procedure("user_plane_restoration", "ok", started);
            let is_moved = (restored.teid, restored.address) != n3;
            tracing::info!(%supi, session = id, %upf, is_moved, "N4 session restored");
            session.set_path(UserPlanePath::Anchor(restored));
            if is_moved {
                n3_tunnel_update::send(session).await;
            }
            Ok(())
        }
        // The session is restored with the next association.
        Err(
            error @ (N4Error::Timeout(_) | N4Error::NoUpf | N4Error::Busy | N4Error::NotAssociated),
        ) => {
            metrics::procedure("user_plane_restoration", "not yet", started);
            tracing::warn!(%supi, session = id, %upf, %error, "N4 session not restored yet");
            Err(error)
        }
        Err(error) => {
            metrics::procedure("user_plane_restoration", "failed", started);
            tracing::warn!(%supi, session = id, %upf, %error, "N4 session not restored, releasing");
            session.user_plane.n4 = N4Sessions::Lost;
            Err(error)
        }
    }
}

/// Establishes a session with two UPFs again, at UPFs that are associated, with the UE's address.
/// The gNB gets the new N3 endpoint.
///
/// # Errors
/// No UPF accepts the session. It has no N4 session then.
pub async fn reestablish(session: &mut Session) -> Result<(), N4Error> {
    let started = Instant::now();
    let Some(path) = session.user_plane.path() else { return Err(N4Error::NoUpf) };
    forwarding_release::release(session).await;
    let mut usage = Usage::default();
    for (bit, at) in path.all().filter(|(_, at)| session.smf.n4.is_up(at.upf)) {
        if let (Ok(last), 0) = (n4_session_release::release(session, at).await, bit) {
            usage = last;
        }
    }
    session.user_plane.n4 = N4Sessions::None;
    charging_session::report_upf_removal(session, usage).await;
    match n4_session_establishment::reestablish(session, path.anchor().upf).await {
        Ok(path) => {
            session.set_path(path);
            n3_tunnel_update::send(session).await;
            let upf = path.access().upf;
            if !session.smf.n4.reaches(upf, session.mobility.tac) {
                session.send_to_self_after(ROUTE_RETRY_INTERVAL, || SessionEvent::OutOfServiceArea);
            }
            metrics::procedure("user_plane_restoration", "established again", started);
            tracing::info!(
                supi = %session.supi, session = session.id, %upf, "N4 sessions established again"
            );
            Ok(())
        }
        Err(error) => {
            metrics::procedure("user_plane_restoration", "failed", started);
            tracing::warn!(
                supi = %session.supi, session = session.id, %error,
                "N4 sessions not established again, releasing"
            );
            Err(error)
        }
    }
}
