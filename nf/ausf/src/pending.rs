//! Authentications in progress, limited in number and duration.
use crate::AusfConfig;
use martlet_eap::server::Server;
use martlet_sbi_api::common::Supi;
use martlet_security::nas_5gs::{KSeaf, XresStar};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The authentication method, with what the response is compared with.
pub enum Method {
    /// 5G-AKA (TS 33.501, 6.1.3.2.0).
    FiveGAka {
        /// The expected response.
        xres_star: XresStar,
        /// K_SEAF, the anchor key for the serving network.
        k_seaf: KSeaf,
    },
    /// EAP-AKA' (TS 33.501, 6.1.3.1).
    EapAkaPrime {
        /// The EAP server.
        server: Box<Server>,
        /// Whether the sequence number was already reresynchronised. It is permitted once.
        resynchronised: bool,
    },
}

impl Method {
    /// Whether it is 5G-AKA.
    pub fn is_5g_aka(&self) -> bool {
        matches!(self, Method::FiveGAka { .. })
    }

    /// Whether it is EAP-AKA'.
    pub fn is_eap(&self) -> bool {
        matches!(self, Method::EapAkaPrime { .. })
    }
}

/// The context of one authentication.
pub struct Authentication {
    /// The method and its state.
    pub method: Method,
    /// The subscriber.
    pub supi: Supi,
    /// The serving network.
    pub serving_network_name: String,
}

/// An authentication with the end of its lifetime.
struct Entry {
    authentication: Authentication,
    end: Instant,
}

#[derive(Default)]
struct Table {
    entries: HashMap<String, Entry>,
    /// In order of expiry. Those of finished authentications, and those from before an update, mean
    /// nothing; they are removed when there are too many of them.
    ends: VecDeque<(Instant, String)>,
}

/// Whether this is the end of an authentication in progress.
fn is_current(entries: &HashMap<String, Entry>, end: Instant, id: &str) -> bool {
    entries.get(id).is_some_and(|entry| entry.end == end)
}

impl Table {
    /// Removes the authentications whose lifetime is over.
    fn expire(&mut self, now: Instant) {
        while self.ends.front().is_some_and(|(end, _)| *end <= now) {
            if let Some((end, id)) = self.ends.pop_front()
                && is_current(&self.entries, end, &id)
            {
                self.entries.remove(&id);
            }
        }
    }

    fn put(&mut self, id: String, authentication: Authentication, end: Instant, max: usize) {
        self.entries.insert(id.clone(), Entry { authentication, end });
        self.ends.push_back((end, id));
        if self.ends.len() > max.saturating_mul(2) {
            let Table { entries, ends, .. } = self;
            ends.retain(|(end, id)| is_current(entries, *end, id));
        }
    }
}

/// The table of authentications in progress.
pub struct Pending {
    table: Mutex<Table>,
    max: usize,
    lifetime: Duration,
}

impl Pending {
    pub fn new(config: &AusfConfig) -> Self {
        Pending {
            table: Mutex::default(),
            max: config.max_pending,
            lifetime: Duration::from_secs(config.pending_s.into()),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds an authentication with an identity that no other one has; false if the table is full.
    #[must_use]
    pub fn add(&self, id: &str, authentication: Authentication, now: Instant) -> bool {
        let mut table = self.table();
        table.expire(now);
        if table.entries.len() >= self.max {
            return false;
        }
        table.put(id.to_string(), authentication, now + self.lifetime, self.max);
        true
    }

    /// Stores the next state of an authentication.
    pub fn update(&self, id: &str, authentication: Authentication, now: Instant) {
        self.table().put(id.to_string(), authentication, now + self.lifetime, self.max);
    }

    /// Removes and returns an authentication by the right method, within its lifetime. So each
    /// challenge is answered once.
    pub fn take(
        &self,
        id: &str,
        is_right: impl FnOnce(&Method) -> bool,
        now: Instant,
    ) -> Option<Authentication> {
        let mut table = self.table();
        table.expire(now);
        if !is_right(&table.entries.get(id)?.authentication.method) {
            return None;
        }
        table.entries.remove(id).map(|entry| entry.authentication)
    }

    /// The number of authentications in progress.
    pub fn len(&self) -> usize {
        self.table().entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authentication() -> Authentication {
        Authentication {
            method: Method::FiveGAka {
                xres_star: XresStar::new(&[1; 16]),
                k_seaf: KSeaf::new(&[2; 32]),
            },
            supi: "imsi-001010000000001".parse().unwrap(),
            serving_network_name: "5G:mnc001.mcc001.3gppnetwork.org".into(),
        }
    }

    fn is_any(_: &Method) -> bool {
        true
    }

    #[test]
    fn a_challenge_can_be_answered_once() {
        let pending = Pending::new(&AusfConfig::default());
        let now = Instant::now();
        assert!(pending.add("a", authentication(), now));
        assert!(pending.take("a", is_any, now).is_some());
        assert!(pending.take("a", is_any, now).is_none());
    }

    #[test]
    fn a_challenge_is_answered_within_its_lifetime_and_by_its_method() {
        let config = AusfConfig { pending_s: 10, ..Default::default() };
        let pending = Pending::new(&config);
        let start = Instant::now();
        for (id, after, is_taken) in [("a", 9, true), ("b", 10, false)] {
            assert!(pending.add(id, authentication(), start));
            assert!(pending.take(id, Method::is_eap, start).is_none(), "by another method");
            let now = start + Duration::from_secs(after);
            assert_eq!(pending.take(id, is_any, now).is_some(), is_taken, "{after}");
        }
        assert_eq!(pending.len(), 0);
    }

    #[test]
    fn number_and_age_are_limited() {
        let config = AusfConfig { max_pending: 2, pending_s: 10, ..Default::default() };
        let pending = Pending::new(&config);
        let start = Instant::now();
        let later = start + Duration::from_secs(10);
        assert!(pending.add("a", authentication(), start));
        assert!(pending.add("b", authentication(), start));
        assert!(!pending.add("c", authentication(), start));
        assert!(pending.add("d", authentication(), later));
        assert!(pending.take("a", is_any, later).is_none());
        assert_eq!(pending.len(), 1);
    }

    /// More than twice the limit within a lifetime.
    #[test]
    fn finished_authentications_take_no_place() {
        let config = AusfConfig { max_pending: 2, pending_s: 10, ..Default::default() };
        let pending = Pending::new(&config);
        let start = Instant::now();
        assert!(pending.add("waiting", authentication(), start));
        for n in 0..100 {
            let id = n.to_string();
            assert!(pending.add(&id, authentication(), start), "authentication {n} is refused");
            assert!(pending.take(&id, is_any, start).is_some());
        }
        assert!(pending.table().ends.len() <= 5);
        assert!(pending.take("waiting", is_any, start).is_some(), "the oldest one still waits");
    }

    #[test]
    fn an_updated_authentication_has_a_new_lifetime() {
        let config = AusfConfig { max_pending: 2, pending_s: 10, ..Default::default() };
        let pending = Pending::new(&config);
        let start = Instant::now();
        assert!(pending.add("a", authentication(), start));
        let later = start + Duration::from_secs(6);
        let taken = pending.take("a", is_any, later).unwrap();
        pending.update("a", taken, later);
        // The first lifetime is over.
        assert!(pending.add("b", authentication(), start + Duration::from_secs(11)));
        assert_eq!(pending.len(), 2);
        let end = start + Duration::from_secs(16);
        assert!(pending.add("c", authentication(), end));
        assert!(pending.take("a", is_any, end).is_none());
    }
}
