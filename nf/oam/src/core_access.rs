//! What the function needs of the core that it belongs to.
use crate::access_error::AccessError;
use crate::backups::Backups;
use martlet_store::{AddressPool, Subscriber};
use serde_json::Value;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

/// A future of [`CoreAccess`].
pub type CoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

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

/// The result of a configuration change.
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

    /// The pools that static addresses of subscribers have to be in, where they are known.
    fn address_pools(&self) -> Vec<AddressPool>;

    /// Its backups and restores.
    fn backups(&self) -> &dyn Backups;

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

    /// There are no viewers for a while: memory that only a poll needs can be released.
    fn rests(&self) {}

    /// The version of the program.
    fn version(&self) -> String;

    /// Certificates and the days that they are still valid, of files in PEM. Blocks.
    fn certificates(&self) -> Vec<Value>;
}
