//! Namf_Communication (TS 29.518, 5.2). The UE's task runs each operation, even if the consumer
//! times out. What needs no task is answered here, since the task may be waiting for the same
//! consumer.
use crate::Amf;
use crate::procedures::connection::n1_n2_message_transfer;
use crate::procedures::positioning::nrppa_transport;
use crate::procedures::registration::{amf_set_takeover, ue_context_transfer};
use crate::ue::{Event, Transfer, UeHandle};
use martlet_nas::Guti;
use martlet_nf::peer_certificate;
use martlet_sbi::trace::Origin;
use martlet_sbi::{Created, Multipart, Problem, StatusReply};
use martlet_sbi_api::namf_communication::*;
use tokio::sync::oneshot;

fn unknown(ue_context_id: &str) -> Problem {
    Problem::new(404, "CONTEXT_NOT_FOUND")
        .detail(format!("the AMF has no context of {ue_context_id}"))
}

impl Amf {
    /// The UE of a UE context ID (TS 29.518, 6.1.3.2.2): SUPI or 5G-GUTI.
    pub(crate) fn find(&self, ue_context_id: &str) -> Result<UeHandle, Problem> {
        let by_guti = || {
            let guti: Guti = ue_context_id.parse().ok()?;
            match self.served.allocated(&guti) {
                true => self.tables.by_tmsi(guti.tmsi()),
                false => self.tables.by_number(self.rebalancing.offered(ue_context_id)?),
            }
        };
        let found = match ue_context_id.starts_with("5g-guti-") {
            true => by_guti(),
            false => self.tables.by_supi(ue_context_id),
        };
        found.ok_or_else(|| unknown(ue_context_id))
    }

    /// Like `find`, but takes a UE over from a failed AMF of the set. A context in RM-DEREGISTERED
    /// may be what is left here since the UE registered at that AMF.
    pub(crate) async fn find_in_set(&self, ue_context_id: &str) -> Result<UeHandle, Problem> {
        let found = self.find(ue_context_id).ok();
        let is_served = found.as_ref().is_some_and(|ue| !self.tables.is_deregistered(ue.number));
        if let (false, Some(amf)) = (is_served, self.this()) {
            // A separate task completes the takeover even if the consumer times out.
            let supi = ue_context_id.to_string();
            let taken =
                martlet_nf::spawn(async move { amf_set_takeover::by_service(&amf, &supi).await });
            let taken = taken.await.ok().flatten();
            return taken.or(found).ok_or_else(|| unknown(ue_context_id));
        }
        found.ok_or_else(|| unknown(ue_context_id))
    }
}

impl AmfCommunication for Amf {
    async fn n1_n2_message_transfer(
        &self,
        ue_context_id: &str,
        body: Multipart<N1N2MessageTransferReqData>,
    ) -> Result<StatusReply<N1N2MessageTransferRspData>, Problem> {
        n1_n2_message_transfer::check_sender(&body.json, peer_certificate().as_deref())?;
        let ue = self.find_in_set(ue_context_id).await?;
        if let Some(uri) = &body.json.n1n2_failure_txf_notif_uri {
            self.context.check_callback(uri).await?;
        }
        let n1 =
            body.json.n1_message_container.as_ref().map(|n1| &n1.n1_message_content.content_id);
        let n2 = n1_n2_message_transfer::n2_content_id(&body.json);
        let (n1, n2) =
            (n1.and_then(|id| body.find(id)).cloned(), n2.and_then(|id| body.find(&id)).cloned());
        let summary = self.tables.summary(ue.number).unwrap_or_default();
        let at_once =
            n1_n2_message_transfer::answer_at_once(self.context.api_root(), &summary, &body.json);
        if let Some(Err(problem)) = at_once {
            return Err(problem);
        }
        let (answer, answered) = oneshot::channel();
        let answer = at_once.is_none().then_some(answer);
        let transfer = Transfer { request: body.json, n1, n2, origin: Origin::here(), answer };
        ue.send(Event::Transfer(transfer.into()))?;
        match at_once {
            Some(answer) => answer,
            None => answered.await.unwrap_or_else(|_| Err(unknown(ue_context_id))),
        }
    }

    async fn n1_n2_message_subscribe(
        &self,
        ue_context_id: &str,
        body: UeN1N2InfoSubscriptionCreateData,
    ) -> Result<Created<UeN1N2InfoSubscriptionCreatedData>, Problem> {
        let ue = self.find(ue_context_id)?;
        for uri in body.n1_notify_callback_uri.iter().chain(&body.n2_notify_callback_uri) {
            self.context.check_callback(uri).await?;
        }
        let (answer, answered) = oneshot::channel();
        ue.send(Event::Subscribe(body.into(), answer))?;
        let created = answered.await.unwrap_or_else(|_| Err(unknown(ue_context_id)))?;
        let (root, id) = (self.context.api_root(), &created.n1n2_notify_subscription_id);
        let location = format!(
            "{root}/namf-comm/v1/ue-contexts/{ue_context_id}/n1-n2-messages/subscriptions/{id}"
        );
        Ok(Created { location, body: created })
    }

