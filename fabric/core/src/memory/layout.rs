//! The layout of a channel's memory. Both ends compute it from the same sizes, so no layout
//! information is ever read from shared memory.
use super::pool::{BufferClass, BufferId};
use serde::{Deserialize, Serialize};

/// Size of a descriptor slot in bytes.
pub const SLOT_BYTES: usize = 64;
const PAGE: usize = 4096;
/// Upper limit of a channel's memory in bytes, whatever is configured.
const MAX_TOTAL_BYTES: usize = 1 << 30;
const MAX_CLASSES: usize = 8;

/// The sizes of a channel; both directions have the same sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", default, deny_unknown_fields)]
pub struct Sizes {
    /// Descriptors in each ring: a power of two from 8 to 65536.
    pub slots: u32,
    /// Buffer classes in ascending size.
    pub classes: Vec<BufferClass>,
    /// Maximum frame length in bytes. A frame may span several buffers.
    pub frame: u32,
}

impl Default for Sizes {
    fn default() -> Self {
        let class = |bytes, count| BufferClass { bytes, count };
        Sizes {
            slots: 128,
            classes: vec![class(512, 64), class(4096, 64), class(64 << 10, 8)],
            frame: 1 << 20,
        }
    }
}

/// Why a set of sizes is invalid.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SizesError {
    /// The number of slots is out of range or not a power of two.
    #[error("slots is {0}: set a power of two from 8 to 65536")]
    Slots(u32),
    /// The buffer classes are empty, unordered, misaligned or out of range.
    #[error(
        "invalid buffer classes: set 1 to 8 classes in ascending size, each size a multiple of 64 \
         and each count from 1 to 65536"
    )]
    Classes,
    /// The channel would need too much memory.
    #[error("the channel needs more than 1 GiB: reduce the buffer classes")]
    TooLarge,
    /// The maximum frame length is out of range.
    #[error("frame is {0} bytes: set 1024 (1 KiB) to 67108864 (64 MiB)")]
    Frame(u32),
}

/// The parts of one direction, as byte offsets into the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Direction {
    /// Indices of the descriptor ring.
    pub indices: usize,
    /// Slots of the descriptor ring.
    pub slots: usize,
    /// Indices of the ring of returned buffers.
    pub return_indices: usize,
    /// Slots of the ring of returned buffers.
    pub return_slots: usize,
    /// The buffers.
    pub buffers: usize,
}

/// The offsets of everything in a channel's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    sizes: Sizes,
    returns: u32,
    directions: [Direction; 2],
    total: usize,
}

impl Sizes {
    /// Checks the sizes.
    pub fn check(&self) -> Result<(), SizesError> {
        Layout::of(self).map(|_| ())
    }
}

impl Layout {
    /// Computes the layout. Checks the sizes first, because they come from a configuration or from
    /// a manager.
    pub fn of(sizes: &Sizes) -> Result<Layout, SizesError> {
        if !sizes.slots.is_power_of_two() || !(8..=65536).contains(&sizes.slots) {
            return Err(SizesError::Slots(sizes.slots));
        }
        if !(1 << 10..=64 << 20).contains(&sizes.frame) {
            return Err(SizesError::Frame(sizes.frame));
        }
        let classes = &sizes.classes;
        let is_valid = |class: &BufferClass| {
            class.bytes > 0 && class.bytes.is_multiple_of(64) && (1..=65536).contains(&class.count)
        };
        let is_ascending = classes.windows(2).all(|pair| pair[0].bytes < pair[1].bytes);
        if classes.is_empty()
            || classes.len() > MAX_CLASSES
            || !classes.iter().all(is_valid)
            || !is_ascending
        {
            return Err(SizesError::Classes);
        }
        // No overflow: at most 8 classes of 2³² bytes times 2¹⁶.
        let bytes: u64 =
            classes.iter().map(|class| u64::from(class.bytes) * u64::from(class.count)).sum();
        if bytes > MAX_TOTAL_BYTES as u64 / 4 {
            return Err(SizesError::TooLarge);
        }
        let buffers: u32 = classes.iter().map(|class| class.count).sum();
        // One slot for each buffer, so a return never waits.
        let returns = buffers.next_power_of_two();
        let mut end = PAGE;
        let mut direction = || {
            let mut part = |bytes: usize, align: usize| {
                let start = end.next_multiple_of(align);
                end = start + bytes;
                start
            };
            Direction {
                indices: part(128, 64),
                return_indices: part(128, 64),
                slots: part(sizes.slots as usize * SLOT_BYTES, 64),
                return_slots: part(returns as usize * 8, 64),
                buffers: part(bytes as usize, PAGE),
            }
        };
        let directions = [direction(), direction()];
        Ok(Layout { sizes: sizes.clone(), returns, directions, total: end.next_multiple_of(PAGE) })
    }

