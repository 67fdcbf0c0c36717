//! Makes a backup, and lists those that were made.
use super::folder::Folder;
use super::manifest::{MANIFEST, Manifest, describe};
use super::new_file::copy_new;
use super::staging::{control_folder, copy_names, enough_room, open_control, owners};
use super::{BackupError, CONFIGURATION, KEY, Target, databases, key_file, targets, with_end};
use crate::config::Config;
use martlet_oam::backups::Backup;
use martlet_sandbox::folder_of;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Name of the list of backups in the control folder.
const LIST: &str = "backups.json";
/// Maximum number of backups in the list. The oldest ones are removed from it.
const MAX_LISTED: usize = 100;

/// Makes a consistent copy of each database, of the key and of the configuration in a new folder,
/// while a core may run. With `by`, the list of backups has it. If a copy fails, the folder is
/// removed: on a full disk it would take the room that the databases need.
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
    let backup = match fill(config, &databases, file, folder, by) {
        Ok(backup) => backup,
        Err(error) => {
            if let Err(second) = remove(config, folder) {
                tracing::warn!(error = %second, "incomplete backup not removed");
            }
            return Err(error);
        }
    };
    if by.is_some()
        && let Err(error) = remember(config, &backup)
    {
        tracing::warn!(backup = backup.folder, %error, "backup not listed");
    }
    Ok(backup)
}

/// Copies all files into the folder of a backup.
fn fill(
    config: &Config,
    databases: &[Target],
    file: Option<&Path>,
    folder: &Path,
    by: Option<&str>,
) -> Result<Backup, BackupError> {
    let present: Vec<&Target> = databases.iter().filter(|target| target.file.exists()).collect();
    let length = |file: &Path| std::fs::metadata(file).map_or(0, |status| status.len());
    let with_log = |file: &Path| length(file) + length(&with_end(file, "-wal"));
    enough_room(folder, present.iter().map(|target| with_log(&target.file)).sum())?;
    let mut manifest = Manifest::new();
    manifest.write(folder)?;
    let mut names = Vec::new();
    for target in present {
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
    Ok(Backup {
        folder: folder.display().to_string(),
        made: manifest.made,
        by: by.unwrap_or_default().into(),
        version: manifest.version,
        subscribers: manifest.subscribers,
        files: names.into_iter().map(String::from).collect(),
        available: true,
    })
}

/// Removes the folder of a backup that is not complete. One with files of others stays.
fn remove(config: &Config, folder: &Path) -> Result<(), BackupError> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let parent = Folder::open(&folder_of(folder), &owners(config))?;
    let copies = copy_names(&targets(config)?);
    let draft = format!("{MANIFEST}.draft");
    let others = [MANIFEST, draft.as_str(), CONFIGURATION];
    let names: Vec<&str> = copies.iter().map(String::as_str).chain(others).collect();
    parent.remove_folder(name, &names)
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
