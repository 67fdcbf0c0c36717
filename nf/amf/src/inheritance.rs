//! UEs of another AMF of the set that is gone (TS 23.501, 5.21.2): where the AMFs of a set keep
//! their contexts in one place (`amf.state.place`), whoever a UE comes to goes on with it. Each
//! context is claimed by one of them alone.
use crate::Amf;
use crate::kept::{self, KeptUe, owner_of, set_of};
use martlet_nas::Guti;
use martlet_nas::identifiers::AmfId;
use martlet_store::{Inheritance, Place, StoreError};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long what was read of an AMF's contexts is good: another one may have claimed some, which
/// its claim shows.
const VALID: Duration = Duration::from_secs(30);
/// Between two readings: who makes 5G-GUTIs up does not keep the database busy.
const PAUSE: Duration = Duration::from_secs(1);

/// What was read of one AMF.
struct Read {
    at: Instant,
    inheritance: Arc<Inheritance>,
    by_tmsi: HashMap<u32, String>,
    by_supi: HashMap<String, String>,
}

/// What was read of AMFs that are gone, by their names; and when a subscriber was last looked for
/// among all.
#[derive(Default)]
pub(crate) struct Inherited(Mutex<HashMap<String, Read>>, Mutex<Option<Instant>>);

/// A context that is not claimed yet.
pub(crate) struct Found {
    inheritance: Arc<Inheritance>,
    id: String,
    /// The AMF that had it.
    pub of: AmfId,
    pub kept: Option<KeptUe>,
}

/// Whom a context is of.
#[derive(Debug, Clone)]
enum Wanted {
    Tmsi(u32),
    Supi(String),
}

impl Amf {
    /// Whether the AMFs of the set keep their contexts where this one reaches them.
    fn shares(&self) -> bool {
        !self.config.state.place.is_empty() && self.config.state.keep
    }

    /// What a member of this AMF's set has left of the UE with this 5G-GUTI.
    pub(crate) async fn inherited(self: &Arc<Self>, guti: &Guti) -> Option<Found> {
        if !self.shares() || !self.served.is_of_set(guti) {
            return None;
        }
        let (amf, id, wanted) = (self.clone(), AmfId::of_guti(guti), Wanted::Tmsi(guti.tmsi()));
        tokio::task::spawn_blocking(move || amf.read(&id, &wanted)).await.ok().flatten()
    }

    /// What any member of this AMF's set has left of a subscriber.
    pub(crate) async fn inherited_of(self: &Arc<Self>, supi: &str) -> Option<Found> {
        if !self.shares() {
            return None;
        }
        {
            let mut last = self.inherited.1.lock().unwrap_or_else(|e| e.into_inner());
            let read = self.inherited.0.lock().unwrap_or_else(|e| e.into_inner());
            let known = read.values().any(|read| read.by_supi.contains_key(supi));
            if !known && last.is_some_and(|at| at.elapsed() < PAUSE) {
                return None;
            }
            *last = Some(Instant::now());
        }
        let (amf, wanted) = (self.clone(), Wanted::Supi(supi.to_string()));
        let search = move || {
            let own = amf.served.guamis.first()?.id;
            let members = amf.members(&own).inspect_err(unreadable).ok()?;
            members.iter().find_map(|id| amf.read(id, &wanted))
        };
        tokio::task::spawn_blocking(search).await.ok().flatten()
    }

    /// The other AMFs of the set that have left something.
    fn members(&self, own: &AmfId) -> Result<Vec<AmfId>, StoreError> {
        let prefix = set_of(own);
        let owners = self.open(&owner_of(own))?.owners(&prefix)?;
        let pointer = |owner: &String| u8::from_str_radix(owner.strip_prefix(&prefix)?, 16).ok();
        let others = owners.iter().filter_map(pointer).filter(|pointer| *pointer != own.pointer());
        Ok(others.filter_map(|pointer| AmfId::new(own.region(), own.set(), pointer).ok()).collect())
    }

    fn open(&self, owner: &str) -> Result<Inheritance, StoreError> {
        let state = &self.config.state;
        let key_file = Some(Path::new(&state.key_file)).filter(|file| !file.as_os_str().is_empty());
        Inheritance::open(&Place::parse(&state.place), key_file, owner)
    }

    /// Reads what the AMF of an identity has left, unless that was done a moment ago.
    fn read(&self, id: &AmfId, wanted: &Wanted) -> Option<Found> {
        let owner = owner_of(id);
        let mut all = self.inherited.0.lock().unwrap_or_else(|e| e.into_inner());
        all.retain(|_, read| read.at.elapsed() < VALID);
        let known = all.get(&owner);
        // What was read before the AMF went may lack a UE that came meanwhile.
        if known.is_none_or(|read| read.at.elapsed() > PAUSE && read.find(wanted).is_none()) {
            let read = self.read_all(&owner).inspect_err(unreadable).ok()?;
            all.insert(owner.clone(), read);
        }
        let read = all.get(&owner)?;
        let id_of_context = read.find(wanted)?;
        // It may have changed since all were read.
        let value = read.inheritance.context(id_of_context).inspect_err(unreadable).ok()??;
        let kept = Some(serde_json::from_slice(&value).ok()?);
        Some(Found {
            inheritance: read.inheritance.clone(),
            id: id_of_context.clone(),
            of: *id,
            kept,
        })
    }

    fn read_all(&self, owner: &str) -> Result<Read, StoreError> {
        let inheritance = self.open(owner)?;
        let (mut by_tmsi, mut by_supi) = (HashMap::new(), HashMap::new());
        let all = inheritance.contexts()?;
        tracing::info!(contexts = all.len(), owner, "contexts that an AMF of the set has left");
        for (id, value) in all {
            let (supi, tmsis) = kept::names(&value);
            by_tmsi.extend(tmsis.into_iter().map(|tmsi| (tmsi, id.clone())));
            by_supi.extend(supi.map(|supi| (supi, id)));
        }
        Ok(Read { at: Instant::now(), inheritance: inheritance.into(), by_tmsi, by_supi })
    }
}

fn unreadable(error: &StoreError) {
    tracing::warn!(%error, "the contexts of an AMF of the set cannot be read");
}

impl Read {
    fn find(&self, wanted: &Wanted) -> Option<&String> {
        match wanted {
            Wanted::Tmsi(tmsi) => self.by_tmsi.get(tmsi),
            Wanted::Supi(supi) => self.by_supi.get(supi),
        }
    }
}

impl Found {
    /// What this AMF goes on with; none where another one does, or the AMF that has the UE is at
    /// work.
    pub async fn claim(self) -> Option<KeptUe> {
        let claimed = tokio::task::spawn_blocking(move || self.inheritance.claim(&self.id)).await;
        let value = claimed.ok()?.inspect_err(unreadable).ok()??;
        serde_json::from_slice(&value).ok()
    }
}
