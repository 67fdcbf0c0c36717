//! Looks at SQLite databases that no process writes, such as those of a backup, before they are
//! used.
use crate::database::Row;
use crate::seal::Seal;
use crate::{SCHEMA_VERSION, StoreError};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::path::Path;

/// What a database has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inspection {
    /// Version of its tables.
    pub schema_version: u32,
    /// Number of its subscribers.
    pub subscribers: u64,
}

/// How the subscribers of two databases differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// Subscribers of the present database.
    pub now: u64,
    /// Those that only the present database has.
    pub only_now: u64,
    /// Those that only the other database has.
    pub only_then: u64,
    /// Those that both have, with different data. Sequence numbers are not compared.
    pub changed: u64,
}

/// Checks a database: its structure, its schema version, that it has no triggers and views, and,
/// with `seal`, that the operator's key opens the keys of all subscribers. Nothing is written.
///
/// # Errors
/// The file is damaged, no database of Martlet, of a later version, or encrypted with another key.
pub fn inspect(file: &Path, seal: Option<&Seal>) -> Result<Inspection, StoreError> {
    let damaged = |reason: String| StoreError::Damaged { path: file.display().to_string(), reason };
    let connection = open_unused(file).map_err(|error| damaged(error.to_string()))?;
    let read = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let schema_version = read("PRAGMA user_version").map_err(|e| damaged(e.to_string()))?;
    let supported = SCHEMA_VERSION as u32;
    let found = u32::try_from(schema_version).unwrap_or(u32::MAX);
    if found > supported {
        return Err(StoreError::TooNew { found, supported });
    }
    let result = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0));
    let result: String = result.map_err(|error| damaged(error.to_string()))?;
    if result != "ok" {
        return Err(damaged(result));
    }
    let tables = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN \
                  ('subscriber', 'context')";
    if found == 0 || read(tables)? != 2 {
        return Err(damaged("it is no database of Martlet".into()));
    }
    // Martlet makes neither, and they would run with each later statement.
    let programs = "SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')";
    if read(programs)? != 0 {
        return Err(damaged("it has triggers or views".into()));
    }
    let subscribers = read("SELECT count(*) FROM subscriber")? as u64;
    if let Some(seal) = seal {
        let mut statement = connection.prepare("SELECT supi, profile FROM subscriber")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let row = Row { supi: row.get(0)?, gpsi: None, sqn: 0, profile: row.get(1)? };
            crate::store::opened(seal, &row)?;
        }
    }
    Ok(Inspection { schema_version: found, subscribers })
}

/// The value of a context that belongs to no subscriber, in a database that no process writes.
///
/// # Errors
/// The file cannot be read.
pub fn read_context(file: &Path, kind: &str, key: &str) -> Result<Option<String>, StoreError> {
    let sql = "SELECT value FROM context WHERE supi = '' AND kind = ?1 AND key = ?2";
    let connection = open_unused(file)?;
    Ok(connection.query_row(sql, params![kind, key], |row| row.get(0)).optional()?)
}

/// Compares the subscribers of the present database, which a core may use, with those of another
/// one that no process writes. Nothing is written.
///
/// # Errors
/// A file cannot be read.
pub fn compare(now: &Path, then: &Path) -> Result<Comparison, StoreError> {
    let connection = open_read_only(&format!("file:{}?mode=ro", escaped(now)))?;
    connection.execute("ATTACH ?1 AS then_", [uri_of_unused(then)])?;
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let missing = |one: &str, other: &str| {
        count(&format!(
            "SELECT count(*) FROM {one}.subscriber AS a WHERE NOT EXISTS (SELECT 1 FROM \
             {other}.subscriber AS b WHERE b.supi = a.supi)"
        ))
    };
    let changed = "SELECT count(*) FROM main.subscriber AS a JOIN then_.subscriber AS b ON \
                   a.supi = b.supi WHERE a.profile <> b.profile OR a.gpsi IS NOT b.gpsi";
    Ok(Comparison {
        now: count("SELECT count(*) FROM main.subscriber")? as u64,
        only_now: missing("main", "then_")? as u64,
        only_then: missing("then_", "main")? as u64,
        changed: count(changed)? as u64,
    })
}

/// Writes what the journals of a database have into its file, and removes them, so that the file
/// alone is the database.
///
/// # Errors
/// The file is damaged, or cannot be written.
pub fn fold_journals(file: &Path) -> Result<(), StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    let mode: String =
        connection.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0))?;
    match mode.as_str() {
        "delete" => Ok(()),
        _ => Err(StoreError::Damaged {
            path: file.display().to_string(),
            reason: format!("its write-ahead log cannot be removed (journal mode {mode})"),
        }),
    }
}

fn open_unused(file: &Path) -> rusqlite::Result<Connection> {
    open_read_only(&uri_of_unused(file))
}

fn open_read_only(uri: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri, flags)?;
    // The file may come from any user.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

