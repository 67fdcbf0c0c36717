//! Makes a backup, and lists those that were made.
use super::folder::Folder;
use super::manifest::{Manifest, describe};
use super::new_file::copy_new;
use super::staging::{control_folder, open_control};
use super::{BackupError, CONFIGURATION, KEY, databases, key_file};
use crate::config::Config;
use martlet_oam::backups::Backup;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Name of the list of backups in the control folder.
const LIST: &str = "backups.json";
/// Maximum number of backups in the list. The oldest ones are removed from it.
const MAX_LISTED: usize = 100;

/// Makes a consistent copy of each database, of the key and of the configuration in a new folder,
/// while a core may run. With `by`, the list of backups has it.
///
/// # Errors
/// The subscribers are not in a file, or a copy cannot be written.
pub fn copy(
    config: &Config,
    file: Option<&Path>,
    folder: &Path,
    by: Option<&str>,
) -> Result<Backup, BackupError> {
    let databases = databases(config)?;
    if !databases[0].file.exists() {
        return Err(BackupError::NoDatabase(databases[0].file.clone()));
    }
    let made = std::fs::DirBuilder::new().mode(0o700).create(folder);
    made.map_err(|error| BackupError::Io {
        path: folder.into(),
        reason: format!("{error}: the folder must not exist, and the one around it must"),
    })?;
    let mut manifest = Manifest::new();
    manifest.write(folder)?;
    let mut names = Vec::new();
    for target in databases.iter().filter(|target| target.file.exists()) {
        let copy = folder.join(target.name);
        martlet_store::connection::copy_sqlite(&target.file, &copy)
            .map_err(|error| BackupError::io(&target.file, error))?;
        names.push(target.name);
    }
    if let Some(key) = key_file(config).filter(|file| file.exists()) {
        copy_new(&key, &folder.join(KEY))?;
        names.push(KEY);
    }
    if let Some(file) = file {
        copy_new(file, &folder.join(CONFIGURATION))?;
        names.push(CONFIGURATION);
    }
    let subscribers = folder.join(databases[0].name);
    let inspected = martlet_store::inspection::inspect(&subscribers, None);
    manifest.subscribers =
        inspected.map_err(|error| BackupError::of_store(&subscribers, error))?.subscribers;
    manifest.files =
        names.iter().map(|name| describe(&folder.join(name), name)).collect::<Result<_, _>>()?;
    manifest.complete = true;
    manifest.write(folder)?;
    let backup = Backup {
        folder: folder.display().to_string(),
        made: manifest.made,
        by: by.unwrap_or_default().into(),
        version: manifest.version,
        subscribers: manifest.subscribers,
        files: names.into_iter().map(String::from).collect(),
        available: true,
    };
    if by.is_some()
        && let Err(error) = remember(config, &backup)
    {
        tracing::warn!(backup = backup.folder, %error, "backup not listed");
    }
    Ok(backup)
}

/// Adds a backup to the list.
fn remember(config: &Config, backup: &Backup) -> Result<(), BackupError> {
    let control = open_control(config, true)?;
    let mut all = listed(control.as_ref())?;
    all.retain(|one| one.folder != backup.folder);
    all.insert(0, backup.clone());
    all.truncate(MAX_LISTED);
    match control {
        Some(control) => control.write_json(LIST, &all),
        None => Ok(()),
    }
}

fn listed(control: Option<&Folder>) -> Result<Vec<Backup>, BackupError> {
    let read = control.map(|control| control.read_json(LIST)).transpose()?;
    Ok(read.flatten().unwrap_or_default())
}

/// The backups that the API has made, the latest first.
///
/// # Errors
/// The list cannot be read.
pub fn list(config: &Config) -> Result<Vec<Backup>, BackupError> {
    if control_folder(config).is_err() {
        return Ok(Vec::new());
    }
    let mut all = listed(open_control(config, false)?.as_ref())?;
    for backup in &mut all {
        backup.available = Path::new(&backup.folder).join(super::SUBSCRIBERS).is_file();
    }
    Ok(all)
}
