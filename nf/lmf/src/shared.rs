//! The state that services, procedures and connections share, and requests to AMFs.
use crate::config::LmfConfig;
use crate::lpp::ControlPlaneSessions;
use crate::nrppa::Nrppa;
use crate::user_plane::{Command, Supi, transport};
use martlet_lcs_channel::Kind;
use martlet_nf::{Criteria, NfContext};
use martlet_sbi::{Multipart, Peer, Problem, content_type, path_segment};
use martlet_sbi_api::common::{NfInstanceId, RefToBinaryData};
use martlet_sbi_api::namf_communication::{
    AmfCommunicationClient, N1MessageClass, N1MessageContainer, N1N2MessageTransferReqData,
    UeN1N2InfoSubscriptionCreateData,
};
use martlet_sbi_api::namf_location::{AmfLocationClient, LocationType, RequestPosInfo};
use martlet_sbi_api::nlmf_location::ExternalClientType;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nudm_uecm::{FeaturesQuery, UdmUeContextManagementClient};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Time for the AMF to provide a position, as for the LMF that it asks.
const LOCATE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of UEs whose AMF is remembered. Then all are forgotten, and looked up again.
const MAX_SERVING_AMFS: usize = 100_000;

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
    /// The AMF of each UE.
    serving_amfs: Mutex<HashMap<Supi, NfInstanceId>>,
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
            serving_amfs: Mutex::default(),
        })
    }

    fn serving_amfs(&self) -> MutexGuard<'_, HashMap<Supi, NfInstanceId>> {
        self.serving_amfs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the AMF that serves a UE. None: it is looked up with the next request.
    pub(crate) fn set_serving_amf(&self, ue: &Supi, amf: Option<NfInstanceId>) {
        let mut all = self.serving_amfs();
        let Some(amf) = amf else {
            all.remove(ue);
            return;
        };
        if all.len() >= MAX_SERVING_AMFS && !all.contains_key(ue) {
            all.clear();
        }
        all.insert(ue.clone(), amf);
    }

    /// Nudm_UECM_Get: the AMF with which the UE is registered. None: the UDM knows none.
    async fn registered_amf(&self, ue: &str) -> Option<NfInstanceId> {
        let udm = self.context.discover(NfType::Udm, "nudm-uecm", &Criteria::default()).await;
        let udm = UdmUeContextManagementClient::new(udm.ok()?.about(ue));
        let registration = udm.get_3gpp_registration(ue, FeaturesQuery::default()).await;
        registration.ok().map(|it| it.amf_instance_id)
    }

    /// A service of this AMF, or of any AMF if it is unknown or no longer registered: another
    /// member of its set takes the UE over.
    async fn amf_service(
        &self,
        amf: Option<NfInstanceId>,
        api: &'static str,
    ) -> Result<Peer, Problem> {
        if let Some(id) = amf {
            let serving = Criteria { nf_instance_id: Some(id), ..Default::default() };
            if let Ok(amf) = self.context.discover(NfType::Amf, api, &serving).await {
                return Ok(amf);
            }
        }
        self.context.discover(NfType::Amf, api, &Criteria::default()).await
    }

    /// The AMF that serves the UE, if it is known.
    pub(crate) fn serving_amf_id(&self, ue: &Supi) -> Option<NfInstanceId> {
        self.serving_amfs().get(ue).cloned()
    }

    async fn serving_amf(&self, ue: &Supi) -> Result<Peer, Problem> {
        let amf = match self.serving_amf_id(ue) {
            Some(amf) => Some(amf),
            None => {
                let found = self.registered_amf(ue).await;
                if found.is_some() {
                    self.set_serving_amf(ue, found.clone());
                }
                found
            }
        };
        self.amf_service(amf, "namf-comm").await
    }

    /// A client of the AMF that serves the UE, for requests about its gNBs.
    pub(crate) async fn amf_of_gnbs(&self, ue: &Supi) -> Result<AmfCommunicationClient, Problem> {
        self.serving_amf(ue).await.map(AmfCommunicationClient::new)
    }

    /// A client of the AMF that serves the UE, for requests about the UE.
    pub(crate) async fn amf(&self, ue: &Supi) -> Result<AmfCommunicationClient, Problem> {
        Ok(AmfCommunicationClient::new(self.serving_amf(ue).await?.about(ue)))
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
        let amf = self.amf_service(self.registered_amf(supi).await, "namf-loc").await?;
        let mut request = RequestPosInfo::new(
            ExternalClientType::PlmnOperatorServices,
            LocationType::CurrentLocation,
        );
        request.supi = supi.parse().ok();
        let amf = AmfLocationClient::new(amf.about(supi).within(LOCATE_TIMEOUT));
        let position = amf.provide_positioning_info(supi, request).await?;
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
