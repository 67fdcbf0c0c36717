//! The state that services, procedures and connections share, and requests to AMFs.
use crate::config::LmfConfig;
use crate::lpp::ControlPlaneSessions;
use crate::nrppa::Nrppa;
use crate::user_plane::{Command, Supi, transport};
use martlet_lcs_channel::Kind;
use martlet_nf::{Criteria, NfContext};
use martlet_sbi::{Multipart, Problem, content_type, path_segment};
use martlet_sbi_api::common::RefToBinaryData;
use martlet_sbi_api::namf_communication::{
    AmfCommunicationClient, N1MessageClass, N1MessageContainer, N1N2MessageTransferReqData,
    UeN1N2InfoSubscriptionCreateData,
};
use martlet_sbi_api::namf_location::{AmfLocationClient, LocationType, RequestPosInfo};
use martlet_sbi_api::nlmf_location::ExternalClientType;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// The shared state.
pub(crate) struct Shared {
    pub(crate) config: LmfConfig,
    pub(crate) context: Arc<NfContext>,
    /// Commands to the task that owns the connections.
    pub(crate) connections: mpsc::Sender<Command>,
    /// NRPPa transactions and measurements.
    pub(crate) nrppa: Nrppa,
    /// Sessions over NAS.
    pub(crate) control_plane: ControlPlaneSessions,
}

impl Shared {
    pub(crate) fn new(
        config: LmfConfig,
        context: Arc<NfContext>,
        connections: mpsc::Sender<Command>,
    ) -> Arc<Self> {
        Arc::new(Shared {
            config,
            context,
            connections,
            control_plane: ControlPlaneSessions::default(),
            nrppa: Nrppa::default(),
        })
    }

    /// A client of any AMF, for non-UE requests.
    pub(crate) async fn any_amf(&self) -> Result<AmfCommunicationClient, Problem> {
        let amf = self.context.discover(NfType::Amf, "namf-comm", &Criteria::default()).await?;
        Ok(AmfCommunicationClient::new(amf))
    }

    /// A client of the AMF, for requests about one UE.
    pub(crate) async fn amf(&self, ue: &str) -> Result<AmfCommunicationClient, Problem> {
        let amf = self.context.discover(NfType::Amf, "namf-comm", &Criteria::default()).await?;
        Ok(AmfCommunicationClient::new(amf.about(ue)))
    }

    /// Sends a command to the task that owns the connections.
    pub(crate) async fn send_command(&self, command: Command) -> Result<(), Problem> {
        self.connections.send(command).await.map_err(|_| shutting_down())
    }

    /// Namf_Communication_N1N2MessageTransfer: sends a message to a UE over NAS.
    pub(crate) async fn send_nas(
        &self,
        ue: &Supi,
        class: N1MessageClass,
        correlation: Option<String>,
        bytes: Vec<u8>,
    ) -> Result<(), Problem> {
        let mut container =
            N1MessageContainer::new(class, RefToBinaryData { content_id: "n1".into() });
        container.nf_id = self.context.instance_id().parse().ok();
        let request = N1N2MessageTransferReqData {
            nf_id: container.nf_id.clone(),
            n1_message_container: Some(container),
            lcs_correlation_id: correlation,
            ..Default::default()
        };
        let body = Multipart::new(request).part("n1", content_type::NAS, bytes);
        self.amf(ue).await?.n1_n2_message_transfer(ue, body).await.map(|_| ())
    }

    /// Namf_Communication_N1MessageSubscribe: subscribes to the UE's messages of a class.
    pub(crate) async fn subscribe(&self, ue: &Supi, class: N1MessageClass) -> Result<(), Problem> {
        let root = self.context.api_root();
        let uri = format!("{root}/nlmf-callback/v1/n1-messages/{}", path_segment(ue));
        let data = UeN1N2InfoSubscriptionCreateData {
            n1_message_class: Some(class),
            n1_notify_callback_uri: Some(uri),
            nf_id: self.context.instance_id().parse().ok(),
            ..Default::default()
        };
        self.amf(ue).await?.n1_n2_message_subscribe(ue, data).await.map(|_| ())
    }

    /// Namf_Location_ProvidePositioningInfo: the position of a UE, as a GMLC requests it.
    pub(crate) async fn locate(&self, supi: &str) -> Result<serde_json::Value, Problem> {
        let amf = self.context.discover(NfType::Amf, "namf-loc", &Criteria::default()).await?;
        let mut request = RequestPosInfo::new(
            ExternalClientType::PlmnOperatorServices,
            LocationType::CurrentLocation,
        );
        request.supi = supi.parse().ok();
        let position =
            AmfLocationClient::new(amf.about(supi)).provide_positioning_info(supi, request).await?;
        let mut position = serde_json::to_value(position).unwrap_or_default();
        let over = self.channel_of(&supi.into()).await?;
        if let Some(position) = position.as_object_mut() {
            // Not a 3GPP member: information for the user of `martlet locate`.
            let over = over.map(|kind| {
                let why = self.config.user_plane.channel_reason();
                serde_json::json!({"channel": kind.name(), "transport": transport(kind),
                    "why": why})
            });
            position.insert("userPlane".into(), over.unwrap_or_default());
        }
        Ok(position)
    }

    /// The kind of channel of a UE's connection; None if the UE is not connected.
    pub(crate) async fn channel_of(&self, ue: &Supi) -> Result<Option<Kind>, Problem> {
        let (answer, answered) = oneshot::channel();
        self.send_command(Command::Status { ue: ue.clone(), answer }).await?;
        answered.await.map_err(|_| shutting_down())
    }
}

/// 504: the UE cannot be reached.
pub(crate) fn unreachable_ue(detail: &str) -> Problem {
    Problem::new(504, "UNREACHABLE_USER").detail(detail.to_string())
}

/// The LMF is shutting down.
pub(crate) fn shutting_down() -> Problem {
    unreachable_ue("the LMF is shutting down")
}
