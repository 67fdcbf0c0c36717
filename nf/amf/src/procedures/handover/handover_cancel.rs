//! Handover cancellation (TS 23.502, 4.9.1.4; TS 38.413, 8.4.5): the source gNB cancels a handover
//! that it has required.
//!
//! ```text
//! source gNB -> AMF  HANDOVER CANCEL
//! AMF -> target gNB  UE CONTEXT RELEASE COMMAND
//! AMF -> SMFs        Nsmf_PDUSession_UpdateSMContext (CANCELLED)
//! AMF -> source gNB  HANDOVER CANCEL ACKNOWLEDGE
//! ```
//!
//! A running handover ends with [`Ended::Cancelled`](super::handover_execution::Ended), releases
//! the target itself, and acknowledges here.
use crate::n2::handover_downlink;
use crate::n2::uplink::Uplink;
use crate::ue::{Event, Ue, Work};

/// Removes a handover that still waits for another procedure, and acknowledges.
pub(crate) async fn before_preparation(ue: &mut Ue) {
    ue.task.deferred.retain(|work| !is_handover_required(work));
    acknowledge(ue).await;
}

/// Sends HANDOVER CANCEL ACKNOWLEDGE. The gNB waits for it even if there is no handover (8.4.5).
pub(crate) async fn acknowledge(ue: &mut Ue) {
    if let Some(connection) = &ue.connection {
        connection.send(handover_downlink::handover_cancel_acknowledge(connection)).await;
    }
}

/// Whether waiting work is a HANDOVER REQUIRED.
pub(crate) fn is_handover_required(work: &Work) -> bool {
    matches!(work, Work::Event(Event::Uplink { message: Uplink::HandoverRequired(_), .. }))
}
