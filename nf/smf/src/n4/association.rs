//! An association with a UPF: set up, kept by heartbeats, set up anew when the UPF has started anew
//! (TS 29.244, 6.2.6).
use super::load::Load;
use super::{N4, SessionLayer, Wanted};
use crate::{UpfConfig, metrics};
use martlet_pfcp::ie::{CpFunctionFeatures, RecoveryTimeStamp};
use martlet_pfcp::{
    AssociationReleaseRequestMessage, AssociationSetupRequest, AssociationUpdateRequest,
    HeartbeatRequest, Message, SessionRetention,
};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Between attempts to set an association up.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Flag of an association's release (8.2.77).
const SARR: u8 = 1;
/// The longest that a UPF is given for its end.
const LONGEST_RELEASE: Duration = Duration::from_secs(3600);
/// Between looks whether a UPF that ends has sessions left.
const EMPTYING: Duration = Duration::from_millis(50);

/// How an association stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// There is none.
    Down,
    /// It is up with a UPF that started at this time.
    Up(u32),
}

/// An association.
pub struct Association {
    pub upf: UpfConfig,
    pub state: State,
    /// How often it has been set up.
    generation: u64,
    /// What the UPF tells of its load.
    pub load: Load,
    /// The UPF is about to end: by this time the association is released.
    pub leaves: Option<Instant>,
}

impl Association {
    pub fn new(upf: UpfConfig) -> Self {
        Association { upf, state: State::Down, generation: 0, load: Load::default(), leaves: None }
    }

    pub fn is_up(&self) -> bool {
        self.state != State::Down
    }

    /// Whether the UPF leads to a data network.
    pub fn leads_to(&self, dnn: &str) -> bool {
        self.upf.dnns.is_empty() || self.upf.dnns.iter().any(|name| name.eq_ignore_ascii_case(dnn))
    }

    /// Whether new sessions may go there.
    pub fn takes_sessions(&self, wanted: &Wanted<'_>) -> bool {
        self.is_up() && self.leaves.is_none() && self.fits(wanted)
    }

    /// Whether a session may be there.
    pub fn fits(&self, wanted: &Wanted<'_>) -> bool {
        let slices = &self.upf.slices;
        self.leads_to(wanted.dnn)
            && (slices.is_empty() || slices.iter().any(|slice| slice.snssai() == wanted.slice))
    }

    /// Whether gNBs of a tracking area reach it.
    pub fn reaches(&self, tac: Option<u32>) -> bool {
        self.upf.service_area.is_empty()
            || tac.is_none_or(|tac| self.upf.service_area.contains(&tac))
    }

    /// How well it suits the UE's place.
    pub fn rank(&self, wanted: &Wanted<'_>) -> u8 {
        match wanted.tac {
            _ if !self.reaches(wanted.tac) => 3,
            _ if self.upf.tacs.is_empty() => 1,
            Some(tac) if self.upf.tacs.contains(&tac) => 0,
            _ => 2,
        }
    }

    pub fn status(&self) -> serde_json::Value {
        let (load, spared) = (self.load.metric(), self.load.reduction(Instant::now()));
        serde_json::json!({
            "n4": self.upf.n4.to_string(), "associated": self.is_up(), "load": load, "reduction": spared,
            "leaves": self.leaves.is_some(),
        })
    }
}

impl N4 {
    /// A UPF said when it started: one that started anew has lost its sessions, and is associated
    /// anew.
    pub(super) fn noticed(&self, from: SocketAddr, recovery: u32) {
        let mut tables = self.tables();
        let association = tables.associations.iter_mut().find(|a| a.upf.n4.ip() == from.ip());
        if let Some(association) =
            association.filter(|a| a.is_up() && a.state != State::Up(recovery))
        {
            tracing::warn!(upf = %association.upf.n4, "the UPF has started anew; its sessions are lost");
            metrics::n4("upf restarted");
            association.state = State::Down;
            self.ended.notify_waiters();
        }
    }

    /// A UPF that is about to end asks for the association's release (TS 29.244, 6.2.8).
    pub(super) fn asked_for_release(&self, from: SocketAddr, request: &AssociationUpdateRequest) {
        let asks = request.release_request.is_some_and(|flags| flags.0 & SARR != 0);
        let mut tables = self.tables();
        let association =
            tables.associations.iter_mut().find(|a| a.is_up() && a.upf.n4.ip() == from.ip());
        let Some(association) = association.filter(|a| asks && a.leaves.is_none()) else { return };
        // Without a period, and with one that has no end, sessions get as long as they need within
        // reason.
        let period =
            request.release_period.and_then(|period| period.span()).unwrap_or(LONGEST_RELEASE);
        tracing::warn!(upf = %association.upf.n4, ?period, "the UPF asks for the association's end");
        metrics::n4("upf leaves");
        association.leaves = Some(Instant::now() + period.min(LONGEST_RELEASE));
        self.ended.notify_waiters();
    }

    /// Whether somebody is an associated UPF.
    pub(super) fn knows(&self, from: SocketAddr) -> bool {
        self.tables().associations.iter().any(|a| a.is_up() && a.upf.n4.ip() == from.ip())
    }

