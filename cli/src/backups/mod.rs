//! Backups of the databases and the operator's key, and their restore.
//!
//! A restore is staged while the core runs, and carried out by its next start, before any function
//! opens a database:
//!
//! | step | who | what |
//! | --- | --- | --- |
//! | [`preview`] | the API, `martlet restore` | checks the backup, and compares it with what is there |
//! | [`stage`] | the API, `martlet restore` | copies the files into the control folder, checks the copies, and writes the request |
//! | [`carry_out`] | `martlet up` before it gives up rights, `martlet restore` | moves the present files aside and the copies into their place |
//!
//! The control folder is beside the subscriber database: `martlet.db.restores`. The files that are
//! replaced are those that the configuration names; the request names none.
//!
//! # Errors
//! [`BackupError`]: what is wrong with the backup or this machine, and what to do.
mod carry_out;
mod check;
mod copy;
mod error;
mod folder;
mod manifest;
mod new_file;
mod staging;

pub use carry_out::{carry_out, in_use};
pub use check::preview;
pub use copy::{copy, list};
pub use error::BackupError;
pub use staging::{acknowledge, control_folder, recorded, stage, state, withdraw};

use crate::config::{Config, database_name};
use martlet_store::DatabaseUrl;
use std::path::{Path, PathBuf};

/// Name of the subscriber database in a backup.
const SUBSCRIBERS: &str = "subscribers.db";
/// Name of the operator's key in a backup.
pub const KEY: &str = "operator.key";
/// Name of the configuration in a backup, for reference.
const CONFIGURATION: &str = "martlet.yaml";

/// A file of the core, and its name in a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The file.
    pub file: PathBuf,
    /// Its name in a backup.
    pub name: &'static str,
}

/// The database files of a configuration, that of the subscribers first.
///
/// # Errors
/// The subscriber database is no file.
pub fn databases(config: &Config) -> Result<Vec<Target>, BackupError> {
    let subscribers = config.database();
    let DatabaseUrl::File(main) = &subscribers else {
        return Err(BackupError::NoFile { database: database_name(&subscribers) });
    };
    let mut targets = vec![Target { file: main.clone(), name: SUBSCRIBERS }];
    let stores = [
        ("amf", "amf.db", &config.amf.context_store.database),
        ("smf", "smf.db", &config.smf.context_store.database),
        ("chf", "chf.db", &config.chf.context_store.database),
    ];
    for (function, name, database) in stores {
        let url = match database.as_str() {
            "" => subscribers.for_function(function),
            other => Some(DatabaseUrl::parse(other)),
        };
        if let Some(DatabaseUrl::File(file)) = url {
            targets.push(Target { file, name });
        }
    }
    Ok(targets)
}

/// The file of the operator's key.
pub fn key_file(config: &Config) -> Option<PathBuf> {
    match config.udr.key_file.as_str() {
        "" => config.database().key_file(),
        file => Some(file.into()),
    }
}

/// All files that a restore may replace: the databases and the operator's key.
///
/// # Errors
/// The subscriber database is no file.
pub fn targets(config: &Config) -> Result<Vec<Target>, BackupError> {
    let mut targets = databases(config)?;
    targets.extend(key_file(config).map(|file| Target { file, name: KEY }));
    Ok(targets)
}

/// A file with a journal's end after its name.
fn with_end(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
