//! Sessions that the programs do not carry: those of Ethernet frames. The programs leave their tunnels to the socket.
use super::forwarder::Forwarder;
use crate::datapath::{Change, DatapathError, Usage};
use crate::kernel::beside::Beside;
use martlet_upf_xdp::types::{rule, rule_flag, rule_rest};
use std::collections::{BTreeSet, HashMap};

/// Those sessions, and their tunnels.
pub(super) struct OfFrames {
    beside: Beside,
    teids: HashMap<u64, BTreeSet<u32>>,
    /// What all their tunnels lead to, in the table of rules.
    rule: u32,
}

impl OfFrames {
    /// Takes the place of the rule that leaves packets to the socket.
    pub fn open(forwarder: &Forwarder, beside: Beside) -> Result<Self, String> {
        let state = &mut *forwarder.lock();
        let places = (state.places.take_other(), state.rest_slots.take(1));
        let (Some(at), Some(rest)) = places else {
            return Err("there is no room for rules: raise upf.xdp.rules".into());
        };
        forwarder.programs.rule_rests.write(rest, rule_rest::default());
        let flags = rule_flag::RULE_SOCKET.0 | rule_flag::RULE_UPLINK.0;
        forwarder.programs.rules.write(at, rule { flags, rest, mark: u32::MAX, ..rule::default() });
        Ok(OfFrames { beside, teids: HashMap::new(), rule: at })
    }

    /// The datapath of a session, if it is one of these.
    pub fn of(&self, seid: u64) -> Option<&Beside> {
        self.teids.contains_key(&seid).then_some(&self.beside)
    }

    /// All of them.
    pub fn all(&self) -> &Beside {
        &self.beside
    }

    /// See [`Datapath::apply`](crate::datapath::Datapath::apply).
    pub fn apply(&mut self, forwarder: &Forwarder, change: &Change<'_>) -> Result<(), DatapathError> {
        self.beside.apply(change)?;
        let now: BTreeSet<u32> = change.session.teids().into_iter().collect();
        let before = self.teids.insert(change.session.seid, now.clone()).unwrap_or_default();
        // The lock is what keeps others from these tables.
        let _state = forwarder.lock();
        before.difference(&now).for_each(|teid| forwarder.programs.clear_teid(*teid));
        for teid in now.difference(&before) {
            let set = forwarder.programs.set_teid(*teid, self.rule);
            set.map_err(|error| DatapathError::NoResources(error.to_string()))?;
        }
        Ok(())
    }

    /// See [`Datapath::remove`](crate::datapath::Datapath::remove); `None` for a session that is none of these.
    pub fn remove(&mut self, forwarder: &Forwarder, seid: u64) -> Option<Vec<Usage>> {
        let teids = self.teids.remove(&seid)?;
        let state = forwarder.lock();
        teids.iter().for_each(|teid| forwarder.programs.clear_teid(*teid));
        drop(state);
        Some(self.beside.remove(seid))
    }
}
