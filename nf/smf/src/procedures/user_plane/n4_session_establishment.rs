//! The session at its UPF (TS 23.502, 4.4.1): made, and made anew where the UPF has lost it (TS
//! 23.527, 4.3.2).
use crate::BranchingConfig;
use crate::metrics;
use crate::n4::{
    Downlink, N4Error, Plan, branching_point, branching_tunnels, establishment, to_gnb,
};
use crate::procedures::branching::anchor_relocation;
use crate::procedures::branching::intermediate_upf;
use crate::procedures::branching::intermediate_upf::Intermediate;
use crate::procedures::charging::converged_charging;
use crate::procedures::handover::n2_handover;
use crate::session::{Place, QFI, SECOND, Session, UpfSession};
use crate::usage::Used;
use martlet_pfcp::ie::{Cause, FTeid};
use martlet_pfcp::{Message, SessionEstablishmentRequest};
use martlet_sbi_api::common::PduSessionType;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// How long a session waits for the association with a UPF that has started anew.
const REASSOCIATION: Duration = Duration::from_secs(1);

/// N4 session establishment at the UPF that leads to the data network, and at the branching point
/// before it where the UE's place has one (TS 23.502, 4.3.5.4), or at an intermediate UPF where
/// gNBs of that place do not reach it.
pub async fn establish(session: &Session) -> Result<Place, N4Error> {
    make(session, Downlink::Wait, None).await
}

/// The same for a session that begins, or for one that is there already; `idle` is what becomes of
/// downlink where the UE is idle, and `anchor` the UPF that leads to the data network where that is
/// there still.
async fn make(
    session: &Session,
    idle: Downlink,
    anchor: Option<SocketAddr>,
) -> Result<Place, N4Error> {
    let n4 = &session.smf.n4;
    let upf = match anchor.filter(|upf| n4.is_up(*upf)) {
        Some(anchor) => anchor,
        None => n4.choose(&session.wanted(), None)?,
    };
    let here = |branching: &&BranchingConfig| {
        branching.dnn.eq_ignore_ascii_case(&session.dnn)
            && (branching.tacs.is_empty()
                || session.tac.is_some_and(|tac| branching.tacs.contains(&tac)))
            && branching.via != upf
            && n4.is_up(branching.via)
            && matches!(
                session.kind,
                PduSessionType::Ipv4 | PduSessionType::Ipv6 | PduSessionType::Ipv4v6
            )
    };
    let classifier = session.smf.config.branching.iter().find(here);
    let between =
        if n4.reaches(upf, session.tac) { None } else { n4.between(upf, &session.wanted()) };
    let part = if classifier.is_some() { Part::Anchor } else { Part::Whole };
    let anchor = request(session, upf, None, (part, idle)).await?;
    let outcome = match (classifier, between) {
        (Some(branching), _) => branch(session, anchor, branching, idle).await,
        (None, Some(via)) => lead_through(session, anchor, via, idle).await,
        (None, None) => return Ok(Place::at(anchor)),
    };
    if outcome.is_err() {
        let _ = anchor_relocation::let_go(session, anchor).await;
    }
    outcome
}

/// The branching point, and then the anchor's way to it.
async fn branch(
    session: &Session,
    anchor: UpfSession,
    branching: &BranchingConfig,
    idle: Downlink,
) -> Result<Place, N4Error> {
    let plan = plan(session, None, Part::Whole, towards_ue(session, idle));
    let request = branching_point(&plan, (anchor.teid, anchor.address), &branching.local);
    let (upf, n9) = before(session, branching.via, request).await?;
    lead_to(session, anchor, Intermediate { upf, n9 }).await?;
    Ok(Place { upf, anchor: Some(anchor), intermediate: false })
}

async fn lead_through(
    session: &Session,
    anchor: UpfSession,
    via: SocketAddr,
    idle: Downlink,
) -> Result<Place, N4Error> {
    let made = intermediate(session, anchor, via, towards_ue(session, idle)).await?;
    lead_to(session, anchor, made).await?;
    Ok(Place { upf: made.upf, anchor: Some(anchor), intermediate: true })
}

/// An intermediate UPF's session, which leads to the anchor; the anchor does not lead to it yet.
pub async fn intermediate(
    session: &Session,
    anchor: UpfSession,
    via: SocketAddr,
    towards_ue: Downlink,
) -> Result<Intermediate, N4Error> {
    let plan = plan(session, None, Part::Intermediate, towards_ue);
    let request = branching_point(&plan, (anchor.teid, anchor.address), &[]);
    let (upf, n9) = before(session, via, request).await?;
    Ok(Intermediate { upf, n9 })
}

