//! The transitions of a UE between its states. Nothing else changes a state.
//!
//! | state machine | from | transition | to |
//! | --- | --- | --- | --- |
//! | RM | RM-DEREGISTERED | `register` | RM-REGISTERED |
//! | RM | RM-REGISTERED | `deregister` | RM-DEREGISTERED |
//! | CM | CM-IDLE | `enter_cm_connected` | CM-CONNECTED |
//! | CM | CM-CONNECTED | `switch_connection` | CM-CONNECTED |
//! | CM | CM-CONNECTED | `enter_cm_idle` | CM-IDLE, without secure exchange |
//! | 5GMM | no procedure | `start_registration` | 5GMM-COMMON-PROCEDURE-INITIATED |
//! | 5GMM | no procedure | `start_deregistration` | 5GMM-DEREGISTERED-INITIATED |
//! | 5GMM | no procedure | `start_paging`, `start_configuration_update` | as RM says |
//! | 5GMM | one of these | `end_…` of the same procedure | as RM says |
//! | NAS exchange | any, in CM-CONNECTED | `secure_exchange` | secure exchange |
//! | NAS exchange | any | `restore_exchange` | as before security mode control |
//! | handover | none | `start_preparation` | preparation |
//! | handover | preparation | `start_execution` | execution |
//! | handover | none | `start_execution_to_other_amf` | execution to another AMF |
//! | handover | any | `end_handover` | none |
//!
//! `register`, `deregister`, `enter_cm_idle` and `secure_exchange` do nothing in the state that
//! they lead to. Any other transition is refused: it changes nothing and is logged. `register` is
//! also refused in 5GMM-DEREGISTERED-INITIATED.
use super::{Activity, CmState, GmmState, HandoverPhase, NasExchange, RmState, States};
use crate::metrics;
use crate::n2::Connection;
use crate::ue::Ue;
use martlet_nas::Nas5gsMessage;

/// A transition that the current state does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Refused;

impl States {
    fn gmm(&self) -> GmmState {
        match (&self.activity, self.rm) {
            (Activity::Registration(_), _) => GmmState::CommonProcedureInitiated,
            (Activity::Deregistration, _) => GmmState::DeregisteredInitiated,
            (_, RmState::Registered) => GmmState::Registered,
            (_, RmState::Deregistered) => GmmState::Deregistered,
        }
    }

    /// Returns whether the state has changed.
    fn register(&mut self) -> Result<bool, Refused> {
        if self.gmm() == GmmState::DeregisteredInitiated {
            return Err(Refused);
        }
        Ok(std::mem::replace(&mut self.rm, RmState::Registered) == RmState::Deregistered)
    }

    /// Returns whether the state has changed.
    fn deregister(&mut self) -> bool {
        std::mem::replace(&mut self.rm, RmState::Deregistered) == RmState::Registered
    }

    fn start(&mut self, activity: Activity) -> Result<(), Refused> {
        if self.activity != Activity::None {
            return Err(Refused);
        }
        self.activity = activity;
        Ok(())
    }

    /// Ends the procedure that `is` accepts.
    fn end(&mut self, is: impl FnOnce(&Activity) -> bool) -> Result<(), Refused> {
        if !is(&self.activity) {
            return Err(Refused);
        }
        self.activity = Activity::None;
        Ok(())
    }

    fn secure_exchange(&mut self, cm: CmState) -> Result<(), Refused> {
        if cm == CmState::Idle {
            return Err(Refused);
        }
        self.nas = NasExchange::Secure;
        Ok(())
    }

    fn handover(&mut self, from: HandoverPhase, to: HandoverPhase) -> Result<(), Refused> {
        if self.handover != from {
            return Err(Refused);
        }
        self.handover = to;
        Ok(())
    }
}

/// The CM state of a UE with or without a connection.
fn cm_of<C>(connection: &Option<C>) -> CmState {
    match connection {
        Some(_) => CmState::Connected,
        None => CmState::Idle,
    }
}

/// CM-IDLE to CM-CONNECTED.
fn connect<C>(connection: &mut Option<C>, new: C) -> Result<(), Refused> {
    match cm_of(connection) {
        CmState::Idle => *connection = Some(new),
        CmState::Connected => return Err(Refused),
    }
    Ok(())
}

/// Another connection in CM-CONNECTED. Returns the one before.
fn switch<C>(connection: &mut Option<C>, new: C) -> Result<C, Refused> {
    connection.as_mut().map(|current| std::mem::replace(current, new)).ok_or(Refused)
}

impl Ue {
    /// The CM state.
    pub fn cm_state(&self) -> CmState {
        cm_of(&self.connection)
    }

    /// The 5GMM state.
    pub fn gmm_state(&self) -> GmmState {
        self.states.gmm()
    }

    /// Whether the RM state is RM-REGISTERED.
    pub fn is_registered(&self) -> bool {
        self.states.rm == RmState::Registered
    }

