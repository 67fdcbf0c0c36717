//! N1 and N2 message transfer (TS 29.518, 5.2.2.3.1; TS 23.502, 4.2.3.3 and 4.3.2.2.1, steps 11 to
//! 15): another NF has a message for the UE, or N2 information for its gNB.
//!
//! ```text
//! SMF or LMF -> AMF  Namf_Communication_N1N2MessageTransfer
//! AMF -> gNB         NAS, PDU session resource or NRPPa message; PAGING if the UE is idle
//! AMF -> SMF         N1N2TransferFailureNotification, if the UE does not answer
//! ```
use super::{dl_nas_transport, paging};
use crate::n2::downlink::SessionToSetUp;
use crate::procedures::handover::{handover_cancel, ran_status_transfer};
use crate::procedures::positioning::{nrppa_transport, positioning_transport};
use crate::procedures::session::{
    pdu_session_resource_modify, pdu_session_resource_release, pdu_session_resource_setup,
};
use crate::ue::tables::Summary;
use crate::ue::{Event, SessionState, Stop, Transfer, TransferAnswer, Ue, Work};
use bytes::Bytes;
use martlet_nf::PeerCertificate;
use martlet_sbi::{ApiRoot, Problem, StatusReply};
use martlet_sbi_api::namf_communication::{
    N1MessageClass, N1N2MessageTransferCause, N1N2MessageTransferReqData,
    N1N2MessageTransferRspData, N2InfoContainer, N2InformationClass, NgapIeType,
};
use martlet_sbi_api::nnrf_nfmanagement::NfType;

/// The functions that send such a transfer. Another AMF sends on what has waited for a UE that
/// moved.
fn senders(request: &N1N2MessageTransferReqData) -> &'static [NfType] {
    if ran_status_transfer::content(request).is_some() {
        return &[NfType::Amf];
    }
    let n2 = request.n2_info_container.as_ref();
    let class = request.n1_message_container.as_ref().map(|n1| &n1.n1_message_class);
    let is_of_positioning = class.is_some_and(positioning_transport::is_positioning)
        || n2.is_some_and(|n2| n2.n2_information_class == N2InformationClass::NRPPa);
    // Information for a session is delivered as such, whatever the class is.
    let is_of_session = n2.is_some_and(|n2| n2.sm_info.is_some());
    match is_of_positioning && !is_of_session {
        true => &[NfType::Lmf, NfType::Amf],
        false => &[NfType::Smf, NfType::Amf],
    }
}

/// Checks the certificate of the sender, if it has one: only SMFs send what is of a session, and
/// only LMFs positioning messages.
///
/// # Errors
///
/// 403 if no function of the certificate sends such a transfer.
pub(crate) fn check_sender(
    request: &N1N2MessageTransferReqData,
    peer: Option<&PeerCertificate>,
) -> Result<(), Problem> {
    let is_of_sender = |peer: &PeerCertificate| {
        senders(request).iter().any(|nf_type| peer.is_of_type(nf_type.as_str()))
    };
    match peer.is_none_or(is_of_sender) {
        true => Ok(()),
        false => Err(Problem::new(403, "REQUEST_NOT_ALLOWED")
            .detail("the certificate is of no function that sends such a message")),
    }
}

/// The answer that needs no UE task, which may be waiting for the same SMF; `None` if the task must
/// answer.
pub(crate) fn answer_at_once(
    root: &ApiRoot,
    ue: &Summary,
    request: &N1N2MessageTransferReqData,
) -> Option<TransferAnswer> {
    let psi = request.pdu_session_id?;
    if ue.registering {
        return Some(Err(registering()));
    }
    let has_session = ue.session_ids().any(|own| own == psi);
    let supi = ue.supi.as_ref().filter(|_| ue.registered && has_session)?;
    match (ue.gnb.is_some(), request.skip_ind == Some(true), ue.can_be_paged) {
        (true, _, _) => Some(Transfer::initiated()),
        (false, true, _) => Some(not_transferred()),
        (false, false, true) => Some(attempting(Transfer::location(root, supi, psi))),
        (false, false, false) => Some(Err(unreachable())),
    }
}

