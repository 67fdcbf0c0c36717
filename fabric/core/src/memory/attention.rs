//! When one end of a channel has to ring the other's bell, and when it may spare itself the system
//! call.
//!
//! Each end has two flags. *Asleep*: it waits for its bell, and wants to hear of anything new.
//! *Starved*: it has something to send and neither slot nor buffer for it, and wants to hear of
//! what is given back. Who raises a flag looks once more at the rings afterwards; who changes a
//! ring looks at the flag afterwards. With a full fence between the two steps on both sides, at
//! least one of them sees what the other did, and no wake-up is lost.
use super::ring::Line;
use crate::sync::{Ordering, fence};

/// The flags of one end. Both ends write them: the owner raises, either lowers. Every write is a
/// swap, so that all writes of a flag stand in one order that both ends can follow.
#[repr(C)]
#[derive(Default)]
pub struct Attention {
    asleep: Line,
    starved: Line,
}

impl Attention {
    /// The owner is about to sleep. It must look at its rings once more before it does.
    pub fn sleep(&self) {
        self.asleep.0.swap(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The owner is awake and looks at its rings without being told.
    pub fn wake(&self) {
        self.asleep.0.swap(0, Ordering::Relaxed);
    }

    /// The owner waits for slots or buffers. It must try once more before it relies on being told.
    pub fn starve(&self) {
        self.starved.0.swap(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The other end has published something: whether the owner's bell has to be rung for it.
    pub fn after_sending(&self) -> bool {
        fence(Ordering::SeqCst);
        lower(&self.asleep)
    }

    /// The other end has given something back: whether the owner's bell has to be rung for it.
    pub fn after_returning(&self) -> bool {
        fence(Ordering::SeqCst);
        lower(&self.starved)
    }
}

/// Lowers a flag, so that one bell is rung for one flag raised; looks first, since a look is cheap.
fn lower(flag: &Line) -> bool {
    flag.0.load(Ordering::Relaxed) != 0 && flag.0.swap(0, Ordering::Relaxed) != 0
}
