//! The states of a UE and their transitions, with the names of the specifications.
//!
//! | state | specification | stored as |
//! | --- | --- | --- |
//! | RM | TS 23.501, 5.3.2 | [`RmState`] |
//! | CM | TS 23.501, 5.3.3 | derived: CM-CONNECTED while the UE has a connection |
//! | 5GMM | TS 24.501, 5.1.3 | derived from RM and [`Activity`] |
//! | NAS exchange | TS 24.501, 4.4.2.5 | [`NasExchange`] |
//! | handover | TS 23.502, 4.9.1 | [`HandoverPhase`] |
//! | context transfer | TS 29.518, 5.2.2.2 | [`ContextTransfer`] |
mod transitions;

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

/// Whether secure exchange of NAS messages is established on the connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum NasExchange {
    /// Messages are sent unprotected, and unprotected ones are accepted where TS 24.501, 4.4.4,
    /// allows it.
    #[default]
    Unprotected,
    /// Messages are protected with the current 5G NAS security context.
    Secure,
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
    /// CONFIGURATION UPDATE COMPLETE is awaited.
    ConfigurationUpdate,
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
    /// The context was given; RegistrationStatusUpdate is awaited until the UE connects here again.
    AwaitingStatusUpdate,
    /// The other AMF has reported that it has the UE. It repeats the report if the answer is lost.
    Transferred,
}

/// The stored states of a UE. Only the transitions in `transitions` change them.
#[derive(Debug, Default)]
pub(crate) struct States {
    rm: RmState,
    activity: Activity,
    nas: NasExchange,
    handover: HandoverPhase,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_start_deregistered_without_a_handover() {
        let states = States::default();
        assert_eq!(
            (states.rm, states.activity, states.nas, states.handover),
            (RmState::Deregistered, Activity::None, NasExchange::Unprotected, HandoverPhase::None)
        );
    }
}
