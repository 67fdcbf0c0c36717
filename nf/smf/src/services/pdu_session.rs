//! Nsmf_PDUSession (TS 29.502, 5.2): each request goes to the task of its session.
use super::not_found;
use crate::procedures::establishment::pdu_session_establishment;
use crate::session_event::SessionEvent;
use crate::shared::Smf;
use crate::task;
use martlet_interop::SbiQuirk;
use martlet_sbi::trace::Origin;
use martlet_sbi::{Created, Multipart, Problem, tolerant};
use martlet_sbi_api::nsmf_pdusession::{
    SmContextCreateData, SmContextCreatedData, SmContextReleaseData, SmContextReleasedData,
    SmContextRetrieveData, SmContextRetrievedData, SmContextUpdateData, SmContextUpdatedData,
    SmfPduSession,
};
use tokio::sync::oneshot;

impl SmfPduSession for Smf {
    async fn post_sm_contexts(
        &self,
        body: Multipart<SmContextCreateData>,
    ) -> Result<Created<Multipart<SmContextCreatedData>>, Problem> {
        let amf = &body.json.serving_nf_id;
        if tolerant::has_decimal_tac() && !self.context.tolerates(SbiQuirk::DecimalTac, amf) {
            let detail = "the tac of ueLocation is in decimal digits (TS 29.571, 5.4.2)";
            return Err(Problem::new(400, "OPTIONAL_IE_INCORRECT").detail(detail));
        }
        self.context.check_callback(&body.json.sm_context_status_uri).await?;
        let smf = self
            .itself
            .upgrade()
            .ok_or_else(|| Problem::system_failure("the SMF is shutting down"))?;
        let (created, establishment) = pdu_session_establishment::create(&smf, body).await?;
        task::establish(establishment);
        Ok(created)
    }

    async fn update_sm_context(
        &self,
        sm_context_ref: &str,
        body: Multipart<SmContextUpdateData>,
    ) -> Result<Option<Multipart<SmContextUpdatedData>>, Problem> {
        if let Some(uri) = &body.json.sm_context_status_uri {
            self.context.check_callback(uri).await?;
        }
        let (reply, answer) = oneshot::channel();
        self.send(sm_context_ref, SessionEvent::Update(Box::new((body, Origin::here())), reply))
            .await?;
        answer.await.map_err(|_| not_found(sm_context_ref))?
    }

    async fn release_sm_context(
        &self,
        sm_context_ref: &str,
        body: Option<Multipart<SmContextReleaseData>>,
    ) -> Result<Option<SmContextReleasedData>, Problem> {
        let (reply, answer) = oneshot::channel();
        let reported = body.map(|body| Box::new(body.json));
        self.send(sm_context_ref, SessionEvent::Release(reported, reply)).await?;
        answer.await.map_err(|_| not_found(sm_context_ref))?;
        Ok(None)
    }

    async fn retrieve_sm_context(
        &self,
        sm_context_ref: &str,
        _: Option<SmContextRetrieveData>,
    ) -> Result<SmContextRetrievedData, Problem> {
        self.sessions.get(sm_context_ref).ok_or_else(|| not_found(sm_context_ref))?;
        Err(Problem::new(403, "TARGET_MME_CAPABILITY")
            .detail("interworking with EPS is not supported"))
    }
}
