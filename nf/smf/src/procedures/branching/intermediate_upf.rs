//! A UPF between the UE's gNB and the session's anchor, where the UE has left the anchor's service
//! area (I-UPF): inserted, changed and removed with handovers (TS 23.502, 4.9.1.2.3, 4.9.1.2.4 and
//! 4.9.1.3), while the anchor and the UE's address stay (SSC mode 1).
use crate::metrics;
use crate::n4::{Downlink, N4Error, Wanted, switch_to_gnb, to_gnb};
use crate::procedures::branching::anchor_relocation;
use crate::procedures::handover::n2_handover;
use crate::procedures::user_plane::n4_session_establishment;
use crate::session::{Session, SessionEvent, UpfSession};
use martlet_ngap::transfer::GtpTunnel;
use martlet_pfcp::{Message, SessionModificationRequest};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How long UPFs still carry what is on its way when the UE has come to another gNB. It is the time
/// of a packet through both gNBs, and a margin of a thousand times (TS 23.502, 4.9.1.3.3, step 14:
/// the timer is the network's own).
const LINGER: Duration = Duration::from_secs(1);

/// Between looks for a UPF that reaches a gNB, while none does.
const AGAIN: Duration = Duration::from_secs(2);

/// The way of a session to a gNB.
#[derive(Debug, Clone, Copy)]
pub enum Way {
    /// The one that it has.
    AsItIs,
    /// The anchor speaks to the gNB, which it had left to an intermediate UPF.
    Direct,
    /// Another intermediate UPF.
    Through(Intermediate),
}

/// An intermediate UPF that is prepared: its session, and its end of N9.
#[derive(Debug, Clone, Copy)]
pub struct Intermediate {
    pub upf: UpfSession,
    pub n9: (u32, IpAddr),
}

/// The way to a gNB of a tracking area; an intermediate UPF is made ready where one is needed.
///
/// # Errors
/// No UPF reaches that gNB, or the one that does refuses.
pub async fn prepare(session: &Session, tac: Option<u32>) -> Result<Way, N4Error> {
    let n4 = &session.smf.n4;
    let upf = session.upf.ok_or(N4Error::NoUpf)?;
    let anchor = session.anchor.unwrap_or(upf);
    // An uplink classifier stays where it is.
    let is_classified = session.anchor.is_some() && !session.intermediate;
    if is_classified || n4.reaches(anchor.upf, tac) && !session.intermediate {
        return Ok(Way::AsItIs);
    }
    if n4.reaches(anchor.upf, tac) {
        return Ok(Way::Direct);
    }
    if session.intermediate && n4.reaches(upf.upf, tac) {
        return Ok(Way::AsItIs);
    }
    let via = n4.between(anchor.upf, &Wanted { tac, ..session.wanted() }).ok_or(N4Error::NoUpf)?;
    let intermediate =
        n4_session_establishment::intermediate(session, anchor, via, Downlink::Wait).await?;
    tracing::info!(supi = %session.supi, session = session.id, upf = %via, anchor = %anchor.upf, "an intermediate UPF is prepared");
    Ok(Way::Through(intermediate))
}

impl Way {
    /// The UPF to which the gNB speaks then.
    pub fn end(&self, session: &Session) -> Option<UpfSession> {
        match self {
            Way::AsItIs => session.upf,
            Way::Direct => session.anchor.or(session.upf),
            Way::Through(intermediate) => Some(intermediate.upf),
        }
    }

    /// What gNBs are told of the UPF's end, where it changes.
    pub fn new_end(&self, session: &Session) -> Option<GtpTunnel> {
        match self {
            Way::AsItIs => None,
            _ => self.end(session).map(|upf| upf.n3()),
        }
    }

    /// It is not needed: what was prepared ends.
    pub async fn give_up(self, session: &Session) {
        if let Way::Through(intermediate) = self {
            let _ = anchor_relocation::let_go(session, intermediate.upf).await;
        }
    }
}

