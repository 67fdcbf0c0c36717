//! Insertion, change and removal of an intermediate UPF (TS 23.502, 4.9.1.2.3, 4.9.1.2.4 and
//! 4.9.1.3): the UE has left or entered the service area of its anchor. Anchor and UE address stay.
use crate::metrics;
use crate::n4::{Downlink, N4Error, UpfCriteria, forward_to_gnb, switch_to_gnb};
use crate::procedures::handover::forwarding_release;
use crate::procedures::user_plane::n4_session_modification::{modify, request};
use crate::procedures::user_plane::restoration::ROUTE_RETRY_INTERVAL;
use crate::procedures::user_plane::{n3_tunnel_update, n4_session_establishment};
use crate::session::{PreparedUpf, Route, Session};
use crate::session_event::SessionEvent;
use crate::user_plane_path::{Tunnel, UserPlanePath};
use std::time::Instant;

/// Determines the route to a gNB of a tracking area, and establishes the N4 session at a new
/// intermediate UPF if the route needs one.
///
/// # Errors
/// No UPF reaches the gNB, or the intermediate UPF rejects the session.
pub async fn prepare(session: &Session, tac: Option<u32>) -> Result<Route, N4Error> {
    let n4 = &session.smf.n4;
    let path = session.user_plane.path().ok_or(N4Error::NoUpf)?;
    let anchor = path.anchor();
    let reaches_anchor = n4.reaches(anchor.upf, tac);
    match path.intermediate() {
        // An uplink classifier stays where it is.
        None if path.has_classifier() || reaches_anchor => return Ok(Route::Unchanged),
        Some(_) if reaches_anchor => return Ok(Route::Direct),
        Some(intermediate) if n4.reaches(intermediate.upf, tac) => return Ok(Route::Unchanged),
        _ => {}
    }
    let criteria = UpfCriteria { tac, ..session.upf_criteria() };
    let via = n4.select_intermediate(anchor.upf, &criteria).ok_or(N4Error::NoUpf)?;
    let prepared =
        n4_session_establishment::establish_intermediate(session, anchor, via, Downlink::Buffer)
            .await?;
    tracing::info!(
        supi = %session.supi, session = session.id, upf = %via, anchor = %anchor.upf,
        "intermediate UPF prepared"
    );
    Ok(Route::Through(prepared))
}

/// Switches the session to a route: the downlink goes to the gNB on it, with end markers on the old
/// path. A replaced intermediate UPF stays for a while, for packets in flight.
///
/// # Errors
/// A UPF rejects the change. The session keeps its old route.
pub async fn switch_to(session: &mut Session, route: Route, gnb: Tunnel) -> Result<(), N4Error> {
    let path = session.user_plane.path().ok_or(N4Error::NoUpf)?;
    let (anchor, before) = (path.anchor(), path.intermediate());
    let started = Instant::now();
    let (teid, address) = gnb;
    let outcome = match route {
        Route::Unchanged => return modify(session, switch_to_gnb(teid, address)).await,
        Route::Direct => {
            request(session, anchor, switch_to_gnb(teid, address)).await?;
            session.set_path(UserPlanePath::Anchor(anchor));
            "removed"
        }
        Route::Through(PreparedUpf { session: intermediate, n9 }) => {
            let switched = async {
                request(session, intermediate, forward_to_gnb(teid, address)).await?;
                request(session, anchor, switch_to_gnb(n9.0, n9.1)).await
            };
            if let Err(error) = switched.await {
                forwarding_release::abandon_route(session, route).await;
                return Err(error);
            }
            session.set_path(UserPlanePath::Intermediate { intermediate, anchor });
            if before.is_some() { "changed" } else { "inserted" }
        }
    };
    metrics::procedure("intermediate_upf", outcome, started);
    session.mobility.replaced.extend(before);
    Ok(())
}

/// The UE has become active in a tracking area whose gNBs do not reach its UPF (TS 23.502, 4.2.3.2,
/// steps 6 to 8; the gNB gets the new endpoint afterwards).
pub async fn follow_ue(session: &mut Session) {
    let is_releasing = session.gsm.is_releasing();
    let Some(gnb) = session.user_plane.connection.gnb().filter(|_| !is_releasing) else { return };
    let route = match prepare(session, session.mobility.tac).await {
        Ok(Route::Unchanged) => return,
        Ok(route) => route,
        Err(error) => {
            tracing::warn!(
                supi = %session.supi, session = session.id, %error, "no UPF reaches the UE's gNB"
            );
            let retry = || SessionEvent::OutOfServiceArea;
            return session.send_to_self_after(ROUTE_RETRY_INTERVAL, retry);
        }
    };
    forwarding_release::release(session).await;
    match switch_to(session, route, gnb).await {
        Ok(()) => {
            forwarding_release::schedule(session);
            n3_tunnel_update::send(session).await;
        }
        Err(error) => tracing::warn!(
            supi = %session.supi, session = session.id, %error,
            "insertion of intermediate UPF failed"
        ),
    }
}
