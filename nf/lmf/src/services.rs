//! What the LMF produces, and what AMFs call back.
use crate::listening::Heard;
use crate::owner::{Command, Supi};
use crate::{Lmf, determine_location, metrics};
use martlet_sbi::{Multipart, Problem};
use martlet_sbi_api::namf_communication::{
    N1MessageClass, N1MessageNotification, N2InformationNotification,
};
use martlet_sbi_api::nlmf_callback::LmfCallback;
use martlet_sbi_api::nlmf_location::{
    InputData, LcsUpConnectionInd, LmfLocation, LocationData, UpConfig,
};

impl LmfLocation for Lmf {
    async fn determine_location(
        &self,
        body: Multipart<InputData>,
    ) -> Result<LocationData, Problem> {
        let Ok(_turn) = self.requests.try_acquire() else {
            metrics::request("none", "NF_CONGESTION");
            let mut problem =
                Problem::new(503, "NF_CONGESTION").detail("too many requests are under way");
            problem.retry_after = Some(1);
            return Err(problem);
        };
        determine_location::run(&self.shared, body.json).await
    }

    /// The UE asks for a connection, its AMF ends it, or another AMF has the UE now. The answer
    /// does not wait for the UE, whose messages come through the AMF that waits.
    async fn up_config(&self, body: UpConfig) -> Result<(), Problem> {
        let ue: Supi = body
            .supi
            .as_deref()
            .ok_or_else(|| Problem::new(400, "MANDATORY_IE_MISSING").detail("supi"))?
            .into();
        if !self.shared.config.user_plane.enabled {
            return Err(Problem::new(403, "UNSPECIFIED")
                .detail("the LMF has no positioning over the user plane"));
        }
        match body.lcs_up_connection_ind {
            Some(LcsUpConnectionInd::Termination) => self.shared.ask(Command::Release { ue }).await,
            None if body.amf_reallocation_ind == Some(true) => {
                let connected = self.shared.connected(&ue).await?.is_some();
                let unknown = || {
                    Problem::new(404, "CONTEXT_NOT_FOUND")
                        .detail("the UE has no user plane connection")
                };
                connected.then_some(()).ok_or_else(unknown)?;
                let shared = self.shared.clone();
                tokio::spawn(async move {
                    if let Err(problem) = shared.moved(&ue).await {
                        tracing::info!(supi = %ue, %problem, "a UE that has another AMF was not told to go on");
                    }
                });
                Ok(())
            }
            _ => {
                let shared = self.shared.clone();
                tokio::spawn(async move {
                    if let Err(problem) = shared.connect(&ue).await {
                        tracing::info!(supi = %ue, %problem, "a UE that asked for a connection has none");
                    }
                });
                Ok(())
            }
        }
    }
}

impl Lmf {
    /// An NRPPa message of a gNB.
    fn nrppa(
        &self,
        about: Option<&str>,
        body: &Multipart<N2InformationNotification>,
    ) -> Result<(), Problem> {
        let container = body.json.n2_info_container.as_ref().and_then(|it| it.nrppa_info.as_ref());
        let octets = container.and_then(|it| body.find(&it.nrppa_pdu.ngap_data.content_id));
        let octets =
            octets.ok_or_else(|| Problem::invalid_message("the NRPPa message is missing"))?;
        self.shared.nrppa.heard(about, body.json.ran_node_id.clone(), octets)
    }
}

impl LmfCallback for Lmf {
    async fn n1_message_notify(
        &self,
        supi: &str,
        body: Multipart<N1MessageNotification>,
    ) -> Result<(), Problem> {
        let container = &body.json.n1_message_container;
        let octets = body.find(&container.n1_message_content.content_id);
        let octets =
            octets.ok_or_else(|| Problem::invalid_message("the N1 message is missing"))?.to_vec();
        match container.n1_message_class {
            N1MessageClass::UppCmi => {
                self.shared.ask(Command::Negotiation { ue: supi.into(), octets }).await
            }
            N1MessageClass::Lpp => {
                let correlation = body.json.lcs_correlation_id.as_deref().unwrap_or_default();
                match self.shared.listening.heard(supi, correlation, octets) {
                    Heard::Taken => return Ok(()),
                    Heard::Nobody => metrics::refused("lpp of nobody"),
                    Heard::Another => {
                        metrics::refused("lpp of another");
                        tracing::warn!(supi, correlation, "a UE answers in the session of another");
                    }
                }
                Err(Problem::new(404, "CONTEXT_NOT_FOUND")
                    .detail("nobody waits for the LPP message"))
            }
            ref other => Err(Problem::new(404, "CONTEXT_NOT_FOUND")
                .detail(format!("the LMF has no use for {other}"))),
        }
    }

    async fn n2_info_notify(
        &self,
        supi: &str,
        body: Multipart<N2InformationNotification>,
    ) -> Result<(), Problem> {
        self.nrppa(Some(supi), &body)
    }

    async fn non_ue_n2_info_notify(
        &self,
        body: Multipart<N2InformationNotification>,
    ) -> Result<(), Problem> {
        self.nrppa(None, &body)
    }
}
