//! What sessions on the switch have used, beside what the native UPF counts.
use super::{Known, Place, State};
use crate::controller::{Ask, Told};
use crate::tables::Counted;
use martlet_upf_datapath::counters::Counters;
use martlet_upf_datapath::{Change, Event, Reached, Usage};
use martlet_upf_rules::{Direction, Session};
use std::time::{Instant, SystemTime};

/// Counters asked for in one question.
const AT_A_TIME: usize = 2048;
/// Seconds in which a session on the switch must not use up its quota.
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
    /// Adds what counters of a session have more to its accounts. False where the switch does not
    /// tell.
    pub(super) fn count(&mut self, seid: u64, counted: &mut [Counted]) -> bool {
        let indexes = counted.iter().map(|of| of.index).collect();
        let Told::Counts(counts) = self.ask(Ask::Counts(indexes)) else { return false };
        self.credit(seid, counted, &counts);
        true
    }

    pub(super) fn credit(&mut self, seid: u64, counted: &mut [Counted], counts: &[(u64, u64)]) {
        let now = SystemTime::now();
        let mut known = self.known.get_mut(&seid);
        for (of, (packets, bytes)) in counted.iter_mut().zip(counts) {
            let news = (packets.saturating_sub(of.packets), bytes.saturating_sub(of.bytes));
            if news == (0, 0) {
                continue;
            }
            (of.packets, of.bytes) = (*packets, *bytes);
            let (all_packets, all_bytes) = direction_of(&self.counters, of.direction);
            all_packets.add(news.0);
            all_bytes.add(news.1);
            self.counters.received_packets.add(news.0);
            self.happened.bytes += news.1;
            let Some(known) = &mut known else { continue };
            known.carried += news.1;
            let volume = &mut known.volumes[usize::from(of.direction == Direction::Downlink)];
            (volume.packets, volume.bytes) = (volume.packets + news.0, volume.bytes + news.1);
            known.last = Some(Instant::now());
            for urr in of.urrs.iter().filter_map(|urr| known.session.urrs.get(urr)) {
                known.accounts.of(urr).count(of.direction, news, self.looked, now);
            }
        }
    }

    /// Reads the counters of sessions on the switch.
    pub fn settle(&mut self, seids: &[u64]) -> bool {
        let mut taken: Vec<(u64, Vec<Counted>)> = Vec::new();
        for seid in seids {
            if let Some(Known { place: Place::Switch(placed), .. }) = self.known.get_mut(seid) {
                taken.push((*seid, std::mem::take(&mut placed.counted)));
            }
        }
        let indexes: Vec<u32> =
            taken.iter().flat_map(|(_, counted)| counted.iter().map(|of| of.index)).collect();
        let mut counts = Vec::with_capacity(indexes.len());
        let mut whole = true;
        for chunk in indexes.chunks(AT_A_TIME) {
            match self.ask(Ask::Counts(chunk.to_vec())) {
                Told::Counts(told) => counts.extend(told),
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
            if let Some(Known { place: Place::Switch(placed), .. }) = self.known.get_mut(&seid) {
                placed.counted = counted;
            }
        }
        whole
    }

    /// All sessions on the switch, unless nothing has passed there for a while.
    pub fn settle_all(&mut self) -> bool {
        let is_there = |known: &&Known| matches!(known.place, Place::Switch(_));
        let limited = |known: &Known| {
            known
                .session
                .urrs
                .values()
                .any(|urr| urr.volume_threshold.is_some() || urr.volume_quota.is_some())
        };
        let limits = self.known.values().filter(is_there).any(limited);
        if !self.rest.is_over(Instant::now(), self.config.sample(), limits) {
            return true;
        }
        let seids: Vec<u64> =
            self.known.iter().filter(|(_, known)| is_there(known)).map(|(seid, _)| *seid).collect();
        let before = self.happened.bytes;
        let whole = self.settle(&seids);
        self.looked = SystemTime::now();
        self.spread = self.rest.asked(Instant::now(), self.happened.bytes != before);
        whole
    }

    /// Has the native UPF count against what is left of each limit.
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

    /// A quota that is given anew counts from here on: what was counted before is of the one
    /// before.
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
            self.settle(&[session.seid]);
            self.carry(session.seid);
        }
    }

    /// Takes over what the native UPF has counted.
    pub fn carry(&mut self, seid: u64) {
        let Some(known) = self.known.get_mut(&seid) else { return };
        let urrs: Vec<u32> = known.session.urrs.keys().copied().collect();
        if urrs.is_empty() {
            return;
        }
        let on_native = !matches!(known.place, Place::Switch(_));
        for usage in self.native.take_usage(seid, &urrs) {
            if let Some(urr) = known.session.urrs.get(&usage.urr) {
                let account = known.accounts.of(urr);
                account.carry(&usage);
                if on_native && usage.uplink_packets + usage.downlink_packets > 0 {
                    // A threshold that is reached by what passed there is one that the native UPF
                    // has told of.
                    account.reaches_threshold(urr);
                }
            }
        }
        self.adjust(seid);
    }

    /// See [`Datapath::take_usage`].
    pub fn take_usage(&mut self, seid: u64, urrs: &[u32]) -> Vec<Usage> {
        self.settle(&[seid]);
        let mut usage = self.native.take_usage(seid, urrs);
        if let Some(known) = self.known.get_mut(&seid) {
            known.accounts.add_to(&mut usage, |urr| urrs.contains(&urr));
        }
        self.adjust(seid);
        usage
    }

    /// Whether a quota of a session is so nearly used up that the native UPF has to watch over it.
    pub fn is_near_quota(&mut self, seid: u64) -> bool {
        let margin = (self.config.quota_margin_kb * 1000)
            .max(self.policy.rate(seid).saturating_mul(QUOTA_SECONDS));
        let Some(known) = self.known.get_mut(&seid) else { return false };
        let Known { session, accounts, .. } = known;
        session.urrs.values().filter(|urr| urr.volume_quota.is_some()).any(|urr| {
            let left = match accounts.get_mut(urr.id) {
                Some(account) => account.quota_left(urr),
                // Nothing is known yet of what it has used: to be looked at once it has been
                // carried over.
                None => urr
                    .volume_quota
                    .and_then(|quota| quota.total.or(quota.uplink).or(quota.downlink)),
            };
            left.is_some_and(|left| left < margin)
        })
    }

    /// Tells of thresholds that sessions on the switch have reached.
    pub fn tell_thresholds(&mut self) {
        for (seid, known) in &mut self.known {
            if !matches!(known.place, Place::Switch(_)) {
                continue;
            }
            for urr in known.session.urrs.values().filter(|urr| urr.volume_threshold.is_some()) {
                let Some(account) = known.accounts.get_mut(urr.id) else { continue };
                if account.reaches_threshold(urr) {
                    let event =
                        Event::UsageReached { seid: *seid, urr: urr.id, limit: Reached::Threshold };
                    if self.events.try_send(event).is_err() {
                        account.tell_again();
                    }
                }
            }
        }
    }
}
