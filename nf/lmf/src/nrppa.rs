//! NRPPa with gNBs (TS 38.455), through the AMF: requests and their answers, and reports that come
//! by themselves.
mod ecid;
mod multi_rtt;
mod trps;

pub(crate) use ecid::ecid;
pub(crate) use multi_rtt::MultiRtt;
pub(crate) use trps::Trps;

use crate::Shared;
use crate::metrics;
use crate::owner::Supi;
use martlet_nrppa::{Cause, Message, Pdu};
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::common::{GlobalRanNodeId, NfInstanceId, RefToBinaryData};
use martlet_sbi_api::namf_communication::{
    N1N2MessageTransferReqData, N2InfoContainer, N2InfoContent, N2InformationClass,
    N2InformationTransferReqData, NgapIeType, NonUeN2InfoSubscriptionCreateData, NrppaInformation,
    UeN1N2InfoSubscriptionCreateData,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Answers that may wait for who asked: as many gNBs are asked at a time.
const WAITING: usize = 64;

/// A message of a gNB.
#[derive(Debug)]
pub(crate) struct Heard {
    /// Which gNB's, where the AMF says it.
    pub gnb: Option<GlobalRanNodeId>,
    /// What it says.
    pub message: Message,
}

/// What a message belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// The answer to a request.
    Transaction(u16),
    /// A report of a measurement of a UE, by the identity that the LMF gave it.
    Measurement(Supi, i64),
}

/// Who waits for what.
#[derive(Default)]
struct Table {
    next: u16,
    /// Of which UE a message has to be, if of any; and where it goes.
    waiting: HashMap<Key, (Option<Supi>, mpsc::Sender<Heard>)>,
}

/// Requests under way, and measurements that run.
#[derive(Default)]
pub(crate) struct Nrppa {
    table: Mutex<Table>,
    /// What gNBs have told of themselves.
    pub(crate) trps: Trps,
}

/// What somebody waits for. Its end ends that.
struct Waiting {
    shared: Arc<Shared>,
    key: Key,
    messages: mpsc::Receiver<Heard>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.shared.nrppa.table().waiting.remove(&self.key);
    }
}

impl Waiting {
    /// The next message.
    async fn next(&mut self, until: Instant) -> Result<Heard, Problem> {
        let heard = tokio::time::timeout_at(until.into(), self.messages.recv()).await;
        heard.ok().flatten().ok_or_else(|| {
            Problem::new(504, "PEER_NOT_RESPONDING").detail("the gNB does not answer")
        })
    }
}

impl Nrppa {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A message came from the gNB of a UE, or about no UE.
    ///
    /// # Errors
    /// It does not decode, or nobody waits for it.
    pub(crate) fn heard(
        &self,
        about: Option<&str>,
        gnb: Option<GlobalRanNodeId>,
        octets: &[u8],
    ) -> Result<(), Problem> {
        let Pdu { transaction, message } = Pdu::decode(octets).map_err(|error| {
            metrics::refused("nrppa message");
            Problem::new(400, "INVALID_MSG_FORMAT").detail(format!("NRPPa: {error}"))
        })?;
        let key = match (&message, about) {
            (Message::ECidMeasurementReport(it), Some(ue)) => {
                Key::Measurement(ue.into(), it.ue_measurement_id)
            }
            (Message::ECidMeasurementFailureIndication(it), Some(ue)) => {
                Key::Measurement(ue.into(), it.ue_measurement_id)
            }
            (Message::ErrorIndication(it), _) => {
                let named =
                    it.criticality_diagnostics.as_ref().and_then(|it| it.nrppatransaction_id);
                Key::Transaction(named.unwrap_or(transaction))
            }
            _ => Key::Transaction(transaction),
        };
        let table = self.table();
        // What one UE's gNB says is nothing about another UE.
        let found = table.waiting.get(&key).filter(|(of, _)| of.as_deref() == about);
        let told = found.is_some_and(|(_, sink)| sink.try_send(Heard { gnb, message }).is_ok());
        told.then_some(()).ok_or_else(|| {
            metrics::refused("nrppa of nobody");
            Problem::new(404, "CONTEXT_NOT_FOUND").detail("nobody waits for the NRPPa message")
        })
    }

    /// A transaction, and what its answers come by.
    fn begin(shared: &Arc<Shared>, about: Option<Supi>) -> Result<(u16, Waiting), Problem> {
        let mut table = shared.nrppa.table();
        if table.waiting.len() >= usize::from(u16::MAX / 2) {
            return Err(Problem::new(503, "NF_CONGESTION")
                .detail("too many NRPPa transactions are under way"));
        }
        let transaction = loop {
            // 0 to 32,767.
            table.next = (table.next + 1) & 0x7fff;
            if !table.waiting.contains_key(&Key::Transaction(table.next)) {
                break table.next;
            }
        };
        let (sink, messages) = mpsc::channel(WAITING);
        let key = Key::Transaction(transaction);
        table.waiting.insert(key.clone(), (about, sink));
        Ok((transaction, Waiting { shared: shared.clone(), key, messages }))
    }

    /// An identity for a measurement of a UE, 1 to 15, and what its reports come by.
    fn measure(shared: &Arc<Shared>, ue: &Supi) -> Result<(i64, Waiting), Problem> {
        let mut table = shared.nrppa.table();
        let free =
            (1..=15).find(|id| !table.waiting.contains_key(&Key::Measurement(ue.clone(), *id)));
        let id = free.ok_or_else(|| {
            Problem::new(503, "NF_CONGESTION").detail("the UE is measured often enough")
        })?;
        let (sink, messages) = mpsc::channel(WAITING);
        let key = Key::Measurement(ue.clone(), id);
        table.waiting.insert(key.clone(), (Some(ue.clone()), sink));
        Ok((id, Waiting { shared: shared.clone(), key, messages }))
    }
}

