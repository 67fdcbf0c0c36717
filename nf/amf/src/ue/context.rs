//! The UE context (TS 23.502, 5.2.2.2.2).
use super::by_session::BySession;
use super::positioning::Positioning;
use super::state::{ContextTransfer, States};
use super::tables::Summary;
use super::{Event, ProcedureLayer, Security, Session, Transfer, UeHandle, Work};
use crate::Amf;
use crate::concurrency::Slot;
use crate::n2::Connection;
use crate::served::{ServedGuami, Tai};
use bytes::Bytes;
use martlet_event_queue::Receiver;
use martlet_nas::identifiers::Slice;
use martlet_nas::{DrxValue, Guti, NasCount, NasUeSecurityCapability};
use martlet_sbi_api::common::{Ambr, Pei, Supi, SupiOrSuci};
use martlet_sbi_api::nudm_sdm::{AccessAndMobilitySubscriptionData, SmfSelectionSubscriptionData};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

/// Subscription changes that the UE has not received yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Due {
    pub slices: bool,
    /// The service area.
    pub areas: bool,
}

/// Subscription data from the UDM; see [`SharedSubscriptions`](crate::shared_data).
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Subscription {
    pub access: Arc<AccessAndMobilitySubscriptionData>,
    pub smf_selection: Arc<SmfSelectionSubscriptionData>,
    /// Identity of the Nudm_SDM subscription to changes.
    pub sdm_subscription: Option<String>,
}

/// The access and mobility policy association (TS 29.507).
pub(crate) struct AmPolicy {
    /// Root of the PCF's API.
    pub pcf: martlet_sbi::ApiRoot,
    pub id: String,
    pub rfsp: Option<u16>,
    pub ambr: Option<Ambr>,
}

/// The last reported value of an event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reported {
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

/// The running timer of a UE in CM-IDLE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Idle {
    /// Mobile reachable timer: the UE can be paged until it expires.
    Reachable(Instant),
    /// Implicit deregistration timer: the UE is out of reach, and is deregistered when it expires.
    Unreachable(Instant),
    /// Retention of the security context of a deregistered UE.
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

/// The identities of a UE.
#[derive(Debug, Default)]
pub(crate) struct Identity {
    /// The identity that the UE claims; not authenticated.
    pub suci: Option<SupiOrSuci>,
    /// The authenticated identity.
    pub supi: Option<Supi>,
    pub pei: Option<Pei>,
    pub guti: Option<Guti>,
    /// The previous 5G-GUTI, valid until the UE confirms the new one, or uses it.
    pub old_guti: Option<Guti>,
    /// The UE has confirmed the new 5G-GUTI. The previous one is retained until the UE uses the new
    /// one, for UEs that confirm it and keep the previous one.
    pub old_guti_is_retained: bool,
    /// The UE was paged by its 5G-GUTI, which everyone can hear. Another one follows the answer.
    pub was_paged: bool,
}

impl Identity {
    /// Whether the UE has confirmed its 5G-GUTI, or has never had another one.
    pub fn is_guti_confirmed(&self) -> bool {
        self.old_guti.is_none() || self.old_guti_is_retained
    }
}

/// The state of a UE's task.
pub(crate) struct TaskState {
    pub inbox: Receiver<Event>,
    /// Work deferred until the running procedure has ended.
    pub deferred: VecDeque<Work>,
    /// The concurrency slot of the running procedure.
    pub slot: Option<Slot>,
    /// Whether the task has received its first event.
    pub started: bool,
}

/// NAS messages that wait.
#[derive(Default)]
pub(crate) struct NasQueues {
    /// Protected messages that the gNB did not deliver because of a handover.
    pub undelivered: Vec<Bytes>,
    /// Uplink messages that arrived while an NGAP response was awaited.
    pub received: VecDeque<Bytes>,
}

/// Limits because of which a UE is rejected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Admission {
    /// The context limit is exceeded.
    pub over_limit: bool,
    /// The share of the UE's gNB is exceeded.
    pub over_share: bool,
}

