//! The persisted form of a UE context, and how UEs are restored after a restart.
//!
//! A UE's task stores its context after each event. An AMF that is killed loses the events of the
//! last `amf.context_store.flush_interval_ms`. A UE that registered within it is unknown after the
//! restart. A known UE may have used NAS COUNTs that were not stored, so that the restored context
//! skips some downlink COUNTs: none is used twice (TS 33.501, 6.4.3.1).
use crate::ue::{
    AmPolicy, Due, Idle, ProcedureLayer, Security, Session, SessionState, SmContext, Subscription,
    Ue, UeHandle,
};
use crate::{Amf, AmfConfig};
use bytes::Bytes;
use martlet_context_store::{
    ContextStore, PersistedContext, SetContexts, StoreError, StoredContexts,
};
use martlet_nas::identifiers::{AmfId, Slice};
use martlet_nas::{
    CipheringAlgorithm, Direction, DrxValue, Guti, IntegrityAlgorithm, NasConnection, NasCount,
    NasUeSecurityCapability, Plmn,
};
use martlet_nf::StartError;
use martlet_sbi::ApiRoot;
use martlet_sbi_api::common::{Ambr, Dnn, Pei, Supi};
use martlet_security::{Zeroize, Zeroizing};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Downlink COUNTs that a restored context skips; fewer than the 256 values of the NAS sequence
/// number.
const SKIPPED_COUNTS: u32 = 64;

/// A UE context. Field names are part of the stored format.
#[derive(Serialize, Deserialize)]
pub(crate) struct PersistedUe {
    supi: Supi,
    pei: Option<Pei>,
    guti: Option<PersistedGuti>,
    old_guti: Option<PersistedGuti>,
    /// The UE has confirmed `guti`, and has not used it yet.
    #[serde(default)]
    old_guti_is_retained: bool,
    security: PersistedSecurity,
    registered: bool,
    /// As in the UE security capability (TS 24.501, 9.11.3.54).
    capability: Option<Vec<u8>>,
    radio_capability: Option<String>,
    /// Encoded.
    #[serde(default)]
    radio_capability_for_paging: Option<String>,
    subscription: Option<Arc<Subscription>>,
    policy: Option<PersistedPolicy>,
    allowed: Vec<(u8, Option<[u8; 3]>)>,
    #[serde(default)]
    due: Due,
    /// Network and tracking area code.
    area: Vec<(PersistedPlmn, u32)>,
    t3512: u32,
    /// The negotiated DRX cycle, as in the 5GS DRX parameters (TS 24.501, 9.11.3.2A).
    #[serde(default)]
    drx: Option<u8>,
    sessions: BTreeMap<u8, PersistedSession>,
    lpp: bool,
    lcs_upp: bool,
    /// The timer of an idle UE (0 mobile reachable, 1 implicit deregistration, 2 removal of a
    /// deregistered UE), and its expiry in seconds since 1970.
    idle: Option<(u8, u64)>,
}

/// MCC and MNC.
#[derive(Serialize, Deserialize)]
struct PersistedPlmn(String, String);

impl PersistedPlmn {
    fn of(plmn: Plmn) -> Self {
        PersistedPlmn(plmn.mcc().to_string(), plmn.mnc().to_string())
    }
    fn plmn(&self) -> Result<Plmn, RestoreError> {
        Plmn::new(&self.0, &self.1).map_err(|_| RestoreError::Plmn)
    }
}

/// PLMN, AMF region, set and pointer, 5G-TMSI.
#[derive(Serialize, Deserialize)]
struct PersistedGuti(PersistedPlmn, u8, u16, u8, u32);

impl PersistedGuti {
    fn of(guti: &Guti) -> Self {
        let id = AmfId::of_guti(guti);
        PersistedGuti(
            PersistedPlmn::of(guti.plmn()),
            id.region(),
            id.set(),
            id.pointer(),
            guti.tmsi(),
        )
    }
    fn guti(&self) -> Result<Guti, RestoreError> {
        let guti = Guti::new(self.0.plmn()?, self.1, self.2, self.3, self.4);
        guti.map_err(|_| RestoreError::Guti)
    }
}

