//! Contexts of a network function, kept so that it can be killed and started again.
//!
//! A function hands over what it knows, and goes on: a thread writes what has changed a moment
//! later, many contexts in one transaction, and of a context that changed several times the last. A
//! function that is killed loses what it learnt within that moment ([`Journal::interval`]); one
//! that ends in order loses nothing. Values are sealed with the operator's key, since they hold
//! keys of UEs.
//!
//! Functions of a set have one place. Before a function acts for a context it asks
//! [`Journal::is_ours`], which costs a look at a clock as long as the function writes or asks now
//! and then: another one may have taken the context for that of a function which is gone.
use crate::database::{Database, Look, Member};
use crate::fence::{Fence, Moment, Says};
use crate::seal::Seal;
use crate::{Place, StoreError};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;

/// What makes the value of a context when it is written.
type Make = Box<dyn FnOnce() -> Option<Vec<u8>> + Send>;

/// Rows that are written in one transaction.
const MOST_AT_ONCE: usize = 2000;
/// Between attempts to write to a database that fails.
const PAUSE: Duration = Duration::from_millis(500);
/// How long the end of a function waits for a database that fails.
const LAST_ATTEMPTS: u32 = 3;

/// Leases between the looks of a member of a set that has nothing to do.
const LEASES_AT_REST: u32 = 3;

/// How a journal keeps time.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// What changes is written after this.
    pub interval: Duration,
    /// For how long after a write nobody else takes a context.
    pub lease: Duration,
}

#[derive(Default)]
struct Waiting {
    /// The last value of each context that has changed; none for one that is gone.
    changed: HashMap<String, Option<Make>>,
    /// Changes handed over, and changes written.
    handed_over: u64,
    written: u64,
    /// Somebody wants to know at once what others have taken.
    asked: bool,
    ending: bool,
}

struct Shared {
    waiting: Mutex<Waiting>,
    stirred: Condvar,
    written: Condvar,
    failures: AtomicU64,
    interval: Duration,
    fence: Fence,
}

