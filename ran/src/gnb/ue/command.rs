//! Commands to a UE's task, and their replies.
use crate::gnb::error::UeError;
use crate::gnb::handover_plan::{HandoverOutcome, HandoverPlan, XnHandoverPlan};
use crate::gnb::node::Gnb;
use crate::radio_environment::RadioEnvironment;
use crate::ue::{
    Event, MmState, ModificationRequest, NetworkSettings, PduSession, PduSessionRequest,
    PositioningKind, RegistrationOutcome, RegistrationType, ServicePurpose,
};
use bytes::Bytes;
use martlet_nas::{Guti, Nas5gsMessage};
use martlet_ngap::transfer::SecurityOutcome;
use std::sync::Arc;
use tokio::sync::{broadcast, oneshot};

/// An event of a UE.
#[derive(Debug, Clone, PartialEq)]
pub enum UeEvent {
    /// An event of its NAS layer.
    Nas(Event),
    /// A downlink NAS message, before it is processed.
    NasReceived(Bytes),
    /// Its connection was released.
    ConnectionReleased,
    /// The gNB has lost the association of its connection: the reason.
    GnbLost(Arc<str>),
}

/// The state of a UE.
#[derive(Debug, Clone, PartialEq)]
pub struct UeStatus {
    /// 5GMM state.
    pub state: MmState,
    /// Whether it has a connection through the gNB.
    pub connected: bool,
    /// 5G-GUTI.
    pub guti: Option<Guti>,
    /// Settings from the network.
    pub settings: NetworkSettings,
    /// Number of K_AMF changes by handover.
    pub key_changes: u32,
    /// Established PDU sessions.
    pub sessions: Vec<PduSession>,
    /// Sessions whose user plane is active at the gNB.
    pub active_user_planes: Vec<u8>,
    /// NEA and NIA identifiers in use.
    pub algorithms: Option<(u8, u8)>,
    /// User plane security results of sessions with a security indication.
    pub protected: Vec<(u8, SecurityOutcome)>,
    /// Its network namespace.
    pub netns: Option<String>,
}

/// Sends the result of a command to its caller.
pub(crate) struct Reply<T>(oneshot::Sender<Result<T, UeError>>);

impl<T> Reply<T> {
    pub(crate) fn new() -> (Self, oneshot::Receiver<Result<T, UeError>>) {
        let (sender, receiver) = oneshot::channel();
        (Reply(sender), receiver)
    }

    /// Sends the result; ignored if the caller no longer waits.
    pub(crate) fn done(self, outcome: Result<T, UeError>) {
        let _ = self.0.send(outcome);
    }
}

/// Callers that wait for the same result.
pub(crate) struct Waiting<T>(Vec<Reply<T>>);

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Waiting(Vec::new())
    }
}

impl<T: Clone> Waiting<T> {
    pub(crate) fn add(&mut self, reply: Reply<T>) {
        // Callers that no longer wait are removed, so that the list stays bounded.
        self.0.retain(|waiting| !waiting.0.is_closed());
        self.0.push(reply);
    }

    /// Sends the result to all. Returns whether a caller waited.
    pub(crate) fn finish(&mut self, outcome: Result<T, UeError>) -> bool {
        let mut any = false;
        for reply in self.0.drain(..) {
            any |= !reply.0.is_closed();
            reply.done(outcome.clone());
        }
        any
    }
}

/// A command to a UE's task.
#[allow(missing_docs)]
pub(crate) enum Command {
    Register {
        kind: RegistrationType,
        reply: Reply<RegistrationOutcome>,
    },
    Establish {
        request: PduSessionRequest,
        reply: Reply<PduSession>,
    },
    Modify {
        psi: u8,
        request: Box<ModificationRequest>,
        reply: Reply<PduSession>,
    },
    Release {
        psi: u8,
        reply: Reply<()>,
    },
    Service {
        purpose: ServicePurpose,
        uplink_data: Vec<u8>,
        reply: Reply<()>,
    },
    Deregister {
        switch_off: bool,
        reply: Reply<()>,
    },
    ReleaseToIdle {
        reply: Reply<()>,
    },
    WaitIdle {
        reply: Reply<()>,
    },
    WaitPaging {
        reply: Reply<()>,
    },
    Positioning {
        kind: PositioningKind,
        message: Vec<u8>,
        routing: Option<Vec<u8>>,
        reply: Reply<()>,
    },
    SetEnvironment {
        environment: Box<RadioEnvironment>,
        reply: Reply<()>,
    },
    SendIp {
        psi: u8,
        packet: Bytes,
        reply: Reply<()>,
    },
    SendNas {
        message: Box<Nas5gsMessage>,
        reply: Reply<()>,
    },
    SendRawNas {
        nas: Vec<u8>,
        reply: Reply<()>,
    },
    SendSessionMessage {
        psi: u8,
        message: Box<Nas5gsMessage>,
        reply: Reply<()>,
    },
    Replay {
        reply: Reply<()>,
    },
    Withhold {
        messages: u8,
        reply: Reply<()>,
    },
    WrongMac {
        message: Box<Nas5gsMessage>,
        reply: Reply<()>,
    },
    Status {
        reply: Reply<UeStatus>,
    },
    Forget {
        reply: Reply<()>,
    },
    Subscribe {
        reply: Reply<broadcast::Receiver<UeEvent>>,
    },
    Move {
        gnb: Gnb,
        reply: Reply<()>,
    },
    ChangeCell {
        cell: u16,
        reply: Reply<()>,
    },
    Handover {
        gnb: Gnb,
        plan: HandoverPlan,
        reply: Reply<HandoverOutcome>,
    },
    PathSwitch {
        gnb: Gnb,
        plan: XnHandoverPlan,
        reply: Reply<HandoverOutcome>,
    },
}