/// Takes a way into use: downlink goes to the gNB by it, and the end of what went the way before is
/// marked. The intermediate UPF of before carries what is on its way, for a while.
///
/// # Errors
/// A UPF refuses; the session has the way that it had.
pub async fn take(
    session: &mut Session,
    way: Way,
    (teid, address): (u32, IpAddr),
) -> Result<(), N4Error> {
    let anchor = session.anchor.or(session.upf).ok_or(N4Error::NoUpf)?;
    let before = session.upf.filter(|_| session.intermediate);
    let started = Instant::now();
    let name = match way {
        Way::AsItIs => return session.modify(switch_to_gnb(teid, address)).await,
        Way::Direct => {
            change(session, anchor, switch_to_gnb(teid, address)).await?;
            (session.upf, session.anchor, session.intermediate) = (Some(anchor), None, false);
            "removed"
        }
        Way::Through(Intermediate { upf, n9 }) => {
            let outcome = async {
                change(session, upf, to_gnb(teid, address)).await?;
                change(session, anchor, switch_to_gnb(n9.0, n9.1)).await
            };
            if let Err(error) = outcome.await {
                way.give_up(session).await;
                return Err(error);
            }
            (session.upf, session.anchor, session.intermediate) = (Some(upf), Some(anchor), true);
            if before.is_some() { "changed" } else { "inserted" }
        }
    };
    metrics::procedure("intermediate_upf", name, started);
    session.left.extend(before);
    session.locate();
    Ok(())
}

async fn change(
    session: &Session,
    at: UpfSession,
    request: SessionModificationRequest,
) -> Result<(), N4Error> {
    match session.smf.n4.request(at.upf, Some(at.seid), request).await? {
        Message::SessionModificationResponse(answer) if answer.cause.is_accepted() => Ok(()),
        Message::SessionModificationResponse(answer) => Err(N4Error::Refused(answer.cause.0)),
        other => Err(N4Error::Unexpected(other.name())),
    }
}

/// What a change of the way has left ends after a while.
pub fn linger(session: &Session) {
    if session.forwards.is_empty() && session.left.is_empty() {
        return;
    }
    let (smf, reference) = (session.smf.clone(), session.reference);
    tokio::spawn(async move {
        tokio::time::sleep(LINGER).await;
        if let Some(session) = smf.sessions.get(&reference.to_string()) {
            session.send(SessionEvent::ForwardingOver);
        }
    });
}

/// No UPF reaches the UE's gNB at this moment: one may soon.
pub fn look_again(session: &Session) {
    let (smf, reference) = (session.smf.clone(), session.reference);
    tokio::spawn(async move {
        tokio::time::sleep(AGAIN).await;
        if let Some(session) = smf.sessions.get(&reference.to_string()) {
            session.send(SessionEvent::OutOfArea);
        }
    });
}

/// The UE has come back in another place than it had left, and its gNB has the tunnel of before: it
/// gets the one of the UPF that reaches it (TS 23.502, 4.2.3.2, steps 6 to 8, with the gNB told
/// afterwards).
pub async fn follow(session: &mut Session) {
    let Some(gnb) = session.gnb.filter(|_| session.active && !session.is_releasing()) else {
        return;
    };
    let way = match prepare(session, session.tac).await {
        Ok(Way::AsItIs) => return,
        Ok(way) => way,
        Err(error) => {
            tracing::warn!(supi = %session.supi, session = session.id, %error, "no UPF reaches the UE's gNB");
            return look_again(session);
        }
    };
    n2_handover::end(session).await;
    match take(session, way, gnb).await {
        Ok(()) => {
            linger(session);
            anchor_relocation::tell_gnb(session).await;
        }
        Err(error) => {
            tracing::warn!(supi = %session.supi, session = session.id, %error, "no other UPF takes the session");
        }
    }
}
