//! Paging (TS 23.502, 4.2.3.3, steps 3 to 6; TS 24.501, 5.6.2; TS 38.413, 8.5.1).
//!
//! ```text
//! AMF -> gNBs  PAGING, repeated when T3513 expires
//! UE -> AMF    SERVICE REQUEST or REGISTRATION REQUEST
//! ```
use crate::metrics::Procedure;
use crate::n2::{Encoded, Gnb, downlink};
use crate::ue::{Event, Stop, Transfer, Ue, Work, signalling};
use martlet_nas::Guti;
use martlet_sbi::Problem;
use martlet_sbi_api::namf_communication::{
    N1N2MessageTransferCause, N1N2MsgTxfrFailureNotification,
};
use martlet_sbi_api::nsmf_callback::SmfCallbackClient;
use std::time::Instant;

/// Pages the UE in its registration area until it answers, at most `amf.timers.paging_attempts`
/// times. The service request delivers the queued transfers; without an answer, their senders are
/// notified. Returns whether the UE answers: its request is handled afterwards, so that the UE is
/// not connected yet.
pub(crate) async fn run(ue: &mut Ue) -> bool {
    let outcome = paged(ue).await;
    if let Paged::Silent = outcome {
        tracing::info!(supi = ue.label(), "no answer to paging");
        fail_pending(ue, N1N2MessageTransferCause::UeNotResponding);
    }
    matches!(outcome, Paged::Answered)
}

/// Pages an idle UE that is to be deregistered. Returns whether it answers: the caller then defers
/// the deregistration until the UE's request is handled.
pub(crate) async fn before_deregistration(ue: &mut Ue) -> bool {
    ue.connection.is_none() && ue.can_be_paged() && run(ue).await
}

/// Result of a paging.
enum Paged {
    /// The UE answered.
    Answered,
    /// Another event made the paging unnecessary.
    Ended,
    /// T3513 expired after the last attempt.
    Silent,
}

/// Pages, and handles the event that ends it.
async fn paged(ue: &mut Ue) -> Paged {
    let procedure = Procedure::start("paging");
    ue.start_paging();
    let ended = attempts(ue).await;
    ue.end_paging();
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
    ue.handle_stop(stop).await;
    if answered { Paged::Answered } else { Paged::Ended }
}

/// The event that ends the paging; `None` after the last attempt.
async fn attempts(ue: &mut Ue) -> Option<Stop> {
    ue.identity.was_paged = true;
    for attempt in 1..=ue.amf.config.timers.paging_attempts {
        let gnbs = page(ue, attempt);
        tracing::debug!(supi = ue.label(), attempt, gnbs, "paging");
        let until = Instant::now() + ue.amf.config.timers.t3513();
        match ue.next_ngap::<()>(until, Err).await {
            // T3513 expired.
            Ok(_) => {}
            Err(stop) => return Some(stop),
        }
    }
    None
}

/// Notifies the senders of all queued transfers of a failure.
pub(crate) fn fail_pending(ue: &mut Ue, cause: N1N2MessageTransferCause) {
    for transfer in std::mem::take(&mut ue.pending) {
        notify_failure(ue, transfer, cause.clone());
    }
}

/// Sends PAGING to every gNB of the registration area that reads. Returns their number. A UE that
/// has not confirmed its new 5G-GUTI may have the previous one, so it is paged by both (TS 24.501,
/// 5.4.4.6 and 5.5.1.3.8 a). From the second attempt on, so is one that has confirmed it and not
/// used it yet: it may have kept the previous one.
///
/// Every second attempt is on another SCTP stream than 0.
fn page(ue: &Ue, attempt: u8) -> usize {
    let identity = &ue.identity;
    let may_have_old = attempt > 1 || !identity.old_guti_is_retained;
    let old_guti = identity.old_guti.iter().filter(|_| may_have_old);
    old_guti.chain(&identity.guti).map(|guti| page_by(ue, guti, attempt)).max().unwrap_or(0)
}

/// Pages the UE by a 5G-GUTI.
fn page_by(ue: &Ue, guti: &Guti, attempt: u8) -> usize {
    let area = &ue.registration.area;
    let capability = ue.capabilities.radio_for_paging.as_ref();
    let paging = downlink::paging(guti, area, ue.registration.drx, capability);
    let paging = match paging.and_then(|paging| Encoded::of(&paging)) {
        Ok(paging) => paging,
        Err(error) => {
            tracing::error!(supi = ue.label(), %error, "PAGING not encodable");
            return 0;
        }
    };
    if martlet_nf::signalling::is_on() {
        signalling::about_ue(ue, paging.bytes());
    }
    // OAI's gNB ignores PAGING on stream 0, which TS 38.412, 7, prescribes. Other gNBs may ignore
    // it on another stream.
    let is_on_0 = attempt % 2 == 1 || ue.amf.config.n2.strict;
    let stream = |gnb: &Gnb| if is_on_0 { 0 } else { gnb.stream(guti.tmsi().into()) };
    let gnbs = ue.amf.gnbs.serving(area);
    gnbs.iter().filter(|gnb| gnb.try_send_on(stream(gnb), &paging)).count()
}

/// Rejects a transfer: in its answer, or by a failure notification if it was answered.
pub(crate) fn fail(ue: &Ue, mut transfer: Transfer, problem: Problem) {
    match transfer.answer.is_some() {
        true => transfer.answer(Err(problem)),
        false => notify_failure(ue, transfer, N1N2MessageTransferCause::UeNotReachableForSession),
    }
}

/// Sends N1N2TransferFailureNotification (TS 29.518, 5.2.2.3.2) in a task of its own.
pub(crate) fn notify_failure(ue: &Ue, transfer: Transfer, cause: N1N2MessageTransferCause) {
    let Some(uri) = transfer.request.n1n2_failure_txf_notif_uri else { return };
    let psi = transfer.request.pdu_session_id.unwrap_or(0);
    let location = Transfer::location(ue.amf.context.api_root(), &ue.label(), psi);
    let body = N1N2MsgTxfrFailureNotification::new(cause, location);
    let (peer, supi) = (ue.amf.context.callback_peer().about(&ue.label()), ue.label());
    martlet_nf::spawn(async move {
        if let Err(problem) =
            SmfCallbackClient::new(peer).n1_n2_transfer_failure_notify(&uri, body).await
        {
            tracing::info!(supi, %problem, "transfer failure notification failed");
        }
    });
}