impl Shared {
    fn ask(&self) {
        let mut waiting = self.waiting();
        if !waiting.asked {
            waiting.asked = true;
            self.stirred.notify_one();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// A function's contexts. Dropped, it writes what is left.
pub struct Journal {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// The contexts that were kept, by their identity.
pub type Kept = Vec<(String, Vec<u8>)>;

impl Journal {
    /// Opens a place, and gives the contexts that this owner has there.
    ///
    /// # Errors
    /// The database cannot be opened, or holds contexts that were sealed with another key.
    pub fn open(
        place: &Place,
        key_file: Option<&Path>,
        owner: &str,
        timing: Timing,
    ) -> Result<(Journal, Kept), StoreError> {
        let seal = Seal::at(place, key_file)?;
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            stirred: Condvar::new(),
            written: Condvar::new(),
            failures: AtomicU64::new(0),
            interval: timing.interval,
            fence: Fence::new(timing.lease),
        });
        let (sender, loaded) = std::sync::mpsc::channel();
        let (place, owner, writer) = (place.clone(), owner.to_string(), shared.clone());
        let work = move || {
            let opened = Database::open(&place).and_then(|mut database| {
                let open = |(id, value): (String, Vec<u8>)| {
                    let value = seal.open(&format!("{owner}/{id}"), &value)?;
                    Ok((id, value))
                };
                let kept = database
                    .load(&owner)?
                    .into_iter()
                    .map(open)
                    .collect::<Result<Kept, StoreError>>()?;
                Ok((database, kept))
            });
            match opened {
                Ok((database, kept)) => {
                    let _ = sender.send(Ok(kept));
                    let member = Member { owner, epoch: None, lease: timing.lease };
                    Writer { database, member, seal, alone: None, shared: writer }.run();
                }
                Err(error) => {
                    let _ = sender.send(Err(error));
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("journal".into())
            .spawn(work)
            .map_err(|_| StoreError::Ended)?;
        let kept = loaded.recv().map_err(|_| StoreError::Ended)??;
        Ok((Journal { shared, thread: Some(thread) }, kept))
    }

    /// Keeps a context from now on, in place of what was kept of it.
    pub fn put(&self, id: impl Into<String>, value: Vec<u8>) {
        self.put_later(id, || Some(value));
    }

    /// The same with a value that is made when it is written, in the journal's thread: of a context
    /// that changes several times until then only the last one. One that makes none leaves what
    /// was kept before.
    pub fn put_later(
        &self,
        id: impl Into<String>,
        make: impl FnOnce() -> Option<Vec<u8>> + Send + 'static,
    ) {
        self.hand_over(id.into(), Some(Box::new(make)));
    }

    /// Keeps a context no more.
    pub fn remove(&self, id: impl Into<String>) {
        self.hand_over(id.into(), None);
    }

    fn hand_over(&self, id: String, value: Option<Make>) {
        let mut waiting = self.shared.waiting();
        let first = waiting.changed.is_empty();
        waiting.handed_over += 1;
        let before = waiting.changed.insert(id, value);
        drop(waiting);
        // The thread waits for the first alone, and finds the others when it writes.
        if first {
            self.shared.stirred.notify_one();
        }
        drop(before);
    }

    /// Waits until everything that was handed over is written, or the time is over: whether it is.
    /// Blocks the thread.
    pub fn flush(&self, patience: Duration) -> bool {
        let waiting = self.shared.waiting();
        let until = waiting.handed_over;
        let (waiting, _) = self
            .shared
            .written
            .wait_timeout_while(waiting, patience, |waiting| waiting.written < until)
            .unwrap_or_else(|e| e.into_inner());
        waiting.written >= until
    }

    /// Whether this function still has a context, or none has it yet. Returns at once where the
    /// database has seen this function within its lease; else waits until it does.
    pub async fn is_ours(&self, id: impl std::fmt::Display) -> bool {
        let says = || self.shared.fence.says(&id);
        match says() {
            Says::Ours => return true,
            Says::Others => return false,
            Says::OursStill => {
                self.shared.ask();
                return true;
            }
            Says::Ask => {}
        }
        let mut looks = self.shared.fence.looks();
        loop {
            looks.mark_unchanged();
            self.shared.ask();
            match says() {
                Says::Others => return false,
                Says::Ours | Says::OursStill => return true,
                // The writer is there as long as the journal is.
                Says::Ask if looks.changed().await.is_err() => return true,
                Says::Ask => {}
            }
        }
    }

    /// A context that was another function's is this one's now, by a claim: also one that was taken
    /// from this one before.
    pub fn adopt(&self, id: &str) {
        self.shared.fence.has_again(id);
    }

    /// Is told of each context that another function has taken, in the journal's thread.
    pub fn on_taken(&self, told: impl Fn(&str) + Send + Sync + 'static) {
        self.shared.fence.on_taken(Box::new(told));
    }

    /// Tells of each context that another function has taken, and returns when there is a later
    /// process of this name, which has all of them.
    pub async fn watch(&self, mut taken: impl FnMut(&str)) {
        let (sender, mut ids) = mpsc::unbounded_channel();
        self.on_taken(move |id| {
            let _ = sender.send(id.to_string());
        });
        loop {
            tokio::select! {
                () = self.shared.fence.deposed() => return,
                Some(id) = ids.recv() => taken(&id),
            }
        }
    }

    /// How old the changes may be that are not written yet: what a function that is killed may
    /// lose.
    pub fn interval(&self) -> Duration {
        self.shared.interval
    }

    /// Changes that are not written yet, and attempts to write that failed.
    pub fn standing(&self) -> (u64, u64) {
        let waiting = self.shared.waiting();
        (waiting.handed_over - waiting.written, self.shared.failures.load(Ordering::Relaxed))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.shared.waiting().ending = true;
        self.shared.stirred.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Writer {
    database: Database,
    member: Member,
    seal: Seal,
    /// Whether there was no other member when the database was last reached, where it was.
    alone: Option<bool>,
    shared: Arc<Shared>,
}

impl Writer {
    fn run(mut self) {
        loop {
            let ending = {
                let waiting = self.shared.waiting();
                let idle = |waiting: &mut Waiting| {
                    waiting.changed.is_empty() && !waiting.ending && !waiting.asked
                };
                // A member of a set with nothing to do looks now and then whether it has been taken
                // for gone.
                let patience = if self.alone == Some(false) {
                    self.member.lease * LEASES_AT_REST
                } else {
                    Duration::MAX
                };
                let rested = self.shared.stirred.wait_timeout_while(waiting, patience, idle);
                let (waiting, _) = rested.unwrap_or_else(|e| e.into_inner());
                // Others come within the interval, and are written with the first.
                let interval =
                    if waiting.changed.is_empty() { Duration::ZERO } else { self.shared.interval };
                let moment = self
                    .shared
                    .stirred
                    .wait_timeout_while(waiting, interval, |w| !w.ending && !w.asked);
                let (mut waiting, _) = moment.unwrap_or_else(|e| e.into_inner());
                if waiting.ending && waiting.changed.is_empty() {
                    break;
                }
                waiting.asked = false;
                waiting.ending
            };
            self.write_all(ending);
        }
        // Whoever is next need not wait.
        let _ = self.database.leave(&self.member);
    }

    fn write_all(&mut self, ending: bool) {
        let (changed, counted) = {
            let mut waiting = self.shared.waiting();
            (std::mem::take(&mut waiting.changed), waiting.handed_over)
        };
        let owner = &self.member.owner;
        let sealed = changed.into_iter().filter_map(|(id, value)| match value {
            None => Some((id, None)),
            // Sealing fails for want of random numbers alone.
            Some(make) => {
                let value =
                    make().and_then(|value| self.seal.seal(&format!("{owner}/{id}"), &value).ok());
                value.map(|value| (id, Some(value)))
            }
        });
        // What others have is theirs to write.
        let sealed: Vec<_> = sealed.filter(|(id, _)| !self.shared.fence.has_lost(id)).collect();
        // One batch without anything is a look.
        let batches = sealed.chunks(MOST_AT_ONCE).chain(sealed.is_empty().then_some(&[][..]));
        for batch in batches {
            let mut attempts = 0;
            while let Err(error) = self.write(batch) {
                attempts += 1;
                if self.shared.failures.fetch_add(1, Ordering::Relaxed) == 0 {
                    eprintln!("martlet: contexts of {} are not kept: {error}", self.member.owner);
                }
                let alone = self.alone == Some(true);
                self.shared.fence.failed(alone);
                if (ending || self.shared.waiting().ending) && attempts >= LAST_ATTEMPTS {
                    break;
                }
                if batch.is_empty() && alone {
                    break;
                }
                std::thread::sleep(PAUSE);
            }
        }
        self.shared.waiting().written = counted;
        self.shared.written.notify_all();
    }

    fn write(&mut self, batch: &[(String, Option<Vec<u8>>)]) -> Result<(), StoreError> {
        let began = Moment::now();
        match self.database.write(&mut self.member, batch)? {
            Look::Ours { taken, alone } => {
                self.alone = Some(alone);
                self.shared.fence.looked(began, &taken);
            }
            Look::Deposed => {
                eprintln!(
                    "martlet: there is a later process that keeps contexts of {}",
                    self.member.owner
                );
                self.shared.fence.depose();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn a_value_is_made_once_when_it_is_written_and_one_that_is_not_made_leaves_the_one_before() {
        let folder = std::env::temp_dir().join(format!("martlet-journal-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (place, key) =
            (Place::File(folder.join("martlet.amf.db")), folder.join("operator.key"));
        let timing = Timing { interval: Duration::from_millis(200), lease: Duration::from_secs(1) };
        let open = || Journal::open(&place, Some(&key), "amf", timing).unwrap();
        let (journal, _) = open();
        let made = Arc::new(AtomicUsize::new(0));
        for octet in 0..10 {
            let made = made.clone();
            journal.put_later("1", move || {
                made.fetch_add(1, Ordering::Relaxed);
                Some(vec![octet])
            });
        }
        assert_eq!(made.load(Ordering::Relaxed), 0, "not before it is written");
        assert!(journal.flush(Duration::from_secs(10)));
        assert_eq!(made.load(Ordering::Relaxed), 1);
        journal.put_later("1", || None);
        drop(journal);
        assert_eq!(open().1, [("1".to_string(), vec![9])]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
