//! N2 handover, the SMF's part (TS 23.502, 4.9.1.3; TS 29.502, 5.2.2.3.4): prepared, carried out,
//! or cancelled.
use crate::metrics;
use crate::n4::{N4Error, forward, forwarding_tunnel, stop_forwarding};
use crate::procedures::branching::anchor_relocation;
use crate::procedures::branching::intermediate_upf::{self, Way};
use crate::procedures::n1_n2_transfer::{N2, reference};
use crate::protection::carried_out;
use crate::session::{Session, Updated, UpfSession};
use bytes::Bytes;
use martlet_ngap::ngap::{Cause as NgapCause, CauseRadioNetwork};
use martlet_ngap::transfer::{
    GtpTunnel, HandoverCommand, HandoverPreparationUnsuccessful, HandoverRequestAcknowledge,
    HandoverRequired, HandoverResourceAllocationUnsuccessful,
};
use martlet_pfcp::Message;
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::nsmf_pdusession::{Cause, HoState, N2SmInfoType, SmContextUpdatedData};
use std::time::Instant;

/// A handover that is being prepared.
#[derive(Debug, Clone, Copy)]
pub struct Handover {
    /// Source and target reach each other without the core.
    direct: bool,
    /// The target's end of N3.
    target: Option<GtpTunnel>,
    /// How the session is led there.
    way: Way,
    started: Instant,
}

/// What the AMF says of the handover; `info` is the N2 information of one of the gNBs.
/// `target` is the tracking area where the UE is to come.
pub async fn run(
    session: &mut Session,
    state: &HoState,
    info: Option<(N2SmInfoType, Bytes)>,
    target: Option<u32>,
) -> Updated {
    match (state, info) {
        (HoState::Preparing, Some((N2SmInfoType::HandoverRequired, octets))) => {
            prepare(session, &octets, target).await
        }
        (HoState::Prepared, Some((N2SmInfoType::HandoverReqAck, octets))) => {
            prepared(session, &octets).await
        }
        (_, Some((N2SmInfoType::HandoverResAllocFail, octets))) => {
            not_admitted(session, &octets).await
        }
        (HoState::Completed, _) => completed(session).await,
        (HoState::Cancelled, _) => {
            end(session).await;
            metrics::procedure("handover", "cancelled", Instant::now());
            answer(HoState::Cancelled, None)
        }
        (state, info) => {
            let kind = info.map(|(kind, _)| kind.as_str().to_string()).unwrap_or_default();
            Err(Problem::new(403, "N2_SM_ERROR")
                .detail(format!("{} does not go with {kind:?}", state.as_str())))
        }
    }
}

fn answer(state: HoState, info: Option<(N2SmInfoType, Vec<u8>)>) -> Updated {
    let mut data = SmContextUpdatedData { ho_state: Some(state), ..Default::default() };
    let Some((kind, octets)) = info else { return Ok(Some(Multipart::new(data))) };
    (data.n2_sm_info, data.n2_sm_info_type) = (Some(reference(N2)), Some(kind));
    Ok(Some(Multipart::new(data).part(N2, content_type::NGAP, octets)))
}

fn wrong(error: impl std::fmt::Display) -> Problem {
    Problem::new(403, "N2_SM_ERROR").detail(error.to_string())
}

/// What the target gNB is to set up (4.9.1.3.2, steps 4 to 7). What an earlier preparation left
/// ends.
async fn prepare(session: &mut Session, octets: &Bytes, tac: Option<u32>) -> Updated {
    let required = HandoverRequired::decode(octets).map_err(wrong)?;
    end(session).await;
    if session.is_releasing() || !session.active {
        return Err(wrong("the session has no user plane at the source"));
    }
    let way = intermediate_upf::prepare(session, tac.or(session.tac)).await.map_err(|error| {
        metrics::procedure("handover", "no upf", Instant::now());
        Problem::new(500, "INSUFFICIENT_RESOURCES")
            .detail(format!("no UPF leads to the target: {error}"))
    })?;
    let request = way.end(session).and_then(|upf| session.setup_request_to(upf));
    let Some(request) = request else {
        way.give_up(session).await;
        return Err(Problem::system_failure("the session has no user plane"));
    };
    let direct = required.direct_forwarding;
    session.handover = Some(Handover { direct, target: None, way, started: Instant::now() });
    answer(HoState::Preparing, Some((N2SmInfoType::PduResSetupReq, request)))
}

/// The target gNB takes the session: what the source gNB is to forward, and where to (steps 11 and
/// 12).
async fn prepared(session: &mut Session, octets: &Bytes) -> Updated {
    let Some(mut handover) = session.handover else {
        return Err(wrong("no handover is being prepared"));
    };
    let acknowledge = HandoverRequestAcknowledge::decode(octets).map_err(wrong)?;
    carried_out(session, acknowledge.security);
    handover.target = Some(acknowledge.downlink);
    session.handover = Some(handover);
    let flows: Vec<u8> =
        acknowledge.flows.iter().filter(|(_, forwarded)| *forwarded).map(|(qfi, _)| *qfi).collect();
    let forwarding = match acknowledge.forwarding {
        Some(target) if !flows.is_empty() && handover.direct => Some(target),
        Some(target) if !flows.is_empty() => {
            match forward_through_upfs(session, target, handover.way).await {
                Ok(tunnel) => Some(tunnel),
                // The handover goes on; what is on its way to the source is lost.
                Err(error) => {
                    tracing::warn!(supi = %session.supi, session = session.id, %error, "the UPF does not forward");
                    None
                }
            }
        }
        _ => None,
    };
    let command =
        HandoverCommand { flows: forwarding.map(|_| flows).unwrap_or_default(), forwarding };
    let command = command.encode().map_err(|error| Problem::system_failure(error.to_string()))?;
    answer(HoState::Prepared, Some((N2SmInfoType::HandoverCmd, command)))
}

