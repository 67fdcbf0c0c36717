//! The persisted form of a PDU session, and how sessions are restored after a restart (TS 23.527,
//! 4.3).
//!
//! A session's task stores its context after each event. An SMF that is killed loses the events of
//! the last `smf.context_store.flush_interval_ms`. A session that was established within it is
//! unknown after the restart: the AMF learns so with its next request, the UPF with its next report.
use crate::addresses::Addresses;
use crate::flows::{Decided, Flow};
use crate::procedures::charging::converged_charging::{self, Charging};
use crate::procedures::user_plane::n4_session_establishment;
use crate::protection::UpPolicy;
use crate::session::{Place, Session, UpfSession};
use crate::{Smf, SmfConfig};
use martlet_context_store::{ContextStore, PersistedContext, StoreError, StoredContexts};
use martlet_nas::GsmCause;
use martlet_nf::StartError;
use martlet_sbi::ApiRoot;
use martlet_sbi_api::common::{Ambr, Arp, Dnn, PduSessionType, PlmnId, Snssai, Supi};
use martlet_sbi_api::namf_communication::AmfCommunicationClient;
use martlet_sbi_api::npcf_sm_policy_control::PcfSmPolicyControlClient;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::sync::Arc;

/// Identity of the SMF's own entry; a session's identity is its reference.
pub const SMF: &str = "smf";

/// The name under which this SMF stores its sessions.
pub fn owner(config: &SmfConfig) -> String {
    config
        .set
        .as_ref()
        .map_or_else(|| SMF.into(), |set| format!("{}{}", owner_prefix(&set.id), set.member))
}

/// The common prefix of the owner names of an SMF set.
pub fn owner_prefix(set: &str) -> String {
    format!("smf-{set}-")
}

/// The SMF's own entry. Field names are part of the stored format.
#[derive(Serialize, Deserialize)]
struct PersistedSmf {
    /// Seconds since 1900 at which the first SMF started that knew these sessions.
    recovery: u32,
    /// API root of its services.
    #[serde(default)]
    root: Option<ApiRoot>,
}

/// The API root in an SMF's own entry.
pub fn root(value: &[u8]) -> Option<ApiRoot> {
    serde_json::from_slice::<PersistedSmf>(value).ok()?.root
}

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
    decided: Arc<Decided>,
    flows: Vec<Flow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    charging: Option<converged_charging::PersistedCharging>,
    sdm_subscription: Option<String>,
    registered: bool,
    upf: (SocketAddr, u64, u32, IpAddr),
    #[serde(default, skip_serializing_if = "Option::is_none")]
    second: Option<Ipv6Addr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    anchor: Option<(SocketAddr, u64, u32, IpAddr)>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    intermediate: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tac: Option<u32>,
    gnb: Option<(u32, IpAddr)>,
    active: bool,
    stale: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    protection: Option<UpPolicy>,
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
    sessions: StoredContexts,
}

/// The error of a start without the context store.
pub fn start_error(error: StoreError) -> StartError {
    StartError(format!("{error}; `smf.context_store` configures the database"))
}

/// Why a stored session was not restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    #[error("its address {addresses} is not in a pool of {dnn}, or is in use")]
    Address {
        /// The session's addresses.
        addresses: Addresses,
        /// Its data network.
        dnn: Dnn,
    },
    #[error("the SMF has too many sessions: raise smf.max_sessions")]
    TooManySessions,
}

/// Opens the context store and returns what a former process has stored.
pub fn open(config: &SmfConfig) -> Result<(ContextStore, Stored), StartError> {
    let opened = ContextStore::open(&config.context_store, &owner(config));
    let (contexts, all) = opened.map_err(start_error)?;
    let (own, sessions): (StoredContexts, _) = all.into_iter().partition(|(id, _)| id == SMF);
    let own = own.first().and_then(|(_, value)| serde_json::from_slice(value).ok());
    let recovery = own.map(|smf: PersistedSmf| smf.recovery).filter(|_| !sessions.is_empty());
    Ok((contexts, Stored { recovery, sessions }))
}

/// Restores the sessions that a former process has stored. `elsewhere` are the sessions of other
/// members of the set, some of which have addresses from this SMF's pools.
pub fn restore(smf: &Arc<Smf>, stored: Stored, elsewhere: Vec<Vec<u8>>) {
    #[derive(Deserialize)]
    struct Allocation {
        dnn: Dnn,
        addresses: Addresses,
    }
    for value in elsewhere {
        if let Ok(allocation) = serde_json::from_slice::<Allocation>(&value) {
            smf.pools.keep(&allocation.dnn, &allocation.addresses);
        }
    }
    let root = Some(smf.context.api_root().clone());
    let own = PersistedSmf { recovery: smf.n4.recovery(), root };
    smf.contexts.put(SMF, serde_json::to_vec(&own).unwrap_or_default());
    martlet_context_store::restore(&smf.contexts, stored.sessions, |reference, persisted| {
        let mut session = Box::new(session(smf, reference, persisted, false)?);
        martlet_sbi::trace::spawn(Default::default(), async move {
            // The former process may have ended before it registered the session.
            if !session.registered {
                session.registered = n4_session_establishment::register_again(&session).await;
            }
            session.run().await;
        });
        Ok::<_, RestoreError>(())
    });
}

