//! Databases of each earlier schema are migrated, with their subscribers. The tables of each
//! version are in `schemas`; a released one is never changed.
use martlet_store::testing::TestPostgres;
use martlet_store::*;
use std::path::{Path, PathBuf};

fn schemas(kind: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas");
    let file = |n: usize| folder.join(format!("{kind}-{n}.sql"));
    (1..).map(file).map_while(|file| std::fs::read_to_string(file).ok()).collect()
}

fn subscriber(n: u8) -> Subscriber {
    let supi = format!("imsi-00101000000000{n}");
    Subscriber {
        sqn: 0x20 + u64::from(n),
        ..Subscriber::new(&supi, Secret([n; 16]), Secret([2; 16]), "internet")
    }
}

/// What every migrated database has to do.
fn works(store: &Store) {
    let found = store.subscriber("imsi-001010000000001").unwrap().expect("the subscriber");
    assert_eq!((found.sqn, &found.key.0), (0x21, &[1; 16]));
    store.add(&[subscriber(2)], false).unwrap();
    assert!(store.advance_sqn("imsi-001010000000001", 0x21, 0x41).unwrap());
    store.put_context("imsi-001010000000001", "amf", "3gpp", "{}").unwrap();
    assert_eq!(store.count().unwrap(), 2);
    assert!(store.last_change().unwrap() > 0);
}

/// The definitions of all tables, without comments and spaces.
fn tables(file: &Path) -> Vec<String> {
    let connection = rusqlite::Connection::open(file).unwrap();
    let mut statement = connection
        .prepare("SELECT sql FROM sqlite_master WHERE sql NOT NULL ORDER BY sql")
        .unwrap();
    let definitions = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let plain = |sql: String| {
        let lines = sql.lines().filter(|line| !line.trim_start().starts_with("--"));
        lines.flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" ")
    };
    definitions.map(|sql| plain(sql.unwrap())).collect()
}

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("martlet-migrations-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn files_of_each_schema_are_migrated() {
    let folder = folder();
    let key = folder.join("operator.key");
    let fresh = folder.join("fresh.db");
    let store = Store::open_at(&DatabaseUrl::File(fresh.clone()), Some(&key)).unwrap();
    store.add(&[subscriber(1)], false).unwrap();
    drop(store);
    let schemas = schemas("sqlite");
    // A new migration needs a file with its tables.
    assert_eq!(schemas.len(), SCHEMA_VERSION);
    for (n, schema) in (1u32..).zip(&schemas) {
        let file = folder.join(format!("{n}.db"));
        let connection = rusqlite::Connection::open(&file).unwrap();
        connection.execute_batch(schema).unwrap();
        connection.pragma_update(None, "user_version", n).unwrap();
        let from = fresh.display().to_string();
        connection.execute("ATTACH ?1 AS fresh", [&from]).unwrap();
        connection
            .execute_batch(
                "INSERT INTO subscriber SELECT supi, gpsi, sqn, profile FROM fresh.subscriber",
            )
            .unwrap();
        connection.execute_batch("DETACH fresh").unwrap();
        drop(connection);
        let store = Store::open_at(&DatabaseUrl::File(file.clone()), Some(&key)).unwrap();
        works(&store);
        drop(store);
        assert_eq!(tables(&file), tables(&fresh), "version {n}");
    }
    // A database of a later program is refused, and stays as it is.
    let later = folder.join("later.db");
    std::fs::copy(&fresh, &later).unwrap();
    let connection = rusqlite::Connection::open(&later).unwrap();
    connection.pragma_update(None, "user_version", SCHEMA_VERSION as u32 + 1).unwrap();
    drop(connection);
    let refused = Store::open_at(&DatabaseUrl::File(later), Some(&key));
    assert!(matches!(refused, Err(StoreError::TooNew { .. })));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn servers_of_each_schema_are_migrated() {
    let schemas = schemas("postgresql");
    for (n, schema) in (1i32..).zip(&schemas) {
        let Some(server) = TestPostgres::start("migrations").unwrap() else { return };
        let (url, key) = (DatabaseUrl::parse(&server.url()), server.folder().join("operator.key"));
        // The row as the program writes it.
        let store = Store::open_at(&url, Some(&key)).unwrap();
        store.add(&[subscriber(1)], false).unwrap();
        drop(store);
        let mut client = postgres::Client::connect(&server.url(), postgres::NoTls).unwrap();
        client
            .batch_execute(
                "CREATE TABLE kept AS TABLE subscriber; \
                 DROP TABLE subscriber, context, change, state, member, taken, change_order, \
                 martlet_schema_step; DELETE FROM martlet_schema",
            )
            .unwrap();
        client.batch_execute(schema).unwrap();
        client
            .execute("INSERT INTO martlet_schema (version) VALUES ($1)", &[&n])
            .and_then(|_| client.execute("INSERT INTO subscriber SELECT * FROM kept", &[]))
            .unwrap();
        drop(client);
        works(&Store::open_at(&url, Some(&key)).unwrap());
    }
}
