//! Traffic shaping for the thermal governor.
use super::allowance::bucket;
use super::compile::{CLASS_SHIFT, Planned, class_in};
use super::{Forwarder, lock};
use crate::loader::types::{self, rule, rule_flag};
use martlet_board::governor::CLASSES;
use martlet_upf_datapath::{Shaping, class_of};
use martlet_upf_rules::Session;
use std::mem::{offset_of, size_of};
use std::sync::atomic::Ordering;

impl Forwarder {
    /// The flags of a rule that encode its class, and whether it is shaped.
    pub fn class_flags(&self, session: &Session, planned: &Planned) -> u32 {
        let qers = session.pdrs.get(&planned.pdr).map_or(&[][..], |pdr| &pdr.qers);
        let class = class_of(qers.iter().filter_map(|id| session.qers.get(id)), &self.lowest);
        let shaped = lock(&self.shaping).limits[class].is_some();
        (class as u32) << CLASS_SHIFT | if shaped { rule_flag::RULE_SHAPED.0 } else { 0 }
    }

    /// See [`Datapath::shape`](martlet_upf_datapath::Datapath::shape).
    pub fn shape(&self, shaping: &Shaping) {
        // Held throughout, so that no rule is written with a part of the change.
        let state = self.lock();
        let before = std::mem::replace(&mut *lock(&self.shaping), *shaping);
        for (class, limit) in shaping.limits.iter().enumerate() {
            if let Some(rate) = limit.filter(|limit| before.limits[class] != Some(*limit)) {
                let wanted = bucket(rate, self.limits.mbr_burst());
                let at = class * size_of::<types::bucket>();
                let set = |offset: usize, value| {
                    self.programs.governor.u64(0, at + offset).store(value, Ordering::Relaxed)
                };
                set(offset_of!(types::bucket, burst), wanted.burst);
                set(offset_of!(types::bucket, per_byte), wanted.per_byte);
            }
        }
        let shaped = |shaping: &Shaping| shaping.limits.map(|limit| limit.is_some());
        let (was, is) = (shaped(&before), shaped(shaping));
        if was == is {
            return;
        }
        for placed in state.sessions.values().flat_map(|entry| &entry.rules) {
            let flags = self.programs.rules.u32(placed.index, offset_of!(rule, flags));
            let class = class_in(flags.load(Ordering::Relaxed));
            match (was.get(class), is.get(class)) {
                (Some(false), Some(true)) => {
                    flags.fetch_or(rule_flag::RULE_SHAPED.0, Ordering::Relaxed)
                }
                (Some(true), Some(false)) => {
                    flags.fetch_and(!rule_flag::RULE_SHAPED.0, Ordering::Relaxed)
                }
                _ => continue,
            };
        }
    }

    /// See [`Datapath::class_bytes`](martlet_upf_datapath::Datapath::class_bytes).
    pub fn class_bytes(&self) -> [u64; CLASSES] {
        let state = self.lock();
        let mut sums = state.gone_by_class;
        for entry in state.sessions.values() {
            for placed in entry.rules.iter().chain(entry.old_rules.iter().map(|(_, placed)| placed))
            {
                let rule = self.programs.rules.read(placed.index);
                if let Some(sum) = sums.get_mut(class_in(rule.flags)) {
                    *sum += rule.bytes;
                }
            }
        }
        sums
    }
}
