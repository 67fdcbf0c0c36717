//! The session at its UPF (TS 23.502, 4.4.1): made, and made anew where the UPF has lost it (TS 23.527, 4.3.2).
use crate::BranchingConfig;
use crate::metrics;
use crate::n4::{Downlink, N4Error, Plan, branching_point, branching_tunnels, establishment, to_gnb};
use crate::procedures::relocation;
use crate::session::{ANCHOR, QFI, Session, UpfSession};
use martlet_pfcp::Message;
use martlet_pfcp::ie::{Cause, FTeid};
use martlet_sbi_api::common::PduSessionType;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// How long a session waits for the association with a UPF that has started anew.
const REASSOCIATION: Duration = Duration::from_secs(1);

/// Where a session is: at one UPF, or at a branching point and an anchor behind it.
#[derive(Debug, Clone, Copy)]
pub struct Established {
    pub upf: UpfSession,
    pub anchor: Option<UpfSession>,
}

/// N4 session establishment at the UPF that leads to the data network, and at the branching point before it where the UE's
/// place has one (TS 23.502, 4.3.5.4).
pub async fn establish(session: &Session) -> Result<Established, N4Error> {
    let n4 = &session.smf.n4;
    let upf = n4.choose(&session.wanted(), None)?;
    let here = |branching: &&BranchingConfig| {
        branching.dnn.eq_ignore_ascii_case(&session.dnn)
            && (branching.tacs.is_empty() || session.tac.is_some_and(|tac| branching.tacs.contains(&tac)))
            && branching.via != upf
            && n4.is_up(branching.via)
            && matches!(session.kind, PduSessionType::Ipv4 | PduSessionType::Ipv6 | PduSessionType::Ipv4v6)
    };
    match session.smf.config.branching.iter().find(here) {
        None => Ok(Established { upf: request(session, upf, None, Role::Alone).await?, anchor: None }),
        Some(branching) => {
            let anchor = request(session, upf, None, Role::Anchor).await?;
            let outcome = branch(session, anchor, branching).await;
            if outcome.is_err() {
                let _ = relocation::let_go(session, anchor).await;
            }
            outcome
        }
    }
}

/// The branching point, and then the anchor's way to it.
async fn branch(session: &Session, anchor: UpfSession, branching: &BranchingConfig) -> Result<Established, N4Error> {
    let n4 = &session.smf.n4;
    let generation = n4.generation(branching.via);
    let plan = plan(session, None, Role::Alone);
    let request = branching_point(&plan, (anchor.teid, anchor.address), &branching.local);
    let Message::SessionEstablishmentResponse(answer) = n4.request(branching.via, Some(0), request).await? else {
        return Err(N4Error::Unexpected("another message"));
    };
    if !answer.cause.is_accepted() {
        return Err(N4Error::Refused(answer.cause.0));
    }
    let seid = answer.up_fseid.ok_or(N4Error::Unexpected("no F-SEID"))?.seid;
    let (n3, n9) = branching_tunnels(&answer.created_pdrs).ok_or(N4Error::Unexpected("no F-TEID"))?;
    let upf = UpfSession { upf: branching.via, generation, seid, teid: n3.0, address: n3.1, second: n3.2 };
    match n4.request(anchor.upf, Some(anchor.seid), to_gnb(n9.0, n9.1)).await {
        Ok(Message::SessionModificationResponse(answer)) if answer.cause.is_accepted() => {
            Ok(Established { upf, anchor: Some(anchor) })
        }
        outcome => {
            let _ = relocation::let_go(session, upf).await;
            Err(outcome.err().unwrap_or(N4Error::Unexpected("the anchor does not lead to the branching point")))
        }
    }
}

/// The session as it is, at another UPF.
pub async fn establish_at(session: &Session, upf: SocketAddr) -> Result<UpfSession, N4Error> {
    request(session, upf, None, Role::Elsewhere).await
}

/// The UPF has been associated anew: what it had of the session before is gone.
pub async fn associated_anew(session: &mut Session, upf: SocketAddr) {
    let current = session.smf.n4.generation(upf);
    if session.upf.is_some_and(|at| at.upf == upf && at.generation != current) {
        let _ = restore(session).await;
    }
}

