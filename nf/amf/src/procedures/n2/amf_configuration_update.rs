//! AMF configuration update (TS 38.413, 8.7.3): load re-balancing by the relative capacity (TS
//! 23.501, 5.19.3 and 5.19.4). While the AMF is drained its relative capacity is 0, so that gNBs
//! select other AMFs of the set for new UEs. The probe of a gNB is another use, in [`crate::n2`].
//!
//! ```text
//! AMF -> gNBs  AMF CONFIGURATION UPDATE (Relative AMF Capacity)
//! gNBs -> AMF  AMF CONFIGURATION UPDATE ACKNOWLEDGE
//! ```
use crate::Amf;
use crate::n2::{Encoded, downlink};
use martlet_nf::Shutdown;
use std::sync::Arc;

/// Reports each change of the capacity to all gNBs, until the shutdown.
pub(crate) async fn watch(amf: Arc<Amf>, shutdown: Shutdown) {
    let mut draining = amf.context.draining();
    loop {
        tokio::select! {
            changed = draining.changed() => if changed.is_err() { return },
            () = shutdown.wait() => return,
        }
        amf.store_contact(*draining.borrow_and_update());
        let capacity = amf.relative_capacity();
        let message = downlink::relative_capacity(capacity);
        let message = match message.and_then(|message| Encoded::of(&message)) {
            Ok(message) => message,
            Err(error) => {
                tracing::error!(%error, "AMF CONFIGURATION UPDATE not encodable");
                continue;
            }
        };
        let all = amf.gnbs.all();
        let set_up = all.iter().filter(|gnb| gnb.setup().is_some());
        let reported = set_up.filter(|gnb| gnb.try_send(&message)).count();
        tracing::info!(capacity, gnbs = reported, "relative capacity changed");
    }
}
