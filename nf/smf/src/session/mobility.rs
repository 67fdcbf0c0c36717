//! Mobility of a session: the UE's location, and what a handover has prepared or left behind.
use crate::user_plane_path::{N9Tunnel, UpfSession, UserPlanePath};
use martlet_ngap::transfer::GtpTunnel;
use std::time::Instant;

/// How a session reaches a gNB.
#[derive(Debug, Clone, Copy)]
pub enum Route {
    /// Through the UPF that gNBs send to now.
    Unchanged,
    /// Directly through the anchor; the intermediate UPF is removed.
    Direct,
    /// Through another intermediate UPF.
    Through(PreparedUpf),
}

/// An intermediate UPF with a prepared N4 session.
#[derive(Debug, Clone, Copy)]
pub struct PreparedUpf {
    pub session: UpfSession,
    /// Its N9 tunnel endpoint.
    pub n9: N9Tunnel,
}

impl Route {
    /// The N4 session at the UPF that the gNB sends to on this route.
    pub fn access(&self, path: UserPlanePath) -> UpfSession {
        match self {
            Route::Unchanged => path.access(),
            Route::Direct => path.anchor(),
            Route::Through(prepared) => prepared.session,
        }
    }

    /// The UPF's N3 tunnel endpoint, if it changes with this route.
    pub fn new_n3(&self, path: UserPlanePath) -> Option<GtpTunnel> {
        match self {
            Route::Unchanged => None,
            _ => Some(self.access(path).n3()),
        }
    }
}

/// What the preparation of an N2 handover has determined.
#[derive(Debug, Clone, Copy)]
pub struct Preparation {
    /// Whether source and target gNB forward data directly.
    pub direct_forwarding: bool,
    pub route: Route,
    pub started: Instant,
}

/// A handover that the target gNB has admitted.
#[derive(Debug)]
pub struct PreparedHandover {
    pub preparation: Preparation,
    /// The target gNB's N3 tunnel endpoint.
    pub target: GtpTunnel,
    /// The QoS flows that it has set up.
    pub flows: Box<[u8]>,
    /// The QoS flows that it has not set up.
    pub failed_flows: Box<[u8]>,
}

/// State of an N2 handover of the session: `HoState` of TS 29.502, 6.1.6.3.4.
///
/// ```text
///          prepare                admit                complete
///   NONE ----------> PREPARING ----------> PREPARED -------------> NONE (COMPLETED)
///    ^                   |                     |
///    +------ abort ------+---------------------+  (CANCELLED)
/// ```
#[derive(Debug, Default)]
pub enum HandoverState {
    /// NONE, COMPLETED or CANCELLED.
    #[default]
    None,
    /// PREPARING: the target gNB has to admit the session.
    Preparing(Box<Preparation>),
    /// PREPARED: the target gNB has admitted the session.
    Prepared(Box<PreparedHandover>),
}

impl HandoverState {
    /// Begins a preparation.
    pub fn prepare(&mut self, preparation: Preparation) {
        *self = HandoverState::Preparing(preparation.into());
    }

    /// The target gNB has admitted the session, with this tunnel endpoint, with `flows` and without
    /// `failed_flows`. `None` without a preparation.
    pub fn admit(
        &mut self,
        target: GtpTunnel,
        flows: Box<[u8]>,
        failed_flows: Box<[u8]>,
    ) -> Option<Preparation> {
        let preparation = self.preparation()?;
        let prepared = PreparedHandover { preparation, target, flows, failed_flows };
        *self = HandoverState::Prepared(prepared.into());
        Some(preparation)
    }

    /// The UE is at the target. `None` unless the handover is prepared.
    pub fn complete(&mut self) -> Option<PreparedHandover> {
        match std::mem::take(self) {
            HandoverState::Prepared(prepared) => Some(*prepared),
            other => {
                *self = other;
                None
            }
        }
    }

    /// Ends the handover without completing it.
    pub fn abort(&mut self) -> Option<Preparation> {
        let preparation = self.preparation();
        *self = HandoverState::None;
        preparation
    }

    /// Whether a handover is being prepared, or is prepared.
    pub fn is_running(&self) -> bool {
        !matches!(self, HandoverState::None)
    }

    fn preparation(&self) -> Option<Preparation> {
        match self {
            HandoverState::None => None,
            HandoverState::Preparing(preparation) => Some(**preparation),
            HandoverState::Prepared(prepared) => Some(prepared.preparation),
        }
    }
}

/// Relocation of the session's anchor (TS 23.502, 4.3.5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnchorRelocation {
    #[default]
    None,
    /// It begins when the procedure that moved the UE has ended.
    Scheduled,
    /// SSC mode 3: it begins again when the UE is connected.
    UeIdle,
    /// SSC mode 3: the UE was asked to establish the session at another anchor. This one is
    /// released after `smf.ssc3_s`.
    Requested,
}

/// Mobility of a session.
#[derive(Default)]
pub struct Mobility {
    /// Tracking area of the UE.
    pub tac: Option<u32>,
    /// Relocation to another anchor (SSC modes 2 and 3).
    pub relocation: AnchorRelocation,
    /// N2 handover.
    pub handover: HandoverState,
    /// N4 sessions that forward data from the source gNB of a handover.
    pub forwarding: Vec<UpfSession>,
    /// N4 sessions at intermediate UPFs that a handover has replaced.
    pub replaced: Vec<UpfSession>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    fn preparation() -> Preparation {
        Preparation { direct_forwarding: false, route: Route::Direct, started: Instant::now() }
    }

    fn target(teid: u32) -> GtpTunnel {
        GtpTunnel::new(IpAddr::V4(Ipv4Addr::LOCALHOST), teid)
    }

    #[test]
    fn a_handover_completes_only_after_its_admission() {
        let mut handover = HandoverState::default();
        assert!(handover.admit(target(1), Box::default(), Box::default()).is_none());
        assert!(handover.complete().is_none());
        handover.prepare(preparation());
        assert!(handover.complete().is_none() && handover.is_running());
        assert!(handover.admit(target(2), Box::new([1, 2]), Box::new([3])).is_some());
        let prepared = handover.complete().unwrap();
        assert_eq!((prepared.target, &*prepared.failed_flows), (target(2), &[3][..]));
        assert_eq!(&*prepared.flows, [1, 2]);
        assert!(!handover.is_running() && handover.complete().is_none());
    }

    #[test]
    fn an_aborted_handover_does_not_complete() {
        let mut handover = HandoverState::default();
        handover.prepare(preparation());
        handover.admit(target(1), Box::default(), Box::default());
        assert!(handover.abort().is_some() && handover.abort().is_none());
        assert!(handover.complete().is_none());
    }
}
