//! The append-only log of changes, in the store: who, what, before and after without secrets. Each
//! entry has the hash of the entry before, so that a removed or changed one is noticed.
use crate::accounts;
use crate::backups::AuditPosition;
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
/// Kind and key of the context with the number and hash of the last entry.
pub const HEAD: (&str, &str) = ("oam-audit-head", "last");
/// Entries that one request examines: each is a read of the store.
const MAX_SCANNED: usize = 5000;
/// Old entries that one change removes at most, so that it does not wait for all of them after
/// `audit_entries` was lowered.
const MAX_REMOVED: u64 = 50;
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
    /// How the request arrived: `socket`, `session` or `token`; `start` for a restore that was
    /// staged before, and that the start of the core carried out.
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

/// The audit log, with the number of its oldest entry once that is known.
#[derive(Default)]
pub struct Audit(Mutex<Option<u64>>);

/// A change to record.
#[derive(Debug, Clone)]
pub struct Change {
    /// Who did it.
    pub who: String,
    /// How the request arrived.
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

/// Which entries are read. A criterion that is absent selects all.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    /// Who did it.
    pub user: Option<String>,
    /// What was done: `user.create`, or the first words, such as `user`.
    pub action: Option<String>,
    /// To what.
    pub target: Option<String>,
    /// Earliest time, seconds since 1970.
    pub from: Option<u64>,
    /// Latest time, seconds since 1970.
    pub to: Option<u64>,
}

