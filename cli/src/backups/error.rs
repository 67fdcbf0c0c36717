//! Why a backup cannot be made or restored.
use martlet_oam::AccessError;
use martlet_store::{KEY_VARIABLE, StoreError};
use std::path::{Path, PathBuf};

/// Why a backup cannot be made or restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The subscribers are in PostgreSQL or in memory.
    #[error("udr.path is {database}, and no file")]
    NoFile {
        /// The database.
        database: String,
    },
    /// The subscriber database does not exist.
    #[error("there is no database {0}")]
    NoDatabase(PathBuf),
    /// The folder is no backup.
    #[error("{folder} is no folder of `martlet backup` that can be read: {reason}")]
    NoBackup {
        /// The folder.
        folder: PathBuf,
        /// What is missing or cannot be read.
        reason: String,
    },
    /// The process that made the backup has not ended.
    #[error("the backup {0} is not complete: it was interrupted, or is still being made")]
    Incomplete(PathBuf),
    /// A file is not what was backed up.
    #[error("{file} is damaged: {reason}")]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A later version has made the backup.
    #[error("{file} has schema version {found}, and this program supports up to {supported}")]
    TooNew {
        /// The file.
        file: PathBuf,
        /// Version of the file.
        found: u32,
        /// Highest version that this program supports.
        supported: u32,
    },
    /// The operator's key does not open the keys of the subscribers.
    #[error("{0}")]
    Key(String),
    /// Another restore is staged.
    #[error("the restore of {0} is staged already")]
    Staged(String),
    /// The disk is full.
    #[error("{folder} has {free} bytes left, and {needed} are needed")]
    NoSpace {
        /// The folder.
        folder: PathBuf,
        /// Bytes that are left.
        free: u64,
        /// Bytes that are needed.
        needed: u64,
    },
    /// A file or folder is of another user, a link, or writable for others.
    #[error("{path} is not trusted: {reason}")]
    Untrusted {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        reason: &'static str,
    },
    /// A process uses the databases.
    #[error("{0} is in use by another process")]
    InUse(PathBuf),
    /// A file of the control folder does not decode.
    #[error("{path} does not decode: {reason}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file cannot be read or written.
    #[error("{path}: {reason}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        reason: String,
    },
    /// A restore failed, and so did putting the old files back.
    #[error("the restore was interrupted, and the old files are not all back: {0}")]
    HalfDone(String),
}

/// Whether the reason of a failed write is a full disk or an exhausted quota.
fn is_full(reason: &str) -> bool {
    let parts = ["No space left", "uota exceeded", "disk is full", "make room"];
    parts.iter().any(|part| reason.contains(part))
}

impl BackupError {
    /// An error of a file.
    pub(super) fn io(path: &Path, error: impl std::fmt::Display) -> Self {
        BackupError::Io { path: path.into(), reason: error.to_string() }
    }

    /// An error of a database of a backup.
    pub(super) fn of_store(file: &Path, error: StoreError) -> Self {
        let file = file.to_path_buf();
        match error {
            StoreError::TooNew { found, supported } => {
                BackupError::TooNew { file, found, supported }
            }
            StoreError::Damaged { reason, .. } => BackupError::Damaged { file, reason },
            StoreError::Sealed(what) => BackupError::Key(format!(
                "{what} in {} was encrypted with another operator's key",
                file.display()
            )),
            StoreError::Key(reason) => BackupError::Key(reason),
            error => BackupError::Damaged { file, reason: error.to_string() },
        }
    }

    /// What to do.
    pub fn remedy(&self) -> String {
        match self {
            BackupError::NoFile { database } if database == ":memory:" => {
                "name a file as udr.path: a database in memory ends with the core".into()
            }
            BackupError::NoFile { .. } => {
                "back PostgreSQL up with pg_dump and restore it with pg_restore, and keep the \
                 operator's key with the dump"
                    .into()
            }
            BackupError::NoDatabase(_) => {
                "select the core's configuration with -c or MARTLET_CONFIG".into()
            }
            BackupError::NoBackup { .. } => {
                "name a folder of `martlet backup` that the core's user can read, such as one \
                 below the folder of the database"
                    .into()
            }
            BackupError::Incomplete(_) => "restore another backup".into(),
            BackupError::Damaged { .. } => {
                "restore another backup, or copy this one again from where it was kept".into()
            }
            BackupError::TooNew { .. } => "restore it with the version that made it".into(),
            BackupError::Key(_) => format!(
                "put the key that belongs to the backup into it as operator.key, or set it as \
                 {KEY_VARIABLE}, if the core has its key from there"
            ),
            BackupError::Staged(_) => {
                "withdraw it first: DELETE /api/v1/restores, or `martlet restore --withdraw`".into()
            }
            BackupError::NoSpace { .. } => "make room on this disk".into(),
            BackupError::Untrusted { .. } => {
                "remove it, or give it to the core's user without rights for others".into()
            }
            BackupError::InUse(_) => "stop the core first".into(),
            BackupError::Unreadable { .. } => "remove the file".into(),
            BackupError::Io { reason, .. } if is_full(reason) => "make room on this disk".into(),
            BackupError::Io { .. } => {
                "check that it exists, and that the core's user may read and write it".into()
            }
            BackupError::HalfDone(_) => {
                "mend what the error names, and start again: the start completes the restore".into()
            }
        }
    }
}

impl From<BackupError> for AccessError {
    fn from(error: BackupError) -> Self {
        use http::StatusCode;
        let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
        let (status, kind, is_folder) = match &error {
            BackupError::NoFile { .. } | BackupError::NoDatabase(_) => {
                (unprocessable, ("unsupported", "This core cannot do that"), false)
            }
            BackupError::NoBackup { .. } => {
                (unprocessable, ("no-backup", "The folder is no backup"), true)
            }
            BackupError::Incomplete(_) => {
                (unprocessable, ("backup-incomplete", "The backup is not complete"), true)
            }
            BackupError::Damaged { .. } => {
                (unprocessable, ("backup-damaged", "The backup is damaged"), true)
            }
            BackupError::TooNew { .. } => {
                (unprocessable, ("backup-too-new", "A later version made the backup"), true)
            }
            BackupError::Key(_) => {
                (unprocessable, ("backup-key", "The key does not open the backup"), true)
            }
            BackupError::Staged(_) | BackupError::InUse(_) => {
                (StatusCode::CONFLICT, ("conflict", "The state does not allow this"), false)
            }
            BackupError::NoSpace { .. } => {
                (StatusCode::INSUFFICIENT_STORAGE, ("no-space", "The disk has no room"), false)
            }
            BackupError::Untrusted { .. }
            | BackupError::Unreadable { .. }
            | BackupError::Io { .. }
            | BackupError::HalfDone(_) => {
                (StatusCode::CONFLICT, ("files", "Files cannot be read or written"), false)
            }
        };
        let (detail, remedy) = (error.to_string(), error.remedy());
        AccessError::Backup { status, kind, detail, remedy, is_folder }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_no_matter_of_rights() {
        let remedy =
            |error: &dyn std::fmt::Display| BackupError::io(Path::new("x"), error).remedy();
        for full in [nix::errno::Errno::ENOSPC, nix::errno::Errno::EDQUOT] {
            assert_eq!(remedy(&full), "make room on this disk");
            let full = std::io::Error::from_raw_os_error(full as i32);
            assert_eq!(remedy(&full), "make room on this disk");
        }
        let denied = std::io::Error::from_raw_os_error(nix::errno::Errno::EACCES as i32);
        assert!(remedy(&denied).contains("read and write it"));
    }
}
