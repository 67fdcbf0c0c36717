//! Limits for readers of responses that last.
use crate::problem::Failure;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Readers at the same time, of each user and in all.
pub struct Readers {
    what: &'static str,
    max: usize,
    max_of_user: usize,
    by_user: Mutex<HashMap<String, usize>>,
}

/// A reader, counted until it is dropped.
pub struct Reader {
    readers: Arc<Readers>,
    user: String,
}

impl Readers {
    /// Limits for readers of this kind.
    pub fn new(what: &'static str, max: usize, max_of_user: usize) -> Arc<Self> {
        Arc::new(Readers { what, max, max_of_user, by_user: Mutex::default() })
    }

    fn by_user(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.by_user.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of all readers.
    pub fn count(&self) -> usize {
        self.by_user().values().sum()
    }

    /// Admits a reader of a user.
    ///
    /// # Errors
    /// The user has as many readers as one may have, or all users together have.
    pub fn admit(self: &Arc<Self>, user: &str) -> Result<Reader, Failure> {
        let mut by_user = self.by_user();
        let own = by_user.get(user).copied().unwrap_or_default();
        if own >= self.max_of_user {
            let detail = format!("{user} has {own} readers of {} already", self.what);
            return Err(Failure::too_many(detail, 30).remedy("end one of them, or wait"));
        }
        if by_user.values().sum::<usize>() >= self.max {
            let detail = format!("{} readers of {} are connected", self.max, self.what);
            return Err(Failure::too_many(detail, 30));
        }
        by_user.insert(user.to_string(), own + 1);
        Ok(Reader { readers: self.clone(), user: user.to_string() })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut by_user = self.readers.by_user();
        if let Some(own) = by_user.get_mut(&self.user) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                by_user.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attack_readers_of_one_user_keep_out_those_of_others() {
        let readers = Readers::new("events", 5, 3);
        let mut held: Vec<_> = (0..3).map_while(|_| readers.admit("mallory").ok()).collect();
        let refused = readers.admit("mallory").err().unwrap();
        assert_eq!(refused.problem().status, 429);
        assert!(refused.problem().detail.contains("mallory has 3 readers"), "{refused:?}");
        let others: Vec<_> = ["alice", "bob"].map(|user| readers.admit(user).ok().unwrap()).into();
        assert!(readers.admit("carol").is_err(), "all are in use");
        held.pop();
        assert_eq!(readers.count(), 4);
        let carol = readers.admit("carol");
        assert!(carol.is_ok());
        drop((held, others, carol));
        assert!(readers.by_user().is_empty());
    }
}