/// The initial messages of the connection, encoded.
#[derive(Default)]
pub(crate) struct InitialMessages {
    /// The initial NAS message. Another AMF may have to verify it.
    pub nas: Option<Bytes>,
    /// The INITIAL UE MESSAGE that carried it.
    pub ngap: Option<Bytes>,
}

/// What the UE and its radio support.
#[derive(Default)]
pub(crate) struct Capabilities {
    /// UE security capability (TS 24.501, 9.11.3.54).
    pub security: Option<NasUeSecurityCapability>,
    /// UE radio capability, for gNBs.
    pub radio: Option<Bytes>,
    /// UE radio capability for paging, for gNBs that page the UE: an encoded
    /// `UERadioCapabilityForPaging`.
    pub radio_for_paging: Option<Bytes>,
}

/// What a registration has determined.
pub(crate) struct Registration {
    pub subscription: Option<Arc<Subscription>>,
    pub policy: Option<AmPolicy>,
    /// The allowed NSSAI.
    pub allowed: Vec<Slice>,
    /// Subscription changes that the UE has not received yet.
    pub due: Due,
    /// The registration area.
    pub area: Vec<Tai>,
    /// T3512, seconds.
    pub t3512: u32,
    /// The negotiated DRX cycle of the UE (TS 24.501, 9.11.3.2A), if it has requested one.
    pub drx: Option<DrxValue>,
}

/// The context of a UE. One task owns it.
pub(crate) struct Ue {
    pub amf: Arc<Amf>,
    pub handle: UeHandle,
    pub task: TaskState,
    pub nas_queues: NasQueues,
    pub admission: Admission,
    pub identity: Identity,
    pub states: States,
    pub context_transfer: ContextTransfer,
    pub connection: Option<Connection>,
    /// The location at the end of the last connection.
    pub last_location: Option<crate::n2::Location>,
    /// The connection with the target gNB of a handover. Boxed, because few UEs have one.
    pub target: Option<Box<Connection>>,
    pub security: Option<Security>,
    /// The context in use before the running security mode control, which a failure restores.
    pub previous_security: Option<Box<Security>>,
    pub initial: InitialMessages,
    pub reallocation: Reallocation,
    pub capabilities: Capabilities,
    pub registration: Registration,
    pub sessions: BySession<Session>,
    /// Positioning capabilities and subscriptions.
    pub positioning: Positioning,
    /// Transfers that wait for the UE to answer the paging.
    pub pending: Vec<Transfer>,
    pub idle: Option<Idle>,
    /// The last report of each event, by its subscription and its index there.
    pub last_reports: BTreeMap<(u64, usize), Reported>,
}

impl Ue {
    /// An empty context.
    pub fn new(amf: Arc<Amf>, handle: UeHandle, inbox: Receiver<Event>, over_limit: bool) -> Self {
        let registration = Registration {
            subscription: None,
            policy: None,
            allowed: Vec::new(),
            due: Due::default(),
            area: Vec::new(),
            t3512: amf.config.timers.t3512_s,
            drx: None,
        };
        Ue {
            amf,
            handle,
            task: TaskState { inbox, deferred: VecDeque::new(), slot: None, started: false },
            nas_queues: NasQueues::default(),
            admission: Admission { over_limit, over_share: false },
            identity: Identity::default(),
            states: States::default(),
            context_transfer: ContextTransfer::None,
            connection: None,
            last_location: None,
            target: None,
            security: None,
            previous_security: None,
            initial: InitialMessages::default(),
            reallocation: Reallocation::None,
            capabilities: Capabilities::default(),
            registration,
            sessions: BySession::new(),
            positioning: Positioning::default(),
            pending: Vec::new(),
            idle: None,
            last_reports: BTreeMap::new(),
        }
    }

    /// Marks a restored context as started: its task does not wait for a first event.
    pub fn set_started(&mut self) {
        self.task.started = true;
    }