    /// How often the association with a UPF has been set up: what a UPF has of sessions ends with
    /// each time.
    pub fn generation(&self, upf: SocketAddr) -> u64 {
        self.tables().associations.iter().find(|a| a.upf.n4 == upf).map_or(0, |a| a.generation)
    }

    /// Whether a UPF is associated at this moment.
    pub fn is_up(&self, upf: SocketAddr) -> bool {
        self.state(upf) != State::Down
    }

    /// Waits for the association after this one.
    pub async fn associated_after(&self, upf: SocketAddr, generation: u64, patience: Duration) {
        let anew = async {
            loop {
                let associated = self.associated.notified();
                if self.generation(upf) > generation {
                    return;
                }
                associated.await;
            }
        };
        let _ = tokio::time::timeout(patience, anew).await;
    }

    /// A UPF says that it has no association, which it had when it was asked: it has started anew.
    pub fn not_associated(&self, upf: SocketAddr, generation: u64) {
        if self.generation(upf) == generation && self.state(upf) != State::Down {
            tracing::warn!(%upf, "the UPF has forgotten the association");
            metrics::n4("upf restarted");
            self.lost(upf);
            self.ended.notify_waiters();
        }
    }

    fn lost(&self, upf: SocketAddr) {
        if let Some(association) = self.tables().associations.iter_mut().find(|a| a.upf.n4 == upf) {
            association.state = State::Down;
        }
    }

    /// The association is up; says whether it has been before.
    fn set_up(&self, upf: SocketAddr, recovery: u32) -> bool {
        let mut tables = self.tables();
        let association = tables.associations.iter_mut().find(|a| a.upf.n4 == upf);
        association.is_some_and(|association| {
            association.state = State::Up(recovery);
            (association.load, association.leaves) = (Load::default(), None);
            association.generation += 1;
            association.generation > 1
        })
    }

    fn state(&self, upf: SocketAddr) -> State {
        self.tables().associations.iter().find(|a| a.upf.n4 == upf).map_or(State::Down, |a| a.state)
    }

    /// Keeps an association up for as long as it is polled.
    pub(super) async fn keep_associated(&self, upf: SocketAddr, sessions: &impl SessionLayer) {
        loop {
            let (recovery, kept) = self.associate(upf).await;
            let again = self.set_up(upf, recovery);
            let of_before = self.generation(upf) == 1 && self.retained;
            if again || of_before && !kept {
                sessions.associated_anew(upf);
            }
            self.associated.notify_waiters();
            while self.state(upf) != State::Down {
                if let Some(by) = self.leaves(upf) {
                    self.release_when_empty(upf, by, sessions).await;
                    break;
                }
                tokio::select! {
                    () = tokio::time::sleep(self.heartbeat) => {}
                    () = self.ended.notified() => continue,
                }
                let beat = HeartbeatRequest { recovery: RecoveryTimeStamp(self.recovery) };
                match self.request(upf, None, beat).await {
                    Ok(Message::HeartbeatResponse(response)) => {
                        self.noticed(upf, response.recovery.0)
                    }
                    _ => {
                        tracing::warn!(%upf, "the UPF is lost");
                        self.lost(upf);
                        sessions.upf_lost(upf);
                    }
                }
            }
        }
    }

    fn leaves(&self, upf: SocketAddr) -> Option<Instant> {
        self.tables().associations.iter().find(|a| a.upf.n4 == upf).and_then(|a| a.leaves)
    }

    /// The UPF has asked for the association's end: it comes when no session is left there, or when
    /// its time is over.
    async fn release_when_empty(&self, upf: SocketAddr, by: Instant, sessions: &impl SessionLayer) {
        sessions.upf_leaves(upf);
        while sessions.sessions_at(upf) > 0 && Instant::now() < by {
            tokio::time::sleep(EMPTYING).await;
        }
        tracing::info!(%upf, left = sessions.sessions_at(upf), "the association is released, as the UPF has asked");
        let release = AssociationReleaseRequestMessage { node_id: self.node() };
        if let Err(error) = self.request(upf, None, release).await {
            tracing::debug!(%upf, %error, "the release was not answered");
        }
        self.lost(upf);
    }

    /// Sets an association up, however often it has to be tried; gives the time at which the UPF
    /// started, and whether it has kept the sessions from before.
    async fn associate(&self, upf: SocketAddr) -> (u32, bool) {
        let mut pause = FIRST_PAUSE;
        loop {
            let request = AssociationSetupRequest {
                node_id: self.node(),
                recovery: RecoveryTimeStamp(self.recovery),
                up_features: None,
                cp_features: Some(CpFunctionFeatures::LOAD | CpFunctionFeatures::OVRL),
                // What became of sessions while an association was down is not known: they are made
                // anew then.
                retention: (self.generation(upf) == 0 && self.retained)
                    .then_some(SessionRetention {}),
            };
            match self.request(upf, None, request).await {
                Ok(Message::AssociationSetupResponse(response)) if response.cause.is_accepted() => {
                    let kept = response.flags.is_some_and(|flags| flags.0 & 1 != 0);
                    tracing::info!(%upf, kept, "associated with the UPF");
                    return (response.recovery.0, kept);
                }
                Ok(other) => {
                    tracing::warn!(%upf, answer = other.name(), "the UPF refuses the association")
                }
                Err(error) => tracing::debug!(%upf, %error, "no association yet"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
