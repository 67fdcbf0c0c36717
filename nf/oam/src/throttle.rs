//! Rate limits of callers, and the lockout after failed sign-ins. Memory is bounded.
use martlet_tasks::connections::origin;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Callers that are remembered. Beyond them the longest idle ones are forgotten: first those
/// without failed sign-ins, and those that are locked out last.
const MAX_CALLERS: usize = 4096;

/// The name of the callers at an address. Those of an IPv6 prefix have one, since each of them may
/// have all its addresses.
pub fn at(address: IpAddr) -> String {
    format!("address {}", origin(address))
}

/// Tokens of a caller, and its failed sign-ins.
#[derive(Debug, Clone)]
struct Caller {
    /// Requests that it may send now.
    tokens: f64,
    refilled: Instant,
    failures: u32,
    failed_at: Instant,
    used: Instant,
}

/// Limits by caller: an address or the name of a user.
pub struct Throttle {
    callers: Mutex<HashMap<String, Caller>>,
    per_minute: f64,
    max_failures: u32,
    lockout: Duration,
}

impl Throttle {
    /// Limits of the requests within a minute, and of failures before a lockout.
    pub fn new(per_minute: u32, max_failures: u32, lockout: Duration) -> Self {
        let per_minute = f64::from(per_minute);
        Throttle { callers: Mutex::default(), per_minute, max_failures, lockout }
    }

