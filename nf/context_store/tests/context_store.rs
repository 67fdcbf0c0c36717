//! The context store on an SQLite file and on a PostgreSQL server.
use martlet_context_store::{
    ContextStore, ContextStoreConfig, PeerContexts, PersistedContext, SetContexts, StoreError,
    StoredContexts, restore,
};
use martlet_store::testing::TestPostgres;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const LEASE_MS: u32 = 100;

/// A database for one test.
enum TestDatabase {
    File(PathBuf),
    Postgres(TestPostgres),
}

impl TestDatabase {
    /// Runs a test on a file, then on PostgreSQL if it is installed.
    fn each(name: &str, test: impl Fn(&TestDatabase)) {
        let folder = format!("martlet-context-store-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        test(&TestDatabase::File(folder));
        if let Some(server) = TestPostgres::start(name).unwrap() {
            test(&TestDatabase::Postgres(server));
        }
    }

    fn config(&self) -> ContextStoreConfig {
        let (folder, database) = match self {
            TestDatabase::File(folder) => {
                (folder.clone(), folder.join("martlet.amf.db").display().to_string())
            }
            TestDatabase::Postgres(server) => (server.folder().to_path_buf(), server.url()),
        };
        config(database, folder)
    }

    fn open(&self, owner: &str) -> (ContextStore, StoredContexts) {
        ContextStore::open(&self.config(), owner).unwrap()
    }

    fn peer(&self, owner: &str) -> PeerContexts {
        PeerContexts::open(&self.config(), owner).unwrap()
    }

    /// The raw stored values.
    fn bytes(&self) -> Vec<u8> {
        match self {
            TestDatabase::File(folder) => ["martlet.amf.db", "martlet.amf.db-wal"]
                .iter()
                .flat_map(|name| std::fs::read(folder.join(name)).unwrap_or_default())
                .collect(),
            TestDatabase::Postgres(server) => {
                let mut client = postgres::Client::connect(&server.url(), postgres::NoTls).unwrap();
                let rows = client.query("SELECT value FROM state", &[]).unwrap();
                rows.iter().flat_map(|row| row.get::<_, Vec<u8>>(0)).collect()
            }
        }
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if let TestDatabase::File(folder) = self {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

fn config(database: String, folder: PathBuf) -> ContextStoreConfig {
    let key_file = folder.join("operator.key").display().to_string();
    ContextStoreConfig { database, key_file, lease_ms: LEASE_MS, ..ContextStoreConfig::default() }
}

/// Runs a future to its end, within ten seconds.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let future = async { tokio::time::timeout(Duration::from_secs(10), future).await };
    runtime.block_on(future).expect("it ends within ten seconds")
}

fn is_owner(store: &ContextStore, id: &str) -> bool {
    block_on(store.is_owner(id))
}

fn flush(store: &ContextStore) -> bool {
    store.flush(Duration::from_secs(10))
}

#[test]
fn the_last_value_of_each_context_is_stored() {
    TestDatabase::each("values", |database| {
        let (store, stored) = database.open("amf");
        assert_eq!(stored, []);
        for round in 0..10 {
            for n in 0..300 {
                store.put(n.to_string(), format!("{n} in round {round}").into_bytes());
            }
        }
        store.remove("7");
        assert!(flush(&store));
        // Another owner in the same database.
        let (other, stored) = database.open("smf");
        assert_eq!(stored, []);
        other.put("7", vec![7]);
        store.put("8", b"at the end".to_vec());
        drop((store, other));
        let (_store, stored) = database.open("amf");
        let value = |id: &str| stored.iter().find(|(of, _)| of == id).map(|(_, value)| value);
        assert_eq!((stored.len(), value("7")), (299, None));
        assert_eq!(value("8"), Some(&b"at the end".to_vec()));
        assert_eq!(value("299"), Some(&b"299 in round 9".to_vec()));
        assert_eq!(database.open("smf").1, [("7".to_string(), vec![7])]);
    });
}

#[test]
fn contexts_are_encrypted_and_open_only_with_their_key() {
    TestDatabase::each("encryption", |database| {
        let secret = b"00112233445566778899aabbccddeeff";
        let (store, _) = database.open("amf");
        store.put("1", secret.to_vec());
        drop(store);
        let bytes = database.bytes();
        assert!(!bytes.is_empty() && !bytes.windows(secret.len()).any(|part| part == secret));
        let mut config = database.config();
        config.key_file.push_str(".other");
        let refused = ContextStore::open(&config, "amf").err().unwrap();
        assert!(matches!(refused, StoreError::Sealed(_)), "{refused}");
    });
}

#[test]
fn a_context_is_taken_over_by_one_member_only() {
    TestDatabase::each("takeover", |database| {
        let (store, _) = database.open("amf-one");
        (0..10).for_each(|n| store.put(n.to_string(), format!("context {n}").into_bytes()));
        drop(store);
        let peers: Vec<_> = (0..3).map(|_| database.peer("amf-one")).collect();
        assert!(peers.iter().all(|peer| peer.contexts().unwrap().len() == 10));
        let taken: Vec<usize> = std::thread::scope(|scope| {
            let take = |peer: &PeerContexts| {
                (0..10).filter(|n: &i32| peer.take_over(&n.to_string()).unwrap().is_some()).count()
            };
            let all: Vec<_> = peers.iter().map(|peer| scope.spawn(move || take(peer))).collect();
            all.into_iter().map(|taken| taken.join().unwrap()).collect()
        });
        assert_eq!(taken.iter().sum::<usize>(), 10, "{taken:?}");
        assert!(peers[0].contexts().unwrap().is_empty());
        let other = database.peer("amf-two");
        assert!(other.contexts().unwrap().is_empty() && other.take_over("1").unwrap().is_none());
    });
}

#[test]
fn a_context_exists_until_the_member_that_took_it_over_removes_it() {
    TestDatabase::each("existing", |database| {
        let (one, _) = database.open("amf-1-1");
        ["7", "8"].into_iter().for_each(|id| one.put(id, vec![1]));
        assert!(flush(&one));
        drop(one);
        let (two, _) = database.open("amf-1-2");
        two.put("9", vec![1]);
        assert!(flush(&two));
        let set = SetContexts::open(&database.config(), Some("amf-1-2")).unwrap();
        let ids = ["7", "8", "9", "10"].map(String::from);
        let existing = || {
            let mut all: Vec<_> = set.existing("amf-1-", &ids).unwrap().into_iter().collect();
            all.sort();
            all
        };
        assert_eq!(existing(), ["7", "8", "9"]);
        assert!(set.peer("amf-1-1").take_over("7").unwrap().is_some());
        assert_eq!(existing(), ["7", "8", "9"]);
        two.remove("7");
        assert!(flush(&two));
        assert_eq!(existing(), ["8", "9"]);
        assert!(set.existing("amf-2-", &ids).unwrap().is_empty());
    });
}

#[test]
fn a_member_loses_a_context_after_its_lease_expired_and_writes_it_no_more() {
    TestDatabase::each("lease", |database| {
        let (store, _) = database.open("amf-01-one");
        (1..=3).for_each(|n: u32| store.put(n.to_string(), format!("context {n}").into_bytes()));
        assert!(flush(&store) && is_owner(&store, "1"));
        let peer = database.peer("amf-01-one");
        // While it renews its lease, nothing is taken over.
        let is_active = AtomicBool::new(true);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while is_active.load(Ordering::Relaxed) {
                    assert!(is_owner(&store, "1"));
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            let taken = peer.take_over("1").unwrap();
            is_active.store(false, Ordering::Relaxed);
            assert_eq!(taken, None);
        });
        // Without renewals its lease expires, as that of a stopped process does.
        assert_eq!(peer.take_over("1").unwrap(), Some(b"context 1".to_vec()));
        let (sender, revoked) = std::sync::mpsc::channel();
        let mut watch = Box::pin(store.watch(move |id| sender.send(id.to_string()).unwrap()));
        let write_late = async {
            store.put("1", b"an old value".to_vec());
            store.put("2", b"a new value".to_vec());
            assert!(!store.is_owner("1").await && store.is_owner("2").await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        block_on(async {
            tokio::select! {
                biased;
                superseded = &mut watch => panic!("{superseded}"),
                () = write_late => {}
            }
        });
        assert_eq!(revoked.recv_timeout(Duration::from_secs(10)).unwrap(), "1");
        store.put("1", b"another old value".to_vec());
        store.remove("3");
        assert!(flush(&store));
        assert_eq!(peer.contexts().unwrap(), [("2".to_string(), b"a new value".to_vec())]);
        drop(watch);
        // A member that ends in order releases its lease.
        drop(store);
        assert_eq!(peer.take_over("2").unwrap(), Some(b"a new value".to_vec()));
    });
}

#[test]
fn a_context_that_is_lost_again_before_it_is_regained_is_not_owned() {
    TestDatabase::each("regain", |database| {
        let (one, _) = database.open("smf-1-1");
        one.put("7", vec![1]);
        assert!(flush(&one));
        let open = |owner| SetContexts::open(&database.config(), Some(owner)).unwrap();
        let (of_one, of_two) = (open("smf-1-1"), open("smf-1-2"));
        let take_over = |set: &Arc<SetContexts>, from: &str| {
            // Again if the owner has renewed its lease.
            while set.peer(from).take_over_all(&["7".to_string()]).unwrap().is_empty() {}
        };
        take_over(&of_two, "smf-1-1");
        assert!(!is_owner(&one, "7"));
        take_over(&of_one, "smf-1-2");
        take_over(&of_two, "smf-1-1");
        // It renews its lease, and so learns of the second loss, before the takeover returns.
        std::thread::sleep(Duration::from_millis(u64::from(LEASE_MS)));
        assert!(is_owner(&one, "8"));
        one.regain("7");
        assert!(!is_owner(&one, "7"));
        take_over(&of_one, "smf-1-2");
        one.regain("7");
        assert!(is_owner(&one, "7"));
        one.put("7", vec![2]);
        assert!(flush(&one));
        assert_eq!(of_two.peer("smf-1-1").context("7").unwrap(), Some(vec![2]));
    });
}

#[test]
fn the_later_of_two_processes_with_one_name_owns_the_contexts() {
    TestDatabase::each("superseded", |database| {
        let (first, _) = database.open("smf");
        first.put("1", vec![1]);
        assert!(flush(&first) && is_owner(&first, "1"));
        let (second, stored) = database.open("smf");
        assert_eq!(stored.len(), 1);
        second.put("1", vec![2]);
        assert!(flush(&second));
        first.put("1", vec![3]);
        assert!(flush(&first) && !is_owner(&first, "1") && is_owner(&second, "1"));
        let superseded = block_on(first.watch(|_| {}));
        assert_eq!(superseded.owner, "smf");
        drop((first, second));
        assert_eq!(database.open("smf").1, [("1".to_string(), vec![2])]);
    });
}

#[test]
fn without_the_server_an_only_member_owns_its_contexts_and_a_set_member_waits() {
    let Some(mut server) = TestPostgres::start("partition").unwrap() else { return };
    let config = config(server.url(), server.folder().to_path_buf());
    let open = |owner: &str| ContextStore::open(&config, owner).unwrap().0;
    let (alone, one, other) = (open("smf"), open("amf-1-1"), open("amf-1-2"));
    for store in [&alone, &other, &one] {
        assert!(is_owner(store, "1"));
    }
    server.stop();
    std::thread::sleep(Duration::from_millis(150));
    assert!(is_owner(&alone, "1"));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| is_owner(&one, "1"));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!waiting.is_finished(), "its lease has expired");
        server.restart().unwrap();
        assert!(waiting.join().unwrap());
    });
}

