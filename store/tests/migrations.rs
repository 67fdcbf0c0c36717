//! Databases of each earlier schema are migrated, with their subscribers. The tables of each
//! version are in `schemas`; a released one is never changed.
use martlet_store::testing::TestPostgres;
use martlet_store::*;
use std::path::{Path, PathBuf};

fn schemas(kind: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas");
    let file = |n: usize| folder.join(format!("{kind}-{n}.sql"));
    // The first step has no file: it creates the tables of the version.
    let first = if kind.ends_with("step") { 2 } else { 1 };
    (first..).map(file).map_while(|file| std::fs::read_to_string(file).ok()).collect()
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

/// Columns and primary keys of all tables of a server.
fn columns(client: &mut postgres::Client) -> Vec<String> {
    let sql = "SELECT table_name || ' ' || column_name || ' ' || data_type || ' ' || is_nullable \
               || ' ' || coalesce(collation_name, '') || ' ' || coalesce(column_default, '') \
               || ' ' || is_identity || ' ' || coalesce(identity_generation, '') \
               FROM information_schema.columns WHERE table_schema = current_schema() \
               UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() \
               ORDER BY 1";
    client.query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

#[test]
fn servers_of_each_schema_are_migrated() {
    let (schemas, added) = (schemas("postgresql"), schemas("postgresql-step"));
    // Versions before there were steps, and the last version with each number of steps.
    let versions = (1..=schemas.len()).map(|version| (version, 0));
    let steps = (1..=1 + added.len()).map(|step| (schemas.len(), step));
    for (version, step) in versions.chain(steps) {
        let Some(server) = TestPostgres::start("migrations").unwrap() else { return };
        let (url, key) = (DatabaseUrl::parse(&server.url()), server.folder().join("operator.key"));
        // The row as the program writes it.
        let store = Store::open_at(&url, Some(&key)).unwrap();
        store.add(&[subscriber(1)], false).unwrap();
        drop(store);
        let mut client = postgres::Client::connect(&server.url(), postgres::NoTls).unwrap();
        // A new version of the tables, or a new step, needs a file.
        let current =
            "SELECT version, max(step) FROM martlet_schema, martlet_schema_step GROUP BY 1";
        let current = client.query_one(current, &[]).unwrap();
        let current = (current.get::<_, i32>(0), current.get::<_, i32>(1));
        assert_eq!(current, (schemas.len() as i32, 1 + added.len() as i32));
        let fresh = columns(&mut client);
        client
            .batch_execute(
                "CREATE TABLE kept AS TABLE subscriber; \
                 DROP TABLE subscriber, context, change, state, member, taken, change_order, \
                 martlet_schema_step; DELETE FROM martlet_schema",
            )
            .unwrap();
        client.batch_execute(&schemas[version - 1]).unwrap();
        for number in 1..=step {
            // The first step creates the tables.
            if number > 1 {
                client.batch_execute(&added[number - 2]).unwrap();
            }
            client
                .batch_execute(
                    "CREATE TABLE IF NOT EXISTS martlet_schema_step (step INTEGER PRIMARY KEY)",
                )
                .unwrap();
            let record = "INSERT INTO martlet_schema_step (step) VALUES ($1)";
            client.execute(record, &[&(number as i32)]).unwrap();
        }
        client
            .execute("INSERT INTO martlet_schema (version) VALUES ($1)", &[&(version as i32)])
            .and_then(|_| client.execute("INSERT INTO subscriber SELECT * FROM kept", &[]))
            .unwrap();
        client.batch_execute("DROP TABLE kept").unwrap();
        works(&Store::open_at(&url, Some(&key)).unwrap());
        assert_eq!(columns(&mut client), fresh, "version {version}, step {step}");
    }
}
