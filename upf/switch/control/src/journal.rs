//! The journal of writes, from which a restarted switch restores its rules.
use crate::p4runtime::messages::{Entity, Update, UpdateType, WriteRequest, entity};
use prost::Message;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes that a journal may have in addition to twice its compacted size.
const SLACK: u64 = 8 << 20;

/// A file of writes: each a `p4.v1.WriteRequest` preceded by its length.
pub struct Journal {
    path: PathBuf,
    slack: u64,
    written: Mutex<Written>,
}

struct Written {
    file: File,
    bytes: u64,
    /// The size from which the journal is long.
    long: u64,
    /// A compaction was requested, and has not ended.
    compacting: bool,
    /// How often the journal was emptied.
    cleared: u64,
}

impl Journal {
    /// Opens a journal and returns its updates. A truncated write at its end is dropped, since its
    /// sender got no response.
    pub fn open(path: &Path) -> std::io::Result<(Journal, Vec<Update>)> {
        Journal::open_with(path, SLACK)
    }

    fn open_with(path: &Path, slack: u64) -> std::io::Result<(Journal, Vec<Update>)> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let updates = compact(updates_in(&bytes));
        let new = path.with_extension("new");
        let (file, bytes) = create(&new, updates.clone())?;
        std::fs::rename(&new, path)?;
        let long = 2 * bytes + slack;
        let written = Written { file, bytes, long, compacting: false, cleared: 0 };
        Ok((Journal { path: path.into(), slack, written: Mutex::new(written) }, updates))
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a write. Returns whether the journal has become long: then the caller has to
    /// [`compact`](Journal::compact) it.
    #[must_use]
    pub fn append<'a>(&self, updates: impl Iterator<Item = &'a Update>) -> bool {
        let stored = updates.filter(|update| {
            !matches!(update.entity, Some(Entity { entity: Some(entity::Entity::Counter(_)) }))
        });
        let request = WriteRequest { updates: stored.cloned().collect(), ..Default::default() };
        if request.updates.is_empty() {
            return false;
        }
        let bytes = request.encode_length_delimited_to_vec();
        let written = &mut *self.written();
        match written.file.write_all(&bytes) {
            Ok(()) => written.bytes += bytes.len() as u64,
            Err(error) => {
                tracing::warn!(
                    %error, path = %self.path.display(),
                    "write not journalled: it is lost when the switch ends"
                );
                // A part of it would make all later writes unreadable.
                if let Err(error) = written.file.set_len(written.bytes) {
                    tracing::warn!(%error, "cannot truncate the journal");
                }
            }
        }
        let long = written.bytes >= written.long && !written.compacting;
        written.compacting |= long;
        long
    }

    /// Compacts a long journal. Writes can be appended meanwhile.
    pub fn compact(&self) {
        let outcome = self.try_compact();
        let written = &mut *self.written();
        written.compacting = false;
        if let Err(error) = outcome {
            written.long = written.bytes + self.slack;
            tracing::warn!(%error, path = %self.path.display(), "journal not compacted");
        }
    }

    fn try_compact(&self) -> std::io::Result<()> {
        let (length, cleared) = {
            let written = self.written();
            (written.bytes, written.cleared)
        };
        let mut bytes = Vec::new();
        File::open(&self.path)?.take(length).read_to_end(&mut bytes)?;
        let new = self.path.with_extension("new");
        let (mut file, compacted) = create(&new, compact(updates_in(&bytes)))?;
        let written = &mut *self.written();
        if written.cleared != cleared {
            return std::fs::remove_file(&new);
        }
        // What was appended meanwhile.
        let mut old = File::open(&self.path)?;
        old.seek(SeekFrom::Start(length))?;
        let mut more = Vec::new();
        old.take(written.bytes - length).read_to_end(&mut more)?;
        file.write_all(&more)?;
        std::fs::rename(&new, &self.path)?;
        written.file = file;
        written.bytes = compacted + more.len() as u64;
        written.long = 2 * compacted + self.slack;
        Ok(())
    }

    /// Empties the journal.
    pub fn clear(&self) {
        let written = &mut *self.written();
        match written.file.set_len(0) {
            Ok(()) => {
                (written.bytes, written.long) = (0, self.slack);
                written.cleared += 1;
            }
            Err(error) => tracing::warn!(%error, "cannot truncate the journal"),
        }
    }
}

