//! The database of a command: that of a core, through its API or itself, or another one.
use crate::api_client::Api;
use crate::config_args::ConfigArgs;
use crate::oam_client::{self, Endpoint};
use crate::runtime;
use anyhow::{Result, bail};
use clap::Args;
use martlet::config::{Config, database_name};
use martlet_sandbox::{HandoverError, User, folder_of, give_file, own_file, owner_of_new_files};
use martlet_store::{AddressPool, DatabaseUrl, Store, Subscriber};
use martlet_udr::UdrConfig;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The subscriber database.
#[derive(Args)]
pub struct DatabaseArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Database, instead of the configuration's `udr.path`: a file, or a postgresql:// URL
    #[arg(long, value_name = "FILE|URL")]
    db: Option<String>,
}

/// A database that a command has opened.
pub(super) struct Opened {
    pub(super) store: Store,
    url: DatabaseUrl,
    pub(super) config: Config,
    /// Whether the command has created it.
    is_new: bool,
}

/// Timeout of the request for the database that a running core uses.
const STATUS_TIMEOUT: Duration = Duration::from_millis(500);
/// The same over its API. An API that hangs is known after 5 s.
const CORE_TIMEOUT: Duration = Duration::from_secs(6);

impl Opened {
    /// Prints a note if no core reads what has been written: the core that runs uses another
    /// database, or none runs and the database is new. Or if the audit log lacks it.
    pub(super) fn report_reader(&self) {
        if self.config.oam.api.enabled {
            eprintln!(
                "note: the database was changed directly, not over the API of a running core, so \
                 the audit log has no entry"
            );
        }
        // The UDR of another machine has the database of such a core.
        if self.config.sbi.external.iter().any(|name| name == "udr") {
            return;
        }
        let (oam, name) = (Endpoint::of_core(&self.config), database_name(&self.url));
        let status = runtime::block_on(oam_client::status_within(&oam, STATUS_TIMEOUT));
        match status.ok().and_then(|status| status["database"].as_str().map(str::to_string)) {
            Some(used) if used != name => eprintln!(
                "note: the core at {oam} uses the database {used}, so it does not see this change \
                 of {name}: select its configuration with -c or MARTLET_CONFIG, or its database \
                 with --db"
            ),
            None if self.is_new => eprintln!(
                "note: the database {name} is new, and no core answers at {oam}: start the core \
                 with the same configuration or, without one, from the same folder"
            ),
            _ => {}
        }
    }
}

/// Permissions of a database and its key: access for the owner only.
const PRIVATE: u32 = 0o600;

/// The user of a database and of a key that root creates.
fn owner(url: &DatabaseUrl, new_key: Option<&Path>, config: &Config) -> Option<User> {
    let file = match url {
        DatabaseUrl::File(file) => Some(file.as_path()),
        _ => new_key,
    };
    owner_of_new_files(&folder_of(file?), config.security.user().as_ref())
}

/// Prints a note if a file remains root's.
fn report(given: Result<(), HandoverError>) {
    if let Err(error) = given {
        eprintln!("note: {error}");
    }
}

/// Prints a note if the running core has another database than the configuration names, as after a
/// change of `udr.path` until its restart.
fn report_other_database(api: &Api, config: &Config) -> Result<()> {
    let database = config.database();
    if matches!(&database, DatabaseUrl::File(file) if file.is_relative()) {
        // Without a configuration it starts from the working directory of the core, and not from
        // that of this command.
        return Ok(());
    }
    let status = runtime::block_on(async {
        // Functions that hang have no status, and the API serves subscribers all the same.
        let answer = tokio::time::timeout(CORE_TIMEOUT, api.get("/status")).await;
        answer.unwrap_or_else(|_| Ok(Value::Null))
    })?;
    let name = database_name(&database);
    if let Some(used) = status["database"].as_str().filter(|used| *used != name) {
        eprintln!(
            "note: the running core and this command use the database {used}: the core takes \
             {name} of the configuration after a restart, and --db selects it for a command"
        );
    }
    Ok(())
}

impl DatabaseArgs {
    /// The configuration.
    pub fn config(&self) -> Result<Config> {
        self.config.load()
    }

