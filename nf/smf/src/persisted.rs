//! The persisted form of a PDU session, and how sessions are restored after a restart (TS 23.527,
//! 4.3).
//!
//! A session's task stores its context after each event. An SMF that is killed loses the events of
//! the last `smf.context_store.flush_interval_ms`. A session that was established within it is
//! unknown after the restart: the AMF learns so with its next request, the UPF with its next
//! report.
use crate::addresses::Addresses;
use crate::config::SmfConfig;
use crate::n4::{SessionTeids, n3_teid};
use crate::qos_flows::{Flow, PolicyRules};
use crate::session::{
    GsmState, Mobility, N4Sessions, PersistedCharging, PolicyAssociation, ServingAmf, Session,
    SessionCharging, SessionParameters, SessionQos, UdmState, UpConnection, UserPlane,
};
use crate::session_event::SessionEvent;
use crate::shared::Smf;
use crate::up_security::UpSecurity;
use crate::user_plane_path::{Tunnel, UpfSession, UserPlanePath};
use martlet_context_store::{ContextStore, PersistedContext, StoreError, StoredContexts};
use martlet_nf::StartError;
use martlet_sbi::ApiRoot;
use martlet_sbi_api::common::{Ambr, Arp, Dnn, PduSessionType, PlmnId, Snssai, Supi};
use martlet_sbi_api::namf_communication::AmfCommunicationClient;
use martlet_sbi_api::npcf_sm_policy_control::PcfSmPolicyControlClient;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::sync::Arc;

/// Identity of the SMF's own entry; a session's identity is its reference.
pub const SMF: &str = "smf";

/// The name under which this SMF stores its sessions.
pub fn owner(config: &SmfConfig) -> String {
    config.set.as_ref().map_or_else(|| SMF.into(), |set| set.member().owner())
}

/// The SMF's own entry. Field names are part of the stored format.
#[derive(Serialize, Deserialize)]
pub struct PersistedSmf {
    /// Seconds since 1900 at which the first SMF started that knew these sessions.
    pub recovery: u32,
    /// API root of its services.
    #[serde(default)]
    pub root: Option<ApiRoot>,
}

/// The addresses and TEIDs of a stored session.
#[derive(Deserialize)]
pub struct Allocation {
    pub dnn: Dnn,
    pub addresses: Addresses,
    #[serde(default)]
    pub n4_teids: Vec<SessionTeids>,
}

/// The API root in an SMF's own entry.
pub fn root(value: &[u8]) -> Option<ApiRoot> {
    martlet_erased::from_json::<PersistedSmf>(value).ok()?.root
}

/// N4 address of the UPF, its session endpoint identifier, TEID and address on N3.
type PersistedUpf = (SocketAddr, u64, u32, IpAddr);

/// A PDU session. Field names are part of the stored format.
#[derive(Serialize, Deserialize)]
pub struct PersistedSession {
    supi: Supi,
    id: u8,
    pti: u8,
    slice: Snssai,
    dnn: Dnn,
    plmn: PlmnId,
    amf: ApiRoot,
    status_uri: String,
    kind: PduSessionType,
    addresses: Addresses,
    #[serde(default, skip_serializing_if = "Addresses::is_empty")]
    static_addresses: Addresses,
    #[serde(default = "one")]
    ssc_mode: u8,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    routes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<SocketAddrV6>,
    always_on: bool,
    ambr: Ambr,
    five_qi: u8,
    arp: Arp,
    policy: Option<(ApiRoot, String)>,
    decided: Arc<PolicyRules>,
    flows: Vec<Flow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    charging: Option<PersistedCharging>,
    sdm_subscription: Option<String>,
    registered: bool,
    upf: PersistedUpf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    second: Option<Ipv6Addr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    anchor: Option<PersistedUpf>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    intermediate: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    n4_teids: Vec<SessionTeids>,
    /// The UPF that the session left when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left_upf: Option<SocketAddr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tac: Option<u32>,
    gnb: Option<Tunnel>,
    active: bool,
    stale: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    protection: Option<UpSecurity>,
}

fn one() -> u8 {
    1
}

impl PersistedContext for PersistedSession {
    const KIND: &'static str = "PDU session";

    fn supi(&self) -> &str {
        &self.supi
    }
}

/// The contexts of a former process.
#[derive(Default)]
pub struct Stored {
    /// The recovery time stamp that UPFs know; `None` without sessions.
    pub recovery: Option<u32>,
    /// The sessions.
    pub sessions: StoredContexts,
    /// Releases of charging sessions that the CHF did not answer.
    pub charging_releases: StoredContexts,
}