/// Without journals, SQLite needs no right to write beside the file.
fn uri_of_unused(file: &Path) -> String {
    let has_journal = ["-wal", "-journal"].iter().any(|end| {
        let mut name = file.as_os_str().to_owned();
        name.push(end);
        std::fs::metadata(name).is_ok_and(|status| status.len() > 0)
    });
    let option = if has_journal { "mode=ro" } else { "immutable=1" };
    format!("file:{}?{option}", escaped(file))
}

/// A path in a URI of SQLite.
fn escaped(file: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut text = String::new();
    for byte in file.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => text.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => text.push(char::from(*byte)),
            byte => text.push_str(&format!("%{byte:02x}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DatabaseUrl, Secret, Store, Subscriber, connection};
    use std::path::PathBuf;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("martlet inspect?{name}#{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }

        fn seal(&self) -> Seal {
            Seal::load(&self.0.join("key")).unwrap()
        }

        fn store(&self) -> Store {
            let url = DatabaseUrl::File(self.0.join("a.db"));
            Store::open_at(&url, Some(&self.0.join("key"))).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn subscriber(n: u64) -> Subscriber {
        let supi = format!("imsi-{:015}", 1_010_000_000_000 + n);
        Subscriber::new(&supi, Secret([1; 16]), Secret([2; 16]), "internet")
    }

    #[test]
    fn a_copy_is_inspected_and_compared_with_the_database_in_use() {
        let folder = Folder::new("copy");
        let store = folder.store();
        store.add(&[subscriber(1), subscriber(2), subscriber(3)], false).unwrap();
        let copy = folder.0.join("copy.db");
        connection::copy_sqlite(&folder.0.join("a.db"), &copy).unwrap();
        let found = inspect(&copy, Some(&folder.seal())).unwrap();
        let expected = Inspection { schema_version: SCHEMA_VERSION as u32, subscribers: 3 };
        assert_eq!(found, expected);
        store.remove("imsi-001010000000001").unwrap();
        store.add(&[subscriber(4), subscriber(5)], false).unwrap();
        let change = |subscriber: &mut Subscriber| {
            subscriber.ambr_uplink = "5 Mbps".into();
            Ok::<_, StoreError>(())
        };
        store.change("imsi-001010000000002", change).unwrap();
        store.advance_sqn("imsi-001010000000003", 0, 32).unwrap();
        let compared = compare(&folder.0.join("a.db"), &copy).unwrap();
        assert_eq!(compared, Comparison { now: 4, only_now: 2, only_then: 1, changed: 1 });

        let other = inspect(&copy, Some(&Seal::new(&[9; 32])));
        assert!(matches!(other, Err(StoreError::Sealed(_))), "{other:?}");
    }

    #[test]
    fn a_database_with_a_journal_is_inspected_and_its_journal_folded() {
        let folder = Folder::new("journal");
        let store = folder.store();
        store.add(&[subscriber(1)], false).unwrap();
        let copy = folder.0.join("copy.db");
        for end in ["", "-wal"] {
            let name = |file: &str| folder.0.join(format!("{file}{end}"));
            std::fs::copy(name("a.db"), name("copy.db")).unwrap();
        }
        assert_eq!(inspect(&copy, None).unwrap().subscribers, 1);
        fold_journals(&copy).unwrap();
        assert!(!folder.0.join("copy.db-wal").exists());
        assert_eq!(inspect(&copy, Some(&folder.seal())).unwrap().subscribers, 1);
    }

    #[test]
    fn what_is_damaged_newer_or_of_others_is_refused() {
        let folder = Folder::new("damaged");
        drop(folder.store());
        let copy = folder.0.join("copy.db");
        let fresh = || {
            let _ = std::fs::remove_file(&copy);
            connection::copy_sqlite(&folder.0.join("a.db"), &copy).unwrap();
        };
        let reason = || match inspect(&copy, None) {
            Err(StoreError::Damaged { reason, .. }) => reason,
            other => panic!("{other:?}"),
        };
        fresh();
        let mut bytes = std::fs::read(&copy).unwrap();
        let end = bytes.len() - 4096;
        bytes[end..].fill(0x5a);
        std::fs::write(&copy, &bytes).unwrap();
        assert!(!reason().is_empty());
        std::fs::write(&copy, &bytes[..bytes.len() / 2]).unwrap();
        assert!(!reason().is_empty());
        std::fs::write(&copy, "no database at all, but a text of some length").unwrap();
        assert!(reason().contains("not a database"));
        std::fs::write(&copy, "").unwrap();
        assert!(reason().contains("no database of Martlet"));
        fresh();
        let sql = "CREATE TRIGGER t AFTER INSERT ON subscriber BEGIN DELETE FROM context; END";
        Connection::open(&copy).unwrap().execute_batch(sql).unwrap();
        assert!(reason().contains("triggers"));
        fresh();
        Connection::open(&copy).unwrap().pragma_update(None, "user_version", 99).unwrap();
        assert!(matches!(inspect(&copy, None), Err(StoreError::TooNew { found: 99, .. })));
        assert!(inspect(&folder.0.join("missing.db"), None).is_err());
        assert!(!folder.0.join("missing.db").exists());
    }
}
