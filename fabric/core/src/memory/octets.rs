//! Octets in shared memory, which the peer may change at any moment: they are copied out before
//! anything reads them.
use crate::sync::{AtomicU64, Ordering};

/// Writes octets from a word on; what lies beyond the last word is cut off.
pub fn write(words: &[AtomicU64], octets: &[u8]) {
    let mut places = words.iter();
    let mut chunks = octets.chunks_exact(8);
    for (chunk, place) in chunks.by_ref().zip(&mut places) {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        place.store(u64::from_ne_bytes(word), Ordering::Relaxed);
    }
    let rest = chunks.remainder();
    if let (false, Some(place)) = (rest.is_empty(), places.next()) {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        place.store(u64::from_ne_bytes(word), Ordering::Relaxed);
    }
}

/// Appends `len` octets to `out`, or as many as the words hold.
pub fn read(words: &[AtomicU64], len: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + len.min(words.len() * 8), 0);
    let mut places = words.iter();
    let mut chunks = out[start..].chunks_exact_mut(8);
    for (chunk, place) in chunks.by_ref().zip(&mut places) {
        chunk.copy_from_slice(&place.load(Ordering::Relaxed).to_ne_bytes());
    }
    let rest = chunks.into_remainder();
    if let (false, Some(place)) = (rest.is_empty(), places.next()) {
        rest.copy_from_slice(&place.load(Ordering::Relaxed).to_ne_bytes()[..rest.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_comes_back() {
        let words: Vec<AtomicU64> = (0..8).map(|_| AtomicU64::new(u64::MAX)).collect();
        for len in 0..=64 {
            let sent: Vec<u8> = (0..len as u8).collect();
            write(&words, &sent);
            let mut got = vec![7];
            read(&words, len, &mut got);
            assert_eq!(got[1..], sent[..]);
        }
    }

    #[test]
    fn no_more_than_there_is() {
        let words = [AtomicU64::new(0)];
        write(&words, &[1; 20]);
        let mut got = Vec::new();
        read(&words, 20, &mut got);
        assert_eq!(got, [1; 8]);
    }
}
