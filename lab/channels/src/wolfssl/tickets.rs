//! Session tickets of an LMF that accepts early data, each valid for one connection. The session's
//! data stays in the LMF's memory; the ticket is a random key to it that is removed at its first
//! use, so a replayed ClientHello finds no session. wolfSSL's own tickets are self-contained and
//! would be accepted more than once.

use std::collections::{HashMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};
use wolfssl_sys as sys;

const NAME: usize = sys::WOLFSSL_TICKET_NAME_SZ as usize;
const IV: usize = sys::WOLFSSL_TICKET_IV_SZ as usize;
const MAC: usize = sys::WOLFSSL_TICKET_MAC_SZ as usize;

/// The ticket: a random key to the stored session.
type Name = [u8; NAME + IV];

/// Sessions whose tickets were not used yet.
pub(super) struct Tickets {
    sessions: Mutex<Sessions>,
    capacity: usize,
}

#[derive(Default)]
struct Sessions {
    by_name: HashMap<Name, Vec<u8>>,
    /// The oldest first; may include removed sessions.
    order: VecDeque<Name>,
}

impl Tickets {
    /// Stores at most `capacity` sessions and then removes the oldest.
    pub(super) fn new(capacity: usize) -> Self {
        Tickets { sessions: Mutex::default(), capacity }
    }

    fn insert(&self, data: &[u8]) -> Option<Name> {
        let mut name = [0; NAME + IV];
        aws_lc_rs::rand::fill(&mut name).ok()?;
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        while sessions.order.len() >= self.capacity {
            let oldest = sessions.order.pop_front()?;
            sessions.by_name.remove(&oldest);
        }
        sessions.order.push_back(name);
        sessions.by_name.insert(name, data.to_vec());
        Some(name)
    }

    fn take(&self, name: &Name) -> Option<Vec<u8>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).by_name.remove(name)
    }
}

/// wolfSSL's callback that encrypts a new ticket or decrypts a received one.
///
/// # Safety
/// The pointers and lengths are as wolfSSL documents them; the last pointer is to [`Tickets`].
pub(super) unsafe extern "C" fn ticket(
    _: *mut sys::WOLFSSL,
    name: *mut u8,
    iv: *mut u8,
    mac: *mut u8,
    is_made: c_int,
    data: *mut u8,
    length: c_int,
    out: *mut c_int,
    tickets: *mut c_void,
) -> c_int {
    let rejected = sys::TicketEncRet_WOLFSSL_TICKET_RET_REJECT as c_int;
    let Ok(length) = usize::try_from(length) else { return rejected };
    // SAFETY: the caller's contract; no other code uses these buffers during the call.
    let (tickets, name, iv, mac, data, out) = unsafe {
        (
            &*tickets.cast::<Tickets>(),
            std::slice::from_raw_parts_mut(name, NAME),
            std::slice::from_raw_parts_mut(iv, IV),
            std::slice::from_raw_parts_mut(mac, MAC),
            std::slice::from_raw_parts_mut(data, length),
            &mut *out,
        )
    };
    if is_made != 0 {
        let Some(made) = tickets.insert(data) else { return rejected };
        name.copy_from_slice(&made[..NAME]);
        iv.copy_from_slice(&made[NAME..]);
        // wolfSSL rejects a ticket without a MAC. The ticket is random and needs no protection.
        mac.fill(1);
        data.fill(0);
        *out = length as c_int;
    } else {
        let mut key = [0; NAME + IV];
        key[..NAME].copy_from_slice(name);
        key[NAME..].copy_from_slice(iv);
        let Some(session) = tickets.take(&key).filter(|session| session.len() <= length) else {
            return rejected;
        };
        data[..session.len()].copy_from_slice(&session);
        *out = session.len() as c_int;
    }
    sys::TicketEncRet_WOLFSSL_TICKET_RET_OK as c_int
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_returned_once_and_the_oldest_is_evicted() {
        let tickets = Tickets::new(2);
        let names: Vec<Name> = (0..3).filter_map(|n| tickets.insert(&[n; 40])).collect();
        assert_eq!(tickets.take(&names[0]), None, "evicted at the capacity of two");
        assert_eq!(tickets.take(&names[2]), Some(vec![2; 40]));
        assert_eq!(tickets.take(&names[2]), None, "already used");
        assert_eq!(tickets.take(&names[1]), Some(vec![1; 40]));
        assert_eq!(tickets.take(&[7; NAME + IV]), None, "never issued");
    }
}
