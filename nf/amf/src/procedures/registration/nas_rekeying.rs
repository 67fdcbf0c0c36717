//! New keys for a UE whose NAS COUNTs are near their end (TS 24.501, 4.4.3.5; TS 33.501, 6.9.4.2):
//! it is authenticated while it is connected, and NAS and the gNB take the new keys into use.
use super::{authentication, security_mode_control};
use crate::metrics::Procedure;
use crate::procedures::connection::{ue_context_modification, ue_context_release};
use crate::ue::{Stop, Ue};
use martlet_nas::{Direction, KeySetIdentifier, NasConnection};
use martlet_ngap::ngap::{Cause, CauseNas};

/// Whether one of the COUNTs has come as far as the configuration lets it.
pub(crate) fn is_due(ue: &Ue) -> bool {
    let Some(security) = &ue.security else { return false };
    let connected = ue.connection.as_ref().is_some_and(|connection| connection.context_is_set_up);
    let most = ue.amf.config.security.rekey_at_count;
    // One that has no next value is at its end.
    let far = |direction| {
        security.nas.nas_count(direction, NasConnection::ThreeGpp).is_none_or(|c| c.get() >= most)
    };
    connected && ue.registered && ue.secured && (far(Direction::Uplink) || far(Direction::Downlink))
}

/// Gives UE and gNB new keys. A UE that does not take part loses its connection.
pub(crate) async fn run(ue: &mut Ue) {
    let procedure = Procedure::start("rekeying");
    match keys(ue).await {
        Ok(()) => {
            procedure.succeeded();
            tracing::info!(supi = ue.label(), gnb = ue.gnb(), "the UE has new keys");
        }
        Err(stop) => {
            let why = stop.label();
            procedure.failed(&why);
            tracing::warn!(supi = ue.label(), gnb = ue.gnb(), why, "the UE did not get new keys");
            if !matches!(stop, Stop::Preempted(_) | Stop::ConnectionLost) {
                ue.deactivate_all(None).await;
                ue_context_release::run(ue, Cause::nas(CauseNas::authentication_failure));
            }
            ue.conclude(stop).await;
        }
    }
}

async fn keys(ue: &mut Ue) -> Result<(), Stop> {
    let Some(ngksi) = ue.security.as_ref().map(|security| security.ngksi) else { return Ok(()) };
    let keys = authentication::run(ue, KeySetIdentifier::Native(ngksi)).await?;
    let complete = security_mode_control::run(ue, keys, false, false).await?;
    ue_context_modification::run(ue, complete.count).await
}
