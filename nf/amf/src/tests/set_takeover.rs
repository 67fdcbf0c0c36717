//! Another AMF of the set takes over the UE of one that has failed.
use super::core::{Core, ue};
use super::script::Script;
use super::smf::Behaviour;
use crate::AmfConfig;
use crate::persisted::{PersistedUe, identities, owner};
use crate::ue::{Ue as UeContext, UeHandle};
use martlet_context_store::{ContextStore, PeerContexts};
use martlet_nas::DrxValue;
use martlet_nf::NetworkFunction;
use martlet_nrf::Nrf;
use martlet_ran::ue::{IdleBehaviour, ServicePurpose};
use martlet_ran::{Gnb, Ue};
use std::path::{Path, PathBuf};
use std::time::Duration;

const SUPI: &str = "imsi-001010000000001";
const SEARCH: &str = "SearchNFInstances";

/// The folder of the database that the set shares.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("martlet-amf-set-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The configuration of the member of the set with this AMF pointer.
fn member(folder: &Path, pointer: u8) -> impl FnOnce(&mut AmfConfig) {
    let database = folder.join("set.db").display().to_string();
    move |config| {
        config.guamis.iter_mut().for_each(|guami| guami.pointer = pointer);
        (config.context_store.database, config.context_store.lease_ms) = (database, 100);
    }
}

/// Two AMFs of a set with one SMF. A UE with a session is idle at the one that fails, which has
/// stored its context.
struct Members {
    ue_1: Ue,
    _gnb: Gnb,
    gnb_of_other: Gnb,
    other: Core,
    failed: Core,
    _folder: Folder,
}

impl Members {
    async fn start(name: &str) -> Self {
        let folder = Folder::new(name);
        let failed = Core::start_with(member(&folder.0, 2)).await;
        let other = Core::start_with(member(&folder.0, 1)).await;
        other.replace(16, failed.smf.routes());
        let (gnb, gnb_of_other) = (failed.gnb().await, other.gnb().await);
        let mut config = ue(1);
        config.idle = IdleBehaviour::Manual;
        config.requested_drx = Some(DrxValue::Cycle128);
        let ue_1 = failed.with_session(&gnb, config).await;
        ue_1.release_to_idle().await.unwrap();
        failed.smf.wait_for("update 1 DEACTIVATED").await;
        failed.wait_for((1, 1, 0)).await;
        assert!(failed.amf.contexts.flush(Duration::from_secs(10)), "the context is not stored");
        Members { ue_1, _gnb: gnb, gnb_of_other, other, failed, _folder: folder }
    }
}

/// The context of the UE that an AMF would restore.
fn restored(core: &Core) -> UeContext {
    let config = &core.amf.config;
    let stored = PeerContexts::open(&config.context_store, &owner(config)).unwrap();
    let stored = stored.contexts().unwrap();
    let (_, value) = stored.iter().find(|(_, value)| identities(value).0.is_some()).unwrap();
    let (sender, inbox) = martlet_event_queue::bounded(8);
    let handle = UeHandle { number: core.amf.tables.next_number(), sender };
    let mut context = UeContext::new(core.amf.clone(), handle, inbox, false);
    let stored: PersistedUe = serde_json::from_slice(value).unwrap();
    stored.take_over(&mut context).unwrap();
    context
}

#[tokio::test]
async fn a_session_stays_whose_smf_is_overloaded_at_the_takeover() {
    let Members { ue_1, _gnb, gnb_of_other, other, failed, _folder } =
        Members::start("overloaded").await;
    // Ends the lease.
    let stores = &failed.amf.config.context_store;
    drop(ContextStore::open(stores, &owner(&failed.amf.config)).unwrap());

    failed.smf.set_behaviour(Behaviour::Overloaded);
    ue_1.move_to(&gnb_of_other).await.unwrap();
    ue_1.service_request_for(ServicePurpose::Signalling, &[]).await.unwrap();
    failed.smf.wait_for("overloaded 1").await;
    assert!(failed.smf.announced().is_empty());
    let handle = other.amf.find(SUPI).unwrap();
    assert_eq!(other.amf.tables.summary(handle.number).unwrap().sessions.len(), 1);

    failed.smf.set_behaviour(Behaviour::Accept);
    ue_1.release_to_idle().await.unwrap();
    other.wait_for((1, 1, 0)).await;
    assert!(other.amf.contexts.flush(Duration::from_secs(10)), "the context is not stored");
    let session = restored(&other).sessions.get(&1).cloned().unwrap();
    assert!(session.is_unannounced, "a restart forgets that the SMF does not know the AMF");
    ue_1.service_request_for(ServicePurpose::Data, &[1]).await.unwrap();
    failed.smf.wait_for("update 1 ACTIVATING").await;
    assert_eq!(failed.smf.announced(), [1]);
}

#[tokio::test]
async fn a_stored_context_has_the_drx_cycle_of_its_ue() {
    let members = Members::start("stored").await;
    assert_eq!(restored(&members.failed).registration.drx, Some(DrxValue::Cycle128));
}

/// The message verifies when the other AMF reads the context, and no longer when that AMF takes the
/// context over: the failed AMF has stored a later NAS COUNT meanwhile.
#[tokio::test]
async fn a_service_request_that_is_replayed_loses_no_session() {
    let Members { ue_1, _gnb, gnb_of_other, other, failed, _folder } =
        Members::start("replayed").await;

    // The other AMF has read the context. It asks for the AMF that stored it.
    let script = Script::new();
    other.start_scripted::<Nrf>(10, &script).await;
    script.hold(SEARCH);
    ue_1.move_to(&gnb_of_other).await.unwrap();
    let asking = tokio::spawn(async move {
        let is_accepted = ue_1.service_request_for(ServicePurpose::Signalling, &[]).await.is_ok();
        (ue_1, is_accepted)
    });
    script.wait_for(SEARCH).await;
    let stores = &failed.amf.config.context_store;
    let (store, stored) = ContextStore::open(stores, &owner(&failed.amf.config)).unwrap();
    let of_ue = stored.into_iter().find(|(_, value)| identities(value).0.is_some());
    let (id, value) = of_ue.unwrap();
    let mut value: serde_json::Value = serde_json::from_slice(&value).unwrap();
    value["security"]["uplink"] = 1000.into();
    store.put(id, serde_json::to_vec(&value).unwrap());
    // Writes it, and ends the lease.
    drop(store);
    script.release();

    let (_ue_1, is_accepted) = asking.await.unwrap();
    assert!(!is_accepted);
    // The SMF knows the new AMF of the UE, which still has its session.
    failed.smf.wait_for("update 1 DEACTIVATED").await;
    other.wait_for((1, 1, 0)).await;
    let handle = other.amf.find(SUPI).unwrap();
    assert_eq!(other.amf.tables.summary(handle.number).unwrap().sessions.len(), 1);
}
