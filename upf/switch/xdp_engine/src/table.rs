//! A table of the program: two copies, of which packets use one.
use crate::error::XdpError;
use crate::exact::Exact;
use martlet_bpf::Memory;
use martlet_p4c_swx::ebpf::{Location, TableLayout};
use martlet_switch_control::TableError;
use martlet_switch_control::model::RawEntry;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The highest bits of an action number: packets of this entry were held until the release with
/// this mark (`bpf/pipeline.h`).
pub(crate) const MARKS: [u32; 2] = [1 << 31, 1 << 30];
/// The mark of entries outside of a release.
pub(crate) const UNMARKED: u32 = 0;
/// Instead of an action: the entry is deleted, but its packets still join the held ones.
const DELETED_ENTRY: u32 = 0x3fff_ffff;
/// Sizes of `struct list` and `struct listed` in bytes, words of a key there, and maximum entries
/// of a list.
const LIST: usize = 8;
const LISTED: usize = 56;
const WORDS: usize = 3;
const LONGEST_LIST: usize = 256;

/// An action in its slot form.
pub(crate) fn call(
    action: usize,
    arguments: &[u64],
    locations: &[Location],
    bytes: u32,
    mark: u32,
) -> Vec<u8> {
    let mut slot = vec![0; bytes as usize];
    let number = action as u32 | mark;
    slot[..4].copy_from_slice(&number.to_ne_bytes());
    for (value, Location { offset, bytes }) in arguments.iter().zip(locations) {
        let at = *offset as usize;
        match bytes {
            1 => slot[at] = *value as u8,
            2 => slot[at..at + 2].copy_from_slice(&(*value as u16).to_ne_bytes()),
            4 => slot[at..at + 4].copy_from_slice(&(*value as u32).to_ne_bytes()),
            _ => slot[at..at + 8].copy_from_slice(&value.to_ne_bytes()),
        }
    }
    slot
}

/// The table.
#[derive(Debug)]
pub(crate) struct Table {
    layout: TableLayout,
    actions: Arc<Vec<Vec<Location>>>,
    /// Bits of the key's first field.
    first: u32,
    copies: [Exact; 2],
    slots: Memory,
    /// List heads and entries, for ternary tables.
    lists: Option<(Memory, Memory)>,
}

impl Table {
    /// Its memory is `map(suffix, bytes)`.
    pub fn new(
        layout: &TableLayout,
        actions: &Arc<Vec<Vec<Location>>>,
        first: u32,
        map: impl Fn(&str, usize) -> Result<Memory, XdpError>,
    ) -> Result<Table, XdpError> {
        let TableLayout { lines, slots, value, words, .. } = *layout;
        let keys = Arc::new(map("lines", Exact::bytes(lines))?);
        let copies = [0, 1].map(|copy| Exact::new(keys.clone(), copy, lines, slots));
        let rows = 2 * (slots as usize + 1);
        let lists = match words {
            0 => None,
            _ => Some((map("heads", rows * LIST)?, map("listed", rows * LISTED)?)),
        };
        let slots = map("slots", rows * value as usize)?;
        Ok(Table { layout: layout.clone(), actions: actions.clone(), first, copies, slots, lists })
    }

    fn write_slot(&self, copy: usize, slot: u32, entry: &RawEntry, mark: u32) {
        let call = call(
            entry.action,
            &entry.arguments,
            &self.actions[entry.action],
            self.layout.value,
            mark,
        );
        self.slots.write(self.offset(copy, slot), &call);
    }

    fn offset(&self, copy: usize, slot: u32) -> usize {
        (copy * (self.layout.slots as usize + 1) + slot as usize) * self.layout.value as usize
    }

    /// Sets the default action of a copy.
    pub fn set_default(&self, copy: usize, action: usize, arguments: &[u64]) {
        let call = call(action, arguments, &self.actions[action], self.layout.value, UNMARKED);
        self.slots.write(self.offset(copy, 0), &call);
    }

