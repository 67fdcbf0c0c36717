//! Removal of NAT flows that expired or whose session ended.
use super::Forwarder;
use crate::loader::{Programs, types};
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Time after which no program uses a removed flow any more.
const GRACE_PERIOD: Duration = Duration::from_millis(100);

/// The address of a binding: public address and port, protocol.
type Public = (u32, u16, u8);

/// User space's state of translated flows.
#[derive(Default)]
pub(super) struct Flows {
    /// One bit for each slot: the inbound flow's binding is counted.
    seen: Vec<u64>,
    /// Flows of each binding.
    bindings: HashMap<Public, u32>,
    resting: VecDeque<(Instant, u32)>,
    /// Flows that were alive when they were last read.
    pub alive: u32,
}

impl Flows {
    /// Removes flows that have expired at `ticks`, or whose session was removed.
    pub fn sweep(
        &mut self,
        programs: &Programs,
        settings: &types::nat_settings,
        ticks: u64,
        lives: impl Fn(u32, u32) -> bool,
    ) {
        let now = Instant::now();
        while self
            .resting
            .front()
            .is_some_and(|(since, _)| now.duration_since(*since) >= GRACE_PERIOD)
        {
            let Some((_, slot)) = self.resting.pop_front() else { break };
            if let Err(error) = programs.return_nat_slot(slot) {
                tracing::error!(%error, "NAT flow entry leaked");
            }
        }
        self.alive = 0;
        for slot in programs.nat_find_l4() {
            let Some(flow) = programs.nat_flow(slot) else { continue };
            let public = (flow.public.0, flow.public.1, flow.protocol);
            let (word, bit) = (slot as usize / 64, 1 << (slot % 64));
            if self.seen.len() <= word {
                self.seen.resize(word + 1, 0);
            }
            if self.seen[word] & bit == 0 {
                self.seen[word] |= bit;
                *self.bindings.entry(public).or_default() += 1;
            }
            let counted = lives(flow.session, flow.incarnation);
            if counted && !programs.nat_is_expired(settings, &flow, ticks) {
                self.alive += 1;
                continue;
            }
            programs.forget_nat_flow(&flow, counted);
            self.seen[word] &= !bit;
            self.resting.extend(flow.rule_slots.map(|slot| (now, slot)));
            let left = self.bindings.entry(public).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.bindings.remove(&public);
                programs.forget_nat_binding(&flow);
            }
        }
    }
}

impl Forwarder {
    /// Removes expired translated flows.
    pub fn sweep_flows(&self) {
        if self.nat.addresses == 0 {
            return;
        }
        let Ok((ticks, _)) = self.programs.clock() else { return };
        let state = &mut *self.lock();
        let (flows, by_slot, sessions) = (&mut state.flows, &state.by_slot, &state.sessions);
        flows.sweep(&self.programs, &self.nat, ticks, |slot, incarnation| {
            let entry = by_slot.get(slot).and_then(|seid| sessions.get(&seid));
            entry.is_some_and(|entry| entry.incarnation == incarnation)
        });
    }
}
