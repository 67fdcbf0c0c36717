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

/// An N2 handover that is being prepared.
#[derive(Debug, Clone, Copy)]
pub struct Handover {
    /// Whether source and target gNB forward data directly.
    pub direct_forwarding: bool,
    /// The target gNB's N3 tunnel endpoint.
    pub target: Option<GtpTunnel>,
    pub route: Route,
    pub started: Instant,
}

/// Mobility of a session.
#[derive(Default)]
pub struct Mobility {
    /// Tracking area of the UE.
    pub tac: Option<u32>,
    /// A relocation to another anchor is under way (SSC modes 2 and 3).
    pub is_relocating: bool,
    /// An N2 handover that is being prepared.
    pub handover: Option<Box<Handover>>,
    /// N4 sessions that forward data from the source gNB of a handover.
    pub forwarding: Vec<UpfSession>,
    /// N4 sessions at intermediate UPFs that a handover has replaced.
    pub replaced: Vec<UpfSession>,
}