    async fn n1_n2_message_unsubscribe(
        &self,
        ue_context_id: &str,
        id: &str,
    ) -> Result<(), Problem> {
        let ue = self.find(ue_context_id)?;
        let (answer, answered) = oneshot::channel();
        ue.send(Event::Unsubscribe(id.into(), answer))?;
        answered.await.unwrap_or_else(|_| Err(unknown(ue_context_id)))
    }

    async fn ebi_assignment(
        &self,
        ue_context_id: &str,
        _: AssignEbiData,
    ) -> Result<AssignedEbiData, Problem> {
        self.find(ue_context_id)?;
        Err(Problem::new(403, "EBI_REJECTED_NO_N26").detail("no interworking with EPS"))
    }

    async fn create_ue_context(
        &self,
        ue_context_id: &str,
        body: Multipart<UeContextCreateData>,
    ) -> Result<Created<Multipart<UeContextCreatedData>>, Problem> {
        if let Some(uri) = &body.json.n2_notify_uri {
            self.context.check_callback(uri).await?;
        }
        ue_context_transfer::check_sm_contexts(self, &body.json.ue_context).await?;
        let full = || Problem::new(403, "HANDOVER_FAILURE").detail("too many UE contexts");
        let ue = self.this().and_then(|amf| amf.new_ue()).ok_or_else(full)?;
        let (answer, answered) = oneshot::channel();
        ue.send(Event::HandoverFromAmf(body.into(), answer))?;
        let created = answered.await.unwrap_or_else(|_| Err(full()))?;
        let (root, ue) = (self.context.api_root(), martlet_sbi::path_segment(ue_context_id));
        let location = format!("{root}/namf-comm/v1/ue-contexts/{ue}");
        Ok(Created { location, body: created })
    }

    async fn release_ue_context(
        &self,
        ue_context_id: &str,
        _: UeContextRelease,
    ) -> Result<(), Problem> {
        self.find(ue_context_id)?.send(Event::HandoverReleased)
    }

    async fn ue_context_transfer(
        &self,
        ue_context_id: &str,
        body: Multipart<UeContextTransferReqData>,
    ) -> Result<Multipart<UeContextTransferRspData>, Problem> {
        let ue = self.find(ue_context_id)?;
        let nas = body
            .json
            .reg_request
            .as_ref()
            .and_then(|n1| body.find(&n1.n1_message_content.content_id))
            .cloned();
        let (answer, answered) = oneshot::channel();
        ue.send(Event::ContextTransfer(body.json.into(), nas, answer))?;
        answered.await.unwrap_or_else(|_| Err(unknown(ue_context_id)))
    }

    async fn registration_status_update(
        &self,
        ue_context_id: &str,
        body: UeRegStatusUpdateReqData,
    ) -> Result<UeRegStatusUpdateRspData, Problem> {
        let ue = self.find(ue_context_id)?;
        let (answer, answered) = oneshot::channel();
        ue.send(Event::ContextTransferred(body.into(), answer))?;
        answered.await.map_err(|_| unknown(ue_context_id))??;
        Ok(UeRegStatusUpdateRspData { reg_status_transfer_complete: true })
    }

    async fn non_ue_n2_message_transfer(
        &self,
        body: Multipart<N2InformationTransferReqData>,
    ) -> Result<N2InformationTransferRspData, Problem> {
        nrppa_transport::to_gnbs(self, body).await
    }

    async fn non_ue_n2_info_subscribe(
        &self,
        body: NonUeN2InfoSubscriptionCreateData,
    ) -> Result<Created<NonUeN2InfoSubscriptionCreatedData>, Problem> {
        self.context.check_callback(&body.n2_notify_callback_uri).await?;
        let created = self.nrppa_subscriptions.subscribe(body)?;
        let (root, id) = (self.context.api_root(), &created.n2_notify_subscription_id);
        let location = format!("{root}/namf-comm/v1/non-ue-n2-messages/subscriptions/{id}");
        Ok(Created { location, body: created })
    }

    async fn non_ue_n2_info_unsubscribe(&self, id: &str) -> Result<(), Problem> {
        self.nrppa_subscriptions.unsubscribe(id)
    }

    async fn amf_status_change_subscribe(
        &self,
        body: SubscriptionData,
    ) -> Result<Created<SubscriptionData>, Problem> {
        self.context.check_callback(&body.amf_status_uri).await?;
        let id = self.status_subscriptions.subscribe(&body)?;
        let root = self.context.api_root();
        Ok(Created { location: format!("{root}/namf-comm/v1/subscriptions/{id}"), body })
    }

    async fn amf_status_change_unsubscribe(&self, id: &str) -> Result<(), Problem> {
        self.status_subscriptions.unsubscribe(id)
    }
}
