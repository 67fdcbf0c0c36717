//! Usage of sessions on the switch, in addition to the native UPF's.
use super::{Known, Path, State};
use crate::controller::{Reply, Request};
use crate::tables::Counted;
use martlet_upf_datapath::counters::Counters;
use martlet_upf_datapath::{Change, Event, Reached, Usage};
use martlet_upf_rules::{Direction, Session};
use std::time::{Instant, SystemTime};

/// Counters per request.
const BATCH: usize = 2048;
/// A session on the switch must not be able to exhaust its quota within this many seconds.
const QUOTA_SECONDS: u64 = 10;

fn direction_of(
    counters: &Counters,
    direction: Direction,
) -> (&martlet_upf_datapath::counters::Count, &martlet_upf_datapath::counters::Count) {
    match direction {
        Direction::Uplink => (&counters.uplink_packets, &counters.uplink_bytes),
        Direction::Downlink => (&counters.downlink_packets, &counters.downlink_bytes),
    }
}

impl State {
    /// Adds new counts of a session to its accounts. Returns false if the switch does not reply.
    pub(super) fn count(&mut self, seid: u64, counted: &mut [Counted]) -> bool {
        let indexes = counted.iter().map(|of| of.index).collect();
        let Reply::Counts(counts) = self.request(Request::Counts(indexes)) else { return false };
        self.credit(seid, counted, &counts);
        true
    }

    pub(super) fn credit(&mut self, seid: u64, counted: &mut [Counted], counts: &[(u64, u64)]) {
        let now = SystemTime::now();
        let mut known = self.known.get_mut(&seid);
        for (of, (packets, bytes)) in counted.iter_mut().zip(counts) {
            let delta = of.advance(*packets, *bytes);
            if delta == (0, 0) {
                continue;
            }
            let (all_packets, all_bytes) = direction_of(&self.counters, of.direction);
            all_packets.add(delta.0);
            all_bytes.add(delta.1);
            self.counters.received_packets.add(delta.0);
            self.statistics.bytes += delta.1;
            let Some(known) = &mut known else { continue };
            known.switch_bytes += delta.1;
            let volume = &mut known.volumes[usize::from(of.direction == Direction::Downlink)];
            (volume.packets, volume.bytes) = (volume.packets + delta.0, volume.bytes + delta.1);
            let of_pdr = known.of_pdrs.entry(of.pdr).or_default();
            (of_pdr.packets, of_pdr.bytes) = (of_pdr.packets + delta.0, of_pdr.bytes + delta.1);
            known.last = Some(Instant::now());
            for urr in of.urrs.iter().filter_map(|urr| known.session.urrs.get(urr)) {
                known.accounts.of(urr).count(of.direction, delta, self.polled_at, now);
            }
        }
    }

    /// Polls the counters of sessions on the switch.
    pub fn poll_counters(&mut self, seids: &[u64]) -> bool {
        let mut taken: Vec<(u64, Vec<Counted>)> = Vec::new();
        for seid in seids {
            if let Some(Known { path: Path::Switch(installed), .. }) = self.known.get_mut(seid) {
                taken.push((*seid, std::mem::take(&mut installed.counted)));
            }
        }
        let indexes: Vec<u32> =
            taken.iter().flat_map(|(_, counted)| counted.iter().map(|of| of.index)).collect();
        let mut counts = Vec::with_capacity(indexes.len());
        let mut whole = true;
        for chunk in indexes.chunks(BATCH) {
            match self.request(Request::Counts(chunk.to_vec())) {
                Reply::Counts(reply) => counts.extend(reply),
                _ => {
                    whole = false;
                    break;
                }
            }
        }
        let mut counts = &counts[..];
        for (seid, mut counted) in taken {
            let own = counts.split_off(..counted.len().min(counts.len())).unwrap_or_default();
            self.credit(seid, &mut counted, own);
            if let Some(Known { path: Path::Switch(installed), .. }) = self.known.get_mut(&seid) {
                installed.counted = counted;
            }
        }
        whole
    }