/// The updates of a journal.
fn updates_in(mut rest: &[u8]) -> impl Iterator<Item = Update> {
    let next = move || {
        let lost = rest.len();
        if lost == 0 {
            return None;
        }
        match WriteRequest::decode_length_delimited(&mut rest) {
            Ok(request) => Some(request.updates),
            Err(error) => {
                tracing::warn!(%error, lost, "journal truncated: its last write is dropped");
                rest = &[];
                None
            }
        }
    };
    std::iter::from_fn(next).flatten()
}

/// Writes a new file of these updates, which can replace the journal atomically. Returns it and its
/// length.
fn create(path: &Path, updates: Vec<Update>) -> std::io::Result<(File, u64)> {
    let mut file = File::create(path)?;
    let mut bytes = Vec::new();
    if !updates.is_empty() {
        bytes = WriteRequest { updates, ..Default::default() }.encode_length_delimited_to_vec();
    }
    file.write_all(&bytes)?;
    file.sync_all()?;
    Ok((OpenOptions::new().append(true).open(path)?, bytes.len() as u64))
}

/// Compacts updates: the last one per entity, and insertions of what exists.
fn compact(updates: impl Iterator<Item = Update>) -> Vec<Update> {
    let mut last: std::collections::HashMap<Vec<u8>, (usize, Update)> =
        std::collections::HashMap::new();
    for (n, mut update) in updates.enumerate() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::p4runtime::messages::TableEntry;

    fn update(table: u32, kind: UpdateType) -> Update {
        let entry = TableEntry { table_id: table, ..Default::default() };
        let entity = Some(Entity { entity: Some(entity::Entity::Table(entry)) });
        Update { r#type: kind as i32, entity }
    }

    fn folder(test: &str) -> PathBuf {
        let name = format!("martlet-journal-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn size(path: &Path) -> u64 {
        std::fs::metadata(path).unwrap().len()
    }

    #[test]
    fn a_long_journal_is_compacted_while_writes_are_appended() {
        let folder = folder("long");
        let path = folder.join("rules");
        let (journal, updates) = Journal::open_with(&path, 1000).unwrap();
        assert!(updates.is_empty());
        assert!(!journal.append([update(1, UpdateType::Insert)].iter()));
        let mut compactions = 0;
        for _ in 0..1000 {
            for kind in [UpdateType::Insert, UpdateType::Delete] {
                if journal.append([update(2, kind)].iter()) {
                    // Only one compaction at a time.
                    assert!(!journal.append([update(3, UpdateType::Insert)].iter()));
                    journal.compact();
                    compactions += 1;
                }
                assert!(size(&path) < 1100, "{}", size(&path));
            }
        }
        assert!(compactions > 5);
        // Emptied, written again and compacted.
        journal.clear();
        assert_eq!(size(&path), 0);
        assert!(!journal.append([update(4, UpdateType::Insert)].iter()));
        assert!(!journal.append([update(5, UpdateType::Insert)].iter()));
        journal.compact();
        assert!(!journal.append([update(5, UpdateType::Delete)].iter()));
        drop(journal);
        let (_, updates) = Journal::open_with(&path, 1000).unwrap();
        assert_eq!(updates, [update(4, UpdateType::Insert)]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_truncated_write_is_dropped() {
        let folder = folder("truncated");
        let path = folder.join("rules");
        let (journal, _) = Journal::open(&path).unwrap();
        assert!(!journal.append([update(1, UpdateType::Insert)].iter()));
        let whole = size(&path);
        assert!(!journal.append([update(2, UpdateType::Insert)].iter()));
        journal.written().file.set_len(whole + 1).unwrap();
        drop(journal);
        let (_, updates) = Journal::open(&path).unwrap();
        assert_eq!(updates, [update(1, UpdateType::Insert)]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
