//! The services of the SMF: each request goes to its session's task.
use crate::procedures::establishment;
use crate::session::SessionEvent;
use crate::sessions::SessionHandle;
use crate::{Smf, set};
use martlet_sbi::trace::Origin;
use martlet_sbi::{Created, Multipart, Problem};
use martlet_sbi_api::namf_communication::N1N2MsgTxfrFailureNotification;
use martlet_sbi_api::nchf_converged_charging::ChargingNotifyRequest;
use martlet_sbi_api::npcf_sm_policy_control::{
    PartialSuccessReport, SmPolicyNotification, TerminationNotification,
};
use martlet_sbi_api::nsmf_callback::SmfCallback;
use martlet_sbi_api::nsmf_pdusession::{
    SmContextCreateData, SmContextCreatedData, SmContextReleaseData, SmContextReleasedData,
    SmContextRetrieveData, SmContextRetrievedData, SmContextUpdateData, SmContextUpdatedData,
    SmfPduSession,
};
use martlet_sbi_api::nudm_sdm::ModificationNotification;
use martlet_sbi_api::nudm_uecm::DeregistrationData;
use tokio::sync::oneshot;

fn unknown(reference: &str) -> Problem {
    Problem::new(404, "CONTEXT_NOT_FOUND")
        .detail(format!("there is no session context {reference}"))
}

impl Smf {
    /// A session: of this SMF, or of one of its set that is gone.
    async fn find(&self, reference: &str) -> Result<SessionHandle, Problem> {
        // free5GC's AMF puts this before whatever the location of a context has.
        let reference = reference.strip_prefix("urn:uuid:").unwrap_or(reference);
        let found = match (self.sessions.get(reference), self.itself.upgrade()) {
            (None, Some(smf)) if smf.config.set.is_some() => {
                // What it takes from the store is this SMF's to keep, whoever gives up meanwhile.
                let reference = reference.to_string();
                tokio::spawn(async move { set::take_over(&smf, &reference).await })
                    .await
                    .ok()
                    .flatten()
            }
            (found, _) => found,
        };
        found.ok_or_else(|| unknown(reference))
    }

    /// Sends a session an event: 404 where there is none.
    async fn tell(&self, reference: &str, event: SessionEvent) -> Result<(), Problem> {
        let session = self.find(reference).await?;
        match session.send(event) {
            true => Ok(()),
            false => Err(Problem::new(503, "NF_CONGESTION")
                .detail("the session has too many requests waiting")),
        }
    }
}

impl SmfPduSession for Smf {
    async fn post_sm_contexts(
        &self,
        body: Multipart<SmContextCreateData>,
    ) -> Result<Created<Multipart<SmContextCreatedData>>, Problem> {
        let smf =
            self.itself.upgrade().ok_or_else(|| Problem::system_failure("the SMF is ending"))?;
        establishment::create(&smf, body).await
    }

    async fn update_sm_context(
        &self,
        sm_context_ref: &str,
        body: Multipart<SmContextUpdateData>,
    ) -> Result<Option<Multipart<SmContextUpdatedData>>, Problem> {
        let (reply, answer) = oneshot::channel();
        self.tell(sm_context_ref, SessionEvent::Update(Box::new((body, Origin::here())), reply))
            .await?;
        answer.await.map_err(|_| unknown(sm_context_ref))?
    }

    async fn release_sm_context(
        &self,
        sm_context_ref: &str,
        _: Option<Multipart<SmContextReleaseData>>,
    ) -> Result<Option<SmContextReleasedData>, Problem> {
        let (reply, answer) = oneshot::channel();
        self.tell(sm_context_ref, SessionEvent::Release(reply)).await?;
        answer.await.map_err(|_| unknown(sm_context_ref))?;
        Ok(None)
    }

    async fn retrieve_sm_context(
        &self,
        sm_context_ref: &str,
        _: Option<SmContextRetrieveData>,
    ) -> Result<SmContextRetrievedData, Problem> {
        self.sessions.get(sm_context_ref).ok_or_else(|| unknown(sm_context_ref))?;
        Err(Problem::new(403, "TARGET_MME_CAPABILITY").detail("sessions do not move to EPS"))
    }
}

impl SmfCallback for Smf {
    async fn n1_n2_transfer_failure_notify(
        &self,
        sm_context_ref: &str,
        _: N1N2MsgTxfrFailureNotification,
    ) -> Result<(), Problem> {
        self.tell(sm_context_ref, SessionEvent::TransferFailed).await
    }

    async fn sm_policy_update_notify(
        &self,
        sm_context_ref: &str,
        body: SmPolicyNotification,
    ) -> Result<Option<Vec<PartialSuccessReport>>, Problem> {
        let decision = body.sm_policy_decision.unwrap_or_default();
        self.tell(sm_context_ref, SessionEvent::Policy(decision.into())).await.map(|()| None)
    }

    async fn sm_policy_terminate_notify(
        &self,
        sm_context_ref: &str,
        _: TerminationNotification,
    ) -> Result<(), Problem> {
        self.tell(sm_context_ref, SessionEvent::PolicyEnded).await
    }

    async fn charging_notify(
        &self,
        sm_context_ref: &str,
        _: ChargingNotifyRequest,
    ) -> Result<(), Problem> {
        self.tell(sm_context_ref, SessionEvent::ChargingAsked).await
    }

    async fn deregistration_notify(
        &self,
        sm_context_ref: &str,
        _: DeregistrationData,
    ) -> Result<(), Problem> {
        let (reply, _) = oneshot::channel();
        self.tell(sm_context_ref, SessionEvent::Release(reply)).await
    }

    async fn sdm_change_notify(
        &self,
        supi: &str,
        _: ModificationNotification,
    ) -> Result<(), Problem> {
        for session in self.sessions.all_of(supi) {
            session.send(SessionEvent::SubscriptionChanged);
        }
        Ok(())
    }
}
