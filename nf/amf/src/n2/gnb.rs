//! A gNB with an association, and its setup data.
use super::claim::Claim;
use super::signalling::{self, Direction};
use super::{Encoded, Link};
use crate::metrics;
use crate::served::Tai;
use futures_util::FutureExt;
use martlet_nas::identifiers::Slice;
use martlet_nf::capture;
use martlet_ngap::inbound::UeIds;
use martlet_ngap::ngap::NGAP_PDU;
use martlet_sbi_api::common::GlobalRanNodeId;
use martlet_sbi_api::nmartlet_status::{GnbStatus, MAX_TRACKING_AREAS};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

/// A tracking area with the slices that the gNB supports there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Area {
    pub tai: Tai,
    pub slices: Vec<Slice>,
}

/// Setup data from NG SETUP REQUEST (TS 38.413, 9.2.6.1).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GnbSetup {
    /// Global RAN node ID, such as `00101-000123`.
    pub id: String,
    pub name: Option<String>,
    pub global: GlobalRanNodeId,
    pub areas: Vec<Area>,
}

impl GnbSetup {
    /// Whether it is that of the node with an identity, as text and for the SBI. gNB IDs with the
    /// same value are of different gNBs if their lengths differ, which the text does not show.
    pub fn is_of(&self, id: &str, global: &GlobalRanNodeId) -> bool {
        let bits = |global: &GlobalRanNodeId| global.g_nb_id.as_ref().map(|id| id.bit_length);
        self.id == id && bits(&self.global) == bits(global)
    }
}

/// A gNB.
pub(crate) struct Gnb {
    /// Number of the association, never reused.
    pub number: u64,
    pub address: SocketAddr,
    link: Link,
    setup: RwLock<Option<Arc<GnbSetup>>>,
    /// Name, else identity, else address; kept after the gNB is lost.
    label: RwLock<Arc<str>>,
    /// Whether an NG SETUP REQUEST waits for the probe of another association.
    pub(crate) claim: Claim,
    /// Messages received.
    received: AtomicU64,
    /// Connections of UEs that are not verified yet.
    unverified: AtomicUsize,
    /// Rejects with #22 (congestion) because of this gNB's share.
    pub(crate) congestion_rejects: AtomicU64,
}

/// A connection of a UE that is not verified yet, counted at its gNB.
pub(crate) struct Unverified(Arc<Gnb>);

impl Unverified {
    /// Counts a connection.
    pub fn new(gnb: &Arc<Gnb>) -> Self {
        gnb.unverified.fetch_add(1, Ordering::Relaxed);
        Unverified(gnb.clone())
    }
}

