//! NRPPa with gNBs through the AMF (TS 38.455): transactions, and reports of running measurements.
mod e_cid_measurement;
mod multi_rtt;
mod trp_information_exchange;

pub(crate) use e_cid_measurement::e_cid_measurement;
pub(crate) use multi_rtt::MultiRtt;
pub(crate) use trp_information_exchange::TrpTable;

use crate::Shared;
use crate::metrics;
use crate::user_plane::Supi;
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

/// Capacity of a transaction's queue, and maximum number of gNBs that answer one request.
const QUEUE: usize = 64;

/// A message from a gNB.
#[derive(Debug)]
pub(crate) struct Received {
    /// The gNB, if the AMF names it.
    pub gnb: Option<GlobalRanNodeId>,
    /// The message.
    pub message: Message,
}

/// What a message is dispatched by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// NRPPa transaction ID, for responses.
    Transaction(u16),
    /// UE and LMF UE measurement ID, for reports.
    Measurement(Supi, i64),
}

/// The transactions and measurements in progress.
#[derive(Default)]
struct Table {
    next: u16,
    /// The UE that a message has to be associated with, if any, and its receiver.
    pending: HashMap<Key, (Option<Supi>, mpsc::Sender<Received>)>,
}

/// The NRPPa state.
#[derive(Default)]
pub(crate) struct Nrppa {
    table: Mutex<Table>,
    /// The known TRPs.
    pub(crate) trps: TrpTable,
}

/// A transaction or measurement in progress. Dropping it ends it.
struct Pending {
    shared: Arc<Shared>,
    key: Key,
    messages: mpsc::Receiver<Received>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.shared.nrppa.table().pending.remove(&self.key);
    }
}

impl Pending {
    /// The next message.
    async fn next(&mut self, until: Instant) -> Result<Received, Problem> {
        let received = tokio::time::timeout_at(until.into(), self.messages.recv()).await;
        received.ok().flatten().ok_or_else(|| {
            Problem::new(504, "PEER_NOT_RESPONDING").detail("no answer from the gNB")
        })
    }
}

