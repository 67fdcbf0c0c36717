//! Namf_Callback: notifications of other NFs, each sent to the UE's task.
use crate::Amf;
use crate::procedures::registration::ue_context_transfer;
use crate::ue::Event;
use martlet_sbi::{Multipart, Problem};
use martlet_sbi_api::namf_callback::AmfCallback;
use martlet_sbi_api::namf_communication::{
    N1MessageNotification, N2InfoNotifyReason, N2InformationNotification,
};
use martlet_sbi_api::npcf_am_policy_control::{
    AmRequestedValueRep, PolicyUpdate, TerminationNotification,
};
use martlet_sbi_api::nsmf_pdusession::{ResourceStatus, SmContextStatusNotification};
use martlet_sbi_api::nudm_sdm::ModificationNotification;
use martlet_sbi_api::nudm_uecm::{DeregistrationData, DeregistrationReason};
use std::time::Duration;
use tokio::sync::oneshot;

/// Time for the context store to write what has changed.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

impl Amf {
    /// Waits until the context store has written all changes so far. Else this AMF could restore a
    /// context after a crash that it had said to be ended.
    ///
    /// # Errors
    /// The database does not answer: the UDM repeats its notification.
    async fn contexts_written(&self) -> Result<(), Problem> {
        let Some(amf) = self.this() else { return Ok(()) };
        let flush = move || amf.contexts.flush(WRITE_TIMEOUT);
        match tokio::task::spawn_blocking(flush).await {
            Ok(true) => Ok(()),
            _ => Err(Problem::system_failure("the change of the context is not stored yet")),
        }
    }
}

impl AmfCallback for Amf {
    async fn sm_context_status_notify(
        &self,
        supi: &str,
        pdu_session_id: &str,
        number: &str,
        body: SmContextStatusNotification,
    ) -> Result<(), Problem> {
        let unknown = |what: &str, text: &str| {
            Problem::new(404, "CONTEXT_NOT_FOUND").detail(format!("{text:?} is not a {what}"))
        };
        let psi =
            pdu_session_id.parse().map_err(|_| unknown("PDU session identity", pdu_session_id))?;
        let number = number.parse().map_err(|_| unknown("number of a session context", number))?;
        let ue = self.find(supi)?;
        let session = (psi, number);
        let is_known = body.status_info.resource_status == ResourceStatus::Released
            || self.tables.summary(ue.number).is_some_and(|ue| ue.sessions.contains(&session));
        ue.send(Event::SessionStatus { psi, number, notification: body.into() })?;
        // The SMF may have a session that this AMF has lost, or never known. A newer session with
        // the same identity has another number.
        match is_known {
            true => Ok(()),
            false => Err(Problem::new(404, "CONTEXT_NOT_FOUND")
                .detail(format!("{supi} has no PDU session {psi}"))),
        }
    }

    async fn am_policy_update_notify(
        &self,
        supi: &str,
        body: PolicyUpdate,
    ) -> Result<Option<AmRequestedValueRep>, Problem> {
        self.find(supi)?.send(Event::PolicyUpdate(body.into()))?;
        Ok(None)
    }

    async fn am_policy_terminate_notify(
        &self,
        supi: &str,
        _: TerminationNotification,
    ) -> Result<(), Problem> {
        self.find(supi)?.send(Event::PolicyTerminated)
    }

    async fn deregistration_notify(
        &self,
        supi: &str,
        body: DeregistrationData,
    ) -> Result<(), Problem> {
        let reason = body.dereg_reason;
        let is_served_elsewhere = matches!(
            reason,
            DeregistrationReason::UeInitialRegistration
                | DeregistrationReason::UeRegistrationAreaChange
        );
        let (done, acted) = oneshot::channel();
        let event = Event::Deregister(reason, Some(done));
        let sent = self.find(supi).and_then(|ue| ue.send(event));
        // For other reasons, the AMF may signal to the UE before.
        if sent.is_ok() && is_served_elsewhere {
            let _ = acted.await;
        }
        self.contexts_written().await?;
        sent
    }

    async fn n2_info_notify(
        &self,
        supi: &str,
        body: Multipart<N2InformationNotification>,
    ) -> Result<(), Problem> {
        match body.json.notify_reason {
            Some(N2InfoNotifyReason::HandoverCompleted) => {
                self.find(supi)?.send(Event::HandoverCompleted)
            }
            _ => Err(Problem::mandatory_ie_incorrect(
                "/notifyReason",
                "only HANDOVER_COMPLETED is expected",
            )),
        }
    }

    async fn n1_message_notify(
        &self,
        body: Multipart<N1MessageNotification>,
    ) -> Result<(), Problem> {
        if let Some(container) = &body.json.registration_ctxt_container {
            ue_context_transfer::check_sm_contexts(self, &container.ue_context).await?;
        }
        let full = || Problem::new(503, "NF_CONGESTION").detail("too many UE contexts");
        let ue = self.this().and_then(|amf| amf.new_ue()).ok_or_else(full)?;
        let (answer, answered) = oneshot::channel();
        ue.send(Event::RegistrationFromAmf(body.into(), answer))?;
        answered.await.unwrap_or_else(|_| Err(full()))
    }

    async fn sdm_change_notify(
        &self,
        supi: &str,
        _: ModificationNotification,
    ) -> Result<(), Problem> {
        self.find(supi)?.send(Event::SubscriptionChanged)
    }
}
