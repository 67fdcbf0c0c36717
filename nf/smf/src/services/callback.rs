//! Notifications of other NFs: each goes to the task of its session.
use crate::session_event::SessionEvent;
use crate::shared::Smf;
use martlet_sbi::Problem;
use martlet_sbi_api::namf_communication::N1N2MsgTxfrFailureNotification;
use martlet_sbi_api::nchf_converged_charging::ChargingNotifyRequest;
use martlet_sbi_api::npcf_sm_policy_control::{
    PartialSuccessReport, SmPolicyNotification, TerminationNotification,
};
use martlet_sbi_api::nsmf_callback::SmfCallback;
use martlet_sbi_api::nudm_sdm::ModificationNotification;
use martlet_sbi_api::nudm_uecm::DeregistrationData;
use tokio::sync::oneshot;

impl SmfCallback for Smf {
    async fn n1_n2_transfer_failure_notify(
        &self,
        sm_context_ref: &str,
        _: N1N2MsgTxfrFailureNotification,
    ) -> Result<(), Problem> {
        self.send(sm_context_ref, SessionEvent::TransferFailed).await
    }

    async fn sm_policy_update_notify(
        &self,
        sm_context_ref: &str,
        body: SmPolicyNotification,
    ) -> Result<Option<Vec<PartialSuccessReport>>, Problem> {
        let decision = body.sm_policy_decision.unwrap_or_default();
        self.send(sm_context_ref, SessionEvent::PolicyDecision(decision.into()))
            .await
            .map(|()| None)
    }

    async fn sm_policy_terminate_notify(
        &self,
        sm_context_ref: &str,
        _: TerminationNotification,
    ) -> Result<(), Problem> {
        self.send(sm_context_ref, SessionEvent::PolicyTerminated).await
    }

    async fn charging_notify(
        &self,
        sm_context_ref: &str,
        _: ChargingNotifyRequest,
    ) -> Result<(), Problem> {
        self.send(sm_context_ref, SessionEvent::Reauthorize).await
    }

    async fn deregistration_notify(
        &self,
        sm_context_ref: &str,
        _: DeregistrationData,
    ) -> Result<(), Problem> {
        let (reply, _) = oneshot::channel();
        self.send(sm_context_ref, SessionEvent::Release(None, reply)).await
    }

    async fn sdm_change_notify(
        &self,
        supi: &str,
        _: ModificationNotification,
    ) -> Result<(), Problem> {
        for session in self.sessions.of_ue(supi) {
            session.send(SessionEvent::SubscriptionChanged);
        }
        Ok(())
    }
}
