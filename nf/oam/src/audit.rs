//! The append-only log of changes, in the store: who, what, before and after without secrets. Each
//! entry has the hash of the entry before, so that a removed or changed one is noticed.
use crate::accounts;
use crate::caller::Caller;
use crate::problem::Failure;
use aws_lc_rs::digest::{SHA256, digest};
use martlet_store::Store;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::{Mutex, PoisonError};
use utoipa::ToSchema;

/// Kind of the contexts of entries in the store.
const ENTRY: &str = "oam-audit";
/// Kind of the context with the number and hash of the last entry.
const HEAD: &str = "oam-audit-head";
/// Members that an entry never has, at any depth.
const SECRETS: [&str; 8] = ["key", "opc", "op", "topc", "tuak", "password", "hash", "secret"];

/// An entry of the audit log.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// Number of the entry; later ones are higher.
    pub number: u64,
    /// Seconds since 1970.
    #[schema(example = 1_764_000_000)]
    pub at: u64,
    /// Who did it.
    #[schema(example = "admin")]
    pub who: String,
    /// How the caller came: `socket`, `session` or `token`.
    pub via: String,
    /// What was done.
    #[schema(example = "subscriber.change")]
    pub what: String,
    /// To what.
    #[schema(example = "imsi-001010000000001")]
    pub target: String,
    /// Values before, without secrets.
    #[serde(default)]
    pub before: Value,
    /// Values after, without secrets.
    #[serde(default)]
    pub after: Value,
    /// SHA-256 of the entry before, in hexadecimal digits.
    pub previous: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Head {
    number: u64,
    hash: String,
}

/// The audit log.
#[derive(Default)]
pub struct Audit(Mutex<()>);

/// A change to record.
#[derive(Debug, Clone)]
pub struct Change {
    /// Who did it.
    pub who: String,
    /// How the caller came.
    pub via: &'static str,
    /// What was done.
    pub what: &'static str,
    /// To what.
    pub target: String,
    /// Values before.
    pub before: Value,
    /// Values after.
    pub after: Value,
}

impl Change {
    /// A change that a caller makes.
    pub fn by(
        caller: &Caller,
        what: &'static str,
        target: impl Into<String>,
        before: Value,
        after: Value,
    ) -> Self {
        let (who, via) = (caller.name.clone(), caller.via.word());
        Change { who, via, what, target: target.into(), before, after }
    }
}

/// A value without members that may be secret.
pub fn without_secrets(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let is_open = |name: &str| !SECRETS.contains(&name.to_ascii_lowercase().as_str());
            let open = members.into_iter().filter(|(name, _)| is_open(name));
            open.map(|(name, member)| (name, without_secrets(member))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_secrets).collect(),
        other => other,
    }
}

impl Audit {
    /// Appends an entry, and removes the oldest one beyond `max_entries`.
    pub fn append(&self, store: &Store, change: Change, max_entries: u64) -> Result<(), Failure> {
        let _one_at_a_time = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let head = head(store)?;
        let entry = AuditEntry {
            number: head.number + 1,
            at: accounts::now(),
            who: change.who,
            via: change.via.into(),
            what: change.what.into(),
            target: change.target,
            before: without_secrets(change.before),
            after: without_secrets(change.after),
            previous: head.hash,
        };
        let text = to_text(&entry)?;
        store.put_context("", ENTRY, &key(entry.number), &text)?;
        let head = Head { number: entry.number, hash: hash(&text) };
        store.put_context("", HEAD, "last", &to_text(&head)?)?;
        if let Some(oldest) = entry.number.checked_sub(max_entries) {
            store.remove_context("", ENTRY, &key(oldest))?;
        }
        Ok(())
    }

    /// The entries before a number, the latest first, and whether their chain of hashes is intact.
    pub fn list(
        &self,
        store: &Store,
        before: Option<u64>,
        limit: usize,
    ) -> Result<(Vec<AuditEntry>, bool), Failure> {
        let head = head(store)?;
        let mut number = before.unwrap_or(u64::MAX).min(head.number + 1);
        let (mut entries, mut is_intact, mut expected) = (Vec::new(), true, None::<String>);
        if number == head.number + 1 {
            expected = Some(head.hash);
        }
        while entries.len() < limit && number > 1 {
            number -= 1;
            let Some(text) = store.context("", ENTRY, &key(number))? else {
                // The oldest ones are removed; those after a kept one are not.
                break;
            };
            is_intact &= expected.is_none_or(|expected| expected == hash(&text));
            let Ok(entry) = serde_json::from_str::<AuditEntry>(&text) else {
                is_intact = false;
                break;
            };
            expected = Some(entry.previous.clone());
            entries.push(entry);
        }
        Ok((entries, is_intact))
    }
}

fn head(store: &Store) -> Result<Head, Failure> {
    let value = store.context("", HEAD, "last")?;
    Ok(value.and_then(|value| serde_json::from_str(&value).ok()).unwrap_or_default())
}

fn key(number: u64) -> String {
    format!("{number:020}")
}

fn hash(text: &str) -> String {
    hex::encode(digest(&SHA256, text.as_bytes()))
}

fn to_text(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::unavailable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn change(target: &str) -> Change {
        Change {
            who: "admin".into(),
            via: "session",
            what: "subscriber.change",
            target: target.into(),
            before: json!({"key": "00", "slices": [{"opc": "11", "sst": 1}]}),
            after: Value::Null,
        }
    }

    #[test]
    fn entries_are_chained_have_no_secrets_and_the_oldest_go() {
        let (store, audit) = (Store::in_memory().unwrap(), Audit::default());
        for n in 0..8 {
            audit.append(&store, change(&n.to_string()), 5).unwrap();
        }
        let (entries, is_intact) = audit.list(&store, None, 100).unwrap();
        assert!(is_intact);
        assert_eq!(entries.iter().map(|entry| entry.number).collect::<Vec<_>>(), [8, 7, 6, 5, 4]);
        assert_eq!(entries[0].before, json!({"slices": [{"sst": 1}]}));
        let (page, _) = audit.list(&store, Some(7), 2).unwrap();
        assert_eq!(page.iter().map(|entry| entry.number).collect::<Vec<_>>(), [6, 5]);
        // A changed entry is noticed.
        let text = store.context("", ENTRY, &key(6)).unwrap().unwrap();
        store.put_context("", ENTRY, &key(6), &text.replace("admin", "mallory")).unwrap();
        assert!(!audit.list(&store, None, 100).unwrap().1);
    }
}
