//! The need-wakeup flags of one end of a channel. They let the peer skip the system call that
//! signals a doorbell while the owner is awake.
//!
//! The owner raises *receive* before it sleeps, and *send* when it has a frame but no free slot or
//! buffer. After it raises a flag, the owner checks the rings once more. After the peer changes a
//! ring, the peer checks the flag. A full fence between the two steps on both sides ensures that at
//! least one side sees the other's change, so no wakeup is lost.
use super::ring::CacheLine;
use crate::sync::{Ordering, fence};

/// The flags of one end. The owner raises them; either side clears them. Every write is a swap, so
/// all writes of one flag have a single order that both ends observe.
#[repr(C)]
#[derive(Default)]
pub struct NeedWakeup {
    receive: CacheLine,
    send: CacheLine,
}

impl NeedWakeup {
    /// The owner is about to sleep. It must check its rings once more before it does.
    pub fn arm_receive(&self) {
        self.receive.0.swap(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The owner is awake and polls its rings itself.
    pub fn disarm_receive(&self) {
        self.receive.0.swap(0, Ordering::Relaxed);
    }

    /// The owner waits for slots or buffers. It must try once more before it waits.
    pub fn arm_send(&self) {
        self.send.0.swap(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Called by the peer after it published descriptors. Returns whether to signal the owner.
    pub fn take_receive(&self) -> bool {
        fence(Ordering::SeqCst);
        clear(&self.receive)
    }

    /// Called by the peer after it returned slots or buffers. Returns whether to signal the owner.
    pub fn take_send(&self) -> bool {
        fence(Ordering::SeqCst);
        clear(&self.send)
    }
}

/// Clears a flag and returns whether it was set. Loads first, because a load is cheaper than a
/// swap.
fn clear(flag: &CacheLine) -> bool {
    flag.0.load(Ordering::Relaxed) != 0 && flag.0.swap(0, Ordering::Relaxed) != 0
}
