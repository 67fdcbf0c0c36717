//! Paging (TS 23.502, 4.2.3.3, steps 3 to 6; TS 24.501, 5.6.2): an idle UE is asked to come.
use crate::metrics::Procedure;
use crate::n2::downlink;
use crate::ue::{Event, Stop, Transfer, Ue, Work};
use martlet_sbi::Problem;
use martlet_sbi_api::namf_communication::{
    N1N2MessageTransferCause, N1N2MsgTxfrFailureNotification,
};
use martlet_sbi_api::nsmf_callback::SmfCallbackClient;
use martlet_sbi_api::nudm_uecm::DeregistrationReason;
use std::time::Instant;

/// Pages the UE in its registration area until it answers, as often as the configuration says. What
/// waits for it is brought to it by the service request with which it answers; where it does not
/// answer, the senders are told.
pub(crate) async fn run(ue: &mut Ue) {
    if let Paged::Silent = paged(ue).await {
        tracing::info!(supi = ue.label(), "the UE does not answer to paging");
        fail_pending(ue, N1N2MessageTransferCause::UeNotResponding);
    }
}

/// Pages an idle UE that is to be deregistered: true where it comes, and where what came of it is
/// done first.
pub(crate) async fn for_deregistration(ue: &mut Ue, reason: &DeregistrationReason) -> bool {
    let comes = matches!(paged(ue).await, Paged::Answered);
    if comes {
        ue.waiting.push_back(Work::Event(Event::Deregister(reason.clone())));
    }
    comes
}

/// How a paging ends.
enum Paged {
    /// With a message of the UE.
    Answered,
    /// With something that makes it needless.
    Ended,
    /// T3513 has expired as often as it may.
    Silent,
}

/// The paging, and what is done with what ends it.
async fn paged(ue: &mut Ue) -> Paged {
    let procedure = Procedure::start("paging");
    ue.paging = true;
    let ended = attempts(ue).await;
    ue.paging = false;
    let Some(stop) = ended else {
        procedure.failed("no_answer");
        return Paged::Silent;
    };
    let answered = matches!(stop, Stop::Preempted(Work::Event(Event::Initial(_))));
    if answered {
        procedure.succeeded();
    } else {
        procedure.failed(&stop.label());
    }
    ue.conclude(stop).await;
    if answered { Paged::Answered } else { Paged::Ended }
}

/// What ends the paging; nothing where T3513 expires as often as it may.
async fn attempts(ue: &mut Ue) -> Option<Stop> {
    for attempt in 1..=ue.amf.config.timers.paging_attempts {
        let gnbs = page(ue).await;
        tracing::debug!(supi = ue.label(), attempt, gnbs, "the UE is paged");
        let until = Instant::now() + ue.amf.config.timers.t3513();
        match ue.next_ngap::<()>(until, Err).await {
            // T3513 has expired.
            Ok(_) => {}
            Err(stop) => return Some(stop),
        }
    }
    None
}

/// Tells the senders of everything that waits for the UE that it does not get it.
pub(crate) fn fail_pending(ue: &mut Ue, cause: N1N2MessageTransferCause) {
    for transfer in std::mem::take(&mut ue.pending) {
        tell_failure(ue, transfer, cause.clone());
    }
}

/// One paging, to every gNB of the registration area; gives their number.
async fn page(ue: &Ue) -> usize {
    let Some(guti) = &ue.guti else { return 0 };
    let paging = match downlink::paging(guti, &ue.area) {
        Ok(paging) => paging,
        Err(error) => {
            tracing::error!(supi = ue.label(), %error, "PAGING cannot be built");
            return 0;
        }
    };
    let mut sent = 0;
    for gnb in ue.amf.gnbs.all() {
        if gnb.covers(&ue.area) && gnb.send(0, &paging).await {
            sent += 1;
        }
    }
    sent
}

/// Refuses a transfer: with the answer to it, or, where it was answered before, by the notification
/// of its failure.
pub(crate) fn fail(ue: &Ue, mut transfer: Transfer, problem: Problem) {
    match transfer.answer.is_some() {
        true => transfer.answer(Err(problem)),
        false => tell_failure(ue, transfer, N1N2MessageTransferCause::UeNotReachableForSession),
    }
}

/// Tells the sender of a transfer that it has failed in the end (TS 29.518, 5.2.2.3.2), without
/// waiting for it.
fn tell_failure(ue: &Ue, transfer: Transfer, cause: N1N2MessageTransferCause) {
    let Some(uri) = transfer.request.n1n2_failure_txf_notif_uri else { return };
    let psi = transfer.request.pdu_session_id.unwrap_or(0);
    let location = Transfer::location(ue.amf.context.api_root(), &ue.label(), psi);
    let body = N1N2MsgTxfrFailureNotification::new(cause, location);
    let (peer, supi) = (ue.amf.context.callback_peer().about(&ue.label()), ue.label());
    tokio::spawn(async move {
        if let Err(problem) =
            SmfCallbackClient::new(peer).n1_n2_transfer_failure_notify(&uri, body).await
        {
            tracing::info!(supi, %problem, "the sender of a message was not told that the UE did not get it");
        }
    });
}
