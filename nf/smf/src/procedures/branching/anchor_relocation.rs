//! Relocation of the PDU session anchor for SSC modes 2 and 3 (TS 23.502, 4.3.5.1 and 4.3.5.2; TS
//! 23.501, 5.6.9.2), when another UPF serves the UE's location.
//!
//! In mode 2 the session is released, and the UE establishes a new one. In mode 3 the UE
//! establishes the new session first, and the old one is released after `smf.ssc3_s`. T3591
//! retransmits the command for that. An idle UE gets it when it is connected again.
use crate::metrics;
use crate::procedures::n1_n2_transfer::{is_initiated, transfer_body};
use crate::procedures::release::pdu_session_release;
use crate::session::{AnchorRelocation, PendingModification, Session};
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
    let Some(tac) = tracking_area(location) else { return };
    let is_other = session.mobility.tac.replace(tac) != Some(tac);
    let may_begin = match session.mobility.relocation {
        AnchorRelocation::None => is_other,
        AnchorRelocation::UeIdle => true,
        AnchorRelocation::Scheduled | AnchorRelocation::Requested => false,
    };
    let mode = session.parameters.ssc_mode;
    if mode == 1 || !may_begin || preferred_anchor(session).is_none() {
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
    // A session has one modification at a time.
    if mode != 2 && session.gsm.is_modifying() {
        session.postpone(SessionEvent::RelocateAnchor);
        return true;
    }
    tracing::info!(supi = %session.supi, session = session.id, mode, "relocating anchor");
    metrics::procedure("relocation", "begun", started);
    if mode == 2 {
        return pdu_session_release::by_network(session, GsmCause::ReactivationRequested).await;
    }
    // Mode 3: the new session first (4.3.5.2, step 2).
    let command = crate::n1::reactivation_command(session.id);
    let mut body = transfer_body(session, Some(command.clone()), None);
    body.json.skip_ind = Some(true);
    if !is_initiated(session.amf.client.n1_n2_message_transfer(&session.supi, body).await) {
        let (supi, id) = (&session.supi, session.id);
        tracing::info!(%supi, session = id, "UE idle, reactivation command not sent");
        session.mobility.relocation = AnchorRelocation::UeIdle;
        return true;
    }
    session.gsm.begin_modification(PendingModification {
        command,
        pti: 0,
        transmissions: 1,
        sent: Instant::now(),
        previous: None,
        follows_gnb: false,
    });
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
    // A UE that has not answered may not know that it has to establish the new session.
    let cause = match session.gsm.is_modifying() {
        true => GsmCause::ReactivationRequested,
        false => GsmCause::RegularDeactivation,
    };
    pdu_session_release::by_network(session, cause).await
}
