//! AMF load re-balancing (TS 23.501, 5.19.4): a registered UE moves to another AMF of the set. The
//! AMF's side is in `source.rs`, the other AMF's in `target.rs`;
//! [`rebalancing`](crate::rebalancing) determines which UEs move.
//!
//! ```text
//! AMF -> context store    the UE is offered to the other AMF
//! AMF <-> UE              CONFIGURATION UPDATE with a 5G-GUTI of the other AMF
//! AMF -> gNB              UE CONTEXT RELEASE COMMAND
//! other AMF               reads the offer, or receives the UE's next message
//! other AMF -> AMF        UEContextTransfer
//! AMF -> context store    the context as it is now
//! other AMF               stores the context as its own
//! other AMF -> AMF        RegistrationStatusUpdate (TRANSFERRED): the AMF drops the context
//! AMF -> other AMF        transfers that wait for the UE
//! other AMF -> SMFs, PCF, UDM  the new serving AMF
//! ```
//!
//! The UE's task at the AMF transfers the context once. The other AMF acts on it only when the AMF
//! has dropped it. The 5G-GUTI is of the other AMF, so that gNBs send the UE's messages there.
use crate::{Amf, rebalancing};
use martlet_nf::Shutdown;
use std::sync::Arc;
use std::time::Duration;

mod source;
mod target;
pub(crate) use source::{before_transfer, moved, of_ue, prepare, released};
pub(crate) use target::{by_ue, taking};

/// Time for the store to write an offer or a context.
const WRITE_LIMIT: Duration = Duration::from_millis(500);

/// Interval between two reads of the members' loads and offers.
const INTERVAL: Duration = Duration::from_secs(1);
/// The same while UEs are moved.
const BUSY_INTERVAL: Duration = Duration::from_millis(200);

/// Why a UE was not moved to another AMF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
enum NotMoved {
    /// AMF: the new 5G-TMSI makes no 5G-GUTI of the other AMF.
    #[error("no 5G-GUTI of the other AMF can be encoded")]
    NotEncodable,
    /// Both: the context store did not write in time, or has no such context.
    #[error("the context is not in the context store")]
    NotStored,
    /// AMF: the UE did not confirm the new 5G-GUTI. Other AMF: the AMF did not confirm that it
    /// dropped the context.
    #[error("the move was not confirmed")]
    NotConfirmed,
    /// Other AMF: the message that asks for the context is not the UE's.
    #[error("the UE's message has no valid MAC")]
    NotVerified,
    /// Other AMF: the NRF does not have the AMF that offers the UE.
    #[error("the AMF that offers the UE was not found")]
    AmfUnknown,
    /// Other AMF: the AMF refused the context, or did not answer.
    #[error("the AMF did not transfer the context")]
    NotGiven,
    /// Other AMF: the AMF does not offer the UE any more.
    #[error("the offer was withdrawn")]
    Withdrawn,
    /// Other AMF: the stored context is of another version.
    #[error("the stored context does not decode")]
    NotReadable,
    /// Other AMF: the stored context has another 5G-GUTI than the offer.
    #[error("the stored context has another 5G-GUTI")]
    OtherGuti,
    /// Other AMF: the stored context does not fit this AMF's configuration.
    #[error("the stored context cannot be restored")]
    NotRestorable,
}

impl NotMoved {
    /// The label of the metric of procedures.
    fn label(self) -> &'static str {
        match self {
            NotMoved::NotEncodable => "not_encodable",
            NotMoved::NotStored => "not_stored",
            NotMoved::NotConfirmed => "not_confirmed",
            NotMoved::NotVerified => "not_verified",
            NotMoved::AmfUnknown => "amf_unknown",
            NotMoved::NotGiven => "not_given",
            NotMoved::Withdrawn => "withdrawn",
            NotMoved::NotReadable => "not_readable",
            NotMoved::OtherGuti => "other_guti",
            NotMoved::NotRestorable => "not_restorable",
        }
    }
}

/// Stores the load, takes offered UEs and moves UEs, until the shutdown.
pub(crate) async fn watch(amf: Arc<Amf>, shutdown: Shutdown) {
    let mut interval = INTERVAL;
    loop {
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            () = amf.rebalancing.begun.notified() => {}
            () = shutdown.wait() => return,
        }
        interval = INTERVAL;
        if !amf.contexts.has_other_members() {
            amf.rebalancing.end();
            continue;
        }
        if amf.contexts.overdue().is_some() {
            continue;
        }
        amf.store_load();
        let Some(members) = amf.other_members().await else { continue };
        let has_taken = target::take_offers(&amf, &members);
        rebalancing::review(&amf, &members).await;
        let is_running = rebalancing::advance(&amf);
        if !is_running {
            rebalancing::begin_if_due(&amf, &members).await;
        }
        if is_running || has_taken {
            interval = BUSY_INTERVAL;
        }
    }
}

/// Whether the context store has written all changes in time.
async fn flushed(amf: &Arc<Amf>) -> bool {
    let amf = amf.clone();
    let flush = move || amf.contexts.flush(WRITE_LIMIT);
    tokio::task::spawn_blocking(flush).await.unwrap_or(false)
}