/// A UPF's session before an anchor, with its end of N9.
async fn before(
    session: &Session,
    via: SocketAddr,
    request: SessionEstablishmentRequest,
) -> Result<(UpfSession, (u32, IpAddr)), N4Error> {
    let n4 = &session.smf.n4;
    let generation = n4.generation(via);
    let Message::SessionEstablishmentResponse(answer) = n4.request(via, Some(0), request).await?
    else {
        return Err(N4Error::Unexpected("another message"));
    };
    if !answer.cause.is_accepted() {
        return Err(N4Error::Refused(answer.cause.0));
    }
    let seid = answer.up_fseid.ok_or(N4Error::Unexpected("no F-SEID"))?.seid;
    let (n3, n9) =
        branching_tunnels(&answer.created_pdrs).ok_or(N4Error::Unexpected("no F-TEID"))?;
    Ok((UpfSession { upf: via, generation, seid, teid: n3.0, address: n3.1, second: n3.2 }, n9))
}

/// The anchor's way to what is before it.
async fn lead_to(session: &Session, anchor: UpfSession, to: Intermediate) -> Result<(), N4Error> {
    match session.smf.n4.request(anchor.upf, Some(anchor.seid), to_gnb(to.n9.0, to.n9.1)).await {
        Ok(Message::SessionModificationResponse(answer)) if answer.cause.is_accepted() => Ok(()),
        outcome => {
            let _ = anchor_relocation::let_go(session, to.upf).await;
            Err(outcome
                .err()
                .unwrap_or(N4Error::Unexpected("the anchor does not lead to the UPF before it")))
        }
    }
}

/// The session as it is, at another UPF.
pub async fn establish_at(session: &Session, upf: SocketAddr) -> Result<UpfSession, N4Error> {
    request(session, upf, None, (Part::Whole, Downlink::Page)).await
}

/// The UPF has been associated anew: what it had of the session before is gone.
pub async fn associated_anew(session: &mut Session, upf: SocketAddr) {
    let current = session.smf.n4.generation(upf);
    let Some(place) = session.place() else { return };
    if place.all().any(|(_, at)| at.upf == upf && at.generation != current) {
        let _ = restore(session).await;
    }
}

/// A session that goes through two UPFs, of which one has lost it, is made anew at UPFs that are
/// there, with the UE's address; its gNB is told of another tunnel.
///
/// # Errors
/// No UPF takes it: it has no user plane any more.
pub async fn make_anew(session: &mut Session) -> Result<(), N4Error> {
    let started = Instant::now();
    let Some(place) = session.place() else { return Err(N4Error::NoUpf) };
    n2_handover::end(session).await;
    let mut used = Used::default();
    for (bit, at) in place.all().filter(|(_, at)| session.smf.n4.is_up(at.upf)) {
        if let (Ok(Message::SessionDeletionResponse(answer)), 0) =
            (anchor_relocation::ask_to_let_go(session, at).await, bit)
        {
            used.add_all(answer.usage_reports.iter().map(|report| (report.urr_id, report.volume)));
        }
    }
    (session.upf, session.anchor, session.intermediate) = (None, None, false);
    converged_charging::moved(session, used).await;
    match make(session, Downlink::Page, place.anchor.map(|anchor| anchor.upf)).await {
        Ok(place) => {
            session.settle(place);
            anchor_relocation::tell_gnb(session).await;
            if !session.smf.n4.reaches(place.upf.upf, session.tac) {
                intermediate_upf::look_again(session);
            }
            metrics::procedure("user_plane_restoration", "made anew", started);
            tracing::info!(supi = %session.supi, session = session.id, upf = %place.upf.upf, "the session is made anew at its UPFs");
            Ok(())
        }
        Err(error) => {
            metrics::procedure("user_plane_restoration", "failed", started);
            tracing::warn!(supi = %session.supi, session = session.id, %error, "the session cannot be made anew: it ends");
            Err(error)
        }
    }
}

/// Makes the session anew at its UPF, with the same end of N3, so that neither UE nor gNB notice. A
/// session that the UPF refuses is lost.
pub async fn restore(session: &mut Session) -> Result<(), N4Error> {
    let before = session.upf.ok_or(N4Error::NoUpf)?;
    let started = Instant::now();
    // A UPF that has just started is not asked for all sessions at once.
    let smf = session.smf.clone();
    let _turn = smf.restorations.acquire().await;
    if session.anchor.is_some() {
        let outcome = make_anew(session).await;
        session.lost |= outcome.is_err();
        return outcome;
    }
    // A session that is made while the association is being set up would count as one of before,
    // and be made once more.
    if !smf.n4.is_up(before.upf) {
        smf.n4.associated_after(before.upf, smf.n4.generation(before.upf), REASSOCIATION).await;
    }
    let (supi, id) = (&session.supi, session.id);
    let tunnel = Some((before.teid, before.address));
    let mut outcome = request(session, before.upf, tunnel, (Part::Whole, Downlink::Page)).await;
    if matches!(outcome, Err(N4Error::NotAssociated)) {
        smf.n4.associated_after(before.upf, before.generation, REASSOCIATION).await;
        outcome = request(session, before.upf, tunnel, (Part::Whole, Downlink::Page)).await;
    }
    match outcome {
        Ok(upf) => {
            metrics::procedure("user_plane_restoration", "ok", started);
            tracing::info!(%supi, session = id, upf = %upf.upf, "the session is restored at its UPF");
            session.settle(Place::at(upf));
            Ok(())
        }
        // It will be associated anew, and then the session is restored.
        Err(
            error @ (N4Error::Silent(_) | N4Error::NoUpf | N4Error::Busy | N4Error::NotAssociated),
        ) => {
            metrics::procedure("user_plane_restoration", "not yet", started);
            tracing::warn!(%supi, session = id, upf = %before.upf, %error, "the session is not restored yet");
            Err(error)
        }
        Err(error) => {
            metrics::procedure("user_plane_restoration", "failed", started);
            tracing::warn!(%supi, session = id, upf = %before.upf, %error, "the session cannot be restored: it ends");
            session.upf = None;
            session.lost = true;
            Err(error)
        }
    }
}

