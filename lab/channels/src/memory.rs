//! Memory buffers that serve a TLS library in C as its transport.

/// Input and output of a session.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    input: Vec<u8>,
    taken: usize,
    pub(crate) output: Vec<u8>,
}

impl Memory {
    /// Appends received bytes.
    pub(crate) fn push(&mut self, wire: &[u8]) {
        if self.taken == self.input.len() {
            self.input.clear();
            self.taken = 0;
        }
        self.input.extend_from_slice(wire);
    }

    /// Reads for the library; returns 0 if the input is empty.
    pub(crate) fn take(&mut self, into: &mut [u8]) -> usize {
        let waiting = &self.input[self.taken..];
        let count = waiting.len().min(into.len());
        into[..count].copy_from_slice(&waiting[..count]);
        self.taken += count;
        count
    }
}