#[derive(Serialize, Deserialize)]
struct PersistedSecurity {
    k_amf: String,
    ngksi: u8,
    integrity: u8,
    ciphering: u8,
    uplink: Option<u32>,
    downlink: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct PersistedPolicy {
    pcf: ApiRoot,
    id: String,
    rfsp: Option<u16>,
    ambr: Option<Ambr>,
}

#[derive(Serialize, Deserialize)]
struct PersistedSession {
    number: u64,
    slice: (u8, Option<[u8; 3]>),
    dnn: Dnn,
    smf: ApiRoot,
    reference: String,
    active: bool,
    /// The SMF has not accepted that this AMF serves the UE.
    #[serde(default)]
    unannounced: bool,
}

/// The name under which this AMF stores its contexts: region, set and pointer of its first GUAMI.
pub(crate) fn owner(config: &AmfConfig) -> String {
    let first = config.guamis.first();
    let id = first.and_then(|guami| AmfId::new(guami.region, guami.set, guami.pointer).ok());
    id.map_or_else(|| "amf".into(), |id| owner_of(&id))
}

/// The name under which an AMF stores its contexts.
pub(crate) fn owner_of(id: &AmfId) -> String {
    format!("{}{:02x}", owner_prefix(id), id.pointer())
}

/// The common prefix of the owner names of an AMF set.
pub(crate) fn owner_prefix(id: &AmfId) -> String {
    format!("amf-{:02x}-{:03x}-", id.region(), id.set())
}

/// The identity of the entry that holds the NF instance ID of the AMF.
const INSTANCE: &str = "instance";
/// The identity of the entry with the API root of an AMF that is suspended at the NRF, while it
/// still has its UEs.
pub(crate) const CONTACT: &str = "contact";
/// The identity of the entry with the load of an AMF, and the UEs that it offers to others.
pub(crate) const REBALANCING: &str = "rebalancing";

/// Opens the context store and returns what this AMF has stored, also under earlier GUAMIs.
pub(crate) fn open(
    config: &AmfConfig,
    instance_id: &str,
) -> Result<(ContextStore, StoredContexts), StartError> {
    let failed = |error| StartError::database("amf.context_store", error);
    let owner = owner(config);
    let (store, mut stored) = ContextStore::open(&config.context_store, &owner).map_err(failed)?;
    if store.is_enabled() {
        // The PostgreSQL client blocks, and may not do so in a task.
        let former = std::thread::scope(|scope| {
            let read = scope.spawn(|| of_former_guamis(config, &owner, instance_id));
            read.join().unwrap_or(Err(StoreError::Ended))
        });
        stored.extend(former.map_err(failed)?);
        store.put(INSTANCE, instance_id.as_bytes().to_vec());
    }
    for former in [CONTACT, REBALANCING] {
        if stored.iter().any(|(id, _)| id == former) {
            store.remove(former);
        }
    }
    stored.retain(|(id, _)| ![INSTANCE, CONTACT, REBALANCING].contains(&id.as_str()));
    Ok((store, stored))
}

/// Takes what this AMF stored while `amf.guamis` had another first entry. Other AMFs that share
/// the database have other instance IDs.
fn of_former_guamis(
    config: &AmfConfig,
    owner: &str,
    instance_id: &str,
) -> Result<StoredContexts, StoreError> {
    let mut all = StoredContexts::new();
    let set = SetContexts::open(&config.context_store, None)?;
    let owners = set.peer(owner).owners("amf-")?;
    for former in owners.into_iter().filter(|former| former != owner) {
        let contexts = set.peer(&former);
        if contexts.context(INSTANCE)?.is_none_or(|id| id != instance_id.as_bytes()) {
            continue;
        }
        let stored = contexts.contexts()?;
        tracing::info!(former, contexts = stored.len(), "contexts of former amf.guamis found");
        let ids: Vec<String> = stored.into_iter().map(|(id, _)| id).collect();
        all.extend(contexts.take_over_all(&ids)?);
    }
    Ok(all)
}

/// Why a stored UE context was not restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RestoreError {
    #[error("the AMF has too many UEs: raise amf.limits.max_ues")]
    TooManyUes,
    #[error("its 5G-GUTI is invalid")]
    Guti,
    #[error("its PLMN is invalid")]
    Plmn,
    #[error("its K_AMF is invalid")]
    Key,
    #[error("its NAS algorithms are unknown")]
    Algorithms,
    #[error("its NAS security context is invalid")]
    Security,
}

