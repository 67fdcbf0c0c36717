//! The transitions of a UE between its states.
use super::{Activity, CmState, GmmState, HandoverPhase, NasExchange, RmState};
use crate::metrics;
use crate::ue::Ue;
use martlet_nas::Nas5gsMessage;

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

    /// Whether secure exchange of NAS messages is established.
    pub fn nas_exchange(&self) -> NasExchange {
        self.states.nas
    }

    /// Whether NAS messages are protected.
    pub fn is_exchange_secure(&self) -> bool {
        self.states.nas == NasExchange::Secure
    }

    /// Establishes secure exchange of NAS messages, or ends it.
    pub fn set_nas_exchange(&mut self, exchange: NasExchange) {
        self.states.nas = exchange;
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