    /// Sets the entry of a key in a copy, with a mark; `None` removes the key.
    pub fn change(
        &mut self,
        copy: usize,
        key: &[u64],
        entry: Option<(&RawEntry, u32)>,
    ) -> Result<(), TableError> {
        let key = self.layout.pack(key)[0];
        match entry {
            None => drop(self.copies[copy].remove(key)),
            Some((entry, mark)) => {
                let slot = self.copies[copy].insert(key).ok_or(TableError::Full)?;
                self.write_slot(copy, slot, entry, mark);
            }
        }
        Ok(())
    }

    /// Deletes an entry of a copy except for packets that have to join held ones. [`Table::change`]
    /// removes it.
    pub fn mark_deleted(&mut self, copy: usize, key: &[u64], mark: u32) -> Result<(), TableError> {
        let slot = self.copies[copy].insert(self.layout.pack(key)[0]).ok_or(TableError::Full)?;
        let mut nothing = vec![0; self.layout.value as usize];
        nothing[..4].copy_from_slice(&(DELETED_ENTRY | mark).to_ne_bytes());
        self.slots.write(self.offset(copy, slot), &nothing);
        Ok(())
    }

    /// The full mask of a key's first field.
    fn whole(&self) -> u64 {
        if self.first == 64 { u64::MAX } else { (1 << self.first) - 1 }
    }

    /// Entries by list: one per value of the first field, and one for entries that mask it.
    fn lists<'a>(&self, entries: &'a [RawEntry]) -> BTreeMap<Option<u64>, Vec<&'a RawEntry>> {
        let mut lists: BTreeMap<_, Vec<&RawEntry>> = BTreeMap::new();
        for entry in entries {
            let whole = entry.masks.as_ref().is_some_and(|masks| masks[0] == self.whole());
            lists.entry(whole.then_some(entry.values[0])).or_default().push(entry);
        }
        lists.values_mut().for_each(|list| list.sort_by_key(|entry| entry.priority));
        lists
    }

    /// Checks whether a copy can hold these entries.
    pub fn check(&self, entries: &[RawEntry]) -> Result<(), TableError> {
        if entries.len() > self.layout.slots as usize {
            return Err(TableError::Entries(self.layout.slots));
        }
        match self.lists(entries).into_iter().find(|(_, list)| list.len() > LONGEST_LIST) {
            None => Ok(()),
            Some((first, list)) => {
                Err(TableError::List { first, entries: list.len(), max: LONGEST_LIST })
            }
        }
    }

    /// Replaces all entries of a copy; they have been checked.
    pub fn rebuild(&mut self, copy: usize, entries: &[RawEntry]) -> Result<(), TableError> {
        let (mut next, base) = (0u32, copy * (self.layout.slots as usize + 1));
        self.copies[copy].clear();
        let lists = self.lists(entries);
        let Some((heads, listed)) = &self.lists else {
            return Err(TableError::MatchKind);
        };
        heads.write(base * LIST, &[0; LIST]);
        let mut calls = Vec::new();
        for (first, list) in lists {
            let head = match first {
                None => 0,
                Some(value) => self.copies[copy].insert(value).ok_or(TableError::Full)?,
            };
            let bytes = [next.to_ne_bytes(), (list.len() as u32).to_ne_bytes()].concat();
            heads.write((base + head as usize) * LIST, &bytes);
            for entry in list {
                let masks = entry.masks.as_ref().ok_or(TableError::MatchKind)?;
                let words = |of: &[u64]| {
                    let mut words = self.layout.pack(of);
                    words.resize(WORDS, 0);
                    words.into_iter().flat_map(u64::to_ne_bytes)
                };
                // Slot 0 has the default action.
                let slot = next + 1;
                let mut bytes: Vec<u8> = words(&entry.values).chain(words(masks)).collect();
                bytes.extend(entry.priority.to_ne_bytes());
                bytes.extend(slot.to_ne_bytes());
                listed.write((base + next as usize) * LISTED, &bytes);
                calls.push((slot, entry));
                next += 1;
            }
        }
        for (slot, entry) in calls {
            self.write_slot(copy, slot, entry, UNMARKED);
        }
        Ok(())
    }
}
