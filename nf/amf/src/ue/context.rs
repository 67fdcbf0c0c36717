//! What the AMF knows of a UE (TS 23.502, 5.2.2.2.2).
use super::by_session::BySession;
use super::positioning::Positioning;
use super::{Event, Security, Session, Transfer, UeHandle, Work};
use crate::Amf;
use crate::concurrency::Slot;
use crate::n2::Connection;
use crate::served::{ServedGuami, Tai};
use crate::tables::Summary;
use bytes::Bytes;
use martlet_nas::identifiers::Slice;
use martlet_nas::{Guti, Nas5gsMessage, NasCount, NasUeSecurityCapability};
use martlet_sbi_api::common::{Ambr, Pei, Supi, SupiOrSuci};
use martlet_sbi_api::namf_event_exposure::AmfEventType;
use martlet_sbi_api::nudm_sdm::{AccessAndMobilitySubscriptionData, SmfSelectionSubscriptionData};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;

/// What has changed in a UE's subscription that it has not been told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Due {
    pub slices: bool,
    /// Where it gets service.
    pub areas: bool,
}

/// What the UDM says of a subscriber.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Subscription {
    pub access: AccessAndMobilitySubscriptionData,
    pub smf_selection: SmfSelectionSubscriptionData,
    /// Identity of the subscription to changes, where there is one.
    pub sdm_subscription: Option<String>,
}

/// The access and mobility policy association (TS 29.507).
pub(crate) struct AmPolicy {
    /// Root of the PCF, and the association's identity.
    pub pcf: martlet_sbi::ApiRoot,
    pub id: String,
    pub rfsp: Option<u16>,
    pub ambr: Option<Ambr>,
}

/// What was last said of an event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Told {
    At(crate::n2::Location),
    Presence(Vec<bool>),
}

/// How AMF re-allocation concerns the UE's registration (TS 23.502, 4.2.2.2.3).
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reallocation {
    None,
    /// Step 7B, target side: the gNB brought the request because another AMF rerouted it. This AMF
    /// does not reroute it again.
    ReroutedByRan,
    /// Step 7A, target side: the initial AMF sent the request and has verified it.
    ReceivedFromAmf,
    /// Step 7B, source side: the gNB takes this request, with this uplink NAS COUNT, to another
    /// AMF, which will ask for the context.
    SentViaRan {
        request: Bytes,
        uplink: NasCount,
    },
}

/// What an idle UE's timer is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Idle {
    /// Mobile reachable timer: the UE is in reach until then.
    Reachable(Instant),
    /// Implicit deregistration timer: the UE is out of reach, and deregistered then.
    Unreachable(Instant),
    /// Deregistered; its security context is kept until then.
    Deregistered(Instant),
}

impl Idle {
    /// When the timer expires.
    pub fn until(self) -> Instant {
        match self {
            Idle::Reachable(until) | Idle::Unreachable(until) | Idle::Deregistered(until) => until,
        }
    }
}

/// A UE's context. It belongs to one task.
pub(crate) struct Ue {
    pub amf: Arc<Amf>,
    pub handle: UeHandle,
    pub(crate) inbox: mpsc::Receiver<Event>,
    /// What waits until the procedure at work has ended.
    pub(crate) waiting: VecDeque<Work>,
    /// Protected NAS messages that a gNB did not deliver, because the UE changes to another one.
    pub undelivered: Vec<Bytes>,
    /// NAS messages that came while the gNB's answer was awaited.
    pub(crate) set_aside: VecDeque<Bytes>,
    /// There are more UEs than are allowed: it is rejected.
    pub over_limit: bool,
    /// What the UE says it is; the SUPI is proved, the SUCI is not.
    pub suci: Option<SupiOrSuci>,
    pub supi: Option<Supi>,
    pub pei: Option<Pei>,
    pub guti: Option<Guti>,
    /// The one before, valid until the UE has taken the new one.
    pub old_guti: Option<Guti>,
    pub connection: Option<Connection>,
    /// Where the UE was when its last connection ended.
    pub last_location: Option<crate::n2::Location>,
    /// The connection with the gNB to which the UE is being handed over.
    pub target: Option<Connection>,
    pub security: Option<Security>,
    /// Whether secure exchange of NAS messages is established on the connection (TS 24.501,
    /// 4.4.2.5).
    pub secured: bool,
    pub registered: bool,
    /// The initial NAS message of the connection, encoded. Another AMF may have to verify it.
    pub initial_nas: Option<Bytes>,
    /// The INITIAL UE MESSAGE that carried it, encoded.
    pub initial_ngap: Option<Bytes>,
    pub reallocation: Reallocation,
    /// The context was given to another AMF, which has not said yet what became of it.
    pub given: bool,
    /// The UE is on its way to the gNB of another AMF.
    pub leaving: bool,
    /// The registration that is at work, as it came.
    pub request: Option<Nas5gsMessage>,
    pub capability: Option<NasUeSecurityCapability>,
    pub radio_capability: Option<Bytes>,
    pub subscription: Option<Arc<Subscription>>,
    pub policy: Option<AmPolicy>,
    pub allowed: Vec<Slice>,
    /// What of its subscription it has not been told yet.
    pub due: Due,
    pub area: Vec<Tai>,
    /// T3512, seconds.
    pub t3512: u32,
    pub sessions: BySession<Session>,
    /// What it has for positioning.
    pub positioning: Positioning,
    /// What is brought to the UE once it has answered to paging.
    pub pending: Vec<Transfer>,
    /// Whether the UE is being paged.
    pub paging: bool,
    pub idle: Option<Idle>,
    /// What was last said to who wants to be told of the UE: by subscription and event.
    pub watched: BTreeMap<(u64, AmfEventType), Told>,
    /// The right of the procedure at work to be at work.
    pub(crate) slot: Option<Slot>,
    /// Whether the first thing has come.
    pub(crate) begun: bool,
}

