//! A handwritten SMF that accepts every session and records its requests.
use martlet_nas::*;
use martlet_nf::{CommonConfig, Environment, NetworkFunction, NfContext, StartError, start};
use martlet_ngap::transfer::{Arp, GtpTunnel, QosFlow, ReleaseCommand, SessionType, SetupRequest};
use martlet_sbi::{Created, Multipart, Problem, ProblemDetails, Route, StatusReply, content_type};
use martlet_sbi_api::common::{Dnn, ExtSnssai, RefToBinaryData, Snssai};
use martlet_sbi_api::namf_communication::*;
use martlet_sbi_api::nnrf_nfmanagement::{
    DnnSmfInfoItem, NfProfile, NfType, SmfInfo, SnssaiSmfInfoItem,
};
use martlet_sbi_api::npcf_sm_policy_control::{
    PartialSuccessReport, SmPolicyNotification, TerminationNotification,
};
use martlet_sbi_api::nsmf_callback::{NSMF_CALLBACK, SmfCallback};
use martlet_sbi_api::nsmf_pdusession::*;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

static MADE: LazyLock<Mutex<HashMap<String, Arc<SmfByHand>>>> = LazyLock::new(Mutex::default);

/// How the SMF answers to a new session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Behaviour {
    Accept,
    /// With a message for the UE.
    Reject,
    /// Without one.
    Fail,
    /// Accepts, and sends a message to the UE before it answers to an activation.
    TransferFirst,
    /// Takes no update.
    Overloaded,
}

#[derive(Clone)]
struct Context {
    supi: String,
    psi: u8,
    pti: u8,
    status_uri: String,
}

pub struct SmfByHand {
    nf: Arc<NfContext>,
    contexts: Mutex<HashMap<String, Context>>,
    /// The recorded requests, such as `create 1`, `update 1 ACTIVATING`.
    notes: Mutex<Vec<String>>,
    behaviour: Mutex<Behaviour>,
    announced: Mutex<Vec<u8>>,
}