/// Delivers a transfer to a connected UE, or pages an idle one.
pub(crate) async fn run(ue: &mut Ue, transfer: Transfer) {
    if ran_status_transfer::content(&transfer.request).is_some() {
        return ran_status_transfer::downlink(ue, transfer).await;
    }
    if ue.connection.is_none() {
        if queue(ue, transfer) {
            paging::run(ue).await;
        }
        return;
    }
    if let Err(stop) = to_connected(ue, transfer).await {
        ue.handle_stop(stop).await;
    }
}

/// Delivers the transfers that wait, inside a procedure that waits for the UE alone. Those for a UE
/// that moves to another gNB or AMF wait until it is there.
///
/// # Errors
///
/// The `Stop` that ends the procedure.
pub(crate) async fn deliver_deferred(ue: &mut Ue) -> Result<(), Stop> {
    while let Some(transfer) = take_deferred(ue) {
        let delivered = to_connected(ue, transfer).await;
        if let Err(stop @ (Stop::ConnectionLost | Stop::Preempted(_) | Stop::HandedOver)) =
            delivered
        {
            return Err(stop);
        }
    }
    Ok(())
}

fn take_deferred(ue: &mut Ue) -> Option<Transfer> {
    let is_moving = ue.task.deferred.iter().any(handover_cancel::is_handover_required)
        || ue.amf.rebalancing.is_offered(ue.handle.number);
    if is_moving || ue.connection.is_none() {
        return None;
    }
    let is_transfer = |work: &Work| matches!(work, Work::Event(Event::Transfer(_)));
    let at = ue.task.deferred.iter().position(is_transfer)?;
    match ue.task.deferred.remove(at) {
        Some(Work::Event(Event::Transfer(transfer))) => Some(*transfer),
        _ => None,
    }
}

/// Delivers a transfer to a connected UE.
async fn to_connected(ue: &mut Ue, mut transfer: Transfer) -> Result<(), Stop> {
    if let Err(problem) = check(ue, &transfer) {
        paging::fail(ue, transfer, problem);
        return Ok(());
    }
    transfer.answer(Transfer::initiated());
    let delivered = deliver(ue, transfer).await;
    if let Err(stop) = &delivered {
        tracing::info!(
            supi = ue.label(),
            gnb = ue.gnb(),
            why = stop.label(),
            "transfer not delivered"
        );
    }
    delivered
}

/// Queues a transfer for an idle UE. Returns whether the UE must be paged.
pub(crate) fn queue(ue: &mut Ue, mut transfer: Transfer) -> bool {
    let refused = match check(ue, &transfer) {
        Err(problem) => problem,
        Ok(()) if transfer.request.skip_ind == Some(true) => {
            transfer.answer(not_transferred());
            return false;
        }
        Ok(()) if !ue.can_be_paged() => unreachable(),
        Ok(()) if ue.pending.len() >= ue.amf.config.limits.ue_queue => {
            Problem::new(409, "HIGHER_PRIORITY_REQUEST_ONGOING").detail("the UE's queue is full")
        }
        Ok(()) => {
            let psi = transfer.request.pdu_session_id.unwrap_or(0);
            transfer.answer(attempting(Transfer::location(
                ue.amf.context.api_root(),
                &ue.label(),
                psi,
            )));
            ue.pending.push(transfer);
            return true;
        }
    };
    paging::fail(ue, transfer, refused);
    false
}

