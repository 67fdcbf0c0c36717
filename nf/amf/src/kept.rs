//! UEs outlive the process: what of them is kept, and how a new AMF goes on with them.
//!
//! Each time a UE's task has done something, what is known of the UE is handed to the journal,
//! which writes it a moment later (`amf.state.interval_ms`), many UEs in one transaction. Of an AMF
//! that is killed, that moment is lost: a UE that registered within it is not known any more (its
//! next message is answered as that of a stranger), and of one that is known some NAS COUNTs may
//! have been used that were not written. The new AMF therefore passes some downlink COUNTs over, so
//! that none is used twice (TS 33.501, 6.4.3.1).
use crate::ue::{AmPolicy, Due, Idle, Security, Session, SmContext, Subscription, Ue, UeHandle};
use crate::{Amf, AmfConfig};
use martlet_nas::identifiers::{AmfId, Slice};
use martlet_nas::{
    CipheringAlgorithm, Direction, Guti, IntegrityAlgorithm, NasConnection, NasCount,
    NasUeSecurityCapability, Plmn,
};
use martlet_nf::StartError;
use martlet_sbi::ApiRoot;
use martlet_sbi_api::common::{Ambr, Dnn, Pei, Supi};
use martlet_store::{Journal, Kept};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::mpsc;

/// Downlink COUNTs that may have been used and not written. Far fewer than the 256 that the
/// sequence number tells apart.
const PASSED_OVER: u32 = 64;

#[derive(Serialize, Deserialize)]
pub(crate) struct KeptUe {
    supi: Supi,
    pei: Option<Pei>,
    guti: Option<KeptGuti>,
    old_guti: Option<KeptGuti>,
    security: KeptSecurity,
    registered: bool,
    /// As in the UE security capability (TS 24.501, 9.11.3.54).
    capability: Option<Vec<u8>>,
    radio_capability: Option<String>,
    subscription: Option<Arc<Subscription>>,
    policy: Option<KeptPolicy>,
    allowed: Vec<(u8, Option<[u8; 3]>)>,
    #[serde(default)]
    due: Due,
    /// Network and tracking area code.
    area: Vec<(KeptPlmn, u32)>,
    t3512: u32,
    sessions: BTreeMap<u8, KeptSession>,
    lpp: bool,
    lcs_upp: bool,
    /// What an idle UE's timer is about, and when it expires, in seconds since 1970.
    idle: Option<(u8, u64)>,
}

/// MCC and MNC.
#[derive(Serialize, Deserialize)]
struct KeptPlmn(String, String);

impl KeptPlmn {
    fn of(plmn: Plmn) -> Self {
        KeptPlmn(plmn.mcc().to_string(), plmn.mnc().to_string())
    }
    fn plmn(&self) -> Result<Plmn, String> {
        Plmn::new(&self.0, &self.1).map_err(|e| e.to_string())
    }
}

/// PLMN, AMF region, set and pointer, 5G-TMSI.
#[derive(Serialize, Deserialize)]
struct KeptGuti(KeptPlmn, u8, u16, u8, u32);

impl KeptGuti {
    fn of(guti: &Guti) -> Self {
        let id = AmfId::of_guti(guti);
        KeptGuti(KeptPlmn::of(guti.plmn()), id.region(), id.set(), id.pointer(), guti.tmsi())
    }
    fn guti(&self) -> Result<Guti, String> {
        Guti::new(self.0.plmn()?, self.1, self.2, self.3, self.4).map_err(|e| e.to_string())
    }
}

