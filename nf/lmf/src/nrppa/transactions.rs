//! NRPPa transactions and measurements in progress.
use super::trp_table::TrpTable;
use crate::deadline::Deadline;
use crate::metrics;
use crate::user_plane::Supi;
use martlet_nrppa::{Message, Pdu};
use martlet_sbi::Problem;
use martlet_sbi_api::common::GlobalRanNodeId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::mpsc;

/// Capacity of a transaction's queue, and maximum number of gNBs that answer one request.
pub(super) const QUEUE: usize = 64;

/// A message from a gNB.
#[derive(Debug)]
pub(crate) struct Received {
    /// The gNB, if the AMF names it.
    pub gnb: Option<GlobalRanNodeId>,
    /// The message.
    pub message: Message,
}

/// The key of the task that waits for a message.
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
    table: Arc<Mutex<Table>>,
    /// The known TRPs.
    pub(crate) trps: TrpTable,
}

/// A transaction or measurement in progress. Dropping it ends it.
pub(super) struct Pending {
    table: Arc<Mutex<Table>>,
    key: Key,
    messages: mpsc::Receiver<Received>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        lock(&self.table).pending.remove(&self.key);
    }
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Pending {
    /// The next message.
    pub(super) async fn next(&mut self, deadline: &mut Deadline) -> Result<Received, Problem> {
        deadline.next(&mut self.messages).await.flatten().ok_or_else(|| {
            Problem::new(504, "PEER_NOT_RESPONDING").detail("no answer from the gNB")
        })
    }
}

impl Nrppa {
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
        let table = lock(&self.table);
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
    pub(super) fn begin_transaction(&self, about: Option<Supi>) -> Result<(u16, Pending), Problem> {
        let mut table = lock(&self.table);
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
        Ok((transaction, Pending { table: self.table.clone(), key, messages }))
    }

    /// Starts a measurement of a UE. Its ID is 1 to 15.
    pub(super) fn begin_measurement(&self, ue: &Supi) -> Result<(i64, Pending), Problem> {
        let mut table = lock(&self.table);
        let free =
            (1..=15).find(|id| !table.pending.contains_key(&Key::Measurement(ue.clone(), *id)));
        let id = free.ok_or_else(|| {
            Problem::new(503, "NF_CONGESTION").detail("15 measurements of the UE are in progress")
        })?;
        let (sink, messages) = mpsc::channel(QUEUE);
        let key = Key::Measurement(ue.clone(), id);
        table.pending.insert(key.clone(), (Some(ue.clone()), sink));
        Ok((id, Pending { table: self.table.clone(), key, messages }))
    }
}