/// Registers the session's SMF with the UDM, as it changes (Nudm_UECM_Registration): whether it
/// has.
pub async fn register_again(session: &Session) -> bool {
    let registered =
        crate::procedures::establishment::pdu_session_establishment::register(session).await;
    if let Err(problem) = &registered {
        tracing::info!(supi = %session.supi, session = session.id, %problem, "the UDM does not learn of the session's SMF");
    }
    registered.is_ok()
}

/// What of a session a UPF has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// All of it, or what counts: it is at no other UPF, or goes out at several.
    Whole,
    /// The way to the data network, behind a branching point.
    Anchor,
    /// The way to the gNB, before an anchor.
    Intermediate,
}

/// What becomes of downlink now, at the UPF to which gNBs speak; `idle` where the UE is idle.
fn towards_ue(session: &Session, idle: Downlink) -> Downlink {
    let gnb = session.gnb.filter(|_| session.active);
    gnb.map_or(idle, |(teid, address)| Downlink::Gnb(teid, address))
}

fn plan(
    session: &Session,
    restored: Option<(u32, IpAddr)>,
    part: Part,
    towards_ue: Downlink,
) -> Plan<'_> {
    let n4 = &session.smf.n4;
    let counts = part == Part::Whole;
    Plan {
        node: n4.node(),
        cp_address: n4.address(),
        cp_seid: if counts { session.reference } else { session.reference | SECOND },
        subject: session.subject(),
        server: session.server,
        qfi: QFI,
        uplink: session.ambr.uplink.bps(),
        downlink: session.ambr.downlink.bps(),
        flows: &session.flows,
        quota: session
            .charging
            .as_ref()
            .and_then(|charging| charging.told.quota())
            .filter(|_| counts),
        // A branching point sees no flows: there all counts as the session's own.
        groups: session
            .charging
            .as_ref()
            .filter(|_| counts)
            .map_or(Vec::new(), |charging| charging.told.others()),
        restored,
        audit_s: Some(session.smf.config.audit_s).filter(|seconds| *seconds > 0),
        towards_ue,
    }
}

async fn request(
    session: &Session,
    upf: SocketAddr,
    restored: Option<(u32, IpAddr)>,
    (part, idle): (Part, Downlink),
) -> Result<UpfSession, N4Error> {
    let n4 = &session.smf.n4;
    let generation = n4.generation(upf);
    let plan = plan(session, restored, part, towards_ue(session, idle));
    let Message::SessionEstablishmentResponse(answer) =
        n4.request(upf, Some(0), establishment(&plan)).await?
    else {
        return Err(N4Error::Unexpected("another message"));
    };
    if answer.cause == Cause::NO_ESTABLISHED_ASSOCIATION {
        n4.not_associated(upf, generation);
        return Err(N4Error::NotAssociated);
    }
    if !answer.cause.is_accepted() {
        return Err(N4Error::Refused(answer.cause.0));
    }
    let seid = answer.up_fseid.ok_or(N4Error::Unexpected("no F-SEID"))?.seid;
    let chosen = answer.created_pdrs.iter().find_map(|created| match created.local_fteid {
        Some(FTeid::Given { teid, ipv4, ipv6 }) => Some((
            teid,
            ipv4.map(IpAddr::V4).or(ipv6.map(IpAddr::V6))?,
            ipv6.filter(|_| ipv4.is_some()),
        )),
        _ => None,
    });
    let same = session.upf.filter(|before| restored == Some((before.teid, before.address)));
    let restored =
        restored.map(|(teid, address)| (teid, address, same.and_then(|before| before.second)));
    // A UPF need not repeat what it was given.
    let (teid, address, second) = chosen.or(restored).ok_or(N4Error::Unexpected("no F-TEID"))?;
    if restored.is_some_and(|restored| (restored.0, restored.1) != (teid, address)) {
        return Err(N4Error::Unexpected("another F-TEID"));
    }
    Ok(UpfSession { upf, generation, seid, teid, address, second })
}
