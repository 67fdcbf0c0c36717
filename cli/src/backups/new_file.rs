//! New files that only their owner can read.
use super::BackupError;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Copies a file to a new one that only its owner can read. Returns its length.
pub(super) fn copy_new(from: &Path, to: &Path) -> Result<u64, BackupError> {
    let mut source = std::fs::File::open(from).map_err(|error| BackupError::io(from, error))?;
    let mut target = create_new(to)?;
    let copied = std::io::copy(&mut source, &mut target);
    let copied = copied.map_err(|error| BackupError::io(to, error))?;
    target.sync_all().map_err(|error| BackupError::io(to, error))?;
    Ok(copied)
}

/// Writes a new file that only its owner can read.
pub(super) fn write_new(to: &Path, content: &[u8]) -> Result<(), BackupError> {
    let mut target = create_new(to)?;
    let written = target.write_all(content).and_then(|()| target.sync_all());
    written.map_err(|error| BackupError::io(to, error))
}

fn create_new(to: &Path) -> Result<std::fs::File, BackupError> {
    let mut open = std::fs::OpenOptions::new();
    let opened = open.write(true).create_new(true).mode(0o600).open(to);
    opened.map_err(|error| BackupError::io(to, error))
}
