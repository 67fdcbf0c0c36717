//! The sender's account of its buffers. It lies in the sender's own memory: the receiver can give
//! back only what it was lent, and the death of either end leaves nothing to repair, since the
//! pair's memory goes as a whole.

/// Buffers of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BufferClass {
    /// Octets of each buffer; a multiple of 64.
    pub octets: u32,
    /// How many there are in each direction.
    pub count: u32,
}

/// A buffer by its number: the classes' buffers are numbered through, from the smallest class on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BufferId(pub u32);

/// The peer gave back what it did not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotLent;

struct Class {
    octets: u32,
    first: u32,
    count: u32,
    /// Buffers that were in use before and are free, the last one on top: its memory is warm.
    free: Vec<u32>,
    /// Buffers below this number were in use before. Those above have no page of memory yet.
    touched: u32,
}

/// The free lists of one direction.
pub struct Pool {
    classes: Vec<Class>,
    lent: Vec<u64>,
    out: u32,
}

impl Pool {
    /// All buffers free. Classes ascend in size.
    pub fn new(classes: &[BufferClass]) -> Self {
        let mut first = 0;
        let classes: Vec<Class> = classes
            .iter()
            .map(|class| {
                let (octets, count) = (class.octets, class.count);
                let class = Class { octets, first, count, free: Vec::new(), touched: 0 };
                first += count;
                class
            })
            .collect();
        Pool { classes, lent: vec![0; (first as usize).div_ceil(64)], out: 0 }
    }

    /// Buffers that the peer has.
    pub fn lent(&self) -> u32 {
        self.out
    }

    /// Whether a buffer that was used before is free for `len` octets, in the class that fits best.
    pub fn has_warm(&self, len: u32) -> bool {
        self.fitting(len).is_some_and(|at| !self.classes[at].free.is_empty())
    }

    /// The class whose buffers fit best: the smallest that holds it all, else the largest.
    fn fitting(&self, len: u32) -> Option<usize> {
        let fits = self.classes.iter().position(|class| class.octets >= len);
        fits.or(self.classes.len().checked_sub(1))
    }

    /// Takes a buffer for `len` octets, or for as many of them as one buffer holds: of the class
    /// that fits best, else of a larger one, else of a smaller one. Returns its number and
    /// size.
    pub fn get(&mut self, len: u32) -> Option<(BufferId, u32)> {
        let best = self.fitting(len)?;
        let order = (best..self.classes.len()).chain((0..best).rev());
        for at in order {
            let class = &mut self.classes[at];
            let number = class.free.pop().or_else(|| {
                let fresh = (class.touched < class.count).then_some(class.first + class.touched)?;
                class.touched += 1;
                Some(fresh)
            });
            if let Some(number) = number {
                self.lent[number as usize / 64] |= 1 << (number % 64);
                self.out += 1;
                return Some((BufferId(number), class.octets));
            }
        }
        None
    }

    /// Takes back a buffer.
    pub fn put(&mut self, id: BufferId) -> Result<(), NotLent> {
        let bit = 1 << (id.0 % 64);
        let lent = self
            .lent
            .get_mut(id.0 as usize / 64)
            .filter(|word| **word & bit != 0)
            .ok_or(NotLent)?;
        *lent &= !bit;
        let class = self.classes.iter_mut().rfind(|class| class.first <= id.0).ok_or(NotLent)?;
        class.free.push(id.0);
        self.out -= 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Pool {
        Pool::new(&[
            BufferClass { octets: 64, count: 2 },
            BufferClass { octets: 256, count: 2 },
            BufferClass { octets: 1024, count: 1 },
        ])
    }

    #[test]
    fn the_best_class_first_then_larger_then_smaller_ones() {
        let mut pool = pool();
        let sizes: Vec<_> =
            std::iter::from_fn(|| pool.get(100)).map(|(id, size)| (id.0, size)).collect();
        assert_eq!(sizes, [(2, 256), (3, 256), (4, 1024), (0, 64), (1, 64)]);
        assert_eq!(pool.lent(), 5);
    }

    #[test]
    fn more_than_any_buffer_holds_gets_the_largest() {
        assert_eq!(pool().get(5000), Some((BufferId(4), 1024)));
    }

    #[test]
    fn the_last_one_back_is_the_first_one_out() {
        let mut pool = pool();
        let (a, b) = (pool.get(1).unwrap().0, pool.get(1).unwrap().0);
        pool.put(b).unwrap();
        pool.put(a).unwrap();
        assert!(pool.has_warm(64) && !pool.has_warm(65));
        assert_eq!((pool.get(1).unwrap().0, pool.get(1).unwrap().0), (a, b));
    }

    #[test]
    fn only_what_is_lent_comes_back_and_only_once() {
        let mut pool = pool();
        let (id, _) = pool.get(1).unwrap();
        assert_eq!(pool.put(BufferId(id.0 + 1)), Err(NotLent));
        assert_eq!(pool.put(BufferId(u32::MAX)), Err(NotLent));
        pool.put(id).unwrap();
        assert_eq!(pool.put(id), Err(NotLent));
        assert_eq!(pool.lent(), 0);
    }
}
