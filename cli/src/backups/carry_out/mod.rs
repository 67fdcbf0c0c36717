//! Carries out a staged restore, before any function opens a database.
//!
//! The process may have more rights than the user who owns the control folder. So the request names
//! no path: files come from the folder of copies under names that are known here, and replace the
//! files that the configuration names. No link is followed.
//!
//! Files are moved, not written. A process that is killed between two moves leaves
//! `carrying-out.json`, and the next start continues from what it finds: a copy that is still in
//! the folder of copies was not moved. If a move fails, all are undone in the same way. So the core
//! starts with all old files or with all new ones.
use super::folder::Folder;
use super::manifest::{MANIFEST, Manifest};
use super::staging::{
    CARRYING_OUT, COPIES, LAST, STAGED, open_control, owners, remove_copies, remove_files,
};
use super::{BackupError, KEY, SUBSCRIBERS, Target, databases, now, targets};
use crate::config::Config;
use martlet_oam::backups::{LastRestore, StagedRestore};
use martlet_sandbox::{JOURNALS, folder_of};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Beginning of the names of folders with replaced files.
const REPLACED: &str = "replaced-";
/// Folders with replaced files that are kept, with that of the last restore.
const RETAINED_REPLACED: usize = 3;

/// What happens before each move of a file. Tests end the process there, or fail the move.
type BeforeMove<'a> = &'a mut dyn FnMut() -> Result<(), BackupError>;

/// A restore that was begun.
#[derive(Serialize, Deserialize)]
struct InProgress {
    staged: StagedRestore,
    /// Name of the folder with the replaced files, in the control folder.
    replaced: String,
}

/// Carries out the staged restore. `None` if none is staged, or a process uses the databases. If
/// the result has an error, the files are the old ones.
///
/// # Errors
/// Files are neither all old nor all new. The core must not start.
pub fn carry_out(config: &Config) -> Result<Option<LastRestore>, BackupError> {
    carry_out_with(config, &mut || Ok(()))
}

/// A database that a process uses.
///
/// # Errors
/// A file cannot be read.
pub fn in_use(config: &Config) -> Result<Option<PathBuf>, BackupError> {
    for target in databases(config)?.into_iter().filter(|target| target.file.exists()) {
        let (folder, name) = opened(config, &target)?;
        if folder.is_in_use(&name)? {
            return Ok(Some(target.file));
        }
    }
    Ok(None)
}

fn carry_out_with(
    config: &Config,
    before_move: BeforeMove<'_>,
) -> Result<Option<LastRestore>, BackupError> {
    if databases(config).is_err() {
        return Ok(None);
    }
    let control = match open_control(config, false) {
        Ok(Some(control)) => control,
        Ok(None) => return Ok(None),
        Err(error) => {
            tracing::error!(%error, remedy = error.remedy(), "staged restores not read");
            return Ok(None);
        }
    };
    let begun = control.read_json::<InProgress>(CARRYING_OUT)?;
    let is_resumed = begun.is_some();
    let progress = match begun {
        Some(progress) => progress,
        None => match control.read_json::<StagedRestore>(STAGED) {
            Ok(None) => return Ok(None),
            Ok(Some(staged)) => {
                if let Ok(Some(file)) = in_use(config) {
                    tracing::warn!(file = %file.display(), "database in use, restore stays staged");
                    return Ok(None);
                }
                match begin(config, &control, &staged) {
                    Ok(replaced) => InProgress { staged, replaced },
                    Err(error) => return Ok(Some(failed(config, &control, staged, &error))),
                }
            }
            Err(error) => {
                tracing::error!(%error, remedy = error.remedy(), "staged restore not carried out");
                return Ok(None);
            }
        },
    };
    if is_resumed {
        tracing::warn!(backup = progress.staged.folder, "interrupted restore continued");
    }
    let work = match Work::new(config, &control, &progress) {
        Ok(work) => work,
        Err(error) if is_resumed => return Err(BackupError::HalfDone(error.to_string())),
        Err(error) => return Ok(Some(rolled_back(config, &control, progress, &error))),
    };
    if let Err(error) = work.replace_all(before_move) {
        work.put_back().map_err(|second| BackupError::HalfDone(format!("{error}; {second}")))?;
        return Ok(Some(rolled_back(config, &control, progress, &error)));
    }
    let has_old = work.has_old()?;
    drop(work);
    if !has_old {
        control.remove_folder(&progress.replaced, &[MANIFEST, KEY])?;
    }
    let replaced = control.file(&progress.replaced).display().to_string();
    let replaced = has_old.then_some(replaced);
    let last = LastRestore { replaced, ..LastRestore::new(progress.staged, now()) };
    control.write_json(LAST, &last)?;
    control.remove(STAGED)?;
    control.remove(CARRYING_OUT)?;
    remove_copies(&control, config)?;
    control.sync()?;
    if let Err(error) = remove_old_replaced(config, &control, &progress.replaced) {
        tracing::warn!(%error, "folder of an earlier restore not removed");
    }
    tracing::info!(
        backup = last.staged.folder,
        by = last.staged.by,
        replaced = last.replaced,
        "restore carried out"
    );
    Ok(Some(last))
}

