//! Relocation of the PDU session anchor for SSC modes 2 and 3 (TS 23.502, 4.3.5.1 and 4.3.5.2; TS
//! 23.501, 5.6.9.2), when another UPF serves the UE's location.
//!
//! In mode 2 the session is released, and the UE establishes a new one. In mode 3 the UE
//! establishes the new session first, and the old one is released after `smf.ssc3_s`.
use crate::metrics;
use crate::procedures::n1_n2_transfer::transfer_body;
use crate::procedures::release::pdu_session_release;
use crate::session::{AnchorRelocation, Session};
use crate::session_event::SessionEvent;
use martlet_nas::GsmCause;
use martlet_sbi_api::common::UserLocation;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Delay between a change of location and the relocation: the procedure that brought the UE there
/// has to end first.
const DELAY: Duration = Duration::from_millis(300);

/// The tracking area code of a location.
pub fn tracking_area(location: Option<&UserLocation>) -> Option<u32> {
    u32::from_str_radix(location?.nr_location.as_ref()?.tai.tac.as_str(), 16).ok()
}

/// Updates the UE's location, and begins a relocation if another UPF serves it.
pub fn update_location(session: &mut Session, location: Option<&UserLocation>) {
    let tac = tracking_area(location).filter(|tac| session.mobility.tac != Some(*tac));
    let Some(tac) = tac else { return };
    session.mobility.tac = Some(tac);
    let mode = session.parameters.ssc_mode;
    let is_running = session.mobility.relocation != AnchorRelocation::None;
    if mode == 1 || is_running || preferred_anchor(session).is_none() {
        return;
    }
    session.mobility.relocation = AnchorRelocation::Scheduled;
    session.send_to_self_after(DELAY, || SessionEvent::RelocateAnchor);
}

/// A UPF that serves the UE's location better than the session's anchor.
fn preferred_anchor(session: &Session) -> Option<SocketAddr> {
    let current = session.user_plane.anchor()?.upf;
    let (n4, criteria) = (&session.smf.n4, session.upf_criteria());
    let best = n4.select(&criteria, None).ok()?;
    (n4.rank(best, &criteria) < n4.rank(current, &criteria)).then_some(best)
}

/// Relocates the anchor. Returns `false` if the session has ended.
pub async fn run(session: &mut Session) -> bool {
    if session.gsm.is_releasing() || preferred_anchor(session).is_none() {
        session.mobility.relocation = AnchorRelocation::None;
        return true;
    }
    let started = Instant::now();
    let mode = session.parameters.ssc_mode;
    tracing::info!(supi = %session.supi, session = session.id, mode, "relocating anchor");
    metrics::procedure("relocation", "begun", started);
    if mode == 2 {
        return pdu_session_release::by_network(session, GsmCause::ReactivationRequested).await;
    }
    // Mode 3: the new session first (4.3.5.2, step 2).
    let command = crate::n1::reactivation_command(session.id);
    let mut body = transfer_body(session, Some(command), None);
    body.json.skip_ind = Some(true);
    if let Err(problem) = session.amf.client.n1_n2_message_transfer(&session.supi, body).await {
        tracing::info!(
            supi = %session.supi, session = session.id, %problem,
            "reactivation command not delivered"
        );
        session.mobility.relocation = AnchorRelocation::None;
        return true;
    }
    session.mobility.relocation = AnchorRelocation::Requested;
    let time = Duration::from_secs(session.smf.config.ssc3_s.into());
    session.send_to_self_after(time, || SessionEvent::RelocationTimeout);
    true
}

/// SSC mode 3: releases the old session. Returns `false` if it has ended.
pub async fn release_old_session(session: &mut Session) -> bool {
    if session.gsm.is_releasing() {
        return true;
    }
    pdu_session_release::by_network(session, GsmCause::RegularDeactivation).await
}