/// Takes the queued transfers: sessions to set up at the gNB, and the others. The transfers hold
/// all that the gNB needs (TS 23.502, 4.2.3.3, step 3a).
pub(crate) fn take_pending(ue: &mut Ue) -> (Vec<SessionToSetUp>, Vec<Transfer>) {
    let (mut sessions, mut rest) = (Vec::new(), Vec::new());
    for mut transfer in std::mem::take(&mut ue.pending) {
        let setup = session_setup(&transfer).and_then(|(psi, info)| {
            let session =
                ue.sessions.get_mut(&psi).filter(|session| !session.state.is_releasing())?;
            session.state.activate();
            Some(SessionToSetUp { psi, slice: session.slice, transfer: info, nas: None })
        });
        let Some(setup) = setup else {
            rest.push(transfer);
            continue;
        };
        sessions.retain(|earlier: &SessionToSetUp| earlier.psi != setup.psi);
        sessions.push(setup);
        transfer.n2 = None;
        if transfer.n1.is_some() {
            rest.push(transfer);
        }
    }
    (sessions, rest)
}

/// The answer while a registration is running.
pub(crate) fn registering() -> Problem {
    Problem::new(409, "TEMPORARY_REJECT_REGISTRATION_ONGOING")
        .detail("a registration of the UE is running")
}

fn unreachable() -> Problem {
    Problem::new(504, "UE_NOT_REACHABLE").detail("the mobile reachable timer has expired")
}

fn not_transferred() -> TransferAnswer {
    Ok(StatusReply::ok(N1N2MessageTransferRspData::new(
        N1N2MessageTransferCause::N1MsgNotTransferred,
    )))
}

fn attempting(location: String) -> TransferAnswer {
    let body = N1N2MessageTransferRspData::new(N1N2MessageTransferCause::AttemptingToReachUe);
    Ok(StatusReply { status: 202, location: Some(location), body: Some(body) })
}

/// Checks that the AMF can forward the transfer.
fn check(ue: &Ue, transfer: &Transfer) -> Result<(), Problem> {
    if !ue.is_registered() {
        return Err(Problem::new(404, "CONTEXT_NOT_FOUND").detail("the UE is not registered"));
    }
    let request = &transfer.request;
    let class = request.n1_message_container.as_ref().map(|n1| &n1.n1_message_class);
    if let Some(class) = class.filter(|class| positioning_transport::is_positioning(class)) {
        return match (&transfer.n1, &request.n2_info_container) {
            (Some(_), None) if *class != N1MessageClass::UppCmi || ue.positioning.lcs_upp => Ok(()),
            (Some(_), None) => {
                Err(Problem::new(403, "UNSPECIFIED").detail("the UE does not support LCS-UPP"))
            }
            (None, _) => Err(Problem::invalid_message("a referenced binary part is missing")),
            (_, Some(_)) => Err(Problem::new(403, "UNSPECIFIED")
                .detail("a positioning message cannot carry N2 information")),
        };
    }
    if request
        .n2_info_container
        .as_ref()
        .is_some_and(|n2| n2.n2_information_class == N2InformationClass::NRPPa)
    {
        return match (class, &transfer.n2) {
            (None, Some(_)) => Ok(()),
            (None, None) => Err(Problem::invalid_message("a referenced binary part is missing")),
            (Some(_), _) => Err(Problem::new(403, "UNSPECIFIED")
                .detail("an NRPPa message cannot carry an N1 message")),
        };
    }
    let sm_n1 = class.is_none_or(|class| *class == N1MessageClass::Sm);
    let sm_n2 = request
        .n2_info_container
        .as_ref()
        .is_none_or(|n2| n2.n2_information_class == N2InformationClass::Sm);
    if !sm_n1 || !sm_n2 {
        return Err(Problem::new(403, "UNSPECIFIED").detail("unsupported N1 or N2 message class"));
    }
    if request.n1_message_container.is_some() != transfer.n1.is_some()
        || request.n2_info_container.is_some() != transfer.n2.is_some()
    {
        return Err(Problem::invalid_message("a referenced binary part is missing"));
    }
    match request.pdu_session_id.or_else(|| n2(transfer).map(|(psi, _)| psi)) {
        Some(psi) if ue.sessions.contains_key(&psi) => Ok(()),
        Some(psi) => Err(Problem::new(404, "CONTEXT_NOT_FOUND")
            .detail(format!("the UE has no PDU session {psi}"))),
        None => Err(Problem::new(400, "MANDATORY_IE_MISSING").detail("pduSessionId")),
    }
}