/// The error of a start without the context store.
pub fn start_error(error: StoreError) -> StartError {
    StartError::database("smf.context_store", error)
}

/// Why a stored session was not restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    #[error("the SMF has too many sessions: raise smf.max_sessions")]
    TooManySessions,
}

/// Opens the context store and returns what a former process has stored.
pub fn open(config: &SmfConfig) -> Result<(ContextStore, Stored), StartError> {
    let opened = ContextStore::open(&config.context_store, &owner(config));
    let (contexts, all) = opened.map_err(start_error)?;
    let (own, others): (StoredContexts, StoredContexts) =
        all.into_iter().partition(|(id, _)| id == SMF);
    let (sessions, charging_releases): (StoredContexts, StoredContexts) =
        others.into_iter().partition(|(id, _)| id.parse::<u64>().is_ok());
    let own = own.first().and_then(|(_, value)| martlet_erased::from_json(value).ok());
    let recovery = own.map(|smf: PersistedSmf| smf.recovery).filter(|_| !sessions.is_empty());
    Ok((contexts, Stored { recovery, sessions, charging_releases }))
}

/// Makes a session of its stored form; `taken_over` from another SMF of the set or not.
pub fn session(
    smf: &Arc<Smf>,
    reference: u64,
    stored: PersistedSession,
    taken_over: bool,
) -> Result<Session, RestoreError> {
    // The pools of another member may hold the addresses of a session that it established. Those of
    // a session that another member had are still in use here.
    let is_marked = taken_over && smf.pools.regain(reference)
        || smf.pools.mark_used(&stored.dnn, &stored.addresses);
    let queue = smf.config.session_queue;
    let Some(inbox) = smf.sessions.restore(reference, &stored.supi, stored.id, queue) else {
        if is_marked {
            smf.pools.release(&stored.dnn, &stored.addresses);
        }
        return Err(RestoreError::TooManySessions);
    };
    if is_marked {
        smf.pools.mark_static(&stored.dnn, &stored.static_addresses);
    }
    let peer = |root: ApiRoot| smf.context.peer_at(root).about(&stored.supi);
    // After a restart of the SMF, sessions belong to the association that is set up next.
    let generation = |upf| if taken_over { smf.n4.generation(upf) } else { 0 };
    let n4_session = |(upf, seid, teid, address): PersistedUpf, ipv6| {
        let generation = generation(upf);
        UpfSession { upf, generation, seid, teid, address, ipv6 }
    };
    let access = n4_session(stored.upf, stored.second);
    let path = match stored.anchor.map(|anchor| n4_session(anchor, None)) {
        None => UserPlanePath::Anchor(access),
        Some(anchor) if stored.intermediate => {
            UserPlanePath::Intermediate { intermediate: access, anchor }
        }
        Some(anchor) => UserPlanePath::Classifier { classifier: access, anchor },
    };
    for (_, at) in path.all() {
        let is_its = |(upf, seid, _): &&SessionTeids| (*upf, *seid) == (at.upf, at.seid);
        let teids = stored.n4_teids.iter().find(is_its).cloned();
        smf.n4.restore_teids(reference, &teids.unwrap_or_else(|| n3_teid(&at)));
    }
    let policy = stored.policy.map(|(root, id)| {
        let pcf = PcfSmPolicyControlClient::new(peer(root));
        PolicyAssociation { pcf, id }
    });
    let charging = stored.charging.map(|charging| {
        Box::new(SessionCharging::restored(smf, &stored.supi, charging, taken_over))
    });
    let client = AmfCommunicationClient::new(peer(stored.amf));
    let connection = match stored.gnb {
        Some(gnb) if stored.active => UpConnection::Activated(gnb),
        _ if stored.stale => UpConnection::TunnelLost,
        _ => UpConnection::Deactivated,
    };
    let permits = smf.limits.acquire_free(stored.slice, &stored.dnn);
    smf.sessions.set_path(reference, path, stored.addresses);
    smf.sessions.set_left_upf(reference, stored.left_upf);
    // The pools have changed since this SMF established the session, and UPF, UE, AMF, PCF, UDM and
    // CHF still have it.
    if !is_marked
        && smf.sessions.is_own(reference)
        && let Some(session) = smf.sessions.get(&reference.to_string())
    {
        session.send(SessionEvent::AddressesLost);
    }
    Ok(Session {
        smf: smf.clone(),
        reference,
        inbox,
        supi: stored.supi,
        id: stored.id,
        slice: stored.slice,
        dnn: stored.dnn,
        plmn: stored.plmn,
        amf: ServingAmf { client, status_uri: stored.status_uri, denies_session: false },
        parameters: SessionParameters {
            kind: stored.kind,
            addresses: stored.addresses,
            is_in_pool: is_marked,
            static_addresses: stored.static_addresses,
            ssc_mode: stored.ssc_mode,
            framed_routes: stored.routes,
            unstructured_server: stored.server,
            always_on: stored.always_on,
        },
        qos: SessionQos {
            ambr: stored.ambr,
            five_qi: stored.five_qi,
            arp: stored.arp,
            flows: stored.flows,
            rules: stored.decided,
        },
        qos_at_ue: None,
        qos_at_upf: None,
        policy,
        udm: UdmState {
            is_registered: stored.registered,
            sdm_subscription: stored.sdm_subscription,
        },
        charging,
        pti: stored.pti,
        gsm: GsmState::Active,
        qos_in_setup: None,
        unconfirmed: None,
        rejected_by_ue: None,
        postponed: VecDeque::new(),
        user_plane: UserPlane {
            n4: N4Sessions::Established(path),
            connection,
            security: stored.protection,
            left_upf: stored.left_upf,
            is_return_scheduled: false,
            is_accept_at_gnb: false,
        },
        // The AMF's timer ends a handover that was being prepared.
        mobility: Mobility { tac: stored.tac, ..Mobility::default() },
        permits,
    })
}

