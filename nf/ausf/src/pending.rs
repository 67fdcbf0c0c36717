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
    last_id: u64,
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
    /// Random part of the identities, different after each start of the AUSF.
    epoch: String,
}

impl Pending {
    pub fn new(config: &AusfConfig) -> Self {
        let started =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Pending {
            table: Mutex::default(),
            max: config.max_pending,
            lifetime: Duration::from_secs(config.pending_s.into()),
            epoch: format!("{:x}", started.as_millis()),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds an authentication and returns its identity; None if the table is full.
    pub fn add(&self, authentication: Authentication, now: Instant) -> Option<String> {
        let mut table = self.table();
        table.expire(now);
        if table.entries.len() >= self.max {
            return None;
        }
        table.last_id += 1;
        let id = format!("{}-{}", self.epoch, table.last_id);
        table.put(id.clone(), authentication, now + self.lifetime, self.max);
        Some(id)
    }

    /// Stores the next state of an authentication.
    pub fn update(&self, id: &str, authentication: Authentication, now: Instant) {
        self.table().put(id.to_string(), authentication, now + self.lifetime, self.max);
    }

    /// Removes and returns an authentication, so that each challenge is answered once.
    pub fn take(&self, id: &str) -> Option<Authentication> {
        self.table().entries.remove(id).map(|entry| entry.authentication)
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

    #[test]
    fn a_challenge_can_be_answered_once() {
        let pending = Pending::new(&AusfConfig::default());
        let id = pending.add(authentication(), Instant::now()).unwrap();
        assert!(pending.take(&id).is_some());
        assert!(pending.take(&id).is_none());
    }

    #[test]
    fn number_and_age_are_limited() {
        let config = AusfConfig { max_pending: 2, pending_s: 10, ..Default::default() };
        let pending = Pending::new(&config);
        let start = Instant::now();
        let first = pending.add(authentication(), start).unwrap();
        pending.add(authentication(), start).unwrap();
        assert!(pending.add(authentication(), start).is_none());
        assert!(pending.add(authentication(), start + Duration::from_secs(10)).is_some());
        assert!(pending.take(&first).is_none());
        assert_eq!(pending.len(), 1);
    }

    /// More than twice the limit within a lifetime.
    #[test]
    fn finished_authentications_take_no_place() {
        let config = AusfConfig { max_pending: 2, pending_s: 10, ..Default::default() };
        let pending = Pending::new(&config);
        let start = Instant::now();
        let waiting = pending.add(authentication(), start).unwrap();
        for n in 0..100 {
            let id = pending.add(authentication(), start);
            let id = id.unwrap_or_else(|| panic!("authentication {n} is refused"));
            assert!(pending.take(&id).is_some());
        }
        assert!(pending.table().ends.len() <= 5);
        assert!(pending.take(&waiting).is_some(), "the oldest one still waits");
    }

    #[test]
    fn an_updated_authentication_has_a_new_lifetime() {
        let config = AusfConfig { max_pending: 2, pending_s: 10, ..Default::default() };
        let pending = Pending::new(&config);
        let start = Instant::now();
        let id = pending.add(authentication(), start).unwrap();
        let later = start + Duration::from_secs(6);
        let taken = pending.take(&id).unwrap();
        pending.update(&id, taken, later);
        // The first lifetime is over.
        pending.add(authentication(), start + Duration::from_secs(11)).unwrap();
        assert_eq!(pending.len(), 2);
        pending.add(authentication(), start + Duration::from_secs(16)).unwrap();
        assert!(pending.take(&id).is_none());
    }
}
