//! PDU sessions (TS 24.501, 6.4).
use super::super::bench::Bench;
use super::super::case::{Behaviour, Case, Unmet, failed, require};
use crate::UeError;
use crate::UeEvent;
use crate::gnb::Ue;
use crate::ue::{Event, PduSessionRequest, SessionCause};
use martlet_nas::{
    Nas5gsMessage, NasIntegrityProtectionMaximumDataRate, NasPayloadContainer,
    NasPayloadContainerType, NasPduSessionEstablishmentRequest, NasPduSessionIdentity2,
    NasPduSessionReleaseRequest, NasUlNasTransport, PayloadContainerKind,
};
use std::time::Duration;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "session-ipv4",
        behaviour: Behaviour::Valid,
        stimulus: "PDU SESSION ESTABLISHMENT REQUEST, IPv4",
        expected: "PDU SESSION ESTABLISHMENT ACCEPT with an address, a default QoS rule and the \
                   session AMBR",
        clause: "TS 24.501, 6.4.1.3 and 8.3.2",
        run: |bench| Box::pin(ipv4(bench)),
    },
    Case {
        name: "session-data",
        behaviour: Behaviour::Valid,
        stimulus: "an ICMP echo request through a session",
        expected: "its reply",
        clause: "TS 23.502, 4.3.2.2.1",
        run: |bench| Box::pin(data(bench)),
    },
    Case {
        name: "two-sessions",
        behaviour: Behaviour::Valid,
        stimulus: "two sessions of one UE with the same data network",
        expected: "both are established, with different addresses",
        clause: "TS 23.501, 5.6.1",
        run: |bench| Box::pin(two(bench)),
    },
    Case {
        name: "session-release",
        behaviour: Behaviour::Valid,
        stimulus: "PDU SESSION RELEASE REQUEST, then another establishment",
        expected: "PDU SESSION RELEASE COMMAND, then PDU SESSION ESTABLISHMENT ACCEPT",
        clause: "TS 24.501, 6.4.3.3",
        run: |bench| Box::pin(release(bench)),
    },
    Case {
        name: "session-unknown-dnn",
        behaviour: Behaviour::Invalid,
        stimulus: "PDU SESSION ESTABLISHMENT REQUEST for a data network that does not exist",
        expected: "5GMM cause #90 or #91, or PDU SESSION ESTABLISHMENT REJECT",
        clause: "TS 24.501, 5.4.5.2.5 and 6.4.1.4",
        run: |bench| Box::pin(unknown_dnn(bench)),
    },
    Case {
        name: "session-unassigned-pti",
        behaviour: Behaviour::Invalid,
        stimulus: "PDU SESSION ESTABLISHMENT REQUEST with PTI 0",
        expected: "no session: a reject, a status, or silence; the next request is accepted",
        clause: "TS 24.501, 7.3.1",
        run: |bench| Box::pin(unassigned_pti(bench)),
    },
    Case {
        name: "session-release-of-unknown-session",
        behaviour: Behaviour::Invalid,
        stimulus: "PDU SESSION RELEASE REQUEST for a session that does not exist",
        expected: "the message returned with 5GMM cause #90, PDU SESSION RELEASE REJECT #43 or \
                   5GSM STATUS #43",
        clause: "TS 24.501, 5.4.5.2.5, 6.4.3.6 and 7.3.2",
        run: |bench| Box::pin(release_of_unknown(bench)),
    },
    Case {
        name: "session-unknown-message-type",
        behaviour: Behaviour::Invalid,
        stimulus: "a 5GSM message of an unknown type for an active session",
        expected: "5GSM STATUS #97 or silence; the session stays",
        clause: "TS 24.501, 7.4",
        run: |bench| Box::pin(unknown_message_type(bench)),
    },
];

async fn ipv4(bench: &Bench) -> Result<(), Unmet> {
    let (ue, session) = bench.with_session().await?;
    require(session.ipv4.is_some(), || "no IPv4 address".into())?;
    require(!session.rules.is_empty(), || "no QoS rule".into())?;
    require(session.default_qfi.is_some(), || "no default QoS rule".into())?;
    require(session.ambr_kbps.is_some(), || "no session AMBR".into())?;
    ue.deregister().await?;
    Ok(())
}

async fn data(bench: &Bench) -> Result<(), Unmet> {
    let (ue, session) = bench.with_session().await?;
    bench.ping(&ue, &session).await?;
    ue.deregister().await?;
    Ok(())
}

