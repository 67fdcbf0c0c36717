//! Table entries that a change of a session allocates, and releases if it fails.
use super::state::State;
use super::usage::RuleSlot;
use crate::loader::Programs;
use martlet_upf_datapath::{DatapathError, ResourceError};

/// Table entries allocated by a change.
#[derive(Default)]
pub(super) struct Allocation {
    pub rules: Vec<RuleSlot>,
    pub groups: Vec<(u32, u32)>,
    pub buckets: Vec<u32>,
    pub limits: Option<(u32, u32)>,
    /// Slots of a session's lists.
    pub lists: Vec<u32>,
}

impl Allocation {
    pub fn release(self, programs: &Programs, state: &mut State) {
        for at in self.rules {
            state.rule_slots.release(at.index);
            state.rest_slots.release(at.rest, 1);
            state.rates.release(programs, at.rate);
        }
        self.groups.into_iter().for_each(|(at, length)| state.group_slots.release(at, length));
        self.lists.into_iter().for_each(|at| state.rule_slots.release(at));
        self.buckets.into_iter().for_each(|at| state.bucket_slots.release(at, 1));
        if let Some((at, length)) = self.limits {
            state.limit_slots.release(at, length);
        }
    }
}

/// The error for a table without a free entry.
pub(super) fn full(table: &'static str) -> DatapathError {
    ResourceError::TableFull { table }.into()
}
