//! The sender's free lists. They lie in the sender's private memory, so the receiver can return
//! only buffers that it holds, and the death of either end leaves nothing to repair: the channel's
//! memory is released as a whole.

/// Buffers of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BufferClass {
    /// Size of each buffer in bytes; a multiple of 64.
    pub bytes: u32,
    /// Number of buffers in each direction.
    pub count: u32,
}

/// A buffer's number. Buffers are numbered across all classes, starting with the smallest class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BufferId(pub u32);

/// The peer returned a buffer that it does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotLentError;

struct Class {
    bytes: u32,
    first: u32,
    count: u32,
    /// Free buffers that were used before. The most recently used is last, because its pages are
    /// most likely cached.
    free: Vec<u32>,
    /// Number of buffers that were ever used. The others have no memory pages yet.
    touched: u32,
}

/// The free lists of one direction.
pub struct Pool {
    classes: Vec<Class>,
    /// One bit for each buffer that the peer holds.
    lent_bits: Vec<u64>,
    lent_count: u32,
}

impl Pool {
    /// A pool with all buffers free. Classes must be in ascending size.
    pub fn new(classes: &[BufferClass]) -> Self {
        let mut first = 0;
        let classes: Vec<Class> = classes
            .iter()
            .map(|class| {
                let (bytes, count) = (class.bytes, class.count);
                let class = Class { bytes, first, count, free: Vec::new(), touched: 0 };
                first += count;
                class
            })
            .collect();
        Pool { classes, lent_bits: vec![0; (first as usize).div_ceil(64)], lent_count: 0 }
    }

    /// Number of buffers that the peer holds.
    pub fn lent(&self) -> u32 {
        self.lent_count
    }

    /// Whether the class that best fits `len` bytes has a free buffer that was used before.
    pub fn has_warm(&self, len: u32) -> bool {
        self.fitting(len).is_some_and(|index| !self.classes[index].free.is_empty())
    }

    /// Index of the smallest class that holds `len` bytes, or of the largest class.
    fn fitting(&self, len: u32) -> Option<usize> {
        let fits = self.classes.iter().position(|class| class.bytes >= len);
        fits.or(self.classes.len().checked_sub(1))
    }

    /// Takes a buffer for up to `len` bytes: from the class that fits best, else from a larger one,
    /// else from a smaller one. Returns its number and its size in bytes.
    pub fn get(&mut self, len: u32) -> Option<(BufferId, u32)> {
        let best = self.fitting(len)?;
        let order = (best..self.classes.len()).chain((0..best).rev());
        for index in order {
            let class = &mut self.classes[index];
            let number = class.free.pop().or_else(|| {
                let fresh = (class.touched < class.count).then_some(class.first + class.touched)?;
                class.touched += 1;
                Some(fresh)
            });
            if let Some(number) = number {
                self.lent_bits[number as usize / 64] |= 1 << (number % 64);
                self.lent_count += 1;
                return Some((BufferId(number), class.bytes));
            }
        }
        None
    }

    /// Takes back a buffer that the peer returned.
    pub fn put(&mut self, id: BufferId) -> Result<(), NotLentError> {
        let bit = 1 << (id.0 % 64);
        let lent = self
            .lent_bits
            .get_mut(id.0 as usize / 64)
            .filter(|word| **word & bit != 0)
            .ok_or(NotLentError)?;
        *lent &= !bit;
        let class =
            self.classes.iter_mut().rfind(|class| class.first <= id.0).ok_or(NotLentError)?;
        class.free.push(id.0);
        self.lent_count -= 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Pool {
        Pool::new(&[
            BufferClass { bytes: 64, count: 2 },
            BufferClass { bytes: 256, count: 2 },
            BufferClass { bytes: 1024, count: 1 },
        ])
    }

    #[test]
    fn the_best_fitting_class_is_used_first_then_larger_then_smaller_ones() {
        let mut pool = pool();
        let sizes: Vec<_> =
            std::iter::from_fn(|| pool.get(100)).map(|(id, size)| (id.0, size)).collect();
        assert_eq!(sizes, [(2, 256), (3, 256), (4, 1024), (0, 64), (1, 64)]);
        assert_eq!(pool.lent(), 5);
    }

    #[test]
    fn a_length_above_all_classes_gets_the_largest_buffer() {
        assert_eq!(pool().get(5000), Some((BufferId(4), 1024)));
    }

    #[test]
    fn the_most_recently_returned_buffer_is_reused_first() {
        let mut pool = pool();
        let (a, b) = (pool.get(1).unwrap().0, pool.get(1).unwrap().0);
        pool.put(b).unwrap();
        pool.put(a).unwrap();
        assert!(pool.has_warm(64) && !pool.has_warm(65));
        assert_eq!((pool.get(1).unwrap().0, pool.get(1).unwrap().0), (a, b));
    }

    #[test]
    fn a_buffer_that_is_not_lent_cannot_be_returned() {
        let mut pool = pool();
        let (id, _) = pool.get(1).unwrap();
        assert_eq!(pool.put(BufferId(id.0 + 1)), Err(NotLentError));
        assert_eq!(pool.put(BufferId(u32::MAX)), Err(NotLentError));
        pool.put(id).unwrap();
        assert_eq!(pool.put(id), Err(NotLentError));
        assert_eq!(pool.lent(), 0);
    }
}
