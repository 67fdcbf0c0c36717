//! Initial context setup (TS 38.413, 8.3.1).
//!
//! ```text
//! AMF -> gNB  INITIAL CONTEXT SETUP REQUEST (K_gNB, sessions, NAS-PDU)
//! gNB -> AMF  INITIAL CONTEXT SETUP RESPONSE or FAILURE
//! ```
use super::{rrc_inactive, ue_context_modification};
use crate::n2::downlink::{self, ContextSetup, SessionToSetUp};
use crate::n2::uplink::{SessionOutcome, Uplink};
use crate::procedures::registration::mobility_restrictions;
use crate::procedures::session::pdu_session_resource_setup;
use crate::procedures::session::user_plane_activation;
use crate::ue::{Protection, Stop, Ue};
use martlet_nas::{Nas5gsMessage, NasCount};
use martlet_ngap::cause;
use std::time::Instant;

/// Sets up the UE context and sessions at the gNB and delivers `accept` to the UE. If the gNB has
/// the context already, only the sessions are set up.
pub(crate) async fn run(
    ue: &mut Ue,
    access: NasCount,
    sessions: Vec<SessionToSetUp>,
    accept: &Nas5gsMessage,
) -> Result<(), Stop> {
    if ue.connection.as_ref().is_some_and(|connection| connection.context_is_set_up) {
        // The NAS keys have changed since the context was set up.
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
    let (Some(security), Some(capability)) = (&ue.security, &ue.capabilities.security) else {
        return Err(Stop::Abandoned("no_security"));
    };
    let chain = security.next_hop(access);
    let assistance = rrc_inactive::assistance(ue);
    let Some(connection) = &ue.connection else { return Err(Stop::ConnectionLost) };
    let setup = ContextSetup {
        guami: ue.guami(),
        allowed: &ue.registration.allowed,
        capability,
        k_gnb: security.k_gnb(access),
        ambr: ue.ambr(),
        rfsp: ue.rfsp(),
        assistance: assistance.as_ref(),
        restrictions: mobility_restrictions::for_gnb(ue),
        radio_capability: ue.capabilities.radio.as_ref(),
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
                connection.assistance = assistance.map(Box::new);
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
                "initial context setup failed at the gNB"
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
            if let Some(suppressed) =
                martlet_log_limit::line("initial_context_setup", ue.gnb_address())
            {
                tracing::warn!(
                    supi = ue.label(),
                    gnb = ue.gnb(),
                    suppressed,
                    "initial context setup: no response from the gNB"
                );
            }
            user_plane_activation::report(ue, &expected, SessionOutcome::default()).await;
            Err(Stop::Abandoned("gnb_no_response"))
        }
    }
}