/// The folder of a target, and the name of its file there.
fn opened(config: &Config, target: &Target) -> Result<(Folder, String), BackupError> {
    let name = target.file.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| BackupError::io(&target.file, "it has no name"))?;
    Ok((Folder::open(&folder_of(&target.file), &owners(config))?, name.to_string()))
}

/// Checks the copies, and makes the folder for the present files. Returns its name.
fn begin(config: &Config, control: &Folder, staged: &StagedRestore) -> Result<String, BackupError> {
    let missing = |name: &str| BackupError::io(&control.file(COPIES).join(name), "it is missing");
    let copies = control.subfolder(COPIES)?.ok_or_else(|| missing(""))?;
    let targets = targets(config)?;
    if !staged.files.iter().any(|file| file.name == SUBSCRIBERS) {
        return Err(missing(SUBSCRIBERS));
    }
    for file in &staged.files {
        if !targets.iter().any(|target| target.name == file.name) {
            let path = control.file(STAGED);
            return Err(BackupError::Untrusted { path, reason: "it names another file" });
        }
        if copies.check(&file.name)? != file.bytes {
            let reason = format!("it has not the {} bytes that were staged", file.bytes);
            return Err(BackupError::Damaged { file: copies.file(&file.name), reason });
        }
    }
    let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ").to_string();
    let mut name = format!("{REPLACED}{time}");
    for n in 2.. {
        if control.status(&name)?.is_none() {
            break;
        }
        name = format!("{REPLACED}{time}-{n}");
    }
    let replaced = control.created(&name)?;
    replaced.write_json(MANIFEST, &Manifest { complete: true, ..Manifest::new() })?;
    // The backup has no key, so the present one stays in use. It is copied, too: the replaced files
    // are no backup without it.
    let key = targets.iter().find(|target| target.name == KEY && target.file.exists());
    if let Some(key) = key.filter(|_| !staged.files.iter().any(|file| file.name == KEY)) {
        let failed = |error: std::io::Error| BackupError::io(&key.file, error);
        let mut source = std::fs::File::open(&key.file).map_err(failed)?;
        let mut target = replaced.new_file(KEY)?;
        std::io::copy(&mut source, &mut target).map_err(failed)?;
        target.sync_all().map_err(failed)?;
    }
    let progress = InProgress { staged: staged.clone(), replaced: name };
    control.write_json(CARRYING_OUT, &progress)?;
    Ok(progress.replaced)
}

/// Like [`failed`], for a restore that has begun. The files are the old ones.
fn rolled_back(
    config: &Config,
    control: &Folder,
    progress: InProgress,
    error: &BackupError,
) -> LastRestore {
    if let Err(error) = remove_files(control, config, &progress.replaced) {
        tracing::warn!(%error, "folder of the restore not removed");
    }
    failed(config, control, progress.staged, error)
}

/// Removes the folders of earlier restores, except the latest ones by their names. The folder of
/// the last restore stays, even if the clock was wrong.
fn remove_old_replaced(config: &Config, control: &Folder, last: &str) -> Result<(), BackupError> {
    let mut names = control.names(REPLACED)?;
    names.retain(|name| name != last);
    names.sort_unstable();
    let old = names.len().saturating_sub(RETAINED_REPLACED - 1);
    // A folder that cannot be removed, such as one with files of an operator, does not keep the
    // others from being removed.
    let mut removed = Ok(());
    for name in &names[..old] {
        if let Err(error) = remove_files(control, config, name) {
            removed = Err(error);
        }
    }
    removed
}

