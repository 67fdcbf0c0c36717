//! Another anchor for a session (TS 23.502, 4.3.5.1 and 4.3.5.2; TS 23.501, 5.6.9.2): where the UE
//! has come to a place that another UPF serves, a session of SSC mode 2 ends and is asked for anew,
//! and one of mode 3 gets one beside it before it ends. And another UPF for a session whose UPF is
//! lost (TS 23.527, 4.2), of whatever mode.
use crate::metrics;
use crate::n4::N4Error;
use crate::procedures::release::pdu_session_release;
use crate::procedures::user_plane::n4_session_establishment;
use crate::session::{Place, Session, SessionEvent, UpfSession};
use martlet_nas::GsmCause;
use martlet_ngap::transfer::{GtpTunnel, ModifyRequest, UplinkTunnelChange};
use martlet_pfcp::Message;
use martlet_sbi_api::common::UserLocation;
use martlet_sbi_api::namf_communication::NgapIeType;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Until a session is looked at after its UE has come to another place: what brought the UE there
/// is over then.
const PAUSE: Duration = Duration::from_millis(300);

/// Where the UE is, as the AMF says.
pub fn place(location: Option<&UserLocation>) -> Option<u32> {
    u32::from_str_radix(location?.nr_location.as_ref()?.tai.tac.as_str(), 16).ok()
}

/// The UE may have come to another place.
pub fn consider(session: &mut Session, location: Option<&UserLocation>) {
    let Some(tac) = place(location).filter(|tac| session.tac != Some(*tac)) else { return };
    session.tac = Some(tac);
    if session.ssc_mode == 1 || session.relocating || better(session).is_none() {
        return;
    }
    session.relocating = true;
    later(session, PAUSE, || SessionEvent::Relocate);
}

/// A UPF that serves the UE's place, where the session's does not.
fn better(session: &Session) -> Option<SocketAddr> {
    let now = session.anchor.or(session.upf)?.upf;
    let n4 = &session.smf.n4;
    let best = n4.choose(&session.wanted(), None).ok()?;
    (n4.rank(best, &session.wanted()) < n4.rank(now, &session.wanted())).then_some(best)
}

fn later(session: &Session, after: Duration, event: fn() -> SessionEvent) {
    let (smf, reference) = (session.smf.clone(), session.reference);
    tokio::spawn(async move {
        tokio::time::sleep(after).await;
        if let Some(session) = smf.sessions.get(&reference.to_string()) {
            session.send(event());
        }
    });
}

/// Has the UE ask for a session with the better UPF. False where this one has ended already.
pub async fn run(session: &mut Session) -> bool {
    if session.is_releasing() || better(session).is_none() {
        session.relocating = false;
        return true;
    }
    let started = Instant::now();
    tracing::info!(supi = %session.supi, session = session.id, mode = session.ssc_mode, "another UPF serves the UE's place");
    metrics::procedure("relocation", "begun", started);
    if session.ssc_mode == 2 {
        return pdu_session_release::by_network(session, GsmCause::ReactivationRequested).await;
    }
    // Mode 3: the new session first (4.3.5.2, step 2), and then the end of this one.
    let command = crate::n1::reactivation_command(session.id);
    let mut body = session.transfer_body(Some(command), None);
    body.json.skip_ind = Some(true);
    if let Err(problem) = session.amf.n1_n2_message_transfer(&session.supi, body).await {
        tracing::info!(supi = %session.supi, session = session.id, %problem, "the UE does not learn of a better UPF");
        session.relocating = false;
        return true;
    }
    later(session, Duration::from_secs(session.smf.config.ssc3_s.into()), || {
        SessionEvent::RelocationOver
    });
    true
}

/// The time is over in which a session of mode 3 is beside the one that takes over from it.
pub async fn over(session: &mut Session) -> bool {
    if session.is_releasing() {
        return true;
    }
    pdu_session_release::by_network(session, GsmCause::RegularDeactivation).await
}

/// A UPF of the session's does not answer any more: another one that leads to the data network
/// takes the session over, with the UE's address; else the session waits for its UPF. One that goes
/// through two UPFs is made anew with what there is, and where that is not enough ends and is asked
/// for anew.
pub async fn upf_lost(session: &mut Session, lost: SocketAddr) -> bool {
    let concerned = session.place().is_some_and(|place| place.is_at(lost));
    if !concerned || session.is_releasing() || session.smf.n4.is_up(lost) {
        return true;
    }
    let started = Instant::now();
    if session.anchor.is_some() {
        return match n4_session_establishment::make_anew(session).await {
            Ok(()) => {
                metrics::procedure("upf_failover", "ok", started);
                true
            }
            Err(_) => {
                metrics::procedure("upf_failover", "released", started);
                pdu_session_release::by_network(session, GsmCause::ReactivationRequested).await
            }
        };
    }
    let Ok(other) = session.smf.n4.choose(&session.wanted(), Some(lost)) else { return true };
    match n4_session_establishment::establish_at(session, other).await {
        Ok(upf) => {
            tracing::info!(supi = %session.supi, session = session.id, upf = %upf.upf, "another UPF has taken a session over");
            session.settle(Place::at(upf));
            tell_gnb(session).await;
            metrics::procedure("upf_failover", "ok", started);
        }
        Err(error) => {
            metrics::procedure("upf_failover", "failed", started);
            tracing::warn!(supi = %session.supi, session = session.id, upf = %other, %error, "no UPF takes a session over");
        }
    }
    true
}

/// The gNB of an active session is told of the UPF's end of N3, which is another one.
pub async fn tell_gnb(session: &Session) {
    let Some(((teid, address), upf)) = session.gnb.filter(|_| session.active).zip(session.upf)
    else {
        return;
    };
    let change = UplinkTunnelChange { uplink: upf.n3(), downlink: GtpTunnel::new(address, teid) };
    let request =
        ModifyRequest { uplink_changes: vec![change], ..ModifyRequest::default() }.encode();
    let Ok(request) =
        request.inspect_err(|error| tracing::error!(%error, "an N2 transfer does not encode"))
    else {
        return;
    };
    let body = session.transfer_body(None, Some((NgapIeType::PduResModReq, request)));
    if let Err(problem) = session.amf.n1_n2_message_transfer(&session.supi, body).await {
        tracing::warn!(supi = %session.supi, session = session.id, %problem, "the gNB does not learn of another UPF");
    }
}

/// Lets go of a session at a UPF, whatever it answers.
pub async fn let_go(session: &Session, at: UpfSession) -> Result<(), N4Error> {
    ask_to_let_go(session, at).await.map(|_| ())
}

/// The same, with the answer.
pub async fn ask_to_let_go(session: &Session, at: UpfSession) -> Result<Message, N4Error> {
    session.smf.n4.request(at.upf, Some(at.seid), crate::n4::deletion()).await
}
