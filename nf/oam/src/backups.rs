//! Backups, and the restore that the next start of the core carries out.
use crate::access_error::AccessError;
use serde::{Deserialize, Serialize};
use std::path::Path;
use utoipa::ToSchema;

/// A backup that the core has made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Backup {
    /// Its folder on the core's machine.
    #[schema(example = "/var/lib/martlet/backup-2026-11-24")]
    pub folder: String,
    /// When it was made, seconds since 1970.
    #[schema(example = 1_764_000_000)]
    pub made: u64,
    /// Who made it.
    #[schema(example = "admin")]
    pub by: String,
    /// Version of the program that made it.
    #[schema(example = "0.1.0")]
    pub version: String,
    /// Its subscribers.
    pub subscribers: u64,
    /// Names of its files.
    pub files: Vec<String>,
    /// Whether its folder is still there.
    #[serde(default)]
    pub available: bool,
}

/// The subscribers now and in a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubscriberDifference {
    /// Subscribers now; absent if the present database cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<u64>,
    /// Subscribers of the backup.
    pub in_backup: u64,
    /// Subscribers that are lost: the backup does not have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Subscribers that were removed since, and come back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<u64>,
    /// Subscribers whose data become those of the backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<u64>,
}

/// What becomes of the operator's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RestoredKey {
    /// The backup has the present key, or none and was encrypted with the present one.
    Same,
    /// The key of the backup replaces the present one.
    Replaced,
    /// The key is in the environment, and opens the backup.
    Environment,
}

/// The last entry of the audit log in a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditPosition {
    /// Number of the entry.
    pub number: u64,
    /// SHA-256 of the entry, in hexadecimal digits.
    pub hash: String,
}

/// A checked backup, and what its restore would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RestorePreview {
    /// The folder.
    #[schema(example = "/var/lib/martlet/backup-2026-11-24")]
    pub folder: String,
    /// When the backup was made, seconds since 1970.
    #[schema(example = 1_764_000_000)]
    pub made: u64,
    /// Version of the program that made it; absent if that wrote no `backup.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "0.1.0")]
    pub version: Option<String>,
    /// Version of its tables.
    #[schema(example = 3)]
    pub schema_version: u32,
    /// The subscribers.
    pub subscribers: SubscriberDifference,
    /// Changes of the audit log since the backup, which are lost; absent if the backup is of
    /// another audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes_since: Option<u64>,
    /// What becomes of the operator's key.
    pub key: RestoredKey,
    /// Names of the files of the backup that are restored.
    pub files: Vec<String>,
    /// Names of present databases that the backup does not have: their functions begin with empty
    /// ones.
    pub emptied: Vec<String>,
    /// The last entry of the audit log in the backup.
    #[serde(skip)]
    pub audit: Option<AuditPosition>,
}

/// A restore that the next start of the core carries out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StagedRestore {
    /// The folder of the backup. Its files were copied: a later change of the folder has no effect.
    #[schema(example = "/var/lib/martlet/backup-2026-11-24")]
    pub folder: String,
    /// When the backup was made, seconds since 1970.
    #[schema(example = 1_764_000_000)]
    pub made: u64,
    /// Subscribers of the backup.
    pub subscribers: u64,
    /// Who staged it.
    #[schema(example = "admin")]
    pub by: String,
    /// When it was staged, seconds since 1970.
    #[schema(example = 1_764_086_400)]
    pub staged: u64,
    /// Files that replace the present ones at the start.
    pub files: Vec<StagedFile>,
}

/// A file of a staged restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StagedFile {
    /// Name in the backup.
    #[schema(example = "subscribers.db")]
    pub name: String,
    /// Length in bytes.
    #[schema(example = 98_304)]
    pub bytes: u64,
}

/// The last restore that a start of the core, or `martlet restore`, has carried out or tried to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastRestore {
    /// What was staged.
    pub staged: StagedRestore,
    /// When, seconds since 1970.
    #[schema(example = 1_764_090_000)]
    pub at: u64,
    /// Why it was not carried out, and the core has its old data; absent if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What to do about the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Who has acknowledged the error, or withdrawn a restore after it: its alarm is not raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_by: Option<String>,
    /// Folder with the files that were replaced. It can be restored like a backup, until later
    /// restores have left three more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "/var/lib/martlet/martlet.db.restores/replaced-2026-11-25T17-00-00Z")]
    pub replaced: Option<String>,
    /// Whether the audit log has it.
    #[serde(default)]
    pub recorded: bool,
}

impl LastRestore {
    /// A restore without errors, and without replaced files, at this time in seconds since 1970.
    pub fn new(staged: StagedRestore, at: u64) -> LastRestore {
        let (error, remedy, acknowledged_by, replaced) = (None, None, None, None);
        LastRestore { staged, at, error, remedy, acknowledged_by, replaced, recorded: false }
    }

    /// Whether it failed, and no user has acknowledged that: it is an alarm.
    pub fn is_open_failure(&self) -> bool {
        self.error.is_some() && self.acknowledged_by.is_none()
    }
}

/// What is staged, and the result of the last restore.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Restores {
    /// The restore that the next start carries out.
    #[serde(default)]
    pub staged: Option<StagedRestore>,
    /// The last one.
    #[serde(default)]
    pub last: Option<LastRestore>,
    /// The folder of the subscriber database: the core may make backups in it. Others may be out of
    /// its reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "/var/lib/martlet")]
    pub backup_folder: Option<String>,
}

/// The backups of a core, and their restores. All methods block.
pub trait Backups: Send + Sync {
    /// Copies databases, key and configuration into a new folder.
    ///
    /// # Errors
    /// This core has no files, or they cannot be copied.
    fn make(&self, folder: &Path, by: &str) -> Result<Backup, AccessError>;

    /// The backups that [`Backups::make`] has made, the latest first.
    ///
    /// # Errors
    /// The list cannot be read.
    fn list(&self) -> Result<Vec<Backup>, AccessError>;

    /// Checks a backup and compares it with the present state, without `changes_since`.
    ///
    /// # Errors
    /// The backup cannot be restored.
    fn preview(&self, folder: &Path) -> Result<RestorePreview, AccessError>;

    /// Checks a backup and copies it, for the next start to restore it.
    ///
    /// # Errors
    /// The backup cannot be restored, or another one is staged.
    fn stage(&self, folder: &Path, by: &str) -> Result<StagedRestore, AccessError>;

    /// Withdraws the staged restore, and acknowledges an earlier one that failed; `None` if none is
    /// staged.
    ///
    /// # Errors
    /// Its files cannot be removed.
    fn withdraw(&self, by: &str) -> Result<Option<StagedRestore>, AccessError>;

    /// What is staged, and the result of the last restore.
    ///
    /// # Errors
    /// It cannot be read.
    fn restores(&self) -> Result<Restores, AccessError>;

    /// Notes that the audit log has the last restore.
    ///
    /// # Errors
    /// It cannot be written.
    fn recorded(&self) -> Result<(), AccessError>;

    /// Records who has acknowledged that the last restore failed.
    ///
    /// # Errors
    /// It cannot be written.
    fn acknowledge(&self, by: &str) -> Result<(), AccessError>;
}