/// The identity of the binary part with the N2 information of a transfer.
pub(crate) fn n2_content_id(request: &N1N2MessageTransferReqData) -> Option<String> {
    let container = request.n2_info_container.as_ref();
    let of_session = |n2: &N2InfoContainer| {
        n2.sm_info.as_ref()?.n2_info_content.as_ref().map(|it| it.ngap_data.clone())
    };
    let of_gnb = |n2: &N2InfoContainer| {
        nrppa_transport::information(n2).map(|it| it.nrppa_pdu.ngap_data.clone())
    };
    let n2 = container.and_then(|n2| of_gnb(n2).or_else(|| of_session(n2)));
    n2.or_else(|| ran_status_transfer::content(request).cloned()).map(|data| data.content_id)
}

/// The session and the type of the N2 information.
fn n2(transfer: &Transfer) -> Option<(u8, &NgapIeType)> {
    let info = transfer.request.n2_info_container.as_ref()?.sm_info.as_ref()?;
    Some((info.pdu_session_id, info.n2_info_content.as_ref()?.ngap_ie_type.as_ref()?))
}

/// The session that the gNB has to set up.
pub(crate) fn session_setup(transfer: &Transfer) -> Option<(u8, Bytes)> {
    let (psi, kind) = n2(transfer)?;
    (*kind == NgapIeType::PduResSetupReq).then(|| Some((psi, transfer.n2.clone()?)))?
}

/// Forwards the transfers that waited for the UE, if it is connected. Once that has failed, the
/// senders of the others are notified: they have been answered that the AMF tries to reach the UE.
pub(crate) async fn deliver_pending(
    ue: &mut Ue,
    connected: Result<(), Stop>,
    transfers: Vec<Transfer>,
) -> Result<(), Stop> {
    let mut outcome = connected;
    for transfer in transfers {
        match outcome.is_ok() {
            true => outcome = deliver(ue, transfer).await,
            false => {
                let cause = N1N2MessageTransferCause::FailureCauseUnspecified;
                paging::notify_failure(ue, transfer, cause);
            }
        }
    }
    outcome
}

