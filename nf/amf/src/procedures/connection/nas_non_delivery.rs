//! NAS non-delivery indication (TS 38.413, 8.6.4): the gNB returns a downlink NAS message.
//!
//! ```text
//! gNB -> AMF  NAS NON DELIVERY INDICATION (cause, NAS-PDU)
//! AMF -> gNB  DOWNLINK NAS TRANSPORT, at the target, once the handover has ended
//! ```
use crate::ue::Ue;
use bytes::Bytes;
use martlet_ngap::cause;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};

/// Keeps the message if the UE moves to another gNB. Otherwise the message's NAS timer repeats it.
pub(crate) fn run(ue: &mut Ue, why: &Cause, nas: Option<Bytes>) {
    tracing::debug!(
        supi = ue.label(),
        gnb = ue.gnb(),
        cause = cause::text(why),
        "NAS message not delivered"
    );
    let has_room = ue.nas_queues.undelivered.len() < ue.amf.config.limits.ue_queue;
    if let Some(nas) = nas.filter(|_| has_room && is_caused_by_handover(why)) {
        ue.nas_queues.undelivered.push(nas);
    }
}

/// Sends the returned messages again: at the target gNB, or at the source if the handover failed.
pub(crate) async fn send_again(ue: &mut Ue) {
    for nas in std::mem::take(&mut ue.nas_queues.undelivered) {
        if let Some(connection) = &ue.connection {
            connection.send_nas(nas.to_vec()).await;
        }
    }
}

/// Whether a NAS message was not delivered because of a handover.
fn is_caused_by_handover(cause: &Cause) -> bool {
    use CauseRadioNetwork as Radio;
    let Cause::radioNetwork(cause) = cause else { return false };
    matches!(
        cause,
        Radio::ng_intra_system_handover_triggered
            | Radio::ng_inter_system_handover_triggered
            | Radio::xn_handover_triggered
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_handover_keeps_the_message() {
        let xn_handover_cause = Cause::radioNetwork(CauseRadioNetwork::xn_handover_triggered);
        let dropped = Cause::radioNetwork(CauseRadioNetwork::radio_connection_with_ue_lost);
        assert_eq!(
            (is_caused_by_handover(&xn_handover_cause), is_caused_by_handover(&dropped)),
            (true, false)
        );
    }
}
