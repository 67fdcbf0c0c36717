//! 5GSM state of a session in the network (TS 24.501, 6.1.3.3), and all transitions between its
//! values.
//!
//! ```text
//!                    accept sent                    MODIFICATION COMMAND
//!   PDU SESSION      ----------->   PDU SESSION     -------------------->   PDU SESSION
//!   INACTIVE                        ACTIVE          <--------------------   MODIFICATION PENDING
//!        ^                            |             COMPLETE, REJECT, T3591      |
//!        |    COMPLETE, T3592         | RELEASE COMMAND                          |
//!        +----------------------  PDU SESSION  <---------------------------------+
//!                                 INACTIVE PENDING
//! ```
use crate::session::SessionQos;
use martlet_nas::GsmCause;
use std::time::Instant;

/// A modification that the UE has not answered.
pub struct PendingModification {
    /// The encoded PDU SESSION MODIFICATION COMMAND, for retransmission.
    pub command: Vec<u8>,
    /// Procedure transaction identity of the UE's request; 0 for the network's own modification.
    pub pti: u8,
    /// Commands that were sent.
    pub transmissions: u8,
    /// When the last one was sent: the start of T3591, which events of the session do not restart.
    pub sent: Instant,
    /// The QoS before, which a rejection restores; `None` if the command does not change it.
    pub previous: Option<Box<SessionQos>>,
    /// UE and UPF get the QoS that the gNB has. A rejection by the UE does not restore the former
    /// one.
    pub follows_gnb: bool,
}

/// 5GSM state of a session.
#[derive(Default)]
pub enum GsmState {
    /// PDU SESSION INACTIVE: the session is being established, or was released.
    #[default]
    Inactive,
    /// PDU SESSION ACTIVE.
    Active,
    /// PDU SESSION MODIFICATION PENDING: the UE has to answer a modification command (T3591).
    ModificationPending(PendingModification),
    /// PDU SESSION INACTIVE PENDING: the UE has to answer a release command (T3592).
    InactivePending {
        /// The cause in the release command, which its retransmissions have, too.
        cause: GsmCause,
        /// Release commands that were sent.
        transmissions: u8,
        /// When the last one was sent: the start of T3592.
        sent: Instant,
    },
}

impl GsmState {
    /// The establishment has been accepted.
    pub fn activate(&mut self) {
        if matches!(self, GsmState::Inactive) {
            *self = GsmState::Active;
        }
    }

    /// A modification command is sent. A session that is being released is not modified.
    pub fn begin_modification(&mut self, modification: PendingModification) {
        if !self.is_releasing() {
            *self = GsmState::ModificationPending(modification);
        }
    }

    /// The modification has been answered or given up. Returns it if there was one.
    pub fn end_modification(&mut self) -> Option<PendingModification> {
        match std::mem::take(self) {
            GsmState::ModificationPending(modification) => {
                *self = GsmState::Active;
                Some(modification)
            }
            other => {
                *self = other;
                None
            }
        }
    }

    /// The first release command is sent. A pending modification is aborted.
    pub fn begin_release(&mut self, cause: GsmCause) {
        if !self.is_releasing() {
            let sent = Instant::now();
            *self = GsmState::InactivePending { cause, transmissions: 1, sent };
        }
    }

    /// A release command is sent again.
    pub fn retransmit_release(&mut self) {
        if let GsmState::InactivePending { transmissions, sent, .. } = self {
            *transmissions += 1;
            *sent = Instant::now();
        }
    }

    /// The first release command is sent now: T3592 starts.
    pub fn start_release_timer(&mut self) {
        if let GsmState::InactivePending { sent, .. } = self {
            *sent = Instant::now();
        }
    }

    /// The pending modification.
    pub fn modification(&mut self) -> Option<&mut PendingModification> {
        match self {
            GsmState::ModificationPending(modification) => Some(modification),
            _ => None,
        }
    }

    /// Whether the UE has to answer a modification command.
    pub fn is_modifying(&self) -> bool {
        matches!(self, GsmState::ModificationPending(_))
    }

    /// Whether the UE has to answer a release command.
    pub fn is_releasing(&self) -> bool {
        matches!(self, GsmState::InactivePending { .. })
    }

    /// The cause of the release, and the number of release commands that were sent.
    pub fn release(&self) -> Option<(GsmCause, u8)> {
        match self {
            GsmState::InactivePending { cause, transmissions, .. } => {
                Some((*cause, *transmissions))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modification() -> PendingModification {
        PendingModification {
            command: vec![],
            pti: 0,
            transmissions: 1,
            sent: Instant::now(),
            previous: None,
            follows_gnb: false,
        }
    }

    #[test]
    fn a_modification_ends_in_active() {
        let mut state = GsmState::default();
        state.activate();
        assert!(state.end_modification().is_none() && matches!(state, GsmState::Active));
        state.begin_modification(modification());
        assert!(state.is_modifying());
        assert!(state.end_modification().is_some() && matches!(state, GsmState::Active));
    }

    #[test]
    fn a_release_aborts_a_modification_and_is_not_undone() {
        let mut state = GsmState::Active;
        state.begin_modification(modification());
        assert_eq!(state.release(), None);
        state.begin_release(GsmCause::ReactivationRequested);
        state.begin_modification(modification());
        state.activate();
        state.retransmit_release();
        assert_eq!(state.release(), Some((GsmCause::ReactivationRequested, 2)));
        // Its cause is that of the first command.
        state.begin_release(GsmCause::RegularDeactivation);
        assert_eq!(state.release(), Some((GsmCause::ReactivationRequested, 2)));
    }
}