/// A tunnel that leads to the target: of the UPF that reaches it, and before that of the one that
/// the source reaches, if it is another.
async fn forward_through_upfs(
    session: &mut Session,
    target: GtpTunnel,
    way: Way,
) -> Result<GtpTunnel, N4Error> {
    let (source, end) =
        (session.upf.ok_or(N4Error::NoUpf)?, way.end(session).ok_or(N4Error::NoUpf)?);
    let mut tunnel = forward_through(session, end, target).await?;
    if source != end {
        tunnel = forward_through(session, source, tunnel).await?;
    }
    Ok(tunnel)
}

async fn forward_through(
    session: &mut Session,
    upf: UpfSession,
    target: GtpTunnel,
) -> Result<GtpTunnel, N4Error> {
    let (teid, address) = upf.gnb(&target);
    let request = forward(teid, address);
    match session.smf.n4.request(upf.upf, Some(upf.seid), request).await? {
        Message::SessionModificationResponse(answer) if answer.cause.is_accepted() => {
            session.forwards.push(upf);
            let (teid, address) = forwarding_tunnel(&answer.created_pdrs)
                .ok_or(N4Error::Unexpected("no tunnel to forward through"))?;
            Ok(GtpTunnel::new(address, teid))
        }
        Message::SessionModificationResponse(answer) => Err(N4Error::Refused(answer.cause.0)),
        other => Err(N4Error::Unexpected(other.name())),
    }
}

/// The target gNB does not take the session.
async fn not_admitted(session: &mut Session, octets: &Bytes) -> Updated {
    let unsuccessful = HandoverResourceAllocationUnsuccessful::decode(octets);
    let cause = unsuccessful.map_or(
        NgapCause::radioNetwork(
            CauseRadioNetwork::ho_failure_in_target_5GC_ngran_node_or_target_system,
        ),
        |unsuccessful| unsuccessful.cause,
    );
    end(session).await;
    metrics::procedure("handover", "not admitted", Instant::now());
    let failure = HandoverPreparationUnsuccessful { cause }.encode();
    let failure = failure.map_err(|error| Problem::system_failure(error.to_string()))?;
    let data = SmContextUpdatedData {
        ho_state: Some(HoState::None),
        cause: Some(Cause::HoFailure),
        n2_sm_info: Some(reference(N2)),
        n2_sm_info_type: Some(N2SmInfoType::HandoverPrepFail),
        ..Default::default()
    };
    Ok(Some(Multipart::new(data).part(N2, content_type::NGAP, failure)))
}

/// The UE is at the target: downlink goes there, and the end of what went to the source is marked
/// (4.9.1.3.3, steps 7 to 10). What the source still forwards is carried for a while.
async fn completed(session: &mut Session) -> Updated {
    let Some(Handover { target: Some(target), started, way, .. }) = session.handover.take() else {
        return Err(wrong("no handover was prepared"));
    };
    let (teid, address) =
        way.end(session).map_or((target.teid, target.address), |upf| upf.gnb(&target));
    session.gnb = Some((teid, address));
    session.active = true;
    if let Err(error) = intermediate_upf::take(session, way, (teid, address)).await {
        metrics::procedure("handover", "failed", started);
        return Err(Problem::new(504, "PEER_NOT_RESPONDING").detail(error.to_string()));
    }
    metrics::procedure("handover", "ok", started);
    intermediate_upf::linger(session);
    answer(HoState::Completed, None)
}

/// Nothing has to be forwarded any more, unless the next handover is being prepared already.
pub async fn forwarding_over(session: &mut Session) {
    if session.handover.is_none() {
        end(session).await;
    }
}

/// Lets go of what was prepared, and of what was left behind.
pub async fn end(session: &mut Session) {
    if let Some(handover) = session.handover.take() {
        handover.way.give_up(session).await;
    }
    let left = std::mem::take(&mut session.left);
    for at in std::mem::take(&mut session.forwards) {
        let place = session.place();
        if left.contains(&at) || !place.is_some_and(|place| place.all().any(|(_, here)| here == at))
        {
            continue;
        }
        match session.smf.n4.request(at.upf, Some(at.seid), stop_forwarding()).await {
            Ok(Message::SessionModificationResponse(answer)) if answer.cause.is_accepted() => {}
            // A UPF that has been started anew has nothing to forward either.
            outcome => {
                let outcome = outcome.map(|message| message.name());
                tracing::debug!(supi = %session.supi, session = session.id, ?outcome, "the UPF forwarded nothing");
            }
        }
    }
    for at in left {
        if let Err(error) = anchor_relocation::let_go(session, at).await {
            tracing::warn!(supi = %session.supi, session = session.id, %error, "an intermediate UPF may still have the session");
        }
    }
}
