//! The association with a UPF (TS 29.244, 6.2.6): setup, heartbeats, release, and setup again after
//! a restart of the UPF.
use super::load::Load;
use super::{N4, SessionLayer, UpfCriteria};
use crate::config::UpfConfig;
use crate::metrics;
use martlet_outage::Dependency;
use martlet_pfcp::ie::{CpFunctionFeatures, NodeId, RecoveryTimeStamp};
use martlet_pfcp::{
    AssociationReleaseRequestMessage, AssociationSetupRequest, AssociationUpdateRequest,
    HeartbeatRequest, Message, SessionRetention,
};
use martlet_sbi_api::nmartlet_status::UpfStatus;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Pause between attempts to set up an association, which doubles from the first to the last.
const FIRST_RETRY: Duration = Duration::from_millis(20);
const LAST_RETRY: Duration = Duration::from_secs(5);

/// Flag of the association release request (TS 29.244, 8.2.77).
const SARR: u8 = 1;
/// Longest time between a UPF's request for release and the release.
const MAX_RELEASE_PERIOD: Duration = Duration::from_secs(3600);
/// Interval for checking whether a releasing UPF has sessions left.
const RELEASE_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Interval between two notifications of the sessions at a releasing UPF.
const NOTIFICATION_INTERVAL: Duration = Duration::from_secs(1);

/// State of an association.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not associated.
    Down,
    /// Associated with a UPF that has this recovery time stamp.
    Up(u32),
}

/// An association.
pub struct Association {
    pub upf: UpfConfig,
    pub state: State,
    /// Number of setups.
    generation: u64,
    /// Load control information of the UPF.
    pub load: Load,
    /// The UPF requested the release of the association, which is due by this time.
    pub release_due: Option<Instant>,
    /// The UPF's Node ID of the last setup.
    node: Option<NodeId>,
    /// The UPF, as readiness and log show it.
    peer: Dependency,
}

impl Association {
    pub fn new(upf: UpfConfig) -> Self {
        Association {
            peer: Dependency::new("smf", "n4", upf.n4),
            upf,
            state: State::Down,
            generation: 0,
            load: Load::default(),
            release_due: None,
            node: None,
        }
    }

    pub fn is_up(&self) -> bool {
        self.state != State::Down
    }

    /// Whether the UPF serves a data network.
    pub fn serves(&self, dnn: &str) -> bool {
        self.upf.dnns.is_empty() || self.upf.dnns.iter().any(|name| name.eq_ignore_ascii_case(dnn))
    }

    /// Whether new sessions can be established there.
    pub fn accepts_sessions(&self, criteria: &UpfCriteria<'_>) -> bool {
        self.is_up() && self.release_due.is_none() && self.fits(criteria)
    }

    /// Whether the UPF serves the session's data network and slice.
    pub fn fits(&self, criteria: &UpfCriteria<'_>) -> bool {
        let slices = &self.upf.slices;
        self.serves(criteria.dnn)
            && (slices.is_empty() || slices.iter().any(|slice| slice.snssai() == criteria.slice))
    }

    /// Whether gNBs of a tracking area reach it.
    pub fn reaches(&self, tac: Option<u32>) -> bool {
        self.upf.service_area.is_empty()
            || tac.is_none_or(|tac| self.upf.service_area.contains(&tac))
    }

    /// Preference for the UE's tracking area; 0 is best.
    pub fn rank(&self, criteria: &UpfCriteria<'_>) -> u8 {
        match criteria.tac {
            _ if !self.reaches(criteria.tac) => 3,
            _ if self.upf.tacs.is_empty() => 1,
            Some(tac) if self.upf.tacs.contains(&tac) => 0,
            _ => 2,
        }
    }

    /// For other functions, without the number of sessions.
    pub fn upf_status(&self) -> UpfStatus {
        let node_id = self.node.as_ref().map(|node| match node {
            NodeId::Ip(ip) => ip.to_string(),
            NodeId::Fqdn(name) => name.clone(),
        });
        UpfStatus { n4: self.upf.n4.to_string(), node_id, associated: self.is_up(), sessions: 0 }
    }

    /// For `martlet status`.
    pub fn status(&self) -> serde_json::Value {
        serde_json::json!({
            "n4": self.upf.n4.to_string(),
            "associated": self.is_up(),
            "load": self.load.metric(),
            "reduction": self.load.reduction(Instant::now()),
            "releasing": self.release_due.is_some(),
        })
    }
}