    /// Polls all sessions on the switch, unless polls are backed off.
    pub fn poll_all(&mut self) -> bool {
        let is_on_switch = |known: &&Known| matches!(known.path, Path::Switch(_));
        let limited = |known: &Known| {
            known
                .session
                .urrs
                .values()
                .any(|urr| urr.volume_threshold.is_some() || urr.volume_quota.is_some())
        };
        let limits = self.known.values().filter(is_on_switch).any(limited);
        if !self.poll_backoff.is_due(Instant::now(), self.config.sample(), limits) {
            return true;
        }
        let seids = self.seids_on_switch();
        let before = self.statistics.bytes;
        let whole = self.poll_counters(&seids);
        self.polled_at = SystemTime::now();
        self.samples_covered =
            self.poll_backoff.polled(Instant::now(), self.statistics.bytes != before);
        whole
    }

    /// Makes the native UPF count against what is left of each limit.
    pub(super) fn adjust(&mut self, seid: u64) {
        let Some(known) = self.known.get_mut(&seid) else { return };
        let adjusted = known.accounts.adjusted(&known.session);
        if adjusted.is_none() && !known.adjusted {
            return;
        }
        known.adjusted = adjusted.is_some();
        let session = adjusted.as_ref().unwrap_or(&known.session);
        if let Err(error) = self.native.apply(&Change::to(session)) {
            tracing::warn!(seid, %error, "rules not applied again by the native UPF");
        }
    }

    /// A renewed quota counts from here on: earlier usage belongs to the previous one.
    pub(super) fn renew_quotas(&mut self, session: &Session) {
        let Some(known) = self.known.get(&session.seid) else { return };
        let renewed = session.urrs.values().any(|urr| {
            known
                .session
                .urrs
                .get(&urr.id)
                .is_some_and(|before| before.quota_given != urr.quota_given)
        });
        if renewed && !known.accounts.is_empty() {
            self.poll_counters(&[session.seid]);
            self.take_native_usage(session.seid);
        }
    }

    /// Takes the usage that the native UPF has counted.
    pub fn take_native_usage(&mut self, seid: u64) {
        let Some(known) = self.known.get_mut(&seid) else { return };
        let urrs: Vec<u32> = known.session.urrs.keys().copied().collect();
        if urrs.is_empty() {
            return;
        }
        let on_native = !matches!(known.path, Path::Switch(_));
        for usage in self.native.take_usage(seid, &urrs) {
            if let Some(urr) = known.session.urrs.get(&usage.urr) {
                let account = known.accounts.of(urr);
                account.take_native_usage(&usage);
                if on_native && usage.uplink_packets + usage.downlink_packets > 0 {
                    // A threshold reached by usage on the native path was already reported by the
                    // native UPF.
                    account.reaches_threshold(urr);
                }
            }
        }
        self.adjust(seid);
    }

    /// See [`Datapath::take_usage`].
    pub fn take_usage(&mut self, seid: u64, urrs: &[u32]) -> Vec<Usage> {
        self.poll_counters(&[seid]);
        let mut usage = self.native.take_usage(seid, urrs);
        if let Some(known) = self.known.get_mut(&seid) {
            known.accounts.add_to(&mut usage, |urr| urrs.contains(&urr));
        }
        self.adjust(seid);
        usage
    }

    /// Whether a quota is so close to exhaustion that the native UPF has to enforce it.
    pub fn is_near_quota(&mut self, seid: u64) -> bool {
        let margin = (self.config.quota_margin_kb * 1000)
            .max(self.policy.rate(seid).saturating_mul(QUOTA_SECONDS));
        let Some(known) = self.known.get_mut(&seid) else { return false };
        let Known { session, accounts, .. } = known;
        session.urrs.values().filter(|urr| urr.volume_quota.is_some()).any(|urr| {
            let left = match accounts.get_mut(urr.id) {
                Some(account) => account.quota_left(urr),
                // Unknown usage: checked again once it was taken from the native UPF.
                None => urr
                    .volume_quota
                    .and_then(|quota| quota.total.or(quota.uplink).or(quota.downlink)),
            };
            left.is_some_and(|left| left < margin)
        })
    }

    /// Reports thresholds that sessions on the switch have reached.
    pub fn report_thresholds(&mut self) {
        for (seid, known) in &mut self.known {
            if !matches!(known.path, Path::Switch(_)) {
                continue;
            }
            for urr in known.session.urrs.values().filter(|urr| urr.volume_threshold.is_some()) {
                let Some(account) = known.accounts.get_mut(urr.id) else { continue };
                if account.reaches_threshold(urr) {
                    let event =
                        Event::UsageReached { seid: *seid, urr: urr.id, limit: Reached::Threshold };
                    if self.events.try_send(event).is_err() {
                        account.retry_report();
                    }
                }
            }
        }
    }
}