    /// Enters RM-REGISTERED and counts the UE.
    pub fn register(&mut self) {
        match self.states.register() {
            Ok(true) => metrics::registered(1),
            Ok(false) => {}
            refused => self.log_refused("register", refused.map(|_| ())),
        }
    }

    /// Enters RM-DEREGISTERED.
    pub fn deregister(&mut self) {
        if self.states.deregister() {
            metrics::registered(-1);
        }
    }

    /// Enters CM-CONNECTED.
    pub fn enter_cm_connected(&mut self, connection: Connection) {
        let outcome = connect(&mut self.connection, connection);
        self.log_refused("enter_cm_connected", outcome);
    }

    /// Continues in CM-CONNECTED on the connection with the target gNB of a handover. Returns the
    /// connection with the source gNB.
    pub fn switch_connection(&mut self, target: Connection) -> Option<Connection> {
        let switched = switch(&mut self.connection, target);
        self.log_refused(
            "switch_connection",
            switched.as_ref().map(|_| ()).map_err(|refused| *refused),
        );
        switched.ok()
    }

    /// Enters CM-IDLE, which ends secure exchange of NAS messages. Returns the connection that the
    /// UE had.
    pub fn enter_cm_idle(&mut self) -> Option<Connection> {
        let connection = self.connection.take()?;
        self.last_location = Some(connection.location);
        self.states.nas = NasExchange::Unprotected;
        Some(connection)
    }

    /// Enters 5GMM-COMMON-PROCEDURE-INITIATED for a registration.
    pub fn start_registration(&mut self, request: Nas5gsMessage) {
        let outcome = self.states.start(Activity::Registration(request.into()));
        self.log_refused("start_registration", outcome);
    }

    /// Ends a registration: the RM state alone determines the 5GMM state.
    pub fn end_registration(&mut self) {
        let outcome = self.states.end(|activity| matches!(activity, Activity::Registration(_)));
        self.log_refused("end_registration", outcome);
    }

    /// Enters 5GMM-DEREGISTERED-INITIATED.
    pub fn start_deregistration(&mut self) {
        let outcome = self.states.start(Activity::Deregistration);
        self.log_refused("start_deregistration", outcome);
    }

    /// Ends a deregistration by the network: the RM state alone determines the 5GMM state.
    pub fn end_deregistration(&mut self) {
        let outcome = self.states.end(|activity| *activity == Activity::Deregistration);
        self.log_refused("end_deregistration", outcome);
    }

    /// Starts a paging.
    pub fn start_paging(&mut self) {
        let outcome = self.states.start(Activity::Paging);
        self.log_refused("start_paging", outcome);
    }

    /// Ends a paging.
    pub fn end_paging(&mut self) {
        let outcome = self.states.end(|activity| *activity == Activity::Paging);
        self.log_refused("end_paging", outcome);
    }

    /// Starts the wait for CONFIGURATION UPDATE COMPLETE.
    pub fn start_configuration_update(&mut self) {
        let outcome = self.states.start(Activity::ConfigurationUpdate);
        self.log_refused("start_configuration_update", outcome);
    }

    /// Ends the wait for CONFIGURATION UPDATE COMPLETE.
    pub fn end_configuration_update(&mut self) {
        let outcome = self.states.end(|activity| *activity == Activity::ConfigurationUpdate);
        self.log_refused("end_configuration_update", outcome);
    }

