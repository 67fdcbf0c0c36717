//! The store and the journal on a real file and on a PostgreSQL of the tests' own, also with two
//! who have them open.
use martlet_store::testing::OwnPostgres;
use martlet_store::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A write after 20 ms, and a lease of so many.
fn timing(lease: u64) -> Timing {
    Timing { interval: Duration::from_millis(20), lease: Duration::from_millis(lease) }
}

/// Where a test's data are.
enum Bed {
    File(PathBuf),
    Postgres(OwnPostgres),
}

impl Bed {
    /// On a file, then on PostgreSQL where there is one.
    fn each(name: &str, test: impl Fn(&Bed)) {
        test(&Bed::file(name));
        if let Some(server) = OwnPostgres::start(name).unwrap() {
            test(&Bed::Postgres(server));
        }
    }
    fn file(name: &str) -> Bed {
        let path =
            std::env::temp_dir().join(format!("martlet-store-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Bed::File(path)
    }
    fn folder(&self) -> PathBuf {
        match self {
            Bed::File(folder) => folder.clone(),
            Bed::Postgres(server) => server.folder().to_path_buf(),
        }
    }
    fn place(&self) -> Place {
        match self {
            Bed::File(folder) => Place::File(folder.join("martlet.db")),
            Bed::Postgres(server) => Place::parse(&server.address()),
        }
    }
    fn key_file(&self) -> PathBuf {
        self.folder().join("operator.key")
    }
    fn open(&self) -> Store {
        Store::open_at(&self.place(), Some(&self.key_file())).unwrap()
    }
    fn journal(&self, owner: &str) -> (Journal, Kept) {
        Journal::open(&self.place(), Some(&self.key_file()), owner, timing(100)).unwrap()
    }
    /// Everything that the database holds, as it lies there.
    fn octets(&self) -> Vec<u8> {
        match self {
            Bed::File(folder) => ["martlet.db", "martlet.db-wal"]
                .iter()
                .flat_map(|name| std::fs::read(folder.join(name)).unwrap_or_default())
                .collect(),
            Bed::Postgres(server) => {
                let mut client =
                    postgres::Client::connect(&server.address(), postgres::NoTls).unwrap();
                let profiles = client.query("SELECT profile FROM subscriber", &[]).unwrap();
                let states = client.query("SELECT value FROM state", &[]).unwrap();
                let profiles = profiles.iter().flat_map(|row| row.get::<_, String>(0).into_bytes());
                profiles.chain(states.iter().flat_map(|row| row.get::<_, Vec<u8>>(0))).collect()
            }
        }
    }
}
impl Drop for Bed {
    fn drop(&mut self) {
        if let Bed::File(folder) = self {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

const SUPI: &str = "imsi-001010000000001";

fn subscriber() -> Subscriber {
    Subscriber::new(SUPI, Secret([1; 16]), Secret([2; 16]), "internet")
}

#[test]
fn what_is_added_is_there_after_opening_again() {
    Bed::each("again", |folder| {
        folder.open().add(&[subscriber()], false).unwrap();
        let store = folder.open();
        assert_eq!(*store.subscriber(SUPI).unwrap().unwrap(), subscriber());
        assert_eq!(store.count().unwrap(), 1);
        assert!(matches!(store.add(&[subscriber()], false), Err(StoreError::Exists(_))));
        store
            .add(&[Subscriber { msisdn: Some("491700000000".into()), ..subscriber() }], true)
            .unwrap();
        assert_eq!(store.supi_of("msisdn-491700000000").unwrap().as_deref(), Some(SUPI));
    });
}

#[test]
fn bulk_is_all_or_nothing() {
    Bed::each("bulk", |folder| {
        let store = folder.open();
        let many: Vec<_> = (0..500).map(|n| subscriber().nth(n).unwrap()).collect();
        store.add(&many, false).unwrap();
        let others: Vec<_> = (499..600).map(|n| subscriber().nth(n).unwrap()).rev().collect();
        assert!(store.add(&others, false).is_err());
        assert_eq!(store.count().unwrap(), 500);
        assert_eq!(store.list("imsi-001010000000498", 10).unwrap().len(), 2);
    });
}

#[test]
fn what_another_changes_is_seen_at_once() {
    Bed::each("others", |folder| {
        let (core, tool) = (folder.open(), folder.open());
        tool.add(&[subscriber()], false).unwrap();
        assert!(core.subscriber(SUPI).unwrap().is_some());
        let changed = Subscriber { ambr_uplink: "1 Mbps".into(), ..subscriber() };
        tool.add(std::slice::from_ref(&changed), true).unwrap();
        assert_eq!(*core.subscriber(SUPI).unwrap().unwrap(), changed);
        assert!(tool.remove(SUPI).unwrap());
        assert!(core.subscriber(SUPI).unwrap().is_none());
        assert!(!core.remove(SUPI).unwrap());
    });
}

#[test]
fn no_two_get_the_same_sequence_number() {
    Bed::each("sqn", |folder| {
        folder.open().add(&[subscriber()], false).unwrap();
        let stores: Vec<_> = (0..4).map(|_| Arc::new(folder.open())).collect();
        let threads: Vec<_> = stores
            .into_iter()
            .map(|store| {
                std::thread::spawn(move || {
                    let mut got = Vec::new();
                    while got.len() < 50 {
                        let from = store.subscriber(SUPI).unwrap().unwrap().sqn;
                        if store.move_sqn(SUPI, from, from + 32).unwrap() {
                            got.push(from + 32);
                        }
                    }
                    got
                })
            })
            .collect();
        let mut all: Vec<u64> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
        all.sort_unstable();
        assert_eq!(all, (1..=200).map(|n| n * 32).collect::<Vec<u64>>());
    });
}

#[test]
fn contexts_come_and_go_with_their_subscriber() {
    Bed::each("contexts", |folder| {
        let store = folder.open();
        store.add(&[subscriber()], false).unwrap();
        assert!(store.put_context(SUPI, "smf", "1", "{}").unwrap());
        assert!(!store.put_context(SUPI, "smf", "1", "[]").unwrap());
        assert!(store.put_context(SUPI, "smf", "2", "{}").unwrap());
        assert_eq!(store.context(SUPI, "smf", "1").unwrap().as_deref(), Some("[]"));
        assert_eq!(store.contexts(SUPI, "smf").unwrap().len(), 2);
        assert!(store.remove_context(SUPI, "smf", "2").unwrap());
        assert!(!store.remove_context(SUPI, "smf", "2").unwrap());
        store.remove(SUPI).unwrap();
        assert!(store.contexts(SUPI, "smf").unwrap().is_empty());
    });
}

#[test]
fn a_file_of_a_later_version_and_one_that_is_none_are_refused_with_the_reason() {
    let bed = Bed::file("versions");
    drop(bed.open());
    let folder = bed.folder();
    let path = folder.join("martlet.db");
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let refused = |path: &std::path::Path| Store::open(path).err().unwrap().to_string();
    assert!(refused(&path).contains("99"));
    let garbage = folder.join("garbage.db");
    std::fs::write(&garbage, vec![0x55; 8192]).unwrap();
    assert!(refused(&garbage).contains("database"));
    assert!(refused(&folder.join("no/such/folder.db")).contains("folder"));
}

#[test]
fn keys_are_never_in_the_database_as_they_are() {
    Bed::each("sealed", |bed| {
        let key = "00112233445566778899aabbccddeeff";
        let mut wanted = subscriber();
        wanted.key = Secret::from_hex(key).unwrap();
        bed.open().add(std::slice::from_ref(&wanted), false).unwrap();
        let (journal, _) = bed.journal("amf");
        journal.put("1", key.as_bytes().to_vec());
        drop(journal);
        let octets = bed.octets();
        assert!(
            !octets.is_empty() && !octets.windows(key.len()).any(|part| part == key.as_bytes())
        );
        assert_eq!(bed.open().subscriber(SUPI).unwrap().unwrap().key, wanted.key);
        // Another operator's key opens nothing, and says so.
        let other = bed.folder().join("other.key");
        let refused =
            Store::open_at(&bed.place(), Some(&other)).unwrap().subscriber(SUPI).unwrap_err();
        assert!(refused.to_string().contains("another operator's key"), "{refused}");
        let refused = Journal::open(&bed.place(), Some(&other), "amf", timing(100)).err().unwrap();
        assert!(refused.to_string().contains("another operator's key"), "{refused}");
    });
}

#[test]
fn changes_are_told_in_their_order_whoever_made_them() {
    Bed::each("changes", |bed| {
        let (core, tool) = (bed.open(), bed.open());
        let before = core.last_change().unwrap();
        tool.add(&[subscriber(), subscriber().nth(1).unwrap()], false).unwrap();
        tool.remove(SUPI).unwrap();
        let changes = core.changes(before, 10).unwrap();
        let who: Vec<&str> = changes.iter().map(|change| change.supi.as_str()).collect();
        assert_eq!(who, [SUPI, "imsi-001010000000002", SUPI]);
        assert_eq!(core.changes(before, 2).unwrap().len(), 2);
        assert_eq!(core.last_change().unwrap(), changes[2].number);
        assert_eq!(core.changes(changes[2].number, 10).unwrap(), []);
    });
}

#[test]
fn a_journal_gives_back_the_last_of_each_context() {
    Bed::each("journal", |bed| {
        let (journal, kept) = bed.journal("amf");
        assert_eq!(kept, []);
        for round in 0..10 {
            for n in 0..300 {
                journal.put(n.to_string(), format!("{n} in round {round}").into_bytes());
            }
        }
        journal.remove("7");
        assert!(journal.flush(Duration::from_secs(10)));
        // Of another owner, in the same place.
        let (other, kept) = bed.journal("smf");
        assert_eq!(kept, []);
        other.put("7", vec![7]);
        journal.put("8", b"at the end".to_vec());
        drop((journal, other));
        let (_journal, kept) = bed.journal("amf");
        let value = |id: &str| kept.iter().find(|(of, _)| of == id).map(|(_, value)| value.clone());
        assert_eq!((kept.len(), value("7"), value("8")), (299, None, Some(b"at the end".to_vec())));
        assert_eq!(value("299"), Some(b"299 in round 9".to_vec()));
        assert_eq!(bed.journal("smf").1, [("7".to_string(), vec![7])]);
    });
}

#[test]
fn what_a_function_left_is_claimed_by_one_alone() {
    Bed::each("inheritance", |bed| {
        let (journal, _) = bed.journal("amf-one");
        (0..10).for_each(|n| journal.put(n.to_string(), format!("context {n}").into_bytes()));
        drop(journal);
        let heirs: Vec<_> = (0..3)
            .map(|_| Inheritance::open(&bed.place(), Some(&bed.key_file()), "amf-one").unwrap())
            .collect();
        assert!(heirs.iter().all(|heir| heir.contexts().unwrap().len() == 10));
        let claims: Vec<usize> = std::thread::scope(|scope| {
            let claim = |heir: &Inheritance| {
                (0..10).filter(|n: &i32| heir.claim(&n.to_string()).unwrap().is_some()).count()
            };
            let all: Vec<_> = heirs.iter().map(|heir| scope.spawn(move || claim(heir))).collect();
            all.into_iter().map(|claims| claims.join().unwrap()).collect()
        });
        assert_eq!(claims.iter().sum::<usize>(), 10, "each context has one heir: {claims:?}");
        assert!(heirs[0].contexts().unwrap().is_empty());
        // What is another's is not in it.
        let other = Inheritance::open(&bed.place(), Some(&bed.key_file()), "amf-two").unwrap();
        assert!(other.contexts().unwrap().is_empty() && other.claim("1").unwrap().is_none());
    });
}

/// Waits for an answer of a journal.
fn is_ours(journal: &Journal, id: &str) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let asked = async { tokio::time::timeout(Duration::from_secs(10), journal.is_ours(id)).await };
    runtime.block_on(asked).expect("it answers")
}

#[test]
fn a_function_that_was_thought_to_be_gone_has_no_more_what_another_one_took() {
    Bed::each("fence", |bed| {
        let (journal, _) = bed.journal("amf-01-one");
        let (told, heard) = std::sync::mpsc::channel();
        journal.on_taken(move |id| told.send(id.to_string()).unwrap());
        (1..=3).for_each(|n: u32| journal.put(n.to_string(), format!("context {n}").into_bytes()));
        assert!(journal.flush(Duration::from_secs(10)) && is_ours(&journal, "1"));
        let heir = Inheritance::open(&bed.place(), Some(&bed.key_file()), "amf-01-one").unwrap();
        // It is at work: nothing is taken from it.
        let at_work = std::sync::atomic::AtomicBool::new(true);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while at_work.load(std::sync::atomic::Ordering::Relaxed) {
                    assert!(is_ours(&journal, "1"));
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            let claimed = heir.claim("1").unwrap();
            at_work.store(false, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(claimed, None);
        });
        // It stands still for longer than its lease, as a process that is stopped does.
        assert_eq!(heir.claim("1").unwrap(), Some(b"context 1".to_vec()));
        journal.put("1", b"of yesterday".to_vec());
        journal.put("2", b"of today".to_vec());
        assert!(!is_ours(&journal, "1") && is_ours(&journal, "2"));
        assert_eq!(heard.recv_timeout(Duration::from_secs(10)).unwrap(), "1");
        journal.put("1", b"once more".to_vec());
        journal.remove("3");
        assert!(journal.flush(Duration::from_secs(10)));
        assert_eq!(heir.contexts().unwrap(), [("2".to_string(), b"of today".to_vec())]);
        // In order: who is next need not wait for the lease.
        drop(journal);
        assert_eq!(heir.claim("2").unwrap(), Some(b"of today".to_vec()));
    });
}

#[test]
fn of_two_processes_of_one_name_the_later_one_has_the_contexts() {
    Bed::each("epoch", |bed| {
        let (first, _) = bed.journal("smf");
        first.put("1", vec![1]);
        assert!(first.flush(Duration::from_secs(10)) && is_ours(&first, "1"));
        let (second, kept) = bed.journal("smf");
        assert_eq!(kept.len(), 1);
        second.put("1", vec![2]);
        assert!(second.flush(Duration::from_secs(10)));
        first.put("1", vec![3]);
        assert!(
            first.flush(Duration::from_secs(10)) && !is_ours(&first, "1") && is_ours(&second, "1")
        );
        drop((first, second));
        assert_eq!(bed.journal("smf").1, [("1".to_string(), vec![2])]);
    });
}

#[test]
fn who_is_alone_goes_on_without_the_server_and_who_is_not_waits_for_it() {
    let Some(mut server) = OwnPostgres::start("partition").unwrap() else { return };
    let key_file = server.folder().join("operator.key");
    let place = Place::parse(&server.address());
    let open = |owner: &str| Journal::open(&place, Some(&key_file), owner, timing(100)).unwrap().0;
    let (alone, one, other) = (open("smf"), open("amf-1-1"), open("amf-1-2"));
    for journal in [&alone, &other, &one] {
        assert!(is_ours(journal, "1"));
    }
    server.stop();
    std::thread::sleep(Duration::from_millis(150));
    assert!(is_ours(&alone, "1"));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| is_ours(&one, "1"));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!waiting.is_finished(), "it cannot know");
        server.restart().unwrap();
        assert!(waiting.join().unwrap());
    });
}