/// Restores the UEs that a former process has stored.
pub(crate) fn restore(amf: &Arc<Amf>, stored: StoredContexts) {
    martlet_context_store::restore(&amf.contexts, stored, |number, persisted| {
        let ue = ue(amf, number, persisted)?;
        martlet_sbi::trace::spawn(Default::default(), ue.run_restored());
        Ok::<_, RestoreError>(())
    });
}

/// Makes a UE of a stored context.
fn ue(amf: &Arc<Amf>, number: u64, persisted: PersistedUe) -> Result<Box<Ue>, RestoreError> {
    if amf.tables.len() >= amf.config.limits.max_ues {
        return Err(RestoreError::TooManyUes);
    }
    let security = persisted.security.security()?;
    let guti = persisted.guti.as_ref().map(PersistedGuti::guti).transpose()?;
    let old_guti = persisted.old_guti.as_ref().map(PersistedGuti::guti).transpose()?;
    let area = persisted
        .area
        .iter()
        .map(|(plmn, tac)| Ok(crate::served::Tai { plmn: plmn.plmn()?, tac: *tac }));
    let area = area.collect::<Result<Vec<_>, RestoreError>>()?;
    // A GUAMI may have been removed from the configuration: other network functions still have the
    // UE's sessions and policies. They are released at once.
    let is_foreign = |guti: &Guti| !amf.served.allocated(guti) && !amf.served.is_of_set(guti);
    let is_served = !guti.as_ref().is_some_and(is_foreign);
    let (guti, old_guti) = (guti.filter(|_| is_served), old_guti.filter(|_| is_served));
    let (sender, inbox) = martlet_event_queue::bounded(amf.config.limits.ue_queue);
    let handle = UeHandle { number, sender };
    amf.tables.add(&handle);
    let mut ue = Box::new(Ue::new(amf.clone(), handle, inbox, false));
    ue.set_started();
    amf.tables.claim_supi(&persisted.supi, &ue.handle);
    for guti in guti.iter().chain(&old_guti) {
        amf.tables.claim_tmsi(guti.tmsi(), &ue.handle);
    }
    (ue.identity.supi, ue.identity.pei, ue.identity.guti, ue.identity.old_guti) =
        (Some(persisted.supi), persisted.pei, guti, old_guti);
    ue.identity.old_guti_is_retained = persisted.old_guti_is_retained;
    ue.security = Some(security);
    ue.capabilities.security = persisted.capability.map(NasUeSecurityCapability::new);
    ue.capabilities.radio = octets(persisted.radio_capability);
    ue.capabilities.radio_for_paging = octets(persisted.radio_capability_for_paging);
    ue.registration.subscription = persisted
        .subscription
        .map(|stored| amf.subscriptions.share(Arc::unwrap_or_clone(stored)).into());
    ue.registration.policy = persisted.policy.map(PersistedPolicy::policy);
    ue.registration.allowed =
        persisted.allowed.into_iter().map(|(sst, sd)| Slice { sst, sd }).collect();
    (ue.registration.area, ue.registration.t3512, ue.registration.due) =
        (area, persisted.t3512, persisted.due);
    ue.registration.drx = persisted.drx.and_then(DrxValue::from_u8_strict);
    (ue.positioning.lpp, ue.positioning.lcs_upp) = (persisted.lpp, persisted.lcs_upp);
    for (psi, session) in persisted.sessions {
        let number = session.number;
        ue.sessions.insert(psi, session.session(number));
    }
    if persisted.registered {
        ue.register();
    };
    let left = persisted.idle.map(|(kind, until)| {
        (kind, Instant::now() + Duration::from_secs(until.saturating_sub(now())))
    });
    let unreachable = (1, Instant::now());
    ue.idle = if is_served { left } else { Some(unreachable) }.map(|(kind, until)| match kind {
        0 => Idle::Reachable(until),
        1 => Idle::Unreachable(until),
        _ => Idle::Deregistered(until),
    });
    Ok(ue)
}

