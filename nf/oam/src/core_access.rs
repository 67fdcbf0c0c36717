//! What the function needs of the core that it belongs to.
use crate::backups::{Backup, RestorePreview, Restores, StagedRestore};
use crate::problem::Failure;
use http::StatusCode;
use martlet_store::Subscriber;
use serde_json::Value;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;

/// A future of [`CoreAccess`].
pub type CoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Why the core did not do what was requested.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AccessError {
    /// No function of the core serves the request, or its process does not answer.
    #[error("{0}")]
    Unavailable(String),
    /// The function refused.
    #[error("{detail}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// Why.
        detail: String,
    },
    /// This core cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// A backup cannot be made or restored.
    #[error("{detail}")]
    Backup {
        /// HTTP status.
        status: StatusCode,
        /// The last part of the problem's type, and its title.
        kind: (&'static str, &'static str),
        /// What is wrong.
        detail: String,
        /// What to do.
        remedy: String,
        /// Whether the folder of the request is wrong.
        is_folder: bool,
    },
    /// Values of a configuration are wrong.
    #[error("{detail}")]
    Invalid {
        /// All errors, each with its line.
        detail: String,
        /// Each error that names a key: the key, and what is wrong.
        fields: Vec<(String, String)>,
    },
}

impl From<AccessError> for Failure {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::Unavailable(detail) => Failure::unavailable(detail),
            AccessError::Invalid { detail, fields } => Failure::fields(detail, fields),
            AccessError::Backup { status, kind: (kind, title), detail, remedy, is_folder } => {
                let failure = Failure::new(status, kind, title, detail).remedy(&remedy);
                if is_folder { failure.at("folder") } else { failure }
            }
            AccessError::Refused { status: 404, detail } => Failure::not_found(detail),
            AccessError::Refused { status: 400, detail } => {
                Failure::new(StatusCode::BAD_REQUEST, "refused", "The core refused", detail)
            }
            AccessError::Refused { status: 409, detail } => Failure::conflict(detail),
            AccessError::Refused { status: 501, detail } | AccessError::Unsupported(detail) => {
                Failure::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "unsupported",
                    "This core cannot do that",
                    detail,
                )
            }
            AccessError::Refused { status: 504, detail } => Failure::new(
                StatusCode::GATEWAY_TIMEOUT,
                "no-answer",
                "The UE did not answer",
                detail,
            ),
            AccessError::Refused { status: 400..=499, detail } => Failure::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "refused",
                "The core refused",
                detail,
            ),
            AccessError::Refused { detail, .. } => {
                Failure::new(StatusCode::BAD_GATEWAY, "refused", "The core refused", detail)
            }
        }
    }
}

/// The configuration file.
#[derive(Debug, Clone, Default)]
pub struct Configuration {
    /// The file; `None` for the defaults.
    pub file: Option<PathBuf>,
    /// Its text.
    pub text: String,
    /// All values, with those of the defaults. Secrets are removed.
    pub values: Value,
    /// The values that the file sets, without secrets.
    pub written: Value,
}

/// A value of the configuration to change.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigurationEdit {
    /// The keys from the section to the value.
    pub path: Vec<&'static str>,
    /// The new value; null removes the key, so that the default applies.
    pub value: Value,
}

/// What became of a changed configuration.
#[derive(Debug, Clone, Default)]
pub struct AppliedConfiguration {
    /// Keys that were changed in the file.
    pub changed: Vec<String>,
    /// What the running functions applied, in words.
    pub applied: Vec<String>,
    /// Keys that need a restart.
    pub restart: Vec<String>,
}

/// Subscribers of a file.
#[derive(Debug, Default)]
pub struct ImportedSubscribers {
    /// The subscribers.
    pub subscribers: Vec<Subscriber>,
    /// Fields that Martlet cannot represent.
    pub lost: Vec<String>,
}

