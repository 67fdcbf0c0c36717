//! Counters that never decrease, also when the switch process is killed and restarted.
//!
//! The switch counts from 0 at each start. A memory-mapped file has each counter's last polled
//! value, and a restart continues from it. The kernel writes the file, so a killed process loses
//! only what it counted since the last poll, and nothing that a reader has seen.
use crate::error::{Code, TargetError, WriteError, refuse};
use crate::model::Target;
use martlet_p4c_swx::P4Info;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Packets and bytes of one counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The file, with a slot per counter.
struct Stored {
    file: Option<std::fs::File>,
    /// By array and index: the base value (from the file, or set by a controller) minus what the
    /// switch had counted at that time.
    base: Vec<Vec<(i128, i128)>>,
    last: Vec<Vec<Count>>,
}

/// The counters of a switch.
pub struct Counters {
    info: P4Info,
    target: Arc<dyn Target>,
    stored: Mutex<Stored>,
}

const SLOT: u64 = 16;

impl Counters {
    /// The counters of a switch that has just started. Creates the file if it is missing.
    pub fn open(
        info: P4Info,
        target: Arc<dyn Target>,
        path: Option<&Path>,
    ) -> std::io::Result<Counters> {
        let file = path
            .map(|path| {
                OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
            })
            .transpose()?;
        let sizes: Vec<usize> = info.counters.iter().map(|counter| counter.size as usize).collect();
        let mut base: Vec<Vec<(i128, i128)>> =
            sizes.iter().map(|size| vec![(0, 0); *size]).collect();
        let mut last: Vec<Vec<Count>> =
            sizes.iter().map(|size| vec![Count::default(); *size]).collect();
        if let Some(file) = &file {
            let all = sizes.iter().sum::<usize>() * SLOT as usize;
            let mut bytes = vec![0; all];
            let present = (file.metadata()?.len() as usize).min(all);
            file.read_exact_at(&mut bytes[..present], 0)?;
            file.set_len(all as u64)?;
            let mut pairs = bytes.chunks_exact(SLOT as usize).map(|pair| Count {
                packets: u64::from_le_bytes(pair[..8].try_into().expect("8 bytes")),
                bytes: u64::from_le_bytes(pair[8..].try_into().expect("8 bytes")),
            });
            for (base, last) in base.iter_mut().zip(&mut last) {
                for ((base, last), count) in base.iter_mut().zip(last.iter_mut()).zip(&mut pairs) {
                    *last = count;
                    *base = (count.packets.into(), count.bytes.into());
                }
            }
        }
        Ok(Counters { info, target, stored: Mutex::new(Stored { file, base, last }) })
    }

    fn check(&self, counter: usize, index: u32) -> Result<(), WriteError> {
        let array = &self.info.counters[counter];
        match index < array.size {
            true => Ok(()),
            false => refuse(
                Code::InvalidArgument,
                format!("the counters of {} are 0 to {}", array.alias, array.size - 1),
            ),
        }
    }

    /// Reads a counter.
    pub fn read(&self, counter: usize, index: u32) -> Result<Count, WriteError> {
        self.check(counter, index)?;
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.poll_one(&mut stored, counter, index)?)
    }

    fn poll_one(
        &self,
        stored: &mut Stored,
        counter: usize,
        index: u32,
    ) -> Result<Count, TargetError> {
        let (packets, bytes) = self.target.counter(counter, index)?;
        let n = index as usize;
        let base = stored.base[counter][n];
        let whole = |base: i128, counted: u64| (base + i128::from(counted)).max(0) as u64;
        let count = Count { packets: whole(base.0, packets), bytes: whole(base.1, bytes) };
        if count != stored.last[counter][n] {
            stored.last[counter][n] = count;
            self.store(stored, counter, n, count);
        }
        Ok(count)
    }

    fn store(&self, stored: &Stored, counter: usize, n: usize, count: Count) {
        if let Some(file) = &stored.file {
            let before: u64 =
                self.info.counters[..counter].iter().map(|array| u64::from(array.size)).sum();
            let bytes = [count.packets.to_le_bytes(), count.bytes.to_le_bytes()].concat();
            if let Err(error) = file.write_all_at(&bytes, (before + n as u64) * SLOT) {
                tracing::warn!(
                    %error,
                    "counter not stored: it may decrease after a restart of the switch"
                );
            }
        }
    }

    /// Sets a counter, which continues from there.
    pub fn write(&self, counter: usize, index: u32, to: Count) -> Result<(), WriteError> {
        self.check(counter, index)?;
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        let (packets, bytes) = self.target.counter(counter, index)?;
        let n = index as usize;
        stored.base[counter][n] = (
            i128::from(to.packets) - i128::from(packets),
            i128::from(to.bytes) - i128::from(bytes),
        );
        stored.last[counter][n] = to;
        self.store(&stored, counter, n, to);
        Ok(())
    }

    /// Polls some counters of each array, which bounds the loss when the process is killed.
    pub fn poll(&self, indexes: &BTreeSet<u32>) {
        let indexes: Vec<u32> = indexes.iter().copied().collect();
        for (counter, array) in self.info.counters.iter().enumerate() {
            for some in indexes.chunks(1024) {
                // Readers may take the lock between two chunks.
                let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
                for index in some.iter().filter(|index| **index < array.size) {
                    if self.poll_one(&mut stored, counter, *index).is_err() {
                        return;
                    }
                }
            }
        }
    }
}
