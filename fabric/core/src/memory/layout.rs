//! Where things lie in the memory of a channel. Both ends work it out from the same sizes, so that
//! nothing about the layout is ever read from the memory itself.
use super::pool::{BufferClass, BufferId};
use serde::{Deserialize, Serialize};

/// Octets of a descriptor slot.
pub const SLOT: usize = 64;
const PAGE: usize = 4096;
/// No channel has more memory than this, in octets, whatever is configured.
const MOST_OCTETS: usize = 1 << 30;
const MOST_CLASSES: usize = 8;

/// The sizes of a channel, the same in both directions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", default, deny_unknown_fields)]
pub struct Sizes {
    /// Descriptors that can be on their way at a time; a power of two from 8 to 65536.
    pub slots: u32,
    /// The buffers, in ascending size.
    pub classes: Vec<BufferClass>,
    /// Longest frame in octets, over as many buffers as it needs.
    pub frame: u32,
}

impl Default for Sizes {
    fn default() -> Self {
        let class = |octets, count| BufferClass { octets, count };
        Sizes {
            slots: 128,
            classes: vec![class(512, 64), class(4096, 64), class(64 << 10, 8)],
            frame: 1 << 20,
        }
    }
}

/// Why sizes cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum WrongSizes {
    /// The number of slots.
    #[error("a channel has a power of two of slots, from 8 to 65536, not {0}")]
    Slots(u32),
    /// The classes.
    #[error(
        "a channel has one to 8 classes of buffers, in ascending sizes that are multiples of 64, \
         with 1 to 65536 buffers each"
    )]
    Classes,
    /// The total.
    #[error("a channel has no more than 1 GiB of memory")]
    TooLarge,
    /// The frame.
    #[error("the longest frame of a channel is from 1 KiB to 64 MiB, not {0} octets")]
    Frame(u32),
}

/// The parts of one direction, as offsets in octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Direction {
    /// Indices of the ring of descriptors.
    pub indices: usize,
    /// Slots of the ring of descriptors.
    pub slots: usize,
    /// Indices of the ring of buffers given back.
    pub return_indices: usize,
    /// Slots of the ring of buffers given back.
    pub return_slots: usize,
    /// The buffers.
    pub buffers: usize,
}

/// The parts of a channel's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    sizes: Sizes,
    returns: u32,
    directions: [Direction; 2],
    total: usize,
}

impl Sizes {
    /// Whether a channel can have these sizes; the error says what is wrong.
    pub fn check(&self) -> Result<(), WrongSizes> {
        Layout::of(self).map(|_| ())
    }
}

impl Layout {
    /// Checks sizes that came from a configuration or a manager, and lays the parts out.
    pub fn of(sizes: &Sizes) -> Result<Layout, WrongSizes> {
        if !sizes.slots.is_power_of_two() || !(8..=65536).contains(&sizes.slots) {
            return Err(WrongSizes::Slots(sizes.slots));
        }
        if !(1 << 10..=64 << 20).contains(&sizes.frame) {
            return Err(WrongSizes::Frame(sizes.frame));
        }
        let classes = &sizes.classes;
        let sound = |class: &BufferClass| {
            class.octets > 0
                && class.octets.is_multiple_of(64)
                && (1..=65536).contains(&class.count)
        };
        let ascend = classes.windows(2).all(|pair| pair[0].octets < pair[1].octets);
        if classes.is_empty()
            || classes.len() > MOST_CLASSES
            || !classes.iter().all(sound)
            || !ascend
        {
            return Err(WrongSizes::Classes);
        }
        // No overflow: at most 8 classes of 2³² octets times 2¹⁶.
        let octets: u64 =
            classes.iter().map(|class| u64::from(class.octets) * u64::from(class.count)).sum();
        if octets > MOST_OCTETS as u64 / 4 {
            return Err(WrongSizes::TooLarge);
        }
        let buffers: u32 = classes.iter().map(|class| class.count).sum();
        // Room for every buffer at once: giving back never waits.
        let returns = buffers.next_power_of_two();
        let mut at = PAGE;
        let mut direction = || {
            let mut part = |octets: usize, align: usize| {
                let start = at.next_multiple_of(align);
                at = start + octets;
                start
            };
            Direction {
                indices: part(128, 64),
                return_indices: part(128, 64),
                slots: part(sizes.slots as usize * SLOT, 64),
                return_slots: part(returns as usize * 8, 64),
                buffers: part(octets as usize, PAGE),
            }
        };
        let directions = [direction(), direction()];
        Ok(Layout { sizes: sizes.clone(), returns, directions, total: at.next_multiple_of(PAGE) })
    }

    /// The sizes it was made from.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }
    /// Octets in all.
    pub fn total(&self) -> usize {
        self.total
    }
    /// Octets of the buffers of one direction.
    pub fn buffer_octets(&self) -> usize {
        self.sizes.classes.iter().map(|class| class.octets as usize * class.count as usize).sum()
    }
    /// Slots of each ring of buffers given back.
    pub fn return_slots(&self) -> usize {
        self.returns as usize
    }
    /// The flags of an end.
    pub fn attention(&self, end: usize) -> usize {
        (end & 1) * 128
    }
    /// What leads away from an end.
    pub fn from(&self, end: usize) -> Direction {
        self.directions[end & 1]
    }

    /// Place and size of a buffer within a direction's buffers, in octets; `None` for a number that
    /// no buffer has.
    pub fn buffer(&self, id: BufferId) -> Option<(usize, usize)> {
        let (mut first, mut offset) = (0, 0);
        for class in &self.sizes.classes {
            // Not below the first of this class, since it is beyond all of those before.
            if id.0 - first < class.count {
                return Some((
                    offset + (id.0 - first) as usize * class.octets as usize,
                    class.octets as usize,
                ));
            }
            first += class.count;
            offset += class.count as usize * class.octets as usize;
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
            parts.push((d.slots, 128 * SLOT));
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
    fn sizes_that_make_no_sense_are_refused() {
        let with = |change: fn(&mut Sizes)| {
            let mut sizes = Sizes::default();
            change(&mut sizes);
            Layout::of(&sizes).map(|_| ()).unwrap_err()
        };
        assert_eq!(with(|s| s.slots = 100), WrongSizes::Slots(100));
        assert_eq!(with(|s| s.slots = 0), WrongSizes::Slots(0));
        assert_eq!(with(|s| s.classes.clear()), WrongSizes::Classes);
        assert_eq!(with(|s| s.classes.reverse()), WrongSizes::Classes);
        assert_eq!(with(|s| s.classes[0].octets = 100), WrongSizes::Classes);
        assert_eq!(with(|s| s.classes[0].count = 0), WrongSizes::Classes);
        assert_eq!(with(|s| s.classes[2].octets = 1 << 30), WrongSizes::TooLarge);
        assert_eq!(with(|s| s.frame = 0), WrongSizes::Frame(0));
    }
}