impl Nrppa {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Delivers a message from a gNB; `about` is the UE of a UE-associated one.
    ///
    /// # Errors
    /// It does not decode, or belongs to no transaction or measurement.
    pub(crate) fn deliver(
        &self,
        about: Option<&str>,
        gnb: Option<GlobalRanNodeId>,
        bytes: &[u8],
    ) -> Result<(), Problem> {
        let Pdu { transaction, message } = Pdu::decode(bytes).map_err(|error| {
            metrics::rejected("nrppa_malformed");
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
        // A message associated with one UE does not answer a request about another UE.
        let found = table.pending.get(&key).filter(|(of, _)| of.as_deref() == about);
        let delivered =
            found.is_some_and(|(_, sink)| sink.try_send(Received { gnb, message }).is_ok());
        delivered.then_some(()).ok_or_else(|| {
            metrics::rejected("nrppa_unknown_transaction");
            Problem::new(404, "CONTEXT_NOT_FOUND")
                .detail("no such NRPPa transaction or measurement")
        })
    }

    /// Starts a transaction.
    fn begin_transaction(
        shared: &Arc<Shared>,
        about: Option<Supi>,
    ) -> Result<(u16, Pending), Problem> {
        let mut table = shared.nrppa.table();
        if table.pending.len() >= usize::from(u16::MAX / 2) {
            return Err(Problem::new(503, "NF_CONGESTION")
                .detail("too many NRPPa transactions in progress"));
        }
        let transaction = loop {
            // 0 to 32,767.
            table.next = (table.next + 1) & 0x7fff;
            if !table.pending.contains_key(&Key::Transaction(table.next)) {
                break table.next;
            }
        };
        let (sink, messages) = mpsc::channel(QUEUE);
        let key = Key::Transaction(transaction);
        table.pending.insert(key.clone(), (about, sink));
        Ok((transaction, Pending { shared: shared.clone(), key, messages }))
    }

    /// Starts a measurement of a UE. Its ID is 1 to 15.
    fn begin_measurement(shared: &Arc<Shared>, ue: &Supi) -> Result<(i64, Pending), Problem> {
        let mut table = shared.nrppa.table();
        let free =
            (1..=15).find(|id| !table.pending.contains_key(&Key::Measurement(ue.clone(), *id)));
        let id = free.ok_or_else(|| {
            Problem::new(503, "NF_CONGESTION").detail("15 measurements of the UE are in progress")
        })?;
        let (sink, messages) = mpsc::channel(QUEUE);
        let key = Key::Measurement(ue.clone(), id);
        table.pending.insert(key.clone(), (Some(ue.clone()), sink));
        Ok((id, Pending { shared: shared.clone(), key, messages }))
    }
}

/// The problem for a failure message of a gNB.
pub(crate) fn gnb_failure(what: &str, cause: &Cause) -> Problem {
    Problem::new(500, "POSITIONING_FAILED").detail(format!("the gNB cannot {what}: {cause:?}"))
}

/// The problem for a message that is not a response to the request.
fn unexpected_message(what: &str, message: &Message) -> Problem {
    let why = match message {
        Message::ErrorIndication(it) => format!("the gNB cannot {what}: {:?}", it.cause),
        _ => format!("unexpected answer from the gNB to the request to {what}"),
    };
    Problem::new(500, "POSITIONING_FAILED").detail(why)
}

impl Shared {
    fn own_id(&self) -> Result<NfInstanceId, Problem> {
        let id = self.context.instance_id().parse();
        id.map_err(|_| {
            Problem::new(500, "SYSTEM_FAILURE").detail("the LMF's nfInstanceId is not a UUID")
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

    /// The time limit for a gNB's answer.
    pub(crate) fn nrppa_timeout(&self) -> Duration {
        Duration::from_millis(self.config.nrppa_timeout_ms.into())
    }

    /// Namf_Communication_N1N2MessageSubscribe: subscribes to UE-associated NRPPa messages.
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

    /// Namf_Communication_NonUeN2InfoSubscribe: subscribes to non-UE-associated NRPPa messages.
    async fn subscribe_to_gnbs(&self) -> Result<(), Problem> {
        let uri = format!("{}/nlmf-callback/v1/n2-messages", self.context.api_root());
        let mut data = NonUeN2InfoSubscriptionCreateData::new(N2InformationClass::NRPPa, uri);
        data.nf_id = Some(self.own_id()?);
        self.any_amf().await?.non_ue_n2_info_subscribe(data).await.map(|_| ())
    }

    /// Sends a UE-associated message to the UE's gNB.
    async fn send_to_gnb_of(&self, ue: &Supi, correlation: &str, pdu: &Pdu) -> Result<(), Problem> {
        let bytes = pdu
            .encode()
            .map_err(|error| Problem::new(500, "SYSTEM_FAILURE").detail(error.to_string()))?;
        let request = N1N2MessageTransferReqData {
            n2_info_container: Some(self.container()?),
            lcs_correlation_id: Some(correlation.into()),
            ..Default::default()
        };
        let body = Multipart::new(request).part("n2", content_type::NGAP, bytes);
        self.amf(ue).await?.n1_n2_message_transfer(ue, body).await.map(|_| ())
    }

    /// Sends a UE-associated request to the UE's gNB and returns the response.
    async fn request_from_gnb_of(
        self: &Arc<Self>,
        ue: &Supi,
        correlation: &str,
        message: Message,
    ) -> Result<Message, Problem> {
        let (transaction, mut pending) = Nrppa::begin_transaction(self, Some(ue.clone()))?;
        self.send_to_gnb_of(ue, correlation, &Pdu { transaction, message }).await?;
        Ok(pending.next(Instant::now() + self.nrppa_timeout()).await?.message)
    }

    /// Sends a non-UE-associated request to these gNBs, or to all. Returns the responses that
    /// arrive within `limit`, at most `answers`.
    async fn request_from_gnbs(
        self: &Arc<Self>,
        gnbs: Option<Vec<GlobalRanNodeId>>,
        message: Message,
        answers: usize,
        limit: Duration,
    ) -> Result<Vec<Received>, Problem> {
        let (transaction, mut pending) = Nrppa::begin_transaction(self, None)?;
        let pdu = Pdu { transaction, message };
        let bytes = pdu
            .encode()
            .map_err(|error| Problem::new(500, "SYSTEM_FAILURE").detail(error.to_string()))?;
        let mut request = N2InformationTransferReqData::new(self.container()?);
        request.global_ran_node_list = gnbs;
        let body = Multipart::new(request).part("n2", content_type::NGAP, bytes);
        self.any_amf().await?.non_ue_n2_message_transfer(body).await?;
        let (mut received, until) = (Vec::new(), Instant::now() + limit);
        while received.len() < answers {
            match pending.next(until).await {
                Ok(answer) => received.push(answer),
                Err(problem) if received.is_empty() => return Err(problem),
                Err(_) => break,
            }
        }
        Ok(received)
    }
}
