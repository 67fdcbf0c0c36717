//! The store on an SQLite file and on a PostgreSQL server, also with two connections.
use martlet_store::testing::TestPostgres;
use martlet_store::*;
use std::path::PathBuf;
use std::sync::Arc;

/// A database for one test.
enum TestDatabase {
    File(PathBuf),
    Postgres(TestPostgres),
}

impl TestDatabase {
    /// Runs a test on a file, then on PostgreSQL if it is installed.
    fn each(name: &str, test: impl Fn(&TestDatabase)) {
        test(&TestDatabase::file(name));
        if let Some(server) = TestPostgres::start(name).unwrap() {
            test(&TestDatabase::Postgres(server));
        }
    }
    fn file(name: &str) -> TestDatabase {
        let path =
            std::env::temp_dir().join(format!("martlet-store-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        TestDatabase::File(path)
    }
    fn folder(&self) -> PathBuf {
        match self {
            TestDatabase::File(folder) => folder.clone(),
            TestDatabase::Postgres(server) => server.folder().to_path_buf(),
        }
    }
    fn url(&self) -> DatabaseUrl {
        match self {
            TestDatabase::File(folder) => DatabaseUrl::File(folder.join("martlet.db")),
            TestDatabase::Postgres(server) => DatabaseUrl::parse(&server.url()),
        }
    }
    fn key_file(&self) -> PathBuf {
        self.folder().join("operator.key")
    }
    fn open(&self) -> Store {
        Store::open_at(&self.url(), Some(&self.key_file())).unwrap()
    }
    /// The raw content of the database.
    fn bytes(&self) -> Vec<u8> {
        match self {
            TestDatabase::File(folder) => ["martlet.db", "martlet.db-wal"]
                .iter()
                .flat_map(|name| std::fs::read(folder.join(name)).unwrap_or_default())
                .collect(),
            TestDatabase::Postgres(server) => {
                let mut client = postgres::Client::connect(&server.url(), postgres::NoTls).unwrap();
                let profiles = client.query("SELECT profile FROM subscriber", &[]).unwrap();
                profiles.iter().flat_map(|row| row.get::<_, String>(0).into_bytes()).collect()
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

const SUPI: &str = "imsi-001010000000001";

fn subscriber() -> Subscriber {
    Subscriber::new(SUPI, Secret([1; 16]), Secret([2; 16]), "internet")
}

#[test]
fn subscribers_are_there_after_the_database_is_opened_again() {
    TestDatabase::each("again", |database| {
        database.open().add(&[subscriber()], false).unwrap();
        let store = database.open();
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
fn adding_several_subscribers_is_all_or_nothing() {
    TestDatabase::each("bulk", |database| {
        let store = database.open();
        let many: Vec<_> = (0..500).map(|n| subscriber().nth(n).unwrap()).collect();
        store.add(&many, false).unwrap();
        let others: Vec<_> = (499..600).map(|n| subscriber().nth(n).unwrap()).rev().collect();
        assert!(store.add(&others, false).is_err());
        assert_eq!(store.count().unwrap(), 500);
        assert_eq!(store.list("imsi-001010000000498", 10).unwrap().len(), 2);
    });
}

#[test]
fn replacing_removes_no_other_subscriber_with_the_same_msisdn() {
    TestDatabase::each("msisdn", |database| {
        let store = database.open();
        let with = |n: u64, msisdn: &str| Subscriber {
            msisdn: Some(msisdn.into()),
            ..subscriber().nth(n).unwrap()
        };
        store.add(&[with(0, "491700000000"), with(1, "491700000001")], false).unwrap();
        // That of a subscriber that stays as it is, and that of one before it.
        for wrong in
            [vec![with(2, "491700000001")], vec![with(2, "491700000002"), with(3, "491700000002")]]
        {
            let refused = store.add(&wrong, true).unwrap_err();
            assert!(matches!(refused, StoreError::Invalid(_)), "{refused}");
            assert_eq!(store.count().unwrap(), 2);
        }
        // Two subscribers exchange theirs.
        store.add(&[with(0, "491700000001"), with(1, "491700000000")], true).unwrap();
        assert_eq!(store.supi_of("msisdn-491700000001").unwrap().as_deref(), Some(SUPI));
        assert_eq!(store.count().unwrap(), 2);
    });
}

#[test]
fn a_change_by_another_process_is_visible_at_once() {
    TestDatabase::each("others", |database| {
        let (core, tool) = (database.open(), database.open());
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
fn concurrent_processes_never_get_the_same_sequence_number() {
    TestDatabase::each("sqn", |database| {
        database.open().add(&[subscriber()], false).unwrap();
        let stores: Vec<_> = (0..4).map(|_| Arc::new(database.open())).collect();
        let threads: Vec<_> = stores
            .into_iter()
            .map(|store| {
                std::thread::spawn(move || {
                    let mut got = Vec::new();
                    while got.len() < 50 {
                        let from = store.subscriber(SUPI).unwrap().unwrap().sqn;
                        if store.advance_sqn(SUPI, from, from + 32).unwrap() {
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
fn a_subscriber_is_removed_in_the_version_that_was_checked() {
    TestDatabase::each("remove-if", |database| {
        let (store, other) = (database.open(), database.open());
        store.add(&[subscriber()], false).unwrap();
        store.put_context(SUPI, "smf", "1", "{}").unwrap();
        let change = |to: &str| {
            let changed = other.change(SUPI, |subscriber| {
                subscriber.ambr_uplink = to.into();
                Ok::<_, StoreError>(())
            });
            changed.unwrap().unwrap()
        };
        // Another process changes it between the check and the removal.
        let removed = store.remove_if(SUPI, |subscriber| {
            assert_eq!(subscriber.ambr_uplink, "1 Gbps");
            change("1 Mbps");
            Ok::<_, StoreError>(())
        });
        assert!(matches!(removed, Err(StoreError::Concurrent(_))), "{removed:?}");
        assert_eq!(store.subscriber(SUPI).unwrap().unwrap().ambr_uplink, "1 Mbps");
        assert_eq!(store.contexts(SUPI, "smf").unwrap().len(), 1);
        let refused = store.remove_if(SUPI, |_| Err(StoreError::Ended));
        assert!(matches!(refused, Err(StoreError::Ended)), "{refused:?}");
        let before = store.last_change().unwrap();
        let removed = store.remove_if(SUPI, |_| Ok::<_, StoreError>(())).unwrap().unwrap();
        assert_eq!(removed.ambr_uplink, "1 Mbps");
        assert!(store.contexts(SUPI, "smf").unwrap().is_empty());
        assert_eq!(store.changes(before, 10).unwrap().len(), 1);
        assert!(store.remove_if(SUPI, |_| Ok::<_, StoreError>(())).unwrap().is_none());
    });
}

#[test]
fn contexts_are_removed_with_their_subscriber() {
    TestDatabase::each("contexts", |database| {
        let store = database.open();
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
fn a_file_of_a_later_version_or_without_a_database_is_refused_with_the_reason() {
    let database = TestDatabase::file("versions");
    drop(database.open());
    let folder = database.folder();
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
fn keys_are_encrypted_in_the_database() {
    TestDatabase::each("sealed", |database| {
        let key = "00112233445566778899aabbccddeeff";
        let mut wanted = subscriber();
        wanted.key = Secret::from_hex(key).unwrap();
        wanted.tuak = Some(Tuak::new(Secret::from_hex(&key.repeat(2)).unwrap()));
        database.open().add(std::slice::from_ref(&wanted), false).unwrap();
        let bytes = database.bytes();
        assert!(!bytes.is_empty() && !bytes.windows(key.len()).any(|part| part == key.as_bytes()));
        assert_eq!(*database.open().subscriber(SUPI).unwrap().unwrap(), wanted);
        // Another operator's key is refused with the reason.
        let other = database.folder().join("other.key");
        let refused =
            Store::open_at(&database.url(), Some(&other)).unwrap().subscriber(SUPI).unwrap_err();
        assert!(refused.to_string().contains("another operator's key"), "{refused}");
        // Nothing is added with it: no key would open all subscribers.
        let store = Store::open_at(&database.url(), Some(&other)).unwrap();
        let refused = store.check_key().unwrap_err();
        assert!(refused.to_string().contains("another operator's key"), "{refused}");
        assert!(store.add(&[wanted.nth(1).unwrap()], false).is_err());
        assert_eq!(store.count().unwrap(), 1);
        database.open().check_key().unwrap();
        // After the loss of the key, all subscribers are replaced.
        store.add(std::slice::from_ref(&wanted), true).unwrap();
        store.check_key().unwrap();
    });
}

#[test]
fn a_list_without_keys_has_all_other_fields() {
    TestDatabase::each("without-keys", |database| {
        let store = database.open();
        let first = Subscriber {
            tuak: Some(Tuak::new(Secret([7; 32]))),
            msisdn: Some("491700000001".into()),
            sqn: 96,
            ..Subscriber::new("imsi-001010000000001", Secret([1; 16]), Secret([2; 16]), "ims")
        };
        let second = Subscriber { msisdn: None, ..first.nth(1).unwrap() };
        store.add(&[first.clone(), second.clone()], false).unwrap();
        let open = |subscriber: Subscriber| Subscriber {
            key: Secret([0; 16]),
            opc: Secret([0; 16]),
            tuak: None,
            ..subscriber
        };
        let [first, second] = [first, second].map(open);
        assert_eq!(store.list_without_keys("", 10).unwrap(), [first.clone(), second.clone()]);
        let after = store.list_without_keys("imsi-001010000000001", 1).unwrap();
        assert_eq!(after, std::slice::from_ref(&second));
        let descending = |before, limit| store.list_descending_without_keys(before, limit).unwrap();
        assert_eq!(descending("imsi-9", 10), [second.clone(), first.clone()]);
        assert_eq!(descending("imsi-9", 1), [second]);
        assert_eq!(descending("imsi-001010000000002", 10), [first]);
    });
}

#[test]
fn changes_by_all_processes_are_listed_in_order() {
    TestDatabase::each("changes", |database| {
        let (core, tool) = (database.open(), database.open());
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
fn plain_keys_of_an_earlier_version_are_encrypted_on_opening() {
    let database = TestDatabase::file("earlier");
    let key = "01010101010101010101010101010101";
    database.open().add(&[subscriber()], false).unwrap();
    let path = database.folder().join("martlet.db");
    let open = serde_json::to_string(&subscriber()).unwrap();
    assert!(open.contains(key));
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute("UPDATE subscriber SET profile = ?1", [&open])
        .unwrap();
    let store = database.open();
    assert_eq!(*store.subscriber(SUPI).unwrap().unwrap(), subscriber());
    let profile: String = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("SELECT profile FROM subscriber", [], |row| row.get(0))
        .unwrap();
    assert!(!profile.contains(key), "{profile}");
}

#[test]
fn a_data_network_that_an_earlier_version_stored_twice_is_read_once() {
    let database = TestDatabase::file("twice");
    database.open().add(&[subscriber()], false).unwrap();
    let connection = rusqlite::Connection::open(database.folder().join("martlet.db")).unwrap();
    let profile: String =
        connection.query_row("SELECT profile FROM subscriber", [], |row| row.get(0)).unwrap();
    let mut profile: serde_json::Value = serde_json::from_str(&profile).unwrap();
    let networks = profile["slices"][0]["dnns"].as_array_mut().unwrap();
    let first = networks[0].clone();
    networks.push(first);
    let profile = profile.to_string();
    connection.execute("UPDATE subscriber SET profile = ?1", [&profile]).unwrap();
    let store = database.open();
    assert_eq!(*store.subscriber(SUPI).unwrap().unwrap(), subscriber());
    assert_eq!(store.list_without_keys("", 10).unwrap()[0].slices, subscriber().slices);
    let change = |subscriber: &mut Subscriber| {
        subscriber.groups = vec!["fleet".into()];
        Ok::<_, StoreError>(())
    };
    let changed = store.change(SUPI, change).unwrap().unwrap();
    assert_eq!((changed.slices, changed.groups.len()), (subscriber().slices, 1));
}

#[test]
fn the_store_reconnects_after_the_server_restarts() {
    let Some(mut server) = TestPostgres::start("reconnect").unwrap() else { return };
    let key_file = server.folder().join("operator.key");
    let store = Store::open_at(&DatabaseUrl::parse(&server.url()), Some(&key_file)).unwrap();
    server.restart().unwrap();
    // The first call may find the connection closed; the next one has a new connection.
    let _ = store.count();
    assert_eq!(store.count().unwrap(), 0);
}

#[test]
fn the_log_of_a_file_shrinks_after_a_long_read() {
    let database = TestDatabase::file("log");
    let file = database.folder().join("martlet.db");
    let open = || connection::open_sqlite(&file).unwrap();
    let (writer, reader) = (open(), open());
    let megabytes = || std::fs::metadata(file.with_extension("db-wal")).unwrap().len() >> 20;
    let insert = |bytes: u32| {
        writer.execute("INSERT INTO filler (value) VALUES (zeroblob(?1))", [bytes]).unwrap();
    };
    writer.execute_batch("CREATE TABLE filler (value BLOB)").unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let sql = "SELECT count(*) FROM filler";
    let rows: i64 = reader.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 0);
    (0..24).for_each(|_| insert(1 << 20));
    assert!(megabytes() >= 24);
    reader.execute_batch("COMMIT").unwrap();
    (0..3).for_each(|_| insert(1));
    assert!(megabytes() <= 16, "{} MiB", megabytes());
}

/// Only the owner reads the database, its log, and a database that an earlier version made
/// readable.
#[test]
fn database_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let database = TestDatabase::file("private");
    let folder = database.folder();
    let is_private = |when: &str| {
        let files: Vec<_> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|file| file.unwrap())
            .filter(|file| file.file_name().to_string_lossy().starts_with("martlet.db"))
            .collect();
        assert!(files.len() >= 3, "{when}: {files:?}");
        for file in files {
            let mode = file.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{when}: {:?}", file.file_name());
        }
    };
    let store = database.open();
    store.add(&[subscriber()], false).unwrap();
    is_private("a new database");
    for name in ["martlet.db", "martlet.db-wal", "martlet.db-shm"] {
        let readable = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(folder.join(name), readable).unwrap();
    }
    drop(database.open());
    is_private("a database of an earlier version");
}

#[test]
fn a_server_that_hangs_fails_calls_in_time_and_serves_again() {
    let Some(server) = TestPostgres::start("hangs").unwrap() else { return };
    let url = format!("{}?statement_timeout=300&connect_timeout=1", server.url());
    let key = server.folder().join("operator.key");
    let store = Store::open_at(&DatabaseUrl::parse(&url), Some(&key)).unwrap();
    assert_eq!(store.count().unwrap(), 0);
    server.signal("-STOP").unwrap();
    let (sender, failed) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        // All of them wait for one attempt to connect, not for one each.
        for _ in 0..50 {
            let (store, sender) = (&store, sender.clone());
            scope.spawn(move || sender.send(store.count().is_err()).unwrap());
        }
        for _ in 0..50 {
            assert!(failed.recv_timeout(std::time::Duration::from_secs(20)).unwrap());
        }
    });
    server.signal("-CONT").unwrap();
    assert_eq!(store.count().unwrap(), 0);
}

/// Programs of different versions at one server: the tables are those of the first version with
/// leases, as a program without steps left them, and may have steps of a later program.
#[test]
fn programs_of_different_versions_run_at_one_server_until_a_contraction() {
    let Some(server) = TestPostgres::start("schemas").unwrap() else { return };
    let database = TestDatabase::Postgres(server);
    let TestDatabase::Postgres(server) = &database else { return };
    let run = |sql: &str| {
        postgres::Client::connect(&server.url(), postgres::NoTls).unwrap().batch_execute(sql)
    };
    // Eight processes make the tables at the same time.
    std::thread::scope(|scope| {
        (0..8).for_each(|_| drop(scope.spawn(|| database.open().count().unwrap())));
    });
    database.open().add(&[subscriber()], false).unwrap();
    // As an earlier program left them.
    run("DROP TABLE martlet_schema_step, change_order").unwrap();
    let store = database.open();
    assert_eq!(store.count().unwrap(), 1);
    // An earlier program writes beside it, as it does.
    run("BEGIN; LOCK TABLE change IN SHARE ROW EXCLUSIVE MODE; INSERT INTO change (supi) VALUES \
         ('imsi-2'); COMMIT")
    .unwrap();
    assert!(store.remove(SUPI).unwrap());
    assert_eq!(store.changes(0, 10).unwrap().last().unwrap().supi, SUPI);
    // A later program has extended the tables; this one can be started again.
    run("INSERT INTO martlet_schema_step (step) VALUES (99); ALTER TABLE subscriber ADD COLUMN \
         later TEXT")
    .unwrap();
    database.open().add(&[subscriber()], true).unwrap();
    // What it needs was removed: refused with what to do, also while it runs.
    run("UPDATE martlet_schema SET version = 3; ALTER TABLE subscriber DROP COLUMN gpsi").unwrap();
    let failed = store.list("", 10).err().unwrap().to_string();
    assert!(failed.contains("start that version here, too"), "{failed}");
    let refused = Store::open_at(&database.url(), Some(&database.key_file())).err().unwrap();
    assert!(refused.to_string().contains("use a newer one"), "{refused}");
}

#[test]
fn the_error_of_a_user_who_may_not_create_tables_has_the_remedy() {
    let Some(server) = TestPostgres::start("rights").unwrap() else { return };
    let mut client = postgres::Client::connect(&server.url(), postgres::NoTls).unwrap();
    client.batch_execute("CREATE ROLE reader LOGIN").unwrap();
    let url = DatabaseUrl::parse(&server.url().replace("martlet@", "reader@"));
    let refused = Store::open_at(&url, Some(&server.folder().join("key"))).err().unwrap();
    assert!(refused.to_string().contains("GRANT CREATE ON SCHEMA"), "{refused}");
    let unknown = DatabaseUrl::parse(&server.url().replace("/postgres", "/nowhere"));
    let refused = Store::open_at(&unknown, None).err().unwrap();
    assert!(refused.to_string().contains("nowhere"), "{refused}");
    assert!(refused.to_string().contains("createdb"), "{refused}");
    let gone = DatabaseUrl::parse("postgresql://martlet@127.0.0.1:1/postgres");
    let refused = Store::open_at(&gone, None).err().unwrap();
    assert!(refused.to_string().contains("correct host and port of the URL"), "{refused}");
}
