//! N4: associations with UPFs, requests to them, and their reports (TS 29.244, 6).
mod association;
mod flow_descriptions;
mod forwarding_rules;
mod fteids;
mod incoming_requests;
mod load;
mod network_instances;
mod pending_deletion;
mod request_pdis;
mod session_rules;
pub(crate) mod signalling;
mod two_upf_rules;

pub use forwarding_rules::{
    change_cp_fseid, forward, forwarding_tunnel, stop_forwarding, switch_to_gnb,
};
pub use fteids::{SessionTeids, n3_teid};
pub use session_rules::{
    DEFAULT_URR, Downlink, FlowsChange, Quota, RuleParameters, SessionTraffic, add_urrs, buffer,
    deletion, drop_and_buffer, establishment, forward_to_gnb, group_of, query_usage, update_flows,
    update_quotas, urr_of,
};
pub use two_upf_rules::{access_rules, access_tunnels, split_by_upf};

use crate::config::{NetworkInstanceEncoding, SmfConfig, UpfConfig};
use crate::metrics;
use crate::user_plane_path::UpfSession;
use association::Association;
use fteids::UpfTeids;
use martlet_nf::{Shutdown, StartError, capture};
use martlet_pfcp::ie::NodeId;
use martlet_pfcp::transaction::{Answers, Due, Limits, Requests};
use martlet_pfcp::{Message, Packet, SessionReportRequest};
use martlet_sbi::trace;
use martlet_sbi_api::common::Snssai;
use martlet_sbi_api::nmartlet_status::UpfStatus;
use pending_deletion::PendingDeletion;
use rand::Rng;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;
use tokio::sync::oneshot;

/// Why a request to a UPF failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum N4Error {
    /// No associated UPF fits the session.
    #[error("no associated UPF serves the data network, slice and location")]
    NoUpf,
    /// The UPF has no association with this SMF.
    #[error("UPF has no association with this SMF")]
    NotAssociated,
    /// The UPF does not respond.
    #[error("UPF {0} does not respond")]
    Timeout(SocketAddr),
    /// The UPF rejected the request.
    #[error("UPF rejected the request with cause {0}")]
    Rejected(u8),
    /// All fitting UPFs have requested a load reduction.
    #[error("all fitting UPFs are overloaded")]
    Overload,
    /// Too many requests are pending.
    #[error("too many pending N4 requests")]
    Busy,
    /// The response is not the expected one.
    #[error("unexpected response of the UPF: {0}")]
    Unexpected(&'static str),
}

impl N4Error {
    /// Whether the UPF has not answered. While it is associated, it gets the change again after
    /// [`RETRY_INTERVAL`].
    pub fn is_unanswered(&self) -> bool {
        matches!(self, N4Error::Timeout(_) | N4Error::Busy)
    }
}

/// Time after which a UPF that did not answer gets a change again.
pub const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// The sessions, from the point of view of N4.
pub trait SessionLayer {
    /// The N4 session with our session endpoint identifier.
    fn user_plane(&self, seid: u64) -> Option<UpfSession>;
    /// Passes a report to its session. Returns `false` if the session's queue is full.
    fn report(&self, seid: u64, report: SessionReportRequest) -> bool;
    /// A UPF does not respond.
    fn upf_failed(&self, upf: SocketAddr);
    /// A UPF was associated again and has lost its sessions (TS 29.244, 6.2.6.2.2).
    fn upf_restarted(&self, upf: SocketAddr);
    /// A UPF is associated: sessions that left it when it failed return.
    fn upf_returned(&self, upf: SocketAddr);
    /// Number of sessions with an N4 session at a UPF.
    fn sessions_at(&self, upf: SocketAddr) -> usize;
    /// A UPF requests the release of its association: its sessions have to leave it.
    fn upf_releasing(&self, upf: SocketAddr);
}

/// The criteria by which a UPF is selected for a session.
#[derive(Debug, Clone, Copy)]
pub struct UpfCriteria<'a> {
    pub dnn: &'a str,
    pub slice: Snssai,
    pub tac: Option<u32>,
}

struct Tables {
    requests: Requests,
    answers: Answers,
    waiting: HashMap<u32, oneshot::Sender<Result<Message, N4Error>>>,
    /// Requests that timed out, the newest first.
    timed_out: VecDeque<(SocketAddr, u32)>,
    deletions: Vec<PendingDeletion>,
    associations: Vec<Association>,
}

