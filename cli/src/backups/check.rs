//! Checks a backup before it is restored, and compares it with what is there.
use super::manifest::Manifest;
use super::{BackupError, KEY, SUBSCRIBERS, databases, key_file, with_end};
use crate::config::Config;
use martlet_oam::audit;
use martlet_oam::backups::{AuditPosition, RestorePreview, RestoredKey, SubscriberDifference};
use martlet_store::inspection::{self, Inspection};
use martlet_store::{KEY_VARIABLE, Seal};
use std::path::Path;
use zeroize::Zeroizing;

/// A backup that can be restored.
pub(super) struct Checked {
    /// Its description, if it has one.
    pub manifest: Option<Manifest>,
    /// When it was made, seconds since 1970.
    pub made: u64,
    /// The databases that it has, that of the subscribers first.
    pub databases: Vec<&'static str>,
    /// Present databases that it does not have.
    pub emptied: Vec<&'static str>,
    /// What becomes of the key.
    pub key: RestoredKey,
    /// What the subscriber database has.
    pub inspection: Inspection,
    /// Length of all files in bytes.
    pub bytes: u64,
}

/// Checks a backup, and compares it with the present state. Nothing is written.
///
/// # Errors
/// The backup cannot be restored.
pub fn preview(config: &Config, backup: &Path) -> Result<RestorePreview, BackupError> {
    let checked = check(config, backup)?;
    let subscribers = backup.join(SUBSCRIBERS);
    let present = &databases(config)?[0].file;
    let compared = match present.exists() {
        // A damaged database is a reason for a restore.
        true => inspection::compare(present, &subscribers).ok(),
        false => None,
    };
    let (kind, key) = audit::HEAD;
    let position = inspection::read_context(&subscribers, kind, key).ok().flatten();
    let position = position.and_then(|text| serde_json::from_str::<AuditPosition>(&text).ok());
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect();
    let mut files: Vec<String> = owned(&checked.databases);
    files.extend((checked.key == RestoredKey::Replaced).then(|| KEY.to_string()));
    Ok(RestorePreview {
        folder: backup.display().to_string(),
        made: checked.made,
        version: checked.manifest.map(|manifest| manifest.version),
        schema_version: checked.inspection.schema_version,
        subscribers: SubscriberDifference {
            now: compared.map(|compared| compared.now),
            in_backup: checked.inspection.subscribers,
            lost: compared.map(|compared| compared.only_now),
            back: compared.map(|compared| compared.only_then),
            changed: compared.map(|compared| compared.changed),
        },
        changes_since: None,
        key: checked.key,
        files,
        emptied: owned(&checked.emptied),
        audit: position,
    })
}

/// Checks all files of a backup.
pub(super) fn check(config: &Config, backup: &Path) -> Result<Checked, BackupError> {
    let targets = databases(config)?;
    let refuse = |reason: String| BackupError::NoBackup { folder: backup.into(), reason };
    let subscribers = backup.join(SUBSCRIBERS);
    let status = std::fs::symlink_metadata(&subscribers);
    let status = status.map_err(|error| refuse(format!("{SUBSCRIBERS}: {error}")))?;
    let manifest = Manifest::read(backup)?;
    let (mut names, mut emptied, mut bytes) = (Vec::new(), Vec::new(), 0);
    for target in &targets {
        let file = backup.join(target.name);
        match std::fs::symlink_metadata(&file) {
            Ok(status) if !status.is_file() => {
                return Err(refuse(format!("{} is no file", target.name)));
            }
            // A function has created it and never opened it.
            Ok(status) if status.len() == 0 && target.name != SUBSCRIBERS => {
                emptied.extend(target.file.exists().then_some(target.name));
            }
            Ok(_) => names.push(target.name),
            Err(_) if target.file.exists() => emptied.push(target.name),
            Err(_) => {}
        }
        for end in ["", "-wal", "-journal"] {
            bytes += std::fs::metadata(with_end(&file, end)).map_or(0, |status| status.len());
        }
    }
    for described in manifest.iter().flat_map(|manifest| &manifest.files) {
        let file = backup.join(&described.name);
        // Only files with known names are read.
        let is_ours = targets.iter().any(|target| target.name == described.name);
        if (is_ours || described.name == KEY) && !file.exists() {
            return Err(BackupError::Damaged { file, reason: "it is missing".into() });
        }
    }
    let (key, seal) = key_of(config, backup)?;
    let mut checked = Checked {
        made: manifest.as_ref().map_or_else(|| modified(&status), |manifest| manifest.made),
        manifest,
        databases: names,
        emptied,
        key,
        inspection: Inspection { schema_version: 0, subscribers: 0 },
        bytes,
    };
    if let Some(manifest) = &checked.manifest {
        for name in checked.databases.iter().copied().chain([KEY]) {
            let file = backup.join(name);
            if file.exists() {
                manifest.check(&file, name)?;
            }
        }
    }
    for name in &checked.databases {
        let inspected = inspect(backup, name, &seal)?;
        if *name == SUBSCRIBERS {
            checked.inspection = inspected;
        }
    }
    Ok(checked)
}

/// Checks the copies of a backup, and makes one file of each database.
pub(super) fn check_staged(
    copies: &Path,
    checked: &Checked,
    seal: &Seal,
) -> Result<(), BackupError> {
    for name in &checked.databases {
        let file = copies.join(name);
        if let Some(manifest) = &checked.manifest {
            manifest.check(&file, name)?;
        }
        inspection::fold_journals(&file).map_err(|error| BackupError::of_store(&file, error))?;
        inspect(copies, name, seal)?;
    }
    Ok(())
}

fn inspect(folder: &Path, name: &str, seal: &Seal) -> Result<Inspection, BackupError> {
    let file = folder.join(name);
    // The contexts of functions may have another key.
    let seal = (name == SUBSCRIBERS).then_some(seal);
    inspection::inspect(&file, seal).map_err(|error| BackupError::of_store(&file, error))
}

fn modified(status: &std::fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    u64::try_from(status.mtime()).unwrap_or(0)
}

/// The key that the core will have after the restore: that of the environment, else the backup's,
/// else the present one.
pub(super) fn key_of(config: &Config, backup: &Path) -> Result<(RestoredKey, Seal), BackupError> {
    let load = |file: &Path| Seal::load(file).map_err(|error| BackupError::of_store(file, error));
    let (of_backup, present) = (backup.join(KEY), key_file(config));
    if std::env::var_os(KEY_VARIABLE).is_some() {
        return Ok((RestoredKey::Environment, load(&of_backup)?));
    }
    let read = |file: &Path| std::fs::read_to_string(file).map(Zeroizing::new).ok();
    let text = present.as_deref().and_then(read);
    if of_backup.is_file() {
        let is_same = text.is_some_and(|present| {
            read(&of_backup).is_some_and(|other| other.trim() == present.trim())
        });
        let key = if is_same { RestoredKey::Same } else { RestoredKey::Replaced };
        return Ok((key, load(&of_backup)?));
    }
    match present.filter(|_| text.is_some()) {
        Some(present) => Ok((RestoredKey::Same, load(&present)?)),
        None => Err(BackupError::Key(format!(
            "{} has no {KEY}, and the core has no key",
            backup.display()
        ))),
    }
}
