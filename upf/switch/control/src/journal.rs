//! The journal of writes, from which a restarted switch restores its rules.
use crate::p4runtime::messages::{Entity, Update, UpdateType, WriteRequest, entity};
use prost::Message;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A file of writes: each a `p4.v1.WriteRequest` preceded by its length.
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

impl Journal {
    /// Opens a journal and returns its updates. A truncated write at its end is dropped, since its
    /// sender got no response.
    pub fn open(path: &Path) -> std::io::Result<(Journal, Vec<Update>)> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut rest = &bytes[..];
        let mut updates = Vec::new();
        while !rest.is_empty() {
            let before = rest;
            match WriteRequest::decode_length_delimited(&mut rest) {
                Ok(request) => updates.extend(request.updates),
                Err(error) => {
                    tracing::warn!(
                        %error, lost = before.len(),
                        "journal truncated: its last write is dropped"
                    );
                    break;
                }
            }
        }
        let updates = compact(updates);
        // The compacted journal is written to a new file, which replaces the old one atomically.
        let new = path.with_extension("new");
        let mut file = File::create(&new)?;
        if !updates.is_empty() {
            file.write_all(
                &WriteRequest { updates: updates.clone(), ..Default::default() }
                    .encode_length_delimited_to_vec(),
            )?;
        }
        file.sync_all()?;
        std::fs::rename(&new, path)?;
        let file = OpenOptions::new().append(true).open(path)?;
        Ok((Journal { path: path.into(), file: Mutex::new(file) }, updates))
    }

    /// Appends a write.
    pub fn append<'a>(&self, updates: impl Iterator<Item = &'a Update>) {
        let stored = updates.filter(|update| {
            !matches!(update.entity, Some(Entity { entity: Some(entity::Entity::Counter(_)) }))
        });
        let request = WriteRequest { updates: stored.cloned().collect(), ..Default::default() };
        if request.updates.is_empty() {
            return;
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(&request.encode_length_delimited_to_vec()) {
            tracing::warn!(
                %error, path = %self.path.display(),
                "write not journalled: it is lost when the switch ends"
            );
        }
    }

    /// Empties the journal.
    pub fn clear(&self) {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.set_len(0) {
            tracing::warn!(%error, "cannot truncate the journal");
        }
    }
}

/// Compacts updates: the last one per entity, and insertions of what exists.
fn compact(updates: Vec<Update>) -> Vec<Update> {
    let mut last: std::collections::HashMap<Vec<u8>, (usize, Update)> =
        std::collections::HashMap::new();
    for (n, mut update) in updates.into_iter().enumerate() {
        let key = match update.entity.as_ref().and_then(|entity| entity.entity.clone()) {
            Some(entity::Entity::Table(mut entry)) => {
                if !entry.is_default_action && update.r#type == UpdateType::Modify as i32 {
                    update.r#type = UpdateType::Insert as i32;
                }
                entry.action = None;
                entry.metadata.clear();
                entity::Entity::Table(entry)
            }
            Some(entity::Entity::Meter(mut entry)) => {
                entry.config = None;
                entity::Entity::Meter(entry)
            }
            _ => continue,
        };
        let key = Entity { entity: Some(key) }.encode_to_vec();
        if update.r#type == UpdateType::Delete as i32 {
            last.remove(&key);
        } else {
            last.insert(key, (n, update));
        }
    }
    let mut remaining: Vec<(usize, Update)> = last.into_values().collect();
    remaining.sort_by_key(|(n, _)| *n);
    remaining.into_iter().map(|(_, update)| update).collect()
}
