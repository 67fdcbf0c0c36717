//! Change of the serving AMF at the SMFs (TS 23.502, 4.2.2.2.2, step 17; TS 29.502, 5.2.2.3.5).
//!
//! ```text
//! AMF -> SMFs  Nsmf_PDUSession_UpdateSMContext (serving NF, GUAMI, status URI)
//! ```
use crate::served::plmn_to_sbi;
use crate::ue::Ue;
use futures_util::future::join_all;
use martlet_sbi_api::nsmf_pdusession::{SmContextUpdateData, UpCnxState};

/// Tells the SMFs of all sessions that this AMF serves the UE. With `idle`, their user planes are
/// not active here.
pub(crate) async fn run(ue: &mut Ue, idle: bool) {
    let Some(supi) = ue.identity.supi.clone() else { return };
    let updates = ue.sessions.iter().map(|(psi, session)| {
        let root = ue.amf.context.api_root();
        let (number, segment) = (session.number, martlet_sbi::path_segment(&supi));
        let change = SmContextUpdateData {
            serving_nf_id: Some(ue.amf.instance_id.clone()),
            guami: Some(ue.guami().sbi.clone()),
            serving_network: Some(plmn_to_sbi(ue.guami().plmn).into()),
            sm_context_status_uri: Some(format!(
                "{root}/namf-callback/v1/sm-context-status/{segment}/{psi}/{number}"
            )),
            up_cnx_state: idle.then_some(UpCnxState::Deactivated),
            ..Default::default()
        };
        ue.update_session(*psi, change.into())
    });
    let outcomes = join_all(updates.collect::<Vec<_>>()).await;
    let known: Vec<u8> = ue.sessions.keys().copied().collect();
    for (psi, outcome) in known.into_iter().zip(outcomes) {
        if let Err(problem) = outcome {
            tracing::warn!(
                supi = ue.label(), psi, %problem,
                "an SMF does not take another AMF for its session"
            );
            ue.sessions.remove(&psi);
        }
    }
}