/// SUPI and 5G-TMSIs of a stored context.
pub(crate) fn identities(value: &[u8]) -> (Option<String>, Vec<u32>) {
    #[derive(Deserialize)]
    struct Identities {
        supi: String,
        guti: Option<PersistedGuti>,
        old_guti: Option<PersistedGuti>,
    }
    let Ok(ids) = martlet_erased::from_json::<Identities>(value) else { return (None, Vec::new()) };
    (Some(ids.supi), ids.guti.iter().chain(&ids.old_guti).map(|guti| guti.4).collect())
}

impl PersistedContext for PersistedUe {
    const KIND: &'static str = "UE";

    fn supi(&self) -> &str {
        &self.supi
    }
}

impl PersistedUe {
    /// Its NAS security context.
    pub fn security(&self) -> Result<Security, RestoreError> {
        self.security.security()
    }

    /// Its 5G-GUTI.
    pub fn guti(&self) -> Option<Guti> {
        self.guti.as_ref()?.guti().ok()
    }

    /// Gives a UE without a context this context of another AMF: registered as it was, with its
    /// user planes deactivated. It has the other AMF's 5G-GUTI until this AMF assigns one.
    pub fn take_over(self, ue: &mut Ue) -> Result<(), RestoreError> {
        let security = self.security.security()?;
        let guti = self.guti.as_ref().map(PersistedGuti::guti).transpose()?;
        let old_guti = self.old_guti.as_ref().map(PersistedGuti::guti).transpose()?;
        let area = self
            .area
            .iter()
            .map(|(plmn, tac)| Ok(crate::served::Tai { plmn: plmn.plmn()?, tac: *tac }));
        ue.registration.area = area.collect::<Result<Vec<_>, RestoreError>>()?;
        for guti in guti.iter().chain(&old_guti) {
            ue.amf.tables.claim_free_tmsi(guti.tmsi(), &ue.handle);
        }
        (ue.identity.guti, ue.identity.old_guti, ue.registration.t3512, ue.registration.due) =
            (guti, old_guti, self.t3512, self.due);
        ue.identity.old_guti_is_retained = self.old_guti_is_retained;
        ue.registration.drx = self.drx.and_then(DrxValue::from_u8_strict);
        (ue.identity.supi, ue.identity.pei, ue.security) =
            (Some(self.supi), self.pei, Some(security));
        ue.capabilities.security = self.capability.map(NasUeSecurityCapability::new);
        ue.capabilities.radio = octets(self.radio_capability);
        ue.capabilities.radio_for_paging = octets(self.radio_capability_for_paging);
        // The other AMF's SDM subscription notifies the other AMF.
        ue.registration.subscription = self.subscription.map(|stored| {
            let stored = ue.amf.subscriptions.share(Arc::unwrap_or_clone(stored));
            Arc::new(Subscription { sdm_subscription: None, ..stored })
        });
        ue.registration.policy = self.policy.map(PersistedPolicy::policy);
        ue.registration.allowed =
            self.allowed.into_iter().map(|(sst, sd)| Slice { sst, sd }).collect();
        (ue.positioning.lpp, ue.positioning.lcs_upp) = (self.lpp, self.lcs_upp);
        for (psi, session) in self.sessions {
            let number = ue.amf.tables.next_number();
            ue.sessions.insert(psi, session.deactivated(number));
        }
        if self.registered {
            ue.register();
        };
        Ok(())
    }

