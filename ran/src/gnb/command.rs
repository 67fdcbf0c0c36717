//! What is asked of a UE's task, and how it answers.
use super::{Gnb, HandoverOutcome, HandoverPlan, UeError, UeStatus, XnPlan};
use crate::positioning::Surroundings;
use crate::ue::{
    Event, ModificationRequest, PduSession, PduSessionRequest, PositioningKind,
    RegistrationOutcome, RegistrationType, ServicePurpose,
};
use bytes::Bytes;
use martlet_nas::Nas5gsMessage;
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
    Surroundings {
        surroundings: Box<Surroundings>,
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
        plan: XnPlan,
        reply: Reply<HandoverOutcome>,
    },
}
