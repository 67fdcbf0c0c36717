//! Hash cells of lookup keys (`bpf/classify.h`). User space is the only writer, and after each step
//! all other keys remain visible.
use crate::loader::error::table_error;
use crate::loader::table::Table;
use crate::loader::{XdpError, types};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

const CELLS: u32 = 7;

/// A table of cells, and the kernel's hash map for its overflow.
pub(crate) struct Cells {
    pub name: &'static str,
    pub cells: Table<types::cells>,
    pub more: MapHandle,
}

/// As `hash_index` in `bpf/classify.h`.
pub(crate) fn hash_index(mut key: u32, max: u32) -> u32 {
    key ^= key >> 16;
    key = key.wrapping_mul(0x7feb_352d);
    key ^= key >> 15;
    key = key.wrapping_mul(0x846c_a68b);
    ((u64::from(key) * u64::from(max)) >> 32) as u32
}

impl Cells {
    fn slot(&self, key: u32) -> u32 {
        hash_index(key, self.cells.entries() as u32)
    }

    fn cell(&self, slot: u32, n: u32) -> &AtomicU64 {
        self.cells.u64(slot, n as usize * 8)
    }

    fn more(&self, slot: u32) -> &AtomicU64 {
        self.cells.u64(slot, offset_of!(types::cells, more))
    }

    /// Sets the target of a key, whose bytes are in packet order.
    pub fn set(&self, key: [u8; 4], lookup_key: u32) -> Result<(), XdpError> {
        let (key, bytes) = (u32::from_ne_bytes(key), key);
        let slot = self.slot(key);
        let value = u64::from(lookup_key) << 32 | u64::from(key);
        let mut free = None;
        for n in 0..CELLS {
            match self.cell(slot, n).load(Ordering::Relaxed) {
                0 => free = free.or(Some(n)),
                cell if cell as u32 == key => {
                    self.cell(slot, n).store(value, Ordering::Release);
                    return Ok(());
                }
                _ => {}
            }
        }
        let in_more = self.is_in_more(slot, bytes)?;
        if let Some(n) = free.filter(|_| !in_more) {
            self.cell(slot, n).store(value, Ordering::Release);
            return Ok(());
        }
        self.more
            .update(&bytes, &lookup_key.to_ne_bytes(), MapFlags::ANY)
            .map_err(|e| table_error(self.name, e))?;
        if !in_more {
            self.more(slot).fetch_add(1, Ordering::Release);
        }
        Ok(())
    }

    /// Removes a key.
    pub fn clear(&self, key: [u8; 4]) {
        let (key, bytes) = (u32::from_ne_bytes(key), key);
        let slot = self.slot(key);
        for n in 0..CELLS {
            let cell = self.cell(slot, n);
            let found = cell.load(Ordering::Relaxed);
            if found != 0 && found as u32 == key {
                return cell.store(0, Ordering::Release);
            }
        }
        if self.more(slot).load(Ordering::Relaxed) > 0 && self.more.delete(&bytes).is_ok() {
            self.more(slot).fetch_sub(1, Ordering::Release);
        }
    }

    fn is_in_more(&self, slot: u32, key: [u8; 4]) -> Result<bool, XdpError> {
        if self.more(slot).load(Ordering::Relaxed) == 0 {
            return Ok(false);
        }
        let found =
            self.more.lookup(&key, MapFlags::ANY).map_err(|error| table_error(self.name, error))?;
        Ok(found.is_some())
    }
}
