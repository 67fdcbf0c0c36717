//! `martlet backup` and `martlet restore`: the databases, the operator's key and the configuration.
use crate::api_client::Api;
use crate::config_args::ConfigArgs;
use crate::oam_client::{self, Endpoint};
use crate::runtime;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use martlet::config::{Config, database_name};
use martlet_store::{DatabaseUrl, KEY_VARIABLE};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `martlet backup`.
#[derive(Args)]
pub struct BackupArgs {
    /// New folder for the backup, readable by its owner only
    folder: PathBuf,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Arguments of `martlet restore`.
#[derive(Args)]
pub struct RestoreArgs {
    /// Folder of `martlet backup`
    folder: PathBuf,
    /// Replace existing databases and keys
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Name of the operator's key in a backup.
const KEY: &str = "operator.key";
/// Name of the configuration in a backup, for reference.
const CONFIGURATION: &str = "martlet.yaml";
/// How long a running core may take to answer.
const STATUS_TIMEOUT: Duration = Duration::from_millis(500);

/// A database file and its name in a backup.
fn files(config: &Config) -> Result<Vec<(PathBuf, String)>> {
    let subscribers = config.database();
    let DatabaseUrl::File(main) = &subscribers else {
        bail!(
            "udr.path is {}: back PostgreSQL up with pg_dump, and the operator's key with it",
            database_name(&subscribers)
        );
    };
    let mut files = vec![(main.clone(), "subscribers.db".to_string())];
    let stores = [
        ("amf", &config.amf.context_store.database),
        ("smf", &config.smf.context_store.database),
        ("chf", &config.chf.context_store.database),
    ];
    for (function, database) in stores {
        let url = match database.as_str() {
            "" => subscribers.for_function(function),
            other => Some(DatabaseUrl::parse(other)),
        };
        if let Some(DatabaseUrl::File(file)) = url {
            files.push((file, format!("{function}.db")));
        }
    }
    Ok(files)
}

fn key_file(config: &Config) -> Option<PathBuf> {
    match config.udr.key_file.as_str() {
        "" => config.database().key_file(),
        file => Some(file.into()),
    }
}

/// Has a running core make the backup, so that its audit log names it. A core without the right to
/// write there refuses, and the caller copies the files.
async fn over_api(api: &Api, folder: &Path) -> Result<Vec<String>> {
    let folder = std::path::absolute(folder)?;
    let body = serde_json::json!({"folder": folder.display().to_string()});
    let made = api.job("/backups", &body).await?;
    let files = made["files"].as_array().into_iter().flatten();
    Ok(files.filter_map(|name| name.as_str().map(str::to_string)).collect())
}

/// Makes a consistent copy of each database while a core may run.
pub fn backup(args: &BackupArgs) -> Result<()> {
    let (config, file) = (args.config.load()?, args.config.file());
    let made = Api::of_core(&config).map(|api| runtime::block_on(over_api(&api, &args.folder)));
    let copied = match made {
        Some(Ok(copied)) => copied,
        // What exists was not made by this command.
        Some(Err(error)) if args.folder.exists() => return Err(error),
        Some(Err(error)) => {
            eprintln!(
                "note: the core did not make the backup ({error:#}): this command copies the \
                 files, and the audit log has no entry"
            );
            copy(&config, file.as_deref(), &args.folder)?
        }
        None => copy(&config, file.as_deref(), &args.folder)?,
    };
    let has_key = copied.iter().any(|name| name == KEY);
    if !has_key {
        eprintln!(
            "note: the operator's key is not in a file: keep the value of {KEY_VARIABLE} with this \
             backup"
        );
    }
    let databases = copied.iter().filter(|name| name.ends_with(".db")).count();
    println!(
        "{databases} databases{} in {}",
        if has_key { " and the operator's key" } else { "" },
        args.folder.display()
    );
    Ok(())
}

/// Copies databases, key and configuration into a new folder. Returns the names of the copies.
pub fn copy(config: &Config, file: Option<&Path>, folder: &Path) -> Result<Vec<String>> {
    let files = files(config)?;
    ensure!(
        files[0].0.exists(),
        "there is no database {}: select the core's configuration with -c or MARTLET_CONFIG",
        files[0].0.display()
    );
    std::fs::DirBuilder::new().mode(0o700).create(folder).with_context(|| {
        format!("{}: the folder must not exist, and the one around it must", folder.display())
    })?;
    let mut copied = Vec::new();
    for (file, name) in files.into_iter().filter(|(file, _)| file.exists()) {
        martlet_store::connection::copy_sqlite(&file, &folder.join(&name))?;
        copied.push(name);
    }
    if let Some(key) = key_file(config).filter(|file| file.exists()) {
        copy_new(&key, &folder.join(KEY))?;
        copied.push(KEY.to_string());
    }
    if let Some(file) = file {
        copy_new(file, &folder.join(CONFIGURATION))?;
        copied.push(CONFIGURATION.to_string());
    }
    Ok(copied)
}

/// Puts the files of a backup in the places that the configuration names.
pub fn restore(args: &RestoreArgs) -> Result<()> {
    let config = args.config.load()?;
    let files = files(&config)?;
    let oam = Endpoint::of_core(&config);
    let status = runtime::block_on(oam_client::status_within(&oam, STATUS_TIMEOUT));
    if let Ok(status) = status {
        ensure!(
            status["database"] != database_name(&config.database()),
            "a core runs with this database at {oam}: stop it first"
        );
    }
    let backup = &args.folder;
    ensure!(
        backup.join(&files[0].1).is_file(),
        "{} is not a folder of `martlet backup`: it has no {}",
        backup.display(),
        files[0].1
    );
    let mut copies: Vec<(PathBuf, PathBuf)> =
        files.into_iter().map(|(file, name)| (backup.join(name), file)).collect();
    if let Some(key) = key_file(&config) {
        copies.push((backup.join(KEY), key));
    }
    copies.retain(|(from, _)| from.is_file());
    if let Some((_, taken)) = copies.iter().find(|(_, to)| to.exists()).filter(|_| !args.replace) {
        bail!("{} exists: --replace replaces it", taken.display());
    }
    for (from, to) in &copies {
        // The journals of the old database do not belong to the new one: SQLite would write their
        // content into it.
        for end in [""].into_iter().chain(martlet_sandbox::JOURNALS) {
            let old = PathBuf::from(format!("{}{end}", to.display()));
            if old.exists() {
                std::fs::remove_file(&old).with_context(|| old.display().to_string())?;
            }
        }
        copy_new(from, to)?;
    }
    println!("{} files restored from {}", copies.len(), backup.display());
    Ok(())
}

/// Copies a file to a new one that only its owner can read.
fn copy_new(from: &Path, to: &Path) -> Result<()> {
    let mut source = std::fs::File::open(from).with_context(|| from.display().to_string())?;
    let mut open = std::fs::OpenOptions::new();
    let opened = open.write(true).create_new(true).mode(0o600).open(to);
    let mut target = opened.with_context(|| to.display().to_string())?;
    std::io::copy(&mut source, &mut target).with_context(|| to.display().to_string())?;
    target.sync_all().with_context(|| to.display().to_string())
}