impl Session {
    /// Stores the context as it is now, or removes it if the session is not to be restored.
    pub fn persist(&self) {
        let contexts = &self.smf.contexts;
        if !contexts.is_enabled() {
            return;
        }
        // A session that is being released ends with the process.
        let path = self.user_plane.path().filter(|_| !self.gsm.is_releasing());
        let Some(path) = path else { return self.remove_persisted() };
        let n4_session = |at: UpfSession| (at.upf, at.seid, at.teid, at.address);
        let n4 = &self.smf.n4;
        let n4_teids = path.all().filter_map(|(_, at)| n4.allocated_teids(at.upf, at.seid));
        let (parameters, qos, user_plane) = (&self.parameters, &self.qos, &self.user_plane);
        let policy = self.policy.as_ref();
        let persisted = PersistedSession {
            supi: self.supi.clone(),
            id: self.id,
            pti: self.pti,
            slice: self.slice,
            dnn: self.dnn.clone(),
            plmn: self.plmn.clone(),
            amf: self.amf.client.peer().root().clone(),
            status_uri: self.amf.status_uri.clone(),
            kind: parameters.kind.clone(),
            addresses: parameters.addresses,
            static_addresses: parameters.static_addresses,
            ssc_mode: parameters.ssc_mode,
            routes: parameters.framed_routes.clone(),
            server: parameters.unstructured_server,
            always_on: parameters.always_on,
            ambr: qos.ambr.clone(),
            five_qi: qos.five_qi,
            arp: qos.arp.clone(),
            policy: policy.map(|policy| (policy.pcf.peer().root().clone(), policy.id.clone())),
            decided: qos.rules.clone(),
            flows: qos.flows.clone(),
            charging: self.charging.as_ref().map(|charging| charging.persisted()),
            sdm_subscription: self.udm.sdm_subscription.clone(),
            registered: self.udm.is_registered,
            upf: n4_session(path.access()),
            second: path.access().ipv6,
            anchor: path.has_two_upfs().then(|| n4_session(path.anchor())),
            intermediate: path.intermediate().is_some(),
            n4_teids: n4_teids.collect(),
            left_upf: user_plane.left_upf,
            tac: self.mobility.tac,
            gnb: user_plane.connection.gnb(),
            active: user_plane.connection.is_activated(),
            stale: user_plane.connection == UpConnection::TunnelLost,
            protection: user_plane.security,
        };
        contexts.persist(self.reference.to_string(), move || persisted);
    }

    fn remove_persisted(&self) {
        self.smf.contexts.remove(self.reference.to_string());
    }

    /// Removes the session, which has ended, from the context store and the session table.
    pub fn end(&self) {
        self.remove_persisted();
        self.smf.sessions.remove(self.reference);
    }
}