/// N4.
pub struct N4 {
    socket: UdpSocket,
    /// The address of the socket, for traces; read once, since each message has it.
    local: Option<SocketAddr>,
    node: NodeId,
    /// Uplink classifiers, which are not selected as anchors.
    classifiers: Vec<SocketAddr>,
    /// Seconds since 1900 at which this SMF started.
    recovery: u32,
    /// Whether there are sessions from before the restart of this SMF.
    has_restored_sessions: bool,
    /// Whether sessions outlive this process, so that it does not release its associations at its
    /// end.
    keeps_associations: bool,
    heartbeat: Duration,
    /// This SMF's number in its set; `None` without a set.
    member: Option<u8>,
    tables: Mutex<Tables>,
    /// The TEIDs in use at each UPF.
    fteids: Mutex<HashMap<SocketAddr, UpfTeids>>,
    /// Wakes the retransmission timer for a new request.
    request_sent: tokio::sync::Notify,
    /// Wakes the tasks of associations when one has changed.
    changed: tokio::sync::Notify,
    /// Wakes those who wait for an association.
    associated: tokio::sync::Notify,
    /// Wakes the task that deletes sessions.
    deletion_pending: tokio::sync::Notify,
}

/// Maximum number of timed out requests whose late responses are recognised.
const MAX_TIMED_OUT: usize = 1024;

/// Seconds from 1900 to 1970.
const SECONDS_1900_TO_1970: u64 = 2_208_988_800;

