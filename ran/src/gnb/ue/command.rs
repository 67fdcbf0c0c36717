//! What is asked of a UE's task, and how it answers.
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
use tokio::sync::{broadcast, oneshot};

/// Something that happened at a UE, for tests that look on.
#[derive(Debug, Clone, PartialEq)]
pub enum UeEvent {
    /// An event of its NAS layer.
    Nas(Event),
    /// A downlink NAS message as it came, before it is processed.
    NasReceived(Bytes),
    /// Its connection was released: it is idle, or deregistered and silent.
    ConnectionReleased,
}

/// How a UE is.
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
    /// How often K_AMF has changed with a handover.
    pub key_changes: u32,
    /// Established PDU sessions.
    pub sessions: Vec<PduSession>,
    /// Sessions whose user plane is active at the gNB.
    pub active_user_planes: Vec<u8>,
    /// NEA and NIA identifiers in use.
    pub algorithms: Option<(u8, u8)>,
    /// How the user planes of sessions are protected for which the core has asked for something.
    pub protected: Vec<(u8, SecurityOutcome)>,
    /// Its network namespace.
    pub netns: Option<String>,
}

/// Where the answer to a command goes.
pub(crate) struct Reply<T>(oneshot::Sender<Result<T, UeError>>);

impl<T> Reply<T> {
    pub(crate) fn new() -> (Self, oneshot::Receiver<Result<T, UeError>>) {
        let (sender, receiver) = oneshot::channel();
        (Reply(sender), receiver)
    }

    /// Answer; a caller that gave up does not mind.
    pub(crate) fn done(self, outcome: Result<T, UeError>) {
        let _ = self.0.send(outcome);
    }
}

/// Callers that wait for the same thing.
pub(crate) struct Waiting<T>(Vec<Reply<T>>);

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Waiting(Vec::new())
    }
}

impl<T: Clone> Waiting<T> {
    pub(crate) fn add(&mut self, reply: Reply<T>) {
        // Callers that have given up are forgotten, so that the list does not grow.
        self.0.retain(|waiting| !waiting.0.is_closed());
        self.0.push(reply);
    }

    /// Answer all; whether anybody waited.
    pub(crate) fn finish(&mut self, outcome: Result<T, UeError>) -> bool {
        let mut any = false;
        for reply in self.0.drain(..) {
            any |= !reply.0.is_closed();
            reply.done(outcome.clone());
        }
        any
    }
}

/// What a UE is asked to do.
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
