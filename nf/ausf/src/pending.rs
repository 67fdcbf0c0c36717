//! Authentications whose answer is awaited: bounded in number and in time.
use crate::AusfConfig;
use martlet_eap::server::Server;
use martlet_sbi_api::common::Supi;
use martlet_security::nas_5gs::{KSeaf, XresStar};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// By which method a UE is authenticated.
pub enum Method {
    /// 5G-AKA (TS 33.501, 6.1.3.2.0).
    FiveGAka {
        /// The answer that is right.
        xres_star: XresStar,
        /// Anchor key for the serving network.
        k_seaf: KSeaf,
    },
    /// EAP-AKA' (TS 33.501, 6.1.3.1).
    EapAkaPrime {
        /// The authentication as it stands.
        server: Box<Server>,
        /// The USIM's sequence number was taken over once: once is enough.
        synchronised: bool,
    },
}

/// What the AUSF keeps of a challenge.
pub struct Awaited {
    /// The method and what awaits the answer.
    pub method: Method,
    /// The subscriber.
    pub supi: Supi,
    /// The serving network.
    pub serving_network_name: String,
}

#[derive(Default)]
struct Table {
    awaited: HashMap<String, Awaited>,
    /// In the order of their beginning, which is that of their end; those answered are skipped.
    ends: VecDeque<(Instant, String)>,
    last_id: u64,
}

/// The table of those authentications.
pub struct Pending {
    table: Mutex<Table>,
    most: usize,
    lifetime: Duration,
    /// Makes the identities of one start of the AUSF differ from those of another.
    epoch: String,
}

impl Pending {
    pub fn new(config: &AusfConfig) -> Self {
        let started =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Pending {
            table: Mutex::default(),
            most: config.max_pending,
            lifetime: Duration::from_secs(config.pending_s.into()),
            epoch: format!("{:x}", started.as_millis()),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Keeps a challenge and gives its identity; `None` where there is no room.
    pub fn add(&self, awaited: Awaited, now: Instant) -> Option<String> {
        let mut table = self.table();
        while table.ends.front().is_some_and(|(end, _)| *end <= now) {
            if let Some((_, id)) = table.ends.pop_front() {
                table.awaited.remove(&id);
            }
        }
        if table.awaited.len() >= self.most || table.ends.len() >= self.most.saturating_mul(2) {
            return None;
        }
        table.last_id += 1;
        let id = format!("{}-{}", self.epoch, table.last_id);
        table.awaited.insert(id.clone(), awaited);
        table.ends.push_back((now + self.lifetime, id.clone()));
        Some(id)
    }

    /// Keeps what an authentication of this identity awaits next.
    pub fn go_on(&self, id: &str, awaited: Awaited, now: Instant) {
        let mut table = self.table();
        table.awaited.insert(id.to_string(), awaited);
        table.ends.push_back((now + self.lifetime, id.to_string()));
    }

    /// Takes a challenge out: each can be answered once.
    pub fn take(&self, id: &str) -> Option<Awaited> {
        self.table().awaited.remove(id)
    }

    /// How many are under way.
    pub fn len(&self) -> usize {
        self.table().awaited.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn awaited() -> Awaited {
        Awaited {
            method: Method::FiveGAka {
                xres_star: XresStar::new(&[1; 16]),
                k_seaf: KSeaf::new(&[2; 32]),
            },
            supi: "imsi-001010000000001".parse().unwrap(),
            serving_network_name: "5G:mnc001.mcc001.3gppnetwork.org".into(),
        }
    }

    #[test]
    fn a_challenge_is_answered_once() {
        let pending = Pending::new(&AusfConfig::default());
        let id = pending.add(awaited(), Instant::now()).unwrap();
        assert!(pending.take(&id).is_some());
        assert!(pending.take(&id).is_none());
    }

    #[test]
    fn number_and_age_are_bounded() {
        let pending = Pending::new(&AusfConfig { max_pending: 2, pending_s: 10 });
        let start = Instant::now();
        let first = pending.add(awaited(), start).unwrap();
        pending.add(awaited(), start).unwrap();
        assert!(pending.add(awaited(), start).is_none());
        assert!(pending.add(awaited(), start + Duration::from_secs(10)).is_some());
        assert!(pending.take(&first).is_none());
        assert_eq!(pending.len(), 1);
    }
}