#[test]
fn without_the_server_a_member_that_last_saw_itself_alone_waits_for_its_lease() {
    let Some(mut server) = TestPostgres::start("alone").unwrap() else { return };
    let config = config(server.url(), server.folder().to_path_buf());
    let store = ContextStore::open(&config, "amf-1-1").unwrap().0;
    store.put("1", vec![1]);
    assert!(flush(&store) && is_owner(&store, "1") && store.ready().is_ok());
    server.stop();
    std::thread::sleep(Duration::from_millis(u64::from(LEASE_MS) + 50));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| is_owner(&store, "1"));
        // Another member may have started beyond what this one can reach.
        std::thread::sleep(Duration::from_millis(300));
        assert!(!waiting.is_finished(), "its lease has expired");
        assert!(store.ready().unwrap_err().to_string().contains("database postgresql://"));
        server.restart().unwrap();
        assert!(waiting.join().unwrap());
    });
    assert!(flush(&store) && store.ready().is_ok());
}

#[test]
fn writes_are_retried_until_the_server_is_back() {
    let Some(mut server) = TestPostgres::start("retry").unwrap() else { return };
    let config = config(server.url(), server.folder().to_path_buf());
    let (store, _) = ContextStore::open(&config, "smf").unwrap();
    store.put("1", vec![1]);
    assert!(flush(&store));
    server.restart().unwrap();
    store.put("2", vec![2]);
    assert!(flush(&store), "{}", store.status());
    assert_eq!(ContextStore::open(&config, "smf").unwrap().1.len(), 2);
}