impl N4 {
    /// Handles a recovery time stamp of a UPF. A new one means that the UPF has restarted and lost
    /// its sessions; its association is set up again.
    pub(super) fn recovery_received(&self, from: SocketAddr, recovery: u32) {
        let mut tables = self.tables();
        let association = tables.associations.iter_mut().find(|a| a.upf.n4.ip() == from.ip());
        if let Some(association) =
            association.filter(|a| a.is_up() && a.state != State::Up(recovery))
        {
            if let Some(suppressed) = martlet_log_limit::line("upf_restarted", association.upf.n4) {
                tracing::warn!(
                    upf = %association.upf.n4, suppressed,
                    "UPF restarted, sessions lost"
                );
            }
            metrics::n4("upf restarted");
            association.state = State::Down;
            self.changed.notify_waiters();
        }
    }

    /// A UPF requests the release of its association (TS 29.244, 6.2.8).
    pub(super) fn release_requested(&self, from: SocketAddr, request: &AssociationUpdateRequest) {
        let is_requested = request.release_request.is_some_and(|flags| flags.0 & SARR != 0);
        let mut tables = self.tables();
        let association =
            tables.associations.iter_mut().find(|a| a.is_up() && a.upf.n4.ip() == from.ip());
        let Some(association) = association.filter(|a| is_requested && a.release_due.is_none())
        else {
            return;
        };
        // Without a finite period the sessions get a long one.
        let period =
            request.release_period.and_then(|period| period.span()).unwrap_or(MAX_RELEASE_PERIOD);
        if let Some(suppressed) = martlet_log_limit::line("upf_releasing", association.upf.n4) {
            tracing::warn!(
                upf = %association.upf.n4, ?period, suppressed,
                "UPF requests association release"
            );
        }
        metrics::n4("upf releasing");
        association.release_due = Some(Instant::now() + period.min(MAX_RELEASE_PERIOD));
        self.changed.notify_waiters();
    }

    /// Whether an address is that of a configured UPF.
    pub(super) fn is_upf(&self, from: SocketAddr) -> bool {
        self.tables().associations.iter().any(|a| a.upf.n4.ip() == from.ip())
    }

    /// Whether another process has sent from the loopback address of a UPF. Any user of the machine
    /// can, but the port of a UPF belongs to one process.
    pub(super) fn is_of_other_process(&self, from: SocketAddr) -> bool {
        from.ip().is_loopback()
            && self.is_upf(from)
            && !self.tables().associations.iter().any(|a| a.upf.n4 == from)
    }

    /// Whether an address is that of an associated UPF.
    pub(super) fn is_associated_upf(&self, from: SocketAddr) -> bool {
        self.tables().associations.iter().any(|a| a.is_up() && a.upf.n4.ip() == from.ip())
    }

    /// Number of setups of the association with a UPF. N4 sessions end with each setup.
    pub fn generation(&self, upf: SocketAddr) -> u64 {
        self.tables().associations.iter().find(|a| a.upf.n4 == upf).map_or(0, |a| a.generation)
    }

    /// Whether a UPF is associated.
    pub fn is_up(&self, upf: SocketAddr) -> bool {
        self.state(upf) != State::Down
    }

    /// Waits for an association with a later generation, at most for `timeout`.
    pub async fn wait_associated_after(&self, upf: SocketAddr, generation: u64, timeout: Duration) {
        let is_later = async {
            loop {
                let associated = self.associated.notified();
                if self.generation(upf) > generation {
                    return;
                }
                associated.await;
            }
        };
        let _ = tokio::time::timeout(timeout, is_later).await;
    }

    /// A UPF reports that it has no association, although it had one: it has restarted.
    pub fn association_missing(&self, upf: SocketAddr, generation: u64) {
        if self.generation(upf) == generation && self.state(upf) != State::Down {
            tracing::warn!(%upf, "UPF has no association, setting it up again");
            metrics::n4("upf restarted");
            self.set_down(upf);
            self.changed.notify_waiters();
        }
    }

    fn set_down(&self, upf: SocketAddr) {
        if let Some(association) = self.tables().associations.iter_mut().find(|a| a.upf.n4 == upf) {
            association.state = State::Down;
        }
    }

    /// Sets an association up. Returns whether it was up before.
    fn set_up(&self, upf: SocketAddr, recovery: u32) -> bool {
        let mut tables = self.tables();
        let association = tables.associations.iter_mut().find(|a| a.upf.n4 == upf);
        association.is_some_and(|association| {
            association.state = State::Up(recovery);
            association.peer.available();
            (association.load, association.release_due) = (Load::default(), None);
            association.generation += 1;
            association.generation > 1
        })
    }

    fn state(&self, upf: SocketAddr) -> State {
        self.tables().associations.iter().find(|a| a.upf.n4 == upf).map_or(State::Down, |a| a.state)
    }

