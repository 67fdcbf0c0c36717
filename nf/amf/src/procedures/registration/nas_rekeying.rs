//! NAS re-keying (TS 24.501, 4.4.3.5; TS 33.501, 6.9.4.2): a connected UE whose NAS COUNT nears its
//! end is authenticated again.
//!
//! ```text
//! AMF <-> UE  authentication, security mode control
//! AMF -> gNB  UE CONTEXT MODIFICATION REQUEST (new K_gNB)
//! ```
use super::{authentication, security_mode_control};
use crate::metrics::Procedure;
use crate::procedures::connection::{ue_context_modification, ue_context_release};
use crate::ue::{Stop, Ue};
use martlet_nas::{Direction, KeySetIdentifier, NasConnection};
use martlet_ngap::ngap::{Cause, CauseNas};

/// Whether a NAS COUNT has reached `amf.security.rekey_at_count`.
pub(crate) fn is_due(ue: &Ue) -> bool {
    let Some(security) = &ue.security else { return false };
    let connected = ue.connection.as_ref().is_some_and(|connection| connection.context_is_set_up);
    let max = ue.amf.config.security.rekey_at_count;
    // No next value: the COUNT is exhausted.
    let far = |direction| {
        security.nas.nas_count(direction, NasConnection::ThreeGpp).is_none_or(|c| c.get() >= max)
    };
    connected
        && ue.is_registered()
        && ue.is_exchange_secure()
        && (far(Direction::Uplink) || far(Direction::Downlink))
}

/// Changes the keys of UE and gNB. If that fails, the connection is released, and a UE that is not
/// authentic is rejected.
pub(crate) async fn run(ue: &mut Ue) {
    let procedure = Procedure::start("rekeying");
    match keys(ue).await {
        Ok(()) => {
            procedure.succeeded();
            tracing::info!(supi = ue.label(), gnb = ue.gnb(), "NAS keys changed");
        }
        Err(stop) => {
            let why = stop.label();
            procedure.failed(&why);
            tracing::warn!(supi = ue.label(), gnb = ue.gnb(), why, "NAS re-keying failed");
            match stop {
                // Its answers were protected with the keys that it has.
                Stop::NotAuthentic(eap_failure) => authentication::reject(ue, eap_failure).await,
                Stop::Preempted(_) | Stop::ConnectionLost => ue.handle_stop(stop).await,
                _ => {
                    ue.deactivate_all(None).await;
                    ue_context_release::run(ue, Cause::nas(CauseNas::authentication_failure));
                }
            }
        }
    }
}

async fn keys(ue: &mut Ue) -> Result<(), Stop> {
    let Some(ngksi) = ue.security.as_ref().map(|security| security.ngksi) else { return Ok(()) };
    let keys = authentication::run(ue, KeySetIdentifier::Native(ngksi)).await?;
    let complete = security_mode_control::run(ue, keys, false, false).await?;
    ue_context_modification::run(ue, complete.count).await
}
