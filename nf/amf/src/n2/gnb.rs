//! gNBs that have an association with the AMF, and what they said of themselves.
use super::Link;
use crate::metrics;
use crate::served::Tai;
use martlet_nas::identifiers::Slice;
use martlet_nf::capture;
use martlet_ngap::ngap::NGAP_PDU;
use martlet_sbi_api::common::GlobalRanNodeId;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

/// A tracking area of a gNB with the slices that it supports there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Area {
    pub tai: Tai,
    pub slices: Vec<Slice>,
}

/// What a gNB says of itself with NG SETUP REQUEST (TS 38.413, 9.2.6.1).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GnbSetup {
    /// Its identity, such as `00101-000123`.
    pub id: String,
    pub name: Option<String>,
    pub global: GlobalRanNodeId,
    pub areas: Vec<Area>,
}

/// A gNB.
pub(crate) struct Gnb {
    /// Number of the association, never given twice.
    pub number: u64,
    pub address: SocketAddr,
    link: Link,
    setup: RwLock<Option<Arc<GnbSetup>>>,
    /// Its name, else its identity, else its address; it stays when the gNB is gone.
    label: RwLock<String>,
}

impl Gnb {
    pub fn new(number: u64, address: SocketAddr, link: Link) -> Self {
        let label = RwLock::new(address.to_string());
        Gnb { number, address, link, setup: RwLock::default(), label }
    }

    /// What it said of itself; `None` before NG setup.
    pub fn setup(&self) -> Option<Arc<GnbSetup>> {
        self.setup.read().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// It says something else of itself; gives what it said before.
    pub fn set_up(&self, setup: Option<GnbSetup>) -> Option<Arc<GnbSetup>> {
        if let Some(setup) = &setup {
            let label = setup.name.clone().unwrap_or_else(|| setup.id.clone());
            *self.label.write().unwrap_or_else(|e| e.into_inner()) = label;
        }
        let mut place = self.setup.write().unwrap_or_else(|e| e.into_inner());
        let before = std::mem::replace(&mut *place, setup.map(Arc::new));
        metrics::gnbs(i64::from(place.is_some()) - i64::from(before.is_some()));
        before
    }

    /// Its name, else its identity, else its address: for logs and the status.
    pub fn label(&self) -> String {
        self.label.read().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// For `martlet status`; `None` before NG setup.
    pub fn status(&self) -> Option<serde_json::Value> {
        let setup = self.setup()?;
        let area = |area: &Area| {
            let slices: Vec<_> = area.slices.iter().map(ToString::to_string).collect();
            let plmn = format!("{}{}", area.tai.plmn.mcc(), area.tai.plmn.mnc());
            serde_json::json!({"plmn": plmn, "tac": area.tai.tac, "slices": slices})
        };
        let areas: Vec<_> = setup.areas.iter().map(area).collect();
        Some(serde_json::json!({
            "id": setup.id, "name": setup.name, "address": self.address.to_string(), "trackingAreas": areas,
        }))
    }

    /// Whether one of these tracking areas is its.
    pub fn covers(&self, area: &[Tai]) -> bool {
        self.setup().is_some_and(|setup| setup.areas.iter().any(|own| area.contains(&own.tai)))
    }

    /// Stream for a connection: all but the first are shared by the UEs.
    pub fn stream(&self, amf_id: u64) -> u16 {
        let shared = u64::from(self.link.streams()).saturating_sub(1);
        // Below the number of streams, which has 16 bits.
        if shared == 0 { 0 } else { 1 + (amf_id % shared) as u16 }
    }

    /// Sends a message. A failure is logged: the association's reader sees its end, too.
    pub async fn send(&self, stream: u16, pdu: &NGAP_PDU) -> bool {
        let octets = match pdu.encode() {
            Ok(octets) => octets,
            Err(error) => {
                metrics::ngap_error("not_encodable");
                tracing::error!(gnb = self.label(), %error, message = pdu.procedure_name(), "an NGAP message does not encode");
                return false;
            }
        };
        capture::record(capture::Link::N2, None, Some(self.address), &octets);
        match self.link.send(stream, octets.into()).await {
            Ok(()) => true,
            Err(error) => {
                tracing::debug!(gnb = self.label(), %error, message = pdu.procedure_name(), "an NGAP message was not sent");
                false
            }
        }
    }

    /// NG RESET by the AMF (TS 38.413, 8.7.4.2.1). Its acknowledgement is awaited by nobody: the
    /// AMF has let go already.
    pub async fn reset(&self, message: Result<NGAP_PDU, martlet_ngap::Error>) {
        match message {
            Ok(message) => {
                metrics::ngap_reset();
                self.send(0, &message).await;
            }
            Err(error) => tracing::error!(gnb = self.label(), %error, "NG RESET cannot be built"),
        }
    }

    /// Ends the association at once.
    pub fn abort(&self) {
        self.link.abort();
    }
}

impl Drop for Gnb {
    fn drop(&mut self) {
        self.set_up(None);
    }
}

/// All gNBs, by the number of their association.
#[derive(Default)]
pub(crate) struct Gnbs(Mutex<BTreeMap<u64, Arc<Gnb>>>);

impl Gnbs {
    fn list(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Gnb>>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Takes a gNB in, unless there are `most` already.
    pub fn add(&self, gnb: &Arc<Gnb>, most: usize) -> bool {
        let mut list = self.list();
        if list.len() >= most {
            return false;
        }
        list.insert(gnb.number, gnb.clone());
        true
    }

    pub fn remove(&self, number: u64) {
        self.list().remove(&number);
    }

    /// Each of them.
    pub fn all(&self) -> Vec<Arc<Gnb>> {
        self.list().values().cloned().collect()
    }

    /// The gNB with this identity, if it is set up.
    pub fn of(&self, id: &str) -> Option<Arc<Gnb>> {
        self.list().values().find(|gnb| gnb.setup().is_some_and(|setup| setup.id == id)).cloned()
    }

    /// Another association of the gNB with this identity.
    pub fn other_of(&self, id: &str, number: u64) -> Option<Arc<Gnb>> {
        let list = self.list();
        let mut others = list.values().filter(|gnb| gnb.number != number);
        others.find(|gnb| gnb.setup().is_some_and(|setup| setup.id == id)).cloned()
    }
}
