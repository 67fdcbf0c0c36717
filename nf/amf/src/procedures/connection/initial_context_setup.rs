//! Initial context setup (TS 38.413, 8.3.1): the gNB gets the UE's keys and sessions, and the UE
//! the NAS message that goes with them.
use super::ue_context_modification;
use crate::n2::downlink::{self, ContextSetup, SessionToSetUp};
use crate::n2::uplink::{SessionOutcome, Uplink};
use crate::procedures::registration::mobility_restrictions;
use crate::procedures::session::pdu_session_resource_setup;
use crate::procedures::session::user_plane_activation;
use crate::ue::{Protection, Stop, Ue};
use martlet_nas::{Nas5gsMessage, NasCount};
use martlet_ngap::cause;
use std::time::Instant;

/// Sets the UE's context up at the gNB, with these sessions, and has the UE get `accept`. A gNB
/// that has the context already gets the sessions alone.
pub(crate) async fn run(
    ue: &mut Ue,
    access: NasCount,
    sessions: Vec<SessionToSetUp>,
    accept: &Nas5gsMessage,
) -> Result<(), Stop> {
    if ue.connection.as_ref().is_some_and(|connection| connection.context_is_set_up) {
        // The keys of NAS have changed while the gNB has the UE's context.
        let same = |ue: &Ue| {
            let chain = ue.connection.as_ref().and_then(|connection| connection.next_hop.as_ref());
            ue.security.as_ref().zip(chain).is_none_or(|(security, chain)| security.is_of(chain))
        };
        if !same(ue) {
            ue_context_modification::run(ue, access).await?;
        }
        ue.send_nas(accept).await?;
        for session in sessions {
            pdu_session_resource_setup::run(ue, session).await?;
        }
        return Ok(());
    }
    let nas = ue.protect(accept, Protection::AsSecured)?;
    let expected: Vec<u8> = sessions.iter().map(|session| session.psi).collect();
    let (Some(security), Some(capability)) = (&ue.security, &ue.capability) else {
        return Err(Stop::Abandoned("no_security"));
    };
    let chain = security.next_hop(access);
    let Some(connection) = &ue.connection else { return Err(Stop::ConnectionLost) };
    let setup = ContextSetup {
        guami: ue.guami(),
        allowed: &ue.allowed,
        capability,
        k_gnb: security.k_gnb(access),
        ambr: ue.ambr(),
        rfsp: ue.rfsp(),
        restrictions: mobility_restrictions::for_gnb(ue),
        radio_capability: ue.radio_capability.as_ref(),
        sessions,
        nas: Some(nas),
    };
    if !connection.send(downlink::initial_context_setup(connection, setup)).await {
        return Err(Stop::ConnectionLost);
    }
    let until = Instant::now() + ue.amf.config.timers.ngap();
    let answer = ue.next_ngap(until, |message| match message {
        Uplink::ContextSetUp(outcome) => Ok(Ok(outcome)),
        Uplink::ContextNotSetUp { cause, failed } => Ok(Err((cause, failed))),
        other => Err(other),
    });
    match answer.await? {
        Some(Ok(outcome)) => {
            if let Some(connection) = &mut ue.connection {
                connection.context_is_set_up = true;
                connection.next_hop = Some(chain);
            }
            user_plane_activation::report(ue, &expected, outcome).await;
            Ok(())
        }
        Some(Err((why, failed))) => {
            let cause = cause::text(&why);
            tracing::warn!(
                supi = ue.label(),
                gnb = ue.gnb(),
                cause,
                "the gNB does not set the UE's context up"
            );
            user_plane_activation::report(
                ue,
                &expected,
                SessionOutcome { done: Vec::new(), failed },
            )
            .await;
            Err(Stop::Abandoned("context_not_set_up"))
        }
        None => {
            tracing::warn!(
                supi = ue.label(),
                gnb = ue.gnb(),
                "the gNB does not answer to initial context setup"
            );
            user_plane_activation::report(ue, &expected, SessionOutcome::default()).await;
            Err(Stop::Abandoned("gnb_does_not_answer"))
        }
    }
}