/// Records that a restore failed, and removes its request, so that no later start carries it out.
fn failed(
    config: &Config,
    control: &Folder,
    staged: StagedRestore,
    error: &BackupError,
) -> LastRestore {
    tracing::error!(
        backup = staged.folder, by = staged.by, %error, remedy = error.remedy(),
        "restore not carried out, starting with the old data"
    );
    let last = LastRestore {
        error: Some(error.to_string()),
        remedy: Some(error.remedy().to_string()),
        ..LastRestore::new(staged, now())
    };
    let noted = control
        .write_json(LAST, &last)
        .and_then(|()| control.remove(STAGED))
        .and_then(|()| control.remove(CARRYING_OUT))
        .and_then(|()| remove_copies(control, config))
        .and_then(|()| control.sync());
    if let Err(error) = noted {
        tracing::error!(%error, "failed restore not noted");
    }
    last
}

/// A target with its open folder.
struct Replaced {
    folder: Folder,
    /// Name in the folder.
    file: String,
    /// Name in a backup.
    name: &'static str,
    /// Whether the backup has it. Otherwise a present one is moved aside.
    is_restored: bool,
    /// What is appended to the names of the files that belong to it.
    journals: &'static [&'static str],
}

/// The moves of a restore.
struct Work {
    copies: Option<Folder>,
    replaced: Folder,
    targets: Vec<Replaced>,
}

impl Work {
    fn new(config: &Config, control: &Folder, progress: &InProgress) -> Result<Self, BackupError> {
        let path = control.file(&progress.replaced);
        if !progress.replaced.starts_with(REPLACED) || progress.replaced.contains('/') {
            return Err(BackupError::Untrusted { path, reason: "it is no folder of a restore" });
        }
        let missing = || BackupError::io(&path, "it is missing");
        let mut all = Vec::new();
        for target in targets(config)? {
            let is_restored = progress.staged.files.iter().any(|file| file.name == target.name);
            let is_database = target.name != KEY;
            // A present database may have been moved before, and its journals not.
            if is_restored || is_database && folder_of(&target.file).is_dir() {
                let (folder, file) = opened(config, &target)?;
                let journals: &[&str] = if is_database { &JOURNALS } else { &[] };
                all.push(Replaced { folder, file, name: target.name, is_restored, journals });
            }
        }
        Ok(Work {
            copies: control.subfolder(COPIES)?,
            replaced: control.subfolder(&progress.replaced)?.ok_or_else(missing)?,
            targets: all,
        })
    }

    /// Whether the copy of a file was not moved yet.
    fn is_copy_there(&self, name: &str) -> Result<bool, BackupError> {
        match &self.copies {
            Some(copies) => Ok(copies.status(name)?.is_some()),
            None => Ok(false),
        }
    }

    fn has_old(&self) -> Result<bool, BackupError> {
        for target in &self.targets {
            if target.name != KEY && self.replaced.status(target.name)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn replace_all(&self, before_move: BeforeMove<'_>) -> Result<(), BackupError> {
        for target in &self.targets {
            self.replace(target, before_move)?;
            target.folder.sync()?;
        }
        self.replaced.sync()
    }

    fn replace(&self, target: &Replaced, before_move: BeforeMove<'_>) -> Result<(), BackupError> {
        let Replaced { folder, file, name, .. } = target;
        if target.is_restored && !self.is_copy_there(name)? {
            return Ok(());
        }
        if let Some(copies) = self.copies.as_ref().filter(|_| target.is_restored) {
            copies.check(name)?;
        }
        if self.replaced.status(name)?.is_none() && folder.status(file)?.is_some() {
            before_move()?;
            folder.move_to(file, &self.replaced, name)?;
        }
        // The journals of the old database do not belong to the new one: SQLite would write their
        // content into it.
        for end in target.journals {
            let journal = format!("{file}{end}");
            if folder.status(&journal)?.is_some() {
                before_move()?;
                folder.move_to(&journal, &self.replaced, &format!("{name}{end}"))?;
            }
        }
        if let Some(copies) = self.copies.as_ref().filter(|_| target.is_restored) {
            before_move()?;
            copies.move_to(name, folder, file)?;
            folder.give_like(file, self.replaced.status(name)?.as_ref())?;
        }
        Ok(())
    }

    /// Moves the copies and the old files back, whatever was moved.
    fn put_back(&self) -> Result<(), BackupError> {
        for target in self.targets.iter().rev() {
            let Replaced { folder, file, name, .. } = target;
            if target.is_restored
                && !self.is_copy_there(name)?
                && let Some(copies) = &self.copies
            {
                folder.move_to(file, copies, name)?;
            }
            for end in [""].iter().chain(target.journals) {
                let old = format!("{name}{end}");
                if self.replaced.status(&old)?.is_some() {
                    self.replaced.move_to(&old, folder, &format!("{file}{end}"))?;
                }
            }
            folder.sync()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
