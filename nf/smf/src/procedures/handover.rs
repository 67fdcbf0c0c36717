//! N2 handover, the SMF's part (TS 23.502, 4.9.1.3; TS 29.502, 5.2.2.3.4): prepared, carried out, or cancelled.
use crate::metrics;
use crate::n4::{N4Error, forward, forwarding_tunnel, stop_forwarding, switch_to_gnb};
use crate::procedures::transfer::{N2, reference};
use crate::protection::carried_out;
use crate::session::{Session, SessionEvent, Updated};
use bytes::Bytes;
use martlet_ngap::ngap::{Cause as NgapCause, CauseRadioNetwork};
use martlet_ngap::transfer::{
    GtpTunnel, HandoverCommand, HandoverPreparationUnsuccessful, HandoverRequestAcknowledge, HandoverRequired,
    HandoverResourceAllocationUnsuccessful,
};
use martlet_pfcp::Message;
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::nsmf_pdusession::{Cause, HoState, N2SmInfoType, SmContextUpdatedData};
use std::time::{Duration, Instant};

/// How long the UPF forwards what the source gNB sends on, once the UE is at the target. It is the time of a packet
/// through both gNBs, and a margin of a thousand times (TS 23.502, 4.9.1.3.3, step 14: the timer is the network's own).
const FORWARDING: Duration = Duration::from_secs(1);

/// A handover that is being prepared.
#[derive(Debug, Clone, Copy)]
pub struct Handover {
    /// Source and target reach each other without the core.
    direct: bool,
    /// The target's end of N3.
    target: Option<GtpTunnel>,
    started: Instant,
}

/// What the AMF says of the handover; `info` is the N2 information of one of the gNBs.
pub async fn run(session: &mut Session, state: &HoState, info: Option<(N2SmInfoType, Bytes)>) -> Updated {
    match (state, info) {
        (HoState::Preparing, Some((N2SmInfoType::HandoverRequired, octets))) => prepare(session, &octets).await,
        (HoState::Prepared, Some((N2SmInfoType::HandoverReqAck, octets))) => prepared(session, &octets).await,
        (_, Some((N2SmInfoType::HandoverResAllocFail, octets))) => not_admitted(session, &octets).await,
        (HoState::Completed, _) => completed(session).await,
        (HoState::Cancelled, _) => {
            end(session).await;
            metrics::procedure("handover", "cancelled", Instant::now());
            answer(HoState::Cancelled, None)
        }
        (state, info) => {
            let kind = info.map(|(kind, _)| kind.as_str().to_string()).unwrap_or_default();
            Err(Problem::new(403, "N2_SM_ERROR").detail(format!("{} does not go with {kind:?}", state.as_str())))
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

/// What the target gNB is to set up (4.9.1.3.2, steps 4 to 7). What an earlier preparation left ends.
async fn prepare(session: &mut Session, octets: &Bytes) -> Updated {
    let required = HandoverRequired::decode(octets).map_err(wrong)?;
    end(session).await;
    if session.is_releasing() || !session.active {
        return Err(wrong("the session has no user plane at the source"));
    }
    let request = session.setup_request().ok_or_else(|| Problem::system_failure("the session has no user plane"))?;
    session.handover = Some(Handover { direct: required.direct_forwarding, target: None, started: Instant::now() });
    answer(HoState::Preparing, Some((N2SmInfoType::PduResSetupReq, request)))
}

/// The target gNB takes the session: what the source gNB is to forward, and where to (steps 11 and 12).
async fn prepared(session: &mut Session, octets: &Bytes) -> Updated {
    let Some(mut handover) = session.handover else { return Err(wrong("no handover is being prepared")) };
    let acknowledge = HandoverRequestAcknowledge::decode(octets).map_err(wrong)?;
    carried_out(session, acknowledge.security);
    handover.target = Some(acknowledge.downlink);
    session.handover = Some(handover);
    let flows: Vec<u8> = acknowledge.flows.iter().filter(|(_, forwarded)| *forwarded).map(|(qfi, _)| *qfi).collect();
    let forwarding = match acknowledge.forwarding {
        Some(target) if !flows.is_empty() && handover.direct => Some(target),
        Some(target) if !flows.is_empty() => match forward_through_upf(session, target).await {
            Ok(tunnel) => {
                session.forwards = true;
                Some(tunnel)
            }
            // The handover goes on; what is on its way to the source is lost.
            Err(error) => {
                tracing::warn!(supi = %session.supi, session = session.id, %error, "the UPF does not forward");
                None
            }
        },
        _ => None,
    };
    let command = HandoverCommand { flows: forwarding.map(|_| flows).unwrap_or_default(), forwarding };
    let command = command.encode().map_err(|error| Problem::system_failure(error.to_string()))?;
    answer(HoState::Prepared, Some((N2SmInfoType::HandoverCmd, command)))
}

/// A tunnel of the UPF's that leads to the target.
async fn forward_through_upf(session: &Session, target: GtpTunnel) -> Result<GtpTunnel, N4Error> {
    let upf = session.upf.ok_or(N4Error::NoUpf)?;
    let (teid, address) = upf.gnb(&target);
    let request = forward(teid, address);
    match session.smf.n4.request(upf.upf, Some(upf.seid), request).await? {
        Message::SessionModificationResponse(answer) if answer.cause.is_accepted() => {
            let (teid, address) =
                forwarding_tunnel(&answer.created_pdrs).ok_or(N4Error::Unexpected("no tunnel to forward through"))?;
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
        NgapCause::radioNetwork(CauseRadioNetwork::ho_failure_in_target_5GC_ngran_node_or_target_system),
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

/// The UE is at the target: downlink goes there, and the end of what went to the source is marked (4.9.1.3.3, steps 7 to
/// 10). What the source still forwards is carried for a while.
async fn completed(session: &mut Session) -> Updated {
    let Some(Handover { target: Some(target), started, .. }) = session.handover.take() else {
        return Err(wrong("no handover was prepared"));
    };
    let (teid, address) = session.end_of(&target);
    session.gnb = Some((teid, address));
    session.active = true;
    if let Err(error) = session.modify(switch_to_gnb(teid, address)).await {
        metrics::procedure("handover", "failed", started);
        return Err(Problem::new(504, "PEER_NOT_RESPONDING").detail(error.to_string()));
    }
    metrics::procedure("handover", "ok", started);
    if session.forwards {
        let (smf, reference) = (session.smf.clone(), session.reference);
        tokio::spawn(async move {
            tokio::time::sleep(FORWARDING).await;
            if let Some(session) = smf.sessions.get(&reference.to_string()) {
                session.send(SessionEvent::ForwardingOver);
            }
        });
    }
    answer(HoState::Completed, None)
}

/// Nothing has to be forwarded any more, unless the next handover is being prepared already.
pub async fn forwarding_over(session: &mut Session) {
    if session.handover.is_none() {
        end(session).await;
    }
}

/// Lets go of what was prepared.
pub async fn end(session: &mut Session) {
    session.handover = None;
    if !std::mem::take(&mut session.forwards) {
        return;
    }
    let Some(upf) = session.upf else { return };
    let outcome = session.smf.n4.request(upf.upf, Some(upf.seid), stop_forwarding()).await;
    match outcome {
        Ok(Message::SessionModificationResponse(answer)) if answer.cause.is_accepted() => {}
        // A UPF that has been started anew has nothing to forward either.
        outcome => {
            let outcome = outcome.map(|message| message.name());
            tracing::debug!(supi = %session.supi, session = session.id, ?outcome, "the UPF forwarded nothing");
        }
    }
}