impl N4 {
    /// Binds the socket. `since` is the recovery time stamp of the process that stored the
    /// sessions: for UPFs the SMF has not restarted.
    pub async fn open(
        config: &SmfConfig,
        since: Option<u32>,
        keeps_associations: bool,
    ) -> Result<N4, StartError> {
        let n4 = &config.n4;
        let at = SocketAddr::new(n4.bind, n4.port);
        let socket = UdpSocket::bind(at)
            .await
            .map_err(|error| StartError::listen(format!("UDP {at} for N4"), "smf.n4", error))?;
        let limits =
            Limits { t1: Duration::from_millis(n4.t1_ms.into()), n1: n4.n1, ..Limits::default() };
        let now =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let tables = Tables {
            requests: Requests::new(limits, rand::rng().random()),
            answers: Answers::new(limits),
            waiting: HashMap::new(),
            timed_out: VecDeque::new(),
            deletions: Vec::new(),
            associations: config
                .upfs
                .iter()
                .map(|upf: &UpfConfig| Association::new(upf.clone()))
                .collect(),
        };
        let local = socket.local_addr().ok();
        Ok(N4 {
            socket,
            local,
            node: NodeId::Ip(n4.bind),
            classifiers: config.branching.iter().map(|branching| branching.via).collect(),
            recovery: since.unwrap_or((now.as_secs() + SECONDS_1900_TO_1970) as u32),
            has_restored_sessions: since.is_some(),
            keeps_associations,
            heartbeat: Duration::from_secs(n4.heartbeat_s.max(1).into()),
            member: config.set.as_ref().map(|set| set.member),
            tables: Mutex::new(tables),
            fteids: Mutex::default(),
            request_sent: tokio::sync::Notify::new(),
            changed: tokio::sync::Notify::new(),
            associated: tokio::sync::Notify::new(),
            deletion_pending: tokio::sync::Notify::new(),
        })
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Recovery time stamp: seconds since 1900.
    pub fn recovery(&self) -> u32 {
        self.recovery
    }

    /// Time between heartbeats.
    pub fn heartbeat(&self) -> Duration {
        self.heartbeat
    }

    /// Node ID of the SMF.
    pub fn node(&self) -> NodeId {
        self.node.clone()
    }

    /// The N4 address of the SMF.
    pub fn address(&self) -> std::net::IpAddr {
        match self.node {
            NodeId::Ip(ip) => ip,
            NodeId::Fqdn(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        }
    }

    /// Selects an associated UPF as anchor (TS 23.501, 6.3.3.3), by preference: one that serves the
    /// UE's tracking area, one without a preferred area, another one. Among equals the one with the
    /// lowest load, then the first in the configuration. A UPF that requests a load reduction is
    /// skipped for that share of sessions.
    pub fn select(
        &self,
        criteria: &UpfCriteria<'_>,
        except: Option<SocketAddr>,
    ) -> Result<SocketAddr, N4Error> {
        let tables = self.tables();
        let now = Instant::now();
        let fits = tables.associations.iter().filter(|association| {
            let n4 = association.upf.n4;
            association.accepts_sessions(criteria)
                && Some(n4) != except
                && !self.classifiers.contains(&n4)
        });
        let mut fits: Vec<_> = fits.collect();
        fits.sort_by_key(|association| (association.rank(criteria), association.load.metric()));
        if fits.is_empty() {
            return Err(N4Error::NoUpf);
        }
        let found = fits.iter().find(|association| {
            let reduction = association.load.reduction(now);
            reduction == 0 || rand::rng().random_range(0..100) >= reduction
        });
        if found.is_none() {
            metrics::n4("overload");
        }
        found.map(|association| association.upf.n4).ok_or(N4Error::Overload)
    }

    /// Whether gNBs of a tracking area reach a UPF.
    pub fn reaches(&self, upf: SocketAddr, tac: Option<u32>) -> bool {
        let tables = self.tables();
        tables
            .associations
            .iter()
            .find(|association| association.upf.n4 == upf)
            .is_some_and(|it| it.reaches(tac))
    }

    /// Selects an intermediate UPF that the UE's gNB reaches, before an anchor that it does not
    /// reach.
    pub fn select_intermediate(
        &self,
        anchor: SocketAddr,
        criteria: &UpfCriteria<'_>,
    ) -> Option<SocketAddr> {
        let tables = self.tables();
        let fits = tables.associations.iter().filter(|association| {
            association.accepts_sessions(criteria)
                && association.reaches(criteria.tac)
                && association.upf.n4 != anchor
        });
        let best =
            fits.min_by_key(|association| (association.rank(criteria), association.load.metric()));
        best.map(|association| association.upf.n4)
    }

    /// Whether new sessions can be established at a UPF.
    pub fn accepts_sessions(&self, upf: SocketAddr, criteria: &UpfCriteria<'_>) -> bool {
        let tables = self.tables();
        let found = tables.associations.iter().find(|association| association.upf.n4 == upf);
        found.is_some_and(|association| association.accepts_sessions(criteria))
    }

    /// Preference of a UPF for a session; 0 is best.
    pub fn rank(&self, upf: SocketAddr, criteria: &UpfCriteria<'_>) -> u8 {
        let tables = self.tables();
        let found = tables.associations.iter().find(|association| association.upf.n4 == upf);
        found.map_or(u8::MAX, |association| association.rank(criteria))
    }

    /// Sends a request, with retransmissions, and waits for its response. Both are as if the UPF
    /// allocated F-TEIDs, also if the SMF does.
    ///
    /// # Errors
    /// The UPF does not respond, its response is malformed, or too many requests are pending.
    pub async fn request(
        &self,
        upf: SocketAddr,
        seid: Option<u64>,
        message: impl Into<Message>,
    ) -> Result<Message, N4Error> {
        let mut message = message.into();
        self.adapt(upf, &mut message);
        let allocation = self.allocate_fteids(upf, seid, &mut message)?;
        let span = trace::Active::request(format!("n4 {}", message.name()), upf);
        let (sender, receiver) = oneshot::channel();
        let bytes = {
            let mut tables = self.tables();
            let build = |sequence| Packet { seid, sequence, message }.encode();
            let (sequence, bytes) =
                tables.requests.send(upf, Instant::now(), build).ok_or(N4Error::Busy)?;
            tables.waiting.insert(sequence, sender);
            bytes
        };
        self.request_sent.notify_one();
        self.send(upf, &bytes).await;
        let mut answer = receiver.await.unwrap_or(Err(N4Error::Timeout(upf)));
        if let Some(allocation) = allocation {
            allocation.answered(&mut answer);
        }
        let outcome = answer.as_ref().map(|_| ());
        span.ended(outcome.map_err(|error| match error {
            N4Error::Timeout(_) => "timeout",
            _ => "malformed",
        }));
        answer
    }

    /// Writes the elements of a request as its UPF reads them.
    fn adapt(&self, upf: SocketAddr, message: &mut Message) {
        let tables = self.tables();
        let found = tables.associations.iter().find(|association| association.upf.n4 == upf);
        let form = found.map(|found| (found.upf.network_instances, found.upf.protocol_names));
        drop(tables);
        let Some((encoding, protocol_names)) = form else { return };
        if encoding == NetworkInstanceEncoding::Labels {
            network_instances::in_labels(message);
        }
        if protocol_names {
            flow_descriptions::with_protocol_names(message);
        }
    }

    async fn send(&self, to: SocketAddr, bytes: &[u8]) {
        if capture::wants(capture::Link::N4) {
            capture::record(capture::Link::N4, self.local, Some(to), bytes);
        }
        signalling::pfcp(self.local, to, true, bytes);
        if let Err(error) = self.socket.send_to(bytes, to).await {
            tracing::debug!(%to, %error, "N4 message not sent");
        }
    }

    /// Maintains the associations and dispatches reports until the shutdown.
    pub async fn run(
        &self,
        sessions: &impl SessionLayer,
        shutdown: Shutdown,
    ) -> Result<(), StartError> {
        let upfs: Vec<SocketAddr> = self.tables().associations.iter().map(|a| a.upf.n4).collect();
        let associations = async {
            let tasks = upfs.iter().map(|upf| self.maintain_association(*upf, sessions));
            let mut tasks: Vec<_> = tasks.map(Box::pin).collect();
            std::future::poll_fn(|cx| {
                tasks.iter_mut().for_each(|future| {
                    let _ = future.as_mut().poll(cx);
                });
                std::task::Poll::<()>::Pending
            })
            .await
        };
        tokio::select! {
            () = associations => {}
            () = self.receive(sessions) => {}
            () = self.retransmit() => {}
            () = self.delete_pending() => {}
            () = shutdown.wait() => {}
        }
        for upf in upfs.into_iter().filter(|_| !self.keeps_associations) {
            let release = martlet_pfcp::AssociationReleaseRequestMessage { node_id: self.node() };
            let bytes = Packet::node(0, release).encode();
            self.send(upf, &bytes).await;
        }
        Ok(())
    }

    async fn receive(&self, sessions: &impl SessionLayer) {
        let mut buffer = vec![0; 65_536];
        loop {
            let Ok((length, from)) = self.socket.recv_from(&mut buffer).await else {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            if capture::wants(capture::Link::N4) {
                let bytes = &buffer[..length];
                capture::record(capture::Link::N4, Some(from), self.local, bytes);
            }
            signalling::pfcp(self.local, from, false, &buffer[..length]);
            if let Some(answer) = self.handle(from, &buffer[..length], sessions) {
                self.send(from, &answer).await;
            }
        }
    }

    /// Retransmits requests without a response.
    async fn retransmit(&self) {
        loop {
            let next = self.tables().requests.next_due();
            match next {
                Some(next) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(next.into()) => {}
                        () = self.request_sent.notified() => continue,
                    }
                }
                None => {
                    self.request_sent.notified().await;
                    continue;
                }
            }
            let due = self.tables().requests.due(Instant::now());
            for due in due {
                match due {
                    Due::Resend { to, bytes } => {
                        metrics::n4("retransmission");
                        self.send(to, &bytes).await;
                    }
                    Due::Failed { to, sequence } => {
                        metrics::n4("timeout");
                        tracing::warn!(%to, "N4 request timed out");
                        let mut tables = self.tables();
                        // Dropping the sender fails the request.
                        tables.waiting.remove(&sequence);
                        tables.timed_out.truncate(MAX_TIMED_OUT - 1);
                        tables.timed_out.push_front((to, sequence));
                    }
                }
            }
        }
    }

    /// Whether any UPF is associated.
    pub fn is_associated(&self) -> bool {
        self.tables().associations.iter().any(Association::is_up)
    }

    /// All UPFs by address for other functions, without their numbers of sessions.
    pub fn upfs(&self) -> Vec<(SocketAddr, UpfStatus)> {
        self.tables().associations.iter().map(|it| (it.upf.n4, it.upf_status())).collect()
    }

    /// For `martlet status`.
    pub fn status(&self) -> serde_json::Value {
        self.tables().associations.iter().map(Association::status).collect()
    }
}
