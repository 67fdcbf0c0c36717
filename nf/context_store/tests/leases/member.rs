//! A member of the set, as a process of its own with a wall clock of its own.
use crate::Random;
use crate::history::{self, Kind, Recorder, now};
use martlet_context_store::{ContextStore, ContextStoreConfig, PeerContexts, SetContexts};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub const LEASE_MS: u32 = 500;
pub const MEMBERS: usize = 3;
pub const CONTEXTS: u32 = 6;

/// What the process gets: its number, the folder of the history, the database's URL, and a seed.
const VARIABLES: [&str; 4] =
    ["MARTLET_MEMBER", "MARTLET_HISTORY", "MARTLET_DATABASE", "MARTLET_MEMBER_SEED"];

/// The name under which a member stores contexts.
pub fn owner(member: usize) -> String {
    format!("amf-chaos-{member}")
}

/// The configuration of a member with this database.
pub fn config(database: &str, folder: &Path) -> ContextStoreConfig {
    ContextStoreConfig {
        database: database.to_string(),
        key_file: folder.join("operator.key").display().to_string(),
        lease_ms: LEASE_MS,
        ..ContextStoreConfig::default()
    }
}

/// The library that shifts the wall clock of a process, if it is installed.
fn clock_library() -> Option<PathBuf> {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"];
    let files = folders.map(|folder| Path::new(folder).join("faketime/libfaketime.so.1"));
    files.into_iter().find(|file| file.exists())
}

/// A running member.
pub struct Member {
    pub number: usize,
    folder: PathBuf,
    database: String,
    process: Child,
    /// Whether its wall clock can be set.
    pub has_clock: bool,
}

impl Member {
    /// Starts a member. Its history and the file of its wall clock are in `folder`.
    pub fn start(number: usize, folder: &Path, database: &str, seed: u64) -> Member {
        set_clock(folder, number, 0);
        let process = spawn(number, folder, database, seed);
        let (folder, database) = (folder.to_path_buf(), database.to_string());
        Member { number, folder, database, process, has_clock: clock_library().is_some() }
    }

    /// Sets its wall clock this many seconds ahead of the machine's, or behind it.
    pub fn set_clock(&self, seconds: i64) {
        set_clock(&self.folder, self.number, seconds);
    }

    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        let process = nix::unistd::Pid::from_raw(self.process.id() as i32);
        nix::sys::signal::kill(process, signal).expect("the member gets the signal");
    }

    /// Kills it and starts it again.
    pub fn restart(&mut self, seed: u64) {
        self.end();
        self.process = spawn(self.number, &self.folder, &self.database, seed);
    }

    /// The member that took a context over last.
    pub fn last_owner(&self) -> usize {
        let all = history::read(&self.folder, MEMBERS);
        let takeovers = all.iter().filter(|operation| operation.kind == Kind::TookOver);
        takeovers.max_by_key(|operation| operation.ended).map_or(0, |last| last.member)
    }

    /// Whether the process has not ended by itself.
    pub fn is_running(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.end();
    }
}

fn clock_file(folder: &Path, member: usize) -> PathBuf {
    folder.join(format!("clock-{member}"))
}

fn set_clock(folder: &Path, member: usize, seconds: i64) {
    std::fs::write(clock_file(folder, member), format!("{seconds:+}s\n")).expect("its clock");
}

fn spawn(number: usize, folder: &Path, database: &str, seed: u64) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["member::process", "--exact", "--ignored", "--nocapture"]);
    let values = [number.to_string(), folder.display().to_string(), database.into()];
    command.envs(VARIABLES.into_iter().zip(values.into_iter().chain([seed.to_string()])));
    if let Some(library) = clock_library() {
        command.env("LD_PRELOAD", library).env("FAKETIME_NO_CACHE", "1");
        command.env("FAKETIME_TIMESTAMP_FILE", clock_file(folder, number));
        // Monotonic clocks of machines differ in their origin only.
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
    }
    let log = std::fs::File::create(folder.join(format!("log-{number}"))).expect("a log");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("a member")
}

#[test]
#[ignore = "started by another test, which kills it"]
fn process() {
    let [Ok(number), Ok(folder), Ok(database), Ok(seed)] = VARIABLES.map(std::env::var) else {
        return;
    };
    let number = number.parse().expect("a number");
    live(number, Path::new(&folder), &database, Random(seed.parse().expect("a seed")));
}

/// Tries until the database answers.
fn until_open<T>(open: impl Fn() -> Option<T>) -> T {
    loop {
        match open() {
            Some(opened) => return opened,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Acts on what it holds, is idle now and then, and takes contexts over, until it is killed.
fn live(member: usize, folder: &Path, database: &str, mut random: Random) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (config, mut recorder) = (config(database, folder), Recorder::open(folder, member));
    let mut held: BTreeSet<u32> = BTreeSet::new();
    let (store, begun, stored) = until_open(|| {
        let begun = now();
        let (store, stored) = ContextStore::open(&config, &owner(member)).ok()?;
        Some((store, begun, stored))
    });
    for number in stored.iter().filter_map(|(id, _)| id.parse().ok()) {
        recorder.record(number, Kind::TookOver, begun);
        held.insert(number);
    }
    let set = until_open(|| SetContexts::open(&config, Some(&owner(member))).ok());
    loop {
        for id in held.clone() {
            let begun = now();
            let limit = Duration::from_millis(50);
            let owns = async { tokio::time::timeout(limit, store.is_owner(id)).await };
            match runtime.block_on(owns) {
                Ok(true) => {
                    recorder.record(id, Kind::Acted, begun);
                    store.put(id.to_string(), id.to_be_bytes().to_vec());
                }
                Ok(false) => drop(held.remove(&id)),
                // Without the database it may not act.
                Err(_) => break,
            }
        }
        match random.below(40) {
            0 => std::thread::sleep(Duration::from_millis(u64::from(LEASE_MS) * 2)),
            1..8 => {
                let other = (member + 1 + random.below(MEMBERS as u64 - 1) as usize) % MEMBERS;
                take_over(&mut recorder, &set.peer(&owner(other)), &store, &mut held);
            }
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn take_over(
    recorder: &mut Recorder,
    peer: &PeerContexts,
    store: &ContextStore,
    held: &mut BTreeSet<u32>,
) {
    let ids: Vec<String> = (0..CONTEXTS).map(|id| id.to_string()).collect();
    let begun = now();
    // What a failed attempt has taken over is returned by a later one.
    let Ok(taken) = peer.take_over_all(&ids) else { return };
    for (id, value) in taken {
        let Ok(number) = id.parse() else { continue };
        recorder.record(number, Kind::TookOver, begun);
        store.regain(&id);
        store.put(id, value);
        held.insert(number);
    }
}
