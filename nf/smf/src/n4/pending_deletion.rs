//! N4 sessions that this SMF no longer has, but whose deletion a UPF did not confirm: it is
//! requested again until the UPF responds. Without it such a session would keep its resources, and
//! forward the traffic of a released PDU session.
use super::{N4, N4Error, deletion};
use crate::metrics;
use martlet_pfcp::Message;
use std::net::SocketAddr;
use std::time::Duration;

/// Maximum number of sessions; the UPF reports the inactivity of others, and the audit finds them.
const MAX_PENDING: usize = 16_384;

/// Time between two rounds of requests.
const INTERVAL: Duration = Duration::from_secs(1);

/// An N4 session at a UPF. Another setup of the association ends it (TS 29.244, 6.2.6), and the UPF
/// may give its SEID to another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PendingDeletion {
    upf: SocketAddr,
    generation: u64,
    seid: u64,
}

impl N4 {
    /// Has a session deleted as soon as the UPF responds.
    pub fn delete_later(&self, upf: SocketAddr, generation: u64, seid: u64) {
        let pending = PendingDeletion { upf, generation, seid };
        let mut tables = self.tables();
        if tables.deletions.len() >= MAX_PENDING {
            drop(tables);
            metrics::n4("deletion dropped");
            if self.generation(upf) == generation {
                self.session_abandoned(upf, seid);
            }
            return;
        }
        if !tables.deletions.contains(&pending) {
            tables.deletions.push(pending);
            metrics::n4("deletion pending");
        }
        self.deletion_pending.notify_one();
    }

    /// A UPF accepted a session after the procedure that requested it has ended.
    pub(super) fn late_response(&self, from: SocketAddr, message: &Message) {
        if let Message::SessionEstablishmentResponse(response) = message
            && response.cause.is_accepted()
            && let Some(fseid) = &response.up_fseid
        {
            self.delete_later(from, self.generation(from), fseid.seid);
        }
    }

    /// Requests the deletions until the shutdown.
    pub(super) async fn delete_pending(&self) {
        loop {
            let round = std::mem::take(&mut self.tables().deletions);
            if round.is_empty() {
                self.deletion_pending.notified().await;
                continue;
            }
            for pending in round {
                let PendingDeletion { upf, generation, seid } = pending;
                if self.generation(upf) != generation {
                    continue;
                }
                // Not while the UPF is out of reach: each request would wait for its timeout.
                let is_confirmed = self.is_up(upf)
                    && matches!(
                        self.request(upf, Some(seid), deletion()).await,
                        Ok(_) | Err(N4Error::Rejected(_))
                    );
                match is_confirmed {
                    true => metrics::n4("deletion confirmed"),
                    false => self.tables().deletions.push(pending),
                }
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{SmfConfig, UpfConfig};

    #[tokio::test]
    async fn the_teids_of_a_deletion_that_is_dropped_are_held() {
        let upf = SocketAddr::from(([127, 0, 0, 8], 8805));
        let mut config = SmfConfig { upfs: vec![UpfConfig::at(upf)], ..SmfConfig::default() };
        (config.n4.bind, config.n4.port) = (upf.ip(), 0);
        let n4 = N4::open(&config, None, false).await.unwrap();
        n4.restore_teids(1, &(upf, 5, vec![(1, 77)]));
        n4.delete_later(upf, 0, 5);
        assert!(n4.allocated_teids(upf, 5).is_some(), "the UPF confirms the deletion later");
        let other = PendingDeletion { upf, generation: 0, seid: 6 };
        n4.tables().deletions = vec![other; MAX_PENDING];
        // Of another association, whose sessions are lost.
        n4.delete_later(upf, 1, 5);
        assert!(n4.allocated_teids(upf, 5).is_some());
        n4.delete_later(upf, 0, 5);
        assert!(n4.allocated_teids(upf, 5).is_none());
    }
}
