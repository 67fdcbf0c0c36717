//! Buffers in memory under a TLS library in C.

/// What is on its way in and out.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    input: Vec<u8>,
    taken: usize,
    pub(crate) output: Vec<u8>,
}

impl Memory {
    /// Octets came over the wire.
    pub(crate) fn push(&mut self, wire: &[u8]) {
        if self.taken == self.input.len() {
            self.input.clear();
            self.taken = 0;
        }
        self.input.extend_from_slice(wire);
    }

    /// The library reads: 0 where there is nothing.
    pub(crate) fn take(&mut self, into: &mut [u8]) -> usize {
        let waiting = &self.input[self.taken..];
        let count = waiting.len().min(into.len());
        into[..count].copy_from_slice(&waiting[..count]);
        self.taken += count;
        count
    }
}