/// Makes the session anew at its UPF, with the same end of N3, so that neither UE nor gNB notice. A session that the UPF
/// refuses is lost.
pub async fn restore(session: &mut Session) -> Result<(), N4Error> {
    let before = session.upf.ok_or(N4Error::NoUpf)?;
    // One that goes through two UPFs is asked for anew.
    if session.anchor.is_some() {
        session.lost = true;
        return Err(N4Error::NoUpf);
    }
    let started = Instant::now();
    // A UPF that has just started is not asked for all sessions at once.
    let smf = session.smf.clone();
    let _turn = smf.restorations.acquire().await;
    // A session that is made while the association is being set up would count as one of before, and be made once more.
    if !smf.n4.is_up(before.upf) {
        smf.n4.associated_after(before.upf, smf.n4.generation(before.upf), REASSOCIATION).await;
    }
    let (supi, id) = (&session.supi, session.id);
    let tunnel = Some((before.teid, before.address));
    let mut outcome = request(session, before.upf, tunnel, Role::Elsewhere).await;
    if matches!(outcome, Err(N4Error::NotAssociated)) {
        smf.n4.associated_after(before.upf, before.generation, REASSOCIATION).await;
        outcome = request(session, before.upf, tunnel, Role::Elsewhere).await;
    }
    match outcome {
        Ok(upf) => {
            session.smf.sessions.locate(session.reference, upf);
            metrics::procedure("user_plane_restoration", "ok", started);
            tracing::info!(%supi, session = id, upf = %upf.upf, "the session is restored at its UPF");
            session.upf = Some(upf);
            Ok(())
        }
        // It will be associated anew, and then the session is restored.
        Err(error @ (N4Error::Silent(_) | N4Error::NoUpf | N4Error::Busy | N4Error::NotAssociated)) => {
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

/// Registers the session's SMF with the UDM, as it changes (Nudm_UECM_Registration): whether it has.
pub async fn register_again(session: &Session) -> bool {
    let registered = crate::procedures::establishment::register(session).await;
    if let Err(problem) = &registered {
        tracing::info!(supi = %session.supi, session = session.id, %problem, "the UDM does not learn of the session's SMF");
    }
    registered.is_ok()
}

/// What a UPF is to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The session begins there.
    Alone,
    /// The session begins there, behind a branching point.
    Anchor,
    /// The session is there already, and comes from another UPF, or from what this one has lost.
    Elsewhere,
}

fn plan<'a>(session: &'a Session, restored: Option<(u32, IpAddr)>, role: Role) -> Plan<'a> {
    let n4 = &session.smf.n4;
    let behind = role == Role::Anchor;
    Plan {
        node: n4.node(),
        cp_address: n4.address(),
        cp_seid: if behind { session.reference | ANCHOR } else { session.reference },
        subject: session.subject(),
        server: session.server,
        qfi: QFI,
        uplink: session.ambr.uplink.bps(),
        downlink: session.ambr.downlink.bps(),
        flows: &session.flows,
        // The branching point sees all that a session uses.
        quota: session.charging.as_ref().and_then(|charging| charging.told.quota).filter(|_| !behind),
        restored,
        audit_s: Some(session.smf.config.audit_s).filter(|seconds| *seconds > 0),
        towards_ue: match (role, session.gnb.filter(|_| session.active)) {
            (_, Some((teid, address))) => Downlink::Gnb(teid, address),
            (Role::Elsewhere, None) => Downlink::Page,
            (_, None) => Downlink::Wait,
        },
    }
}

async fn request(
    session: &Session,
    upf: SocketAddr,
    restored: Option<(u32, IpAddr)>,
    role: Role,
) -> Result<UpfSession, N4Error> {
    let n4 = &session.smf.n4;
    let generation = n4.generation(upf);
    let plan = plan(session, restored, role);
    let Message::SessionEstablishmentResponse(answer) = n4.request(upf, Some(0), establishment(&plan)).await? else {
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
        Some(FTeid::Given { teid, ipv4, ipv6 }) => {
            Some((teid, ipv4.map(IpAddr::V4).or(ipv6.map(IpAddr::V6))?, ipv6.filter(|_| ipv4.is_some())))
        }
        _ => None,
    });
    let same = session.upf.filter(|before| restored == Some((before.teid, before.address)));
    let restored = restored.map(|(teid, address)| (teid, address, same.and_then(|before| before.second)));
    // A UPF need not repeat what it was given.
    let (teid, address, second) = chosen.or(restored).ok_or(N4Error::Unexpected("no F-TEID"))?;
    if restored.is_some_and(|restored| (restored.0, restored.1) != (teid, address)) {
        return Err(N4Error::Unexpected("another F-TEID"));
    }
    Ok(UpfSession { upf, generation, seid, teid, address, second })
}
