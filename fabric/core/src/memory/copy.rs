//! Copies between private and shared memory. The peer may change shared memory at any time, so
//! bytes are copied out before anything parses them.
use crate::sync::{AtomicU64, Ordering};

/// Copies `bytes` to the start of `words`. Bytes beyond the last word are dropped.
pub fn to_shared(words: &[AtomicU64], bytes: &[u8]) {
    let mut words = words.iter();
    let mut chunks = bytes.chunks_exact(8);
    for (chunk, slot) in chunks.by_ref().zip(&mut words) {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        slot.store(u64::from_ne_bytes(word), Ordering::Relaxed);
    }
    let rest = chunks.remainder();
    if let (false, Some(slot)) = (rest.is_empty(), words.next()) {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        slot.store(u64::from_ne_bytes(word), Ordering::Relaxed);
    }
}

/// Appends `len` bytes from the start of `words` to `out`, or as many as the words hold.
pub fn from_shared(words: &[AtomicU64], len: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + len.min(words.len() * 8), 0);
    let mut words = words.iter();
    let mut chunks = out[start..].chunks_exact_mut(8);
    for (chunk, slot) in chunks.by_ref().zip(&mut words) {
        chunk.copy_from_slice(&slot.load(Ordering::Relaxed).to_ne_bytes());
    }
    let rest = chunks.into_remainder();
    if let (false, Some(slot)) = (rest.is_empty(), words.next()) {
        rest.copy_from_slice(&slot.load(Ordering::Relaxed).to_ne_bytes()[..rest.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_survives_a_round_trip() {
        let words: Vec<AtomicU64> = (0..8).map(|_| AtomicU64::new(u64::MAX)).collect();
        for len in 0..=64 {
            let sent: Vec<u8> = (0..len as u8).collect();
            to_shared(&words, &sent);
            let mut got = vec![7];
            from_shared(&words, len, &mut got);
            assert_eq!(got[1..], sent[..]);
        }
    }

    #[test]
    fn copies_stop_at_the_last_word() {
        let words = [AtomicU64::new(0)];
        to_shared(&words, &[1; 20]);
        let mut got = Vec::new();
        from_shared(&words, 20, &mut got);
        assert_eq!(got, [1; 8]);
    }
}