async fn two(bench: &Bench) -> Result<(), Unmet> {
    let (ue, first) = bench.with_session().await?;
    let second = ue.establish_pdu_session(bench.session()).await?;
    require(first.ipv4 != second.ipv4, || format!("{:?} twice", first.ipv4))?;
    ue.deregister().await?;
    Ok(())
}

async fn release(bench: &Bench) -> Result<(), Unmet> {
    let (ue, session) = bench.with_session().await?;
    ue.release_pdu_session(session.psi).await?;
    ue.establish_pdu_session(bench.session()).await?;
    ue.deregister().await?;
    Ok(())
}

async fn unknown_dnn(bench: &Bench) -> Result<(), Unmet> {
    let ue = bench.registered().await?;
    let request = PduSessionRequest { dnn: Some("no-such-network".into()), ..bench.session() };
    match ue.establish_pdu_session(request).await {
        Err(UeError::Session(SessionCause::Sm(_) | SessionCause::Mm(90 | 91))) => {}
        Err(error) => return failed(error.to_string()),
        Ok(_) => return failed("PDU SESSION ESTABLISHMENT ACCEPT"),
    }
    ue.deregister().await?;
    Ok(())
}

async fn unassigned_pti(bench: &Bench) -> Result<(), Unmet> {
    let ue = bench.registered().await?;
    let rate = NasIntegrityProtectionMaximumDataRate::new(0xffff);
    let request = NasPduSessionEstablishmentRequest::new(rate);
    ue.send_session_message(14, Nas5gsMessage::new_5gsm(request, 14, 0)).await?;
    tokio::time::sleep(bench.config().silence).await;
    let session = ue.establish_pdu_session(bench.session()).await?;
    let active = ue.status().await?.active_user_planes;
    require(active == [session.psi], || format!("user planes of the sessions {active:?}"))?;
    ue.deregister().await?;
    Ok(())
}

/// The next event that a check recognises.
async fn event<T>(
    events: &mut tokio::sync::broadcast::Receiver<UeEvent>,
    limit: Duration,
    mut check: impl FnMut(Event) -> Option<T>,
) -> Option<T> {
    let found = async {
        loop {
            match events.recv().await {
                Ok(UeEvent::Nas(event)) => {
                    if let Some(found) = check(event) {
                        return Some(found);
                    }
                }
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    };
    tokio::time::timeout(limit, found).await.ok().flatten()
}

async fn release_of_unknown(bench: &Bench) -> Result<(), Unmet> {
    let ue = bench.registered().await?;
    let mut events = ue.subscribe().await?;
    let request = NasPduSessionReleaseRequest::new();
    ue.send_session_message(13, Nas5gsMessage::new_5gsm(request, 13, 77)).await?;
    let answer = event(&mut events, Duration::from_secs(5), |event| match event {
        Event::SessionReleaseRejected { cause, .. }
        | Event::SessionRejected { cause, .. }
        | Event::SessionReleased { cause, .. } => Some(cause.to_string()),
        Event::Status { cause, .. } => Some(format!("status #{cause}")),
        Event::Discarded(what) => Some(what),
        _ => None,
    });
    require(answer.await.is_some(), || "no answer".into())?;
    expect_works(bench, &ue).await
}

async fn expect_works(bench: &Bench, ue: &Ue) -> Result<(), Unmet> {
    ue.establish_pdu_session(bench.session()).await?;
    ue.deregister().await?;
    Ok(())
}

async fn unknown_message_type(bench: &Bench) -> Result<(), Unmet> {
    let (ue, session) = bench.with_session().await?;
    let mut events = ue.subscribe().await?;
    let kind = NasPayloadContainerType::from_kind(PayloadContainerKind::N1SmInformation);
    let payload = NasPayloadContainer::new(vec![0x2e, session.psi, 1, 0xfe]);
    let transport = NasUlNasTransport::new(kind, payload)
        .with_pdu_session_id(NasPduSessionIdentity2::from_pdu_session_id(session.psi));
    ue.send_nas(Nas5gsMessage::new_5gmm(transport)).await?;
    let answer = event(&mut events, bench.config().silence, |event| match event {
        Event::Status { cause, .. } => Some(cause),
        Event::SessionReleased { .. } => Some(0),
        _ => None,
    });
    let answer = answer.await;
    require(matches!(answer, None | Some(97 | 111 | 95 | 96)), || {
        format!("5GSM cause #{}", answer.unwrap_or_default())
    })?;
    let sessions = ue.status().await?.sessions;
    require(sessions.iter().any(|it| it.psi == session.psi), || "the session is gone".into())?;
    ue.deregister().await?;
    Ok(())
}
