//! UEs of another AMF of the set that is gone (TS 23.501, 5.21.2): where the AMFs of a set keep their contexts in one place
//! (`amf.state.place`), whoever a UE comes to goes on with it. Each context is claimed by one of them alone.
use crate::kept::{self, KeptUe};
use crate::{Amf, AmfConfig};
use martlet_nas::Guti;
use martlet_nas::identifiers::AmfId;
use martlet_store::{Inheritance, Place};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long what was read of an AMF's contexts is good: another one may have claimed some, which its claim shows.
const VALID: Duration = Duration::from_secs(30);
/// Between two readings: who makes 5G-GUTIs up does not keep the database busy.
const PAUSE: Duration = Duration::from_secs(1);

/// What was read of one AMF.
struct Read {
    of: u32,
    until: Instant,
    inheritance: Arc<Inheritance>,
    by_tmsi: HashMap<u32, (String, Vec<u8>)>,
}

/// What was read of AMFs that are gone.
#[derive(Default)]
pub(crate) struct Inherited(Mutex<Option<Read>>);

/// A context that is not claimed yet.
pub(crate) struct Found {
    inheritance: Arc<Inheritance>,
    id: String,
    pub kept: Option<KeptUe>,
}

/// Under whose name an AMF keeps its contexts: region, set and pointer of its first GUAMI.
pub(crate) fn owner(config: &AmfConfig) -> String {
    let first = config.guamis.first();
    let id = first.and_then(|guami| AmfId::new(guami.region, guami.set, guami.pointer).ok());
    id.map_or_else(|| "amf".into(), |id| owner_of(&id))
}

fn owner_of(id: &AmfId) -> String {
    format!("amf-{:02x}-{:03x}-{:02x}", id.region(), id.set(), id.pointer())
}

impl Amf {
    /// What a member of this AMF's set has left of the UE with this 5G-GUTI.
    pub(crate) async fn inherited(self: &Arc<Self>, guti: &Guti) -> Option<Found> {
        let id = AmfId::of_guti(guti);
        let of_set = |own: &AmfId| own.region() == id.region() && own.set() == id.set();
        let shares = !self.config.state.place.is_empty() && self.config.state.keep;
        if !shares || !self.served.guamis.iter().any(|guami| of_set(&guami.id) && guami.plmn == guti.plmn()) {
            return None;
        }
        let (amf, tmsi) = (self.clone(), guti.tmsi());
        tokio::task::spawn_blocking(move || amf.read(&id, tmsi)).await.ok().flatten()
    }

    /// Reads what the AMF of an identity has left, unless that was done a moment ago.
    fn read(&self, id: &AmfId, tmsi: u32) -> Option<Found> {
        let number = u32::from(id.region()) << 16 | u32::from(id.set()) << 6 | u32::from(id.pointer());
        let mut place = self.inherited.0.lock().unwrap_or_else(|e| e.into_inner());
        let now = Instant::now();
        let recent = place.as_ref().is_some_and(|read| read.until > now + VALID - PAUSE);
        if recent && place.as_ref().is_some_and(|read| read.of != number) {
            return None;
        }
        if place.as_ref().is_none_or(|read| read.of != number || read.until < now) {
            *place = match self.read_all(id, number) {
                Ok(read) => Some(read),
                Err(error) => {
                    tracing::warn!(%error, "the contexts of an AMF of the set cannot be read");
                    None
                }
            };
        }
        let read = place.as_mut()?;
        let (id, value) = read.by_tmsi.get(&tmsi)?.clone();
        let kept = Some(serde_json::from_slice(&value).ok()?);
        Some(Found { inheritance: read.inheritance.clone(), id, kept })
    }

    fn read_all(&self, id: &AmfId, of: u32) -> Result<Read, martlet_store::StoreError> {
        let state = &self.config.state;
        let key_file = Some(Path::new(&state.key_file)).filter(|file| !file.as_os_str().is_empty());
        let inheritance = Inheritance::open(&Place::parse(&state.place), key_file, &owner_of(id))?;
        let mut by_tmsi = HashMap::new();
        for (id, value) in inheritance.contexts()? {
            for tmsi in kept::tmsis(&value) {
                by_tmsi.insert(tmsi, (id.clone(), value.clone()));
            }
        }
        tracing::info!(contexts = by_tmsi.len(), "contexts that an AMF of the set has left");
        Ok(Read { of, until: Instant::now() + VALID, inheritance: inheritance.into(), by_tmsi })
    }
}

impl Found {
    /// Whether this AMF is the one that goes on with the UE.
    pub async fn claim(self) -> bool {
        let claimed = tokio::task::spawn_blocking(move || self.inheritance.claim(&self.id)).await;
        matches!(claimed, Ok(Ok(true)))
    }
}
