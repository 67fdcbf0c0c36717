//! The LMF's services: Nlmf_Location and the callbacks of AMFs.
use crate::lpp::Delivery;
use crate::procedures::{determine_location, user_plane_connection};
use crate::user_plane::{Command, Supi};
use crate::{Lmf, metrics};
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
        let Ok(_permit) = self.requests.try_acquire() else {
            metrics::request("none", "NF_CONGESTION");
            let mut problem = Problem::new(503, "NF_CONGESTION")
                .detail("too many requests in progress: raise lmf.max_requests");
            problem.retry_after = Some(1);
            return Err(problem);
        };
        determine_location::run(&self.shared, body.json).await
    }

    /// Nlmf_Location_UPConfig: the AMF requests the establishment or release of a connection, or
    /// reports that it serves the UE now. The response does not wait for the UE, since its messages
    /// come through the waiting AMF.
    async fn up_config(&self, body: UpConfig) -> Result<(), Problem> {
        let ue: Supi = body
            .supi
            .as_deref()
            .ok_or_else(|| Problem::new(400, "MANDATORY_IE_MISSING").detail("supi"))?
            .into();
        if !self.shared.config.user_plane.enabled {
            return Err(Problem::new(403, "UNSPECIFIED").detail(
                "positioning over the user plane is disabled: see lmf.user_plane.enabled",
            ));
        }
        // The request does not name the AMF, which may be another one than before.
        self.shared.set_serving_amf(&ue, None);
        match body.lcs_up_connection_ind {
            Some(LcsUpConnectionInd::Termination) => {
                let shared = self.shared.clone();
                martlet_nf::spawn(async move {
                    if let Err(problem) = user_plane_connection::release(&shared, &ue).await {
                        tracing::info!(
                            supi = %ue,
                            %problem,
                            "no subscription to the UE's messages for the release of its user \
                             plane connection"
                        );
                    }
                });
                Ok(())
            }
            None if body.amf_reallocation_ind == Some(true) => {
                let connected = self.shared.channel_of(&ue).await?.is_some();
                let unknown = || {
                    Problem::new(404, "CONTEXT_NOT_FOUND")
                        .detail("the UE has no user plane connection")
                };
                connected.then_some(()).ok_or_else(unknown)?;
                let shared = self.shared.clone();
                martlet_nf::spawn(async move {
                    if let Err(problem) = user_plane_connection::modify(&shared, &ue).await {
                        tracing::info!(
                            supi = %ue,
                            %problem,
                            "user plane connection was not modified after a change of AMF"
                        );
                    }
                });
                Ok(())
            }
            _ => {
                let shared = self.shared.clone();
                martlet_nf::spawn(async move {
                    if let Err(problem) = user_plane_connection::establish(&shared, &ue, true).await
                    {
                        tracing::info!(
                            supi = %ue,
                            %problem,
                            "user plane connection requested by the UE was not established"
                        );
                    }
                });
                Ok(())
            }
        }
    }
}

impl Lmf {
    /// An NRPPa message from a gNB; `about` is the UE of a UE-associated one.
    fn nrppa(
        &self,
        about: Option<&str>,
        body: &Multipart<N2InformationNotification>,
    ) -> Result<(), Problem> {
        let container = body.json.n2_info_container.as_ref().and_then(|it| it.nrppa_info.as_ref());
        let bytes = container.and_then(|it| body.find(&it.nrppa_pdu.ngap_data.content_id));
        let bytes =
            bytes.ok_or_else(|| Problem::invalid_message("the NRPPa message is missing"))?;
        self.shared.nrppa.deliver(about, body.json.ran_node_id.clone(), bytes)
    }
}

impl LmfCallback for Lmf {
    async fn n1_message_notify(
        &self,
        supi: &str,
        body: Multipart<N1MessageNotification>,
    ) -> Result<(), Problem> {
        let container = &body.json.n1_message_container;
        let bytes = body.find(&container.n1_message_content.content_id);
        let bytes =
            bytes.ok_or_else(|| Problem::invalid_message("the N1 message is missing"))?.to_vec();
        match container.n1_message_class {
            N1MessageClass::UppCmi => {
                self.shared.send_command(Command::UppCm { ue: supi.into(), bytes }).await
            }
            N1MessageClass::Lpp => {
                let correlation = body.json.lcs_correlation_id.as_deref().unwrap_or_default();
                match self.shared.control_plane.deliver(supi, correlation, bytes) {
                    Delivery::Delivered => return Ok(()),
                    Delivery::UnknownSession => metrics::rejected("lpp_unknown_session"),
                    Delivery::WrongUe => {
                        metrics::rejected("lpp_wrong_ue");
                        if let Some(suppressed) = martlet_log_limit::line("lpp_wrong_ue", supi) {
                            tracing::warn!(
                                supi,
                                correlation,
                                suppressed,
                                "LPP message rejected: session of another UE"
                            );
                        }
                    }
                }
                Err(Problem::new(404, "CONTEXT_NOT_FOUND").detail("no such LPP session"))
            }
            ref other => Err(Problem::new(404, "CONTEXT_NOT_FOUND")
                .detail(format!("the LMF does not support N1 messages of class {other}"))),
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
