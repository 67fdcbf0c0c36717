//! Tests of the exact-match tables in `c/exact.c`: they behave as a map.
use crate::{dpdk, ffi};
use std::collections::BTreeMap;
use std::ffi::c_void;

struct Table(*mut c_void);

impl Table {
    fn new(key_size: u32, size: u32) -> Table {
        dpdk::start(768).expect("DPDK");
        // SAFETY: DPDK is started.
        let table = unsafe { ffi::mswx_exact_new(key_size, size) };
        assert!(!table.is_null(), "memory for {size} keys of {key_size}");
        Table(table)
    }

    fn find(&self, key: u64) -> Option<u64> {
        let mut value = 0;
        // SAFETY: a live table, and memory for the value.
        (unsafe { ffi::mswx_exact_find(self.0, key, &mut value) } == 1).then_some(value)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: nothing else refers to it.
        unsafe { ffi::mswx_exact_free(self.0) }
    }
}

/// Keys are inserted and removed; the table is full at times, and reports it.
fn check_as_map(key_size: u32, size: u32, rounds: u32) {
    let table = Table::new(key_size, size);
    let mut map = BTreeMap::new();
    let mut random = 0x2545_f491_4f6c_dd1du64 ^ u64::from(size);
    let mut refused = 0;
    for round in 0..rounds {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Few keys, so that each recurs often; they differ in the upper bytes, too.
        let key = (random >> 32) % (u64::from(size) * 5 / 4 + 1);
        let key = if key_size == 8 { key | key << 40 } else { key };
        // The table fills in one third of the time and drains in another.
        if random % 8 < [7, 4, 1][(round / (rounds / 6 + 1) % 3) as usize] {
            // SAFETY: a live table.
            let status = unsafe { ffi::mswx_exact_add(table.0, key, random) };
            if status == 0 {
                map.insert(key, random);
            } else {
                assert!(
                    map.len() == size as usize && !map.contains_key(&key),
                    "refused with {} of {size}",
                    map.len()
                );
                refused += 1;
            }
            assert!(map.len() <= size as usize, "more entries than its size");
        } else {
            // SAFETY: as above.
            assert_eq!(unsafe { ffi::mswx_exact_del(table.0, key) }, 0);
            map.remove(&key);
        }
        assert_eq!(table.find(key), map.get(&key).copied(), "key {key:x}");
    }
    for (key, value) in &map {
        assert_eq!(table.find(*key), Some(*value), "key {key:x}");
    }
    assert!(refused > 0, "the table was never full");
}

#[test]
fn a_table_is_as_good_as_a_map() {
    check_as_map(4, 1, 1_000);
    check_as_map(4, 64, 20_000);
    check_as_map(8, 1000, 100_000);
    // Looked up in several steps, as a table of 1,000.
    check_as_map(4, 5000, 300_000);
    check_as_map(8, 5000, 300_000);
}

#[test]
fn a_key_that_is_too_long_is_refused() {
    dpdk::start(768).expect("DPDK");
    // SAFETY: DPDK is started.
    assert!(unsafe { ffi::mswx_exact_new(9, 16) }.is_null());
}