/// The core: its functions, files and commands.
pub trait CoreAccess: Send + Sync + 'static {
    /// The status of all functions, as `martlet status --json` shows it.
    fn status(&self) -> CoreFuture<'_, Value>;

    /// The same with what only the process that started the functions knows: its rights, and the
    /// processes that it restarted.
    fn whole_status(&self) -> CoreFuture<'_, Value> {
        self.status()
    }

    /// A request for a function, such as `locate/imsi-001010000000001`.
    fn ask<'a>(
        &'a self,
        function: &'a str,
        question: String,
    ) -> CoreFuture<'a, Result<Value, AccessError>>;

    /// The recorded events of a UE in order of time. Blocks.
    ///
    /// # Errors
    /// The history is off, or cannot be read.
    fn history(&self, supi: &str) -> Result<Vec<Value>, AccessError>;

    /// Events of all UEs after a position, and the next position. Blocks.
    fn events_after(&self, position: u64) -> (Vec<Value>, u64);

    /// Reads subscribers of another core's or Martlet's format. Blocks.
    ///
    /// # Errors
    /// The text is not of the format, or a subscriber is wrong.
    fn read_subscribers(
        &self,
        format: &str,
        text: &str,
    ) -> Result<ImportedSubscribers, AccessError>;

    /// Copies databases, key and configuration into a new folder. Blocks.
    ///
    /// # Errors
    /// This core has no files, or they cannot be copied.
    fn back_up(&self, folder: &Path, by: &str) -> Result<Backup, AccessError>;

    /// The backups that [`CoreAccess::back_up`] has made, the latest first. Blocks.
    ///
    /// # Errors
    /// The list cannot be read.
    fn backups(&self) -> Result<Vec<Backup>, AccessError>;

    /// Checks a backup and compares it with the present state, without `changes_since`. Blocks.
    ///
    /// # Errors
    /// The backup cannot be restored.
    fn preview_restore(&self, folder: &Path) -> Result<RestorePreview, AccessError>;

    /// Checks a backup and copies it, for the next start to restore it. Blocks.
    ///
    /// # Errors
    /// The backup cannot be restored, or another one is staged.
    fn stage_restore(&self, folder: &Path, by: &str) -> Result<StagedRestore, AccessError>;

    /// Withdraws the staged restore; `None` if there is none. Blocks.
    ///
    /// # Errors
    /// Its files cannot be removed.
    fn withdraw_restore(&self) -> Result<Option<StagedRestore>, AccessError>;

    /// What is staged, and the result of the last restore. Blocks.
    ///
    /// # Errors
    /// It cannot be read.
    fn restores(&self) -> Result<Restores, AccessError>;

    /// Notes that the audit log has the last restore. Blocks.
    ///
    /// # Errors
    /// It cannot be written.
    fn restore_recorded(&self) -> Result<(), AccessError>;

    /// The configuration. Blocks.
    ///
    /// # Errors
    /// The file cannot be read.
    fn configuration(&self) -> Result<Configuration, AccessError>;

    /// Checks a configuration, and with `write` replaces the file and reloads what the running
    /// functions can apply. Blocks.
    ///
    /// # Errors
    /// The first error has all lines of the check.
    fn change_configuration(
        &self,
        text: &str,
        write: bool,
    ) -> Result<AppliedConfiguration, AccessError>;

    /// The text of a configuration with changed values. All other lines stay as they are. Nothing
    /// is written.
    ///
    /// # Errors
    /// The text is written in a way that cannot be edited.
    fn edit_configuration(
        &self,
        text: &str,
        edits: &[ConfigurationEdit],
    ) -> Result<String, AccessError>;

    /// There are no viewers for a while: memory that only a poll needs can go.
    fn rests(&self) {}

    /// The version of the program.
    fn version(&self) -> String;

    /// Certificates and the days that they are still valid, of files in PEM. Blocks.
    fn certificates(&self) -> Vec<Value>;
}
