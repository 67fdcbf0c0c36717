//! Token buckets of bit rates, and volume limits.
use super::Forwarder;
use super::allocation::{Allocation, full};
use super::compile::{Limit, Plan, Planned};
use super::state::{Entry, State};
use super::usage::Account;
use crate::loader::types;
use martlet_upf_datapath::DatapathError;
use martlet_upf_rules::{Direction, Qer, Session, shared};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A bucket holds one packet of the largest size at least, or that packet could never pass.
const SMALLEST_BURST_BITS: u128 = 65_535 * 8;
/// Buckets count time in sixteenths of a nanosecond, and the cost of a byte in 1/65536 of these.
const TICKS_PER_SECOND: u128 = 16_000_000_000;

impl Forwarder {
    /// Allocates the buckets of shared rates: existing ones and new ones.
    pub(super) fn buckets(
        &self,
        state: &mut State,
        entry: &Entry,
        session: &Session,
        plan: &Plan,
        allocation: &mut Allocation,
    ) -> Result<BTreeMap<(u32, bool), u32>, DatapathError> {
        let mut buckets = BTreeMap::new();
        for (qer, direction, rate) in shared_rates(session, plan) {
            let stays = entry
                .rates
                .iter()
                .find(|r| r.qer == qer.id && r.direction == direction && r.rate == rate);
            let at = match stays {
                Some(stays) => stays.bucket,
                None => {
                    let at = state.bucket_slots.take(1).ok_or_else(|| full("rules"))?;
                    allocation.buckets.push(at);
                    self.programs.buckets.write(at, bucket(rate, self.limits.mbr_burst()));
                    at
                }
            };
            buckets.insert((qer.id, direction == Direction::Uplink), at);
        }
        Ok(buckets)
    }

    /// Allocates the session's limits: reuses the run if the limits are unchanged, else takes a new
    /// one.
    pub(super) fn limits(
        &self,
        state: &mut State,
        entry: &Entry,
        plan: &Plan,
        allocation: &mut Allocation,
    ) -> Result<u32, DatapathError> {
        let shape = |limits: &[Limit]| {
            limits.iter().map(|l| (l.urr, l.quota, l.of.map(|of| of as u8))).collect::<Vec<_>>()
        };
        if let Some((at, _)) =
            entry.limits_at.filter(|_| shape(&entry.limits) == shape(&plan.limits))
        {
            return Ok(at);
        }
        if plan.limits.is_empty() {
            return Ok(0);
        }
        let length = plan.limits.len() as u32;
        let at = state.limit_slots.take(length).ok_or_else(|| full("rules"))?;
        allocation.limits = Some((at, length));
        Ok(at)
    }

    /// When the bucket of a rule's own rate is full again; unchanged if the rate is.
    pub(super) fn full_at(&self, entry: &Entry, planned: &Planned, rate: u16) -> u64 {
        let before = entry
            .rules
            .iter()
            .find(|placed| placed.pdr == planned.pdr && placed.direction == planned.direction);
        let before = before.filter(|placed| placed.rate == rate);
        before.map_or(0, |placed| self.programs.rules.read(placed.index).full_at)
    }

    /// The accounts and limits of the session's URRs. Counters are retained; a renewed quota counts
    /// from 0. Returns the limits that the counted usage has newly reached.
    pub(super) fn set_limits(
        &self,
        state: &mut State,
        entry: &mut Entry,
        session: &Session,
        plan: &Plan,
        limits_range: Option<(u32, u32)>,
    ) -> Vec<usize> {
        let mut accounts = std::mem::take(&mut entry.accounts);
        entry.accounts.reserve_exact(session.urrs.len());
        let mut renewed = Vec::new();
        for urr in session.urrs.values() {
            let old = accounts
                .iter()
                .position(|account| account.urr == urr.id)
                .map(|n| accounts.swap_remove(n));
            match old {
                Some(mut account) => {
                    if account.quota_given != urr.quota_given {
                        account.renew_quota();
                        renewed.push(urr.id);
                    }
                    account.quota_given = urr.quota_given;
                    entry.accounts.push(account);
                }
                None => entry.accounts.push(Account::new(urr)),
            }
        }
        let at = |n: usize, start: u32| self.programs.limits.i64(start + n as u32, 0);
        let clamp = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let before = std::mem::replace(&mut entry.limits, shared(plan.limits.as_slice().into()));
        let old_limits_range = entry.limits_at;
        let stays = limits_range.is_none() && !plan.limits.is_empty();
        let start =
            if stays { old_limits_range } else { limits_range }.map_or(0, |(start, _)| start);
        let were_exact = std::mem::replace(&mut entry.exact, plan.exact);
        let mut reached = Vec::new();
        for (n, limit) in plan.limits.iter().enumerate() {
            let same = |old: &Limit| {
                old.urr == limit.urr && old.quota == limit.quota && old.of == limit.of
            };
            let old = before.iter().find(|old| same(old));
            let fresh = limit.quota && renewed.contains(&limit.urr);
            let was_left = old.filter(|_| !fresh).is_none_or(|old| entry.left(old) > 0);
            let left = entry.left(limit);
            // Usage of zero reaches no threshold.
            if was_left && left <= 0 && (limit.quota || left < clamp(limit.bytes)) {
                reached.push(n);
            }
            match old.filter(|_| stays && were_exact && !fresh) {
                // Corrected in place by the difference, since packets count it down meanwhile.
                Some(old) => {
                    let more = clamp(limit.bytes).wrapping_sub(clamp(old.bytes));
                    at(n, start).fetch_add(more, Ordering::Relaxed);
                }
                None => at(n, start).store(entry.left(limit), Ordering::Relaxed),
            }
        }
        if !stays {
            if let Some((start, length)) = old_limits_range {
                state.limit_slots.release(start, length);
            }
            entry.limits_at = limits_range;
        }
        reached
    }
}

/// The QERs with a bit rate that several rules of a direction share, or that are not the first of
/// their rule, each once.
pub(super) fn shared_rates<'a>(
    session: &'a Session,
    plan: &'a Plan,
) -> impl Iterator<Item = (&'a Qer, Direction, u64)> {
    let used = |qer: u32, direction| {
        let mut rules = plan
            .rules
            .iter()
            .filter(|rule| rule.direction == direction && rule.rates.contains(&qer));
        let first = rules.next();
        rules.next().is_some() || first.is_some_and(|rule| rule.rates.first() != Some(&qer))
    };
    let both = [Direction::Uplink, Direction::Downlink];
    session.qers.values().flat_map(move |qer| {
        both.into_iter().filter_map(move |direction| {
            let rate = qer.mbr?.of(direction);
            used(qer.id, direction).then_some((qer, direction, rate))
        })
    })
}

/// A full bucket, for a rate in bits per second, as large as the rate fills in `burst`.
pub(super) fn bucket(rate: u64, burst: Duration) -> types::bucket {
    // A rate of 0 passes nothing: not even one byte is within its burst.
    if rate == 0 {
        return types::bucket { full_at: 0, burst: 0, per_byte: 1 << 16, unused: 0 };
    }
    let rate = u128::from(rate);
    let bits = (rate * burst.as_micros() / 1_000_000).max(SMALLEST_BURST_BITS);
    let within = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
    let per_byte = ((TICKS_PER_SECOND * 8) << 16) / rate;
    types::bucket {
        full_at: 0,
        burst: within(bits * TICKS_PER_SECOND / rate),
        per_byte: within(per_byte).clamp(1, 1 << 47),
        unused: 0,
    }
}
