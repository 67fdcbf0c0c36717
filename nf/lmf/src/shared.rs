//! What the procedures, the owner of the connections, and the services share.
use crate::config::LmfConfig;
use crate::listening::Listening;
use crate::nrppa::Nrppa;
use crate::owner::{Command, Supi};
use crate::session::gone;
use crate::user_plane::transport;
use martlet_lcs_channel::Kind;
use martlet_lcs_protocol::Loss;
use martlet_nf::{Criteria, NfContext};
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::common::RefToBinaryData;
use martlet_sbi_api::namf_communication::{
    AmfCommunicationClient, N1MessageClass, N1MessageContainer, N1N2MessageTransferReqData,
    UeN1N2InfoSubscriptionCreateData,
};
use martlet_sbi_api::namf_location::{AmfLocationClient, LocationType, RequestPosInfo};
use martlet_sbi_api::nlmf_location::ExternalClientType;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// What all have.
pub(crate) struct Shared {
    pub(crate) config: LmfConfig,
    pub(crate) context: Arc<NfContext>,
    pub(crate) owner: mpsc::Sender<Command>,
    /// What is said with gNBs.
    pub(crate) nrppa: Nrppa,
    /// Who waits for LPP messages over NAS.
    pub(crate) listening: Listening,
}

impl Shared {
    pub(crate) fn new(
        config: LmfConfig,
        context: Arc<NfContext>,
        owner: mpsc::Sender<Command>,
    ) -> Arc<Self> {
        Arc::new(Shared {
            config,
            context,
            owner,
            listening: Listening::default(),
            nrppa: Nrppa::default(),
        })
    }

    /// An AMF, for what is about no UE.
    pub(crate) async fn any_amf(&self) -> Result<AmfCommunicationClient, Problem> {
        let amf = self.context.discover(NfType::Amf, "namf-comm", &Criteria::default()).await?;
        Ok(AmfCommunicationClient::new(amf))
    }

    pub(crate) async fn amf(&self, ue: &str) -> Result<AmfCommunicationClient, Problem> {
        let amf = self.context.discover(NfType::Amf, "namf-comm", &Criteria::default()).await?;
        Ok(AmfCommunicationClient::new(amf.about(ue)))
    }

    /// Asks the owner of the connections.
    pub(crate) async fn ask(&self, command: Command) -> Result<(), Problem> {
        self.owner.send(command).await.map_err(|_| gone("the LMF ends"))
    }

    /// Namf_Communication_N1N2MessageTransfer: a message for a UE.
    pub(crate) async fn to_ue(
        &self,
        ue: &Supi,
        class: N1MessageClass,
        correlation: Option<String>,
        octets: Vec<u8>,
    ) -> Result<(), Problem> {
        let mut container =
            N1MessageContainer::new(class, RefToBinaryData { content_id: "n1".into() });
        container.nf_id = self.context.instance_id().parse().ok();
        let request = N1N2MessageTransferReqData {
            n1_message_container: Some(container),
            lcs_correlation_id: correlation,
            ..Default::default()
        };
        let body = Multipart::new(request).part("n1", content_type::NAS, octets);
        self.amf(ue).await?.n1_n2_message_transfer(ue, body).await.map(|_| ())
    }

    /// Namf_Communication_N1MessageSubscribe: the UE's messages of a class come here from now on.
    pub(crate) async fn subscribe(&self, ue: &Supi, class: N1MessageClass) -> Result<(), Problem> {
        let uri = format!("{}/nlmf-callback/v1/n1-messages/{ue}", self.context.api_root());
        let data = UeN1N2InfoSubscriptionCreateData {
            n1_message_class: Some(class),
            n1_notify_callback_uri: Some(uri),
            nf_id: self.context.instance_id().parse().ok(),
            ..Default::default()
        };
        self.amf(ue).await?.n1_n2_message_subscribe(ue, data).await.map(|_| ())
    }

    /// Has a UE connect over the user plane (TS 23.273, 6.18.1).
    pub(crate) async fn connect(&self, ue: &Supi) -> Result<(), Problem> {
        if self.connected(ue).await?.is_some() {
            return Ok(());
        }
        self.subscribe(ue, N1MessageClass::UppCmi).await?;
        let (answer, answered) = oneshot::channel();
        self.ask(Command::Connect { ue: ue.clone(), answer }).await?;
        let limit = Duration::from_millis(self.config.connect_ms.into());
        match tokio::time::timeout(limit, answered).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(loss))) => Err(not_connected(loss)),
            Ok(Err(_)) => Err(gone("the LMF ends")),
            Err(_) => Err(Problem::new(504, "PEER_NOT_RESPONDING")
                .detail("the UE does not connect over the user plane")),
        }
    }

    /// A UE's AMF is another one: its messages come from there now, and it is told that its
    /// connection goes on (TS 24.572, modification of a user plane connection).
    pub(crate) async fn moved(&self, ue: &Supi) -> Result<(), Problem> {
        self.subscribe(ue, N1MessageClass::UppCmi).await?;
        self.ask(Command::Modify { ue: ue.clone() }).await
    }

    /// Namf_Location_ProvidePositioningInfo: where a UE is, as whoever is outside asks it.
    pub(crate) async fn locate(&self, supi: &str) -> Result<serde_json::Value, Problem> {
        let amf = self.context.discover(NfType::Amf, "namf-loc", &Criteria::default()).await?;
        let request = RequestPosInfo::new(
            ExternalClientType::PlmnOperatorServices,
            LocationType::CurrentLocation,
        );
        let position =
            AmfLocationClient::new(amf.about(supi)).provide_positioning_info(supi, request).await?;
        let mut position = serde_json::to_value(position).unwrap_or_default();
        let over = self.connected(&supi.into()).await?;
        if let Some(position) = position.as_object_mut() {
            // Not of 3GPP: for who asked, who may wonder how the UE was.
            let over = over.map(|kind| {
                let why = self.config.user_plane.why();
                serde_json::json!({"channel": kind.name(), "transport": transport(kind), "why": why})
            });
            position.insert("userPlane".into(), over.unwrap_or_default());
        }
        Ok(position)
    }

    /// Over which kind of channel a UE is connected; none where it is not.
    pub(crate) async fn connected(&self, ue: &Supi) -> Result<Option<Kind>, Problem> {
        let (answer, answered) = oneshot::channel();
        self.ask(Command::Status { ue: ue.clone(), answer }).await?;
        answered.await.map_err(|_| gone("the LMF ends"))
    }
}

fn not_connected(loss: Loss) -> Problem {
    let text = match loss {
        Loss::Cause(cause) => format!("the UE does not connect over the user plane: {cause}"),
        other => format!("the UE does not connect over the user plane: {other:?}"),
    };
    gone(&text)
}
