//! Sign-ins that wait for the browser to come back from the provider. Memory is bounded.
use crate::accounts;
use crate::problem::Failure;
use martlet_tasks::connections::origin;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a sign-in waits.
pub const LIFETIME: Duration = Duration::from_secs(600);
/// Sign-ins of one address, or of a /64 prefix, that wait. The oldest go first.
const MAX_OF_ADDRESS: usize = 16;
/// Sign-ins that wait.
const MAX: usize = 1000;

/// The state of a sign-in until the browser returns.
#[derive(Debug, Clone)]
pub struct SignIn {
    /// What the ID token repeats.
    pub nonce: String,
    /// The PKCE code verifier (RFC 7636).
    pub verifier: String,
    /// SHA-256 of the cookie of the browser that began.
    binding: String,
    /// See [`origin`].
    address: IpAddr,
    began: Instant,
}

/// The values of a sign-in that has begun.
#[derive(Debug, Clone)]
pub struct Begun {
    /// What the provider sends back with the code.
    pub state: String,
    /// What the ID token repeats.
    pub nonce: String,
    /// The PKCE code verifier.
    pub verifier: String,
    /// The cookie of the browser.
    pub binding: String,
}

/// Sign-ins by the SHA-256 of their state.
#[derive(Default)]
pub struct SignIns(Mutex<HashMap<String, SignIn>>);

impl SignIns {
    fn all(&self) -> MutexGuard<'_, HashMap<String, SignIn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a sign-in of a browser at an address.
    ///
    /// # Errors
    /// There are no random numbers.
    pub fn begin(&self, address: IpAddr, now: Instant) -> Result<Begun, Failure> {
        let address = origin(address);
        let begun = Begun {
            state: accounts::random_text()?,
            nonce: accounts::random_text()?,
            verifier: accounts::random_text()?,
            binding: accounts::random_text()?,
        };
        let mut all = self.all();
        all.retain(|_, waiting| now.saturating_duration_since(waiting.began) < LIFETIME);
        let of_address = all.values().filter(|waiting| waiting.address == address).count();
        if of_address >= MAX_OF_ADDRESS || all.len() >= MAX {
            let may_go = |waiting: &SignIn| of_address == 0 || waiting.address == address;
            let candidates = all.iter().filter(|(_, waiting)| may_go(waiting));
            let oldest = candidates.min_by_key(|(_, waiting)| waiting.began);
            if let Some(oldest) = oldest.map(|(state, _)| state.clone()) {
                all.remove(&oldest);
            }
        }
        let waiting = SignIn {
            nonce: begun.nonce.clone(),
            verifier: begun.verifier.clone(),
            binding: accounts::sha256(&begun.binding),
            address,
            began: now,
        };
        all.insert(accounts::sha256(&begun.state), waiting);
        Ok(begun)
    }

    /// Ends the waiting of a sign-in: its state is valid once, and only with the cookie of the
    /// browser that began.
    pub fn take(&self, state: &str, binding: &str, now: Instant) -> Option<SignIn> {
        let (key, binding) = (accounts::sha256(state), accounts::sha256(binding));
        let mut all = self.all();
        let is_of_browser = |waiting: &SignIn| waiting.binding == binding;
        all.get(&key).filter(|waiting| is_of_browser(waiting))?;
        let taken = all.remove(&key)?;
        (now.saturating_duration_since(taken.began) < LIFETIME).then_some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn a_state_is_valid_once_in_its_browser_and_for_a_time() {
        let (waiting, now) = (SignIns::default(), Instant::now());
        let begun = waiting.begin(ADDRESS, now).unwrap();
        assert!(waiting.take(&begun.state, "another browser", now).is_none());
        assert!(waiting.take("another", &begun.binding, now).is_none());
        assert_eq!(waiting.take(&begun.state, &begun.binding, now).unwrap().nonce, begun.nonce);
        assert!(waiting.take(&begun.state, &begun.binding, now).is_none(), "replayed");
        let begun = waiting.begin(ADDRESS, now).unwrap();
        assert!(waiting.take(&begun.state, &begun.binding, now + LIFETIME).is_none(), "late");
    }

    #[test]
    fn an_address_ends_its_own_sign_ins_and_not_those_of_others() {
        let (waiting, now) = (SignIns::default(), Instant::now());
        let mine = waiting.begin([192, 0, 2, 1].into(), now).unwrap();
        for _ in 0..2 * MAX_OF_ADDRESS {
            waiting.begin(ADDRESS, now).unwrap();
        }
        assert_eq!(waiting.all().len(), MAX_OF_ADDRESS + 1);
        assert!(waiting.take(&mine.state, &mine.binding, now).is_some());
    }

    #[test]
    fn attack_addresses_of_one_prefix_end_sign_ins_of_others() {
        let (waiting, now) = (SignIns::default(), Instant::now());
        let mine = waiting.begin(ADDRESS, now).unwrap();
        for last in 0..MAX as u128 {
            let address = std::net::Ipv6Addr::from_bits(0x2001_0db8 << 96 | last);
            waiting.begin(address.into(), now).unwrap();
        }
        assert_eq!(waiting.all().len(), MAX_OF_ADDRESS + 1);
        assert!(waiting.take(&mine.state, &mine.binding, now).is_some());
    }
}
