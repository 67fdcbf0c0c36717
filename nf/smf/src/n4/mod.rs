//! N4: associations with UPFs, requests to them, reports from them (TS 29.244, 6).
mod association;
mod branching;
mod forwarding;
mod load;
mod reaction;
mod rules;

pub use branching::{branching_point, branching_tunnels, divided};
pub use forwarding::{forward, forwarding_tunnel, stop_forwarding, switch_to_gnb, take_control};
pub use rules::{
    CHARGING, Downlink, FlowsChange, Plan, Quota, Subject, also_counting, deletion, establishment,
    group_of, query, to_buffer, to_buffer_anew, to_flows, to_gnb, to_quotas, urr_of,
};

use crate::session::UpfSession;
use crate::{SmfConfig, UpfConfig, metrics};
use association::Association;
use martlet_nf::{Shutdown, StartError, capture};
use martlet_pfcp::ie::NodeId;
use martlet_pfcp::transaction::{Answers, Due, Limits, Requests};
use martlet_pfcp::{Message, Packet, SessionReportRequest};
use martlet_sbi::trace;
use martlet_sbi_api::common::Snssai;
use rand::Rng;
use std::collections::HashMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;
use tokio::sync::oneshot;

/// Why a request to a UPF failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum N4Error {
    /// No UPF leads to the data network and is associated.
    #[error("no UPF that leads there is associated")]
    NoUpf,
    /// The UPF says that there is no association.
    #[error("the UPF has no association with this SMF any more")]
    NotAssociated,
    /// The UPF does not answer.
    #[error("the UPF {0} does not answer")]
    Silent(SocketAddr),
    /// The UPF refused.
    #[error("the UPF refused with cause {0}")]
    Refused(u8),
    /// The UPFs have asked to be spared.
    #[error("the UPFs that lead there are overloaded")]
    Overload,
    /// Too many requests are under way.
    #[error("too many N4 requests are under way")]
    Busy,
    /// The answer is not what was asked for.
    #[error("the UPF answered with {0}")]
    Unexpected(&'static str),
}

/// What N4 needs of the sessions.
pub trait SessionLayer {
    /// Where the user plane of a session is, by our session endpoint identifier.
    fn user_plane(&self, seid: u64) -> Option<UpfSession>;
    /// Hands a report on: false where too much waits for the session.
    fn report(&self, seid: u64, report: SessionReportRequest) -> bool;
    /// A UPF does not answer any more.
    fn upf_lost(&self, upf: SocketAddr);
    /// A UPF that had been associated is associated anew: it has none of the sessions that it had
    /// (TS 29.244, 6.2.6.2.2).
    fn associated_anew(&self, upf: SocketAddr);
    /// How many sessions are at a UPF.
    fn sessions_at(&self, upf: SocketAddr) -> usize;
    /// A UPF is about to end: its sessions are to leave it.
    fn upf_leaves(&self, upf: SocketAddr);
}

/// For which session a UPF is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub dnn: &'a str,
    pub slice: Snssai,
    pub tac: Option<u32>,
}

struct Tables {
    requests: Requests,
    answers: Answers,
    waiting: HashMap<u32, oneshot::Sender<Message>>,
    associations: Vec<Association>,
}

/// N4.
pub struct N4 {
    socket: UdpSocket,
    node: NodeId,
    /// UPFs that are no anchors.
    branching: Vec<SocketAddr>,
    /// Seconds since 1900 at which this SMF started.
    recovery: u32,
    /// There are sessions from before this SMF was started again.
    retained: bool,
    /// The sessions outlive this process: UPFs are not told that it ends.
    lasting: bool,
    heartbeat: Duration,
    tables: Mutex<Tables>,
    /// Wakes the timer when there is something new to time.
    stirred: tokio::sync::Notify,
    /// Wakes those who keep associations when one has ended.
    ended: tokio::sync::Notify,
    /// Wakes those who wait for an association.
    associated: tokio::sync::Notify,
}

/// Seconds from 1900 to 1970.
const ERA: u64 = 2_208_988_800;