impl Drop for Unverified {
    fn drop(&mut self) {
        self.0.unverified.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Gnb {
    pub fn new(number: u64, address: SocketAddr, link: Link) -> Self {
        let label = RwLock::new(address.to_string().into());
        Gnb {
            number,
            address,
            link,
            setup: RwLock::default(),
            label,
            claim: Claim::default(),
            received: AtomicU64::new(0),
            unverified: AtomicUsize::new(0),
            congestion_rejects: AtomicU64::new(0),
        }
    }

    /// Counts a received message.
    pub fn count_received(&self) {
        self.received.fetch_add(1, Ordering::Relaxed);
    }

    /// Messages received so far.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Connections of UEs that are not verified yet.
    pub fn unverified(&self) -> usize {
        self.unverified.load(Ordering::Relaxed)
    }

    /// Whether the gNB has acknowledged all messages that were sent to it.
    pub fn is_acknowledged(&self) -> bool {
        self.link.is_acknowledged()
    }

    /// The setup data; `None` before NG setup.
    pub fn setup(&self) -> Option<Arc<GnbSetup>> {
        #[cfg(test)]
        super::counted::SETUPS_READ.set(super::counted::SETUPS_READ.get() + 1);
        self.setup.read().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// Replaces the setup data and returns the previous ones. [`Gnbs::apply_setup`] calls it and
    /// keeps the index.
    ///
    /// [`Gnbs::apply_setup`]: super::Gnbs::apply_setup
    pub(super) fn set_up(&self, setup: Option<GnbSetup>) -> Option<Arc<GnbSetup>> {
        if let Some(setup) = &setup {
            let label = setup.name.clone().unwrap_or_else(|| setup.id.clone());
            *self.label.write().unwrap_or_else(|e| e.into_inner()) = label.into();
        }
        let mut current = self.setup.write().unwrap_or_else(|e| e.into_inner());
        let before = std::mem::replace(&mut *current, setup.map(Arc::new));
        metrics::gnbs(i64::from(current.is_some()) - i64::from(before.is_some()));
        before
    }

    /// The label in logs and in the status.
    pub fn label(&self) -> String {
        self.shared_label().to_string()
    }

    /// The label, which all UEs of the gNB share.
    pub fn shared_label(&self) -> Arc<str> {
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
        let id_bits = setup.global.g_nb_id.as_ref().map(|id| id.bit_length);
        Some(serde_json::json!({
            "id": setup.id, "idBits": id_bits, "name": setup.name,
            "address": self.address.to_string(),
            "trackingAreas": areas, "unverifiedUes": self.unverified(),
            "deviates": martlet_interop::deviates("amf", &self.label())
                || martlet_interop::deviates("amf", &self.address.ip().to_string()),
        }))
    }

    /// For other functions, without its UEs; `None` before NG setup.
    pub fn network_status(&self) -> Option<GnbStatus> {
        let setup = self.setup()?;
        let area = |area: &Area| {
            let plmn = &area.tai.plmn;
            format!("{}{}-{}", plmn.mcc(), plmn.mnc(), area.tai.tac)
        };
        Some(GnbStatus {
            id: setup.id.clone(),
            name: setup.name.clone(),
            address: self.address.to_string(),
            tracking_areas: setup.areas.iter().take(MAX_TRACKING_AREAS).map(area).collect(),
            connected_ues: 0,
        })
    }

    /// Whether both gNBs serve a common tracking area.
    pub fn shares_area_with(&self, other: &Gnb) -> bool {
        let (Some(own), Some(other)) = (self.setup(), other.setup()) else { return false };
        own.areas.iter().any(|area| other.areas.iter().any(|theirs| area.tai == theirs.tai))
    }

    /// Whether the gNB serves one of these tracking areas.
    pub fn covers(&self, area: &[Tai]) -> bool {
        self.setup().is_some_and(|setup| setup.areas.iter().any(|own| area.contains(&own.tai)))
    }

    /// Counts and logs a user location in a tracking area that the gNB has not announced (TS
    /// 38.413, 8.7.1.2 and 8.7.2.2). The location is used: the UE may be in a new cell of the gNB.
    pub fn check_location(&self, tai: Tai) {
        if self.covers(&[tai]) {
            return;
        }
        metrics::ngap_error("tracking_area");
        if let Some(suppressed) = martlet_log_limit::line("tracking_area_of_ue", self.address.ip())
        {
            tracing::warn!(
                gnb = self.label(),
                plmn = format!("{}{}", tai.plmn.mcc(), tai.plmn.mnc()),
                tac = tai.tac,
                suppressed,
                "user location in a tracking area that the gNB has not announced"
            );
        }
    }

    /// The SCTP stream of a connection: stream 0 is for non-UE signalling, the others are shared.
    pub fn stream(&self, amf_id: u64) -> u16 {
        let shared = u64::from(self.link.streams()).saturating_sub(1);
        // Less than the number of streams, a `u16`.
        if shared == 0 { 0 } else { 1 + (amf_id % shared) as u16 }
    }

    /// The stream of an answer: that of the connection whose identities it has.
    pub fn stream_of(&self, answer: &NGAP_PDU) -> u16 {
        let ids = UeIds::of(answer);
        ids.amf.or(ids.ran.map(u64::from)).map_or(0, |id| self.stream(id))
    }

    /// Sends a message. A failure is logged; the association's reader handles the loss.
    pub async fn send(&self, stream: u16, pdu: &NGAP_PDU) -> bool {
        let message = match Encoded::of(pdu) {
            Ok(message) => message,
            Err(error) => {
                tracing::error!(
                    gnb = self.label(), %error, message_name = pdu.procedure_name(),
                    "NGAP message not encodable"
                );
                return false;
            }
        };
        self.send_encoded(stream, message).await
    }

    async fn send_encoded(&self, stream: u16, message: Encoded) -> bool {
        let Encoded { name, bytes } = message;
        capture::record(capture::Link::N2, None, Some(self.address), &bytes);
        let at = (self.number, self.address);
        signalling::record(at, || self.label(), Direction::Downlink, &bytes);
        match self.link.send(stream, bytes).await {
            Ok(()) => true,
            Err(error) => {
                tracing::debug!(
                    gnb = self.label(), %error, message_name = name,
                    "NGAP message not sent"
                );
                false
            }
        }
    }

    /// Sends a message on stream 0 unless the send buffer is full, so that a gNB that does not read
    /// delays no other gNB. Returns whether the message was sent.
    pub fn try_send(&self, message: &Encoded) -> bool {
        self.try_send_on(0, message)
    }

    /// The same on another stream.
    pub fn try_send_on(&self, stream: u16, message: &Encoded) -> bool {
        let sent = self.send_encoded(stream, message.clone()).now_or_never();
        if sent.is_none() {
            metrics::dropped("gnb_send_buffer");
            if let Some(suppressed) = martlet_log_limit::line("gnb_send_buffer", self.address.ip())
            {
                tracing::warn!(
                    gnb = self.label(),
                    message_name = message.name,
                    suppressed,
                    "message dropped: the gNB does not read"
                );
            }
        }
        sent.unwrap_or(false)
    }

    /// Sends NG RESET (TS 38.413, 8.7.4.2.1) without waiting for the acknowledgement: the AMF has
    /// released its side already.
    pub async fn reset(&self, message: Result<NGAP_PDU, martlet_ngap::Error>) {
        match message {
            Ok(message) => {
                metrics::ngap_reset();
                self.send(0, &message).await;
            }
            Err(error) => tracing::error!(gnb = self.label(), %error, "NG RESET not encodable"),
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