impl AuditFilter {
    fn selects(&self, entry: &AuditEntry) -> bool {
        let is_action = |action: &String| {
            let rest = entry.what.strip_prefix(action.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.user.as_ref().is_none_or(|user| *user == entry.who)
            && self.action.as_ref().is_none_or(is_action)
            && self.target.as_ref().is_none_or(|target| *target == entry.target)
            && self.from.is_none_or(|from| entry.at >= from)
            && self.to.is_none_or(|to| entry.at <= to)
    }
}

/// Entries of the audit log, the latest first.
#[derive(Debug, Default)]
pub struct AuditEntries {
    /// The entries that the filter selects.
    pub entries: Vec<AuditEntry>,
    /// The number before which to continue; `None` at the end of the log.
    pub next: Option<u64>,
    /// Whether the chain of hashes of all examined entries is intact.
    pub is_intact: bool,
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
    /// Appends an entry, and removes the oldest ones beyond `max_entries`.
    pub fn append(&self, store: &Store, change: Change, max_entries: u64) -> Result<(), Failure> {
        let mut oldest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        store.put_context("", HEAD.0, HEAD.1, &to_text(&head)?)?;
        let first = match *oldest {
            Some(number) => number,
            None => first_entry(store, entry.number)?,
        };
        let end = (entry.number + 1).saturating_sub(max_entries).min(first + MAX_REMOVED);
        for number in first..end {
            store.remove_context("", ENTRY, &key(number))?;
        }
        *oldest = Some(first.max(end));
        Ok(())
    }

    /// The entries before a number that a filter selects. A request examines a bounded number of
    /// entries, so that there may be fewer than `limit`, or none, although the log has more.
    ///
    /// # Errors
    /// The store does not answer.
    pub fn list(
        &self,
        store: &Store,
        before: Option<u64>,
        limit: usize,
        filter: &AuditFilter,
    ) -> Result<AuditEntries, Failure> {
        self.list_within(MAX_SCANNED, store, before, limit, filter)
    }

    /// The number of entries after a position; `None` if the log has another entry there.
    ///
    /// # Errors
    /// The store does not answer.
    pub fn since(store: &Store, position: &AuditPosition) -> Result<Option<u64>, Failure> {
        let head = head(store)?;
        let Some(since) = head.number.checked_sub(position.number) else { return Ok(None) };
        let hash = match since {
            0 => Some(head.hash),
            _ => {
                let next = store.context("", ENTRY, &key(position.number + 1))?;
                let next = next.and_then(|text| serde_json::from_str::<AuditEntry>(&text).ok());
                next.map(|entry| entry.previous)
            }
        };
        Ok(hash.filter(|hash| *hash == position.hash).map(|_| since))
    }

    fn list_within(
        &self,
        max_scanned: usize,
        store: &Store,
        before: Option<u64>,
        limit: usize,
        filter: &AuditFilter,
    ) -> Result<AuditEntries, Failure> {
        let head = head(store)?;
        let mut number = before.unwrap_or(u64::MAX).min(head.number + 1);
        let (mut read, mut scanned, mut expected) = (AuditEntries::default(), 0, None::<String>);
        read.is_intact = true;
        if number == head.number + 1 {
            expected = Some(head.hash);
        }
        while number > 1 {
            if read.entries.len() >= limit || scanned >= max_scanned {
                read.next = Some(number);
                break;
            }
            scanned += 1;
            number -= 1;
            let Some(text) = store.context("", ENTRY, &key(number))? else {
                // The oldest ones are removed; those after a kept one are not.
                break;
            };
            read.is_intact &= expected.is_none_or(|expected| expected == hash(&text));
            let Ok(entry) = serde_json::from_str::<AuditEntry>(&text) else {
                read.is_intact = false;
                break;
            };
            expected = Some(entry.previous.clone());
            if filter.selects(&entry) {
                read.entries.push(entry);
            }
        }
        Ok(read)
    }
}

fn head(store: &Store) -> Result<Head, Failure> {
    let value = store.context("", HEAD.0, HEAD.1)?;
    Ok(value.and_then(|value| serde_json::from_str(&value).ok()).unwrap_or_default())
}

/// The number of the oldest entry. All entries before it are removed, and none after it.
fn first_entry(store: &Store, last: u64) -> Result<u64, Failure> {
    let exists =
        |number| -> Result<bool, Failure> { Ok(store.context("", ENTRY, &key(number))?.is_some()) };
    let (mut first, mut last) = (1, last);
    // Earlier versions left the oldest entries when `audit_entries` was lowered.
    if exists(first)? {
        return Ok(first);
    }
    while first < last {
        let middle = first + (last - first) / 2;
        match exists(middle)? {
            true => last = middle,
            false => first = middle + 1,
        }
    }
    Ok(first)
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
        let all = AuditFilter::default();
        let AuditEntries { entries, next, is_intact } =
            audit.list(&store, None, 100, &all).unwrap();
        assert!(is_intact && next.is_none());
        assert_eq!(entries.iter().map(|entry| entry.number).collect::<Vec<_>>(), [8, 7, 6, 5, 4]);
        assert_eq!(entries[0].before, json!({"slices": [{"sst": 1}]}));
        let page = audit.list(&store, Some(7), 2, &all).unwrap();
        assert_eq!(page.entries.iter().map(|entry| entry.number).collect::<Vec<_>>(), [6, 5]);
        assert_eq!(page.next, Some(5));
        // The position of a backup: of this log, of its last entry, and of another log.
        let of = |number: u64| entries[(7 - number) as usize].previous.clone();
        let since = |number: u64, hash: String| {
            Audit::since(&store, &AuditPosition { number, hash }).unwrap()
        };
        assert_eq!((since(5, of(5)), since(8, head(&store).unwrap().hash)), (Some(3), Some(0)));
        assert_eq!((since(5, of(4)), since(9, of(5)), since(2, of(5))), (None, None, None));
        // A changed entry is noticed.
        let text = store.context("", ENTRY, &key(6)).unwrap().unwrap();
        store.put_context("", ENTRY, &key(6), &text.replace("admin", "mallory")).unwrap();
        assert!(!audit.list(&store, None, 100, &all).unwrap().is_intact);
    }

    #[test]
    fn a_lower_maximum_frees_the_oldest_entries_a_part_with_each_change() {
        let store = Store::in_memory().unwrap();
        let stored = || store.contexts("", ENTRY).unwrap().len();
        let audit = Audit::default();
        for n in 0..120 {
            audit.append(&store, change(&n.to_string()), 1000).unwrap();
        }
        // Two starts of the core with the lower maximum, the second one before all are removed.
        Audit::default().append(&store, change("first"), 10).unwrap();
        assert_eq!(stored(), 71);
        let audit = Audit::default();
        for left in [22, 10, 10] {
            audit.append(&store, change("second"), 10).unwrap();
            assert_eq!(stored(), left);
        }
        let read = audit.list(&store, None, 100, &AuditFilter::default()).unwrap();
        assert!(read.is_intact);
        let numbers = read.entries.iter().map(|entry| entry.number);
        assert_eq!(numbers.collect::<Vec<_>>(), (115..=124).rev().collect::<Vec<_>>());
    }

    #[test]
    fn a_filter_selects_entries_and_a_read_looks_at_a_bounded_number() {
        let (store, audit) = (Store::in_memory().unwrap(), Audit::default());
        for n in 0..9 {
            let what = if n % 3 == 0 { "user.create" } else { "subscriber.change" };
            let who = if n < 6 { "eva" } else { "ida" };
            let change = Change { what, who: who.into(), ..change(&n.to_string()) };
            audit.append(&store, change, 100).unwrap();
        }
        let numbers = |filter: AuditFilter| {
            let read = audit.list(&store, None, 100, &filter).unwrap();
            assert!(read.is_intact && read.next.is_none());
            read.entries.iter().map(|entry| entry.number).collect::<Vec<_>>()
        };
        let of_eva = AuditFilter { user: Some("eva".into()), ..AuditFilter::default() };
        assert_eq!(numbers(of_eva.clone()), [6, 5, 4, 3, 2, 1]);
        let action = |action: &str| Some(action.to_string());
        assert_eq!(numbers(AuditFilter { action: action("user"), ..of_eva.clone() }), [4, 1]);
        assert_eq!(numbers(AuditFilter { action: action("user.create"), ..of_eva }), [4, 1]);
        assert!(numbers(AuditFilter { action: action("use"), ..Default::default() }).is_empty());
        let of_target = AuditFilter { target: Some("6".into()), ..AuditFilter::default() };
        assert_eq!(numbers(of_target.clone()), [7]);
        let now = accounts::now();
        let (past, future) = (Some(now - 100), Some(now + 100));
        assert_eq!(numbers(AuditFilter { from: past, to: future, ..of_target.clone() }), [7]);
        assert!(numbers(AuditFilter { from: future, ..of_target.clone() }).is_empty());
        assert!(numbers(AuditFilter { to: past, ..of_target.clone() }).is_empty());
        // The first part of the log has no match, and the next request continues there.
        let first = audit.list_within(2, &store, None, 9, &of_target).unwrap();
        assert_eq!((first.entries.len(), first.next), (0, Some(8)));
        let second = audit.list_within(2, &store, first.next, 9, &of_target).unwrap();
        assert_eq!((second.entries[0].number, second.next), (7, Some(6)));
    }
}