    fn callers(&self) -> MutexGuard<'_, HashMap<String, Caller>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, name: &str, now: Instant, then: impl FnOnce(&mut Caller) -> T) -> T {
        let mut callers = self.callers();
        if callers.len() >= MAX_CALLERS && !callers.contains_key(name) {
            let idle = callers.iter().min_by_key(|(_, caller)| {
                let has_failed = self.has_failed_lately(caller, now);
                (self.lockout_of(caller, now).is_some(), has_failed, caller.used)
            });
            if let Some(idle) = idle.map(|(name, _)| name.clone()) {
                callers.remove(&idle);
            }
        }
        let caller = callers.entry(name.to_string()).or_insert(Caller {
            tokens: self.per_minute,
            refilled: now,
            failures: 0,
            failed_at: now,
            used: now,
        });
        caller.used = now;
        then(caller)
    }

    /// The rest of the time that a caller is locked out.
    fn lockout_of(&self, caller: &Caller, now: Instant) -> Option<Duration> {
        if caller.failures < self.max_failures {
            return None;
        }
        let elapsed = now.saturating_duration_since(caller.failed_at);
        self.lockout.checked_sub(elapsed).filter(|rest| !rest.is_zero())
    }

    /// Whether failed sign-ins of a caller still count.
    fn has_failed_lately(&self, caller: &Caller, now: Instant) -> bool {
        caller.failures > 0 && now.saturating_duration_since(caller.failed_at) < self.lockout
    }

    /// Takes a request. An error is the number of seconds until the next one is admitted.
    pub fn admit(&self, name: &str, now: Instant) -> Result<(), u64> {
        self.with(name, now, |caller| {
            let elapsed = now.saturating_duration_since(caller.refilled).as_secs_f64();
            let refilled = caller.tokens + elapsed * self.per_minute / 60.0;
            (caller.tokens, caller.refilled) = (refilled.min(self.per_minute), now);
            if caller.tokens < 1.0 {
                return Err((60.0 / self.per_minute).ceil() as u64);
            }
            caller.tokens -= 1.0;
            Ok(())
        })
    }

    /// Whether a name is not locked out. An error is the number of remaining seconds.
    pub fn may_sign_in(&self, name: &str, now: Instant) -> Result<(), u64> {
        self.with(name, now, |caller| {
            if let Some(rest) = self.lockout_of(caller, now) {
                return Err(rest.as_secs() + 1);
            }
            if caller.failures >= self.max_failures {
                caller.failures = 0;
            }
            Ok(())
        })
    }

    /// Counts a failed sign-in. Those before a time as long as a lockout count no more.
    pub fn failed(&self, name: &str, now: Instant) {
        self.with(name, now, |caller| {
            if !self.has_failed_lately(caller, now) {
                caller.failures = 0;
            }
            caller.failures = caller.failures.saturating_add(1);
            caller.failed_at = now;
        });
    }

    /// Forgets the failed sign-ins of a user, and these at its address. Those of other users stay
    /// there: with an account of its own, a caller would guess the passwords of others without end.
    pub fn succeeded(&self, user: &str, address: &str, now: Instant) {
        let own = self.with(user, now, |caller| {
            let has_failed = self.has_failed_lately(caller, now);
            std::mem::take(&mut caller.failures) * u32::from(has_failed)
        });
        self.with(address, now, |caller| caller.failures = caller.failures.saturating_sub(own));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_beyond_the_rate_wait() {
        let throttle = Throttle::new(60, 3, Duration::from_secs(60));
        let now = Instant::now();
        assert!((0..60).all(|_| throttle.admit("a", now).is_ok()));
        assert_eq!(throttle.admit("a", now), Err(1));
        assert_eq!(throttle.admit("b", now), Ok(()));
        assert_eq!(throttle.admit("a", now + Duration::from_secs(2)), Ok(()));
    }

    #[test]
    fn failed_sign_ins_lock_out_for_a_time() {
        let throttle = Throttle::new(60, 3, Duration::from_secs(60));
        let now = Instant::now();
        (0..3).for_each(|_| throttle.failed("a", now));
        assert!(throttle.may_sign_in("a", now).is_err());
        assert!(throttle.may_sign_in("a", now + Duration::from_secs(61)).is_ok());
        throttle.failed("a", now);
        throttle.succeeded("a", "address", now);
        assert!(throttle.may_sign_in("a", now).is_ok());
    }

    #[test]
    fn attack_an_own_account_clears_guesses_at_others() {
        let throttle = Throttle::new(60, 3, Duration::from_secs(60));
        let now = Instant::now();
        let fail = |user: &str| {
            throttle.failed(user, now);
            throttle.failed("address", now);
        };
        fail("alice");
        fail("mallory");
        throttle.succeeded("mallory", "address", now);
        fail("bob");
        assert!(throttle.may_sign_in("address", now).is_ok());
        throttle.succeeded("mallory", "address", now);
        fail("carol");
        assert!(throttle.may_sign_in("address", now).is_err());
        assert!(throttle.may_sign_in("mallory", now).is_ok());
        // Failures of the own account that count no more clear none.
        let later = now + Duration::from_secs(60);
        (0..2).for_each(|_| throttle.failed("eve", now));
        (0..3).for_each(|_| throttle.failed("office", later));
        throttle.succeeded("eve", "office", later);
        assert!(throttle.may_sign_in("office", later).is_err());
        // Users who mistype now and then are not locked out.
        for minutes in 1..10 {
            let later = now + Duration::from_secs(60 * minutes);
            throttle.failed("dave", later);
            assert!(throttle.may_sign_in("dave", later).is_ok());
        }
    }

    #[test]
    fn attack_addresses_of_one_prefix_guess_passwords() {
        let throttle = Throttle::new(60, 3, Duration::from_secs(60));
        let now = Instant::now();
        let address = |text: &str| at(text.parse().unwrap());
        for own in ["2001:db8::1", "2001:db8::2", "2001:db8:0:0:1::3"] {
            assert!(throttle.may_sign_in(&address(own), now).is_ok());
            throttle.failed(&address(own), now);
        }
        assert!(throttle.may_sign_in(&address("2001:db8::4"), now).is_err());
        assert!(throttle.may_sign_in(&address("2001:db8:0:1::1"), now).is_ok());
        assert_ne!(address("192.0.2.1"), address("192.0.2.2"));
    }

    #[test]
    fn a_lockout_outlasts_many_other_names() {
        let throttle = Throttle::new(60, 3, Duration::from_secs(60));
        let (now, later) = (Instant::now(), Instant::now() + Duration::from_secs(1));
        (0..3).for_each(|_| throttle.failed("a", now));
        for n in 0..MAX_CALLERS {
            throttle.may_sign_in(&n.to_string(), later).unwrap();
        }
        assert!(throttle.may_sign_in("a", later).is_err());
        // After its end it is forgotten as others are.
        let after = now + Duration::from_secs(61);
        for n in 0..MAX_CALLERS {
            throttle.may_sign_in(&format!("b{n}"), after).unwrap();
        }
        assert!(!throttle.callers().contains_key("a"));
    }

    #[test]
    fn attack_requests_of_many_addresses_clear_guesses() {
        let throttle = Throttle::new(60, 3, Duration::from_secs(60));
        let (now, later) = (Instant::now(), Instant::now() + Duration::from_secs(1));
        (0..2).for_each(|_| throttle.failed("user alice", now));
        for n in 0..MAX_CALLERS {
            throttle.admit(&n.to_string(), later).unwrap();
        }
        throttle.failed("user alice", later);
        assert!(throttle.may_sign_in("user alice", later).is_err());
        assert_eq!(throttle.callers().len(), MAX_CALLERS);
    }

    #[test]
    fn the_memory_is_bounded() {
        let throttle = Throttle::new(60, 3, Duration::from_secs(60));
        let now = Instant::now();
        (0..2 * MAX_CALLERS).for_each(|n| {
            let _ = throttle.admit(&n.to_string(), now);
        });
        assert_eq!(throttle.callers().len(), MAX_CALLERS);
    }
}