#[derive(Serialize, Deserialize)]
struct KeptSecurity {
    k_amf: String,
    ngksi: u8,
    integrity: u8,
    ciphering: u8,
    uplink: Option<u32>,
    downlink: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct KeptPolicy {
    pcf: ApiRoot,
    id: String,
    rfsp: Option<u16>,
    ambr: Option<Ambr>,
}

#[derive(Serialize, Deserialize)]
struct KeptSession {
    number: u64,
    slice: (u8, Option<[u8; 3]>),
    dnn: Dnn,
    smf: ApiRoot,
    reference: String,
    active: bool,
}

/// Under whose name an AMF keeps its contexts: region, set and pointer of its first GUAMI.
pub(crate) fn owner(config: &AmfConfig) -> String {
    let first = config.guamis.first();
    let id = first.and_then(|guami| AmfId::new(guami.region, guami.set, guami.pointer).ok());
    id.map_or_else(|| "amf".into(), |id| owner_of(&id))
}

pub(crate) fn owner_of(id: &AmfId) -> String {
    format!("{}{:02x}", set_of(id), id.pointer())
}

/// What the names of all AMFs of a set begin with.
pub(crate) fn set_of(id: &AmfId) -> String {
    format!("amf-{:02x}-{:03x}-", id.region(), id.set())
}

/// Opens the place where UEs are kept, and gives those that are there.
pub(crate) fn open(config: &AmfConfig) -> Result<(Option<Journal>, Kept), StartError> {
    let failed = |error| StartError(format!("{error}; `amf.state` says where contexts are kept"));
    let opened = config.state.open(&owner(config)).map_err(failed)?;
    Ok(opened.map_or((None, Vec::new()), |(journal, kept)| (Some(journal), kept)))
}

/// Goes on with what was kept.
pub(crate) fn restore(amf: &Arc<Amf>, kept: Kept) {
    let Some(journal) = &amf.journal else { return };
    let (started, all, mut restored) = (Instant::now(), kept.len(), 0);
    for (id, value) in kept {
        let known: Result<KeptUe, _> = serde_json::from_slice(&value);
        let outcome = match (id.parse(), known) {
            (Ok(number), Ok(kept)) => ue(amf, number, kept),
            (_, Err(error)) => Err(error.to_string()),
            (Err(_), _) => Err("its number is none".into()),
        };
        match outcome {
            Ok(ue) => {
                martlet_sbi::trace::spawn(Default::default(), ue.go_on());
                restored += 1;
            }
            Err(reason) => {
                tracing::warn!(id, reason, "a UE is not restored");
                journal.remove(id);
            }
        }
    }
    if all > 0 {
        let ms = started.elapsed().as_millis() as u64;
        tracing::info!(ues = restored, of = all, ms, "UEs from before are restored");
    }
}

fn ue(amf: &Arc<Amf>, number: u64, kept: KeptUe) -> Result<Ue, String> {
    if amf.tables.len() >= amf.config.limits.max_ues {
        return Err("there is no room: raise amf.limits.max_ues".into());
    }
    let security = kept.security.security()?;
    let guti = kept.guti.as_ref().map(KeptGuti::guti).transpose()?;
    let old_guti = kept.old_guti.as_ref().map(KeptGuti::guti).transpose()?;
    let area = kept
        .area
        .iter()
        .map(|(plmn, tac)| Ok(crate::served::Tai { plmn: plmn.plmn()?, tac: *tac }));
    let area = area.collect::<Result<Vec<_>, String>>()?;
    // A configuration that serves it no more makes a stranger of it.
    if guti.as_ref().is_some_and(|guti| !amf.served.gave(guti) && !amf.served.is_of_set(guti)) {
        return Err("its 5G-GUTI is not one of amf.guamis".into());
    }
    let (sender, inbox) = mpsc::channel(amf.config.limits.ue_queue);
    let handle = UeHandle { number, sender };
    amf.tables.add(&handle);
    let mut ue = Ue::new(amf.clone(), handle, inbox, false);
    ue.begin_again();
    amf.tables.claim_supi(&kept.supi, &ue.handle);
    for guti in guti.iter().chain(&old_guti) {
        amf.tables.claim_tmsi(guti.tmsi(), &ue.handle);
    }
    (ue.supi, ue.pei, ue.guti, ue.old_guti) = (Some(kept.supi), kept.pei, guti, old_guti);
    ue.security = Some(security);
    ue.capability = kept.capability.map(NasUeSecurityCapability::new);
    ue.radio_capability =
        kept.radio_capability.and_then(|text| hex::decode(text).ok()).map(Into::into);
    ue.subscription = kept.subscription;
    ue.policy = kept.policy.map(KeptPolicy::policy);
    ue.allowed = kept.allowed.into_iter().map(|(sst, sd)| Slice { sst, sd }).collect();
    (ue.area, ue.t3512, ue.due) = (area, kept.t3512, kept.due);
    (ue.positioning.lpp, ue.positioning.lcs_upp) = (kept.lpp, kept.lcs_upp);
    for (psi, kept) in kept.sessions {
        let number = kept.number;
        ue.sessions.insert(psi, kept.session(number));
    }
    ue.set_registered(kept.registered);
    let left = kept.idle.map(|(kind, until)| {
        (kind, Instant::now() + Duration::from_secs(until.saturating_sub(now())))
    });
    ue.idle = left.map(|(kind, until)| match kind {
        0 => Idle::Reachable(until),
        1 => Idle::Unreachable(until),
        _ => Idle::Deregistered(until),
    });
    Ok(ue)
}

/// SUPI and 5G-TMSIs of a context as it is kept.
pub(crate) fn names(value: &[u8]) -> (Option<String>, Vec<u32>) {
    #[derive(Deserialize)]
    struct Names {
        supi: String,
        guti: Option<KeptGuti>,
        old_guti: Option<KeptGuti>,
    }
    let Ok(names) = serde_json::from_slice::<Names>(value) else { return (None, Vec::new()) };
    (Some(names.supi), names.guti.iter().chain(&names.old_guti).map(|guti| guti.4).collect())
}

impl KeptUe {
    /// Its keys.
    pub fn security(&self) -> Result<Security, String> {
        self.security.security()
    }