/// What a gNB says that it cannot do, in words.
pub(crate) fn refusal(what: &str, cause: &Cause) -> Problem {
    Problem::new(500, "POSITIONING_FAILED").detail(format!("the gNB does not {what}: {cause:?}"))
}

/// An answer that is not one to the request.
fn unexpected(what: &str, message: &Message) -> Problem {
    let why = match message {
        Message::ErrorIndication(it) => format!("the gNB does not {what}: {:?}", it.cause),
        _ => format!("the gNB does not {what}, and answers with something else"),
    };
    Problem::new(500, "POSITIONING_FAILED").detail(why)
}

impl Shared {
    fn own_id(&self) -> Result<NfInstanceId, Problem> {
        let id = self.context.instance_id().parse();
        id.map_err(|_| {
            Problem::new(500, "SYSTEM_FAILURE").detail("the LMF's nfInstanceId is no UUID")
        })
    }

    fn container(&self) -> Result<N2InfoContainer, Problem> {
        let ngap_data = RefToBinaryData { content_id: "n2".into() };
        let content = N2InfoContent {
            ngap_ie_type: Some(NgapIeType::NrppaPdu),
            ngap_data,
            ..Default::default()
        };
        let mut container = N2InfoContainer::new(N2InformationClass::NRPPa);
        container.nrppa_info = Some(NrppaInformation::new(self.own_id()?, content));
        Ok(container)
    }

    /// How long a gNB may take for an answer.
    pub(crate) fn nrppa_limit(&self) -> Duration {
        Duration::from_millis(self.config.nrppa_ms.into())
    }

    /// Namf_Communication_N1N2MessageSubscribe: what a UE's gNB has for the LMF comes here from now
    /// on.
    pub(crate) async fn subscribe_to_gnb_of(&self, ue: &Supi) -> Result<(), Problem> {
        let data = UeN1N2InfoSubscriptionCreateData {
            n2_information_class: Some(N2InformationClass::NRPPa),
            n2_notify_callback_uri: Some(format!(
                "{}/nlmf-callback/v1/n2-messages/{ue}",
                self.context.api_root()
            )),
            nf_id: Some(self.own_id()?),
            ..Default::default()
        };
        self.amf(ue).await?.n1_n2_message_subscribe(ue, data).await.map(|_| ())
    }

    /// Namf_Communication_NonUeN2InfoSubscribe: what gNBs have for the LMF comes here from now on.
    async fn subscribe_to_gnbs(&self) -> Result<(), Problem> {
        let uri = format!("{}/nlmf-callback/v1/n2-messages", self.context.api_root());
        let mut data = NonUeN2InfoSubscriptionCreateData::new(N2InformationClass::NRPPa, uri);
        data.nf_id = Some(self.own_id()?);
        self.any_amf().await?.non_ue_n2_info_subscribe(data).await.map(|_| ())
    }

    /// Tells the gNB of a UE something.
    async fn tell_gnb_of(&self, ue: &Supi, correlation: &str, pdu: &Pdu) -> Result<(), Problem> {
        let octets = pdu
            .encode()
            .map_err(|error| Problem::new(500, "SYSTEM_FAILURE").detail(error.to_string()))?;
        let request = N1N2MessageTransferReqData {
            n2_info_container: Some(self.container()?),
            lcs_correlation_id: Some(correlation.into()),
            ..Default::default()
        };
        let body = Multipart::new(request).part("n2", content_type::NGAP, octets);
        self.amf(ue).await?.n1_n2_message_transfer(ue, body).await.map(|_| ())
    }

    /// Asks the gNB of a UE.
    async fn ask_gnb_of(
        self: &Arc<Self>,
        ue: &Supi,
        correlation: &str,
        message: Message,
    ) -> Result<Message, Problem> {
        let (transaction, mut waiting) = Nrppa::begin(self, Some(ue.clone()))?;
        self.tell_gnb_of(ue, correlation, &Pdu { transaction, message }).await?;
        Ok(waiting.next(Instant::now() + self.nrppa_limit()).await?.message)
    }

    /// Asks gNBs, or all where none are named; the answers of so many, or of those that answer in
    /// time.
    async fn ask_gnbs(
        self: &Arc<Self>,
        gnbs: Option<Vec<GlobalRanNodeId>>,
        message: Message,
        answers: usize,
        limit: Duration,
    ) -> Result<Vec<Heard>, Problem> {
        let (transaction, mut waiting) = Nrppa::begin(self, None)?;
        let pdu = Pdu { transaction, message };
        let octets = pdu
            .encode()
            .map_err(|error| Problem::new(500, "SYSTEM_FAILURE").detail(error.to_string()))?;
        let mut request = N2InformationTransferReqData::new(self.container()?);
        request.global_ran_node_list = gnbs;
        let body = Multipart::new(request).part("n2", content_type::NGAP, octets);
        self.any_amf().await?.non_ue_n2_message_transfer(body).await?;
        let (mut heard, until) = (Vec::new(), Instant::now() + limit);
        while heard.len() < answers {
            match waiting.next(until).await {
                Ok(answer) => heard.push(answer),
                Err(problem) if heard.is_empty() => return Err(problem),
                Err(_) => break,
            }
        }
        Ok(heard)
    }
}
