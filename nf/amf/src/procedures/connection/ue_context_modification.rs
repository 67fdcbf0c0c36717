//! UE context modification (TS 38.413, 8.3.4): a new K_gNB after a change of the NAS keys (TS
//! 33.501, 6.9.4.1).
//!
//! ```text
//! AMF -> gNB  UE CONTEXT MODIFICATION REQUEST (Security Key)
//! gNB -> AMF  UE CONTEXT MODIFICATION RESPONSE or FAILURE
//! ```
use crate::metrics::Procedure;
use crate::n2::downlink;
use crate::n2::uplink::Uplink;
use crate::ue::{Stop, Ue};
use martlet_nas::NasCount;
use martlet_ngap::cause;
use std::time::Instant;

/// Gives the gNB the K_gNB that derives from `access`, the uplink NAS COUNT.
pub(crate) async fn run(ue: &mut Ue, access: NasCount) -> Result<(), Stop> {
    let procedure = Procedure::start("ue_context_modification");
    let (Some(security), Some(capability)) = (&ue.security, &ue.capabilities.security) else {
        return Err(Stop::Abandoned("no_security"));
    };
    let (k_gnb, chain) = (security.k_gnb(access), security.next_hop(access));
    let Some(connection) = &ue.connection else { return Err(Stop::ConnectionLost) };
    if !connection.send(downlink::ue_context_modification(connection, k_gnb, capability)).await {
        return Err(Stop::ConnectionLost);
    }
    let until = Instant::now() + ue.amf.config.timers.ngap();
    let answer = ue.next_ngap(until, |message| match message {
        Uplink::ContextModified => Ok(None),
        Uplink::ContextNotModified(cause) => Ok(Some(cause)),
        other => Err(other),
    });
    match answer.await? {
        Some(None) => {
            if let Some(connection) = &mut ue.connection {
                connection.next_hop = Some(chain);
            }
            procedure.succeeded();
            Ok(())
        }
        refused => {
            let cause = refused.flatten().as_ref().map(cause::text);
            tracing::warn!(
                supi = ue.label(),
                gnb = ue.gnb(),
                cause,
                "UE context modification failed at the gNB"
            );
            procedure.failed("not_modified");
            Err(Stop::Abandoned("context_not_modified"))
        }
    }
}
