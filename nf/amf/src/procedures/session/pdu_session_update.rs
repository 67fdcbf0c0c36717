//! PDU session modification and release requested by the UE, the AMF's part (TS 23.502, 4.3.3.2 and
//! 4.3.4.2): the 5GSM message goes to the SMF.
//!
//! ```text
//! UE -> AMF   UL NAS TRANSPORT (5GSM message)
//! AMF -> SMF  Nsmf_PDUSession_UpdateSMContext
//! AMF -> gNB  PDU session resource procedure, if the SMF's answer has N2 information
//! ```
use super::user_plane_activation::{N1, part};
use super::{
    pdu_session_resource_modify, pdu_session_resource_release, pdu_session_resource_setup,
};
use crate::metrics::Procedure;
use crate::n2::downlink::SessionToSetUp;
use crate::procedures::connection::dl_nas_transport::{self, return_to_ue};
use crate::ue::{Stop, Ue};
use bytes::Bytes;
use martlet_nas::GmmCause;
use martlet_sbi::{Multipart, content_type};
use martlet_sbi_api::nsmf_pdusession::{
    N2SmInfoType, SmContextUpdateData, SmContextUpdateError, SmContextUpdatedData,
};

/// Forwards the message to the SMF, and its answer to the UE.
pub(crate) async fn run(ue: &mut Ue, psi: u8, message: Bytes) -> Result<(), Stop> {
    let procedure = Procedure::start("pdu_session_update");
    let change = SmContextUpdateData {
        n1_sm_msg: part(N1),
        ue_location: ue.connection.as_ref().map(|connection| connection.location.to_sbi()),
        ..Default::default()
    };
    let change = Multipart::new(change).part(N1, content_type::NAS, message.clone());
    match ue.update_session(psi, change).await {
        Ok(answer) => {
            procedure.succeeded();
            match answer {
                Some(answer) => forward(ue, psi, answer).await,
                None => Ok(()),
            }
        }
        Err(mut problem) => {
            procedure.failed("refused_by_smf");
            if let Some(suppressed) = martlet_log_limit::line("5gsm_message", ue.label()) {
                tracing::info!(
                    supi = ue.label(), gnb = ue.gnb(), psi, %problem, suppressed,
                    "5GSM message rejected by the SMF"
                );
            }
            if problem.status() == 404
                && ue.sessions.remove(&psi).is_some_and(|session| session.state.is_active())
            {
                pdu_session_resource_release::at_gnb_only(ue, &[psi]).await?;
            }
            let answer = SmContextUpdateError::from_problem(&mut problem).and_then(|error| {
                error.json.n1_sm_msg.as_ref().and_then(|part| error.find(&part.content_id)).cloned()
            });
            match answer {
                Some(answer) => dl_nas_transport::downlink(ue, psi, &answer).await,
                None => return_to_ue(ue, psi, &message, GmmCause::PayloadWasNotForwarded).await,
            }
        }
    }
}

/// Forwards the SMF's answer to the UE and its gNB.
async fn forward(
    ue: &mut Ue,
    psi: u8,
    answer: Multipart<SmContextUpdatedData>,
) -> Result<(), Stop> {
    let found = |part: &Option<martlet_sbi_api::common::RefToBinaryData>| {
        part.as_ref().and_then(|part| answer.find(&part.content_id)).cloned()
    };
    let (n1, n2) = (found(&answer.json.n1_sm_msg), found(&answer.json.n2_sm_info));
    let kind = answer.json.n2_sm_info_type;
    let mut active = false;
    if let Some(session) = ue.sessions.get_mut(&psi) {
        // A later setup for downlink data must not activate it again.
        if kind == Some(N2SmInfoType::PduResRelCmd) {
            session.state.begin_release();
        }
        // Without resources at the gNB there is nothing to modify or release.
        active = session.state.is_active();
    }
    let for_gnb = n2.zip(kind).filter(|(_, kind)| active || *kind == N2SmInfoType::PduResSetupReq);
    let Some((info, kind)) = for_gnb else {
        return match n1 {
            Some(n1) => dl_nas_transport::downlink(ue, psi, &n1).await,
            None => Ok(()),
        };
    };
    let nas = match &n1 {
        Some(n1) => Some(dl_nas_transport::protected_downlink(ue, psi, n1)?),
        None => None,
    };
    match kind {
        N2SmInfoType::PduResRelCmd => pdu_session_resource_release::run(ue, psi, info, nas).await,
        N2SmInfoType::PduResModReq => pdu_session_resource_modify::run(ue, psi, info, nas).await,
        N2SmInfoType::PduResSetupReq => {
            let Some(session) = ue.sessions.get_mut(&psi) else { return Ok(()) };
            session.state.activate();
            let setup = SessionToSetUp { psi, slice: session.slice, transfer: info, nas };
            pdu_session_resource_setup::run(ue, setup).await
        }
        other => {
            tracing::warn!(supi = ue.label(), psi, kind = %other, "unknown N2 information type");
            Ok(())
        }
    }
}
