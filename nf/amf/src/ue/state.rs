//! The states of a UE and their transitions, with the names of the specifications.
//!
//! | state | specification | stored as |
//! | --- | --- | --- |
//! | RM | TS 23.501, 5.3.2 | [`RmState`] |
//! | CM | TS 23.501, 5.3.3 | derived: CM-CONNECTED while the UE has a connection |
//! | 5GMM | TS 24.501, 5.1.3 | derived from RM and [`Activity`] |
//! | handover | TS 23.502, 4.9.1 | [`HandoverPhase`] |
//! | context transfer | TS 29.518, 5.2.2.2 | [`ContextTransfer`] |
use super::Ue;
use crate::metrics;
use martlet_nas::Nas5gsMessage;

/// Registration management state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum RmState {
    #[default]
    Deregistered,
    Registered,
}

/// Connection management state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CmState {
    Idle,
    Connected,
}

/// 5GMM state in the AMF. A whole registration counts as its common procedures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GmmState {
    Deregistered,
    CommonProcedureInitiated,
    Registered,
    DeregisteredInitiated,
}

/// The procedure that determines the 5GMM state, or how transfers are handled.
#[derive(Debug, Default, PartialEq)]
enum Activity {
    #[default]
    None,
    /// A registration, with its REGISTRATION REQUEST.
    Registration(Box<Nas5gsMessage>),
    /// A deregistration by the network.
    Deregistration,
    Paging,
}

/// The phase of a handover at this AMF.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum HandoverPhase {
    #[default]
    None,
    /// The target is being prepared (TS 23.502, 4.9.1.3.2).
    Preparation,
    /// The UE moves to a gNB of this AMF (4.9.1.3.3).
    Execution,
    /// The UE moves to a gNB of another AMF (4.9.1.3.3).
    ExecutionToOtherAmf,
}

/// The transfer of this context to another AMF at a registration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ContextTransfer {
    #[default]
    None,
    /// The context was given; RegistrationStatusUpdate is awaited.
    AwaitingStatusUpdate,
}

/// The stored states of a UE. Only the methods of [`Ue`] in this file change them.
#[derive(Debug, Default)]
pub(crate) struct States {
    rm: RmState,
    activity: Activity,
    handover: HandoverPhase,
}

impl Ue {
    /// The CM state.
    pub fn cm_state(&self) -> CmState {
        match self.connection {
            Some(_) => CmState::Connected,
            None => CmState::Idle,
        }
    }

    /// The 5GMM state.
    pub fn gmm_state(&self) -> GmmState {
        match (&self.states.activity, self.states.rm) {
            (Activity::Registration(_), _) => GmmState::CommonProcedureInitiated,
            (Activity::Deregistration, _) => GmmState::DeregisteredInitiated,
            (_, RmState::Registered) => GmmState::Registered,
            (_, RmState::Deregistered) => GmmState::Deregistered,
        }
    }

    /// Whether the RM state is RM-REGISTERED.
    pub fn is_registered(&self) -> bool {
        self.states.rm == RmState::Registered
    }

    /// Changes the RM state and counts registered UEs.
    pub fn set_rm_state(&mut self, rm: RmState) {
        match (self.states.rm, rm) {
            (RmState::Deregistered, RmState::Registered) => metrics::registered(1),
            (RmState::Registered, RmState::Deregistered) => metrics::registered(-1),
            _ => return,
        }
        self.states.rm = rm;
    }

    /// Enters 5GMM-COMMON-PROCEDURE-INITIATED for a registration.
    pub fn start_registration(&mut self, request: Nas5gsMessage) {
        self.states.activity = Activity::Registration(request.into());
    }

    /// Enters 5GMM-DEREGISTERED-INITIATED.
    pub fn start_deregistration(&mut self) {
        self.states.activity = Activity::Deregistration;
    }

    /// Starts a paging.
    pub fn start_paging(&mut self) {
        self.states.activity = Activity::Paging;
    }

    /// Ends a registration, deregistration or paging: the RM state alone determines the 5GMM state.
    pub fn end_activity(&mut self) {
        self.states.activity = Activity::None;
    }

    /// Whether a registration is running.
    pub fn is_registering(&self) -> bool {
        self.gmm_state() == GmmState::CommonProcedureInitiated
    }

    /// Whether a message repeats the request of the running registration.
    pub fn is_running_request(&self, message: &Nas5gsMessage) -> bool {
        matches!(&self.states.activity, Activity::Registration(request) if **request == *message)
    }

    /// Whether the UE is being paged.
    pub fn is_being_paged(&self) -> bool {
        self.states.activity == Activity::Paging
    }

    /// The phase of the running handover.
    pub fn handover_phase(&self) -> HandoverPhase {
        self.states.handover
    }

    /// Enters a phase of a handover.
    pub fn set_handover_phase(&mut self, phase: HandoverPhase) {
        tracing::trace!(
            supi = self.label(), from = ?self.states.handover, to = ?phase,
            "handover phase"
        );
        self.states.handover = phase;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_start_deregistered_without_a_handover() {
        let states = States::default();
        assert_eq!(
            (states.rm, states.activity, states.handover),
            (RmState::Deregistered, Activity::None, HandoverPhase::None)
        );
    }
}
