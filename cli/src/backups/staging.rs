//! The control folder: stages a restore, withdraws it, and shows its result.
use super::check::{Checked, check_staged, key_of};
use super::folder::Folder;
use super::manifest::MANIFEST;
use super::{BackupError, KEY, Target, databases, now, targets, with_end};
use crate::config::Config;
use martlet_oam::backups::{LastRestore, RestoredKey, Restores, StagedFile, StagedRestore};
use martlet_sandbox::{JOURNALS, folder_of};
use std::path::{Path, PathBuf};

/// The request that the next start carries out.
pub(super) const STAGED: &str = "staged.json";
/// The request while it is carried out.
pub(super) const CARRYING_OUT: &str = "carrying-out.json";
/// The last restore.
pub(super) const LAST: &str = "last.json";
/// The folder with the copies.
pub(super) const COPIES: &str = "staged";
/// Bytes that a backup and a staged restore leave on the disk.
const RESERVE: u64 = 4 << 20;

/// The control folder: beside the subscriber database.
///
/// # Errors
/// The subscriber database is no file.
pub fn control_folder(config: &Config) -> Result<PathBuf, BackupError> {
    Ok(with_end(&databases(config)?[0].file, ".restores"))
}

/// Users whose files are trusted: root, this process's, and the core's.
pub(super) fn owners(config: &Config) -> Vec<u32> {
    let mut owners = vec![0, nix::unistd::geteuid().as_raw()];
    owners.extend(config.security.user().map(|user| user.uid));
    owners
}

/// Opens the control folder; with `create`, it is created. `None` if it does not exist.
pub(super) fn open_control(config: &Config, create: bool) -> Result<Option<Folder>, BackupError> {
    let path = control_folder(config)?;
    let parent = folder_of(&path);
    if !create && !parent.exists() {
        return Ok(None);
    }
    let parent = Folder::open(&parent, &owners(config))?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match create {
        true => parent.created(name).map(Some),
        false => parent.subfolder(name),
    }
}

/// Names that the folder of copies may have.
pub(super) fn copy_names(targets: &[Target]) -> Vec<String> {
    let ends = || [""].into_iter().chain(JOURNALS);
    let all = targets.iter().flat_map(|target| ends().map(|end| format!("{}{end}", target.name)));
    all.collect()
}

pub(super) fn remove_copies(control: &Folder, config: &Config) -> Result<(), BackupError> {
    remove_files(control, config, COPIES)
}

/// Removes a folder with files of a backup. One with other files stays.
pub(super) fn remove_files(
    control: &Folder,
    config: &Config,
    folder: &str,
) -> Result<(), BackupError> {
    let names = copy_names(&targets(config)?);
    let names: Vec<&str> = names.iter().map(String::as_str).chain([MANIFEST]).collect();
    control.remove_folder(folder, &names)
}

/// Stages the restore of a backup: copies its files, and checks the copies. The next start carries
/// it out.
///
/// # Errors
/// The backup cannot be restored, another one is staged, or the disk has no room.
pub fn stage(config: &Config, backup: &Path, by: &str) -> Result<StagedRestore, BackupError> {
    let checked = super::check::check(config, backup)?;
    let missing = || BackupError::io(backup, "the control folder was removed");
    let control = open_control(config, true)?.ok_or_else(missing)?;
    if let Some(other) = staged_in(&control)? {
        return Err(BackupError::Staged(other.folder));
    }
    remove_copies(&control, config)?;
    let copied = copy(config, backup, &checked, &control);
    let files = match copied {
        Ok(files) => files,
        Err(error) => {
            remove_copies(&control, config)?;
            return Err(error);
        }
    };
    let staged = StagedRestore {
        folder: backup.display().to_string(),
        made: checked.made,
        subscribers: checked.inspection.subscribers,
        by: by.into(),
        staged: now(),
        files,
    };
    control.write_json(STAGED, &staged)?;
    Ok(staged)
}

