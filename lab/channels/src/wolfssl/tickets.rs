//! Tickets of an LMF that takes octets with the first flight, each good for one connection: what a
//! ticket says stays in the LMF's memory and is given away once, so that a flight that is sent
//! again finds nothing. wolfSSL's own tickets carry all that they say, and would be taken as often
//! as they come.

use std::collections::{HashMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};
use wolfssl_sys as sys;

const NAME: usize = sys::WOLFSSL_TICKET_NAME_SZ as usize;
const IV: usize = sys::WOLFSSL_TICKET_IV_SZ as usize;
const MAC: usize = sys::WOLFSSL_TICKET_MAC_SZ as usize;

/// What the UE has instead of what the ticket says: nobody guesses it.
type Name = [u8; NAME + IV];

/// Those that nobody has come back with.
pub(super) struct Tickets {
    kept: Mutex<Kept>,
    most: usize,
}

#[derive(Default)]
struct Kept {
    said: HashMap<Name, Vec<u8>>,
    /// The oldest first; also some that are not kept any more.
    order: VecDeque<Name>,
}

impl Tickets {
    /// So many at the most; the oldest goes.
    pub(super) fn new(most: usize) -> Self {
        Tickets { kept: Mutex::default(), most }
    }

    fn keep(&self, said: &[u8]) -> Option<Name> {
        let mut name = [0; NAME + IV];
        aws_lc_rs::rand::fill(&mut name).ok()?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        while kept.order.len() >= self.most {
            let oldest = kept.order.pop_front()?;
            kept.said.remove(&oldest);
        }
        kept.order.push_back(name);
        kept.said.insert(name, said.to_vec());
        Some(name)
    }

    fn take(&self, name: &Name) -> Option<Vec<u8>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).said.remove(name)
    }
}

/// wolfSSL's callback: a ticket is made, or comes back.
///
/// # Safety
/// The pointers are to as much room as wolfSSL's documentation says, and the last one is to
/// [`Tickets`].
pub(super) unsafe extern "C" fn ticket(
    _: *mut sys::WOLFSSL,
    name: *mut u8,
    iv: *mut u8,
    mac: *mut u8,
    is_made: c_int,
    said: *mut u8,
    length: c_int,
    out: *mut c_int,
    tickets: *mut c_void,
) -> c_int {
    let refused = sys::TicketEncRet_WOLFSSL_TICKET_RET_REJECT as c_int;
    let Ok(length) = usize::try_from(length) else { return refused };
    // SAFETY: the caller's promise; nothing else uses this room during the call.
    let (tickets, name, iv, mac, said, out) = unsafe {
        (
            &*tickets.cast::<Tickets>(),
            std::slice::from_raw_parts_mut(name, NAME),
            std::slice::from_raw_parts_mut(iv, IV),
            std::slice::from_raw_parts_mut(mac, MAC),
            std::slice::from_raw_parts_mut(said, length),
            &mut *out,
        )
    };
    if is_made != 0 {
        let Some(made) = tickets.keep(said) else { return refused };
        name.copy_from_slice(&made[..NAME]);
        iv.copy_from_slice(&made[NAME..]);
        // wolfSSL wants to see that something was done with it. There is nothing in it to protect.
        mac.fill(1);
        said.fill(0);
        *out = length as c_int;
    } else {
        let mut back = [0; NAME + IV];
        back[..NAME].copy_from_slice(name);
        back[NAME..].copy_from_slice(iv);
        let Some(kept) = tickets.take(&back).filter(|kept| kept.len() <= length) else {
            return refused;
        };
        said[..kept.len()].copy_from_slice(&kept);
        *out = kept.len() as c_int;
    }
    sys::TicketEncRet_WOLFSSL_TICKET_RET_OK as c_int
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_ticket_says_is_given_away_once_and_the_oldest_goes() {
        let tickets = Tickets::new(2);
        let names: Vec<Name> = (0..3).filter_map(|n| tickets.keep(&[n; 40])).collect();
        assert_eq!(tickets.take(&names[0]), None, "there was room for two");
        assert_eq!(tickets.take(&names[2]), Some(vec![2; 40]));
        assert_eq!(tickets.take(&names[2]), None, "it was taken");
        assert_eq!(tickets.take(&names[1]), Some(vec![1; 40]));
        assert_eq!(tickets.take(&[7; NAME + IV]), None, "nobody was given it");
    }
}