    /// Copies another AMF's context of a UE that registers into its context here. The 5G-GUTI is
    /// not copied.
    pub fn copy_to(self, ue: &mut Ue) -> Result<(), RestoreError> {
        let security = self.security.security()?;
        (ue.identity.supi, ue.identity.pei, ue.security) =
            (Some(self.supi), self.pei, Some(security));
        ue.capabilities.security = self.capability.map(NasUeSecurityCapability::new);
        ue.capabilities.radio = octets(self.radio_capability);
        ue.capabilities.radio_for_paging = octets(self.radio_capability_for_paging);
        ue.registration.drx = self.drx.and_then(DrxValue::from_u8_strict);
        ue.registration.policy = self.policy.map(PersistedPolicy::policy);
        ue.registration.allowed =
            self.allowed.into_iter().map(|(sst, sd)| Slice { sst, sd }).collect();
        for (psi, session) in self.sessions {
            let number = ue.amf.tables.next_number();
            ue.sessions.insert(psi, session.deactivated(number));
        }
        Ok(())
    }
}

impl PersistedPolicy {
    fn policy(self) -> AmPolicy {
        AmPolicy { pcf: self.pcf, id: self.id, rfsp: self.rfsp, ambr: self.ambr }
    }
}

impl PersistedSession {
    fn session(self, number: u64) -> Session {
        let (sst, sd) = self.slice;
        let context = SmContext { root: self.smf, reference: self.reference };
        Session {
            number,
            slice: Slice { sst, sd },
            dnn: self.dnn,
            context,
            state: match self.active {
                true => SessionState::Activated,
                false => SessionState::Deactivated,
            },
            is_unannounced: self.unannounced,
        }
    }

    /// The session of another AMF, whose gNBs have no resources for it here.
    fn deactivated(self, number: u64) -> Session {
        Session { state: SessionState::Deactivated, ..self.session(number) }
    }
}