/// Makes a session of its stored form; `taken_over` from another SMF of the set or not.
pub fn session(
    smf: &Arc<Smf>,
    reference: u64,
    persisted: PersistedSession,
    taken_over: bool,
) -> Result<Session, RestoreError> {
    // Another member's pools may hold the addresses of a session that it established.
    if !smf.pools.keep(&persisted.dnn, &persisted.addresses) && smf.sessions.is_own(reference) {
        return Err(RestoreError::Address { addresses: persisted.addresses, dnn: persisted.dnn });
    }
    let Some(inbox) =
        smf.sessions.add_again(reference, &persisted.supi, persisted.id, smf.config.session_queue)
    else {
        smf.pools.give_back(&persisted.dnn, &persisted.addresses);
        return Err(RestoreError::TooManySessions);
    };
    let peer = |root: ApiRoot| smf.context.peer_at(root).about(&persisted.supi);
    let (upf, seid, teid, address) = persisted.upf;
    // The association with the UPF is to come: where the UPF keeps its sessions, it is the first.
    let generation = |upf| if taken_over { smf.n4.generation(upf) } else { 0 };
    let upf = UpfSession {
        upf,
        generation: generation(upf),
        seid,
        teid,
        address,
        second: persisted.second,
    };
    let anchor = persisted.anchor.map(|(upf, seid, teid, address)| UpfSession {
        upf,
        generation: generation(upf),
        seid,
        teid,
        address,
        second: None,
    });
    let amf = AmfCommunicationClient::new(peer(persisted.amf));
    let charging = persisted
        .charging
        .map(|charging| Charging::restored(smf, &persisted.supi, charging).into());
    let policy = persisted.policy.map(|(root, id)| (PcfSmPolicyControlClient::new(peer(root)), id));
    let room = smf.limits.keep(persisted.slice, &persisted.dnn);
    smf.sessions.locate(reference, Place { upf, anchor, intermediate: persisted.intermediate });
    Ok(Session {
        smf: smf.clone(),
        reference,
        inbox,
        supi: persisted.supi,
        id: persisted.id,
        pti: persisted.pti,
        slice: persisted.slice,
        dnn: persisted.dnn,
        plmn: persisted.plmn,
        amf,
        status_uri: persisted.status_uri,
        kind: persisted.kind,
        addresses: persisted.addresses,
        ssc_mode: persisted.ssc_mode,
        routes: persisted.routes,
        server: persisted.server,
        always_on: persisted.always_on,
        ambr: persisted.ambr,
        five_qi: persisted.five_qi,
        arp: persisted.arp,
        policy,
        decided: persisted.decided,
        flows: persisted.flows,
        charging,
        refusal: GsmCause::NetworkFailure,
        sdm_subscription: persisted.sdm_subscription,
        modifying: None,
        registered: persisted.registered,
        upf: Some(upf),
        anchor,
        intermediate: persisted.intermediate,
        tac: persisted.tac,
        relocating: false,
        gnb: persisted.gnb,
        active: persisted.active,
        activating: false,
        waiting: false,
        // A handover of the process before ends by the AMF's timer, and begins anew.
        handover: None,
        forwards: Vec::new(),
        left: Vec::new(),
        room,
        protection: persisted.protection,
        stale: persisted.stale,
        release_commands: 0,
        lost: false,
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
        let Some(upf) = self.upf.filter(|_| !self.is_releasing() && !self.lost) else {
            return self.remove_persisted();
        };
        let persisted = PersistedSession {
            supi: self.supi.clone(),
            id: self.id,
            pti: self.pti,
            slice: self.slice,
            dnn: self.dnn.clone(),
            plmn: self.plmn.clone(),
            amf: self.amf.peer().root().clone(),
            status_uri: self.status_uri.clone(),
            kind: self.kind.clone(),
            addresses: self.addresses,
            ssc_mode: self.ssc_mode,
            routes: self.routes.clone(),
            server: self.server,
            always_on: self.always_on,
            ambr: self.ambr.clone(),
            five_qi: self.five_qi,
            arp: self.arp.clone(),
            policy: self.policy.as_ref().map(|(pcf, id)| (pcf.peer().root().clone(), id.clone())),
            decided: self.decided.clone(),
            flows: self.flows.clone(),
            charging: self.charging.as_ref().map(|charging| charging.persisted()),
            sdm_subscription: self.sdm_subscription.clone(),
            registered: self.registered,
            upf: (upf.upf, upf.seid, upf.teid, upf.address),
            second: upf.second,
            anchor: self.anchor.map(|at| (at.upf, at.seid, at.teid, at.address)),
            intermediate: self.intermediate,
            tac: self.tac,
            gnb: self.gnb,
            active: self.active,
            stale: self.stale,
            protection: self.protection,
        };
        contexts.persist(self.reference.to_string(), move || persisted);
    }

    fn remove_persisted(&self) {
        self.smf.contexts.remove(self.reference.to_string());
    }

    /// Removes the session, which has ended, from the store and from the table.
    pub fn forget(&self) {
        self.remove_persisted();
        self.smf.sessions.remove(self.reference);
    }
}
