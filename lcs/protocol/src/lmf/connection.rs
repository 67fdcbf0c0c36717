//! The connection of one UE at the LMF.

use crate::actions::{ChannelId, Payload};
use crate::timers::Procedure;
use martlet_lcsupp::{BindingIdentity, Framer};
use std::collections::HashSet;
use std::time::Instant;

/// Where a UE's connection is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The UE was told to connect. Its channel may be there already.
    Establishing(Procedure),
    /// It is there.
    Established,
    /// It is there, and is to be modified.
    Modifying(Procedure),
    /// The UE was told to let go of it.
    Releasing(Procedure),
}

impl State {
    pub(super) fn procedure(&mut self) -> Option<&mut Procedure> {
        match self {
            State::Establishing(procedure)
            | State::Modifying(procedure)
            | State::Releasing(procedure) => Some(procedure),
            State::Established => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) state: State,
    pub(super) binding: BindingIdentity,
    pub(super) channel: Option<ChannelId>,
    pub(super) framer: Framer,
    pub(super) sessions: HashSet<Vec<u8>>,
    early: Vec<Payload>,
}

impl Connection {
    pub(super) fn new(binding: BindingIdentity, procedure: Procedure) -> Self {
        Connection {
            state: State::Establishing(procedure),
            binding,
            channel: None,
            framer: Framer::new(),
            sessions: HashSet::new(),
            early: Vec::new(),
        }
    }

    pub(super) fn is_established(&self) -> bool {
        matches!(self.state, State::Established | State::Modifying(_))
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Establishing(procedure)
            | State::Modifying(procedure)
            | State::Releasing(procedure) => Some(procedure.expires()),
            State::Established => None,
        }
    }

    pub(super) fn has_session(&self, session: &[u8]) -> bool {
        self.sessions.contains(session)
    }

    /// The UE says that it is connected: what came before, in its order. None where it said so
    /// before.
    pub(super) fn complete(&mut self) -> Option<Vec<Payload>> {
        if !matches!(self.state, State::Establishing(_)) {
            return None;
        }
        self.state = State::Established;
        Some(std::mem::take(&mut self.early))
    }

    /// Keep a payload until the establishment is complete, if there is room within `limit` octets.
    pub(super) fn keep(&mut self, payload: Payload, limit: usize) -> bool {
        let kept: usize =
            self.early.iter().map(|payload| payload.octets.len() + payload.session.len()).sum();
        let room = kept + payload.octets.len() + payload.session.len() <= limit;
        if room {
            self.early.push(payload);
        }
        room
    }
}
