//! The latest events of all UEs, read from the ends of the history files.
use martlet::ue_history;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Events that are kept.
const MAX_EVENTS: usize = 4096;
/// Bytes of a file that are read at once, and at the start.
const MAX_READ: u64 = 1 << 20;
const AT_START: u64 = 64 << 10;

/// How far a file was read.
#[derive(Debug, Clone, Copy, Default)]
struct Reached {
    inode: u64,
    offset: u64,
}

#[derive(Default)]
struct State {
    files: BTreeMap<PathBuf, Reached>,
    /// Lines, which take a tenth of the memory of parsed values.
    events: VecDeque<(u64, Box<str>)>,
    last: u64,
}

/// The tail of the history files.
#[derive(Default)]
pub struct EventTail(Mutex<State>);

impl EventTail {
    /// The events after a position, and the position after them, from `file` and the files of the
    /// functions beside it.
    pub fn after(&self, file: &Path, position: u64) -> (Vec<Value>, u64) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for path in files(file) {
            read(&mut state, path);
        }
        let start = state.events.partition_point(|(number, _)| *number <= position);
        let parsed = |(_, line): &(u64, Box<str>)| serde_json::from_str(line).ok();
        let events = state.events.range(start..).filter_map(parsed).collect();
        (events, state.last)
    }
}

/// The current history files, without older ones.
fn files(file: &Path) -> Vec<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let current = names.filter(|name| ue_history::is_current(file, name));
    current.map(|name| folder.join(name)).collect()
}

fn read(state: &mut State, path: PathBuf) {
    let Ok(mut open) = File::open(&path) else { return };
    let Ok(metadata) = open.metadata() else { return };
    let (inode, length) = (metadata.ino(), metadata.len());
    let mut at = match state.files.get(&path) {
        None => Reached { inode, offset: length.saturating_sub(AT_START) },
        // A new file began; the end of the old one may be lost here, and is in the UE's history.
        Some(known) if known.inode != inode || known.offset > length => {
            Reached { inode, offset: 0 }
        }
        Some(known) => *known,
    };
    if length.saturating_sub(at.offset) > MAX_READ {
        // The last read was long ago; older events are in the histories of the UEs.
        at.offset = length - MAX_READ;
    }
    let mut bytes = Vec::new();
    let read = open
        .seek(SeekFrom::Start(at.offset))
        .and_then(|_| open.take(MAX_READ).read_to_end(&mut bytes));
    // The last line may not be complete yet.
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    if read.is_ok() {
        for line in bytes[..whole].split(|byte| *byte == b'\n') {
            // The first line may begin in its middle.
            let Ok(event) = serde_json::from_slice::<Value>(line) else { continue };
            if !event["supi"].is_string() {
                continue;
            }
            state.last += 1;
            if state.events.len() >= MAX_EVENTS {
                state.events.pop_front();
            }
            let number = state.last;
            state.events.push_back((number, String::from_utf8_lossy(line).into()));
        }
        at.offset += whole as u64;
    }
    state.files.insert(path, at);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn new_lines_of_all_files_are_read_once() {
        let folder = std::env::temp_dir().join(format!("martlet-tail-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (one, two) = (folder.join("m.log"), folder.join("m.amf.history"));
        let event = |n: u64| format!("{{\"ms\": {n}, \"supi\": \"imsi-1\", \"what\": \"x\"}}\n");
        std::fs::write(&one, event(1)).unwrap();
        std::fs::write(&two, event(2)).unwrap();
        std::fs::write(folder.join("m.log.1"), event(0)).unwrap();
        let tail = EventTail::default();
        let (events, position) = tail.after(&one, 0);
        assert_eq!((events.len(), position), (2, 2));
        let mut open = std::fs::OpenOptions::new().append(true).open(&one).unwrap();
        write!(open, "{}{}", event(3), &event(4)[..10]).unwrap();
        let (events, position) = tail.after(&one, position);
        assert_eq!((events[0]["ms"].as_u64(), position), (Some(3), 3), "a whole line");
        assert_eq!(tail.after(&one, position), (Vec::new(), 3));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
