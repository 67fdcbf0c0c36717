//! The one lock around the library, and the clock that its timers run by.
//!
//! The library has global state, so all stacks of a process share it whatever their runtime or
//! thread. Whoever has work for it (a packet, a message, time gone by) enters, does the work on its
//! own thread and leaves: no thread in between, hence no wake-up of another core. Woken tasks are
//! told after the lock is released.
use super::core::Core;
use super::tables;
use crate::ffi::usrsctp::{Callbacks, Gate};
use crate::socket::Read;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How stale the library's clock may get while somebody works with it.
const GRAIN: Duration = Duration::from_millis(10);
/// Time without a packet or message after which the clock may tick slowly.
const CALM: Duration = Duration::from_secs(1);

struct Locked {
    gate: Gate,
    /// Time up to which timers have run; `None` until the library is started.
    ticked: Option<Instant>,
    /// Last packet or message.
    active: Option<Instant>,
    /// Where messages are read to, before they are as long as they need to be.
    scratch: Vec<u8>,
}

/// Octets read at once.
const SCRATCH: usize = 1 << 16;

static LOCKED: Mutex<Locked> = Mutex::new(Locked {
    gate: Gate::behind_a_lock(),
    ticked: None,
    active: None,
    scratch: Vec::new(),
});

/// Access to the library until dropped.
pub(super) struct Entered {
    locked: Option<MutexGuard<'static, Locked>>,
}

/// Starts the library if this is the first use.
pub(super) fn start() {
    let mut locked = LOCKED.lock().unwrap_or_else(PoisonError::into_inner);
    locked.gate.start(Callbacks { output: tables::output, ready: tables::ready });
    locked.ticked.get_or_insert_with(Instant::now);
    locked.scratch.resize(SCRATCH, 0);
}

/// Enters the library to work with it. Due timers run first, so that timers started now do not run
/// short.
pub(super) fn enter() -> Entered {
    let mut entered = look_in();
    let now = Instant::now();
    entered.advance(now, GRAIN);
    if let Some(locked) = &mut entered.locked {
        locked.active = Some(now);
    }
    entered
}

/// Enters without work: for looking and closing.
pub(super) fn look_in() -> Entered {
    Entered { locked: Some(LOCKED.lock().unwrap_or_else(PoisonError::into_inner)) }
}

/// Runs due timers. Returns after what time to do so again; `None` while there is nothing to time.
pub(super) fn tick() -> Option<Duration> {
    let mut entered = look_in();
    let now = Instant::now();
    entered.advance(now, GRAIN / 2);
    let active = entered.locked.as_ref().and_then(|locked| locked.active);
    if active.is_some_and(|active| now.saturating_duration_since(active) < CALM) {
        Some(GRAIN)
    } else if tables::lock().has_associations() {
        // Only heartbeats are due, which do not mind a tenth of a second.
        Some(GRAIN * 10)
    } else {
        None
    }
}

impl Entered {
    /// Reads an event, or appends a part of a message to `message`.
    pub(super) fn read(&mut self, core: &Core, message: &mut Vec<u8>) -> io::Result<Read> {
        let Some(locked) = &mut self.locked else { return Err(io::ErrorKind::WouldBlock.into()) };
        let Locked { gate, scratch, .. } = &mut **locked;
        let (read, data) = core.read(gate, scratch)?;
        message.extend_from_slice(data);
        Ok(read)
    }

    fn advance(&mut self, now: Instant, grain: Duration) {
        let Some(locked) = &mut self.locked else { return };
        let Some(ticked) = locked.ticked else { return };
        let passed = now.saturating_duration_since(ticked);
        if passed < grain {
            return;
        }
        let passed = Duration::from_millis(passed.as_millis().min(u32::MAX.into()) as u64);
        locked.ticked = Some(ticked + passed);
        locked.gate.advance(passed.as_millis() as u32);
    }
}

#[allow(clippy::expect_used)]
impl Deref for Entered {
    type Target = Gate;
    fn deref(&self) -> &Gate {
        &self.locked.as_ref().expect("held until drop").gate
    }
}

#[allow(clippy::expect_used)]
impl DerefMut for Entered {
    fn deref_mut(&mut self) -> &mut Gate {
        &mut self.locked.as_mut().expect("held until drop").gate
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let ready: Vec<Arc<Core>> = tables::lock().take_ready();
        let told: Vec<(Arc<Core>, bool, bool)> = ready
            .into_iter()
            .map(|core| {
                let (read, write) = core.events(self);
                (core, read, write)
            })
            .collect();
        // A core that goes here enters the library itself, so the lock goes first.
        self.locked = None;
        for (core, read, write) in told {
            core.signal(read, write);
        }
    }
}