/// Forwards a transfer to the UE and its gNB.
pub(crate) async fn deliver(ue: &mut Ue, transfer: Transfer) -> Result<(), Stop> {
    let class = transfer.request.n1_message_container.as_ref().map(|n1| &n1.n1_message_class);
    if let (Some(class), Some(n1)) =
        (class.filter(|class| positioning_transport::is_positioning(class)), &transfer.n1)
    {
        let correlation = transfer.request.lcs_correlation_id.as_deref();
        return positioning_transport::downlink(ue, class, correlation, n1).await;
    }
    if let (Some(nrppa), Some(n2)) = (
        transfer.request.n2_info_container.as_ref().and_then(nrppa_transport::information),
        &transfer.n2,
    ) {
        let correlation = transfer.request.lcs_correlation_id.as_deref();
        return nrppa_transport::downlink(ue, nrppa, correlation, n2).await;
    }
    let of_n2 = n2(&transfer).map(|(psi, kind)| (psi, kind.clone()));
    let psi = transfer.request.pdu_session_id.or(of_n2.as_ref().map(|(psi, _)| *psi)).unwrap_or(0);
    let (Some((session, kind)), Some(info)) = (of_n2, transfer.n2.clone()) else {
        return match &transfer.n1 {
            Some(n1) => dl_nas_transport::downlink(ue, psi, n1).await,
            None => Ok(()),
        };
    };
    let state = ue.sessions.get(&session).map(|known| known.state);
    let is_needless = match kind {
        // The UE has activated the user plane meanwhile, and the gNB would reject a second setup
        // (TS 38.413, 8.2.1.4); or the session is being released.
        NgapIeType::PduResSetupReq => state != Some(SessionState::Deactivated),
        // A gNB without resources for the session has nothing to modify or release.
        NgapIeType::PduResModReq | NgapIeType::PduResRelCmd => {
            !state.is_some_and(SessionState::is_active)
        }
        _ => false,
    };
    if is_needless {
        tracing::debug!(supi = ue.label(), session, %kind, ?state, "N2 information not sent");
        let Some(n1) = &transfer.n1 else { return Ok(()) };
        if kind == NgapIeType::PduResRelCmd
            && let Some(known) = ue.sessions.get_mut(&session)
        {
            known.state.begin_release();
        }
        return dl_nas_transport::downlink(ue, psi, n1).await;
    }
    let nas = match &transfer.n1 {
        Some(n1) => Some(dl_nas_transport::protected_downlink(ue, psi, n1)?),
        None => None,
    };
    match kind {
        NgapIeType::PduResSetupReq => {
            let Some(known) = ue.sessions.get_mut(&session) else { return Ok(()) };
            known.state.activate();
            let setup = SessionToSetUp { psi: session, slice: known.slice, transfer: info, nas };
            pdu_session_resource_setup::run(ue, setup).await
        }
        NgapIeType::PduResRelCmd => {
            // Without a NAS message, only the gNB releases resources.
            if let Some(known) = ue.sessions.get_mut(&session).filter(|_| nas.is_some()) {
                known.state.begin_release();
            }
            pdu_session_resource_release::run(ue, session, info, nas).await
        }
        NgapIeType::PduResModReq => pdu_session_resource_modify::run(ue, session, info, nas).await,
        other => {
            tracing::warn!(
                supi = ue.label(), session, kind = %other,
                "unknown N2 information type"
            );
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi_api::common::RefToBinaryData;
    use martlet_sbi_api::namf_communication::{N1MessageContainer, N2SmInformation};

    #[test]
    fn attack_a_function_sends_what_another_one_does() {
        let holder = |nf_type: &str| PeerCertificate {
            nf_types: vec![nf_type.into()],
            ..PeerCertificate::default()
        };
        let of_n1 = |class| {
            let content = RefToBinaryData { content_id: "n1".into() };
            let n1_message_container = Some(N1MessageContainer::new(class, content));
            N1N2MessageTransferReqData { n1_message_container, ..Default::default() }
        };
        let of_n2 = |class, of_session: bool| {
            let information = N2SmInformation { pdu_session_id: 1, ..Default::default() };
            let mut container = N2InfoContainer::new(class);
            container.sm_info = of_session.then_some(information);
            let n2_info_container = Some(container);
            N1N2MessageTransferReqData { n2_info_container, ..Default::default() }
        };
        let mut of_session = of_n1(N1MessageClass::Sm);
        of_session.pdu_session_id = Some(1);
        for (request, sender) in [
            (of_session, "SMF"),
            (of_n2(N2InformationClass::Sm, true), "SMF"),
            (of_n2(N2InformationClass::NRPPa, true), "SMF"),
            (of_n2(N2InformationClass::NRPPa, false), "LMF"),
            (of_n1(N1MessageClass::Lpp), "LMF"),
            (of_n1(N1MessageClass::UppCmi), "LMF"),
        ] {
            assert!(check_sender(&request, None).is_ok());
            for nf_type in ["SMF", "LMF", "PCF", "AMF"] {
                let is_sender = [sender, "AMF"].contains(&nf_type);
                let checked = check_sender(&request, Some(&holder(nf_type)));
                assert_eq!(checked.is_ok(), is_sender, "{nf_type}: {request:?}");
            }
        }
    }
}