    /// The UE in logs: SUPI, else SUCI, else its connection.
    pub fn label(&self) -> String {
        if let Some(supi) = &self.identity.supi {
            return supi.to_string();
        }
        if let Some(suci) = &self.identity.suci {
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

    /// The address of the gNB, which limits log lines: a host can choose names, not its address.
    pub fn gnb_address(&self) -> Option<IpAddr> {
        self.connection.as_ref().map(|connection| connection.gnb.address.ip())
    }

    /// Whether the UE can be paged: registered, with a 5G-GUTI, and not out of reach.
    pub fn can_be_paged(&self) -> bool {
        self.is_registered()
            && self.identity.guti.is_some()
            && !matches!(self.idle, Some(Idle::Unreachable(_)))
    }

    /// The UE is verified: its connection leaves the share of its gNB.
    pub fn set_verified(&mut self) {
        self.admission.over_share = false;
        if let Some(connection) = &mut self.connection {
            connection.unverified = None;
        }
    }

    /// Whether the context is still empty.
    pub fn is_new(&self) -> bool {
        self.security.is_none() && self.identity.supi.is_none()
    }

    /// The GUAMI of the UE's current PLMN, or the AMF's first one.
    pub fn guami(&self) -> &ServedGuami {
        let here = self.connection.as_ref().map(|connection| connection.location.tai.plmn);
        let plmn = here.or(self.registration.area.first().map(|tai| tai.plmn));
        let guami = plmn.and_then(|plmn| self.amf.served.guami(plmn));
        // The configuration check guarantees one GUAMI.
        guami.unwrap_or(&self.amf.served.guamis[0])
    }

    /// UE-AMBR for the gNB, bit/s: downlink, uplink. The PCF's value takes precedence over the
    /// subscribed one. Without either, 1 Tbit/s.
    pub fn ambr(&self) -> (u64, u64) {
        let policy = self.registration.policy.as_ref().and_then(|policy| policy.ambr.as_ref());
        let subscribed = self
            .registration
            .subscription
            .as_ref()
            .and_then(|s| s.access.subscribed_ue_ambr.as_ref());
        let unlimited = (1_000_000_000_000, 1_000_000_000_000);
        policy.or(subscribed).map_or(unlimited, |ambr| (ambr.downlink.bps(), ambr.uplink.bps()))
    }

    /// RFSP index for the gNB. The PCF's value takes precedence over the subscribed one.
    pub fn rfsp(&self) -> Option<u16> {
        let policy = self.registration.policy.as_ref().and_then(|policy| policy.rfsp);
        policy.or(self.registration.subscription.as_ref().and_then(|s| s.access.rfsp_index))
    }

    /// Updates the summary in the tables. Called after each procedure, and where other tasks must
    /// see a change at once.
    pub fn publish(&self) {
        let deregistered = matches!(self.idle, Some(Idle::Deregistered(_)));
        let summary = Summary {
            supi: self.identity.supi.clone(),
            registered: self.is_registered(),
            registering: self.is_registering(),
            can_be_paged: self.can_be_paged(),
            gnb: self.connection.as_ref().map(|connection| connection.gnb.shared_label()),
            sessions: self.sessions.iter().map(|(psi, own)| (*psi, own.number)).collect(),
            lpp: self.positioning.lpp,
            lcs_upp: self.positioning.lcs_upp,
            cell: self.connection.as_ref().map(|connection| connection.location),
            deregistered_since: deregistered.then(Instant::now),
        };
        self.amf.tables.set_summary(self.handle.number, summary);
    }

    /// Removes the stored context.
    pub fn remove_persisted(&self) {
        self.amf.contexts.remove(self.handle.number.to_string());
    }

    /// Releases the previous 5G-GUTI: the UE has confirmed or used the new one.
    pub fn release_old_guti(&mut self) {
        self.identity.old_guti_is_retained = false;
        if let Some(old) = self.identity.old_guti.take() {
            self.amf.tables.release_tmsi(old.tmsi(), self.handle.number);
        }
    }
}

impl Drop for Ue {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The UE registers again. Its stored context may cause the same panic.
            self.remove_persisted();
        }
        self.deregister();
        self.withdraw_offer();
        let tmsis =
            self.identity.guti.iter().chain(&self.identity.old_guti).map(|guti| guti.tmsi());
        self.amf.tables.remove(self.handle.number, self.identity.supi.as_ref(), tmsis);
    }
}