/// Octets of hexadecimal digits; none if they are not.
fn octets(text: Option<String>) -> Option<Bytes> {
    text.and_then(|text| hex::decode(text).ok()).map(Into::into)
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl Drop for PersistedSecurity {
    fn drop(&mut self) {
        self.k_amf.zeroize();
    }
}

impl PersistedSecurity {
    fn of(security: &Security) -> Self {
        let count = |direction| {
            security.nas.nas_count(direction, NasConnection::ThreeGpp).map(NasCount::get)
        };
        PersistedSecurity {
            k_amf: hex::encode(security.k_amf()),
            ngksi: security.ngksi,
            integrity: security.integrity as u8,
            ciphering: security.nas.ciphering_algorithm() as u8,
            uplink: count(Direction::Uplink),
            downlink: count(Direction::Downlink),
        }
    }

    fn security(&self) -> Result<Security, RestoreError> {
        use {CipheringAlgorithm::*, IntegrityAlgorithm::*};
        let mut k_amf = Zeroizing::new([0; 32]);
        hex::decode_to_slice(&self.k_amf, &mut *k_amf).map_err(|_| RestoreError::Key)?;
        let integrity = [NIA0, NIA1, NIA2, NIA3]
            .into_iter()
            .find(|algorithm| *algorithm as u8 == self.integrity);
        let ciphering = [NEA0, NEA1, NEA2, NEA3]
            .into_iter()
            .find(|algorithm| *algorithm as u8 == self.ciphering);
        let (integrity, ciphering) = integrity.zip(ciphering).ok_or(RestoreError::Algorithms)?;
        let count = |count: Option<u32>, on: u32| {
            count.and_then(|count| NasCount::new(count.saturating_add(on)).ok())
        };
        let counts = (count(self.uplink, 0), count(self.downlink, SKIPPED_COUNTS));
        Security::restored(&k_amf, self.ngksi, ciphering, integrity, counts)
            .map_err(|_| RestoreError::Security)
    }
}

impl Ue {
    /// Stores the context as it is now, or removes it if it is not worth restoring.
    pub fn persist(&self) {
        let contexts = &self.amf.contexts;
        if !contexts.is_enabled() {
            return;
        }
        let id = self.handle.number.to_string();
        let is_worth_restoring =
            self.is_registered() || matches!(self.idle, Some(Idle::Deregistered(_)));
        let (Some(supi), Some(security), true) =
            (&self.identity.supi, &self.security, is_worth_restoring)
        else {
            return contexts.remove(id);
        };
        let slice = |slice: &Slice| (slice.sst, slice.sd);
        let session = |(psi, session): (&u8, &Session)| {
            let persisted = PersistedSession {
                number: session.number,
                slice: slice(&session.slice),
                dnn: session.dnn.clone(),
                smf: session.context.root.clone(),
                reference: session.context.reference.clone(),
                active: session.state.is_active(),
                unannounced: session.is_unannounced,
            };
            (*psi, persisted)
        };
        // A connected UE has no timer; it becomes idle, and its timer starts, when this process
        // ends.
        let idle = self.idle.map(|idle| {
            let left = idle.until().saturating_duration_since(Instant::now()).as_secs();
            let kind = match idle {
                Idle::Reachable(_) => 0,
                Idle::Unreachable(_) => 1,
                Idle::Deregistered(_) => 2,
            };
            (kind, now() + left)
        });
        let mut persisted = PersistedUe {
            supi: supi.clone(),
            pei: self.identity.pei.clone(),
            guti: self.identity.guti.as_ref().map(PersistedGuti::of),
            old_guti: self.identity.old_guti.as_ref().map(PersistedGuti::of),
            old_guti_is_retained: self.identity.old_guti_is_retained,
            security: PersistedSecurity::of(security),
            registered: self.is_registered(),
            capability: self
                .capabilities
                .security
                .as_ref()
                .map(|capability| capability.value.to_vec()),
            radio_capability: None,
            radio_capability_for_paging: None,
            subscription: self.registration.subscription.clone(),
            policy: self.registration.policy.as_ref().map(|policy| PersistedPolicy {
                pcf: policy.pcf.clone(),
                id: policy.id.clone(),
                rfsp: policy.rfsp,
                ambr: policy.ambr.clone(),
            }),
            allowed: self.registration.allowed.iter().map(slice).collect(),
            due: self.registration.due,
            area: self
                .registration
                .area
                .iter()
                .map(|tai| (PersistedPlmn::of(tai.plmn), tai.tac))
                .collect(),
            t3512: self.registration.t3512,
            drx: self.registration.drx.map(|cycle| cycle as u8),
            sessions: self.sessions.iter().map(session).collect(),
            lpp: self.positioning.lpp,
            lcs_upp: self.positioning.lcs_upp,
            idle,
        };
        let radio = self.capabilities.radio.clone();
        let for_paging = self.capabilities.radio_for_paging.clone();
        contexts.persist(id, move || {
            persisted.radio_capability = radio.map(hex::encode);
            persisted.radio_capability_for_paging = for_paging.map(hex::encode);
            persisted
        });
    }

    /// Runs a restored UE: its N2 connection ended with the former process.
    async fn run_restored(mut self: Box<Self>) {
        if !self.active_sessions().is_empty() {
            let amf = self.amf.clone();
            // Limits the load on the SMFs.
            let _permit = amf.restorations.acquire().await;
            Box::pin(self.deactivate_all(None)).await;
        }
        self.start_idle_timer();
        self.publish();
        self.persist();
        self.run().await;
    }
}