    /// The sizes that the layout was computed from.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }
    /// Total size in bytes.
    pub fn total(&self) -> usize {
        self.total
    }
    /// Size of all buffers of one direction in bytes.
    pub fn buffer_bytes(&self) -> usize {
        self.sizes.classes.iter().map(|class| class.bytes as usize * class.count as usize).sum()
    }
    /// Number of slots in each ring of returned buffers.
    pub fn return_slots(&self) -> usize {
        self.returns as usize
    }
    /// Byte offset of the need-wakeup flags of `end` (0 or 1).
    pub fn need_wakeup(&self, end: usize) -> usize {
        (end & 1) * 128
    }
    /// The direction that `end` (0 or 1) sends in.
    pub fn from(&self, end: usize) -> Direction {
        self.directions[end & 1]
    }

    /// Offset and size in bytes of a buffer within its direction's buffers. `None` for a number
    /// that no buffer has.
    pub fn buffer(&self, id: BufferId) -> Option<(usize, usize)> {
        let (mut first, mut offset) = (0, 0);
        for class in &self.sizes.classes {
            // No underflow: the number is beyond all earlier classes.
            if id.0 - first < class.count {
                return Some((
                    offset + (id.0 - first) as usize * class.bytes as usize,
                    class.bytes as usize,
                ));
            }
            first += class.count;
            offset += class.count as usize * class.bytes as usize;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap() {
        let layout = Layout::of(&Sizes::default()).unwrap();
        let mut parts = vec![(0, 256)];
        for end in 0..2 {
            let d = layout.from(end);
            parts.push((d.indices, 128));
            parts.push((d.return_indices, 128));
            parts.push((d.slots, 128 * SLOT_BYTES));
            parts.push((d.return_slots, layout.return_slots() * 8));
            for id in 0..136 {
                let (offset, size) = layout.buffer(BufferId(id)).unwrap();
                assert_eq!(offset % 64, 0);
                parts.push((d.buffers + offset, size));
            }
        }
        parts.sort_unstable();
        assert!(parts.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{parts:?}");
        let last = parts.last().unwrap();
        assert!(last.0 + last.1 <= layout.total());
        assert_eq!(layout.buffer(BufferId(136)), None);
    }

    #[test]
    fn invalid_sizes_are_rejected() {
        let with = |change: fn(&mut Sizes)| {
            let mut sizes = Sizes::default();
            change(&mut sizes);
            Layout::of(&sizes).map(|_| ()).unwrap_err()
        };
        assert_eq!(with(|s| s.slots = 100), SizesError::Slots(100));
        assert_eq!(with(|s| s.slots = 0), SizesError::Slots(0));
        assert_eq!(with(|s| s.classes.clear()), SizesError::Classes);
        assert_eq!(with(|s| s.classes.reverse()), SizesError::Classes);
        assert_eq!(with(|s| s.classes[0].bytes = 100), SizesError::Classes);
        assert_eq!(with(|s| s.classes[0].count = 0), SizesError::Classes);
        assert_eq!(with(|s| s.classes[2].bytes = 1 << 30), SizesError::TooLarge);
        assert_eq!(with(|s| s.frame = 0), SizesError::Frame(0));
    }
}
