//! The session at its UPF (TS 23.502, 4.4.1): made, and made anew where the UPF has lost it (TS 23.527, 4.3.2).
use crate::metrics;
use crate::n4::{Downlink, N4Error, Plan, establishment};
use crate::session::{QFI, Session, UpfSession};
use martlet_pfcp::Message;
use martlet_pfcp::ie::{Cause, FTeid};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// How long a session waits for the association with a UPF that has started anew.
const REASSOCIATION: Duration = Duration::from_secs(1);

/// N4 session establishment at the UPF that leads to the data network.
pub async fn establish(session: &Session) -> Result<UpfSession, N4Error> {
    let upf = session.smf.n4.choose(&session.dnn)?;
    request(session, upf, None).await
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
    let mut outcome = request(session, before.upf, tunnel).await;
    if matches!(outcome, Err(N4Error::NotAssociated)) {
        smf.n4.associated_after(before.upf, before.generation, REASSOCIATION).await;
        outcome = request(session, before.upf, tunnel).await;
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

async fn request(session: &Session, upf: SocketAddr, restored: Option<(u32, IpAddr)>) -> Result<UpfSession, N4Error> {
    let n4 = &session.smf.n4;
    let generation = n4.generation(upf);
    let plan = Plan {
        node: n4.node(),
        cp_address: n4.address(),
        cp_seid: session.reference,
        ue: session.addresses,
        dnn: &session.dnn,
        qfi: QFI,
        uplink: session.ambr.uplink.bps(),
        downlink: session.ambr.downlink.bps(),
        flows: &session.flows,
        restored,
        audit_s: Some(session.smf.config.audit_s).filter(|seconds| *seconds > 0),
        towards_ue: match (restored, session.gnb.filter(|_| session.active)) {
            (_, Some((teid, address))) => Downlink::Gnb(teid, address),
            (Some(_), None) => Downlink::Page,
            (None, None) => Downlink::Wait,
        },
    };
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
        Some(FTeid::Given { teid, ipv4, ipv6 }) => Some((teid, ipv4.map(IpAddr::V4).or(ipv6.map(IpAddr::V6))?)),
        _ => None,
    });
    // A UPF need not repeat what it was given.
    let (teid, address) = chosen.or(restored).ok_or(N4Error::Unexpected("no F-TEID"))?;
    if restored.is_some_and(|restored| restored != (teid, address)) {
        return Err(N4Error::Unexpected("another F-TEID"));
    }
    Ok(UpfSession { upf, generation, seid, teid, address })
}