/// Copies the files of a backup, and checks the copies.
fn copy(
    config: &Config,
    backup: &Path,
    checked: &Checked,
    control: &Folder,
) -> Result<Vec<StagedFile>, BackupError> {
    enough_room(control.path(), checked.bytes)?;
    let copies = control.created(COPIES)?;
    let with_key = (checked.key == RestoredKey::Replaced).then_some(KEY);
    let names: Vec<&str> = checked.databases.iter().copied().chain(with_key).collect();
    for name in &names {
        for end in ["", "-wal", "-journal"] {
            let (from, name) = (backup.join(format!("{name}{end}")), format!("{name}{end}"));
            let is_journal = !end.is_empty();
            let length = std::fs::metadata(&from).map(|status| status.len()).unwrap_or(0);
            if is_journal && length == 0 {
                continue;
            }
            let failed = |error: std::io::Error| match error.kind() {
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                    BackupError::NoSpace {
                        folder: control.path().into(),
                        free: free(control.path()).unwrap_or(0),
                        needed: checked.bytes,
                    }
                }
                _ => BackupError::io(&from, error),
            };
            let mut source = std::fs::File::open(&from).map_err(failed)?;
            let mut target = copies.new_file(&name)?;
            std::io::copy(&mut source, &mut target).map_err(failed)?;
            target.sync_all().map_err(failed)?;
        }
    }
    let (_, seal) = key_of(config, if with_key.is_some() { copies.path() } else { backup })?;
    check_staged(copies.path(), checked, &seal)?;
    copies.sync()?;
    let staged = |name: &&str| Ok(StagedFile { name: (*name).into(), bytes: copies.check(name)? });
    names.iter().map(staged).collect()
}

/// Free bytes for this user.
fn free(folder: &Path) -> Result<u64, BackupError> {
    let status = nix::sys::statvfs::statvfs(folder);
    let status = status.map_err(|error| BackupError::io(folder, error))?;
    Ok(status.blocks_available().saturating_mul(status.fragment_size()))
}

/// Checks that the disk of a folder has room for this many bytes, and some are left.
pub(super) fn enough_room(folder: &Path, bytes: u64) -> Result<(), BackupError> {
    let (free, needed) = (free(folder)?, bytes.saturating_add(RESERVE));
    match free < needed {
        true => Err(BackupError::NoSpace { folder: folder.into(), free, needed }),
        false => Ok(()),
    }
}

fn staged_in(control: &Folder) -> Result<Option<StagedRestore>, BackupError> {
    control.read_json(STAGED)
}

/// What is staged, and the result of the last restore.
///
/// # Errors
/// It cannot be read.
pub fn state(config: &Config) -> Result<Restores, BackupError> {
    let Ok(databases) = databases(config) else { return Ok(Restores::default()) };
    let folder = std::path::absolute(folder_of(&databases[0].file)).ok();
    let backup_folder = folder.map(|folder| folder.display().to_string());
    let Some(control) = open_control(config, false)? else {
        return Ok(Restores { backup_folder, ..Restores::default() });
    };
    Ok(Restores { staged: staged_in(&control)?, last: control.read_json(LAST)?, backup_folder })
}

/// Withdraws the staged restore, and removes its copies. Who does so has seen that an earlier one
/// failed. `None` if none is staged.
///
/// # Errors
/// It cannot be removed.
pub fn withdraw(config: &Config, by: &str) -> Result<Option<StagedRestore>, BackupError> {
    if databases(config).is_err() {
        return Ok(None);
    }
    let Some(control) = open_control(config, false)? else { return Ok(None) };
    let Some(staged) = staged_in(&control)? else { return Ok(None) };
    // The request first: copies without one are removed with the next one.
    control.remove(STAGED)?;
    control.sync()?;
    remove_copies(&control, config)?;
    acknowledge_in(&control, by)?;
    Ok(Some(staged))
}

/// Records that the audit log has the last restore.
///
/// # Errors
/// It cannot be written.
pub fn recorded(config: &Config) -> Result<(), BackupError> {
    let Some(control) = open_control(config, false)? else { return Ok(()) };
    let Some(last) = control.read_json::<LastRestore>(LAST)? else { return Ok(()) };
    control.write_json(LAST, &LastRestore { recorded: true, ..last })
}

/// Records who has acknowledged that the last restore failed, which ends its alarm.
///
/// # Errors
/// It cannot be written.
pub fn acknowledge(config: &Config, by: &str) -> Result<(), BackupError> {
    match open_control(config, false)? {
        Some(control) => acknowledge_in(&control, by),
        None => Ok(()),
    }
}

fn acknowledge_in(control: &Folder, by: &str) -> Result<(), BackupError> {
    let last = control.read_json::<LastRestore>(LAST)?;
    let Some(last) = last.filter(LastRestore::is_open_failure) else { return Ok(()) };
    control.write_json(LAST, &LastRestore { acknowledged_by: Some(by.into()), ..last })
}