#[test]
fn a_journal_goes_on_after_the_server_was_away() {
    let Some(mut server) = OwnPostgres::start("away").unwrap() else { return };
    let key_file = server.folder().join("operator.key");
    let place = Place::parse(&server.address());
    let open = || Journal::open(&place, Some(&key_file), "smf", timing(100)).unwrap();
    let (journal, _) = open();
    let store = Store::open_at(&place, Some(&key_file)).unwrap();
    journal.put("1", vec![1]);
    assert!(journal.flush(Duration::from_secs(10)));
    server.restart().unwrap();
    journal.put("2", vec![2]);
    assert!(journal.flush(Duration::from_secs(10)), "{:?}", journal.standing());
    assert_eq!(open().1.len(), 2);
    // A call may find out that the connection is gone; the next has another.
    let _ = store.count();
    assert_eq!(store.count().unwrap(), 0);
}

#[test]
fn keys_of_an_earlier_version_are_sealed_when_the_database_is_opened() {
    let bed = Bed::file("earlier");
    let key = "01010101010101010101010101010101";
    bed.open().add(&[subscriber()], false).unwrap();
    let path = bed.folder().join("martlet.db");
    let open = serde_json::to_string(&subscriber()).unwrap();
    assert!(open.contains(key));
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute("UPDATE subscriber SET profile = ?1", [&open])
        .unwrap();
    let store = bed.open();
    assert_eq!(*store.subscriber(SUPI).unwrap().unwrap(), subscriber());
    let profile: String = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("SELECT profile FROM subscriber", [], |row| row.get(0))
        .unwrap();
    assert!(!profile.contains(key), "{profile}");
}