impl SmfByHand {
    pub async fn start(common: &CommonConfig, environment: &Environment) -> Arc<Self> {
        let running = start::<SmfByHand>((), common, environment).await.unwrap();
        MADE.lock().unwrap().remove(&running.identity.instance_id).unwrap()
    }

    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap()
    }

    /// The requests since the last call.
    pub fn notes(&self) -> Vec<String> {
        std::mem::take(&mut Self::lock(&self.notes))
    }

    /// Waits for a request and returns those up to it.
    pub async fn wait_for(&self, wanted: &str) -> Vec<String> {
        for _ in 0..3000 {
            if Self::lock(&self.notes).iter().any(|note| note == wanted) {
                return self.notes();
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("the SMF was not told {wanted:?}: {:?}", self.notes());
    }

    pub fn sessions(&self) -> usize {
        Self::lock(&self.contexts).len()
    }

    /// The sessions for which an AMF has announced itself as the serving one.
    pub fn announced(&self) -> Vec<u8> {
        Self::lock(&self.announced).clone()
    }

    /// Loses all sessions.
    pub fn lose_sessions(&self) {
        Self::lock(&self.contexts).clear();
    }

    pub fn set_behaviour(&self, behaviour: Behaviour) {
        *Self::lock(&self.behaviour) = behaviour;
    }

    fn note(&self, text: String) {
        Self::lock(&self.notes).push(text);
    }

    fn context(&self, reference: &str) -> Result<Context, Problem> {
        Self::lock(&self.contexts)
            .get(reference)
            .cloned()
            .ok_or_else(|| Problem::new(404, "CONTEXT_NOT_FOUND"))
    }

    async fn amf(&self) -> AmfCommunicationClient {
        let peer = self.nf.discover(NfType::Amf, "namf-comm", &Default::default()).await.unwrap();
        AmfCommunicationClient::new(peer)
    }

    /// N1N2MessageTransfer about a session.
    pub async fn transfer(
        &self,
        supi: &str,
        psi: u8,
        n1: Option<Vec<u8>>,
        n2: Option<(NgapIeType, Vec<u8>)>,
    ) -> Result<StatusReply<N1N2MessageTransferRspData>, Problem> {
        let part = |id: &str| RefToBinaryData { content_id: id.into() };
        let mut data =
            N1N2MessageTransferReqData { pdu_session_id: Some(psi), ..Default::default() };
        data.n1n2_failure_txf_notif_uri =
            Some(format!("{}/nsmf-callback/v1/n1-n2-transfer-failure/{psi}", self.nf.api_root()));
        let mut parts = Vec::new();
        if let Some(n1) = n1 {
            data.n1_message_container =
                Some(N1MessageContainer::new(N1MessageClass::Sm, part("n1")));
            parts.push(("n1", content_type::NAS, n1));
        }
        if let Some((kind, n2)) = n2 {
            let content = N2InfoContent {
                ngap_message_type: None,
                ngap_ie_type: Some(kind),
                ngap_data: part("n2"),
            };
            let mut container = N2InfoContainer::new(N2InformationClass::Sm);
            container.sm_info = Some(N2SmInformation {
                pdu_session_id: psi,
                n2_info_content: Some(content),
                ..Default::default()
            });
            data.n2_info_container = Some(container);
            parts.push(("n2", content_type::NGAP, n2));
        }
        let body = parts
            .into_iter()
            .fold(Multipart::new(data), |body, (id, media, octets)| body.part(id, media, octets));
        self.amf().await.n1_n2_message_transfer(supi, body).await
    }

    /// Notifies downlink data for an idle UE.
    pub async fn downlink_data(
        &self,
        supi: &str,
        psi: u8,
    ) -> Result<StatusReply<N1N2MessageTransferRspData>, Problem> {
        self.transfer(supi, psi, None, Some((NgapIeType::PduResSetupReq, setup()))).await
    }
}

pub fn setup() -> Vec<u8> {
    let flow = QosFlow::standard(1, 9, Arp::level(8));
    let tunnel = GtpTunnel::new([127, 0, 0, 8].into(), 7);
    SetupRequest::new(tunnel, SessionType::Ipv4, vec![flow])
        .with_ambr(1_000_000, 1_000_000)
        .encode()
        .unwrap()
}

pub fn release_command() -> Vec<u8> {
    use martlet_ngap::ngap::{Cause, CauseNas};
    ReleaseCommand::new(Cause::nas(CauseNas::normal_release)).encode().unwrap()
}

fn gsm(message: Nas5gsMessage) -> Vec<u8> {
    message.encode().unwrap()
}

fn accept(psi: u8, pti: u8) -> Vec<u8> {
    let accept = NasPduSessionEstablishmentAccept::new(
        NasPduSessionType::from_session_type(PduSessionTypeValue::Ipv4),
        NasSscMode::from_mode(SscModeValue::Ssc1),
        qos::default_rule(1, 1).unwrap(),
        qos::session_ambr(1_000_000, 1_000_000).unwrap(),
    )
    .with_authorized_qos_flow_descriptions(qos::flow(1, 9).unwrap())
    .with_pdu_address(NasPduAddress::from_ipv4([10, 45, 0, psi]));
    gsm(Nas5gsMessage::new_5gsm(accept, psi, pti))
}

impl SmfPduSession for SmfByHand {
    async fn post_sm_contexts(
        &self,
        body: Multipart<SmContextCreateData>,
    ) -> Result<Created<Multipart<SmContextCreatedData>>, Problem> {
        let psi = body.json.pdu_session_id.unwrap();
        let supi = body.json.supi.clone().unwrap().to_string();
        // As OAI's SMF finds it.
        let n1 = body.find("n1SmMsg").expect("the UE's message");
        assert_eq!(n1[..2], [0x2e, psi]);
        let pti = n1[2];
        self.note(format!(
            "create {psi} {} {}",
            body.json.s_nssai.unwrap(),
            body.json.dnn.clone().unwrap()
        ));
        match *Self::lock(&self.behaviour) {
            Behaviour::Accept | Behaviour::TransferFirst | Behaviour::Overloaded => {}
            Behaviour::Reject => {
                let reject = NasPduSessionEstablishmentReject::new(NasFGsmCause::from_cause(
                    GsmCause::MissingOrUnknownDnn,
                ));
                let error = SmContextCreateError {
                    error: ProblemDetails {
                        status: Some(403),
                        cause: Some("DNN_DENIED".into()),
                        ..Default::default()
                    },
                    n1_sm_msg: Some(RefToBinaryData { content_id: "n1".into() }),
                    ..Default::default()
                };
                let body = Multipart::new(error).part(
                    "n1",
                    content_type::NAS,
                    gsm(Nas5gsMessage::new_5gsm(reject, psi, pti)),
                );
                return Err(SmContextCreateError::into_problem(body));
            }
            Behaviour::Fail => return Err(Problem::new(500, "INSUFFICIENT_RESOURCES_SLICE_DNN")),
        }
        let reference = format!("{supi}-{psi}");
        let status_uri = body.json.sm_context_status_uri.clone();
        let context = Context { supi: supi.clone(), psi, pti, status_uri };
        Self::lock(&self.contexts).insert(reference.clone(), context);
        let me = MADE.lock().unwrap().get(self.nf.instance_id()).cloned();
        let (amf, message) = (self.amf().await, accept(psi, pti));
        let part = |id: &str| RefToBinaryData { content_id: id.into() };
        let content = N2InfoContent {
            ngap_message_type: None,
            ngap_ie_type: Some(NgapIeType::PduResSetupReq),
            ngap_data: part("n2"),
        };
        let mut container = N2InfoContainer::new(N2InformationClass::Sm);
        container.sm_info = Some(N2SmInformation {
            pdu_session_id: psi,
            n2_info_content: Some(content),
            ..Default::default()
        });
        let data = N1N2MessageTransferReqData {
            pdu_session_id: Some(psi),
            n1_message_container: Some(N1MessageContainer::new(N1MessageClass::Sm, part("n1"))),
            n2_info_container: Some(container),
            ..Default::default()
        };
        let body = Multipart::new(data).part("n1", content_type::NAS, message).part(
            "n2",
            content_type::NGAP,
            setup(),
        );
        tokio::spawn(async move {
            let _me = me;
            let answer = amf.n1_n2_message_transfer(&supi, body).await.unwrap();
            assert_eq!(answer.body.unwrap().cause, N1N2MessageTransferCause::N1N2TransferInitiated);
        });
        let location = format!("{}/nsmf-pdusession/v1/sm-contexts/{reference}", self.nf.api_root());
        Ok(Created { location, body: SmContextCreatedData::default().into() })
    }

    async fn update_sm_context(
        &self,
        reference: &str,
        body: Multipart<SmContextUpdateData>,
    ) -> Result<Option<Multipart<SmContextUpdatedData>>, Problem> {
        let context = self.context(reference)?;
        let psi = context.psi;
        if *Self::lock(&self.behaviour) == Behaviour::Overloaded {
            self.note(format!("overloaded {psi}"));
            return Err(Problem::new(503, "NF_CONGESTION"));
        }
        if body.json.serving_nf_id.is_some() && body.json.sm_context_status_uri.is_some() {
            Self::lock(&self.announced).push(psi);
        }
        let part = |id: &str| Some(RefToBinaryData { content_id: id.into() });
        if let Some(state) = &body.json.up_cnx_state {
            self.note(format!("update {psi} {state}"));
            if *state != UpCnxState::Activating {
                return Ok(None);
            }
            let behaviour = *Self::lock(&self.behaviour);
            if behaviour == Behaviour::TransferFirst {
                let status = vec![0x2e, psi, 0, 0xd6, 98];
                let answer = self.transfer(&context.supi, psi, Some(status), None).await.unwrap();
                self.note(format!("transferred {}", answer.status));
            }
            let data = SmContextUpdatedData {
                n2_sm_info: part("n2"),
                n2_sm_info_type: Some(N2SmInfoType::PduResSetupReq),
                up_cnx_state: Some(UpCnxState::Activating),
                ..Default::default()
            };
            return Ok(Some(Multipart::new(data).part("n2", content_type::NGAP, setup())));
        }
        if let Some(kind) = &body.json.n2_sm_info_type {
            assert!(body.find("n2msg").is_some_and(|info| !info.is_empty()));
            self.note(format!("update {psi} {kind}"));
            return Ok(None);
        }
        let n1 = body.find("n1SmMsg").expect("something").clone();
        let Ok(Nas5gsMessage::Gsm(header, message)) = Nas5gsMessage::decode(&n1) else {
            panic!("no 5GSM message")
        };
        let pti = header.procedure_transaction_identity;
        match message {
            Nas5gsmMessage::PduSessionReleaseRequest(_) => {
                self.note(format!("update {psi} release request"));
                let command = NasPduSessionReleaseCommand::new(NasFGsmCause::from_cause(
                    GsmCause::RegularDeactivation,
                ));
                let data = SmContextUpdatedData {
                    n1_sm_msg: part("n1"),
                    n2_sm_info: part("n2"),
                    n2_sm_info_type: Some(N2SmInfoType::PduResRelCmd),
                    ..Default::default()
                };
                let answer = Multipart::new(data)
                    .part("n1", content_type::NAS, gsm(Nas5gsMessage::new_5gsm(command, psi, pti)))
                    .part("n2", content_type::NGAP, release_command());
                Ok(Some(answer))
            }
            Nas5gsmMessage::PduSessionReleaseComplete(_) => {
                self.note(format!("update {psi} release complete"));
                Self::lock(&self.contexts).remove(reference);
                let uri = context.status_uri.clone();
                let peer = self.nf.callback_peer();
                tokio::spawn(async move {
                    let status =
                        SmContextStatusNotification::new(StatusInfo::new(ResourceStatus::Released));
                    let client = martlet_sbi_api::namf_callback::AmfCallbackClient::new(peer);
                    client.sm_context_status_notify(&uri, status).await.unwrap();
                });
                Ok(None)
            }
            other => panic!("{other:?} pti {pti} {}", context.pti),
        }
    }

    async fn release_sm_context(
        &self,
        reference: &str,
        _: Option<Multipart<SmContextReleaseData>>,
    ) -> Result<Option<SmContextReleasedData>, Problem> {
        let context = self.context(reference)?;
        self.note(format!("release {}", context.psi));
        Self::lock(&self.contexts).remove(reference);
        Ok(None)
    }

    async fn retrieve_sm_context(
        &self,
        _: &str,
        _: Option<SmContextRetrieveData>,
    ) -> Result<SmContextRetrievedData, Problem> {
        Err(Problem::new(404, "CONTEXT_NOT_FOUND"))
    }
}

impl SmfCallback for SmfByHand {
    async fn n1_n2_transfer_failure_notify(
        &self,
        sm_context_ref: &str,
        body: N1N2MsgTxfrFailureNotification,
    ) -> Result<(), Problem> {
        self.note(format!("failure {sm_context_ref} {}", body.cause));
        Ok(())
    }
    async fn sm_policy_update_notify(
        &self,
        _: &str,
        _: SmPolicyNotification,
    ) -> Result<Option<Vec<PartialSuccessReport>>, Problem> {
        Ok(None)
    }
    async fn sm_policy_terminate_notify(
        &self,
        _: &str,
        _: TerminationNotification,
    ) -> Result<(), Problem> {
        Ok(())
    }
    async fn deregistration_notify(
        &self,
        _: &str,
        _: martlet_sbi_api::nudm_uecm::DeregistrationData,
    ) -> Result<(), Problem> {
        Ok(())
    }
    async fn charging_notify(
        &self,
        _: &str,
        _: martlet_sbi_api::nchf_converged_charging::ChargingNotifyRequest,
    ) -> Result<(), Problem> {
        Ok(())
    }
    async fn sdm_change_notify(
        &self,
        _: &str,
        _: martlet_sbi_api::nudm_sdm::ModificationNotification,
    ) -> Result<(), Problem> {
        Ok(())
    }
}

impl NetworkFunction for SmfByHand {
    const TYPE: NfType = NfType::Smf;
    type Config = ();

    async fn create(_: (), nf: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        let id = nf.instance_id().to_string();
        let behaviour = Mutex::new(Behaviour::Accept);
        let smf = Arc::new(SmfByHand {
            nf,
            contexts: Mutex::default(),
            notes: Mutex::default(),
            behaviour,
            announced: Mutex::default(),
        });
        MADE.lock().unwrap().insert(id, smf.clone());
        Ok(smf)
    }
    fn routes(self: &Arc<Self>) -> Vec<Route> {
        let mut routes = NSMF_PDUSESSION.routes(self.clone());
        routes.extend(NSMF_CALLBACK.routes(self.clone()));
        routes
    }
    fn profile(&self, profile: &mut NfProfile) {
        let dnn: Dnn = "internet".parse().unwrap();
        let item = SnssaiSmfInfoItem {
            s_nssai: ExtSnssai::from(Snssai::new(1, None)),
            dnn_smf_info_list: vec![DnnSmfInfoItem::new(dnn)],
        };
        profile.smf_info =
            Some(SmfInfo { s_nssai_smf_info_list: vec![item], ..Default::default() });
    }
}