    /// Sets an association up and monitors it, again and again. Never returns.
    pub(super) async fn maintain_association(&self, upf: SocketAddr, sessions: &impl SessionLayer) {
        loop {
            let (recovery, retained) = self.associate(upf, sessions).await;
            let was_up = self.set_up(upf, recovery);
            let is_first = self.generation(upf) == 1 && self.has_restored_sessions;
            if was_up || is_first && !retained {
                sessions.upf_restarted(upf);
            }
            sessions.upf_returned(upf);
            self.associated.notify_waiters();
            while self.state(upf) != State::Down {
                if let Some(due) = self.release_due(upf) {
                    self.release_when_empty(upf, due, sessions).await;
                    break;
                }
                tokio::select! {
                    () = tokio::time::sleep(self.heartbeat) => {}
                    () = self.changed.notified() => continue,
                }
                let heartbeat = HeartbeatRequest { recovery: RecoveryTimeStamp(self.recovery) };
                match self.request(upf, None, heartbeat).await {
                    Ok(Message::HeartbeatResponse(response)) => {
                        self.recovery_received(upf, response.recovery.0)
                    }
                    _ => {
                        self.unavailable(upf, &"UPF heartbeat timeout");
                        self.set_down(upf);
                        sessions.upf_failed(upf);
                    }
                }
            }
        }
    }

    /// Records that a UPF does not respond.
    fn unavailable(&self, upf: SocketAddr, error: &dyn std::fmt::Display) {
        if let Some(association) = self.tables().associations.iter().find(|a| a.upf.n4 == upf) {
            association.peer.unavailable(error);
        }
    }

    fn config(&self, upf: SocketAddr) -> Option<UpfConfig> {
        let tables = self.tables();
        tables.associations.iter().find(|a| a.upf.n4 == upf).map(|a| a.upf.clone())
    }

    fn set_node(&self, upf: SocketAddr, node: NodeId) {
        if let Some(association) = self.tables().associations.iter_mut().find(|a| a.upf.n4 == upf) {
            association.node = Some(node);
        }
    }

    fn release_due(&self, upf: SocketAddr) -> Option<Instant> {
        self.tables().associations.iter().find(|a| a.upf.n4 == upf).and_then(|a| a.release_due)
    }

    /// Releases an association when no session is left at the UPF, or when the release is due.
    async fn release_when_empty(
        &self,
        upf: SocketAddr,
        due: Instant,
        sessions: &impl SessionLayer,
    ) {
        let mut notified: Option<Instant> = None;
        while sessions.sessions_at(upf) > 0 && Instant::now() < due {
            // Again for sessions that were being established.
            if notified.is_none_or(|at| at.elapsed() >= NOTIFICATION_INTERVAL) {
                sessions.upf_releasing(upf);
                notified = Some(Instant::now());
            }
            tokio::time::sleep(RELEASE_CHECK_INTERVAL).await;
        }
        let sessions = sessions.sessions_at(upf);
        tracing::info!(%upf, sessions, "releasing association on request of the UPF");
        let release = AssociationReleaseRequestMessage { node_id: self.node() };
        if let Err(error) = self.request(upf, None, release).await {
            tracing::debug!(%upf, %error, "association release without response");
        }
        self.set_down(upf);
    }

    /// Requests an association until the UPF accepts. Returns its recovery time stamp, and whether
    /// it has retained the sessions. Sessions that it has move to another UPF meanwhile, as soon as
    /// there is one: also those that were restored or taken over after the UPF had failed.
    async fn associate(&self, upf: SocketAddr, sessions: &impl SessionLayer) -> (u32, bool) {
        let mut retry = FIRST_RETRY;
        loop {
            let request = AssociationSetupRequest {
                node_id: self.node(),
                recovery: RecoveryTimeStamp(self.recovery),
                up_features: None,
                cp_features: Some(CpFunctionFeatures::LOAD | CpFunctionFeatures::OVRL),
                // After an interruption of the association the sessions are restored.
                retention: (self.generation(upf) == 0 && self.has_restored_sessions)
                    .then_some(SessionRetention {}),
            };
            match self.request(upf, None, request).await {
                Ok(Message::AssociationSetupResponse(response)) if response.cause.is_accepted() => {
                    let retained = response.flags.is_some_and(|flags| flags.0 & 1 != 0);
                    tracing::info!(%upf, retained, "UPF associated");
                    let is_lost =
                        self.generation(upf) > 0 || self.has_restored_sessions && !retained;
                    if let Some(config) = self.config(upf) {
                        self.set_fteid_resources(&config, &response, is_lost);
                    }
                    self.set_node(upf, response.node_id);
                    return (response.recovery.0, retained);
                }
                Ok(other) => {
                    tracing::warn!(%upf, answer = other.name(), "UPF rejects association")
                }
                Err(error) => {
                    self.unavailable(upf, &error);
                    if sessions.sessions_at(upf) > 0 {
                        sessions.upf_failed(upf);
                    }
                }
            }
            tokio::time::sleep(retry).await;
            retry = (retry * 2).min(LAST_RETRY);
        }
    }
}
