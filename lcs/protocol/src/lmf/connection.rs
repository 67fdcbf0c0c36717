//! The connection of one UE at the LMF.

use crate::actions::{ChannelId, Payload};
use crate::timers::Procedure;
use martlet_lcsupp::{BindingIdentity, Framer};
use std::collections::HashSet;
use std::time::Instant;

/// Payloads that are buffered until the establishment is complete. A small payload needs much more
/// memory than its bytes.
const EARLY_PAYLOADS: usize = 1024;

/// The state of a UE's connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum State {
    /// ESTABLISHMENT COMMAND was sent. The channel may be bound already.
    Establishing(Procedure),
    /// The connection is established.
    Established,
    /// Established, and MODIFICATION COMMAND was sent.
    Modifying(Procedure),
    /// RELEASE COMMAND was sent.
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
    early_bytes: usize,
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
            early_bytes: 0,
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

    /// Completes the establishment. Returns the buffered payloads in order; None if it was
    /// complete.
    pub(super) fn complete(&mut self) -> Option<Vec<Payload>> {
        if !matches!(self.state, State::Establishing(_)) {
            return None;
        }
        self.state = State::Established;
        self.early_bytes = 0;
        Some(std::mem::take(&mut self.early))
    }

    /// Buffers a payload until the establishment is complete. False if `limit` bytes or
    /// [`EARLY_PAYLOADS`] are exceeded.
    pub(super) fn buffer(&mut self, payload: Payload, limit: usize) -> bool {
        let bytes = self.early_bytes + payload.bytes.len() + payload.session.len();
        let room = bytes <= limit && self.early.len() < EARLY_PAYLOADS;
        if room {
            self.early.push(payload);
            self.early_bytes = bytes;
        }
        room
    }
}