    /// The API of the running core, unless `--db` names a database.
    ///
    /// # Errors
    /// The configuration cannot be read, or the core does not answer.
    pub fn api(&self) -> Result<Option<Api>> {
        if self.db.is_some() {
            return Ok(None);
        }
        let config = self.config.load()?;
        let Some(api) = Api::of_core(&config) else { return Ok(None) };
        report_other_database(&api, &config)?;
        Ok(Some(api))
    }

    /// The pools that static addresses have to be in. Empty for a database that `--db` names: it
    /// may belong to another core.
    pub(super) fn address_pools(&self, config: &Config) -> Vec<AddressPool> {
        match &self.db {
            Some(_) => Vec::new(),
            None => config.address_pools(),
        }
    }

    /// Prints a note for each slice and data network of a subscriber that the SMF of the
    /// configuration does not serve.
    pub(super) fn report_unserved(&self, subscriber: &Subscriber) -> Result<()> {
        // Another database may belong to another core.
        if self.db.is_some() {
            return Ok(());
        }
        let config = self.config.load()?;
        if config.sbi.external.iter().any(|name| name == "smf") {
            return Ok(());
        }
        let name = match self.config.file() {
            Some(file) => file.display().to_string(),
            None => "the built-in configuration".into(),
        };
        let mut absent = Vec::new();
        for slice in &subscriber.slices {
            let (sst, sd) = (slice.sst, slice.sd);
            if !config.smf.slices.iter().any(|served| (served.sst, served.sd) == (sst, sd)) {
                let sd = sd.map_or_else(String::new, |sd| format!("-{sd:06x}"));
                absent.push(format!("the slice {sst}{sd} in smf.slices or network.slices"));
            }
            for dnn in &slice.dnns {
                let network = format!("the data network {} in smf.dnns", dnn.name);
                let mut served = config.smf.dnns.iter();
                if !served.any(|served| served.name.eq_ignore_ascii_case(&dnn.name))
                    && !absent.contains(&network)
                {
                    absent.push(network);
                }
            }
        }
        for absent in absent {
            eprintln!("note: {name} does not have {absent}, so the subscriber cannot use it");
        }
        Ok(())
    }

    /// Adds new subscribers to the database itself.
    pub fn add(&self, subscribers: &[Subscriber]) -> Result<()> {
        let opened = self.open()?;
        opened.store.add(subscribers, false)?;
        opened.report_reader();
        Ok(())
    }

    /// Opens the database for a command that writes.
    pub(super) fn open(&self) -> Result<Opened> {
        let mut config = self.config.load()?;
        if let Some(path) = &self.db {
            let key_file = config.key_file_of(&DatabaseUrl::parse(path));
            config.udr = UdrConfig { path: path.clone(), key_file, ..UdrConfig::default() };
        }
        let url = config.database();
        if url == DatabaseUrl::Memory {
            bail!("udr.path is :memory:, which only the core can access: set it to a file");
        }
        let is_new = matches!(&url, DatabaseUrl::File(file) if !file.exists());
        let key_file = config.udr.key_file.clone();
        let key_file = Some(key_file).filter(|file| !file.is_empty()).map(PathBuf::from);
        let new_key = key_file.clone().or_else(|| url.key_file()).filter(|file| !file.exists());
        let owner = owner(&url, new_key.as_deref(), &config);
        if let (DatabaseUrl::File(file), true, Some(owner)) = (&url, is_new, &owner) {
            // SQLite gives the files beside a database to the owner of the database.
            report(own_file(file, owner, &[], PRIVATE));
        }
        let store = Store::open_at(&url, key_file.as_deref())?;
        if let (Some(key), Some(owner)) = (&new_key, &owner) {
            report(give_file(key, owner, &[], Some(PRIVATE)));
        }
        Ok(Opened { store, url, config, is_new })
    }

    /// Opens the database for a command that needs an existing one.
    pub(super) fn open_existing(&self) -> Result<Opened> {
        let url = match &self.db {
            Some(path) => DatabaseUrl::parse(path),
            None => self.config.load()?.database(),
        };
        if let DatabaseUrl::File(file) = &url
            && !file.exists()
        {
            bail!(
                "there is no database {}: select the core's configuration with -c or \
                 MARTLET_CONFIG, or a database with --db",
                database_name(&url)
            );
        }
        self.open()
    }
}
