//! The state of a UE's task that NGAP procedures work on.
use super::command::{Command, UeEvent, Waiting};
use super::core_time::CoreTime;
use super::measurements::Measurements;
use crate::gnb::handover_plan::{HandoverOutcome, HandoverPlan};
use crate::gnb::link::LinkError;
use crate::gnb::node::{Gnb, UeInbox, UeInput};

use crate::ue::{FullContext, PduSession, RegistrationOutcome, UeNas};
use crate::user_plane::{Interface, Port};
use bytes::Bytes;
use martlet_nas::STmsi;
use martlet_ngap::ngap::LocationReportingRequestType;
use martlet_ngap::transfer::{GtpTunnel, SecurityOutcome, TransferError, UserPlaneSecurity};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, mpsc};

/// How long the source gNB forwards packets after its context is released (TS 38.300, 9.2.3.2.1,
/// step 12).
const FORWARDING_AFTER_RELEASE: Duration = Duration::from_millis(500);
/// Length of the input queue of a UE's task.
pub(crate) const INBOX_SIZE: usize = 64;
/// Most NAS messages that wait for the AMF UE NGAP ID.
pub(crate) const EARLY: usize = 16;
/// Why a procedure failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// A message does not decode or encode.
    #[error(transparent)]
    Ngap(#[from] martlet_ngap::Error),
    /// The association has ended.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A transfer does not encode.
    #[error(transparent)]
    Transfer(#[from] TransferError),
}

/// Identifiers of a connection.
#[derive(Default)]
pub(crate) struct Connection {
    pub(crate) ran_id: Option<u32>,
    pub(crate) amf_id: Option<u64>,
    pub(crate) stream: u16,
    /// NAS messages that wait for the AMF UE NGAP ID.
    pub(crate) early: Vec<Vec<u8>>,
}

/// User plane resources of one PDU session at the gNB.
pub(crate) struct SessionResources {
    /// The UPF's end of the tunnel.
    pub(crate) uplink: GtpTunnel,
    /// QoS flow identifiers.
    pub(crate) qfis: Vec<u8>,
    /// The security result, and the security indication that it follows.
    pub(crate) security: Option<(SecurityOutcome, UserPlaneSecurity)>,
}

/// An N2 handover that the source gNB has requested.
pub(crate) struct OngoingHandover {
    pub(crate) target: Gnb,
    pub(crate) plan: HandoverPlan,
    pub(crate) start: Instant,
    /// When HANDOVER COMMAND was received.
    pub(crate) commanded: Option<Instant>,
    pub(crate) at_target: Option<TargetContext>,
}

/// The UE's context at the target gNB, before the UE arrives.
#[derive(Default)]
pub(crate) struct TargetContext {
    /// The location reporting that the AMF requested.
    pub(crate) reporting: Option<LocationReportingRequestType>,
    pub(crate) connection: Connection,
    pub(crate) sessions: BTreeMap<u8, SessionResources>,
    pub(crate) ports: BTreeMap<u8, Port>,
    /// The security context of a new K_AMF from the NAS container; inner `None` if the
    /// container's MAC is wrong.
    pub(crate) new_key: Option<Option<Box<FullContext>>>,
}

/// The UE's context at a gNB that it has left, until the AMF releases it.
pub(crate) struct SourceContext {
    pub(crate) gnb: Gnb,
    pub(crate) connection: Connection,
    pub(crate) ports: BTreeMap<u8, Port>,
    /// Start and outcome of the N2 handover by which the UE left.
    pub(crate) outcome: Option<(Instant, HandoverOutcome)>,
}

impl SourceContext {
    /// Removes the context. Packets that still arrive on its tunnels are forwarded for
    /// [`FORWARDING_AFTER_RELEASE`].
    pub(crate) fn release(mut self) {
        if let Some(ran_id) = self.connection.ran_id.take() {
            self.gnb.ues().disconnect(ran_id, self.connection.amf_id.take());
        }
        let ports = self.ports;
        tokio::spawn(async move {
            tokio::time::sleep(FORWARDING_AFTER_RELEASE).await;
            drop(ports);
        });
    }
}

/// Start times of running procedures.
#[derive(Default)]
pub(crate) struct Starts {
    pub(crate) registration: Option<Instant>,
    pub(crate) service: Option<Instant>,
    pub(crate) paged: Option<Instant>,
    pub(crate) deregistration: Option<Instant>,
    pub(crate) an_release: Option<Instant>,
    pub(crate) establishment: [Option<Instant>; 16],
    pub(crate) session_release: [Option<Instant>; 16],
    pub(crate) path_switch: Option<Instant>,
}

/// Callers that wait for the end of a procedure.
#[derive(Default)]
pub(crate) struct Waiters {
    pub(crate) registration: Waiting<RegistrationOutcome>,
    pub(crate) service: Waiting<()>,
    pub(crate) deregistration: Waiting<()>,
    pub(crate) idle: Waiting<()>,
    pub(crate) paging: Waiting<()>,
    pub(crate) establishment: [Waiting<PduSession>; 16],
    pub(crate) modification: [Waiting<PduSession>; 16],
    pub(crate) session_release: [Waiting<()>; 16],
    pub(crate) handover: Waiting<HandoverOutcome>,
}

/// The state of a UE's task.
pub(crate) struct UeContext {
    pub(crate) nas: UeNas,
    pub(crate) gnb: Gnb,
    pub(crate) supi: Arc<str>,
    pub(crate) connection: Connection,
    /// PDU sessions with user plane resources at the gNB.
    pub(crate) sessions: BTreeMap<u8, SessionResources>,
    pub(crate) ports: BTreeMap<u8, Port>,
    pub(crate) interface: Interface,
    /// The N2 handover in progress.
    pub(crate) handover: Option<OngoingHandover>,
    /// Contexts at gNBs that the UE has left.
    pub(crate) left: Vec<SourceContext>,
    /// Number of K_AMF changes by handover.
    pub(crate) key_changes: u32,
    /// The last sequence number of a RAN status, and the container in transit to the target.
    pub(crate) ran_status: (u16, Option<Vec<u8>>),
    /// What the gNB measures of the UE for LMFs.
    pub(crate) measurements: Measurements,
    /// The UE's cell of the gNB, numbered from 1.
    pub(crate) cell: u16,
    /// The location reporting that the AMF requested.
    pub(crate) reporting: Option<LocationReportingRequestType>,
    /// Number of downlink NAS messages to return with NAS NON DELIVERY INDICATION.
    pub(crate) withheld: u8,
    pub(crate) camped: Option<STmsi>,
    pub(crate) paged: bool,
    /// When the current input was received.
    pub(crate) received: Instant,
    pub(crate) core: CoreTime,
    pub(crate) starts: Starts,
    pub(crate) waiters: Waiters,
    pub(crate) deferred: VecDeque<Command>,
    pub(crate) events: Option<broadcast::Sender<UeEvent>>,
    pub(crate) downlink_ip: mpsc::Sender<(u8, Bytes)>,
    pub(crate) inbox: UeInbox,
    pub(crate) network: mpsc::Receiver<UeInput>,
    pub(crate) commands: mpsc::Receiver<Command>,
}

impl UeContext {
    pub(crate) fn new(
        nas: UeNas,
        gnb: Gnb,
        interface: Interface,
        commands: mpsc::Receiver<Command>,
        downlink_ip: mpsc::Sender<(u8, Bytes)>,
    ) -> Self {
        let (inbox, network) = mpsc::channel(INBOX_SIZE);
        UeContext {
            supi: nas.supi().into(),
            nas,
            gnb,
            connection: Connection::default(),
            sessions: BTreeMap::new(),
            ports: BTreeMap::new(),
            interface,
            handover: None,
            left: Vec::new(),
            key_changes: 0,
            ran_status: (0, None),
            measurements: Measurements::default(),
            cell: 1,
            reporting: None,
            withheld: 0,
            camped: None,
            paged: false,
            received: Instant::now(),
            core: CoreTime::default(),
            starts: Starts::default(),
            waiters: Waiters::default(),
            deferred: VecDeque::new(),
            events: None,
            downlink_ip,
            inbox,
            network,
            commands,
        }
    }
}