impl Ue {
    /// A UE of which nothing is known.
    pub fn new(
        amf: Arc<Amf>,
        handle: UeHandle,
        inbox: mpsc::Receiver<Event>,
        over_limit: bool,
    ) -> Self {
        Ue {
            t3512: amf.config.timers.t3512_s,
            amf,
            handle,
            inbox,
            waiting: VecDeque::new(),
            undelivered: Vec::new(),
            set_aside: VecDeque::new(),
            over_limit,
            suci: None,
            supi: None,
            pei: None,
            guti: None,
            old_guti: None,
            connection: None,
            last_location: None,
            target: None,
            security: None,
            secured: false,
            registered: false,
            initial_nas: None,
            initial_ngap: None,
            reallocation: Reallocation::None,
            given: false,
            leaving: false,
            request: None,
            capability: None,
            radio_capability: None,
            subscription: None,
            policy: None,
            allowed: Vec::new(),
            due: Due::default(),
            area: Vec::new(),
            sessions: BySession::new(),
            positioning: Positioning::default(),
            pending: Vec::new(),
            paging: false,
            idle: None,
            watched: BTreeMap::new(),
            slot: None,
            begun: false,
        }
    }

    /// Something has come already: it was kept from before.
    pub fn begin_again(&mut self) {
        self.begun = true;
    }

    /// The UE in logs: its SUPI, else what it says it is, else its connection.
    pub fn label(&self) -> String {
        if let Some(supi) = &self.supi {
            return supi.to_string();
        }
        if let Some(suci) = &self.suci {
            return suci.to_string();
        }
        self.connection
            .as_ref()
            .map_or_else(|| "unknown".into(), |c| format!("ran-ue-ngap-id-{}", c.ran_id))
    }

    /// The gNB in logs.
    pub fn gnb(&self) -> String {
        self.connection.as_ref().map_or_else(|| "-".into(), |connection| connection.gnb.label())
    }

    /// Whether the UE can be paged: registered, with a 5G-GUTI, and not out of reach.
    pub fn can_be_paged(&self) -> bool {
        self.registered && self.guti.is_some() && !matches!(self.idle, Some(Idle::Unreachable(_)))
    }

    /// Whether nothing is known of the UE yet.
    pub fn is_new(&self) -> bool {
        self.security.is_none() && self.supi.is_none()
    }

    /// The GUAMI of the network where the UE is; the AMF's first one while it is nowhere.
    pub fn guami(&self) -> &ServedGuami {
        let here = self.connection.as_ref().map(|connection| connection.location.tai.plmn);
        let plmn = here.or(self.area.first().map(|tai| tai.plmn));
        let guami = plmn.and_then(|plmn| self.amf.served.guami(plmn));
        // The configuration has one at least: it was checked at the start.
        guami.unwrap_or(&self.amf.served.guamis[0])
    }

    /// UE-AMBR for the gNB, bit/s: downlink, uplink. The PCF's goes before the subscribed one; a
    /// subscription without one sets no limit that a gNB would notice.
    pub fn ambr(&self) -> (u64, u64) {
        let policy = self.policy.as_ref().and_then(|policy| policy.ambr.as_ref());
        let subscribed =
            self.subscription.as_ref().and_then(|s| s.access.subscribed_ue_ambr.as_ref());
        let unlimited = (1_000_000_000_000, 1_000_000_000_000);
        policy.or(subscribed).map_or(unlimited, |ambr| (ambr.downlink.bps(), ambr.uplink.bps()))
    }

    /// RFSP index for the gNB. The PCF's goes before the subscribed one.
    pub fn rfsp(&self) -> Option<u16> {
        let policy = self.policy.as_ref().and_then(|policy| policy.rfsp);
        policy.or(self.subscription.as_ref().and_then(|s| s.access.rfsp_index))
    }

    /// Tells the tables what others see of the UE. Called where they must see a change at once, and
    /// after each procedure.
    pub fn publish(&self) {
        let deregistered = matches!(self.idle, Some(Idle::Deregistered(_)));
        let summary = Summary {
            supi: self.supi.clone(),
            registered: self.registered,
            registering: self.request.is_some(),
            reachable: self.can_be_paged(),
            gnb: self.connection.as_ref().map(|connection| connection.gnb.label()),
            sessions: self.sessions.keys().copied().collect(),
            lpp: self.positioning.lpp,
            lcs_upp: self.positioning.lcs_upp,
            cell: self.connection.as_ref().map(|connection| connection.location.ncgi()),
            deregistered_since: deregistered.then(Instant::now),
        };
        self.amf.tables.describe(self.handle.number, summary);
    }

    /// The UE is registered, or no more.
    pub fn set_registered(&mut self, registered: bool) {
        if self.registered != registered {
            crate::metrics::registered(if registered { 1 } else { -1 });
            self.registered = registered;
        }
    }

    /// The UE has taken its new 5G-GUTI: the one before is void.
    pub fn forget_old_guti(&mut self) {
        if let Some(old) = self.old_guti.take() {
            self.amf.tables.forget_tmsi(old.tmsi(), self.handle.number);
        }
    }
}

impl Drop for Ue {
    fn drop(&mut self) {
        self.set_registered(false);
        let tmsis = self.guti.iter().chain(&self.old_guti).map(|guti| guti.tmsi());
        self.amf.tables.remove(self.handle.number, self.supi.as_ref(), tmsis);
    }
}
