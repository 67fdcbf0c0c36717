//! 5GMM state of a UE (TS 24.501, 5.1.3), and what its 5GMM procedures remember.
use super::config::Slice;
use martlet_nas::{DrxValue, Nas5gsMessage, RegistrationType};
use std::time::Duration;

/// 5GMM state (TS 24.501, 5.1.3.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MmState {
    /// 5GMM-DEREGISTERED.
    Deregistered,
    /// 5GMM-REGISTERED-INITIATED.
    RegisteredInitiated,
    /// 5GMM-REGISTERED.
    Registered,
    /// 5GMM-SERVICE-REQUEST-INITIATED.
    ServiceRequestInitiated,
    /// 5GMM-DEREGISTERED-INITIATED.
    DeregisteredInitiated,
}

impl MmState {
    /// Whether the UE is registered: 5GMM-REGISTERED or 5GMM-SERVICE-REQUEST-INITIATED.
    pub fn is_registered(self) -> bool {
        matches!(self, MmState::Registered | MmState::ServiceRequestInitiated)
    }
}

/// Connection management state (TS 23.501, 5.3.3.2; 5GMM-IDLE and 5GMM-CONNECTED mode of TS
/// 24.501).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CmState {
    /// CM-IDLE: no N1 NAS signalling connection.
    Idle,
    /// CM-CONNECTED.
    Connected,
}

/// A registration in progress.
pub(super) struct Registration {
    pub(super) kind: RegistrationType,
    /// The complete REGISTRATION REQUEST, for the NAS message container of SECURITY MODE COMPLETE.
    pub(super) complete: Nas5gsMessage,
    /// Only the cleartext IEs were sent, so the network has not seen the others yet.
    pub(super) only_cleartext_sent: bool,
    /// Number of the attempt, from 1.
    pub(super) attempt: u8,
}

/// A de-registration that the UE initiated.
pub(super) struct Deregistration {
    pub(super) request: Nas5gsMessage,
    /// How often the request was sent.
    pub(super) sent: u8,
}

/// A service request in progress.
pub(super) struct ServiceRequest {
    /// The complete SERVICE REQUEST, for the NAS message container of SECURITY MODE COMPLETE.
    pub(super) complete: Nas5gsMessage,
}

/// A 5G AKA challenge and its RES*, stored while T3516 runs.
pub(super) struct AnsweredChallenge {
    pub(super) rand: [u8; 16],
    pub(super) res_star: [u8; 16],
}

/// An EAP request and its response.
pub(super) struct AnsweredEapRequest {
    pub(super) request: Vec<u8>,
    pub(super) response: Vec<u8>,
}

/// Settings that the network provided with registration and configuration update.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkSettings {
    /// Allowed NSSAI.
    pub allowed_nssai: Vec<Slice>,
    /// Configured NSSAI; empty without one.
    pub configured_nssai: Vec<Slice>,
    /// Tracking area codes of the non-allowed area.
    pub without_service: Vec<u32>,
    /// Equivalent PLMNs, MCC and MNC as digits.
    pub equivalent_plmns: Vec<String>,
    /// T3502.
    pub t3502: Option<Duration>,
    /// DRX cycle that the last accept negotiated.
    pub negotiated_drx: Option<DrxValue>,
    /// Full name of the network.
    pub network_name: Option<String>,
    /// Local time zone, quarters of an hour east of UTC.
    pub time_zone: Option<i8>,
}