    /// Its 5G-GUTI.
    pub fn guti(&self) -> Option<Guti> {
        self.guti.as_ref()?.guti().ok()
    }

    /// Makes a UE without a context the one that another AMF has kept, registered as it was and
    /// with its user planes gone. It has the other AMF's 5G-GUTI until it gets one of this AMF.
    pub fn adopt(self, ue: &mut Ue) -> Result<(), String> {
        let security = self.security.security()?;
        let guti = self.guti.as_ref().map(KeptGuti::guti).transpose()?;
        let old_guti = self.old_guti.as_ref().map(KeptGuti::guti).transpose()?;
        let area = self
            .area
            .iter()
            .map(|(plmn, tac)| Ok(crate::served::Tai { plmn: plmn.plmn()?, tac: *tac }));
        ue.area = area.collect::<Result<Vec<_>, String>>()?;
        for guti in guti.iter().chain(&old_guti) {
            ue.amf.tables.claim_free_tmsi(guti.tmsi(), &ue.handle);
        }
        (ue.guti, ue.old_guti, ue.t3512, ue.due) = (guti, old_guti, self.t3512, self.due);
        (ue.supi, ue.pei, ue.security) = (Some(self.supi), self.pei, Some(security));
        ue.capability = self.capability.map(NasUeSecurityCapability::new);
        ue.radio_capability =
            self.radio_capability.and_then(|text| hex::decode(text).ok()).map(Into::into);
        // The other AMF's subscription is told to the other AMF.
        ue.subscription = self.subscription.map(|mut subscription| {
            Arc::make_mut(&mut subscription).sdm_subscription = None;
            subscription
        });
        ue.policy = self.policy.map(KeptPolicy::policy);
        ue.allowed = self.allowed.into_iter().map(|(sst, sd)| Slice { sst, sd }).collect();
        (ue.positioning.lpp, ue.positioning.lcs_upp) = (self.lpp, self.lcs_upp);
        for (psi, kept) in self.sessions {
            let number = ue.amf.tables.next_number();
            ue.sessions.insert(psi, Session { active: false, ..kept.session(number) });
        }
        ue.set_registered(self.registered);
        Ok(())
    }

