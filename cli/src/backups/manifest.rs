//! The description of a backup, in its folder: `backup.json`.
use super::{BackupError, now};
use aws_lc_rs::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Name of the description in a backup.
pub const MANIFEST: &str = "backup.json";
/// Maximum length of a description in bytes.
const MAX_LENGTH: u64 = 64 << 10;

/// The description of a backup. Earlier versions wrote none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Whether all files were copied. It is first written as incomplete.
    pub complete: bool,
    /// When it was made, seconds since 1970.
    pub made: u64,
    /// Version of the program.
    pub version: String,
    /// Number of subscribers.
    #[serde(default)]
    pub subscribers: u64,
    /// The files. None of those that a restore has replaced.
    #[serde(default)]
    pub files: Vec<FileDescription>,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDescription {
    /// Name.
    pub name: String,
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 of the content, in hexadecimal digits.
    pub sha256: String,
}

impl Manifest {
    /// That of a backup that begins.
    pub fn new() -> Self {
        let version = env!("CARGO_PKG_VERSION").into();
        Manifest { complete: false, made: now(), version, subscribers: 0, files: Vec::new() }
    }

    /// Writes it into the folder of its backup.
    pub fn write(&self, folder: &Path) -> Result<(), BackupError> {
        let (file, draft) = (folder.join(MANIFEST), folder.join(format!("{MANIFEST}.draft")));
        let failed = |error: std::io::Error| BackupError::io(&file, error);
        let text = serde_json::to_string_pretty(self).map_err(|e| BackupError::io(&file, e))?;
        super::new_file::write_new(&draft, text.as_bytes())?;
        std::fs::rename(&draft, &file).map_err(failed)
    }

    /// Reads that of a backup; `None` if it has none.
    ///
    /// # Errors
    /// It cannot be read, or the backup is not complete.
    pub fn read(folder: &Path) -> Result<Option<Self>, BackupError> {
        let path = folder.join(MANIFEST);
        let mut text = String::new();
        match File::open(&path) {
            Ok(file) => file.take(MAX_LENGTH).read_to_string(&mut text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(BackupError::io(&path, error)),
        }
        .map_err(|error| BackupError::io(&path, error))?;
        let manifest: Manifest = serde_json::from_str(&text)
            .map_err(|error| BackupError::Damaged { file: path, reason: error.to_string() })?;
        match manifest.complete {
            true => Ok(Some(manifest)),
            false => Err(BackupError::Incomplete(folder.into())),
        }
    }

    /// Checks a file against its description.
    ///
    /// # Errors
    /// It is another one.
    pub fn check(&self, file: &Path, name: &str) -> Result<(), BackupError> {
        let Some(described) = self.files.iter().find(|described| described.name == name) else {
            return Ok(());
        };
        let found = describe(file, name)?;
        let reason = match () {
            () if found.bytes != described.bytes => {
                format!("it has {} bytes instead of {}", found.bytes, described.bytes)
            }
            () if found.sha256 != described.sha256 => {
                "its content is not the one that was backed up (SHA-256)".into()
            }
            () => return Ok(()),
        };
        Err(BackupError::Damaged { file: file.into(), reason })
    }
}

/// The description of a file.
pub fn describe(file: &Path, name: &str) -> Result<FileDescription, BackupError> {
    let failed = |error: std::io::Error| BackupError::io(file, error);
    let mut opened = File::open(file).map_err(failed)?;
    let (mut context, mut bytes) = (Context::new(&SHA256), 0);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = opened.read(&mut buffer).map_err(failed)?;
        if read == 0 {
            break;
        }
        context.update(&buffer[..read]);
        bytes += read as u64;
    }
    Ok(FileDescription { name: name.into(), bytes, sha256: hex::encode(context.finish()) })
}