    /// Whether CONFIGURATION UPDATE COMPLETE is awaited.
    pub fn is_updating_configuration(&self) -> bool {
        self.states.activity == Activity::ConfigurationUpdate
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

    /// Establishes secure exchange of NAS messages on the connection.
    pub fn secure_exchange(&mut self) {
        let outcome = self.states.secure_exchange(self.cm_state());
        self.log_refused("secure_exchange", outcome);
    }

    /// Returns to the exchange before a security mode control that has failed (TS 24.501, 5.4.2.5).
    pub fn restore_exchange(&mut self, before: NasExchange) {
        self.states.nas = before;
    }

    /// The phase of the running handover.
    pub fn handover_phase(&self) -> HandoverPhase {
        self.states.handover
    }

    /// The target gNB of a handover is prepared.
    pub fn start_preparation(&mut self) {
        self.enter(HandoverPhase::None, HandoverPhase::Preparation);
    }

    /// The UE moves to the prepared gNB of this AMF.
    pub fn start_execution(&mut self) {
        self.enter(HandoverPhase::Preparation, HandoverPhase::Execution);
    }

    /// The UE moves to a gNB of another AMF, which has prepared it.
    pub fn start_execution_to_other_amf(&mut self) {
        self.enter(HandoverPhase::None, HandoverPhase::ExecutionToOtherAmf);
    }

    /// Ends a handover, whatever its outcome.
    pub fn end_handover(&mut self) {
        self.enter(self.states.handover, HandoverPhase::None);
    }

    fn enter(&mut self, from: HandoverPhase, to: HandoverPhase) {
        tracing::trace!(supi = self.label(), ?from, ?to, "handover phase");
        let outcome = self.states.handover(from, to);
        self.log_refused("handover phase", outcome);
    }

    /// Logs a transition that was refused.
    fn log_refused(&self, transition: &'static str, outcome: Result<(), Refused>) {
        if let Err(Refused) = outcome
            && let Some(suppressed) = martlet_log_limit::line("state_transition", transition)
        {
            tracing::warn!(
                supi = self.label(), transition, rm = ?self.states.rm, gmm = ?self.gmm_state(),
                cm = ?self.cm_state(), handover = ?self.states.handover, suppressed,
                "state transition refused"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_nas::{GmmCause, reaction};

    fn registration() -> Activity {
        Activity::Registration(reaction::status(GmmCause::Congestion).into())
    }

    fn in_activity(activity: Activity) -> States {
        States { activity, ..Default::default() }
    }

    #[test]
    fn a_ue_registers_and_deregisters() {
        let mut states = States::default();
        assert_eq!((states.gmm(), states.deregister()), (GmmState::Deregistered, false));
        assert_eq!((states.register(), states.gmm()), (Ok(true), GmmState::Registered));
        // A mobility registration, and a second deregistration, change nothing.
        assert_eq!((states.register(), states.rm), (Ok(false), RmState::Registered));
        assert_eq!((states.deregister(), states.deregister()), (true, false));
        assert_eq!(states.gmm(), GmmState::Deregistered);
    }

    #[test]
    fn a_ue_that_is_being_deregistered_does_not_register() {
        let mut states = in_activity(Activity::Deregistration);
        assert_eq!((states.register(), states.rm), (Err(Refused), RmState::Deregistered));
        states.end(|activity| *activity == Activity::Deregistration).unwrap();
        assert_eq!(states.register(), Ok(true));
    }

    #[test]
    fn a_procedure_determines_the_5gmm_state_until_it_ends() {
        let cases = [
            (registration(), GmmState::CommonProcedureInitiated),
            (Activity::Deregistration, GmmState::DeregisteredInitiated),
            (Activity::Paging, GmmState::Registered),
            (Activity::ConfigurationUpdate, GmmState::Registered),
        ];
        for (activity, gmm) in cases {
            let mut states = States { rm: RmState::Registered, ..Default::default() };
            states.start(activity).unwrap();
            assert_eq!(states.gmm(), gmm);
            states.end(|_| true).unwrap();
            assert_eq!((states.gmm(), states.activity), (GmmState::Registered, Activity::None));
        }
    }

    #[test]
    fn a_second_procedure_and_the_end_of_another_one_are_refused() {
        let all = || {
            let others = [Activity::Paging, Activity::ConfigurationUpdate];
            [registration(), Activity::Deregistration].into_iter().chain(others)
        };
        for running in 0..4 {
            for other in 0..4 {
                let activity = |at: usize| all().nth(at).unwrap();
                let mut states = in_activity(activity(running));
                let started = states.start(activity(other));
                assert_eq!(started, Err(Refused), "{other} during {running}");
                let ended = states.end(|running| *running == activity(other));
                assert_eq!(ended.is_ok(), running == other, "end of {other} during {running}");
            }
        }
        assert_eq!(States::default().end(|activity| *activity == Activity::Paging), Err(Refused));
    }

    #[test]
    fn secure_exchange_needs_a_connection() {
        let mut states = States::default();
        assert_eq!(states.secure_exchange(CmState::Idle), Err(Refused));
        assert_eq!(states.nas, NasExchange::Unprotected);
        assert_eq!(states.secure_exchange(CmState::Connected), Ok(()));
        assert_eq!(states.nas, NasExchange::Secure);
    }

    #[test]
    fn a_connection_begins_in_cm_idle_and_is_switched_in_cm_connected() {
        let mut connection = None;
        assert_eq!(switch(&mut connection, 1), Err(Refused));
        assert_eq!(cm_of(&connection), CmState::Idle);
        assert_eq!(connect(&mut connection, 2), Ok(()));
        assert_eq!(cm_of(&connection), CmState::Connected);
        assert_eq!(connect(&mut connection, 3), Err(Refused));
        assert_eq!((switch(&mut connection, 4), connection), (Ok(2), Some(4)));
    }

    #[test]
    fn a_handover_is_prepared_before_it_is_executed() {
        use HandoverPhase::*;
        let transitions =
            [(None, Preparation), (Preparation, Execution), (None, ExecutionToOtherAmf)];
        for phase in [None, Preparation, Execution, ExecutionToOtherAmf] {
            for (from, to) in transitions {
                let mut states = States { handover: phase, ..Default::default() };
                let (allowed, outcome) = (phase == from, states.handover(from, to));
                assert_eq!(outcome.is_ok(), allowed, "{to:?} in {phase:?}");
                assert_eq!(states.handover, if allowed { to } else { phase });
            }
        }
    }
}
