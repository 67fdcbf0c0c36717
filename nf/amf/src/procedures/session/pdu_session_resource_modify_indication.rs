//! PDU session resource modify indication (TS 38.413, 8.2.5): the gNB changes its downlink tunnel.
//!
//! ```text
//! gNB -> AMF  PDU SESSION RESOURCE MODIFY INDICATION
//! AMF -> SMF  Nsmf_PDUSession_UpdateSMContext (PDU_RES_MOD_IND)
//! AMF -> gNB  PDU SESSION RESOURCE MODIFY CONFIRM
//! ```
use super::user_plane_activation::forward_n2;
use crate::n2::downlink;
use crate::n2::uplink::SessionInfo;
use crate::ue::Ue;
use bytes::Bytes;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use martlet_ngap::transfer::ModifyIndicationUnsuccessful;
use martlet_sbi_api::nsmf_pdusession::N2SmInfoType;

/// Forwards each session to its SMF, and the confirmations to the gNB. A session without one failed
/// (8.2.5.2).
pub(crate) async fn run(ue: &mut Ue, sessions: Vec<SessionInfo>) {
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for (psi, info) in sessions {
        let answer = match forward_n2(ue, psi, info, N2SmInfoType::PduResModInd).await {
            Ok(answer) => answer,
            Err(problem) => {
                if let Some(suppressed) =
                    martlet_log_limit::line("modify_indication", ue.gnb_address())
                {
                    tracing::warn!(
                        supi = ue.label(), psi, %problem, suppressed,
                        "modify indication rejected by the SMF"
                    );
                }
                let why = match problem.status() {
                    404 => CauseRadioNetwork::unknown_PDU_session_ID,
                    _ => CauseRadioNetwork::unspecified,
                };
                failed.push((psi, unsuccessful(why)));
                continue;
            }
        };
        let info = answer
            .as_ref()
            .and_then(|answer| answer.find(&answer.json.n2_sm_info.as_ref()?.content_id).cloned());
        match (answer.and_then(|answer| answer.json.n2_sm_info_type), info) {
            (Some(N2SmInfoType::PduResModCfm), Some(info)) => done.push((psi, info)),
            (Some(N2SmInfoType::PduResModIndFail), Some(info)) => failed.push((psi, info)),
            _ => failed.push((psi, unsuccessful(CauseRadioNetwork::unspecified))),
        }
    }
    if let Some(connection) = &ue.connection {
        connection.send(downlink::session_modify_confirm(connection, done, failed)).await;
    }
}

fn unsuccessful(why: CauseRadioNetwork) -> Bytes {
    let transfer = ModifyIndicationUnsuccessful { cause: Cause::radioNetwork(why) };
    transfer.encode().unwrap_or_default().into()
}
