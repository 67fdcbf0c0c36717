//! A reusable buffer for encoding messages.
use std::cell::RefCell;

thread_local! {
    /// A reusable buffer for encoding messages.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}
/// A larger buffer is not kept for reuse.
const MAX_SCRATCH_BYTES: usize = 64 << 10;

/// Calls `work` with an empty buffer.
pub(crate) fn with_scratch<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut buffer = SCRATCH.take();
    buffer.clear();
    let result = work(&mut buffer);
    if buffer.capacity() <= MAX_SCRATCH_BYTES {
        SCRATCH.set(buffer);
    }
    result
}