    /// Puts what another AMF has kept of the UE into a context of this one. Its 5G-GUTI stays the
    /// other AMF's.
    pub fn go_on_as(self, ue: &mut Ue) -> Result<(), String> {
        let security = self.security.security()?;
        (ue.supi, ue.pei, ue.security) = (Some(self.supi), self.pei, Some(security));
        ue.capability = self.capability.map(NasUeSecurityCapability::new);
        ue.radio_capability =
            self.radio_capability.and_then(|text| hex::decode(text).ok()).map(Into::into);
        ue.policy = self.policy.map(KeptPolicy::policy);
        ue.allowed = self.allowed.into_iter().map(|(sst, sd)| Slice { sst, sd }).collect();
        for (psi, kept) in self.sessions {
            let number = ue.amf.tables.next_number();
            ue.sessions.insert(psi, Session { active: false, ..kept.session(number) });
        }
        Ok(())
    }
}

impl KeptPolicy {
    fn policy(self) -> AmPolicy {
        AmPolicy { pcf: self.pcf, id: self.id, rfsp: self.rfsp, ambr: self.ambr }
    }
}

impl KeptSession {
    fn session(self, number: u64) -> Session {
        let (sst, sd) = self.slice;
        let context = SmContext { root: self.smf, reference: self.reference };
        Session {
            number,
            slice: Slice { sst, sd },
            dnn: self.dnn,
            context,
            active: self.active,
            releasing: false,
        }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl KeptSecurity {
    fn of(security: &Security) -> Self {
        let count = |direction| {
            security.nas.nas_count(direction, NasConnection::ThreeGpp).map(NasCount::get)
        };
        KeptSecurity {
            k_amf: hex::encode(security.k_amf()),
            ngksi: security.ngksi,
            integrity: security.integrity as u8,
            ciphering: security.nas.ciphering_algorithm() as u8,
            uplink: count(Direction::Uplink),
            downlink: count(Direction::Downlink),
        }
    }

    fn security(&self) -> Result<Security, String> {
        use {CipheringAlgorithm::*, IntegrityAlgorithm::*};
        let mut k_amf = [0; 32];
        hex::decode_to_slice(&self.k_amf, &mut k_amf).map_err(|_| "it has no K_AMF")?;
        let integrity = [NIA0, NIA1, NIA2, NIA3]
            .into_iter()
            .find(|algorithm| *algorithm as u8 == self.integrity);
        let ciphering = [NEA0, NEA1, NEA2, NEA3]
            .into_iter()
            .find(|algorithm| *algorithm as u8 == self.ciphering);
        let (integrity, ciphering) =
            integrity.zip(ciphering).ok_or("its algorithms are not known")?;
        let count = |count: Option<u32>, on: u32| {
            count.and_then(|count| NasCount::new(count.saturating_add(on)).ok())
        };
        let counts = (count(self.uplink, 0), count(self.downlink, PASSED_OVER));
        Security::restored(k_amf, self.ngksi, ciphering, integrity, counts)
            .map_err(|e| e.to_string())
    }
}

/// For `martlet status`.
pub(crate) fn status(journal: Option<&Journal>) -> serde_json::Value {
    match journal {
        None => "not kept".into(),
        Some(journal) => {
            let (unwritten, failures) = journal.standing();
            serde_json::json!({"unwritten": unwritten, "failures": failures})
        }
    }
}

impl Ue {
    /// Keeps the UE as it is now; one that nobody could go on with is not kept.
    pub fn keep(&self) {
        let Some(journal) = &self.amf.journal else { return };
        let id = self.handle.number.to_string();
        let worth = self.registered || matches!(self.idle, Some(Idle::Deregistered(_)));
        let (Some(supi), Some(security), true) = (&self.supi, &self.security, worth) else {
            return journal.remove(id);
        };
        let slice = |slice: &Slice| (slice.sst, slice.sd);
        let session = |(psi, session): (&u8, &Session)| {
            let kept = KeptSession {
                number: session.number,
                slice: slice(&session.slice),
                dnn: session.dnn.clone(),
                smf: session.context.root.clone(),
                reference: session.context.reference.clone(),
                active: session.active,
            };
            (*psi, kept)
        };
        // A UE that is connected becomes idle with the end of this process, and the timer starts
        // then.
        let idle = self.idle.map(|idle| {
            let left = idle.until().saturating_duration_since(Instant::now()).as_secs();
            let kind = match idle {
                Idle::Reachable(_) => 0,
                Idle::Unreachable(_) => 1,
                Idle::Deregistered(_) => 2,
            };
            (kind, now() + left)
        });
        let mut kept = KeptUe {
            supi: supi.clone(),
            pei: self.pei.clone(),
            guti: self.guti.as_ref().map(KeptGuti::of),
            old_guti: self.old_guti.as_ref().map(KeptGuti::of),
            security: KeptSecurity::of(security),
            registered: self.registered,
            capability: self.capability.as_ref().map(|capability| capability.value.to_vec()),
            radio_capability: None,
            subscription: self.subscription.clone(),
            policy: self.policy.as_ref().map(|policy| KeptPolicy {
                pcf: policy.pcf.clone(),
                id: policy.id.clone(),
                rfsp: policy.rfsp,
                ambr: policy.ambr.clone(),
            }),
            allowed: self.allowed.iter().map(slice).collect(),
            due: self.due,
            area: self.area.iter().map(|tai| (KeptPlmn::of(tai.plmn), tai.tac)).collect(),
            t3512: self.t3512,
            sessions: self.sessions.iter().map(session).collect(),
            lpp: self.positioning.lpp,
            lcs_upp: self.positioning.lcs_upp,
            idle,
        };
        let radio = self.radio_capability.clone();
        journal.put_later(id, move || {
            kept.radio_capability = radio.map(hex::encode);
            let value = serde_json::to_vec(&kept);
            value
                .inspect_err(|error| tracing::error!(supi = %kept.supi, %error, "a UE is not kept"))
                .ok()
        });
    }

    /// The UE is known no more.
    pub fn erase(&self) {
        if let Some(journal) = &self.amf.journal {
            journal.remove(self.handle.number.to_string());
        }
    }

    /// Goes on with a UE that was kept: its connection ended with the AMF that had it.
    async fn go_on(mut self) {
        if !self.active_sessions().is_empty() {
            let amf = self.amf.clone();
            // Not all of them at once.
            let _turn = amf.restorations.acquire().await;
            self.deactivate_all(None).await;
        }
        self.rest();
        self.publish();
        self.keep();
        self.run().await;
    }
}
