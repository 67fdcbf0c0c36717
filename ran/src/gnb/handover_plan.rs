//! The plan of a simulated handover, and its result.
use martlet_ngap::transfer::UserPlaneSecurity;
use std::time::Duration;

/// The scripted course of an N2 handover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HandoverScript {
    /// The UE arrives at the target.
    #[default]
    Completed,
    /// The source sends HANDOVER CANCEL directly after HANDOVER REQUIRED.
    CancelledDuringPreparation,
    /// The source sends HANDOVER CANCEL on HANDOVER COMMAND.
    CancelledAfterCommand,
    /// The UE does not arrive at the target after HANDOVER COMMAND.
    UeDoesNotArrive,
    /// The target does not answer HANDOVER REQUEST.
    TargetSilent,
    /// The target answers with HANDOVER FAILURE: no radio resources.
    TargetRejects,
    /// The NAS container that announces a new K_AMF reaches the UE with a wrong MAC.
    NasContainerDamaged,
}

/// The plan of an N2 handover (TS 23.502, 4.9.1.3).
#[derive(Debug, Clone, Default)]
pub struct HandoverPlan {
    /// Source and target have a direct forwarding path.
    pub direct_forwarding: bool,
    /// The target requests no data forwarding.
    pub without_forwarding: bool,
    /// PDU session identities that the target does not admit.
    pub refused: Vec<u8>,
    /// The scripted course.
    pub script: HandoverScript,
}

/// The plan of an Xn handover (TS 23.502, 4.9.1.2).
#[derive(Debug, Clone, Default)]
pub struct XnHandoverPlan {
    /// PDU session identities that the target does not take over.
    pub lost: Vec<u8>,
    /// Identifiers of QoS flows that it does not take over.
    pub lost_flows: Vec<u8>,
    /// NR ciphering and integrity algorithms that the target reports in place of the UE's security
    /// capabilities (TS 38.413, 9.3.1.86).
    pub capability: Option<(u8, u8)>,
    /// Security indication that the target reports in place of the SMF's.
    pub up_security: Option<UserPlaneSecurity>,
}

/// The result of a handover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoverOutcome {
    /// PDU session identities at the target.
    pub sessions: Vec<u8>,
    /// From HANDOVER REQUIRED to HANDOVER COMMAND; zero for an Xn handover.
    pub preparation: Duration,
    /// Until the source's context is released, or the path is switched.
    pub total: Duration,
}