impl N4 {
    /// Binds. `since` is the time at which the SMF started that knew the sessions of this one: to
    /// UPFs it is the same.
    pub async fn open(
        config: &SmfConfig,
        since: Option<u32>,
        lasting: bool,
    ) -> Result<N4, StartError> {
        let n4 = &config.n4;
        let socket = UdpSocket::bind((n4.bind, n4.port)).await.map_err(|e| {
            StartError(format!(
                "N4 cannot use {}:{}: {e}; `smf.n4` in the configuration names both",
                n4.bind, n4.port
            ))
        })?;
        let limits =
            Limits { t1: Duration::from_millis(n4.t1_ms.into()), n1: n4.n1, ..Limits::default() };
        let now =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let tables = Tables {
            requests: Requests::new(limits, rand::rng().random()),
            answers: Answers::new(limits),
            waiting: HashMap::new(),
            associations: config
                .upfs
                .iter()
                .map(|upf: &UpfConfig| Association::new(upf.clone()))
                .collect(),
        };
        Ok(N4 {
            socket,
            node: NodeId::Ip(n4.bind),
            branching: config.branching.iter().map(|branching| branching.via).collect(),
            recovery: since.unwrap_or((now.as_secs() + ERA) as u32),
            retained: since.is_some(),
            lasting,
            heartbeat: Duration::from_secs(n4.heartbeat_s.max(1).into()),
            tables: Mutex::new(tables),
            stirred: tokio::sync::Notify::new(),
            ended: tokio::sync::Notify::new(),
            associated: tokio::sync::Notify::new(),
        })
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Seconds since 1900 at which this SMF started, as UPFs are told.
    pub fn recovery(&self) -> u32 {
        self.recovery
    }

    /// The SMF's node identity.
    pub fn node(&self) -> NodeId {
        self.node.clone()
    }

    /// The address of this end.
    pub fn address(&self) -> std::net::IpAddr {
        match self.node {
            NodeId::Ip(ip) => ip,
            NodeId::Fqdn(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        }
    }

    /// An associated UPF for a data network, slice and place (TS 23.501, 6.3.3.3): one that serves
    /// the place before one that serves all, and that before one of another place; of those
    /// alike the one with the least load, and the first in the configuration. One that wants to
    /// be spared is passed over as often as it asks for. Branching points are no anchors.
    pub fn choose(
        &self,
        wanted: &Wanted<'_>,
        except: Option<SocketAddr>,
    ) -> Result<SocketAddr, N4Error> {
        let tables = self.tables();
        let now = Instant::now();
        let fits = tables.associations.iter().filter(|association| {
            let n4 = association.upf.n4;
            association.takes_sessions(wanted)
                && Some(n4) != except
                && !self.branching.contains(&n4)
        });
        let mut fits: Vec<_> = fits.collect();
        fits.sort_by_key(|association| (association.rank(wanted), association.load.metric()));
        if fits.is_empty() {
            return Err(N4Error::NoUpf);
        }
        let found = fits.iter().find(|association| {
            let spared = association.load.reduction(now);
            spared == 0 || rand::rng().random_range(0..100) >= spared
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

    /// A UPF that gNBs of the wanted place reach, and that can stand before an anchor which they do
    /// not reach.
    pub fn between(&self, anchor: SocketAddr, wanted: &Wanted<'_>) -> Option<SocketAddr> {
        let tables = self.tables();
        let fits = tables.associations.iter().filter(|association| {
            association.takes_sessions(wanted)
                && association.reaches(wanted.tac)
                && association.upf.n4 != anchor
        });
        let best =
            fits.min_by_key(|association| (association.rank(wanted), association.load.metric()));
        best.map(|association| association.upf.n4)
    }

    /// How well a UPF suits, 0 for best.
    pub fn rank(&self, upf: SocketAddr, wanted: &Wanted<'_>) -> u8 {
        let tables = self.tables();
        let found = tables.associations.iter().find(|association| association.upf.n4 == upf);
        found.map_or(u8::MAX, |association| association.rank(wanted))
    }

    /// Sends a request and waits for its answer, which may be late but not lost: it is repeated
    /// until then.
    pub async fn request(
        &self,
        upf: SocketAddr,
        seid: Option<u64>,
        message: impl Into<Message>,
    ) -> Result<Message, N4Error> {
        let message = message.into();
        let span = trace::Active::request(format!("n4 {}", message.name()), upf);
        let (sender, receiver) = oneshot::channel();
        let octets = {
            let mut tables = self.tables();
            let build = |sequence| Packet { seid, sequence, message }.encode();
            let (sequence, octets) =
                tables.requests.send(upf, Instant::now(), build).ok_or(N4Error::Busy)?;
            tables.waiting.insert(sequence, sender);
            octets
        };
        self.stirred.notify_one();
        self.send(upf, &octets).await;
        let answer = receiver.await.map_err(|_| N4Error::Silent(upf));
        span.ended(answer.as_ref().map(|_| ()).map_err(|_| "silent"));
        answer
    }

    async fn send(&self, to: SocketAddr, octets: &[u8]) {
        if capture::wants(capture::Link::N4) {
            capture::record(capture::Link::N4, self.socket.local_addr().ok(), Some(to), octets);
        }
        if let Err(error) = self.socket.send_to(octets, to).await {
            tracing::debug!(%to, %error, "an N4 message did not leave");
        }
    }

    /// Keeps associations up and hands reports on, until the shutdown.
    pub async fn run(
        &self,
        sessions: &impl SessionLayer,
        shutdown: Shutdown,
    ) -> Result<(), StartError> {
        let upfs: Vec<SocketAddr> = self.tables().associations.iter().map(|a| a.upf.n4).collect();
        let associations = async {
            let keep = upfs.iter().map(|upf| self.keep_associated(*upf, sessions));
            let mut keep: Vec<_> = keep.map(Box::pin).collect();
            std::future::poll_fn(|cx| {
                keep.iter_mut().for_each(|future| {
                    let _ = future.as_mut().poll(cx);
                });
                std::task::Poll::<()>::Pending
            })
            .await
        };
        tokio::select! {
            () = associations => {}
            () = self.receive(sessions) => {}
            () = self.repeat() => {}
            () = shutdown.wait() => {}
        }
        for upf in upfs.into_iter().filter(|_| !self.lasting) {
            let goodbye = martlet_pfcp::AssociationReleaseRequestMessage { node_id: self.node() };
            let octets = Packet::node(0, goodbye).encode();
            self.send(upf, &octets).await;
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
                capture::record(
                    capture::Link::N4,
                    Some(from),
                    self.socket.local_addr().ok(),
                    &buffer[..length],
                );
            }
            if let Some(answer) = self.react(from, &buffer[..length], sessions) {
                self.send(from, &answer).await;
            }
        }
    }

    /// Sends again what is not answered.
    async fn repeat(&self) {
        loop {
            let next = self.tables().requests.next_due();
            match next {
                Some(next) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(next.into()) => {}
                        () = self.stirred.notified() => continue,
                    }
                }
                None => {
                    self.stirred.notified().await;
                    continue;
                }
            }
            let due = self.tables().requests.due(Instant::now());
            for due in due {
                match due {
                    Due::Resend { to, bytes: octets } => {
                        metrics::n4("repeated");
                        self.send(to, &octets).await;
                    }
                    Due::Failed { to, sequence } => {
                        metrics::n4("unanswered");
                        tracing::warn!(%to, "the UPF does not answer");
                        // Dropping the sender tells who waits.
                        self.tables().waiting.remove(&sequence);
                    }
                }
            }
        }
    }

    /// Whether there is a UPF.
    pub fn is_associated(&self) -> bool {
        self.tables().associations.iter().any(Association::is_up)
    }

    /// For `martlet status`.
    pub fn status(&self) -> serde_json::Value {
        self.tables().associations.iter().map(Association::status).collect()
    }
}