#[test]
fn a_disabled_store_accepts_every_call() {
    let config = ContextStoreConfig { enabled: false, ..ContextStoreConfig::default() };
    let (store, stored) = ContextStore::open(&config, "amf").unwrap();
    store.put("1", vec![1]);
    assert!(stored.is_empty() && !store.is_enabled() && is_owner(&store, "1") && flush(&store));
}

#[derive(Debug, Serialize, Deserialize, PartialEq)]
struct Session {
    supi: String,
}

impl PersistedContext for Session {
    const KIND: &'static str = "session";
    fn supi(&self) -> &str {
        &self.supi
    }
}

#[test]
fn of_several_changes_within_a_flush_interval_only_the_last_one_is_made() {
    TestDatabase::each("persist", |database| {
        let config = ContextStoreConfig { flush_interval_ms: 500, ..database.config() };
        let (store, _) = ContextStore::open(&config, "smf").unwrap();
        let made = Arc::new(AtomicUsize::new(0));
        for n in 0..10 {
            let made = made.clone();
            store.persist("1", move || {
                made.fetch_add(1, Ordering::Relaxed);
                Session { supi: format!("imsi-{n}") }
            });
        }
        assert_eq!(made.load(Ordering::Relaxed), 0, "made by the caller");
        assert!(flush(&store));
        assert_eq!(made.load(Ordering::Relaxed), 1);
        drop(store);
        assert_eq!(database.open("smf").1, [("1".into(), br#"{"supi":"imsi-9"}"#.to_vec())]);
    });
}

#[test]
fn restoring_skips_and_removes_contexts_that_are_refused() {
    TestDatabase::each("restore", |database| {
        let (store, _) = database.open("smf");
        let value = |supi: &str| format!("{{\"supi\":\"{supi}\"}}").into_bytes();
        store.put("1", value("imsi-1"));
        store.put("2", value("imsi-2"));
        store.put("3", b"not JSON".to_vec());
        store.put("four", value("imsi-4"));
        drop(store);
        let (store, stored) = database.open("smf");
        let mut restored = Vec::new();
        restore(&store, stored, |id, session: Session| match id {
            2 => Err("the pool has no such address"),
            _ => {
                restored.push((id, session.supi));
                Ok(())
            }
        });
        assert_eq!(restored, [(1, "imsi-1".to_string())]);
        drop(store);
        assert_eq!(database.open("smf").1, [("1".to_string(), value("imsi-1"))]);
    });
}
